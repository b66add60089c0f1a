//! Where variables are that closures capture and change: Julia keeps each in a `Core.Box`, and such boxes are followed
//! through a whole module.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Constant, GlobalPart, GlobalValue, Head, Instruction, Module, Name, Operand, Stmt, Type, TypeKind};

use super::disjoint_sets::DisjointSets;
use crate::link_methods::{function_called, type_of};

/// Where Julia keeps a variable that is captured and assigned more than once: an object whose only field may be
/// anything.
pub(crate) const BOX: &str = "Core.Box";

/// Where a box is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Place {
    /// It is the value of a statement of this function.
    Value(Name, InstId),
    /// It is in this field of all values of the struct declared under this name.
    Field(Name, usize),
    /// It is the global constant at this position.
    Constant(usize),
    /// It may be anywhere.
    Anywhere,
}

/// A statement that works on what is in a box.
pub(crate) struct Access {
    pub(crate) function: Name,
    pub(crate) statement: InstId,
    class: usize,
}

/// What is in a box before the program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AtFirst {
    /// Nothing was assigned.
    Undefined,
    /// A value of this type.
    Of(Type),
    /// Nobody knows of which type.
    Unknown,
}

/// The boxes of a module, in classes of those that may be the same.
#[derive(Default)]
pub(crate) struct Boxes {
    places: HashMap<Place, usize>,
    classes: DisjointSets,
    /// The statements that make boxes.
    pub(crate) made: Vec<Access>,
    pub(crate) loads: Vec<Access>,
    /// With what is assigned.
    pub(crate) stores: Vec<(Access, Operand<Ids>)>,
    /// By their positions, the global constants that are boxes, with what is in them.
    constants: Vec<(usize, AtFirst)>,
    /// The fields of structs that are declared as boxes: struct, name, position.
    fields: Vec<(Name, Name, usize)>,
    /// Whether something is assigned to fields of objects that may be any box.
    any_store: bool,
}

impl Boxes {
    pub(crate) fn of(module: &Module<BBCode>) -> Boxes {
        let mut boxes = Boxes { fields: declared_as_boxes(module), ..Boxes::default() };
        boxes.add_constants(module);
        for function in module.functions() {
            for (id, inst) in function.body.all_insts() {
                boxes.add(module, &function.name, &function.body, id, inst);
            }
        }
        boxes
    }

    /// Whether it is known where all boxes are that something is assigned to.
    pub(crate) fn all_stores_are_known(&self) -> bool {
        !self.any_store
    }

