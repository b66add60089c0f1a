//! Gives types to variables that closures capture and change.

use bbcode::{BBCode, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Constant, Head, Instruction, Module, Name, NewInstruction, Operand, Stmt, Type, field_position};

use crate::manager::run_on_function;
use crate::{PassError, PassResult, infer_types, result_types};

/// The pass's name on the command line.
pub const NAME: &str = "captured-types";

/// Where Julia keeps a variable that is captured and assigned more than once: an object whose only field may be anything.
const BOX: &str = "Core.Box";

/// So many times types are followed through the functions that call each other.
const ROUNDS: usize = 8;

/// Where all that is assigned to a captured variable is of one type, lets what is read from it be of that type, with a `typeassert`. True if there was such a
/// variable.
///
/// Julia's compiler does not follow what is in a `Core.Box`, so that all that is computed with it is of unknown type there, which has no derivative. A box is
/// followed here through the fields of closures that hold it, over the whole module. One that goes anywhere else — is an argument by itself, is returned, or
/// lies in an array — keeps its secret; a closure that somebody makes outside of the module must hold what is assigned inside.
pub fn run(module: &mut Module<BBCode>, _: Option<&Name>) -> PassResult {
    if !module.functions().iter().any(|function| function.body.all_insts().any(|(_, inst)| is_box(&inst.ty))) {
        return Ok(false);
    }
    let boxes = Boxes::of(module);
    let mut refused: HashSet<usize> = HashSet::new();
    loop {
        let assumed = boxes.types(module, &refused);
        if assumed.is_empty() {
            return Ok(false);
        }
        let mut trial = module.clone();
        boxes.assert_types(&mut trial, &assumed)?;
        follow_types(&mut trial)?;
        let wrong: Vec<usize> = boxes.wrong(&trial, &assumed);
        if wrong.is_empty() {
            *module = trial;
            return Ok(true);
        }
        refused.extend(wrong);
    }
}

/// Finds the types that follow, also those of what functions return.
fn follow_types(module: &mut Module<BBCode>) -> Result<(), PassError> {
    let names: Vec<Name> = module.functions().iter().map(|function| function.name.clone()).collect();
    for _ in 0..ROUNDS {
        let mut changed = result_types::run(module, None)?;
        for name in &names {
            changed |= run_on_function(module, name, infer_types::run)?;
        }
        if !changed {
            break;
        }
    }
    Ok(())
}

/// Where a box is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Place {
    /// It is the value of a statement of this function.
    Value(Name, InstId),
    /// It is in this field of all values of a type.
    Field(Type, usize),
    /// It may be anywhere.
    Anywhere,
}

/// A statement that works on what is in a box.
struct Access {
    function: Name,
    statement: InstId,
    class: usize,
}

/// The boxes of a module, in classes of those that may be the same.
#[derive(Default)]
struct Boxes {
    places: HashMap<Place, usize>,
    parents: Vec<usize>,
    loads: Vec<Access>,
    /// With what is assigned.
    stores: Vec<(Access, Operand<Ids>)>,
    /// Whether something is assigned to fields of objects that may be any box.
    any_store: bool,
}

impl Boxes {
    fn of(module: &Module<BBCode>) -> Boxes {
        let mut boxes = Boxes::default();
        for function in module.functions() {
            for (id, inst) in function.body.all_insts() {
                boxes.add(module, &function.name, &function.body, id, inst);
            }
        }
        boxes
    }

    fn class(&mut self, place: Place) -> usize {
        let next = self.parents.len();
        let class = *self.places.entry(place).or_insert(next);
        if class == next {
            self.parents.push(next);
        }
        self.root(class)
    }

    fn root(&self, mut class: usize) -> usize {
        while let Some(parent) = self.parents.get(class).filter(|parent| **parent != class) {
            class = *parent;
        }
        class
    }

    fn join(&mut self, a: Place, b: Place) {
        let (a, b) = (self.class(a), self.class(b));
        if let Some(parent) = self.parents.get_mut(a) {
            *parent = b;
        }
    }

