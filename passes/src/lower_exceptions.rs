//! Turns try/catch into branches.

mod probes;
mod regions;
mod rewrite;
mod stand_ins;
mod throwing;

use std::collections::BTreeMap;

use bbcode::BBCode;
use hashbrown::HashMap;
use ircode::{CallGraph, Function, Module, Name, Stmt, Type};

use crate::differentiation::base_names::base_name;
use crate::{PassError, PassResult};
use rewrite::rewrite;
use throwing::Throwing;
pub(crate) use throwing::looks_into_exception;

/// The pass's name on the command line.
pub const NAME: &str = "lower-exceptions";

/// Lets exceptions that are caught go to where that is by edges, in the function of this name or in all that have handlers: what is left has no
/// `enter`, φᶜ and ϒ, and computes the same. True if a function was changed.
///
/// A function that is called in the care of a handler and may throw gets a variant, `f_or_thrown`, that returns a tuple: whether it threw, what it returns —
/// something of the same type if it threw — and, if any handler asks for exceptions, the exception. The caller branches. A primitive that may fail is tried first, in a
/// function of its own that has a handler (`arrayref_throws`), and is executed where it does not. What a block has done when something in it throws is so seen in the code:
/// reverse mode, which goes back through all that was done, gets an edge for every way.
///
/// A function stays as it is where something may throw in the care of a handler and is not known, or fails after it may have changed something.
pub fn run(module: &mut Module<BBCode>, function: Option<&Name>) -> PassResult {
    let chosen: Vec<Name> = match function {
        Some(name) => vec![name.clone()],
        None => module.functions().iter().map(|function| function.name.clone()).collect(),
    };
    let chosen: Vec<Name> = chosen
        .into_iter()
        .filter(|name| module.function(name).is_some_and(|function| has_handlers(&function.body)))
        .collect();
    Ok(lower(module, &chosen).len() < chosen.len())
}

/// Whether code enters handlers.
pub(crate) fn has_handlers(bb: &BBCode) -> bool {
    bb.all_insts().any(|(_, inst)| matches!(inst.stmt, Stmt::Enter(_)))
}

/// Lowers these functions of a module as far as that can be done, and tells which others stay, and why.
pub(crate) fn lower(module: &mut Module<BBCode>, functions: &[Name]) -> Vec<(Name, PassError)> {
    let mut errors = Vec::new();
    if functions.is_empty() {
        return errors;
    }
    let mut lowering = Lowering::new(module, functions);
    let mut bodies: Vec<(Name, BBCode)> = Vec::new();
    for name in functions {
        let Some(function) = module.function(name) else { continue };
        match rewrite(&mut lowering, name, &function.body, None) {
            Ok(body) => bodies.push((name.clone(), body)),
            Err(error) => errors.push((name.clone(), error)),
        }
    }
    let added = lowering.added;
    for (name, body) in bodies {
        if let Some(place) = module.body_mut(&name) {
            *place = body;
        }
    }
    for function in added.into_values().flatten() {
        module.replace_function(function);
    }
    errors
}

/// What the functions of a module that are lowered together share.
struct Lowering<'m> {
    module: &'m Module<BBCode>,
    throwing: Throwing,
    /// Whether outcomes carry exceptions, as some handler asks for them.
    carries: bool,
    /// The type of what is thrown.
    exception: Type,
    /// The functions that were added, by name; nothing of those that are being made.
    added: BTreeMap<Name, Option<Function<BBCode>>>,
    /// By position of what they are variants of; those that are being made, too.
    variants: HashMap<usize, (Name, Type)>,
    /// The positions of these, in the order in which they were begun.
    begun: Vec<usize>,
    /// Why there is no variant of the functions at these positions.
    refused: HashMap<usize, PassError>,
    /// By what they try.
    probes: HashMap<String, Name>,
}

impl<'m> Lowering<'m> {
    fn new(module: &'m Module<BBCode>, functions: &[Name]) -> Self {
        let asks =
            |function: &Function<BBCode>| has_handlers(&function.body) && asks_for_exceptions(module, &function.body);
        let roots = functions.iter().filter_map(|name| module.function_index(name));
        let reachable = CallGraph::new(module).reachable(roots);
        let mut reached = reachable.iter().filter_map(|position| module.functions().get(*position));
        let carries = reached.clone().any(asks);
        // All that Julia's library throws is of this type, whose values have no tangent; so is what is of unknown type, as far as anybody knows.
        let exception = Type::named("Exception");
        let exception = match reached.any(|function| throwing::throws_other(module, &function.body, &exception)) {
            true => Type::Any,
            false => exception,
        };
        let throwing = Throwing::of(module);
        Lowering {
            module,
            throwing,
            carries,
            exception,
            added: BTreeMap::new(),
            variants: HashMap::new(),
            begun: Vec::new(),
            refused: HashMap::new(),
            probes: HashMap::new(),
        }
    }

    /// The variant that returns the exceptions of the function at this position, and the type of the function's result.
    fn variant(&mut self, position: usize) -> Result<(Name, Type), PassError> {
        if let Some(known) = self.variants.get(&position) {
            return Ok(known.clone());
        }
        if let Some(known) = self.refused.get(&position) {
            return Err(known.clone());
        }
        let begun = self.begun.len();
        self.make_variant(position).inspect_err(|error| {
            // Those that were made meanwhile may call it.
            for position in self.begun.split_off(begun) {
                self.added.extend(self.variants.remove(&position).map(|(name, _)| (name, None)));
            }
            self.refused.insert(position, error.clone());
        })
    }

    fn make_variant(&mut self, position: usize) -> Result<(Name, Type), PassError> {
        let module = self.module;
        let Some(function) = module.functions().get(position) else {
            return Err(PassError::new(NAME, &"the module".into(), format!("there is no function {position}")));
        };
        let name = self.free_name(&format!("{}_or_thrown", base_name(&function.name)));
        let result = match &function.result {
            Type::Untyped => Type::Any,
            ty => ty.clone(),
        };
        self.variants.insert(position, (name.clone(), result.clone()));
        self.begun.push(position);
        self.added.insert(name.clone(), None);
        let mut body = rewrite(self, &function.name, &function.body, Some(result.clone()))?;
        if let Some(own) = body.argtypes.first_mut().filter(|own| matches!(own, Type::Function(_))) {
            *own = Type::function(name.clone());
        }
        let variant = Function {
            name: name.clone(),
            parameters: function.parameters.clone(),
            varargs: function.varargs,
            result: self.outcome(&result),
            body,
        };
        self.add(variant);
        Ok((name, result))
    }

    fn add(&mut self, function: Function<BBCode>) {
        self.added.insert(function.name.clone(), Some(function));
    }

    /// What a call gives that says whether it threw.
    fn outcome(&self, result: &Type) -> Type {
        let mut parts = vec![Type::BOOL, self.standing_in(result).0];
        if self.carries {
            parts.push(self.carried());
        }
        Type::tuple(parts)
    }

    /// The type of the part of an outcome that holds an exception.
    fn carried(&self) -> Type {
        Type::union([Type::Nothing, self.exception.clone()])
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

    fn free_name(&self, wanted: &str) -> Name {
        let is_taken = |name: &str| self.module.function(name).is_some() || self.added.contains_key(name);
        let numbered = (2..).map(|number| format!("{wanted}{number}"));
        let mut names = std::iter::once(wanted.to_string()).chain(numbered);
        names.find(|name| !is_taken(name)).unwrap_or_default().into()
    }
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
