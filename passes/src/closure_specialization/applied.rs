//! Which functions apply what they are given.

use bbcode::{BBCode, Ids};
use hashbrown::{HashMap, HashSet};
use ircode::{Module, Operand};

use super::places::{Place, seen_through};

/// How many parameters are looked at to find out about one. Swift looks into 8 functions.
const BUDGET: usize = 64;

/// What functions do with their parameters, found out where somebody asks.
#[derive(Debug, Default)]
pub(super) struct Applied {
    functions: HashMap<usize, Vec<Parameter>>,
}

/// What a function does with a parameter.
#[derive(Clone, Debug, Default)]
struct Parameter {
    applied: bool,
    /// The parameters of functions that it is given for.
    passed: Vec<(usize, usize)>,
}

impl Applied {
    /// Whether a parameter of a function is applied, by it or by what it is passed to. 0 is `_2`.
    pub(super) fn is_applied(&mut self, module: &Module<BBCode>, function: usize, parameter: usize) -> bool {
        let mut seen: HashSet<(usize, usize)> = HashSet::new();
        let mut work = vec![(function, parameter)];
        while let Some(at) = work.pop() {
            if seen.len() == BUDGET || !seen.insert(at) {
                continue;
            }
            let (function, parameter) = at;
            let known = self.functions.entry(function).or_insert_with(|| parameters(module, function));
            match known.get(parameter) {
                Some(found) if found.applied => return true,
                Some(found) => work.extend(&found.passed),
                None => {}
            }
        }
        false
    }
}

fn parameters(module: &Module<BBCode>, function: usize) -> Vec<Parameter> {
    let Some(bb) = module.functions().get(function).map(|function| &function.body) else { return Vec::new() };
    let mut found = vec![Parameter::default(); bb.argtypes.len().saturating_sub(1)];
    let number = |operand: &Operand<Ids>| match seen_through(bb, operand) {
        Operand::Argument(argument) => argument.index()?.checked_sub(1),
        _ => None,
    };
    for (_, inst) in bb.all_insts() {
        let Some((callee, _)) = inst.stmt.as_call() else { continue };
        let applied = number(callee);
        let asked = match module.primitive_call(&inst.stmt) {
            Some((primitive, [closure, ..])) if matches!(primitive.name, "applies" | "captured") => number(closure),
            _ => None,
        };
        for parameter in [applied, asked].into_iter().flatten() {
            if let Some(found) = found.get_mut(parameter) {
                found.applied = true;
            }
        }
        if let Some((place, None)) = Place::of(module, &inst.stmt) {
            for (index, given) in place.given.iter().enumerate() {
                if let Some(found) = number(given).and_then(|parameter| found.get_mut(parameter)) {
                    found.passed.push((place.function, place.first + index));
                }
            }
        }
    }
    found
}
