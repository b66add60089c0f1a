//! Functions so long that what later blocks use lies in the frame give what is derived by hand, as short ones do.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::fmt::Write as _;

use bbkit::compiled::Effort;
use bbkit::exec::Value;
use bbkit::ircode::{IRCode, Module, Type, parse_module};
use bbkit::passes::FunctionBuilder;
use bbkit::passes::reverse_mode::Carrier;
use bbkit::{Differentiate, GradientOptions, gradient_with};

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

/// `s = Σ v[i] sin(v[i])`, statement by statement, then `s = c s + v[1]` three times over: so long that what later
/// blocks use lies in the frame, as each element that is read and each sine may fail.
#[test]
fn long_functions_keep_their_values() {
    let count = 1_600;
    let mut f = FunctionBuilder::new("f", Type::FLOAT64);
    let (v, c) = (f.parameter("v", Type::array(Type::FLOAT64, 1)), f.parameter("c", Type::FLOAT64));
    let (sum, left) = (f.variable("sum", Type::FLOAT64), f.variable("left", Type::INT64));
    let (head, body, exit) = (f.block(), f.block(), f.block());
    let read =
        |f: &mut FunctionBuilder, i: i64| f.call("Base.arrayref", [true.into(), v.clone(), i.into()], Type::FLOAT64);
    let elements: Vec<_> = (1..=count).map(|i| read(&mut f, i)).collect();
    let sines: Vec<_> = elements.iter().map(|x| f.call("Base.sin", [x.clone()], Type::FLOAT64)).collect();
    let mut total = 0.0.into();
    for (x, sine) in elements.iter().zip(sines) {
        let product = f.call("Base.mul_float", [x.clone(), sine], Type::FLOAT64);
        total = f.call("Base.add_float", [total, product], Type::FLOAT64);
    }
    f.set(sum, total);
    f.set(left, 3);
    f.goto(head);
    f.switch_to(head);
    let rounds = f.get(left);
    let more = f.call("Base.slt_int", [0.into(), rounds.clone()], Type::BOOL);
    f.branch(more, body, exit);
    f.switch_to(body);
    let before = f.get(sum);
    let scaled = f.call("Base.mul_float", [before, c], Type::FLOAT64);
    let after = f.call("Base.add_float", [scaled, elements[0].clone()], Type::FLOAT64);
    f.set(sum, after);
    let fewer = f.call("Base.sub_int", [rounds, 1.into()], Type::INT64);
    f.set(left, fewer);
    f.goto(head);
    f.switch_to(exit);
    let result = f.get(sum);
    f.ret(result);
    let mut module = Module::new();
    module.add_function(f.finish().unwrap().map(|body| IRCode::try_from(body)).unwrap()).unwrap();

    let v: Vec<f64> = (0..count).map(|i| 0.1 + i as f64 / 1000.0).collect();
    let c = 1.25_f64;
    let s: f64 = v.iter().map(|x| x * x.sin()).sum();
    let mut expected: Vec<f64> = v.iter().map(|x| c.powi(3) * (x.sin() + x * x.cos())).collect();
    expected[0] += c * c + c + 1.0;
    for effort in [Effort::Full, Effort::Quick] {
        let gradient = module.gradient("f").effort(effort).compile().unwrap();
        let (mut dv, mut dc) = (vec![f64::NAN; v.len()], f64::NAN);
        let value = gradient.call((&v, c), (&mut dv, &mut dc)).unwrap();
        assert!(close(value, c.powi(3) * s + v[0] * (c * c + c + 1.0), 1e-12), "{value}");
        assert!(dv.iter().zip(&expected).all(|(a, b)| close(*a, *b, 1e-9)), "{dv:?}");
        assert!(close(dc, 3.0 * c * c * s + v[0] * (2.0 * c + 1.0), 1e-12), "{dc}");
        // The last element is not there.
        let error = gradient.call((&v[1..], c), (&mut dv[1..], &mut dc)).unwrap_err();
        assert!(error.to_string().contains("BoundsError"), "{error}");
    }
}

/// `x = x < t ? x 1.01 : sin(x)`, thousands of times: each x is read again on the way back, thousands of blocks later.
#[test]
fn what_branches_give_is_found_thousands_of_blocks_later() {
    let count = 3_000;
    let threshold = |number: usize| (number % 7) as f64 / 7.0;
    let mut text = String::from("function f(x::Float64)::Float64\n");
    let mut x = String::from("x");
    for number in 0..count {
        let (block, value) = (4 * number + 1, 7 * number + 1);
        let t = threshold(number);
        writeln!(text, "{block} ─ %{value} = Base.lt_float({x}, {t:?})::Bool\n│ goto #{} if not %{value}", block + 2)
            .unwrap();
        writeln!(text, "{} ─ %{} = Base.mul_float({x}, 1.01)::Float64\n│ goto #{}", block + 1, value + 2, block + 3)
            .unwrap();
        writeln!(text, "{} ─ %{} = Base.sin({x})::Float64", block + 2, value + 4).unwrap();
        let (then, otherwise, phi) = (value + 2, value + 4, value + 5);
        writeln!(
            text,
            "{} ─ %{phi} = φ (#{} => %{then}, #{} => %{otherwise})::Float64",
            block + 3,
            block + 1,
            block + 2
        )
        .unwrap();
        writeln!(text, "│ goto #{}", block + 4).unwrap();
        x = format!("%{phi}");
    }
    writeln!(text, "{} ─ return {x}\nend", 4 * count + 1).unwrap();
    let module = parse_module(&text).unwrap().module;

    let (mut expected, mut slope) = (0.9_f64, 1.0);
    for number in 0..count {
        let below = expected < threshold(number);
        slope *= if below { 1.01 } else { expected.cos() };
        expected = if below { expected * 1.01 } else { expected.sin() };
    }
    let gradient = module.gradient("f").effort(Effort::Quick).compile().unwrap();
    let mut dx = f64::NAN;
    let value = gradient.call((0.9,), &mut dx).unwrap();
    assert!(close(value, expected, 1e-12) && close(dx, slope, 1e-9), "{value}, {dx}, not {expected}, {slope}");
}

