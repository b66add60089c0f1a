//! Walks the table of derivative rules. Every rule is checked against differences of the primitive that it belongs to,
//! and the pullback against the tangent map: ⟨J v, w⟩ = ⟨v, Jᵀ w⟩, for every float type. The same is asked of the rules
//! that a host adds to a module.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

mod arrays;

use exec::{Machine, Value};
use ircode::primitives::{Compute, Effects, Failure, Primitive, ResultType, TABLE};
use ircode::{Function, IRCode, Module, Operand, Scalar, ScalarType, Stmt, Type, parse_module};
use passes::rules::{Bindings, Rule, RuleKind, RuleTable};

/// Where a rule is checked: values for its arguments, in the domain of the primitive and away from kinks.
fn points(primitive: &str, arity: usize) -> Vec<Vec<f64>> {
    let one = |values: &[f64]| values.iter().map(|&x| vec![x]).collect::<Vec<_>>();
    match (primitive, arity) {
        ("asin" | "acos" | "atanh", 1) => one(&[-0.75, 0.125, 0.5]),
        ("acosh", 1) => one(&[1.25, 2.0, 3.5]),
        ("log" | "log2" | "log10" | "sqrt_llvm", 1) => one(&[0.25, 1.5, 3.0]),
        ("log1p", 1) => one(&[-0.5, 0.25, 2.0]),
        ("sind" | "cosd", 1) => one(&[-100.5, 12.25, 200.0]),
        ("exp10", 1) => one(&[-0.5, 0.25, 0.75]),
        ("^", 2) => vec![vec![1.5, 2.25], vec![0.75, -1.5], vec![2.0, 3.0]],
        ("rem_float" | "div", 2) => vec![vec![7.25, 2.0], vec![-7.25, 3.0]],
        ("clamp", 3) => vec![vec![0.5, -1.0, 1.0], vec![2.5, -1.0, 1.0], vec![-2.5, -1.0, 1.0]],
        (_, 1) => one(&[-1.25, 0.375, 1.75]),
        (_, arity) => {
            [[0.75, -1.25, 2.5], [-1.5, 0.25, -0.5], [2.25, 1.5, 0.75]].map(|row| row[..arity].to_vec()).to_vec()
        }
    }
}

/// A function of the arguments that have tangents, which calls the primitive.
fn caller(rule: &Rule, bindings: &Bindings, fixed: &[Option<Operand<ircode::Positions>>]) -> Function<IRCode> {
    let parameters: Vec<Type> = rule.argtypes.iter().map(|ty| bindings.substitute(ty)).collect();
    let mut text = String::from("function call(");
    let mut args = Vec::new();
    let mut number = 1;
    for (ty, fixed) in parameters.iter().zip(fixed) {
        args.push(fixed.clone().unwrap_or_else(|| {
            number += 1;
            text.push_str(&format!("{}_{number}::{ty}", if number > 2 { ", " } else { "" }));
            Operand::argument(number)
        }));
    }
    text.push_str(")\n1 ─ %1 = nothing::Any\n└── return %1\nend\n");
    let mut function = parse_module(&text).unwrap().module.functions()[0].clone();
    function.body.stmts.stmts_mut()[0] = Stmt::call(Operand::global("Base", rule.primitive().unwrap().name), args);
    function
}

/// The function of a rule with types in the place of type variables.
fn instance(rule: &Rule, bindings: &Bindings) -> Function<IRCode> {
    let mut function = rule.function.clone();
    for ty in &mut function.body.argtypes {
        *ty = bindings.substitute(ty);
    }
    for index in 0..function.body.stmts.len() {
        let (stmt, ty) = rule.statement(index, bindings).unwrap();
        function.body.stmts.stmts_mut()[index] = stmt;
        function.body.stmts.types_mut()[index] = ty;
    }
    function.result = bindings.substitute(&function.result);
    function
}

/// Runs a function with the primitives that `host` has registered.
fn run(host: &Module<IRCode>, function: &Function<IRCode>, args: &[Value]) -> Value {
    let mut module = Module::with_extensions_of(host);
    module.add_function(function.clone()).unwrap();
    Machine::new(&module).call(&function.name, args).unwrap_or_else(|error| panic!("{}: {error}", function.name))
}

