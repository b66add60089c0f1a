//! How values lie in registers and in memory.
//!
//! A value is a list of *parts*, each of which fits a register: a number is one part, a tuple or an immutable struct
//! the parts of its fields one after the other, what has identity (arrays, references, mutable structs, stacks) one
//! pointer to its object. A case of an enum and a closure are one pointer, too, to a cell that is never changed (see
//! [`cells`](super::values::cells)). What has only one value (`nothing`, a function) has no parts. Everything else —
//! strings, symbols, what is of type `Any` — is a [`Shape::Boxed`]: the number of an interpreter's
//! [`Value`](crate::Value), on which the interpreter's own primitives work.

use std::sync::Arc;

use cranelift_codegen::ir;
use cranelift_codegen::ir::types as clif;
use hashbrown::{HashMap, HashSet};
use ircode::{IRCode, Module, Name, ScalarType, Type, TypeDef, TypeKind, TypeNesting};
use smallvec::SmallVec;

use super::values::cells::Made;
use crate::value::may_stand_for;

/// Parts up to this number are held in registers; a value with more is kept in memory, as one pointer.
const MOST_PARTS: usize = 64;

/// A value takes no more than so many bytes: a part takes at most 16.
pub(crate) const MOST_BYTES: usize = 16 * MOST_PARTS;

/// Values of types that are nested deeper are the interpreter's.
const DEEPEST: usize = 64;

/// The parts of a value, where there are few of them.
pub(crate) type Parts<T> = SmallVec<[T; 2]>;

/// How values of one type lie.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) ty: Type,
    pub(crate) shape: Shape,
    /// The types of the parts.
    pub(crate) parts: Parts<ir::Type>,
    /// Where each part lies in memory, from the start of the value.
    pub(crate) offsets: Parts<u32>,
    /// How many bytes the value takes in memory: a multiple of `align`.
    pub(crate) size: u32,
    pub(crate) align: u32,
    /// What the values are to the memory of a call.
    pub(crate) kind: Kind,
    /// Whether native objects with identity may be in it.
    objects: bool,
    /// Whether a value of the interpreter in it may hold objects with identity.
    pub(crate) hides_objects: bool,
    /// As an element of an array: where the byte lies that says whether it was assigned.
    pub(crate) assigned: Option<u32>,
}

/// What the values of a layout are to the memory of a call: what comes later holds what comes before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// Nothing: numbers, and what is made of numbers.
    Plain,
    /// Several parts, with pointers among them.
    Parts,
    /// A pointer.
    Pointer,
    /// It may be a value of the interpreter, which becomes a new object where a native one is expected.
    Unsure,
}

impl Kind {
    fn of(ty: &Type, shape: &Shape) -> Kind {
        let most = |fields: &[Arc<Layout>]| fields.iter().map(|field| field.kind).max().unwrap_or(Kind::Plain);
        match shape {
            Shape::Scalar(_) | Shape::Unit => Kind::Plain,
            Shape::Boxed => match ty {
                Type::String | Type::Symbol => Kind::Plain,
                _ => Kind::Unsure,
            },
            Shape::Fields(fields) | Shape::Union(fields) => match most(fields) {
                Kind::Pointer => Kind::Parts,
                other => other,
            },
            Shape::Record(fields, _) => most(fields).max(Kind::Pointer),
            _ => Kind::Pointer,
        }
    }
}

/// What kind of value it is.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
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
    /// A case of an enum, in a cell.
    Enum,
    /// A closure, in a cell.
    Closure,
    /// One of few types: the number of the member, and the parts of all members.
    Union(Vec<Arc<Layout>>),
    /// A value of the interpreter.
    Boxed,
}

/// What values of a type are made of: the types of what is in them.
pub(crate) enum Composition {
    /// Nothing that has a type of its own.
    Plain,
    /// Fields, which lie in the value.
    Fields(Vec<Type>),
    /// A pointer to an object with identity.
    Pointer(Vec<Type>),
    /// A pointer to a cell.
    Cell(Vec<Type>),
    /// What only the interpreter knows.
    Unknown,
}

