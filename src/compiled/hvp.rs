//! Products of Hessians and vectors.

use std::fmt;

use exec::native::{Argument, NotCompiled, Program};
use ircode::ScalarType;
use passes::{PassError, forward_mode};

use super::arguments::{Arguments, Outputs, list, places};
use super::builder::{Builder, ByReverseMode, WithRespectTo, private};
use super::gradient::{Accumulating, accumulating, float, float_at, push_shadows, put_numbers, shapes};
use super::jvp::push_tangents;
use super::signature::Signature;
use super::{CallError, CompileError, pipeline};

/// The value of a function, its gradient, and the product of its Hessian and a vector: forward mode over the function
/// that computes value and gradient.
///
/// ```
/// use bbkit::Differentiate;
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function cubes(v::Vector{Float64}, by::Float64)::Float64
/// 1 ─ %1 = Base.getindex(v, 1)::Float64
/// │   %2 = Base.mul_float(%1, %1)::Float64
/// │   %3 = Base.mul_float(%2, %1)::Float64
/// │   %4 = Base.mul_float(%3, by)::Float64
/// └──      return %4
/// end
/// ")?.module;
/// let hvp = module.hvp("cubes").wrt([0]).compile()?;
/// let (mut gradient, mut product) = ([0.0], [0.0]);
/// let value = hvp.call((&[2.0], 10.0), &[1.0], &mut gradient, &mut product)?;
/// assert_eq!((value, gradient, product), (80.0, [120.0], [120.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Hvp {
    signature: Signature,
    warnings: Vec<PassError>,
    /// The type of the value.
    value: ScalarType,
    program: Program,
}

/// Which function, and with respect to what; not its code.
impl fmt::Debug for Hvp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signature.debug(f, "Hvp")
    }
}

impl WithRespectTo for Hvp {}

impl ByReverseMode for Hvp {}

impl private::Make for Hvp {
    fn make(builder: &Builder<'_, Self>) -> Result<Self, CompileError> {
        let (mut module, signature) = builder.prepared()?;
        let Accumulating { name: reverse, value, warnings } = accumulating(builder, &mut module, &signature)?;
        // What is added into is differentiated with respect to as well: its tangent is the product.
        let mut with_respect_to = signature.with_respect_to();
        let arrays = with_respect_to.iter().filter_map(|number| signature.parameters.get(number.checked_sub(2)?));
        let shadows = arrays.filter(|parameter| parameter.is_array()).count();
        let first = signature.parameters.len() + 3;
        with_respect_to.extend(first..first + shadows);
        let options = forward_mode::Options { with_respect_to: Some(with_respect_to), directions: 1 };
        let name = forward_mode::differentiate(&mut module, &reverse, &options)?;
        pipeline::derivative(&mut module, &name, builder.settings.effort, builder.settings.reassociate)?;
        Ok(Hvp { program: builder.program(module, &[&name], &signature)?, signature, warnings, value })
    }
}

impl Hvp {
    /// The value, of a `Float32` as the `f64` that it is. The gradient and the product of the Hessian with the vector
    /// are written over what the places hold: one for each argument with respect to which the function is
    /// differentiated, as long as that; and the vector has a tangent for each.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    pub fn call<'a, 'v, 'g, 'p>(
        &self,
        args: impl Arguments<'a>,
        vector: impl Arguments<'v>,
        gradient: impl Outputs<'g>,
        product: impl Outputs<'p>,
    ) -> Result<f64, CallError> {
        let (mut gradient, mut product) = (places(gradient), places(product));
        let numbers = {
            let (mut args, vector) = (list(args), list(vector));
            let counts = self.signature.counts(&self.program, &args)?;
            self.signature.check_tangents(&args, &counts, &vector)?;
            self.signature.check_places("gradients", &counts, &mut gradient)?;
            self.signature.check_places("products", &counts, &mut product)?;
            let shapes = shapes(&args);
            args.push(float(self.value, 1.0));
            push_shadows(&mut args, &self.signature, &shapes, &mut gradient);
            push_tangents(&mut args, &self.signature, vector);
            // That of the seed.
            args.push(Argument::Nothing);
            push_shadows(&mut args, &self.signature, &shapes, &mut product);
            self.program.call_in_place(0, &mut args)?
        };
        // ((value, gradient…), (tangent of the value, product…))
        let next = put_numbers(&self.signature, &numbers, 1, &mut gradient)?;
        put_numbers(&self.signature, &numbers, next + 1, &mut product)?;
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
