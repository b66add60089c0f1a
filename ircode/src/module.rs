//! Functions with names, and modules of them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LazyLock};

use hashbrown::{HashMap, HashSet};

use crate::extensions::Extensions;
use crate::name::Name;
use crate::subtypes::EXCEPTIONS;
use crate::tables::Tables;
use crate::tangents::plain_name;
use crate::text::balanced::balanced_length;
use crate::text::declaration::is_declarable;
use crate::types::Type;

/// A function: a body with a name and a signature. `F` is [`IRCode`](crate::IRCode) or `BBCode`.
#[derive(Clone, PartialEq, Debug)]
pub struct Function<F> {
    /// The name; empty for a listing that does not say whose it is.
    pub name: Name,
    /// The names of the arguments `_2`, `_3`, …, as far as they are known.
    pub parameters: Vec<Option<Name>>,
    /// Whether the last argument is a tuple of all that is passed from there on.
    pub varargs: bool,
    /// The type of the result; [`Type::Untyped`] where it is not known.
    pub result: Type,
    /// The body.
    pub body: F,
}

impl<F> Function<F> {
    /// A function without names for its arguments.
    pub fn new(name: impl Into<Name>, result: Type, body: F) -> Self {
        Function { name: name.into(), parameters: Vec::new(), varargs: false, result, body }
    }

    /// The same function around another body.
    pub fn map<G, E>(&self, body: impl FnOnce(&F) -> Result<G, E>) -> Result<Function<G>, E> {
        Ok(Function {
            name: self.name.clone(),
            parameters: self.parameters.clone(),
            varargs: self.varargs,
            result: self.result.clone(),
            body: body(&self.body)?,
        })
    }
}

/// A declared type: what a [`Type::Named`] means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeDef {
    /// The name, as it stands in types.
    pub name: Name,
    /// The abstract types of which its values are, too, the nearest first, without `Any`: all of them, as what is not
    /// there is not above. `None` if that is not said.
    pub supertypes: Option<Vec<Type>>,
    /// What it is.
    pub kind: TypeKind,
}

/// `Core.Box`, of which listings show no declaration.
static CORE_BOX: LazyLock<TypeDef> = LazyLock::new(|| TypeDef {
    name: "Core.Box".into(),
    supertypes: Some(Vec::new()),
    kind: TypeKind::Struct { mutable: true, fields: vec![("contents".into(), Type::Any)] },
});

/// What a declared type is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// A struct.
    Struct {
        /// Whether its fields can be set; such a struct has identity.
        mutable: bool,
        /// The fields, in order.
        fields: Vec<(Name, Type)>,
    },
    /// An enum: one of several cases, each with a payload.
    Enum {
        /// The cases with the types of their payloads, in order.
        cases: Vec<(Name, Vec<Type>)>,
    },
}

impl TypeDef {
    /// An immutable struct, of which no supertypes are said.
    pub fn structure(name: impl Into<Name>, fields: impl IntoIterator<Item = (Name, Type)>) -> Self {
        let kind = TypeKind::Struct { mutable: false, fields: fields.into_iter().collect() };
        TypeDef { name: name.into(), supertypes: None, kind }
    }
}

/// Which lengths the names of functions have, modulo 128: of most names this says at once that no function has them.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths(u128);

impl Lengths {
    fn add(&mut self, name: &str) {
        self.0 |= 1 << (name.len() % 128);
    }

    fn has(self, length: usize) -> bool {
        self.0 >> (length % 128) & 1 == 1
    }
}

/// Functions by name, in the order in which they were added, the types they use, and tables of methods
/// (`ircode/src/tables.rs`).
///
/// A host may add [extensions](Module::register): primitives of its own, and derivative rules.
#[derive(Clone, Debug)]
pub struct Module<F> {
    functions: Vec<Function<F>>,
    by_name: HashMap<Name, usize>,
    lengths: Lengths,
    /// The functions that are named by a call, such as `sin(::Float64)`, by what they are methods of.
    methods: HashMap<Name, Vec<usize>>,
    types: Vec<TypeDef>,
    types_by_name: HashMap<Name, usize>,
    pub(crate) tables: Tables,
    pub(crate) extensions: Option<Arc<Extensions>>,
}

impl<F> Default for Module<F> {
    fn default() -> Self {
        Module {
            functions: Vec::new(),
            by_name: HashMap::default(),
            lengths: Lengths::default(),
            methods: HashMap::default(),
            types: Vec::new(),
            types_by_name: HashMap::default(),
            tables: Tables::default(),
            extensions: None,
        }
    }
}

