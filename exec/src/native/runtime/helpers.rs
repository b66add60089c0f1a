//! What machine code calls: for memory, for errors, for what the interpreter does, for functions of mathematics.
//!
//! Every helper that has to do with the call takes its context first. Those that can fail say so by 1, or by the
//! address 0, and have put the error into the context.
#![allow(unsafe_code, reason = "called by machine code, with addresses of its memory")]

use cranelift_codegen::ir;
use cranelift_codegen::ir::types as clif;
use ircode::Scalar;
use ircode::primitives::ResultType;
use smallvec::SmallVec;

use super::context::{Context, Shared};
use crate::builtins::arrays::INVALID_DIMENSIONS;
use crate::builtins::whole_arrays::negative_count;
use crate::error::RunErrorKind;
use crate::machine::Fault;
use crate::native::function::calls::call_value;
use crate::native::function::sites::{Interpreted, What, Work};
use crate::native::layout::{Layouts, array};
use crate::native::program::marshal::{Refused, set_word, word};
use crate::value::Value;

macro_rules! math {
    ($($name:ident),* $(,)?) => {
        mod math {
            $(pub(crate) extern "C" fn $name(x: f64) -> f64 {
                ircode::primitives::float64::$name(x)
            })*
        }

        mod single {
            $(pub(crate) extern "C" fn $name(x: f32) -> f32 {
                ircode::primitives::float32::$name(x)
            })*
        }

        /// The primitives that compute a function of one `Float64`, or of one `Float32`.
        pub(crate) const MATH: &[&str] = &[$(stringify!($name)),*];

        fn math_symbols() -> Vec<(String, *const u8)> {
            let double = [$((math_symbol(stringify!($name)), math::$name as *const u8)),*];
            let single = [$((single_math_symbol(stringify!($name)), single::$name as *const u8)),*];
            double.into_iter().chain(single).collect()
        }
    };
}

math!(
    sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, exp, exp2, exp10, expm1, log, log2, log10,
    log1p, cbrt, erf, erfc
);

/// The name under which the function that a primitive computes is declared.
pub(crate) fn math_symbol(primitive: &str) -> String {
    format!("bbkit_{primitive}")
}

/// The same for a `Float32`.
pub(crate) fn single_math_symbol(primitive: &str) -> String {
    format!("bbkit_{primitive}_single")
}

/// A helper that is no function of one number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Helper {
    /// Ends the call with the error that a site describes.
    Fail,
    /// Adds a caller to the trace of an error.
    PassThrough,
    /// Runs a statement in the interpreter.
    Interpret,
    /// Calls a function that is a value.
    CallValue,
    /// Goes on with a call on another stack.
    Continue,
    /// Makes an object.
    New,
    /// Lets a stack or a vector grow.
    Grow,
    /// Fills memory with zeros.
    Zero,
    /// Moves memory, which may overlap.
    Move,
    /// Fills memory with words of a size.
    Fill,
    /// Adds `Float64`s to others.
    AddFloats,
    /// Adds `Float32`s to others.
    AddSingles,
    /// Gives back memory that was made since a mark.
    Release,
    /// Catches an error, if it is an exception.
    Catch,
    /// Ends the handling of exceptions.
    PopException,
    /// The power of two `Float64`s.
    Power,
    /// The remainder of two `Float64`s.
    Remainder,
    /// The power of two `Float32`s.
    SinglePower,
    /// The remainder of two `Float32`s.
    SingleRemainder,
}

/// The types of operands, and of the result.
pub(crate) type HelperSignature<'t> = (&'t [ir::Type], Option<ir::Type>);

impl Helper {
    /// All of them.
    pub(crate) const ALL: [Helper; 19] = [
        Helper::Fail,
        Helper::PassThrough,
        Helper::Interpret,
        Helper::CallValue,
        Helper::Continue,
        Helper::New,
        Helper::Grow,
        Helper::Zero,
        Helper::Move,
        Helper::Fill,
        Helper::AddFloats,
        Helper::AddSingles,
        Helper::Release,
        Helper::Catch,
        Helper::PopException,
        Helper::Power,
        Helper::Remainder,
        Helper::SinglePower,
        Helper::SingleRemainder,
    ];

    /// The name under which it is declared.
    pub(crate) fn symbol(self) -> String {
        format!("bbkit_runtime_{self:?}")
    }

