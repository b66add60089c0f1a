//! Makes functions of the methods of closures, which take the closure as an argument (lambda lifting, Johnsson, "Lambda
//! lifting: transforming programs to recursive equations", 1985).
//!
//! In dumps of Julia's code a closure is a struct of what it captures, and its method reads `_1`. An invoke there names
//! the closure and, as instance, the method: that is a call of a known function, if only the function takes the
//! closure. So is a call of a closure of known type, if the module has one method for arguments of the types that it
//! passes.

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Argument, Function, Module, Name, Names, Operand, Stmt, Type};

use crate::analyses::method_choice::only_choice;
use crate::free_names::FreeNames;
use crate::link_methods::type_of;
use crate::manager::Context;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "lambda-lifting";

/// Where a value is called by a method that the module has, calls a copy of the method that takes the value first. True
/// if there was such a call in the functions that it was run on: in the one of this name, or in all.
///
/// The methods themselves stay as they are.
///
/// # Errors
///
/// If the copies cannot be added.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let mut names: Vec<Name> = match function {
        Some(name) => vec![name.clone()],
        None => module.functions().iter().map(|function| function.name.clone()).collect(),
    };
    // By method and type of what is called.
    let mut lifted: HashMap<(Name, Type), Name> = HashMap::new();
    let mut changed = false;
    // The copies may invoke values, too: those of functions that it was not run on.
    while let Some(name) = names.pop() {
        for Found { id, method, of } in called_values(module, &name) {
            let key = (method, of);
            let copy = match lifted.get(&key) {
                Some(known) => known.clone(),
                None => {
                    let Some(made) = add_lifted(module, &key)? else { continue };
                    names.push(made.clone());
                    lifted.insert(key, made.clone());
                    made
                }
            };
            let Some(inst) = module.body_mut(&name).and_then(|bb| bb.inst_mut(id)) else { continue };
            let Some((callee, args)) = called_value(&inst.stmt) else { continue };
            let args = [callee.clone()].into_iter().chain(args.iter().cloned());
            inst.stmt = Stmt::call(Operand::global("", &copy), args.collect::<Vec<_>>());
            changed = true;
        }
    }
    Ok(changed)
}

/// Adds a copy of the method of a closure or of a callable struct that takes what it is called on as its first
/// argument, named `self`, and gives its name: the derivative of the method with respect to what is captured is that of
/// the copy with respect to an argument.
///
/// # Errors
///
/// If there is no such function.
///
/// ```
/// use bbcode::BBCode;
/// use ircode::{Module, parse_module};
/// use passes::lambda_lifting::lift;
///
/// let module = parse_module("
/// struct Line
///     slope::Float64
/// end
///
/// function var\"(::Line)(::Float64)\"(x::Float64)::Float64
/// 1 ─ %1 = Base.getfield(_1, :slope)::Float64
/// │   %2 = Base.mul_float(%1, x)::Float64
/// └──      return %2
/// end
/// ")?.module;
/// let mut module: Module<BBCode> = module.map(|function| BBCode::try_from(&function.body))?;
/// let lifted = lift(&mut module, &"(::Line)(::Float64)".into())?;
/// let function = module.function(&lifted).ok_or("it is added")?;
/// assert_eq!(function.parameters[0].as_deref(), Some("self"));
/// assert_eq!(function.body.argtypes[1].to_string(), "Line");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lift(module: &mut Module<BBCode>, method: &Name) -> Result<Name, PassError> {
    let missing = || PassError::no_such_function(NAME, method);
    let function = module.function(method).ok_or_else(missing)?;
    let of = match function.body.argtypes.first() {
        Some(Type::Function(_)) | None => Type::Untyped,
        Some(ty) => ty.clone(),
    };
    let is_taken = function.parameters.iter().flatten().any(|name| name == "self");
    let made = lifted_copy(module, function, &of, Some("self".into()).filter(|_| !is_taken));
    let name = made.name.clone();
    module.add_function(made).map_err(|error| PassError::because(NAME, method, error))?;
    Ok(name)
}

/// Whether a statement reads what its function is called on, which is of this type: fields of a closure or of a
/// callable struct.
pub fn reads_self<F, N: Names>(module: &Module<F>, of: Option<&Type>, stmt: &Stmt<N>) -> bool {
    let is_self = |operand: &Operand<N>| matches!(operand, Operand::Argument(argument) if argument.index() == Some(0));
    let mut uses = false;
    stmt.for_each_operand(&mut |operand| uses |= is_self(operand));
    if !uses || matches!(of, Some(Type::TypeOf(_))) {
        return false;
    }
    // Listings do not always say what it is.
    let is_field = || {
        module.primitive_call(stmt).is_some_and(|(primitive, args)| {
            matches!(primitive.name, "getfield" | "getproperty" | "setfield!" | "setproperty!")
                && args.first().is_some_and(is_self)
        })
    };
    let fields = of.and_then(|ty| module.struct_fields(ty));
    fields.map_or_else(is_field, |fields| !fields.is_empty())
}

