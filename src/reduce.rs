//! Shrinking a program as long as something holds of it.

mod attributes;
mod blocks;
mod branches;
mod constants;
mod functions;
mod operands;
mod phis;
mod statements;

use std::hash::{DefaultHasher, Hash, Hasher};

use bbcode::{BBCode, BlockId, ConversionError, InstId};
use ircode::{
    Constant, Function, IRCode, Module, Name, Operand, Positions, Scalar, Stmt, Style, TableViolations, Type,
    Violations, print_module, verify_tables,
};

use crate::{to_bbcode, to_ircode};

/// How far shrinking has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReduceProgress {
    /// The step that made the program smaller.
    pub step: &'static str,
    /// How many programs have been looked at.
    pub tests: usize,
    /// How many functions there are.
    pub functions: usize,
    /// How many statements they have.
    pub statements: usize,
}

/// What is shrunk, and within which limits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReduceOptions {
    /// Shrink this function only, and keep the others and all types as they are.
    pub only: Option<Name>,
    /// Try programs, too, that the verifier refuses.
    pub allow_invalid: bool,
}

/// Why a program cannot be made smaller at all.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// The predicate does not find the program interesting as it is given.
    #[error("the program is not interesting as it is")]
    NotInteresting,
    /// [`ReduceOptions::only`] names a function that the program does not have.
    #[error("there is no function `{0}`")]
    NoSuchFunction(Name),
    /// The verifier refuses a function of the program, and [`ReduceOptions::allow_invalid`] is not set.
    #[error("`{function}` is not valid: {violations}")]
    Invalid {
        /// The function.
        function: Name,
        /// What is wrong with it.
        violations: Violations<Positions>,
    },
    /// The verifier refuses the tables of the program.
    #[error(transparent)]
    Tables(#[from] TableViolations),
    /// The program names what does not exist.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
}

/// Makes a program smaller as long as it is interesting.
///
/// This is delta debugging on the code itself (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
/// Input", 2002; on code, C-Reduce's passes, Regehr and others, 2012): steps from coarse to fine — functions, branches,
/// blocks, statements, operands, constants, φs, arguments, attributes — each over halved and halved parts of what it
/// could change, until no step changes anything. The steps edit BBCode, whose names stay, so that what is left to be
/// tried survives what was done. `interesting` sees only programs that the verifier accepts; what it accepted last is
/// the result. It must give the same answer each time; then the result is the same each time, too.
///
/// Types need not be right in what comes out: the verifier does not look at them.
///
/// ```
/// use ircode::{Style, parse_module, print_module};
///
/// let module = parse_module("
/// function f(x::Float64, n::Int64)::Float64
/// 1 ─ %1 = Base.slt_int(n, 3)::Bool
/// └──      goto #3 if not %1
/// 2 ─ %3 = Base.mul_float(x, x)::Float64
/// │   %4 = Main.strange(%3, n)::Float64
/// └──      return %4
/// 3 ─      return x
/// end
/// ")?.module;
/// let strange = |module: &ircode::Module<ircode::IRCode>| print_module(module, Style::Julia).contains("strange");
/// let reduced = bbkit::reduce(&module, &mut { strange }, &mut |_| {})?;
/// assert_eq!(print_module(&reduced, Style::Julia), "\
/// function f()::Float64
/// 1 ─     Main.strange(0.0, 0)::Float64
/// └──     return 0.0
/// end
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`ReduceError`] if there is nothing to begin with: the program as it is given is not interesting, or not valid.
pub fn reduce(
    module: &Module<IRCode>,
    interesting: &mut dyn FnMut(&Module<IRCode>) -> bool,
    progress: &mut dyn FnMut(ReduceProgress),
) -> Result<Module<IRCode>, ReduceError> {
    reduce_with(module, &ReduceOptions::default(), interesting, progress)
}

