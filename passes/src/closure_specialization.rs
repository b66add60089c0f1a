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
pub(crate) use specializer::most_statements;

/// The pass's name on the command line.
pub const NAME: &str = "closure-specialization";

/// Gives functions what closures capture in the place of the closures, on the whole module; of `function` and what it
/// gives rise to only, if that is given. True if anything changed. [`specialize`] says how, and what came of it.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    Ok(specialize(module, function)?.changed)
}

/// Where a function g is given closures that `partial_apply` makes in the same function — copies and π on the way are
/// looked through — by a call, or by a `partial_apply` that captures them, g is cloned: the clone takes what the
/// closures capture in their place, makes them anew where it starts, and calls what they apply. The report says what
/// was specialised, and why other closures stay.
///
/// - The clone takes g's other parameters in their order, and behind them what each closure captures. A closure without
///   captures adds nothing, and one that is given twice adds its captures once.
/// - It is done inside out: a closure that captures closures is itself a place where a function is given closures. So
///   of a chain (subset-parameter thunks, pullbacks of pullbacks) only what its innermost closures capture is left. The
///   clone is gone over in its turn.
/// - A parameter is worth it if g applies it: itself, through closures that capture it, or through what it calls with
///   it.
/// - A closure that captures others stays what it is where the module asks of any closure, by `applies` or `captured`,
///   whether it is one of the same function.
/// - A clone is made once for each g and the functions of its closures. It is called `g_spec_2h1_3same2`: parameter
///   `_2` was a closure of `h`, or of a clone of it, with one capture, and `_3` the same closure. A function of that
///   name that an earlier run has left, and that is the same, is used; where another has the name, a number follows.
/// - Closures in the payloads of enums, and in `BBKit.Stack`s, that the function makes: if all that is put in a place
///   are closures of one function, what they capture takes that place: nothing, the only capture, or a tuple of them.
///   The enum is declared anew, as `E_spec_a_2` if the second element of the payload of case `a` is another; the
///   closure is made anew where it is taken out. For that the function and all that it gives the enum or the stack to
///   must do nothing with it but take it apart, fill it, join it with others by φs, and hand it on; else it stays, and
///   what it holds. An enum that holds one that is declared anew is so, too; others are left alone. A closure that is
///   not seen to be made stays what it is, as an element of the new enum.
/// - Recursion ends: a function is specialised at most 8 times within itself, and clones make the module grow to at
///   most five times its size, and 4096 statements. Beyond, closures stay.
/// - Functions and enums that a specialisation has taken the place of somewhere, and that nothing mentions any more,
///   are removed. No other is, nor is `only`. A caller that wants to call a function by its name afterwards, though the
///   module itself gives it closures, has to give it a mention, or to single it out.
///
/// It never changes what is computed; that a wrong case of an enum is taken apart is no error any more where nothing is
/// left of what is taken out. After `autodiff-closure-specialization` of the Swift compiler
/// (`ClosureSpecialization.swift`) and the design for enums in its issue #68944, with the difference that places are
/// found everywhere, and not only in the closure that a function returns, that loops are specialised, and that chains
/// are from the inside out. It takes time linear in the module.
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
/// assert_eq!(report.specialized[0].to_string(), "main, %2: twice became twice_spec_2scaled1");
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
    let left = most_statements(module);
    Ok(specializer::Specializer::new(module, left).run(only)?.0)
}

/// Specialises as [`run`] does, with clones of so many statements at most, which are counted down: for passes that
/// specialise several times.
pub(crate) fn run_up_to(module: &mut Module<BBCode>, function: Option<&Name>, left: &mut usize) -> PassResult {
    let (report, rest) = specializer::Specializer::new(module, *left).run(function)?;
    *left = rest;
    Ok(report.changed)
}
