//! Printing, and making strings.

use super::Runtime;
use super::control::unsupported;
use crate::display::printed;
use crate::machine::Fault;
use crate::value::Value;

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn println(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    print(runtime, args)?;
    (runtime.output)("\n");
    Ok(Value::Nothing)
}

pub(super) fn print(runtime: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    for arg in args {
        (runtime.output)(&printed(arg));
    }
    Ok(Value::Nothing)
}

/// The longest string that a program may make, in bytes. Strings are not counted among the memory that values hold.
const MAX_STRING: usize = 1 << 24;

pub(super) fn string(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let mut text = String::new();
    for arg in args {
        text.push_str(&printed(arg));
        if text.len() > MAX_STRING {
            return Err(unsupported(format!("a string of more than {MAX_STRING} bytes")));
        }
    }
    Ok(Value::String(text.into()))
}
