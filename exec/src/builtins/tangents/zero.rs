//! The tangent of a value with all floats zero.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ircode::tangents::{Tangent, shadow_name};
use ircode::{Name, Type, TypeKind};

use super::zero_float;
use crate::builtins::structs::fields_of;
use crate::builtins::{Runtime, expected};
use crate::machine::Fault;
use crate::object::Kind;
use crate::prepare::struct_info;
use crate::value::{
    ArrayRef, MemoryRef, PlaceObject, PlaceRef, SlotObject, SlotRef, SlotState, StackObject, StackRef, StructInfo,
    StructObject, StructRef, Value,
};

type Result<T> = std::result::Result<T, Fault>;

/// `zero_tangent(value)`, or `zero_tangent(value, T)` for a value that is known to be of this type: the tangent of a
/// `Union{Nothing, Float64}` is a float, also where the value is `nothing`.
///
/// The same object, met twice, has one shadow. Nothing is recursive here: values nest deeper than stacks are.
pub(in crate::builtins) fn zero_tangent(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [value] => zero_tangent_of(runtime, value, &Type::Any),
        [value, Value::Type(ty)] => zero_tangent_of(runtime, value, ty),
        _ => Err(expected("a value, and its type")),
    }
}

/// The zero of the tangent of a value of this type.
pub(crate) fn zero_tangent_of(runtime: &Runtime<'_>, value: &Value, ty: &Type) -> Result<Value> {
    let zero = runtime.zero_tangents(vec![(value.clone(), runtime.tangents.of(ty))])?;
    zero.into_iter().next().ok_or_else(|| expected("a value"))
}

impl Runtime<'_> {
    /// The tangents of these values with all floats zero, made together.
    pub(crate) fn zero_tangents(&self, values: Vec<(Value, Tangent)>) -> Result<Vec<Value>> {
        let mut zeros = Zeros { runtime: self, shadows: BTreeMap::new(), tuples: BTreeMap::new(), to_fill: Vec::new() };
        let made = zeros.tangents(values)?;
        while let Some(fill) = zeros.to_fill.pop() {
            let mut fields = zeros.tangents(fill.contents)?;
            let (target, kind) = match &fill.shadow {
                Value::Memory(memory) => (&memory.0.fields, Kind::Array),
                Value::Struct(object) => (&object.0.fields, Kind::Object),
                Value::Stack(stack) => (&stack.0.fields, Kind::Stack),
                Value::Slot(slot) => {
                    if slot.0.state.get() == SlotState::Parts {
                        self.slots_for_none(&mut fields)?;
                    }
                    (&slot.0.fields, Kind::Slot)
                }
                _ => continue,
            };
            let fields = zeros.runtime.meter.contents(kind, fields)?;
            *target.borrow_mut() = fields;
        }
        Ok(made)
    }

    /// Puts slots of `nothing` in the places of the parts of a slot that have no tangents: a part is always a slot.
    fn slots_for_none(&self, parts: &mut [Value]) -> Result<()> {
        for part in parts.iter_mut().filter(|part| matches!(part, Value::Nothing)) {
            *part = self.slot_part(Type::Nothing, SlotState::Assigned, Value::Nothing)?;
        }
        Ok(())
    }
}

/// A shadow whose contents are still to be made, with what these are the tangents of.
struct Fill {
    shadow: Value,
    contents: Vec<(Value, Tangent)>,
}

struct Zeros<'r, 'm> {
    runtime: &'r Runtime<'m>,
    /// By the address of the object. All objects are held by the value whose tangent is made.
    shadows: BTreeMap<*const (), Value>,
    /// Of immutable values whose tangent depends on nothing but the value.
    tuples: BTreeMap<*const (), Value>,
    to_fill: Vec<Fill>,
}

enum Step {
    Visit(Value, Tangent),
    /// The last so many tangents are those of the fields of one value.
    Join {
        count: usize,
        may_vanish: bool,
        of: Option<*const ()>,
    },
}

fn address<T>(object: &Rc<T>) -> *const () {
    Rc::as_ptr(object).cast()
}

