//! Counted loops whose body is one sequence of operations on `Float64`s in registers and in memory, at least on its
//! usual way (`paths.rs`): such rounds can be compiled several at a time (`vectors.rs`).

use cranelift_codegen::ir::condcodes::FloatCC;
use hashbrown::{HashMap, HashSet};
use ircode::primitives::{MemoryEffect, Primitive};
use ircode::{Constant, GotoIfNot, Operand, PhiNode, Positions, Scalar, Stmt, Type};
use smallvec::SmallVec;

use super::paths::{Visit, path};
use super::{CountedLoop, DEPTH, Finder, Index, known_dims};
use crate::native::runtime::helpers::MATH;
use crate::native::scalars::mathematics;

/// A loop as the operations of one round.
#[derive(Debug, Default)]
pub(crate) struct StraightLoop {
    pub(crate) steps: Vec<Step>,
    /// What is accessed.
    pub(crate) objects: Vec<Object>,
    pub(crate) groups: Vec<Group>,
    /// The numbers that φs of the header carry from round to round, and what they are in the next one.
    pub(crate) carried: Vec<(usize, Source)>,
    /// The φs of the header that change by the same in each round, and by how much.
    pub(crate) counters: Vec<(usize, i64)>,
    /// Numbers that do not change in the loop.
    pub(crate) uniform: Vec<Operand<Positions>>,
    /// Whether a round that a check sends elsewhere may go on there, and not fail.
    pub(crate) forks: bool,
    /// Whether all steps come before the test of whether there is another round.
    pub(crate) ends_with_test: bool,
}

/// Where an operation takes a number from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// What a step of the same round gives.
    Step(usize),
    /// What the round before left in a φ.
    Carried(usize),
    Uniform(usize),
}

/// What is done in each round.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    Compute(Operation, SmallVec<[Source; 3]>),
    Load(Access),
    Store(Access, Source),
    /// Whether the comparison holds of the numbers must be this; else the round is done elsewhere. No store comes
    /// before it.
    Check(FloatCC, bool, [Source; 2]),
}

/// Operations of which several are done by one machine instruction, with the same results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    MultiplyAdd,
    Negate,
    Absolute,
    SquareRoot,
    /// A function of mathematics.
    Function(&'static str),
}

/// Which element is accessed: in round r, counted from 0, the one at `factor · r + offset` from where the group starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    pub(crate) group: usize,
    pub(crate) factor: i64,
    pub(crate) offset: i64,
    /// Which number of the element.
    pub(crate) part: usize,
}

/// Elements of an object whose distances are known.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Group {
    pub(crate) object: usize,
    pub(crate) start: Start,
    /// The numbers in an element.
    pub(crate) parts: usize,
}

/// Where a group starts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Start {
    /// At the index that is the sum of these terms, with the indices of the other dimensions.
    Index(Index, Vec<Index>),
    /// Behind the last value of a stack, as it is before the loop; so many are pushed in each round.
    Top(i64),
}

/// An array or a stack.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Object {
    pub(crate) operand: Operand<Positions>,
    pub(crate) origin: Origin,
    pub(crate) stored: bool,
}

/// Where an object comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// This statement made it.
    Made(usize),
    /// A stack that the function keeps to itself.
    Stack(usize),
    Argument,
    Unknown,
}

impl Object {
    /// Whether two different operands are objects that share no memory, whatever runs.
    pub(crate) fn is_apart_from(&self, other: &Object) -> bool {
        match (self.origin, other.origin) {
            (Origin::Made(one), Origin::Made(other)) | (Origin::Stack(one), Origin::Stack(other)) => one != other,
            (Origin::Stack(_), _) | (_, Origin::Stack(_)) => true,
            (Origin::Made(_), Origin::Argument) | (Origin::Argument, Origin::Made(_)) => true,
            _ => false,
        }
    }
}

/// Bodies of more steps are large: there are as many rounds in a turn as are done at once.
const LARGE: usize = 80;

impl StraightLoop {
    pub(crate) fn is_large(&self) -> bool {
        self.steps.len() > LARGE
    }

