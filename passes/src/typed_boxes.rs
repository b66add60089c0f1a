//! Gives boxes of variables that closures capture and change the type of what is in them.

use bbcode::{BBCode, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::{
    Constant, Function, GlobalConstant, GlobalValue, Head, Module, Name, NewInstruction, Operand, Stmt, Type, TypeDef,
    TypeKind,
};

use crate::analyses::boxes::{AtFirst, BOX, Boxes, Place, declared_name, is_box};
use crate::link_methods::{function_called, type_of};
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "typed-boxes";

/// Where all that is in a `Core.Box` is of one type `T`, makes it a `Core.Box{T}`, a mutable struct whose field is of
/// that type. True if there was such a box.
///
/// Boxes are followed as in [`captured_types`](crate::captured_types). A box that goes where it is not followed, or in
/// which nothing may be when it is read, stays what it is. So does what may come from outside: what arguments of the
/// function named hold, and of functions that no other one calls. A box that is made empty is made where something is
/// put in first, if that comes before everything else that is done with it. Structs and global constants that hold such
/// boxes are declared with the new type.
///
/// # Errors
///
/// If a type cannot be declared, or a box not be changed.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    run_with(module, function.as_slice())
}

/// As [`run`], with several functions that get their arguments from outside.
pub(crate) fn run_with(module: &mut Module<BBCode>, entries: &[&Name]) -> PassResult {
    let has_boxes = |function: &Function<BBCode>| function.body.all_insts().any(|(_, inst)| is_box(&inst.ty));
    if !module.functions().iter().any(has_boxes) {
        return Ok(false);
    }
    let boxes = Boxes::of(module);
    let first_stores = first_stores(module, &boxes);
    let types = contents(&boxes, module, &first_stores, &from_outside(module, entries));
    if types.is_empty() {
        return Ok(false);
    }
    let mut trial = module.clone();
    change(&mut trial, &boxes, &first_stores, &types)?;
    *module = trial;
    Ok(true)
}

fn change(
    module: &mut Module<BBCode>,
    boxes: &Boxes,
    first_stores: &FirstStores,
    types: &HashMap<usize, Type>,
) -> Result<(), PassError> {
    let mut names: Vec<(String, &Type)> = types.values().map(|ty| (typed(ty), ty)).collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names.dedup_by(|a, b| a.0 == b.0);
    for (name, ty) in names {
        let kind = TypeKind::Struct { mutable: true, fields: vec![("contents".into(), ty.clone())] };
        let def = TypeDef { name: name.as_str().into(), supertypes: Some(Vec::new()), kind };
        module.add_type(def).map_err(|error| PassError::because(NAME, &name.into(), error))?;
    }
    for made in &boxes.made {
        if let Some(ty) = types.get(&boxes.class_of(made))
            && let Some(bb) = module.body_mut(&made.function)
        {
            let first_store = first_stores.get(&(made.function.clone(), made.statement)).copied();
            make(bb, made.statement, first_store, ty)
                .map_err(|error| PassError::because(NAME, &made.function, error))?;
        }
    }
    for (place, class) in boxes.places() {
        if let Some(ty) = types.get(&class) {
            change_place(module, place, ty)?;
        }
    }
    for load in &boxes.loads {
        if let Some(ty) = types.get(&boxes.class_of(load))
            && let Some(inst) = module.body_mut(&load.function).and_then(|bb| bb.inst_mut(load.statement))
            && inst.ty.is_unknown()
        {
            inst.ty = ty.clone();
        }
    }
    Ok(())
}

/// The structs that arguments from outside may be or hold: of these functions, and of those that no other one calls.
fn from_outside(module: &Module<BBCode>, named: &[&Name]) -> HashSet<Name> {
    let mut called = vec![false; module.functions().len()];
    for (caller, each) in module.functions().iter().enumerate() {
        for (_, inst) in each.body.all_insts() {
            let callee = function_called(module, &inst.stmt);
            if let Some(called) = callee.filter(|callee| *callee != caller).and_then(|callee| called.get_mut(callee)) {
                *called = true;
            }
        }
    }
    // A method of an object is called with it, by what has the object.
    let is_entry = |each: &Function<BBCode>, called: bool| !called && !each.name.starts_with("(::");
    let entries = module.functions().iter().zip(called);
    let entries = entries.filter(|(each, called)| is_entry(each, *called) || named.contains(&&each.name));
    let mut work: Vec<Type> =
        entries.flat_map(|(each, _)| each.body.argtypes.iter().skip(1).cloned().collect::<Vec<_>>()).collect();
    let mut found: HashSet<Name> = HashSet::new();
    while let Some(ty) = work.pop() {
        if let Some(name) = declared_name(module, &ty)
            && !found.insert(name.clone())
        {
            continue;
        }
        match &ty {
            Type::Union(members) => work.extend(members.iter().cloned()),
            Type::Array(array) => work.push(array.element.clone()),
            Type::Ref(element) => work.push((**element).clone()),
            Type::Named(_) => {
                work.extend(module.struct_fields(&ty).into_iter().flatten().map(|(_, ty)| ty.clone()));
            }
            ty => work.extend(module.immutable_fields(ty).into_iter().flatten().map(|(_, ty)| ty.clone())),
        }
    }
    found
}

