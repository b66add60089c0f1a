#![doc = include_str!("../README.md")]

pub use {bbcode, exec, ircode, passes};

mod activity;
mod check;
#[cfg(feature = "native")]
pub mod compiled;
mod diff;
mod directions;
mod dot;
mod engine;
mod gradient;
mod hessian;
pub mod html;
mod hvp;
mod input;
mod jacobian;
mod jvp;
mod linearize;
mod pass_statistics;
mod reduce;
mod roundtrip;
mod stream;
mod table;

pub use activity::{activity, print_activity};
pub use check::{
    Check, CheckOptions, CheckReport, Differences, Outcome, check_derived, check_gradient, compare_with_differences,
};
#[cfg(feature = "native")]
pub use compiled::Differentiate;
pub use diff::{Change, DiffOptions, DiffRow, FunctionDiff, ModuleDiff, diff, diff_functions};
pub use dot::dot;
pub use engine::{Engine, EngineError, NotNative, Ran, RunOptions, run, run_with_output};
pub use gradient::{
    Carrier, Gradient, GradientError, GradientOptions, GradientStatistics, Savings, SavingsReport, SavingsRow, Seed,
    WrtError, gradient, gradient_function, gradient_statistics, gradient_with, into_bbcode, into_ircode,
    savings_report, specialized, to_bbcode, to_ircode, vjp, vjp_with,
};
pub use hessian::{Hessian, hessian};
pub use hvp::{Hvp, HvpNames, hvp, hvp_function, hvp_with};
pub use input::{Input, InputError};
pub use jacobian::{Jacobian, JacobianOptions, Mode, jacobian};
pub use jvp::{Jvp, jvp, jvp_function, jvp_with};
pub use linearize::{Linearization, linearize, linearized_function};
pub use pass_statistics::{PassStatistics, PassStatisticsError, pass_statistics};
pub use reduce::{ReduceError, ReduceOptions, ReduceProgress, reduce, reduce_with};
pub use roundtrip::{Mismatch, Ways, roundtrip, roundtrip_declarations};
