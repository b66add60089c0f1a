//! Writing the statements of rules, without those that are known to be one of their operands, or a constant, or there already.

use std::sync::Arc;

use bbcode::{BBCode, BlockId, Ids, InstId};
use hashbrown::HashMap;
use ircode::primitives::{self, Primitive};
use ircode::tangents::Tangent;
use ircode::{CallNode, LineInfo, Module, NewInstruction, Operand, Operands, Positions, ScalarType, Stmt, Type};
use smallvec::SmallVec;

use super::args_of;
use crate::constant_folding;
use crate::reverse_mode::at_hand::costly;
use crate::reverse_mode::emit::callee;
use crate::reverse_mode::tangent_code::zero;
use crate::rules::{Bindings, Rule};

/// The statements of a rule that the wanted outputs need.
pub(super) struct Written {
    steps: Vec<Step>,
    /// The wanted operands, with their cotangents.
    outputs: SmallVec<[(usize, Part); 2]>,
}

/// What is added to the cotangents of operands, by their positions.
pub(super) type Cotangents = SmallVec<[(usize, Operand<Ids>); 2]>;

/// What a statement calls.
#[derive(Clone)]
pub(super) struct Called {
    callee: Operand<Ids>,
    primitive: &'static Primitive,
}

impl Called {
    /// A primitive that has this name in any module.
    pub(super) fn of(module: &str, name: &str) -> Option<Called> {
        Some(Called { callee: callee(module, name), primitive: primitives::lookup(name)? })
    }
}

/// A statement of a rule.
struct Step {
    called: Called,
    args: SmallVec<[Part; 3]>,
    ty: Type,
    /// The function that it computes of an operand, if that takes so long that it is worth asking whether its value is there already.
    costly: Option<(&'static str, usize)>,
}

/// What a statement of a rule is given.
#[derive(Clone)]
enum Part {
    /// A parameter of the rule: from 1 on the operands, the result, the seed.
    Parameter(usize),
    /// What an earlier step gives.
    Step(usize),
    Always(Operand<Ids>),
}

impl Written {
    /// The statements of a rule that the cotangents of the wanted operands need; `None` if one of them is no call of a primitive.
    pub(super) fn of(module: &Module<BBCode>, rule: &Rule, bindings: &Bindings, wanted: &[usize]) -> Option<Written> {
        let slice = rule.slice(wanted);
        // The step that each statement is.
        let mut numbers: SmallVec<[Option<usize>; 8]> = SmallVec::from_elem(None, slice.statements.len());
        let mut steps: Vec<Step> = Vec::new();
        let part = |operand: &Operand<Positions>, numbers: &[Option<usize>]| match operand {
            Operand::Value(value) => numbers.get(value.index()?).copied().flatten().map(Part::Step),
            Operand::Argument(argument) => argument.index()?.checked_sub(1).map(Part::Parameter),
            Operand::Constant(constant) => Some(Part::Always(Operand::Constant(constant.clone()))),
            Operand::Global(global) => Some(Part::Always(Operand::Global(Arc::clone(global)))),
            Operand::Quote(_) | Operand::Nested(_) => None,
        };
        for index in (0..slice.statements.len()).filter(|&index| slice.statements[index]) {
            let (stmt, ty) = rule.statement(index, bindings)?;
            let (primitive, args) = module.primitive_call(&stmt)?;
            let Stmt::Call(CallNode { callee: Operand::Global(global), .. }) = &stmt else { return None };
            let parts: Option<SmallVec<[Part; 3]>> = args.iter().map(|arg| part(arg, &numbers)).collect();
            let args = parts?;
            let costly = match (costly(module, &stmt), args.as_slice()) {
                (Some((name, _)), [Part::Parameter(of)]) => Some((name, *of)),
                _ => None,
            };
            numbers[index] = Some(steps.len());
            let called = Called { callee: Operand::Global(Arc::clone(global)), primitive };
            steps.push(Step { called, args, ty, costly });
        }
        let output =
            |&index: &usize| Some((index, part(&bindings.substitute_operand(rule.outputs.get(index)?), &numbers)?));
        let outputs = wanted.iter().map(output).collect::<Option<_>>()?;
        Some(Written { steps, outputs })
    }
}

/// Writes statements into a block.
pub(super) struct Writer<'m> {
    pub(super) module: &'m Module<BBCode>,
    pub(super) bb: BBCode,
    pub(super) block: BlockId,
    pub(super) line: LineInfo,
    pub(super) add: Called,
    /// The values of costly functions of values that there are already.
    pub(super) costly: HashMap<(&'static str, InstId), InstId>,
}

impl Writer<'_> {
    pub(super) fn push(&mut self, stmt: Stmt<Ids>, ty: Type) -> Option<InstId> {
        self.bb.push(self.block, NewInstruction::new(stmt, ty).with_line(self.line)).ok()
    }

