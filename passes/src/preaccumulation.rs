//! Multiplies adjoints that loops carry by one number a round.

use std::collections::BTreeSet;

use bbcode::{BBCode, BlockGraph, BlockId, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::graph::{LoopForest, LoopId};
use ircode::{Constant, Module, NewInstruction, Operand, Scalar, Stmt, Type};
use slotmap::SecondaryMap;

use crate::manager::Context;
use crate::replace::Replacements;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "preaccumulation";

/// What is linear in a φ is followed over so many statements.
const MOST_STATEMENTS: usize = 256;

/// Lets a `Float64` that an innermost loop carries, and that is in each round a linear function of what it was, be
/// multiplied by one number a round: the coefficient, which is computed beside it. True if there was such a float.
///
/// Adjoints are such floats: in the loop of a pullback each is what the one of the next round was, multiplied and added
/// up. As written, a round waits for all of these operations of the one before; afterwards for one product, as the
/// coefficients of many rounds are computed at the same time.
///
/// **It changes rounding**, and therefore is in no pipeline unless it is asked for: products are taken in another
/// order. Where a coefficient overflows or underflows, and the adjoint is so small or large that its products did not,
/// the result is an infinity, a NaN or zero.
///
/// Linear are products with, and quotients by, what does not depend on the float in the round, sums, differences and
/// negatives of such, and φs of such. What else is computed from the float stays as it is, and so does what may be
/// undefined on some way, of which a product would be asked.
///
/// This is the preaccumulation of local Jacobians (Griewank and Walther, *Evaluating Derivatives*, 2nd ed., 10.2), of
/// one row and one column.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::parse_module;
/// use passes::{preaccumulation, run_on_function};
///
/// let parsed = parse_module("
/// function backwards(adjoint::Float64, a::Float64, n::Int64)::Float64
/// 1 ─      goto #2
/// 2 ┄ %2 = φ (#1 => adjoint, #3 => %6)::Float64
/// │   %3 = φ (#1 => 0, #3 => %9)::Int64
/// │   %4 = Base.mul_float(%2, a)::Float64
/// │   %5 = Base.div_float(%2, 3.0)::Float64
/// │   %6 = Base.add_float(%4, %5)::Float64
/// │   %7 = Base.slt_int(%3, n)::Bool
/// └──      goto #4 if not %7
/// 3 ─ %9 = Base.add_int(%3, 1)::Int64
/// └──      goto #2
/// 4 ─      return %6
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// assert!(run_on_function(&mut module, &"backwards".into(), preaccumulation::run)?);
/// for clean in [passes::constant_folding::run, passes::dead_code::run] {
///     run_on_function(&mut module, &"backwards".into(), clean)?;
/// }
/// let code = ircode::IRCode::try_from(&module.functions()[0].body)?.to_string();
/// assert!(code.contains("\
/// │   %4 = Base.add_float(_3, 0.3333333333333333)::Float64
/// │   %5 = Base.mul_float(%2, %4)::Float64
/// "), "{code}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let graph = bb.cfg();
    let loops = graph.loops();
    if loops.iter().len() == 0 || bb.has_handlers() {
        return Ok(false);
    }
    bb.name_phi_edges();
    let parents: HashSet<LoopId> = loops.iter().filter_map(|(_, each)| each.parent).collect();
    let mut blocks: HashMap<LoopId, Vec<BlockId>> = HashMap::new();
    for number in graph.graph().postorder().into_iter().rev() {
        if let (Some(id), Some(block)) = (loops.innermost(number), graph.block(number)) {
            blocks.entry(id).or_default().push(block);
        }
    }
    let undefined = bb.maybe_undefined();
    let mut found = Vec::new();
    for (id, each) in loops.iter().filter(|(id, each)| !each.irreducible && !parents.contains(id)) {
        let (Some(header), Some(blocks)) = (graph.block(each.header), blocks.get(&id)) else { continue };
        let uses = Uses::in_blocks(bb, blocks);
        let search =
            Search { module: context.module, bb, graph: &graph, loops: &loops, id, uses, undefined: &undefined };
        found.extend(bb.phi_nodes(header).filter_map(|(phi, _)| search.recurrence(phi)));
    }
    let mut replaced = Replacements::new();
    for recurrence in &found {
        recurrence
            .rewrite(bb, &mut replaced)
            .map_err(|error: EditError| PassError::because(NAME, context.function, error))?;
    }
    replaced.apply(bb);
    Ok(!found.is_empty())
}

/// A φ at the header of a loop that is, on each round, what it was times a number.
struct Recurrence {
    phi: InstId,
    /// What it is in the next round.
    next: InstId,
    /// What is linear in the φ and needed for the next round, definitions before uses.
    steps: Vec<InstId>,
}

/// The statements of a loop in the order of a round, and where in it values are used.
struct Uses {
    statements: Vec<InstId>,
    of: SecondaryMap<InstId, Vec<usize>>,
}

impl Uses {
    /// Of blocks that stand each after those that come before it in a round.
    fn in_blocks(bb: &BBCode, blocks: &[BlockId]) -> Uses {
        let mut uses = Uses { statements: Vec::new(), of: SecondaryMap::new() };
        for (id, inst) in blocks.iter().flat_map(|&block| bb.insts(block)) {
            let position = uses.statements.len();
            uses.statements.push(id);
            inst.stmt.for_each_use(|value| {
                if let Some(entry) = uses.of.entry(value) {
                    entry.or_default().push(position);
                }
            });
        }
        uses
    }
}

struct Search<'a> {
    module: &'a Module<BBCode>,
    bb: &'a BBCode,
    graph: &'a BlockGraph,
    loops: &'a LoopForest,
    id: LoopId,
    uses: Uses,
    undefined: &'a SecondaryMap<InstId, ()>,
}

