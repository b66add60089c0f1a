//! What a call calls.

use crate::constant::{Constant, is_identifier};
use crate::module::Module;
use crate::name::Name;
use crate::names::Names;
use crate::operand::{GlobalRef, Operand};
use crate::primitives::{self, Primitive, Scope};
use crate::stmt::Stmt;
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
    /// Names without a module and those of `Base`, `Core`, `Main` and `Core.Intrinsics` mean the module's function of that
    /// name first, then the primitive that the host has [registered](Module::register), then the built-in one. Names of
    /// other modules mean a function or a registered primitive called by its whole path, or a primitive of a module
    /// inside of `Base` or `Core`. Where the module has methods of a function on arrays, `sum(::T)`, the names `sum` and
    /// `Main.sum` mean those.
    pub fn callee<N: Names>(&self, operand: &Operand<N>) -> Option<Callee> {
        match operand {
            Operand::Global(global) => Some(self.global_callee(global)),
            Operand::Constant(Constant::Function(name)) => Some(self.function_callee(name)),
            Operand::Constant(Constant::Type(ty)) => Some(Callee::Type((**ty).clone())),
            Operand::Quote(constant) => self.callee(&Operand::<N>::Constant((**constant).clone())),
            _ => None,
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
                let may_be = instance.is_none_or(|instance| primitive.may_take(&instance.argtypes));
                may_be.then_some((primitive, args))
            }
            Callee::Unknown(path) => selected_primitive(&path, args),
            _ => None,
        }
    }

    /// The built-in primitive that a global names, where the lengths of names say that the module has no function that it could name
    /// instead. Every pass asks what is called at every call, and most calls are of these.
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
