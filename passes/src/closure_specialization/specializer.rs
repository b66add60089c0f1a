//! Goes over the functions of a module, and puts specialisations in their places.

use std::rc::Rc;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{CallGraph, Module, Name, Operand, Type, TypeDef, TypeKind};
use slotmap::SecondaryMap;

use super::applied::Applied;
use super::clones::{Target, Way, specialized};
use super::flow::{Flow, Known};
use super::names::{cut, specialized_name};
use super::places::{Misfit, Place, asked, in_order, seen_through};
use super::recast::{Candidates, makes_thing};
use super::report::{Numbers, Reason, Report, Specialized, kept, name};
use super::rewrite::{Rewriter, ways};
use super::things::{Cell, Kind, Shape, Things};
use super::{NAME, report, unused};
use crate::closure_folding::made_closure;
use crate::free_names::FreeNames;
use crate::manager::Context;
use crate::{PassError, closure_folding, dead_code, run_on_function};

/// How often a function may be specialised within a specialisation of itself.
const SAME: u32 = 8;

/// Clones have at most this many times the statements that the module has, and those of [`FREE`].
const FACTOR: usize = 4;

/// What clones may have in any module, so that small ones are not held short.
const FREE: usize = 4096;

pub(super) struct Specializer<'m> {
    module: &'m mut Module<BBCode>,
    applied: Applied,
    /// The functions whose closures must stay closures of them.
    asked: Rc<HashSet<usize>>,
    /// The enums and stacks that were looked at.
    things: Things,
    /// The enums that specialised ones have taken the place of.
    old_types: Vec<Name>,
    /// The clones that were made, and of what.
    clones: HashMap<(usize, Vec<Way>), usize>,
    /// Which functions a clone was specialised with, within itself, and how often each; functions that are no clones
    /// have none.
    lineage: HashMap<usize, Lineage>,
    /// The names of clones and of types.
    names: FreeNames,
    /// The clones that are still to be gone over, the last first.
    fresh: Vec<usize>,
    /// How many statements clones may still have.
    left: usize,
    /// How many statements may still be looked at to see where enums and stacks go.
    effort: usize,
    /// The functions that a specialisation has taken the place of.
    replaced: Vec<bool>,
    /// Why closures stay that were given to functions.
    refused: HashMap<(usize, InstId), Reason>,
    report: Report,
}

/// How many statements the clones of a module may have.
pub(crate) fn most_statements(module: &Module<BBCode>) -> usize {
    let size: usize = module.functions().iter().map(|each| each.body.inst_count()).sum();
    size * FACTOR + FREE
}

/// Functions that are no clones, by their numbers, and how often each was specialised on the way to a clone.
#[derive(Clone, Debug)]
struct Lineage {
    /// What it is a clone of in the end.
    of: usize,
    times: Vec<(usize, u32)>,
}

/// A function that takes the place of another, and what it is given.
type Replacement = (usize, Vec<Operand<Ids>>);

/// A closure that the function at hand makes.
struct Closure {
    operand: Operand<Ids>,
    target: Target,
    captured: Vec<Operand<Ids>>,
}

