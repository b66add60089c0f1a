//! Tangents: what kind of thing the derivative of a value is, by the value's type.
//!
//! Each type has one tangent type. A float is its own; integers, flags, strings and functions have none; a tuple, named
//! tuple or immutable struct has a tuple of the tangents of its fields; what has identity (arrays, references, mutable
//! structs, stacks) has an object of the same shape, its *shadow*.
//!
//! In reverse mode a tangent comes in two parts (Mooncake's fdata and rdata): what has identity goes forward beside the
//! value and is added to in place, what is a value flows backwards. [`Tangent::shadow`] and [`Tangent::cotangent`] are
//! the parts. In forward mode the tangent goes beside the value as a whole.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::fields::is_vararg;
use crate::module::{Module, TypeDef, TypeKind};
use crate::name::{Name, unqualified};
use crate::primitives::ResultType;
use crate::scalar::ScalarType;
use crate::subtypes::EXCEPTIONS;
use crate::type_nesting::TypeNesting;
use crate::types::Type;
use crate::view::Body;

/// What the tangent of a value is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tangent {
    /// The value has none.
    None,
    /// A float of this type.
    Float(ScalarType),
    /// A tuple with the tangents of the fields, `nothing` for those that have none. At least one has.
    Fields(Arc<[Tangent]>),
    /// An object of this type, the shadow of an object.
    Object(Type),
    /// That of whatever value it is when the program runs, or `nothing` for zero.
    Dynamic {
        /// Whether there may be parts with identity.
        shadow: bool,
        /// Whether there may be floats outside of these.
        cotangent: bool,
    },
}

impl Tangent {
    /// Of anything at all.
    pub const ANY: Tangent = Tangent::Dynamic { shadow: true, cotangent: true };

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Tangent::None
    }

    /// The type of the tangent; `Nothing` if there is none.
    pub fn ty(&self) -> Type {
        match self {
            Tangent::None => Type::Nothing,
            Tangent::Float(float) => Type::from(*float),
            Tangent::Fields(fields) => Type::tuple(fields.iter().map(Tangent::ty)),
            Tangent::Object(ty) => ty.clone(),
            Tangent::Dynamic { .. } => Type::Any,
        }
    }

    /// The part that goes forward beside the value, and is added to in place: what has identity.
    pub fn shadow(&self) -> Tangent {
        match self {
            Tangent::None | Tangent::Float(_) => Tangent::None,
            Tangent::Fields(fields) => of_fields(fields.iter().map(Tangent::shadow).collect()),
            Tangent::Object(ty) => Tangent::Object(ty.clone()),
            Tangent::Dynamic { shadow: true, .. } => Tangent::Dynamic { shadow: true, cotangent: false },
            Tangent::Dynamic { .. } => Tangent::None,
        }
    }

    /// The part that flows in reverse: floats that are no part of an object.
    pub fn cotangent(&self) -> Tangent {
        match self {
            Tangent::None | Tangent::Object(_) => Tangent::None,
            Tangent::Float(float) => Tangent::Float(*float),
            Tangent::Fields(fields) => of_fields(fields.iter().map(Tangent::cotangent).collect()),
            Tangent::Dynamic { cotangent: true, .. } => Tangent::Dynamic { shadow: false, cotangent: true },
            Tangent::Dynamic { .. } => Tangent::None,
        }
    }

    /// The tangents of the fields, if it is a tuple of them.
    pub fn fields(&self) -> &[Tangent] {
        match self {
            Tangent::Fields(fields) => fields,
            _ => &[],
        }
    }

    /// Whether its type is too large to be written out: types share what they are made of.
    fn is_large(&self) -> bool {
        fn exceeds(tangent: &Tangent, left: &mut usize) -> bool {
            match left.checked_sub(1) {
                Some(less) => *left = less,
                None => return true,
            }
            tangent.fields().iter().any(|field| exceeds(field, left))
        }
        exceeds(self, &mut { LARGEST })
    }

    /// The number of [leaves](Self::for_each_leaf).
    pub fn leaf_count(&self) -> usize {
        match self {
            Tangent::None => 0,
            Tangent::Fields(fields) => fields.iter().map(Tangent::leaf_count).sum(),
            _ => 1,
        }
    }

    /// Visits what is no tuple, from left to right: floats, objects, and what is known only at run time.
    pub fn for_each_leaf(&self, visit: &mut impl FnMut(&Tangent)) {
        match self {
            Tangent::None => {}
            Tangent::Fields(fields) => fields.iter().for_each(|field| field.for_each_leaf(visit)),
            leaf => visit(leaf),
        }
    }
}

