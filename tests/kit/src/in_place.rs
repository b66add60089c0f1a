//! Functions that change their arguments in a loop, and are given one vector as several of them.

use arbitrary::{Error, Result, Unstructured};
use exec::{Machine, Value};
use ircode::{IRCode, Module, Type, parse_module};

use crate::sums::Writer;

/// A function `f` of two vectors, which calls `g` with copies of them, and that calls another one in its place,
/// perhaps.
#[derive(Clone, Debug)]
pub struct InPlace {
    /// Where `g` gets the copies that were chosen, some of them twice.
    pub shared: Module<IRCode>,
    /// The same, but each argument is a copy of its own.
    pub apart: Module<IRCode>,
}

const LENGTH: usize = 4;

impl InPlace {
    /// New arguments.
    pub fn args(&self) -> Vec<Value> {
        let machine = Machine::new(&self.shared);
        let vector = |from: f64| {
            let numbers = (0..LENGTH).map(|n| Value::from(from - 0.37 * n as f64));
            machine.array(Type::FLOAT64, vec![LENGTH], numbers.collect())
        };
        [0.9, -0.4].into_iter().filter_map(|from| vector(from).ok()).collect()
    }
}

/// Makes such functions.
///
/// # Errors
///
/// Those of `u`, and [`Error::IncorrectFormat`] for text that cannot be read, which is never made.
pub fn in_place(u: &mut Unstructured<'_>) -> Result<InPlace> {
    let inner = changing(u)?;
    let chosen: [&str; 3] = [*u.choose(&COPIES)?, *u.choose(&COPIES)?, *u.choose(&COPIES)?];
    let through = u.arbitrary()?;
    let order: [&str; 3] = [*u.choose(&ARGUMENTS)?, *u.choose(&ARGUMENTS)?, *u.choose(&ARGUMENTS)?];
    let module = |copies: [&str; 3], order: [&str; 3]| -> Result<Module<IRCode>> {
        let name = if through { "h" } else { "g" };
        let text = format!("{inner}{}{}", passing_on(order), calling(name, copies));
        Ok(parse_module(&text).map_err(|_| Error::IncorrectFormat)?.module)
    };
    Ok(InPlace { shared: module(chosen, order)?, apart: module(COPIES, ARGUMENTS)? })
}

const COPIES: [&str; 3] = ["%1", "%2", "%3"];
const ARGUMENTS: [&str; 3] = ["_2", "_3", "_4"];
const HEAD: &str = "(_2::Vector{Float64}, _3::Vector{Float64}, _4::Vector{Float64})::Nothing";

/// `g`: loads, stores and arithmetic in a loop.
fn changing(u: &mut Unstructured<'_>) -> Result<String> {
    let mut w = Writer::default();
    w.block();
    w.line(format!("Base.add_int({LENGTH}, 0)::Int64"));
    w.line("goto #2");
    w.block();
    let place = w.lines.len();
    let round = w.line("");
    let more = w.line(format!("Base.sle_int({round}, %1)::Bool"));
    w.line(format!("goto #4 if not {more}"));
    w.block();
    let mut numbers = vec!["0.75".to_owned()];
    for _ in 0..u.int_in_range(3..=9)? {
        let array = *u.choose(&ARGUMENTS)?;
        let index = u.choose(&[round.as_str(), "1", "2", "3"])?.to_string();
        let last = numbers.last().cloned().unwrap_or_default();
        match u.int_in_range(0..=5)? {
            0..=2 => numbers.push(w.line(format!("Base.arrayref(true, {array}, {index})::Float64"))),
            3 => numbers.push(w.line(format!("Base.mul_float({last}, {})::Float64", u.choose(&numbers)?))),
            _ => {
                // Nothing grows.
                let value = w.line(format!("Base.sin({last})::Float64"));
                w.line(format!("Base.arrayset(true, {array}, {value}, {index})::Vector{{Float64}}"));
            }
        }
    }
    let next = w.line(format!("Base.add_int({round}, 1)::Int64"));
    w.line("goto #2");
    w.block();
    w.line("return nothing");
    w.lines[place] = format!("φ (#1 => 1, #3 => {next})::Int64");
    Ok(w.text(&format!("function g{HEAD}")))
}

/// `h`, which calls `g` with its arguments in this order.
fn passing_on(order: [&str; 3]) -> String {
    let mut w = Writer::default();
    w.block();
    w.line(format!("invoke Main.g({})::Nothing", order.join(", ")));
    w.line("return nothing");
    w.text(&format!("function h{HEAD}"))
}

/// `f`, which calls one of them.
fn calling(name: &str, copies: [&str; 3]) -> String {
    let mut w = Writer::default();
    w.block();
    for from in ["_2", "_3", "_2"] {
        w.line(format!("Base.copy({from})::Vector{{Float64}}"));
    }
    w.line(format!("invoke Main.{name}({})::Nothing", copies.join(", ")));
    let sums: Vec<String> = COPIES.iter().map(|copy| w.line(format!("Base.sum({copy})::Float64"))).collect();
    let product = w.line(format!("Base.mul_float({}, {})::Float64", sums[0], sums[1]));
    let sum = w.line(format!("Base.add_float({product}, {})::Float64", sums[2]));
    w.line(format!("return {sum}"));
    w.text("function f(_2::Vector{Float64}, _3::Vector{Float64})::Float64")
}
