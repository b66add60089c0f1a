//! The rules that come with bbkit as texts, and the entries of a rule table. Of two hundred rules a program needs a
//! dozen: each is read from its text when it is first asked for. To read them all takes as long as to derive two
//! hundred statements.

use std::sync::{Arc, OnceLock};

use ircode::primitives::lookup;
use ircode::{Function, IRCode, Module, parse_module};

use super::{Rule, RuleError, RuleErrorKind, RuleKind, RuleTarget, reading};

/// A function in a file that comes with bbkit.
#[derive(Debug)]
pub(super) struct Unread {
    /// Its name.
    pub(super) name: &'static str,
    text: &'static str,
    function: OnceLock<Option<Function<IRCode>>>,
}

impl Unread {
    /// The function, which is read now if it was not yet. `None` for a text that holds none.
    pub(super) fn function(&self) -> Option<&Function<IRCode>> {
        let read = || parse_module(self.text).ok()?.module.functions().first().cloned();
        self.function.get_or_init(read).as_ref()
    }
}

/// The functions in the text of a file, which begin with `function`, and end with `end`, on lines of their own.
pub(super) fn split(text: &'static str) -> impl Iterator<Item = Unread> {
    text.split_inclusive("\nend\n").filter_map(|part| {
        let at = match part.strip_prefix("function ") {
            Some(_) => 0,
            None => part.find("\nfunction ")? + 1,
        };
        let text = part.get(at..)?;
        let header = text.strip_prefix("function ")?;
        let name = match header.strip_prefix("var\"") {
            Some(quoted) => quoted.split('"').next()?,
            None => header.split('(').next()?,
        };
        Some(Unread { name, text, function: OnceLock::new() })
    })
}

/// A rule of a table, with what the table finds it by.
#[derive(Debug)]
pub(super) struct Entry {
    /// What it is the derivative of.
    pub(super) target: RuleTarget,
    /// Which derivative it gives.
    pub(super) kind: RuleKind,
    /// What it is read from, unless it was read at first.
    unread: Option<Unread>,
    rule: OnceLock<Option<Arc<Rule>>>,
}

impl From<Rule> for Entry {
    fn from(rule: Rule) -> Self {
        let (target, kind) = (rule.target.clone(), rule.kind);
        Entry { target, kind, unread: None, rule: OnceLock::from(Some(Arc::new(rule))) }
    }
}

impl Entry {
    /// The entry of a rule for a built-in primitive, in a file of this name.
    ///
    /// # Errors
    ///
    /// [`RuleError`] if the name of the function is not that of such a rule.
    pub(super) fn of_primitive(file: &str, unread: Unread) -> Result<Entry, RuleError> {
        let error = |kind| RuleError { file: file.into(), rule: Some(unread.name.into()), statement: None, kind };
        let (of, kind) = reading::target_and_kind(unread.name).ok_or_else(|| error(RuleErrorKind::Name))?;
        let primitive = lookup(of).ok_or_else(|| error(RuleErrorKind::NoTarget(of.into())))?;
        Ok(Entry { target: RuleTarget::Primitive(primitive), kind, unread: Some(unread), rule: OnceLock::new() })
    }

    /// The rule, which is read now if it was not yet. `None` for a text that holds no rule of the right form.
    pub(super) fn rule(&self) -> Option<&Arc<Rule>> {
        let read = || {
            let names: Module<IRCode> = Module::new();
            reading::read_rule(self.unread.as_ref()?.function()?, &names).ok().map(Arc::new)
        };
        self.rule.get_or_init(read).as_ref()
    }
}
