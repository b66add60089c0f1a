//! Saying where what cannot be differentiated stands: between an argument and the result.

use bbcode::InstId;
use ircode::Operand;
use slotmap::SecondaryMap;

use super::super::NAME;
use super::super::objects::Class;
use super::super::operation::argument;
use super::{Analysis, Cause, Reason};
use crate::PassError;
use crate::analyses::slots::{self, why_it_stays};
use crate::differentiation::refusals::Refusal;

impl Analysis<'_> {
    /// The error that a reason is, with the statements by which the result depends on it.
    pub(super) fn error(
        &self,
        reason: &Reason,
        cause: Cause,
        wanted_by: &SecondaryMap<InstId, Cause>,
        class_wanted_by: &[Option<Cause>],
    ) -> PassError {
        let slot = reason.at.and_then(|at| {
            let statements: Vec<_> = self.subject.bb.all_insts().map(|(id, inst)| (id, &inst.stmt)).collect();
            why_it_stays(self.subject.module, &statements, at)
        });
        let (at, refusal) = match slot {
            Some((at, message)) => (Some(at), Refusal::new(message, Some(slots::HELP))),
            None => (reason.at, reason.refusal.clone()),
        };
        let error = PassError::new(NAME, self.subject.name, refusal.message).of_kind(refusal.kind);
        let error = match at {
            Some(at) => error.at(self.subject.bb, at),
            None => error,
        };
        let mut chain = self.way_from_argument(reason);
        chain.extend(self.way_to_result(reason, cause, wanted_by, class_wanted_by));
        // Several statements that were made of one are shown as that.
        chain.dedup();
        let way = (chain.len() > 1).then(|| format!("the result depends on it by {}", chain.join(" → ")));
        let help: Vec<String> = refusal.help.map(str::to_string).into_iter().chain(way).collect();
        if help.is_empty() { error } else { error.with_help(help.join("; ")) }
    }

    /// The statements from an argument to where the reason is.
    fn way_from_argument(&self, reason: &Reason) -> Vec<String> {
        let mut chain = Vec::new();
        let mut seen: SecondaryMap<InstId, ()> = SecondaryMap::new();
        let mut at = reason.at;
        while let Some(id) = at {
            if seen.insert(id, ()).is_some() {
                break;
            }
            chain.push(self.shown(id));
            at = match self.causes.get(id).cloned().or_else(|| self.stored_cause(id)) {
                Some(Cause::Operand(Operand::Value(value))) => Some(value),
                Some(Cause::Operand(Operand::Argument(argument))) => {
                    chain.push(format!("_{}", argument.0));
                    None
                }
                Some(Cause::Class(class)) => match self.class_causes.get(class).copied().flatten() {
                    Some(store) => Some(store),
                    None => {
                        chain.extend(self.argument_of(class));
                        None
                    }
                },
                _ => None,
            };
        }
        chain.reverse();
        chain
    }

    /// Through which operand a statement stores what depends on the arguments.
    fn stored_cause(&self, id: InstId) -> Option<Cause> {
        let mut cause = None;
        self.operations.get(id)?.for_each_input(self.subject.bb, id, &mut |operand| {
            if cause.is_none() && !self.varied.of(operand).is_none() {
                cause = Some(Cause::Operand(operand.clone()));
            }
        });
        cause
    }

    fn argument_of(&self, class: Class) -> Option<String> {
        let is_of = |index: &usize| self.objects.class(&argument(*index)) == Some(class);
        (0..self.argument_tangents.len()).find(is_of).map(|index| format!("_{}", index + 1))
    }

    /// The statements from where the reason is to the result.
    fn way_to_result(
        &self,
        reason: &Reason,
        cause: Cause,
        wanted_by: &SecondaryMap<InstId, Cause>,
        class_wanted_by: &[Option<Cause>],
    ) -> Vec<String> {
        let mut chain = Vec::new();
        let mut seen: SecondaryMap<InstId, ()> = SecondaryMap::new();
        let mut at = cause;
        for _ in 0..class_wanted_by.len() + self.subject.bb.inst_count() {
            at = match at {
                Cause::Operand(Operand::Value(value)) => {
                    if reason.at != Some(value) {
                        chain.push(self.shown(value));
                    }
                    if seen.insert(value, ()).is_some() {
                        break;
                    }
                    match wanted_by.get(value) {
                        Some(by) => by.clone(),
                        None => break,
                    }
                }
                Cause::Class(class) => match class_wanted_by.get(class).cloned().flatten() {
                    Some(by) => by,
                    None => break,
                },
                Cause::Operand(_) | Cause::Result => break,
            };
        }
        chain.push("the result".into());
        chain
    }

    /// A statement by its number in the function as it was given.
    fn shown(&self, id: InstId) -> String {
        let origin = self.subject.bb.inst(id).and_then(|inst| {
            self.subject.bb.debuginfo.origins(inst.line).into_iter().next().map(|origin| origin.statement)
        });
        match origin {
            Some(statement) => format!("%{statement}"),
            None => "a statement".into(),
        }
    }
}
