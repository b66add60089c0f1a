//! Gives functions the values that closures capture in the place of the closures.

mod applied;
mod clones;
mod flow;
mod names;
mod places;
mod recast;
mod report;
mod rewrite;
mod specializer;
mod things;
mod unused;

use bbcode::BBCode;
use ircode::{Module, Name};

use crate::PassResult;

pub use report::{Kept, Misuse, Reason, Report, Specialized};

/// The pass's name on the command line.
pub const NAME: &str = "closure-specialization";

/// Gives functions what closures capture in the place of the closures, on the whole module; of `function` and what it gives rise to
/// only, if that is given. True if anything changed. [`specialize`] says how, and what came of it.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    Ok(specialize(module, function)?.changed)
}

/// Where a function g is given closures that `partial_apply` makes in the same function — copies and π on the way are looked through —
/// by a call, or by a `partial_apply` that captures them, g is cloned: the clone takes what the closures capture in their
/// place, makes them anew where it starts, and calls what they apply. The report says what was specialised, and why other closures stay.
///
/// - The clone takes g's other parameters in their order, and behind them what each closure captures. A closure without captures adds
///   nothing, and one that is given twice adds its captures once.
/// - It is done inside out: a closure that captures closures is itself a place where a function is given closures. So of a
///   chain (subset-parameter thunks, pullbacks of pullbacks) only what its innermost closures capture is left. The clone is gone over in its turn.
/// - A parameter is worth it if g applies it: itself, through closures that capture it, or through what it calls with it.
/// - A clone is made once for each g and the functions of its closures. It is called `g_spec_2h1_3same2`: parameter `_2` was a
///   closure of `h`, or of a clone of it, with one capture, and `_3` the same closure. Where a name is taken, a number follows.
/// - Recursion ends: a function is specialised at most [8 times](specializer::SAME) within itself, and clones make the module grow to
///   at most five times its size, and 4096 statements. Beyond, closures stay.
/// - Functions that a specialisation has taken the place of somewhere, and that nobody mentions any more, are removed. No other is, nor is
///   `only`.
///
/// After `AutodiffClosureSpecialization` of the Swift compiler (`ClosureSpecialization.swift`) and its design by J. Khan (2023), with the
/// difference that places are found everywhere, and not only in the closure that a function returns. It takes time linear in the module
/// and the clones.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_module;
/// use passes::closure_specialization::specialize;
///
/// let parsed = parse_module("
/// function scaled(x::Float64, by::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, by)::Float64
/// └──      return %1
/// end
/// function twice(f::BBKit.Closure{Tuple{Float64}, Float64}, x::Float64)::Float64
/// 1 ─ %1 = (f)(x)::Float64
/// │   %2 = (f)(%1)::Float64
/// └──      return %2
/// end
/// function main(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = BBKit.partial_apply(Main.scaled, y)::BBKit.Closure{Tuple{Float64}, Float64}
/// │   %2 = Main.twice(%1, x)::Float64
/// └──      return %2
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// let report = specialize(&mut module, None)?;
/// assert_eq!(report.specialized[0].to_string(), "main, %1: twice became twice_spec_2scaled1");
/// assert!(module.function("twice").is_none());
/// assert_eq!(module.function("main").unwrap().body.to_string(), "\
/// 1 ─ %2 = Main.twice_spec_2scaled1(_2, _3)::Float64
/// └── %3 = return %2
/// ");
/// assert_eq!(module.function("twice_spec_2scaled1").unwrap().body.to_string(), "\
/// 1 ─ %1 = Main.scaled(_2, _3)::Float64
/// │   %2 = Main.scaled(%1, _3)::Float64
/// └── %3 = return %2
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// None of code that the verifier accepts; a [`PassError`](crate::PassError) where an edit is refused.
pub fn specialize(module: &mut Module<BBCode>, only: Option<&Name>) -> Result<Report, crate::PassError> {
    specializer::Specializer::new(module).run(only)
}
