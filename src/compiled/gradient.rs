//! Values with gradients.

use std::fmt;

use bbcode::BBCode;
use exec::native::{Argument, NotCompiled, Numbers, Program};
use ircode::{Module, Name, Scalar, ScalarType, Type};
use passes::PassError;
use passes::reverse_mode::Derivative;
use smallvec::SmallVec;

use super::arguments::{Arguments, List, Output, Outputs, Place, list, places};
use super::builder::{Builder, ByReverseMode, WithRespectTo, private};
use super::signature::{Signature, float_type};
use super::{CallError, CompileError, pipeline};

/// The value of a function and its gradient, in one pass over memory of the caller.
///
/// ```
/// use bbkit::Differentiate;
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// │   %2 = Base.mul_float(%1, y)::Float64
/// └──      return %2
/// end
/// ")?.module;
/// let by_y = module.gradient("f").wrt([1]).compile()?;
/// let mut dy = 0.0;
/// assert_eq!(by_y.call((3.0, 4.0), &mut dy)?, 36.0);
/// assert_eq!(dy, 9.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Gradient {
    signature: Signature,
    warnings: Vec<PassError>,
    /// The type of the value.
    value: ScalarType,
    program: Program,
}

/// Which function, and with respect to what; not its code.
impl fmt::Debug for Gradient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signature.debug(f, "Gradient")
    }
}

impl WithRespectTo for Gradient {}

impl ByReverseMode for Gradient {}

impl private::Make for Gradient {
    fn make(builder: &Builder<'_, Self>) -> Result<Self, CompileError> {
        let (mut module, signature) = builder.prepared()?;
        let Accumulating { name, value, warnings } = accumulating(builder, &mut module, &signature)?;
        pipeline::derivative(&mut module, &name, builder.settings.effort, builder.settings.reassociate)?;
        Ok(Gradient { program: builder.program(module, &[&name], &signature)?, signature, warnings, value })
    }
}

impl Gradient {
    /// The value, of a `Float32` as the `f64` that it is. The gradient is written over what the places hold: one for
    /// each argument with respect to which the function is differentiated, as long as that, and of its type.
    ///
    /// An array that the function changes is as before after the call. Each argument counts as an array of its own.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    pub fn call<'a, 'g>(&self, args: impl Arguments<'a>, gradient: impl Outputs<'g>) -> Result<f64, CallError> {
        let mut gradient = places(gradient);
        let numbers = {
            let mut args = list(args);
            let counts = self.signature.counts(&self.program, &args)?;
            self.signature.check_places("gradients", &counts, &mut gradient)?;
            let shapes = shapes(&args);
            args.push(float(self.value, 1.0));
            push_shadows(&mut args, &self.signature, &shapes, &mut gradient);
            self.program.call_in_place(0, &mut args)?
        };
        put_numbers(&self.signature, &numbers, 1, &mut gradient)?;
        float_at(&numbers, 0)
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

/// A function that adds the gradient into memory of the caller.
pub(super) struct Accumulating {
    pub(super) name: Name,
    /// The type of the value, and of the seed.
    pub(super) value: ScalarType,
    pub(super) warnings: Vec<PassError>,
}

/// Derives the function that adds the gradient into memory of the caller, for functions that return a float.
pub(super) fn accumulating<T: super::Compilable>(
    builder: &Builder<'_, T>,
    module: &mut Module<BBCode>,
    signature: &Signature,
) -> Result<Accumulating, CompileError> {
    let options = passes::reverse_mode::Options { accumulate: true, only_joined: true, ..builder.reverse(signature) };
    let Derivative { names, warnings } = passes::reverse_mode::derive(module, &signature.function, &options)?;
    let name = names.accumulate_gradient;
    // The seed of a union that may be a float is one, too.
    let value = match module.function(&name).map(|function| &function.result) {
        Some(Type::Tuple(types)) => types.first().cloned().unwrap_or(Type::Any),
        Some(_) => Type::Any,
        None => Type::Bottom,
    };
    match float_type(&value) {
        Some(value) => Ok(Accumulating { name, value, warnings }),
        None => Err(builder.result_error(value, "gradients of a Float64 or a Float32")),
    }
}

/// A float of this type, rounded if it does not fit.
pub(super) fn float(ty: ScalarType, value: f64) -> Argument<'static> {
    Scalar::from_float(ty, value).map_or(Argument::Float64(value), Argument::Scalar)
}

/// The dimensions of the arguments that are arrays of several.
pub(super) fn shapes<'a>(args: &List<'a>) -> SmallVec<[Option<&'a [usize]>; 12]> {
    args.iter().map(Argument::dimensions).collect()
}

/// Adds the places of arrays as arguments, full of zeros, in the order of the arguments to which they belong.
pub(super) fn push_shadows<'l, 'p: 'l>(
    list: &mut List<'l>,
    signature: &Signature,
    shapes: &[Option<&'l [usize]>],
    places: &'p mut [Output<'_>],
) {
    let mut places: SmallVec<[Option<Place<'p>>; 8]> = places.iter_mut().map(|place| Some(place.numbers())).collect();
    for (argument, parameter) in signature.parameters.iter().enumerate() {
        let place = signature.position(argument).filter(|_| parameter.is_array());
        let Some(place) = place.and_then(|place| places.get_mut(place)).and_then(Option::take) else { continue };
        list.push(place.zeros(shapes.get(argument).copied().flatten()));
    }
}

/// Puts the cotangents of arguments that are no arrays, which begin at this number of the result, in their places.
/// Gives the number behind the last.
pub(super) fn put_numbers(
    signature: &Signature,
    numbers: &Numbers,
    first: usize,
    places: &mut [Output<'_>],
) -> Result<usize, CallError> {
    let mut next = first;
    for (argument, parameter) in signature.parameters.iter().enumerate() {
        let Some(count) = parameter.count() else { continue };
        let Some(place) = signature.position(argument).and_then(|place| places.get_mut(place)) else { continue };
        for index in 0..count {
            place.numbers().put(index, float_at(numbers, next + index)?);
        }
        next += count;
    }
    Ok(next)
}

/// A number of a result, which has one there as the code that was compiled for it is.
pub(super) fn float_at(numbers: &Numbers, at: usize) -> Result<f64, CallError> {
    numbers.float(at).ok_or_else(|| CallError::Refused(format!("a result without a float as its number {}", at + 1)))
}
