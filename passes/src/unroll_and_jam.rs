//! Runs an inner loop for several rounds of the loop around it at once.

mod guard;
mod nests;
mod rows;

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::{Constant, Module, NewInstruction, Operand, PhiEntry, Scalar, Stmt, Type};

use self::nests::{Nest, Search};
use self::rows::{Jammed, Names, Round, Rows, Writer, named};
use crate::manager::Context;
use crate::preheaders::join_edges;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "unroll-and-jam";

/// So many rounds are run at once if the inner loop has as many rounds in each.
const ROUNDS: usize = 4;

/// And so many if not: all but one may have to do the rest alone.
const ROUNDS_THAT_DIFFER: usize = 2;

/// Runs an inner loop that adds something up for several rounds of the loop around it at once. True if there was such a loop.
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
/// Sums of floats are chains in which each addition waits for the one before. Of several chains, one is computed while the others wait; and what
/// is the same in all rounds, like `x[j]`, is loaded once. All is computed in the order in which it was: no bit changes.
///
/// Four rounds are run at once where the inner loop has as many rounds in each, two where it may have more in one: that one does the rest alone.
///
/// The inner loop does nothing but compute and load, from arrays of numbers that are made outside of both, and ends where a counter is the same as a bound, as
/// loops over ranges do. What later rounds start with, and whether there are any, is computed when the inner loop is entered; so it must not depend on
/// what the rest of the round does. That may store to arrays and work on stacks. Before several rounds are run it is looked whether all
/// elements are there that they load, and whether arrays share memory (`mightalias`) of which one is loaded from and the other stored to, where that is not
/// seen; if so, the loop is run for one round.
///
/// The transformation is Callahan, Cocke and Kennedy, *Estimating interlock and improving balance for pipelined architectures* (1988); sums
/// are carried to the rounds that they are of, rather than the rests of rounds being joined. Takes time linear in the function. Left
/// alone are loops that are irreducible or gone around from several blocks, inner loops with branches, and functions with try/catch.
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
    if !nested || bb.all_insts().any(|(_, inst)| matches!(inst.stmt, Stmt::Enter(_))) {
        return Ok(false);
    }
    let domtree = graph.dominators();
    let nests = Search { module: context.module, bb, graph: &graph, loops: &loops, domtree: &domtree }.nests();
    if nests.is_empty() {
        return Ok(false);
    }
    bb.name_phi_edges();
    let mut changed = false;
    let mut replaced = Names::new();
    for mut nest in nests {
        nest.rename(&replaced);
        changed |= nest
            .jam(bb, context.module, &mut replaced)
            .map_err(|error| PassError::new(NAME, context.function, error.to_string()))?;
    }
    Ok(changed)
}

/// A value of the inner loop that is used behind it.
struct Found {
    value: InstId,
    ty: Type,
    users: Vec<InstId>,
}

impl Found {
    fn zero(&self) -> Operand<Ids> {
        match self.ty.as_scalar() {
            Some(ty) => Constant::from(Scalar::from_bits(ty, 0)).into(),
            None => Constant::Nothing.into(),
        }
    }
}

