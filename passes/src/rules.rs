//! The derivative rules of primitives: written in IR text, in the folder `rules/`, and read from there; and those that
//! a host, or a user, adds for functions.
//!
//! A rule for a primitive is a function of one block that calls primitives only. `NAME_vjp(args…, out, seed)` gives
//! from the arguments of the primitive, its result and the cotangent of the result a tuple of the cotangents of the
//! arguments, `nothing` for those that have none. `NAME_jvp(args…, out, tangents…)` gives the tangent of the result.
//! What stands behind `_vjp_` tells rules for different types of arguments apart.
//!
//! The types `T` and `U` stand for any float type, `I` for any integer type, `Any` for any type; `N`, `M` and `K` in
//! `Array{T, N}` for any rank. Literals are of the type `T`.
//!
//! # Arrays
//!
//! The cotangent of an array is in its shadow, an array of the same type and dimensions, or `nothing` if it holds no
//! floats. `NAME_vjp(args…, out, seed, shadows…)` takes, behind the seed, the shadow of each argument whose type is an
//! array, in order, and then that of the result if that is one; the seed is `nothing` then. It adds to the shadows of
//! the arguments in place, and its tuple has `nothing` for them. While it runs, memory is as it was right after the
//! call of the primitive.
//!
//! A primitive whose name ends in `!` changes its first operand, and returns it. Its VJP turns the shadow of that
//! operand from the cotangent of what is in it afterwards to that of what was in it before; the shadow of the result
//! is the same array. Its JVP changes the tangent of the first operand in place, and returns it. Any other
//! primitive that returns an array returns a new one, and its JVP does so, too.
//!
//! # Rules of functions
//!
//! A module may have [rules of its own](Module::add_rule), for primitives, the host's and the built-in ones, and for
//! its functions. One for a function may have any control flow and call functions: it is called where the derivative of
//! the function would be. It takes the parameters that a rule for a primitive takes, and:
//!
//! - What can be changed and is no array has `nothing` in the tuple, and no shadow among the parameters: nothing flows
//!   to it. Or the rule takes a shadow for each argument that is or holds what can be changed, not for arrays alone.
//! - The seed of a result that is or holds what can be changed, and is no array, is its tangent: the shadows of what
//!   can be changed, and cotangents for its floats.
//! - What can be changed in the result is new, and the arguments stay as they are: reverse mode refuses a function with
//!   a rule that is seen to change some, or to give one back. Of what it calls and is not known, such as C functions,
//!   it is taken that it does not.
//! - `nothing` for a float says that nothing flows to it.
//!
//! The types are those of the function, without variables. `NAME` may be the name of a function as it stands in the
//! module, `f(::Float64)` included; or what it is a method of, if the types of the rule say which method.

mod bindings;
mod entry;
mod error;
mod reading;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock};

use hashbrown::HashMap;
use ircode::primitives::Primitive;
use ircode::{Body, Callee, Constant, Function, IRCode, Module, Name, Operand, Positions, Stmt, Type, parse_module};

pub use bindings::Bindings;
use entry::{Entry, Unread};
pub use error::{RuleError, RuleErrorKind};

/// The rules that come with bbkit.
const STANDARD: &[(&str, &str)] = &[
    ("arithmetic.ir", include_str!("../rules/arithmetic.ir")),
    ("arrays.ir", include_str!("../rules/arrays.ir")),
    ("conversion.ir", include_str!("../rules/conversion.ir")),
    ("exponential.ir", include_str!("../rules/exponential.ir")),
    ("power.ir", include_str!("../rules/power.ir")),
    ("rounding.ir", include_str!("../rules/rounding.ir")),
    ("selection.ir", include_str!("../rules/selection.ir")),
    ("special.ir", include_str!("../rules/special.ir")),
    ("trigonometry.ir", include_str!("../rules/trigonometry.ir")),
];

/// The rules for functions of Julia's library that come with bbkit.
const LIBRARY: &str = include_str!("../rules/library.ir");

/// By the start of the names of the functions for which there are such rules: what they call, and what a function of
/// the same name that a user wrote does not.
const OF_THE_LIBRARY: &[(&str, &str)] =
    &[("sincos(", "Base.Math.sincos_domain_error("), ("rem2pi(", "Base.Math.paynehanek(")];

