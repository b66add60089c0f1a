//! Activity analysis: what depends on the arguments that are differentiated (*varied*), on what the results depend
//! (*useful*), and what is both (*active*).
//!
//! Values are looked at one by one, memory by [classes of objects](super::objects): what is stored in a class may be
//! read from anywhere in it.

mod chain;
mod dependence;
mod exceptions;
mod stored;
mod users;

use std::collections::VecDeque;
use std::sync::Arc;

use bbcode::{BBCode, Ids, InstId};
use ircode::primitives::Compute;
use ircode::wording::with_article;
use ircode::{Callee, Head, Instruction, Module, Name, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use self::dependence::{Dependence, Dependences, Derivative, Hidden, Reason};
use self::users::{Users, goes_around};
use super::objects::{Class, Objects};
use super::operation::Operation;
use super::summary::Summaries;
use crate::PassError;
use crate::differentiation::bits::{is_made_of_bits, loses_bits, may_hold_integers};
use crate::differentiation::refusals::{Refusal, float_of_bits, without_rule};
use crate::tangents::{Tangent, TangentTypes};

/// What something depends on, or is needed by, that was found first.
#[derive(Clone, Debug)]
enum Cause {
    Operand(Operand<Ids>),
    Class(Class),
    /// The result of the function, or memory of its caller.
    Result,
}

/// What was found about the values and the memory of a function.
#[derive(Debug)]
pub(super) struct Activity {
    operations: Arc<SecondaryMap<InstId, Operation>>,
    pub(super) objects: Objects,
    varied: Dependences,
    useful_values: SecondaryMap<InstId, ()>,
    useful_classes: Vec<bool>,
    /// The tangents of the types of values and arguments, whether they are active or not.
    tangents: SecondaryMap<InstId, Tangent>,
    argument_tangents: Vec<Tangent>,
}

/// What is analysed, and in what.
pub(super) struct Subject<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) name: &'a Name,
    pub(super) bb: &'a BBCode,
    pub(super) tangents: &'a TangentTypes<'a, BBCode>,
    pub(super) summaries: &'a Summaries,
    /// By argument, `_1` first: whether the result is differentiated with respect to it.
    pub(super) wanted: &'a [bool],
}

impl Activity {
    /// Analyses a function of which every block is reachable. `operations` says what its statements do.
    ///
    /// # Errors
    ///
    /// [`PassError`] at the first statement on which the results depend and of which no derivative is known.
    pub(super) fn of(
        subject: &Subject<'_>,
        operations: Arc<SecondaryMap<InstId, Operation>>,
    ) -> Result<Activity, PassError> {
        let objects = Objects::of(subject.module, subject.bb, &operations, subject.summaries);
        let mut analysis = Analysis::new(subject, &operations, &objects);
        analysis.vary();
        let found = match analysis.useful()? {
            Some(found) => found,
            // Only an error tells why values vary and are wanted.
            None => {
                analysis = Analysis { says_why: true, ..Analysis::new(subject, &operations, &objects) };
                analysis.vary();
                analysis.useful()?.unwrap_or_default()
            }
        };
        let (useful_values, useful_classes) = found;
        let Analysis { varied, tangents, argument_tangents, .. } = analysis;
        Ok(Activity { operations, objects, varied, useful_values, useful_classes, tangents, argument_tangents })
    }

    /// What a statement does.
    pub(super) fn operation(&self, id: InstId) -> &Operation {
        self.operations.get(id).unwrap_or(&Operation::Steps)
    }

    /// The tangent of the type of an operand.
    pub(super) fn tangent(&self, operand: &Operand<Ids>) -> Tangent {
        self.known_tangent(operand).cloned().unwrap_or(Tangent::None)
    }

    fn known_tangent(&self, operand: &Operand<Ids>) -> Option<&Tangent> {
        match operand {
            Operand::Value(value) => self.tangents.get(*value),
            Operand::Argument(argument) => argument.index().and_then(|index| self.argument_tangents.get(index)),
            _ => None,
        }
    }

    /// The cotangent of an operand, if it is active.
    pub(super) fn cotangent(&self, operand: &Operand<Ids>) -> Tangent {
        match self.is_active_operand(operand) {
            true => self.known_tangent(operand).map_or(Tangent::None, Tangent::cotangent),
            false => Tangent::None,
        }
    }

