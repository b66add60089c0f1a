//! Arrays that are global constants: a call has its own, made when it starts, so that calls on several threads do not see what others
//! change. They lie below all that the call makes, and are there until it is over.
#![allow(unsafe_code, reason = "writes and reads arrays in the memory that machine code works on")]

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types as clif};
use ircode::{CallGraph, GlobalArray, IRCode, Module, Operand};

use super::compiler::Compiler;
use super::context::{Context, offset};
use super::function::{FunctionCompiler, Typed};
use super::layout::{Layouts, Parts, array};
use super::marshal::{Result, set_word};
use super::sites::{Interpreted, What, Work};
use crate::value::Value;

/// A global array that code uses, as it lies in memory.
#[derive(Debug)]
pub(super) struct Global {
    /// Its position in the module.
    pub(super) index: usize,
    dims: Vec<usize>,
    length: usize,
    elements: Vec<u8>,
}

impl Global {
    fn new(index: usize, declared: &GlobalArray) -> Global {
        let bytes = declared.element().bytes();
        let elements = declared.elements().iter();
        let elements = elements.flat_map(|element| element.to_bits().to_le_bytes().into_iter().take(bytes));
        let (dims, length) = (declared.size().to_vec(), declared.elements().len());
        Global { index, dims, length, elements: elements.collect() }
    }
}

impl Compiler {
    /// The number of the array of this position in the module, among those of the code.
    fn number_of_global(&mut self, index: usize, declared: &GlobalArray) -> usize {
        self.globals.iter().position(|known| known.index == index).unwrap_or_else(|| {
            self.globals.push(Global::new(index, declared));
            self.globals.len() - 1
        })
    }

    /// Takes the arrays for those of the code that functions use which are left to the interpreter: what one of them changes, the next one finds.
    pub(super) fn keep_globals_of_interpreted(&mut self) {
        let functions = self.sites.iter().filter_map(|site| match &site.what {
            What::Interpreted(Interpreted { work: Work::Function(number), .. }) => Some(*number),
            _ => None,
        });
        let left: Vec<usize> = functions.collect();
        if left.is_empty() || self.module.global_arrays().is_empty() {
            return;
        }
        let module = self.module.clone();
        for index in globals_of(&module, left) {
            if let Some(declared) = module.global_arrays().get(index) {
                self.number_of_global(index, declared);
            }
        }
    }
}

/// The global arrays that functions name, and all that they may call, by their positions.
fn globals_of(module: &Module<IRCode>, functions: Vec<usize>) -> Vec<usize> {
    let mut found = Vec::new();
    let functions = CallGraph::new(module).reachable(functions);
    for function in functions.into_iter().filter_map(|number| module.functions().get(number)) {
        for stmt in function.body.stmts.stmts() {
            stmt.for_each_operand(&mut |operand| {
                if let Operand::Global(global) = operand {
                    found.extend(module.global_array(global));
                }
            });
        }
    }
    found
}

impl FunctionCompiler<'_, '_> {
    /// The array of this position in the module.
    pub(super) fn global_array(&mut self, index: usize) -> Option<Typed> {
        let declared = self.module.global_arrays().get(index)?.clone();
        let layout = self.compiler.layouts.of(&declared.ty());
        let number = self.compiler.number_of_global(index, &declared);
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let table = self.builder.ins().load(clif::I64, flags, self.context, offset::GLOBALS);
        let object = self.builder.ins().load(clif::I64, flags, table, 8 * i32::try_from(number).ok()?);
        Some(Typed { layout, parts: Parts::from_slice(&[object]) })
    }
}

impl Context {
    /// Makes the arrays of a call, if they are not there. False if they do not fit in memory.
    pub(super) fn make_globals(&mut self) -> bool {
        let shared = self.shared.clone();
        if self.global_arrays.len() == shared.globals.len() {
            return true;
        }
        for global in &shared.globals {
            let Some(object) = self.make_global(global) else { return false };
            self.global_arrays.push(object);
        }
        self.globals = self.global_arrays.as_ptr() as u64;
        true
    }

    fn make_global(&mut self, global: &Global) -> Option<u64> {
        let rank = u32::try_from(global.dims.len()).ok()?;
        let object = self.memory.take_zeros(array::size(rank))?.as_ptr() as u64;
        let data = self.memory.take(global.elements.len().max(16))?.as_ptr();
        // SAFETY: there is room for the elements, and for a header with so many dimensions.
        unsafe {
            std::ptr::copy_nonoverlapping(global.elements.as_ptr(), data, global.elements.len());
            set_word(object + array::DATA as u64, data as u64);
            for at in [array::LENGTH, array::CAPACITY] {
                set_word(object + at as u64, global.length as u64);
            }
            for (at, dim) in global.dims.iter().enumerate() {
                set_word(object + array::DIMENSIONS as u64 + 8 * at as u64, *dim as u64);
            }
        }
        Some(object)
    }

    /// The arrays as the interpreter has them, by their positions in the module, to go on with in it.
    pub(super) fn globals_as_values(&mut self, layouts: &mut Layouts) -> Result<Vec<Option<Value>>> {
        let shared = self.shared.clone();
        let mut values = vec![None; shared.module.global_arrays().len()];
        for (global, object) in shared.globals.iter().zip(self.global_arrays.clone()) {
            let Some(declared) = shared.module.global_arrays().get(global.index) else { continue };
            let layout = layouts.of(&declared.ty());
            let place = &raw const object as u64;
            // SAFETY: the address of an array of this layout lies there.
            let value = unsafe { self.load(layouts, &layout, place)? };
            if let Some(slot) = values.get_mut(global.index) {
                *slot = Some(value);
            }
        }
        Ok(values)
    }
}
