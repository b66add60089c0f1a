//! Counted loops in several versions: one as it is written, one in which nothing needs a check, and copies of its body
//! one after the other in which also the test whether there is another round is left out.
//!
//! Before the loop it is decided whether all accesses stay inside of their arrays. If so, control goes through the
//! copies as long as there are rounds for all of them, and through the version without checks for the rest. Otherwise
//! it goes through the loop as it is written, which fails where it must.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;
use hashbrown::HashMap;
use ircode::{IRCode, Operand, Positions, ScalarType};

use super::endings::Ending;
use super::residents::Resident;
use super::straight::StraightLoop;
use super::vectors::Window;
use super::{Check, CountedLoop, Index, MOST_ROUNDS, Space, known_dims};
use crate::native::function::phis::{completed, successors};
use crate::native::function::{Compiled, FunctionCompiler};
use crate::native::layout::{Parts, array};

/// Bodies up to so many statements are copied so often.
const COPIES: [(usize, i64); 2] = [(20, 4), (40, 2)];

/// A loop, and what its versions share.
#[derive(Debug)]
pub(crate) struct VersionedLoop {
    pub(crate) counted: CountedLoop,
    /// The header of the version without checks.
    unchecked: ir::Block,
    /// Where several rounds are done without a test between them.
    several: ir::Block,
    /// How these rounds are done if the loop is a straight one; known once it is entered.
    window: Option<Window>,
    /// For each check, the address of the first element.
    data: Vec<Variable>,
    /// How many rounds are left of which it is known that another one follows.
    left: Variable,
    /// Statements that push on stacks that have room for all rounds.
    roomy: bool,
    /// Whether an edge that leads into the loop was compiled.
    entered: bool,
    /// Where control goes when there are too few rounds left for a turn, if turns do the last round, too.
    rest: Option<ir::Block>,
    /// The elements that stay in registers in all versions but the one as it is written.
    pub(crate) residents: Vec<Resident>,
}

impl VersionedLoop {
    /// Whether the loop as it is written has nothing to do if no round fails and objects share no memory.
    pub(crate) fn is_rarely_as_written(&self) -> bool {
        let rarely = |straight: &StraightLoop| straight.is_large() && !straight.forks;
        self.rest.is_some() && self.counted.straight.as_deref().is_some_and(rarely)
    }

    /// Where control goes when there are too few rounds left for a turn.
    fn rest(&self) -> ir::Block {
        self.rest.unwrap_or(self.unchecked)
    }

    /// How many rounds are done without a test between them.
    fn rounds_at_once(&self) -> Option<i64> {
        let copies = || COPIES.iter().find(|(largest, _)| self.counted.statements <= *largest).map(|(_, count)| *count);
        self.window.as_ref().map(|window| window.rounds).or_else(copies)
    }
}

/// The version of a loop that is being compiled.
#[derive(Debug)]
pub(crate) struct Version {
    /// The number of the loop.
    pub(crate) number: usize,
    blocks: HashMap<usize, ir::Block>,
    /// Where control goes at the end of a round.
    next: ir::Block,
    /// Whether it is known that another round follows.
    goes_on: bool,
}

impl FunctionCompiler<'_, '_> {
    /// Prepares the loops of a function that get several versions.
    pub(crate) fn plan_versions(&mut self, counted: Vec<CountedLoop>) {
        for counted in counted {
            let useful = !counted.checks.is_empty() || !counted.pushes.is_empty();
            if !useful {
                continue;
            }
            let versioned = VersionedLoop {
                unchecked: self.builder.create_block(),
                several: self.builder.create_block(),
                window: None,
                data: counted.checks.iter().map(|_| self.variable(clif::I64)).collect(),
                left: self.variable(clif::I64),
                roomy: false,
                entered: false,
                rest: None,
                residents: self.declare_residents(counted.residents.as_deref()),
                counted,
            };
            for &statement in &versioned.counted.behind {
                if let Some(several) = self.of_several.get_mut(statement) {
                    *several = true;
                }
            }
            self.versioned.insert(versioned.counted.header, self.loops.len());
            self.loops.push(versioned);
        }
    }

    /// Compiles the versions of a loop beside the one as it is written.
    pub(crate) fn compile_versions(&mut self, ir: &IRCode, number: usize) -> Compiled<()> {
        self.compile_several_and_unchecked(ir, number)?;
        let Some(versioned) = self.loops.get(number) else { return Ok(()) };
        // What enters the loop was compiled before.
        let blocks = [Some(versioned.unchecked), Some(versioned.several), versioned.rest];
        blocks.into_iter().flatten().for_each(|block| self.builder.seal_block(block));
        Ok(())
    }

