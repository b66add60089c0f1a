//! Keys of statements and blocks that do not depend on names: what stands for each other in two programs has the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use bbcode::Ids;
use ircode::{Instruction, Operand, Stmt, SwitchNode};

use super::side::Side;

/// How many hashes of its statements tell what a block is like.
const SKETCH: usize = 16;

/// The keys of a function, from the strongest to the weakest. Equal functions have equal keys; that different ones have
/// different keys is likely, and nothing but the choice of what is compared depends on it.
pub(super) struct Keys {
    /// What a statement computes, from what, four statements deep.
    pub(super) deep: Vec<u64>,
    /// What a statement computes, from what kind of operand.
    pub(super) near: Vec<u64>,
    /// The statement without the values and blocks that it names.
    pub(super) shape: Vec<u64>,
    /// Its kind and what it calls.
    pub(super) kind: Vec<u64>,
    /// Its kind and its type.
    pub(super) class: Vec<u64>,
    /// For every block: its statements and those of the blocks around it.
    pub(super) surroundings: Vec<u64>,
    /// Its statements, four statements deep.
    pub(super) content: Vec<u64>,
    /// Its statements without what they name.
    pub(super) outline: Vec<u64>,
    /// The smallest hashes of its statements without what they name, increasing.
    pub(super) sketch: Vec<Vec<u64>>,
}

