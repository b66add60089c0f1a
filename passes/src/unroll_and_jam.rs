//! Runs an inner loop for several rounds of the loop around it at once.

mod early;
mod guard;
mod jam;
mod nests;
mod rows;

use bbcode::BBCode;

use self::nests::{Changes, Search};
use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "unroll-and-jam";

/// Runs an inner loop that adds something up for several rounds of the loop around it at once. True if there was such a
/// loop.
///
/// ```text
/// for i in 1:n                            for i in 1:n
///     a = 0.0                                 if this round has its sum from the one before
///     for j in 1:m                                a = b
///         a += x[j] * y[i, j]                 elseif another round follows, and nothing fails
///     end                        becomes          a = b = 0.0
///     z[i] = a                                    for j in 1:m
/// end                                                 a += x[j] * y[i, j]
///                                                     b += x[j] * y[i + 1, j]
///                                                 end
///                                             else
///                                                 …
///                                             end
///                                             z[i] = a
///                                         end
/// ```
///
/// Sums of floats are chains in which each addition waits for the one before. Of several chains, one is computed while
/// the others wait; and what is the same in all rounds, like `x[j]`, is loaded once. All is computed in the order in
/// which it was: no bit changes.
///
/// Four rounds are run at once where the inner loop has as many rounds in each, two where it may have more in one: that
/// one does the rest alone.
///
/// The inner loop does nothing but compute and load, from arrays of numbers that are made outside of both, and ends
/// where a counter is the same as a bound, as loops over ranges do. What later rounds start with, and whether there are
/// any, is computed when the inner loop is entered; so it must not depend on what the rest of the round does. That may
/// store to arrays and work on stacks. Before several rounds are run it is looked whether all elements are there that
/// they load, and whether arrays share memory (`mightalias`) of which one is loaded from and the other stored to, where
/// that is not seen; if so, the loop is run for one round.
///
/// The transformation is Callahan, Cocke and Kennedy, *Estimating interlock and improving balance for pipelined
/// architectures* (1988); sums are carried to the rounds that they are of, rather than the rests of rounds being
/// joined. Takes time linear in the function. Left alone are loops that are irreducible or gone around from several
/// blocks, inner loops with branches, and functions with try/catch.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_module;
/// use passes::{run_on_function, unroll_and_jam};
///
/// let parsed = parse_module("
/// function columns!(z::Vector{Float64}, y::Matrix{Float64}, n::Int64)::Nothing
/// 1 ─       goto #2
/// 2 ┄ %2  = φ (#1 => 1, #8 => %16)::Int64
/// 3 ┄ %3  = φ (#2 => 1, #5 => %10)::Int64
/// │   %4  = φ (#2 => 0.0, #5 => %6)::Float64
/// │   %5  = Base.arrayref(true, y, %3, %2)::Float64
/// │   %6  = Base.add_float(%4, %5)::Float64
/// │   %7  = (%3 === n)::Bool
/// └──       goto #5 if not %7
/// 4 ─       goto #6
/// 5 ─ %10 = Base.add_int(%3, 1)::Int64
/// └──       goto #3
/// 6 ─       Base.arrayset(true, z, %6, %2)::Vector{Float64}
/// │   %13 = (%2 === n)::Bool
/// └──       goto #8 if not %13
/// 7 ─       return nothing
/// 8 ─ %16 = Base.add_int(%2, 1)::Int64
/// └──       goto #2
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// assert!(run_on_function(&mut module, &"columns!".into(), unroll_and_jam::run)?);
/// assert!(module.functions()[0].body.verify().is_ok());
/// // What was transformed is not so again.
/// assert!(!run_on_function(&mut module, &"columns!".into(), unroll_and_jam::run)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let graph = bb.cfg();
    let loops = graph.loops();
    let nested = loops.iter().any(|(_, each)| each.parent.is_some());
    if !nested || bb.has_handlers() {
        return Ok(false);
    }
    let domtree = graph.dominators();
    let undefined = bb.maybe_undefined();
    let search =
        Search { module: context.module, bb, graph: &graph, loops: &loops, domtree: &domtree, undefined: &undefined };
    let nests = search.nests();
    if nests.is_empty() {
        return Ok(false);
    }
    bb.name_phi_edges();
    let mut changed = false;
    let mut changes = Changes::default();
    for mut nest in nests {
        nest.update(&changes);
        changed |= nest
            .jam(bb, context.module, &mut changes)
            .map_err(|error| PassError::because(NAME, context.function, error))?;
    }
    Ok(changed)
}
