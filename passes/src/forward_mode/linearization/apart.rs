//! The two functions that linearization makes of one: what each block leaves for the differential, and how the
//! differential follows the way that control took.

use bbcode::BBCode;
use hashbrown::{HashMap, HashSet};
use ircode::{Argument, Constant, IRCode, Module, Name, Operand, Positions, SSAValue, Stmt, Type, TypeDef, TypeKind};

use super::rule_differentials::RuleDifferentials;
use crate::forward_mode::transform::{Done, Failure, Transform};
use crate::forward_mode::writer::{Op, zero};
use crate::tangents::{Tangent, TangentTypes};

/// The names of what belongs to the linearization of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinearizationNames {
    /// The function that computes the value: `f_linearized(args…) -> (value, differential)`.
    pub linearized: Name,
    /// What its closure is of: `f_differential(tangents…, captured…) -> tangent`.
    pub differential: Name,
    /// The enum whose cases are the blocks of the function.
    pub step: Name,
}

impl LinearizationNames {
    /// The names that begin with this.
    pub(super) fn with_base(base: &str) -> Self {
        LinearizationNames {
            linearized: format!("{base}_linearized").into(),
            differential: format!("{base}_differential").into(),
            step: format!("{base}_linearized_step").into(),
        }
    }
}

/// The differential that is being written, and what it is given.
pub(in crate::forward_mode) struct Apart<'a> {
    pub(in crate::forward_mode) differential: IRCode,
    pub(super) names: LinearizationNames,
    pub(super) rules: &'a RuleDifferentials,
    /// By block: what it leaves for the differential, with the types. Of a function of one block, what the differential
    /// captures.
    left: Vec<Vec<(Op, Type)>>,
    /// What stands in the differential for a value that a block leaves.
    known: HashMap<(usize, Left), Op>,
    /// The stack on which each block pushes what it leaves, as value of the function; `None` if the function is one
    /// block.
    trace: Option<Op>,
    /// By block, in the differential: what the block left, and the position of the entry behind it.
    entries: Vec<Option<(Op, Op)>>,
    /// The statements that return, with what.
    returns: Vec<(usize, Op)>,
}

/// What a block leaves, once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Left {
    Value(SSAValue),
    Argument(Argument),
}

/// The number of the argument that is the trace's stack, or the first that is captured, counted from `_1`.
fn first_captured(transform: &Transform<'_>) -> usize {
    transform.prepared.ir.argtypes.len()
}

impl<'a> Apart<'a> {
    /// For a prepared function, whose arguments have these tangents, `_1` first.
    pub(super) fn new(
        ir: &IRCode,
        names: LinearizationNames,
        tangents: Vec<Type>,
        rules: &'a RuleDifferentials,
    ) -> Apart<'a> {
        let mut differential = ir.clone();
        differential.argtypes = tangents;
        // The blocks and jumps stay, and so does where the code comes from.
        let last_of_block: Vec<usize> =
            ir.cfg.blocks.iter().filter_map(|block| block.stmts.end.checked_sub(1)).collect();
        let falls = |index: &usize| {
            ir.cfg.block_of(*index).and_then(|block| Some(!ir.cfg.blocks.get(block.index()?)?.succs.is_empty()))
        };
        let stops: Vec<usize> = last_of_block.into_iter().filter(|index| falls(index) == Some(false)).collect();
        for (index, stmt) in differential.stmts.stmts_mut().iter_mut().enumerate() {
            if !stmt.is_terminator() {
                *stmt = Stmt::Value(Operand::nothing());
            }
            if let Stmt::GotoIfNot(branch) = stmt {
                branch.cond = Operand::from(true);
            }
            // A block that ends in what always throws.
            if !matches!(stmt, Stmt::Return(_)) && stops.binary_search(&index).is_ok() {
                *stmt = Stmt::unreachable();
            }
        }
        for (stmt, ty) in ir.stmts.stmts().iter().zip(differential.stmts.types_mut()) {
            if !stmt.is_terminator() {
                *ty = Type::Nothing;
            }
        }
        let blocks = ir.cfg.blocks.len();
        Apart {
            differential,
            names,
            rules,
            left: vec![Vec::new(); blocks],
            known: HashMap::new(),
            trace: None,
            entries: vec![None; blocks],
            returns: Vec::new(),
        }
    }
}

