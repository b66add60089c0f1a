//! What a call calls.

use crate::constant::{Constant, is_identifier};
use crate::module::{Module, method_of};
use crate::name::{Name, unqualified};
use crate::names::Names;
use crate::operand::{GlobalRef, Operand};
use crate::primitives::{self, Primitive, Scope};
use crate::stmt::{MethodInstance, Stmt};
use crate::types::Type;

/// What a name stands for that is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// The function of the module at this position.
    Function(usize),
    /// A primitive.
    Primitive(&'static Primitive),
    /// A type: calling it converts or constructs.
    Type(Type),
    /// Neither a function of the module nor a primitive.
    Unknown(Name),
}

impl<F> Module<F> {
    /// What a callee names; `None` if that is known only when the program runs.
    ///
    /// Names without a module and those of `Base`, `Core`, `Main` and `Core.Intrinsics` mean the module's function of
    /// that name first, then the primitive that the host has [registered](Module::register), then the built-in one.
    /// Names of other modules mean a function or a registered primitive called by its whole path, or a primitive of a
    /// module inside of `Base` or `Core`. Where the module has methods of a function on arrays, `sum(::T)`, the names
    /// `sum` and `Main.sum` mean those.
    pub fn callee<N: Names>(&self, operand: &Operand<N>) -> Option<Callee> {
        match operand {
            // An object, of which its type says what it calls.
            Operand::Global(global) if self.global_constant(global).is_some() => None,
            Operand::Global(global) => Some(self.global_callee(global)),
            Operand::Constant(Constant::Function(name)) => Some(self.function_callee(name)),
            Operand::Constant(Constant::Type(ty)) => Some(Callee::Type(self.of_library(ty))),
            Operand::Quote(constant) => self.callee(&Operand::<N>::Constant((**constant).clone())),
            _ => None,
        }
    }

    /// A type that the module does not declare, as it is known where it is named without the module of Julia's that has
    /// it: `Vector{Float64}` for `Base.Vector{Float64}`.
    fn of_library(&self, ty: &Type) -> Type {
        let Type::Named(name) = ty else { return ty.clone() };
        let plain = ["Base.", "Core.", "Main."].iter().find_map(|module| name.strip_prefix(module));
        match plain.map(Type::parse) {
            None | Some(Type::Named(_) | Type::Untyped) => ty.clone(),
            Some(known) => {
                if self.type_def(name).is_some() {
                    ty.clone()
                } else {
                    known
                }
            }
        }
    }

    /// Whether a call of this type makes an array whose elements are not there yet, `Vector{Float64}(undef, n)`, by its
    /// first argument.
    pub fn makes_undefined<N: Names>(&self, ty: &Type, args: &[Operand<N>]) -> bool {
        let name = match args.first() {
            Some(Operand::Global(global)) => &global.name,
            Some(Operand::Constant(Constant::Text(text) | Constant::Function(text))) => text,
            _ => return false,
        };
        matches!(ty, Type::Array(_)) && is_undef(name)
    }

    /// The type that an operand names.
    pub fn named_type<N: Names>(&self, operand: &Operand<N>) -> Option<Type> {
        match self.callee(operand)? {
            Callee::Type(ty) => Some(ty),
            _ => None,
        }
    }

