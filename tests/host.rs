//! Primitives and derivative rules that a host registers: every pass and the interpreter treat them as the built-in
//! ones.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails should stop, and one is of a host that panics"
)]

use std::cell::RefCell;

use bbkit::exec::{HostError, Limits, Machine, RunErrorKind, Value};
use bbkit::ircode::primitives::{Effects, Failure, Primitive, ResultType};
use bbkit::ircode::{Constant, Function, IRCode, Module, Scalar, Type, parse_module};
use bbkit::passes::{PassErrorKind, PassManager, find_pass};
use bbkit::{GradientError, gradient, jvp, to_bbcode, to_ircode};

fn softplus(operands: &[Scalar]) -> Result<Scalar, Failure> {
    match operands {
        [Scalar::Float64(x)] => Ok(Scalar::Float64(x.exp().ln_1p())),
        _ => Err(Failure::Operands("a Float64")),
    }
}

const SAME: ResultType = ResultType::Operand(0);

static SOFTPLUS: Primitive = Primitive::scalars("softplus", 1, SAME, Effects::PURE, softplus);
static LOGISTIC: Primitive = Primitive::scalars("logistic", 1, SAME, Effects::PURE, logistic);
static THROWING: Primitive = Primitive::scalars("throwing", 1, SAME, Effects::THROWS, softplus);
static READING: Primitive = Primitive::scalars("reading", 1, SAME, Effects::READS, softplus);
static WRITING: Primitive = Primitive::machine("writing", 1, ResultType::Nothing, Effects::WRITES).up_to(2);
static DOUBLED: Primitive = Primitive::machine("doubled", 1, SAME, Effects::ALLOCATES);
static PANICKING: Primitive = Primitive::scalars("panicking", 1, SAME, Effects::THROWS, panicking);
static SINE: Primitive = Primitive::scalars("sine", 1, SAME, Effects::PURE, sine).with_rule("sin");

fn logistic(operands: &[Scalar]) -> Result<Scalar, Failure> {
    match operands {
        [Scalar::Float64(x)] => Ok(Scalar::Float64(1.0 / (1.0 + (-x).exp()))),
        _ => Err(Failure::Operands("a Float64")),
    }
}

fn panicking(operands: &[Scalar]) -> Result<Scalar, Failure> {
    match operands {
        [Scalar::Float64(x)] if *x > 1.0 => panic!("the host gives up"),
        _ => softplus(operands),
    }
}

fn sine(operands: &[Scalar]) -> Result<Scalar, Failure> {
    match operands {
        [Scalar::Float64(x)] => Ok(Scalar::Float64(x.sin())),
        _ => Err(Failure::Operands("a Float64")),
    }
}

fn host(text: &str) -> Module<IRCode> {
    let mut module = parse_module(text).unwrap().module;
    for primitive in [&SOFTPLUS, &LOGISTIC, &THROWING, &READING, &WRITING, &DOUBLED, &PANICKING, &SINE] {
        module.register(primitive).unwrap();
    }
    module
}

/// A function `f` of `x` that returns the value of this expression.
fn of_x(call: &str, ty: &str) -> Module<IRCode> {
    host(&format!("function f(x::Float64)::{ty}\n1 ─ %1 = {call}::{ty}\n└── return %1\nend\n"))
}

fn optimised(module: &Module<IRCode>, passes: &[&str]) -> String {
    let mut module = to_bbcode(module).unwrap();
    let passes = passes.iter().map(|name| find_pass(name).unwrap());
    PassManager::new(passes).verify_each(true).run(&mut module, None).unwrap();
    to_ircode(&module).unwrap().functions()[0].body.to_string()
}

fn slope(module: &Module<IRCode>, x: f64) -> Result<f64, GradientError> {
    let result = gradient(module, "f", &[Value::from(x)], Limits::default())?;
    Ok(result.gradient[0].as_float().unwrap())
}

