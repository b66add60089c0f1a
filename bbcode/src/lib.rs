#![doc = include_str!("../README.md")]

mod cfg;
mod code;
mod convert;
mod display;
mod edit;
mod ids;
mod json;
mod numbering;
mod view;

pub use cfg::{BlockGraph, UniquePredecessors};
pub use code::{BBCode, BBlock, OddEdges};
pub use convert::ConversionError;
pub use display::{display_violations, print_function, print_module};
pub use edit::EditError;
pub use ids::{BlockId, Ids, InstId, Numbers, Switch, UnequalSwitch};
pub use json::BBCodeForm;

/// φ keyed by ID.
pub type IDPhiNode = ircode::PhiNode<Ids>;
/// A goto keyed by ID.
pub type IDGotoNode = ircode::GotoNode<Ids>;
/// A goto-if-not keyed by ID. Its else-target is the block's [`next`](BBlock::next).
pub type IDGotoIfNot = ircode::GotoIfNot<Ids>;