/// Which derivative a rule gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuleKind {
    /// The tangent of the result, from those of the arguments.
    Jvp,
    /// The cotangents of the arguments, from that of the result.
    Vjp,
}

/// What a rule is the derivative of.
#[derive(Clone, Debug)]
pub enum RuleTarget {
    /// A primitive: the rule is written in the place of the call.
    Primitive(&'static Primitive),
    /// The function of the module of this name: the rule is called.
    Function(Name),
}

/// A derivative rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it is the derivative of.
    pub target: RuleTarget,
    /// Which derivative it gives.
    pub kind: RuleKind,
    /// The types of the arguments of the target, for a primitive with `T`, `U`, `I` and `Array{T, N}` for what varies.
    pub argtypes: Vec<Type>,
    /// The rule as it is written.
    pub function: Function<IRCode>,
    /// What the rule of a primitive returns: one operand an argument (VJP), or the tangent (JVP). Empty for that of a
    /// function.
    pub outputs: Vec<Operand<Positions>>,
    /// For each argument, the parameter that is its shadow, as index into the argument types of the rule's body, where
    /// that of `_2` is 1. `None` for arguments without one, and in a JVP.
    pub shadows: Vec<Option<usize>>,
    /// The parameter that is the shadow of the result, in the same way.
    pub out_shadow: Option<usize>,
    /// For each statement of the rule of a primitive, whether it changes its first operand.
    in_place: Vec<bool>,
    /// For each argument of a function, whether the function says its type.
    declared: Vec<bool>,
    /// What [`slice`](Rule::slice) has found, by the set of outputs: a bit for each.
    slices: [OnceLock<Slice>; 1 << OUTPUTS_KEPT],
}

/// Slices are kept for sets of the first so many outputs: few rules have more.
const OUTPUTS_KEPT: usize = 3;

/// Derivative rules by primitive and by function.
#[derive(Clone, Debug, Default)]
pub struct RuleTable {
    rules: Vec<Arc<Entry>>,
    by_name: HashMap<(&'static str, RuleKind), Vec<usize>>,
    by_function: HashMap<(Name, RuleKind), Vec<usize>>,
}

impl RuleTable {
    /// The rules that come with bbkit. Each is read when it is first asked for.
    ///
    /// # Errors
    ///
    /// [`RuleError`], which a test shows not to happen.
    pub fn standard() -> Result<&'static RuleTable, RuleError> {
        static TABLE: LazyLock<Result<RuleTable, RuleError>> = LazyLock::new(|| {
            let mut table = RuleTable::default();
            for (file, text) in STANDARD {
                for unread in entry::split(text) {
                    table.push(Entry::of_primitive(file, unread)?);
                }
            }
            Ok(table)
        });
        TABLE.as_ref().map_err(Clone::clone)
    }

