//! The law for linearization: the differential is the derivative that forward mode computes at once, and linear.

use bbcode::BBCode;
use exec::{Limits, Machine, RunError, RunErrorKind, Value, first_difference, float_places, tangent_floats};
use ircode::{IRCode, Module, Type};
use passes::linearization::{self, LinearizationNames};
use passes::reverse_mode::{self, Carrier};
use passes::{PassError, forward_mode};

use crate::laws::{Broken, Checked, Outcome, all_verify, broken, outcome};

const LAW: &str = "the differential is the derivative";

/// How far sums that are added up in different orders may be apart, in proportion to what is added.
const TOLERANCE: f64 = 1e-6;

/// Law 6 for linearization: in several directions, the differential of one run of the linearized function gives what
/// forward mode gives, to the last bit, and gives it again when it is applied again. It is additive and homogeneous,
/// and its dot product with a seed is that of the direction with what the pullback makes of the seed, by the carrier of
/// linear maps. What is generated verifies. `changed` may change what was generated, to see that this is found.
///
/// Nothing is said of a program that fails, has no derivative, catches exceptions or needs more than a small part of
/// the limits. `true` if there was something to compare.
///
/// # Errors
///
/// [`Broken`].
pub fn differential_is_right(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
    changed: &dyn Fn(&mut Module<BBCode>, &LinearizationNames),
) -> Result<bool, Broken> {
    let less = Limits { steps: limits.steps / 20, ..limits };
    let Some(Outcome { result: Ok(_), .. }) = outcome(module, name, &args(), less) else { return Ok(false) };
    let module = bbkit::to_bbcode(module).map_err(|error| broken(LAW, error))?;
    let mut derived = module.clone();
    let forward = forward_mode::differentiate(&mut derived, &name.into(), &forward_mode::Options::default());
    let mut linear = module.clone();
    let names = linearization::differentiate(&mut linear, &name.into(), &linearization::Options::default());
    let (forward, names) = match (forward, names) {
        (Ok(forward), Ok(names)) => (forward, names),
        (Ok(_), Err(error)) if is_refused(&error) => return Ok(false),
        (Ok(_), Err(error)) => return Err(broken(LAW, error)),
        (Err(_), Err(_)) => return Ok(false),
        (Err(error), Ok(_)) => return Err(broken(LAW, format!("forward mode does not take it: {error}"))),
    };
    changed(&mut linear, &names);
    all_verify(&linear).map_err(|problem| broken(LAW, problem))?;
    let subject = Subject::new(module, derived, linear, name)?;
    match subject.check(args, (&forward, &names), limits) {
        Ok(()) => Ok(true),
        Err(Ended::Broken(broken)) => Err(broken),
        Err(Ended::Limit) => Ok(false),
    }
}

/// What forward mode can, and linearization cannot, says so.
fn is_refused(error: &PassError) -> bool {
    error.help.as_ref().is_some_and(|help| help.starts_with("forward mode computes value and tangent at once"))
}

struct Subject {
    function: String,
    module: Module<BBCode>,
    types: Vec<Type>,
    forward: Module<IRCode>,
    linear: Module<IRCode>,
}

/// Why a check ends before it is done.
enum Ended {
    Broken(Broken),
    /// A run needs more than it may.
    Limit,
}

impl From<Broken> for Ended {
    fn from(broken: Broken) -> Self {
        Ended::Broken(broken)
    }
}

fn wrong(problem: impl std::fmt::Display) -> Ended {
    Ended::Broken(broken(LAW, problem))
}

fn ran(result: Result<Value, RunError>) -> Result<Value, Ended> {
    result.map_err(|error| match error.kind {
        RunErrorKind::StepLimit(_) | RunErrorKind::MemoryLimit(_) | RunErrorKind::DepthLimit(_) => Ended::Limit,
        _ => wrong(error),
    })
}

fn element(tuple: &Value, index: usize) -> Value {
    tuple.as_tuple().and_then(|elements| elements.get(index)).cloned().unwrap_or(Value::Nothing)
}

impl Subject {
    fn new(
        module: Module<BBCode>,
        forward: Module<BBCode>,
        linear: Module<BBCode>,
        name: &str,
    ) -> Result<Subject, Broken> {
        let types = module.function(name).map(|function| function.body.argtypes.clone()).unwrap_or_default();
        Ok(Subject {
            function: name.into(),
            types: types.into_iter().skip(1).collect(),
            module,
            forward: bbkit::to_ircode(&forward).map_err(|error| broken(LAW, error))?,
            linear: bbkit::to_ircode(&linear).map_err(|error| broken(LAW, error))?,
        })
    }

    fn check(
        &self,
        args: &dyn Fn() -> Vec<Value>,
        (forward, names): (&str, &LinearizationNames),
        limits: Limits,
    ) -> Result<(), Ended> {
        let mut machine = Machine::with_limits(&self.linear, limits);
        let given = args();
        let types: Vec<Type> = given
            .iter()
            .zip(self.types.iter().chain(std::iter::repeat(&Type::Any)))
            .map(|(arg, ty)| if ty.is_unknown() { arg.type_of() } else { ty.clone() })
            .collect();
        let zeros_of = |machine: &Machine<'_>, args: &[Value]| machine.zero_tangents(args, &types).map_err(wrong);
        let count = float_places(&given, &zeros_of(&machine, &given)?).map_err(wrong)?.len();
        // Small binary fractions, of which sums are exact.
        let pattern = |k: usize| (0..count).map(|i| ((i * 7 + k * 5 + 3) % 11) as f64 / 4.0 - 1.25).collect::<Vec<_>>();
        let (first, second) = (pattern(0), pattern(1));
        let sum: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a + 2.0 * b).collect();
        let double: Vec<f64> = first.iter().map(|a| 2.0 * a).collect();

