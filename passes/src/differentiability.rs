//! Differentiable functions as values: every bundle and every differentiability witness of a module gets its
//! derivatives.
//!
//! After the differentiation transform of Swift: witnesses that leave a derivative open are filled in by reverse mode
//! (with the carrier of linear maps) and forward mode. A bundle `differentiable_function(f, numbers…)` becomes
//! `differentiable_function_with(f, jvp, vjp, numbers…)`: of the witnesses of the function that `f` is, the one for the
//! smallest superset of the parameters gives the derivatives, through a thunk if it is a strict one; where there is
//! none, one is added to the module. What a closure captures is not differentiated with respect to, and stands last in
//! thunks.

mod original;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::{HashMap, HashSet};
use ircode::wording::with_article;
use ircode::{
    Callee, Constant, Declaration, DerivativeKind, DifferentiabilityWitness, Module, Name, NewInstruction, Operand,
    Stmt, Type,
};

use self::original::{Original, original};
use crate::differentiation::witnesses::{given_derivative, minimal_superset, parameters_of};
use crate::manager::PassResult;
use crate::tangents::TangentTypes;
use crate::{PassError, PassErrorKind, forward_mode, reverse_mode};

/// The pass's name on the command line.
pub const NAME: &str = "differentiability";

/// Fills in all witnesses and bundles of a module.
///
/// # Errors
///
/// That of [`canonicalize`]; of several, one that tells of all.
pub fn run(module: &mut Module<BBCode>, _: Option<&Name>) -> PassResult {
    canonicalize(module).map_err(|mut errors| match errors.len() {
        1 => errors.remove(0),
        count => {
            let all: Vec<String> = errors.iter().map(PassError::to_string).collect();
            let message = format!("{count} derivatives cannot be made\n{}", all.join("\n"));
            PassError::new(NAME, &"the module".into(), message)
        }
    })
}

