//! What a host adds to a module: primitives of its own, and derivative rules.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::code::IRCode;
use crate::module::{Function, Module};
use crate::name::Name;
use crate::operand::GlobalRef;
use crate::primitives::{self, Primitive};
use crate::text::{TextError, parse_module};

/// The primitives and derivative rules that a host has registered with a module.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    primitives: Vec<&'static Primitive>,
    by_name: HashMap<&'static str, &'static Primitive>,
    /// Whether the name of some primitive has the path of a module.
    has_paths: bool,
    rules: Vec<Function<IRCode>>,
    rules_by_name: HashMap<Name, usize>,
}

/// Why a primitive or a rule cannot be registered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionError {
    /// The name is that of a primitive which is built in.
    #[error("`{0}` is a built-in primitive")]
    BuiltIn(&'static str),
    /// A primitive of this name is registered already.
    #[error("a primitive `{0}` is registered already")]
    PrimitiveTwice(&'static str),
    /// A rule of this name is registered already.
    #[error("a derivative rule `{0}` is registered already")]
    RuleTwice(Name),
    /// The name is not that of a derivative rule.
    #[error("the name of a derivative rule has `_vjp` or `_jvp` in it, which `{0}` has not")]
    NoRule(Name),
    /// The text of the rules cannot be read.
    #[error(transparent)]
    Text(#[from] TextError),
}

impl Extensions {
    /// The primitives, in the order in which they were registered.
    pub fn primitives(&self) -> &[&'static Primitive] {
        &self.primitives
    }

    /// The derivative rules, in the order in which they were added.
    pub fn rules(&self) -> &[Function<IRCode>] {
        &self.rules
    }

    /// The primitive that a global names: by its whole path, or by its name where the module may be one of built-in
    /// primitives.
    fn of_global(&self, global: &GlobalRef) -> Option<&'static Primitive> {
        let GlobalRef { module, name, .. } = global;
        if primitives::names_primitives(module)
            && let Some(primitive) = self.by_name.get(name.as_str())
        {
            return Some(primitive);
        }
        // This is asked at every call in every pass: the path is made only where a primitive may be called so.
        self.has_paths.then(|| self.by_name.get(format!("{module}.{name}").as_str()).copied()).flatten()
    }
}

/// Extensions are code of the host. Copies of a module have them, as has what [`Module::map`] makes of it; text and
/// JSON leave them out, and modules are equal whether they have the same ones or not.
impl<F> Module<F> {
    /// What the host has registered; `None` if that is nothing.
    pub fn extensions(&self) -> Option<&Extensions> {
        self.extensions.as_deref()
    }

    /// An empty module with the extensions of another.
    pub fn with_extensions_of<G>(other: &Module<G>) -> Self {
        let mut module = Module::new();
        module.extensions = other.extensions.clone();
        module
    }

    /// Registers a primitive. Calls of its name mean it unless the module has a function of that name: without a
    /// module, in one of those in which there are built-in primitives, or by the whole path if the name is one.
    ///
    /// # Errors
    ///
    /// [`ExtensionError`] if a primitive of this name is built in, or is registered already.
    pub fn register(&mut self, primitive: &'static Primitive) -> Result<(), ExtensionError> {
        if primitives::lookup(primitive.name).is_some() {
            return Err(ExtensionError::BuiltIn(primitive.name));
        }
        if self.is_registered(primitive.name) {
            return Err(ExtensionError::PrimitiveTwice(primitive.name));
        }
        let extensions = Arc::make_mut(self.extensions.get_or_insert_default());
        extensions.primitives.push(primitive);
        extensions.has_paths |= primitive.name.contains('.');
        extensions.by_name.insert(primitive.name, primitive);
        Ok(())
    }

    /// Adds a derivative rule: a function of the name `NAME_vjp` or `NAME_jvp`. `NAME` is a function of the module, or
    /// a primitive; `passes::rules` says which parameters a rule takes, and `passes/rules` has those that are built in.
    /// Rules of a module come before them. A rule for a function is called where the derivative of the function would
    /// be, and may have any control flow and call functions of the module. That a rule has the right form is found when
    /// something is differentiated, or when `passes::rules::RuleTable::of_module` is asked for the rules.
    ///
    /// # Errors
    ///
    /// [`ExtensionError::NoRule`] if no rule has such a name, [`ExtensionError::RuleTwice`] if the module has a rule of
    /// this name.
    pub fn add_rule(&mut self, rule: Function<IRCode>) -> Result<(), ExtensionError> {
        // What tells rules for different types apart may stand behind that.
        if !["_vjp", "_jvp"].iter().any(|kind| rule.name.contains(kind)) {
            return Err(ExtensionError::NoRule(rule.name));
        }
        if self.extensions().is_some_and(|extensions| extensions.rules_by_name.contains_key(&rule.name)) {
            return Err(ExtensionError::RuleTwice(rule.name));
        }
        let extensions = Arc::make_mut(self.extensions.get_or_insert_default());
        extensions.rules_by_name.insert(rule.name.clone(), extensions.rules.len());
        extensions.rules.push(rule);
        Ok(())
    }

    /// Adds the derivative rules in a text. Those before a mistake are added. Whether each is of the form that a rule
    /// must have, and there is something that it is for, is found when a derivative of any function of the module is
    /// made.
    ///
    /// # Errors
    ///
    /// [`ExtensionError`] if the text cannot be read, or has a rule that the module has already.
    pub fn add_rules(&mut self, text: &str) -> Result<(), ExtensionError> {
        for rule in parse_module(text)?.module.functions() {
            self.add_rule(rule.clone())?;
        }
        Ok(())
    }

    /// Whether a primitive of this name was registered.
    pub fn is_registered(&self, name: &str) -> bool {
        self.extensions().is_some_and(|extensions| extensions.by_name.contains_key(name))
    }

    /// The primitive of this name, registered or built in.
    pub fn primitive(&self, name: &str) -> Option<&'static Primitive> {
        let registered = self.extensions().and_then(|extensions| extensions.by_name.get(name).copied());
        registered.or_else(|| primitives::lookup(name))
    }

    /// The primitive that a global names, registered or built in.
    pub(crate) fn global_primitive(&self, global: &GlobalRef) -> Option<&'static Primitive> {
        let registered = self.extensions().and_then(|extensions| extensions.of_global(global));
        registered.or_else(|| primitives::of_global(global))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Effects, Failure, ResultType};
    use crate::{Callee, Scalar, Type, from_json, print_module, to_json};

    fn halve(operands: &[Scalar]) -> Result<Scalar, Failure> {
        match operands {
            [Scalar::Float64(x)] => Ok(Scalar::Float64(x / 2.0)),
            _ => Err(Failure::Operands("a Float64")),
        }
    }

    static HALVE: Primitive = Primitive::scalars("halve", 1, ResultType::Operand(0), Effects::PURE, halve);
    static OTHER: Primitive = Primitive::machine("halve", 1, ResultType::Nothing, Effects::WRITES);
    static SIN: Primitive = Primitive::scalars("sin", 1, ResultType::Operand(0), Effects::PURE, halve);
    static PATH: Primitive = Primitive::scalars("Own.halve", 1, ResultType::Operand(0), Effects::PURE, halve);

    const RULE: &str = "
