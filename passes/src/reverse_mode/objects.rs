//! Which values may be the same object, or be reached from each other: classes of objects (Steensgaard's analysis, with
//! one class for an object and all that is stored in it).

use std::cell::RefCell;

use bbcode::{BBCode, Ids, InstId};
use hashbrown::HashMap;
use ircode::{Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;

use super::operation::Operation;
use super::summary::{Summaries, holds_objects};
use crate::analyses::disjoint_sets::DisjointSets;

/// The number of a class.
pub(super) type Class = usize;

/// The classes of the objects of a function.
#[derive(Debug, Default)]
pub(super) struct Objects {
    values: SecondaryMap<InstId, Class>,
    arguments: Vec<Option<Class>>,
    /// Whether objects of the class may have been there before the function was called.
    external: Vec<bool>,
}

impl Objects {
    /// Finds the classes. `operations` says what the statements do.
    pub(super) fn of(
        module: &Module<BBCode>,
        bb: &BBCode,
        operations: &SecondaryMap<InstId, Operation>,
        summaries: &Summaries,
    ) -> Objects {
        let holding: RefCell<HashMap<Type, bool>> = RefCell::default();
        let holds = |ty: &Type| {
            if let Some(&known) = holding.borrow().get(ty) {
                return known;
            }
            let found = holds_objects(module, ty);
            holding.borrow_mut().insert(ty.clone(), found);
            found
        };
        let mut union = DisjointSets::default();
        let outside = union.add();
        let arguments: Vec<Option<usize>> = bb.argtypes.iter().map(|ty| holds(ty).then(|| union.add())).collect();
        let mut values: SecondaryMap<InstId, usize> = SecondaryMap::new();
        for (id, inst) in bb.all_insts() {
            if holds(&inst.ty) && !inst.stmt.is_terminator() {
                values.insert(id, union.add());
            }
        }
        let of = |operand: &Operand<Ids>| match operand {
            Operand::Value(value) => values.get(*value).copied(),
            Operand::Argument(argument) => argument.index().and_then(|index| arguments.get(index).copied().flatten()),
            Operand::Global(_) => Some(outside),
            Operand::Constant(constant) => holds(&constant.ty()).then_some(outside),
            Operand::Quote(constant) => holds(&constant.ty()).then_some(outside),
            Operand::Nested(_) => Some(outside),
        };
        for (id, inst) in bb.all_insts() {
            let Some(operation) = operations.get(id) else { continue };
            let mut joined: Vec<usize> = values.get(id).copied().into_iter().collect();
            // What has a global name may be named again, here or in what is called.
            if is_global(module, &inst.stmt) && !joined.is_empty() {
                joined.push(outside);
            }
            let alone = match operation {
                Operation::Whole { from: Some(from), .. } => !element_holds_objects(&holds, &bb.operand_type(from)),
                operation => matches!(operation, Operation::Steps | Operation::Allocate | Operation::CopyObject(_)),
            };
            let apart = match operation {
                // The result may hold what the arguments hold.
                Operation::Call { function, .. } => joined.is_empty() && !summaries.get(*function).links,
                // A rule's result is new, but for what changes its first operand and gives it back.
                Operation::Rule { .. } => true,
                // The size of an array is no part of it.
                Operation::Unknown => joined.is_empty() && only_reads(module, &inst.stmt),
                _ => alone,
            };
            if let Operation::Rule { rule, args, .. } = operation
                && rule.changes_first()
            {
                joined.extend(args.first().and_then(of));
            }
            if let Operation::CopyObject(source) = operation
                && element_holds_objects(&holds, &bb.operand_type(source))
            {
                joined.extend(of(source));
            }
            if !apart {
                operation.for_each_input(bb, id, &mut |operand| {
                    // The callee of a call that nothing is known of is a global, and no object.
                    let callee = matches!((operation, operand), (Operation::Unknown, Operand::Global(_)));
                    joined.extend(if callee { None } else { of(operand) });
                });
                if matches!(operation, Operation::Unknown) && !joined.is_empty() {
                    joined.push(outside);
                }
            }
            for pair in joined.windows(2) {
                if let [a, b] = pair {
                    union.join(*a, *b);
                }
            }
        }
        let mut external_roots: Vec<usize> = vec![outside];
        external_roots.extend(arguments.iter().flatten());
        let mut external = vec![false; union.len()];
        for root in external_roots {
            let root = union.find(root);
            if let Some(flag) = external.get_mut(root) {
                *flag = true;
            }
        }
        let values = values.iter().map(|(id, &node)| (id, union.find(node))).collect();
        let arguments = arguments.into_iter().map(|node| node.map(|node| union.find(node))).collect();
        Objects { values, arguments, external }
    }

    /// The class of an operand, if it may hold objects that are not constant.
    pub(super) fn class(&self, operand: &Operand<Ids>) -> Option<Class> {
        match operand {
            Operand::Value(value) => self.values.get(*value).copied(),
            Operand::Argument(argument) => {
                argument.index().and_then(|index| self.arguments.get(index).copied().flatten())
            }
            _ => None,
        }
    }

    /// Whether objects of the class may have been there before the function was called.
    pub(super) fn is_external(&self, class: Class) -> bool {
        self.external.get(class).copied().unwrap_or(true)
    }

    /// The class of globals and constants that have identity: joining keeps the least number.
    pub(super) fn outside(&self) -> Class {
        0
    }

    /// More than the number of any class.
    pub(super) fn bound(&self) -> usize {
        self.external.len()
    }
}

/// Whether a statement names a global constant.
pub(super) fn is_global(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> bool {
    matches!(stmt, Stmt::Value(Operand::Global(global)) if module.global_constant(global).is_some())
}

/// Whether a statement is a call of a primitive that changes nothing.
pub(super) fn only_reads(module: &Module<BBCode>, stmt: &Stmt<Ids>) -> bool {
    module.primitive_call(stmt).is_some_and(|(primitive, _)| !primitive.effects.writes)
}

fn element_holds_objects(holds: &impl Fn(&Type) -> bool, ty: &Type) -> bool {
    match ty {
        Type::Array(array) => holds(&array.element),
        Type::Memory(element) | Type::MemoryRef(element) | Type::Ref(element) | Type::Stack(element) => holds(element),
        _ => true,
    }
}
