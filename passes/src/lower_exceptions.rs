//! Turns try/catch into branches.

mod probes;
mod regions;
mod rewrite;
mod stand_ins;
mod throwing;

use std::collections::BTreeMap;

use bbcode::BBCode;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use ircode::{CallGraph, Function, Head, Module, Name, Stmt, Type};

use crate::differentiation::base_names::base_name;
use crate::free_names::FreeNames;
use crate::rules::{RuleKind, RuleTable};
use crate::{PassError, PassResult};
use rewrite::rewrite;
use throwing::Throwing;
pub(crate) use throwing::looks_into_exception;

/// The pass's name on the command line.
pub const NAME: &str = "lower-exceptions";

/// Lets exceptions that are caught go to where that is by edges, in the function of this name or in all that have
/// handlers: what is left has no `enter`, φᶜ and ϒ, and computes the same. True if a function was changed.
///
/// A function that is called in the care of a handler and may throw gets a variant, `f_or_thrown`, that returns a
/// tuple: whether it threw, what it returns — something of the same type if it threw — and, if any handler asks for
/// exceptions, the exception. The caller branches. A primitive that may fail is tried first, in a function of its own
/// that has a handler (`arrayref_throws`), and is executed where it does not; so is a function that has a derivative
/// rule, which its variant would not have. What a block has done when something in it throws is so seen in the code:
/// reverse mode, which goes back through all that was done, gets an edge for every way.
///
/// A function stays as it is where something may throw in the care of a handler and is not known, or fails after it may
/// have changed something. Removing elements from a vector by a number that is computed is taken not to fail, as
/// Julia's library has compared that with the length before: where a program has not, the run ends there.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let chosen: Vec<Name> = match function {
        Some(name) => vec![name.clone()],
        None => module.functions().iter().map(|function| function.name.clone()).collect(),
    };
    let chosen: Vec<Name> = chosen
        .into_iter()
        .filter(|name| module.function(name).is_some_and(|function| function.body.has_handlers()))
        .collect();
    Ok(lower(module, &chosen).len() < chosen.len())
}

/// Lowers these functions of a module as far as that can be done, and tells which others stay, and why.
pub(crate) fn lower(module: &mut Module<BBCode>, functions: &[Name]) -> Vec<(Name, PassError)> {
    if functions.is_empty() {
        return Vec::new();
    }
    let mut lowering = Lowering::new(module, functions);
    let mut bodies: Vec<(usize, BBCode)> = Vec::new();
    let mut refused: BTreeMap<usize, PassError> = BTreeMap::new();
    for (index, name) in functions.iter().enumerate() {
        let Some(function) = module.function(name) else { continue };
        lowering.caller = Caller::Asked(index);
        match rewrite(&mut lowering, name, &function.body, None) {
            Ok(body) => bodies.push((index, body)),
            Err(error) => drop(refused.insert(index, error)),
        }
    }
    lowering.make_variants();
    lowering.refuse_callers(functions, &mut refused);
    bodies.retain(|(index, _)| !refused.contains_key(index));
    let added = lowering.finish(&bodies.iter().map(|(index, _)| *index).collect::<Vec<_>>());
    for (name, body) in bodies.into_iter().filter_map(|(index, body)| Some((functions.get(index)?, body))) {
        if let Some(place) = module.body_mut(name) {
            *place = body;
        }
    }
    for function in added {
        module.replace_function(function);
    }
    refused.into_iter().filter_map(|(index, error)| Some((functions.get(index)?.clone(), error))).collect()
}

/// What calls a variant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Caller {
    /// The function of this number among those that are to be lowered.
    Asked(usize),
    /// The variant of the function at this position.
    Variant(usize),
}

/// What the functions of a module that are lowered together share.
struct Lowering<'m> {
    module: &'m Module<BBCode>,
    throwing: Throwing,
    /// The positions of the functions that have derivative rules, and whether it would be seen that one is called
    /// twice: it prints, or calls C.
    with_rules: HashMap<usize, bool>,
    /// Whether outcomes carry exceptions, as some handler asks for them.
    carries: bool,
    /// The type of what is thrown.
    exception: Type,
    names: FreeNames,
    /// The functions that were added, by name; nothing of variants that are still to be made.
    added: BTreeMap<Name, Option<Function<BBCode>>>,
    /// The names of variants and the types of what their functions return, by position of these.
    variants: HashMap<usize, (Name, Type)>,
    /// The positions of these, in the order in which they were first called.
    wanted: Vec<usize>,
    /// What is being rewritten.
    caller: Caller,
    /// Which calls which variant.
    calls: Vec<(Caller, usize)>,
    /// Why there is no variant of the functions at these positions.
    refused: HashMap<usize, PassError>,
    /// By what they try.
    probes: HashMap<String, Name>,
    /// Which calls which of these.
    tries: Vec<(Caller, Name)>,
}

