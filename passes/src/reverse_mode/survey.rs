//! What can be said of the derivative of a function before it is made: through which values derivatives may flow, and
//! which statements can be run again on the way back.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashSet;
use ircode::{Argument, Head, Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use super::operation::{Classifier, Operation};
use super::summary::{Summaries, holds_objects};
use crate::analyses::effects::effects;
use crate::differentiation::checkpointed::marked;
use crate::rules::RuleTable;
use crate::tangents::TangentTypes;

/// What is known of all functions of a module.
pub(crate) struct Survey<'a> {
    module: &'a Module<BBCode>,
    rules: &'a RuleTable,
    tangents: TangentTypes<'a, BBCode>,
    summaries: Summaries,
}

/// How a value that is computed outside of a region takes part in what is run again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// It has no cotangent: what has no derivative, and objects, to whose shadows is added in place.
    Plain,
    /// It is a value with a cotangent.
    Differentiable,
    /// It holds objects and floats beside them.
    Mixed,
}

/// Why a statement is not run again on the way back, in a function of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    /// It calls a function that is.
    IsCheckpointed,
    /// It cannot be.
    Because(String),
}

/// What is known of a function.
pub(crate) struct Surveyed<'s> {
    survey: &'s Survey<'s>,
    operations: SecondaryMap<InstId, Operation>,
    /// The values on which derivatives may depend, and through which they flow to the result.
    flows: SecondaryMap<InstId, ()>,
    useful_arguments: Vec<bool>,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(module: &'a Module<BBCode>, rules: &'a RuleTable) -> Self {
        let all: Vec<usize> = (0..module.functions().len()).collect();
        let summaries = Summaries::of(module, rules, &all, None);
        Survey { module, rules, tangents: TangentTypes::new(module), summaries }
    }

    fn has_cotangent(&self, ty: &Type) -> bool {
        !self.tangents.of(ty).cotangent().is_none()
    }

    fn is_bitcast(&self, stmt: &Stmt<Ids>) -> bool {
        self.module.primitive_call(stmt).is_some_and(|(primitive, _)| primitive.name == "bitcast")
    }

    /// Looks at a function: each statement once forwards, and once backwards.
    pub(crate) fn of(&'a self, bb: &BBCode) -> Surveyed<'a> {
        let classifier = Classifier { module: self.module, rules: self.rules, bb };
        let operations: SecondaryMap<InstId, Operation> =
            bb.all_insts().map(|(id, _)| (id, classifier.operation(id, &|_| Some(id)))).collect();
        let varied = self.varied(bb, &operations);
        let mut flows: SecondaryMap<InstId, ()> = SecondaryMap::new();
        let mut useful_arguments = vec![false; bb.argtypes.len()];
        let mut work: Vec<InstId> = Vec::new();
        let mut need = |operand: &Operand<Ids>, work: &mut Vec<InstId>| match operand {
            Operand::Value(value) if varied.contains_key(*value) && flows.insert(*value, ()).is_none() => {
                work.push(*value);
            }
            Operand::Argument(argument) => {
                if let Some(useful) = argument.index().and_then(|index| useful_arguments.get_mut(index)) {
                    *useful = true;
                }
            }
            _ => {}
        };
        let constants = marked(bb).unwrap_or_default();
        for (id, inst) in bb.all_insts() {
            let tuple = match &inst.stmt {
                Stmt::Return(ret) => ret.value.as_ref().and_then(Operand::as_value),
                _ => None,
            };
            // What counts as a constant is not needed.
            if let Some(Operation::Aggregate(fields)) = tuple.and_then(|tuple| operations.get(tuple))
                && !constants.is_empty()
            {
                let constants: HashSet<usize> = constants.iter().copied().collect();
                let fields = fields.iter().zip(1..).filter(|(_, number)| !constants.contains(number));
                fields.for_each(|(field, _)| need(field, &mut work));
                continue;
            }
            let returns = matches!(&inst.stmt, Stmt::Return(_));
            let stores = match operations.get(id) {
                Some(Operation::Rule { rule, .. }) => rule.changes_first(),
                Some(Operation::Call { function, .. }) => self.summaries.get(*function).writes,
                Some(Operation::NewObject(_)) => true,
                Some(Operation::Unknown) => {
                    let primitive = self.module.primitive_call(&inst.stmt);
                    !inst.stmt.is_terminator() && primitive.is_none_or(|(primitive, _)| primitive.effects.writes)
                }
                Some(operation) => operation.changed_object().is_some(),
                None => false,
            };
            // What is put in an object that is made is found in it: those of a call, too.
            let makes_objects = !self.tangents.of(&inst.ty).shadow().is_none();
            // What becomes of bits is not looked at here: they may become a float again.
            if returns || stores || makes_objects || self.is_bitcast(&inst.stmt) {
                inst.stmt.for_each_operand(&mut |operand| need(operand, &mut work));
            }
        }
        while let Some(id) = work.pop() {
            match operations.get(id) {
                Some(Operation::Rule { rule, args, .. }) => {
                    let args = args.iter().enumerate().filter(|(index, _)| !rule.is_zero(*index));
                    args.for_each(|(_, arg)| need(arg, &mut work));
                }
                Some(Operation::Steps) | None => {}
                Some(_) => {
                    if let Some(stmt) = bb.stmt(id) {
                        stmt.for_each_operand(&mut |operand| need(operand, &mut work));
                    }
                }
            }
        }
        Surveyed { survey: self, operations, flows, useful_arguments }
    }

    /// The values with cotangents that may depend on arguments, or on what is in memory.
    fn varied(&self, bb: &BBCode, operations: &SecondaryMap<InstId, Operation>) -> SecondaryMap<InstId, ()> {
        let mut users: SecondaryMap<InstId, Vec<InstId>> = SecondaryMap::new();
        let mut varied: SecondaryMap<InstId, ()> = SecondaryMap::new();
        let mut work: Vec<InstId> = Vec::new();
        let of_arguments: Vec<bool> = bb.argtypes.iter().map(|ty| !self.tangents.of(ty).is_none()).collect();
        let is_argument =
            |argument: &Argument| argument.index().and_then(|index| of_arguments.get(index)) == Some(&true);
        // Numbers may be made of bits, then.
        let takes_bits = bb.all_insts().any(|(_, inst)| self.is_bitcast(&inst.stmt));
        let is_integer = |operand: &Operand<Ids>| {
            operand.as_value().is_some() && bb.operand_type(operand).as_scalar().is_some_and(|ty| ty.is_integer())
        };
        for (id, inst) in bb.all_insts() {
            if inst.stmt.is_terminator() || !self.has_cotangent(&inst.ty) {
                continue;
            }
            let mut starts = match operations.get(id) {
                Some(Operation::Steps) if takes_bits => {
                    let mut of_integer = false;
                    inst.stmt.for_each_operand(&mut |operand| of_integer |= is_integer(operand));
                    of_integer
                }
                Some(Operation::Steps) | None => continue,
                Some(Operation::Load(_) | Operation::StackPop { .. } | Operation::Call { .. } | Operation::Unknown) => {
                    true
                }
                // Rules may read memory.
                Some(Operation::Rule { args, .. }) => {
                    let holds = |arg| holds_objects(self.module, &bb.operand_type(arg));
                    args.iter().any(|arg| holds(arg) || takes_bits && is_integer(arg))
                }
                Some(_) => false,
            };
            inst.stmt.for_each_operand(&mut |operand| match operand {
                Operand::Argument(argument) => starts |= is_argument(argument),
                Operand::Value(value) => {
                    if let Some(entry) = users.entry(*value) {
                        entry.or_default().push(id);
                    }
                }
                _ => {}
            });
            if starts && varied.insert(id, ()).is_none() {
                work.push(id);
            }
        }
        while let Some(id) = work.pop() {
            for &user in users.get(id).map(Vec::as_slice).unwrap_or_default() {
                if varied.insert(user, ()).is_none() {
                    work.push(user);
                }
            }
        }
        varied
    }
}

