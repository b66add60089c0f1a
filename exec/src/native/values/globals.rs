//! Arrays and objects that are global constants: a call has its own, made when it starts, so that calls on several
//! threads do not see what others change. They lie below all that the call makes, and are there until it is over.
#![allow(unsafe_code, reason = "writes and reads arrays and objects in the memory that machine code works on")]

use std::sync::Arc;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types as clif};
use ircode::{CallGraph, Constant, GlobalConstant, GlobalPart, GlobalValue, IRCode, Module, Operand, Type};

use crate::constants::global_value;
use crate::native::compiler::Compiler;
use crate::native::function::sites::{Interpreted, What, Work};
use crate::native::function::{Compiled, FunctionCompiler, Typed};
use crate::native::layout::{Layout, Layouts, Parts, Shape, array};
use crate::native::program::marshal::{Result, set_word};
use crate::native::runtime::context::{Context, offset};
use crate::shown_objects::shown_struct;
use crate::value::Value;

/// How deep constants may be made of others.
const DEEPEST: usize = 64;

/// A global array or object that code uses, as it lies in memory.
#[derive(Debug)]
pub(crate) struct Global {
    /// Its position in the module.
    pub(crate) index: usize,
    /// Of an array.
    dims: Option<Vec<usize>>,
    length: usize,
    /// The elements or fields.
    bytes: Vec<u8>,
    /// Where among these bytes the address of another one lies, by its number.
    addresses: Vec<(usize, usize)>,
}

/// What a register of a value holds.
enum Leaf {
    Bits(u128),
    /// The address of the global of this number.
    Address(usize),
}

impl Compiler {
    /// The number of the array or object of this position in the module, among those of the code. `None` if it cannot
    /// lie in native memory.
    fn number_of_global(&mut self, index: usize, deepest: usize) -> Option<usize> {
        if let Some(known) = self.globals.iter().position(|known| known.index == index) {
            return Some(known);
        }
        let module = self.module.clone();
        let global = self.laid_out(index, module.global_constants().get(index)?, deepest.checked_sub(1)?)?;
        self.globals.push(global);
        Some(self.globals.len() - 1)
    }

    fn laid_out(&mut self, index: usize, declared: &GlobalConstant, deepest: usize) -> Option<Global> {
        let layout = self.layouts.of(declared.ty());
        let mut global = Global { index, dims: None, length: 0, bytes: Vec::new(), addresses: Vec::new() };
        match (declared.value(), &layout.shape) {
            (GlobalValue::Numbers { size, elements }, Shape::Array(element, _)) => {
                let bytes = element.as_scalar()?.bytes();
                let elements = elements.iter();
                let elements = elements.flat_map(|element| element.to_bits().to_le_bytes().into_iter().take(bytes));
                global.bytes = elements.collect();
                global.length = size.iter().product();
                global.dims = Some(size.clone());
            }
            (GlobalValue::Elements { size, elements }, Shape::Array(element, _)) => {
                let element = self.layouts.element(element);
                for part in elements {
                    let at = global.bytes.len();
                    self.put(index, part, &element, at, &mut global, deepest)?;
                    if let (Some(flag), false) = (element.assigned, matches!(part, GlobalPart::Undefined)) {
                        *global.bytes.get_mut(at + flag as usize)? = 1;
                    }
                }
                global.length = elements.len();
                global.dims = Some(size.clone());
            }
            (GlobalValue::Fields(parts), Shape::Object | Shape::Reference) => {
                let inside = self.layouts.inside(declared.ty())?;
                if inside.fields.len() != parts.len() {
                    return None;
                }
                for (part, (field, at)) in parts.iter().zip(&inside.fields) {
                    self.put(index, part, field, *at as usize, &mut global, deepest)?;
                }
            }
            _ => return None,
        }
        Some(global)
    }

