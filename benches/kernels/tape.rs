//! The kernels on a tape: those of the crate `echidna`, in the manner of Adept. What is computed goes through numbers
//! that record each step with its partial derivatives.

mod kernels;

use std::ops::{Add, Mul, Sub};

use echidna::tape::{Tape, with_active_tape};
use echidna::{Reverse, Scalar, grad};

use self::kernels::Kernel;

/// What a kernel computes with.
pub(crate) trait Number:
    Scalar<Float = f64> + Add<f64, Output = Self> + Sub<f64, Output = Self> + Mul<f64, Output = Self>
{
    /// The error function.
    fn erf(self) -> Self;
}

impl Number for Reverse<f64> {
    fn erf(self) -> Self {
        // The crate has none, but lets others record.
        let x = self.value();
        let slope = std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
        let index = with_active_tape(|tape: &mut Tape<f64>| tape.push_unary(self.index(), slope));
        Reverse::from_tape(libm::erf(x), index)
    }
}

/// A kernel on the tape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taped(Kernel<Reverse<f64>>);

impl Taped {
    /// The kernel of this name.
    pub(crate) fn find(name: &str) -> Option<Taped> {
        kernels::find(name).map(Taped)
    }

    /// The value and the gradient. The tape keeps its memory from call to call.
    pub(crate) fn gradient(self, x: &[f64], c: &[f64], n: usize) -> (f64, Vec<f64>) {
        let mut value = 0.0;
        let gradient = grad(
            |x: &[Reverse<f64>]| {
                let result = (self.0)(x, c, n);
                value = result.value();
                result
            },
            x,
        );
        (value, gradient)
    }
}
