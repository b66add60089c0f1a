//! A function with its derivative at some arguments, and what the checks run of it.

use exec::{Limits, Machine, RunErrorKind, Value, first_difference, float_place, tangent_floats, value_floats};
use hashbrown::HashSet;
use ircode::primitives::MemoryEffect;
use ircode::tangents::{Tangent, TangentTypes};
use ircode::{CallGraph, IRCode, Module, Positions, ScalarType, Stmt, Type};
use passes::reverse_mode::DerivativeNames;

use crate::gradient::{run_error, takes_back};
use crate::jvp::packed;
use crate::{GradientError, jvp};

/// Numbers between -1 and 1, by xorshift.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // Away from zero, so that nothing is overlooked.
        let unit = (self.0 >> 11) as f64 / (1u64 << 53) as f64;
        if unit < 0.5 { -1.0 + 1.5 * unit } else { 0.25 + 1.5 * (unit - 0.5) }
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What a run of the derivative gave.
pub(super) struct Pulled {
    /// The gradient, number by number.
    pub(super) floats: Vec<f64>,
    /// The arguments afterwards.
    pub(super) args: Vec<Value>,
}

/// What pullbacks left in shadows that held something before.
pub(super) struct Filled {
    pub(super) filled: Vec<f64>,
    /// Whether the forward pass took some of it out with the elements of an array that the function removes, and puts
    /// others in their place.
    pub(super) lost: bool,
    pub(super) once: Vec<f64>,
    pub(super) twice: Result<Vec<f64>, String>,
}

pub(super) struct Subject<'s> {
    module: &'s Module<IRCode>,
    name: &'s str,
    names: &'s DerivativeNames,
    limits: Limits,
    /// The arguments, those that the function collects as a tuple.
    pub(super) args: Vec<Value>,
    /// The zeros of their tangents.
    pub(super) zeros: Vec<Value>,
    types: Vec<Type>,
    varargs: bool,
    /// The type of the result, the zero of its tangent, and the cotangent from which pullbacks start.
    result: Type,
    zero: Value,
    seed: Value,
    seed_floats: Vec<f64>,
    /// The sum of the magnitudes of what the seed makes of the value.
    magnitude: f64,
    /// How many numbers there are.
    count: usize,
}

/// How far the smallest floats that a function and what it calls compute with are apart at one.
pub(super) fn epsilon_inside(module: &Module<IRCode>, name: &str) -> f64 {
    let types = statements_reached(module, name).filter_map(|(_, ty)| ty.as_float());
    let floats: HashSet<ScalarType> = types.collect();
    floats.into_iter().map(|float| epsilon(module, &Type::from(float))).fold(f64::EPSILON, f64::max)
}

/// The statements, with their types, of a function and of those that it calls, directly or not.
fn statements_reached<'m>(
    module: &'m Module<IRCode>,
    name: &str,
) -> impl Iterator<Item = (&'m Stmt<Positions>, &'m Type)> {
    let reached = CallGraph::new(module).reachable(module.function_index(name)).into_iter();
    let functions = reached.filter_map(|position| module.functions().get(position));
    functions.flat_map(|function| function.body.stmts.stmts().iter().zip(function.body.stmts.types()))
}

/// What is said of pullbacks that take back what their functions have changed.
pub(super) const ONCE_ONLY: &str = "it can be called only once";

/// A shadow with the fields that its type has, also where none of them holds anything.
fn in_fields_of(machine: &Machine<'_>, shadow: Value, declared: &Tangent) -> Result<Value, RunErrorKind> {
    let Tangent::Fields(fields) = declared else { return Ok(shadow) };
    let given = shadow.as_tuple().unwrap_or_default();
    let given = given.iter().cloned().chain(std::iter::repeat(Value::Nothing));
    let fields: Result<_, _> =
        given.zip(fields.iter()).map(|(part, field)| in_fields_of(machine, part, field)).collect();
    machine.tuple(fields?)
}

fn shape_error(error: exec::ValueError) -> GradientError {
    run_error(RunErrorKind::BadValue(format!("a tangent is of another shape than its value: {error}")))
}

