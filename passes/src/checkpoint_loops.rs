//! Turns long loops into calls of functions of some rounds each, which reverse mode runs again instead of saving all
//! rounds.

mod outside;
mod regions;
mod segment;

use bbcode::{BBCode, BlockId, EditError};
use hashbrown::{HashMap, HashSet};
use ircode::{BlockNumber, Callee, Function, Module, Name};

use self::outside::Outside;
use self::regions::{Found, regions};
use self::segment::segment;
use crate::analyses::failing::phi_from_outside;
use crate::differentiation::base_names::base_name;
use crate::differentiation::checkpointed::marked;
use crate::differentiation::dispatch;
use crate::error::PassPlace;
use crate::manager::{Context, PassResult};
use crate::reverse_mode::free_entry;
use crate::reverse_mode::survey::Survey;
use crate::rules::RuleTable;
use crate::{
    PassError, infer_types, link_methods, lower_arithmetic, lower_projections, lower_signs, mem2reg, type_literals,
    unreachable_code,
};

/// The pass's name on the command line.
pub const NAME: &str = "checkpoint-loops";

/// Turns loops into calls of their rounds, in the function that is named or in all: [`checkpoint_loops`].
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    checkpoint_loops(module, function).map(|report| !report.segments.is_empty())
}

/// What became of the loops.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// The functions that were made, that of a loop before those of loops in it.
    pub segments: Vec<Name>,
    /// The loops that stay as they are: the block at which control enters each, and why it stays. In the order of the
    /// module; loops that stand in others come before those around them.
    pub left: Vec<PassError>,
}

/// Turns loops into calls of functions of some of their rounds, so that reverse mode need not save what happens in all
/// of them. The program computes the same, to the last bit, and so does its gradient, but for what is said of sums
/// below.
///
/// A loop over carried values becomes
///
/// ```text
/// rounds = 1
/// repeat
///     exit, carried…, values used outside…, invariants… = f_segment1(rounds, carried…, invariants…)
///     rounds = rounds + 1
/// until exit is not 0
/// go where exit says
/// ```
///
/// and `f_segment1` does as many rounds as it is told, unless the loop is left before. It is marked as checkpointed
/// (`meta $(Expr(:meta, :checkpointed))` in a listing): reverse mode saves the arguments of a call only, and the
/// pullback runs the forward pass of a segment right before its reverse.
///
/// The segments grow by one round each, so that n rounds take s ≈ √(2n) calls, and the longest has as many rounds: at
/// any time the arguments of s calls and what s rounds save are held, wherever the loop ends. That needs no number of
/// rounds before the loop runs, so it is the same for counted and other loops; with the number known, √n rounds a
/// segment would hold less by a factor of √2. The body runs once more than without. This is checkpointing on two levels
/// (Griewank and Walther, *Evaluating Derivatives*, 2nd ed., chapter 12); fewer checkpoints at the price of more runs
/// (binomial checkpointing, their `revolve`) are not made, nor are more levels, but for loops in loops: these become
/// segments in the segments.
///
/// Sums of cotangents keep their order. Therefore a float that a loop only reads goes through the segments as a carried
/// value does: its cotangent then goes from segment to segment, and is not summed up in each. And carried values on
/// which no derivative depends count as constants in results of segments, or else infinities in them would come to be
/// multiplied with zero. The order of a sum may change all the same where what a loop reads is also taken out of a
/// tuple or struct behind it, seldom where a loop is left in the middle of a round, and where reverse mode would have
/// written out the loop.
///
/// A loop stays as it is, and loops in it are looked at, if
///
/// - it is irreducible, is never left, or is left in more than 64 ways;
/// - what goes around it or out of it is not numbers, or what goes into it holds objects beside floats in one value;
/// - such a value may be undefined;
/// - its body changes memory, prints, or calls what is not known.
///
/// One that calls segments has nothing left to do. What the body reads may change before and after the loop: when the
/// pullback gets to it, memory is as it was.
///
/// Slots that are variables become values, and types that a listing does not show are found. Functions with a `try`
/// stay as they are. Each level of loops takes time linear in the function.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::{IRCode, parse_module};
///
/// let parsed = parse_module("
/// function iterate(x::Float64, n::Int64)::Float64
/// 1 ─      goto #2
/// 2 ┄ %2 = φ (#1 => x, #3 => %6)::Float64
/// │   %3 = φ (#1 => 0, #3 => %7)::Int64
/// │   %4 = Base.slt_int(%3, n)::Bool
/// └──      goto #4 if not %4
/// 3 ─ %6 = Main.sin(%2)::Float64
/// │   %7 = Base.add_int(%3, 1)::Int64
/// └──      goto #2
/// 4 ─      return %2
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// let report = passes::checkpoint_loops::checkpoint_loops(&mut module, None)?;
/// assert_eq!(report.segments, ["iterate_segment1"]);
/// assert_eq!(IRCode::try_from(&module.function("iterate").unwrap().body)?.to_string(), "\
/// 1 ─       goto #2
/// 2 ┄ %2  = φ (#1 => 1, #3 => %9)::Int64
/// │   %3  = φ (#1 => _2, #3 => %7)::Float64
/// │   %4  = φ (#1 => 0, #3 => %8)::Int64
/// │   %5  = Main.iterate_segment1(%2, %3, %4, _3)::Tuple{Int64, Float64, Int64, Float64}
/// │   %6  = Core.getfield(%5, 1)::Int64
/// │   %7  = Core.getfield(%5, 2)::Float64
/// │   %8  = Core.getfield(%5, 3)::Int64
/// │   %9  = Base.add_int(%2, 1)::Int64
/// │   %10 = (%6 === 0)::Bool
/// └──       goto #4 if not %10
/// 3 ─       goto #2
/// 4 ─ %13 = Core.getfield(%5, 4)::Float64
/// └──       goto #5
/// 5 ─       goto #6
/// 6 ─       return %13
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`PassError`] if the rules of the module are not right, or a pass that comes before fails.
pub fn checkpoint_loops(module: &mut Module<BBCode>, function: Option<&Name>) -> Result<Report, PassError> {
    let of_module = Name::from("the module");
    let name = function.unwrap_or(&of_module).clone();
    checkpoint_loops_in(module, &name, |_, each| function.is_none_or(|only| *only == each.name))
}

