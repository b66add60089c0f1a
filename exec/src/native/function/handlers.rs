//! Exceptions that are caught: which handler takes them where, how control gets to it, and what φᶜ nodes find there.
//!
//! In the care of a handler, a failing call or check does not go to where the function fails, but to a block that asks
//! whether the error is an exception, and goes on to the catch block if so. Values that were made before the handler
//! was entered are known there, as they are variables; what ϒ statements store for a φᶜ are variables of their own, of
//! which the catch block finds the latest.

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use hashbrown::HashMap;
use ircode::primitives::Primitive;
use ircode::{EnterNode, HandlerStyle, Head, IRCode, Module, Operand, Positions, SSAValue, ScalarType, Stmt, Type};

use super::phis::{phi_type, successors};
use super::sites::Work;
use super::variables::Held;
use super::{Compiled, FunctionCompiler, Typed, trusted};
use crate::native::loops::CountedLoop;
use crate::native::runtime::context::offset;
use crate::native::runtime::helpers::Helper;
use crate::prepare::{catch_block_leaves, left_handlers};

/// What may be done with an exception however the objects in it have changed since it was thrown.
const HARMLESS: &[&str] = &["isa", "typeof", "throw"];

/// A handler that has been entered and not been left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entered {
    /// By the statement of this number, to catch.
    Catching(usize),
    /// It catches nothing, or has caught already and waits to be left.
    Idle,
}

/// The handlers of a function.
#[derive(Debug, Default)]
pub(crate) struct Handlers {
    /// By block, the handlers that have been entered before it, the innermost last.
    entered: Vec<Option<Vec<Entered>>>,
    /// By the statement that enters a handler, where control goes with an error.
    landings: HashMap<usize, ir::Block>,
    /// By φᶜ, what was stored for it last.
    stored: HashMap<usize, Held>,
    /// By ϒ, the φᶜs that it stores for.
    stores: HashMap<usize, Vec<usize>>,
}

/// The handlers that are left when the last statement of a block is done: on the way on, and where the block catches.
fn after(
    ir: &IRCode,
    style: HandlerStyle,
    block: usize,
    entered: &[Entered],
) -> (Vec<Entered>, Option<(usize, Vec<Entered>)>) {
    let last = ir.cfg.blocks.get(block).and_then(|block| block.stmts.clone().next_back());
    let stmt = last.and_then(|last| Some((last, ir.stmts.stmts().get(last)?)));
    let mut on = entered.to_vec();
    match stmt {
        Some((statement, Stmt::Enter(enter))) => match enter.catch_dest {
            Some(catch) => {
                on.push(Entered::Catching(statement));
                let mut caught = entered.to_vec();
                if catch_block_leaves(ir, style, catch) {
                    caught.push(Entered::Idle);
                }
                (on, catch.index().map(|catch| (catch, caught)))
            }
            None => {
                on.push(Entered::Idle);
                (on, None)
            }
        },
        Some((_, Stmt::Expr(expr))) if expr.head == Head::Leave => {
            on.truncate(on.len().saturating_sub(left_handlers(ir, &expr.args)));
            (on, None)
        }
        _ => (on, None),
    }
}

/// By block, the handlers that have been entered; as error, a block to which several ways lead with different ones.
fn entered(ir: &IRCode) -> Result<Vec<Option<Vec<Entered>>>, usize> {
    let style = HandlerStyle::of(ir.stmts.stmts());
    let mut found: Vec<Option<Vec<Entered>>> = vec![None; ir.cfg.blocks.len()];
    let mut work = vec![(0, Vec::new())];
    while let Some((block, entered)) = work.pop() {
        match found.get_mut(block) {
            Some(slot @ None) => *slot = Some(entered.clone()),
            Some(Some(known)) if *known == entered => continue,
            Some(Some(_)) => return Err(block),
            None => continue,
        }
        let (on, caught) = after(ir, style, block, &entered);
        let catch = caught.as_ref().map(|(catch, _)| *catch);
        work.extend(successors(ir, block).into_iter().filter(|to| Some(*to) != catch).map(|to| (to, on.clone())));
        work.extend(caught);
    }
    Ok(found)
}

/// Whether a statement changes which handlers there are: control goes on in the next block.
pub(crate) fn ends_block(stmt: &Stmt<Positions>) -> bool {
    matches!(stmt, Stmt::Enter(_)) || matches!(stmt, Stmt::Expr(expr) if expr.head == Head::Leave)
}

/// Whether handlers are entered in a loop.
pub(crate) fn enters_handlers(ir: &IRCode, counted: &CountedLoop) -> bool {
    let statements = counted.blocks.iter().filter_map(|block| ir.cfg.blocks.get(*block)).flat_map(|b| b.stmts.clone());
    statements.filter_map(|index| ir.stmts.stmts().get(index)).any(ends_block)
}

/// Whether more is done with an exception than what does not look into it.
fn is_looked_into(module: &Module<IRCode>, ir: &IRCode, exception: usize) -> bool {
    ir.stmts.stmts().iter().any(|stmt| {
        let harmless = |primitive: &Primitive| HARMLESS.contains(&primitive.name);
        let mut uses = false;
        stmt.for_each_operand(&mut |operand| {
            uses |= operand.as_value().and_then(SSAValue::index) == Some(exception);
        });
        uses && !module.primitive_call(stmt).is_some_and(|(primitive, _)| harmless(primitive))
    })
}

impl Handlers {
    /// Whether the function has any.
    pub(crate) fn are_there(&self) -> bool {
        !self.entered.is_empty()
    }
}

