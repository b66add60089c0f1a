//! Checking tables of methods against the functions of the module.

use std::fmt;

use hashbrown::{HashMap, HashSet};

use crate::globals::{GlobalPart, GlobalValue};
use crate::module::{Function, Module, TypeKind, named_twice};
use crate::name::{Name, without_main};
use crate::tables::{Class, Entry, Requirement, Witness};
use crate::tangents::{Tangent, TangentTypes};
use crate::types::Type;
use crate::wording::{counted, with_article};

macro_rules! checks {
    ($( $name:ident = $code:literal, $what:literal; )*) => {
        /// A condition that the tables of a valid module meet. The codes are stable; `tests/verifier/README.md` has a
        /// program that breaks each.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum TableCheck { $( #[doc = concat!($code, ": ", $what, ".")] $name, )* }

        impl TableCheck {
            /// All checks, in the order of their codes.
            pub const ALL: &[TableCheck] = &[$(TableCheck::$name),*];

            /// The code, such as `DT04`.
            pub fn code(self) -> &'static str {
                match self { $(TableCheck::$name => $code),* }
            }

            /// What holds where there is no violation.
            pub fn condition(self) -> &'static str {
                match self { $(TableCheck::$name => $what),* }
            }
        }
    };
}

checks! {
    SuperclassExists = "DT01", "the superclass of a class is a class that is declared before it";
    FunctionExists = "DT02", "an entry names a function of the module";
    MethodTakesObject = "DT03", "the function of a method takes an object of the class first";
    OverrideFits = "DT04", "an override takes what the overridden method takes, and gives what that gives";
    ProtocolExists = "DT05", "the protocol of a witness table is declared";
    RequirementsMet = "DT06", "a witness table has an entry for each requirement, and for nothing else";
    WitnessFits = "DT07", "the function of a witness takes what the requirement says, and gives what that says";
    DerivativeOfMethod = "DT08", "what is said of derivatives is said of a method that there is, and of parameters that it has";
    WitnessParameters = "DT09", "the parameters of a differentiability witness are there and have tangents";
    WitnessOnce = "DT10", "no two differentiability witnesses of a function are for the same parameters";
    DerivativeFits = "DT11", "a derivative takes the arguments of the function and what its kind of derivative takes beside them";
    ConstantFits = "DT12", "a global constant has the fields of its type, and is made of what is declared before it";
    ParametersFit = "DT13", "a function names no more arguments than it has, each by another name, and one that collects arguments has a tuple for them";
}

impl fmt::Display for TableCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// A condition that a table does not meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableViolation {
    /// The condition.
    pub check: TableCheck,
    /// The class, the witness table as `T: P`, or the function.
    pub table: Name,
    /// The method or requirement; `None` where the table as a whole is concerned.
    pub entry: Option<Name>,
    /// What is wrong.
    pub message: String,
    /// What would mend it.
    pub help: Option<String>,
}

impl fmt::Display for TableViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.check, self.table)?;
        if let Some(entry) = &self.entry {
            write!(f, ", `{entry}`")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  = help: {help}"),
            None => Ok(()),
        }
    }
}

/// The violations found in the tables of a module. Never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableViolations(pub Vec<TableViolation>);

impl fmt::Display for TableViolations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, violation) in self.0.iter().enumerate() {
            write!(f, "{}{violation}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for TableViolations {}

/// Checks the tables of a module, see [`TableCheck`] for the conditions. `argtypes` gives the types of the arguments of
/// a body, the function itself first.
///
/// A type that the module does not declare is taken to fit every other: of Julia's own abstract types it is not known
/// what belongs to them.
///
/// ```
/// use ircode::{TableCheck, parse_module, verify_tables};
///
/// let module = parse_module("
/// class Shape
///     method area => shape_area
/// end
///
/// function shape_area(_2::Int64)::Float64
/// 1 ─ return 1.0
/// end
/// ")?.module;
/// let violations = verify_tables(&module, |body| &body.argtypes).unwrap_err();
/// assert_eq!(violations.0[0].check, TableCheck::MethodTakesObject);
/// # Ok::<(), ircode::TextError>(())
/// ```
///
/// # Errors
///
/// All violations: those of classes, then those of witness tables, then those of differentiability witnesses, then
/// those of global constants, each in the order of the tables and their entries; then those of functions.
pub fn verify_tables<F>(module: &Module<F>, argtypes: impl Fn(&F) -> &[Type]) -> Result<(), TableViolations> {
    let mut verifier = Verifier { module, argtypes: &argtypes, violations: Vec::new() };
    module.classes().iter().for_each(|class| verifier.class(class));
    module.witnesses().iter().for_each(|witness| verifier.witness(witness));
    verifier.differentiability();
    verifier.constants();
    module.functions().iter().for_each(|function| verifier.parameters(function));
    match verifier.violations {
        violations if violations.is_empty() => Ok(()),
        violations => Err(TableViolations(violations)),
    }
}

struct Verifier<'m, F> {
    module: &'m Module<F>,
    argtypes: &'m dyn Fn(&F) -> &[Type],
    violations: Vec<TableViolation>,
}

/// What is given to a function, and what is expected of it.
struct Signature<'t> {
    object: &'t Type,
    /// What stands behind the object; `None` where nothing says.
    rest: Option<Vec<&'t Type>>,
    result: &'t Type,
}