impl<'m> Specializer<'m> {
    /// `left` is how many statements clones may have, all in all.
    pub(super) fn new(module: &'m mut Module<BBCode>, left: usize) -> Specializer<'m> {
        let effort = most_statements(module);
        let replaced = vec![false; module.functions().len()];
        let asked = Rc::new(asked(module));
        Specializer {
            module,
            applied: Applied::default(),
            asked,
            things: Things::default(),
            old_types: Vec::new(),
            clones: HashMap::new(),
            lineage: HashMap::new(),
            names: FreeNames::default(),
            fresh: Vec::new(),
            left,
            effort,
            replaced,
            refused: HashMap::new(),
            report: Report::default(),
        }
    }

    /// Specialises; the report, and how many statements further clones may have.
    pub(super) fn run(mut self, only: Option<&Name>) -> Result<(Report, usize), PassError> {
        let order = CallGraph::new(&*self.module).bottom_up().concat();
        let only_index = only.and_then(|name| self.module.function_index(name));
        for function in order {
            if only.is_some() && only_index != Some(function) {
                continue;
            }
            self.fresh.push(function);
            while let Some(function) = self.fresh.pop() {
                self.go_over(function)?;
            }
        }
        self.report.kept = kept(self.module, &self.refused);
        if self.report.changed {
            self.report.removed = unused::remove(self.module, &self.replaced, only);
            self.report.removed_types = unused::remove_types(self.module, &self.old_types);
            let gone: HashSet<&Name> = self.report.removed.iter().collect();
            self.report.kept.retain(|kept| !gone.contains(&kept.function));
        }
        Ok((self.report, self.left))
    }

    /// Puts specialisations in the places of a function.
    fn go_over(&mut self, function: usize) -> Result<(), PassError> {
        let Some(caller) = self.module.functions().get(function) else { return Ok(()) };
        if !caller.body.all_insts().any(|(_, inst)| made_closure(self.module, &inst.stmt).is_some()) {
            return Ok(());
        }
        let numbers = Numbers::new(&caller.body);
        let caller_name = caller.name.clone();
        let mut changed = run_on_function(self.module, &caller_name, closure_folding::run)?;
        let Some(caller) = self.module.functions().get(function) else { return Ok(()) };
        let order = in_order(&caller.body);
        let mut made: SecondaryMap<InstId, Closure> = SecondaryMap::new();
        for id in order {
            let Some(bb) = self.module.functions().get(function).map(|function| &function.body) else { break };
            let Some(stmt) = bb.stmt(id) else { continue };
            if let Some((place, misfit)) = Place::of(self.module, stmt) {
                let given = closures_given(bb, &place, &made);
                if let Some((target, args)) = self.respecialized(function, &place, misfit, &given, &made)? {
                    let to = name(self.module, target);
                    let new = place.of_function(Operand::global("Main", &to), args);
                    let from = name(self.module, place.function);
                    if let Some(body) = self.module.body_mut(&caller_name) {
                        body.replace(id, new).map_err(|error| PassError::because(NAME, &caller_name, error))?;
                    }
                    let statement = Some(numbers.of(id));
                    self.report.specialized.push(Specialized { function: caller_name.clone(), statement, from, to });
                    changed = true;
                }
            }
            let stmt = self.module.functions().get(function).and_then(|function| function.body.stmt(id));
            if let Some(closure) = stmt.and_then(|stmt| made_closure(self.module, stmt))
                && let Some(target) = Target::of(self.module, &closure.function)
                && self.module.closure_type(&closure.function, closure.captured.len()).is_some()
            {
                made.insert(id, Closure { operand: closure.function, target, captured: closure.captured });
            }
        }
        let recast = self.recast(function, &caller_name)?;
        if changed || recast {
            run_on_function(self.module, &caller_name, dead_code::run)?;
            self.report.changed = true;
        }
        if recast {
            // What was taken apart in the same function may be applied there.
            self.fresh.push(function);
        }
        Ok(())
    }

    /// The specialisation for a place, and what it is given there; `None` if there is nothing to specialise.
    fn respecialized(
        &mut self,
        caller: usize,
        place: &Place,
        misfit: Option<Misfit>,
        given: &[Option<InstId>],
        made: &SecondaryMap<InstId, Closure>,
    ) -> Result<Option<Replacement>, PassError> {
        if given.iter().all(Option::is_none) {
            return Ok(None);
        }
        let callee = name(self.module, place.function);
        let refuse = |refused: &mut HashMap<(usize, InstId), Reason>, reason: &Reason| {
            for &closure in given.iter().flatten() {
                refused.insert((caller, closure), reason.clone());
            }
        };
        match misfit {
            Some(Misfit::AnyNumber) => {
                refuse(&mut self.refused, &Reason::AnyNumber(callee));
                return Ok(None);
            }
            Some(Misfit::WrongNumber) => {
                refuse(&mut self.refused, &Reason::WrongNumber(callee));
                return Ok(None);
            }
            None if place.captured && self.asked.contains(&place.function) => {
                refuse(&mut self.refused, &Reason::Asked(callee));
                return Ok(None);
            }
            None => {}
        }
        let mut ways = vec![Way::Kept; place.first];
        let mut operands: Vec<Option<Operand<Ids>>> = vec![None; place.first];
        let (mut args, mut appended) = (Vec::new(), Vec::new());
        let mut first: SecondaryMap<InstId, usize> = SecondaryMap::new();
        for (index, (value, closure)) in place.given.iter().zip(given).enumerate() {
            let parameter = place.first + index;
            let found = closure.and_then(|id| Some((id, made.get(id)?)));
            let (way, operand) = match found {
                Some((id, _)) if first.contains_key(id) => (Way::Same(first.get(id).copied().unwrap_or(0)), None),
                Some((id, closure)) if self.applied.is_applied(self.module, place.function, parameter) => {
                    first.insert(id, parameter);
                    appended.extend(closure.captured.iter().cloned());
                    let way = Way::Closure { of: closure.target, captured: closure.captured.len() };
                    (way, Some(closure.operand.clone()))
                }
                Some((id, _)) => {
                    self.refused.insert((caller, id), Reason::NotApplied(callee.clone()));
                    args.push(value.clone());
                    (Way::Kept, None)
                }
                None => {
                    args.push(value.clone());
                    (Way::Kept, None)
                }
            };
            ways.push(way);
            operands.push(operand);
        }
        if first.is_empty() {
            return Ok(None);
        }
        args.append(&mut appended);
        match self.clone_for(place.function, ways, &operands)? {
            Ok(target) => {
                if let Some(replaced) = self.replaced.get_mut(place.function) {
                    *replaced = true;
                }
                Ok(Some((target, args)))
            }
            Err(reason) => {
                refuse(&mut self.refused, &reason);
                Ok(None)
            }
        }
    }

    /// The specialisation of a function; made if it is not there.
    fn clone_for(
        &mut self,
        function: usize,
        ways: Vec<Way>,
        operands: &[Option<Operand<Ids>>],
    ) -> Result<Result<usize, Reason>, PassError> {
        let key = (function, ways);
        if let Some(&known) = self.clones.get(&key) {
            return Ok(Ok(known));
        }
        let ways = &key.1;
        let Some(original) = self.module.functions().get(function) else { return Ok(Err(Reason::Unknown)) };
        let bb = &original.body;
        if bb.entry().is_none_or(|entry| bb.cfg().predecessors(entry).next().is_some()) {
            return Ok(Err(Reason::EntryLoops(original.name.clone())));
        }
        let Some(lineage) = self.lineage_of(function, ways) else {
            return Ok(Err(Reason::Recursion(original.name.clone())));
        };
        let size = bb.inst_count();
        if size > self.left {
            return Ok(Err(Reason::TooLarge(original.name.clone())));
        }
        let index = self.add_clone(function, ways, operands)?;
        self.left -= size;
        self.lineage.insert(index, lineage);
        self.clones.insert(key, index);
        Ok(Ok(index))
    }

    /// Adds a clone of a function to the module. It is gone over later.
    fn add_clone(
        &mut self,
        function: usize,
        ways: &[Way],
        operands: &[Option<Operand<Ids>>],
    ) -> Result<usize, PassError> {
        let index = self.module.functions().len();
        let Some(original) = self.module.functions().get(function) else { return Ok(function) };
        let originally = |target: Target| match target {
            Target::Function(clone) => Target::Function(self.lineage.get(&clone).map_or(clone, |lineage| lineage.of)),
            primitive => primitive,
        };
        let thing = |shape: &Shape| match shape {
            Shape::Thing(thing) if self.things.element(*thing).is_some() => "stack".into(),
            Shape::Thing(thing) => self.things.name(*thing),
            _ => "".into(),
        };
        let wanted = specialized_name(&original.name, ways, |target| originally(target).name(self.module), thing);
        let module = &*self.module;
        // What takes specialised enums takes those of this run.
        if !ways.iter().any(|way| matches!(way, Way::Recast(_)))
            && let Some(known) = module.function_index(&wanted)
            && !self.lineage.contains_key(&known)
            && self.is_same(known, function, ways, operands)?
        {
            return Ok(known);
        }
        let name = self.names.find(&wanted, |name| module.function(name).is_some());
        let clone = specialized(module, &self.things, original, ways, operands, name)
            .map_err(|error| PassError::because(NAME, &original.name, error))?;
        self.module.replace_function(clone);
        self.replaced.push(false);
        self.fresh.push(index);
        Ok(index)
    }

    /// Whether a function that was there before is what this specialisation would be, as an earlier run left it.
    fn is_same(
        &self,
        known: usize,
        function: usize,
        ways: &[Way],
        operands: &[Option<Operand<Ids>>],
    ) -> Result<bool, PassError> {
        let functions = self.module.functions();
        let (Some(known), Some(original)) = (functions.get(known), functions.get(function)) else { return Ok(false) };
        let mut clone = specialized(self.module, &self.things, original, ways, operands, known.name.clone())
            .map_err(|error| PassError::because(NAME, &original.name, error))?;
        let context = Context { module: self.module, function: &known.name };
        closure_folding::run(&mut clone.body, &context)?;
        dead_code::run(&mut clone.body, &context)?;
        let same = clone.body.argtypes.get(1..) == known.body.argtypes.get(1..) && clone.result == known.result;
        Ok(same && !known.varargs && clone.body.to_string() == known.body.to_string())
    }

    /// Specialises the enums and stacks that a function makes.
    fn recast(&mut self, function: usize, name: &Name) -> Result<bool, PassError> {
        let Some(body) = self.module.functions().get(function).map(|function| &function.body) else { return Ok(false) };
        if !body.all_insts().any(|(_, inst)| makes_thing(self.module, &inst.stmt)) {
            return Ok(false);
        }
        let found = Candidates::find(self.module, body, &mut self.things, &self.asked);
        let demands = found.decide(self.module, &mut self.things, function, self.left, &mut self.effort);
        for (closure, reason) in found.kept(&self.things) {
            // What is said first is said of the enum that the program had.
            self.refused.entry((function, closure)).or_insert(reason);
        }
        let things: Vec<usize> = found.specialized(&self.things).collect();
        if things.is_empty() {
            return Ok(false);
        }
        self.declare(&things, name);
        let mut targets: Vec<(usize, Vec<Shape>, bool)> = vec![(function, Vec::new(), true)];
        for (callee, shapes) in demands {
            let key = (callee, ways(&shapes));
            if let Some(replaced) = self.replaced.get_mut(callee) {
                *replaced = true;
            }
            let size = self.module.functions().get(callee).map_or(0, |callee| callee.body.inst_count());
            let operands = vec![None; shapes.len()];
            let clone = self.add_clone(callee, &key.1, &operands)?;
            self.left = self.left.saturating_sub(size);
            let of = self.lineage.get(&callee).cloned().unwrap_or(Lineage { of: callee, times: Vec::new() });
            self.lineage.insert(clone, of);
            self.clones.insert(key, clone);
            let (from, to) = (report::name(self.module, callee), report::name(self.module, clone));
            self.report.specialized.push(Specialized { function: name.clone(), statement: None, from, to });
            targets.push((clone, shapes, false));
        }
        let nothing = SecondaryMap::new();
        for (target, shapes, makes) in targets {
            let target_name = report::name(self.module, target);
            let stacks = if makes { &found.stacks } else { &nothing };
            let (things, enums, asked, clones) = (&self.things, &found.enums, &self.asked, &self.clones);
            let arguments = std::iter::once(Shape::Plain).chain(shapes).collect();
            let rewritten = self.module.edit_beside(&target_name, |module, body| {
                let flow = Flow::find(Known { module, things, enums, stacks, asked }, body, arguments);
                Rewriter { module, things, clones, flow }.rewrite(body)
            });
            rewritten.transpose().map_err(|error| PassError::because(NAME, &target_name, error))?;
        }
        Ok(true)
    }

    /// Declares the specialised enums.
    fn declare(&mut self, things: &[usize], function: &Name) {
        let module = &*self.module;
        let mut named: Vec<(usize, Name)> = Vec::new();
        for &thing in things {
            let Some(Kind::Enum { name, cases, .. }) = self.things.all.get(thing).map(|thing| &thing.kind) else {
                continue;
            };
            let mut wanted = format!("{name}_spec");
            for (case, cells) in cases {
                let mut parts = String::new();
                for (part, (_, cell)) in cells.iter().enumerate() {
                    if matches!(self.things.cell(cell), Shape::Closure(_) | Shape::Tuple(_)) {
                        parts.push_str(&format!("_{}", part + 1));
                    }
                }
                if !parts.is_empty() {
                    wanted.push_str(&format!("_{case}{parts}"));
                }
            }
            let new = self.names.find(&cut(wanted), |name| module.type_def(name).is_some());
            named.push((thing, new));
        }
        for (thing, new_name) in &named {
            if let Some(Kind::Enum { new, .. }) = self.things.all.get_mut(*thing).map(|thing| &mut thing.kind) {
                *new = new_name.clone();
            }
        }
        for (thing, new) in named {
            let Some(Kind::Enum { name, cases, .. }) = self.things.all.get(thing).map(|thing| &thing.kind) else {
                continue;
            };
            let payload = |cells: &[(Type, Cell)]| {
                let left = |(ty, cell): &(Type, Cell)| self.things.left(self.module, &self.things.cell(cell), ty);
                cells.iter().filter_map(left).collect()
            };
            let cases = cases.iter().map(|(case, cells)| (case.clone(), payload(cells))).collect();
            let def = TypeDef { name: new.clone(), supertypes: None, kind: TypeKind::Enum { cases } };
            let from = name.clone();
            // The name is free.
            let _ = self.module.add_type(def);
            self.old_types.push(from.clone());
            self.report.specialized.push(Specialized { function: function.clone(), statement: None, from, to: new });
        }
    }

    /// The lineage of a specialisation; `None` if a function would be specialised within itself too often.
    fn lineage_of(&self, function: usize, ways: &[Way]) -> Option<Lineage> {
        let none = || Lineage { of: function, times: Vec::new() };
        let mut lineage = self.lineage.get(&function).cloned().unwrap_or_else(none);
        let of = lineage.of;
        for way in ways {
            let Way::Closure { of: Target::Function(other), .. } = way else { continue };
            for &(function, times) in self.lineage.get(other).map(|other| other.times.as_slice()).unwrap_or_default() {
                match lineage.times.iter_mut().find(|(known, _)| *known == function) {
                    Some((_, known)) => *known = times.max(*known),
                    None => lineage.times.push((function, times)),
                }
            }
        }
        match lineage.times.iter_mut().find(|(known, _)| *known == of) {
            Some((_, times)) => *times += 1,
            None => lineage.times.push((of, 1)),
        }
        let often = lineage.times.iter().any(|(function, times)| *function == of && *times > SAME);
        (!often && lineage.times.len() <= 64).then_some(lineage)
    }
}

/// For each value at a place the closure that it is, if that is seen.
fn closures_given(bb: &BBCode, place: &Place, made: &SecondaryMap<InstId, Closure>) -> Vec<Option<InstId>> {
    let closure = |operand: &Operand<Ids>| seen_through(bb, operand).as_value().filter(|id| made.contains_key(*id));
    place.given.iter().map(closure).collect()
}
