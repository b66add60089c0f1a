//! Making values for a machine: arguments of its functions, and what is done with them.

use std::sync::Arc;

use ircode::wording::counted;
use ircode::{Callee, Name, Type};

use super::{Fault, Machine};
use crate::error::{RunError, RunErrorKind};
use crate::value::Value;

impl Machine<'_> {
    /// A value that holds others: a tuple.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`].
    pub fn tuple(&self, values: Vec<Value>) -> Result<Value, RunErrorKind> {
        self.runtime.tuple(values).map_err(|fault| self.fatal(fault))
    }

    /// An array of these dimensions, its elements in memory order.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`]; [`RunErrorKind::BadValue`] if there are not as many elements as the dimensions
    /// say; [`RunErrorKind::ElementType`].
    pub fn array(&self, element: Type, dims: Vec<usize>, elements: Vec<Value>) -> Result<Value, RunErrorKind> {
        self.runtime.filled_array(element, dims, elements).map_err(|fault| self.fatal(fault))
    }

    /// A struct of a type that the module declares.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`]; [`RunErrorKind::BadValue`] if the type is no struct with as many fields;
    /// [`RunErrorKind::ElementType`].
    pub fn structure(&self, ty: &Type, fields: Vec<Value>) -> Result<Value, RunErrorKind> {
        self.runtime.declared_structure(ty, fields).map_err(|fault| self.fatal(fault))
    }

    /// The zero of the tangent of a value that is known to be of this type: floats are 0.0, what has identity has
    /// shadows, each object one, and `nothing` is the tangent of what has none. See [`ircode::tangents`].
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`]; [`RunErrorKind::Operands`] if values of the type have shadows, and this has none
    /// such. Where the type alone says what the tangent is, as of floats, the value is not looked at.
    pub fn zero_tangent(&self, value: &Value, ty: &Type) -> Result<Value, RunErrorKind> {
        crate::builtins::zero_tangent_of(&self.runtime, value, ty).map_err(|fault| self.fatal(fault))
    }

    /// A named tuple of the type with these fields, of which there are as many as values.
    pub(crate) fn named_tuple_of(
        &self,
        of: &Arc<Vec<(Name, Type)>>,
        values: Vec<Value>,
    ) -> Result<Value, RunErrorKind> {
        self.runtime.named_tuple_of(of, values).map_err(|fault| self.fatal(fault))
    }

    /// A named tuple of the types of its values, of as many names as these.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`]; [`RunErrorKind::BadValue`] if there are more of one than of the other.
    pub fn named_tuple(&self, names: Vec<Name>, values: Vec<Value>) -> Result<Value, RunErrorKind> {
        if names.len() != values.len() {
            let (names, values) = (counted(names.len(), "name"), counted(values.len(), "value"));
            return Err(RunErrorKind::BadValue(format!(
                "a named tuple has as many values as names, not {values} for {names}"
            )));
        }
        self.runtime.named_tuple(names.into(), values).map_err(|fault| self.fatal(fault))
    }

    /// A case of an enum that the module declares.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`]; [`RunErrorKind::BadValue`] if the type is no enum with such a case, or the
    /// payload is not what the case has.
    pub fn enum_case(&self, ty: &Type, case: &str, payload: Vec<Value>) -> Result<Value, RunErrorKind> {
        let shown = format!("{ty} has no case {case} with a payload of {}", counted(payload.len(), "value"));
        let made = self.runtime.enum_case(ty, &case.into(), payload).map_err(|fault| self.fatal(fault))?;
        made.ok_or(RunErrorKind::BadValue(shown))
    }

    /// A closure of a function of the module, or of a primitive, and values of its last parameters.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`]; [`RunErrorKind::Unsupported`] if the function does not take so many, or takes
    /// others.
    pub fn closure(&self, function: &str, captured: Vec<Value>) -> Result<Value, RunErrorKind> {
        self.runtime.closure(&function.into(), captured).map_err(|fault| self.fatal(fault))
    }

    /// The types of so many of the last parameters of a function; `None` if it has fewer, or if there is no such
    /// function.
    pub(crate) fn captured_types(&self, function: &Name, count: usize) -> Option<Vec<Type>> {
        let fits = self.runtime.module.parameters_of_function(function)?.len() >= count;
        fits.then(|| self.runtime.captured_types(function, count))
    }

    /// The tangents of these values, which are of these types, with all floats zero. They are made together: the same
    /// object, met twice, has one shadow.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`]; [`RunErrorKind::BadValue`] if there are not as many types as values, or values
    /// of a type have shadows, and one has none such.
    pub fn zero_tangents(&self, values: &[Value], types: &[Type]) -> Result<Vec<Value>, RunErrorKind> {
        if values.len() != types.len() {
            let (values, types) = (counted(values.len(), "value"), counted(types.len(), "type"));
            return Err(RunErrorKind::BadValue(format!("tangents of {values} need as many types, not {types}")));
        }
        let pairs = values.iter().cloned().zip(types);
        let pairs = pairs.map(|(value, ty)| (value, self.runtime.tangents.of(ty))).collect();
        self.runtime.zero_tangents(pairs).map_err(|fault| match fault {
            Fault::Fatal(RunErrorKind::Operands { .. }) => {
                RunErrorKind::BadValue("a value, of which the tangent is asked for, is not of the type given".into())
            }
            fault => self.fatal(fault),
        })
    }

    /// The tangents that have these numbers, in the order of [`tangent_floats`](crate::tangent_floats), and zeros
    /// behind them. `zeros` are [`zero_tangents`](Self::zero_tangents), made for this: what is in objects is changed in
    /// place.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`].
    pub fn tangents_of_floats(&self, zeros: &[Value], floats: &[f64]) -> Result<Vec<Value>, RunErrorKind> {
        crate::floats::tangents_of_floats(self, zeros, floats)
    }

    /// Copies of values, and of all that is reached from them: the same object, met twice, is copied once.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`].
    pub fn copies(&self, values: &[Value]) -> Result<Vec<Value>, RunErrorKind> {
        self.copies_with(values, &[], |float, _| float)
    }

    /// [Copies](Self::copies) whose floats are moved by a multiple of their tangents. Where the tangent is `nothing`,
    /// they stay.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`].
    pub fn moved(&self, values: &[Value], tangents: &[Value], by: f64) -> Result<Vec<Value>, RunErrorKind> {
        self.copies_with(values, tangents, |float, tangent| tangent.map_or(float, |tangent| float + by * tangent))
    }

    /// [Copies](Self::copies) whose floats are replaced by what `float` makes of them.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::MemoryLimit`].
    pub fn with_floats(&self, values: &[Value], mut float: impl FnMut(f64) -> f64) -> Result<Vec<Value>, RunErrorKind> {
        self.copies_with(values, &[], |old, _| float(old))
    }

    fn copies_with(
        &self,
        values: &[Value],
        tangents: &[Value],
        mut float: impl FnMut(f64, Option<f64>) -> f64,
    ) -> Result<Vec<Value>, RunErrorKind> {
        let copies = crate::copies::copies(&self.runtime.meter, values, tangents, &mut float);
        copies.map_err(|out_of_memory| self.fatal(out_of_memory.into()))
    }

    /// Calls a function or closure that another call gave. What a closure captures stands behind `args`.
    ///
    /// ```
    /// use exec::{Machine, Value};
    /// use ircode::parse_module;
    ///
    /// let text = "function scaled(x::Float64, by::Float64)::Float64\n1 ─ %1 = Base.mul_float(x, by)::Float64\n└──      return %1\n\
    ///             end\nfunction scaling(by::Float64)\n1 ─ %1 = BBKit.partial_apply(Main.scaled, by)\n└──      return %1\nend\n";
    /// let module = parse_module(text)?.module;
    /// let mut machine = Machine::new(&module);
    /// let closure = machine.call("scaling", &[Value::from(3.0)])?;
    /// assert_eq!(machine.apply(&closure, &[Value::from(2.0)])?.to_string(), "6.0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RunError`], as of [`call`](Self::call); [`RunErrorKind::Unsupported`] if the value is neither.
    pub fn apply(&mut self, callee: &Value, args: &[Value]) -> Result<Value, RunError> {
        match callee {
            Value::Closure(closure) => {
                let all: Vec<Value> = args.iter().chain(closure.0.fields.values()).cloned().collect();
                self.apply(&Value::Function(closure.0.function.clone()), &all)
            }
            Value::Function(name) => match self.module.function_callee(name) {
                Callee::Function(index) => {
                    let name = self.module.functions().get(index).map(|function| function.name.clone());
                    self.call(&name.unwrap_or_else(|| "".into()), args)
                }
                Callee::Primitive(primitive) => {
                    let result = self.runtime.call_primitive(primitive, args);
                    result.map_err(|fault| self.fatal(fault).into())
                }
                _ => Err(RunErrorKind::UnknownFunction(name.clone()).into()),
            },
            other => {
                let what = format!("a call of {other}, {}", other.type_of().with_article());
                Err(RunErrorKind::Unsupported(what).into())
            }
        }
    }

    /// What a primitive makes of these operands, outside of any function.
    ///
    /// # Errors
    ///
    /// [`RunErrorKind::BadValue`] if there is no such primitive, and what the primitive has against the operands.
    pub fn primitive(&mut self, name: &str, operands: &[Value]) -> Result<Value, RunErrorKind> {
        let Some(primitive) = self.module.primitive(name) else {
            return Err(RunErrorKind::BadValue(format!("there is no primitive `{name}`")));
        };
        let result = self.runtime.call_primitive(primitive, operands);
        result.map_err(|fault| self.fatal(fault))
    }
}