    /// A box is made, with what is in it at first.
    fn made(&mut self, place: Place, id: InstId, contents: &[Operand<Ids>], bb: &BBCode) {
        let Place::Value(function, _) = &place else { return };
        for value in contents {
            let access = Access { function: function.clone(), statement: id, class: self.class(place.clone()) };
            self.stores.push((access, value.clone()));
        }
        if contents.iter().any(|value| is_box(&bb.operand_type(value))) {
            self.join(place, Place::Anywhere);
        }
    }

    fn add(&mut self, module: &Module<BBCode>, function: &Name, bb: &BBCode, id: InstId, inst: &Instruction<Ids>) {
        let place_of = |operand: &Operand<Ids>| match operand {
            Operand::Value(value) => Place::Value(function.clone(), *value),
            _ => Place::Anywhere,
        };
        let own = Place::Value(function.clone(), id);
        let access = |boxes: &mut Boxes, of: &Operand<Ids>| {
            let class = boxes.class(place_of(of));
            Access { function: function.clone(), statement: id, class }
        };
        let primitive = module.primitive_call(&inst.stmt).map(|(primitive, args)| (primitive.name, args));
        match (&inst.stmt, primitive) {
            (Stmt::Value(_) | Stmt::Pi(_) | Stmt::Phi(_), _) if is_box(&inst.ty) => {
                inst.stmt.for_each_operand(&mut |operand| self.join(own.clone(), place_of(operand)));
                return;
            }
            (Stmt::Call(call), _) if is_box(&inst.ty) && makes_box(&call.callee) => {
                self.made(own, id, &call.args, bb);
                return;
            }
            (Stmt::Expr(expr), _) if expr.head == Head::New => {
                let fields = expr.args.get(1..).unwrap_or_default();
                match &inst.ty {
                    ty if is_box(ty) => {
                        self.made(own, id, fields, bb);
                        return;
                    }
                    ty @ Type::Named(_) if module.immutable_fields(ty).is_some() => {
                        let boxed = fields.iter().enumerate().filter(|(_, field)| is_box(&bb.operand_type(field)));
                        boxed.for_each(|(index, field)| self.join(place_of(field), Place::Field(ty.clone(), index)));
                        return;
                    }
                    _ => {}
                }
            }
            (Stmt::Expr(expr), _) if expr.head.is_for_compiler() => return,
            (_, Some(("getfield" | "getproperty", [object, field, ..]))) => {
                let ty = bb.operand_type(object);
                if is_box(&ty) {
                    let access = access(self, object);
                    self.loads.push(access);
                    return;
                }
                if is_box(&inst.ty) {
                    let place = position(module, &ty, field).map(|index| Place::Field(ty, index));
                    self.join(own, place.unwrap_or(Place::Anywhere));
                    return;
                }
            }
            (_, Some(("isdefined", [object, ..]))) if is_box(&bb.operand_type(object)) => return,
            (_, Some(("setfield!" | "setproperty!", [object, _, value, ..]))) => {
                let ty = bb.operand_type(object);
                if is_box(&ty) && !is_box(&bb.operand_type(value)) {
                    let access = access(self, object);
                    self.stores.push((access, value.clone()));
                    return;
                }
                // It may be a box whose type is not known.
                self.any_store |= ty.is_unknown() || matches!(ty, Type::Union(_));
            }
            _ => {}
        }
        if is_box(&inst.ty) {
            self.join(own, Place::Anywhere);
        }
        inst.stmt.for_each_operand(&mut |operand| {
            if is_box(&bb.operand_type(operand)) {
                self.join(place_of(operand), Place::Anywhere);
            }
        });
    }

