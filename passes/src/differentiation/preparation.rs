//! Making a function ready to be differentiated, in either mode.

use std::sync::Arc;

use bbcode::{BBCode, BlockId, Ids, InstId};
use ircode::{Constant, DebugInfo, Function, LineInfo, Module, Name, NewInstruction, Operand, Scalar, Stmt, Type};

use crate::builder::FunctionBuilder;
use crate::differentiation::dispatch::{self, Candidate};
use crate::manager::Context;
use crate::rules::{RuleKind, RuleTable};
use crate::{
    PassError, arithmetic_splitting, assert_numbers, closure_folding, constant_folding, copy_elements,
    copy_propagation, infer_types, lambda_lifting, lower_arithmetic, lower_broadcast, lower_copies, lower_fields,
    lower_projections, lower_signs, mem2reg, simplify_cfg, type_literals, unknown_calls, unreachable_code,
};

/// How deep slots may hold the addresses of others that become values.
const SLOTS_IN_SLOTS: usize = 8;

/// How many tests of types may stand one behind the other of which each decides what the next one asks for.
const TESTS_BEHIND_TESTS: usize = 8;

/// The position, counted from 0, of the part of a value that this number names, counted from 1. No value has more parts
/// than a `u32` counts.
pub(crate) fn part_index(number: &Scalar) -> Option<usize> {
    let index = u32::try_from(number.to_i128().checked_sub(1)?).ok()?;
    usize::try_from(index).ok()
}

/// A function that has a derivative rule of its own, as one that calls it: what is asked for as a derivative of it is
/// by the rule, too.
pub(crate) fn by_its_rule(
    pass: &'static str,
    rules: &RuleTable,
    kind: RuleKind,
    function: &Function<BBCode>,
) -> Result<Option<Function<BBCode>>, PassError> {
    let types = function.body.argtypes.get(1..).unwrap_or_default();
    if function.varargs || rules.find_function(&function.name, kind, types).is_none() {
        return Ok(None);
    }
    let mut caller = FunctionBuilder::new(function.name.clone(), function.result.clone());
    let arguments: Vec<Operand<Ids>> = types.iter().map(|ty| caller.parameter("", ty.clone())).collect();
    let callee = Operand::Constant(Constant::Function(function.name.clone()));
    let result = caller.push(Stmt::call(callee, arguments), function.result.clone());
    caller.ret(result);
    let caller = caller.finish().map_err(|error| PassError::new(pass, &function.name, error.to_string()))?;
    Ok(Some(Function { parameters: function.parameters.clone(), ..caller }))
}

/// What is done with arithmetic on operands of which only the run knows whether they are numbers, and of which types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpenArithmetic {
    /// It stays, and has no derivative.
    Stays,
    /// The run asks for the numbers that they mostly are.
    Asks,
}

/// What is derived of a module: without looking at what open arithmetic may be, which the run would have to ask for
/// each time, and if that has no derivative, with it. The error is what is left then.
pub(crate) fn derived<T, E>(module: &Module<BBCode>, derive: impl Fn(OpenArithmetic) -> Result<T, E>) -> Result<T, E> {
    derive(OpenArithmetic::Stays).or_else(|error| {
        match module.functions().iter().any(|function| arithmetic_splitting::may_have_open(function, module)) {
            true => derive(OpenArithmetic::Asks),
            false => Err(error),
        }
    })
}

/// A copy of the body of a function in which slots are values, generic arithmetic and maps are what they do, types and
/// callees are known as far as they follow, calls of values go to the candidates, every block is reachable, φs name all
/// their edges, and every statement remembers which one of the function it comes from.
pub(crate) fn prepared_body(
    pass: &'static str,
    module: &Module<BBCode>,
    function: &Function<BBCode>,
    candidates: &[Candidate],
    open_arithmetic: OpenArithmetic,
) -> Result<BBCode, PassError> {
    let mut bb = function.body.clone();
    bb.name_phi_edges();
    remember_origins(&mut bb, &function.name);
    name_global_constants(&mut bb, module);
    let context = Context { module, function: &function.name };
    for run in [unreachable_code::run, copy_elements::run, unknown_calls::run] {
        run(&mut bb, &context)?;
    }
    // What would be done with a value of another type is never done. φs that are left with one value are that, of which
    // more is known.
    for _ in 0..TESTS_BEHIND_TESTS {
        constant_folding::run(&mut bb, &context)?;
        if !simplify_cfg::fold_constant_branches(&mut bb) {
            break;
        }
        unreachable_code::run(&mut bb, &context)?;
        copy_propagation::run(&mut bb, &context)?;
    }
    for run in [
        type_literals::run,
        infer_types::run,
        lower_broadcast::run,
        lower_copies::run,
        assert_numbers::run,
        arithmetic_splitting::run,
        lower_arithmetic::run,
        lower_fields::run,
        lower_signs::run,
    ] {
        run(&mut bb, &context)?;
    }
    copy_elements::refuse_addresses(pass, &bb, &context)?;
    lambda_lifting::refuse_self(pass, &bb, &context)?;
    // A slot may hold the address of another one, which is a variable like others once the first is gone.
    for _ in 0..SLOTS_IN_SLOTS {
        if !(lower_projections::run(&mut bb, &context)? | mem2reg::run(&mut bb, &context)?) {
            break;
        }
    }
    closure_folding::run(&mut bb, &context)?;
    if infer_types::run(&mut bb, &context)? {
        arithmetic_splitting::run(&mut bb, &context)?;
        lower_arithmetic::run(&mut bb, &context)?;
    }
    bb.remove_unreachable_blocks();
    let dispatched = dispatch::dispatch(module, &mut bb, candidates);
    if dispatched.map_err(|error| PassError::because(pass, &function.name, error))? {
        // What a candidate returns is known where it is called.
        infer_and_lower(&mut bb, &context)?;
    }
    if open_arithmetic == OpenArithmetic::Asks {
        ask_for_numbers(&mut bb, &context)?;
    }
    Ok(bb)
}

