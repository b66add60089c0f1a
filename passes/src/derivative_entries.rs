//! Derivative entries of method tables and witness tables: making those that are missing, and finding those that there
//! are.
//!
//! A method that is declared `differentiable` has a derivative entry of each kind, with respect to the parameters that
//! the declaration names. So has each method that overrides one that has a derivative, as the derivative of a call is
//! looked up in the table of the object's own class; what is inherited is inherited with its derivatives (Swift:
//! `#C.f!vjp` in vtables). An entry that is there already stays: it is what the program says that the derivative is.

use bbcode::BBCode;
use hashbrown::{HashMap, HashSet};
use ircode::{Declaration, DerivativeKey, DerivativeKind, Entry, Module, Name};

use crate::manager::PassResult;
use crate::tangents::TangentTypes;
use crate::{PassError, forward_mode, reverse_mode};

/// The pass's name on the command line.
pub const NAME: &str = "derivative-entries";

/// A derivative entry that a table should have and does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The class or witness table.
    pub table: Declaration,
    /// The method or requirement.
    pub method: Name,
    /// The derivative.
    pub derivative: DerivativeKey,
    /// The function of which it is the derivative.
    pub function: Name,
}

/// The derivative entries of one kind that are missing, in the order of the tables and of their entries.
pub fn missing<F>(module: &Module<F>, kind: DerivativeKind) -> Vec<Missing> {
    let mut found = Vec::new();
    for table in module.declarations() {
        let Some(entries) = table.entries() else { continue };
        for entry in entries.iter().filter(|entry| entry.derivative.is_none()) {
            for with_respect_to in wanted(module, &table, entry, kind) {
                let derivative = DerivativeKey { kind, with_respect_to };
                if entries.get(&entry.name, Some(&derivative)).is_none() {
                    let (method, function) = (entry.name.clone(), entry.function.clone());
                    found.push(Missing { table: table.clone(), method, derivative, function });
                }
            }
        }
    }
    found
}

/// With respect to which parameters the method of an entry has to have a derivative, each set once: its own
/// declaration, and what is said of methods that it overrides.
fn wanted<F>(module: &Module<F>, table: &Declaration, entry: &Entry, kind: DerivativeKind) -> Vec<Vec<u32>> {
    let mut sets = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |set: &Vec<u32>| {
        if seen.insert(set.clone()) {
            sets.push(set.clone());
        }
    };
    entry.differentiable.iter().for_each(&mut add);
    if let Declaration::Class(class) = table {
        for above in module.class_chain(&class.name).skip(1) {
            for of in above.methods.iter().filter(|of| of.name == entry.name) {
                of.differentiable.iter().for_each(&mut add);
                of.derivative.iter().filter(|key| key.kind == kind).for_each(|key| add(&key.with_respect_to));
            }
        }
    }
    sets
}

/// Adds the missing entries of one kind. `make` is given them all, and makes the derivatives: it gives the name of a
/// function of the module for each.
///
/// # Errors
///
/// That of `make`; [`PassError`] if it gives another number of names. No entry is added then.
pub fn fill(
    module: &mut Module<BBCode>,
    kind: DerivativeKind,
    make: impl FnOnce(&mut Module<BBCode>, &[Missing]) -> Result<Vec<Name>, PassError>,
) -> PassResult {
    let missing = missing(module, kind);
    let Some(first) = missing.first() else { return Ok(false) };
    let made = make(module, &missing)?;
    if made.len() != missing.len() {
        let message = format!("{} derivatives were made of {}", made.len(), missing.len());
        return Err(PassError::new(NAME, &first.function, message));
    }
    for (missing, function) in missing.iter().zip(made) {
        let entry = Entry::derivative(missing.method.clone(), missing.derivative.clone(), function);
        if let Some(entries) = module.entries_mut(&missing.table) {
            let added = entries.add(Entry { generated: true, ..entry });
            added.map_err(|twice| PassError::because(NAME, &first.function, twice))?;
        }
    }
    Ok(true)
}