impl Nest {
    fn jam(&self, bb: &mut BBCode, module: &Module<BBCode>, replaced: &mut Names) -> Result<bool, EditError> {
        let (outer, inner) = (&self.outer, &self.inner);
        let results = self.results(bb);
        let growth = self.rounds_grow(bb, module);
        let rounds = if growth == Some(0) { ROUNDS } else { ROUNDS_THAT_DIFFER };
        if results.is_empty() || results.iter().any(|result| result.ty.as_scalar().is_none()) {
            return Ok(false);
        }
        let line = bb.terminator(inner.test).map(|(_, inst)| inst.line).unwrap_or_default();
        // The loop as it was has a block of its own in front of it, and one behind it.
        let blocks = join_edges(bb, inner.header, &[inner.before]).zip(join_edges(bb, inner.exit, &[inner.test]));
        let Some((single, exit)) = blocks else { return Ok(false) };
        let choice = bb.insert_block_before(single)?;
        let reuse = bb.insert_block_after(choice)?;
        let check = bb.insert_block_after(reuse)?;
        let prepare = bb.insert_block_after(check)?;
        if let Some((id, _)) = bb.terminator(inner.before)
            && let Some(inst) = bb.inst_mut(id)
        {
            inst.stmt.for_each_target_mut(|target| {
                if *target == single {
                    *target = choice;
                }
            });
        }
        if bb.next(inner.before) == Some(single) {
            bb.set_next(inner.before, Some(choice))?;
        }
        let mut writer = Writer { bb, module, line };

        // For how many rounds from this one on the loop has been run before, and what came out.
        let zero = Operand::from(0);
        let left = self.carry(&mut writer, zero.clone(), Type::INT64)?;
        let mut there: Vec<Vec<InstId>> = Vec::new();
        for result in &results {
            let phis = (1..rounds).map(|_| self.carry(&mut writer, result.zero(), result.ty.clone()));
            there.push(phis.collect::<Result<_, _>>()?);
        }
        let none = Stmt::call(Operand::global("Core", "==="), [Operand::Value(left), zero.clone()]);
        let none = writer.push(choice, none, Type::BOOL)?;
        writer.branch(choice, Operand::Value(none), check, reuse)?;
        let fewer = writer.call(reuse, "sub_int", [Operand::Value(left), Operand::from(1)], Type::INT64)?;
        writer.goto(reuse, exit)?;

        let mut rows = Rows::new(rounds);
        let lasts = guard::lasts(&mut writer, &mut rows, self, check, rounds)?;
        // The round that has the fewest rounds of the inner loop ends it.
        let lead = if growth.is_some_and(|growth| growth < 0) { rounds - 1 } else { 0 };
        let holds = guard::guard(&mut writer, &mut rows, self, check, &lasts, lead)?;
        writer.branch(check, holds, prepare, single)?;

        let mut runs = Vec::new();
        for later in 0..rounds {
            for operand in inner.operands(writer.bb) {
                rows.operand(&mut writer, self, prepare, &operand, later)?;
            }
            let starts = inner.carried.iter();
            let starts = starts.map(|carried| rows.operand(&mut writer, self, prepare, &carried.start, later));
            let starts = starts.collect::<Result<Vec<_>, _>>()?;
            runs.push(Round { names: rows.of(later), starts });
        }
        runs.swap(0, lead);
        let jammed = Jammed::write(&mut writer, inner, prepare, &runs)?;

        // What is left of those that have more rounds, one after the other.
        let mut end = jammed.exit;
        let mut found: Vec<Vec<Operand<Ids>>> = Vec::new();
        let least = lasts.get(lead);
        for (at, (run, names)) in runs.iter().zip(&jammed.names).enumerate() {
            let value = |names: &Names, result: &Found| named(names, &Operand::Value(result.value));
            let mut values: Vec<Operand<Ids>> = results.iter().map(|result| value(names, result)).collect();
            // The one that leads changed places with the first.
            let last = lasts.get(if at == lead {
                0
            } else if at == 0 {
                lead
            } else {
                at
            });
            if let (Some(least), Some(last)) = (least, last.filter(|last| Some(*last) != least)) {
                let more = writer.bb.insert_block_after(end)?;
                let mut names = names.clone();
                for &id in &inner.behind {
                    let copy = writer.copy(more, id, &names)?;
                    names.insert(id, copy);
                }
                let starts = inner.carried.iter().map(|carried| named(&names, &carried.next)).collect();
                let rest = Jammed::write(&mut writer, inner, more, &[Round { names: run.names.clone(), starts }])?;
                let done = writer.bb.insert_block_after(rest.exit)?;
                let same = Stmt::call(Operand::global("Core", "==="), [least.clone(), last.clone()]);
                let same = writer.push(end, same, Type::BOOL)?;
                writer.branch(end, Operand::Value(same), done, more)?;
                writer.goto(rest.exit, done)?;
                for (value_now, result) in values.iter_mut().zip(&results) {
                    let of_rest = rest.names.first().map(|names| value(names, result));
                    let phi = Stmt::phi([(end, Some(value_now.clone())), (rest.exit, of_rest)]);
                    *value_now = Operand::Value(writer.push(done, phi, result.ty.clone())?);
                }
                end = done;
            }
            found.push(values);
        }
        found.swap(0, lead);
        writer.goto(end, exit)?;

        // Where the loop was left, all three ways come together.
        let meet = |writer: &mut Writer<'_>, ways: [Operand<Ids>; 3], ty: &Type| {
            let edges = [inner.test, reuse, end].into_iter().zip(ways.map(Some));
            let phi = NewInstruction::new(Stmt::phi(edges), ty.clone()).with_line(line);
            writer.bb.insert_at_start(exit, phi)
        };
        let others = Operand::from(rounds as i64 - 1);
        let mut carried = vec![(left, zero.clone(), meet(&mut writer, [zero, fewer, others], &Type::INT64)?)];
        for (number, (result, there)) in results.iter().zip(&there).enumerate() {
            // What the rounds have, from this one on, and what is there when the loop was not run for others.
            let found = |later: usize| {
                found.get(later).and_then(|values| values.get(number)).cloned().unwrap_or_else(|| result.zero())
            };
            let before = |later: usize| there.get(later).map_or_else(|| result.zero(), |phi| Operand::Value(*phi));
            let this = meet(&mut writer, [Operand::Value(result.value), before(0), found(0)], &result.ty)?;
            replaced.insert(result.value, Operand::Value(this));
            for &user in &result.users {
                if let Some(inst) = writer.bb.inst_mut(user) {
                    inst.stmt.for_each_operand_mut(&mut |operand| {
                        if operand.as_value() == Some(result.value) {
                            *operand = Operand::Value(this);
                        }
                    });
                }
            }
            for (later, &phi) in there.iter().enumerate() {
                let ways = [result.zero(), before(later + 1), found(later + 1)];
                carried.push((phi, result.zero(), meet(&mut writer, ways, &result.ty)?));
            }
        }
        for (phi, zero, value) in carried {
            let value = match &self.meeting {
                None => value,
                Some(meeting) => {
                    let ty = writer.bb.operand_type(&Operand::Value(value));
                    let left = if meeting.left == inner.test { exit } else { meeting.left };
                    let edges = [(meeting.skipped, Some(zero)), (left, Some(Operand::Value(value)))];
                    let joined = NewInstruction::new(Stmt::phi(edges), ty).with_line(line);
                    writer.bb.insert_at_start(meeting.block, joined)?
                }
            };
            if let Some(Stmt::Phi(phi)) = writer.bb.inst_mut(phi).map(|inst| &mut inst.stmt) {
                phi.entries.push(PhiEntry { edge: outer.latch, value: Some(Operand::Value(value)) });
            }
        }
        Ok(true)
    }

    /// A φ at the header of the outer loop, which takes nothing yet from the end of a round.
    fn carry(&self, writer: &mut Writer<'_>, start: Operand<Ids>, ty: Type) -> Result<InstId, EditError> {
        let phi = NewInstruction::new(Stmt::phi([(self.outer.before, Some(start))]), ty).with_line(writer.line);
        writer.bb.insert_at_start(self.outer.header, phi)
    }

    /// The values of the inner loop that are used behind it.
    fn results(&self, bb: &mut BBCode) -> Vec<Found> {
        let inner = &self.inner;
        let of_loop = inner.carried.iter().map(|carried| carried.phi).chain(inner.body.iter().copied());
        let values: Vec<InstId> = of_loop.collect();
        let mut results = Vec::new();
        for value in values {
            let mut users = bb.users(value);
            users.dedup();
            users.retain(|&user| match bb.block_of(user) {
                Some(block) if block == inner.header || block == inner.test => false,
                _ => inner.is_outside(&Operand::Value(user)),
            });
            if !users.is_empty() {
                results.push(Found { value, ty: bb.operand_type(&Operand::Value(value)), users });
            }
        }
        results
    }
}
