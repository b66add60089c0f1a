//! Writing what is done with tangents: taking their parts, adding them up, putting them together.

use bbcode::{EditError, Ids};
use ircode::{Operand, Operands, Scalar, ScalarType, Stmt, Type};

use super::emit::{Emitter, type_operand};
use crate::tangents::Tangent;

type Emitted<T> = Result<T, EditError>;

/// The leaves of a cotangent: its floats and what is known only at run time, from left to right. Most cotangents are
/// one float.
pub(super) type Leaves = Operands<Ids>;

impl Emitter<'_> {
    /// The tangent of a value with all floats zero.
    pub(super) fn zero_tangent(&mut self, of: Operand<Ids>, tangent: &Tangent) -> Emitted<Operand<Ids>> {
        let mut has_dynamic = false;
        if let Tangent::Fields(_) = tangent {
            tangent.for_each_leaf(&mut |leaf| has_dynamic |= matches!(leaf, Tangent::Dynamic { .. }));
        }
        let mut operands = vec![of.clone()];
        if has_dynamic {
            // Of a tuple of values that turn out to have no tangents there would be none, and not one of `nothing`s.
            operands.push(type_operand(self.bb.operand_type(&of)));
        }
        self.own("zero_tangent", operands, tangent.ty())
    }

    /// The part of a tangent that has identity.
    pub(super) fn shadow_part(&mut self, value: Operand<Ids>, tangent: &Tangent) -> Emitted<Operand<Ids>> {
        self.part_with_identity(value, tangent, true)
    }

    /// What may stay of a tangent in a shadow when what was stored beside it is taken back and nobody looks for what
    /// was there before: what has identity, but where only the run knows of which shape that is. It may have been of
    /// another one before, to which cotangents are still added.
    pub(super) fn staying_part(&mut self, value: Operand<Ids>, tangent: &Tangent) -> Emitted<Operand<Ids>> {
        self.part_with_identity(value, tangent, false)
    }

    fn part_with_identity(
        &mut self,
        value: Operand<Ids>,
        tangent: &Tangent,
        of_any_shape: bool,
    ) -> Emitted<Operand<Ids>> {
        let shadow = tangent.shadow();
        if shadow.is_none() {
            return Ok(Operand::nothing());
        }
        if tangent.cotangent().is_none() {
            return Ok(value);
        }
        match tangent {
            Tangent::Fields(fields) => {
                let mut parts = Vec::with_capacity(fields.len());
                for (index, field) in fields.iter().enumerate() {
                    parts.push(match field.shadow().is_none() {
                        true => Operand::nothing(),
                        false => {
                            let part = self.field(value.clone(), index, field.ty())?;
                            self.part_with_identity(part, field, of_any_shape)?
                        }
                    });
                }
                self.tuple(parts, fields.iter().map(|field| field.shadow().ty()).collect())
            }
            _ if of_any_shape => self.own("shadow_of", [value], shadow.ty()),
            _ => Ok(Operand::nothing()),
        }
    }

    /// A shadow of one shape in another: that of the same value, of whose type more or less is known.
    pub(super) fn shadow_as(&mut self, value: Operand<Ids>, from: &Tangent, to: &Tangent) -> Emitted<Operand<Ids>> {
        let fields = match (from, to) {
            _ if from == to => return Ok(value),
            (_, Tangent::Fields(fields)) => fields,
            // Of an object of which the type is known, so is that of the shadow.
            (Tangent::Dynamic { .. }, Tangent::Object(_)) => {
                return self.stmt(Stmt::pi(value, to.ty()), to.ty()).map(Operand::Value);
            }
            _ => return Ok(value),
        };
        let mut parts = Vec::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            let part = match from {
                _ if field.is_none() => Operand::nothing(),
                Tangent::Fields(own) => match own.get(index).filter(|own| !own.is_none()) {
                    Some(own) => {
                        let part = self.field(value.clone(), index, own.ty())?;
                        self.shadow_as(part, own, field)?
                    }
                    None => self.shadow_as(Operand::nothing(), &Tangent::None, field)?,
                },
                Tangent::Dynamic { .. } => self.part_of_dynamic(value.clone(), (index as i64 + 1).into(), field)?,
                _ => self.shadow_as(Operand::nothing(), &Tangent::None, field)?,
            };
            parts.push(part);
        }
        self.tuple(parts, fields.iter().map(Tangent::ty).collect())
    }

    /// The part of this number, counted from 1, of a shadow whose shape only the run knows, as a shadow of this shape.
    /// Where what it belongs to holds no object there are no parts, and the part is none either.
    pub(super) fn part_of_dynamic(
        &mut self,
        of: Operand<Ids>,
        number: Operand<Ids>,
        shadow: &Tangent,
    ) -> Emitted<Operand<Ids>> {
        match shadow {
            Tangent::Fields(_) => {
                let part = self.own("tangent_field", [of, number], Type::Any)?;
                self.shadow_as(part, &Tangent::ANY.shadow(), shadow)
            }
            shadow => self.own("tangent_field", [of, number], shadow.ty()),
        }
    }

    /// Makes the floats of a shadow zero.
    pub(super) fn reset(&mut self, value: Operand<Ids>, shadow: &Tangent) -> Emitted<()> {
        match shadow {
            Tangent::None | Tangent::Float(_) => Ok(()),
            Tangent::Object(_) | Tangent::Dynamic { .. } => {
                self.own("reset_shadow!", [value], Type::Nothing).map(|_| ())
            }
            Tangent::Fields(fields) => {
                for (index, field) in fields.iter().enumerate().filter(|(_, field)| !field.is_none()) {
                    let part = self.field(value.clone(), index, field.ty())?;
                    self.reset(part, field)?;
                }
                Ok(())
            }
        }
    }

    /// What is stored in the shadow of an object for a value with this shadow: with zeros for its floats.
    pub(super) fn stored_tangent(&mut self, tangent: &Tangent, shadow: Operand<Ids>) -> Emitted<Operand<Ids>> {
        match tangent {
            Tangent::None => Ok(Operand::nothing()),
            Tangent::Float(float) => Ok(Operand::from(Scalar::from_bits(*float, 0))),
            Tangent::Object(_) | Tangent::Dynamic { .. } => Ok(shadow),
            Tangent::Fields(fields) => {
                let known = matches!(self.bb.operand_type(&shadow), Type::Tuple(_));
                let mut parts = Vec::with_capacity(fields.len());
                for (index, field) in fields.iter().enumerate() {
                    let part = match field.shadow() {
                        Tangent::None => Operand::nothing(),
                        part if known => self.field(shadow.clone(), index, part.ty())?,
                        part => self.part_of_dynamic(shadow.clone(), (index as i64 + 1).into(), &part)?,
                    };
                    parts.push(self.stored_tangent(field, part)?);
                }
                self.tuple(parts, fields.iter().map(Tangent::ty).collect())
            }
        }
    }

    /// The leaves of the cotangent that is part of a tangent.
    pub(super) fn cotangent_part(&mut self, value: Operand<Ids>, tangent: &Tangent) -> Emitted<Leaves> {
        match tangent {
            Tangent::None | Tangent::Object(_) | Tangent::Dynamic { cotangent: false, .. } => Ok(Leaves::new()),
            Tangent::Float(_) | Tangent::Dynamic { shadow: false, .. } => Ok(Leaves::from_iter([value])),
            Tangent::Dynamic { .. } => Ok(Leaves::from_iter([self.own("cotangent_of", [value], Type::Any)?])),
            Tangent::Fields(fields) => {
                let mut leaves = Leaves::new();
                for (index, field) in fields.iter().enumerate().filter(|(_, field)| !field.cotangent().is_none()) {
                    let part = self.field(value.clone(), index, field.ty())?;
                    leaves.extend(self.cotangent_part(part, field)?);
                }
                Ok(leaves)
            }
        }
    }

    /// A tangent with a cotangent, given by its leaves, added to its floats.
    pub(super) fn add_cotangent(
        &mut self,
        value: Operand<Ids>,
        tangent: &Tangent,
        leaves: &mut impl Iterator<Item = Operand<Ids>>,
    ) -> Emitted<Operand<Ids>> {
        if tangent.cotangent().is_none() {
            return Ok(value);
        }
        match tangent {
            Tangent::Fields(fields) => {
                let mut parts = Vec::with_capacity(fields.len());
                for (index, field) in fields.iter().enumerate() {
                    let part = match field.is_none() {
                        true => Operand::nothing(),
                        false => self.field(value.clone(), index, field.ty())?,
                    };
                    parts.push(self.add_cotangent(part, field, leaves)?);
                }
                self.tuple(parts, fields.iter().map(Tangent::ty).collect())
            }
            leaf => {
                let cotangent = leaves.next().unwrap_or_else(Operand::nothing);
                self.add_leaves(leaf, value, cotangent)
            }
        }
    }

    /// The sum of two leaves.
    pub(super) fn add_leaves(&mut self, leaf: &Tangent, a: Operand<Ids>, b: Operand<Ids>) -> Emitted<Operand<Ids>> {
        match leaf {
            Tangent::Float(float) => self.call("Base", "add_float", [a, b], Type::from(*float)),
            _ => self.own("add_tangents", [a, b], Type::Any),
        }
    }

    /// A cotangent as one value.
    pub(super) fn pack(
        &mut self,
        cotangent: &Tangent,
        leaves: &mut impl Iterator<Item = Operand<Ids>>,
    ) -> Emitted<Operand<Ids>> {
        match cotangent {
            Tangent::None | Tangent::Object(_) => Ok(Operand::nothing()),
            Tangent::Fields(fields) => {
                let mut parts = Vec::with_capacity(fields.len());
                for field in fields.iter() {
                    parts.push(self.pack(field, leaves)?);
                }
                self.tuple(parts, fields.iter().map(Tangent::ty).collect())
            }
            Tangent::Float(_) | Tangent::Dynamic { .. } => Ok(leaves.next().unwrap_or_else(Operand::nothing)),
        }
    }

    /// A tangent as one value, of its shadow and of the leaves of its cotangent, which are zeros where there are none.
    pub(super) fn join(
        &mut self,
        tangent: &Tangent,
        shadow: Operand<Ids>,
        leaves: &mut impl Iterator<Item = Operand<Ids>>,
    ) -> Emitted<Operand<Ids>> {
        match tangent {
            Tangent::None => Ok(Operand::nothing()),
            Tangent::Object(_) | Tangent::Dynamic { cotangent: false, .. } => Ok(shadow),
            Tangent::Float(_) | Tangent::Dynamic { shadow: false, .. } => {
                Ok(leaves.next().unwrap_or_else(|| zero(tangent)))
            }
            Tangent::Dynamic { .. } => {
                let cotangent = leaves.next().unwrap_or_else(Operand::nothing);
                self.add_leaves(tangent, shadow, cotangent)
            }
            Tangent::Fields(fields) => {
                let mut parts = Vec::with_capacity(fields.len());
                for (index, field) in fields.iter().enumerate() {
                    let part = match field.shadow() {
                        Tangent::None => Operand::nothing(),
                        part => self.field(shadow.clone(), index, part.ty())?,
                    };
                    parts.push(self.join(field, part, leaves)?);
                }
                self.tuple(parts, fields.iter().map(Tangent::ty).collect())
            }
        }
    }

    /// A cotangent of one shape in another: that of the same value, of whose type more or less is known.
    pub(super) fn convert(&mut self, leaves: Leaves, from: &Tangent, to: &Tangent) -> Emitted<Leaves> {
        if from == to {
            return Ok(leaves);
        }
        match (from, to) {
            (_, Tangent::None | Tangent::Object(_)) => Ok(Leaves::new()),
            (_, Tangent::Dynamic { .. }) => Ok(Leaves::from_iter([self.pack(from, &mut leaves.into_iter())?])),
            (Tangent::Dynamic { .. }, _) => match leaves.into_iter().next() {
                Some(dynamic) => self.of_dynamic(dynamic, to),
                None => Ok(zeros(to)),
            },
            (Tangent::Fields(from), Tangent::Fields(to)) if from.len() == to.len() => {
                let mut leaves = leaves.into_iter();
                let mut converted = Leaves::new();
                for (from, to) in from.iter().zip(to.iter()) {
                    let part = leaves.by_ref().take(from.leaf_count()).collect();
                    converted.extend(self.convert(part, from, to)?);
                }
                Ok(converted)
            }
            // Types of which no value is both: this is not reached when the program runs.
            _ => Ok(zeros(to)),
        }
    }

    fn of_dynamic(&mut self, value: Operand<Ids>, to: &Tangent) -> Emitted<Leaves> {
        match to {
            Tangent::Float(float) => {
                let ty = Type::from(*float);
                Ok(Leaves::from_iter([self.own("tangent_float", [type_operand(ty.clone()), value], ty)?]))
            }
            Tangent::Fields(fields) => {
                let mut leaves = Leaves::new();
                for (index, field) in fields.iter().enumerate().filter(|(_, field)| !field.is_none()) {
                    let number = Operand::from(index as i64 + 1);
                    let part = self.own("tangent_field", [value.clone(), number], Type::Any)?;
                    leaves.extend(self.of_dynamic(part, field)?);
                }
                Ok(leaves)
            }
            Tangent::Dynamic { .. } => Ok(Leaves::from_iter([value])),
            Tangent::None | Tangent::Object(_) => Ok(Leaves::new()),
        }
    }
}

/// The zero that adjoints start with. That of floats is -0.0, to which adding is exact: `-0.0 + x` is `x` for every
/// `x`, signed zeros included, so that folding the sum away changes nothing.
pub(super) fn zero(leaf: &Tangent) -> Operand<Ids> {
    match leaf {
        Tangent::Float(float) => negative_zero(*float),
        _ => Operand::nothing(),
    }
}

fn negative_zero(ty: ScalarType) -> Operand<Ids> {
    Operand::from(Scalar::from_bits(ty, 1 << (ty.bits() - 1)))
}

/// The zeros of all leaves.
pub(super) fn zeros(cotangent: &Tangent) -> Leaves {
    let mut leaves = Leaves::new();
    cotangent.for_each_leaf(&mut |leaf| leaves.push(zero(leaf)));
    leaves
}