    /// The steps that must be done for one round after the other: what depends on a number that the round before left
    /// in a φ, and the accesses of regions in which two rounds may meet. All others may be done for two rounds before
    /// the next step is. Accesses in different regions share no memory.
    pub(crate) fn serial(&self, region: &dyn Fn(&Access) -> usize) -> Vec<bool> {
        let mut meeting: HashSet<usize> = HashSet::new();
        loop {
            let serial = self.serial_steps(region, &meeting);
            let before = meeting.len();
            self.add_meeting(region, &serial, &mut meeting);
            if meeting.len() == before {
                return serial;
            }
        }
    }

    fn serial_steps(&self, region: &dyn Fn(&Access) -> usize, meeting: &HashSet<usize>) -> Vec<bool> {
        let mut serial: Vec<bool> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let of = |source: &Source| match source {
                Source::Carried(_) => true,
                Source::Step(step) => serial.get(*step) == Some(&true),
                Source::Uniform(_) => false,
            };
            let depends = match step {
                Step::Compute(_, sources) => sources.iter().any(of),
                Step::Load(access) => meeting.contains(&region(access)),
                Step::Store(access, source) => of(source) || meeting.contains(&region(access)),
                Step::Check(_, _, sources) => sources.iter().any(of),
            };
            serial.push(depends);
        }
        serial
    }

    /// Adds the regions to which it matters that steps are done for two rounds before the next one.
    fn add_meeting(&self, region: &dyn Fn(&Access) -> usize, serial: &[bool], meeting: &mut HashSet<usize>) {
        let accesses = || {
            self.steps.iter().zip(serial).filter_map(|(step, serial)| match step {
                Step::Load(access) => Some((*serial, access, false)),
                Step::Store(access, _) => Some((*serial, access, true)),
                Step::Compute(..) | Step::Check(..) => None,
            })
        };
        let mut regions: HashMap<usize, Accesses> = HashMap::new();
        for (late, access, stores) in accesses() {
            let found = regions.entry(region(access)).or_default();
            let cluster = (access.group, access.factor);
            let group = self.groups.get(access.group);
            found.stores |= stores;
            found.clusters |= found.first.is_some_and(|first| first != cluster);
            found.first = found.first.or(Some(cluster));
            found.early |= !late;
            found.late |= late;
            found.same |= stores && access.factor == 0;
            found.pushes &= group.is_some_and(|group| matches!(group.start, Start::Top(_)));
        }
        // In the next round an access must not meet what one behind it does in this.
        let mut before: HashMap<(usize, usize, i64, i64), bool> = HashMap::new();
        for (_, access, stores) in accesses() {
            let place = |offset: i64| (access.group, access.part, access.factor, offset);
            if let Some(stored) = before.get(&place(access.offset.wrapping_sub(access.factor)))
                && (*stored || stores)
                && let Some(found) = regions.get_mut(&region(access))
            {
                found.ahead = true;
            }
            *before.entry(place(access.offset)).or_default() |= stores;
        }
        // What is serial comes behind everything else.
        let meets = |found: &Accesses| {
            let orders = found.clusters || found.early && found.late || found.ahead;
            found.same || found.stores && !found.pushes && orders
        };
        meeting.extend(regions.iter().filter(|(_, found)| meets(found)).map(|(region, _)| *region));
    }

    /// The group and the offset of an element that is the same in all rounds.
    pub(crate) fn place_of(&self, operand: &Operand<Positions>, indices: &[Index]) -> Option<(usize, i64)> {
        let (first, others) = indices.split_first()?;
        let start = Start::Index(Index { constant: 0, ..first.clone() }, others.to_vec());
        let object = self.objects.iter().position(|object| object.operand == *operand)?;
        let group = self.groups.iter().position(|group| group.object == object && group.start == start)?;
        Some((group, first.constant.checked_sub(1)?))
    }

    /// Whether there are functions of mathematics.
    pub(crate) fn has_functions(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Compute(Operation::Function(_), _)))
    }

    /// Whether a round may go another way, or fail.
    pub(crate) fn checks(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Check(..)))
    }

    /// Whether there is a check among the steps that are marked.
    pub(crate) fn checks_in(&self, marked: &[bool]) -> bool {
        self.steps.iter().zip(marked).any(|(step, marked)| *marked && matches!(step, Step::Check(..)))
    }

    /// The object that is accessed.
    pub(crate) fn object_of(&self, access: &Access) -> Option<usize> {
        self.groups.get(access.group).map(|group| group.object)
    }
}

