//! What may throw.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::primitives::{Primitive, ResultType, foreign_call};
use ircode::{
    CallGraph, Callee, Constant, Head, Instruction, Module, Operand, Stmt, Type, TypeKind, method_of, unqualified,
};

use super::regions::Regions;
use crate::analyses::effects::{call_effects, field_type, mutable_field_type};
use crate::differentiation::exceptions::is_without_derivative;

/// Functions of C that throw nothing, whatever they are given.
const NEVER_THROW: &[&str] = &["memset", "memmove", "memcpy", "memcmp", "strlen"];

/// How a statement throws.
#[derive(Clone, Copy, Debug)]
pub(super) enum Throws {
    /// It throws its operand.
    Always,
    /// It throws the exception that is being handled again.
    Again,
    /// What it calls may throw: the function at this position.
    Function(usize),
    /// It is this primitive, which may fail.
    Primitive(&'static Primitive),
    /// It asks whether a variable is assigned.
    Undefined,
    /// Nobody knows what it calls.
    Unknown,
}

/// Which statements and functions may throw.
#[derive(Debug)]
pub(super) struct Throwing {
    /// Which functions may be left by an exception, by position.
    leaves: Vec<bool>,
    /// The types of which the module makes objects that lack fields.
    incomplete: HashSet<Type>,
}

impl Throwing {
    pub(super) fn of(module: &Module<BBCode>) -> Throwing {
        let count = module.functions().len();
        let graph = CallGraph::new(module);
        let mut throwing = Throwing { leaves: vec![false; count], incomplete: incomplete_types(module) };
        for group in graph.bottom_up() {
            // Those that call each other throw if one of them does without the others.
            let throws = group.iter().any(|&position| throwing.leaves(module, position));
            for &position in group {
                if let Some(known) = throwing.leaves.get_mut(position) {
                    *known = throws;
                }
            }
        }
        throwing
    }

    /// Whether an exception may come out of a function.
    fn leaves(&self, module: &Module<BBCode>, position: usize) -> bool {
        let Some(function) = module.functions().get(position) else { return true };
        let Ok(regions) = Regions::of(&function.body) else { return true };
        function.body.blocks().any(|block| {
            let escapes = regions.reaches(block) && regions.handler(block).is_none();
            escapes && function.body.insts(block).any(|(_, inst)| self.how(module, &function.body, inst).is_some())
        })
    }

    /// How a statement throws, if it may.
    pub(super) fn how(&self, module: &Module<BBCode>, bb: &BBCode, inst: &Instruction<Ids>) -> Option<Throws> {
        if let Stmt::Expr(expr) = &inst.stmt
            && expr.head != Head::Foreigncall
        {
            return (expr.head == Head::ThrowUndefIfNot).then_some(Throws::Undefined);
        }
        if !matches!(inst.stmt, Stmt::Call(_) | Stmt::Invoke(_) | Stmt::Expr(_)) {
            return None;
        }
        if let Stmt::Expr(expr) = &inst.stmt
            && foreign_call(expr).is_some_and(|(name, _)| NEVER_THROW.contains(&name))
        {
            return None;
        }
        if let Some((primitive, args)) = module.primitive_call(&inst.stmt) {
            let throws = || {
                call_effects(module, bb, primitive, args).throws && !is_fine(module, bb, primitive, args)
                    || self.may_lack_field(module, bb, primitive, args)
            };
            return match primitive.name {
                "throw" => Some(Throws::Always),
                "rethrow" => Some(if args.is_empty() { Throws::Again } else { Throws::Always }),
                // What calls functions that it is given.
                _ if primitive.result == ResultType::Mapped => Some(Throws::Unknown),
                _ if primitive.result == ResultType::Bottom || throws() => Some(Throws::Primitive(primitive)),
                _ => None,
            };
        }
        match module.called(&inst.stmt) {
            // Julia's own function is what it calls.
            Some(Callee::Function(position)) if is_rethrow(module, position) => match inst.stmt.as_call() {
                Some((_, [_, ..])) => Some(Throws::Always),
                _ => Some(Throws::Again),
            },
            Some(Callee::Function(position)) => match self.leaves.get(position) {
                Some(false) => None,
                _ => Some(Throws::Function(position)),
            },
            _ => Some(Throws::Unknown),
        }
    }