impl Zeros<'_, '_> {
    /// The tangents of these values. Shadows of objects are made, but not what is in them.
    fn tangents(&mut self, values: Vec<(Value, Tangent)>) -> Result<Vec<Value>> {
        let mut done = Vec::with_capacity(values.len());
        let mut steps: Vec<Step> = values.into_iter().rev().map(|(value, ty)| Step::Visit(value, ty)).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit(value, tangent) => {
                    if let Some(known) = self.visit(value, tangent, &mut steps)? {
                        done.push(known);
                    }
                }
                Step::Join { count, may_vanish, of } => {
                    super::join(self.runtime, &mut done, count, may_vanish)?;
                    if let (Some(of), Some(tangent)) = (of, done.last()) {
                        self.tuples.insert(of, tangent.clone());
                    }
                }
            }
        }
        Ok(done)
    }

    /// The tangent of this value, if it has no fields to be visited before.
    fn visit(&mut self, value: Value, tangent: Tangent, steps: &mut Vec<Step>) -> Result<Option<Value>> {
        let fields = match (&value, &tangent) {
            (_, Tangent::None) => return Ok(Some(Value::Nothing)),
            (_, Tangent::Float(ty)) => return Ok(Some(zero_float(*ty))),
            // An element that is not assigned has no tangent that is, if its type allows that.
            (Value::Undefined, _) => return self.runtime.unassigned(&tangent.ty()).map(Some),
            (_, Tangent::Object(_)) => return self.shadow(&value).map(Some),
            (_, Tangent::Fields(tangents)) => {
                let fields = fields_of(&value).filter(|fields| fields.len() == tangents.len());
                let fields = fields.ok_or_else(|| expected("a value of the type that is given"))?;
                (fields.into_iter().zip(tangents.iter().cloned()).collect(), false, None)
            }
            (_, Tangent::Dynamic { .. }) => match &value {
                Value::Scalar(scalar) if scalar.scalar_type().is_float() => {
                    return Ok(Some(zero_float(scalar.scalar_type())));
                }
                Value::Tuple(tuple) | Value::SimpleVector(tuple) => {
                    (untyped(tuple.0.fields.values()), true, Some(address(&tuple.0)))
                }
                Value::NamedTuple(tuple) => (untyped(tuple.0.fields.values()), true, Some(address(&tuple.0))),
                Value::Struct(object) if !object.0.ty.mutable => {
                    let fields = object.0.fields.borrow();
                    match self.declared_fields(&object.0.ty.ty) {
                        Some(tangents) => {
                            let mut values = fields.values().to_vec();
                            values.resize(tangents.len(), Value::Undefined);
                            (values.into_iter().zip(tangents).collect(), true, Some(address(&object.0)))
                        }
                        None => (untyped(fields.values()), true, Some(address(&object.0))),
                    }
                }
                Value::Enum(object) => {
                    let tangents = self.payload_tangents(&object.0.ty, &object.0.case);
                    let fields = object.0.fields.values().iter().cloned().zip(tangents).collect();
                    (fields, true, Some(address(&object.0)))
                }
                Value::Closure(object) => {
                    let tangents = self.captured_tangents(&object.0.function, object.0.fields.values().len());
                    let fields = object.0.fields.values().iter().cloned().zip(tangents).collect();
                    (fields, true, Some(address(&object.0)))
                }
                Value::DifferentiableFunction(object) => {
                    (untyped(object.0.fields.values()), true, Some(address(&object.0)))
                }
                _ if super::has_identity(&value) => return self.shadow(&value).map(Some),
                _ => return Ok(Some(Value::Nothing)),
            },
        };
        let (fields, may_vanish, of): (Vec<(Value, Tangent)>, bool, Option<*const ()>) = fields;
        if let Some(known) = of.and_then(|of| self.tuples.get(&of)) {
            return Ok(Some(known.clone()));
        }
        steps.push(Step::Join { count: fields.len(), may_vanish, of });
        steps.extend(fields.into_iter().rev().map(|(value, tangent)| Step::Visit(value, tangent)));
        Ok(None)
    }

    fn declared_fields(&self, ty: &Type) -> Option<Vec<Tangent>> {
        let Type::Named(name) = ty else { return None };
        match self.runtime.module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Struct { fields, .. }) => {
                Some(fields.iter().map(|(_, ty)| self.runtime.tangents.of(ty)).collect())
            }
            _ => None,
        }
    }

    fn payload_tangents(&self, ty: &Type, case: &Name) -> Vec<Tangent> {
        let Type::Named(name) = ty else { return Vec::new() };
        let cases = match self.runtime.module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Enum { cases }) => cases.as_slice(),
            _ => &[],
        };
        let types = cases.iter().find(|(known, _)| known == case).map(|(_, types)| types.as_slice());
        types.unwrap_or_default().iter().map(|ty| self.runtime.tangents.of(ty)).collect()
    }

    /// Of the last parameters of a function.
    fn captured_tangents(&self, function: &Name, count: usize) -> Vec<Tangent> {
        let types = self.runtime.captured_types(function, count);
        types.iter().map(|ty| self.runtime.tangents.of(ty)).collect()
    }

    /// The shadow of an object, or `nothing` if it holds nothing that has a tangent.
    fn shadow(&mut self, value: &Value) -> Result<Value> {
        let at = match value {
            Value::Array(array) => address(&array.0),
            Value::Memory(memory) => address(&memory.0),
            Value::Struct(object) => address(&object.0),
            Value::Stack(stack) => address(&stack.0),
            Value::Slot(slot) => address(&slot.0),
            Value::MemoryRef(place) => {
                // A place has no identity of its own.
                let memory = self.memory(&place.0.memory)?;
                return Ok(memory.map_or(Value::Nothing, |memory| {
                    Value::MemoryRef(PlaceRef(Rc::new(PlaceObject { memory, offset: place.0.offset })))
                }));
            }
            _ => return Ok(Value::Nothing),
        };
        if let Some(known) = self.shadows.get(&at) {
            return Ok(known.clone());
        }
        if let Value::Memory(memory) = value {
            return Ok(self.memory(memory)?.map_or(Value::Nothing, Value::Memory));
        }
        let shadow = match value {
            Value::Array(array) => {
                let place = array.0.place.borrow().clone();
                let Some(memory) = self.memory(&place.0.memory)? else { return Ok(Value::Nothing) };
                let place = PlaceRef(Rc::new(PlaceObject { memory, offset: place.0.offset }));
                Value::Array(ArrayRef::new(place, array.0.dims.borrow().clone()))
            }
            Value::Struct(object) => match self.structure(&object.0)? {
                Some(shadow) => shadow,
                None => return Ok(Value::Nothing),
            },
            Value::Stack(stack) => {
                let tangent = self.runtime.tangents.of(&stack.0.element);
                if tangent.is_none() {
                    return Ok(Value::Nothing);
                }
                let fields = RefCell::new(self.runtime.meter.fields(Kind::Stack, Vec::new())?);
                let shadow = Value::Stack(StackRef(Rc::new(StackObject { element: tangent.ty(), fields })));
                self.fill(&shadow, stack.0.fields.borrow().values(), &tangent);
                shadow
            }
            Value::Slot(slot) => {
                let tangent = self.runtime.tangents.of(&slot.0.ty);
                if tangent.is_none() {
                    return Ok(Value::Nothing);
                }
                let fields = RefCell::new(self.runtime.meter.fields(Kind::Slot, Vec::new())?);
                let (state, part) = (Cell::new(slot.0.state.get()), slot.0.part);
                let shadow = Value::Slot(SlotRef(Rc::new(SlotObject { ty: tangent.ty(), fields, state, part })));
                let contents = if slot.0.state.get() == SlotState::Parts { &Tangent::ANY } else { &tangent };
                self.fill(&shadow, slot.0.fields.borrow().values(), contents);
                shadow
            }
            _ => return Ok(Value::Nothing),
        };
        self.shadows.insert(at, shadow.clone());
        Ok(shadow)
    }

    /// The shadow of memory.
    fn memory(&mut self, memory: &MemoryRef) -> Result<Option<MemoryRef>> {
        let at = address(&memory.0);
        if let Some(Value::Memory(known)) = self.shadows.get(&at) {
            return Ok(Some(known.clone()));
        }
        let tangent = self.runtime.tangents.of(&memory.0.element);
        if tangent.is_none() {
            return Ok(None);
        }
        let contents = memory.0.fields.borrow();
        self.runtime.meter.would_fit(contents.values().len())?;
        let ty = tangent.ty();
        // Zeros of bits are the same for all elements.
        let shadow = if self.runtime.module.is_bits_type(&ty) == Some(true) {
            let zero = self.runtime.unassigned(&ty)?;
            self.runtime.memory(ty, vec![zero; contents.values().len()])?
        } else {
            let shadow = self.runtime.memory(ty, Vec::new())?;
            self.fill(&Value::Memory(shadow.clone()), contents.values(), &tangent);
            shadow
        };
        self.shadows.insert(at, Value::Memory(shadow.clone()));
        Ok(Some(shadow))
    }

    /// The shadow of a mutable struct or a reference.
    fn structure(&mut self, object: &StructObject) -> Result<Option<Value>> {
        let (info, tangents) = match &object.ty.ty {
            ty @ Type::Ref(element) => {
                let Tangent::Object(shadow) = self.runtime.tangents.of(ty) else { return Ok(None) };
                (struct_info(self.runtime.module, &shadow, 1), vec![self.runtime.tangents.of(element)])
            }
            ty @ Type::Named(name) => {
                if self.runtime.tangents.of(ty).is_none() {
                    return Ok(None);
                }
                let declared = self.runtime.module.type_def(name).map_or(name, |def| &def.name);
                let names = object.ty.names.clone();
                let shadow = shadow_name(declared);
                let supertypes = self.runtime.module.supertypes(&shadow);
                let info = StructInfo { ty: Type::named(shadow), mutable: true, names, supertypes };
                (Some(Arc::new(info)), self.declared_fields(ty).unwrap_or_default())
            }
            _ => (None, Vec::new()),
        };
        let Some(info) = info else { return Ok(None) };
        let fields = object.fields.borrow();
        let shadow = StructRef(Rc::new(StructObject {
            ty: info,
            fields: RefCell::new(self.runtime.meter.fields(Kind::Object, Vec::new())?),
        }));
        let undefined = |(value, tangent): (&Value, Tangent)| match value {
            // Even of a float: the field of the shadow is defined when that of the struct is.
            Value::Undefined => (Value::Undefined, Tangent::ANY),
            value => (value.clone(), tangent),
        };
        let contents = fields.values().iter().zip(tangents).map(undefined).collect();
        self.to_fill.push(Fill { shadow: Value::Struct(shadow.clone()), contents });
        Ok(Some(Value::Struct(shadow)))
    }

    fn fill(&mut self, shadow: &Value, contents: &[Value], tangent: &Tangent) {
        let contents = contents.iter().map(|value| (value.clone(), tangent.clone())).collect();
        self.to_fill.push(Fill { shadow: shadow.clone(), contents });
    }
}

