//! Values of the interpreter made native, and the other way round.
//!
//! What has identity is made once, however often it is met, and what native code changed in an object of the caller is
//! written back into it after the call.
#![allow(unsafe_code, reason = "reads and writes the memory that machine code works on")]

use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;
use ircode::wording::counted;
use ircode::{Scalar, ScalarType, Type};

use crate::error::RunErrorKind;
use crate::machine::Fault;
use crate::native::layout::{Layout, Layouts, MOST_BYTES, Shape, array};
use crate::native::runtime::context::Context;
use crate::native::values::unions::first_part;
use crate::prepare::struct_info;
use crate::value::{ArrayRef, Value, isa};
use crate::walk::any_inside;

/// The objects that exist on both sides, and what lies in cells, so that what is held twice is made once.
#[derive(Debug, Default)]
pub(crate) struct Marshal {
    /// By the address of the interpreter's object.
    pub(crate) native: HashMap<usize, u64>,
    /// By the address of the native object.
    pub(crate) interpreted: HashMap<u64, Value>,
    /// The arguments' objects and those of exceptions, with their layouts, in the order in which they were met.
    pub(super) given: Vec<(Value, u64, Arc<Layout>)>,
    /// The storages of the arrays among them: two arrays with one storage cannot be made native.
    storages: HashMap<usize, usize>,
    /// The arrays, by where their elements lie in native memory: others may have the same elements in other dimensions.
    elements: HashMap<u64, ArrayRef>,
    /// Where these lie, in the order in which they were met.
    places: Vec<u64>,
    /// How many objects and elements were known before the first of the exceptions that have not been forgotten.
    before_exceptions: Option<(usize, usize)>,
    /// Whether the native objects came first, and the interpreter's are made for them.
    fresh: bool,
    /// In how many cells and objects the value lies that is being made.
    pub(crate) depth: u32,
}

impl Marshal {
    pub(crate) fn clear(&mut self) {
        // Clearing what is empty costs time that grows with the capacity.
        if !self.native.is_empty() || !self.interpreted.is_empty() || !self.storages.is_empty() {
            self.native.clear();
            self.interpreted.clear();
            self.given.clear();
            self.storages.clear();
            self.elements.clear();
            self.places.clear();
        }
        self.before_exceptions = None;
    }

    fn met_elements(&mut self, place: u64, array: &ArrayRef) {
        self.elements.insert(place, array.clone());
        self.places.push(place);
    }

    /// Forgets what exceptions held that nobody can ask for any more.
    pub(crate) fn forget_exceptions(&mut self) {
        let Some((objects, places)) = self.before_exceptions.take() else { return };
        for (value, object, _) in self.given.drain(objects.min(self.given.len())..) {
            self.interpreted.remove(&object);
            let Some(identity) = identity(&value) else { continue };
            self.native.remove(&identity);
            if let Some(storage) = storage(&value)
                && self.storages.get(&storage) == Some(&identity)
            {
                self.storages.remove(&storage);
            }
        }
        for place in self.places.drain(places.min(self.places.len())..) {
            self.elements.remove(&place);
        }
    }
}

/// Why a value cannot be made native.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It is of another type than the code expects, or shares memory in a way that native code does not know.
    Value(String),
    Fault(Fault),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Refused::Fault(fault)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Refused>;

pub(crate) fn refused<T>(what: impl Into<String>) -> Result<T> {
    Err(Refused::Value(what.into()))
}

pub(crate) fn out_of_memory(context: &Context) -> Refused {
    Refused::Fault(Fault::Fatal(RunErrorKind::MemoryLimit(context.memory.limit())))
}

/// Reads one word.
///
/// # Safety
///
/// Eight bytes can be read at the address.
pub(crate) unsafe fn word(address: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { (address as *const u64).read_unaligned() }
}

/// Writes one word.
///
/// # Safety
///
/// Eight bytes can be written at the address.
pub(crate) unsafe fn set_word(address: u64, value: u64) {
    // SAFETY: as the caller promises.
    unsafe { (address as *mut u64).write_unaligned(value) };
}

/// Reads one byte.
///
/// # Safety
///
/// A byte can be read at the address.
unsafe fn byte(address: u64) -> u8 {
    // SAFETY: as the caller promises.
    unsafe { (address as *const u8).read() }
}

