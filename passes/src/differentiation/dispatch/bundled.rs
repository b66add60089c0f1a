//! Which functions the parts of bundles may be.

use bbcode::{BBCode, Ids};
use hashbrown::HashSet;
use ircode::{Callee, Module, Operand, Type};

use super::looked_up::definition;

/// The parts of the bundles of a module: originals, JVPs and VJPs.
#[derive(Default)]
pub(super) struct Bundled {
    /// Functions of the module and primitives by name, how many values closures of them capture, and which part these
    /// are.
    seen: HashSet<(Name, usize, usize)>,
    /// Whether there may be others, too.
    open: [bool; 3],
}

/// A function by its position or a primitive by its name.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Name {
    Function(usize),
    Primitive(&'static str),
}

fn name_of(module: &Module<BBCode>, operand: &Operand<Ids>) -> Option<Name> {
    match module.callee(operand)? {
        Callee::Function(position) => Some(Name::Function(position)),
        Callee::Primitive(primitive) => Some(Name::Primitive(primitive.name)),
        Callee::Type(_) | Callee::Unknown(_) => None,
    }
}

/// Which part of a bundle a value is, if it is seen to be taken out of one.
pub(super) fn part_of_bundle(module: &Module<BBCode>, bb: &BBCode, value: &Operand<Ids>) -> Option<usize> {
    match module.primitive_call(definition(bb, value)?)?.0.name {
        "original_of" => Some(0),
        "jvp_of" => Some(1),
        "vjp_of" => Some(2),
        _ => None,
    }
}

impl Bundled {
    /// Adds the parts of the bundle that this primitive makes of these operands.
    pub(super) fn add(&mut self, module: &Module<BBCode>, bb: &BBCode, primitive: &str, args: &[Operand<Ids>]) {
        let count = if primitive == "differentiable_function" { 1 } else { 3 };
        for (part, operand) in args.iter().take(count).enumerate() {
            // What is the same part of another bundle is found there.
            if part_of_bundle(module, bb, operand) == Some(part) {
                continue;
            }
            let made = definition(bb, operand).and_then(|stmt| module.primitive_call(stmt));
            let function = match (operand, made) {
                (_, Some((primitive, [function, captured @ ..]))) if primitive.name == "partial_apply" => {
                    name_of(module, function).map(|name| (name, captured.len()))
                }
                (Operand::Value(_) | Operand::Argument(_), _) => None,
                (function, _) => name_of(module, function).map(|name| (name, 0)),
            };
            match (function, self.open.get_mut(part)) {
                (Some((name, captured)), _) => {
                    self.seen.insert((name, captured, part));
                }
                (None, Some(open)) => *open = true,
                (None, None) => {}
            }
        }
    }

    /// Bundles may come from who calls these functions.
    pub(super) fn take_from_outside(&mut self, module: &Module<BBCode>, roots: &[usize]) {
        let may_hold = |ty: &Type| {
            let is_open = |ty: &Type| ty.is_unknown() || matches!(ty, Type::Named(_) | Type::DifferentiableFunction(_));
            ty.members().iter().any(|ty| is_open(ty) || ty.to_string().contains("DifferentiableFunction"))
        };
        let functions = roots.iter().filter_map(|&root| module.functions().get(root));
        if functions.flat_map(|function| function.body.argtypes.iter().skip(1)).any(may_hold) {
            self.open = [true; 3];
        }
    }

    /// Which parts of bundles a function may be, as a closure that captures so many values.
    pub(super) fn parts(&self, module: &Module<BBCode>, function: &Operand<Ids>, captured: Option<usize>) -> [bool; 3] {
        let mut parts = self.open;
        let Some((name, captured)) = name_of(module, function).zip(captured) else { return parts };
        for (index, part) in parts.iter_mut().enumerate() {
            *part |= self.seen.contains(&(name.clone(), captured, index));
        }
        parts
    }
}
