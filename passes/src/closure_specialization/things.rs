//! What holds closures out of sight: enums and stacks, and what is left of their contents when the closures in them go.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use bbcode::Ids;
use ircode::{Module, Name, Operand, Type};

use super::clones::Target;
use super::report::Misuse;

/// What is known of a value that goes through an enum or a stack.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Shape {
    /// Nothing: it stays as it is.
    Plain,
    /// It is an enum or a stack, by its number.
    Thing(usize),
    /// It is a closure that is seen to be made.
    Closure(Rc<Made>),
    /// It is a tuple of these.
    Tuple(Rc<Vec<Shape>>),
}

/// A closure of which is known what it applies.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) target: Target,
    /// What names the function.
    pub(super) operand: Operand<Ids>,
    /// What is known of the values that it captures: enums, stacks, or nothing.
    pub(super) captured: Vec<Shape>,
}

impl PartialEq for Made {
    fn eq(&self, other: &Self) -> bool {
        self.target == other.target && self.captured == other.captured
    }
}

impl Eq for Made {}

impl Hash for Made {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.target.hash(state);
        self.captured.hash(state);
    }
}

/// A place in the payload of a case, or the elements of a stack: what is put there.
#[derive(Clone, Debug, Default)]
pub(super) enum Cell {
    /// Nothing is.
    #[default]
    Unset,
    /// All that is put there has this shape.
    Known(Shape),
    /// What is put there differs.
    Mixed,
}

impl Cell {
    /// Notes that something of this shape is put there.
    pub(super) fn join(&mut self, shape: Shape) {
        *self = match std::mem::take(self) {
            Cell::Unset => Cell::Known(shape),
            Cell::Known(known) if known == shape => Cell::Known(known),
            Cell::Known(_) | Cell::Mixed => Cell::Mixed,
        };
    }
}

/// An enum, of whose type all values in a function are one thing; or a stack, by where it is made.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    pub(super) kind: Kind,
    /// Whether it is specialised, as far as is known.
    pub(super) state: State,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Enum {
        name: Name,
        /// What the specialised enum is called, once it is declared.
        new: Name,
        cases: Vec<(Name, Vec<(Type, Cell)>)>,
    },
    Stack {
        element: (Type, Cell),
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It is, unless something speaks against it.
    Candidate,
    /// It is not: there is nothing in it to specialise, or something spoke against it.
    Left(Option<Misuse>),
}

/// The enums and stacks that were looked at.
#[derive(Debug, Default)]
pub(super) struct Things {
    pub(super) all: Vec<Thing>,
}

impl Things {
    /// Whether it is to be specialised.
    pub(super) fn is_candidate(&self, thing: usize) -> bool {
        self.all.get(thing).is_some_and(|thing| thing.state == State::Candidate)
    }

    /// A shape as it is when what is left as it is is nothing special.
    pub(super) fn resolved(&self, shape: &Shape) -> Shape {
        match shape {
            Shape::Thing(thing) if self.is_candidate(*thing) => shape.clone(),
            Shape::Plain | Shape::Thing(_) => Shape::Plain,
            Shape::Closure(made) => {
                let captured = made.captured.iter().map(|shape| self.resolved(shape)).collect();
                Shape::Closure(Rc::new(Made { captured, ..Made::clone(made) }))
            }
            Shape::Tuple(parts) => {
                let parts: Vec<Shape> = parts.iter().map(|part| self.resolved(part)).collect();
                match parts.iter().all(|part| *part == Shape::Plain) {
                    true => Shape::Plain,
                    false => Shape::Tuple(Rc::new(parts)),
                }
            }
        }
    }

    /// What all that is put in a cell is.
    pub(super) fn cell(&self, cell: &Cell) -> Shape {
        match cell {
            Cell::Known(shape) => self.resolved(shape),
            Cell::Unset | Cell::Mixed => Shape::Plain,
        }
    }

    /// What a part of the payload of a case of an enum is, and its type; the part counted from 0.
    pub(super) fn payload(&self, thing: usize, case: &str, part: usize) -> Option<(Shape, Type)> {
        let Kind::Enum { cases, .. } = &self.all.get(thing)?.kind else { return None };
        let (_, cells) = cases.iter().find(|(name, _)| name == case)?;
        let (ty, cell) = cells.get(part)?;
        Some((self.cell(cell), ty.clone()))
    }

