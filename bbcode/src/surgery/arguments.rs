//! Arguments of a function: adding and removing them.

use ircode::{Argument, Function, Name, Operand, Type};

use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{Ids, InstId};

impl BBCode {
    /// Adds an argument behind the others, and returns its name: `_2` where there is none yet, as `_1` is the function
    /// itself. Calls of the function have to give it one more. Where a [`Function`] is around the code, the free
    /// function [`add_argument`] keeps its names of arguments true.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::{Argument, Type};
    ///
    /// let mut bb = BBCode::new(vec![Type::function("f"), Type::FLOAT64]);
    /// assert_eq!(bb.add_argument(Type::INT64), Argument(3));
    /// assert_eq!(BBCode::new(vec![]).add_argument(Type::INT64), Argument(2));
    /// ```
    pub fn add_argument(&mut self, ty: Type) -> Argument {
        self.name_function_itself();
        self.argtypes.push(ty);
        Argument::from_index(self.argtypes.len() - 1)
    }

    /// Code may leave out all types of arguments, that of the function itself, too.
    fn name_function_itself(&mut self) {
        if self.argtypes.is_empty() {
            self.argtypes.push(Type::Untyped);
        }
    }

    /// Removes an argument that nobody uses, and returns its type. Arguments are named by position, so those behind it
    /// move up by one, here and in every call. Where a [`Function`] is around the code, the free function
    /// [`remove_argument`] keeps its names of arguments true. Takes time linear in the function.
    ///
    /// ```
    /// use bbcode::{BBCode, EditError};
    /// use ircode::{Argument, parse_function};
    ///
    /// let mut bb = BBCode::try_from(&parse_function("
    /// function f(x::Float64, y::Float64)::Float64
    /// 1 ─ return y
    /// end")?.body)?;
    /// let user = bb.first_inst(bb.entry().unwrap()).unwrap();
    /// assert_eq!(bb.remove_argument(Argument(3)), Err(EditError::ArgumentInUse { argument: Argument(3), user }));
    /// bb.remove_argument(Argument(2))?;
    /// assert_eq!(bb.to_string(), "1 ─ %1 = return _2\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::NoSuchArgument`], also for `_1`, which is the function itself; [`EditError::ArgumentInUse`].
    pub fn remove_argument(&mut self, argument: Argument) -> Result<Type, EditError> {
        let index = argument.index().filter(|&index| index > 0 && index < self.argtypes.len());
        let index = index.ok_or(EditError::NoSuchArgument(argument))?;
        let mut user: Option<InstId> = None;
        for (id, inst) in self.all_insts() {
            inst.stmt.for_each_operand(&mut |operand: &Operand<Ids>| {
                if *operand == Operand::Argument(argument) {
                    user = user.or(Some(id));
                }
            });
        }
        if let Some(user) = user {
            return Err(EditError::ArgumentInUse { argument, user });
        }
        self.renumber_arguments(|number| if number > argument.0 { number - 1 } else { number });
        Ok(self.argtypes.remove(index))
    }

    fn renumber_arguments(&mut self, new: impl Fn(u32) -> u32) {
        self.for_each_operand_mut(|operand| {
            if let Operand::Argument(Argument(number)) = operand {
                *number = new(*number);
            }
        });
    }
}

