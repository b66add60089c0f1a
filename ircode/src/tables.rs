//! What modules declare beside functions, and dynamic dispatch: classes with method tables, protocols, and witness
//! tables.
//!
//! A class is a mutable struct whose fields start with those of its superclass, and whose methods are found in its
//! table or in that of the nearest superclass that has one. A protocol says which functions a type that conforms to it
//! has, and a witness table which functions of the module these are for one type. Both tables also have the derivatives
//! of their functions, as Swift's vtables and witness tables do (`#C.f!vjp`).

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::differentiability::{DifferentiabilityWitness, DifferentiabilityWitnesses};
use crate::globals::{GlobalConstant, GlobalConstants};
use crate::module::{DefinedTwice, Module, TypeDef, TypeKind};
use crate::name::{Name, without_main};
use crate::tangents::{shadow_name, shadowed_name};
use crate::types::Type;

/// Which derivative of a function an entry holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DerivativeKind {
    /// The function that returns the value and the pullback.
    Vjp,
    /// The function that returns the value and its tangent.
    Jvp,
}

impl DerivativeKind {
    /// How it is written: `vjp` or `jvp`.
    pub fn name(self) -> &'static str {
        match self {
            DerivativeKind::Vjp => "vjp",
            DerivativeKind::Jvp => "jvp",
        }
    }

    /// The kind that is written so.
    pub fn of_name(name: &str) -> Option<DerivativeKind> {
        match name {
            "vjp" => Some(DerivativeKind::Vjp),
            "jvp" => Some(DerivativeKind::Jvp),
            _ => None,
        }
    }
}

/// A derivative, with respect to some parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DerivativeKey {
    /// Which derivative.
    pub kind: DerivativeKind,
    /// The numbers of the parameters, in ascending order: 2 is `_2`, the object itself. Empty for all that have
    /// tangents.
    pub with_respect_to: Vec<u32>,
}

impl DerivativeKey {
    /// The derivative with respect to all parameters.
    pub fn of_all(kind: DerivativeKind) -> Self {
        DerivativeKey { kind, with_respect_to: Vec::new() }
    }
}

/// An entry of a method table or witness table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The method or requirement.
    pub name: Name,
    /// Which derivative of it the entry holds; `None` for the method itself.
    pub derivative: Option<DerivativeKey>,
    /// The function of the module.
    pub function: Name,
    /// Whether a pass made the derivative from the function, so that it says what the function says.
    pub generated: bool,
    /// Of a method: the numbers of the parameters with respect to which it is declared differentiable, none for all
    /// that have tangents. `None` if it is not declared so.
    pub differentiable: Option<Vec<u32>>,
}

impl Entry {
    /// The entry of a method itself, not declared differentiable.
    pub fn method(name: impl Into<Name>, function: impl Into<Name>) -> Self {
        Entry { name: name.into(), derivative: None, function: function.into(), generated: false, differentiable: None }
    }

    /// The entry of a derivative that the program registers.
    pub fn derivative(name: impl Into<Name>, key: DerivativeKey, function: impl Into<Name>) -> Self {
        Entry { derivative: Some(key), ..Entry::method(name, function) }
    }
}

/// The entries of a table, in the order in which they were added; no two for the same.
#[derive(Clone, Default, Debug)]
pub struct Entries {
    list: Vec<Entry>,
    index: HashMap<(Name, Option<DerivativeKey>), usize>,
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for Entries {}

impl Entries {
    /// The entries in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.list.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The entry for a method, or a derivative of it.
    pub fn get(&self, name: &str, derivative: Option<&DerivativeKey>) -> Option<&Entry> {
        let key = (Name::from(name), derivative.cloned());
        self.index.get(&key).and_then(|&index| self.list.get(index))
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// [`DefinedTwice`] if there is one for the same.
    pub fn add(&mut self, entry: Entry) -> Result<(), DefinedTwice> {
        let key = (entry.name.clone(), entry.derivative.clone());
        if self.index.contains_key(&key) {
            return Err(DefinedTwice(entry.name));
        }
        self.index.insert(key, self.list.len());
        self.list.push(entry);
        Ok(())
    }

    /// Leaves only the entries that are wanted.
    pub fn retain(&mut self, wanted: impl FnMut(&Entry) -> bool) {
        self.list.retain(wanted);
        let keys = self.list.iter().enumerate();
        self.index = keys.map(|(at, entry)| ((entry.name.clone(), entry.derivative.clone()), at)).collect();
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A class: a mutable struct that inherits fields and methods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// The name, as it stands in types.
    pub name: Name,
    /// The class whose fields come first and whose methods it has where it has none of its own.
    pub superclass: Option<Name>,
    /// The fields that it has beside those of its superclass, in order.
    pub fields: Vec<(Name, Type)>,
    /// The method table, without what is inherited.
    pub methods: Entries,
}

/// A requirement of a protocol: a function whose first argument, of the type that conforms, is not among the
/// parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The name.
    pub name: Name,
    /// The parameters behind the object, by name where they have one.
    pub parameters: Vec<(Option<Name>, Type)>,
    /// The type of the result.
    pub result: Type,
}

/// A protocol: what a type that conforms to it can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Protocol {
    /// The name.
    pub name: Name,
    /// The requirements, in order.
    pub requirements: Vec<Requirement>,
}

/// A witness table: how a type conforms to a protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The type that conforms.
    pub of: Type,
    /// The protocol.
    pub protocol: Name,
    /// The functions that satisfy the requirements.
    pub entries: Entries,
}