impl<'s> Subject<'s> {
    /// `None` if there is nothing to differentiate.
    pub(super) fn new(
        module: &'s Module<IRCode>,
        name: &'s str,
        names: &'s DerivativeNames,
        args: &[Value],
        limits: Limits,
        random: &mut Random,
    ) -> Result<Option<Self>, GradientError> {
        let (Some(closed), Some(function)) = (module.function(&names.vjp), module.function(name)) else {
            return Ok(None);
        };
        // Between `_1` and the seed.
        let [_, types @ .., _] = closed.body.argtypes.as_slice() else { return Ok(None) };
        let types = types.to_vec();
        let result = match &closed.result {
            Type::Tuple(elements) => elements.first().cloned().unwrap_or(Type::Any),
            _ => Type::Any,
        };
        let machine = Machine::with_limits(module, limits);
        let args = packed(&machine, module, name, &machine.copies(args).map_err(run_error)?)?;
        let zeros = machine.zero_tangents(&args, &types).map_err(run_error)?;
        let mut subject = Subject {
            count: tangent_floats(&args, &zeros, &zeros).map_err(shape_error)?.len(),
            varargs: function.varargs,
            zero: Value::Nothing,
            seed: Value::Nothing,
            seed_floats: Vec::new(),
            magnitude: 0.0,
            module,
            name,
            names,
            limits,
            args,
            zeros,
            types,
            result,
        };
        let copies = machine.copies(&subject.args).map_err(run_error)?;
        let value = subject.call(&copies)?;
        let zero = machine.zero_tangents(std::slice::from_ref(&value), std::slice::from_ref(&subject.result));
        let zero = zero.map_err(run_error)?;
        let scalar = zero.first().is_some_and(|zero| zero.as_scalar().is_some());
        let seed = machine.with_floats(&zero, |_| if scalar { 1.0 } else { random.next() }).map_err(run_error)?;
        let values = [value];
        subject.seed_floats = tangent_floats(&values, &zero, &seed).map_err(shape_error)?;
        let held = value_floats(&values, &zero).map_err(shape_error)?;
        let terms = held.iter().zip(&subject.seed_floats).filter_map(|(y, w)| Some((y.as_ref()? * w).abs()));
        subject.magnitude = terms.filter(|term| term.is_finite()).sum();
        subject.zero = zero.into_iter().next().unwrap_or(Value::Nothing);
        subject.seed = seed.into_iter().next().unwrap_or(Value::Nothing);
        Ok((subject.count > 0 && !subject.seed_floats.is_empty()).then_some(subject))
    }

