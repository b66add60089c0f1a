//! Functions that go through Julia's own library, as its compiler leaves them, with arguments and with what Julia
//! computes: the files of `tests/library`.

#![allow(clippy::panic, reason = "files that are not what they should be end the test")]

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use exec::{Machine, Value};
use ircode::{Callee, Function, Head, IRCode, Module, Name, Stmt, Type, parse_module};
use serde_json::Value as Json;

/// The folder of the files.
pub fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../library"))
}

/// The files there that hold the code: of all functions that share one dump, and of the files that have their own.
pub const PROGRAMS: [&str; 5] =
    ["library.txt", "mixed_containers.txt", "called_in_try.txt", "integers_among_floats.txt", "objects_of_objects.txt"];

/// What a file there holds.
///
/// # Panics
///
/// If there is none.
pub fn read(file: &str) -> String {
    fs::read_to_string(folder().join(file)).unwrap_or_else(|error| panic!("tests/library/{file}: {error}"))
}

/// One of the functions.
#[derive(Debug)]
pub struct Case {
    /// What it is called in the file of Julia code where it stands.
    pub name: String,
    /// It, and what it invokes, directly or not.
    pub module: Module<IRCode>,
    /// Its name in the module.
    pub function: Name,
    /// The arguments, the value and the gradient, as `export.jl` writes them.
    pub expected: Json,
}

/// All of them, in the order in which `export.jl` reads the files of Julia code.
///
/// # Panics
///
/// If the files are not those that `export.jl` writes.
pub fn cases() -> Vec<Case> {
    cases_where(|_, _| true)
}

/// Every sixteenth of them: what takes seconds, where all of them take minutes.
///
/// # Panics
///
/// As [`cases`].
pub fn sample() -> Vec<Case> {
    cases_where(|position, _| position % 16 == 0)
}

/// Those of these positions and names.
///
/// # Panics
///
/// As [`cases`].
pub fn cases_where(wanted: impl Fn(usize, &str) -> bool) -> Vec<Case> {
    static PARSED: OnceLock<[Module<IRCode>; PROGRAMS.len()]> = OnceLock::new();
    let parsed = |file: &str| parse_module(&read(file)).unwrap_or_else(|error| panic!("{file}: {error}")).module;
    let programs = PARSED.get_or_init(|| PROGRAMS.map(parsed));
    let cases: Vec<Json> = serde_json::from_str(&read("cases.json")).unwrap_or_else(|error| panic!("{error}"));
    let case = |(position, expected): (usize, Json)| {
        let name = expected["name"].as_str().unwrap_or_default().to_owned();
        if !wanted(position, &name) {
            return None;
        }
        let start = format!("Main.Library.case_{name}(");
        let root_in = |module: &Module<IRCode>| module.functions().iter().position(|f| f.name.starts_with(&start));
        let root = programs.iter().find_map(|module| Some((module, root_in(module)?)));
        let (module, root) = root.unwrap_or_else(|| panic!("{name} is in none of {PROGRAMS:?}"));
        Some(Case { name, function: module.functions()[root].name.clone(), module: part(module, root), expected })
    };
    cases.into_iter().enumerate().filter_map(case).collect()
}

/// The part of a module that a function needs: what it invokes, directly or not, and the methods of what it calls by
/// name or makes.
fn part(module: &Module<IRCode>, root: usize) -> Module<IRCode> {
    let mut wanted = vec![root];
    let mut seen = vec![false; module.functions().len()];
    seen[root] = true;
    let mut next = 0;
    while let Some(&function) = wanted.get(next) {
        next += 1;
        let body = &module.functions()[function].body;
        for (stmt, ty) in body.stmts.stmts().iter().zip(body.stmts.types()) {
            let of_path = |path: &str| {
                [path, path.rsplit('.').next().unwrap_or_default()].map(|name| module.methods(name)).concat()
            };
            let of_one = |ty: &Type| match ty {
                Type::Function(path) => of_path(path),
                ty => module.methods(&format!("(::{ty})")).to_vec(),
            };
            let of_value = |ty: &Type| match ty {
                Type::Union(members) => members.iter().flat_map(of_one).collect(),
                ty => of_one(ty),
            };
            let callees = match stmt {
                Stmt::Invoke(invoke) => {
                    let callee = invoke.instance.name.as_ref().and_then(|name| module.function_index(name));
                    callee.into_iter().collect()
                }
                Stmt::Call(call) => match module.callee(&call.callee) {
                    Some(Callee::Unknown(path)) => of_path(&path),
                    // One of several methods, perhaps.
                    Some(Callee::Primitive(primitive))
                        if call.args.iter().any(|arg| matches!(body.operand_type(arg), Type::Union(_))) =>
                    {
                        module.methods(primitive.name).to_vec()
                    }
                    Some(Callee::Type(Type::Named(name))) => module.methods(&name).to_vec(),
                    Some(_) => Vec::new(),
                    None => {
                        let shown = call.callee.as_constant().and_then(|constant| constant.shown_object());
                        let ty = shown.map_or_else(|| body.operand_type(&call.callee), |(ty, _)| ty);
                        of_value(&module.dispatch_type(&ty))
                    }
                },
                Stmt::Expr(expr) if expr.head == Head::New => of_value(ty),
                _ => Vec::new(),
            };
            wanted.extend(callees.into_iter().filter(|&callee| !std::mem::replace(&mut seen[callee], true)));
        }
    }
    let mut part = Module::new();
    let added = module.declarations().try_for_each(|declaration| part.declare(declaration));
    let functions: Vec<Function<IRCode>> =
        wanted.iter().map(|&function| module.functions()[function].clone()).collect();
    let added = added.is_ok() && functions.into_iter().all(|function| part.add_function(function).is_ok());
    assert!(added, "a type or function is declared twice");
    part
}

impl Case {
    /// The function.
    ///
    /// # Panics
    ///
    /// If the module was changed, and has none of this name.
    pub fn code(&self) -> &Function<IRCode> {
        self.module.function(&self.function).unwrap_or_else(|| panic!("there is no {}", self.function))
    }

    /// Its arguments, for a machine of this module.
    ///
    /// # Panics
    ///
    /// If they are not of the types that the function declares.
    pub fn arguments(&self) -> Vec<Value> {
        let machine = Machine::new(&self.module);
        let args = self.expected["args"].as_array().map(Vec::as_slice).unwrap_or_default();
        let value = |(json, ty)| machine.value_from_json(json, ty);
        let values = args.iter().zip(&self.code().body.argtypes[1..]).map(value);
        values.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}
