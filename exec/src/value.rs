//! The values that programs compute with.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use ircode::three_valued::{all, any};
use ircode::{
    ClosureType, Constant, Name, Scalar, Type, is_below, is_nearer, is_parameter_below, is_same_function, open_tuple,
    unqualified,
};

use crate::egal::is_same_type;
use crate::error::RunErrorKind;
use crate::object::{Fields, Kind};

/// A value. Copying one is cheap: everything larger than a number is shared. `{:?}` shows it with its type,
/// `3.0::Float64`, and like `{}` shows only so much of what is nested deep.
#[derive(Clone)]
pub enum Value {
    /// A statement that has no value, or a variable that was not assigned.
    Undefined,
    /// `nothing`.
    Nothing,
    /// A number, `Bool` or `Char`.
    Scalar(Scalar),
    /// A string.
    String(Name),
    /// A symbol.
    Symbol(Name),
    /// A type.
    Type(Arc<Type>),
    /// A function, by its name.
    Function(Name),
    /// A tuple.
    Tuple(TupleRef),
    /// A named tuple.
    NamedTuple(NamedTupleRef),
    /// A simple vector.
    SimpleVector(TupleRef),
    /// A struct, or an exception.
    Struct(StructRef),
    /// A case of an enum with its payload.
    Enum(EnumRef),
    /// A function together with values of its last parameters.
    Closure(ClosureRef),
    /// A closure together with its derivatives.
    DifferentiableFunction(DifferentiableFunctionRef),
    /// An array.
    Array(ArrayRef),
    /// The storage of arrays.
    Memory(MemoryRef),
    /// A place in such storage.
    MemoryRef(PlaceRef),
    /// What a derivative saves.
    Stack(StackRef),
    /// A local variable.
    Slot(SlotRef),
    /// An object of which only the text is known.
    Text(Name),
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Undefined | Value::Nothing => write!(f, "{self}"),
            value => write!(f, "{value}::{}", value.type_of()),
        }
    }
}

macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident($object:ident);)*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(pub(crate) Rc<$object>);)*
    };
}

shared! {
    /// A shared tuple.
    TupleRef(TupleObject);
    /// A shared named tuple.
    NamedTupleRef(NamedTupleObject);
    /// A shared struct.
    StructRef(StructObject);
    /// A shared case of an enum.
    EnumRef(EnumObject);
    /// A shared closure.
    ClosureRef(ClosureObject);
    /// A shared bundle of a closure and its derivatives.
    DifferentiableFunctionRef(DifferentiableFunctionObject);
    /// A shared array.
    ArrayRef(ArrayObject);
    /// Shared storage.
    MemoryRef(MemoryObject);
    /// A shared place in storage.
    PlaceRef(PlaceObject);
    /// A shared stack.
    StackRef(StackObject);
    /// A shared slot.
    SlotRef(SlotObject);
}

#[derive(Debug)]
pub(crate) struct TupleObject {
    pub(crate) fields: Fields,
}

#[derive(Debug)]
pub(crate) struct NamedTupleObject {
    pub(crate) names: Arc<[Name]>,
    /// The type of which it was made; without one it is of the types of its values.
    pub(crate) declared: Option<Arc<Vec<(Name, Type)>>>,
    pub(crate) fields: Fields,
}

/// A struct. One that cannot be changed is compared by its fields, one that can by its identity.
#[derive(Debug)]
pub(crate) struct StructObject {
    pub(crate) ty: Arc<StructInfo>,
    pub(crate) fields: RefCell<Fields>,
}

/// What is fixed about the structs of one type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StructInfo {
    pub(crate) ty: Type,
    pub(crate) mutable: bool,
    pub(crate) names: Vec<Name>,
    /// The types above it, as far as the program says which.
    pub(crate) supertypes: Option<Vec<Type>>,
}

#[derive(Debug)]
pub(crate) struct EnumObject {
    pub(crate) ty: Type,
    pub(crate) case: Name,
    pub(crate) fields: Fields,
}

