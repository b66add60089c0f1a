//! What a statement does, as far as differentiation is concerned.

use std::sync::Arc;

use bbcode::{BBCode, Ids, InstId};
use ircode::primitives::{self, Compute, Primitive};
use ircode::{Argument, Callee, Constant, Head, Module, Operand, Stmt, Type, TypeKind, method_of};

use crate::analyses::effects::mutable_field_type;
use crate::differentiation::dispatch::as_taken;
use crate::differentiation::exceptions::makes_exception;
use crate::differentiation::preparation::part_index;
use crate::rules::{Bindings, Rule, RuleKind, RuleTable};

/// What a statement does with its operands.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// Nothing that carries a derivative: steps, comparisons, sizes.
    Steps,
    /// The value is that of an operand.
    Copy(Operand<Ids>),
    /// The value is that of the operand of the edge taken.
    Phi,
    /// The value is one of the last two, by the first.
    Choose { condition: Operand<Ids>, then: Operand<Ids>, otherwise: Operand<Ids> },
    /// A tuple, named tuple or immutable struct of these. It may have more fields, which are not assigned.
    Aggregate(Vec<Operand<Ids>>),
    /// A field of such a value, counted from 0, of so many.
    Field { object: Operand<Ids>, index: usize, count: usize },
    /// The field of such a value that a number says when the program runs, counted from 1, of so many.
    AnyField { object: Operand<Ids>, index: Operand<Ids>, count: usize },
    /// What is at a place in memory.
    Load(Place),
    /// Puts a value in a place in memory. The result is the value, or else the object.
    Store { place: Place, value: Operand<Ids>, gives_value: bool },
    /// A part of an object, or a place in it, of which the shadow is the same part of the shadow: the first operand.
    Part { of: Operand<Ids> },
    /// A new object whose contents hold nothing that depends on anything.
    Allocate,
    /// A new mutable struct or reference with these contents.
    NewObject(Vec<Operand<Ids>>),
    /// A copy of an object.
    CopyObject(Operand<Ids>),
    /// Changes what is in the first object as a whole, by the second if there is one.
    Whole { object: Operand<Ids>, from: Option<Operand<Ids>>, kind: Whole },
    /// The sum of two tangents of which only the run tells what they are.
    Sum(Operand<Ids>, Operand<Ids>),
    /// Puts a value behind the last of a vector or stack.
    Append { object: Operand<Ids>, value: Operand<Ids> },
    /// Takes the last value from a stack.
    StackPop { stack: Operand<Ids> },
    /// Adds elements to a vector, or removes some.
    Resize { object: Operand<Ids>, rest: Vec<Operand<Ids>>, kind: Resize },
    /// A primitive or function with a rule.
    Rule { rule: Arc<Rule>, bindings: Bindings, args: Vec<Operand<Ids>> },
    /// A call of a function of the module. The arguments are as the function takes them: what it collects is one tuple.
    Call { function: usize, args: Vec<Operand<Ids>> },
    /// Something of which no derivative is known.
    Unknown,
}

/// How an object is changed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whole {
    /// Its floats become zero: `reset_shadow!(object)`.
    Reset,
    /// The floats of the other are added: `add_shadow!(object, other)`.
    Add,
    /// It becomes what the other is: `restore!(object, other)`.
    Restore,
    /// It becomes something else, by a primitive without a rule: `fill!` of integers. Nothing in it has a tangent.
    Overwrite,
}

/// How a vector changes its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Resize {
    /// Whether elements are added.
    pub(super) grows: bool,
    /// Where: `end`, `beg` or `at`.
    pub(super) end: &'static str,
}

impl Resize {
    /// The primitive that does it.
    pub(super) fn primitive(self) -> String {
        format!("jl_array_{}_{}", if self.grows { "grow" } else { "del" }, self.end)
    }

    /// What undoes it.
    pub(super) fn inverse(self) -> Resize {
        Resize { grows: !self.grows, ..self }
    }

    /// Whether it takes away the last element, and no other, as `pop!` does. `rest` are its operands behind the vector.
    pub(super) fn removes_last(self, rest: &[Operand<Ids>]) -> bool {
        let count = rest.first().and_then(Operand::as_constant).and_then(Constant::as_scalar);
        !self.grows && self.end == "end" && count.is_some_and(|count| count.to_i128() == 1)
    }
}