    fn machine(&self) -> Machine<'s> {
        Machine::with_limits(self.module, self.limits)
    }

    fn call(&self, args: &[Value]) -> Result<Value, GradientError> {
        let args = self.spread(args);
        Ok(self.machine().call(self.name, &args)?)
    }

    /// The arguments as a call gives them, or what belongs to them.
    fn spread(&self, args: &[Value]) -> Vec<Value> {
        let mut args = args.to_vec();
        if self.varargs
            && let Some(Value::Tuple(_)) = args.last()
            && let Some(collected) = args.pop()
        {
            args.extend_from_slice(collected.as_tuple().unwrap_or_default());
        }
        args
    }

    /// Differences of no more than this are differences of rounding, for all that a step as fine as any can say.
    pub(super) fn noise(&self) -> f64 {
        1e-3 * self.magnitude
    }

    pub(super) fn is_scalar(&self) -> bool {
        self.zero.as_scalar().is_some()
    }

    /// Whether some float of the arguments or the result has less than 64 bits, so that differences say little.
    pub(super) fn has_small_floats(&self) -> bool {
        self.epsilon() > f64::EPSILON
    }

    /// How far the smallest floats in arguments and result are apart at one.
    pub(super) fn epsilon(&self) -> f64 {
        self.types.iter().chain([&self.result]).map(|ty| epsilon(self.module, ty)).fold(f64::EPSILON, f64::max)
    }

    /// As [`epsilon_inside`] says, of the function.
    pub(super) fn epsilon_inside(&self) -> f64 {
        epsilon_inside(self.module, self.name)
    }

    /// The steps of differences along a direction, from a tenth down; where some number is smaller than the finest of
    /// these can tell, fractions of it as well, as far as rounding leaves the value accurate to this tolerance there.
    pub(super) fn steps(&self, tolerance: f64, scale: f64) -> Vec<f64> {
        let finest = if self.has_small_floats() { 4 } else { 8 };
        let powers = || (1..=finest).map(|digits| 10f64.powi(-digits));
        let numbers = value_floats(&self.args, &self.zeros).unwrap_or_default();
        let smallest =
            numbers.into_iter().flatten().map(f64::abs).filter(|size| *size > 0.0).fold(f64::INFINITY, f64::min);
        let rounding = self.epsilon() * self.magnitude;
        let fractions = powers().map(|power| smallest * power).filter(|step| rounding / step <= tolerance * scale);
        let has_small = smallest < 10f64.powi(-finest / 2);
        powers().chain(fractions.filter(|_| has_small)).collect()
    }

    /// Where the number of this index stands.
    pub(super) fn place(&self, index: usize) -> String {
        float_place(&self.args, &self.zeros, index).unwrap_or_default()
    }

    /// A random direction, as tangents and number by number.
    pub(super) fn direction(&self, random: &mut Random) -> Result<(Vec<Value>, Vec<f64>), GradientError> {
        let direction = self.machine().with_floats(&self.zeros, |_| random.next()).map_err(run_error)?;
        let floats = self.floats(&direction)?;
        Ok((direction, floats))
    }

    /// The direction of one number.
    pub(super) fn unit(&self, index: usize) -> Result<Vec<Value>, GradientError> {
        // Numbers are copied in another order than that in which they are listed.
        let mut counted = 0.0;
        let count = |_: f64| {
            counted += 1.0;
            counted
        };
        let numbered = self.machine().with_floats(&self.zeros, count).map_err(run_error)?;
        let number = self.floats(&numbered)?.get(index).copied();
        let mut counted = 0.0;
        let unit = |_: f64| {
            counted += 1.0;
            if Some(counted) == number { 1.0 } else { 0.0 }
        };
        self.machine().with_floats(&self.zeros, unit).map_err(run_error)
    }

    pub(super) fn floats(&self, tangents: &[Value]) -> Result<Vec<f64>, GradientError> {
        tangent_floats(&self.args, &self.zeros, tangents).map_err(shape_error)
    }

    fn copies(&self) -> Result<Vec<Value>, GradientError> {
        self.machine().copies(&self.args).map_err(run_error)
    }

    /// Runs the derivative.
    pub(super) fn gradient(&self) -> Result<Pulled, GradientError> {
        let args = self.copies()?;
        let mut operands = args.clone();
        operands.extend(self.machine().copies(std::slice::from_ref(&self.seed)).map_err(run_error)?);
        let result = self.machine().call(&self.names.vjp, &operands)?;
        let gradient = result.as_tuple().and_then(|elements| elements.get(1..)).unwrap_or_default();
        Ok(Pulled { floats: self.floats(gradient)?, args })
    }

    /// The central difference in a direction, if the function can be computed on both sides.
    pub(super) fn difference(&self, direction: &[Value], step: f64) -> Result<Option<f64>, GradientError> {
        let at = |step: f64| -> Result<Option<Vec<f64>>, GradientError> {
            let args = self.machine().moved(&self.args, direction, step).map_err(run_error)?;
            let Ok(value) = self.call(&args) else { return Ok(None) };
            // A result of another shape is that of another branch, and so is one without a number where there was one.
            let held = value_floats(&[value], std::slice::from_ref(&self.zero)).ok();
            Ok(held.map(|held| held.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect()))
        };
        let (Some(above), Some(below)) = (at(step)?, at(-step)?) else { return Ok(None) };
        let differences: Vec<f64> = above.iter().zip(&below).map(|(a, b)| (a - b) / (2.0 * step)).collect();
        let product = dot(&self.seed_floats, &differences);
        Ok((!product.is_nan()).then_some(product))
    }

    /// Whether the function changes what it is given, here or a step away: what it writes may be what was there.
    pub(super) fn mutates(&self, direction: &[Value]) -> Result<bool, GradientError> {
        for step in [0.0, 0.01] {
            let args = self.machine().moved(&self.args, direction, step).map_err(run_error)?;
            let before = self.machine().copies(&args).map_err(run_error)?;
            if self.call(&args).is_ok() && first_difference(&before, &args).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the function, or one that it calls, changes the lengths of arrays.
    fn resizes(&self) -> bool {
        let resizes = |stmt: &Stmt<Positions>| {
            let primitive = self.module.primitive_call(stmt).map(|(primitive, _)| primitive.memory);
            matches!(primitive, Some(MemoryEffect::Resize { .. }))
        };
        statements_reached(self.module, self.name).any(|(stmt, _)| resizes(stmt))
    }

    /// The product of the seed with the derivative in a direction, by forward mode.
    pub(super) fn forward(&self, direction: &[Value]) -> Result<f64, GradientError> {
        let args = self.spread(&self.copies()?);
        let direction = self.machine().copies(direction).map_err(run_error)?;
        let result = jvp(self.module, self.name, &args, &[self.spread(&direction)], self.limits)?;
        let zero = std::slice::from_ref(&self.zero);
        let floats = tangent_floats(&[result.value], zero, &result.tangents).map_err(shape_error)?;
        Ok(dot(&self.seed_floats, &floats))
    }

    /// Runs the forward pass with shadows that hold something, and the pullback twice.
    pub(super) fn pull_back_into_filled(&self, random: &mut Random) -> Result<Filled, GradientError> {
        let mut machine = self.machine();
        let filled = machine.with_floats(&self.zeros, |_| random.next()).map_err(run_error)?;
        let tangents = TangentTypes::new(self.module);
        let mut operands = self.copies()?;
        let mut shadows = Vec::new();
        for (tangent, ty) in filled.iter().zip(&self.types) {
            let shadow = machine.primitive("shadow_of", std::slice::from_ref(tangent)).map_err(run_error)?;
            let declared = tangents.of(ty).shadow();
            let shadow = in_fields_of(&machine, shadow, &declared).map_err(run_error)?;
            if !declared.is_none() {
                operands.push(shadow.clone());
            }
            shadows.push(shadow);
        }
        let before = self.floats(&shadows)?;
        let result = machine.call(&self.names.forward, &operands)?;
        let lost = self.resizes() && self.floats(&shadows)? != before;
        let parts = result.as_tuple().unwrap_or_default();
        let trace = parts.last().cloned().unwrap_or(Value::Nothing);
        let of_result = tangents.of(&self.result);
        let own_shadow = (!of_result.shadow().is_none()).then(|| parts.get(1).cloned()).flatten();
        let seed = match &of_result {
            Tangent::Float(_) => self.seed.clone(),
            _ => machine.primitive("cotangent_of", std::slice::from_ref(&self.seed)).map_err(run_error)?,
        };
        let mut sums = vec![0.0; self.count];
        let mut pull_back = |machine: &mut Machine<'s>| -> Result<Vec<f64>, GradientError> {
            if let Some(shadow) = &own_shadow {
                machine.primitive("add_seed!", &[shadow.clone(), self.seed.clone()]).map_err(run_error)?;
            }
            let cotangents = match &trace {
                // With linear maps, the pullback itself.
                Value::Closure(_) => machine.apply(&trace, std::slice::from_ref(&seed))?,
                _ => machine.call(&self.names.pullback, &[trace.clone(), seed.clone()])?,
            };
            let cotangents = cotangents.as_tuple().and_then(|all| all.get(1..)).unwrap_or_default();
            for (sum, cotangent) in sums.iter_mut().zip(self.floats(cotangents)?) {
                *sum += cotangent;
            }
            let held = self.floats(&shadows)?;
            Ok(held.iter().zip(&sums).map(|(held, sum)| held + sum).collect())
        };
        let once = pull_back(&mut machine)?;
        // One that it calls may fail before it is asked whether it was called already.
        let once_only = || self.module.functions().iter().any(|function| takes_back(self.module, &function.name));
        let twice = pull_back(&mut machine).map_err(|error| match once_only() {
            true => ONCE_ONLY.to_string(),
            false => error.to_string(),
        });
        Ok(Filled { filled: before, lost, once, twice })
    }
}

/// How far the smallest floats in values of a type are apart at one.
fn epsilon(module: &Module<IRCode>, ty: &Type) -> f64 {
    let tangents = TangentTypes::new(module);
    let text = format!("{} {ty}", tangents.of(ty).ty());
    match (text.contains("Float16"), text.contains("Float32")) {
        (true, _) => 2f64.powi(-10),
        (false, true) => f64::from(f32::EPSILON),
        (false, false) => f64::EPSILON,
    }
}
