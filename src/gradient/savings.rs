//! What each technique that makes a derivative small saves.

use std::fmt;

use exec::Value;
use ircode::{IRCode, Module};
use passes::reverse_mode::Savings;

use super::statistics::run_gradient;
use super::{GradientError, GradientOptions};

/// How many values the gradient saves with more and more techniques.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SavingsReport {
    /// What is saved without any technique, and then with one more for each row.
    pub rows: Vec<SavingsRow>,
}

/// What is saved with the techniques up to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SavingsRow {
    /// The technique that comes in here; `None` in the first row.
    pub technique: Option<&'static str>,
    /// How many values the gradient saves with it and those before.
    pub saved: u64,
    /// How many statements it executes.
    pub statements: u64,
}

/// A line each: the technique, the values saved and the statements executed.
impl fmt::Display for SavingsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20} {:>14} {:>14}", "", "values saved", "statements")?;
        for SavingsRow { technique, saved, statements } in &self.rows {
            let name = technique.map_or_else(|| "as it comes".into(), |name| format!("+ {name}"));
            writeln!(f, "{name:<20} {saved:>14} {statements:>14}")?;
        }
        Ok(())
    }
}

/// Runs the gradient on copies of the arguments without the techniques that make it small, and with one more each time,
/// in the order of [`Savings::names`]; those that the options turn off stay off, and have no row.
///
/// # Errors
///
/// [`GradientError`].
pub fn savings_report(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &GradientOptions,
) -> Result<SavingsReport, GradientError> {
    let mut savings = Savings::none();
    let mut rows = Vec::new();
    let wanted = Savings::names().filter(|name| options.savings.without(name) != Some(options.savings));
    for technique in std::iter::once(None).chain(wanted.map(Some)) {
        savings = technique.and_then(|name| savings.with(name)).unwrap_or(savings);
        let ran = run_gradient(module, name, args, &options.clone().savings(savings))?;
        rows.push(SavingsRow { technique, saved: ran.saved, statements: ran.statements });
    }
    Ok(SavingsReport { rows })
}
