//! What is generated goes into the module.

use bbcode::BBCode;
use ircode::{DefinedTwice, Function, Module, Name, TypeDef};

use crate::PassError;

/// Adds these types and functions to a module, in the place of functions of the same names; gives the names of the
/// functions. `error` is that of the pass for a type that is there already.
pub(crate) fn add_generated(
    module: &mut Module<BBCode>,
    types: Vec<TypeDef>,
    functions: Vec<Function<BBCode>>,
    error: impl Fn(DefinedTwice) -> PassError,
) -> Result<Vec<Name>, PassError> {
    for def in types {
        module.add_type(def).map_err(&error)?;
    }
    let mut names = Vec::with_capacity(functions.len());
    for function in functions {
        names.push(function.name.clone());
        module.replace_function(function);
    }
    Ok(names)
}