    /// The rules for a module: its own, if it has any, and behind them those that come with bbkit, for functions of
    /// Julia's library only where the module has these. Of several rules that take the same arguments, the first
    /// counts.
    ///
    /// # Errors
    ///
    /// [`RuleError`] if a rule of the module is not of the right form, or does not fit the function that it is for.
    pub fn of_module<F: Body>(module: &Module<F>) -> Result<Cow<'static, RuleTable>, RuleError> {
        let standard = RuleTable::standard()?;
        let own = module.extensions().map(|extensions| extensions.rules()).unwrap_or_default();
        let wanted = |rule: &&Unread| {
            let target = reading::target_and_kind(rule.name).and_then(|(target, _)| module.function(target));
            target.is_some_and(is_of_the_library)
        };
        let library: Vec<&Function<IRCode>> =
            library_rules().iter().filter(wanted).filter_map(Unread::function).collect();
        if own.is_empty() && library.is_empty() {
            return Ok(Cow::Borrowed(standard));
        }
        let mut table = RuleTable::default();
        for function in own {
            table.add_function("the module", function, module)?;
        }
        for function in library {
            // One that does not fit is for another version of the function.
            if let Ok(rule) = reading::read_rule(function, module) {
                table.push(Entry::from(rule));
            }
        }
        table.append(standard);
        Ok(Cow::Owned(table))
    }

    /// The rules for the primitives of a module: its own and those that come with bbkit. The bodies of the module's
    /// functions do not matter.
    ///
    /// # Errors
    ///
    /// [`RuleError`] if a rule of the module for a primitive is not of the right form.
    pub fn of_primitives<F: Body>(module: &Module<F>) -> Result<Cow<'static, RuleTable>, RuleError> {
        let standard = RuleTable::standard()?;
        let own = module.extensions().map(|extensions| extensions.rules()).unwrap_or_default();
        let is_of_primitive = |rule: &&Function<IRCode>| {
            reading::target_and_kind(&rule.name).is_some_and(|(target, _)| {
                module.function_index(target).is_none()
                    && matches!(module.function_callee(target), Callee::Primitive(_))
            })
        };
        let own: Vec<_> = own.iter().filter(is_of_primitive).collect();
        if own.is_empty() {
            return Ok(Cow::Borrowed(standard));
        }
        let mut table = RuleTable::default();
        for function in own {
            table.add_function("the module", function, module)?;
        }
        table.append(standard);
        Ok(Cow::Owned(table))
    }

    /// All rules, in the order in which they were added.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter_map(|entry| entry.rule()).map(|rule| &**rule)
    }

    /// Adds the rules of a file, which are for built-in primitives. `file` names it in errors.
    ///
    /// # Errors
    ///
    /// [`RuleError`] if the text cannot be read, or does not hold rules of the right form.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), RuleError> {
        let parsed = parse_module(text).map_err(|error| RuleError {
            file: file.into(),
            rule: None,
            statement: None,
            kind: RuleErrorKind::Text(error),
        })?;
        let names: Module<IRCode> = Module::new();
        parsed.module.functions().iter().try_for_each(|function| self.add_function(file, function, &names))
    }

    /// Adds a rule. `names` has the functions and primitives that it may be for.
    fn add_function<F: Body>(
        &mut self,
        file: &str,
        function: &Function<IRCode>,
        names: &Module<F>,
    ) -> Result<(), RuleError> {
        let rule = reading::read_rule(function, names).map_err(|reading::Found((kind, statement))| RuleError {
            file: file.into(),
            rule: Some(function.name.clone()),
            statement,
            kind,
        })?;
        self.push(Entry::from(rule));
        Ok(())
    }

    /// Adds the rules of another table behind its own.
    fn append(&mut self, other: &RuleTable) {
        other.rules.iter().for_each(|entry| self.push(entry.clone()));
    }

    fn push(&mut self, entry: impl Into<Arc<Entry>>) {
        let entry = entry.into();
        let indices = match &entry.target {
            RuleTarget::Primitive(primitive) => self.by_name.entry((primitive.name, entry.kind)).or_default(),
            RuleTarget::Function(name) => self.by_function.entry((name.clone(), entry.kind)).or_default(),
        };
        indices.push(self.rules.len());
        self.rules.push(entry);
    }

    /// The rule for a primitive with arguments of these types, and what its type variables stand for.
    pub fn find(&self, primitive: &Primitive, kind: RuleKind, argtypes: &[Type]) -> Option<(Arc<Rule>, Bindings)> {
        let indices = self.by_name.get(&(primitive.rule, kind))?;
        indices.iter().find_map(|&index| {
            let rule = self.rules.get(index)?.rule()?;
            Some((rule.clone(), rule.bind(argtypes)?))
        })
    }

    /// The rule for the function of the module of this name, called with arguments of these types. A type that is not
    /// known fits where the function itself says what it takes.
    pub fn find_function(&self, function: &Name, kind: RuleKind, argtypes: &[Type]) -> Option<Arc<Rule>> {
        let indices = self.by_function.get(&(function.clone(), kind))?;
        let mut rules = indices.iter().filter_map(|&index| self.rules.get(index)?.rule());
        let fits = |rule: &&Arc<Rule>| {
            let each = |((taken, given), declared): ((&Type, &Type), &bool)| {
                taken.is_unknown() || taken == given || (given.is_unknown() && *declared)
            };
            rule.argtypes.len() == argtypes.len() && rule.argtypes.iter().zip(argtypes).zip(&rule.declared).all(each)
        };
        rules.find(fits).cloned()
    }

    /// Whether there is any rule of this kind for the primitive.
    pub fn has_rule(&self, primitive: &Primitive, kind: RuleKind) -> bool {
        self.by_name.contains_key(&(primitive.rule, kind))
    }

    /// Whether there is any rule of this kind for the function of the module of this name.
    pub fn has_function_rule(&self, function: &Name, kind: RuleKind) -> bool {
        self.by_function.contains_key(&(function.clone(), kind))
    }
}

