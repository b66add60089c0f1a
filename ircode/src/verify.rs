//! The verifier: one for both representations.
//!
//! It finds all violations rather than the first, and does not panic on anything. What it checks is Julia's
//! `verify_ir`, and that names name something; [`Check`] lists it. As in Julia, blocks that the entry does not reach
//! may hold anything, as long as what they name exists.

mod check;
mod tables;

use std::fmt;

use smallvec::SmallVec;

use crate::constant::Constant;
use crate::graph::DomTree;
use crate::head::Head;
use crate::names::{Names, Positions};
use crate::operand::GlobalRef;
use crate::operand::Operand;
use crate::scalar::Scalar;
use crate::stmt::{CallNode, ExprNode, PhiNode, Stmt};
use crate::types::Type;
use crate::view::{BlockView, Body, StatementView, View};
use crate::wording::counted;

pub use check::Check;
pub use tables::{TableCheck, TableViolation, TableViolations, verify_tables};

/// A condition that a program does not meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation<N: Names> {
    /// The condition.
    pub check: Check,
    /// The block.
    pub block: Option<N::Block>,
    /// The statement; `None` where a block as a whole is concerned.
    pub statement: Option<N::Value>,
    /// What is wrong.
    pub message: String,
    /// What would mend it.
    pub help: Option<String>,
}

impl<N: Names> fmt::Display for Violation<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.check.code())?;
        match (self.block, self.statement) {
            (Some(block), Some(statement)) => write!(f, "{statement} in block {block}: ")?,
            (Some(block), None) => write!(f, "block {block}: ")?,
            (None, Some(statement)) => write!(f, "{statement}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)
    }
}

/// The violations found in one function. Never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violations<N: Names>(pub Vec<Violation<N>>);

