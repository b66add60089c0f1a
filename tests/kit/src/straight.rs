//! Loops over arrays of which every round does the same: what vectors may be used for, and may not where two rounds
//! meet in memory.

use std::fmt::Write as _;

use arbitrary::{Error, Result, Unstructured};
use exec::{Machine, Value};
use ircode::{IRCode, Module, Type, parse_module};

/// A function of arrays `x` and `y`, a number of rounds and a `Float64`, and the arguments that it gets.
#[derive(Clone, Debug)]
pub struct StraightLoop {
    /// The function, `f`.
    pub text: String,
    /// What the text says.
    pub module: Module<IRCode>,
    /// How many rounds.
    pub rounds: i64,
    /// The length of the arrays.
    pub length: usize,
    /// Whether both arrays are one.
    pub alias: bool,
}

impl StraightLoop {
    /// New arguments: two arrays, or one twice, the number of rounds and a number.
    pub fn args(&self) -> Vec<Value> {
        let machine = Machine::new(&self.module);
        let vector = |by: f64| {
            let numbers = (0..self.length).map(|n| Value::from(0.25 + by * n as f64 - 1.0 / (n + 1) as f64));
            machine.array(Type::FLOAT64, vec![self.length], numbers.collect())
        };
        let x = vector(0.5);
        let y = if self.alias { x.clone() } else { vector(-0.375) };
        x.into_iter().chain(y).chain([Value::from(self.rounds), Value::from(-1.25)]).collect()
    }
}

/// How far apart what a long body accesses lies from round to round, at most.
const MOST_APART: i64 = 5;

/// Elements on both sides of the indices that the counter takes.
const MARGIN: i64 = 3;

