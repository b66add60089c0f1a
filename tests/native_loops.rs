//! Loops that native code does several rounds of at once, against the interpreter: on random bodies in which rounds
//! meet in memory in all ways.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbkit::exec::native::{CallError, Program};
use bbkit::exec::{Limits, Machine, RunErrorKind, Value};
use bbkit::ircode::{Type, parse_module};
use kit::native::{Verdict, native_agrees, vector};
use kit::seeds::for_each;
use kit::straight::{StraightLoop, straight_loop};

/// Runs a loop on both engines.
fn agrees(made: &StraightLoop) -> Result<(), String> {
    for function in made.module.functions() {
        function.body.verify().map_err(|violations| format!("{violations}\n{}", made.text))?;
    }
    match native_agrees(&made.module, "f", &|| made.args(), Limits::default(), &|_| ()) {
        Ok(Verdict::Same) => Ok(()),
        Ok(verdict) => Err(format!("{verdict:?}\n{}", made.text)),
        Err(broken) => Err(format!("{broken}\n{}", made.text)),
    }
}

#[test]
fn several_rounds_at_once_are_the_same_as_one_after_the_other() {
    let run = Cell::new(0);
    let check = |made: &StraightLoop| {
        run.set(run.get() + 1);
        agrees(made)
    };
    for_each(2000, straight_loop, check).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.get(), 2000, "some loops were not made");
}