const THUNK: &str =
    "an entry may name a thunk: a function that takes what is given, and calls this one with what it takes";

/// Whether no value of a type is a tuple.
fn is_no_tuple(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Scalar(_) | Type::String | Type::Symbol | Type::Nothing | Type::Array(_) | Type::Ref(_) | Type::Memory(_)
    )
}

impl<'m, F> Verifier<'m, F> {
    fn report(&mut self, check: TableCheck, table: &Name, entry: Option<&Name>, message: String) {
        let help = matches!(check, TableCheck::OverrideFits | TableCheck::WitnessFits).then(|| THUNK.to_string());
        self.violations.push(TableViolation { check, table: table.clone(), entry: entry.cloned(), message, help });
    }

    fn parameters(&mut self, function: &Function<F>) {
        let arguments = (self.argtypes)(&function.body).len().saturating_sub(1);
        let problem = if function.parameters.len() > arguments {
            format!("it has {}, and names for {}", counted(arguments, "argument"), function.parameters.len())
        } else if function.varargs && arguments == 0 {
            "it collects what is passed, and has no argument".to_string()
        } else if let Some(last) =
            (self.argtypes)(&function.body).last().filter(|ty| function.varargs && is_no_tuple(ty))
        {
            format!("it collects what is passed in its last argument, which is {}", with_article(last))
        } else if let Some(name) = named_twice(function.parameters.iter().flatten()) {
            format!("two of its arguments are named `{name}`")
        } else {
            return;
        };
        self.report(TableCheck::ParametersFit, &function.name, None, problem);
    }

    fn class(&mut self, class: &'m Class) {
        let module = self.module;
        let superclass = module.class_chain(&class.name).nth(1);
        if let (Some(named), None) = (&class.superclass, superclass) {
            let message = format!("no class `{named}` is declared before it");
            self.report(TableCheck::SuperclassExists, &class.name, None, message);
        }
        let object = Type::named(class.name.clone());
        for entry in &class.methods {
            let of = module.class_method(&class.name, &entry.name, None);
            let Some(function) = self.function(&class.name, entry, of) else { continue };
            let any = Signature { object: &object, rest: None, result: &Type::Any };
            if let Some(problem) = self.misfit(function, &any) {
                self.report(TableCheck::MethodTakesObject, &class.name, Some(&entry.name), problem);
                continue;
            }
            let overridden = superclass.and_then(|above| module.class_method(&above.name, &entry.name, None));
            let Some(overridden) = overridden.and_then(|entry| module.function(&entry.function)) else { continue };
            let taken = (self.argtypes)(&overridden.body);
            let rest = (!overridden.varargs).then(|| taken.iter().skip(2).collect());
            let signature = Signature { object: &object, rest, result: &overridden.result };
            if let Some(problem) = self.misfit(function, &signature) {
                let message = format!("{problem}, to override `{}`", overridden.name);
                self.report(TableCheck::OverrideFits, &class.name, Some(&entry.name), message);
            }
        }
    }

    fn witness(&mut self, witness: &'m Witness) {
        let module = self.module;
        let table = Name::from(format!("{}: {}", witness.of, witness.protocol));
        let Some(protocol) = module.protocol(&witness.protocol) else {
            let message = format!("there is no protocol `{}`", witness.protocol);
            self.report(TableCheck::ProtocolExists, &table, None, message);
            return;
        };
        let requirements: HashMap<&Name, &Requirement> =
            protocol.requirements.iter().map(|requirement| (&requirement.name, requirement)).collect();
        for entry in &witness.entries {
            let Some(function) = self.function(&table, entry, witness.entries.get(&entry.name, None)) else { continue };
            let Some(requirement) = requirements.get(&entry.name) else {
                let message = format!("the protocol `{}` requires no such function", protocol.name);
                self.report(TableCheck::RequirementsMet, &table, Some(&entry.name), message);
                continue;
            };
            let rest = Some(requirement.parameters.iter().map(|(_, ty)| ty).collect());
            let signature = Signature { object: &witness.of, rest, result: &requirement.result };
            if let Some(problem) = self.misfit(function, &signature) {
                self.report(TableCheck::WitnessFits, &table, Some(&entry.name), problem);
            }
        }
        for requirement in &protocol.requirements {
            if witness.entries.get(&requirement.name, None).is_none() {
                let message = "there is no entry for this requirement".into();
                self.report(TableCheck::RequirementsMet, &table, Some(&requirement.name), message);
            }
        }
    }

