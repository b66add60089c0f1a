//! Verbs where they are hard: φs that leave out edges, φᶜs, blocks that end by a type, blocks that are not reached.
//! Random scripts are in `tests/kit/src/surgery.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should stop")]

use bbkit::bbcode::{BBCode, BlockId, EditError, Ids, InstId, OddEdges};
use bbkit::exec::{Machine, Value};
use bbkit::ircode::{Function, IRCode, JuliaVersion, Module, NewInstruction, Operand, Stmt, Type, parse_function};

fn bb(text: &str) -> BBCode {
    BBCode::try_from(&parse_function(text).unwrap().body).unwrap()
}

fn blocks(bb: &BBCode) -> Vec<BlockId> {
    bb.blocks().collect()
}

fn insts(bb: &BBCode) -> Vec<InstId> {
    bb.all_insts().map(|(id, _)| id).collect()
}

/// What a function gives and prints, with others that it calls.
fn run(bb: &BBCode, others: &[&Function<BBCode>], args: &[Value]) -> String {
    let mut module = Module::new();
    module.add_function(Function::new("f", Type::Untyped, IRCode::try_from(bb).unwrap())).unwrap();
    for other in others {
        module.add_function(other.map(|body| IRCode::try_from(body)).unwrap()).unwrap();
    }
    let mut printed = String::new();
    let result = Machine::new(&module).on_output(|text| printed.push_str(text)).call("f", args).unwrap();
    format!("{printed}{result}")
}

