//! Fourteen functions of different shapes, with gradients derived by hand: what derivatives are compared with, and
//! measured against.
//!
//! Each is `f(x; c, n)`: x is differentiated, c and n are not. `tests/kernels/kernels.jl` has the same functions in
//! Julia, and beside it what Julia's compiler made of them.

mod bundle;
mod inputs;
mod mixture;
mod network;
mod scalars;
mod vectors;

pub use inputs::{Inputs, inputs};

/// A function with its gradient.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name; the function in Julia has a `k_` before it.
    pub name: &'static str,
    /// `f(x, c, n)`.
    pub value: fn(&[f64], &[f64], usize) -> f64,
    /// `f(x, c, n, dx)`: gives the value and writes the gradient for x into `dx`, whatever that held.
    pub gradient: fn(&[f64], &[f64], usize, &mut [f64]) -> f64,
    /// The lengths of x and c for this n.
    pub lengths: fn(usize) -> (usize, usize),
}

/// All kernels.
pub const KERNELS: [Kernel; 14] = [
    Kernel { name: "bs", value: vectors::bs, gradient: vectors::bs_gradient, lengths: |n| (5 * n, 0) },
    Kernel { name: "branch", value: scalars::branch, gradient: scalars::branch_gradient, lengths: |n| (3, n) },
    Kernel { name: "sincos", value: scalars::sincos, gradient: scalars::sincos_gradient, lengths: |_| (1, 0) },
    Kernel { name: "logistic", value: scalars::logistic, gradient: scalars::logistic_gradient, lengths: |_| (2, 0) },
    Kernel { name: "newton", value: scalars::newton, gradient: scalars::newton_gradient, lengths: |n| (n, 0) },
    Kernel { name: "tri", value: vectors::tri, gradient: vectors::tri_gradient, lengths: |n| (n, n) },
    Kernel { name: "sumsq", value: vectors::sumsq, gradient: vectors::sumsq_gradient, lengths: |n| (n, 0) },
    Kernel { name: "fsub", value: vectors::fsub, gradient: vectors::fsub_gradient, lengths: |n| (n * n + n, 0) },
    Kernel { name: "lse", value: vectors::lse, gradient: vectors::lse_gradient, lengths: |n| (n, 0) },
    Kernel { name: "rosen", value: vectors::rosen, gradient: vectors::rosen_gradient, lengths: |n| (n, 0) },
    Kernel {
        name: "mlp",
        value: network::mlp,
        gradient: network::mlp_gradient,
        lengths: |n| (network::PARAMETERS, (network::INPUTS + 1) * n),
    },
    Kernel {
        name: "gmm",
        value: mixture::gmm,
        gradient: mixture::gmm_gradient,
        lengths: |n| (mixture::PARAMETERS, mixture::D * n),
    },
    Kernel { name: "ba", value: bundle::ba, gradient: bundle::ba_gradient, lengths: |n| (15 * n, 2 * n) },
    Kernel { name: "ode", value: scalars::ode, gradient: scalars::ode_gradient, lengths: |_| (6, 0) },
];

/// The kernel of this name.
pub fn kernel(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

/// What is known of one size of a kernel from other implementations.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The kernel.
    pub name: &'static str,
    /// Its size.
    pub n: usize,
    /// Its value for [`inputs`], to twelve digits.
    pub value: f64,
    /// The [`checksum`] of its gradient, to twelve digits.
    pub checksum: f64,
}

