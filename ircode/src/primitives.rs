//! The primitives: what a call may name beside the functions of the module.
//!
//! One table says of each what it is called, how many operands it takes, what type it returns, what effects it has, and
//! — for a pure one on scalars — what it computes. Folding constants and running both compute with these functions, so
//! they cannot differ. What works on memory, tuples and the like is run by the crate `exec`; derivatives are the
//! business of `passes`.

mod convert;
mod declaration;
mod float;
pub mod float32;
pub mod float64;
mod foreign;
mod generic;
mod int;
mod math;
mod table;

use std::sync::LazyLock;

use hashbrown::HashMap;

use crate::name::unqualified;
use crate::operand::GlobalRef;
use crate::scalar::{Scalar, ScalarType};
use crate::types::Type;

pub use foreign::{foreign_call, foreign_primitive};
pub use generic::promoted;
pub use int::{Overflow, overflowing};
pub use table::TABLE;

/// A primitive: of the table, or one that a host registers with a module.
#[derive(Clone, Copy, Debug)]
pub struct Primitive {
    /// The name, without a module.
    pub name: &'static str,
    /// The smallest number of operands.
    pub min_operands: usize,
    /// The largest number of operands; `None` if there is no limit.
    pub max_operands: Option<usize>,
    /// The type of the result.
    pub result: ResultType,
    /// What it does beside returning a value.
    pub effects: Effects,
    /// What it computes, if it is on scalars.
    pub compute: Compute,
    /// The primitive whose derivative rule it uses; its own name but for variants that differ in the errors they raise.
    pub rule: &'static str,
    /// Which names mean it.
    pub scope: Scope,
    /// What it does with arrays and stacks that others have to know.
    pub memory: MemoryEffect,
    /// Whether it takes a value out of an object, or puts values in one.
    pub transfer: Transfer,
}

/// Where a primitive takes a value out of an object, or puts values in one. Operands are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transfer {
    /// It does neither, or not with single values: it may copy all that an object holds.
    #[default]
    None,
    /// Its value lies in an object.
    Load {
        /// The operand that is the object.
        object: usize,
    },
    /// It puts a value in an object that is there.
    Store {
        /// The operand that is the object.
        object: usize,
        /// The operand that is the value.
        value: usize,
    },
    /// Its value is a new one that holds its operands, and does not change.
    Aggregate,
}

/// What a primitive does with arrays and stacks, as far as passes and the compiler of native code ask for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryEffect {
    /// Nothing of what follows.
    #[default]
    Other,
    /// It makes an array that shares no memory with any other. The operands behind the first one are its dimensions, or
    /// one is a tuple of them.
    NewArray {
        /// Whether it is a tuple.
        by_tuple: bool,
    },
    /// It may give the array that is its first operand another length.
    Resize {
        /// Whether the first element may lie elsewhere then, though there is room behind the last.
        shifts: bool,
    },
    /// It works on the stack that is its first operand, and keeps it nowhere.
    Stack,
}

/// Which names mean a primitive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Its name in any module that has primitives.
    Anywhere,
    /// The same, for one of the functions of Julia's library of which it is the method for arrays only. Methods that
    /// the module has of a function of this name come before it: those for what is no array, and those of a function
    /// that is the program's own.
    Arrays,
    /// Its name in `BBKit`, and without a module.
    Bbkit,
}

/// How the type of a primitive's result follows from its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultType {
    /// The type of the operand at this index.
    Operand(usize),
    /// The common type of all operands after Julia's promotion of numbers.
    Promoted,
    /// The same, but `Int64` if all are of type `Bool`.
    Sum,
    /// The float type that Julia's `float` gives for the operands.
    Float,
    /// That of a power: the type of the first operand if the second is an integer, else the promoted one.
    Power,
    /// The promoted type; of integers of different types, one that is signed if the operand at this index is.
    SignedAs(usize),
    /// The type of the operand at this index, `Int64` if that is `Bool`: a `Bool` has no sign.
    WithSign(usize),
    /// The type that the first operand names.
    Named,
    /// `Bool`.
    Bool,
    /// `Int64`.
    Int64,
    /// `Nothing`.
    Nothing,
    /// `String`.
    String,
    /// `Function`: one of the program's, known only when it runs.
    Function,
    /// `Union{}`: it does not return.
    Bottom,
    /// A tuple of the operands.
    Tuple,
    /// A tuple of the type of the first operand and `Bool`.
    WithFlag,
    /// The element type of the array, memory, stack, slot or reference at this index.
    Element(usize),
    /// The type of the sum of the elements of the array at this index: of integers that are narrower than 64 bits, and
    /// of Bools, it is an `Int64` or `UInt64`.
    SumOfElements(usize),
    /// `BBKit.Stack{T}` of the type that the first operand names.
    Stack,
    /// `BBKit.Slot{T}` of the type that the first operand names.
    Slot,
    /// A closure of the function that the first operand names, without the parameters that the other operands are.
    Closure,
    /// The bundle of a closure or function, which the first operand is, and its derivatives.
    DifferentiableFunction,
    /// The closure of which the first operand is a bundle.
    Original,
    /// The type of the captured value that the third operand numbers, of a closure of the function that the second
    /// names.
    Captured,
    /// `BBKit.Slot{F}`, where F is the type of the field that the second operand names of what is in the slot that the
    /// first is.
    SlotElement,
    /// `MemoryRef{T}` to the memory at this index.
    MemoryRef(usize),
    /// A vector of the elements of the array at this index.
    Vector(usize),
    /// A matrix of the elements of the array at this index.
    Matrix(usize),
    /// What the product of two matrices or vectors is: a vector if a matrix is multiplied by one, else a matrix.
    Product,
    /// What the product of elements of two arrays is, by Julia's promotion of numbers.
    ProductOfElements,
    /// An array of the first operand; the others are its dimensions, or a tuple of them.
    Filled,
    /// An array of the type that the first operand names; the others are as above.
    New,
    /// An array of what the first operand, a function, gives for elements of the others.
    Mapped,
    /// The field of the first operand that the second names.
    Field,
    /// The second and third operand's common type.
    Branches,
    /// Not known before it runs.
    Unknown,
}

