//! Which values depend on the arguments in a way that has a derivative, and on which of these the result depends.

use std::collections::VecDeque;
use std::sync::Arc;

use bbcode::{BBCode, Ids, InstId};
use ircode::primitives::Primitive;
use ircode::{Callee, Head, Instruction, Module, Name, Operand, ScalarType, Stmt, Type};
use slotmap::SecondaryMap;

use super::NAME;
use super::tangent::{may_hold_floats, tangent_type};
use crate::PassError;
use crate::rules::{Bindings, Rule, RuleKind, RuleTable};

/// How a value depends on the arguments.
#[derive(Clone, PartialEq, Debug, Default)]
enum Dependence {
    /// Not at all, or only by steps.
    #[default]
    None,
    /// It is an integer made of the bits of a float that does.
    Bits,
    /// With a derivative of this type.
    Smooth(ScalarType),
    /// In a way of which no derivative is known.
    Opaque(Arc<Reason>),
}

impl Dependence {
    /// The dependence of what depends on both.
    fn join(self, other: Dependence) -> Dependence {
        match (self, other) {
            (Dependence::Opaque(reason), _) | (_, Dependence::Opaque(reason)) => Dependence::Opaque(reason),
            (Dependence::Smooth(ty), _) | (_, Dependence::Smooth(ty)) => Dependence::Smooth(ty),
            (Dependence::Bits, _) | (_, Dependence::Bits) => Dependence::Bits,
            (Dependence::None, Dependence::None) => Dependence::None,
        }
    }
}

/// Why no derivative is known.
#[derive(Clone, PartialEq, Debug)]
struct Reason {
    /// Where that starts; `None` for an argument.
    at: Option<InstId>,
    message: String,
    help: Option<&'static str>,
}

/// How an active statement is differentiated.
#[derive(Clone, Debug)]
pub(super) enum Derivative {
    /// The value is that of an operand.
    Copy(Operand<Ids>),
    /// A φ: the value is that of the operand of the edge taken.
    Phi,
    /// By a rule.
    Rule {
        rule: Arc<Rule>,
        bindings: Bindings,
        args: Vec<Operand<Ids>>,
        /// The arguments that get a cotangent.
        wanted: Vec<usize>,
    },
    /// A call of a function of the module.
    Call {
        function: usize,
        args: Vec<Operand<Ids>>,
        /// The arguments that get a cotangent.
        wanted: Vec<usize>,
    },
}

/// What was found about a function's values.
#[derive(Debug)]
pub(super) struct Activity {
    dependences: Dependences,
    /// How each active value is differentiated: those that depend on the arguments and on which the result depends.
    derivatives: SecondaryMap<InstId, Derivative>,
}

#[derive(Debug, Default)]
struct Dependences {
    values: SecondaryMap<InstId, Dependence>,
    arguments: Vec<Dependence>,
}

impl Dependences {
    fn of(&self, operand: &Operand<Ids>) -> Dependence {
        let found = match operand {
            Operand::Value(value) => self.values.get(*value),
            Operand::Argument(argument) => argument.index().and_then(|index| self.arguments.get(index)),
            _ => None,
        };
        found.cloned().unwrap_or_default()
    }
}

impl Activity {
    /// Analyses a function of which every block is reachable.
    ///
    /// # Errors
    ///
    /// [`PassError`] at the first statement on which the result depends and of which no derivative is known, and at one
    /// that stores what depends on the arguments.
    pub(super) fn of(
        module: &Module<BBCode>,
        name: &Name,
        bb: &BBCode,
        rules: &RuleTable,
    ) -> Result<Activity, PassError> {
        let mut analysis = Analysis { module, name, bb, rules, dependences: Dependences::default() };
        analysis.dependences.arguments = analysis.arguments();
        analysis.vary()?;
        let derivatives = analysis.useful()?;
        Ok(Activity { dependences: analysis.dependences, derivatives })
    }

    /// The type of an operand's cotangent, if it has one that the gradient needs.
    pub(super) fn cotangent(&self, operand: &Operand<Ids>) -> Option<ScalarType> {
        match self.dependences.of(operand) {
            Dependence::Smooth(ty) => Some(ty),
            _ => None,
        }
    }

    /// How a statement is differentiated, if its value is active.
    pub(super) fn derivative(&self, value: InstId) -> Option<&Derivative> {
        self.derivatives.get(value)
    }
}

struct Analysis<'a> {
    module: &'a Module<BBCode>,
    name: &'a Name,
    bb: &'a BBCode,
    rules: &'a RuleTable,
    dependences: Dependences,
}

