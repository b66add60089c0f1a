//! Which values have tangents that are not zero: those that depend on the arguments in a way that has a derivative.

use std::collections::VecDeque;

use bbcode::BBCode;
use ircode::primitives::Compute;
use ircode::wording::with_article;
use ircode::{Argument, Callee, Head, IRCode, Module, Operand, Positions, SSAValue, Stmt, Type, TypeKind};

use super::operation::{Operation, Role};
use crate::analyses::disjoint_sets::DisjointSets;
use crate::differentiation::bits::{BitsOfFloats, is_made_of_bits, loses_bits, may_hold_integers};
use crate::differentiation::refusals::{Refusal, float_of_bits, without_rule};
use crate::tangents::{Tangent, TangentTypes};

type Op = Operand<Positions>;

/// How a value, or what is in an object, depends on the arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum State {
    /// Not at all, or only by steps.
    #[default]
    None,
    /// With a derivative.
    Active,
    /// In a way of which no derivative is known, for the reason of this number.
    Opaque(usize),
}

/// What a statement makes a class depend on.
struct Found {
    class: usize,
    state: State,
    bits: bool,
}

/// Why no derivative is known.
#[derive(Clone, Debug)]
pub(super) struct Reason {
    /// The statement from which on it is not known.
    pub(super) at: usize,
    pub(super) refusal: Refusal,
}

/// What was found about the values of a function.
///
/// What may hold objects is in classes: two values that may hold the same object are in one. A class is active if
/// anything that depends on the arguments is put in one of its objects; then all its objects have shadows
/// (Steensgaard's analysis, with one node for an object and all that can be reached from it).
#[derive(Debug)]
pub(super) struct Activity {
    /// The tangents of the arguments, `_1` first, and of the values of the statements behind them.
    kinds: Vec<Tangent>,
    /// For each of these, the first of its class.
    class: Vec<usize>,
    /// By class.
    states: Vec<State>,
    /// By class: whether it is an integer made of the bits of a float that depends on the arguments, or holds one.
    bits: Vec<bool>,
    /// The statement by which a class came to depend on the arguments.
    causes: Vec<Option<usize>>,
    reasons: Vec<Reason>,
    /// The reason that starts at a statement, by statement.
    reason_at: Vec<Option<usize>>,
    arguments: usize,
    /// Why an exception has no derivative in which something is stored.
    changed_exception: Option<usize>,
}

/// What the analysis is of.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) tangents: &'a TangentTypes<'a, BBCode>,
    pub(super) ir: &'a IRCode,
    pub(super) operations: &'a [Operation],
    /// By function of the module: what it may do with bits of floats.
    pub(super) bits: &'a [BitsOfFloats],
}

impl Activity {
    /// Analyses a function of which every block is reachable, with respect to these arguments, `_1` first.
    pub(super) fn of(subject: Subject<'_>, wanted: &[bool]) -> Activity {
        let ir = subject.ir;
        let types = ir.argtypes.iter().chain(ir.stmts.types());
        let mut kinds: Vec<Tangent> = types.map(|ty| subject.tangents.of(ty)).collect();
        let arguments = ir.argtypes.len();
        for (index, stmt) in ir.stmts.stmts().iter().enumerate() {
            if stmt.is_terminator() {
                kinds[arguments + index] = Tangent::None;
            }
        }
        // What ϒ stores is what φᶜ reads.
        for (index, stmt) in ir.stmts.stmts().iter().enumerate() {
            if let Stmt::PhiC(phic) = stmt {
                let kind = kinds[arguments + index].clone();
                for stored in phic.values.iter().filter_map(|value| value.as_value()?.index()) {
                    if let Some(place) = kinds.get_mut(arguments + stored) {
                        *place = kind.clone();
                    }
                }
            }
        }
        let mut analysis = Analysis { subject, classes: DisjointSets::new(kinds.len()), kinds, arguments };
        for index in 0..ir.stmts.len() {
            analysis.unite(index);
        }
        let class: Vec<usize> = (0..analysis.kinds.len()).map(|cell| analysis.classes.find(cell)).collect();
        let (states, causes) = (vec![State::None; class.len()], vec![None; class.len()]);
        let bits = vec![false; class.len()];
        let reason_at = vec![None; ir.stmts.len()];
        let reasons = Vec::new();
        let mut activity = Activity {
            kinds: analysis.kinds,
            class,
            states,
            bits,
            causes,
            reasons,
            reason_at,
            arguments,
            changed_exception: None,
        };
        for index in wanted.iter().enumerate().filter(|(_, wanted)| **wanted).map(|(index, _)| index) {
            if let Some(&class) = activity.class.get(index) {
                activity.states[class] = State::Active;
            }
        }
        activity.vary(subject);
        activity
    }