/// The name of the type of boxes in which there is something of this type.
fn typed(ty: &Type) -> String {
    format!("{BOX}{{{ty}}}")
}

/// By class, the one type of all that is in the boxes, for classes of which that is known, and of which something is in
/// all of them. Boxes in structs that come `from_outside` are left out.
fn contents(
    boxes: &Boxes,
    module: &Module<BBCode>,
    first_stores: &FirstStores,
    from_outside: &HashSet<Name>,
) -> HashMap<usize, Type> {
    if !boxes.all_stores_are_known() {
        return HashMap::new();
    }
    let stored = boxes.stores.iter().map(|(store, value)| {
        let ty = module.function(&store.function).map(|function| type_of(module, &function.body, value));
        (boxes.class_of(store), ty)
    });
    let at_first = boxes.at_first().map(|(class, first)| match first {
        AtFirst::Of(ty) => (class, Some(ty.clone())),
        AtFirst::Undefined | AtFirst::Unknown => (class, None),
    });
    let mut types: HashMap<usize, Option<Type>> = HashMap::new();
    for (class, ty) in stored.chain(at_first) {
        let ty = ty.filter(is_known);
        let known = types.entry(class).or_insert_with(|| ty.clone());
        if *known != ty {
            *known = None;
        }
    }
    for made in &boxes.made {
        let stmt = module.function(&made.function).and_then(|function| function.body.stmt(made.statement));
        let is_filled = stmt.is_some_and(|stmt| contents_operand(stmt).is_some());
        if !is_filled && !first_stores.contains_key(&(made.function.clone(), made.statement)) {
            types.remove(&boxes.class_of(made));
        }
    }
    for (place, class) in boxes.places() {
        if matches!(place, Place::Anywhere) || matches!(place, Place::Field(of, _) if from_outside.contains(of)) {
            types.remove(&class);
        }
    }
    types.into_iter().filter_map(|(class, ty)| Some((class, ty?))).collect()
}

/// Whether a type says all of the values, and can be written in the name of another one.
fn is_known(ty: &Type) -> bool {
    let is_open = ty.is_unknown() || matches!(ty, Type::Union(_) | Type::Bottom);
    !is_open && Type::parse(&ty.to_string()) == *ty
}

/// What a statement that makes a box puts in it.
fn contents_operand(stmt: &Stmt<Ids>) -> Option<&Operand<Ids>> {
    match stmt {
        Stmt::Expr(expr) if expr.head == Head::New => expr.args.get(1),
        Stmt::Call(call) => call.args.first(),
        _ => None,
    }
}

/// By the statements that make boxes without contents, those that put something in first: before everything else that
/// is done with the box there, and once for each box.
type FirstStores = HashMap<(Name, InstId), InstId>;

fn first_stores(module: &Module<BBCode>, boxes: &Boxes) -> FirstStores {
    let mut uses_by_function: HashMap<&Name, HashMap<InstId, Vec<InstId>>> = HashMap::new();
    for made in &boxes.made {
        uses_by_function.entry(&made.function).or_default().insert(made.statement, Vec::new());
    }
    let mut found = FirstStores::new();
    for (name, mut uses) in uses_by_function {
        let Some(function) = module.function(name) else { continue };
        uses.retain(|made, _| function.body.stmt(*made).is_some_and(|stmt| contents_operand(stmt).is_none()));
        for (id, inst) in function.body.all_insts() {
            inst.stmt.for_each_use(|value| {
                if let Some(uses) = uses.get_mut(&value) {
                    uses.push(id);
                }
            });
        }
        for (made, uses) in uses {
            if let Some(store) = first_store(&function.body, made, &uses) {
                found.insert((function.name.clone(), made), store);
            }
        }
    }
    found
}