#[test]
fn calls_of_constants_are_folded_if_nothing_else_decides_the_result() {
    let folded = |call: &str| optimised(&of_x(call, "Float64"), &["constant-folding"]);
    let value = 1f64.ln_1p();
    for call in ["Main.softplus(0.0)", "Main.throwing(0.0)", "softplus(0.0)"] {
        assert!(folded(call).contains(&format!("return {value}")), "{}", folded(call));
    }
    // It depends on more than its operands; it is refused when it runs; it takes another number of operands.
    for call in ["Main.reading(0.0)", "Main.softplus(1)", "Main.softplus(0.0, 0.0)"] {
        assert!(folded(call).contains("return %1"), "{}", folded(call));
    }
}

#[test]
fn calls_without_use_are_removed_if_their_effects_allow_it() {
    let module = host(
        "
function f(x::Float64)::Float64
1 ─ %1 = Main.softplus(x)::Float64
│   %2 = Main.throwing(x)::Float64
│   %3 = Main.reading(x)::Float64
│   %4 = Main.writing(x)::Nothing
└──      return x
end
",
    );
    let text = optimised(&module, &["dead-code"]);
    assert!(!text.contains("softplus"), "{text}");
    for kept in ["throwing", "reading", "writing"] {
        assert!(text.contains(kept), "{text}");
    }
}

#[test]
fn types_follow_from_what_is_declared() {
    let text = optimised(&of_x("Main.softplus(x)", "Any"), &["infer-types"]);
    assert!(text.contains("softplus)(_2)::Float64") || text.contains("softplus(_2)::Float64"), "{text}");
}

#[test]
fn the_machine_runs_what_it_is_told() {
    let module = host(
        "
function f(v::Vector{Float64})::Vector{Float64}
1 ─ %1 = Main.writing(v)::Nothing
│   %2 = Main.doubled(v)::Vector{Float64}
└──      return %2
end
",
    );
    let seen = RefCell::new(Vec::new());
    let elements = |value: &Value| value.array_elements().ok_or("an array is needed");
    let mut machine = Machine::new(&module)
        .define("writing", |operands, _| {
            seen.borrow_mut().extend(elements(&operands[0])?.iter().filter_map(Value::as_float));
            Ok(Value::Nothing)
        })
        .define("doubled", |operands, objects| {
            let doubled: Vec<Value> =
                elements(&operands[0])?.iter().filter_map(Value::as_float).map(|x| Value::from(2.0 * x)).collect();
            objects.array(Type::FLOAT64, vec![doubled.len()], doubled)
        });
    let v = machine.array(Type::FLOAT64, vec![2], vec![Value::from(1.5), Value::from(-2.0)]).unwrap();
    let result = machine.call("f", &[v]).unwrap();
    let result: Vec<_> = result.array_elements().unwrap().iter().filter_map(Value::as_float).collect();
    assert_eq!(result, [3.0, -4.0]);
    drop(machine);
    assert_eq!(*seen.borrow(), [1.5, -2.0]);
}

#[test]
fn failures_say_what_failed() {
    let module = of_x("Main.writing(x)", "Nothing");
    let x = [Value::from(0.0)];
    let error = Machine::new(&module).call("f", &x).unwrap_err();
    assert!(matches!(&error.kind, RunErrorKind::NotDefined(name) if name == "writing"));
    assert!(error.to_string().starts_with("`writing` is called, a primitive of the host"), "{error}");

    let failing = |result: fn() -> HostError| {
        Machine::new(&module).define("writing", move |_, _| Err(result())).call("f", &x).unwrap_err()
    };
    let error = failing(|| "the disk is full".into());
    assert!(matches!(error.kind, RunErrorKind::Exception(_)));
    assert!(error.to_string().contains("the disk is full"), "{error}");
    let error = failing(|| HostError::Throw(Value::from(7)));
    assert!(
        matches!(&error.kind, RunErrorKind::Exception(exception) if exception.value() == Some(&Constant::int64(7)))
    );
    let error = failing(|| HostError::Operands("an array"));
    assert!(error.to_string().starts_with("`writing` takes an array, but got 0.0::Float64"), "{error}");

    let error = Machine::new(&module).define("writting", |_, _| Ok(Value::Nothing)).call("f", &x).unwrap_err();
    assert!(matches!(&error.kind, RunErrorKind::NoSuchPrimitive(name) if name == "writting"), "{error}");

    let error = Machine::new(&of_x("Main.softplus(x, x)", "Float64")).call("f", &x).unwrap_err();
    assert!(error.to_string().contains("`softplus` takes 1 operand"), "{error}");
}

