//! Putting the body of a function in the place of a call.

use std::sync::Arc;

use hashbrown::HashSet;
use ircode::wording::{counted, with_article};
use ircode::{
    Argument, DebugInfo, Function, HandlerStyle, Head, LineInfo, NewInstruction, Operand, PhiEntry, PhiNode, Stmt,
    Type, left_handlers,
};

use super::ClonedRegion;
use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{BlockId, Ids, InstId};

/// What became of a call that was inlined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inlined {
    /// The blocks and statements of the function, by their names there.
    pub body: ClonedRegion,
    /// The block that goes on behind the call.
    pub after: BlockId,
}

impl BBCode {
    /// Puts the body of a function in the place of a call of it.
    ///
    /// The block of the call is split before it, and the function's blocks go between the halves; `return`s go on to
    /// the second half. The call itself becomes what the function returned — a copy, or a φ if there are several
    /// returns — and so keeps its name and its uses. Lines of inlined statements say that they come from the function,
    /// see [`DebugInfo::origins`]. Takes time linear in the function and in what follows the call in its block.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::parse_module;
    ///
    /// let module = parse_module("
    /// function f(x::Float64)::Float64
    /// 1 ─ %1 = invoke Main.relu(x::Float64)::Float64
    /// │   %2 = Base.mul_float(%1, 2.0)::Float64
    /// └──      return %2
    /// end
    ///
    /// function relu(x::Float64)::Float64
    /// 1 ─ %1 = Base.lt_float(0.0, x)::Bool
    /// └──      goto #3 if not %1
    /// 2 ─      return x
    /// 3 ─      return 0.0
    /// end
    /// ")?.module.map(|function| BBCode::try_from(&function.body))?;
    /// let [f, relu] = module.functions() else { panic!() };
    /// let mut bb = f.body.clone();
    /// let call = bb.first_inst(bb.entry().unwrap()).unwrap();
    /// bb.inline_call(call, relu)?;
    /// assert_eq!(bb.to_string(), "\
    /// 1 ─ %4 = goto #3
    /// 3 ─ %5 = Base.lt_float(0.0, _2)::Bool  ← %1 of relu
    /// │   %6 = goto #5 if not %5  ← %2 of relu
    /// └── next #4
    /// 4 ─ %7 = goto #2  ← %3 of relu
    /// 5 ─ %8 = goto #2  ← %4 of relu
    /// 2 ┄ %1 = φ (#4 => _2, #5 => 0.0)::Float64
    /// │   %2 = Base.mul_float(%1, 2.0)::Float64
    /// └── %3 = return %2
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// That it is this function which is called is for the caller to know: of functions that are values, and of methods,
    /// the statement does not say it.
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchInst`], [`EditError::NotInlinable`] with the reason: it is no call, the numbers of arguments
    /// differ, an argument is of another type than the function takes, the function has static parameters, or no
    /// blocks, its first block names the edge from outside of the function, or it returns before it has left a handler
    /// that it entered: what follows the call would be in the care of that.
    pub fn inline_call(&mut self, call: InstId, callee: &Function<BBCode>) -> Result<Inlined, EditError> {
        let arguments = self.arguments_for(call, callee)?;
        // Before the transaction, which holds the debug info as it was: adding to what is held twice copies it, at
        // every call.
        let edge = self.add_origin(callee);
        // Nothing has to be taken back where nothing can fail, and noting each statement that is added takes time and
        // memory.
        if self.takes_in(call, callee) {
            let inlined = self.put_in_place(call, callee, arguments, edge)?;
            self.keep_older_version(callee);
            return Ok(inlined);
        }
        let mut edit = self.transaction();
        match edit.put_in_place(call, callee, arguments, edge) {
            Ok(inlined) => {
                edit.commit();
                self.keep_older_version(callee);
                Ok(inlined)
            }
            Err(error) => {
                edit.rollback();
                Arc::make_mut(&mut self.debuginfo).edges.pop();
                Err(error)
            }
        }
    }

    /// Whether a call is seen to be where its block can be split, and the function to name only blocks that it has.
    fn takes_in(&self, call: InstId, callee: &Function<BBCode>) -> bool {
        let Some(block) = self.block_of(call) else { return false };
        let before_phi = self.phi_nodes(block).last().is_some_and(|(phi, _)| self.comes_before(call, phi));
        let body = &callee.body;
        let known = |block: BlockId| body.block(block).is_some();
        !callee.varargs && !before_phi && body.blocks().all(|block| body.next(block).is_none_or(known))
    }

    /// It keeps the conditions of the older compiler; code without a version keeps all.
    fn keep_older_version(&mut self, callee: &Function<BBCode>) {
        self.julia = match (self.julia, callee.body.julia) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
    }

    /// The operands of a call as the arguments of the function, itself first. Those that a vararg collects are still
    /// apart.
    fn arguments_for(&self, call: InstId, callee: &Function<BBCode>) -> Result<Vec<Operand<Ids>>, EditError> {
        let refuse = |because: String| Err(EditError::NotInlinable { call, because });
        let Some((called, args)) = self.stmt(call).ok_or(EditError::NoSuchInst(call))?.as_call() else {
            return refuse("it is no call".into());
        };
        let arguments: Vec<Operand<Ids>> = std::iter::once(called).chain(args).cloned().collect();
        let body = &callee.body;
        let Some(entry) = body.entry() else { return refuse("the function has no blocks".into()) };
        let outside = <Ids as ircode::Names>::virtual_block();
        let from_outside = |(_, inst): (InstId, &ircode::Instruction<Ids>)| {
            inst.stmt.as_phi().is_some_and(|phi| phi.entries.iter().any(|entry| entry.edge == outside))
        };
        // Where the call stood, control comes from inside.
        if body.block(entry).is_some_and(|block| block.odd_edges().is_some()) || body.phi_nodes(entry).any(from_outside)
        {
            return refuse("control comes to its first block from outside of the function".into());
        }
        let has_static_parameter = |(_, inst): (InstId, &ircode::Instruction<Ids>)| {
            let mut found = matches!(&inst.stmt, Stmt::Expr(expr) if expr.head == Head::StaticParameter);
            inst.stmt.for_each_operand(&mut |operand| {
                found |= matches!(operand, Operand::Nested(nested) if matches!(&**nested, Stmt::Expr(expr) if expr.head == Head::StaticParameter));
            });
            found
        };
        if body.all_insts().any(has_static_parameter) {
            return refuse("the function uses its static parameters".into());
        }
        if returns_in_handler(body) {
            return refuse("the function returns where it has not left a handler".into());
        }
        let count = body.argtypes.len();
        let fits = match callee.varargs {
            true => arguments.len() + 1 >= count,
            false => arguments.len() == count,
        };
        if !fits {
            let (given, takes) = (arguments.len() - 1, count.saturating_sub(1));
            return refuse(format!("it gives {}, but the function takes {takes}", counted(given, "argument")));
        }
        let fixed = if callee.varargs { count.saturating_sub(1) } else { count };
        for (number, (argument, ty)) in arguments.iter().zip(&body.argtypes).enumerate().take(fixed).skip(1) {
            let given = self.operand_type(argument);
            let known = |ty: &Type| !matches!(ty, Type::Untyped | Type::Any | Type::Named(_) | Type::Union(_));
            let mismatch = known(ty) && given != *ty && (known(&given) || given == Type::Any);
            if mismatch {
                return refuse(format!(
                    "argument {} is {}, but the function takes {}",
                    Argument::from_index(number),
                    with_article(given),
                    with_article(ty)
                ));
            }
        }
        Ok(arguments)
    }

    fn put_in_place(
        &mut self,
        call: InstId,
        callee: &Function<BBCode>,
        mut arguments: Vec<Operand<Ids>>,
        edge: i32,
    ) -> Result<Inlined, EditError> {
        let body = &callee.body;
        if callee.varargs {
            let rest = arguments.split_off(body.argtypes.len().saturating_sub(1).min(arguments.len()));
            let ty = Type::tuple(rest.iter().map(|operand| self.operand_type(operand)));
            let tuple = NewInstruction::new(Stmt::call(Operand::global("Core", "tuple"), rest), ty);
            arguments.push(Operand::Value(self.insert_before(call, tuple)?));
        }
        let before = self.block_of(call).ok_or(EditError::NoSuchInst(call))?;
        let line = self.inst(call).map_or(LineInfo::NONE, |inst| inst.line);
        // With those that join the parts, before the first comes.
        self.store.reserve(body.inst_count() + 1, body.block_count() + 1);
        let after = self.split_block(call)?;
        let copy = self.copy_from(
            body,
            before,
            &|argument: Argument| {
                argument.index().and_then(|index| arguments.get(index)).cloned().unwrap_or(Operand::Argument(argument))
            },
            &|number| LineInfo { line: line.line, edge, pc: i32::try_from(number + 1).unwrap_or(0) },
        )?;
        if let Some(entry) = body.entry() {
            self.retarget_unchecked(before, after, copy.block(entry));
        }
        let mut results = PhiNode::default();
        for block in body.blocks().map(|block| copy.block(block)) {
            if let Some((id, inst)) = self.terminator(block)
                && let Stmt::Return(ret) = &inst.stmt
                && let Some(value) = ret.value.clone()
            {
                let ty = Type::Any;
                if let Some(inst) = self.inst_mut(id) {
                    (inst.stmt, inst.ty) = (Stmt::goto(after), ty);
                }
                results.entries.push(PhiEntry { edge: block, value: Some(value) });
            }
        }
        let result = match results.entries.as_slice() {
            // It never returns, so that nothing behind it runs.
            [] => Stmt::nothing(),
            [PhiEntry { value: Some(value), .. }] => Stmt::Value(value.clone()),
            _ => Stmt::Phi(results),
        };
        self.replace(call, result)?;
        Ok(Inlined { body: copy, after })
    }

    /// Enters a function among those from which statements come, and returns its number.
    fn add_origin(&mut self, callee: &Function<BBCode>) -> i32 {
        let codelocs = callee.body.all_insts().map(|(_, inst)| inst.line).collect();
        let origin = DebugInfo { def: Some(callee.name.clone()), codelocs, ..(*callee.body.debuginfo).clone() };
        let debuginfo = Arc::make_mut(&mut self.debuginfo);
        debuginfo.edges.push(Arc::new(origin));
        i32::try_from(debuginfo.edges.len()).unwrap_or(0)
    }
}

/// Whether the function returns a value somewhere in the care of a handler of its own.
fn returns_in_handler(body: &BBCode) -> bool {
    if !body.has_handlers() {
        return false;
    }
    let style = HandlerStyle::of(body.all_insts().map(|(_, inst)| &inst.stmt));
    let mut seen: HashSet<BlockId> = HashSet::new();
    // Blocks, and how many handlers are entered where they start.
    let mut work: Vec<(BlockId, usize)> = body.entry().map(|entry| (entry, 0)).into_iter().collect();
    while let Some((block, mut entered)) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        let mut catches = None;
        for (_, inst) in body.insts(block) {
            match &inst.stmt {
                Stmt::Enter(enter) => {
                    if let Some(catch) = enter.catch_dest {
                        let leaves = style.catch_block_leaves(body.insts(catch).map(|(_, inst)| &inst.stmt));
                        work.push((catch, entered + usize::from(leaves)));
                        catches = Some(catch);
                    }
                    entered += 1;
                }
                Stmt::Expr(expr) if expr.head == Head::Leave => {
                    entered = entered.saturating_sub(left_handlers(&expr.args, |value| body.stmt(value)));
                }
                Stmt::Return(ret) if ret.value.is_some() && entered > 0 => return true,
                _ => {}
            }
        }
        let next = body.successors(block).into_iter().filter(|next| catches != Some(*next));
        work.extend(next.map(|next| (next, entered)));
    }
    false
}
