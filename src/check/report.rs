//! What was found out about a derivative.

use std::fmt;

/// What a check found.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// It holds; how far it is off, where numbers are compared.
    Passed(Option<f64>),
    /// It could not be made, and why.
    Skipped(String),
    /// It does not hold: where, and what was found instead.
    Failed(String),
}

/// A check and what it found.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// What was found.
    pub outcome: Outcome,
}

/// What the checks of a derivative found, in the order in which they were made.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckReport {
    /// The checks.
    pub checks: Vec<Check>,
}

impl CheckReport {
    /// Whether no check failed.
    pub fn is_right(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Failed(_)))
    }

    pub(super) fn add(&mut self, name: &'static str, outcome: Outcome) {
        self.checks.push(Check { name, outcome });
    }

    pub(super) fn skip(&mut self, name: &'static str, why: &str) {
        self.add(name, Outcome::Skipped(why.into()));
    }
}

/// A line each.
impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Check { name, outcome } in &self.checks {
            write!(f, "{name:<18} ")?;
            match outcome {
                Outcome::Passed(None) => writeln!(f, "ok")?,
                Outcome::Passed(Some(error)) => writeln!(f, "ok, off by {error:.0e}")?,
                Outcome::Skipped(why) => writeln!(f, "not checked: {why}")?,
                Outcome::Failed(what) => writeln!(f, "FAILED: {what}")?,
            }
        }
        Ok(())
    }
}