/// Fields whose types nothing says.
fn untyped(values: &[Value]) -> Vec<(Value, Tangent)> {
    values.iter().map(|value| (value.clone(), Tangent::ANY)).collect()
}

#[cfg(test)]
mod tests {
    use ircode::parse_module;

    use crate::{Limits, Machine, RunErrorKind, Value};

    #[test]
    fn shadows_are_memory() {
        let text = "function f(n::Int64)::Int64\n1 ─ %1 = BBKit.new_array(Tuple{Float64}, n)::Vector{Tuple{Float64}}\n\
                    │   %2 = BBKit.zero_tangent(%1)::Vector{Tuple{Float64}}\n│   %3 = Base.length(%2)::Int64\n\
                    └──      return %3\nend\n";
        let module = parse_module(text).unwrap().module;
        let run = |n: i64| {
            let limits = Limits { memory: 100_000, ..Limits::default() };
            Machine::with_limits(&module, limits).call("f", &[Value::from(n)])
        };
        assert_eq!(run(1000).unwrap().as_integer(), Some(1000));
        // There is room for the array, but not for its shadow.
        assert!(5000 * size_of::<Value>() < 100_000);
        assert!(matches!(run(5000).unwrap_err().kind, RunErrorKind::MemoryLimit(100_000)));
    }
}