/// The edge from block 2 is not named: the φ takes what it takes from block 1, which dominates it.
const LEFT_OUT: &str = "
1 ─      goto #3 if not _2
2 ─      goto #3
3 ┄ %3 = φ (#1 => 5)::Int64
└──      return %3
4 ─      return 0
";

/// Up to Julia 1.10 a catch block leaves the handler that caught. What is put before that changes nothing, also where
/// that handler is in another one, which would be left instead.
#[test]
fn a_catch_block_leaves_its_handler_wherever_it_does_so() {
    let original = bb("
1 ─       enter #10
2 ─       enter #7
3 ─       enter #5
4 ─       Base.throw(_2)::Union{}
└──       unreachable
5 ┄       $(Expr(:leave, 1))
6 ─       Base.throw(_2)::Union{}
└──       unreachable
7 ┄       $(Expr(:leave, 1))
8 ─       $(Expr(:leave, 1))
9 ─       return 1.0
10 ┄      $(Expr(:leave, 1))
11 ─      return 2.0
");
    let argument = [Value::from(1.5)];
    let lowered = |code: &BBCode| {
        let mut module = Module::new();
        module.add_function(Function::new("f", Type::Untyped, code.clone())).unwrap();
        assert!(bbkit::passes::lower_exceptions::run(&mut module, None).unwrap());
        module.functions()[0].body.clone()
    };
    assert_eq!(run(&original, &[], &argument), "1.0");
    assert_eq!(run(&lowered(&original), &[], &argument), "1.0");
    let catch = blocks(&original)[4];
    let leave = original.first_inst(catch).unwrap();
    let mut split = original.clone();
    split.split_block(leave).unwrap();
    let mut instrumented = original.clone();
    let say = Stmt::call(Operand::global("Base", "println"), [7.into()]);
    instrumented.insert_at_start(catch, NewInstruction::new(say, Type::Nothing)).unwrap();
    for (code, says) in [(split, ""), (instrumented, "7\n")] {
        code.verify().unwrap();
        assert_eq!(run(&code, &[], &argument), format!("{says}1.0"));
        assert_eq!(run(&lowered(&code), &[], &argument), format!("{says}1.0"));
    }
}

#[test]
fn what_takes_a_token_takes_no_other_value() {
    let mut code = bb("
1 ─ %1 = enter #4
2 ─      $(Expr(:leave, :(%1)))
3 ─      return 1.0
4 ┄      $(Expr(:pop_exception, :(%1)))::Any
└──      return 2.0
");
    let all = insts(&code);
    let refused = |by: Operand<Ids>, code: &mut BBCode| code.replace_all_uses(all[0], &by).unwrap_err();
    assert_eq!(refused(1.into(), &mut code), EditError::NoToken { token: all[0], user: all[3] });
    assert_eq!(code.replace_all_uses(all[0], &Operand::nothing()), Ok(2));
}

#[test]
fn splitting_an_edge_keeps_what_other_edges_bring() {
    let mut code = bb(LEFT_OUT);
    let names = blocks(&code);
    assert_eq!(run(&code, &[], &[Value::from(true)]), "5");
    code.split_edge(names[0], names[2]).unwrap();
    code.verify().unwrap();
    assert_eq!(run(&code, &[], &[Value::from(true)]), "5");
    assert_eq!(run(&code, &[], &[Value::from(false)]), "5");
}

#[test]
fn redirecting_an_edge_keeps_what_other_edges_bring() {
    let mut code = bb(LEFT_OUT);
    let names = blocks(&code);
    code.redirect_edge(names[0], names[2], names[3], &[]).unwrap();
    assert_eq!(run(&code, &[], &[Value::from(true)]), "5");
    assert_eq!(run(&code, &[], &[Value::from(false)]), "0");
}

#[test]
fn an_edge_that_is_there_takes_no_second_value() {
    let mut code = bb("1 ─ goto #3 if not _2\n2 ─ goto #3\n3 ┄ %3 = φ (#1 => 1, #2 => 2)::Int64\n└── return %3");
    let (names, phi) = (blocks(&code), insts(&code)[2]);
    let result = code.redirect_edge(names[0], names[1], names[2], &[(phi, 7.into())]);
    assert_eq!(result, Err(EditError::AlreadyAnEdge { from: names[0], to: names[2] }));
    code.redirect_edge(names[0], names[1], names[2], &[(phi, 1.into())]).unwrap();
    // Nor does one that stays, or one for which two are given.
    let result = code.redirect_edge(names[0], names[2], names[2], &[(phi, 7.into())]);
    assert_eq!(result, Err(EditError::AlreadyAnEdge { from: names[0], to: names[2] }));
    let before = code.clone();
    code.redirect_edge(names[0], names[2], names[2], &[(phi, 1.into())]).unwrap();
    assert_eq!(code.to_string(), before.to_string());
    let mut code = bb("1 ─ goto #2\n2 ─ goto #3\n3 ┄ %3 = φ (#2 => 2)::Int64\n└── return %3");
    let (names, phi) = (blocks(&code), insts(&code)[2]);
    let result = code.redirect_edge(names[0], names[1], names[2], &[(phi, 5.into()), (phi, 6.into())]);
    assert_eq!(result, Err(EditError::AlreadyAnEdge { from: names[0], to: names[2] }));
}

#[test]
fn a_block_is_put_behind_one_that_leads_to_it_and_nowhere_else() {
    let mut code = bb("1 ─ goto #3 if not _2\n2 ─ goto #4\n3 ─ goto #4\n4 ─ return 1");
    let (names, before) = (blocks(&code), code.to_string());
    let because = |because, to: usize, block: usize| {
        Err(EditError::NotMergeable { block: names[block], into: names[to], because })
    };
    assert_eq!(code.append_block_unchecked(names[1], names[2]), because("the other goes elsewhere", 1, 2));
    assert_eq!(code.append_block_unchecked(names[1], names[1]), because("it is the same block", 1, 1));
    let branch = insts(&code)[0];
    assert_eq!(code.append_block_unchecked(names[0], names[2]), Err(EditError::BehindTerminator(branch)));
    assert_eq!(code.to_string(), before);
    let mut odd = code.clone();
    odd.set_odd_edges(names[3], OddEdges { virtual_preds: 1, ..OddEdges::default() }).unwrap();
    let because_odd = because("there are edges that no terminator implies", 1, 3);
    assert_eq!(odd.append_block_unchecked(names[1], names[3]), because_odd);
    code.append_block_unchecked(names[1], names[3]).unwrap();
    assert_eq!(code.to_string(), "1 ─ %1 = goto #3 if not _2\n└── next #2\n2 ─ %4 = return 1\n3 ─ %3 = goto #4\n");
}

/// What ends in a jump or a return falls nowhere, and comes back as it is.
#[test]
fn a_block_that_ends_otherwise_has_no_next() {
    let ends: [fn(BlockId) -> Stmt<Ids>; 2] = [Stmt::goto, |_| Stmt::ret(1)];
    for end in ends {
        let mut code = bb("1 ─ goto #3 if not _2\n2 ─ return 0\n3 ─ return 1");
        let names = blocks(&code);
        assert_eq!(code.next(names[0]), Some(names[1]));
        code.replace(insts(&code)[0], end(names[2])).unwrap();
        assert_eq!(code.next(names[0]), None);
        code.remove_unreachable_blocks();
        let ir = IRCode::try_from(&code).unwrap();
        let back = BBCode::try_from(&ir).unwrap();
        assert_eq!(IRCode::try_from(&back).unwrap(), ir);
        assert_eq!(back.blocks().filter_map(|block| back.next(block)).count(), 0);
    }
}

/// Where the next block is the catch block, too, both edges bring their value when they are laid out.
#[test]
fn a_block_may_go_on_where_it_catches() {
    let mut code = bb("1 ─ enter #3\n2 ─ return _2\n3 ─ %3 = φ (#1 => _2)::Any\n└── return %3");
    let names = blocks(&code);
    code.set_next(names[0], Some(names[2])).unwrap();
    let ir = IRCode::try_from(&code).unwrap();
    let laid_out = "1 ─ enter #4\n2 ─ goto #4\n3 ─ return _2\n4 ─ %4 = φ (#1 => _2, #2 => _2)::Any\n└── return %4";
    assert_eq!(ir, parse_function(laid_out).unwrap().body);
}

const TRY: &str = "
1 ─ %1 = enter #4
2 ─ %2 = ϒ (1)::Int64
│   %3 = Base.checked_sdiv_int(_2, 0)::Int64
└──      $(Expr(:leave, :(%1)))
3 ─      return 0
4 ┄ %6 = φᶜ (%2)::Int64
│        $(Expr(:pop_exception, :(%1)))::Nothing
└──      return %6
";

#[test]
fn a_copied_region_stores_what_the_handler_reads() {
    let mut code = bb(TRY);
    let names = blocks(&code);
    assert_eq!(run(&code, &[], &[Value::from(3)]), "1");
    let copy = code.clone_region(&[names[1]]).unwrap();
    code.redirect_edge(names[0], names[1], copy.block(names[1]), &[]).unwrap();
    code.remove_unreachable_blocks();
    code.verify().unwrap();
    assert_eq!(run(&code, &[], &[Value::from(3)]), "1");
}

#[test]
fn a_handler_reads_only_what_was_stored() {
    let mut code = bb(TRY);
    let all = insts(&code);
    assert!(matches!(code.replace_all_uses(all[1], &7.into()), Err(EditError::NotAvailable { .. })));
}

/// The edge from block 4 is not named: the φ takes what it takes from block 1.
#[test]
fn an_outlined_loop_takes_the_same_values_around() {
    let mut code = bb("
1 ─      goto #3 if not _2
2 ─      nothing
3 ┄ %3 = φ (#1 => 1, #2 => 2)::Int64
│   %4 = φ (#1 => 0, #2 => 0, #4 => %7)::Int64
│        Main.println(%3)::Nothing
│   %6 = Base.slt_int(%4, 2)::Bool
│   %7 = Base.add_int(%4, 1)::Int64
└──      goto #5 if not %6
4 ─      goto #3
5 ─      return %3
");
    code.argtypes = vec![Type::function("f"), Type::BOOL];
    let before = [true, false].map(|way| run(&code, &[], &[Value::from(way)]));
    assert_eq!(before[0], "2\n1\n1\n1");
    let names = blocks(&code);
    let outlined = code.outline("around", &[names[2], names[3]]).unwrap();
    outlined.function.body.verify().unwrap();
    assert_eq!([true, false].map(|way| run(&code, &[&outlined.function], &[Value::from(way)])), before);
}

/// What is not reached may use values before they are there, which a function may not.
#[test]
fn what_is_not_reached_is_not_outlined() {
    let text = "1 ─      return _2
2 ─      goto #3
3 ─ %3 = Base.add_int(%4, 1)::Int64
│   %4 = Base.add_int(%3, 1)::Int64
└──      goto #4
4 ─      return _2";
    let mut code = bb(text);
    let (names, before) = (blocks(&code), code.to_string());
    code.verify().unwrap();
    let because = "control does not come in";
    assert!(code.outline("g", &[names[2]]).unwrap_err().to_string().contains(because));
    assert_eq!(code.to_string(), before);
}

#[test]
fn phis_that_take_each_other_are_not_merged_away() {
    let mut code = bb("
1 ─      return 0
2 ─      goto #3
3 ─ %3 = φ (#2 => 5)::Int64
│   %4 = φ (#2 => %3)::Int64
│   %5 = Base.neg_int(%4)::Int64
└──      goto #2
");
    let names = blocks(&code);
    assert!(matches!(code.merge(names[2]), Err(EditError::NotMergeable { .. })));
    code.verify().unwrap();
}

#[test]
fn what_never_returns_ends_its_block() {
    let text = "
1 ─      goto #3 if not _2
2 ─ %2 = Base.neg_int(1)::Int64
└── %3 = Main.throw(%2)::Union{}
3 ─      return 0
";
    let mut code = bb(text);
    let (names, all) = (blocks(&code), insts(&code));
    code.set_next(names[1], None).unwrap();
    code.verify().unwrap();
    assert_eq!(code.remove(all[2]), Err(EditError::EndsBlock(all[2])));
    assert_eq!(code.hoist(all[2], names[0]), Err(EditError::Immovable(all[2])));
    let nothing = || NewInstruction::new(Stmt::nothing(), Type::Nothing);
    let inserted = code.insert_before_terminator(names[1], nothing()).unwrap();
    assert_eq!(code.next_inst(inserted), Some(all[2]));
    code.cursor_at_end(names[1]).unwrap().insert(nothing()).unwrap();
    assert_eq!(code.last_inst(names[1]), Some(all[2]));
    code.verify().unwrap();
}

#[test]
fn statements_move_into_blocks_without_any() {
    let mut code = bb("
1 ─ %1 = Base.neg_int(_2)::Int64
│   %2 = Base.not_int(%1)::Int64
└──      goto #3 if not _3
2 ─      goto #3
3 ┄      return %1
");
    let (names, all) = (blocks(&code), insts(&code));
    let empty = code.insert_block_after(names[0]).unwrap();
    code.set_next(names[0], Some(empty)).unwrap();
    code.set_next(empty, Some(names[1])).unwrap();
    code.sink(all[1], empty).unwrap();
    assert_eq!((code.first_inst(empty), code.last_inst(empty)), (Some(all[1]), Some(all[1])));
    code.verify().unwrap();
    // It is there already.
    code.hoist(all[1], empty).unwrap();
    // On the other way to the end, nobody would compute it.
    let is_missing = |moved| matches!(moved, Err(EditError::NotAvailable { value, .. }) if value == all[0]);
    assert!(is_missing(code.hoist(all[0], empty)));
    code.hoist(all[1], names[0]).unwrap();
    assert_eq!(code.first_inst(empty), None);
    assert!(is_missing(code.sink(all[0], empty)));
    code.verify().unwrap();
}

#[test]
fn a_preheader_is_there_once_or_cannot_be() {
    // The function begins with the header.
    let mut code = bb("1 ─ goto #1");
    let names = blocks(&code);
    assert_eq!(code.insert_preheader(names[0]), Err(EditError::EntryBlock(names[0])));
    // Two ways into a loop.
    let mut code = bb("1 ─ goto #3 if not _2\n2 ┄ goto #3\n3 ┄ goto #2 if not _3\n4 ─ return 1");
    let names = blocks(&code);
    for block in &names {
        assert_eq!(code.insert_preheader(*block), Err(EditError::NoLoop(*block)));
    }
    // A block that goes to the header alone, and one that enters a handler.
    let mut code = bb("1 ─ goto #2\n2 ┄ goto #2 if not _2\n3 ─ return 1");
    let names = blocks(&code);
    assert_eq!(code.insert_preheader(names[1]), Ok(names[0]));
    let mut code = bb("1 ─ %1 = enter #4\n2 ┄ goto #2 if not _2\n3 ─ return 1\n4 ─ return 2");
    let names = blocks(&code);
    let preheader = code.insert_preheader(names[1]).unwrap();
    assert_eq!((code.predecessors(preheader), code.next(names[0])), (vec![names[0]], Some(preheader)));
    code.verify().unwrap();
}

#[test]
fn what_stands_among_phis_hides_none() {
    let mut code = bb(
        "1 ─ goto #2\n2 ┄ nothing\n│ %3 = φ (#1 => 1, #3 => 2)::Int64\n│ %4 = Base.neg_int(%3)::Int64\n└── goto #4 if not _2\n3 ─ goto #2\n4 ─ return %3",
    );
    let all = insts(&code);
    let call = NewInstruction::new(Stmt::call(Operand::global("Base", "neg_int"), [1.into()]), Type::INT64);
    assert_eq!(code.insert_before(all[1], call), Err(EditError::BeforePhi(all[2])));
    assert_eq!(code.move_before(all[3], all[1]), Err(EditError::BeforePhi(all[2])));
    let behind = code.insert_after(all[3], NewInstruction::new(Stmt::nothing(), Type::Nothing)).unwrap();
    let phi = NewInstruction::new(Stmt::phi([]), Type::INT64);
    assert_eq!(code.insert_after(behind, phi), Err(EditError::PhiInside(all[3])));
    code.verify().unwrap();
}

#[test]
fn a_goto_has_no_result_to_use() {
    let mut code = bb("1 ─ goto #2\n2 ─ %2 = Base.neg_int(_2)::Int64\n└── return %2");
    let all = insts(&code);
    assert!(matches!(code.replace_all_uses(all[1], &all[0].into()), Err(EditError::NoValue(_))));
}

#[test]
fn code_that_was_put_in_the_place_of_other_code_is_whole() {
    let mut code = bb(LEFT_OUT);
    let other = bb("1 ─ return 1");
    let failed: Result<(), EditError> = code.checked(|code| {
        *code = other.clone();
        Err(EditError::NoSuchBlock(BlockId::default()))
    });
    assert!(failed.is_err());
    assert_eq!(code, other);
    let block = code.push_block();
    assert!(code.blocks().any(|each| each == block));
}

/// A block that another one is named for twice, as Julia's edges may be: `; #2 preds #1 #1`.
const NAMED_TWICE: &str = "
function f(_2::Int64)::Int64
; #2 preds #1 #1 succs
1 ─ %1 = Base.neg_int(_2)::Int64
│   %2 = Base.neg_int(%1)::Int64
2 ─ %3 = return %2
end
";

/// Both representations of the code are valid.
#[track_caller]
fn is_valid(bb: &BBCode) {
    bb.verify().unwrap();
    IRCode::try_from(bb).unwrap().verify().unwrap();
}

#[test]
fn an_edge_that_is_named_twice_goes_along() {
    let original = bb(NAMED_TWICE);
    is_valid(&original);
    let ([entry, second], at) = (blocks(&original)[..].try_into().unwrap(), insts(&original)[1]);
    let mut split = original.clone();
    let new = split.split_block(at).unwrap();
    is_valid(&split);
    assert_eq!(split.block(second).unwrap().odd_edges().unwrap().extra_preds, [new]);
    let mut on_edge = original.clone();
    on_edge.split_edge(entry, second).unwrap();
    is_valid(&on_edge);
    // What is put between them in the layout makes a goto necessary.
    let mut between = original.clone();
    let block = between.insert_block_after(entry).unwrap();
    between.push(block, NewInstruction::new(Stmt::unreachable(), Type::Any)).unwrap();
    is_valid(&between);
    is_valid(&between.laid_out().unwrap());
}

#[test]
fn a_predecessor_that_leads_elsewhere_is_none() {
    let mut changed = bb(NAMED_TWICE);
    let [entry, second]: [BlockId; 2] = blocks(&changed)[..].try_into().unwrap();
    changed.set_next(entry, None).unwrap();
    changed.push(entry, NewInstruction::new(Stmt::ret(1), Type::Any)).unwrap();
    is_valid(&changed);
    assert!(changed.block(second).is_some());
    // One that never led there is kept, and complained of.
    let stale = bb(&NAMED_TWICE.replace("#1 #1", "#1 #2"));
    assert!(stale.verify().unwrap_err().to_string().contains("IR04"));
    assert_eq!(stale, BBCode::try_from(&IRCode::try_from(&stale).unwrap()).unwrap());
}

#[test]
fn a_block_that_a_stale_goto_names_is_not_merged() {
    let mut bb = bb("
function f(_2::Int64)::Int64
; #2 preds succs
; #3 preds #1 succs
1 ─ %1 = goto #3
2 ─ %2 = goto #3
3 ─ %3 = return _2
end
");
    is_valid(&bb);
    let error = bb.merge(blocks(&bb)[2]).unwrap_err().to_string();
    assert!(error.contains("a terminator names the block that does not lead to it"), "{error}");
    is_valid(&bb);
}

#[test]
fn what_may_be_undefined_is_no_argument_and_no_result() {
    let program = "
function f(x::Float64, b::Bool)::Float64
1 ─      goto #2
2 ─      goto #4 if not b
3 ─ %3 = Base.sin(x)::Float64
4 ┄ %4 = φ (#3 => %3)::Float64
└──      goto #5
5 ─ %6 = Base.add_float(x, 1.0)::Float64
└──      goto #7 if not b
6 ─ %8 = Base.add_float(%4, %6)::Float64
7 ┄ %9 = φ (#5 => 0.0, #6 => %8)::Float64
└──      goto #8
8 ─      return %9
end
";
    let mut code = bb(program);
    let inner = blocks(&code);
    for region in [&inner[4..7], &inner[1..4]] {
        let error = code.outline("part", region).unwrap_err().to_string();
        assert!(error.contains("may be undefined"), "{error}");
    }
    let [x, no] = [Value::from(1.5), Value::from(false)];
    assert_eq!(run(&code, &[], &[x, no]), "0.0");
}

#[test]
fn a_transaction_that_was_forgotten_is_part_of_the_one_around_it() {
    let mut code = bb("1 ─ %1 = Base.neg_int(_2)::Int64\n└── return %1");
    let before = code.clone();
    let (entry, first) = (blocks(&code)[0], insts(&code)[0]);
    for is_kept in [false, true] {
        let mut outer = code.transaction();
        outer.replace(first, Stmt::Value(1.into())).unwrap();
        let mut inner = outer.transaction();
        let added = NewInstruction::new(Stmt::Value(2.into()), Type::INT64);
        inner.insert_before_terminator(entry, added).unwrap();
        std::mem::forget(inner);
        if is_kept {
            outer.commit()
        } else {
            outer.rollback()
        }
        assert_eq!(code == before, !is_kept);
        assert_eq!(code.inst_count(), before.inst_count() + usize::from(is_kept));
    }
    // Nothing is open any more.
    code.transaction().rollback();
    is_valid(&code);
}

/// Removing a block leaves valid code, or says why not and changes nothing.
#[test]
fn blocks_that_are_removed_are_not_missed() {
    let mut code = bb("
1 ─ %1 = Base.neg_int(_2)::Int64
└──      goto #4
2 ─ %3 = Base.neg_int(_2)::Int64
└──      goto #4
3 ─ %5 = Base.add_int(%3, %1)::Int64
└──      return %5
4 ┄ %7 = φ (#1 => %1, #2 => %3)::Int64
└──      return %7
");
    let before = code.to_string();
    let (of, all) = (blocks(&code), insts(&code));
    assert_eq!(code.remove_block(of[0]), Err(EditError::Reached { block: of[0], from: None }));
    // The φ takes the value of #2 only on the edge from there, but #3 uses it, too.
    assert_eq!(code.remove_block(of[1]), Err(EditError::InUse { used: all[2], user: all[4] }));
    assert!(matches!(code.remove_block(of[3]), Err(EditError::Reached { from: Some(_), .. })));
    assert_eq!(code.to_string(), before);
    for block in [of[2], of[1]] {
        code.remove_block(block).unwrap();
        assert!(code.verify().is_ok(), "{code}");
    }
    assert_eq!(run(&code, &[], &[Value::from(3)]), "-3");
    assert_eq!(code.remove_block(of[1]), Err(EditError::NoSuchBlock(of[1])));
}

/// What an outlined function returns has a type that can be written, also where nothing says of which types its values
/// are.
#[test]
fn what_is_outlined_of_untyped_code_can_be_written() {
    let mut code = bb("
1 ─      goto #2
2 ─ %2 = Main.f(_2)
│   %3 = Main.g(%2)
└──      goto #3
3 ─ %5 = Main.h(%2, %3)
└──      return %5
");
    let second = blocks(&code)[1];
    let outlined = code.outline("part", &[second]).unwrap().function;
    assert_eq!(outlined.result.to_string(), "Tuple{Any, Any}");
    let mut module = Module::new();
    module.add_function(outlined).unwrap();
    module.add_function(Function::new("rest", Type::Untyped, code)).unwrap();
    let module = bbkit::to_ircode(&module).unwrap();
    let text = bbkit::ircode::print_module(&module, bbkit::ircode::Style::Bbkit);
    assert!(bbkit::ircode::parse_module(&text).unwrap().module == module, "{text}");
}

#[test]
fn what_is_inlined_may_be_of_an_older_julia() {
    let mut code = bb("1 ─ %1 = Main.g(_2)::Float64\n└──      return %1\n");
    code.julia = Some(JuliaVersion::new(1, 12));
    let mut callee = Function::new("g", Type::FLOAT64, bb("1 ─      return _2\n"));
    callee.body.julia = Some(JuliaVersion::new(1, 9));
    code.inline_call(insts(&code)[0], &callee).unwrap();
    // What Julia asks of code since then, the inlined part need not meet.
    assert_eq!(code.julia, Some(JuliaVersion::new(1, 9)));
}

#[test]
fn what_belongs_to_a_catch_block_stays_there() {
    let mut code = bb("
1 ─ %1 = enter #4
2 ─ %2 = Base.arrayref(true, _2, 1)::Float64
└──      $(Expr(:leave, :(%1)))
3 ─      return %2
4 ┄ %5 = $(Expr(:the_exception))::Any
│        $(Expr(:pop_exception, :(%1)))
└──      return %5
");
    let names = blocks(&code);
    let exception = code.first_inst(names[3]).unwrap();
    let before = code.to_string();
    assert!(matches!(code.hoist(exception, names[0]), Err(EditError::Immovable(_))));
    assert_eq!(code.to_string(), before);
}

#[test]
fn an_edge_that_no_statement_takes_is_not_split() {
    let mut code = bb("1 ─ return 1\n2 ─ nothing\n3 ─ return 2\n4 ─ return 3\n");
    let names = blocks(&code);
    code.set_odd_edges(names[1], OddEdges { extra_succs: vec![names[3]], ..OddEdges::default() }).unwrap();
    assert!(matches!(code.split_edge(names[1], names[3]), Err(EditError::FixedEdge { .. })));
}

#[test]
fn what_returns_in_the_care_of_a_handler_is_not_inlined() {
    // What follows the call would be in the care of the callee's handler, if that has not left it.
    let returning = |leave: &str| {
        parse_function(&format!(
            "
function g(x::Float64)::Float64
1 ─ %1 = enter #4
2 ─      {leave}
3 ─      return x
4 ┄      $(Expr(:leave, 1))
└──      return -1.0
end
"
        ))
        .unwrap()
        .map(|body| BBCode::try_from(body))
        .unwrap()
    };
    let code = || {
        bb("
function f(x::Float64)::Float64
1 ─ %1 = invoke Main.g(x::Float64)::Float64
│        Core.throw(%1)::Union{}
└──      unreachable
end
")
    };
    let mut caller = code();
    let before = caller.to_string();
    let error = caller.inline_call(insts(&caller)[0], &returning("nothing")).unwrap_err();
    assert!(matches!(error, EditError::NotInlinable { .. }), "{error}");
    assert_eq!(caller.to_string(), before);
    let callee = returning("$(Expr(:leave, 1))");
    let mut caller = code();
    caller.inline_call(insts(&caller)[0], &callee).unwrap();
    // What is thrown behind the call leaves the function, as before.
    let mut module = Module::new();
    module.add_function(Function::new("f", Type::Untyped, IRCode::try_from(&caller).unwrap())).unwrap();
    assert!(Machine::new(&module).call("f", &[Value::from(2.5)]).is_err());
}
