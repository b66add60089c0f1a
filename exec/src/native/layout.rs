//! How values lie in registers and in memory.
//!
//! A value is a list of *parts*, each of which fits a register: a number is one part, a tuple or an immutable struct the
//! parts of its fields one after the other, what has identity (arrays, references, mutable structs, stacks) one pointer
//! to its object. What has only one value (`nothing`, a function) has no parts. Everything else — strings, symbols,
//! enums, closures, what is of type `Any` — is a [`Shape::Boxed`]: the number of an interpreter's [`Value`](crate::Value), on
//! which the interpreter's own primitives work.

use std::sync::Arc;

use cranelift_codegen::ir;
use cranelift_codegen::ir::types as clif;
use hashbrown::{HashMap, HashSet};
use ircode::{IRCode, Module, ScalarType, Type, TypeKind};
use smallvec::SmallVec;

/// Parts up to this number are held in registers; a value with more is kept in memory, as one pointer.
const MOST_PARTS: usize = 64;

/// The parts of a value, where there are few of them.
pub(super) type Parts<T> = SmallVec<[T; 2]>;

/// How values of one type lie.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) ty: Type,
    pub(super) shape: Shape,
    /// The types of the parts.
    pub(super) parts: Parts<ir::Type>,
    /// Where each part lies in memory, from the start of the value.
    pub(super) offsets: Parts<u32>,
    /// How many bytes the value takes in memory: a multiple of `align`.
    pub(super) size: u32,
    pub(super) align: u32,
    /// Whether a value of the interpreter in it may hold objects with identity.
    pub(super) hides_objects: bool,
    /// As an element of an array: where the byte lies that says whether it was assigned.
    pub(super) assigned: Option<u32>,
}

/// What kind of value it is.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Scalar(ScalarType),
    /// The only value of its type.
    Unit,
    /// A tuple, a named tuple or an immutable struct, whose parts are those of its fields.
    Fields(Vec<Arc<Layout>>),
    /// The same with too many parts: a pointer to them.
    Record(Vec<Arc<Layout>>, Arc<Inside>),
    /// An array of elements of this type, with so many dimensions.
    Array(Type, u32),
    /// A mutable struct.
    Object,
    /// A reference, an object with one field.
    Reference,
    Stack(Type),
    /// A value of the interpreter.
    Boxed,
}

/// Where the fields of an object lie.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) fields: Vec<(Arc<Layout>, u32)>,
    pub(super) size: u32,
}

/// The header of an array: where each of its words lies.
pub(super) mod array {
    /// The address of the first element.
    pub(in crate::native) const DATA: i32 = 0;
    /// The number of elements.
    pub(in crate::native) const LENGTH: i32 = 8;
    /// The number of elements for which there is room behind [`DATA`].
    pub(in crate::native) const CAPACITY: i32 = 16;
    /// The first dimension, followed by the others.
    pub(in crate::native) const DIMENSIONS: i32 = 24;

    /// Of a stack: the number under which it is remembered how much room it needed.
    pub(in crate::native) const HINT: i32 = DIMENSIONS;

    /// The bytes of a header.
    pub(in crate::native) const fn size(rank: u32) -> usize {
        let words = if rank == 0 { 1 } else { rank };
        DIMENSIONS as usize + 8 * words as usize
    }
}

impl Layout {
    fn new(ty: Type, shape: Shape, parts: impl IntoIterator<Item = ir::Type>) -> Self {
        let mut layout = Layout {
            ty,
            shape,
            parts: parts.into_iter().collect(),
            offsets: Parts::new(),
            size: 0,
            align: 1,
            hides_objects: false,
            assigned: None,
        };
        for part in &layout.parts {
            let bytes = part.bytes();
            let at = layout.size.next_multiple_of(bytes);
            layout.offsets.push(at);
            layout.size = at + bytes;
            layout.align = layout.align.max(bytes);
        }
        layout.size = layout.size.next_multiple_of(layout.align);
        layout
    }

    /// The scalar type, if the value is a number, a `Bool` or a `Char`.
    pub(super) fn scalar(&self) -> Option<ScalarType> {
        match self.shape {
            Shape::Scalar(ty) => Some(ty),
            _ => None,
        }
    }

    pub(super) fn is_boxed(&self) -> bool {
        matches!(self.shape, Shape::Boxed)
    }

    /// Whether the value is a pointer to something that has identity and lies in native memory.
    pub(super) fn is_pointer(&self) -> bool {
        matches!(self.shape, Shape::Array(..) | Shape::Object | Shape::Reference | Shape::Stack(_))
    }

