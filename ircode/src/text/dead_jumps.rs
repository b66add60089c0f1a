//! Jumps that are never reached, in code that is not optimised.

use std::ops::Range;

use crate::constant::Constant;
use crate::names::Positions;
use crate::operand::Operand;
use crate::stmt::Stmt;
use crate::stream::InstructionStream;

/// Ends blocks whose last statement is the constant that inference puts in the place of a jump that is never reached,
/// `Core.Compiler.Const(:(return %5), false)`. In the middle of a block it is a value like others: Julia divides such
/// code into blocks when the constants are there, and they end none.
pub(super) fn end_blocks(stmts: &mut InstructionStream, blocks: &[Range<usize>]) {
    for block in blocks {
        if let Some(last) = stmts.stmts_mut().get_mut(block.clone()).and_then(<[_]>::last_mut)
            && is_dead_jump(last)
        {
            *last = Stmt::unreachable();
        }
    }
}

fn is_dead_jump(stmt: &Stmt<Positions>) -> bool {
    let Stmt::Call(call) = stmt else { return false };
    let Operand::Global(callee) = &call.callee else { return false };
    if !(callee.name == "Const" && matches!(&*callee.module, "Core" | "Core.Compiler")) {
        return false;
    }
    let Some(Operand::Quote(quoted)) = call.args.first() else { return false };
    matches!(&**quoted, Constant::Text(text) if text.starts_with(":(return ") || text.starts_with(":(goto "))
}
