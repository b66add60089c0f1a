//! Functions of one block, and the law for their gradients, which are written as one function at once.

use std::fmt::Write as _;

use arbitrary::{Error, Result, Unstructured};
use bbcode::BBCode;
use exec::{Limits, Machine, RunErrorKind, Value, first_difference};
use ircode::{IRCode, Module, Name, Scalar, ScalarType, parse_module};
use passes::reverse_mode::{Options, derive};

use crate::laws::{Checked, all_verify, broken};

const LAW: &str = "the gradient of a block is that of its two passes";

/// A function `f` of numbers, without branches, and what it is called with.
#[derive(Clone, Debug)]
pub struct OneBlock {
    /// The function.
    pub module: Module<IRCode>,
    /// Its arguments: two of `Float64`, one of `Float32`, an `Int64`, a `Bool`.
    pub args: Vec<Value>,
    /// The type of its result.
    pub result: ScalarType,
}

const UNARY: &[&str] = &[
    "neg_float",
    "abs_float",
    "sqrt_llvm",
    "floor_llvm",
    "abs2",
    "inv",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "sinpi",
    "erf",
];

const BINARY: &[&str] = &[
    "add_float",
    "sub_float",
    "mul_float",
    "mul_float",
    "div_float",
    "rem_float",
    "copysign_float",
    "flipsign_float",
    "min_float",
    "max_float",
    "hypot",
    "atan",
];

const TERNARY: &[&str] = &["muladd_float", "fma_float", "clamp"];

const COMPARISONS: &[&str] = &["lt_float", "le_float", "eq_float", "ne_float"];

/// Integers, of which division may throw.
const INTEGER: &[&str] = &["add_int", "mul_int", "checked_sdiv_int"];

/// Numbers at which rules are at their limits, beside ordinary ones.
const SPECIAL: &[f64] = &[0.0, -0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NAN, 1e300, 5e-324];

/// The values of each type that there are so far, by how they are written.
struct Pool {
    doubles: Vec<String>,
    singles: Vec<String>,
    integers: Vec<String>,
    flags: Vec<String>,
}

/// Makes a function of up to 24 statements: on floats of both sizes, integers and flags, with conversions, choices,
/// constants, operands that are the same, statements that nothing needs, and divisions that may throw.
///
/// # Errors
///
/// Those of `u`, and [`Error::IncorrectFormat`] for text that cannot be read, which is never made.
pub fn one_block(u: &mut Unstructured<'_>) -> Result<OneBlock> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
    let mut pool = Pool {
        doubles: names(&["_2", "_3"]),
        singles: names(&["_4"]),
        integers: names(&["_5"]),
        flags: names(&["_6"]),
    };
    let mut text = String::from("function f(x::Float64, y::Float64, z::Float32, n::Int64, b::Bool)\n");
    for number in 1..=u.int_in_range(1..=24)? {
        let (call, ty) = statement(u, &pool)?;
        let gutter = if number == 1 { "1 ─" } else { "│  " };
        writeln!(text, "{gutter} %{number} = {call}::{ty:?}").map_err(|_| Error::IncorrectFormat)?;
        let made = match ty {
            ScalarType::Float64 => &mut pool.doubles,
            ScalarType::Float32 => &mut pool.singles,
            ScalarType::Int64 => &mut pool.integers,
            _ => &mut pool.flags,
        };
        made.push(format!("%{number}"));
    }
    let result = *u.choose(&[ScalarType::Float64, ScalarType::Float64, ScalarType::Float32])?;
    let returned = if result == ScalarType::Float64 { pool.doubles.last() } else { pool.singles.last() };
    let returned = returned.ok_or(Error::IncorrectFormat)?;
    text.push_str(&format!("└──      return {returned}\nend\n"));
    let module = parse_module(&text).map_err(|_| Error::IncorrectFormat)?.module;
    let single = Scalar::from_float(ScalarType::Float32, number(u)?).map_or(Value::Nothing, Value::Scalar);
    let args = vec![
        number(u)?.into(),
        number(u)?.into(),
        single,
        Value::from(i64::from(u.int_in_range(-2i8..=5)?)),
        Value::from(u.ratio(1, 2)?),
    ];
    Ok(OneBlock { module, args, result })
}

fn number(u: &mut Unstructured<'_>) -> Result<f64> {
    match u.ratio(1, 6)? {
        true => u.choose(SPECIAL).copied(),
        false => Ok(f64::from(u.int_in_range(-40i8..=40)?) / 16.0 + 0.013),
    }
}

