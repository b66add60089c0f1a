//! Values with pullbacks.

use std::fmt;

use exec::native::{Argument, Float, NotCompiled, Pending, Program};
use ircode::Type;
use passes::PassError;
use passes::reverse_mode::Derivative;
use smallvec::SmallVec;

use super::arguments::{Arguments, List, Outputs, Place, list, places};
use super::builder::{Builder, ByReverseMode, WithRespectTo, private};
use super::gradient::{float, float_at, put_numbers, shapes};
use super::signature::{Counts, Parameter, Signature};
use super::{CallError, CompileError, pipeline};
use crate::gradient::takes_back;

/// The value of a function, a float, a tuple of `Float64`s or an array of floats, with a pullback to be called when its
/// cotangent is known.
///
/// ```
/// use bbkit::Differentiate;
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function both(v::Vector{Float64})::Tuple{Float64, Float64}
/// 1 ─ %1 = Base.getindex(v, 1)::Float64
/// │   %2 = Base.getindex(v, 2)::Float64
/// │   %3 = Base.mul_float(%1, %2)::Float64
/// │   %4 = Base.add_float(%1, %2)::Float64
/// │   %5 = Core.tuple(%3, %4)::Tuple{Float64, Float64}
/// └──      return %5
/// end
/// ")?.module;
/// let vjp = module.vjp("both").compile()?;
/// let mut pullback = vjp.call(&[3.0, 4.0])?;
/// assert_eq!(pullback.value(), [12.0, 7.0]);
/// let mut cotangent = [0.0; 2];
/// pullback.call(&[1.0, 0.0], &mut cotangent)?;
/// assert_eq!(cotangent, [4.0, 3.0]);
/// pullback.call(&[1.0, 10.0], &mut cotangent)?;
/// assert_eq!(cotangent, [14.0, 13.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Vjp {
    signature: Signature,
    warnings: Vec<PassError>,
    value: Parameter,
    /// Where the trace is in what the forward pass gives, counted from 0.
    trace: usize,
    /// Whether the pullback takes back what the function has changed, the value perhaps.
    takes_back: bool,
    program: Program,
}

/// The numbers of the two functions of the program.
const FORWARD: usize = 0;
const PULLBACK: usize = 1;

/// Which function, and with respect to what; not its code.
impl fmt::Debug for Vjp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signature.debug(f, "Vjp")
    }
}

impl WithRespectTo for Vjp {}

impl ByReverseMode for Vjp {}

impl private::Make for Vjp {
    fn make(builder: &Builder<'_, Self>) -> Result<Self, CompileError> {
        let (mut module, signature) = builder.prepared()?;
        let options = passes::reverse_mode::Options { vjp: true, ..builder.reverse(&signature) };
        let Derivative { names, warnings } = passes::reverse_mode::derive(&mut module, &signature.function, &options)?;
        let expected = "pullbacks of floats, of tuples of Float64 and of arrays of floats";
        let results = module.function(&names.forward).map(|function| function.result.clone());
        let (value, trace) = match results {
            Some(Type::Tuple(types)) => (types.first().cloned().unwrap_or(Type::Any), types.len().saturating_sub(1)),
            _ => return Err(builder.result_error(Type::Bottom, expected)),
        };
        let value = match Parameter::of(&module, &value) {
            Parameter::Other(ty) => return Err(builder.result_error(ty, expected)),
            known => known,
        };
        for name in [&names.forward, &names.pullback] {
            pipeline::derivative(&mut module, name, builder.settings.effort, builder.settings.reassociate)?;
        }
        let takes_back = takes_back(&module, &names.pullback);
        let program = builder.program(module, &[&names.forward, &names.pullback], &signature)?;
        Ok(Vjp { signature, warnings, value, trace, takes_back, program })
    }
}

impl Vjp {
    /// Computes the value, and saves what its pullback needs. Slices are copied where they are needed later: nothing
    /// stays borrowed.
    ///
    /// # Errors
    ///
    /// [`CallError`]. A `&mut` slice is refused: the pullback takes back what the function changes, which nobody could
    /// see.
    pub fn call<'a>(&self, args: impl Arguments<'a>) -> Result<Pullback<'_>, CallError> {
        let places = self.arrays();
        let mut lengths: SmallVec<[[usize; 1]; 8]> = SmallVec::new();
        let mut args: List<'_> = list(args);
        let counts = self.signature.counts(&self.program, &args)?;
        lengths.extend(places.iter().map(|&place| [counts.get(place).copied().unwrap_or(0)]));
        let (own, shapes) = (args.len(), shapes(&args));
        for (&place, length) in places.iter().zip(&lengths) {
            let shape = self.signature.wrt.get(place).and_then(|&argument| shapes.get(argument).copied().flatten());
            args.push(Argument::Zeros(shape.unwrap_or(length)));
        }
        let pending = self.program.begin(FORWARD, &mut args)?;
        let mut value = SmallVec::new();
        if let Some(count) = self.value.count() {
            let numbers = pending.numbers_of(0).unwrap_or_default();
            for at in 0..count {
                value.push(float_at(&numbers, at)?);
            }
        }
        let shadows = places.iter().enumerate().map(|(index, &place)| (own + index, place)).collect();
        let singles = pending.array::<f32>(0).filter(|_| self.value.is_array());
        let kept = singles.map(|numbers| numbers.iter().copied().map(f64::from).collect());
        Ok(Pullback { vjp: self, pending, value, kept, counts, shadows })
    }

    /// The places of arrays among what the function is differentiated with respect to, in the order of the arguments.
    fn arrays(&self) -> Counts {
        let parameters = self.signature.parameters.iter().enumerate();
        let arrays = parameters.filter(|(_, parameter)| parameter.is_array());
        arrays.filter_map(|(argument, _)| self.signature.position(argument)).collect()
    }

    /// What is not wrong, but may not be what was meant: a loop that is not checkpointed, a result that does not depend
    /// on the arguments.
    pub fn warnings(&self) -> &[PassError] {
        &self.warnings
    }

    /// The statements that the interpreter helps with, which take longer.
    pub fn helped(&self) -> Vec<NotCompiled> {
        self.program.helped()
    }

    /// The bytes that calls have taken for objects, at most.
    pub fn most_memory(&self) -> usize {
        self.program.most_memory()
    }
}

