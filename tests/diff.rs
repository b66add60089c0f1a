//! Comparing programs up to renaming, on random programs.

#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::cell::Cell;

use bbcode::{BBCode, BlockId, Ids, InstId};
use bbkit::{DiffOptions, diff, diff_functions, to_bbcode};
use ircode::{Argument, Constant, Function, NewInstruction, Operand, Stmt, Type};
use kit::anything::{anything, anything_bbcode};
use kit::numeric::{Program, numeric};
use kit::seeds::for_each;

const ALL: DiffOptions = DiffOptions { all: true };

/// Numbers that look random, from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// The same program under other names and in another order: blocks shuffled but for the entry, φs and their entries
/// shuffled, what is not a φ in its order. Made from scratch, so that no name survives.
fn disguised(bb: &BBCode, seed: u64) -> BBCode {
    let mut numbers = Numbers(seed);
    let mut order: Vec<BlockId> = bb.blocks().collect();
    if let Some((_, others)) = order.split_first_mut() {
        numbers.shuffle(others);
    }
    let mut made = BBCode::new(bb.argtypes.clone());
    made.sptypes = bb.sptypes.clone();
    made.debuginfo = bb.debuginfo.clone();
    made.julia = bb.julia;
    made.meta = bb.meta.clone();
    let mut names = Names { blocks: slotmap::SecondaryMap::new(), values: slotmap::SecondaryMap::new() };
    for &block in &order {
        names.blocks.insert(block, made.push_block());
    }
    for &block in &order {
        let mut insts: Vec<_> = bb.insts(block).collect();
        let leading = insts.iter().take_while(|(_, inst)| matches!(inst.stmt, Stmt::Phi(_))).count();
        numbers.shuffle(&mut insts[..leading]);
        for (id, inst) in insts {
            let renamed = NewInstruction { stmt: Stmt::nothing(), ..inst.clone().into() };
            let new = made.push(names.blocks[block], renamed).unwrap();
            names.values.insert(id, new);
        }
    }
    for &block in &order {
        for (id, inst) in bb.insts(block) {
            let Ok(mut stmt) = inst.stmt.map_names(&mut names);
            if let Stmt::Phi(phi) = &mut stmt {
                numbers.shuffle(&mut phi.entries);
            }
            made.inst_mut(names.values[id]).unwrap().stmt = stmt;
        }
        made.set_next(names.blocks[block], bb.next(block).map(|next| names.blocks[next])).unwrap();
        if let Some(odd) = bb.block(block).unwrap().odd_edges() {
            let mut odd = odd.clone();
            for list in [&mut odd.extra_preds, &mut odd.stale_preds, &mut odd.extra_succs, &mut odd.missing_succs] {
                list.iter_mut().for_each(|block| *block = names.blocks[*block]);
            }
            made.set_odd_edges(names.blocks[block], odd).unwrap();
        }
    }
    made
}

struct Names {
    blocks: slotmap::SecondaryMap<BlockId, BlockId>,
    values: slotmap::SecondaryMap<InstId, InstId>,
}

impl ircode::Rename<Ids, Ids> for Names {
    type Error = std::convert::Infallible;

    fn value(&mut self, value: InstId) -> Result<InstId, Self::Error> {
        Ok(self.values[value])
    }

    fn block(&mut self, block: BlockId) -> Result<BlockId, Self::Error> {
        Ok(self.blocks.get(block).copied().unwrap_or(block))
    }

    fn switch(&mut self, switch: &bbcode::Switch<Ids>) -> Result<bbcode::Switch<Ids>, Self::Error> {
        let branches = switch.conds().iter().zip(switch.dests());
        let branches: Vec<_> =
            branches.map(|(cond, &dest)| (cond.map_names(self).unwrap(), self.blocks[dest])).collect();
        Ok(bbcode::Switch::new(branches, self.blocks[switch.fallthrough_dest()]))
    }
}

fn with_body(function: &Function<BBCode>, body: BBCode) -> Function<BBCode> {
    let Ok(function) = function.map(|_| Ok::<_, std::convert::Infallible>(body));
    function
}

fn function(bb: BBCode) -> Function<BBCode> {
    Function::new("f", Type::Untyped, bb)
}

fn difference(a: &Function<BBCode>, b: &Function<BBCode>, options: DiffOptions) -> Result<(), String> {
    let diff = diff_functions(a, b, options);
    if diff.is_equal() { Ok(()) } else { Err(format!("{diff}\n{}", bbcode::print_function(a))) }
}

