//! The mark of functions that reverse mode runs again instead of saving what happens in them.
//!
//! It is an attribute of the body, as Julia's `:noinline` is: `meta $(Expr(:meta, :checkpointed))`. Numbers behind the
//! word are those of elements of the tuple that the function returns, counted from 1: these have no derivative, they
//! count as constants where the function makes them and where its caller takes them out.

use bbcode::BBCode;
use ircode::{Constant, Head, Operand, Positions, Stmt};

const WORD: &str = "checkpointed";

/// Marks a function. The elements of its result with these numbers, counted from 1, have no derivative.
pub(crate) fn mark(body: &mut BBCode, constants: &[usize]) {
    unmark(body);
    let word = Operand::Constant(Constant::Symbol(WORD.into()));
    let numbers = constants.iter().map(|&number| Operand::from(number as i64));
    body.meta.push(Stmt::expr(Head::Meta, std::iter::once(word).chain(numbers)));
}

/// Takes the mark from what was made of a function and does something else.
pub(crate) fn unmark(body: &mut BBCode) {
    body.meta.retain(|stmt| constants_of(stmt).is_none());
}

/// The numbers of the elements of its result that have no derivative, if a function is marked.
pub(crate) fn marked(body: &BBCode) -> Option<Vec<usize>> {
    body.meta.iter().find_map(constants_of)
}

fn constants_of(stmt: &Stmt<Positions>) -> Option<Vec<usize>> {
    let Stmt::Expr(expr) = stmt else { return None };
    let (word, numbers) = expr.args.split_first().filter(|_| expr.head == Head::Meta)?;
    let word = match word {
        Operand::Constant(constant) => constant,
        Operand::Quote(quoted) => quoted,
        _ => return None,
    };
    if !matches!(word, Constant::Symbol(name) if name == WORD) {
        return None;
    }
    let number = |operand: &Operand<Positions>| usize::try_from(operand.as_constant()?.as_scalar()?.to_i128()).ok();
    Some(numbers.iter().filter_map(number).collect())
}
