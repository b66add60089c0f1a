//! What the names in a listing without a header stand for: arguments, or types.

use hashbrown::{HashMap, HashSet};

use crate::constant::{Constant, is_identifier, is_identifier_part, spelled};
use crate::name::{Name, unqualified};
use crate::names::Positions;
use crate::operand::{Argument, Operand};
use crate::stmt::{InvokeNode, Stmt};
use crate::types::Type;

/// Arguments past this number stand for names of which it is not known yet which argument they are.
pub(super) const FIRST_SLOT: u32 = 1 << 24;

/// Names that may be those of arguments, in the order in which they appeared.
#[derive(Debug, Default)]
pub(super) struct SlotNames {
    names: Vec<Name>,
    places: HashMap<Name, u32>,
    /// Whether one of them is marked as that of an argument.
    pub(super) marked: bool,
}

impl SlotNames {
    /// The argument, counted from [`FIRST_SLOT`] on, as which a name is read until all are known.
    pub(super) fn argument(&mut self, name: &str) -> Argument {
        let place = self.places.get(name).copied().unwrap_or_else(|| {
            let place = self.names.len() as u32;
            self.names.push(name.into());
            self.places.insert(name.into(), place);
            place
        });
        Argument(FIRST_SLOT + place)
    }

    /// How many names there are.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// The name that was read as this argument.
    pub(super) fn name(&self, argument: Argument) -> Option<&Name> {
        self.names.get(argument.0.checked_sub(FIRST_SLOT)? as usize)
    }
}

/// What the names in a listing without header mean.
#[derive(Default)]
pub(super) struct Meanings {
    types: HashSet<Name>,
    /// Names of arguments, in their likely order.
    order: Vec<Name>,
    numbers: HashMap<Name, Argument>,
    /// The arguments that have names above the listing.
    pub(super) given: HashMap<Name, Argument>,
}

impl Meanings {
    /// Tells types, functions and arguments apart. `are_objects` says that none is an argument.
    pub(super) fn of<'a>(
        slots: &SlotNames,
        insts: impl Iterator<Item = (&'a Stmt<Positions>, &'a Type)> + Clone,
        result: Option<&Type>,
        are_objects: bool,
    ) -> Meanings {
        let mut types = names_of_types(slots, insts.clone(), are_objects);
        if are_objects {
            return Meanings { types, ..Meanings::default() };
        }
        let values = names_of_values(slots, insts.clone(), result);
        let functions = names_of_functions(slots, insts.clone(), &values);
        types.retain(|name| !values.contains(name));
        let is_argument = |name: &&Name| !types.contains(*name) && !functions.contains(*name);
        let (mut seen, mut names): (HashSet<Name>, Vec<Name>) = Default::default();
        for (stmt, _) in insts {
            stmt.for_each_operand(&mut |operand| {
                let name = match operand {
                    Operand::Argument(argument) => slots.name(*argument),
                    Operand::Constant(Constant::Function(name)) => values.get(name),
                    _ => None,
                };
                if let Some(name) = name.filter(is_argument)
                    && seen.insert(name.clone())
                {
                    names.push(name.clone());
                }
            });
        }
        Meanings { types, order: likely_order(names.iter()), ..Meanings::default() }
    }

    /// Gives the arguments their numbers: behind those that are `known`, past those that others carry.
    pub(super) fn number(&mut self, known: usize, taken: &HashSet<Argument>) {
        let free = (known + 1..).map(Argument::from_index).filter(|argument| !taken.contains(argument));
        self.numbers = self.order.iter().cloned().zip(free).collect();
    }

    /// The arguments in their likely order.
    pub(super) fn arguments(&self) -> Vec<(Argument, Name)> {
        let number = |name: &Name| self.numbers.get(name).map(|number| (*number, name.clone()));
        self.order.iter().filter_map(number).collect()
    }

    /// Puts what the names mean in their places.
    pub(super) fn apply(&self, slots: &SlotNames, stmt: &mut Stmt<Positions>) {
        // What is called by a name of Julia's own is a function, whatever an argument is called.
        let called = match stmt {
            Stmt::Call(call) => Some(call.callee.clone()).filter(|callee| callee.as_constant().is_some()),
            _ => None,
        };
        stmt.for_each_operand_mut(&mut |operand| match operand {
            Operand::Argument(argument) => {
                let Some(name) = slots.name(*argument) else { return };
                *operand = match self.numbers.get(name) {
                    Some(number) => Operand::Argument(*number),
                    None if self.types.contains(name) => {
                        Operand::Constant(Constant::of_type(Type::named(spelled(name))))
                    }
                    None => Operand::Constant(Constant::Function(name.clone())),
                };
            }
            Operand::Constant(Constant::Function(name)) => {
                if let Some(number) = self.numbers.get(name) {
                    *operand = Operand::Argument(*number);
                }
            }
            _ => {}
        });
        match (stmt, called) {
            (Stmt::Call(call), Some(callee)) => call.callee = callee,
            (Stmt::Invoke(invoke), _) => {
                // An argument that is called stands there bare.
                if let Operand::Global(global) = &invoke.callee
                    && global.module.is_empty()
                    && let Some(number) = self.given.get(&global.name).or_else(|| self.numbers.get(&global.name))
                {
                    invoke.callee = Operand::Argument(*number);
                }
            }
            _ => {}
        }
    }
}

