//! Text of any kind, and printed functions with a few bytes changed, are read or refused; what is read and valid obeys
//! laws 1 to 3.

use arbitrary::Unstructured;
use ircode::{IRCode, Module, Style, parse_module, print_module};

use crate::anything::anything;
use crate::laws::{Checked, broken};

/// Checks what these bytes make.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub(super) fn check(data: &[u8]) -> Checked {
    let print = |module: &Module<IRCode>| print_module(module, Style::Bbkit);
    let text = mutated(data, &|module| print(module));
    let Ok(parsed) = parse_module(&text) else { return Ok(()) };
    read_again(&parsed.module, &bbkit::Ways::default())
}

/// What was read and is valid obeys laws 1 to 3, but for Julia's text: it has no way to write every name.
pub(super) fn read_again(module: &Module<IRCode>, ways: &bbkit::Ways) -> Checked {
    for function in module.functions().iter().filter(|function| function.body.verify().is_ok()) {
        let mismatches = ways.check(function);
        let exact = |way: &str| !way.starts_with("text (") || way == "text (bbkit)";
        if let Some(found) = mismatches.iter().find(|found| exact(found.way)) {
            return Err(broken("there and back", format!("{}: {}", found.way, found.problem)));
        }
    }
    Ok(())
}

/// The bytes as they are, or a written function with changes that the bytes say.
pub(super) fn mutated(data: &[u8], write: &dyn Fn(&Module<IRCode>) -> String) -> String {
    let mut u = Unstructured::new(data);
    if u.ratio(1, 4).unwrap_or(true) {
        return String::from_utf8_lossy(data).into_owned();
    }
    let Ok(function) = anything(&mut u) else { return String::new() };
    let mut module = Module::new();
    // The module is empty, so no name is taken.
    let _ = module.add_function(function);
    let mut text: Vec<char> = write(&module).chars().collect();
    for _ in 0..u.int_in_range(0..=4).unwrap_or(0) {
        let Ok(at) = u.choose_index(text.len().max(1)) else { break };
        match u.int_in_range(0..=3).unwrap_or(0) {
            0 => text.truncate(at),
            1 if at < text.len() => drop(text.remove(at)),
            2 => text.insert(
                at.min(text.len()),
                *u.choose(&['0', '9', '(', ')', '%', '#', '"', '}', '\n', ' ']).unwrap_or(&'0'),
            ),
            _ => {
                let piece: Vec<char> = text.iter().skip(at).take(20).copied().collect();
                text.extend(piece);
            }
        }
    }
    text.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_written_wrong_is_caught() {
        let text = "function f(x::Float64)::Float64\n1 ─ %1 = Base.add_float(x, 1.0)::Float64\n└── return %1\nend\n";
        let module = parse_module(text).unwrap().module;
        read_again(&module, &bbkit::Ways::default()).unwrap();
        let wrong = bbkit::Ways { carry: |text| text.replace("1.0", "1.5"), ..bbkit::Ways::default() };
        read_again(&module, &wrong).unwrap_err();
    }
}
