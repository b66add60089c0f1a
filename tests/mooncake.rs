//! What Mooncake's own tests expect of its basic-block code, and what its code gets wrong or leaves open: each is a
//! test here. The names of the tests say what must hold.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::bbcode::{BBCode, BlockId, InstId, OddEdges, Switch, new_inst};
use bbkit::exec::{Machine, Value};
use bbkit::ircode::{
    BlockNumber, Function, IRCode, LineInfo, Module, NewInstruction, Operand, SSAValue, Stmt, Type, parse_function,
    parse_module,
};
use bbkit::passes::reverse_mode::differentiate;

fn ir(text: &str) -> IRCode {
    parse_function(text).unwrap().body
}

fn bb(text: &str) -> BBCode {
    BBCode::try_from(&ir(text)).unwrap()
}

fn blocks(bb: &BBCode) -> Vec<BlockId> {
    bb.blocks().collect()
}

fn insts(bb: &BBCode) -> Vec<InstId> {
    bb.all_insts().map(|(id, _)| id).collect()
}

fn nothing() -> NewInstruction<bbkit::bbcode::Ids> {
    new_inst(Stmt::nothing(), Type::Nothing)
}

fn ret(value: i64) -> NewInstruction<bbkit::bbcode::Ids> {
    new_inst(Stmt::ret(value), Type::Any)
}

/// The value of the only function, without a name, on these arguments.
fn run(bb: &BBCode, args: &[Value]) -> String {
    let mut module = Module::new();
    module.add_function(Function::new("f", Type::Untyped, IRCode::try_from(bb).unwrap())).unwrap();
    Machine::new(&module).call("f", args).unwrap().to_string()
}