/// The accesses of a region, all together.
#[derive(Debug)]
struct Accesses {
    stores: bool,
    /// The first one's group and factor, and whether there are others.
    first: Option<(usize, i64)>,
    clusters: bool,
    /// Whether some are done for two rounds at once, and some for one after the other.
    early: bool,
    late: bool,
    /// Whether rounds store in the same place.
    same: bool,
    /// Whether one is, in the next round, where one behind it is in this.
    ahead: bool,
    /// Whether all are pushes.
    pushes: bool,
}

impl Default for Accesses {
    fn default() -> Self {
        let none = false;
        Accesses {
            stores: none,
            first: None,
            clusters: none,
            early: none,
            late: none,
            same: none,
            ahead: none,
            pushes: true,
        }
    }
}

/// The operations of a loop, if it is such a one.
pub(crate) fn straight_loop(finder: &Finder<'_>, found: &CountedLoop, blocks: &[usize]) -> Option<StraightLoop> {
    let mut planner = Planner { finder, found, plan: StraightLoop::default(), values: HashMap::new() };
    let mut next = Vec::new();
    let mut before_test = 0;
    for Visit { block, from, holds, forks } in path(finder, found, blocks)? {
        planner.plan.forks |= forks;
        for statement in finder.ir.cfg.blocks.get(block)?.stmts.clone() {
            match (finder.ir.stmts.stmts().get(statement)?, from, holds) {
                (Stmt::Phi(_), None, _) => planner.phi(statement, &mut next)?,
                (Stmt::Phi(phi), Some(from), _) => planner.join(statement, phi, from),
                (Stmt::GotoIfNot(branch), _, Some(holds)) => planner.branch(branch, holds)?,
                (Stmt::Goto(_) | Stmt::GotoIfNot(_), ..) => {}
                (stmt, ..) => planner.statement(statement, stmt)?,
            }
        }
        if block == found.test {
            before_test = planner.plan.steps.len();
        }
    }
    planner.plan.ends_with_test = before_test == planner.plan.steps.len();
    for (slot, operand) in next.iter().enumerate() {
        let source = planner.number(operand)?;
        planner.plan.carried.get_mut(slot)?.1 = source;
    }
    let accesses = planner.plan.steps.iter().any(|step| matches!(step, Step::Load(_) | Step::Store(..)));
    accesses.then_some(planner.plan)
}

struct Planner<'a> {
    finder: &'a Finder<'a>,
    found: &'a CountedLoop,
    plan: StraightLoop,
    /// What gives each number of a statement in the loop.
    values: HashMap<(usize, usize), Source>,
}

