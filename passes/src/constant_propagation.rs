//! Finds what is constant on the ways that can be taken.

use bbcode::{BBCode, BlockGraph, BlockId, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Constant, Instruction, Module, Operand, Operands, Scalar, Stmt, Type};
use slotmap::SecondaryMap;

use crate::PassResult;
use crate::constant_folding::folded;
use crate::manager::Context;
use crate::replace::{Replacements, may_be_of};
use crate::simplify_cfg::fold_constant_branches;

/// The pass's name on the command line.
pub const NAME: &str = "constant-propagation";

/// Replaces by constants what is constant whenever control comes there, turns the branches that are decided by that
/// into gotos, and removes what is not reached then. True if anything changed.
///
/// A φ counts only the edges on which control can come, and what depends on a branch is looked at only once the branch
/// may go there: so `x = 1; while … x = (x == 1) ? 1 : f(x)` is a constant, which neither folding of constants nor
/// removing blocks finds without the other. What constants give is what [`constant_folding`](crate::constant_folding)
/// makes of them, which is what the interpreter computes; what throws stays. A φ with an edge on which it is undefined
/// is not taken for a constant.
///
/// This is sparse conditional constant propagation (Wegman and Zadeck, *Constant Propagation with Conditional
/// Branches*, 1991). Every value goes from unknown to a constant and from there to varying, each edge is found to be
/// taken once, and a φ is told which of its edges changed: all of it is linear in the uses and edges.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut changed = bb.name_phi_edges();
    let graph = bb.cfg();
    let (cells, reached) = Solver::new(bb, context.module, &graph).solve();
    let mut replaced = Replacements::new();
    let mut removed: Vec<InstId> = Vec::new();
    let blocks = graph.order().iter().zip(&reached).filter(|(_, reached)| **reached).map(|(&block, _)| block);
    for (id, inst) in blocks.flat_map(|block| bb.insts(block)) {
        if let Some(Cell::Constant(value)) = cells.get(id)
            && !inst.stmt.is_nothing()
            // The type of the last statement may be all that says why control does not go on.
            && inst.ty != Type::Bottom
        {
            replaced.insert(id, value.clone());
            removed.push(id);
        }
    }
    changed |= !removed.is_empty();
    replaced.apply(bb);
    for &id in &removed {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(id);
    }
    changed |= fold_constant_branches(bb);
    changed |= bb.remove_unreachable_blocks();
    bb.fill_empty_blocks();
    Ok(changed)
}

/// What is known of a value. Unknown is having none of these.
#[derive(Clone, PartialEq)]
enum Cell {
    /// It is this, whenever it is computed.
    Constant(Operand<Ids>),
    /// It may be different things.
    Varies,
}

/// Where a value is used.
#[derive(Clone, Copy)]
enum User {
    Statement(InstId),
    /// A φ takes it from this edge.
    Phi(InstId, Edge),
}

/// The numbers of the blocks from and to which it goes.
type Edge = (usize, usize);

struct Solver<'p> {
    bb: &'p BBCode,
    module: &'p Module<BBCode>,
    graph: &'p BlockGraph,
    cells: SecondaryMap<InstId, Cell>,
    /// By block, whether control can come there.
    reached: Vec<bool>,
    taken: HashSet<Edge>,
    /// The last of the users of each value, in `users`.
    last_user: SecondaryMap<InstId, usize>,
    /// The users of all values, each with the one of the same value that came before it.
    users: Vec<(User, Option<usize>)>,
    /// What φs take from an edge that is not taken yet.
    on_edge: HashMap<Edge, Vec<(InstId, &'p Operand<Ids>)>>,
    edges: Vec<Edge>,
    fallen: Vec<InstId>,
}

