#![doc = include_str!("../README.md")]

mod analyses;
mod blocks;
mod cfg;
mod chains;
mod code;
mod convert;
mod display;
mod edit;
mod error;
mod ids;
mod json;
mod liveness;
mod numbering;
mod phi_edges;
mod store;
mod surgery;
mod transaction;
mod undefined;
mod uses;
mod view;

pub use analyses::{Dominators, Loops, PostDominators};
pub use blocks::{IR_FLAG_REFINED, is_reachable_return_node, new_inst};
pub use cfg::{BlockGraph, UniquePredecessors};
pub use code::{BBCode, BBlock, OddEdges};
pub use convert::ConversionError;
pub use display::{display_violations, print_function, print_module};
pub use error::EditError;
pub use ids::{BlockId, Ids, InstId, Numbers, Switch, UnequalSwitch};
pub use json::BBCodeForm;
pub use liveness::Liveness;
pub use phi_edges::PhiEdgeChange;
pub use surgery::{ClonedRegion, CopiedInsts, Cursor, Inlined, Outlined, add_argument, remove_argument};
pub use transaction::Transaction;
// Their types are in the public interface.
pub use {hashbrown, slotmap};

/// φ keyed by ID.
pub type IDPhiNode = ircode::PhiNode<Ids>;
/// A goto keyed by ID.
pub type IDGotoNode = ircode::GotoNode<Ids>;
/// A goto-if-not keyed by ID: where its condition holds, control goes on to the block's [`next`](BBlock::next).
pub type IDGotoIfNot = ircode::GotoIfNot<Ids>;