    /// Its operands and its result. The context is an address, as are all that are not said to be something else.
    pub(crate) fn signature(self) -> HelperSignature<'static> {
        const WORD: ir::Type = clif::I64;
        const STATUS: Option<ir::Type> = Some(clif::I8);
        const SITE: ir::Type = clif::I32;
        match self {
            Helper::Fail => (&[WORD, SITE, WORD], None),
            Helper::PassThrough => (&[WORD, SITE], None),
            Helper::Interpret | Helper::CallValue => (&[WORD, SITE, WORD], STATUS),
            Helper::Continue => (&[WORD, WORD, WORD, WORD], STATUS),
            Helper::New => (&[WORD, SITE, WORD], Some(WORD)),
            Helper::Grow => (&[WORD, SITE, WORD, WORD], STATUS),
            Helper::Zero => (&[WORD, WORD], None),
            Helper::Move | Helper::AddFloats | Helper::AddSingles => (&[WORD, WORD, WORD], None),
            Helper::Fill => (&[WORD, WORD, WORD, WORD], None),
            Helper::Release | Helper::PopException => (&[WORD, WORD], None),
            Helper::Catch => (&[WORD, WORD], STATUS),
            Helper::Power | Helper::Remainder => (&[clif::F64, clif::F64], Some(clif::F64)),
            Helper::SinglePower | Helper::SingleRemainder => (&[clif::F32, clif::F32], Some(clif::F32)),
        }
    }

    /// Where its code is, of this signature.
    fn address(self) -> *const u8 {
        match self {
            Helper::Fail => fail as *const u8,
            Helper::PassThrough => pass_through as *const u8,
            Helper::Interpret => interpret as *const u8,
            Helper::CallValue => call_value as *const u8,
            Helper::Continue => on_another_stack as *const u8,
            Helper::New => new as *const u8,
            Helper::Grow => grow as *const u8,
            Helper::Zero => zero as *const u8,
            Helper::Move => move_bytes as *const u8,
            Helper::Fill => fill as *const u8,
            Helper::AddFloats => add::<f64> as *const u8,
            Helper::AddSingles => add::<f32> as *const u8,
            Helper::Release => release as *const u8,
            Helper::Catch => catch as *const u8,
            Helper::PopException => pop_exception as *const u8,
            Helper::Power => pow as *const u8,
            Helper::Remainder => fmod as *const u8,
            Helper::SinglePower => single_pow as *const u8,
            Helper::SingleRemainder => single_fmod as *const u8,
        }
    }
}

extern "C" fn pow(x: f64, y: f64) -> f64 {
    ircode::primitives::float64::pow(x, y)
}

/// Rust's `%`, as the interpreter has it.
extern "C" fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

extern "C" fn single_pow(x: f32, y: f32) -> f32 {
    ircode::primitives::float32::pow(x, y)
}

extern "C" fn single_fmod(x: f32, y: f32) -> f32 {
    x % y
}

/// Fills memory of the call with zeros.
unsafe extern "C" fn zero(address: u64, bytes: u64) {
    // SAFETY: called by machine code with the elements of an array: as many bytes, aligned to 8, or none.
    unsafe { (address as *mut u8).write_bytes(0, bytes as usize) };
}

/// Moves bytes to where others may lie that are moved, too.
unsafe extern "C" fn move_bytes(to: u64, from: u64, bytes: u64) {
    // SAFETY: called by machine code with elements of two arrays, or of one: as many bytes each.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize) };
}

/// Puts the same number in the place of so many elements.
unsafe extern "C" fn fill(address: u64, count: u64, bits: u64, size: u64) {
    let count = count as usize;
    // SAFETY: called by machine code with so many elements of an array, each of so many bytes and at a multiple of
    // them.
    unsafe {
        match size {
            1 => std::slice::from_raw_parts_mut(address as *mut u8, count).fill(bits as u8),
            2 => std::slice::from_raw_parts_mut(address as *mut u16, count).fill(bits as u16),
            4 => std::slice::from_raw_parts_mut(address as *mut u32, count).fill(bits as u32),
            _ => std::slice::from_raw_parts_mut(address as *mut u64, count).fill(bits),
        }
    }
}

/// Adds so many floats to others.
unsafe extern "C" fn add<T: Copy + std::ops::AddAssign>(to: u64, from: u64, count: u64) {
    let (to, from) = (to as *mut T, from as *const T);
    for index in 0..count as usize {
        // SAFETY: called by machine code with so many elements of two arrays, each at a multiple of its size. They may
        // share memory, so that there are no slices of them.
        unsafe { *to.add(index) += *from.add(index) };
    }
}