impl FunctionCompiler<'_, '_> {
    /// Finds out which handlers there are, and makes the variables of φᶜ nodes, which hold nothing yet.
    pub(crate) fn plan_handlers(&mut self, ir: &IRCode, order: &[usize]) -> Compiled<()> {
        if !ir.stmts.stmts().iter().any(|stmt| ends_block(stmt) || matches!(stmt, Stmt::PhiC(_))) {
            return Ok(());
        }
        match entered(ir) {
            Ok(entered) => self.handlers.entered = entered,
            Err(block) => {
                self.statement = ir.cfg.blocks.get(block).map_or(0, |block| block.stmts.start);
                return self.refuse("a block to which control comes in the care of different handlers");
            }
        }
        for &number in order {
            let Some(range) = ir.cfg.blocks.get(number).map(|block| block.stmts.clone()) else { continue };
            for index in range.clone() {
                self.statement = index;
                match ir.stmts.stmts().get(index) {
                    Some(stmt) if ends_block(stmt) && index + 1 != range.end => {
                        return self.refuse("a handler that is entered or left in the middle of a block");
                    }
                    Some(Stmt::Enter(enter)) if enter.catch_dest.is_some() => {
                        let landing = self.builder.create_block();
                        self.builder.set_cold_block(landing);
                        self.handlers.landings.insert(index, landing);
                    }
                    Some(Stmt::PhiC(phi)) => {
                        let layout = self.compiler.layouts.of(&phi_type(ir, index));
                        let [stored, value] = [self.hold_open(&layout), self.hold_open(&layout)];
                        self.give_nothing(&stored);
                        self.handlers.stored.insert(index, stored);
                        self.set_held(index, value);
                        for store in phi.values.iter().filter_map(|value| value.as_value()?.index()) {
                            self.handlers.stores.entry(store).or_default().push(index);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Where control goes with an error in this block.
    pub(crate) fn unwinding_from(&self, block: usize) -> ir::Block {
        let entered = self.handlers.entered.get(block).and_then(Option::as_ref);
        let catching = entered.into_iter().flatten().rev().find_map(|handler| match handler {
            Entered::Catching(statement) => self.handlers.landings.get(statement).copied(),
            Entered::Idle => None,
        });
        catching.unwrap_or(self.failed)
    }

    /// Enters a handler; ends the block.
    pub(crate) fn enter(&mut self, ir: &IRCode, block: usize, enter: &EnterNode<Positions>) -> Compiled<()> {
        let statement = self.statement;
        let depth = self.builder.ins().load(clif::I64, trusted(), self.context, offset::CAUGHT);
        let token = self.scalar(ScalarType::Int64, depth);
        self.define(statement, &token);
        self.jump(ir, block, Some(block + 1))?;
        let Some(landing) = self.handlers.landings.get(&statement).copied() else { return Ok(()) };
        self.builder.switch_to_block(landing);
        let depth = self.operand(ir, &Operand::Value(SSAValue::from_index(statement)))?;
        let catch = self.compiler.helper(Helper::Catch, self.builder.func);
        let call = self.builder.ins().call(catch, &[self.context, depth.one().unwrap_or(self.context)]);
        let Some(status) = self.builder.inst_results(call).first().copied() else {
            return self.refuse("a helper without a result");
        };
        // Errors that are no exceptions end the run, whoever else waits for some.
        self.unwinding = self.failed;
        self.check(status);
        self.jump(ir, block, enter.catch_dest.and_then(|catch| catch.index()))
    }

    /// Stores a value, or that there is none, for the φᶜs that take it.
    pub(crate) fn store_for_catch(&mut self, ir: &IRCode, value: Option<&Operand<Positions>>) -> Compiled<()> {
        for phi in self.handlers.stores.get(&self.statement).cloned().unwrap_or_default() {
            let Some(stored) = self.handlers.stored.get(&phi).cloned() else { continue };
            match value {
                Some(operand) => {
                    let (value, defined) = self.peek(ir, operand)?;
                    let value = self.convert_if_there(value, defined, &stored.layout)?;
                    self.give(&stored, &value.parts, defined);
                }
                None => self.give_nothing(&stored),
            }
        }
        Ok(())
    }

    /// Gives a φᶜ what was stored for it last.
    pub(crate) fn take_stored(&mut self) {
        let (phi, stored) = (self.held(self.statement), self.handlers.stored.get(&self.statement).cloned());
        if let (Some(phi), Some(stored)) = (phi, stored) {
            let (value, defined) = self.value_in(&stored);
            self.give(&phi, &value.parts, defined);
        }
    }

    /// The exception that is being handled.
    pub(crate) fn the_exception(&mut self, ir: &IRCode, annotated: &Type) -> Compiled<Typed> {
        let ty = annotated.widened().unwrap_or_else(|| annotated.clone());
        let result = self.compiler.layouts.of(if ty.is_unknown() { &Type::Any } else { &ty });
        if !result.copies() {
            return self.refuse("an exception that is known to hold objects");
        }
        let looked_into = is_looked_into(&self.module, ir, self.statement);
        self.interpret(Work::TheException { looked_into }, &[], result)
    }

    /// Ends the handling of the exceptions that came after a handler was entered.
    pub(crate) fn pop_exception(&mut self, ir: &IRCode, token: Option<&Operand<Positions>>) -> Compiled<Typed> {
        let Some(token) = token else { return self.refuse("`pop_exception` without a token") };
        let token = self.operand(ir, token)?;
        let (Some(ScalarType::Int64), Some(depth)) = (token.layout.scalar(), token.one()) else {
            return self.refuse("`pop_exception` of something that is no token");
        };
        let pop = self.compiler.helper(Helper::PopException, self.builder.func);
        self.builder.ins().call(pop, &[self.context, depth]);
        Ok(self.unit(Type::Nothing))
    }
}