fn float(ty: ScalarType, value: f64) -> Value {
    Value::Scalar(Scalar::from_float(ty, value).unwrap())
}

/// All ways to give types to the type variables of a rule.
fn instances(rule: &Rule) -> Vec<Bindings> {
    let floats = [ScalarType::Float64, ScalarType::Float32, ScalarType::Float16];
    let uses = |name: &str| {
        rule.argtypes
            .iter()
            .any(|ty| *ty == Type::named(name) || matches!(ty, Type::TypeOf(inner) if **inner == Type::named(name)))
    };
    let mut all = Vec::new();
    for t in floats {
        for u in floats {
            if u != t && !(uses("U") && uses("T")) {
                continue;
            }
            let i = uses("I").then_some(ScalarType::Int64);
            all.push(Bindings { t: uses("T").then_some(t), u: uses("U").then_some(u), i, ..Bindings::default() });
        }
    }
    all
}

struct Checked {
    value: f64,
    tangents: Vec<f64>,
}

/// Runs one rule pair at one point, and compares.
fn check(host: &Module<IRCode>, vjp: &Rule, jvp: &Rule, bindings: &Bindings, point: &[f64]) -> Option<Checked> {
    let name = &vjp.function.name;
    let types: Vec<Type> = vjp.argtypes.iter().map(|ty| bindings.substitute(ty)).collect();
    let mut fixed = Vec::new();
    let mut primal = Vec::new();
    let mut coordinates = point.iter();
    for ty in &types {
        let (value, operand): (Value, Option<Operand<ircode::Positions>>) = match ty {
            Type::TypeOf(inner) => {
                let of = inner.as_ref().clone();
                (Value::Type(of.clone().into()), Some(Operand::Constant(ircode::Constant::of_type(of))))
            }
            Type::Scalar(scalar) if scalar.is_float() => (float(*scalar, *coordinates.next()?), None),
            Type::Scalar(ScalarType::Bool) => (Value::from(point[0] > 0.0), Some(Operand::from(point[0] > 0.0))),
            Type::Scalar(_) => (Value::from(3), Some(Operand::from(3))),
            other => panic!("{name}: no values of the type {other}"),
        };
        primal.push(value);
        fixed.push(operand);
    }
    let moving: Vec<usize> = (0..types.len()).filter(|&i| fixed[i].is_none()).collect();
    let call = caller(vjp, bindings, &fixed);
    let at = |deltas: &[f64]| {
        let args: Vec<Value> = moving
            .iter()
            .zip(deltas)
            .map(|(&i, delta)| {
                let scalar = primal[i].as_scalar().unwrap();
                float(scalar.scalar_type(), scalar.as_float().unwrap() + delta)
            })
            .collect();
        run(host, &call, &args)
    };
    let out = at(&vec![0.0; moving.len()]);
    let out_type = out.as_scalar()?.scalar_type();
    if !out_type.is_float() {
        return None;
    }
    let direction = [0.75, -0.5, 0.25];
    let seed = 1.25;
    let zero_or_nothing = |i: usize, value: f64| match types[i].as_scalar() {
        Some(scalar) if scalar.is_float() => float(scalar, value),
        _ => Value::Nothing,
    };
    let mut args = primal.clone();
    args.push(out.clone());
    args.push(float(out_type, seed));
    let cotangents = run(host, &instance(vjp, bindings), &args);
    let cotangents = cotangents.as_tuple().unwrap();
    let mut args = primal.clone();
    args.push(out.clone());
    args.extend(
        (0..types.len())
            .map(|i| zero_or_nothing(i, moving.iter().position(|&m| m == i).map_or(0.0, |place| direction[place]))),
    );
    let tangent = run(host, &instance(jvp, bindings), &args).as_float().unwrap();

    let narrow = out_type.bits().min(types.iter().filter_map(Type::as_float).map(ScalarType::bits).min().unwrap_or(64));
    let precision = match narrow {
        64 => 1e-12,
        32 => 1e-5,
        _ => 2e-2,
    };
    // ⟨J v, w⟩ = ⟨v, Jᵀ w⟩
    let left = tangent * seed;
    let right: f64 =
        moving.iter().enumerate().map(|(place, &i)| direction[place] * cotangents[i].as_float().unwrap_or(0.0)).sum();
    assert!(
        (left - right).abs() <= precision * left.abs().max(1.0),
        "{name} at {point:?}: ⟨Jv,w⟩ = {left}, ⟨v,Jᵀw⟩ = {right}"
    );
    for (i, cotangent) in cotangents.iter().enumerate() {
        let has_tangent = types[i].as_float().is_some();
        assert_eq!(cotangent.as_float().is_some(), has_tangent, "{name}: cotangent {i} is {cotangent}");
    }
    // Differences, in double precision only: there they say something.
    let mut tangents = Vec::new();
    for (place, &i) in moving.iter().enumerate() {
        let cotangent = cotangents[i].as_float().unwrap();
        tangents.push(cotangent / seed);
        if narrow == 64 {
            let side = |step: f64| {
                let mut deltas = vec![0.0; moving.len()];
                deltas[place] = step;
                at(&deltas).as_float().unwrap()
            };
            let step = 2f64.powi(-13);
            // Fourth order: the error is that of rounding, some 1e-12.
            let difference =
                (8.0 * (side(step) - side(-step)) - (side(2.0 * step) - side(-2.0 * step))) / (12.0 * step);
            let error = (difference - cotangent / seed).abs();
            assert!(
                error <= 2e-9 * difference.abs().max(1.0),
                "{name} at {point:?}: the derivative for argument {i} is {}, by differences {difference}",
                cotangent / seed
            );
        }
    }
    Some(Checked { value: out.as_float().unwrap(), tangents })
}

