//! The subcommands, one file each, and what they share.

pub(crate) mod diff;
pub(crate) mod grad;
pub(crate) mod hessian;
pub(crate) mod hvp;
pub(crate) mod jacobian;
pub(crate) mod jvp;
pub(crate) mod opt;
pub(crate) mod reduce;
pub(crate) mod roundtrip;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod verify;
pub(crate) mod vjp;

mod argument_order;
mod arguments;
mod derivative;
mod engine;
mod matrix;
mod rules;
mod tables;
mod unique_keys;

use std::io::{ErrorKind, Write};

use bbkit::Input;
use ircode::Name;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// In words for the user. Empty if it has been told already.
    pub(crate) message: String,
    /// The exit status.
    pub(crate) status: u8,
}

impl Failure {
    /// A program is not right, or does not do what is asked of it.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), status: 1 }
    }

    /// The command line is not understood, whatever the program.
    pub(crate) fn of_usage(message: impl Into<String>) -> Self {
        Failure { message: message.into(), status: 2 }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::new(error.to_string())
    }
}

/// A failure of these words, which is none of the command line.
pub(crate) fn fail<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::new(message))
}

/// Writes a result to standard output. A reader that has gone away is no failure of ours; anything else that keeps the
/// result from being written ends the program with an error.
pub(crate) fn output(text: &str) {
    match try_output(text) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            diagnose(&format!("standard output: {error}"));
            std::process::exit(1);
        }
    }
}

/// Writes a page to a file.
pub(crate) fn write_page(path: &str, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page).or_else(|error| fail(format!("{path}: {error}")))
}

/// As [`output`], for a command with an exit status of its own.
pub(crate) fn try_output(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Writes a diagnostic to standard error.
pub(crate) fn diagnose(text: &str) {
    if text.is_empty() {
        return;
    }
    let says_what_it_is = ["error:", "error[", "warning:", "warning["].iter().any(|start| text.starts_with(start));
    let text = if says_what_it_is { text.into() } else { format!("error: {text}") };
    // If standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}

/// Writes something to standard error that is no complaint.
pub(crate) fn say(text: &str) {
    // If standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}

/// Writes to standard error as it is, also parts of lines.
pub(crate) fn output_to_stderr(text: &str) {
    // If standard error is closed there is nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints what stands before a result: to standard error where the result is JSON, which is to be all that is on
/// standard output.
pub(crate) fn before_result(text: &str, json: bool) {
    if json { say(text) } else { output(text) }
}

/// An error if standard input is named more than once: what is read from it is not there any more.
pub(crate) fn read_once<'f>(files: impl IntoIterator<Item = &'f String>) -> Result<(), Failure> {
    match files.into_iter().filter(|file| *file == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::of_usage("`-` is named more than once, but standard input can be read only once")),
    }
}

/// The function that `--fn` names, or the only one there is. A listing without header is given the name.
pub(crate) fn select(input: &mut Input, name: Option<&str>) -> Result<Name, Failure> {
    if let Some(name) = name {
        if input.module.function(name).is_none() && input.module.function("").is_some() {
            input.module.rename_function("", name)?;
            if let Some(read) = &mut input.bbcode {
                read.rename_function("", name)?;
            }
        }
        return match input.module.function(&input.module.full_name(name)) {
            Some(function) => Ok(function.name.clone()),
            None => fail(format!("{}: there is no function `{name}`; there {}", input.path, listed(input, name))),
        };
    }
    match input.module.functions() {
        [only] => Ok(only.name.clone()),
        // A dump of Julia's code with its callees begins with what was asked for.
        [first, ..] if ircode::method_of(&first.name).is_some() => Ok(first.name.clone()),
        _ => fail(format!("{}: which function? Name one with --fn; there {}", input.path, listed(input, ""))),
    }
}

/// At most this many functions are named in an error: dumps have thousands.
const MOST_NAMED: usize = 10;

/// Which functions there are, those first that are called as was asked.
fn listed(input: &Input, asked: &str) -> String {
    let path = asked.split_once('(').map_or(asked, |(path, _)| path);
    let shown = |name: &Name| if name.is_empty() { "the listing without a name".into() } else { format!("`{name}`") };
    let mut names: Vec<&Name> = input.module.functions().iter().map(|function| &function.name).collect();
    names.sort_by_key(|name| !name.contains(path));
    let count = names.len();
    let named: Vec<String> = names.into_iter().take(MOST_NAMED).map(shown).collect();
    match named.as_slice() {
        [] => "are no functions".into(),
        [only] => format!("is {only}"),
        named if named.len() < count => format!("are {count}, among them {}", named.join(", ")),
        named => format!("are {}", named.join(", ")),
    }
}

/// Verifies all functions; what is to be run or changed must be valid.
pub(crate) fn verified(input: &Input) -> Result<(), Failure> {
    let mut problems = Vec::new();
    problems.extend(input.module.functions().iter().filter_map(|function| input.violations_of(&function.name)));
    if let Err(violations) = ircode::verify_tables(&input.module, |body| &body.argtypes) {
        problems.push(violations.to_string());
    }
    if problems.is_empty() { Ok(()) } else { fail(problems.join("\n")) }
}