    /// Whether an operand is active and its type has a cotangent. Making that only to see that it is there would be
    /// wasteful.
    pub(super) fn has_cotangent(&self, operand: &Operand<Ids>) -> bool {
        self.is_active_operand(operand)
            && self.known_tangent(operand).is_some_and(|tangent| match tangent {
                Tangent::Float(_) => true,
                other => !other.cotangent().is_none(),
            })
    }

    fn is_active_operand(&self, operand: &Operand<Ids>) -> bool {
        let useful = match operand {
            Operand::Value(value) => self.useful_values.contains_key(*value),
            Operand::Argument(_) => true,
            _ => false,
        };
        useful && self.varied.known(operand).is_some_and(|known| known.derivative == Derivative::Smooth)
    }

    /// The shadow of an operand, if its class is active.
    pub(super) fn shadow(&self, operand: &Operand<Ids>) -> Tangent {
        match self.objects.class(operand) {
            Some(class) if self.is_active(class) => self.tangent(operand).shadow(),
            _ => Tangent::None,
        }
    }

    /// Whether what is in objects of the class is active.
    pub(super) fn is_active(&self, class: Class) -> bool {
        self.useful_classes.get(class) == Some(&true)
            && self.varied.of_class(Some(class)).derivative == Derivative::Smooth
    }

    /// Whether the result of a statement depends on the arguments, and the results on it.
    pub(super) fn is_active_value(&self, id: InstId) -> bool {
        self.has_cotangent(&Operand::Value(id))
    }

    /// Whether a value depends on the arguments, as a listing shows it.
    pub(super) fn is_varied(&self, operand: &Operand<Ids>) -> bool {
        let varies = |dependence: Dependence| dependence.derivative != Derivative::Zero;
        varies(self.varied.of(operand)) || varies(self.varied.of_class(self.objects.class(operand)))
    }

    /// Whether the results depend on a value, as a listing shows it.
    pub(super) fn is_useful(&self, id: InstId) -> bool {
        let class = self.objects.class(&Operand::Value(id));
        self.useful_values.contains_key(id) || class.is_some_and(|class| self.useful_classes.get(class) == Some(&true))
    }
}

/// The values and classes on which the results depend.
type Useful = (SecondaryMap<InstId, ()>, Vec<bool>);

struct Analysis<'a> {
    subject: &'a Subject<'a>,
    operations: &'a SecondaryMap<InstId, Operation>,
    objects: &'a Objects,
    varied: Dependences,
    tangents: SecondaryMap<InstId, Tangent>,
    argument_tangents: Vec<Tangent>,
    /// By class: the statements with something of it among their operands or as their result.
    touching: Vec<Vec<InstId>>,
    /// Whether it is remembered why values vary and are wanted.
    says_why: bool,
    /// Why a value varies, and why a class does.
    causes: SecondaryMap<InstId, Cause>,
    class_causes: Vec<Option<InstId>>,
}

