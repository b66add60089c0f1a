//! Decides which enums and stacks of a function are specialised.

use std::rc::Rc;

use bbcode::{BBCode, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Module, Name, Operand, Stmt, Type, TypeKind};
use slotmap::SecondaryMap;

use super::flow::{Flow, Known, stored};
use super::places::{in_order, seen_through};
use super::report::Misuse;
use super::things::{Cell, Kind, Shape, State, Thing, Things};

/// How often it is decided anew, where something turned out to stay as it is.
const ROUNDS: usize = 8;

/// The enums and stacks that a function makes.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The enums, by their names.
    pub(super) enums: HashMap<Name, usize>,
    /// The stacks, by the statements that make them.
    pub(super) stacks: SecondaryMap<InstId, usize>,
    /// All of them.
    things: Vec<usize>,
    /// Where closures are put in them: the closure, the thing, and the cell.
    put: Vec<(InstId, usize, (usize, usize))>,
    /// The functions whose closures must stay closures of them.
    pub(super) asked: Rc<HashSet<usize>>,
}

/// A function, and what is known of its parameters, `_2` first.
pub(super) type Demand = (usize, Vec<Shape>);

impl Candidates {
    /// Finds them, and what is put in them.
    pub(super) fn find(
        module: &Module<BBCode>,
        bb: &BBCode,
        things: &mut Things,
        asked: &Rc<HashSet<usize>>,
    ) -> Candidates {
        let mut found = Candidates { asked: asked.clone(), ..Candidates::default() };
        // In reached code only, as all else here: what is never made is never taken apart.
        let reached = in_order(bb);
        for &id in &reached {
            let Some(inst) = bb.inst(id) else { continue };
            let Some((primitive, args)) = module.primitive_call(&inst.stmt) else { continue };
            match (primitive.name, args, &inst.ty) {
                ("new_case", [ty, ..], _) => {
                    if let Some(Type::Named(name)) = module.named_type(ty)
                        && let Some(def) = module.type_def(&name)
                        && let TypeKind::Enum { cases } = &def.kind
                        && !found.enums.contains_key(&def.name)
                    {
                        let cell = |ty: &Type| (ty.clone(), Cell::Unset);
                        let cases = cases.iter().map(|(name, types)| (name.clone(), types.iter().map(cell).collect()));
                        let kind = Kind::Enum { name: def.name.clone(), new: def.name.clone(), cases: cases.collect() };
                        found.enums.insert(def.name.clone(), things.all.len());
                        found.things.push(things.all.len());
                        things.all.push(Thing { kind, state: State::Candidate });
                    }
                }
                ("new_stack", _, Type::Stack(element)) => {
                    found.stacks.insert(id, things.all.len());
                    found.things.push(things.all.len());
                    let kind = Kind::Stack { element: ((**element).clone(), Cell::Unset) };
                    things.all.push(Thing { kind, state: State::Candidate });
                }
                _ => {}
            }
        }
        if !found.things.is_empty() {
            found.fill(module, bb, &reached, things);
        }
        found
    }

    /// Notes what is put where.
    fn fill(&mut self, module: &Module<BBCode>, bb: &BBCode, reached: &[InstId], things: &mut Things) {
        let mut joins: Vec<(usize, (usize, usize), Shape)> = Vec::new();
        let known = Known { module, things, enums: &self.enums, stacks: &self.stacks, asked: &self.asked };
        let early = |operand: &Operand<bbcode::Ids>| {
            let stack = seen_through(bb, operand).as_value().and_then(|value| self.stacks.get(value).copied());
            stack.or_else(|| known.enum_of(&bb.operand_type(operand))).map_or(Shape::Plain, Shape::Thing)
        };
        let mut put = Vec::new();
        let mut note = |thing: usize, cell: (usize, usize), operand: &Operand<bbcode::Ids>| {
            let shape = stored(known, bb, operand, &early, 0);
            if let (Shape::Closure(_), Some(closure)) = (&shape, seen_through(bb, operand).as_value()) {
                put.push((closure, thing, cell));
            }
            joins.push((thing, cell, shape));
        };
        for inst in reached.iter().filter_map(|&id| bb.inst(id)) {
            match module.primitive_call(&inst.stmt) {
                Some((primitive, [ty, case, payload @ ..])) if primitive.name == "new_case" => {
                    let thing = module.named_type(ty).and_then(|ty| known.enum_of(&ty));
                    let Some(Thing { kind: Kind::Enum { cases, .. }, .. }) = thing.and_then(|at| things.all.get(at))
                    else {
                        continue;
                    };
                    let case = case.as_symbol().and_then(|case| cases.iter().position(|(name, _)| name == case));
                    if let (Some(thing), Some(case)) = (thing, case) {
                        payload.iter().enumerate().for_each(|(part, operand)| note(thing, (case, part), operand));
                    }
                }
                Some((primitive, [stack, value, ..])) if matches!(primitive.name, "stack_push!" | "stack_set!") => {
                    let stack = seen_through(bb, stack).as_value().and_then(|value| self.stacks.get(value));
                    if let Some(&thing) = stack {
                        note(thing, (0, 0), value);
                    }
                }
                _ => {}
            }
        }
        // A stack of enums that nothing is put on is one of these enums all the same.
        for (id, &stack) in &self.stacks {
            if let Some(Type::Stack(element)) = bb.inst(id).map(|inst| &inst.ty)
                && let Some(thing) = known.enum_of(element)
            {
                joins.push((stack, (0, 0), Shape::Thing(thing)));
            }
        }
        for (thing, at, shape) in joins {
            if let Some(cell) = things.all.get_mut(thing).and_then(|thing| cell_mut(&mut thing.kind, at)) {
                cell.join(shape);
            }
        }
        self.put = put;
    }

