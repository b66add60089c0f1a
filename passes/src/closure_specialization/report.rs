//! What became of closures.

use std::fmt;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::primitives::Transfer;
use ircode::{Head, Module, Name, Operand, SSAValue, Stmt};
use slotmap::SecondaryMap;

use super::clones::Target;
use super::places::seen_through;
use crate::closure_folding::made_closure;

/// What was specialised, and what was not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Whether the module was changed.
    pub changed: bool,
    /// The places where a function was given something else in the place of closures, in the order in which they were
    /// rewritten.
    pub specialized: Vec<Specialized>,
    /// The closures that stay, in the order of the module and of the statements.
    pub kept: Vec<Kept>,
    /// The functions that were removed, in the order of the module.
    pub removed: Vec<Name>,
    /// The enums that were removed, in the order of the module.
    pub removed_types: Vec<Name>,
}

/// A function or an enum that another one took the place of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Specialized {
    /// Where.
    pub function: Name,
    /// The statement there: its number before the pass, or when its function was cloned. `None` for an enum, or a
    /// function that takes one.
    pub statement: Option<SSAValue>,
    /// What was used before.
    pub from: Name,
    /// What took its place.
    pub to: Name,
}

impl fmt::Display for Specialized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statement {
            Some(statement) => write!(f, "{}, {statement}: {} became {}", self.function, self.from, self.to),
            None => write!(f, "{}: {} became {}", self.function, self.from, self.to),
        }
    }
}

/// A closure that stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The function that makes it.
    pub function: Name,
    /// The statement there, as it is numbered after the pass.
    pub statement: SSAValue,
    /// What it is a closure of.
    pub of: Name,
    /// Why it stays.
    pub reason: Reason,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: the closure of {} stays: {}", self.function, self.statement, self.of, self.reason)
    }
}

/// Why a closure stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It is returned, alone or in a tuple: whoever called the function applies it.
    Returned,
    /// It is given to a function that does not apply it.
    NotApplied(Name),
    /// It is given to a function that takes any number of arguments.
    AnyNumber(Name),
    /// It is given to another number of arguments than the function takes.
    WrongNumber(Name),
    /// A closure captures it, and somewhere is asked whether a closure is one of that one's function.
    Asked(Name),
    /// It is given to a function whose entry is the head of a loop.
    EntryLoops(Name),
    /// It is given to a function that is specialised within itself as often as is allowed.
    Recursion(Name),
    /// It is given to a function, and the module has grown as far as is allowed.
    TooLarge(Name),
    /// It is given to something of which is not known what it is.
    Unknown,
    /// A φ takes it or something else.
    Joined,
    /// It is stored: in a tuple, an array, a structure, or an enum or a stack about which nothing more is known.
    Stored,
    /// It is stored in an enum or a stack that stays as it is.
    Held {
        /// The enum, or the type of the stack.
        by: Name,
        /// Why that stays.
        because: Misuse,
    },
    /// Where it is stored, in an enum or a stack, other things are stored as well.
    Differs(Name),
    /// It is applied to another number of arguments than its function takes, which is an error when the program runs.
    Misapplied,
    /// Nobody uses it.
    Unused,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Returned => f.write_str("it is returned"),
            Reason::NotApplied(name) => write!(f, "{name}, which it is given to, does not apply it"),
            Reason::AnyNumber(name) => write!(f, "{name}, which it is given to, takes any number of arguments"),
            Reason::WrongNumber(name) => write!(f, "{name}, which it is given to, takes another number of arguments"),
            Reason::Asked(name) => {
                write!(f, "a closure of {name} captures it, and whether closures are of {name} is asked")
            }
            Reason::EntryLoops(name) => write!(f, "the entry of {name}, which it is given to, is the head of a loop"),
            Reason::Recursion(name) => {
                write!(f, "{name}, which it is given to, is specialised within itself too often")
            }
            Reason::TooLarge(name) => {
                write!(f, "the module would grow too large by a clone of {name}, which it is given to")
            }
            Reason::Unknown => f.write_str("it is given to something that is known only when the program runs"),
            Reason::Joined => f.write_str("a φ takes it or something else"),
            Reason::Stored => f.write_str("it is stored"),
            Reason::Held { by, because } => write!(f, "it is stored in {by}, which {because}"),
            Reason::Differs(by) => write!(f, "it is stored in {by}, where closures of other functions are stored, too"),
            Reason::Misapplied => f.write_str("it is applied to another number of arguments than its function takes"),
            Reason::Unused => f.write_str("nobody uses it"),
        }
    }
}

