//! Primitives of the host's own: a function of numbers with a derivative rule, and one that works on an array.
//! `cargo run --example host_primitive`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use bbkit::exec::{Limits, Machine, Value};
use bbkit::ircode::primitives::{Effects, Failure, Primitive, ResultType};
use bbkit::ircode::{Scalar, Type, parse_module};

/// What the primitive computes, in the program as when constants are folded.
fn softplus(operands: &[Scalar]) -> Result<Scalar, Failure> {
    match operands {
        [Scalar::Float64(x)] => Ok(Scalar::Float64(x.exp().ln_1p())),
        _ => Err(Failure::Operands("a Float64")),
    }
}

static SOFTPLUS: Primitive = Primitive::scalars("softplus", 1, ResultType::Operand(0), Effects::PURE, softplus);

/// It reads an array, so that what it does is said to the machine.
static CHECKSUM: Primitive = Primitive::machine("checksum", 1, ResultType::Int64, Effects::READS);

/// softplus′(x) = 1 / (1 + exp(-x))
const RULE: &str = "
function softplus_vjp(x::T, out::T, seed::T)::Tuple{T}
1 ─ %1 = Base.neg_float(x)::T
│   %2 = Base.exp(%1)::T
│   %3 = Base.add_float(1.0, %2)::T
│   %4 = Base.div_float(seed, %3)::T
│   %5 = tuple(%4)::Tuple{T}
└──      return %5
end
";

const PROGRAM: &str = "
function iterate(x::Float64, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => x, #3 => %6)::Float64
│   %3 = φ (#1 => 0, #3 => %7)::Int64
│   %4 = Base.slt_int(%3, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Main.softplus(%2)::Float64
│   %7 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─      return %2
end
function check(v::Vector{Float64})::Int64
1 ─ %1 = Main.checksum(v)::Int64
└──      return %1
end
";

fn main() -> Result<(), Box<dyn Error>> {
    let mut module = parse_module(PROGRAM)?.module;
    module.register(&SOFTPLUS)?;
    module.register(&CHECKSUM)?;
    module.add_rules(RULE)?;

    let args = [Value::from(0.5), Value::from(3)];
    let result = bbkit::gradient(&module, "iterate", &args, Limits::default())?;
    println!("softplus of softplus of softplus of 0.5: {}, its derivative {}", result.value, result.gradient[0]);
    let report = bbkit::compare_with_differences(&module, "iterate", &args, &result.gradient, Limits::default())?;
    let difference = report.differences.first().copied().flatten().ok_or("there are no differences")?;
    println!("by differences: {difference:.6}");
    assert!(report.worst() < 1e-8);
    // exp(softplus(x)) = 1 + exp(x), so that exp of the value is 3 + exp(0.5), and the derivative exp(0.5) over that.
    let exact = 0.5f64.exp() / (3.0 + 0.5f64.exp());
    assert!(result.gradient[0].as_float().is_some_and(|gradient| (gradient - exact).abs() < 1e-15));

    let mut machine = Machine::new(&module).define("checksum", |operands, _| {
        let elements =
            operands.first().and_then(Value::array_elements).ok_or("checksum of something without elements")?;
        let bits = elements.iter().filter_map(Value::as_float).map(f64::to_bits);
        Ok(Value::from(bits.fold(0, |sum: u64, bits| sum.rotate_left(1) ^ bits) as i64))
    });
    let v = machine.array(Type::FLOAT64, vec![3], [1.0, 2.0, 3.0].map(Value::from).to_vec())?;
    let checksum = machine.call("check", &[v])?;
    println!("checksum: {checksum}");
    assert_eq!(checksum.to_string(), "4595923419731591168");
    Ok(())
}

#[test]
fn the_derivative_is_exact_and_the_array_is_read() -> Result<(), Box<dyn Error>> {
    main()
}
