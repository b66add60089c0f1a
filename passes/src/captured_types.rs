//! Gives types to variables that closures capture and change.

use bbcode::{BBCode, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{Constant, Module, Name, NewInstruction, Operand, Stmt, Type};

use crate::analyses::boxes::{Access, AtFirst, Boxes, is_box};
use crate::manager::run_on_function;
use crate::{PassError, PassResult, infer_types, result_types};

/// The pass's name on the command line.
pub const NAME: &str = "captured-types";

/// At most this many times types are followed through the functions that call each other.
const ROUNDS: usize = 8;

/// Where all that is assigned to a captured variable is of one type, lets what is read from it be of that type, with a
/// `typeassert`. True if there was such a variable.
///
/// Julia's compiler does not follow what is in a `Core.Box`, so that all that is computed with it is of unknown type
/// there, which has no derivative. A box is followed here through the fields of closures that hold it, over the whole
/// module. One that goes anywhere else — is an argument by itself, is returned, or lies in an array — keeps its secret;
/// a closure that somebody makes outside of the module must hold what is assigned inside.
pub fn run(module: &mut Module<BBCode>, _: Option<&Name>) -> PassResult {
    if !module.functions().iter().any(|function| function.body.all_insts().any(|(_, inst)| is_box(&inst.ty))) {
        return Ok(false);
    }
    let boxes = Boxes::of(module);
    let mut refused: HashSet<usize> = HashSet::new();
    loop {
        let assumed = types(&boxes, module, &refused);
        if assumed.is_empty() {
            return Ok(false);
        }
        let mut trial = module.clone();
        assert_types(&boxes, &mut trial, &assumed)?;
        follow_types(&mut trial)?;
        let wrong: Vec<usize> = wrong(&boxes, &trial, &assumed);
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

/// By class, the one type of what is known of what is assigned; for classes that are not refused and of which something
/// is read that is not known.
fn types(boxes: &Boxes, module: &Module<BBCode>, refused: &HashSet<usize>) -> HashMap<usize, Type> {
    if !boxes.all_stores_are_known() {
        return HashMap::new();
    }
    let open: HashSet<usize> =
        boxes.loads.iter().filter(|load| is_open(module, load)).map(|load| boxes.class_of(load)).collect();
    let stores = boxes.stores.iter().map(|(store, value)| {
        let ty = type_in(module, &store.function, value).filter(|ty| !ty.is_unknown());
        (boxes.class_of(store), ty)
    });
    let mut types: HashMap<usize, Option<Type>> = HashMap::new();
    let at_first = boxes.at_first().filter_map(|(class, first)| match first {
        AtFirst::Of(ty) => Some((class, Some(ty.clone()))),
        AtFirst::Undefined | AtFirst::Unknown => None,
    });
    for (class, ty) in stores.chain(at_first) {
        let Some(ty) = ty else { continue };
        let known = types.entry(class).or_insert_with(|| Some(ty.clone()));
        if known.as_ref().is_some_and(|known| *known != ty) {
            *known = None;
        }
    }
    for (class, _) in boxes.at_first().filter(|(_, first)| **first == AtFirst::Unknown) {
        types.remove(&class);
    }
    let usable = |class: &usize| open.contains(class) && !refused.contains(class) && boxes.anywhere() != Some(*class);
    let one = types.into_iter().filter_map(|(class, ty)| Some((class, ty?)));
    one.filter(|(class, ty)| usable(class) && !matches!(ty, Type::Union(_) | Type::Bottom)).collect()
}

/// Whether the type of what is read is not known.
fn is_open(module: &Module<BBCode>, load: &Access) -> bool {
    let inst = module.function(&load.function).and_then(|function| function.body.inst(load.statement));
    inst.is_some_and(|inst| inst.ty.is_unknown())
}

/// Lets each load of which that is not known give a value of its type.
fn assert_types(boxes: &Boxes, module: &mut Module<BBCode>, types: &HashMap<usize, Type>) -> Result<(), PassError> {
    for load in boxes.loads.iter().filter(|load| is_open(module, load)).collect::<Vec<_>>() {
        let Some(ty) = types.get(&boxes.class_of(load)) else { continue };
        let Some(bb) = module.body_mut(&load.function) else { continue };
        assert_type(bb, load.statement, ty).map_err(|error| PassError::because(NAME, &load.function, error))?;
    }
    Ok(())
}

/// The classes to which something else is assigned than was assumed.
fn wrong(boxes: &Boxes, module: &Module<BBCode>, types: &HashMap<usize, Type>) -> Vec<usize> {
    let stores = boxes.stores.iter().map(|(store, value)| (boxes.class_of(store), store, value));
    let is_wrong = |class: usize, store: &Access| {
        // The operand may be the assertion that came behind a load.
        let now = assigned(module, store);
        types.get(&class).is_some_and(|ty| now.as_ref() != Some(ty))
    };
    stores.filter(|(class, store, _)| is_wrong(*class, store)).map(|(class, ..)| class).collect()
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