/// Reads the bits of a scalar.
///
/// # Safety
///
/// As many bytes as the scalar takes can be read at the address.
unsafe fn bits(ty: ScalarType, address: u64) -> u128 {
    let mut bytes = [0u8; 16];
    // SAFETY: as the caller promises; a scalar takes at most 16 bytes.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), ty.bytes()) };
    u128::from_le_bytes(bytes)
}

impl Context {
    /// The value at an address.
    ///
    /// # Safety
    ///
    /// A value of this layout lies there, as machine code or [`store`](Self::store) has put it.
    pub(crate) unsafe fn load(&mut self, layouts: &mut Layouts, layout: &Arc<Layout>, address: u64) -> Result<Value> {
        Ok(match &layout.shape {
            // SAFETY: the value is a scalar of this type.
            Shape::Scalar(ty) => Value::Scalar(Scalar::from_bits(*ty, unsafe { bits(*ty, address) })),
            Shape::Unit => unit_value(&layout.ty),
            Shape::Boxed => {
                // SAFETY: the value is the number of a boxed one.
                let number = unsafe { word(address) };
                self.kept(layouts, number)?
            }
            Shape::Fields(fields) => {
                let mut values = Vec::with_capacity(fields.len());
                let mut part = 0;
                for field in fields {
                    // SAFETY: the value lies there, as the caller promises.
                    values.push(unsafe { self.load_parts(layouts, layout, part, field, address)? });
                    part += field.parts.len();
                }
                self.aggregate(&layout.ty, values)?
            }
            Shape::Union(members) => {
                // SAFETY: the number of the member is the first part.
                let member = usize::from(unsafe { byte(address) });
                let Some(layout_of) = members.get(member) else { return refused("a value of no member of a union") };
                // SAFETY: the value lies there, as the caller promises.
                unsafe { self.load_parts(layouts, layout, first_part(members, member), layout_of, address)? }
            }
            Shape::Record(_, inside) => {
                // SAFETY: the value is a pointer to its fields, as `inside` says.
                let start = unsafe { word(address) };
                let mut values = Vec::with_capacity(inside.fields.len());
                for (field, at) in &inside.fields {
                    // SAFETY: each field lies where `inside` says.
                    values.push(unsafe { self.load(layouts, field, start + u64::from(*at))? });
                }
                self.aggregate(&layout.ty, values)?
            }
            Shape::Enum | Shape::Closure => {
                // SAFETY: the value is a pointer to the cell, or 0 for one that was not assigned.
                unsafe { self.load_cell(layouts, layout, word(address))? }
            }
            Shape::Array(..) | Shape::Object | Shape::Reference | Shape::Stack(_) => {
                // SAFETY: the value is a pointer to the object, or 0 for one that was not assigned.
                let object = unsafe { word(address) };
                if object == 0 {
                    return Ok(Value::Undefined);
                }
                // SAFETY: it points to an object of this shape.
                self.deeper(|context| unsafe { context.load_object(layouts, layout, object) })?
            }
        })
    }

    /// A field of an aggregate that lies in parts: they may be further apart than in a value of its own.
    ///
    /// # Safety
    ///
    /// A value of the layout `whole` lies at the address.
    unsafe fn load_parts(
        &mut self,
        layouts: &mut Layouts,
        whole: &Layout,
        first: usize,
        field: &Arc<Layout>,
        address: u64,
    ) -> Result<Value> {
        let mut copy = [0u8; MOST_BYTES];
        for (index, part) in field.parts.iter().enumerate() {
            let (Some(from), Some(to)) = (whole.offsets.get(first + index), field.offsets.get(index)) else {
                return refused("a layout that does not fit its fields");
            };
            let (to, bytes) = (*to as usize, part.bytes() as usize);
            let Some(place) = copy.get_mut(to..to + bytes) else { return refused("a value of too many parts") };
            // SAFETY: the part lies at its offset from the start of the whole.
            unsafe {
                std::ptr::copy_nonoverlapping((address + u64::from(*from)) as *const u8, place.as_mut_ptr(), bytes);
            }
        }
        // SAFETY: the copy is a value of the field's layout.
        unsafe { self.load(layouts, field, copy.as_ptr() as u64) }
    }

