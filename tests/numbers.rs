//! Julia's generic functions on numbers are Julia's: `tests/julia/numbers.txt` has what Julia 1.5 gives for operands of
//! all types, and `tests/julia/numbers.jl` makes it.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on should stop")]

use ircode::primitives::{Compute, Failure, ScalarException, lookup};
use ircode::{Scalar, ScalarType};

/// Functions whose last digits are those of another library than Julia's.
const ROUNDED: &[&str] = &[
    "^", "atan", "cbrt", "cos", "cosd", "cospi", "exp", "exp10", "exp2", "expm1", "hypot", "log1p", "sin", "sind",
    "sinh", "sinpi", "tan", "tanh",
];

/// What a line says.
struct Case<'a> {
    line: &'a str,
    function: &'a str,
    operands: Vec<Scalar>,
    /// The number, or the exception.
    result: Result<Scalar, &'a str>,
}

fn number(text: &str) -> Option<Scalar> {
    let (ty, digits) = text.split_once(':')?;
    let bits = match digits.strip_prefix('-') {
        Some(digits) => digits.parse::<u128>().ok()?.wrapping_neg(),
        None => digits.parse().ok()?,
    };
    Some(Scalar::from_bits(ScalarType::from_name(ty)?, bits))
}

fn cases() -> Vec<Case<'static>> {
    let read = |line: &'static str| {
        let (call, result) = line.split_once(" = ").expect("an equals sign");
        let mut words = call.split(' ');
        let function = words.next().expect("a function");
        let operands = words.map(|word| number(word).expect("a number")).collect();
        Case { line, function, operands, result: number(result).ok_or(result) }
    };
    include_str!("julia/numbers.txt").lines().map(read).collect()
}

/// What the table's function of this name says about a case, if it is not what Julia says.
fn difference(name: &str, case: &Case<'_>) -> Option<String> {
    let primitive = lookup(name).unwrap_or_else(|| panic!("there is no primitive {name}"));
    let Compute::Scalars(compute) = primitive.compute else { panic!("{name} is not on numbers") };
    let ours = compute(&case.operands);
    let same = match (&ours, &case.result) {
        (Ok(ours), Ok(julias)) => ours == julias || is_close(name, ours, julias),
        (Err(Failure::Exception(exception)), Err(name)) => exception_name(exception) == *name,
        // Of an integer and a narrower float Julia makes a Float64 here, as nowhere else: that is refused.
        (Err(Failure::Operands(_)), _) => {
            let narrow = |x: &Scalar| matches!(x, Scalar::Float16(_) | Scalar::Float32(_));
            let operands = &case.operands;
            name == "atan" && operands.iter().any(narrow) && operands.iter().any(|x| !x.scalar_type().is_float())
        }
        _ => false,
    };
    (!same).then(|| format!("{}, not {ours:?}", case.line))
}

fn is_close(name: &str, ours: &Scalar, julias: &Scalar) -> bool {
    let (Some(a), Some(b)) = (ours.as_float(), julias.as_float()) else { return false };
    let digits = match ours.scalar_type() {
        ScalarType::Float16 => 2e-3,
        ScalarType::Float32 => 1.5e-7,
        _ => 4e-16,
    };
    let near = a == b && a.is_sign_negative() == b.is_sign_negative() || (a - b).abs() <= digits * b.abs();
    ours.scalar_type() == julias.scalar_type() && (a.is_nan() && b.is_nan() || ROUNDED.contains(&name) && near)
}

fn exception_name(exception: &ScalarException) -> &'static str {
    match exception {
        ScalarException::Divide => "DivideError",
        ScalarException::Domain { .. } => "DomainError",
        ScalarException::Inexact { .. } => "InexactError",
        ScalarException::Argument(_) => "ArgumentError",
        ScalarException::Overflow(_) => "OverflowError",
    }
}

#[test]
fn generic_functions_give_what_julia_gives() {
    let cases = cases();
    assert!(cases.len() > 5000);
    let wrong: Vec<String> = cases.iter().filter_map(|case| difference(case.function, case)).collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn functions_that_are_nearly_the_same_are_told_apart() {
    let cases = cases();
    for (function, other) in
        [("rem", "mod"), ("isless", "<"), ("copysign", "flipsign"), ("min", "max"), ("fma", "muladd"), ("+", "-")]
    {
        let mut differing =
            cases.iter().filter(|case| case.function == function).filter_map(|case| difference(other, case));
        assert!(differing.next().is_some(), "{other} was taken for {function}");
    }
}
