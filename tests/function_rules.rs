//! Derivative rules for functions of a module: which function a rule is for, which parameters it takes, and how one
//! that does not fit is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use exec::{Limits, Value};
use ircode::primitives::lookup;
use ircode::{IRCode, Module, Name, Type, parse_module};
use passes::rules::{RuleKind, RuleTable, RuleTarget};
use passes::{forward_mode, reverse_mode};

const PROGRAM: &str = "
mutable struct Counter
  count::Int64
end
mutable struct Total
  total::Float64
end
function f(x::Float64, n::Int64)::Float64
1 ─      return x
end
function g(a::Vector{Float64}, x::Float64, b::Vector{Int64})::Vector{Float64}
1 ─      return a
end
function var\"h(::Float64)\"(x::Float64)::Float64
1 ─      return x
end
function var\"h(::Float32)\"(x::Float32)::Float32
1 ─      return x
end
function var\"Own.k(::Float64)\"(x::Float64)::Float64
1 ─      return x
end
function var\"sin(::Float64)\"(x::Float64)::Float64
1 ─      return x
end
function open(x)
1 ─      return x
end
function counted(c::Counter, x::Float64)::Float64
1 ─      return x
end
struct Pair
  a::Float64
  b::Float64
end
struct Callable
  a::Float64
end
function var\"(::Callable)(::Float64)\"(x::Float64)::Float64
1 ─ %1 = Base.getfield(_1, :a)::Float64
└──      return %1
end
function pairs(p::Pair)::Pair
1 ─      return p
end
function taken(x::Float64)::Float64
1 ─      return x
end
function taken_vjp_rule()::Float64
1 ─      return 1.0
end
function my_vjp_thing(x::Float64)::Float64
1 ─      return x
end
function totals(n::Vector{Int64}, t::Total, x::Float64)::Total
1 ─      return t
end
";

/// The rules of a module with `PROGRAM` and these rules.
fn table(rules: &str) -> Result<RuleTable, String> {
    let mut module: Module<IRCode> = parse_module(PROGRAM).unwrap().module;
    module.add_rules(rules).map_err(|error| error.to_string())?;
    RuleTable::of_module(&module).map(std::borrow::Cow::into_owned).map_err(|error| error.to_string())
}

fn found(table: &RuleTable, function: &str, kind: RuleKind, types: &[Type]) -> Option<Name> {
    let rule = table.find_function(&function.into(), kind, types)?;
    assert!(matches!(&rule.target, RuleTarget::Function(name) if name == function));
    Some(rule.function.name.clone())
}

#[test]
fn a_rule_may_have_any_control_flow() {
    let rules = table(
        "
function f_vjp(x::Float64, n::Int64, out::Float64, seed::Float64)::Tuple{Float64, Nothing}
1 ─ %1 = Base.slt_int(n, 0)::Bool
└──      goto #3 if not %1
2 ─ %3 = Core.tuple(0.0, nothing)::Tuple{Float64, Nothing}
└──      return %3
3 ─ %5 = Main.f(seed, n)::Float64
│   %6 = Core.tuple(%5, nothing)::Tuple{Float64, Nothing}
└──      return %6
end
function f_jvp(x::Float64, n::Int64, out::Float64, dx::Float64, dn::Nothing)::Float64
1 ─      return dx
end
",
    )
    .unwrap();
    let types = [Type::FLOAT64, Type::INT64];
    assert_eq!(found(&rules, "f", RuleKind::Vjp, &types).unwrap(), "f_vjp");
    assert_eq!(found(&rules, "f", RuleKind::Jvp, &types).unwrap(), "f_jvp");
    // The function says what it takes: it does not matter that the call does not.
    assert_eq!(found(&rules, "f", RuleKind::Vjp, &[Type::Any, Type::INT64]).unwrap(), "f_vjp");
    assert!(found(&rules, "f", RuleKind::Vjp, &[Type::FLOAT32, Type::INT64]).is_none());
    assert!(
        rules.has_function_rule(&"f".into(), RuleKind::Jvp) && !rules.has_function_rule(&"g".into(), RuleKind::Jvp)
    );
    assert!(rules.has_rule(lookup("sin").unwrap(), RuleKind::Vjp), "the standard rules are there, too");
}

