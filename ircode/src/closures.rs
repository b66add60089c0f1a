//! Closures: what `BBKit.partial_apply` makes of a function and values of its last parameters.

use crate::IRCode;
use crate::callee::Callee;
use crate::module::Module;
use crate::names::Names;
use crate::operand::Operand;
use crate::types::Type;

/// A body that says which arguments it takes.
pub trait Parameters {
    /// The types of the arguments, `_1` first.
    fn argument_types(&self) -> &[Type];
}

impl Parameters for IRCode {
    fn argument_types(&self) -> &[Type] {
        &self.argtypes
    }
}

impl<F: Parameters> Module<F> {
    /// The types of `_2` onwards of the function that an operand names, `Any` where they are not known; those of a
    /// primitive are all `Any`. `None` if it names none, or one that takes any number of arguments.
    pub fn parameters_of<N: Names>(&self, function: &Operand<N>) -> Option<Vec<Type>> {
        self.parameters_of_callee(self.callee(function)?)
    }

    /// As [`Module::parameters_of`], of a function by its name.
    pub fn parameters_of_function(&self, name: &str) -> Option<Vec<Type>> {
        self.parameters_of_callee(self.function_callee(name))
    }

    fn parameters_of_callee(&self, callee: Callee) -> Option<Vec<Type>> {
        match callee {
            Callee::Function(index) => {
                let function = self.functions().get(index).filter(|function| !function.varargs)?;
                Some(function.body.argument_types().iter().skip(1).cloned().map(Type::or_any).collect())
            }
            Callee::Primitive(primitive) => (primitive.max_operands == Some(primitive.min_operands))
                .then(|| vec![Type::Any; primitive.min_operands]),
            Callee::Type(_) | Callee::Unknown(_) => None,
        }
    }

    /// The types of the last parameters of the function that an operand names, so many as a closure of it captures.
    /// `None` if it does not take so many.
    pub fn captured_types<N: Names>(&self, function: &Operand<N>, captured: usize) -> Option<Vec<Type>> {
        last(self.parameters_of(function)?, captured)
    }

    /// As [`Module::captured_types`], of a function by its name.
    pub fn captured_types_of(&self, function: &str, captured: usize) -> Option<Vec<Type>> {
        last(self.parameters_of_function(function)?, captured)
    }

    /// The type of a closure of the function that an operand names, when so many values are captured: those of its last
    /// parameters. `None` if it does not take so many.
    ///
    /// ```
    /// use ircode::{Operand, Positions, parse_module};
    ///
    /// let module = parse_module("
    /// function scaled(x::Float64, by::Float64)::Float64
    /// 1 ─ %1 = Base.mul_float(x, by)::Float64
    /// └──      return %1
    /// end
    /// ")?.module;
    /// let scaled = Operand::<Positions>::global("Main", "scaled");
    /// assert_eq!(module.captured_types(&scaled, 1), Some(vec![ircode::Type::FLOAT64]));
    /// let closure = module.closure_type(&scaled, 1).unwrap();
    /// assert_eq!(closure.to_string(), "BBKit.Closure{Tuple{Float64}, Float64}");
    /// assert_eq!(module.closure_type(&scaled, 3), None);
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn closure_type<N: Names>(&self, function: &Operand<N>, captured: usize) -> Option<Type> {
        self.closure_type_of_callee(self.callee(function)?, captured)
    }

    /// As [`Module::closure_type`], of a function by its name.
    pub fn closure_type_of(&self, function: &str, captured: usize) -> Option<Type> {
        self.closure_type_of_callee(self.function_callee(function), captured)
    }

    fn closure_type_of_callee(&self, callee: Callee, captured: usize) -> Option<Type> {
        let result = match &callee {
            Callee::Function(index) => self.functions().get(*index).map(|function| function.result.clone()),
            _ => None,
        };
        let mut parameters = self.parameters_of_callee(callee)?;
        parameters.truncate(parameters.len().checked_sub(captured)?);
        Some(Type::closure(parameters, result.map_or(Type::Any, Type::or_any)))
    }
}

/// The last of these types, so many.
fn last(mut types: Vec<Type>, count: usize) -> Option<Vec<Type>> {
    Some(types.split_off(types.len().checked_sub(count)?))
}