/// Fills in all witnesses and bundles of a module. True if there was one.
///
/// Functions that are called with what is differentiated get witnesses, too, if both of their derivatives were made for
/// that. Linear in the module for each level of bundles that stand in what is bundled, apart from the derivatives, each
/// of which is made once.
///
/// ```
/// use bbcode::BBCode;
///
/// let parsed = ircode::parse_module("
/// differentiability witness square wrt 2
/// end
///
/// function square(x::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// └──      return %1
/// end
/// ")?;
/// let mut module = parsed.module.map(|function| BBCode::try_from(&function.body))?;
/// assert_eq!(passes::differentiability::canonicalize(&mut module), Ok(true));
/// let witness = &module.differentiability_witnesses()[0];
/// assert_eq!(witness.vjp.as_ref().unwrap(), "square_vjp");
/// assert_eq!(witness.jvp.as_ref().unwrap(), "square_jvp");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// All that is not differentiable: a function that has no derivative, with the statement at which it fails, or a bundle
/// of which it is not seen which function it holds. The module is as it was then.
pub fn canonicalize(module: &mut Module<BBCode>) -> Result<bool, Vec<PassError>> {
    let mut work = module.clone();
    let mut changed = false;
    // Witnesses of what is called: nobody asked for the derivatives that these leave open.
    let mut unasked: HashSet<Name> = HashSet::new();
    loop {
        let (bundles, mut errors) = bundles(&work);
        register(&mut work, &bundles, &mut unasked).map_err(|error| vec![error])?;
        let waiting = waiting(&work, &bundles);
        let mut made =
            fill_in(&mut work, &mut unasked, &|function| !waiting.contains(&function)).unwrap_or_else(|more| {
                errors.extend(more);
                true
            });
        let count = bundles.len();
        let left = if errors.is_empty() { rewrite(&mut work, bundles).map_err(|error| vec![error])? } else { count };
        if !made && left == count {
            // What is left waits for itself, or there is nothing left.
            made = fill_in(&mut work, &mut unasked, &|_| true).unwrap_or_else(|more| {
                errors.extend(more);
                true
            });
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        if !made && left == count {
            break;
        }
        changed = true;
    }
    if changed {
        let is_complete = |witness: &DifferentiabilityWitness| witness.jvp.is_some() && witness.vjp.is_some();
        work.retain_differentiability_witnesses(|witness| is_complete(witness) || !unasked.contains(&witness.name()));
        *module = work;
    }
    Ok(changed)
}

/// The positions of the functions whose derivatives are made when the bundles are filled in that they make or take
/// apart, or that what they name does: of a call of the derivative of a bundle, the derivative is that of a function
/// that has to be there.
fn waiting(module: &Module<BBCode>, bundles: &[Bundle]) -> HashSet<usize> {
    let mut found: HashSet<usize> =
        bundles.iter().filter_map(|bundle| module.function_index(&bundle.function)).collect();
    if found.is_empty() {
        return found;
    }
    let mut named_by: Vec<Vec<usize>> = vec![Vec::new(); module.functions().len()];
    for (position, function) in module.functions().iter().enumerate() {
        for (_, inst) in function.body.all_insts() {
            let primitive = module.primitive_call(&inst.stmt).map(|(primitive, _)| primitive.name);
            if matches!(primitive, Some("jvp_of" | "vjp_of")) {
                found.insert(position);
            }
            inst.stmt.for_each_operand(&mut |operand| {
                let is_name = matches!(operand, Operand::Global(_) | Operand::Constant(Constant::Function(_)));
                if let Some(Callee::Function(named)) = module.callee(operand).filter(|_| is_name)
                    && let Some(by) = named_by.get_mut(named)
                {
                    by.push(position);
                }
            });
        }
    }
    let mut work: Vec<usize> = found.iter().copied().collect();
    while let Some(named) = work.pop() {
        let by = named_by.get(named).map(Vec::as_slice).unwrap_or_default();
        work.extend(by.iter().copied().filter(|by| found.insert(*by)));
    }
    found
}

/// A bundle without derivatives.
struct Bundle {
    function: Name,
    id: InstId,
    /// What is bundled, as it stands there.
    value: Operand<Ids>,
    original: Original,
    /// The numbers of the parameters with respect to which it is differentiated.
    wanted: Vec<u32>,
}

/// All bundles without derivatives, and what is wrong with others.
fn bundles(module: &Module<BBCode>) -> (Vec<Bundle>, Vec<PassError>) {
    let tangents = TangentTypes::new(module);
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for function in module.functions() {
        for (id, inst) in function.body.all_insts() {
            let Some((primitive, [value, numbers @ ..])) = module.primitive_call(&inst.stmt) else { continue };
            if primitive.name != "differentiable_function" {
                continue;
            }
            let bundle = original(module, &function.body, value).and_then(|original| {
                let wanted = wanted(module, &tangents, &original, numbers)?;
                Ok(Bundle { function: function.name.clone(), id, value: value.clone(), original, wanted })
            });
            match bundle {
                Ok(bundle) => found.push(bundle),
                Err((message, help)) => {
                    let error = PassError::new(NAME, &function.name, message).at(&function.body, id);
                    errors.push(match help {
                        Some(help) => error.with_help(help),
                        None => error,
                    });
                }
            }
        }
    }
    (found, errors)
}

/// What is wrong, and what would mend it.
type Problem = (String, Option<String>);

/// The parameters with respect to which a bundle is differentiated; without numbers all that have tangents.
fn wanted(
    module: &Module<BBCode>,
    tangents: &TangentTypes<'_, BBCode>,
    original: &Original,
    numbers: &[Operand<Ids>],
) -> Result<Vec<u32>, Problem> {
    let number = |operand: &Operand<Ids>| u32::try_from(operand.as_constant()?.as_scalar()?.to_i128()).ok();
    let numbers: Option<Vec<u32>> = numbers.iter().map(number).collect();
    let numbers = numbers.filter(|numbers| numbers.is_sorted_by(|a, b| a < b));
    let Some(numbers) = numbers else {
        return Err(("the parameters of a bundle are named by constant numbers in ascending order".into(), None));
    };
    let types: Vec<Type> = match original {
        Original::Function { position, captured } => {
            let types = module.functions().get(*position).map(|function| function.body.argtypes.clone());
            let mut types = types.unwrap_or_default();
            types.truncate(types.len().saturating_sub(captured.len()));
            types
        }
        Original::Bundle { parameters, .. } => std::iter::once(Type::Any).chain(parameters.iter().cloned()).collect(),
    };
    let has_tangent = |number: &u32| {
        let ty = number.checked_sub(1).and_then(|index| types.get(index as usize));
        *number > 1 && ty.is_some_and(|ty| !tangents.of(ty).is_none())
    };
    if let Some(wrong) = numbers.iter().find(|number| !has_tangent(number)) {
        let message = match types.get((*wrong as usize).saturating_sub(1)).filter(|_| *wrong > 1) {
            None => format!("there is no parameter _{wrong} to differentiate with respect to"),
            Some(ty) => {
                format!(
                    "the parameter _{wrong} is {}, with respect to which nothing can be differentiated",
                    ty.with_article()
                )
            }
        };
        return Err((message, None));
    }
    if !numbers.is_empty() {
        return Ok(numbers);
    }
    let all: Vec<u32> = (2..=types.len() as u32).filter(has_tangent).collect();
    match all.is_empty() {
        true => Err(("it has no parameter with respect to which it can be differentiated".into(), None)),
        false => Ok(all),
    }
}

/// Adds an open witness for each bundle whose parameters no witness has; one that was not asked for is asked for then.
fn register(module: &mut Module<BBCode>, bundles: &[Bundle], unasked: &mut HashSet<Name>) -> Result<(), PassError> {
    let tangents = TangentTypes::new(module);
    let mut missing: HashMap<usize, Vec<&[u32]>> = HashMap::new();
    let mut open = Vec::new();
    for bundle in bundles {
        let Original::Function { position, .. } = bundle.original else { continue };
        let Some(function) = module.functions().get(position) else { continue };
        match minimal_superset(module, &tangents, function, &bundle.wanted, |_| true) {
            Some((witness, _)) => {
                unasked.remove(&witness.name());
            }
            None => {
                // That of an earlier bundle may have these parameters, too.
                let own = missing.entry(position).or_default();
                if !own.iter().any(|earlier| bundle.wanted.iter().all(|number| earlier.contains(number))) {
                    own.push(&bundle.wanted);
                    open.push(DifferentiabilityWitness::open(function.name.clone(), bundle.wanted.clone()));
                }
            }
        }
    }
    open.into_iter().try_for_each(|witness| declare(module, witness))
}

fn declare(module: &mut Module<BBCode>, witness: DifferentiabilityWitness) -> Result<(), PassError> {
    let function = witness.function.clone();
    module.declare(Declaration::Differentiability(witness)).map_err(|twice| PassError::because(NAME, &function, twice))
}

/// A derivative that was made: of which function, with respect to which parameters, and its name.
pub(crate) struct Made {
    pub(crate) function: Name,
    pub(crate) with_respect_to: Vec<u32>,
    pub(crate) derivative: Name,
}

/// Makes the derivatives that witnesses leave open, of the functions at positions that are `ready`. True if there were
/// any.
fn fill_in(
    module: &mut Module<BBCode>,
    unasked: &mut HashSet<Name>,
    ready: &dyn Fn(usize) -> bool,
) -> Result<bool, Vec<PassError>> {
    let mut changed = false;
    let mut errors = Vec::new();
    for kind in [DerivativeKind::Vjp, DerivativeKind::Jvp] {
        let tangents = TangentTypes::new(module);
        let mut open: Vec<(Name, Vec<u32>)> = Vec::new();
        for witness in module.differentiability_witnesses() {
            if witness.derivative(kind).is_some() || unasked.contains(&witness.name()) {
                continue;
            }
            let position = module.function_index(&witness.function);
            match position.and_then(|position| Some((position, module.functions().get(position)?))) {
                Some((position, function)) => {
                    if ready(position) {
                        open.push((function.name.clone(), parameters_of(&tangents, function, witness)));
                    }
                }
                None => {
                    let message = "a differentiability witness names this function, which the module does not have";
                    let error = PassError::new(NAME, &witness.function, message);
                    let error = error.of_kind(PassErrorKind::NoSuchFunction);
                    // Once for both derivatives.
                    if witness.vjp.is_some() || kind == DerivativeKind::Vjp {
                        errors.push(error);
                    }
                }
            }
        }
        if open.is_empty() {
            continue;
        }
        changed = true;
        let made = match kind {
            DerivativeKind::Vjp => reverse_mode::derive_all(module, &open),
            DerivativeKind::Jvp => forward_mode::derive_all(module, &open),
        };
        match made {
            Ok(made) => {
                for made in made {
                    enter(module, unasked, kind, made).map_err(|error| vec![error])?;
                }
            }
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() { Ok(changed) } else { Err(errors) }
}

/// Enters a derivative in the witnesses that leave it open; adds a witness if there is none for its parameters.
fn enter(
    module: &mut Module<BBCode>,
    unasked: &mut HashSet<Name>,
    kind: DerivativeKind,
    made: Made,
) -> Result<(), PassError> {
    let tangents = TangentTypes::new(module);
    let Some(function) = module.function(&made.function) else { return Ok(()) };
    let same: Vec<DifferentiabilityWitness> = module
        .witnesses_of(&made.function)
        .filter(|witness| parameters_of(&tangents, function, witness) == made.with_respect_to)
        .cloned()
        .collect();
    if same.is_empty() {
        let mut witness = DifferentiabilityWitness::open(made.function, made.with_respect_to);
        match kind {
            DerivativeKind::Jvp => witness.jvp = Some(made.derivative),
            DerivativeKind::Vjp => witness.vjp = Some(made.derivative),
        }
        unasked.insert(witness.name());
        return declare(module, witness);
    }
    for witness in same.into_iter().filter(|witness| witness.derivative(kind).is_none()) {
        module.fill_in(&witness.function, &witness.with_respect_to, kind, made.derivative.clone());
    }
    Ok(())
}

/// Writes the derivatives of bundles into them, where these are there. Gives the number of those that are left.
fn rewrite(module: &mut Module<BBCode>, bundles: Vec<Bundle>) -> Result<usize, PassError> {
    let mut left = 0;
    for bundle in bundles {
        if !is_ready(module, &bundle) {
            left += 1;
            continue;
        }
        let failed = |error: bbcode::EditError| PassError::because(NAME, &bundle.function, error);
        let mut derivatives: Vec<(Operand<Ids>, usize)> = Vec::new();
        if let Original::Function { position, captured } = &bundle.original {
            for kind in [DerivativeKind::Jvp, DerivativeKind::Vjp] {
                let tangents = TangentTypes::new(module);
                let Some(function) = module.functions().get(*position) else { continue };
                let given = given_derivative(module, &tangents, function, &bundle.wanted, captured.len(), kind);
                let Some(given) = given.map_err(failed)? else {
                    let message = format!("no witness of `{}` has {}", function.name, with_article(kind.name()));
                    return Err(PassError::new(NAME, &bundle.function, message));
                };
                for thunk in given.thunks {
                    if module.function(&thunk.name).is_none() {
                        module.replace_function(thunk);
                    }
                }
                derivatives.push((Operand::global("Main", &given.name), captured.len()));
            }
        }
        let types: Vec<Option<Type>> =
            derivatives.iter().map(|(derivative, captured)| module.closure_type(derivative, *captured)).collect();
        let numbers: Vec<Operand<Ids>> = bundle.wanted.iter().map(|&number| Operand::from(i64::from(number))).collect();
        let Some(body) = module.body_mut(&bundle.function) else { continue };
        let line = body.inst(bundle.id).map_or(ircode::LineInfo::NONE, |inst| inst.line);
        let mut parts = Vec::with_capacity(2);
        match &bundle.original {
            Original::Function { captured, .. } => {
                for ((derivative, _), ty) in derivatives.into_iter().zip(types) {
                    if captured.is_empty() {
                        parts.push(derivative);
                        continue;
                    }
                    let args = std::iter::once(derivative).chain(captured.iter().cloned());
                    let closure = Stmt::call(Operand::global("BBKit", "partial_apply"), args);
                    let closure = NewInstruction::new(closure, ty.unwrap_or(Type::Any)).with_line(line);
                    parts.push(Operand::Value(body.insert_before(bundle.id, closure).map_err(failed)?));
                }
            }
            Original::Bundle { bundle: of, .. } => {
                for extract in ["jvp_of", "vjp_of"] {
                    let args = std::iter::once(of.clone()).chain(numbers.iter().cloned());
                    let derivative = Stmt::call(Operand::global("BBKit", extract), args);
                    let derivative = NewInstruction::new(derivative, Type::Any).with_line(line);
                    parts.push(Operand::Value(body.insert_before(bundle.id, derivative).map_err(failed)?));
                }
            }
        }
        let args = std::iter::once(bundle.value.clone()).chain(parts).chain(numbers);
        let canonical = Stmt::call(Operand::global("BBKit", "differentiable_function_with"), args);
        body.replace(bundle.id, canonical).map_err(failed)?;
    }
    Ok(left)
}

/// Whether the witness for a bundle is filled in.
fn is_ready(module: &Module<BBCode>, bundle: &Bundle) -> bool {
    let Original::Function { position, .. } = bundle.original else { return true };
    let Some(function) = module.functions().get(position) else { return false };
    let witness = minimal_superset(module, &TangentTypes::new(module), function, &bundle.wanted, |_| true);
    witness.is_some_and(|(witness, _)| witness.jvp.is_some() && witness.vjp.is_some())
}