impl Composition {
    fn into_types(self) -> Vec<Type> {
        match self {
            Composition::Plain | Composition::Unknown => Vec::new(),
            Composition::Fields(types) | Composition::Pointer(types) | Composition::Cell(types) => types,
        }
    }
}

/// Where the fields of an object lie.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) fields: Vec<(Arc<Layout>, u32)>,
    pub(crate) size: u32,
}

/// The header of an array: where each of its words lies.
pub(super) mod array {
    /// The address of the first element.
    pub(crate) const DATA: i32 = 0;
    /// The number of elements.
    pub(crate) const LENGTH: i32 = 8;
    /// The number of elements for which there is room behind [`DATA`].
    pub(crate) const CAPACITY: i32 = 16;
    /// The first dimension, followed by the others.
    const DIMENSIONS: i32 = 24;

    /// Of a stack: the number under which it is remembered how much room it needed.
    pub(crate) const HINT: i32 = DIMENSIONS;

    /// A dimension, counted from 0. A vector that grows keeps its only one in [`LENGTH`], too.
    pub(crate) const fn dimension(number: u32) -> i32 {
        DIMENSIONS + 8 * number as i32
    }

    /// The bytes of a header.
    pub(crate) const fn size(rank: u32) -> usize {
        let words = if rank == 0 { 1 } else { rank };
        DIMENSIONS as usize + 8 * words as usize
    }
}

impl Layout {
    /// Why a value of this type is not taken for one that is laid out so.
    pub(crate) fn refusal(&self, given: &Type) -> String {
        match &self.ty {
            Type::Untyped => format!("a value of the type {given} where the type of what is expected is not known"),
            expected => format!("a value of the type {given} where one of {expected} is expected"),
        }
    }