/// Names of modules and numbers of Julia's own.
const OBJECTS: &[&str] = &["Base", "Core", "Main", "π", "ℯ"];

/// Functions of Julia's library by whose names hardly an argument is called that is a function itself.
const WELL_KNOWN: &[&str] = &[
    "angle",
    "collect",
    "filter",
    "imag",
    "join",
    "map",
    "mapreduce",
    "norm",
    "rand",
    "randn",
    "range",
    "real",
    "reduce",
    "repr",
    "reverse",
    "show",
    "sort",
    "sum",
    "time",
    "view",
];

fn is_well_known(name: &Name) -> bool {
    WELL_KNOWN.contains(&name.as_str())
}

fn has_numbered_argument(invoke: &InvokeNode<Positions>) -> bool {
    invoke.args.iter().any(|arg| arg.as_argument().is_some_and(|arg| arg.0 < FIRST_SLOT))
}

/// Which of these names are those of functions, as a type says, `typeof(show)`, or of Julia's own modules and
/// constants.
fn names_of_functions<'a>(
    slots: &SlotNames,
    insts: impl Iterator<Item = (&'a Stmt<Positions>, &'a Type)> + Clone,
    values: &HashSet<Name>,
) -> HashSet<Name> {
    let mut found: HashSet<Name> =
        slots.names.iter().filter(|name| OBJECTS.contains(&name.as_str())).cloned().collect();
    for (stmt, _) in insts.clone() {
        match stmt {
            // What is called by the name of a function that changes its argument, or of a well-known one.
            Stmt::Call(call) => {
                let called = call.callee.as_argument().and_then(|called| slots.name(called));
                found.extend(called.filter(|name| name.ends_with('!') || is_well_known(name)).cloned());
            }
            // Beside arguments with numbers there are none with names.
            Stmt::Invoke(invoke) if has_numbered_argument(invoke) => {
                let functions = invoke.args.iter().zip(&invoke.instance.argtypes).filter(|(_, ty)| is_function(ty));
                let names = functions.filter_map(|(arg, _)| slots.name(arg.as_argument()?));
                found.extend(names.filter(|name| is_well_known(name)).cloned());
            }
            _ => {}
        }
    }
    // What is used as an object is one that can be called.
    found.retain(|name| !(is_well_known(name) && values.contains(name)));
    let mut look = |ty: &Type| {
        let text = match ty {
            Type::Function(name) => return found.extend(named_in_listing(name, slots).cloned()),
            Type::Named(name) => name,
            _ => return,
        };
        for (at, start) in text.match_indices("typeof(") {
            let inside = text.get(at + start.len()..).and_then(|rest| rest.split_once(')'));
            found.extend(inside.and_then(|(name, _)| named_in_listing(name, slots)).cloned());
        }
    };
    for (stmt, ty) in insts {
        look(ty);
        stmt.for_each_operand(&mut |operand| {
            if let Operand::Constant(Constant::Type(ty)) = operand {
                look(ty);
            }
        });
        if let Stmt::Invoke(invoke) = stmt {
            invoke.instance.argtypes.iter().for_each(&mut look);
        }
    }
    found
}