impl Search<'_> {
    /// How a φ at the header follows from what it was, if that is by more than one operation, all linear.
    fn recurrence(&self, phi: InstId) -> Option<Recurrence> {
        let next = self.next(phi)?;
        let header = self.bb.block_of(phi);
        let mut dependent: HashSet<InstId> = HashSet::from_iter([phi]);
        let mut linear: HashSet<InstId> = HashSet::from_iter([phi]);
        let mut order = Vec::new();
        let mut work: BTreeSet<usize> = self.uses.of.get(phi).into_iter().flatten().copied().collect();
        while let Some(position) = work.pop_first() {
            let Some(&id) = self.uses.statements.get(position) else { continue };
            let Some(inst) = self.bb.inst(id) else { continue };
            if matches!(inst.stmt, Stmt::Phi(_)) && self.bb.block_of(id) == header {
                continue;
            }
            let is_defined = !self.undefined.contains_key(id);
            if is_defined && inst.ty == Type::FLOAT64 && self.is_linear(&inst.stmt, &linear, &dependent) {
                linear.insert(id);
                order.push(id);
            }
            dependent.insert(id);
            if dependent.len() > MOST_STATEMENTS {
                return None;
            }
            work.extend(self.uses.of.get(id).into_iter().flatten().filter(|&&later| later > position));
        }
        let mut needed: HashSet<InstId> = HashSet::new();
        let mut work = vec![next];
        while let Some(id) = work.pop() {
            if !linear.contains(&id) {
                return None;
            }
            if id != phi && needed.insert(id) {
                self.bb.stmt(id)?.for_each_use(|value| work.extend(dependent.contains(&value).then_some(value)));
            }
        }
        order.retain(|id| needed.contains(id));
        (order.len() > 1).then_some(Recurrence { phi, next, steps: order })
    }

    /// What a float at the header takes from the end of each round.
    fn next(&self, phi: InstId) -> Option<InstId> {
        let is_defined = !self.undefined.contains_key(phi);
        let inst = self.bb.inst(phi).filter(|inst| is_defined && inst.ty == Type::FLOAT64)?;
        let inside = |block: BlockId| self.graph.number(block).is_some_and(|from| self.loops.contains(self.id, from));
        let mut around = inst.stmt.as_phi()?.entries.iter().filter(|entry| inside(entry.edge));
        let next = around.next()?.value.as_ref()?.as_value()?;
        around.all(|entry| entry.value == Some(Operand::Value(next))).then_some(next)
    }

    /// Whether a statement that uses what depends on the φ is linear in it.
    fn is_linear(&self, stmt: &Stmt<Ids>, linear: &HashSet<InstId>, dependent: &HashSet<InstId>) -> bool {
        let is_linear = |operand: &Operand<Ids>| operand.as_value().is_some_and(|value| linear.contains(&value));
        let is_free = |operand: &Operand<Ids>| match operand {
            Operand::Value(value) => !dependent.contains(value) && !self.undefined.contains_key(*value),
            operand => matches!(operand, Operand::Constant(_) | Operand::Argument(_)),
        };
        match stmt {
            Stmt::Phi(phi) => phi.entries.iter().all(|entry| entry.value.as_ref().is_some_and(is_linear)),
            Stmt::Value(copied) => is_linear(copied),
            stmt => match self.module.primitive_call(stmt).map(|(primitive, args)| (primitive.name, args)) {
                Some(("mul_float", [a, b])) => is_linear(a) && is_free(b) || is_free(a) && is_linear(b),
                Some(("div_float", [a, b])) => is_linear(a) && is_free(b),
                Some(("add_float" | "sub_float", [a, b])) => is_linear(a) && is_linear(b),
                Some(("neg_float", [a])) => is_linear(a),
                _ => false,
            },
        }
    }
}

impl Recurrence {
    /// Computes the coefficient beside what is linear, and lets the product with it be what the φ is next.
    fn rewrite(&self, bb: &mut BBCode, replaced: &mut Replacements) -> Result<(), EditError> {
        let one = Operand::Constant(Constant::from(Scalar::Float64(1.0)));
        let mut coefficients: HashMap<InstId, Operand<Ids>> = HashMap::from_iter([(self.phi, one)]);
        for &step in &self.steps {
            let Some(inst) = bb.inst(step) else { continue };
            let (mut stmt, line) = (inst.stmt.clone(), inst.line);
            stmt.for_each_operand_mut(&mut |operand| {
                if let Some(coefficient) = operand.as_value().and_then(|value| coefficients.get(&value)) {
                    *operand = coefficient.clone();
                }
            });
            let twin = bb.insert_after(step, NewInstruction::new(stmt, Type::FLOAT64).with_line(line))?;
            coefficients.insert(step, Operand::Value(twin));
        }
        let Some(Operand::Value(coefficient)) = coefficients.get(&self.next) else { return Ok(()) };
        let last_phi = bb.block_of(*coefficient).and_then(|block| bb.phi_nodes(block).last().map(|(id, _)| id));
        let is_phi = matches!(bb.stmt(*coefficient), Some(Stmt::Phi(_)));
        let after = last_phi.filter(|_| is_phi).unwrap_or(*coefficient);
        let line = bb.inst(self.next).map(|inst| inst.line).unwrap_or_default();
        let product =
            Stmt::call(Operand::global("Base", "mul_float"), [Operand::Value(self.phi), Operand::Value(*coefficient)]);
        let product = bb.insert_after(after, NewInstruction::new(product, Type::FLOAT64).with_line(line))?;
        replaced.insert(self.next, Operand::Value(product));
        Ok(())
    }
}