impl<'m> Lowering<'m> {
    fn new(module: &'m Module<BBCode>, functions: &[Name]) -> Self {
        let asks =
            |function: &Function<BBCode>| function.body.has_handlers() && asks_for_exceptions(module, &function.body);
        let roots = functions.iter().filter_map(|name| module.function_index(name));
        let graph = CallGraph::new(module);
        let reachable = graph.reachable(roots);
        let mut reached = reachable.iter().filter_map(|position| module.functions().get(*position));
        let carries = reached.clone().any(asks);
        // What is of unknown type is one of these, as far as anybody knows.
        let exception = failure();
        let exception = match reached.any(|function| throwing::throws_other(module, &function.body, &exception)) {
            true => Type::Any,
            false => exception,
        };
        let throwing = Throwing::of(module);
        // Where rules cannot be read, differentiation says so.
        let rules = RuleTable::of_module(module).unwrap_or_default();
        let has_rule = |position: &usize| {
            let function = module.functions().get(*position);
            function.is_some_and(|function| rules.has_function_rule(&function.name, RuleKind::Vjp))
        };
        let acts = |position: usize| {
            let reached = graph.reachable([position]);
            reached
                .into_iter()
                .filter_map(|position| module.functions().get(position))
                .any(|function| acts(module, &function.body))
        };
        let with_rules =
            (0..module.functions().len()).filter(has_rule).map(|position| (position, acts(position))).collect();
        Lowering {
            module,
            throwing,
            with_rules,
            carries,
            exception,
            names: FreeNames::default(),
            added: BTreeMap::new(),
            variants: HashMap::new(),
            wanted: Vec::new(),
            caller: Caller::Asked(0),
            calls: Vec::new(),
            refused: HashMap::new(),
            probes: HashMap::new(),
            tries: Vec::new(),
        }
    }

    /// The variant that returns the exceptions of the function at this position, and the type of the function's result.
    /// It is made later, so that calls may go as deep as they want.
    fn variant(&mut self, position: usize) -> Result<(Name, Type), PassError> {
        self.calls.push((self.caller, position));
        if let Some(known) = self.variants.get(&position) {
            return Ok(known.clone());
        }
        let Some(function) = self.module.functions().get(position) else {
            return Err(PassError::new(NAME, &"the module".into(), format!("there is no function {position}")));
        };
        let name = self.free_name(&format!("{}_or_thrown", base_name(&function.name)));
        let result = function.result.clone().or_any();
        self.variants.insert(position, (name.clone(), result.clone()));
        self.wanted.push(position);
        self.added.insert(name.clone(), None);
        Ok((name, result))
    }

    /// Makes the variants that are called, and those that they call.
    fn make_variants(&mut self) {
        let mut made = 0;
        while let Some(position) = self.wanted.get(made).copied() {
            made += 1;
            if let Err(error) = self.make_variant(position) {
                self.refused.insert(position, error);
            }
        }
    }

    fn make_variant(&mut self, position: usize) -> Result<(), PassError> {
        let known = self.variants.get(&position).cloned().zip(self.module.functions().get(position));
        let Some(((name, result), function)) = known else { return Ok(()) };
        self.caller = Caller::Variant(position);
        let mut body = rewrite(self, &function.name, &function.body, Some(result.clone()))?;
        if let Some(own) = body.argtypes.first_mut().filter(|own| matches!(own, Type::Function(_))) {
            *own = Type::function(name.clone());
        }
        let variant = Function {
            name,
            parameters: function.parameters.clone(),
            varargs: function.varargs,
            result: self.outcome(&result),
            body,
        };
        self.add(variant);
        Ok(())
    }

    /// Refuses what calls a variant that there is not.
    fn refuse_callers(&mut self, functions: &[Name], refused: &mut BTreeMap<usize, PassError>) {
        let mut callers: HashMap<usize, Vec<Caller>> = HashMap::new();
        for &(caller, position) in &self.calls {
            callers.entry(position).or_default().push(caller);
        }
        let mut work: Vec<usize> = self.wanted.iter().copied().filter(|at| self.refused.contains_key(at)).collect();
        while let Some(position) = work.pop() {
            let Some(error) = self.refused.get(&position).cloned() else { continue };
            for caller in callers.remove(&position).unwrap_or_default() {
                let name = match caller {
                    Caller::Asked(index) => functions.get(index),
                    Caller::Variant(position) => self.module.functions().get(position).map(|function| &function.name),
                };
                let name = name.map_or("", Name::as_str);
                let error = error.clone().with_help(format!("it is called inside of try in {name}"));
                match caller {
                    Caller::Asked(index) => drop(refused.entry(index).or_insert(error)),
                    Caller::Variant(position) => {
                        if let Entry::Vacant(place) = self.refused.entry(position) {
                            place.insert(error);
                            work.push(position);
                        }
                    }
                }
            }
        }
    }

