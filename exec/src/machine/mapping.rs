//! `map` and `broadcast`: calls of a function on the elements of arrays, one after another.

use ircode::{SSAValue, Type};

use super::{Fault, Run, Step};
use crate::builtins::whole_arrays::shapes_differ;
use crate::builtins::{expected, unsupported};
use crate::error::RunErrorKind;
use crate::value::{ArrayRef, Value, isa};

/// The primitives that are run here.
pub(crate) const MAPPING: [&str; 2] = ["map", "broadcast"];

/// A map that is under way.
pub(super) struct Mapping {
    f: Value,
    args: Vec<Value>,
    dims: Vec<usize>,
    results: Vec<Value>,
}

/// An element, counted from 0.
fn element(array: &ArrayRef, at: usize) -> Option<Value> {
    let length = array.length();
    let place = array.0.place.borrow();
    let memory = place.0.memory.0.fields.borrow();
    (at < length).then(|| memory.values().get(place.0.offset + at).cloned()).flatten()
}

impl Mapping {
    /// `map(f, arrays…)` or `broadcast(f, arrays or scalars…)`.
    pub(super) fn new(primitive: &str, args: Vec<Value>) -> Result<Mapping, Fault> {
        let mut args = args.into_iter();
        let Some(f) = args.next() else { return Err(expected("a function and arrays")) };
        let args: Vec<Value> = args.collect();
        let mut dims: Option<Vec<usize>> = None;
        for arg in &args {
            match (arg.array_dims(), arg) {
                (Some(own), _) => match &dims {
                    Some(dims) if *dims != own => return Err(shapes_differ(dims, &own)),
                    _ => dims = Some(own),
                },
                (None, Value::Scalar(_)) if primitive == "broadcast" => {}
                (None, other) => {
                    return Err(unsupported(format!("{primitive} over {other}, {}", other.type_of().with_article())));
                }
            }
        }
        let dims = dims.ok_or_else(|| expected("a function and arrays"))?;
        Ok(Mapping { f, args, dims, results: Vec::new() })
    }

    pub(super) fn push(&mut self, result: Value) {
        self.results.push(result);
    }

    fn is_done(&self) -> bool {
        self.results.len() == self.dims.iter().product::<usize>()
    }

    /// What the function is called with next; `None` if an array has become shorter.
    fn next_args(&self) -> Option<Vec<Value>> {
        let at = self.results.len();
        let next = |arg: &Value| match arg {
            Value::Array(array) => element(array, at).filter(|element| !matches!(element, Value::Undefined)),
            other => Some(other.clone()),
        };
        self.args.iter().map(next).collect()
    }
}

impl Run<'_, '_> {
    /// Goes on with the map of the innermost frame. Its value, when it is done; `None` if a call was made, whose result
    /// is to be handed to it first.
    pub(super) fn continue_map(&mut self) -> Result<Option<Value>, Fault> {
        loop {
            let Some(frame) = self.frames.last_mut() else { return Err(Fault::Fatal(RunErrorKind::FellThrough)) };
            if let Some(mapping) = frame.mapping.take_if(|mapping| mapping.is_done()) {
                return self.mapped(*mapping).map(Some);
            }
            let next = frame.mapping.as_ref().map(|mapping| (mapping.f.clone(), mapping.next_args()));
            let Some((f, Some(args))) = next else {
                return Err(self.machine.runtime.exception("UndefRefError", &[], vec![]));
            };
            self.count_step()?;
            match self.call_value(f, args)? {
                Step::Value(value) => {
                    if let Some(mapping) = self.frames.last_mut().and_then(|frame| frame.mapping.as_mut()) {
                        mapping.push(value);
                    }
                }
                Step::Call(function, callee, args) => {
                    self.push_frame(function, callee, args)?;
                    return Ok(None);
                }
                _ => return Err(unsupported("a map of a map".into())),
            }
        }
    }

    /// The array of the results. Its element type is that which the statement shows, else that of the results.
    fn mapped(&self, mapping: Mapping) -> Result<Value, Fault> {
        let Mapping { dims, results, .. } = mapping;
        let shown = self.frames.last().and_then(|frame| {
            let function = self.machine.module.function(&frame.code.name)?;
            match function.body.ty(SSAValue::from_index(frame.statement))? {
                Type::Array(array) if !matches!(array.element, Type::Named(_)) => Some(array.element.clone()),
                _ => None,
            }
        });
        let element = match (shown, results.first()) {
            (Some(shown), _) => shown,
            (None, Some(first)) => {
                let first = first.type_of();
                if results.iter().all(|result| result.type_of() == first) { first } else { Type::Any }
            }
            (None, None) => {
                return Err(unsupported("a map over nothing, of a function whose type is not known".into()));
            }
        };
        if let Some(other) = results.iter().find(|result| !isa(result, &element)) {
            return Err(unsupported(format!("storing {} in an array of {element}", other.type_of().with_article())));
        }
        self.machine.runtime.array(element, dims, results)
    }
}