fn of_fields(fields: Vec<Tangent>) -> Tangent {
    if fields.iter().all(Tangent::is_none) { Tangent::None } else { Tangent::Fields(fields.into()) }
}

/// The tangents of the types of a module, each found once, and the types that have to be declared for them.
#[derive(Debug)]
pub struct TangentTypes<'m, F> {
    module: &'m Module<F>,
    known: RefCell<HashMap<Type, Tangent>>,
    nesting: TypeNesting,
    declared: RefCell<Vec<TypeDef>>,
    /// The structs whose shadows are declared, by place, but not their fields.
    pending: RefCell<Vec<(usize, Name)>>,
    names: RefCell<HashSet<Name>>,
    /// Types whose values are known to hold no floats.
    without_floats: RefCell<HashSet<Type>>,
    /// The declared types below types that are not declared, by the names of these without modules and parameters.
    below: HashMap<Name, Vec<Name>>,
    /// The types that hold themselves. Found when it is asked.
    recursive: OnceCell<HashSet<Name>>,
    /// Whether the code makes closures by `partial_apply`: of these a type need not say more than that they are
    /// functions. Found when it is asked.
    applies_partially: OnceCell<bool>,
    /// What finds that: where only declarations are at hand, there is no code to ask.
    makes_closures: fn(&Module<F>) -> bool,
}

/// Types that nest deeper than this have dynamic tangents.
const MAX_DEPTH: usize = 32;

/// Types of more fields than these, all in all, have dynamic tangents.
const LARGEST: usize = 1 << 20;

impl<'m, F: Body> TangentTypes<'m, F> {
    /// For the types that this module declares, and the closures that its code makes.
    pub fn new(module: &'m Module<F>) -> Self {
        TangentTypes { makes_closures, ..TangentTypes::of_declarations(module) }
    }
}

impl<'m, F> TangentTypes<'m, F> {
    /// For the types that this module declares, whatever its code does.
    pub fn of_declarations(module: &'m Module<F>) -> Self {
        let mut below: HashMap<Name, Vec<Name>> = HashMap::new();
        for def in module.types() {
            let above = module.supertypes(&def.name).unwrap_or_default();
            let open = above.iter().filter_map(|ty| match ty {
                Type::Named(name) if module.type_def(name).is_none() => Some(plain_name(name)),
                _ => None,
            });
            // What exceptions hold is not followed: they are made to be thrown.
            let mut names: Vec<&str> = open.filter(|name| *name != "Exception").collect();
            // Julia's closures, where it is not said what they are.
            if def.name.contains("var\"#") && !names.contains(&"Function") {
                names.push("Function");
            }
            for name in names {
                below.entry(name.into()).or_default().push(def.name.clone());
            }
        }
        TangentTypes {
            module,
            known: RefCell::default(),
            nesting: TypeNesting::new(MAX_DEPTH),
            declared: RefCell::default(),
            pending: RefCell::default(),
            names: RefCell::default(),
            without_floats: RefCell::default(),
            below,
            recursive: OnceCell::new(),
            makes_closures: |_| false,
            applies_partially: OnceCell::new(),
        }
    }

