//! Writing the statements of rules, without those that are known to be one of their operands, or a constant, or there
//! already.

use std::sync::Arc;

use bbcode::{BBCode, BlockId, Ids, InstId};
use hashbrown::HashMap;
use ircode::primitives::{self, Primitive};
use ircode::tangents::Tangent;
use ircode::{CallNode, LineInfo, Module, NewInstruction, Operand, Operands, Positions, ScalarType, Stmt, Type};
use smallvec::SmallVec;

use super::args_of;
use crate::constant_folding;
use crate::reverse_mode::at_hand::costly_name;
use crate::reverse_mode::emit::callee;
use crate::reverse_mode::tangent_code::zero;
use crate::rules::{Bindings, Rule};

/// The reverse of a statement: what it computes of its cotangent for those of its operands.
pub(super) struct Reverse {
    steps: Vec<Step>,
    /// The operands that get something, with what they get.
    outputs: SmallVec<[(usize, Part); 2]>,
}

/// Of so many steps of a reverse it is known whether a later one is the same.
const FEW: usize = 16;

/// What is added to the cotangents of operands, by their positions.
pub(super) type Cotangents = SmallVec<[(usize, Operand<Ids>); 2]>;

/// What a statement calls.
#[derive(Clone)]
pub(super) struct Called {
    callee: Operand<Ids>,
    primitive: &'static Primitive,
}

impl Called {
    /// A primitive, by the name that derivatives give it.
    pub(super) fn of(module: &str, name: &str) -> Option<Called> {
        Some(Called { callee: callee(module, name), primitive: primitives::lookup(name)? })
    }
}

/// A statement of a reverse.
struct Step {
    called: Called,
    args: SmallVec<[Part; 3]>,
    ty: Type,
    /// The function that it computes of an operand, if that takes so long that it is worth asking whether the function
    /// has its value.
    costly: Option<&'static str>,
}

/// What a statement of a reverse is given.
#[derive(Clone)]
enum Part {
    /// An operand of the statement, by its position; behind these its value, and its cotangent.
    Parameter(usize),
    /// What an earlier step gives.
    Step(usize),
    Always(Operand<Ids>),
}

impl Reverse {
    /// Of a copy of the first of so many operands.
    pub(super) fn of_copy(operands: usize) -> Reverse {
        Reverse { steps: Vec::new(), outputs: SmallVec::from_iter([(0, Part::Parameter(operands + 1))]) }
    }

    /// Of a choice between the second operand and the third: the one that was chosen gets the cotangent, the other one
    /// zero.
    pub(super) fn of_choice(wanted: &[usize], operands: usize, ty: ScalarType) -> Option<Reverse> {
        let (seed, zero) = (Part::Parameter(operands + 1), Part::Always(zero(&Tangent::Float(ty))));
        let mut reverse = Reverse { steps: Vec::new(), outputs: SmallVec::new() };
        for &index in wanted {
            let (then, otherwise) = if index == 1 { (&seed, &zero) } else { (&zero, &seed) };
            let args = [Part::Parameter(0), then.clone(), otherwise.clone()].into();
            reverse.outputs.push((index, Part::Step(reverse.steps.len())));
            reverse.steps.push(Step { called: Called::of("Core", "ifelse")?, args, ty: ty.into(), costly: None });
        }
        Some(reverse)
    }

    /// The statements of a rule that the cotangents of the wanted operands need; `None` if one of them is no call of a
    /// primitive.
    pub(super) fn of_rule(
        module: &Module<BBCode>,
        (rule, bindings): (&Rule, &Bindings),
        wanted: &[usize],
    ) -> Option<Reverse> {
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
            // What a rule of the host reads may be something else the second time.
            if primitive.effects.reads || primitive.effects.writes || primitive.effects.allocates {
                return None;
            }
            let parts: Option<SmallVec<[Part; 3]>> = args.iter().map(|arg| part(arg, &numbers)).collect();
            let args = parts?;
            let costly = match args.as_slice() {
                [Part::Parameter(_)] => costly_name(primitive),
                _ => None,
            };
            numbers[index] = Some(steps.len());
            let called = Called { callee: Operand::Global(Arc::clone(global)), primitive };
            steps.push(Step { called, args, ty, costly });
        }
        let output =
            |&index: &usize| Some((index, part(&bindings.substitute_operand(rule.outputs.get(index)?), &numbers)?));
        let outputs = wanted.iter().map(output).collect::<Option<_>>()?;
        Some(Reverse { steps, outputs })
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

    fn call(&mut self, called: &Called, args: Operands<Ids>, ty: Type) -> Option<Operand<Ids>> {
        match constant_folding::value_if_known(&self.bb, self.module, called.primitive, &args) {
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
        ty: ScalarType,
    ) -> Option<()> {
        if matches!(added, Operand::Constant(_)) && added == zero(&Tangent::Float(ty)) {
            return Some(());
        }
        *cotangent = Some(match cotangent.take() {
            Some(before) => self.add(ty, before, added)?,
            None => added,
        });
        Some(())
    }

    /// Writes the reverse of a statement, given its operands, its value and its cotangent.
    pub(super) fn write(
        &mut self,
        reverse: &Reverse,
        parameter: &dyn Fn(usize) -> Option<Operand<Ids>>,
    ) -> Option<Cotangents> {
        let mut results: SmallVec<[Operand<Ids>; 8]> = SmallVec::new();
        let value = |part: &Part, results: &[Operand<Ids>]| match part {
            Part::Parameter(index) => parameter(*index),
            Part::Step(index) => results.get(*index).cloned(),
            Part::Always(operand) => Some(operand.clone()),
        };
        for step in &reverse.steps {
            let mut args = Operands::new();
            for part in &step.args {
                args.push(value(part, &results)?);
            }
            let known = self.at_hand(step, &args).or_else(|| self.same_before(reverse, step, &args, &results));
            results.push(match known {
                Some(known) => known,
                None => self.call(&step.called, args, step.ty.clone())?,
            });
        }
        let mut outputs = Cotangents::new();
        for (index, part) in &reverse.outputs {
            outputs.push((*index, value(part, &results)?));
        }
        Some(outputs)
    }

    /// The statement of the function that computes the same costly function of the same value.
    fn at_hand(&self, step: &Step, args: &[Operand<Ids>]) -> Option<Operand<Ids>> {
        let (name, of) = (step.costly?, args.first()?.as_value()?);
        let known = self.costly.get(&(name, of)).copied()?;
        (self.bb.inst(known)?.ty == step.ty).then_some(Operand::Value(known))
    }

    /// What an earlier step of the same reverse computed with the same operands: what two operands that are the same
    /// get.
    fn same_before(
        &self,
        reverse: &Reverse,
        step: &Step,
        args: &[Operand<Ids>],
        results: &[Operand<Ids>],
    ) -> Option<Operand<Ids>> {
        let mut earlier = reverse.steps.iter().zip(results).take(FEW);
        let same = earlier.find(|(earlier, result)| {
            let stmt = result.as_value().and_then(|id| self.bb.stmt(id));
            std::ptr::eq(earlier.called.primitive, step.called.primitive)
                && earlier.ty == step.ty
                && matches!(stmt, Some(Stmt::Call(call)) if call.args.as_slice() == args)
        });
        same.map(|(_, result)| result.clone())
    }
}
