//! Native code at the edges: every primitive on numbers at the numbers where something happens, exceptions, deep
//! recursion, arrays that are empty or too short, values of many parts; always against the interpreter.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use exec::native::{CallError, Program};
use exec::{Limits, Machine, RunErrorKind, Value};
use ircode::primitives::{Compute, Primitive, TABLE};
use ircode::{IRCode, Module, Scalar, ScalarType, Type, parse_module};
use kit::native::{Verdict, native_agrees, vector, verified};

fn module(text: &str) -> Module<IRCode> {
    verified(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `f` on both engines, and says what became of it.
fn agrees(module: &Module<IRCode>, args: &dyn Fn() -> Vec<Value>) -> Verdict {
    native_agrees(module, "f", args, Limits::default(), &|_| ()).unwrap_or_else(|broken| panic!("{broken}"))
}

fn runs(text: &str, args: &dyn Fn(&Machine<'_>) -> Vec<Value>) {
    let module = module(text);
    let verdict = agrees(&module, &|| args(&Machine::new(&module)));
    assert_eq!(verdict, Verdict::Same, "{text}");
}

/// Numbers of a type at which operations change what they do.
fn edges(ty: ScalarType) -> Vec<Scalar> {
    let bits = ty.bits();
    let all = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
    let patterns: Vec<u128> = match ty {
        ScalarType::Bool => vec![0, 1],
        ScalarType::Char => vec![0, 0x6100_0000, 0xf09f_9880],
        ty if ty.is_float() => {
            let numbers = [
                0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-40, 300.5, -129.0, -1e5, 1e10, 65_519.0, 1e300, -1e19, 1.8e19,
            ];
            let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let number = |x: &f64| Scalar::from_float(ty, *x).unwrap().to_bits();
            numbers.iter().chain(&special).map(number).collect()
        }
        _ => vec![
            0,
            1,
            2,
            7,
            u128::from(bits) - 1,
            u128::from(bits),
            u128::from(bits) + 1,
            all,
            all - 1,
            all >> 1,
            (all >> 1) + 1,
        ],
    };
    patterns.into_iter().map(|pattern| Scalar::from_bits(ty, pattern & all)).collect()
}

const TYPES: [ScalarType; 15] = [
    ScalarType::Bool,
    ScalarType::Char,
    ScalarType::Int8,
    ScalarType::Int16,
    ScalarType::Int32,
    ScalarType::Int64,
    ScalarType::Int128,
    ScalarType::UInt8,
    ScalarType::UInt16,
    ScalarType::UInt32,
    ScalarType::UInt64,
    ScalarType::UInt128,
    ScalarType::Float16,
    ScalarType::Float32,
    ScalarType::Float64,
];

/// Runs a function of numbers on both engines at all combinations of edges; whether it is compiled.
fn holds_at_edges(text: &str, types: &[ScalarType]) -> bool {
    let module = module(text);
    let program = match Program::compile(&module, &["f"], Limits::default()) {
        Ok(program) => program,
        Err(_) => return false,
    };
    let mut combinations: Vec<Vec<Scalar>> = vec![Vec::new()];
    for ty in types {
        let longer = |so_far: &Vec<Scalar>| {
            edges(*ty).into_iter().map(|edge| so_far.iter().cloned().chain([edge]).collect()).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    let mut machine = Machine::new(&module);
    for numbers in combinations {
        let args: Vec<Value> = numbers.iter().cloned().map(Value::from).collect();
        let shown = |result: Result<Value, String>| match result {
            Ok(value) if value.as_float().is_some_and(f64::is_nan) => "NaN".to_string(),
            Ok(value @ Value::Tuple(_)) => format!("{value}::{}", value.type_of()),
            Ok(value) => format!("{:?}", value),
            Err(error) => error,
        };
        let expected = machine.call("f", &args).map_err(|error| error.to_string());
        let found = program.call("f", &args).map_err(|error| error.to_string());
        assert_eq!(shown(found), shown(expected), "{args:?} of\n{text}");
    }
    true
}

/// The result type does not matter to the interpreter, so it is taken from a run.
fn result_of(primitive: &Primitive, args: &[Scalar], target: Option<ScalarType>) -> Option<ScalarType> {
    match (primitive.compute, target, args) {
        (Compute::Scalars(f), None, args) => f(args).ok().map(|value| value.scalar_type()),
        (Compute::Convert(f), Some(ty), [arg]) => f(ty, arg).ok().map(|value| value.scalar_type()),
        _ => None,
    }
}

#[test]
fn primitives_on_numbers_are_the_interpreters() {
    let (mut tried, mut compiled) = (0, 0);
    for primitive in TABLE {
        let operands = match primitive.compute {
            Compute::Scalars(_) => primitive.min_operands,
            _ => continue,
        };
        let scope = if primitive.name.starts_with("libm.") { "" } else { "Base." };
        for ty in TYPES {
            // Shifts take any integer as their second operand.
            let seconds: &[ScalarType] = match primitive.name {
                "shl_int" | "lshr_int" | "ashr_int" if ty.is_integer() => {
                    &[ScalarType::UInt8, ScalarType::Int64, ScalarType::UInt64]
                }
                _ => &[],
            };
            for second in std::iter::once(&ty).chain(seconds) {
                let types: Vec<ScalarType> = (0..operands).map(|at| if at == 1 { *second } else { ty }).collect();
                if operands > 2 && (!ty.is_float() || primitive.min_operands > 3) {
                    continue;
                }
                let result = edges(ty)
                    .iter()
                    .flat_map(|a| edges(*second).into_iter().map(|b| (a.clone(), b)))
                    .find_map(|(a, b)| {
                        let all = [a.clone(), b, a];
                        result_of(primitive, all.get(..operands)?, None)
                    });
                let Some(result) = result else { continue };
                let name = primitive.name;
                let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
                if !plain {
                    continue;
                }
                let parameters: Vec<String> = types.iter().enumerate().map(|(at, ty)| format!("x{at}::{ty}")).collect();
                let names: Vec<String> = (0..operands).map(|at| format!("x{at}")).collect();
                let text = format!(
                    "function f({})::{result}\n1 ─ %1 = {scope}{name}({})::{result}\n└──      return %1\nend\n",
                    parameters.join(", "),
                    names.join(", "),
                );
                tried += 1;
                compiled += usize::from(holds_at_edges(&text, &types));
            }
        }
    }
    assert!(tried > 500 && compiled == tried, "{compiled} of {tried}");
}

#[test]
fn conversions_are_the_interpreters() {
    let (mut tried, mut compiled) = (0, 0);
    for primitive in TABLE.iter().filter(|primitive| matches!(primitive.compute, Compute::Convert(_))) {
        for to in TYPES {
            for from in TYPES {
                if !edges(from).iter().any(|edge| result_of(primitive, std::slice::from_ref(edge), Some(to)).is_some())
                {
                    continue;
                }
                let name = primitive.name;
                let text = format!(
                    "function f(x::{from})::{to}\n1 ─ %1 = Base.{name}({to}, x)::{to}\n└──      return %1\nend\n"
                );
                tried += 1;
                compiled += usize::from(holds_at_edges(&text, &[from]));
            }
        }
    }
    assert!(tried > 300 && compiled == tried, "{compiled} of {tried}");
}

#[test]
fn checked_arithmetic_says_what_overflows() {
    let mut compiled = 0;
    for operation in ["sadd", "uadd", "ssub", "usub", "smul", "umul"] {
        for ty in TYPES.into_iter().filter(|ty| ty.is_integer()) {
            let text = format!(
                "function f(a::{ty}, b::{ty})::Tuple{{{ty}, Bool}}\n1 ─ %1 = Base.checked_{operation}_int(a, b)::Tuple{{{ty}, Bool}}\n└──      return %1\nend\n"
            );
            compiled += usize::from(holds_at_edges(&text, &[ty, ty]));
        }
    }
    assert_eq!(compiled, 60);
}

fn floats(machine: &Machine<'_>, numbers: &[f64]) -> Value {
    machine.array(Type::FLOAT64, vec![numbers.len()], numbers.iter().map(|&x| Value::from(x)).collect()).unwrap()
}

#[test]
fn arrays_are_checked_with_one_index_and_with_several() {
    let vector = "
function f(v::Vector{Float64}, i::Int64)::Float64
1 ─ %1 = Base.arrayref(true, v, i)::Float64
│        Base.arrayset(true, v, 7.5, i)::Vector{Float64}
└──      return %1
end
";
    for i in [1, 2, 3, 0, -1, i64::MIN, i64::MAX] {
        runs(vector, &|machine| vec![floats(machine, &[1.0, 2.0]), Value::from(i)]);
        runs(vector, &|machine| vec![floats(machine, &[]), Value::from(i)]);
    }
    let matrix = "
function f(m::Matrix{Float64}, i::Int64, j::Int64)::Float64
1 ─ %1 = Base.arrayref(true, m, i, j)::Float64
│        Base.arrayset(true, m, 7.5, j, i)::Matrix{Float64}
└──      return %1
end
";
    for (i, j) in [(1, 1), (2, 3), (3, 1), (1, 4), (0, 1), (2, 0), (i64::MAX, 2), (2, i64::MIN)] {
        runs(matrix, &|machine| {
            let numbers = (0..6).map(|x| Value::from(f64::from(x))).collect();
            vec![machine.array(Type::FLOAT64, vec![2, 3], numbers).unwrap(), Value::from(i), Value::from(j)]
        });
    }
}

/// A loop that puts a function of each element of one array into another, as C has it: without exceptions.
fn function_of_each(name: &str) -> String {
    let called = match name {
        "erf" | "log" | "sin" | "cos" => format!(
            "$(Expr(:foreigncall, :(Core.tuple(:{name}, Base.Math.libm)), Float64, svec(Float64), 0, :(:ccall), :(%7), :(%7)))"
        ),
        name => format!("Base.{name}(%7)"),
    };
    format!(
        "function f(x::Vector{{Float64}}, y::Vector{{Float64}})::Nothing
1 ─ %1  = Base.arraylen(x)::Int64
└──       goto #2
2 ┄ %3  = φ (#1 => 1, #3 => %10)::Int64
│   %4  = Base.sle_int(%3, %1)::Bool
└──       goto #4 if not %4
3 ─       nothing
│   %7  = Base.arrayref(true, x, %3)::Float64
│   %8  = {called}::Float64
│         Base.arrayset(true, y, %8, %3)::Vector{{Float64}}
│   %10 = Base.add_int(%3, 1)::Int64
└──       goto #2
4 ─       return nothing
end
"
    )
}

/// Functions that are written out for two numbers at once give what the interpreter gives, also where one is special
/// and the other is not.
#[test]
fn functions_of_two_numbers_at_once_are_the_interpreters() {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, 5e-324, -5e-324, 1e-310];
    let near =
        [709.78, 709.79, -708.4, -745.1, -745.2, 1.0, 1.0 - f64::EPSILON, 5.93, -6.1, 19.07, -20.1, 0.0625, -0.1875];
    let mut numbers: Vec<f64> = Vec::new();
    for (at, one) in special.iter().chain(&near).enumerate() {
        // Each in the first and in the second place, beside an ordinary number.
        numbers.extend([*one, at as f64 / 7.0 - 1.0, 0.3 - at as f64 / 5.0, *one]);
    }
    numbers.extend((0..2000).map(|number| (f64::from(number) - 1000.0) * 0.0171));
    let run = |name: &str, numbers: &[f64]| {
        runs(&function_of_each(name), &|machine| {
            vec![floats(machine, numbers), floats(machine, &vec![0.0; numbers.len()])]
        });
    };
    ["exp", "log", "erf", "tanh", "sin", "cos"].into_iter().for_each(|name| run(name, &numbers));
    // Small and large angles in turns; beyond the limit a loop goes on one by one.
    let quarter = std::f64::consts::FRAC_PI_4;
    let mut angles = vec![quarter, quarter.next_down(), -quarter, 1e-9, -0.0, 0.0, 5e-324, 16383.9, -16383.9, 355.0];
    angles.extend((0..4000).map(|number| (f64::from(number) - 2000.0) * 1.73));
    angles.extend([16384.0, 0.5, 1e22, -0.5, 16383.9, 2.0, f64::INFINITY, 0.25]);
    ["sin", "cos"].into_iter().for_each(|name| run(name, &angles));
}

#[test]
fn aliases_among_arguments_stay_aliases() {
    let text = "
function f(a::Vector{Float64}, b::Vector{Float64})::Tuple{Vector{Float64}, Bool}
1 ─      Base.arrayset(true, a, 5.0, 1)::Vector{Float64}
│   %2 = Base.arrayref(true, b, 1)::Float64
│        Base.arrayset(true, b, %2, 2)::Vector{Float64}
│   %4 = (a === b)::Bool
│   %5 = Core.tuple(b, %4)::Tuple{Vector{Float64}, Bool}
└──      return %5
end
";
    runs(text, &|machine| {
        let v = floats(machine, &[1.0, 2.0]);
        vec![v.clone(), v]
    });
    runs(text, &|machine| vec![floats(machine, &[1.0, 2.0]), floats(machine, &[3.0, 4.0])]);
}

/// An object must not be there twice: once as native code knows it, once as it lies in a value of unknown type.
#[test]
fn an_array_that_is_also_in_a_value_of_unknown_type_is_refused() {
    let module = module(
        "
function f(a::Vector{Float64}, b::Any)::Any
1 ─      Base.arrayset(true, a, 5.0, 1)::Vector{Float64}
└──      return b
end
",
    );
    let machine = Machine::new(&module);
    let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
    let v = floats(&machine, &[1.0, 2.0]);
    let inside = machine.tuple(vec![Value::from(1.5), v.clone()]).unwrap();
    assert!(matches!(program.call("f", &[v.clone(), inside]), Err(CallError::Refused { .. })));
    // Nothing has happened.
    assert_eq!(v.to_string(), "[1.0, 2.0]");
    let apart = machine.tuple(vec![Value::from(1.5), floats(&machine, &[3.0])]).unwrap();
    assert_eq!(program.call("f", &[v.clone(), apart]).unwrap().to_string(), "(1.5, [3.0])");
    assert_eq!(v.to_string(), "[5.0, 2.0]");
}

const RECURSIVE: &str = "
function down(n::Int64)::Int64
1 ─ %1 = Base.sle_int(n, 0)::Bool
└──      goto #3 if not %1
2 ─      return 0
3 ─ %4 = Base.sub_int(n, 1)::Int64
│   %5 = invoke Main.down(%4::Int64)::Int64
│   %6 = Base.add_int(%5, 1)::Int64
└──      return %6
end
function f(n::Int64)::Int64
1 ─ %1 = invoke Main.down(n::Int64)::Int64
└──      return %1
end
";

#[test]
fn recursion_ends_where_the_interpreter_ends_it() {
    let module = module(RECURSIVE);
    for depth in [3, 100, 5000] {
        let limits = Limits { depth, ..Limits::default() };
        for n in [0, depth as i64 - 3, depth as i64 - 2, depth as i64 - 1, depth as i64, 2 * depth as i64] {
            let args = || vec![Value::from(n.max(0))];
            let verdict =
                native_agrees(&module, "f", &args, limits, &|_| ()).unwrap_or_else(|broken| panic!("{broken}"));
            assert_eq!(verdict, Verdict::Same, "{n} calls, at most {depth}");
        }
    }
}

/// On the thread of the test, which has 2 MB of stack, and on one with less.
#[test]
fn recursion_a_million_deep_is_an_error() {
    let check = || {
        let module = module(RECURSIVE);
        let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
        let Err(CallError::Run(error)) = program.call("f", &[Value::from(1_000_000)]) else { panic!("it runs") };
        assert!(matches!(error.kind, RunErrorKind::DepthLimit(100_000)), "{error}");
        assert_eq!(error.trace.len(), 16);
        // The program can be called again.
        assert_eq!(program.call("f", &[Value::from(1000)]).unwrap().to_string(), "1000");
        let deeper = Limits { depth: 2_000_000, ..Limits::default() };
        let program = Program::compile(&module, &["f"], deeper).unwrap();
        match program.call("f", &[Value::from(1_000_000)]) {
            Ok(value) => assert_eq!(value.to_string(), "1000000"),
            // More stack than there is.
            Err(CallError::Refused { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    check();
    std::thread::Builder::new().stack_size(256 << 10).spawn(check).unwrap().join().unwrap();
}

/// Calls that go on with another stack pass all arguments on, and results and errors back: in a register, through
/// memory, and none.
#[test]
fn recursion_goes_on_with_another_stack() {
    let of_result = |result: &str, last: &str, next: &str| {
        format!(
            "
function down(n::Int64, a::Float32, pair::Tuple{{Float64, Int8}}, v::Vector{{Float64}})::{result}
1 ─ %1  = Base.slt_int(0, n)::Bool
└──       goto #3 if not %1
2 ─ %3  = Base.sub_int(n, 1)::Int64
│   %4  = Base.getfield(pair, 1)::Float64
│   %5  = Base.add_float(%4, 0.5)::Float64
│   %6  = Base.getfield(pair, 2)::Int8
│   %7  = Core.tuple(%5, %6)::Tuple{{Float64, Int8}}
│   %8  = invoke Main.down(%3::Int64, a::Float32, %7::Tuple{{Float64, Int8}}, v::Vector{{Float64}})::{result}
{next}
3 ─ %10 = Base.getfield(pair, 1)::Float64
│         Base.setindex!(v, %10, 1)::Vector{{Float64}}
{last}
end
function f(n::Int64, a::Float32, v::Vector{{Float64}})::{result}
1 ─ %1 = Core.tuple(1.0, $(QuoteNode(Int8(7))))::Tuple{{Float64, Int8}}
│   %2 = invoke Main.down(n::Int64, a::Float32, %1::Tuple{{Float64, Int8}}, v::Vector{{Float64}})::{result}
└──      return %2
end
"
        )
    };
    let programs = [
        of_result("Float32", "└──       return a", "└──       return %8"),
        of_result("Nothing", "└──       return nothing", "└──       return nothing"),
        of_result("Tuple{Float64, Int8}", "└──       return pair", "└──       return %8"),
    ];
    let check = move || {
        for text in &programs {
            let module = module(&text.replace("$(QuoteNode(Int8(7)))", "0x07").replace("Int8", "UInt8"));
            for n in [3, 90_000] {
                let machine = Machine::new(&module);
                let args = || vec![Value::from(n), Value::from(Scalar::Float32(2.5)), floats(&machine, &[0.0, 1.0])];
                let (given, own) = (args(), args());
                let limits = Limits::default();
                let expected = Machine::with_limits(&module, limits).call("f", &given).unwrap();
                let program = Program::compile(&module, &["f"], limits).unwrap();
                assert_eq!(program.call("f", &own).unwrap().to_string(), expected.to_string(), "{n}: {text}");
                assert_eq!(own[2].to_string(), given[2].to_string(), "{n}: {text}");
                // Beyond the end of the array, where it is deepest.
                let empty = [Value::from(n), Value::from(Scalar::Float32(2.5)), floats(&machine, &[])];
                let expected = Machine::with_limits(&module, limits).call("f", &empty).unwrap_err();
                let Err(CallError::Run(error)) = program.call("f", &empty) else { panic!("it runs") };
                assert_eq!(error.kind.to_string(), expected.kind.to_string());
                // And again from the start.
                assert!(program.call("f", &own).is_ok());
            }
        }
    };
    check();
    std::thread::Builder::new().stack_size(256 << 10).spawn(check).unwrap().join().unwrap();
}

#[test]
fn memory_without_end_is_an_error() {
    let module = module(
        "
function f(n::Int64)::Int64
1 ─ %1 = $(Expr(:foreigncall, :(:jl_alloc_array_1d), Vector{Float64}, svec(Any, Int64), 0, :(:ccall), Vector{Float64}, :(n), :(n)))::Vector{Float64}
│   %2 = Base.arraylen(%1)::Int64
└──      return %2
end
",
    );
    let limits = Limits { memory: 1 << 24, ..Limits::default() };
    let program = Program::compile(&module, &["f"], limits).unwrap();
    assert_eq!(program.call("f", &[Value::from(1000)]).unwrap().to_string(), "1000");
    for n in [1 << 22, 1 << 40, i64::MAX / 8, i64::MAX] {
        let Err(CallError::OutOfMemory(error)) = program.call("f", &[Value::from(n)]) else { panic!("{n} fit") };
        assert!(matches!(error.kind, RunErrorKind::MemoryLimit(_)), "{n}: {error}");
    }
    let args = || vec![Value::from(-1)];
    assert_eq!(native_agrees(&module, "f", &args, limits, &|_| ()).unwrap(), Verdict::Same);
}

/// A function of so many numbers that gives them back in a tuple, the last first, through a call.
fn wide(count: usize) -> String {
    let types = vec!["Float64"; count].join(", ");
    let parameters: Vec<String> = (0..count).map(|at| format!("x{at}::Float64")).collect();
    let names: Vec<String> = (0..count).map(|at| format!("x{at}")).collect();
    let typed: Vec<String> = (0..count).map(|at| format!("x{at}::Float64")).collect();
    let reversed: Vec<String> = (0..count).rev().map(|at| format!("x{at}")).collect();
    format!(
        "function g({p})::Tuple{{{types}}}\n1 ─ %1 = Core.tuple({r})::Tuple{{{types}}}\n└──      return %1\nend\n\
         function f({p})::Tuple{{Tuple{{{types}}}, Bool, Float64}}\n1 ─ %1 = invoke Main.g({t})::Tuple{{{types}}}\n\
         │   %2 = Core.tuple({n})::Tuple{{{types}}}\n│   %3 = (%1 === %2)::Bool\n│   %4 = Base.getfield(%1, {count})::Float64\n\
         │   %5 = Core.tuple(%1, %3, %4)::Tuple{{Tuple{{{types}}}, Bool, Float64}}\n└──      return %5\nend\n",
        p = parameters.join(", "),
        r = reversed.join(", "),
        t = typed.join(", "),
        n = names.join(", "),
    )
}

#[test]
fn values_of_many_parts_are_passed_on() {
    for count in [1, 2, 6, 7, 63, 64, 65, 66, 200] {
        runs(&wide(count), &|_| (0..count).map(|at| Value::from(at as f64 + 0.5)).collect());
    }
}

#[test]
fn exceptions_come_through_calls_with_their_places() {
    let text = "
function h(x::Float64, n::Int64)::Float64
1 ─ %1 = Base.checked_sdiv_int(10, n)::Int64
│   %2 = Base.sitofp(Float64, %1)::Float64
│   %3 = Base.sqrt(x)::Float64
│   %4 = Base.add_float(%2, %3)::Float64
└──      return %4
end
function g(x::Float64, n::Int64)::Tuple{Float64, Int64}
1 ─ %1 = invoke Main.h(x::Float64, n::Int64)::Float64
│   %2 = Core.tuple(%1, n)::Tuple{Float64, Int64}
└──      return %2
end
function f(x::Float64, n::Int64)::Float64
1 ─ %1 = invoke Main.g(x::Float64, n::Int64)::Tuple{Float64, Int64}
│   %2 = Base.getfield(%1, 1)::Float64
└──      return %2
end
";
    for (x, n) in [(4.0, 2), (4.0, 0), (-4.0, 2), (f64::NAN, 3)] {
        runs(text, &|_| vec![Value::from(x), Value::from(n)]);
    }
}

#[test]
fn a_variable_that_was_not_assigned_is_an_error() {
    let text = "
function f(c::Bool)::Float64
1 ─      goto #3 if not c
2 ─ %2 = Base.add_float(1.0, 2.0)::Float64
3 ┄ %3 = φ (#2 => true, #1 => false)::Bool
│   %4 = φ (#2 => %2)::Float64
│        $(Expr(:throw_undef_if_not, :y, :(%3)))::Any
└──      return %4
end
";
    runs(text, &|_| vec![Value::from(true)]);
    runs(text, &|_| vec![Value::from(false)]);
    let unchecked = "
function f(c::Bool)::Float64
1 ─      goto #3 if not c
2 ─ %2 = Base.add_float(1.0, 2.0)::Float64
3 ┄ %3 = φ (#2 => %2)::Float64
└──      return %3
end
";
    runs(unchecked, &|_| vec![Value::from(true)]);
    runs(unchecked, &|_| vec![Value::from(false)]);
}

#[test]
fn addresses_are_compared_where_the_front_of_no_array_moves() {
    let code = |change: &str| {
        module(&format!(
            "
function f(a::Vector{{Float64}}, b::Vector{{Float64}})::Tuple{{Bool, Bool}}
1 ─ %1 = $(Expr(:foreigncall, :(:jl_array_ptr), Ptr{{Float64}}, svec(Any), 0, :(:ccall), :(_2)))::Ptr{{Float64}}
│   %2 = Base.bitcast(UInt64, %1)::UInt64
│        {change}
│   %4 = $(Expr(:foreigncall, :(:jl_array_ptr), Ptr{{Float64}}, svec(Any), 0, :(:ccall), :(_2)))::Ptr{{Float64}}
│   %5 = Base.bitcast(UInt64, %4)::UInt64
│   %6 = $(Expr(:foreigncall, :(:jl_array_ptr), Ptr{{Float64}}, svec(Any), 0, :(:ccall), :(_3)))::Ptr{{Float64}}
│   %7 = Base.bitcast(UInt64, %6)::UInt64
│   %8 = (%2 === %5)::Bool
│   %9 = (%5 === %7)::Bool
│   %10 = Core.tuple(%8, %9)::Tuple{{Bool, Bool}}
└──      return %10
end
"
        ))
    };
    let args = |module: &Module<IRCode>| {
        let machine = Machine::new(module);
        vec![vector(&machine, &[1.0, 2.0]), vector(&machine, &[1.0, 2.0])]
    };
    let stays = code("Base.push!(a, 3.0)::Vector{Float64}");
    assert_eq!(agrees(&stays, &|| args(&stays)), Verdict::Same);
    let resize = "$(Expr(:foreigncall, :(:jl_array_del_beg), Nothing, svec(Any, UInt64), 0, :(:ccall), :(_2), 0x0000000000000001))::Nothing";
    let moves = code(resize);
    assert!(matches!(agrees(&moves, &|| args(&moves)), Verdict::Refused(what) if what.contains("jl_array_ptr")));
}

/// Machine code reads what it is given as it is: what is not assigned must not get there.
#[test]
fn what_is_not_assigned_is_not_passed() {
    let text = "
mutable struct Cell
    x::Float64
end
struct Named
    values::Vector{Float64}
end
function f(cell::Cell)::Float64
1 ─ %1 = Base.getfield(cell, :x)::Float64
└──      return %1
end
function g(named::Named)::Float64
1 ─ %1 = Base.getfield(named, :values)::Vector{Float64}
│   %2 = Base.arrayref(true, %1, 1)::Float64
└──      return %2
end
";
    let module = module(text);
    let program = Program::compile(&module, &["f", "g"], Limits::default()).unwrap();
    assert!(matches!(program.call("f", &[Value::Undefined]), Err(CallError::Refused { .. })));
    let named = Machine::new(&module).structure(&Type::named("Named"), vec![Value::Undefined]).unwrap();
    assert!(matches!(program.call("g", &[named]), Err(CallError::Refused { .. })));
}

#[test]
fn what_is_not_there_is_not_compiled_and_no_limit_is_none() {
    let module = parse_module("function f(x::Float64)::Float64\n1 ─      return x\nend\n").unwrap().module;
    let error = Program::compile(&module, &["g"], Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "a function that the module does not have is not compiled\n  in g");
    let run = |steps: u64| {
        let options = bbkit::RunOptions::default().engine(bbkit::Engine::Native);
        let options = options.limits(Limits { steps, ..Limits::default() });
        bbkit::run(&module, "f", &[Value::from(1.5)], &options).map(|(value, _)| value.to_string())
    };
    assert_eq!(run(u64::MAX).unwrap(), "1.5");
    assert!(run(1000).unwrap_err().to_string().contains("does not count statements"));
}
