//! The differentials of what has a rule, as functions of their own: `sin_differential(dx, x)`.

use std::cell::RefCell;

use bbcode::BBCode;
use hashbrown::HashMap;
use ircode::{Argument, Constant, Function, IRCode, Module, Name, NewInstruction, Operand, SSAValue, Stmt, Type};

use crate::forward_mode::rule::Application;
use crate::forward_mode::transform::Failure;
use crate::forward_mode::writer::{Op, Writer, zero};
use crate::free_names::FreeNames;
use crate::manager::Context;
use crate::rules::{Bindings, Rule};
use crate::tangents::Tangent;
use crate::{constant_folding, dead_code};

/// The differential of a rule: a function of tangents, and of values that it captures.
#[derive(Clone, Debug)]
pub(super) struct RuleDifferential {
    pub(super) name: Name,
    /// The operands whose tangents it takes.
    pub(super) tangents: Vec<usize>,
    /// The values that it takes behind them, of the operands and the result, counted from 0.
    pub(super) captured: Vec<usize>,
    pub(super) result: Type,
    /// The type of a closure that has the values.
    pub(super) closure: Type,
}

/// The functions that were made, each once.
#[derive(Debug, Default)]
pub(super) struct RuleDifferentials {
    known: RefCell<HashMap<String, RuleDifferential>>,
    made: RefCell<Vec<Function<BBCode>>>,
}

/// A constant stays where it is named.
pub(super) fn is_constant(operand: &Op) -> bool {
    !matches!(operand, Operand::Value(_) | Operand::Argument(_))
}

/// A constant that is written in the function: one that is no float, of which a function for each would be too many.
fn is_literal(operand: &Op) -> bool {
    match operand {
        Operand::Constant(Constant::Scalar(scalar)) => !scalar.scalar_type().is_float(),
        other => is_constant(other),
    }
}

/// What tells the differentials of the rule of a function apart.
pub(super) fn function_rule_key(name: &str, kinds: &[(bool, Tangent)]) -> String {
    format!("{name} {kinds:?}")
}

/// What the rule of a call is given.
struct Given<'a> {
    /// The operands and the result, with their types.
    values: &'a [(Op, Type)],
    /// The types of the tangents of those operands that have some.
    tangents: &'a [Option<Type>],
    /// The type of the tangent of the result.
    result: &'a Type,
}

/// What is written into the body of a differential: given the tangents and the values, as operands.
type Body<'a> = dyn FnMut(&mut Writer<'_>, &[Option<Op>], &[Op]) -> Result<Op, Failure> + 'a;

impl RuleDifferentials {
    /// The functions, in the order in which they were first needed.
    pub(super) fn take(&self) -> Vec<Function<BBCode>> {
        self.made.take()
    }