    /// What a call or an invoke calls; `None` if that is known only when the program runs, and for all other
    /// statements.
    ///
    /// This is what its callee [names](Self::callee), but for types: calling a type makes a value of it by a method, a
    /// constructor. Where the module has it, or the instance of an invoke says that there is one, that is called; only
    /// without one a value is made of its fields. What calling a type does that the module does not declare is not
    /// known, but for exceptions.
    ///
    /// ```
    /// use ircode::{Callee, IRCode, Module, parse_module};
    ///
    /// let module: Module<IRCode> = parse_module(r#"
    /// struct Even
    ///     x::Int64
    /// end
    ///
    /// function f(x::Int64)::Even
    /// 1 ─ %1 = Main.Even(_2)::Even
    /// └──      return %1
    /// end
    ///
    /// function var"Even(::Int64)"(_1::Type{Even}, x::Int64)::Even
    /// 1 ─ %1 = Base.mul_int(_2, 2)::Int64
    /// │   %2 = %new(Main.Even, %1)::Even
    /// └──      return %2
    /// end
    /// "#)?.module;
    /// let call = &module.functions()[0].body.stmts.stmts()[0];
    /// assert!(matches!(module.called(call), Some(Callee::Unknown(name)) if &*name == "Even"));
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn called<N: Names>(&self, stmt: &Stmt<N>) -> Option<Callee> {
        match stmt {
            Stmt::Call(call) => match self.callee(&call.callee)? {
                // Which of the methods it is, is known when it runs.
                Callee::Type(Type::Named(name)) => {
                    // Methods are named as the type is where it is declared.
                    let def = self.type_def(&name);
                    let declared = def.map_or(&name, |def| &def.name);
                    let has_fields = def.is_some() || self.is_undeclared_exception(&Type::Named(name.clone()));
                    match has_fields && self.methods(declared).is_empty() {
                        true => Some(Callee::Type(Type::Named(name))),
                        false => Some(Callee::Unknown(declared.clone())),
                    }
                }
                Callee::Primitive(primitive) if self.is_method_only(primitive, call.args.len()) => {
                    Some(Callee::Unknown(primitive.name.into()))
                }
                other => Some(other),
            },
            Stmt::Invoke(invoke) => match self.callee(&invoke.callee)? {
                Callee::Type(ty) => Some(self.constructor(ty, &invoke.instance)),
                other => Some(other),
            },
            _ => None,
        }
    }

    /// The method by which an instance makes a value of a type.
    fn constructor(&self, ty: Type, instance: &MethodInstance) -> Callee {
        let converts =
            ty.as_scalar().is_some() && instance.argtypes.iter().all(|ty| ty.is_unknown() || ty.as_scalar().is_some());
        let Some(name) = instance.name.as_ref().filter(|_| !converts) else { return Callee::Type(ty) };
        match self.function_index(name) {
            Some(index) => Callee::Function(index),
            None if matches!(ty, Type::Named(_)) && method_of(name).is_some() => Callee::Unknown(name.clone()),
            None => Callee::Type(ty),
        }
    }

