//! Values with derivatives in a direction.

use std::fmt;

use exec::native::{Argument, NotCompiled, Program};
use ircode::Type;
use passes::forward_mode;
use smallvec::SmallVec;

use super::arguments::{Arguments, List, list};
use super::builder::{Builder, WithRespectTo, private};
use super::gradient::float_at;
use super::signature::{Signature, float_type};
use super::{CallError, CompileError, pipeline};

/// The value of a function and its derivative in a direction, without anything being saved.
///
/// ```
/// use bbkit::Differentiate;
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function product(v::Vector{Float64})::Float64
/// 1 ─ %1 = Base.getindex(v, 1)::Float64
/// │   %2 = Base.getindex(v, 2)::Float64
/// │   %3 = Base.mul_float(%1, %2)::Float64
/// └──      return %3
/// end
/// ")?.module;
/// let jvp = module.jvp("product").compile()?;
/// assert_eq!(jvp.call(&[3.0, 4.0], &[1.0, 0.5])?, (12.0, 5.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Jvp {
    signature: Signature,
    program: Program,
}

/// Which function, and with respect to what; not its code.
impl fmt::Debug for Jvp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signature.debug(f, "Jvp")
    }
}

impl WithRespectTo for Jvp {}

impl private::Make for Jvp {
    fn make(builder: &Builder<'_, Self>) -> Result<Self, CompileError> {
        let (mut module, signature) = builder.prepared()?;
        pipeline::primal(&mut module, &signature.function)?;
        let options = forward_mode::Options { with_respect_to: Some(signature.with_respect_to()), directions: 1 };
        let name = forward_mode::differentiate(&mut module, &signature.function, &options)?;
        pipeline::derivative(&mut module, &name, builder.settings.effort, builder.settings.reassociate)?;
        let result = module.function(&name).map_or(Type::Bottom, |function| function.result.clone());
        let expected = "derivatives of a Float64 or a Float32 in a direction";
        match result {
            Type::Tuple(types) if types.first().and_then(float_type).is_some() => {}
            Type::Tuple(types) => {
                let value = types.first().cloned().unwrap_or(Type::Any);
                return Err(builder.result_error(value, expected));
            }
            other => return Err(builder.result_error(other, expected)),
        }
        Ok(Jvp { program: builder.program(module, &[&name], &signature)?, signature })
    }
}

impl Jvp {
    /// The value, and its derivative in the direction of these tangents: one for each argument with respect to which
    /// the function is differentiated, of the same form. Of a `Float32` they are the `f64`s that these are.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    pub fn call<'a, 't>(
        &self,
        args: impl Arguments<'a>,
        tangents: impl Arguments<'t>,
    ) -> Result<(f64, f64), CallError> {
        let (mut args, tangents) = (list(args), list(tangents));
        let counts = self.signature.counts(&self.program, &args)?;
        self.signature.check_tangents(&args, &counts, &tangents)?;
        push_tangents(&mut args, &self.signature, tangents);
        let numbers = self.program.call_in_place(0, &mut args)?;
        Ok((float_at(&numbers, 0)?, float_at(&numbers, 1)?))
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

/// Adds a tangent for each argument: `nothing` for those with respect to which the function is not differentiated.
pub(super) fn push_tangents<'a>(list: &mut List<'a>, signature: &Signature, tangents: List<'a>) {
    let mut tangents: SmallVec<[Option<Argument<'a>>; 12]> = tangents.into_iter().map(Some).collect();
    for argument in 0..signature.parameters.len() {
        let tangent = signature.position(argument).and_then(|place| tangents.get_mut(place)).and_then(Option::take);
        list.push(tangent.unwrap_or(Argument::Nothing));
    }
}