impl<F: PartialEq> PartialEq for Module<F> {
    fn eq(&self, other: &Self) -> bool {
        self.functions == other.functions && self.types == other.types && self.tables == other.tables
    }
}

/// There is something of this name already: a function or a type, a parameter of the function, or a field or case of
/// the type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is defined twice")]
pub struct DefinedTwice(pub Name);

/// A name that comes twice in something. Fields of Julia's own types may have none.
pub(crate) fn named_twice<'n>(names: impl Iterator<Item = &'n Name>) -> Option<&'n Name> {
    let mut seen: HashSet<&Name> = HashSet::new();
    names.filter(|name| !name.is_empty()).find(|name| !seen.insert(name))
}

fn all_different<'n>(names: impl Iterator<Item = &'n Name>, of: &Name) -> Result<(), DefinedTwice> {
    named_twice(names).map_or(Ok(()), |name| Err(DefinedTwice(format!("{name} of {of}").into())))
}

/// What the function of this name is a method of: `sin`, for `sin(::Float64)`. `None` if the name is no call.
///
/// ```
/// use ircode::method_of;
///
/// assert_eq!(method_of("Base.Math.sin_kernel(::Float64)"), Some("Base.Math.sin_kernel"));
/// assert_eq!(method_of("(::var\"#1#2\"{Int64})(::Float64)"), Some("(::var\"#1#2\"{Int64})"));
/// assert_eq!(method_of("f"), None);
/// ```
pub fn method_of(name: &str) -> Option<&str> {
    if !name.contains("(::") && !name.ends_with("()") {
        return None;
    }
    // What is called may itself stand in parentheses.
    let start =
        if name.starts_with('(') { 1 + balanced_length(name.get(1..)?, |rest| rest.starts_with(')')) + 1 } else { 0 };
    let length = balanced_length(name.get(start..)?, |rest| rest.starts_with('('));
    let of = name.get(..start + length)?;
    (of.len() < name.len() && !of.is_empty()).then_some(of)
}

impl<F> Module<F> {
    /// An empty module.
    pub fn new() -> Self {
        Module::default()
    }

    /// The functions, in the order in which they were added.
    pub fn functions(&self) -> &[Function<F>] {
        &self.functions
    }

    /// The declared types, in the order in which they were added.
    pub fn types(&self) -> &[TypeDef] {
        &self.types
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<&Function<F>> {
        self.by_name.get(name).and_then(|&index| self.functions.get(index))
    }

    /// Whether a function may have a name of this length.
    pub(crate) fn may_have_name_of(&self, length: usize) -> bool {
        self.lengths.has(length)
    }

    fn index(&mut self, name: Name, index: usize) {
        if let Some(of) = method_of(&name) {
            let methods = self.methods.entry(of.into()).or_default();
            if !methods.contains(&index) {
                methods.push(index);
            }
        }
        self.lengths.add(&name);
        self.by_name.insert(name, index);
    }

    /// The positions of the functions that are methods of what is called so: of `sin`, the functions named
    /// `sin(::Float64)`, `sin(::Float32)`, as dumps of Julia's code name them.
    pub fn methods(&self, of: &str) -> &[usize] {
        self.methods.get(of).map(Vec::as_slice).unwrap_or_default()
    }

    /// The name of the function that users mean by this one: itself if there is such a function; of `f`, `f(::Float64)`
    /// or `Main.Models.f(::Float64)`, as dumps of Julia's code name it, if that is the only method of an `f`; else of a
    /// type `Line` the only method that its objects have, `(::Line)(::Float64)`. A name that means none, or more than
    /// one, stays as it is.
    ///
    /// ```
    /// use ircode::parse_module;
    ///
    /// let module = parse_module("
    /// function var\"Main.Models.f(::Float64)\"(x::Float64)::Float64
    /// 1 ─     return x
    /// end
    /// ")?.module;
    /// assert_eq!(module.full_name("f"), "Main.Models.f(::Float64)");
    /// assert_eq!(module.full_name("g"), "g");
    ///
    /// let module = parse_module("
    /// function var\"(::Main.Line{Float64})(::Float64)\"(x::Float64)::Float64
    /// 1 ─     return x
    /// end
    /// ")?.module;
    /// assert_eq!(module.full_name("Line"), "(::Main.Line{Float64})(::Float64)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn full_name(&self, name: &str) -> Name {
        if self.function(name).is_some() {
            return name.into();
        }
        let is_path = |path: &str| path.strip_suffix(name).is_some_and(|modules| modules.ends_with('.'));
        let calls_objects_of = |path: &str| {
            let ty = path.strip_prefix("(::").and_then(|path| path.strip_suffix(')'));
            let ty = ty.map(|ty| ty.split_once('{').map_or(ty, |(plain, _)| plain));
            ty.is_some_and(|ty| ty == name || is_path(ty))
        };
        let only_method = |is_meant: &dyn Fn(&str) -> bool| {
            let mut found = self.functions.iter().filter(|function| method_of(&function.name).is_some_and(is_meant));
            found.next().filter(|_| found.next().is_none())
        };
        let only = match self.methods(name) {
            [only] => self.functions.get(*only),
            [] => only_method(&is_path).or_else(|| only_method(&calls_objects_of)),
            _ => None,
        };
        only.map_or_else(|| name.into(), |function| function.name.clone())
    }

