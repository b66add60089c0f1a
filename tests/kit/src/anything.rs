//! Random code of every statement kind and head on any control-flow graph, most of it valid: what conversion, text and
//! JSON must carry, and what nothing may panic on.

mod bbcode;
mod leaves;
mod shape;
mod statements;

use arbitrary::{Result, Unstructured};
use ircode::{
    CallInfo, Constant, Function, Head, IRCode, Instruction, InstructionStream, JuliaVersion, LineInfo, NewInstruction,
    Operand, SSAValue, Stmt, Type,
};

pub use bbcode::anything_bbcode;
pub(crate) use leaves::random_type;
use leaves::{debuginfo, statement_type};
use shape::{Ending, Shape};
use statements::{Kind, Place, Writer};

/// A random function. What it computes has no meaning.
///
/// The control-flow graph is any: loops of any kind, blocks that are not reached, nested try regions. Values are used
/// wherever their definition dominates.
///
/// # Errors
///
/// If `u` has no more bytes.
pub fn anything(u: &mut Unstructured<'_>) -> Result<Function<IRCode>> {
    let julia = match u.ratio(1, 3)? {
        true => Some(JuliaVersion::new(1, *u.choose(&[12, 11, 10, 9, 5])?)),
        false => None,
    };
    let mut argtypes = vec![Type::function("f")];
    for _ in 0..u.int_in_range(0..=3)? {
        argtypes.push(random_type(u)?);
    }
    let mut sptypes = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        sptypes.push(random_type(u)?);
    }
    let shape = Shape::random(u, julia)?;
    let mut writer =
        Writer { shape: &shape, kinds: Vec::new(), arguments: argtypes.len(), static_parameters: sptypes.len() };
    let mut cfg = shape.cfg.clone();
    for (block, ending) in shape.endings.iter().enumerate() {
        let start = writer.kinds.len();
        // Without predecessors a φ has nothing to say.
        if !shape.preds(block).is_empty() {
            for _ in 0..u.int_in_range(0..=2)? {
                writer.kinds.push((block, Kind::Phi));
            }
        }
        for _ in 0..u.int_in_range(0..=4)? {
            writer.kinds.push((block, Kind::random(u, julia)?));
        }
        if ending.is_statement() {
            writer.kinds.push((block, Kind::End(*ending)));
        } else if writer.kinds.len() == start {
            writer.kinds.push((block, Kind::Copy));
        }
        cfg.blocks[block].stmts = start..writer.kinds.len();
    }
    let mut stmts = InstructionStream::default();
    for position in 0..writer.kinds.len() {
        let stmt = writer.statement(u, position)?;
        let ty = match &writer.kinds[position].1 {
            Kind::End(Ending::Never) => Type::Bottom,
            // Old versions type terminators as they like.
            Kind::End(_) if julia.is_none_or(|julia| julia >= JuliaVersion::new(1, 10)) => Type::Any,
            _ => statement_type(u)?,
        };
        stmts.push(instruction(u, stmt, ty)?);
    }
    let mut body = IRCode { stmts, cfg, argtypes, sptypes, julia, ..IRCode::default() };
    if u.ratio(1, 4)? {
        body.meta.push(Stmt::expr(Head::Meta, [Operand::Constant(Constant::Symbol("inline".into()))]));
    }
    body.debuginfo = debuginfo(u)?.into();
    // Sometimes something that nobody would write.
    if u.ratio(1, 5)? {
        let at = SSAValue::from_index(u.choose_index(body.stmts.len().max(1))?);
        let place = Place::next_to(body.block_of(at), at.index().unwrap_or(0));
        let kind = Kind::random(u, julia)?;
        let stmt = writer.statement_of(u, &kind, place)?;
        // Where it cannot be inserted, there is nothing pending.
        let _ = body.insert_node(at, NewInstruction::new(stmt, random_type(u)?), u.ratio(1, 2)?);
    }
    let named = body.argtypes.len() > 2 && u.ratio(1, 2)?;
    let name = |index: usize| index.is_multiple_of(2).then(|| format!("p{index}").into());
    let parameters = if named { (1..body.argtypes.len()).map(name).collect() } else { Vec::new() };
    Ok(Function { name: "f".into(), parameters, varargs: u.arbitrary()?, result: random_type(u)?, body })
}