/// What a module declares beside functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Declaration {
    /// A struct or an enum.
    Type(TypeDef),
    /// A class.
    Class(Class),
    /// A protocol.
    Protocol(Protocol),
    /// A witness table.
    Witness(Witness),
    /// The derivatives of a function with respect to some of its parameters.
    Differentiability(DifferentiabilityWitness),
    /// A global constant: an array, or an object that holds some.
    Global(Arc<GlobalConstant>),
}

impl Declaration {
    /// What tells it from others: the name, `T: P` for a witness table, `differentiability witness f wrt 2 3` for a
    /// differentiability witness, `const NAME` for a global constant.
    pub fn name(&self) -> Name {
        match self {
            Declaration::Type(def) => def.name.clone(),
            Declaration::Class(class) => class.name.clone(),
            Declaration::Protocol(protocol) => protocol.name.clone(),
            Declaration::Witness(witness) => witness_name(&witness.of, &witness.protocol),
            Declaration::Differentiability(witness) => witness.name(),
            Declaration::Global(constant) => format!("const {}", constant.name()).into(),
        }
    }

    /// The entries of its table, if it has one.
    pub fn entries(&self) -> Option<&Entries> {
        match self {
            Declaration::Class(class) => Some(&class.methods),
            Declaration::Witness(witness) => Some(&witness.entries),
            _ => None,
        }
    }

    /// The entries of its table, to be changed.
    pub fn entries_mut(&mut self) -> Option<&mut Entries> {
        match self {
            Declaration::Class(class) => Some(&mut class.methods),
            Declaration::Witness(witness) => Some(&mut witness.entries),
            _ => None,
        }
    }
}

fn witness_name(of: &Type, protocol: &str) -> Name {
    Name::from(format!("{of}: {protocol}"))
}

fn plain_type(ty: &Type) -> Type {
    match ty {
        Type::Named(name) => name.strip_prefix("Main.").map_or_else(|| ty.clone(), Type::named),
        other => other.clone(),
    }
}

/// The tables of a module.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tables {
    classes: Vec<Class>,
    /// The position of the superclass of each class, if that was declared before: so no class is its own superclass.
    superclasses: Vec<Option<usize>>,
    protocols: Vec<Protocol>,
    witnesses: Vec<Witness>,
    pub(crate) differentiability: DifferentiabilityWitnesses,
    pub(crate) global_constants: GlobalConstants,
    classes_by_name: HashMap<Name, usize>,
    protocols_by_name: HashMap<Name, usize>,
    witnesses_by_name: HashMap<(Type, Name), usize>,
}

impl PartialEq for Tables {
    fn eq(&self, other: &Self) -> bool {
        self.classes == other.classes
            && self.protocols == other.protocols
            && self.witnesses == other.witnesses
            && self.differentiability == other.differentiability
            && self.global_constants == other.global_constants
    }
}

