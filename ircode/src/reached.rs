//! The part of a module that some of its functions may reach: what works on a whole program need not work on a whole
//! library.

use std::borrow::Cow;

use hashbrown::HashSet;

use crate::callee::Callee;
use crate::code::IRCode;
use crate::module::{Function, Module, TypeKind};
use crate::name::unqualified;
use crate::names::Positions;
use crate::operand::Operand;
use crate::primitives::ResultType;
use crate::stmt::Stmt;
use crate::types::Type;

impl Module<IRCode> {
    /// The module with no functions but those at these positions and what may be called while they run, in the order of
    /// the module. Names mean in it what they mean in the module. It is the module itself where that cannot be told:
    /// where a function is called of which not even the type is known, where arguments of these functions may be
    /// closures, or hold some, and where tables of methods or of derivatives, or extensions of a host, name functions.
    /// Linear in what is reached. Types are trusted, as everywhere.
    ///
    /// ```
    /// let module = ircode::parse_module("
    /// function f(x::Float64)::Float64
    /// 1 ─ %1 = Main.g(x)::Float64
    /// └──      return %1
    /// end
    /// function var\"g(::Float64)\"(x::Float64)::Float64
    /// 1 ─      return x
    /// end
    /// function var\"g(::Int64)\"(x::Int64)::Float64
    /// 1 ─      return 1.0
    /// end
    /// ")?.module;
    /// let part = module.reached_from([0]);
    /// let names: Vec<&str> = part.functions().iter().map(|function| function.name.as_str()).collect();
    /// assert_eq!(names, ["f", "g(::Float64)"]);
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn reached_from(&self, functions: impl IntoIterator<Item = usize>) -> Cow<'_, Module<IRCode>> {
        let names_more =
            self.has_tables() || !self.differentiability_witnesses().is_empty() || self.extensions().is_some();
        if names_more {
            return Cow::Borrowed(self);
        }
        let mut reach = Reach { module: self, seen: vec![false; self.functions().len()], work: Vec::new() };
        let mut passed = HashSet::new();
        let known = functions.into_iter().try_for_each(|position| {
            reach.add(position);
            let function = self.functions().get(position)?;
            function.body.argtypes.iter().skip(1).try_for_each(|ty| reach.add_passed(ty, &mut passed))
        });
        if known.and_then(|()| reach.follow()).is_none() || reach.seen.iter().all(|seen| *seen) {
            return Cow::Borrowed(self);
        }
        let positions = reach.seen.iter().enumerate().filter_map(|(position, seen)| seen.then_some(position));
        Cow::Owned(self.only(positions))
    }
}

struct Reach<'m> {
    module: &'m Module<IRCode>,
    seen: Vec<bool>,
    /// What was reached and not looked at yet.
    work: Vec<usize>,
}