    /// Whether the value can be made a [`Value`](crate::Value) by copying: it holds nothing with identity.
    pub(super) fn copies(&self) -> bool {
        match &self.shape {
            Shape::Scalar(_) | Shape::Unit | Shape::Boxed => true,
            Shape::Fields(fields) | Shape::Record(fields, _) => fields.iter().all(|field| field.copies()),
            _ => false,
        }
    }

    /// Whether a value of the interpreter is in it.
    pub(super) fn holds_boxed(&self) -> bool {
        match &self.shape {
            Shape::Boxed => true,
            Shape::Fields(fields) | Shape::Record(fields, _) => fields.iter().any(|field| field.holds_boxed()),
            _ => false,
        }
    }
}

/// The layouts of the types of a module.
#[derive(Debug)]
pub(super) struct Layouts {
    module: Arc<Module<IRCode>>,
    known: HashMap<Type, Arc<Layout>>,
    /// The layouts of elements of arrays, where these are others.
    elements: HashMap<Type, Arc<Layout>>,
    insides: HashMap<Type, Arc<Inside>>,
    /// Types whose layout is being found: a type inside of itself is boxed.
    open: HashSet<Type>,
}

impl Layouts {
    pub(super) fn new(module: Arc<Module<IRCode>>) -> Self {
        Layouts {
            module,
            known: HashMap::new(),
            elements: HashMap::new(),
            insides: HashMap::new(),
            open: HashSet::new(),
        }
    }

    /// The layout of a type.
    pub(super) fn of(&mut self, ty: &Type) -> Arc<Layout> {
        if let Some(known) = self.known.get(ty) {
            return known.clone();
        }
        if !self.open.insert(ty.clone()) {
            let boxed = Layout::new(ty.clone(), Shape::Boxed, [clif::I64]);
            return Arc::new(Layout { hides_objects: true, ..boxed });
        }
        let mut layout = self.find(ty);
        self.open.remove(ty);
        layout.hides_objects = match &layout.shape {
            Shape::Boxed => self.may_hold_objects(ty),
            Shape::Fields(fields) | Shape::Record(fields, _) => fields.iter().any(|field| field.hides_objects),
            _ => false,
        };
        let layout = Arc::new(layout);
        // What lies inside of a type that is still open may be boxed for that reason only.
        if self.open.is_empty() || layout.scalar().is_some() {
            self.known.insert(ty.clone(), layout.clone());
        }
        layout
    }

    /// How elements of this type lie in an array. What is no number and no pointer has a byte behind it that is 0 until the element is
    /// assigned: reading it before is an error.
    pub(super) fn element(&mut self, ty: &Type) -> Arc<Layout> {
        let plain = self.of(ty);
        if plain.scalar().is_some() || plain.is_pointer() || plain.is_boxed() || *ty == Type::Nothing {
            return plain;
        }
        let flagged = self.elements.entry(ty.clone()).or_insert_with(|| {
            let mut layout = Layout::new(plain.ty.clone(), plain.shape.clone(), plain.parts.iter().copied());
            layout.hides_objects = plain.hides_objects;
            layout.assigned = Some(layout.size);
            layout.size += layout.align;
            Arc::new(layout)
        });
        flagged.clone()
    }