fn first_store(bb: &BBCode, made: InstId, uses: &[InstId]) -> Option<InstId> {
    let mut stores = uses.iter().copied().filter(|id| stored(bb, made, *id).is_some());
    let any = stores.next()?;
    let first = stores.fold(any, |first, other| if bb.is_available(other, first) { other } else { first });
    let comes_first = |id: InstId| match bb.stmt(id) {
        Some(Stmt::Phi(phi)) => {
            let of_box = |operand: &Operand<Ids>| operand.as_value() == Some(made);
            let mut entries = phi.entries.iter().filter(|entry| entry.value.as_ref().is_some_and(of_box));
            entries.all(|entry| bb.is_available_at_end(first, entry.edge))
        }
        _ => id == first || bb.is_available(first, id),
    };
    let (from, to) = (bb.block_of(made)?, bb.block_of(first)?);
    let loops = bb.loops();
    // In a loop of its own it would be put into one box several times.
    let is_once = from == to || loops.header_of(from) == loops.header_of(to) && !loops.is_irreducible(to);
    (is_once && bb.is_available(made, first) && uses.iter().copied().all(comes_first)).then_some(first)
}

/// What a statement puts in a box, if it does and does nothing else with the box.
fn stored(bb: &BBCode, made: InstId, id: InstId) -> Option<Operand<Ids>> {
    let Some(Stmt::Call(call)) = bb.stmt(id) else { return None };
    let is_core = |module: &str| matches!(module, "Core" | "Base" | "");
    let sets = matches!(&call.callee, Operand::Global(global) if global.name == "setfield!" && is_core(&global.module));
    match call.args.as_slice() {
        [object, _, value] if sets && object.as_value() == Some(made) && value.as_value() != Some(made) => {
            Some(value.clone())
        }
        _ => None,
    }
}

/// Makes a box a typed one, at once with what is in it.
fn make(bb: &mut BBCode, made: InstId, first_store: Option<InstId>, ty: &Type) -> Result<(), EditError> {
    let stmt = bb.stmt(made).ok_or(EditError::NoSuchInst(made))?;
    let new = Type::named(typed(ty));
    let made_with = |value: Operand<Ids>| {
        let of = Operand::Constant(Constant::of_type(new.clone()));
        Stmt::expr(Head::New, [of, value])
    };
    if let Some(value) = contents_operand(stmt).cloned() {
        bb.replace(made, made_with(value))?;
        return Ok(());
    }
    let Some((store, value)) = first_store.and_then(|store| Some((store, stored(bb, made, store)?))) else {
        return Ok(());
    };
    let line = bb.inst(made).map(|inst| inst.line).unwrap_or_default();
    let filled = made_with(value.clone());
    let filled = bb.insert_before(store, NewInstruction::new(filled, new.clone()).with_line(line))?;
    // That it puts something there gives what it puts there.
    bb.replace_all_uses(store, &value)?;
    bb.remove(store)?;
    bb.replace_all_uses(made, &filled.into())?;
    bb.remove(made)?;
    Ok(())
}

/// Says of a place that boxes there have what is of this type in them.
fn change_place(module: &mut Module<BBCode>, place: &Place, ty: &Type) -> Result<(), PassError> {
    let new = Type::named(typed(ty));
    match place {
        Place::Value(function, id) => {
            // One that was made without contents is gone.
            let Some(inst) = module.body_mut(function).and_then(|bb| bb.inst_mut(*id)) else { return Ok(()) };
            if let Stmt::Pi(pi) = &mut inst.stmt {
                pi.ty = new.clone();
            }
            inst.ty = new;
        }
        Place::Field(name, index) => {
            let Some(mut def) = module.type_def(name).cloned() else { return Ok(()) };
            if let TypeKind::Struct { fields, .. } = &mut def.kind
                && let Some((_, ty)) = fields.get_mut(*index)
            {
                *ty = new;
                module.replace_type(def);
            }
        }
        Place::Constant(position) => {
            let Some(constant) = module.global_constants().get(*position) else { return Ok(()) };
            if let GlobalValue::Fields(fields) = constant.value() {
                let name = constant.name().clone();
                let changed = GlobalConstant::fields(name.clone(), new, fields.clone())
                    .map_err(|error| PassError::new(NAME, &name, error.to_string()))?;
                module.replace_global_constant(*position, changed);
            }
        }
        Place::Anywhere => {}
    }
    Ok(())
}
