//! What machine code does itself: where it asks the interpreter, a statement takes as long as hundreds of instructions,
//! so that a function which does it in a loop is slower than in the interpreter alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use exec::native::Program;
use exec::{Limits, Machine, Value};
use ircode::Type;
use kit::library::{Case, cases};
use kit::native::{Verdict, native_agrees, verified};

/// Runs `f` on both engines; the statements with which the interpreter helps.
fn helped(text: &str, args: &dyn Fn(&Machine<'_>) -> Vec<Value>) -> Vec<String> {
    let module = verified(text).unwrap_or_else(|error| panic!("{error}"));
    let again = || args(&Machine::new(&module));
    let verdict = native_agrees(&module, "f", &again, Limits::default(), &|_| ());
    assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same, "{text}");
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    program.helped().iter().map(|statement| statement.what.clone()).collect()
}

const NOTHING: [String; 0] = [];

/// As in Julia's `log`: a table of pairs, which lies in memory, and one of few numbers.
#[test]
fn fields_of_tuples_by_number() {
    let pairs: Vec<String> = (0..128).map(|at| format!("({}.5, -{at}.25)", at)).collect();
    let of_table = format!(
        "
function f(n::Int64)::Float64
1 ─ %1 = Base.getfield(({}), n, true)::Tuple{{Float64, Float64}}
│   %2 = Base.getfield(%1, 1)::Float64
│   %3 = Base.getfield(%1, 2)::Float64
│   %4 = Base.sub_float(%2, %3)::Float64
└──      return %4
end
",
        pairs.join(", ")
    );
    let of_few = "
function f(n::Int64)::Float64
1 ─ %1 = Base.getfield((1.5, 2.5, -3.5), n, true)::Float64
└──      return %1
end
";
    let of_values = "
function f(n::Int64)::Tuple{Int64, Bool}
1 ─ %1 = Base.add_int(n, 10)::Int64
│   %2 = Core.tuple(n, true)::Tuple{Int64, Bool}
│   %3 = Core.tuple(%1, false)::Tuple{Int64, Bool}
│   %4 = Core.tuple(%2, %3, %2)::Tuple{Tuple{Int64, Bool}, Tuple{Int64, Bool}, Tuple{Int64, Bool}}
│   %5 = Base.getfield(%4, n)::Tuple{Int64, Bool}
└──      return %5
end
";
    for text in [of_table.as_str(), of_few, of_values] {
        for n in [1, 2, 3, 4, 128, 129, 0, -1, i64::MIN, i64::MAX] {
            assert_eq!(helped(text, &|_| vec![Value::from(n)]), NOTHING, "{n}");
        }
    }
}

/// Fields of different types are not: the result may be either.
#[test]
fn fields_of_different_types_are_the_interpreters() {
    let text = "
function f(n::Int64)::Any
1 ─ %1 = Core.tuple(n, 2.5)::Tuple{Int64, Float64}
│   %2 = Base.getfield(%1, n)::Any
└──      return %2
end
";
    for n in [1, 2, 3] {
        assert_eq!(helped(text, &|_| vec![Value::from(n)]), ["`getfield` of (Tuple{Int64, Float64}, Int64)"]);
    }
}

