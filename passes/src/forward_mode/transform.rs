//! The function with its tangents beside it: every statement stays where it is, and what is done to tangents is written
//! next to it.

use bbcode::BBCode;
use ircode::graph::FlowGraph;
use ircode::{
    Argument, Constant, Head, IRCode, InsertError, Operand, PhiCNode, PhiEntry, PhiNode, SSAValue, Stmt, Type,
    UpsilonNode,
};

use super::activity::{Activity, State, Subject};
use super::derivation::{Derivation, Prepared};
use super::linearization::Apart;
use super::operation::{Gives, Operation, Role};
use super::rule::Application;
use super::writer::{Op, Writer, zero};
use crate::analyses::slots::{self, why_it_stays};
use crate::differentiation::refusals::Refusal;
use crate::differentiation::signatures::Signature;
use crate::tangents::Tangent;
use crate::{PassError, PassErrorKind};

/// Why a function is not derived.
pub(super) enum Failure {
    /// There is no derivative, at the statement of this index.
    At { at: usize, message: String, help: Option<String>, kind: PassErrorKind },
    /// There is none of the function as a whole.
    Function(String),
    /// A statement has no place, which verified code always gives it.
    Insert(InsertError),
}

impl From<InsertError> for Failure {
    fn from(error: InsertError) -> Self {
        Failure::Insert(error)
    }
}

pub(super) type Done = Result<(), Failure>;

/// Where the tangent of an operand comes from.
pub(super) enum Source {
    /// It is this, of this kind.
    Tangent(Op, Tangent),
    /// It is zero.
    Zero,
    /// It is zero, but the operand holds objects, which need shadows. Their kind is this.
    Objects(Op, Tangent),
}

impl Writer<'_> {
    /// A tangent as one of the kind that its place needs.
    fn placed(&mut self, source: Source, to: &Tangent) -> Result<Op, InsertError> {
        match source {
            Source::Tangent(tangent, kind) => self.converted(tangent, &kind, to),
            Source::Objects(value, kind) if !to.shadow().is_none() => self.zero_of(value, &kind, to),
            Source::Objects(..) | Source::Zero => Ok(zero(to)),
        }
    }
}

/// What was made of a function.
pub(super) struct Transformed {
    pub(super) ir: IRCode,
    /// The derivatives that it calls, in the order of the calls.
    pub(super) called: Vec<Signature>,
    /// The rules of functions that it calls, by the function's position in the module.
    pub(super) rules: Vec<ircode::Function<IRCode>>,
}

pub(super) struct Transform<'a> {
    pub(super) derivation: &'a Derivation<'a>,
    pub(super) prepared: &'a Prepared,
    pub(super) activity: Activity,
    pub(super) ir: IRCode,
    /// Where tangents are written if not beside the values.
    pub(super) apart: Option<Apart<'a>>,
    /// By statement, one tangent a direction.
    pub(super) tangents: Vec<Option<Vec<Op>>>,
    /// By argument.
    pub(super) argument_tangents: Vec<Option<Vec<Op>>>,
    pub(super) called: Vec<Signature>,
    pub(super) rules: Vec<ircode::Function<IRCode>>,
}

