//! Which objects there are, and how they are taken apart.

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Callee, Constant, Head, Module, Name, Operand, Stmt, Type, TypeKind};
use slotmap::SecondaryMap;
use std::cell::OnceCell;
use std::rc::Rc;

/// Objects of more parts stay whole.
const MOST_PARTS: usize = 64;

/// What kind of object it is. There is one shape of each declared type, shared by what is of that.
#[derive(Debug)]
pub(super) enum Shape<'m> {
    /// A tuple of so many elements.
    Tuple(usize),
    /// A struct: its fields, and where each name is among them, once somebody asks: a trace has very many, and they are
    /// asked for by number.
    Struct(&'m [(Name, Type)], OnceCell<HashMap<&'m str, usize>>),
    /// An enum: the types of the payloads of its cases, and their names.
    Enum(Vec<Vec<Type>>, HashMap<Name, usize>),
}

impl<'m> Shape<'m> {
    fn of(kind: &'m TypeKind) -> Option<Shape<'m>> {
        fn names<T>(named: &[(Name, T)]) -> HashMap<Name, usize> {
            named.iter().enumerate().map(|(index, (name, _))| (name.clone(), index)).collect()
        }
        fn kept<T: Clone>(named: &[(Name, T)]) -> Vec<T> {
            named.iter().map(|(_, what)| what.clone()).collect()
        }
        match kind {
            TypeKind::Struct { mutable: false, fields } => Some(Shape::Struct(fields, OnceCell::new())),
            TypeKind::Struct { .. } => None,
            TypeKind::Enum { cases } => Some(Shape::Enum(kept(cases), names(cases))),
        }
    }

    fn is(self: &Rc<Shape<'m>>, other: &Rc<Shape<'m>>) -> bool {
        match (&**self, &**other) {
            (Shape::Tuple(a), Shape::Tuple(b)) => a == b,
            _ => Rc::ptr_eq(self, other),
        }
    }

    /// The number of cases of an enum.
    pub(super) fn cases(&self) -> usize {
        match self {
            Shape::Enum(payloads, _) => payloads.len(),
            _ => 0,
        }
    }

    /// The type of a part of an object of type `whole`, where that is declared.
    pub(super) fn part_type(&self, whole: &Type, part: Part) -> Option<Type> {
        match (self, part, whole) {
            (Shape::Tuple(_), Part::Field(index), Type::Tuple(elements)) => elements.get(index).cloned(),
            (Shape::Struct(fields, _), Part::Field(index), _) => fields.get(index).map(|(_, ty)| ty.clone()),
            (Shape::Enum(payloads, _), Part::Payload(case, index), _) => payloads.get(case)?.get(index).cloned(),
            (Shape::Enum(payloads, _), Part::Case, _) => {
                Some(if payloads.len() == 2 { Type::BOOL } else { Type::INT64 })
            }
            _ => None,
        }
    }

    /// Whether it has few enough parts to be taken apart.
    fn is_small(&self) -> bool {
        match self {
            Shape::Tuple(count) => *count <= MOST_PARTS,
            Shape::Struct(fields, _) => fields.len() <= MOST_PARTS,
            // Cut off where it is seen to be large.
            Shape::Enum(payloads, _) => payloads.iter().flatten().take(MOST_PARTS + 1).count() <= MOST_PARTS,
        }
    }
}

/// What is asked of an object. Cases and fields are counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    /// A field.
    Field(usize),
    /// Whether it is of a case.
    IsCase(usize),
    /// Which case it is.
    Case,
    /// Of the payload of a case, the part of this number.
    Payload(usize, usize),
}

/// An object that is made here.
#[derive(Clone, Debug)]
pub(super) struct Made<'m> {
    pub(super) shape: Rc<Shape<'m>>,
    /// Of an enum, which case it is.
    pub(super) case: Option<usize>,
    pub(super) parts: Vec<Operand<Ids>>,
}

/// A φ that may be one of objects.
#[derive(Clone, Debug)]
pub(super) struct ObjectPhi<'m> {
    pub(super) id: InstId,
    pub(super) shape: Option<Rc<Shape<'m>>>,
    /// Whether it is taken apart.
    pub(super) apart: bool,
    case: Case,
}

/// The case of the objects that go into a φ.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Case {
    Unknown,
    Only(usize),
    Several,
}

