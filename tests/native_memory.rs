//! Memory of native code: it is given back at the end of a round or of a call if nothing made there outlives it, and
//! only then.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::exec::native::{CallError, Program};
use bbkit::exec::{Limits, Machine, RunErrorKind, Value, first_difference};
use bbkit::{Engine, EngineError, RunOptions, run_with_output};
use kit::mutation_programs::mutation_program;
use kit::native::{Verdict, native_agrees, vector, verified};
use passes::reverse_mode::{Options, derive};

const LIMITS: Limits = Limits { steps: 10_000_000, memory: 1 << 24, depth: 100 };

/// Runs `f` on both engines for some rounds, and gives the most memory that it takes for few of them and for many.
fn memory(text: &str) -> [usize; 2] {
    let module = verified(text).unwrap_or_else(|error| panic!("{error}"));
    for rounds in [0, 1, 2, 7, 100] {
        let args = || vec![Value::from(rounds)];
        let verdict = native_agrees(&module, "f", &args, LIMITS, &|_| ()).unwrap_or_else(|broken| panic!("{broken}"));
        assert_eq!(verdict, Verdict::Same, "{text}");
    }
    [1000_i64, 10_000].map(|rounds| {
        let program = Program::compile(&module, &["f"], LIMITS).unwrap();
        program.call("f", &[Value::from(rounds)]).unwrap();
        program.most_memory()
    })
}

/// What a loop makes is given back.
fn is_flat(text: &str) {
    let [few, many] = memory(text);
    assert!(few == many && few > 0, "{few} bytes, then {many}\n{text}");
}

/// What a loop makes is kept.
fn grows(text: &str) {
    let [few, many] = memory(text);
    assert!(many > 5 * few, "{few} bytes, then {many}\n{text}");
}

/// The functions `row`, which makes an array of two numbers, `sum_of`, which adds them, and `cell`, which makes a
/// reference to an array.
const ROW: &str = "
function cell(n::Int64)::Base.RefValue{Vector{Float64}}
1 ─ %1 = Main.row(n)::Vector{Float64}
│   %2 = %new(Base.RefValue{Vector{Float64}}, %1)::Base.RefValue{Vector{Float64}}
└──      return %2
end
function row(n::Int64)::Vector{Float64}
1 ─ %1 = BBKit.new_array(Float64, 2)::Vector{Float64}
│   %2 = Base.sitofp(Float64, n)::Float64
│        Base.arrayset(true, %1, %2, 1)::Vector{Float64}
│        Base.arrayset(true, %1, 0.5, 2)::Vector{Float64}
└──      return %1
end
function sum_of(v::Vector{Float64})::Float64
1 ─ %1 = Base.arrayref(true, v, 1)::Float64
│   %2 = Base.arrayref(true, v, 2)::Float64
│   %3 = Base.add_float(%1, %2)::Float64
└──      return %3
end
";