/// Splits open arithmetic until what follows of it is split, too.
fn ask_for_numbers(bb: &mut BBCode, context: &Context<'_>) -> Result<(), PassError> {
    while arithmetic_splitting::run_on_open(bb, context)? {
        infer_and_lower(bb, context)?;
    }
    Ok(())
}

/// Finds types that are known now, and turns arithmetic on such numbers into intrinsics.
fn infer_and_lower(bb: &mut BBCode, context: &Context<'_>) -> Result<(), PassError> {
    for run in [infer_types::run, arithmetic_splitting::run, lower_arithmetic::run] {
        run(bb, context)?;
    }
    Ok(())
}

/// Lets statements read global constants that other ones have as operands: so they have types.
fn name_global_constants(bb: &mut BBCode, module: &Module<BBCode>) {
    if module.global_constants().is_empty() {
        return;
    }
    let mut users: Vec<InstId> = Vec::new();
    for (id, inst) in bb.all_insts() {
        let mut uses = false;
        inst.stmt.for_each_operand(&mut |operand| uses |= module.type_of_global(operand).is_some());
        if uses {
            users.push(id);
        }
    }
    for id in users {
        let Some(inst) = bb.inst(id) else { continue };
        let (mut stmt, line) = (inst.stmt.clone(), inst.line);
        if let (Stmt::Value(operand), true) = (&stmt, matches!(inst.ty, Type::Untyped | Type::Any)) {
            if let (Some(ty), Some(inst)) = (module.type_of_global(operand), bb.inst_mut(id)) {
                inst.ty = ty.clone();
            }
            continue;
        }
        // A φ takes it from the end of the block that it comes from.
        let edges: Vec<Option<BlockId>> = match &stmt {
            Stmt::Value(_) => continue,
            Stmt::Phi(phi) => {
                phi.entries.iter().filter(|entry| entry.value.is_some()).map(|entry| Some(entry.edge)).collect()
            }
            _ => Vec::new(),
        };
        let mut edges = edges.into_iter();
        stmt.for_each_operand_mut(&mut |operand| {
            let edge = edges.next().flatten();
            let Some(ty) = module.type_of_global(operand) else { return };
            let read = NewInstruction::new(Stmt::Value(operand.clone()), ty.clone()).with_line(line);
            let read = match edge {
                Some(edge) => bb.insert_before_terminator(edge, read),
                None => bb.insert_before(id, read),
            };
            if let Ok(read) = read {
                *operand = Operand::Value(read);
            }
        });
        if let Some(inst) = bb.inst_mut(id) {
            inst.stmt = stmt;
        }
    }
}

/// Lets every statement say which statement of the function it is, in the manner of Julia 1.12: by an edge to the debug
/// info of the function and the number of the statement there.
fn remember_origins(bb: &mut BBCode, name: &Name) {
    let ids: Vec<_> = bb.all_insts().map(|(id, inst)| (id, inst.line)).collect();
    bb.debuginfo = Arc::new(debug_info_of_copy(bb, name));
    for (position, (id, line)) in ids.into_iter().enumerate() {
        if let Some(inst) = bb.inst_mut(id) {
            inst.line = origin_line(line, position);
        }
    }
}

/// The debug info of code of which each statement says which one of this function it is.
pub(crate) fn debug_info_of_copy(bb: &BBCode, name: &Name) -> DebugInfo {
    let original = DebugInfo {
        def: Some(name.clone()),
        codelocs: bb.all_insts().map(|(_, inst)| inst.line).collect(),
        ..(*bb.debuginfo).clone()
    };
    DebugInfo { edges: vec![Arc::new(original)], ..(*bb.debuginfo).clone() }
}

/// The line of what is made of the statement at this position, counted from 0.
pub(crate) fn origin_line(line: LineInfo, position: usize) -> LineInfo {
    LineInfo { line: line.line, edge: 1, pc: position as i32 + 1 }
}
