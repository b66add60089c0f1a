//! Insertion and compaction against a model that keeps a plain list of statements with labels and rebuilds everything
//! after each step.

use arbitrary::{Result, Unstructured};
use ircode::{
    BlockNumber, CompactError, Compaction, Constant, IRCode, NewInstruction, Operand, Positions, Renumbered, SSAValue,
    Stmt, Type,
};

use crate::anything::anything;
use crate::laws::{Broken, Checked, broken};

const LAW: &str = "compaction is what the model does";

/// What compacts. Tests put a wrong one in its place, to see that it is found.
pub type Compact<'c> = &'c dyn Fn(&IRCode) -> std::result::Result<Compaction, CompactError>;

/// A statement of the model: its label, which operands name, and where it goes.
#[derive(Clone, Debug)]
struct Line {
    /// The name that it had when it was inserted; names are never given again before compaction.
    label: SSAValue,
    stmt: Stmt<Positions>,
    ty: Type,
}

/// The statements of each block, in the order in which they stand.
struct Model {
    blocks: Vec<Vec<Line>>,
    preds: Vec<Vec<BlockNumber>>,
    argtypes: Vec<Type>,
}

impl Model {
    fn of(ir: &IRCode) -> Model {
        let mut blocks = Vec::new();
        for block in &ir.cfg.blocks {
            let line = |index: usize| {
                let row = ir.stmts.get(index)?;
                Some(Line { label: SSAValue::from_index(index), stmt: row.stmt, ty: row.ty })
            };
            blocks.push(block.stmts.clone().filter_map(line).collect());
        }
        let preds = ir.cfg.blocks.iter().map(|block| block.preds.clone()).collect();
        Model { blocks, preds, argtypes: ir.argtypes.clone() }
    }

    fn find(&self, label: SSAValue) -> Option<(usize, usize)> {
        self.blocks
            .iter()
            .enumerate()
            .find_map(|(block, lines)| lines.iter().position(|line| line.label == label).map(|line| (block, line)))
    }

    fn line(&mut self, label: SSAValue) -> Option<&mut Line> {
        let (block, line) = self.find(label)?;
        self.blocks.get_mut(block)?.get_mut(line)
    }

    /// The type of an operand, as far as the code says.
    fn operand_type(&self, operand: &Operand<Positions>) -> Type {
        match operand {
            Operand::Value(label) => {
                self.find(*label).map_or(Type::Untyped, |(block, line)| self.blocks[block][line].ty.clone())
            }
            Operand::Argument(argument) => {
                argument.index().and_then(|index| self.argtypes.get(index)).cloned().unwrap_or(Type::Untyped)
            }
            Operand::Constant(constant) => constant.ty(),
            Operand::Quote(constant) => constant.ty(),
            Operand::Global(global) => global.known_value().map_or(Type::Untyped, |value| value.scalar_type().into()),
            Operand::Nested(_) => Type::Untyped,
        }
    }

    /// What a statement is a copy of.
    fn copied(&self, block: usize, line: &Line) -> Option<Operand<Positions>> {
        match &line.stmt {
            // It may be what ends its block.
            _ if line.ty == Type::Bottom => None,
            Stmt::Value(Operand::Global(_) | Operand::Nested(_)) => None,
            Stmt::Value(operand) => Some(operand.clone()),
            Stmt::Phi(phi) if block > 0 => match phi.entries.as_slice() {
                [entry] if self.preds.get(block).is_some_and(|preds| *preds == [entry.edge]) => entry.value.clone(),
                _ => None,
            },
            Stmt::Pi(pi) => (self.operand_type(&pi.value) == pi.ty).then(|| pi.value.clone()),
            _ => None,
        }
    }

