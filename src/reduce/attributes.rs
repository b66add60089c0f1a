//! Clearing what does not matter to execution.

use std::sync::Arc;

use bbcode::BBCode;
use ircode::{CallInfo, DebugInfo, Instruction, LineInfo};

use super::Reducer;

/// Clears call infos, lines, flags, debug infos, meta expressions and static parameters.
pub(super) fn run(reducer: &mut Reducer<'_>) {
    let functions = reducer.functions();
    for clear in [clear_debuginfo as fn(&mut BBCode), |bb| bb.meta.clear(), |bb| bb.sptypes.clear()] {
        reducer.each(functions.clone(), |module, name| {
            let Some(body) = module.body_mut(name) else { return false };
            clear(body);
            true
        });
    }
    for clear in [
        (|inst| inst.info = CallInfo::default()) as fn(&mut Instruction<bbcode::Ids>),
        |inst| inst.line = LineInfo::NONE,
        |inst| inst.flag = 0,
    ] {
        let statements = reducer.statements();
        reducer.each(statements, |module, (name, id)| {
            let Some(inst) = module.body_mut(name).and_then(|body| body.inst_mut(*id)) else { return false };
            let before = (inst.info.clone(), inst.line, inst.flag);
            clear(inst);
            before != (inst.info.clone(), inst.line, inst.flag)
        });
    }
}

fn clear_debuginfo(bb: &mut BBCode) {
    bb.debuginfo = Arc::new(DebugInfo::default());
}
