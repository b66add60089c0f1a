//! Values that stand in the program itself, as the interpreter has them.

use std::sync::Arc;

use ircode::{Callee, Constant, GlobalRef, IRCode, Module};

use crate::builtins::Runtime;
use crate::machine::Fault;
use crate::prepare::struct_info;
use crate::shown_objects::shown_struct;
use crate::value::{Value, simple_constant};

impl Runtime<'_> {
    /// The value of a constant.
    pub(crate) fn constant(&self, constant: &Constant) -> Result<Value, Fault> {
        let values = |constants: &[Constant]| constants.iter().map(|c| self.constant(c)).collect::<Result<Vec<_>, _>>();
        if let Some((ty, fields)) = shown_struct(self.module, constant)
            && let Some(ty) = struct_info(self.module, &ty, fields.len())
        {
            return self.structure(ty, values(&fields)?);
        }
        if let Some(value) = simple_constant(constant) {
            return Ok(value);
        }
        match constant {
            Constant::Tuple(elements) => self.tuple(values(elements)?),
            Constant::SimpleVector(elements) => match self.tuple(values(elements)?)? {
                Value::Tuple(elements) => Ok(Value::SimpleVector(elements)),
                other => Ok(other),
            },
            Constant::NamedTuple(elements) => {
                let names = elements.iter().map(|(name, _)| name.clone()).collect();
                let values = elements.iter().map(|(_, element)| self.constant(element)).collect::<Result<Vec<_>, _>>();
                self.named_tuple(names, values?)
            }
            _ => Ok(Value::Undefined),
        }
    }
}

/// What a global means that is no constant of the module.
pub(crate) fn global_value(module: &Module<IRCode>, global: &GlobalRef) -> Value {
    match (module.global_callee(global), global.name.as_str()) {
        (_, "nothing") => Value::Nothing,
        (Callee::Function(index), _) => {
            let function = module.functions().get(index);
            Value::Function(function.map_or_else(|| global.name.clone(), |function| function.name.clone()))
        }
        (Callee::Primitive(primitive), _) => Value::Function(primitive.name.into()),
        (Callee::Type(ty), _) => Value::Type(Arc::new(ty)),
        (Callee::Unknown(path), _) => match global.known_value() {
            Some(value) => Value::Scalar(value.clone()),
            None => Value::Text(path),
        },
    }
}