/// What a primitive does beside returning a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// It may throw an exception.
    pub throws: bool,
    /// Its result depends on memory that may change.
    pub reads: bool,
    /// It changes memory, or prints.
    pub writes: bool,
    /// It returns something that has an identity of its own each time.
    pub allocates: bool,
}

impl Effects {
    /// None at all: same operands, same result.
    pub const PURE: Effects = Effects { throws: false, reads: false, writes: false, allocates: false };
    /// It may throw and does nothing else.
    pub const THROWS: Effects = Effects { throws: true, ..Effects::PURE };
    /// It reads memory, and may throw.
    pub const READS: Effects = Effects { reads: true, throws: true, ..Effects::PURE };
    /// It changes memory, and may throw.
    pub const WRITES: Effects = Effects { writes: true, throws: true, ..Effects::PURE };
    /// It makes something new, and may throw.
    pub const ALLOCATES: Effects = Effects { allocates: true, throws: true, ..Effects::PURE };

    /// Whether a call whose result is not used can be left out.
    pub fn removable(self) -> bool {
        !self.throws && !self.writes
    }

    /// Whether a call of constants that returns a value can be replaced by that value.
    pub fn foldable(self) -> bool {
        !self.reads && !self.writes && !self.allocates
    }
}

/// What a primitive computes.
#[derive(Clone, Copy, Debug)]
pub enum Compute {
    /// A scalar of scalars.
    Scalars(fn(&[Scalar]) -> Result<Scalar, Failure>),
    /// A scalar of the type that the first operand names.
    Convert(fn(ScalarType, &Scalar) -> Result<Scalar, Failure>),
    /// It works on other things than scalars: memory, tuples, calls. What it does is said by `exec`.
    Machine,
}

/// Why a primitive returns no value.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// A Julia exception, which the program may catch.
    Exception(ScalarException),
    /// The operands are not what the primitive takes; the text says what that is.
    Operands(&'static str),
}

