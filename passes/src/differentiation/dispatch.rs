//! Calls of what is known only when the program runs: the world is closed, so they are calls of one of the functions
//! that are mentioned as values somewhere, or of which closures are made, or that stand in tables of methods. Of what
//! was looked up in a table, only the functions that may be found there are tried, and of the part of a bundle only
//! those that are bundled as such.

mod bundled;
mod looked_up;

use std::sync::Arc;

use self::bundled::Bundled;
use bbcode::{BBCode, BlockId, EditError, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::primitives::{Compute, ResultType};
use ircode::{
    Callee, Constant, Declaration, GlobalPart, LineInfo, Module, NewInstruction, Operand, Stmt, Type, unqualified,
};

use crate::analyses::method_choice::{choices, methods_named};
use crate::union_splitting::{self, Rest, Split, Way};

/// A function that may be called as a value.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The value that it is.
    value: Operand<Ids>,
    /// What a call of it names.
    callee: Operand<Ids>,
    /// How many values a closure of it captures; `None` for the function itself.
    captured: Option<usize>,
    /// The types of its arguments, what is captured last, where it is a function of the module.
    argtypes: Option<Vec<Type>>,
    /// The number of arguments that it takes; `None` if that is not one number.
    arity: Option<usize>,
    result: Type,
    /// Whether it is a primitive that takes a number.
    of_a_number: bool,
    /// Whether it may be the original, the JVP, the VJP of a bundle.
    bundled: [bool; 3],
}

impl Candidate {
    /// How many arguments it takes, if it is a closure of the module's.
    fn arguments_of_closure(&self) -> Option<usize> {
        self.arity?.checked_sub(self.captured?)
    }

    /// Its position in the module, if it is a function there.
    pub(crate) fn function(&self, module: &Module<BBCode>) -> Option<usize> {
        match module.callee(&self.callee)? {
            Callee::Function(index) => Some(index),
            _ => None,
        }
    }

    /// Whether it is a function of one of these names.
    fn is_named(&self, names: &[&str]) -> bool {
        match &self.value {
            Operand::Global(global) => names.contains(&global.name.as_str()),
            Operand::Constant(Constant::Function(name)) => {
                names.contains(&unqualified(name.split('(').next().unwrap_or(name)))
            }
            _ => true,
        }
    }

    /// Whether it is called with arguments of these types. A primitive that takes several numbers of them is, where it
    /// is known by name that it may be the one.
    fn fits(&self, module: &Module<BBCode>, given: &[Type], is_named: bool) -> bool {
        let is_primitive = self.argtypes.is_none();
        let captured = self.captured.unwrap_or(0);
        let types = |taken: &Vec<Type>| {
            taken.len() == given.len() + captured
                && given.iter().zip(taken).all(|(given, taken)| may_be(module, given, taken))
        };
        self.takes(given.len())
            && (self.arity.is_some() || is_primitive && is_named)
            && self.argtypes.as_ref().is_none_or(types)
            && !(self.of_a_number && given.iter().any(is_no_number))
    }

    /// Whether it may be called with so many arguments.
    pub(crate) fn takes(&self, arguments: usize) -> bool {
        self.arity.is_none_or(|arity| arity == arguments + self.captured.unwrap_or(0))
    }
}

