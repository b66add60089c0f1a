//! Which types are below which, as far as their names tell.

use crate::tangents::last_part;
use crate::text::balanced::{parted, split_depth_0};
use crate::types::Type;

/// The abstract types above the ones that Julia's library defines, the nearest first, without `Any`: what a type is called, and those. `$1` is
/// its first parameter.
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
    (
        &["Diagonal", "Symmetric", "Hermitian", "UpperTriangular", "LowerTriangular", "Tridiagonal", "SymTridiagonal"],
        &["AbstractArray{$1,2}"],
    ),
    (&["Adjoint", "Transpose"], &["AbstractArray{$1,2}"]),
    (&["Dict", "IdDict", "ImmutableDict"], &["AbstractDict{$1,$2}"]),
    (&["Set", "BitSet"], &["AbstractSet{$1}"]),
    (&["RefValue", "RefArray"], &["Ref{$1}"]),
    (&["Nothing", "Missing", "Symbol", "Tuple", "NamedTuple", "Pair", "Val", "Some", "CartesianIndex"], &[]),
    (EXCEPTIONS, &["Exception"]),
];

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

/// The types that are known by name to be unions: of these nothing is told.
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
];

/// Whether values of the concrete type `given` are of the type `asked`: if these are one, or if `asked` is above. `above` has the types above `given`, the
/// nearest first, or is `None` if the program does not say them; those of the library are known. `None` if that does not tell.
///
/// Parameters that `asked` leaves out, or gives a variable, are any.
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
    match asked {
        Type::Any => return Some(true),
        Type::Untyped => return None,
        _ if asked == given => return Some(true),
        _ => {}
    }
    let names = match given {
        Type::NamedTuple(fields) => Some(fields.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>()),
        _ => None,
    };
    let (given, asked) = (Applied::of(&given.to_string())?, Applied::of(&asked.to_string())?);
    match (last_part(&asked.base), given.base.as_str()) {
        (name, _) if UNIONS.contains(&name) => return None,
        // An address is a number here.
        ("Ptr", "UInt64") => return None,
        ("Tuple", "Tuple") if asked.parameters.is_empty() => return Some(true),
        // Their parameters are not compared by their texts: elements may be of types below.
        ("Tuple" | "NTuple", "Tuple") => return None,
        ("NamedTuple", _) if names.is_some() => return asks_for_names(&asked, &names.unwrap_or_default()),
        _ => {}
    }
    let fits = |ty: &Applied| if is_one_name(&ty.base, &asked.base) { parameters_fit(ty, &asked) } else { Some(false) };
    let itself = fits(&given);
    if itself != Some(false) {
        return itself;
    }
    let known: Vec<Applied> = match (above, of_library(&given)) {
        (Some(above), _) => above.iter().map(|ty| Applied::of(&ty.to_string())).collect::<Option<_>>()?,
        (None, Some(above)) => above,
        // Nothing of a name is below the same name with other parameters.
        (None, None) => return is_one_name(&given.base, &asked.base).then_some(false),
    };
    known.iter().map(fits).find(|fits| *fits != Some(false)).unwrap_or(Some(false))
}

/// Whether `NamedTuple`, perhaps with names, is a type of named tuples of these names; `None` if it says the types of its fields.
fn asks_for_names(asked: &Applied, names: &[&str]) -> Option<bool> {
    let Some(wanted) = asked.parameters.first() else { return Some(true) };
    let wanted = split_depth_0(wanted.strip_prefix('(')?.strip_suffix(')')?, ',')?;
    let wanted = wanted.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let same = wanted.map(|name| name.trim_start_matches(':')).eq(names.iter().copied());
    let open = asked.parameters.get(1).is_none_or(|types| asked.variables.iter().any(|(name, _)| name == types));
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
    let Type::Named(text) = ty else { return None };
    let asked = Applied::of(text)?;
    let is_free = |name: &str| asked.variables.iter().any(|(variable, bound)| variable == name && bound.is_none());
    match (last_part(&asked.base), asked.parameters.as_slice()) {
        ("NTuple", [count, element]) if is_free(count) => Some((Vec::new(), Type::parse(element))),
        ("Tuple", [first @ .., rest]) => {
            let rest = Applied::of(rest).filter(|rest| rest.base == "Vararg")?;
            let open = |count: &String| is_free(count) || rest.variables.iter().any(|(variable, _)| variable == count);
            let element = match rest.parameters.as_slice() {
                [] => Type::Any,
                [element] => Type::parse(element),
                [element, count] if open(count) => Type::parse(element),
                _ => return None,
            };
            Some((first.iter().map(|ty| Type::parse(ty)).collect(), element))
        }
        _ => None,
    }
}

/// A name with parameters, and the variables that stand among these with what is above them.
#[derive(Clone, Debug)]
struct Applied {
    base: String,
    parameters: Vec<String>,
    variables: Vec<(String, Option<String>)>,
}

