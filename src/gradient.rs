//! From a module to a gradient, in one step.

mod savings;
mod seed;
mod specialization;
mod statistics;
mod wrt;

use bbcode::{BBCode, ConversionError};
use exec::{Limits, Machine, RunError, Value, ValueError, holds_objects};
use hashbrown::HashSet;
use ircode::wording::counted;
use ircode::{IRCode, Module, Name, Positions, SSAValue, TableViolations, Type, Violations, verify_tables};
pub use passes::reverse_mode::{Carrier, Savings};
use passes::reverse_mode::{Derivative, DerivativeNames, Options, derive};
use passes::rules::{RuleError, RuleTable};
use passes::{PassError, infer_types};

pub use self::savings::{SavingsReport, SavingsRow, savings_report};
pub use self::seed::Seed;
pub use self::statistics::{GradientStatistics, gradient_statistics};
pub use self::wrt::WrtError;

pub(crate) use self::specialization::specialize;

use self::wrt::Selected;
use crate::engine::{Engine, EngineError, NotNative, Ran, RunOptions, run};
use crate::jvp::packed;

/// A module keyed by ID.
///
/// # Errors
///
/// [`ConversionError`], which verified code without pending nodes never gives.
pub fn to_bbcode(module: &Module<IRCode>) -> Result<Module<BBCode>, ConversionError> {
    module.map(|function| BBCode::try_from(&function.body))
}

/// A module keyed by ID, of which the function is valid, and what it calls or names, in tables of methods and of
/// derivatives, too. Other functions are left out if they cannot be converted.
pub(crate) fn verified(module: &Module<IRCode>, name: &Name) -> Result<Module<BBCode>, GradientError> {
    let asked = module.function_index(name).ok_or_else(|| GradientError::NoSuchFunction(name.clone()))?;
    let mut work = vec![asked];
    verify_tables(module, |body| &body.argtypes)?;
    module.for_each_declared_function(&mut |named| work.push(named));
    let mut seen: HashSet<usize> = work.iter().copied().collect();
    while let Some(function) = work.pop().and_then(|index| module.functions().get(index)) {
        if let Err(violations) = function.body.verify() {
            return Err(GradientError::Invalid { function: function.name.clone(), violations });
        }
        for stmt in function.body.stmts.stmts() {
            stmt.for_each_operand(&mut |operand| {
                module.for_each_named_function(operand, &mut |named| {
                    if seen.insert(named) {
                        work.push(named);
                    }
                });
            });
        }
    }
    let mut visited = Vec::from_iter(seen);
    visited.sort_unstable();
    let visited: Vec<Name> =
        visited.into_iter().filter_map(|index| Some(module.functions().get(index)?.name.clone())).collect();
    let module = match to_bbcode(module) {
        Ok(module) => module,
        Err(_) => convertible(module, &visited)?,
    };
    if module.extensions().is_some_and(|own| !own.rules().is_empty()) {
        RuleTable::of_module(&module)?;
    }
    for function in visited.iter().filter_map(|name| module.function(name)) {
        if let Some((id, declares, gives)) = infer_types::misdeclared(function, &module) {
            let position = function.body.all_insts().position(|(other, _)| other == id).unwrap_or_default();
            let statement = SSAValue::from_index(position);
            return Err(GradientError::Misdeclared { function: function.name.clone(), statement, declares, gives });
        }
    }
    Ok(module)
}

/// A module keyed by ID, without the functions that cannot be converted. Of these names there must be none.
fn convertible(module: &Module<IRCode>, needed: &[Name]) -> Result<Module<BBCode>, GradientError> {
    let needed: HashSet<&Name> = needed.iter().collect();
    let mut kept = Vec::with_capacity(module.functions().len());
    for (position, function) in module.functions().iter().enumerate() {
        match BBCode::try_from(&function.body) {
            Err(error) if needed.contains(&function.name) => {
                return Err(GradientError::NotConvertible { function: function.name.clone(), error });
            }
            Err(_) => {}
            Ok(_) => kept.push(position),
        }
    }
    Ok(to_bbcode(&module.only(kept))?)
}