/// Makes a function with one counted loop: up or down, with loads and stores at the counter and a few elements beside
/// it, at indices that run the other way, twice as fast or not at all; a number that is carried, a stack that is pushed
/// on, arrays made in the function; functions that throw outside of their domain, and a branch that fails or one of
/// which both ways meet again. One in five has a long body, which adds to elements that lie side by side, as
/// derivatives do whose inner loops were written out.
///
/// # Errors
///
/// Those of `u`, and [`Error::IncorrectFormat`] for text that cannot be read, which is never made.
pub fn straight_loop(u: &mut Unstructured<'_>) -> Result<StraightLoop> {
    let rounds = u.int_in_range(1..=13)?;
    let mut lines: Vec<String> = Vec::new();
    let mut next = 1;
    let mut line = |lines: &mut Vec<String>, text: String| {
        lines.push(format!("%{next} = {text}"));
        next += 1;
        format!("%{}", next - 1)
    };
    // The entry: an array of the function's own, a stack, and where the counter starts.
    let own = line(&mut lines, "BBKit.zero_tangent(_2)::Vector{Float64}".into());
    let stack = line(&mut lines, "BBKit.new_stack(Float64)::BBKit.Stack{Float64}".into());
    let table = line(&mut lines, TABLE.into());
    let long = u.ratio(1, 5)?;
    let last = line(&mut lines, format!("Base.add_int(_4, {MARGIN})::Int64"));
    let far = line(&mut lines, format!("Base.add_int({last}, {})::Int64", MARGIN + 1));
    line(&mut lines, "goto #2".into());
    let entry = lines.len();
    let down = u.arbitrary()?;
    let first = format!("{}", MARGIN + 1);
    let (start, end, step) = if down { (&last, &first, "sub_int") } else { (&first, &last, "add_int") };
    let (start, end) = (start.clone(), end.clone());
    let phi = lines.len();
    let counter = line(&mut lines, String::new());
    let carried = line(&mut lines, String::new());
    let mut pushed = false;
    let mut fails = None;
    let mut ways = Vec::new();
    let mut numbers = vec!["_5".to_owned(), carried.clone(), "0.75".to_owned()];
    let arrays = ["_2", "_3", own.as_str()];
    if long {
        let mut body = LongBody { counter: &counter, table: &table, arrays, factors: [0; 3], recent: Vec::new() };
        for factor in &mut body.factors {
            *factor = u.int_in_range(0..=MOST_APART)?;
        }
        for _ in 0..u.int_in_range(14..=30)? {
            body.add(u, &mut lines, &mut line)?;
        }
        numbers.extend(body.recent.pop());
    }
    let operations = if long { u.int_in_range(0..=2)? } else { u.int_in_range(1..=12)? };
    // Half of the checks come first, the others anywhere.
    let checked = match !long && u.ratio(1, 3)? {
        true if u.arbitrary()? => Some(0),
        true => Some(u.int_in_range(0..=operations - 1)?),
        false => None,
    };
    for operation in 0..operations {
        if checked == Some(operation) {
            let at = index(u, &mut lines, &mut line, &counter, &far)?;
            let array = *u.choose(&arrays[..2])?;
            let element = line(&mut lines, format!("Base.arrayref(true, {array}, {at})::Float64"));
            let condition = condition(u, &mut lines, &mut line, &element, array == "_2")?;
            if u.arbitrary()? {
                line(&mut lines, format!("goto #6 if not {condition}"));
                fails = Some(lines.len());
            } else {
                line(&mut lines, format!("goto #4 if not {condition}"));
                let mut results = Vec::new();
                for arm in 0..2 {
                    ways.push(lines.len());
                    let mut result = element.clone();
                    for _ in 0..u.int_in_range(0..=3)? {
                        let name = *u.choose(&["add_float", "sub_float", "mul_float"])?;
                        let other = u.choose(&numbers)?;
                        result = line(&mut lines, format!("Base.{name}({result}, {other})::Float64"));
                    }
                    if u.ratio(1, 4)? {
                        let store = format!("Base.arrayset(true, _3, {result}, {counter})::Vector{{Float64}}");
                        line(&mut lines, store);
                    }
                    line(&mut lines, if arm == 0 { "goto #5".into() } else { "nothing".into() });
                    results.push(result);
                }
                ways.push(lines.len());
                let phi = format!("φ (#3 => {}, #4 => {})::Float64", results[0], results[1]);
                numbers.push(line(&mut lines, phi));
            }
            numbers.push(element);
        }
        let kind = u.int_in_range(0..=9)?;
        let at = if kind < 6 { Some(index(u, &mut lines, &mut line, &counter, &far)?) } else { None };
        let array = *u.choose(&arrays)?;
        let pick = |u: &mut Unstructured<'_>| -> Result<String> { Ok(u.choose(&numbers)?.clone()) };
        match (kind, at) {
            (0..=2, Some(at)) => {
                numbers.push(line(&mut lines, format!("Base.arrayref(true, {array}, {at})::Float64")));
            }
            (_, Some(at)) => {
                let value = pick(u)?;
                line(&mut lines, format!("Base.arrayset(true, {array}, {value}, {at})::Vector{{Float64}}"));
            }
            (9, _) if u.ratio(1, 3)? => {
                let value = pick(u)?;
                line(&mut lines, format!("BBKit.stack_push!({stack}, {value})::Nothing"));
                pushed = true;
            }
            (8, _) => {
                let name = *u.choose(&FUNCTIONS)?;
                let a = pick(u)?;
                numbers.push(line(&mut lines, format!("Base.{name}({a})::Float64")));
            }
            _ => {
                let name = *u.choose(&["add_float", "sub_float", "mul_float", "div_float"])?;
                let (a, b) = (pick(u)?, pick(u)?);
                numbers.push(line(&mut lines, format!("Base.{name}({a}, {b})::Float64")));
            }
        }
    }
    let left = u.choose(&numbers)?.clone();
    let test = line(&mut lines, format!("Base.:(===)({counter}, {end})::Bool"));
    let on = if fails.is_some() { 5 } else { 4 + ways.len() };
    line(&mut lines, format!("goto #{on} if not {test}"));
    let body = lines.len();
    let length = line(&mut lines, format!("BBKit.stack_length({stack})::Int64"));
    let float = line(&mut lines, format!("Base.sitofp(Float64, {length})::Float64"));
    let mut sum = line(&mut lines, format!("Base.add_float({float}, {left})::Float64"));
    for at in ["1", &length].into_iter().filter(|_| pushed) {
        let value = line(&mut lines, format!("BBKit.stack_get({stack}, {at})::Float64"));
        sum = line(&mut lines, format!("Base.sub_float({sum}, {value})::Float64"));
    }
    let own_element = line(&mut lines, format!("Base.arrayref(true, {own}, {last})::Float64"));
    let of_table = line(&mut lines, format!("Base.arrayref(true, {table}, 2, {last})::Float64"));
    let own_element = line(&mut lines, format!("Base.add_float({own_element}, {of_table})::Float64"));
    let result = line(&mut lines, format!("Core.tuple({sum}, {own_element})::Tuple{{Float64, Float64}}"));
    line(&mut lines, format!("return {result}"));
    let exit = lines.len();
    let moved = line(&mut lines, format!("Base.{step}({counter}, 1)::Int64"));
    line(&mut lines, "goto #2".into());
    let failure = lines.len();
    if fails.is_some() {
        line(&mut lines, "Core.throw(_5)::Union{}".into());
        line(&mut lines, "unreachable".into());
    }
    lines[phi] = format!("{counter} = φ (#1 => {start}, #{on} => {moved})::Int64");
    lines[phi + 1] = format!("{carried} = φ (#1 => 1.5, #{on} => {left})::Float64");
    let starts: Vec<usize> = [0, entry].into_iter().chain(fails).chain(ways).chain([body, exit, failure]).collect();
    let mut text = String::from(
        "function f(_2::Vector{Float64}, _3::Vector{Float64}, _4::Int64, _5::Float64)::Tuple{Float64, Float64}\n",
    );
    for (number, content) in lines.iter().enumerate() {
        let block = starts.iter().position(|start| *start == number);
        let prefix = block.map_or("│  ".to_owned(), |block| format!("{} ┄", block + 1));
        let _ = writeln!(text, "{prefix} {content}");
    }
    text.push_str("end\n");
    // What runs twice as fast needs twice the room; sometimes there is too little of it.
    let further = if long { MOST_APART } else { 2 };
    let room = if u.ratio(1, 8)? { 0 } else { further * (rounds + 2 * MARGIN) + 4 };
    let module = parse_module(&text).map_err(|_| Error::IncorrectFormat)?.module;
    Ok(StraightLoop { text, module, rounds, length: (rounds + 2 * MARGIN + room) as usize, alias: u.ratio(1, 4)? })
}

