//! Arrays: a header, and the elements one behind the other.
//!
//! The words of a header change only where an array grows or shrinks; in a program that does neither, they are read as
//! what never changes, so that Cranelift reads them once and outside of loops. What is only used to get at elements it
//! reads while there are such; what becomes a value of the program it might read as late as that is used, when the
//! memory may have been given back: that is read where it stands.

mod kept;
pub(super) mod resized;
mod shadows;
pub(super) mod slices;
pub(super) mod stacks;
mod vector_lengths;

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData};
use ircode::primitives::Primitive;
use ircode::wording::with_article;
use ircode::{ScalarType, Type};

use super::function::sites::What;
use super::function::{Compiled, FunctionCompiler, Typed, trusted};
use super::layout::{Layout, Parts, Shape, array};

/// What an array is made of.
pub(crate) struct ArrayParts {
    pub(crate) header: ir::Value,
    pub(crate) element: Arc<Layout>,
    pub(crate) rank: u32,
    /// Whether it may get another length.
    pub(crate) resizes: bool,
}

impl ArrayParts {
    /// Where in the header a dimension lies, counted from 0.
    fn dimension(&self, dimension: u32) -> i32 {
        dimension_of(self.rank, dimension)
    }
}

/// Where in the header of an array of this rank a dimension lies, counted from 0.
fn dimension_of(rank: u32, dimension: u32) -> i32 {
    match rank {
        // A vector's only dimension is its length, also where it grows.
        1 => array::LENGTH,
        _ => array::dimension(dimension),
    }
}

impl FunctionCompiler<'_, '_> {
    pub(crate) fn array_primitive(
        &mut self,
        primitive: &'static Primitive,
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        Ok(match (primitive.name, operands) {
            ("arrayref" | "const_arrayref", [_, array, indices @ ..]) => self.array_element(array, indices)?,
            ("getindex", [array, indices @ ..]) => self.array_element(array, indices)?,
            ("arrayset", [_, array, value, indices @ ..]) => self.set_array_element(array, value, indices)?,
            ("setindex!", [array, value, indices @ ..]) => self.set_array_element(array, value, indices)?,
            ("arraylen" | "length", [array]) => self.array(array).map(|array| {
                let length = self.size_word(&array, self::array::LENGTH);
                self.scalar(ScalarType::Int64, length)
            }),
            ("arraysize" | "size", [array, dimension]) => self.array_size(array, dimension)?,
            ("mightalias", [a, b]) => self.might_alias(a, b),
            ("size", [array]) => match self.array(array) {
                Some(array) => {
                    let mut sizes = Vec::new();
                    for dimension in 0..array.rank {
                        let size = self.size_word(&array, array.dimension(dimension));
                        sizes.push(self.scalar(ScalarType::Int64, size));
                    }
                    Some(self.tuple(&sizes)?)
                }
                None => None,
            },
            ("jl_alloc_array_1d" | "jl_alloc_array_2d" | "jl_alloc_array_3d" | "jl_new_array", [ty, dims @ ..]) => {
                match &ty.layout.ty {
                    Type::TypeOf(ty) => self.new_array(&ty.clone(), dims)?,
                    _ => None,
                }
            }
            ("new_array", [element, dims @ ..]) => match &element.layout.ty {
                Type::TypeOf(element) => {
                    let dims = spread(dims);
                    let ty = Type::array((**element).clone(), dims.len() as u32);
                    self.new_array(&ty, &dims)?
                }
                _ => None,
            },
            ("push!", [vector, value]) => self.push(vector, value)?,
            ("jl_reshape_array", [ty, array, dims]) => self.reshape(ty, array, dims)?,
            _ => None,
        })
    }

    pub(crate) fn array(&mut self, value: &Typed) -> Option<ArrayParts> {
        match &value.layout.shape {
            Shape::Array(element, rank) => {
                let resizes = self.compiler.resized().contains(&value.layout.ty);
                let element = self.compiler.layouts.element(element);
                Some(ArrayParts { header: value.one()?, element, rank: *rank, resizes })
            }
            _ => None,
        }
    }

    /// A word of an array's header.
    pub(crate) fn header_word(&mut self, array: &ArrayParts, at: i32) -> ir::Value {
        let flags = match array.resizes {
            true => trusted(),
            false => MemFlagsData::trusted().with_readonly().with_can_move(),
        };
        self.builder.ins().load(clif::I64, flags, array.header, at)
    }