#[derive(Debug)]
pub(crate) struct ClosureObject {
    pub(crate) ty: Type,
    /// The function, as it was named.
    pub(crate) function: Name,
    /// What it captures: the values of its last parameters.
    pub(crate) fields: Fields,
}

#[derive(Debug)]
pub(crate) struct DifferentiableFunctionObject {
    pub(crate) ty: Type,
    /// The numbers of the parameters with respect to which the derivatives are; none for all that have tangents.
    pub(crate) with_respect_to: Vec<usize>,
    /// The original, the JVP and the VJP, which are closures; `nothing` for a derivative that is not filled in.
    pub(crate) fields: Fields,
}

/// An array: dimensions, and a place in storage, as from Julia 1.11 on.
#[derive(Debug)]
pub(crate) struct ArrayObject {
    pub(crate) place: RefCell<PlaceRef>,
    pub(crate) dims: RefCell<Vec<usize>>,
    /// Whether there is, or was, another array of the same elements in other dimensions.
    pub(crate) is_shared: Cell<bool>,
}

impl ArrayRef {
    /// The array of the elements from a place on.
    pub(crate) fn new(place: PlaceRef, dims: Vec<usize>) -> ArrayRef {
        let (place, dims) = (RefCell::new(place), RefCell::new(dims));
        ArrayRef(Rc::new(ArrayObject { place, dims, is_shared: Cell::new(false) }))
    }

    /// How many elements it has.
    pub(crate) fn length(&self) -> usize {
        self.0.dims.borrow().iter().product()
    }

    /// An array of the same elements in other dimensions, of which there must be as many.
    pub(crate) fn reshaped(&self, dims: Vec<usize>) -> ArrayRef {
        let reshaped = ArrayRef::new(self.0.place.borrow().clone(), dims);
        self.0.is_shared.set(true);
        reshaped.0.is_shared.set(true);
        reshaped
    }
}

#[derive(Debug)]
pub(crate) struct MemoryObject {
    pub(crate) element: Type,
    pub(crate) fields: RefCell<Fields>,
    /// Where it lies, once somebody has asked; 0 before.
    pub(crate) address: Cell<u64>,
}

/// A place in storage: that of the element at `offset`, counted from 0.
#[derive(Debug)]
pub(crate) struct PlaceObject {
    pub(crate) memory: MemoryRef,
    pub(crate) offset: usize,
}

#[derive(Debug)]
pub(crate) struct StackObject {
    pub(crate) element: Type,
    pub(crate) fields: RefCell<Fields>,
}

/// Stack memory: a local variable, or a part of one.
#[derive(Debug)]
pub(crate) struct SlotObject {
    pub(crate) ty: Type,
    /// The value; the slots of the parts once one of them has been asked for.
    pub(crate) fields: RefCell<Fields>,
    pub(crate) state: Cell<SlotState>,
    /// Whether it is a part of another slot.
    pub(crate) part: bool,
}

/// What is in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotState {
    /// Nothing yet.
    Unassigned,
    /// A value.
    Assigned,
    /// A slot for each field, each in a state of its own.
    Parts,
    /// Nothing any more.
    Ended,
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        Value::Scalar(scalar)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Scalar(Scalar::Float64(value))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Scalar(Scalar::Int64(value))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Scalar(Scalar::Bool(value))
    }
}

/// A `Vector{Float64}`. Its memory counts for no machine.
///
/// ```
/// use exec::Value;
///
/// let vector = Value::from([1.0, 2.5].as_slice());
/// assert_eq!((vector.to_string(), vector.as_floats()), ("[1.0, 2.5]".to_string(), Some(vec![1.0, 2.5])));
/// ```
impl From<&[f64]> for Value {
    fn from(numbers: &[f64]) -> Self {
        let fields = Fields::uncounted(Kind::Array, numbers.iter().copied().map(Value::from).collect());
        let memory = MemoryObject { element: Type::FLOAT64, fields: RefCell::new(fields), address: Cell::new(0) };
        let place = PlaceRef(Rc::new(PlaceObject { memory: MemoryRef(Rc::new(memory)), offset: 0 }));
        Value::Array(ArrayRef::new(place, vec![numbers.len()]))
    }
}

