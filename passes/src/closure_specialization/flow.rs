//! Where enums and stacks go in a function, and whether that is known of all of them.

use std::rc::Rc;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Module, Name, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use super::places::{Place, in_order, seen_through};
use super::report::Misuse;
use super::things::{Shape, Things};

/// What is known of the values of a function.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// What statements give, where something is known of it.
    pub(super) shapes: SecondaryMap<InstId, Shape>,
    /// What is known of the arguments, `_1` first.
    pub(super) arguments: Vec<Shape>,
    /// The functions that are given enums or stacks, and what is known of all their parameters.
    pub(super) demands: Vec<(usize, Vec<Shape>)>,
    /// The enums and stacks that something is done with that is not understood.
    pub(super) misused: Vec<(usize, Misuse)>,
}

/// What a function works with.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    pub(super) module: &'k Module<BBCode>,
    pub(super) things: &'k Things,
    /// The enums, by their names.
    pub(super) enums: &'k HashMap<Name, usize>,
    /// The stacks, by the statements that make them.
    pub(super) stacks: &'k SecondaryMap<InstId, usize>,
    /// The functions whose closures must stay closures of them.
    pub(super) asked: &'k HashSet<usize>,
}

impl Known<'_> {
    /// The enum that a type is, if that is to be specialised.
    pub(super) fn enum_of(&self, ty: &Type) -> Option<usize> {
        let Type::Named(name) = ty else { return None };
        let thing = *self.enums.get(&self.module.type_def(name)?.name)?;
        self.things.is_candidate(thing).then_some(thing)
    }

    /// The enums in a type.
    fn enums_in(&self, ty: &Type, found: &mut Vec<usize>) {
        match ty {
            Type::Named(_) => found.extend(self.enum_of(ty)),
            Type::Tuple(parts) | Type::Union(parts) => parts.iter().for_each(|part| self.enums_in(part, found)),
            Type::NamedTuple(parts) => parts.iter().for_each(|(_, part)| self.enums_in(part, found)),
            Type::Array(array) => self.enums_in(&array.element, found),
            Type::Ref(of) | Type::Memory(of) | Type::MemoryRef(of) | Type::Stack(of) | Type::Slot(of) => {
                self.enums_in(of, found);
            }
            Type::Closure(closure) => {
                closure.parameters.iter().chain([&closure.result]).for_each(|part| self.enums_in(part, found));
            }
            _ => {}
        }
    }
}

impl Flow {
    /// Follows enums and stacks through a function whose arguments these are.
    pub(super) fn find(known: Known<'_>, bb: &BBCode, arguments: Vec<Shape>) -> Flow {
        let mut flow = Flow { arguments, ..Flow::default() };
        for (index, ty) in bb.argtypes.iter().enumerate() {
            flow.expect(known, ty, flow.arguments.get(index).cloned().unwrap_or(Shape::Plain));
        }
        let order = in_order(bb);
        for &id in &order {
            if let Some(inst) = bb.inst(id) {
                let shape = flow.result(known, bb, id, &inst.stmt, &inst.ty);
                flow.expect(known, &inst.ty, shape.clone());
                if shape != Shape::Plain {
                    flow.shapes.insert(id, shape);
                }
            }
        }
        for &id in &order {
            if let Some(stmt) = bb.stmt(id) {
                flow.check_uses(known, bb, id, stmt);
            }
        }
        flow
    }

    /// What an operand is.
    pub(super) fn shape(&self, operand: &Operand<Ids>) -> Shape {
        match operand {
            Operand::Value(value) => self.shapes.get(*value).cloned().unwrap_or(Shape::Plain),
            Operand::Argument(argument) => {
                argument.index().and_then(|index| self.arguments.get(index)).cloned().unwrap_or(Shape::Plain)
            }
            _ => Shape::Plain,
        }
    }

    /// A value of a type that holds enums must be known to hold them.
    fn expect(&mut self, known: Known<'_>, ty: &Type, shape: Shape) {
        let mut enums = Vec::new();
        known.enums_in(ty, &mut enums);
        if !enums.is_empty() && matches!(shape, Shape::Plain | Shape::Closure(_)) {
            self.misused.extend(enums.into_iter().map(|thing| (thing, Misuse::Elsewhere)));
        }
    }

