//! Which arguments of a function may be, or hold, the same object: what one changes, another one sees.

use bbcode::{BBCode, Ids};
use hashbrown::{HashMap, HashSet};
use ircode::{Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use super::objects::{Class, Objects};
use super::operation::{Classifier, Operation};
use super::summary::{Summaries, computes_numbers, is_call_of_function, mutable_parts};
use crate::rules::RuleTable;

/// Two arguments, by their indices, the lesser first: 1 is `_2`.
type Pair = (usize, usize);

/// What is known of the functions that are only called by others: their arguments are what these give. All others may
/// be called with anything.
#[derive(Debug, Default)]
pub(super) struct Sharing(HashMap<usize, HashSet<Pair>>);

impl Sharing {
    /// From what calls give, top down from the roots: two arguments may share objects if they may where they come from.
    ///
    /// `open` are the functions that may be called from elsewhere, the roots among them. Where it is not known what
    /// some code calls, nothing is known.
    pub(super) fn of(
        module: &Module<BBCode>,
        rules: &RuleTable,
        open: &HashSet<usize>,
        summaries: &Summaries,
    ) -> Sharing {
        let mut sharing = Sharing::default();
        let mut found: HashMap<usize, Calls> = HashMap::new();
        let mut work: Vec<usize> = open.iter().copied().collect();
        work.sort_unstable();
        while let Some(position) = work.pop() {
            let Some(function) = module.functions().get(position) else { continue };
            if !found.contains_key(&position) {
                let Some(calls) = Calls::of(module, rules, &function.body, summaries) else {
                    return Sharing::default();
                };
                found.insert(position, calls);
            }
            let Some(calls) = found.get(&position) else { continue };
            for (callee, classes) in &calls.calls {
                // What a function collects is not among the classes: of such a one nothing is known.
                let collects = module.functions().get(*callee).is_some_and(|function| function.varargs);
                if collects || open.contains(callee) {
                    work.extend((!found.contains_key(callee)).then_some(*callee));
                    continue;
                }
                let same = |a: Class, b: Class| a == b || calls.external.may_share(sharing.pairs(position), a, b);
                let class = |argument: usize| classes.get(argument).copied().flatten();
                let pairs = pairs(classes.len())
                    .filter(|&(a, b)| class(a).zip(class(b)).is_some_and(|(a, b)| same(a, b)))
                    .map(|(a, b)| (a + 1, b + 1));
                let pairs: Vec<Pair> = pairs.collect();
                let is_new = !sharing.0.contains_key(callee);
                let known = sharing.0.entry(*callee).or_default();
                let before = known.len();
                known.extend(pairs);
                if is_new || known.len() > before {
                    work.push(*callee);
                }
            }
        }
        sharing
    }

    /// The pairs of arguments of the function at this position that may share objects; `None` if all may.
    pub(super) fn pairs(&self, function: usize) -> Option<&HashSet<Pair>> {
        self.0.get(&function)
    }
}

fn pairs(count: usize) -> impl Iterator<Item = Pair> {
    (0..count).flat_map(move |b| (0..b).map(move |a| (a, b)))
}

/// The calls in a function.
struct Calls {
    /// What is called, and the classes of the objects among the arguments.
    calls: Vec<(usize, Vec<Option<Class>>)>,
    external: External,
}

impl Calls {
    /// `None` if it is not known what is called.
    fn of(module: &Module<BBCode>, rules: &RuleTable, bb: &BBCode, summaries: &Summaries) -> Option<Calls> {
        let classifier = Classifier { module, rules, bb };
        let mut operations: SecondaryMap<_, Operation> = SecondaryMap::with_capacity(bb.inst_count());
        for (id, inst) in bb.all_insts() {
            if computes_numbers(module, &inst.stmt) {
                continue;
            }
            let operation = classifier.operation(id, &|_| Some(id));
            // A value that is called is one of the functions that may be called from elsewhere.
            let is_call =
                matches!(inst.stmt, Stmt::Call(_) | Stmt::Invoke(_)) && !is_call_of_function(module, bb, &inst.stmt);
            if matches!(operation, Operation::Unknown) && is_call && module.primitive_call(&inst.stmt).is_none() {
                return None;
            }
            operations.insert(id, operation);
        }
        let objects = Objects::of(module, bb, &operations, summaries);
        let class = |operand: &Operand<Ids>| match operand {
            Operand::Value(_) | Operand::Argument(_) => objects.class(operand),
            _ => Some(objects.outside()),
        };
        let calls = operations.values().filter_map(|operation| match operation {
            Operation::Call { function, args } => Some((*function, args.iter().map(class).collect())),
            _ => None,
        });
        let calls = calls.collect();
        Some(Calls { calls, external: External::of(module, bb, &objects) })
    }
}

/// The classes of objects that were there before a function was called, with what it gets them by.
#[derive(Debug, Default)]
pub(super) struct External(Vec<(Class, SmallVec<[Given; 2]>)>);

/// What a function gets objects by.
#[derive(Clone, Debug)]
enum Given {
    /// The argument of this index, with the [objects that it may hold](mutable_parts).
    Argument(usize, Option<HashSet<Type>>),
    Global,
}

impl External {
    pub(super) fn of(module: &Module<BBCode>, bb: &BBCode, objects: &Objects) -> External {
        let mut found: Vec<(Class, SmallVec<[Given; 2]>)> = Vec::new();
        let mut add = |class: Class, given: Given| match found.iter_mut().find(|(known, _)| *known == class) {
            Some((_, all)) => all.push(given),
            None => found.push((class, SmallVec::from_iter([given]))),
        };
        add(objects.outside(), Given::Global);
        for (index, ty) in bb.argtypes.iter().enumerate() {
            let argument = Operand::<Ids>::Argument(ircode::Argument::from_index(index));
            if let Some(class) = objects.class(&argument) {
                add(class, Given::Argument(index, mutable_parts(module, ty)));
            }
        }
        External(found)
    }

    /// By class, those that it may share objects with, where these pairs of arguments may share some.
    pub(super) fn others(&self, shared: Option<&HashSet<Pair>>) -> HashMap<Class, SmallVec<[Class; 2]>> {
        let of = |class: Class, given: &[Given]| {
            let others = self.0.iter().filter(|(other, by)| *other != class && may_share(shared, given, by));
            others.map(|(other, _)| *other).collect()
        };
        self.0.iter().map(|(class, given)| (*class, of(*class, given))).collect()
    }

    /// Whether objects of two classes may be the same, where these pairs of arguments may share some.
    fn may_share(&self, shared: Option<&HashSet<Pair>>, a: Class, b: Class) -> bool {
        let given = |class: Class| self.0.iter().find(|(known, _)| *known == class).map_or(&[][..], |(_, given)| given);
        may_share(shared, given(a), given(b))
    }
}

fn may_share(shared: Option<&HashSet<Pair>>, a: &[Given], b: &[Given]) -> bool {
    let share = |a: &Given, b: &Given| match (a, b) {
        (Given::Argument(a, parts), Given::Argument(b, others)) => {
            let disjoint = matches!((parts, others), (Some(parts), Some(others)) if parts.is_disjoint(others));
            // The function itself is not among what is given.
            let itself = *a.min(b) == 0;
            !disjoint && shared.is_none_or(|pairs| itself || pairs.contains(&(*a.min(b), *a.max(b))))
        }
        _ => true,
    };
    a.iter().any(|a| b.iter().any(|b| share(a, b)))
}