/// Symbols, functions of which nothing is known but the name, and objects without fields are not made anew each time.
#[test]
fn what_is_known_is_at_hand() {
    let text = "
struct Base.Order.ForwardOrdering
end
function apply(op::Core.Compiler.Const(Base.add_sum, false), order::Any, x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
function f(x::Float64)::Tuple{Float64, Symbol}
1 ─ %1 = Base.add_sum::typeof(Base.add_sum)
│   %2 = %new(Base.Order.ForwardOrdering)::Base.Order.ForwardOrdering
│   %3 = invoke Main.apply(%1::typeof(Base.add_sum), %2::Base.Order.ForwardOrdering, x::Float64)::Float64
│   %4 = Core.tuple(%3, :found)::Tuple{Float64, Symbol}
└──      return %4
end
";
    assert_eq!(helped(text, &|_| vec![Value::from(1.5)]), NOTHING);
    // Of the type itself, whether its values are without references.
    let text = "
function f(x::Float64)::Tuple{Bool, Bool}
1 ─ %1 = Base.getfield(Vector{Float64}, :isbitstype)::Bool
│   %2 = Base.getfield(Float64, :isbitstype)::Bool
│   %3 = Core.tuple(%1, %2)::Tuple{Bool, Bool}
└──      return %3
end
";
    assert_eq!(helped(text, &|_| vec![Value::from(1.5)]), NOTHING);
}

/// What iteration gives, as Julia compiles `for x in v` over what it does not know: `nothing`, or an element and a
/// state.
#[test]
fn iteration_by_unions() {
    let text = "
function next(v::Vector{Float64}, n::Int64)::Union{Nothing, Tuple{Float64, Int64}}
1 ─ %1 = Base.arraylen(v)::Int64
│   %2 = Base.slt_int(%1, n)::Bool
└──      goto #3 if not %2
2 ─      return nothing
3 ─ %5 = Base.arrayref(true, v, n)::Float64
│   %6 = Base.add_int(n, 1)::Int64
│   %7 = Core.tuple(%5, %6)::Tuple{Float64, Int64}
└──      return %7
end
function f(v::Vector{Float64})::Tuple{Float64, Union{Nothing, Tuple{Float64, Int64}}}
1 ─ %1  = invoke Main.next(v::Vector{Float64}, 1::Int64)::Union{Nothing, Tuple{Float64, Int64}}
└──       goto #2
2 ┄ %3  = φ (#1 => %1, #3 => %11)::Union{Nothing, Tuple{Float64, Int64}}
│   %4  = φ (#1 => 0.0, #3 => %9)::Float64
│   %5  = (%3 !== nothing)::Bool
└──       goto #4 if not %5
3 ─ %7  = Core.typeassert(%3, Core.Tuple)::Tuple{Float64, Int64}
│   %8  = Base.getfield(%7, 1)::Float64
│   %9  = Base.add_float(%4, %8)::Float64
│   %10 = Base.getfield(%7, 2)::Int64
│   %11 = invoke Main.next(v::Vector{Float64}, %10::Int64)::Union{Nothing, Tuple{Float64, Int64}}
└──       goto #2
4 ─ %13 = Core.tuple(%4, %3)::Tuple{Float64, Union{Nothing, Tuple{Float64, Int64}}}
└──       return %13
end
";
    for length in [0, 1, 5] {
        let args = |machine: &Machine<'_>| {
            let numbers = (0..length).map(|at| Value::from(f64::from(at) + 0.5)).collect();
            vec![machine.array(Type::FLOAT64, vec![length as usize], numbers).unwrap()]
        };
        assert_eq!(helped(text, &args), NOTHING);
    }
}

/// Values of each member go through φs, calls, `isa`, comparisons and larger unions, and come out as what they were.
#[test]
fn unions_of_numbers_tuples_and_structs() {
    let text = "
struct Circle
    radius::Float64
end
struct Marker
end
function pick(n::Int64)::Union{Nothing, Float64, Circle, Marker}
1 ─ %1  = (n === 1)::Bool
└──       goto #3 if not %1
2 ─       return nothing
3 ─ %4  = (n === 2)::Bool
└──       goto #5 if not %4
4 ─       return -0.0
5 ─ %7  = (n === 3)::Bool
└──       goto #7 if not %7
6 ─ %9  = %new(Circle, 2.5)::Circle
└──       return %9
7 ─ %11 = %new(Marker)::Marker
└──       return %11
end
function f(n::Int64, m::Int64)::Tuple{Bool, Bool, Bool, Bool, Any, Union{Nothing, Float64, Circle, Marker}}
1 ─ %1 = invoke Main.pick(n::Int64)::Union{Nothing, Float64, Circle, Marker}
│   %2 = invoke Main.pick(m::Int64)::Union{Nothing, Float64, Circle, Marker}
│   %3 = (%1 isa Float64)::Bool
│   %4 = (%1 isa Union{Nothing, Circle})::Bool
│   %5 = (%1 === %2)::Bool
│   %6 = (0.0 === %2)::Bool
└──      goto #3 if not %4
2 ─ %8 = π (%1, Union{Nothing, Circle})
└──      goto #3
3 ┄ %10 = φ (#1 => %1, #2 => %8)::Any
│   %11 = Core.tuple(%3, %4, %5, %6, %10, %2)::Tuple{Bool, Bool, Bool, Bool, Any, Union{Nothing, Float64, Circle, Marker}}
└──       return %11
end
";
    for (n, m) in (1..5).flat_map(|n| (1..5).map(move |m| (n, m))) {
        let by = helped(text, &|_| vec![Value::from(n), Value::from(m)]);
        // Only what is of any type is a value of the interpreter.
        assert!(by.iter().all(|what| what.ends_with("taken as one of Any")), "{by:?}");
    }
}

/// A member of so many parts that it lies in memory: that must not be given back while a union leads to it.
#[test]
fn large_members_of_unions_live_on() {
    let ty = format!("Tuple{{{}}}", vec!["Float64"; 70].join(", "));
    let text = format!(
        "
function f(n::Int64)::Float64
1 ─       goto #2
2 ┄ %2  = φ (#1 => nothing, #3 => %9)::Union{{Nothing, {ty}}}
│   %3  = φ (#1 => 0, #3 => %7)::Int64
│   %4  = φ (#1 => nothing, #3 => %2)::Union{{Nothing, {ty}}}
│   %5  = Base.slt_int(%3, n)::Bool
└──       goto #4 if not %5
3 ─ %7  = Base.add_int(%3, 1)::Int64
│   %8  = Base.sitofp(Float64, %3)::Float64
│   %9  = Core.tuple({})::{ty}
└──       goto #2
4 ─ %11 = (%4 === nothing)::Bool
└──       goto #6 if not %11
5 ─       return -1.0
6 ─ %14 = π (%4, {ty})
│   %15 = Base.getfield(%14, 3)::Float64
└──       return %15
end
",
        vec!["%8"; 70].join(", ")
    );
    for n in [0, 1, 2, 5, 1000] {
        helped(&text, &|_| vec![Value::from(n)]);
    }
}

#[test]
fn one_of_a_member_and_a_union() {
    let text = "
function f(n::Int64, c::Bool)::Tuple{Any, Any}
1 ─ %1 = (n === 1)::Bool
└──      goto #3 if not %1
2 ─      goto #3
3 ┄ %4 = φ (#1 => 2.5, #2 => nothing)::Union{Nothing, Float64}
│   %5 = Core.ifelse(c, nothing, %4)::Union{Nothing, Float64}
│   %6 = Core.ifelse(c, %4, 7.5)::Union{Nothing, Float64}
│   %7 = Core.tuple(%5, %6)::Tuple{Any, Any}
└──      return %7
end
";
    for (n, c) in [(1, true), (1, false), (2, true), (2, false)] {
        helped(text, &|_| vec![Value::from(n), Value::from(c)]);
    }
}

/// What is asserted and is not so is an error, at its place.
#[test]
fn assertions_on_unions() {
    let text = "
function f(n::Int64)::Float64
1 ─ %1 = (n === 1)::Bool
└──      goto #3 if not %1
2 ─      goto #3
3 ┄ %4 = φ (#1 => 2.5, #2 => n)::Union{Float64, Int64}
│   %5 = Core.typeassert(%4, Float64)::Float64
└──      return %5
end
";
    for n in [1, 2] {
        assert_eq!(helped(text, &|_| vec![Value::from(n)]), NOTHING);
    }
}

/// Behind the last dimension indices are 1.
#[test]
fn more_indices_than_dimensions() {
    let text = "
function f(v::Vector{Float64}, i::Int64, j::Int64)::Float64
1 ─ %1 = Base.arrayref(true, v, i, j)::Float64
│        Base.arrayset(true, v, 7.5, i, 1, j)::Vector{Float64}
└──      return %1
end
";
    for (i, j) in [(1, 1), (2, 1), (3, 1), (0, 1), (1, 2), (1, 0), (1, -1), (2, i64::MAX), (i64::MIN, 1)] {
        let args = |machine: &Machine<'_>| {
            let numbers = vec![Value::from(1.5), Value::from(2.5)];
            vec![machine.array(Type::FLOAT64, vec![2], numbers).unwrap(), Value::from(i), Value::from(j)]
        };
        assert_eq!(helped(text, &args), NOTHING, "{i}, {j}");
    }
}

#[test]
fn an_array_is_no_number_and_no_reference() {
    let text = "
function f(v::Vector{Float64}, x::Float64)::Tuple{Bool, Bool, Bool, Bool, Bool}
1 ─ %1 = (v === x)::Bool
│   %2 = (nothing === v)::Bool
│   %3 = Base.Ref(x)::Base.RefValue{Float64}
│   %4 = (%3 === v)::Bool
│   %5 = (v === v)::Bool
│   %6 = Core.tuple(v, x)::Tuple{Vector{Float64}, Float64}
│   %7 = (v === %6)::Bool
│   %8 = Core.tuple(%1, %2, %4, %5, %7)::Tuple{Bool, Bool, Bool, Bool, Bool}
└──      return %8
end
";
    let args = |machine: &Machine<'_>| {
        vec![machine.array(Type::FLOAT64, vec![1], vec![Value::from(1.5)]).unwrap(), Value::from(1.5)]
    };
    assert_eq!(helped(text, &args), NOTHING);
}

/// Shadows are added to one another as they are; to itself, or where the lengths differ, the interpreter says what
/// becomes of it.
#[test]
fn shadows_are_added() {
    let text = "
function f(a::Vector{Float64}, b::Vector{Float64})::Nothing
1 ─      Base.add_shadow!(a, b)::Nothing
└──      return nothing
end
";
    let array = |machine: &Machine<'_>, numbers: &[f64]| {
        machine.array(Type::FLOAT64, vec![numbers.len()], numbers.iter().map(|&x| Value::from(x)).collect()).unwrap()
    };
    let long: Vec<f64> = (0..100).map(f64::from).collect();
    for (a, b) in [(&[1.0, 2.0][..], &[0.5, -4.0][..]), (&[], &[]), (&[1.0], &[1.0, 2.0]), (&long, &long)] {
        assert_eq!(helped(text, &|machine| vec![array(machine, a), array(machine, b)]), NOTHING);
    }
    let same = |machine: &Machine<'_>| {
        let one = array(machine, &[1.0, 2.0]);
        vec![one.clone(), one]
    };
    assert_eq!(helped(text, &same), NOTHING);
}

/// A pullback that undoes what was changed says so when it is called again.
#[test]
fn flags_are_used_once() {
    let text = "
function f(times::Int64)::Nothing
1 ─ %1 = Base.Ref(false)::Base.RefValue{Bool}
└──      goto #2
2 ┄ %3 = φ (#1 => 0, #3 => %6)::Int64
│   %4 = Base.slt_int(%3, times)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.add_int(%3, 1)::Int64
│        Base.use_once!(%1)::Nothing
└──      goto #2
4 ─      return nothing
end
";
    for times in 0..3 {
        assert_eq!(helped(text, &|_| vec![Value::from(times)]), NOTHING);
    }
}

/// `native/helped.txt` says of the functions that go through Julia's library with what the interpreter helps.
/// `BBKIT_BLESS=1` writes it.
#[test]
#[ignore = "it takes minutes: scripts/corpora"]
fn of_julias_library_little_is_left_to_the_interpreter() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Case { name, module, function, .. } in cases() {
        let Ok(program) = Program::compile_with(&module, &[&function], Limits::default(), exec::native::Effort::Quick)
        else {
            continue;
        };
        for statement in program.helped() {
            let by = found.entry(format!("{}: {}", statement.function, statement.what)).or_default();
            if !by.contains(&name) {
                by.push(name.clone());
            }
        }
    }
    let shown: String = found
        .iter()
        .map(|(what, by)| match by.as_slice() {
            [first, .., last] => format!("{what}\n    in {} functions, from {first} to {last}\n", by.len()),
            [only] => format!("{what}\n    in {only}\n"),
            [] => String::new(),
        })
        .collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/helped.txt");
    if std::env::var_os("BBKIT_BLESS").is_some() {
        fs::write(&file, &shown).unwrap();
    }
    assert_eq!(shown, fs::read_to_string(&file).unwrap(), "BBKIT_BLESS=1 writes it");
}
