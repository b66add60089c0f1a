//! How much memory BBCode takes: `max alloc` of the copies is its size, to be divided by the statements that the code
//! has, which are 1.125 times as many as the size asks for. What `build` takes more is room to grow.

#![allow(clippy::expect_used, reason = "a bench that cannot run should stop")]

use bbcode::BBCode;
use divan::{AllocProfiler, Bencher};
use kit::shapes;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: AllocProfiler<MiMalloc> = AllocProfiler::new(MiMalloc);

const SIZES: [usize; 3] = [1_000, 100_000, 1_000_000];

fn main() {
    divan::main();
}

fn dag(size: usize) -> BBCode {
    shapes::dag(size).expect("the shapes of the kit are well formed")
}

#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn build(size: usize) -> BBCode {
    dag(size)
}

#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn copy(bencher: Bencher<'_, '_>, size: usize) {
    let bb = dag(size);
    bencher.bench_local(|| bb.clone());
}