/// The exceptions that arithmetic throws.
#[derive(Clone, PartialEq, Debug)]
pub enum ScalarException {
    /// `DivideError()`.
    Divide,
    /// `DomainError(value, message)`.
    Domain {
        /// The operand outside of the domain.
        value: Scalar,
        /// What Julia says about it.
        message: &'static str,
    },
    /// `InexactError(function, type, value)`.
    Inexact {
        /// The conversion.
        function: &'static str,
        /// The type that cannot hold the value.
        ty: ScalarType,
        /// The value.
        value: Scalar,
    },
    /// `ArgumentError(message)`.
    Argument(&'static str),
    /// `OverflowError(message)`.
    Overflow(&'static str),
}

impl ResultType {
    /// The type of the number that this is for operands of these types; `None` if it is none, or follows from more than
    /// the types of numbers.
    ///
    /// ```
    /// use ircode::ScalarType::{Bool, Float32, Int64};
    /// use ircode::primitives::lookup;
    ///
    /// let of = |name, types: &[_]| lookup(name).and_then(|primitive| primitive.result.of_numbers(types));
    /// assert_eq!(of("+", &[Bool, Bool]), Some(Int64));
    /// assert_eq!(of("*", &[Int64, Float32]), Some(Float32));
    /// ```
    pub fn of_numbers(self, types: &[ScalarType]) -> Option<ScalarType> {
        let all = || {
            let (first, rest) = types.split_first()?;
            rest.iter().try_fold(*first, |ty, other| promoted(ty, *other))
        };
        let bool_as_int = |ty| if ty == ScalarType::Bool { ScalarType::Int64 } else { ty };
        match self {
            ResultType::Operand(index) => types.get(index).copied(),
            ResultType::WithSign(index) => types.get(index).copied().map(bool_as_int),
            ResultType::Promoted => all(),
            // From the left: two Bools make an integer before a third number is added.
            ResultType::Sum => {
                let (first, rest) = types.split_first()?;
                let mut sum = rest.iter().try_fold(*first, |sum, other| promoted(sum, *other).map(bool_as_int));
                if rest.is_empty() {
                    sum = sum.map(bool_as_int);
                }
                sum.filter(|ty| *ty != ScalarType::Char)
            }
            ResultType::Float => all()
                .filter(|ty| *ty != ScalarType::Char)
                .map(|ty| if ty.is_float() { ty } else { ScalarType::Float64 }),
            ResultType::Power => match types {
                [base, exponent] if !exponent.is_float() => Some(*base),
                _ => all(),
            },
            ResultType::SignedAs(index) => {
                let (ty, own) = (all()?, *types.get(index)?);
                match ty.is_integer() && own.is_integer() {
                    true => ScalarType::integer(ty.bits(), own.is_signed_integer()),
                    false => Some(ty),
                }
            }
            ResultType::Bool => Some(ScalarType::Bool),
            ResultType::Int64 => Some(ScalarType::Int64),
            _ => None,
        }
    }
}

const ARITHMETIC: &[&str] = &[
    "+", "-", "*", "/", "^", "min", "max", "abs", "abs2", "<", "<=", ">", ">=", "sqrt", "cbrt", "exp", "exp2", "exp10",
    "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "hypot", "float", "muladd", "fma",
];

impl Primitive {
    /// Whether this is asked of what has elements. A module may have methods of it for structs of its own.
    pub fn is_of_elements(&self) -> bool {
        matches!(self.name, "getindex" | "setindex!" | "push!" | "length" | "size")
    }

    /// Whether this is arithmetic on numbers, as Julia's library has it: it fails on `nothing` and `missing`, or is
    /// `missing` again. A module may have methods of it for arrays, and for structs of its own.
    pub fn is_arithmetic(&self) -> bool {
        ARITHMETIC.contains(&self.name)
    }

    /// Whether a call of this with a value of such a type is a `MethodError`, as Julia's library has it: arithmetic on
    /// `nothing`, or on what a reduction starts with where it has no first value; conversion of these and of `missing`
    /// to numbers: to other types they may be converted.
    ///
    /// ```
    /// use ircode::{Type, primitives::lookup};
    ///
    /// let missing = Type::parse("Missing");
    /// assert!(lookup("*").unwrap().fails_on(&Type::Nothing));
    /// assert!(!lookup("*").unwrap().fails_on(&missing) && lookup("convert").unwrap().fails_on(&missing));
    /// assert!(!lookup("===").unwrap().fails_on(&Type::Nothing));
    /// ```
    pub fn fails_on(&self, ty: &Type) -> bool {
        let converts = self.name == "convert";
        match ty {
            Type::Nothing => converts || self.is_arithmetic(),
            Type::Named(name) => match unqualified(name) {
                "_InitialValue" => converts || self.is_arithmetic(),
                // Arithmetic with `missing` is `missing`.
                "Missing" => converts,
                _ => false,
            },
            _ => false,
        }
    }
}

/// The primitive of this name.
pub fn lookup(name: &str) -> Option<&'static Primitive> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static Primitive>> =
        LazyLock::new(|| TABLE.iter().map(|primitive| (primitive.name, primitive)).collect());
    BY_NAME.get(name).copied()
}

/// The primitive that a global names: without a module, or in `Base`, `Core`, `Main`, `BBKit`, `LinearAlgebra` or a
/// module inside of `Base` or `Core`. Those of the module `libm` are C's functions, which return NaN where Julia's
/// throw.
pub fn of_global(global: &GlobalRef) -> Option<&'static Primitive> {
    global.primitive(find_global)
}

fn find_global(global: &GlobalRef) -> Option<&'static Primitive> {
    if global.module.as_str() == "libm" {
        return lookup(&format!("libm.{}", global.name)).or_else(|| lookup(&global.name));
    }
    let primitive = names_primitives(&global.module).then(|| lookup(&global.name)).flatten();
    primitive.filter(|primitive| primitive.scope != Scope::Bbkit || matches!(global.module.as_str(), "" | "BBKit"))
}

/// The primitive that a function object of this printed name is: `println`, `Core.Intrinsics.mul_int`.
pub fn of_path(path: &str) -> Option<&'static Primitive> {
    match path.rsplit_once('.') {
        Some((module, name)) => of_global(&GlobalRef::new(module, name)),
        None => lookup(path),
    }
}