    /// Puts a part of the constant `of` where a value of the layout lies.
    fn put(
        &mut self,
        of: usize,
        part: &GlobalPart,
        layout: &Arc<Layout>,
        at: usize,
        global: &mut Global,
        deepest: usize,
    ) -> Option<()> {
        global.bytes.resize(global.bytes.len().max(at + layout.size as usize), 0);
        if matches!(part, GlobalPart::Undefined) {
            // Zeros, a pointer to nothing, or an element that is not assigned.
            return (!layout.is_boxed() && (layout.is_pointer() || layout.assigned.is_some())).then_some(());
        }
        let mut leaves = Vec::new();
        self.leaves(of, part, layout, &mut leaves, deepest)?;
        if leaves.len() != layout.parts.len() {
            return None;
        }
        for ((leaf, offset), ty) in leaves.into_iter().zip(&layout.offsets).zip(&layout.parts) {
            let from = at + *offset as usize;
            match leaf {
                Leaf::Address(number) => global.addresses.push((from, number)),
                Leaf::Bits(bits) => {
                    let place = global.bytes.get_mut(from..from + ty.bytes() as usize)?;
                    place.iter_mut().zip(bits.to_le_bytes()).for_each(|(to, byte)| *to = byte);
                }
            }
        }
        Some(())
    }

    /// What the registers of a value of this layout hold that is a part of the constant `of`; `None` if it is of
    /// another type, or cannot lie there.
    fn leaves(
        &mut self,
        of: usize,
        part: &GlobalPart,
        layout: &Arc<Layout>,
        leaves: &mut Vec<Leaf>,
        deepest: usize,
    ) -> Option<()> {
        let deepest = deepest.checked_sub(1)?;
        let module = self.module.clone();
        if let Some(named) = module.global_part(of, part) {
            let declared = module.global_constants().get(named)?;
            let own = self.layouts.of(declared.ty());
            if own.ty != layout.ty {
                return None;
            }
            return match (&layout.shape, declared.value()) {
                (Shape::Fields(fields), GlobalValue::Fields(parts)) if fields.len() == parts.len() => {
                    let mut fields = parts.iter().zip(fields);
                    fields.try_for_each(|(part, field)| self.leaves(named, part, field, leaves, deepest))
                }
                (Shape::Array(..) | Shape::Object | Shape::Reference, _) => {
                    leaves.push(Leaf::Address(self.number_of_global(named, deepest)?));
                    Some(())
                }
                _ => None,
            };
        }
        match part {
            GlobalPart::Constant(constant) => self.leaves_of_constant(constant, layout, leaves, deepest),
            GlobalPart::Global(global) => {
                let is_function = matches!(layout.ty, Type::Function(_)) && matches!(layout.shape, Shape::Unit);
                (is_function && matches!(global_value(&module, global), Value::Function(_))).then_some(())
            }
            GlobalPart::Undefined => None,
        }
    }

    fn leaves_of_constant(
        &mut self,
        constant: &Constant,
        layout: &Arc<Layout>,
        leaves: &mut Vec<Leaf>,
        deepest: usize,
    ) -> Option<()> {
        let deepest = deepest.checked_sub(1)?;
        let shown = shown_struct(&self.module, constant);
        let fields: Vec<Constant> = match (constant, &shown, &layout.shape) {
            (Constant::Scalar(number), _, Shape::Scalar(ty)) if number.scalar_type() == *ty => {
                leaves.push(Leaf::Bits(number.to_bits()));
                return Some(());
            }
            (Constant::Nothing, _, Shape::Unit) => return (layout.ty == Type::Nothing).then_some(()),
            (Constant::Function(_), _, Shape::Unit) => return matches!(layout.ty, Type::Function(_)).then_some(()),
            (Constant::String(_) | Constant::Symbol(_) | Constant::Scalar(_) | Constant::Nothing, _, Shape::Boxed) => {
                leaves.push(Leaf::Bits(self.constants.number_of(constant).into()));
                return Some(());
            }
            (Constant::Tuple(fields), _, Shape::Fields(_)) => fields.to_vec(),
            (Constant::NamedTuple(fields), _, Shape::Fields(_)) => {
                fields.iter().map(|(_, field)| field.clone()).collect()
            }
            (_, Some((ty, fields)), Shape::Fields(_)) if self.layouts.of(ty).ty == layout.ty => fields.clone(),
            _ => return None,
        };
        let Shape::Fields(layouts) = &layout.shape else { return None };
        if layouts.len() != fields.len() {
            return None;
        }
        let mut fields = fields.iter().zip(layouts);
        fields.try_for_each(|(field, layout)| self.leaves_of_constant(field, layout, leaves, deepest))
    }