#[test]
fn what_a_primitive_of_the_host_gives_is_held_against_what_is_said_of_it() {
    let x = [Value::from(0.5)];
    let given = |call: &str, ty: &str, primitive: &str, value: Value| {
        let module = of_x(call, ty);
        Machine::new(&module).define(primitive, move |_, _| Ok(value.clone())).call("f", &x)
    };
    assert_eq!(given("Main.doubled(x)", "Float64", "doubled", Value::from(1.0)).unwrap().as_float(), Some(1.0));
    let error = given("Main.doubled(x)", "Float64", "doubled", Value::from(3)).unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::BadValue(_)));
    assert!(error.to_string().starts_with("`doubled` is said to give a Float64, but gave 3"), "{error}");
    let error = given("Main.writing(x)", "Nothing", "writing", Value::from(1.0)).unwrap_err();
    assert!(error.to_string().starts_with("`writing` is said to give "), "{error}");
}

#[test]
fn the_host_makes_nothing_of_values_of_other_types() {
    let module = parse_module("struct Point\n    x::Float64\n    y::Union{Nothing, Int64}\nend\n").unwrap().module;
    let machine = Machine::new(&module);
    let (one, two) = (Value::from(1.0), Value::from(2));
    let error = machine.array(Type::FLOAT64, vec![2], vec![one.clone(), two.clone()]).unwrap_err();
    assert_eq!(error.to_string(), "the element 2 must be a Float64, but is an Int64");
    let point = |fields: [&Value; 2]| machine.structure(&Type::named("Point"), fields.map(Value::clone).to_vec());
    assert_eq!(
        point([&one, &one]).unwrap_err().to_string(),
        "the field y must be a Union{Nothing, Int64}, but is a Float64"
    );
    assert!(point([&one, &two]).is_ok() && point([&one, &Value::Nothing]).is_ok());
    assert!(machine.array(Type::Any, vec![2], vec![one, two]).is_ok());
}

#[test]
fn what_the_host_asks_for_must_fit() {
    let module =
        parse_module("struct Point\n    x::Float64\nend\nenum Shape\n    circle(Float64)\nend\n").unwrap().module;
    let mut machine = Machine::new(&module);
    let (one, shape) = (Value::from(1.0), Type::named("Shape"));
    let messages = [
        machine.array(Type::FLOAT64, vec![2], vec![one.clone()]).map(drop),
        machine.structure(&Type::named("Point"), Vec::new()).map(drop),
        machine.named_tuple(vec!["a".into()], Vec::new()).map(drop),
        machine.enum_case(&shape, "square", vec![one.clone()]).map(drop),
        machine.primitive("no_such", &[]).map(drop),
    ];
    let messages = messages.map(|result| match result.unwrap_err() {
        RunErrorKind::BadValue(message) => message,
        other => panic!("{other:?}"),
    });
    assert_eq!(
        messages,
        [
            "an array of the dimensions [2] was to have 1 element",
            "Point is no struct with 0 fields",
            "a named tuple has as many values as names, not 0 values for 1 name",
            "Shape has no case square with a payload of 1 value",
            "there is no primitive `no_such`",
        ]
    );
}