    /// The declared types of which the values of a type may be that is not declared.
    fn below(&self, name: &str) -> &[Name] {
        self.below.get(plain_name(name)).map_or(&[], Vec::as_slice)
    }

    /// Whether values of a type that the module does not declare may be closures of which their type does not say what
    /// they hold.
    fn may_be_closure(&self, name: &str) -> bool {
        plain_name(name) == "Function" && *self.applies_partially.get_or_init(|| (self.makes_closures)(self.module))
    }

    /// The tangent of values of this type.
    ///
    /// A union has that of its one float type, if its other members have none; any other union with a tangent is
    /// dynamic. So are enums, immutable structs that hold themselves, and what is not known.
    ///
    /// ```
    /// use ircode::tangents::TangentTypes;
    /// use ircode::{IRCode, Module, Type};
    ///
    /// let module: Module<IRCode> = Module::new();
    /// let tangents = TangentTypes::new(&module);
    /// let of = |ty: &str| tangents.of(&Type::parse(ty)).ty().to_string();
    /// assert_eq!(of("Float64"), "Float64");
    /// assert_eq!(of("Int64"), "Nothing");
    /// assert_eq!(of("Tuple{Int64, Vector{Float32}}"), "Tuple{Nothing, Vector{Float32}}");
    /// assert_eq!(of("Vector{Tuple{Int64, Float64}}"), "Vector{Tuple{Nothing, Float64}}");
    /// assert_eq!(of("Vector{Int64}"), "Nothing");
    /// assert_eq!(of("Union{Nothing, Float64}"), "Float64");
    /// assert_eq!(of("DomainError"), "Nothing");
    /// assert_eq!(of("MeanSquaredError"), "Any");
    /// ```
    pub fn of(&self, ty: &Type) -> Tangent {
        let tangent = self.inside(ty);
        self.declare_pending();
        tangent
    }

    /// The types that tangents of mutable structs have, in the order in which they were first asked for. Those that the
    /// module declares already are left out.
    pub fn declarations(&self) -> Vec<TypeDef> {
        let declared = self.declared.borrow();
        declared.iter().filter(|def| self.module.type_def(&def.name).is_none()).cloned().collect()
    }

    /// The same whatever was asked for before: how deep a type is does not depend on where it stands.
    fn inside(&self, ty: &Type) -> Tangent {
        if let Some(known) = self.known.borrow().get(ty) {
            return known.clone();
        }
        let mut found = match self.nesting.is_deeper(ty, &|ty| self.parts(ty)) {
            false => self.find(ty),
            true => self.dynamic(ty),
        };
        if found.is_large() {
            found = self.dynamic(ty);
        }
        self.known.borrow_mut().insert(ty.clone(), found.clone());
        found
    }