    /// Decides which are specialised. Returns the functions that have to be cloned for it, in the order in which they
    /// were found; none if nothing is specialised. `left` is how many statements they may have, and `effort` how many
    /// may be looked at.
    pub(super) fn decide(
        &self,
        module: &Module<BBCode>,
        things: &mut Things,
        function: usize,
        left: usize,
        effort: &mut usize,
    ) -> Vec<Demand> {
        for thing in self.in_themselves(things) {
            things.leave(thing, Some(Misuse::Recursive));
        }
        for _ in 0..ROUNDS {
            self.leave_irrelevant(things);
            if !self.things.iter().any(|&thing| things.is_candidate(thing)) {
                return Vec::new();
            }
            let (demands, mut misused) = self.follow(module, things, function, left, effort);
            if misused.is_empty() {
                return demands;
            }
            misused.reverse();
            while let Some((thing, misuse)) = misused.pop() {
                if things.is_candidate(thing) {
                    let mut held = Vec::new();
                    for cell in things.cells(thing) {
                        Things::held(&things.cell(cell), &mut held);
                    }
                    things.leave(thing, Some(misuse));
                    misused.extend(held.into_iter().map(|held| (held, Misuse::Stored)));
                }
            }
        }
        for &thing in &self.things {
            things.leave(thing, Some(Misuse::Undecided));
        }
        Vec::new()
    }

    /// Follows the enums and stacks through the function and those that it gives them to.
    fn follow(
        &self,
        module: &Module<BBCode>,
        things: &Things,
        function: usize,
        left: usize,
        effort: &mut usize,
    ) -> (Vec<Demand>, Vec<(usize, Misuse)>) {
        let nothing = SecondaryMap::new();
        let mut misused = Vec::new();
        let mut demands: Vec<Demand> = Vec::new();
        let mut seen: HashSet<Demand> = HashSet::new();
        let (mut next, mut size) = (0, 0_usize);
        let mut at: Option<Demand> = None;
        loop {
            let (index, shapes, stacks) = match &at {
                None => (function, Vec::new(), &self.stacks),
                Some((index, shapes)) => (*index, shapes.clone(), &nothing),
            };
            let Some(callee) = module.functions().get(index) else { return (demands, misused) };
            if at.is_some() {
                let count = callee.body.inst_count();
                size += count;
                match effort.checked_sub(count).filter(|_| size <= left) {
                    Some(rest) => *effort = rest,
                    None => {
                        misused.extend(self.things.iter().map(|&thing| (thing, Misuse::TooLarge)));
                        return (demands, misused);
                    }
                }
            }
            let known = Known { module, things, enums: &self.enums, stacks, asked: &self.asked };
            let arguments = std::iter::once(Shape::Plain).chain(shapes).collect();
            let flow = Flow::find(known, &callee.body, arguments);
            misused.extend(flow.misused);
            for demand in flow.demands {
                if seen.insert(demand.clone()) {
                    demands.push(demand);
                }
            }
            match demands.get(next) {
                Some(demand) => at = Some(demand.clone()),
                None => return (demands, misused),
            }
            next += 1;
        }
    }