#[test]
fn values_show_the_host_what_they_are_made_of() {
    let text = "enum Shape\n    circle(Float64)\nend\nfunction f(x::Float64, y::Float64)::Float64\n1 ─ return y\nend\n";
    let module = parse_module(text).unwrap().module;
    let machine = Machine::new(&module);
    let fields = |value: &Value| -> Vec<Option<f64>> { value.fields().unwrap().iter().map(Value::as_float).collect() };
    let case = machine.enum_case(&Type::named("Shape"), "circle", vec![1.5.into()]).unwrap();
    assert_eq!((case.enum_case().map(|name| name.as_str()), fields(&case)), (Some("circle"), vec![Some(1.5)]));
    let closure = machine.closure("f", vec![2.5.into()]).unwrap();
    assert_eq!((closure.function_name().map(|name| name.as_str()), fields(&closure)), (Some("f"), vec![Some(2.5)]));
    let named = machine.named_tuple(vec!["a".into(), "b".into()], vec![3.5.into(), 4.5.into()]).unwrap();
    assert_eq!((named.field("b").unwrap().as_float(), fields(&named)), (Some(4.5), vec![Some(3.5), Some(4.5)]));
    assert!(named.field("c").is_none() && named.enum_case().is_none() && named.function_name().is_none());
    // A function of which inference knows which it is.
    let known = |name: &str| machine.value_from_json(&name.into(), &Type::parse("Core.Compiler.Const(sin, false)"));
    assert_eq!(known("sin").unwrap().function_name().map(|name| name.as_str()), Some("sin"));
    assert!(known("cos").is_err());
}

const RULE: &str = "
function softplus_vjp(x::T, out::T, seed::T)::Tuple{T}
1 ─ %1 = Main.logistic(x)::T
│   %2 = Base.mul_float(seed, %1)::T
│   %3 = tuple(%2)::Tuple{T}
└──      return %3
end
";

#[test]
fn gradients_use_the_rules_of_the_module() {
    let mut module = of_x("Main.softplus(x)", "Float64");
    let error = slope(&module, 0.5).unwrap_err();
    let tangent = jvp(&module, "f", &[Value::from(0.5)], &[vec![Value::from(1.0)]], Limits::default());
    let kind = |error: &GradientError| match error {
        GradientError::Pass(error) => Some(error.kind.clone()),
        _ => None,
    };
    assert_eq!(kind(&error), Some(PassErrorKind::NoRule("softplus")));
    assert_eq!(kind(&tangent.unwrap_err()), Some(PassErrorKind::NoRule("softplus")));
    let error = error.to_string();
    assert!(error.contains("there is no derivative rule for `softplus` of (Float64)"), "{error}");
    assert!(
        error.contains("reverse mode takes the rule of a registered primitive whose name ends in `_vjp`"),
        "{error}"
    );
    // The rule calls another primitive of the host.
    module.add_rules(RULE).unwrap();
    assert_eq!(slope(&module, 0.5).unwrap(), 1.0 / (1.0 + (-0.5f64).exp()));
    // The types that a listing does not show are found for them as for others.
    let mut module = of_x("Main.softplus(x)", "Any");
    module.add_rules(RULE).unwrap();
    assert_eq!(slope(&module, 0.0).unwrap(), 0.5);
    // A primitive may have the rule of another.
    let sine = slope(&of_x("Main.sine(x)", "Float64"), 0.5).unwrap();
    assert!((sine - 0.5f64.cos()).abs() < 1e-15);
}

#[test]
fn rules_of_the_module_come_before_those_that_are_built_in() {
    let rule = |name: &str| {
        format!(
            "function {name}_vjp(x::Float64, out::Float64, seed::Float64)::Tuple{{Float64}}
1 ─ %1 = Base.mul_float(seed, 7.0)::Float64
│   %2 = tuple(%1)::Tuple{{Float64}}
└──      return %2
end
"
        )
    };
    let mut module = of_x("Base.sin(x)", "Float64");
    assert_eq!(slope(&module, 0.0).unwrap(), 1.0);
    module.add_rules(&rule("sin")).unwrap();
    assert_eq!(slope(&module, 0.0).unwrap(), 7.0);
}