    fn compile_several_and_unchecked(&mut self, ir: &IRCode, number: usize) -> Compiled<()> {
        let Some(versioned) = self.loops.get(number) else { return Ok(()) };
        let (blocks, header) = (versioned.counted.blocks.clone(), versioned.counted.header);
        let (unchecked, first, left) = (versioned.unchecked, versioned.several, versioned.left);
        let (count, rest) = (versioned.rounds_at_once(), versioned.rest());
        if let Some(mut window) = self.loops.get_mut(number).and_then(|versioned| versioned.window.take()) {
            self.builder.switch_to_block(first);
            let residents = self.residents_in(number, &window);
            self.compile_turn(&window, &residents, unchecked)?;
            self.go_on_after(first, rest, left, window.rounds);
            if rest != unchecked {
                self.builder.switch_to_block(rest);
                let (more, done) = (self.builder.create_block(), self.builder.create_block());
                let left = self.read_variable(left);
                let one_more = window.is_large() && window.rounds == 2;
                self.builder.ins().brif(left, if one_more { more } else { unchecked }, &[], done, &[]);
                if one_more {
                    self.builder.switch_to_block(more);
                    (window.rounds, window.lanes) = (1, 1);
                    self.compile_turn(&window, &residents, unchecked)?;
                    self.builder.ins().jump(done, &[]);
                }
                self.seal(&[more, done]);
                self.builder.switch_to_block(done);
                self.leave_done(ir, number)?;
            }
            if window.is_large()
                && let Some(as_written) = self.block(header)
            {
                // Where turns are not possible, rounds are done by the loop as it is written: another version of so
                // much would take long to compile.
                self.builder.switch_to_block(unchecked);
                let residents = self.loops.get(number).map(|versioned| versioned.residents.clone());
                self.put_back_residents(&residents.unwrap_or_default());
                self.builder.ins().jump(as_written, &[]);
                return Ok(());
            }
        } else if let Some(count) = count {
            let again = self.builder.create_block();
            let mut this = first;
            for copy in 0..count {
                let next = if copy + 1 == count { again } else { self.builder.create_block() };
                self.compile_version(ir, number, &blocks, header, this, next, true)?;
                this = next;
                self.seal(&[next]);
            }
            self.builder.switch_to_block(again);
            self.go_on_after(first, unchecked, left, count);
        }
        self.compile_version(ir, number, &blocks, header, unchecked, unchecked, false)
    }

    /// Leaves a loop of which turns have done the last round, too.
    fn leave_done(&mut self, ir: &IRCode, number: usize) -> Compiled<()> {
        let Some(versioned) = self.loops.get(number) else { return Ok(()) };
        let (test, exit) = (versioned.counted.test, versioned.counted.exit(ir));
        let (endings, residents) = (versioned.counted.endings.clone().unwrap_or_default(), versioned.residents.clone());
        self.put_back_residents(&residents);
        let mut values = Vec::with_capacity(endings.len());
        for Ending { statement, phi, less } in endings {
            let Some(held) = self.held(phi) else { return self.refuse("a φ that is not there") };
            let (mut value, _) = self.value_in_variables(&held);
            if let Some(next) = value.one().filter(|_| less != 0) {
                value.parts = Parts::from_slice(&[self.builder.ins().iadd_imm_s(next, -less)]);
            }
            values.push((statement, value));
        }
        values.iter().for_each(|(statement, value)| self.define(*statement, value));
        self.unwinding = self.unwinding_from(test);
        self.jump(ir, test, exit)
    }

    /// The elements that stay in registers, with their groups and offsets in a window.
    fn residents_in(&self, number: usize, window: &Window) -> Vec<(usize, i64, Variable)> {
        let Some(versioned) = self.loops.get(number) else { return Vec::new() };
        let places = versioned.counted.residents.as_ref().map(|residents| window.places_of(residents));
        let places = places.unwrap_or_default().into_iter().zip(&versioned.residents);
        places.filter_map(|(place, resident)| place.map(|(group, offset)| (group, offset, resident.number))).collect()
    }

    /// Goes on behind several rounds.
    fn go_on_after(&mut self, several: ir::Block, unchecked: ir::Block, left: Variable, count: i64) {
        let before = self.read_variable(left);
        let rest = self.builder.ins().iadd_imm_s(before, -count);
        self.write_variable(left, rest);
        self.go_on(several, unchecked, rest, count);
    }