/// The rules for functions of Julia's library.
fn library_rules() -> &'static [Unread] {
    static RULES: LazyLock<Vec<Unread>> = LazyLock::new(|| entry::split(LIBRARY).collect());
    &RULES
}

/// Whether a function calls what only the library's own function of that name calls.
fn is_of_the_library<F: Body>(function: &Function<F>) -> bool {
    let of_the_library = OF_THE_LIBRARY.iter().find(|(name, _)| function.name.starts_with(name));
    of_the_library.is_some_and(|(_, callee)| {
        function.body.view().statements.iter().any(|statement| match statement.stmt {
            Stmt::Invoke(invoke) => invoke.instance.name.as_ref().is_some_and(|name| name.starts_with(callee)),
            _ => false,
        })
    })
}

impl Rule {
    /// The number of arguments of what it is the derivative of.
    pub fn arity(&self) -> usize {
        self.argtypes.len()
    }

    /// The primitive that it is the derivative of, if it is one.
    pub fn primitive(&self) -> Option<&'static Primitive> {
        match self.target {
            RuleTarget::Primitive(primitive) => Some(primitive),
            RuleTarget::Function(_) => None,
        }
    }

    /// The name of the primitive or function that it is the derivative of.
    pub fn target_name(&self) -> Name {
        reading::target_name(&self.target)
    }

    /// The name by which derivatives call the rule of a function: its own may be that of a function of the program, or
    /// of a derivative.
    pub fn called_name(&self) -> Name {
        format!("{}_rule", self.function.name).into()
    }

    /// Whether it is for a primitive that changes its first operand, and returns it.
    pub fn changes_first(&self) -> bool {
        self.primitive().is_some_and(|primitive| primitive.name.as_bytes().last() == Some(&b'!'))
    }

    /// What the type variables stand for, if the rule takes arguments of these types.
    pub fn bind(&self, argtypes: &[Type]) -> Option<Bindings> {
        if argtypes.len() != self.argtypes.len() {
            return None;
        }
        let mut bindings = Bindings::default();
        for (pattern, ty) in self.argtypes.iter().zip(argtypes) {
            bindings.unify(pattern, ty)?;
        }
        Some(bindings)
    }

    /// Which parameters of a primitive's rule its outputs of these indices need, and which of its statements. The
    /// output of an argument that is an array is what is done to its shadow. For a primitive that changes its first
    /// operand, the first is to be among them.
    ///
    /// What changes the shadow of an argument is needed for the output of that argument only; what changes another
    /// parameter is needed always; and what changes a value is needed where the value is.
    pub fn slice(&self, outputs: &[usize]) -> Cow<'_, Slice> {
        let set = outputs.iter().try_fold(0, |set, &output| (output < OUTPUTS_KEPT).then_some(set | 1 << output));
        match set.and_then(|set: usize| self.slices.get(set)) {
            Some(kept) => Cow::Borrowed(kept.get_or_init(|| self.find_slice(outputs))),
            None => Cow::Owned(self.find_slice(outputs)),
        }
    }

    fn find_slice(&self, outputs: &[usize]) -> Slice {
        let ir = &self.function.body;
        let mut slice = Slice { parameters: vec![false; ir.argtypes.len()], statements: vec![false; ir.stmts.len()] };
        let mut work: Vec<usize> = Vec::new();
        let mut changes: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, changed) in self.changed_operands() {
            match changed {
                Operand::Argument(argument) => {
                    let shadow = |argument| self.shadows.iter().position(|shadow| *shadow == argument);
                    if shadow(argument.index()).is_none_or(|of| outputs.contains(&of)) {
                        slice.need_statement(index, &mut work);
                    }
                }
                Operand::Value(value) => {
                    if let Some(value) = value.index() {
                        changes.entry(value).or_default().push(index);
                    }
                }
                _ => {}
            }
        }
        for output in outputs.iter().filter_map(|&output| self.outputs.get(output)) {
            slice.need(output, &mut work);
        }
        while let Some(index) = work.pop() {
            for &change in changes.get(&index).map(Vec::as_slice).unwrap_or_default() {
                slice.need_statement(change, &mut work);
            }
            if let Some(stmt) = ir.stmts.stmts().get(index) {
                stmt.for_each_operand(&mut |operand| slice.need(operand, &mut work));
            }
        }
        slice
    }

    /// Which parameters the outputs of these indices need if some of the statements need not be executed, as their
    /// values are known.
    pub(crate) fn parameters_without(&self, outputs: &[usize], known: impl Fn(usize) -> bool) -> Vec<bool> {
        let slice = self.slice(outputs);
        let mut parameters = vec![false; slice.parameters.len()];
        let mut need = |operand: &Operand<Positions>| {
            if let Operand::Argument(argument) = operand
                && let Some(parameter) = argument.index().and_then(|index| parameters.get_mut(index))
            {
                *parameter = true;
            }
        };
        outputs.iter().filter_map(|&output| self.outputs.get(output)).for_each(&mut need);
        for (index, stmt) in self.function.body.stmts.stmts().iter().enumerate() {
            if slice.statements.get(index) == Some(&true) && !known(index) {
                stmt.for_each_operand(&mut need);
            }
        }
        parameters
    }

    /// The statements that change an operand in place, and which.
    fn changed_operands(&self) -> impl Iterator<Item = (usize, &Operand<Positions>)> {
        let stmts = self.function.body.stmts.stmts().iter().zip(&self.in_place).enumerate();
        stmts.filter_map(|(index, (stmt, in_place))| match stmt {
            Stmt::Call(call) if *in_place => Some((index, call.args.first()?)),
            _ => None,
        })
    }

    /// A statement of the rule and its type, with types in the place of type variables.
    pub fn statement(&self, index: usize, bindings: &Bindings) -> Option<(Stmt<Positions>, Type)> {
        let mut stmt = self.function.body.stmts.stmts().get(index)?.clone();
        let ty = bindings.substitute(self.function.body.stmts.types().get(index)?);
        stmt.for_each_operand_mut(&mut |operand| *operand = bindings.substitute_operand(operand));
        Some((stmt, ty))
    }

    /// Whether the output is 0 whatever the seed is: then the primitive does not depend on that argument, as far as
    /// derivatives see. For an array, whether nothing is ever added to its shadow; never for one that is changed.
    pub fn is_zero(&self, output: usize) -> bool {
        if matches!(self.target, RuleTarget::Function(_)) {
            return output >= self.arity();
        }
        if let Some(shadow @ Some(_)) = self.shadows.get(output) {
            let added = |(_, changed): (usize, &Operand<Positions>)| matches!(changed, Operand::Argument(argument) if argument.index() == *shadow);
            let changed_itself = output == 0 && self.changes_first();
            return !changed_itself && !self.changed_operands().any(added);
        }
        match self.outputs.get(output) {
            Some(Operand::Constant(Constant::Scalar(scalar))) => scalar.as_float() == Some(0.0),
            Some(Operand::Constant(Constant::Nothing)) | None => true,
            _ => false,
        }
    }
}

