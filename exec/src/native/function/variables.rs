//! Where the values of statements are: what a statement gives once and for all is a value of Cranelift, what is given
//! at several places is in variables of Cranelift's frontend, one for each part, and one that says whether there is a
//! value where there may be none.
//!
//! The frontend looks for a variable in all blocks between where it is given and where it is used, and keeps a table of
//! blocks for each: this takes quadratic time and memory in long functions. So does keeping values in registers over
//! thousands of blocks. In long functions variables are places in the frame, where also lies what is used in another
//! block than it is made in: the register allocator that is fast enough for these functions puts there what is used in
//! another block, too.

use std::ops::Range;
use std::sync::Arc;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder, StackSlotData, StackSlotKind, ValueDef};
use cranelift_frontend::Variable;
use hashbrown::HashMap;
use ircode::{IRCode, Stmt};

use super::{Compiled, FunctionCompiler};
use crate::native::effort::MOST_ALLOCATED_WELL;
use crate::native::layout::{Layout, Parts};

/// A value in registers.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) layout: Arc<Layout>,
    pub(crate) parts: Parts<ir::Value>,
}

impl Typed {
    /// The only part of the value.
    pub(crate) fn one(&self) -> Option<ir::Value> {
        match self.parts.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }
}

/// What lies in a function's frame.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// Whether anything does: where not, the register allocator decides.
    is_used: bool,
    values: HashMap<ir::Value, ir::StackSlot>,
    /// In the order of the variables.
    variables: Vec<Option<ir::StackSlot>>,
}

impl Frame {
    /// For a function of so many statements: where these are many, each that may fail ends a block, and the register
    /// allocator goes through all values that live there.
    pub(crate) fn new(statements: usize) -> Frame {
        Frame { is_used: statements > MOST_ALLOCATED_WELL, ..Frame::default() }
    }
}

/// The value of a statement or an argument.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) layout: Arc<Layout>,
    /// The values that it is wherever it is used in code that is compiled now, and whether it is there, if it may not
    /// be.
    pub(crate) fixed: Option<(Parts<ir::Value>, Option<ir::Value>)>,
    /// The variables; none where the values are known and nothing has asked for variables.
    pub(crate) variables: Parts<Variable>,
    /// Says whether the value is defined, where it may not be.
    pub(crate) defined: Option<Variable>,
    /// Whether other blocks may find it in the frame.
    pub(crate) in_frame: bool,
}

impl Held {
    /// All its variables.
    pub(crate) fn all(&self) -> impl Iterator<Item = Variable> {
        self.variables.iter().copied().chain(self.defined)
    }
}

impl FunctionCompiler<'_, '_> {
    /// A variable for a part of this type.
    pub(crate) fn variable(&mut self, part: ir::Type) -> Variable {
        self.variable_types.push(part);
        let slot = if self.may_use_frame() { Some(self.slot_of_its_own(part)) } else { None };
        self.frame.variables.push(slot);
        self.builder.declare_var(part)
    }

    /// The type of the part that a variable holds.
    pub(crate) fn type_of(&self, variable: Variable) -> ir::Type {
        self.variable_types.get(variable.as_u32() as usize).copied().unwrap_or(clif::I64)
    }

    /// What a variable holds now.
    pub(crate) fn read_variable(&mut self, variable: Variable) -> ir::Value {
        match self.slot_of(variable) {
            Some(slot) => {
                let ty = self.type_of(variable);
                self.builder.ins().stack_load(clif::I64, ty, slot, 0)
            }
            None => self.builder.use_var(variable),
        }
    }

    /// Gives a variable another value.
    pub(crate) fn write_variable(&mut self, variable: Variable, value: ir::Value) {
        match self.slot_of(variable) {
            Some(slot) => {
                self.builder.ins().stack_store(clif::I64, value, slot, 0);
            }
            None => self.builder.def_var(variable, value),
        }
    }

    /// Where in the frame a variable lies, if it does in the code that is compiled now.
    fn slot_of(&self, variable: Variable) -> Option<ir::StackSlot> {
        match self.may_use_frame() {
            true => self.frame.variables.get(variable.as_u32() as usize).copied().flatten(),
            false => None,
        }
    }