/// A disguise, in memory and through IRCode, makes no difference.
fn disguises_make_no_difference(of: &Function<BBCode>, seed: u64) -> Result<(), String> {
    let disguise = with_body(of, disguised(&of.body, seed));
    difference(of, &disguise, ALL)?;
    difference(&disguise, of, ALL)?;
    // What is laid out has gotos and blocks more. φs name all their edges first: laying out does so where it puts a
    // block on an edge, which depends on the layout.
    let mut named = of.body.clone();
    named.name_phi_edges();
    let laid_out = with_body(of, named.laid_out().map_err(|error| error.to_string())?);
    let disguise = with_body(of, disguised(&laid_out.body, seed).laid_out().map_err(|error| error.to_string())?);
    difference(&laid_out, &disguise, ALL)
}

#[test]
fn disguised_numeric_programs_are_equal() {
    let seed = Cell::new(0);
    for_each(400, numeric, |program: &Program| {
        seed.set(seed.get() + 1);
        disguises_make_no_difference(&program.bbcode.functions()[0], seed.get())
    })
    .unwrap();
}

#[test]
fn disguised_programs_of_any_statements_are_equal() {
    let (seed, checked) = (Cell::new(0), Cell::new(0));
    for_each(4000, anything, |program| {
        seed.set(seed.get() + 1);
        if program.body.verify().is_err() || !program.body.new_nodes.is_empty() {
            return Ok(());
        }
        checked.set(checked.get() + 1);
        let body = BBCode::try_from(&program.body).map_err(|error| error.to_string())?;
        disguises_make_no_difference(&function(body), seed.get())
    })
    .unwrap();
    assert!(checked.get() > 1200, "{}", checked.get());
}

#[test]
fn disguised_programs_in_any_layout_are_equal() {
    let (seed, checked) = (Cell::new(0), Cell::new(0));
    for_each(2000, anything_bbcode, |program| {
        seed.set(seed.get() + 1);
        if program.body.verify().is_err() {
            return Ok(());
        }
        checked.set(checked.get() + 1);
        disguises_make_no_difference(program, seed.get())
    })
    .unwrap();
    assert!(checked.get() > 600, "{}", checked.get());
}

/// A function of which nothing is reached but its return: loops of gotos of these lengths.
fn loops(lengths: &[usize]) -> Function<BBCode> {
    let mut bb = BBCode::new(vec![Type::function("f")]);
    let entry = bb.push_block();
    bb.push(entry, NewInstruction::new(Stmt::Return(ircode::ReturnNode { value: None }), Type::Any)).unwrap();
    for &length in lengths {
        let blocks: Vec<BlockId> = (0..length).map(|_| bb.push_block()).collect();
        for (place, &block) in blocks.iter().enumerate() {
            bb.push(block, NewInstruction::new(Stmt::goto(blocks[(place + 1) % length]), Type::Any)).unwrap();
        }
    }
    function(bb)
}

/// What no block and no edge tells apart, but for how long the loops are.
#[test]
fn loops_that_nothing_reaches_are_matched_by_their_lengths() {
    let lengths = [1, 2, 3, 6, 2, 1, 4, 3, 5, 1];
    for seed in 0..100 {
        disguises_make_no_difference(&loops(&lengths), seed).unwrap();
    }
    assert!(difference(&loops(&[6]), &loops(&[3, 3]), ALL).is_err());
    assert!(difference(&loops(&[1, 5, 2]), &loops(&[4, 2, 2]), ALL).is_err());
}

/// As many alike as there may be, in little time.
#[test]
fn many_that_are_alike_are_matched() {
    disguises_make_no_difference(&loops(&[1; 20_000]), 1).unwrap();
    disguises_make_no_difference(&loops(&[20_000]), 2).unwrap();
    disguises_make_no_difference(&loops(&[100; 200]), 3).unwrap();
    let mut phis = String::from("function f()\n1 ─ nothing::Nothing\n2 ┄ %2 = φ (#1 => 1, #2 => %3)::Int64\n");
    for number in 3..20_000 {
        phis.push_str(&format!(
            "│ %{number} = φ (#1 => 1, #2 => %{})::Int64\n",
            if number % 2 == 1 { number } else { 2 }
        ));
    }
    phis.push_str("└── goto #2\nend\n");
    let module = to_bbcode(&ircode::parse_module(&phis).unwrap().module).unwrap();
    disguises_make_no_difference(&module.functions()[0], 4).unwrap();
}

