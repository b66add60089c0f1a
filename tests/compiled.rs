//! Functions and derivatives as machine code, called on slices: the kernels against the gradients derived by hand, the
//! modes against the interpreter, and what a call must not do.

#![cfg(feature = "native")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bbkit::compiled::{Argument, CallError, CompileError, Effort, Gradient, Hvp, Jvp, Vjp};
use bbkit::exec::{Limits, Machine, RunErrorKind, Value};
use bbkit::ircode::{IRCode, Module, Scalar, Type, from_json, parse_module};
use bbkit::{Differentiate, Savings};
use kit::kernels::{Inputs, KERNELS, Kernel, inputs};
use kit::targets::compiled_agrees;

/// A size for each kernel that takes little time.
fn size(kernel: &Kernel) -> usize {
    match kernel.name {
        "fsub" | "ba" | "gmm" | "mlp" => 12,
        _ => 50,
    }
}

/// What Julia made of a kernel, and what its function is called there.
fn exported(kernel: &Kernel) -> (Module<IRCode>, String) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels"));
    let text = fs::read_to_string(folder.join(format!("{}.json", kernel.name))).unwrap();
    let module: Module<IRCode> = from_json(&text).unwrap();
    let name = module.functions()[0].name.to_string();
    (module, name)
}

fn module_of(text: &str) -> Module<IRCode> {
    parse_module(text).unwrap().module
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

/// Whether one is the other but for rounding. A partial derivative that is small because larger numbers cancel is as
/// exact as those.
fn assert_close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let noise = 1e-14 * expected.iter().fold(0.0_f64, |a, g| a.max(g.abs()));
    for (i, (&a, &b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-10 * b.abs() + noise, "{what}: [{i}] is {a}, expected {b}");
    }
}

/// A direction.
fn along(length: usize) -> Vec<f64> {
    (0..length).map(|i| ((i % 7) as f64 - 3.0) / 3.0).collect()
}

/// The arguments of a kernel for the interpreter.
fn values(machine: &Machine<'_>, inputs: &Inputs, n: usize) -> Vec<Value> {
    let vector = |numbers: &[f64]| {
        machine.array(Type::FLOAT64, vec![numbers.len()], numbers.iter().map(|&x| Value::from(x)).collect()).unwrap()
    };
    vec![vector(&inputs.x), vector(&inputs.c), Value::from(n as i64)]
}

fn floats(value: &Value) -> Vec<f64> {
    value.array_elements().unwrap().iter().map(|x| x.as_float().unwrap()).collect()
}

#[test]
fn the_kernels_have_their_values_and_gradients() {
    for kernel in &KERNELS {
        let n = size(kernel);
        let Inputs { x, c } = inputs(kernel, n);
        let (module, name) = exported(kernel);
        let primal = module.primal(&name).compile().unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        let value = primal.call((&x, &c, n as i64)).unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        assert!(close(value.float(0).unwrap(), (kernel.value)(&x, &c, n), 1e-12), "{}: {value:?}", kernel.name);
        let mut expected = vec![0.0; x.len()];
        let expected_value = (kernel.gradient)(&x, &c, n, &mut expected);
        for reassociate in [false, true] {
            let gradient = module.gradient(&name).wrt([0]).reassociate(reassociate).compile();
            let gradient = gradient.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
            // What the slice held does not matter.
            let mut dx = vec![f64::NAN; x.len()];
            for call in ["first", "second"] {
                let what = format!("{} {call}, reassociated: {reassociate}", kernel.name);
                let value = gradient.call((&x, &c, n as i64), &mut dx);
                let value = value.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(close(value, expected_value, 1e-12), "{what}: {value}, expected {expected_value}");
                assert_close(&what, &dx, &expected);
            }
        }
    }
}

/// Checkpointed, without the techniques that make derivatives small, with little effort: the same bits.
#[test]
fn how_a_gradient_is_computed_makes_no_difference() {
    for kernel in &KERNELS {
        let n = size(kernel);
        let Inputs { x, c } = inputs(kernel, n);
        let (module, name) = exported(kernel);
        let gradient = |checkpoint, savings, effort| {
            let compiled = module.gradient(&name).wrt([0]).checkpoint(checkpoint).savings(savings);
            let compiled = compiled.effort(effort).compile();
            let compiled = compiled.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
            let mut dx = vec![f64::NAN; x.len()];
            let value = compiled.call((&x, &c, n as i64), &mut dx).unwrap();
            (value.to_bits(), dx.into_iter().map(f64::to_bits).collect::<Vec<_>>())
        };
        let plain = gradient(false, Savings::default(), Effort::Full);
        assert_eq!(gradient(true, Savings::default(), Effort::Full), plain, "{} checkpointed", kernel.name);
        assert_eq!(gradient(false, Savings::none(), Effort::Full), plain, "{} without savings", kernel.name);
        assert_eq!(gradient(false, Savings::default(), Effort::Quick), plain, "{} with little effort", kernel.name);
    }
}