/// The name of the case for a block.
fn case_name(block: usize) -> Name {
    format!("bb{}", block + 1).into()
}

impl Transform<'_> {
    fn step_type(&self) -> Type {
        let name = self.apart.as_ref().map(|apart| apart.names.step.clone());
        Type::Named(name.unwrap_or_else(|| Name::from("")))
    }

    fn block_of(&self, index: usize) -> usize {
        self.prepared.ir.cfg.block_of(index).and_then(|block| block.index()).unwrap_or(0)
    }

    /// Whether a block is left by a jump or by returning. Others always throw.
    pub(in crate::forward_mode) fn goes_on(&self, block: usize) -> bool {
        let Some(block) = self.prepared.ir.cfg.blocks.get(block) else { return false };
        let last = block.stmts.end.checked_sub(1).and_then(|last| self.prepared.ir.stmts.stmts().get(last));
        !block.succs.is_empty() || matches!(last, Some(Stmt::Return(ret)) if ret.value.is_some())
    }

    /// Makes the stack, and lets each block of the differential take what its block left. Nothing if tangents are not
    /// computed apart.
    pub(in crate::forward_mode) fn begin_apart(&mut self) -> Done {
        let prepared = self.prepared;
        if self.apart.is_none() {
            return Ok(());
        }
        if let Some(index) = prepared.ir.stmts.stmts().iter().position(|stmt| matches!(stmt, Stmt::Enter(_))) {
            let message = "code that catches exceptions has no differential";
            let help = "forward mode computes value and tangent at once, also of such code";
            return Err(Failure::at(index, message, Some(help)));
        }
        if prepared.ir.cfg.blocks.len() < 2 {
            return Ok(());
        }
        let step = self.step_type();
        let of = Operand::Constant(Constant::of_type(step.clone()));
        let (first, behind) = self.start_of(0);
        let trace = self.primal_writer(first, behind).call("BBKit", "new_stack", [of], Type::stack(step.clone()))?;
        let taken = Operand::Argument(Argument::from_index(first_captured(self)));
        if let Some(apart) = &mut self.apart {
            apart.trace = Some(trace);
            apart.differential.argtypes.push(Type::stack(step.clone()));
        }
        let mut writer = self.writer(first, behind);
        let of = Operand::Constant(Constant::of_type(Type::INT64));
        let cursor = writer.call("BBKit", "new_slot", [of], Type::slot(Type::INT64))?;
        writer.call("BBKit", "slot_set!", [cursor.clone(), Operand::from(1i64)], Type::Nothing)?;
        for number in 0..prepared.ir.cfg.blocks.len() {
            if !self.goes_on(number) {
                continue;
            }
            let (first, behind) = self.start_of(number);
            let mut writer = self.writer(first, behind);
            let position = writer.call("BBKit", "slot_get", [cursor.clone()], Type::INT64)?;
            let entry = writer.call("BBKit", "stack_get", [taken.clone(), position.clone()], step.clone())?;
            let next = writer.call("Base", "add_int", [position, Operand::from(1i64)], Type::INT64)?;
            writer.call("BBKit", "slot_set!", [cursor.clone(), next.clone()], Type::Nothing)?;
            if let Some(place) = self.apart.as_mut().and_then(|apart| apart.entries.get_mut(number)) {
                *place = Some((entry, next));
            }
        }
        Ok(())
    }

    /// What stands in the differential for something that the function computes at this statement.
    pub(super) fn leave(&mut self, operand: &Op, index: usize) -> Result<Op, Failure> {
        let key = match operand {
            Operand::Value(value) => Left::Value(*value),
            Operand::Argument(argument) => Left::Argument(*argument),
            other => return Ok(other.clone()),
        };
        let block = self.block_of(index);
        let ty = self.ir.operand_type(operand).or_any();
        let Some(apart) = &mut self.apart else { return Ok(operand.clone()) };
        if let Some(known) = apart.known.get(&(block, key)) {
            return Ok(known.clone());
        }
        let left = apart.left.get_mut(block).map(|left| {
            left.push((operand.clone(), ty.clone()));
            left.len()
        });
        let entry = apart.entries.get(block).cloned().flatten();
        let taken = match (entry, left) {
            (Some((entry, _)), Some(position)) => {
                let (first, behind) = self.start_of(block);
                let args = [entry, Operand::symbol(case_name(block)), Operand::from(position as i64)];
                self.writer(first, behind).call("BBKit", "payload", args, ty)?
            }
            _ => {
                let number = apart.differential.argtypes.len();
                apart.differential.argtypes.push(ty);
                Operand::Argument(Argument::from_index(number))
            }
        };
        if let Some(apart) = &mut self.apart {
            apart.known.insert((block, key), taken.clone());
        }
        Ok(taken)
    }

    /// What stands in the differential for a value that is used at this statement. Arrays are copied: who has them may
    /// change them before the differential is applied.
    pub(in crate::forward_mode) fn captured_value(&mut self, operand: &Op, index: usize) -> Result<Op, Failure> {
        let kept = self.kept_as_is(operand, index)?;
        self.leave(&kept, index)
    }

    /// A value as it is now, behind this statement.
    pub(super) fn kept_as_is(&mut self, operand: &Op, index: usize) -> Result<Op, Failure> {
        let ty = self.prepared.ir.operand_type(operand);
        match &ty {
            _ if !matches!(operand, Operand::Value(_) | Operand::Argument(_)) => Ok(operand.clone()),
            _ if never_changes(self.derivation.module, &ty) => Ok(operand.clone()),
            Type::Array(array) if never_changes(self.derivation.module, &array.element) => {
                Ok(self.primal_writer(index, true).call("BBKit", "snapshot", [operand.clone()], ty)?)
            }
            _ => {
                let message = format!(
                    "the differential needs {}, which may have been changed when it is applied",
                    ty.with_article()
                );
                let help = "forward mode computes value and tangent at once";
                Err(Failure::at(index, message, Some(help)))
            }
        }
    }

    /// The shadow of a value, of this kind, as one of another. The function leaves one with zeros, of which the
    /// differential makes a new one each time that it is applied.
    pub(in crate::forward_mode) fn shadow_apart(
        &mut self,
        value: &Op,
        kind: &Tangent,
        to: &Tangent,
        index: usize,
        after: bool,
    ) -> Result<Op, Failure> {
        if to.shadow().is_none() {
            return Ok(zero(to));
        }
        if !is_its_own_tangent(&self.derivation.tangents, kind) {
            let message = format!("the differential would need a new {} each time that it is applied", kind.ty());
            let help = "forward mode computes value and tangent at once";
            return Err(Failure::at(index, message, Some(help)));
        }
        let zeros = self.primal_writer(index, after).zero_of(value.clone(), kind, kind)?;
        let left = self.leave(&zeros, index)?;
        let ty = kind.ty();
        let mut writer = self.writer(index, after);
        let fresh =
            writer.call("BBKit", "zero_tangent", [left, Operand::Constant(Constant::of_type(ty.clone()))], ty)?;
        Ok(writer.converted(fresh, kind, to)?)
    }

    /// Returns the tangent of what the function returns.
    pub(in crate::forward_mode) fn give_back_apart(&mut self, index: usize, value: &Op, kind: &Tangent) -> Done {
        let tangent = self.placed(value, 0, kind, index, false)?;
        if let Some(apart) = &mut self.apart {
            apart.returns.push((index, value.clone()));
            if let Some(stmt) = apart.differential.stmt_mut(SSAValue::from_index(index)) {
                *stmt = Stmt::ret(tangent);
            }
        }
        Ok(())
    }

    /// Lets each block push what it leaves, the differential follow it, and the function return the differential beside
    /// the value.
    pub(super) fn finish_apart(&mut self) -> Result<Option<TypeDef>, Failure> {
        let Some(apart) = &mut self.apart else { return Ok(None) };
        let (left, returns, trace) =
            (std::mem::take(&mut apart.left), std::mem::take(&mut apart.returns), apart.trace.clone());
        // A block that leaves nothing has an entry that says that control was there, and no more.
        for (entry, _) in apart.entries.iter().zip(&left).filter(|(_, left)| left.is_empty()) {
            let entry = entry.as_ref().and_then(|(entry, _)| entry.as_value());
            if let Some(stmt) = entry.and_then(|entry| apart.differential.stmt_mut(entry)) {
                *stmt = Stmt::Value(Operand::nothing());
            }
        }
        let mut captured = vec![Operand::global("Main", &apart.names.differential)];
        let mut def = None;
        match &trace {
            Some(trace) => {
                self.push_steps(&left, trace)?;
                self.follow_steps()?;
                captured.push(trace.clone());
                let cases = left.iter().enumerate().filter(|(block, _)| self.goes_on(*block));
                let cases =
                    cases.map(|(block, left)| (case_name(block), left.iter().map(|(_, ty)| ty.clone()).collect()));
                let kind = TypeKind::Enum { cases: cases.collect() };
                def = Some(TypeDef { name: self.step_type().to_string().into(), supertypes: None, kind });
            }
            None => captured.extend(left.into_iter().flatten().map(|(operand, _)| operand)),
        }
        let closure = self.closure_type();
        for (index, value) in returns {
            let types = [self.prepared.result.clone(), closure.clone()];
            let mut writer = self.primal_writer(index, false);
            let differential = writer.call("BBKit", "partial_apply", captured.iter().cloned(), closure.clone())?;
            let pair = writer.tuple(vec![value, differential], types)?;
            if let Some(stmt) = self.ir.stmt_mut(SSAValue::from_index(index)) {
                *stmt = Stmt::ret(pair);
            }
        }
        Ok(def)
    }

    /// The type of the function's differential.
    pub(super) fn closure_type(&self) -> Type {
        let tangents = self.apart.as_ref().map(|apart| apart.differential.argtypes.as_slice()).unwrap_or_default();
        let own = tangents.iter().take(first_captured(self)).skip(1).cloned();
        Type::closure(own, self.derivation.tangents.of(&self.prepared.result).ty())
    }

    fn push_steps(&mut self, left: &[Vec<(Op, Type)>], trace: &Op) -> Done {
        let step = self.step_type();
        for (number, left) in left.iter().enumerate() {
            if !self.goes_on(number) {
                continue;
            }
            let (last, behind) = self.end_of(number);
            let payload = left.iter().map(|(operand, _)| operand.clone());
            let args = [Operand::Constant(Constant::of_type(step.clone())), Operand::symbol(case_name(number))];
            let mut writer = self.primal_writer(last, behind);
            let case = writer.call("BBKit", "new_case", args.into_iter().chain(payload), step.clone())?;
            writer.call("BBKit", "stack_push!", [trace.clone(), case], Type::Nothing)?;
        }
        Ok(())
    }

    /// Lets the differential go at each branch where the next entry says.
    fn follow_steps(&mut self) -> Done {
        let prepared = self.prepared;
        let step = self.step_type();
        let taken = Operand::Argument(Argument::from_index(first_captured(self)));
        for number in 0..prepared.ir.cfg.blocks.len() {
            let (last, _) = self.end_of(number);
            let Some(Stmt::GotoIfNot(branch)) = prepared.ir.stmts.stmts().get(last) else { continue };
            let entry = self.apart.as_ref().and_then(|apart| apart.entries.get(number).cloned().flatten());
            let Some((_, next)) = entry else { continue };
            let otherwise = branch.dest.index().unwrap_or(0);
            let cond = match (self.goes_on(number + 1), self.goes_on(otherwise)) {
                // It would not have come to a differential.
                (false, _) => Operand::from(false),
                (_, false) => Operand::from(true),
                _ => {
                    let mut writer = self.writer(last, false);
                    let entry = writer.call("BBKit", "stack_get", [taken.clone(), next], step.clone())?;
                    writer.call("BBKit", "is_case", [entry, Operand::symbol(case_name(number + 1))], Type::BOOL)?
                }
            };
            let differential = self.apart.as_mut().map(|apart| &mut apart.differential);
            if let Some(Stmt::GotoIfNot(place)) = differential.and_then(|ir| ir.stmt_mut(SSAValue::from_index(last))) {
                place.cond = cond;
            }
        }
        Ok(())
    }

    /// The statement at the start of a block next to which is written what comes behind its φs, and whether behind that
    /// statement.
    fn start_of(&self, block: usize) -> (usize, bool) {
        let stmts = self.prepared.ir.cfg.blocks.get(block).map_or(0..0, |block| block.stmts.clone());
        let all = self.prepared.ir.stmts.stmts().get(stmts.clone()).unwrap_or_default();
        // Constants may stand among φs.
        let among = all.iter().take_while(|stmt| matches!(stmt, Stmt::Phi(_)) || stmt.may_stand_among_phis());
        let phis = among.enumerate().filter(|(_, stmt)| matches!(stmt, Stmt::Phi(_)));
        match phis.map(|(position, _)| position).last() {
            Some(position) => (stmts.start + position, true),
            None => (stmts.start, false),
        }
    }

    /// The last statement of a block, and whether what is written at its end goes behind that.
    fn end_of(&self, block: usize) -> (usize, bool) {
        let last = self.prepared.ir.cfg.blocks.get(block).and_then(|block| block.stmts.end.checked_sub(1)).unwrap_or(0);
        (last, !self.prepared.ir.stmts.stmts().get(last).is_some_and(Stmt::<Positions>::is_terminator))
    }
}

