//! Derivatives of scalar code by dual numbers, with formulas of their own: an oracle for reverse mode that shares
//! neither its rules nor its machinery.
//!
//! Values are computed as the interpreter computes them, so that every branch goes the same way; tangents are `f64`.

use std::cmp::Ordering;

use ircode::primitives::Compute;
use ircode::{BlockNumber, Callee, Constant, IRCode, Module, Operand, Positions, SSAValue, Scalar, Stmt, Type};

/// A number with its derivative in one direction.
#[derive(Clone, Debug)]
pub struct Dual {
    /// The value.
    pub value: Scalar,
    /// The tangent; 0 of what is no float.
    pub tangent: f64,
}

/// Why there is no derivative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoDerivative {
    /// The function throws, uses something undefined, or runs too long.
    Fails,
    /// The function has a kink here: a tie, the absolute value of zero.
    Kink,
    /// There is no formula for this.
    Unknown(String),
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The value with its derivative.
    pub result: Dual,
    /// The largest tangent on the way: what rounding errors are measured by.
    pub largest: f64,
}

/// Runs a function on numbers with tangents.
///
/// # Errors
///
/// [`NoDerivative`].
pub fn dual(module: &Module<IRCode>, name: &str, args: &[Dual], steps: u64) -> Result<Found, NoDerivative> {
    let mut run = Run { module, steps, depth: 0, largest: 0.0 };
    let function = module.function_index(name).ok_or(NoDerivative::Fails)?;
    let result = run.call(function, args)?;
    Ok(Found { result, largest: run.largest })
}

struct Run<'m> {
    module: &'m Module<IRCode>,
    steps: u64,
    depth: usize,
    largest: f64,
}

/// Deeper calls than these are none that the generators make.
const MOST_DEPTH: usize = 100;

