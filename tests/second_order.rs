//! Forward mode over reverse mode: products of Hessians and directions, against closed forms.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use bbkit::{gradient_function, jvp};
use exec::{Machine, Value};
use ircode::{IRCode, Module, Type, parse_module};

const TEXT: &str = "
function product(x::Float64, y::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
│   %2 = Base.mul_float(%1, y)::Float64
│   %3 = Main.sin(%2)::Float64
└──      return %3
end

function power(x::Float64, n::Int64)::Float64
1 ─      nothing
2 ┄ %2 = φ (#1 => 1.0, #3 => %6)::Float64
│   %3 = φ (#1 => 0, #3 => %7)::Int64
│   %4 = Base.slt_int(%3, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.mul_float(%2, x)::Float64
│   %7 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─      return %2
end

function called(x::Float64, y::Float64)::Float64
1 ─ %1 = invoke Main.power(x::Float64, 3::Int64)::Float64
│   %2 = invoke Main.product(%1::Float64, y::Float64)::Float64
└──      return %2
end

function cubes(a::Vector{Float64})::Float64
1 ─ %1  = Base.arraylen(a)::Int64
2 ┄ %2  = φ (#1 => 1, #3 => %10)::Int64
│   %3  = φ (#1 => 0.0, #3 => %9)::Float64
│   %4  = Base.sle_int(%2, %1)::Bool
└──       goto #4 if not %4
3 ─ %6  = Base.arrayref(true, a, %2)::Float64
│   %7  = Base.mul_float(%6, %6)::Float64
│   %8  = Base.mul_float(%7, %6)::Float64
│   %9  = Base.add_float(%3, %8)::Float64
│   %10 = Base.add_int(%2, 1)::Int64
└──       goto #2
4 ─       return %3
end

function neighbours(a::Vector{Float64})::Float64
1 ─ %1 = Base.getindex(a, 1)::Float64
│   %2 = Base.getindex(a, 2)::Float64
│   %3 = Base.mul_float(%1, %2)::Float64
│        Base.setindex!(a, %3, 1)::Vector{Float64}
│   %5 = Base.getindex(a, 1)::Float64
│   %6 = Base.mul_float(%5, %1)::Float64
└──      return %6
end
";

/// The tangents of the gradient: the Hessian times the direction.
fn hessian_product(name: &str, args: &[Value], direction: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let module = parse_module(TEXT).unwrap().module;
    let types: Vec<Type> = args.iter().map(Value::type_of).collect();
    let (module, names) = gradient_function(&module, name, &types, &Default::default()).unwrap();
    let result = jvp(&module, &names.value_and_gradient, args, &[direction.to_vec()], Default::default()).unwrap();
    for function in result.module.functions() {
        function.body.verify().unwrap();
    }
    let parts = |value: &Value| value.as_tuple().unwrap()[1..].to_vec();
    (parts(&result.value), parts(&result.tangents[0]))
}

fn vector(elements: &[f64]) -> Value {
    let module: Module<IRCode> = Module::new();
    let values = elements.iter().copied().map(Value::from).collect();
    Machine::new(&module).array(Type::FLOAT64, vec![elements.len()], values).unwrap()
}

#[track_caller]
fn close(found: &Value, expected: f64) {
    let found = found.as_float().unwrap();
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found} is not {expected}");
}

#[test]
fn of_scalars() {
    let (x, y) = (0.7f64, 1.3f64);
    let at = [Value::from(x), Value::from(y)];
    let (u, s, c) = (x * x * y, (x * x * y).sin(), (x * x * y).cos());
    let (gradient, second) = hessian_product("product", &at, &[Value::from(1.0), Value::from(0.0)]);
    close(&gradient[0], 2.0 * x * y * c);
    close(&gradient[1], x * x * c);
    // d²/dx² sin(x²y) and d²/dxdy.
    close(&second[0], 2.0 * y * c - 4.0 * x * x * y * y * s);
    close(&second[1], 2.0 * x * c - 2.0 * x * u * s);
}

#[test]
fn through_loops_and_calls() {
    let (gradient, second) =
        hessian_product("power", &[Value::from(1.5), Value::from(5)], &[Value::from(2.0), Value::Nothing]);
    close(&gradient[0], 5.0 * 1.5f64.powi(4));
    close(&second[0], 2.0 * 20.0 * 1.5f64.powi(3));
    // sin(x⁶ y): the derivative along x of 6 x⁵ y cos(x⁶ y).
    let (x, y) = (0.9f64, 0.4f64);
    let (_, second) =
        hessian_product("called", &[Value::from(x), Value::from(y)], &[Value::from(1.0), Value::from(0.0)]);
    let u = x.powi(6) * y;
    close(&second[0], 30.0 * x.powi(4) * y * u.cos() - (6.0 * x.powi(5) * y).powi(2) * u.sin());
    close(&second[1], 6.0 * x.powi(5) * u.cos() - x.powi(6) * 6.0 * x.powi(5) * y * u.sin());
}

#[test]
fn of_arrays() {
    let (gradient, second) = hessian_product("cubes", &[vector(&[1.0, 2.0, -3.0])], &[vector(&[1.0, 0.5, 2.0])]);
    let (gradient, second) = (gradient[0].array_elements().unwrap(), second[0].array_elements().unwrap());
    for (at, (gradient, second)) in [(1.0, 1.0), (2.0, 0.5), (-3.0, 2.0)].into_iter().zip(gradient.iter().zip(&second))
    {
        close(gradient, 3.0 * at.0 * at.0);
        close(second, 6.0 * at.0 * at.1);
    }
}

/// The pullback undoes what the function changed in its argument: a² b.
#[test]
fn of_changed_arrays() {
    let (gradient, second) = hessian_product("neighbours", &[vector(&[3.0, 5.0])], &[vector(&[1.0, 0.0])]);
    let (gradient, second) = (gradient[0].array_elements().unwrap(), second[0].array_elements().unwrap());
    close(&gradient[0], 2.0 * 3.0 * 5.0);
    close(&gradient[1], 9.0);
    close(&second[0], 2.0 * 5.0);
    close(&second[1], 2.0 * 3.0);
}