    /// Leaves those in which there is no closure to be specialised, in themselves or in what they hold.
    fn leave_irrelevant(&self, things: &mut Things) {
        let mut holders: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut relevant: HashSet<usize> = HashSet::new();
        let mut work: Vec<usize> = Vec::new();
        for &thing in self.things.iter().filter(|&&thing| things.is_candidate(thing)) {
            for cell in things.cells(thing) {
                let shape = things.cell(cell);
                if holds_closure(&shape) && relevant.insert(thing) {
                    work.push(thing);
                }
                let mut inside = Vec::new();
                Things::inside(&shape, &mut inside);
                inside.into_iter().for_each(|inside| holders.entry(inside).or_default().push(thing));
            }
        }
        while let Some(thing) = work.pop() {
            for &holder in holders.get(&thing).map(Vec::as_slice).unwrap_or_default() {
                if relevant.insert(holder) {
                    work.push(holder);
                }
            }
        }
        for &thing in self.things.iter().filter(|thing| !relevant.contains(*thing)) {
            things.leave(thing, None);
        }
    }

    /// The stacks that hold themselves, otherwise than in enums: the type of what is left of them would have no end.
    fn in_themselves(&self, things: &Things) -> Vec<usize> {
        let is_stack = |thing: &usize| things.element(*thing).is_some();
        let mut waits: HashMap<usize, usize> = HashMap::new();
        let mut holders: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut free: Vec<usize> = Vec::new();
        for &stack in self.things.iter().filter(|thing| is_stack(thing)) {
            let mut inside = Vec::new();
            for cell in things.cells(stack) {
                Things::inside(&things.cell(cell), &mut inside);
            }
            inside.retain(is_stack);
            if inside.is_empty() {
                free.push(stack);
            }
            waits.insert(stack, inside.len());
            inside.into_iter().for_each(|inside| holders.entry(inside).or_default().push(stack));
        }
        while let Some(stack) = free.pop() {
            for holder in holders.get(&stack).map(Vec::as_slice).unwrap_or_default() {
                if let Some(count) = waits.get_mut(holder) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(*holder);
                    }
                }
            }
        }
        self.things.iter().copied().filter(|thing| waits.get(thing).is_some_and(|&count| count > 0)).collect()
    }

    /// The closures that stay in enums and stacks, with what they are in, and why.
    pub(super) fn kept<'t>(&'t self, things: &'t Things) -> impl Iterator<Item = (InstId, super::Reason)> + 't {
        self.put.iter().filter_map(|&(closure, thing, at)| {
            let by = things.name(thing);
            let found = things.all.get(thing)?;
            Some(match (&found.state, cell(&found.kind, at)?) {
                (State::Left(Some(because)), _) => (closure, super::Reason::Held { by, because: because.clone() }),
                (_, Cell::Mixed) => (closure, super::Reason::Differs(by)),
                _ => return None,
            })
        })
    }

    /// The things that are specialised, in the order in which they were found.
    pub(super) fn specialized<'t>(&'t self, things: &'t Things) -> impl Iterator<Item = usize> + 't {
        self.things.iter().copied().filter(|&thing| things.is_candidate(thing))
    }
}

fn holds_closure(shape: &Shape) -> bool {
    match shape {
        Shape::Plain | Shape::Thing(_) => false,
        Shape::Closure(_) => true,
        Shape::Tuple(parts) => parts.iter().any(holds_closure),
    }
}

fn cell_mut(kind: &mut Kind, (case, part): (usize, usize)) -> Option<&mut Cell> {
    match kind {
        Kind::Enum { cases, .. } => cases.get_mut(case)?.1.get_mut(part).map(|(_, cell)| cell),
        Kind::Stack { element: (_, cell) } => Some(cell),
    }
}

fn cell(kind: &Kind, (case, part): (usize, usize)) -> Option<&Cell> {
    match kind {
        Kind::Enum { cases, .. } => cases.get(case)?.1.get(part).map(|(_, cell)| cell),
        Kind::Stack { element: (_, cell) } => Some(cell),
    }
}

/// Whether a statement makes an enum or a stack.
pub(super) fn makes_thing(module: &Module<BBCode>, stmt: &Stmt<bbcode::Ids>) -> bool {
    module.primitive_call(stmt).is_some_and(|(primitive, _)| matches!(primitive.name, "new_case" | "new_stack"))
}