/// The addresses of what machine code calls, by the names under which it is declared.
pub(crate) fn symbols() -> Vec<(String, *const u8)> {
    let helpers = Helper::ALL.iter().map(|helper| (helper.symbol(), helper.address()));
    math_symbols().into_iter().chain(helpers).collect()
}

/// Runs a helper's work on the context of the call.
///
/// # Safety
///
/// The context is that of the call that machine code works on, and nobody else uses it now.
unsafe fn on<T>(context: *mut Context, work: impl FnOnce(&mut Context, &Shared) -> T) -> T {
    // SAFETY: as the caller promises.
    let context = unsafe { &mut *context };
    let shared = context.shared.clone();
    work(context, &shared)
}

/// The address at which operand `index` lies.
fn operand(operands: u64, index: usize) -> u64 {
    operands + 16 * index as u64
}

/// Ends the call with the error that the site describes.
unsafe extern "C" fn fail(context: *mut Context, site: u32, operands: u64) {
    // SAFETY: called by machine code with its context.
    unsafe {
        on(context, |context, shared| {
            let Some(at) = shared.sites.get(site as usize) else { return };
            let exception = |context: &mut Context, name: &str, names: &[&str], fields: Vec<Value>| {
                context.runtime().exception(name, names, fields)
            };
            let fault = match &at.what {
                What::Bounds { array, indices } => {
                    // SAFETY: the operands are the array and as many indices.
                    let array = context.with_layouts(|context, layouts| {
                        // SAFETY: as above.
                        context.tracking(|context| context.load(layouts, array, operands))
                    });
                    let indices: Vec<Value> = (1..=*indices)
                        // SAFETY: as above.
                        .map(|index| Value::from(word(operand(operands, index)) as i64))
                        .collect();
                    match (array, context.runtime().tuple(indices)) {
                        (Ok(array), Ok(index)) => exception(context, "BoundsError", &["a", "i"], vec![array, index]),
                        (Err(refused), _) => context.fault_of(refused),
                        (_, Err(fault)) => fault,
                    }
                }
                What::Stretch { array } => {
                    // SAFETY: the operands are the array and two numbers.
                    let array = context.with_layouts(|context, layouts| {
                        // SAFETY: as above.
                        context.tracking(|context| context.load(layouts, array, operands))
                    });
                    let [first, last] = [1, 2].map(|index| word(operand(operands, index)) as i64);
                    let indices = Value::Text(format!("{first}:{last}").into());
                    match array {
                        Ok(array) => exception(context, "BoundsError", &["a", "i"], vec![array, indices]),
                        Err(refused) => context.fault_of(refused),
                    }
                }
                What::NegativeCount => {
                    let message = negative_count(i128::from(word(operands) as i64));
                    exception(context, "ArgumentError", &["msg"], vec![Value::String(message.into())])
                }
                What::Exception(name) => exception(context, name, &[], Vec::new()),
                What::Message(name, message) => {
                    exception(context, name, &["msg"], vec![Value::String((*message).into())])
                }
                What::NotAssigned(name) => {
                    exception(context, "UndefVarError", &["var"], vec![Value::Symbol(name.clone())])
                }
                What::Undefined(what) => Fault::Fatal(RunErrorKind::Undefined(what.clone())),
                What::UnknownFunction(name) => Fault::Fatal(RunErrorKind::UnknownFunction(name.clone())),
                What::Unsupported(what) => Fault::Fatal(RunErrorKind::Unsupported(what.clone())),
                What::Refused(what) => context.fault_of(Refused::Value((*what).into())),
                What::Unreachable => Fault::Fatal(RunErrorKind::ReachedUnreachable),
                What::FellThrough => Fault::Fatal(RunErrorKind::FellThrough),
                What::ReturnedFromBottom => Fault::Fatal(RunErrorKind::ReturnedFromBottom),
                What::Depth => {
                    // The call did not come about: the error is the caller's.
                    context.fail_outside(Fault::Fatal(RunErrorKind::DepthLimit(shared.limits.depth)));
                    return;
                }
                What::NewArray { .. }
                | What::Reshape { .. }
                | What::NewStack { .. }
                | What::NewObject { .. }
                | What::Grow { .. } => Fault::OutOfMemory,
                What::Call | What::CallValue(_) | What::Interpreted(_) => {
                    Fault::Fatal(RunErrorKind::Unsupported("a failure without a reason".into()))
                }
            };
            context.fail(site, fault);
        });
    }
}

