//! The rules that take or give arrays. Each is run on small arrays, with shadows that hold something already, and
//! compared with differences of its primitive; and ⟨J v, w⟩ = ⟨v, Jᵀ w⟩.

use exec::{Machine, Value};
use ircode::primitives::{ResultType, Scope};
use ircode::{Callee, IRCode, Module, ScalarType, Stmt, Type};
use passes::rules::{Bindings, Rule, RuleKind, RuleTable};

use super::{counterpart, float, instance};

/// An argument: its floats are what is varied.
#[derive(Clone, Debug)]
enum Arg {
    Float(f64),
    Int(i64),
    Dims(Vec<i64>),
    Array(Vec<usize>, Vec<f64>),
}

impl Arg {
    fn floats(&self) -> &[f64] {
        match self {
            Arg::Float(value) => std::slice::from_ref(value),
            Arg::Array(_, values) => values,
            Arg::Int(_) | Arg::Dims(_) => &[],
        }
    }

    fn with(&self, floats: &[f64]) -> Arg {
        match self {
            Arg::Float(_) => Arg::Float(floats[0]),
            Arg::Array(dims, _) => Arg::Array(dims.clone(), floats.to_vec()),
            other => other.clone(),
        }
    }

    fn value(&self, machine: &Machine<'_>, ty: ScalarType) -> Value {
        match self {
            Arg::Float(value) => float(ty, *value),
            Arg::Int(value) => Value::from(*value),
            Arg::Dims(dims) => machine.tuple(dims.iter().map(|&dim| Value::from(dim)).collect()).unwrap(),
            Arg::Array(dims, values) => {
                let values = values.iter().map(|&value| float(ty, value)).collect();
                machine.array(ty.into(), dims.clone(), values).unwrap()
            }
        }
    }
}

/// Numbers that are not equal, and exact in every width.
fn numbers(count: usize, salt: usize) -> Vec<f64> {
    (0..count).map(|i| (((7 * i + 5 * salt + 3) % 13) as f64 - 6.25) / 4.0).collect()
}

/// The arguments with which a rule is run; `None` where no arguments have these types.
fn arguments(rule: &Rule, types: &[Type]) -> Option<Vec<Arg>> {
    let rank = |index: usize| match &types[index] {
        Type::Array(array) => array.rank,
        _ => 0,
    };
    let name = rule.primitive().unwrap().name;
    let shapes: Vec<Vec<usize>> = match (name, types.len()) {
        ("matmul", _) => match (rank(0), rank(1)) {
            (2, 2) => vec![vec![2, 3], vec![3, 2]],
            (2, 1) => vec![vec![2, 3], vec![3]],
            (1, 2) => vec![vec![3], vec![1, 2]],
            _ => return None,
        },
        ("matmul_add!", _) => match (rank(0), rank(1), rank(2)) {
            (2, 2, 2) => vec![vec![2, 2], vec![2, 3], vec![3, 2]],
            (1, 2, 1) => vec![vec![2], vec![2, 3], vec![3]],
            (2, 1, 2) => vec![vec![3, 2], vec![3], vec![1, 2]],
            (1, 2, 2) => vec![vec![2], vec![2, 3], vec![3, 1]],
            _ => return None,
        },
        ("vcat", _) => vec![vec![3], vec![2]],
        _ => (0..types.len())
            .map(|i| match (name, i, rank(i)) {
                ("add_slice!", 2, 1) | ("copyto!", 1, 1) => vec![3],
                ("add_slice!", 2, 2) | ("copyto!", 1, 2) => vec![2, 2],
                (_, _, 1) => vec![6],
                _ => vec![2, 3],
            })
            .collect(),
    };
    let places: &[i64] = match (name, types.len()) {
        ("slice", _) | ("fill_slice!", _) => &[2, 4],
        ("add_slice!", _) => &[2],
        ("add_at!", _) => &[5],
        ("copyto!", 5) => &[2, 1, 3],
        _ => &[2, 3],
    };
    let mut places = places.iter().copied();
    let mut args = Vec::new();
    for (i, ty) in types.iter().enumerate() {
        args.push(match ty {
            Type::Scalar(scalar) if scalar.is_float() => Arg::Float(numbers(1, i)[0]),
            Type::Scalar(_) => Arg::Int(places.next().unwrap()),
            Type::Tuple(elements) => Arg::Dims([2, 3][..elements.len()].to_vec()),
            Type::Array(_) => {
                let dims = shapes[i].clone();
                let count = dims.iter().product();
                Arg::Array(dims, numbers(count, i))
            }
            other => panic!("no values of the type {other}"),
        });
    }
    Some(args)
}

