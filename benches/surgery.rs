//! What building, changing and analysing BBCode takes, and each pass: nanoseconds a statement at 1,000, 100,000 and
//! 1,000,000 statements, and how much more that is at the largest size. What is linear grows by what the caches miss.
//!
//! `cargo bench --bench surgery -- WORD` measures what has the word in its name.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench that cannot run should stop, and prints what it measures"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bbcode::{BBCode, BlockId, InstId};
use ircode::graph::Frontiers;
use ircode::{Body, CallGraph, Function, IRCode, Module, Name, NewInstruction, Operand, Stmt, Type};
use kit::programs;
use kit::shapes::{self, Random, Shape};
use passes::{PASSES, PassManager, find_pass};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 3] = [1_000, 100_000, 1_000_000];

/// How long one figure is measured, but for what has to be run twice anyway.
const TIME: Duration = Duration::from_millis(250);

/// The largest size of the shapes that are hard on algorithms: enough to see what is quadratic.
const HARD: usize = 100_000;

fn main() {
    let bench = Bench { wanted: std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect() };
    println!("{:<44}{:>10}{:>10}{:>10}{:>8}", "ns a statement", "1,000", "100,000", "1,000,000", "growth");
    building(&bench);
    changing(&bench);
    analyses(&bench);
    each_pass(&bench);
    hard_shapes(&bench);
}

struct Bench {
    wanted: Vec<String>,
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|word| name.contains(word))
    }

    /// One line of the table: the time of a step that takes what was prepared, over how many things it was done to.
    /// What it gives is dropped outside of the measurement.
    fn row<T, R>(&self, name: &str, prepare: impl Fn(usize) -> (usize, T), step: impl Fn(&mut T) -> R) {
        self.row_up_to(name, usize::MAX, prepare, step);
    }

    fn row_up_to<T, R>(
        &self,
        name: &str,
        largest: usize,
        prepare: impl Fn(usize) -> (usize, T),
        step: impl Fn(&mut T) -> R,
    ) {
        if !self.wants(name) {
            return;
        }
        let figures: Vec<f64> = SIZES
            .into_iter()
            .filter(|&size| size <= largest)
            .map(|size| {
                let begin = Instant::now();
                let (mut best, mut runs) = (f64::INFINITY, 0);
                while runs < 2 || (runs < 200 && begin.elapsed() < TIME) {
                    let (count, mut prepared) = prepare(size);
                    let start = Instant::now();
                    let result = black_box(step(&mut prepared));
                    best = best.min(start.elapsed().as_secs_f64() * 1e9 / count.max(1) as f64);
                    drop(result);
                    runs += 1;
                }
                best
            })
            .collect();
        print!("{name:<44}");
        for size in 0..SIZES.len() {
            match figures.get(size) {
                Some(figure) => print!("{figure:>10.1}"),
                None => print!("{:>10}", "-"),
            }
        }
        println!("{:>8.1}", figures.last().unwrap_or(&0.0) / figures.first().unwrap_or(&1.0));
    }
}

fn make(shape: Shape, size: usize) -> BBCode {
    shape(size).expect("the shapes of the kit are well formed")
}

/// The code with how many statements it has.
fn counted(shape: Shape) -> impl Fn(usize) -> (usize, BBCode) {
    move |size| {
        let bb = make(shape, size);
        (bb.inst_count(), bb)
    }
}

fn building(bench: &Bench) {
    let ir = |size| {
        let ir = IRCode::try_from(make(shapes::dag, size)).expect("the shapes of the kit convert");
        (ir.stmts.len(), ir)
    };
    bench.row("copy IRCode", ir, |ir| ir.clone());
    bench.row("build", |size| (make(shapes::dag, size).inst_count(), size), |size| make(shapes::dag, *size));
    bench.row("clone", counted(shapes::dag), |bb| bb.clone());
    bench.row("drop", counted(shapes::dag), |bb| drop(std::mem::take(bb)));
    bench.row("verify", counted(shapes::dag), |bb| bb.verify().is_ok());
    bench.row("print", counted(shapes::dag), |bb| bb.to_string());
}

/// Statements that are no φs and end no block.
fn plain(bb: &BBCode) -> Vec<InstId> {
    let plain = |stmt: &Stmt<bbcode::Ids>| !stmt.is_terminator() && stmt.as_phi().is_none();
    bb.all_insts().filter(|(_, inst)| plain(&inst.stmt)).map(|(id, _)| id).collect()
}

/// Half of the plain statements, chosen at random, each with what is to be in its place: its first operand.
fn half(bb: &BBCode) -> Vec<(InstId, Operand<bbcode::Ids>)> {
    let mut random = Random::new(1);
    let chosen = plain(bb).into_iter().filter(|_| random.below(2) == 0);
    let first = |id: &InstId| match bb.stmt(*id) {
        Some(Stmt::Call(call)) => call.args.first().cloned(),
        _ => None,
    };
    chosen.filter_map(|id| Some((id, first(&id)?))).collect()
}

type Replaced = (BBCode, Vec<(InstId, Operand<bbcode::Ids>)>);