/// A statement with the other columns.
fn instruction(
    u: &mut Unstructured<'_>,
    stmt: Stmt<ircode::Positions>,
    ty: Type,
) -> Result<Instruction<ircode::Positions>> {
    let info = if u.ratio(1, 10)? { Some("MethodMatchInfo(…)".into()) } else { None };
    let line = match u.ratio(1, 4)? {
        true => LineInfo::from([u.int_in_range(0..=9)?, u.int_in_range(0..=1)?, u.int_in_range(0..=3)?]),
        false => LineInfo::from(u.int_in_range(0..=9)?),
    };
    Ok(Instruction { stmt, ty, info: CallInfo(info), line, flag: u32::from(u.int_in_range(0..=3u8)?) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::laws::comes_back;
    use crate::seeds::{bytes, for_each};

    fn generated(count: u64) -> impl Iterator<Item = Function<IRCode>> {
        (0..count).filter_map(|seed| anything(&mut Unstructured::new(&bytes(seed))).ok())
    }

    #[test]
    fn most_of_it_is_valid() {
        let mut refused: BTreeMap<String, (usize, String)> = BTreeMap::new();
        let mut valid = 0;
        for function in generated(2000) {
            match function.body.verify() {
                Ok(()) => valid += 1,
                Err(violations) => {
                    let first = &violations.0[0];
                    refused.entry(first.check.code().into()).or_insert((0, first.to_string())).0 += 1;
                }
            }
        }
        assert!(valid >= 1700, "only {valid} of 2000 are valid: {refused:?}");
    }

    fn variant(stmt: &Stmt<ircode::Positions>) -> String {
        let text = format!("{stmt:?}");
        text.split(['(', ' ']).next().unwrap_or_default().to_string()
    }

    #[test]
    fn there_is_every_kind_of_statement_and_of_control_flow() {
        let mut missing: Vec<String> = ircode::HEADS.iter().map(|(head, _)| format!("{head:?}")).collect();
        missing.push("Other".into());
        let variants = "Value Phi Pi PhiC Upsilon Goto GotoIfNot Return Enter Call Invoke Expr";
        missing.extend(variants.split(' ').map(String::from));
        let (mut irreducible, mut exceptional, mut unreached, mut self_loops, mut virtual_entries) = (0, 0, 0, 0, 0);
        let (mut across, mut later, mut nested_tries, mut partial_phis, mut scopes) = (0, 0, 0, 0, 0);
        for function in generated(2000) {
            let body = &function.body;
            let verified = body.verify().is_ok();
            for stmt in body.stmts.stmts() {
                let mut names = vec![variant(stmt)];
                if let Stmt::Expr(expr) = stmt {
                    names.push(format!("{:?}", expr.head).split('(').next().unwrap_or_default().to_string());
                }
                if verified {
                    missing.retain(|name| !names.contains(name));
                }
            }
            if !verified {
                continue;
            }
            let view = ircode::Body::view(body);
            let graph = view.graph();
            let domtree = graph.dominators();
            irreducible += usize::from(graph.loops().iter().any(|(_, each)| each.irreducible));
            unreached += usize::from((0..graph.len()).any(|block| !domtree.is_reachable(block)));
            self_loops += usize::from((0..graph.len()).any(|block| graph.successors(block).any(|to| to == block)));
            virtual_entries += usize::from(body.cfg.blocks[0].preds.contains(&ircode::BlockNumber::VIRTUAL));
            let mut catches = 0;
            for statement in &view.statements {
                let block = statement.block.unwrap_or(0);
                if !domtree.is_reachable(block) {
                    continue;
                }
                if let Stmt::Enter(enter) = statement.stmt {
                    catches += usize::from(enter.catch_dest.is_some());
                    scopes += usize::from(enter.scope.is_some() && enter.catch_dest.is_none());
                }
                if let Stmt::Phi(phi) = statement.stmt {
                    partial_phis += usize::from(phi.entries.len() < body.cfg.blocks[block].preds.len());
                }
                statement.stmt.for_each_use(|value| {
                    let from = body.block_of(value).and_then(ircode::BlockNumber::index).unwrap_or(0);
                    across += usize::from(from != block && from != 0);
                    later += usize::from(from > block && !matches!(statement.stmt, Stmt::Phi(_) | Stmt::PhiC(_)));
                });
            }
            exceptional += usize::from(catches > 0);
            nested_tries += usize::from(catches > 1);
        }
        assert!(missing.is_empty(), "never made: {missing:?}");
        let counts = [
            ("irreducible loops", irreducible, 20),
            ("exceptional edges", exceptional, 100),
            ("blocks that are not reached", unreached, 100),
            ("loops of one block", self_loops, 100),
            ("virtual predecessors of the entry", virtual_entries, 50),
            ("uses in other blocks", across, 1000),
            ("uses that stand before their definition", later, 20),
            ("several tries", nested_tries, 20),
            ("φs without an edge", partial_phis, 50),
            ("scopes without a catch block", scopes, 5),
        ];
        for (what, count, least) in counts {
            assert!(count >= least, "{what}: only {count}; all: {counts:?}");
        }
    }

    #[test]
    fn code_in_any_layout_comes_back() {
        let (mut made, mut switches, mut odd_layouts) = (0, 0, 0);
        for seed in 0..1000 {
            let bytes = bytes(seed);
            let Ok(function) = anything_bbcode(&mut Unstructured::new(&bytes)) else { continue };
            made += usize::from(function.body.verify().is_ok());
            let has_switch = |(_, inst): (_, &ircode::Instruction<_>)| matches!(inst.stmt, Stmt::Switch(_));
            switches += usize::from(function.body.all_insts().any(has_switch));
            odd_layouts += usize::from(!function.body.is_laid_out());
        }
        assert!(made > 700 && switches > 300 && odd_layouts > 400, "{made}, {switches}, {odd_layouts}");
        for_each(1000, anything_bbcode, |function| comes_back(function, &bbkit::Ways::default())).unwrap();
    }
}