    /// That of the rule of a primitive, with the operands and the result that it is given, and the types of the
    /// tangents of those operands that have some.
    pub(super) fn of_primitive(
        &self,
        module: &Module<BBCode>,
        rule: &Rule,
        bindings: &Bindings,
        given: &[(Op, Type)],
        tangents: &[Option<Type>],
        result: &Type,
    ) -> Result<RuleDifferential, Failure> {
        let literals: Vec<Option<&Op>> =
            given.iter().map(|(operand, _)| Some(operand).filter(|operand| is_literal(operand))).collect();
        let types: Vec<&Type> = given.iter().map(|(_, ty)| ty).collect();
        let key = format!("{} {types:?} {tangents:?} {literals:?} {result:?}", rule.function.name);
        let mut base = rule.function.name.replace("_jvp", "_differential");
        let active: Vec<usize> = (0..tangents.len()).filter(|&index| tangents[index].is_some()).collect();
        if active.len() < tangents.len() {
            base.push_str("_wrt");
            active.iter().for_each(|index| base.push_str(&format!("_{}", index + 2)));
        }
        let float = tangents.iter().flatten().find_map(Type::as_float);
        if let Some(float) = float.filter(|float| Type::from(*float) != Type::FLOAT64) {
            base.push_str(&format!("_{float}"));
        }
        let mut body = |writer: &mut Writer<'_>, tangents: &[Option<Op>], values: &[Op]| {
            let Some((out, args)) = values.split_last() else { return Ok(Operand::nothing()) };
            let application = Application { module, rule, bindings, args, out: out.clone() };
            let written = application.write(writer, &[tangents.to_vec()])?;
            Ok(written.into_iter().next().unwrap_or_else(Operand::nothing))
        };
        self.made(module, key, &base, Given { values: given, tangents, result }, &mut body)
    }

    /// That of the rule of a function, with the operands and the result that it is given. `kinds` says for each operand
    /// whether it has a tangent, and of which kind the rule takes it.
    pub(super) fn of_function(
        &self,
        module: &Module<BBCode>,
        (rule, key): (&str, String),
        given: &[(Op, Type)],
        kinds: &[(bool, Tangent)],
        result: &Tangent,
    ) -> Result<RuleDifferential, Failure> {
        let literals: Vec<Option<&Op>> =
            given.iter().map(|(operand, _)| Some(operand).filter(|operand| is_literal(operand))).collect();
        let key = format!("{key} {literals:?}");
        let tangents: Vec<Option<Type>> = kinds.iter().map(|(given, kind)| given.then(|| kind.ty())).collect();
        let mut body = |writer: &mut Writer<'_>, tangents: &[Option<Op>], values: &[Op]| {
            let mut args = values.to_vec();
            for ((tangent, (_, kind)), value) in tangents.iter().zip(kinds).zip(values) {
                args.push(match tangent {
                    Some(tangent) => tangent.clone(),
                    None if kind.shadow().is_none() => zero(kind),
                    None => writer.zero_of(value.clone(), kind, kind)?,
                });
            }
            Ok(writer.call("Main", rule, args, result.ty())?)
        };
        let base = format!("{rule}_differential");
        let result = result.ty();
        self.made(module, key, &base, Given { values: given, tangents: &tangents, result: &result }, &mut body)
    }

    fn made(
        &self,
        module: &Module<BBCode>,
        key: String,
        base: &str,
        Given { values: given, tangents, result }: Given<'_>,
        body: &mut Body<'_>,
    ) -> Result<RuleDifferential, Failure> {
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let made = |name: &str| self.made.borrow().iter().any(|made| made.name == *name);
        let name = FreeNames::default().find(base, |name| module.function(name).is_some() || made(name));
        let mut argtypes = vec![Type::function(name.clone())];
        let mut argument = |ty: &Type| {
            argtypes.push(ty.clone());
            Operand::Argument(Argument::from_index(argtypes.len() - 1))
        };
        let tangent_operands: Vec<Option<Op>> = tangents.iter().map(|ty| ty.as_ref().map(&mut argument)).collect();
        let mut places: Vec<Option<usize>> =
            (0..tangents.len()).filter(|&place| tangents[place].is_some()).map(|_| None).collect();
        let tangent_count = places.len();
        let mut values = Vec::with_capacity(given.len());
        for (place, (operand, ty)) in given.iter().enumerate() {
            values.push(if is_literal(operand) {
                operand.clone()
            } else {
                places.push(Some(place));
                argument(ty)
            });
        }
        let mut ir = empty(argtypes)?;
        let mut writer = Writer { ir: &mut ir, anchor: SSAValue::from_index(0), after: false };
        let value = body(&mut writer, &tangent_operands, &values)?;
        if let Some(stmt) = ir.stmt_mut(SSAValue::from_index(0)) {
            *stmt = Stmt::ret(value);
        }
        let problem = |error: &dyn std::fmt::Display| Failure::Function(error.to_string());
        let ir = ir.compact().map_err(|error| problem(&error))?.ir;
        let mut bb = BBCode::try_from(ir).map_err(|error| problem(&error))?;
        let context = Context { module, function: &name };
        for pass in [constant_folding::run, dead_code::run] {
            pass(&mut bb, &context).map_err(|error| problem(&error))?;
        }
        let captured = keep_used_values(&mut bb, tangent_count, &places);
        let parameters = tangents.iter().flatten().cloned();
        let differential = RuleDifferential {
            closure: Type::closure(parameters, result.clone()),
            tangents: (0..tangents.len()).filter(|&place| tangents[place].is_some()).collect(),
            captured,
            result: result.clone(),
            name: name.clone(),
        };
        self.made.borrow_mut().push(Function::new(name, result.clone(), bb));
        self.known.borrow_mut().insert(key, differential.clone());
        Ok(differential)
    }
}

/// A function that returns nothing.
fn empty(argtypes: Vec<Type>) -> Result<IRCode, Failure> {
    let mut bb = BBCode::new(argtypes);
    let block = bb.push_block();
    let problem = |error: &dyn std::fmt::Display| Failure::Function(error.to_string());
    bb.push(block, NewInstruction::new(Stmt::ret(Operand::nothing()), Type::Any)).map_err(|error| problem(&error))?;
    IRCode::try_from(bb).map_err(|error| problem(&error))
}

/// Leaves out the arguments that are values and that nothing uses; gives what the others are.
fn keep_used_values(bb: &mut BBCode, tangents: usize, places: &[Option<usize>]) -> Vec<usize> {
    let mut used = vec![false; bb.argtypes.len()];
    for (_, inst) in bb.all_insts() {
        inst.stmt.for_each_operand(&mut |operand| {
            if let Operand::Argument(argument) = operand
                && let Some(place) = argument.index().and_then(|index| used.get_mut(index))
            {
                *place = true;
            }
        });
    }
    let mut renamed: Vec<Argument> = Vec::with_capacity(used.len());
    let mut argtypes = Vec::with_capacity(used.len());
    let mut captured = Vec::new();
    for (index, ty) in std::mem::take(&mut bb.argtypes).into_iter().enumerate() {
        renamed.push(Argument::from_index(argtypes.len()));
        if index <= tangents || used[index] {
            argtypes.push(ty);
            captured.extend(index.checked_sub(1).and_then(|index| places.get(index).copied().flatten()));
        }
    }
    bb.argtypes = argtypes;
    let ids: Vec<_> = bb.all_insts().map(|(id, _)| id).collect();
    for id in ids {
        let Some(inst) = bb.inst_mut(id) else { continue };
        inst.stmt.for_each_operand_mut(&mut |operand| {
            if let Operand::Argument(argument) = operand
                && let Some(new) = argument.index().and_then(|index| renamed.get(index))
            {
                *argument = *new;
            }
        });
    }
    captured
}
