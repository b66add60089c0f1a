//! Enums and closures: a pointer to a *cell*, which is never changed once it is made.
//!
//! A cell starts with two words. Of an enum the first is the number of its case; of a closure they are the number of
//! its function and how many values it captures. What lies behind them, a payload or captured values, has the types
//! that the module declares for it.

use std::sync::Arc;

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use ircode::primitives::Primitive;
use ircode::{Callee, IRCode, Module, Operand, Positions, ScalarType, Type};

use crate::native::function::sites::What;
use crate::native::function::{Compiled, FunctionCompiler, Typed};
use crate::native::layout::{Inside, Layout, Parts, Shape};

/// Where the payload or the captured values start.
pub(crate) const CONTENTS: i32 = 16;

/// The second word.
const COUNT: i32 = 8;

/// At most this many functions are asked for one after the other before a helper looks for the one that a closure
/// applies.
const MOST_CANDIDATES: usize = 8;

/// A closure that a program makes: of a function, by its number, with so many captured values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    pub(crate) function: usize,
    pub(crate) count: usize,
    pub(crate) ty: Type,
}

/// The closures that these functions make.
pub(crate) fn closures_made(module: &Module<IRCode>, functions: &[usize]) -> Vec<Made> {
    let mut made = Vec::new();
    for function in functions.iter().filter_map(|number| module.functions().get(*number)) {
        for stmt in function.body.stmts.stmts() {
            if let Some((primitive, [of, captured @ ..])) = module.primitive_call(stmt)
                && primitive.name == "partial_apply"
            {
                // As an operand it may have a longer name.
                let number = match module.callee(of) {
                    Some(Callee::Function(number)) => Some(number),
                    Some(_) => None,
                    None => function_of(module, &function.body.operand_type(of)),
                };
                made.extend(number.map(|number| (number, captured.len())));
            }
        }
    }
    made.sort_unstable();
    made.dedup();
    let typed = made.into_iter().filter_map(|(function, count)| {
        let ty = module.closure_type_of(&module.functions().get(function)?.name, count)?;
        Some(Made { function, count, ty })
    });
    typed.collect()
}

/// The number of the function of the module that has this type.
fn function_of(module: &Module<IRCode>, ty: &Type) -> Option<usize> {
    let Type::Function(name) = ty else { return None };
    match module.function_callee(name) {
        // Under another name it would be shown otherwise.
        Callee::Function(number) if module.functions().get(number)?.name == *name => Some(number),
        _ => None,
    }
}

/// Whether a value can be had in another layout.
fn fits(from: &Layout, to: &Layout) -> bool {
    from.is_as(to) || from.copies() && to.copies() && (from.is_boxed() || to.is_boxed())
}

/// Whether a cell can have these contents.
fn can_hold(inside: &Inside, contents: &[Typed]) -> bool {
    let mut pairs = contents.iter().zip(&inside.fields);
    contents.len() == inside.fields.len() && pairs.all(|(value, (wanted, _))| fits(&value.layout, wanted))
}