/// Dynamic dispatch.
impl<F> Module<F> {
    /// Everything that is declared, as it can be [declared](Module::declare) again: types and classes in the order in
    /// which they were added, then protocols, then witness tables, then differentiability witnesses, then global
    /// constants.
    pub fn declarations(&self) -> impl Iterator<Item = Declaration> + '_ {
        let types = self.types().iter().map(|def| match self.class(&def.name) {
            Some(class) => Declaration::Class(class.clone()),
            None => Declaration::Type(def.clone()),
        });
        let protocols = self.tables.protocols.iter().cloned().map(Declaration::Protocol);
        let witnesses = self.tables.witnesses.iter().cloned().map(Declaration::Witness);
        let differentiability = self.differentiability_witnesses().iter().cloned().map(Declaration::Differentiability);
        let globals = self.global_constants().iter().cloned().map(Declaration::Global);
        types.chain(protocols).chain(witnesses).chain(differentiability).chain(globals)
    }

    /// Adds a declaration. A class is a type, too: [`Module::type_def`] gives the struct of all its fields, those of
    /// its superclass first.
    ///
    /// A superclass has to be declared before: one that is not is as if it were not named, and the verifier says so.
    ///
    /// # Errors
    ///
    /// [`DefinedTwice`] if there is another one of this name, or a class has a field of its superclass again.
    pub fn declare(&mut self, declaration: Declaration) -> Result<(), DefinedTwice> {
        match declaration {
            Declaration::Type(def) => match self.class(&def.name) {
                Some(_) => Err(DefinedTwice(def.name)),
                None => self.add_type(def),
            },
            Declaration::Class(class) => self.add_class(class),
            Declaration::Protocol(protocol) => {
                if let Some(known) = self.protocol(&protocol.name) {
                    return if *known == protocol { Ok(()) } else { Err(DefinedTwice(protocol.name)) };
                }
                self.tables.protocols_by_name.insert(protocol.name.clone(), self.tables.protocols.len());
                self.tables.protocols.push(protocol);
                Ok(())
            }
            Declaration::Witness(witness) => {
                let key = (plain_type(&witness.of), Name::from(without_main(&witness.protocol)));
                if let Some(known) = self.tables.witness(&key) {
                    let twice = || DefinedTwice(witness_name(&witness.of, &witness.protocol));
                    return if *known == witness { Ok(()) } else { Err(twice()) };
                }
                self.tables.witnesses_by_name.insert(key, self.tables.witnesses.len());
                self.tables.witnesses.push(witness);
                Ok(())
            }
            Declaration::Differentiability(witness) => self.tables.differentiability.declare(witness),
            Declaration::Global(constant) => self.tables.global_constants.declare(constant),
        }
    }

    fn add_class(&mut self, class: Class) -> Result<(), DefinedTwice> {
        if let Some(known) = self.class(&class.name) {
            return if *known == class { Ok(()) } else { Err(DefinedTwice(class.name)) };
        }
        if self.type_def(&class.name).is_some() {
            return Err(DefinedTwice(class.name));
        }
        let superclass = class.superclass.as_ref().and_then(|name| self.tables.class_index(name));
        let inherited = superclass.and_then(|index| self.tables.classes.get(index));
        let mut fields = match inherited.and_then(|class| self.type_def(&class.name)).map(|def| &def.kind) {
            Some(TypeKind::Struct { fields, .. }) => fields.clone(),
            _ => Vec::new(),
        };
        let names: HashSet<Name> = fields.iter().map(|(name, _)| name.clone()).collect();
        if let Some((twice, _)) = class.fields.iter().find(|(name, _)| names.contains(name)) {
            return Err(DefinedTwice(twice.clone()));
        }
        fields.extend(class.fields.iter().cloned());
        self.add_type(TypeDef {
            name: class.name.clone(),
            supertypes: None,
            kind: TypeKind::Struct { mutable: true, fields },
        })?;
        self.tables.classes_by_name.insert(class.name.clone(), self.tables.classes.len());
        self.tables.classes.push(class);
        self.tables.superclasses.push(superclass);
        Ok(())
    }

    /// The entries of the table of this declaration, by its [name](Declaration::name), to be changed.
    pub fn entries_mut(&mut self, declaration: &Declaration) -> Option<&mut Entries> {
        match declaration {
            Declaration::Class(class) => {
                let index = self.tables.class_index(&class.name)?;
                self.tables.classes.get_mut(index).map(|class| &mut class.methods)
            }
            Declaration::Witness(witness) => {
                let key = (plain_type(&witness.of), Name::from(without_main(&witness.protocol)));
                let index = *self.tables.witnesses_by_name.get(&key)?;
                self.tables.witnesses.get_mut(index).map(|witness| &mut witness.entries)
            }
            _ => None,
        }
    }

    /// The classes, in the order in which they were added.
    pub fn classes(&self) -> &[Class] {
        &self.tables.classes
    }

    /// The protocols, in the order in which they were added.
    pub fn protocols(&self) -> &[Protocol] {
        &self.tables.protocols
    }

    /// The witness tables, in the order in which they were added.
    pub fn witnesses(&self) -> &[Witness] {
        &self.tables.witnesses
    }

    /// Whether there are method tables or witness tables.
    pub fn has_tables(&self) -> bool {
        !self.tables.classes.is_empty() || !self.tables.witnesses.is_empty()
    }

    /// The class of this name. A prefix `Main.` makes no difference.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.tables.class_index(name).and_then(|index| self.tables.classes.get(index))
    }

    /// The protocol of this name. A prefix `Main.` makes no difference.
    pub fn protocol(&self, name: &str) -> Option<&Protocol> {
        let index = *self.tables.protocols_by_name.get(without_main(name))?;
        self.tables.protocols.get(index)
    }

    /// The class of this name and the classes that it inherits from, the nearest first. None if there is no such class.
    pub fn class_chain(&self, name: &str) -> impl Iterator<Item = &Class> + '_ {
        let next = |&index: &usize| self.tables.superclasses.get(index).copied().flatten();
        let chain = std::iter::successors(self.tables.class_index(name), next);
        chain.filter_map(|index| self.tables.classes.get(index))
    }

    /// The types that objects of this type are of, too, the nearest first: the superclasses of a class, and the
    /// tangents of these of the tangent of a class; of a declared type what is declared to be above it. `None` if
    /// nothing is said of that.
    pub fn supertypes(&self, name: &str) -> Option<Vec<Type>> {
        let (mut depth, mut of) = (0, without_main(name));
        while let Some(inner) = shadowed_name(of) {
            (depth, of) = (depth + 1, inner);
        }
        if self.class(of).is_none() {
            return self.type_def(name)?.supertypes.clone();
        }
        let supers = self.class_chain(of).skip(1).map(|class| class.name.clone());
        Some(supers.map(|name| Type::Named((0..depth).fold(name, |name, _| shadow_name(&name)))).collect())
    }

    /// Whether what is declared to be of this type may be of another one below it: of a class, or the tangent of one.
    ///
    /// ```
    /// let module = ircode::parse_module("class Shape\n    scale::Float64\nend\nclass Circle <: Shape\n    r::Float64\nend\n")?.module;
    /// assert!(module.may_be_of_subclass("Circle") && module.may_be_of_subclass("BBKit.Tangent{Shape}"));
    /// assert!(!module.may_be_of_subclass("Square"));
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn may_be_of_subclass(&self, name: &str) -> bool {
        let mut of = without_main(name);
        while let Some(inner) = shadowed_name(of) {
            of = inner;
        }
        self.class(of).is_some()
    }

    /// Whether objects of the first class are objects of the second, too.
    pub fn is_subclass(&self, class: &str, of: &str) -> bool {
        self.class_chain(class).any(|class| class.name.as_str() == without_main(of))
    }

    /// The class of this name and all that inherit from it, in the order in which they were added.
    pub fn class_and_subclasses(&self, name: &str) -> Vec<&Class> {
        let Some(root) = self.tables.class_index(name) else { return Vec::new() };
        let mut inside = vec![false; self.tables.classes.len()];
        let mut found = Vec::new();
        // Superclasses stand before.
        for (index, (class, superclass)) in self.tables.classes.iter().zip(&self.tables.superclasses).enumerate() {
            let inherits = superclass.is_some_and(|superclass| inside.get(superclass) == Some(&true));
            if (index == root || inherits)
                && let Some(inside) = inside.get_mut(index)
            {
                *inside = true;
                found.push(class);
            }
        }
        found
    }

    /// All classes that have a superclass in common with this one, the uppermost first.
    pub fn class_family(&self, name: &str) -> Vec<&Class> {
        self.class_chain(name).last().map_or_else(Vec::new, |root| self.class_and_subclasses(&root.name))
    }

    /// The entry of a method in the table of a class or of the nearest superclass that has one.
    ///
    /// A derivative is inherited with its method only: that of a superclass does not count for a class between
    /// that overrides the method.
    pub fn class_method(&self, class: &str, method: &str, derivative: Option<&DerivativeKey>) -> Option<&Entry> {
        for class in self.class_chain(class) {
            if let Some(found) = class.methods.get(method, derivative) {
                return Some(found);
            }
            if class.methods.get(method, None).is_some() {
                return None;
            }
        }
        None
    }

    /// The table that says how a type conforms to a protocol: of a class its own or that of the nearest superclass.
    pub fn witness(&self, of: &Type, protocol: &str) -> Option<&Witness> {
        let protocol = Name::from(without_main(protocol));
        let found = self.tables.witness(&(plain_type(of), protocol.clone()));
        let inherited = || match of {
            Type::Named(name) => self
                .class_chain(name)
                .skip(1)
                .find_map(|class| self.tables.witness(&(Type::named(class.name.clone()), protocol.clone()))),
            _ => None,
        };
        found.or_else(inherited)
    }

    /// The entry for a requirement of a protocol in the witness table of a type.
    pub fn witness_method(
        &self,
        of: &Type,
        protocol: &str,
        requirement: &str,
        derivative: Option<&DerivativeKey>,
    ) -> Option<&Entry> {
        self.witness(of, protocol)?.entries.get(requirement, derivative)
    }
}

