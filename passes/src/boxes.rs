//! Where variables are that closures capture and change: Julia keeps each in a `Core.Box`, and such boxes are followed through a whole module.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Constant, GlobalPart, GlobalValue, Head, Instruction, Module, Name, Operand, Stmt, Type, field_position};

use crate::link_methods::type_of;

/// Where Julia keeps a variable that is captured and assigned more than once: an object whose only field may be anything.
pub(crate) const BOX: &str = "Core.Box";

/// Where a box is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Place {
    /// It is the value of a statement of this function.
    Value(Name, InstId),
    /// It is in this field of all values of a type.
    Field(Type, usize),
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

/// The boxes of a module, in classes of those that may be the same.
#[derive(Default)]
pub(crate) struct Boxes {
    places: HashMap<Place, usize>,
    parents: Vec<usize>,
    /// The statements that make boxes.
    pub(crate) made: Vec<Access>,
    pub(crate) loads: Vec<Access>,
    /// With what is assigned.
    pub(crate) stores: Vec<(Access, Operand<Ids>)>,
    /// By their positions, the global constants that are boxes, with the types of what is in them at first, if that was assigned and is known.
    constants: Vec<(usize, Option<Type>)>,
    /// Whether something is assigned to fields of objects that may be any box.
    any_store: bool,
}

impl Boxes {
    pub(crate) fn of(module: &Module<BBCode>) -> Boxes {
        let mut boxes = Boxes::default();
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
        self.places.iter().map(|(place, class)| (place, self.root(*class)))
    }

    /// The class of the boxes that may be anywhere.
    pub(crate) fn anywhere(&self) -> Option<usize> {
        self.places.get(&Place::Anywhere).map(|class| self.root(*class))
    }

    /// The class of the box that a statement works on.
    pub(crate) fn class_of(&self, access: &Access) -> usize {
        self.root(access.class)
    }

    /// The types of what is in the boxes of a class before the program runs; `None` for what is not known, or was not assigned.
    pub(crate) fn at_first(&self) -> impl Iterator<Item = (usize, Option<&Type>)> {
        self.constants
            .iter()
            .filter_map(|(position, ty)| Some((self.root(*self.places.get(&Place::Constant(*position))?), ty.as_ref())))
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
                let first = parts.first().and_then(|part| match (named(part), part) {
                    (Some(named), _) => module.global_constants().get(named).map(|named| named.ty().clone()),
                    (None, GlobalPart::Constant(constant)) => Some(constant.ty()).filter(|ty| !ty.is_unknown()),
                    _ => None,
                });
                self.constants.push((position, first));
            }
            for (index, part) in parts.iter().enumerate() {
                let Some(part) = named(part) else { continue };
                if module.global_constants().get(part).is_some_and(|part| is_box(part.ty())) {
                    let is_followed = module.immutable_fields(constant.ty()).is_some();
                    let place = if is_followed { Place::Field(constant.ty().clone(), index) } else { Place::Anywhere };
                    self.join(place, Place::Constant(part));
                }
            }
        }
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
        let made = Access { function: function.clone(), statement: id, class: self.class(place.clone()) };
        self.made.push(made);
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
                        let declared = module.immutable_fields(ty).unwrap_or_default();
                        for (index, field) in fields.iter().enumerate() {
                            match is_box(&bb.operand_type(field)) {
                                true => self.join(place_of(field), Place::Field(ty.clone(), index)),
                                false if declared.get(index).is_some_and(|(_, declared)| is_box(declared)) => {
                                    self.join(Place::Anywhere, Place::Field(ty.clone(), index));
                                }
                                false => {}
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
    field_position(&module.immutable_fields(ty)?, field)
}