    /// What a statement gives.
    fn result(&self, known: Known<'_>, bb: &BBCode, id: InstId, stmt: &Stmt<Ids>, ty: &Type) -> Shape {
        let held = |shape: Shape| match shape {
            Shape::Closure(_) => Shape::Plain,
            other => other,
        };
        match stmt {
            Stmt::Value(of) => return held(self.shape(of)),
            Stmt::Pi(pi) => return held(self.shape(&pi.value)),
            Stmt::Phi(phi) if matches!(ty, Type::Stack(_)) => {
                let shapes = phi.entries.iter().filter_map(|entry| entry.value.as_ref()).map(|value| self.shape(value));
                let mut stacks = shapes.filter(|shape| matches!(shape, Shape::Thing(_)));
                return stacks.next().unwrap_or(Shape::Plain);
            }
            Stmt::Phi(_) => return known.enum_of(ty).map_or(Shape::Plain, Shape::Thing),
            _ => {}
        }
        if let Some(&stack) = known.stacks.get(id) {
            return known.things.resolved(&Shape::Thing(stack));
        }
        let Some((primitive, args)) = known.module.primitive_call(stmt) else { return Shape::Plain };
        let found = match (primitive.name, args) {
            ("new_case", [ty, ..]) => known.module.named_type(ty).and_then(|ty| known.enum_of(&ty)).map(Shape::Thing),
            ("payload", [of, case, part]) => match (self.shape(of), case.as_symbol(), part.as_position()) {
                (Shape::Thing(thing), Some(case), Some(part)) => {
                    known.things.payload(thing, case, part).map(|(shape, _)| shape)
                }
                _ => None,
            },
            ("stack_get" | "stack_pop!", [of, ..]) => match self.shape(of) {
                Shape::Thing(thing) => known.things.element(thing).map(|(shape, _)| shape),
                _ => None,
            },
            ("getfield", [of, field, ..]) => match (self.shape(of), field.as_position()) {
                (Shape::Tuple(parts), Some(field)) => parts.get(field).cloned().map(held),
                _ => None,
            },
            ("tuple", parts) => {
                let parts: Vec<Shape> = parts.iter().map(|part| self.stored(known, bb, part)).collect();
                let tuple = Shape::Tuple(Rc::new(parts));
                let mut things = Vec::new();
                Things::held(&tuple, &mut things);
                (!things.is_empty()).then_some(tuple)
            }
            _ => None,
        };
        found.unwrap_or(Shape::Plain)
    }

    /// What an operand is when it is stored: closures that are seen to be made are known, too.
    pub(super) fn stored(&self, known: Known<'_>, bb: &BBCode, operand: &Operand<Ids>) -> Shape {
        let early = |operand: &Operand<Ids>| self.shape(operand);
        stored(known, bb, operand, &early, 0)
    }

    fn misuse(&mut self, shape: &Shape, misuse: &Misuse) {
        let mut things = Vec::new();
        Things::held(shape, &mut things);
        self.misused.extend(things.into_iter().map(|thing| (thing, misuse.clone())));
    }

    /// Whether what is done with enums and stacks is understood.
    fn check_uses(&mut self, known: Known<'_>, bb: &BBCode, id: InstId, stmt: &Stmt<Ids>) {
        let mut any = false;
        stmt.for_each_operand(&mut |operand| any |= holds(&self.shape(operand)));
        let result = self.shape(&Operand::Value(id));
        if !any && !matches!(result, Shape::Thing(_)) {
            return;
        }
        match stmt {
            Stmt::Value(_) | Stmt::Pi(_) => return,
            Stmt::Phi(phi) => {
                for operand in phi.entries.iter().filter_map(|entry| entry.value.as_ref()) {
                    let shape = self.shape(operand);
                    if shape != result {
                        self.misuse(&shape, &Misuse::Joined);
                        self.misuse(&result, &Misuse::Joined);
                    }
                }
                return;
            }
            _ => {}
        }
        if let Some((place, misfit)) = Place::of(known.module, stmt) {
            return self.check_passed(known, &place, misfit.is_some());
        }
        let mut not_understood = Vec::new();
        match known.module.primitive_call(stmt) {
            Some((primitive, args)) => {
                let understood = self.understood(known, bb, primitive.name, args, &result);
                not_understood.extend(args.iter().skip(understood).map(|operand| self.shape(operand)));
            }
            None => stmt.for_each_operand(&mut |operand| not_understood.push(self.shape(operand))),
        }
        let misuse = if matches!(stmt, Stmt::Return(_)) { Misuse::Returned } else { Misuse::Used };
        for shape in not_understood {
            self.misuse(&shape, &misuse);
        }
    }

    /// How many of a primitive's operands, from the first on, it is understood what it does with.
    fn understood(
        &mut self,
        known: Known<'_>,
        bb: &BBCode,
        primitive: &str,
        args: &[Operand<Ids>],
        result: &Shape,
    ) -> usize {
        let first = args.first().map_or(Shape::Plain, |first| self.shape(first));
        match (primitive, args) {
            ("is_case" | "stack_length", _) if matches!(first, Shape::Thing(_)) => args.len(),
            ("payload", [_, case, part]) => {
                let Shape::Thing(thing) = first else { return 0 };
                let part = case.as_symbol().zip(part.as_position());
                if part.is_none_or(|(case, part)| known.things.payload(thing, case, part).is_none()) {
                    self.misuse(&first, &Misuse::NotConstant);
                }
                args.len()
            }
            ("stack_get" | "stack_pop!", _) if matches!(first, Shape::Thing(_)) => 1,
            ("getfield", [_, field, ..]) if field.as_position().is_some() && matches!(first, Shape::Tuple(_)) => 1,
            ("tuple", _) if matches!(result, Shape::Tuple(_)) => args.len(),
            ("new_case", [_, case, payload @ ..]) => {
                let Shape::Thing(thing) = *result else { return 0 };
                for (part, operand) in payload.iter().enumerate() {
                    let cell = case.as_symbol().and_then(|case| known.things.payload(thing, case, part));
                    self.check_stored(known, bb, thing, operand, cell.map(|(shape, _)| shape));
                }
                args.len()
            }
            ("stack_push!", [_, value]) | ("stack_set!", [_, value, _]) => {
                let Shape::Thing(thing) = first else { return 0 };
                let cell = known.things.element(thing).map(|(shape, _)| shape);
                self.check_stored(known, bb, thing, value, cell);
                args.len()
            }
            _ => 0,
        }
    }

