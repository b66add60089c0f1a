//! The gradient that Rust calls is the one that the interpreter computes, to the last bit: after all passes that make
//! it small and fast.

use arbitrary::{Result, Unstructured};
use bbkit::Differentiate;
use bbkit::compiled::{Argument, Effort, Output};
use exec::{Limits, Value};
use ircode::{IRCode, Module, Scalar, Type};

use super::LIMITS;
use crate::laws::{Broken, Checked, Outcome, broken, outcome};
use crate::numeric::{Options, numeric_with};
use crate::straight::straight_loop;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`].
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok((module, args)) = made(&mut Unstructured::new(data)) else { return Ok(()) };
    compiled_agrees(&module, &args, &|_| ())
        .map_err(|broken| broken.on(&module, &args(), &["grad - ARGS --check".into()]))
}

type Arguments = Box<dyn Fn() -> Vec<Value>>;

fn made(u: &mut Unstructured<'_>) -> Result<(Module<IRCode>, Arguments)> {
    if u.ratio(1, 3)? {
        let program = straight_loop(u)?;
        // Two arguments that are one array are two to a compiled gradient.
        return match program.alias {
            true => Err(arbitrary::Error::IncorrectFormat),
            false => Ok((program.module.clone(), Box::new(move || program.args()))),
        };
    }
    let calls = u.ratio(1, 3)?;
    let program = numeric_with(u, Options { calls })?;
    Ok((program.module, Box::new(move || program.args.clone())))
}

/// The law: value and gradient that `module.gradient("f").compile()` gives are those of [`bbkit::gradient`], NaNs being
/// one. `changed` does nothing to what is compiled, or is a planted bug.
///
/// Nothing is said of a program that fails, or that has other arguments than numbers and vectors of `Float64` or
/// `Float32`.
///
/// # Errors
///
/// [`Broken`].
pub fn compiled_agrees(
    module: &Module<IRCode>,
    args: &dyn Fn() -> Vec<Value>,
    changed: &dyn Fn(&mut Module<IRCode>),
) -> Result<(), Broken> {
    const LAW: &str = "a compiled gradient is the gradient";
    // The derivative needs more.
    let less = Limits { steps: LIMITS.steps / 40, ..LIMITS };
    let Some(Outcome { result: Ok(_), .. }) = outcome(module, "f", &args(), less) else { return Ok(()) };
    let Ok(expected) = bbkit::gradient(module, "f", &args(), LIMITS) else { return Ok(()) };
    let mut compiled = module.clone();
    changed(&mut compiled);
    for effort in [Effort::Quick, Effort::Full] {
        let Ok(gradient) = compiled.gradient("f").effort(effort).compile() else { return Ok(()) };
        let values = args();
        let mut vectors: Vec<Vec<f64>> = values.iter().map(floats).collect();
        let mut singles: Vec<Vec<f32>> = vectors.iter().map(|numbers| single(numbers)).collect();
        let mut arguments = Vec::new();
        for ((value, vector), singles) in values.iter().zip(&mut vectors).zip(&mut singles) {
            arguments.push(match value.as_scalar() {
                Some(Scalar::Float64(x)) => Argument::Float64(*x),
                Some(other) => Argument::Scalar(other.clone()),
                None if is_single(value) => Argument::Floats32Mut(singles),
                None => Argument::FloatsMut(vector),
            });
        }
        let wanted: Vec<Vec<f64>> = expected.gradient.iter().map(floats).collect();
        let mut found: Vec<Vec<f64>> = wanted.iter().map(|numbers| vec![f64::NAN; numbers.len()]).collect();
        let mut found_singles: Vec<Vec<f32>> = found.iter().map(|numbers| single(numbers)).collect();
        let mut places = Vec::new();
        for ((cotangent, numbers), singles) in expected.gradient.iter().zip(&mut found).zip(&mut found_singles) {
            let is_float = cotangent.as_float().is_some();
            match (is_single(cotangent), is_float, cotangent.array_elements().is_some()) {
                (true, true, _) => places.extend(singles.first_mut().map(Output::Number32)),
                (true, ..) => places.push(Output::Numbers32(singles)),
                (false, true, _) => places.extend(numbers.first_mut().map(Output::Number)),
                (false, false, true) => places.push(Output::Numbers(numbers)),
                (false, false, false) => {}
            }
        }
        let value = gradient.call(arguments, places).map_err(|error| broken(LAW, error))?;
        for (numbers, (cotangent, singles)) in found.iter_mut().zip(expected.gradient.iter().zip(&found_singles)) {
            if is_single(cotangent) {
                *numbers = singles.iter().copied().map(f64::from).collect();
            }
        }
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        let pairs = || found.iter().flatten().zip(wanted.iter().flatten());
        if !expected.value.as_float().is_some_and(|of| same(of, value)) || !pairs().all(|(a, b)| same(*a, *b)) {
            let (expected, wanted) = (&expected.value, &wanted);
            return Err(broken(
                LAW,
                format!("{value} and {found:?} at effort {effort:?}, not {expected} and {wanted:?}"),
            ));
        }
    }
    Ok(())
}

/// The floats that a number or a vector consists of.
fn floats(value: &Value) -> Vec<f64> {
    match value.array_elements() {
        Some(elements) => elements.iter().filter_map(Value::as_float).collect(),
        None => value.as_float().into_iter().collect(),
    }
}

fn single(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|number| *number as f32).collect()
}

/// Whether it is a `Float32`, or a vector of these.
fn is_single(value: &Value) -> bool {
    match value.type_of() {
        Type::Array(array) => array.element == Type::FLOAT32,
        ty => ty == Type::FLOAT32,
    }
}
