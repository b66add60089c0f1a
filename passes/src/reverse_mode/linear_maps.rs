//! The carrier of linear maps, as in Swift: each active call becomes one of its VJP, which returns a pullback beside
//! the value; the pullbacks of a block, and what else its reverse needs, are the block's *linear-map tuple*.
//!
//! ```text
//! f_vjp(args…, shadows…) -> (value, [shadow,] pullback)
//! f_pullback(seed, captured…) -> (nothing, cotangents of the arguments…)
//! ```
//!
//! The tuple of a block travels along the edge that control takes out of it, as the payload of a case of the
//! *branch-tracing enum* of the block that follows: `f_vjp_bb4` has a case for each predecessor of the fourth block,
//! whose payload begins with the predecessor's own trace. The tuple of the block that returns is captured by the
//! returned pullback, which is a closure.
//!
//! What says nothing is left out: the trace of a block to which control comes by one way, along which nothing came.
//!
//! A nest of loops is one node in this: its trace is one stack. Each way around a loop, and into one inside, pushes
//! what the round did as a case of an enum, `f_vjp_loop3`; where only one way does, as a tuple. Within a round, traces
//! begin at the header. Who leaves the nest takes along the stack, the trace from before the nest, and the trace of the
//! last round as far as it went. Where a loop has several entries there is no header to begin at: there, each edge
//! pushes the tuple of the block that it leaves, and the case says at the same time where control came from: Mooncake's
//! block stack.
//!
//! The pullback reads stacks by cursors and payloads without changing them.

pub(super) mod normal_form;
mod pullback;
pub(super) mod rule_pullbacks;
pub(super) mod traces;
mod vjp;

use bbcode::BBCode;
use ircode::{Module, Name};

use super::{Carrier, Options, derive};
use crate::manager::{PassResult, named_or_only};

/// The pass's name on the command line.
pub const NAME: &str = "linear-maps";

/// Adds the derivative of a function with linear maps to its module: of the one named, or of the only one.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let name = named_or_only(module, function).map_err(|none| none.of(NAME, "differentiated"))?;
    derive(module, &name, &Options { carrier: Carrier::LinearMaps, ..Options::default() })?;
    Ok(true)
}