/// Changes one thing; `None` if there is nothing to change in the place that was chosen.
fn edited(bb: &BBCode, numbers: &mut Numbers) -> Option<(BBCode, &'static str)> {
    let mut made = bb.clone();
    let ids: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
    let id = *ids.get(numbers.below(ids.len()))?;
    let stmt = bb.stmt(id)?.clone();
    let kind = numbers.below(8);
    let what = match kind {
        0 if !stmt.is_terminator() => {
            made.inst_mut(id)?.ty = Type::named("Another");
            "the type"
        }
        1 => {
            let Stmt::Call(call) = &mut made.inst_mut(id)?.stmt else { return None };
            call.callee = Operand::global("Base", "another");
            "the callee"
        }
        2 if !stmt.is_terminator() && !matches!(stmt, Stmt::Phi(_)) => {
            made.remove_unchecked(id).ok()?;
            made.for_each_operand_mut(|operand| {
                if operand.as_value() == Some(id) {
                    *operand = 77.into();
                }
            });
            "a statement is gone"
        }
        3 if !matches!(stmt, Stmt::Phi(_)) => {
            made.insert_before(id, NewInstruction::new(Stmt::Value(Constant::int64(77).into()), Type::INT64)).ok()?;
            "a new statement"
        }
        4 => {
            let mut at = 0;
            let mut changed = false;
            let place = numbers.below(4);
            made.inst_mut(id)?.stmt.for_each_operand_mut(&mut |operand| {
                if at == place {
                    *operand = Argument(991).into();
                    changed = true;
                }
                at += 1;
            });
            if !changed {
                return None;
            }
            "an operand"
        }
        5 => {
            let Stmt::Phi(phi) = &mut made.inst_mut(id)?.stmt else { return None };
            phi.entries.pop()?;
            "an entry of a φ"
        }
        6 => {
            // Both ways of a branch change places.
            let block = bb.block_of(id)?;
            let (terminator, _) = bb.terminator(block)?;
            let next = bb.next(block)?;
            let Stmt::GotoIfNot(goto) = &mut made.inst_mut(terminator)?.stmt else { return None };
            let dest = goto.dest;
            if dest == next {
                return None;
            }
            goto.dest = next;
            made.set_next(block, Some(dest)).ok()?;
            "the ways of a branch"
        }
        7 => {
            let Stmt::Call(call) = &mut made.inst_mut(id)?.stmt else { return None };
            let last = call.args.len().checked_sub(1)?;
            if last == 0 || call.args[0] == call.args[last] {
                return None;
            }
            let (first, second) = (call.args[0].clone(), call.args[last].clone());
            call.args[0] = second;
            call.args[last] = first;
            "the order of operands"
        }
        _ => return None,
    };
    Some((made, what))
}

/// How many of many edits a comparison misses, and the first of them. Edits that give an equal program by symmetry —
/// two φs that are the same, a branch on whose ways the same happens — are few.
fn missed(compare: impl Fn(&Function<BBCode>, &Function<BBCode>) -> bool) -> (usize, usize, String) {
    let (missed, made, first) = (Cell::new(0), Cell::new(0), std::cell::RefCell::new(String::new()));
    for_each(150, numeric, |program: &Program| -> Result<(), String> {
        let of = &program.bbcode.functions()[0];
        let mut numbers = Numbers(made.get());
        for _ in 0..12 {
            let Some((body, what)) = edited(&of.body, &mut numbers) else { continue };
            made.set(made.get() + 1);
            let other = with_body(of, disguised(&body, made.get()));
            if compare(of, &other) {
                missed.set(missed.get() + 1);
                let listing = || format!("{what}\n{}\n{}", bbcode::print_function(of), bbcode::print_function(&other));
                first.replace_with(|text| if text.is_empty() { listing() } else { std::mem::take(text) });
            }
        }
        Ok(())
    })
    .unwrap();
    (missed.get(), made.get() as usize, first.into_inner())
}

#[test]
fn every_edit_is_found() {
    let (missed, made, first) = missed(|a, b| diff_functions(a, b, DiffOptions::default()).is_equal());
    assert!(made > 500, "{made}");
    // By symmetry: both ways of a branch may count down and go back to where they came from.
    assert!(missed * 100 <= made, "{missed} of {made}: {first}");
}

/// Lines, flags and infos count if asked, and not otherwise.
#[test]
fn attributes_count_if_asked() {
    let edit = Cell::new(0);
    for_each(300, anything, |program| -> Result<(), String> {
        if program.body.verify().is_err() || !program.body.new_nodes.is_empty() {
            return Ok(());
        }
        let of = function(BBCode::try_from(&program.body).map_err(|error| error.to_string())?);
        let mut body = of.body.clone();
        let mut numbers = Numbers(edit.get());
        edit.set(edit.get() + 1);
        let ids: Vec<InstId> = body.all_insts().map(|(id, _)| id).collect();
        let inst = body.inst_mut(ids[numbers.below(ids.len())]).unwrap();
        match numbers.below(3) {
            0 => inst.flag += 100,
            1 => inst.line.line += 100,
            _ => inst.info.0 = Some("another".into()),
        }
        let other = with_body(&of, disguised(&body, edit.get()));
        difference(&of, &other, DiffOptions::default())?;
        if difference(&of, &other, ALL).is_ok() { Err(bbcode::print_function(&of)) } else { Ok(()) }
    })
    .unwrap();
    assert!(edit.get() > 100);
}