/// Whether values of the type are seen to hold nothing that can be changed.
fn never_changes(module: &Module<BBCode>, ty: &Type) -> bool {
    let mut seen: HashSet<&Name> = HashSet::new();
    let mut work = vec![ty];
    while let Some(ty) = work.pop() {
        match ty {
            Type::Nothing | Type::Bottom | Type::Scalar(_) | Type::String | Type::Symbol => {}
            Type::TypeOf(_) | Type::Function(_) => {}
            Type::Tuple(types) | Type::Union(types) => work.extend(types.iter()),
            Type::NamedTuple(fields) => work.extend(fields.iter().map(|(_, ty)| ty)),
            Type::Named(name) => match module.type_def(name).map(|def| &def.kind) {
                _ if seen.contains(name) => {}
                Some(TypeKind::Struct { mutable: false, fields }) => {
                    seen.insert(name);
                    work.extend(fields.iter().map(|(_, ty)| ty));
                }
                Some(TypeKind::Enum { cases }) => {
                    seen.insert(name);
                    work.extend(cases.iter().flat_map(|(_, types)| types));
                }
                _ => return false,
            },
            _ => return false,
        }
    }
    true
}

/// Whether the zero of a shadow of this kind is another one.
fn is_its_own_tangent(tangents: &TangentTypes<'_, BBCode>, kind: &Tangent) -> bool {
    let mut is_known = true;
    kind.for_each_leaf(&mut |leaf| is_known &= !matches!(leaf, Tangent::Dynamic { .. }));
    is_known && tangents.of(&kind.ty()) == *kind
}
