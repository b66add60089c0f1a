//! Computes once what is computed twice.

use bbcode::{BBCode, BlockGraph, Ids, InstId};
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};
use ircode::graph::{LoopForest, LoopId};
use ircode::primitives::{MemoryEffect, Primitive};
use ircode::{Constant, GlobalRef, Instruction, Module, Operand, ScalarType, Stmt, Type};
use slotmap::SecondaryMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::PassResult;
use crate::analyses::effects::{call_effects, effects, field_type};
use crate::manager::Context;
use crate::replace::Replacements;

/// The pass's name on the command line.
pub const NAME: &str = "common-subexpressions";

/// Replaces what computes the same as a statement that dominates it by the value of that statement. True if there was
/// one.
///
/// Taken for the same are calls of one primitive with the same operands and of the same type, whichever name they use
/// for it; π of one value to one type; φs of one block with the same values. A primitive that may throw counts too: had
/// it thrown, control would not have come here. So do fields of what cannot change, and what reads memory where nothing
/// can have changed it in between: loads from arrays, references and mutable structs. What makes something with an
/// identity of its own, or is an object known only by its text, is left alone.
///
/// Operands may change places in integer arithmetic and comparisons. They may not in float arithmetic: which NaN comes
/// out depends on the order.
///
/// An exception leaves a `try` region in the middle of a block, but in the graph the catch block follows the `enter`:
/// so nothing in the region dominates the handler, and no value of the one is used in the other.
///
/// This is the dominator-based value numbering technique of Briggs, Cooper and Simpson, *Value Numbering* (1997): one
/// walk over the dominator tree with a scoped table. It takes linear time, and is pessimistic: φs of a loop that are
/// the same only because they are the same are not found.
///
/// For loads, memory is one value, which each statement that may write changes and which meets like a φ where ways do
/// (the numbers of memory in that technique); a loop in which nothing writes leaves it as it was. What is pushed on
/// stacks and put in slots counts as no write: these are no arrays.
pub fn run(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    compute_once(bb, context, true)
}

/// As [`run`], but what reads memory is left alone: the derivative of two loads is added to the shadow twice, that of
/// one load once, which is rounded in another way.
pub(crate) fn run_without_loads(bb: &mut BBCode, context: &Context<'_>) -> PassResult {
    compute_once(bb, context, false)
}