    /// What is passed to a function, or captured for it, must be what it takes; then there is to be a copy of it for
    /// that.
    fn check_passed(&mut self, known: Known<'_>, place: &Place, misfits: bool) {
        let shapes: Vec<Shape> = place.given.iter().map(|given| self.shape(given)).collect();
        let target = known.module.functions().get(place.function);
        let takes = |index: usize, shape: &Shape| {
            let ty = target.and_then(|target| target.body.argtypes.get(place.first + index + 1));
            match (shape, ty) {
                (Shape::Thing(thing), Some(ty @ Type::Named(_))) => known.enum_of(ty) == Some(*thing),
                (Shape::Thing(thing), Some(Type::Stack(_))) => known.things.element(*thing).is_some(),
                _ => false,
            }
        };
        let stays = place.captured && known.asked.contains(&place.function);
        let mut ways = vec![Shape::Plain; place.first];
        for (index, shape) in shapes.into_iter().enumerate() {
            if !holds(&shape) {
                ways.push(Shape::Plain);
                continue;
            }
            let name = || super::report::name(known.module, place.function);
            if stays {
                self.misuse(&shape, &Misuse::Asked(name()));
            } else if misfits || !takes(index, &shape) {
                self.misuse(&shape, &Misuse::NotTaken(name()));
            }
            ways.push(shape);
        }
        if ways.iter().any(|shape| *shape != Shape::Plain) {
            self.demands.push((place.function, ways));
        }
    }

    /// What is put in a cell must be what the cell is known to hold.
    fn check_stored(&mut self, known: Known<'_>, bb: &BBCode, thing: usize, value: &Operand<Ids>, cell: Option<Shape>) {
        let stored = self.stored(known, bb, value);
        match cell {
            Some(Shape::Plain) => self.misuse(&stored, &Misuse::Stored),
            Some(cell) if cell == stored => {}
            _ => {
                self.misuse(&stored, &Misuse::Stored);
                self.misuse(&Shape::Thing(thing), &Misuse::Elsewhere);
            }
        }
    }
}

/// Whether a value is, or holds, an enum or a stack that is to be specialised.
pub(super) fn holds(shape: &Shape) -> bool {
    match shape {
        Shape::Plain | Shape::Closure(_) => false,
        Shape::Thing(_) => true,
        Shape::Tuple(parts) => parts.iter().any(holds),
    }
}

/// What an operand is when it is stored. `early` says what it is otherwise.
pub(super) fn stored(
    known: Known<'_>,
    bb: &BBCode,
    operand: &Operand<Ids>,
    early: &dyn Fn(&Operand<Ids>) -> Shape,
    depth: usize,
) -> Shape {
    let seen = seen_through(bb, operand);
    let stmt = seen.as_value().and_then(|value| bb.stmt(value));
    if let Some(stmt) = stmt
        && let Some((primitive, args)) = known.module.primitive_call(stmt)
    {
        match (primitive.name, args) {
            ("partial_apply", [function, captured @ ..]) => {
                let target = super::clones::Target::of(known.module, function);
                if let Some(target) = target.filter(|_| known.module.closure_type(function, captured.len()).is_some()) {
                    let shapes = captured.iter().map(|captured| match early(captured) {
                        thing @ Shape::Thing(_) => thing,
                        _ => Shape::Plain,
                    });
                    let made = super::things::Made { target, operand: function.clone(), captured: shapes.collect() };
                    return Shape::Closure(Rc::new(made));
                }
            }
            // Tuples in tuples in tuples: the last are taken as they are.
            ("tuple", parts) if depth < 4 => {
                let parts: Vec<Shape> = parts.iter().map(|part| stored(known, bb, part, early, depth + 1)).collect();
                return match parts.iter().all(|part| *part == Shape::Plain) {
                    true => Shape::Plain,
                    false => Shape::Tuple(Rc::new(parts)),
                };
            }
            _ => {}
        }
    }
    match early(&seen) {
        Shape::Closure(_) => Shape::Plain,
        other => other,
    }
}