/// How a place in memory is named.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Access {
    /// `arrayref(boundscheck, array, indices…)`. Whether bounds are checked is no value of the function: the pullback
    /// may not have it.
    Array(Operand<Ids>),
    /// `getindex(array, indices…)`.
    Index,
    /// `memoryrefget(place, order, boundscheck)`.
    MemoryRef,
    /// `getfield(object, field)`.
    Field,
    /// `stack_get(stack, index)`.
    Stack,
}

/// A place in memory: in an object, at indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Place {
    pub(super) access: Access,
    pub(super) object: Operand<Ids>,
    pub(super) indices: Vec<Operand<Ids>>,
}

impl Place {
    /// The same place in another object of the same shape.
    pub(super) fn at(&self, object: Operand<Ids>, indices: Vec<Operand<Ids>>) -> Place {
        Place { access: self.access.clone(), object, indices }
    }

    /// The statement that reads it.
    pub(super) fn load(&self) -> Stmt<Ids> {
        let object = self.object.clone();
        let (name, args): (_, Vec<Operand<Ids>>) = match &self.access {
            Access::Array(check) => (("Base", "arrayref"), vec![check.clone(), object]),
            Access::Index => (("Base", "getindex"), vec![object]),
            Access::MemoryRef => (("Base", "memoryrefget"), vec![object]),
            Access::Field => (("Base", "getfield"), vec![object]),
            Access::Stack => (("BBKit", "stack_get"), vec![object]),
        };
        Stmt::call(Operand::global(name.0, name.1), args.into_iter().chain(self.indices.iter().cloned()))
    }

    /// The statement that writes it.
    pub(super) fn store(&self, value: Operand<Ids>) -> Stmt<Ids> {
        let object = self.object.clone();
        let indices = self.indices.iter().cloned();
        match &self.access {
            Access::Array(check) => {
                let args = [check.clone(), object, value].into_iter().chain(indices);
                Stmt::call(Operand::global("Base", "arrayset"), args)
            }
            Access::Index => {
                Stmt::call(Operand::global("Base", "setindex!"), [object, value].into_iter().chain(indices))
            }
            Access::MemoryRef => {
                Stmt::call(Operand::global("Base", "memoryrefset!"), [object, value].into_iter().chain(indices))
            }
            Access::Field => {
                Stmt::call(Operand::global("Base", "setfield!"), std::iter::once(object).chain(indices).chain([value]))
            }
            Access::Stack => {
                Stmt::call(Operand::global("BBKit", "stack_set!"), [object, value].into_iter().chain(indices))
            }
        }
    }

    /// The primitives that read what is at such a place into something that can be kept, assigned or not, and that put
    /// it back.
    pub(super) fn keepers(&self) -> (&'static str, &'static str) {
        match self.access {
            Access::Field => ("saved_field", "restore_field!"),
            _ => ("saved_element", "restore_element!"),
        }
    }

    /// The indices that [keepers](Self::keepers) take.
    pub(super) fn keeper_indices(indices: &[Operand<Ids>], access: &Access) -> Vec<Operand<Ids>> {
        match access {
            Access::MemoryRef => Vec::new(),
            _ => indices.to_vec(),
        }
    }
}

/// Finds what statements do.
pub(super) struct Classifier<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) rules: &'a RuleTable,
    pub(super) bb: &'a BBCode,
}