/// As [`checkpoint_loops`], in the function of this name and in all that it may call. Invokes name the functions of the
/// module already.
pub(crate) fn checkpoint_loops_called(module: &mut Module<BBCode>, name: &Name) -> Result<Report, PassError> {
    let mut work: Vec<usize> = module.function_index(name).into_iter().collect();
    let candidates = dispatch::candidates(module, &work, true);
    work.extend(candidates.iter().filter_map(|candidate| candidate.function(module)));
    let mut called: HashSet<usize> = work.iter().copied().collect();
    while let Some(function) = work.pop().and_then(|index| module.functions().get(index)) {
        for (_, inst) in function.body.all_insts() {
            if let Some(Callee::Function(callee)) = module.called(&inst.stmt)
                && called.insert(callee)
            {
                work.push(callee);
            }
        }
    }
    checkpoint_loops_in(module, name, |index, _| called.contains(&index))
}

/// As [`checkpoint_loops`], in the functions of which `chosen` says so, given their positions. Errors that are of no
/// function are told of `name`.
fn checkpoint_loops_in(
    module: &mut Module<BBCode>,
    name: &Name,
    chosen: impl Fn(usize, &Function<BBCode>) -> bool,
) -> Result<Report, PassError> {
    link_methods::run_on_all(module, &[name])?;
    let rules = RuleTable::of_module(module).map_err(|error| PassError::because(NAME, name, error))?;
    let mut changed: Vec<Function<BBCode>> = Vec::new();
    let mut report = Report::default();
    let mut checkpointing =
        Checkpointing { module, survey: Survey::new(module, &rules), names: HashSet::new(), numbers: HashMap::new() };
    for (_, each) in module.functions().iter().enumerate().filter(|(index, each)| chosen(*index, each)) {
        // A segment stays as it is.
        if each.body.cfg().loops().iter().len() == 0 || marked(&each.body).is_some() {
            continue;
        }
        let mut work = vec![(each.clone(), None)];
        while let Some((mut function, own)) = work.pop() {
            let segments = checkpointing.function(&mut function, own, &mut report.left)?;
            if own.is_some() || !segments.is_empty() {
                changed.push(function);
            }
            report.segments.extend(segments.iter().map(|(segment, _)| segment.name.clone()));
            work.extend(segments.into_iter().rev().map(|(segment, header)| (segment, Some(header))));
        }
    }
    changed.into_iter().for_each(|function| module.replace_function(function));
    Ok(report)
}

