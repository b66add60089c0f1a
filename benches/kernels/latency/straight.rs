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

/// A function of two numbers. Values 0 and 1 are its arguments, each other one that of a statement; the last is the
/// result.
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

/// A function while it is made.
struct Making {
    random: Random,
    steps: Vec<Step>,
    values: Vec<f64>,
    /// How many percent each value changes by if both arguments change by one: about, and at least.
    elasticities: Vec<f64>,
    used: Vec<bool>,
}

impl Making {
    /// A value of the window: the oldest, if nothing has used it yet, as nothing would later.
    fn operand(&mut self) -> usize {
        let window = self.values.len().min(WINDOW);
        let oldest = self.values.len() - window;
        if self.used[oldest] { oldest + self.random.below(window) } else { oldest }
    }

    /// The next step, such that neither values nor derivatives grow: what would be too large or too small gives way to
    /// an operand that is brought back to 1, and products are of what does not change fast.
    fn step(&mut self) -> Step {
        let (a, b) = (self.operand(), self.values.len() - 1 - self.random.below(self.values.len().min(WINDOW)));
        let step = match self.random.below(20) {
            0 if self.used[a] => Step::Scale(self.random.below(2), 0.875),
            0..10 => Step::Add(a, b),
            _ if self.elasticities[a] + self.elasticities[b] <= 8.0 => Step::Multiply(a, b),
            _ => Step::Add(a, b),
        };
        match (0.01..100.0).contains(&self.value(step)) {
            true => step,
            false => Step::Scale(a, 1.0 / self.values[a]),
        }
    }

    fn value(&self, step: Step) -> f64 {
        match step {
            Step::Add(a, b) => self.values[a] + self.values[b],
            Step::Multiply(a, b) => self.values[a] * self.values[b],
            Step::Scale(a, by) => self.values[a] * by,
        }
    }

    fn push(&mut self, step: Step) {
        let value = self.value(step);
        let (elasticities, values) = (&self.elasticities, &self.values);
        let (elasticity, operands) = match step {
            Step::Add(a, b) => ((values[a] * elasticities[a] + values[b] * elasticities[b]) / value, [a, b]),
            Step::Multiply(a, b) => (elasticities[a] + elasticities[b], [a, b]),
            Step::Scale(a, _) => (elasticities[a], [a, a]),
        };
        operands.into_iter().for_each(|operand| self.used[operand] = true);
        self.steps.push(step);
        self.values.push(value);
        self.elasticities.push(elasticity);
        self.used.push(false);
    }

    /// The two oldest values that nothing uses, if there are two.
    fn unused(&self) -> (usize, Option<[usize; 2]>) {
        let from = self.values.len().saturating_sub(2 * WINDOW);
        let unused: Vec<usize> = (from..self.values.len()).filter(|&value| !self.used[value]).collect();
        (unused.len(), unused.first().zip(unused.get(1)).map(|(&a, &b)| [a, b]))
    }
}

impl Straight {
    /// A function of n statements, all of which the result depends on.
    pub(crate) fn new(n: usize) -> Straight {
        let arguments = [0.75, 1.25];
        let mut making = Making {
            random: Random(12345),
            steps: Vec::with_capacity(n),
            values: arguments.to_vec(),
            elasticities: vec![1.0, 1.0],
            used: vec![false, false],
        };
        for i in 0..n {
            // The last steps add up what is left.
            let step = match making.unused() {
                (unused, Some([a, b])) if unused > n - i => Step::Add(a, b),
                _ => making.step(),
            };
            making.push(step);
        }
        Straight { arguments, steps: making.steps, values: making.values }
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
