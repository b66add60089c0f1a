//! What the fuzz targets check, each a function of bytes. They run briefly under `cargo test` too.

use arbitrary::Unstructured;
use bbcode::BBCode;
use exec::{Limits, Value};
use ircode::{IRCode, Module, Style, from_json, parse_module, print_module, to_json};
use passes::reverse_mode::differentiate;
use passes::{PASSES, PassManager, Run};

use crate::anything::anything;
use crate::laws::{Broken, Checked, gradient_is_right, is_deterministic, is_safe, keeps_meaning, round_trips};
use crate::numeric::numeric;

/// A fuzz target: its name, which is that of its file in `fuzz/fuzz_targets`, and its check.
pub type Target = (&'static str, fn(&[u8]) -> Checked);

/// All fuzz targets.
pub const TARGETS: &[Target] = &[
    ("there_and_back", there_and_back),
    ("safety", safety),
    ("meaning", meaning),
    ("gradient", gradient),
    ("determinism", determinism),
    ("read_text", read_text),
    ("read_json", read_json),
];

const LIMITS: Limits = Limits { steps: 20_000, memory: 1 << 24, depth: 100 };

/// Laws 1 to 3 on functions of every statement kind.
///
/// # Errors
///
/// [`Broken`].
pub fn there_and_back(data: &[u8]) -> Checked {
    match anything(&mut Unstructured::new(data)) {
        Ok(function) if function.body.verify().is_ok() => round_trips(&function, &bbkit::Ways::default()),
        _ => Ok(()),
    }
}

/// Law 5 on functions of every statement kind, valid or not.
///
/// # Errors
///
/// [`Broken`].
pub fn safety(data: &[u8]) -> Checked {
    let Ok(function) = anything(&mut Unstructured::new(data)) else { return Ok(()) };
    let args: Vec<Value> = function.body.argtypes.iter().skip(1).map(|_| Value::from(1.0)).collect();
    is_safe(&function, &args, LIMITS, PASSES)
}

/// Law 6 for every pass on functions, on programs that compute.
///
/// # Errors
///
/// [`Broken`].
pub fn meaning(data: &[u8]) -> Checked {
    let Ok(program) = numeric(&mut Unstructured::new(data)) else { return Ok(()) };
    for pass in PASSES.iter().filter(|pass| matches!(pass.run, Run::Function(_))) {
        let run = |module: &mut Module<BBCode>| PassManager::new([pass]).run(module, None);
        keeps_meaning(&program.module, "f", &|| program.args.clone(), LIMITS, &run)?;
    }
    Ok(())
}

/// Law 6 for derivatives, on programs that compute.
///
/// # Errors
///
/// [`Broken`].
pub fn gradient(data: &[u8]) -> Checked {
    let Ok(program) = numeric(&mut Unstructured::new(data)) else { return Ok(()) };
    gradient_is_right(&program.module, "f", &program.args, LIMITS, &|module| differentiate(module, &"f".into()))
}

/// Law 7: the same program gives the same derivative, in text and in JSON.
///
/// # Errors
///
/// [`Broken`].
pub fn determinism(data: &[u8]) -> Checked {
    let Ok(program) = numeric(&mut Unstructured::new(data)) else { return Ok(()) };
    is_deterministic(&|| {
        let derived = bbkit::to_bbcode(&program.module).map(|mut module| {
            // One that cannot be differentiated is as it was.
            let _ = differentiate(&mut module, &"f".into());
            module
        });
        match derived.and_then(|module| bbkit::to_ircode(&module)) {
            Ok(module) => print_module(&module, Style::Bbkit) + &to_json(&module).unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    })
}

/// Text of any kind, and printed functions with a few bytes changed, are read or refused; what is read and valid obeys
/// laws 1 to 3.
///
/// # Errors
///
/// [`Broken`].
pub fn read_text(data: &[u8]) -> Checked {
    let print = |module: &Module<IRCode>| print_module(module, Style::Bbkit);
    let text = mutated(data, &|module| print(module));
    let Ok(parsed) = parse_module(&text) else { return Ok(()) };
    read_again(&parsed.module)
}

/// What was read and is valid obeys laws 1 to 3, but for Julia's text: it has no way to write every name.
fn read_again(module: &Module<IRCode>) -> Checked {
    for function in module.functions().iter().filter(|function| function.body.verify().is_ok()) {
        let mismatches = bbkit::Ways::default().check(function);
        if let Some(found) = mismatches.iter().find(|found| found.way != "text (julia)") {
            return Err(Broken { law: "there and back", problem: format!("{}: {}", found.way, found.problem) });
        }
    }
    Ok(())
}

/// JSON of any kind, and dumps with a few bytes changed, are read or refused; what is read and valid obeys laws 1 to 3.
///
/// # Errors
///
/// [`Broken`].
pub fn read_json(data: &[u8]) -> Checked {
    let json = mutated(data, &|module| to_json(module).unwrap_or_default());
    let _ = from_json::<BBCode>(&json);
    let Ok(module) = from_json::<IRCode>(&json) else { return Ok(()) };
    read_again(&module)?;
    let again = from_json::<IRCode>(&to_json(&module).unwrap_or_default());
    match again {
        Ok(again) if again == module => Ok(()),
        _ => Err(Broken { law: "there and back", problem: "JSON that was read is not read again".into() }),
    }
}

/// The bytes as they are, or a written function with changes that the bytes say.
pub fn mutated(data: &[u8], write: &dyn Fn(&Module<IRCode>) -> String) -> String {
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
