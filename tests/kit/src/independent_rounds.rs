//! The law for rounds that are reversed one by one, as soon as they were run: the gradient is the one that a loop
//! backwards gives.

use bbkit::Savings;
use exec::{Machine, Value};
use ircode::{IRCode, Module, Name};
use passes::reverse_mode::{Options, derive};

use crate::laws::{Broken, Checked, broken};
use crate::sums::SumOfRounds;

const LAW: &str = "the gradient of independent rounds is that of a loop backwards";

/// A derivative of a sum.
#[derive(Clone, Debug)]
pub struct Derived {
    /// Its functions.
    pub module: Module<IRCode>,
    /// The one that gives the value and the gradient.
    pub gradient: Name,
    /// How many loops that has.
    pub loops: usize,
}

/// Derives a sum with respect to the arguments of these numbers. What is made is verified.
///
/// # Errors
///
/// [`Broken`] if it has no derivative, or a wrong one.
pub fn derived(
    made: &SumOfRounds,
    with_respect_to: &[usize],
    savings: Savings,
    reassociate: bool,
) -> Result<Derived, Broken> {
    let problem = |what: String| broken(LAW, what).on(&made.module, &made.args(), &["grad - ARGS".into()]);
    let mut module = bbkit::to_bbcode(&made.module).map_err(|error| problem(error.to_string()))?;
    let with_respect_to = Some(with_respect_to.to_vec());
    let options = Options { savings, reassociate, with_respect_to, only_joined: true, ..Options::default() };
    let derivative = derive(&mut module, &"f".into(), &options).map_err(|error| problem(error.to_string()))?;
    for function in module.functions() {
        let verified = function.body.verify();
        verified.map_err(|violations| problem(format!("{}: {violations}", function.name)))?;
    }
    let gradient = derivative.names.value_and_gradient;
    let function = module.function(&gradient).ok_or_else(|| problem("there is no gradient".into()))?;
    let loops = function.body.cfg().loops().iter().len();
    let module = bbkit::to_ircode(&module).map_err(|error| problem(error.to_string()))?;
    Ok(Derived { module, gradient, loops })
}

/// The floats of the value and of the gradient.
fn floats(made: &SumOfRounds, derived: &Derived) -> Result<Vec<f64>, Broken> {
    let result = Machine::new(&derived.module).call(&derived.gradient, &made.args());
    let result = result.map_err(|error| broken(LAW, error.to_string()))?;
    let mut floats = Vec::new();
    for part in result.as_tuple().unwrap_or_default() {
        let elements = part.array_elements().unwrap_or_else(|| vec![part.clone()]);
        floats.extend(elements.iter().filter_map(Value::as_float));
    }
    Ok(floats)
}

/// The bits are the same with and without rounds that are reversed one by one; gives whether there are such. With
/// `reassociate`, where rounds meet, they need not be: then this is the planted bug.
///
/// # Errors
///
/// [`Broken`].
pub fn rounds_keep_bits(made: &SumOfRounds, with_respect_to: &[usize], reassociate: bool) -> Result<bool, Broken> {
    let mut without = Savings::default();
    without.independent_rounds = false;
    let (backwards, found) = (
        derived(made, with_respect_to, without, false)?,
        derived(made, with_respect_to, Savings::default(), reassociate)?,
    );
    let bits = |derived: &Derived| -> Result<Vec<u64>, Broken> {
        Ok(floats(made, derived)?.into_iter().map(f64::to_bits).collect())
    };
    match bits(&backwards)? == bits(&found)? {
        true => Ok(found.loops < backwards.loops),
        false => {
            let problem = format!("with respect to {with_respect_to:?} the bits differ");
            Err(broken(LAW, problem).on(&made.module, &made.args(), &["grad - ARGS".into()]))
        }
    }
}

/// In another order the sums are others by rounding at most.
///
/// # Errors
///
/// [`Broken`].
pub fn rounds_keep_sums(made: &SumOfRounds, with_respect_to: &[usize]) -> Checked {
    let mut without = Savings::default();
    without.independent_rounds = false;
    let expected = floats(made, &derived(made, with_respect_to, without, false)?)?;
    let found = floats(made, &derived(made, with_respect_to, Savings::default(), true)?)?;
    // Two NaNs are as close as two numbers that are the same.
    let close =
        |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
    match expected.len() == found.len() && expected.iter().zip(&found).all(close) {
        true => Ok(()),
        false => {
            let problem = format!("with respect to {with_respect_to:?} there is {found:?}, expected {expected:?}");
            Err(broken(LAW, problem).on(&made.module, &made.args(), &["grad - ARGS".into()]))
        }
    }
}