/// Values and gradients on which Enzyme, JAX, Adept, CppAD, ADOL-C and CoDiPack agree.
pub const REFERENCES: [Reference; 17] = [
    Reference { name: "bs", n: 1000, value: 13311.4636984, checksum: 260511.251729 },
    Reference { name: "branch", n: 1000, value: 0.179726997487, checksum: 2.47379362542 },
    Reference { name: "sincos", n: 1000, value: 0.0273091317026, checksum: 2.23581703784e-05 },
    Reference { name: "sincos", n: 1_000_000, value: 0.000866021165352, checksum: 7.12588939045e-10 },
    Reference { name: "logistic", n: 1000, value: 0.655172413793, checksum: 0.118906064209 },
    Reference { name: "logistic", n: 1_000_000, value: 0.655172413793, checksum: 0.118906064209 },
    Reference { name: "newton", n: 1000, value: 6727.74573151, checksum: 370.759440893 },
    Reference { name: "tri", n: 300, value: 2053894.56617, checksum: 16382997.6811 },
    Reference { name: "sumsq", n: 10_000, value: 10889.3217398, checksum: 80233.2169193 },
    Reference { name: "sumsq", n: 1_000_000, value: 1083315.58289, checksum: 8000930.52791 },
    Reference { name: "fsub", n: 200, value: 35.3731876344, checksum: -10267.6422784 },
    Reference { name: "lse", n: 10_000, value: 10.2544227778, checksum: 3.99913111741 },
    Reference { name: "rosen", n: 10_000, value: 425205.240082, checksum: 3342431.47149 },
    Reference { name: "mlp", n: 16, value: 4.19951524773, checksum: 32.4932561074 },
    Reference { name: "gmm", n: 1000, value: -2315.34691634, checksum: 16093.5133336 },
    Reference { name: "ba", n: 1000, value: 997.803280189, checksum: 21197.170195 },
    Reference { name: "ode", n: 1000, value: 1.93603584944, checksum: -30.8588394099 },
];

/// One number for a gradient: Σᵢ (∂f/∂xᵢ)·(1 + i mod 7), with i from 0.
pub fn checksum(gradient: &[f64]) -> f64 {
    gradient.iter().zip((1..=7).cycle()).map(|(partial, weight)| partial * f64::from(weight)).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a test that cannot go on should stop")]

    use super::*;

    /// Equal in the twelve digits that are shown: a unit in the last of them is at most 10⁻¹¹ of the number.
    fn same_digits(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1.2e-11 * b.abs()
    }

    #[test]
    fn values_and_checksums_of_gradients_are_the_known_ones() {
        for row in &REFERENCES {
            let kernel = kernel(row.name).expect("a kernel for each row");
            let Inputs { x, c } = inputs(kernel, row.n);
            let mut gradient = vec![f64::NAN; x.len()];
            let value = (kernel.value)(&x, &c, row.n);
            let again = (kernel.gradient)(&x, &c, row.n, &mut gradient);
            assert!(same_digits(value, row.value), "{} {}: {value}, expected {}", row.name, row.n, row.value);
            assert!((value - again).abs() <= 1e-14 * value.abs(), "{}: {value} with its gradient {again}", row.name);
            let sum = checksum(&gradient);
            assert!(same_digits(sum, row.checksum), "{} {}: {sum}, expected {}", row.name, row.n, row.checksum);
        }
    }

    #[test]
    fn every_partial_derivative_agrees_with_differences() {
        for kernel in &KERNELS {
            let n = 3;
            let Inputs { mut x, c } = inputs(kernel, n);
            let mut gradient = vec![0.0; x.len()];
            (kernel.gradient)(&x, &c, n, &mut gradient);
            let scale = gradient.iter().fold(0.0_f64, |a, g| a.max(g.abs()));
            for i in 0..x.len() {
                let (at, step) = (x[i], 1e-5 * x[i].abs().max(0.1));
                let mut shifted = |by: f64| {
                    x[i] = at + by;
                    (kernel.value)(&x, &c, n)
                };
                // Of fourth order.
                let near = shifted(step) - shifted(-step);
                let far = shifted(2.0 * step) - shifted(-2.0 * step);
                shifted(0.0);
                let difference = (8.0 * near - far) / (12.0 * step);
                let error = (difference - gradient[i]).abs();
                assert!(error <= 1e-8 * scale, "{} x[{i}]: {} against {difference}", kernel.name, gradient[i]);
            }
        }
    }
}