#[test]
fn shadows_follow_the_seed() {
    let rules = table(
        "
function g_vjp(a::Vector{Float64}, x::Float64, b::Vector{Int64}, out::Vector{Float64}, seed::Nothing, sa::Vector{Float64}, \
 sb::Nothing, sout::Vector{Float64})::Tuple{Nothing, Float64, Nothing}
1 ─ %1 = Core.tuple(nothing, 1.0, nothing)::Tuple{Nothing, Float64, Nothing}
└──      return %1
end
",
    )
    .unwrap();
    let types = ["Vector{Float64}", "Float64", "Vector{Int64}"].map(Type::parse);
    let rule = rules.find_function(&"g".into(), RuleKind::Vjp, &types).unwrap();
    // `_1` is the function itself: a, x, b, out and seed are 1 to 5.
    assert_eq!((rule.shadows.as_slice(), rule.out_shadow), ([Some(6), None, Some(7)].as_slice(), Some(8)));
}

#[test]
fn methods_are_named_by_signature_or_by_the_types_of_the_rule() {
    let rule = |name: &str, ty: &str| {
        format!("function var\"{name}_jvp\"(x::{ty}, out::{ty}, dx::{ty})::{ty}\n1 ─      return dx\nend\n")
    };
    let by_signature = table(&rule("h(::Float32)", "Float32")).unwrap();
    assert!(found(&by_signature, "h(::Float32)", RuleKind::Jvp, &[Type::FLOAT32]).is_some());
    assert!(!by_signature.has_function_rule(&"h(::Float64)".into(), RuleKind::Jvp));
    let by_types = table(&rule("Main.h", "Float64")).unwrap();
    assert!(found(&by_types, "h(::Float64)", RuleKind::Jvp, &[Type::FLOAT64]).is_some());
    assert!(!by_types.has_function_rule(&"h(::Float32)".into(), RuleKind::Jvp));
    let in_a_module = table(&rule("Own.k", "Float64")).unwrap();
    assert!(found(&in_a_module, "Own.k(::Float64)", RuleKind::Jvp, &[Type::FLOAT64]).is_some());
    // What is called `sin` is the primitive, whether its body is there or not.
    let of_primitive = table(&rule("sin", "Float64")).unwrap();
    let (first, _) = of_primitive.find(lookup("sin").unwrap(), RuleKind::Jvp, &[Type::FLOAT64]).unwrap();
    assert!(matches!(first.target, RuleTarget::Primitive(_)) && first.argtypes == [Type::FLOAT64]);
    let error = table(&rule("h", "Float16")).unwrap_err();
    assert!(
        error.contains("no method of `h` takes what the rule does; there are `h(::Float64)`, `h(::Float32)`"),
        "{error}"
    );
}

/// What can be changed and is no array has no shadow among the parameters.
#[test]
fn nothing_flows_to_what_is_no_array_and_can_be_changed() {
    let text = "function counted_vjp(c::Counter, x::Float64, out::Float64, seed::Float64)::Tuple{Nothing, Float64}\n\
                1 ─ %1 = Core.tuple(nothing, seed)::Tuple{Nothing, Float64}\n└──      return %1\nend";
    let types = [Type::named("Counter"), Type::FLOAT64];
    let rule = table(text).unwrap().find_function(&"counted".into(), RuleKind::Vjp, &types).unwrap();
    assert_eq!((rule.shadows.as_slice(), rule.out_shadow), ([None, None].as_slice(), None));
}

#[test]
fn a_function_may_be_called_like_a_rule() {
    let rules =
        table("function my_vjp_thing_jvp(x::Float64, out::Float64, dx::Float64)::Float64\n1 ─      return dx\nend")
            .unwrap();
    assert_eq!(found(&rules, "my_vjp_thing", RuleKind::Jvp, &[Type::FLOAT64]).unwrap(), "my_vjp_thing_jvp");
}

/// The seed of a result that can be changed is its shadow.
#[test]
fn a_rule_takes_shadows_of_arrays_alone_or_of_all_that_can_be_changed() {
    let types = [Type::array(Type::INT64, 1), Type::named("Total"), Type::FLOAT64];
    let start =
        "function totals_vjp(n::Vector{Int64}, t::Total, x::Float64, out::Total, seed::BBKit.Tangent{Total}, dn";
    let end = ")::Tuple{Nothing, Nothing, Float64}\n1 ─ %1 = Core.tuple(nothing, nothing, x)::Tuple{Nothing, Nothing, Float64}\n\
               └──      return %1\nend";
    for (shadows, places) in [("", [Some(6), None, None]), (", dt::BBKit.Tangent{Total}", [Some(6), Some(7), None])] {
        let rules = table(&format!("{start}{shadows}{end}")).unwrap();
        let rule = rules.find_function(&"totals".into(), RuleKind::Vjp, &types).unwrap();
        assert_eq!((rule.shadows.as_slice(), rule.out_shadow), (places.as_slice(), None));
    }
}