    fn new(ty: Type, shape: Shape, parts: impl IntoIterator<Item = ir::Type>) -> Self {
        let mut layout = Layout {
            kind: Kind::of(&ty, &shape),
            ty,
            shape,
            parts: parts.into_iter().collect(),
            offsets: Parts::new(),
            size: 0,
            align: 1,
            objects: false,
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
    pub(crate) fn scalar(&self) -> Option<ScalarType> {
        match self.shape {
            Shape::Scalar(ty) => Some(ty),
            _ => None,
        }
    }

    pub(crate) fn is_boxed(&self) -> bool {
        matches!(self.shape, Shape::Boxed)
    }

    /// Whether the value is a pointer to something that has identity and lies in native memory.
    pub(crate) fn is_pointer(&self) -> bool {
        matches!(self.shape, Shape::Array(..) | Shape::Object | Shape::Reference | Shape::Stack(_))
    }

    /// Whether the value is a pointer to a cell, or 0 where it was not assigned.
    pub(crate) fn is_cell(&self) -> bool {
        matches!(self.shape, Shape::Enum | Shape::Closure)
    }

    /// Whether the value can be made a [`Value`](crate::Value) by copying: it holds nothing with identity.
    pub(crate) fn copies(&self) -> bool {
        !self.objects
    }

    /// Whether a value of the interpreter is in it, not behind a pointer.
    pub(crate) fn holds_boxed(&self) -> bool {
        self.holds(&Layout::is_boxed)
    }

    /// Whether a union is in it, not behind a pointer.
    pub(crate) fn holds_unions(&self) -> bool {
        match &self.shape {
            Shape::Union(_) => true,
            Shape::Fields(fields) | Shape::Record(fields, _) => fields.iter().any(|field| field.holds_unions()),
            _ => false,
        }
    }

    /// Whether a cell is in it, not behind a pointer to something else.
    pub(crate) fn holds_cells(&self) -> bool {
        self.holds(&Layout::is_cell)
    }

    fn holds(&self, what: &dyn Fn(&Layout) -> bool) -> bool {
        match &self.shape {
            Shape::Fields(fields) | Shape::Record(fields, _) | Shape::Union(fields) => {
                fields.iter().any(|field| field.holds(what))
            }
            _ => what(self),
        }
    }

    /// Whether values of both layouts lie in the same way, and one can stand for the other: closures differ in nothing
    /// but their types.
    pub(crate) fn is_as(&self, other: &Layout) -> bool {
        match (&self.shape, &other.shape) {
            (Shape::Closure, Shape::Closure) => true,
            (Shape::Fields(own), Shape::Fields(others)) if self.ty != other.ty => {
                let tuples = matches!((&self.ty, &other.ty), (Type::Tuple(_), Type::Tuple(_)));
                tuples && own.len() == others.len() && own.iter().zip(others).all(|(own, other)| own.is_as(other))
            }
            _ => match (&self.ty, &other.ty) {
                // Types and globals do not always say in which module a function is.
                (Type::Function(own), Type::Function(other)) => {
                    let plain = |name: &str, path: &str| path.rsplit_once('.').is_some_and(|(_, last)| last == name);
                    own == other || plain(own, other) || plain(other, own)
                }
                (own, others) => own == others && self.is_boxed() == other.is_boxed(),
            },
        }
    }
}

/// The layouts of the types of a module.
#[derive(Debug)]
pub(crate) struct Layouts {
    module: Arc<Module<IRCode>>,
    known: HashMap<Type, Arc<Layout>>,
    /// The layouts of elements of arrays, where these are others.
    elements: HashMap<Type, Arc<Layout>>,
    insides: HashMap<Type, Arc<Inside>>,
    /// Where the parts of payloads lie, by the number of the case.
    payloads: HashMap<(Type, usize), Arc<Inside>>,
    /// Where captured values lie, by the number of the function and how many there are.
    captures: HashMap<(Option<usize>, usize), Arc<Inside>>,
    /// Types whose layout is being found, by how many were then: a type inside of itself is boxed, unless it lies
    /// behind a pointer.
    open: HashMap<Type, usize>,
    /// The first of these that was met inside of the type that is being found.
    outermost_met: usize,
    nesting: TypeNesting,
    /// The declared types that hold themselves.
    recursive: HashSet<Name>,
    /// The closures that the program makes.
    closures: Arc<Vec<Made>>,
    /// Types of which it is known whether a value of the interpreter is in them.
    boxing: HashMap<Type, bool>,
}

impl Layouts {
    /// For a program that makes these closures.
    pub(crate) fn new(module: Arc<Module<IRCode>>, closures: Arc<Vec<Made>>) -> Self {
        let recursive = module.recursive_types();
        Layouts {
            module,
            closures,
            boxing: HashMap::new(),
            payloads: HashMap::new(),
            captures: HashMap::new(),
            known: HashMap::new(),
            elements: HashMap::new(),
            insides: HashMap::new(),
            open: HashMap::new(),
            outermost_met: usize::MAX,
            nesting: TypeNesting::new(DEEPEST),
            recursive,
        }
    }

    /// The layout of a type.
    pub(crate) fn of(&mut self, ty: &Type) -> Arc<Layout> {
        if let Some(known) = self.known.get(ty) {
            return known.clone();
        }
        let depth = self.open.len();
        let met_before = std::mem::replace(&mut self.outermost_met, usize::MAX);
        let layout = self.not_known(ty, depth);
        // What lies inside of a type that is still open may be boxed for that reason only; what met none is the same
        // wherever it stands (the components of Tarjan 1972).
        if self.outermost_met >= depth || layout.scalar().is_some() {
            self.known.insert(ty.clone(), layout.clone());
            self.outermost_met = usize::MAX;
        }
        self.outermost_met = self.outermost_met.min(met_before);
        layout
    }

    fn not_known(&mut self, ty: &Type, depth: usize) -> Arc<Layout> {
        if let Some(declared) = self.module.as_declared(ty).filter(|declared| declared != ty) {
            return self.of(&declared);
        }
        if let Some(open) = self.open.get(ty) {
            self.outermost_met = *open;
            let boxed = Layout::new(ty.clone(), Shape::Boxed, [clif::I64]);
            return Arc::new(Layout { hides_objects: true, ..boxed });
        }
        self.open.insert(ty.clone(), depth);
        let mut layout = self.find(ty);
        self.open.remove(ty);
        (layout.objects, layout.hides_objects) = match &layout.shape {
            Shape::Boxed => (false, self.may_hold_objects(ty)),
            Shape::Fields(fields) | Shape::Record(fields, _) | Shape::Union(fields) => {
                (fields.iter().any(|field| field.objects), fields.iter().any(|field| field.hides_objects))
            }
            Shape::Scalar(_) | Shape::Unit => (false, false),
            _ => self.behind_pointer(&layout),
        };
        Arc::new(layout)
    }

    /// How elements of this type lie in an array. What is no pointer and not of bits has a byte behind it that is 0
    /// until the element is assigned: reading it before is an error.
    pub(crate) fn element(&mut self, ty: &Type) -> Arc<Layout> {
        let plain = self.of(ty);
        let is_bits = self.module.is_bits_type(ty) == Some(true);
        if is_bits || plain.is_pointer() || plain.is_cell() || plain.is_boxed() {
            return plain;
        }
        let flagged = self.elements.entry(ty.clone()).or_insert_with(|| {
            let mut layout = Layout::new(plain.ty.clone(), plain.shape.clone(), plain.parts.iter().copied());
            layout.objects = plain.objects;
            layout.hides_objects = plain.hides_objects;
            layout.assigned = Some(layout.size);
            layout.size += layout.align;
            Arc::new(layout)
        });
        flagged.clone()
    }

    /// Whether a type is nested so deep that its values are the interpreter's. Types that hold themselves are not, as
    /// they are boxed inside of themselves, but for families of very many.
    fn is_deep(&self, ty: &Type) -> bool {
        let parts = |ty: &Type| match ty {
            Type::Named(name) => match self.module.type_def(name) {
                Some(def) if self.recursive.contains(&def.name) && self.recursive.len() <= DEEPEST => Vec::new(),
                Some(TypeDef { kind: TypeKind::Struct { mutable: false, fields }, .. }) => {
                    fields.iter().map(|(_, ty)| ty.clone()).collect()
                }
                _ => Vec::new(),
            },
            Type::Tuple(types) | Type::Union(types) => types.to_vec(),
            Type::NamedTuple(fields) => fields.iter().map(|(_, ty)| ty.clone()).collect(),
            _ => Vec::new(),
        };
        self.nesting.is_deeper(ty, &parts)
    }

    fn find(&mut self, ty: &Type) -> Layout {
        let layout = |shape, parts: &[ir::Type]| Layout::new(ty.clone(), shape, parts.iter().copied());
        let boxed = || Layout::new(ty.clone(), Shape::Boxed, [clif::I64]);
        let pointer = |shape| Layout::new(ty.clone(), shape, [clif::I64]);
        match ty {
            ty if self.is_deep(ty) => boxed(),
            Type::Scalar(scalar) => layout(Shape::Scalar(*scalar), &[part_of(*scalar)]),
            Type::Nothing | Type::Function(_) => layout(Shape::Unit, &[]),
            Type::TypeOf(_) => layout(Shape::Unit, &[]),
            Type::Union(types) if !self.boxes(ty) => {
                let members = self.members(types);
                let parts = members.iter().flat_map(|member| member.parts.iter().copied());
                let parts: Vec<ir::Type> = std::iter::once(clif::I8).chain(parts).collect();
                Layout::new(ty.clone(), Shape::Union(members), parts)
            }
            Type::Closure(_) => pointer(Shape::Closure),
            Type::Tuple(types) => self.aggregate(ty, types.iter()),
            Type::NamedTuple(fields) => self.aggregate(ty, fields.iter().map(|(_, ty)| ty)),
            Type::Array(array) if !self.boxes(&array.element) => {
                pointer(Shape::Array(array.element.clone(), array.rank))
            }
            Type::Stack(element) if !self.boxes(element) => pointer(Shape::Stack((**element).clone())),
            Type::Ref(element) if !self.boxes(element) => pointer(Shape::Reference),
            // An object of a subclass may stand in the place of one of a class.
            Type::Named(name) if self.module.class(name).is_some() => boxed(),
            Type::Named(name) => match self.module.clone().type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { mutable: false, fields }) => {
                    self.aggregate(ty, fields.iter().map(|(_, ty)| ty))
                }
                Some(TypeKind::Struct { mutable: true, .. }) if self.boxes(ty) => boxed(),
                Some(TypeKind::Struct { mutable: true, .. }) => pointer(Shape::Object),
                Some(TypeKind::Enum { .. }) => pointer(Shape::Enum),
                None => boxed(),
            },
            _ => boxed(),
        }
    }