impl Case {
    fn and(self, other: Case) -> Case {
        match (self, other) {
            (Case::Unknown, known) | (known, Case::Unknown) => known,
            (a, b) if a == b => a,
            _ => Case::Several,
        }
    }
}

/// A statement that asks for a part of an object.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) id: InstId,
    pub(super) object: InstId,
    pub(super) part: Part,
}

/// What an operand is made of.
pub(super) enum Object<'o, 'm> {
    Made(&'o Made<'m>),
    /// The φ at this index, which is taken apart.
    Phi(usize),
}

/// The objects of a function.
#[derive(Debug, Default)]
pub(super) struct Objects<'m> {
    pub(super) made: Vec<(InstId, Made<'m>)>,
    pub(super) phis: Vec<ObjectPhi<'m>>,
    /// What is asked of those that are taken apart.
    pub(super) looks: Vec<Look>,
    index: SecondaryMap<InstId, Index>,
    /// What is asked for and is an object that is made here itself: it is looked through at once.
    inner: SecondaryMap<InstId, ()>,
    /// Whether something is asked of objects that are made here of which it is not known what, or is done with what is
    /// in them.
    unclear: bool,
}

#[derive(Clone, Copy, Debug)]
enum Index {
    Made(usize),
    Phi(usize),
}

/// What is asked of an object, before its shape is known.
struct Question<'b> {
    id: InstId,
    object: InstId,
    name: &'static str,
    args: &'b [Operand<Ids>],
}

impl<'m> Objects<'m> {
    pub(super) fn get(&self, value: InstId) -> Option<Object<'_, 'm>> {
        match *self.index.get(value)? {
            Index::Made(index) => self.made.get(index).map(|(_, made)| Object::Made(made)),
            Index::Phi(index) => self.phis.get(index).filter(|phi| phi.apart).map(|_| Object::Phi(index)),
        }
    }

    /// Whether this is asked for and is an object that is made here itself, so that what is asked of that is known.
    pub(super) fn is_inner(&self, look: InstId) -> bool {
        self.inner.contains_key(look)
    }

    /// Whether there may be more to take apart once this is done, even if nothing is replaced by an object: φs of
    /// objects may lose uses that keep them whole.
    pub(super) fn may_show_more(&self) -> bool {
        self.unclear || self.phis.iter().any(|phi| phi.shape.is_some())
    }

    pub(super) fn find(bb: &BBCode, module: &'m Module<BBCode>, graph: &BlockGraph) -> Objects<'m> {
        let mut objects = Objects::default();
        let mut questions: Vec<Question<'_>> = Vec::new();
        let mut shapes = Shapes { module, of: HashMap::new() };
        // The type of the last statement may be all that says why control does not go on.
        for (id, inst) in bb.all_insts().filter(|(_, inst)| inst.ty != Type::Bottom) {
            if matches!(inst.stmt, Stmt::Phi(_)) {
                objects.index.insert(id, Index::Phi(objects.phis.len()));
                objects.phis.push(ObjectPhi { id, shape: None, apart: true, case: Case::Unknown });
                continue;
            }
            let made = match module.primitive_call(&inst.stmt) {
                Some((primitive, args)) => {
                    if matches!(primitive.name, "getfield" | "is_case" | "payload")
                        && let Some(object) = args.first().and_then(Operand::as_value)
                    {
                        questions.push(Question { id, object, name: primitive.name, args });
                    }
                    shapes.made_by(primitive.name, args)
                }
                None => shapes.made_new(&inst.stmt),
            };
            if let Some(made) = made {
                objects.index.insert(id, Index::Made(objects.made.len()));
                objects.made.push((id, made));
            }
        }
        if objects.made.is_empty() {
            objects.phis.iter_mut().for_each(|phi| phi.apart = false);
            return objects;
        }
        let shared = objects.find_shapes(bb);
        objects.find_looks(bb, graph, &questions, shared);
        objects
    }

    /// Finds the shapes of φs, and those that are none of objects. Returns for each φ those that take or bring it.
    fn find_shapes(&mut self, bb: &BBCode) -> Vec<Vec<usize>> {
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.phis.len()];
        let mut brings: Vec<Vec<usize>> = vec![Vec::new(); self.phis.len()];
        let mut work: Vec<usize> = Vec::new();
        for index in 0..self.phis.len() {
            let Some(phi) = self.phis.get(index).and_then(|phi| bb.stmt(phi.id)).and_then(Stmt::as_phi) else {
                continue;
            };
            for value in phi.entries.iter().filter_map(|entry| entry.value.as_ref()) {
                match value.as_value().and_then(|value| self.index.get(value)).copied() {
                    Some(Index::Made(made)) => {
                        if let Some((_, made)) = self.made.get(made) {
                            let case = made.case.map_or(Case::Unknown, Case::Only);
                            let shape = made.shape.clone();
                            take_shape(&mut self.phis, index, &shape, case);
                        }
                        work.push(index);
                    }
                    Some(Index::Phi(other)) => {
                        if let Some(users) = users.get_mut(other) {
                            users.push(index);
                        }
                        if let Some(brings) = brings.get_mut(index) {
                            brings.push(other);
                        }
                    }
                    None => {
                        if let Some(phi) = self.phis.get_mut(index) {
                            phi.apart = false;
                        }
                    }
                }
            }
        }
        while let Some(index) = work.pop() {
            let Some(ObjectPhi { shape: Some(shape), case, .. }) = self.phis.get(index).cloned() else { continue };
            for &user in users.get(index).map(Vec::as_slice).unwrap_or_default() {
                if take_shape(&mut self.phis, user, &shape, case) {
                    work.push(user);
                }
            }
        }
        let mut sizes: HashMap<*const Shape<'m>, bool> = HashMap::new();
        let mut small = |shape: &Rc<Shape<'m>>| *sizes.entry(Rc::as_ptr(shape)).or_insert_with(|| shape.is_small());
        for phi in &mut self.phis {
            phi.apart &= phi.shape.as_ref().is_some_and(&mut small);
        }
        for (users, brings) in users.iter_mut().zip(brings) {
            users.extend(brings);
        }
        users
    }

