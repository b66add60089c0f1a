//! Where code gives memory back: at the end of a loop's round, and where a function returns, if nothing that was made
//! since then outlives it.
//!
//! The position in the memory is remembered on the way into the loop, or into the function, and gone back to on the way
//! around, out of the loop, or out of the function. Errors go past that: what is thrown may hold objects, and whoever
//! catches it is not among the code that gives memory back.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types as clif;
use cranelift_frontend::Variable;
use hashbrown::{HashMap, HashSet};
use ircode::graph::{LoopForest, LoopId};
use ircode::primitives::ResultType;
use ircode::{IRCode, Module, Operand, Positions, Stmt, Type};

use super::escapes::{Body, Effects, Expected, Stretch, Summaries};
use super::phis::reverse_postorder;
use super::sites::Work;
use super::{FunctionCompiler, Typed, trusted};
use crate::native::compiler::Signature;
use crate::native::layout::{Kind, Layout, Layouts};
use crate::native::loops::flow_graph;
use crate::native::runtime::context::offset;
use crate::native::runtime::helpers::Helper;

/// Loops give no memory back in functions that nest them deeper than this: each is looked at with all that it contains.
const DEEPEST: usize = 16;

/// What the functions of a program do that is of use here.
#[derive(Debug, Default)]
pub(crate) struct Summarized {
    pub(crate) summaries: Summaries,
    /// Whether some function makes objects.
    makes: bool,
    /// Whether the code for a statement is not what was expected of it.
    pub(crate) surprised: bool,
}

impl Summarized {
    /// Adds a function, if it is known what it does. Those that it calls are there already.
    pub(crate) fn add(
        &mut self,
        module: &Module<IRCode>,
        number: usize,
        ir: &IRCode,
        layouts: &mut Layouts,
        signature: &Signature,
    ) {
        // What a function collects in a tuple may be an object that is made for the call.
        if signature.varargs {
            return;
        }
        let body = Body::new(module, ir, layouts, signature);
        if let Some(stretch) = Stretch::follow(&body, &self.summaries, &reverse_postorder(ir)) {
            self.insert(number, stretch.effects);
        }
    }

    /// Adds a function that the interpreter runs, if nothing becomes of objects that it is given, or of global ones.
    pub(crate) fn add_interpreted(
        &mut self,
        module: &Module<IRCode>,
        number: usize,
        never_returns: bool,
        signature: &Signature,
    ) {
        let mut given = signature.parameters.iter().chain([&signature.result]);
        if never_returns || module.global_constants().is_empty() && given.all(|layout| layout.copies()) {
            self.insert(number, Effects { makes: !never_returns, ..Effects::default() });
        }
    }

    fn insert(&mut self, number: usize, effects: Effects) {
        self.makes |= effects.makes;
        self.summaries.insert(number, effects);
    }
}

/// A loop at the end of whose rounds memory is given back.
#[derive(Debug)]
struct LoopScope {
    id: LoopId,
    header: usize,
    /// Whether nothing that is made in it is used after it.
    leaves_nothing: bool,
    /// Where the memory was when control came into the loop.
    mark: Variable,
}

/// Where a function gives memory back.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    forest: Option<LoopForest>,
    /// By header.
    loops: HashMap<usize, LoopScope>,
    /// Where the memory was when the function was called, if it gives back all that it makes.
    whole: Option<Variable>,
    /// The statements that use objects which are given back while the function runs, or when it returns.
    given_back: HashSet<usize>,
    /// What is expected of the code for its statements.
    expected: Vec<Option<Expected>>,
}

impl Scopes {
    /// Where the memory was when the loop of this header was entered, if it gives some back.
    pub(crate) fn mark_of(&self, header: usize) -> Option<Variable> {
        self.loops.get(&header).map(|scope| scope.mark)
    }

    /// Where the memory was when the loops around a block were entered.
    pub(crate) fn marks_around(&self, block: usize) -> Vec<Variable> {
        let Some(forest) = &self.forest else { return Vec::new() };
        let around = self.loops.values().filter(|scope| forest.contains(scope.id, block));
        around.map(|scope| scope.mark).collect()
    }
}