#[test]
fn a_rule_that_is_none_is_refused_with_its_name() {
    for (text, problem) in [
        (
            "function nothing_vjp(x::T, out::T, seed::T)::T\n1 ─ return x\nend",
            "neither a function nor a primitive `nothing`",
        ),
        ("function softplus_jvp(x::T, y::T, out::T, dx::T, dy::T)::T\n1 ─ return dx\nend", "not take 2 operands"),
        ("function softplus_vjp(x::T, out::T, seed::T)::T\n1 ─ return seed\nend", "it must return a tuple of 1"),
    ] {
        let mut module = of_x("Main.softplus(x)", "Float64");
        module.add_rules(text).unwrap();
        let error = slope(&module, 0.0).unwrap_err().to_string();
        assert!(error.contains("the rules in the module cannot be used") && error.contains(problem), "{error}");
    }
    // Where the name says that it is none, nothing is added.
    let mut module = of_x("Main.softplus(x)", "Float64");
    let error = module.add_rules("function softplus(x::T)::T\n1 ─ return x\nend").unwrap_err().to_string();
    assert!(error.contains("has `_vjp` or `_jvp` in it, which `softplus` has not"), "{error}");
    assert!(module.extensions().is_none_or(|extensions| extensions.rules().is_empty()));
}

#[test]
fn functions_of_the_module_come_first() {
    let mut module = of_x("Main.softplus(x)", "Float64");
    let body =
        parse_module("function g(x::Float64)::Float64\n1 ─ return x\nend").unwrap().module.functions()[0].clone();
    module.add_function(Function { name: "softplus".into(), ..body }).unwrap();
    let value = Machine::new(&module).call("f", &[Value::from(3.0)]).unwrap();
    assert_eq!(value.as_float(), Some(3.0));
}

/// A panic of a host's function comes out of compiled code as it comes out of the interpreter, and what was compiled
/// can be called again.
#[cfg(feature = "native")]
#[test]
fn panics_come_through_machine_code() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use bbkit::Differentiate;

    // Called by its name, and as a value.
    let by_name = of_x("Main.panicking(x)", "Float64");
    let as_value = host(
        "
function f(x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 0.0)::Bool
│   %2 = Core.ifelse(%1, Main.softplus, Main.panicking)::Function
│   %3 = (%2)(x)::Float64
└──      return %3
end
",
    );
    for module in [by_name, as_value] {
        let compiled = module.primal("f").compile().unwrap();
        let machine = |x: f64| Machine::new(&module).call("f", &[Value::from(x)]).unwrap().as_float().unwrap();
        let native = |x: f64| compiled.call((x,)).unwrap().float(0).unwrap();
        for x in [2.0, 0.5, 3.0] {
            let [by_machine, by_native] = [&machine as &dyn Fn(f64) -> f64, &native].map(|call| {
                let told = catch_unwind(AssertUnwindSafe(|| call(x)));
                told.map_err(|panic| panic.downcast_ref::<&str>().map(|what| (*what).to_string()))
            });
            assert_eq!(by_native, by_machine);
            assert_eq!(by_native.is_err(), x > 1.0);
        }
    }
}

/// A primitive that has panicked is still there: the panic was the host's, and it may go on.
#[test]
fn a_primitive_that_has_panicked_can_be_called_again() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let module = of_x("Main.doubled(x)", "Float64");
    let mut machine = Machine::new(&module).define("doubled", |args, _| {
        assert!(args[0].as_float() != Some(0.0), "no zero");
        Ok(args[0].clone())
    });
    let mut call = |x: f64| catch_unwind(AssertUnwindSafe(|| machine.call("f", &[Value::from(x)]).unwrap().as_float()));
    assert!(call(0.0).is_err());
    assert_eq!(call(2.0).unwrap(), Some(2.0));
}