/// A module numbered by position.
///
/// # Errors
///
/// [`ConversionError`], which verified code never gives.
pub fn to_ircode(module: &Module<BBCode>) -> Result<Module<IRCode>, ConversionError> {
    module.map(|function| IRCode::try_from(&function.body))
}

/// As [`to_bbcode`], of a module that is not needed any more: statements move and are not copied.
///
/// # Errors
///
/// [`ConversionError`], which verified code without pending nodes never gives.
pub fn into_bbcode(module: Module<IRCode>) -> Result<Module<BBCode>, ConversionError> {
    module.map_into(BBCode::try_from)
}

/// As [`to_ircode`], of a module that is not needed any more: statements move and are not copied.
///
/// # Errors
///
/// [`ConversionError`], which verified code never gives.
pub fn into_ircode(module: Module<BBCode>) -> Result<Module<IRCode>, ConversionError> {
    module.map_into(IRCode::try_from)
}

/// A value with its gradient.
#[derive(Clone, Debug)]
pub struct Gradient {
    /// The value of the function.
    pub value: Value,
    /// One cotangent an argument, from `_2` on; `nothing` where the argument has no tangent. Where it was
    /// [said](GradientOptions::wrt) what it is with respect to, one cotangent for each of these, in that order.
    pub gradient: Vec<Value>,
    /// What the cotangents are with respect to: `_2`, `_3.weights`.
    pub wrt: Vec<String>,
    /// The module with the functions of the derivative.
    pub module: Module<IRCode>,
    /// What these are called.
    pub names: DerivativeNames,
    /// What is not wrong, but may not be what was meant: the result does not depend on the arguments, a loop is not
    /// checkpointed.
    pub warnings: Vec<PassError>,
    /// What has run the derivative.
    pub ran: Ran,
}

/// What a gradient is with respect to, and what computing it may use.
///
/// ```
/// let options = bbkit::GradientOptions::new().wrt(["x", "model.weights"]);
/// assert_eq!(options.wrt.unwrap().len(), 2);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GradientOptions {
    /// The arguments with respect to which the function is differentiated, by number (`_2`) or name, or fields of
    /// these: `model.weights`, `_2.1`. Of a field, the argument is differentiated with respect to as a whole, and that
    /// part of its cotangent is given. `None` for all arguments.
    pub wrt: Option<Vec<String>>,
    /// How what the pullback needs travels to it.
    pub carrier: Carrier,
    /// What makes the derivative small.
    pub savings: Savings,
    /// Whether [loops are checkpointed](passes::reverse_mode::Options::checkpoint): much less memory for long loops,
    /// for the time of one more run.
    pub checkpoint: bool,
    /// What the run may use.
    pub limits: Limits,
    /// What runs the derivative.
    pub engine: Engine,
}

impl GradientOptions {
    /// With respect to all arguments, with the default limits.
    pub fn new() -> Self {
        GradientOptions::default()
    }

    /// With respect to these [arguments and fields](Self::wrt).
    pub fn wrt<S: Into<String>>(self, wrt: impl IntoIterator<Item = S>) -> Self {
        GradientOptions { wrt: Some(wrt.into_iter().map(Into::into).collect()), ..self }
    }

    /// With what the pullback needs on this carrier.
    pub fn carrier(self, carrier: Carrier) -> Self {
        GradientOptions { carrier, ..self }
    }

    /// With these techniques that make the derivative small.
    pub fn savings(self, savings: Savings) -> Self {
        GradientOptions { savings, ..self }
    }

    /// With loops [checkpointed](Self::checkpoint), or not.
    pub fn checkpoint(self, checkpoint: bool) -> Self {
        GradientOptions { checkpoint, ..self }
    }