    /// Puts a field of an aggregate where its parts lie.
    ///
    /// # Safety
    ///
    /// As many bytes as the whole has can be written at the address.
    unsafe fn store_parts(
        &mut self,
        layouts: &mut Layouts,
        whole: &Layout,
        first: usize,
        field: &Arc<Layout>,
        value: &Value,
        address: u64,
    ) -> Result<()> {
        let mut copy = [0u8; MOST_BYTES];
        if field.size as usize > copy.len() {
            return refused("a value of too many parts");
        }
        // SAFETY: the copy has as many bytes as a value of the layout takes.
        unsafe { self.store(layouts, field, value, copy.as_mut_ptr() as u64)? };
        for (index, piece) in field.parts.iter().enumerate() {
            let (Some(to), Some(from)) = (whole.offsets.get(first + index), field.offsets.get(index)) else {
                return refused("a layout that does not fit its fields");
            };
            let (from, bytes) = (*from as usize, piece.bytes() as usize);
            let Some(piece) = copy.get(from..from + bytes) else { return refused("a value of too many parts") };
            // SAFETY: the part lies at its offset from the start of the whole.
            unsafe {
                std::ptr::copy_nonoverlapping(piece.as_ptr(), (address + u64::from(*to)) as *mut u8, bytes);
            }
        }
        Ok(())
    }

    fn aggregate(&mut self, ty: &Type, mut values: Vec<Value>) -> Result<Value> {
        Ok(match ty {
            Type::Tuple(_) => self.runtime().tuple(values)?,
            Type::NamedTuple(fields) => self.runtime().named_tuple_of(fields, values)?,
            other => {
                // An exception may have been made without its last fields.
                while let Some(Value::Undefined) = values.last() {
                    values.pop();
                }
                let module = self.shared.module.clone();
                match struct_info(&module, other, values.len()) {
                    Some(info) => self.runtime().structure(info, values)?,
                    None => return refused(format!("a value of the type {other}")),
                }
            }
        })
    }

    /// The interpreter's object for a native one.
    ///
    /// # Safety
    ///
    /// An object of this layout's shape lies at the address.
    unsafe fn load_object(&mut self, layouts: &mut Layouts, layout: &Arc<Layout>, object: u64) -> Result<Value> {
        if let Some(known) = self.marshal.interpreted.get(&object) {
            return Ok(known.clone());
        }
        match &layout.shape {
            Shape::Array(element, rank) => {
                let element_layout = layouts.element(element);
                // SAFETY: it is an array: its header has these words.
                let (data, length) =
                    unsafe { (word(object + array::DATA as u64), word(object + array::LENGTH as u64) as usize) };
                let dims = (0..*rank).map(|dim| {
                    // SAFETY: the header has a word for each dimension.
                    unsafe { word(object + array::dimension(dim) as u64) as usize }
                });
                let dims: Vec<usize> = dims.collect();
                if let Some(other) = self.marshal.elements.get(&data).filter(|_| length > 0) {
                    let value = Value::Array(other.reshaped(dims));
                    self.met(layout, object, &value);
                    return Ok(value);
                }
                let value = self.runtime().array(element.clone(), dims, Vec::new())?;
                self.met(layout, object, &value);
                if let Value::Array(made) = &value {
                    self.marshal.met_elements(data, made);
                }
                // SAFETY: so many elements lie behind the header's address.
                let values = unsafe { self.load_elements(layouts, &element_layout, data, length)? };
                let Value::Array(made) = &value else { return refused("an array") };
                let place = made.0.place.borrow().clone();
                let fields = place.0.memory.0.fields.borrow_mut().replace(values);
                fields.map_err(|_| out_of_memory(self))?;
                Ok(value)
            }
            Shape::Stack(element) => {
                let element_layout = layouts.of(element);
                // SAFETY: a stack's header begins as an array's.
                let (data, length) =
                    unsafe { (word(object + array::DATA as u64), word(object + array::LENGTH as u64) as usize) };
                let value = self.runtime().stack(element.clone())?;
                self.met(layout, object, &value);
                // SAFETY: so many elements lie behind the header's address.
                let values = unsafe { self.load_elements(layouts, &element_layout, data, length)? };
                let Value::Stack(made) = &value else { return refused("a stack") };
                let fields = made.0.fields.borrow_mut().replace(values);
                fields.map_err(|_| out_of_memory(self))?;
                Ok(value)
            }
            Shape::Object | Shape::Reference => {
                let Some(inside) = layouts.inside(&layout.ty) else { return refused("an object") };
                let module = self.shared.module.clone();
                let Some(info) = struct_info(&module, &layout.ty, inside.fields.len()) else {
                    return refused(format!("an object of the type {}", layout.ty));
                };
                let value = self.runtime().structure(info, Vec::new())?;
                self.met(layout, object, &value);
                let mut values = Vec::with_capacity(inside.fields.len());
                for (field, at) in &inside.fields {
                    // SAFETY: each field lies where `inside` says.
                    values.push(unsafe { self.load(layouts, field, object + u64::from(*at))? });
                }
                let Value::Struct(made) = &value else { return refused("an object") };
                let fields = made.0.fields.borrow_mut().replace(values);
                fields.map_err(|_| out_of_memory(self))?;
                Ok(value)
            }
            _ => refused("a value that is no object"),
        }
    }

