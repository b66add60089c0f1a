//! The derivative rules of primitives: written in IR text, in the folder `rules/`, and read from there.
//!
//! A rule is a function of one block that calls primitives only. `NAME_vjp(args…, out, seed)` gives from the arguments of
//! the primitive, its result and the cotangent of the result a tuple of the cotangents of the arguments, `nothing` for
//! those that have none. `NAME_jvp(args…, out, tangents…)` gives the tangent of the result. What stands behind `_vjp_`
//! tells rules for different types of arguments apart.
//!
//! The types `T` and `U` stand for any float type, `I` for any integer type, `Any` for any type; literals are of the type
//! `T`.
//!
//! A module may have [rules of its own](Module::add_rule), of which a rule may also be for a primitive that the host has
//! registered, or call one.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;
use ircode::primitives::Primitive;
use ircode::{
    Callee, Constant, Function, IRCode, Module, Operand, Positions, Scalar, ScalarType, Stmt, Type, parse_module,
};

/// The rules that come with bbkit.
const STANDARD: &[(&str, &str)] = &[
    ("arithmetic.ir", include_str!("../rules/arithmetic.ir")),
    ("conversion.ir", include_str!("../rules/conversion.ir")),
    ("exponential.ir", include_str!("../rules/exponential.ir")),
    ("power.ir", include_str!("../rules/power.ir")),
    ("rounding.ir", include_str!("../rules/rounding.ir")),
    ("selection.ir", include_str!("../rules/selection.ir")),
    ("special.ir", include_str!("../rules/special.ir")),
    ("trigonometry.ir", include_str!("../rules/trigonometry.ir")),
];

/// Which derivative a rule gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuleKind {
    /// The tangent of the result, from those of the arguments.
    Jvp,
    /// The cotangents of the arguments, from that of the result.
    Vjp,
}

/// A derivative rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The primitive.
    pub primitive: &'static Primitive,
    /// Which derivative it gives.
    pub kind: RuleKind,
    /// The types of the primitive's arguments, with `T`, `U` and `I` for what varies.
    pub argtypes: Vec<Type>,
    /// The rule as it is written.
    pub function: Function<IRCode>,
    /// What it returns: one operand an argument (VJP), or the tangent (JVP).
    pub outputs: Vec<Operand<Positions>>,
}

/// What the type variables of a rule stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Bindings {
    /// The float type `T`.
    pub t: Option<ScalarType>,
    /// The float type `U`.
    pub u: Option<ScalarType>,
    /// The integer type `I`.
    pub i: Option<ScalarType>,
}

/// Why a rule cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the rules in {file} cannot be used: {message}")]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// What is wrong.
    pub message: String,
}

/// Derivative rules by primitive.
#[derive(Clone, Debug, Default)]
pub struct RuleTable {
    rules: Vec<Arc<Rule>>,
    by_name: HashMap<(&'static str, RuleKind), Vec<usize>>,
}

impl RuleTable {
    /// The rules that come with bbkit.
    ///
    /// # Errors
    ///
    /// [`RuleError`], which a test shows not to happen.
    pub fn standard() -> Result<&'static RuleTable, RuleError> {
        static TABLE: LazyLock<Result<RuleTable, RuleError>> = LazyLock::new(|| {
            let mut table = RuleTable::default();
            for (file, text) in STANDARD {
                table.add(file, text)?;
            }
            Ok(table)
        });
        TABLE.as_ref().map_err(Clone::clone)
    }

