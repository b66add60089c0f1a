//! The one statement type, generic in how values and blocks are named.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use smallvec::SmallVec;

use crate::head::Head;
use crate::json::sharing;
use crate::name::Name;
use crate::names::{Names, NumberedNames, SwitchNode};
use crate::operand::{Operand, Operands};
use crate::types::Type;

/// A statement of Julia's SSA form.
///
/// `Stmt<Positions>` is what [`IRCode`](crate::IRCode) holds, `Stmt<Ids>` what `BBCode` holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", rename_all = "snake_case")]
pub enum Stmt<N: Names> {
    /// A bare value: a copy of it. `nothing` is the empty statement.
    Value(Operand<N>),
    /// φ: a value chosen by the edge on which control came.
    Phi(PhiNode<N>),
    /// π: a value of which the path taken shows a narrower type.
    Pi(Box<PiNode<N>>),
    /// φᶜ: in a catch block, what one of its ϒ statements stored last.
    #[serde(rename = "phic")]
    PhiC(PhiCNode<N>),
    /// ϒ: stores a value for the φᶜ statements that name it.
    Upsilon(UpsilonNode<N>),
    /// An unconditional jump.
    Goto(GotoNode<N>),
    /// A jump taken if the condition is false.
    GotoIfNot(GotoIfNot<N>),
    /// A return, or the end of a block that control does not reach.
    Return(ReturnNode<N>),
    /// The start of a `try` region.
    Enter(Box<EnterNode<N>>),
    /// A multi-way branch, in representations that have one.
    Switch(N::Switch),
    /// A call that is dispatched when it runs.
    Call(CallNode<N>),
    /// A call of a method that the compiler chose.
    Invoke(Box<InvokeNode<N>>),
    /// Any other expression, by its head.
    Expr(ExprNode<N>),
}

/// The entries of a φ, up to two of which are held in place: most φs have two.
pub type PhiEntries<N> = SmallVec<[PhiEntry<N>; 2]>;

/// φ: the value of the edge on which control entered the block. All φs of a block are read together.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct PhiNode<N: Names> {
    /// One entry an edge. Predecessors may be missing where the value is never used when control comes from there.
    pub entries: PhiEntries<N>,
}

impl<N: Names> PhiNode<N> {
    /// The value that it names for this edge; `None` if it names none, or the edge is left out.
    ///
    /// ```
    /// use ircode::{BlockNumber, Operand, PhiNode, Positions, Stmt};
    ///
    /// let phi = Stmt::<Positions>::phi([(BlockNumber(1), Some(Operand::from(2.0))), (BlockNumber(3), None)]);
    /// let phi: &PhiNode<Positions> = phi.as_phi().unwrap();
    /// assert_eq!(phi.value_from(BlockNumber(1)), Some(&Operand::from(2.0)));
    /// assert_eq!(phi.value_from(BlockNumber(2)), None);
    /// assert_eq!(phi.value_from(BlockNumber(3)), None);
    /// ```
    pub fn value_from(&self, edge: N::Block) -> Option<&Operand<N>> {
        self.entries.iter().find(|entry| entry.edge == edge)?.value.as_ref()
    }
}

/// What a φ takes from one edge.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct PhiEntry<N: Names> {
    /// The predecessor.
    pub edge: N::Block,
    /// The value; `None` is Julia's unassigned entry, printed `#undef`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Operand<N>>,
}

/// π: `value`, known to be a `ty` on this path.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct PiNode<N: Names> {
    /// The value.
    pub value: Operand<N>,
    /// Its type from here on.
    pub ty: Type,
}

/// φᶜ: the value that was stored last by one of the ϒ statements named.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct PhiCNode<N: Names> {
    /// Results of ϒ statements.
    pub values: Operands<N>,
}

/// ϒ: stores a value, or that there is none.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct UpsilonNode<N: Names> {
    /// The value; `None` marks the variable as undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Operand<N>>,
}