/// A call, and the type of what it gives.
fn statement(u: &mut Unstructured<'_>, pool: &Pool) -> Result<(String, ScalarType)> {
    let ty = *u.choose(&[ScalarType::Float64, ScalarType::Float64, ScalarType::Float32])?;
    let (own, other) = match ty {
        ScalarType::Float64 => (&pool.doubles, &pool.singles),
        _ => (&pool.singles, &pool.doubles),
    };
    // What came last is chosen more often, so that chains come to be.
    let pick = |u: &mut Unstructured<'_>, values: &[String]| -> Result<String> {
        let last = if u.ratio(1, 2)? { values.last() } else { None };
        Ok(last.map_or_else(|| u.choose(values), Ok)?.clone())
    };
    let operand = |u: &mut Unstructured<'_>| -> Result<String> {
        if u.ratio(5, 6)? {
            return pick(u, own);
        }
        let constant = Scalar::from_float(ty, number(u)?).ok_or(Error::IncorrectFormat)?;
        Ok(constant.to_string())
    };
    let call = |name: &str, args: &[String]| format!("Base.{name}({})", args.join(", "));
    Ok(match u.int_in_range(0..=9)? {
        0..=2 => (call(u.choose(UNARY)?, &[pick(u, own)?]), ty),
        3..=5 => (call(u.choose(BINARY)?, &[operand(u)?, operand(u)?]), ty),
        6 => (call(u.choose(TERNARY)?, &[operand(u)?, operand(u)?, operand(u)?]), ty),
        7 => match u.int_in_range(0..=3)? {
            0 if ty == ScalarType::Float64 => (call("fpext", &["Float64".into(), pick(u, other)?]), ty),
            0 => (call("fptrunc", &["Base.Float32".into(), pick(u, other)?]), ty),
            1 => (call("sitofp", &[format!("{ty:?}"), pick(u, &pool.integers)?]), ty),
            2 => (call("fptosi", &["Int64".into(), pick(u, own)?]), ScalarType::Int64),
            _ => (call(u.choose(INTEGER)?, &[pick(u, &pool.integers)?, pick(u, &pool.integers)?]), ScalarType::Int64),
        },
        8 if u.ratio(1, 3)? => match u.int_in_range(0..=4)? {
            // What is known before the function runs.
            0 => (format!("Core.ifelse({}, {}, {})", u.ratio(1, 2)?, operand(u)?, operand(u)?), ty),
            1 => (call("mul_float", &[pick(u, own)?, one(ty)]), ty),
            2 => (call("sub_float", &[pick(u, own)?, zero(ty)]), ty),
            3 => (call("neg_float", &[pick(u, own)?]), ty),
            _ => (call("sub_int", &[pick(u, &pool.integers)?, "0".into()]), ScalarType::Int64),
        },
        8 => (call(u.choose(COMPARISONS)?, &[operand(u)?, operand(u)?]), ScalarType::Bool),
        _ => (format!("Core.ifelse({}, {}, {})", pick(u, &pool.flags)?, operand(u)?, operand(u)?), ty),
    })
}

fn one(ty: ScalarType) -> String {
    if ty == ScalarType::Float64 { "1.0".into() } else { "1.0f0".into() }
}

fn zero(ty: ScalarType) -> String {
    if ty == ScalarType::Float64 { "0.0".into() } else { "0.0f0".into() }
}

/// The value and gradient that are written as one function at once are those that come from the two passes, to the last
/// bit, and so are errors and warnings. `changed` is done to the module with the former before it runs: nothing, or a
/// planted bug.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken).
pub fn block_agrees(made: &OneBlock, limits: Limits, changed: &dyn Fn(&mut Module<BBCode>, &Name)) -> Checked {
    let agrees = |with_respect_to: Option<Vec<usize>>, accumulate: bool| -> Checked {
        let (mut results, mut warnings) = (Vec::new(), Vec::new());
        for only_joined in [false, true] {
            let options =
                Options { accumulate, with_respect_to: with_respect_to.clone(), only_joined, ..Options::default() };
            let mut module = bbkit::to_bbcode(&made.module).map_err(|error| broken(LAW, error))?;
            let names = match derive(&mut module, &"f".into(), &options) {
                Ok(derivative) => {
                    warnings.push(derivative.warnings.iter().map(ToString::to_string).collect::<Vec<_>>());
                    derivative.names
                }
                Err(error) => {
                    results.push(Err(error.to_string()));
                    continue;
                }
            };
            let name = if accumulate { names.accumulate_gradient } else { names.value_and_gradient };
            if only_joined {
                changed(&mut module, &name);
                all_verify(&module).map_err(|problem| broken(LAW, problem))?;
            }
            let mut args = made.args.clone();
            if accumulate {
                args.push(Scalar::from_float(made.result, 0.75).map_or(Value::Nothing, Value::Scalar));
            }
            let module = bbkit::to_ircode(&module).map_err(|error| broken(LAW, error))?;
            results.push(match Machine::with_limits(&module, limits).call(&name, &args) {
                Ok(value) => Ok(value),
                Err(error) => match error.kind {
                    RunErrorKind::StepLimit(_) => return Ok(()),
                    kind => Err(kind.to_string()),
                },
            });
        }
        if let [general, written] = warnings.as_slice()
            && general != written
        {
            return Err(broken(LAW, format!("{general:?} is warned of, but then {written:?}")));
        }
        let [general, written] = results.as_slice() else { return Ok(()) };
        let same = match (general, written) {
            (Ok(general), Ok(written)) => {
                // Every NaN is made the same one.
                let machine = Machine::new(&made.module);
                let plain = |value: &Value| {
                    machine.with_floats(std::slice::from_ref(value), |x| if x.is_nan() { f64::NAN } else { x }).ok()
                };
                plain(general).zip(plain(written)).is_some_and(|(a, b)| first_difference(&a, &b).is_none())
            }
            (Err(general), Err(written)) => general == written,
            _ => false,
        };
        match same {
            true => Ok(()),
            false => Err(broken(LAW, format!("{general:?} from two passes, but {written:?}"))),
        }
    };
    let all = agrees(None, false).and_then(|()| agrees(Some(vec![3]), false)).and_then(|()| agrees(None, true));
    all.map_err(|broken| broken.on(&made.module, &made.args, &["grad - ARGS --check".into()]))
}