    /// Whether two arrays have no elements in common: a reshaped array has another header, and the same elements.
    pub(crate) fn are_apart(&mut self, a: &ArrayParts, b: &ArrayParts) -> ir::Value {
        let [data, other] = [a, b].map(|array| self.load_word(array.header, self::array::DATA));
        let length = self.load_word(a.header, self::array::LENGTH);
        let others = self.builder.ins().icmp(IntCC::NotEqual, a.header, b.header);
        let elsewhere = self.builder.ins().icmp(IntCC::NotEqual, data, other);
        // Two slices of the host that are empty may lie at one address.
        let is_empty = self.builder.ins().icmp_imm_s(IntCC::Equal, length, 0);
        let apart = self.builder.ins().bor(elsewhere, is_empty);
        self.builder.ins().band(others, apart)
    }

    /// A dimension of an array of this rank, counted from 0, as it is now.
    pub(crate) fn dimension_word(&mut self, header: ir::Value, rank: u32, dimension: u32) -> ir::Value {
        self.load_word(header, dimension_of(rank, dimension))
    }

    /// A word of an array's header that becomes a value of the program.
    fn size_word(&mut self, array: &ArrayParts, at: i32) -> ir::Value {
        match self.is_given_back() {
            true => self.load_word(array.header, at),
            false => self.header_word(array, at),
        }
    }