#[test]
fn code_that_gets_faster_while_it_is_called_gives_the_same() {
    for kernel in &KERNELS {
        let n = size(kernel);
        let Inputs { x, c } = inputs(kernel, n);
        let (module, name) = exported(kernel);
        let builder = || module.gradient(&name).wrt([0]);
        let called = |gradient: &Gradient| {
            let mut dx = vec![f64::NAN; x.len()];
            let value = gradient.call((&x, &c, n as i64), &mut dx).unwrap();
            (value.to_bits(), dx.into_iter().map(f64::to_bits).collect::<Vec<_>>())
        };
        let expected = called(&builder().effort(Effort::Full).compile().unwrap());
        let tiered = builder().compile_tiered().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // One thread calls while the code is replaced, and one waits for that.
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    assert_eq!(called(&tiered), expected, "{}, quick", kernel.name);
                }
            });
            scope.spawn(|| {
                tiered.wait();
                done.store(true, Ordering::Release);
            });
        });
        assert!(tiered.is_full(), "{}", kernel.name);
        assert_eq!(called(&tiered), expected, "{}, full", kernel.name);
    }
    // Dropped before the thread is done, and with nothing to compile.
    let (module, name) = exported(&KERNELS[0]);
    drop(module.gradient(&name).wrt([0]).compile_tiered().unwrap());
    let missing = module.gradient("missing").compile_tiered();
    assert!(matches!(missing, Err(CompileError::NoSuchFunction(name)) if name == *"missing"));
}

#[test]
fn the_second_call_takes_no_memory() {
    for (kernel, effort) in KERNELS.iter().flat_map(|kernel| [(kernel, Effort::Full), (kernel, Effort::Quick)]) {
        let n = size(kernel);
        let Inputs { x, c } = inputs(kernel, n);
        let (module, name) = exported(kernel);
        let gradient = module.gradient(&name).wrt([0]).effort(effort).compile().unwrap();
        let mut dx = vec![0.0; x.len()];
        gradient.call((&x, &c, n as i64), &mut dx).unwrap();
        let first = gradient.most_memory();
        for _ in 0..3 {
            gradient.call((&x, &c, n as i64), &mut dx).unwrap();
        }
        assert_eq!(gradient.most_memory(), first, "{} {effort:?}", kernel.name);
    }
}

#[test]
fn a_jvp_is_the_gradient_times_the_direction() {
    for kernel in &KERNELS {
        let n = size(kernel);
        let Inputs { x, c } = inputs(kernel, n);
        let (module, name) = exported(kernel);
        let jvp = module.jvp(&name).wrt([0]).compile().unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        let direction = along(x.len());
        let (value, tangent) = jvp.call((&x, &c, n as i64), &direction).unwrap();
        let mut gradient = vec![0.0; x.len()];
        let expected = (kernel.gradient)(&x, &c, n, &mut gradient);
        assert!(close(value, expected, 1e-12), "{}: {value}, expected {expected}", kernel.name);
        let product: f64 = gradient.iter().zip(&direction).map(|(a, b)| a * b).sum();
        let scale: f64 = gradient.iter().zip(&direction).map(|(a, b)| (a * b).abs()).sum();
        assert!((tangent - product).abs() <= 1e-10 * scale, "{}: {tangent}, expected {product}", kernel.name);
    }
}

#[test]
fn a_pullback_can_be_called_later() {
    for kernel in &KERNELS {
        let n = size(kernel);
        let Inputs { x, c } = inputs(kernel, n);
        let (module, name) = exported(kernel);
        let vjp = module.vjp(&name).wrt([0]).compile().unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        let mut expected = vec![0.0; x.len()];
        let expected_value = (kernel.gradient)(&x, &c, n, &mut expected);
        let mut pullback = vjp.call((&x, &c, n as i64)).unwrap();
        // Another call in between uses memory of its own.
        let other = vjp.call((&vec![0.5; x.len()], &c, n as i64));
        assert!(close(pullback.value()[0], expected_value, 1e-12), "{}: {:?}", kernel.name, pullback.value());
        drop(other);
        let mut dx = vec![f64::NAN; x.len()];
        pullback.call(&[2.0], &mut dx).unwrap();
        let doubled: Vec<f64> = expected.iter().map(|g| 2.0 * g).collect();
        assert_close(kernel.name, &dx, &doubled);
    }
}