    /// Whether native objects with identity, and whether values of the interpreter that may hold such, lie behind a
    /// pointer.
    fn behind_pointer(&mut self, pointer: &Layout) -> (bool, bool) {
        let (mut objects, mut hides) = (pointer.is_pointer(), false);
        let mut work = self.composition(&pointer.ty).into_types();
        let mut seen: HashSet<Type> = HashSet::new();
        while let Some(ty) = work.pop().filter(|_| !(objects && hides)) {
            if !seen.insert(ty.clone()) {
                continue;
            }
            let composition = self.composition(&ty);
            match &composition {
                Composition::Plain | Composition::Cell(_) => {}
                Composition::Unknown => hides |= self.may_hold_objects(&ty),
                Composition::Fields(_) if !self.contains_itself(&ty) => {}
                Composition::Pointer(_) if !self.boxes(&ty) => objects = true,
                Composition::Fields(_) | Composition::Pointer(_) => {
                    hides |= self.may_hold_objects(&ty);
                    continue;
                }
            }
            work.extend(composition.into_types());
        }
        (objects, hides)
    }

    /// Whether a value of the interpreter lies in one of this type, also behind pointers, but not in cells. A pointer
    /// to such is one itself: so it is asked whether one can be reached at all, which does not depend on the type at
    /// which one starts.
    fn boxes(&mut self, ty: &Type) -> bool {
        if let Some(known) = self.boxing.get(ty) {
            return *known;
        }
        let mut work = vec![ty.clone()];
        let mut seen: HashSet<Type> = HashSet::new();
        let mut found = false;
        while let Some(next) = work.pop().filter(|_| !found) {
            match self.boxing.get(&next) {
                Some(true) => found = true,
                None if seen.insert(next.clone()) => {}
                Some(false) | None => continue,
            }
            match self.composition(&next) {
                Composition::Plain | Composition::Cell(_) => {}
                Composition::Unknown => found = true,
                Composition::Fields(types) => {
                    found = self.contains_itself(&next);
                    work.extend(types);
                }
                Composition::Pointer(types) => work.extend(types),
            }
        }
        match found {
            true => self.boxing.extend([(ty.clone(), true)]),
            // None of what was met leads to any.
            false => self.boxing.extend(seen.into_iter().map(|ty| (ty, false))),
        }
        found
    }