    /// With these limits.
    pub fn limits(self, limits: Limits) -> Self {
        GradientOptions { limits, ..self }
    }

    /// With the derivative run on this engine.
    pub fn engine(self, engine: Engine) -> Self {
        GradientOptions { engine, ..self }
    }
}

/// Why there is no gradient.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GradientError {
    /// The module has no such function.
    #[error("there is no function `{0}`")]
    NoSuchFunction(Name),
    /// A function cannot be converted to BBCode.
    #[error("`{function}` cannot be converted: {error}")]
    NotConvertible {
        /// The function.
        function: Name,
        /// Why.
        error: ConversionError,
    },
    /// What was made cannot be converted.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    /// The code of the function, or of one that it calls, is not valid.
    #[error("`{function}` is not valid: {violations}")]
    Invalid {
        /// The function.
        function: Name,
        /// What is wrong.
        violations: Violations<Positions>,
    },
    /// The tables of methods or of derivatives, or the global constants, are not valid.
    #[error(transparent)]
    Tables(#[from] TableViolations),
    /// A rule of the module is not of the right form, or there is nothing that it is for.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A statement declares another number type than follows from its operands, or returns or passes on what is not of
    /// the type that is declared for it.
    #[error("`{function}`, {statement}: it declares {declares}, but gives {gives}")]
    Misdeclared {
        /// The function.
        function: Name,
        /// The statement.
        statement: SSAValue,
        /// The type that it declares.
        declares: Type,
        /// The type of what it gives.
        gives: Type,
    },
    /// The function cannot be differentiated.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The function fails on these arguments.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The function never returns, so that nothing depends on its arguments.
    #[error("`{0}` never returns")]
    NeverReturns(Name),
    /// The function gives something that is no number, and so has no gradient: an array, `nothing`, or a global of
    /// which the listing does not say the value. That of an integer is 0, as it is the same near by.
    #[error("the value is {0}, which is no float")]
    NoFloat(String),
    /// There is no such argument or field to differentiate with respect to.
    #[error(transparent)]
    Wrt(#[from] WrtError),
    /// The seed is no tangent of the result.
    #[error("the seed{}{}: {}", if .0.place.is_empty() { "" } else { " at " }, .0.place, .0.message)]
    Seed(ValueError),
    /// A direction has not one tangent for each argument.
    #[error("a direction of {}, where there {} {}", counted(*.tangents, "tangent"), if *.arguments == 1 { "is" } else { "are" }, counted(*.arguments, "argument"))]
    Direction {
        /// How many arguments there are.
        arguments: usize,
        /// How many tangents there are.
        tangents: usize,
    },
    /// A tangent is not of the form that belongs to its argument.
    #[error("the tangent of the argument _{argument}: {because}")]
    Tangent {
        /// The argument: 2 is the first.
        argument: usize,
        /// What it is, and what it should be.
        because: String,
    },
    /// Native code was asked for, and cannot run the derivative.
    #[error(transparent)]
    NotNative(NotNative),
}

impl From<EngineError> for GradientError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Run(error) => GradientError::Run(error),
            EngineError::NotNative(why) => GradientError::NotNative(why),
        }
    }
}

/// The value of a function and its gradient, by reverse-mode differentiation. Types of arguments that the function does
/// not declare are taken from `args`.
///
/// ```
/// use exec::Value;
/// use ircode::parse_module;
///
/// let parsed = parse_module("
/// function f(x::Float64, y::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, y)::Float64
/// └──      return %1
/// end
/// ")?;
/// let result = bbkit::gradient(&parsed.module, "f", &[Value::from(3.0), Value::from(4.0)], Default::default())?;
/// assert_eq!(result.value.to_string(), "12.0");
/// assert_eq!(result.gradient.iter().map(Value::to_string).collect::<Vec<_>>(), ["4.0", "3.0"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`].
pub fn gradient(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    limits: Limits,
) -> Result<Gradient, GradientError> {
    gradient_with(module, name, args, &GradientOptions::new().limits(limits))
}