/// The rule of the other kind with the same name but for that.
fn counterpart<'t>(table: &'t RuleTable, vjp: &Rule) -> &'t Rule {
    let name = vjp.function.name.replacen("_vjp", "_jvp", 1);
    table.rules().find(|rule| *rule.function.name == *name).unwrap_or_else(|| panic!("there is no {name}"))
}

#[test]
fn every_rule_agrees_with_differences_and_with_its_counterpart() {
    let table = RuleTable::standard().unwrap();
    let mut checked = 0;
    for vjp in table.rules().filter(|rule| rule.kind == RuleKind::Vjp && !arrays::has_arrays(rule)) {
        let jvp = counterpart(table, vjp);
        assert_eq!(vjp.argtypes, jvp.argtypes, "{}", vjp.function.name);
        for bindings in instances(vjp) {
            let moving = vjp.argtypes.iter().filter(|ty| bindings.substitute(ty).as_float().is_some()).count();
            for point in points(vjp.primitive().unwrap().name, moving) {
                checked += usize::from(check(&Module::new(), vjp, jvp, &bindings, &point).is_some());
            }
        }
    }
    assert!(checked > 500, "only {checked} points");
}

/// Closed forms, so that the rules do not rest on differences alone.
#[test]
fn rules_give_the_closed_forms() {
    let table = RuleTable::standard().unwrap();
    let derivative = |name: &str, x: f64| {
        let vjp = table.rules().find(|rule| *rule.function.name == *format!("{name}_vjp")).unwrap();
        let bindings = Bindings { t: Some(ScalarType::Float64), ..Bindings::default() };
        let checked = check(&Module::new(), vjp, counterpart(table, vjp), &bindings, &[x]).unwrap();
        assert!(checked.value.is_finite());
        checked.tangents[0]
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 4e-16 * b.abs().max(1.0), "{a} instead of {b}");
    close(derivative("sin", 0.5), 0.5f64.cos());
    close(derivative("tan", 0.5), 1.0 / 0.5f64.cos().powi(2));
    close(derivative("tanh", 0.5), 1.0 - 0.5f64.tanh().powi(2));
    close(derivative("exp", 1.0), std::f64::consts::E);
    close(derivative("log10", 2.0), 1.0 / (2.0 * std::f64::consts::LN_10));
    close(derivative("cbrt", 1.728), 1.0 / (3.0 * 1.44));
    close(derivative("erf", 0.5), 2.0 / std::f64::consts::PI.sqrt() * (-0.25f64).exp());
    close(derivative("asinh", 0.75), 0.8);
}

