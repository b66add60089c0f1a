//! Integers that are made of the bits of floats: what is made of them again may change with the floats.

use bbcode::BBCode;
use hashbrown::HashSet;
use ircode::primitives::Compute;
use ircode::{Module, Names, Operand, ScalarType, Stmt, Type};

/// What a function, or one that it calls, may do with bits of floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct BitsOfFloats {
    /// It may make an integer of those of a float.
    pub(crate) taken: bool,
    /// That is so because there is a statement that does, and not because of something unknown that is called.
    pub(crate) are_seen: bool,
    /// It may make a float of those of what is none.
    pub(crate) made: bool,
}

/// At most this many statements are looked at: what is computed by more of what may be made of bits counts as made of
/// them.
const MOST: usize = 1000;

/// Whether an integer is computed from the bits of a float by the statements of one function, of which `of` gives each
/// with its type, as far as they do not lose what changes with the float. As a number it grows with the float then, as
/// where a logarithm is estimated so. `holds_bits` says of an operand whether it may be made of bits at all; what comes out of
/// memory or a call may be, but is an index or a count more often than not.
pub(crate) fn is_made_of_bits<'a, N: Names>(
    module: &Module<BBCode>,
    operand: &Operand<N>,
    of: &dyn Fn(N::Value) -> Option<(&'a Stmt<N>, &'a Type)>,
    holds_bits: &dyn Fn(&Operand<N>) -> bool,
) -> bool {
    let mut seen: HashSet<N::Value> = HashSet::new();
    let mut work = vec![operand.clone()];
    while let Some(operand) = work.pop() {
        let Operand::Value(value) = operand else { continue };
        if !holds_bits(&operand) || !seen.insert(value) {
            continue;
        }
        if seen.len() > MOST {
            return true;
        }
        let Some((stmt, ty)) = of(value) else { continue };
        if loses_bits(module, stmt, ty) {
            continue;
        }
        match (module.primitive_call(stmt), stmt) {
            (Some((primitive, args)), _) if primitive.name == "bitcast" => {
                let inner = args.get(1).and_then(Operand::as_value).and_then(of);
                match inner.and_then(|(_, ty)| ty.as_scalar()) {
                    Some(ty) if !ty.is_float() => work.extend(args.iter().cloned()),
                    _ => return true,
                }
            }
            (Some((primitive, [_, then, otherwise])), _) if primitive.name == "ifelse" => {
                work.extend([then.clone(), otherwise.clone()]);
            }
            (Some((primitive, args)), _) if !matches!(primitive.compute, Compute::Machine) => {
                work.extend(args.iter().cloned());
            }
            (None, Stmt::Value(_) | Stmt::Pi(_) | Stmt::Phi(_)) => {
                stmt.for_each_operand(&mut |operand| work.push(operand.clone()));
            }
            _ => {}
        }
    }
    false
}

/// Whether what a statement makes of the bits of a float, or of what may hold some, is the same for all floats near by:
/// the significand is shifted out, or masked away, or only the zeros before it are counted, or it is the size of an
/// array.
pub(crate) fn loses_bits<N: Names>(module: &Module<BBCode>, stmt: &Stmt<N>, ty: &Type) -> bool {
    let Some((primitive, args)) = module.primitive_call(stmt) else { return false };
    if matches!(primitive.name, "arraylen" | "arraysize" | "length" | "size") {
        return true;
    }
    let significand: u32 = match ty.as_scalar().map(ScalarType::bits) {
        Some(64) => 52,
        Some(32) => 23,
        Some(16) => 10,
        _ => return false,
    };
    let number = |operand: &Operand<N>| Some(operand.as_constant()?.as_scalar()?.to_i128());
    match (primitive.name, args) {
        ("lshr_int" | "ashr_int" | ">>" | ">>>", [_, by]) => number(by).is_some_and(|by| by >= i128::from(significand)),
        ("and_int" | "&", [a, b]) => {
            [a, b].into_iter().filter_map(number).any(|mask| mask & ((1_i128 << significand) - 1) == 0)
        }
        ("ctlz_int", _) => true,
        _ => false,
    }
}

/// Whether values of a type are addresses: their bits are none of what lies there.
pub(crate) fn is_pointer(ty: &Type) -> bool {
    matches!(ty, Type::Named(name) if name.starts_with("Ptr{") || name == "Ptr")
}