impl<'a> Analysis<'a> {
    fn arguments(&self) -> Vec<Dependence> {
        let argument = |(index, ty): (usize, &Type)| match tangent_type(ty) {
            // The function itself has no tangent.
            _ if index == 0 => Dependence::None,
            Some(float) => Dependence::Smooth(float),
            None if may_hold_floats(self.module, ty) => {
                let shown = if ty.is_unknown() { "an unknown type".to_string() } else { format!("the type {ty}") };
                let message = format!("the argument _{} has {shown}, of which no derivative is known", index + 1);
                let help = Some(match ty.is_unknown() {
                    true => "a header says which types the arguments have: `function f(x::Float64)`",
                    false => "numbers are differentiated; tuples, structs and arrays are not",
                });
                Dependence::Opaque(Arc::new(Reason { at: None, message, help }))
            }
            None => Dependence::None,
        };
        self.bb.argtypes.iter().enumerate().map(argument).collect()
    }

    /// Finds how values depend on the arguments: from definitions to uses, until nothing changes.
    fn vary(&mut self) -> Result<(), PassError> {
        let mut users: SecondaryMap<InstId, Vec<InstId>> = SecondaryMap::new();
        for (id, _) in self.bb.all_insts() {
            users.insert(id, Vec::new());
        }
        for (id, inst) in self.bb.all_insts() {
            inst.stmt.for_each_use(|used| {
                if let Some(users) = users.get_mut(used) {
                    users.push(id);
                }
            });
        }
        let graph = self.bb.cfg();
        let blocks = graph.graph().postorder().into_iter().rev().filter_map(|block| graph.block(block));
        let mut work: VecDeque<InstId> = blocks.flat_map(|block| self.bb.inst_ids(block)).collect();
        let mut queued: SecondaryMap<InstId, bool> = work.iter().map(|&id| (id, true)).collect();
        while let Some(id) = work.pop_front() {
            queued.insert(id, false);
            let Some(inst) = self.bb.inst(id) else { continue };
            let found = self.dependence(id, inst)?;
            match self.dependences.values.get(id) {
                Some(known) if *known == found => continue,
                // The first reason is the one that is told.
                Some(Dependence::Opaque(_)) => continue,
                None if found == Dependence::None => continue,
                _ => self.dependences.values.insert(id, found),
            };
            for &user in users.get(id).map(Vec::as_slice).unwrap_or_default() {
                if queued.insert(user, true) == Some(false) {
                    work.push_back(user);
                }
            }
        }
        Ok(())
    }

    fn opaque(&self, at: InstId, message: String, help: Option<&'static str>) -> Dependence {
        Dependence::Opaque(Arc::new(Reason { at: Some(at), message, help }))
    }

    fn dependence(&self, id: InstId, inst: &Instruction<Ids>) -> Result<Dependence, PassError> {
        if inst.stmt.is_terminator() {
            return Ok(Dependence::None);
        }
        let mut inputs = Dependence::None;
        inst.stmt.for_each_operand(&mut |operand| {
            inputs = std::mem::take(&mut inputs).join(self.dependences.of(operand));
        });
        if inputs == Dependence::None {
            return Ok(Dependence::None);
        }
        if copied_operand(self.module, &inst.stmt).is_some() || matches!(inst.stmt, Stmt::Phi(_)) {
            return Ok(self.seen_as(id, inputs, &inst.ty));
        }
        if let Some((primitive, args)) = self.module.primitive_call(&inst.stmt) {
            let stores = primitive.effects.writes && inst.ty != Type::Bottom && !only_prints(primitive);
            if stores && inputs != Dependence::Bits {
                let message = format!("`{}` stores a value that depends on the arguments", primitive.name);
                let error = PassError::new(NAME, self.name, message).at(self.bb, id);
                return Err(error.with_help("what is in memory is not differentiated: keep the value in a variable"));
            }
            return Ok(self.primitive(id, inst, primitive, args, inputs));
        }
        Ok(self.other_call(id, inst, inputs))
    }

    /// The dependence of a value that is another one, seen as of this type.
    fn seen_as(&self, id: InstId, inputs: Dependence, ty: &Type) -> Dependence {
        match inputs {
            Dependence::Smooth(from) => match tangent_type(ty) {
                Some(to) if to == from => Dependence::Smooth(to),
                None if !may_hold_floats(self.module, ty) => Dependence::None,
                _ => {
                    let message = format!("a {from} that depends on the arguments is seen as {ty:?} here");
                    self.opaque(id, message, Some("its derivative is known for values of one float type only"))
                }
            },
            Dependence::Bits if ty.as_scalar().is_some_and(|ty| !ty.is_integer()) => Dependence::None,
            other => other,
        }
    }

