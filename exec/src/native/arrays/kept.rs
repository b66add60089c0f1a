//! What reverse mode keeps of a place before it is changed — what is assigned there, alone in a tuple, or `nothing` —
//! and putting it back.

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use ircode::primitives::Primitive;
use ircode::{Operand, Positions, Type};

use crate::native::function::sites::What;
use crate::native::function::{Compiled, FunctionCompiler, Typed, trusted};
use crate::native::layout::{Layout, Parts, Shape};

/// A place in memory: an address, how far behind it, and what lies there.
type Place = (ir::Value, i32, Arc<Layout>);

impl FunctionCompiler<'_, '_> {
    pub(crate) fn kept_primitive(
        &mut self,
        primitive: &'static Primitive,
        args: &[Operand<Positions>],
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        Ok(match (primitive.name, operands) {
            ("saved_element", [array, indices @ ..]) => {
                let place = self.element_address(array, indices)?;
                place.and_then(|place| self.kept(&place))
            }
            ("restore_element!", [array, kept, indices @ ..]) => match self.element_address(array, indices)? {
                Some(place) => self.put_back(&place, kept, true)?,
                None => None,
            },
            ("saved_field", [object, _]) => {
                let place = args.get(1).and_then(|field| self.field_place(object, field));
                place.and_then(|place| self.kept(&place))
            }
            ("restore_field!", [object, kept, _]) => {
                match args.get(2).and_then(|field| self.field_place(object, field)) {
                    // Of other types no object is known to have fields that are not assigned.
                    Some(place) => {
                        let may_be_absent = self.compiler.incomplete.contains(&object.layout.ty);
                        self.put_back(&place, kept, may_be_absent)?
                    }
                    None => None,
                }
            }
            _ => None,
        })
    }

    /// Where a field of an object lies.
    fn field_place(&mut self, object: &Typed, field: &Operand<Positions>) -> Option<Place> {
        let index = self.field_index(&object.layout.ty, field).filter(|_| object.layout.is_pointer())?;
        let inside = self.compiler.layouts.inside(&object.layout.ty)?;
        let (layout, at) = inside.fields.get(index)?;
        Some((object.one()?, *at as i32, layout.clone()))
    }

    /// The union of what is kept of such a place, with the numbers of its members: that of `nothing`, and that of the
    /// tuple.
    fn kept_layout(&mut self, of: &Type) -> Option<(Arc<Layout>, usize, usize)> {
        let union = Type::union([Type::Nothing, Type::tuple([of.clone()])]);
        let layout = self.compiler.layouts.of(&union);
        let Shape::Union(members) = &layout.shape else { return None };
        let nothing = members.iter().position(|member| member.ty == Type::Nothing)?;
        let tuple = members.iter().position(|member| matches!(member.shape, Shape::Fields(_)))?;
        Some((layout, nothing, tuple))
    }

    fn kept(&mut self, (address, at, element): &Place) -> Option<Typed> {
        let (layout, nothing, tuple) = self.kept_layout(&element.ty)?;
        let Shape::Union(members) = &layout.shape else { return None };
        let plain = self.compiler.layouts.of(&element.ty);
        let value = self.load_value(&plain, *address, *at);
        let assigned = match (element.assigned, value.one()) {
            (Some(flag), _) => self.builder.ins().load(clif::I8, trusted(), *address, at + flag as i32),
            // What was not assigned is a pointer to nothing.
            (None, Some(pointer)) if plain.is_pointer() || plain.is_cell() => {
                self.builder.ins().icmp_imm_s(IntCC::NotEqual, pointer, 0)
            }
            _ => self.builder.ins().iconst(clif::I8, 1),
        };
        let numbers = [tuple, nothing].map(|member| self.builder.ins().iconst(clif::I8, member as i64));
        let number = self.builder.ins().select(assigned, numbers[0], numbers[1]);
        Some(self.union(&layout, members, number, &[(tuple, &value.parts)]))
    }

    /// Puts back what was kept, or that nothing was assigned, where who reads the place reckons with that.
    fn put_back(
        &mut self,
        (address, at, element): &Place,
        kept: &Typed,
        may_be_absent: bool,
    ) -> Compiled<Option<Typed>> {
        let Some((layout, _, tuple)) = self.kept_layout(&element.ty) else { return Ok(None) };
        let kept = self.convert(kept.clone(), &layout)?;
        let (Some(assigned), Some(mut value)) = (self.is_member(&kept, tuple), self.member(&kept, tuple)) else {
            return Ok(None);
        };
        if !may_be_absent {
            self.guard(assigned, What::Refused("a field that is not assigned any more"), &[]);
        }
        if let (true, Some(pointer)) = (element.is_pointer() || element.is_cell(), value.one()) {
            let nothing = self.word(0);
            value.parts = Parts::from_slice(&[self.builder.ins().select(assigned, pointer, nothing)]);
        }
        let plain = self.compiler.layouts.of(&element.ty);
        self.store_value(&Typed { layout: plain, parts: value.parts }, *address, *at);
        if let Some(flag) = element.assigned {
            self.builder.ins().store(trusted(), assigned, *address, at + flag as i32);
        }
        Ok(Some(self.unit(Type::Nothing)))
    }
}