/// As [`reduce`], with options.
///
/// # Errors
///
/// [`ReduceError`].
pub fn reduce_with(
    module: &Module<IRCode>,
    options: &ReduceOptions,
    interesting: &mut dyn FnMut(&Module<IRCode>) -> bool,
    progress: &mut dyn FnMut(ReduceProgress),
) -> Result<Module<IRCode>, ReduceError> {
    if let Some(missing) = options.only.as_ref().filter(|only| module.function(only).is_none()) {
        return Err(ReduceError::NoSuchFunction(missing.clone()));
    }
    if !options.allow_invalid {
        verified(module)?;
    }
    let mut state = to_bbcode(module)?;
    let mut best = module.clone();
    let mut tests = 0;
    if !interesting(module) {
        return Err(ReduceError::NotInteresting);
    }
    let mut seen = vec![fingerprint(module)];
    // Every step makes the program smaller in a measure that cannot fall for ever; this is against mistakes.
    for _ in 0..MOST_ROUNDS {
        let mut reducer = Reducer { state, best, options, interesting, progress, tests, step: "", changed: false };
        for (name, step) in STEPS {
            reducer.step = name;
            step(&mut reducer);
        }
        let changed = reducer.changed;
        (best, tests) = (reducer.best, reducer.tests);
        // What conversion adds, as a block for a goto, may bring back what was there a round before.
        let fingerprint = fingerprint(&best);
        if !changed || seen.contains(&fingerprint) {
            break;
        }
        seen.push(fingerprint);
        // Numbered anew: what was removed takes no place any more.
        match to_bbcode(&best) {
            Ok(renumbered) => state = renumbered,
            Err(_) => break,
        }
    }
    Ok(best)
}

const MOST_ROUNDS: usize = 100;

/// Makes a program smaller in one manner.
type Step = fn(&mut Reducer<'_>);

/// The steps, from coarse to fine.
const STEPS: &[(&str, Step)] = &[
    ("functions", functions::functions),
    ("types", functions::types),
    ("branches", branches::run),
    ("blocks", blocks::run),
    ("returns", branches::returns),
    ("statements", statements::run),
    ("operands", operands::run),
    ("constants", constants::run),
    ("phis", phis::run),
    ("arguments", functions::arguments),
    ("attributes", attributes::run),
];

/// A program that is being made smaller.
pub(crate) struct Reducer<'r> {
    /// The smallest interesting program so far.
    state: Module<BBCode>,
    /// The same as it was shown to the predicate.
    best: Module<IRCode>,
    options: &'r ReduceOptions,
    interesting: &'r mut dyn FnMut(&Module<IRCode>) -> bool,
    progress: &'r mut dyn FnMut(ReduceProgress),
    tests: usize,
    step: &'static str,
    /// Whether the program became smaller in this round.
    changed: bool,
}

impl Reducer<'_> {
    /// The names of the functions that may be changed.
    fn functions(&self) -> Vec<Name> {
        let names = self.state.functions().iter().map(|function| function.name.clone());
        names.filter(|name| self.options.only.as_ref().is_none_or(|only| only == name)).collect()
    }

    /// Every statement of the functions that may be changed.
    fn statements(&self) -> Vec<(Name, InstId)> {
        let names = self.functions();
        let bodies = names.iter().filter_map(|name| Some((name, &self.state.function(name)?.body)));
        bodies.flat_map(|(name, body)| body.all_insts().map(|(id, _)| (name.clone(), id))).collect()
    }

    /// Every block of the functions that may be changed.
    fn blocks(&self) -> Vec<(Name, BlockId)> {
        let names = self.functions();
        let bodies = names.iter().filter_map(|name| Some((name, &self.state.function(name)?.body)));
        bodies.flat_map(|(name, body)| body.blocks().map(|block| (name.clone(), block))).collect()
    }

    /// Takes a candidate if it is interesting.
    fn try_module(&mut self, candidate: Module<BBCode>) -> bool {
        // Without a function there is no program.
        let is_program = !candidate.functions().is_empty();
        if !is_program || !(self.options.allow_invalid || is_valid(&candidate)) {
            return false;
        }
        let Ok(shown) = to_ircode(&candidate) else { return false };
        if shown == self.best {
            return false;
        }
        self.tests += 1;
        if !(self.interesting)(&shown) {
            return false;
        }
        (self.state, self.best, self.changed) = (candidate, shown, true);
        (self.progress)(ReduceProgress {
            step: self.step,
            tests: self.tests,
            functions: self.state.functions().len(),
            statements: self.state.functions().iter().map(|function| function.body.inst_count()).sum(),
        });
        true
    }

    /// Tries to change all items at once, then halves of them, and so on down to each by itself. `change` makes the
    /// change for one item, which may not be there any more; false if there is nothing to change. An item is not tried
    /// again once its change was made. Whether one was.
    fn each<T: Clone>(&mut self, items: Vec<T>, change: impl Fn(&mut Module<BBCode>, &T) -> bool) -> bool {
        self.each_part(items, |state, part| {
            let mut candidate = state.clone();
            let mut changed = false;
            for item in part {
                changed |= change(&mut candidate, item);
            }
            changed.then_some(candidate)
        })
    }

    /// As [`Reducer::each`], for changes that are made to many items together. `None` if there is nothing to change.
    fn each_part<T: Clone>(
        &mut self,
        mut items: Vec<T>,
        change: impl Fn(&Module<BBCode>, &[T]) -> Option<Module<BBCode>>,
    ) -> bool {
        let (mut size, mut made) = (items.len(), false);
        while !items.is_empty() {
            let mut left = Vec::new();
            for part in items.chunks(size) {
                let Some(mut candidate) = change(&self.state, part) else { continue };
                tidy(&mut candidate, self.options.only.as_ref());
                match self.try_module(candidate) {
                    true => made = true,
                    false => left.extend_from_slice(part),
                }
            }
            if size == 1 {
                break;
            }
            items = left;
            size = size.div_ceil(2).min(items.len().max(1));
        }
        made
    }
}