impl FunctionCompiler<'_, '_> {
    /// Finds out where the function gives memory back, and remembers where the memory is now.
    pub(crate) fn plan_scopes(&mut self, ir: &IRCode, signature: &Signature) {
        let Some(summarized) = self.compiler.summarized.take() else { return };
        // Where nothing makes objects, there is nothing to give back.
        if summarized.makes {
            let module = self.module.clone();
            let body = Body::new(&module, ir, &mut self.compiler.layouts, signature);
            self.scopes.expected = (0..ir.stmts.len()).map(|index| body.expected(index)).collect();
            self.find_loops(&body, &summarized.summaries);
            let effects = summarized.summaries.get(&self.number);
            if effects.is_some_and(|effects| effects.makes && !effects.keeps)
                && signature.result.kind == Kind::Plain
                && let Some(stretch) = Stretch::follow(&body, &summarized.summaries, &reverse_postorder(ir))
            {
                self.scopes.given_back.extend(stretch.using_inside());
                let mark = self.variable(clif::I64);
                self.scopes.whole = Some(mark);
                self.remember(mark);
            }
        }
        self.compiler.summarized = Some(summarized);
    }

    fn find_loops(&mut self, body: &Body<'_>, summaries: &Summaries) {
        let ir = body.ir;
        let forest = flow_graph(ir).loops();
        // By header, the blocks of each loop, and whether one makes objects.
        let mut members: HashMap<usize, (Vec<usize>, bool)> = HashMap::new();
        for block in reverse_postorder(ir) {
            if forest.depth(block) > DEEPEST {
                return;
            }
            let range = ir.cfg.blocks.get(block).map(|block| block.stmts.clone()).unwrap_or_default();
            let makes = range.into_iter().any(|index| body.may_make(index, summaries));
            let mut around = forest.innermost(block).and_then(|id| forest.get(id));
            while let Some(found) = around {
                let (blocks, any) = members.entry(found.header).or_default();
                blocks.push(block);
                *any |= makes;
                around = found.parent.and_then(|id| forest.get(id));
            }
        }
        members.retain(|_, (_, makes)| *makes);
        if members.is_empty() {
            return;
        }
        let users = users(body);
        for (id, found) in forest.iter().filter(|(_, found)| !found.irreducible && found.header != 0) {
            let Some((blocks, _)) = members.get(&found.header) else { continue };
            let Some(stretch) = Stretch::follow(body, summaries, blocks) else { continue };
            let carries = ir.cfg.blocks.get(found.header).is_none_or(|header| {
                let phis = header.stmts.clone().filter(|&index| is_phi(ir, index));
                phis.into_iter().any(|phi| stretch.origins.get(&phi).is_none_or(|origins| origins.inside))
            });
            if stretch.effects.keeps || carries {
                continue;
            }
            self.scopes.given_back.extend(stretch.using_inside());
            let made = stretch.origins.iter().filter(|(_, origins)| origins.inside).map(|(index, _)| index);
            let mut used_at = made.flat_map(|index| users.get(index)).flatten();
            let leaves_nothing = used_at.all(|&block| forest.contains(id, block));
            let mark = self.variable(clif::I64);
            self.scopes.loops.insert(found.header, LoopScope { id, header: found.header, leaves_nothing, mark });
        }
        self.scopes.forest = Some(forest);
    }

    /// Remembers where the memory is.
    fn remember(&mut self, mark: Variable) {
        let position = self.builder.ins().load(clif::I64, trusted(), self.context, offset::POSITION);
        self.write_variable(mark, position);
    }