impl Applied {
    /// What a text names; `None` if it is of another form.
    fn of(text: &str) -> Option<Applied> {
        let mut variables = Vec::new();
        let (text, mut declared) = parted(text.trim(), " where ");
        while let Some(rest) = declared {
            let (here, further) = parted(rest, " where ");
            let here = here.trim();
            let here = here.strip_prefix('{').and_then(|all| all.strip_suffix('}')).unwrap_or(here);
            for variable in split_depth_0(here, ',')? {
                let (name, bound) = parted(variable, "<:");
                variables.push((name.trim().to_string(), bound.map(|bound| bound.trim().to_string())));
            }
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
        Some(match ALIASES.iter().find(|(alias, _)| *alias == last_part(&applied.base)) {
            Some((_, meant)) => applied.within(meant)?,
            None => applied,
        })
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
}

/// The parameter that is any.
const FREE: &str = "_";

/// What is above a type of the library.
fn of_library(given: &Applied) -> Option<Vec<Applied>> {
    if given.base.starts_with("typeof(") {
        return Applied::of("Function").map(|function| vec![function]);
    }
    let name = last_part(&given.base);
    // A type of the program's own may be called so, too.
    if given.base.starts_with("Main.") {
        return None;
    }
    let (_, above) = OF_LIBRARY.iter().find(|(names, _)| names.contains(&name))?;
    above.iter().map(|template| given.within(template)).collect()
}

/// Whether the parameters of a type are such as are asked for.
fn parameters_fit(given: &Applied, asked: &Applied) -> Option<bool> {
    let mut answers = Vec::with_capacity(asked.parameters.len());
    for (wanted, given) in asked.parameters.iter().zip(&given.parameters) {
        let variable = asked.variables.iter().find(|(name, _)| name == wanted);
        let bound = match variable {
            Some((_, bound)) => Some(bound.as_deref()),
            None if wanted == FREE => Some(None),
            None => wanted.strip_prefix("<:").map(Some),
        };
        answers.push(match bound {
            Some(None) => Some(true),
            _ if given == FREE => None,
            Some(Some(bound)) => is_below(&Type::parse(given), None, &Type::parse(bound.trim())),
            None => Some(is_same(given, wanted, NESTING)),
        });
    }
    // Of parameters that are not known, free ones ask for nothing.
    let asks = |wanted: &String| wanted != FREE && !asked.variables.contains(&(wanted.clone(), None));
    answers.extend(asked.parameters.iter().skip(given.parameters.len()).filter(|wanted| asks(wanted)).map(|_| None));
    match answers.contains(&Some(false)) {
        true => Some(false),
        false => answers.iter().all(Option::is_some).then_some(true),
    }
}

/// As deep as parameters are looked into, which may come from anywhere.
const NESTING: usize = 16;

/// Whether two texts of parameters are of the same type, or the same number.
fn is_same(a: &str, b: &str, nesting: usize) -> bool {
    if a == b || Type::parse(a) == Type::parse(b) {
        return true;
    }
    match (Applied::of(a), Applied::of(b)) {
        (Some(a), Some(b)) if nesting > 0 => {
            is_one_name(&a.base, &b.base)
                && a.parameters.len() == b.parameters.len()
                && a.parameters.iter().zip(&b.parameters).all(|(a, b)| is_same(a, b, nesting - 1))
        }
        _ => false,
    }
}

/// Whether two names are of one thing: one may have more of the modules before it.
fn is_one_name(a: &str, b: &str) -> bool {
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
        ] {
            assert_eq!(below(given, asked), Some(true), "{given}, {asked}");
        }
        for (given, asked) in [
            ("Float64", "Integer"),
            ("Complex{Float64}", "Real"),
            ("Complex{Float64}", "Complex{T} where T<:Integer"),
            ("Array{Float64,2}", "AbstractVector"),
            ("Array{Float64,1}", "Array{Real,1}"),
            ("Array{Float64,1}", "Array{T,1} where T<:Integer"),
            ("Dict{Symbol,Int64}", "AbstractArray"),
            ("Nothing", "Number"),
            ("@NamedTuple{a::Float64}", "NamedTuple{(:a, :b),T} where T<:Tuple"),
            ("Main.Circle{Float64}", "Main.Circle{Int64}"),
        ] {
            assert_eq!(below(given, asked), Some(false), "{given}, {asked}");
        }
        // A type of the program's own, even where it is called as one of the library, and a union with a name.
        for (given, asked) in
            [("Main.Circle{Float64}", "Main.Shape"), ("Main.Set{Int64}", "Number"), ("Float64", "Base.IEEEFloat")]
        {
            assert_eq!(below(given, asked), None, "{given}, {asked}");
        }
    }
}
