//! Closure specialization: what must be gone, what signatures must be, that nothing changes what is computed, and which
//! reasons are given for what stays.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fmt::Write;

use bbcode::BBCode;
use bbkit::{to_bbcode, to_ircode};
use exec::{Machine, Value};
use ircode::{Function, Module, Name, TypeKind, parse_module};
use passes::closure_specialization::{Reason, Report, specialize};
use passes::reverse_mode::{Carrier, Options, derive};
use passes::{PassManager, find_pass};

const SINGLE_BLOCK: &str = include_str!("passes/closure_specialization/single_block.ir");
const NESTED: &str = include_str!("passes/closure_specialization/nested.ir");
const SEED: &str = include_str!("passes/closure_specialization/seed_example.ir");
const ENUMS: &str = include_str!("passes/closure_specialization/enums_in_enums.ir");
const LOOPS: &str = include_str!("passes/closure_specialization/loops.ir");

const ASKED: &str = include_str!("fuzz/closure_of_a_closure_that_is_asked_for.ir");
const MANY_WAYS: &str = include_str!("fuzz/many_ways.ir");
const BRANCHES: &str = include_str!("passes/closure_specialization/branches.ir");

fn read(text: &str) -> Module<BBCode> {
    to_bbcode(&parse_module(text).unwrap().module).unwrap()
}

fn specialized(text: &str) -> (Module<BBCode>, Report) {
    let mut module = read(text);
    let report = specialize(&mut module, None).unwrap();
    for function in module.functions() {
        if let Err(violations) = function.body.verify() {
            panic!("{}", bbcode::display_violations(&function.body, &violations));
        }
    }
    (module, report)
}

fn call(module: &Module<BBCode>, function: &str, args: &[Value]) -> String {
    let module = to_ircode(module).unwrap();
    Machine::new(&module).call(function, args).unwrap().to_string()
}

/// The statements of a function that make closures, except those whose functions these are.
fn closures(module: &Module<BBCode>, function: &str, except: &[&str]) -> Vec<String> {
    let text = module.function(function).unwrap().body.to_string();
    let lines = text.lines().filter(|line| line.contains("partial_apply"));
    lines.filter(|line| !except.iter().any(|except| line.contains(except))).map(str::to_string).collect()
}

fn parameters(module: &Module<BBCode>, function: &str) -> Vec<String> {
    let argtypes = &module.function(function).unwrap().body.argtypes;
    argtypes.iter().skip(1).map(ToString::to_string).collect()
}

/// Whether a function and what it calls make no closures, enums or tuples but the closure that it returns.
fn returns_only(module: &Module<BBCode>, vjp: &str, pullback: &str) -> Result<(), String> {
    let pullback = module.function(pullback).ok_or("the pullback is not there")?.name.clone();
    let left = closures(module, vjp, &[&format!("Main.{pullback},"), &format!("Main.{pullback})")]);
    let inside = closures(module, &pullback, &[]);
    match (left.as_slice(), inside.as_slice()) {
        ([], []) => Ok(()),
        _ => Err(format!("{vjp} makes {left:?}, {pullback} makes {inside:?}")),
    }
}

#[test]
fn pullbacks_of_single_blocks_take_what_was_captured() {
    let (module, report) = specialized(SINGLE_BLOCK);
    let float = |count: usize| vec!["Float64"; count];
    for (vjp, pullback, count) in [
        ("square_vjp", "square_pullback_spec_3mul_pb2", 3),
        ("sincos_vjp", "sincos_pullback_spec_3sin_pb1_4cos_pb1_5mul_pb2", 5),
        ("plus_one_vjp", "plus_one_pullback_spec_3subset_thunk0", 1),
        ("chain_vjp", "chain_pullback_spec_3reabstraction_thunk2_4square_pullback2", 5),
        ("twice_vjp", "twice_pullback_spec_3sin_pb1_4same3", 2),
    ] {
        returns_only(&module, vjp, pullback).unwrap();
        assert_eq!(parameters(&module, pullback), float(count), "{pullback}");
    }
    for gone in ["square_pullback", "sincos_pullback", "subset_thunk", "reabstraction_thunk", "twice_pullback"] {
        assert!(module.function(gone).is_none(), "{gone} is still there");
        assert!(report.removed.contains(&Name::from(gone)));
    }
    let before = call(&read(SINGLE_BLOCK), "derivatives", &[Value::from(0.5)]);
    assert_eq!(call(&module, "derivatives", &[Value::from(0.5)]), before);
    // Nothing stays but what is returned.
    assert_eq!(report.kept.iter().map(|kept| kept.reason.to_string()).collect::<Vec<_>>(), ["it is returned"; 5]);
}