/// `goto label`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct GotoNode<N: Names> {
    /// Where control goes.
    pub label: N::Block,
}

/// `goto dest if not cond`; otherwise control falls through.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct GotoIfNot<N: Names> {
    /// The condition, a `Bool`.
    pub cond: Operand<N>,
    /// Where control goes if the condition is false.
    pub dest: N::Block,
}

/// `return value`, or `unreachable`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct ReturnNode<N: Names> {
    /// The value; `None` is `unreachable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Operand<N>>,
}

/// The start of a `try` region; its result is the token by which `leave` and `pop_exception` name it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct EnterNode<N: Names> {
    /// The block that handles exceptions; `None` where only the scope matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catch_dest: Option<N::Block>,
    /// The dynamic scope to install, from Julia 1.11 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Operand<N>>,
}

/// A call that is dispatched when it runs; calls of intrinsics and builtins are of this kind too.
#[derive(PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct CallNode<N: Names> {
    /// What is called.
    pub callee: Operand<N>,
    /// The arguments.
    pub args: Operands<N>,
}

/// Most statements are calls with two operands: these are copied in place.
impl<N: Names> Clone for CallNode<N> {
    fn clone(&self) -> Self {
        let args = match self.args.as_slice() {
            [a, b] => Operands::<N>::from_buf([a.clone(), b.clone()]),
            args => args.iter().cloned().collect(),
        };
        CallNode { callee: self.callee.clone(), args }
    }
}

/// A call of a method that the compiler chose.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct InvokeNode<N: Names> {
    /// The method with the types it was specialised for.
    #[serde(deserialize_with = "shared_instance")]
    pub instance: Arc<MethodInstance>,
    /// The function.
    pub callee: Operand<N>,
    /// The arguments.
    pub args: Operands<N>,
}

fn shared_instance<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<MethodInstance>, D::Error> {
    MethodInstance::deserialize(deserializer).map(sharing::instance)
}

/// What an invoke calls: Julia's `MethodInstance`, or `CodeInstance` from 1.12 on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodInstance {
    /// The types of the arguments in the signature, function excluded. May be fewer than the arguments of the call:
    /// those that a vararg collects have no type of their own.
    #[serde(default)]
    pub argtypes: Vec<Type>,
    /// What the compiler calls it, where it came from a dump that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// Whether it is a `CodeInstance`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub code_instance: bool,
}

/// An expression other than a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", deny_unknown_fields)]
pub struct ExprNode<N: Names> {
    /// The head.
    pub head: Head,
    /// The operands. Of `new` the first is the type; of `foreigncall` they are the name, the result type, the argument
    /// types, the number of required arguments, the calling convention, the arguments and then the values to be kept
    /// alive.
    pub args: Operands<N>,
}

/// Renames values and blocks, see [`Stmt::map_names`].
pub trait Rename<A: Names, B: Names> {
    /// Why something cannot be renamed.
    type Error;
    /// The new name of a value.
    fn value(&mut self, value: A::Value) -> Result<B::Value, Self::Error>;
    /// The new name of a block.
    fn block(&mut self, block: A::Block) -> Result<B::Block, Self::Error>;
    /// The multi-way branch in the new representation.
    fn switch(&mut self, switch: &A::Switch) -> Result<B::Switch, Self::Error>;
}