    /// Takes the arrays and objects for those of the code that functions use which are left to the interpreter: what
    /// one of them changes, the next one finds.
    ///
    /// # Errors
    ///
    /// The type of one that cannot lie in native memory, and the function that uses it.
    pub(crate) fn keep_globals_of_interpreted(&mut self) -> std::result::Result<(), (usize, Type)> {
        let functions = self.sites.iter().filter_map(|site| match &site.what {
            What::Interpreted(Interpreted { work: Work::Function(number), .. }) => Some(*number),
            _ => None,
        });
        let left: Vec<usize> = functions.collect();
        if left.is_empty() || self.module.global_constants().is_empty() {
            return Ok(());
        }
        let module = self.module.clone();
        for (function, index) in globals_of(&module, &left) {
            let Some(declared) = module.global_constants().get(index) else { continue };
            let is_object = self.layouts.of(declared.ty()).is_pointer() || matches!(declared.ty(), Type::Array(_));
            let can_change = is_object || struct_is_mutable(&module, declared.ty());
            if can_change && self.number_of_global(index, DEEPEST).is_none() {
                return Err((function, declared.ty().clone()));
            }
        }
        Ok(())
    }
}

fn struct_is_mutable(module: &Module<IRCode>, ty: &Type) -> bool {
    let Type::Named(name) = ty else { return matches!(ty, Type::Ref(_)) };
    !matches!(module.type_def(name).map(|def| &def.kind), Some(ircode::TypeKind::Struct { mutable: false, .. }))
}

/// The global constants that functions name, and all that they may call, and those that these are made of, by their
/// positions, each with the function that names it.
fn globals_of(module: &Module<IRCode>, functions: &[usize]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let graph = CallGraph::new(module);
    let mut reached = graph.reachable(functions.iter().copied());
    // A method of an object is not named where it is called.
    if reached.iter().any(|&number| graph.calls_unknown(number)) {
        reached = (0..module.functions().len()).collect();
    }
    for number in reached {
        let Some(function) = module.functions().get(number) else { continue };
        for stmt in function.body.stmts.stmts() {
            stmt.for_each_operand(&mut |operand| {
                if let Operand::Global(global) = operand {
                    found.extend(module.global_constant(global).map(|index| (number, index)));
                }
            });
        }
    }
    let mut seen = vec![false; module.global_constants().len()];
    found.retain(|(_, index)| seen.get_mut(*index).is_some_and(|seen| !std::mem::replace(seen, true)));
    let mut at = 0;
    while let Some(&(function, index)) = found.get(at) {
        at += 1;
        let value = module.global_constants().get(index).map(|declared| declared.value());
        let Some(GlobalValue::Elements { elements: parts, .. } | GlobalValue::Fields(parts)) = value else { continue };
        for named in parts.iter().filter_map(|part| module.global_part(index, part)) {
            if seen.get_mut(named).is_some_and(|seen| !std::mem::replace(seen, true)) {
                found.push((function, named));
            }
        }
    }
    found
}

impl FunctionCompiler<'_, '_> {
    /// The constant of this position in the module.
    pub(crate) fn global_constant(&mut self, index: usize) -> Compiled<Typed> {
        self.global_within(index, DEEPEST)
    }