/// What some outputs of a rule need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    /// By parameter, `_1` first: the arguments of the primitive, its result, the seed or the tangents, the shadows.
    pub parameters: Vec<bool>,
    /// By statement.
    pub statements: Vec<bool>,
}

impl Slice {
    fn need(&mut self, operand: &Operand<Positions>, work: &mut Vec<usize>) {
        match operand {
            Operand::Argument(argument) => {
                if let Some(parameter) = argument.index().and_then(|index| self.parameters.get_mut(index)) {
                    *parameter = true;
                }
            }
            Operand::Value(value) => {
                if let Some(index) = value.index() {
                    self.need_statement(index, work);
                }
            }
            _ => {}
        }
    }

    fn need_statement(&mut self, index: usize, work: &mut Vec<usize>) {
        if let Some(statement) = self.statements.get_mut(index)
            && !*statement
        {
            *statement = true;
            work.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use ircode::ScalarType;
    use ircode::primitives::lookup;

    use super::*;

    #[test]
    fn the_standard_rules_can_be_read() {
        let mut read = RuleTable::default();
        STANDARD.iter().try_for_each(|(file, text)| read.add(file, text)).unwrap();
        let table = RuleTable::standard().unwrap();
        assert!(table.rules().count() > 100);
        // Read one by one, they are what they are when read together.
        let written = |table: &RuleTable| Vec::from_iter(table.rules().map(|rule| rule.function.clone()));
        assert_eq!(written(table), written(&read));
        for rule in table.rules() {
            let other = if rule.kind == RuleKind::Vjp { RuleKind::Jvp } else { RuleKind::Vjp };
            let primitive = rule.primitive().unwrap();
            assert!(table.has_rule(primitive, other), "{} has one kind of rule only", primitive.name);
        }
    }

    #[test]
    fn the_rules_of_the_library_can_be_read() {
        let parsed = parse_module(LIBRARY).unwrap();
        let read = library_rules().iter().map(|rule| (rule.name, rule.function().unwrap()));
        assert!(read.eq(parsed.module.functions().iter().map(|function| (&*function.name, function))));
        assert!(library_rules().iter().all(|rule| reading::target_and_kind(rule.name).is_some()));
    }

    #[test]
    fn type_variables_are_bound_alike() {
        let table = RuleTable::standard().unwrap();
        let mul = lookup("mul_float").unwrap();
        let (rule, bindings) = table.find(mul, RuleKind::Vjp, &[Type::FLOAT32, Type::FLOAT32]).unwrap();
        assert_eq!(bindings.t, Some(ScalarType::Float32));
        assert_eq!(rule.outputs.len(), 2);
        assert!(table.find(mul, RuleKind::Vjp, &[Type::FLOAT32, Type::FLOAT64]).is_none());
        assert!(table.find(mul, RuleKind::Vjp, &[Type::INT64, Type::INT64]).is_none());
    }

    #[test]
    fn a_slice_is_what_an_output_needs() {
        let table = RuleTable::standard().unwrap();
        let mul = lookup("mul_float").unwrap();
        let (rule, _) = table.find(mul, RuleKind::Vjp, &[Type::FLOAT64, Type::FLOAT64]).unwrap();
        // The cotangent of x needs y and the seed: neither x nor the result.
        assert_eq!(rule.slice(&[0]).parameters, [false, false, true, false, true]);
    }

    #[test]
    fn wrong_rules_are_refused() {
        let mut table = RuleTable::default();
        for (text, problem) in [
            ("function sin(x::T)::T\n1 ─ return x\nend", "ends in `_vjp` or `_jvp`"),
            (
                "function nonsense_vjp(x::T, out::T, seed::T)::Tuple{T}\n1 ─ return x\nend",
                "neither a function nor a primitive `nonsense`",
            ),
            (
                "function sin_vjp(x::T, out::T, seed::T)::Tuple{T}\n1 ─ return seed\nend",
                "must return a tuple of 1, but returns something else",
            ),
            ("function sin_vjp(x::T, out::T, seed::T)::Tuple{T}\n1 ─ goto #2\n2 ─ return seed\nend", "single block"),
            (
                "function sin_vjp(x::T)\n1 ─ return x\nend",
                "must take the 1 argument of `sin`, its result, the seed, but has 1 parameter",
            ),
            ("function sin_jvp(x::T, y::T, out::T, dx::T, dy::T)::T\n1 ─ return dx\nend", "not take 2 operands"),
            (
                "function sin_vjp(x, out, seed)\n1 ─ %1 = tuple(seed)\n└── return %1\nend",
                "its parameter _2 (`x`) needs a type",
            ),
            (
                "function sin_vjp(x::Real, out::Real, seed::Real)::Tuple{Real}\n1 ─ %1 = tuple(seed)\n└── return %1\nend",
                "its parameter _2 (`x`) is of the abstract type Real",
            ),
            (
                "function arraylen_vjp(a::AbstractVector{Float64}, out, seed)\n1 ─ %1 = tuple(seed)\n└── return %1\nend",
                "its parameter _2 (`a`) is of the abstract type AbstractVector{Float64}",
            ),
        ] {
            let error = table.add("bad.ir", text).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