impl<'a> Transform<'a> {
    /// With respect to these arguments, `_1` first.
    pub(super) fn new(derivation: &'a Derivation<'a>, prepared: &'a Prepared, wanted: &[bool]) -> Self {
        let subject = Subject {
            module: derivation.module,
            tangents: &derivation.tangents,
            ir: &prepared.ir,
            operations: &prepared.operations,
            bits: &derivation.bits,
        };
        let activity = Activity::of(subject, wanted);
        let mut ir = prepared.ir.clone();
        let arguments = ir.argtypes.len();
        let mut argument_tangents = vec![None; arguments];
        let mut tangents: Vec<Vec<Op>> = vec![Vec::new(); arguments];
        for _ in 0..derivation.directions {
            for (index, tangents) in tangents.iter_mut().enumerate().skip(1) {
                let number = ir.argtypes.len();
                let kind = activity.kind(&Argument::from_index(index).into());
                let is_wanted = wanted.get(index) == Some(&true);
                ir.argtypes.push(if is_wanted { kind.ty() } else { Type::Nothing });
                tangents.push(Argument::from_index(number).into());
            }
        }
        for (index, tangents) in tangents.into_iter().enumerate().filter(|(index, _)| wanted.get(*index) == Some(&true))
        {
            argument_tangents[index] = Some(tangents);
        }
        let tangents = vec![None; ir.stmts.len()];
        Transform {
            derivation,
            prepared,
            activity,
            ir,
            apart: None,
            tangents,
            argument_tangents,
            called: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// The same, with the tangents written elsewhere.
    pub(super) fn apart(
        derivation: &'a Derivation<'a>,
        prepared: &'a Prepared,
        wanted: &[bool],
        apart: Apart<'a>,
    ) -> Self {
        let mut transform = Transform::new(derivation, prepared, wanted);
        transform.ir = prepared.ir.clone();
        for (index, tangents) in transform.argument_tangents.iter_mut().enumerate().filter(|(_, known)| known.is_some())
        {
            *tangents = Some(vec![Argument::from_index(index).into()]);
        }
        transform.apart = Some(apart);
        transform
    }

    pub(super) fn run(mut self) -> Result<Transformed, Failure> {
        self.write()?;
        let compacted = self.ir.compact().map_err(|error| Failure::Function(error.to_string()))?;
        Ok(Transformed { ir: compacted.ir, called: self.called, rules: self.rules })
    }

    /// Writes what is done to tangents.
    pub(super) fn write(&mut self) -> Done {
        if let Some(reason) = self.activity.problem_of_arguments() {
            return Err(self.problem(reason));
        }
        self.merges()?;
        self.begin_apart()?;
        self.shadows_of_arguments()?;
        let blocks = &self.prepared.ir.cfg.blocks;
        let edges = blocks
            .iter()
            .enumerate()
            .flat_map(|(from, block)| block.succs.iter().filter_map(move |to| Some((from, to.index()?))));
        // What a statement uses is computed in a block that comes before, in this order.
        let order: Vec<usize> = FlowGraph::new(blocks.len(), edges).postorder().into_iter().rev().collect();
        for block in order {
            // Nobody gets a differential of what always throws.
            if self.apart.is_some() && !self.goes_on(block) {
                continue;
            }
            let Some(range) = self.prepared.ir.cfg.blocks.get(block).map(|block| block.stmts.clone()) else { continue };
            for index in range {
                self.statement(index)?;
            }
        }
        self.fill_merges()
    }

    pub(super) fn directions(&self) -> usize {
        self.derivation.directions
    }

    /// Writes what computes tangents.
    pub(super) fn writer(&mut self, index: usize, after: bool) -> Writer<'_> {
        Writer { ir: self.tangent_code(), anchor: SSAValue::from_index(index), after }
    }

    /// The code in which tangents are computed.
    fn tangent_code(&mut self) -> &mut IRCode {
        self.apart.as_mut().map_or(&mut self.ir, |apart| &mut apart.differential)
    }

    /// Writes what computes values.
    pub(super) fn primal_writer(&mut self, index: usize, after: bool) -> Writer<'_> {
        Writer { ir: &mut self.ir, anchor: SSAValue::from_index(index), after }
    }

    /// A value, where tangents are computed.
    fn kept(&mut self, operand: &Op, index: usize) -> Result<Op, Failure> {
        match self.apart.is_some() {
            true => self.captured_value(operand, index),
            false => Ok(operand.clone()),
        }
    }

