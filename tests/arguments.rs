//! What derivatives take and give: results of many numbers, and arguments that do not belong there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::exec::{Limits, Machine, RunErrorKind, Value};
use bbkit::ircode::{IRCode, Module, Type, parse_module};
use bbkit::{GradientError, gradient, hvp, jvp, linearize};

fn module_of(text: &str) -> Module<IRCode> {
    parse_module(text).unwrap().module
}

/// A function says how many arguments it takes; derivatives take no others, and speak of the function.
#[test]
fn other_numbers_of_arguments_are_refused() {
    let module = module_of(
        "function scaled(x::Float64, by::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, by)::Float64\n└── return %1\nend",
    );
    for count in [0, 1, 3] {
        let args = vec![Value::from(2.0); count];
        let limits = Limits::default();
        let errors = [
            gradient(&module, "scaled", &args, limits).unwrap_err(),
            jvp(&module, "scaled", &args, std::slice::from_ref(&args), limits).unwrap_err(),
            hvp(&module, "scaled", &args, &args, limits).unwrap_err(),
        ];
        for error in errors {
            match error {
                GradientError::Run(error) => match error.kind {
                    RunErrorKind::Arity { function, expected: 2, got } => {
                        assert_eq!((function.as_str(), got), ("scaled", count));
                    }
                    other => panic!("{other}"),
                },
                other => panic!("{other}"),
            }
        }
    }
}

/// A tangent that is left out is zero, of whatever type the argument is.
#[test]
fn tangents_that_are_left_out_are_zero() {
    let module = module_of(
        "function weighted(x::Vector{Float64}, k::Float64)::Float64\n1 ─ %1 = Base.sum(x)::Float64\n│ %2 = Base.mul_float(%1, k)::Float64\n└── return %2\nend",
    );
    let machine = Machine::new(&module);
    let array = |numbers: [f64; 2]| {
        let elements = numbers.map(Value::from).to_vec();
        machine.array(Type::FLOAT64, vec![numbers.len()], elements).unwrap()
    };
    let args = [array([1.0, 2.0]), Value::from(5.0)];
    let limits = Limits::default();
    // ∂f/∂k is the sum, and along x by (1, 10) it is 5 · 11.
    let directions = [vec![Value::Nothing, Value::from(1.0)], vec![array([1.0, 10.0]), Value::Nothing]];
    let tangents = jvp(&module, "weighted", &args, &directions, limits).unwrap().tangents;
    assert_eq!(tangents.iter().map(Value::as_float).collect::<Vec<_>>(), [Some(3.0), Some(55.0)]);
    let product = hvp(&module, "weighted", &args, &directions[1], limits).unwrap().product;
    assert_eq!(product[1].as_float(), Some(11.0));
    let differential = linearize(&module, "weighted", &args, limits).unwrap();
    assert_eq!(differential.apply(&directions[0], limits).unwrap().as_float(), Some(3.0));
}

/// Also where the argument has none as it is now, but may be a float as its type says.
#[test]
fn tangents_of_unions_may_be_left_out() {
    let module = module_of(
        "function scaled(u::Union{Nothing, Float64}, x::Float64)::Float64\n1 ─ %1 = (u === nothing)::Bool\n└── goto #3 if not %1\n2 ─ return x\n3 ─ %4 = π (u, Float64)\n│ %5 = Base.mul_float(%4, x)::Float64\n└── return %5\nend",
    );
    let limits = Limits::default();
    for (u, expected) in [(Value::Nothing, 1.0), (Value::from(3.0), 3.0)] {
        let (args, direction) = ([u, Value::from(2.0)], vec![Value::Nothing, Value::from(1.0)]);
        let tangents = jvp(&module, "scaled", &args, std::slice::from_ref(&direction), limits).unwrap().tangents;
        assert_eq!(tangents[0].as_float(), Some(expected));
        let differential = linearize(&module, "scaled", &args, limits).unwrap();
        assert_eq!(differential.apply(&direction, limits).unwrap().as_float(), Some(expected));
        // Linear in x: the second derivatives are those along u, which does not change.
        let product = hvp(&module, "scaled", &args, &direction, limits).unwrap().product;
        assert_eq!(product[1].as_float(), Some(0.0));
    }
}

/// What holds itself is shown, in messages of tests, too.
#[test]
fn values_that_hold_themselves_are_shown() {
    let module = module_of(
        "mutable struct Node\n    next::Any\nend\nfunction ring()::Node\n1 ─ %1 = %new(Node, nothing)::Node\n│ Base.setfield!(%1, :next, %1)::Node\n└── return %1\nend",
    );
    let ring = Machine::new(&module).call("ring", &[]).unwrap();
    assert!(format!("{ring:?}").ends_with("::Node"));
    assert_eq!(format!("{:?}", [Value::from(3.0), Value::Nothing]), "[3.0::Float64, nothing]");
}

#[cfg(feature = "native")]
mod compiled {
    use bbkit::Differentiate;
    use bbkit::compiled::{Argument, CompileError, Output};
    use bbkit::ircode::Type;

    use super::module_of;

