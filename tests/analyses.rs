//! Analyses against their definitions, on random code of every kind. (Dominators, post-dominators, frontiers and loops
//! are held against theirs on random graphs, in `ircode/src/graph`.)

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::collections::BTreeSet;

use bbkit::bbcode::{BBCode, BlockId, InstId};
use bbkit::ircode::{Body, Function, IRCode, Operand, Stmt};
use kit::anything::anything;
use kit::seeds::for_each;

type Sets = Vec<BTreeSet<InstId>>;

/// Liveness by iterating its equations until nothing changes.
fn live_by_equations(bb: &BBCode) -> (Sets, Sets) {
    let blocks: Vec<BlockId> = bb.blocks().collect();
    let number = |block: BlockId| blocks.iter().position(|&other| other == block);
    // What φs take from each block.
    let mut taken: Sets = vec![BTreeSet::new(); blocks.len()];
    for (_, inst) in bb.all_insts() {
        if let Stmt::Phi(phi) = &inst.stmt {
            for entry in &phi.entries {
                let value = entry.value.as_ref().and_then(Operand::as_value);
                if let (Some(value), Some(block)) = (value, number(entry.edge)) {
                    taken[block].insert(value);
                }
            }
        }
    }
    for edge in bb.view().unnamed_phi_edges() {
        if let (Some(value), Some(block)) = (edge.value.as_value(), number(edge.pred)) {
            taken[block].insert(value);
        }
    }
    let (mut live_in, mut live_out): (Sets, Sets) = (vec![BTreeSet::new(); blocks.len()], taken.clone());
    loop {
        let mut changed = false;
        for (at, &block) in blocks.iter().enumerate().rev() {
            let mut live = taken[at].clone();
            for succ in bb.successors(block) {
                live.extend(number(succ).map(|succ| live_in[succ].clone()).unwrap_or_default());
            }
            changed |= live != live_out[at];
            live_out[at] = live.clone();
            // Definitions of the block, whatever their order: code that is not reached may use before it defines.
            let defined: BTreeSet<InstId> = bb.inst_ids(block).collect();
            for (_, inst) in bb.insts(block).filter(|(_, inst)| inst.stmt.as_phi().is_none()) {
                inst.stmt.for_each_use(|value| {
                    live.insert(value);
                });
            }
            let live: BTreeSet<InstId> = live.difference(&defined).copied().collect();
            changed |= live != live_in[at];
            live_in[at] = live;
        }
        if !changed {
            return (live_in, live_out);
        }
    }
}

#[test]
fn liveness_is_what_its_equations_say() {
    let live = std::cell::Cell::new(0);
    for_each(1_000, anything, |function: &Function<IRCode>| {
        let Ok(bb) = BBCode::try_from(&function.body) else { return Ok(()) };
        if bb.verify().is_err() {
            return Ok(());
        }
        let (live_in, live_out) = live_by_equations(&bb);
        let liveness = bb.liveness();
        for (at, block) in bb.blocks().enumerate() {
            let found = |values: &[InstId]| values.iter().copied().collect::<BTreeSet<InstId>>();
            let (found_in, found_out) = (found(liveness.live_in(block)), found(liveness.live_out(block)));
            if found_in != live_in[at] || found_out != live_out[at] {
                return Err(format!(
                    "{block}: {found_in:?} {found_out:?}, not {:?} {:?}\n{bb}",
                    live_in[at], live_out[at]
                ));
            }
            if liveness.live_out(block).len() != found_out.len() {
                return Err(format!("{block}: a value is named twice"));
            }
            live.set(live.get() + found_in.len());
        }
        Ok(())
    })
    .unwrap();
    assert!(live.get() > 1_000, "there was something to find: {}", live.get());
}

#[test]
fn an_analysis_is_computed_again_when_the_control_flow_has_changed() {
    for_each(300, anything, |function: &Function<IRCode>| {
        let Ok(mut bb) = BBCode::try_from(&function.body) else { return Ok(()) };
        let (cfg, dominators, loops) = (bb.cfg(), bb.dominators(), bb.loops());
        let unchanged = std::sync::Arc::ptr_eq(&cfg, &bb.cfg()) && std::sync::Arc::ptr_eq(&loops, &bb.loops());
        let last = bb.blocks().last();
        let new = bb.push_block();
        let fresh = bb.cfg().number(new).is_some() && cfg.number(new).is_none();
        let again = !std::sync::Arc::ptr_eq(&dominators, &bb.dominators());
        match last.is_none() || unchanged && fresh && again {
            true => Ok(()),
            false => Err(format!("an analysis is out of date:\n{bb}")),
        }
    })
    .unwrap();
}

#[test]
fn threads_that_share_code_are_told_the_same_users_and_predecessors() {
    for_each(100, anything, |function: &Function<IRCode>| {
        let Ok(bb) = BBCode::try_from(&function.body) else { return Ok(()) };
        let ask = || {
            let users: Vec<_> = bb.all_insts().map(|(id, _)| bb.users(id)).collect();
            let predecessors: Vec<_> = bb.blocks().map(|block| bb.predecessors(block)).collect();
            (users, predecessors)
        };
        let (here, there) = std::thread::scope(|scope| {
            let there = scope.spawn(ask);
            (ask(), there.join().unwrap())
        });
        let used: usize = here.0.iter().map(Vec::len).sum();
        let mut named = 0;
        for (_, inst) in bb.all_insts() {
            inst.stmt.for_each_use(|value| named += usize::from(bb.inst(value).is_some()));
        }
        match here == there && used == named {
            true => Ok(()),
            false => Err(format!("{here:?} and {there:?} for {named} uses:\n{bb}")),
        }
    })
    .unwrap();
}