    /// The error that says why there is no derivative.
    fn problem(&self, reason: usize) -> Failure {
        let Some(reason) = self.activity.reason(reason) else { return Failure::Function("no derivative".into()) };
        let (argument, chain) = self.activity.chain(&self.prepared.ir, &self.prepared.operations, reason.at);
        let mut names: Vec<String> = argument.map(|argument| argument.to_string()).into_iter().collect();
        names.extend(chain.iter().map(|&index| self.prepared.shown(index)));
        let way = (names.len() > 1).then(|| format!("it depends on the argument by {}", names.join(" → ")));
        let (at, refusal) = match self.slot(reason.at) {
            Some((at, message)) => (at, Refusal::new(message, Some(slots::HELP))),
            None => (reason.at, reason.refusal.clone()),
        };
        let help: Vec<String> = refusal.help.map(str::to_string).into_iter().chain(way).collect();
        let help = (!help.is_empty()).then(|| help.join("; "));
        Failure::At { at, message: refusal.message, help, kind: refusal.kind }
    }

    /// Why the slot with which a statement works has no tangent, if it works with one.
    fn slot(&self, at: usize) -> Option<(usize, String)> {
        let statements = self.prepared.ir.stmts.stmts().iter().enumerate();
        let statements: Vec<_> = statements.map(|(index, stmt)| (SSAValue::from_index(index), stmt)).collect();
        let (at, why) = why_it_stays(self.derivation.module, &statements, SSAValue::from_index(at))?;
        Some((at.index()?, why))
    }

    /// Where the tangent of an operand comes from.
    pub(super) fn source(&self, operand: &Op, direction: usize) -> Result<Source, Failure> {
        let kind = self.activity.kind(operand);
        if kind.is_none() {
            return Ok(Source::Zero);
        }
        match self.activity.state(operand) {
            State::Opaque(reason) => return Err(self.problem(reason)),
            State::Active => {}
            State::None => {
                return Ok(match kind.shadow().is_none() {
                    true => Source::Zero,
                    false => Source::Objects(operand.clone(), kind),
                });
            }
        }
        let known = match operand {
            Operand::Value(value) => value.index().and_then(|index| self.tangents.get(index)?.as_ref()),
            Operand::Argument(argument) => {
                argument.index().and_then(|index| self.argument_tangents.get(index)?.as_ref())
            }
            _ => None,
        };
        Ok(match known.and_then(|tangents| tangents.get(direction)) {
            Some(tangent) => Source::Tangent(tangent.clone(), kind),
            None => Source::Zero,
        })
    }

    /// The tangent of an operand, written next to a statement, as one of the kind that its place needs.
    pub(super) fn placed(
        &mut self,
        operand: &Op,
        direction: usize,
        to: &Tangent,
        index: usize,
        after: bool,
    ) -> Result<Op, Failure> {
        if to.is_none() {
            return Ok(Operand::nothing());
        }
        match self.source(operand, direction)? {
            Source::Objects(value, kind) if self.apart.is_some() => self.shadow_apart(&value, &kind, to, index, after),
            source => Ok(self.writer(index, after).placed(source, to)?),
        }
    }

    /// Shadows for the objects in arguments with respect to which the function is not differentiated, but in which it
    /// puts what depends on the others.
    fn shadows_of_arguments(&mut self) -> Done {
        let arguments = self.prepared.ir.argtypes.len();
        let needs = |index: &usize| {
            let operand: Op = Argument::from_index(*index).into();
            self.argument_tangents.get(*index).is_some_and(Option::is_none) && self.activity.is_active(&operand)
        };
        let needing: Vec<usize> = (1..arguments).filter(needs).collect();
        if needing.is_empty() {
            return Ok(());
        }
        if self.prepared.ir.cfg.blocks.first().is_some_and(|entry| !entry.preds.is_empty()) {
            let message = "the first block is in a loop, so that there is no place to make the shadows of arguments";
            return Err(Failure::Function(message.into()));
        }
        let operands: Vec<Op> = needing.iter().map(|&index| Argument::from_index(index).into()).collect();
        let kinds: Vec<Tangent> = operands.iter().map(|operand| self.activity.kind(operand)).collect();
        let types: Vec<Type> = operands.iter().map(|operand| self.ir.operand_type(operand)).collect();
        for _ in 0..self.directions() {
            // Together, as they may be the same object.
            let all = self.primal_writer(0, false).tuple(operands.clone(), types.clone())?;
            let kind = Tangent::Fields(kinds.clone().into());
            let zeros = self.shadow(all, &kind, 0, false)?;
            for (place, &index) in needing.iter().enumerate() {
                let (tangent, _) = self.writer(0, false).field(zeros.clone(), &kind, place)?;
                if let Some(tangents) = self.argument_tangents.get_mut(index) {
                    tangents.get_or_insert_default().push(tangent);
                }
            }
        }
        Ok(())
    }

