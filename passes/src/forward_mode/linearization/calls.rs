//! What is called: a function with a linearization of its own, a primitive with a rule, a function with a rule.

use ircode::{Operand, SSAValue, Stmt, Type};

use super::LinearizationNames;
use super::rule_differentials::{RuleDifferential, function_rule_key, is_constant};
use crate::differentiation::signatures::Signature;
use crate::forward_mode::transform::{Done, Failure, Transform};
use crate::forward_mode::writer::Op;
use crate::rules::{Bindings, Rule};
use crate::tangents::Tangent;

/// A call of a function that has a linearization.
pub(in crate::forward_mode) struct CallApart {
    pub(in crate::forward_mode) signature: Signature,
    /// What it is called with.
    pub(in crate::forward_mode) args: Vec<Op>,
    /// The tangents of these, in the differential.
    pub(in crate::forward_mode) tangents: Vec<Op>,
    /// What these are.
    pub(in crate::forward_mode) kinds: Vec<Tangent>,
    /// The type of the result.
    pub(in crate::forward_mode) result: Type,
}

impl Transform<'_> {
    /// Calls the linearization in the place of the function, and in the differential what that gives beside the value.
    pub(in crate::forward_mode) fn call_apart(&mut self, index: usize, call: CallApart, active: bool) -> Done {
        // What has objects may change the tangents in them.
        if !active && call.kinds.iter().all(|kind| kind.shadow().is_none()) {
            return Ok(());
        }
        let own = self.derivation.tangents.of(&call.result);
        let name = LinearizationNames::with_base(&self.derivation.base(&call.signature)).linearized;
        self.called.push(call.signature);
        let closure = Type::closure(call.kinds.iter().map(Tangent::ty), own.ty());
        let mut writer = self.primal_writer(index, false);
        let pair = writer.call("Main", &name, call.args, Type::tuple([call.result.or_any(), closure.clone()]))?;
        let differential = writer.call("Base", "getfield", [pair.clone(), Operand::from(2i64)], closure)?;
        if let Some(stmt) = self.ir.stmt_mut(SSAValue::from_index(index)) {
            *stmt = Stmt::call(Operand::global("Base", "getfield"), [pair, Operand::from(1i64)]);
        }
        let differential = self.leave(&differential, index)?;
        let tangent = self.writer(index, false).stmt(Stmt::call(differential, call.tangents), own.ty())?;
        if !active {
            return Ok(());
        }
        let kind = self.activity.kind(&Operand::Value(SSAValue::from_index(index)));
        self.each(index, |this, _| Ok(this.writer(index, true).converted(tangent.clone(), &own, &kind)?))
    }

    /// The tangent of the result of a primitive with a rule.
    pub(in crate::forward_mode) fn rule_apart(
        &mut self,
        index: usize,
        (rule, bindings): (&Rule, &Bindings),
        args: &[Op],
        tangents: &[Option<Op>],
    ) -> Result<Op, Failure> {
        let Some(rules) = self.apart.as_ref().map(|apart| apart.rules) else { return Ok(Operand::nothing()) };
        let out = Operand::Value(SSAValue::from_index(index));
        let types = args.iter().chain([&out]).map(|operand| self.prepared.ir.operand_type(operand));
        let given = args.iter().cloned().chain([out.clone()]).zip(types).collect::<Vec<_>>();
        let kinds: Vec<Option<Type>> = args
            .iter()
            .zip(tangents)
            .map(|(arg, tangent)| tangent.is_some().then(|| self.activity.kind(arg).ty()))
            .collect();
        let result = self.activity.kind(&out).ty();
        let made = rules.of_primitive(self.derivation.module, rule, bindings, &given, &kinds, &result)?;
        self.apply_rule(index, &made, given, tangents)
    }

    /// The tangent of the result of a function with a rule.
    pub(in crate::forward_mode) fn function_rule_apart(
        &mut self,
        index: usize,
        rule: &Rule,
        name: &str,
        args: &[Op],
    ) -> Result<Op, Failure> {
        let Some(rules) = self.apart.as_ref().map(|apart| apart.rules) else { return Ok(Operand::nothing()) };
        let out = Operand::Value(SSAValue::from_index(index));
        let parameters = &rule.function.body.argtypes;
        let mut tangents = Vec::with_capacity(args.len());
        let mut kinds = Vec::with_capacity(args.len());
        for (place, arg) in args.iter().enumerate() {
            let to = self.derivation.tangents.of(parameters.get(args.len() + 2 + place).unwrap_or(&Type::Nothing));
            let is_given = self.activity.is_active(arg) && !to.is_none();
            tangents.push(if is_given { Some(self.placed(arg, 0, &to, index, true)?) } else { None });
            kinds.push((is_given, to));
        }
        let types = args.iter().chain([&out]).map(|operand| self.prepared.ir.operand_type(operand));
        let given = args.iter().cloned().chain([out.clone()]).zip(types).collect::<Vec<_>>();
        let own = self.derivation.tangents.of(&rule.function.result);
        let key = function_rule_key(name, &kinds);
        let made = rules.of_function(self.derivation.module, (name, key), &given, &kinds, &own)?;
        let tangent = self.apply_rule(index, &made, given, &tangents)?;
        let kind = self.activity.kind(&out);
        Ok(self.writer(index, true).converted(tangent, &own, &kind)?)
    }

    /// Applies the differential of a rule: a closure of it that the function makes, unless it needs no value of the
    /// function.
    fn apply_rule(
        &mut self,
        index: usize,
        made: &RuleDifferential,
        given: Vec<(Op, Type)>,
        tangents: &[Option<Op>],
    ) -> Result<Op, Failure> {
        let function = Operand::global("Main", &made.name);
        let captured: Vec<Op> = made.captured.iter().filter_map(|&place| Some(given.get(place)?.0.clone())).collect();
        let tangents = made.tangents.iter().filter_map(|&place| tangents.get(place).cloned().flatten());
        let tangents: Vec<Op> = tangents.collect();
        if captured.iter().all(is_constant) {
            let args = tangents.into_iter().chain(captured);
            return Ok(self.writer(index, true).stmt(Stmt::call(function, args), made.result.clone())?);
        }
        let mut args = vec![function];
        for operand in captured {
            args.push(self.kept_as_is(&operand, index)?);
        }
        let closure = made.closure.clone();
        let differential = self.primal_writer(index, true).call("BBKit", "partial_apply", args, closure)?;
        let differential = self.leave(&differential, index)?;
        Ok(self.writer(index, true).stmt(Stmt::call(differential, tangents), made.result.clone())?)
    }
}