    /// The primitive that a statement calls, and its operands. `None` if it is no call of a primitive.
    ///
    /// Some functions inside of Julia's library are a primitive that an operand selects:
    /// `_log(x, Val{2}(), :log2)` is `log2(x)`.
    ///
    /// ```
    /// use ircode::{Module, IRCode, parse_function};
    ///
    /// let function = parse_function("
    /// 1 ─ %1 = invoke Base.Math._log(_2::Float64, $(QuoteNode(Val{2}()))::Val{2}, :log2::Symbol)::Float64
    /// └──      return %1
    /// ")?;
    /// let module: Module<IRCode> = Module::new();
    /// let (primitive, operands) = module.primitive_call(&function.body.stmts.stmts()[0]).unwrap();
    /// assert_eq!((primitive.name, operands.len()), ("log2", 1));
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn primitive_call<'s, N: Names>(&self, stmt: &'s Stmt<N>) -> Option<(&'static Primitive, &'s [Operand<N>])> {
        let (callee, args, instance) = match stmt {
            Stmt::Call(call) => (&call.callee, call.args.as_slice(), None),
            Stmt::Invoke(invoke) => (&invoke.callee, invoke.args.as_slice(), Some(&invoke.instance)),
            Stmt::Expr(expr) => return primitives::foreign_primitive(expr),
            _ => return None,
        };
        if let (Operand::Global(global), None) = (callee, instance)
            && let Some(primitive) = self.only_primitive(global)
        {
            return Some((primitive, args));
        }
        match self.callee(callee)? {
            Callee::Primitive(primitive) => {
                let may_be = match instance {
                    Some(instance) => primitive.may_take(&instance.argtypes),
                    None => !self.is_method_only(primitive, args.len()),
                };
                may_be.then_some((primitive, args))
            }
            Callee::Unknown(path) => selected_primitive(&path, args).or_else(|| splatted_tuple(&path, args)),
            _ => None,
        }
    }

    /// Whether a call of a function of Julia's library with so many arguments is one of the methods that the module has
    /// of it, as `sum(f, x)` is: the primitive takes another number.
    fn is_method_only(&self, primitive: &Primitive, count: usize) -> bool {
        primitive.scope == Scope::Arrays && !primitive.takes(count) && !self.methods(primitive.name).is_empty()
    }

    /// The built-in primitive that a global names, where the lengths of names say that the module has no function that
    /// it could name instead. Every pass asks what is called at every call, and most calls are of these.
    #[inline]
    fn only_primitive(&self, global: &GlobalRef) -> Option<&'static Primitive> {
        let (module, name) = (global.module.len(), global.name.len());
        if self.extensions.is_some() || self.may_have_name_of(name) || self.may_have_name_of(module + 1 + name) {
            return None;
        }
        primitives::of_global(global).filter(|primitive| primitive.scope != Scope::Arrays)
    }

    /// What the function object of this printed name is.
    pub fn function_callee(&self, name: &str) -> Callee {
        match name.rsplit_once('.') {
            Some((module, name)) if !name.is_empty() => self.global_callee(&GlobalRef::new(module, name)),
            _ => self.global_callee(&GlobalRef::new("", name)),
        }
    }

    /// The type of the function of which the compiler's lattice says that a value is always this one: `typeof(sin)` for
    /// `Core.Const(Base.sin)`. `None` if it is a type that the module or Julia's Base declares.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type};
    ///
    /// let module: Module<IRCode> = Module::new();
    /// assert_eq!(module.type_of_known_function(&Type::parse("Core.Const(Base.sin)")), Some(Type::parse("typeof(sin)")));
    /// assert_eq!(module.type_of_known_function(&Type::parse("Core.Const(Main.area)")), Some(Type::parse("typeof(Main.area)")));
    /// assert_eq!(module.type_of_known_function(&Type::parse("Core.Const(Base.Float64)")), None);
    /// ```
    pub fn type_of_known_function(&self, ty: &Type) -> Option<Type> {
        Some(Type::Function(match self.function_callee(ty.known_function()?) {
            Callee::Function(index) => self.functions().get(index)?.name.clone(),
            Callee::Primitive(primitive) => primitive.name.into(),
            Callee::Unknown(path) => path,
            Callee::Type(_) => return None,
        }))
    }

    /// Whether two names are of one function, which the module may have, or not.
    ///
    /// ```
    /// use ircode::{IRCode, Module};
    ///
    /// let module: Module<IRCode> = ircode::parse_module("
    /// function helper(x::Float64)::Float64
    /// 1 ─      return x
    /// end
    /// ")?.module;
    /// assert!(module.are_one_function("helper", "Main.helper"));
    /// assert!(module.are_one_function("Base.iterate", "iterate"));
    /// assert!(!module.are_one_function("helper", "iterate"));
    /// # Ok::<(), ircode::TextError>(())
    /// ```
    pub fn are_one_function(&self, a: &str, b: &str) -> bool {
        if a == b {
            return true;
        }
        match (self.function_callee(a), self.function_callee(b)) {
            (Callee::Function(a), Callee::Function(b)) => a == b,
            (Callee::Primitive(a), Callee::Primitive(b)) => a.name == b.name,
            (Callee::Unknown(a), Callee::Unknown(b)) => is_same_function(&a, &b),
            _ => false,
        }
    }

    /// A type by which methods are told apart: what the compiler knows of a value beside its type makes no difference,
    /// but which function it is.
    ///
    /// ```
    /// use ircode::{IRCode, Module, Type};
    ///
    /// let module: Module<IRCode> = Module::new();
    /// assert_eq!(module.dispatch_type(&Type::parse("Core.Const(2.5)")), Type::FLOAT64);
    /// assert_eq!(module.dispatch_type(&Type::parse("Core.Const(Base.sin)")), Type::parse("typeof(sin)"));
    /// assert_eq!(module.dispatch_type(&Type::parse("Core.Const((sin, 2))")), Type::parse("Tuple{typeof(sin),Int64}"));
    /// ```
    pub fn dispatch_type(&self, ty: &Type) -> Type {
        ty.widened_by(&|ty| self.type_of_known_function(ty)).unwrap_or_else(|| ty.clone())
    }

    /// What a global is.
    pub fn global_callee(&self, global: &GlobalRef) -> Callee {
        let GlobalRef { module, name, .. } = global;
        let path = || if module.is_empty() { name.to_string() } else { format!("{module}.{name}") };
        // Types print odd names as Julia reads them.
        let type_path = || match is_identifier(name) {
            true => path(),
            false if module.is_empty() => format!("var\"{name}\""),
            false => format!("{module}.var\"{name}\""),
        };
        // This is asked at every call in every pass: the path is made only where a function may be called so.
        let may_be = self.may_have_name_of(module.len() + 1 + name.len()) && !module.is_empty();
        let by_path = if may_be { self.function_index(&path()) } else { None };
        let found = by_path.or_else(|| {
            let plain = matches!(module.as_str(), "" | "Base" | "Core" | "Main" | "Core.Intrinsics");
            plain.then(|| self.function_index(name)).flatten()
        });
        if let Some(index) = found {
            return Callee::Function(index);
        }
        if let Some(primitive) = self.global_primitive(global) {
            let methods_first = primitive.scope == Scope::Arrays && matches!(module.as_str(), "" | "Main");
            if !methods_first || self.methods(name).is_empty() {
                return Callee::Primitive(primitive);
            }
            return Callee::Unknown(path().into());
        }
        let ty = type_path();
        if self.type_def(&ty).is_some() {
            return Callee::Type(Type::named(ty));
        }
        let path = path();
        if matches!(module.as_str(), "" | "Base" | "Core" | "Main") {
            match Type::parse(name) {
                Type::Named(_) | Type::Untyped => {}
                ty => return Callee::Type(ty),
            }
            match name.as_str() {
                "Int" => return Callee::Type(Type::INT64),
                "UInt" => return Callee::Type(crate::ScalarType::UInt64.into()),
                _ => {}
            }
        }
        Callee::Unknown(path.into())
    }
}