    fn cell(&self, operand: &Op) -> Option<usize> {
        cell(operand, self.arguments, self.kinds.len())
    }

    /// The tangent of an operand by its type.
    pub(super) fn kind(&self, operand: &Op) -> Tangent {
        self.cell(operand).and_then(|cell| self.kinds.get(cell)).cloned().unwrap_or(Tangent::None)
    }

    /// How an operand depends on the arguments.
    pub(super) fn state(&self, operand: &Op) -> State {
        let class = self.cell(operand).and_then(|cell| self.class.get(cell));
        class.and_then(|&class| self.states.get(class)).copied().unwrap_or_default()
    }

    /// Whether an operand is or holds an integer made of the bits of a float that depends on the arguments.
    fn holds_bits(&self, operand: &Op) -> bool {
        let class = self.cell(operand).and_then(|cell| self.class.get(cell));
        class.and_then(|&class| self.bits.get(class)) == Some(&true)
    }

    /// Whether the operand has a tangent that may not be zero.
    pub(super) fn is_active(&self, operand: &Op) -> bool {
        self.state(operand) == State::Active && !self.kind(operand).is_none()
    }

    /// Whether the operand may hold objects that can hold tangents.
    pub(super) fn holds_objects(&self, operand: &Op) -> bool {
        !self.kind(operand).shadow().is_none()
    }

    pub(super) fn reason(&self, number: usize) -> Option<&Reason> {
        self.reasons.get(number)
    }

    /// What stands between an argument and a statement that depends on it: the argument first, then values by index.
    pub(super) fn chain(&self, ir: &IRCode, operations: &[Operation], from: usize) -> (Option<Argument>, Vec<usize>) {
        let mut chain = Vec::new();
        let mut seen = vec![false; ir.stmts.len()];
        let mut at = Some(from);
        let mut argument = None;
        while let Some(index) = at.filter(|&index| seen.get(index) == Some(&false)) {
            seen[index] = true;
            chain.push(index);
            let Some((stmt, operation)) = ir.stmts.stmts().get(index).zip(operations.get(index)) else { break };
            let mut next = None;
            inputs(stmt, operation, &mut |operand| {
                if next.is_none() && (self.state(operand) != State::None || self.holds_bits(operand)) {
                    next = Some(operand.clone());
                }
            });
            at = match next {
                Some(Operand::Argument(number)) => {
                    argument = Some(number);
                    None
                }
                Some(operand) => {
                    let cell = self.cell(&operand);
                    let cause = cell.and_then(|cell| self.causes.get(*self.class.get(cell)?).copied().flatten());
                    // An object is active because of what was stored in it, or because an argument is the same object.
                    if cause.is_none() {
                        argument = self.argument_of(&operand);
                    }
                    cause.or_else(|| operand.as_value().and_then(SSAValue::index)).filter(|_| argument.is_none())
                }
                None => None,
            };
        }
        chain.reverse();
        (argument, chain)
    }

    fn argument_of(&self, operand: &Op) -> Option<Argument> {
        let class = *self.class.get(self.cell(operand)?)?;
        (0..self.arguments).find(|&index| self.class.get(index) == Some(&class)).map(Argument::from_index)
    }

    /// The reason why what is in one of the arguments has no derivative, or in an object that was thrown, if there is
    /// one.
    pub(super) fn problem_of_arguments(&self) -> Option<usize> {
        let of_arguments = (0..self.arguments).find_map(|cell| match self.states.get(*self.class.get(cell)?)? {
            State::Opaque(reason) => Some(*reason),
            _ => None,
        });
        of_arguments.or(self.changed_exception)
    }