impl<N: Names> fmt::Display for Violations<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, violation) in self.0.iter().enumerate() {
            write!(f, "{}{violation}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl<N: Names> std::error::Error for Violations<N> {}

impl crate::IRCode {
    /// Checks the code, see [`Check`] for the conditions.
    ///
    /// # Errors
    ///
    /// All violations.
    pub fn verify(&self) -> Result<(), Violations<Positions>> {
        verify(self)
    }
}

/// Checks a body in either representation.
///
/// # Errors
///
/// All violations, in the order of the checks' stages and then of the statements.
pub fn verify<B: Body>(body: &B) -> Result<(), Violations<B::Names>> {
    verify_with_globals(body, |_| true)
}

/// As [`verify`], by somebody who knows of globals whether they are defined and constant, as Julia's verifier does:
/// those of which `is_constant` says that they are not may not be operands, but for what is called. (Julia takes those
/// of `Base` and `Core` for constants.)
///
/// ```
/// use ircode::{Check, parse_function, verify_with_globals};
///
/// let ir = parse_function("
/// 1 ─ %1 = Base.add_int(_2, Main.counter)::Int64
/// └──      return %1
/// ")?.body;
/// assert!(ir.verify().is_ok());
/// let violations = verify_with_globals(&ir, |global| global.name != "counter").unwrap_err();
/// assert_eq!(violations.0[0].check, Check::GlobalIsConstant);
/// # Ok::<(), ircode::TextError>(())
/// ```
///
/// # Errors
///
/// All violations.
pub fn verify_with_globals<B: Body>(
    body: &B,
    is_constant: impl Fn(&GlobalRef) -> bool,
) -> Result<(), Violations<B::Names>> {
    let view = body.view();
    let mut verifier = Verifier { view: &view, is_constant: &is_constant, violations: Vec::new() };
    verifier.check_ranges();
    verifier.check_names();
    verifier.check_edges();
    // Dominance and placement mean nothing while names or ranges are broken.
    if verifier.violations.is_empty() {
        let domtree = view.graph().dominators();
        let mut pending: Vec<(usize, &StatementView<'_, B::Names>)> = Vec::new();
        for statement in view.statements.iter().filter(|statement| statement.pending.is_some()) {
            pending.extend(statement.block.map(|block| (block, statement)));
        }
        pending.sort_by_key(|&(block, _)| block);
        let mut pending = pending.into_iter().peekable();
        let mut statements = Vec::new();
        for (index, block) in view.blocks.iter().enumerate() {
            // As they will stand once the pending ones have their place.
            statements.clear();
            statements.extend(view.block_statements(block));
            let placed = statements.len();
            while let Some((_, statement)) = pending.next_if(|&(block, _)| block == index) {
                statements.push(statement);
            }
            if statements.len() > placed {
                statements.sort_by_key(|statement| statement.order);
            }
            if domtree.is_reachable(index) {
                verifier.check_block_end(block, &statements);
                verifier.check_block(index, block, &statements, &domtree);
            }
        }
    }
    let exempt = |check: Check| matches!((view.julia, check.since()), (Some(made), Some(since)) if made < since);
    verifier.violations.retain(|violation| !exempt(violation.check));
    match verifier.violations {
        violations if violations.is_empty() => Ok(()),
        violations => Err(Violations(violations)),
    }
}

struct Verifier<'v, 'a, N: Names> {
    view: &'v View<'a, N>,
    is_constant: &'v dyn Fn(&GlobalRef) -> bool,
    violations: Vec<Violation<N>>,
}

impl<'a, N: Names> Verifier<'_, 'a, N> {
    fn report(&mut self, check: Check, block: Option<N::Block>, statement: Option<N::Value>, message: String) {
        self.violations.push(Violation { check, block, statement, message, help: None });
    }

    fn report_with_help(
        &mut self,
        check: Check,
        block: Option<N::Block>,
        statement: Option<N::Value>,
        message: String,
        help: String,
    ) {
        self.violations.push(Violation { check, block, statement, message, help: Some(help) });
    }

    fn at(&mut self, check: Check, statement: &StatementView<'a, N>, message: String) {
        let block = statement.block.and_then(|block| self.view.blocks.get(block)).map(|block| block.name);
        self.report(check, block, Some(statement.name), message);
    }

    fn check_ranges(&mut self) {
        let placed = self.view.statements.iter().filter(|statement| statement.pending.is_none()).count();
        // Of a statement at this position, which may be any number here.
        let number = |position: usize| position.saturating_add(1);
        let mut end = 0;
        for block in &self.view.blocks {
            let range = &block.statements;
            if range.end > placed || range.start > range.end {
                let message = format!("it holds the statements {}:{} of {placed}", number(range.start), range.end);
                self.report(Check::RangeInside, Some(block.name), None, message);
            } else if range.start != end {
                let message = format!("it starts at statement {}, not at {}", number(range.start), number(end));
                self.report(Check::RangesContiguous, Some(block.name), None, message);
            }
            end = range.end;
        }
        if self.view.blocks.is_empty() {
            self.report(Check::EntryExists, None, None, "there are no blocks".into());
        }
        if let Some(last) = self.view.blocks.last()
            && end < placed
        {
            let message = format!("it ends with statement {end}, but there are {placed}");
            self.report(Check::RangesComplete, Some(last.name), None, message);
        }
    }

    fn check_names(&mut self) {
        let view = self.view;
        for block in &view.blocks {
            if let Some(next) = block.fallthrough.filter(|&next| view.block_index(next).is_none()) {
                let message = format!("it falls through to {next}, which does not exist");
                self.report(Check::TargetExists, Some(block.name), None, message);
            }
        }
        for (index, statement) in view.statements.iter().enumerate() {
            // Conversion lowers switches where they end blocks; IRCode has none to stand anywhere else.
            let ends = statement
                .block
                .and_then(|block| view.blocks.get(block))
                .is_none_or(|block| block.statements.end == index + 1);
            if matches!(statement.stmt, Stmt::Switch(_)) && !ends {
                self.at(Check::TerminatorLast, statement, "it ends a block, but statements follow in this one".into());
            }
            if statement.pending.is_some_and(|pending| pending.anchor.is_none()) {
                self.at(Check::PendingAnchor, statement, "it goes next to a statement that does not exist".into());
            }
            statement.stmt.for_each_operand(&mut |operand| {
                self.check_operand_exists(statement, operand);
                if let Operand::Nested(nested) = operand
                    && let Stmt::Expr(inner) = &**nested
                {
                    self.check_operands_are_uses(statement, inner);
                }
            });
            if let Stmt::Expr(expr) = statement.stmt {
                self.check_operands_are_uses(statement, expr);
            }
            let mut missing = Vec::new();
            statement.stmt.for_each_target(|block| {
                if view.block_index(block).is_none() {
                    missing.push(block);
                }
            });
            for block in missing {
                self.at(Check::TargetExists, statement, format!("it goes to {block}, which does not exist"));
            }
            if let Stmt::Phi(phi) = statement.stmt {
                for entry in &phi.entries {
                    if entry.edge != N::virtual_block() && view.block_index(entry.edge).is_none() {
                        let message = format!("it names the edge from {}, which does not exist", entry.edge);
                        self.at(Check::TargetExists, statement, message);
                    }
                }
            }
        }
    }

    fn check_operand_exists(&mut self, statement: &StatementView<'a, N>, operand: &Operand<N>) {
        match operand {
            Operand::Value(value) if self.view.value_index(*value).is_none() => {
                self.at(Check::ValueExists, statement, format!("it uses {value}, which does not exist"));
            }
            Operand::Argument(argument) => {
                let count = self.view.argtypes.len();
                if argument.0 == 0 || (count > 0 && argument.0 as usize > count) {
                    let message = format!("it uses {argument}, but the function has the arguments _1 to _{count}");
                    self.at(Check::ArgumentExists, statement, message);
                }
            }
            Operand::Nested(nested) => {
                if let Stmt::Expr(ExprNode { head: Head::StaticParameter, args }) = &**nested
                    && let Some(Operand::Constant(Constant::Scalar(Scalar::Int64(number)))) = args.first()
                {
                    let count = self.view.sptypes.len();
                    if *number < 1 || (count > 0 && *number as usize > count) {
                        let message = format!("it uses the static parameter {number} of {count}");
                        self.at(Check::ArgumentExists, statement, message);
                    }
                }
            }
            _ => {}
        }
    }

    fn check_operands_are_uses(&mut self, statement: &StatementView<'a, N>, expr: &ExprNode<N>) {
        if expr.head.operands_are_uses() {
            return;
        }
        for value in expr.args.iter().filter_map(Operand::as_value) {
            let name = expr.head.name();
            let message = format!("it names {value}, but the operands of `{name}` are not renamed with values");
            self.at(Check::OperandsAreUses, statement, message);
        }
    }

    fn check_edges(&mut self) {
        let view = self.view;
        let exists = |block: N::Block| view.block_index(block).is_some();
        for block in &view.blocks {
            let preds = block.preds.iter().filter(|&&pred| pred != N::virtual_block());
            for &edge in preds.chain(&block.succs) {
                if !exists(edge) {
                    let message = format!("it has an edge to or from {edge}, which does not exist");
                    self.report(Check::EdgeExists, Some(block.name), None, message);
                }
            }
        }
        if self.violations.iter().any(|violation| violation.check == Check::EdgeExists) {
            return;
        }
        // Edges counted once a direction; a sort keeps it linear but for a logarithm.
        let edges = |of: fn(&BlockView<N>) -> &[N::Block], turned: bool| {
            let mut edges: Vec<(usize, usize)> = Vec::with_capacity(2 * view.blocks.len());
            for (here, block) in view.blocks.iter().enumerate() {
                let others = of(block).iter().filter_map(|&other| view.block_index(other));
                edges.extend(others.map(|other| if turned { (other, here) } else { (here, other) }));
            }
            edges.sort_unstable();
            edges
        };
        let succs = edges(|block| &block.succs, false);
        let preds = edges(|block| &block.preds, true);
        if succs == preds {
            return;
        }
        let count = |edges: &[(usize, usize)], edge: (usize, usize)| {
            edges.partition_point(|&e| e <= edge) - edges.partition_point(|&e| e < edge)
        };
        let name = |index: usize| view.blocks.get(index).map(|block| block.name);
        let mut previous = None;
        for &edge in &preds {
            if previous.replace(edge) == Some(edge) {
                continue;
            }
            if let (0, Some(from)) = (count(&succs, edge), name(edge.0)) {
                let message = format!("it names {from} as a predecessor, which does not name it as a successor");
                self.report(Check::PredecessorHasEdge, name(edge.1), None, message);
            }
        }
        let mut previous = None;
        for &edge in &succs {
            if previous.replace(edge) == Some(edge) {
                continue;
            }
            if let Some(to) = name(edge.1) {
                let there = count(&preds, edge);
                if there == 0 {
                    let message = format!("it names {to} as a successor, which does not name it as a predecessor");
                    self.report(Check::SuccessorHasEdge, name(edge.0), None, message);
                } else if count(&succs, edge) > there {
                    let message = format!("it names {to} as a successor twice, which names it as a predecessor once");
                    self.report(Check::PredecessorHasEdge, name(edge.0), None, message);
                }
            }
        }
    }

    /// The edges of a reachable block are those that its last statement implies.
    fn check_block_end(&mut self, block: &BlockView<N>, statements: &[&StatementView<'a, N>]) {
        // Julia's compaction may leave statements behind an enter, which then still ends the block.
        let enter = statements.iter().copied().find(|statement| !matches!(statement.stmt, Stmt::Phi(_)));
        let before_dead = statements.iter().rev().find(|statement| !statement.stmt.may_follow_unreachable());
        let last = match enter.filter(|first| matches!(first.stmt, Stmt::Enter(_))) {
            Some(enter) if !statements.last().is_some_and(|last| last.stmt.is_terminator()) => Some(enter),
            _ => before_dead.filter(|last| last.stmt.is_unreachable()).or(statements.last()).copied(),
        };
        let mut expected: SmallVec<[N::Block; 8]> = SmallVec::new();
        let mut check = Check::FallthroughEdges;
        if let Some(last) = last {
            last.stmt.for_each_target(|target| expected.push(target));
            check = match last.stmt {
                Stmt::Return(_) => Check::ReturnEdges,
                Stmt::Goto(_) | Stmt::Switch(_) => Check::GotoEdges,
                Stmt::GotoIfNot(_) => Check::GotoIfNotEdges,
                Stmt::Enter(_) => Check::EnterEdges,
                _ => Check::FallthroughEdges,
            };
        }
        let falls_through = last.is_none_or(|last| last.stmt.falls_through());
        if falls_through {
            let never_returns = last.is_some_and(|last| *last.ty == Type::Bottom);
            if check == Check::FallthroughEdges && never_returns && block.succs.is_empty() {
                return;
            }
            match block.fallthrough {
                Some(next) => expected.push(next),
                None => {
                    let message = "control runs out of it: there is no block to fall through to".to_string();
                    let help = "end it with a goto, a return or `unreachable`".to_string();
                    self.report_with_help(check, Some(block.name), last.map(|last| last.name), message, help);
                    return;
                }
            }
        }
        let mut actual: SmallVec<[N::Block; 8]> = SmallVec::from_slice(&block.succs);
        actual.sort_unstable();
        expected.sort_unstable();
        if check == Check::GotoIfNotEdges && N::POSITIONAL && expected.first() == expected.get(1) {
            let target = expected.first().map(ToString::to_string).unwrap_or_default();
            let message = format!("it goes to {target} in both cases");
            let help = format!("make it `goto {target}`");
            self.report_with_help(check, Some(block.name), last.map(|last| last.name), message, help);
        } else if actual != expected {
            let list = |blocks: &[N::Block]| match blocks {
                [] => "none".to_string(),
                blocks => blocks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            };
            let message =
                format!("its successors are {}, but it ends so that they should be {}", list(&actual), list(&expected));
            self.report(check, Some(block.name), last.map(|last| last.name), message);
        }
    }

    fn check_block(
        &mut self,
        index: usize,
        block: &BlockView<N>,
        statements: &[&StatementView<'a, N>],
        domtree: &DomTree,
    ) {
        let mut in_phis = true;
        // Julia 1.5 leaves `unreachable`s and what does nothing behind an `unreachable`, where a call turned out to
        // return never.
        let is_dead = |stmt: &Stmt<N>| stmt.is_unreachable() || stmt.may_follow_unreachable();
        let dead = match statements.iter().rposition(|statement| !is_dead(statement.stmt)) {
            Some(last) => last + 1,
            None => 0,
        };
        let mut preds: SmallVec<[N::Block; 8]> = SmallVec::new();
        for (i, statement) in statements.iter().enumerate() {
            if let Stmt::Phi(phi) = statement.stmt {
                if preds.is_empty() {
                    preds.extend_from_slice(&block.preds);
                    preds.sort_unstable();
                }
                if !in_phis && i <= dead {
                    let message = "it is a φ behind a statement that is none".to_string();
                    self.at(Check::PhiAtStart, statement, message);
                }
                self.check_phi((index, block, &preds), statement, phi, domtree);
                continue;
            }
            in_phis = in_phis && statement.stmt.may_stand_among_phis();
            if statement.stmt.is_terminator() {
                // A switch is asked everywhere, see `check_names`.
                let mut behind = statements.iter().skip(i + 1);
                let stores = matches!(statement.stmt, Stmt::Enter(_))
                    && behind.clone().all(|behind| matches!(behind.stmt, Stmt::Upsilon(_)));
                if behind.next().is_some() && i < dead && !stores && !matches!(statement.stmt, Stmt::Switch(_)) {
                    let message = "it ends a block, but statements follow in this one".to_string();
                    self.at(Check::TerminatorLast, statement, message);
                }
                if !matches!(statement.stmt, Stmt::Return(_)) && *statement.ty != Type::Any {
                    let message = format!("it has the type {:?}, not Any", statement.ty);
                    self.at(Check::TerminatorType, statement, message);
                }
            }
            self.check_statement(statement, domtree);
        }
    }

    fn check_phi(
        &mut self,
        // With its index and its predecessors, sorted.
        (index, block, preds): (usize, &BlockView<N>, &[N::Block]),
        statement: &StatementView<'a, N>,
        phi: &PhiNode<N>,
        domtree: &DomTree,
    ) {
        let mut edges: SmallVec<[N::Block; 8]> = phi.entries.iter().map(|entry| entry.edge).collect();
        edges.sort_unstable();
        for pair in edges.windows(2) {
            if let [edge, again] = pair
                && edge == again
            {
                self.at(Check::PhiEdgesUnique, statement, format!("it names the edge from {edge} twice"));
            }
        }
        for entry in &phi.entries {
            let is_virtual = entry.edge == N::virtual_block();
            if !(preds.binary_search(&entry.edge).is_ok() || is_virtual && index == 0) {
                let message = format!("it names the edge from {}, which is no predecessor", entry.edge);
                self.at(Check::PhiEdgesArePredecessors, statement, message);
            }
            if let (true, Some(Operand::Value(value))) = (is_virtual, &entry.value) {
                // Nothing was computed where control comes from outside.
                let message = format!("{value} is not defined on the edge from {}", entry.edge);
                self.at(Check::PhiValueDominates, statement, message);
            }
            let Some(pred) = self.view.block_index(entry.edge).filter(|&pred| domtree.is_reachable(pred)) else {
                continue;
            };
            if let Some(value) = &entry.value {
                self.check_operand(statement, value);
            }
            let Some(value) = entry.value.as_ref().and_then(Operand::as_value) else { continue };
            let Some(definition) = self.view.value_index(value).and_then(|i| self.view.statements.get(i)) else {
                continue;
            };
            if !definition.block.is_some_and(|from| domtree.dominates(from, pred)) {
                let message = format!("{value} is not defined on every path to the end of {}", entry.edge);
                let help = format!("define {value} in a block that dominates {}", entry.edge);
                let name = Some(block.name);
                self.report_with_help(Check::PhiValueDominates, name, Some(statement.name), message, help);
            }
            self.check_has_result(statement, definition);
        }
    }

    fn check_statement(&mut self, statement: &StatementView<'a, N>, domtree: &DomTree) {
        match statement.stmt {
            Stmt::Phi(_) => return,
            Stmt::PhiC(phic) => {
                for operand in &phic.values {
                    let stored = operand.as_value().and_then(|value| self.view.value_index(value));
                    let stored = stored.and_then(|index| self.view.statements.get(index));
                    if !stored.is_some_and(|stored| matches!(stored.stmt, Stmt::Upsilon(_))) {
                        let message = "one of its operands is no ϒ statement".to_string();
                        self.at(Check::PhiCNamesUpsilons, statement, message);
                    }
                }
                // A φᶜ reads what a ϒ stored, wherever that is.
                return;
            }
            Stmt::Expr(expr) => self.check_expression(statement, expr),
            _ => {}
        }
        // Tokens of gc_preserve span try regions, where values may not; the operands of cglobal are no values.
        let exempt = match statement.stmt {
            Stmt::Expr(expr) => expr.head == Head::GcPreserveEnd,
            Stmt::Call(CallNode { callee: Operand::Global(global), .. }) => global.name == "cglobal",
            _ => false,
        };
        if exempt {
            return;
        }
        statement.stmt.for_each_operand(&mut |operand| match operand {
            Operand::Value(value) => {
                let definition = self.view.value_index(*value).and_then(|index| self.view.statements.get(index));
                if let Some(definition) = definition {
                    self.check_dominates(statement, definition, domtree);
                    self.check_has_result(statement, definition);
                }
            }
            other => self.check_operand(statement, other),
        });
    }

    /// What is true of an operand wherever it stands.
    fn check_operand(&mut self, statement: &StatementView<'a, N>, operand: &Operand<N>) {
        match operand {
            Operand::Nested(nested) if !may_be_nested(statement.stmt, nested) => {
                let message = "it holds an expression inside an expression".to_string();
                let help = "give the inner expression a statement of its own".to_string();
                let block = statement.block.and_then(|block| self.view.blocks.get(block)).map(|block| block.name);
                self.report_with_help(Check::NestedExpression, block, Some(statement.name), message, help);
            }
            Operand::Global(global) if !may_be_undefined(statement.stmt) && !(self.is_constant)(global) => {
                let module = if global.module.is_empty() { "" } else { "." };
                let message = format!("{}{module}{} is no defined constant", global.module, global.name);
                let help = "give the global a statement of its own".to_string();
                let block = statement.block.and_then(|block| self.view.blocks.get(block)).map(|block| block.name);
                self.report_with_help(Check::GlobalIsConstant, block, Some(statement.name), message, help);
            }
            _ => {}
        }
    }

    fn check_dominates(&mut self, user: &StatementView<'a, N>, definition: &StatementView<'a, N>, domtree: &DomTree) {
        let (Some(from), Some(to)) = (definition.block, user.block) else { return };
        let fine = if from == to { definition.order < user.order } else { domtree.dominates(from, to) };
        if fine {
            return;
        }
        let name = definition.name;
        let (message, help) = if definition.name == user.name {
            (format!("it uses its own result {name}"), None)
        } else if from == to {
            (format!("it uses {name}, which is computed only later in the block"), None)
        } else {
            let block = self.view.blocks.get(from).map(|block| block.name.to_string()).unwrap_or_default();
            let message =
                format!("it uses {name}, but not every path to it goes through {block}, where that is computed");
            (message, Some(format!("a φ can bring {name} here, or its definition can move to a common dominator")))
        };
        let block = self.view.blocks.get(to).map(|block| block.name);
        self.violations.push(Violation {
            check: Check::DefinitionDominates,
            block,
            statement: Some(user.name),
            message,
            help,
        });
    }

    fn check_has_result(&mut self, user: &StatementView<'a, N>, definition: &StatementView<'a, N>) {
        let jump = match definition.stmt {
            Stmt::Goto(_) => "a goto",
            Stmt::GotoIfNot(_) => "a goto-if-not",
            Stmt::Return(ret) if ret.value.is_some() => "a return",
            Stmt::Switch(_) => "a switch",
            _ => return,
        };
        let message = format!("it uses {}, the result of {jump}, which has none", definition.name);
        self.at(Check::JumpHasNoResult, user, message);
    }

    fn check_expression(&mut self, statement: &StatementView<'a, N>, expr: &ExprNode<N>) {
        // Before 1.10 globals were assigned to so, and most listings do not say how old they are.
        let may_be_old = self.view.julia.is_none() && matches!(expr.args.first(), Some(Operand::Global(_)));
        if expr.head == Head::Assign && !may_be_old {
            let message = "it is an assignment".to_string();
            self.at(Check::NoAssignment, statement, message);
        }
        if let Some(properties) = expr.head.properties() {
            let count = expr.args.len();
            if count < properties.min_operands || properties.max_operands.is_some_and(|max| count > max) {
                let expected = match properties.max_operands {
                    Some(max) if max == properties.min_operands => counted(max, "operand"),
                    Some(max) => format!("{} to {max} operands", properties.min_operands),
                    None => format!("at least {}", counted(properties.min_operands, "operand")),
                };
                let message = format!("`{}` takes {expected}, not {count}", properties.name);
                self.at(Check::OperandCount, statement, message);
            }
        }
        if expr.head == Head::Leave {
            for operand in &expr.args {
                let named = operand.as_value().and_then(|value| self.view.value_index(value));
                let named = named.and_then(|index| self.view.statements.get(index)).map(|token| token.stmt);
                let fine = match (operand, named) {
                    // Up to Julia 1.10, the number of handlers to leave.
                    (Operand::Constant(Constant::Scalar(Scalar::Int64(_)) | Constant::Nothing), _) => true,
                    (_, Some(token)) => matches!(token, Stmt::Enter(_)) || token.is_nothing(),
                    _ => false,
                };
                if !fine {
                    let message = "one of its operands is not the result of an enter".to_string();
                    self.at(Check::LeaveTokens, statement, message);
                }
            }
        }
    }
}

/// Whether a global may stand in the statement that is not defined or changes: read by a statement of its own, asked
/// for, or assigned to.
fn may_be_undefined<N: Names>(stmt: &Stmt<N>) -> bool {
    match stmt {
        Stmt::Value(_) => true,
        Stmt::Expr(expr) => matches!(expr.head, Head::IsDefined | Head::ThrowUndefIfNot | Head::Assign),
        _ => false,
    }
}

fn may_be_nested<N: Names>(outer: &Stmt<N>, inner: &Stmt<N>) -> bool {
    match inner {
        Stmt::Expr(expr) => matches!(expr.head, Head::StaticParameter | Head::Boundscheck),
        Stmt::Call(_) => matches!(outer, Stmt::Expr(ExprNode { head: Head::Foreigncall, .. })),
        _ => false,
    }
}