    /// A φ beside every active φ, a φᶜ beside every active φᶜ and a ϒ beside each ϒ that it names, to be filled later.
    fn merges(&mut self) -> Done {
        for index in 0..self.prepared.ir.stmts.len() {
            let value = SSAValue::from_index(index);
            if !self.activity.is_active(&Operand::Value(value)) {
                continue;
            }
            let twin = match self.prepared.ir.stmts.stmts().get(index) {
                Some(Stmt::Phi(_)) => Stmt::Phi(PhiNode::default()),
                Some(Stmt::PhiC(_)) => Stmt::PhiC(PhiCNode::default()),
                _ => continue,
            };
            let ty = self.activity.kind(&Operand::Value(value)).ty();
            let mut twins = Vec::new();
            for _ in 0..self.directions() {
                twins.push(self.writer(index, true).stmt(twin.clone(), ty.clone())?);
            }
            self.tangents[index] = Some(twins);
            if let Some(Stmt::PhiC(phic)) = self.prepared.ir.stmts.stmts().get(index) {
                for stored in phic.values.iter().filter_map(|value| value.as_value()?.index()) {
                    self.stores(stored, &ty)?;
                }
            }
        }
        Ok(())
    }

    /// ϒs beside a ϒ.
    fn stores(&mut self, index: usize, ty: &Type) -> Done {
        if !matches!(self.prepared.ir.stmts.stmts().get(index), Some(Stmt::Upsilon(_)))
            || self.tangents.get(index).is_none_or(Option::is_some)
        {
            return Ok(());
        }
        let mut twins = Vec::new();
        for _ in 0..self.directions() {
            let stmt = Stmt::Upsilon(UpsilonNode { value: None });
            twins.push(self.writer(index, true).stmt(stmt, ty.clone())?);
        }
        self.tangents[index] = Some(twins);
        Ok(())
    }

    fn fill_merges(&mut self) -> Done {
        for index in 0..self.prepared.ir.stmts.len() {
            let Some(twins) = self.tangents.get(index).cloned().flatten() else { continue };
            let result = Operand::Value(SSAValue::from_index(index));
            let kind = self.activity.kind(&result);
            let stmt = self.prepared.ir.stmts.stmts().get(index);
            for (direction, twin) in twins.iter().enumerate() {
                let Some(twin) = twin.as_value() else { continue };
                let filled = match stmt {
                    Some(Stmt::Phi(phi)) => {
                        let mut entries = Vec::with_capacity(phi.entries.len());
                        for entry in &phi.entries {
                            let value = match &entry.value {
                                Some(value) => Some(self.at_end(entry.edge, value, direction, &kind)?),
                                None => None,
                            };
                            entries.push(PhiEntry { edge: entry.edge, value });
                        }
                        Stmt::Phi(PhiNode { entries: entries.into() })
                    }
                    Some(Stmt::PhiC(phic)) => {
                        let of = |value: &Op| {
                            let twins = self.tangents.get(value.as_value()?.index()?)?.as_ref()?;
                            twins.get(direction).cloned()
                        };
                        Stmt::PhiC(PhiCNode { values: phic.values.iter().filter_map(of).collect() })
                    }
                    Some(Stmt::Upsilon(upsilon)) => {
                        let value = match &upsilon.value {
                            // Before the ϒ of the value: a ϒ may be the last of its block.
                            Some(value) => Some(self.placed(value, direction, &kind, index, false)?),
                            None => None,
                        };
                        Stmt::Upsilon(UpsilonNode { value })
                    }
                    _ => continue,
                };
                if let Some(place) = self.tangent_code().stmt_mut(twin) {
                    *place = filled;
                }
            }
        }
        Ok(())
    }