/// The floats in a value.
fn floats(value: &Value) -> Vec<f64> {
    match value.array_elements() {
        Some(elements) => elements.iter().map(|element| element.as_float().unwrap()).collect(),
        None => vec![value.as_float().unwrap()],
    }
}

/// A module with the rules, and with a function `call` of the primitive.
fn module(rules: [&Rule; 2], bindings: &Bindings, types: &[Type]) -> Module<IRCode> {
    let name = rules[0].primitive().unwrap().name;
    let scope = if rules[0].primitive().unwrap().scope == Scope::Bbkit { "BBKit" } else { "Base" };
    let parameters: Vec<String> = types.iter().enumerate().map(|(i, ty)| format!("_{}::{ty}", i + 2)).collect();
    let operands: Vec<String> = (2..types.len() + 2).map(|i| format!("_{i}")).collect();
    let text = format!(
        "function call({})\n1 ─ %1 = {scope}.{name}({})::Any\n└── return %1\nend\n",
        parameters.join(", "),
        operands.join(", ")
    );
    let mut module = ircode::parse_module(&text).unwrap().module;
    for rule in rules {
        let function = instance(rule, bindings);
        function.body.verify().unwrap();
        for ty in function.body.argtypes.iter().skip(1).chain(function.body.stmts.types()) {
            let text = ty.to_string();
            let is_open = text == "T" || ["{T,", "{T}", ", N}", ", M}", ", K}"].iter().any(|part| text.contains(part));
            assert!(!is_open, "{}: {ty}", function.name);
        }
        module.add_function(function).unwrap();
    }
    module
}

/// What a rule says, and what differences say.
struct Checked {
    /// The rows of the Jacobian, by the VJP.
    gradient: Vec<f64>,
    differences: Vec<f64>,
}

/// Runs a rule pair. Everything is compared along the vector `w` of the results.
fn check(vjp: &Rule, jvp: &Rule, bindings: &Bindings, ty: ScalarType) -> Option<Checked> {
    let name = &vjp.function.name;
    let types: Vec<Type> = vjp.argtypes.iter().map(|ty| bindings.substitute(ty)).collect();
    let args = arguments(vjp, &types)?;
    let module = module([vjp, jvp], bindings, &types);
    let mut machine = Machine::new(&module);
    let values =
        |machine: &Machine<'_>, args: &[Arg]| -> Vec<Value> { args.iter().map(|arg| arg.value(machine, ty)).collect() };
    let flat: Vec<f64> = args.iter().flat_map(|arg| arg.floats().to_vec()).collect();
    let at = |machine: &mut Machine<'_>, flat: &[f64]| -> (Vec<Value>, Value) {
        let mut rest = flat;
        let mut moved = Vec::new();
        for arg in &args {
            let (own, others) = rest.split_at(arg.floats().len());
            moved.push(arg.with(own));
            rest = others;
        }
        let values = values(machine, &moved);
        let out = machine.call("call", &values).unwrap_or_else(|error| panic!("{name}: {error}"));
        (values, out)
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();

    let (primal, out) = at(&mut machine, &flat);
    let w = numbers(floats(&out).len(), 4);
    let v = numbers(flat.len(), 9);

    // The tangent, from the memory as it is after the call.
    let mut operands = primal.clone();
    operands.push(out.clone());
    let mut rest = v.as_slice();
    for arg in &args {
        let (own, others) = rest.split_at(arg.floats().len());
        operands.push(match arg {
            Arg::Int(_) | Arg::Dims(_) => Value::Nothing,
            arg => arg.with(own).value(&machine, ty),
        });
        rest = others;
    }
    let first_tangent = operands.get(args.len() + 1).cloned();
    let tangent = machine.call(&jvp.function.name, &operands).unwrap_or_else(|error| panic!("{name}: {error}"));
    if vjp.changes_first() {
        assert!(tangent.egal(&first_tangent.unwrap()), "{name}: the tangent is that of the first operand");
    }

    // The cotangents. What is in the shadows already is to stay.
    let before: Vec<Vec<f64>> = primal
        .iter()
        .map(|value| match value {
            Value::Array(_) => floats(value),
            _ => Vec::new(),
        })
        .collect();
    let mut operands = primal.clone();
    operands.push(out.clone());
    let of_result = |machine: &Machine<'_>| match out.array_dims() {
        Some(dims) => Arg::Array(dims, w.clone()).value(machine, ty),
        None => float(ty, w[0]),
    };
    let out_shadow = of_result(&machine);
    operands.push(if vjp.out_shadow.is_some() { Value::Nothing } else { out_shadow.clone() });
    let mut shadows: Vec<Option<(Value, Vec<f64>)>> = Vec::new();
    for (i, (arg, shadow)) in args.iter().zip(&vjp.shadows).enumerate() {
        shadows.push(shadow.map(|place| {
            assert_eq!(place, operands.len() + 1, "{name}: where the shadows are");
            let (shadow, filled) = match vjp.changes_first() && i == 0 {
                true => (out_shadow.clone(), vec![0.0; arg.floats().len()]),
                false => {
                    let filled = numbers(arg.floats().len(), 11 + i);
                    (arg.with(&filled).value(&machine, ty), filled)
                }
            };
            operands.push(shadow.clone());
            (shadow, filled)
        }));
    }
    if vjp.out_shadow.is_some() {
        operands.push(out_shadow);
    }
    let cotangents = machine.call(name, &operands).unwrap_or_else(|error| panic!("{name}: {error}"));
    let cotangents = cotangents.as_tuple().unwrap();
    assert_eq!(cotangents.len(), args.len(), "{name}");
    let mut gradient = Vec::new();
    for ((arg, shadow), cotangent) in args.iter().zip(&shadows).zip(cotangents) {
        match (arg, shadow) {
            (Arg::Array(..), Some((shadow, filled))) => {
                assert!(matches!(cotangent, Value::Nothing), "{name}");
                gradient.extend(floats(shadow).iter().zip(filled).map(|(after, before)| after - before));
            }
            (Arg::Float(_), None) => gradient.push(cotangent.as_float().unwrap()),
            _ => assert!(matches!(cotangent, Value::Nothing), "{name}"),
        }
    }
    for (value, before) in primal.iter().zip(before).filter(|(_, before)| !before.is_empty()) {
        assert_eq!(floats(value), before, "{name}: the rule changes an operand");
    }

    let (left, right) = (dot(&floats(&tangent), &w), dot(&v, &gradient));
    let precision = match ty {
        ScalarType::Float64 => 1e-13,
        ScalarType::Float32 => 1e-5,
        _ => 1e-2,
    };
    let scale = dot(&v, &v).max(dot(&w, &w));
    assert!((left - right).abs() <= precision * scale, "{name}: ⟨Jv,w⟩ = {left}, ⟨v,Jᵀw⟩ = {right}");

    let mut differences = Vec::new();
    if ty == ScalarType::Float64 {
        let mut side = |i: usize, step: f64| {
            let mut moved = flat.clone();
            moved[i] += step;
            dot(&floats(&at(&mut machine, &moved).1), &w)
        };
        // The functions here are at most quadratic, for which this difference is exact but for rounding.
        differences.extend((0..flat.len()).map(|i| (side(i, 0.125) - side(i, -0.125)) / 0.25));
        for (i, (found, difference)) in gradient.iter().zip(&differences).enumerate() {
            assert!(
                (found - difference).abs() <= 1e-12,
                "{name}: coordinate {i} is {found}, by differences {difference}"
            );
        }
    }
    Some(Checked { gradient, differences })
}