/// The name of a function without its modules, if it stands in the listing.
fn named_in_listing<'s>(path: &str, slots: &'s SlotNames) -> Option<&'s Name> {
    slots.places.get_key_value(unqualified(path)).map(|(name, _)| name)
}

/// Names that stand where only a number, an array or an object can, as the primitive that takes them or the type of
/// what they give says: they are those of arguments, also where functions of Julia or types are called so.
fn names_of_values<'a>(
    slots: &SlotNames,
    insts: impl Iterator<Item = (&'a Stmt<Positions>, &'a Type)>,
    result: Option<&Type>,
) -> HashSet<Name> {
    let mut found = HashSet::new();
    let mut see = |operand: &Operand<Positions>| match operand {
        Operand::Constant(Constant::Function(name)) if is_identifier(name) => found.extend([name.clone()]),
        Operand::Argument(argument) => found.extend(slots.name(*argument).cloned()),
        _ => {}
    };
    for (stmt, ty) in insts {
        match stmt {
            Stmt::Call(call) => operands_that_are_values(&call.callee, &call.args, ty).for_each(&mut see),
            Stmt::GotoIfNot(goto) => see(&goto.cond),
            Stmt::Phi(phi) if is_no_function(ty) => {
                phi.entries.iter().filter_map(|entry| entry.value.as_ref()).for_each(&mut see);
            }
            Stmt::Value(value) if is_no_function(ty) => see(value),
            Stmt::Invoke(invoke) if !has_numbered_argument(invoke) => {
                let typed = invoke.args.iter().zip(&invoke.instance.argtypes);
                // Well-known functions have types of their own, which are printed behind their names.
                let is_value = |(arg, ty): &(&Operand<Positions>, &Type)| {
                    let name = arg.as_argument().and_then(|arg| slots.name(arg));
                    is_no_function(ty) || name.is_some_and(is_well_known) && !ty.is_unknown() && !is_function(ty)
                };
                typed.filter(is_value).for_each(|(value, _)| see(value));
            }
            Stmt::Pi(pi) if is_no_function(&pi.ty) => see(&pi.value),
            Stmt::Return(node) if result.is_some_and(is_no_function) => node.value.iter().for_each(&mut see),
            _ => {}
        }
    }
    found
}

/// The operands of a call that can only be numbers, arrays or objects. `ty` is the type of the call.
fn operands_that_are_values<'o>(
    callee: &Operand<Positions>,
    args: &'o [Operand<Positions>],
    ty: &Type,
) -> impl Iterator<Item = &'o Operand<Positions>> {
    let called = callee_name(callee).map_or("", unqualified);
    // Others may have functions of these names.
    let of_julia = matches!(callee, Operand::Global(global) if global.module.starts_with("Base") || global.module.starts_with("Core"));
    let of_number = ["_float", "_int", "tofp"].iter().any(|end| called.ends_with(end))
        || of_julia && ["_llvm", "_ptr"].iter().any(|end| called.ends_with(end))
        || of_julia
            && matches!(called, "bitcast" | "fptosi" | "fptoui" | "fpext" | "fptrunc" | "pointerref" | "pointerset");
    let of_object = matches!(called, "arraylen" | "arraysize" | "arrayref" | "arrayset" | "getfield" | "setfield!")
        || of_julia
            && matches!(called, "memoryrefnew" | "memoryrefget" | "memoryrefset!" | "memorynew" | "memoryrefoffset");
    let is_value = |index: usize| match (called, ty, index) {
        // What is stored may be a function.
        ("arrayset", Type::Array(array), 2) => is_no_function(&array.element),
        ("arrayset", _, 2) | ("pointerset", _, 1) | ("memorynew", _, 0) => false,
        ("setfield!", ty, 2) => is_no_function(ty),
        ("memoryrefset!", ty, 1) => is_no_function(ty),
        ("ifelse", _, 0) => true,
        ("ifelse" | "typeassert", ty, _) => is_no_function(ty),
        ("tuple", Type::Tuple(elements), index) => elements.get(index).is_some_and(is_no_function),
        // The type to which a number is converted comes first.
        (called, _, 0) if called.ends_with("tofp") || called.starts_with("fp") || called == "bitcast" => false,
        _ => of_number || of_object,
    };
    let is_value: Vec<bool> = (0..args.len()).map(is_value).collect();
    args.iter().zip(is_value).filter_map(|(arg, is_value)| is_value.then_some(arg))
}