    /// Finds how values depend on the arguments: from definitions to uses, until nothing changes.
    fn vary(&mut self, subject: Subject<'_>) {
        let stmts = subject.ir.stmts.stmts();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.class.len()];
        for (index, stmt) in stmts.iter().enumerate() {
            stmt.for_each_operand(&mut |operand| {
                if let Some(users) = self.cell(operand).and_then(|cell| users.get_mut(*self.class.get(cell)?))
                    && users.last() != Some(&index)
                {
                    users.push(index);
                }
            });
        }
        let mut work: VecDeque<usize> = (0..stmts.len()).collect();
        let mut queued = vec![true; stmts.len()];
        while let Some(index) = work.pop_front() {
            queued[index] = false;
            for Found { class, state, bits } in self.evaluate(subject, index) {
                let (Some(known), Some(known_bits)) = (self.states.get_mut(class), self.bits.get_mut(class)) else {
                    continue;
                };
                // The first reason is the one that is told.
                let joined = join(*known, state);
                if joined == *known && (*known_bits || !bits) {
                    continue;
                }
                *known = joined;
                *known_bits |= bits;
                self.causes[class].get_or_insert(index);
                for &user in users.get(class).map(Vec::as_slice).unwrap_or_default() {
                    if !std::mem::replace(&mut queued[user], true) {
                        work.push_back(user);
                    }
                }
            }
        }
    }

    /// What a statement makes its result and the objects among its operands depend on.
    fn evaluate(&mut self, subject: Subject<'_>, index: usize) -> Vec<Found> {
        let result = Operand::Value(SSAValue::from_index(index));
        let (Some(stmt), Some(operation)) = (subject.ir.stmts.stmts().get(index), subject.operations.get(index)) else {
            return Vec::new();
        };
        let ty = subject.ir.stmts.types().get(index).unwrap_or(&Type::Untyped);
        let (mut joined, mut bits) = (State::None, false);
        inputs(stmt, operation, &mut |operand| {
            joined = join(joined, self.state(operand));
            // Of what a class holds only what an object of this type may hold.
            bits |= self.holds_bits(operand) && may_hold_integers(subject.module, &subject.ir.operand_type(operand));
        });
        let kind = self.kind(&result);
        let mut found: Vec<Found> = Vec::new();
        let own = self.cell(&result).and_then(|cell| self.class.get(cell)).copied();
        let primitive = subject.module.primitive_call(stmt).map(|(primitive, _)| primitive);
        let computes = primitive.is_some_and(|primitive| !matches!(primitive.compute, Compute::Machine));
        let primitive = primitive.map(|primitive| primitive.name);
        let called = match operation {
            Operation::Call { function, .. } => subject.bits.get(*function).copied().unwrap_or_default(),
            _ => BitsOfFloats::default(),
        };
        let takes_bits = primitive == Some("bitcast") || if kind.is_none() { called.taken } else { called.are_seen };
        let gives_bits = bits || takes_bits && joined != State::None;
        let is_exception = |operation: &Operation| matches!(operation, Operation::Exception);
        let is_call = |operation: &Operation| matches!(operation, Operation::Call { .. } | Operation::Unknown);
        let state = match operation {
            _ if stmt.is_terminator() => State::None,
            operation
                if is_exception(operation) || is_call(operation) && subject.module.is_undeclared_exception(ty) =>
            {
                let message = "what an exception carries is not differentiated";
                self.opaque(index, Refusal::new(message, Some("return a value from the try block instead")))
            }
            // An exception whose type is known has no tangent, but what it carries may.
            Operation::Copy(_) | Operation::Merge | Operation::Choose(..)
                if kind.is_none() && matches!(joined, State::Opaque(_)) && ty.as_scalar().is_none() =>
            {
                joined
            }
            _ if kind.is_none() => State::None,
            Operation::Steps | Operation::Rule { .. } | Operation::Unknown
                if bits && computes && self.is_computed_from_bits(subject, stmt) =>
            {
                self.opaque(index, float_of_bits())
            }
            Operation::Steps | Operation::Zero => State::None,
            Operation::Rule { rule, .. } => match joined {
                State::Active | State::Opaque(_) if !rule.is_zero(0) => joined,
                _ => State::None,
            },
            Operation::Call { args, .. }
                if bits
                    && (joined == State::None
                        || called.made && args.iter().any(|arg| self.holds_bits(arg) && !self.holds_objects(arg))
                        || self.is_computed_from_bits(subject, stmt)) =>
            {
                let message = "the bits of a float that depends on the arguments are passed on";
                self.opaque(index, Refusal::new(message, None))
            }
            Operation::Unknown => match joined {
                State::None if !bits || primitive.is_some_and(|name| name != "bitcast") => State::None,
                State::None | State::Active => self.opaque(index, self.unknown(subject, index)),
                opaque @ State::Opaque(_) => opaque,
            },
            Operation::Copy(of) => match (joined, self.kind(of), &kind) {
                (State::Active, Tangent::Float(from), Tangent::Float(to)) if from != *to => {
                    let message =
                        format!("{} that depends on the arguments is seen as {ty:?} here", with_article(from));
                    let help = "its derivative is known for values of one float type only";
                    self.opaque(index, Refusal::new(message, Some(help)))
                }
                _ => joined,
            },
            _ => joined,
        };
        // What was thrown may hold anything.
        let holds_bits = (gives_bits || is_exception(operation))
            && may_hold_integers(subject.module, ty)
            && !loses_bits(subject.module, stmt, ty);
        if let Some(class) = own {
            found.push(Found { class, state, bits: holds_bits });
        }
        if joined >= State::Active && operation.changes(subject.module, stmt) {
            let stored = match operation {
                Operation::Unknown if joined == State::Active => self.opaque(index, self.unknown(subject, index)),
                _ => joined,
            };
            stmt.for_each_operand(&mut |operand| {
                if self.holds_objects(operand)
                    && let Some(&class) = self.cell(operand).and_then(|cell| self.class.get(cell))
                {
                    found.push(Found { class, state: stored, bits: false });
                }
            });
        }
        // Where something is put into what was thrown it is not seen in the object that this is.
        if let Operation::Same { args, .. } = operation
            && operation.changes(subject.module, stmt)
        {
            let objects = args.iter().filter(|(_, role)| *role == Role::Tangent);
            let mut of_exception = objects.filter_map(|(object, _)| match self.state(object) {
                State::Opaque(reason) => Some(reason),
                _ => None,
            });
            let was_thrown = |reason: &usize| {
                let at = self.reasons.get(*reason).map(|reason| reason.at);
                at.and_then(|at| subject.operations.get(at)).is_some_and(is_exception)
            };
            self.changed_exception = self.changed_exception.or_else(|| of_exception.find(was_thrown));
        }
        let writes = || {
            let primitive = subject.module.primitive_call(stmt);
            primitive.is_some_and(|(primitive, _)| primitive.effects.writes) || operation.changes(subject.module, stmt)
        };
        // What floats are in, too, is looked at only where bits are given to a function: it is too much for what some
        // function may do.
        let stores_bits = bits || called.taken && joined != State::None;
        if stores_bits && writes() {
            stmt.for_each_operand(&mut |operand| {
                let ty = subject.ir.operand_type(operand);
                let is_looked_at = match self.kind(operand).is_none() {
                    true => has_elements(subject.module, &ty),
                    false => bits && self.holds_objects(operand),
                };
                if is_looked_at
                    && may_hold_integers(subject.module, &ty)
                    && let Some(&class) = self.cell(operand).and_then(|cell| self.class.get(cell))
                {
                    found.push(Found { class, state: State::None, bits: true });
                }
            });
        }
        found
    }

    /// Whether an operand is an integer that is computed here from the bits of a float that depends on the arguments.
    fn is_computed_from_bits(&self, subject: Subject<'_>, stmt: &Stmt<Positions>) -> bool {
        let stmts = &subject.ir.stmts;
        let of = |value: SSAValue| stmts.stmts().get(value.index()?).zip(stmts.types().get(value.index()?));
        let mut found = false;
        stmt.for_each_operand(&mut |operand| {
            found |= is_made_of_bits(subject.module, operand, &of, &|operand| self.holds_bits(operand));
        });
        found
    }

    fn opaque(&mut self, at: usize, refusal: Refusal) -> State {
        let Some(known) = self.reason_at.get_mut(at) else { return State::None };
        State::Opaque(*known.get_or_insert_with(|| {
            self.reasons.push(Reason { at, refusal });
            self.reasons.len() - 1
        }))
    }

    /// Why nothing is known of the derivative of a statement.
    fn unknown(&self, subject: Subject<'_>, index: usize) -> Refusal {
        let Some(stmt) = subject.ir.stmts.stmts().get(index) else { return Refusal::new("", None) };
        let module = subject.module;
        if let Some((primitive, args)) = module.primitive_call(stmt) {
            let types = args.iter().map(|arg| subject.ir.operand_type(arg));
            return without_rule(
                module,
                primitive,
                types,
                "forward mode takes the rule of a registered primitive whose name ends in `_jvp`",
            );
        }
        let callee = match stmt {
            Stmt::Call(_) | Stmt::Invoke(_) => module.called(stmt),
            Stmt::Expr(expr) if expr.head == Head::Foreigncall => {
                return Refusal::new("no derivative of this foreign function is known", None);
            }
            _ => {
                let message = "what depends on the arguments is used here, of which no derivative is known";
                return Refusal::new(message, None);
            }
        };
        let message = match callee {
            Some(Callee::Function(_)) => "the function is called with another number of arguments".into(),
            Some(Callee::Unknown(name)) => {
                format!("`{name}` is neither a function of this module nor a primitive, so its derivative is not known")
            }
            Some(Callee::Type(ty)) => format!("{} is made of what depends on the arguments", ty.with_article()),
            _ => "what is called here is known only when it runs".into(),
        };
        Refusal::new(message, None)
    }
}

