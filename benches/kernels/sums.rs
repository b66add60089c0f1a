//! A sum over 1000 numbers and a sum of their sines, in loops: where Mooncake takes 6.7 and 3.5 times as long as the
//! function, and Enzyme 1.06 and 1.8 times (each as it measures itself).

use std::time::Duration;

use bbkit::exec::native::Effort;

use super::compiled::{Arguments, programs};
use super::native::{Compiled, ENGINE};
use super::ours::Argument;
use super::rows::check;
use super::tape::Taped;
use super::{Failure, clock};

const SUM: &str = "
function sum(x::Vector{Float64}, c::Vector{Float64}, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => 0.0, #3 => %7)::Float64
│   %3 = φ (#1 => 1, #3 => %8)::Int64
│   %4 = Base.sle_int(%3, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.arrayref(true, x, %3)::Float64
│   %7 = Base.add_float(%2, %6)::Float64
│   %8 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─      return %2
end
";

const SINES: &str = "
function sumsin(x::Vector{Float64}, c::Vector{Float64}, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => 0.0, #3 => %8)::Float64
│   %3 = φ (#1 => 1, #3 => %9)::Int64
│   %4 = Base.sle_int(%3, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.arrayref(true, x, %3)::Float64
│   %7 = invoke Main.sin(%6::Float64)::Float64
│   %8 = Base.add_float(%2, %7)::Float64
│   %9 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─      return %2
end
";

/// How often contestants take turns, and how long each is measured at a time, in milliseconds.
const ROUNDS: usize = 10;
const TURN: u32 = 10;

/// Prints a line for each sum.
pub(crate) fn run() -> Result<(), Failure> {
    let n = 1000;
    let x: Vec<f64> = (0..n).map(|i| 0.5 + (i as f64 * 0.618_033_988_749_894_9) % 1.0).collect();
    println!("n = {n}; ours by the {ENGINE}\n");
    println!("{:<8} {:>10} {:>11} {:>13} {:>7} {:>7}", "", "primal µs", "our primal", "our gradient", "hand", "tape");
    let mut programs = programs()?;
    let sines: f64 = x.iter().map(|x| x.sin()).sum();
    let cosines: Vec<f64> = x.iter().map(|x| x.cos()).collect();
    for (name, text, value, partials) in [("sum", SUM, x.iter().sum(), vec![1.0; n]), ("sumsin", SINES, sines, cosines)]
    {
        let files = Arguments::write(name, n, &x, &[])?;
        let ours = Compiled::of_text(text, Effort::Full)?;
        let arguments = [Argument::Vector(x.clone()), Argument::Vector(Vec::new()), Argument::Integer(n)];
        let mut session = ours.session(&arguments)?;
        let taped = Taped::find(name).ok_or("a sum that the tape does not have")?;

        check(name, session.value()?, value)?;
        check(name, session.gradient()?, value)?;
        for (found, expected) in session.partials().iter().zip(&partials) {
            check(name, *found, *expected)?;
        }
        for (found, expected) in taped.gradient(&x, &[], n).1.iter().zip(&partials) {
            check(name, *found, *expected)?;
        }
        let checksum = kit::kernels::checksum(&partials);
        for program in &mut programs {
            check(program.flags, program.measure(false, &files, 0)?.value, value)?;
            if program.gradients {
                check(program.flags, program.measure(true, &files, 0)?.checksum, checksum)?;
            }
        }

        let [mut primal, mut hand, mut tape, mut ours, mut gradient] = [f64::INFINITY; 5];
        let turn = Duration::from_millis(TURN.into());
        for _ in 0..ROUNDS {
            for program in &mut programs {
                primal = primal.min(program.measure(false, &files, TURN)?.ns);
                if program.gradients {
                    hand = hand.min(program.measure(true, &files, TURN)?.ns);
                }
            }
            tape = tape.min(clock::least(turn, || drop(std::hint::black_box(taped.gradient(&x, &[], n)))));
            // It was right once; what fails later fails in no time.
            ours = ours.min(clock::least(turn, || drop(std::hint::black_box(session.value()))));
            gradient = gradient.min(clock::least(turn, || drop(std::hint::black_box(session.gradient()))));
        }
        let ratios = [ours, gradient, hand, tape].map(|ns| format!("{:.2}", ns / primal));
        let [ours, gradient, hand, tape] = ratios;
        println!("{name:<8} {:>10.3} {ours:>11} {gradient:>13} {hand:>7} {tape:>7}", primal / 1e3);
    }
    Ok(())
}