/// A function that does not say what it takes has rules by type.
#[test]
fn rules_of_an_open_function_are_told_apart_by_their_types() {
    let rule = |suffix: &str, ty: &str| {
        format!("function open_jvp{suffix}(x::{ty}, out::{ty}, dx::{ty})::{ty}\n1 ─      return dx\nend\n")
    };
    let rules = table(&format!("{}{}", rule("", "Float64"), rule("_single", "Float32"))).unwrap();
    assert_eq!(found(&rules, "open", RuleKind::Jvp, &[Type::FLOAT64]).unwrap(), "open_jvp");
    assert_eq!(found(&rules, "open", RuleKind::Jvp, &[Type::FLOAT32]).unwrap(), "open_jvp_single");
    assert!(found(&rules, "open", RuleKind::Jvp, &[Type::Any]).is_none());
}

#[test]
fn rules_that_do_not_fit_their_function_are_refused() {
    let body = "1 ─      return seed\nend";
    let tuple = "1 ─ %1 = Core.tuple(seed, nothing)::Tuple{Float64, Nothing}\n└──      return %1\nend";
    for (text, problem) in [
        (format!("function e_vjp(x::Float64, out::Float64, seed::Float64)\n{body}"), "neither a function nor a primitive `e`"),
        (
            format!("function f_vjp(x::Float64, out::Float64, seed::Float64)\n{body}"),
            "`f_vjp`: it must take the 2 arguments of `f`, its result, the seed, but has 3 parameters",
        ),
        (
            format!("function g_vjp(a::Vector{{Float64}}, x::Float64, b::Vector{{Int64}}, out::Vector{{Float64}}, seed)\n{body}"),
            "its result, the seed, a shadow for each of _2, _4, the shadow of the result, but has 5 parameters",
        ),
        (
            format!("function f_jvp(x::Float64, n::Int64, out::Float64, seed::Float64)\n{body}"),
            "its result, and a tangent for each argument, but has 4 parameters",
        ),
        (
            format!("function f_vjp(x::Float32, n::Int64, out::Float64, seed::Float64)\n{tuple}"),
            "its parameter _2 (`x`), an argument, must be a Float64, but is a Float32",
        ),
        (
            format!("function f_vjp(x::Float64, n::Int64, out::Float32, seed::Float64)\n{tuple}"),
            "its parameter _4 (`out`), the result, must be a Float64, but is a Float32",
        ),
        (
            format!("function f_vjp(x::Float64, n::Int64, out::Float64, seed::Nothing)\n{tuple}"),
            "its parameter _5 (`seed`), the cotangent of the result, must be a Float64, but is a Nothing",
        ),
        (
            format!("function f_jvp(x::Float64, n::Int64, out::Float64, seed::Float64, dn::Int64)\n{body}"),
            "its parameter _6 (`dn`), the tangent of an argument, must be a Nothing, but is an Int64",
        ),
        (
            format!("function f_vjp(x::Float64, n::Int64, out::Float64, seed::Float64)::Float64\n{body}"),
            "it must return a Tuple{Float64, Nothing}, but returns a Float64",
        ),
        (
            "function f_vjp(x::Float64, n::Int64, out::Float64, seed::Float64)\n1 ─ %1 = Core.tuple(seed)::Tuple{Float64}\n\
             └──      return %1\nend"
                .into(),
            "it must return a Tuple{Float64, Nothing}, but returns a Tuple{Float64}",
        ),
        (
            "function f_jvp(x::Float64, n::Int64, out::Float64, dx::Float64, dn::Nothing)\n1 ─      return n\nend".into(),
            "it must return a Float64, but returns an Int64",
        ),
        (
            format!("function counted_vjp(c::Counter, x::Float64, out::Float64, seed::Float64)\n{tuple}"),
            "it must return a Tuple{Nothing, Float64}, but returns a Tuple{Float64, Nothing}",
        ),
        (
            format!("function totals_vjp(n::Vector{{Int64}}, t::Total, x::Float64, out::Total, seed::Nothing, dn)\n{tuple}"),
            "its parameter _6 (`seed`), the tangent of the result, must be a BBKit.Tangent{Total}, but is a Nothing",
        ),
        (
            format!("function totals_vjp(n::Vector{{Int64}}, t::Total, x::Float64, out::Total, seed, dn, dt::Total)\n{tuple}"),
            "its parameter _8 (`dt`), the shadow of an argument, must be a BBKit.Tangent{Total}, but is a Total",
        ),
        (
            format!("function sum_vjp(a::Vector{{T}}, out::T, seed::T)\n{body}"),
            "`sum_vjp`: it must take the 1 argument of `sum`, its result, the seed, a shadow for each of _2, but has 3 parameters",
        ),
        (
            format!("function sum_vjp(a::Vector{{T}}, out::T, seed::T, sa::Vector{{U}})\n{body}"),
            "it must return a tuple of 1",
        ),
        (
            "function sum_vjp(a::Vector{T}, out::T, seed::T, sa::Vector{U})\n1 ─ %1 = Core.tuple(nothing)::Any\n\
             └──      return %1\nend"
                .into(),
            "its parameter _5 (`sa`), the shadow of an argument, must be a Vector{T}, but is a Vector{U}",
        ),
        (
            "function sum_vjp(a::Vector{T}, out::T, seed::T, sa::Vector{T})\n1 ─ %1 = Core.tuple(seed)::Any\n\
             └──      return %1\nend"
                .into(),
            "it must return `nothing` for _2, an array, to whose shadow cotangents are added",
        ),
        // Functions that cannot have rules, and names that rules cannot have.
        (
            format!("function var\"(::Callable)(::Float64)_vjp\"(x::Float64, out::Float64, seed::Float64)\n{body}"),
            "`(::Callable)(::Float64)` is a method of an object that is called, which cannot have a rule",
        ),
        (
            format!("function taken_vjp(x::Float64, out::Float64, seed::Float64)\n{body}"),
            "derivatives call it by the name `taken_vjp_rule`, which a function of the program has",
        ),
        // What takes the tuple apart goes by its declared type.
        (
            "function f_vjp(x::Float64, n::Int64, out::Float64, seed::Float64)::Tuple{Float64, Nothing}\n1 ─      goto #3 if not true\n\
             2 ─ %2 = Main.f(seed, n)::Tuple{Nothing, Nothing}\n└──      return %2\n\
             3 ─ %4 = Core.tuple(seed, nothing)::Tuple{Float64, Nothing}\n└──      return %4\nend"
                .into(),
            "it must return a Tuple{Float64, Nothing}, but returns a Tuple{Nothing, Nothing}",
        ),
        (
            format!("function pairs_vjp(p::Pair, out::Pair, seed::Tuple{{Float64, Float64}})::Tuple{{Tuple{{Float64}}}}\n{body}"),
            "it must return a Tuple{Tuple{Float64, Float64}}, but returns a Tuple{Tuple{Float64}}",
        ),
        (
            format!("function pairs_jvp(p::Pair, out::Pair, dp::Pair)::Tuple{{Float64, Float64}}\n{body}"),
            "its parameter _4 (`dp`), the tangent of an argument, must be a Tuple{Float64, Float64}, but is a Pair",
        ),
        (
            format!("function totals_jvp(n::Vector{{Int64}}, t::Total, x::Float64, out::Total, dn, dt, dx)::Total\n{body}"),
            "it must return a BBKit.Tangent{Total}, but returns a Total",
        ),
        (
            format!("function totals_vjp(n::Vector{{Int64}}, t::Total, x::Float64, out::Total, seed, dn::Vector{{Int64}})\n{tuple}"),
            "its parameter _7 (`dn`), the shadow of an argument, must be a Nothing, but is a Vector{Int64}",
        ),
        // What is returned is no tuple, but has as many operands.
        (
            "function hypot_vjp(x::T, y::T, out::T, seed::T)::Tuple{T, T}\n1 ─ %1 = Base.mul_float(seed, x)::T\n└──      return %1\nend".into(),
            "it must return a tuple of 2",
        ),
        (
            "function hypot_vjp(x::T, y::T, out::T, seed::T)::Tuple{T, T}\n1 ─ %1 = Base.lt_float(x, y)::Bool\n\
             │   %2 = Core.tuple(seed, %1)::Tuple{T, Bool}\n└──      return %2\nend"
                .into(),
            "it must return a T for _3, but returns a Bool",
        ),
        (
            "function hypot_vjp(x::T, y::T, out::T, seed::T)::T\n1 ─ %1 = Core.tuple(seed, seed)::Tuple{T, T}\n└──      return %1\nend".into(),
            "it must return a Tuple{T, T}, but returns a T",
        ),
        (
            "function hypot_jvp(x::T, y::T, out::T, dx::T, dy::T)::T\n1 ─ %1 = Base.lt_float(x, dx)::Bool\n└──      return %1\nend".into(),
            "it must return a T, but returns a Bool",
        ),
    ] {
        let error = table(&text).unwrap_err();
        assert!(error.contains(problem), "{text}\n{error}");
    }
}