impl Surveyed<'_> {
    /// Whether a derivative may flow through the value of an operand.
    pub(crate) fn flows(&self, operand: &Operand<Ids>) -> bool {
        match operand {
            Operand::Value(value) => self.flows.contains_key(*value),
            Operand::Argument(argument) => {
                argument.index().and_then(|index| self.useful_arguments.get(index)) == Some(&true)
            }
            _ => false,
        }
    }

    /// How an operand of this type takes part in what is run again.
    pub(crate) fn part(&self, operand: &Operand<Ids>, ty: &Type) -> Part {
        if !self.survey.has_cotangent(ty) {
            Part::Plain
        } else if matches!(ty, Type::Slot(_)) || holds_objects(self.survey.module, ty) {
            Part::Mixed
        } else if self.flows(operand) {
            Part::Differentiable
        } else {
            Part::Plain
        }
    }

    /// Why a statement is not run again on the way back, in a function of its own; `None` if it can be.
    pub(crate) fn obstacle(&self, bb: &BBCode, id: InstId) -> Option<Obstacle> {
        let because = |why: &str| Some(Obstacle::Because(why.into()));
        let inst = bb.inst(id)?;
        match &inst.stmt {
            Stmt::Enter(_) | Stmt::PhiC(_) | Stmt::Upsilon(_) => return because("it holds part of a `try`"),
            Stmt::Expr(expr) => match expr.head {
                Head::Leave | Head::PopException | Head::TheException => return because("it holds part of a `try`"),
                Head::StaticParameter => return because("it uses a static parameter"),
                Head::GcPreserveBegin | Head::GcPreserveEnd => return because("it keeps objects alive"),
                _ => {}
            },
            _ => {}
        }
        let mut is_static = false;
        inst.stmt.for_each_operand(&mut |operand| {
            if let Operand::Nested(stmt) = operand {
                is_static |= matches!(&**stmt, Stmt::Expr(expr) if expr.head == Head::StaticParameter);
            }
        });
        if is_static {
            return because("it uses a static parameter");
        }
        if inst.stmt.is_terminator() {
            return None;
        }
        const CHANGES: &str = "it changes memory or prints";
        match self.operations.get(id)? {
            Operation::Call { function, .. } => {
                let summary = self.survey.summaries.get(*function);
                let callee = self.survey.module.functions().get(*function)?;
                if summary.writes || summary.acts {
                    because(&format!("it calls `{}`, which may change memory or print", callee.name))
                } else {
                    marked(&callee.body).map(|_| Obstacle::IsCheckpointed)
                }
            }
            Operation::Rule { rule, .. } if rule.changes_first() => because(CHANGES),
            Operation::Unknown if self.survey.module.primitive_call(&inst.stmt).is_none() => {
                because("what it calls is not known")
            }
            operation if operation.changed_object().is_some() => because(CHANGES),
            Operation::Phi | Operation::Copy(_) | Operation::Rule { .. } => None,
            _ if effects(self.survey.module, bb, inst).writes => because(CHANGES),
            _ => None,
        }
    }
}