/// Whether values of a type are changed by storing in them.
fn has_elements(module: &Module<BBCode>, ty: &Type) -> bool {
    match ty {
        Type::Array(_) | Type::Memory(_) | Type::MemoryRef(_) | Type::Ref(_) | Type::Stack(_) => true,
        Type::Named(name) => {
            let kind = module.type_def(name).map(|def| &def.kind);
            matches!(kind, Some(TypeKind::Struct { mutable: true, .. }))
        }
        _ => false,
    }
}

/// The dependence of what depends on both. Of two reasons the first counts.
fn join(a: State, b: State) -> State {
    match (a, b) {
        (State::Opaque(_), _) => a,
        _ => a.max(b),
    }
}

fn cell(operand: &Op, arguments: usize, count: usize) -> Option<usize> {
    let cell = match operand {
        Operand::Argument(argument) => argument.index().filter(|&index| index < arguments)?,
        Operand::Value(value) => arguments + value.index()?,
        _ => return None,
    };
    (cell < count).then_some(cell)
}

/// Calls `visit` with the operands of which the result, or what is changed, depends.
fn inputs(stmt: &Stmt<Positions>, operation: &Operation, visit: &mut dyn FnMut(&Op)) {
    match operation {
        Operation::Zero | Operation::Exception => {}
        Operation::Choose(_, then, otherwise) => {
            visit(then);
            visit(otherwise);
        }
        Operation::Field { object, .. } | Operation::AnyField { object, .. } => visit(object),
        Operation::Same { args, .. } | Operation::New { fields: args, .. } => {
            args.iter().filter(|(_, role)| *role != Role::Keep).for_each(|(arg, _)| visit(arg));
        }
        _ => stmt.for_each_operand(visit),
    }
}