/// The rule says 10 where the function itself would say 1.
#[test]
fn forward_mode_calls_the_rule_of_a_function() {
    let caller = "
function caller(x::Float64)::Float64
1 ─ %1 = invoke Main.f(x::Float64, 2::Int64)::Float64
│   %2 = Base.mul_float(%1, x)::Float64
└──      return %2
end
";
    let mut module: Module<IRCode> = parse_module(&format!("{PROGRAM}{caller}")).unwrap().module;
    let rule = "
function f_jvp(x::Float64, n::Int64, out::Float64, dx::Float64, dn::Nothing)::Float64
1 ─ %1 = Base.slt_int(n, 0)::Bool
└──      goto #3 if not %1
2 ─      return 0.0
3 ─ %4 = Base.mul_float(dx, 10.0)::Float64
└──      return %4
end
";
    let at = |module: &Module<IRCode>| {
        let direction = [vec![exec::Value::from(1.0)]];
        let result = bbkit::jvp(module, "caller", &[exec::Value::from(3.0)], &direction, Default::default()).unwrap();
        (result.value.as_float().unwrap(), result.tangents[0].as_float().unwrap())
    };
    assert_eq!(at(&module), (9.0, 6.0));
    module.add_rules(rule).unwrap();
    assert_eq!(at(&module), (9.0, 33.0));
}