fn compute_once(bb: &mut BBCode, context: &Context<'_>, with_loads: bool) -> PassResult {
    let graph = bb.cfg();
    let domtree = graph.dominators();
    let count = bb.inst_count();
    let first =
        Firsts { entries: Vec::with_capacity(count), index: HashTable::with_capacity(count), ..Firsts::default() };
    let mut table = Table { numbers: SecondaryMap::with_capacity(count), first, ..Table::default() };
    let mut memory: Option<Memory> = None;
    // How many keys there were at the start of each block on the way from the entry to the one at hand.
    let mut scopes: Vec<usize> = Vec::new();
    let mut key: Key = Key::new();
    for number in domtree.preorder() {
        while scopes.len() > domtree.depth(number) {
            table.first.forget_from(scopes.pop().unwrap_or_default());
        }
        scopes.push(table.first.len());
        let Some(block) = graph.block(number) else { continue };
        let mut writes = 0;
        for (id, inst) in bb.insts(block) {
            if memory.is_some() && may_write(context.module, bb, inst) {
                writes += 1;
            }
            // A copy has the number of the original.
            if let Stmt::Value(value @ Operand::Value(_)) = &inst.stmt
                && bb.operand_type(value) == inst.ty
                && let Some(number) = table.number(value)
            {
                table.numbers.insert(id, number);
                continue;
            }
            key.clear();
            match table.key(bb, context.module, &graph, number, inst, &mut key) {
                None => continue,
                Some(Keyed::Value) => {}
                Some(Keyed::Load) if !with_loads => continue,
                Some(Keyed::Load) => {
                    let known = memory.is_some();
                    let memory = memory.get_or_insert_with(|| Memory::of(bb, context.module, &graph));
                    if !known {
                        // What was written in this block before its first load.
                        let before = bb.insts(block).take_while(|(other, _)| *other != id);
                        writes = before.filter(|(_, inst)| may_write(context.module, bb, inst)).count();
                    }
                    key.extend(memory.state(number, writes));
                }
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
    bb.fill_empty_blocks();
    Ok(true)
}

/// What is computed: the numbers of the operation, the type and the operands; of a load, behind them the state of
/// memory.
type Key = Vec<u32>;

/// What a key is of.
enum Keyed {
    Value,
    /// It lacks the state of memory.
    Load,
}

/// A state of memory: where it came to be, and how many writes there were since.
type State = [u32; 2];

/// What is known of memory where blocks start: two blocks with the same state start with the same contents.
struct Memory(Vec<State>);

impl Memory {
    fn of(bb: &BBCode, module: &Module<BBCode>, graph: &BlockGraph) -> Memory {
        let count = graph.order().len();
        let number = |block: usize| u32::try_from(block).unwrap_or(u32::MAX);
        let mut starts: Vec<Option<State>> = vec![None; count];
        let mut ends: Vec<Option<State>> = vec![None; count];
        let mut handlers = vec![false; count];
        for (_, inst) in bb.all_insts().filter(|(_, inst)| matches!(inst.stmt, Stmt::Enter(_))) {
            inst.stmt.for_each_target(|target| {
                if let Some(handler) = graph.number(target).and_then(|number| handlers.get_mut(number)) {
                    *handler = true;
                }
            });
        }
        let writes: Vec<usize> = (0..count)
            .map(|block| {
                let insts = graph.block(block).into_iter().flat_map(|block| bb.insts(block));
                insts.filter(|(_, inst)| may_write(module, bb, inst)).count()
            })
            .collect();
        let forest = graph.loops();
        let changes = |block: usize| handlers.get(block) != Some(&false) || writes.get(block) != Some(&0);
        let changing = changing_loops(&forest, count, changes);
        for block in graph.graph().postorder().into_iter().rev() {
            // What a loop that writes nothing starts with is what it was entered with, on every round.
            let entered = forest
                .innermost(block)
                .filter(|id| forest.get(*id).is_some_and(|each| each.header == block) && !changing.contains(id));
            let preds = graph.graph().predecessors(block);
            let preds = preds.filter(|&pred| entered.is_none_or(|id| !forest.contains(id, pred)));
            let mut preds = preds.map(|pred| ends.get(pred).copied().flatten());
            let common = preds.next().flatten().filter(|first| preds.all(|other| other == Some(*first)));
            // What happened in a `try` region is not seen in the graph. States that meet are told by a number that no
            // block has.
            let meets = [number(block + count), 0];
            let start = common.filter(|_| handlers.get(block) == Some(&false)).unwrap_or(meets);
            let writes = writes.get(block).copied().unwrap_or_default();
            let end = if writes == 0 { start } else { [number(block), number(writes)] };
            if let (Some(starts), Some(ends)) = (starts.get_mut(block), ends.get_mut(block)) {
                (*starts, *ends) = (Some(start), Some(end));
            }
        }
        Memory(starts.into_iter().map(|start| start.unwrap_or([u32::MAX, u32::MAX])).collect())
    }

    /// The state in a block behind so many writes.
    fn state(&self, block: usize, writes: usize) -> State {
        match (writes, self.0.get(block)) {
            (0, Some(start)) => *start,
            _ => [u32::try_from(block).unwrap_or(u32::MAX), u32::try_from(writes).unwrap_or(u32::MAX)],
        }
    }
}

/// The loops in which memory may change, or that can be entered elsewhere than at their headers, and those around them.
fn changing_loops(forest: &LoopForest, blocks: usize, changes: impl Fn(usize) -> bool) -> HashSet<LoopId> {
    let mut found: HashSet<LoopId> =
        (0..blocks).filter(|&block| changes(block)).filter_map(|block| forest.innermost(block)).collect();
    for (id, each) in forest.iter() {
        if each.irreducible || found.contains(&id) {
            found.insert(id);
            found.extend(each.parent);
        }
    }
    found
}

/// Whether a statement may change what a load gives.
fn may_write(module: &Module<BBCode>, bb: &BBCode, inst: &Instruction<Ids>) -> bool {
    if inst.stmt.is_terminator() {
        return false;
    }
    match module.primitive_call(&inst.stmt) {
        Some((primitive, _)) => {
            // What changes stacks and slots changes nothing else.
            let in_stacks = primitive.memory == MemoryEffect::Stack || primitive.name == "slot_set!";
            primitive.effects.writes && !in_stacks
        }
        None => effects(module, bb, inst).writes,
    }
}

/// What reads arrays, references and mutable structs.
const LOADS: &[&str] = &["arrayref", "const_arrayref", "getindex", "arraylen", "arraysize", "getfield", "memoryrefget"];

/// The first statement that computed what a key says, among those that dominate the block at hand. Keys are forgotten
/// in the opposite order of that in which they came, so that they stand behind each other in one list.
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

/// At most this many primitives are looked for in a list.
const FEW: usize = 8;

#[derive(Default)]
struct Table {
    count: u32,
    numbers: SecondaryMap<InstId, u32>,
    leaves: HashMap<Leaf, u32>,
    /// The numbers of the first few primitives, and of types of numbers, which are asked for again and again.
    primitives: Vec<(&'static Primitive, u32)>,
    scalars: Vec<(ScalarType, u32)>,
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

    /// The number of a primitive.
    fn primitive(&mut self, primitive: &'static Primitive) -> u32 {
        // A function calls few different ones.
        let same = |(known, _): &&(&'static Primitive, u32)| std::ptr::eq(*known, primitive);
        if let Some((_, number)) = self.primitives.iter().find(same) {
            return *number;
        }
        let number = self.leaf(Leaf::Primitive(primitive.name));
        if self.primitives.len() < FEW {
            self.primitives.push((primitive, number));
        }
        number
    }

    /// The number of a type.
    fn ty(&mut self, ty: &Type) -> u32 {
        match ty {
            Type::Scalar(scalar) => {
                if let Some((_, number)) = self.scalars.iter().find(|(known, _)| known == scalar) {
                    return *number;
                }
                let number = self.leaf(Leaf::Type(ty.clone()));
                self.scalars.push((*scalar, number));
                number
            }
            other => self.leaf(Leaf::Type(other.clone())),
        }
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
    ) -> Option<Keyed> {
        let mut keyed = Keyed::Value;
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
                if effects.writes || effects.allocates || inst.ty == Type::Bottom {
                    return None;
                }
                if effects.reads && !constant_field {
                    keyed = Keyed::Load;
                    if !LOADS.contains(&primitive.name) {
                        return None;
                    }
                }
                key.extend([self.primitive(primitive), self.ty(&inst.ty)]);
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
        Some(keyed)
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
