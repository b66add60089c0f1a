//! What is in a value, by its place: the numbers of a tangent one after another, and where two values differ.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;

use ircode::Name;
use ircode::wording::with_article;

use crate::json::ValueError;
use crate::value::Value;

/// The numbers of these tangents of these values, one after another. `zeros` are the tangents with all floats zero,
/// from [`Machine::zero_tangents`](crate::Machine::zero_tangents), and say which numbers there are: two tangents of the
/// same values have their numbers in the same order. What an object holds comes once. `nothing` stands for zeros.
///
/// # Errors
///
/// [`ValueError`] where a tangent has another shape than its value. The place begins with the argument:
/// `_3.weights[2]`.
pub fn tangent_floats(values: &[Value], zeros: &[Value], tangents: &[Value]) -> Result<Vec<f64>, ValueError> {
    let mut floats = Vec::new();
    Walk::of_tangents(values, zeros, tangents).run(&mut |place, item| {
        if matches!(item.b, Value::Scalar(_)) {
            floats.push(item.c.as_float().unwrap_or(0.0));
        }
        check_float(place, item)
    })?;
    Ok(floats)
}

/// The numbers of values to which the numbers of their tangents belong, in the order of [`tangent_floats`]; `None` where
/// a value holds none, as an integer in the place of a `Union{Int64, Float64}`.
///
/// # Errors
///
/// [`ValueError`], which tangents of other values get.
pub fn value_floats(values: &[Value], zeros: &[Value]) -> Result<Vec<Option<f64>>, ValueError> {
    let mut floats = Vec::new();
    Walk::of_tangents(values, zeros, zeros).run(&mut |_, item| {
        if matches!(item.b, Value::Scalar(_)) {
            floats.push(item.a.as_float());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(floats)
}

/// Where the number of this index in [`tangent_floats`] stands: `_2[3]`, `_3.weights[1,2]`.
pub fn float_place(values: &[Value], zeros: &[Value], index: usize) -> Option<String> {
    let mut left = index;
    let mut found = None;
    let walked = Walk::of_tangents(values, zeros, zeros).run(&mut |place, item| {
        if matches!(item.b, Value::Scalar(_)) {
            if left == 0 {
                found = Some(place());
                return Ok(ControlFlow::Break(()));
            }
            left -= 1;
        }
        Ok(ControlFlow::Continue(()))
    });
    walked.ok().and(found)
}

/// Where each number in [`tangent_floats`] stands, in that order.
///
/// # Errors
///
/// As [`tangent_floats`].
pub fn float_places(values: &[Value], zeros: &[Value]) -> Result<Vec<String>, ValueError> {
    let mut places = Vec::new();
    Walk::of_tangents(values, zeros, zeros).run(&mut |place, item| {
        if matches!(item.b, Value::Scalar(_)) {
            places.push(place());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(places)
}

/// Whether a tangent has the shape of its value; what is one object in two places of the value is one in the tangent.
/// `zero` is as for [`tangent_floats`].
///
/// # Errors
///
/// [`ValueError`] at the first place where that is not so.
pub fn check_tangent(value: &Value, zero: &Value, tangent: &Value) -> Result<(), ValueError> {
    let item = Item { a: value.clone(), b: zero.clone(), c: tangent.clone(), outer: 0, part: Part::Whole };
    Walk::new(true, vec![item]).run(&mut check_float)
}

/// Holds a number of a tangent against the zero in its place.
fn check_float(_: &dyn Fn() -> String, item: &Item) -> Result<ControlFlow<()>, String> {
    match (&item.b, &item.c) {
        (Value::Scalar(_), Value::Nothing) => {}
        (Value::Scalar(zero), Value::Scalar(scalar)) if zero.scalar_type() == scalar.scalar_type() => {}
        (Value::Scalar(zero), other) => {
            return Err(format!("{}, where the tangent is {}", described(other), with_article(zero.scalar_type())));
        }
        _ => {}
    }
    Ok(ControlFlow::Continue(()))
}

/// Where two lists of arguments differ first: in a number, by so much as its sign bit, in a length, a type, or in which
/// objects are the same.
pub fn first_difference(a: &[Value], b: &[Value]) -> Option<String> {
    if a.len() != b.len() {
        return Some("the number of values".into());
    }
    Walk::of_values(a, b).run(&mut |_, _| Ok(ControlFlow::Continue(()))).err().map(|error| error.place)
}

/// Whether there are closures among these values, or anywhere in them.
///
/// ```
/// use exec::{Value, holds_closures};
///
/// assert!(!holds_closures(&[Value::from(1.5)]));
/// ```
pub fn holds_closures(values: &[Value]) -> bool {
    any_inside(values, &|value| matches!(value, Value::Closure(_)))
}

/// Whether there is something among these values, or anywhere in them, that can be changed: arrays, mutable structs,
/// stacks.
///
/// ```
/// use exec::{Value, holds_objects};
///
/// assert!(!holds_objects(&[Value::from(1.5), Value::from(true)]));
/// assert!(holds_objects(&[Value::from(1.5), Value::from([1.5].as_slice())]));
/// ```
pub fn holds_objects(values: &[Value]) -> bool {
    any_inside(values, &|value| match value {
        Value::Struct(object) => object.0.ty.mutable,
        Value::Array(_) | Value::Memory(_) | Value::MemoryRef(_) | Value::Stack(_) | Value::Slot(_) => true,
        _ => false,
    })
}

/// Whether something holds of one of these values, or of anything in them.
pub(crate) fn any_inside(values: &[Value], test: &dyn Fn(&Value) -> bool) -> bool {
    let mut seen = BTreeSet::new();
    let mut rest = values.to_vec();
    while let Some(value) = rest.pop() {
        if test(&value) {
            return true;
        }
        if let Some((identity, inside)) = held(&value)
            && identity.or_else(|| shared(&value)).is_none_or(|address| seen.insert(address))
        {
            rest.extend(inside);
        }
    }
    false
}

/// Where an immutable value is held. It has no identity, but what is held twice need not be looked at twice.
fn shared(value: &Value) -> Option<*const ()> {
    match value {
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => Some(Rc::as_ptr(&tuple.0).cast()),
        Value::NamedTuple(tuple) => Some(Rc::as_ptr(&tuple.0).cast()),
        Value::Enum(object) => Some(Rc::as_ptr(&object.0).cast()),
        Value::Struct(object) => Some(Rc::as_ptr(&object.0).cast()),
        _ => None,
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Tuple(tuple) => format!("a tuple of {}", tuple.0.fields.values().len()),
        Value::Nothing | Value::Undefined => value.to_string(),
        Value::Scalar(scalar) => format!("the {} {scalar}", scalar.scalar_type()),
        Value::Array(array) => {
            let dims: Vec<String> = array.0.dims.borrow().iter().map(usize::to_string).collect();
            format!("{} of {}", value.type_of().with_article(), dims.join("×"))
        }
        other => other.type_of().with_article(),
    }
}

/// What stands at a place: a value, and what goes with it.
struct Item {
    a: Value,
    b: Value,
    c: Value,
    /// The place is this part of that of an enclosing value.
    outer: usize,
    part: Part,
}

/// A part of a value.
#[derive(Clone)]
enum Part {
    Whole,
    Argument(usize),
    Field(Name),
    Number(usize),
    Element { at: usize, dims: Rc<[usize]> },
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::Whole => Ok(()),
            Part::Argument(number) => write!(f, "_{number}"),
            Part::Field(name) => write!(f, ".{name}"),
            Part::Number(number) => write!(f, ".{number}"),
            Part::Element { at, dims } => {
                let mut rest = *at;
                let mut indices = Vec::with_capacity(dims.len());
                for (axis, dim) in dims.iter().enumerate() {
                    let last = axis + 1 == dims.len() || *dim == 0;
                    indices.push(if last { rest + 1 } else { rest % dim + 1 }.to_string());
                    rest = if last { 0 } else { rest / dim };
                }
                write!(f, "[{}]", indices.join(","))
            }
        }
    }
}

/// A walk along several values at once, each object once.
struct Walk {
    /// Whether the second and third are tangents, of which the second says the shape; else the first two are compared.
    tangents: bool,
    steps: Vec<Item>,
    /// The places of what holds others: each a part of another.
    places: Vec<(usize, Part)>,
    /// The objects that were met: by the address of one, what went with it and where. Both ways.
    seen: [BTreeMap<*const (), (*const (), usize, Part)>; 2],
}

/// What is told of each item: its place, when asked for, and the item.
type Visit<'v> = &'v mut dyn FnMut(&dyn Fn() -> String, &Item) -> Result<ControlFlow<()>, String>;

impl Walk {
    fn new(tangents: bool, mut steps: Vec<Item>) -> Walk {
        steps.reverse();
        Walk { tangents, steps, places: vec![(0, Part::Whole)], seen: [BTreeMap::new(), BTreeMap::new()] }
    }

    fn of_tangents(values: &[Value], zeros: &[Value], tangents: &[Value]) -> Walk {
        let at = |list: &[Value], at: usize| list.get(at).cloned().unwrap_or(Value::Nothing);
        let item = |i: usize| {
            let (a, b, c) = (at(values, i), at(zeros, i), at(tangents, i));
            Item { a, b, c, outer: 0, part: Part::Argument(i + 2) }
        };
        Walk::new(true, (0..zeros.len()).map(item).collect())
    }

    fn of_values(a: &[Value], b: &[Value]) -> Walk {
        let item = |(i, (a, b)): (usize, (&Value, &Value))| Item {
            a: a.clone(),
            b: b.clone(),
            c: Value::Nothing,
            outer: 0,
            part: Part::Argument(i + 2),
        };
        Walk::new(false, a.iter().zip(b).enumerate().map(item).collect())
    }

    fn place(&self, item: &Item) -> String {
        self.place_of(item.outer, &item.part)
    }

    fn place_of(&self, mut outer: usize, part: &Part) -> String {
        let mut parts = vec![part.clone()];
        while outer > 0 {
            let Some((next, part)) = self.places.get(outer) else { break };
            parts.push(part.clone());
            outer = *next;
        }
        parts.iter().rev().map(Part::to_string).collect()
    }

    fn run(mut self, visit: Visit<'_>) -> Result<(), ValueError> {
        while let Some(item) = self.steps.pop() {
            match visit(&|| self.place(&item), &item) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return Ok(()),
                Err(message) => return Err(ValueError { place: self.place(&item), message }),
            }
            let inside = match self.tangents {
                true => self.inside_tangent(&item),
                false => self.inside_values(&item),
            };
            match inside {
                Ok(inside) => self.enter(item, inside),
                Err(message) => return Err(ValueError { place: self.place(&item), message }),
            }
        }
        Ok(())
    }

    fn enter(&mut self, item: Item, inside: Vec<(Part, Value, Value, Value)>) {
        if inside.is_empty() {
            return;
        }
        let outer = self.places.len();
        self.places.push((item.outer, item.part));
        self.steps.extend(inside.into_iter().rev().map(|(part, a, b, c)| Item { a, b, c, outer, part }));
    }

    /// What is in a tangent, by the zero tangent of the value.
    fn inside_tangent(&mut self, item: &Item) -> Result<Vec<(Part, Value, Value, Value)>, String> {
        let zeros = contents(&item.b);
        let Some((of_zero, zero_parts)) = zeros else {
            return match (&item.b, &item.c) {
                (Value::Nothing | Value::Undefined, Value::Nothing | Value::Undefined) | (Value::Scalar(_), _) => {
                    Ok(Vec::new())
                }
                (_, other) => Err(format!("{}, where the value has no tangent", described(other))),
            };
        };
        let tangents = match contents(&item.c) {
            None if matches!(item.c, Value::Nothing) => None,
            Some((_, tangents)) if tangents.len() == zero_parts.len() && alike(&item.b, &item.c) => Some(tangents),
            _ => return Err(format!("{}, where the tangent is {}", described(&item.c), described(&item.b))),
        };
        if let Some(of_zero) = of_zero {
            if tangents.is_some() && !self.is_first(item, of_zero, contents(&item.c).and_then(|(of, _)| of))? {
                return Ok(Vec::new());
            }
            if tangents.is_none() && self.seen[0].contains_key(&of_zero) {
                return Ok(Vec::new());
            }
            if tangents.is_none() {
                self.seen[0].insert(of_zero, (std::ptr::null(), item.outer, item.part.clone()));
            }
        }
        let values = contents(&item.a).map(|(_, values)| values).unwrap_or_default();
        let parts = parts(if values.len() == zero_parts.len() { &item.a } else { &item.b }, zero_parts.len());
        let at = |list: &[Value], at: usize| list.get(at).cloned().unwrap_or(Value::Nothing);
        let inside = parts.into_iter().zip(zero_parts).enumerate().map(|(i, (part, zero))| {
            (part, at(&values, i), zero, tangents.as_ref().map_or(Value::Nothing, |tangents| at(tangents, i)))
        });
        Ok(inside.collect())
    }

    fn inside_values(&mut self, item: &Item) -> Result<Vec<(Part, Value, Value, Value)>, String> {
        let differ = || Err("differs".to_string());
        let (Some((of_a, a)), Some((of_b, b))) = (contents(&item.a), contents(&item.b)) else {
            return if item.a.egal(&item.b) { Ok(Vec::new()) } else { differ() };
        };
        if a.len() != b.len() || !alike(&item.a, &item.b) {
            return differ();
        }
        match (of_a, of_b) {
            (Some(of_a), of_b) if !self.is_first(item, of_a, of_b)? => return Ok(Vec::new()),
            (None, Some(_)) => return differ(),
            _ => {}
        }
        let parts = parts(&item.a, a.len());
        Ok(parts.into_iter().zip(a).zip(b).map(|((part, a), b)| (part, a, b, Value::Nothing)).collect())
    }

    /// Whether an object is met for the first time. What goes with it must be the same each time.
    fn is_first(&mut self, item: &Item, a: *const (), b: Option<*const ()>) -> Result<bool, String> {
        let Some(b) = b else { return Err("is no object".into()) };
        let [forth, back] = &self.seen;
        match (forth.get(&a), back.get(&b)) {
            (Some((known, ..)), _) if *known == b => return Ok(false),
            (None, None) => {}
            (Some((_, outer, part)), _) => {
                return Err(format!("is the same object as {}, but not here", self.place_of(*outer, part)));
            }
            (None, Some((_, outer, part))) => {
                return Err(format!("is another object than {}, but not here", self.place_of(*outer, part)));
            }
        }
        let [forth, back] = &mut self.seen;
        forth.insert(a, (b, item.outer, item.part.clone()));
        back.insert(b, (a, item.outer, item.part.clone()));
        Ok(true)
    }
}

/// Whether two values that hold others are of one kind and type.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tuple(_), Value::Tuple(_)) | (Value::SimpleVector(_), Value::SimpleVector(_)) => true,
        (Value::NamedTuple(a), Value::NamedTuple(b)) => a.0.names == b.0.names,
        (Value::Struct(a), Value::Struct(b)) => a.0.ty == b.0.ty,
        (Value::Enum(a), Value::Enum(b)) => a.0.ty == b.0.ty && a.0.case == b.0.case,
        (Value::Closure(a), Value::Closure(b)) => a.0.function == b.0.function,
        (Value::DifferentiableFunction(_), Value::DifferentiableFunction(_)) => true,
        (Value::Array(a), Value::Array(b)) => {
            *a.0.dims.borrow() == *b.0.dims.borrow()
                && a.0.place.borrow().0.memory.0.element == b.0.place.borrow().0.memory.0.element
        }
        (Value::MemoryRef(a), Value::MemoryRef(b)) => a.0.offset == b.0.offset,
        (Value::Memory(a), Value::Memory(b)) => a.0.element == b.0.element,
        (Value::Stack(_), Value::Stack(_)) | (Value::Slot(_), Value::Slot(_)) => true,
        _ => false,
    }
}

/// What a value holds, and the address of the storage that holds it, if it has identity and holds anything.
fn contents(value: &Value) -> Option<(Option<*const ()>, Vec<Value>)> {
    let (identity, values) = held(value)?;
    Some((identity.filter(|_| !values.is_empty()), values))
}

fn held(value: &Value) -> Option<(Option<*const ()>, Vec<Value>)> {
    let memory = |memory: &crate::MemoryRef| {
        Some((Some(Rc::as_ptr(&memory.0).cast()), memory.0.fields.borrow().values().to_vec()))
    };
    match value {
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => Some((None, tuple.0.fields.values().to_vec())),
        Value::NamedTuple(tuple) => Some((None, tuple.0.fields.values().to_vec())),
        Value::Enum(object) => Some((None, object.0.fields.values().to_vec())),
        Value::Closure(object) => Some((None, object.0.fields.values().to_vec())),
        Value::DifferentiableFunction(object) => Some((None, object.0.fields.values().to_vec())),
        Value::Struct(object) => {
            let identity = object.0.ty.mutable.then(|| Rc::as_ptr(&object.0).cast());
            Some((identity, object.0.fields.borrow().values().to_vec()))
        }
        Value::Array(array) => {
            let identity = Rc::as_ptr(&array.0.place.borrow().0.memory.0).cast();
            Some((Some(identity), value.array_elements().unwrap_or_default()))
        }
        Value::MemoryRef(place) => memory(&place.0.memory),
        Value::Memory(storage) => memory(storage),
        Value::Stack(stack) => Some((Some(Rc::as_ptr(&stack.0).cast()), stack.0.fields.borrow().values().to_vec())),
        Value::Slot(slot) => Some((Some(Rc::as_ptr(&slot.0).cast()), slot.0.fields.borrow().values().to_vec())),
        _ => None,
    }
}

/// What the parts of a value are called.
fn parts(value: &Value, count: usize) -> Vec<Part> {
    let numbered = || (1..=count).map(Part::Number).collect();
    match value {
        Value::NamedTuple(tuple) => tuple.0.names.iter().cloned().map(Part::Field).collect(),
        Value::Struct(object) if object.0.ty.names.len() >= count => {
            object.0.ty.names.iter().take(count).cloned().map(Part::Field).collect()
        }
        Value::Array(array) => {
            let dims: Rc<[usize]> = array.0.dims.borrow().as_slice().into();
            (0..count).map(|at| Part::Element { at, dims: dims.clone() }).collect()
        }
        Value::Memory(_) | Value::MemoryRef(_) | Value::Stack(_) => {
            let dims: Rc<[usize]> = [count].into();
            (0..count).map(|at| Part::Element { at, dims: dims.clone() }).collect()
        }
        _ => numbered(),
    }
}
