//! What a statement does to tangents.

use std::sync::Arc;

use bbcode::BBCode;
use ircode::primitives::{Primitive, lookup};
use ircode::{Callee, Constant, Field, Head, IRCode, Module, Operand, Positions, Stmt, Type, TypeKind};

use crate::analyses::effects::mutable_field_type;
use crate::differentiation::exceptions::makes_exception;
use crate::differentiation::preparation::part_index;
use crate::rules::{Bindings, Rule, RuleKind, RuleTable};
use crate::tangents::{Tangent, TangentTypes};

type Op = Operand<Positions>;

/// What a statement does to the tangents of its operands.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// Nothing: steps, comparisons, sizes, jumps.
    Steps,
    /// The value is that of an operand.
    Copy(Op),
    /// φ, φᶜ or ϒ.
    Merge,
    /// The value is one of the last two, by the first.
    Choose(Op, Op, Op),
    /// A tuple, named tuple, immutable struct or case of an enum, of these fields with the tangents of their places.
    Aggregate(Vec<(Op, Tangent)>),
    /// A field of such a value, counted from 0.
    Field { object: Op, index: usize },
    /// The field of such a value that a number says when the program runs, counted from 1.
    AnyField { object: Op, index: Op },
    /// A new mutable struct, reference or array, whose shadow is a new one of this type.
    New { shadow: Type, fields: Vec<(Op, Role)> },
    /// The same is done to the tangents: the primitive is called again, with these in the place of some operands.
    Same { callee: Op, args: Vec<(Op, Role)>, gives: Gives },
    /// A new object, in which nothing depends on the arguments; or the zero of a tangent.
    Zero,
    /// A primitive with a rule.
    Rule { rule: Arc<Rule>, bindings: Bindings, args: Vec<Op> },
    /// A call of a function of the module, with the operands as they stand.
    Call { function: usize, args: Vec<Op> },
    /// An exception of Julia's library, what was thrown, or what is taken out of one.
    Exception,
    /// Something of which no derivative is known.
    Unknown,
}

/// What stands in the place of an operand where a primitive is called for tangents.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Role {
    /// The operand itself.
    Keep,
    /// Its tangent. If it has none, nothing is to be done.
    Tangent,
    /// Its tangent, as it is in a place that has tangents of this kind.
    Stored(Tangent),
}

/// What the tangent of the result is where a primitive is called for tangents.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Gives {
    /// There is none.
    Nothing,
    /// That of the operand at this index.
    Operand(usize),
    /// What the call gives, a tangent of this kind.
    Result(Tangent),
}

/// Finds what statements do.
pub(super) struct Classifier<'a> {
    pub(super) module: &'a Module<BBCode>,
    pub(super) rules: &'a RuleTable,
    pub(super) tangents: &'a TangentTypes<'a, BBCode>,
    pub(super) ir: &'a IRCode,
}

