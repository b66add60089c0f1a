//! How long each step takes, on programs of 1,000, 100,000 and 1,000,000 statements in four shapes.
//!
//! `clone`, a copy of the IRCode, is what the others are compared with. The throughput is in statements: a step is
//! linear where the figure stays about the same as a shape grows.

#![allow(clippy::expect_used, reason = "a bench that cannot run should stop")]

use std::fmt;

use bbcode::BBCode;
use divan::Bencher;
use divan::counter::ItemsCount;
use exec::{Machine, Value};
use ircode::{IRCode, Module, Style, from_json, parse_module, print_module, to_json};
use kit::programs::SHAPES;
use passes::reverse_mode::differentiate;

fn main() {
    divan::main();
}

#[derive(Clone, Copy)]
struct Case {
    shape: usize,
    size: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", SHAPES[self.shape].0, self.size)
    }
}

fn cases() -> impl Iterator<Item = Case> {
    (0..SHAPES.len()).flat_map(|shape| [1_000, 100_000, 1_000_000].map(|size| Case { shape, size }))
}

impl Case {
    fn module(self) -> Module<IRCode> {
        SHAPES[self.shape].1(self.size).expect("the programs of the kit are well formed")
    }

    /// Measures a step on what is made from the program beforehand.
    fn bench<T: Sync, R>(
        self,
        bencher: Bencher<'_, '_>,
        prepare: impl Fn(Module<IRCode>) -> T,
        step: impl Fn(&T) -> R + Sync,
    ) {
        let module = self.module();
        let statements: usize = module.functions().iter().map(|function| function.body.stmts.len()).sum();
        let prepared = prepare(module);
        bencher.counter(ItemsCount::new(statements)).bench(|| step(&prepared));
    }
}

fn to_bbcode(module: Module<IRCode>) -> Module<BBCode> {
    bbkit::to_bbcode(&module).expect("verified code converts")
}

#[divan::bench(args = cases(), max_time = 1)]
fn clone(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, |module| module, Module::clone);
}

#[divan::bench(args = cases(), max_time = 1)]
fn ircode_to_bbcode(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, |module| module, bbkit::to_bbcode);
}

#[divan::bench(args = cases(), max_time = 1)]
fn bbcode_to_ircode(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, to_bbcode, bbkit::to_ircode);
}

#[divan::bench(args = cases(), max_time = 1)]
fn verify_ircode(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, |module| module, |module| module.functions()[0].body.verify());
}

#[divan::bench(args = cases(), max_time = 1)]
fn verify_bbcode(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, to_bbcode, |module| module.functions()[0].body.verify());
}

#[divan::bench(args = cases(), max_time = 1)]
fn print(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, |module| module, |module| print_module(module, Style::Bbkit));
}

#[divan::bench(args = cases(), max_time = 1)]
fn parse(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, |module| print_module(&module, Style::Bbkit), |text| parse_module(text).is_ok());
}

#[divan::bench(args = cases(), max_time = 1)]
fn write_json(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, |module| module, to_json);
}

#[divan::bench(args = cases(), max_time = 1)]
fn read_json(bencher: Bencher<'_, '_>, case: Case) {
    let json = |module: Module<IRCode>| to_json(&module).expect("code that was read can be dumped");
    case.bench(bencher, json, |json| from_json::<IRCode>(json).is_ok());
}

#[divan::bench(args = cases(), max_time = 1)]
fn reverse_mode(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(bencher, to_bbcode, |module| {
        let mut module = module.clone();
        let name = module.functions()[0].name.clone();
        differentiate(&mut module, &name).expect("the programs of the kit have derivatives");
        module
    });
}

#[divan::bench(args = cases(), max_time = 1)]
fn run(bencher: Bencher<'_, '_>, case: Case) {
    case.bench(
        bencher,
        |module| module,
        |module| Machine::new(module).call(&module.functions()[0].name, &[Value::from(0.5)]).is_ok(),
    );
}