function halve_vjp(x::T, out::T, seed::T)::Tuple{T}
1 ─ %1 = Base.mul_float(seed, 0.5)::T
│   %2 = tuple(%1)::Tuple{T}
└──      return %2
end
";

    #[test]
    fn what_is_no_rule_is_not_added() {
        let mut module: Module<IRCode> = Module::new();
        let error = module.add_rules(&RULE.replace("halve_vjp", "halve")).unwrap_err();
        assert_eq!(error, ExtensionError::NoRule("halve".into()));
        assert!(module.extensions().is_none());
        module.add_rules(RULE).unwrap();
    }

    fn primitive<F>(module: &Module<F>, path: &str) -> Option<&'static str> {
        match module.function_callee(path) {
            Callee::Primitive(primitive) => Some(primitive.name),
            _ => None,
        }
    }

    #[test]
    fn names_are_registered_once() {
        let mut module: Module<IRCode> = Module::new();
        assert_eq!(module.register(&SIN), Err(ExtensionError::BuiltIn("sin")));
        assert!(module.extensions().is_none());
        module.register(&HALVE).unwrap();
        assert_eq!(module.register(&OTHER), Err(ExtensionError::PrimitiveTwice("halve")));
        module.add_rules(RULE).unwrap();
        assert_eq!(module.add_rules(RULE), Err(ExtensionError::RuleTwice("halve_vjp".into())));
        assert!(matches!(module.add_rules("function"), Err(ExtensionError::Text(_))));
        let extensions = module.extensions().unwrap();
        assert_eq!((extensions.primitives().len(), extensions.rules().len()), (1, 1));
    }

    #[test]
    fn names_mean_functions_then_registered_primitives_then_built_in_ones() {
        let mut module: Module<()> = Module::new();
        assert_eq!(primitive(&module, "halve"), None);
        module.register(&HALVE).unwrap();
        for path in ["halve", "Main.halve", "Base.halve"] {
            assert_eq!(primitive(&module, path), Some("halve"), "{path}");
        }
        assert_eq!(primitive(&module, "Own.halve"), None);
        module.register(&PATH).unwrap();
        assert_eq!(primitive(&module, "Own.halve"), Some("Own.halve"));
        assert_eq!(primitive(&module, "sin"), Some("sin"));
        module.add_function(Function::new("halve", Type::FLOAT64, ())).unwrap();
        assert!(matches!(module.function_callee("halve"), Callee::Function(0)));
    }

    #[test]
    fn copies_have_the_extensions_and_files_do_not() {
        let mut module = parse_module("function f()\n1 ─ return 1\nend\n").unwrap().module;
        let plain = module.clone();
        module.register(&HALVE).unwrap();
        module.add_rules(RULE).unwrap();
        assert_eq!(module, plain);
        assert!(plain.extensions().is_none());
        let mapped = module.map(|_| Ok::<(), ()>(())).unwrap();
        for extensions in [mapped.extensions(), module.clone().extensions()] {
            assert_eq!(extensions.unwrap().rules().len(), 1);
        }
        assert_eq!(print_module(&module, crate::Style::Bbkit), print_module(&plain, crate::Style::Bbkit));
        let back: Module<IRCode> = from_json(&to_json(&module).unwrap()).unwrap();
        assert_eq!(back, module);
        assert!(back.extensions().is_none());
    }
}