/// The body of [`Stmt::map_names`] and [`Stmt::into_names`], which differ in whether they copy or move.
macro_rules! renamed_stmt {
    ($stmt:expr, $rename:ident, [$($by:tt)*], $operand:ident, $all:ident, $option:ident, $entries:ident) => {
        Ok(match $stmt {
            Stmt::Value(value) => Stmt::Value(value.$operand($rename)?),
            Stmt::Phi(phi) => Stmt::Phi(PhiNode { entries: $entries($($by)* phi.entries, $rename)? }),
            Stmt::Pi(pi) => Stmt::pi(pi.value.$operand($rename)?, pi.ty.clone()),
            Stmt::PhiC(phic) => Stmt::PhiC(PhiCNode { values: $all($($by)* phic.values, $rename)? }),
            Stmt::Upsilon(upsilon) => Stmt::Upsilon(UpsilonNode { value: $option($($by)* upsilon.value, $rename)? }),
            Stmt::Goto(goto) => Stmt::goto($rename.block(goto.label)?),
            Stmt::GotoIfNot(goto) => {
                Stmt::GotoIfNot(GotoIfNot { cond: goto.cond.$operand($rename)?, dest: $rename.block(goto.dest)? })
            }
            Stmt::Return(ret) => Stmt::Return(ReturnNode { value: $option($($by)* ret.value, $rename)? }),
            Stmt::Enter(enter) => Stmt::Enter(Box::new(EnterNode {
                catch_dest: enter.catch_dest.map(|block| $rename.block(block)).transpose()?,
                scope: $option($($by)* enter.scope, $rename)?,
            })),
            Stmt::Switch(switch) => Stmt::Switch($rename.switch(&switch)?),
            Stmt::Call(call) => {
                Stmt::Call(CallNode { callee: call.callee.$operand($rename)?, args: $all($($by)* call.args, $rename)? })
            }
            Stmt::Invoke(invoke) => Stmt::Invoke(Box::new(InvokeNode {
                instance: invoke.instance.clone(),
                callee: invoke.callee.$operand($rename)?,
                args: $all($($by)* invoke.args, $rename)?,
            })),
            Stmt::Expr(expr) => Stmt::Expr(ExprNode { head: expr.head.clone(), args: $all($($by)* expr.args, $rename)? }),
        })
    };
}

impl<N: Names> Stmt<N> {
    /// The empty statement, `nothing`.
    pub fn nothing() -> Self {
        Stmt::Value(Operand::nothing())
    }

    /// A φ of these edges and values.
    pub fn phi(entries: impl IntoIterator<Item = (N::Block, Option<Operand<N>>)>) -> Self {
        let entries = entries.into_iter().map(|(edge, value)| PhiEntry { edge, value }).collect();
        Stmt::Phi(PhiNode { entries })
    }

    /// `π (value, ty)`.
    pub fn pi(value: Operand<N>, ty: Type) -> Self {
        Stmt::Pi(Box::new(PiNode { value, ty }))
    }

    /// `goto label`.
    pub fn goto(label: N::Block) -> Self {
        Stmt::Goto(GotoNode { label })
    }

    /// `goto dest if not cond`.
    pub fn goto_if_not(cond: impl Into<Operand<N>>, dest: N::Block) -> Self {
        Stmt::GotoIfNot(GotoIfNot { cond: cond.into(), dest })
    }

    /// `return value`.
    pub fn ret(value: impl Into<Operand<N>>) -> Self {
        Stmt::Return(ReturnNode { value: Some(value.into()) })
    }

    /// `unreachable`.
    pub fn unreachable() -> Self {
        Stmt::Return(ReturnNode { value: None })
    }

    /// A call.
    pub fn call(callee: impl Into<Operand<N>>, args: impl IntoIterator<Item = Operand<N>>) -> Self {
        Stmt::Call(CallNode { callee: callee.into(), args: args.into_iter().collect() })
    }

    /// An expression of this head.
    pub fn expr(head: Head, args: impl IntoIterator<Item = Operand<N>>) -> Self {
        Stmt::Expr(ExprNode { head, args: args.into_iter().collect() })
    }