    /// By class, the one type of what is known of what is assigned; for classes that are not refused and of which something is read that is not known.
    fn types(&self, module: &Module<BBCode>, refused: &HashSet<usize>) -> HashMap<usize, Type> {
        if self.any_store {
            return HashMap::new();
        }
        let anywhere = self.places.get(&Place::Anywhere).map(|class| self.root(*class));
        let open: HashSet<usize> = self.loads.iter().map(|load| self.root(load.class)).collect();
        let mut types: HashMap<usize, Option<Type>> = HashMap::new();
        for (store, value) in &self.stores {
            let class = self.root(store.class);
            let Some(ty) = type_in(module, &store.function, value).filter(|ty| !ty.is_unknown()) else { continue };
            let known = types.entry(class).or_insert_with(|| Some(ty.clone()));
            if known.as_ref().is_some_and(|known| *known != ty) {
                *known = None;
            }
        }
        let usable = |class: &usize| open.contains(class) && !refused.contains(class) && anywhere != Some(*class);
        let one = types.into_iter().filter_map(|(class, ty)| Some((class, ty?)));
        one.filter(|(class, ty)| usable(class) && !matches!(ty, Type::Union(_) | Type::Bottom)).collect()
    }

    /// Lets each of these loads give a value of its type.
    fn assert_types(&self, module: &mut Module<BBCode>, types: &HashMap<usize, Type>) -> Result<(), PassError> {
        for load in &self.loads {
            let Some(ty) = types.get(&self.root(load.class)) else { continue };
            let Some(bb) = module.body_mut(&load.function) else { continue };
            assert_type(bb, load.statement, ty)
                .map_err(|error| PassError::new(NAME, &load.function, error.to_string()))?;
        }
        Ok(())
    }

    /// The classes to which something else is assigned than was assumed.
    fn wrong(&self, module: &Module<BBCode>, types: &HashMap<usize, Type>) -> Vec<usize> {
        let stores = self.stores.iter().map(|(store, value)| (self.root(store.class), store, value));
        let is_wrong = |class: usize, store: &Access| {
            // The operand may be the assertion that came behind a load.
            let now = assigned(module, store);
            types.get(&class).is_some_and(|ty| now.as_ref() != Some(ty))
        };
        stores.filter(|(class, store, _)| is_wrong(*class, store)).map(|(class, ..)| class).collect()
    }
}

/// Whether a call of this makes a box, as listings show it that are not optimised.
fn makes_box(callee: &Operand<Ids>) -> bool {
    matches!(callee, Operand::Global(global) if global.module == "Core" && global.name == "Box")
}

fn is_box(ty: &Type) -> bool {
    matches!(ty, Type::Named(name) if name.as_str() == BOX)
}

/// The position of a field that is named by a constant.
fn position(module: &Module<BBCode>, ty: &Type, field: &Operand<Ids>) -> Option<usize> {
    let field: &Constant = match field {
        Operand::Constant(constant) => constant,
        Operand::Quote(constant) => constant,
        _ => return None,
    };
    field_position(&module.immutable_fields(ty)?, field)
}

fn type_in(module: &Module<BBCode>, function: &str, operand: &Operand<Ids>) -> Option<Type> {
    module.function(function).map(|function| function.body.operand_type(operand))
}

/// The type of what a statement assigns.
fn assigned(module: &Module<BBCode>, store: &Access) -> Option<Type> {
    let bb = &module.function(&store.function)?.body;
    let stmt = bb.stmt(store.statement)?;
    let value = match (stmt, module.primitive_call(stmt)) {
        (Stmt::Expr(expr), _) => expr.args.get(1)?,
        (_, Some((_, [_, _, value, ..]))) => value,
        _ => return None,
    };
    Some(bb.operand_type(value))
}

/// Lets a load give what it reads only if that is of this type.
fn assert_type(bb: &mut BBCode, load: InstId, ty: &Type) -> Result<(), EditError> {
    let stmt = bb.stmt(load).ok_or(EditError::NoSuchInst(load))?.clone();
    let read = bb.insert_before(load, NewInstruction::new(stmt, Type::Any))?;
    let operands: [Operand<Ids>; 2] = [read.into(), Operand::Constant(Constant::Type(ty.clone().into()))];
    bb.replace(load, Stmt::call(Operand::global("Core", "typeassert"), operands))?;
    if let Some(inst) = bb.inst_mut(load) {
        inst.ty = ty.clone();
    }
    Ok(())
}