/// A hash that is the same on every run.
pub(super) fn hash(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

impl Keys {
    /// From the [`shapes`] of the statements.
    pub(super) fn new(side: &Side<'_>, shape: Vec<u64>) -> Keys {
        let kind = side.statements.iter().map(|(_, inst)| kind(&inst.stmt)).collect();
        let class = side.statements.iter().map(|(_, inst)| hash((discriminant(&inst.stmt), &inst.ty))).collect();
        let near = deeper(side, &shape, &shape);
        let deep = (0..3).fold(near.clone(), |keys, _| deeper(side, &shape, &keys));
        let outline = block_keys(side, &shape);
        let content = block_keys(side, &deep);
        let surroundings = (0..3).fold(content.clone(), |keys, _| around(side, &keys));
        let sketch = side.blocks.iter().map(|block| {
            let mut hashes: Vec<u64> = shape[block.phis.start..block.body.end].to_vec();
            hashes.sort_unstable();
            hashes.dedup();
            hashes.truncate(SKETCH);
            hashes
        });
        Keys { sketch: sketch.collect(), deep, near, shape, kind, class, surroundings, content, outline }
    }
}

/// Whether two blocks are alike, by their sketches: at least half of the smallest hashes of both together are in both
/// (the estimate of Broder's min-wise hashing).
pub(super) fn alike(a: &[u64], b: &[u64]) -> bool {
    let (mut i, mut j, mut both, mut seen) = (0, 0, 0, 0);
    while seen < SKETCH && (i < a.len() || j < b.len()) {
        let order = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => x.cmp(y),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
        both += usize::from(order.is_eq());
        seen += 1;
    }
    2 * both >= seen
}

/// Every statement without the values and blocks that it names. With `all`, statements with other lines, flags or infos
/// have other keys.
pub(super) fn shapes(side: &Side<'_>, all: bool) -> Vec<u64> {
    side.statements.iter().map(|(_, inst)| shape(inst, all)).collect()
}

/// The statement with its type, without the values and blocks that it names.
fn shape(inst: &Instruction<Ids>, all: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    if all {
        (&inst.info, inst.line, inst.flag).hash(&mut hasher);
    }
    inst.ty.hash(&mut hasher);
    own_parts(&inst.stmt, &mut hasher);
    match &inst.stmt {
        // The order of the entries means nothing.
        Stmt::Phi(phi) => {
            let sum = phi.entries.iter().map(|entry| entry.value.as_ref().map_or(1, operand_key));
            (phi.entries.len(), sum.fold(0, u64::wrapping_add)).hash(&mut hasher);
        }
        stmt => stmt.for_each_operand(&mut |each| operand_key(each).hash(&mut hasher)),
    }
    hasher.finish()
}

/// What a statement holds beside operands and blocks.
fn own_parts(stmt: &Stmt<Ids>, hasher: &mut DefaultHasher) {
    discriminant(stmt).hash(hasher);
    match stmt {
        Stmt::Pi(pi) => pi.ty.hash(hasher),
        Stmt::PhiC(phic) => phic.values.len().hash(hasher),
        Stmt::Upsilon(upsilon) => upsilon.value.is_some().hash(hasher),
        Stmt::Return(ret) => ret.value.is_some().hash(hasher),
        Stmt::Enter(enter) => (enter.catch_dest.is_some(), enter.scope.is_some()).hash(hasher),
        Stmt::Switch(switch) => switch.conditions().len().hash(hasher),
        Stmt::Call(call) => call.args.len().hash(hasher),
        Stmt::Invoke(invoke) => (&invoke.instance, invoke.args.len()).hash(hasher),
        Stmt::Expr(expr) => (&expr.head, expr.args.len()).hash(hasher),
        Stmt::Value(_) | Stmt::Phi(_) | Stmt::Goto(_) | Stmt::GotoIfNot(_) => {}
    }
}

/// An operand without the value it names. What an expression inside holds is visited after it.
pub(super) fn operand_key(operand: &Operand<Ids>) -> u64 {
    let mut hasher = DefaultHasher::new();
    discriminant(operand).hash(&mut hasher);
    match operand {
        Operand::Value(_) => {}
        Operand::Argument(argument) => argument.hash(&mut hasher),
        Operand::Global(global) => global.hash(&mut hasher),
        Operand::Constant(constant) => constant.hash(&mut hasher),
        Operand::Quote(constant) => constant.hash(&mut hasher),
        Operand::Nested(nested) => own_parts(nested, &mut hasher),
    }
    hasher.finish()
}

fn kind(stmt: &Stmt<Ids>) -> u64 {
    match (stmt.as_call(), stmt) {
        (Some((callee, _)), _) => hash((discriminant(stmt), operand_key(callee))),
        (None, Stmt::Expr(expr)) => hash((discriminant(stmt), &expr.head)),
        _ => hash(discriminant(stmt)),
    }
}

/// The keys of all statements together with those of the values they use.
fn deeper(side: &Side<'_>, shape: &[u64], keys: &[u64]) -> Vec<u64> {
    let of = |value| side.value(value).map_or(0, |index| keys[index]);
    let key = |(index, (_, inst)): (usize, &(_, &Instruction<Ids>))| match &inst.stmt {
        Stmt::Phi(_) => {
            let mut sum = 0u64;
            inst.stmt.for_each_use(|value| sum = sum.wrapping_add(hash(of(value))));
            hash((shape[index], sum))
        }
        stmt => {
            let mut hasher = DefaultHasher::new();
            shape[index].hash(&mut hasher);
            stmt.for_each_use(|value| of(value).hash(&mut hasher));
            hasher.finish()
        }
    };
    side.statements.iter().enumerate().map(key).collect()
}

/// The keys of blocks, from those of their statements: the order of φs means nothing.
fn block_keys(side: &Side<'_>, keys: &[u64]) -> Vec<u64> {
    let key = |block: &super::side::SideBlock| {
        let phis = keys[block.phis.clone()].iter().fold(0u64, |sum, &key| sum.wrapping_add(hash(key)));
        hash((phis, &keys[block.body.clone()], block.succs.len()))
    };
    side.blocks.iter().map(key).collect()
}

/// The keys of blocks together with those of their successors and predecessors.
fn around(side: &Side<'_>, keys: &[u64]) -> Vec<u64> {
    let mut before = vec![0u64; keys.len()];
    for (number, block) in side.blocks.iter().enumerate() {
        for &succ in &block.succs {
            before[succ] = before[succ].wrapping_add(hash(keys[number]));
        }
    }
    let after = side.blocks.iter().map(|block| block.succs.iter().map(|&succ| keys[succ]).collect::<Vec<_>>());
    keys.iter().zip(before).zip(after).map(|((&key, before), after)| hash((key, before, after))).collect()
}
