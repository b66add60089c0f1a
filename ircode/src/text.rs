//! The text form: printing as Julia prints, and reading it back.
//!
//! There are bbkit's own style and those of Julia's versions, see [`Style`]. All are read by the same parser.

mod around;
pub(crate) mod balanced;
mod builder;
mod capitals;
mod clean;
mod cthulhu;
mod dead_jumps;
pub(crate) mod declaration;
mod decoration;
mod enclosed;
pub(crate) mod expression;
pub(crate) mod function;
mod gutter;
mod header;
mod hidden;
mod infix;
mod irtools;
mod labels;
mod literal;
mod markup;
mod number_object;
mod object;
pub(crate) mod operators;
mod page;
mod parser;
pub(crate) mod print;
mod session;
mod slot_names;
mod spelling;
mod statement;
mod statement_end;
mod words;
mod wrapped;

pub use clean::clean;
pub use declaration::print_declaration;
pub(crate) use expression::read_constant;
pub use function::{print_body, print_function, print_module, write_header, write_typed};
pub use parser::{ParsedModule, SourceMap, TextError, parse_function, parse_module, parse_module_with_parameters};
pub use print::{StatementPrinter, default_type};

use crate::version::JuliaVersion;

/// How code is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// As Julia 1.11 prints it. What Julia does not show (flags, call infos, widths of integer literals, …) is lost, as
    /// are the names of values that are not used.
    #[default]
    Julia,
    /// As this version of Julia prints it: spellings of types, of `try` and of what is unreachable, labels of calls.
    Version(JuliaVersion),
    /// The same layout, with every value named and with attributes for what Julia does not show, so that reading it
    /// back gives exactly the same program.
    Bbkit,
}
