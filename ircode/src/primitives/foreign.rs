//! Foreign functions that are primitives: C's math library, LLVM's intrinsics, and what Julia's runtime does.

use super::{Primitive, lookup};
use crate::constant::Constant;
use crate::head::Head;
use crate::names::Names;
use crate::operand::Operand;
use crate::stmt::{ExprNode, Stmt};

/// What the symbols are here. A symbol that is missing is found under its own name behind `libm.`, with the `f` of
/// C's single-precision functions cut off.
const SYMBOLS: &[(&str, &str)] = &[
    ("llvm.pow.f64", "libm.pow"),
    ("llvm.pow.f32", "libm.pow"),
    ("llvm.powi.f64", "^"),
    ("llvm.powi.f32", "^"),
    ("llvm.powi.f64.i32", "^"),
    ("llvm.powi.f32.i32", "^"),
    ("llvm.sqrt.f64", "sqrt_llvm"),
    ("llvm.sqrt.f32", "sqrt_llvm"),
    ("llvm.fabs.f64", "abs_float"),
    ("llvm.fabs.f32", "abs_float"),
    ("llvm.floor.f64", "floor_llvm"),
    ("llvm.ceil.f64", "ceil_llvm"),
    ("llvm.trunc.f64", "trunc_llvm"),
    ("llvm.rint.f64", "rint_llvm"),
    ("fmod", "rem_float"),
    ("fmodf", "rem_float"),
    ("fabs", "abs_float"),
    ("exp", "exp"),
    ("expf", "exp"),
    ("exp2", "exp2"),
    ("exp2f", "exp2"),
    ("exp10", "exp10"),
    ("exp10f", "exp10"),
    ("expm1", "expm1"),
    ("expm1f", "expm1"),
    ("atan", "atan"),
    ("atanf", "atan"),
    ("atan2", "atan"),
    ("atan2f", "atan"),
    ("sinh", "sinh"),
    ("sinhf", "sinh"),
    ("cosh", "cosh"),
    ("coshf", "cosh"),
    ("tanh", "tanh"),
    ("tanhf", "tanh"),
    ("asinh", "asinh"),
    ("asinhf", "asinh"),
    ("cbrt", "cbrt"),
    ("cbrtf", "cbrt"),
    ("hypot", "hypot"),
    ("hypotf", "hypot"),
    ("erf", "erf"),
    ("erff", "erf"),
    ("erfc", "erfc"),
    ("erfcf", "erfc"),
    ("jl_throw", "throw"),
    ("jl_rethrow", "rethrow"),
    ("jl_rethrow_other", "rethrow"),
];

/// The symbol that a foreigncall calls, without its library.
pub(crate) fn foreign_symbol<N: Names>(name: &Operand<N>) -> Option<&str> {
    match name {
        Operand::Constant(constant) => constant_symbol(constant),
        Operand::Quote(constant) => constant_symbol(constant),
        Operand::Nested(stmt) => match &**stmt {
            // `Core.tuple("exp2", Base.Math.libm)`
            Stmt::Call(call) => match call.args.first() {
                Some(Operand::Constant(constant)) => constant_symbol(constant),
                Some(Operand::Quote(constant)) => constant_symbol(constant),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn constant_symbol(constant: &Constant) -> Option<&str> {
    match constant {
        Constant::String(text) | Constant::Symbol(text) => Some(text),
        Constant::Tuple(parts) => match parts.first() {
            Some(Constant::String(text) | Constant::Symbol(text)) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The symbol that a foreigncall calls, and its arguments: those of the C function, without what is only kept alive.
pub fn foreign_call<N: Names>(expr: &ExprNode<N>) -> Option<(&str, &[Operand<N>])> {
    if expr.head != Head::Foreigncall {
        return None;
    }
    let symbol = foreign_symbol(expr.args.first()?)?;
    let args = expr.args.get(5..)?;
    let count = match expr.args.get(2) {
        Some(Operand::Constant(Constant::SimpleVector(types))) => types.len(),
        _ => args.len(),
    };
    Some((symbol, args.get(..count)?))
}

/// The primitive that a foreigncall calls, and its arguments, as [`foreign_call`] gives them. `None` if the function is
/// no primitive.
pub fn foreign_primitive<N: Names>(expr: &ExprNode<N>) -> Option<(&'static Primitive, &[Operand<N>])> {
    let (symbol, args) = foreign_call(expr)?;
    let primitive = match SYMBOLS.iter().find(|(name, _)| *name == symbol) {
        Some((_, primitive)) => lookup(primitive)?,
        None if symbol.starts_with("jl_") => lookup(symbol)?,
        None => {
            let find = |name: &str| lookup(&format!("libm.{name}"));
            find(symbol).or_else(|| find(symbol.strip_suffix('f')?))?
        }
    };
    Some((primitive, args))
}