impl FunctionCompiler<'_, '_> {
    pub(crate) fn cell_primitive(
        &mut self,
        primitive: &'static Primitive,
        args: &[Operand<Positions>],
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        match (primitive.name, operands) {
            ("new_case", [ty, _, payload @ ..]) => {
                let (Type::TypeOf(ty), Some(case)) = (&ty.layout.ty, args.get(1).and_then(Operand::as_symbol)) else {
                    return Ok(None);
                };
                let layout = self.compiler.layouts.of(ty);
                let number = self.compiler.layouts.case_number(ty, case);
                let Some((number, Shape::Enum)) = number.map(|number| (number, &layout.shape)) else { return Ok(None) };
                match self.compiler.layouts.case(ty, number) {
                    Some((_, inside)) if can_hold(&inside, payload) => {
                        self.new_cell(layout, [number, 0], &inside, payload).map(Some)
                    }
                    _ => Ok(None),
                }
            }
            ("is_case", [value, _]) if matches!(value.layout.shape, Shape::Enum) => {
                let number = args
                    .get(1)
                    .and_then(Operand::as_symbol)
                    .and_then(|case| self.compiler.layouts.case_number(&value.layout.ty, case));
                let (Some(number), Some(cell)) = (number, value.one()) else { return Ok(None) };
                let case = self.load_word(cell, 0);
                let same = self.builder.ins().icmp_imm_s(IntCC::Equal, case, number as i64);
                Ok(Some(self.scalar(ScalarType::Bool, same)))
            }
            ("payload", [value, ..]) if matches!(value.layout.shape, Shape::Enum) => {
                self.payload(primitive, args, operands)
            }
            ("partial_apply", [function, captured @ ..]) => {
                let Some(number) = function_of(&self.module, &function.layout.ty) else { return Ok(None) };
                let made = self.compiler.layouts.closures();
                let made = made.iter().find(|made| made.function == number && made.count == captured.len());
                let Some(ty) = made.map(|made| made.ty.clone()) else { return Ok(None) };
                let layout = self.compiler.layouts.of(&ty);
                let inside = self.compiler.layouts.captured(Some(number), captured.len());
                match can_hold(&inside, captured) {
                    true => self.new_cell(layout, [number, captured.len()], &inside, captured).map(Some),
                    // The interpreter knows what is wrong.
                    false => Ok(None),
                }
            }
            ("applies", [closure, function]) if matches!(closure.layout.shape, Shape::Closure) => {
                let number = function_of(&self.module, &function.layout.ty);
                let (Some(number), Some(cell)) = (number, closure.one()) else { return Ok(None) };
                let applied = self.load_word(cell, 0);
                let same = self.builder.ins().icmp_imm_s(IntCC::Equal, applied, number as i64);
                Ok(Some(self.scalar(ScalarType::Bool, same)))
            }
            ("captured", [closure, function, _]) if matches!(closure.layout.shape, Shape::Closure) => {
                self.captured(closure, function, args.get(2).and_then(Operand::as_position))
            }
            _ => Ok(None),
        }
    }

    fn new_cell(
        &mut self,
        layout: Arc<Layout>,
        words: [usize; 2],
        inside: &Inside,
        contents: &[Typed],
    ) -> Compiled<Typed> {
        let mut converted = Vec::with_capacity(contents.len());
        for (value, (wanted, _)) in contents.iter().zip(&inside.fields) {
            converted.push(self.convert(value.clone(), wanted)?);
        }
        let cell = self.allocate(What::NewObject { bytes: CONTENTS as u32 + inside.size }, &[])?;
        for (at, word) in [0, COUNT].into_iter().zip(words) {
            let word = self.word(word as i64);
            self.builder.ins().store(crate::native::function::trusted(), word, cell, at);
        }
        for (value, (_, at)) in converted.iter().zip(&inside.fields) {
            self.store_value(value, cell, CONTENTS + *at as i32);
        }
        Ok(Typed { layout, parts: Parts::from_slice(&[cell]) })
    }

    /// A part of a payload; the interpreter knows the exception for an enum of another case.
    fn payload(
        &mut self,
        primitive: &'static Primitive,
        args: &[Operand<Positions>],
        operands: &[Typed],
    ) -> Compiled<Option<Typed>> {
        let Some(cell) = operands.first().and_then(Typed::one) else { return Ok(None) };
        let ty = operands.first().map_or(Type::Any, |value| value.layout.ty.clone());
        let number =
            args.get(1).and_then(Operand::as_symbol).and_then(|case| self.compiler.layouts.case_number(&ty, case));
        let inside = number.and_then(|number| self.compiler.layouts.case(&ty, number));
        let (Some(number), Some((_, inside)), Some(part)) =
            (number, inside, args.get(2).and_then(Operand::as_position))
        else {
            return Ok(None);
        };
        let Some((layout, at)) = inside.fields.get(part) else { return Ok(None) };
        let case = self.load_word(cell, 0);
        let same = self.builder.ins().icmp_imm_s(IntCC::Equal, case, number as i64);
        self.throws_unless(same, primitive, operands, "an enum of another case")?;
        Ok(Some(self.load_value(layout, cell, CONTENTS + *at as i32)))
    }

