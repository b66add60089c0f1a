//! Which types are below which, as far as their names tell.

use std::cmp::Ordering;

use crate::name::{Name, unqualified};
use crate::text::balanced::{parted, split_depth_0};
use crate::three_valued::{all, any};
use crate::types::Type;

/// The abstract types above the ones that Julia's library defines, the nearest first, without `Any`: what a type is
/// called, and those. `$1` is its first parameter.
const OF_LIBRARY: &[(&[&str], &[&str])] = &[
    (&["Int8", "Int16", "Int32", "Int64", "Int128", "BigInt"], &["Signed", "Integer", "Real", "Number"]),
    (&["UInt8", "UInt16", "UInt32", "UInt64", "UInt128"], &["Unsigned", "Integer", "Real", "Number"]),
    (&["Bool"], &["Integer", "Real", "Number"]),
    (&["Float16", "Float32", "Float64", "BigFloat"], &["AbstractFloat", "Real", "Number"]),
    (&["Rational"], &["Real", "Number"]),
    (&["Irrational"], &["AbstractIrrational", "Real", "Number"]),
    (&["Complex"], &["Number"]),
    (&["Char"], &["AbstractChar"]),
    (&["String", "SubString"], &["AbstractString"]),
    (&["Array"], &["DenseArray{$1,$2}", "AbstractArray{$1,$2}"]),
    (&["SubArray", "ReshapedArray", "PermutedDimsArray"], &["AbstractArray{$1,$2}"]),
    (&["BitArray"], &["AbstractArray{Bool,$1}"]),
    (
        &["UnitRange", "OneTo"],
        &["AbstractUnitRange{$1}", "OrdinalRange{$1,$1}", "AbstractRange{$1}", "AbstractArray{$1,1}"],
    ),
    (&["StepRange"], &["OrdinalRange{$1,$2}", "AbstractRange{$1}", "AbstractArray{$1,1}"]),
    (&["StepRangeLen", "LinRange"], &["AbstractRange{$1}", "AbstractArray{$1,1}"]),
    (&["Diagonal", "Symmetric", "Hermitian", "Tridiagonal", "SymTridiagonal"], &["AbstractArray{$1,2}"]),
    (
        &["UpperTriangular", "LowerTriangular", "UnitUpperTriangular", "UnitLowerTriangular"],
        &["AbstractTriangular{$1,$2}", "AbstractArray{$1,2}"],
    ),
    (&["Adjoint", "Transpose"], &["AbstractArray{$1,2}"]),
    (&["Dict", "IdDict", "ImmutableDict"], &["AbstractDict{$1,$2}"]),
    (&["Set", "BitSet"], &["AbstractSet{$1}"]),
    (&["RefValue", "RefArray"], &["Ref{$1}"]),
    (&["CartesianIndex"], &["AbstractCartesianIndex{$1}"]),
    (&["Memory"], &["DenseArray{$1,1}", "AbstractArray{$1,1}"]),
    (&["MemoryRef"], &["Ref{$1}"]),
    (&["Nothing", "Missing", "Symbol", "Tuple", "NamedTuple", "Pair", "Val", "Some"], &[]),
    (&["LoadError", "InitError"], &["WrappedException", "Exception"]),
    (EXCEPTIONS, &["Exception"]),
];

/// The modules in which these are.
const MODULES: &[&str] = &["Base", "Core", "LinearAlgebra", "SparseArrays"];

/// The exceptions of Julia's library.
pub(crate) const EXCEPTIONS: &[&str] = &[
    "ArgumentError",
    "AssertionError",
    "BoundsError",
    "CapturedException",
    "CompositeException",
    "DimensionMismatch",
    "DivideError",
    "DomainError",
    "EOFError",
    "ErrorException",
    "InexactError",
    "InitError",
    "InterruptException",
    "InvalidStateException",
    "KeyError",
    "LAPACKException",
    "LoadError",
    "MethodError",
    "MissingException",
    "OutOfMemoryError",
    "OverflowError",
    "PosDefException",
    "RankDeficientException",
    "ReadOnlyMemoryError",
    "SegmentationFault",
    "SingularException",
    "StackOverflowError",
    "StringIndexError",
    "SystemError",
    "TaskFailedException",
    "TypeError",
    "UndefKeywordError",
    "UndefRefError",
    "UndefVarError",
    "ZeroPivotException",
];