#[test]
fn products_with_the_hessian_are_those_of_the_interpreter() {
    for kernel in &KERNELS {
        let n = size(kernel).min(12);
        let given = inputs(kernel, n);
        let (module, name) = exported(kernel);
        let direction = along(given.x.len());
        let machine = Machine::new(&module);
        let args = values(&machine, &given, n);
        let direction_values = values(&machine, &Inputs { x: direction.clone(), c: vec![0.0; given.c.len()] }, n);
        let vector = vec![direction_values[0].clone(), direction_values[1].clone(), Value::Nothing];
        let expected = bbkit::hvp(&module, &name, &args, &vector, Limits::default()).unwrap();
        let hvp = module.hvp(&name).wrt([0]).compile().unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        let (mut gradient, mut product) = (vec![f64::NAN; given.x.len()], vec![f64::NAN; given.x.len()]);
        let value = hvp.call((&given.x, &given.c, n as i64), &direction, &mut gradient, &mut product).unwrap();
        assert!(close(value, expected.value.as_float().unwrap(), 1e-14), "{}: {value}", kernel.name);
        assert_close(kernel.name, &gradient, &floats(&expected.gradient[0]));
        assert_close(kernel.name, &product, &floats(&expected.product[0]));
    }
}

const WEIGHTED: &str = "
struct Weights
    a::Float64
    b::Tuple{Float64, Float64}
end
function weighted(v::Matrix{Float64}, w::Weights, x::Float64, n::Int64)::Float64
1 ─ %1 = Base.getindex(v, 2, 1)::Float64
│   %2 = Base.getfield(w, :a)::Float64
│   %3 = Base.getfield(w, :b)::Tuple{Float64, Float64}
│   %4 = Base.getfield(%3, 2)::Float64
│   %5 = Base.mul_float(%1, %2)::Float64
│   %6 = Base.mul_float(%4, x)::Float64
│   %7 = Base.add_float(%5, %6)::Float64
└──      return %7
end
";

/// v₂₁·a + b₂·x: of a matrix, a struct and a number, in the order that is asked for.
#[test]
fn matrices_structs_and_numbers_have_gradients() {
    let module = module_of(WEIGHTED);
    let v = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let args = || {
        [
            Argument::Array(&v, &[2, 3]),
            Argument::Fields(&[10.0, 20.0, 30.0]),
            Argument::Float64(0.5),
            Argument::Int64(7),
        ]
    };
    let (mut dv, mut dw, mut dx) = ([f64::NAN; 6], [f64::NAN; 3], f64::NAN);
    let gradient = module.gradient("weighted").wrt([2, 0, 1]).compile().unwrap();
    assert_eq!(gradient.call(args(), (&mut dx, &mut dv, &mut dw)).unwrap(), 35.0);
    assert_eq!((dv, dw, dx), ([0.0, 10.0, 0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.5], 30.0));
    // Without wrt, all that there are, in the order of the arguments.
    let gradient = module.gradient("weighted").compile().unwrap();
    (dv, dw, dx) = ([f64::NAN; 6], [f64::NAN; 3], f64::NAN);
    assert_eq!(gradient.call(args(), (&mut dv, &mut dw, &mut dx)).unwrap(), 35.0);
    assert_eq!((dv, dw, dx), ([0.0, 10.0, 0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.5], 30.0));
    let jvp = module.jvp("weighted").wrt([1, 0]).compile().unwrap();
    let tangents = [Argument::Fields(&[1.0, 0.0, 100.0]), Argument::Array(&[0.0, 7.0, 0.0, 0.0, 0.0, 0.0], &[2, 3])];
    assert_eq!(jvp.call(args(), tangents).unwrap(), (35.0, 2.0 + 50.0 + 70.0));
    let hvp = module.hvp("weighted").wrt([2, 1]).compile().unwrap();
    let (mut hx, mut hw) = (f64::NAN, [f64::NAN; 3]);
    let vector = [Argument::Float64(1.0), Argument::Fields(&[0.0, 0.0, 3.0])];
    assert_eq!(hvp.call(args(), vector, (&mut dx, &mut dw), (&mut hx, &mut hw)).unwrap(), 35.0);
    assert_eq!((dx, dw, hx, hw), (30.0, [2.0, 0.0, 0.5], 3.0, [0.0, 0.0, 1.0]));
    let vjp = module.vjp("weighted").wrt([2, 0, 1]).compile().unwrap();
    let mut pullback = vjp.call(args()).unwrap();
    for seed in [1.0, 10.0] {
        pullback.call(&[seed], (&mut dx, &mut dv, &mut dw)).unwrap();
        assert_eq!((dv[1], dw, dx), (10.0 * seed, [2.0 * seed, 0.0, 0.5 * seed], 30.0 * seed));
    }
}

