//! Calls what a closure applies, where the closure is seen to be made.

use bbcode::{BBCode, EditError, Ids, InstId};
use ircode::{Constant, LineInfo, Module, NewInstruction, Operand, PhiEntry, PhiNode, Stmt};
use slotmap::SecondaryMap;

use crate::manager::Context;
use crate::replace::Replacements;
use crate::{PassError, PassResult};

/// The pass's name on the command line.
pub const NAME: &str = "closure-folding";

/// Replaces the application of a closure that `partial_apply` makes in the same function by a call of its function with
/// what it captures behind the arguments, `captured` by what is captured, `applies` by the answer, and parts of bundles
/// that are seen to be made by what was bundled. Copies and π on the way are looked through, and φs where closures of
/// one function meet: what these capture meets in φs of its own. True if there was one. The closure itself stays until
/// `dead-code` finds that nobody uses it.
///
/// A call with another number of arguments than the function takes stays, as it is an error when the program runs. So
/// does the application of a φ that meets itself around a loop. Linear in the function and in the φs that are made.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut changed = false;
    // What is taken out of a bundle may be applied, or be a bundle.
    for _ in 0..ROUNDS {
        if !fold(bb, context)? {
            break;
        }
        changed = true;
    }
    Ok(changed)
}

/// How often a function is gone over at most: bundles nest no deeper in practice.
const ROUNDS: usize = 4;

fn fold(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let mut closures = Closures::find(bb, context.module);
    if closures.made.is_empty() && closures.bundles.is_empty() {
        return Ok(false);
    }
    let error = |error: EditError| PassError::because(NAME, context.function, error);
    let mut changed = false;
    let mut replaced = Replacements::new();
    let mut answered: Vec<InstId> = Vec::new();
    let ids: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
    for id in ids {
        let Some(folded) = bb.stmt(id).and_then(|stmt| closures.folded(bb, context.module, stmt)) else { continue };
        let value = match folded {
            Folded::Call { closure, function, args } => {
                let captured = closures.captured(bb, context.module, closure).map_err(error)?;
                bb.replace(id, Stmt::call(function, args.into_iter().chain(captured))).map_err(error)?;
                changed = true;
                continue;
            }
            Folded::Captured { closure, index } => {
                closures.captured(bb, context.module, closure).map_err(error)?.get(index).cloned()
            }
            Folded::Function(function) => {
                let closure = Stmt::call(Operand::global("BBKit", "partial_apply"), [function]);
                bb.replace(id, closure).map_err(error)?;
                changed = true;
                continue;
            }
            Folded::Value(value) => Some(value),
            Folded::Answer(same) => Some(Operand::Constant(Constant::bool(same))),
        };
        if let Some(value) = value {
            replaced.insert(id, value);
            answered.push(id);
        }
    }
    replaced.apply(bb);
    for &id in &answered {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(id);
    }
    bb.fill_empty_blocks();
    Ok(changed || !answered.is_empty())
}

/// A closure that is seen to be made.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    /// What names the function.
    pub(crate) function: Operand<Ids>,
    /// The values of the function's last parameters.
    pub(crate) captured: Vec<Operand<Ids>>,
}