/// What the rules leave out is what has no derivative.
#[test]
fn every_primitive_on_floats_has_a_rule() {
    let table = RuleTable::standard().unwrap();
    let floats = |primitive: &&Primitive| {
        let named = primitive.name.ends_with("_float") || primitive.name.ends_with("_llvm");
        named && !matches!(primitive.compute, Compute::Machine)
    };
    let compares = |primitive: &Primitive| primitive.result == ResultType::Bool;
    for primitive in TABLE.iter().filter(floats).filter(|primitive| !compares(primitive)) {
        assert!(table.has_rule(primitive, RuleKind::Vjp), "{} has no rule", primitive.name);
    }
    for name in [
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2",
        "log10", "log1p", "sqrt", "cbrt", "abs", "min", "max", "copysign", "floor", "ceil", "trunc", "round", "^",
        "fma", "muladd", "hypot", "erf", "erfc",
    ] {
        let primitive = ircode::primitives::lookup(name).unwrap();
        assert!(table.has_rule(primitive, RuleKind::Vjp), "{name} has no rule");
    }
}

#[test]
fn a_wrong_rule_is_caught() {
    let mut table = RuleTable::default();
    let wrong = "
function sin_vjp(x::T, out::T, seed::T)::Tuple{T}
1 ─ %1 = Base.sin(x)::T
│   %2 = Base.mul_float(seed, %1)::T
│   %3 = tuple(%2)::Tuple{T}
└──      return %3
end
function sin_jvp(x::T, out::T, dx::T)::T
1 ─ %1 = Base.cos(x)::T
│   %2 = Base.mul_float(dx, %1)::T
└──      return %2
end
";
    table.add("wrong.ir", wrong).unwrap();
    let vjp = table.rules().find(|rule| rule.kind == RuleKind::Vjp).unwrap();
    let bindings = Bindings { t: Some(ScalarType::Float64), ..Bindings::default() };
    let checked = || check(&Module::new(), vjp, counterpart(&table, vjp), &bindings, &[0.5]);
    assert!(std::panic::catch_unwind(checked).is_err());
}

/// Softplus in double precision, and as it would be in others.
fn softplus(operands: &[Scalar]) -> Result<Scalar, Failure> {
    let of = |scalar: &Scalar| Scalar::from_float(scalar.scalar_type(), scalar.as_float()?.exp().ln_1p());
    operands.first().and_then(of).ok_or(Failure::Operands("a float"))
}

static SOFTPLUS: Primitive = Primitive::scalars("softplus", 1, ResultType::Operand(0), Effects::PURE, softplus);

const SOFTPLUS_RULES: &str = "
function softplus_vjp(x::T, out::T, seed::T)::Tuple{T}
1 ─ %1 = Base.sub_float(x, out)::T
│   %2 = Base.exp(%1)::T
│   %3 = Base.mul_float(seed, %2)::T
│   %4 = tuple(%3)::Tuple{T}
└──      return %4
end
function softplus_jvp(x::T, out::T, dx::T)::T
1 ─ %1 = Base.sub_float(x, out)::T
│   %2 = Base.exp(%1)::T
│   %3 = Base.mul_float(dx, %2)::T
└──      return %3
end
";

#[test]
fn rules_of_a_host_are_held_to_the_same() {
    let mut host: Module<IRCode> = Module::new();
    host.register(&SOFTPLUS).unwrap();
    host.add_rules(SOFTPLUS_RULES).unwrap();
    let table = RuleTable::of_module(&host).unwrap();
    let vjp =
        table.rules().find(|rule| rule.primitive().unwrap().name == "softplus" && rule.kind == RuleKind::Vjp).unwrap();
    for bindings in instances(vjp) {
        for x in [-2.0, 0.25, 1.5] {
            let checked = check(&host, vjp, counterpart(&table, vjp), &bindings, &[x]).unwrap();
            if bindings.t == Some(ScalarType::Float64) {
                assert!((checked.tangents[0] - 1.0 / (1.0 + (-x).exp())).abs() < 1e-15);
            }
        }
    }
}