impl<'a> Analysis<'a> {
    fn new(
        subject: &'a Subject<'a>,
        operations: &'a SecondaryMap<InstId, Operation>,
        objects: &'a Objects,
    ) -> Analysis<'a> {
        let bb = subject.bb;
        let mut touching: Vec<Vec<InstId>> = vec![Vec::new(); objects.bound()];
        let mut tangents = SecondaryMap::with_capacity(bb.inst_count());
        for (id, inst) in bb.all_insts() {
            if !inst.stmt.is_terminator() {
                tangents.insert(id, subject.tangents.of(&inst.ty));
            }
            let mut touch = |operand: &Operand<Ids>| {
                if let Some(class) = objects.class(operand)
                    && let Some(list) = touching.get_mut(class)
                    && list.last() != Some(&id)
                {
                    list.push(id);
                }
            };
            touch(&Operand::Value(id));
            if let Some(operation) = operations.get(id) {
                operation.for_each_input(bb, id, &mut touch);
            }
        }
        let mut varied = Dependences {
            values: SecondaryMap::with_capacity(bb.inst_count()),
            arguments: Vec::with_capacity(bb.argtypes.len()),
            classes: vec![Dependence::NONE; objects.bound()],
        };
        let mut argument_tangents = Vec::with_capacity(bb.argtypes.len());
        for (index, ty) in bb.argtypes.iter().enumerate() {
            let tangent = subject.tangents.of(ty);
            let wanted = subject.wanted.get(index) == Some(&true);
            let dependence = match wanted && !tangent.is_none() {
                true if *ty == Type::Untyped => {
                    let message =
                        format!("the argument _{} has an unknown type, of which no derivative is known", index + 1);
                    let help = Some("a header says which types the arguments have: `function f(x::Float64)`");
                    Dependence::opaque(Reason { at: None, refusal: Refusal::new(message, help) })
                }
                true => Dependence::SMOOTH,
                false => Dependence::NONE,
            };
            let class = objects.class(&super::operation::argument(index));
            if let Some(of_class) = class.and_then(|class| varied.classes.get_mut(class))
                && !tangent.shadow().is_none()
            {
                *of_class = std::mem::take(of_class).join(dependence.clone());
            }
            let value = if tangent.cotangent().is_none() { Dependence::NONE } else { dependence };
            varied.arguments.push(value);
            argument_tangents.push(tangent);
        }
        Analysis {
            subject,
            operations,
            objects,
            varied,
            tangents,
            argument_tangents,
            touching,
            says_why: false,
            causes: SecondaryMap::new(),
            class_causes: vec![None; objects.bound()],
        }
    }

    fn tangent(&self, operand: &Operand<Ids>) -> Tangent {
        match operand {
            Operand::Value(value) => self.tangents.get(*value).cloned().unwrap_or(Tangent::None),
            Operand::Argument(argument) => {
                argument.index().and_then(|index| self.argument_tangents.get(index)).cloned().unwrap_or(Tangent::None)
            }
            _ => Tangent::None,
        }
    }

    fn of_object(&self, operand: &Operand<Ids>) -> Dependence {
        self.varied.of_class(self.objects.class(operand))
    }

    /// Finds how values and classes depend on the arguments: from definitions to uses, until nothing changes.
    fn vary(&mut self) {
        let bb = self.subject.bb;
        let graph = bb.cfg();
        let order: Vec<usize> = graph.graph().postorder().into_iter().rev().collect();
        let blocks = order.iter().filter_map(|&block| graph.block(block));
        let mut work: VecDeque<InstId> = blocks.flat_map(|block| bb.inst_ids(block)).collect();
        let mut queued: SecondaryMap<InstId, bool> = SecondaryMap::with_capacity(work.len());
        queued.extend(work.iter().map(|&id| (id, true)));
        // What is used is looked at before its users unless control goes around. As long as that holds, all users are
        // in the queue.
        let mut ahead = if goes_around(&graph, &order) { 0 } else { work.len() };
        let mut users: Option<Users> = None;
        while let Some(id) = work.pop_front() {
            queued.insert(id, false);
            let all_ahead = ahead > 0;
            ahead = ahead.saturating_sub(1);
            let Some(inst) = bb.inst(id) else { continue };
            let Some(operation) = self.operations.get(id) else { continue };
            let mut changed_classes: Vec<Class> = Vec::new();
            for (class, dependence) in self.stored(id, inst, operation) {
                let Some(known) = self.varied.classes.get_mut(class) else { continue };
                let joined = known.clone().join(dependence);
                if joined != *known {
                    *known = joined;
                    changed_classes.push(class);
                    if let Some(cause) = self.class_causes.get_mut(class) {
                        cause.get_or_insert(id);
                    }
                }
            }
            let found = self.dependence(id, inst, operation);
            let (found, changed) = match self.varied.values.get(id) {
                Some(known) => {
                    let joined = known.clone().join(found);
                    let changed = joined != *known;
                    (joined, changed)
                }
                None => {
                    let changed = !found.is_none();
                    (found, changed)
                }
            };
            let mut again = |user: &InstId| {
                if queued.insert(*user, true) == Some(false) {
                    work.push_back(*user);
                }
            };
            if changed {
                self.varied.values.insert(id, found);
                self.remember_cause(id, operation);
                if !all_ahead {
                    users.get_or_insert_with(|| Users::of(bb)).of_value(id).iter().for_each(&mut again);
                }
            }
            for class in changed_classes {
                self.touching.get(class).into_iter().flatten().for_each(&mut again);
            }
        }
    }

    /// Remembers through which operand a value came to depend on the arguments.
    fn remember_cause(&mut self, id: InstId, operation: &Operation) {
        if !self.says_why || self.causes.contains_key(id) {
            return;
        }
        let mut cause = None;
        operation.for_each_input(self.subject.bb, id, &mut |operand| {
            if cause.is_none() && !self.varied.of(operand).is_none() {
                cause = Some(Cause::Operand(operand.clone()));
            } else if cause.is_none() && !self.of_object(operand).is_none() {
                cause = self.objects.class(operand).map(Cause::Class);
            }
        });
        if let Some(cause) = cause {
            self.causes.insert(id, cause);
        }
    }

    fn opaque(&self, at: InstId, refusal: Refusal) -> Dependence {
        Dependence::opaque(Reason { at: Some(at), refusal })
    }

    fn bits_passed_on(&self, at: InstId) -> Dependence {
        self.opaque(at, Refusal::new("the bits of a float that depends on the arguments are passed on", None))
    }

    /// Whether a primitive is given such an integer.
    fn is_computed_from_bits(&self, stmt: &Stmt<Ids>) -> bool {
        let primitive = self.subject.module.primitive_call(stmt);
        let computes = primitive.filter(|(primitive, _)| !matches!(primitive.compute, Compute::Machine));
        computes.is_some_and(|(_, args)| args.iter().any(|arg| self.is_made_of_bits(arg)))
    }

    /// Whether bits of floats are given to a function that may make floats of such. Those in objects are not looked at:
    /// most are there because some function may have put them there.
    fn gives_bits(&self, function: usize, args: &[Operand<Ids>]) -> bool {
        self.subject.summaries.get(function).bits.made && args.iter().any(|arg| self.varied.of(arg).hidden.bits)
    }

    /// Whether an operand is an integer that is computed here from the bits of a float that depends on the arguments.
    fn is_made_of_bits(&self, operand: &Operand<Ids>) -> bool {
        let of = |value| self.subject.bb.inst(value).map(|inst| (&inst.stmt, &inst.ty));
        is_made_of_bits(self.subject.module, operand, &of, &|operand| self.varied.of(operand).hidden.bits)
    }

    /// How what an operand is, or what is in it, depends on the arguments.
    fn input(&self, operand: &Operand<Ids>) -> Dependence {
        let mut of_object = self.of_object(operand);
        // Of what the class holds only what an object of this type may hold.
        if of_object.hidden != Hidden::default() {
            of_object.hidden = self.held_as(of_object.hidden, &self.subject.bb.operand_type(operand));
        }
        let of_value = self.varied.of(operand);
        match self.tangent(operand).shadow().is_none() {
            true => of_value.join(Dependence::of_hidden(of_object.hidden)),
            false => of_value.join(of_object),
        }
    }

    fn dependence(&self, id: InstId, inst: &Instruction<Ids>, operation: &Operation) -> Dependence {
        if inst.stmt.is_terminator() {
            return Dependence::NONE;
        }
        let mut inputs = Dependence::NONE;
        match operation {
            Operation::Load(place) => inputs = self.of_object(&place.object),
            Operation::StackPop { stack } => inputs = self.of_object(stack),
            Operation::Store { value, gives_value: true, .. } => inputs = self.varied.of(value),
            Operation::Store { .. } | Operation::Append { .. } | Operation::Resize { .. } => {}
            Operation::Whole { .. } => {}
            Operation::Allocate | Operation::NewObject(_) | Operation::CopyObject(_) | Operation::Part { .. } => {}
            Operation::Steps | Operation::Unknown => inst.stmt.for_each_operand(&mut |operand| {
                inputs = std::mem::take(&mut inputs).join(self.input(operand));
            }),
            Operation::Rule { args, .. } | Operation::Call { args, .. } => {
                inputs = args.iter().fold(inputs, |joined, arg| joined.join(self.input(arg)));
            }
            _ => operation.for_each_input(self.subject.bb, id, &mut |operand| {
                inputs = std::mem::take(&mut inputs).join(self.varied.of(operand));
            }),
        }
        if self.takes_out_of_exception(inst, operation) {
            return self.taken_from_exception(id);
        }
        if matches!(&inst.stmt, Stmt::Expr(expr) if expr.head == Head::TheException) {
            return Dependence::IN_EXCEPTION;
        }
        if inputs.is_none() {
            return Dependence::NONE;
        }
        let result = Operand::Value(id);
        if self.tangent(&result).cotangent().is_none() {
            return self.hidden(id, inst, operation, &inputs);
        }
        if inputs.hidden.bits && self.is_computed_from_bits(&inst.stmt) && !self.is_exception(&inst.ty) {
            return self.opaque(id, float_of_bits());
        }
        match operation {
            Operation::Rule { rule, args, .. } => {
                // What only steps with the operand does not depend on it, whatever it is.
                let args = args.iter().enumerate().filter(|(i, _)| !rule.is_zero(*i));
                let joined = args.fold(Dependence::NONE, |joined, (_, arg)| joined.join(self.input(arg)));
                Dependence { hidden: self.held_as(inputs.hidden, &inst.ty), ..joined }
            }
            Operation::Steps if self.is_exception(&inst.ty) => Dependence::IN_EXCEPTION,
            Operation::Steps => Dependence::NONE,
            Operation::Call { function, args } => {
                let is_told = || {
                    inputs.derivative == Derivative::Zero
                        || self.gives_bits(*function, args)
                        || args.iter().any(|arg| self.is_made_of_bits(arg))
                };
                if inputs.hidden.bits && is_told() {
                    return self.bits_passed_on(id);
                }
                Dependence { derivative: inputs.derivative.clone(), ..self.hidden(id, inst, operation, &inputs) }
            }
            Operation::Unknown => match inputs.derivative {
                Derivative::Opaque(_) => Dependence { hidden: self.held_as(inputs.hidden, &inst.ty), ..inputs },
                Derivative::Zero
                    if self.subject.module.primitive_call(&inst.stmt).is_some_and(|(p, _)| p.name != "bitcast") =>
                {
                    self.hidden(id, inst, operation, &inputs)
                }
                _ => self.opaque(id, self.unknown(inst, "what depends on the arguments is given to")),
            },
            _ => self.seen_as(id, inputs, &inst.ty),
        }
    }

    /// The dependence of a value that is another one, or part of it, seen as of this type.
    fn seen_as(&self, id: InstId, inputs: Dependence, ty: &Type) -> Dependence {
        let hidden = inputs.hidden;
        let is_copy = matches!(self.operations.get(id), Some(Operation::Copy(_)));
        if inputs.derivative == Derivative::Zero && hidden.in_exception && is_copy && ty.as_scalar().is_some() {
            return self.taken_from_exception(id);
        }
        // What is one float type and then another is neither in a run of the program.
        if inputs.derivative == Derivative::Smooth
            && let (Some(Operation::Copy(of)), Tangent::Float(to)) =
                (self.operations.get(id), self.subject.tangents.of(ty))
            && let Tangent::Float(from) = self.tangent(of)
            && from != to
        {
            let message = format!("{} that depends on the arguments is seen as {ty:?} here", with_article(from));
            let help = "its derivative is known for values of one float type only";
            return self.opaque(id, Refusal::new(message, Some(help)));
        }
        Dependence { hidden: self.held_as(hidden, ty), ..inputs }
    }

    /// What of something hidden a value of this type may hold.
    fn held_as(&self, hidden: Hidden, ty: &Type) -> Hidden {
        Hidden {
            bits: hidden.bits && may_hold_integers(self.subject.module, ty),
            in_exception: hidden.in_exception && self.may_be_exception(ty),
        }
    }

    /// What a value holds where no derivative goes: one without cotangent, or one whose inputs only hold something so.
    fn hidden(&self, id: InstId, inst: &Instruction<Ids>, operation: &Operation, inputs: &Dependence) -> Dependence {
        let bitcast = match operation {
            Operation::Call { function, .. } => {
                let bits = self.subject.summaries.get(*function).bits;
                if self.tangents.get(id).is_none_or(Tangent::is_none) { bits.taken } else { bits.are_seen }
            }
            _ => self.subject.module.primitive_call(&inst.stmt).is_some_and(|(p, _)| p.name == "bitcast"),
        };
        let varies = inputs.derivative != Derivative::Zero;
        let mut hidden = self.held_as(inputs.hidden, &inst.ty);
        hidden.bits |= bitcast && varies && may_hold_integers(self.subject.module, &inst.ty);
        hidden.bits &= !loses_bits(self.subject.module, &inst.stmt, &inst.ty);
        hidden.in_exception |= varies && self.is_exception(&inst.ty);
        Dependence::of_hidden(hidden)
    }

    /// Why nothing is known of the derivative of a statement.
    fn unknown(&self, inst: &Instruction<Ids>, given: &str) -> Refusal {
        let module = self.subject.module;
        if let Some((primitive, args)) = module.primitive_call(&inst.stmt) {
            let types = args.iter().map(|arg| self.subject.bb.operand_type(arg));
            return without_rule(
                module,
                primitive,
                types,
                "reverse mode takes the rule of a registered primitive whose name ends in `_vjp`",
            );
        }
        let (message, help) = match (module.called(&inst.stmt), &inst.stmt) {
            (Some(Callee::Unknown(name)), _) => (
                format!(
                    "`{name}` is neither a function of this module nor a primitive, so its derivative is not known"
                ),
                self.subject
                    .name
                    .is_empty()
                    .then_some("a listing has no name: if this is a call of the function itself, name it with --fn"),
            ),
            (Some(Callee::Function(_)), _) => {
                (format!("{given} a function that takes another number of arguments"), None)
            }
            (Some(Callee::Type(ty)), _) => {
                (format!("{} is made that depends on the arguments", ty.with_article()), None)
            }
            (_, Stmt::Call(_) | Stmt::Invoke(_)) => ("what is called here is known only when it runs".into(), None),
            (_, Stmt::Expr(expr)) if expr.head == Head::Foreigncall => {
                ("no derivative of this foreign function is known".into(), None)
            }
            _ => (format!("{} is made that depends on the arguments", inst.ty.with_article()), None),
        };
        Refusal::new(message, help)
    }

    /// Finds the values and classes on which the results depend, from the returns backwards. `None` if there is an
    /// error, and it was not remembered what to say of it.
    fn useful(&self) -> Result<Option<Useful>, PassError> {
        let bb = self.subject.bb;
        let mut values: SecondaryMap<InstId, ()> = SecondaryMap::with_capacity(bb.inst_count());
        let mut classes = vec![false; self.objects.bound()];
        let mut wanted_by: SecondaryMap<InstId, Cause> = SecondaryMap::new();
        let mut class_wanted_by: Vec<Option<Cause>> = vec![None; self.objects.bound()];
        let mut problems: Vec<(Arc<Reason>, Cause)> = Vec::new();
        let mut work: Vec<(Cause, Cause)> = Vec::new();
        for block in bb.blocks() {
            if let Some(Stmt::Return(ret)) = bb.terminator(block).map(|(_, inst)| &inst.stmt)
                && let Some(value) = &ret.value
            {
                work.push((Cause::Operand(value.clone()), Cause::Result));
                work.extend(self.objects.class(value).map(|class| (Cause::Class(class), Cause::Result)));
            }
        }
        for class in 0..self.objects.bound() {
            if self.objects.is_external(class) {
                work.push((Cause::Class(class), Cause::Result));
            }
        }
        while let Some((item, by)) = work.pop() {
            match item {
                Cause::Operand(operand) => {
                    match self.varied.of(&operand).derivative {
                        Derivative::Zero => continue,
                        Derivative::Opaque(reason) => {
                            if !self.says_why {
                                return Ok(None);
                            }
                            if let Operand::Value(value) = &operand
                                && !wanted_by.contains_key(*value)
                            {
                                wanted_by.insert(*value, by);
                            }
                            problems.push((reason, Cause::Operand(operand)));
                            continue;
                        }
                        Derivative::Smooth => {}
                    }
                    let Operand::Value(value) = operand else { continue };
                    if values.insert(value, ()).is_some() {
                        continue;
                    }
                    if self.says_why {
                        wanted_by.insert(value, by);
                    }
                    self.needs_of_value(value, &mut work);
                }
                Cause::Class(class) => {
                    match self.varied.of_class(Some(class)).derivative {
                        Derivative::Zero => continue,
                        Derivative::Opaque(_) if !self.says_why => return Ok(None),
                        Derivative::Opaque(reason) => {
                            problems.push((reason, Cause::Class(class)));
                            continue;
                        }
                        Derivative::Smooth => {}
                    }
                    let Some(flag) = classes.get_mut(class).filter(|flag| !**flag) else { continue };
                    *flag = true;
                    if let Some(slot) = class_wanted_by.get_mut(class) {
                        *slot = Some(by);
                    }
                    for &id in self.touching.get(class).map(Vec::as_slice).unwrap_or_default() {
                        self.needs_of_class(class, id, &mut work);
                    }
                }
                Cause::Result => {}
            }
        }
        match self.first(problems) {
            Some((reason, cause)) => Err(self.error(&reason, cause, &wanted_by, &class_wanted_by)),
            None => Ok(Some((values, classes))),
        }
    }

    /// What the value of a statement depends on.
    fn needs_of_value(&self, id: InstId, work: &mut Vec<(Cause, Cause)>) {
        let by = || Cause::Operand(Operand::Value(id));
        let Some(operation) = self.operations.get(id) else { return };
        match operation {
            Operation::Load(place) => {
                work.extend(self.objects.class(&place.object).map(|class| (Cause::Class(class), by())))
            }
            Operation::StackPop { stack } => {
                work.extend(self.objects.class(stack).map(|class| (Cause::Class(class), by())))
            }
            Operation::Store { value, .. } => work.push((Cause::Operand(value.clone()), by())),
            Operation::Rule { rule, args, .. } => {
                for (_, arg) in args.iter().enumerate().filter(|(i, _)| !rule.is_zero(*i)) {
                    work.push((Cause::Operand(arg.clone()), by()));
                    work.extend(self.objects.class(arg).map(|class| (Cause::Class(class), by())));
                }
            }
            Operation::Call { args, .. } => {
                for arg in args {
                    work.push((Cause::Operand(arg.clone()), by()));
                    work.extend(self.objects.class(arg).map(|class| (Cause::Class(class), by())));
                }
            }
            _ => operation.for_each_input(self.subject.bb, id, &mut |operand| {
                work.push((Cause::Operand(operand.clone()), by()));
            }),
        }
    }

    /// What the contents of a class depend on through a statement that touches it.
    fn needs_of_class(&self, class: Class, id: InstId, work: &mut Vec<(Cause, Cause)>) {
        let Some(operation) = self.operations.get(id) else { return };
        let by = || Cause::Class(class);
        match operation {
            Operation::Store { value, .. } | Operation::Append { value, .. } => {
                work.push((Cause::Operand(value.clone()), by()));
            }
            Operation::NewObject(fields) => {
                work.extend(fields.iter().map(|field| (Cause::Operand(field.clone()), by())));
            }
            Operation::CopyObject(source) | Operation::Whole { from: Some(source), .. } => {
                work.extend(self.objects.class(source).map(|class| (Cause::Class(class), by())));
            }
            Operation::Rule { args, .. } | Operation::Call { args, .. } => {
                for arg in args {
                    work.push((Cause::Operand(arg.clone()), by()));
                    work.extend(self.objects.class(arg).map(|class| (Cause::Class(class), by())));
                }
            }
            _ => {}
        }
    }

    /// The problem that stands first in the function.
    fn first(&self, problems: Vec<(Arc<Reason>, Cause)>) -> Option<(Arc<Reason>, Cause)> {
        if problems.is_empty() {
            return None;
        }
        let mut position: SecondaryMap<InstId, usize> = SecondaryMap::new();
        for (i, (id, _)) in self.subject.bb.all_insts().enumerate() {
            position.insert(id, i + 1);
        }
        let place = |reason: &Reason| reason.at.and_then(|at| position.get(at).copied()).unwrap_or(0);
        problems.into_iter().min_by_key(|(reason, _)| place(reason))
    }
}