impl<'p> Solver<'p> {
    fn new(bb: &'p BBCode, module: &'p Module<BBCode>, graph: &'p BlockGraph) -> Self {
        let mut solver = Solver {
            bb,
            module,
            graph,
            cells: SecondaryMap::with_capacity(bb.inst_count()),
            reached: vec![false; graph.order().len()],
            taken: HashSet::new(),
            last_user: SecondaryMap::with_capacity(bb.inst_count()),
            users: Vec::with_capacity(bb.inst_count()),
            on_edge: HashMap::new(),
            edges: Vec::new(),
            fallen: Vec::new(),
        };
        for (number, &block) in graph.order().iter().enumerate() {
            for (id, inst) in bb.insts(block) {
                let Stmt::Phi(phi) = &inst.stmt else {
                    inst.stmt.for_each_use(|used| solver.add_user(used, User::Statement(id)));
                    continue;
                };
                let defined = phi.entries.iter().all(|entry| entry.value.is_some());
                if number == 0 || !defined || graph.has_virtual_predecessor(block) {
                    solver.cells.insert(id, Cell::Varies);
                    continue;
                }
                for entry in &phi.entries {
                    let (Some(from), Some(value)) = (graph.number(entry.edge), &entry.value) else { continue };
                    let edge = (from, number);
                    solver.on_edge.entry(edge).or_default().push((id, value));
                    if let Some(value) = value.as_value() {
                        solver.add_user(value, User::Phi(id, edge));
                    }
                }
            }
        }
        solver
    }

    fn add_user(&mut self, used: InstId, user: User) {
        let before = self.last_user.insert(used, self.users.len());
        self.users.push((user, before));
    }

    fn solve(mut self) -> (SecondaryMap<InstId, Cell>, Vec<bool>) {
        self.reach(0);
        loop {
            if let Some(edge) = self.edges.pop() {
                self.take(edge);
            } else if let Some(value) = self.fallen.pop() {
                let mut at = self.last_user.get(value).copied();
                while let Some(&(user, before)) = at.and_then(|at| self.users.get(at)) {
                    at = before;
                    match user {
                        User::Statement(id) => {
                            let block = self.bb.block_of(id).and_then(|block| self.graph.number(block));
                            if block.is_some_and(|block| self.reached.get(block) == Some(&true)) {
                                self.visit(id);
                            }
                        }
                        User::Phi(id, edge) if self.taken.contains(&edge) => {
                            self.meet(id, &Operand::Value(value));
                        }
                        User::Phi(..) => {}
                    }
                }
            } else {
                break;
            }
        }
        (self.cells, self.reached)
    }

    fn take(&mut self, edge: Edge) {
        if !self.taken.insert(edge) {
            return;
        }
        let brought = self.on_edge.remove(&edge).unwrap_or_default();
        for &(phi, value) in &brought {
            self.meet(phi, value);
        }
        let (_, to) = edge;
        if let Some(block) = self.graph.block(to) {
            let all = self.bb.phi_nodes(block).count();
            if all > brought.len() {
                // Some φ does not name the edge: there it is undefined.
                let named: HashSet<InstId> = brought.iter().map(|(phi, _)| *phi).collect();
                let phis: Vec<InstId> = self.bb.phi_nodes(block).map(|(id, _)| id).collect();
                for phi in phis.into_iter().filter(|phi| !named.contains(phi)) {
                    self.lower(phi, Cell::Varies);
                }
            }
        }
        self.reach(to);
    }

    /// Looks at the statements of a block to which control comes for the first time.
    fn reach(&mut self, number: usize) {
        let Some(reached) = self.reached.get_mut(number).filter(|reached| !**reached) else { return };
        *reached = true;
        let Some(block) = self.graph.block(number) else { return };
        let ids: Vec<InstId> = self.bb.inst_ids(block).collect();
        for id in ids {
            self.visit(id);
        }
        let decides =
            |(_, inst): (InstId, &Instruction<Ids>)| matches!(inst.stmt, Stmt::GotoIfNot(_) | Stmt::Switch(_));
        if !self.bb.terminator(block).is_some_and(decides) {
            self.go_anywhere(number);
        }
    }

    fn go_anywhere(&mut self, from: usize) {
        let graph = self.graph;
        self.edges.extend(graph.graph().successors(from).map(|to| (from, to)));
    }

    fn visit(&mut self, id: InstId) {
        let Some(inst) = self.bb.inst(id) else { return };
        match &inst.stmt {
            Stmt::Phi(_) => {}
            Stmt::GotoIfNot(_) | Stmt::Switch(_) => self.branch(id, &inst.stmt),
            _ => {
                if let Some(cell) = self.evaluate(inst) {
                    self.lower(id, cell);
                }
            }
        }
    }