/// What is left of a call of a [`Vjp`]: its value, and what it takes to go back. It stays on its thread.
#[derive(Debug)]
pub struct Pullback<'v> {
    vjp: &'v Vjp,
    pending: Pending<'v>,
    /// A value that is no array.
    value: SmallVec<[f64; 8]>,
    /// An array that the pullback takes back, as it was, or one of `Float32`.
    kept: Option<Vec<f64>>,
    counts: Counts,
    /// The shadows of arrays: which arguments of the forward pass they are, and to which of the places they belong.
    shadows: SmallVec<[(usize, usize); 8]>,
}

impl Pullback<'_> {
    /// The value: one number if it is a float, those of its fields if it is a tuple, the elements of an array. A
    /// `Float32` is the `f64` that it is: of an array of them each call makes a copy. It stays when the pullback takes
    /// back what the function has changed.
    pub fn value(&self) -> &[f64] {
        match (&self.vjp.value, &self.kept) {
            (Parameter::Floats(_), Some(kept)) => kept,
            (Parameter::Floats(_), None) => self.pending.array(0).unwrap_or_default(),
            _ => &self.value,
        }
    }

    /// The cotangents of the arguments for this one of the value, which has as many numbers (rounded for a `Float32`),
    /// written over what the places hold. For several seeds one after the other, unless the function changes memory,
    /// which the pullback takes back.
    ///
    /// # Errors
    ///
    /// [`CallError`]; of a second call too if there can be only one.
    pub fn call<'g>(&mut self, seed: &[f64], cotangents: impl Outputs<'g>) -> Result<(), CallError> {
        let mut cotangents = places(cotangents);
        self.vjp.signature.check_places("cotangents", &self.counts, &mut cotangents)?;
        let expected = self.value().len();
        if seed.len() != expected {
            return Err(CallError::Count { what: "numbers of the seed", given: seed.len(), expected });
        }
        if self.vjp.takes_back && self.vjp.value.is_array() && self.kept.is_none() {
            self.kept = Some(self.value().to_vec());
        }
        for (argument, _) in &self.shadows {
            if let Some(shadow) = self.pending.made_for_mut::<f64>(*argument) {
                shadow.fill(0.0);
            }
            if let Some(shadow) = self.pending.made_for_mut::<f32>(*argument) {
                shadow.fill(0.0);
            }
        }
        let seed = match self.vjp.value {
            Parameter::Float(ty) => float(ty, seed.first().copied().unwrap_or(f64::NAN)),
            Parameter::Fields(_) => Argument::Fields(seed),
            Parameter::Floats(_) | Parameter::Other(_) => {
                // If it is that of an argument it is full of zeros now, else nobody else has it.
                // After a pullback that took back how long it is, the next one fails before it looks at it.
                if let Some(shadow) = self.pending.array_mut::<f64>(1).filter(|shadow| shadow.len() == seed.len()) {
                    shadow.copy_from_slice(seed);
                }
                if let Some(shadow) = self.pending.array_mut::<f32>(1).filter(|shadow| shadow.len() == seed.len()) {
                    shadow.iter_mut().zip(seed).for_each(|(to, number)| *to = *number as f32);
                }
                Argument::Nothing
            }
        };
        let numbers = self.pending.resume(PULLBACK, self.vjp.trace, &mut [seed])?;
        for (argument, place) in &self.shadows {
            let Some(place) = cotangents.get_mut(*place) else { continue };
            match place.numbers() {
                Place::Float64(to) => self.copy_shadow(*argument, to)?,
                Place::Float32(to) => self.copy_shadow(*argument, to)?,
            }
        }
        put_numbers(&self.vjp.signature, &numbers, 0, &mut cotangents)?;
        Ok(())
    }

    /// Copies the shadow of an array, which is this argument of the forward pass, to where the cotangent is written to.
    fn copy_shadow<T: Float>(&self, argument: usize, to: &mut [T]) -> Result<(), CallError> {
        let shadow = self.pending.made_for(argument).unwrap_or_default();
        let (given, expected) = (shadow.len(), to.len());
        if given != expected {
            return Err(CallError::Count { what: "numbers in the cotangent", given, expected });
        }
        to.copy_from_slice(shadow);
        Ok(())
    }
}