    /// The places with the classes of the boxes there.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Place, usize)> {
        self.places.iter().map(|(place, class)| (place, self.classes.root(*class)))
    }

    /// The class of the boxes that may be anywhere.
    pub(crate) fn anywhere(&self) -> Option<usize> {
        self.places.get(&Place::Anywhere).map(|class| self.classes.root(*class))
    }

    /// The class of the box that a statement works on.
    pub(crate) fn class_of(&self, access: &Access) -> usize {
        self.classes.root(access.class)
    }

    /// What is in the boxes of a class before the program runs.
    pub(crate) fn at_first(&self) -> impl Iterator<Item = (usize, &AtFirst)> {
        self.constants.iter().filter_map(|(position, first)| {
            Some((self.classes.root(*self.places.get(&Place::Constant(*position))?), first))
        })
    }

    /// The boxes in this field of values of a type; those that may be anywhere for what is not declared as a box.
    fn field(&self, module: &Module<BBCode>, ty: &Type, index: usize) -> Place {
        let declared = declared_name(module, ty);
        let found = self.fields.iter().find(|(of, _, at)| *at == index && Some(of) == declared);
        found.map_or(Place::Anywhere, |(of, _, index)| Place::Field(of.clone(), *index))
    }

    /// Lets the boxes in fields be any, of which `is_among` holds by struct and name.
    fn lose_fields(&mut self, is_among: impl Fn(&Name, &Name) -> bool) {
        let lost = self.fields.iter().filter(|(of, name, _)| is_among(of, name));
        let lost: Vec<Place> = lost.map(|(of, _, index)| Place::Field(of.clone(), *index)).collect();
        for place in lost {
            self.join(place, Place::Anywhere);
        }
    }

    /// Lets the boxes in fields of values of a type be any; of all types, if it is not known.
    fn lose_fields_of(&mut self, module: &Module<BBCode>, ty: &Type) {
        if let Some(declared) = declared_name(module, ty) {
            self.lose_fields(|of, _| of == declared);
        } else if ty.is_unknown() || matches!(ty, Type::Union(_)) {
            self.lose_fields(|_, _| true);
        }
    }

    fn add_constants(&mut self, module: &Module<BBCode>) {
        for (position, constant) in module.global_constants().iter().enumerate() {
            let parts = match constant.value() {
                GlobalValue::Fields(parts) => parts.as_slice(),
                GlobalValue::Elements { elements, .. } => elements.as_slice(),
                GlobalValue::Numbers { .. } => continue,
            };
            let named = |part: &GlobalPart| module.global_part(position, part);
            if is_box(constant.ty()) {
                self.class(Place::Constant(position));
                let first = match parts.first().map(|part| (named(part), part)) {
                    Some((Some(named), _)) => {
                        let ty = module.global_constants().get(named).map(|named| named.ty().clone());
                        ty.map_or(AtFirst::Unknown, AtFirst::Of)
                    }
                    Some((None, GlobalPart::Constant(constant))) if !constant.ty().is_unknown() => {
                        AtFirst::Of(constant.ty())
                    }
                    Some((None, GlobalPart::Undefined)) | None => AtFirst::Undefined,
                    Some(_) => AtFirst::Unknown,
                };
                self.constants.push((position, first));
            }
            for (index, part) in parts.iter().enumerate() {
                let Some(part) = named(part) else { continue };
                if module.global_constants().get(part).is_some_and(|part| is_box(part.ty())) {
                    let place = self.field(module, constant.ty(), index);
                    self.join(place, Place::Constant(part));
                }
            }
        }
    }

    fn class(&mut self, place: Place) -> usize {
        let next = self.classes.len();
        let class = *self.places.entry(place).or_insert(next);
        if class == next {
            self.classes.add();
        }
        self.classes.find(class)
    }

    fn join(&mut self, a: Place, b: Place) {
        let (a, b) = (self.class(a), self.class(b));
        self.classes.join(a, b);
    }

    /// A box is made, with what is in it at first.
    fn made(&mut self, place: Place, id: InstId, contents: &[Operand<Ids>], bb: &BBCode) {
        let Place::Value(function, _) = &place else { return };
        let made = Access { function: function.clone(), statement: id, class: self.class(place.clone()) };
        self.made.push(made);
        for value in contents {
            let access = Access { function: function.clone(), statement: id, class: self.class(place.clone()) };
            self.stores.push((access, value.clone()));
        }
        for value in contents.iter().filter(|value| is_box(&bb.operand_type(value))) {
            self.join(place.clone(), Place::Anywhere);
            let inner = match value {
                Operand::Value(inner) => Place::Value(function.clone(), *inner),
                _ => Place::Anywhere,
            };
            self.join(inner, Place::Anywhere);
        }
    }

    fn add(&mut self, module: &Module<BBCode>, function: &Name, bb: &BBCode, id: InstId, inst: &Instruction<Ids>) {
        let place_of = |operand: &Operand<Ids>| match operand {
            Operand::Value(value) => Place::Value(function.clone(), *value),
            _ => Place::Anywhere,
        };
        inst.stmt.for_each_operand(&mut |operand| {
            if let Operand::Global(global) = operand
                && let Some(constant) = module.global_constant(global)
                && module.type_of_global(operand).is_some_and(is_box)
            {
                self.join(Place::Constant(constant), Place::Anywhere);
            }
        });
        let own = Place::Value(function.clone(), id);
        let access = |boxes: &mut Boxes, of: &Operand<Ids>| {
            let class = boxes.class(place_of(of));
            Access { function: function.clone(), statement: id, class }
        };
        let primitive = module.primitive_call(&inst.stmt).map(|(primitive, args)| (primitive.name, args));
        match (&inst.stmt, primitive) {
            (Stmt::Value(_) | Stmt::Pi(_) | Stmt::Phi(_), _) if is_box(&inst.ty) => {
                inst.stmt.for_each_operand(&mut |operand| {
                    let from = if is_box(&bb.operand_type(operand)) { place_of(operand) } else { Place::Anywhere };
                    self.join(own.clone(), from);
                });
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
                    ty if module.immutable_fields(ty).is_some() => {
                        for (index, field) in fields.iter().enumerate() {
                            let place = self.field(module, ty, index);
                            match is_box(&bb.operand_type(field)) {
                                true => self.join(place_of(field), place),
                                false => self.join(Place::Anywhere, place),
                            }
                        }
                        return;
                    }
                    _ => {}
                }
            }
            (Stmt::Expr(expr), _) if expr.head.is_for_compiler() => return,
            (_, Some(("getfield" | "getproperty", [object, field, ..]))) => {
                let ty = type_of(module, bb, object);
                if is_box(&ty) {
                    let access = access(self, object);
                    self.loads.push(access);
                    if is_box(&inst.ty) {
                        self.join(own, Place::Anywhere);
                    }
                    return;
                }
                let place = match position(module, &ty, field) {
                    Some(index) => self.field(module, &ty, index),
                    None => Place::Anywhere,
                };
                // What is taken out as a value of unknown type may go anywhere.
                match (is_box(&inst.ty), place) {
                    (true, Place::Anywhere) => {
                        self.lose_fields_of(module, &ty);
                        self.join(own, Place::Anywhere);
                    }
                    (true, place) => self.join(own, place),
                    (false, place) if inst.ty.is_unknown() || matches!(inst.ty, Type::Union(_)) => match &ty {
                        Type::Named(_) if place != Place::Anywhere => self.join(place, Place::Anywhere),
                        Type::Named(_) if position(module, &ty, field).is_some() => {}
                        ty => {
                            let of_any = ty.is_unknown() || matches!(ty, Type::Union(_));
                            let named = field_name(field);
                            match (of_any, named) {
                                (true, Some(named)) => self.lose_fields(|_, name| *name == named),
                                _ => self.lose_fields_of(module, ty),
                            }
                        }
                    },
                    _ => {}
                }
                return;
            }
            (_, Some(("isdefined", [object, ..]))) if is_box(&bb.operand_type(object)) => return,
            (_, Some(("setfield!" | "setproperty!", [object, _, value, ..]))) => {
                let ty = type_of(module, bb, object);
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
        let calls_function = function_called(module, &inst.stmt).is_some();
        let copies = matches!(inst.stmt, Stmt::Value(_) | Stmt::Pi(_) | Stmt::Phi(_) | Stmt::PhiC(_));
        if is_box(&inst.ty) {
            self.join(own, Place::Anywhere);
        } else if !calls_function && !copies && matches!(inst.ty, Type::Named(_)) {
            // Made of what is not followed.
            self.lose_fields_of(module, &inst.ty);
        }
        inst.stmt.for_each_operand(&mut |operand| {
            if is_box(&bb.operand_type(operand)) {
                self.join(place_of(operand), Place::Anywhere);
                if !calls_function {
                    self.lose_fields_of(module, &inst.ty);
                }
            }
        });
    }
}