struct Checkpointing<'a> {
    module: &'a Module<BBCode>,
    survey: Survey<'a>,
    /// The names that were given.
    names: HashSet<Name>,
    /// The last number given to a segment, by what its name begins with.
    numbers: HashMap<String, usize>,
}

impl Checkpointing<'_> {
    /// Turns the loops of a function into calls, but for the one with the header `own`, which a segment consists of.
    /// Gives what is called, each with the header of its loop.
    fn function(
        &mut self,
        function: &mut Function<BBCode>,
        own: Option<BlockId>,
        left: &mut Vec<PassError>,
    ) -> Result<Vec<(Function<BBCode>, BlockId)>, PassError> {
        let name = function.name.clone();
        let positions: HashMap<BlockId, usize> = function.body.blocks().zip(0..).collect();
        let mut stays = |block: Option<BlockId>, why: String| {
            let block =
                block.and_then(|block| positions.get(&block)).map(|&position| BlockNumber::from_index(position));
            let place = block.map(|block| PassPlace { block, statement: None, text: String::new(), origin: None });
            let error = PassError::new(NAME, &name, format!("a loop is not checkpointed: {why}"));
            left.push(PassError { place: place.map(Box::new), ..error });
        };
        let bb = &mut function.body;
        if bb.has_handlers() {
            stays(None, "the function has a `try`".into());
            return Ok(Vec::new());
        }
        // Which it would be no more behind a new entry.
        if phi_from_outside(bb).is_some() {
            stays(bb.entry(), "what a φ takes from outside of the function is undefined when it runs".into());
            return Ok(Vec::new());
        }
        let context = Context { module: self.module, function: &name };
        if own.is_none() {
            prepare(bb, &context)?;
        }
        let failed = |error: EditError| PassError::because(NAME, &name, error);
        let surveyed = self.survey.of(bb);
        let mut chosen = Vec::new();
        for found in regions(bb, &surveyed, own) {
            match found {
                Found::Region(region) => chosen.push(region),
                Found::Left(header, why) => stays(Some(header), why),
            }
        }
        let mut segments = Vec::new();
        for region in &chosen {
            let name = Self::free_name(self.module, &mut self.names, &mut self.numbers, &name);
            let made = segment(bb, region, &surveyed, &name).map_err(failed)?;
            segments.push((made.function, made.header));
        }
        let mut outside = Outside::default();
        for (region, (segment, _)) in chosen.iter().zip(&segments) {
            outside.replace(bb, region, segment).map_err(failed)?;
        }
        if !segments.is_empty() {
            outside.finish(bb).map_err(failed)?;
            mem2reg::run(bb, &context)?;
        }
        Ok(segments)
    }

    fn free_name(
        module: &Module<BBCode>,
        names: &mut HashSet<Name>,
        numbers: &mut HashMap<String, usize>,
        function: &Name,
    ) -> Name {
        let base = base_name(function);
        let last = numbers.entry(base.clone()).or_insert(0);
        loop {
            *last += 1;
            let name = Name::from(format!("{base}_segment{last}"));
            if module.function(&name).is_none() && names.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Brings a function into the form in which loops are looked at: variables are values, φs name all their edges, types
/// are known, and nothing goes to the entry.
fn prepare(bb: &mut BBCode, context: &Context<'_>) -> Result<(), PassError> {
    bb.name_phi_edges();
    let passes = [unreachable_code::run, type_literals::run, infer_types::run, lower_arithmetic::run, lower_signs::run];
    for run in [passes.as_slice(), &[lower_projections::run, mem2reg::run, infer_types::run]].concat() {
        run(bb, context)?;
    }
    free_entry(bb).map_err(|error| PassError::because(NAME, context.function, error))
}
