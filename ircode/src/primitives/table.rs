//! The table itself.

use super::{Effects, MemoryEffect, Primitive, ResultType, Scope, convert, float, generic, int, math};

const fn scalars(
    name: &'static str,
    operands: usize,
    result: ResultType,
    effects: Effects,
    f: fn(&[crate::Scalar]) -> Result<crate::Scalar, super::Failure>,
) -> Primitive {
    Primitive::scalars(name, operands, result, effects, f)
}

const fn conversion(
    name: &'static str,
    effects: Effects,
    f: fn(crate::ScalarType, &crate::Scalar) -> Result<crate::Scalar, super::Failure>,
) -> Primitive {
    Primitive::conversion(name, effects, f)
}

const fn machine(
    name: &'static str,
    min: usize,
    max: Option<usize>,
    result: ResultType,
    effects: Effects,
) -> Primitive {
    let primitive = Primitive::machine(name, min, result, effects);
    Primitive { max_operands: max, ..primitive }
}

/// What a function of Julia's library does on arrays.
const fn on_arrays(name: &'static str, operands: usize, result: ResultType, effects: Effects) -> Primitive {
    Primitive::machine(name, operands, result, effects).in_scope(Scope::Arrays)
}

/// What bbkit adds for arrays.
const fn bbkit(name: &'static str, operands: usize, result: ResultType, effects: Effects) -> Primitive {
    Primitive::machine(name, operands, result, effects).in_scope(Scope::Bbkit)
}

const NEW_ARRAY: MemoryEffect = MemoryEffect::NewArray { by_tuple: false };
const RESIZE: MemoryEffect = MemoryEffect::Resize { shifts: false };
const SHIFT: MemoryEffect = MemoryEffect::Resize { shifts: true };

const PURE: Effects = Effects::PURE;
const THROWS: Effects = Effects::THROWS;
const READS: Effects = Effects::READS;
const WRITES: Effects = Effects::WRITES;
const ALLOCATES: Effects = Effects::ALLOCATES;
/// It calls a function, which may do anything.
const CALLS: Effects = Effects { throws: true, reads: true, writes: true, allocates: true };
/// It makes something new of what memory holds.
const MAKES: Effects = Effects { reads: true, ..Effects::ALLOCATES };
const SAME: ResultType = ResultType::Operand(0);
const BOOL: ResultType = ResultType::Bool;
const PROMOTED: ResultType = ResultType::Promoted;
const SUM: ResultType = ResultType::Sum;
const POWER: ResultType = ResultType::Power;
const FLOAT: ResultType = ResultType::Float;