    /// What the elements of a stack are, and their type.
    pub(super) fn element(&self, thing: usize) -> Option<(Shape, Type)> {
        let Kind::Stack { element: (ty, cell) } = &self.all.get(thing)?.kind else { return None };
        Some((self.cell(cell), ty.clone()))
    }

    /// The things in a shape, each as often as it occurs, from the outside.
    pub(super) fn inside(shape: &Shape, found: &mut Vec<usize>) {
        match shape {
            Shape::Plain => {}
            Shape::Thing(thing) => found.push(*thing),
            Shape::Closure(made) => made.captured.iter().for_each(|shape| Things::inside(shape, found)),
            Shape::Tuple(parts) => parts.iter().for_each(|part| Things::inside(part, found)),
        }
    }

    /// The things that a shape lays hands on: not those that only closures capture, which are functions of their own.
    pub(super) fn held(shape: &Shape, found: &mut Vec<usize>) {
        match shape {
            Shape::Plain | Shape::Closure(_) => {}
            Shape::Thing(thing) => found.push(*thing),
            Shape::Tuple(parts) => parts.iter().for_each(|part| Things::held(part, found)),
        }
    }

    /// Leaves a thing as it is.
    pub(super) fn leave(&mut self, thing: usize, why: Option<Misuse>) {
        if let Some(thing) = self.all.get_mut(thing)
            && thing.state == State::Candidate
        {
            thing.state = State::Left(why);
        }
    }

    /// The cells of a thing.
    pub(super) fn cells(&self, thing: usize) -> Vec<&Cell> {
        match self.all.get(thing).map(|thing| &thing.kind) {
            Some(Kind::Enum { cases, .. }) => {
                cases.iter().flat_map(|(_, cells)| cells.iter().map(|(_, cell)| cell)).collect()
            }
            Some(Kind::Stack { element: (_, cell) }) => vec![cell],
            None => Vec::new(),
        }
    }

    /// What it is called in messages.
    pub(super) fn name(&self, thing: usize) -> Name {
        match self.all.get(thing).map(|thing| &thing.kind) {
            Some(Kind::Enum { name, .. }) => name.clone(),
            Some(Kind::Stack { element: (ty, _) }) => Type::stack(ty.clone()).to_string().into(),
            None => "".into(),
        }
    }

    /// The type of what stands for a value of this type and shape; `None` if nothing does.
    pub(super) fn left(&self, module: &Module<impl ircode::Parameters>, shape: &Shape, ty: &Type) -> Option<Type> {
        match shape {
            Shape::Plain => Some(ty.clone()),
            Shape::Thing(thing) => match self.all.get(*thing).map(|thing| &thing.kind) {
                Some(Kind::Enum { new, .. }) => Some(Type::named(new.clone())),
                Some(Kind::Stack { element: (ty, cell) }) => {
                    Some(Type::stack(self.left(module, &self.cell(cell), ty).unwrap_or(Type::Nothing)))
                }
                None => Some(ty.clone()),
            },
            Shape::Closure(made) => {
                let types = module.captured_types(&made.operand, made.captured.len()).unwrap_or_default();
                one_of(
                    made.captured.iter().zip(&types).filter_map(|(shape, ty)| self.left(module, shape, ty)).collect(),
                )
            }
            Shape::Tuple(parts) => {
                let Type::Tuple(types) = ty else { return Some(ty.clone()) };
                let types = parts.iter().zip(&**types).filter_map(|(part, ty)| self.left(module, part, ty));
                let types: Vec<Type> = types.collect();
                (!types.is_empty()).then(|| Type::tuple(types))
            }
        }
    }
}

/// One value for several: none, the only one, or a tuple.
fn one_of(types: Vec<Type>) -> Option<Type> {
    match <[Type; 1]>::try_from(types) {
        Ok([only]) => Some(only),
        Err(types) if types.is_empty() => None,
        Err(types) => Some(Type::tuple(types)),
    }
}