    fn primitive(
        &self,
        id: InstId,
        inst: &Instruction<Ids>,
        primitive: &'static Primitive,
        args: &[Operand<Ids>],
        inputs: Dependence,
    ) -> Dependence {
        if !may_hold_floats(self.module, &inst.ty) {
            let integer = inst.ty.as_scalar().is_some_and(ScalarType::is_integer);
            let of_bits = primitive.name == "bitcast" || inputs == Dependence::Bits;
            return if integer && of_bits { Dependence::Bits } else { Dependence::None };
        }
        if let Dependence::Opaque(reason) = inputs {
            // What only steps with the operand does not depend on it, whatever it is.
            let steps = find_rule(self.bb, self.rules, primitive, args)
                .is_some_and(|(rule, _)| (0..args.len()).all(|i| rule.is_zero(i)));
            return if steps { Dependence::None } else { Dependence::Opaque(reason) };
        }
        let Some(float) = tangent_type(&inst.ty) else {
            let message = format!("`{}` gives a {:?} that depends on the arguments", primitive.name, inst.ty);
            let help = "numbers are differentiated; tuples, structs and arrays are not";
            return self.opaque(id, message, Some(help));
        };
        if primitive.name == "bitcast" {
            let message = "a float is made of bits that depend on the arguments".to_string();
            return self.opaque(id, message, Some("register a derivative rule for the function that does this"));
        }
        if inputs == Dependence::Bits {
            return Dependence::None;
        }
        match find_rule(self.bb, self.rules, primitive, args) {
            Some((rule, _)) => {
                let moves = |(i, arg): (usize, &Operand<Ids>)| {
                    !rule.is_zero(i) && matches!(self.dependences.of(arg), Dependence::Smooth(_))
                };
                let depends = args.iter().enumerate().any(moves);
                if depends { Dependence::Smooth(float) } else { Dependence::None }
            }
            None => {
                let types: Vec<String> = args.iter().map(|arg| format!("{:?}", self.bb.operand_type(arg))).collect();
                let message = format!("there is no derivative rule for `{}` of ({})", primitive.name, types.join(", "));
                self.opaque(id, message, None)
            }
        }
    }

    /// What is not a primitive: calls of functions, of types, of what is not known; other expressions.
    fn other_call(&self, id: InstId, inst: &Instruction<Ids>, inputs: Dependence) -> Dependence {
        let callee = match &inst.stmt {
            Stmt::Call(call) => self.module.callee(&call.callee),
            Stmt::Invoke(invoke) => self.module.callee(&invoke.callee),
            _ => None,
        };
        if !may_hold_floats(self.module, &inst.ty) {
            return Dependence::None;
        }
        if let Dependence::Opaque(reason) = inputs {
            return Dependence::Opaque(reason);
        }
        let (message, help) = match (callee, &inst.stmt) {
            (Some(Callee::Function(_)), _) => match (tangent_type(&inst.ty), &inputs) {
                (Some(float), Dependence::Smooth(_)) => return Dependence::Smooth(float),
                (_, Dependence::Bits) => {
                    ("the bits of a float that depends on the arguments are passed on".into(), None)
                }
                _ => (format!("the call gives a {:?} that depends on the arguments", inst.ty), None),
            },
            (Some(Callee::Unknown(name)), _) => (
                format!(
                    "`{name}` is neither a function of this module nor a primitive, so its derivative is not known"
                ),
                self.name
                    .is_empty()
                    .then_some("a listing has no name: if this is a call of the function itself, name it with --fn"),
            ),
            (Some(Callee::Type(ty)), _) => (format!("a {ty} is made that depends on the arguments"), None),
            (_, Stmt::Call(_) | Stmt::Invoke(_)) => ("what is called here is known only when it runs".into(), None),
            (_, Stmt::Expr(expr)) if expr.head == Head::Foreigncall => {
                ("no derivative of this foreign function is known".into(), None)
            }
            _ => (format!("a {:?} is made that depends on the arguments", inst.ty), None),
        };
        self.opaque(id, message, help)
    }