impl Planner<'_> {
    /// Checks that the condition of a branch is this.
    fn branch(&mut self, branch: &GotoIfNot<Positions>, mut holds: bool) -> Option<()> {
        let mut condition = branch.cond.clone();
        loop {
            let Operand::Value(value) = &condition else { return None };
            let (primitive, args) =
                self.finder.module.primitive_call(self.finder.ir.stmts.stmts().get(value.index()?)?)?;
            match (primitive.name, args) {
                ("not_int" | "!", [negated]) => (condition, holds) = (negated.clone(), !holds),
                (name, [a, b]) => {
                    let comparison = match name {
                        "lt_float" | "<" => FloatCC::LessThan,
                        "le_float" | "<=" => FloatCC::LessThanOrEqual,
                        "eq_float" | "==" => FloatCC::Equal,
                        "ne_float" | "!=" => FloatCC::NotEqual,
                        _ => return None,
                    };
                    if [a, b].iter().any(|operand| !self.is_float(operand)) {
                        return None;
                    }
                    let numbers = [self.number(a)?, self.number(b)?];
                    return self.check(comparison, holds, numbers);
                }
                _ => return None,
            }
        }
    }

    fn is_float(&self, operand: &Operand<Positions>) -> bool {
        match operand {
            Operand::Constant(Constant::Scalar(Scalar::Float64(_))) => true,
            operand => self.finder.type_of(operand) == Some(&Type::FLOAT64),
        }
    }

    fn check(&mut self, comparison: FloatCC, holds: bool, numbers: [Source; 2]) -> Option<()> {
        // It is made in front of everything that the rounds of a turn do.
        let stored = self.plan.steps.iter().any(|step| matches!(step, Step::Store(..)));
        (!stored).then(|| self.plan.steps.push(Step::Check(comparison, holds, numbers)))
    }

    /// A function of mathematics, with a check that its operand is in its domain if it throws elsewhere.
    fn function(&mut self, primitive: &Primitive, operand: &Operand<Positions>) -> Option<Source> {
        let name = primitive.name.strip_prefix("libm.").unwrap_or(primitive.name);
        let operation = match name {
            "sqrt" => Operation::SquareRoot,
            name => Operation::Function(MATH.iter().find(|known| **known == name)?),
        };
        let source = self.number(operand)?;
        if let Some((_, limit)) = mathematics::limited(name) {
            // Where the function throws is beyond the limit.
            let limit = self.number(&Operand::Constant(Constant::Scalar(Scalar::Float64(limit))))?;
            let size = self.step(Step::Compute(Operation::Absolute, [source].into_iter().collect()));
            self.check(FloatCC::LessThan, true, [size, limit])?;
            self.plan.forks = true;
        } else if primitive.effects.throws {
            match name {
                "log" | "sqrt" => {
                    let zero = self.number(&Operand::Constant(Constant::Scalar(Scalar::Float64(0.0))))?;
                    self.check(FloatCC::LessThan, false, [source, zero])?;
                }
                _ => return None,
            }
        }
        Some(self.step(Step::Compute(operation, [source].into_iter().collect())))
    }

    fn phi(&mut self, statement: usize, next: &mut Vec<Operand<Positions>>) -> Option<()> {
        let ty = self.finder.ir.stmts.types().get(statement)?;
        let known = self.finder.variables.get(&statement).cloned();
        let source = match known {
            Some((_, step)) if *ty == Type::INT64 => {
                self.plan.counters.push((statement, step));
                return Some(());
            }
            Some((first, 0)) if *ty == Type::FLOAT64 => self.number(&first)?,
            _ if *ty == Type::FLOAT64 => {
                let slot = self.plan.carried.len();
                self.plan.carried.push((statement, Source::Carried(slot)));
                next.push(self.finder.next_of(statement)?);
                Source::Carried(slot)
            }
            _ => return None,
        };
        self.values.insert((statement, 0), source);
        Some(())
    }

    /// A φ takes what it does coming from a block; what is no number can be computed on the way, but not be used.
    fn join(&mut self, statement: usize, phi: &PhiNode<Positions>, from: usize) {
        let mut entries = phi.entries.iter().filter(|entry| entry.edge.index() == Some(from));
        if self.finder.ir.stmts.types().get(statement) == Some(&Type::FLOAT64)
            && let Some(value) = entries.next().and_then(|entry| entry.value.as_ref())
            && let Some(source) = self.number(value)
        {
            self.values.insert((statement, 0), source);
        }
    }

    fn statement(&mut self, statement: usize, stmt: &Stmt<Positions>) -> Option<()> {
        if let Stmt::Value(operand) = stmt {
            if let Some(source) = self.number(operand) {
                self.values.insert((statement, 0), source);
            }
            return Some(());
        }
        let (primitive, args) = self.finder.module.primitive_call(stmt)?;
        match (primitive.name, args) {
            ("arrayref" | "const_arrayref", [_, array, indices @ ..]) | ("getindex", [array, indices @ ..]) => {
                self.load(statement, array, indices)
            }
            ("stack_get", [stack, at]) => self.load(statement, stack, std::slice::from_ref(at)),
            ("arrayset", [_, array, value, indices @ ..]) | ("setindex!", [array, value, indices @ ..]) => {
                let source = self.number(value)?;
                let access = self.access(statement, array, indices, 1)?;
                self.store(access, source)
            }
            ("stack_push!", [stack, value]) => self.push(statement, stack, value),
            ("tuple", fields) => {
                for (number, field) in fields.iter().enumerate() {
                    if let Some(source) = self.number(field) {
                        self.values.insert((statement, number), source);
                    }
                }
                Some(())
            }
            ("getfield", [Operand::Value(tuple), Operand::Constant(Constant::Scalar(Scalar::Int64(field)))]) => {
                let number = usize::try_from(*field).ok()?.checked_sub(1)?;
                let source = *self.values.get(&(tuple.index()?, number))?;
                self.values.insert((statement, 0), source);
                Some(())
            }
            (name, args) => {
                if let Some(operation) = operation(name, args.len())
                    && *self.finder.ir.stmts.types().get(statement)? == Type::FLOAT64
                    && let Some(sources) = args.iter().map(|arg| self.number(arg)).collect::<Option<_>>()
                {
                    let source = self.step(Step::Compute(operation, sources));
                    self.values.insert((statement, 0), source);
                    return Some(());
                }
                if let [operand] = args
                    && *self.finder.ir.stmts.types().get(statement)? == Type::FLOAT64
                    && self.is_float(operand)
                    && let Some(source) = self.function(primitive, operand)
                {
                    self.values.insert((statement, 0), source);
                    return Some(());
                }
                // Indices and tests, which are not computed here; who needs another value finds none.
                let effects = primitive.effects;
                (!effects.throws && !effects.writes && !effects.reads && !effects.allocates).then_some(())
            }
        }
    }

    fn step(&mut self, step: Step) -> Source {
        self.plan.steps.push(step);
        Source::Step(self.plan.steps.len() - 1)
    }

    /// Where a `Float64` comes from.
    fn number(&mut self, operand: &Operand<Positions>) -> Option<Source> {
        match operand {
            Operand::Constant(Constant::Scalar(Scalar::Float64(_))) | Operand::Argument(_) => {}
            Operand::Value(value) if self.finder.is_inside(value.index()?) => {
                return self.values.get(&(value.index()?, 0)).copied();
            }
            Operand::Value(_) => {}
            _ => return None,
        }
        let known = self.plan.uniform.iter().position(|known| known == operand);
        Some(Source::Uniform(known.unwrap_or_else(|| {
            self.plan.uniform.push(operand.clone());
            self.plan.uniform.len() - 1
        })))
    }

    fn load(&mut self, statement: usize, object: &Operand<Positions>, indices: &[Operand<Positions>]) -> Option<()> {
        let parts = numbers_in(self.finder.ir.stmts.types().get(statement)?)?;
        let access = self.access(statement, object, indices, parts)?;
        for part in 0..parts {
            let source = self.step(Step::Load(Access { part, ..access }));
            self.values.insert((statement, part), source);
        }
        Some(())
    }

    fn store(&mut self, access: Access, source: Source) -> Option<()> {
        let object = self.plan.groups.get(access.group)?.object;
        self.plan.objects.get_mut(object)?.stored = true;
        self.step(Step::Store(access, source));
        Some(())
    }

    fn push(&mut self, statement: usize, stack: &Operand<Positions>, value: &Operand<Positions>) -> Option<()> {
        if !self.found.pushes.contains(&statement) {
            return None;
        }
        let Operand::Value(made) = stack else { return None };
        let (_, times) = self.found.grown.iter().find(|(known, _)| Some(*known) == made.index())?;
        let sources: Vec<Source> = match value {
            Operand::Value(tuple) if self.finder.is_inside(tuple.index()?) => {
                let statement = tuple.index()?;
                (0..).map_while(|number| self.values.get(&(statement, number)).copied()).collect()
            }
            _ => vec![self.number(value)?],
        };
        let object = self.object(stack)?;
        let group = self.group(Group { object, start: Start::Top(*times), parts: sources.len() });
        let before = |step: &&Step| matches!(step, Step::Store(access, _) if access.group == group && access.part == 0);
        let offset = self.plan.steps.iter().filter(before).count() as i64;
        for (part, source) in sources.iter().enumerate() {
            self.store(Access { group, factor: *times, offset, part }, *source)?;
        }
        (!sources.is_empty()).then_some(())
    }

    fn access(
        &mut self,
        statement: usize,
        object: &Operand<Positions>,
        indices: &[Operand<Positions>],
        parts: usize,
    ) -> Option<Access> {
        if !self.found.covered.contains_key(&statement) {
            return None;
        }
        let (first, others) = indices.split_first()?;
        let mut index = self.finder.index(first, DEPTH)?;
        let others = others.iter().map(|other| self.finder.index(other, DEPTH));
        let mut others = others.collect::<Option<Vec<Index>>>()?;
        if others.iter().any(|other| other.factor != 0) {
            index = self.in_memory_order(object, index, &others)?;
            others.clear();
        }
        let (factor, offset) = (index.factor, index.constant.checked_sub(1)?);
        index.factor = 0;
        index.constant = 0;
        let object = self.object(object)?;
        let group = self.group(Group { object, start: Start::Index(index, others), parts });
        Some(Access { group, factor, offset, part: 0 })
    }

    /// The index that counts in memory order, of an array whose dimensions are known.
    fn in_memory_order(&self, object: &Operand<Positions>, first: Index, others: &[Index]) -> Option<Index> {
        let dims =
            known_dims(self.finder.module, self.finder.ir, object).filter(|dims| dims.len() == others.len() + 1)?;
        let mut index = first;
        let mut stride: i64 = 1;
        for (dim, other) in dims.iter().zip(others) {
            stride = stride.checked_mul(*dim)?;
            let before = Index { constant: other.constant.checked_sub(1)?, ..other.clone() };
            index = index.plus(&before.times(stride)?, 1)?;
        }
        Some(index)
    }

    fn object(&mut self, operand: &Operand<Positions>) -> Option<usize> {
        if let Some(known) = self.plan.objects.iter().position(|known| known.operand == *operand) {
            return Some(known);
        }
        let origin = origin(self.finder, operand)?;
        self.plan.objects.push(Object { operand: operand.clone(), origin, stored: false });
        Some(self.plan.objects.len() - 1)
    }

    fn group(&mut self, group: Group) -> usize {
        match self.plan.groups.iter().position(|known| *known == group) {
            Some(known) => known,
            None => {
                self.plan.groups.push(group);
                self.plan.groups.len() - 1
            }
        }
    }
}

