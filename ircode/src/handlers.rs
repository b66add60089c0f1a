//! How code leaves the handlers of exceptions.

use crate::constant::Constant;
use crate::head::Head;
use crate::names::Names;
use crate::operand::Operand;
use crate::stmt::Stmt;

/// How a function leaves handlers.
///
/// Up to Julia 1.10 a `leave` says how many handlers it leaves, and a catch block has to leave its own; later it names
/// the tokens of those that entered them, and catching leaves the handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HandlerStyle {
    counts: bool,
    names: bool,
}

impl HandlerStyle {
    /// That of a function with these statements.
    ///
    /// ```
    /// use ircode::HandlerStyle;
    ///
    /// let function = ircode::parse_function("
    /// function f(x::Float64)::Float64
    /// 1 ─ %1 = $(Expr(:enter, #3))
    /// 2 ─      $(Expr(:leave, 1))
    /// └──      return x
    /// 3 ┄      Base.add_int(1, 2)::Int64
    /// │        $(Expr(:leave, 1))
    /// └──      return 0.0
    /// end
    /// ")?;
    /// let stmts = function.body.stmts.stmts();
    /// assert!(HandlerStyle::of(stmts).catch_block_leaves(&stmts[3..]));
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn of<'s, N: Names + 's>(stmts: impl IntoIterator<Item = &'s Stmt<N>>) -> Self
    where
        Stmt<N>: 's,
    {
        let mut style = HandlerStyle::default();
        for stmt in stmts {
            match leave(stmt) {
                Some(Operand::Constant(Constant::Scalar(_))) => style.counts = true,
                Some(_) => style.names = true,
                None => {}
            }
        }
        style
    }

    /// Whether a catch block with these statements has to leave the handler that caught. Where functions of both styles
    /// were inlined into one, that is told by what the block starts with.
    pub fn catch_block_leaves<'s, N: Names + 's>(self, block: impl IntoIterator<Item = &'s Stmt<N>>) -> bool
    where
        Stmt<N>: 's,
    {
        if !(self.counts && self.names) {
            return self.counts;
        }
        let is_skipped = |stmt: &&Stmt<N>| matches!(stmt, Stmt::PhiC(_) | Stmt::Phi(_)) || stmt.is_nothing();
        let first = block.into_iter().find(|stmt| !is_skipped(stmt));
        matches!(first.and_then(leave), Some(Operand::Constant(Constant::Scalar(_))))
    }
}

/// The first operand of a `leave`.
fn leave<N: Names>(stmt: &Stmt<N>) -> Option<&Operand<N>> {
    match stmt {
        Stmt::Expr(expr) if expr.head == Head::Leave => expr.args.first(),
        _ => None,
    }
}

/// How many handlers a `leave` of these operands leaves, where `stmt` gives the statement of a value.
pub fn left_handlers<'s, N: Names + 's>(args: &[Operand<N>], stmt: impl Fn(N::Value) -> Option<&'s Stmt<N>>) -> usize
where
    Stmt<N>: 's,
{
    // A token whose enter was removed is `nothing`.
    let is_token = |operand: &&Operand<N>| matches!(operand.as_value().and_then(&stmt), Some(Stmt::Enter(_)));
    match args.first() {
        Some(Operand::Constant(Constant::Scalar(count))) => usize::try_from(count.to_i128()).unwrap_or(0),
        _ => args.iter().filter(is_token).count(),
    }
}