/// Whether names in this module may be those of primitives.
pub(crate) fn names_primitives(module: &str) -> bool {
    matches!(module, "Base" | "Core" | "" | "Main" | "BBKit" | "SpecialFunctions" | "LinearAlgebra")
        || module.starts_with("Base.")
        || module.starts_with("Core.")
}

/// The operands of a primitive that takes two of the same type.
fn two<'a>(args: &'a [Scalar], expected: &'static str) -> Result<(&'a Scalar, &'a Scalar), Failure> {
    match args {
        [a, b] if a.scalar_type() == b.scalar_type() => Ok((a, b)),
        _ => Err(Failure::Operands(expected)),
    }
}

/// The operand of a primitive that takes one.
fn one<'a>(args: &'a [Scalar], expected: &'static str) -> Result<&'a Scalar, Failure> {
    match args {
        [a] => Ok(a),
        _ => Err(Failure::Operands(expected)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rules_exist() {
        for (i, primitive) in TABLE.iter().enumerate() {
            assert!(TABLE[..i].iter().all(|other| other.name != primitive.name), "{} twice", primitive.name);
            assert!(lookup(primitive.rule).is_some(), "{} has the rule of nothing", primitive.name);
            assert!(primitive.max_operands.is_none_or(|max| max >= primitive.min_operands));
        }
    }

    #[test]
    fn modules_decide_whether_a_name_is_a_primitive() {
        let found = |module: &str, name: &str| of_global(&GlobalRef::new(module, name)).is_some();
        assert!(
            found("Base", "add_int") && found("Base.Math", "sqrt_llvm") && found("", "sin") && found("Main", "sin")
        );
        assert!(!found("Main.Other", "sin") && !found("Base", "no_such_function"));
        assert!(of_path("Core.Intrinsics.mul_int").is_some() && of_path("println").is_some());
        assert!(of_path("Mooncake.rrule!!").is_none());
        assert!(found("LinearAlgebra", "dot") && found("Base", "sum") && found("BBKit", "matmul"));
        assert!(!found("Main", "matmul") && !found("Base", "slice") && of_path("Main.slice").is_none());
    }

    /// Values of each type at which functions do different things: zero, one, some number, a negative one, the ends.
    fn samples(ty: ScalarType) -> Vec<Scalar> {
        match ty {
            ScalarType::Char => vec![Scalar::from_bits(ty, 0x61 << 24)],
            _ if ty.is_float() => {
                [0.0, -0.0, 0.5, 1.0, -3.0, f64::NAN].into_iter().filter_map(|x| Scalar::from_float(ty, x)).collect()
            }
            _ => [0, 1, 3, u128::MAX, 1 << (ty.bits() - 1)].map(|bits| Scalar::from_bits(ty, bits)).to_vec(),
        }
    }

    fn tuples<T: Clone>(of: &[T], length: usize) -> Vec<Vec<T>> {
        (0..length).fold(vec![Vec::new()], |tuples, _| {
            let longer =
                |tuple: Vec<T>| of.iter().map(move |last| [tuple.as_slice(), std::slice::from_ref(last)].concat());
            tuples.into_iter().flat_map(longer).collect()
        })
    }

    /// The type that the table says a number has is the one that it has. Operands of three types are not tried in all
    /// ways.
    #[test]
    fn results_have_the_types_that_the_table_says() {
        let mut known = 0;
        for primitive in TABLE {
            let Compute::Scalars(compute) = primitive.compute else { continue };
            for count in primitive.min_operands..=primitive.max_operands.unwrap_or(3).min(3) {
                let types: &[ScalarType] = match count {
                    3 => &[
                        ScalarType::Bool,
                        ScalarType::Int64,
                        ScalarType::UInt8,
                        ScalarType::Float32,
                        ScalarType::Float64,
                    ],
                    _ => &ScalarType::ALL,
                };
                for types in tuples(types, count) {
                    let values: Vec<Vec<Scalar>> = types.iter().map(|ty| samples(*ty)).collect();
                    let longest = values.iter().map(Vec::len).max().unwrap_or(0);
                    for at in 0..longest * longest {
                        let pick = |(number, of): (usize, &Vec<Scalar>)| {
                            of.get((at / longest.pow(number as u32 % 2)) % of.len()).cloned()
                        };
                        let args: Vec<Scalar> = values.iter().enumerate().filter_map(pick).collect();
                        let Ok(result) = compute(&args) else { continue };
                        if let Some(ty) = primitive.result.of_numbers(&types) {
                            assert_eq!(result.scalar_type(), ty, "{} of {args:?} is {result:?}", primitive.name);
                            known += 1;
                        }
                    }
                }
            }
        }
        assert!(known > 10_000, "only {known} results were compared");
    }
}