/// Where an array or a stack comes from.
pub(crate) fn origin(finder: &Finder<'_>, operand: &Operand<Positions>) -> Option<Origin> {
    Some(match operand {
        Operand::Argument(_) => Origin::Argument,
        Operand::Value(value) => {
            let made = value.index()?;
            let primitive = finder.ir.stmts.stmts().get(made).and_then(|stmt| finder.module.primitive_call(stmt));
            match primitive {
                Some((primitive, _)) if primitive.name == "new_stack" => Origin::Stack(made),
                Some((primitive, _))
                    if matches!(primitive.memory, MemoryEffect::NewArray { .. })
                        || primitive.name == "zero_tangent" =>
                {
                    Origin::Made(made)
                }
                _ => Origin::Unknown,
            }
        }
        _ => return None,
    })
}

/// How many `Float64`s a value is.
fn numbers_in(ty: &Type) -> Option<usize> {
    match ty {
        ty if *ty == Type::FLOAT64 => Some(1),
        Type::Tuple(fields) if !fields.is_empty() && fields.iter().all(|field| *field == Type::FLOAT64) => {
            Some(fields.len())
        }
        _ => None,
    }
}

fn operation(name: &str, operands: usize) -> Option<Operation> {
    Some(match (name, operands) {
        ("add_float" | "+", 2) => Operation::Add,
        ("sub_float" | "-", 2) => Operation::Subtract,
        ("mul_float" | "*", 2) => Operation::Multiply,
        ("div_float" | "/", 2) => Operation::Divide,
        ("muladd_float" | "muladd", 3) => Operation::MultiplyAdd,
        ("neg_float" | "-", 1) => Operation::Negate,
        ("abs_float" | "abs", 1) => Operation::Absolute,
        ("sqrt_llvm", 1) => Operation::SquareRoot,
        _ => return None,
    })
}
