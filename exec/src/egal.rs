//! Which values are the same, as Julia's `===` says.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use ircode::{Type, is_one_name, is_same_function, unqualified};

use crate::object::Fields;
use crate::value::Value;

/// At most this many pairs are compared before it is remembered which were: few values share parts.
const FEW: usize = 64;

impl Value {
    /// Julia's `===`: same bits for numbers, same contents for what cannot be changed, same object for what can.
    ///
    /// A pair of objects that are parts of the values in several places is compared once: it takes time linear in such
    /// pairs, not in what would be written out.
    pub fn egal(&self, other: &Value) -> bool {
        let mut pairs = vec![(self.clone(), other.clone())];
        let mut compared = 0;
        let mut seen: BTreeSet<(*const (), *const ())> = BTreeSet::new();
        while let Some((a, b)) = pairs.pop() {
            compared += 1;
            let addresses = (shared_address(&a), shared_address(&b));
            if compared > FEW
                && let (Some(a), Some(b)) = addresses
                && (a == b || !seen.insert((a, b)))
            {
                continue;
            }
            let contents = |a: &Fields, b: &Fields, pairs: &mut Vec<(Value, Value)>| {
                pairs.extend(a.values().iter().cloned().zip(b.values().iter().cloned()));
                a.values().len() == b.values().len()
            };
            let same = match (&a, &b) {
                (Value::Undefined, Value::Undefined) | (Value::Nothing, Value::Nothing) => true,
                (Value::Scalar(a), Value::Scalar(b)) => a == b,
                (Value::String(a), Value::String(b)) => a == b,
                (Value::Symbol(a), Value::Symbol(b)) => a == b,
                (Value::Type(a), Value::Type(b)) => a == b,
                (Value::Function(a), Value::Function(b)) => a == b,
                (Value::Text(a), Value::Text(b)) => a == b,
                // What is known by its path only may be known as a function by its type.
                (Value::Text(path), Value::Function(name)) | (Value::Function(name), Value::Text(path)) => {
                    is_same_function(path, name)
                }
                (Value::Tuple(a), Value::Tuple(b)) | (Value::SimpleVector(a), Value::SimpleVector(b)) => {
                    Rc::ptr_eq(&a.0, &b.0) || contents(&a.0.fields, &b.0.fields, &mut pairs)
                }
                (Value::NamedTuple(one), Value::NamedTuple(other)) => {
                    one.0.names == other.0.names
                        && (one.0.declared == other.0.declared
                            || is_same_type(&a.type_of(), &b.type_of(), &is_one_name))
                        && contents(&one.0.fields, &other.0.fields, &mut pairs)
                }
                (Value::Struct(a), Value::Struct(b)) => {
                    Rc::ptr_eq(&a.0, &b.0)
                        || !a.0.ty.mutable
                            && a.0.ty == b.0.ty
                            && contents(&a.0.fields.borrow(), &b.0.fields.borrow(), &mut pairs)
                }
                (Value::Enum(a), Value::Enum(b)) => {
                    a.0.ty == b.0.ty && a.0.case == b.0.case && contents(&a.0.fields, &b.0.fields, &mut pairs)
                }
                (Value::Closure(a), Value::Closure(b)) => {
                    a.0.function == b.0.function && contents(&a.0.fields, &b.0.fields, &mut pairs)
                }
                (Value::DifferentiableFunction(a), Value::DifferentiableFunction(b)) => {
                    contents(&a.0.fields, &b.0.fields, &mut pairs)
                }
                (Value::Array(a), Value::Array(b)) => Rc::ptr_eq(&a.0, &b.0),
                (Value::Memory(a), Value::Memory(b)) => Rc::ptr_eq(&a.0, &b.0),
                (Value::MemoryRef(a), Value::MemoryRef(b)) => {
                    Rc::ptr_eq(&a.0.memory.0, &b.0.memory.0) && a.0.offset == b.0.offset
                }
                (Value::Stack(a), Value::Stack(b)) => Rc::ptr_eq(&a.0, &b.0),
                (Value::Slot(a), Value::Slot(b)) => Rc::ptr_eq(&a.0, &b.0),
                _ => false,
            };
            if !same {
                return false;
            }
        }
        true
    }