/// The functions that are mentioned as values in the module, in order, those that its global constants hold, and those
/// in its tables of methods; all its functions, too, if one of `roots`, which are to be differentiated, takes functions
/// as arguments. For reverse mode, without those that catch exceptions: they have no pullback, and calling one is an
/// error when the program runs.
pub(crate) fn candidates(module: &Module<BBCode>, roots: &[usize], reverse: bool) -> Vec<Candidate> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    let mut bundled = Bundled::default();
    let mut mention = |operand: &Operand<Ids>, captured: Option<usize>| {
        let mut mention = |operand: &Operand<Ids>| {
            if seen.insert(format!("{operand:?} {captured:?}")) {
                found.extend(candidates_of(module, operand, captured, reverse));
            }
        };
        match operand {
            Operand::Global(_) => mention(operand),
            Operand::Constant(constant) => {
                for_each_function(constant, &mut |function| mention(&Operand::Constant(function.clone())));
            }
            _ => {}
        }
    };
    for function in module.functions() {
        for (_, inst) in function.body.all_insts() {
            match (&inst.stmt, module.primitive_call(&inst.stmt)) {
                (_, Some((primitive, [function, captured @ ..]))) if primitive.name == "partial_apply" => {
                    mention(function, Some(captured.len()));
                    captured.iter().for_each(|operand| mention(operand, None));
                    continue;
                }
                // Functions are closures there.
                (_, Some((primitive, args)))
                    if matches!(primitive.name, "differentiable_function" | "differentiable_function_with") =>
                {
                    args.iter().for_each(|function| mention(function, Some(0)));
                    bundled.add(module, &function.body, primitive.name, args);
                    continue;
                }
                // They ask, and give nobody the function.
                (_, Some((primitive, _))) if matches!(primitive.name, "applies" | "captured") => continue,
                _ => {}
            }
            let mut mention = |operand: &Operand<Ids>| mention(operand, None);
            match inst.stmt.as_call() {
                Some((_, args)) => args.iter().for_each(&mut mention),
                None => inst.stmt.for_each_operand(&mut mention),
            }
        }
    }
    for part in module.global_constants().iter().flat_map(|constant| constant.value().parts()) {
        match part {
            GlobalPart::Constant(constant) => mention(&Operand::Constant(constant.clone()), None),
            GlobalPart::Global(global) => mention(&Operand::Global(Arc::new(global.clone())), None),
            GlobalPart::Undefined => {}
        }
    }
    let takes_functions = |ty: &Type| match ty {
        Type::Named(name) => matches!(name.as_str(), "Function" | "Core.Function"),
        other => other.is_unknown(),
    };
    let functions = || roots.iter().filter_map(|&root| module.functions().get(root));
    let taken = || functions().flat_map(|function| function.body.argtypes.iter().skip(1));
    if taken().any(takes_functions) {
        for (_, function) in module.functions().iter().enumerate().filter(|(position, _)| *roots != [*position]) {
            mention(&Operand::Constant(Constant::Function(function.name.clone())), None);
        }
    }
    let tables: Vec<Declaration> = if module.has_tables() { module.declarations().collect() } else { Vec::new() };
    for entry in tables.iter().filter_map(Declaration::entries).flatten() {
        mention(&Operand::Constant(Constant::Function(entry.function.clone())), None);
    }
    // Where the module makes no such closures, whoever calls it may make one of any function that takes such arguments
    // first.
    let made: HashSet<usize> = found.iter().filter_map(Candidate::arguments_of_closure).collect();
    let closures = taken().filter_map(|ty| if let Type::Closure(closure) = ty { Some(closure) } else { None });
    for closure in closures.filter(|closure| !made.contains(&closure.parameters.len())) {
        for (position, function) in module.functions().iter().enumerate() {
            let takes = function.body.argtypes.get(1..).unwrap_or_default();
            let captured = takes.len().checked_sub(closure.parameters.len());
            let fits = closure.parameters.iter().zip(takes).all(|(given, taken)| may_be(module, given, taken))
                && may_be(module, &function.result, &closure.result);
            if let Some(captured) = captured.filter(|_| fits && !roots.contains(&position) && !function.varargs) {
                let value = Operand::Constant(Constant::Function(function.name.clone()));
                found.extend(candidates_of(module, &value, Some(captured), reverse));
            }
        }
    }
    bundled.take_from_outside(module, roots);
    for candidate in &mut found {
        candidate.bundled = bundled.parts(module, &candidate.value, candidate.captured);
    }
    found
}

/// The functions that a constant is or, if it is a tuple, holds.
fn for_each_function(constant: &Constant, take: &mut impl FnMut(&Constant)) {
    match constant {
        Constant::Function(_) => take(constant),
        Constant::Tuple(fields) => fields.iter().for_each(|field| for_each_function(field, take)),
        Constant::NamedTuple(fields) => fields.iter().for_each(|(_, field)| for_each_function(field, take)),
        _ => {}
    }
}

