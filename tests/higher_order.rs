//! Derivatives of derivatives: every way to a second and third derivative, against power series.
//!
//! What is derived once becomes a function of a float again: the gradient times a direction, or the tangent in that
//! direction. Both are the directional derivative, so that whatever order the modes are applied in, the k-th step gives
//! the k-th derivative of t ↦ f(x + t d) at 0. The function written again over truncated power series in t gives the
//! same, with formulas of its own.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that fails should stop")]

use std::fmt::Write;

use bbcode::BBCode;
use bbkit::{to_bbcode, to_ircode};
use exec::{Machine, Value};
use ircode::{IRCode, Module, Name, Type, parse_module};
use passes::{forward_mode, reverse_mode};

const TEXT: &str = concat!(include_str!("higher_order/functions.ir"), "\n", include_str!("higher_order/growing.ir"));

/// The modes in the order in which they are applied.
const WAYS: [&str; 14] = ["R", "F", "RR", "RF", "FR", "FF", "RRR", "RRF", "RFR", "RFF", "FRR", "FRF", "FFR", "FFF"];

const ORDER: usize = 3;

/// A power series up to t³.
#[derive(Clone, Copy, Debug)]
struct Series([f64; ORDER + 1]);

impl Series {
    fn constant(value: f64) -> Self {
        Series([value, 0.0, 0.0, 0.0])
    }

    fn line(value: f64, slope: f64) -> Self {
        Series([value, slope, 0.0, 0.0])
    }

    fn times(self, factor: f64) -> Self {
        Series(self.0.map(|term| factor * term))
    }

    /// The solution of y' = self' rate(y) with this first term, by terms.
    fn exp(self) -> Self {
        let mut y = [self.0[0].exp(), 0.0, 0.0, 0.0];
        for k in 1..=ORDER {
            y[k] = (1..=k).map(|j| j as f64 * self.0[j] * y[k - j]).sum::<f64>() / k as f64;
        }
        Series(y)
    }

    fn log(self) -> Self {
        let mut y = [self.0[0].ln(), 0.0, 0.0, 0.0];
        for k in 1..=ORDER {
            let known: f64 = (1..k).map(|j| j as f64 * y[j] * self.0[k - j]).sum();
            y[k] = (self.0[k] - known / k as f64) / self.0[0];
        }
        Series(y)
    }

    fn sin(self) -> Self {
        let (mut s, mut c) = ([self.0[0].sin(), 0.0, 0.0, 0.0], [self.0[0].cos(), 0.0, 0.0, 0.0]);
        for k in 1..=ORDER {
            s[k] = (1..=k).map(|j| j as f64 * self.0[j] * c[k - j]).sum::<f64>() / k as f64;
            c[k] = -(1..=k).map(|j| j as f64 * self.0[j] * s[k - j]).sum::<f64>() / k as f64;
        }
        Series(s)
    }

    /// The derivative of this order at 0.
    fn derivative(self, order: usize) -> f64 {
        self.0[order] * (1..=order).map(|k| k as f64).product::<f64>()
    }
}

impl std::ops::Add for Series {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Series(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

impl std::ops::Sub for Series {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + other.times(-1.0)
    }
}

impl std::ops::Mul for Series {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Series(std::array::from_fn(|k| (0..=k).map(|j| self.0[j] * other.0[k - j]).sum()))
    }
}

/// Where and in which direction: of a float, or of a vector.
#[derive(Clone, Copy)]
enum At {
    Float(f64, f64),
    Vector(&'static [f64], &'static [f64]),
}

