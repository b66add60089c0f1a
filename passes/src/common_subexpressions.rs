//! Computes once what is computed twice.

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use ircode::{Constant, GlobalRef, Instruction, Module, Operand, Stmt, Type};
use slotmap::SecondaryMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::PassResult;
use crate::effects::{call_effects, field_type};
use crate::manager::Context;
use crate::replace::Replacements;
use crate::simplify_cfg::fill_empty_blocks;

/// The pass's name on the command line.
pub const NAME: &str = "common-subexpressions";

/// Replaces what computes the same as a statement that dominates it by the value of that statement. True if there was one.
///
/// Taken for the same are calls of one primitive with the same operands and of the same type, whichever name they use
/// for it; π of one value to one type; φs of one block with the same values. A primitive that may throw counts too: had
/// it thrown, control would not have come here. So do fields of what cannot change. What reads memory, makes something with
/// an identity of its own, or is an object known only by its text, is left alone.
///
/// Operands may change places in integer arithmetic and comparisons. They may not in float arithmetic: which NaN comes out
/// depends on the order.
///
/// An exception leaves a `try` region in the middle of a block, but in the graph the catch block follows the `enter`: so
/// nothing in the region dominates the handler, and no value of the one is used in the other.
///
/// This is the dominator-based value numbering technique of Briggs, Cooper and Simpson, *Value Numbering* (1997): one walk over
/// the dominator tree with a scoped table. It takes linear time, and is pessimistic: φs of a loop that are the same only
/// because they are the same are not found.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    let graph = bb.cfg();
    let domtree = graph.dominators();
    let mut table = Table { numbers: SecondaryMap::with_capacity(bb.inst_count()), ..Table::default() };
    // How many keys there were at the start of each block on the way from the entry to the one at hand.
    let mut scopes: Vec<usize> = Vec::new();
    let mut key: Key = Key::new();
    for number in domtree.preorder() {
        while scopes.len() > domtree.depth(number) {
            table.first.forget_from(scopes.pop().unwrap_or_default());
        }
        scopes.push(table.first.len());
        let Some(block) = graph.block(number) else { continue };
        for (id, inst) in bb.insts(block) {
            // A copy has the number of the original.
            if let Stmt::Value(value @ Operand::Value(_)) = &inst.stmt
                && bb.operand_type(value) == inst.ty
                && let Some(number) = table.number(value)
            {
                table.numbers.insert(id, number);
                continue;
            }
            key.clear();
            if table.key(bb, context.module, &graph, number, inst, &mut key).is_none() {
                continue;
            }
            if let Some(first) = table.first.find_or_insert(&key, id) {
                table.replaced.push((id, first));
                if let Some(number) = table.number(&Operand::Value(first)) {
                    table.numbers.insert(id, number);
                }
            }
        }
    }
    if table.replaced.is_empty() {
        return Ok(false);
    }
    let mut replacements = Replacements::new();
    for &(id, first) in &table.replaced {
        replacements.insert(id, Operand::Value(first));
    }
    replacements.apply(bb);
    for &(id, _) in &table.replaced {
        // Each was found in the function and is removed once.
        let _ = bb.remove_unchecked(id);
    }
    fill_empty_blocks(bb);
    Ok(true)
}

/// What is computed: the numbers of the operation, the type and the operands.
type Key = Vec<u32>;

/// The first statement that computed what a key says, among those that dominate the block at hand. Keys are forgotten in
/// the opposite order of that in which they came, so that they stand behind each other in one list.
#[derive(Default)]
struct Firsts {
    hasher: DefaultHashBuilder,
    index: HashTable<u32>,
    entries: Vec<First>,
    words: Vec<u32>,
}

struct First {
    hash: u64,
    id: InstId,
    /// Where the key starts in `words`; it ends where the next starts.
    start: usize,
}

impl Firsts {
    fn len(&self) -> usize {
        self.entries.len()
    }

    /// The statement that computed this first; if there is none, it is this one from now on.
    fn find_or_insert(&mut self, key: &[u32], id: InstId) -> Option<InstId> {
        let Firsts { hasher, index, entries, words } = self;
        let hash = hasher.hash_one(key);
        let key_of = |entry: u32| {
            let end = entries.get(entry as usize + 1).map_or(words.len(), |next| next.start);
            entries.get(entry as usize).and_then(|first| words.get(first.start..end))
        };
        let hash_of = |entry: &u32| entries.get(*entry as usize).map_or(0, |first| first.hash);
        match index.entry(hash, |&entry| hash_of(&entry) == hash && key_of(entry) == Some(key), hash_of) {
            Entry::Occupied(found) => entries.get(*found.get() as usize).map(|first| first.id),
            Entry::Vacant(place) => {
                place.insert(entries.len() as u32);
                entries.push(First { hash, id, start: words.len() });
                words.extend_from_slice(key);
                None
            }
        }
    }