    /// Checks the differentiability witnesses.
    fn differentiability(&mut self) {
        let module = self.module;
        let tangents = TangentTypes::of_declarations(module);
        let mut seen: HashSet<(&str, Vec<u32>)> = HashSet::new();
        for witness in module.differentiability_witnesses() {
            let table = witness.name();
            let Some(function) = module.function(&witness.function) else {
                let message = format!("there is no function `{}`", witness.function);
                self.report(TableCheck::FunctionExists, &table, None, message);
                continue;
            };
            let types = (self.argtypes)(&function.body);
            let kinds: Vec<Tangent> = types.iter().map(|ty| tangents.of(ty)).collect();
            let with_tangents = (2..).zip(kinds.iter().skip(1)).filter(|(_, kind)| !kind.is_none());
            let with_tangents: Vec<u32> = with_tangents.map(|(number, _)| number).collect();
            let without = witness.with_respect_to.iter().find(|number| !with_tangents.contains(number));
            if let Some(&number) = without {
                let message = match (number as usize).checked_sub(1).and_then(|index| types.get(index)) {
                    Some(ty) => {
                        format!(
                            "the parameter _{number} of `{}` is {}, which has no tangent",
                            function.name,
                            ty.with_article()
                        )
                    }
                    None => format!("`{}` has no parameter _{number}", function.name),
                };
                self.report(TableCheck::WitnessParameters, &table, None, message);
                continue;
            }
            if !witness.with_respect_to.is_sorted_by(|a, b| a < b) {
                let message = "the parameters are not in ascending order".into();
                self.report(TableCheck::WitnessParameters, &table, None, message);
                continue;
            }
            let numbers = match witness.with_respect_to.is_empty() {
                true => with_tangents,
                false => witness.with_respect_to.clone(),
            };
            if numbers.is_empty() {
                let message = format!("`{}` has no parameter that has a tangent", function.name);
                self.report(TableCheck::WitnessParameters, &table, None, message);
                continue;
            }
            let shadows = numbers.iter().filter_map(|&number| kinds.get(number as usize - 1));
            let shadows = shadows.filter(|kind| !kind.shadow().is_none()).count();
            if !seen.insert((&function.name, numbers)) {
                let message = "there is another one for the same parameters".into();
                self.report(TableCheck::WitnessOnce, &table, None, message);
            }
            let count = types.len().saturating_sub(1);
            for (kind, name, beside) in [("jvp", &witness.jvp, count), ("vjp", &witness.vjp, shadows)] {
                let Some(name) = name else { continue };
                let entry = Name::from(kind);
                let Some(derivative) = module.function(name) else {
                    let message = format!("there is no function `{name}`");
                    self.report(TableCheck::FunctionExists, &table, Some(&entry), message);
                    continue;
                };
                let taken = (self.argtypes)(&derivative.body).get(1..).unwrap_or_default();
                let given = types.get(1..).unwrap_or_default();
                let misfit = given.iter().zip(taken).position(|(given, taken)| !self.fits(given, taken));
                let message = if taken.len() != count + beside {
                    format!("`{name}` takes {}, but is given {}", counted(taken.len(), "argument"), count + beside)
                } else if let Some(index) = misfit {
                    let (given, taken) = (&given[index], &taken[index]);
                    format!(
                        "`{name}` takes {} as _{}, but {} is given",
                        with_article(taken),
                        index + 2,
                        with_article(given)
                    )
                } else {
                    continue;
                };
                self.report(TableCheck::DerivativeFits, &table, Some(&entry), message);
            }
        }
    }

