//! Calls of functions that only the run tells: closures, and functions as values.
#![allow(unsafe_code, reason = "called by machine code, and calls such")]

use std::sync::Arc;

use ircode::{Callee, Name};

use super::sites::What;
use crate::error::RunErrorKind;
use crate::machine::{Fault, MAPPING};
use crate::native::compiler::Entry;
use crate::native::layout::{Layout, Shape};
use crate::native::program::cell_values::OTHERS;
use crate::native::program::marshal::{Refused, word};
use crate::native::runtime::context::Context;
use crate::native::values::cells::CONTENTS;
use crate::prepare::may_be_of_method;
use crate::value::Value;

/// A function that was found, and its arguments in memory.
struct Prepared {
    entry: Entry,
    arguments: Vec<u128>,
}

/// What a value that is called comes to.
enum Found {
    Function(Prepared),
    /// A primitive, which has run and whose result is in its place.
    Done,
}

/// Calls a value: the first operand. The operands lie at multiples of 16 bytes, and the result is put at the first of
/// them. Gives 1 if the call has failed.
pub(crate) unsafe extern "C" fn call_value(context: *mut Context, site: u32, operands: u64) -> u8 {
    // SAFETY: machine code calls this with its context, which nobody else uses meanwhile.
    let prepared = unsafe { (*context).guarded(site, |context| prepare(context, site, operands)) };
    let Prepared { entry, arguments } = match prepared {
        None => return 1,
        Some(Ok(Found::Function(prepared))) => prepared,
        Some(Ok(Found::Done)) => return 0,
        Some(Err(refused)) => {
            // SAFETY: as above.
            unsafe { (*context).refuse_or_fail(site, refused) };
            return 1;
        }
    };
    let mut result = vec![0_u128; entry.signature.result.size as usize / 16 + 1];
    // SAFETY: the trampoline at this address has this signature; the code lives as long as the program that is running.
    let code: extern "C" fn(*mut Context, u64, u64) -> u8 = unsafe { std::mem::transmute(entry.address as *const ()) };
    if code(context, arguments.as_ptr() as u64, result.as_mut_ptr() as u64) != 0 {
        // SAFETY: the call is over, and nobody else uses the context.
        unsafe { (*context).pass_through(site) };
        return 1;
    }
    // SAFETY: as above.
    let context = unsafe { &mut *context };
    let shared = context.shared.clone();
    let Some(What::CallValue(call)) = shared.sites.get(site as usize).map(|site| &site.what) else { return 1 };
    let (from, to) = (&entry.signature.result, &call.result);
    let done = if from.is_as(to) {
        // SAFETY: a value of this layout was put into `result`, and there is room for one at the operands.
        unsafe { std::ptr::copy_nonoverlapping(result.as_ptr().cast::<u8>(), operands as *mut u8, from.size as usize) };
        Ok(())
    } else if from.copies() && to.copies() {
        context.with_layouts(|context, layouts| {
            // SAFETY: as above.
            unsafe {
                let value = context.load(layouts, from, result.as_ptr() as u64)?;
                context.store(layouts, to, &value, operands)
            }
        })
    } else {
        Err(Refused::Value(to.refusal(&from.ty)))
    };
    match done {
        Ok(()) => 0,
        Err(refused) => {
            context.refuse_or_fail(site, refused);
            1
        }
    }
}

/// What a closure captures: a value of the interpreter, or the layout and the address of a native one.
enum Capture {
    Value(Value),
    Native(Arc<Layout>, u64),
}

/// The name of what a value applies, and what it captures.
///
/// # Safety
///
/// A value of this layout lies at the address.
unsafe fn callee(context: &mut Context, layout: &Arc<Layout>, at: u64) -> Result<(Name, Vec<Capture>), Refused> {
    if let Shape::Closure = layout.shape {
        // SAFETY: the value is a pointer to a cell, which starts with two words.
        let (cell, number, count) = unsafe {
            let cell = word(at);
            (cell, word(cell), word(cell + 8))
        };
        let function = usize::try_from(number).ok().filter(|_| number < OTHERS);
        let inside = context.with_layouts(|_, layouts| layouts.captured(function, count as usize));
        let place = |at: &u32| cell + CONTENTS as u64 + u64::from(*at);
        let captured = inside.fields.iter().map(|(layout, at)| Capture::Native(layout.clone(), place(at)));
        let name = context.applied(number).ok_or_else(|| Refused::Value("a closure".into()))?;
        return Ok((name, captured.collect()));
    }
    // SAFETY: as the caller promises.
    let callee = context.with_layouts(|context, layouts| unsafe { context.load(layouts, layout, at) })?;
    match &callee {
        Value::Function(name) => Ok((name.clone(), Vec::new())),
        Value::Closure(closure) => {
            let captured = closure.0.fields.values().iter().cloned().map(Capture::Value);
            Ok((closure.0.function.clone(), captured.collect()))
        }
        other => Err(Refused::Value(format!("a call of {}", other.type_of().with_article()))),
    }
}

