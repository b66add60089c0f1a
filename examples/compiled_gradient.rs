//! Gradients and Hessian-vector products as machine code, on slices: the minimum of Rosenbrock's function by Newton's
//! method, whose linear systems are solved by conjugate gradients, so that no Hessian is ever made. `cargo run
//! --example compiled_gradient`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use bbkit::Differentiate;
use bbkit::compiled::{CallError, Hvp};
use bbkit::ircode::parse_module;

/// Σᵢ 100 (xᵢ₊₁ - xᵢ²)² + (1 - xᵢ)²
const ROSENBROCK: &str = "
function rosenbrock(x::Vector{Float64})::Float64
1 ─ %1  = Base.arraylen(x)::Int64
└──       goto #2
2 ┄ %3  = φ (#1 => 1, #3 => %7)::Int64
│   %4  = φ (#1 => 0.0, #3 => %17)::Float64
│   %5  = Base.slt_int(%3, %1)::Bool
└──       goto #4 if not %5
3 ─ %7  = Base.add_int(%3, 1)::Int64
│   %8  = Base.getindex(x, %3)::Float64
│   %9  = Base.getindex(x, %7)::Float64
│   %10 = Base.mul_float(%8, %8)::Float64
│   %11 = Base.sub_float(%9, %10)::Float64
│   %12 = Base.mul_float(%11, %11)::Float64
│   %13 = Base.mul_float(100.0, %12)::Float64
│   %14 = Base.sub_float(1.0, %8)::Float64
│   %15 = Base.mul_float(%14, %14)::Float64
│   %16 = Base.add_float(%13, %15)::Float64
│   %17 = Base.add_float(%4, %16)::Float64
└──       goto #2
4 ─       return %4
end
";

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// to += by · what
fn add(to: &mut [f64], by: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += by * what);
}

/// A step from `x` in which the function gets smaller: where its quadratic model has its minimum, or as far as the
/// model bends upwards.
fn newton_step(hvp: &Hvp, x: &[f64], gradient: &[f64]) -> Result<Vec<f64>, CallError> {
    let (mut step, mut product, mut again) = (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; x.len()]);
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut direction = residual.clone();
    for round in 0..10 * x.len() {
        let length = dot(&residual, &residual);
        if length <= 1e-12 * dot(gradient, gradient) {
            break;
        }
        hvp.call(x, &direction, &mut again, &mut product)?;
        let bend = dot(&direction, &product);
        if bend <= 0.0 {
            if round == 0 {
                step.copy_from_slice(&direction);
            }
            break;
        }
        let by = length / bend;
        add(&mut step, by, &direction);
        add(&mut residual, -by, &product);
        let more = dot(&residual, &residual) / length;
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + more * *d);
    }
    Ok(step)
}

/// The place of the minimum, and how many steps it took.
fn minimum(mut x: Vec<f64>) -> Result<(Vec<f64>, usize), Box<dyn Error>> {
    let module = parse_module(ROSENBROCK)?.module;
    let gradient = module.gradient("rosenbrock").compile()?;
    let hvp = module.hvp("rosenbrock").compile()?;
    let mut slope = vec![0.0; x.len()];
    for steps in 0..200 {
        let value = gradient.call(&x, &mut slope)?;
        if dot(&slope, &slope) < 1e-20 {
            return Ok((x, steps));
        }
        let step = newton_step(&hvp, &x, &slope)?;
        // Not so far that the function gets larger.
        let (mut scale, downhill, mut there) = (1.0, dot(&slope, &step), vec![0.0; x.len()]);
        loop {
            let mut next = x.clone();
            add(&mut next, scale, &step);
            if gradient.call(&next, &mut there)? <= value + 1e-4 * scale * downhill || scale < 1e-12 {
                x = next;
                break;
            }
            scale /= 2.0;
        }
    }
    Err("no minimum was found".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (x, steps) = minimum(vec![1.2, 0.7, 1.4, 0.2, 1.3])?;
    println!("{x:.6?} after {steps} steps");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_where_all_are_one() -> Result<(), Box<dyn Error>> {
        let (x, steps) = minimum(vec![1.2, 0.7, 1.4, 0.2, 1.3])?;
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-9), "{x:?}");
        assert!(steps < 50, "{steps}");
        Ok(())
    }
}
