//! Words that mean something by themselves.

use half::f16;

use crate::constant::Constant;
use crate::scalar::Scalar;

/// Words that stand for a value.
pub(super) fn word(name: &str) -> Option<Constant> {
    Some(match name {
        "nothing" => Constant::Nothing,
        "true" => Constant::bool(true),
        "false" => Constant::bool(false),
        "missing" => Constant::Text("missing".into()),
        "Inf" => Constant::float64(f64::INFINITY),
        "NaN" => Constant::float64(f64::NAN),
        "Inf32" => Constant::Scalar(Scalar::Float32(f32::INFINITY)),
        "NaN32" => Constant::Scalar(Scalar::Float32(f32::NAN)),
        "Inf16" => Constant::Scalar(Scalar::Float16(f16::INFINITY)),
        "NaN16" => Constant::Scalar(Scalar::Float16(f16::NAN)),
        _ => return None,
    })
}

/// Types of Julia's Base and of the packages that come with it that bbkit does not compute with, but that stand bare
/// among the operands of printed code. In alphabetical order.
#[rustfmt::skip]
const TYPES: &[&str] = &[
    "AbstractArray", "AbstractChannel", "AbstractChar", "AbstractDict", "AbstractDisplay", "AbstractFloat",
    "AbstractIrrational", "AbstractMatrix", "AbstractRNG", "AbstractRange", "AbstractSet", "AbstractSparseArray",
    "AbstractSparseMatrix", "AbstractSparseVector", "AbstractString", "AbstractUnitRange", "AbstractVecOrMat",
    "AbstractVector", "Adjoint", "AnnotatedString", "ArgumentError", "Array", "AssertionError", "AtomicMemory",
    "AtomicMemoryRef", "Bidiagonal", "BigFloat", "BigInt", "BitArray", "BitMatrix", "BitSet", "BitVector", "Bottom",
    "BoundsError", "BunchKaufman", "CapturedException", "CartesianIndex", "CartesianIndices", "Channel", "Cholesky",
    "CholeskyPivoted", "Cmd", "Colon", "Complex", "ComplexF16", "ComplexF32", "ComplexF64", "ComposedFunction",
    "CompositeException", "ConcurrencyViolationError", "Condition", "DataType", "DateFormat", "DatePeriod",
    "DateTime", "DenseArray", "DenseMatrix", "DenseVecOrMat", "DenseVector", "Diagonal", "Dict", "DimensionMismatch",
    "Dims", "DivideError", "DomainError", "EOFError", "Eigen", "Enum", "ErrorException", "Exception",
    "ExponentialBackOff", "Expr", "Factorization", "FieldError", "Function", "GeneralizedEigen", "GeneralizedSVD",
    "GeneralizedSchur", "GenericMemory", "GenericMemoryRef", "GlobalRef", "Hermitian", "Hessenberg", "IO", "IOBuffer",
    "IOContext", "IOStream", "IdDict", "IndexCartesian", "IndexLinear", "IndexStyle", "InexactError", "InitError",
    "Int", "Integer", "InterruptException", "InvalidStateException", "Irrational", "KeyError", "LAPACKException",
    "LinRange", "LineNumberNode", "LinearIndices", "LoadError", "Lockable", "LowerTriangular", "MIME", "Matrix",
    "Memory", "MemoryRef", "MersenneTwister", "Method", "MethodError", "Missing", "MissingException", "Module",
    "NTuple", "NamedTuple", "Number", "OrdinalRange", "OutOfMemoryError", "OverflowError", "Pair", "PartialQuickSort",
    "PermutedDimsArray", "Pipe", "PosDefException", "ProcessFailedException", "Ptr", "QRPivoted", "QuoteNode",
    "RandomDevice", "RankDeficientException", "Rational", "RawFD", "ReadOnlyMemoryError", "Real", "ReentrantLock",
    "Ref", "Regex", "RegexMatch", "RoundingMode", "SegmentationFault", "Set", "Signed", "SingularException", "Some",
    "SparseMatrixCSC", "SparseVector", "StackOverflowError", "StepRange", "StepRangeLen", "StridedArray",
    "StridedMatrix", "StridedVecOrMat", "StridedVector", "StringIndexError", "SubArray", "SubString",
    "SubstitutionString", "SymTridiagonal", "Symmetric", "SystemError", "Task", "TaskFailedException", "TextDisplay",
    "TimePeriod", "TimeType", "TimeZone", "Timer", "Transpose", "Tridiagonal", "Tuple", "Type", "TypeError",
    "TypeVar", "UInt", "UndefInitializer", "UndefKeywordError", "UndefRefError", "UndefVarError", "UniformScaling",
    "Union", "UnionAll", "UnitLowerTriangular", "UnitRange", "UnitUpperTriangular", "Unsigned", "UpperHessenberg",
    "UpperTriangular", "Val", "Vararg", "VecElement", "VecOrMat", "Vector", "VersionNumber", "WeakKeyDict", "WeakRef",
    "ZeroPivotException",
];

/// These names.
pub(super) fn known_type_names() -> &'static [&'static str] {
    TYPES
}

/// Whether a name that stands bare among operands is that of a type of Julia.
pub(crate) fn is_known_type_name(name: &str) -> bool {
    TYPES.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_halves() {
        assert!(TYPES.is_sorted());
    }
}
