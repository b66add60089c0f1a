//! Whether a function survives every way there and back.

use std::fmt;

use bbcode::{BBCode, ConversionError};
use ircode::json::Dump;
use ircode::wording::counted;
use ircode::{
    Function, IRCode, JuliaVersion, Module, Style, from_json, parse_module, print_function, print_module, to_json,
};

/// A way on which a function did not survive. Shown, it is the way, then the problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The way.
    pub way: &'static str,
    /// What was different, or what went wrong.
    pub problem: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.way, self.problem)
    }
}

/// Takes a function every way there and back: IRCode → BBCode → IRCode, BBCode → IRCode → BBCode, text in bbkit's own
/// style and those of Julia's versions, JSON of both representations. Pending nodes are compacted before conversion;
/// Julia's text, which does not tell them from others, is left out where there are any. Returns what did not come back
/// as it was.
pub fn roundtrip(function: &Function<IRCode>) -> Vec<Mismatch> {
    Ways::default().check(function)
}

/// Takes the declarations of a module — types, classes, tables, global constants — through text in bbkit's style and
/// JSON. Returns what did not come back as it was.
///
/// ```
/// use bbkit::roundtrip_declarations;
/// use ircode::parse_module;
///
/// let module = parse_module("struct P\n    x::Float64\nend\n")?.module;
/// assert_eq!(roundtrip_declarations(&module), []);
/// # Ok::<(), ircode::TextError>(())
/// ```
pub fn roundtrip_declarations<F>(module: &Module<F>) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let mut declarations: Module<IRCode> = Module::new();
    for declaration in module.declarations() {
        if let Err(twice) = declarations.declare(declaration) {
            mismatches.push(Mismatch { way: "declare", problem: twice.to_string() });
        }
    }
    if declarations.declarations().next().is_none() {
        return mismatches;
    }
    let text = print_module(&declarations, Style::Bbkit);
    let read = parse_module(&text).map(|parsed| parsed.module).map_err(|error| error.to_string());
    let loaded = dump(&declarations).and_then(|json| from_json(&json).map_err(|error| error.to_string()));
    for (way, back) in [("text (bbkit)", read), ("json", loaded)] {
        let problem = match back {
            Ok(back) if back == declarations => continue,
            Ok(back) => first_difference(&text, &print_module(&back, Style::Bbkit)),
            Err(problem) => problem,
        };
        mismatches.push(Mismatch { way, problem });
    }
    mismatches
}

/// The manners of Julia's versions, each with its name.
const JULIA_STYLES: &[(&str, Style)] = &[
    ("text (julia)", Style::Julia),
    ("text (1.5)", Style::Version(JuliaVersion::new(1, 5))),
    ("text (1.10)", Style::Version(JuliaVersion::new(1, 10))),
    ("text (1.12)", Style::Version(JuliaVersion::new(1, 12))),
];