/// The value of a function and its [`gradient`], with respect to what the options say.
///
/// # Errors
///
/// [`GradientError`].
pub fn gradient_with(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    options: &GradientOptions,
) -> Result<Gradient, GradientError> {
    let derived = Derived::of(module, name, args, options, false)?;
    let gradient = derived.run(args, None, options)?;
    match gradient.value.as_scalar() {
        Some(_) => Ok(gradient),
        None => Err(GradientError::NoFloat(gradient.value.to_string())),
    }
}

/// The value of a function, whatever it is, and the cotangents of its arguments, from that of the result: the product
/// of a vector with the Jacobian, by reverse-mode differentiation.
///
/// The seed is a tangent of the result: of a float a float; of a tuple, a named tuple or a struct that cannot be
/// changed the tuple of the tangents of its fields, `nothing` for those that have none; of an array an array; of a
/// mutable struct `M` a `BBKit.Tangent{M}` (see [`exec::Machine::zero_tangents`]). It can be given as
/// [JSON](Seed::Json), too. Where the shape of the seed shows only in the result, the function is run before its
/// derivative. It is run once more for the value if the pullback, which takes back changes of memory, may change that.
///
/// ```
/// use bbkit::exec::{Limits, Value};
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function both(x::Float64, y::Float64)::Tuple{Float64, Float64}
/// 1 ─ %1 = Base.mul_float(x, y)::Float64
/// │   %2 = Base.add_float(x, y)::Float64
/// │   %3 = Core.tuple(%1, %2)::Tuple{Float64, Float64}
/// └──      return %3
/// end
/// ")?.module;
/// let seed: serde_json::Value = serde_json::from_str("[1, 10]")?;
/// let result = bbkit::vjp(&module, "both", &[Value::from(3.0), Value::from(4.0)], &seed, Limits::default())?;
/// assert_eq!(result.value.to_string(), "(12.0, 7.0)");
/// assert_eq!(result.gradient.iter().map(Value::to_string).collect::<Vec<_>>(), ["14.0", "13.0"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`GradientError`].
pub fn vjp<'s>(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    seed: impl Into<Seed<'s>>,
    limits: Limits,
) -> Result<Gradient, GradientError> {
    vjp_with(module, name, args, seed, &GradientOptions::new().limits(limits))
}

/// The value of a function and its [`vjp`], with respect to what the options say.
///
/// # Errors
///
/// [`GradientError`].
pub fn vjp_with<'s>(
    module: &Module<IRCode>,
    name: &str,
    args: &[Value],
    seed: impl Into<Seed<'s>>,
    options: &GradientOptions,
) -> Result<Gradient, GradientError> {
    let derived = Derived::of(module, name, args, options, true)?;
    let mut seed_value = None;
    if let Some(result) = derived.result_type() {
        seed_value =
            Some(seed::tangent(&derived.module, &derived.function, args, &result, seed.into(), options.limits)?);
    }
    derived.run(args, seed_value, options)
}

/// A function with its derivative.
pub(crate) struct Derived {
    pub(crate) module: Module<IRCode>,
    pub(crate) derivative: Derivative,
    function: Name,
    closed: Name,
    wrt: Option<Vec<Selected>>,
    arguments: usize,
}