    /// The tangent of an operand at the end of a block.
    fn at_end(
        &mut self,
        block: ircode::BlockNumber,
        operand: &Op,
        direction: usize,
        to: &Tangent,
    ) -> Result<Op, Failure> {
        let Some(block) = block.index() else {
            // From outside, where no statement can stand.
            return match self.source(operand, direction)? {
                Source::Tangent(tangent, kind) if kind == *to => Ok(tangent),
                Source::Zero => Ok(zero(to)),
                _ => {
                    let message = "a φ of the first block takes an argument of another type, and there is no place before it \
                                   to convert the tangent";
                    Err(Failure::Function(message.into()))
                }
            };
        };
        let blocks = &self.prepared.ir.cfg.blocks;
        let last = blocks.get(block).and_then(|block| block.stmts.end.checked_sub(1)).unwrap_or(0);
        let terminates = self.prepared.ir.stmts.stmts().get(last).is_some_and(Stmt::is_terminator);
        self.placed(operand, direction, to, last, !terminates)
    }

    fn statement(&mut self, index: usize) -> Done {
        let prepared = self.prepared;
        let (Some(stmt), Some(operation)) = (prepared.ir.stmts.stmts().get(index), prepared.operations.get(index))
        else {
            return Ok(());
        };
        let result = Operand::Value(SSAValue::from_index(index));
        if let Stmt::Return(ret) = stmt {
            return match &ret.value {
                Some(value) => self.give_back(index, value),
                None => Ok(()),
            };
        }
        if let Operation::Call { function, args } = operation {
            return self.call(index, *function, args);
        }
        let state = self.activity.state(&result);
        let kind = self.activity.kind(&result);
        let active = state == State::Active && !kind.is_none();
        match operation {
            Operation::Merge | Operation::Exception => Ok(()),
            Operation::Same { callee, args, gives } => self.same(index, callee, args, gives, active),
            Operation::Rule { rule, bindings, args } => {
                let changes = rule.changes_first() && args.first().is_some_and(|first| self.activity.is_active(first));
                if !active && !changes {
                    return Ok(());
                }
                if !args.iter().any(|arg| self.activity.is_active(arg)) {
                    return self.zeros(index);
                }
                let mut tangents = Vec::with_capacity(self.directions());
                for direction in 0..self.directions() {
                    let mut each = Vec::with_capacity(args.len());
                    for arg in args {
                        each.push(match self.source(arg, direction)? {
                            Source::Tangent(tangent, _) => Some(tangent),
                            _ => None,
                        });
                    }
                    tangents.push(each);
                }
                if let ([tangents], true) = (tangents.as_slice(), self.apart.is_some()) {
                    let tangent = self.rule_apart(index, (rule, bindings), args, tangents)?;
                    self.tangents[index] = Some(vec![tangent]).filter(|_| active);
                    return Ok(());
                }
                let module = self.derivation.module;
                let application = Application { module, rule, bindings, args, out: result };
                let written = application.write(&mut self.writer(index, true), &tangents)?;
                if active {
                    self.tangents[index] = Some(written);
                }
                Ok(())
            }
            _ if !active => Ok(()),
            Operation::Steps | Operation::Zero | Operation::Unknown => self.zeros(index),
            Operation::Copy(of) => self.each(index, |this, direction| this.placed(of, direction, &kind, index, true)),
            Operation::Choose(condition, then, otherwise) => self.each(index, |this, direction| {
                let then = this.placed(then, direction, &kind, index, true)?;
                let otherwise = this.placed(otherwise, direction, &kind, index, true)?;
                let args = [this.kept(condition, index)?, then, otherwise];
                Ok(this.writer(index, true).call("Base", "ifelse", args, kind.ty())?)
            }),
            Operation::Aggregate(fields) => self.each(index, |this, direction| {
                let mut elements = Vec::with_capacity(fields.len());
                for (field, to) in fields {
                    elements.push(this.placed(field, direction, to, index, true)?);
                }
                let own = Tangent::Fields(fields.iter().map(|(_, kind)| kind.clone()).collect());
                let mut writer = this.writer(index, true);
                let tuple = writer.tuple(elements, fields.iter().map(|(_, kind)| kind.ty()))?;
                Ok(writer.converted(tuple, &own, &kind)?)
            }),
            Operation::Field { object, index: field } => {
                self.each(index, |this, direction| match this.source(object, direction)? {
                    Source::Tangent(tangent, of) => {
                        let mut writer = this.writer(index, true);
                        let (part, own) = writer.field(tangent, &of, *field)?;
                        Ok(writer.converted(part, &own, &kind)?)
                    }
                    _ => Ok(zero(&kind)),
                })
            }
            Operation::AnyField { object, index: field } => {
                self.each(index, |this, direction| match this.source(object, direction)? {
                    Source::Tangent(tangent, of) => {
                        let field = this.kept(field, index)?;
                        let mut writer = this.writer(index, true);
                        let first = of.fields().first().filter(|first| of.fields().iter().all(|field| field == *first));
                        let own = first.cloned().unwrap_or(Tangent::ANY);
                        let args = [tangent, field];
                        let part = match of {
                            Tangent::Fields(_) => writer.call("Base", "getfield", args, own.ty())?,
                            _ => writer.call("BBKit", "tangent_field", args, Type::Any)?,
                        };
                        Ok(writer.converted(part, &own, &kind)?)
                    }
                    _ => Ok(zero(&kind)),
                })
            }
            Operation::New { shadow, fields } => self.each(index, |this, direction| {
                let mut args = vec![Operand::Constant(Constant::of_type(shadow.clone()))];
                for (field, role) in fields {
                    args.push(this.with_role(field, role, direction, index)?);
                }
                let mut writer = this.writer(index, true);
                let object = writer.stmt(Stmt::expr(Head::New, args), shadow.clone())?;
                Ok(writer.converted(object, &Tangent::Object(shadow.clone()), &kind)?)
            }),
            Operation::Call { .. } => Ok(()),
        }
    }