impl At {
    fn ty(self) -> &'static str {
        match self {
            At::Float(..) => "Float64",
            At::Vector(..) => "Vector{Float64}",
        }
    }

    fn value(self) -> Value {
        let module: Module<IRCode> = Module::new();
        match self {
            At::Float(x, _) => Value::from(x),
            At::Vector(x, _) => {
                let elements = x.iter().copied().map(Value::from).collect();
                Machine::new(&module).array(Type::FLOAT64, vec![x.len()], elements).unwrap()
            }
        }
    }

    fn lines(self) -> Vec<Series> {
        match self {
            At::Float(x, d) => vec![Series::line(x, d)],
            At::Vector(x, d) => x.iter().zip(d).map(|(x, d)| Series::line(*x, *d)).collect(),
        }
    }

    /// A function `wrapper` of a float, the derivative along the direction, that calls the function `derived`: the one
    /// that gives value and gradient, or value and tangent.
    fn along(self, wrapper: &str, derived: &str, mode: char) -> String {
        let mut text = format!("function {wrapper}(x::{})::Float64\n", self.ty());
        let mut lines: Vec<String> = Vec::new();
        let mut add = |line: String| {
            lines.push(line);
            lines.len()
        };
        let last = match (mode, self) {
            ('R', At::Float(_, d)) => {
                let both = add(format!("Main.{derived}(x)::Tuple{{Float64, Float64}}"));
                let gradient = add(format!("Base.getfield(%{both}, 2)::Float64"));
                add(format!("Base.mul_float(%{gradient}, {d:?})::Float64"))
            }
            ('R', At::Vector(_, d)) => {
                let both = add(format!("Main.{derived}(x)::Tuple{{Float64, Vector{{Float64}}}}"));
                let gradient = add(format!("Base.getfield(%{both}, 2)::Vector{{Float64}}"));
                let mut sum = String::from("0.0");
                for (index, d) in d.iter().enumerate() {
                    let element = add(format!("Base.arrayref(true, %{gradient}, {})::Float64", index + 1));
                    let term = add(format!("Base.mul_float(%{element}, {d:?})::Float64"));
                    sum = format!("%{}", add(format!("Base.add_float({sum}, %{term})::Float64")));
                }
                lines.len()
            }
            (_, At::Float(_, d)) => {
                let both = add(format!("Main.{derived}(x, {d:?})::Tuple{{Float64, Float64}}"));
                add(format!("Base.getfield(%{both}, 2)::Float64"))
            }
            (_, At::Vector(_, d)) => {
                let tangent = add(format!("BBKit.new_array(Float64, {})::Vector{{Float64}}", d.len()));
                for (index, d) in d.iter().enumerate() {
                    add(format!("Base.arrayset(true, %{tangent}, {d:?}, {})::Vector{{Float64}}", index + 1));
                }
                let both = add(format!("Main.{derived}(x, %{tangent})::Tuple{{Float64, Float64}}"));
                add(format!("Base.getfield(%{both}, 2)::Float64"))
            }
        };
        for (index, line) in lines.iter().enumerate() {
            let edge = if index == 0 { "1 ─" } else { "│  " };
            writeln!(text, "{edge} %{} = {line}", index + 1).unwrap();
        }
        writeln!(text, "└── return %{last}\nend").unwrap();
        text
    }
}

/// Derives by these modes, one after the other; gives the function of a float that is the last directional derivative.
fn derived(name: &str, at: At, way: &str) -> Result<(Module<BBCode>, Name), String> {
    let mut module = to_bbcode(&parse_module(TEXT).unwrap().module).unwrap();
    let mut name = Name::from(name);
    for (step, mode) in way.chars().enumerate() {
        let made = match mode {
            'R' => reverse_mode::differentiate(&mut module, &name).map(|names| names.value_and_gradient),
            _ => forward_mode::differentiate(&mut module, &name, &Default::default()),
        };
        let made = made.map_err(|error| format!("step {}: {error}", step + 1))?;
        name = Name::from(format!("along_{}", step + 1));
        let text = at.along(&name, &made, mode);
        for function in to_bbcode(&parse_module(&text).unwrap().module).unwrap().functions() {
            module.add_function(function.clone()).unwrap();
        }
    }
    Ok((module, name))
}

fn check(name: &str, points: &[At], closed: impl Fn(&[Series]) -> Series) {
    check_ways(name, points, &WAYS, closed);
}

fn pushed(x: &[Series]) -> Series {
    sum((1..=4).map(|k| powi(x[0], 2 * k).times(k as f64)))
}

