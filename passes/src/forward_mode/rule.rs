//! Rules of primitives, written behind the call. What is multiplied with the tangent of an operand that has none is
//! left out: 0 times an infinite number would not be 0.

use ircode::{Constant, Operand, Positions, Scalar, ScalarType, Stmt, Type};

use super::writer::{Op, Writer};
use crate::rules::{Bindings, Rule};
use bbcode::BBCode;
use ircode::{InsertError, Module};

/// A value of a rule.
#[derive(Clone, Debug)]
enum Term {
    /// It is known to be zero, a float of this type.
    Zero(ScalarType),
    /// An operand.
    Operand(Op),
}

impl Term {
    fn operand(&self) -> Op {
        match self {
            Term::Zero(ty) => Operand::from(Scalar::from_bits(*ty, 0)),
            Term::Operand(operand) => operand.clone(),
        }
    }
}

/// A call of a primitive with a rule.
pub(super) struct Application<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) rule: &'a Rule,
    pub(super) bindings: &'a Bindings,
    pub(super) args: &'a [Op],
    pub(super) out: Op,
}

impl Application<'_> {
    /// The tangents of the result for several directions. What does not depend on the direction is computed once.
    ///
    /// `tangents` has for each direction the tangents of the operands, `None` for those that have none.
    pub(super) fn write(&self, writer: &mut Writer<'_>, tangents: &[Vec<Option<Op>>]) -> Result<Vec<Op>, InsertError> {
        let body = &self.rule.function.body;
        let slice = self.rule.slice(&[0]);
        let needed = &slice.statements;
        let mut shared: Vec<Option<Term>> = vec![None; body.stmts.len()];
        let mut results = Vec::with_capacity(tangents.len());
        for (direction, tangents) in tangents.iter().enumerate() {
            let parameters = self.parameters(writer, tangents)?;
            let mut values: Vec<Option<Term>> = vec![None; body.stmts.len()];
            let mut varies = vec![false; body.stmts.len()];
            for index in (0..body.stmts.len()).filter(|&index| needed.get(index) == Some(&true)) {
                let Some((stmt, ty)) = self.rule.statement(index, self.bindings) else { continue };
                let Stmt::Call(call) = stmt else { continue };
                let effects = self.module.primitive_call(&Stmt::Call(call.clone())).map(|(p, _)| p.effects);
                let fixed = effects.is_some_and(|effects| !effects.writes && !effects.allocates && !effects.reads)
                    && !call.args.iter().any(|arg| self.varies(arg, &varies));
                varies[index] = !fixed;
                if let Some(known) = shared.get(index).cloned().flatten().filter(|_| fixed && direction > 0) {
                    values[index] = Some(known);
                    continue;
                }
                let args: Vec<Term> = call.args.iter().map(|arg| term(arg, &parameters, &values)).collect();
                let value = match self.simplified(&call.callee, &args, &ty) {
                    Some(Simplified::Term(term)) => term,
                    Some(Simplified::Call(name, args)) => Term::Operand(writer.call("Base", name, args, ty)?),
                    None => {
                        let args = args.iter().map(Term::operand);
                        Term::Operand(writer.stmt(Stmt::call(call.callee, args), ty)?)
                    }
                };
                if fixed {
                    shared[index] = Some(value.clone());
                }
                values[index] = Some(value);
            }
            let output = self.rule.outputs.first().map(|output| self.bindings.substitute_operand(output));
            results.push(output.map_or_else(Operand::nothing, |output| term(&output, &parameters, &values).operand()));
        }
        Ok(results)
    }

    /// What the parameters of the rule stand for, `_1` first.
    fn parameters(&self, writer: &mut Writer<'_>, tangents: &[Option<Op>]) -> Result<Vec<Term>, InsertError> {
        let types = &self.rule.function.body.argtypes;
        let mut parameters = vec![Term::Operand(Operand::nothing())];
        parameters.extend(self.args.iter().cloned().map(Term::Operand));
        parameters.push(Term::Operand(self.out.clone()));
        for (index, (arg, tangent)) in self.args.iter().zip(tangents).enumerate() {
            let ty = types.get(self.args.len() + 2 + index).map(|ty| self.bindings.substitute(ty));
            parameters.push(match (tangent, ty) {
                (Some(tangent), _) => Term::Operand(tangent.clone()),
                (None, Some(Type::Scalar(ty))) if ty.is_float() => Term::Zero(ty),
                (None, Some(ty @ Type::Array(_))) => {
                    let named = Operand::Constant(Constant::of_type(ty.clone()));
                    Term::Operand(writer.call("BBKit", "zero_tangent", [arg.clone(), named], ty)?)
                }
                _ => Term::Operand(Operand::nothing()),
            });
        }
        Ok(parameters)
    }

    /// Whether an operand of the rule depends on the direction.
    fn varies(&self, operand: &Operand<Positions>, varies: &[bool]) -> bool {
        match operand {
            Operand::Argument(argument) => argument.index().is_some_and(|index| index > self.args.len() + 1),
            Operand::Value(value) => value.index().and_then(|index| varies.get(index)).copied().unwrap_or(true),
            _ => false,
        }
    }

    /// What a call is if some of its operands are zero; `None` if that makes no difference.
    fn simplified(&self, callee: &Op, args: &[Term], ty: &Type) -> Option<Simplified> {
        if !args.iter().any(|arg| matches!(arg, Term::Zero(_))) {
            return None;
        }
        let stmt = Stmt::<Positions>::call(callee.clone(), args.iter().map(Term::operand));
        let (primitive, _) = self.module.primitive_call(&stmt)?;
        let zero = || ty.as_float().map(|ty| Simplified::Term(Term::Zero(ty)));
        let same = |term: &Term| Some(Simplified::Term(term.clone()));
        match (primitive.name, args) {
            ("mul_float", [Term::Zero(_), _] | [_, Term::Zero(_)]) => zero(),
            ("div_float", [Term::Zero(_), _]) => zero(),
            ("neg_float", [Term::Zero(_)]) => zero(),
            ("add_float", [Term::Zero(_), other] | [other, Term::Zero(_)]) => same(other),
            ("sub_float", [other, Term::Zero(_)]) => same(other),
            ("sub_float", [Term::Zero(_), other]) => Some(Simplified::Call("neg_float", vec![other.operand()])),
            ("convert" | "fpext" | "fptrunc", [_, Term::Zero(_)]) => zero(),
            ("ifelse", [_, Term::Zero(_), Term::Zero(_)]) => zero(),
            ("muladd_float", [Term::Zero(_), _, sum] | [_, Term::Zero(_), sum]) => same(sum),
            ("muladd_float", [a, b, Term::Zero(_)]) => {
                Some(Simplified::Call("mul_float", vec![a.operand(), b.operand()]))
            }
            _ => None,
        }
    }
}

enum Simplified {
    Term(Term),
    Call(&'static str, Vec<Op>),
}

fn term(operand: &Operand<Positions>, parameters: &[Term], values: &[Option<Term>]) -> Term {
    let found = match operand {
        Operand::Argument(argument) => argument.index().and_then(|index| parameters.get(index)).cloned(),
        Operand::Value(value) => value.index().and_then(|index| values.get(index)).cloned().flatten(),
        other => Some(Term::Operand(other.clone())),
    };
    found.unwrap_or_else(|| Term::Operand(Operand::nothing()))
}