impl Tables {
    fn class_index(&self, name: &str) -> Option<usize> {
        self.classes_by_name.get(without_main(name)).copied()
    }

    fn witness(&self, key: &(Type, Name)) -> Option<&Witness> {
        self.witnesses_by_name.get(key).and_then(|&index| self.witnesses.get(index))
    }

    /// Leaves only the classes of these names.
    pub(crate) fn retain_classes(&mut self, keep: impl Fn(&Name) -> bool) {
        self.classes.retain(|class| keep(&class.name));
        self.classes_by_name.clear();
        self.superclasses.clear();
        for (index, class) in self.classes.iter().enumerate() {
            let superclass = class.superclass.as_ref().and_then(|name| self.classes_by_name.get(without_main(name)));
            self.superclasses.push(superclass.copied());
            self.classes_by_name.insert(class.name.clone(), index);
        }
    }

    /// Gives a function another name in all entries.
    pub(crate) fn rename_function(&mut self, from: &str, to: &Name) {
        self.differentiability.rename_function(from, to);
        let methods = self.classes.iter_mut().map(|class| &mut class.methods);
        for entries in methods.chain(self.witnesses.iter_mut().map(|witness| &mut witness.entries)) {
            for entry in entries.list.iter_mut().filter(|entry| entry.function.as_str() == from) {
                entry.function = to.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IRCode, from_json, parse_module, print_module, to_json};

    const TEXT: &str = "\
class Shape
    scale::Float64
    method area => shape_area differentiable
    method area vjp => shape_area_vjp
end

class Circle <: Shape
    r::Float64
    method area => circle_area differentiable 2 3
    method area jvp wrt 2 3 => var\"an odd (name)\" generated
end

class Dot <: Shape
end

protocol HasArea
    area(x::Float64, _3::Int64)::Float64
    name()
end

witness Circle: HasArea
    area => circle_area
end

witness Tuple{Float64, Int64}: HasArea
    area vjp => pair_area_vjp
end

differentiability witness f
end

differentiability witness f wrt 2 4
    jvp => f_jvp
    vjp => var\"f's pullback\"
end

differentiability witness var\"an odd (name)\" wrt 3
    vjp => g
end

";

    #[test]
    fn round_trips() {
        let module = parse_module(TEXT).unwrap().module;
        assert_eq!(print_module(&module, crate::Style::Bbkit), TEXT);
        let json = to_json(&module).unwrap();
        let again: Module<IRCode> = from_json(&json).unwrap();
        assert_eq!(again, module);
        assert_eq!(to_json(&again).unwrap(), json);
        let mapped: Module<()> = module.map(|_| Ok::<_, ()>(())).unwrap();
        assert!(mapped.declarations().eq(module.declarations()));
    }

    #[test]
    fn methods_and_derivatives_are_inherited_together() {
        let module = parse_module(TEXT).unwrap().module;
        let vjp = DerivativeKey::of_all(DerivativeKind::Vjp);
        let function = |class: &str, key: Option<&DerivativeKey>| {
            module.class_method(class, "area", key).map(|entry| entry.function.to_string())
        };
        assert_eq!(function("Dot", None).unwrap(), "shape_area");
        assert_eq!(function("Main.Dot", Some(&vjp)).unwrap(), "shape_area_vjp");
        assert_eq!(function("Circle", None).unwrap(), "circle_area");
        assert_eq!(function("Circle", Some(&vjp)), None);
        let jvp = DerivativeKey { kind: DerivativeKind::Jvp, with_respect_to: vec![2, 3] };
        assert_eq!(function("Circle", Some(&jvp)).unwrap(), "an odd (name)");
        assert_eq!(module.supertypes("BBKit.Tangent{Circle}"), Some(vec![Type::named("BBKit.Tangent{Shape}")]));
        let names: Vec<&str> = module.class_and_subclasses("Shape").iter().map(|class| class.name.as_str()).collect();
        assert_eq!(names, ["Shape", "Circle", "Dot"]);
        assert_eq!(module.class_family("Dot").len(), 3);
    }

    #[test]
    fn what_is_there_twice_is_refused() {
        for (text, problem) in [
            ("class A\n    x::Int64\nend\nclass B <: A\n    x::Int64\nend", "`x` is defined twice"),
            ("class A\nend\nstruct A\n    x::Int64\nend", "`A` is defined twice"),
            ("class A\n    method f => g\n    method f => h\nend", "two such entries for `f`"),
            ("protocol P\n    f()\n    f(x::Int64)\nend", "two requirements `f`"),
            ("witness Int64: P\n    f => g\nend\nwitness Int64: P\n    f => h\nend", "`Int64: P` is defined twice"),
            ("class A\n    method f vjp wrt 3 2 => g\nend", "this is no entry of a table"),
            ("class A\n    method f => g sometimes\nend", "this is no entry of a table"),
            ("witness Int64\nend", "this is no witness table"),
            (
                "differentiability witness f wrt 2\nend\ndifferentiability witness f wrt 2\n    jvp => g\nend",
                "`differentiability witness f wrt 2` is defined twice",
            ),
            ("differentiability witness f wrt 3 2\nend", "this is no differentiability witness"),
            ("differentiability witness f 2\nend", "this is no differentiability witness"),
            ("differentiability witness f\n    vjp => g\n    vjp => h\nend", "there are two derivatives `vjp`"),
            ("differentiability witness f\n    pullback => g\nend", "this is no derivative"),
        ] {
            let error = parse_module(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
        let json = |entries: &str| {
            let class = format!("{{\"class\":{{\"name\":\"A\",\"fields\":[],\"methods\":[{entries}]}}}}");
            format!("{{\"bbkit\":1,\"representation\":\"ircode\",\"functions\":[],\"types\":[{class}]}}")
        };
        let entry = "{\"name\":\"f\",\"function\":\"g\"}";
        assert!(from_json::<IRCode>(&json(entry)).is_ok());
        let error = from_json::<IRCode>(&json(&format!("{entry},{entry}"))).unwrap_err().to_string();
        assert!(error.contains("two entries for `f`"), "{error}");
    }

    #[test]
    fn a_class_has_a_tangent_if_any_of_its_family_has() {
        let text = "class A\nend\nclass B <: A\n    x::Float64\nend\nclass C <: A\n    n::Int64\nend\nclass D\n    n::Int64\nend";
        let module = parse_module(text).unwrap().module;
        let tangents = crate::tangents::TangentTypes::new(&module);
        let of = |ty: &str| tangents.of(&Type::parse(ty)).ty().to_string();
        assert_eq!(of("C"), "BBKit.Tangent{C}");
        assert_eq!(of("Vector{A}"), "Vector{BBKit.Tangent{A}}");
        assert_eq!(of("D"), "Nothing");
        let declared: Vec<Name> = tangents.declarations().into_iter().map(|def| def.name).collect();
        assert_eq!(declared, ["BBKit.Tangent{A}", "BBKit.Tangent{B}", "BBKit.Tangent{C}"]);
        // The tangents of tangents have floats where these have.
        let mut module = module.clone();
        for def in tangents.declarations() {
            module.add_type(def).unwrap();
        }
        let tangents = crate::tangents::TangentTypes::new(&module);
        let of = |ty: &str| tangents.of(&Type::parse(ty)).ty().to_string();
        assert_eq!(of("BBKit.Tangent{A}"), "BBKit.Tangent{BBKit.Tangent{A}}");
    }
}