impl Value {
    /// The elements of an array of floats in memory order, its first dimension running fastest; `None` for any other
    /// value.
    pub fn as_floats(&self) -> Option<Vec<f64>> {
        self.array_elements()?.iter().map(Value::as_float).collect()
    }

    /// The scalar, if the value is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match self {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The float, of whatever width, if the value is one.
    pub fn as_float(&self) -> Option<f64> {
        self.as_scalar().and_then(Scalar::as_float)
    }

    /// The number, if the value is an integer.
    pub fn as_integer(&self) -> Option<i128> {
        self.as_scalar().filter(|scalar| scalar.scalar_type().is_integer()).map(Scalar::to_i128)
    }

    /// The elements, if the value is a tuple.
    pub fn as_tuple(&self) -> Option<&[Value]> {
        match self {
            Value::Tuple(tuple) => Some(tuple.0.fields.values()),
            _ => None,
        }
    }

    /// The parts of a value that is made of some, in order: the elements of a tuple, the fields of a struct or a named
    /// tuple, the payload of a case of an enum, what a closure captures. A field that is not assigned is
    /// [`Value::Undefined`].
    ///
    /// ```
    /// use exec::{Machine, Value};
    ///
    /// let module = ircode::parse_module("
    /// struct Point
    ///     x::Float64
    ///     y::Float64
    /// end
    /// ")?.module;
    /// let point = Machine::new(&module).structure(&ircode::Type::parse("Point"), vec![1.0.into(), 2.0.into()])?;
    /// assert_eq!(point.fields().map(|fields| fields.len()), Some(2));
    /// assert_eq!(point.field("y").and_then(|y| y.as_float()), Some(2.0));
    /// assert!(Value::from(1.0).fields().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fields(&self) -> Option<Vec<Value>> {
        let fields = match self {
            Value::Tuple(tuple) => tuple.0.fields.values().to_vec(),
            Value::NamedTuple(tuple) => tuple.0.fields.values().to_vec(),
            Value::Struct(object) => object.0.fields.borrow().values().to_vec(),
            Value::Enum(object) => object.0.fields.values().to_vec(),
            Value::Closure(closure) => closure.0.fields.values().to_vec(),
            _ => return None,
        };
        Some(fields)
    }

    /// The field of this name of a struct or a named tuple.
    pub fn field(&self, name: &str) -> Option<Value> {
        let names: &[Name] = match self {
            Value::NamedTuple(tuple) => &tuple.0.names,
            Value::Struct(object) => &object.0.ty.names,
            _ => return None,
        };
        let index = names.iter().position(|other| other.as_str() == name)?;
        self.fields()?.get(index).cloned()
    }

    /// The name of the case, if the value is one of an enum; its payload is in [`fields`](Self::fields).
    pub fn enum_case(&self) -> Option<&Name> {
        match self {
            Value::Enum(object) => Some(&object.0.case),
            _ => None,
        }
    }

    /// The name of the function that the value is, or is a closure of; what that captures is in
    /// [`fields`](Self::fields).
    pub fn function_name(&self) -> Option<&Name> {
        match self {
            Value::Function(name) => Some(name),
            Value::Closure(closure) => Some(&closure.0.function),
            _ => None,
        }
    }

    /// The tangent of the field of this index, counted from 0, if the value is a tangent with fields: a tuple, or that
    /// of a mutable struct.
    pub fn tangent_field(&self, index: usize) -> Option<Value> {
        match self {
            Value::Tuple(tuple) => tuple.0.fields.values().get(index).cloned(),
            Value::Struct(object) => object.0.fields.borrow().values().get(index).cloned(),
            _ => None,
        }
    }

    /// The elements of an array in memory order, its first dimension running fastest.
    pub fn array_elements(&self) -> Option<Vec<Value>> {
        let Value::Array(array) = self else { return None };
        let place = array.0.place.borrow();
        let length = array.length();
        let memory = place.0.memory.0.fields.borrow();
        memory.values().get(place.0.offset..place.0.offset + length).map(<[Value]>::to_vec)
    }

    /// The dimensions of an array.
    pub fn array_dims(&self) -> Option<Vec<usize>> {
        match self {
            Value::Array(array) => Some(array.0.dims.borrow().clone()),
            _ => None,
        }
    }

    /// The type of the value; [`Type::Untyped`] where it is not known.
    pub fn type_of(&self) -> Type {
        match self {
            Value::Undefined => Type::Untyped,
            Value::Text(text) => Constant::Text(text.clone()).shown_object().map_or(Type::Untyped, |(ty, _)| ty),
            Value::Nothing => Type::Nothing,
            Value::Scalar(scalar) => Type::Scalar(scalar.scalar_type()),
            Value::String(_) => Type::String,
            Value::Symbol(_) => Type::Symbol,
            Value::Type(ty) => Type::TypeOf(ty.clone()),
            Value::Function(name) => Type::Function(name.clone()),
            Value::Tuple(tuple) => Type::tuple(tuple.0.fields.values().iter().map(Value::shallow_type)),
            Value::NamedTuple(tuple) => match &tuple.0.declared {
                Some(declared) => Type::NamedTuple(declared.clone()),
                None => {
                    let types = tuple.0.fields.values().iter().map(Value::shallow_type);
                    Type::NamedTuple(Arc::new(tuple.0.names.iter().cloned().zip(types).collect()))
                }
            },
            Value::SimpleVector(_) => Type::named("Core.SimpleVector"),
            Value::Struct(object) => object.0.ty.ty.clone(),
            Value::Enum(object) => object.0.ty.clone(),
            Value::Closure(object) => object.0.ty.clone(),
            Value::DifferentiableFunction(object) => object.0.ty.clone(),
            Value::Array(array) => {
                let rank = array.0.dims.borrow().len() as u32;
                Type::array(array.0.place.borrow().0.memory.0.element.clone(), rank)
            }
            Value::Memory(memory) => Type::Memory(Arc::new(memory.0.element.clone())),
            Value::MemoryRef(place) => Type::MemoryRef(Arc::new(place.0.memory.0.element.clone())),
            Value::Stack(stack) => Type::stack(stack.0.element.clone()),
            Value::Slot(slot) => Type::slot(slot.0.ty.clone()),
        }
    }

    /// The type of the value, with `Any` for tuples that nest deep, or hold too much: types are bounded, values are
    /// not.
    fn shallow_type(&self) -> Type {
        fn limited(value: &Value, depth: usize, left: &mut usize) -> Type {
            let fields = match value {
                Value::Tuple(tuple) => tuple.0.fields.values(),
                Value::NamedTuple(tuple) if tuple.0.declared.is_none() => tuple.0.fields.values(),
                other => return other.type_of(),
            };
            if depth == 0 || *left == 0 {
                return Type::Any;
            }
            *left = left.saturating_sub(fields.len());
            let types = fields.iter().map(|field| limited(field, depth - 1, left));
            match value {
                Value::NamedTuple(tuple) => {
                    Type::NamedTuple(Arc::new(tuple.0.names.iter().cloned().zip(types).collect()))
                }
                _ => Type::tuple(types),
            }
        }
        limited(self, 16, &mut { 1 << 16 })
    }

    /// Whether the value holds other values.
    pub(crate) fn owns_values(&self) -> bool {
        matches!(
            self,
            Value::Tuple(_)
                | Value::NamedTuple(_)
                | Value::SimpleVector(_)
                | Value::Struct(_)
                | Value::Enum(_)
                | Value::Closure(_)
                | Value::DifferentiableFunction(_)
                | Value::Array(_)
                | Value::Memory(_)
                | Value::MemoryRef(_)
                | Value::Stack(_)
                | Value::Slot(_)
        )
    }

    /// Moves the values that this one alone holds to the list, and leaves it empty.
    pub(crate) fn take_owned_values(&mut self, list: &mut Vec<Value>) {
        match self {
            Value::Tuple(object) | Value::SimpleVector(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.take());
                }
            }
            Value::NamedTuple(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.take());
                }
            }
            Value::Struct(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.get_mut().take());
                }
            }
            Value::Enum(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.take());
                }
            }
            Value::Closure(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.take());
                }
            }
            Value::DifferentiableFunction(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.take());
                }
            }
            Value::Array(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.push(Value::MemoryRef(object.place.get_mut().clone()));
                }
            }
            Value::MemoryRef(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.push(Value::Memory(object.memory.clone()));
                }
            }
            Value::Memory(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.get_mut().take());
                }
            }
            Value::Stack(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.get_mut().take());
                }
            }
            Value::Slot(object) => {
                if let Some(object) = Rc::get_mut(&mut object.0) {
                    list.append(&mut object.fields.get_mut().take());
                }
            }
            _ => {}
        }
    }
}