    /// Forgets all keys but the first `count`.
    fn forget_from(&mut self, count: usize) {
        while self.entries.len() > count
            && let Some(First { hash, start, .. }) = self.entries.pop()
        {
            let number = self.entries.len() as u32;
            if let Ok(found) = self.index.find_entry(hash, |&entry| entry == number) {
                found.remove();
            }
            self.words.truncate(start);
        }
    }
}

/// What has a number and is no statement.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Leaf {
    Argument(u32),
    Constant(Constant),
    Global(Arc<GlobalRef>),
    Type(Type),
    Primitive(&'static str),
    Phi,
    Pi,
}

#[derive(Default)]
struct Table {
    count: u32,
    numbers: SecondaryMap<InstId, u32>,
    leaves: HashMap<Leaf, u32>,
    first: Firsts,
    replaced: Vec<(InstId, InstId)>,
}

/// Stands for what a φ takes from an edge on which it is undefined.
const UNDEFINED: u32 = u32::MAX;

impl Table {
    fn leaf(&mut self, leaf: Leaf) -> u32 {
        *self.leaves.entry(leaf).or_insert_with(|| {
            self.count += 1;
            self.count
        })
    }

    /// The number of an operand; `None` if two of them that look the same need not be.
    fn number(&mut self, operand: &Operand<Ids>) -> Option<u32> {
        Some(match operand {
            Operand::Value(value) => match self.numbers.get(*value) {
                Some(&number) => number,
                None => {
                    self.count += 1;
                    self.numbers.insert(*value, self.count);
                    self.count
                }
            },
            Operand::Argument(argument) => self.leaf(Leaf::Argument(argument.0)),
            Operand::Constant(constant) => self.constant(constant)?,
            Operand::Quote(constant) => self.constant(constant)?,
            Operand::Global(global) => self.leaf(Leaf::Global(global.clone())),
            Operand::Nested(_) => return None,
        })
    }

    fn constant(&mut self, constant: &Constant) -> Option<u32> {
        let known = !matches!(constant, Constant::Text(_) | Constant::SSAValue(_));
        known.then(|| self.leaf(Leaf::Constant(constant.clone())))
    }

    /// Writes the key of a statement into an empty list; `None` if it has none.
    fn key(
        &mut self,
        bb: &BBCode,
        module: &Module<BBCode>,
        graph: &BlockGraph,
        block: usize,
        inst: &Instruction<Ids>,
        key: &mut Key,
    ) -> Option<()> {
        match &inst.stmt {
            Stmt::Phi(phi) if !phi.entries.is_empty() => {
                key.extend([self.leaf(Leaf::Phi), self.leaf(Leaf::Type(inst.ty.clone())), u32::try_from(block).ok()?]);
                let mut entries = Vec::with_capacity(phi.entries.len());
                for entry in &phi.entries {
                    let value = match &entry.value {
                        Some(value) => self.number(value)?,
                        None => UNDEFINED,
                    };
                    entries.push((u32::try_from(graph.number(entry.edge)?).ok()?, value));
                }
                entries.sort_unstable();
                key.extend(entries.into_iter().flat_map(|(edge, value)| [edge, value]));
            }
            Stmt::Pi(pi) => {
                let types = [Leaf::Type(inst.ty.clone()), Leaf::Type(pi.ty.clone())].map(|ty| self.leaf(ty));
                key.push(self.leaf(Leaf::Pi));
                key.extend(types);
                key.push(self.number(&pi.value)?);
            }
            stmt => {
                let (primitive, args) = module.primitive_call(stmt)?;
                let constant_field = match (primitive.name, args) {
                    ("getfield", [object, field, ..]) => field_type(module, &bb.operand_type(object), field).is_some(),
                    _ => false,
                };
                let effects = call_effects(module, bb, primitive, args);
                if effects.writes || effects.allocates || (effects.reads && !constant_field) || inst.ty == Type::Bottom
                {
                    return None;
                }
                key.extend([self.leaf(Leaf::Primitive(primitive.name)), self.leaf(Leaf::Type(inst.ty.clone()))]);
                for arg in args {
                    key.push(self.number(arg)?);
                }
                if let (true, [_, _, a, b]) = (is_commutative(primitive.name), key.as_mut_slice())
                    && a > b
                {
                    std::mem::swap(a, b);
                }
            }
        }
        Some(())
    }
}

/// Whether the operands may change places without a bit of the result changing.
fn is_commutative(primitive: &str) -> bool {
    matches!(
        primitive,
        "add_int"
            | "mul_int"
            | "and_int"
            | "or_int"
            | "xor_int"
            | "eq_int"
            | "ne_int"
            | "checked_sadd_int"
            | "checked_uadd_int"
            | "checked_smul_int"
            | "checked_umul_int"
            | "eq_float"
            | "ne_float"
            | "fpiseq"
            | "==="
            | "!=="
    )
}
