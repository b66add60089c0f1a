//! The arguments with respect to which a function is differentiated.

use ircode::{Name, Type};

use crate::{PassError, PassErrorKind};

/// An argument with respect to which a function cannot be differentiated.
pub(crate) struct UnwantedArgument {
    message: String,
    help: Option<String>,
}

impl UnwantedArgument {
    /// The error of a pass on a function.
    pub(crate) fn of(self, pass: &'static str, function: &Name) -> PassError {
        let error = PassError::new(pass, function, self.message).of_kind(PassErrorKind::Request);
        match self.help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }
}

/// Whether each argument is among those of these numbers, where 2 is `_2`; without numbers, whether it has a tangent.
/// The function itself, `_1`, is never.
pub(crate) fn wanted_arguments(
    argtypes: &[Type],
    has_tangent: impl Fn(&Type) -> bool,
    numbers: Option<&[usize]>,
) -> Result<Vec<bool>, UnwantedArgument> {
    let Some(numbers) = numbers else {
        return Ok(argtypes.iter().enumerate().map(|(index, ty)| index > 0 && has_tangent(ty)).collect());
    };
    let mut chosen = vec![false; argtypes.len()];
    for &number in numbers {
        let argument = number.checked_sub(1).and_then(|index| Some((index, argtypes.get(index)?)));
        let Some((index, ty)) = argument.filter(|(index, _)| *index > 0) else {
            let message = format!("there is no argument _{number} to differentiate with respect to");
            let help = Some(format!("the arguments are _2 to _{}", argtypes.len()));
            return Err(UnwantedArgument { message, help });
        };
        if !has_tangent(ty) {
            let message = format!(
                "the argument _{number} is {}, with respect to which nothing can be differentiated",
                ty.with_article()
            );
            return Err(UnwantedArgument { message, help: None });
        }
        if let Some(flag) = chosen.get_mut(index) {
            *flag = true;
        }
    }
    Ok(chosen)
}