/// What short names of the library stand for.
const ALIASES: &[(&str, &str)] = &[
    ("Vector", "Array{$1,1}"),
    ("Matrix", "Array{$1,2}"),
    ("AbstractVector", "AbstractArray{$1,1}"),
    ("AbstractMatrix", "AbstractArray{$1,2}"),
    ("DenseVector", "DenseArray{$1,1}"),
    ("DenseMatrix", "DenseArray{$1,2}"),
    ("BitVector", "BitArray{1}"),
    ("BitMatrix", "BitArray{2}"),
    ("ComplexF64", "Complex{Float64}"),
    ("ComplexF32", "Complex{Float32}"),
    ("Int", "Int64"),
    ("UInt", "UInt64"),
];

/// The names of unions and other abbreviations in the library: of these nothing is told.
const UNIONS: &[&str] = &[
    "VecOrMat",
    "AbstractVecOrMat",
    "DenseVecOrMat",
    "StridedArray",
    "StridedVector",
    "StridedMatrix",
    "StridedVecOrMat",
    "BitInteger",
    "BitSigned",
    "BitUnsigned",
    "IEEEFloat",
    "HermOrSym",
    "AdjOrTrans",
    "BlasFloat",
    "BlasReal",
    "BlasComplex",
    "Callable",
    "Dims",
    "HWReal",
    "HWNumber",
    "IntrinsicFloat",
];

/// Whether values of the concrete type `given` are of the type `asked`: if these are one, or if `asked` is above.
/// `above` has the types above `given`, the nearest first, or is `None` if the program does not say them; those of the
/// library are known. `None` if that does not tell.
///
/// Parameters that `asked` leaves out, or gives a variable, are any. Of a variable that stands in several places or
/// inside of other parameters nothing is told, nor of texts of great length.
///
/// ```
/// use ircode::{Type, is_below};
///
/// let (circle, shape) = (Type::named("Circle{Float64}"), Type::named("Shape"));
/// assert_eq!(is_below(&circle, Some(&[shape.clone()]), &shape), Some(true));
/// assert_eq!(is_below(&circle, Some(&[]), &shape), Some(false));
/// assert_eq!(is_below(&circle, None, &shape), None);
/// assert_eq!(is_below(&circle, None, &Type::named("Circle")), Some(true));
/// assert_eq!(is_below(&Type::INT64, None, &Type::named("Real")), Some(true));
/// let floats = Type::array(Type::FLOAT64, 1);
/// assert_eq!(is_below(&floats, None, &Type::parse("AbstractArray{T,1} where T<:Real")), Some(true));
/// assert_eq!(is_below(&floats, None, &Type::parse("Array{Real,1}")), Some(false));
/// ```
pub fn is_below(given: &Type, above: Option<&[Type]>, asked: &Type) -> Option<bool> {
    place_above(given, above, asked).map(|place| place.is_some())
}

/// Of two types of which values of the concrete type `given` are, whether the first is nearer to it: a method for that
/// is the more specific one. `above` is as for [`is_below`]. `None` if the program does not tell.
///
/// ```
/// use ircode::{Type, is_nearer};
///
/// let (real, number) = (Type::named("Real"), Type::named("Number"));
/// assert_eq!(is_nearer(&Type::INT64, None, &real, &number), Some(true));
/// assert_eq!(is_nearer(&Type::INT64, None, &Type::Any, &number), Some(false));
/// let nearer = |a: &str, b: &str| is_nearer(&Type::array(Type::FLOAT64, 1), None, &Type::parse(a), &Type::parse(b));
/// assert_eq!(nearer("AbstractArray{T,1} where T", "AbstractArray"), Some(true));
/// assert_eq!(nearer("AbstractArray{T,1} where T<:Real", "AbstractArray{Float64,1}"), Some(false));
/// assert_eq!(nearer("AbstractArray{Float64,N} where N", "AbstractArray{T,1} where T"), None);
/// ```
pub fn is_nearer(given: &Type, above: Option<&[Type]>, a: &Type, b: &Type) -> Option<bool> {
    let place = |ty: &Type| place_above(given, above, ty)?;
    let (first, second) = (place(a)?, place(b)?);
    if first != second {
        return Some(first < second);
    }
    // Of one name: parameters decide, of which one that is fixed is below one with a bound, and that below any.
    let (a, b) = (Applied::of_type(a)?, Applied::of_type(b)?);
    let count = a.parameters.len().max(b.parameters.len());
    let mut order = Ordering::Equal;
    for at in 0..count {
        let (first, second) = (a.freedom(at)?, b.freedom(at)?);
        let here = match first.cmp(&second) {
            Ordering::Equal if first == Freedom::Any || a.parameters.get(at) == b.parameters.get(at) => continue,
            Ordering::Equal => return None,
            here => here,
        };
        if order != Ordering::Equal && order != here {
            return None;
        }
        order = here;
    }
    (order != Ordering::Equal).then_some(order == Ordering::Less)
}