/// Finds what is called, and puts its arguments where its trampoline expects them.
///
/// # Safety
///
/// The operands of the site lie at `operands`, and there is room for its result.
unsafe fn prepare(context: &mut Context, site: u32, operands: u64) -> Result<Found, Refused> {
    let shared = context.shared.clone();
    let Some(What::CallValue(call)) = shared.sites.get(site as usize).map(|site| &site.what) else {
        return Err(Refused::Value("a call that is not there".into()));
    };
    let mut places = Vec::with_capacity(call.operands.len());
    let mut at = operands;
    for layout in &call.operands {
        places.push((layout.clone(), at));
        at += u64::from(layout.size.next_multiple_of(16));
    }
    let Some(((callee_layout, callee_at), places)) = places.split_first() else {
        return Err(Refused::Value("a call of nothing".into()));
    };
    // SAFETY: as the caller promises.
    let (name, captured) = unsafe { callee(context, callee_layout, *callee_at)? };
    let function = match shared.module.function_callee(&name) {
        Callee::Function(function) => function,
        Callee::Primitive(primitive)
            if !MAPPING.contains(&primitive.name)
                && !may_be_of_method(&shared.module, primitive, places.iter().map(|(layout, _)| &layout.ty))
                && places.iter().all(|(layout, _)| layout.copies())
                && call.result.copies() =>
        {
            context.with_layouts(|context, layouts| {
                let mut args = Vec::with_capacity(places.len());
                for (layout, at) in places {
                    // SAFETY: as the caller promises.
                    args.push(unsafe { context.load(layouts, layout, *at)? });
                }
                for capture in captured {
                    args.push(match capture {
                        Capture::Value(value) => value,
                        // SAFETY: it lies in the cell of the closure.
                        Capture::Native(layout, at) => unsafe { context.load(layouts, &layout, at)? },
                    });
                }
                let value = context.runtime().call_primitive(primitive, &args)?;
                // SAFETY: as the caller promises.
                unsafe { context.store(layouts, &call.result, &value, operands) }
            })?;
            return Ok(Found::Done);
        }
        _ => return Err(Refused::Value(format!("a call of `{name}` as a value"))),
    };
    let Some(entry) = shared.callable.get(&function).cloned() else {
        return Err(Refused::Value(format!("a call of `{name}`, which is not compiled")));
    };
    let parameters = &entry.signature.parameters;
    let given = places.len() + captured.len();
    if entry.signature.varargs {
        return Err(Refused::Value("a call of a function of any number of arguments as a value".into()));
    }
    if given != parameters.len() {
        let kind = RunErrorKind::Arity { function: name, expected: parameters.len(), got: given };
        return Err(Refused::Fault(Fault::Fatal(kind)));
    }
    let bytes: usize = parameters.iter().map(|layout| layout.size.next_multiple_of(16) as usize).sum();
    let mut arguments = vec![0_u128; bytes / 16 + 1];
    let mut to = arguments.as_mut_ptr() as u64;
    context.with_layouts(|context, layouts| {
        for (index, parameter) in parameters.iter().enumerate() {
            match places.get(index) {
                Some((layout, at)) if layout.is_as(parameter) => {
                    // SAFETY: a value of this layout lies there, and there is room for it.
                    unsafe {
                        std::ptr::copy_nonoverlapping(*at as *const u8, to as *mut u8, layout.size as usize);
                    }
                }
                Some((layout, at)) if layout.copies() && parameter.copies() => {
                    // SAFETY: as above.
                    unsafe {
                        let value = context.load(layouts, layout, *at)?;
                        context.store(layouts, parameter, &value, to)?;
                    }
                }
                None => match captured.get(index - places.len()) {
                    Some(Capture::Native(layout, at)) if layout.is_as(parameter) => {
                        // SAFETY: as above.
                        unsafe {
                            std::ptr::copy_nonoverlapping(*at as *const u8, to as *mut u8, layout.size as usize);
                        }
                    }
                    Some(Capture::Value(value)) if parameter.copies() => {
                        // SAFETY: as above.
                        unsafe { context.store(layouts, parameter, value, to)? };
                    }
                    _ => return Err(Refused::Value(format!("a captured value of the type {}", parameter.ty))),
                },
                _ => return Err(Refused::Value(format!("an argument of the type {} of a value", parameter.ty))),
            }
            to += u64::from(parameter.size.next_multiple_of(16));
        }
        Ok(())
    })?;
    Ok(Found::Function(Prepared { entry, arguments }))
}