    fn branch(&mut self, id: InstId, stmt: &Stmt<Ids>) {
        let Some(block) = self.bb.block_of(id) else { return };
        let Some(from) = self.graph.number(block) else { return };
        if self.bb.has_odd_edges(block) {
            self.go_anywhere(from);
            return;
        }
        let mut go = |to: Option<BlockId>| {
            if let Some(to) = to.and_then(|to| self.graph.number(to)) {
                self.edges.push((from, to));
            }
        };
        match stmt {
            Stmt::GotoIfNot(goto) => match as_bool(&self.cells, &goto.cond) {
                Decided::Not => {}
                Decided::Is(true) => go(self.bb.next(block)),
                Decided::Is(false) => go(Some(goto.dest)),
                Decided::Either => {
                    go(Some(goto.dest));
                    go(self.bb.next(block));
                }
            },
            Stmt::Switch(switch) => {
                for (cond, &dest) in switch.conds().iter().zip(switch.dests()) {
                    match as_bool(&self.cells, cond) {
                        Decided::Not => return,
                        Decided::Is(true) => {}
                        Decided::Is(false) => return go(Some(dest)),
                        Decided::Either => go(Some(dest)),
                    }
                }
                go(Some(switch.fallthrough_dest()));
            }
            _ => {}
        }
    }

    /// What a statement that is no φ gives; `None` if that is not known yet.
    fn evaluate(&self, inst: &Instruction<Ids>) -> Option<Cell> {
        match &inst.stmt {
            Stmt::Value(value) => cell(&self.cells, value),
            Stmt::Pi(pi) => Some(match cell(&self.cells, &pi.value)? {
                Cell::Constant(value) if !may_be_of(self.module, self.bb, &value, &pi.ty) => Cell::Varies,
                cell => cell,
            }),
            stmt => {
                let Some((primitive, args)) = self.module.primitive_call(stmt) else { return Some(Cell::Varies) };
                let mut known = Operands::<Ids>::with_capacity(args.len());
                for arg in args {
                    known.push(match cell(&self.cells, arg)? {
                        Cell::Constant(value) => value,
                        Cell::Varies => arg.clone(),
                    });
                }
                match folded(self.module, primitive, &known) {
                    Some(value) => cell(&self.cells, &value),
                    None => Some(Cell::Varies),
                }
            }
        }
    }

    /// Lets a φ take an operand from an edge that is taken.
    fn meet(&mut self, phi: InstId, operand: &Operand<Ids>) {
        let Some(brought) = cell(&self.cells, operand) else { return };
        let met = match self.cells.get(phi) {
            Some(known) if *known != brought => Cell::Varies,
            _ => brought,
        };
        self.lower(phi, met);
    }

    fn lower(&mut self, id: InstId, cell: Cell) {
        let is_declared =
            |value: &Operand<Ids>| self.bb.inst(id).is_none_or(|inst| may_be_of(self.module, self.bb, value, &inst.ty));
        let cell = match cell {
            Cell::Constant(value) if !is_declared(&value) => Cell::Varies,
            cell => cell,
        };
        let known = self.cells.get(id);
        // What varies stays so, whatever is found out about its operands.
        if known != Some(&cell) && known != Some(&Cell::Varies) {
            self.cells.insert(id, cell);
            self.fallen.push(id);
        }
    }
}

fn cell(cells: &SecondaryMap<InstId, Cell>, operand: &Operand<Ids>) -> Option<Cell> {
    Some(match operand {
        Operand::Value(value) => return cells.get(*value).cloned(),
        Operand::Constant(constant) if is_known(constant) && !matches!(constant, Constant::Symbol(_)) => {
            Cell::Constant(operand.clone())
        }
        Operand::Quote(constant) if is_known(constant) => Cell::Constant(operand.clone()),
        Operand::Global(global) => match global.known_value() {
            Some(value) => Cell::Constant(value.clone().into()),
            None => Cell::Varies,
        },
        _ => Cell::Varies,
    })
}

/// Whether two constants that look the same are the same.
fn is_known(constant: &Constant) -> bool {
    matches!(
        constant,
        Constant::Nothing
            | Constant::Scalar(_)
            | Constant::String(_)
            | Constant::Symbol(_)
            | Constant::Type(_)
            | Constant::Function(_)
    )
}

/// What is known of a condition.
enum Decided {
    /// It is not known yet.
    Not,
    Is(bool),
    Either,
}

fn as_bool(cells: &SecondaryMap<InstId, Cell>, operand: &Operand<Ids>) -> Decided {
    match cell(cells, operand) {
        None => Decided::Not,
        Some(Cell::Constant(Operand::Constant(Constant::Scalar(Scalar::Bool(value))))) => Decided::Is(value),
        Some(_) => Decided::Either,
    }
}