/// Tells the context that the error came through the call at this site.
unsafe extern "C" fn pass_through(context: *mut Context, site: u32) {
    // SAFETY: called by machine code with its context.
    unsafe { on(context, |context, _| context.pass_through(site)) }
}

/// Calls a function by its trampoline on another stack.
unsafe extern "C" fn on_another_stack(context: *mut Context, code: u64, arguments: u64, result: u64) -> u8 {
    // SAFETY: called by machine code with its context, the trampoline of a function, and places for its arguments and
    // its result.
    unsafe {
        let code: extern "C" fn(*mut Context, u64, u64) -> u8 = std::mem::transmute(code as *const ());
        (*context).on_another_stack(|context| code(context, arguments, result))
    }
}

/// Gives back the objects that were made since the memory was at this position.
unsafe extern "C" fn release(context: *mut Context, mark: u64) {
    // SAFETY: called by machine code with its context.
    unsafe { (*context).memory.release(mark) }
}

/// Handles the exception that came out of a statement in the care of a handler; gives 1 if it is an error of another
/// kind.
unsafe extern "C" fn catch(context: *mut Context, depth: u64) -> u8 {
    // SAFETY: called by machine code with its context.
    unsafe { on(context, |context, _| u8::from(!context.catch(depth))) }
}

/// Ends the handling of exceptions but for so many.
unsafe extern "C" fn pop_exception(context: *mut Context, depth: u64) {
    // SAFETY: called by machine code with its context.
    unsafe { on(context, |context, _| context.forget_exceptions(depth)) }
}

/// Does what the interpreter does. The operands lie at multiples of 16 bytes, and the result is put at the first of
/// them.
unsafe extern "C" fn interpret(context: *mut Context, site: u32, operands: u64) -> u8 {
    // SAFETY: called by machine code with its context.
    unsafe {
        on(context, |context, shared| {
            let Some(What::Interpreted(work)) = shared.sites.get(site as usize).map(|site| &site.what) else {
                return 1;
            };
            let done = context.guarded(site, |context| {
                // SAFETY: the operands are those of the site, and there is room for its result.
                context.with_layouts(|context, layouts| interpret_on(context, layouts, work, operands))
            });
            match done {
                None => 1,
                Some(Ok(())) => 0,
                Some(Err(refused)) => {
                    let inner = std::mem::take(&mut context.inner_places);
                    context.refuse_or_fail(site, refused);
                    context.inner_places = inner;
                    1
                }
            }
        })
    }
}

/// # Safety
///
/// The operands of `interpreted` lie at `operands`, and there is room for its result.
unsafe fn interpret_on(
    context: &mut Context,
    layouts: &mut Layouts,
    interpreted: &Interpreted,
    operands: u64,
) -> Result<(), Refused> {
    if matches!(&interpreted.work, Work::Primitive(primitive) if primitive.result == ResultType::Bottom) {
        // Nothing changes any more, and what is thrown holds the caller's own objects.
        // SAFETY: as the caller promises.
        return context.tracking(|context| unsafe { interpret_fresh(context, layouts, interpreted, operands) });
    }
    if let Work::TheException { .. } = interpreted.work {
        // The objects in it are those that are known.
        // SAFETY: as the caller promises.
        return unsafe { interpret_fresh(context, layouts, interpreted, operands) };
    }
    // Objects are made anew for the interpreter, and what it did to them is written back: what it knows of them from
    // before may be out of date.
    let known = context.set_aside_objects();
    // SAFETY: as the caller promises.
    let done = unsafe { interpret_fresh(context, layouts, interpreted, operands) };
    // What was changed before something was thrown stays changed.
    let written = match &done {
        Err(Refused::Fault(Fault::Throw(_))) => context.write_through(layouts),
        _ => Ok(()),
    };
    let copies = context.take_up_objects(known);
    if let Err(Refused::Fault(Fault::Throw(exception))) = &done {
        context.hold_own_objects(exception, &copies);
        // Only what lies in its fields is exchanged.
        if context.holds_copies(exception, &copies) {
            return Err(Refused::Value("an exception that is an object, or holds one in another value,".into()));
        }
    }
    written.and(done)
}