    /// The parts of a type whose tangents are written out in that of the type.
    fn parts(&self, ty: &Type) -> Vec<Type> {
        match ty {
            Type::Tuple(parts) | Type::Union(parts) => parts.to_vec(),
            Type::NamedTuple(fields) => fields.iter().map(|(_, ty)| ty.clone()).collect(),
            Type::Array(array) => vec![array.element.clone()],
            Type::Ref(element)
            | Type::Memory(element)
            | Type::MemoryRef(element)
            | Type::Stack(element)
            | Type::Slot(element) => vec![(**element).clone()],
            Type::Named(name) => match self.module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { mutable: false, fields }) if !self.is_recursive(name) => {
                    fields.iter().map(|(_, ty)| ty.clone()).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn find(&self, ty: &Type) -> Tangent {
        let of = |ty: &Type| self.inside(ty);
        let container = |element: &Type, make: fn(Type) -> Type| match of(element) {
            Tangent::None => Tangent::None,
            tangent => Tangent::Object(make(tangent.ty())),
        };
        match ty {
            Type::Scalar(scalar) if scalar.is_float() => Tangent::Float(*scalar),
            Type::Scalar(_) | Type::Bottom | Type::Nothing | Type::String | Type::Symbol => Tangent::None,
            Type::TypeOf(_) | Type::Function(_) => Tangent::None,
            Type::Untyped | Type::Any => Tangent::ANY,
            // That of what it captures, which only the run tells.
            Type::Closure(_) | Type::DifferentiableFunction(_) => Tangent::ANY,
            // Of how many elements a tuple is, its type may leave open.
            Type::Tuple(elements) if elements.iter().any(is_vararg) => self.dynamic(ty),
            Type::Tuple(elements) => of_fields(elements.iter().map(of).collect()),
            Type::NamedTuple(fields) => of_fields(fields.iter().map(|(_, ty)| of(ty)).collect()),
            Type::Union(members) => self.of_union(ty, members),
            Type::Array(array) => match of(&array.element) {
                Tangent::None => Tangent::None,
                tangent => Tangent::Object(Type::array(tangent.ty(), array.rank)),
            },
            Type::Ref(element) => container(element, |element| Type::Ref(Arc::new(element))),
            Type::Memory(element) => container(element, |element| Type::Memory(Arc::new(element))),
            Type::MemoryRef(element) => container(element, |element| Type::MemoryRef(Arc::new(element))),
            Type::Stack(element) => container(element, Type::stack),
            Type::Slot(element) => container(element, Type::slot),
            Type::Named(name) => self.of_named(ty, name),
        }
    }

    fn of_union(&self, union: &Type, members: &[Type]) -> Tangent {
        let mut single: Option<Tangent> = None;
        for member in members {
            match (self.inside(member), &single) {
                (Tangent::None, _) => {}
                (tangent @ Tangent::Float(_), None) => single = Some(tangent),
                (tangent, Some(other)) if tangent == *other => {}
                _ => return self.dynamic(union),
            }
        }
        single.unwrap_or(Tangent::None)
    }

    fn of_named(&self, ty: &Type, name: &Name) -> Tangent {
        let def = self.module.type_def(name);
        match def.map(|def| &def.kind) {
            Some(TypeKind::Struct { mutable: true, .. }) => {
                if !self.holds(ty).0 {
                    return Tangent::None;
                }
                // By the name in the declaration: in types it may have a `Main.` before it.
                let name = def.map_or(name, |def| &def.name);
                let object = Tangent::Object(Type::named(shadow_name(name)));
                // What the struct itself may hold again is known from here on. The tangents of the classes of one
                // family are known together, as any of them may be met where one of them is expected.
                self.known.borrow_mut().insert(ty.clone(), object.clone());
                let family: Vec<&Name> = self.module.class_family(name).iter().map(|class| &class.name).collect();
                let names = if family.is_empty() { vec![name] } else { family };
                for name in &names {
                    let object = Tangent::Object(Type::named(shadow_name(name)));
                    self.known.borrow_mut().insert(Type::named((*name).clone()), object);
                }
                names.iter().for_each(|name| self.declare_shadow(name));
                object
            }
            Some(TypeKind::Struct { mutable: false, fields }) => {
                if self.is_recursive(name) {
                    return self.dynamic(ty);
                }
                of_fields(fields.iter().map(|(_, ty)| self.inside(ty)).collect())
            }
            Some(TypeKind::Enum { .. }) => self.dynamic(ty),
            // What the compiler knows of a value: one that is always the same has no derivative.
            None if ty.is_known_value() => Tangent::None,
            None if ty.widened().is_some() => ty.widened().map_or(Tangent::ANY, |ty| self.inside(&ty)),
            None if is_without_tangent(name) => self.dynamic(ty),
            None if matches!(unqualified(name), "Real" | "Number" | "AbstractFloat") => {
                let shadow = self.below(name).iter().any(|below| self.holds(&Type::named(below.clone())).1);
                Tangent::Dynamic { shadow, cotangent: true }
            }
            None => Tangent::ANY,
        }
    }

    /// Declares the type of the shadow of a mutable struct; its fields are found later, as structs may hold one another
    /// without end.
    fn declare_shadow(&self, name: &Name) {
        let shadow = shadow_name(name);
        let is_struct = matches!(self.module.type_def(name).map(|def| &def.kind), Some(TypeKind::Struct { .. }));
        if is_struct && self.names.borrow_mut().insert(shadow.clone()) {
            let place = self.declared.borrow().len();
            self.declared.borrow_mut().push(TypeDef::structure(shadow, []));
            self.pending.borrow_mut().push((place, name.clone()));
        }
    }

    /// Finds the fields of the shadows that were declared.
    fn declare_pending(&self) {
        while let Some((place, name)) = self.next_pending() {
            let Some(TypeKind::Struct { fields, .. }) = self.module.type_def(&name).map(|def| &def.kind) else {
                continue;
            };
            let fields = fields.iter().map(|(field, ty)| (field.clone(), self.inside(ty).ty())).collect();
            if let Some(declared) = self.declared.borrow_mut().get_mut(place) {
                declared.kind = TypeKind::Struct { mutable: true, fields };
            }
        }
    }

    fn next_pending(&self) -> Option<(usize, Name)> {
        self.pending.borrow_mut().pop()
    }

    /// Whether values of the declared type of this name may hold others of it.
    fn is_recursive(&self, name: &str) -> bool {
        let recursive = self.recursive.get_or_init(|| self.module.recursive_types());
        self.module.type_def(name).is_some_and(|def| recursive.contains(&def.name))
    }

    /// What is known of a tangent that depends on the value.
    fn dynamic(&self, ty: &Type) -> Tangent {
        let (floats, shadow, cotangent) = self.holds(ty);
        if floats { Tangent::Dynamic { shadow, cotangent } } else { Tangent::None }
    }

    /// Whether values of this type may hold floats at all, in what has identity, and outside of that.
    fn holds(&self, ty: &Type) -> (bool, bool, bool) {
        let (mut in_objects, mut outside) = (false, false);
        let mut seen: HashSet<(Type, bool)> = HashSet::new();
        let mut families: HashSet<(Name, bool)> = HashSet::new();
        let mut work = vec![(ty.clone(), false)];
        while let Some((ty, inside)) = work.pop() {
            // What cannot tell more is left: types that hold one another are asked for one after the other.
            let is_told = in_objects && (inside || outside) || self.without_floats.borrow().contains(&ty);
            if is_told || !seen.insert((ty.clone(), inside)) {
                continue;
            }
            let mut found = |inside: bool| if inside { in_objects = true } else { outside = true };
            match &ty {
                Type::Scalar(scalar) if scalar.is_float() => found(inside),
                Type::Scalar(_) | Type::Bottom | Type::Nothing | Type::String | Type::Symbol => {}
                Type::TypeOf(_) | Type::Function(_) => {}
                Type::Untyped | Type::Any | Type::Closure(_) | Type::DifferentiableFunction(_) => {
                    found(true);
                    found(inside);
                }
                Type::Tuple(elements) | Type::Union(elements) => {
                    work.extend(elements.iter().map(|element| (element.clone(), inside)));
                }
                Type::NamedTuple(fields) => work.extend(fields.iter().map(|(_, ty)| (ty.clone(), inside))),
                Type::Array(array) => work.push((array.element.clone(), true)),
                Type::Ref(element) | Type::Memory(element) | Type::MemoryRef(element) => {
                    work.push(((**element).clone(), true));
                }
                Type::Stack(element) | Type::Slot(element) => work.push(((**element).clone(), true)),
                Type::Named(name) => match self.module.type_def(name).map(|def| &def.kind) {
                    Some(TypeKind::Struct { fields, mutable }) => {
                        work.extend(fields.iter().map(|(_, ty)| (ty.clone(), inside || *mutable)));
                        // Where a class is expected, or the tangent of one, there may be any class of its family.
                        let class = self.module.class(shadowed(name));
                        if let Some(root) = class.and_then(|class| self.module.class_chain(&class.name).last())
                            && families.insert((root.name.clone(), inside))
                        {
                            let family = self.module.class_and_subclasses(&root.name);
                            work.extend(family.iter().map(|class| (Type::named(class.name.clone()), inside)));
                        }
                    }
                    Some(TypeKind::Enum { cases }) => {
                        let payloads = cases.iter().flat_map(|(_, payload)| payload);
                        work.extend(payloads.map(|ty| (ty.clone(), inside)));
                    }
                    None if is_without_tangent(name) && !self.may_be_closure(name) => {
                        work.extend(self.below(name).iter().map(|below| (Type::named(below.clone()), inside)));
                    }
                    None => {
                        found(true);
                        found(inside);
                    }
                },
            }
        }
        if !in_objects && !outside {
            self.without_floats.borrow_mut().extend(seen.into_iter().map(|(ty, _)| ty));
        }
        (in_objects || outside, in_objects, outside)
    }
}

/// The name of the type that the shadow of a mutable struct has, by the name in the declaration of the struct.
///
/// ```
/// assert_eq!(ircode::tangents::shadow_name("Cell"), "BBKit.Tangent{Cell}");
/// ```
pub fn shadow_name(name: &str) -> Name {
    Name::from(format!("BBKit.Tangent{{{name}}}"))
}

/// The name of the struct whose shadow has a type of this name.
///
/// ```
/// assert_eq!(ircode::tangents::shadowed_name("BBKit.Tangent{Cell}"), Some("Cell"));
/// ```
pub fn shadowed_name(name: &str) -> Option<&str> {
    name.strip_prefix("BBKit.Tangent{")?.strip_suffix('}')
}

/// The name of the struct of which this is the shadow, or the shadow of the shadow and so on.
fn shadowed(mut name: &str) -> &str {
    while let Some(inner) = shadowed_name(name) {
        name = inner;
    }
    name
}

/// The name of a type without the modules before it and the parameters behind it.
pub(crate) fn plain_name(name: &str) -> &str {
    unqualified(name.split('{').next().unwrap_or(name))
}

/// Whether code of a module makes closures by `partial_apply`.
fn makes_closures<F: Body>(module: &Module<F>) -> bool {
    module.functions().iter().any(|function| {
        let mut makes = false;
        function.body.for_each_stmt(&mut |stmt| {
            makes |= module.primitive_call(stmt).is_some_and(|(primitive, _)| primitive.result == ResultType::Closure);
        });
        makes
    })
}

/// Whether values of a type that the module does not declare have no tangent, by the type's name in Julia, as long as
/// the module declares no types below it. What exceptions of Julia's library hold is not followed: they are made to be
/// thrown.
fn is_without_tangent(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "Integer",
        "Signed",
        "Unsigned",
        "BigInt",
        "AbstractChar",
        "AbstractString",
        "Type",
        "DataType",
        "UnionAll",
        "TypeVar",
        "Module",
        "Method",
        "MethodInstance",
        "Missing",
        "Ptr",
        "Cvoid",
        "IO",
        "TTY",
        "Task",
        "Exception",
        "Function",
    ];
    let name = plain_name(name);
    NAMES.contains(&name) || EXCEPTIONS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::IRCode;

    fn declared() -> Module<IRCode> {
        let mut module: Module<IRCode> = Module::new();
        let mut mutable = |name: &str, fields: &[(&str, &str)], mutable: bool| {
            let fields = fields.iter().map(|(field, ty)| ((*field).into(), Type::parse(ty))).collect();
            module
                .add_type(TypeDef { name: name.into(), supertypes: None, kind: TypeKind::Struct { mutable, fields } })
                .unwrap();
        };
        mutable("Cell", &[("value", "Float64"), ("next", "Union{Nothing, Cell}"), ("n", "Int64")], true);
        mutable("Chain", &[("next", "Union{Nothing, Chain}"), ("x", "Float64")], false);
        mutable("Ints", &[("next", "Union{Nothing, Ints}"), ("x", "Int64")], true);
        mutable("Point", &[("x", "Float64"), ("n", "Int64"), ("y", "Float64")], false);
        module
    }

    #[test]
    fn parts_of_aggregates() {
        let module = declared();
        let tangents = TangentTypes::new(&module);
        let both = tangents.of(&Type::parse("Tuple{Float64, Vector{Point}, Int64}"));
        assert_eq!(both.ty().to_string(), "Tuple{Float64, Vector{Tuple{Float64, Nothing, Float64}}, Nothing}");
        assert_eq!(both.shadow().ty().to_string(), "Tuple{Nothing, Vector{Tuple{Float64, Nothing, Float64}}, Nothing}");
        assert_eq!(both.cotangent().ty().to_string(), "Tuple{Float64, Nothing, Nothing}");
        assert_eq!(both.leaf_count(), 2);
        assert_eq!(tangents.of(&Type::parse("Point")).shadow(), Tangent::None);
    }

    #[test]
    fn structs_that_hold_themselves() {
        let module = declared();
        let tangents = TangentTypes::new(&module);
        assert_eq!(tangents.of(&Type::named("Cell")).ty().to_string(), "BBKit.Tangent{Cell}");
        assert_eq!(tangents.of(&Type::named("Main.Cell")), tangents.of(&Type::named("Cell")));
        assert_eq!(tangents.of(&Type::named("Ints")), Tangent::None);
        let chain = tangents.of(&Type::named("Chain"));
        assert_eq!(chain, Tangent::Dynamic { shadow: false, cotangent: true });
        let declarations = tangents.declarations();
        let [cell] = declarations.as_slice() else { panic!("{declarations:?}") };
        let TypeKind::Struct { mutable: true, fields } = &cell.kind else { panic!("{cell:?}") };
        let types: Vec<String> = fields.iter().map(|(_, ty)| ty.to_string()).collect();
        assert_eq!(types, ["Float64", "Any", "Nothing"]);
    }

    #[test]
    fn what_was_asked_for_before_makes_no_difference() {
        let mut module: Module<IRCode> = Module::new();
        module.add_type(TypeDef::structure("S40", [("x".into(), Type::FLOAT64)])).unwrap();
        for number in (0..40).rev() {
            let next = Type::named(format!("S{}", number + 1));
            module.add_type(TypeDef::structure(format!("S{number}"), [("next".into(), next)])).unwrap();
        }
        let names: Vec<Type> = (0..=40).map(|number| Type::named(format!("S{number}"))).collect();
        let upwards = TangentTypes::new(&module);
        let up: Vec<Tangent> = names.iter().map(|ty| upwards.of(ty)).collect();
        let downwards = TangentTypes::new(&module);
        let down: Vec<Tangent> = names.iter().rev().map(|ty| downwards.of(ty)).collect();
        assert!(up.iter().eq(down.iter().rev()));
        let dynamic = up.iter().filter(|tangent| matches!(tangent, Tangent::Dynamic { .. })).count();
        assert_eq!(dynamic, 41 - MAX_DEPTH);
    }

    #[test]
    fn unions() {
        let module = declared();
        let tangents = TangentTypes::new(&module);
        let of = |ty: &str| tangents.of(&Type::parse(ty));
        assert_eq!(of("Union{Nothing, Float32, Int64}"), Tangent::Float(ScalarType::Float32));
        assert_eq!(of("Union{Float64, Float32}"), Tangent::Dynamic { shadow: false, cotangent: true });
        assert_eq!(of("Union{Nothing, Vector{Float64}}"), Tangent::Dynamic { shadow: true, cotangent: false });
        assert_eq!(of("Union{Nothing, Int64}"), Tangent::None);
        assert_eq!(of("Vector{Any}").ty().to_string(), "Vector{Any}");
    }
}