/// The conversions that are checked. Tests put wrong ones in their place, to see that they are found.
#[doc(hidden)]
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
        let mut check = |way: &'static str, result: Result<(), String>| {
            if let Err(problem) = result {
                mismatches.push(Mismatch { way, problem });
            }
        };
        check("verify", function.body.verify().map_err(|violations| violations.to_string()));
        check("text (bbkit)", self.exact_text(function));
        if function.body.new_nodes.is_empty() {
            for (way, style) in JULIA_STYLES {
                check(way, self.julia_text(function, *style));
            }
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
                    let body = |body: IRCode| Function { body, ..function.clone() };
                    let same =
                        |back: IRCode| if back == ir { Ok(()) } else { different(&body(ir.clone()), &body(back)) };
                    check("ircode → bbcode → ircode", back.and_then(same));
                    check("bbcode → ircode → bbcode", self.bbcode_and_back(&bb));
                    check("json (bbcode)", self.bbcode_json(&bb));
                    check("verify (bbcode)", same_verdict(&ir, &bb));
                }
            },
        }
        mismatches
    }

    fn exact_text(&self, function: &Function<IRCode>) -> Result<(), String> {
        let text = (self.carry)(print_function(function, Style::Bbkit));
        let parsed = parse_module(&text).map_err(|error| error.to_string())?;
        match parsed.module.functions() {
            [back] if back == function => Ok(()),
            [back] => different(function, back),
            others => Err(format!("{} came back", counted(others.len(), "function"))),
        }
    }

    /// What Julia's style omits cannot come back, so the text is compared.
    fn julia_text(&self, function: &Function<IRCode>, style: Style) -> Result<(), String> {
        let text = print_function(function, style);
        let parsed = parse_module(&(self.carry)(text.clone())).map_err(|error| error.to_string())?;
        let again: Vec<String> = parsed.module.functions().iter().map(|f| print_function(f, style)).collect();
        match again.as_slice() {
            [again] if *again == text => Ok(()),
            [again] => Err(first_difference(&text, again)),
            others => Err(format!("{} came back", counted(others.len(), "function"))),
        }
    }

    fn json(&self, function: &Function<IRCode>) -> Result<(), String> {
        let mut module = Module::new();
        module.add_function(function.clone()).map_err(|error| error.to_string())?;
        let json = (self.carry)(dump(&module)?);
        let back: Module<IRCode> = from_json(&json).map_err(|error| error.to_string())?;
        if back == module { Ok(()) } else { Err(first_difference(&dump(&module)?, &dump(&back)?)) }
    }

    fn bbcode_and_back(&self, bb: &BBCode) -> Result<(), String> {
        let laid_out = bb.laid_out().map_err(|error| error.to_string())?;
        let ir = (self.to_ircode)(&laid_out).map_err(|error| error.to_string())?;
        let back = (self.to_bbcode)(&ir).map_err(|error| error.to_string())?;
        let again = laid_out.laid_out().map_err(|error| error.to_string())?;
        if back != laid_out {
            return Err(first_difference(&laid_out.to_string(), &back.to_string()));
        }
        if again == laid_out { Ok(()) } else { Err("laying it out a second time changes it".into()) }
    }

    fn bbcode_json(&self, bb: &BBCode) -> Result<(), String> {
        let mut module = Module::new();
        module
            .add_function(Function::new("f", ircode::Type::Untyped, bb.clone()))
            .map_err(|error| error.to_string())?;
        let json = (self.carry)(dump(&module)?);
        let back: Module<BBCode> = from_json(&json).map_err(|error| error.to_string())?;
        if back == module { Ok(()) } else { Err(first_difference(&dump(&module)?, &dump(&back)?)) }
    }
}

/// Says where two functions differ that must be equal: their dumps hold a statement a line.
fn different(function: &Function<IRCode>, back: &Function<IRCode>) -> Result<(), String> {
    let alone = |function: &Function<IRCode>| {
        let mut module = Module::new();
        module.add_function(function.clone()).map_err(|error| error.to_string())?;
        dump(&module)
    };
    Err(first_difference(&alone(function)?, &alone(back)?))
}

fn dump<F: Dump>(module: &Module<F>) -> Result<String, String> {
    to_json(module).map_err(|error| error.to_string())
}

/// The part of a line where another begins to differ.
fn around(line: Option<&str>, other: Option<&str>) -> String {
    const BEFORE: usize = 60;
    const LENGTH: usize = 160;
    let Some(line) = line else { return "nothing".into() };
    let same = line.chars().zip(other.unwrap_or_default().chars()).take_while(|(a, b)| a == b).count();
    let start = same.saturating_sub(BEFORE);
    let part: String = line.chars().skip(start).take(LENGTH).collect();
    let (left, right) =
        (if start > 0 { "…" } else { "" }, if line.chars().count() > start + LENGTH { "…" } else { "" });
    format!("`{left}{}{right}`", part.trim())
}

/// The first line in which two texts differ.
fn first_difference(text: &str, back: &str) -> String {
    let (mut lines, mut back) = (text.lines(), back.lines());
    loop {
        match (lines.next(), back.next()) {
            (Some(line), Some(other)) if line == other => {}
            (None, None) => return "what came back is different".into(),
            (line, other) => return format!("{} came back as {}", around(line, other), around(other, line)),
        }
    }
}

/// Both verifiers must find the same.
fn same_verdict(ir: &IRCode, bb: &BBCode) -> Result<(), String> {
    let checks = |violations: Vec<ircode::Check>| {
        let mut checks = violations;
        checks.sort_unstable();
        checks
    };
    let of_ir = ir.verify().err().map(|violations| checks(violations.0.iter().map(|v| v.check).collect()));
    let of_bb = bb.verify().err().map(|violations| checks(violations.0.iter().map(|v| v.check).collect()));
    if of_ir == of_bb { Ok(()) } else { Err(format!("{of_ir:?} became {of_bb:?}")) }
}
