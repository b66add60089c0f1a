//! Gradients of functions of one block, which are written as one function at once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::bbcode::BBCode;
use bbkit::exec::{Limits, Value};
use bbkit::ircode::{Module, Name, Operand, Scalar, ScalarType, Stmt, parse_module};
use bbkit::passes::reverse_mode::{Options, derive};
use kit::one_block::{OneBlock, block_agrees, one_block};
use kit::seeds::for_each;

const LIMITS: Limits = Limits { steps: 20_000, memory: 1 << 24, depth: 100 };

#[test]
fn the_gradient_of_a_block_is_that_of_its_two_passes() {
    for_each(5_000, one_block, |made| block_agrees(made, LIMITS, &|_, _| {})).unwrap();
}

/// What is known of a statement before the function runs, and what the listing leaves open.
#[test]
fn what_is_known_before_counts() {
    let double = || Value::from(0.75);
    let programs: [(&str, Vec<Value>); 8] = [
        // x is added up as one, be it under another name.
        (
            "x::Float64
1 ─ %1 = Base.mul_float(x, 1.0)::Float64
│   %2 = Base.mul_float(%1, -1.0e16)::Float64
│   %3 = Base.mul_float(x, 3.0)::Float64
│   %4 = Base.mul_float(%1, 1.0e16)::Float64
│   %5 = Base.add_float(%2, %3)::Float64
│   %6 = Base.add_float(%5, %4)::Float64
└──      return %6",
            vec![double()],
        ),
        // The way that is not taken has no derivative that is no number.
        (
            "x::Float64, z::Float64
1 ─ %1 = Base.sqrt_llvm(z)::Float64
│   %2 = Core.ifelse(true, x, %1)::Float64
│   %3 = Base.mul_float(%2, x)::Float64
└──      return %3",
            vec![double(), Value::from(0.0)],
        ),
        (
            "x::Float64
1 ─ %1 = Base.neg_float(x)::Float64
│   %2 = Base.neg_float(%1)::Float64
│   %3 = Base.mul_float(%2, x)::Float64
│   %4 = Base.sub_float(%3, 0.0)::Float64
└──      return %4",
            vec![double()],
        ),
        // Julia prints `Int32(1)` like this.
        (
            "x::Float64, n::Int32
1 ─ %1 = Core.:(===)(n, 1)::Bool
│   %2 = Base.neg_float(x)::Float64
│   %3 = Core.ifelse(%1, x, %2)::Float64
└──      return %3",
            vec![double(), Value::Scalar(Scalar::from_i128(ScalarType::Int32, 1).unwrap())],
        ),
        // A primitive takes a part of the operands.
        (
            "x::Float64
1 ─ %1 = invoke Base.Math._log(x::Float64, $(QuoteNode(Val{2}()))::Val{2}, :log2::Symbol)::Float64
└──      return %1",
            vec![double()],
        ),
        // Types that are not as they are said to be.
        (
            "x::Float32\n1 ─ %1 = Core.typeassert(x, Core.Float64)::Float64\n└── return %1",
            vec![Value::Scalar(Scalar::from_float(ScalarType::Float32, 1.5).unwrap())],
        ),
        ("x::Float64, b::Bool\n1 ─ %1 = Core.ifelse(b, x, 1.0f0)::Float64\n└── return %1", vec![double(), true.into()]),
        // The result does not depend on the argument.
        ("x::Float64\n1 ─ %1 = Core.ifelse(false, x, 1.0)::Float64\n└── return %1", vec![double()]),
    ];
    for (body, args) in programs {
        let (head, body) = body.split_once('\n').unwrap();
        let text = format!("function f({head})::Float64\n{body}\nend");
        let module = parse_module(&text).unwrap().module;
        block_agrees(&OneBlock { module, args, result: ScalarType::Float64 }, LIMITS, &|_, _| {}).unwrap();
    }
}

/// No function of the program is replaced, whichever of the names it has.
#[test]
fn names_that_are_taken_are_told() {
    let text = |name: &str| {
        format!(
            "function {name}(x::Float64)::Float64\n1 ─ return x\nend\n\
             function f(x::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, x)::Float64\n└── return %1\nend\n"
        )
    };
    for name in ["f_value_and_gradient", "f_fwd_once", "f_pb_once"] {
        let mut module = bbkit::to_bbcode(&parse_module(&text(name)).unwrap().module).unwrap();
        let error = derive(&mut module, &"f".into(), &Options { only_joined: true, ..Options::default() });
        assert!(error.unwrap_err().to_string().contains(name), "{name}");
    }
    // This one is not asked for.
    let mut module = bbkit::to_bbcode(&parse_module(&text("f_accumulate_gradient")).unwrap().module).unwrap();
    derive(&mut module, &"f".into(), &Options { only_joined: true, ..Options::default() }).unwrap();
}

/// A mistake in a rule, a sum that is not added up, or a cotangent that is another one's is found.
#[test]
fn a_wrong_gradient_is_caught() {
    let caught = |from: &str, to: &str| {
        let mistaken = |module: &mut Module<BBCode>, name: &Name| {
            let body = module.body_mut(name).unwrap();
            // The last one is of the way backwards.
            let called = |stmt: &Stmt<_>| matches!(stmt, Stmt::Call(call) if matches!(&call.callee, Operand::Global(global) if *global.name == *from));
            let last = body.all_insts().filter(|(_, inst)| called(&inst.stmt)).map(|(id, _)| id).last();
            if let Some(Stmt::Call(call)) = last.and_then(|id| body.inst_mut(id)).map(|inst| &mut inst.stmt) {
                call.callee = Operand::global("Base", to);
            }
        };
        let found = std::cell::Cell::new(0);
        for_each(400, one_block, |made| {
            found.set(found.get() + usize::from(block_agrees(made, LIMITS, &mistaken).is_err()));
            Ok::<(), String>(())
        })
        .unwrap();
        found.get()
    };
    for (from, to) in [("mul_float", "add_float"), ("add_float", "sub_float"), ("div_float", "mul_float")] {
        let found = caught(from, to);
        assert!(found > 10, "{to} for {from}: {found}");
    }
}
