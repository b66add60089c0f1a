//! Loops of independent rounds: which they are, and that it makes no difference to the bits of the gradient.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbkit::exec::{Machine, Value};
use bbkit::ircode::{IRCode, Module, Type, parse_module};
use bbkit::passes::reverse_mode::{Options, derive};
use bbkit::{Input, Savings};
use kit::independent_rounds::{rounds_keep_bits, rounds_keep_sums};
use kit::laws::Broken;
use kit::seeds::for_each;
use kit::sums::{SumOfRounds, sum_of_rounds};

fn file() -> Module<IRCode> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grad/independent_rounds.ir");
    Input::read(path).unwrap().module
}

/// How many loops there are in the function that gives the value and the gradient.
fn loops_of_gradient(module: &Module<IRCode>, name: &str, options: &Options) -> usize {
    let mut module = bbkit::to_bbcode(module).unwrap();
    let before = module.functions().len();
    let names = derive(&mut module, &name.into(), options).unwrap().names;
    for function in module.functions() {
        function.body.verify().unwrap_or_else(|violations| panic!("{}: {violations}", function.name));
    }
    assert_eq!(module.functions().len(), before + 3, "of rounds nothing is left");
    module.function(&names.value_and_gradient).unwrap().body.cfg().loops().iter().len()
}

#[test]
fn loops_of_independent_rounds_are_gone_through_once() {
    let module = file();
    let loops = |name: &str, reassociate: bool| {
        loops_of_gradient(&module, name, &Options { reassociate, ..Options::default() })
    };
    for name in ["sum_of_squares", "branches", "guarded", "diagonal"] {
        assert_eq!(loops(name, false), 1, "{name}");
    }
    // The two vectors may be one, of which a round then reads what another reads, too.
    assert_eq!(loops("pairs", false), 2);
    assert_eq!(loops("pairs", true), 1);
    let of_one = Options { with_respect_to: Some(vec![2]), ..Options::default() };
    assert_eq!(loops_of_gradient(&module, "pairs", &of_one), 1);
    assert_eq!(loops("two_loops", false), 2);
    // Rounds that read the same numbers.
    assert_eq!(loops("neighbours", false), 2);
    assert_eq!(loops("neighbours", true), 1);
    // The result depends on something else than the loop, or the seed of the sum on the sum.
    assert_eq!(loops("tests_first", true), 2);
    assert_eq!(loops("of_no_constant", true), 2);
    let without = Savings::default().without("independent-rounds").unwrap();
    assert_eq!(loops_of_gradient(&module, "branches", &Options { savings: without, ..Options::default() }), 2);
}

/// With respect to the vector alone the scale is a number like any other.
#[test]
fn a_scale_that_is_not_wanted_is_known_before_the_loop() {
    let options = Options { with_respect_to: Some(vec![2]), ..Options::default() };
    assert_eq!(loops_of_gradient(&file(), "tests_first", &options), 1);
}

/// Σ (a xᵢ − b)² in another order: the sums for a and b are made on the way forwards. By hand: Σ 2 (a xᵢ − b) xᵢ and −Σ
/// 2 (a xᵢ − b).
#[test]
fn sums_for_numbers_are_made_on_the_way_forwards_if_they_may() {
    let text = "
function squares(a::Float64, x::Vector{Float64}, b::Float64)::Float64
1 ─ %1  = Base.arraylen(x)::Int64
└──       goto #2
2 ┄ %3  = φ (#1 => 0.0, #3 => %11)::Float64
│   %4  = φ (#1 => 1, #3 => %12)::Int64
│   %5  = Base.sle_int(%4, %1)::Bool
└──       goto #4 if not %5
3 ─ %7  = Base.getindex(x, %4)::Float64
│   %8  = Base.mul_float(a, %7)::Float64
│   %9  = Base.sub_float(%8, b)::Float64
│   %10 = Base.mul_float(%9, %9)::Float64
│   %11 = Base.add_float(%3, %10)::Float64
│   %12 = Base.add_int(%4, 1)::Int64
└──       goto #2
4 ─       return %3
end
";
    let module = parse_module(text).unwrap().module;
    assert_eq!(loops_of_gradient(&module, "squares", &Options::default()), 2);
    let options = Options { reassociate: true, ..Options::default() };
    assert_eq!(loops_of_gradient(&module, "squares", &options), 1);
    let mut derived = bbkit::to_bbcode(&module).unwrap();
    let names = derive(&mut derived, &"squares".into(), &options).unwrap().names;
    let derived = bbkit::to_ircode(&derived).unwrap();
    let mut machine = Machine::new(&derived);
    let x = machine.array(Type::FLOAT64, vec![3], [1.0, 2.0, 4.0].map(Value::from).to_vec()).unwrap();
    // Residuals 1, 3 and 7.
    let result = machine.call(&names.value_and_gradient, &[2.0.into(), x, 1.0.into()]).unwrap();
    assert_eq!(result.to_string(), "(59.0, 70.0, [4.0, 12.0, 28.0], -22.0)");
}

/// Rounds that are reversed one by one give the bits that a loop backwards gives. Where rounds meet they need not: that
/// is what the check finds if it is not asked.
#[test]
fn rounds_one_by_one_give_the_same_bits() {
    let (all, joined, differ) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let check = |made: &SumOfRounds| -> Result<(), Broken> {
        for wanted in [[2].as_slice(), &[2, 3], &[2, 3, 4]] {
            all.set(all.get() + 1);
            joined.set(joined.get() + usize::from(rounds_keep_bits(made, wanted, false)?));
            differ.set(differ.get() + usize::from(rounds_keep_bits(made, wanted, true).is_err()));
            rounds_keep_sums(made, wanted)?;
        }
        Ok(())
    };
    for_each(400, sum_of_rounds, check).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(all.get(), 1200, "some functions were not made");
    assert!(joined.get() > 60, "only {} were joined", joined.get());
    assert!(differ.get() > 20, "only {} differ in another order", differ.get());
}