    /// The position of the function of this name in [`Module::functions`].
    pub fn function_index(&self, name: &str) -> Option<usize> {
        // This is asked at every call in every pass.
        if self.lengths.has(name.len()) { self.by_name.get(name).copied() } else { None }
    }

    /// The body of the function of this name, to be rewritten.
    pub fn body_mut(&mut self, name: &str) -> Option<&mut F> {
        let index = *self.by_name.get(name)?;
        self.functions.get_mut(index).map(|function| &mut function.body)
    }

    /// Calls `edit` with the function of this name, to change its body together with what is said about its arguments
    /// and result, and returns what `edit` does. It keeps its name, for which there is
    /// [`rename_function`](Module::rename_function). `None` where there is no such function. That what is said fits the
    /// body, and no two parameters have one name, is for [`verify_tables`](crate::verify_tables) to see.
    ///
    /// ```
    /// use ircode::{Type, parse_module};
    ///
    /// let mut module = parse_module("
    /// function f(x)
    /// 1 ─     return 1.0
    /// end
    /// ")?.module;
    /// module.edit_function("f", |function| function.result = Type::FLOAT64);
    /// assert_eq!(module.functions()[0].result, Type::FLOAT64);
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn edit_function<R>(&mut self, name: &str, edit: impl FnOnce(&mut Function<F>) -> R) -> Option<R> {
        let index = *self.by_name.get(name)?;
        let function = self.functions.get_mut(index)?;
        let name = function.name.clone();
        let result = edit(function);
        function.name = name;
        Some(result)
    }