/// Refuses what reads what its function is called on: its derivatives are functions of their own, which are not called
/// on it.
pub(crate) fn refuse_self(pass: &'static str, bb: &BBCode, context: &Context<'_>) -> Result<(), PassError> {
    let of = bb.argtypes.first();
    match bb.all_insts().find(|(_, inst)| reads_self(context.module, of, &inst.stmt)) {
        None => Ok(()),
        Some((read, _)) => {
            let message = "what the function is called on (`_1`) is no argument, and its derivatives do not have it";
            let help = "`lambda_lifting::lift` makes it an argument, as --self does where a function is run or differentiated at once";
            Err(PassError::new(pass, context.function, message).at(bb, read).with_help(help))
        }
    }
}

/// A call of a value.
struct Found {
    id: InstId,
    method: Name,
    /// The type of the value.
    of: Type,
}

/// The value that a statement calls, and with what.
fn called_value(stmt: &Stmt<Ids>) -> Option<(&Operand<Ids>, &[Operand<Ids>])> {
    let (callee, args) = stmt.as_call()?;
    let is_value = match callee {
        Operand::Value(_) | Operand::Argument(_) | Operand::Global(_) => true,
        callee => shown_type(callee).is_some(),
    };
    is_value.then_some((callee, args))
}

/// The type of a closure that is written where it is called, as `var"#f#1"{Float64}(0.5)`.
fn shown_type(operand: &Operand<Ids>) -> Option<Type> {
    operand.as_constant()?.shown_object().map(|(ty, _)| ty)
}

/// The calls of structs in a function that are calls of a method of the module.
fn called_values(module: &Module<BBCode>, function: &str) -> Vec<Found> {
    let Some(bb) = module.function(function).map(|function| &function.body) else { return Vec::new() };
    let found = bb.all_insts().filter_map(|(id, inst)| {
        let (callee, args) = called_value(&inst.stmt)?;
        if module.callee(callee).is_some() {
            return None;
        }
        let of = shown_type(callee).unwrap_or_else(|| type_of(module, bb, callee));
        if !matches!(&of, Type::Named(name) if module.type_def(name).is_some()) {
            return None;
        }
        let method = match &inst.stmt {
            Stmt::Invoke(invoke) => {
                invoke.instance.name.clone().filter(|method| module.function_index(method).is_some())
            }
            _ => only_method(module, &of, &args.iter().map(|arg| type_of(module, bb, arg)).collect::<Vec<_>>()),
        };
        Some(Found { id, method: method?, of })
    });
    found.collect()
}

/// The method for values of a type that is called for all arguments of these types, if there is one.
fn only_method(module: &Module<BBCode>, of: &Type, types: &[Type]) -> Option<Name> {
    let method = only_choice(module, module.methods(&format!("(::{of})")).iter().copied(), types)?;
    let method = module.functions().get(method).filter(|method| !method.varargs)?;
    Some(method.name.clone())
}

/// Adds the copy of a method that takes a value of this type first, and gives its name.
fn add_lifted(module: &mut Module<BBCode>, (method, of): &(Name, Type)) -> Result<Option<Name>, PassError> {
    let Some(original) = module.function(method) else { return Ok(None) };
    let made = lifted_copy(module, original, of, None);
    let name = made.name.clone();
    module.add_function(made).map_err(|error| PassError::because(NAME, &name, error))?;
    Ok(Some(name))
}

/// A copy of a method that takes a value of this type first, under a name that no function has.
fn lifted_copy(
    module: &Module<BBCode>,
    method: &Function<BBCode>,
    of: &Type,
    parameter: Option<Name>,
) -> Function<BBCode> {
    let mut made = method.clone();
    let wanted = format!("lifted {}", method.name);
    made.name = FreeNames::default().find(&wanted, |name| module.function_index(name).is_some());
    if parameter.is_some() {
        made.parameters.resize(made.body.argtypes.len().saturating_sub(1), None);
    }
    if parameter.is_some() || !made.parameters.is_empty() {
        made.parameters.insert(0, parameter);
    }
    // As it is read back: not all that is in the name may be in that of a function's type.
    let itself = Type::parse(&format!("typeof({})", made.name));
    made.body.argtypes.splice(..made.body.argtypes.len().min(1), [itself, of.clone()]);
    made.body.for_each_operand_mut(|operand| {
        if let Operand::Argument(argument) = operand
            && let Some(index) = argument.index()
        {
            *operand = Argument::from_index(index + 1).into();
        }
    });
    made
}