/// Doubles its argument in place and gives the first element of it squared.
const IN_PLACE: &str = "
function doubled(v::Vector{Float64})::Float64
1 ─ %1 = Base.getindex(v, 1)::Float64
│   %2 = Base.add_float(%1, %1)::Float64
│        Base.setindex!(v, %2, 1)::Vector{Float64}
│   %4 = Base.getindex(v, 1)::Float64
│   %5 = Base.mul_float(%4, %4)::Float64
└──      return %5
end
function itself(v::Vector{Float64})::Vector{Float64}
1 ─      return v
end
function longer(v::Vector{Float64}, s::Float64)::Vector{Float64}
1 ─ %1 = Base.getindex(v, 1)::Float64
│   %2 = Base.mul_float(%1, s)::Float64
│        Base.push!(v, %2)::Vector{Float64}
└──      return v
end
";

#[test]
fn what_a_function_changes_is_taken_back() {
    let module = module_of(IN_PLACE);
    let gradient = module.gradient("doubled").compile().unwrap();
    let (mut v, mut dv) = ([3.0, 5.0], [f64::NAN; 2]);
    assert_eq!(gradient.call(&mut v, &mut dv).unwrap(), 36.0);
    assert_eq!((v, dv), ([3.0, 5.0], [24.0, 0.0]));
    assert_eq!(gradient.call(&v, &mut dv).unwrap(), 36.0);
    assert_eq!(dv, [24.0, 0.0]);
    // A pullback that has taken back what was changed cannot do that again.
    let vjp = module.vjp("doubled").compile().unwrap();
    let mut pullback = vjp.call(&v).unwrap();
    pullback.call(&[0.5], &mut dv).unwrap();
    assert_eq!(dv, [12.0, 0.0]);
    assert!(matches!(pullback.call(&[0.5], &mut dv), Err(CallError::Run(_))));
    assert!(matches!(vjp.call(&mut v), Err(CallError::Refused(_))));
}

/// What is collected in a tuple is changed through it: a slice that is only lent to be read must be copied first.
#[test]
fn what_a_function_of_any_number_of_arguments_changes_is_not_the_callers() {
    let module = module_of(
        "
function doubles(rest::Tuple{Float64, Vector{Float64}})::Float64
; varargs
1 ─ %1 = Base.getfield(rest, 1)::Float64
│   %2 = Base.getfield(rest, 2)::Vector{Float64}
│   %3 = Base.lt_float(%1, 0.0)::Bool
└──      goto #3 if not %3
2 ─ %5 = Base.neg_float(%1)::Float64
│   %6 = Main.doubles(%5, %2)::Float64
└──      return %6
3 ─ %8 = Base.arrayref(true, %2, 1)::Float64
│   %9 = Base.mul_float(%8, %1)::Float64
│        Base.arrayset(true, %2, %9, 1)::Vector{Float64}
└──      return %9
end

function passes_on(v::Vector{Float64})::Float64
1 ─ %1 = Main.doubles(-2.0, v)::Float64
└──      return %1
end
",
    );
    // What is lent to be read is not read again by a compiler that trusts that.
    let v = std::hint::black_box(vec![3.0, 5.0]);
    let primal = module.primal("passes_on").compile().unwrap();
    assert_eq!(primal.call(&v[..]).unwrap().float(0), Some(6.0));
    assert_eq!(std::hint::black_box(v), [3.0, 5.0]);
    let (v, dv) = ([3.0, 5.0], [1.0, 0.0]);
    assert_eq!(module.jvp("passes_on").compile().unwrap().call(&v, &dv).unwrap(), (6.0, 2.0));
    assert_eq!((v, dv), ([3.0, 5.0], [1.0, 0.0]));
}

#[test]
fn an_array_that_is_returned_has_a_pullback() {
    let module = module_of(IN_PLACE);
    let vjp = module.vjp("itself").compile().unwrap();
    let mut pullback = vjp.call(&[3.0, 5.0]).unwrap();
    assert_eq!(pullback.value(), [3.0, 5.0]);
    let mut dv = [f64::NAN; 2];
    for seed in [[1.0, 2.0], [-1.0, 0.0]] {
        pullback.call(&seed, &mut dv).unwrap();
        assert_eq!(dv, seed);
    }
    assert!(matches!(pullback.call(&[1.0], &mut dv), Err(CallError::Count { given: 1, expected: 2, .. })));
}

#[test]
fn the_value_stays_when_the_pullback_takes_it_back() {
    let module = module_of(IN_PLACE);
    let vjp = module.vjp("longer").compile().unwrap();
    let mut pullback = vjp.call((&[3.0, 5.0], 2.0)).unwrap();
    assert_eq!(pullback.value(), [3.0, 5.0, 6.0]);
    let (mut dv, mut ds) = ([f64::NAN; 2], f64::NAN);
    pullback.call(&[1.0, 1.0, 1.0], (&mut dv, &mut ds)).unwrap();
    assert_eq!((dv, ds), ([3.0, 1.0], 3.0));
    assert_eq!(pullback.value(), [3.0, 5.0, 6.0]);
    assert!(matches!(pullback.call(&[1.0, 1.0, 1.0], (&mut dv, &mut ds)), Err(CallError::Run(_))));
}