    /// A statement of the function, and the costly function of a value that it is.
    pub(super) fn push_costly(
        &mut self,
        costly: Option<&'static str>,
        inst: NewInstruction<Ids>,
    ) -> Option<Operand<Ids>> {
        let of = costly.and_then(|name| Some((name, args_of(&inst.stmt).first()?.as_value()?)));
        let id = self.bb.push(self.block, inst).ok()?;
        if let Some(of) = of {
            self.costly.entry(of).or_insert(id);
        }
        Some(Operand::Value(id))
    }

    /// What a call gives, if that is one of its operands, or a constant.
    pub(super) fn known(&self, primitive: &Primitive, args: &[Operand<Ids>]) -> Option<Operand<Ids>> {
        // Most have no constant among their operands.
        let may_be = args.len() == 1 || args.iter().any(|arg| matches!(arg, Operand::Constant(_)));
        if may_be { constant_folding::value_of_call(&self.bb, self.module, primitive, args) } else { None }
    }

    fn call(&mut self, called: &Called, args: Operands<Ids>, ty: Type) -> Option<Operand<Ids>> {
        match self.known(called.primitive, &args) {
            Some(known) => Some(known),
            None => {
                let stmt = Stmt::Call(CallNode { callee: called.callee.clone(), args });
                self.push(stmt, ty).map(Operand::Value)
            }
        }
    }

    pub(super) fn add(&mut self, ty: ScalarType, a: Operand<Ids>, b: Operand<Ids>) -> Option<Operand<Ids>> {
        let add = self.add.clone();
        self.call(&add, [a, b].into(), ty.into())
    }

    /// Adds to a cotangent of this type.
    pub(super) fn accumulate(
        &mut self,
        cotangent: &mut Option<Operand<Ids>>,
        added: Operand<Ids>,
        ty: &Type,
    ) -> Option<()> {
        let ty = ty.as_scalar()?;
        if added == zero(&Tangent::Float(ty)) {
            return Some(());
        }
        *cotangent = Some(match cotangent.take() {
            Some(before) => self.add(ty, before, added)?,
            None => added,
        });
        Some(())
    }

    /// The operand that was chosen gets the cotangent, the other one zero.
    pub(super) fn choose(
        &mut self,
        parameters: &[Operand<Ids>],
        wanted: &[usize],
        seed: Operand<Ids>,
        ty: ScalarType,
    ) -> Option<Cotangents> {
        let condition = parameters.first()?;
        let (choice, zero) = (Called::of("Core", "ifelse")?, zero(&Tangent::Float(ty)));
        let mut outputs = Cotangents::new();
        for &index in wanted {
            let (then, otherwise) =
                if index == 1 { (seed.clone(), zero.clone()) } else { (zero.clone(), seed.clone()) };
            let args = [condition.clone(), then, otherwise];
            outputs.push((index, self.call(&choice, args.into_iter().collect(), ty.into())?));
        }
        Some(outputs)
    }

    /// Writes what is to be written of a rule, given the operands, the result and the seed.
    pub(super) fn write(&mut self, written: &Written, parameters: &[Operand<Ids>]) -> Option<Cotangents> {
        let mut results: SmallVec<[Operand<Ids>; 8]> = SmallVec::with_capacity(written.steps.len());
        let value = |part: &Part, results: &[Operand<Ids>]| match part {
            Part::Parameter(index) => parameters.get(*index).cloned(),
            Part::Step(index) => results.get(*index).cloned(),
            Part::Always(operand) => Some(operand.clone()),
        };
        for step in &written.steps {
            let args: Option<Operands<Ids>> = step.args.iter().map(|part| value(part, &results)).collect();
            let args = args?;
            let at_hand = step.costly.and_then(|(name, of)| {
                let of = parameters.get(of)?.as_value()?;
                self.costly.get(&(name, of)).copied()
            });
            let at_hand = at_hand.filter(|&id| self.bb.inst(id).is_some_and(|inst| inst.ty == step.ty));
            // What two operands that are the same get is computed once.
            let same = |(earlier, result): (&Step, &Operand<Ids>)| {
                let stmt = result.as_value().and_then(|id| self.bb.stmt(id))?;
                let is_same = std::ptr::eq(earlier.called.primitive, step.called.primitive)
                    && earlier.ty == step.ty
                    && matches!(stmt, Stmt::Call(call) if call.args == args);
                is_same.then(|| result.clone())
            };
            let result = match at_hand.map(Operand::Value).or_else(|| written.steps.iter().zip(&results).find_map(same))
            {
                Some(known) => known,
                None => self.call(&step.called, args, step.ty.clone())?,
            };
            results.push(result);
        }
        written.outputs.iter().map(|(index, part)| Some((*index, value(part, &results)?))).collect()
    }
}