/// What a parameter leaves open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Freedom {
    Fixed,
    Bounded,
    Any,
}

/// Where a type stands above a concrete one, which is at 0 itself, and `Any` at the end; `Some(None)` if it does not.
/// `None` if that is not known.
fn place_above(given: &Type, above: Option<&[Type]>, asked: &Type) -> Option<Option<usize>> {
    match asked {
        Type::Any => return Some(Some(usize::MAX)),
        Type::Untyped => return None,
        _ if asked == given => return Some(Some(0)),
        _ => {}
    }
    let (given_type, given, asked) = (given, Applied::of_type(given)?, Applied::of_type(asked)?);
    match (unqualified(&asked.base), given_type) {
        (name, _) if UNIONS.contains(&name) => return None,
        // An address is a number here.
        ("Ptr", Type::Scalar(_)) => return None,
        ("Tuple", Type::Tuple(_)) if asked.parameters.is_empty() => return Some(Some(1)),
        // Their parameters are not compared by their texts: elements may be of types below.
        ("Tuple" | "NTuple", Type::Tuple(_)) => return None,
        ("NamedTuple", Type::NamedTuple(fields)) => {
            return asks_for_names(&asked, fields).map(|fits| fits.then_some(1));
        }
        _ => {}
    }
    let is_called_so = |ty: &Applied| is_one_name(&ty.base, &asked.base);
    let fits = |ty: &Applied| match is_called_so(ty) {
        true => parameters_fit(ty, &asked),
        false => Some(false),
    };
    let itself = fits(&given);
    if itself != Some(false) {
        return itself.map(|_| Some(0));
    }
    let known: Vec<Applied> = match above {
        Some(above) => above.iter().map(Applied::of_type).collect::<Option<_>>()?,
        None => match of_library(&given) {
            // Another module may have a type of the same name, or mean this one.
            Some(above) if !is_of_library(&asked.base) && above.iter().any(is_called_so) => return None,
            Some(above) => above,
            // Nothing is below its own name with other parameters.
            None => return is_called_so(&given).then_some(None),
        },
    };
    let mut known = known.iter().map(fits).zip(1..);
    if let Some((fits, place)) = known.find(|(fits, _)| *fits != Some(false)) {
        return fits.map(|_| Some(place));
    }
    // What is above a struct of the library the table may not have all of; nothing of the program's own is.
    let complete = above.is_some() || !given_type.is_named() || asked.base.starts_with("Main.") || is_known(&asked);
    complete.then_some(None)
}

/// Whether a type is in the table of the library, below or above.
fn is_known(ty: &Applied) -> bool {
    let name = unqualified(&ty.base);
    let is_it = |template: &&str| template.split('{').next() == Some(name);
    is_of_library(&ty.base) && OF_LIBRARY.iter().any(|(names, above)| names.contains(&name) || above.iter().any(is_it))
}

/// Whether a name has no module before it, or one of the library.
fn is_of_library(name: &str) -> bool {
    let module = name.split('.').next().unwrap_or_default();
    !name.contains('.') || MODULES.contains(&module)
}

/// Whether `NamedTuple`, perhaps with names, is a type of named tuples of these names; `None` if it says the types of
/// its fields.
fn asks_for_names(asked: &Applied, fields: &[(Name, Type)]) -> Option<bool> {
    let Some(wanted) = asked.parameters.first() else { return Some(true) };
    let wanted = split_depth_0(wanted.strip_prefix('(')?.strip_suffix(')')?, ',')?;
    let wanted = wanted.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let same = wanted.map(|name| name.trim_start_matches(':')).eq(fields.iter().map(|(name, _)| name.as_str()));
    let open = asked.parameters.get(1).is_none_or(|types| asked.variable(types).is_some());
    match same {
        true => open.then_some(true),
        false => Some(false),
    }
}