/// The checks of this file fail if the pass does nothing.
#[test]
fn the_checks_can_fail() {
    for (text, vjp, pullback) in [
        (SINGLE_BLOCK, "square_vjp", "square_pullback"),
        (SINGLE_BLOCK, "chain_vjp", "chain_pullback"),
        (NESTED, "bar_vjp", "bar_pullback"),
        (SEED, "foo_vjp", "foo_pullback"),
        (LOOPS, "nested_vjp", "nested_pullback"),
    ] {
        assert!(returns_only(&read(text), vjp, pullback).is_err(), "{vjp}");
    }
}

#[test]
fn nests_collapse() {
    let (module, _) = specialized(NESTED);
    returns_only(&module, "bar_vjp", "bar_pullback_spec_3foo_pullback1").unwrap();
    let body = module.function("bar_pullback_spec_3foo_pullback1").unwrap().body.to_string();
    assert!(body.contains("Main.foo_pullback_spec_3sin_pb1(_2, _3)"), "{body}");
}

/// The cases of an enum, as they are declared.
fn cases(module: &Module<BBCode>, name: &str) -> Vec<String> {
    let TypeKind::Enum { cases } = &module.type_def(name).unwrap().kind else { panic!("{name} is no enum") };
    let payload = |types: &[ircode::Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    cases.iter().map(|(case, types)| format!("{case}({})", payload(types))).collect()
}

#[test]
fn enums_hold_what_was_captured() {
    let (module, report) = specialized(SEED);
    returns_only(&module, "foo_vjp", "foo_pullback_spec_3foo_bb4").unwrap();
    let new = "foo_bb4_spec_bb2_2_3_4_bb3_2_3_4";
    assert_eq!(
        cases(&module, new),
        ["bb2(foo_bb2, Float64, Float64, Tuple{Float64, Float64})", "bb3(foo_bb3, Float64, Float64)"]
    );
    assert_eq!(parameters(&module, "foo_pullback_spec_3foo_bb4"), ["Float64", new]);
    assert_eq!(report.removed_types, [Name::from("foo_bb4")]);
    assert_eq!(report.removed, [Name::from("foo_pullback")]);
    // Enums that hold nothing to specialise are left alone.
    assert_eq!(cases(&module, "foo_bb2"), ["bb1()"]);

    let (module, _) = specialized(ENUMS);
    assert_eq!(cases(&module, "g_bb3_spec_bb2_2"), ["bb1()", "bb2(g_bb2, Float64)"]);
    assert_eq!(cases(&module, "g_bb5_spec_bb3_2"), ["bb3(g_bb3_spec_bb2_2, Float64)", "bb4(g_bb3_spec_bb2_2)"]);
    returns_only(&module, "g_vjp", "g_pullback_spec_3g_bb5").unwrap();
}

#[test]
fn stacks_hold_what_was_captured() {
    let (module, _) = specialized(LOOPS);
    for (name, stack) in [
        ("enums", "BBKit.Stack{round_spec_bb2_1}"),
        ("closures", "BBKit.Stack{Float64}"),
        ("tuples", "BBKit.Stack{Tuple{Int64, Float64}}"),
        ("nested", "BBKit.Stack{outer_spec}"),
    ] {
        let pullback = format!("{name}_pullback_spec_3stack");
        returns_only(&module, &format!("{name}_vjp"), &pullback).unwrap();
        assert_eq!(parameters(&module, &pullback), ["Float64", stack]);
    }
    assert_eq!(cases(&module, "outer_spec"), ["bb2(BBKit.Stack{inner_spec_bb3_1})"]);
}

#[test]
fn branches_of_other_shapes_hold_what_was_captured() {
    let (module, report) = specialized(BRANCHES);
    for (vjp, pullback, captured) in [
        ("mul42_vjp", "mul42_pullback_spec_3mul42_bb4", vec!["mul42_bb4_spec_bb3_1"]),
        (
            "two_vjp",
            "two_pullback_spec_3first_trace_4second_trace",
            vec!["first_trace_spec_yes_1", "second_trace_spec_yes_1_no_1"],
        ),
        ("hidden_vjp", "hidden_pullback_spec_3inner_pullback1_spec_3three", vec!["three_spec_a_1_b_1"]),
        ("list_vjp", "list_pullback_spec_3list", vec!["list_spec_node_2"]),
    ] {
        returns_only(&module, vjp, pullback).unwrap();
        assert_eq!(parameters(&module, pullback)[1..], captured);
    }
    assert_eq!(cases(&module, "list_spec_node_2"), ["empty()", "node(list_spec_node_2, Float64)"]);
    assert!(report.kept.iter().all(|kept| kept.reason == Reason::Returned));
}

/// What is left of derivatives once specialised, inlined and taken apart: of code without loops no closure, enum or
/// tuple; of loops their stacks.
#[test]
fn nothing_is_left_to_allocate() {
    const APART: &[&str] = &["inlining", "copy-propagation", "scalar-replacement", "closure-folding", "dead-code"];
    const MAKES: &[&str] = &["partial_apply", "new_case", "tuple", "new_stack", "Main."];
    let run = |text: &str, first: &[&'static str]| {
        let mut module = read(text);
        let names = first.iter().chain(APART).chain(APART).chain(APART).chain(APART);
        let passes: Vec<_> = names.map(|name| find_pass(name).unwrap()).collect();
        PassManager::new(passes).verify_each(true).run(&mut module, None).unwrap();
        module
    };
    let makes = |module: &Module<BBCode>, function: &str| {
        let text = module.function(function).unwrap().body.to_string();
        MAKES.iter().copied().filter(|makes| text.contains(makes)).collect::<Vec<_>>()
    };
    let straight = [(SEED, "gradient"), (ENUMS, "gradient"), (NESTED, "gradient"), (BRANCHES, "mul42")];
    for (text, function) in straight.into_iter().chain([(BRANCHES, "two"), (BRANCHES, "hidden")]) {
        let module = run(text, &["closure-specialization"]);
        assert_eq!(makes(&module, function), [""; 0], "{function}");
    }
    for function in ["enums_gradient", "closures_gradient", "tuples_gradient", "nested_gradient"] {
        let module = run(LOOPS, &["closure-specialization"]);
        assert!(!makes(&module, function).contains(&"partial_apply"));
        assert!(makes(&module, function).contains(&"new_stack"));
        // Without the pass the closures stay in the stacks.
        assert!(makes(&run(LOOPS, &[]), function).contains(&"partial_apply"));
    }
}

const PARTS: &str = "
enum trace
    a(BBKit.Closure{Tuple{Float64}, Float64})
    b(BBKit.Closure{Tuple{Float64}, Float64})
end
function scaled(x::Float64, by::Float64)::Float64
1 ─ %1 = Base.mul_float(x, by)::Float64
└──      return %1
end
function shifted(x::Float64, by::Float64)::Float64
1 ─ %1 = Base.add_float(x, by)::Float64
└──      return %1
end
function pullback(seed::Float64, t::trace)::Float64
1 ─ %1 = BBKit.is_case(t, :a)::Bool
└──      goto #3 if not %1
2 ─ %3 = BBKit.payload(t, :a, 1)::BBKit.Closure{Tuple{Float64}, Float64}
│   %4 = (%3)(seed)::Float64
└──      return %4
3 ─ %6 = BBKit.payload(t, :b, 1)::BBKit.Closure{Tuple{Float64}, Float64}
│   %7 = (%6)(seed)::Float64
└──      return %7
end
";

const C: &str = "BBKit.Closure{Tuple{Float64}, Float64}";

/// A text in which `C` is the type of closures from a float to a float.
fn with_types(text: &str) -> String {
    text.replace("::C", &format!("::{C}")).replace(", C}", &format!(", {C}}}")).replace("{C", &format!("{{{C}"))
}

/// The reasons that closures stay in `f`, and the module.
fn reasons(function: &str) -> (Vec<String>, Module<BBCode>) {
    let text = format!("{PARTS}{}", with_types(function));
    let (module, report) = specialized(&text);
    let kept = report.kept.iter().filter(|kept| kept.function == *"f");
    (kept.map(|kept| format!("{}: {}", kept.of, kept.reason)).collect(), module)
}

#[test]
fn an_enum_that_goes_elsewhere_stays_and_says_so() {
    for (function, expected) in [
        (
            "function f(x::Float64)::Tuple{trace, Float64}
1 ─ %1 = BBKit.partial_apply(Main.scaled, x)::C
│   %2 = BBKit.new_case(trace, :a, %1)::trace
│   %3 = Main.pullback(x, %2)::Float64
│   %4 = Core.tuple(%2, %3)::Tuple{trace, Float64}
└──      return %4
end",
            "scaled: it is stored in trace, which is returned",
        ),
        (
            "function f(x::Float64, other::trace, b::Bool)::Float64
1 ─ %1 = BBKit.partial_apply(Main.scaled, x)::C
│   %2 = BBKit.new_case(trace, :a, %1)::trace
│   %3 = Core.ifelse(b, %2, other)::trace
│   %4 = Main.pullback(x, %3)::Float64
└──      return %4
end",
            "scaled: it is stored in trace, which comes from elsewhere",
        ),
        (
            "function any(seed::Float64, t)::Float64
1 ─      return seed
end
function f(x::Float64)::Float64
1 ─ %1 = BBKit.partial_apply(Main.scaled, x)::C
│   %2 = BBKit.new_case(trace, :a, %1)::trace
│   %3 = Main.any(x, %2)::Float64
└──      return %3
end",
            "scaled: it is stored in trace, which is given to any, which takes it for something else",
        ),
        (
            "function f(x::Float64, n::Int64)::Float64
1 ─ %1 = BBKit.partial_apply(Main.scaled, x)::C
│   %2 = BBKit.new_case(trace, :a, %1)::trace
│   %3 = BBKit.payload(%2, :a, n)::C
│   %4 = (%3)(x)::Float64
└──      return %4
end",
            "scaled: it is stored in trace, which is taken apart by what only the run tells",
        ),
    ] {
        let (reasons, module) = reasons(function);
        assert_eq!(reasons, [expected]);
        assert!(module.type_def("trace").is_some() && module.function("pullback").is_some());
    }
}

/// What is taken out of an enum may be used in any way: the closure is made anew where it is taken out.
#[test]
fn a_payload_may_be_used_in_any_way() {
    let (reasons, module) = reasons(
        "function chosen(t::trace)::Tuple{Int64, C}
1 ─ %1 = BBKit.payload(t, :a, 1)::C
│   %2 = Core.tuple(1, %1)::Tuple{Int64, C}
└──      return %2
end
function unseen(x::Float64)::C
1 ─ %1 = BBKit.partial_apply(Main.shifted, x)::C
└──      return %1
end
function f(x::Float64, b::Bool)::Float64
1 ─ %1  = BBKit.partial_apply(Main.scaled, x)::C
│   %2  = Main.unseen(x)::C
│   %3  = BBKit.new_case(trace, :a, %1)::trace
└──       goto #3 if not b
2 ─ %5  = Main.chosen(%3)::Tuple{Int64, C}
│   %6  = Base.getfield(%5, 2)::C
│   %7  = (%6)(x)::Float64
└──       return %7
3 ─ %9  = BBKit.new_case(trace, :b, %2)::trace
│   %10 = Main.pullback(2.0, %9)::Float64
└──       return %10
end",
    );
    assert_eq!(reasons, [""; 0]);
    // A closure that is not seen to be made stays a closure.
    assert_eq!(cases(&module, "trace_spec_a_1"), ["a(Float64)".into(), format!("b({C})")]);
    assert_eq!(call(&module, "f", &[Value::from(3.0), Value::from(true)]), "9.0");
    assert_eq!(call(&module, "f", &[Value::from(3.0), Value::from(false)]), "5.0");
}

#[test]
fn an_element_that_differs_stays_and_others_go() {
    let (reasons, module) = reasons(
        "function f(x::Float64, b::Bool, c::Bool)::Float64
1 ─ %1  = BBKit.partial_apply(Main.scaled, x)::C
│   %2  = BBKit.partial_apply(Main.shifted, x)::C
└──       goto #5 if not b
2 ─       goto #4 if not c
3 ─ %5  = BBKit.new_case(trace, :a, %1)::trace
└──       goto #6
4 ─ %7  = BBKit.new_case(trace, :a, %2)::trace
└──       goto #6
5 ─ %9  = BBKit.new_case(trace, :b, %2)::trace
6 ┄ %10 = φ (#3 => %5, #4 => %7, #5 => %9)::trace
│   %11 = Main.pullback(2.0, %10)::Float64
└──       return %11
end",
    );
    let expected = ["scaled", "shifted"];
    let because = "it is stored in trace, where closures of other functions are stored, too";
    assert_eq!(reasons, expected.map(|of| format!("{of}: {because}")));
    assert_eq!(cases(&module, "trace_spec_b_1"), [format!("a({C})"), "b(Float64)".into()]);
    for (b, c, expected) in [(true, true, "6.0"), (true, false, "5.0"), (false, true, "5.0")] {
        assert_eq!(call(&module, "f", &[Value::from(3.0), Value::from(b), Value::from(c)]), expected);
    }
}

#[test]
fn closures_that_stay_say_why() {
    let elsewhere = "function f(g::C, x::Float64, b::Bool)::Tuple{C, Float64}
1 ─ %1 = BBKit.partial_apply(Main.scaled, x)::C
│   %2 = BBKit.partial_apply(Main.shifted, x)::C
│   %3 = BBKit.partial_apply(Main.scaled, 2.0)::C
│   %4 = BBKit.partial_apply(Main.scaled, 3.0)::C
│   %5 = Core.ifelse(b, %1, g)::C
│   %6 = Main.keeps(%2)::C
│   %7 = Main.many(%3)::Float64
│   %8 = (%4)(x, x)::Float64
│   %9 = Core.tuple(%5, %7)::Tuple{C, Float64}
└──      return %9
end
function keeps(g::C)::C
1 ─      return g
end
function many(g::Tuple{C})::Float64
1 ─      return 1.0
end";
    let mut module = read(&format!("{PARTS}{}", with_types(elsewhere)));
    // Text does not say so.
    let many = module.function("many").unwrap().clone();
    module.replace_function(Function { varargs: true, ..many });
    let report = specialize(&mut module, None).unwrap();
    let reasons = report.kept.iter().filter(|kept| kept.function == *"f");
    assert_eq!(
        reasons.map(|kept| format!("{}: {}", kept.of, kept.reason)).collect::<Vec<_>>(),
        [
            "scaled: it is given to something that is known only when the program runs",
            "shifted: keeps, which it is given to, does not apply it",
            "scaled: many, which it is given to, takes any number of arguments",
            "scaled: it is applied to another number of arguments than its function takes",
        ]
    );
}

/// A pullback that calls itself with a closure of a closure, and so on: it ends.
#[test]
fn recursion_ends() {
    let function = "function more(x::Float64, g::C)::Float64
1 ─ %1 = (g)(x)::Float64
│   %2 = Base.add_float(%1, 1.0)::Float64
└──      return %2
end
function f(x::Float64, n::Int64, g::C)::Float64
1 ─ %1 = Base.slt_int(0, n)::Bool
└──      goto #3 if not %1
2 ─ %3 = BBKit.partial_apply(Main.more, g)::C
│   %4 = Base.sub_int(n, 1)::Int64
│   %5 = Main.f(x, %4, %3)::Float64
└──      return %5
3 ─ %7 = (g)(x)::Float64
└──      return %7
end
function start(x::Float64, n::Int64)::Float64
1 ─ %1 = BBKit.partial_apply(Main.scaled, 3.0)::C
│   %2 = Main.f(x, n, %1)::Float64
└──      return %2
end";
    let text = format!("{PARTS}{}", with_types(function));
    let (module, report) = specialized(&text);
    let often = "which it is given to, is specialised within itself too often";
    assert!(report.kept.iter().any(|kept| kept.reason.to_string().contains(often)), "{:?}", report.kept);
    assert!(module.functions().len() < 100);
    for n in [0, 1, 5, 20] {
        let args = [Value::from(2.0), Value::from(n)];
        assert_eq!(call(&module, "start", &args), call(&read(&text), "start", &args));
    }
}

/// A module of n functions of their own, and of pullbacks that they share.
fn many(n: usize) -> String {
    let mut text = SEED.split("function foo_vjp").next().unwrap().to_string();
    let own = &SEED[SEED.find("function foo_vjp").unwrap()..SEED.find("function gradient").unwrap()];
    let shared = "function shared_pullback(seed::Float64, g::C)::Float64
1 ─ %1 = (g)(seed)::Float64
└──      return %1
end\n";
    text.push_str(&shared.replace("::C", &format!("::{C}")));
    for i in 0..n / 4 {
        text.push_str(
            &own.replace("foo_bb4", &format!("foo_bb4_{i}"))
                .replace("foo_vjp", &format!("foo{i}_vjp"))
                .replace("foo_pullback", &format!("foo{i}_pullback")),
        );
        for part in ["x", "y"] {
            write!(
                text,
                "function {part}{i}(x::Float64)::{C}
1 ─ %1 = BBKit.partial_apply(Main.sin_pb, x)::{C}
│   %2 = BBKit.partial_apply(Main.shared_pullback, %1)::{C}
└──      return %2
end\n"
            )
            .unwrap();
        }
    }
    let decl = &SEED[SEED.find("enum foo_bb4").unwrap()..SEED.find("function").unwrap()];
    let decls: String = (0..n / 4).map(|i| decl.replace("foo_bb4", &format!("foo_bb4_{i}"))).collect();
    decls + &text
}

#[test]
fn modules_of_ten_thousand_functions() {
    const COUNT: usize = 10_000;
    let mut module = read(&many(COUNT));
    let report = specialize(&mut module, None).unwrap();
    // The pullback that all share is specialised once.
    assert_eq!(module.functions().iter().filter(|each| each.name.starts_with("shared_pullback")).count(), 1);
    assert_eq!(report.removed_types.len(), COUNT / 4);
    assert!(module.functions().iter().all(|each| !each.name.ends_with("_pullback")));
}

/// What an earlier run has made is used again; another function of the same name is not.
#[test]
fn specialisations_are_found_again() {
    let text = "function twice(g::C, x::Float64)::Float64
1 ─ %1 = (g)(x)::Float64
│   %2 = (g)(%1)::Float64
└──      return %2
end
function one(x::Float64, y::Float64)::Float64
1 ─ %1 = BBKit.partial_apply(Main.scaled, y)::C
│   %2 = Main.twice(%1, x)::Float64
└──      return %2
end
function two(x::Float64, y::Float64)::Float64
1 ─ %1 = BBKit.partial_apply(Main.scaled, y)::C
│   %2 = Main.twice(%1, x)::Float64
└──      return %2
end";
    let text = format!("{PARTS}{}", with_types(text));
    let mut module = read(&text);
    specialize(&mut module, Some(&"one".into())).unwrap();
    let count = module.functions().len();
    specialize(&mut module, None).unwrap();
    assert_eq!(module.functions().len() + 1, count, "twice is gone, and no second specialisation is there");
    assert!(module.function("two").unwrap().body.to_string().contains("Main.twice_spec_2scaled1(_2, _3)"));

    let taken = "function twice_spec_2scaled1(x::Float64, y::Float64)::Float64
1 ─      return y
end\n";
    let (module, _) = specialized(&format!("{text}\n{taken}"));
    assert!(module.function("one").unwrap().body.to_string().contains("Main.twice_spec_2scaled1_2(_2, _3)"));
    assert_eq!(call(&module, "one", &[Value::from(2.0), Value::from(3.0)]), "18.0");
}

/// Of a closure of a clone, `applies` would say that it is none of the function.
#[test]
fn closures_stay_of_functions_that_are_asked_for() {
    let (module, report) = specialized(ASKED);
    for (function, of) in [("asks", "through"), ("boxes", "unboxed")] {
        assert_eq!(call(&module, function, &[Value::from(2.0)]), "true", "{function}");
        let held = passes::closure_specialization::Misuse::Asked(of.into());
        let reasons = [Reason::Asked(of.into()), Reason::Held { by: "Box".into(), because: held }];
        let kept = report.kept.iter().filter(|kept| kept.function == function && kept.of == "scaled");
        assert!(kept.clone().count() == 1 && kept.clone().all(|kept| reasons.contains(&kept.reason)), "{kept:?}");
    }
}

/// The derivative of the application of a closure asks of which function that is: sin(x y), whose closure captures
/// another.
#[test]
fn the_derivative_of_closures_of_closures_survives_text_and_specialization() {
    let mut module = read(ASKED);
    let options = Options { carrier: Carrier::LinearMaps, ..Options::default() };
    derive(&mut module, &"f".into(), &options).unwrap();
    // What applies none of the closures that are known ends its block, in a listing as well.
    let text = ircode::print_module(&to_ircode(&module).unwrap(), ircode::Style::default());
    let (mut module, _) = specialized(&text);
    passes::simplify::run(&mut module, None).unwrap();
    let value = call(&module, "f_value_and_gradient", &[Value::from(0.5), Value::from(2.0), Value::from(true)]);
    let expected = [1.0_f64.sin(), 2.0 * 1.0_f64.cos(), 0.5 * 1.0_f64.cos()];
    assert_eq!(value, format!("({}, {}, {}, nothing)", expected[0], expected[1], expected[2]));
}

/// Objects in objects hold what comes to a join on several ways once for each way, and more often with each round.
#[test]
fn what_comes_to_a_join_on_several_ways_is_there_once() {
    let mut module = read(MANY_WAYS);
    let count = |module: &Module<BBCode>| -> usize { module.functions().iter().map(|f| f.body.inst_count()).sum() };
    let options = Options { carrier: Carrier::LinearMaps, ..Options::default() };
    derive(&mut module, &"f".into(), &options).unwrap();
    let before = count(&module);
    passes::simplify::run(&mut module, None).unwrap();
    let after = count(&module);
    assert!(after < 4 * before, "{before} statements became {after}");
}

/// Functions that were replaced stay where a declaration names them: tables of methods, witnesses, global constants.
#[test]
fn what_declarations_name_stays() {
    const CODE: &str = "
function scaled(x::Float64, by::Float64)::Float64
1 ─ %1 = Base.mul_float(x, by)::Float64
└──      return %1
end
function applied(s::Shape, f::BBKit.Closure{Tuple{Float64}, Float64})::Float64
1 ─ %1 = (f)(2.0)::Float64
└──      return %1
end
function main(s::Shape, y::Float64)::Float64
1 ─ %1 = BBKit.partial_apply(Main.scaled, y)::BBKit.Closure{Tuple{Float64}, Float64}
│   %2 = Main.applied(s, %1)::Float64
└──      return %2
end
";
    let plain = "class Shape\n    scale::Float64\nend\n";
    let in_a_table = "class Shape\n    scale::Float64\n    method apply => applied\nend\n";
    let with_a_witness = format!("{plain}differentiability witness applied wrt 2\nend\n");
    let in_a_constant = format!("{plain}const TABLE::Vector{{Function}}\n    applied\nend\n");
    for (declarations, stays) in [(plain, false), (in_a_table, true), (&with_a_witness, true), (&in_a_constant, true)] {
        let (module, report) = specialized(&format!("{declarations}{CODE}"));
        assert_eq!(report.specialized.len(), 1, "{declarations}");
        assert_eq!(module.function("applied").is_some(), stays, "{declarations}");
        ircode::verify_tables(&module, |body| &body.argtypes).unwrap();
    }
}

const SCALED_AND_TWICE: &str = "
function scaled(x::Float64, by::Float64)::Float64
1 ─ %1 = Base.mul_float(x, by)::Float64
└──      return %1
end
function twice(x::Float64, g::BBKit.Closure{Tuple{Float64}, Float64})::Float64
1 ─ %1 = (g)(x)::Float64
│   %2 = (g)(%1)::Float64
└──      return %2
end
";

/// A closure of a clone is another one: what asks which closure it is, and whether two are one, gets the same answer.
#[test]
fn what_asks_about_closures_gets_the_same_answer() {
    let same = "
function ident(g::BBKit.Closure{Tuple{Float64}, Float64})::BBKit.Closure{Tuple{Float64}, Float64}
1 ─      return g
end
function f(x::Float64)::Bool
1 ─ %1 = BBKit.partial_apply(Main.scaled, x)::BBKit.Closure{Tuple{Float64}, Float64}
│   %2 = Main.ident(%1)::BBKit.Closure{Tuple{Float64}, Float64}
│   %3 = BBKit.partial_apply(Main.twice, %1)::BBKit.Closure{Tuple{Float64}, Float64}
│   %4 = BBKit.partial_apply(Main.twice, %2)::BBKit.Closure{Tuple{Float64}, Float64}
│   %5 = (%3 === %4)::Bool
└──      return %5
end
";
    let in_tuples = same
        .replace("│   %5 = (%3 === %4)::Bool\n└──      return %5", "│   %5 = Core.tuple(%3, 1)::Tuple{BBKit.Closure{Tuple{Float64}, Float64}, Int64}\n│   %6 = Core.tuple(%4, 1)::Tuple{BBKit.Closure{Tuple{Float64}, Float64}, Int64}\n│   %7 = (%5 === %6)::Bool\n└──      return %7");
    let of_the_run = "
function asks(g::BBKit.Closure{Tuple{Float64}, Float64}, b::Bool)::Bool
1 ─ %1 = Core.ifelse(b, Main.twice, Main.scaled)::Any
│   %2 = BBKit.applies(g, %1)::Bool
└──      return %2
end
function f(x::Float64)::Bool
1 ─ %1 = BBKit.partial_apply(Main.scaled, x)::BBKit.Closure{Tuple{Float64}, Float64}
│   %2 = BBKit.partial_apply(Main.twice, %1)::BBKit.Closure{Tuple{Float64}, Float64}
│   %3 = Main.asks(%2, true)::Bool
└──      return %3
end
";
    for code in [same, &in_tuples, of_the_run] {
        let text = format!("{SCALED_AND_TWICE}{code}");
        let (module, _) = specialized(&text);
        assert_eq!(call(&read(&text), "f", &[Value::from(2.0)]), "true", "{code}");
        assert_eq!(call(&module, "f", &[Value::from(2.0)]), "true", "{code}");
    }
}

/// What is put in stacks and enums where control never comes is never taken apart; the pass ends all the same.
#[test]
fn blocks_that_are_not_reached_are_left_alone() {
    let text = format!(
        "{SCALED_AND_TWICE}
function f(x::Float64)::Float64
1 ─      return x
2 ─ %2 = BBKit.new_stack(BBKit.Closure{{Tuple{{Float64}}, Float64}})::BBKit.Stack{{BBKit.Closure{{Tuple{{Float64}}, Float64}}}}
│   %3 = BBKit.partial_apply(Main.scaled, 2.0)::BBKit.Closure{{Tuple{{Float64}}, Float64}}
│   %4 = BBKit.stack_push!(%2, %3)::Nothing
└──      return 1.0
end
"
    );
    let (module, _) = specialized(&text);
    assert_eq!(call(&module, "f", &[Value::from(2.0)]), "2.0");
}

/// All rounds of `simplify` together make no more clones than the pass makes once.
#[test]
fn recursion_with_ever_larger_closures_is_bounded_over_all_rounds() {
    let mut module = read(&format!("{SCALED_AND_TWICE}{GROWING}"));
    let statements =
        |module: &Module<BBCode>| module.functions().iter().map(|each| each.body.inst_count()).sum::<usize>();
    PassManager::new([find_pass("simplify").unwrap()]).run(&mut module, None).unwrap();
    assert!(statements(&module) < 8192, "{}", statements(&module));
}

const GROWING: &str = "
function rec(x::Float64, n::Int64, g::BBKit.Closure{Tuple{Float64}, Float64})::Float64
1 ─ %1 = Base.slt_int(0, n)::Bool
└──      goto #3 if not %1
2 ─ %3 = Base.sub_int(n, 1)::Int64
│   %4 = BBKit.partial_apply(Main.twice, g)::BBKit.Closure{Tuple{Float64}, Float64}
│   %5 = Main.rec(x, %3, %4)::Float64
└──      return %5
3 ─ %7 = (g)(x)::Float64
└──      return %7
end

function start(x::Float64, n::Int64)::Float64
1 ─ %1 = BBKit.partial_apply(Main.scaled, 3.0)::BBKit.Closure{Tuple{Float64}, Float64}
│   %2 = Main.rec(x, n, %1)::Float64
└──      return %2
end
";