impl Classifier<'_> {
    pub(super) fn operation(&self, stmt: &Stmt<Positions>, ty: &Type) -> Operation {
        if stmt.is_terminator() {
            return Operation::Steps;
        }
        match stmt {
            // Nothing in it depends on anything: what has a tangent there is not changed (`changed_globals`).
            Stmt::Value(Operand::Global(global)) if self.module.global_constant(global).is_some() => {
                return Operation::Zero;
            }
            Stmt::Value(operand) => return Operation::Copy(operand.clone()),
            Stmt::Pi(pi) => return Operation::Copy(pi.value.clone()),
            Stmt::Phi(_) | Stmt::PhiC(_) | Stmt::Upsilon(_) => return Operation::Merge,
            _ => {}
        }
        let is_exception = makes_exception(self.module, stmt, ty);
        // It is made to be thrown. What it holds is not followed, nor does holding it change anything.
        if is_exception && self.module.is_undeclared_exception(ty) {
            return Operation::Exception;
        }
        if let Some((primitive, args)) = self.module.primitive_call(stmt) {
            // What always throws gives nothing to go on with.
            if *ty == Type::Bottom {
                return Operation::Steps;
            }
            if is_exception {
                return self.construct(ty, args);
            }
            let callee = stmt.as_call().map(|(callee, _)| callee.clone());
            let callee = callee.unwrap_or_else(|| Operand::global("BBKit", primitive.name));
            return self.primitive(primitive, callee, args, ty);
        }
        let called = match (stmt.as_call(), stmt) {
            (Some((_, args)), _) => self.call(stmt, args),
            (None, Stmt::Expr(expr)) => self.expression(&expr.head, &expr.args),
            _ => Operation::Unknown,
        };
        match called {
            // It throws, whatever it is.
            Operation::Unknown if *ty == Type::Bottom => Operation::Steps,
            called => called,
        }
    }

    /// The type of an operand, with that of globals that name types: `Base.Float64` is a `Type{Float64}`.
    pub(super) fn type_of(&self, operand: &Op) -> Type {
        match operand {
            Operand::Global(global) if global.known_value().is_none() => match self.module.named_type(operand) {
                Some(ty) => Type::type_of(ty),
                None => Type::Untyped,
            },
            other => self.ir.operand_type(other),
        }
    }

    fn kind(&self, operand: &Op) -> Tangent {
        self.tangents.of(&self.type_of(operand))
    }

    fn call(&self, stmt: &Stmt<Positions>, args: &[Op]) -> Operation {
        match self.module.called(stmt) {
            Some(Callee::Function(function)) => {
                let fits = self.module.functions().get(function).is_some_and(|target| {
                    let taken = target.body.argtypes.len().saturating_sub(1);
                    if target.varargs { args.len() + 1 >= taken } else { args.len() == taken }
                });
                if fits { Operation::Call { function, args: args.to_vec() } } else { Operation::Unknown }
            }
            Some(Callee::Type(ty)) => match (&ty, args) {
                (Type::Scalar(_), [value]) => {
                    let args = vec![Operand::Constant(Constant::of_type(ty.clone())), value.clone()];
                    let rule = lookup("convert").and_then(|primitive| self.rule(primitive, &args));
                    rule.map_or(Operation::Unknown, |(rule, bindings)| Operation::Rule { rule, bindings, args })
                }
                (ty, args) if self.module.makes_undefined(ty, args) => Operation::Zero,
                _ => self.construct(&ty, args),
            },
            _ => Operation::Unknown,
        }
    }

    fn expression(&self, head: &Head, args: &[Op]) -> Operation {
        match (head, args) {
            (Head::New, [ty, fields @ ..]) => match self.module.named_type(ty) {
                Some(ty) => self.construct(&ty, fields),
                None => Operation::Unknown,
            },
            // The fields of an immutable struct have the tangents of the tuple that they come from.
            (Head::SplatNew, [ty, fields]) => match self.module.named_type(ty) {
                Some(ty) if self.fields(&ty).is_some() && !self.is_mutable_object(&ty) => {
                    Operation::Copy(fields.clone())
                }
                _ => Operation::Unknown,
            },
            (Head::TheException, _) => Operation::Exception,
            (Head::CopyAst, [value]) => Operation::Copy(value.clone()),
            (
                Head::Boundscheck
                | Head::StaticParameter
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

    fn construct(&self, ty: &Type, args: &[Op]) -> Operation {
        let stored = |field: &Op, ty: &Type| (field.clone(), Role::Stored(self.tangents.of(ty)));
        match (ty, args) {
            (Type::Ref(element), fields) => {
                let Tangent::Object(shadow) = self.tangents.of(ty) else { return Operation::Steps };
                Operation::New { shadow, fields: fields.iter().map(|field| stored(field, element)).collect() }
            }
            // From Julia 1.11 on: a place in memory and the dimensions.
            (Type::Array(_), [place, dims]) => match self.tangents.of(ty) {
                Tangent::Object(shadow) => {
                    let fields = vec![(place.clone(), Role::Tangent), (dims.clone(), Role::Keep)];
                    Operation::New { shadow, fields }
                }
                _ => Operation::Steps,
            },
            (Type::Tuple(types), _) => Operation::Aggregate(self.places(args, types.iter())),
            (Type::NamedTuple(fields), _) => Operation::Aggregate(self.places(args, fields.iter().map(|(_, ty)| ty))),
            (Type::Named(name), _) => match self.module.type_def(name).map(|def| &def.kind) {
                Some(TypeKind::Struct { mutable: true, fields }) => match self.tangents.of(ty) {
                    Tangent::Object(shadow) => {
                        let fields = args.iter().zip(fields).map(|(arg, (_, ty))| stored(arg, ty)).collect();
                        Operation::New { shadow, fields }
                    }
                    _ => Operation::Steps,
                },
                Some(TypeKind::Struct { mutable: false, fields }) => {
                    Operation::Aggregate(self.places(args, fields.iter().map(|(_, ty)| ty)))
                }
                _ => Operation::Unknown,
            },
            _ => Operation::Unknown,
        }
    }

    /// The operands with the tangents of the places of these types; `nothing` for places without one.
    fn places<'t>(&self, args: &[Op], types: impl Iterator<Item = &'t Type>) -> Vec<(Op, Tangent)> {
        let operands = args.iter().cloned().chain(std::iter::repeat_with(Operand::nothing));
        operands.zip(types).map(|(operand, ty)| (operand, self.tangents.of(ty))).collect()
    }

    /// The fields of a tuple, a named tuple or a struct.
    fn fields<'t>(&'t self, ty: &'t Type) -> Option<Vec<Field<'t>>> {
        match ty {
            Type::Tuple(types) => Some(types.iter().map(|ty| (None, ty)).collect()),
            ty => self.module.immutable_fields(ty).or_else(|| self.module.struct_fields(ty)),
        }
    }

    fn is_mutable_object(&self, ty: &Type) -> bool {
        matches!(ty, Type::Ref(_)) || self.module.is_mutable_struct(ty)
    }

    /// The field that a constant names, counted from 0, with its type.
    fn named_field(&self, ty: &Type, field: &Op) -> Option<(usize, Type)> {
        if let Type::Ref(element) = ty {
            return Some((0, (**element).clone()));
        }
        let fields = self.fields(ty)?;
        let index = match field.as_constant()? {
            Constant::Symbol(name) => fields.iter().position(|(known, _)| *known == Some(name))?,
            Constant::Scalar(number) => usize::try_from(number.to_i128()).ok()?.checked_sub(1)?,
            _ => return None,
        };
        fields.get(index).map(|(_, ty)| (index, (*ty).clone()))
    }

    fn getfield(&self, callee: Op, object: &Op, field: &Op) -> Operation {
        let ty = self.type_of(object);
        let same = |kind: Tangent| Operation::Same {
            callee: callee.clone(),
            args: vec![(object.clone(), Role::Tangent), (field.clone(), Role::Keep)],
            gives: Gives::Result(kind),
        };
        let symbol = match field.as_constant() {
            Some(Constant::Symbol(name)) => Some(name.as_str()),
            _ => None,
        };
        match (&ty, symbol) {
            (Type::Array(array), Some("ref")) => {
                return same(self.tangents.of(&Type::MemoryRef(Arc::new(array.element.clone()))));
            }
            (Type::MemoryRef(element), Some("mem")) => return same(self.tangents.of(&Type::Memory(element.clone()))),
            (Type::Array(_) | Type::Memory(_) | Type::MemoryRef(_), _) => return Operation::Steps,
            _ => {}
        }
        let named = self.named_field(&ty, field);
        if self.is_mutable_object(&ty) {
            return same(mutable_field_type(self.module, &ty, field).map_or(Tangent::ANY, |ty| self.tangents.of(&ty)));
        }
        // A tuple of which the type does not say how many elements there are, or what only the run knows: of all but a
        // tuple or a struct that cannot be changed, taking a part of the tangent fails.
        let is_tuple = matches!(&ty, Type::Named(name) if name.starts_with("Tuple{") || name.starts_with("NTuple{"));
        match named {
            None if (is_tuple || ty.is_unknown()) && symbol.is_none() => {
                Operation::AnyField { object: object.clone(), index: field.clone() }
            }
            Some((index, _)) => Operation::Field { object: object.clone(), index },
            None if self.fields(&ty).is_some() && symbol.is_none() => {
                Operation::AnyField { object: object.clone(), index: field.clone() }
            }
            None => Operation::Unknown,
        }
    }

    /// What a primitive, whose result is of type `ty`, does that calls for nothing but itself, on tangents.
    #[rustfmt::skip]
    fn primitive(&self, primitive: &'static Primitive, callee: Op, args: &[Op], ty: &Type) -> Operation {
        use Role::{Keep, Stored, Tangent as Twin};
        if let Some((rule, bindings)) = self.rule(primitive, args) {
            return Operation::Rule { rule, bindings, args: args.to_vec() };
        }
        let with = |callee: Op, first: &[Role], gives: Gives| Operation::Same {
            callee,
            args: args.iter().cloned().zip(first.iter().cloned().chain(std::iter::repeat(Keep))).collect(),
            gives,
        };
        let same = |first: &[Role], gives: Gives| with(callee.clone(), first, gives);
        let element = |operand: &Op| self.element(&self.type_of(operand));
        let result = |kind: Tangent| Gives::Result(kind);
        match (primitive.name, args) {
            ("identity" | "typeassert" | "assert_number", [value, ..]) => Operation::Copy(value.clone()),
            ("ifelse", [condition, then, otherwise]) => {
                Operation::Choose(condition.clone(), then.clone(), otherwise.clone())
            }
            ("tuple", fields) => {
                Operation::Aggregate(fields.iter().map(|field| (field.clone(), self.kind(field))).collect())
            }
            ("getfield" | "getproperty", [object, ..]) if self.module.is_undeclared_exception(&self.type_of(object)) => {
                if self.tangents.of(ty).is_none() { Operation::Steps } else { Operation::Exception }
            }
            ("getfield" | "getproperty", [object, field, ..]) => self.getfield(callee, object, field),
            ("getindex", [object, index]) if self.fields(&self.type_of(object)).is_some() => {
                self.getfield(callee, object, index)
            }
            ("setfield!" | "setproperty!", [object, field, value, ..]) => self.setfield(callee, object, field, value),
            ("arrayref" | "const_arrayref", [_, array, ..]) => match element(array) {
                Some(kind) => same(&[Keep, Twin], result(kind)),
                None => Operation::Unknown,
            },
            ("arrayset", [_, array, ..]) => match element(array) {
                Some(kind) => same(&[Keep, Twin, Stored(kind)], Gives::Operand(1)),
                None => Operation::Unknown,
            },
            ("getindex" | "memoryrefget" | "stack_get" | "stack_pop!", [object, ..]) => match element(object) {
                Some(kind) => same(&[Twin], result(kind)),
                None => Operation::Unknown,
            },
            ("setindex!" | "push!" | "stack_push!" | "stack_set!" | "memoryrefset!", [object, ..]) => match element(object) {
                Some(kind) => {
                    let gives = match primitive.name {
                        "memoryrefset!" => Gives::Operand(1),
                        "setindex!" | "push!" => Gives::Operand(0),
                        _ => Gives::Nothing,
                    };
                    same(&[Twin, Stored(kind)], gives)
                }
                None => Operation::Unknown,
            },
            ("memoryref" | "memoryrefnew", [of, ..]) => match self.type_of(of) {
                Type::Memory(element) | Type::MemoryRef(element) => {
                    same(&[Twin], result(self.tangents.of(&Type::MemoryRef(element))))
                }
                _ => Operation::Unknown,
            },
            ("copy", [value]) if self.type_of(value).as_scalar().is_some() => Operation::Copy(value.clone()),
            // Of what may be an array it is not known whether it is a copy or the number itself.
            ("copy", [value]) if element(value).is_none() => Operation::Unknown,
            ("copy" | "jl_array_copy" | "snapshot", [object]) => same(&[Twin], result(self.kind(object))),
            ("jl_array_grow_end" | "jl_array_grow_beg" | "jl_array_grow_at" | "jl_array_del_end"
                | "jl_array_del_beg" | "jl_array_del_at" | "jl_array_sizehint", _) => same(&[Twin], Gives::Nothing),
            ("jl_reshape_array", [ty, array, dims]) => match self.module.named_type(ty).map(|ty| self.tangents.of(&ty)) {
                Some(kind @ Tangent::Object(_)) => {
                    let ty = Operand::Constant(Constant::of_type(kind.ty()));
                    let args = vec![(ty, Keep), (array.clone(), Twin), (dims.clone(), Keep)];
                    Operation::Same { callee, args, gives: result(kind) }
                }
                _ => Operation::Unknown,
            },
            ("new_array" | "jl_alloc_array_1d" | "jl_alloc_array_2d" | "jl_alloc_array_3d" | "jl_new_array"
                | "memorynew" | "zero_tangent", _) => Operation::Zero,
            ("new_stack", [ty]) => {
                let element = self.module.named_type(ty);
                match element.map(|element| self.tangents.of(&Type::stack(element))) {
                    Some(Tangent::Object(Type::Stack(element))) => {
                        let ty = Operand::Constant(Constant::of_type((*element).clone()));
                        Operation::Same { callee, args: vec![(ty, Keep)], gives: result(Tangent::Object(Type::Stack(element))) }
                    }
                    _ => Operation::Zero,
                }
            }
            ("new_case", [ty, case, payload @ ..]) => match self.payload_types(ty, case) {
                Some(types) => Operation::Aggregate(self.places(payload, types.iter())),
                None => Operation::Unknown,
            },
            ("partial_apply", [function, captured @ ..]) => {
                let parameters = self.module.parameters_of(function).unwrap_or_default();
                match parameters.len().checked_sub(captured.len()) {
                    Some(first) => Operation::Aggregate(self.places(captured, parameters.iter().skip(first))),
                    None => Operation::Unknown,
                }
            }
            ("differentiable_function", [original, ..]) => {
                let parts = [original.clone(), Operand::nothing(), Operand::nothing()];
                Operation::Aggregate(self.places(&parts, [&Type::Any; 3].into_iter()))
            }
            ("differentiable_function_with", [original, jvp, vjp, ..]) => {
                let parts = [original.clone(), jvp.clone(), vjp.clone()];
                Operation::Aggregate(self.places(&parts, [&Type::Any; 3].into_iter()))
            }
            ("original_of", [bundle]) => Operation::Field { object: bundle.clone(), index: 0 },
            ("jvp_of", [bundle, ..]) => Operation::Field { object: bundle.clone(), index: 1 },
            ("vjp_of", [bundle, ..]) => Operation::Field { object: bundle.clone(), index: 2 },
            ("captured", [closure, _, Operand::Constant(Constant::Scalar(number))]) => {
                match part_index(number) {
                    Some(index) => Operation::Field { object: closure.clone(), index },
                    None => Operation::Unknown,
                }
            }
            ("payload", [object, _, Operand::Constant(Constant::Scalar(number))]) => {
                match part_index(number) {
                    Some(index) => Operation::Field { object: object.clone(), index },
                    None => Operation::Unknown,
                }
            }
            // The primitives that derivatives consist of are linear in tangents.
            ("add_tangents", _) => same(&[Stored(Tangent::ANY), Stored(Tangent::ANY)], result(Tangent::ANY)),
            ("tangent_field" | "shadow_of" | "cotangent_of", _) => same(&[Stored(Tangent::ANY)], result(Tangent::ANY)),
            ("tangent_float", [ty, _]) => match self.module.named_type(ty).map(|ty| self.tangents.of(&ty)) {
                Some(kind @ Tangent::Float(_)) => same(&[Keep, Stored(Tangent::ANY)], result(kind)),
                _ => Operation::Unknown,
            },
            ("reset_shadow!", _) => same(&[Twin], Gives::Nothing),
            ("restore!" | "fill_unassigned!", _) => same(&[Twin, Twin], Gives::Nothing),
            ("add_shadow!" | "add_seed!", _) => same(&[Twin, Stored(Tangent::ANY)], Gives::Nothing),
            ("saved_element" | "saved_field", _) => same(&[Twin], result(Tangent::ANY)),
            ("restore_element!" | "restore_field!", _) => same(&[Twin, Stored(Tangent::ANY)], Gives::Nothing),
            ("===" | "!==" | "isa" | "typeof" | "isdefined" | "nfields" | "arraylen" | "arraysize" | "mightalias" | "length" | "size"
                | "sizeof" | "memoryrefoffset" | "memoryref_isassigned" | "is_case" | "applies" | "class_method" | "witness_method" | "stack_length" | "use_once!" | "no_derivative" | "no_method"
                | "print" | "println" | "string" | "print_to_string", _) => Operation::Steps,
            _ => Operation::Unknown,
        }
    }

    fn setfield(&self, callee: Op, object: &Op, field: &Op, value: &Op) -> Operation {
        let ty = self.type_of(object);
        let same = |role: Role| Operation::Same {
            callee: callee.clone(),
            args: vec![(object.clone(), Role::Tangent), (field.clone(), Role::Keep), (value.clone(), role)],
            gives: Gives::Operand(2),
        };
        match (&ty, field.as_constant()) {
            (Type::Array(_), Some(Constant::Symbol(name))) if name == "ref" => return same(Role::Tangent),
            (Type::Array(_), Some(Constant::Symbol(name))) if name == "size" => return same(Role::Keep),
            _ => {}
        }
        match mutable_field_type(self.module, &ty, field) {
            Some(ty) if self.tangents.of(&ty).is_none() => Operation::Steps,
            Some(ty) => same(Role::Stored(self.tangents.of(&ty))),
            None => Operation::Unknown,
        }
    }

    /// The tangents of the elements of an object of this type.
    fn element(&self, ty: &Type) -> Option<Tangent> {
        match ty {
            Type::Array(array) => Some(self.tangents.of(&array.element)),
            Type::Memory(element) | Type::MemoryRef(element) | Type::Ref(element) | Type::Stack(element) => {
                Some(self.tangents.of(element))
            }
            _ => None,
        }
    }

    fn payload_types(&self, ty: &Op, case: &Op) -> Option<Vec<Type>> {
        let Type::Named(name) = self.module.named_type(ty)? else { return None };
        let Constant::Symbol(case) = case.as_constant()? else { return None };
        match self.module.type_def(&name).map(|def| &def.kind) {
            Some(TypeKind::Enum { cases }) => {
                cases.iter().find(|(known, _)| known == case).map(|(_, types)| types.clone())
            }
            _ => None,
        }
    }

    fn rule(&self, primitive: &'static Primitive, args: &[Op]) -> Option<(Arc<Rule>, Bindings)> {
        if !self.rules.has_rule(primitive, RuleKind::Jvp) {
            return None;
        }
        let types: Vec<Type> = args.iter().map(|arg| self.type_of(arg)).collect();
        self.rules.find(primitive, RuleKind::Jvp, &types)
    }
}

impl Operation {
    /// Whether the statement may change objects that are among its operands, or put operands in them.
    pub(super) fn changes(&self, module: &Module<BBCode>, stmt: &Stmt<Positions>) -> bool {
        match self {
            Operation::Same { args, gives, .. } => {
                !matches!(gives, Gives::Result(_)) || args.iter().filter(|(_, role)| *role != Role::Keep).count() > 1
            }
            Operation::Call { .. } => true,
            Operation::Rule { rule, .. } => rule.changes_first(),
            Operation::Unknown => match stmt {
                Stmt::Call(_) | Stmt::Invoke(_) | Stmt::Expr(_) => {
                    module.primitive_call(stmt).is_none_or(|(primitive, _)| primitive.effects.writes)
                }
                _ => false,
            },
            _ => false,
        }
    }
}