/// The closure that a statement makes.
pub(crate) fn made_closure(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Closure> {
    let (primitive, args) = module.primitive_call(stmt)?;
    let [function, captured @ ..] = args else { return None };
    (primitive.name == "partial_apply").then(|| Closure { function: function.clone(), captured: captured.to_vec() })
}

/// The parts of the bundle that a statement makes: the original, and the derivatives if they are there.
fn made_bundle(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Vec<Operand<Ids>>> {
    let (primitive, args) = module.primitive_call(stmt)?;
    let count = match primitive.name {
        "differentiable_function" => 1,
        "differentiable_function_with" => 3,
        _ => return None,
    };
    args.get(..count).map(<[_]>::to_vec)
}

/// Where closures of one function meet.
struct Joined {
    function: Operand<Ids>,
    count: usize,
    /// The φs of what they capture, once they are made.
    parts: Option<Vec<Operand<Ids>>>,
}

/// The closures of a function, by the statements that give them.
struct Closures {
    made: SecondaryMap<InstId, Closure>,
    joined: SecondaryMap<InstId, Joined>,
    /// The parts of bundles: the original, the JVP and the VJP, as far as they are there.
    bundles: SecondaryMap<InstId, Vec<Operand<Ids>>>,
}

enum Folded {
    Call {
        closure: InstId,
        function: Operand<Ids>,
        args: Vec<Operand<Ids>>,
    },
    Captured {
        closure: InstId,
        index: usize,
    },
    Answer(bool),
    Value(Operand<Ids>),
    /// A closure of a function that captures nothing.
    Function(Operand<Ids>),
}

impl Closures {
    fn find(bb: &BBCode, module: &Module<BBCode>) -> Closures {
        let made = bb.all_insts().filter_map(|(id, inst)| Some((id, made_closure(module, &inst.stmt)?))).collect();
        let bundles = bb.all_insts().filter_map(|(id, inst)| Some((id, made_bundle(module, &inst.stmt)?))).collect();
        let mut closures = Closures { made, joined: SecondaryMap::new(), bundles };
        if closures.made.is_empty() {
            return closures;
        }
        let graph = bb.cfg();
        let mut order = graph.graph().postorder();
        order.reverse();
        for block in order.into_iter().filter_map(|number| graph.block(number)) {
            for (id, inst) in bb.phi_nodes(block) {
                if let Stmt::Phi(phi) = &inst.stmt
                    && let Some(joined) = closures.join(bb, module, phi)
                {
                    closures.joined.insert(id, joined);
                }
            }
        }
        closures
    }

    /// What a φ brings together, if it is closures of one function, or nothing on some edges.
    fn join(&self, bb: &BBCode, module: &Module<BBCode>, phi: &PhiNode<Ids>) -> Option<Joined> {
        let mut found: Option<(Operand<Ids>, usize)> = None;
        for value in phi.entries.iter().filter_map(|entry| entry.value.as_ref()) {
            let (function, count) = self.shape(self.root(bb, value)?)?;
            match &found {
                None => found = Some((function.clone(), count)),
                Some((known, known_count)) => {
                    (*known_count == count && same_function(module, known, function)?).then_some(())?;
                }
            }
        }
        // An undefined closure cannot be called; that must still be seen, and is by what it would have captured.
        let (function, count) = found?;
        let defined = phi.entries.iter().all(|entry| entry.value.is_some());
        (defined || count > 0).then_some(Joined { function, count, parts: None })
    }

    /// The statement that gives the closure that an operand is, over copies and π.
    fn root(&self, bb: &BBCode, operand: &Operand<Ids>) -> Option<InstId> {
        let mut at = operand.as_value()?;
        // Copies of copies, up to a limit: a cycle of copies can stand in code that is not reached.
        for _ in 0..64 {
            if self.made.contains_key(at) || self.joined.contains_key(at) {
                return Some(at);
            }
            at = match bb.stmt(at)? {
                Stmt::Value(Operand::Value(of)) => *of,
                Stmt::Pi(pi) => pi.value.as_value()?,
                _ => return None,
            };
        }
        None
    }

    /// The function that the closure of a root applies, and how many values it captures.
    fn shape(&self, root: InstId) -> Option<(&Operand<Ids>, usize)> {
        match (self.made.get(root), self.joined.get(root)) {
            (Some(made), _) => Some((&made.function, made.captured.len())),
            (None, Some(joined)) => Some((&joined.function, joined.count)),
            (None, None) => None,
        }
    }

    /// What the closure of a root captures. The φs are made where there are none yet.
    fn captured(
        &mut self,
        bb: &mut BBCode,
        module: &Module<BBCode>,
        root: InstId,
    ) -> Result<Vec<Operand<Ids>>, EditError> {
        let mut work = vec![root];
        let mut to_fill = Vec::new();
        while let Some(id) = work.pop() {
            let Some(joined) = self.joined.get_mut(id).filter(|joined| joined.parts.is_none()) else { continue };
            let types = module.parameters_of(&joined.function).unwrap_or_default();
            let types = types.into_iter().rev().take(joined.count).collect::<Vec<_>>();
            let line = bb.inst(id).map_or(LineInfo::NONE, |inst| inst.line);
            let mut parts = Vec::with_capacity(joined.count);
            for ty in types.into_iter().rev() {
                let phi = NewInstruction::new(Stmt::phi(std::iter::empty()), ty).with_line(line);
                parts.push(Operand::Value(bb.insert_before(id, phi)?));
            }
            joined.parts = Some(parts);
            to_fill.push(id);
            if let Some(Stmt::Phi(phi)) = bb.stmt(id) {
                let values = phi.entries.iter().filter_map(|entry| entry.value.as_ref());
                work.extend(values.filter_map(|value| self.root(bb, value)));
            }
        }
        for id in to_fill {
            let Some(Stmt::Phi(phi)) = bb.stmt(id).cloned() else { continue };
            let parts = self.joined.get(id).and_then(|joined| joined.parts.clone()).unwrap_or_default();
            for (index, part) in parts.iter().enumerate() {
                let entry = |entry: &PhiEntry<Ids>| {
                    let of = entry.value.as_ref().and_then(|value| self.root(bb, value));
                    PhiEntry { edge: entry.edge, value: of.and_then(|of| self.known(of).get(index).cloned()) }
                };
                let entries: Vec<PhiEntry<Ids>> = phi.entries.iter().map(entry).collect();
                if let Some(Stmt::Phi(phi)) =
                    part.as_value().and_then(|part| bb.inst_mut(part)).map(|inst| &mut inst.stmt)
                {
                    phi.entries = entries.into();
                }
            }
        }
        Ok(self.known(root).to_vec())
    }

    /// What the closure of a root captures, as far as its φs are made.
    fn known(&self, root: InstId) -> &[Operand<Ids>] {
        match (self.made.get(root), self.joined.get(root)) {
            (Some(made), _) => &made.captured,
            (None, joined) => joined.and_then(|joined| joined.parts.as_deref()).unwrap_or_default(),
        }
    }

    /// The part of a bundle that a statement takes out, if that is seen to be made.
    fn part(&self, bb: &BBCode, primitive: &str, args: &[Operand<Ids>]) -> Option<Folded> {
        let index = match primitive {
            "original_of" => 0,
            // With numbers they may be exceptions.
            "jvp_of" if args.len() == 1 => 1,
            "vjp_of" if args.len() == 1 => 2,
            _ => return None,
        };
        let mut at = args.first()?.as_value()?;
        for _ in 0..64 {
            if let Some(parts) = self.bundles.get(at) {
                return Some(match parts.get(index)? {
                    part @ (Operand::Value(_) | Operand::Argument(_)) => Folded::Value(part.clone()),
                    function => Folded::Function(function.clone()),
                });
            }
            at = match bb.stmt(at)? {
                Stmt::Value(Operand::Value(of)) => *of,
                Stmt::Pi(pi) => pi.value.as_value()?,
                _ => return None,
            };
        }
        None
    }

    fn folded(&self, bb: &BBCode, module: &Module<BBCode>, stmt: &Stmt<Ids>) -> Option<Folded> {
        let (callee, args) = stmt.as_call()?;
        if let Some(closure) = self.root(bb, callee) {
            let (function, count) = self.shape(closure)?;
            let takes = module.parameters_of(function)?.len();
            let (function, args) = (function.clone(), args.to_vec());
            return (args.len() + count == takes).then_some(Folded::Call { closure, function, args });
        }
        let (primitive, args) = module.primitive_call(stmt)?;
        let (closure, asked) = match (primitive.name, args) {
            ("original_of" | "jvp_of" | "vjp_of", args) => return self.part(bb, primitive.name, args),
            ("applies" | "captured", [closure, asked, ..]) => (self.root(bb, closure)?, asked),
            _ => return None,
        };
        let (function, count) = self.shape(closure)?;
        let same = same_function(module, function, asked)?;
        match args.get(2) {
            None => Some(Folded::Answer(same)),
            Some(number) if same => {
                let index = usize::try_from(number.as_constant()?.as_scalar()?.to_i128()).ok()?.checked_sub(1)?;
                (index < count).then_some(Folded::Captured { closure, index })
            }
            Some(_) => None,
        }
    }
}

/// Whether two operands name the same function; `None` if one names none.
pub(crate) fn same_function(module: &Module<BBCode>, a: &Operand<Ids>, b: &Operand<Ids>) -> Option<bool> {
    use ircode::Callee;
    Some(match (module.callee(a)?, module.callee(b)?) {
        (Callee::Function(a), Callee::Function(b)) => a == b,
        (Callee::Primitive(a), Callee::Primitive(b)) => a.name == b.name,
        (Callee::Function(_), Callee::Primitive(_)) | (Callee::Primitive(_), Callee::Function(_)) => false,
        _ => return None,
    })
}
