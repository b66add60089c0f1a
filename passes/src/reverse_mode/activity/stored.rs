//! What statements put in objects.

use bbcode::{Ids, InstId};
use ircode::{Head, Instruction, Operand, Stmt, Type};

use super::super::objects::Class;
use super::super::operation::{Operation, Whole};
use super::{Analysis, Dependence, Derivative};
use crate::differentiation::bits::may_hold_integers;

impl Analysis<'_> {
    /// What a statement puts in the objects of which classes.
    pub(super) fn stored(
        &self,
        id: InstId,
        inst: &Instruction<Ids>,
        operation: &Operation,
    ) -> Vec<(Class, Dependence)> {
        let into = |operand: &Operand<Ids>, dependence: Dependence| {
            self.objects.class(operand).map(|class| (class, dependence)).into_iter().collect()
        };
        let result = Operand::Value(id);
        match operation {
            Operation::Store { place, value, .. } => into(&place.object, self.varied.of(value)),
            Operation::Append { object, value } => into(object, self.varied.of(value)),
            Operation::NewObject(fields) => {
                let joined = fields.iter().fold(Dependence::NONE, |joined, field| joined.join(self.varied.of(field)));
                into(&result, joined)
            }
            Operation::CopyObject(source) => into(&result, self.of_object(source)),
            Operation::Whole { object, from: Some(from), .. } => into(object, self.of_object(from)),
            Operation::Whole { kind: Whole::Overwrite, .. } => self.bits_stored(id, inst),
            Operation::Rule { rule, args, .. } => {
                let inputs = args.iter().fold(Dependence::NONE, |joined, arg| joined.join(self.input(arg)));
                if rule.changes_first() {
                    return args.first().map(|first| into(first, inputs)).unwrap_or_default();
                }
                match self.tangent(&result).shadow().is_none() {
                    true => Vec::new(),
                    false => into(&result, inputs),
                }
            }
            Operation::Call { function, args } => {
                let inputs = args.iter().fold(Dependence::NONE, |joined, arg| joined.join(self.input(arg)));
                if inputs.is_none() {
                    return Vec::new();
                }
                let summary = self.subject.summaries.get(*function);
                let mut stored: Vec<(Class, Dependence)> = Vec::new();
                // Integers that are given back or stored may be made of bits. What floats are in, too, is looked at only
                // where bits are given to the function: it is too much for what some function may do.
                if summary.bits.taken || inputs.hidden.bits {
                    let objects = args.iter().filter(|_| summary.writes).chain([&result]);
                    let may_hold = |object: &&Operand<Ids>| {
                        let known = inputs.hidden.bits || self.tangent(object).shadow().is_none();
                        known && may_hold_integers(self.subject.module, &self.subject.bb.operand_type(object))
                    };
                    let classes = objects.filter(may_hold).filter_map(|object| self.objects.class(object));
                    stored.extend(classes.map(|class| (class, Dependence::BITS)));
                }
                let of_floats = match inputs.derivative {
                    _ if self.takes_out_of_exception(inst, operation) => self.taken_from_exception(id),
                    _ if self.gives_bits(*function, args) => self.bits_passed_on(id),
                    Derivative::Zero => return stored,
                    _ => Dependence::SMOOTH,
                };
                let objects = args.iter().filter(|_| summary.writes).chain([&result]);
                let with_shadows = objects.filter(|object| !self.tangent(object).shadow().is_none());
                let classes = with_shadows.filter_map(|object| self.objects.class(object));
                stored.extend(classes.map(|class| (class, of_floats.clone())));
                stored
            }
            Operation::Unknown if self.is_of_unknown_origin(id, inst) => {
                // What is stored in it may be seen elsewhere, and its cotangents are nowhere.
                let opaque =
                    self.opaque(id, self.unknown(inst, "what depends on the arguments is put in what comes from"));
                into(&result, opaque)
            }
            Operation::Unknown => {
                let pure = match &inst.stmt {
                    Stmt::Call(_) | Stmt::Invoke(_) | Stmt::Expr(_) => {
                        let called = self.subject.module.primitive_call(&inst.stmt);
                        called.is_some_and(|(primitive, _)| !primitive.effects.writes)
                    }
                    _ => true,
                };
                // What only reads may still give back something of what it was given.
                if pure && self.tangent(&result).shadow().is_none() {
                    return self.bits_stored(id, inst);
                }
                // An object that is new holds something of it, too.
                let mut classes: Vec<Class> = self.objects.class(&result).into_iter().collect();
                let mut inputs = Dependence::NONE;
                operation.for_each_input(self.subject.bb, id, &mut |operand| {
                    inputs = std::mem::take(&mut inputs).join(self.input(operand));
                    classes.extend(self.objects.class(operand));
                });
                match inputs.derivative {
                    Derivative::Zero => self.bits_stored(id, inst),
                    Derivative::Opaque(_) => classes.into_iter().map(|class| (class, inputs.clone())).collect(),
                    Derivative::Smooth => {
                        let refusal = self.unknown(inst, "memory that depends on the arguments is given to");
                        let opaque = self.opaque(id, refusal);
                        classes.into_iter().map(|class| (class, opaque.clone())).collect()
                    }
                }
            }
            _ => Vec::new(),
        }
    }

    /// Whether an unknown call gives an object in which something is stored, or may be, that depends on the arguments.
    /// Slots have refusals of their own.
    fn is_of_unknown_origin(&self, id: InstId, inst: &Instruction<Ids>) -> bool {
        let calls = match &inst.stmt {
            Stmt::Call(_) | Stmt::Invoke(_) => true,
            Stmt::Expr(expr) => expr.head == Head::Foreigncall,
            _ => false,
        };
        let result = Operand::Value(id);
        calls
            && !matches!(inst.ty, Type::Slot(_))
            && !self.tangent(&result).shadow().is_none()
            && self.of_object(&result).derivative == Derivative::Smooth
            && self.subject.bb.any_user(id).is_some()
    }

    /// The bits of floats that a primitive puts in arrays of integers, those that it is given to change or makes.
    fn bits_stored(&self, id: InstId, inst: &Instruction<Ids>) -> Vec<(Class, Dependence)> {
        let bb = self.subject.bb;
        let (mut bits, mut classes) = (false, Vec::new());
        let writes =
            self.subject.module.primitive_call(&inst.stmt).is_none_or(|(primitive, _)| primitive.effects.writes);
        let mut add = |operand: &Operand<Ids>| {
            if may_hold_integers(self.subject.module, &bb.operand_type(operand)) {
                classes.extend(self.objects.class(operand));
            }
        };
        inst.stmt.for_each_operand(&mut |operand| {
            bits |= self.input(operand).hidden.bits;
            if writes {
                add(operand);
            }
        });
        add(&Operand::Value(id));
        classes.retain(|_| bits);
        classes.into_iter().map(|class| (class, Dependence::BITS)).collect()
    }
}