/// The value of a constant that needs no memory of its own.
pub(crate) fn simple_constant(constant: &Constant) -> Option<Value> {
    Some(match constant {
        Constant::Nothing => Value::Nothing,
        Constant::Scalar(scalar) => Value::Scalar(scalar.clone()),
        Constant::String(text) => Value::String(text.clone()),
        Constant::Symbol(name) => Value::Symbol(name.clone()),
        Constant::Type(ty) => Value::Type(ty.clone()),
        Constant::Function(name) => Value::Function(name.clone()),
        Constant::Text(text) => Value::Text(text.clone()),
        Constant::SSAValue(number) => Value::Scalar(Scalar::Int64(i64::from(*number))),
        Constant::Tuple(_) | Constant::NamedTuple(_) | Constant::SimpleVector(_) => return None,
    })
}

/// Whether a value is known to have this type.
pub(crate) fn isa(value: &Value, ty: &Type) -> bool {
    known_isa(value, ty) == Some(true)
}

/// Whether a value has this type, as Julia's `isa`; `None` if the program does not tell which types are above that of
/// the value.
pub(crate) fn known_isa(value: &Value, ty: &Type) -> Option<bool> {
    match (ty, value) {
        (Type::Any | Type::Untyped, _) => Some(true),
        (Type::Bottom, _) => Some(false),
        // The one value of which the compiler knew that it is there is not looked at.
        (Type::Named(_), _) if ty.is_known_value() => None,
        (Type::Union(members), _) => any(members.iter().map(|member| known_isa(value, member))),
        (Type::Tuple(types), Value::Tuple(tuple)) => tuple_isa(tuple.0.fields.values(), types, None),
        (Type::Named(_), Value::Tuple(tuple)) => match open_tuple(ty) {
            Some((first, rest)) => tuple_isa(tuple.0.fields.values(), &first, Some(&rest)),
            None => is_below(&value.type_of(), None, ty),
        },
        (Type::Closure(expected), Value::Closure(object)) => {
            Some(matches!(&object.0.ty, Type::Closure(ty) if may_stand_for(ty, expected)))
        }
        (Type::DifferentiableFunction(expected), Value::DifferentiableFunction(object)) => {
            Some(matches!(&object.0.ty, Type::DifferentiableFunction(ty) if may_stand_for(ty, expected)))
        }
        // A function that the module does not have.
        (Type::Function(name), Value::Text(path)) => Some(is_same_function(path, name)),
        // Under another name it may be the same, as the module tells.
        (Type::Function(name), Value::Function(path)) => (path == name).then_some(true),
        // A type that the module does not declare.
        (Type::Function(name), Value::Type(of)) if matches!(&**of, Type::Named(of) if of == name) => Some(true),
        (Type::TypeOf(inner), _) => Some(matches!(value, Value::Type(ty) if ty == inner)),
        (Type::Named(name), Value::Type(of)) => type_isa(of, name),
        (Type::Named(_), Value::Struct(object)) => is_below(&object.0.ty.ty, object.0.ty.supertypes.as_deref(), ty),
        (Type::Named(name), Value::Closure(_)) => Some(matches!(name.as_str(), "Function" | "Core.Function")),
        (Type::Named(_), Value::Text(_) | Value::Undefined) => match value.type_of() {
            Type::Untyped => None,
            own => is_below(&own, None, ty),
        },
        (Type::Named(_), _) => {
            let above: Option<&[Type]> = if is_of_library(value) { None } else { Some(&[]) };
            is_below(&value.type_of(), above, ty)
        }
        (other, _) => match value.type_of() {
            own if is_same_type(&own, other, &|a, b| a == b) => Some(true),
            // A declared type may be named in two ways.
            own => (!own.names_declared() || !other.names_declared()).then_some(false),
        },
    }
}

