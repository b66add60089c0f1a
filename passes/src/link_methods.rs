//! Lets invokes name the functions of the module that they call.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::primitives::{Compute, Primitive, Scope};
use ircode::{Callee, Constant, Module, Name, Operand, Stmt, Type};

use crate::analyses::method_choice::methods_named;
use crate::manager::{Context, run_on_function};
use crate::rules::{RuleKind, RuleTable};
use crate::{
    PassError, PassResult, captured_types, lambda_lifting, lower_broadcast, result_types, typed_boxes, union_splitting,
};

/// The pass's name on the command line.
pub const NAME: &str = "link-methods";

/// Runs the pass on every function of a module, and makes functions of the methods of closures: what is derived from
/// dumps of Julia's code has to find what they invoke. The functions named get their arguments from outside.
pub(crate) fn run_on_all(module: &mut Module<BBCode>, entries: &[&Name]) -> PassResult {
    let names: Vec<Name> = module.functions().iter().map(|function| function.name.clone()).collect();
    let mut changed = false;
    for name in &names {
        changed |= run_on_function(module, name, run)?;
    }
    changed |= union_splitting::run(module, None)?;
    changed |= lambda_lifting::run(module, None)?;
    if captured_types::run(module, None)? {
        // What is called may have been in a variable that closures change.
        changed = true;
        lambda_lifting::run(module, None)?;
    }
    changed |= typed_boxes::run_with(module, entries)?;
    Ok(changed | result_types::run(module, None)?)
}

/// Where an invoke calls a method that the module has under the name of its instance, names it as the callee. True if
/// there was one.
///
/// Dumps of Julia's code name their functions by signature, `helper(::Float64)`, and an invoke there names
/// `Main.helper` with that instance. One that names no instance, of a function with methods in the module, becomes a
/// call: the types of the arguments decide which of them it is. Primitives stay primitives on numbers, as they have
/// rules. A value that is called and has the type of a function is that function; a closure stays the value that is
/// called, see [`lambda_lifting`].
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let module = context.module;
    let rules = RuleTable::of_primitives(module).map_err(|error| PassError::because(NAME, context.function, error))?;
    let mut linked: Vec<(InstId, Operand<Ids>)> = Vec::new();
    // Invokes that do not name their instance, of functions of which there are methods: which one it is, the types of
    // the arguments decide.
    let mut chosen: Vec<(InstId, Stmt<Ids>)> = Vec::new();
    let mut looking: HashMap<Name, bool> = HashMap::new();
    for (id, inst) in bb.all_insts() {
        let (callee, instance, args) = match &inst.stmt {
            Stmt::Invoke(invoke) => (&invoke.callee, invoke.instance.name.as_ref(), &invoke.args),
            Stmt::Call(call) => (&call.callee, None, &call.args),
            _ => continue,
        };
        // A value of the type of a function is that function.
        let by_type = match callee {
            Operand::Value(_) | Operand::Argument(_) => {
                function_of(&bb.operand_type(callee)).map(|name| Operand::Constant(Constant::Function(name)))
            }
            _ => None,
        };
        let known = module.callee(by_type.as_ref().unwrap_or(callee));
        let is_method = match &known {
            // Of a closure that nobody knows there is only the method.
            Some(Callee::Unknown(_)) => !instance.is_some_and(|name| captures(module, name)),
            // A constructor that the module has.
            Some(Callee::Type(_)) => matches!(module.called(&inst.stmt), Some(Callee::Function(_))),
            // That a primitive is none here was found by the types: it is a method for other things.
            Some(Callee::Primitive(primitive)) => {
                module.primitive_call(&inst.stmt).is_none() && by_type.is_none()
                    || !primitive.takes(args.len())
                    || matches!(primitive.compute, Compute::Scalars(_) | Compute::Convert(_))
                        && args.iter().any(|arg| is_object(arg) || is_no_scalar(&type_of(module, bb, arg)))
                    || matches!(primitive.compute, Compute::Machine)
                        && args.iter().any(|arg| is_object(arg) || is_struct(module, &type_of(module, bb, arg)))
                    || converts(module, bb, primitive, args)
                    || primitive.scope == Scope::Arrays && !args.iter().any(|arg| may_be_array(bb, module, arg))
                    // An array of these elements, `T[a, b]`.
                    || primitive.name == "getindex" && args.first().is_some_and(|of| is_type(module, bb, of))
                    // Elements at several places.
                    || indices(primitive, args).iter().any(|index| is_several(module, bb, index))
                    || lacks_rule(module, bb, &rules, primitive, args)
                    || lower_broadcast::is_opaque(bb, module, inst)
            }
            // An object, if its method does not look at it.
            None => instance.is_some_and(|name| {
                // The body at hand is not in the module.
                let looks = || match name == context.function {
                    true => reads_itself(bb),
                    false => module.function(name).is_none_or(|method| reads_itself(&method.body)),
                };
                !*looking.entry(name.clone()).or_insert_with(looks)
            }),
            _ => false,
        };
        match instance.filter(|name| is_method && module.function_index(name).is_some()) {
            Some(name) => linked.push((id, Operand::global("", name))),
            None => {
                linked.extend(by_type.map(|callee| (id, callee)));
                if let (Stmt::Invoke(invoke), Some(Callee::Unknown(path))) = (&inst.stmt, &known)
                    && instance.is_none()
                    && methods_named(module, path).is_some_and(|methods| !methods.is_empty())
                {
                    chosen.push((id, Stmt::call(invoke.callee.clone(), invoke.args.iter().cloned())));
                }
            }
        }
    }
    let changed = !linked.is_empty() || !chosen.is_empty();
    for (id, call) in chosen {
        if let Some(stmt) = bb.stmt_mut(id) {
            *stmt = call;
        }
    }
    for (id, callee) in linked {
        match bb.stmt_mut(id) {
            Some(Stmt::Invoke(invoke)) => invoke.callee = callee,
            Some(Stmt::Call(call)) => call.callee = callee,
            _ => {}
        }
    }
    Ok(changed)
}