    /// Checks the global constants.
    fn constants(&mut self) {
        let module = self.module;
        for (index, constant) in module.global_constants().iter().enumerate() {
            let (parts, types) = match (constant.value(), constant.ty()) {
                (GlobalValue::Elements { elements, .. }, Type::Array(array)) => {
                    (elements, vec![&array.element; elements.len()])
                }
                (GlobalValue::Fields(parts), Type::Named(name)) => match module.type_def(name).map(|def| &def.kind) {
                    Some(TypeKind::Struct { fields, .. }) => (parts, fields.iter().map(|(_, ty)| ty).collect()),
                    _ => (parts, vec![&Type::Any; parts.len()]),
                },
                (GlobalValue::Fields(parts), Type::Tuple(types)) => (parts, types.iter().collect()),
                (GlobalValue::Fields(parts), Type::NamedTuple(fields)) => {
                    (parts, fields.iter().map(|(_, ty)| ty).collect())
                }
                (GlobalValue::Fields(parts), Type::Ref(element)) => (parts, vec![&**element]),
                _ => continue,
            };
            if parts.len() != types.len() {
                let message = format!(
                    "{} has {}, but is given {}",
                    with_article(constant.ty()),
                    counted(types.len(), "field"),
                    parts.len()
                );
                self.report(TableCheck::ConstantFits, constant.name(), None, message);
                continue;
            }
            for (part, expected) in parts.iter().zip(types) {
                let named = module.global_part(index, part).and_then(|named| module.global_constants().get(named));
                let message = match (part, named) {
                    (GlobalPart::Global(global), None) if module.global_constant(global).is_some() => {
                        format!("`{}` is not declared before it", global.name)
                    }
                    (_, Some(named)) if !self.fits(named.ty(), expected) => {
                        format!(
                            "`{}` is {}, where {} is expected",
                            named.name(),
                            with_article(named.ty()),
                            with_article(expected)
                        )
                    }
                    _ => continue,
                };
                self.report(TableCheck::ConstantFits, constant.name(), None, message);
            }
        }
    }

    /// The function of an entry, if it is one of a method and is there. `of` is the entry of the method that it belongs
    /// to.
    fn function(&mut self, table: &Name, entry: &Entry, of: Option<&Entry>) -> Option<&'m Function<F>> {
        let found = self.module.function(&entry.function);
        if found.is_none() {
            let message = format!("there is no function `{}`", entry.function);
            self.report(TableCheck::FunctionExists, table, Some(&entry.name), message);
        }
        let numbers = entry.derivative.as_ref().map(|key| &key.with_respect_to).or(entry.differentiable.as_ref());
        let function = of.and_then(|of| self.module.function(&of.function));
        match (of, function, numbers) {
            (None, _, Some(_)) => {
                let message = "a derivative is given of a method that is not there".into();
                self.report(TableCheck::DerivativeOfMethod, table, Some(&entry.name), message);
            }
            (Some(_), Some(function), Some(numbers)) => {
                let count = (self.argtypes)(&function.body).len();
                let missing = numbers.iter().find(|&&number| number < 2 || number as usize > count);
                if let Some(number) = missing {
                    let message = format!("`{}` has no parameter _{number}", function.name);
                    self.report(TableCheck::DerivativeOfMethod, table, Some(&entry.name), message);
                }
            }
            _ => {}
        }
        found.filter(|_| entry.derivative.is_none())
    }

    /// Why the function cannot be called so.
    fn misfit(&self, function: &Function<F>, given: &Signature<'_>) -> Option<String> {
        let taken = (self.argtypes)(&function.body).get(1..).unwrap_or_default();
        let name = &function.name;
        if function.varargs {
            return None;
        }
        match taken.first() {
            None => return Some(format!("`{name}` takes no object")),
            Some(first) if !self.fits(given.object, first) => {
                return Some(format!(
                    "`{name}` takes {} first, not {}",
                    with_article(first),
                    with_article(given.object)
                ));
            }
            Some(_) => {}
        }
        let rest = given.rest.as_ref()?;
        if rest.len() + 1 != taken.len() {
            return Some(format!(
                "`{name}` takes {}, but is given {}",
                counted(taken.len(), "argument"),
                rest.len() + 1
            ));
        }
        for (i, (given, taken)) in rest.iter().zip(taken.iter().skip(1)).enumerate() {
            if !self.fits(given, taken) {
                return Some(format!(
                    "`{name}` takes {} as _{}, but {} is given",
                    with_article(taken),
                    i + 3,
                    with_article(given)
                ));
            }
        }
        if !self.fits(&function.result, given.result) {
            return Some(format!(
                "`{name}` gives {}, but {} is expected",
                with_article(&function.result),
                with_article(given.result)
            ));
        }
        None
    }

    /// Whether a value of the first type can stand where one of the second is expected.
    fn fits(&self, given: &Type, expected: &Type) -> bool {
        let known = |name: &Name| self.module.type_def(name).is_some();
        match (given, expected) {
            (Type::Untyped | Type::Bottom, _) | (_, Type::Untyped | Type::Any) => true,
            (Type::Union(members), _) => members.iter().all(|member| self.fits(member, expected)),
            (_, Type::Union(members)) => members.iter().any(|member| self.fits(given, member)),
            (Type::Named(given), Type::Named(expected)) => {
                !known(given)
                    || !known(expected)
                    || without_main(given) == without_main(expected)
                    || self.module.is_subclass(given, expected)
            }
            (Type::Named(name), _) | (_, Type::Named(name)) => !known(name),
            (Type::Tuple(given), Type::Tuple(expected)) => {
                given.len() == expected.len() && given.iter().zip(expected.iter()).all(|(a, b)| self.fits(a, b))
            }
            _ => given == expected,
        }
    }
}