    /// Refuses more values than there is memory for: natively an element may take no room at all.
    pub(super) fn check_length(&self, length: usize) -> Result<()> {
        match length.checked_mul(size_of::<Value>()).is_some_and(|bytes| bytes <= self.memory.limit()) {
            true => Ok(()),
            false => Err(out_of_memory(self)),
        }
    }

    /// # Safety
    ///
    /// So many values of this layout lie one behind the other at the address.
    pub(super) unsafe fn load_elements(
        &mut self,
        layouts: &mut Layouts,
        element: &Arc<Layout>,
        data: u64,
        length: usize,
    ) -> Result<Vec<Value>> {
        self.check_length(length)?;
        let mut values = Vec::with_capacity(length);
        for index in 0..length as u64 {
            let at = data + index * u64::from(element.size);
            // SAFETY: as the caller promises; what says whether it is assigned lies behind an element.
            let assigned = element.assigned.is_none_or(|flag| unsafe { byte(at + u64::from(flag)) } != 0);
            // SAFETY: as the caller promises.
            values.push(if assigned { unsafe { self.load(layouts, element, at)? } } else { Value::Undefined });
        }
        Ok(values)
    }

    /// Puts a value at an address. One that is not assigned is a pointer to nothing, where the code looks out for it;
    /// what is passed to code that does not must be [assigned](are_assigned).
    ///
    /// # Safety
    ///
    /// As many bytes as the layout has can be written there.
    pub(crate) unsafe fn store(
        &mut self,
        layouts: &mut Layouts,
        layout: &Arc<Layout>,
        value: &Value,
        address: u64,
    ) -> Result<()> {
        let mismatch = || layout.refusal(&value.type_of());
        match &layout.shape {
            Shape::Scalar(ty) => match value.as_scalar() {
                Some(scalar) if scalar.scalar_type() == *ty => {
                    let bytes = scalar.to_bits().to_le_bytes();
                    // SAFETY: the scalar takes that many bytes.
                    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, ty.bytes()) };
                    Ok(())
                }
                _ => refused(mismatch()),
            },
            Shape::Unit if isa(value, &layout.ty) => Ok(()),
            Shape::Unit => refused(mismatch()),
            Shape::Boxed => {
                let number = self.keep(value.clone());
                // SAFETY: a boxed value is one word.
                unsafe { set_word(address, number) };
                Ok(())
            }
            Shape::Fields(fields) => {
                let Some(values) = fields_of(value, &layout.ty, fields.len()) else { return refused(mismatch()) };
                are_assigned(&values)?;
                let mut part = 0;
                for (field, value) in fields.iter().zip(values) {
                    // SAFETY: as the caller promises.
                    unsafe { self.store_parts(layouts, layout, part, field, &value, address)? };
                    part += field.parts.len();
                }
                Ok(())
            }
            Shape::Union(members) => {
                let Some(member) = members.iter().position(|member| isa(value, &member.ty)) else {
                    return refused(mismatch());
                };
                let Some(layout_of) = members.get(member) else { return refused(mismatch()) };
                // SAFETY: as the caller promises; the first part is the number of the member.
                unsafe {
                    (address as *mut u8).write_bytes(0, layout.size as usize);
                    (address as *mut u8).write(member as u8);
                    self.store_parts(layouts, layout, first_part(members, member), layout_of, value, address)
                }
            }
            Shape::Record(fields, inside) => {
                let Some(values) = fields_of(value, &layout.ty, fields.len()) else { return refused(mismatch()) };
                if !self.shared.incomplete.contains(&layout.ty) {
                    are_assigned(&values)?;
                }
                let Some(start) = self.memory.take(inside.size as usize) else { return Err(out_of_memory(self)) };
                let start = start.as_ptr() as u64;
                for ((field, at), value) in inside.fields.iter().zip(values) {
                    // SAFETY: the fields lie where `inside` says, in the memory just taken.
                    unsafe { self.store(layouts, field, &value, start + u64::from(*at))? };
                }
                // SAFETY: the value is one word, the pointer.
                unsafe { set_word(address, start) };
                Ok(())
            }
            Shape::Enum | Shape::Closure => {
                let cell = self.store_cell(layouts, layout, value)?;
                // SAFETY: the value is one word, the pointer.
                unsafe { set_word(address, cell) };
                Ok(())
            }
            Shape::Array(..) | Shape::Object | Shape::Reference | Shape::Stack(_) => {
                let object = match value {
                    Value::Undefined => 0,
                    value => self.store_object(layouts, layout, value)?,
                };
                // SAFETY: the value is one word, the pointer.
                unsafe { set_word(address, object) };
                Ok(())
            }
        }
    }

    /// The native object for one of the interpreter.
    fn store_object(&mut self, layouts: &mut Layouts, layout: &Arc<Layout>, value: &Value) -> Result<u64> {
        if !isa(value, &layout.ty) {
            return refused(layout.refusal(&value.type_of()));
        }
        let Some(identity) = identity(value) else {
            return refused(format!("a value of the type {}", value.type_of()));
        };
        if let Some(&known) = self.marshal.native.get(&identity) {
            return Ok(known);
        }
        if let Some(storage) = storage(value)
            && self.marshal.storages.insert(storage, identity).is_some_and(|other| other != identity)
        {
            return refused("two arrays that share their elements");
        }
        let bytes = match &layout.shape {
            Shape::Array(_, rank) => array::size(*rank),
            Shape::Stack(_) => array::size(0),
            _ => layouts.inside(&layout.ty).map_or(0, |inside| inside.size as usize),
        };
        let Some(object) = self.memory.take_zeros(bytes.max(16)) else { return Err(out_of_memory(self)) };
        let object = object.as_ptr() as u64;
        self.marshal.native.insert(identity, object);
        self.marshal.interpreted.insert(object, value.clone());
        self.marshal.given.push((value.clone(), object, layout.clone()));
        // SAFETY: the object was just made with this layout, full of zeros.
        self.deeper(|context| unsafe { context.fill_object(layouts, layout, value, object) })?;
        Ok(object)
    }

    /// Remembers the two sides of an object.
    fn met(&mut self, layout: &Arc<Layout>, object: u64, value: &Value) {
        self.marshal.interpreted.insert(object, value.clone());
        if let (true, Some(identity)) = (self.marshal.fresh, identity(value)) {
            if let Some(storage) = storage(value) {
                self.marshal.storages.entry(storage).or_insert(identity);
            }
            self.marshal.native.insert(identity, object);
            self.marshal.given.push((value.clone(), object, layout.clone()));
        }
    }

    /// Gives a native object the contents of one of the interpreter.
    ///
    /// # Safety
    ///
    /// An object of this layout's shape lies at the address.
    unsafe fn fill_object(
        &mut self,
        layouts: &mut Layouts,
        layout: &Arc<Layout>,
        value: &Value,
        object: u64,
    ) -> Result<()> {
        match (value, &layout.shape) {
            (Value::Array(made), Shape::Array(element, rank)) => {
                let dims = made.0.dims.borrow().clone();
                if dims.len() != *rank as usize {
                    return refused(format!("an array of {}", counted(dims.len(), "dimension")));
                }
                // The program may have said that it has more elements than there is memory for.
                let Some(elements) = value.array_elements() else {
                    return refused("an array that is larger than its memory");
                };
                let element = layouts.element(element);
                // SAFETY: the header has these words, and one for each dimension.
                unsafe {
                    let dim = |at: usize| word(object + array::dimension(at as u32) as u64);
                    let is_new = word(object + array::DATA as u64) == 0;
                    if !is_new
                        && !self.shared.resized.contains(&layout.ty)
                        && dims.iter().enumerate().any(|(at, &size)| size as u64 != dim(at))
                    {
                        return refused("an array that becomes longer or shorter");
                    }
                    for (at, dim) in dims.iter().enumerate() {
                        set_word(object + array::dimension(at as u32) as u64, *dim as u64);
                    }
                    self.store_elements(layouts, &element, &elements, object)?;
                    self.marshal.met_elements(word(object + array::DATA as u64), made);
                    Ok(())
                }
            }
            (Value::Stack(made), Shape::Stack(element)) => {
                let elements = made.0.fields.borrow().values().to_vec();
                let element = layouts.of(element);
                // SAFETY: as the caller promises.
                unsafe { self.store_elements(layouts, &element, &elements, object) }
            }
            (Value::Struct(made), Shape::Object | Shape::Reference) => {
                let Some(inside) = layouts.inside(&layout.ty) else { return refused("an object") };
                let mut values = made.0.fields.borrow().values().to_vec();
                values.resize(inside.fields.len(), Value::Undefined);
                // What the code looks out for may be a pointer to nothing.
                let looked_for = self.shared.incomplete.contains(&layout.ty);
                let may_miss = |field: &Layout| looked_for && (field.is_pointer() || field.is_cell());
                let mut fields = values.iter().zip(&inside.fields);
                if fields.any(|(value, (field, _))| matches!(value, Value::Undefined) && !may_miss(field)) {
                    return refused("an object of which not all fields are assigned");
                }
                for ((field, at), value) in inside.fields.iter().zip(values) {
                    // SAFETY: each field lies where `inside` says.
                    unsafe { self.store(layouts, field, &value, object + u64::from(*at))? };
                }
                Ok(())
            }
            _ => refused(format!("a value of the type {}", value.type_of())),
        }
    }

    /// Gives a header its elements.
    ///
    /// # Safety
    ///
    /// The header of an array or a stack lies at the address.
    unsafe fn store_elements(
        &mut self,
        layouts: &mut Layouts,
        element: &Arc<Layout>,
        values: &[Value],
        header: u64,
    ) -> Result<()> {
        // SAFETY: the header has these words.
        let (mut data, room) = unsafe { (word(header + array::DATA as u64), word(header + array::CAPACITY as u64)) };
        if data == 0 || (room as usize) < values.len() {
            // What becomes longer again and again is not given new memory each time.
            let room = if data == 0 { values.len() } else { values.len().max((room as usize).saturating_mul(2)) };
            let bytes = (element.size as usize).checked_mul(room).ok_or_else(|| out_of_memory(self))?;
            let Some(place) = self.memory.take(bytes.max(16)) else { return Err(out_of_memory(self)) };
            data = place.as_ptr() as u64;
            // SAFETY: the header has these words.
            unsafe {
                set_word(header + array::DATA as u64, data);
                set_word(header + array::CAPACITY as u64, room as u64);
            }
        }
        // SAFETY: the header has this word.
        unsafe { set_word(header + array::LENGTH as u64, values.len() as u64) };
        for (index, value) in values.iter().enumerate() {
            let at = data + index as u64 * u64::from(element.size);
            let assigned = element.assigned.is_none() || !matches!(value, Value::Undefined);
            if assigned {
                // SAFETY: there is room for so many elements.
                unsafe { self.store(layouts, element, value, at)? };
            }
            // After the value, which may be stored over all of its place.
            if let Some(flag) = element.assigned {
                // SAFETY: there is room for so many elements, with what says whether they are assigned behind each.
                unsafe { ((at + u64::from(flag)) as *mut u8).write(u8::from(assigned)) };
            }
        }
        Ok(())
    }

    /// Refuses values of which native code knows a part as objects of its own: what it changes in one would not be seen
    /// in the other.
    pub(crate) fn check_apart(&self, values: &[Value]) -> Result<()> {
        let known = |value: &Value| {
            identity(value).is_some_and(|identity| self.marshal.native.contains_key(&identity))
                || storage_of_any(value).is_some_and(|storage| self.marshal.storages.contains_key(&storage))
        };
        match !self.marshal.native.is_empty() && any_inside(values, &known) {
            true => refused("an object that is also in a value of unknown type"),
            false => Ok(()),
        }
    }

    /// Makes values for something that stays the interpreter's while native code goes on, as exceptions are that it
    /// catches: what is in them is known as the native objects from then on.
    pub(crate) fn tracking<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let known = (self.marshal.given.len(), self.marshal.places.len());
        self.marshal.before_exceptions.get_or_insert(known);
        let before = std::mem::replace(&mut self.marshal.fresh, true);
        let done = work(self);
        self.marshal.fresh = before;
        done
    }

    /// Forgets the objects for a while: the interpreter's are made anew when they are met.
    pub(crate) fn set_aside_objects(&mut self) -> Marshal {
        std::mem::replace(&mut self.marshal, Marshal { fresh: true, ..Marshal::default() })
    }

    /// Knows the objects again; gives those that were made meanwhile.
    pub(crate) fn take_up_objects(&mut self, known: Marshal) -> Marshal {
        std::mem::replace(&mut self.marshal, known)
    }

    /// Lets an exception that holds copies of the caller's objects hold these; other copies in it are known as the
    /// native objects from then on.
    pub(crate) fn hold_own_objects(&mut self, exception: &Value, copies: &Marshal) {
        let Value::Struct(exception) = exception else { return };
        for field in exception.0.fields.borrow_mut().values_mut() {
            let Some(&object) = identity(field).and_then(|identity| copies.native.get(&identity)) else { continue };
            match self.marshal.interpreted.get(&object) {
                Some(own) => *field = own.clone(),
                None => {
                    let layout = copies.given.iter().find(|(_, other, _)| *other == object);
                    if let Some((_, _, layout)) = layout {
                        self.tracking(|context| context.met(layout, object, field));
                    }
                }
            }
        }
    }

    /// Whether an exception is or holds a copy of an object that is not known as the native one.
    pub(crate) fn holds_copies(&self, exception: &Value, copies: &Marshal) -> bool {
        let is_copy = |value: &Value| {
            identity(value).is_some_and(|identity| {
                copies.native.contains_key(&identity) && !self.marshal.native.contains_key(&identity)
            })
        };
        !copies.native.is_empty() && any_inside(std::slice::from_ref(exception), &is_copy)
    }

    /// Writes what the interpreter did to the objects that were made for it since they were set aside into the native
    /// ones.
    pub(crate) fn write_through(&mut self, layouts: &mut Layouts) -> Result<()> {
        let mut done = 0;
        while let Some((value, object, layout)) = self.marshal.given.get(done).cloned() {
            done += 1;
            // SAFETY: the object is one of the program's, of this layout, from which the value was made.
            unsafe { self.fill_object(layouts, &layout, &value, object)? };
        }
        Ok(())
    }
}