/// All ways to give types to the type variables of a rule.
fn instances(rule: &Rule) -> Vec<(Bindings, ScalarType)> {
    let text: String = rule.argtypes.iter().map(|ty| format!("{ty};")).collect();
    let ranks = |name: &str| if text.contains(&format!(", {name}}}")) { vec![Some(1), Some(2)] } else { vec![None] };
    let mut all = Vec::new();
    for ty in [ScalarType::Float64, ScalarType::Float32, ScalarType::Float16] {
        for n in ranks("N") {
            for m in ranks("M") {
                for k in ranks("K") {
                    let i = text.contains('I').then_some(ScalarType::Int64);
                    all.push((Bindings { t: Some(ty), i, n, m, k, ..Bindings::default() }, ty));
                }
            }
        }
    }
    all
}

/// Whether a rule is one of these.
pub(super) fn has_arrays(rule: &Rule) -> bool {
    rule.out_shadow.is_some()
        || rule.function.body.argtypes.iter().any(|ty| {
            let text = ty.to_string();
            text.contains("Vector{") || text.contains("Matrix{") || text.contains("Array{")
        })
}

#[test]
fn every_rule_of_arrays_agrees_with_differences_and_with_its_counterpart() {
    let table = RuleTable::standard().unwrap();
    let mut checked = 0;
    for vjp in table.rules().filter(|rule| rule.kind == RuleKind::Vjp && has_arrays(rule)) {
        let jvp = counterpart(table, vjp);
        assert_eq!(vjp.argtypes, jvp.argtypes, "{}", vjp.function.name);
        let found = instances(vjp).iter().filter_map(|(bindings, ty)| check(vjp, jvp, bindings, *ty)).count();
        assert!(found >= 3, "{}: only {found} ways", vjp.function.name);
        checked += found;
    }
    assert!(checked > 150, "only {checked}");
}