    /// A place for each number by itself.
    fn places(list: &mut [f64]) -> Vec<Output<'_>> {
        list.iter_mut().map(Output::Number).collect()
    }

    /// However many numbers a result has: native code keeps few in registers, and more in memory. Σ k pₖ² has the
    /// gradient 2k pₖ, and along v its Hessian gives 2k vₖ, all without rounding here.
    #[test]
    fn results_of_many_numbers() {
        for n in [63, 64, 65, 130] {
            let squares = |operand: &dyn Fn(usize) -> (String, String)| {
                let (mut lines, mut sum) = (Vec::new(), "0.0".to_string());
                for k in 1..=n {
                    let (read, p) = operand(k);
                    let mut push = |text: String| {
                        lines.push(format!("│ %{} = {text}::Float64", lines.len() + 1));
                        format!("%{}", lines.len())
                    };
                    let p = if read.is_empty() { p } else { push(read) };
                    let square = push(format!("Base.mul_float({p}, {p})"));
                    let term = push(format!("Base.mul_float({square}, {k}.0)"));
                    sum = push(format!("Base.add_float({sum}, {term})"));
                }
                lines.push(format!("└── return {sum}"));
                lines.join("\n").replacen('│', "1 ─", 1)
            };
            let parameters: Vec<String> = (1..=n).map(|k| format!("p{k}::Float64")).collect();
            let floats = vec!["Float64"; n].join(", ");
            let by_number = squares(&|k| (String::new(), format!("p{k}")));
            let in_tuple = squares(&|k| (format!("Base.getfield(t, {k})"), String::new()));
            let copies = vec!["x"; n].join(", ");
            let module = module_of(&format!(
                "
function numbers({})::Float64
{by_number}
end
function fields(t::Tuple{{{floats}}})::Float64
{in_tuple}
end
function copies(x::Float64)::Tuple{{{floats}}}
1 ─ %1 = Core.tuple({copies})::Tuple{{{floats}}}
└──      return %1
end
",
                parameters.join(", ")
            ));
            let at: Vec<f64> = (1..=n).map(|k| 1.0 + 0.5 * k as f64).collect();
            let along: Vec<f64> = (1..=n).map(|k| 3.0 - k as f64).collect();
            let (weights, doubled): (Vec<f64>, Vec<f64>) = (1..=n).map(|k| (k as f64, 2.0 * k as f64)).unzip();
            let value: f64 = at.iter().zip(&weights).map(|(p, k)| p * p * k).sum();
            let slope: Vec<f64> = at.iter().zip(&doubled).map(|(p, k)| p * k).collect();
            let product: Vec<f64> = along.iter().zip(&doubled).map(|(v, k)| v * k).collect();
            let numbers = || at.iter().map(|&p| Argument::Float64(p)).collect::<Vec<_>>();

            let (mut gradient, mut second) = (vec![0.0; n], vec![0.0; n]);
            let found = module.gradient("numbers").compile().unwrap().call(numbers(), places(&mut gradient)).unwrap();
            assert_eq!((found, &gradient), (value, &slope));

            let vector: Vec<Argument<'_>> = along.iter().map(|&v| Argument::Float64(v)).collect();
            let hvp = module.hvp("numbers").compile().unwrap();
            gradient.fill(0.0);
            hvp.call(numbers(), vector, places(&mut gradient), places(&mut second)).unwrap();
            assert_eq!((&gradient, &second), (&slope, &product));

            let mut whole = vec![0.0; n];
            let compiled = module.gradient("fields").compile().unwrap();
            let found = compiled.call(Argument::Fields(&at), &mut whole).unwrap();
            assert_eq!((found, &whole), (value, &slope));

            let copied = module.primal("copies").compile().unwrap().call((2.5,)).unwrap();
            assert_eq!(copied.scalars().len(), n);
            let vjp = module.vjp("copies").compile().unwrap();
            let mut pullback = vjp.call((2.5,)).unwrap();
            assert_eq!(pullback.value(), vec![2.5; n]);
            let mut cotangent = 0.0;
            pullback.call(&weights, &mut cotangent).unwrap();
            assert_eq!(cotangent, weights.iter().sum::<f64>());
        }
    }

    /// What cannot be passed is told before the numbers for it are counted, and types that an argument does not have
    /// are refused.
    #[test]
    fn arguments_are_looked_at_first() {
        let module = module_of(
            "
function weighted(x::Vector{Float64}, k::Float64)::Float64
1 ─ %1 = Base.sum(x)::Float64
│   %2 = Base.mul_float(%1, k)::Float64
└──      return %2
end
",
        );
        let gradient = module.gradient("weighted").compile().unwrap();
        let (mut dx, mut dk) = ([0.0; 2], 0.0);
        let error = gradient.call((2.0, &[1.0, 2.0]), (&mut dx, &mut dk)).unwrap_err().to_string();
        assert_eq!(error, "argument 0 (`x`) must be of type Vector{Float64}, but is a Float64");
        for (types, number) in
            [(vec![Type::INT64], 0), (vec![Type::array(Type::FLOAT64, 1), Type::FLOAT64, Type::FLOAT64], 2)]
        {
            match module.gradient("weighted").types(types).compile() {
                Err(CompileError::Argument { number: found, .. }) => assert_eq!(found, number),
                other => panic!("{other:?}"),
            }
        }
    }
}