/// Adds the missing `jvp` and `vjp` entries, with the functions that [forward mode](crate::forward_mode) and reverse
/// mode [with linear maps](crate::reverse_mode::linear_maps) make.
///
/// # Errors
///
/// As [`forward_mode::differentiate_all`] and [`reverse_mode::derive`].
pub fn run(module: &mut Module<BBCode>, _: Option<&Name>) -> PassResult {
    let jvps = fill_jvps(module)?;
    Ok(fill_vjps(module)? | jvps)
}

fn fill_vjps(module: &mut Module<BBCode>) -> PassResult {
    fill(module, DerivativeKind::Vjp, |module, missing| {
        // The function may have a derivative in another table already.
        let registered = RegisteredDerivatives::of(module, DerivativeKind::Vjp);
        let known: Vec<Option<Name>> = missing.iter().map(|missing| registered.same(module, missing)).collect();
        let tangents = TangentTypes::new(module);
        let mut roots: Vec<(Name, Vec<u32>)> = Vec::with_capacity(missing.len());
        for missing in missing {
            let numbers = match missing.derivative.with_respect_to.as_slice() {
                [] => {
                    let types = module.function(&missing.function).map(|function| function.body.argtypes.as_slice());
                    let numbered = types.unwrap_or_default().iter().zip(1..).skip(1);
                    numbered.filter(|(ty, _)| !tangents.of(ty).is_none()).map(|(_, number)| number).collect()
                }
                some => some.to_vec(),
            };
            roots.push((missing.function.clone(), numbers));
        }
        let mut seen = HashSet::new();
        let unknown = roots.iter().zip(&known).filter(|(root, known)| known.is_none() && seen.insert((*root).clone()));
        let unknown: Vec<(Name, Vec<u32>)> = unknown.map(|(root, _)| root.clone()).collect();
        let made = reverse_mode::derive_all(module, &unknown).map_err(|errors| {
            errors.into_iter().next().unwrap_or_else(|| PassError::new(NAME, &"".into(), "no VJP"))
        })?;
        let of = |(function, numbers): &(Name, Vec<u32>)| {
            let made = made.iter().find(|made| made.function == *function && made.with_respect_to == *numbers);
            made.map(|made| made.derivative.clone())
        };
        Ok(known.into_iter().zip(&roots).filter_map(|(known, root)| known.or_else(|| of(root))).collect())
    })
}

fn fill_jvps(module: &mut Module<BBCode>) -> PassResult {
    fill(module, DerivativeKind::Jvp, |module, missing| {
        // The function may have a derivative in another table already.
        let registered = RegisteredDerivatives::of(module, DerivativeKind::Jvp);
        let known: Vec<Option<Name>> = missing.iter().map(|missing| registered.same(module, missing)).collect();
        let numbers = |key: &DerivativeKey| -> Option<Vec<usize>> {
            let numbers = key.with_respect_to.iter().map(|&number| number as usize).collect();
            Some(numbers).filter(|numbers: &Vec<usize>| !numbers.is_empty())
        };
        let unknown = missing.iter().zip(&known).filter(|(_, known)| known.is_none());
        let functions: Vec<(Name, Option<Vec<usize>>)> =
            unknown.map(|(missing, _)| (missing.function.clone(), numbers(&missing.derivative))).collect();
        let mut made = forward_mode::differentiate_all(module, &functions, 1)?.into_iter();
        Ok(known.into_iter().filter_map(|known| known.or_else(|| made.next())).collect())
    })
}

/// A derivative that stands in a table, of a function of the module.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// The function that computes it.
    pub(crate) function: Name,
    /// The numbers of the parameters; empty for all that have tangents.
    pub(crate) with_respect_to: Vec<u32>,
    /// Whether a pass made it.
    pub(crate) generated: bool,
}

/// The derivatives of one kind in the tables of a module, by the position of the function of which they are.
#[derive(Debug, Default)]
pub(crate) struct RegisteredDerivatives {
    found: HashMap<usize, Vec<Registered>>,
    /// What functions are declared differentiable with respect to.
    declared: HashMap<usize, Vec<Vec<u32>>>,
}