    /// Finds what is asked of objects, and leaves whole the φs of which something else is done. `shared` are the φs
    /// that go with a φ: they are taken apart together or not at all.
    fn find_looks(&mut self, bb: &BBCode, graph: &BlockGraph, questions: &[Question<'_>], shared: Vec<Vec<usize>>) {
        let mut asked: SecondaryMap<InstId, Look> = SecondaryMap::new();
        // What is asked of values that are not known to be objects.
        let mut open: SecondaryMap<InstId, ()> = SecondaryMap::new();
        for question in questions {
            let part = match self.index.get(question.object) {
                Some(Index::Made(made)) => {
                    let part = self.made.get(*made).and_then(|(_, made)| question.part(&made.shape));
                    self.unclear |= part.is_none();
                    part
                }
                Some(Index::Phi(phi)) => {
                    self.phis.get(*phi).and_then(|phi| phi.shape.as_ref()).and_then(|shape| question.part(shape))
                }
                None => {
                    open.insert(question.object, ());
                    None
                }
            };
            if let Some(part) = part {
                if let Some(inner) = self.part_that_is_made(question.object, part) {
                    self.index.insert(question.id, Index::Made(inner));
                    self.inner.insert(question.id, ());
                    self.unclear |= open.contains_key(question.id);
                }
                asked.insert(question.id, Look { id: question.id, object: question.object, part });
            }
        }
        self.drop_unproven(bb, graph, &mut asked);
        for (id, inst) in bb.all_insts() {
            let look = asked.get(id);
            if matches!(inst.stmt, Stmt::Phi(_)) {
                if !self.inner.is_empty() {
                    inst.stmt.for_each_use(|used| self.unclear |= self.inner.contains_key(used));
                }
                continue;
            }
            inst.stmt.for_each_use(|used| {
                if look.is_none_or(|look| look.object != used)
                    && let Some(Index::Phi(index)) = self.index.get(used)
                    && let Some(phi) = self.phis.get_mut(*index)
                {
                    phi.apart = false;
                }
            });
        }
        let mut work: Vec<usize> = (0..self.phis.len()).filter(|&index| !self.is_apart(index)).collect();
        while let Some(index) = work.pop() {
            for &other in shared.get(index).map(Vec::as_slice).unwrap_or_default() {
                if self.is_apart(other) {
                    self.phis[other].apart = false;
                    work.push(other);
                }
            }
        }
        // In the order of the program.
        let looks = questions.iter().filter_map(|question| asked.remove(question.id));
        let looks: Vec<Look> = looks.filter(|look| self.get(look.object).is_some()).collect();
        self.looks = looks;
    }

    /// The number of the object that is this part of another one that is made here.
    fn part_that_is_made(&self, object: InstId, part: Part) -> Option<usize> {
        let Some(Index::Made(made)) = self.index.get(object) else { return None };
        let (_, made) = self.made.get(*made)?;
        let parts = match part {
            Part::Field(index) => made.parts.get(index),
            Part::Payload(case, index) if made.case == Some(case) => made.parts.get(index),
            _ => None,
        };
        match self.index.get(parts?.as_value()?) {
            Some(Index::Made(inner)) => Some(*inner),
            _ => None,
        }
    }

    fn is_apart(&self, index: usize) -> bool {
        self.phis.get(index).is_some_and(|phi| phi.apart)
    }

    /// Leaves out payloads of φs that may be of another case.
    fn drop_unproven(&self, bb: &BBCode, graph: &BlockGraph, asked: &mut SecondaryMap<InstId, Look>) {
        let needs_proof = |look: &Look| match (self.index.get(look.object), look.part) {
            (Some(Index::Phi(index)), Part::Payload(case, _)) => {
                self.phis.get(*index).is_some_and(|phi| phi.case != Case::Only(case))
            }
            _ => false,
        };
        let mut unproven: SecondaryMap<InstId, ()> = SecondaryMap::new();
        for (id, _) in asked.iter().filter(|(_, look)| needs_proof(look)) {
            unproven.insert(id, ());
        }
        if unproven.is_empty() {
            return;
        }
        let domtree = graph.dominators();
        // What was found out on the way from the entry to the block at hand, by depth in the dominator tree.
        let mut scopes: Vec<Option<(InstId, usize)>> = Vec::new();
        let mut known: HashMap<(InstId, usize), usize> = HashMap::new();
        for number in domtree.preorder() {
            while scopes.len() > domtree.depth(number) {
                if let Some(count) = scopes.pop().flatten().and_then(|fact| known.get_mut(&fact)) {
                    *count -= 1;
                }
            }
            let fact = self.found_before(bb, graph, number, asked);
            if let Some(fact) = fact {
                *known.entry(fact).or_default() += 1;
            }
            scopes.push(fact);
            let Some(block) = graph.block(number) else { continue };
            for id in bb.inst_ids(block).filter(|id| unproven.contains_key(*id)).collect::<Vec<_>>() {
                let proven = match asked.get(id) {
                    Some(Look { object, part: Part::Payload(case, _), .. }) => {
                        known.get(&(*object, *case)).is_some_and(|count| *count > 0)
                    }
                    _ => false,
                };
                if !proven {
                    asked.remove(id);
                }
            }
        }
    }

    /// The object and the case of which it is, if the branch that leads to the block alone says so.
    fn found_before(
        &self,
        bb: &BBCode,
        graph: &BlockGraph,
        number: usize,
        asked: &SecondaryMap<InstId, Look>,
    ) -> Option<(InstId, usize)> {
        let mut preds = graph.graph().predecessors(number);
        let (Some(from), None) = (preds.next(), preds.next()) else { return None };
        let (from, block) = (graph.block(from)?, graph.block(number)?);
        let (_, inst) = bb.terminator(from)?;
        let Stmt::GotoIfNot(goto) = &inst.stmt else { return None };
        let Look { object, part: Part::IsCase(case), .. } = asked.get(goto.cond.as_value()?)? else { return None };
        match (goto.dest == block, bb.next(from) == Some(block)) {
            (false, true) => Some((*object, *case)),
            (true, false) => {
                let shape = match self.index.get(*object)? {
                    Index::Made(made) => &self.made.get(*made)?.1.shape,
                    Index::Phi(phi) => self.phis.get(*phi)?.shape.as_ref()?,
                };
                (shape.cases() == 2).then(|| (*object, 1 - *case))
            }
            _ => None,
        }
    }
}

/// Lets a φ be of this shape and case. True if that is news.
fn take_shape<'m>(phis: &mut [ObjectPhi<'m>], index: usize, shape: &Rc<Shape<'m>>, case: Case) -> bool {
    let Some(phi) = phis.get_mut(index) else { return false };
    let met = phi.case.and(case);
    let news = phi.shape.is_none() || met != phi.case;
    match &phi.shape {
        None => phi.shape = Some(shape.clone()),
        Some(known) if !known.is(shape) => phi.apart = false,
        Some(_) => {}
    }
    phi.case = met;
    news
}