/// Functions of a number; some throw where it is not in their domain.
const FUNCTIONS: [&str; 12] = [
    "neg_float",
    "abs_float",
    "neg_float",
    "abs_float",
    "exp",
    "exp",
    "tanh",
    "Math.sqrt_llvm",
    "sqrt",
    "log",
    "sin",
    "cos",
];

/// A matrix of known dimensions: of three rows, and columns enough for the counter.
const TABLE: &str = "$(Expr(:foreigncall, :(:jl_alloc_array_2d), Matrix{Float64}, svec(Any, Int64, Int64), 0, :(:ccall), \
                     Matrix{Float64}, 3, 20, 20, 3))::Matrix{Float64}";

/// What makes a long body: each array is accessed at a multiple of the counter and a little more, mostly so that rounds
/// do not meet.
struct LongBody<'a> {
    counter: &'a str,
    table: &'a str,
    arrays: [&'a str; 3],
    /// By array.
    factors: [i64; 3],
    /// The last numbers that were computed.
    recent: Vec<String>,
}

impl LongBody<'_> {
    /// Adds a few statements: a load, an operation or two, and often something that is added to an element.
    fn add(
        &mut self,
        u: &mut Unstructured<'_>,
        lines: &mut Vec<String>,
        line: &mut dyn FnMut(&mut Vec<String>, String) -> String,
    ) -> Result<()> {
        let (_, from) = self.place(u, lines, line)?;
        let loaded = line(lines, format!("Base.arrayref(true, {from})::Float64"));
        let other = match self.recent.last() {
            Some(_) if u.ratio(4, 5)? => u.choose(&self.recent)?.clone(),
            _ => "_5".to_owned(),
        };
        let name = *u.choose(&["mul_float", "add_float", "sub_float", "mul_float"])?;
        let mut number = line(lines, format!("Base.{name}({loaded}, {other})::Float64"));
        if u.ratio(1, 3)? {
            number = line(lines, format!("Base.neg_float({number})::Float64"));
        }
        if u.ratio(2, 3)? {
            let (ty, to) = self.place(u, lines, line)?;
            let (array, index) = to.split_once(", ").unwrap_or((&to, ""));
            let before = line(lines, format!("Base.arrayref(true, {to})::Float64"));
            let sum = line(lines, format!("Base.add_float({before}, {number})::Float64"));
            line(lines, format!("Base.arrayset(true, {array}, {sum}, {index})::{ty}"));
        }
        self.recent.push(number);
        if self.recent.len() > 6 {
            self.recent.remove(0);
        }
        Ok(())
    }

    /// An array and an index into it, with the array's type.
    fn place(
        &self,
        u: &mut Unstructured<'_>,
        lines: &mut Vec<String>,
        line: &mut dyn FnMut(&mut Vec<String>, String) -> String,
    ) -> Result<(&'static str, String)> {
        let number = u.int_in_range(0..=3)?;
        let (Some(array), Some(factor)) = (self.arrays.get(number), self.factors.get(number)) else {
            let row = u.int_in_range(1..=3)?;
            return Ok(("Matrix{Float64}", format!("{}, {row}, {}", self.table, self.counter)));
        };
        // Now and then by another multiple, or where the next round is.
        let factor = if u.ratio(1, 24)? { u.int_in_range(1..=MOST_APART)? } else { *factor };
        let further = match factor {
            // The same elements in all rounds.
            0 => u.int_in_range(1..=3)?,
            _ => {
                let most = if u.ratio(1, 24)? { factor } else { factor - 1 };
                u.int_in_range(0..=most)?
            }
        };
        let times = line(lines, format!("Base.mul_int({}, {factor})::Int64", self.counter));
        let index = line(lines, format!("Base.add_int({times}, {further})::Int64"));
        Ok(("Vector{Float64}", format!("{array}, {index}")))
    }
}