/// The candidates that a value is: one for each method of a function.
fn candidates_of(
    module: &Module<BBCode>,
    value: &Operand<Ids>,
    captured: Option<usize>,
    reverse: bool,
) -> Vec<Candidate> {
    let of_function = |index: usize| {
        let function = module.functions().get(index)?;
        let catches = |stmt: &Stmt<Ids>| matches!(stmt, Stmt::Enter(_) | Stmt::PhiC(_) | Stmt::Upsilon(_));
        if reverse && function.body.all_insts().any(|(_, inst)| catches(&inst.stmt)) {
            return None;
        }
        let argtypes: Vec<Type> = function.body.argtypes.iter().skip(1).cloned().collect();
        Some(Candidate {
            value: value.clone(),
            callee: Operand::global("", &function.name),
            captured,
            arity: (!function.varargs).then_some(argtypes.len()),
            argtypes: Some(argtypes),
            result: function.result.clone(),
            of_a_number: false,
            bundled: [true; 3],
        })
    };
    let of_methods = |methods: &[usize]| methods.iter().filter_map(|&method| of_function(method)).collect();
    match module.callee(value) {
        Some(Callee::Function(index)) => of_methods(&[index]),
        Some(Callee::Primitive(primitive)) => vec![Candidate {
            value: value.clone(),
            callee: value.clone(),
            captured,
            argtypes: None,
            arity: (primitive.max_operands == Some(primitive.min_operands)).then_some(primitive.min_operands),
            result: match primitive.result {
                ResultType::Bool => Type::BOOL,
                ResultType::Int64 => Type::INT64,
                ResultType::Nothing => Type::Nothing,
                ResultType::String => Type::String,
                _ => Type::Untyped,
            },
            of_a_number: matches!(primitive.compute, Compute::Scalars(_)) && primitive.max_operands == Some(1),
            bundled: [true; 3],
        }],
        // A function of Julia's, whose methods in the module are known by their signatures.
        Some(Callee::Unknown(path)) => {
            of_methods(methods_named(module, &path).unwrap_or_else(|| module.methods(&path)))
        }
        Some(Callee::Type(_)) | None => Vec::new(),
    }
}

/// Whether a value of the first type may be one of the second.
fn may_be(module: &Module<BBCode>, given: &Type, taken: &Type) -> bool {
    let members = |ty: &Type| match ty {
        Type::Union(members) => members.to_vec(),
        ty => vec![ty.clone()],
    };
    let overlap = |a: &Type, b: &Type| {
        let is_a = |a: &Type, b: &Type| module.is_a(a, b) != Some(false);
        a == b || a.is_unknown() || b.is_unknown() || is_a(a, b) || is_a(b, a)
    };
    let taken = members(taken);
    members(given).iter().any(|given| taken.iter().any(|taken| overlap(given, taken)))
}

/// Whether a value of a type is certainly something that primitives on numbers do not take.
fn is_no_number(ty: &Type) -> bool {
    matches!(ty, Type::Array(_) | Type::Tuple(_) | Type::NamedTuple(_) | Type::String | Type::Symbol)
}

/// The names of the functions that a value may be, without the modules', if its type says which: objects are none of
/// them.
fn functions_of<'t>(module: &Module<BBCode>, ty: &'t Type) -> Option<Vec<&'t str>> {
    let members = match ty {
        Type::Union(members) => members.as_slice(),
        ty => std::slice::from_ref(ty),
    };
    let mut names = Vec::new();
    for member in members {
        match member {
            Type::Function(name) => names.push(unqualified(name)),
            Type::Named(name) if module.type_def(name).is_some() => {}
            _ => return None,
        }
    }
    // An object of one of several types is none of the functions.
    (!names.is_empty() || members.len() > 1).then_some(names)
}

/// A call of a value.
struct ValueCall {
    id: InstId,
    callee: Operand<Ids>,
    args: Vec<Operand<Ids>>,
    ty: Type,
    line: LineInfo,
}

