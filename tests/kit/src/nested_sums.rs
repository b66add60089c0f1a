//! Sums in loops: `for i in 1:n; a = …; for j in …; a += x[…] * y[…]; end; …; end`, of which several rounds may be run
//! at once, and what only looks like it.

use arbitrary::{Error, Result, Unstructured};
use bbcode::BBCode;
use exec::{Limits, Machine, Value};
use ircode::{IRCode, Module, parse_module};
use passes::{PassResult, run_on_function, unroll_and_jam};

use crate::laws::{Checked, keeps_meaning};
use crate::native::vector;
use crate::sums::Writer;

const LIMITS: Limits = Limits { steps: 20_000, memory: 1 << 24, depth: 100 };

/// A loop of sums in a function `f` of two vectors and two integers.
///
/// The inner loop may have more or fewer rounds in each round, or none, and count upwards or downwards. It reads
/// elements of both vectors, or of one that the function makes, at sums and multiples of both counters, and starts with
/// an element, with that of the round before, or with a number. The rest of a round may store the sum into one of the
/// arrays.
///
/// # Errors
///
/// Those of `u`, and [`Error::IncorrectFormat`] for text that cannot be read, which is never made.
pub fn nested_sums(u: &mut Unstructured<'_>) -> Result<Module<IRCode>> {
    let mut w = Writer::default();
    let (upwards, guarded) = (u.ratio(2, 3)?, u.ratio(5, 6)?);
    w.block();
    let made = w.line("BBKit.new_array(Float64, 9)::Vector{Float64}");
    w.line(format!("invoke Base.fill!({made}::Vector{{Float64}}, 0.5::Float64)::Vector{{Float64}}"));
    let arrays = ["_2".to_owned(), "_3".to_owned(), made];
    let few = w.line("Base.slt_int(_4, 1)::Bool");
    w.line(format!("goto #3 if not {few}"));
    w.block();
    w.line("return 0.0");

    // 3: the outer loop.
    w.block();
    let outer = w.lines.len();
    let (i, total, before) = (w.line(""), w.line(""), w.line(""));
    let element = w.line(format!("Base.arrayref(true, {}, {i})::Float64", u.choose(&arrays)?));
    let bound = match u.int_in_range(0..=5)? {
        0 => "_5".to_owned(),
        1 => i.clone(),
        2 => w.line(format!("Base.sub_int(_4, {i})::Int64")),
        3 => w.line(format!("Base.add_int({i}, 2)::Int64")),
        4 => {
            let early = w.line(format!("Base.slt_int({i}, 3)::Bool"));
            w.line(format!("Base.ifelse({early}, 5, 2)::Int64"))
        }
        _ => "4".to_owned(),
    };
    let first = match u.int_in_range(0..=3)? {
        0 => i.clone(),
        1 => w.line(format!("Base.sub_int({i}, 1)::Int64")),
        _ => "1".to_owned(),
    };
    let start = match u.int_in_range(0..=7)? {
        0 | 1 => element.clone(),
        2 => before,
        3 => w.line(format!("Base.mul_float({before}, {element})::Float64")),
        _ => "0.25".to_owned(),
    };
    let none = w.line(format!("Base.slt_int({bound}, {first})::Bool"));
    w.line(if guarded { format!("goto #5 if not {none}") } else { "goto #5".to_owned() });
    w.block();
    w.line("goto #8");

    // 5 to 7: the inner loop.
    w.block();
    let inner = w.lines.len();
    let (j, sum) = (w.line(""), w.line(""));
    let mut factors = Vec::new();
    for _ in 0..2 {
        let at = match u.int_in_range(0..=5)? {
            0 | 1 => j.clone(),
            2 => {
                let less = w.line(format!("Base.sub_int({i}, {j})::Int64"));
                w.line(format!("Base.add_int({less}, 1)::Int64"))
            }
            3 => w.line(format!("Base.mul_int(2, {j})::Int64")),
            4 => {
                let more = w.line(format!("Base.add_int({i}, {j})::Int64"));
                w.line(format!("Base.sub_int({more}, 1)::Int64"))
            }
            _ => i.clone(),
        };
        factors.push(w.line(format!("Base.arrayref(true, {}, {at})::Float64", u.choose(&arrays)?)));
    }
    let product = w.line(format!("Base.mul_float({})::Float64", factors.join(", ")));
    let next_sum = w.line(format!("Base.add_float({sum}, {product})::Float64"));
    let (from, to, step) = if upwards { (&first, &bound, "add_int") } else { (&bound, &first, "sub_int") };
    let last = w.line(format!("({j} === {to})::Bool"));
    w.line(format!("goto #7 if not {last}"));
    w.block();
    w.line("goto #8");
    w.block();
    let next_j = w.line(format!("Base.{step}({j}, 1)::Int64"));
    w.line("goto #5");

    // 8 to 10: the rest of the round.
    w.block();
    let skipped = if guarded { format!("#4 => {start}, ") } else { String::new() };
    let found = w.line(format!("φ ({skipped}#6 => {next_sum})::Float64"));
    let next_total = w.line(format!("Base.sub_float({total}, {found})::Float64"));
    if u.ratio(2, 3)? {
        let (array, at) = (u.choose(&arrays)?, if u.arbitrary()? { i.as_str() } else { "1" });
        w.line(format!("Base.arrayset(true, {array}, {found}, {at})::Vector{{Float64}}"));
    }
    let done = w.line(format!("({i} === _4)::Bool"));
    w.line(format!("goto #10 if not {done}"));
    w.block();
    w.line(format!("return {next_total}"));
    w.block();
    let next_i = w.line(format!("Base.add_int({i}, 1)::Int64"));
    w.line("goto #3");

    w.lines[outer] = format!("φ (#1 => 1, #10 => {next_i})::Int64");
    w.lines[outer + 1] = format!("φ (#1 => 0.0, #10 => {next_total})::Float64");
    w.lines[outer + 2] = format!("φ (#1 => 1.5, #10 => {element})::Float64");
    w.lines[inner] = format!("φ (#3 => {from}, #7 => {next_j})::Int64");
    w.lines[inner + 1] = format!("φ (#3 => {start}, #7 => {next_sum})::Float64");
    let text = w.text("function f(_2::Vector{Float64}, _3::Vector{Float64}, _4::Int64, _5::Int64)::Float64");
    Ok(parse_module(&text).map_err(|_| Error::IncorrectFormat)?.module)
}

