//! What statements compute with.

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use serde::{Deserialize, Deserializer, Serialize};
use smallvec::SmallVec;

use crate::constant::Constant;
use crate::json::sharing;
use crate::name::Name;
use crate::names::{Names, NumberedNames, write_name};
use crate::primitives::{self, Primitive};
use crate::scalar::Scalar;
use crate::stmt::Stmt;
use crate::types::Type;

/// An operand of a statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(bound = "N: NumberedNames", rename_all = "snake_case")]
pub enum Operand<N: Names> {
    /// The result of another statement.
    #[serde(rename = "ssa")]
    Value(N::Value),
    /// An argument of the function.
    #[serde(rename = "arg")]
    Argument(Argument),
    /// A global by module and name.
    Global(#[serde(deserialize_with = "shared_global")] Arc<GlobalRef>),
    /// A literal or an embedded object.
    Constant(Constant),
    /// Julia's `QuoteNode`: a constant that would mean something else unquoted, above all a symbol.
    Quote(Arc<Constant>),
    /// An expression inside an expression. Julia's SSA form has three: `static_parameter`, `boundscheck`, and the
    /// tuple of name and library in a foreigncall.
    Nested(Box<Stmt<N>>),
}

/// Operands of a statement, up to two of which are held in place: most statements have no more, so that making and
/// copying a statement allocates nothing.
pub type Operands<N> = SmallVec<[Operand<N>; 2]>;

fn shared_global<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<GlobalRef>, D::Error> {
    GlobalRef::deserialize(deserializer).map(sharing::global)
}

/// The argument `_n` of a function, counted from 1; `_1` is the function itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Argument(pub u32);

impl Argument {
    /// The argument at this index, counted from 0.
    pub fn from_index(index: usize) -> Self {
        Argument(u32::try_from(index.saturating_add(1)).unwrap_or(u32::MAX))
    }

    /// The index, counted from 0; `None` for the invalid `_0`.
    pub fn index(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, '_', self.0)
    }
}

impl fmt::Debug for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A global: `Base.add_int`, `Base.Math.sqrt_llvm`, or a name that the listing shows without a module.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlobalRef {
    /// The path of the module, its parts joined by points; empty where the listing shows none.
    pub module: Name,
    /// The name in the module.
    pub name: Name,
    /// The built-in primitive that it was found to name, with the names under which it was looked up, as these may be
    /// changed. Every pass asks for it at every call.
    #[serde(skip)]
    found: OnceLock<(Name, Name, Option<&'static Primitive>)>,
}

impl GlobalRef {
    /// The global `module.name`.
    pub fn new(module: impl Into<Name>, name: impl Into<Name>) -> Self {
        GlobalRef { module: module.into(), name: name.into(), found: OnceLock::new() }
    }

    /// The built-in primitive that it names, which `find` looks up.
    pub(crate) fn primitive(&self, find: fn(&GlobalRef) -> Option<&'static Primitive>) -> Option<&'static Primitive> {
        let (module, name, found) = self.found.get_or_init(|| (self.module.clone(), self.name.clone(), find(self)));
        if module.is_same(&self.module) && name.is_same(&self.name) { *found } else { find(self) }
    }
}

impl PartialEq for GlobalRef {
    fn eq(&self, other: &Self) -> bool {
        self.module == other.module && self.name == other.name
    }
}

impl Eq for GlobalRef {}

impl Hash for GlobalRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.module.hash(state);
        self.name.hash(state);
    }
}

impl fmt::Debug for GlobalRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GlobalRef").field("module", &self.module).field("name", &self.name).finish()
    }
}

/// Constants of Julia's library that bbkit computes with.
const KNOWN: &[(&str, Scalar)] = &[
    ("Inf", Scalar::Float64(f64::INFINITY)),
    ("Inf64", Scalar::Float64(f64::INFINITY)),
    ("NaN", Scalar::Float64(f64::NAN)),
    ("NaN64", Scalar::Float64(f64::NAN)),
    ("Inf32", Scalar::Float32(f32::INFINITY)),
    ("NaN32", Scalar::Float32(f32::NAN)),
    ("Inf16", Scalar::Float16(half::f16::INFINITY)),
    ("NaN16", Scalar::Float16(half::f16::NAN)),
    // The first coefficient of sin's series, which folding `sin` of a literal leaves in the code.
    ("DS1", Scalar::Float64(-1.666_666_666_666_663_2e-1)),
];

impl GlobalRef {
    /// The value of the global, if it is a constant of Julia's library that is a number: `Inf`, `NaN32`, …
    #[inline]
    pub fn known_value(&self) -> Option<&'static Scalar> {
        // Passes ask this of all that is called: none of these names begins as the names of primitives do.
        match self.name.as_bytes() {
            [b'D' | b'I' | b'N', ..] => self.find_known_value(),
            _ => None,
        }
    }

    /// Whether it is the constant `nothing` of Julia's library.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        self.name == "nothing" && matches!(&*self.module, "" | "Main" | "Base" | "Core")
    }

    fn find_known_value(&self) -> Option<&'static Scalar> {
        let module = match &*self.name {
            "DS1" => self.module == "Base.Math",
            _ => matches!(&*self.module, "" | "Main" | "Base" | "Core"),
        };
        KNOWN.iter().find(|(name, _)| module && self.name == *name).map(|(_, value)| value)
    }
}