/// At most so many types inside of one are looked at: what has more may hold integers.
const MOST_TYPES: usize = 64;

/// Whether values of a type may be integers, or hold some.
pub(crate) fn may_hold_integers<F>(module: &Module<F>, ty: &Type) -> bool {
    let mut work = vec![ty];
    for _ in 0..MOST_TYPES {
        let Some(ty) = work.pop() else { return false };
        match ty {
            Type::Scalar(scalar) if scalar.is_integer() => return true,
            Type::Scalar(_) => {}
            Type::Union(types) | Type::Tuple(types) => work.extend(types.iter()),
            Type::NamedTuple(fields) => work.extend(fields.iter().map(|(_, ty)| ty)),
            Type::Array(array) => work.push(&array.element),
            Type::Ref(of) | Type::Memory(of) | Type::MemoryRef(of) | Type::Stack(of) | Type::Slot(of) => work.push(of),
            Type::Bottom | Type::Nothing | Type::String | Type::Symbol | Type::TypeOf(_) | Type::Function(_) => {}
            ty if is_pointer(ty) => {}
            // Of a class there may be objects with more fields.
            Type::Named(name) if module.class(name).is_none() => match module.struct_fields(ty) {
                Some(fields) => work.extend(fields.into_iter().map(|(_, ty)| ty)),
                None => return true,
            },
            Type::Untyped | Type::Any | Type::Closure(_) | Type::DifferentiableFunction(_) | Type::Named(_) => {
                return true;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use ircode::{IRCode, SSAValue, parse_module};

    use super::*;

    fn parsed(body: &str) -> (Module<BBCode>, IRCode) {
        let text = format!(
            "function f(x::Float64, c::Bool)\n1 ─ %1 = Base.bitcast(Int64, x)::Int64\n{body}\n└── return x\nend"
        );
        let module = parse_module(&text).unwrap().module;
        let ir = module.function("f").unwrap().body.clone();
        (module.map(|function| BBCode::try_from(&function.body)).unwrap(), ir)
    }

    #[test]
    fn what_only_the_exponent_decides_is_no_number_made_of_bits() {
        for (body, expected) in [
            ("│   %2 = Base.sub_int(%1, 4607182418800017408)::Int64", true),
            ("│   %2 = Base.ifelse(c, 0, %1)::Int64", true),
            ("│   %2 = Base.trunc_int(Int32, %1)::Int32", true),
            ("│   %2 = Base.ashr_int(%1, 20)::Int64", true),
            ("│   %2 = Base.ashr_int(%1, 52)::Int64", false),
            ("│   %2 = Base.and_int(%1, 4503599627370495)::Int64", true),
            ("│   %2 = Base.and_int(9218868437227405312, %1)::Int64", false),
            ("│   %2 = Base.ctlz_int(%1)::Int64", false),
        ] {
            let (module, ir) = parsed(body);
            let of = |value: SSAValue| {
                let index = value.index()?;
                Some((ir.stmts.stmts().get(index)?, ir.stmts.types().get(index)?))
            };
            let found = is_made_of_bits(&module, &Operand::Value(SSAValue(2)), &of, &|_| true);
            assert_eq!(found, expected, "{body}");
        }
        let (module, ir) = parsed("│   %2 = Base.lshr_int(%1, 52)::Int64");
        assert!(loses_bits(&module, &ir.stmts.stmts()[1], &Type::INT64));
    }

    /// Complex numbers hold none, nor do arrays of them: what is made of the bits of a float is made whole in them.
    #[test]
    fn structs_of_floats_hold_no_integers() {
        let text = "struct Complex{Float64}\n    re::Float64\n    im::Float64\nend\n\nstruct Counted\n    at::Complex{Float64}\n    count::Int64\nend\n";
        let module = parse_module(text).unwrap().module;
        for (ty, expected) in [
            ("Complex{Float64}", false),
            ("Matrix{Complex{Float64}}", false),
            ("Tuple{Float64, Complex{Float64}}", false),
            ("Union{Nothing, Complex{Float64}}", false),
            ("Counted", true),
            ("Vector{Counted}", true),
            ("Tuple{Float64, Int64}", true),
            ("Other", true),
            ("Any", true),
        ] {
            assert_eq!(may_hold_integers(&module, &Type::parse(ty)), expected, "{ty}");
        }
    }
}
