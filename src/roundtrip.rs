//! Whether a function survives every way there and back.

use bbcode::{BBCode, ConversionError};
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
/// JSON of both representations. Pending nodes are compacted before conversion; Julia's text, which does not tell them from
/// others, is left out where there are any. Returns what did not come back as it was.
pub fn roundtrip(function: &Function<IRCode>) -> Vec<Mismatch> {
    Ways::default().check(function)
}

/// The conversions that are checked. Tests put wrong ones in their place, to see that they are found.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// From IRCode to BBCode.
    pub to_bbcode: fn(&IRCode) -> Result<BBCode, ConversionError>,
    /// From BBCode to IRCode.
    pub to_ircode: fn(&BBCode) -> Result<IRCode, ConversionError>,
    /// What happens to text and JSON between being written and being read: nothing.
    pub carry: fn(String) -> String,
}

impl Default for Ways {
    fn default() -> Self {
        Ways { to_bbcode: |ir| BBCode::try_from(ir), to_ircode: |bb| IRCode::try_from(bb), carry: |text| text }
    }
}

impl Ways {
    /// As [`roundtrip`], on these ways.
    pub fn check(&self, function: &Function<IRCode>) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        let mut check = |way: &'static str, result: Result<bool, String>| match result {
            Ok(true) => {}
            Ok(false) => mismatches.push(Mismatch { way, problem: "what came back is different".into() }),
            Err(problem) => mismatches.push(Mismatch { way, problem }),
        };
        check("verify", function.body.verify().map(|()| true).map_err(|violations| violations.to_string()));
        check("text (bbkit)", self.exact_text(function));
        if function.body.new_nodes.is_empty() {
            check("text (julia)", self.julia_text(function));
        }
        check("json", self.json(function));
        let compacted = match function.body.new_nodes.is_empty() {
            true => Ok(function.body.clone()),
            false => function.body.compact().map(|compaction| compaction.ir).map_err(|error| error.to_string()),
        };
        match compacted {
            Err(problem) => check("compact", Err(problem)),
            Ok(ir) => match (self.to_bbcode)(&ir) {
                Err(error) => check("ircode → bbcode", Err(error.to_string())),
                Ok(bb) => {
                    let back = (self.to_ircode)(&bb).map_err(|error| error.to_string());
                    check("ircode → bbcode → ircode", back.map(|back| back == ir));
                    check("bbcode → ircode → bbcode", self.bbcode_and_back(&bb));
                    check("json (bbcode)", self.bbcode_json(&bb));
                    check("verify (bbcode)", same_verdict(&ir, &bb));
                }
            },
        }
        mismatches
    }

    fn exact_text(&self, function: &Function<IRCode>) -> Result<bool, String> {
        let text = (self.carry)(print_function(function, Style::Bbkit));
        let parsed = parse_module(&text).map_err(|error| error.to_string())?;
        Ok(parsed.module.functions() == std::slice::from_ref(function))
    }

    /// What Julia's style omits cannot come back, so the text is compared.
    fn julia_text(&self, function: &Function<IRCode>) -> Result<bool, String> {
        let text = print_function(function, Style::Julia);
        let parsed = parse_module(&(self.carry)(text.clone())).map_err(|error| error.to_string())?;
        let again: Vec<String> = parsed.module.functions().iter().map(|f| print_function(f, Style::Julia)).collect();
        Ok(again == [text])
    }

    fn json(&self, function: &Function<IRCode>) -> Result<bool, String> {
        let mut module = Module::new();
        module.add_function(function.clone()).map_err(|error| error.to_string())?;
        let json = (self.carry)(to_json(&module)?);
        let back: Module<IRCode> = from_json(&json).map_err(|error| error.to_string())?;
        Ok(back == module)
    }

    fn bbcode_and_back(&self, bb: &BBCode) -> Result<bool, String> {
        let laid_out = bb.laid_out().map_err(|error| error.to_string())?;
        let ir = (self.to_ircode)(&laid_out).map_err(|error| error.to_string())?;
        let back = (self.to_bbcode)(&ir).map_err(|error| error.to_string())?;
        Ok(back == laid_out && laid_out.laid_out().is_ok_and(|again| again == laid_out))
    }

    fn bbcode_json(&self, bb: &BBCode) -> Result<bool, String> {
        let mut module = Module::new();
        module
            .add_function(Function::new("f", ircode::Type::Untyped, bb.clone()))
            .map_err(|error| error.to_string())?;
        let json = (self.carry)(to_json(&module)?);
        let back: Module<BBCode> = from_json(&json).map_err(|error| error.to_string())?;
        Ok(back == module)
    }
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