    /// Makes the tangents of a statement's value, one a direction.
    pub(super) fn each(&mut self, index: usize, mut make: impl FnMut(&mut Self, usize) -> Result<Op, Failure>) -> Done {
        let mut tangents = Vec::with_capacity(self.directions());
        for direction in 0..self.directions() {
            tangents.push(make(self, direction)?);
        }
        self.tangents[index] = Some(tangents);
        Ok(())
    }

    /// The tangents of a value are zero.
    pub(super) fn zeros(&mut self, index: usize) -> Done {
        let result = Operand::Value(SSAValue::from_index(index));
        let kind = self.activity.kind(&result);
        self.each(index, |this, _| match kind.shadow().is_none() {
            true => Ok(zero(&kind)),
            false => this.shadow(result.clone(), &kind, index, true),
        })
    }

    /// A new shadow of a value, with zeros.
    fn shadow(&mut self, value: Op, kind: &Tangent, index: usize, after: bool) -> Result<Op, Failure> {
        match self.apart.is_some() {
            true => self.shadow_apart(&value, kind, kind, index, after),
            false => Ok(self.writer(index, after).zero_of(value, kind, kind)?),
        }
    }

    fn with_role(&mut self, operand: &Op, role: &Role, direction: usize, index: usize) -> Result<Op, Failure> {
        match role {
            Role::Keep => self.kept(operand, index),
            Role::Tangent => {
                let kind = self.activity.kind(operand);
                self.placed(operand, direction, &kind, index, true)
            }
            Role::Stored(kind) => self.placed(operand, direction, kind, index, true),
        }
    }