/// How many calls there are to check a function by.
pub const CALLS: usize = 24;

/// The arguments of one of the [`CALLS`], made anew: vectors that are long enough and that are not, the same one twice,
/// few rounds and many.
pub fn arguments(module: &Module<IRCode>, call: usize) -> Vec<Value> {
    const ROUNDS: [(i64, i64); 6] = [(1, 3), (2, 2), (5, 4), (6, 0), (0, 2), (9, 7)];
    let machine = Machine::new(module);
    let numbers = |count: usize, factor: f64| {
        vector(&machine, &(0..count).map(|at| factor * (at as f64 - 2.3)).collect::<Vec<_>>())
    };
    let x = numbers(if call % 4 == 2 { 4 } else { 20 }, 0.7);
    let y = match call % 4 {
        1 => numbers(5, 1.3),
        3 => x.clone(),
        _ => numbers(20, 1.3),
    };
    let (n, m) = ROUNDS[call / 4 % ROUNDS.len()];
    vec![x, y, Value::from(n), Value::from(m)]
}

/// [`unroll_and_jam`] on `f`.
///
/// # Errors
///
/// Those of the pass.
pub fn jam(module: &mut Module<BBCode>) -> PassResult {
    run_on_function(module, &"f".into(), unroll_and_jam::run)
}

/// A pass keeps the meaning of `f` in all calls.
///
/// # Errors
///
/// [`Broken`](crate::laws::Broken), of the first call that differs.
pub fn keeps_meaning_of_sums(module: &Module<IRCode>, pass: &dyn Fn(&mut Module<BBCode>) -> PassResult) -> Checked {
    (0..CALLS).try_for_each(|call| keeps_meaning(module, "f", &|| arguments(module, call), LIMITS, pass))
}
