//! Tuples, structs, references: their fields in registers, or in memory where they have identity.

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use ircode::primitives::Primitive;
use ircode::wording::{counted, with_article};
use ircode::{Constant, Operand, Positions, Scalar, ScalarType, Type, arrays_may_have};

use crate::builtins::USED_TWICE;
use crate::native::function::sites::What;
use crate::native::function::{Compiled, FunctionCompiler, Typed, trusted};
use crate::native::layout::{Inside, Kind, Layout, Parts, Shape};
use crate::native::runtime::helpers::Helper;

impl FunctionCompiler<'_, '_> {
    pub(crate) fn aggregate_primitive(
        &mut self,
        primitive: &'static Primitive,
        args: &[Operand<Positions>],
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        Ok(match (primitive.name, operands) {
            ("tuple", fields) => Some(self.tuple(fields)?),
            ("splat_tuple", tuples) if tuples.iter().all(|tuple| tuple.layout.shape.fields().is_some()) => {
                let fields: Vec<Typed> = tuples.iter().flat_map(|tuple| self.fields_of(tuple)).collect();
                Some(self.tuple(&fields)?)
            }
            ("getfield" | "getproperty", [object, ..]) => {
                if let (Type::TypeOf(ty), Some(Constant::Symbol(name))) =
                    (&object.layout.ty, args.get(1).and_then(known_constant))
                {
                    let known = if name.as_str() == "isbitstype" { self.module.is_bits_type(ty) } else { None };
                    return Ok(known.map(|known| self.scalar_constant(&Scalar::Bool(known))));
                }
                let member = args.get(1).and_then(|field| self.only_member_with(object, field));
                let object = member.as_ref().unwrap_or(object);
                match args.get(1).and_then(|field| self.field_index(&object.layout.ty, field)) {
                    Some(index) => self.field(object, index)?,
                    None => self.field_by_number(primitive, args, operands)?,
                }
            }
            ("isdefined", [object, ..]) => match (&object.layout.ty, args.get(1).and_then(known_constant)) {
                (Type::NamedTuple(fields), Some(Constant::Symbol(name)))
                    if fields.iter().all(|(field, _)| field != name) =>
                {
                    Some(self.scalar_constant(&Scalar::Bool(false)))
                }
                _ => None,
            },
            ("use_once!", [flag]) if matches!(flag.layout.shape, Shape::Reference) => {
                let Some(used) = self.field(flag, 0)? else { return Ok(None) };
                let (Some(ScalarType::Bool), Some(bit)) = (used.layout.scalar(), used.one()) else { return Ok(None) };
                let fresh = self.builder.ins().bxor_imm_u(bit, 1);
                self.guard(fresh, What::Message("ErrorException", USED_TWICE), &[]);
                let now = self.scalar_constant(&Scalar::Bool(true));
                self.set_field(flag, 0, &now)?;
                Some(self.unit(Type::Nothing))
            }
            ("getindex", [object]) if matches!(object.layout.shape, Shape::Reference) => self.field(object, 0)?,
            ("setindex!", [object, value]) if matches!(object.layout.shape, Shape::Reference) => {
                self.set_field(object, 0, value)?;
                Some(object.clone())
            }
            ("setfield!" | "setproperty!", [object, _, value, ..]) => {
                match args.get(1).and_then(|field| self.field_index(&object.layout.ty, field)) {
                    Some(index) if object.layout.is_pointer() => {
                        self.set_field(object, index, value)?;
                        Some(value.clone())
                    }
                    _ => None,
                }
            }
            _ => None,
        })
    }

    /// The position of the field, counted from 0, that an operand names.
    pub(crate) fn field_index(&self, ty: &Type, field: &Operand<Positions>) -> Option<usize> {
        match known_constant(field)? {
            Constant::Symbol(name) => self.compiler.layouts.field_named(ty, name),
            Constant::Scalar(number) if number.scalar_type().is_integer() => {
                usize::try_from(number.to_i128().checked_sub(1)?).ok()
            }
            _ => None,
        }
    }

    /// A value of a union as one of its only member that has the field; `None` if several have it, or none.
    fn only_member_with(&mut self, value: &Typed, field: &Operand<Positions>) -> Option<Typed> {
        let Shape::Union(members) = &value.layout.shape else { return None };
        let may_have_it = |member: &&Arc<Layout>| {
            let below = |count: usize| self.field_index(&member.ty, field).is_some_and(|index| index < count);
            match &member.shape {
                Shape::Scalar(_) | Shape::Unit => false,
                Shape::Array(..) => known_constant(field).is_none_or(arrays_may_have),
                Shape::Fields(fields) | Shape::Record(fields, _) => below(fields.len()),
                Shape::Object => self.module.struct_fields(&member.ty).is_none_or(|fields| below(fields.len())),
                _ => true,
            }
        };
        let mut having = members.iter().filter(may_have_it);
        let only = having.next().filter(|_| having.next().is_none())?.clone();
        self.narrow_union(value, &only)
    }