/// It is not known whether a value is of a type.
pub(crate) fn open_type(value: &Value, ty: &Type) -> RunErrorKind {
    if let Value::Text(name) = value {
        let what = format!("asking whether {name}, of which only the name is known, is {}", ty.with_article());
        return RunErrorKind::Unsupported(what);
    }
    RunErrorKind::OpenType { value: value.type_of().to_string(), asked: ty.to_string() }
}

/// Of two types that a value is of, whether the first is nearer to its own; `None` if the program does not tell.
pub(crate) fn nearer_type(value: &Value, a: &Type, b: &Type) -> Option<bool> {
    match value {
        Value::Struct(object) => is_nearer(&object.0.ty.ty, object.0.ty.supertypes.as_deref(), a, b),
        _ => is_nearer(&value.type_of(), if is_of_library(value) { None } else { Some(&[]) }, a, b),
    }
}

/// Whether Julia's library says what is above the type of a value; nothing is above those of the others.
fn is_of_library(value: &Value) -> bool {
    !matches!(
        value,
        Value::Enum(_)
            | Value::DifferentiableFunction(_)
            | Value::Memory(_)
            | Value::MemoryRef(_)
            | Value::Stack(_)
            | Value::Slot(_)
    )
}

/// Whether the values of a tuple are of these types; `rest` is that of all further ones.
fn tuple_isa(values: &[Value], types: &[Type], rest: Option<&Type>) -> Option<bool> {
    if values.len() < types.len() || rest.is_none() && values.len() > types.len() {
        return Some(false);
    }
    let asked = types.iter().chain(std::iter::repeat(rest.unwrap_or(&Type::Any)));
    all(values.iter().zip(asked).map(|(value, ty)| known_isa(value, ty)))
}