        let both = ran(machine.call(&names.linearized, &given))?;
        let (value, differential) = (element(&both, 0), element(&both, 1));
        let mut applied = Vec::new();
        for floats in [&first, &second, &sum, &double, &first] {
            let fresh = args();
            let zeros = zeros_of(&machine, &fresh)?;
            let tangents = machine.tangents_of_floats(&zeros, floats).map_err(wrong)?;
            let tangent = ran(machine.apply(&differential, &tangents))?;
            let mut forward_machine = Machine::with_limits(&self.forward, limits);
            // Others than those that the differential may have changed.
            let zeros = zeros_of(&forward_machine, &fresh)?;
            let operands: Vec<Value> = fresh
                .iter()
                .cloned()
                .chain(forward_machine.tangents_of_floats(&zeros, floats).map_err(wrong)?)
                .collect();
            let at_once = ran(forward_machine.call(forward, &operands))?;
            let expected = [element(&at_once, 0), element(&at_once, 1)];
            if let Some(place) = first_difference(&[value.clone(), tangent.clone()], &expected) {
                return Err(wrong(format!("{tangent}, but forward mode gives {}, at {place}", expected[1])));
            }
            applied.push(tangent);
        }
        self.check_linear(&machine, &value, &applied)?;
        let number = |value: &Value| value.as_float();
        match (number(&value), applied.first().and_then(number)) {
            (Some(_), Some(tangent)) => self.check_pullback(args, &types, (&first, tangent), limits),
            _ => Ok(()),
        }
    }

    /// What was applied to d, e, d + 2e and 2d.
    fn check_linear(&self, machine: &Machine<'_>, value: &Value, applied: &[Value]) -> Result<(), Ended> {
        let ty = self.module.function(&self.function).map_or(Type::Any, |function| function.result.clone());
        let ty = if ty.is_unknown() { value.type_of() } else { ty };
        let zero = machine.zero_tangent(value, &ty).map_err(wrong)?;
        let mut floats = Vec::new();
        for tangent in applied {
            let all =
                tangent_floats(std::slice::from_ref(value), std::slice::from_ref(&zero), std::slice::from_ref(tangent));
            floats.push(all.map_err(wrong)?);
        }
        let [first, second, sum, double, _] = floats.as_slice() else { return Ok(()) };
        for (((a, b), sum), double) in first.iter().zip(second).zip(sum).zip(double) {
            for (found, expected, size) in [(sum, a + 2.0 * b, a.abs() + 2.0 * b.abs()), (double, 2.0 * a, a.abs())] {
                // What is not finite need not be linear: the sum of infinities is none.
                if found.is_finite() && expected.is_finite() && (found - expected).abs() > TOLERANCE * size.max(1.0) {
                    return Err(wrong(format!("{found} where linearity asks for {expected}")));
                }
            }
        }
        Ok(())
    }

    /// ⟨Jd, 1⟩ = ⟨d, Jᵀ1⟩, of a function whose value is a float.
    fn check_pullback(
        &self,
        args: &dyn Fn() -> Vec<Value>,
        types: &[Type],
        (direction, tangent): (&[f64], f64),
        limits: Limits,
    ) -> Result<(), Ended> {
        let mut derived = self.module.clone();
        let options = reverse_mode::Options { carrier: Carrier::LinearMaps, ..Default::default() };
        let Ok(derivative) = reverse_mode::derive(&mut derived, &self.function.as_str().into(), &options) else {
            return Ok(());
        };
        let derived = bbkit::to_ircode(&derived).map_err(wrong)?;
        let mut machine = Machine::with_limits(&derived, limits);
        let given = args();
        let zeros = machine.zero_tangents(&given, types).map_err(wrong)?;
        let result = ran(machine.call(&derivative.names.value_and_gradient, &given))?;
        let gradient = result.as_tuple().and_then(|elements| elements.get(1..)).unwrap_or_default();
        let gradient = tangent_floats(&args(), &zeros, gradient).map_err(wrong)?;
        let products: Vec<f64> = direction.iter().zip(&gradient).map(|(d, g)| d * g).collect();
        let (sum, size): (f64, f64) = (products.iter().sum(), products.iter().map(|product| product.abs()).sum());
        if sum.is_finite() && tangent.is_finite() && (sum - tangent).abs() > TOLERANCE * size.max(1.0) {
            return Err(wrong(format!("{tangent}, but the pullback gives {sum}")));
        }
        Ok(())
    }
}

/// [`differential_is_right`] of what was generated.
///
/// # Errors
///
/// [`Broken`].
pub fn linearization_is_right(
    module: &Module<IRCode>,
    name: &str,
    args: &dyn Fn() -> Vec<Value>,
    limits: Limits,
) -> Checked {
    differential_is_right(module, name, args, limits, &|_, _| {}).map(|_| ())
}