const WHILE_LOOP: &str = "
1 ─      goto #2
2 ┄ %2 = φ (#1 => 3, #3 => %6)::Int64
│   %3 = φ (#1 => _2, #3 => %5)::Float64
└──      goto #4 if not true
3 ─ %5 = cos(%3)::Float64
│   %6 = Base.sub_int(%2, 1)::Int64
│   %7 = Base.slt_int(0, %6)::Bool
└──      goto #2 if not false
4 ─      return %3
";

mod blocks_and_statements {
    use super::*;

    #[test]
    fn names_are_equal_to_themselves_only() {
        let mut code = BBCode::new(vec![]);
        let (a, b) = (code.push_block(), code.push_block());
        assert!(a == a && a != b);
        let (x, y) = (code.push(a, nothing()).unwrap(), code.push(a, nothing()).unwrap());
        assert!(x == x && x != y);
    }

    /// Mooncake reseeds a counter to that end; here names belong to the code.
    #[test]
    fn making_the_same_code_twice_gives_the_same_names() {
        let make = || bb(WHILE_LOOP);
        let (one, other) = (make(), make());
        assert_eq!(insts(&one), insts(&other));
        assert_eq!(blocks(&one), blocks(&other));
    }

    /// Names of two threads, or from before and after a reseed, can be equal in Mooncake.
    #[test]
    fn the_name_of_what_is_gone_never_names_anything_else() {
        let mut code = BBCode::new(vec![]);
        let block = code.push_block();
        let old = code.push(block, nothing()).unwrap();
        code.remove(old).unwrap();
        for _ in 0..10 {
            let new = code.push(block, nothing()).unwrap();
            assert_ne!(new, old);
            code.remove(new).unwrap();
        }
        assert!(code.inst(old).is_none() && code.remove(old).is_err());
    }

    #[test]
    fn phis_terminator_and_insertion() {
        let mut code = BBCode::new(vec![]);
        let (block, other) = (code.push_block(), code.push_block());
        let phi = Stmt::phi([(block, Some(true.into())), (other, Some(false.into()))]);
        let phi = code.push(other, new_inst(phi, Type::BOOL)).unwrap();
        code.push(other, new_inst(Stmt::call(Operand::global("Main", "println"), []), Type::Any)).unwrap();
        assert_eq!(code.insts(other).count(), 2);
        assert!(code.phi_nodes(other).map(|(id, _)| id).eq([phi]));
        assert!(code.terminator(other).is_none());

        // Before a φ only what may stand among φs can be inserted: Julia allows `nothing` there.
        let first = code.insert(other, 0, nothing()).unwrap();
        assert_eq!(code.insts(other).count(), 3);
        assert_eq!(code.first_inst(other), Some(first));
        assert!(code.phi_nodes(other).map(|(id, _)| id).eq([phi]), "what stands among φs is none");

        let end = code.insert_before_terminator(other, ret(5)).unwrap();
        assert_eq!(code.last_inst(other), Some(end));
        let before = code.insert_before_terminator(other, nothing()).unwrap();
        assert_eq!((code.prev_inst(end), code.last_inst(other)), (Some(before), Some(end)));
    }

    #[test]
    fn a_block_without_statements_has_no_terminator() {
        let mut code = BBCode::new(vec![]);
        let block = code.push_block();
        assert!(code.terminator(block).is_none() && code.phi_nodes(block).next().is_none());
    }

    #[test]
    fn a_copy_shares_nothing_that_can_change() {
        let original = bb(WHILE_LOOP);
        let mut copy = original.clone();
        let last = *blocks(&copy).last().unwrap();
        copy.insert_at_start(last, nothing()).unwrap();
        let phi = copy.phi_nodes(blocks(&copy)[1]).next().unwrap().0;
        copy.inst_mut(phi).unwrap().ty = Type::Any;
        assert_eq!(original, bb(WHILE_LOOP));
        assert_ne!(original, copy);
    }

    #[test]
    fn what_a_statement_uses() {
        let code = bb("
1 ─ %1 = sin(_2)::Float64
│   %2 = sin(%1)::Float64
│   %3 = sin(%1)::Float64
└──      return %3
");
        let used = code.characterise_used_ids();
        assert!(insts(&code).iter().map(|id| used[*id]).eq([true, false, true, false]));
        // Conditions of switches, φᶜs and ϒs count too: in Mooncake they do not.
        let mut code = bb("
1 ─ %1 = Base.slt_int(_2, 0)::Bool
│   %2 = ϒ (%1)::Bool
└──      goto #2
2 ─ %4 = φᶜ (%2)::Bool
└──      return %4
3 ─      return 1
");
        let (names, all) = (blocks(&code), insts(&code));
        let switch = Switch::new([(all[0].into(), names[1])], names[2]);
        code.replace(all[2], Stmt::Switch(switch)).unwrap();
        let used = code.characterise_used_ids();
        assert!(all.iter().take(4).map(|id| used[*id]).eq([true, true, false, true]));
        assert_eq!(code.users(all[0]).len(), 2);
    }
}

mod control_flow {
    use super::*;

    /// The table of `characterise_unique_predecessor_blocks`.
    #[test]
    fn unique_predecessors() {
        let cases: &[(&str, &str, &str)] = &[
            ("1 ─ return 5", "T", "T"),
            ("1 ─ goto #2\n2 ─ return 5", "TT", "TT"),
            ("1 ─ goto #3 if not true\n2 ─ return 5\n3 ─ return 5", "TFF", "TTT"),
            ("1 ─ goto #3 if not true\n2 ─ goto #4\n3 ─ goto #4\n4 ─ return 0", "TFFT", "TTTF"),
            ("1 ─ goto #1 if not true\n2 ─ return 5", "TT", "FT"),
        ];
        for (text, unique, pred_is_unique) in cases {
            let code = bb(text);
            let found = code.characterise_unique_predecessor_blocks();
            let letters = |flag: &dyn Fn(BlockId) -> bool| -> String {
                code.blocks().map(|block| if flag(block) { 'T' } else { 'F' }).collect()
            };
            assert_eq!(letters(&|block| found.is_unique_predecessor(block)), *unique, "{text}");
            assert_eq!(letters(&|block| found.predecessor_is_unique(block)), *pred_is_unique, "{text}");
        }
    }

    #[test]
    fn the_graph_is_that_of_the_ircode() {
        let code = ir(WHILE_LOOP);
        assert_eq!(BBCode::try_from(&code).unwrap().control_flow_graph().unwrap(), code.cfg);
    }

    #[test]
    fn reachability_and_distance() {
        let code = bb("1 ─ return nothing\n2 ─ %2 = sin(5.0)\n└── goto #3\n3 ─ return %2");
        assert_eq!(code.is_reachable(), [true, false, false]);
        assert_eq!(code.distance_to_entry(), [Some(0), None, None]);
        let mut code = code;
        assert!(code.remove_unreachable_blocks());
        assert_eq!(insts(&code).len(), 1);
        // Header with a loop to itself, body, unreachable.
        let code = bb("1 ─ goto #1 if not _2\n2 ─ return 1\n3 ─ return 2");
        assert_eq!(code.distance_to_entry(), [Some(0), Some(1), None]);
    }

    #[test]
    fn removing_unreachable_blocks_keeps_the_names_of_the_others() {
        let mut code = bb("1 ─ goto #3\n2 ─ nothing\n3 ┄ %3 = φ (#2 => false, #1 => true)\n└── return %3");
        let names = blocks(&code);
        assert!(code.remove_unreachable_blocks());
        assert_eq!(blocks(&code), [names[0], names[2]]);
        let lowered = IRCode::try_from(&code).unwrap().to_string();
        assert_eq!(lowered, "1 ─      goto #2\n2 ─ %2 = φ (#1 => true)\n└──      return %2\n");
        assert!(!code.remove_unreachable_blocks());
    }

    #[test]
    fn sorting_is_by_distance() {
        // The entry goes to c; a and b are not reached.
        let mut code = bb("1 ─ goto #4\n2 ─ return 1\n3 ─ return 2\n4 ─ return 3");
        let names = blocks(&code);
        code.sort_blocks();
        assert_eq!(blocks(&code), [names[0], names[3], names[1], names[2]]);
        // A chain e, x, y that is laid out as e, y, x.
        let mut code = bb("1 ─ goto #3\n2 ─ return 1\n3 ─ goto #2");
        let names = blocks(&code);
        code.sort_blocks();
        assert_eq!(blocks(&code), [names[0], names[2], names[1]]);
    }

    /// In Mooncake the else-target is the next block, whichever that is, so that sorting is valid only where nothing
    /// falls through.
    #[test]
    fn the_layout_means_nothing() {
        let mut code = bb("
1 ─ %1 = Base.slt_int(_2, 0)::Bool
└──      goto #4 if not %1
2 ─      nothing
3 ─      return 2
4 ─      goto #3 if not _3
5 ─      return 5
");
        let before = [(-1, true), (1, true), (1, false)].map(|(n, b)| run(&code, &[Value::from(n), Value::from(b)]));
        assert_eq!(before, ["2", "5", "2"]);
        code.sort_blocks();
        let after = [(-1, true), (1, true), (1, false)].map(|(n, b)| run(&code, &[Value::from(n), Value::from(b)]));
        assert_eq!(before, after);
    }

    #[test]
    fn catch_blocks_are_successors_and_reached() {
        let code = bb("
1 ─ %1 = enter #3
2 ─      $(Expr(:leave, :(%1)))
└──      goto #4
3 ┄      $(Expr(:pop_exception, :(%1)))::Any
└──      goto #4
4 ┄      return 1
");
        let names = blocks(&code);
        assert_eq!(code.successors(names[0]), [names[2], names[1]]);
        assert_eq!(code.is_reachable(), [true; 4]);
        assert_eq!(code.compute_all_successors()[names[0]], [names[2], names[1]]);
    }

    #[test]
    fn predecessors_come_in_layout_order_and_as_often_as_there_are_edges() {
        let mut code = bb("1 ─ goto #4 if not _2\n2 ─ goto #4 if not _2\n3 ─ goto #4\n4 ─ return 1");
        let names = blocks(&code);
        assert_eq!(code.compute_all_predecessors()[names[3]], [names[0], names[1], names[2]]);
        code.set_next(names[0], Some(names[3])).unwrap();
        assert_eq!(code.compute_all_predecessors()[names[3]], [names[0], names[0], names[1], names[2]]);
        assert_eq!(code.successors(names[0]), [names[3], names[3]]);
    }
}

mod conversion {
    use super::*;

    fn round_trip(code: &IRCode) {
        let there = BBCode::try_from(code).unwrap();
        assert_eq!(IRCode::try_from(&there).unwrap(), *code);
    }

    #[test]
    fn every_statement_type_line_and_flag_comes_back() {
        let mut code = ir(WHILE_LOOP);
        for n in 0..code.stmts.len() {
            let n32 = n as i32;
            code.stmts.lines_mut()[n] = LineInfo::from([n32, n32 + 1, n32 + 2]);
            code.stmts.flags_mut()[n] = n as u32;
        }
        let there = BBCode::try_from(&code).unwrap();
        assert_eq!(there.block_count(), code.cfg.blocks.len());
        assert_eq!(there.collect_stmts().len(), code.stmts.len());
        assert!(there.all_insts().map(|(id, _)| there.id_to_line_map()[id]).eq(1..=code.stmts.len() as u32));
        round_trip(&code);
    }

    /// Three integers a statement, also of one that was inserted.
    #[test]
    fn an_inserted_statement_brings_its_line_and_changes_no_other() {
        let code = ir("1 ─ %1 = sin(_2)::Float64\n└── return %1");
        let mut there = BBCode::try_from(&code).unwrap();
        let line = LineInfo::from([123, 45, 6]);
        let block = there.entry().unwrap();
        there.insert_before_terminator(block, nothing().with_line(line)).unwrap();
        let back = IRCode::try_from(&there).unwrap();
        assert_eq!(back.stmts.len(), code.stmts.len() + 1);
        assert_eq!(back.stmts.lines()[1], line);
        assert_eq!([back.stmts.lines()[0], back.stmts.lines()[2]], [code.stmts.lines()[0], code.stmts.lines()[1]]);
    }

    #[test]
    fn pending_nodes_are_refused_and_not_forgotten() {
        let mut code = ir(WHILE_LOOP);
        code.insert_node(SSAValue(1), NewInstruction::new(Stmt::nothing(), Type::Nothing), false).unwrap();
        assert_eq!(BBCode::try_from(&code).unwrap_err().to_string(), "it has 1 pending node: compact the code first");
    }

    #[test]
    fn exception_handling_comes_back() {
        round_trip(&ir("
1 ─ %1 = ϒ (_2)::Int64
│   %2 = enter #3
2 ─ %3 = ϒ (1)::Int64
│        $(Expr(:leave, :(%2)))
└──      goto #4
3 ┄ %6 = φᶜ (%1, %3)::Int64
│        $(Expr(:pop_exception, :(%2)))::Any
└──      goto #4
4 ┄ %9 = φ (#2 => 1, #3 => %6)::Int64
└──      return %9
"));
    }

    #[test]
    fn the_virtual_edge_comes_back() {
        let mut code = ir(
            "1 ─ nothing\n2 ┄ %2 = φ (#1 => 1, #2 => %3)\n│ %3 = Base.add_int(%2, 1)\n└── goto #2 if not _2\n3 ─ return %3",
        );
        code.cfg.blocks[0].preds.push(BlockNumber::VIRTUAL);
        round_trip(&code);
    }

    #[test]
    fn blocks_without_statements_and_a_branch_in_the_last_block_come_back() {
        let mut code = ir("1 ─ nothing\n2 ─ nothing\n3 ─ return 1");
        code.cfg.blocks[0].stmts = 0..2;
        code.cfg.blocks[1].stmts = 2..2;
        round_trip(&code);
        // `_remove_double_edges` looks behind the last block.
        let looping = ir("1 ─ goto #2\n2 ┄ goto #2 if not _2");
        let there = BBCode::try_from(&looping).unwrap();
        assert_eq!(IRCode::try_from(&there).unwrap().stmts.len(), 2);
    }

    #[test]
    fn a_branch_to_where_it_falls_through_becomes_a_goto() {
        let mut code = bb("1 ─ goto #3 if not _2\n2 ─ return 1\n3 ─ return 2");
        let names = blocks(&code);
        let branch = code.first_inst(names[0]).unwrap();
        code.replace(branch, Stmt::goto_if_not(Operand::argument(2), names[1])).unwrap();
        let laid_out = code.laid_out().unwrap();
        assert_eq!(laid_out.stmt(branch), Some(&Stmt::goto(names[1])));
        // A block that needs nothing stays as it is.
        let other = bb("1 ─ goto #3 if not _2\n2 ─ return 1\n3 ─ return 2");
        assert_eq!(other.laid_out().unwrap(), other);
    }

    /// Upstream, φs of the destinations go on naming the block of the switch, which does not go there any more, and a
    /// block with nothing but a switch becomes one without statements, which fails.
    #[test]
    fn lowering_a_switch_tells_the_phis_of_its_destinations() {
        let mut code = bb("
1 ─      goto #4 if not _2
2 ─      return 2
3 ─      return _3
4 ┄ %4 = φ (#1 => 7)::Int64
└──      return %4
");
        let names = blocks(&code);
        let goto = code.first_inst(names[0]).unwrap();
        let conds: [Operand<_>; 2] = [Operand::argument(2), Operand::argument(3)];
        let [a, b] = conds;
        let switch = Switch::new([(a, names[1]), (b, names[3])], names[3]);
        code.replace(goto, Stmt::Switch(switch)).unwrap();
        assert_eq!(code.successors(names[0]), [names[1], names[3], names[3]]);
        code.verify().unwrap();
        let results = |code: &BBCode| {
            [(false, false), (true, false), (true, true)].map(|(a, b)| run(code, &[Value::from(a), Value::from(b)]))
        };
        let lowered = code.laid_out().unwrap();
        assert_eq!(lowered.block_count(), code.block_count() + 3);
        lowered.verify().unwrap();
        assert!(lowered.terminator(names[0]).is_none());
        assert_eq!(results(&lowered), ["2", "7", "7"]);
        let phi = lowered.phi_nodes(names[3]).next().unwrap().1.stmt.as_phi().unwrap().entries.len();
        assert_eq!(phi, 2);
    }

    #[test]
    fn a_switch_without_conditions_is_a_goto() {
        let mut code = bb("1 ─ goto #2\n2 ─ return 2");
        let names = blocks(&code);
        let goto = code.first_inst(names[0]).unwrap();
        code.replace(goto, Stmt::Switch(Switch::new([], names[1]))).unwrap();
        assert_eq!(run(&code, &[]), "2");
    }

    #[test]
    fn argument_types_are_kept() {
        let mut code = ir(WHILE_LOOP);
        code.argtypes = vec![Type::function("f"), Type::FLOAT64, Type::Any];
        code.sptypes = vec![Type::INT64];
        round_trip(&code);
    }

    /// Blocks and statements share one kind of name in Mooncake. Here mixing them up does not compile; what does not
    /// exist is an error.
    #[test]
    fn a_block_that_is_gone_is_an_error() {
        let mut code = bb("1 ─ goto #2\n2 ─ return 2");
        let gone = blocks(&code)[1];
        code.remove_block_unchecked(gone).unwrap();
        assert!(IRCode::try_from(&code).is_err() && code.verify().is_err());
    }

    #[test]
    fn edges_that_no_terminator_implies_are_kept() {
        let mut code = bb("1 ─ return 1\n2 ─ goto #3\n3 ─ return 2");
        let names = blocks(&code);
        let odd = OddEdges { extra_succs: vec![names[2]], missing_succs: vec![names[2]], ..OddEdges::default() };
        code.set_odd_edges(names[1], odd.clone()).unwrap();
        let there = IRCode::try_from(&code).unwrap();
        assert_eq!(IRCode::try_from(&BBCode::try_from(&there).unwrap()).unwrap(), there);
    }
}

mod derivatives {
    use super::*;

    const THROWS: &str = "
function f(x::Float64)::Float64
1 ─      goto #2
2 ┄ %2 = φ (#1 => x, #3 => %6)::Float64
│   %3 = φ (#1 => 0, #3 => %7)::Int64
│   %4 = Base.slt_int(%3, 3)::Bool
└──      goto #4 if not %4
3 ─ %6 = sqrt(%2)::Float64
│   %7 = Base.add_int(%3, 1)::Int64
└──      goto #2
4 ─      return %2
end
";

    /// A pullback of Mooncake can be called once, and pops garbage the second time.
    #[test]
    fn a_pullback_can_be_called_again() {
        let mut module = parse_module(THROWS).unwrap().module.map(|f| BBCode::try_from(&f.body)).unwrap();
        let names = differentiate(&mut module, &"f".into()).unwrap();
        let module = bbkit::to_ircode(&module).unwrap();
        let mut machine = Machine::new(&module);
        let forward = machine.call(&names.forward, &[Value::from(16.0)]).unwrap();
        let [_, trace] = forward.as_tuple().unwrap() else { panic!("a value and a trace") };
        let mut pull =
            |seed: f64| machine.call(&names.pullback, &[trace.clone(), Value::from(seed)]).unwrap().to_string();
        let once = pull(1.0);
        assert_eq!(once, pull(1.0));
        assert_ne!(once, pull(2.0));
    }

    /// A forward pass that throws leaves stacks of Mooncake filled.
    #[test]
    fn a_forward_pass_that_throws_leaves_nothing_behind() {
        let module = parse_module(THROWS).unwrap().module;
        let gradient = |x: f64| bbkit::gradient(&module, "f", &[Value::from(x)], Default::default());
        let before = gradient(16.0).unwrap().gradient[0].to_string();
        assert!(gradient(-1.0).is_err());
        assert_eq!(gradient(16.0).unwrap().gradient[0].to_string(), before);
    }

    #[test]
    fn reading_an_empty_stack_is_an_error() {
        let module = parse_module(
            "
function f()::Float64
1 ─ %1 = BBKit.new_stack(Float64)::BBKit.Stack{Float64}
│   %2 = BBKit.stack_get(%1, 1)::Float64
└──      return %2
end
",
        )
        .unwrap()
        .module;
        assert!(Machine::new(&module).call("f", &[]).is_err());
    }

    #[test]
    fn constants_have_the_values_of_julia() {
        let code = bb("1 ─ %1 = sin(_2)::Float64\n│ %2 = cos(%1)::Float64\n└── return %2");
        assert_eq!(run(&code, &[Value::from(5.0)]), (5f64.sin().cos()).to_string());
    }
}