    /// Whether a statement takes a field out of a struct that may lack it.
    fn may_lack_field(
        &self,
        module: &Module<BBCode>,
        bb: &BBCode,
        primitive: &Primitive,
        args: &[Operand<Ids>],
    ) -> bool {
        let ("getfield" | "getproperty", [object, field, ..]) = (primitive.name, args) else { return false };
        let ty = bb.operand_type(object);
        let is_incomplete = self.incomplete.contains(module.as_declared(&ty).as_ref().unwrap_or(&ty));
        // Bits have some value, whatever it is.
        let is_bits = || field_type(module, &ty, field).is_some_and(|ty| module.is_bits_type(&ty) == Some(true));
        is_incomplete && !is_bits()
    }
}

/// The types of which a function makes an object without all of its fields.
fn incomplete_types(module: &Module<BBCode>) -> HashSet<Type> {
    let functions = module.functions().iter().map(|function| &function.body);
    let insts = functions.flat_map(|body| body.all_insts().map(move |(_, inst)| (body, inst)));
    module.incomplete_types(insts.filter_map(|(body, inst)| match (&inst.stmt, module.called(&inst.stmt)) {
        (Stmt::Expr(expr), _) if expr.head == Head::New => {
            let (ty, fields) = expr.args.split_first()?;
            // Where the type is a value, the object may say it.
            let of_object = || Some(inst.ty.widened().unwrap_or_else(|| inst.ty.clone())).filter(|ty| !ty.is_unknown());
            let named = match ty.as_value().and_then(|value| body.inst(value)).map(|inst| &inst.stmt) {
                Some(Stmt::Value(copied)) => module.named_type(copied),
                _ => module.named_type(ty),
            };
            Some((named.or_else(of_object), fields.len()))
        }
        (stmt, Some(Callee::Type(ty))) => Some((Some(ty), stmt.as_call()?.1.len())),
        _ => None,
    }))
}

/// Whether the function at this position throws an exception again.
fn is_rethrow(module: &Module<BBCode>, position: usize) -> bool {
    let Some(function) = module.functions().get(position) else { return false };
    matches!(method_of(&function.name), Some("rethrow" | "Base.rethrow"))
}

/// Whether a statement throws the exception that is being handled.
pub(super) fn throws_again(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> bool {
    match module.called(stmt) {
        Some(Callee::Primitive(primitive)) => primitive.name == "rethrow",
        Some(Callee::Function(position)) => is_rethrow(module, position),
        _ => module.primitive_call(stmt).is_some_and(|(primitive, _)| primitive.name == "rethrow"),
    }
}

/// Whether code may throw what is not of this type: something of another type, or of a type that is not known and that
/// nothing says is an exception.
pub(super) fn throws_other(module: &Module<BBCode>, bb: &BBCode, exception: &Type) -> bool {
    bb.all_insts().any(|(_, inst)| {
        let throws = module.primitive_call(&inst.stmt).is_some_and(|(primitive, _)| primitive.name == "throw");
        let thrown = inst.stmt.as_call().filter(|_| throws || throws_again(module, &inst.stmt));
        let thrown = thrown.map_or(&[] as &[_], |(_, args)| args);
        thrown.iter().any(|thrown| !is_exception(module, bb, thrown, exception))
    })
}

/// Whether what is thrown is of this type, by its own type, or by what it is: an exception that is being handled, or
/// what is made by something that is called like one.
fn is_exception(module: &Module<BBCode>, bb: &BBCode, thrown: &Operand<Ids>, exception: &Type) -> bool {
    let is_named = |ty: &Type| module.is_undeclared_exception(ty) || module.is_a(ty, exception) == Some(true);
    let are_named = |ty: &Type| match ty {
        Type::Union(members) => members.iter().all(is_named),
        ty => is_named(ty),
    };
    let mut asked = vec![thrown.clone()];
    let mut seen = HashSet::new();
    while let Some(operand) = asked.pop() {
        let ty = bb.operand_type(&operand);
        match module.is_a(&ty, exception) {
            Some(true) => continue,
            Some(false) => return false,
            None if are_named(&ty) => continue,
            None => {}
        }
        let Some((id, inst)) = operand.as_value().and_then(|id| Some((id, bb.inst(id)?))) else { return false };
        match &inst.stmt {
            Stmt::Expr(expr) if expr.head == Head::TheException => {}
            stmt if is_copy(stmt) => {
                if seen.insert(id) {
                    stmt.for_each_operand(&mut |copied| asked.push(copied.clone()));
                }
            }
            stmt => {
                let made = match module.called(stmt) {
                    Some(Callee::Primitive(primitive)) => Some(Type::named(primitive.name)),
                    // What the module has of this name may give anything.
                    Some(Callee::Unknown(path)) => {
                        let plain = unqualified(&path);
                        let has_methods = [&path, plain].iter().any(|name| !module.methods(name).is_empty());
                        (!has_methods).then_some(Type::Named(path))
                    }
                    _ => None,
                };
                if !made.is_some_and(|made| is_named(&made)) {
                    return false;
                }
            }
        }
    }
    true
}

/// Whether a call of a primitive that may throw is seen not to.
fn is_fine(module: &Module<BBCode>, bb: &BBCode, primitive: &Primitive, args: &[Operand<Ids>]) -> bool {
    match (primitive.name, args) {
        ("isa", [_, Operand::Constant(Constant::Type(_))]) => true,
        ("setfield!", [object, field, value]) => {
            let object = bb.operand_type(object);
            let taken = mutable_field_type(module, &object, field);
            let def = match &object {
                Type::Named(name) => module.type_def(name),
                _ => None,
            };
            !matches!(def.map(|def| &def.kind), Some(TypeKind::Struct { mutable: false, .. }))
                && field.as_constant().is_some()
                && taken.is_some_and(|ty| module.is_a(&bb.operand_type(value), &ty) == Some(true))
        }
        ("fill!", [array, value]) => match bb.operand_type(array) {
            Type::Array(array) => array.element == bb.operand_type(value),
            _ => false,
        },
        // Only memory may be missing, which is no exception.
        ("print" | "println" | "push!" | "jl_array_grow_end" | "jl_array_grow_beg", _) => true,
        // Where the number is computed, as in `resize!` and `empty!`, Julia's library has compared it with the length
        // before. Where a program has not, this fails outside of the handler: the run ends.
        ("jl_array_del_end" | "jl_array_del_beg", [_, count]) => count.as_constant().is_none(),
        (name, _) => ["Error", "Exception"].iter().any(|end| name.ends_with(end)),
    }
}

/// A statement that looks at what an exception holds that may have a derivative.
pub(crate) fn looks_into_exception(module: &Module<BBCode>, bb: &BBCode) -> Option<InstId> {
    const HARMLESS: &[&str] = &["isa", "typeof", "throw", "rethrow", "===", "!==", "print", "println", "string"];
    let handled = with_copies(bb, exceptions(bb));
    let looks = |inst: &Instruction<Ids>| {
        let mut uses = false;
        inst.stmt.for_each_use(|used| uses |= handled.contains(&used));
        // A count, a name.
        let tells = |name: &str| matches!(name, "getfield" | "getproperty") && is_without_derivative(&inst.ty);
        let harmless = |primitive: &Primitive| HARMLESS.contains(&primitive.name) || tells(primitive.name);
        uses && inst.ty != Type::Bottom
            && !is_copy(&inst.stmt)
            && !module.primitive_call(&inst.stmt).is_some_and(|(primitive, _)| harmless(primitive))
    };
    bb.all_insts().find(|(_, inst)| looks(inst)).map(|(id, _)| id)
}

/// Whether what a statement gives is an operand of it.
fn is_copy(stmt: &Stmt<Ids>) -> bool {
    matches!(stmt, Stmt::Pi(_) | Stmt::Phi(_) | Stmt::PhiC(_) | Stmt::Upsilon(_) | Stmt::Value(_))
}

/// These values and what may be a copy of one of them.
fn with_copies(bb: &BBCode, mut values: HashSet<InstId>) -> HashSet<InstId> {
    if values.is_empty() {
        return values;
    }
    let mut copies: HashMap<InstId, Vec<InstId>> = HashMap::new();
    for (id, inst) in bb.all_insts().filter(|(_, inst)| is_copy(&inst.stmt)) {
        inst.stmt.for_each_use(|used| copies.entry(used).or_default().push(id));
    }
    let mut work: Vec<InstId> = values.iter().copied().collect();
    while let Some(value) = work.pop() {
        work.extend(copies.get(&value).into_iter().flatten().filter(|copy| values.insert(**copy)));
    }
    values
}

/// The statements that ask for the exception that is being handled.
pub(super) fn exceptions(bb: &BBCode) -> HashSet<InstId> {
    let asks = |stmt: &Stmt<Ids>| matches!(stmt, Stmt::Expr(expr) if expr.head == Head::TheException);
    bb.all_insts().filter(|(_, inst)| asks(&inst.stmt)).map(|(id, _)| id).collect()
}