    /// A captured value of a closure of this function.
    fn captured(&mut self, closure: &Typed, function: &Typed, part: Option<usize>) -> Compiled<Option<Typed>> {
        let number = function_of(&self.module, &function.layout.ty);
        let (Some(number), Some(cell), Some(part)) = (number, closure.one(), part) else { return Ok(None) };
        let made = self.compiler.layouts.closures();
        let mut counts = made.iter().filter(|made| made.function == number).map(|made| made.count);
        let (Some(count), None) = (counts.next(), counts.next()) else { return Ok(None) };
        let inside = self.compiler.layouts.captured(Some(number), count);
        let Some((layout, at)) = inside.fields.get(part) else { return Ok(None) };
        let same = self.is_closure_of(cell, number, count);
        self.guard(same, What::Refused("a closure of another function or with another number of captured values"), &[]);
        Ok(Some(self.load_value(layout, cell, CONTENTS + *at as i32)))
    }

    /// Whether a closure applies this function to so many captured values.
    fn is_closure_of(
        &mut self,
        cell: cranelift_codegen::ir::Value,
        number: usize,
        count: usize,
    ) -> cranelift_codegen::ir::Value {
        let (applied, captured) = (self.load_word(cell, 0), self.load_word(cell, COUNT));
        let same_function = self.builder.ins().icmp_imm_s(IntCC::Equal, applied, number as i64);
        let same_count = self.builder.ins().icmp_imm_s(IntCC::Equal, captured, count as i64);
        self.builder.ins().band(same_function, same_count)
    }

    /// Calls a closure: the program knows of which functions it may be, and a helper of all others.
    pub(crate) fn call_closure(
        &mut self,
        closure: &Typed,
        arguments: &[Typed],
        result: Arc<Layout>,
    ) -> Compiled<Typed> {
        let Some(cell) = closure.one() else { return self.refuse("a closure without a cell") };
        let mut candidates = self.compiler.layouts.closures_of(&closure.layout.ty);
        candidates.truncate(MOST_CANDIDATES);
        let held = self.hold(&result);
        let done = self.builder.create_block();
        for Made { function: number, count, .. } in candidates {
            if !self.takes(number, count, arguments, &result)? {
                continue;
            }
            let inside = self.compiler.layouts.captured(Some(number), count);
            let same = self.is_closure_of(cell, number, count);
            let (this, other) = (self.builder.create_block(), self.builder.create_block());
            self.builder.ins().brif(same, this, &[], other, &[]);
            self.seal(&[this, other]);
            self.builder.switch_to_block(this);
            let mut all = arguments.to_vec();
            all.extend(inside.fields.iter().map(|(layout, at)| self.load_value(layout, cell, CONTENTS + *at as i32)));
            let value = self.call(number, all)?;
            let value = self.convert(value, &result)?;
            self.give(&held, &value.parts, None);
            self.builder.ins().jump(done, &[]);
            self.builder.switch_to_block(other);
        }
        let operands: Vec<Typed> = std::iter::once(closure).chain(arguments).cloned().collect();
        let value = self.call_unknown(&operands, result)?;
        self.give(&held, &value.parts, None);
        self.builder.ins().jump(done, &[]);
        self.seal(&[done]);
        self.builder.switch_to_block(done);
        Ok(self.value_in(&held).0)
    }

    /// Whether a function can be called with these arguments and so many captured values for such a result.
    fn takes(&mut self, number: usize, count: usize, arguments: &[Typed], result: &Layout) -> Compiled<bool> {
        if !self.compiler.callable.contains(&number) {
            return Ok(false);
        }
        let signature = self.compiler.signature(number)?;
        Ok(!signature.varargs
            && signature.parameters.len() == arguments.len() + count
            && arguments.iter().zip(&signature.parameters).all(|(from, to)| fits(&from.layout, to))
            && fits(&signature.result, result))
    }
}
