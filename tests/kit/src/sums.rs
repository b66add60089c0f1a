//! Sums over the rounds of a loop, of what each round makes of some elements of arrays: what may be reversed round by
//! round, and what only looks like it.

use std::fmt::Write as _;

use arbitrary::{Error, Result, Unstructured};
use exec::{Machine, Value};
use ircode::{IRCode, Module, Type, parse_module};

/// A function of arrays `x` and `y`, a number `a` and a number of rounds, and its arguments.
#[derive(Clone, Debug)]
pub struct SumOfRounds {
    /// The function, `f`.
    pub text: String,
    /// What the text says.
    pub module: Module<IRCode>,
    /// How many rounds.
    pub rounds: i64,
    /// Whether both arrays are one.
    pub alias: bool,
}

/// The elements of each array: more than any index asks for.
const LENGTH: usize = 96;

impl SumOfRounds {
    /// New arguments: two arrays, or one twice, a number and the number of rounds.
    pub fn args(&self) -> Vec<Value> {
        let machine = Machine::new(&self.module);
        let vector = |by: f64| {
            let numbers = (0..LENGTH).map(|n| Value::from(0.3 + by * n as f64 - 1.0 / (n + 1) as f64));
            machine.array(Type::FLOAT64, vec![LENGTH], numbers.collect())
        };
        let x = vector(0.01);
        let y = if self.alias { x.clone() } else { vector(-0.007) };
        x.into_iter().chain(y).chain([Value::from(0.85), Value::from(self.rounds)]).collect()
    }
}

/// The statements of a function, with the blocks that they start.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) lines: Vec<String>,
    starts: Vec<usize>,
}

impl Writer {
    /// Starts a block.
    pub(crate) fn block(&mut self) {
        self.starts.push(self.lines.len());
    }

    /// Writes a statement, and gives its name.
    pub(crate) fn line(&mut self, text: impl Into<String>) -> String {
        self.lines.push(text.into());
        format!("%{}", self.lines.len())
    }

    pub(crate) fn text(self, head: &str) -> String {
        let mut text = format!("{head}\n");
        for (number, line) in self.lines.iter().enumerate() {
            let bar = match self.starts.iter().position(|start| *start == number) {
                Some(block) => format!("{} ┄", block + 1),
                None => "│  ".into(),
            };
            let _ = writeln!(text, "{bar} %{} = {line}", number + 1);
        }
        text + "end\n"
    }
}