/// Why an enum or a stack with closures in it stays as it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Misuse {
    /// One comes from elsewhere: from an argument, a call, memory.
    Elsewhere,
    /// It is returned.
    Returned,
    /// A φ takes it or something that is not known.
    Joined,
    /// It is stored where it is not known any more.
    Stored,
    /// It is given to a function that does not take it as what it is.
    NotTaken(Name),
    /// A closure captures it, and somewhere is asked whether a closure is one of that one's function.
    Asked(Name),
    /// It is taken apart by a case or a number that only the run tells, or that it does not have.
    NotConstant,
    /// Something else is done with it.
    Used,
    /// It holds itself.
    Recursive,
    /// What is to be cloned for it would make the module too large.
    TooLarge,
    /// What is stored in it depends on too much that stays.
    Undecided,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::Elsewhere => f.write_str("comes from elsewhere"),
            Misuse::Returned => f.write_str("is returned"),
            Misuse::Joined => f.write_str("goes into a φ with something that is not known"),
            Misuse::Stored => f.write_str("is stored"),
            Misuse::NotTaken(name) => write!(f, "is given to {name}, which takes it for something else"),
            Misuse::Asked(name) => {
                write!(f, "is captured by a closure of {name}, and whether closures are of {name} is asked")
            }
            Misuse::NotConstant => f.write_str("is taken apart by what only the run tells"),
            Misuse::Used => f.write_str("is used otherwise than by being taken apart"),
            Misuse::Recursive => f.write_str("holds itself"),
            Misuse::TooLarge => f.write_str("would make the module too large"),
            Misuse::Undecided => f.write_str("depends on too much that stays"),
        }
    }
}

/// The numbers of the statements of a function.
pub(super) struct Numbers(SecondaryMap<InstId, usize>);

impl Numbers {
    pub(super) fn new(bb: &BBCode) -> Numbers {
        Numbers(bb.all_insts().enumerate().map(|(number, (id, _))| (id, number)).collect())
    }

    pub(super) fn of(&self, id: InstId) -> SSAValue {
        SSAValue::from_index(self.0.get(id).copied().unwrap_or(0))
    }
}

/// Why the closures stay that are left in a module, in the order of the module and of the statements. `refused` says it
/// of those that are given to functions: by the number of the function that makes them, and the statement. Linear in
/// the module.
pub(super) fn kept(module: &Module<BBCode>, refused: &HashMap<(usize, InstId), Reason>) -> Vec<Kept> {
    let mut all = Vec::new();
    for (index, function) in module.functions().iter().enumerate() {
        let bb = &function.body;
        let made = bb.all_insts().filter_map(|(id, inst)| Some((id, made_closure(module, &inst.stmt)?.function)));
        let made: Vec<(InstId, Operand<Ids>)> = made.collect();
        if made.is_empty() {
            continue;
        }
        // A closure is mostly returned beside a value.
        let returned = |stmt: &Stmt<Ids>| match stmt {
            Stmt::Return(ret) => ret.value.as_ref().and_then(|value| seen_through(bb, value).as_value()),
            _ => None,
        };
        let returned: SecondaryMap<InstId, ()> =
            bb.all_insts().filter_map(|(_, inst)| Some((returned(&inst.stmt)?, ()))).collect();
        let mut reasons: SecondaryMap<InstId, Reason> = made.iter().map(|&(id, _)| (id, Reason::Unused)).collect();
        for (user, inst) in bb.all_insts() {
            if matches!(inst.stmt, Stmt::Pi(_) | Stmt::Value(_)) {
                continue;
            }
            inst.stmt.for_each_operand(&mut |operand| {
                if let Some(value) = seen_through(bb, operand).as_value()
                    && let Some(reason @ Reason::Unused) = reasons.get_mut(value)
                {
                    let refused = refused.get(&(index, value)).cloned();
                    *reason = refused.unwrap_or_else(|| match used_by(module, &inst.stmt, operand) {
                        Reason::Stored if returned.contains_key(user) => Reason::Returned,
                        reason => reason,
                    });
                }
            });
        }
        let numbers = Numbers::new(bb);
        all.extend(made.into_iter().map(|(id, of)| Kept {
            function: function.name.clone(),
            statement: numbers.of(id),
            of: Target::of(module, &of).map_or_else(|| Name::from(""), |of| of.name(module)),
            reason: reasons.remove(id).unwrap_or(Reason::Unused),
        }));
    }
    all
}

fn used_by(module: &Module<BBCode>, stmt: &Stmt<Ids>, operand: &Operand<Ids>) -> Reason {
    match stmt {
        Stmt::Return(_) => Reason::Returned,
        Stmt::Phi(_) | Stmt::PhiC(_) | Stmt::Upsilon(_) => Reason::Joined,
        Stmt::Call(call) if call.callee == *operand => Reason::Misapplied,
        Stmt::Expr(expr) if expr.head == Head::New => Reason::Stored,
        stmt => match module.primitive_call(stmt) {
            Some((primitive, _)) if matches!(primitive.transfer, Transfer::Store { .. } | Transfer::Aggregate) => {
                Reason::Stored
            }
            _ => Reason::Unknown,
        },
    }
}

/// The name of a function of the module.
pub(super) fn name(module: &Module<BBCode>, function: usize) -> Name {
    module.functions().get(function).map_or_else(|| Name::from(""), |function| function.name.clone())
}
