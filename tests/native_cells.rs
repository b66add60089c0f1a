//! Enums and closures that hold objects in native code, against the interpreter: what one changes in an object the
//! others see, and every object stays one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use exec::native::Program;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module};
use kit::native::{Verdict, native_agrees, vector, verified};

fn module(text: &str) -> Module<IRCode> {
    verified(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `f` on both engines, and gives what native code comes to.
fn runs(text: &str, args: &dyn Fn(&Machine<'_>) -> Vec<Value>) -> String {
    let module = module(text);
    let machine = Machine::new(&module);
    let again = || args(&machine);
    let verdict = native_agrees(&module, "f", &again, Limits::default(), &|_| ());
    assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same, "{text}");
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    program.call("f", &again()).map_or_else(|error| error.to_string(), |value| value.to_string())
}

#[test]
fn an_array_in_an_enum_is_the_array() {
    let text = "
enum Held
    one(Float64)
    many(Int64, Vector{Float64}, String)
end
function hold(v::Vector{Float64}, n::Int64)::Held
1 ─ %1 = Base.slt_int(0, n)::Bool
└──      goto #3 if not %1
2 ─ %3 = BBKit.new_case(Held, :many, n, v, \"many\")::Held
└──      return %3
3 ─ %5 = BBKit.new_case(Held, :one, 2.5)::Held
└──      return %5
end
function f(v::Vector{Float64}, n::Int64)::Tuple{Float64, Held, Vector{Float64}}
1 ─ %1  = invoke Main.hold(v::Vector{Float64}, n::Int64)::Held
│         Base.arrayset(true, v, 7.0, 1)::Vector{Float64}
│   %3  = BBKit.is_case(%1, :many)::Bool
└──       goto #3 if not %3
2 ─ %5  = BBKit.payload(%1, :many, 2)::Vector{Float64}
│   %6  = BBKit.payload(%1, :many, 1)::Int64
│   %7  = Base.arrayref(true, %5, %6)::Float64
│         Base.arrayset(true, %5, 8.0, 2)::Vector{Float64}
│   %9  = Core.tuple(%7, %1, %5)::Tuple{Float64, Held, Vector{Float64}}
└──       return %9
3 ─ %11 = BBKit.payload(%1, :one, 1)::Float64
│   %12 = Core.tuple(%11, %1, v)::Tuple{Float64, Held, Vector{Float64}}
└──       return %12
end
";
    let found = runs(text, &|machine| vec![vector(machine, &[1.0, 2.0]), Value::from(1)]);
    assert!(found.starts_with("(7.0, "), "{found}");
    runs(text, &|machine| vec![vector(machine, &[1.0, 2.0]), Value::from(0)]);
    // Out of the bounds of the array in it.
    runs(text, &|machine| vec![vector(machine, &[1.0, 2.0]), Value::from(3)]);
}

#[test]
fn an_enum_of_another_case_is_an_exception() {
    let text = "
enum Held
    one(Float64)
    many(Vector{Float64})
end
function f(v::Vector{Float64}, n::Int64)::Float64
1 ─ %1 = BBKit.new_case(Held, :many, v)::Held
│   %2 = BBKit.payload(%1, :one, 1)::Float64
└──      return %2
end
";
    let found = runs(text, &|machine| vec![vector(machine, &[1.0]), Value::from(1)]);
    assert!(found.contains("many is taken for the case one"), "{found}");
}

/// A list of numbers is made and added up.
const LIST: &str = "
enum List
    none()
    more(Float64, Vector{Float64}, List)
end
function f(v::Vector{Float64}, n::Int64)::Tuple{Float64, List}
1 ─ %1  = BBKit.new_case(List, :none)::List
2 ┄ %2  = φ (#1 => 0, #3 => %6)::Int64
│   %3  = φ (#1 => %1, #3 => %8)::List
│   %4  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %4
3 ─ %6  = Base.add_int(%2, 1)::Int64
│   %7  = Base.sitofp(Float64, %6)::Float64
│   %8  = BBKit.new_case(List, :more, %7, v, %3)::List
└──       goto #2
4 ─       goto #5
5 ┄ %11 = φ (#4 => %3, #6 => %20)::List
│   %12 = φ (#4 => 0.0, #6 => %19)::Float64
│   %13 = BBKit.is_case(%11, :more)::Bool
└──       goto #7 if not %13
6 ─ %15 = BBKit.payload(%11, :more, 1)::Float64
│   %16 = BBKit.payload(%11, :more, 2)::Vector{Float64}
│   %17 = Base.arrayref(true, %16, 1)::Float64
│   %18 = Base.mul_float(%15, %17)::Float64
│   %19 = Base.add_float(%12, %18)::Float64
│   %20 = BBKit.payload(%11, :more, 3)::List
└──       goto #5
7 ─ %22 = Core.tuple(%12, %3)::Tuple{Float64, List}
└──       return %22
end
";

#[test]
fn enums_in_enums_go_as_deep_as_they_are() {
    for n in [0, 1, 5, 3_000] {
        runs(LIST, &|machine| vec![vector(machine, &[2.0]), Value::from(n)]);
    }
    // Deeper ones are for the interpreter, if they come out at all.
    let module = module(LIST);
    let machine = Machine::new(&module);
    let verdict = native_agrees(
        &module,
        "f",
        &|| vec![vector(&machine, &[2.0]), Value::from(20_000)],
        Limits::default(),
        &|_| (),
    );
    assert!(matches!(verdict, Ok(Verdict::Refused(what)) if what.contains("nested so deep")));
}

#[test]
fn what_is_held_twice_is_made_once() {
    // Each enum holds the one before it twice: 2⁶⁰ of them, if they were told apart.
    let text = "
enum Tree
    leaf(Vector{Float64})
    node(Tree, Tree)
end
function f(v::Vector{Float64}, n::Int64)::Tree
1 ─ %1 = BBKit.new_case(Tree, :leaf, v)::Tree
2 ┄ %2 = φ (#1 => 0, #3 => %6)::Int64
│   %3 = φ (#1 => %1, #3 => %7)::Tree
│   %4 = Base.slt_int(%2, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.add_int(%2, 1)::Int64
│   %7 = BBKit.new_case(Tree, :node, %3, %3)::Tree
└──      goto #2
4 ─      return %3
end
function g(t::Tree)::Bool
1 ─ %1 = BBKit.is_case(t, :leaf)::Bool
└──      return %1
end
";
    let module = module(text);
    let program = Program::compile(&module, &["f", "g"], Limits::default()).unwrap();
    let v = vector(&Machine::new(&module), &[1.0]);
    let tree = program.call("f", &[v, Value::from(60)]).unwrap();
    assert_eq!(program.call("g", &[tree]).unwrap().to_string(), "false");
}

/// Adds `y` to the first number of what the closure captures, and gives that times the other one.
const CLOSURES: &str = "
function counted(y::Float64, v::Vector{Float64}, by::Float64)::Float64
1 ─ %1 = Base.arrayref(true, v, 1)::Float64
│   %2 = Base.add_float(%1, y)::Float64
│        Base.arrayset(true, v, %2, 1)::Vector{Float64}
│   %4 = Base.mul_float(%2, by)::Float64
└──      return %4
end
function plain(y::Float64, by::Float64)::Float64
1 ─ %1 = Base.add_float(y, by)::Float64
└──      return %1
end
function make(v::Vector{Float64}, by::Float64, b::Bool)::BBKit.Closure{Tuple{Float64}, Float64}
1 ─      goto #3 if not b
2 ─ %2 = BBKit.partial_apply(Main.counted, v, by)::BBKit.Closure{Tuple{Float64}, Float64}
└──      return %2
3 ─ %4 = BBKit.partial_apply(Main.plain, by)::BBKit.Closure{Tuple{Float64}, Float64}
└──      return %4
end
";

#[test]
fn closures_share_the_array_that_they_capture() {
    let text = format!(
        "{CLOSURES}
function f(v::Vector{{Float64}}, b::Bool)::Tuple{{Float64, Float64, Bool, BBKit.Closure{{Tuple{{Float64}}, Float64}}}}
1 ─ %1 = invoke Main.make(v::Vector{{Float64}}, 2.0, b::Bool)::BBKit.Closure{{Tuple{{Float64}}, Float64}}
│   %2 = invoke Main.make(v::Vector{{Float64}}, 3.0, true)::BBKit.Closure{{Tuple{{Float64}}, Float64}}
│   %3 = (%1)(0.5)::Float64
│   %4 = (%2)(%3)::Float64
│   %5 = BBKit.applies(%1, Main.counted)::Bool
└──      goto #3 if not %5
2 ─ %7 = BBKit.captured(%1, Main.counted, 1)::Vector{{Float64}}
│        Base.arrayset(true, %7, 9.0, 2)::Vector{{Float64}}
3 ┄ %9 = Core.tuple(%3, %4, %5, %1)::Tuple{{Float64, Float64, Bool, BBKit.Closure{{Tuple{{Float64}}, Float64}}}}
└──      return %9
end
"
    );
    let found = runs(&text, &|machine| vec![vector(machine, &[1.0, 2.0]), Value::from(true)]);
    assert!(found.starts_with("(3.0, 13.5, true, "), "{found}");
    runs(&text, &|machine| vec![vector(machine, &[1.0, 2.0]), Value::from(false)]);
    // An exception comes through the call of a closure.
    runs(&text, &|machine| vec![vector(machine, &[]), Value::from(true)]);
}

#[test]
fn closures_of_the_caller_share_its_arrays() {
    let text = format!(
        "{CLOSURES}
function f(g::BBKit.Closure{{Tuple{{Float64}}, Float64}}, v::Vector{{Float64}})::Tuple{{Float64, Float64}}
1 ─ %1 = (g)(0.5)::Float64
│   %2 = Base.arrayref(true, v, 1)::Float64
│        Base.arrayset(true, v, 100.0, 1)::Vector{{Float64}}
│   %4 = (g)(%2)::Float64
│   %5 = Core.tuple(%2, %4)::Tuple{{Float64, Float64}}
│   %6 = BBKit.partial_apply(Main.counted, v, 1.0)::BBKit.Closure{{Tuple{{Float64}}, Float64}}
└──      return %5
end
"
    );
    let module = module(&text);
    let machine = Machine::new(&module);
    let args = |shared: bool| {
        let v = vector(&machine, &[1.0, 2.0]);
        let other = if shared { v.clone() } else { vector(&machine, &[5.0]) };
        let closure = Machine::new(&module).call("make", &[v, Value::from(2.0), Value::from(true)]).unwrap();
        vec![closure, other]
    };
    for shared in [true, false] {
        let verdict = native_agrees(&module, "f", &|| args(shared), Limits::default(), &|_| ());
        assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same);
    }
}

#[test]
fn closures_in_arrays_and_stacks_are_found_again() {
    let text = format!(
        "{CLOSURES}
function f(v::Vector{{Float64}}, n::Int64)::Float64
1 ─ %1  = BBKit.new_array(BBKit.Closure{{Tuple{{Float64}}, Float64}}, 2)::Vector{{BBKit.Closure{{Tuple{{Float64}}, Float64}}}}
│   %2  = BBKit.new_stack(BBKit.Closure{{Tuple{{Float64}}, Float64}})::BBKit.Stack{{BBKit.Closure{{Tuple{{Float64}}, Float64}}}}
│   %3  = invoke Main.make(v::Vector{{Float64}}, 2.0, true)::BBKit.Closure{{Tuple{{Float64}}, Float64}}
│         Base.arrayset(true, %1, %3, 1)::Vector{{BBKit.Closure{{Tuple{{Float64}}, Float64}}}}
│         BBKit.stack_push!(%2, %3)::Nothing
│   %6  = Base.arrayref(true, %1, n)::BBKit.Closure{{Tuple{{Float64}}, Float64}}
│   %7  = (%6)(1.5)::Float64
│   %8  = BBKit.stack_pop!(%2)::BBKit.Closure{{Tuple{{Float64}}, Float64}}
│   %9  = (%8)(%7)::Float64
└──       return %9
end
"
    );
    runs(&text, &|machine| vec![vector(machine, &[1.0]), Value::from(1)]);
    // The second was not assigned.
    let found = runs(&text, &|machine| vec![vector(machine, &[1.0]), Value::from(2)]);
    assert!(found.contains("UndefRef"), "{found}");
}

#[test]
fn enums_are_the_same_if_what_they_hold_is() {
    let text = "
enum Held
    one(Float64)
    many(Vector{Float64})
end
function f(v::Vector{Float64}, w::Vector{Float64})::Tuple{Bool, Bool, Bool, Bool}
1 ─ %1 = BBKit.new_case(Held, :many, v)::Held
│   %2 = BBKit.new_case(Held, :many, v)::Held
│   %3 = BBKit.new_case(Held, :many, w)::Held
│   %4 = BBKit.new_case(Held, :one, 1.0)::Held
│   %5 = (%1 === %2)::Bool
│   %6 = (%1 === %3)::Bool
│   %7 = (%1 === %4)::Bool
│   %8 = (%4 === %4)::Bool
│   %9 = Core.tuple(%5, %6, %7, %8)::Tuple{Bool, Bool, Bool, Bool}
└──      return %9
end
";
    let found = runs(text, &|machine| vec![vector(machine, &[1.0]), vector(machine, &[1.0])]);
    assert_eq!(found, "(true, false, false, true)");
}