impl RegisteredDerivatives {
    /// All of this kind.
    pub(crate) fn of(module: &Module<BBCode>, kind: DerivativeKind) -> Self {
        let mut found: HashMap<usize, Vec<Registered>> = HashMap::new();
        let mut declared: HashMap<usize, Vec<Vec<u32>>> = HashMap::new();
        let tables: Vec<Declaration> = if module.has_tables() { module.declarations().collect() } else { Vec::new() };
        for table in &tables {
            for entry in table.entries().into_iter().flatten() {
                if let (Some(set), Some(position)) = (&entry.differentiable, module.function_index(&entry.function)) {
                    declared.entry(position).or_default().push(set.clone());
                }
                let Some(key) = entry.derivative.as_ref().filter(|key| key.kind == kind) else { continue };
                let method = match table {
                    Declaration::Class(class) => module.class_method(&class.name, &entry.name, None),
                    _ => table.entries().and_then(|entries| entries.get(&entry.name, None)),
                };
                let Some(position) = method.and_then(|method| module.function_index(&method.function)) else {
                    continue;
                };
                let known = found.entry(position).or_default();
                if known.iter().all(|other| other.function != entry.function) {
                    known.push(Registered {
                        function: entry.function.clone(),
                        with_respect_to: key.with_respect_to.clone(),
                        generated: entry.generated,
                    });
                }
            }
        }
        RegisteredDerivatives { found, declared }
    }

    /// Those of the function at this position, in the order of the tables.
    pub(crate) fn get(&self, function: usize) -> &[Registered] {
        self.found.get(&function).map(Vec::as_slice).unwrap_or_default()
    }

    /// The derivative that is missing in one table, as another one has it.
    fn same(&self, module: &Module<BBCode>, missing: &Missing) -> Option<Name> {
        let of = self.get(module.function_index(&missing.function)?);
        let same = |other: &&Registered| other.with_respect_to == missing.derivative.with_respect_to;
        of.iter().find(same).map(|other| other.function.clone())
    }

    /// The one with respect to the fewest parameters that has all that are wanted, `_1` first. `None` if there is none,
    /// so that the function is to be derived.
    ///
    /// # Errors
    ///
    /// What is wrong: several functions are registered for the same parameters, so that which is meant depends on the
    /// table; or the program registers derivatives with respect to other parameters only, and does not declare the
    /// function differentiable with respect to these.
    pub(crate) fn find(&self, function: usize, wanted: &[bool]) -> Result<Option<&Registered>, String> {
        let has_all = |set: &[u32]| {
            let has = |index: usize| set.contains(&(index as u32 + 1));
            set.is_empty() || wanted.iter().enumerate().all(|(index, wanted)| !wanted || has(index))
        };
        let covers = |registered: &&Registered| has_all(&registered.with_respect_to);
        let size = |registered: &Registered| match registered.with_respect_to.len() {
            0 => usize::MAX,
            count => count,
        };
        let found = self.get(function).iter().filter(covers).min_by_key(|registered| size(registered));
        let others = self.get(function).iter().filter(|other| {
            found
                .is_some_and(|found| found.function != other.function && found.with_respect_to == other.with_respect_to)
        });
        match (found, others.map(|other| &other.function).next()) {
            (Some(found), Some(other)) => {
                Err(format!("both `{}` and `{other}` are registered as its derivative", found.function))
            }
            (Some(found), None) => Ok(Some(found)),
            (None, _) => {
                let declared = self.declared.get(&function).is_some_and(|sets| sets.iter().any(|set| has_all(set)));
                match self.get(function).iter().find(|other| !other.generated).filter(|_| !declared) {
                    Some(other) => Err(format!(
                        "`{}` is registered, which is not with respect to all arguments that have a tangent here",
                        other.function
                    )),
                    None => Ok(None),
                }
            }
        }
    }
}
