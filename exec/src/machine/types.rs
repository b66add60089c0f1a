//! Holding values against the types that statements declare.

use super::{Fault, Machine, Run};
use crate::error::RunErrorKind;
use crate::prepare::Code;
use crate::value::Value;

impl Machine<'_> {
    /// Holds each value against the type that its statement declares, and each that arrives at a φ against that of the
    /// φ. The run ends with [`RunErrorKind::WrongType`] at the first value that is of another one.
    ///
    /// Running does not look at types, but passes, derivatives and native code take them for true: where one of these
    /// is suspected, this tells whether the code that it was given, or that it made, is to blame. Of abstract types,
    /// and of those that are known by their names only, nothing can be told, and nothing is said; nor of statements
    /// that are `nothing`, which Julia has removed. It takes several times as long as a run without it.
    ///
    /// ```
    /// use exec::{Machine, RunErrorKind, Value};
    /// use ircode::parse_module;
    ///
    /// let text = "function f(x::Float64)\n1 ─ %1 = Base.neg_float(x)::Int64\n└──      return %1\nend\n";
    /// let module = parse_module(text)?.module;
    /// assert!(Machine::new(&module).call("f", &[Value::from(1.5)]).is_ok());
    /// let error = Machine::new(&module).check_types().call("f", &[Value::from(1.5)]).unwrap_err();
    /// assert!(matches!(error.kind, RunErrorKind::WrongType { .. }));
    /// assert_eq!(error.kind.to_string(), "%1 declares Int64, but -1.5 is of type Float64");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_types(mut self) -> Self {
        self.checks_types = true;
        // What was made ready before does not know its types.
        self.codes.fill(None);
        self
    }
}

impl Run<'_, '_> {
    /// An error if the value of a statement is seen not to be of the type that it declares.
    pub(super) fn check_type(&self, code: &Code, base: usize, statement: usize) -> Result<(), Fault> {
        let Some(declared) = code.types.get(statement) else { return Ok(()) };
        let value = match self.registers.get(base + code.statement_register(statement)) {
            None | Some(Value::Undefined) => return Ok(()),
            Some(value) => value,
        };
        let is = value.type_of();
        match code.has_value(statement) && self.machine.module.is_a(&is, declared) == Some(false) {
            false => Ok(()),
            true => Err(Fault::Fatal(RunErrorKind::WrongType {
                statement: code.register_name(code.statement_register(statement)),
                declared: declared.to_string(),
                value: shortened(value),
                got: is.to_string(),
            })),
        }
    }
}

/// A value as it is shown, cut off behind what fits a line.
fn shortened(value: &Value) -> String {
    const LONGEST: usize = 80;
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}