impl Derived {
    pub(crate) fn of(
        module: &Module<IRCode>,
        name: &str,
        args: &[Value],
        options: &GradientOptions,
        vjp: bool,
    ) -> Result<Derived, GradientError> {
        let types: Vec<Type> = args.iter().map(Value::type_of).collect();
        let function = module.full_name(name);
        check_arity(module, &function, args.len())?;
        let mut module = verified(module, &function)?;
        specialize(&mut module, &function, &types)?;
        let wrt = match (&options.wrt, module.function(&function)) {
            (Some(wrt), Some(function)) => Some(wrt::selected(&module, function, wrt)?),
            _ => None,
        };
        let with_respect_to = wrt.as_ref().map(|wrt| wrt::arguments(wrt));
        let (carrier, savings, checkpoint) = (options.carrier, options.savings, options.checkpoint);
        let asked = Options { with_respect_to, vjp, carrier, savings, checkpoint, ..Options::default() };
        let derivative = derive(&mut module, &function, &asked)?;
        let names = &derivative.names;
        let closed = if vjp { names.vjp.clone() } else { names.value_and_gradient.clone() };
        let own = module.function(&function);
        let arguments = own.map_or(0, |own| own.body.argtypes.len().saturating_sub(1));
        Ok(Derived { module: into_ircode(module)?, derivative, function, closed, wrt, arguments })
    }

    /// The type of what the function returns; `None` if it never does.
    fn result_type(&self) -> Option<Type> {
        match &self.module.function(&self.closed)?.result {
            Type::Tuple(elements) => elements.first().cloned(),
            _ => None,
        }
    }

    /// What the closed function takes.
    fn operands(
        &self,
        machine: &Machine<'_>,
        args: &[Value],
        seed: Option<Value>,
    ) -> Result<Vec<Value>, GradientError> {
        let mut operands = packed(machine, &self.module, &self.function, args)?;
        operands.extend(seed);
        Ok(operands)
    }

    /// Whether the pullback takes back what the function has changed. With closures nobody says.
    fn takes_back(&self) -> bool {
        let pullback = &self.derivative.names.pullback;
        self.module.function(pullback).is_none() || takes_back(&self.module, pullback)
    }

    fn run(self, args: &[Value], seed: Option<Value>, options: &GradientOptions) -> Result<Gradient, GradientError> {
        let limits = options.limits;
        if self.module.function(&self.closed).is_none() {
            // A function that never returns has no derivative: it fails before.
            let value = Machine::with_limits(&self.module, limits).call(&self.function, args)?;
            return Err(GradientError::NoFloat(value.to_string()));
        }
        let machine = Machine::with_limits(&self.module, limits);
        let operands = self.operands(&machine, args, seed)?;
        drop(machine);
        let engine = RunOptions { limits, engine: options.engine };
        let (result, ran) = run(&self.module, &self.closed, &operands, &engine)?;
        let (value, mut all) = match result.as_tuple() {
            Some([value, all @ ..]) => (value.clone(), all.to_vec()),
            _ => (Value::Nothing, Vec::new()),
        };
        // What is no float has none, though its parameter may be anything.
        for (cotangent, operand) in all.iter_mut().zip(&operands) {
            if operand.as_scalar().is_some_and(|scalar| !scalar.scalar_type().is_float()) {
                *cotangent = Value::Nothing;
            }
        }
        let may_be_taken_back = self.closed == self.derivative.names.vjp && self.takes_back();
        let value = match may_be_taken_back && holds_objects(std::slice::from_ref(&value)) {
            // It is as it was before the function by now.
            true => {
                let copies = Machine::with_limits(&self.module, limits).copies(args).map_err(run_error)?;
                run(&self.module, &self.function, &copies, &engine)?.0
            }
            false => value,
        };
        let (gradient, wrt) = match &self.wrt {
            Some(wrt) => (
                wrt.iter().map(|selected| selected.part_of(&all)).collect(),
                wrt.iter().map(|selected| selected.shown.clone()).collect(),
            ),
            None => (all, (0..self.arguments).map(|index| format!("_{}", index + 2)).collect()),
        };
        let Derived { module, derivative: Derivative { names, warnings }, .. } = self;
        Ok(Gradient { value, gradient, wrt, module, names, warnings, ran })
    }
}

/// Whether a pullback can be called only once, as it takes back what its function has changed.
pub(crate) fn takes_back<F: ircode::Body>(module: &Module<F>, pullback: &Name) -> bool {
    let mut found = false;
    if let Some(function) = module.function(pullback) {
        function.body.for_each_stmt(&mut |stmt| {
            found |= module.primitive_call(stmt).is_some_and(|(primitive, _)| primitive.name == "use_once!");
        });
    }
    found
}