    /// Whether this is the empty statement, `nothing`.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Stmt::Value(operand) if operand.is_nothing())
    }

    /// The φ, if this is one.
    pub fn as_phi(&self) -> Option<&PhiNode<N>> {
        match self {
            Stmt::Phi(phi) => Some(phi),
            _ => None,
        }
    }

    /// What is called and with what, if this is a call: of a method that is chosen when it runs, or of one that the
    /// compiler chose.
    ///
    /// ```
    /// use ircode::parse_function;
    ///
    /// let function = parse_function("
    /// 1 ─ %1 = invoke Main.f(_2::Float64, 1)::Float64
    /// └──      return %1
    /// ")?;
    /// let stmts = function.body.stmts.stmts();
    /// assert_eq!(stmts[0].as_call().map(|(_, args)| args.len()), Some(2));
    /// assert!(stmts[1].as_call().is_none());
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn as_call(&self) -> Option<(&Operand<N>, &[Operand<N>])> {
        match self {
            Stmt::Call(call) => Some((&call.callee, &call.args)),
            Stmt::Invoke(invoke) => Some((&invoke.callee, &invoke.args)),
            _ => None,
        }
    }

    /// Whether the statement must be the last of its block: goto, goto-if-not, return, enter, leave, switch.
    pub fn is_terminator(&self) -> bool {
        match self {
            Stmt::Goto(_) | Stmt::GotoIfNot(_) | Stmt::Return(_) | Stmt::Enter(_) | Stmt::Switch(_) => true,
            Stmt::Expr(expr) => expr.head == Head::Leave,
            _ => false,
        }
    }

    /// Whether the statement may stand at the start of a block before a φ: φs themselves, and what computes nothing.
    /// Julia's `is_valid_phiblock_stmt`.
    pub fn may_stand_among_phis(&self) -> bool {
        match self {
            Stmt::Value(operand) => operand.as_value().is_none(),
            Stmt::PhiC(_) | Stmt::Upsilon(_) | Stmt::Call(_) | Stmt::Invoke(_) => false,
            Stmt::Expr(expr) => expr.head == Head::StaticParameter,
            _ => true,
        }
    }

    /// Whether it is an `unreachable`: a return without a value.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Stmt::Return(node) if node.value.is_none())
    }

    /// Whether the statement may stand in a block behind an `unreachable`, where Julia leaves φs without edges, hints
    /// for the compiler and constants.
    pub fn may_follow_unreachable(&self) -> bool {
        match self {
            Stmt::Phi(phi) => phi.entries.is_empty(),
            Stmt::Expr(expr) => expr.head == Head::Meta,
            Stmt::Value(operand) => operand.as_value().is_none(),
            _ => false,
        }
    }

    /// Whether control can go on to the fallthrough successor of the block that ends in this statement. What never
    /// returns because of its type `Union{}` is not seen here.
    pub fn falls_through(&self) -> bool {
        !matches!(self, Stmt::Goto(_) | Stmt::Return(_) | Stmt::Switch(_))
    }

    /// Calls `visit` with every block that the statement names as a place to go to: a switch's fallthrough included,
    /// the fallthrough of other statements not. Edges of φs are no targets.
    pub fn for_each_target(&self, mut visit: impl FnMut(N::Block)) {
        match self {
            Stmt::Goto(goto) => visit(goto.label),
            Stmt::GotoIfNot(goto) => visit(goto.dest),
            Stmt::Enter(enter) => enter.catch_dest.into_iter().for_each(visit),
            Stmt::Switch(switch) => switch.for_each_target(&mut visit),
            _ => {}
        }
    }

    /// As [`Stmt::for_each_target`], to rewrite the blocks.
    pub fn for_each_target_mut(&mut self, mut visit: impl FnMut(&mut N::Block)) {
        match self {
            Stmt::Goto(goto) => visit(&mut goto.label),
            Stmt::GotoIfNot(goto) => visit(&mut goto.dest),
            Stmt::Enter(enter) => enter.catch_dest.iter_mut().for_each(visit),
            Stmt::Switch(switch) => switch.for_each_target_mut(&mut visit),
            _ => {}
        }
    }

    /// Calls `visit` with every operand, from left to right, those of nested expressions after the nested expression
    /// itself.
    pub fn for_each_operand(&self, visit: &mut dyn FnMut(&Operand<N>)) {
        let mut visit_one = |operand: &Operand<N>| {
            visit(operand);
            if let Operand::Nested(nested) = operand {
                nested.for_each_operand(visit);
            }
        };
        match self {
            Stmt::Value(value) => visit_one(value),
            Stmt::Phi(phi) => phi.entries.iter().filter_map(|entry| entry.value.as_ref()).for_each(visit_one),
            Stmt::Pi(pi) => visit_one(&pi.value),
            Stmt::PhiC(phic) => phic.values.iter().for_each(visit_one),
            Stmt::Upsilon(upsilon) => upsilon.value.iter().for_each(visit_one),
            Stmt::Goto(_) => {}
            Stmt::GotoIfNot(goto) => visit_one(&goto.cond),
            Stmt::Return(ret) => ret.value.iter().for_each(visit_one),
            Stmt::Enter(enter) => enter.scope.iter().for_each(visit_one),
            Stmt::Switch(switch) => switch.conditions().iter().for_each(visit_one),
            Stmt::Call(call) => std::iter::once(&call.callee).chain(&call.args).for_each(visit_one),
            Stmt::Invoke(invoke) => std::iter::once(&invoke.callee).chain(&invoke.args).for_each(visit_one),
            Stmt::Expr(expr) => expr.args.iter().for_each(visit_one),
        }
    }

    /// As [`Stmt::for_each_operand`], to rewrite the operands. A nested expression that `visit` puts in place is
    /// visited in its turn.
    pub fn for_each_operand_mut(&mut self, visit: &mut dyn FnMut(&mut Operand<N>)) {
        let mut visit_one = |operand: &mut Operand<N>| {
            visit(operand);
            if let Operand::Nested(nested) = operand {
                nested.for_each_operand_mut(visit);
            }
        };
        match self {
            Stmt::Value(value) => visit_one(value),
            Stmt::Phi(phi) => phi.entries.iter_mut().filter_map(|entry| entry.value.as_mut()).for_each(visit_one),
            Stmt::Pi(pi) => visit_one(&mut pi.value),
            Stmt::PhiC(phic) => phic.values.iter_mut().for_each(visit_one),
            Stmt::Upsilon(upsilon) => upsilon.value.iter_mut().for_each(visit_one),
            Stmt::Goto(_) => {}
            Stmt::GotoIfNot(goto) => visit_one(&mut goto.cond),
            Stmt::Return(ret) => ret.value.iter_mut().for_each(visit_one),
            Stmt::Enter(enter) => enter.scope.iter_mut().for_each(visit_one),
            Stmt::Switch(switch) => switch.conditions_mut().iter_mut().for_each(visit_one),
            Stmt::Call(call) => std::iter::once(&mut call.callee).chain(&mut call.args).for_each(visit_one),
            Stmt::Invoke(invoke) => std::iter::once(&mut invoke.callee).chain(&mut invoke.args).for_each(visit_one),
            Stmt::Expr(expr) => expr.args.iter_mut().for_each(visit_one),
        }
    }

    /// Calls `visit` with every value that the statement uses, once a use.
    #[inline]
    pub fn for_each_use(&self, mut visit: impl FnMut(N::Value)) {
        // Most statements are calls, and passes ask this of each.
        if let Stmt::Call(call) = self
            && !call.args.iter().any(|arg| matches!(arg, Operand::Nested(_)))
        {
            let values = std::iter::once(&call.callee).chain(&call.args).filter_map(Operand::as_value);
            if !matches!(call.callee, Operand::Nested(_)) {
                return values.for_each(visit);
            }
        }
        self.for_each_operand(&mut |operand| {
            if let Operand::Value(value) = operand {
                visit(*value);
            }
        });
    }

    /// The same statement in other names: what conversion between the representations is.
    pub fn map_names<M: Names, R: Rename<N, M>>(&self, rename: &mut R) -> Result<Stmt<M>, R::Error> {
        renamed_stmt!(self, rename, [&], map_names, map_all, map_option, map_entries)
    }

    /// As [`Stmt::map_names`], of a statement that is not needed any more: its operands stay where they are in memory.
    pub fn into_names<M: Names, R: Rename<N, M>>(self, rename: &mut R) -> Result<Stmt<M>, R::Error> {
        renamed_stmt!(self, rename, [], into_names, into_all, into_option, into_entries)
    }
}