const SHAPES: &str = "
class Shape
  scale::Float64
  method area => shape_area
end
class Dot <: Shape
end
class Circle <: Shape
  method area => circle_area
end
function shape_area(self::Shape, x::Float64)::Float64
1 ─ %1 = Base.getfield(self, :scale)::Float64
│   %2 = Base.mul_float(%1, x)::Float64
└──      return %2
end
function circle_area(self::Circle, x::Float64)::Float64
1 ─ %1 = invoke Main.shape_area(self::Circle, x::Float64)::Float64
│   %2 = Base.add_float(%1, x)::Float64
└──      return %2
end
function through_class(shape::Shape, x::Float64)::Float64
1 ─ %1 = BBKit.class_method(shape, :area)::Function
│   %2 = (%1)(shape, x)::Float64
└──      return %2
end
function on_dot(x::Float64)::Float64
1 ─ %1 = %new(Main.Dot, 3.0)::Dot
│   %2 = invoke Main.through_class(%1::Dot, x::Float64)::Float64
└──      return %2
end
function on_circle(x::Float64)::Float64
1 ─ %1 = %new(Main.Circle, 3.0)::Circle
│   %2 = invoke Main.through_class(%1::Circle, x::Float64)::Float64
└──      return %2
end
";

/// The rule of a method is called wherever the method is found in a table, or called for an object of a class that
/// inherits it.
#[test]
fn a_method_that_is_found_in_a_table_has_its_rule() {
    // Ten times what the derivative is.
    let rules = "
function shape_area_vjp(self::Shape, x::Float64, out::Float64, seed::Float64)::Tuple{Nothing, Float64}
1 ─ %1 = Base.getfield(self, :scale)::Float64
│   %2 = Base.mul_float(%1, seed)::Float64
│   %3 = Base.mul_float(%2, 10.0)::Float64
│   %4 = Core.tuple(nothing, %3)::Tuple{Nothing, Float64}
└──      return %4
end
function shape_area_jvp(self::Shape, x::Float64, out::Float64, dself::BBKit.Tangent{Shape}, dx::Float64)::Float64
1 ─ %1 = Base.getfield(self, :scale)::Float64
│   %2 = Base.mul_float(%1, dx)::Float64
│   %3 = Base.mul_float(%2, 10.0)::Float64
└──      return %3
end
";
    let mut module: Module<IRCode> = parse_module(SHAPES).unwrap().module;
    module.add_rules(rules).unwrap();
    // scale·x has 3, told as 30; of a circle x is added.
    for (function, expected) in [("on_dot", 30.0), ("on_circle", 31.0)] {
        let args = [exec::Value::from(5.0)];
        let gradient = bbkit::gradient(&module, function, &args, exec::Limits::default()).unwrap();
        assert_eq!(gradient.gradient[0].as_float(), Some(expected), "{function}");
        let direction = [vec![exec::Value::from(1.0)]];
        let found = bbkit::jvp(&module, function, &args, &direction, exec::Limits::default()).unwrap();
        assert_eq!(found.tangents[0].as_float(), Some(expected), "{function}");
    }
}