/// The types of the first elements of a tuple whose type leaves open how many there are, and that of all others.
///
/// ```
/// use ircode::{Type, open_tuple};
///
/// let real = Type::named("Real");
/// let pairs = Type::parse("Tuple{Symbol,Vararg{Real,N} where N}");
/// assert_eq!(open_tuple(&pairs), Some((vec![Type::Symbol], real.clone())));
/// assert_eq!(open_tuple(&Type::parse("NTuple{N,Real} where N")), Some((vec![], real)));
/// assert_eq!(open_tuple(&Type::parse("Tuple{Vararg{Real,2}}")), None);
/// ```
pub fn open_tuple(ty: &Type) -> Option<(Vec<Type>, Type)> {
    let Type::Named(_) = ty else { return None };
    let asked = Applied::of_type(ty)?;
    let is_count = |name: &str| matches!(asked.variable(name), Some(Bound::None));
    // What an element that is a variable is depends on the others.
    let element = |text: &String| (!asked.mentions(text)).then(|| Type::parse(text));
    match (unqualified(&asked.base), asked.parameters.as_slice()) {
        ("NTuple", [count, of]) if is_count(count) => Some((Vec::new(), element(of)?)),
        ("Tuple", [first @ .., rest]) => {
            let rest = Applied::of(rest).filter(|rest| rest.base == "Vararg")?;
            let of = match rest.parameters.as_slice() {
                [] => Type::Any,
                [of] if !rest.mentions(of) => element(of)?,
                [of, count] if !rest.mentions(of) && (is_count(count) || rest.variable(count).is_some()) => {
                    element(of)?
                }
                _ => return None,
            };
            Some((first.iter().map(element).collect::<Option<_>>()?, of))
        }
        _ => None,
    }
}

/// What is above a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Bound {
    /// Nothing but `Any`.
    None,
    /// This type.
    Above(String),
    /// Something else is asked of it, as of `T>:Int64`.
    Other,
}

/// A name with parameters, and the variables that stand among these.
#[derive(Clone, Debug)]
struct Applied {
    base: String,
    parameters: Vec<String>,
    variables: Vec<(String, Bound)>,
}

/// Longer texts are not looked into.
const LONGEST: usize = 2000;

impl Applied {
    /// What the parameter at a place, counted from 0, leaves open: one that is not there, everything. `None` where that
    /// is not told.
    fn freedom(&self, at: usize) -> Option<Freedom> {
        let Some(parameter) = self.parameters.get(at) else { return Some(Freedom::Any) };
        match self.variable(parameter) {
            _ if parameter == FREE => Some(Freedom::Any),
            Some(Bound::None) => Some(Freedom::Any),
            Some(Bound::Above(_)) => Some(Freedom::Bounded),
            Some(Bound::Other) => None,
            None if parameter.starts_with("<:") => Some(Freedom::Bounded),
            None if parameter.starts_with(">:") || self.mentions(parameter) => None,
            None => Some(Freedom::Fixed),
        }
    }

    /// What a type is, by its text but for tuples, which have short forms.
    fn of_type(ty: &Type) -> Option<Applied> {
        let named =
            |base: &str, parameters: Vec<String>| Applied { base: base.into(), parameters, variables: Vec::new() };
        match ty {
            Type::Tuple(types) => Some(named("Tuple", types.iter().map(Type::to_string).collect())),
            Type::NamedTuple(_) => Some(named("NamedTuple", Vec::new())),
            ty => Applied::of(&ty.to_string()),
        }
    }

    /// What a text names; `None` if it is of another form.
    fn of(text: &str) -> Option<Applied> {
        if text.len() > LONGEST {
            return None;
        }
        let mut variables = Vec::new();
        let (text, mut declared) = parted(text.trim(), " where ");
        while let Some(rest) = declared {
            let (here, further) = parted(rest, " where ");
            let here = here.trim();
            let here = here.strip_prefix('{').and_then(|all| all.strip_suffix('}')).unwrap_or(here);
            variables.extend(split_depth_0(here, ',')?.into_iter().map(variable));
            declared = further;
        }
        let text = text.trim();
        let (base, parameters) = match text.split_once('{') {
            Some((base, rest)) => (base, split_depth_0(rest.strip_suffix('}')?, ',')?),
            None => (text, Vec::new()),
        };
        if base.is_empty() || base == "Union" {
            return None;
        }
        let parameters = parameters.into_iter().map(|part| part.trim().to_string()).collect();
        let applied = Applied { base: base.to_string(), parameters, variables };
        let meant = ALIASES.iter().find(|(alias, _)| is_of_library(base) && *alias == unqualified(base));
        match meant {
            Some((_, meant)) => applied.within(meant),
            None => Some(applied),
        }
    }