impl<N: Names> Operand<N> {
    /// The same operand in other names.
    #[inline]
    pub fn map_names<M: Names, R: Rename<N, M>>(&self, rename: &mut R) -> Result<Operand<M>, R::Error> {
        Ok(match self {
            Operand::Value(value) => Operand::Value(rename.value(*value)?),
            Operand::Argument(argument) => Operand::Argument(*argument),
            Operand::Global(global) => Operand::Global(global.clone()),
            Operand::Constant(constant) => Operand::Constant(constant.clone()),
            Operand::Quote(constant) => Operand::Quote(constant.clone()),
            Operand::Nested(nested) => Operand::Nested(Box::new(nested.map_names(rename)?)),
        })
    }

    /// As [`Operand::map_names`], of an operand that is not needed any more.
    #[inline]
    pub fn into_names<M: Names, R: Rename<N, M>>(self, rename: &mut R) -> Result<Operand<M>, R::Error> {
        Ok(match self {
            Operand::Value(value) => Operand::Value(rename.value(value)?),
            Operand::Argument(argument) => Operand::Argument(argument),
            Operand::Global(global) => Operand::Global(global),
            Operand::Constant(constant) => Operand::Constant(constant),
            Operand::Quote(constant) => Operand::Quote(constant),
            Operand::Nested(nested) => Operand::Nested(Box::new(nested.into_names(rename)?)),
        })
    }
}