    /// Removes copies one at a time, the uses of each renamed before the next is looked for; then numbers what is left.
    /// Returns the blocks, and for each label its number or what stands for it. `None` for copies in a circle, which
    /// only code that is not reached can hold: which of them stays is not said.
    #[allow(clippy::type_complexity, reason = "two lists that belong together")]
    fn compacted(mut self, labels: usize) -> Option<(Vec<Vec<Line>>, Vec<Option<Operand<Positions>>>)> {
        let mut stands_for: Vec<Option<Operand<Positions>>> = vec![None; labels];
        // What is a copy is so by the types that stand there before anything is removed.
        let copies: Vec<(SSAValue, Operand<Positions>)> = self
            .blocks
            .iter()
            .enumerate()
            .flat_map(|(block, lines)| lines.iter().map(move |line| (block, line)))
            .filter_map(|(block, line)| Some((line.label, self.copied(block, line)?)))
            .collect();
        let empty: Vec<Option<Line>> = self.blocks.iter().map(|lines| lines.first().cloned()).collect();
        for (label, at_first) in &copies {
            // By now its operand may have been renamed.
            let Some((block, line)) = self.find(*label) else { continue };
            let original = match &self.blocks[block][line].stmt {
                Stmt::Value(operand) => operand.clone(),
                Stmt::Pi(pi) => pi.value.clone(),
                Stmt::Phi(phi) => {
                    phi.entries.first().and_then(|entry| entry.value.clone()).unwrap_or_else(Operand::nothing)
                }
                _ => continue,
            };
            if original == Operand::Value(*label) {
                // A copy of itself stays.
                if *at_first != original {
                    return None;
                }
                continue;
            }
            self.blocks[block].remove(line);
            let rename = |operand: &mut Operand<Positions>| {
                if *operand == Operand::Value(*label) {
                    *operand = original.clone();
                }
            };
            for line in self.blocks.iter_mut().flatten() {
                line.stmt.for_each_operand_mut(&mut |operand| rename(operand));
            }
            stands_for.iter_mut().flatten().for_each(rename);
            if let Some(place) = label.index().and_then(|index| stands_for.get_mut(index)) {
                *place = Some(original);
            }
        }
        for (lines, first) in self.blocks.iter_mut().zip(empty) {
            if lines.is_empty() && first.is_some() {
                // No label names it: what it was is gone.
                lines.push(Line { label: SSAValue(0), stmt: Stmt::nothing(), ty: Type::Nothing });
            }
        }
        let mut numbers: Vec<Option<SSAValue>> = vec![None; labels];
        for (index, line) in self.blocks.iter().flatten().enumerate() {
            if let Some(place) = line.label.index().and_then(|label| numbers.get_mut(label)) {
                *place = Some(SSAValue::from_index(index));
            }
        }
        let number = |operand: &mut Operand<Positions>| {
            if let Operand::Value(label) = operand
                && let Some(Some(number)) = label.index().and_then(|label| numbers.get(label))
            {
                *label = *number;
            }
        };
        for line in self.blocks.iter_mut().flatten() {
            line.stmt.for_each_operand_mut(&mut |operand| number(operand));
        }
        stands_for.iter_mut().flatten().for_each(number);
        for (place, number) in stands_for.iter_mut().zip(&numbers) {
            if let Some(number) = number {
                *place = Some(Operand::Value(*number));
            }
        }
        Some((self.blocks, stands_for))
    }
}

/// Runs a random script of insertions, replacements and changes of types on random code, and compacts it.
///
/// # Errors
///
/// [`arbitrary::Error`] if `u` has no more bytes; inside, [`Broken`] where the model does something else.
pub fn compaction_is_right(u: &mut Unstructured<'_>, compact: Compact<'_>) -> Result<Checked> {
    let mut ir = anything(u)?.body;
    ir.new_nodes.clear();
    if ir.verify().is_err() {
        // Without what was pending, names may name nothing.
        return Ok(Ok(()));
    }
    let mut model = Model::of(&ir);
    for _ in 0..u.int_in_range(1..=10)? {
        let count = u32::try_from(ir.value_count()).unwrap_or(u32::MAX);
        let at = SSAValue(u.int_in_range(1..=count)?);
        let used: Operand<Positions> = match u.int_in_range(0..=3)? {
            0 | 1 => Operand::Value(SSAValue(u.int_in_range(1..=count)?)),
            2 => Constant::int64(7).into(),
            _ => Operand::argument(1),
        };
        match u.int_in_range(0..=7)? {
            0..=3 => {
                let after = u.ratio(1, 2)?;
                let ty = if u.ratio(1, 3)? { ir.operand_type(&used) } else { Type::INT64 };
                let stmt = match u.int_in_range(0..=4)? {
                    0 => Stmt::Value(used),
                    1 => Stmt::pi(used, ty.clone()),
                    2 => Stmt::nothing(),
                    3 => Stmt::phi([]),
                    _ => Stmt::call(Operand::global("Main", "f"), [used]),
                };
                let Ok(name) = ir.insert_node(at, NewInstruction::new(stmt.clone(), ty.clone()), after) else {
                    continue;
                };
                if let Err(broken) = insert(&mut model, &ir, at, after, Line { label: name, stmt, ty }) {
                    return Ok(Err(broken));
                }
            }
            4 | 5 => {
                let stmt = if u.ratio(1, 3)? { Stmt::nothing() } else { Stmt::Value(used) };
                let replaceable = |stmt: &Stmt<Positions>| !stmt.is_terminator() && !matches!(stmt, Stmt::Upsilon(_));
                if let (Some(place), Some(line)) = (ir.stmt_mut(at), model.line(at))
                    && replaceable(place)
                {
                    *place = stmt.clone();
                    line.stmt = stmt;
                }
            }
            _ => {
                let index = at.index().unwrap_or(0);
                if let (Some(ty), Some(line)) = (ir.stmts.types_mut().get_mut(index), model.line(at))
                    && !line.stmt.is_terminator()
                {
                    *ty = Type::BOOL;
                    line.ty = Type::BOOL;
                }
            }
        }
    }
    Ok(same(&ir, model, compact))
}