/// Whether values of this type are neither functions nor types.
fn is_no_function(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(_) | Type::Array(_) | Type::String | Type::Symbol | Type::Tuple(_) | Type::NamedTuple(_))
}

/// Whether this is the type of all functions.
fn is_function(ty: &Type) -> bool {
    matches!(ty, Type::Named(name) if name == "Function")
}

/// Whether names stand where only arguments can, other than those of modules, types and functions.
pub(super) fn has_values<'a>(
    slots: &SlotNames,
    insts: impl Iterator<Item = (&'a Stmt<Positions>, &'a Type)> + Clone,
    result: Option<&Type>,
) -> bool {
    let values = names_of_values(slots, insts.clone(), result);
    let functions = names_of_functions(slots, insts, &values);
    let is_argument = |name: &Name| !functions.contains(name) && !is_like_a_type(name);
    values.iter().any(|name| slots.places.contains_key(name) && is_argument(name))
}

/// Which of these names are those of types: a type that the listing shows is or holds one of that name, or they stand
/// where only a type can. Of the latter, where names may be those of arguments, `T` and `kind` stay arguments: a function
/// may be given the type that it asks for.
fn names_of_types<'a>(
    slots: &SlotNames,
    insts: impl Iterator<Item = (&'a Stmt<Positions>, &'a Type)>,
    are_objects: bool,
) -> HashSet<Name> {
    let (mut types, mut asked): (HashSet<Name>, HashSet<Name>) = Default::default();
    let mut look = |ty: &Type| named_in(ty, slots, &mut types);
    for (stmt, ty) in insts {
        look(ty);
        match stmt {
            Stmt::Call(call) => {
                if let [_, Operand::Argument(argument)] = call.args.as_slice()
                    && matches!(callee_name(&call.callee), Some("isa" | "typeassert"))
                {
                    asked.extend(slots.name(*argument).cloned());
                }
            }
            Stmt::Invoke(invoke) => invoke.instance.argtypes.iter().for_each(&mut look),
            Stmt::Pi(pi) => look(&pi.ty),
            _ => {}
        }
    }
    types.extend(asked.into_iter().filter(|name| are_objects || is_like_a_type(name) || is_closure(name)));
    types
}

/// Adds those of the names that a type has as parts, but as variables or names of fields.
fn named_in(ty: &Type, slots: &SlotNames, found: &mut HashSet<Name>) {
    if slots.names.is_empty() || matches!(ty, Type::Untyped | Type::Any | Type::Scalar(_) | Type::Function(_)) {
        return;
    }
    let text = ty.to_string();
    // In parentheses are values, and names of functions; in quotes anything.
    let is_quoted = text.matches('"').count() > 2 * text.matches("var\"").count();
    if text.contains(['(', '\'']) || is_quoted {
        return;
    }
    let bounds = text.split(" where ").skip(1).flat_map(|bounds| bounds.trim_matches(['{', '}']).split(", "));
    let variables: HashSet<&str> = bounds.flat_map(|bound| bound.split(['<', '>', ':'])).collect();
    let mut rest = text.as_str();
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let quoted = rest.strip_prefix("var\"").and_then(|name| name.split_once('"'));
        let (name, behind) = match quoted {
            Some(quoted) => quoted,
            None if is_identifier_part(first) => {
                rest.split_at(rest.find(|c| !is_identifier_part(c)).unwrap_or(rest.len()))
            }
            None => rest.split_at(first.len_utf8()),
        };
        if !matches!(before, '.' | ':')
            && !behind.starts_with(['.', ':'])
            && let Some((name, _)) = slots.places.get_key_value(name)
            && !variables.contains(name.as_str())
        {
            found.insert(name.clone());
        }
        before = rest.get(..rest.len() - behind.len()).and_then(|read| read.chars().next_back()).unwrap_or(' ');
        rest = behind;
    }
}

fn callee_name(callee: &Operand<Positions>) -> Option<&str> {
    match callee {
        Operand::Global(global) => Some(&global.name),
        Operand::Constant(Constant::Function(name)) => Some(name),
        _ => None,
    }
}