#[test]
fn tangents_have_the_dimensions_of_their_arguments() {
    let module = module_of(
        "
function corner(m::Matrix{Float64})::Float64
1 ─ %1 = Base.arrayref(true, m, 2, 2)::Float64
│   %2 = Base.mul_float(%1, %1)::Float64
└──      return %2
end
",
    );
    let (m, mut tangent) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0; 6]);
    tangent[3] = 1.0;
    let m = || Argument::Array(&m, &[2, 3]);
    let jvp = module.jvp("corner").compile().unwrap();
    assert_eq!(jvp.call([m()], [Argument::Array(&tangent, &[2, 3])]).unwrap(), (16.0, 8.0));
    let error = jvp.call([m()], [Argument::Array(&tangent, &[3, 2])]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tangent of argument 0 (`m`) must be an array of dimensions [2, 3], but is an array of dimensions [3, 2]"
    );
    // Of what is no matrix itself, that is told.
    let error = jvp.call([Argument::Float64(1.0)], [Argument::Float64(1.0)]).unwrap_err();
    assert!(matches!(error, CallError::Argument { argument: 0, .. }), "{error}");
    let sine = module_of("function sine(x::Float64)::Float64\n1 ─ %1 = Base.sin(x)::Float64\n└──      return %1\nend");
    let error = sine.jvp("sine").compile().unwrap().call(&[1.0], 1.0).unwrap_err();
    assert_eq!(error.to_string(), "argument 0 (`x`) must be of type Float64, but is a Vector{Float64}");
    let hvp = module.hvp("corner").compile().unwrap();
    let (mut gradient, mut product) = ([0.0; 6], [0.0; 6]);
    let error = hvp.call([m()], [Argument::Array(&tangent, &[3, 2])], &mut gradient, &mut product).unwrap_err();
    assert!(matches!(error, CallError::Argument { argument: 0, .. }), "{error}");
}

#[test]
fn what_is_not_checkpointed_is_told() {
    let module = module_of(
        "
function doubled(v::Vector{Float64}, n::Int64)::Float64
1 ─       nothing::Nothing
2 ┄ %2  = φ (#1 => 0, #3 => %9)::Int64
│   %3  = Base.slt_int(%2, n)::Bool
└──       goto #4 if not %3
3 ─ %5  = Base.arrayref(true, v, 1)::Float64
│   %6  = Base.sin(%5)::Float64
│   %7  = Base.mul_float(%6, %5)::Float64
│         Base.arrayset(true, v, %7, 1)::Vector{Float64}
│   %9  = Base.add_int(%2, 1)::Int64
└──       goto #2
4 ─ %11 = Base.arrayref(true, v, 1)::Float64
└──       return %11
end
",
    );
    let plain = module.gradient("doubled").compile().unwrap();
    assert!(plain.warnings().is_empty(), "{:?}", plain.warnings());
    let asked = module.gradient("doubled").checkpoint(true).compile().unwrap();
    let [warning] = asked.warnings() else { panic!("{:?}", asked.warnings()) };
    assert!(warning.to_string().contains("a loop is not checkpointed"), "{warning}");
    let asked = module.vjp("doubled").checkpoint(true).compile().unwrap();
    assert_eq!(asked.warnings().len(), 1);
    // What a pullback is waiting with counts as well.
    let v = [1.0; 100];
    let pullback = asked.call((&v, 1000)).unwrap();
    let held = asked.most_memory();
    assert!(held > 8 * 1000, "{held}");
    drop(pullback);
    assert!(asked.most_memory() >= held);
}

fn is_shared<T: Send + Sync>(_: &T) {}

/// So that `?` takes them into `Box<dyn Error + Send + Sync>`, and a thread can return them.
#[test]
fn errors_go_to_other_threads() {
    is_shared::<Option<(CompileError, CallError, bbkit::GradientError, bbkit::EngineError, bbkit::exec::RunError)>>(
        &None,
    );
    is_shared::<Option<(bbkit::exec::native::CallError, bbkit::InputError, bbkit::PassStatisticsError)>>(&None);
    is_shared::<Option<(bbkit::bbcode::EditError, bbkit::bbcode::ConversionError, bbkit::passes::PassError)>>(&None);
    is_shared::<Option<(bbkit::ircode::TextError, bbkit::ircode::JsonError, bbkit::ircode::TableViolations)>>(&None);
}

#[test]
fn threads_share_a_gradient() {
    let kernel = &KERNELS[0];
    let n = 40;
    let Inputs { x, c } = inputs(kernel, n);
    let (module, name) = exported(kernel);
    let gradient = module.gradient(&name).wrt([0]).compile().unwrap();
    is_shared(&gradient);
    is_shared::<Option<(Jvp, Vjp, Hvp, bbkit::compiled::Function)>>(&None);
    let mut expected = vec![0.0; x.len()];
    (kernel.gradient)(&x, &c, n, &mut expected);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut dx = vec![0.0; x.len()];
                for _ in 0..200 {
                    gradient.call((&x, &c, n as i64), &mut dx).unwrap();
                    assert_close("a thread", &dx, &expected);
                }
            });
        }
    });
}