/// Closed forms, so that the rules do not rest on differences alone.
#[test]
fn rules_of_arrays_give_the_closed_forms() {
    let table = RuleTable::standard().unwrap();
    let gradient = |name: &str, n: u32| {
        let vjp = table.rules().find(|rule| *rule.function.name == *format!("{name}_vjp")).unwrap();
        let bindings = Bindings { t: Some(ScalarType::Float64), n: Some(n), ..Bindings::default() };
        let checked = check(vjp, counterpart(table, vjp), &bindings, ScalarType::Float64).unwrap();
        assert_eq!(checked.gradient.len(), checked.differences.len());
        checked.gradient
    };
    let w = numbers(1, 4)[0];
    assert_eq!(gradient("sum", 2), vec![w; 6]);
    let (a, b) = (numbers(6, 0), numbers(6, 1));
    let both: Vec<f64> = b.iter().chain(&a).map(|x| w * x).collect();
    assert_eq!(gradient("dot", 1), both);
    let largest = a.iter().copied().fold(f64::MIN, f64::max);
    let one_hot: Vec<f64> = a.iter().map(|&x| if x == largest { w } else { 0.0 }).collect();
    assert_eq!(gradient("maximum", 1), one_hot);
    // The cotangent of A in A B is w Bᵀ.
    let (w, b) = (numbers(4, 4), numbers(6, 1));
    let of_a: Vec<f64> = (0..6)
        .map(|at| {
            let (row, column) = (at % 2, at / 2);
            (0..2).map(|k| w[row + 2 * k] * b[column + 3 * k]).sum()
        })
        .collect();
    assert_eq!(gradient("matmul", 2)[..6], of_a);
}

/// What rules call on arrays has rules itself, so that derivatives can be differentiated.
#[test]
fn what_rules_call_on_arrays_has_rules() {
    let table = RuleTable::standard().unwrap();
    let names: Module<IRCode> = Module::new();
    let mut seen = 0;
    for rule in table.rules() {
        for stmt in rule.function.body.stmts.stmts() {
            let Stmt::Call(call) = stmt else { continue };
            let Some(Callee::Primitive(primitive)) = names.callee(&call.callee) else { continue };
            if primitive.scope == Scope::Anywhere || primitive.result == ResultType::Int64 {
                continue;
            }
            seen += 1;
            for kind in [RuleKind::Vjp, RuleKind::Jvp] {
                assert!(table.has_rule(primitive, kind), "{} calls {}", rule.function.name, primitive.name);
            }
        }
    }
    assert!(seen > 50);
}

#[test]
fn a_rule_that_overwrites_a_shadow_is_caught() {
    let mut table = RuleTable::default();
    let wrong = "
function sum_vjp(a::Vector{T}, out::T, seed::T, sa::Vector{T})::Tuple{Nothing}
1 ─      Base.fill!(sa, seed)::Vector{T}
│   %2 = tuple(nothing)::Tuple{Nothing}
└──      return %2
end
function sum_jvp(a::Vector{T}, out::T, da::Vector{T})::T
1 ─ %1 = Base.sum(da)::T
└──      return %1
end
";
    table.add("wrong.ir", wrong).unwrap();
    let vjp = table.rules().find(|rule| rule.kind == RuleKind::Vjp).unwrap();
    let bindings = Bindings { t: Some(ScalarType::Float64), ..Bindings::default() };
    let checked = || check(vjp, counterpart(&table, vjp), &bindings, ScalarType::Float64);
    assert!(std::panic::catch_unwind(checked).is_err());
}

/// The part of a rule that one output needs leaves out what is done to other shadows.
#[test]
fn slices_of_array_rules() {
    let table = RuleTable::standard().unwrap();
    let find = |name: &str| table.rules().find(|rule| *rule.function.name == *name).unwrap();
    let dot = find("dot_vjp");
    assert_eq!((dot.shadows.as_slice(), dot.out_shadow), ([Some(5), Some(6)].as_slice(), None));
    assert_eq!(dot.slice(&[0]).statements, [true, false, false, false]);
    assert_eq!(dot.slice(&[0]).parameters, [false, false, true, false, true, true, false]);
    let copyto = find("copyto!_vjp");
    assert_eq!((copyto.shadows.as_slice(), copyto.out_shadow), ([Some(5), Some(6)].as_slice(), Some(7)));
    assert_eq!(copyto.slice(&[0]).statements, [true, false, true, false, false, false]);
    assert_eq!(copyto.slice(&[0, 1]).statements, [true, true, true, true, false, false]);
    // A value that is made and then changed.
    assert_eq!(find("similar_jvp").slice(&[0]).statements, [true, true, false]);
    assert!(!dot.is_zero(0) && !dot.is_zero(1));
    assert!(find("similar_vjp").is_zero(0) && !find("add_scalar!_vjp").is_zero(0) && find("slice_vjp").is_zero(1));
}