/// Puts a line where [`IRCode::insert_node`] says that it goes.
fn insert(model: &mut Model, ir: &IRCode, at: SSAValue, after: bool, line: Line) -> Checked {
    let len = ir.stmts.len();
    let placed = |label: SSAValue| label.index().is_some_and(|index| index < len);
    let side = |label: SSAValue| {
        label
            .index()
            .and_then(|index| ir.new_nodes.get(index.checked_sub(len)?))
            .map(|node| (node.anchor, node.attach_after))
    };
    // Next to a pending one, it goes to the same place.
    let (anchor, after) = side(at).unwrap_or((at, after));
    let Some((block, position)) = model.find(anchor).filter(|_| placed(anchor)) else {
        return Err(broken(LAW, format!("{at} is no place, but something was inserted there")));
    };
    let Some(lines) = model.blocks.get_mut(block) else { return Ok(()) };
    let mut to = position;
    if after {
        // Behind what went there before.
        to += 1;
        while lines.get(to).is_some_and(|line| side(line.label) == Some((anchor, true))) {
            to += 1;
        }
    }
    lines.insert(to, line);
    Ok(())
}

fn same(ir: &IRCode, model: Model, compact: Compact<'_>) -> Checked {
    let Some((blocks, stands_for)) = model.compacted(ir.value_count()) else { return Ok(()) };
    let compaction = compact(ir).map_err(|error| broken(LAW, error))?;
    let different = |what: &str, got: String, expected: String| -> Broken {
        let text = ircode::print_body(ir, ircode::Style::Bbkit);
        broken(LAW, format!("{what} is {got}, in the model {expected}, of\n{text}"))
    };
    let mut index = 0;
    for (number, (block, lines)) in compaction.ir.cfg.blocks.iter().zip(&blocks).enumerate() {
        if block.stmts != (index..index + lines.len()) {
            let expected = format!("{:?}", index..index + lines.len());
            return Err(different(&format!("the range of #{}", number + 1), format!("{:?}", block.stmts), expected));
        }
        for line in lines {
            let got = compaction.ir.stmts.get(index).map(|row| (row.stmt, row.ty));
            let expected = Some((line.stmt.clone(), line.ty.clone()));
            if got != expected {
                return Err(different(&format!("%{}", index + 1), format!("{got:?}"), format!("{expected:?}")));
            }
            index += 1;
        }
    }
    for (old, (got, expected)) in compaction.renumbering.iter().zip(&stands_for).enumerate() {
        let got = match got {
            Renumbered::Kept(value) => Operand::Value(*value),
            Renumbered::Replaced(operand) => operand.clone(),
        };
        if Some(&got) != expected.as_ref() {
            return Err(different(
                &format!("what became of %{}", old + 1),
                format!("{got:?}"),
                format!("{expected:?}"),
            ));
        }
    }
    let rest = (compaction.ir.stmts.len(), compaction.ir.cfg.blocks.len(), compaction.renumbering.len());
    let expected = (index, blocks.len(), stands_for.len());
    if rest != expected {
        return Err(different(
            "the number of statements, blocks and names",
            format!("{rest:?}"),
            format!("{expected:?}"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::bytes;

    fn caught(compact: Compact<'_>) -> usize {
        let check = |seed| compaction_is_right(&mut Unstructured::new(&bytes(seed)), compact);
        (0..500).filter(|&seed| matches!(check(seed), Ok(Err(_)))).count()
    }

    #[test]
    fn compaction_does_what_the_model_does() {
        for seed in 0..1500 {
            if let Ok(checked) = compaction_is_right(&mut Unstructured::new(&bytes(seed)), &IRCode::compact) {
                checked.unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
            }
        }
    }

    #[test]
    fn wrong_compactions_are_caught() {
        // What goes behind goes before.
        let before = |ir: &IRCode| {
            let mut ir = ir.clone();
            ir.new_nodes.iter_mut().for_each(|node| node.attach_after = false);
            ir.compact()
        };
        // The last two change places.
        let backwards = |ir: &IRCode| {
            let mut ir = ir.clone();
            let at = ir.new_nodes.len().saturating_sub(2);
            if let Some(pair) = ir.new_nodes.get_mut(at..).filter(|pair| pair.len() == 2) {
                pair.swap(0, 1);
            }
            ir.compact()
        };
        // The last insertion is forgotten.
        let forgets = |ir: &IRCode| {
            let mut compaction = ir.compact()?;
            if let Some(last) = compaction.renumbering.last_mut() {
                *last = Renumbered::Replaced(Operand::nothing());
            }
            Ok(compaction)
        };
        for wrong in [&before as Compact<'_>, &backwards, &forgets] {
            assert!(caught(wrong) > 30, "only {}", caught(wrong));
        }
    }
}