    /// The functions that are to be added, where those of these numbers were lowered.
    fn finish(mut self, lowered: &[usize]) -> Vec<Function<BBCode>> {
        let mut calls: HashMap<Caller, Vec<usize>> = HashMap::new();
        for &(caller, position) in &self.calls {
            calls.entry(caller).or_default().push(position);
        }
        let mut work: Vec<Caller> = lowered.iter().copied().map(Caller::Asked).collect();
        while let Some(caller) = work.pop() {
            for position in calls.remove(&caller).unwrap_or_default() {
                if self.variants.remove(&position).is_some() {
                    work.push(Caller::Variant(position));
                }
            }
        }
        // Those variants that are left are called by nothing, and neither is what only they try.
        let is_used = |caller: &Caller| match caller {
            Caller::Asked(index) => lowered.binary_search(index).is_ok(),
            Caller::Variant(position) => !self.variants.contains_key(position),
        };
        let used: HashSet<&Name> =
            self.tries.iter().filter(|(caller, _)| is_used(caller)).map(|(_, probe)| probe).collect();
        let probes: HashSet<&Name> = self.probes.values().collect();
        self.added.retain(|name, _| !probes.contains(name) || used.contains(name));
        for (name, _) in self.variants.values() {
            self.added.remove(name);
        }
        self.added.into_values().flatten().collect()
    }

    fn add(&mut self, function: Function<BBCode>) {
        self.added.insert(function.name.clone(), Some(function));
    }

    /// What a call gives that says whether it threw, and what.
    fn outcome(&self, result: &Type) -> Type {
        self.outcome_of(result, self.exception.clone())
    }

    /// What a call gives that tries a statement.
    fn tried(&self) -> Type {
        self.outcome_of(&Type::Bottom, failure())
    }

    /// Whether the function at this position is tried first, as a primitive is, because it has a derivative rule, which
    /// a variant would not have.
    fn is_tried(&self, position: usize) -> bool {
        self.with_rules.contains_key(&position)
    }

    /// The name of the function at this position, which is called to try it and once more where it does not throw. An
    /// error if that may be seen.
    fn tried_twice(&self, position: usize, error: impl Fn(&str) -> PassError) -> Result<Name, PassError> {
        if self.carries && self.exception != failure() {
            return Err(error(
                "inside of try, a call of what has a derivative rule cannot be made a branch where something else than exceptions is thrown",
            ));
        }
        match (self.module.functions().get(position), self.with_rules.get(&position)) {
            (Some(function), Some(false)) => Ok(function.name.clone()),
            _ => Err(error(
                "inside of try, a call of what has a derivative rule, and prints or calls C functions, cannot be made a branch: it is tried first",
            )),
        }
    }

    /// What says whether something of a type was thrown.
    fn outcome_of(&self, result: &Type, thrown: Type) -> Type {
        let mut parts = vec![Type::BOOL, self.standing_in(result).0];
        if self.carries {
            parts.push(Type::union([Type::Nothing, thrown]));
        }
        Type::tuple(parts)
    }

    /// The type that has the values of a type and something that can be made anywhere, and whether it is the same.
    fn standing_in(&self, ty: &Type) -> (Type, bool) {
        match ty {
            Type::Bottom => (Type::Nothing, true),
            ty if ty.is_unknown() => (Type::Any, true),
            ty if stand_ins::has_stand_in(self.module, ty) => (ty.clone(), true),
            ty => (Type::union([Type::Nothing, ty.clone()]), false),
        }
    }

    fn free_name(&mut self, wanted: &str) -> Name {
        let is_taken = |name: &str| self.module.function(name).is_some() || self.added.contains_key(name);
        self.names.find(wanted, is_taken)
    }
}

/// The type of all that primitives and Julia's library throw. Its values have no tangent.
fn failure() -> Type {
    Type::named("Exception")
}

/// Whether it is seen that code runs twice: it prints, or calls functions of C that are no primitives.
fn acts(module: &Module<BBCode>, bb: &BBCode) -> bool {
    bb.all_insts().any(|(_, inst)| match module.primitive_call(&inst.stmt) {
        Some((primitive, _)) => matches!(primitive.name, "print" | "println"),
        None => matches!(&inst.stmt, Stmt::Expr(expr) if expr.head == Head::Foreigncall),
    })
}

/// Whether code asks for the exception that is being handled, and does something with it.
fn asks_for_exceptions(module: &Module<BBCode>, bb: &BBCode) -> bool {
    let asking = throwing::exceptions(bb);
    bb.all_insts().any(|(_, inst)| {
        let mut uses = false;
        inst.stmt.for_each_use(|used| uses |= asking.contains(&used));
        uses || throwing::throws_again(module, &inst.stmt)
    })
}