/// # Safety
///
/// As [`interpret_on`].
unsafe fn interpret_fresh(
    context: &mut Context,
    layouts: &mut Layouts,
    interpreted: &Interpreted,
    operands: u64,
) -> Result<(), Refused> {
    let mut values = Vec::with_capacity(interpreted.operands.len());
    let mut at = operands;
    for layout in &interpreted.operands {
        // SAFETY: as the caller promises.
        let value = unsafe { context.load(layouts, layout, at)? };
        if matches!(value, Value::Undefined) {
            let what = "something that was not assigned".into();
            return Err(Refused::Fault(Fault::Fatal(RunErrorKind::Undefined(what))));
        }
        values.push(value);
        at += u64::from(layout.size.next_multiple_of(16));
    }
    let result = match &interpreted.work {
        Work::Primitive(primitive) => {
            let result = context.runtime().call_primitive(primitive, &values)?;
            if matches!(primitive.name, "print" | "println") && context.printed() > context.memory.limit() {
                return Err(Refused::Fault(Fault::OutOfMemory));
            }
            result
        }
        Work::Function(number) => {
            let globals = context.globals_as_values(layouts)?;
            context.run_function(*number, &values, globals)?
        }
        Work::Construct(ty) => context.runtime().construct(ty, &values)?,
        Work::NewStruct(info) => context.runtime().new_structure(info.clone(), values)?,
        Work::Condition => match values.pop() {
            Some(value @ Value::Scalar(Scalar::Bool(_))) => value,
            other => {
                let what = other.unwrap_or(Value::Undefined).to_string();
                return Err(Refused::Fault(Fault::Fatal(RunErrorKind::NotBool(what))));
            }
        },
        Work::TheException { looked_into } => match context.exception() {
            Some(exception) => {
                if *looked_into {
                    context.check_apart(std::slice::from_ref(&exception))?;
                }
                exception
            }
            None => {
                let what = "the current exception".into();
                return Err(Refused::Fault(Fault::Fatal(RunErrorKind::Undefined(what))));
            }
        },
        Work::Convey => values.pop().unwrap_or(Value::Undefined),
    };
    let only_reads = match &interpreted.work {
        Work::Primitive(primitive) => !primitive.effects.writes,
        work => matches!(work, Work::TheException { .. }),
    };
    if !only_reads {
        context.write_through(layouts)?;
    }
    // SAFETY: as the caller promises.
    unsafe { context.store(layouts, &interpreted.result, &result, operands) }
}

/// The dimensions of an array. Those of most arrays need no memory of their own.
type Dims = SmallVec<[i64; 4]>;

/// Makes an object; gives its address. The operands are the dimensions of an array.
unsafe extern "C" fn new(context: *mut Context, site: u32, operands: u64) -> u64 {
    // SAFETY: called by machine code with its context.
    unsafe {
        on(context, |context, shared| {
            let Some(at) = shared.sites.get(site as usize) else { return 0 };
            let out_of_memory = Fault::OutOfMemory;
            let made = match &at.what {
                What::NewObject { bytes } => match context.memory.take_zeros(*bytes as usize) {
                    Some(object) => Ok(object.as_ptr() as u64),
                    None => Err(out_of_memory),
                },
                What::NewArray { element, rank } => {
                    // SAFETY: there is an operand for each dimension.
                    let dims = (0..*rank as usize).map(|dim| word(operand(operands, dim)) as i64).collect::<Dims>();
                    new_array(context, element.size, &dims).unwrap_or(Err(out_of_memory))
                }
                What::Reshape { rank } => {
                    // SAFETY: the first operand is an array, and there is one for each dimension.
                    let array = word(operand(operands, 0));
                    let dims = (1..=*rank as usize).map(|dim| word(operand(operands, dim)) as i64).collect::<Dims>();
                    let (data, length) = (word(array + array::DATA as u64), word(array + array::LENGTH as u64));
                    new_header(context, data, length, &dims).ok_or(out_of_memory)
                }
                What::NewStack { element, hint } => {
                    let longest = context.hints.get(*hint).copied().unwrap_or(0);
                    let bytes = longest.saturating_mul(u64::from(element.size));
                    let left = context.memory.limit().saturating_sub(context.memory.in_use());
                    let expected = if bytes < (left / EXPECTED) as u64 { longest.max(LEAST) } else { LEAST };
                    new_stack(context, element.size, expected, *hint).ok_or(out_of_memory)
                }
                _ => Err(out_of_memory),
            };
            match made {
                Ok(address) => address,
                Err(fault) => {
                    context.fail(site, fault);
                    0
                }
            }
        })
    }
}