    /// A hash of what [`Value::egal`] compares: what is egal has the same.
    pub(crate) fn identity_hash(&self) -> u64 {
        let mut known: BTreeMap<*const (), u64> = BTreeMap::new();
        let mut open = vec![Open::of(self)];
        loop {
            let Some(innermost) = open.last_mut() else { return 0 };
            if let Some(part) = innermost.parts.pop() {
                match shared_address(&part).and_then(|address| known.get(&address)) {
                    Some(hash) => hash.hash(&mut innermost.hasher),
                    None => open.push(Open::of(&part)),
                }
                continue;
            }
            let hash = innermost.hasher.finish();
            known.extend(innermost.address.map(|address| (address, hash)));
            open.pop();
            match open.last_mut() {
                Some(whole) => hash.hash(&mut whole.hasher),
                None => return hash,
            }
        }
    }
}

/// Whether two types are one, though the members of unions may stand in another order, and names be the same in this
/// sense.
pub(crate) fn is_same_type(a: &Type, b: &Type, is_one_name: &dyn Fn(&str, &str) -> bool) -> bool {
    let is_same = |a: &Type, b: &Type| is_same_type(a, b, is_one_name);
    match (a, b) {
        (Type::Union(a), Type::Union(b)) => a.len() == b.len() && a.iter().all(|a| b.iter().any(|b| is_same(a, b))),
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b)),
        (Type::NamedTuple(a), Type::NamedTuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((a, of_a), (b, of_b))| a == b && is_same(of_a, of_b))
        }
        (Type::Array(a), Type::Array(b)) => a.rank == b.rank && is_same(&a.element, &b.element),
        (Type::Named(a), Type::Named(b)) => is_one_name(a, b),
        (a, b) => a == b,
    }
}

/// A value of which the parts are being hashed.
struct Open {
    address: Option<*const ()>,
    /// What is known so far.
    hasher: DefaultHasher,
    /// What is not hashed yet.
    parts: Vec<Value>,
}

impl Open {
    fn of(value: &Value) -> Self {
        let mut hasher = DefaultHasher::new();
        if !matches!(value, Value::Function(_) | Value::Text(_)) {
            std::mem::discriminant(value).hash(&mut hasher);
        }
        let mut parts = Vec::new();
        let hasher_of = &mut hasher;
        let mut contents = |fields: &Fields| parts.extend(fields.values().iter().cloned());
        match value {
            Value::Undefined | Value::Nothing => {}
            Value::Scalar(scalar) => scalar.hash(hasher_of),
            Value::Type(ty) => ty.hash(hasher_of),
            Value::String(name) | Value::Symbol(name) => name.hash(hasher_of),
            // One may have more of the modules before it.
            Value::Function(name) | Value::Text(name) => unqualified(name).hash(hasher_of),
            Value::Tuple(tuple) | Value::SimpleVector(tuple) => contents(&tuple.0.fields),
            Value::NamedTuple(tuple) => {
                tuple.0.names.hash(hasher_of);
                contents(&tuple.0.fields);
            }
            Value::Struct(object) if object.0.ty.mutable => Rc::as_ptr(&object.0).hash(hasher_of),
            Value::Struct(object) => {
                object.0.ty.ty.hash(hasher_of);
                contents(&object.0.fields.borrow());
            }
            Value::Enum(case) => {
                (&case.0.ty, &case.0.case).hash(hasher_of);
                contents(&case.0.fields);
            }
            Value::Closure(closure) => {
                closure.0.function.hash(hasher_of);
                contents(&closure.0.fields);
            }
            Value::DifferentiableFunction(function) => contents(&function.0.fields),
            Value::Array(array) => Rc::as_ptr(&array.0).hash(hasher_of),
            Value::Memory(memory) => Rc::as_ptr(&memory.0).hash(hasher_of),
            Value::MemoryRef(place) => (Rc::as_ptr(&place.0.memory.0), place.0.offset).hash(hasher_of),
            Value::Stack(stack) => Rc::as_ptr(&stack.0).hash(hasher_of),
            Value::Slot(slot) => Rc::as_ptr(&slot.0).hash(hasher_of),
        }
        parts.len().hash(&mut hasher);
        Open { address: shared_address(value), hasher, parts }
    }
}