    /// The rules for a module: its own, if it has any, and behind them those that come with bbkit. Of several rules that
    /// take the same arguments, the first counts.
    ///
    /// # Errors
    ///
    /// [`RuleError`] if a rule of the module is not of the right form.
    pub fn of_module<F>(module: &Module<F>) -> Result<Cow<'static, RuleTable>, RuleError> {
        let standard = RuleTable::standard()?;
        let own = module.extensions().map(|extensions| extensions.rules()).unwrap_or_default();
        if own.is_empty() {
            return Ok(Cow::Borrowed(standard));
        }
        let names = Module::with_extensions_of(module);
        let mut table = RuleTable::default();
        for function in own {
            table.add_function("the module", function, &names)?;
        }
        for rule in &standard.rules {
            table.push(rule.clone());
        }
        Ok(Cow::Owned(table))
    }

    /// All rules, in the order in which they were added.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(|rule| &**rule)
    }

    /// Adds the rules of a file. `file` names it in errors.
    ///
    /// # Errors
    ///
    /// [`RuleError`] if the text cannot be read, or does not hold rules of the right form.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), RuleError> {
        let parsed = parse_module(text).map_err(|e| RuleError { file: file.into(), message: e.to_string() })?;
        let names = Module::new();
        parsed.module.functions().iter().try_for_each(|function| self.add_function(file, function, &names))
    }

    /// Adds a rule. `names` has the primitives that are registered, and no functions.
    fn add_function(
        &mut self,
        file: &str,
        function: &Function<IRCode>,
        names: &Module<IRCode>,
    ) -> Result<(), RuleError> {
        let error = |message| RuleError { file: file.into(), message: format!("`{}`: {message}", function.name) };
        self.push(Arc::new(read_rule(function, names).map_err(error)?));
        Ok(())
    }

    fn push(&mut self, rule: Arc<Rule>) {
        self.by_name.entry((rule.primitive.name, rule.kind)).or_default().push(self.rules.len());
        self.rules.push(rule);
    }

    /// The rule for a primitive with arguments of these types, and what its type variables stand for.
    pub fn find(&self, primitive: &Primitive, kind: RuleKind, argtypes: &[Type]) -> Option<(Arc<Rule>, Bindings)> {
        let indices = self.by_name.get(&(primitive.rule, kind))?;
        indices.iter().find_map(|&index| {
            let rule = self.rules.get(index)?;
            Some((rule.clone(), rule.bind(argtypes)?))
        })
    }

    /// Whether there is any rule of this kind for the primitive.
    pub fn has_rule(&self, primitive: &Primitive, kind: RuleKind) -> bool {
        self.by_name.contains_key(&(primitive.rule, kind))
    }
}

fn read_rule(function: &Function<IRCode>, names: &Module<IRCode>) -> Result<Rule, String> {
    let name: &str = &function.name;
    let (primitive, kind) = [("_vjp", RuleKind::Vjp), ("_jvp", RuleKind::Jvp)]
        .into_iter()
        .find_map(|(suffix, kind)| {
            let at = name.rfind(suffix)?;
            let rest = name.get(at + suffix.len()..)?;
            (rest.is_empty() || rest.starts_with('_')).then(|| (name.get(..at).unwrap_or_default(), kind))
        })
        .ok_or("the name of a rule ends in `_vjp` or `_jvp`")?;
    let primitive = names.primitive(primitive).ok_or_else(|| format!("there is no primitive `{primitive}`"))?;
    let ir = &function.body;
    ir.verify().map_err(|violations| violations.to_string())?;
    if ir.cfg.blocks.len() != 1 || !ir.new_nodes.is_empty() {
        return Err("a rule has a single block".into());
    }
    let parameters = ir.argtypes.len().saturating_sub(1);
    let count = match kind {
        RuleKind::Vjp => parameters.checked_sub(2),
        RuleKind::Jvp => parameters.checked_sub(1).filter(|rest| rest % 2 == 0).map(|rest| rest / 2),
    };
    let count = count.ok_or("it takes the arguments, the result, and the seed or the tangents")?;
    if !primitive.takes(count) {
        return Err(format!("`{}` does not take {count} operands", primitive.name));
    }
    let Some((last, calls)) = ir.stmts.stmts().split_last() else { return Err("it is empty".into()) };
    for stmt in calls {
        let callee = match stmt {
            Stmt::Call(call) => names.callee(&call.callee),
            _ => None,
        };
        if !matches!(callee, Some(Callee::Primitive(_))) {
            return Err(format!("a rule calls primitives only, not {stmt:?}"));
        }
    }
    let Stmt::Return(ret) = last else { return Err("it does not return".into()) };
    let returned = ret.value.clone().ok_or("it does not return")?;
    let outputs = match kind {
        RuleKind::Jvp => vec![returned],
        RuleKind::Vjp => match returned.as_value().and_then(|value| ir.stmt(value)) {
            Some(Stmt::Call(call)) if call.args.len() == count => call.args.to_vec(),
            _ => return Err(format!("it returns a tuple of {count}")),
        },
    };
    Ok(Rule {
        primitive,
        kind,
        argtypes: ir.argtypes.iter().skip(1).take(count).cloned().collect(),
        function: function.clone(),
        outputs,
    })
}