/// Whether this is the method of a struct that holds something.
fn captures(module: &Module<BBCode>, method: &str) -> bool {
    let of = module.function(method).and_then(|method| method.body.argtypes.first());
    of.and_then(|of| module.struct_fields(of)).is_some_and(|fields| !fields.is_empty())
}

/// Whether a method uses what was called, `_1`.
pub(crate) fn reads_itself(bb: &BBCode) -> bool {
    let mut reads = false;
    for (_, inst) in bb.all_insts() {
        inst.stmt.for_each_operand(&mut |operand| {
            reads |= matches!(operand, Operand::Argument(argument) if argument.index() == Some(0));
        });
    }
    reads
}

/// The position of the function that a statement calls, by the name of its instance or by that of the callee.
pub(crate) fn function_called(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<usize> {
    let by_instance = match stmt {
        Stmt::Invoke(invoke) => invoke.instance.name.as_ref().and_then(|name| module.function_index(name)),
        _ => None,
    };
    by_instance.or_else(|| match module.called(stmt)? {
        Callee::Function(function) => Some(function),
        _ => None,
    })
}

/// The type of an operand, also of one that names a global constant.
pub(crate) fn type_of(module: &Module<BBCode>, bb: &BBCode, operand: &Operand<Ids>) -> Type {
    module.type_of_global(operand).cloned().unwrap_or_else(|| bb.operand_type(operand))
}

/// Whether an operand is a type.
fn is_type(module: &Module<BBCode>, bb: &BBCode, operand: &Operand<Ids>) -> bool {
    module.named_type(operand).is_some() || matches!(type_of(module, bb, operand), Type::TypeOf(_))
}

/// Whether this is an object that is known by its text, as `Colon()`, which no primitive knows.
fn is_object(operand: &Operand<Ids>) -> bool {
    matches!(operand, Operand::Constant(Constant::Text(_)))
}

/// Whether what is stored in an array of arrays is an array of another type, of which Julia makes one of that type.
fn converts(module: &Module<BBCode>, bb: &BBCode, primitive: &Primitive, args: &[Operand<Ids>]) -> bool {
    let ("setindex!" | "push!", [whole, value, ..]) = (primitive.name, args) else { return false };
    match (type_of(module, bb, whole), type_of(module, bb, value)) {
        (Type::Array(whole), value @ Type::Array(_)) => {
            matches!(whole.element, Type::Array(_)) && whole.element != value
        }
        _ => false,
    }
}

/// The indices in a call that reads or writes elements of an array.
fn indices<'a>(primitive: &Primitive, args: &'a [Operand<Ids>]) -> &'a [Operand<Ids>] {
    let before = match primitive.name {
        "getindex" => 1,
        "setindex!" => 2,
        _ => return &[],
    };
    args.get(before..).unwrap_or_default()
}

/// Whether an index is that of several elements: an array, or a range.
fn is_several(module: &Module<BBCode>, bb: &BBCode, index: &Operand<Ids>) -> bool {
    let is_range = |name: &str| {
        let name = name.strip_prefix("Base.").unwrap_or(name);
        ["UnitRange{", "StepRange{", "OneTo{"].iter().any(|range| name.starts_with(range))
    };
    let shown = index.as_constant().and_then(Constant::shown_object).map(|(ty, _)| ty);
    match shown.unwrap_or_else(|| type_of(module, bb, index)) {
        Type::Array(_) => true,
        Type::Named(name) => is_range(&name),
        _ => false,
    }
}

/// Whether values of this type are structs, which primitives on arrays do not know.
fn is_struct(module: &Module<BBCode>, ty: &Type) -> bool {
    matches!(ty, Type::Named(name) if module.type_def(name).is_some())
}

/// Whether a primitive has derivative rules, but none for such operands: what the method does has a derivative,
/// perhaps.
fn lacks_rule(
    module: &Module<BBCode>,
    bb: &BBCode,
    rules: &RuleTable,
    primitive: &Primitive,
    args: &[Operand<Ids>],
) -> bool {
    let types = || args.iter().map(|arg| type_of(module, bb, arg)).collect::<Vec<_>>();
    rules.has_rule(primitive, RuleKind::Vjp) && rules.find(primitive, RuleKind::Vjp, &types()).is_none()
}

/// Whether a value may be an array, as far as its type tells.
fn may_be_array(bb: &BBCode, module: &Module<BBCode>, operand: &Operand<Ids>) -> bool {
    let ty = type_of(module, bb, operand);
    matches!(ty, Type::Array(_)) || ty.is_unknown() && module.named_type(operand).is_none()
}

/// The function that all values of this type are.
fn function_of(ty: &Type) -> Option<Name> {
    match ty {
        Type::Function(name) => Some(name.clone()),
        other => other.known_function().map(Name::from),
    }
}

/// Whether values of this type are certainly no numbers that a primitive on scalars takes.
fn is_no_scalar(ty: &Type) -> bool {
    !matches!(ty, Type::Scalar(_) | Type::Union(_) | Type::Any | Type::Untyped | Type::TypeOf(_))
}
