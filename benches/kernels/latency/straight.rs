//! Functions without branches, whose gradients are known.

use std::fmt::Write;

/// A statement: what it computes from values before it, by their numbers.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize, usize),
    Multiply(usize, usize),
    /// By a number.
    Scale(usize, f64),
}

/// A function of two numbers. Values 0 and 1 are its arguments, each other one that of a statement; the last is the result.
#[derive(Clone, Debug)]
pub(crate) struct Straight {
    /// Where it is differentiated.
    pub(crate) arguments: [f64; 2],
    steps: Vec<Step>,
    values: Vec<f64>,
}

/// Operands are among so many values before the statement.
const WINDOW: usize = 12;

/// The generator of the kernels' arguments.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

impl Straight {
    /// A function of n statements. It is chosen so that neither values nor derivatives grow: each value is a polynomial of
    /// low degree, and brought back to 1 where it is far from it.
    pub(crate) fn new(n: usize) -> Straight {
        let arguments = [0.75, 1.25];
        let (mut values, mut degrees) = (arguments.to_vec(), vec![1, 1]);
        let mut steps = Vec::with_capacity(n);
        let mut random = Random(12345);
        for _ in 0..n {
            let defined = values.len();
            let operand = |random: &mut Random| defined - 1 - random.below(defined.min(WINDOW));
            let (a, b) = (operand(&mut random), operand(&mut random));
            let step = match random.below(20) {
                0..2 => Step::Scale(random.below(2), 0.875),
                2..11 => Step::Add(a, b),
                _ if degrees[a] + degrees[b] <= 6 => Step::Multiply(a, b),
                _ => Step::Add(a, b),
            };
            let (value, degree) = match step {
                Step::Add(a, b) => (values[a] + values[b], degrees[a].max(degrees[b])),
                Step::Multiply(a, b) => (values[a] * values[b], degrees[a] + degrees[b]),
                Step::Scale(a, by) => (values[a] * by, degrees[a]),
            };
            // A product or sum that is far from 1 gives way to an operand that is brought back.
            let (step, value, degree) = match (0.125..8.0).contains(&value) {
                true => (step, value, degree),
                false => (Step::Scale(a, 1.0 / values[a]), 1.0, degrees[a]),
            };
            steps.push(step);
            values.push(value);
            degrees.push(degree);
        }
        Straight { arguments, steps, values }
    }

    /// The function as a listing.
    pub(crate) fn text(&self) -> String {
        let mut out = String::with_capacity(60 * self.steps.len());
        let name = |value: usize| match value {
            0 | 1 => format!("_{}", value + 2),
            value => format!("%{}", value - 1),
        };
        out.push_str("function straight(x::Float64, y::Float64)::Float64\n");
        for (i, step) in self.steps.iter().enumerate() {
            let (bar, number) = (if i == 0 { "1 ─" } else { "│  " }, i + 1);
            // Writing to a string cannot fail.
            let written = match *step {
                Step::Add(a, b) => {
                    writeln!(out, "{bar} %{number} = Base.add_float({}, {})::Float64", name(a), name(b))
                }
                Step::Multiply(a, b) => {
                    writeln!(out, "{bar} %{number} = Base.mul_float({}, {})::Float64", name(a), name(b))
                }
                Step::Scale(a, by) => writeln!(out, "{bar} %{number} = Base.mul_float({}, {by:?})::Float64", name(a)),
            };
            debug_assert!(written.is_ok());
        }
        out.push_str(&format!("└── return %{}\nend\n", self.steps.len()));
        out
    }

    /// The value and the two derivatives, by a sweep back.
    pub(crate) fn gradient(&self) -> (f64, [f64; 2]) {
        let mut adjoints = vec![0.0; self.values.len()];
        if let Some(last) = adjoints.last_mut() {
            *last = 1.0;
        }
        for (i, step) in self.steps.iter().enumerate().rev() {
            let adjoint = adjoints[i + 2];
            match *step {
                Step::Add(a, b) => {
                    adjoints[a] += adjoint;
                    adjoints[b] += adjoint;
                }
                Step::Multiply(a, b) => {
                    adjoints[a] += adjoint * self.values[b];
                    adjoints[b] += adjoint * self.values[a];
                }
                Step::Scale(a, by) => adjoints[a] += adjoint * by,
            }
        }
        (self.values.last().copied().unwrap_or(f64::NAN), [adjoints[0], adjoints[1]])
    }
}