    fn array_size(&mut self, array: &Typed, dimension: &Typed) -> Compiled<Option<Typed>> {
        let (Some(array), Some(ScalarType::Int64), Some(at)) =
            (self.array(array), dimension.layout.scalar(), dimension.one())
        else {
            return Ok(None);
        };
        let positive = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, at, 0);
        self.guard(positive, What::Message("ErrorException", "arraysize: dimension out of range"), &[]);
        let mut size = self.word(1);
        for dimension in 0..array.rank {
            let this = self.size_word(&array, array.dimension(dimension));
            let asked = self.builder.ins().icmp_imm_s(IntCC::Equal, at, i64::from(dimension) + 1);
            size = self.builder.ins().select(asked, this, size);
        }
        Ok(Some(self.scalar(ScalarType::Int64, size)))
    }

    /// Whether two arrays have elements in common.
    fn might_alias(&mut self, a: &Typed, b: &Typed) -> Option<Typed> {
        let (a, b) = (self.array(a)?, self.array(b)?);
        let mut extent = |array: &ArrayParts| {
            let data = self.size_word(array, self::array::DATA);
            let length = self.size_word(array, self::array::LENGTH);
            let bytes = self.builder.ins().imul_imm_s(length, i64::from(array.element.size));
            (data, self.builder.ins().iadd(data, bytes))
        };
        let ((from, to), (other_from, other_to)) = (extent(&a), extent(&b));
        let before = self.builder.ins().icmp(IntCC::UnsignedLessThan, from, other_to);
        let behind = self.builder.ins().icmp(IntCC::UnsignedLessThan, other_from, to);
        let shares = self.builder.ins().band(before, behind);
        Some(self.scalar(ScalarType::Bool, shares))
    }

    /// Where an element lies: an address, and how far behind it. Bounds are checked where it is not known that they
    /// hold: one index counts in memory order, several one a dimension, and what comes behind the last dimension is 1.
    pub(crate) fn element_address(
        &mut self,
        whole: &Typed,
        indices: &[Typed],
    ) -> Compiled<Option<(ir::Value, i32, Arc<Layout>)>> {
        let Some(array) = self.array(whole) else { return Ok(None) };
        let mut words = Vec::with_capacity(indices.len());
        for index in indices {
            match (index.layout.scalar(), index.one()) {
                (Some(ScalarType::Int64), Some(word)) => words.push(word),
                _ => return Ok(None),
            }
        }
        let rank = array.rank as usize;
        if words.is_empty() || words.len() > 1 && words.len() < rank {
            return Ok(None);
        }
        // Behind the last dimension all are 1.
        let further = words.len() > rank;
        let out_of_bounds = || What::Bounds { array: whole.layout.clone(), indices: words.len() };
        let mut operands = vec![array.header];
        operands.extend(&words);
        let unchecked = self.unchecked_data();
        if let (Some(data), [index]) = (unchecked, words.as_slice()) {
            let address = self.at(data, *index, &array.element);
            return Ok(Some((address, -(array.element.size as i32), array.element)));
        }
        let offset = if let [index] = words.as_slice() {
            let offset = self.builder.ins().iadd_imm_s(*index, -1);
            let length = self.header_word(&array, self::array::LENGTH);
            if array.resizes || self.checked.insert((array.header, *index)) {
                let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, offset, length);
                self.guard(inside, out_of_bounds(), &operands);
            }
            offset
        } else {
            let mut offset: Option<(ir::Value, ir::Value)> = None;
            for (dimension, index) in words.iter().enumerate() {
                let at = self.builder.ins().iadd_imm_s(*index, -1);
                let size = match dimension < rank {
                    true => self.header_word(&array, array.dimension(dimension as u32)),
                    false => self.word(1),
                };
                if unchecked.is_none() || further {
                    let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, at, size);
                    self.guard(inside, out_of_bounds(), &operands);
                }
                offset = Some(match offset {
                    None => (at, size),
                    Some((offset, stride)) => {
                        let further = self.builder.ins().imul(at, stride);
                        (self.builder.ins().iadd(offset, further), self.builder.ins().imul(stride, size))
                    }
                });
            }
            match offset {
                Some((offset, _)) => offset,
                None => return Ok(None),
            }
        };
        let data = self.header_word(&array, self::array::DATA);
        let address = self.at(data, offset, &array.element);
        Ok(Some((address, 0, array.element)))
    }

    /// The address of the element at this offset, counted in elements from 0.
    pub(crate) fn at(&mut self, data: ir::Value, offset: ir::Value, element: &Layout) -> ir::Value {
        let bytes = match element.size {
            8 => self.builder.ins().ishl_imm_u(offset, 3),
            size => self.builder.ins().imul_imm_s(offset, i64::from(size)),
        };
        self.builder.ins().iadd(data, bytes)
    }

    fn array_element(&mut self, array: &Typed, indices: &[Typed]) -> Compiled<Option<Typed>> {
        if let Some(resident) = self.resident_element(array) {
            return Ok(Some(resident));
        }
        let Some((address, at, element)) = self.element_address(array, indices)? else { return Ok(None) };
        if let Some(flag) = element.assigned {
            let flag = self.builder.ins().load(clif::I8, trusted(), address, at + flag as i32);
            self.guard(flag, What::Exception("UndefRefError"), &[]);
        }
        let plain = self.compiler.layouts.of(&element.ty);
        let value = self.load_value(&plain, address, at);
        self.check_assigned(&value);
        Ok(Some(value))
    }

    /// An element that was not assigned is a pointer to nothing.
    pub(crate) fn check_assigned(&mut self, value: &Typed) {
        if let (true, Some(pointer)) = (value.layout.is_pointer() || value.layout.is_cell(), value.one()) {
            let assigned = self.builder.ins().icmp_imm_s(IntCC::NotEqual, pointer, 0);
            self.guard(assigned, What::Exception("UndefRefError"), &[]);
        }
    }

    fn set_array_element(&mut self, array: &Typed, value: &Typed, indices: &[Typed]) -> Compiled<Option<Typed>> {
        // What is of another type than its statement says is refused below.
        let of_element = matches!(&array.layout.shape, Shape::Array(element, ..) if *element == value.layout.ty);
        if of_element && self.set_resident_element(value) {
            return Ok(Some(array.clone()));
        }
        let Some((address, at, element)) = self.element_address(array, indices)? else { return Ok(None) };
        let Some(value) = self.stored(value, &element) else {
            return self.refuse(format!("storing {} in an array of {}", with_article(&value.layout.ty), element.ty));
        };
        self.store_element(&value, &element, address, at);
        Ok(Some(array.clone()))
    }

    /// A value as one of the type of a place in which it is stored; `None` if it is no such value.
    pub(crate) fn stored(&mut self, value: &Typed, place: &Layout) -> Option<Typed> {
        if value.layout.ty == place.ty {
            return Some(value.clone());
        }
        let layout = self.compiler.layouts.of(&place.ty);
        self.widen_to_union(value, &layout)
    }

    /// Puts an element in its place, where it is assigned from now on.
    fn store_element(&mut self, value: &Typed, element: &Layout, address: ir::Value, at: i32) {
        self.store_value(value, address, at);
        if let Some(flag) = element.assigned {
            let assigned = self.builder.ins().iconst(clif::I8, 1);
            self.builder.ins().store(trusted(), assigned, address, at + flag as i32);
        }
    }

    /// An array of zeros, of pointers to nothing, or of elements that are not assigned.
    fn new_array(&mut self, ty: &Type, dims: &[Typed]) -> Compiled<Option<Typed>> {
        let Type::Array(array) = ty else { return Ok(None) };
        let layout = self.compiler.layouts.of(ty);
        let element = self.compiler.layouts.element(&array.element);
        let dims = spread(dims);
        if !matches!(layout.shape, Shape::Array(..)) || dims.len() != array.rank as usize {
            return Ok(None);
        }
        let mut words = Vec::with_capacity(dims.len());
        for dim in &dims {
            match (dim.layout.scalar(), dim.one()) {
                (Some(ScalarType::Int64), Some(word)) => words.push(word),
                _ => return Ok(None),
            }
        }
        let made = self.allocate(What::NewArray { element, rank: array.rank }, &words)?;
        Ok(Some(Typed { layout, parts: Parts::from_slice(&[made]) }))
    }

    /// The elements of an array in other dimensions.
    fn reshape(&mut self, ty: &Typed, of: &Typed, dims: &Typed) -> Compiled<Option<Typed>> {
        let (Type::TypeOf(ty), Some(array)) = (&ty.layout.ty, self.array(of)) else { return Ok(None) };
        let layout = self.compiler.layouts.of(ty);
        let dims = spread(std::slice::from_ref(dims));
        match &layout.shape {
            Shape::Array(element, rank) if *element == array.element.ty && *rank as usize == dims.len() => {}
            _ => return Ok(None),
        }
        // Where arrays grow, one of two that share their elements would lose them.
        if self.compiler.resized().contains_elements(&array.element.ty) {
            return Ok(None);
        }
        let rank = dims.len() as u32;
        let mut operands = vec![array.header];
        let mut count = self.word(1);
        let mut fits = self.builder.ins().iconst(clif::I8, 1);
        for dim in &dims {
            let (Some(ScalarType::Int64), Some(word)) = (dim.layout.scalar(), dim.one()) else { return Ok(None) };
            // Two dimensions below zero, or products that wrap, may make the right count: no index into such an array
            // would be in its memory.
            let counts = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, word, 0);
            let product = self.builder.ins().imul(count, word);
            let wraps = self.product_overflows(ScalarType::Int64, false, (count, word), product);
            let exact = self.builder.ins().bxor_imm_u(wraps, 1);
            let both = self.builder.ins().band(counts, exact);
            fits = self.builder.ins().band(fits, both);
            count = product;
            operands.push(word);
        }
        let length = self.size_word(&array, self::array::LENGTH);
        let equal = self.builder.ins().icmp(IntCC::Equal, count, length);
        let fits = self.builder.ins().band(fits, equal);
        self.guard(fits, What::Refused("dimensions for another number of elements"), &[]);
        let made = self.allocate(What::Reshape { rank }, &operands)?;
        Ok(Some(Typed { layout, parts: Parts::from_slice(&[made]) }))
    }

    fn push(&mut self, vector: &Typed, value: &Typed) -> Compiled<Option<Typed>> {
        let Some(array) = self.array(vector).filter(|array| array.rank == 1 && array.resizes) else { return Ok(None) };
        let Some(value) = self.stored(value, &array.element) else {
            return self.refuse(format!(
                "storing {} in an array of {}",
                with_article(&value.layout.ty),
                array.element.ty
            ));
        };
        let length = self.append(&array, &value)?;
        self.builder.ins().store(trusted(), length, array.header, self::array::dimension(0));
        Ok(Some(vector.clone()))
    }

    /// Makes room for so many values where there is less, off the way that is mostly gone.
    pub(super) fn where_full(
        &mut self,
        least: ir::Value,
        room: ir::Value,
        grow: impl FnOnce(&mut Self) -> Compiled<()>,
    ) -> Compiled<()> {
        let (full, fits) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(full);
        let has_room = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, least, room);
        self.builder.ins().brif(has_room, fits, &[], full, &[]);
        self.seal(&[full]);
        self.builder.switch_to_block(full);
        grow(self)?;
        self.builder.ins().jump(fits, &[]);
        self.seal(&[fits]);
        self.builder.switch_to_block(fits);
        Ok(())
    }

    /// Puts a value behind the last one of a vector; gives the new length.
    fn append(&mut self, array: &ArrayParts, value: &Typed) -> Compiled<ir::Value> {
        let header = array.header;
        let length = self.load_word(header, self::array::LENGTH);
        let room = self.load_word(header, self::array::CAPACITY);
        let longer = self.builder.ins().iadd_imm_s(length, 1);
        self.where_full(longer, room, |this| this.grow(header, longer, array.element.size, false))?;
        let data = self.load_word(header, self::array::DATA);
        let address = self.at(data, length, &array.element);
        self.store_element(value, &array.element, address, 0);
        self.builder.ins().store(trusted(), longer, header, self::array::LENGTH);
        Ok(longer)
    }
}

/// Dimensions that are given as one tuple, or one by one.
fn spread(dims: &[Typed]) -> Vec<Typed> {
    match dims {
        [tuple] if let Some(fields) = tuple.layout.shape.fields() => {
            let mut first = 0;
            let field = |field: &Arc<Layout>| {
                let parts = tuple.parts.get(first..first + field.parts.len()).map(Parts::from_slice);
                first += field.parts.len();
                Typed { layout: field.clone(), parts: parts.unwrap_or_default() }
            };
            fields.iter().map(field).collect()
        }
        dims => dims.to_vec(),
    }
}