/// The module with the derivative of a function, and what its functions are called: to be run by a machine of the
/// caller's own, for which [primitives of the host](Machine::define) are defined. `types` are those of the arguments
/// from `_2` on, for those that the function does not declare.
///
/// # Errors
///
/// [`GradientError`] if the function cannot be differentiated.
pub fn gradient_function(
    module: &Module<IRCode>,
    name: &str,
    types: &[Type],
    options: &Options,
) -> Result<(Module<IRCode>, DerivativeNames), GradientError> {
    let name = module.full_name(name);
    let mut module = verified(module, &name)?;
    specialize(&mut module, &name, types)?;
    let derivative = derive(&mut module, &name, options)?;
    Ok((into_ircode(module)?, derivative.names))
}

/// The module with the types that a function does not show taken from its arguments: what a listing needs to be run, as
/// it does not show the widths of its integer literals.
///
/// # Errors
///
/// [`GradientError`] if the code cannot be converted, which verified code always can.
pub fn specialized(module: &Module<IRCode>, name: &str, args: &[Value]) -> Result<Module<IRCode>, GradientError> {
    let types: Vec<Type> = args.iter().map(Value::type_of).collect();
    let name = module.full_name(name);
    let mut module = to_bbcode(module)?;
    specialize(&mut module, &name, &types)?;
    Ok(into_ircode(module)?)
}

/// Whether a function takes so many arguments, if it says which it takes: a listing without a header takes as many as
/// are given.
pub(crate) fn check_arity(module: &Module<IRCode>, name: &Name, got: usize) -> Result<(), GradientError> {
    let Some(function) = module.function(name).filter(|function| !function.name.is_empty()) else { return Ok(()) };
    let Some(declared) = function.body.argtypes.len().checked_sub(1) else { return Ok(()) };
    let (expected, fits) = match function.varargs {
        true => (declared.saturating_sub(1), got + 1 >= declared),
        false => (declared, got == declared),
    };
    match fits {
        true => Ok(()),
        false => Err(run_error(exec::RunErrorKind::Arity { function: name.clone(), expected, got })),
    }
}

/// A tangent that is not of the shape of its value, as where a function gives something else each time it is called.
pub(crate) fn shape_error(error: ValueError) -> GradientError {
    run_error(exec::RunErrorKind::BadValue(format!("the tangent of {}: {}", error.place, error.message)))
}

/// What a function is differentiated with respect to: the numbers of the arguments, and the places of what is meant, as
/// `_2.weights`.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) arguments: Vec<usize>,
    pub(crate) places: Vec<String>,
}

/// Finds arguments and fields by their names; `None` for all.
pub(crate) fn selection(
    module: &Module<BBCode>,
    name: &str,
    wrt: Option<&[String]>,
) -> Result<Option<Selection>, WrtError> {
    let (Some(wrt), Some(function)) = (wrt, module.function(name)) else { return Ok(None) };
    let selected = wrt::selected(module, function, wrt)?;
    let places = selected.iter().map(|selected| selected.shown.clone()).collect();
    Ok(Some(Selection { arguments: wrt::arguments(&selected), places }))
}

/// A failure outside of any function.
pub(crate) fn run_error(kind: exec::RunErrorKind) -> GradientError {
    GradientError::Run(kind.into())
}

/// The numbers of the arguments that are named, or of which fields are.
pub(crate) fn selected_arguments(
    module: &Module<BBCode>,
    name: &str,
    wrt: Option<&[String]>,
) -> Result<Option<Vec<usize>>, WrtError> {
    match (wrt, module.function(name)) {
        (Some(wrt), Some(function)) => Ok(Some(wrt::arguments(&wrt::selected(module, function, wrt)?))),
        _ => Ok(None),
    }
}