/// An array of zeros; `None` if there is no memory for it.
fn new_array(context: &mut Context, bytes: u32, dims: &[i64]) -> Option<Result<u64, Fault>> {
    let length = dims.iter().try_fold(1_u64, |length, &dim| length.checked_mul(u64::try_from(dim).ok()?));
    let Some(length) = length.filter(|&length| i64::try_from(length).is_ok()) else {
        return Some(Err(context.runtime().argument_error(INVALID_DIMENSIONS)));
    };
    let data = context.memory.take_zeros(bytes_of(context, length, bytes)?)?;
    new_header(context, data.as_ptr() as u64, length, dims).map(Ok)
}

/// What so many elements of this size take; `None` if that is more memory than there is. Of elements that take none
/// there may be as many as of one byte.
fn bytes_of(context: &Context, length: u64, each: u32) -> Option<usize> {
    let limit = context.memory.limit() as u64;
    length.checked_mul(u64::from(each.max(1))).filter(|&bytes| bytes <= limit)?;
    Some((length as usize * each as usize).max(16))
}

/// The header of an array with these elements; `None` if there is no memory for it.
fn new_header(context: &mut Context, data: u64, length: u64, dims: &[i64]) -> Option<u64> {
    let header = context.memory.take(array::size(dims.len() as u32))?.as_ptr() as u64;
    // SAFETY: the header has these words, and one for each dimension.
    unsafe {
        set_word(header + array::DATA as u64, data);
        set_word(header + array::LENGTH as u64, length);
        set_word(header + array::CAPACITY as u64, length);
        for (at, dim) in dims.iter().enumerate() {
            set_word(header + array::dimension(at as u32) as u64, *dim as u64);
        }
    }
    Some(header)
}

/// The fewest elements for which there is room on a stack.
const LEAST: u64 = 4;

/// New stacks start as long as the longest of their site was, while that takes less than this part of the memory that
/// is left: many of them may stay short.
const EXPECTED: usize = 16;

/// An empty stack with room for so many elements.
fn new_stack(context: &mut Context, bytes: u32, room: u64, hint: usize) -> Option<u64> {
    let data = context.memory.take(bytes_of(context, room, bytes)?)?;
    let header = context.memory.take(array::size(0))?.as_ptr() as u64;
    // SAFETY: the header has these words.
    unsafe {
        set_word(header + array::DATA as u64, data.as_ptr() as u64);
        set_word(header + array::LENGTH as u64, 0);
        set_word(header + array::CAPACITY as u64, room);
        set_word(header + array::HINT as u64, hint as u64);
    }
    Some(header)
}

/// Gives a vector or a stack room for more elements: at least for `least`.
unsafe extern "C" fn grow(context: *mut Context, site: u32, header: u64, least: u64) -> u8 {
    // SAFETY: called by machine code with its context, and with the header of an array or a stack.
    unsafe {
        on(context, |context, shared| {
            let Some(What::Grow { bytes, stack, ahead }) = shared.sites.get(site as usize).map(|site| &site.what)
            else {
                return 1;
            };
            let mut grown = || -> Option<u64> {
                let (data, length) = (word(header + array::DATA as u64), word(header + array::LENGTH as u64));
                let room = least.max(word(header + array::CAPACITY as u64).checked_mul(2)?).max(LEAST);
                let place = context.memory.take(bytes_of(context, room, *bytes)?)?.as_ptr();
                // SAFETY: the old elements fit into the new memory, which does not overlap with theirs.
                std::ptr::copy_nonoverlapping(data as *const u8, place, length as usize * *bytes as usize);
                set_word(header + array::DATA as u64, place as u64);
                set_word(header + array::CAPACITY as u64, room);
                Some(room)
            };
            match grown() {
                Some(room) => {
                    if *stack && let Some(hint) = context.hints.get_mut(word(header + array::HINT as u64) as usize) {
                        *hint = room.max(*hint);
                    }
                    0
                }
                None if *ahead => 0,
                None => {
                    context.fail(site, Fault::OutOfMemory);
                    1
                }
            }
        })
    }
}