/// The name under which a struct type is declared.
pub(crate) fn declared_name<'m>(module: &'m Module<BBCode>, ty: &Type) -> Option<&'m Name> {
    let Type::Named(name) = ty else { return None };
    module.type_def(name).map(|def| &def.name)
}

/// The fields of immutable structs of the module that are declared as boxes: struct, name, position.
fn declared_as_boxes(module: &Module<BBCode>) -> Vec<(Name, Name, usize)> {
    let mut found = Vec::new();
    for def in module.types() {
        let TypeKind::Struct { mutable: false, fields } = &def.kind else { continue };
        let boxes = fields.iter().enumerate().filter(|(_, (_, ty))| is_box(ty));
        found.extend(boxes.map(|(index, (name, _))| (def.name.clone(), name.clone(), index)));
    }
    found
}

/// The name by which a field is asked for, if it is one.
fn field_name(field: &Operand<Ids>) -> Option<Name> {
    match field.as_constant()? {
        Constant::Symbol(name) => Some(name.clone()),
        _ => None,
    }
}

/// Whether a call of this makes a box, as listings show it that are not optimised.
fn makes_box(callee: &Operand<Ids>) -> bool {
    matches!(callee, Operand::Global(global) if global.module == "Core" && global.name == "Box")
}

/// Whether values of a type are boxes.
pub(crate) fn is_box(ty: &Type) -> bool {
    matches!(ty, Type::Named(name) if name.as_str() == BOX)
}

/// The position of a field that is named by a constant.
fn position(module: &Module<BBCode>, ty: &Type, field: &Operand<Ids>) -> Option<usize> {
    let field: &Constant = match field {
        Operand::Constant(constant) => constant,
        Operand::Quote(constant) => constant,
        _ => return None,
    };
    module.immutable_field(ty, field).map(|(position, _)| position)
}