/// Adds an argument to a function, behind the others, but in front of the one that collects what is passed from there
/// on; returns its name in the code. Calls of the function have to give it one more. Takes time linear in the function
/// where arguments are collected.
///
/// ```
/// use bbcode::{BBCode, add_argument};
/// use ircode::{Argument, Type, parse_module};
///
/// let module = parse_module("
/// function f(x::Float64, rest::Tuple{Int64})::Tuple{Int64}
/// ; varargs
/// 1 ─     return rest
/// end")?.module;
/// let mut module = module.map(|function| BBCode::try_from(&function.body))?;
/// let added = module.edit_function("f", |f| add_argument(f, Some("scale".into()), Type::FLOAT64)).unwrap()?;
/// assert_eq!(added, Argument(3));
/// assert_eq!(module.functions()[0].parameters[1].as_deref(), Some("scale"));
/// assert_eq!(module.functions()[0].body.to_string(), "1 ─ %1 = return _4\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`EditError::ArgumentNameTaken`], where another argument has that name. The function is then as it was.
pub fn add_argument(function: &mut Function<BBCode>, name: Option<Name>, ty: Type) -> Result<Argument, EditError> {
    if let Some(taken) = name.as_ref().filter(|name| function.parameters.iter().flatten().any(|other| other == *name)) {
        return Err(EditError::ArgumentNameTaken(taken.clone()));
    }
    function.body.name_function_itself();
    let count = function.body.argtypes.len();
    let index = if function.varargs && count > 1 { count - 1 } else { count };
    let added = Argument::from_index(index);
    if index < count {
        function.body.renumber_arguments(|number| if number >= added.0 { number + 1 } else { number });
    }
    function.body.argtypes.insert(index, ty);
    // `_1`, the function itself, is not among the names.
    let place = index.saturating_sub(1);
    if name.is_some() || place < function.parameters.len() {
        function.parameters.resize(function.parameters.len().max(place), None);
        function.parameters.insert(place, name);
    }
    Ok(added)
}

/// Removes an argument that nobody uses from a function, its name too, and returns its type: as
/// [`BBCode::remove_argument`]. A function that loses the argument that collects what is passed collects nothing.
///
/// ```
/// use bbcode::{BBCode, remove_argument};
/// use ircode::{Argument, parse_module};
///
/// let module = parse_module("
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─     return y
/// end")?.module;
/// let mut module = module.map(|function| BBCode::try_from(&function.body))?;
/// module.edit_function("f", |f| remove_argument(f, Argument(2))).unwrap()?;
/// assert_eq!(module.functions()[0].parameters, [Some("y".into())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As of [`BBCode::remove_argument`].
pub fn remove_argument(function: &mut Function<BBCode>, argument: Argument) -> Result<Type, EditError> {
    let removed = function.body.remove_argument(argument)?;
    // It is one of the arguments behind the function itself, or the body would have refused.
    let place = (argument.0 as usize).saturating_sub(2);
    if place < function.parameters.len() {
        function.parameters.remove(place);
    }
    function.varargs &= place + 1 < function.body.argtypes.len();
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of these types of arguments, the function itself among them.
    fn function(argtypes: &[Type]) -> Function<BBCode> {
        Function::new("f", Type::FLOAT64, BBCode::new(argtypes.to_vec()))
    }

    #[test]
    fn names_stay_with_their_arguments() {
        let mut f = function(&[Type::Untyped, Type::FLOAT64, Type::INT64]);
        assert_eq!(add_argument(&mut f, Some("z".into()), Type::BOOL), Ok(Argument(4)));
        assert_eq!(f.parameters, [None, None, Some("z".into())]);
        assert_eq!(add_argument(&mut f, Some("z".into()), Type::BOOL), Err(EditError::ArgumentNameTaken("z".into())));
        assert_eq!(add_argument(&mut f, None, Type::INT64), Ok(Argument(5)));
        assert_eq!((f.body.argtypes.len(), f.parameters.len()), (5, 3));
        assert_eq!(remove_argument(&mut f, Argument(2)), Ok(Type::FLOAT64));
        assert_eq!(f.parameters, [None, Some("z".into())]);
        assert_eq!(remove_argument(&mut f, Argument(1)), Err(EditError::NoSuchArgument(Argument(1))));
    }

    #[test]
    fn what_collects_arguments_stays_the_last_or_goes() {
        let mut f = function(&[Type::Untyped, Type::tuple([Type::INT64])]);
        f.varargs = true;
        assert_eq!(add_argument(&mut f, None, Type::FLOAT64), Ok(Argument(2)));
        assert_eq!(remove_argument(&mut f, Argument(2)), Ok(Type::FLOAT64));
        assert!(f.varargs);
        assert_eq!(remove_argument(&mut f, Argument(2)), Ok(Type::tuple([Type::INT64])));
        assert!(!f.varargs);
    }

    #[test]
    fn code_without_types_of_arguments_gets_them() {
        let mut f = function(&[]);
        assert_eq!(add_argument(&mut f, Some("x".into()), Type::FLOAT64), Ok(Argument(2)));
        assert_eq!(f.parameters, [Some("x".into())]);
    }
}