fn to_replace(size: usize) -> (usize, Replaced) {
    let bb = make(shapes::dag, size);
    let chosen = half(&bb);
    if let Some((first, _)) = chosen.first() {
        bb.users(*first);
    }
    bb.dominators();
    (chosen.len(), (bb, chosen))
}

fn replace((bb, chosen): &mut Replaced) {
    for &mut (id, _) in chosen {
        // What was to be in its place may have been replaced itself.
        let by = match bb.stmt(id) {
            Some(Stmt::Call(call)) => call.args[0].clone(),
            _ => continue,
        };
        bb.replace_all_uses(id, &by).expect("an operand is there where the value is");
    }
}

fn changing(bench: &Bench) {
    bench.row(
        "insert statements at random places",
        |size| {
            let bb = make(shapes::dag, size);
            let mut random = Random::new(1);
            let places = plain(&bb);
            let chosen: Vec<InstId> = (0..size).map(|_| places[random.below(places.len())]).collect();
            (size, (bb, chosen))
        },
        |(bb, chosen)| {
            let callee = Operand::global("Base", "neg_float");
            for &place in &*chosen {
                let stmt = Stmt::call(callee.clone(), [Operand::argument(2)]);
                bb.insert_before(place, NewInstruction::new(stmt, Type::FLOAT64)).expect("the place is there");
            }
        },
    );
    bench.row(
        "insert blocks on random edges (a block)",
        |size| {
            let bb = make(shapes::dag, size);
            let blocks: Vec<BlockId> = bb.blocks().collect();
            (size / 10, (bb, blocks, size / 10))
        },
        |(bb, blocks, count)| {
            let mut random = Random::new(1);
            let mut left = *count;
            while left > 0 {
                let from = blocks[random.below(blocks.len())];
                let succs = bb.successors(from);
                if !succs.is_empty() {
                    let to = succs[random.below(succs.len())];
                    let inst = NewInstruction::new(Stmt::nothing(), Type::Nothing);
                    bb.insert_block_on_edge(from, to, [inst]).expect("the edge is there");
                    left -= 1;
                }
            }
        },
    );
    bench.row(
        "split blocks, and merge them again (a block)",
        |size| {
            let bb = make(shapes::dag, size);
            let inner: Vec<InstId> = bb.blocks().filter_map(|block| bb.last_inst(block)).collect();
            (inner.len(), (bb, inner))
        },
        |(bb, inner)| {
            for &inst in inner.iter() {
                let new = bb.split_block(inst).expect("a terminator is no φ");
                bb.merge(new).expect("it was one block");
            }
        },
    );
    bench.row("first call of users()", counted(shapes::dag), |bb| {
        let first = bb.entry().and_then(|entry| bb.first_inst(entry)).expect("there is a statement");
        bb.users(first)
    });
    bench.row(
        "users() of each value",
        |size| {
            let bb = make(shapes::dag, size);
            let ids: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
            bb.users(ids[0]);
            (ids.len(), (bb, ids))
        },
        |(bb, ids)| ids.iter().map(|&id| bb.users(id).len()).sum::<usize>(),
    );
    bench.row("replace_all_uses (a value, of half of them)", to_replace, replace);
    bench.row(
        "remove (a statement, of half of them)",
        |size| {
            let (count, mut prepared) = to_replace(size);
            replace(&mut prepared);
            let (bb, chosen) = &mut prepared;
            bb.users(chosen[0].0);
            (count, prepared)
        },
        |(bb, chosen)| {
            for (id, _) in chosen.iter() {
                bb.remove(*id).expect("it is not used");
            }
        },
    );
}

fn analyses(bench: &Bench) {
    for (name, shape) in [("dag", shapes::dag as Shape), ("loop nests", shapes::loop_nest)] {
        let name = |analysis: &str| format!("{analysis}, {name}");
        let known = |size| {
            let bb = make(shape, size);
            bb.cfg();
            (bb.inst_count(), bb)
        };
        bench.row(&name("cfg"), counted(shape), |bb| bb.cfg());
        bench.row(&name("dominators"), known, |bb| bb.dominators());
        bench.row(&name("post-dominators"), known, |bb| bb.post_dominators());
        bench.row(&name("frontiers"), known, |bb| {
            Frontiers::new(bb.cfg().graph(), bb.dominators().tree());
        });
        bench.row(&name("loops"), known, |bb| bb.loops());
        bench.row(&name("liveness"), known, |bb| drop(black_box(bb.liveness())));
        bench.row(&name("view"), known, |bb| drop(black_box(bb.view())));
    }
    bench.row(
        "call graph (a call)",
        |size| (size, called(size)),
        |module| {
            drop(black_box(CallGraph::new(module)));
        },
    );
}

fn alone(bb: BBCode) -> Module<BBCode> {
    let mut module = Module::new();
    // The module is empty, so no name is taken.
    let _ = module.add_function(Function::new("shape", Type::FLOAT64, bb));
    module
}

/// A function that calls another at every statement.
fn called(size: usize) -> Module<BBCode> {
    let mut module = alone(make(shapes::calls, size));
    let mut once = make(shapes::dag, 10);
    once.argtypes.truncate(2);
    let _ = module.add_function(Function::new("once", Type::FLOAT64, once));
    module
}

