//! Makes functions of the methods of closures, which take the closure as an argument (lambda lifting, Johnsson, "Lambda lifting: transforming
//! programs to recursive equations", 1985).
//!
//! In dumps of Julia's code a closure is a struct of what it captures, and its method reads `_1`. An invoke there names the closure and, as
//! instance, the method: that is a call of a known function, if only the function takes the closure.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Argument, Function, Module, Name, Operand, Stmt, Type};

use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "lambda-lifting";

/// Where an invoke calls a value by a method that the module has, calls a copy of the method that takes the value first. True if there was such an invoke in
/// the functions that it was run on: in the one of this name, or in all.
///
/// The methods themselves stay as they are.
///
/// # Errors
///
/// If the copies cannot be added.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let mut names: Vec<Name> = match function {
        Some(name) => vec![name.clone()],
        None => module.functions().iter().map(|function| function.name.clone()).collect(),
    };
    // By method and type of what is called.
    let mut lifted: HashMap<(Name, Type), Name> = HashMap::new();
    let mut changed = false;
    // The copies may invoke values, too: those of functions that it was not run on.
    while let Some(name) = names.pop() {
        for Found { id, method, of, callee } in invoked_values(module, &name) {
            let key = (method, of);
            let copy = match lifted.get(&key) {
                Some(known) => known.clone(),
                None => {
                    let Some(made) = add_lifted(module, &key)? else { continue };
                    names.push(made.clone());
                    lifted.insert(key, made.clone());
                    made
                }
            };
            if let Some(inst) = module.body_mut(&name).and_then(|bb| bb.inst_mut(id))
                && let Stmt::Invoke(invoke) = &inst.stmt
            {
                let args = [callee].into_iter().chain(invoke.args.iter().cloned());
                inst.stmt = Stmt::call(Operand::global("", &copy), args.collect::<Vec<_>>());
                changed = true;
            }
        }
    }
    Ok(changed)
}

/// A name for the copy of a method that takes what is called, which no function has.
fn fresh_name(module: &Module<BBCode>, method: &str) -> String {
    let plain = format!("lifted {method}");
    let mut numbered = (2..).map(|number| format!("{plain} {number}"));
    match module.function_index(&plain) {
        None => plain,
        Some(_) => numbered.find(|name| module.function_index(name).is_none()).unwrap_or(plain),
    }
}

/// An invoke of a value.
struct Found {
    id: InstId,
    method: Name,
    /// The type of the value.
    of: Type,
    callee: Operand<Ids>,
}

/// The invokes of structs in a function that name a method of the module.
fn invoked_values(module: &Module<BBCode>, function: &str) -> Vec<Found> {
    let Some(bb) = module.function(function).map(|function| &function.body) else { return Vec::new() };
    let found = bb.all_insts().filter_map(|(id, inst)| {
        let Stmt::Invoke(invoke) = &inst.stmt else { return None };
        let is_value = matches!(invoke.callee, Operand::Value(_) | Operand::Argument(_));
        if !is_value || module.callee(&invoke.callee).is_some() {
            return None;
        }
        let of = bb.operand_type(&invoke.callee);
        let known = matches!(&of, Type::Named(name) if module.type_def(name).is_some());
        let method = invoke.instance.name.clone().filter(|method| known && module.function_index(method).is_some())?;
        Some(Found { id, method, of, callee: invoke.callee.clone() })
    });
    found.collect()
}

/// Adds the copy of a method that takes a value of this type first, and gives its name.
fn add_lifted(module: &mut Module<BBCode>, (method, of): &(Name, Type)) -> Result<Option<Name>, PassError> {
    let name: Name = fresh_name(module, method).into();
    let Some(original) = module.function(method) else { return Ok(None) };
    let mut made: Function<BBCode> = original.clone();
    made.name = name.clone();
    if !made.parameters.is_empty() {
        made.parameters.insert(0, None);
    }
    let itself = Type::Function(name.clone());
    made.body.argtypes.splice(..made.body.argtypes.len().min(1), [itself, of.clone()]);
    made.body.for_each_operand_mut(|operand| {
        if let Operand::Argument(argument) = operand
            && let Some(index) = argument.index()
        {
            *operand = Argument::from_index(index + 1).into();
        }
    });
    module.add_function(made).map_err(|error| PassError::new(NAME, &name, error.to_string()))?;
    Ok(Some(name))
}