    /// `getfield(tuple, n)` of a tuple whose fields are of one type, which then lie at equal distances.
    fn field_by_number(
        &mut self,
        primitive: &'static Primitive,
        args: &[Operand<Positions>],
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        let [tuple, number, ..] = operands else { return Ok(None) };
        let (Some(ScalarType::Int64), Some(number)) = (number.layout.scalar(), number.one()) else { return Ok(None) };
        let (Shape::Fields(fields) | Shape::Record(fields, _)) = &tuple.layout.shape else { return Ok(None) };
        let Some(field) = fields.first().filter(|first| fields.iter().all(|field| field.ty == first.ty)).cloned()
        else {
            return Ok(None);
        };
        let (count, layout) = (fields.len(), tuple.layout.clone());
        let stride = match &layout.shape {
            Shape::Record(_, inside) => inside.fields.get(1).map_or(0, |(_, at)| *at),
            _ => match equal_distance(&layout, &field) {
                Some(stride) => stride,
                None => return Ok(None),
            },
        };
        let before = self.builder.ins().iadd_imm_s(number, -1);
        let inside = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, before, count as i64);
        self.throws_unless(inside, primitive, operands, "a field that is not there")?;
        let constant = match args.first() {
            Some(Operand::Constant(constant)) => self.tuple_in_memory(&layout, constant),
            _ => None,
        };
        let first = match (&layout.shape, constant.as_ref().unwrap_or(tuple).one()) {
            (Shape::Record(..), Some(address)) => address,
            _ => {
                let slot = self.slot(layout.size);
                for (part, offset) in tuple.parts.iter().zip(&layout.offsets) {
                    self.builder.ins().stack_store(clif::I64, *part, slot, *offset as i32);
                }
                self.builder.ins().stack_addr(clif::I64, slot, 0)
            }
        };
        let distance = self.builder.ins().imul_imm_s(before, i64::from(stride));
        let address = self.builder.ins().iadd(first, distance);
        Ok(Some(self.load_value(&field, address, 0)))
    }

    /// A field of a value; `None` if it has no such field, or none that the code knows.
    fn field(&mut self, object: &Typed, index: usize) -> Compiled<Option<Typed>> {
        let layout = object.layout.clone();
        match &layout.shape {
            Shape::Fields(fields) => {
                let Some(field) = fields.get(index) else { return Ok(None) };
                let first: usize = fields.iter().take(index).map(|field| field.parts.len()).sum();
                let parts = object.parts.get(first..first + field.parts.len()).map(Parts::from_slice);
                Ok(parts.map(|parts| Typed { layout: field.clone(), parts }))
            }
            Shape::Record(_, inside) => self.load_field(object, &inside.clone(), index),
            Shape::Object | Shape::Reference => match self.compiler.layouts.inside(&layout.ty) {
                Some(inside) => self.load_field(object, &inside, index),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The fields of a value that has them in registers.
    pub(crate) fn fields_of(&self, value: &Typed) -> Vec<Typed> {
        let mut parts = value.parts.iter().copied();
        let fields = value.layout.shape.fields().unwrap_or_default().iter();
        fields
            .map(|field| Typed { layout: field.clone(), parts: parts.by_ref().take(field.parts.len()).collect() })
            .collect()
    }

    fn load_field(&mut self, object: &Typed, inside: &Arc<Inside>, index: usize) -> Compiled<Option<Typed>> {
        let (Some((layout, at)), Some(address)) = (inside.fields.get(index), object.one()) else { return Ok(None) };
        let value = self.load_value(layout, address, *at as i32);
        if self.compiler.incomplete.contains(&object.layout.ty) {
            self.check_assigned(&value);
        }
        Ok(Some(value))
    }

    fn set_field(&mut self, object: &Typed, index: usize, value: &Typed) -> Compiled<()> {
        let Some(inside) = self.compiler.layouts.inside(&object.layout.ty) else {
            return self.refuse("setting a field of something that is no object");
        };
        let (Some((layout, at)), Some(address)) = (inside.fields.get(index), object.one()) else {
            return self.refuse("setting a field that is not there");
        };
        let Some(value) = self.stored(value, layout) else {
            return self.refuse(format!("storing {} in a field of type {}", with_article(&value.layout.ty), layout.ty));
        };
        self.store_value(&value, address, *at as i32);
        Ok(())
    }

    /// The value of a layout at an address.
    pub(crate) fn load_value(&mut self, layout: &Arc<Layout>, address: ir::Value, at: i32) -> Typed {
        let fields = layout.parts.iter().zip(&layout.offsets);
        let parts = fields
            .map(|(part, offset)| self.builder.ins().load(*part, trusted(), address, at + *offset as i32))
            .collect();
        Typed { layout: layout.clone(), parts }
    }

    /// Puts a value at an address.
    pub(crate) fn store_value(&mut self, value: &Typed, address: ir::Value, at: i32) {
        for (part, offset) in value.parts.iter().zip(&value.layout.offsets) {
            self.builder.ins().store(trusted(), *part, address, at + *offset as i32);
        }
    }

    /// A value of these fields.
    pub(crate) fn assemble(&mut self, layout: Arc<Layout>, fields: &[Typed]) -> Compiled<Typed> {
        match &layout.shape {
            Shape::Fields(layouts) if layouts.len() == fields.len() => {
                let mut parts = Parts::new();
                for (field, layout) in fields.iter().zip(layouts) {
                    parts.extend(self.convert(field.clone(), layout)?.parts);
                }
                Ok(Typed { layout, parts })
            }
            Shape::Record(_, inside) if inside.fields.len() == fields.len() => {
                let inside = inside.clone();
                self.fill(layout, &inside, fields)
            }
            Shape::Object | Shape::Reference => match self.compiler.layouts.inside(&layout.ty) {
                Some(inside) if fields.len() <= inside.fields.len() => self.fill(layout, &inside, fields),
                _ => self.refuse(format!("{} of {}", with_article(&layout.ty), counted(fields.len(), "field"))),
            },
            _ => self.refuse(format!("{} of {}", with_article(&layout.ty), counted(fields.len(), "field"))),
        }
    }

    /// A new object in memory.
    fn fill(&mut self, layout: Arc<Layout>, inside: &Arc<Inside>, fields: &[Typed]) -> Compiled<Typed> {
        if fields.len() < inside.fields.len() && !self.compiler.incomplete.contains(&layout.ty) {
            // What reads its fields takes them for assigned.
            return self.refuse(format!("{} of which not all fields are given", with_article(&layout.ty)));
        }
        let object = self.allocate(What::NewObject { bytes: inside.size.max(16) }, &[])?;
        for (field, (wanted, at)) in fields.iter().zip(&inside.fields) {
            let field = self.convert(field.clone(), wanted)?;
            self.store_value(&field, object, *at as i32);
        }
        // What is not given is zeros, or a pointer to nothing, which is seen when it is read.
        for (missing, at) in inside.fields.iter().skip(fields.len()) {
            let seen = missing.is_pointer() || missing.is_cell();
            if !seen && (missing.kind != Kind::Plain || missing.holds_boxed() || missing.holds_unions()) {
                return self.refuse(format!("{} of which not all fields are given", with_article(&layout.ty)));
            }
            let parts = missing.parts.iter().map(|part| self.zero(*part)).collect();
            self.store_value(&Typed { layout: missing.clone(), parts }, object, *at as i32);
        }
        Ok(Typed { layout, parts: Parts::from_slice(&[object]) })
    }

    /// The address of a new object.
    pub(crate) fn allocate(&mut self, what: What, operands: &[ir::Value]) -> Compiled<ir::Value> {
        let address = self.words(operands);
        let site = self.site(what);
        let helper = self.compiler.helper(Helper::New, self.builder.func);
        let call = self.builder.ins().call(helper, &[self.context, site, address]);
        let Some(object) = self.builder.inst_results(call).first().copied() else {
            return self.refuse("a helper without a result");
        };
        let missing = self.builder.ins().icmp_imm_s(ir::condcodes::IntCC::Equal, object, 0);
        self.check(missing);
        Ok(object)
    }

    /// A number that is known, as a word.
    pub(crate) fn word(&mut self, value: i64) -> ir::Value {
        self.builder.ins().iconst(clif::I64, value)
    }
}

/// The constant that an operand is.
fn known_constant(operand: &Operand<Positions>) -> Option<&Constant> {
    match operand {
        Operand::Constant(constant) => Some(constant),
        Operand::Quote(constant) => Some(constant),
        _ => None,
    }
}

/// The distance between one field and the next, if it is the same for all parts of all fields, which are of one layout.
fn equal_distance(layout: &Layout, field: &Layout) -> Option<u32> {
    let parts = field.parts.len();
    if parts == 0 {
        return None;
    }
    let stride = layout.offsets.get(parts).copied().unwrap_or(0);
    let fits = |(place, offset): (usize, &u32)| {
        let expected = field.offsets.get(place % parts).map(|own| own + stride * (place / parts) as u32);
        expected == Some(*offset)
    };
    layout.offsets.iter().enumerate().all(fits).then_some(stride)
}