struct Analysis<'a> {
    subject: Subject<'a>,
    classes: DisjointSets,
    kinds: Vec<Tangent>,
    arguments: usize,
}

impl Analysis<'_> {
    /// Puts the values that may hold the same objects after a statement in one class.
    fn unite(&mut self, index: usize) {
        let (Some(stmt), Some(operation)) =
            (self.subject.ir.stmts.stmts().get(index), self.subject.operations.get(index))
        else {
            return;
        };
        let holds = |cell: &usize| self.kinds.get(*cell).is_some_and(|kind| !kind.shadow().is_none());
        let result = Some(self.arguments + index).filter(holds);
        let changes = operation.changes(self.subject.module, stmt);
        let makes_new = match operation {
            Operation::Steps | Operation::Zero | Operation::Exception => true,
            Operation::Rule { rule, .. } => !rule.changes_first(),
            _ => false,
        };
        if stmt.is_terminator() || makes_new || (result.is_none() && !changes) {
            return;
        }
        let mut members: Vec<usize> = result.into_iter().collect();
        let only_first = matches!(operation, Operation::Rule { .. });
        let count = self.kinds.len();
        let mut add = |operand: &Op| members.extend(cell(operand, self.arguments, count).filter(holds));
        match (operation, only_first) {
            (Operation::Rule { args, .. }, true) => args.first().into_iter().for_each(&mut add),
            _ => inputs(stmt, operation, &mut add),
        }
        if let Some((first, rest)) = members.split_first() {
            rest.iter().for_each(|other| self.classes.join(*first, *other));
        }
    }
}