/// Comparers that forget something do not find every edit.
#[test]
fn a_comparer_that_forgets_something_is_caught() {
    let without = |forget: fn(&mut BBCode)| {
        move |a: &Function<BBCode>, b: &Function<BBCode>| {
            let (mut a, mut b) = (a.clone(), b.clone());
            forget(&mut a.body);
            forget(&mut b.body);
            diff_functions(&a, &b, DiffOptions::default()).is_equal()
        }
    };
    fn types(bb: &mut BBCode) {
        let ids: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
        ids.into_iter().for_each(|id| bb.inst_mut(id).unwrap().ty = Type::Any);
    }
    fn callees(bb: &mut BBCode) {
        let ids: Vec<InstId> = bb.all_insts().map(|(id, _)| id).collect();
        for id in ids {
            if let Stmt::Call(call) = &mut bb.inst_mut(id).unwrap().stmt {
                call.callee = Operand::global("Base", "something");
            }
        }
    }
    assert!(missed(without(types)).0 > 10);
    assert!(missed(without(callees)).0 > 10);
}

/// A change at the start of a long function leaves what depends on it matched.
#[test]
fn what_follows_a_change_is_matched() {
    for (name, make) in kit::programs::SHAPES {
        let module = to_bbcode(&make(2_000).unwrap()).unwrap();
        let mut changed = module.clone();
        let body = changed.body_mut(name).unwrap();
        let first = body.all_insts().find(|(_, inst)| matches!(inst.stmt, Stmt::Call(_))).map(|(id, _)| id).unwrap();
        if let Stmt::Call(call) = &mut body.inst_mut(first).unwrap().stmt {
            call.callee = Operand::global("Base", "another");
        }
        body.insert_before(first, NewInstruction::new(Stmt::nothing(), Type::Nothing)).unwrap();
        let difference = diff(&module, &changed, ALL);
        let rows = difference.functions[0].rows.iter().filter(|row| row.change.is_some()).count();
        assert_eq!(rows, 3, "{name}\n{difference}");
    }
}

/// Programs of a hundred thousand statements, equal and not, in little time.
#[test]
fn long_programs_are_compared() {
    for (name, make) in kit::programs::SHAPES {
        let module = to_bbcode(&make(100_000).unwrap()).unwrap();
        assert!(diff(&module, &module.clone(), ALL).is_equal(), "{name}");
        let other = to_bbcode(&make(50_000).unwrap()).unwrap();
        assert!(!diff(&module, &other, ALL).is_equal(), "{name}");
    }
}

/// A listing does not say in which module what it shows between its operands is.
#[test]
fn builtins_are_the_same_with_and_without_their_module() {
    let listing = "1 ─ %1 = (_2 === 1)::Bool\n│   %2 = (_2 isa Int64)::Bool\n│   %3 = Core.tuple(%1, %2)::Tuple{Bool, Bool}\n└──      return %3\n";
    let dump = listing.replace("(_2 === 1)", "Core.:(===)(_2, 1)").replace("(_2 isa Int64)", "Core.isa(_2, Int64)");
    assert_eq!(compared(listing, &dump), "");
    // An operator may be one of the program's own.
    let [own, known] =
        ["(_2 + 1)::Any", "Base.:+(_2, 1)::Any"].map(|call| format!("1 ─ %1 = {call}\n└──      return %1\n"));
    assert_ne!(compared(&own, &known), "");
}

/// Two programs of one function each.
fn compared(a: &str, b: &str) -> String {
    let read = |text: &str| to_bbcode(&ircode::parse_module(text).unwrap().module).unwrap();
    diff(&read(a), &read(b), DiffOptions::default()).to_string()
}

#[test]
fn a_function_that_calls_itself_is_equal_only_to_one_that_does() {
    let program = |name: &str, called: &str| {
        format!("function {name}(x::Float64)::Float64\n1 ─ %1 = Main.{called}(x)::Float64\n└──      return %1\nend\n")
    };
    assert_eq!(compared(&program("f", "f"), &program("g", "g")), "");
    assert_eq!(compared(&program("f", "h"), &program("g", "h")), "");
    // The one calls another `g`, which is not what calls itself.
    assert_ne!(compared(&program("g", "g"), &program("f", "g")), "");
    assert_ne!(compared(&program("f", "g"), &program("g", "g")), "");
}

#[test]
fn what_is_not_reached_may_name_a_goto() {
    let program = "
function f(x::Float64)::Float64
1 ─      return x
2 ─      goto #3
3 ─ %3 = Base.mul_float(%2, x)::Float64
└──      return %3
end
";
    assert_eq!(compared(program, program), "");
}