    fn global_within(&mut self, index: usize, deepest: usize) -> Compiled<Typed> {
        let module = self.module.clone();
        let (Some(declared), Some(deepest)) = (module.global_constants().get(index), deepest.checked_sub(1)) else {
            return self.refuse("a global constant that is made of so many others");
        };
        let layout = self.compiler.layouts.of(declared.ty());
        if let (GlobalValue::Fields(parts), false) = (declared.value(), layout.is_pointer()) {
            // One in memory would be made where it is named, and is not known to be older than the call.
            if !matches!(layout.shape, Shape::Fields(_)) {
                return self.refuse(format!("the global constant `{}`", declared.name()));
            }
            let mut fields = Vec::with_capacity(parts.len());
            for part in parts {
                fields.push(match (module.global_part(index, part), part) {
                    (Some(named), _) => self.global_within(named, deepest)?,
                    (None, GlobalPart::Constant(constant)) => self.constant(constant)?,
                    (None, GlobalPart::Global(global)) => self.named_value(global)?,
                    (None, GlobalPart::Undefined) => return self.refuse("a field that was not assigned"),
                });
            }
            return self.assemble(layout, &fields);
        }
        let Some(number) = self.compiler.number_of_global(index, deepest) else {
            return self.refuse(format!("the global constant `{}`", declared.name()));
        };
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let table = self.builder.ins().load(clif::I64, flags, self.context, offset::GLOBALS);
        let Ok(at) = i32::try_from(8 * number) else { return self.refuse("so many global constants") };
        let object = self.builder.ins().load(clif::I64, flags, table, at);
        Ok(Typed { layout, parts: Parts::from_slice(&[object]) })
    }
}

impl Context {
    /// Makes the arrays and objects of a call, if they are not there. False if they do not fit in memory.
    pub(crate) fn make_globals(&mut self) -> bool {
        let shared = self.shared.clone();
        if self.global_constants.len() == shared.globals.len() {
            return true;
        }
        for global in &shared.globals {
            let Some(object) = self.make_global(global) else { return false };
            self.global_constants.push(object);
        }
        self.globals = self.global_constants.as_ptr() as u64;
        true
    }

    fn make_global(&mut self, global: &Global) -> Option<u64> {
        let data = self.memory.take(global.bytes.len().next_multiple_of(16).max(16))?.as_ptr();
        // SAFETY: there is room for the bytes.
        unsafe { std::ptr::copy_nonoverlapping(global.bytes.as_ptr(), data, global.bytes.len()) };
        for (at, number) in &global.addresses {
            // One that another names was made before it.
            let address = self.global_constants.get(*number)?;
            // SAFETY: a pointer lies there, among the bytes.
            unsafe { set_word(data as u64 + *at as u64, *address) };
        }
        let Some(dims) = &global.dims else { return Some(data as u64) };
        let rank = u32::try_from(dims.len()).ok()?;
        let object = self.memory.take_zeros(array::size(rank))?.as_ptr() as u64;
        // SAFETY: there is room for a header with so many dimensions.
        unsafe {
            set_word(object + array::DATA as u64, data as u64);
            for at in [array::LENGTH, array::CAPACITY] {
                set_word(object + at as u64, global.length as u64);
            }
            for (at, dim) in dims.iter().enumerate() {
                set_word(object + array::dimension(at as u32) as u64, *dim as u64);
            }
        }
        Some(object)
    }

    /// The arrays and objects as the interpreter has them, by their positions in the module, to go on with in it.
    pub(crate) fn globals_as_values(&mut self, layouts: &mut Layouts) -> Result<Vec<Option<Value>>> {
        let shared = self.shared.clone();
        let mut values = vec![None; shared.module.global_constants().len()];
        for (global, object) in shared.globals.iter().zip(self.global_constants.clone()) {
            let Some(declared) = shared.module.global_constants().get(global.index) else { continue };
            let layout = layouts.of(declared.ty());
            let place = &raw const object as u64;
            // SAFETY: the address of an array or object of this layout lies there.
            let value = unsafe { self.load(layouts, &layout, place)? };
            if let Some(slot) = values.get_mut(global.index) {
                *slot = Some(value);
            }
        }
        Ok(values)
    }
}