impl Question<'_> {
    /// What is asked of an object of this shape, if it has that.
    fn part(&self, shape: &Shape<'_>) -> Option<Part> {
        let constant = |index: usize| self.args.get(index).and_then(Operand::as_constant);
        let number = |index: usize| {
            let number = constant(index)?.as_scalar()?.to_i128();
            usize::try_from(number).ok()?.checked_sub(1)
        };
        let name = |index: usize| match constant(index)? {
            Constant::Symbol(name) => Some(name),
            _ => None,
        };
        let others = self.args.iter().skip(1).all(|arg| arg.as_value() != Some(self.object));
        if !others {
            return None;
        }
        match (self.name, shape, self.args.len()) {
            ("getfield", Shape::Tuple(count), _) => number(1).filter(|at| at < count).map(Part::Field),
            ("getfield", Shape::Struct(fields, names), _) => {
                let at = match name(1) {
                    Some(name) => {
                        let index = || fields.iter().enumerate().map(|(at, (name, _))| (name.as_str(), at)).collect();
                        names.get_or_init(index).get(name.as_str()).copied()
                    }
                    None => number(1).filter(|&at| at < fields.len()),
                };
                at.map(Part::Field)
            }
            ("is_case", Shape::Enum(_, names), 2) => names.get(name(1)?).copied().map(Part::IsCase),
            ("payload", Shape::Enum(payloads, names), 3) => {
                let (case, at) = (*names.get(name(1)?)?, number(2)?);
                (at < payloads.get(case)?.len()).then_some(Part::Payload(case, at))
            }
            _ => None,
        }
    }
}