/// Whether a type, as a value, is of the type of this name: types of types differ in whether these have parameters that
/// are open.
fn type_isa(of: &Type, name: &str) -> Option<bool> {
    if let Some(parameter) = name.strip_prefix("Type{") {
        let bound = parameter.strip_prefix("<:").and_then(|bound| bound.strip_suffix('}'))?;
        return is_parameter_below(of, &Type::parse(bound));
    }
    match unqualified(name) {
        "Type" => Some(true),
        "Union" => Some(matches!(of, Type::Union(_))),
        "DataType" | "UnionAll" if matches!(of, Type::Union(_) | Type::Bottom) => Some(false),
        kind @ ("DataType" | "UnionAll") => match of {
            Type::Named(of) if !of.contains('{') => None,
            Type::Named(of) => Some(of.contains(" where ") == (kind == "UnionAll")),
            _ => Some(kind == "DataType"),
        },
        _ => Some(false),
    }
}

/// Whether a closure of the first type can be called as one of the second: they agree where both are known.
pub(crate) fn may_stand_for(closure: &ClosureType, expected: &ClosureType) -> bool {
    let agree = |a: &Type, b: &Type| a == b || a.is_unknown() || b.is_unknown();
    closure.parameters.len() == expected.parameters.len()
        && closure.parameters.iter().zip(&expected.parameters).all(|(a, b)| agree(a, b))
        && agree(&closure.result, &expected.result)
}