    /// The type of a template, with the parameters of this one.
    fn within(&self, template: &str) -> Option<Applied> {
        let filled = (1..=2).fold(template.to_string(), |text, number| {
            text.replace(&format!("${number}"), self.parameters.get(number - 1).map_or(FREE, String::as_str))
        });
        let mut applied = Applied::of(&filled)?;
        applied.variables = self.variables.clone();
        Some(applied)
    }

    /// What is asked of the variable of this name, if it is one.
    fn variable(&self, name: &str) -> Option<&Bound> {
        self.variables.iter().find(|(variable, _)| variable == name).map(|(_, bound)| bound)
    }

    /// Whether a variable stands somewhere in a text.
    fn mentions(&self, text: &str) -> bool {
        let of_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '#' | '!' | '.');
        let mut words = text.split(|char| !of_name(char));
        words.any(|word| !word.is_empty() && self.variable(word).is_some())
    }

    /// Whether the variable of this name stands in one parameter only, and in no bound.
    fn stands_alone(&self, name: &str) -> bool {
        let only = Applied { base: String::new(), parameters: Vec::new(), variables: vec![(name.into(), Bound::None)] };
        let bounds = self.variables.iter().filter_map(|(_, bound)| match bound {
            Bound::Above(bound) => Some(bound),
            _ => None,
        });
        self.parameters.iter().chain(bounds).filter(|text| only.mentions(text)).count() <= 1
    }
}

/// A variable as it is declared: `T`, `T<:Real`, `T>:Int64`, `Int64<:T<:Real`.
fn variable(declared: &str) -> (String, Bound) {
    let (name, bound) = parted(declared, "<:");
    match (parted(name, ">:"), bound.map(|bound| parted(bound, "<:"))) {
        ((name, Some(_)), _) => (name.trim().to_string(), Bound::Other),
        (_, Some((name, Some(_)))) => (name.trim().to_string(), Bound::Other),
        (_, Some((bound, None))) => (name.trim().to_string(), Bound::Above(bound.trim().to_string())),
        (_, None) => (name.trim().to_string(), Bound::None),
    }
}

/// The parameter that is any.
const FREE: &str = "_";

/// What is above a type of the library.
fn of_library(given: &Applied) -> Option<Vec<Applied>> {
    if given.base.starts_with("typeof(") {
        return Applied::of("Function").map(|function| vec![function]);
    }
    let name = unqualified(&given.base);
    // A type of another module may be called so, too.
    if !is_of_library(&given.base) {
        return None;
    }
    if let Some((_, above)) = OF_LIBRARY.iter().find(|(names, _)| names.contains(&name)) {
        return above.iter().map(|template| given.within(template)).collect();
    }
    // Of the abstract types that have no parameters, those above are the same for all that are below.
    let above = OF_LIBRARY.iter().find_map(|(_, above)| {
        let at = above.iter().position(|abstract_type| *abstract_type == name)?;
        above.get(at + 1..)
    })?;
    above.iter().map(|name| Applied::of(name)).collect()
}

/// Whether the parameters of a type are such as are asked for.
fn parameters_fit(given: &Applied, asked: &Applied) -> Option<bool> {
    let mut answers = Vec::with_capacity(asked.parameters.len());
    for (wanted, given) in asked.parameters.iter().zip(&given.parameters) {
        let below = |bound: &str| match asked.mentions(bound) {
            true => None,
            false => is_parameter_below(&Type::parse(given), &Type::parse(bound.trim())),
        };
        let above = |bound: &str| is_parameter_below(&Type::parse(bound.trim()), &Type::parse(given));
        answers.push(match asked.variable(wanted) {
            _ if wanted == FREE => Some(true),
            Some(_) if !asked.stands_alone(wanted) => None,
            Some(Bound::None) => Some(true),
            _ if given == FREE => None,
            Some(Bound::Above(bound)) => below(bound),
            Some(Bound::Other) => None,
            None if asked.mentions(wanted) => None,
            None => match (wanted.strip_prefix("<:"), wanted.strip_prefix(">:")) {
                (Some(bound), _) => below(bound),
                (_, Some(bound)) => above(bound),
                _ => is_same(given, wanted, NESTING),
            },
        });
    }
    // Of parameters that are not known, free ones ask for nothing.
    let asks = |wanted: &&String| *wanted != FREE && asked.variable(wanted) != Some(&Bound::None);
    answers.extend(asked.parameters.iter().skip(given.parameters.len()).filter(asks).map(|_| None));
    all(answers)
}