    /// Whether a value of the type has one of the type among its fields, or their fields: no such value can be made.
    fn contains_itself(&self, ty: &Type) -> bool {
        let mut work = vec![ty.clone()];
        let mut seen: HashSet<Type> = HashSet::new();
        while let Some(next) = work.pop() {
            let Composition::Fields(types) = self.composition(&next) else { continue };
            for inside in types {
                if inside == *ty {
                    return true;
                }
                if seen.insert(inside.clone()) {
                    work.push(inside);
                }
            }
        }
        false
    }

    /// The type under the name that the module declares.
    pub(crate) fn as_declared(&self, ty: &Type) -> Type {
        self.module.as_declared(ty).unwrap_or_else(|| ty.clone())
    }

    /// What values of a type are made of.
    pub(crate) fn composition(&self, ty: &Type) -> Composition {
        match ty {
            ty if self.is_deep(ty) => Composition::Unknown,
            Type::Union(types) if self.is_small_union(types) => Composition::Fields(types.to_vec()),
            Type::Scalar(_) | Type::Nothing | Type::Function(_) | Type::TypeOf(_) => Composition::Plain,
            Type::Tuple(types) => Composition::Fields(types.to_vec()),
            Type::NamedTuple(fields) => Composition::Fields(fields.iter().map(|(_, ty)| ty.clone()).collect()),
            Type::Array(array) => Composition::Pointer(vec![array.element.clone()]),
            Type::Stack(element) | Type::Ref(element) => Composition::Pointer(vec![(**element).clone()]),
            Type::Closure(_) => {
                let matching = self.closures_of(ty);
                let captured = matching.iter().flat_map(|made| self.captured_types(Some(made.function), made.count));
                Composition::Cell(captured.collect())
            }
            // An object of a subclass may stand in the place of one of a class.
            Type::Named(name) if self.module.class(name).is_some() => Composition::Unknown,
            Type::Named(name) => match self.module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { mutable, fields }) => {
                    let types = fields.iter().map(|(_, ty)| ty.clone()).collect();
                    if *mutable { Composition::Pointer(types) } else { Composition::Fields(types) }
                }
                Some(TypeKind::Enum { cases }) => {
                    Composition::Cell(cases.iter().flat_map(|(_, payload)| payload.clone()).collect())
                }
                None => Composition::Unknown,
            },
            _ => Composition::Unknown,
        }
    }

    /// The closures that the program makes which may be of this type.
    pub(crate) fn closures_of(&self, ty: &Type) -> Vec<Made> {
        let may_be = |made: &&Made| match (&made.ty, ty) {
            (Type::Closure(made), Type::Closure(expected)) => may_stand_for(made, expected),
            _ => false,
        };
        self.closures.iter().filter(may_be).cloned().collect()
    }

    /// The closures that the program makes.
    pub(crate) fn closures(&self) -> Arc<Vec<Made>> {
        self.closures.clone()
    }

    /// The types of a function's parameters, from `_2` on.
    pub(crate) fn parameters(&self, number: usize) -> Vec<Type> {
        let function = self.module.functions().get(number);
        let types = function.into_iter().flat_map(|function| function.body.argtypes.iter().skip(1));
        types.map(|ty| ty.widened().unwrap_or_else(|| ty.clone())).collect()
    }

    /// The types of so many of the last parameters of a function, or of something else that is called.
    fn captured_types(&self, function: Option<usize>, count: usize) -> Vec<Type> {
        let Some(number) = function else { return vec![Type::Any; count] };
        let mut types = self.parameters(number);
        types.len().checked_sub(count).map_or_else(|| vec![Type::Any; count], |rest| types.split_off(rest))
    }

    /// Where captured values lie in the cell of a closure.
    pub(crate) fn captured(&mut self, function: Option<usize>, count: usize) -> Arc<Inside> {
        if let Some(known) = self.captures.get(&(function, count)) {
            return known.clone();
        }
        let types = self.captured_types(function, count);
        let fields: Vec<Arc<Layout>> = types.iter().map(|ty| self.of(ty)).collect();
        let inside = Arc::new(inside_of(&fields));
        self.captures.insert((function, count), inside.clone());
        inside
    }

    /// The name of a case of an enum, and where its payload lies in the cell.
    pub(crate) fn case(&mut self, ty: &Type, number: usize) -> Option<(Name, Arc<Inside>)> {
        let module = self.module.clone();
        let Type::Named(name) = ty else { return None };
        let TypeKind::Enum { cases } = &module.type_def(name)?.kind else { return None };
        let (case, types) = cases.get(number)?;
        if let Some(known) = self.payloads.get(&(ty.clone(), number)) {
            return Some((case.clone(), known.clone()));
        }
        let fields: Vec<Arc<Layout>> = types.iter().map(|ty| self.of(ty)).collect();
        let inside = Arc::new(inside_of(&fields));
        self.payloads.insert((ty.clone(), number), inside.clone());
        Some((case.clone(), inside))
    }

    /// The number of a case of an enum.
    pub(crate) fn case_number(&self, ty: &Type, case: &str) -> Option<usize> {
        let Type::Named(name) = ty else { return None };
        match &self.module.type_def(name)?.kind {
            TypeKind::Enum { cases } => cases.iter().position(|(known, _)| known.as_str() == case),
            TypeKind::Struct { .. } => None,
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
    pub(crate) fn inside(&mut self, ty: &Type) -> Option<Arc<Inside>> {
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
    pub(crate) fn field_named(&self, ty: &Type, field: &str) -> Option<usize> {
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
pub(crate) fn part_of(ty: ScalarType) -> ir::Type {
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
