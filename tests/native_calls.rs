//! Native code that is called often, and by several threads: the same results, memory that does not grow, code that is
//! given back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use std::fs;
use std::sync::Mutex;

use exec::Limits;
use exec::native::{Argument, Program};
use ircode::{IRCode, Module, Type, from_json};
use kit::kernels::{inputs, kernel};
use kit::native::vector;

/// Tests that look at the memory of the process run while no other test does.
static ALONE: Mutex<()> = Mutex::new(());

/// The gradient of a kernel, compiled, and what its function is called.
fn gradient(name: &str) -> (Program, String) {
    let path = format!("{}/tests/kernels/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let module: Module<IRCode> = from_json(&fs::read_to_string(path).unwrap()).unwrap();
    let function = module.functions()[0].name.clone();
    let vector = Type::array(Type::FLOAT64, 1);
    let types = [vector.clone(), vector, Type::INT64];
    let (derived, names) = bbkit::gradient_function(&module, &function, &types, &Default::default()).unwrap();
    let name = names.value_and_gradient.to_string();
    (Program::compile(&derived, &[&name], Limits::default()).unwrap(), name)
}

/// The value of a kernel, as bits, from its gradient function.
fn value(program: &Program, x: &[f64], c: &[f64], n: usize) -> u64 {
    let mut args = [Argument::Floats(x), Argument::Floats(c), Argument::Int64(i64::try_from(n).unwrap())];
    program.call_in_place(0, &mut args).unwrap().float(0).unwrap().to_bits()
}

#[test]
fn threads_share_a_gradient() {
    use exec::{Machine, Value, value_to_json};
    let _alone = ALONE.lock();
    for name in ["lse", "tri", "gmm", "mlp"] {
        let (program, function) = gradient(name);
        // Each thread has numbers of its own, several times those of others.
        let run = |n: usize| {
            let inputs = inputs(kernel(name).unwrap(), n);
            let module: Module<IRCode> = Module::new();
            let machine = Machine::new(&module);
            let args =
                [vector(&machine, &inputs.x), vector(&machine, &inputs.c), Value::from(i64::try_from(n).unwrap())];
            value_to_json(&program.call(&function, &args).unwrap()).unwrap().to_string()
        };
        let alone: Vec<String> = (1..=6).map(run).collect();
        std::thread::scope(|scope| {
            let (run, alone) = (&run, &alone);
            for thread in 0..3 {
                scope.spawn(move || {
                    for round in 0..30 {
                        let at = (round + 2 * thread) % alone.len();
                        assert_eq!(run(at + 1), alone[at], "{name} on thread {thread}");
                    }
                });
            }
        });
    }
}

/// The pages of this process that are in memory.
#[cfg(target_os = "linux")]
fn resident_pages() -> usize {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Stacks grow in the first calls; from then on memory is used again.
#[test]
#[cfg(target_os = "linux")]
fn a_million_calls_leave_memory_as_it_was() {
    let _alone = ALONE.lock();
    let (program, _) = gradient("newton");
    let inputs = inputs(kernel("newton").unwrap(), 2);
    let call = || value(&program, &inputs.x, &inputs.c, 2);
    let first = call();
    (0..1000).for_each(|_| assert_eq!(call(), first));
    let (pages, bytes) = (resident_pages(), program.most_memory());
    assert!(bytes > 0);
    (0..1_000_000).for_each(|_| assert_eq!(call(), first));
    assert_eq!(program.most_memory(), bytes);
    let grown = resident_pages().saturating_sub(pages);
    assert!(grown < 256, "{grown} pages more");
}

#[test]
#[cfg(target_os = "linux")]
fn code_is_given_back_with_its_program() {
    let _alone = ALONE.lock();
    let text = "function f(x::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, x)::Float64\n└──      return %1\nend\n";
    let module = ircode::parse_module(text).unwrap().module;
    let call = || {
        let program = Program::compile(&module, &["f"], Limits::default()).unwrap();
        let result = program.call_in_place(0, &mut [Argument::Float64(1.5)]).unwrap();
        assert_eq!(result.float(0), Some(2.25));
    };
    (0..200).for_each(|_| call());
    let pages = resident_pages();
    (0..2000).for_each(|_| call());
    // A program has at least two pages of its own: kept ones would show.
    let grown = resident_pages().saturating_sub(pages);
    assert!(grown < 2000, "{grown} pages more after 2000 programs");
}