/// Whether a name is written as those of types are: `CamelCase`.
fn is_like_a_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Whether a name is one that Julia gives to the types of closures: `#1#2`, `##f#3`.
fn is_closure(name: &str) -> bool {
    let Some(own) = name.strip_prefix('#') else { return false };
    let number = own.rsplit_once('#').map_or("", |(_, number)| number);
    own.starts_with('#') || !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The order in which arguments of these names are likely declared, given the order in which they appear: names that
/// follow one another in the alphabet are sorted; otherwise `x`, `y` and `z` come first, then `a` to `d`.
fn likely_order<'a>(names: impl Iterator<Item = &'a Name>) -> Vec<Name> {
    let names: Vec<Name> = names.cloned().collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let follows = |pair: &[Name]| match pair {
        [a, b] => match (a.char_indices().next_back(), b.char_indices().next_back()) {
            (Some((i, last)), Some((j, next))) => a.get(..i) == b.get(..j) && last as u32 + 1 == next as u32,
            _ => false,
        },
        _ => false,
    };
    let x_leads = !sorted.iter().skip(1).any(|name| name == "x");
    if x_leads && sorted.windows(2).all(follows) {
        return sorted;
    }
    let usual = |name: &Name| ["x", "y", "z", "a", "b", "c", "d"].iter().position(|usual| name == usual);
    let mut order = names;
    order.sort_by_key(|name| usual(name).unwrap_or(usize::MAX));
    order
}

#[cfg(test)]
mod tests {
    use crate::text::parse_function;