impl Reach<'_> {
    /// Adds all that what is waiting reaches. `None` if that may be anything.
    fn follow(&mut self) -> Option<()> {
        while let Some(function) = self.work.pop().and_then(|position| self.module.functions().get(position)) {
            for stmt in function.body.stmts.stmts() {
                let mut known = self.add_called(function, stmt);
                stmt.for_each_operand(&mut |operand| {
                    if let Operand::Nested(nested) = operand {
                        known = known.and_then(|()| self.add_called(function, nested));
                    }
                    self.add_named(operand);
                });
                known?;
            }
        }
        Some(())
    }

    fn add(&mut self, position: usize) {
        if let Some(seen) = self.seen.get_mut(position)
            && !std::mem::replace(seen, true)
        {
            self.work.push(position);
        }
    }

    /// Adds the functions that values of a type passed from outside may be or name, which are looked up when they are
    /// compared or have tangents made, too. `None` if these may be any.
    fn add_passed(&mut self, ty: &Type, seen: &mut HashSet<Type>) -> Option<()> {
        let mut work = vec![ty.clone()];
        while let Some(ty) = work.pop() {
            if !seen.insert(ty.clone()) {
                continue;
            }
            match &ty {
                Type::Scalar(_) | Type::Nothing | Type::String | Type::Symbol | Type::Bottom | Type::TypeOf(_) => {}
                Type::Any | Type::Untyped | Type::Closure(_) | Type::DifferentiableFunction(_) => return None,
                Type::Function(name) => self.add_function(name, None),
                Type::Union(types) | Type::Tuple(types) => work.extend(types.iter().cloned()),
                Type::NamedTuple(fields) => work.extend(fields.iter().map(|(_, ty)| ty.clone())),
                Type::Array(array) => work.push(array.element.clone()),
                Type::Ref(ty) | Type::Memory(ty) | Type::MemoryRef(ty) | Type::Stack(ty) | Type::Slot(ty) => {
                    work.push((**ty).clone());
                }
                Type::Named(name) => {
                    let known = self.module.dispatch_type(&ty);
                    if known != ty {
                        work.push(known);
                        continue;
                    }
                    let def = self.module.type_def(name).filter(|_| !self.module.may_be_of_subclass(name))?;
                    match &def.kind {
                        TypeKind::Struct { fields, .. } => work.extend(fields.iter().map(|(_, ty)| ty.clone())),
                        TypeKind::Enum { cases } => {
                            work.extend(cases.iter().flat_map(|(_, payload)| payload).cloned());
                        }
                    }
                }
            }
        }
        Some(())
    }

    /// Adds what a statement calls. `None` if that may be anything.
    fn add_called(&mut self, function: &Function<IRCode>, stmt: &Stmt<Positions>) -> Option<()> {
        let (callee, args, instance) = match stmt {
            Stmt::Call(call) => (&call.callee, &call.args, None),
            Stmt::Invoke(invoke) => (&invoke.callee, &invoke.args, invoke.instance.name.as_ref()),
            _ => return Some(()),
        };
        if let Some(position) = instance.and_then(|name| self.module.function_index(name)) {
            self.add(position);
            return Some(());
        }
        let types = args.iter().map(|arg| self.module.dispatch_type(&function.body.operand_type(arg)));
        let given: Vec<Type> = types.collect();
        let hands_on = match self.module.callee(callee) {
            None => return self.add_object(&function.body.operand_type(callee), Some(&given)),
            Some(Callee::Function(_)) => false,
            Some(Callee::Type(ty)) => {
                self.add_constructors(&ty, &given);
                false
            }
            Some(Callee::Primitive(primitive)) => {
                self.add_methods(primitive.name, Some(&given));
                primitive.result == ResultType::Mapped
            }
            Some(Callee::Unknown(path)) => {
                self.add_path(&path, Some(&given));
                // Julia's builtins that call an operand.
                let plain = unqualified(&path);
                plain.starts_with("_apply") || matches!(plain, "invoke" | "invokelatest")
            }
        };
        if hands_on {
            args.iter().try_for_each(|arg| self.add_handed_on(function, arg))?;
        }
        Some(())
    }

    /// Adds what is called when an operand is, with whatever arguments. `None` if that may be anything.
    fn add_handed_on(&mut self, function: &Function<IRCode>, operand: &Operand<Positions>) -> Option<()> {
        match self.module.callee(operand) {
            Some(Callee::Function(position)) => self.add(position),
            // It hands on what it is called with.
            Some(Callee::Primitive(primitive)) if primitive.result == ResultType::Mapped => return None,
            Some(Callee::Primitive(primitive)) => self.add_methods(primitive.name, None),
            Some(Callee::Unknown(path)) => self.add_path(&path, None),
            Some(Callee::Type(_)) => return None,
            None => return self.add_object(&function.body.operand_type(operand), None),
        }
        Some(())
    }

    /// Adds what a value of this type calls when it is called. `None` if that may be anything.
    fn add_object(&mut self, ty: &Type, given: Option<&[Type]>) -> Option<()> {
        match self.module.dispatch_type(ty) {
            Type::Function(name) => match self.module.function_callee(&name) {
                // It hands on what it is called with.
                Callee::Primitive(primitive) if primitive.result == ResultType::Mapped => return None,
                _ => self.add_function(&name, given),
            },
            Type::Union(members) => members.iter().try_for_each(|member| self.add_object(member, given))?,
            Type::Named(name) => {
                let def = self.module.type_def(&name).filter(|_| !self.module.may_be_of_subclass(&name))?;
                self.add_methods(&format!("(::{})", def.name), given);
            }
            Type::Scalar(_)
            | Type::Array(_)
            | Type::Tuple(_)
            | Type::NamedTuple(_)
            | Type::Nothing
            | Type::String
            | Type::Symbol => {}
            _ => return None,
        }
        Some(())
    }

    /// Adds what the function object of this name calls.
    fn add_function(&mut self, name: &str, given: Option<&[Type]>) {
        match self.module.function_callee(name) {
            Callee::Function(position) => self.add(position),
            _ => self.add_path(name, given),
        }
    }

    /// Adds the methods of this path and those of its plain name: one at least if there is any, as the name may mean
    /// something else without.
    fn add_path(&mut self, path: &str, given: Option<&[Type]>) {
        for name in names_of(path) {
            self.add_methods(name, given);
        }
        self.add_one_method(path);
    }

    fn add_one_method(&mut self, path: &str) {
        for name in names_of(path) {
            if let Some(&first) = self.module.methods(name).first() {
                self.add(first);
            }
        }
    }

    /// Adds the function that an operand names: it may be compared, or asked for its type.
    fn add_named(&mut self, operand: &Operand<Positions>) {
        match self.module.callee(operand) {
            Some(Callee::Function(position)) => self.add(position),
            Some(Callee::Unknown(path)) => self.add_one_method(&path),
            _ => {}
        }
    }

    /// Adds the methods by which values of a type are made.
    fn add_constructors(&mut self, ty: &Type, given: &[Type]) {
        if let Type::Named(name) = ty {
            let declared = self.module.type_def(name).map_or(name, |def| &def.name);
            self.add_methods(declared, Some(given));
        }
    }

    /// Adds those methods that may take arguments of the types given, or all.
    fn add_methods(&mut self, of: &str, given: Option<&[Type]>) {
        for &position in self.module.methods(of) {
            if given.is_none_or(|given| self.may_take(position, given)) {
                self.add(position);
            }
        }
    }

    fn may_take(&self, method: usize, given: &[Type]) -> bool {
        let Some(method) = self.module.functions().get(method) else { return false };
        let mut parameters = method.body.argtypes.get(1..).unwrap_or_default();
        if method.varargs {
            parameters = parameters.split_last().map_or(parameters, |(_, first)| first);
        }
        let is_count = if method.varargs { parameters.len() <= given.len() } else { parameters.len() == given.len() };
        let never =
            |(given, taken): (&Type, &Type)| self.module.is_a(given, &self.module.dispatch_type(taken)) == Some(false);
        is_count && !given.iter().zip(parameters).any(never)
    }
}

