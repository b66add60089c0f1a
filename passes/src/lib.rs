#![doc = include_str!("../README.md")]

mod argument_types;
pub mod array_scalar_replacement;
mod builder;
pub mod checkpoint_loops;
mod checkpointed;
pub mod closure_folding;
pub mod closure_specialization;
pub mod common_subexpressions;
pub mod constant_folding;
pub mod constant_propagation;
pub mod copy_propagation;
pub mod dead_code;
pub mod derivative_entries;
pub mod differentiability;
mod dispatch;
pub mod effects;
mod error;
pub mod forward_mode;
pub mod infer_types;
pub mod inlining;
pub mod jump_threading;
pub mod link_methods;
mod local_arrays;
pub mod loop_invariant_motion;
mod loop_ranges;
pub mod loop_unrolling;
pub mod lower_arithmetic;
pub mod lower_broadcast;
pub mod lower_projections;
pub mod lower_switch;
mod manager;
pub mod mem2reg;
mod preheaders;
mod preparation;
mod replace;
pub mod reverse_mode;
pub mod rules;

pub mod scalar_promotion;
pub mod scalar_replacement;
pub mod simplify;
pub mod simplify_cfg;
mod slots;
pub mod split_critical_edges;
pub mod type_literals;
pub mod unreachable_code;
mod with_respect_to;
mod witnesses;

pub use ircode::tangents;

pub use argument_types::{argument_types, contradictory_arguments};
pub use builder::{BuildError, FunctionBuilder, Variable};
pub use error::{PassError, PassPlace};
pub use forward_mode::linearization;
pub use manager::{Context, NoSuchPass, PASSES, Pass, PassManager, PassResult, Run, Step, find_pass, run_on_function};
pub use replace::Replacements;
