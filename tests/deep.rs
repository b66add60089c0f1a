//! Programs that are long, loop often or call deep: their derivatives take no more than a multiple of their time, and
//! no stack of the host's.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::fmt::Write as _;

use bbkit::exec::Value;
use bbkit::ircode::{Type, parse_module};
use bbkit::{Engine, GradientOptions, RunOptions};

fn gradient(text: &str, function: &str, args: &[Value]) -> (f64, Value) {
    let module = parse_module(text).unwrap().module;
    let result = bbkit::gradient(&module, function, args, Default::default()).unwrap();
    (result.value.as_float().unwrap(), result.gradient[0].clone())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

/// y ← c y, a million times.
#[test]
fn a_million_rounds() {
    let text = "
function f(x::Float64, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => x, #3 => %6)::Float64
│   %3 = φ (#1 => 1, #3 => %7)::Int64
│   %4 = Base.sle_int(%3, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.mul_float(%2, 0.999999)::Float64
│   %7 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─      return %2
end
";
    let (value, by_x) = gradient(text, "f", &[Value::from(2.0), Value::from(1_000_000)]);
    let factor = 0.999999_f64.powi(1_000_000);
    assert!(close(value, 2.0 * factor) && close(by_x.as_float().unwrap(), factor), "{value}, {by_x}");
}

/// Branches in branches, each of which multiplies by x and may leave: x^5001 if none does.
#[test]
fn five_thousand_branches_in_one_another() {
    let depth = 5_000;
    let mut text = String::from("function f(x::Float64, c::Bool)::Float64\n");
    // The blocks that branch, what is innermost, and the blocks where the ways meet, from the inside out.
    for block in 1..=depth {
        let (before, value) =
            if block == 1 { ("x".to_string(), 1) } else { (format!("%{}", 2 * block - 3), 2 * block - 1) };
        let left = 2 * depth + 2 - block;
        writeln!(text, "{block} ─ %{value} = Base.mul_float({before}, x)::Float64\n│ goto #{left} if not c").unwrap();
    }
    writeln!(text, "{} ─ nothing", depth + 1).unwrap();
    let (mut inner, mut value) = (depth + 1, 2 * depth - 1);
    for block in (1..=depth).rev() {
        let (join, phi) = (2 * depth + 2 - block, 3 * depth + 2 - block);
        writeln!(text, "{join} ─ %{phi} = φ (#{block} => %{}, #{inner} => %{value})::Float64", 2 * block - 1).unwrap();
        (inner, value) = (join, phi);
    }
    writeln!(text, "│ return %{value}\nend").unwrap();
    let (value, by_x) = gradient(&text, "f", &[Value::from(1.0001), Value::from(true)]);
    assert!(close(value, 1.0001_f64.powi(depth + 1)), "{value}");
    assert!(close(by_x.as_float().unwrap(), f64::from(depth + 1) * 1.0001_f64.powi(depth)), "{by_x}");
    let (value, by_x) = gradient(&text, "f", &[Value::from(1.5), Value::from(false)]);
    assert!(value == 2.25 && by_x.as_float() == Some(3.0), "{value}, {by_x}");
}

/// f(x, n) = x f(x, n - 1), ten thousand deep: x^n.
#[test]
fn ten_thousand_calls_deep() {
    let text = "
function f(x::Float64, n::Int64)::Float64
1 ─ %1 = Base.sle_int(n, 0)::Bool
└──      goto #3 if not %1
2 ─      return 1.0
3 ─ %4 = Base.sub_int(n, 1)::Int64
│   %5 = invoke Main.f(x::Float64, %4::Int64)::Float64
│   %6 = Base.mul_float(x, %5)::Float64
└──      return %6
end
";
    let (value, by_x) = gradient(text, "f", &[Value::from(1.0001), Value::from(10_000)]);
    let expected = 1.0001_f64.powi(10_000);
    assert!(close(value, expected), "{value}");
    assert!(close(by_x.as_float().unwrap(), 10_000.0 * expected / 1.0001), "{by_x}");
}

/// Each function calls the next, and the last one may throw, which the first one catches: each gets a variant that says
/// so.
#[test]
fn an_exception_comes_from_thousands_of_calls_deep() {
    let depth = 4_000;
    let mut text = String::from(
        "
function f(x::Float64)::Float64
1 ─ %1 = enter #4
2 ─ %2 = invoke f0(x::Float64)::Float64
└──      $(Expr(:leave, :(%1)))
3 ─      return %2
4 ┄      $(Expr(:pop_exception, :(%1)))
└──      return x
end
",
    );
    for number in 0..depth {
        let next = number + 1;
        writeln!(
            text,
            "function f{number}(x::Float64)::Float64\n1 ─ %1 = invoke f{next}(x::Float64)::Float64\n└── return %1\nend"
        )
        .unwrap();
    }
    writeln!(
        text,
        "function f{depth}(x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 0.0)::Bool
└──      goto #3 if not %1
2 ─      Base.error(\"negative\")::Union{{}}
└──      unreachable
3 ─ %5 = Base.mul_float(x, x)::Float64
└──      return %5
end"
    )
    .unwrap();
    for (x, value, by_x) in [(1.5, 2.25, 3.0), (-1.5, -1.5, 1.0)] {
        let found = gradient(&text, "f", &[Value::from(x)]);
        assert!(close(found.0, value) && close(found.1.as_float().unwrap(), by_x), "{found:?}");
    }
}

/// The trace of fifty thousand calls inside one another, which native code has made, is told to be too deep, or passed
/// on.
#[cfg(feature = "native")]
#[test]
fn a_trace_of_fifty_thousand_calls_is_passed_on_or_refused() {
    use bbkit::exec::Limits;
    use bbkit::exec::native::{CallError, Program};
    use bbkit::passes::reverse_mode::{Options, derive};

    let text = "
function f(x::Float64, n::Int64)::Float64
1 ─ %1 = Base.sle_int(n, 0)::Bool
└──      goto #3 if not %1
2 ─      return x
3 ─ %4 = Base.sub_int(n, 1)::Int64
│   %5 = Main.f(x, %4)::Float64
│   %6 = libm.sin(%5)::Float64
└──      return %6
end
";
    let mut module = bbkit::to_bbcode(&parse_module(text).unwrap().module).unwrap();
    let names = derive(&mut module, &"f".into(), &Options::default()).unwrap().names;
    let module = bbkit::to_ircode(&module).unwrap();
    let program = Program::compile(&module, &[names.forward.as_str()], Limits::default()).unwrap();
    let short = program.call(&names.forward, &[Value::from(0.5), Value::from(3)]).unwrap();
    assert!(short.to_string().starts_with(&format!("({}", 0.5_f64.sin().sin().sin())), "{short}");
    match program.call(&names.forward, &[Value::from(0.5), Value::from(50_000)]) {
        Err(CallError::Refused { what, .. }) => assert_eq!(what, "a value that is nested so deep"),
        other => drop(other.unwrap()),
    }
}

/// A hundred thousand statements: the elements of an array are multiplied by x, one after another, and stored.
#[test]
fn a_hundred_thousand_statements() {
    let rounds: usize = 33_333;
    let mut text = String::from("function f(x::Float64, a::Vector{Float64})::Float64\n1 ─ nothing::Nothing\n");
    for round in 0..rounds {
        let at = 3 * round + 2;
        let _ = write!(
            text,
            "│ %{at} = Base.arrayref(true, a, 1)::Float64\n│ %{} = Base.mul_float(%{at}, x)::Float64\n\
             │ Base.arrayset(true, a, %{}, 1)::Vector{{Float64}}\n",
            at + 1,
            at + 1
        );
    }
    let last = 3 * rounds + 2;
    let _ = write!(text, "│ %{last} = Base.arrayref(true, a, 1)::Float64\n└── return %{last}\nend\n");
    let module = parse_module(&text).unwrap().module;
    let machine = bbkit::exec::Machine::new(&module);
    let array = machine.array(bbkit::ircode::Type::FLOAT64, vec![1], vec![Value::from(3.0)]).unwrap();
    let result = bbkit::gradient(&module, "f", &[Value::from(1.0001), array.clone()], Default::default()).unwrap();
    let power = 1.0001_f64.powi(rounds as i32);
    assert!(close(result.value.as_float().unwrap(), 3.0 * power));
    assert!(close(result.gradient[0].as_float().unwrap(), 3.0 * f64::from(rounds as u32) * power / 1.0001));
    assert!(close(result.gradient[1].array_elements().unwrap()[0].as_float().unwrap(), power));
    // The pullback puts back what was there.
    assert_eq!(array.array_elements().unwrap()[0].as_float(), Some(3.0));
}

/// The pullback of straight-line code on tuples and structs holds no slot, no stack and no tuple but the one that it
/// returns.
#[test]
fn straight_line_pullbacks_are_plain() {
    let text = "
struct Point
    x::Float64
    y::Float64
end
function f(p::Point, t::Tuple{Float64, Int64, Float64})::Float64
1 ─ %1 = Base.getfield(p, :x)::Float64
│   %2 = Base.getfield(t, 3)::Float64
│   %3 = Base.mul_float(%1, %2)::Float64
│   %4 = %new(Point, %3, %2)::Point
│   %5 = Base.getfield(%4, :x)::Float64
│   %6 = Base.getfield(%4, :y)::Float64
│   %7 = Base.getfield(p, :y)::Float64
│   %8 = Core.tuple(%6, %7)::Tuple{Float64, Float64}
│   %9 = Base.getfield(%8, 1)::Float64
│   %10 = Base.mul_float(%5, %9)::Float64
└──       return %10
end
";
    let module = parse_module(text).unwrap().module;
    let (derived, names) = bbkit::gradient_function(&module, "f", &[], &Default::default()).unwrap();
    let pullback = derived.function(&names.pullback).unwrap();
    let listing = bbkit::ircode::print_function(pullback, bbkit::ircode::Style::Julia);
    assert!(!listing.contains("slot") && !listing.contains("stack"), "{listing}");
    // One for the result, and one for each argument in it.
    assert_eq!(listing.matches("Core.tuple(").count(), 3, "{listing}");
    assert!(!listing.contains("tangent"), "{listing}");
}

/// Types and values share what they are made of: of sixty statements comes a tuple that nobody can write down.
#[test]
fn tuples_of_shared_tuples() {
    let mut text = String::from("function f(x::Float64)\n1 ─ %1 = Core.tuple(x, x)\n");
    for number in 2..=60 {
        writeln!(text, "│   %{number} = Core.tuple(%{0}, %{0})", number - 1).unwrap();
    }
    for number in 61..=119 {
        writeln!(text, "│   %{number} = Core.getfield(%{}, 1)", number - 1).unwrap();
    }
    text.push_str("│   %120 = Core.getfield(%119, 2)\n└──        return %120\nend\n");
    let module = parse_module(&text).unwrap().module;
    let value = bbkit::exec::Machine::new(&module).call("f", &[Value::from(3.0)]).unwrap();
    assert_eq!(value.as_float(), Some(3.0));
    let half = parse_module(&text.replace("return %120", "return %60")).unwrap().module;
    let tuple = bbkit::exec::Machine::new(&half).call("f", &[Value::from(3.0)]).unwrap();
    assert!(tuple.to_string().contains('…') && !tuple.type_of().to_string().is_empty());
    assert!(bbkit::exec::value_to_json(&tuple).is_err());
    // The derivative is there, or it is told why not.
    match bbkit::gradient(&module, "f", &[Value::from(3.0)], Default::default()) {
        Ok(result) => assert_eq!(result.gradient[0].as_float(), Some(1.0)),
        Err(error) => assert!(error.to_string().contains("no derivative rule for `getfield`"), "{error}"),
    }
}

/// Structs in one another, so deep, where each holds the next so many times.
fn nested(depth: usize, width: usize) -> String {
    let mut text = format!("struct S{depth}\n    x::Float64\nend\n\n");
    for number in (0..depth).rev() {
        writeln!(text, "struct S{number}").unwrap();
        for field in 0..width {
            writeln!(text, "    f{field}::S{}", number + 1).unwrap();
        }
        text.push_str("end\n\n");
    }
    text
}

const OF_NESTED: &str = "
function f(v::Vector{S0}, x::Float64)::Float64
1 ─ %1 = Base.arraylen(v)::Int64
│   %2 = Base.slt_int(0, %1)::Bool
└──      goto #3 if not %2
2 ─ %4 = Base.arrayref(true, v, 1)::S0
│   %5 = Base.getfield(%4, :f0)::S1
└──      goto #3
3 ┄ %7 = Base.mul_float(x, x)::Float64
└──      return %7
end
";

/// What is found by going down into types is bounded, wherever it is written out, on both engines.
#[test]
fn declared_types_may_be_nested_deep() {
    let own = |width: usize| {
        let fields: String = (0..width).map(|field| format!("    f{field}::S0\n")).collect();
        format!("struct S0\n{fields}end\n\n").replace("::S1", "::S0")
    };
    let programs = [nested(20_000, 1), nested(60, 2), nested(33, 1), nested(5, 2), own(24)];
    for (number, types) in programs.iter().enumerate() {
        let text = format!("{types}{OF_NESTED}");
        let text = if types.contains("::S1") { text } else { text.replace("::S1", "::S0") };
        let module = parse_module(&text).unwrap().module;
        let empty =
            bbkit::exec::Machine::new(&module).value_from_json(&serde_json::json!([]), &Type::parse("Vector{S0}"));
        let args = [empty.unwrap(), Value::from(3.0)];
        // What the interpreter only can do, native code leaves to it.
        for (engine, of_gradient) in [(Engine::Interpreter, Engine::Interpreter), (Engine::Native, Engine::Auto)] {
            let (value, _) = bbkit::run(&module, "f", &args, &RunOptions::default().engine(engine)).unwrap();
            assert_eq!(value.as_float(), Some(9.0), "{number}");
            let engine = of_gradient;
            let options = GradientOptions::new().engine(engine);
            let result = bbkit::gradient_with(&module, "f", &args, &options).unwrap();
            assert_eq!(result.gradient[1].as_float(), Some(6.0), "{number}");
        }
    }
}

/// Each node of a tree is one of two structs, and that the first does not fit shows only behind what is below it: what
/// is below is read once, whichever the node is, and a value that fits nowhere is told by what is wrong in it.
#[test]
fn unions_within_unions_are_read_in_one_go() {
    let node =
        |name: &str, last: &str| format!("struct {name}\n    below::Union{{Nothing, A, B}}\n    last::{last}\nend\n\n");
    let module = parse_module(&[node("A", "Int64"), node("B", "Float64")].concat()).unwrap().module;
    let machine = bbkit::exec::Machine::new(&module);
    let chain = |levels: usize, innermost: serde_json::Value| {
        (0..levels).fold(innermost, |below, _| serde_json::json!([below, 0.5]))
    };
    let read = |levels, innermost| machine.value_from_json(&chain(levels, innermost), &Type::parse("Union{A, B}"));
    assert_eq!(read(2, ().into()).unwrap().to_string(), "B(B(nothing, 0.5), 0.5)");
    assert!(read(100, ().into()).is_ok());
    let error = read(100, serde_json::json!([null, "x"])).unwrap_err();
    assert_eq!(error.to_string(), format!("{}.last: \"x\" is no Int64", ".below".repeat(100)));
}

/// Whether a result can be changed is asked of values, which may be nested deep: this one has to be made again, as the
/// pullback takes back what the function did to its argument.
#[test]
fn the_result_of_what_changes_its_argument_may_be_nested_deep() {
    let text = "
function f(v::Vector{Float64}, n::Int64)::Any
1 ─ %1  = Base.arrayref(true, v, 1)::Float64
│   %2  = Base.mul_float(%1, %1)::Float64
│         Base.arrayset(true, v, %2, 1)::Vector{Float64}
└──       goto #2
2 ┄ %5  = φ (#1 => 0, #3 => %9)::Int64
│   %6  = φ (#1 => %2, #3 => %10)::Any
│   %7  = Base.slt_int(%5, n)::Bool
└──       goto #4 if not %7
3 ─ %9  = Base.add_int(%5, 1)::Int64
│   %10 = Core.tuple(%6)::Any
└──       goto #2
4 ─       return %6
end
";
    let module = parse_module(text).unwrap().module;
    let args = [Value::from([1.5].as_slice()), Value::from(300_000)];
    let result = bbkit::vjp(&module, "f", &args, &Value::Nothing, Default::default()).unwrap();
    let mut value = result.value;
    let mut depth = 0;
    while let Some([inner]) = value.as_tuple() {
        (value, depth) = (inner.clone(), depth + 1);
    }
    assert_eq!((value.as_float(), depth), (Some(2.25), 300_000));
}