#[test]
fn functions_of_the_library_have_rules_and_those_of_the_same_name_do_not() {
    let code = |fails: &str| {
        format!(
            "
function var\"sincos(::Float64)\"(x::Float64)::Tuple{{Float64, Float64}}
1 ─ %1 = Base.lt_float(x, x)::Bool
└──      goto #3 if not %1
2 ─      invoke {fails}(x::Float64)::Union{{}}
└──      unreachable
3 ─ %5 = Core.tuple(x, x)::Tuple{{Float64, Float64}}
└──      return %5
end
function var\"{fails}(::Float64)\"(x::Float64)::Union{{}}
1 ─      Base.throw(x)::Union{{}}
└──      unreachable
end
"
        )
    };
    let has_rule = |text: &str| {
        let mut module: Module<IRCode> = parse_module(text).unwrap().module;
        // The text does not say which method is invoked; a dump does.
        let fails = module.functions()[1].name.clone();
        let body = module.body_mut("sincos(::Float64)").unwrap();
        for stmt in body.stmts.stmts_mut() {
            if let ircode::Stmt::Invoke(invoke) = stmt {
                std::sync::Arc::make_mut(&mut invoke.instance).name = Some(fails.clone());
            }
        }
        let rules = RuleTable::of_module(&module).unwrap();
        [RuleKind::Vjp, RuleKind::Jvp].map(|kind| rules.has_function_rule(&"sincos(::Float64)".into(), kind))
    };
    assert_eq!(has_rule(&code("Base.Math.sincos_domain_error")), [true, true]);
    assert_eq!(has_rule(&code("Main.sincos_domain_error")), [false, false]);
    assert_eq!(has_rule(&code("Base.Math.throw_complex_domainerror")), [false, false]);
    // Rules that do not fit are left out: this one returns a number.
    let other = code("Base.Math.sincos_domain_error").replace("Tuple{Float64, Float64}\n1", "Float64\n1");
    let other = other.replace("Core.tuple(x, x)::Tuple{Float64, Float64}", "Base.add_float(x, x)::Float64");
    assert_eq!(has_rule(&other), [false, false]);
}