/// What holds on every round, or from some round on no more: elements of one array grow, those of the other fall.
fn condition(
    u: &mut Unstructured<'_>,
    lines: &mut Vec<String>,
    line: &mut dyn FnMut(&mut Vec<String>, String) -> String,
    element: &str,
    grows: bool,
) -> Result<String> {
    let bound = format!("{}.0", u.int_in_range(-6..=6)?);
    let (a, b) = if grows { (element, bound.as_str()) } else { (bound.as_str(), element) };
    let (name, a, b) = match u.int_in_range(0..=5)? {
        0 | 1 => ("lt_float", a, b),
        2 | 3 => ("le_float", a, b),
        4 => ("eq_float", b, b),
        _ => ("ne_float", a, b),
    };
    let mut condition = line(lines, format!("Base.{name}({a}, {b})::Bool"));
    if u.ratio(1, 4)? {
        for _ in 0..u.int_in_range(1..=2)? {
            condition = line(lines, format!("Base.not_int({condition})::Bool"));
        }
    }
    Ok(condition)
}

/// An index: the counter and a constant, twice the counter, what runs the other way, or always the same.
fn index(
    u: &mut Unstructured<'_>,
    lines: &mut Vec<String>,
    line: &mut dyn FnMut(&mut Vec<String>, String) -> String,
    counter: &str,
    far: &str,
) -> Result<String> {
    let beside = u.int_in_range(-MARGIN..=MARGIN)?;
    Ok(match u.int_in_range(0..=7)? {
        0 => line(lines, format!("Base.sub_int({far}, {counter})::Int64")),
        1 => line(lines, format!("Base.mul_int({counter}, 2)::Int64")),
        2 => format!("{}", beside + MARGIN + 1),
        _ if beside == 0 => counter.to_owned(),
        _ => line(lines, format!("Base.add_int({counter}, {beside})::Int64")),
    })
}