impl Run<'_> {
    fn call(&mut self, function: usize, args: &[Dual]) -> Result<Dual, NoDerivative> {
        if self.depth >= MOST_DEPTH {
            return Err(NoDerivative::Fails);
        }
        self.depth += 1;
        let body = &self.module.functions().get(function).ok_or(NoDerivative::Fails)?.body;
        let result = self.body(body, args);
        self.depth -= 1;
        result
    }

    fn body(&mut self, ir: &IRCode, args: &[Dual]) -> Result<Dual, NoDerivative> {
        let mut values: Vec<Option<Dual>> = vec![None; ir.stmts.len()];
        let mut block = 0;
        let mut from = BlockNumber::VIRTUAL;
        loop {
            let range = ir.cfg.blocks.get(block).ok_or(NoDerivative::Fails)?.stmts.clone();
            let here = BlockNumber::from_index(block);
            // All φs read what was there before any of them.
            let mut phis = Vec::new();
            for index in range.clone() {
                let Some(Stmt::Phi(phi)) = ir.stmts.stmts().get(index) else { break };
                let entry = phi.entries.iter().find(|entry| entry.edge == from);
                let value = entry.and_then(|entry| entry.value.as_ref());
                phis.push((index, value.and_then(|value| operand(&values, args, value).ok())));
            }
            let first = range.start + phis.len();
            for (index, value) in phis {
                values[index] = value;
            }
            let mut next = Some(block + 1);
            for index in first..range.end {
                self.steps = self.steps.checked_sub(1).ok_or(NoDerivative::Fails)?;
                let stmt = ir.stmts.stmts().get(index).ok_or(NoDerivative::Fails)?;
                match stmt {
                    Stmt::Goto(goto) => next = goto.label.index(),
                    Stmt::GotoIfNot(goto) => match operand(&values, args, &goto.cond)?.value {
                        Scalar::Bool(true) => {}
                        Scalar::Bool(false) => next = goto.dest.index(),
                        _ => return Err(NoDerivative::Fails),
                    },
                    Stmt::Return(ret) => {
                        let value = ret.value.as_ref().ok_or(NoDerivative::Fails)?;
                        return operand(&values, args, value);
                    }
                    Stmt::Value(Operand::Constant(Constant::Nothing)) => {}
                    Stmt::Value(value) => values[index] = operand(&values, args, value).ok(),
                    Stmt::Pi(pi) => values[index] = Some(operand(&values, args, &pi.value)?),
                    stmt => {
                        let value = self.computed(stmt, &values, args)?;
                        self.largest = self.largest.max(value.tangent.abs());
                        values[index] = Some(value);
                    }
                }
            }
            from = here;
            block = next.ok_or(NoDerivative::Fails)?;
        }
    }

    fn computed(
        &mut self,
        stmt: &Stmt<Positions>,
        values: &[Option<Dual>],
        args: &[Dual],
    ) -> Result<Dual, NoDerivative> {
        let unknown = || NoDerivative::Unknown(format!("{stmt:?}"));
        let Some((callee, operands)) = stmt.as_call() else { return Err(unknown()) };
        let Operand::Global(global) = callee else { return Err(unknown()) };
        let callee = self.module.global_callee(global);
        if let Callee::Primitive(primitive) = &callee
            && let (Compute::Convert(f), [ty, value]) = (primitive.compute, operands)
        {
            let Some(Constant::Type(ty)) = ty.as_constant() else { return Err(unknown()) };
            let Type::Scalar(ty) = **ty else { return Err(unknown()) };
            let Dual { value, tangent } = operand(values, args, value)?;
            let kept = matches!(primitive.name, "fpext" | "fptrunc");
            let value = f(ty, &value).map_err(|_| NoDerivative::Fails)?;
            return Ok(Dual { value, tangent: if kept { tangent } else { 0.0 } });
        }
        let duals: Vec<Dual> = operands.iter().map(|each| operand(values, args, each)).collect::<Result<_, _>>()?;
        let primitive = match callee {
            Callee::Function(function) => return self.call(function, &duals),
            Callee::Primitive(primitive) => primitive,
            _ => return Err(unknown()),
        };
        match (primitive.name, duals.as_slice()) {
            ("ifelse", [Dual { value: Scalar::Bool(cond), .. }, a, b]) => {
                return Ok(if *cond { a.clone() } else { b.clone() });
            }
            ("===", [a, b]) => {
                let same = a.value.scalar_type() == b.value.scalar_type() && a.value.to_bits() == b.value.to_bits();
                return Ok(Dual { value: Scalar::Bool(same), tangent: 0.0 });
            }
            ("throw", _) => return Err(NoDerivative::Fails),
            _ => {}
        }
        let Compute::Scalars(f) = primitive.compute else { return Err(unknown()) };
        let scalars: Vec<Scalar> = duals.iter().map(|dual| dual.value.clone()).collect();
        let value = f(&scalars).map_err(|_| NoDerivative::Fails)?;
        if !value.scalar_type().is_float() {
            return Ok(Dual { value, tangent: 0.0 });
        }
        let numbers: Vec<(f64, f64)> =
            duals.iter().map(|dual| (dual.value.as_float().unwrap_or(0.0), dual.tangent)).collect();
        let tangent = tangent(primitive.name, &numbers)?.ok_or_else(unknown)?;
        Ok(Dual { value, tangent })
    }
}

fn operand(values: &[Option<Dual>], args: &[Dual], operand: &Operand<Positions>) -> Result<Dual, NoDerivative> {
    let value = |SSAValue(number): SSAValue| values.get((number as usize).checked_sub(1)?)?.clone();
    match operand {
        Operand::Value(name) => value(*name).ok_or(NoDerivative::Fails),
        // `_1` is the function.
        Operand::Argument(argument) => {
            let index = argument.index().and_then(|index| index.checked_sub(1));
            index.and_then(|index| args.get(index)).cloned().ok_or(NoDerivative::Fails)
        }
        other => match other.as_constant().and_then(Constant::as_scalar) {
            Some(value) => Ok(Dual { value: value.clone(), tangent: 0.0 }),
            None => Err(NoDerivative::Fails),
        },
    }
}