    /// Does the same to the tangents.
    fn same(&mut self, index: usize, callee: &Op, args: &[(Op, Role)], gives: &Gives, active: bool) -> Done {
        let result = Operand::Value(SSAValue::from_index(index));
        let kind = self.activity.kind(&result);
        let has_twins = args.iter().all(|(arg, role)| *role != Role::Tangent || self.activity.is_active(arg));
        match gives {
            Gives::Result(own) => {
                if !active {
                    return Ok(());
                }
                if !has_twins {
                    return self.zeros(index);
                }
                self.each(index, |this, direction| {
                    let tangent = this.again(index, callee, args, direction, own.ty())?;
                    Ok(this.writer(index, true).converted(tangent, own, &kind)?)
                })
            }
            Gives::Nothing | Gives::Operand(_) => {
                if has_twins {
                    for direction in 0..self.directions() {
                        self.again(index, callee, args, direction, Type::Any)?;
                    }
                }
                let Gives::Operand(of) = gives else { return Ok(()) };
                let Some((of, _)) = args.get(*of).filter(|_| active) else { return Ok(()) };
                self.each(index, |this, direction| this.placed(of, direction, &kind, index, true))
            }
        }
    }

    fn again(
        &mut self,
        index: usize,
        callee: &Op,
        args: &[(Op, Role)],
        direction: usize,
        ty: Type,
    ) -> Result<Op, Failure> {
        let mut operands = Vec::with_capacity(args.len());
        for (arg, role) in args {
            operands.push(self.with_role(arg, role, direction, index)?);
        }
        Ok(self.writer(index, true).stmt(Stmt::call(callee.clone(), operands), ty)?)
    }

    /// Returns the value with its tangents.
    fn give_back(&mut self, index: usize, value: &Op) -> Done {
        let result = self.derivation.tangents.of(&self.prepared.result);
        if self.apart.is_some() {
            return self.give_back_apart(index, value, &result);
        }
        let mut elements = vec![value.clone()];
        for direction in 0..self.directions() {
            elements.push(self.placed(value, direction, &result, index, false)?);
        }
        let types = self.derivation.result_types(&self.prepared.result);
        let tuple = self.writer(index, false).tuple(elements, types)?;
        if let Some(stmt) = self.ir.stmt_mut(SSAValue::from_index(index)) {
            *stmt = Stmt::ret(tuple);
        }
        Ok(())
    }
}

impl Failure {
    /// That there is no derivative at the statement of this index.
    pub(super) fn at(at: usize, message: impl Into<String>, help: Option<&str>) -> Failure {
        let (message, help) = (message.into(), help.map(str::to_string));
        Failure::At { at, message, help, kind: PassErrorKind::Unsupported }
    }

    /// As an error of the pass.
    pub(super) fn of(self, function: &ircode::Function<BBCode>, prepared: &Prepared) -> PassError {
        match self {
            Failure::At { at, message, help, kind } => {
                let error = PassError::new(super::NAME, &function.name, message).of_kind(kind);
                let error = match prepared.origin(at).and_then(|origin| function.body.all_insts().nth(origin)) {
                    Some((id, _)) => error.at(&function.body, id),
                    None => error,
                };
                match help {
                    Some(help) => error.with_help(help),
                    None => error,
                }
            }
            Failure::Function(message) => PassError::new(super::NAME, &function.name, message),
            Failure::Insert(error) => PassError::new(super::NAME, &function.name, error.to_string()),
        }
    }
}