fn of_programs(program: programs::Make, size: usize) -> Module<BBCode> {
    bbkit::to_bbcode(&program(size).expect("the programs of the kit are well formed")).expect("they convert")
}

/// The module with how many statements it has.
fn weighed(module: Module<BBCode>) -> (usize, Module<BBCode>) {
    (module.functions().iter().map(|function| function.body.inst_count()).sum(), module)
}

fn run(names: &[&str], module: &mut Module<BBCode>) {
    let passes = names.iter().map(|name| find_pass(name).expect("the pass is there"));
    let name: Name = module.functions()[0].name.clone();
    PassManager::new(passes).run(module, Some(&name)).expect("the pass runs");
}

/// A program on which the pass has something to do.
fn suitable(pass: &str) -> fn(usize) -> Module<BBCode> {
    match pass {
        "constant-folding" | "constant-propagation" => |size| alone(make(shapes::constant_dag, size)),
        "copy-propagation" => |size| alone(make(shapes::copies, size)),
        "dead-code" => |size| alone(make(shapes::unused, size)),
        "infer-types" => |size| alone(make(shapes::untyped_dag, size)),
        "inlining" => |size| called(size / 20),
        "link-methods" => called,
        "loop-invariant-motion" => |size| alone(make(shapes::loop_nest, size)),
        "lower-arithmetic" => |size| alone(make(shapes::generic_dag, size)),
        "lower-projections" => |size| alone(make(shapes::projections, size)),
        "lower-switch" => |size| alone(make(shapes::switches, size)),
        "mem2reg" => |size| alone(make(shapes::variables, size)),
        "scalar-replacement" => |size| alone(make(shapes::pairs, size)),
        "simplify-cfg" | "split-critical-edges" => |size| alone(make(shapes::detours, size)),
        "unreachable-code" => |size| alone(make(shapes::unreached, size)),
        _ => |size| of_programs(programs::branches, size),
    }
}

fn each_pass(bench: &Bench) {
    for pass in PASSES {
        // Benched at the largest size by the bench `pipeline`.
        let largest = if matches!(pass.name, "reverse-mode" | "linear-maps") { 100_000 } else { usize::MAX };
        let suited = suitable(pass.name);
        bench.row_up_to(pass.name, largest, |size| weighed(suited(size)), |module| run(&[pass.name], module));
        if !matches!(pass.name, "reverse-mode" | "linear-maps") {
            let dag = |size| weighed(alone(make(shapes::dag, size)));
            bench.row(&format!("{}, dag", pass.name), dag, |module| run(&[pass.name], module));
        }
    }
    let pipeline = ["common-subexpressions", "dead-code", "simplify-cfg"];
    let dag = |size| weighed(alone(make(shapes::dag, size)));
    bench.row("common-subexpressions dead-code simplify-cfg", dag, |module| run(&pipeline, module));
}

fn hard_shapes(bench: &Bench) {
    let shapes: [(&str, Shape); 13] = [
        ("one block", shapes::unused),
        ("one value", shapes::one_value),
        ("one user", shapes::one_user),
        ("copies", shapes::copies),
        ("chain of φs", shapes::phi_chain),
        ("empty blocks", shapes::empty_blocks),
        ("early exits", shapes::early_exits),
        ("wide switch", shapes::wide_switch),
        ("decided switch", shapes::decided_switch),
        ("wide join", shapes::wide_join),
        ("wide variable", shapes::wide_variable),
        ("distant variables", shapes::distant_variables),
        ("loop nests", shapes::loop_nest),
    ];
    // Of what is as large as the size says even where the statements are few.
    let sized = |shape: Shape| move |size| (size, make(shape, size));
    for (name, shape) in shapes {
        bench.row_up_to(&format!("verify, {name}"), HARD, sized(shape), |bb| bb.verify().is_ok());
        bench.row_up_to(&format!("print, {name}"), HARD, sized(shape), |bb| bb.to_string());
        bench.row_up_to(&format!("to IRCode, {name}"), HARD, sized(shape), |bb| IRCode::try_from(&*bb).is_ok());
        bench.row_up_to(&format!("replace every value, {name}"), HARD, sized(shape), |bb| {
            let ids: Vec<InstId> =
                bb.all_insts().filter(|(_, inst)| !inst.stmt.is_terminator()).map(|(id, _)| id).collect();
            for id in ids {
                bb.replace_all_uses(id, &Operand::argument(2)).expect("an argument is there everywhere");
                let _ = bb.remove(id);
            }
        });
        bench.row_up_to(&format!("liveness, {name}"), HARD, sized(shape), |bb| drop(black_box(bb.liveness())));
        for pass in PASSES
            .iter()
            .filter(|pass| !["inlining", "link-methods", "reverse-mode", "linear-maps"].contains(&pass.name))
        {
            let prepare = |size| (size, alone(make(shape, size)));
            bench.row_up_to(&format!("{}, {name}", pass.name), HARD, prepare, |module| run(&[pass.name], module));
        }
    }
}