/// The shapes of declared types.
struct Shapes<'m> {
    module: &'m Module<BBCode>,
    of: HashMap<Name, Option<Rc<Shape<'m>>>>,
}

impl<'m> Shapes<'m> {
    fn declared(&mut self, name: &Name) -> Option<Rc<Shape<'m>>> {
        let def = self.module.type_def(name)?;
        // By the name of the declaration, which a path may lead to.
        if let Some(known) = self.of.get(&def.name) {
            return known.clone();
        }
        let shape = Shape::of(&def.kind).map(Rc::new);
        self.of.insert(def.name.clone(), shape.clone());
        shape
    }

    /// The object that a `new` makes, if it is one that can be taken apart.
    fn made_new(&mut self, stmt: &Stmt<Ids>) -> Option<Made<'m>> {
        if let Stmt::Expr(expr) = stmt
            && expr.head == Head::New
        {
            let (ty, parts) = expr.args.split_first()?;
            let shape = match static_type(self.module, ty)? {
                Type::Tuple(elements) if elements.len() == parts.len() => Rc::new(Shape::Tuple(parts.len())),
                Type::Named(name) => self.declared(&name)?,
                _ => return None,
            };
            let whole = match &*shape {
                Shape::Tuple(_) => true,
                Shape::Struct(fields, _) => fields.len() == parts.len(),
                Shape::Enum(..) => false,
            };
            return whole.then(|| Made { shape, case: None, parts: parts.to_vec() });
        }
        None
    }

    /// The object that a primitive makes, if it is one that can be taken apart.
    fn made_by(&mut self, name: &str, args: &[Operand<Ids>]) -> Option<Made<'m>> {
        match (name, args) {
            ("tuple", parts) => {
                let shape = Rc::new(Shape::Tuple(parts.len()));
                Some(Made { shape, case: None, parts: parts.to_vec() })
            }
            ("new_case", [ty, case, parts @ ..]) => {
                let Type::Named(name) = static_type(self.module, ty)? else { return None };
                let shape = self.declared(&name)?;
                let Shape::Enum(payloads, names) = &*shape else { return None };
                let Constant::Symbol(case) = case.as_constant()? else { return None };
                let at = *names.get(case)?;
                let fits = payloads.get(at).is_some_and(|payload| payload.len() == parts.len());
                fits.then(|| Made { shape: shape.clone(), case: Some(at), parts: parts.to_vec() })
            }
            _ => None,
        }
    }
}

/// The type that an operand names, declared in the module or not.
fn static_type(module: &Module<BBCode>, operand: &Operand<Ids>) -> Option<Type> {
    match operand {
        Operand::Constant(Constant::Type(ty)) => Some((**ty).clone()),
        Operand::Global(global) => match module.global_callee(global) {
            Callee::Type(ty) => Some(ty),
            Callee::Unknown(path) => Some(Type::parse(&path)),
            _ => None,
        },
        _ => None,
    }
}