/// As [`is_below`], for a type that is a parameter, and so may be one of which no value is itself: `Any`, a union, or
/// an abstract type of the library.
///
/// ```
/// use ircode::{Type, is_parameter_below};
///
/// let below = |given: &str, bound: &str| is_parameter_below(&Type::parse(given), &Type::parse(bound));
/// assert_eq!(below("Union{Float64, Int64}", "Real"), Some(true));
/// assert_eq!(below("Number", "Real"), Some(false));
/// assert_eq!(below("Any", "Real"), Some(false));
/// ```
pub fn is_parameter_below(given: &Type, bound: &Type) -> Option<bool> {
    match (given, bound) {
        (_, Type::Any) => Some(true),
        (Type::Any, _) => Some(false),
        (Type::Union(members), _) => all(members.iter().map(|member| is_parameter_below(member, bound))),
        (_, Type::Union(members)) => any(members.iter().map(|member| is_parameter_below(given, member))),
        _ => is_below(given, None, bound),
    }
}

/// As deep as parameters are looked into, which may come from anywhere.
const NESTING: usize = 16;

/// Whether two texts of parameters are of the same type, or the same number; `None` if they nest too deep.
fn is_same(a: &str, b: &str, nesting: usize) -> Option<bool> {
    if a == b || Type::parse(a) == Type::parse(b) {
        return Some(true);
    }
    let nesting = nesting.checked_sub(1)?;
    match (Applied::of(a), Applied::of(b)) {
        (Some(a), Some(b)) if is_one_name(&a.base, &b.base) && a.parameters.len() == b.parameters.len() => {
            all(a.parameters.iter().zip(&b.parameters).map(|(a, b)| is_same(a, b, nesting)))
        }
        _ => Some(false),
    }
}

/// Whether two names with their parameters may be of one type: one may have more of the modules before it. `None` if
/// they nest too deep.
pub(crate) fn are_one(a: &str, b: &str) -> Option<bool> {
    is_same(a, b, NESTING)
}