fn check_ways(name: &str, points: &[At], ways: &[&str], closed: impl Fn(&[Series]) -> Series) {
    let mut failures = Vec::new();
    for &way in ways {
        let (module, along) = match derived(name, points[0], way) {
            Ok(derived) => derived,
            Err(error) => {
                failures.push(format!("{name} {way}: {error}"));
                continue;
            }
        };
        let module = to_ircode(&module).unwrap();
        for function in module.functions() {
            if let Err(error) = function.body.verify() {
                failures.push(format!("{name} {way}: {}: {error:?}", function.name));
            }
        }
        for at in points {
            let expected = closed(&at.lines()).derivative(way.len());
            let value = at.value();
            let before = value.to_string();
            match Machine::new(&module).call(&along, std::slice::from_ref(&value)) {
                Ok(found) => {
                    let found = found.as_float().unwrap();
                    // NaN is not close to anything.
                    let close = (found - expected).abs() <= 1e-11 * expected.abs().max(1.0);
                    if !close {
                        failures.push(format!("{name} {way}: {found} is not {expected}"));
                    }
                }
                Err(error) => failures.push(format!("{name} {way}: {error}")),
            }
            if way.ends_with('R') && value.to_string() != before {
                failures.push(format!("{name} {way}: the argument is left as {value}"));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

const FLOAT: [At; 1] = [At::Float(0.8, 1.5)];
const VECTOR: [At; 1] = [At::Vector(&[0.7, -0.4, 1.1], &[1.0, 0.5, -2.0])];

fn powi(x: Series, n: usize) -> Series {
    (0..n).fold(Series::constant(1.0), |product, _| product * x)
}

fn sum(terms: impl Iterator<Item = Series>) -> Series {
    terms.fold(Series::constant(0.0), |sum, term| sum + term)
}

#[test]
fn of_a_loop() {
    check("horner", &FLOAT, |x| {
        (1..=4).fold(Series::constant(1.0), |value, i| value * x[0] + Series::constant(f64::from(i)))
    });
}

#[test]
fn of_nested_loops() {
    check("chained", &FLOAT, |x| (0..2).fold(x[0], |y, _| y.sin().sin() * x[0]));
}

#[test]
fn of_branches() {
    check("branch", &FLOAT, |x| powi(x[0], 3));
    check("branch", &[At::Float(-0.5, 1.5)], |x| x[0].exp());
}

#[test]
fn of_powers() {
    let points = [At::Float(0.8, 1.5), At::Float(0.0, 1.5)];
    check("power_of_two", &points, |x| x[0].times(2f64.ln()).exp());
    check("power_of_square", &points, |x| (x[0] * x[0]).times(2f64.ln()).exp());
}

#[test]
fn of_one_object_as_two_arguments() {
    check("of_classes", &[At::Float(1.5, 1.5)], |x| powi(x[0], 2));
}

#[test]
fn of_recursion() {
    check("fourth", &FLOAT, |x| powi(x[0], 4));
}

#[test]
fn of_calls() {
    check("calls", &FLOAT, |x| x[0] * (x[0] * x[0]).exp() + (x[0] * x[0]).times(2f64.exp()));
}

#[test]
fn of_structs() {
    check("structs", &FLOAT, |x| powi(x[0], 4) * x[0].sin());
}

#[test]
fn of_mutable_structs() {
    check("cells", &FLOAT, |x| powi(x[0], 4));
}

#[test]
fn of_arrays_that_grow() {
    let ways: Vec<&str> = WAYS.into_iter().filter(|way| *way != "RRR").collect();
    check_ways("pushed", &FLOAT, &ways, pushed);
}

#[test]
fn of_arrays_that_grow_by_reverse_mode_alone() {
    check_ways("pushed", &FLOAT, &["RRR"], pushed);
}

#[test]
fn of_arrays() {
    check("cubes", &VECTOR, |a| sum(a.iter().map(|x| powi(*x, 3))));
    check("product", &VECTOR, |a| a.iter().fold(Series::constant(1.0), |product, x| product * *x));
}

#[test]
fn of_rosenbrock() {
    check("rosenbrock", &VECTOR, |a| {
        sum(a
            .windows(2)
            .map(|pair| powi(pair[1] - pair[0] * pair[0], 2).times(100.0) + powi(Series::constant(1.0) - pair[0], 2)))
    });
}

#[test]
fn of_logsumexp() {
    check("logsumexp", &VECTOR, |a| sum(a.iter().map(|x| x.exp())).log());
}

#[test]
fn of_arrays_changed_in_place() {
    check("in_place", &VECTOR, |a| powi(a.iter().fold(Series::constant(1.0), |product, x| product * *x), 2));
    check("swapped", &VECTOR, |a| {
        // Of three elements, these are all the other way round.
        sum(a.iter().rev().enumerate().map(|(i, x)| powi(*x, 2).times(i as f64 + 1.0)))
    });
}

#[test]
fn of_arrays_of_tuples() {
    check("tuples", &VECTOR, |a| sum(a.iter().map(|x| powi(*x, 3))));
}

#[test]
fn of_recursion_on_an_array() {
    check("descending", &VECTOR, |a| a[0] * powi(a[2], 3));
}

#[test]
fn of_whole_arrays() {
    check("whole", &VECTOR, |a| sum(a.iter().map(|x| *x * *x)) * sum(a.iter().copied()));
}