/// Makes a function with one loop, which asks first or last whether there is another round, and what stands behind it.
/// Each round reads elements at multiples of the counter and a few beside these, may take one of two ways or fail, and
/// adds to the sum or takes from it.
///
/// # Errors
///
/// Those of `u`, and [`Error::IncorrectFormat`] for text that cannot be read, which is never made.
pub fn sum_of_rounds(u: &mut Unstructured<'_>) -> Result<SumOfRounds> {
    let tests_first: bool = u.arbitrary()?;
    let branches: bool = u.arbitrary()?;
    let mut w = Writer::default();
    w.block();
    let one = w.line("Base.add_int(0, 1)::Int64");
    w.line("goto #2");
    w.block();
    let (sum_phi, round_phi) = (w.lines.len(), w.lines.len() + 1);
    let (sum, round) = (w.line(""), w.line(""));
    // Blocks 3 and, for two ways, 4 to 6; then the one that goes around, and what stands behind.
    let (around, behind) = if branches { (7, 8) } else { (4, 5) };
    if tests_first {
        let more = w.line(format!("Base.sle_int({round}, _5)::Bool"));
        w.line(format!("goto #{behind} if not {more}"));
    } else {
        w.line("goto #3");
    }
    w.block();
    let stride = u.int_in_range(1..=4)?;
    let at = w.line(format!("Base.mul_int({round}, {stride})::Int64"));
    let mut numbers = vec!["_4".to_owned(), "0.75".to_owned()];
    for _ in 0..u.int_in_range(1..=4)? {
        let array = *u.choose(&["_2", "_2", "_3"])?;
        let index = match u.int_in_range(0..=7)? {
            0 => round.clone(),
            1 | 2 => "2".to_owned(),
            _ => w.line(format!("Base.add_int({at}, {})::Int64", u.int_in_range(0..=4)?)),
        };
        numbers.push(w.line(format!("Base.getindex({array}, {index})::Float64")));
    }
    let compute = |u: &mut Unstructured<'_>, w: &mut Writer, numbers: &mut Vec<String>| -> Result<()> {
        let name = *u.choose(&["add_float", "sub_float", "mul_float", "mul_float"])?;
        let (a, b) = (u.choose(numbers)?.clone(), numbers.last().cloned().unwrap_or_default());
        numbers.push(w.line(format!("Base.{name}({a}, {b})::Float64")));
        Ok(())
    };
    for _ in 0..u.int_in_range(1..=4)? {
        compute(u, &mut w, &mut numbers)?;
    }
    let added = |u: &mut Unstructured<'_>, w: &mut Writer, numbers: &[String], sum: &str| -> Result<String> {
        let last = numbers.last().cloned().unwrap_or_default();
        Ok(match u.int_in_range(0..=8)? {
            0 => w.line(format!("Base.sub_float({last}, {sum})::Float64")),
            1..=3 => w.line(format!("Base.sub_float({sum}, {last})::Float64")),
            4 | 5 => w.line(format!("Base.add_float({last}, {sum})::Float64")),
            _ => w.line(format!("Base.add_float({sum}, {last})::Float64")),
        })
    };
    let next_sum = if branches {
        let last = numbers.last().cloned().unwrap_or_default();
        let less = w.line(format!("Base.lt_float({last}, 0.4)::Bool"));
        w.line(format!("goto #5 if not {less}"));
        let mut ways = Vec::new();
        for _ in 0..2 {
            w.block();
            let mut here = numbers.clone();
            compute(u, &mut w, &mut here)?;
            ways.push(added(u, &mut w, &here, &sum)?);
            w.line("goto #6");
        }
        w.block();
        w.line(format!("φ (#4 => {}, #5 => {})::Float64", ways[0], ways[1]))
    } else {
        added(u, &mut w, &numbers, &sum)?
    };
    let next_round = w.line(format!("Base.add_int({round}, {one})::Int64"));
    if tests_first {
        w.line(format!("goto #{around}"));
    } else {
        let more = w.line(format!("Base.sle_int({next_round}, _5)::Bool"));
        w.line(format!("goto #{behind} if not {more}"));
    }
    w.block();
    w.line("goto #2");
    w.block();
    let left = if tests_first { sum.clone() } else { next_sum.clone() };
    let mut result = left;
    for _ in 0..u.int_in_range(0..=3)? {
        result = match u.int_in_range(0..=8)? {
            0 => w.line(format!("Base.neg_float({result})::Float64")),
            1 => w.line(format!("Base.mul_float({result}, 0.3)::Float64")),
            2 => w.line(format!("Base.mul_float(_4, {result})::Float64")),
            3 => w.line(format!("Base.div_float({result}, 0.7)::Float64")),
            4 => w.line(format!("Base.sub_float(1.5, {result})::Float64")),
            5 => w.line(format!("Base.mul_float({result}, {result})::Float64")),
            6 => w.line(format!("Base.add_float({result}, _4)::Float64")),
            7 => w.line(format!("Base.sub_float(_4, {result})::Float64")),
            _ => w.line(format!("Base.add_float({result}, 1.25)::Float64")),
        };
    }
    w.line(format!("return {result}"));
    w.lines[sum_phi] = format!("φ (#1 => 0.0, #{around} => {next_sum})::Float64");
    w.lines[round_phi] = format!("φ (#1 => 1, #{around} => {next_round})::Int64");
    let text = w.text("function f(_2::Vector{Float64}, _3::Vector{Float64}, _4::Float64, _5::Int64)::Float64");
    let module = parse_module(&text).map_err(|_| Error::IncorrectFormat)?.module;
    Ok(SumOfRounds { text, module, rounds: u.int_in_range(0..=20)?, alias: u.ratio(1, 4)? })
}