    /// Does several rounds at once if there are that many.
    fn go_on(&mut self, several: ir::Block, unchecked: ir::Block, left: ir::Value, count: i64) {
        let enough = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, left, count);
        self.builder.ins().brif(enough, several, &[], unchecked, &[]);
    }

    #[allow(clippy::too_many_arguments, reason = "a version is all of these")]
    fn compile_version(
        &mut self,
        ir: &IRCode,
        number: usize,
        blocks: &[usize],
        header: usize,
        start: ir::Block,
        next: ir::Block,
        goes_on: bool,
    ) -> Compiled<()> {
        let mut map = HashMap::with_capacity(blocks.len());
        for &block in blocks {
            let compiled = if block == header { start } else { self.builder.create_block() };
            map.insert(block, compiled);
        }
        self.version = Some(Version { number, blocks: map, next, goes_on });
        for (&block, completed) in blocks.iter().zip(completed(ir, blocks)) {
            let compiled =
                |this: &Self, block| this.version.as_ref().and_then(|version| version.blocks.get(&block)).copied();
            let Some(place) = compiled(self, block) else { continue };
            self.builder.switch_to_block(place);
            self.compile_block(ir, block)?;
            // Edges to the header lead elsewhere.
            for block in completed.into_iter().filter(|block| *block != header) {
                let place = compiled(self, block);
                self.seal(place.as_slice());
            }
        }
        self.version = None;
        Ok(())
    }

    /// Where a jump inside of the version that is being compiled leads; `None` if it leaves the loop.
    pub(crate) fn target_in_version(&self, to: usize) -> Option<ir::Block> {
        let version = self.version.as_ref()?;
        let header = self.loops.get(version.number)?.counted.header;
        if to == header {
            return Some(version.next);
        }
        version.blocks.get(&to).copied()
    }

    /// Where the branch at the end of a block leads, if it is known that the loop goes on.
    pub(crate) fn known_branch(&self, block: usize) -> Option<usize> {
        let version = self.version.as_ref().filter(|version| version.goes_on)?;
        let counted = &self.loops.get(version.number)?.counted;
        (counted.test == block).then_some(counted.stays)
    }

    /// The address of the first element of what the current statement accesses, if it needs no check.
    pub(crate) fn unchecked_data(&mut self) -> Option<ir::Value> {
        let version = self.version.as_ref()?;
        let versioned = self.loops.get(version.number)?;
        let check = *versioned.counted.covered.get(&self.statement)?;
        let variable = *versioned.data.get(check)?;
        Some(self.read_variable(variable))
    }

    /// Whether there is room on the stack on which the current statement pushes.
    pub(crate) fn has_room(&self) -> bool {
        let versioned = self.version.as_ref().and_then(|version| self.loops.get(version.number));
        versioned.is_some_and(|versioned| versioned.roomy && versioned.counted.pushes.contains(&self.statement))
    }

    /// Enters a loop that has several versions, after its φs were given what they start with.
    pub(crate) fn enter_loop(&mut self, ir: &IRCode, number: usize, as_written: ir::Block) -> Compiled<()> {
        let Some(rounds) = self.rounds(ir, number)? else {
            self.builder.ins().jump(as_written, &[]);
            return Ok(());
        };
        let mut fine = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, rounds, MOST_ROUNDS);
        let checks = self.loops.get(number).map(|versioned| versioned.counted.checks.clone()).unwrap_or_default();
        for (index, check) in checks.iter().enumerate() {
            let Some(inside) = self.check_all_rounds(ir, number, index, check, rounds)? else {
                self.builder.ins().jump(as_written, &[]);
                return Ok(());
            };
            fine = self.builder.ins().band(fine, inside);
        }
        let residents = self.loops.get(number).and_then(|versioned| versioned.counted.residents.clone());
        if let Some(residents) = &residents
            && let Some(apart) = self.residents_apart(ir, residents)?
        {
            fine = self.builder.ins().band(fine, apart);
        }
        let fast = self.builder.create_block();
        self.builder.ins().brif(fine, fast, &[], as_written, &[]);
        self.seal(&[fast]);
        self.builder.switch_to_block(fast);
        if let Some(residents) = &residents {
            let into = self.loops.get(number).map(|versioned| versioned.residents.clone()).unwrap_or_default();
            self.load_residents(ir, residents, &into)?;
        }
        self.make_room(number, rounds, as_written)?;
        let Some(versioned) = self.loops.get(number) else { return Ok(()) };
        let (unchecked, several, left) = (versioned.unchecked, versioned.several, versioned.left);
        let (straight, prepared) = (versioned.counted.straight.clone(), versioned.entered);
        let to_its_end = versioned.counted.endings.is_some() && straight.is_some() && !self.leads_into_loop(ir, number);
        // Where turns do the last round, too, it is one of those that are left.
        let all = if to_its_end { self.builder.ins().iadd_imm_s(rounds, 1) } else { rounds };
        self.write_variable(left, all);
        // Where two edges lead into the loop, what is prepared on one is not there on the other.
        let window = match straight.filter(|_| !prepared) {
            Some(straight) => self.prepare_window(ir, &straight, rounds, unchecked)?,
            None => None,
        };
        // Each element that stays must be found there, too.
        let found = |window: &Window| match &residents {
            Some(residents) => window.places_of(residents).iter().all(Option::is_some),
            None => true,
        };
        let window = window.filter(found);
        let rest = if to_its_end && window.is_some() { Some(self.builder.create_block()) } else { None };
        if let Some(versioned) = self.loops.get_mut(number) {
            versioned.entered = true;
            if !prepared {
                (versioned.window, versioned.rest) = (window, rest);
            }
        }
        let versioned = self.loops.get(number).filter(|versioned| versioned.window.is_none() || !prepared);
        let left_now = if versioned.is_some_and(|versioned| versioned.rest.is_some()) { all } else { rounds };
        let at_once = versioned.and_then(|versioned| versioned.rounds_at_once().map(|count| (count, versioned.rest())));
        self.write_variable(left, left_now);
        match at_once {
            Some((count, rest)) => self.go_on(several, rest, left_now, count),
            None => {
                self.builder.ins().jump(unchecked, &[]);
            }
        }
        Ok(())
    }

    /// Whether control enters another loop that has several versions right where it leaves this one.
    fn leads_into_loop(&self, ir: &IRCode, number: usize) -> bool {
        let Some(left) = self.loops.get(number).map(|versioned| &versioned.counted) else { return false };
        let mut leads =
            left.blocks.iter().flat_map(|block| successors(ir, *block).into_iter().map(move |to| (block, to)));
        leads.any(|(from, to)| {
            let entered = self.versioned.get(&to).and_then(|other| self.loops.get(*other));
            !left.blocks.contains(&to) && entered.is_some_and(|entered| entered.counted.before == *from)
        })
    }

    /// The number of the last round, counted from 0.
    fn rounds(&mut self, ir: &IRCode, number: usize) -> Compiled<Option<ir::Value>> {
        let Some(versioned) = self.loops.get(number) else { return Ok(None) };
        let rounds = &versioned.counted.rounds;
        let (first, bound, step, less) = (rounds.first.clone(), rounds.bound.clone(), rounds.step, rounds.less);
        let (ordered, inclusive) = (rounds.tests_beyond, rounds.inclusive);
        let (Some(first), Some(bound)) = (self.invariant(ir, &first)?, self.invariant(ir, &bound)?) else {
            return Ok(None);
        };
        let (from, to) = if step > 0 { (first, bound) } else { (bound, first) };
        let distance = self.builder.ins().isub(to, from);
        let last = self.builder.ins().iadd_imm_s(distance, -less);
        if !ordered {
            return Ok(Some(last));
        }
        // Where the order decides, there is no round if the bound is behind, also where the difference wraps around.
        let mut ahead = self.builder.ins().icmp(IntCC::SignedLessThanOrEqual, from, to);
        if inclusive {
            let furthest = if step > 0 { i64::MAX } else { i64::MIN };
            let ends = self.builder.ins().icmp_imm_s(IntCC::NotEqual, bound, furthest);
            ahead = self.builder.ins().band(ahead, ends);
        }
        let none = self.builder.ins().iconst(clif::I64, -1);
        Ok(Some(self.builder.ins().select(ahead, last, none)))
    }

    /// An integer that does not change in the loop, computed before it.
    pub(crate) fn invariant(&mut self, ir: &IRCode, operand: &Operand<Positions>) -> Compiled<Option<ir::Value>> {
        if let Operand::Value(value) = operand
            && let Some(index) = value.index()
            && !self.is_compiled(index)
        {
            // It stands in the loop: a sum or a product of what does not change.
            let Some(stmt) = ir.stmts.stmts().get(index) else { return Ok(None) };
            let module = self.module.clone();
            let Some((primitive, [a, b])) = module.primitive_call(stmt) else { return Ok(None) };
            let (Some(a), Some(b)) = (self.invariant(ir, a)?, self.invariant(ir, b)?) else { return Ok(None) };
            return Ok(match primitive.name {
                "add_int" => Some(self.builder.ins().iadd(a, b)),
                "sub_int" => Some(self.builder.ins().isub(a, b)),
                "mul_int" => Some(self.builder.ins().imul(a, b)),
                _ => None,
            });
        }
        // What may be undefined is an error where it is used, which need not happen in the loop.
        let (value, None) = self.peek(ir, operand)? else { return Ok(None) };
        Ok(value.one().filter(|_| value.layout.scalar() == Some(ScalarType::Int64)))
    }

    /// Whether an index stays inside of its object from the first round to the last.
    fn check_all_rounds(
        &mut self,
        ir: &IRCode,
        number: usize,
        index: usize,
        check: &Check,
        rounds: ir::Value,
    ) -> Compiled<Option<ir::Value>> {
        let (object, None) = self.peek(ir, &check.object)? else { return Ok(None) };
        let (data, size) = match (check.space, self.array(&object)) {
            (Space::Array, Some(array)) => {
                (self.header_word(&array, array::DATA), self.header_word(&array, array::LENGTH))
            }
            (Space::Dimension(dimension), Some(array)) if dimension < array.rank && array.rank > 1 => {
                let at = array::dimension(dimension);
                (self.header_word(&array, array::DATA), self.header_word(&array, at))
            }
            (Space::Stack, None) => match self.stack_words(&check.object) {
                Some(words) => words,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        if let Some(variable) = self.loops.get(number).and_then(|versioned| versioned.data.get(index)).copied() {
            self.write_variable(variable, data);
        }
        let size = match self.known_size(ir, check) {
            Some(known) => self.builder.ins().iconst(clif::I64, known),
            None => size,
        };
        let Some(first) = self.index_at_start(ir, &check.index)? else { return Ok(None) };
        let mut ends = vec![first];
        if check.index.factor != 0 {
            let last = self.builder.ins().iadd_imm_s(rounds, i64::from(check.beyond));
            let way = self.builder.ins().imul_imm_s(last, check.index.factor);
            ends.push(self.builder.ins().iadd(first, way));
        }
        let mut inside: Option<ir::Value> = None;
        for least in ends {
            let greatest = self.builder.ins().iadd_imm_s(least, check.spread);
            for end in if check.spread == 0 { vec![least] } else { vec![least, greatest] } {
                let this = self.builder.ins().icmp(IntCC::UnsignedLessThan, end, size);
                inside = Some(match inside {
                    Some(others) => self.builder.ins().band(others, this),
                    None => this,
                });
            }
        }
        Ok(inside)
    }

    /// The size of an array that the function makes for a number that it knows. Where the indices are known, too,
    /// nothing is left to decide when it runs.
    fn known_size(&self, ir: &IRCode, check: &Check) -> Option<i64> {
        if self.compiler.resized().contains(&ir.operand_type(&check.object)) {
            return None;
        }
        let dims = known_dims(&self.module, ir, &check.object)?;
        match check.space {
            Space::Array if dims.len() == 1 => dims.first().copied(),
            Space::Dimension(dimension) => dims.get(dimension as usize).copied(),
            _ => None,
        }
    }

    /// An index in the first round, counted from 0.
    pub(crate) fn index_at_start(&mut self, ir: &IRCode, index: &Index) -> Compiled<Option<ir::Value>> {
        let mut sum = self.builder.ins().iconst(clif::I64, index.constant.wrapping_sub(1));
        for (factor, operand) in &index.terms {
            let Some(value) = self.invariant(ir, operand)? else { return Ok(None) };
            let term = match factor {
                1 => value,
                factor => self.builder.ins().imul_imm_s(value, *factor),
            };
            sum = self.builder.ins().iadd(sum, term);
        }
        Ok(Some(sum))
    }

    /// Gives the stacks on which the loop pushes room for all rounds. Where there is no memory for that, the loop is
    /// done as it is written: it may end before.
    fn make_room(&mut self, number: usize, rounds: ir::Value, as_written: ir::Block) -> Compiled<()> {
        let grown = self.loops.get(number).map(|versioned| versioned.counted.grown.clone()).unwrap_or_default();
        for (made, times) in grown {
            let more = self.builder.ins().iadd_imm_s(rounds, 2);
            let more = self.builder.ins().imul_imm_s(more, times);
            self.make_room_on(made, more, as_written)?;
        }
        if let Some(versioned) = self.loops.get_mut(number) {
            versioned.roomy = true;
        }
        Ok(())
    }
}
