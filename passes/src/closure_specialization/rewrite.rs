//! Puts what closures capture in the place of closures in enums and stacks.

use bbcode::{BBCode, EditError, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Constant, Module, NewInstruction, Operand, Stmt, Type};

use super::clones::{Target, Way};
use super::flow::{Flow, holds};
use super::places::{Place, in_order, seen_through};
use super::things::{Made, Shape, Things};
use crate::replace::Replacements;

/// Rewrites a function.
pub(super) struct Rewriter<'r> {
    pub(super) module: &'r Module<BBCode>,
    pub(super) things: &'r Things,
    /// The specialisations of functions that take what is left of enums and stacks.
    pub(super) clones: &'r HashMap<(usize, Vec<Way>), usize>,
    pub(super) flow: Flow,
}

/// What becomes of parameters of which this is known.
pub(super) fn ways(shapes: &[Shape]) -> Vec<Way> {
    let way = |shape: &Shape| match shape {
        Shape::Plain => Way::Kept,
        shape => Way::Recast(shape.clone()),
    };
    shapes.iter().map(way).collect()
}

type Code = Operand<Ids>;

impl Rewriter<'_> {
    /// Rewrites the function that the flow is of.
    pub(super) fn rewrite(&self, bb: &mut BBCode) -> Result<(), EditError> {
        let mut replaced = Replacements::new();
        let mut gone: Vec<InstId> = Vec::new();
        for id in in_order(bb) {
            let shape = self.flow.shape(&Operand::Value(id));
            let Some(inst) = bb.inst(id) else { continue };
            let (stmt, ty) = (inst.stmt.clone(), inst.ty.clone());
            if let (Stmt::Value(_) | Stmt::Pi(_) | Stmt::Phi(_), true) = (&stmt, holds(&shape)) {
                let new = self.held_type(&shape, &ty);
                if let Some(inst) = bb.inst_mut(id) {
                    if let Stmt::Pi(pi) = &mut inst.stmt {
                        pi.ty = new.clone();
                    }
                    inst.ty = new;
                }
                continue;
            }
            if let Some((primitive, args)) = self.module.primitive_call(&stmt) {
                let (name, args) = (primitive.name, args.to_vec());
                if let Some(value) = self.primitive(bb, id, name, &args, &shape, &ty, &mut replaced)? {
                    replaced.insert(id, value);
                    gone.push(id);
                }
            }
            self.retarget_place(bb, id, &stmt)?;
        }
        replaced.apply(bb);
        for id in gone {
            // Each was found in the function and is removed once.
            let _ = bb.remove_unchecked(id);
        }
        Ok(())
    }

    /// Rewrites a call of a primitive. Returns what takes the place of its value, if it goes.
    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn primitive(
        &self,
        bb: &mut BBCode,
        id: InstId,
        name: &'static str,
        args: &[Code],
        shape: &Shape,
        ty: &Type,
        replaced: &mut Replacements,
    ) -> Result<Option<Code>, EditError> {
        let first = args.first().map_or(Shape::Plain, |first| self.flow.shape(first));
        match (name, args, &first, shape) {
            ("new_case", [_, case, payload @ ..], _, Shape::Thing(thing)) => {
                let new = self.left(shape, ty).unwrap_or_else(|| ty.clone());
                let mut call = vec![Operand::Constant(Constant::of_type(new.clone())), case.clone()];
                for (part, operand) in payload.iter().enumerate() {
                    let cell = case.as_symbol().and_then(|case| self.things.payload(*thing, case, part));
                    let (cell, ty) = cell.unwrap_or((Shape::Plain, Type::Any));
                    call.extend(self.what_is_left(bb, id, &cell, operand, &ty)?);
                }
                self.replace(bb, id, Stmt::call(Operand::global("BBKit", "new_case"), call), new)?;
            }
            ("new_stack", _, _, Shape::Thing(_)) => {
                let new = self.left(shape, ty).unwrap_or_else(|| ty.clone());
                let element = match &new {
                    Type::Stack(element) => (**element).clone(),
                    _ => Type::Any,
                };
                let element = Operand::Constant(Constant::of_type(element));
                self.replace(bb, id, Stmt::call(Operand::global("BBKit", "new_stack"), [element]), new)?;
            }
            ("stack_push!" | "stack_set!", [stack, value, rest @ ..], Shape::Thing(thing), _) => {
                let (cell, element) = self.things.element(*thing).unwrap_or((Shape::Plain, Type::Any));
                let left = self.what_is_left(bb, id, &cell, value, &element)?;
                let value = left.unwrap_or_else(Operand::nothing);
                let args = [stack.clone(), value].into_iter().chain(rest.iter().cloned());
                self.replace(bb, id, Stmt::call(Operand::global("BBKit", name), args), ty.clone())?;
            }
            ("payload", [of, case, part], Shape::Thing(thing), _) => {
                let (Some(name), Some(at)) = (case.as_symbol(), part.as_position()) else { return Ok(None) };
                let known = |part: usize| self.things.payload(*thing, name, part);
                let Some((cell, declared)) = known(at) else { return Ok(None) };
                let before =
                    (0..at).filter(|&part| known(part).is_some_and(|(shape, ty)| self.left(&shape, &ty).is_some()));
                let number = Operand::from(i64::try_from(before.count() + 1).unwrap_or(i64::MAX));
                let left = self.left(&cell, &declared);
                let read = Stmt::call(Operand::global("BBKit", "payload"), [of.clone(), case.clone(), number]);
                return self.read(bb, id, read, &cell, left, ty);
            }
            ("stack_get" | "stack_pop!", _, Shape::Thing(thing), _) => {
                let Some((cell, declared)) = self.things.element(*thing) else { return Ok(None) };
                let left = self.left(&cell, &declared);
                let read = Stmt::call(Operand::global("BBKit", name), args.iter().cloned());
                if left.is_none() {
                    bb.insert_before(id, NewInstruction::new(read.clone(), Type::Nothing))?;
                }
                return self.read(bb, id, read, &cell, left, ty);
            }
            ("getfield", [of, field, ..], Shape::Tuple(_), _) => {
                let tuple = seen_through(bb, &replaced.resolve(of));
                let stmt = tuple.as_value().and_then(|tuple| bb.stmt(tuple));
                let parts = stmt.and_then(|stmt| self.module.primitive_call(stmt)).map(|(_, parts)| parts);
                return Ok(parts.and_then(|parts| parts.get(field.as_position()?)).cloned());
            }
            ("tuple", _, _, Shape::Tuple(_)) => {
                let new = self.held_type(shape, ty);
                if let Some(inst) = bb.inst_mut(id) {
                    inst.ty = new;
                }
            }
            _ => {}
        }
        Ok(None)
    }

    fn replace(&self, bb: &mut BBCode, id: InstId, stmt: Stmt<Ids>, ty: Type) -> Result<(), EditError> {
        bb.replace(id, stmt)?;
        if let Some(inst) = bb.inst_mut(id) {
            inst.ty = ty;
            // The same bits would mean something else of another statement.
            inst.flag = 0;
        }
        Ok(())
    }

    fn left(&self, shape: &Shape, ty: &Type) -> Option<Type> {
        self.things.left(self.module, shape, ty)
    }

    /// The type of a value that holds enums or stacks, where closures are still closures.
    fn held_type(&self, shape: &Shape, ty: &Type) -> Type {
        match (shape, ty) {
            (Shape::Thing(_), ty) => self.left(shape, ty).unwrap_or_else(|| ty.clone()),
            (Shape::Tuple(parts), Type::Tuple(types)) => {
                Type::tuple(parts.iter().zip(&**types).map(|(part, ty)| self.held_type(part, ty)))
            }
            (_, ty) => ty.clone(),
        }
    }

    /// What is stored in the place of a value of this shape; `None` if nothing is. New statements go before `at`.
    fn what_is_left(
        &self,
        bb: &mut BBCode,
        at: InstId,
        shape: &Shape,
        value: &Code,
        ty: &Type,
    ) -> Result<Option<Code>, EditError> {
        if matches!(shape, Shape::Plain | Shape::Thing(_)) {
            return Ok(Some(value.clone()));
        }
        let made = seen_through(bb, value);
        let stmt = made.as_value().and_then(|made| bb.stmt(made));
        let args = stmt.and_then(|stmt| self.module.primitive_call(stmt)).map(|(_, args)| args.to_vec());
        let args = args.unwrap_or_default();
        match shape {
            Shape::Closure(_) if args.len() <= 2 => Ok(args.get(1).cloned()),
            Shape::Closure(_) => {
                let tuple = Stmt::call(Operand::global("Core", "tuple"), args.into_iter().skip(1));
                let ty = self.left(shape, ty).unwrap_or(Type::Any);
                bb.insert_before(at, NewInstruction::new(tuple, ty)).map(|id| Some(id.into()))
            }
            Shape::Tuple(parts) => {
                let types = tuple_types(ty, parts.len());
                let mut left = Vec::new();
                for ((part, value), ty) in parts.iter().zip(&args).zip(&types) {
                    left.extend(self.what_is_left(bb, at, part, value, ty)?);
                }
                if left.is_empty() {
                    return Ok(None);
                }
                let tuple = Stmt::call(Operand::global("Core", "tuple"), left);
                let ty = self.left(shape, ty).unwrap_or(Type::Any);
                bb.insert_before(at, NewInstruction::new(tuple, ty)).map(|id| Some(id.into()))
            }
            Shape::Plain | Shape::Thing(_) => Ok(Some(value.clone())),
        }
    }

    /// Reads what is left of a value of this shape, and makes the value of it. Returns the value if the statement goes.
    fn read(
        &self,
        bb: &mut BBCode,
        id: InstId,
        read: Stmt<Ids>,
        shape: &Shape,
        left: Option<Type>,
        ty: &Type,
    ) -> Result<Option<Code>, EditError> {
        if matches!(shape, Shape::Plain | Shape::Thing(_)) {
            self.replace(bb, id, read, self.held_type(shape, ty))?;
            return Ok(None);
        }
        let read = match left {
            Some(left) => {
                Some(bb.insert_before(id, NewInstruction::new(read, left.clone()))?).map(|id| (id.into(), left))
            }
            None => None,
        };
        self.value(bb, id, shape, read, ty).map(Some)
    }

    /// The value of this shape and type, made of what is left of it before `at`.
    fn value(
        &self,
        bb: &mut BBCode,
        at: InstId,
        shape: &Shape,
        left: Option<(Code, Type)>,
        ty: &Type,
    ) -> Result<Code, EditError> {
        let new = match shape {
            Shape::Plain | Shape::Thing(_) => return Ok(left.map_or_else(Operand::nothing, |(left, _)| left)),
            Shape::Closure(made) => {
                let mut call = vec![self.function(made)];
                match (left, made.captured.len()) {
                    (Some((left, _)), 1) => call.push(left),
                    (Some((left, Type::Tuple(types))), _) => {
                        for (number, ty) in types.iter().enumerate() {
                            call.push(field(bb, at, &left, number, ty)?);
                        }
                    }
                    _ => {}
                }
                NewInstruction::new(Stmt::call(Operand::global("BBKit", "partial_apply"), call), ty.clone())
            }
            Shape::Tuple(parts) => {
                let types = tuple_types(ty, parts.len());
                let lefts = match &left {
                    Some((_, Type::Tuple(lefts))) => lefts.to_vec(),
                    _ => Vec::new(),
                };
                let mut lefts = lefts.into_iter().enumerate();
                let mut values = Vec::new();
                for (part, ty) in parts.iter().zip(&types) {
                    let part_left = match (self.left(part, ty), &left) {
                        (Some(_), Some((tuple, _))) => match lefts.next() {
                            Some((number, ty)) => Some((field(bb, at, tuple, number, &ty)?, ty)),
                            None => None,
                        },
                        _ => None,
                    };
                    values.push(self.value(bb, at, part, part_left, ty)?);
                }
                let ty = self.held_type(shape, ty);
                NewInstruction::new(Stmt::call(Operand::global("Core", "tuple"), values), ty)
            }
        };
        bb.insert_before(at, new).map(Operand::Value)
    }

    /// What names the function of a closure, or the clone of it that takes what is left of what it captures.
    fn function(&self, made: &Made) -> Code {
        let Target::Function(function) = made.target else { return made.operand.clone() };
        let takes = self.module.parameters_of(&made.operand).map_or(0, |parameters| parameters.len());
        let mut shapes = vec![Shape::Plain; takes.saturating_sub(made.captured.len())];
        shapes.extend(made.captured.iter().cloned());
        self.clone_of(function, &shapes).unwrap_or_else(|| made.operand.clone())
    }

    fn clone_of(&self, function: usize, shapes: &[Shape]) -> Option<Code> {
        if shapes.iter().all(|shape| *shape == Shape::Plain) {
            return None;
        }
        let clone = *self.clones.get(&(function, ways(shapes)))?;
        Some(Operand::global("Main", &super::report::name(self.module, clone)))
    }

    /// Lets a call or a closure that is given enums or stacks be one of the clone that takes them.
    fn retarget_place(&self, bb: &mut BBCode, id: InstId, stmt: &Stmt<Ids>) -> Result<(), EditError> {
        let Some((place, None)) = Place::of(self.module, stmt) else { return Ok(()) };
        let mut shapes = vec![Shape::Plain; place.first];
        shapes.extend(place.given.iter().map(|given| match self.flow.shape(given) {
            shape if holds(&shape) => shape,
            _ => Shape::Plain,
        }));
        if let Some(clone) = self.clone_of(place.function, &shapes) {
            bb.replace(id, place.of_function(clone, place.given.clone()))?;
        }
        Ok(())
    }
}

fn tuple_types(ty: &Type, len: usize) -> Vec<Type> {
    match ty {
        Type::Tuple(types) if types.len() == len => types.to_vec(),
        _ => vec![Type::Any; len],
    }
}

fn field(bb: &mut BBCode, at: InstId, tuple: &Code, number: usize, ty: &Type) -> Result<Code, EditError> {
    let number = Operand::from(i64::try_from(number + 1).unwrap_or(i64::MAX));
    let get = Stmt::call(Operand::global("Base", "getfield"), [tuple.clone(), number]);
    bb.insert_before(at, NewInstruction::new(get, ty.clone())).map(Operand::Value)
}