    /// Calls `edit` with the module and, beside it, the body of the function of this name, which is not in the module
    /// while it is being edited, and returns what `edit` does. The module has the body again whatever becomes of `edit`,
    /// a panic included. `None` where there is no such function.
    ///
    /// ```
    /// use ircode::{Type, parse_module};
    ///
    /// let mut module = parse_module("
    /// function f(x)
    /// 1 ─     return 1.0
    /// end
    /// ")?.module;
    /// let functions = module.edit_beside("f", |module, body| {
    ///     body.argtypes[1] = Type::FLOAT64;
    ///     module.functions().len()
    /// });
    /// assert_eq!(functions, Some(1));
    /// assert_eq!(module.functions()[0].body.argtypes[1], Type::FLOAT64);
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn edit_beside<R>(&mut self, name: &str, edit: impl FnOnce(&mut Module<F>, &mut F) -> R) -> Option<R>
    where
        F: Default,
    {
        let mut body = std::mem::take(self.body_mut(name)?);
        let result = catch_unwind(AssertUnwindSafe(|| edit(self, &mut body)));
        if let Some(place) = self.body_mut(name) {
            *place = body;
        }
        Some(result.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Adds a function.
    ///
    /// # Errors
    ///
    /// [`DefinedTwice`] if there is one of this name, or if two of its parameters have the same name.
    pub fn add_function(&mut self, function: Function<F>) -> Result<(), DefinedTwice> {
        if self.by_name.contains_key(&function.name) {
            return Err(DefinedTwice(function.name));
        }
        all_different(function.parameters.iter().flatten(), &function.name)?;
        self.index(function.name.clone(), self.functions.len());
        self.functions.push(function);
        Ok(())
    }

    /// Adds a function, or puts it in the place of the one of this name. Its parameters are not looked at, see
    /// [`edit_function`](Module::edit_function).
    pub fn replace_function(&mut self, function: Function<F>) {
        match self.by_name.get(&function.name) {
            Some(&index) => self.functions[index] = function,
            None => {
                self.index(function.name.clone(), self.functions.len());
                self.functions.push(function);
            }
        }
    }

    /// Gives a function another name, in tables of methods too, and says whether there is such a function. Bodies are
    /// not looked at.
    ///
    /// # Errors
    ///
    /// [`DefinedTwice`] if there is one of the new name, be it the same.
    pub fn rename_function(&mut self, from: &str, to: impl Into<Name>) -> Result<bool, DefinedTwice> {
        let to = to.into();
        if self.by_name.contains_key(&to) {
            return Err(DefinedTwice(to));
        }
        if let Some(methods) = method_of(from).and_then(|of| self.methods.get_mut(of)) {
            methods.retain(|&method| Some(&method) != self.by_name.get(from));
        }
        let index = self.by_name.remove(from);
        if let Some(index) = index {
            self.functions[index].name = to.clone();
            self.tables.rename_function(from, &to);
            self.index(to, index);
        }
        Ok(index.is_some())
    }

    /// The module with the functions at these positions alone, each once, in their order: its types, tables and
    /// extensions stay. What still mentions another function is not looked at. Linear in what is kept.
    ///
    /// ```
    /// let module = ircode::parse_module("
    /// function f()::Float64
    /// 1 ─     return 1.0
    /// end
    /// function g()::Float64
    /// 1 ─     return 2.0
    /// end
    /// ")?.module;
    /// let only = module.only([1]);
    /// assert!(only.function("f").is_none() && only.function("g").is_some());
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn only(&self, functions: impl IntoIterator<Item = usize>) -> Module<F>
    where
        F: Clone,
    {
        let mut only = Module {
            types: self.types.clone(),
            types_by_name: self.types_by_name.clone(),
            tables: self.tables.clone(),
            extensions: self.extensions.clone(),
            ..Module::default()
        };
        for function in functions.into_iter().filter_map(|position| self.functions.get(position)) {
            if only.by_name.contains_key(&function.name) {
                continue;
            }
            only.index(function.name.clone(), only.functions.len());
            only.functions.push(function.clone());
        }
        only
    }

    /// Removes the functions and the types that are not to be kept, classes among them. Each is asked about once, in
    /// order. What still mentions one is not looked at. Linear in the module.
    pub fn retain(&mut self, keep_function: impl FnMut(&Function<F>) -> bool, keep_type: impl FnMut(&TypeDef) -> bool) {
        self.functions.retain(keep_function);
        self.types.retain(keep_type);
        self.by_name.clear();
        self.methods.clear();
        self.lengths = Lengths::default();
        let names: Vec<Name> = self.functions.iter().map(|function| function.name.clone()).collect();
        for (index, name) in names.into_iter().enumerate() {
            self.index(name, index);
        }
        self.types_by_name = self.types.iter().enumerate().map(|(index, def)| (def.name.clone(), index)).collect();
        let types = &self.types_by_name;
        self.tables.retain_classes(|name| types.contains_key(name));
    }

    /// Declares a type. What is declared before without its supertypes gets these. Supertypes that have no names, as `T
    /// where T`, leave it open which there are.
    ///
    /// # Errors
    ///
    /// [`DefinedTwice`] if there is another of this name.
    pub fn add_type(&mut self, mut def: TypeDef) -> Result<(), DefinedTwice> {
        let has_name = |ty: &Type| matches!(ty, Type::Named(name) if is_declarable(name));
        if let Some(supertypes) = &mut def.supertypes {
            supertypes.retain(|ty| *ty != Type::Any);
        }
        def.supertypes = def.supertypes.filter(|supertypes| supertypes.iter().all(has_name));
        if let Some(known) = self.declared_type(&def.name) {
            let agree = known.supertypes == def.supertypes || known.supertypes.is_none() || def.supertypes.is_none();
            if !agree || known.kind != def.kind || known.name != def.name {
                return Err(DefinedTwice(def.name));
            }
            let index = self.types_by_name.get(&def.name).copied();
            if let (Some(known), Some(_)) = (index.and_then(|index| self.types.get_mut(index)), &def.supertypes) {
                known.supertypes = def.supertypes;
            }
            return Ok(());
        }
        match &def.kind {
            TypeKind::Struct { fields, .. } => all_different(fields.iter().map(|(name, _)| name), &def.name)?,
            TypeKind::Enum { cases } => all_different(cases.iter().map(|(name, _)| name), &def.name)?,
        }
        self.types_by_name.insert(def.name.clone(), self.types.len());
        self.types.push(def);
        Ok(())
    }

    /// Declares a type in the place of the one of this name, or adds it. What is made of the old one stays as it is.
    pub fn replace_type(&mut self, def: TypeDef) {
        let index = self.types_by_name.get(&def.name).copied();
        match index.and_then(|index| self.types.get_mut(index)) {
            Some(known) => *known = def,
            None => {
                self.types_by_name.insert(def.name.clone(), self.types.len());
                self.types.push(def);
            }
        }
    }

    /// The declaration of the type of this name. A prefix `Main.` makes no difference. `Core.Box`, in which Julia puts
    /// variables that closures change and which no listing declares, has one without that.
    pub fn type_def(&self, name: &str) -> Option<&TypeDef> {
        self.declared_type(name).or_else(|| (CORE_BOX.name == name).then_some(&*CORE_BOX))
    }

    /// A type by the name under which the module declares it, if it does: with or without `Main.` before it it is the
    /// same type.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type, TypeDef};
    ///
    /// let mut module: Module<IRCode> = Module::new();
    /// module.add_type(TypeDef::structure("Point", [("x".into(), Type::FLOAT64)]))?;
    /// assert_eq!(module.as_declared(&Type::named("Main.Point")), Some(Type::named("Point")));
    /// assert_eq!(module.as_declared(&Type::named("Other")), None);
    /// # Ok::<(), ircode::DefinedTwice>(())
    /// ```
    pub fn as_declared(&self, ty: &Type) -> Option<Type> {
        match ty {
            Type::Named(name) => self.type_def(name).map(|def| Type::Named(def.name.clone())),
            _ => None,
        }
    }

    fn declared_type(&self, name: &str) -> Option<&TypeDef> {
        self.types.get(self.type_index(name)?)
    }

    /// The position of the declaration of this name.
    pub(crate) fn type_index(&self, name: &str) -> Option<usize> {
        let find = |name: &str| self.types_by_name.get(name).copied();
        find(name).or_else(|| name.strip_prefix("Main.").and_then(find))
    }

    /// Whether values of a type are exceptions of which the module does not say what they hold: those of Julia's
    /// library, and what is called like one.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type};
    ///
    /// let module: Module<IRCode> = Module::new();
    /// assert!(module.is_undeclared_exception(&Type::named("Base.DimensionMismatch")));
    /// assert!(module.is_undeclared_exception(&Type::named("TooColdError")));
    /// assert!(!module.is_undeclared_exception(&Type::named("MeanSquared")));
    /// ```
    pub fn is_undeclared_exception(&self, ty: &Type) -> bool {
        let Type::Named(name) = ty else { return false };
        let plain = plain_name(name);
        let is_named = plain.ends_with("Error") || plain.ends_with("Exception");
        (is_named || EXCEPTIONS.contains(&plain)) && self.type_def(name).is_none()
    }

    /// The same module, extensions included, with other bodies.
    ///
    /// # Errors
    ///
    /// The first error that `body` returns.
    pub fn map<G, E>(&self, mut body: impl FnMut(&Function<F>) -> Result<G, E>) -> Result<Module<G>, E> {
        let mut functions = Vec::with_capacity(self.functions.len());
        for function in &self.functions {
            functions.push(function.map(|_| body(function))?);
        }
        Ok(Module {
            functions,
            by_name: self.by_name.clone(),
            lengths: self.lengths,
            methods: self.methods.clone(),
            types: self.types.clone(),
            types_by_name: self.types_by_name.clone(),
            tables: self.tables.clone(),
            extensions: self.extensions.clone(),
        })
    }

    /// As [`map`](Self::map), of a module that is not needed any more: bodies are moved.
    ///
    /// ```
    /// use ircode::{IRCode, Module, parse_module};
    ///
    /// let module = parse_module("function one()\n1 ─ return 1\nend")?.module;
    /// let counts: Module<usize> = module.map_into(|ir: IRCode| Ok::<_, ()>(ir.stmts.len())).unwrap();
    /// assert_eq!(counts.function("one").unwrap().body, 1);
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first error that `body` returns.
    pub fn map_into<G, E>(self, mut body: impl FnMut(F) -> Result<G, E>) -> Result<Module<G>, E> {
        let moved = |Function { name, parameters, varargs, result, body: old }| {
            Ok(Function { name, parameters, varargs, result, body: body(old)? })
        };
        Ok(Module {
            functions: self.functions.into_iter().map(moved).collect::<Result<_, E>>()?,
            by_name: self.by_name,
            lengths: self.lengths,
            methods: self.methods,
            types: self.types,
            types_by_name: self.types_by_name,
            tables: self.tables,
            extensions: self.extensions,
        })
    }
}