/// The path of a function, and its name without modules.
fn names_of(path: &str) -> [&str; 2] {
    [path, unqualified(path)]
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use crate::text::parse_module;

    const TEXT: &str = r#"
struct Scale <: Function
    by::Float64
end

function var"(::Scale)(::Float64)"(_1::Scale, x::Float64)::Float64
1 ─ %1 = Base.getfield(_1, :by)::Float64
│   %2 = Base.mul_float(%1, x)::Float64
└──      return %2
end

function var"h(::Float64)"(x::Float64)::Float64
1 ─      return x
end

function var"h(::Int64)"(x::Int64)::Float64
1 ─      return 1.0
end

function var"+(::Vector{Float64}, ::Float64)"(v::Vector{Float64}, x::Float64)::Float64
1 ─ %1 = Main.unused(x)::Float64
└──      return %1
end

function unused(x::Float64)::Float64
1 ─      return x
end

function compares(x::Float64)::Bool
1 ─ %1 = Core.tuple(x)::Tuple{Any}
│   %2 = Base.getfield(%1, 1)::Any
│   %3 = (%2 === Main.h)::Bool
└──      return %3
end

function by_name(x::Float64)::Float64
1 ─ %1 = Main.chosen(x)::Float64
│   %2 = (%1 + x)::Float64
└──      return %2
end

function chosen(x::Float64)::Float64
1 ─ %1 = Main.h(x)::Float64
└──      return %1
end

function chosen_by_the_run(x::Union{Float64, Int64})::Float64
1 ─ %1 = Main.h(x)::Float64
└──      return %1
end

function of_object(x::Float64)::Float64
1 ─ %1 = %new(Main.Scale, 3.0)::Scale
│   %2 = (%1)(x)::Float64
└──      return %2
end

function of_function(f::typeof(Main.unused), x::Float64)::Float64
1 ─ %1 = (f)(x)::Float64
└──      return %1
end

function of_anything(x::Float64)::Float64
1 ─ %1 = Main.SOMETHING::Any
│   %2 = (%1)(x)::Float64
└──      return %2
end

function passes_closures(c::Tuple{BBKit.Closure{Tuple{Float64}, Float64}}, x::Float64)::Float64
1 ─      return x
end

function of_a_map(x::Float64)::Float64
1 ─ %1 = Base.map::typeof(map)
│   %2 = (%1)(Main.h, x)::Float64
└──      return %2
end

function var"sum(::Scale)"(s::Scale)::Float64
1 ─      return 1.0
end

function of_an_array(v::Vector{Float64})::Float64
1 ─ %1 = Main.sum(v)::Float64
└──      return %1
end

function nested(x::Float64)::Float64
1 ─ %1 = Base.add_float(x, $(Nested(Main.h(x))))::Float64
└──      return %1
end

function of_elements(v::Vector{Float64})::Vector{Float64}
1 ─ %1 = Main.map(Main.h, v)::Vector{Float64}
└──      return %1
end
"#;

    /// The names of what a function reaches; `None` if that may be anything.
    fn names(function: &str) -> Option<Vec<String>> {
        let module = parse_module(TEXT).unwrap().module;
        match module.reached_from(module.function_index(function)) {
            Cow::Borrowed(_) => None,
            Cow::Owned(part) => Some(part.functions().iter().map(|function| function.name.to_string()).collect()),
        }
    }

    #[test]
    fn what_may_be_called_is_kept_and_nothing_else() {
        let expect = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(names("unused"), expect(&["unused"]));
        assert_eq!(names("by_name"), expect(&["h(::Float64)", "by_name", "chosen"]));
        assert_eq!(names("chosen_by_the_run"), expect(&["h(::Float64)", "h(::Int64)", "chosen_by_the_run"]));
        assert_eq!(names("of_object"), expect(&["(::Scale)(::Float64)", "of_object"]));
        assert_eq!(names("of_function"), expect(&["unused", "of_function"]));
        assert_eq!(names("of_elements"), expect(&["h(::Float64)", "h(::Int64)", "of_elements"]));
        // So that it is known that what is compared is a function.
        assert_eq!(names("compares"), expect(&["h(::Float64)", "compares"]));
        assert_eq!(names("nested"), expect(&["h(::Float64)", "nested"]));
        // Without this method the name would mean the primitive.
        assert_eq!(names("of_an_array"), expect(&["sum(::Scale)", "of_an_array"]));
        assert_eq!([names("of_anything"), names("passes_closures"), names("of_a_map")], [None, None, None]);
    }
}
