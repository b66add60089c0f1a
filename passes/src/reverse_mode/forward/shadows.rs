//! The shadow of a value: what holds the cotangents of what it refers to.

use bbcode::{BBCode, Ids, InstId};
use ircode::{Head, Operand, Stmt, Type};

use super::super::emit::{Emitter, type_operand};
use super::super::operation::{Operation, Place};
use super::super::saved::Saved;
use super::{Forward, Generated};
use crate::tangents::Tangent;

impl Forward<'_, '_> {
    /// The shadow of an operand, if it is there already; `nothing` where its type has none.
    pub(super) fn known_shadow(&self, operand: &Operand<Ids>) -> Option<Operand<Ids>> {
        let known = match operand {
            Operand::Value(value) => self.made.get(&Saved::Shadow(*value)).cloned(),
            Operand::Argument(argument) => self.arguments.get(argument).cloned(),
            _ => None,
        };
        let ty = self.bb.operand_type(operand);
        known.or_else(|| self.plan.derivation.tangents.of(&ty).shadow().is_none().then(Operand::nothing))
    }

    /// A shadow of zeros for something that is not active.
    pub(super) fn fresh_shadow<'b>(
        &'b mut self,
        operand: &Operand<Ids>,
        emitter: impl FnOnce(&'b mut BBCode) -> Generated<Emitter<'b>>,
    ) -> Generated<Operand<Ids>> {
        let tangent = self.plan.derivation.tangents.of(&self.bb.operand_type(operand));
        let mut emit = emitter(&mut self.bb)?;
        let zero = emit.zero_tangent(operand.clone(), &tangent)?;
        emit.shadow_part(zero, &tangent)
    }

    /// The shadow of an operand of a statement, made before it if need be.
    pub(super) fn shadow(&mut self, operand: &Operand<Ids>, before: InstId) -> Generated<Operand<Ids>> {
        match self.known_shadow(operand) {
            Some(known) => Ok(known),
            None => self.fresh_shadow(operand, |bb| Ok(Emitter::before(bb, before))),
        }
    }

    /// The shadow of an operand in the shape that it has where less or more is known of its type, made before a statement.
    fn shadow_in(&mut self, operand: &Operand<Ids>, shape: &Tangent, before: InstId) -> Generated<Operand<Ids>> {
        let own = self.plan.derivation.tangents.of(&self.bb.operand_type(operand)).shadow();
        let shadow = self.shadow(operand, before)?;
        Emitter::before(&mut self.bb, before).shadow_as(shadow, &own, shape)
    }

    /// Makes the shadow of what a statement gives, which has this tangent, if it is not that of one of its operands.
    /// What of calls and of what changes memory is made with these.
    pub(super) fn shadow_of_result(
        &mut self,
        id: InstId,
        operation: &Operation,
        shadow: &Tangent,
    ) -> Generated<Option<Operand<Ids>>> {
        let plan = self.plan;
        Ok(Some(match operation {
            Operation::Sum(a, b) => {
                let (a, b) = (self.shadow(a, id)?, self.shadow(b, id)?);
                Emitter::after(&mut self.bb, id).own("add_tangents", [a, b], shadow.ty())?
            }
            Operation::Copy(of) => {
                let to = plan.derivation.tangents.of(&self.bb.operand_type(&Operand::Value(id))).shadow();
                self.shadow_in(of, &to, id)?
            }
            Operation::Choose { condition, then, otherwise } => {
                let chosen =
                    [condition.clone(), self.shadow_in(then, shadow, id)?, self.shadow_in(otherwise, shadow, id)?];
                Emitter::before(&mut self.bb, id).call("Core", "ifelse", chosen, shadow.ty())?
            }
            Operation::Aggregate(fields) => self.shadow_of_aggregate(id, fields, shadow)?,
            Operation::Field { object, index, .. } => {
                let of = self.shadow(object, id)?;
                let mut emit = Emitter::after(&mut self.bb, id);
                match plan.derivation.tangents.of(&emit.bb.operand_type(object)).shadow() {
                    Tangent::Fields(_) => emit.field(of, *index, shadow.ty())?,
                    _ => emit.part_of_dynamic(of, (*index as i64 + 1).into(), shadow)?,
                }
            }
            Operation::AnyField { object, index, .. } => {
                let of = self.shadow(object, id)?;
                let mut emit = Emitter::after(&mut self.bb, id);
                match plan.derivation.tangents.of(&emit.bb.operand_type(object)).shadow() {
                    Tangent::Fields(fields) if fields.iter().all(|field| field == shadow) => {
                        emit.call("Base", "getfield", [of, index.clone()], shadow.ty())?
                    }
                    // Of fields of several types each has a shadow of its own shape.
                    _ => emit.part_of_dynamic(of, index.clone(), shadow)?,
                }
            }
            Operation::Load(place) => self.shadow_of_load(id, place)?,
            Operation::Part { of } => return self.shadow_of_part(id, of, shadow),
            Operation::Allocate => Emitter::after(&mut self.bb, id).zero_tangent(Operand::Value(id), shadow)?,
            Operation::NewObject(fields) => self.shadow_of_object(id, fields, shadow)?,
            Operation::Rule { rule, args, .. } => match args.first().filter(|_| rule.changes_first()) {
                Some(first) => self.shadow(first, id)?,
                None => self.fresh_shadow(&Operand::Value(id), |bb| Ok(Emitter::after(bb, id)))?,
            },
            Operation::CopyObject(source) => {
                let of = self.shadow(source, id)?;
                let mut emit = Emitter::after(&mut self.bb, id);
                let made = emit.own("snapshot", [of], shadow.ty())?;
                emit.own("reset_shadow!", [made.clone()], Type::Nothing)?;
                made
            }
            // These give one of their operands.
            Operation::Store { value, gives_value: true, .. } => self.shadow(value, id)?,
            Operation::Store { place, .. } => self.shadow(&place.object, id)?,
            Operation::Append { object, .. } if !matches!(self.bb.operand_type(object), Type::Stack(_)) => {
                self.shadow(object, id)?
            }
            _ => return Ok(None),
        }))
    }