fn run_error(error: CallError) -> RunErrorKind {
    match error {
        CallError::Run(error) => error.kind,
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_wrong_with_a_call_is_said() {
    let (module, name) = exported(kit::kernels::kernel("tri").unwrap());
    let gradient: Gradient = module.gradient(&name).wrt([0]).compile().unwrap();
    let (x, c, mut dx) = ([1.0; 5], [1.0; 5], [0.0; 5]);
    let told = |error: CallError| error.to_string();
    assert_eq!(
        told(gradient.call((&x, &c, 5), &mut [0.0; 4]).unwrap_err()),
        "4 numbers for the gradients of argument 0 (`x`), which has 5"
    );
    assert_eq!(told(gradient.call((&x, &c), &mut dx).unwrap_err()), "arguments: 2, but there must be 3");
    assert_eq!(told(gradient.call((&x, &c, 5), ()).unwrap_err()), "gradients: 0, but there must be 1");
    assert_eq!(
        told(gradient.call((&x, &c, 5.0), &mut dx).unwrap_err()),
        "argument 2 (`n`) must be of type Int64, but is a Float64"
    );
    assert_eq!(
        told(gradient.call((Argument::Array(&x, &[5, 1]), &c, 5), &mut dx).unwrap_err()),
        "argument 0 (`x`) must be of type Vector{Float64}, but is a Matrix{Float64}"
    );
    let error = gradient.call((Argument::Array(&x, &[usize::MAX, 16]), &c, 5), &mut dx).unwrap_err();
    assert!(told(error).contains("but is 5 numbers for a Matrix{Float64} of dimensions [18446744073709551615, 16]"));
    let error = gradient.call((&x, Argument::Zeros(&[1 << 61]), 5), &mut dx).unwrap_err();
    assert!(told(error).contains("more zeros than any memory holds"));
    assert!(matches!(gradient.call((&x, &c, Scalar::Int32(5)), &mut dx), Err(CallError::Argument { argument: 2, .. })));
    assert!(gradient.call((&x, &c, Scalar::Int64(5)), &mut dx).is_ok());
    // Out of bounds inside, as in the interpreter, and the next call is as if nothing had been.
    let error = run_error(gradient.call((&x, &c, 6), &mut dx).unwrap_err());
    assert!(matches!(error, RunErrorKind::Exception(_)), "{error:?}");
    assert!(gradient.call((&x, &c, 5), &mut dx).is_ok());
    let little = module.gradient(&name).wrt([0]).limits(Limits { memory: 64, ..Limits::default() }).compile().unwrap();
    assert!(matches!(run_error(little.call((&x, &c, 5), &mut dx).unwrap_err()), RunErrorKind::MemoryLimit(64)));
}

#[test]
fn numbers_of_all_types_are_passed_and_what_cannot_be_is_said_before() {
    let module = module_of(
        "
mutable struct Cell
  held::Float64
end
function scaled(x::Float64, by::Float32, n::Int32, letter::Char)::Float64
1 ─ %1 = Base.fpext(Float64, by)::Float64
│   %2 = Base.sitofp(Float64, n)::Float64
│   %3 = Base.mul_float(x, %1)::Float64
│   %4 = Base.mul_float(%3, %2)::Float64
│   %5 = (letter === 'x')::Bool
│   %6 = Base.ifelse(%5, %4, 0.0)::Float64
└──      return %6
end
function in_a_cell(x::Float64, cell::Cell)::Float64
1 ─ %1 = Base.getfield(cell, :held)::Float64
│   %2 = Base.mul_float(x, %1)::Float64
└──      return %2
end
function untyped(x)::Float64
1 ─ %1 = Base.sin(x)::Float64
└──      return %1
end
",
    );
    let gradient = module.gradient("scaled").wrt([0]).compile().unwrap();
    let mut dx = 0.0;
    assert_eq!(gradient.call((3.0, 0.5_f32, Scalar::Int32(4), 'x'), &mut dx).unwrap(), 6.0);
    assert_eq!(dx, 2.0);
    let told = |error: CompileError| error.to_string();
    assert_eq!(
        told(module.gradient("in_a_cell").compile().unwrap_err()),
        "argument 1 (`cell`) of `in_a_cell` is a Cell, of which no value can be passed to compiled functions"
    );
    assert_eq!(
        told(module.primal("untyped").compile().unwrap_err()),
        "argument 0 (`x`) of `untyped` is of unknown type: `types` gives it one"
    );
    let typed = module.gradient("untyped").types([Type::FLOAT64]).compile().unwrap();
    assert_eq!((typed.call((0.0,), &mut dx).unwrap(), dx), (0.0, 1.0));
}

/// Half of the vector and half of the vector, down to one element: what Julia's own sum does.
const HALVES: &str = "
function halves(a::Vector{Float64}, from::Int64, to::Int64)::Float64
1 ─ %1  = (from === to)::Bool
└──       goto #3 if not %1
2 ─ %3  = Base.arrayref(true, a, from)::Float64
│   %4  = Base.mul_float(%3, %3)::Float64
└──       return %4
3 ─ %6  = Base.add_int(from, to)::Int64
│   %7  = Base.ashr_int(%6, 1)::Int64
│   %8  = Base.add_int(%7, 1)::Int64
│   %9  = Main.halves(a, from, %7)::Float64
│   %10 = Main.halves(a, %8, to)::Float64
│   %11 = Base.add_float(%9, %10)::Float64
└──       return %11
end
";

#[test]
fn recursive_functions_of_arrays_have_gradients() {
    // The trace of a call holds those of the calls in it, and the shadow of the vector.
    let module = module_of(HALVES);
    let gradient = module.gradient("halves").wrt([0]).compile().unwrap();
    let a = along(37);
    let mut da = vec![0.0; a.len()];
    let value = gradient.call((&a, 1_i64, a.len() as i64), &mut da).unwrap();
    assert_eq!(value, {
        let machine = &mut Machine::new(&module);
        let args = [machine.array(Type::FLOAT64, vec![37], a.iter().map(|&x| Value::from(x)).collect()).unwrap()];
        let args = [args[0].clone(), Value::from(1), Value::from(37)];
        machine.call("halves", &args).unwrap().as_float().unwrap()
    });
    assert_eq!(da, a.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

#[test]
fn what_is_not_compiled_is_said() {
    let module = module_of(WEIGHTED);
    let told = |error: CompileError| error.to_string();
    assert_eq!(told(module.gradient("other").compile().unwrap_err()), "there is no function `other`");
    assert_eq!(
        told(module.gradient("weighted").wrt([3]).compile().unwrap_err()),
        "argument 3 (`n`) of `weighted` is an Int64; floats, arrays of floats and tuples of Float64 have derivatives here"
    );
    assert_eq!(
        told(module.jvp("weighted").wrt([4]).compile().unwrap_err()),
        "argument 4 of `weighted` is not there: it has 4 arguments"
    );
    assert_eq!(
        told(module.vjp("weighted").wrt([0, 0]).compile().unwrap_err()),
        "argument 0 (`v`) of `weighted` is named twice"
    );
    let module = module_of(IN_PLACE);
    let error = told(module.gradient("itself").compile().unwrap_err());
    assert!(error.contains("the result is a Vector{Float64}, which has no gradient"), "{error}");
    assert!(matches!(module.jvp("itself").compile().unwrap_err(), CompileError::Result { .. }));
    // A union that may be a number is none.
    let union = module_of(
        "function f(x::Float64, b::Bool)::Union{Float64, Int64}\n1 ─      goto #3 if not b\n2 ─      return x\n3 ─      return 3\nend\n",
    );
    assert!(matches!(union.gradient("f").compile().unwrap_err(), CompileError::Result { .. }));
    assert!(matches!(union.hvp("f").compile().unwrap_err(), CompileError::Result { .. }));
}

/// `%3` is not computed on every way to its use, and a jump stands in the middle of a block.
const INVALID: [&str; 2] = [
    "
function f(x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 1.0)::Bool
└──      goto #3 if not %1
2 ─ %3 = Base.mul_float(x, 2.0)::Float64
└──      goto #3
3 ┄ %5 = Base.add_float(%3, 1.0)::Float64
└──      return %5
end
",
    "
function f(x::Float64)::Float64
1 ─ %1 = Main.g(x)::Float64
└──      return %1
end
function g(x::Float64)::Float64
1 ─ %1 = Base.lt_float(x, 1.0)::Bool
└──      goto #2
2 ─      goto #4 if not %1
│   %4 = Base.mul_float(x, 2.0)::Float64
└──      goto #3
3 ─      return %4
4 ─      return x
end
",
];

#[test]
fn the_gradient_of_a_function_with_a_rule_is_by_the_rule() {
    let square = "function sq(x::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, x)::Float64\n└──      return %1\nend\n";
    let mut module = module_of(square);
    // Other than the derivative of the code.
    let rule = "function sq_vjp(x::Float64, out::Float64, seed::Float64)::Tuple{Float64}\n\
                1 ─ %1 = Base.mul_float(seed, 100.0)::Float64\n│   %2 = Core.tuple(%1)::Tuple{Float64}\n└──      return %2\nend\n";
    module.add_rules(rule).unwrap();
    let gradient = module.gradient("sq").compile().unwrap();
    let mut dx = 0.0;
    assert_eq!((gradient.call((3.0,), &mut dx).unwrap(), dx), (9.0, 100.0));
}

#[test]
fn code_that_is_not_valid_is_refused() {
    for text in INVALID {
        let module = module_of(text);
        let is_told = |error: CompileError| {
            let invalid = matches!(&error, CompileError::Derivative(bbkit::GradientError::Invalid { .. }));
            assert!(invalid, "{error}");
        };
        is_told(module.primal("f").compile().map(drop).unwrap_err());
        is_told(module.gradient("f").compile().map(drop).unwrap_err());
        is_told(module.jvp("f").compile().map(drop).unwrap_err());
        let args = [Value::from(5.0)];
        let gradient = bbkit::gradient(&module, "f", &args, Limits::default());
        assert!(matches!(gradient, Err(bbkit::GradientError::Invalid { .. })));
        let refused = bbkit::exec::native::Program::compile(&module, &["f"], Limits::default()).map(drop).unwrap_err();
        assert!(refused.to_string().contains("not valid"), "{refused}");
    }
}

/// Rounds of `s = 1 - s y y`: in the reverse the negated adjoint goes through two products around the loop.
const ROUNDS: &str = "
function f(x::Float64, y::Float64, n::Int64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => 0, #3 => %6)::Int64
│   %3 = φ (#1 => x, #3 => %9)::Float64
│   %4 = Base.slt_int(%2, n)::Bool
└──      goto #4 if not %4
3 ─ %6 = Base.add_int(%2, 1)::Int64
│   %7 = Base.mul_float(%3, y)::Float64
│   %8 = Base.mul_float(%7, y)::Float64
│   %9 = Base.sub_float(1.0, %8)::Float64
└──      goto #2
4 ─      return %3
end
";

#[test]
fn a_compiled_gradient_of_something_else_is_found() {
    let module = parse_module(ROUNDS).unwrap().module;
    let args = || vec![Value::from(0.7), Value::from(0.6), Value::from(3)];
    compiled_agrees(&module, &args, &|_| ()).unwrap();
    let planted = |module: &mut Module<IRCode>| {
        *module = parse_module(&ROUNDS.replace("sub_float", "add_float")).unwrap().module;
    };
    assert!(compiled_agrees(&module, &args, &planted).is_err(), "the planted bug was not found");
}

#[test]
fn only_what_is_called_must_be_valid() {
    let module = module_of(
        "
function f(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end

function broken(x::Float64)::Float64
1 ─      goto #7
end

function calls_it(x::Float64)::Float64
1 ─ %1 = invoke Main.broken(x::Float64)::Float64
└──      return %1
end
",
    );
    let mut dx = 0.0;
    let gradient = module.gradient("f").compile().unwrap();
    assert_eq!((gradient.call((3.0,), &mut dx).unwrap(), dx), (9.0, 6.0));
    let at = [Value::from(3.0)];
    assert_eq!(bbkit::gradient(&module, "f", &at, Limits::default()).unwrap().value.to_string(), "9.0");
    let error = bbkit::gradient(&module, "calls_it", &at, Limits::default()).unwrap_err();
    assert!(error.to_string().starts_with("`broken` is not valid: "), "{error}");
    let error = bbkit::jvp(&module, "nothing", &at, &[at.to_vec()], Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no function `nothing`");
}

#[test]
fn what_the_interpreter_helps_with_is_told() {
    let module = parse_module(
        "
function boxed(x::Float64)::Float64
1 ─ %1 = BBKit.new_array(Any, 1)::Vector{Any}
│        Base.arrayset(true, %1, x, 1)::Vector{Any}
│   %3 = Base.arrayref(true, %1, 1)::Any
│   %4 = Core.typeassert(%3, Float64)::Float64
└──      return %4
end
function plain(x::Float64)::Float64
1 ─ %1 = Base.mul_float(x, x)::Float64
└──      return %1
end
",
    )
    .unwrap()
    .module;
    let boxed = module.primal("boxed").compile().unwrap();
    assert_eq!(boxed.call(2.5).unwrap().float(0), Some(2.5));
    assert!(boxed.helped().iter().any(|statement| statement.what.contains("arrayset")), "{:?}", boxed.helped());
    assert!(module.primal("plain").compile().unwrap().helped().is_empty());
    assert!(module.gradient("plain").compile().unwrap().helped().is_empty());
    assert!(module.hvp("plain").compile().unwrap().helped().is_empty());
    assert!(module.jvp("plain").compile().unwrap().helped().is_empty());
    assert!(module.vjp("plain").compile().unwrap().helped().is_empty());
}
