//! Turns switches into branches.

use bbcode::BBCode;

use crate::PassResult;
use crate::manager::Context;

/// The pass's name on the command line.
pub const NAME: &str = "lower-switch";

/// Turns every switch into goto-if-nots, one to a block, and a final goto, as [`BBCode::lower_switch_statements`] says.
/// True if there was one. Conversion to IRCode, which has no switches, does the same; as a pass it is for what is to
/// see the branches before.
///
/// ```
/// use bbcode::{BBCode, Switch};
/// use ircode::{Argument, Function, Module, NewInstruction, Operand, Stmt, Type};
/// use passes::{PassManager, find_pass};
///
/// let mut bb = BBCode::new(vec![Type::function("f"), Type::BOOL, Type::BOOL]);
/// let [entry, a, b] = [(); 3].map(|()| bb.push_block());
/// let switch = Switch::new([(Argument(2).into(), a), (Argument(3).into(), a)], b);
/// bb.push(entry, NewInstruction::new(Stmt::Switch(switch), Type::Any))?;
/// let phi = bb.push(a, NewInstruction::new(Stmt::phi([(entry, Some(Argument(3).into()))]), Type::BOOL))?;
/// bb.push(a, NewInstruction::new(Stmt::ret(Operand::Value(phi)), Type::Any))?;
/// bb.push(b, NewInstruction::new(Stmt::ret(true), Type::Any))?;
/// let mut module = Module::new();
/// module.add_function(Function::new("f", Type::BOOL, bb))?;
/// PassManager::new([find_pass("lower-switch")?]).verify_each(true).run(&mut module, None)?;
/// assert_eq!(module.functions()[0].body.to_string(), "\
/// 1 ─ %1 = nothing::Any
/// └── next #4
/// 4 ─ %5 = goto #2 if not _2
/// └── next #5
/// 5 ─ %6 = goto #2 if not _3
/// └── next #6
/// 6 ─ %7 = goto #3
/// 2 ┄ %2 = φ (#4 => _3, #5 => _3)::Bool
/// └── %3 = return %2
/// 3 ─ %4 = return true
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(bb: &mut BBCode, _: &Context<'_>) -> PassResult {
    Ok(bb.lower_switch_statements())
}
