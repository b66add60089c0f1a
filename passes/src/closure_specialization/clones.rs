//! Clones of functions that take what closures capture in the place of the closures.

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::{Argument, Callee, Function, Module, Name, NewInstruction, Operand, Stmt, Type};

use super::things::{Shape, Things};

/// What becomes of a parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Way {
    /// It stays.
    Kept,
    /// It is a closure: the values that it captures come behind the other parameters.
    Closure {
        /// What it is a closure of.
        of: Target,
        /// How many values it captures.
        captured: usize,
    },
    /// It is the same closure as another parameter.
    Same(usize),
    /// It is an enum or a stack, and becomes one without closures.
    Recast(Shape),
}

/// What a closure applies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Target {
    /// The function of the module at this position.
    Function(usize),
    /// A primitive, by its name.
    Primitive(&'static str),
}

impl Target {
    /// What an operand names.
    pub(super) fn of(module: &Module<BBCode>, operand: &Operand<Ids>) -> Option<Target> {
        match module.callee(operand)? {
            Callee::Function(index) => Some(Target::Function(index)),
            Callee::Primitive(primitive) => Some(Target::Primitive(primitive.name)),
            Callee::Type(_) | Callee::Unknown(_) => None,
        }
    }

    /// Its name.
    pub(super) fn name(self, module: &Module<BBCode>) -> Name {
        match self {
            Target::Function(index) => super::report::name(module, index),
            Target::Primitive(name) => name.into(),
        }
    }
}

/// A clone of a function, with the parameters that these ways leave, behind them what the closures capture. `operands`
/// are what names the functions of the closures, for each parameter that is one.
pub(super) fn specialized(
    module: &Module<BBCode>,
    things: &Things,
    function: &Function<BBCode>,
    ways: &[Way],
    operands: &[Option<Operand<Ids>>],
    name: Name,
) -> Result<Function<BBCode>, EditError> {
    let mut bb = function.body.clone();
    let old = bb.argtypes.clone();
    let mut argtypes: Vec<Type> = old.first().cloned().into_iter().collect();
    if let Some(own @ Type::Function(_)) = argtypes.first_mut() {
        *own = Type::function(name.clone());
    }
    // What becomes of the arguments; `_1` is the function itself.
    let mut becomes: Vec<Operand<Ids>> = vec![Operand::argument(1)];
    let mut parameters: Vec<Option<Name>> = Vec::new();
    for (index, way) in ways.iter().enumerate() {
        let old = old.get(index + 1).cloned().unwrap_or(Type::Untyped);
        let new = match way {
            Way::Kept => Some(old),
            Way::Recast(shape) => Some(things.left(module, shape, &old).unwrap_or(old)),
            Way::Closure { .. } | Way::Same(_) => None,
        };
        if let Some(new) = new {
            argtypes.push(new);
            parameters.push(function.parameters.get(index).cloned().flatten());
        }
        becomes.push(last_argument(&argtypes));
    }
    let mut made: Vec<(InstId, Stmt<Ids>)> = Vec::new();
    let entry = bb.entry();
    for ((index, way), operand) in ways.iter().enumerate().zip(operands) {
        let (Way::Closure { captured, .. }, Some(operand)) = (way, operand) else { continue };
        let types = module.captured_types(operand, *captured).unwrap_or_default();
        let mut call = vec![operand.clone()];
        for ty in types {
            argtypes.push(ty);
            parameters.push(None);
            call.push(last_argument(&argtypes));
        }
        let ty = module.closure_type(operand, *captured).unwrap_or(Type::Any);
        // What it captures are new arguments, whose numbers may be old ones: it is written once the old ones are gone.
        let id = match (made.last(), entry) {
            (Some((last, _)), _) => bb.insert_after(*last, NewInstruction::new(Stmt::nothing(), ty))?,
            (None, Some(entry)) => bb.insert_at_start(entry, NewInstruction::new(Stmt::nothing(), ty))?,
            (None, None) => continue,
        };
        made.push((id, Stmt::call(Operand::global("BBKit", "partial_apply"), call)));
        if let Some(closure) = becomes.get_mut(index + 1) {
            *closure = Operand::Value(id);
        }
    }
    for (index, way) in ways.iter().enumerate() {
        if let Way::Same(other) = way {
            becomes[index + 1] = becomes[other + 1].clone();
        }
    }
    bb.argtypes = argtypes;
    bb.for_each_operand_mut(|operand| {
        if let Operand::Argument(argument) = operand
            && let Some(new) = argument.index().and_then(|index| becomes.get(index))
        {
            *operand = new.clone();
        }
    });
    for (id, stmt) in made {
        bb.replace(id, stmt)?;
    }
    Ok(Function { name, parameters, varargs: false, result: function.result.clone(), body: bb })
}

fn last_argument(argtypes: &[Type]) -> Operand<Ids> {
    Operand::Argument(Argument::from_index(argtypes.len().saturating_sub(1)))
}