/// The rules say 100 where the derivatives of the code are 2x.
#[test]
fn the_derivative_of_a_function_with_a_rule_is_by_the_rule() {
    let text = "
function sq(x::Float64, n::Int64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
function f(x::Float64, n::Int64)::Float64
1 ─ %1 = Main.sq(x, n)::Float64
└──      return %1
end
";
    let rules = "
function sq_vjp(x::Float64, n::Int64, out::Float64, seed::Float64)::Tuple{Float64, Nothing}
1 ─ %1 = Base.mul_float(seed, 100.0)::Float64
│   %2 = Core.tuple(%1, nothing)::Tuple{Float64, Nothing}
└──      return %2
end
function sq_jvp(x::Float64, n::Int64, out::Float64, dx::Float64, dn::Nothing)::Float64
1 ─ %1 = Base.mul_float(dx, 100.0)::Float64
└──      return %1
end
";
    let mut module: Module<IRCode> = parse_module(text).unwrap().module;
    module.add_rules(rules).unwrap();
    let args = [Value::from(3.0), Value::from(2_i64)];
    for function in ["sq", "f"] {
        let gradient = bbkit::gradient(&module, function, &args, Limits::default()).unwrap();
        assert_eq!(
            gradient.gradient.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["100.0", "nothing"],
            "{function}"
        );
        let direction = vec![Value::from(1.0), Value::Nothing];
        let jvp = bbkit::jvp(&module, function, &args, &[direction], Limits::default()).unwrap();
        assert_eq!(jvp.tangents.iter().map(ToString::to_string).collect::<Vec<_>>(), ["100.0"], "{function}");
    }
}

/// Derivatives would not put back what it changes, and would read it as it is afterwards; what it gives back would have
/// two shadows.
#[test]
fn a_function_with_a_rule_that_changes_an_argument_or_gives_it_back_is_refused() {
    let text = "
mutable struct Holder
  of::Vector{Float64}
  x::Float64
end
struct Counted
  of::Vector{Float64}
  n::Int64
end
function squares!(a::Vector{Float64})::Float64
1 ─ %1 = Base.getindex(a, 1)::Float64
│   %2 = Base.mul_float(%1, %1)::Float64
│        Main.store(a, %2)::Nothing
└──      return %2
end
function store(to::Vector{Float64}, x::Float64)::Nothing
1 ─      Base.setindex!(to, x, 1)::Vector{Float64}
└──      return nothing
end
function copies(a::Vector{Float64})::Float64
1 ─ %1 = Base.copy(a)::Vector{Float64}
│   %2 = Main.squares!(%1)::Float64
│        $(Expr(:foreigncall, :dsolve, Nothing, svec(Any), 0, :(:ccall), :(a)))::Nothing
└──      return %2
end
function joins(a::Vector{Float64})::Float64
1 ─ %1 = Base.vcat(a, a)::Vector{Float64}
│        Base.setindex!(%1, 2.0, 1)::Vector{Float64}
│   %3 = %new(Main.Holder, a, 1.0)::Holder
│        Base.setfield!(%3, :x, 2.0)::Float64
└──      return 1.0
end
function counts!(a::Vector{Float64})::Float64
1 ─ %1 = %new(Main.Counted, a, 1)::Counted
│   %2 = Main.count!(%1)::Nothing
│   %3 = Base.getfield(%1, :of)::Vector{Float64}
│        Base.setindex!(%3, 1.0, 1)::Vector{Float64}
└──      return 1.0
end
function count!(c::Counted)::Nothing
1 ─      nothing
└──      return nothing
end
function through(a::Vector{Float64})::Tuple{Float64, Vector{Float64}}
1 ─ %1 = Main.same(1, a)::Vector{Float64}
│   %2 = Core.tuple(1.0, %1)::Tuple{Float64, Vector{Float64}}
└──      return %2
end
function same(n::Int64, a::Vector{Float64})::Vector{Float64}
1 ─      return a
end
function itself(a::Vector{Float64})::Tuple{Float64, Vector{Float64}}
1 ─      goto #3 if not true
2 ─      nothing
3 ─ %3 = φ (#1 => a, #2 => a)::Vector{Float64}
│   %4 = Core.tuple(1.0, %3)::Tuple{Float64, Vector{Float64}}
└──      return %4
end
function part(a::Vector{Float64})::Tuple{Float64, Vector{Float64}}
1 ─ %1 = %new(Main.Counted, a, 1)::Counted
│   %2 = Base.getfield(%1, :of)::Vector{Float64}
│   %3 = Core.tuple(1.0, %2)::Tuple{Float64, Vector{Float64}}
└──      return %3
end
function stored(a::Vector{Float64})::Tuple{Float64, Vector{Vector{Float64}}}
1 ─ %1 = BBKit.new_array(Vector{Float64}, 1)::Vector{Vector{Float64}}
│        Base.setindex!(%1, a, 1)::Vector{Vector{Float64}}
│   %3 = Core.tuple(1.0, %1)::Tuple{Float64, Vector{Vector{Float64}}}
└──      return %3
end
function held(a::Vector{Float64})::Tuple{Float64, Holder}
1 ─ %1 = Base.copy(a)::Vector{Float64}
│   %2 = %new(Main.Holder, %1, 1.0)::Holder
│   %3 = Core.tuple(1.0, %2)::Tuple{Float64, Holder}
│        Main.hold(a, %2)::Nothing
└──      return %3
end
function hold(a::Vector{Float64}, into::Holder)::Nothing
1 ─      Base.setfield!(into, :of, a)::Vector{Float64}
└──      return nothing
end
function copied_elements(a::Vector{Float64})::Tuple{Float64, Holder}
1 ─ %1 = BBKit.new_array(Float64, 2)::Vector{Float64}
│   %2 = Base.copyto!(%1, a)::Vector{Float64}
│   %3 = %new(Main.Holder, %1, 1.0)::Holder
│   %4 = Core.tuple(1.0, %3)::Tuple{Float64, Holder}
└──      return %4
end
function works_beside(a::Vector{Float64})::Tuple{Float64, Vector{Float64}}
1 ─ %1 = Base.copy(a)::Vector{Float64}
│   %2 = BBKit.new_array(Vector{Float64}, 2)::Vector{Vector{Float64}}
│        Base.setindex!(%2, a, 1)::Vector{Vector{Float64}}
│        Base.setindex!(%2, %1, 2)::Vector{Vector{Float64}}
│   %5 = Base.getindex(%2, 2)::Vector{Float64}
│        Base.setindex!(%5, 2.0, 1)::Vector{Float64}
│   %7 = Core.tuple(1.0, %5)::Tuple{Float64, Vector{Float64}}
└──      return %7
end
function copy_stored(a::Vector{Float64})::Tuple{Float64, Holder}
1 ─ %1 = Base.fill(a, 1)::Vector{Vector{Float64}}
│   %2 = Base.getindex(%1, 1)::Vector{Float64}
│   %3 = Base.copy(%2)::Vector{Float64}
│   %4 = Base.vcat(a, %3)::Vector{Float64}
│   %5 = %new(Main.Holder, %4, 1.0)::Holder
│        Base.setfield!(%5, :of, %3)::Vector{Float64}
│   %7 = Core.tuple(1.0, %5)::Tuple{Float64, Holder}
└──      return %7
end
function f(a::Vector{Float64})
1 ─ %1 = Main.NAME(a)
└──      return 1.0
end
";
    let rules = "
function NAME_vjp(a::Vector{Float64}, out, seed, da::Vector{Float64})::Tuple{Nothing}
1 ─ %1 = Core.tuple(nothing)::Tuple{Nothing}
└──      return %1
end
function NAME_jvp(a::Vector{Float64}, out, da::Vector{Float64})
1 ─ %1 = BBKit.zero_tangent(out)
└──      return %1
end
";
    let derive = |name: &str| {
        let mut module: Module<IRCode> = parse_module(&text.replace("NAME", name)).unwrap().module;
        module.add_rules(&rules.replace("NAME", name)).unwrap();
        let module = bbkit::into_bbcode(module).unwrap();
        let name = Name::from("f");
        let reverse = reverse_mode::differentiate(&mut module.clone(), &name).map(drop);
        let forward =
            forward_mode::differentiate(&mut module.clone(), &name, &forward_mode::Options::default()).map(drop);
        (reverse.map_err(|error| error.to_string()), forward.map_err(|error| error.to_string()))
    };
    let refused = [
        ("squares!", "changes"),
        ("counts!", "changes"),
        ("itself", "gives back"),
        ("through", "gives back"),
        ("part", "gives back"),
        ("stored", "gives back"),
        ("held", "gives back"),
    ];
    for (name, does) in refused {
        let (reverse, forward) = derive(name);
        let (error, expected) =
            (reverse.unwrap_err(), format!("it has a derivative rule, and {does} its argument _2 (a)\n  in {name}"));
        assert!(error.contains(&expected), "{error}");
        // It has the rule change tangents in their places, in the order of the code.
        assert_eq!(forward, Ok(()));
    }
    for name in ["copies", "joins", "copy_stored", "copied_elements", "works_beside"] {
        assert_eq!(derive(name), (Ok(()), Ok(())), "{name}");
    }
}

/// What reverse mode says of `f` where this function of one vector has a rule.
fn refusal(text: &str, function: &str) -> String {
    let mut module: Module<IRCode> = parse_module(text).unwrap().module;
    let rule = format!(
        "
function {function}_vjp(a::Vector{{Float64}}, out, seed, da::Vector{{Float64}})::Tuple{{Nothing}}
1 ─ %1 = Core.tuple(nothing)::Tuple{{Nothing}}
└──      return %1
end
"
    );
    module.add_rules(&rule).unwrap();
    let mut module = bbkit::into_bbcode(module).unwrap();
    reverse_mode::differentiate(&mut module, &Name::from("f")).map(drop).unwrap_err().to_string()
}

/// An argument is put in the first of many objects, each of which is in the next one: it is in the last one, too. It
/// took 20 seconds for half as many where each object was another round over the function.
#[test]
fn what_is_given_back_through_many_objects_is_found_in_linear_time() {
    const OBJECTS: usize = 8_000;
    let made = (1..=OBJECTS).map(|at| format!("│ %{at} = %new(Main.Node, nothing)::Node\n"));
    let chained = (2..=OBJECTS).map(|at| {
        let (result, before) = (OBJECTS + at - 1, at - 1);
        format!("│ %{result} = Base.setfield!(%{at}, :of, %{before})::Node\n")
    });
    let body: String = made.chain(chained).collect();
    let text = format!(
        "
mutable struct Node
  of::Any
end
function put(a::Vector{{Float64}})::Tuple{{Float64, Node}}
1 ─ nothing
{body}│ Base.setfield!(%1, :of, a)::Vector{{Float64}}
│ %{result} = Core.tuple(1.0, %{OBJECTS})::Tuple{{Float64, Node}}
└── return %{result}
end
function f(a::Vector{{Float64}})
1 ─ %1 = Main.put(a)
└── return 1.0
end
",
        result = 2 * OBJECTS + 1
    );
    // The numbers count every statement.
    let text = text
        .replacen("1 ─ nothing\n│ %1", "1 ─ %1", 1)
        .replace("│ Base.setfield!(%1,", &format!("│ %{} = Base.setfield!(%1,", 2 * OBJECTS));
    let error = refusal(&text, "put");
    assert!(error.contains("gives back its argument _2 (a)\n  in put"), "{error}");
}

/// The last of many functions that call each other in a row changes the argument of the first. It took 13 seconds for
/// 4,000 where each of them was another round over all.
#[test]
fn what_is_changed_through_many_calls_is_found_in_linear_time() {
    const CALLS: usize = 20_000;
    let calls = (1..CALLS).map(|at| {
        let next = at + 1;
        format!(
            "function g{at}(a::Vector{{Float64}})::Float64\n1 ─ %1 = Main.g{next}(a)::Float64\n└── return %1\nend\n"
        )
    });
    let calls: String = calls.collect();
    let text = format!(
        "
function f(a::Vector{{Float64}})::Float64
1 ─ %1 = Main.g1(a)::Float64
└── return %1
end
{calls}function g{CALLS}(a::Vector{{Float64}})::Float64
1 ─ Base.setindex!(a, 1.0, 1)::Vector{{Float64}}
└── return 1.0
end
"
    );
    let error = refusal(&text, "g1");
    assert!(error.contains("changes its argument _2 (a)\n  in g1"), "{error}");
}