/// A number that programs of different texts hardly have in common.
fn fingerprint(module: &Module<IRCode>) -> u64 {
    let mut hasher = DefaultHasher::new();
    print_module(module, Style::Bbkit).hash(&mut hasher);
    hasher.finish()
}

/// Holds the program as it is given against the verifier.
fn verified(module: &Module<IRCode>) -> Result<(), ReduceError> {
    for Function { name, body, .. } in module.functions() {
        body.verify().map_err(|violations| ReduceError::Invalid { function: name.clone(), violations })?;
    }
    Ok(verify_tables(module, |body| &body.argtypes)?)
}

fn is_valid(module: &Module<BBCode>) -> bool {
    module.functions().iter().all(|function| function.body.verify().is_ok())
        && verify_tables(module, |body| &body.argtypes).is_ok()
}

/// Removes what is not reached any more, and fills blocks without statements, which text cannot show.
fn tidy(module: &mut Module<BBCode>, only: Option<&Name>) {
    let names: Vec<Name> = module.functions().iter().map(|function| function.name.clone()).collect();
    for name in names.iter().filter(|name| only.is_none_or(|only| only == *name)) {
        let Some(body) = module.body_mut(name) else { continue };
        body.remove_unreachable_blocks();
        body.fill_empty_blocks();
    }
}

/// The simplest constant of a type; `nothing` for a type of which nothing is known.
fn simplest<N: ircode::Names>(ty: &Type) -> Option<Operand<N>> {
    let constant = match ty {
        Type::Scalar(ty) => Constant::Scalar(Scalar::from_bits(*ty, 0)),
        Type::Nothing | Type::Any | Type::Untyped => Constant::Nothing,
        Type::String => Constant::String("".into()),
        Type::Tuple(elements) if elements.is_empty() => Constant::Tuple(Vec::new().into()),
        Type::Union(members) => return members.iter().find_map(simplest),
        _ => return None,
    };
    Some(Operand::Constant(constant))
}

/// The first argument of a type, the function itself excluded.
fn argument_of_type(bb: &BBCode, ty: &Type) -> Option<Operand<bbcode::Ids>> {
    let index = bb.argtypes.iter().skip(1).position(|of| of == ty)? + 1;
    Some(ircode::Argument::from_index(index).into())
}

/// Lets φs of `block` take nothing from `from` any more, if no edge leads there.
fn forget_edge(bb: &mut BBCode, from: BlockId, block: BlockId) {
    if bb.successors(from).contains(&block) {
        return;
    }
    let phis: Vec<InstId> = bb.phi_nodes(block).map(|(id, _)| id).collect();
    for phi in phis {
        if let Some(Stmt::Phi(phi)) = bb.stmt_mut(phi) {
            phi.entries.retain(|entry| entry.edge != from);
        }
    }
}