    /// Finds the values on which the result depends, from the returns backwards.
    fn useful(&self) -> Result<SecondaryMap<InstId, Derivative>, PassError> {
        let mut derivatives: SecondaryMap<InstId, Derivative> = SecondaryMap::new();
        let mut problems: Vec<Arc<Reason>> = Vec::new();
        let mut work: Vec<Operand<Ids>> = Vec::new();
        for block in self.bb.blocks() {
            if let Some(Stmt::Return(ret)) = self.bb.terminator(block).map(|(_, inst)| &inst.stmt) {
                work.extend(ret.value.clone());
            }
        }
        while let Some(operand) = work.pop() {
            match self.dependences.of(&operand) {
                Dependence::None | Dependence::Bits => continue,
                Dependence::Opaque(reason) => {
                    problems.push(reason);
                    continue;
                }
                Dependence::Smooth(_) => {}
            }
            let Operand::Value(value) = operand else { continue };
            if derivatives.contains_key(value) {
                continue;
            }
            let Some(derivative) = self.bb.inst(value).and_then(|inst| self.derivative(&inst.stmt)) else { continue };
            match (&derivative, self.bb.stmt(value)) {
                (Derivative::Copy(operand), _) => work.push(operand.clone()),
                (Derivative::Phi, Some(Stmt::Phi(phi))) => {
                    work.extend(phi.entries.iter().filter_map(|entry| entry.value.clone()));
                }
                (Derivative::Phi, _) => {}
                (Derivative::Rule { args, wanted, .. } | Derivative::Call { args, wanted, .. }, _) => {
                    work.extend(wanted.iter().filter_map(|&i| args.get(i).cloned()));
                }
            }
            derivatives.insert(value, derivative);
        }
        match self.first(problems) {
            Some(reason) => {
                let error = PassError::new(NAME, self.name, reason.message.clone());
                let error = match reason.at {
                    Some(at) => error.at(self.bb, at),
                    None => error,
                };
                Err(match reason.help {
                    Some(help) => error.with_help(help),
                    None => error,
                })
            }
            None => Ok(derivatives),
        }
    }

    /// The problem that stands first in the function.
    fn first(&self, problems: Vec<Arc<Reason>>) -> Option<Arc<Reason>> {
        if problems.is_empty() {
            return None;
        }
        let mut position: SecondaryMap<InstId, usize> = SecondaryMap::new();
        for (i, (id, _)) in self.bb.all_insts().enumerate() {
            position.insert(id, i + 1);
        }
        problems.into_iter().min_by_key(|reason| reason.at.and_then(|at| position.get(at).copied()).unwrap_or(0))
    }

    /// How a statement whose value depends on the arguments is differentiated.
    fn derivative(&self, stmt: &Stmt<Ids>) -> Option<Derivative> {
        if let Some(operand) = copied_operand(self.module, stmt) {
            return Some(Derivative::Copy(operand.clone()));
        }
        let smooth =
            |arg: &Operand<Ids>| matches!(self.dependences.of(arg), Dependence::Smooth(_) | Dependence::Opaque(_));
        if let Some((primitive, args)) = self.module.primitive_call(stmt) {
            let (rule, bindings) = find_rule(self.bb, self.rules, primitive, args)?;
            let wanted = (0..args.len()).filter(|&i| !rule.is_zero(i) && args.get(i).is_some_and(smooth)).collect();
            return Some(Derivative::Rule { rule, bindings, args: args.to_vec(), wanted });
        }
        let (callee, args) = match stmt {
            Stmt::Phi(_) => return Some(Derivative::Phi),
            Stmt::Call(call) => (&call.callee, &call.args),
            Stmt::Invoke(invoke) => (&invoke.callee, &invoke.args),
            _ => return None,
        };
        match self.module.callee(callee)? {
            Callee::Function(function) => {
                let wanted = (0..args.len()).filter(|&i| args.get(i).is_some_and(smooth)).collect();
                Some(Derivative::Call { function, args: args.to_vec(), wanted })
            }
            _ => None,
        }
    }
}

/// The operand of which a statement is a copy.
fn copied_operand<'b>(module: &Module<BBCode>, stmt: &'b Stmt<Ids>) -> Option<&'b Operand<Ids>> {
    match stmt {
        Stmt::Value(operand) => Some(operand),
        Stmt::Pi(pi) => Some(&pi.value),
        _ => match module.primitive_call(stmt)? {
            (primitive, [value, ..]) if matches!(primitive.name, "identity" | "typeassert") => Some(value),
            _ => None,
        },
    }
}

/// Whether a primitive has effects on the outside only: nothing that it is given comes back.
fn only_prints(primitive: &Primitive) -> bool {
    matches!(primitive.name, "print" | "println")
}

fn find_rule(
    bb: &BBCode,
    rules: &RuleTable,
    primitive: &'static Primitive,
    args: &[Operand<Ids>],
) -> Option<(Arc<Rule>, Bindings)> {
    if !rules.has_rule(primitive, RuleKind::Vjp) {
        return None;
    }
    let types: Vec<Type> = args.iter().map(|arg| operand_type(bb, arg)).collect();
    rules.find(primitive, RuleKind::Vjp, &types)
}

/// The type of an operand, with that of globals that name types: `Base.Float64` is a `Type{Float64}`.
fn operand_type(bb: &BBCode, operand: &Operand<Ids>) -> Type {
    match operand {
        Operand::Global(global) => match Type::parse(&global.name) {
            Type::Named(_) => Type::Untyped,
            ty => Type::type_of(ty),
        },
        other => bb.operand_type(other),
    }
}