/// What tells an object of the interpreter from others.
pub(crate) fn identity(value: &Value) -> Option<usize> {
    Some(match value {
        Value::Array(array) => Rc::as_ptr(&array.0) as usize,
        Value::Struct(object) => Rc::as_ptr(&object.0) as usize,
        Value::Stack(stack) => Rc::as_ptr(&stack.0) as usize,
        _ => return None,
    })
}

/// The storage of an array's elements.
fn storage(value: &Value) -> Option<usize> {
    match value {
        Value::Array(array) => Some(Rc::as_ptr(&array.0.place.borrow().0.memory.0) as usize),
        _ => None,
    }
}

/// The storage that a value is, or refers to.
pub(crate) fn storage_of_any(value: &Value) -> Option<usize> {
    match value {
        Value::Memory(memory) => Some(Rc::as_ptr(&memory.0) as usize),
        Value::MemoryRef(place) => Some(Rc::as_ptr(&place.0.memory.0) as usize),
        other => storage(other),
    }
}

/// The only value of a type.
fn unit_value(ty: &Type) -> Value {
    match ty {
        Type::Function(name) => Value::Function(name.clone()),
        Type::TypeOf(ty) => Value::Type(ty.clone()),
        _ => Value::Nothing,
    }
}

/// Refuses values of which some are not assigned: the code reads them as they are.
pub(crate) fn are_assigned(values: &[Value]) -> Result<()> {
    match values.iter().any(|value| matches!(value, Value::Undefined)) {
        true => refused("a value that is not assigned"),
        false => Ok(()),
    }
}

/// The fields of a tuple, a named tuple or an immutable struct of this type.
fn fields_of(value: &Value, ty: &Type, count: usize) -> Option<Vec<Value>> {
    let fields = match value {
        Value::Tuple(tuple) if matches!(ty, Type::Tuple(_)) => tuple.0.fields.values().to_vec(),
        Value::NamedTuple(tuple) if matches!(ty, Type::NamedTuple(_)) => tuple.0.fields.values().to_vec(),
        Value::Struct(object) if object.0.ty.ty == *ty => object.0.fields.borrow().values().to_vec(),
        _ => return None,
    };
    (fields.len() == count).then_some(fields)
}
