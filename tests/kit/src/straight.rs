//! Loops over arrays of which every round does the same: what vectors may be used for, and may not where two rounds meet in memory.

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

/// Elements on both sides of the indices that the counter takes.
const MARGIN: i64 = 3;

/// Makes a function with one counted loop: up or down, with loads and stores at the counter and a few elements beside it, at indices that
/// run the other way, twice as fast or not at all; a number that is carried, a stack that is pushed on, arrays made in the function.
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
    let mut numbers = vec!["_5".to_owned(), carried.clone(), "0.75".to_owned()];
    let arrays = ["_2", "_3", own.as_str()];
    for _ in 0..u.int_in_range(1..=12)? {
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
                let name = *u.choose(&["neg_float", "abs_float"])?;
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
    line(&mut lines, format!("goto #4 if not {test}"));
    let body = lines.len();
    let length = line(&mut lines, format!("BBKit.stack_length({stack})::Int64"));
    let float = line(&mut lines, format!("Base.sitofp(Float64, {length})::Float64"));
    let mut sum = line(&mut lines, format!("Base.add_float({float}, {left})::Float64"));
    for at in ["1", &length].into_iter().filter(|_| pushed) {
        let value = line(&mut lines, format!("BBKit.stack_get({stack}, {at})::Float64"));
        sum = line(&mut lines, format!("Base.sub_float({sum}, {value})::Float64"));
    }
    let own_element = line(&mut lines, format!("Base.arrayref(true, {own}, {last})::Float64"));
    let result = line(&mut lines, format!("Core.tuple({sum}, {own_element})::Tuple{{Float64, Float64}}"));
    line(&mut lines, format!("return {result}"));
    let exit = lines.len();
    let moved = line(&mut lines, format!("Base.{step}({counter}, 1)::Int64"));
    line(&mut lines, "goto #2".into());
    lines[phi] = format!("{counter} = φ (#1 => {start}, #4 => {moved})::Int64");
    lines[phi + 1] = format!("{carried} = φ (#1 => 1.5, #4 => {left})::Float64");
    let mut text = String::from(
        "function f(_2::Vector{Float64}, _3::Vector{Float64}, _4::Int64, _5::Float64)::Tuple{Float64, Float64}\n",
    );
    for (number, content) in lines.iter().enumerate() {
        let block = [0, entry, body, exit].iter().position(|start| *start == number);
        let prefix = block.map_or("│  ".to_owned(), |block| format!("{} ┄", block + 1));
        let _ = writeln!(text, "{prefix} {content}");
    }
    text.push_str("end\n");
    // What runs twice as fast needs twice the room; sometimes there is too little of it.
    let room = if u.ratio(1, 8)? { 0 } else { 2 * (rounds + 2 * MARGIN) + 4 };
    let module = parse_module(&text).map_err(|_| Error::IncorrectFormat)?.module;
    Ok(StraightLoop { text, module, rounds, length: (rounds + 2 * MARGIN + room) as usize, alias: u.ratio(1, 4)? })
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