/// The functions that an operand `Val{…}()` makes a primitive of their other operand: in `Base.Math`, by the bases of
/// their exponentials and logarithms.
const SELECTED: &[(&str, &str, &str)] = &[
    ("exp_impl", "Val{:ℯ}()", "exp"),
    ("exp_impl", "Val{2}()", "exp2"),
    ("exp_impl", "Val{10}()", "exp10"),
    ("exp_impl_fast", "Val{:ℯ}()", "exp"),
    ("exp_impl_fast", "Val{2}()", "exp2"),
    ("exp_impl_fast", "Val{10}()", "exp10"),
    ("_log", "Val{:ℯ}()", "log"),
    ("_log", "Val{2}()", "log2"),
    ("_log", "Val{10}()", "log10"),
];

/// How Julia makes a tuple of the elements of others: `Core._apply_iterate(Base.iterate, Core.tuple, xs, ys)` is
/// `(xs..., ys...)`.
fn splatted_tuple<'s, N: Names>(path: &str, args: &'s [Operand<N>]) -> Option<(&'static Primitive, &'s [Operand<N>])> {
    let (callee, args) = match (path, args) {
        ("Core._apply_iterate", [_, callee, args @ ..]) | ("Core._apply", [callee, args @ ..]) => (callee, args),
        _ => return None,
    };
    match callee {
        Operand::Global(global) if primitives::of_global(global)?.name == "tuple" => {}
        _ => return None,
    }
    Some((primitives::lookup("splat_tuple")?, args))
}

fn selected_primitive<'s, N: Names>(
    path: &str,
    args: &'s [Operand<N>],
) -> Option<(&'static Primitive, &'s [Operand<N>])> {
    let name = path.strip_prefix("Base.Math.")?;
    let (operand, selector) = (args.get(..1)?, args.get(1)?);
    let text = match selector {
        Operand::Constant(Constant::Text(text)) => text,
        Operand::Quote(quoted) => match &**quoted {
            Constant::Text(text) => text,
            _ => return None,
        },
        _ => return None,
    };
    let (_, _, primitive) =
        SELECTED.iter().find(|(function, selector, _)| *function == name && *selector == &**text)?;
    Some((primitives::lookup(primitive)?, operand))
}

/// Whether two names are of one function that a module does not have. Julia leaves out the module of what Base, Core
/// and the program itself have.
///
/// ```
/// use ircode::is_same_function;
///
/// assert!(is_same_function("Base.iterate", "iterate"));
/// assert!(!is_same_function("Base.iterate", "Main.iterate"));
/// assert!(!is_same_function("Base.Iterators.zip", "zip"));
/// ```
pub fn is_same_function(a: &str, b: &str) -> bool {
    let is_with_module = |long: &str, short: &str| {
        let module = long.strip_suffix(short).and_then(|module| module.strip_suffix('.'));
        matches!(module, Some("Base" | "Core" | "Main"))
    };
    a == b || is_with_module(a, b) || is_with_module(b, a)
}

/// Whether this is how code names the value that stands for the elements of a new array, `undef`.
///
/// ```
/// assert!(ircode::is_undef("Core.undef") && ircode::is_undef("UndefInitializer()"));
/// ```
pub fn is_undef(path: &str) -> bool {
    matches!(unqualified(path), "undef" | "UndefInitializer()")
}