    /// Gives back what was made since the position was remembered.
    fn release(&mut self, mark: Variable) {
        let mark = self.read_variable(mark);
        let position = self.builder.ins().load(clif::I64, trusted(), self.context, offset::POSITION);
        let moved = self.builder.ins().icmp(IntCC::NotEqual, position, mark);
        let (back, on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(moved, back, &[], on, &[]);
        self.seal(&[back]);
        self.builder.switch_to_block(back);
        let helper = self.compiler.helper(Helper::Release, self.builder.func);
        self.builder.ins().call(helper, &[self.context, mark]);
        self.builder.ins().jump(on, &[]);
        self.seal(&[on]);
        self.builder.switch_to_block(on);
    }

    /// On an edge, before φs get their values: gives back what was made in the rounds that end there.
    pub(crate) fn release_on_edge(&mut self, from: usize, to: usize) {
        let Some(forest) = &self.scopes.forest else { return };
        let mut outermost = None;
        let mut inside = forest.innermost(from);
        while let Some((id, found)) = inside.and_then(|id| Some((id, forest.get(id)?))) {
            let stays = forest.contains(id, to);
            if let Some(scope) = self.scopes.loops.get(&found.header).filter(|scope| scope.id == id)
                && (to == scope.header || !stays && scope.leaves_nothing)
            {
                outermost = Some(scope.mark);
            }
            if stays {
                break;
            }
            inside = found.parent;
        }
        if let Some(mark) = outermost {
            self.release(mark);
        }
    }

    /// On an edge, after φs got their values: remembers where the memory is if control comes into a loop.
    pub(crate) fn remember_on_edge(&mut self, from: usize, to: usize) {
        let Some(forest) = &self.scopes.forest else { return };
        let entered = self.scopes.loops.get(&to).filter(|scope| !forest.contains(scope.id, from));
        if let Some(mark) = entered.map(|scope| scope.mark) {
            self.remember(mark);
        }
    }

    /// Before the function returns numbers: gives back what it has made.
    pub(crate) fn release_whole(&mut self) {
        if let Some(mark) = self.scopes.whole {
            self.release(mark);
        }
    }

    /// Whether the current statement uses an object that is given back while the function runs, or when it returns.
    pub(crate) fn is_given_back(&self) -> bool {
        self.scopes.given_back.contains(&self.statement)
    }

    /// What is expected of the current statement.
    fn expected(&self) -> Option<Expected> {
        self.scopes.expected.get(self.statement).copied().flatten()
    }

    fn surprise(&mut self) {
        if let Some(summarized) = &mut self.compiler.summarized {
            summarized.surprised = true;
        }
    }

    /// Compares the current statement's value with what was expected. Where a global is not known, it is a text,
    /// whatever is said of it, and what does not return has no value.
    pub(crate) fn expect_value(&mut self, stmt: &Stmt<Positions>, annotated: &Type, layout: &Layout) {
        let no_object = matches!(stmt, Stmt::Value(Operand::Global(_))) || *annotated == Type::Bottom;
        if !no_object && self.expected().is_some_and(|expected| layout.kind > expected.kind) {
            self.surprise();
        }
    }

    /// Compares what the interpreter does for the current statement with what was expected.
    pub(crate) fn expect_interpreted(&mut self, work: &Work, operands: &[Typed], result: &Layout) {
        let (Some(expected), Work::Primitive(primitive)) = (self.expected(), work) else { return };
        let objects = operands.iter().any(|operand| operand.layout.kind != Kind::Plain);
        let writes = primitive.effects.writes && primitive.result != ResultType::Bottom && objects;
        if writes || expected.native && result.kind != Kind::Plain {
            self.surprise();
        }
    }
}

fn is_phi(ir: &IRCode, index: usize) -> bool {
    matches!(ir.stmts.stmts().get(index), Some(Stmt::Phi(_)))
}

/// By statement whose value may be or hold an object, the blocks in which it is used.
fn users(body: &Body<'_>) -> HashMap<usize, Vec<usize>> {
    let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
    for (number, block) in body.ir.cfg.blocks.iter().enumerate() {
        for statement in block.stmts.clone() {
            body.for_each_operand(statement, &mut |operand| {
                if let Operand::Value(value) = operand
                    && let Some(index) = value.index()
                    && body.kinds.get(index).is_some_and(|kind| *kind != Kind::Plain)
                {
                    users.entry(index).or_default().push(number);
                }
            });
        }
    }
    users
}
