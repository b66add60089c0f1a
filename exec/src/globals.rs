//! The global constants of a module, as one call from outside finds and changes them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use ircode::{GlobalConstant, GlobalPart, GlobalValue, Type};

use crate::builtins::Runtime;
use crate::constants::global_value;
use crate::error::RunErrorKind;
use crate::machine::Fault;
use crate::object::Kind;
use crate::prepare::struct_info;
use crate::value::{PlaceRef, Value};

/// The constants that were made so far, by their positions in the module. Prepared code holds them.
#[derive(Default, Debug)]
pub(crate) struct Globals {
    made: RefCell<Vec<Option<Value>>>,
    /// Whether they are those of another run, of which this one is a part.
    are_lent: bool,
}

impl Runtime<'_> {
    /// The constant of this position.
    pub(crate) fn global_constant(&self, index: usize) -> Result<Value, RunErrorKind> {
        let known = self.globals.made.borrow().get(index).cloned().flatten();
        if let Some(known) = known {
            return Ok(known);
        }
        // It names such as are declared before it.
        for needed in self.needed(index) {
            let Some(declared) = self.module.global_constants().get(needed) else { continue };
            let made = self.make_global(needed, declared).map_err(|fault| match fault {
                Fault::Fatal(kind) => kind,
                _ => RunErrorKind::InvalidCode("its constants do not fit in memory".into()),
            })?;
            let mut all = self.globals.made.borrow_mut();
            if all.len() <= index {
                all.resize(index + 1, None);
            }
            if let Some(place) = all.get_mut(needed) {
                *place = Some(made);
            }
        }
        let made = self.globals.made.borrow().get(index).cloned().flatten();
        made.ok_or_else(|| RunErrorKind::InvalidCode(format!("there is no global constant {index}")))
    }

    /// The constant of this position and those that it is made of, as far as they were not made, the first one first.
    fn needed(&self, index: usize) -> BTreeSet<usize> {
        let made = self.globals.made.borrow();
        let mut needed = BTreeSet::from([index]);
        let mut work = vec![index];
        while let Some(next) = work.pop() {
            let Some(declared) = self.module.global_constants().get(next) else { continue };
            let (GlobalValue::Elements { elements: parts, .. } | GlobalValue::Fields(parts)) = declared.value() else {
                continue;
            };
            let named = parts.iter().filter_map(|part| self.module.global_part(next, part));
            work.extend(named.filter(|named| !made.get(*named).is_some_and(Option::is_some) && needed.insert(*named)));
        }
        needed
    }

    fn make_global(&self, index: usize, declared: &GlobalConstant) -> Result<Value, Fault> {
        let values = self.parts(index, declared)?;
        match (declared.value(), declared.ty()) {
            (GlobalValue::Numbers { size, .. } | GlobalValue::Elements { size, .. }, Type::Array(array)) => {
                self.array(array.element.clone(), size.clone(), values)
            }
            (_, Type::Tuple(_)) => self.tuple(values),
            (_, Type::NamedTuple(fields)) => self.named_tuple_of(fields, values),
            (_, ty) => match struct_info(self.module, ty, values.len()) {
                Some(info) if info.names.len() == values.len() => self.structure(info, values),
                _ => {
                    let message =
                        format!("the constant `{}` is no {ty}, of which it does not have the fields", declared.name());
                    Err(Fault::Fatal(RunErrorKind::InvalidCode(message)))
                }
            },
        }
    }

    /// The elements or fields of a constant; those that it names have been made.
    fn parts(&self, index: usize, declared: &GlobalConstant) -> Result<Vec<Value>, Fault> {
        match declared.value() {
            GlobalValue::Numbers { elements, .. } => Ok(elements.iter().cloned().map(Value::Scalar).collect()),
            GlobalValue::Elements { elements: parts, .. } | GlobalValue::Fields(parts) => {
                let types = self.module.field_types(declared.ty());
                let of = |at: usize| match declared.ty() {
                    Type::Array(array) => Some(&array.element),
                    Type::Tuple(types) => types.get(at),
                    Type::NamedTuple(fields) => fields.get(at).map(|(_, ty)| ty),
                    _ => types.get(at),
                };
                let part = |(at, part)| {
                    let made = self.part(index, part)?;
                    match of(at) {
                        Some(ty) => self.made_of(made, ty),
                        None => Ok(made),
                    }
                };
                parts.iter().enumerate().map(part).collect()
            }
        }
    }

    fn part(&self, of: usize, part: &GlobalPart) -> Result<Value, Fault> {
        if let Some(named) = self.module.global_part(of, part) {
            return Ok(self.globals.made.borrow().get(named).cloned().flatten().unwrap_or(Value::Undefined));
        }
        match part {
            GlobalPart::Constant(constant) => self.constant(constant),
            GlobalPart::Global(global) => Ok(global_value(self.module, global)),
            GlobalPart::Undefined => Ok(Value::Undefined),
        }
    }

    /// A constant where one of this type stands: the named tuples in it have the types that are declared.
    fn made_of(&self, value: Value, ty: &Type) -> Result<Value, Fault> {
        match (&value, ty) {
            (Value::NamedTuple(tuple), Type::NamedTuple(fields))
                if tuple.0.declared.is_none() && tuple.0.names.iter().eq(fields.iter().map(|(name, _)| name)) =>
            {
                let parts = tuple.0.fields.values().iter().zip(fields.iter());
                let parts = parts.map(|(part, (_, ty))| self.made_of(part.clone(), ty)).collect::<Result<_, _>>()?;
                self.named_tuple_of(fields, parts)
            }
            (Value::Tuple(tuple), Type::Tuple(types))
                if tuple
                    .0
                    .fields
                    .values()
                    .iter()
                    .any(|part| matches!(part, Value::Tuple(_) | Value::NamedTuple(_))) =>
            {
                let parts = tuple.0.fields.values().iter().zip(types.iter());
                self.tuple(parts.map(|(part, ty)| self.made_of(part.clone(), ty)).collect::<Result<_, _>>()?)
            }
            _ => Ok(value),
        }
    }

    /// Uses these constants, by their positions: a run to which they belong goes on here.
    #[cfg(feature = "native")]
    pub(crate) fn lend_globals(&mut self, constants: Vec<Option<Value>>) {
        self.globals = Globals { made: RefCell::new(constants), are_lent: true };
    }

    /// Gives all arrays and objects what they are declared with, as a call from outside starts.
    pub(crate) fn reset_globals(&self) -> Result<(), Fault> {
        if self.globals.are_lent {
            return Ok(());
        }
        let made = self.globals.made.borrow().clone();
        for (index, (made, declared)) in made.iter().zip(self.module.global_constants()).enumerate() {
            match (made, declared.value(), declared.ty()) {
                (
                    Some(Value::Array(array)),
                    GlobalValue::Numbers { size, .. } | GlobalValue::Elements { size, .. },
                    Type::Array(ty),
                ) => {
                    let fresh = self.array(ty.element.clone(), size.clone(), self.parts(index, declared)?)?;
                    if let Value::Array(fresh) = fresh {
                        let place: PlaceRef = fresh.0.place.borrow().clone();
                        *array.0.place.borrow_mut() = place;
                        *array.0.dims.borrow_mut() = size.clone();
                    }
                }
                (Some(Value::Struct(object)), ..) if object.0.ty.mutable => {
                    let fields = self.meter.fields(Kind::of_struct(true), self.parts(index, declared)?)?;
                    *object.0.fields.borrow_mut() = fields;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