/// All primitives.
#[rustfmt::skip]
pub static TABLE: &[Primitive] = &[
    // Integer intrinsics.
    scalars("neg_int", 1, SAME, PURE, int::neg_int),
    scalars("add_int", 2, SAME, PURE, int::add_int),
    scalars("sub_int", 2, SAME, PURE, int::sub_int),
    scalars("mul_int", 2, SAME, PURE, int::mul_int),
    scalars("add_ptr", 2, SAME, PURE, int::add_int),
    scalars("sub_ptr", 2, SAME, PURE, int::sub_int),
    scalars("sdiv_int", 2, SAME, THROWS, int::sdiv_int),
    scalars("udiv_int", 2, SAME, THROWS, int::udiv_int),
    scalars("srem_int", 2, SAME, THROWS, int::srem_int),
    scalars("urem_int", 2, SAME, THROWS, int::urem_int),
    scalars("checked_sdiv_int", 2, SAME, THROWS, int::sdiv_int),
    scalars("checked_udiv_int", 2, SAME, THROWS, int::udiv_int),
    scalars("checked_srem_int", 2, SAME, THROWS, int::srem_int),
    scalars("checked_urem_int", 2, SAME, THROWS, int::urem_int),
    scalars("and_int", 2, SAME, PURE, int::and_int),
    scalars("or_int", 2, SAME, PURE, int::or_int),
    scalars("xor_int", 2, SAME, PURE, int::xor_int),
    scalars("not_int", 1, SAME, PURE, int::not_int),
    scalars("shl_int", 2, SAME, PURE, int::shl_int),
    scalars("lshr_int", 2, SAME, PURE, int::lshr_int),
    scalars("ashr_int", 2, SAME, PURE, int::ashr_int),
    scalars("bswap_int", 1, SAME, PURE, int::bswap_int),
    scalars("ctpop_int", 1, SAME, PURE, int::ctpop_int),
    scalars("ctlz_int", 1, SAME, PURE, int::ctlz_int),
    scalars("cttz_int", 1, SAME, PURE, int::cttz_int),
    scalars("flipsign_int", 2, SAME, PURE, int::flipsign_int),
    scalars("eq_int", 2, BOOL, PURE, int::eq_int),
    scalars("ne_int", 2, BOOL, PURE, int::ne_int),
    scalars("slt_int", 2, BOOL, PURE, int::slt_int),
    scalars("sle_int", 2, BOOL, PURE, int::sle_int),
    scalars("ult_int", 2, BOOL, PURE, int::ult_int),
    scalars("ule_int", 2, BOOL, PURE, int::ule_int),
    machine("checked_sadd_int", 2, Some(2), ResultType::WithFlag, PURE),
    machine("checked_uadd_int", 2, Some(2), ResultType::WithFlag, PURE),
    machine("checked_ssub_int", 2, Some(2), ResultType::WithFlag, PURE),
    machine("checked_usub_int", 2, Some(2), ResultType::WithFlag, PURE),
    machine("checked_smul_int", 2, Some(2), ResultType::WithFlag, PURE),
    machine("checked_umul_int", 2, Some(2), ResultType::WithFlag, PURE),

    // Conversions; the first operand is the type.
    conversion("bitcast", PURE, convert::bitcast),
    conversion("zext_int", PURE, convert::zext_int),
    conversion("sext_int", PURE, convert::sext_int),
    conversion("trunc_int", PURE, convert::trunc_int),
    conversion("checked_trunc_sint", THROWS, convert::checked_trunc_sint),
    conversion("checked_trunc_uint", THROWS, convert::checked_trunc_uint),
    conversion("sitofp", PURE, convert::sitofp),
    conversion("uitofp", PURE, convert::uitofp),
    conversion("fptosi", PURE, convert::fptosi),
    conversion("fptoui", PURE, convert::fptoui),
    conversion("fptrunc", PURE, convert::fptrunc).with_rule("convert"),
    conversion("fpext", PURE, convert::fpext).with_rule("convert"),
    conversion("convert", THROWS, convert::convert),

    // Float intrinsics.
    scalars("neg_float", 1, SAME, PURE, float::neg_float),
    scalars("add_float", 2, SAME, PURE, float::add_float),
    scalars("sub_float", 2, SAME, PURE, float::sub_float),
    scalars("mul_float", 2, SAME, PURE, float::mul_float),
    scalars("div_float", 2, SAME, PURE, float::div_float),
    scalars("rem_float", 2, SAME, PURE, float::rem_float),
    scalars("fma_float", 3, SAME, PURE, float::fma_float),
    scalars("muladd_float", 3, SAME, PURE, float::muladd_float).with_rule("fma_float"),
    scalars("abs_float", 1, SAME, PURE, float::abs_float),
    scalars("copysign_float", 2, SAME, PURE, float::copysign_float),
    scalars("flipsign_float", 2, SAME, PURE, float::flipsign_float),
    scalars("min_float", 2, SAME, PURE, float::min),
    scalars("max_float", 2, SAME, PURE, float::max),
    scalars("ceil_llvm", 1, SAME, PURE, float::ceil),
    scalars("floor_llvm", 1, SAME, PURE, float::floor),
    scalars("trunc_llvm", 1, SAME, PURE, float::trunc),
    scalars("rint_llvm", 1, SAME, PURE, float::rint),
    scalars("sqrt_llvm", 1, SAME, PURE, float::sqrt),
    scalars("eq_float", 2, BOOL, PURE, float::eq_float),
    scalars("ne_float", 2, BOOL, PURE, float::ne_float),
    scalars("lt_float", 2, BOOL, PURE, float::lt_float),
    scalars("le_float", 2, BOOL, PURE, float::le_float),
    scalars("fpiseq", 2, BOOL, PURE, float::fpiseq),
    scalars("fpislt", 2, BOOL, PURE, float::fpislt),
    // Fast-math variants may be computed as the strict ones are.
    scalars("neg_float_fast", 1, SAME, PURE, float::neg_float).with_rule("neg_float"),
    scalars("add_float_fast", 2, SAME, PURE, float::add_float).with_rule("add_float"),
    scalars("sub_float_fast", 2, SAME, PURE, float::sub_float).with_rule("sub_float"),
    scalars("mul_float_fast", 2, SAME, PURE, float::mul_float).with_rule("mul_float"),
    scalars("div_float_fast", 2, SAME, PURE, float::div_float).with_rule("div_float"),
    scalars("rem_float_fast", 2, SAME, PURE, float::rem_float).with_rule("rem_float"),
    scalars("min_float_fast", 2, SAME, PURE, float::min).with_rule("min_float"),
    scalars("max_float_fast", 2, SAME, PURE, float::max).with_rule("max_float"),
    scalars("sqrt_llvm_fast", 1, SAME, PURE, float::sqrt).with_rule("sqrt_llvm"),
    scalars("eq_float_fast", 2, BOOL, PURE, float::eq_float),
    scalars("ne_float_fast", 2, BOOL, PURE, float::ne_float),
    scalars("lt_float_fast", 2, BOOL, PURE, float::lt_float),
    scalars("le_float_fast", 2, BOOL, PURE, float::le_float),

    // Math functions, with Julia's errors.
    scalars("sin", 1, FLOAT, THROWS, math::checked_sin),
    scalars("cos", 1, FLOAT, THROWS, math::checked_cos),
    scalars("tan", 1, FLOAT, THROWS, math::checked_tan),
    scalars("asin", 1, FLOAT, THROWS, math::checked_asin),
    scalars("acos", 1, FLOAT, THROWS, math::checked_acos),
    scalars("atan", 1, FLOAT, PURE, math::atan_or_atan2).up_to(2),
    scalars("sinh", 1, FLOAT, PURE, math::sinh),
    scalars("cosh", 1, FLOAT, PURE, math::cosh),
    scalars("tanh", 1, FLOAT, PURE, math::tanh),
    scalars("asinh", 1, FLOAT, PURE, math::asinh),
    scalars("acosh", 1, FLOAT, THROWS, math::checked_acosh),
    scalars("atanh", 1, FLOAT, THROWS, math::checked_atanh),
    scalars("exp", 1, FLOAT, PURE, math::exp),
    scalars("exp2", 1, FLOAT, PURE, math::exp2),
    scalars("exp10", 1, FLOAT, PURE, math::exp10),
    scalars("expm1", 1, FLOAT, PURE, math::expm1),
    scalars("log", 1, FLOAT, THROWS, math::checked_log),
    scalars("log2", 1, FLOAT, THROWS, math::checked_log2),
    scalars("log10", 1, FLOAT, THROWS, math::checked_log10),
    scalars("log1p", 1, FLOAT, THROWS, math::checked_log1p),
    scalars("sqrt", 1, FLOAT, THROWS, math::checked_sqrt).with_rule("sqrt_llvm"),
    scalars("cbrt", 1, FLOAT, PURE, math::cbrt),
    scalars("∛", 1, FLOAT, PURE, math::cbrt).with_rule("cbrt"),
    scalars("√", 1, FLOAT, THROWS, math::checked_sqrt).with_rule("sqrt_llvm"),
    scalars("sinpi", 1, FLOAT, THROWS, math::checked_sinpi),
    scalars("cospi", 1, FLOAT, THROWS, math::checked_cospi),
    scalars("sind", 1, FLOAT, THROWS, math::checked_sind),
    scalars("cosd", 1, FLOAT, THROWS, math::checked_cosd),
    scalars("ldexp", 2, SAME, THROWS, generic::ldexp),
    scalars("hypot", 2, FLOAT, PURE, math::hypot),
    scalars("erf", 1, FLOAT, PURE, math::erf),
    scalars("erfc", 1, FLOAT, PURE, math::erfc),
    // The same as C has them: NaN outside of the domain.
    scalars("libm.sin", 1, FLOAT, PURE, math::sin).with_rule("sin"),
    scalars("libm.cos", 1, FLOAT, PURE, math::cos).with_rule("cos"),
    scalars("libm.tan", 1, FLOAT, PURE, math::tan).with_rule("tan"),
    scalars("libm.asin", 1, FLOAT, PURE, math::asin).with_rule("asin"),
    scalars("libm.acos", 1, FLOAT, PURE, math::acos).with_rule("acos"),
    scalars("libm.acosh", 1, FLOAT, PURE, math::acosh).with_rule("acosh"),
    scalars("libm.atanh", 1, FLOAT, PURE, math::atanh).with_rule("atanh"),
    scalars("libm.log", 1, FLOAT, PURE, math::log).with_rule("log"),
    scalars("libm.log2", 1, FLOAT, PURE, math::log2).with_rule("log2"),
    scalars("libm.log10", 1, FLOAT, PURE, math::log10).with_rule("log10"),
    scalars("libm.log1p", 1, FLOAT, PURE, math::log1p).with_rule("log1p"),
    scalars("libm.sqrt", 1, FLOAT, PURE, float::sqrt).with_rule("sqrt_llvm"),
    scalars("libm.pow", 2, FLOAT, PURE, math::pow).with_rule("^"),
    scalars("libm.remainder", 2, FLOAT, PURE, math::remainder).with_rule("rem_float"),

    // Julia's generic functions on numbers.
    scalars("+", 1, SUM, THROWS, generic::add).any_number(),
    scalars("-", 1, SUM, THROWS, generic::sub).up_to(2),
    scalars("*", 1, PROMOTED, THROWS, generic::mul).any_number(),
    scalars("/", 2, FLOAT, THROWS, generic::div),
    scalars("^", 2, POWER, THROWS, generic::power),
    // What `^` is after inlining: by repeated multiplication, and from Julia 1.9 on for floats.
    scalars("power_by_squaring", 2, POWER, THROWS, generic::power_by_squaring).with_rule("^"),
    scalars("pow_body", 2, POWER, THROWS, generic::power).with_rule("^"),
    scalars("%", 2, ResultType::SignedAs(0), THROWS, generic::rem).with_rule("rem_float"),
    scalars("rem", 2, ResultType::SignedAs(0), THROWS, generic::rem).with_rule("rem_float"),
    scalars("mod", 2, ResultType::SignedAs(1), THROWS, generic::modulo).with_rule("rem_float"),
    scalars("div", 2, ResultType::SignedAs(0), THROWS, generic::quotient),
    scalars("÷", 2, ResultType::SignedAs(0), THROWS, generic::quotient).with_rule("div"),
    scalars("<", 2, BOOL, THROWS, generic::lt),
    scalars("<=", 2, BOOL, THROWS, generic::le),
    scalars(">", 2, BOOL, THROWS, generic::gt),
    scalars(">=", 2, BOOL, THROWS, generic::ge),
    scalars("==", 2, BOOL, THROWS, generic::eq),
    scalars("!=", 2, BOOL, THROWS, generic::ne),
    scalars("!", 1, BOOL, THROWS, generic::not),
    scalars("min", 2, PROMOTED, THROWS, generic::min).with_rule("min_float"),
    scalars("max", 2, PROMOTED, THROWS, generic::max).with_rule("max_float"),
    scalars("abs", 1, SAME, THROWS, generic::abs).with_rule("abs_float"),
    scalars("abs2", 1, SAME, THROWS, generic::abs2),
    scalars("inv", 1, FLOAT, THROWS, generic::inv),
    scalars("sign", 1, SAME, THROWS, generic::sign),
    scalars("signbit", 1, BOOL, THROWS, generic::signbit),
    scalars("copysign", 2, ResultType::WithSign(0), THROWS, generic::copysign).with_rule("copysign_float"),
    scalars("flipsign", 2, ResultType::WithSign(0), THROWS, generic::flipsign).with_rule("flipsign_float"),
    scalars("floor", 1, SAME, THROWS, generic::floor).with_rule("floor_llvm"),
    scalars("ceil", 1, SAME, THROWS, generic::ceil).with_rule("ceil_llvm"),
    scalars("trunc", 1, SAME, THROWS, generic::trunc).with_rule("trunc_llvm"),
    scalars("round", 1, SAME, THROWS, generic::round).with_rule("rint_llvm"),
    scalars("clamp", 3, PROMOTED, THROWS, generic::clamp),
    scalars("muladd", 3, PROMOTED, THROWS, generic::muladd).with_rule("fma_float"),
    scalars("fma", 3, PROMOTED, THROWS, generic::fma).with_rule("fma_float"),
    scalars("zero", 1, SAME, THROWS, generic::zero),
    scalars("one", 1, SAME, THROWS, generic::unit),
    scalars("float", 1, FLOAT, THROWS, generic::to_floating),
    scalars("isnan", 1, BOOL, THROWS, generic::isnan),
    scalars("isinf", 1, BOOL, THROWS, generic::isinf),
    scalars("isfinite", 1, BOOL, THROWS, generic::isfinite),
    scalars("isless", 2, BOOL, THROWS, generic::isless),
    scalars("gcd", 2, PROMOTED, THROWS, generic::gcd),
    scalars("iszero", 1, BOOL, THROWS, generic::iszero),
    scalars("isone", 1, BOOL, THROWS, generic::isone),
    scalars("iseven", 1, BOOL, THROWS, generic::iseven),
    scalars("isodd", 1, BOOL, THROWS, generic::isodd),

    // The last elements of ranges: loops over `a:b` and `a:step:b` call them.
    scalars("unitrange_last", 2, SAME, THROWS, generic::unitrange_last),
    scalars("steprange_last", 3, SAME, THROWS, generic::steprange_last),

    // What works on values of any type.
    machine("===", 2, Some(2), BOOL, PURE),
    machine("!==", 2, Some(2), BOOL, PURE),
    machine("ifelse", 3, Some(3), ResultType::Branches, THROWS),
    machine("identity", 1, Some(1), SAME, PURE),
    machine("isa", 2, Some(2), BOOL, THROWS),
    machine("typeof", 1, Some(1), ResultType::Unknown, PURE),
    machine("typeassert", 2, Some(2), ResultType::Unknown, THROWS),
    bbkit("assert_number", 2, ResultType::Unknown, THROWS),
    machine("throw", 1, Some(1), ResultType::Bottom, WRITES),
    machine("rethrow", 0, Some(1), ResultType::Bottom, WRITES),
    machine("error", 0, None, ResultType::Bottom, WRITES),
    machine("throw_complex_domainerror", 2, Some(2), ResultType::Bottom, WRITES),
    machine("throw_exp_domainerror", 1, Some(1), ResultType::Bottom, WRITES),
    machine("throw_boundserror", 2, Some(2), ResultType::Bottom, WRITES),
    machine("throw_inexacterror", 2, Some(3), ResultType::Bottom, WRITES),
    machine("throw_overflowerr_binaryop", 3, Some(3), ResultType::Bottom, WRITES),
    machine("ErrorException", 1, Some(1), ResultType::Unknown, ALLOCATES),
    machine("DomainError", 1, Some(2), ResultType::Unknown, ALLOCATES),
    machine("ArgumentError", 1, Some(1), ResultType::Unknown, ALLOCATES),
    machine("BoundsError", 0, Some(2), ResultType::Unknown, ALLOCATES),
    machine("DivideError", 0, Some(0), ResultType::Unknown, ALLOCATES),
    machine("println", 0, None, ResultType::Nothing, WRITES),
    machine("print", 0, None, ResultType::Nothing, WRITES),
    machine("string", 0, None, ResultType::String, READS),
    machine("print_to_string", 0, None, ResultType::String, READS),

    // Tuples, structs, references.
    machine("tuple", 0, None, ResultType::Tuple, PURE).holds_operands(),
    machine("getfield", 2, Some(4), ResultType::Field, READS).loads(0),
    machine("setfield!", 3, Some(4), ResultType::Operand(2), WRITES).stores(0, 2),
    machine("getproperty", 2, Some(2), ResultType::Field, READS).loads(0),
    machine("setproperty!", 3, Some(3), ResultType::Operand(2), WRITES).stores(0, 2),
    machine("isdefined", 2, Some(3), BOOL, READS),
    machine("nfields", 1, Some(1), ResultType::Int64, PURE),
    machine("svec", 0, None, ResultType::Unknown, PURE).holds_operands(),

    // Arrays, as up to Julia 1.10.
    machine("arrayref", 2, None, ResultType::Element(1), READS).loads(1),
    machine("arrayset", 3, None, ResultType::Operand(1), WRITES).stores(1, 2),
    machine("const_arrayref", 2, None, ResultType::Element(1), READS).loads(1),
    machine("arraylen", 1, Some(1), ResultType::Int64, READS),
    machine("arraysize", 2, Some(2), ResultType::Int64, READS),
    on_arrays("mightalias", 2, BOOL, READS),
    machine("new_array", 2, None, ResultType::New, ALLOCATES).on_memory(NEW_ARRAY),
    machine("length", 1, Some(1), ResultType::Int64, READS),
    machine("size", 1, Some(2), ResultType::Unknown, READS),
    machine("getindex", 1, None, ResultType::Element(0), READS).loads(0),
    machine("setindex!", 2, None, ResultType::Operand(0), WRITES).stores(0, 1),
    machine("push!", 2, Some(2), ResultType::Operand(0), WRITES).on_memory(RESIZE).stores(0, 1),
    machine("copy", 1, Some(1), SAME, ALLOCATES),
    // Functions of Julia's library on whole arrays. Sums and products are taken from the first element to the last.
    on_arrays("sum", 1, ResultType::SumOfElements(0), READS),
    on_arrays("maximum", 1, ResultType::Element(0), READS),
    on_arrays("minimum", 1, ResultType::Element(0), READS),
    on_arrays("argmax", 1, ResultType::Int64, READS),
    on_arrays("argmin", 1, ResultType::Int64, READS),
    on_arrays("dot", 2, ResultType::ProductOfElements, READS),
    on_arrays("fill", 2, ResultType::Filled, ALLOCATES).any_number(),
    on_arrays("fill!", 2, SAME, WRITES).stores(0, 1),
    on_arrays("copyto!", 2, SAME, WRITES).up_to(5),
    on_arrays("similar", 1, SAME, ALLOCATES),
    on_arrays("vcat", 2, SAME, MAKES),
    on_arrays("permutedims", 1, ResultType::Matrix(0), MAKES),
    on_arrays("map", 2, ResultType::Mapped, CALLS).any_number(),
    on_arrays("broadcast", 2, ResultType::Mapped, CALLS).any_number(),
    // What derivative rules need beside them. What ends in `!` changes its first operand and nothing else, and returns
    // it.
    bbkit("same_shape", 2, ResultType::Nothing, READS),
    bbkit("slice", 3, ResultType::Vector(0), MAKES),
    bbkit("scaled", 2, ResultType::Operand(1), MAKES),
    bbkit("matmul", 2, ResultType::Product, MAKES),
    bbkit("matmul_add!", 3, SAME, WRITES),
    bbkit("add_scaled!", 3, SAME, WRITES),
    bbkit("add_scalar!", 2, SAME, WRITES),
    bbkit("add_at!", 3, SAME, WRITES),
    bbkit("add_slice!", 3, SAME, WRITES),
    bbkit("fill_slice!", 4, SAME, WRITES),
    // What Julia's runtime does for them, by the names of its C functions.
    machine("jl_alloc_array_1d", 2, Some(2), ResultType::Named, ALLOCATES).on_memory(NEW_ARRAY),
    machine("jl_alloc_array_2d", 3, Some(3), ResultType::Named, ALLOCATES).on_memory(NEW_ARRAY),
    machine("jl_alloc_array_3d", 4, Some(4), ResultType::Named, ALLOCATES).on_memory(NEW_ARRAY),
    machine("jl_new_array", 2, Some(2), ResultType::Named, ALLOCATES).on_memory(MemoryEffect::NewArray { by_tuple: true }),
    machine("jl_array_copy", 1, Some(1), SAME, ALLOCATES),
    machine("jl_array_isassigned", 2, Some(2), ResultType::Unknown, READS),
    machine("jl_array_ptr", 1, Some(1), ResultType::Unknown, READS),
    machine("jl_object_id", 1, Some(1), ResultType::Unknown, READS),
    machine("jl_reshape_array", 3, Some(3), ResultType::Named, ALLOCATES),
    machine("jl_array_grow_end", 2, Some(2), ResultType::Nothing, WRITES).on_memory(RESIZE),
    machine("jl_array_grow_beg", 2, Some(2), ResultType::Nothing, WRITES).on_memory(SHIFT),
    machine("jl_array_grow_at", 3, Some(3), ResultType::Nothing, WRITES).on_memory(SHIFT),
    machine("jl_array_del_end", 2, Some(2), ResultType::Nothing, WRITES).on_memory(RESIZE),
    machine("jl_array_del_beg", 2, Some(2), ResultType::Nothing, WRITES).on_memory(SHIFT),
    machine("jl_array_del_at", 3, Some(3), ResultType::Nothing, WRITES).on_memory(SHIFT),
    machine("jl_array_sizehint", 2, Some(2), ResultType::Nothing, WRITES),
    machine("sizeof", 1, Some(1), ResultType::Int64, READS),
    // Memory, from Julia 1.11 on.
    machine("memorynew", 2, Some(2), ResultType::Named, ALLOCATES),
    machine("memoryref", 1, Some(3), ResultType::MemoryRef(0), THROWS),
    machine("memoryrefnew", 1, Some(3), ResultType::MemoryRef(0), THROWS),
    machine("memoryrefget", 3, Some(3), ResultType::Element(0), READS).loads(0),
    machine("memoryrefset!", 4, Some(4), ResultType::Operand(1), WRITES).stores(0, 1),
    machine("memoryrefoffset", 1, Some(1), ResultType::Int64, THROWS),
    machine("memoryref_isassigned", 3, Some(3), BOOL, READS),

    // What bbkit adds: enums, dispatch, and what derivatives need when they run.
    machine("new_case", 2, None, ResultType::Named, PURE).holds_operands(),
    machine("is_case", 2, Some(2), BOOL, THROWS),
    machine("payload", 3, Some(3), ResultType::Unknown, THROWS).loads(0),
    // Closures: the function, and the values of its last parameters.
    machine("partial_apply", 1, None, ResultType::Closure, PURE).holds_operands(),
    machine("applies", 2, Some(2), BOOL, THROWS),
    machine("captured", 3, Some(3), ResultType::Captured, THROWS).loads(0),
    // Differentiable functions: a function or closure, its derivatives, and the numbers of the parameters with respect
    // to which these are; none are all that have tangents. Without derivatives until the pass `differentiability` fills
    // them in.
    machine("differentiable_function", 1, None, ResultType::DifferentiableFunction, PURE).holds_operands(),
    machine("differentiable_function_with", 3, None, ResultType::DifferentiableFunction, PURE).holds_operands(),
    machine("original_of", 1, Some(1), ResultType::Original, THROWS),
    machine("jvp_of", 1, None, ResultType::Unknown, THROWS),
    machine("vjp_of", 1, None, ResultType::Unknown, THROWS),
    // The functions that tables of methods have for an object: see `crate::tables`.
    machine("class_method", 2, None, ResultType::Function, THROWS),
    machine("witness_method", 3, None, ResultType::Function, THROWS),
    // The elements of tuples and arrays in one tuple: `(xs..., ys...)`.
    machine("splat_tuple", 0, None, ResultType::Unknown, Effects { throws: true, ..MAKES }).in_scope(Scope::Bbkit),
    machine("new_stack", 1, Some(1), ResultType::Stack, ALLOCATES),
    machine("stack_push!", 2, Some(2), ResultType::Nothing, WRITES).on_memory(MemoryEffect::Stack).stores(0, 1),
    machine("stack_get", 2, Some(2), ResultType::Element(0), READS).on_memory(MemoryEffect::Stack).loads(0),
    machine("stack_set!", 3, Some(3), ResultType::Nothing, WRITES).on_memory(MemoryEffect::Stack).stores(0, 1),
    machine("stack_pop!", 1, Some(1), ResultType::Element(0), WRITES).on_memory(MemoryEffect::Stack).loads(0),
    machine("stack_empty!", 1, Some(1), ResultType::Nothing, WRITES).on_memory(MemoryEffect::Stack),
    machine("stack_length", 1, Some(1), ResultType::Int64, READS).on_memory(MemoryEffect::Stack),
    machine("new_slot", 1, Some(1), ResultType::Slot, ALLOCATES),
    machine("slot_get", 1, Some(1), ResultType::Element(0), READS).loads(0),
    machine("slot_set!", 2, Some(2), ResultType::Nothing, WRITES).stores(0, 1),
    // It reads whether the slot has ended.
    machine("slot_element", 2, Some(2), ResultType::SlotElement, READS),
    machine("slot_copy!", 2, Some(2), ResultType::Nothing, WRITES),
    machine("slot_end!", 1, Some(1), ResultType::Nothing, WRITES),
    // Tangents of values of which only the run tells what they are; `crate::tangents` says what a tangent is.
    machine("zero_tangent", 1, Some(2), ResultType::Unknown, Effects { reads: true, ..ALLOCATES }),
    machine("add_shadow!", 2, Some(2), ResultType::Nothing, WRITES),
    machine("add_seed!", 2, Some(2), ResultType::Nothing, WRITES),
    machine("fill_unassigned!", 2, Some(2), ResultType::Nothing, WRITES),
    machine("add_tangents", 2, Some(2), ResultType::Unknown, PURE),
    machine("tangent_field", 2, Some(2), ResultType::Unknown, PURE),
    machine("tangent_float", 2, Some(2), ResultType::Named, PURE),
    machine("shadow_of", 1, Some(1), ResultType::Unknown, PURE),
    machine("cotangent_of", 1, Some(1), ResultType::Unknown, PURE),
    machine("reset_shadow!", 1, Some(1), ResultType::Nothing, WRITES),
    // Undoing mutations.
    machine("snapshot", 1, Some(1), SAME, Effects { reads: true, ..ALLOCATES }),
    machine("restore!", 2, Some(2), ResultType::Nothing, WRITES).on_memory(SHIFT),
    machine("saved_element", 1, None, ResultType::Unknown, READS),
    machine("restore_element!", 2, None, ResultType::Nothing, WRITES),
    machine("saved_field", 2, Some(2), ResultType::Unknown, READS),
    machine("restore_field!", 3, Some(3), ResultType::Nothing, WRITES),
    machine("use_once!", 1, Some(1), ResultType::Nothing, WRITES),
    // What a derivative does where the run finds operands of which it knows none: the name of the primitive, and these;
    // or a function that is called as a value.
    machine("no_derivative", 1, None, ResultType::Bottom, THROWS),
    // The run has found that none of the methods is for what is passed to this.
    machine("no_method", 1, Some(1), ResultType::Bottom, THROWS),
];