    /// A tuple or immutable struct of the shadows of its fields.
    fn shadow_of_aggregate(
        &mut self,
        id: InstId,
        fields: &[Operand<Ids>],
        shadow: &Tangent,
    ) -> Generated<Operand<Ids>> {
        let mut parts = Vec::with_capacity(fields.len());
        for (number, field) in fields.iter().enumerate() {
            parts.push(match shadow {
                Tangent::Fields(fields) => match fields.get(number) {
                    // The declared type of a field may say that it holds nothing, where that of a constant does not.
                    Some(Tangent::None) => Operand::nothing(),
                    Some(declared) => self.shadow_in(field, declared, id)?,
                    None => self.shadow(field, id)?,
                },
                _ => self.shadow(field, id)?,
            });
        }
        let types = match shadow {
            Tangent::Fields(fields) => fields.iter().map(Tangent::ty).collect(),
            _ => parts.iter().map(|part| self.bb.operand_type(part)).collect::<Vec<_>>(),
        };
        parts.resize(types.len(), Operand::nothing());
        Emitter::before(&mut self.bb, id).tuple(parts, types)
    }

    /// What is at the same place of the shadow.
    fn shadow_of_load(&mut self, id: InstId, place: &Place) -> Generated<Operand<Ids>> {
        let object = self.shadow(&place.object, id)?;
        let tangent = self.plan.place_tangent(place);
        let mut emit = Emitter::after(&mut self.bb, id);
        let load = place.at(object, place.indices.clone()).load();
        let element = Operand::Value(emit.stmt(load, tangent.ty())?);
        emit.shadow_part(element, &tangent)
    }

    /// The same part of the shadow.
    fn shadow_of_part(&mut self, id: InstId, of: &Operand<Ids>, shadow: &Tangent) -> Generated<Option<Operand<Ids>>> {
        let of = self.shadow(of, id)?;
        let Some(mut stmt) = self.bb.stmt(id).cloned() else { return Ok(None) };
        match self.plan.derivation.module.primitive_call(&stmt) {
            // `jl_reshape_array(type, array, dims)`
            Some((primitive, [_, _, dims])) if primitive.name == "jl_reshape_array" => {
                let args = [type_operand(shadow.ty()), of, dims.clone()];
                stmt = Stmt::call(Operand::global("Base", primitive.name), args);
            }
            _ => replace_first(&mut stmt, of, shadow),
        }
        Ok(Some(Operand::Value(Emitter::after(&mut self.bb, id).stmt(stmt, shadow.ty())?)))
    }

    /// A new mutable struct or reference of what its fields' tangents start as.
    fn shadow_of_object(&mut self, id: InstId, fields: &[Operand<Ids>], shadow: &Tangent) -> Generated<Operand<Ids>> {
        let plan = self.plan;
        let types = self.plan.derivation.module.field_types(&self.bb.operand_type(&Operand::Value(id)));
        let mut parts = Vec::with_capacity(fields.len() + 1);
        parts.push(type_operand(shadow.ty()));
        for (index, field) in fields.iter().enumerate() {
            let of = types.get(index).cloned().unwrap_or(Type::Any);
            let tangent = plan.derivation.tangents.of(&of);
            let part = self.shadow(field, id)?;
            parts.push(Emitter::before(&mut self.bb, id).stored_tangent(&tangent, part)?);
        }
        // Fields that are assigned later are read as soon as that is reversed.
        let mut all = parts.len();
        for of in types.iter().skip(fields.len()) {
            let tangent = plan.derivation.tangents.of(of);
            let mut emit = Emitter::before(&mut self.bb, id);
            let none = emit.shadow_as(Operand::nothing(), &Tangent::None, &tangent.shadow())?;
            parts.push(emit.stored_tangent(&tangent, none)?);
            if !matches!(tangent, Tangent::None | Tangent::Object(_)) {
                all = parts.len();
            }
        }
        parts.truncate(all);
        Ok(Operand::Value(Emitter::before(&mut self.bb, id).stmt(Stmt::expr(Head::New, parts), shadow.ty())?))
    }
}

/// Puts the shadow in the place of the first operand, and its type in that of the type.
fn replace_first(stmt: &mut Stmt<Ids>, of: Operand<Ids>, shadow: &Tangent) {
    match stmt {
        Stmt::Call(call) => {
            if let Some(first) = call.args.first_mut() {
                *first = of;
            }
        }
        Stmt::Invoke(invoke) => {
            if let Some(first) = invoke.args.first_mut() {
                *first = of;
            }
        }
        // `%new(Vector{Float64}, place, size)`
        Stmt::Expr(expr) => {
            if let [ty, first, ..] = expr.args.as_mut_slice() {
                *ty = type_operand(shadow.ty());
                *first = of;
            }
        }
        _ => {}
    }
}
