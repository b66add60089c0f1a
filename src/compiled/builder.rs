//! What is to be compiled, and how.

use std::marker::PhantomData;

use bbcode::BBCode;
use exec::Limits;
use exec::native::{Effort, Program};
use ircode::wording::with_article;
use ircode::{IRCode, Module, Name, Type};
use passes::reverse_mode;

use super::CompileError;
use super::signature::{Signature, check_types};
use crate::Savings;
use crate::gradient::{into_ircode, specialize, verified};

/// A function, or a derivative of it, that is about to be compiled.
#[derive(Clone, Debug)]
pub struct Builder<'m, T> {
    pub(super) module: &'m Module<IRCode>,
    pub(super) settings: Settings,
    made: PhantomData<fn() -> T>,
}

/// What is to be compiled of a module, and how.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) function: Name,
    wrt: Option<Vec<usize>>,
    types: Vec<Type>,
    limits: Limits,
    savings: Savings,
    checkpoint: bool,
    flush_subnormals: bool,
    pub(super) reassociate: bool,
    pub(super) effort: Effort,
}

/// What a [`Builder`] can make.
pub trait Compilable: Sized + private::Make {}

pub(super) mod private {
    use super::{Builder, CompileError};

    pub trait Make: Sized {
        fn make(builder: &Builder<'_, Self>) -> Result<Self, CompileError>;
    }
}

impl<T: private::Make> Compilable for T {}

/// A derivative, which is with respect to arguments: everything that a [`Builder`] makes but functions themselves.
///
/// ```compile_fail,E0599
/// # use bbkit::{Differentiate, ircode::{IRCode, Module}};
/// # fn of(module: Module<IRCode>) {
/// module.primal("f").wrt([0]);
/// # }
/// ```
pub trait WithRespectTo: Compilable {}

/// A derivative that reverse mode makes.
///
/// ```compile_fail,E0599
/// # use bbkit::{Differentiate, ircode::{IRCode, Module}};
/// # fn of(module: Module<IRCode>) {
/// module.jvp("f").checkpoint(true);
/// # }
/// ```
pub trait ByReverseMode: WithRespectTo {}

impl<'m, T: Compilable> Builder<'m, T> {
    pub(super) fn new(module: &'m Module<IRCode>, name: &str) -> Self {
        let settings = Settings {
            function: module.full_name(name),
            wrt: None,
            types: Vec::new(),
            limits: Limits::default(),
            savings: Savings::default(),
            checkpoint: false,
            flush_subnormals: false,
            reassociate: false,
            effort: Effort::Full,
        };
        Self::with_settings(module, settings)
    }

    pub(super) fn with_settings(module: &'m Module<IRCode>, settings: Settings) -> Self {
        Builder { module, settings, made: PhantomData }
    }

    fn with(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(&mut self.settings);
        self
    }

    /// With these types for arguments of which the function does not declare them, from the first one on.
    pub fn types(self, types: impl IntoIterator<Item = Type>) -> Self {
        self.with(|settings| settings.types = types.into_iter().collect())
    }

    /// What a call may use. Native code does not count statements.
    pub fn limits(self, limits: Limits) -> Self {
        self.with(|settings| settings.limits = limits)
    }

    /// With [subnormal numbers taken for zero](Program::flush_subnormals): much faster where adjoints decay to such
    /// numbers.
    pub fn flush_subnormals(self, flush: bool) -> Self {
        self.with(|settings| settings.flush_subnormals = flush)
    }

    /// With so much work put into the code: [`Effort::Quick`] for what is called a few times.
    ///
    /// ```
    /// use bbkit::compiled::{Differentiate, Effort};
    /// use bbkit::ircode::parse_module;
    ///
    /// let module = parse_module("
    /// function f(x::Float64)::Float64
    /// 1 ─ %1 = Base.mul_float(x, x)::Float64
    /// └──      return %1
    /// end
    /// ")?.module;
    /// let gradient = module.gradient("f").effort(Effort::Quick).compile()?;
    /// let mut dx = 0.0;
    /// assert_eq!((gradient.call((3.0,), &mut dx)?, dx), (9.0, 6.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn effort(self, effort: Effort) -> Self {
        self.with(|settings| settings.effort = effort)
    }

    /// Derives and compiles. This takes milliseconds; what it gives can be called as often as wanted, from several
    /// threads at once.
    ///
    /// # Errors
    ///
    /// [`CompileError`].
    pub fn compile(self) -> Result<T, CompileError> {
        T::make(&self)
    }

