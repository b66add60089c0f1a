//! Whether code may change a global constant: derivatives take those for constant, and refuse code that may.

use bbcode::BBCode;
use ircode::{Module, Name};

use super::changes::{Counts, summaries};
use crate::PassError;
use crate::differentiation::dispatch::Candidate;

/// An error of this pass if one of the functions at these positions, what they call, or one of the candidates for what
/// is called as a value may change a global constant.
pub(crate) fn refuse(
    pass: &'static str,
    module: &Module<BBCode>,
    roots: &[usize],
    candidates: &[Candidate],
) -> Result<(), PassError> {
    if module.global_constants().is_empty() {
        return Ok(());
    }
    let called = candidates.iter().filter_map(|candidate| candidate.function(module));
    let roots: Vec<usize> = roots.iter().copied().chain(called).collect();
    let Err(change) = summaries(module, &roots, Counts::Anything) else { return Ok(()) };
    let constant = module.global_constants().get(change.constant);
    let constant = constant.map_or_else(|| Name::from(""), |constant| constant.name().clone());
    let message = format!("the global `{constant}` may be changed here, which derivatives take for constant");
    Err(match module.functions().get(change.function) {
        Some(function) => PassError::new(pass, &function.name, message).at(&function.body, change.statement),
        None => PassError::new(pass, &constant, message),
    })
}
