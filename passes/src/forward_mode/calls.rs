//! Calls of functions: of their derivatives, of those that tables of methods and witnesses give, and of rules for
//! functions.

use ircode::wording::counted;
use ircode::{Constant, GlobalRef, Operand, SSAValue, Stmt, Type};

use super::activity::State;
use super::derivation::Called;
use super::linearization::CallApart;
use super::transform::{Done, Failure, Transform};
use super::writer::Op;
use crate::PassError;
use crate::derivative_entries::Registered;
use crate::differentiation::dispatch::as_taken;
use crate::rules::RuleKind;
use crate::tangents::Tangent;

impl Transform<'_> {
    /// Calls the derivative of a function in the place of the function.
    pub(super) fn call(&mut self, index: usize, function: usize, args: &[Op]) -> Done {
        let result = Operand::Value(SSAValue::from_index(index));
        let kind = self.activity.kind(&result);
        let active = self.activity.state(&result) == State::Active && !kind.is_none();
        if !args.iter().any(|arg| self.activity.is_active(arg) || matches!(self.activity.state(arg), State::Opaque(_)))
        {
            return if active { self.zeros(index) } else { Ok(()) };
        }
        if self.apply_function_rule(index, function, args, active)? {
            return Ok(());
        }
        let Some(Called { mut signature, argtypes, result: result_type, varargs }) =
            self.derivation.called(function).map_err(|error| {
                let PassError { message, help, kind, .. } = error;
                Failure::At { at: index, message, help, kind }
            })?
        else {
            return Ok(());
        };
        let fixed = argtypes.len().saturating_sub(if varargs { 2 } else { 1 });
        let (own, collected) = args.split_at(fixed.min(args.len()));
        let mut primal = own.to_vec();
        let kinds: Vec<Tangent> = argtypes.iter().map(|ty| self.derivation.tangents.of(ty)).collect();
        let needs = |arg: &Op| {
            self.activity.is_active(arg)
                || matches!(self.activity.state(arg), State::Opaque(_)) && !self.activity.kind(arg).is_none()
        };
        for (place, arg) in own.iter().enumerate() {
            let has_tangent = kinds.get(place + 1).is_some_and(|kind| !kind.is_none());
            signature.wanted[place + 1] = has_tangent && needs(arg);
        }
        if varargs {
            if let Some((wanted, kind)) = signature.wanted.last_mut().zip(kinds.last()) {
                *wanted = !kind.is_none() && collected.iter().any(needs);
            }
            let types: Vec<Type> = collected.iter().map(|arg| self.ir.operand_type(arg)).collect();
            primal.push(self.primal_writer(index, false).tuple(collected.to_vec(), types)?);
        }
        if !signature.wanted.contains(&true) {
            return if active { self.zeros(index) } else { Ok(()) };
        }
        let registered = self.registered(index, function, &signature.wanted, varargs)?;
        if let Some(Registered { with_respect_to, .. }) = &registered {
            for (place, (wanted, kind)) in signature.wanted.iter_mut().zip(&kinds).enumerate().skip(1) {
                let named = with_respect_to.is_empty() || with_respect_to.contains(&(place as u32 + 1));
                *wanted = named && !kind.is_none();
            }
        }
        let mut operands = Vec::new();
        for direction in 0..self.directions() {
            for (place, (wanted, kind)) in signature.wanted.clone().iter().zip(&kinds).enumerate().skip(1) {
                operands.push(match (wanted, own.get(place - 1)) {
                    (false, _) => Operand::nothing(),
                    (true, Some(arg)) => self.placed(arg, direction, kind, index, false)?,
                    (true, None) => {
                        let own: Vec<Tangent> = collected.iter().map(|arg| self.activity.kind(arg)).collect();
                        let mut elements = Vec::with_capacity(collected.len());
                        for (arg, kind) in collected.iter().zip(&own) {
                            elements.push(self.placed(arg, direction, kind, index, false)?);
                        }
                        let mut writer = self.writer(index, false);
                        let tuple = writer.tuple(elements, own.iter().map(Tangent::ty))?;
                        writer.converted(tuple, &Tangent::Fields(own.into()), kind)?
                    }
                });
            }
        }
        let own_type = self.prepared.ir.stmts.types().get(index).cloned().unwrap_or(Type::Untyped);
        if self.apart.is_some() {
            let wanted = signature.wanted.iter().zip(kinds).skip(1);
            let kinds = wanted.map(|(wanted, kind)| if *wanted { kind } else { Tangent::None }).collect();
            let call = CallApart { signature, args: primal, tangents: operands, kinds, result: result_type };
            return if own_type == Type::Bottom { Ok(()) } else { self.call_apart(index, call, active) };
        }
        let given = match registered.is_none() {
            true => self.derivation.given(&signature),
            false => None,
        };
        let callee = match (registered, given) {
            (Some(registered), _) => Operand::Constant(Constant::Function(registered.function)),
            (None, Some(given)) => Operand::Global(GlobalRef::new("Main", given).into()),
            (None, None) => {
                let name = self.derivation.name(&signature);
                self.called.push(signature);
                Operand::Global(GlobalRef::new("Main", name).into())
            }
        };
        let operands = primal.into_iter().chain(operands);
        if own_type == Type::Bottom {
            // It throws, but may change objects before.
            if let Some(stmt) = self.ir.stmt_mut(SSAValue::from_index(index)) {
                *stmt = Stmt::call(callee, operands);
            }
            return Ok(());
        }
        let pair = Type::tuple(self.derivation.result_types(&result_type));
        let both = self.writer(index, false).stmt(Stmt::call(callee, operands), pair)?;
        if let Some(stmt) = self.ir.stmt_mut(SSAValue::from_index(index)) {
            *stmt = Stmt::call(Operand::global("Base", "getfield"), [both.clone(), Operand::from(1i64)]);
        }
        if !active {
            return Ok(());
        }
        let own = self.derivation.tangents.of(&result_type);
        self.each(index, |this, direction| {
            let number = Operand::from(direction as i64 + 2);
            let mut writer = this.writer(index, true);
            let tangent = writer.call("Base", "getfield", [both.clone(), number], own.ty())?;
            Ok(writer.converted(tangent, &own, &kind)?)
        })
    }

    /// The derivative of a function that a table of methods has, with respect to these arguments at least.
    fn registered(
        &self,
        index: usize,
        function: usize,
        wanted: &[bool],
        varargs: bool,
    ) -> Result<Option<Registered>, Failure> {
        let module = self.derivation.module;
        let name = module.functions().get(function).map_or("", |function| function.name.as_str());
        let fail = |problem: String| Failure::at(index, format!("the derivative of `{name}`: {problem}"), None);
        let Some(found) = self.derivation.registered.find(function, wanted).map_err(fail)? else { return Ok(None) };
        let apart = self.apart.is_some();
        if self.directions() != 1 || varargs || apart {
            let takes = if apart { "computes value and tangent at once" } else { "takes tangents of one direction" };
            return match found.generated {
                // It is made anew, for all directions at once or as a differential.
                true => Ok(None),
                false => Err(fail(format!("`{}` is registered, which {takes}", found.function))),
            };
        }
        let taken = module.function(&found.function).map(|function| function.body.argtypes.len().saturating_sub(1));
        let expected = 2 * wanted.len().saturating_sub(1);
        match taken {
            Some(taken) if taken == expected => Ok(Some(found.clone())),
            Some(taken) => {
                let problem = format!("`{}` takes {}, not {expected}", found.function, counted(taken, "argument"));
                Err(fail(problem + ": a tangent for each argument follows the arguments"))
            }
            None => Err(fail(format!("there is no function `{}`", found.function))),
        }
    }

    /// Calls the rule of a function behind the function, if it has one.
    fn apply_function_rule(
        &mut self,
        index: usize,
        function: usize,
        args: &[Op],
        active: bool,
    ) -> Result<bool, Failure> {
        let derivation = self.derivation;
        let Some(target) = derivation.module.functions().get(function) else { return Ok(false) };
        if !derivation.rules.has_function_rule(&target.name, RuleKind::Jvp) {
            return Ok(false);
        }
        let taken = target.body.argtypes.iter().skip(1).chain(std::iter::repeat(&Type::Any));
        let given = args.iter().map(|arg| self.prepared.ir.operand_type(arg));
        let types: Vec<Type> = given.zip(taken).map(|(given, ty)| as_taken(derivation.module, given, ty)).collect();
        let Some(rule) = derivation.rules.find_function(&target.name, RuleKind::Jvp, &types) else { return Ok(false) };
        // It may be for what the function does to an object.
        let changes = args.iter().any(|arg| self.activity.is_active(arg) && self.activity.holds_objects(arg));
        if !active && !changes {
            return Ok(true);
        }
        let result = Operand::Value(SSAValue::from_index(index));
        let kind = self.activity.kind(&result);
        let name = rule.called_name();
        self.rules.push(ircode::Function { name: name.clone(), ..rule.function.clone() });
        let parameters = &rule.function.body.argtypes;
        if self.apart.is_some() {
            let tangent = self.function_rule_apart(index, &rule, &name, args)?;
            self.tangents[index] = Some(vec![tangent]).filter(|_| active);
            return Ok(true);
        }
        self.each(index, |this, direction| {
            let mut operands = args.to_vec();
            operands.push(result.clone());
            for (place, arg) in args.iter().enumerate() {
                let ty = parameters.get(args.len() + 2 + place).unwrap_or(&Type::Nothing);
                let to = derivation.tangents.of(ty);
                operands.push(this.placed(arg, direction, &to, index, true)?);
            }
            let own = derivation.tangents.of(&rule.function.result);
            let mut writer = this.writer(index, true);
            let tangent = writer.call("Main", &name, operands, own.ty())?;
            Ok(writer.converted(tangent, &own, &kind)?)
        })?;
        Ok(true)
    }
}