    /// The module keyed by ID, with the types that were given, and what the function takes.
    pub(super) fn prepared(&self) -> Result<(Module<BBCode>, Signature), CompileError> {
        let Settings { function: name, types, wrt, .. } = &self.settings;
        let Some(position) = self.module.function_index(name) else {
            return Err(CompileError::NoSuchFunction(name.clone()));
        };
        let part = self.module.reached_from([position]);
        let Some(function) = part.function(name) else { return Err(CompileError::NoSuchFunction(name.clone())) };
        let mut module = verified(&part, name)?;
        check_types(&module, name, types)?;
        specialize(&mut module, name, types)?;
        let shown = passes::argument_types(&part, function);
        let known = module.function(name).map(|function| function.body.argtypes.as_slice());
        let known = known.and_then(|types| types.get(1..)).unwrap_or_default();
        let types = shown.into_iter().enumerate().map(|(index, shown)| {
            let ty = known.get(index).filter(|ty| !ty.is_unknown()).cloned().unwrap_or(shown);
            ty.widened().unwrap_or(ty)
        });
        let types: Vec<Type> = types.collect();
        let signature = Signature::new(&module, name, &types, wrt.as_deref())?;
        Ok((module, signature))
    }

    /// What is asked of reverse mode.
    pub(super) fn reverse(&self, signature: &Signature) -> reverse_mode::Options {
        reverse_mode::Options {
            with_respect_to: Some(signature.with_respect_to()),
            savings: self.settings.savings,
            checkpoint: self.settings.checkpoint,
            reassociate: self.settings.reassociate,
            ..Default::default()
        }
    }

    /// Compiles these functions of a module, of which the first is called with what the function itself takes, and more
    /// perhaps.
    pub(super) fn program(
        &self,
        module: Module<BBCode>,
        functions: &[&Name],
        signature: &Signature,
    ) -> Result<Program, CompileError> {
        let names: Vec<&str> = functions.iter().map(|name| name.as_str()).collect();
        let program = Program::compile_with(&into_ircode(module)?, &names, self.settings.limits, self.settings.effort)?;
        if let Some((number, ty)) = program.impassable(0).filter(|(number, _)| *number < signature.parameters.len()) {
            let problem = match ty.is_unknown() {
                true => "is of unknown type: `types` gives it one".into(),
                false => format!("is {}, of which no value can be passed to compiled functions", with_article(ty)),
            };
            let (function, name) = (signature.function.clone(), signature.name(number));
            return Err(CompileError::Argument { function, number, name, problem });
        }
        Ok(program.flush_subnormals(self.settings.flush_subnormals))
    }

    /// The type of what the function returns in this module, of which the first field is the value.
    pub(super) fn result_error(&self, ty: Type, expected: &'static str) -> CompileError {
        CompileError::Result { function: self.settings.function.clone(), ty, expected }
    }
}

impl<T: WithRespectTo> Builder<'_, T> {
    /// With respect to these arguments, counted from 0, in this order. Without it, with respect to all that are floats,
    /// arrays of floats, or tuples and immutable structs of `Float64`s.
    pub fn wrt(self, arguments: impl IntoIterator<Item = usize>) -> Self {
        self.with(|settings| settings.wrt = Some(arguments.into_iter().collect()))
    }

    /// With derivatives that may be rounded in another order than in the interpreter, which is faster: adjoints that
    /// loops carry are [multiplied by one number a round](passes::preaccumulation), what is added to an element several
    /// times is [added up first](passes::increment_merging), and rounds that read the same numbers may be reversed [as
    /// soon as they were run](reverse_mode::Options::reassociate). The value may be rounded otherwise, too.
    pub fn reassociate(self, reassociate: bool) -> Self {
        self.with(|settings| settings.reassociate = reassociate)
    }
}

impl<T: ByReverseMode> Builder<'_, T> {
    /// With these techniques that make derivatives by reverse mode small.
    pub fn savings(self, savings: Savings) -> Self {
        self.with(|settings| settings.savings = savings)
    }

    /// With loops [checkpointed](reverse_mode::Options::checkpoint) in reverse mode, or not.
    pub fn checkpoint(self, checkpoint: bool) -> Self {
        self.with(|settings| settings.checkpoint = checkpoint)
    }
}
