#![doc = include_str!("../README.md")]

mod argument_types;
mod builder;
pub mod constant_folding;
pub mod dead_code;
pub mod effects;
mod error;
pub mod infer_types;
pub mod link_methods;
pub mod lower_arithmetic;
mod manager;
pub mod mem2reg;
mod replace;
pub mod reverse_mode;
pub mod rules;
pub mod simplify_cfg;
pub mod type_literals;
pub mod unreachable_code;

pub use argument_types::{argument_types, contradictory_arguments};
pub use builder::{BuildError, FunctionBuilder, Variable};
pub use error::{PassError, PassPlace};
pub use manager::{Context, NoSuchPass, PASSES, Pass, PassManager, PassResult, Run, Step, find_pass, run_on_function};
pub use replace::Replacements;