impl Classifier<'_> {
    /// What a statement does. A call of a function that collects arguments is given with these as one tuple by
    /// `packed`.
    pub(super) fn operation(&self, id: InstId, packed: &dyn Fn(InstId) -> Option<InstId>) -> Operation {
        let Some(inst) = self.bb.inst(id) else { return Operation::Steps };
        if inst.stmt.is_terminator() || (inst.ty == Type::Bottom && !matches!(inst.stmt, Stmt::Phi(_))) {
            return Operation::Steps;
        }
        match &inst.stmt {
            // Nothing in it depends on anything: what has a tangent there is not changed (`changed_globals`).
            Stmt::Value(Operand::Global(global)) if self.module.global_constant(global).is_some() => {
                Operation::Allocate
            }
            Stmt::Value(operand) => Operation::Copy(operand.clone()),
            Stmt::Pi(pi) => Operation::Copy(pi.value.clone()),
            Stmt::Phi(_) => Operation::Phi,
            // It is made to be thrown. What it holds is not followed (`activity/exceptions.rs`).
            stmt if makes_exception(self.module, stmt, &inst.ty) => Operation::Steps,
            stmt => {
                if let Some((primitive, args)) = self.module.primitive_call(stmt) {
                    return self.primitive(primitive, args);
                }
                match (stmt.as_call(), stmt) {
                    (Some((_, args)), _) => self.call(id, stmt, args, packed),
                    (None, Stmt::Expr(expr)) => self.expression(&expr.head, &expr.args),
                    _ => Operation::Unknown,
                }
            }
        }
    }

    fn call(
        &self,
        id: InstId,
        stmt: &Stmt<Ids>,
        args: &[Operand<Ids>],
        packed: &dyn Fn(InstId) -> Option<InstId>,
    ) -> Operation {
        match self.module.called(stmt) {
            Some(Callee::Function(function)) => {
                let Some(target) = self.module.functions().get(function) else { return Operation::Unknown };
                let mut args = args.to_vec();
                if target.varargs {
                    args.truncate(target.body.argtypes.len().saturating_sub(2));
                    args.extend(packed(id).map(Operand::Value));
                }
                if args.len() + 1 != target.body.argtypes.len() {
                    return Operation::Unknown;
                }
                let given = args.iter().zip(target.body.argtypes.iter().skip(1));
                let types: Vec<Type> = given.map(|(arg, ty)| as_taken(self.module, self.type_of(arg), ty)).collect();
                if let Some(rule) = self.rules.find_function(&target.name, RuleKind::Vjp, &types) {
                    return Operation::Rule { rule, bindings: Bindings::default(), args };
                }
                if let Some((rule, bindings)) = self.rule_of_library(&target.name, &types) {
                    return Operation::Rule { rule, bindings, args };
                }
                Operation::Call { function, args }
            }
            Some(Callee::Type(ty)) if self.module.makes_undefined(&ty, args) => Operation::Allocate,
            Some(Callee::Type(ty)) => self.construct(&ty, args),
            _ => Operation::Unknown,
        }
    }

    /// The rule of the primitive that a method of Julia's own library is: what its body does, with bits of floats
    /// mostly, has no derivative. The method is still what computes the value.
    fn rule_of_library(&self, name: &str, types: &[Type]) -> Option<(Arc<Rule>, Bindings)> {
        let path = method_of(name).filter(|path| path.starts_with("Base.") || !path.contains('.'))?;
        let primitive = primitives::of_path(path)?;
        let scalars = matches!(primitive.compute, Compute::Scalars(_)) && primitive.takes(types.len());
        scalars.then(|| self.rules.find(primitive, RuleKind::Vjp, types)).flatten()
    }

    fn expression(&self, head: &Head, args: &[Operand<Ids>]) -> Operation {
        match (head, args) {
            (Head::New, [ty, fields @ ..]) => match self.module.named_type(ty) {
                Some(ty) => self.construct(&ty, fields),
                None => Operation::Unknown,
            },
            (Head::SplatNew, [ty, fields]) => match self.module.named_type(ty) {
                Some(ty) if self.field_count(&ty).is_some() => Operation::Copy(fields.clone()),
                _ => Operation::Unknown,
            },
            (Head::CopyAst, [value]) => Operation::Copy(value.clone()),
            (
                Head::StaticParameter
                | Head::Boundscheck
                | Head::TheException
                | Head::Leave
                | Head::PopException
                | Head::IsDefined
                | Head::ThrowUndefIfNot
                | Head::Cfunction
                | Head::Const
                | Head::GlobalDecl,
                _,
            ) => Operation::Steps,
            (head, _) if head.is_for_compiler() => Operation::Steps,
            _ => Operation::Unknown,
        }
    }

    fn construct(&self, ty: &Type, fields: &[Operand<Ids>]) -> Operation {
        match ty {
            Type::Ref(_) => Operation::NewObject(fields.to_vec()),
            Type::Named(name) => match self.module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { mutable: true, .. }) => Operation::NewObject(fields.to_vec()),
                Some(TypeKind::Struct { mutable: false, .. }) => Operation::Aggregate(fields.to_vec()),
                _ => Operation::Unknown,
            },
            Type::NamedTuple(_) | Type::Tuple(_) => Operation::Aggregate(fields.to_vec()),
            // From Julia 1.11 on: a place in memory and the dimensions.
            Type::Array(_) => Operation::Part { of: fields.first().cloned().unwrap_or_else(Operand::nothing) },
            _ => Operation::Unknown,
        }
    }

    /// The number of fields of values of a type that is a tuple, named tuple or immutable struct.
    fn field_count(&self, ty: &Type) -> Option<usize> {
        match ty {
            Type::Tuple(elements) => Some(elements.len()),
            Type::NamedTuple(fields) => Some(fields.len()),
            Type::Named(name) => match self.module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { mutable: false, fields }) => Some(fields.len()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The field that a constant names, counted from 0.
    fn field_index(&self, ty: &Type, field: &Operand<Ids>) -> Option<usize> {
        let constant = match field {
            Operand::Constant(constant) => constant,
            Operand::Quote(constant) => constant,
            _ => return None,
        };
        let position = |fields: &[(ircode::Name, Type)], name: &str| fields.iter().position(|(known, _)| known == name);
        let found = match (constant, ty) {
            (Constant::Symbol(name), Type::NamedTuple(fields)) => position(fields, name),
            (Constant::Symbol(name), Type::Named(of)) => match self.module.type_def(of).map(|def| &def.kind) {
                Some(TypeKind::Struct { fields, .. }) => position(fields, name),
                _ => None,
            },
            (Constant::Scalar(number), _) => usize::try_from(number.to_i128()).ok()?.checked_sub(1),
            _ => None,
        };
        found.filter(|&index| self.field_count(ty).is_none_or(|count| index < count))
    }

    fn is_mutable_object(&self, ty: &Type) -> bool {
        matches!(ty, Type::Ref(_)) || self.module.is_mutable_struct(ty)
    }

    fn field(&self, object: &Operand<Ids>, field: &Operand<Ids>) -> Operation {
        let ty = self.bb.operand_type(object);
        let symbol = match field {
            Operand::Constant(Constant::Symbol(name)) => Some(name.as_str()),
            Operand::Quote(quoted) => match &**quoted {
                Constant::Symbol(name) => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        };
        match (&ty, symbol) {
            (Type::Array(_), Some("ref")) | (Type::MemoryRef(_), Some("mem")) => {
                return Operation::Part { of: object.clone() };
            }
            (Type::Array(_) | Type::Memory(_), _) => return Operation::Steps,
            _ => {}
        }
        if self.is_mutable_object(&ty) {
            if mutable_field_type(self.module, &ty, field).is_none() {
                return Operation::Unknown;
            }
            let place = Place { access: Access::Field, object: object.clone(), indices: vec![field.clone()] };
            return Operation::Load(place);
        }
        match (self.field_count(&ty), self.field_index(&ty, field)) {
            (Some(count), Some(index)) => Operation::Field { object: object.clone(), index, count },
            (Some(count), None) if self.are_integers(std::slice::from_ref(field)) => {
                Operation::AnyField { object: object.clone(), index: field.clone(), count }
            }
            _ => Operation::Unknown,
        }
    }

    fn primitive(&self, primitive: &'static Primitive, args: &[Operand<Ids>]) -> Operation {
        let place = |access: Access, object: &Operand<Ids>, indices: &[Operand<Ids>]| Place {
            access,
            object: object.clone(),
            indices: indices.to_vec(),
        };
        let is_indexed = |operand: &Operand<Ids>| {
            matches!(self.bb.operand_type(operand), Type::Array(_) | Type::Memory(_) | Type::Stack(_) | Type::Ref(_))
        };
        // What a reference refers to is its field.
        let element = |object: &Operand<Ids>, indices: &[Operand<Ids>]| match self.bb.operand_type(object) {
            Type::Ref(_) if indices.is_empty() => place(Access::Field, object, &[Operand::symbol("x")]),
            _ => place(Access::Index, object, indices),
        };
        let is_object =
            |operand: &Operand<Ids>| is_indexed(operand) || self.is_mutable_object(&self.bb.operand_type(operand));
        if let Some((rule, bindings)) = self.find_rule(primitive, args) {
            return Operation::Rule { rule, bindings, args: args.to_vec() };
        }
        match (primitive.name, args) {
            ("identity" | "typeassert" | "assert_number", [value, ..]) => Operation::Copy(value.clone()),
            // Functions of tables hold nothing.
            ("class_method" | "witness_method", _) => Operation::Steps,
            ("ifelse", [condition, then, otherwise]) => {
                Operation::Choose { condition: condition.clone(), then: then.clone(), otherwise: otherwise.clone() }
            }
            ("tuple", fields) => Operation::Aggregate(fields.to_vec()),
            ("getfield" | "getproperty", [object, field, ..]) => self.field(object, field),
            ("setfield!" | "setproperty!", [object, field, value, ..])
                if self.is_mutable_object(&self.bb.operand_type(object))
                    && mutable_field_type(self.module, &self.bb.operand_type(object), field).is_some() =>
            {
                let place = place(Access::Field, object, std::slice::from_ref(field));
                Operation::Store { place, value: value.clone(), gives_value: true }
            }
            ("arrayref" | "const_arrayref", [check, array, indices @ ..]) if is_indexed(array) => {
                Operation::Load(place(Access::Array(known_check(check)), array, indices))
            }
            ("arrayset", [check, array, value, indices @ ..]) if is_indexed(array) => {
                let place = place(Access::Array(known_check(check)), array, indices);
                Operation::Store { place, value: value.clone(), gives_value: false }
            }
            ("getindex", [object, index]) if self.field_count(&self.bb.operand_type(object)).is_some() => {
                self.field(object, index)
            }
            ("getindex", [object, indices @ ..]) if is_indexed(object) && self.are_integers(indices) => {
                Operation::Load(element(object, indices))
            }
            ("setindex!", [object, value, indices @ ..]) if is_indexed(object) && self.are_integers(indices) => {
                let place = element(object, indices);
                Operation::Store { place, value: value.clone(), gives_value: false }
            }
            ("memoryrefget", [object, rest @ ..]) => Operation::Load(place(Access::MemoryRef, object, rest)),
            ("memoryrefset!", [object, value, rest @ ..]) => {
                let place = place(Access::MemoryRef, object, rest);
                Operation::Store { place, value: value.clone(), gives_value: true }
            }
            ("stack_get", [stack, index]) => Operation::Load(place(Access::Stack, stack, std::slice::from_ref(index))),
            ("stack_set!", [stack, value, index]) => {
                let place = place(Access::Stack, stack, std::slice::from_ref(index));
                Operation::Store { place, value: value.clone(), gives_value: false }
            }
            ("jl_reshape_array", [_, of, _]) => Operation::Part { of: of.clone() },
            ("memoryref" | "memoryrefnew", [of, ..]) => Operation::Part { of: of.clone() },
            (
                "new_array" | "jl_alloc_array_1d" | "jl_alloc_array_2d" | "jl_alloc_array_3d" | "jl_new_array"
                | "memorynew" | "new_stack",
                _,
            ) => Operation::Allocate,
            ("copy", [value]) if self.bb.operand_type(value).as_scalar().is_some() => Operation::Copy(value.clone()),
            // Of what may be an array it is not known whether it is a copy or the number itself.
            ("copy" | "jl_array_copy", [object]) if is_object(object) => Operation::CopyObject(object.clone()),
            ("push!" | "stack_push!", [object, value]) if is_indexed(object) => {
                Operation::Append { object: object.clone(), value: value.clone() }
            }
            ("stack_pop!", [stack]) => Operation::StackPop { stack: stack.clone() },
            (name, [object, rest @ ..]) if resize(name).is_some() => match resize(name) {
                Some(kind) => Operation::Resize { object: object.clone(), rest: rest.to_vec(), kind },
                None => Operation::Unknown,
            },
            ("jl_array_sizehint" | "print" | "println" | "use_once!" | "no_derivative" | "no_method", _) => {
                Operation::Steps
            }
            ("reset_shadow!", [object]) => Operation::Whole { object: object.clone(), from: None, kind: Whole::Reset },
            ("add_shadow!", [object, from]) => {
                Operation::Whole { object: object.clone(), from: Some(from.clone()), kind: Whole::Add }
            }
            ("restore!", [object, from]) => {
                Operation::Whole { object: object.clone(), from: Some(from.clone()), kind: Whole::Restore }
            }
            ("snapshot", [object]) => Operation::CopyObject(object.clone()),
            ("zero_tangent", _) => Operation::Allocate,
            ("shadow_of", [of]) => Operation::Part { of: of.clone() },
            ("cotangent_of", [of]) | ("tangent_float", [_, of]) => Operation::Copy(of.clone()),
            ("add_tangents", [a, b]) => Operation::Sum(a.clone(), b.clone()),
            ("partial_apply", [_, captured @ ..]) => Operation::Aggregate(captured.to_vec()),
            ("captured", [closure, function, Operand::Constant(number)]) => {
                let index = number.as_scalar().and_then(part_index);
                match (index, self.captured_count(closure, function)) {
                    (Some(index), Some(count)) if index < count => {
                        Operation::Field { object: closure.clone(), index, count }
                    }
                    _ => Operation::Unknown,
                }
            }
            ("differentiable_function", [original, ..]) => {
                Operation::Aggregate(vec![original.clone(), Operand::nothing(), Operand::nothing()])
            }
            ("differentiable_function_with", [original, jvp, vjp, ..]) => {
                Operation::Aggregate(vec![original.clone(), jvp.clone(), vjp.clone()])
            }
            ("original_of", [bundle]) => Operation::Field { object: bundle.clone(), index: 0, count: 3 },
            ("jvp_of", [bundle, ..]) => Operation::Field { object: bundle.clone(), index: 1, count: 3 },
            ("vjp_of", [bundle, ..]) => Operation::Field { object: bundle.clone(), index: 2, count: 3 },
            ("new_case", [_, _, payload @ ..]) => Operation::Aggregate(payload.to_vec()),
            ("payload", [object, case, Operand::Constant(number)]) => {
                let index = number.as_scalar().and_then(part_index);
                match (index, self.payload_count(&self.bb.operand_type(object), case)) {
                    (Some(index), Some(count)) if index < count => {
                        Operation::Field { object: object.clone(), index, count }
                    }
                    _ => Operation::Unknown,
                }
            }
            (_, [object, ..]) if primitive.effects.writes && self.has_elements_without_tangent(object) => {
                Operation::Whole { object: object.clone(), from: None, kind: Whole::Overwrite }
            }
            _ => Operation::Unknown,
        }
    }

    /// Whether an operand is an array or memory of numbers or Bools that have no tangent.
    fn has_elements_without_tangent(&self, operand: &Operand<Ids>) -> bool {
        let element = match self.bb.operand_type(operand) {
            Type::Array(array) => array.element.as_scalar(),
            Type::Memory(element) => element.as_scalar(),
            _ => None,
        };
        element.is_some_and(|element| !element.is_float())
    }

    /// Whether these are the indices of one element, and not of a slice.
    fn are_integers(&self, indices: &[Operand<Ids>]) -> bool {
        let may_be = |index: &Operand<Ids>| match self.bb.operand_type(index) {
            Type::Scalar(scalar) => scalar.is_integer(),
            // `Colon()` is an object that is known by its text.
            other => other.is_unknown() && !matches!(index.as_constant(), Some(Constant::Text(_))),
        };
        indices.iter().all(may_be)
    }

    /// How many values a closure captures that is one of this function.
    fn captured_count(&self, closure: &Operand<Ids>, function: &Operand<Ids>) -> Option<usize> {
        let Type::Closure(closure) = self.bb.operand_type(closure) else { return None };
        self.module.parameters_of(function)?.len().checked_sub(closure.parameters.len())
    }

    fn payload_count(&self, ty: &Type, case: &Operand<Ids>) -> Option<usize> {
        let (Type::Named(name), Some(Constant::Symbol(case))) = (ty, case.as_constant()) else { return None };
        match self.module.type_def(name).map(|def| &def.kind) {
            Some(TypeKind::Enum { cases }) => {
                cases.iter().find(|(known, _)| known == case).map(|(_, payload)| payload.len())
            }
            _ => None,
        }
    }

    fn find_rule(&self, primitive: &'static Primitive, args: &[Operand<Ids>]) -> Option<(Arc<Rule>, Bindings)> {
        if !self.rules.has_rule(primitive, RuleKind::Vjp) {
            return None;
        }
        let types: Vec<Type> = args.iter().map(|arg| self.type_of(arg)).collect();
        self.rules.find(primitive, RuleKind::Vjp, &types)
    }

    /// The type of an operand, with that of globals that name types: `Base.Float64` is a `Type{Float64}`.
    fn type_of(&self, operand: &Operand<Ids>) -> Type {
        match operand {
            Operand::Global(global) => match Type::parse(&global.name) {
                Type::Named(_) => Type::Untyped,
                ty => Type::type_of(ty),
            },
            other => self.bb.operand_type(other),
        }
    }
}

fn resize(name: &str) -> Option<Resize> {
    let (grows, end) = match name {
        "jl_array_grow_end" => (true, "end"),
        "jl_array_grow_beg" => (true, "beg"),
        "jl_array_grow_at" => (true, "at"),
        "jl_array_del_end" => (false, "end"),
        "jl_array_del_beg" => (false, "beg"),
        "jl_array_del_at" => (false, "at"),
        _ => return None,
    };
    Some(Resize { grows, end })
}

impl Operation {
    /// Visits the operands that the operation reads as values or objects, without indices, sizes and conditions.
    pub(super) fn for_each_input(&self, bb: &BBCode, id: InstId, visit: &mut dyn FnMut(&Operand<Ids>)) {
        match self {
            Operation::Steps | Operation::Allocate => {}
            Operation::Unknown => {
                if let Some(stmt) = bb.stmt(id) {
                    stmt.for_each_operand(visit);
                }
            }
            Operation::Copy(operand) | Operation::CopyObject(operand) | Operation::Part { of: operand } => {
                visit(operand);
            }
            Operation::Phi => {
                if let Some(Stmt::Phi(phi)) = bb.stmt(id) {
                    phi.entries.iter().filter_map(|entry| entry.value.as_ref()).for_each(visit);
                }
            }
            Operation::Choose { then, otherwise, .. } => {
                visit(then);
                visit(otherwise);
            }
            Operation::Aggregate(fields) | Operation::NewObject(fields) => fields.iter().for_each(visit),
            Operation::Field { object, .. } | Operation::AnyField { object, .. } => visit(object),
            Operation::Load(place) => visit(&place.object),
            Operation::Store { place, value, .. } => {
                visit(&place.object);
                visit(value);
            }
            Operation::Append { object, value } => {
                visit(object);
                visit(value);
            }
            Operation::StackPop { stack } => visit(stack),
            Operation::Resize { object, .. } => visit(object),
            Operation::Whole { object, from, .. } => {
                visit(object);
                from.iter().for_each(visit);
            }
            Operation::Sum(a, b) => {
                visit(a);
                visit(b);
            }
            Operation::Rule { args, .. } | Operation::Call { args, .. } => args.iter().for_each(visit),
        }
    }

    /// The object that the operation changes, if it is one that stands in an operand; calls and rules aside.
    pub(super) fn changed_object(&self) -> Option<&Operand<Ids>> {
        match self {
            Operation::Store { place, .. } => Some(&place.object),
            Operation::Append { object, .. } | Operation::Resize { object, .. } | Operation::Whole { object, .. } => {
                Some(object)
            }
            Operation::StackPop { stack } => Some(stack),
            _ => None,
        }
    }
}

/// The argument of this number, `_1` being 0.
pub(super) fn argument(index: usize) -> Operand<Ids> {
    Operand::Argument(Argument::from_index(index))
}

/// Whether bounds are checked, where that is known before the run; else they are, which does no harm.
fn known_check(check: &Operand<Ids>) -> Operand<Ids> {
    match check {
        Operand::Constant(_) => check.clone(),
        _ => Constant::bool(true).into(),
    }
}