    /// Variables for a value.
    pub(crate) fn hold(&mut self, layout: &Arc<Layout>) -> Held {
        let variables = layout.parts.iter().map(|part| self.variable(*part)).collect();
        Held { variables, ..FunctionCompiler::nowhere(layout) }
    }

    /// A value that is the same wherever it is used in code that is compiled now.
    pub(crate) fn fixed(layout: &Arc<Layout>, parts: Parts<ir::Value>) -> Held {
        Held { fixed: Some((parts, None)), ..FunctionCompiler::nowhere(layout) }
    }

    fn nowhere(layout: &Arc<Layout>) -> Held {
        Held { layout: layout.clone(), fixed: None, variables: Parts::new(), defined: None, in_frame: false }
    }

    fn slot_of_its_own(&mut self, ty: ir::Type) -> ir::StackSlot {
        let align = ty.bytes().trailing_zeros() as u8;
        self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, ty.bytes(), align))
    }

    /// Variables for a value that may be none.
    pub(crate) fn hold_open(&mut self, layout: &Arc<Layout>) -> Held {
        let held = self.hold(layout);
        Held { defined: Some(self.variable(clif::I8)), ..held }
    }

    /// A value in another layout, if it is there: of what is not there nothing can be asked.
    pub(crate) fn convert_if_there(
        &mut self,
        value: Typed,
        defined: Option<ir::Value>,
        layout: &Arc<Layout>,
    ) -> Compiled<Typed> {
        let Some(defined) = defined.filter(|_| value.layout.is_boxed() && !layout.is_boxed()) else {
            return self.convert(value, layout);
        };
        let (there, done) = (self.builder.create_block(), self.builder.create_block());
        let parts = layout.parts.iter().map(|part| self.builder.append_block_param(done, *part)).collect();
        let none: Parts<ir::BlockArg> = layout.parts.iter().map(|part| self.zero(*part).into()).collect();
        self.builder.ins().brif(defined, there, &[], done, &none);
        self.seal(&[there]);
        self.builder.switch_to_block(there);
        let converted = self.convert(value, layout)?;
        let converted: Parts<ir::BlockArg> = converted.parts.iter().map(|part| (*part).into()).collect();
        self.builder.ins().jump(done, &converted);
        self.seal(&[done]);
        self.builder.switch_to_block(done);
        Ok(Typed { layout: layout.clone(), parts })
    }

    /// The variables of a statement.
    pub(crate) fn held(&self, statement: usize) -> Option<Held> {
        self.values.get(statement).cloned().flatten()
    }

    pub(crate) fn set_held(&mut self, statement: usize, held: Held) {
        if let Some(slot) = self.values.get_mut(statement) {
            *slot = Some(held);
        }
    }

    /// What is used where a value is, and whether it is there, if it may be none.
    pub(crate) fn value_in(&mut self, held: &Held) -> (Typed, Option<ir::Value>) {
        if let Some((parts, defined)) = held.fixed.as_ref().filter(|_| !self.outlining || held.variables.is_empty()) {
            let parts = match held.in_frame && self.may_use_frame() {
                true => parts.iter().map(|&part| self.in_this_block(part)).collect(),
                false => parts.clone(),
            };
            return (Typed { layout: held.layout.clone(), parts }, *defined);
        }
        self.value_in_variables(held)
    }

    /// Whether values may come from the frame, or go there: a loop that is a function of its own has another.
    fn may_use_frame(&self) -> bool {
        self.frame.is_used && !self.outlining
    }

    /// A value that was made before: as it is in the block that makes it, elsewhere from the frame.
    fn in_this_block(&mut self, value: ir::Value) -> ir::Value {
        let def = self.builder.func.dfg.value_def(value);
        let made_in = match def {
            ValueDef::Result(made_by, _) => self.builder.func.layout.inst_block(made_by),
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Union(..) => return value,
        };
        if made_in == self.builder.current_block() {
            return value;
        }
        let ty = self.builder.func.dfg.value_type(value);
        let slot = match self.frame.values.get(&value) {
            Some(&slot) => slot,
            None => {
                let slot = self.slot_of_its_own(ty);
                let cursor = FuncCursor::new(self.builder.func);
                let mut cursor = match (def, made_in) {
                    (ValueDef::Result(made_by, _), _) => cursor.after_inst(made_by),
                    (_, Some(block)) => cursor.at_first_insertion_point(block),
                    (_, None) => return value,
                };
                cursor.ins().stack_store(clif::I64, value, slot, 0);
                self.frame.values.insert(value, slot);
                slot
            }
        };
        self.builder.ins().stack_load(clif::I64, ty, slot, 0)
    }

    /// What its variables hold, and whether that is a value, if it may be none.
    pub(crate) fn value_in_variables(&mut self, held: &Held) -> (Typed, Option<ir::Value>) {
        let parts = held.variables.iter().map(|variable| self.read_variable(*variable)).collect();
        let defined = held.defined.map(|flag| self.read_variable(flag));
        (Typed { layout: held.layout.clone(), parts }, defined)
    }

    /// Gives variables a value, which is there unless `defined` says that it may not be.
    pub(crate) fn give(&mut self, held: &Held, parts: &[ir::Value], defined: Option<ir::Value>) {
        for (variable, part) in held.variables.iter().zip(parts) {
            self.write_variable(*variable, *part);
        }
        if let Some(flag) = held.defined {
            let defined = defined.unwrap_or_else(|| self.builder.ins().iconst(clif::I8, 1));
            self.write_variable(flag, defined);
        }
    }

    /// Gives variables no value.
    pub(crate) fn give_nothing(&mut self, held: &Held) {
        let placeholder = self.placeholder(&held.layout);
        let nothing = self.builder.ins().iconst(clif::I8, 0);
        self.give(held, &placeholder, Some(nothing));
    }

    /// The variable of a φ that is one number.
    pub(crate) fn phi_variable(&self, phi: usize) -> Option<Variable> {
        match self.values.get(phi)?.as_ref()? {
            Held { variables, defined: None, .. } if variables.len() == 1 => variables.first().copied(),
            _ => None,
        }
    }

    /// Whether what uses a statement may find the value that it has in any of several versions of a loop.
    fn is_of_several(&self, index: usize) -> bool {
        self.of_several.get(index).copied().unwrap_or(false)
    }

    /// Takes the values of the φs of the block that begins here out of their variables.
    pub(crate) fn fix_phis(&mut self, ir: &IRCode, statements: Range<usize>) {
        let phis = statements.take_while(|index| ir.stmts.stmts().get(*index).is_some_and(Stmt::may_stand_among_phis));
        for index in phis {
            if self.is_of_several(index) || !matches!(ir.stmts.stmts().get(index), Some(Stmt::Phi(_))) {
                continue;
            }
            let Some(held) = self.held(index) else { continue };
            let (value, defined) = self.value_in_variables(&held);
            for (&part, &variable) in value.parts.iter().zip(&held.variables) {
                // It stays there as long as it is used: the edges that bring the next one lead here.
                if let Some(slot) = self.slot_of(variable) {
                    self.frame.values.insert(part, slot);
                }
            }
            let in_frame = self.may_use_frame();
            self.set_held(index, Held { fixed: Some((value.parts, defined)), in_frame, ..held });
        }
    }

    /// The variables of a value, into which it is put, for a loop that is a function of its own.
    pub(crate) fn in_variables(&mut self, held: &mut Held) -> Parts<Variable> {
        if let Some((parts, defined)) = held.fixed.clone() {
            if held.variables.is_empty() {
                held.variables = self.hold(&held.layout).variables;
            }
            self.give(held, &parts, defined);
        }
        held.all().collect()
    }

    /// Whether the statement has a value already.
    pub(crate) fn is_compiled(&self, statement: usize) -> bool {
        self.values.get(statement).is_some_and(Option::is_some)
    }

    /// Gives a statement its value.
    pub(crate) fn define(&mut self, index: usize, value: &Typed) {
        if !self.is_of_several(index) {
            let held = FunctionCompiler::fixed(&value.layout, value.parts.clone());
            self.set_held(index, Held { in_frame: self.may_use_frame(), ..held });
            return;
        }
        // In another version of a loop it has variables already.
        let known = self.held(index).filter(|held| held.layout.ty == value.layout.ty);
        let held = known.unwrap_or_else(|| self.hold(&value.layout));
        self.give(&held, &value.parts, None);
        self.set_held(index, held);
    }
}