    fn find(&mut self, ty: &Type) -> Layout {
        let layout = |shape, parts: &[ir::Type]| Layout::new(ty.clone(), shape, parts.iter().copied());
        let boxed = || Layout::new(ty.clone(), Shape::Boxed, [clif::I64]);
        let pointer = |shape| Layout::new(ty.clone(), shape, [clif::I64]);
        match ty {
            Type::Scalar(scalar) => layout(Shape::Scalar(*scalar), &[part_of(*scalar)]),
            Type::Nothing | Type::Function(_) => layout(Shape::Unit, &[]),
            Type::TypeOf(_) => layout(Shape::Unit, &[]),
            Type::Tuple(types) => self.aggregate(ty, types.iter()),
            Type::NamedTuple(fields) => self.aggregate(ty, fields.iter().map(|(_, ty)| ty)),
            Type::Array(array) if !self.of(&array.element).holds_boxed() => {
                pointer(Shape::Array(array.element.clone(), array.rank))
            }
            Type::Stack(element) if !self.of(element).holds_boxed() => pointer(Shape::Stack((**element).clone())),
            Type::Ref(element) if !self.of(element).holds_boxed() => pointer(Shape::Reference),
            // An object of a subclass may stand in the place of one of a class.
            Type::Named(name) if self.module.class(name).is_some() => boxed(),
            Type::Named(name) => match self.module.clone().type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { mutable: false, fields }) => {
                    self.aggregate(ty, fields.iter().map(|(_, ty)| ty))
                }
                Some(TypeKind::Struct { mutable: true, fields }) => {
                    match fields.iter().any(|(_, field)| self.of(field).holds_boxed()) {
                        true => boxed(),
                        false => pointer(Shape::Object),
                    }
                }
                Some(TypeKind::Enum { .. }) | None => boxed(),
            },
            _ => boxed(),
        }
    }

    /// Whether a value of this type may be an object with identity, or hold one.
    fn may_hold_objects(&self, ty: &Type) -> bool {
        let mut work = vec![ty.clone()];
        let mut seen: HashSet<Type> = HashSet::new();
        while let Some(ty) = work.pop() {
            if !seen.insert(ty.clone()) {
                continue;
            }
            match &ty {
                Type::Bottom | Type::Nothing | Type::Scalar(_) | Type::String | Type::Symbol => {}
                Type::Function(_) | Type::TypeOf(_) => {}
                Type::Union(members) => work.extend(members.iter().cloned()),
                Type::Tuple(types) => work.extend(types.iter().cloned()),
                Type::NamedTuple(fields) => work.extend(fields.iter().map(|(_, ty)| ty.clone())),
                Type::Named(name) => match self.module.type_def(name).map(|def| &def.kind) {
                    Some(TypeKind::Struct { mutable: false, fields }) => {
                        work.extend(fields.iter().map(|(_, ty)| ty.clone()));
                    }
                    Some(TypeKind::Enum { cases }) => {
                        work.extend(cases.iter().flat_map(|(_, payload)| payload.iter().cloned()));
                    }
                    Some(TypeKind::Struct { mutable: true, .. }) | None => return true,
                },
                _ => return true,
            }
        }
        false
    }

    fn aggregate<'t>(&mut self, ty: &Type, types: impl Iterator<Item = &'t Type>) -> Layout {
        let fields: Vec<Arc<Layout>> = types.map(|ty| self.of(ty)).collect();
        let parts: usize = fields.iter().map(|field| field.parts.len()).sum();
        if parts <= MOST_PARTS {
            let parts: Vec<ir::Type> = fields.iter().flat_map(|field| field.parts.iter().copied()).collect();
            return Layout::new(ty.clone(), Shape::Fields(fields), parts);
        }
        let inside = Arc::new(inside_of(&fields));
        Layout::new(ty.clone(), Shape::Record(fields, inside), [clif::I64])
    }

    /// Where the fields of an object of this type lie; `None` if it is no reference or mutable struct in native memory.
    pub(super) fn inside(&mut self, ty: &Type) -> Option<Arc<Inside>> {
        if let Some(known) = self.insides.get(ty) {
            return Some(known.clone());
        }
        let types: Vec<Type> = match ty {
            Type::Ref(element) => vec![(**element).clone()],
            Type::Named(name) => match &self.module.type_def(name)?.kind {
                TypeKind::Struct { fields, .. } => fields.iter().map(|(_, ty)| ty.clone()).collect(),
                TypeKind::Enum { .. } => return None,
            },
            _ => return None,
        };
        let fields: Vec<Arc<Layout>> = types.iter().map(|ty| self.of(ty)).collect();
        let inside = Arc::new(inside_of(&fields));
        self.insides.insert(ty.clone(), inside.clone());
        Some(inside)
    }

    /// The position of a field, counted from 0, by its name.
    pub(super) fn field_named(&self, ty: &Type, field: &str) -> Option<usize> {
        match ty {
            Type::NamedTuple(fields) => fields.iter().position(|(name, _)| name.as_str() == field),
            Type::Ref(_) => (field == "x").then_some(0),
            Type::Named(name) => match &self.module.type_def(name)?.kind {
                TypeKind::Struct { fields, .. } => fields.iter().position(|(name, _)| name.as_str() == field),
                TypeKind::Enum { .. } => None,
            },
            _ => None,
        }
    }
}

/// The fields one after the other, each where its alignment lets it start.
fn inside_of(layouts: &[Arc<Layout>]) -> Inside {
    let mut inside = Inside { fields: Vec::with_capacity(layouts.len()), size: 0 };
    for layout in layouts {
        let at = inside.size.next_multiple_of(layout.align);
        inside.fields.push((layout.clone(), at));
        inside.size = at + layout.size;
    }
    inside.size = inside.size.next_multiple_of(16);
    inside
}

/// The register type of a scalar.
pub(super) fn part_of(ty: ScalarType) -> ir::Type {
    match ty {
        ScalarType::Float64 => clif::F64,
        ScalarType::Float32 => clif::F32,
        other => match other.bits() {
            1..=8 => clif::I8,
            9..=16 => clif::I16,
            17..=32 => clif::I32,
            33..=64 => clif::I64,
            _ => clif::I128,
        },
    }
}