/// The modules under which code that is made names primitives.
const NAMED: [&str; 4] = ["Base", "Core", "BBKit", ""];

thread_local! {
    /// The globals of primitives that were asked for on this thread, each held once. As many as there are primitives,
    /// at most.
    static PRIMITIVES: RefCell<HashMap<&'static str, [Option<Arc<GlobalRef>>; NAMED.len()]>> = RefCell::default();
}

impl<N: Names> Operand<N> {
    /// The type of the operand, as far as it can be known without running anything, given the types of the arguments,
    /// `_1` first, and of values.
    pub fn ty(&self, argtypes: &[Type], value: impl FnOnce(N::Value) -> Option<Type>) -> Type {
        let known = match self {
            Operand::Value(name) => value(*name),
            Operand::Argument(argument) => argument.index().and_then(|index| argtypes.get(index)).cloned(),
            Operand::Constant(constant) => Some(constant.ty()),
            Operand::Quote(constant) => Some(constant.ty()),
            Operand::Global(global) if global.is_nothing() => Some(Type::Nothing),
            Operand::Global(global) => global.known_value().map(|value| value.scalar_type().into()),
            Operand::Nested(_) => None,
        };
        known.unwrap_or(Type::Untyped)
    }

    /// The global `module.name`. Of primitives, which code that is made names again and again, nothing new is made.
    pub fn global(module: &str, name: &str) -> Self {
        let new = || Arc::new(GlobalRef::new(module, name));
        let held = || {
            let place = NAMED.iter().position(|known| *known == module)?;
            PRIMITIVES.with_borrow_mut(|held| {
                if let Some(global) = held.get(name).and_then(|globals| globals[place].as_ref()) {
                    return Some(global.clone());
                }
                let primitive = primitives::lookup(name)?;
                Some(held.entry(primitive.name).or_default()[place].get_or_insert_with(new).clone())
            })
        };
        Operand::Global(held().unwrap_or_else(new))
    }

    /// The argument `_n`.
    pub fn argument(n: u32) -> Self {
        Operand::Argument(Argument(n))
    }

    /// The literal `nothing`.
    pub fn nothing() -> Self {
        Operand::Constant(Constant::Nothing)
    }

    /// A quoted symbol, `:name`.
    pub fn symbol(name: impl Into<Name>) -> Self {
        Operand::Quote(Arc::new(Constant::Symbol(name.into())))
    }

    /// The statement whose result this is, if it is one.
    pub fn as_value(&self) -> Option<N::Value> {
        match self {
            Operand::Value(value) => Some(*value),
            _ => None,
        }
    }

    /// The argument that the operand is, if it is one.
    pub fn as_argument(&self) -> Option<Argument> {
        match self {
            Operand::Argument(argument) => Some(*argument),
            _ => None,
        }
    }

    /// The constant that the operand stands for, quoted or not.
    pub fn as_constant(&self) -> Option<&Constant> {
        match self {
            Operand::Constant(constant) => Some(constant),
            Operand::Quote(constant) => Some(constant),
            _ => None,
        }
    }

    /// The symbol that the operand is, quoted or not.
    pub fn as_symbol(&self) -> Option<&Name> {
        match self.as_constant()? {
            Constant::Symbol(name) => Some(name),
            _ => None,
        }
    }

    /// The `Int64` that the operand is.
    pub fn as_int64(&self) -> Option<i64> {
        match self.as_constant()?.as_scalar()? {
            Scalar::Int64(number) => Some(*number),
            _ => None,
        }
    }

    /// The position, counted from 0, that the operand is as an integer that counts from 1.
    ///
    /// ```
    /// use ircode::{Constant, Operand, Positions};
    ///
    /// assert_eq!(Operand::<Positions>::from(3).as_position(), Some(2));
    /// assert_eq!(Operand::<Positions>::from(0).as_position(), None);
    /// assert_eq!(Operand::<Positions>::Constant(Constant::Symbol("x".into())).as_position(), None);
    /// ```
    pub fn as_position(&self) -> Option<usize> {
        let number = self.as_constant()?.as_scalar().filter(|number| number.scalar_type().is_integer())?;
        usize::try_from(number.to_i128().checked_sub(1)?).ok()
    }

    /// Whether this is the literal `nothing`.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Operand::Constant(Constant::Nothing))
    }
}

impl<N: Names> From<Constant> for Operand<N> {
    fn from(constant: Constant) -> Self {
        Operand::Constant(constant)
    }
}

impl<N: Names> From<Scalar> for Operand<N> {
    fn from(scalar: Scalar) -> Self {
        Operand::Constant(Constant::Scalar(scalar))
    }
}

/// An `Int64`.
impl<N: Names> From<i64> for Operand<N> {
    fn from(value: i64) -> Self {
        Scalar::Int64(value).into()
    }
}

/// A `Float64`.
impl<N: Names> From<f64> for Operand<N> {
    fn from(value: f64) -> Self {
        Scalar::Float64(value).into()
    }
}

/// A `Bool`.
impl<N: Names> From<bool> for Operand<N> {
    fn from(value: bool) -> Self {
        Scalar::Bool(value).into()
    }
}

impl<N: Names> From<Argument> for Operand<N> {
    fn from(argument: Argument) -> Self {
        Operand::Argument(argument)
    }
}

impl From<crate::names::SSAValue> for Operand<crate::names::Positions> {
    fn from(value: crate::names::SSAValue) -> Self {
        Operand::Value(value)
    }
}
