//! Arguments of a function: adding and removing them.

use ircode::{Argument, Operand, Type};

use crate::code::BBCode;
use crate::error::EditError;
use crate::ids::{Ids, InstId};

impl BBCode {
    /// Adds an argument behind the others, and returns its name. Calls of the function have to give it one more. The
    /// names of parameters, and whether the last one collects what is passed from there on, are the
    /// [`Function`](ircode::Function)'s, to be changed there.
    ///
    /// ```
    /// use bbcode::BBCode;
    /// use ircode::{Argument, Type};
    ///
    /// let mut bb = BBCode::new(vec![Type::function("f"), Type::FLOAT64]);
    /// assert_eq!(bb.add_argument(Type::INT64), Argument(3));
    /// assert_eq!(bb.argtypes.len(), 3);
    /// ```
    pub fn add_argument(&mut self, ty: Type) -> Argument {
        self.argtypes.push(ty);
        Argument::from_index(self.argtypes.len() - 1)
    }

    /// Removes an argument that nobody uses, and returns its type. Arguments are named by position, so those behind it
    /// move up by one, here and in every call; the [`Function`](ircode::Function)'s `parameters` and `varargs` have to
    /// follow. Takes time linear in the function.
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
        self.for_each_operand_mut(|operand| {
            if let Operand::Argument(Argument(number)) = operand
                && *number > argument.0
            {
                *number -= 1;
            }
        });
        Ok(self.argtypes.remove(index))
    }
}