/// The tangent of a primitive of these numbers with tangents; `None` without a formula.
fn tangent(name: &str, numbers: &[(f64, f64)]) -> Result<Option<f64>, NoDerivative> {
    let off_zero = |x: f64| if x == 0.0 { Err(NoDerivative::Kink) } else { Ok(x) };
    Ok(Some(match (name, numbers) {
        ("neg_float", [(_, dx)]) => -dx,
        ("abs_float", [(x, dx)]) => dx * off_zero(*x)?.signum(),
        ("sin", [(x, dx)]) => dx * x.cos(),
        ("cos", [(x, dx)]) => -dx * x.sin(),
        // As the rule: far out, 1/cosh² has digits that 1 - tanh² has lost.
        ("tanh", [(x, dx)]) => dx * (1.0 - x.tanh()) * (1.0 + x.tanh()),
        ("atan", [(x, dx)]) => dx / (1.0 + x * x),
        ("asinh", [(x, dx)]) => dx / (1.0 + x * x).sqrt(),
        ("exp", [(x, dx)]) => dx * x.exp(),
        ("erf", [(x, dx)]) => dx * std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp(),
        ("sqrt", [(x, dx)]) => dx * 0.5 / off_zero(*x)?.sqrt(),
        ("floor", [_]) => 0.0,
        ("add_float", [(_, dx), (_, dy)]) => dx + dy,
        ("sub_float", [(_, dx), (_, dy)]) => dx - dy,
        ("mul_float", [(x, dx), (y, dy)]) => dx * y + x * dy,
        ("div_float", [(x, dx), (y, dy)]) => (dx * y - x * dy) / (y * y),
        ("muladd_float", [(x, dx), (y, dy), (_, dz)]) => dx * y + x * dy + dz,
        ("max_float", [(x, dx), (y, dy)]) => match x.partial_cmp(y) {
            Some(Ordering::Greater) => *dx,
            Some(Ordering::Less) => *dy,
            _ => return Err(NoDerivative::Kink),
        },
        ("min_float", [(x, dx), (y, dy)]) => match x.partial_cmp(y) {
            Some(Ordering::Less) => *dx,
            Some(Ordering::Greater) => *dy,
            _ => return Err(NoDerivative::Kink),
        },
        ("hypot", [(x, dx), (y, dy)]) => (x * dx + y * dy) / off_zero((x * x + y * y).sqrt())?,
        ("copysign_float", [(x, dx), (y, _)]) => dx * off_zero(*x)?.signum() * y.signum(),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x^n sin x, whose derivative is known, through a recursion.
    #[test]
    fn a_known_derivative_comes_out() {
        let parsed = ircode::parse_module(
            "
function power(x::Float64, n::Int64)::Float64
1 ─ %1 = Base.slt_int(0, n)::Bool
└──      goto #3 if not %1
2 ─ %3 = Base.sub_int(n, 1)::Int64
│   %4 = Main.power(x, %3)::Float64
│   %5 = Base.mul_float(x, %4)::Float64
└──      return %5
3 ─ %7 = sin(x)::Float64
└──      return %7
end
",
        )
        .unwrap();
        let x = 0.75_f64;
        let args = [Dual { value: Scalar::Float64(x), tangent: 1.0 }, Dual { value: Scalar::Int64(3), tangent: 0.0 }];
        let found = dual(&parsed.module, "power", &args, 1000).unwrap();
        let expected = 3.0 * x * x * x.sin() + x * x * x * x.cos();
        assert!((found.result.tangent - expected).abs() < 1e-14, "{} is not {expected}", found.result.tangent);
        assert_eq!(dual(&parsed.module, "power", &args, 10).unwrap_err(), NoDerivative::Fails);
    }
}