/// Where what an immutable value holds lies: other values may hold the same.
fn shared_address(value: &Value) -> Option<*const ()> {
    Some(match value {
        Value::Tuple(tuple) | Value::SimpleVector(tuple) => Rc::as_ptr(&tuple.0).cast(),
        Value::NamedTuple(tuple) => Rc::as_ptr(&tuple.0).cast(),
        Value::Struct(object) => Rc::as_ptr(&object.0).cast(),
        Value::Enum(case) => Rc::as_ptr(&case.0).cast(),
        Value::Closure(closure) => Rc::as_ptr(&closure.0).cast(),
        Value::DifferentiableFunction(function) => Rc::as_ptr(&function.0).cast(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Meter;

    /// What holds itself twice at each of so many depths, and a number at the end.
    fn doubled(depth: usize, number: f64) -> Value {
        let module = ircode::Module::new();
        let runtime = crate::builtins::Runtime::new(&module, Meter::new(usize::MAX));
        let twice = |value: Value, _| runtime.tuple(vec![value.clone(), value]).unwrap_or(Value::Nothing);
        (0..depth).fold(Value::from(number), twice)
    }

    #[test]
    fn a_function_known_by_its_path_only_is_one() {
        let (path, name) = (Value::Text("Main.f".into()), Value::Function("f".into()));
        assert!(path.egal(&name) && name.egal(&path));
        assert_eq!(path.identity_hash(), name.identity_hash());
        assert!(!path.egal(&Value::Function("Main.g".into())));
        assert!(!Value::Text("Main.Models.f".into()).egal(&name));
    }

    #[test]
    fn shared_parts_are_looked_at_once() {
        let (a, b, other) = (doubled(200, 1.0), doubled(200, 1.0), doubled(200, 2.0));
        assert!(a.egal(&b) && !a.egal(&other));
        assert_eq!(a.identity_hash(), b.identity_hash());
        assert_ne!(a.identity_hash(), other.identity_hash());
    }

    #[test]
    fn what_differs_is_found_behind_what_was_compared() {
        let module = ircode::Module::new();
        let runtime = crate::builtins::Runtime::new(&module, Meter::new(usize::MAX));
        let pair = |a: Value, b: Value| runtime.tuple(vec![a, b]).unwrap_or(Value::Nothing);
        // The last part is compared first.
        let with = |number: f64| pair(pair(doubled(3, number), doubled(90, 1.0)), doubled(100, 1.0));
        assert!(with(2.0).egal(&with(2.0)));
        assert!(!with(2.0).egal(&with(3.0)));
    }

    #[test]
    fn what_is_shared_makes_no_difference() {
        let module = ircode::Module::new();
        let runtime = crate::builtins::Runtime::new(&module, Meter::new(usize::MAX));
        let pair = |a: &Value, b: &Value| runtime.tuple(vec![a.clone(), b.clone()]).unwrap_or(Value::Nothing);
        let (one, again) = (doubled(1, 1.0), doubled(1, 1.0));
        let (shared, apart) = (pair(&one, &one), pair(&one, &again));
        assert!(shared.egal(&apart));
        assert_eq!(shared.identity_hash(), apart.identity_hash());
    }
}