fn map_all<A: Names, B: Names, R: Rename<A, B>>(
    operands: &[Operand<A>],
    rename: &mut R,
) -> Result<Operands<B>, R::Error> {
    let mut renamed = Operands::with_capacity(operands.len());
    for operand in operands {
        renamed.push(operand.map_names(rename)?);
    }
    Ok(renamed)
}

fn into_all<A: Names, B: Names, R: Rename<A, B>>(
    operands: Operands<A>,
    rename: &mut R,
) -> Result<Operands<B>, R::Error> {
    let mut renamed = Operands::with_capacity(operands.len());
    for operand in operands {
        renamed.push(operand.into_names(rename)?);
    }
    Ok(renamed)
}

fn map_option<A: Names, B: Names, R: Rename<A, B>>(
    operand: &Option<Operand<A>>,
    rename: &mut R,
) -> Result<Option<Operand<B>>, R::Error> {
    operand.as_ref().map(|operand| operand.map_names(rename)).transpose()
}

fn into_option<A: Names, B: Names, R: Rename<A, B>>(
    operand: Option<Operand<A>>,
    rename: &mut R,
) -> Result<Option<Operand<B>>, R::Error> {
    operand.map(|operand| operand.into_names(rename)).transpose()
}

fn map_entries<A: Names, B: Names, R: Rename<A, B>>(
    entries: &[PhiEntry<A>],
    rename: &mut R,
) -> Result<PhiEntries<B>, R::Error> {
    let mut renamed = PhiEntries::with_capacity(entries.len());
    for entry in entries {
        renamed.push(PhiEntry { edge: rename.block(entry.edge)?, value: map_option(&entry.value, rename)? });
    }
    Ok(renamed)
}

fn into_entries<A: Names, B: Names, R: Rename<A, B>>(
    entries: PhiEntries<A>,
    rename: &mut R,
) -> Result<PhiEntries<B>, R::Error> {
    let entry =
        |entry: PhiEntry<A>| Ok(PhiEntry { edge: rename.block(entry.edge)?, value: into_option(entry.value, rename)? });
    entries.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Positions;

    #[test]
    fn statements_stay_small() {
        assert_eq!(size_of::<Operand<Positions>>(), 16);
        assert!(size_of::<Stmt<Positions>>() <= 64, "{}", size_of::<Stmt<Positions>>());
    }
}