impl Rule {
    /// The number of arguments of the primitive.
    pub fn arity(&self) -> usize {
        self.argtypes.len()
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

    /// Which parameters of the rule its outputs of these indices need, and which of its statements.
    pub fn slice(&self, outputs: &[usize]) -> Slice {
        let ir = &self.function.body;
        let mut slice = Slice { parameters: vec![false; ir.argtypes.len()], statements: vec![false; ir.stmts.len()] };
        let mut work: Vec<usize> = Vec::new();
        let need = |operand: &Operand<Positions>, slice: &mut Slice, work: &mut Vec<usize>| match operand {
            Operand::Argument(argument) => {
                if let Some(parameter) = argument.index().and_then(|index| slice.parameters.get_mut(index)) {
                    *parameter = true;
                }
            }
            Operand::Value(value) => {
                if let Some(index) = value.index()
                    && let Some(statement) = slice.statements.get_mut(index)
                    && !*statement
                {
                    *statement = true;
                    work.push(index);
                }
            }
            _ => {}
        };
        for output in outputs.iter().filter_map(|&output| self.outputs.get(output)) {
            need(output, &mut slice, &mut work);
        }
        while let Some(index) = work.pop() {
            if let Some(stmt) = ir.stmts.stmts().get(index) {
                stmt.for_each_operand(&mut |operand| need(operand, &mut slice, &mut work));
            }
        }
        slice
    }

    /// A statement of the rule and its type, with types in the place of type variables.
    pub fn statement(&self, index: usize, bindings: &Bindings) -> Option<(Stmt<Positions>, Type)> {
        let mut stmt = self.function.body.stmts.stmts().get(index)?.clone();
        let ty = bindings.substitute(self.function.body.stmts.types().get(index)?);
        stmt.for_each_operand_mut(&mut |operand| *operand = bindings.substitute_operand(operand));
        Some((stmt, ty))
    }

    /// Whether the output is 0 whatever the seed is: then the primitive does not depend on that argument, as far as
    /// derivatives see.
    pub fn is_zero(&self, output: usize) -> bool {
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
    /// By parameter, `_1` first: the arguments of the primitive, its result, and the seed or the tangents.
    pub parameters: Vec<bool>,
    /// By statement.
    pub statements: Vec<bool>,
}

impl Bindings {
    fn unify(&mut self, pattern: &Type, ty: &Type) -> Option<()> {
        let bind = |slot: &mut Option<ScalarType>, accept: fn(ScalarType) -> bool| {
            let found = ty.as_scalar().filter(|ty| accept(*ty))?;
            (*slot.get_or_insert(found) == found).then_some(())
        };
        match pattern {
            Type::Named(name) if name == "T" => bind(&mut self.t, ScalarType::is_float),
            Type::Named(name) if name == "U" => bind(&mut self.u, ScalarType::is_float),
            Type::Named(name) if name == "I" => bind(&mut self.i, ScalarType::is_integer),
            Type::TypeOf(inner) => match ty {
                Type::TypeOf(ty) => self.unify(inner, ty),
                _ => None,
            },
            Type::Any => Some(()),
            other => (other == ty).then_some(()),
        }
    }

    fn variable(&self, name: &str) -> Option<Type> {
        match name {
            "T" => self.t.map(Type::from),
            "U" => self.u.map(Type::from),
            "I" => self.i.map(Type::from),
            _ => None,
        }
    }

    /// The type with types in the place of type variables.
    pub fn substitute(&self, ty: &Type) -> Type {
        match ty {
            Type::Named(name) => self.variable(name).unwrap_or_else(|| ty.clone()),
            Type::Tuple(elements) => Type::tuple(elements.iter().map(|element| self.substitute(element))),
            other => other.clone(),
        }
    }

    /// An operand with types in the place of type variables, and literals of the type `T`.
    pub fn substitute_operand(&self, operand: &Operand<Positions>) -> Operand<Positions> {
        match operand {
            Operand::Constant(Constant::Function(name)) => match self.variable(name) {
                Some(ty) => Operand::Constant(Constant::of_type(ty)),
                None => operand.clone(),
            },
            Operand::Constant(Constant::Scalar(Scalar::Float64(value))) => {
                let float = self.t.or(self.u).and_then(|ty| Scalar::from_float(ty, *value));
                float.map_or_else(|| operand.clone(), Operand::from)
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ircode::primitives::lookup;

    use super::*;

    #[test]
    fn the_standard_rules_can_be_read() {
        let table = RuleTable::standard().unwrap();
        assert!(table.rules().count() > 100);
        for rule in table.rules() {
            let other = if rule.kind == RuleKind::Vjp { RuleKind::Jvp } else { RuleKind::Vjp };
            assert!(table.has_rule(rule.primitive, other), "{} has one kind of rule only", rule.primitive.name);
        }
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
            ("function nonsense_vjp(x::T, out::T, seed::T)::Tuple{T}\n1 ─ return x\nend", "no primitive `nonsense`"),
            ("function sin_vjp(x::T, out::T, seed::T)::Tuple{T}\n1 ─ return seed\nend", "returns a tuple of 1"),
            ("function sin_vjp(x::T, out::T, seed::T)::Tuple{T}\n1 ─ goto #2\n2 ─ return seed\nend", "single block"),
            ("function sin_vjp(x::T)\n1 ─ return x\nend", "takes the arguments"),
            ("function sin_jvp(x::T, y::T, out::T, dx::T, dy::T)::T\n1 ─ return dx\nend", "not take 2 operands"),
        ] {
            let error = table.add("bad.ir", text).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