/// `f`, a loop of `n` rounds, of which each makes an array `%6` and adds it to the sum `%3`. `%1` is what is made
/// before the loop; what a round does beside starts with `%10`.
fn looped(before: &str, round: &str, result: &str) -> String {
    format!(
        "{ROW}
function f(n::Int64)::Float64
1 ─ %1  = {before}
2 ┄ %2  = φ (#1 => 0, #3 => %9)::Int64
│   %3  = φ (#1 => 0.0, #3 => %8)::Float64
│   %4  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %4
3 ─ %6  = Main.row(%2)::Vector{{Float64}}
│   %7  = Main.sum_of(%6)::Float64
│   %8  = Base.add_float(%3, %7)::Float64
│   %9  = Base.add_int(%2, 1)::Int64
{round}
└──       goto #2
{result}
end
"
    )
}

#[test]
fn a_round_gives_back_what_it_makes() {
    is_flat(&looped("nothing::Nothing", "│         nothing::Nothing", "4 ─       return %3"));
    // Numbers may be kept, in an array from before the loop and on a stack that is made in the round.
    is_flat(&looped(
        "Main.row(3)::Vector{Float64}",
        "│         Base.arrayset(true, %1, %7, 2)::Vector{Float64}
│   %11 = BBKit.new_stack(Vector{Float64})::BBKit.Stack{Vector{Float64}}
│         BBKit.stack_push!(%11, %6)::Nothing
│         BBKit.stack_push!(%11, %1)::Nothing
│   %14 = BBKit.stack_pop!(%11)::Vector{Float64}
│         Base.arrayset(true, %14, %7, 1)::Vector{Float64}",
        "4 ─ %17 = Main.sum_of(%1)::Float64
│   %18 = Base.add_float(%3, %17)::Float64
└──       return %18",
    ));
    // An object from before the loop comes to hold another one from before.
    is_flat(&looped(
        "Main.cell(3)::Base.RefValue{Vector{Float64}}",
        "│   %10 = Base.getfield(%1, :x)::Vector{Float64}
│         Base.setfield!(%1, :x, %10)::Vector{Float64}",
        "4 ─ %13 = Base.getfield(%1, :x)::Vector{Float64}
│   %14 = Main.sum_of(%13)::Float64
│   %15 = Base.add_float(%3, %14)::Float64
└──       return %15",
    ));
}

#[test]
fn an_array_that_is_used_after_the_loop_is_kept() {
    // The last round's, which is not given back; those before are.
    is_flat(&format!(
        "{ROW}
function f(n::Int64)::Float64
1 ─       nothing::Nothing
2 ┄ %2  = φ (#1 => 0, #3 => %6)::Int64
│   %3  = Main.row(%2)::Vector{{Float64}}
│   %4  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %4
3 ─ %6  = Base.add_int(%2, 1)::Int64
└──       goto #2
4 ─ %8  = Main.row(100)::Vector{{Float64}}
│   %9  = Main.sum_of(%3)::Float64
│   %10 = Main.sum_of(%8)::Float64
│   %11 = Base.add_float(%9, %10)::Float64
└──       return %11
end
"
    ));
}

#[test]
fn loops_in_loops_give_back_what_they_make() {
    is_flat(&format!(
        "{ROW}
function f(n::Int64)::Float64
1 ─       nothing::Nothing
2 ┄ %2  = φ (#1 => 0, #6 => %18)::Int64
│   %3  = φ (#1 => 0.0, #6 => %17)::Float64
│   %4  = Base.slt_int(%2, n)::Bool
└──       goto #7 if not %4
3 ─ %6  = Main.row(%2)::Vector{{Float64}}
4 ┄ %7  = φ (#3 => 0, #5 => %14)::Int64
│   %8  = φ (#3 => %6, #5 => %12)::Vector{{Float64}}
│   %9  = Base.slt_int(%7, 3)::Bool
└──       goto #6 if not %9
5 ─ %11 = Main.sum_of(%8)::Float64
│   %12 = Main.row(%7)::Vector{{Float64}}
│         Base.arrayset(true, %12, %11, 2)::Vector{{Float64}}
│   %14 = Base.add_int(%7, 1)::Int64
└──       goto #4
6 ─ %16 = Main.sum_of(%8)::Float64
│   %17 = Base.add_float(%3, %16)::Float64
│   %18 = Base.add_int(%2, 1)::Int64
└──       goto #2
7 ─       return %3
end
"
    ));
}

#[test]
fn a_function_that_gives_numbers_gives_back_what_it_makes() {
    // The loop keeps what it makes itself, so that only the calls' objects are given back.
    let text = format!(
        "{ROW}
function norm(n::Int64)::Float64
1 ─ %1  = BBKit.new_array(Float64, 1000)::Vector{{Float64}}
│   %2  = Main.row(n)::Vector{{Float64}}
│   %3  = Main.sum_of(%2)::Float64
│   %4  = Base.arrayref(true, %1, 7)::Float64
│   %5  = Base.add_float(%3, %4)::Float64
└──       return %5
end
function f(n::Int64)::Float64
1 ─ %1  = BBKit.new_stack(Vector{{Float64}})::BBKit.Stack{{Vector{{Float64}}}}
2 ┄ %2  = φ (#1 => 0, #3 => %9)::Int64
│   %3  = φ (#1 => 0.0, #3 => %8)::Float64
│   %4  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %4
3 ─ %6  = Main.row(%2)::Vector{{Float64}}
│   %7  = Main.norm(%2)::Float64
│   %8  = Base.add_float(%3, %7)::Float64
│   %9  = Base.add_int(%2, 1)::Int64
│         BBKit.stack_push!(%1, %6)::Nothing
└──       goto #2
4 ─       return %3
end
"
    );
    let [_, many] = memory(&text);
    assert!(many < 8_000_000, "{many} bytes");
}

/// After the loop: the sum of an array that was kept, which this gives, after another one was made.
fn kept(how: &str) -> String {
    format!(
        "4 ─ %12 = {how}::Vector{{Float64}}
│   %13 = Main.row(100)::Vector{{Float64}}
│   %14 = Main.sum_of(%12)::Float64
│   %15 = Main.sum_of(%13)::Float64
│   %16 = Base.add_float(%14, %15)::Float64
└──       return %16"
    )
}

/// With one round more: there is at least one.
fn once_more(text: &str) -> String {
    text.replace("Base.slt_int(%2, n)", "Base.sle_int(%2, n)")
}

const ROWS: &str = "BBKit.new_array(Vector{Float64}, 1)::Vector{Vector{Float64}}";

#[test]
fn what_is_stored_in_an_object_from_before_is_kept() {
    let stored = |before: &str, round: &str, how: &str| grows(&once_more(&looped(before, round, &kept(how))));
    stored(ROWS, "│         Base.arrayset(true, %1, %6, 1)::Vector{Vector{Float64}}", "Base.arrayref(true, %1, 1)");
    let stack = "BBKit.new_stack(Vector{Float64})::BBKit.Stack{Vector{Float64}}";
    stored(stack, "│         BBKit.stack_push!(%1, %6)::Nothing", "BBKit.stack_pop!(%1)");
    let vector = "BBKit.new_array(Vector{Float64}, 0)::Vector{Vector{Float64}}";
    stored(vector, "│         Base.push!(%1, %6)::Vector{Vector{Float64}}", "Base.arrayref(true, %1, 1)");
    let reference = "Main.cell(50)::Base.RefValue{Vector{Float64}}";
    stored(reference, "│         Base.setfield!(%1, :x, %6)::Vector{Float64}", "Base.getfield(%1, :x)");
}

#[test]
fn what_a_function_stores_is_kept() {
    let text = looped(ROWS, "│         Main.keep(%1, %6)::Nothing", &kept("Base.arrayref(true, %1, 1)"));
    let keep = "
function keep(rows::Vector{Vector{Float64}}, row::Vector{Float64})::Nothing
1 ─      Base.arrayset(true, rows, row, 1)::Vector{Vector{Float64}}
└──      return nothing
end
";
    grows(&format!("{keep}{}", once_more(&text)));
    // It makes the array itself.
    let keep = "
function keep(rows::Vector{Vector{Float64}}, row::Vector{Float64})::Nothing
1 ─ %1 = Main.row(7)::Vector{Float64}
│        Base.arrayset(true, rows, %1, 1)::Vector{Vector{Float64}}
└──      return nothing
end
";
    grows(&format!("{keep}{}", once_more(&text)));
}

#[test]
fn numbers_on_a_stack_from_before_the_loop_are_kept() {
    // The stack gets more memory in rounds.
    let text = looped(
        "BBKit.new_stack(Float64)::BBKit.Stack{Float64}",
        "│         BBKit.stack_push!(%1, %7)::Nothing",
        "4 ─ %12 = BBKit.stack_length(%1)::Int64
│   %13 = Main.row(100)::Vector{Float64}
│   %14 = BBKit.stack_pop!(%1)::Float64
│   %15 = BBKit.stack_pop!(%1)::Float64
│   %16 = Base.add_float(%14, %15)::Float64
└──       return %16",
    );
    grows(&once_more(&text).replace("φ (#1 => 0, ", "φ (#1 => -1, "));
}

#[test]
fn what_is_in_cells_is_kept() {
    let held = "
enum Held
    one(Float64)
    many(Int64, Vector{Float64})
end
";
    let text = looped(
        "BBKit.new_array(Held, 1)::Vector{Held}",
        "│   %10 = BBKit.new_case(Held, :many, %2, %6)::Held
│         Base.arrayset(true, %1, %10, 1)::Vector{Held}",
        "4 ─ %13 = Base.arrayref(true, %1, 1)::Held
│   %14 = BBKit.payload(%13, :many, 2)::Vector{Float64}
│   %15 = Main.row(100)::Vector{Float64}
│   %16 = Main.sum_of(%14)::Float64
│   %17 = Main.sum_of(%15)::Float64
│   %18 = Base.add_float(%16, %17)::Float64
└──       return %18",
    );
    grows(&format!("{held}{}", once_more(&text)));
    let closure = "BBKit.Closure{Tuple{}, Float64}";
    let text = looped(
        &format!("BBKit.new_array({closure}, 1)::Vector{{{closure}}}"),
        &format!(
            "│   %10 = BBKit.partial_apply(Main.sum_of, %6)::{closure}
│         Base.arrayset(true, %1, %10, 1)::Vector{{{closure}}}"
        ),
        &format!(
            "4 ─ %13 = Base.arrayref(true, %1, 1)::{closure}
│   %14 = Main.row(100)::Vector{{Float64}}
│   %15 = %13()::Float64
│   %16 = Main.sum_of(%14)::Float64
│   %17 = Base.add_float(%15, %16)::Float64
└──       return %17"
        ),
    );
    grows(&once_more(&text));
}

#[test]
fn what_goes_around_the_loop_is_kept() {
    // Each round reads the array that the one before has made.
    let text = format!(
        "{ROW}
function f(n::Int64)::Float64
1 ─ %1  = Main.row(3)::Vector{{Float64}}
2 ┄ %2  = φ (#1 => 0, #3 => %9)::Int64
│   %3  = φ (#1 => %1, #3 => %6)::Vector{{Float64}}
│   %4  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %4
3 ─ %6  = Main.row(%2)::Vector{{Float64}}
│   %7  = Main.sum_of(%3)::Float64
│         Base.arrayset(true, %6, %7, 2)::Vector{{Float64}}
│   %9  = Base.add_int(%2, 1)::Int64
└──       goto #2
4 ─ %11 = Main.sum_of(%3)::Float64
└──       return %11
end
"
    );
    grows(&text);
    // In a tuple.
    let pair = "Tuple{Int64, Vector{Float64}}";
    let text = format!(
        "{ROW}
function f(n::Int64)::Float64
1 ─ %1  = Main.row(3)::Vector{{Float64}}
│   %2  = Core.tuple(0, %1)::{pair}
2 ┄ %3  = φ (#1 => %2, #3 => %12)::{pair}
│   %4  = Core.getfield(%3, 1)::Int64
│   %5  = Core.getfield(%3, 2)::Vector{{Float64}}
│   %6  = Base.slt_int(%4, n)::Bool
└──       goto #4 if not %6
3 ─ %8  = Main.row(%4)::Vector{{Float64}}
│   %9  = Main.sum_of(%5)::Float64
│         Base.arrayset(true, %8, %9, 2)::Vector{{Float64}}
│   %11 = Base.add_int(%4, 1)::Int64
│   %12 = Core.tuple(%11, %8)::{pair}
└──       goto #2
4 ─ %14 = Main.sum_of(%5)::Float64
└──       return %14
end
"
    );
    grows(&text);
}

#[test]
fn a_length_is_read_before_the_array_is_given_back() {
    // What a round or a function asks of an array is used only after that, when another one may lie there.
    let text = "
function size_of_new(n::Int64)::Int64
1 ─ %1 = BBKit.new_array(Float64, n, 3)::Matrix{Float64}
│   %2 = Base.arraysize(%1, 1)::Int64
│   %3 = Base.arraylen(%1)::Int64
│   %4 = Base.add_int(%2, %3)::Int64
└──      return %4
end
function f(n::Int64)::Int64
1 ─       nothing::Nothing
2 ┄ %2  = φ (#1 => 0, #3 => %13)::Int64
│   %3  = φ (#1 => 0, #3 => %10)::Int64
│   %4  = φ (#1 => 0, #3 => %12)::Int64
│   %5  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %5
3 ─ %7  = Base.add_int(%3, %2)::Int64
│   %8  = Base.and_int(%7, 7)::Int64
│   %9  = BBKit.new_array(Float64, %8)::Vector{Float64}
│   %10 = Base.arraylen(%9)::Int64
│   %11 = Main.size_of_new(%2)::Int64
│   %12 = Base.add_int(%4, %11)::Int64
│   %13 = Base.add_int(%2, 1)::Int64
└──       goto #2
4 ─ %15 = BBKit.new_array(Float64, 77)::Vector{Float64}
│   %16 = Base.arraylen(%15)::Int64
│   %17 = Base.add_int(%3, %4)::Int64
│   %18 = Base.add_int(%17, %16)::Int64
└──       return %18
end
";
    let module = verified(text).unwrap_or_else(|error| panic!("{error}"));
    for rounds in [0, 1, 2, 7, 100] {
        let args = || vec![Value::from(rounds)];
        let verdict = native_agrees(&module, "f", &args, LIMITS, &|_| ());
        assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same);
    }
}

#[test]
fn what_is_thrown_is_kept() {
    // The third round throws an exception that holds its array.
    let rounds = format!(
        "{ROW}
function rounds(n::Int64)::Float64
1 ─       nothing::Nothing
2 ┄ %2  = φ (#1 => 0, #3 => %10)::Int64
│   %3  = φ (#1 => 0.0, #3 => %9)::Float64
│   %4  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %4
3 ─ %6  = Main.row(%2)::Vector{{Float64}}
│   %7  = Base.add_int(%2, -1)::Int64
│   %8  = Base.arrayref(true, %6, %7)::Float64
│   %9  = Base.add_float(%3, %8)::Float64
│   %10 = Base.add_int(%2, 1)::Int64
└──       goto #2
4 ─       return %3
end
"
    );
    let alone = rounds.replace("function rounds", "function f");
    let caught = format!(
        "{rounds}
function f(n::Int64)::Float64
1 ─ %1  = enter #4
2 ─ %2  = Main.rounds(n)::Float64
└──       $(Expr(:leave, :(%1)))
3 ─       return %2
4 ┄ %5  = $(Expr(:the_exception))::Any
│   %6  = Main.row(n)::Vector{{Float64}}
│   %7  = Main.sum_of(%6)::Float64
│         throw(%5)::Union{{}}
└──       unreachable
end
"
    );
    for text in [alone, caught] {
        let module = verified(&text).unwrap_or_else(|error| panic!("{error}"));
        for rounds in 0..6 {
            let args = || vec![Value::from(rounds)];
            let verdict = native_agrees(&module, "f", &args, LIMITS, &|_| ());
            assert_eq!(verdict.unwrap_or_else(|broken| panic!("{broken}")), Verdict::Same, "{text}");
        }
    }
}

#[test]
fn random_programs_and_their_gradients_do_what_they_do_in_the_interpreter() {
    // They make arrays in loops, carry them and store them in one another.
    let limits = Limits { steps: 100_000, memory: 1 << 24, depth: 100 };
    let mut same = 0;
    for seed in 0..200 {
        let bytes = kit::seeds::bytes(seed);
        let Ok(program) = mutation_program(&mut arbitrary::Unstructured::new(&bytes)) else { continue };
        let gradient = |checkpoint| {
            let mut module = bbkit::to_bbcode(&program.module).unwrap();
            let derivative = derive(&mut module, &"f".into(), &Options { checkpoint, ..Options::default() }).ok()?;
            Some((bbkit::to_ircode(&module).unwrap(), derivative.names.value_and_gradient))
        };
        let derived = [false, true].into_iter().filter_map(gradient);
        for (module, name) in derived.chain([(program.module.clone(), "f".into())]) {
            let verdict = native_agrees(&module, &name, &|| program.args(), limits, &|_| ());
            let verdict = verdict.unwrap_or_else(|broken| panic!("seed {seed}, {name}: {broken}"));
            same += usize::from(verdict == Verdict::Same);
        }
    }
    assert!(same > 100, "{same}");
}

/// Value and gradient of the logistic map over so many rounds by native code with checkpoints, and the most memory
/// taken.
fn logistic(rounds: i64, checkpoint: bool) -> (Value, usize) {
    let text = "
function f(x::Float64, r::Float64, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => x, #3 => %8)::Float64
│   %3 = φ (#1 => 0, #3 => %9)::Int64
│   %4 = Base.slt_int(%3, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.sub_float(1.0, %2)::Float64
│   %7 = Base.mul_float(%2, %6)::Float64
│   %8 = Base.mul_float(r, %7)::Float64
│   %9 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─      return %2
end
";
    let mut module = bbkit::to_bbcode(&verified(text).unwrap()).unwrap();
    let derivative = derive(&mut module, &"f".into(), &Options { checkpoint, ..Options::default() }).unwrap();
    let entry = &derivative.names.value_and_gradient;
    let program = Program::compile(&bbkit::to_ircode(&module).unwrap(), &[entry], Limits::default()).unwrap();
    let result = program.call(entry, &[Value::from(0.4), Value::from(2.9), Value::from(rounds)]).unwrap();
    (result, program.most_memory())
}

#[test]
fn with_checkpoints_memory_grows_as_the_root_of_the_number_of_rounds() {
    let memory: Vec<usize> = [10_000, 100_000, 1_000_000].map(|rounds| logistic(rounds, true).1).into();
    // By √10 each time, and by 4 at most as stacks have room for twice as much as is on them.
    assert!(memory[1] <= 4 * memory[0] && memory[2] <= 13 * memory[0] && memory[2] < 500_000, "{memory:?}");
    let (with, few) = logistic(100_000, true);
    let (without, many) = logistic(100_000, false);
    assert_eq!(first_difference(&[with], &[without]), None);
    assert!(many > 10 * few, "{few} bytes with checkpoints, {many} without");
}

/// A loop with a long body in a round that makes an array, out of which control goes straight to the next round. Both
/// names of what it changes are one array, so that the loop runs as it is written.
#[test]
fn what_a_round_makes_is_given_back_behind_a_long_loop() {
    let mut body = vec!["%15 = Base.arrayref(true, %2, %13)::Float64".to_owned()];
    for number in 15..135 {
        let by = if number % 2 == 0 { "0.5" } else { "1.75" };
        body.push(format!("%{} = Base.mul_float(%{number}, {by})::Float64", number + 1));
    }
    is_flat(&format!(
        "{ROW}
function f(n::Int64)::Float64
1 ─ %1  = Main.cell(1)::Base.RefValue{{Vector{{Float64}}}}
│   %2  = Base.getfield(%1, :x)::Vector{{Float64}}
│   %3  = Base.getfield(%1, :x)::Vector{{Float64}}
└──       goto #2
2 ┄ %5  = φ (#1 => 0, #4 => %9)::Int64
│   %6  = φ (#1 => 0.0, #4 => %137)::Float64
│   %7  = Base.slt_int(%5, n)::Bool
└──       goto #6 if not %7
3 ─ %9  = Base.add_int(%5, 1)::Int64
│   %10 = Main.row(%5)::Vector{{Float64}}
│   %11 = Main.sum_of(%10)::Float64
└──       goto #4
4 ┄ %13 = φ (#3 => 1, #5 => %138)::Int64
│   %14 = φ (#3 => %11, #5 => %137)::Float64
│   {}
│         Base.arrayset(true, %3, %135, %13)::Vector{{Float64}}
│   %137 = Base.add_float(%14, %135)::Float64
│   %138 = Base.add_int(%13, 1)::Int64
│   %139 = Base.ne_int(%13, 2)::Bool
└──       goto #2 if not %139
5 ─       goto #4
6 ─       return %6
end
",
        body.join("\n│   ")
    ));
}

/// Each round keeps an array in an object that is older, and lets go of the one before: machine code frees it when the
/// call is over.
#[test]
fn the_interpreter_may_do_with_less_memory() {
    let text = "
mutable struct Holder
    kept::Vector{Float64}
end

function f(v::Vector{Float64}, n::Int64)::Float64
1 ─      Base.println(n)::Nothing
│        Base.arrayset(true, v, 2.5, 1)::Vector{Float64}
│   %3 = Base.new_array(Float64, 1)::Vector{Float64}
│   %4 = %new(Main.Holder, %3)::Holder
└──      goto #2
2 ─ %6 = φ (#1 => 0, #3 => %7)::Int64
│   %7 = Base.add_int(%6, 1)::Int64
│   %8 = Base.new_array(Float64, 1000)::Vector{Float64}
│        Base.setfield!(%4, :kept, %8)::Vector{Float64}
│   %10 = Base.slt_int(%7, n)::Bool
└──      goto #4 if not %10
3 ─      goto #2
4 ─ %13 = Base.arrayref(true, v, 1)::Float64
└──      return %13
end
";
    let module = verified(text).unwrap_or_else(|error| panic!("{error}"));
    let run = |engine: Engine| {
        let v = vector(&Machine::new(&module), &[0.5]);
        let mut printed = String::new();
        let options = RunOptions::default().engine(engine).limits(Limits { memory: 1 << 20, ..Limits::default() });
        let done =
            run_with_output(&module, "f", &[v.clone(), Value::from(1000)], &options, &mut |text| printed += text);
        (done, v.to_string(), printed)
    };
    let (done, v, printed) = run(Engine::Native);
    let Err(EngineError::Run(error)) = done else { panic!("it fits") };
    assert!(matches!(error.kind, RunErrorKind::MemoryLimit(_)), "{error}");
    assert_eq!((v.as_str(), printed.as_str()), ("[0.5]", "1000\n"));
    let (done, v, printed) = run(Engine::Auto);
    let (value, ran) = done.unwrap();
    assert_eq!((value.to_string().as_str(), v.as_str(), printed.as_str()), ("2.5", "[2.5]", "1000\n"));
    assert_eq!(ran.engine, Engine::Interpreter);
    assert!(ran.why.unwrap().contains("memory"));
}

/// Each round catches an exception that holds an array of its own, of which the interpreter has a copy until nobody can
/// ask for it.
#[test]
fn what_caught_exceptions_held_is_forgotten() {
    let text = "
function f(m::Int64, n::Int64)::Int64
1 ─      goto #2
2 ─ %2 = φ (#1 => 1, #7 => %12)::Int64
│   %3 = Base.new_array(Float64, m)::Vector{Float64}
└── %4 = enter #5
3 ─ %5 = Base.arrayref(true, %3, 0)::Float64
└──      $(Expr(:leave, :(%4)))
4 ─      return 0
5 ─      $(Expr(:pop_exception, :(%4)))
│   %9 = (%2 === n)::Bool
└──      goto #7 if not %9
6 ─      return 5
7 ─ %12 = Base.add_int(%2, 1)::Int64
└──      goto #2
end
";
    let module = verified(text).unwrap_or_else(|error| panic!("{error}"));
    // 800 bytes an array in machine code, and twice as much in the interpreter.
    let program = Program::compile(&module, &["f"], Limits { memory: 1 << 20, ..Limits::default() }).unwrap();
    assert_eq!(program.call("f", &[Value::from(100), Value::from(1000)]).unwrap().to_string(), "5");
    assert!(program.most_memory() > 800_000);
}

/// What is larger than the memory of a call is left to the interpreter before anything is changed, be it passed to the
/// call or left by it.
#[test]
fn large_arguments_change_as_a_whole() {
    let text = "
function f(v::Vector{Float64}, w::Vector{Float64}, x::Float64)::Float64
1 ─      Base.arrayset(true, v, x, 1)::Vector{Float64}
│   %2 = Base.arrayref(true, w, 1)::Float64
└──      return %2
end
";
    let module = verified(text).unwrap_or_else(|error| panic!("{error}"));
    let limits = Limits { memory: 1 << 20, ..Limits::default() };
    let program = Program::compile(&module, &["f"], limits).unwrap();
    // As numbers in registers they are less than as values of the interpreter.
    for length in [80_000, 200_000] {
        let machine = Machine::new(&module);
        let args = [vector(&machine, &[0.5]), vector(&machine, &vec![0.25; length]), Value::from(2.5)];
        assert!(matches!(program.call("f", &args), Err(CallError::OutOfMemory(_))), "{length}");
        assert_eq!(args[0].to_string(), "[0.5]", "{length}");
        let options = RunOptions::default().engine(Engine::Auto).limits(limits);
        let (value, ran) = run_with_output(&module, "f", &args, &options, &mut |_| ()).unwrap();
        assert_eq!((value.to_string().as_str(), args[0].to_string().as_str()), ("0.25", "[2.5]"), "{length}");
        assert_eq!(ran.engine, Engine::Interpreter);
    }
}