/// Turns each call of a value into calls of the candidates that it may be, by comparing; anything else is an error when
/// the program runs. True if there was such a call.
pub(crate) fn dispatch(module: &Module<BBCode>, bb: &mut BBCode, candidates: &[Candidate]) -> Result<bool, EditError> {
    let calls: Vec<ValueCall> = bb
        .all_insts()
        .filter_map(|(id, inst)| {
            let (callee, args) = inst.stmt.as_call()?;
            let of_value =
                matches!(callee, Operand::Value(_) | Operand::Argument(_)) && module.callee(callee).is_none();
            let call =
                || ValueCall { id, callee: callee.clone(), args: args.to_vec(), ty: inst.ty.clone(), line: inst.line };
            of_value.then(call)
        })
        .collect();
    // The first candidate that a function of the module is: it may be mentioned in several ways.
    let mut by_function: HashMap<usize, &Candidate> = HashMap::new();
    for candidate in if calls.is_empty() { &[] } else { candidates } {
        if let Some(function) = candidate.function(module) {
            by_function.entry(function).or_insert(candidate);
        }
    }
    let mut dispatched = false;
    for call in calls {
        let given: Vec<Type> = call.args.iter().map(|arg| bb.operand_type(arg)).collect();
        let part = bundled::part_of_bundle(module, bb, &call.callee);
        let called = bb.operand_type(&call.callee);
        let names = functions_of(module, &called);
        let fits = |candidate: &&Candidate| {
            let is_closure = matches!(called, Type::Closure(_));
            let is_one_of_them = names.as_ref().is_none_or(|names| candidate.is_named(names));
            is_one_of_them
                && part.is_none_or(|part| candidate.bundled.get(part) == Some(&true))
                && (candidate.captured.is_some() || !is_closure)
                && candidate.fits(module, &given, names.is_some())
                && may_be(module, &candidate.result, &call.ty)
        };
        let fitting: Vec<&Candidate> = match looked_up::looked_up(module, bb, &call.callee) {
            Some(functions) => {
                functions.iter().filter_map(|function| by_function.get(function).copied()).filter(fits).collect()
            }
            None => candidates.iter().filter(fits).collect(),
        };
        let targets = targets(module, fitting, &given);
        if !targets.is_empty() {
            branch_on(module, bb, &call, &targets)?;
            dispatched = true;
        }
    }
    Ok(dispatched)
}

/// What is called where a value is one of the candidates.
struct Target<'c> {
    candidate: &'c Candidate,
    /// Where several methods of it may take the arguments: how the run chooses.
    choice: Option<Vec<Way>>,
}

/// What is called for each value that candidates are. Those of a function with several methods stand one behind the
/// other; of one whose methods the run cannot tell apart there is no target.
fn targets<'c>(module: &Module<BBCode>, fitting: Vec<&'c Candidate>, given: &[Type]) -> Vec<Target<'c>> {
    let is_same = |a: &&Candidate, b: &&Candidate| a.value == b.value && a.captured == b.captured;
    let target = |of_value: &[&'c Candidate]| match of_value {
        [] => None,
        [candidate] => Some(Target { candidate, choice: None }),
        [first, ..] if first.captured.is_some() => None,
        several => {
            let methods = several.iter().filter_map(|candidate| candidate.function(module));
            let chosen = choices(module, methods, given)?;
            let first = chosen.first()?;
            let candidate =
                several.iter().copied().find(|candidate| candidate.function(module) == Some(first.method))?;
            if first.tests.is_empty() {
                return Some(Target { candidate, choice: None });
            }
            let ways = chosen.into_iter().filter_map(|choice| Way::of_method(module, choice)).collect();
            Some(Target { candidate, choice: Some(ways) })
        }
    };
    fitting.chunk_by(is_same).filter_map(target).collect()
}

/// What a rule for a function is told of the type of an argument: where the function takes a class, that class, of
/// which an object of a class that inherits from it is one.
pub(crate) fn as_taken(module: &Module<BBCode>, given: Type, taken: &Type) -> Type {
    match (&given, taken) {
        (Type::Named(class), Type::Named(of)) if module.is_subclass(class, of) => taken.clone(),
        _ => given,
    }
}