    /// The names that are taken for arguments, in the order of the listing's parameters.
    fn arguments(listing: &str) -> Vec<String> {
        let function = parse_function(listing).unwrap();
        function.parameters.iter().flatten().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_asked_for_is_a_type() {
        let listing = "1 ─ %1 = (x isa Shape)::Bool\n│   %2 = (isa)(x, Round)::Bool\n│   %3 = (Shape === y)::Bool\n└──      return %1\n";
        assert_eq!(arguments(listing), ["x", "y"]);
    }

    #[test]
    fn what_is_of_a_type_that_no_function_has_is_an_argument() {
        let listing = |stmt: &str| format!("1 ─ %1 = Main.f(x)::Any\n│   %2 = {stmt}::Any\n└──      return %1\n");
        for stmt in [
            "invoke Main.f(length::Int64)",
            "Base.bitcast(UInt64, length)",
            "Base.sqrt_llvm(length)",
            "π (length, Int64)",
            "$(Expr(:foreigncall, :(:load), Any, svec(Any), 0, :(:ccall), :(length)))",
        ] {
            assert_eq!(arguments(&listing(stmt)), ["x", "length"], "{stmt}");
        }
        // What is called may be a function, what is a function may be handed on, and a type asked for.
        for stmt in [
            "(length)(x)",
            "(view)(x, 1)",
            "Main.f(length)",
            "invoke Main.f(length::Function)",
            "(isa)(x, var\"#1#2\")",
            "Main.map_ptr(length, x)",
            "invoke Main.f(+::Int64)",
        ] {
            assert_eq!(arguments(&listing(stmt)), ["x"], "{stmt}");
        }
        // What is called and used as an object is one.
        for stmt in [
            "(norm)(x)::Any\n│   %3 = Base.getfield(norm, :p)",
            "(range)(x)::Any\n│   %3 = invoke Main.g(range::UnitRange{Int64})",
            "(isa)(x, var\"#T#\")::Bool\n│   %3 = Main.f(x)",
        ] {
            assert_eq!(arguments(&listing(stmt)).len(), 2, "{stmt}");
        }
        // Beside arguments with numbers there are none with names.
        for invoke in [
            "invoke Main.f(show::Function, _2::String)",
            "invoke Main.f(im::Complex{Bool}, _2::Int64)",
            "invoke Main.f(show::Int64, _2::Int64)",
        ] {
            let body = parse_function(&listing(invoke).replace("(x)", "(_2)")).unwrap().body;
            assert!(body.to_string().contains(invoke), "{body}");
        }
    }

    #[test]
    fn names_below_the_type_of_the_result_or_with_a_mark_are_those_of_arguments() {
        let lines = "2 1 ─ %1 = (Main.f)(x, n)::Int64\n  └──      return %1\n";
        assert_eq!(
            arguments(lines),
            [""; 0],
            "with line numbers alone it is an IRCode, where names are those of objects"
        );
        assert_eq!(arguments(&format!("Body::Int64\n{lines}")), ["x", "n"]);
        assert_eq!(arguments(&lines.replace("Main.f", "Base.add_int")), ["x", "n"], "objects are not added up");
        for stored in [
            "Base.arrayset(false, _2, sin, 1)::Array{Function,1}",
            "Base.arrayset(false, _2, foo, 1)::Array{Any,1}",
            "Base.setfield!(_2, :x, foo)::typeof(foo)",
            "Base.setfield!(_2, :x, foo)::Any",
        ] {
            let body = parse_function(&lines.replace("(Main.f)(x, n)::Int64", stored)).unwrap().body.to_string();
            let call = stored.split("::").next().unwrap();
            assert!(body.contains(call), "a function may be stored: {body}");
        }
        assert_eq!(arguments(&lines.replace("x, n", "%%x, %%n")), ["x", "n"]);
        assert_eq!(
            parse_function(&lines.replace("x, n", "%%2, %%3")),
            parse_function(&lines.replace("x, n", "_2, _3"))
        );
    }

    /// An argument may be called as a function of Julia is: a condition, and what is of a type, is none.
    #[test]
    fn what_can_be_no_function_is_an_argument() {
        for (code, names) in [
            ("1 ─     goto #3 if not c\n2 ─     return min\n3 ─     return max\n) => Float64", vec!["c", "min", "max"]),
            ("1 ─     goto #3 if not error\n2 ─     return 1\n3 ─     return 2\n) => Int64", vec!["error"]),
            ("1 ─ %1 = Core.tuple(div, 1)::Tuple{Float64, Int64}\n└──      return %1\n) => Any", vec!["div"]),
            ("1 ─     return min\n) => typeof(min)", vec![]),
            ("1 ─     return min\n) => Function", vec![]),
        ] {
            assert_eq!(arguments(&format!("CodeInfo(\n{code}\n")), names, "{code}");
        }
    }

    /// Behind a variable stands the type to which it is narrowed, also beside an operator and in a jump.
    #[test]
    fn types_of_arguments_are_no_part_of_what_is_done_with_them() {
        for (typed, plain) in [
            ("%1 = (x::Int64 + 1)::Int64", "%1 = (x + 1)::Int64"),
            ("%1 = (x::Int64 isa Main.Int)::Bool", "%1 = (x isa Main.Int)::Bool"),
            ("%1 = (x::Union{Int64, Nothing} === y)::Bool", "%1 = (x === y)::Bool"),
            ("%1 = (x::Array{T,1} where T == y)::Any", "%1 = (x == y)::Any"),
            ("%1 = (x::Array{T,N} where N where T<:Real isa %1)::Bool", "%1 = (x isa %1)::Bool"),
            ("%1 = (y * x::Array{T,1} where T)::Any", "%1 = (y * x)::Any"),
            ("%1 = (1:x::Array{T,1} where T)::Any", "%1 = (1:x)::Any"),
            ("%1 = (x::Int64:y::Int64)::UnitRange{Int64}", "%1 = (x:y)::UnitRange{Int64}"),
            (
                "%1 = $(Expr(:foreigncall, :(:f), Nothing, svec(Any), 0, :(:ccall), :(x::Array{Int64,1})))::Nothing",
                "%1 = $(Expr(:foreigncall, :(:f), Nothing, svec(Any), 0, :(:ccall), :(x)))::Nothing",
            ),
            ("goto #2 if not x::Bool", "goto #2 if not x"),
        ] {
            let listing =
                |line: &str| parse_function(&format!("CodeInfo(\n1 ─      {line}\n2 ─      return 1\n) => Any\n"));
            assert_eq!(listing(typed).unwrap(), listing(plain).unwrap(), "{typed}");
        }
    }

    #[test]
    fn names_leave_out_numbers_that_others_carry() {
        let listing = "CodeInfo(\n1 ─ %1 = Base.mul_float(s, t@_3)::Float64\n│   %2 = Base.add_float(%1, @_2)::Float64\n└──      return %2\n) => Float64\n";
        assert_eq!(arguments(listing), ["s"]);
        let body = parse_function(listing).unwrap().body.to_string();
        assert!(body.contains("Base.mul_float(_4, _3)"), "{body}");
    }

    #[test]
    fn names_that_are_in_no_table_are_those_of_objects() {
        let table =
            "Variables\n  op::Core.Compiler.Const(Main.Scale(2.0), false)\n  f::Function\n  x::Float64\n\nBody::Any\n";
        let code = "1 ─ %1 = Base.getfield(op, :k)::Float64\n│   %2 = invoke f(%1::Float64)::Any\n│   %3 = Main.g(isequal, x)::Any\n└──      return %3\n";
        let body = parse_function(&format!("{table}{code}")).unwrap().body;
        assert_eq!(body.argtypes.len(), 3);
        let printed = body.to_string();
        for statement in ["Base.getfield(_1, :k)", "invoke _2(%1::Float64)", "Main.g(isequal, _3)"] {
            assert!(printed.contains(statement), "{printed}");
        }
    }

    #[test]
    fn without_a_table_uses_tell_functions_and_arguments_apart() {
        let listing = "1 ─ %1 = %new(Base.Fix2{typeof(isequal),Char}, isequal, x)::Base.Fix2{typeof(isequal),Char}\n│   %2 = Base.mul_float(slice, 2.0)::Float64\n│   %3 = Main.f(%1, %2, sum)::Any\n└──      return %3\n";
        assert_eq!(arguments(listing), ["x", "slice"]);
    }

    #[test]
    fn what_a_statement_is_of_is_a_type() {
        let listing = "1 ─ %1 = Main.make(Shape, x)::Shape\n└──      return %1\n";
        assert_eq!(arguments(listing), ["x"]);
    }

    #[test]
    fn what_a_type_names_is_a_type() {
        for (listing, expected) in [
            ("1 ─ %1 = Main.g(x)::Union{A, B}\n│   %2 = (isa)(%1, A)::Bool\n└──      return %2\n", "(isa)(%1, A)"),
            ("1 ─ %1 = %new(A, x)::A\n└──      return %1\n", "%new(A, _2)"),
            ("1 ─ %1 = %new(var\"#1#2\", x)::var\"#1#2\"\n└──      return %1\n", "%new(var\"#1#2\", _2)"),
            ("1 ─ %1 = %new(var\"var\", x)::var\"var\"\n└──      return %1\n", "%new(var, _2)"),
            ("1 ─ %1 = invoke Main.f(A::Type{A}, x::Any)::Any\n└──      return %1\n", "Main.f(A::Type{A}, _2::Any)"),
            (
                "1 ─ %1 = Main.f(x)::Any\n│   %2 = π (%1, AB)\n│   %3 = Main.g(%2, AB)::Any\n└──      return %3\n",
                "Main.g(%2, AB)",
            ),
        ] {
            let function = parse_function(listing).unwrap();
            assert_eq!(function.parameters.iter().flatten().collect::<Vec<_>>(), ["x"], "{listing}");
            assert!(function.body.to_string().contains(expected), "{}", function.body);
        }
        // A variable of a type is none, and what is in another module is another one.
        for ty in [
            "Vector{T} where T<:Real",
            "Vector{T} where Int64<:T<:Real",
            "Main.T",
            "Val{:T}",
            "Val{'T'}",
            "Dict{T, S} where {T, S}",
            "@NamedTuple{x::Float64, T::Int64}",
        ] {
            assert_eq!(arguments(&format!("1 ─ %1 = Main.f(x, T)::{ty}\n└──      return %1\n")), ["x", "T"], "{ty}");
        }
    }

    #[test]
    fn what_is_computed_with_is_no_type() {
        for (used, ty) in [("Base.add_int(N, x)", "NTuple{N, Int64}"), ("Base.getfield(N, :x)", "Union{N, Nothing}")] {
            let listing = format!("1 ─ %1 = {used}::Int64\n│   %2 = Main.f(%1, x)::{ty}\n└──      return %2\n");
            assert!(arguments(&listing).contains(&"N".to_string()), "{listing}");
        }
    }

    #[test]
    fn a_type_that_is_an_argument_stays_one() {
        let listing = "1 ─ %1 = (x isa T)::Bool\n│   %2 = Base.convert(Kind, x)::Any\n└──      return %1\n";
        assert_eq!(arguments(listing), ["x", "T", "Kind"]);
    }
}
