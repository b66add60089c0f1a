//! Printing, and making strings.

use super::Runtime;
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

pub(super) fn string(_: &mut Runtime<'_>, args: &[Value]) -> Result<Value> {
    let text: String = args.iter().map(printed).collect();
    Ok(Value::String(text.into()))
}
