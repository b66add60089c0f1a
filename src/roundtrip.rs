//! Whether a function survives every way there and back.

use bbcode::BBCode;
use ircode::{Function, IRCode, Module, Style, from_json, parse_module, print_function, to_json};

/// A way on which a function did not survive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The way.
    pub way: &'static str,
    /// What was different, or what went wrong.
    pub problem: String,
}

/// Takes a function every way there and back: IRCode → BBCode → IRCode, BBCode → IRCode → BBCode, text in both styles,
/// JSON of both representations. Pending nodes are compacted before conversion. Returns what did not come back as it was.
pub fn roundtrip(function: &Function<IRCode>) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let mut check = |way: &'static str, result: Result<bool, String>| match result {
        Ok(true) => {}
        Ok(false) => mismatches.push(Mismatch { way, problem: "what came back is different".into() }),
        Err(problem) => mismatches.push(Mismatch { way, problem }),
    };
    check("verify", function.body.verify().map(|()| true).map_err(|violations| violations.to_string()));
    check("text (bbkit)", exact_text(function));
    check("text (julia)", julia_text(function));
    check("json", json(function));
    let compacted = match function.body.new_nodes.is_empty() {
        true => Ok(function.body.clone()),
        false => function.body.compact().map(|compaction| compaction.ir).map_err(|error| error.to_string()),
    };
    match compacted {
        Err(problem) => check("compact", Err(problem)),
        Ok(ir) => match BBCode::try_from(&ir) {
            Err(error) => check("ircode → bbcode", Err(error.to_string())),
            Ok(bb) => {
                let back = IRCode::try_from(&bb).map_err(|error| error.to_string());
                check("ircode → bbcode → ircode", back.map(|back| back == ir));
                check("bbcode → ircode → bbcode", bbcode_and_back(&bb));
                check("json (bbcode)", bbcode_json(&bb));
                check("verify (bbcode)", same_verdict(&ir, &bb));
            }
        },
    }
    mismatches
}

fn exact_text(function: &Function<IRCode>) -> Result<bool, String> {
    let text = print_function(function, Style::Bbkit);
    let parsed = parse_module(&text).map_err(|error| error.to_string())?;
    Ok(parsed.module.functions() == std::slice::from_ref(function))
}

/// What Julia's style omits cannot come back, so the text is compared.
fn julia_text(function: &Function<IRCode>) -> Result<bool, String> {
    let text = print_function(function, Style::Julia);
    let parsed = parse_module(&text).map_err(|error| error.to_string())?;
    let again: Vec<String> = parsed.module.functions().iter().map(|f| print_function(f, Style::Julia)).collect();
    Ok(again == [text])
}

fn json(function: &Function<IRCode>) -> Result<bool, String> {
    let mut module = Module::new();
    module.add_function(function.clone()).map_err(|error| error.to_string())?;
    let back: Module<IRCode> = from_json(&to_json(&module)?).map_err(|error| error.to_string())?;
    Ok(back == module)
}

fn bbcode_and_back(bb: &BBCode) -> Result<bool, String> {
    let laid_out = bb.laid_out().map_err(|error| error.to_string())?;
    let ir = IRCode::try_from(&laid_out).map_err(|error| error.to_string())?;
    let back = BBCode::try_from(&ir).map_err(|error| error.to_string())?;
    Ok(back == laid_out && laid_out.laid_out().is_ok_and(|again| again == laid_out))
}

fn bbcode_json(bb: &BBCode) -> Result<bool, String> {
    let mut module = Module::new();
    module.add_function(Function::new("f", ircode::Type::Untyped, bb.clone())).map_err(|error| error.to_string())?;
    let back: Module<BBCode> = from_json(&to_json(&module)?).map_err(|error| error.to_string())?;
    Ok(back == module)
}

/// Both verifiers must find the same.
fn same_verdict(ir: &IRCode, bb: &BBCode) -> Result<bool, String> {
    let checks = |violations: Vec<ircode::Check>| {
        let mut checks = violations;
        checks.sort_unstable();
        checks
    };
    let of_ir = ir.verify().err().map(|violations| checks(violations.0.iter().map(|v| v.check).collect()));
    let of_bb = bb.verify().err().map(|violations| checks(violations.0.iter().map(|v| v.check).collect()));
    Ok(of_ir == of_bb)
}