/// On every round `a[1]` or `a[2]` changes, and what of `b` is read decides which.
const TWO_WAYS: &str = "
function f(a::Vector{Float64}, b::Vector{Float64}, n::Int64)::Float64
1 ─       goto #2
2 ┄ %2  = φ (#1 => 1, #7 => %17)::Int64
│   %3  = Base.arrayref(true, b, %2)::Float64
│   %4  = Base.lt_float(%3, 2.0)::Bool
└──       goto #4 if not %4
3 ─ %6  = Base.arrayref(true, a, 1)::Float64
│   %7  = Base.add_float(%6, %3)::Float64
│         Base.arrayset(true, a, %7, 1)::Vector{Float64}
└──       goto #5
4 ─ %10 = Base.arrayref(true, a, 2)::Float64
│   %11 = Base.mul_float(%10, %3)::Float64
│         Base.arrayset(true, a, %11, 2)::Vector{Float64}
└──       goto #5
5 ┄ %14 = (%2 === n)::Bool
└──       goto #7 if not %14
6 ─       goto #8
7 ─ %17 = Base.add_int(%2, 1)::Int64
└──       goto #2
8 ─ %19 = Base.arrayref(true, a, 1)::Float64
│   %20 = Base.arrayref(true, a, 2)::Float64
│   %21 = Base.sub_float(%19, %20)::Float64
└──       return %21
end
";

/// Elements that stay in registers are in memory when the loop is over, also if it ends with an error, and are not kept
/// if another array is the same one.
#[test]
fn elements_that_stay_in_registers_are_stored() {
    let module = parse_module(TWO_WAYS).unwrap().module;
    let limits = Limits::default();
    let agrees = |what: &str, args: &dyn Fn() -> Vec<Value>| match native_agrees(&module, "f", args, limits, &|_| ()) {
        Ok(Verdict::Same) => {}
        Ok(verdict) => panic!("{what}: {verdict:?}"),
        Err(broken) => panic!("{what}: {broken}"),
    };
    let machine = Machine::new(&module);
    let vector = |numbers: &[f64]| vector(&machine, numbers);
    let (a, b) = ([1.5, 2.5, 3.5], [0.5, 3.0, 1.25, 4.0, 0.75]);
    agrees("two arrays", &|| vec![vector(&a), vector(&b), 5.into()]);
    agrees("more rounds than elements", &|| vec![vector(&a), vector(&b), 6.into()]);
    agrees("an element that is not there", &|| vec![vector(&a[..1]), vector(&b), 5.into()]);
    agrees("one array", &|| {
        let same = vector(&a);
        vec![same.clone(), same, 3.into()]
    });
}

/// Two indices into an array of three dimensions name no element unless the third dimension is 1, and a value of a type
/// that is known only when the loop runs may end it: what was added before is in memory then.
#[test]
fn loops_that_fail_leave_what_they_did() {
    let agrees = |text: &str, args: &dyn Fn(&Machine<'_>) -> Vec<Value>| {
        let module = parse_module(text).unwrap().module;
        let machine = Machine::new(&module);
        let verdict = native_agrees(&module, "f", &|| args(&machine), Limits::default(), &|_| ());
        verdict.unwrap_or_else(|broken| panic!("{broken}"))
    };
    let too_few = "
function f(a::Array{Float64,3}, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => 1, #4 => %9)::Int64
│   %3 = Base.arrayref(true, a, 1, 1)::Float64
│   %4 = Base.add_float(%3, 1.0)::Float64
│        Base.arrayset(true, a, %4, 1, 1)::Array{Float64,3}
│   %6 = (%2 === n)::Bool
└──      goto #4 if not %6
3 ─      return %4
4 ─ %9 = Base.add_int(%2, 1)::Int64
└──      goto #2
end
";
    let cube = |machine: &Machine<'_>, side: usize| {
        let numbers = (0..2 * 2 * side).map(|number| Value::from(number as f64)).collect();
        machine.array(Type::FLOAT64, vec![2, 2, side], numbers).unwrap()
    };
    for side in [1, 2] {
        assert_eq!(agrees(too_few, &|machine| vec![cube(machine, side), 3.into()]), Verdict::Same);
    }
    let of_any = "
function f(a::Vector{Float64}, x::Any, n::Int64)::Float64
1 ─       goto #2
2 ┄ %2  = φ (#1 => 1, #4 => %10)::Int64
│   %3  = Base.arrayref(true, a, 1)::Float64
│   %4  = Base.add_float(%3, 1.0)::Float64
│         Base.arrayset(true, a, %4, 1)::Vector{Float64}
│   %6  = Base.add_float(x, 1.0)::Float64
│   %7  = (%2 === n)::Bool
└──       goto #4 if not %7
3 ─       return %6
4 ─ %10 = Base.add_int(%2, 1)::Int64
└──       goto #2
end
";
    for x in [Value::from(2.5), Value::from(2)] {
        let verdict = agrees(of_any, &|machine| vec![vector(machine, &[0.5]), x.clone(), 3.into()]);
        assert!(!matches!(verdict, Verdict::Limited));
    }
}

/// A loop whose body changes `a` at ten elements side by side, `10 · k` and on, and at 45, `55 · k + base` and on; it
/// reads `b`.
fn two_blocks() -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = |text: String| {
        lines.push(text);
        format!("%{}", lines.len() + 2)
    };
    let (tens, fives) = (line("Base.mul_int(%2, 10)::Int64".into()), line("Base.mul_int(%2, 55)::Int64".into()));
    let further = line(format!("Base.add_int({fives}, base)::Int64"));
    for (start, count) in [(&tens, 10), (&further, 45)] {
        for number in 0..count {
            let at = line(format!("Base.add_int({start}, {number})::Int64"));
            let from = line(format!("Base.add_int({fives}, {number})::Int64"));
            let read = line(format!("Base.arrayref(true, b, {from})::Float64"));
            let before = line(format!("Base.arrayref(true, a, {at})::Float64"));
            let half = line(format!("Base.mul_float({before}, 0.5)::Float64"));
            // So much is computed that vectors pay.
            let mut read = read;
            for factor in ["1.25", "0.75", "0.9375"] {
                read = line(format!("Base.mul_float({read}, {factor})::Float64"));
            }
            let sum = line(format!("Base.sub_float({half}, {read})::Float64"));
            line(format!("Base.arrayset(true, a, {sum}, {at})::Vector{{Float64}}"));
        }
    }
    let test = line("(%2 === n)::Bool".into());
    line(format!("goto #4 if not {test}"));
    let last = lines.len() + 3;
    let numbered = lines.iter().enumerate().map(|(number, text)| format!("│  %{} = {text}", number + 3));
    let body: Vec<String> = numbered.collect();
    format!(
        "function f(a::Vector{{Float64}}, b::Vector{{Float64}}, n::Int64, base::Int64)::Int64
1 ─ goto #2
2 ┄ %2 = φ (#1 => 1, #4 => %{next})::Int64
{}
3 ─ return n
4 ─ %{next} = Base.add_int(%2, 1)::Int64
└── goto #2
end
",
        body.join("\n"),
        next = last + 1,
    )
}

/// What a long body changes in two places of one array may be apart in all rounds, or not: that is seen before the
/// loop.
#[test]
fn places_of_one_array_that_rounds_share() {
    let module = parse_module(&two_blocks()).unwrap().module;
    let machine = Machine::new(&module);
    let numbers = |count: usize, by: f64| -> Vec<f64> { (0..count).map(|n| 1.5 + by * n as f64).collect() };
    let cases = [(6, 66, 500), (6, 0, 500), (6, -50, 500), (7, -45, 500), (7, 400, 900), (1, 0, 100), (6, 66, 380)];
    for (rounds, base, length) in cases {
        let args = || {
            let b = vector(&machine, &numbers(440, 0.25));
            vec![vector(&machine, &numbers(length, -0.125)), b, Value::from(rounds), Value::from(base)]
        };
        match native_agrees(&module, "f", &args, Limits::default(), &|_| ()) {
            Ok(Verdict::Same) => {}
            Ok(verdict) => panic!("{rounds} rounds, {base}: {verdict:?}"),
            Err(broken) => panic!("{rounds} rounds, {base}: {broken}"),
        }
        // Where the two arrays are one, nothing may be read early.
        let same = || {
            let both = vector(&machine, &numbers(length, -0.125));
            vec![both.clone(), both, Value::from(rounds), Value::from(base)]
        };
        let verdict = native_agrees(&module, "f", &same, Limits::default(), &|_| ());
        assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same);
    }
}

/// A loop of so many multiplications a round, inside of another one, behind which this is used.
fn left_with(operations: usize, behind: &[&str]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = |text: String| {
        lines.push(text);
        format!("%{}", lines.len() + 7)
    };
    let next = line("Base.add_int(%5, 1)::Int64".into());
    let further = line("Base.add_int(%7, -1)::Int64".into());
    let mut product = line("Base.arrayref(true, a, %5)::Float64".into());
    for operation in 0..operations {
        let other = if operation % 2 == 0 { "%6" } else { "1.0625" };
        product = line(format!("Base.mul_float({product}, {other})::Float64"));
    }
    line(format!("Base.arrayset(true, a, {product}, %5)::Vector{{Float64}}"));
    line(format!("BBKit.stack_push!(%1, {product})::Nothing"));
    let sum = line(format!("Base.add_float(%6, {product})::Float64"));
    let test = line("(%5 === n)::Bool".into());
    line(format!("goto #6 if not {test}"));
    let named = |name: &str| match name {
        "next" => (next.clone(), "Int64"),
        "further" => (further.clone(), "Int64"),
        "sum" => (sum.clone(), "Float64"),
        "product" => (product.clone(), "Float64"),
        "%6" => (name.to_owned(), "Float64"),
        _ => (name.to_owned(), "Int64"),
    };
    let (values, types): (Vec<String>, Vec<&str>) = behind.iter().map(|name| named(name)).unzip();
    let (values, types) = (values.join(", "), types.join(", "));
    let numbered = lines.iter().enumerate().map(|(number, text)| format!("│  %{} = {text}", number + 8));
    let (body, at) = (numbered.collect::<Vec<String>>().join("\n"), lines.len() + 8);
    format!(
        "function f(a::Vector{{Float64}}, n::Int64)::Tuple{{Tuple{{{types}}}, Int64}}
1 ─ %1 = BBKit.new_stack(Float64)::BBKit.Stack{{Float64}}
└── goto #2
2 ┄ %3 = φ (#1 => 1, #7 => %{outer})::Int64
└── goto #3
3 ┄ %5 = φ (#2 => 1, #6 => {next})::Int64
│   %6 = φ (#2 => 0.5, #6 => {sum})::Float64
│   %7 = φ (#2 => 9, #6 => {further})::Int64
{body}
4 ─ %{at} = Core.tuple({values})::Tuple{{{types}}}
│   %{test} = (%3 === 2)::Bool
└── goto #7 if not %{test}
5 ─ goto #8
6 ─ goto #3
7 ─ %{outer} = Base.add_int(%3, 1)::Int64
└── goto #2
8 ─ %{length} = BBKit.stack_length(%1)::Int64
│   %{result} = Core.tuple(%{at}, %{length})::Tuple{{Tuple{{{types}}}, Int64}}
└── return %{result}
end
",
        test = at + 1,
        outer = at + 5,
        length = at + 7,
        result = at + 8,
    )
}

/// What the last round of a loop leaves is there behind it, whichever version of the loop did that round: φs, what they
/// would be in the next round, and what no φ takes. The same goes for stacks, and for a round that fails.
#[test]
fn what_the_last_round_leaves() {
    let all = ["%5", "next", "%7", "further", "sum", "product", "%6"];
    let sets: [&[&str]; 5] = [&all[..5], &all, &["%7"], &["sum", "further"], &["next", "%6"]];
    for (operations, behind) in [3, 30, 120].into_iter().flat_map(|count| sets.iter().map(move |set| (count, *set))) {
        let text = left_with(operations, behind);
        let module = parse_module(&text).unwrap().module;
        module.functions().iter().for_each(|function| function.body.verify().unwrap());
        let machine = Machine::new(&module);
        for (rounds, length) in [(1, 1), (2, 2), (3, 9), (4, 4), (5, 5), (8, 8), (9, 12), (9, 8), (2, 0), (6, 1)] {
            let numbers: Vec<f64> = (0..length).map(|number| 1.5 - 0.25 * f64::from(number)).collect();
            let args = || vec![vector(&machine, &numbers), Value::from(rounds)];
            match native_agrees(&module, "f", &args, Limits::default(), &|_| ()) {
                Ok(Verdict::Same) => {}
                Ok(verdict) => panic!("{rounds} rounds of {length}, {behind:?}: {verdict:?}\n{text}"),
                Err(broken) => panic!("{rounds} rounds of {length}, {behind:?}: {broken}\n{text}"),
            }
        }
    }
}

/// Two nested loops, of which the inner one has a long body with a check and is left for the header of the outer one:
/// its φ lives on where the check fails.
fn checked(checks: &str) -> String {
    let first = 9 + checks.lines().count();
    let mut body: Vec<String> = Vec::new();
    for number in 0..50 {
        let before = first + 2 * number - 1;
        body.push(format!("%{} = Base.mul_float(%{before}, 0.99)::Float64", first + 2 * number));
        body.push(format!("%{} = Base.sub_float(%{}, 0.01)::Float64", first + 2 * number + 1, first + 2 * number));
    }
    let (last, next) = (first + 99, first + 101);
    format!(
        "function f(a::Vector{{Float64}}, m::Int64, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => 1, #6 => %3)::Int64
│   %3 = Base.add_int(%2, 1)::Int64
│   %4 = Base.slt_int(m, %2)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.arrayref(true, a, 1)::Float64
└──      return %6
4 ┄ %8 = φ (#2 => 1, #7 => %{next})::Int64
{checks}
│   {}
│        Base.arrayset(true, a, %{last}, %8)::Vector{{Float64}}
│   %{next} = Base.add_int(%8, 1)::Int64
│   %{} = Base.ne_int(%8, n)::Bool
└──      goto #2 if not %{}
7 ─      goto #4
end
",
        body.join("\n│   "),
        next + 1,
        next + 1,
    )
}

/// A check in a long body holds or does not in any round, in that also which is done alone; what fails, names the round
/// of the outer loop.
#[test]
fn checks_in_long_loops() {
    let branch = "│   %9 = Base.arrayref(true, a, %8)::Float64
│   %10 = Base.lt_float(%9, 0.0)::Bool
└──      goto #6 if not %10
5 ─      Core.throw(%2)::Union{}
└──      unreachable
6 ┄ %14 = Base.add_float(%9, 0.0)::Float64
│   %15 = Base.abs_float(%9)::Float64";
    let function = |name: &str| {
        format!(
            "│   %9 = Base.arrayref(true, a, %8)::Float64
│   %10 = {name}(%9)::Float64
└──      goto #6
5 ─      unreachable
6 ┄ %13 = Base.abs_float(%10)::Float64"
        )
    };
    let mut texts = vec![checked(branch)];
    texts.extend(["Base.sin", "Base.log", "Base.sqrt", "Base.cos"].map(|name| checked(&function(name))));
    let mut failed = 0;
    for text in &texts {
        let module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}")).module;
        module.functions().iter().for_each(|function| function.body.verify().unwrap());
        let machine = Machine::new(&module);
        for (length, odd) in (1..=6).flat_map(|length| (0..=length).map(move |odd| (length, odd))) {
            for (value, rounds) in [(-1.0, 1), (0.3, 3), (1e9, 2), (f64::NAN, 2)] {
                let numbers: Vec<f64> = (0..length).map(|at| if at == odd { value } else { 0.75 }).collect();
                let args = || vec![vector(&machine, &numbers), Value::from(rounds), Value::from(length)];
                failed += usize::from(Machine::new(&module).call("f", &args()).is_err());
                match native_agrees(&module, "f", &args, Limits::default(), &|_| ()) {
                    Ok(Verdict::Same) => {}
                    Ok(verdict) => panic!("{numbers:?}: {verdict:?}\n{text}"),
                    Err(broken) => panic!("{numbers:?}: {broken}\n{text}"),
                }
            }
        }
    }
    assert!(failed > 20, "only {failed} runs failed");
}

/// A loop of which nobody knows how often it runs pushes on a stack, with more numbers around it than there are
/// registers.
fn pushing(numbers: usize) -> String {
    let phis = (0..numbers).map(|number| {
        let next = numbers + 5 + 2 * number;
        format!("│ %{} = φ (#1 => {}.5, #3 => %{})::Float64", number + 3, number + 1, next + 1)
    });
    let steps = (0..numbers).flat_map(|number| {
        let (this, other) = (number + 3, (number + 1) % numbers + 3);
        let product = numbers + 5 + 2 * number;
        [
            format!("│ %{product} = Base.mul_float(%{other}, 0.015625)::Float64"),
            format!("│ %{} = Base.add_float(%{this}, %{product})::Float64", product + 1),
        ]
    });
    let end = 3 * numbers + 7;
    let sums = (1..numbers)
        .map(|number| format!("│ %{} = Base.sub_float(%{}, %{})::Float64", end + number, end + number - 1, number + 3));
    format!(
        "function f(x::Float64)::Float64
1 ─ %1 = BBKit.new_stack(Float64)::BBKit.Stack{{Float64}}
└── goto #2
{}
│ %{test} = Base.lt_float(%3, x)::Bool
└── goto #4 if not %{test}
3 ─ {}
{}
│ BBKit.stack_push!(%1, %3)::Nothing
└── goto #2
4 ─ %{end} = BBKit.stack_pop!(%1)::Float64
{}
└── return %{}
end
",
        phis.collect::<Vec<_>>().join("\n").replacen('│', "2 ┄", 1),
        steps.clone().next().unwrap().trim_start_matches("│ "),
        steps.skip(1).collect::<Vec<_>>().join("\n"),
        sums.collect::<Vec<_>>().join("\n"),
        end + numbers - 1,
        test = numbers + 3,
    )
}

/// A stack that grows leaves the numbers around it as they are, and ends the call where there is no more memory.
#[test]
fn numbers_live_on_where_a_stack_grows() {
    for numbers in [2, 12, 24] {
        let text = pushing(numbers);
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).module;
        for x in [1.6, 2.0, 50.0, 5000.0] {
            let verdict = native_agrees(&module, "f", &|| vec![Value::from(x)], Limits::default(), &|_| ());
            assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}\n{text}")), Verdict::Same, "{text}");
        }
        let little = Limits { memory: 1 << 17, ..Limits::default() };
        let program = Program::compile(&module, &["f"], little).unwrap();
        // The numbers grow by a 64th at most in each round or so, and stay below this for long.
        match program.call("f", &[Value::from(f64::MAX)]) {
            Err(CallError::OutOfMemory(error)) => {
                assert!(matches!(error.kind, RunErrorKind::MemoryLimit(_)), "{error}")
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A stack on which each round pushes, and some rounds once more; behind it in memory lies another one.
const PUSHED_ON_TWICE: &str = "
function f(n::Int64, m::Int64)::Int64
1 ─ %1  = BBKit.new_stack(Int64)::BBKit.Stack{Int64}
│   %2  = BBKit.new_stack(Int64)::BBKit.Stack{Int64}
└──       goto #2
2 ┄ %4  = φ (#1 => 1, #5 => %13)::Int64
│   %5  = Base.sle_int(%4, n)::Bool
└──       goto #6 if not %5
3 ─       BBKit.stack_push!(%1, %4)::Nothing
│   %8  = Base.slt_int(%4, m)::Bool
└──       goto #5 if not %8
4 ─       BBKit.stack_push!(%1, 1000)::Nothing
│         BBKit.stack_push!(%2, 7)::Nothing
└──       goto #5
5 ┄ %13 = Base.add_int(%4, 1)::Int64
└──       goto #2
6 ─       goto #7
7 ┄ %16 = φ (#6 => 1, #8 => %22)::Int64
│   %17 = φ (#6 => 0, #8 => %21)::Int64
│   %18 = Base.slt_int(%16, m)::Bool
└──       goto #9 if not %18
8 ─ %20 = BBKit.stack_get(%2, %16)::Int64
│   %21 = Base.add_int(%17, %20)::Int64
│   %22 = Base.add_int(%16, 1)::Int64
└──       goto #7
9 ─ %24 = BBKit.stack_length(%1)::Int64
│   %25 = Base.mul_int(%24, 1000000)::Int64
│   %26 = Base.add_int(%25, %17)::Int64
└──       return %26
end
";

/// What is pushed on some rounds takes none of the room that was made for what is pushed on each: the length is n and m
/// − 1, the other stack holds a 7 for each of these.
#[test]
fn stacks_grow_as_far_as_they_must() {
    let module = parse_module(PUSHED_ON_TWICE).unwrap().module;
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    for (n, m) in [(10, 5), (100, 30), (1000, 400), (3000, 1030)] {
        let result = program.call("f", &[Value::from(n), Value::from(m)]).unwrap();
        assert_eq!(result.as_integer(), Some(((n + m - 1) * 1_000_000 + 7 * (m - 1)).into()), "{n} rounds, {m}");
    }
}

/// A loop whose straight part is long is compiled once more as it is written, in a function of its own; what comes
/// behind it is a φ that does not name the edge on which the loop is left.
#[test]
fn what_is_behind_an_outlined_loop_may_not_name_its_edge() {
    const TURNS: usize = 33;
    let mut text = String::from(
        "
function f(a::Vector{Float64}, b::Vector{Float64}, n::Int64, x::Float64)::Any
1 ─ %1 = Base.add_float(x, 7.0)::Float64
│   %2 = Base.sle_int(1, n)::Bool
└──      goto #5 if not %2
2 ─      goto #3
3 ─ %5 = φ (#2 => 1, #4 => %110)::Int64
│   %6 = Base.arrayref(true, a, %5)::Float64
│   %7 = Base.add_float(%6, %6)::Float64
",
    );
    for turn in 0..TURNS {
        let at = 7 + 3 * turn;
        text += &format!("│   %{} = Base.sub_float(%{at}, 0.25)::Float64\n", at + 1);
        text += &format!("│   %{} = Base.mul_float(%{}, 1.0009765625)::Float64\n", at + 2, at + 1);
        text += &format!("│   %{} = Base.add_float(%{}, %6)::Float64\n", at + 3, at + 2);
    }
    text += "│        Base.arrayset(true, b, %106, %5)::Vector{Float64}
│   %108 = Base.ne_int(%5, n)::Bool
└──      goto #5 if not %108
4 ─ %110 = Base.add_int(%5, 1)::Int64
└──      goto #3
5 ─ %112 = φ (#1 => %1)::Float64
│   %113 = Core.tuple(%112, b)::Tuple{Float64, Vector{Float64}}
└──      return %113
end
";
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).module;
    let given = [1.0, 2.0, 3.0, 4.0, 5.0];
    let step = |a: f64| (0..TURNS).fold(a + a, |last, _| (last - 0.25) * 1.0009765625 + a);
    let args = || {
        let machine = Machine::new(&module);
        vec![vector(&machine, &given), vector(&machine, &[0.0; 5]), Value::from(4), Value::from(0.5)]
    };
    let verdict = native_agrees(&module, "f", &args, Limits::default(), &|_| ());
    assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}\n{text}")), Verdict::Same, "{text}");
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    let expected: Vec<String> = given.iter().map(|a| format!("{:?}", if *a < 5.0 { step(*a) } else { 0.0 })).collect();
    let result = program.call("f", &args()).unwrap().to_string();
    assert_eq!(result, format!("(7.5, [{}])", expected.join(", ")));
}
