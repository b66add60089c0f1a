//! Writing statements next to those of the function, and bringing tangents into the form that a place needs.

use ircode::{Constant, IRCode, InsertError, NewInstruction, Operand, Positions, SSAValue, Scalar, Stmt, Type};

use crate::tangents::Tangent;

pub(super) type Op = Operand<Positions>;

/// Writes statements before or behind one of the function.
pub(super) struct Writer<'i> {
    pub(super) ir: &'i mut IRCode,
    /// Where: next to this statement,
    pub(super) anchor: SSAValue,
    /// and behind it, or else before it.
    pub(super) after: bool,
}

type Written = Result<Op, InsertError>;

impl Writer<'_> {
    pub(super) fn stmt(&mut self, stmt: Stmt<Positions>, ty: Type) -> Written {
        self.ir.insert_node(self.anchor, NewInstruction::new(stmt, ty), self.after).map(Operand::Value)
    }

    pub(super) fn call(&mut self, module: &str, name: &str, args: impl IntoIterator<Item = Op>, ty: Type) -> Written {
        self.stmt(Stmt::call(Operand::global(module, name), args), ty)
    }

    pub(super) fn tuple(&mut self, elements: Vec<Op>, types: impl IntoIterator<Item = Type>) -> Written {
        self.call("Core", "tuple", elements, Type::tuple(types.into_iter().map(Type::or_any)))
    }

    /// Field number `index`, counted from 0, of a tangent of this kind.
    pub(super) fn field(&mut self, tangent: Op, kind: &Tangent, index: usize) -> Result<(Op, Tangent), InsertError> {
        let number = Operand::from(index as i64 + 1);
        match kind {
            Tangent::Fields(fields) => {
                let field = fields.get(index).cloned().unwrap_or(Tangent::None);
                if field.is_none() {
                    return Ok((Operand::nothing(), field));
                }
                Ok((self.call("Base", "getfield", [tangent, number], field.ty())?, field))
            }
            _ => Ok((self.call("BBKit", "tangent_field", [tangent, number], Type::Any)?, Tangent::ANY)),
        }
    }

    /// A tangent of one kind as one of another: what is known only at run time, as what the type says that it is, and
    /// the other way round.
    pub(super) fn converted(&mut self, tangent: Op, from: &Tangent, to: &Tangent) -> Written {
        match (from, to) {
            _ if from == to => Ok(tangent),
            (_, Tangent::None) => Ok(Operand::nothing()),
            (Tangent::None, to) => Ok(zero(to)),
            (Tangent::Dynamic { .. }, Tangent::Float(ty)) => {
                let named = Operand::Constant(Constant::of_type((*ty).into()));
                self.call("BBKit", "tangent_float", [named, tangent], to.ty())
            }
            // Says the type, which a derivative of this derivative needs.
            (Tangent::Dynamic { .. }, Tangent::Object(ty)) => self.stmt(Stmt::pi(tangent, ty.clone()), ty.clone()),
            (Tangent::Fields(_) | Tangent::Dynamic { .. }, Tangent::Fields(fields)) => {
                let mut elements = Vec::with_capacity(fields.len());
                for (index, field) in fields.iter().enumerate() {
                    elements.push(match field.is_none() {
                        true => Operand::nothing(),
                        false => {
                            let (part, kind) = self.field(tangent.clone(), from, index)?;
                            self.converted(part, &kind, field)?
                        }
                    });
                }
                self.tuple(elements, fields.iter().map(Tangent::ty))
            }
            _ => Ok(tangent),
        }
    }

    /// The zero of a value that holds objects, of which it makes shadows.
    pub(super) fn zero_of(&mut self, value: Op, from: &Tangent, to: &Tangent) -> Written {
        let ty = self.ir.operand_type(&value);
        let mut args = vec![value];
        if !ty.is_unknown() {
            args.push(Operand::Constant(Constant::of_type(ty)));
        }
        let zero = self.call("BBKit", "zero_tangent", args, from.ty())?;
        self.converted(zero, from, to)
    }
}

/// The zero of a tangent of this kind, of a value that holds no objects.
pub(super) fn zero(kind: &Tangent) -> Op {
    Operand::Constant(zero_constant(kind))
}

fn zero_constant(kind: &Tangent) -> Constant {
    match kind {
        Tangent::Float(ty) => Constant::Scalar(Scalar::from_bits(*ty, 0)),
        Tangent::Fields(fields) => Constant::Tuple(fields.iter().map(zero_constant).collect::<Vec<_>>().into()),
        Tangent::None | Tangent::Object(_) | Tangent::Dynamic { .. } => Constant::Nothing,
    }
}