/// Whether the first type is a class, and the second another one or something of which less is known.
fn is_narrower_class(module: &Module<BBCode>, taken: &Type, given: &Type) -> bool {
    let Type::Named(taken) = taken else { return false };
    module.class(taken).is_some()
        && match given {
            Type::Named(given) => !module.is_subclass(given, taken),
            given => given.is_unknown() || matches!(given, Type::Union(_)),
        }
}

fn branch_on(
    module: &Module<BBCode>,
    bb: &mut BBCode,
    call: &ValueCall,
    targets: &[Target<'_>],
) -> Result<(), EditError> {
    let ValueCall { id, callee, args, ty, line } = call;
    let (id, line) = (*id, *line);
    let written = |stmt: Stmt<Ids>, ty: Type| NewInstruction::new(stmt, ty).with_line(line);
    let (mut test, rest) = bb.cut_block(id)?;
    let call_args = args.len();
    let mut entries: Vec<(BlockId, Option<Operand<Ids>>)> = Vec::with_capacity(targets.len());
    let mut several: Vec<(InstId, &Vec<Way>)> = Vec::new();
    for Target { candidate, choice } in targets {
        let (call, next) = (bb.push_block(), bb.push_block());
        let compare = match candidate.captured {
            Some(_) => Operand::global("BBKit", "applies"),
            None => Operand::global("Core", "==="),
        };
        let compare = Stmt::call(compare, [callee.clone(), candidate.value.clone()]);
        let same = bb.push(test, written(compare, Type::BOOL))?;
        bb.push(test, written(Stmt::goto_if_not(Operand::Value(same), next), Type::Any))?;
        bb.set_next(test, Some(call))?;
        let mut narrowed = Vec::with_capacity(args.len());
        for (index, arg) in args.iter().enumerate() {
            let taken = candidate.argtypes.as_ref().and_then(|types| types.get(index));
            narrowed.push(
                match taken.filter(|taken| choice.is_none() && is_narrower_class(module, taken, &bb.operand_type(arg)))
                {
                    // A method is found for objects of its class only.
                    Some(taken) => {
                        let narrow = written(Stmt::pi(arg.clone(), taken.clone()), taken.clone());
                        Operand::Value(bb.push(call, narrow)?)
                    }
                    None => arg.clone(),
                },
            );
        }
        for number in 1..=candidate.captured.unwrap_or(0) {
            let given = [callee.clone(), candidate.value.clone(), Operand::from(number as i64)];
            let known = candidate.argtypes.as_ref().and_then(|types| types.get(call_args + number - 1));
            let captured = Stmt::call(Operand::global("BBKit", "captured"), given);
            let captured = bb.push(call, written(captured, known.cloned().unwrap_or(Type::Any)))?;
            narrowed.push(Operand::Value(captured));
        }
        let called = if choice.is_some() { &candidate.value } else { &candidate.callee };
        let called = Stmt::call(called.clone(), narrowed);
        let called = bb.push(call, written(called, ty.clone()))?;
        several.extend(choice.as_ref().map(|choice| (called, choice)));
        bb.push(call, written(Stmt::goto(rest), Type::Any))?;
        entries.push((call, Some(Operand::Value(called))));
        test = next;
    }
    // No handler is to take it for an error of the program.
    let error = Stmt::call(Operand::global("BBKit", "no_derivative"), [callee.clone()]);
    bb.push(test, written(error, Type::Bottom))?;
    // Its type would do here; in a listing, control would go on to the block that is written next.
    bb.push(test, written(Stmt::unreachable(), Type::Any))?;
    bb.set_next(test, None)?;
    let phi = bb.insert_at_start(rest, written(Stmt::phi(entries), ty.clone()))?;
    bb.replace(id, Stmt::Value(Operand::Value(phi)))?;
    for (called, ways) in several {
        if let Some(split) = bb.inst(called).and_then(|inst| Split::of(inst, ways.clone(), Rest::Fails)) {
            union_splitting::branch(bb, called, split)?;
        }
    }
    Ok(())
}