/// Whether two names are of one thing: one may have more of the modules before it.
///
/// ```
/// use ircode::is_one_name;
///
/// assert!(is_one_name("Main.Point", "Point"));
/// assert!(!is_one_name("Main.Point", "int"));
/// ```
pub fn is_one_name(a: &str, b: &str) -> bool {
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|before| before.ends_with('.'));
    a == b || ends(a, b) || ends(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(given: &str, asked: &str) -> Option<bool> {
        is_below(&Type::parse(given), None, &Type::parse(asked))
    }

    /// The answers are those of Julia 1.5.
    #[test]
    fn types_of_the_library_are_where_julia_has_them() {
        for (given, asked) in [
            ("Float64", "AbstractFloat"),
            ("Rational{Int64}", "Real"),
            ("Complex{Float64}", "Complex{T} where T<:Real"),
            ("Array{Float64,2}", "AbstractArray{T,2} where T"),
            ("Array{Float64,1}", "Array{T,1} where T<:Real"),
            ("Array{Real,1}", "Array{T,1} where T<:Number"),
            ("Array{Union{Float64, Int64},1}", "Vector{<:Real}"),
            ("Array{Float64,1}", "Vector{<:Union{Float64, Int64}}"),
            ("Array{Any,1}", "Vector{>:Real}"),
            ("Array{Any,1}", "Vector{<:Any}"),
            ("Array{Float64,1}", "Vector{>:Float64}"),
            ("Array{Float64,1}", "Vector"),
            ("Array{Float64,1}", "Array{Float64,N} where N"),
            ("UnitRange{Int64}", "AbstractArray{T,1} where T"),
            ("BitArray{2}", "AbstractArray{Bool,N} where N"),
            ("SubArray{Float64,1,Array{Float64,1},Tuple{UnitRange{Int64}},true}", "AbstractVector"),
            ("Base.RefValue{Int64}", "Ref{Int64}"),
            ("Core.DivideError", "Exception"),
            ("typeof(sin)", "Function"),
            ("Tuple{Int64}", "Tuple"),
            ("@NamedTuple{a::Float64}", "NamedTuple{(:a,),T} where T<:Tuple"),
            ("Main.Models.Circle{Float64}", "Main.Models.Circle{T} where T<:Real"),
            ("Main.Models.Circle{Float64}", "Models.Circle"),
            ("Tuple{Int64,Int64,Int64,Int64}", "Tuple"),
            ("UpperTriangular{Float64,Array{Float64,2}}", "AbstractTriangular"),
            ("CartesianIndex{2}", "AbstractCartesianIndex"),
            ("LoadError", "WrappedException"),
        ] {
            assert_eq!(below(given, asked), Some(true), "{given}, {asked}");
        }
        for (given, asked) in [
            ("Float64", "Integer"),
            ("Complex{Float64}", "Real"),
            ("Complex{Float64}", "Complex{T} where T<:Integer"),
            ("Array{Float64,2}", "AbstractVector"),
            ("Array{Float64,1}", "Array{Real,1}"),
            ("Array{Any,1}", "Vector{<:Real}"),
            ("Array{Number,1}", "Vector{<:Real}"),
            ("Array{Union{Nothing, Int64},1}", "Vector{<:Real}"),
            ("Array{Float64,1}", "Vector{>:Int64}"),
            ("Array{Float64,1}", "Array{T,1} where T<:Integer"),
            ("Dict{Symbol,Int64}", "AbstractArray"),
            ("Nothing", "Number"),
            ("@NamedTuple{a::Float64}", "NamedTuple{(:a, :b),T} where T<:Tuple"),
            ("Main.Circle{Float64}", "Main.Circle{Int64}"),
            ("Tuple{Int64,Int64,Int64,Int64}", "Number"),
            ("@NamedTuple{a::Float64}", "AbstractArray"),
            ("Rational{Int64}", "Main.Shape"),
        ] {
            assert_eq!(below(given, asked), Some(false), "{given}, {asked}");
        }
        // A type of the program's own, even where it is called as one of the library; a union with a name; what the
        // table may not have; variables that stand in several places, inside of parameters, or below something.
        for (given, asked) in [
            ("Main.Circle{Float64}", "Main.Shape"),
            ("Main.Set{Int64}", "Number"),
            ("Models.Symmetric{Float64}", "AbstractArray"),
            ("Main.Vector{Float64}", "AbstractArray"),
            ("Float64", "Elsewhere.Number"),
            ("Float64", "Base.IEEEFloat"),
            ("typeof(sin)", "Base.Callable"),
            ("Symmetric{Float64,Array{Float64,2}}", "AbstractQ"),
            ("Pair{Int64,Float64}", "Pair{T,T} where T"),
            ("Array{Complex{Float64},1}", "Array{Complex{T},1} where T"),
            ("Pair{Int64,Array{Int64,1}}", "Pair{T,V} where V<:AbstractArray{T,1} where T"),
            ("Array{Float64,1}", "Array{T,1} where T>:Int64"),
            ("Array{Float64,1}", "Array{T,1} where Int64<:T<:Real"),
        ] {
            assert_eq!(below(given, asked), None, "{given}, {asked}");
        }
    }

    #[test]
    fn texts_that_nest_deep_are_left_open() {
        let nested = |inner: &str| format!("{}{inner}{}", "A{<:".repeat(100_000), "}".repeat(100_000));
        assert_eq!(is_below(&Type::named(nested("B")), None, &Type::named(nested("C"))), None);
        let tuple = format!("{}Int64{}", "Tuple{Vararg{".repeat(100_000), "}}".repeat(100_000));
        assert_eq!(open_tuple(&Type::named(tuple)), None);
    }

    #[test]
    fn tuples_of_variables_are_left_open() {
        for text in [
            "NTuple{N,T} where {N, T}",
            "Tuple{Vararg{T,N} where N} where T",
            "Tuple{T,Vararg{Int64,N} where N} where T",
        ] {
            assert_eq!(open_tuple(&Type::named(text)), None, "{text}");
        }
    }
}
