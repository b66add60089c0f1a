//! Native code and compact code do what the interpreter does statement by statement: on programs that compute with
//! numbers, that change memory, throw and print, that ask for types, on loops over arrays, on gradients, and on valid
//! code that makes no sense.

use arbitrary::{Result, Unstructured};
use exec::Value;
use ircode::{IRCode, Module};
use passes::reverse_mode::{Carrier, Options, derive};
use passes::{PassManager, closure_specialization, find_pass, infer_types, simplify};

use super::LIMITS;
use crate::compact::compact_agrees;
use crate::dynamic::dynamic;
use crate::laws::Checked;
use crate::memory::memory;
use crate::mutation::mutate;
use crate::mutation_programs::mutation_program;
use crate::native::native_agrees;
use crate::numeric::{Options as Numeric, numeric_with};
use crate::straight::straight_loop;

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let Ok(program) = made(&mut Unstructured::new(data)) else { return Ok(()) };
    let Program { original, module, name, args } = &program;
    let agrees = compact_agrees(module, name, args, LIMITS, &|_| ())
        .and_then(|()| native_agrees(module, name, args, LIMITS, &|_| ()));
    match agrees {
        Ok(_) => Ok(()),
        // `tests/native.rs` runs natively what file tests run or differentiate.
        Err(broken) => Err(broken.on(original, &args(), &["run - ARGS".into(), "grad - ARGS".into()])),
    }
}

struct Program {
    /// The program before it was derived.
    original: Module<IRCode>,
    module: Module<IRCode>,
    name: String,
    /// Makes the arguments anew.
    args: Box<dyn Fn() -> Vec<Value>>,
}

/// The module with its closures specialised and its calls simplified, as far as these passes can.
fn without_closures(module: &Module<IRCode>) -> Module<IRCode> {
    let Ok(mut changed) = bbkit::to_bbcode(module) else { return module.clone() };
    for pass in [closure_specialization::run, simplify::run] {
        if pass(&mut changed, None).is_err() {
            return module.clone();
        }
    }
    bbkit::to_ircode(&changed).unwrap_or_else(|_| module.clone())
}

/// The module with the types that its statements can be seen to have.
fn with_types(module: &Module<IRCode>) -> Module<IRCode> {
    let Ok(mut changed) = bbkit::to_bbcode(module) else { return module.clone() };
    let found = find_pass(infer_types::NAME).map(|pass| PassManager::new([pass]).run(&mut changed, None));
    match (found, bbkit::to_ircode(&changed)) {
        (Ok(Ok(_)), Ok(changed)) => changed,
        _ => module.clone(),
    }
}

fn made(u: &mut Unstructured<'_>) -> Result<Program> {
    let derivative = match u.int_in_range(0..=4)? {
        0 | 1 => None,
        2 => Some(Carrier::LinearMaps),
        _ => Some(Carrier::Stacks),
    };
    let (module, args): (Module<IRCode>, Box<dyn Fn() -> Vec<Value>>) = match u.int_in_range(0..=4)? {
        0 => {
            let program = numeric_with(u, Numeric { calls: true })?;
            (program.module, Box::new(move || program.args.clone()))
        }
        1 => {
            let program = mutation_program(u)?;
            let module = if u.ratio(1, 2)? { without_closures(&program.module) } else { program.module.clone() };
            (module, Box::new(move || program.args()))
        }
        2 => {
            let program = straight_loop(u)?;
            (program.module.clone(), Box::new(move || program.args()))
        }
        3 => {
            let program = dynamic(u)?;
            let known = u.ratio(1, 2)?;
            let module = if known { with_types(&program.module) } else { program.module.clone() };
            (module, Box::new(move || program.args.clone()))
        }
        _ => {
            let program = memory(u)?;
            (program.module.clone(), Box::new(move || program.args()))
        }
    };
    if let Some(carrier) = derivative
        && let Ok(mut derived) = bbkit::to_bbcode(&module)
        && let Ok(derivative) = derive(&mut derived, &"f".into(), &Options { carrier, ..Options::default() })
        && let Ok(derived) = bbkit::to_ircode(&derived)
        && derived.function(&derivative.names.value_and_gradient).is_some()
    {
        let derived = if u.ratio(1, 2)? { without_closures(&derived) } else { derived };
        let name = derivative.names.value_and_gradient.to_string();
        return Ok(Program { original: module, module: derived, name, args });
    }
    // Types are trusted, but for what would be another thing in memory: code that is valid and makes no sense must not
    // crash either.
    let module = if u.ratio(1, 4)? { mutated(u, &module)? } else { module };
    Ok(Program { original: module.clone(), module, name: "f".into(), args })
}

/// The module with another `f` that is valid, too, or the same.
fn mutated(u: &mut Unstructured<'_>, module: &Module<IRCode>) -> Result<Module<IRCode>> {
    let mut changed = module.clone();
    if let Some(mut function) = module.function("f").cloned() {
        mutate(u, &mut function)?;
        if function.body.new_nodes.is_empty() && function.body.verify().is_ok() {
            changed.replace_function(function);
        }
    }
    Ok(changed)
}