/// `x = 1.01 x` until it is above 1, sixty times at most, then `x = sin(x)`, and all that several times over: from each
/// of the sixty places the way leads to the same block.
#[test]
fn many_ways_lead_to_one_block_in_each_round() {
    let (rungs, rounds) = (60, 7);
    let mut f = FunctionBuilder::new("f", Type::FLOAT64);
    let (x, n) = (f.parameter("x", Type::FLOAT64), f.parameter("n", Type::INT64));
    let (value, left) = (f.variable("value", Type::FLOAT64), f.variable("left", Type::INT64));
    let (head, body, merge, exit) = (f.block(), f.block(), f.block(), f.block());
    f.set(value, x);
    f.set(left, n);
    f.goto(head);
    f.switch_to(head);
    let before = f.get(left);
    let more = f.call("Base.slt_int", [0.into(), before.clone()], Type::BOOL);
    f.branch(more, body, exit);
    f.switch_to(body);
    for _ in 0..rungs {
        let old = f.get(value);
        let new = f.call("Base.mul_float", [old, 1.01.into()], Type::FLOAT64);
        f.set(value, new.clone());
        let (below, next) = (f.call("Base.lt_float", [new, 1.0.into()], Type::BOOL), f.block());
        f.branch(below, next, merge);
        f.switch_to(next);
    }
    f.goto(merge);
    f.switch_to(merge);
    let reached = f.get(value);
    let sine = f.call("Base.sin", [reached], Type::FLOAT64);
    f.set(value, sine);
    let fewer = f.call("Base.sub_int", [before, 1.into()], Type::INT64);
    f.set(left, fewer);
    f.goto(head);
    f.switch_to(exit);
    let result = f.get(value);
    f.ret(result);
    let mut module = Module::new();
    module.add_function(f.finish().unwrap().map(|body| IRCode::try_from(body)).unwrap()).unwrap();

    let (mut expected, mut slope) = (0.7_f64, 1.0);
    for _ in 0..rounds {
        for _ in 0..rungs {
            (expected, slope) = (expected * 1.01, slope * 1.01);
            if expected >= 1.0 {
                break;
            }
        }
        slope *= expected.cos();
        expected = expected.sin();
    }
    let args = [Value::from(0.7), Value::from(rounds)];
    for carrier in [Carrier::Stacks, Carrier::LinearMaps] {
        let found = gradient_with(&module, "f", &args, &GradientOptions::new().carrier(carrier)).unwrap();
        let (value, slopes) = (found.value.as_float().unwrap(), &found.gradient);
        let dx = slopes[0].as_float().unwrap();
        assert!(close(value, expected, 1e-12) && close(dx, slope, 1e-9), "{value}, {dx}, not {expected}, {slope}");
    }
}

/// `a, b = b, 1.0001 a`, three times in each of thousands of loops one behind the other: what goes around each lies in the
/// frame, too, where the two change places.
#[test]
fn loops_one_behind_the_other_keep_what_goes_around() {
    let (loops, rounds) = (1_500, 3);
    let mut text = String::from("function f(x::Float64, y::Float64)::Float64\n1 ─      goto #2\n");
    let (mut a, mut b) = ("x".to_string(), "y".to_string());
    for number in 0..loops {
        let (v, block) = (2 + 9 * number, 2 + 3 * number);
        let (from, body, exit) = (block - 1, block + 1, block + 2);
        writeln!(
            text,
            "{block} ┄ %{v} = φ (#{from} => {a}, #{body} => %{})::Float64\n\
             │   %{} = φ (#{from} => {b}, #{body} => %{})::Float64\n\
             │   %{} = φ (#{from} => 0, #{body} => %{})::Int64\n\
             │   %{} = Base.slt_int(%{}, {rounds})::Bool\n\
             └──      goto #{exit} if not %{}\n\
             {body} ─ %{} = Base.mul_float(%{v}, 1.0001)::Float64\n\
             │   %{} = Base.add_int(%{}, 1)::Int64\n\
             └──      goto #{block}\n\
             {exit} ─      goto #{}",
            v + 1,
            v + 1,
            v + 5,
            v + 2,
            v + 6,
            v + 3,
            v + 2,
            v + 3,
            v + 5,
            v + 6,
            v + 2,
            exit + 1
        )
        .unwrap();
        (a, b) = (format!("%{v}"), format!("%{}", v + 1));
    }
    let last = 2 + 3 * loops;
    let sum = 2 + 9 * loops;
    writeln!(text, "{last} ─ %{sum} = Base.sub_float({a}, {b})::Float64\n└──      return %{sum}\nend").unwrap();
    let module = parse_module(&text).unwrap().module;

    // Four loops of three rounds exchange the two an even number of times, and so do all of them.
    let factor = 1.0001_f64.powi(loops * rounds / 2);
    for effort in [Effort::Full, Effort::Quick] {
        let gradient = module.gradient("f").effort(effort).compile().unwrap();
        let (mut dx, mut dy) = (f64::NAN, f64::NAN);
        let value = gradient.call((0.7, 0.3), (&mut dx, &mut dy)).unwrap();
        assert!(close(value, 0.4 * factor, 1e-11), "{value}, not {}", 0.4 * factor);
        assert!(close(dx, factor, 1e-11) && close(dy, -factor, 1e-11), "{dx}, {dy}, not {factor}");
    }
}
