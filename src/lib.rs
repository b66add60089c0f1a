#![doc = include_str!("../README.md")]

pub use {bbcode, exec, ircode, passes};

mod check;
mod diff;
mod dot;
mod gradient;
pub mod html;
mod input;
mod jvp;
mod reduce;
mod roundtrip;
mod stream;

pub use check::{
    Check, CheckOptions, CheckReport, Differences, Outcome, check_derived, check_gradient, compare_with_differences,
};
pub use diff::{Change, DiffOptions, DiffRow, FunctionDiff, ModuleDiff, diff, diff_functions};
pub use dot::dot;
pub use gradient::{
    Gradient, GradientError, GradientOptions, GradientStatistics, Seed, WrtError, derivative, gradient,
    gradient_statistics, gradient_with, specialized, to_bbcode, to_ircode, vjp, vjp_with,
};
pub use input::{Input, InputError};
pub use jvp::{Jvp, jvp, jvp_function, tangent_from_json};
pub use reduce::{ReduceOptions, ReduceProgress, reduce, reduce_with};
pub use roundtrip::{Mismatch, Ways, roundtrip};
