# Functions that call BLAS or LAPACK, without these.

include("blas.jl")
include("lapack.jl")
include("matrix_exponential.jl")
include("symmetric.jl")

"For `LinearAlgebra` itself: what leads to BLAS and LAPACK, where Julia has that inlined, and chooses between methods when it runs."
module LinearAlgebra

using ..BLAS: BLAS, Float, RealFloat, agree
using ..LAPACK: LAPACK
using ..MatrixExponential: MatrixExponential
using ..SymmetricFunctions: SymmetricFunctions
using ..Portable: Ascending, Cholesky, Eigen, Flipped, LU, PosDefException, QRCompactWY, RealSymmetric, SingularException, Symmetric, symmetric

norm1(x::Array{<:Float}) = BLAS.asum(x)
norm2(x::Array{<:Float}) = BLAS.nrm2(x)

gemv!(y::AbstractVector{T}, transA::AbstractChar, A::AbstractVecOrMat{T}, x::AbstractVector{T}, alpha::Number, beta::Number) where {T<:Float} =
    BLAS.gemv!(transA, convert(T, alpha), A, x, convert(T, beta), y)
gemv!(y::AbstractVector{T}, transA::AbstractChar, A::AbstractVecOrMat{T}, x::AbstractVector{T}) where {T<:Float} =
    BLAS.gemv!(transA, one(T), A, x, zero(T), y)

gemm_wrapper!(C::AbstractVecOrMat{T}, transA::AbstractChar, transB::AbstractChar, A::AbstractVecOrMat{T}, B::AbstractVecOrMat{T}, alpha::Number, beta::Number) where {T<:Float} =
    BLAS.gemm!(transA, transB, convert(T, alpha), A, B, convert(T, beta), C)
gemm_wrapper!(C::AbstractVecOrMat{T}, transA::AbstractChar, transB::AbstractChar, A::AbstractVecOrMat{T}, B::AbstractVecOrMat{T}, add) where {T<:Float} =
    gemm_wrapper!(C, transA, transB, A, B, add.alpha, add.beta)

# Complex numbers times real ones, of which Julia takes the complex ones as twice as many real ones.
const AsReal{T} = Base.ReinterpretArray{T,N,Complex{T}} where {N}
function gemv!(y::AsReal{T}, transA::AbstractChar, A::AsReal{T}, x::AbstractVector{T}, alpha::Number, beta::Number) where {T<:RealFloat}
    BLAS.product!(transA, 'N', alpha, parent(A), x, beta, parent(y))
    return y
end
function gemm_wrapper!(C::AsReal{T}, transA::AbstractChar, transB::AbstractChar, A::AsReal{T}, B::AbstractVecOrMat{T}, add) where {T<:RealFloat}
    BLAS.product!(transA, transB, add.alpha, parent(A), B, add.beta, parent(C))
    return C
end

# Elements of other types.
_generic_matmatmul!(C::AbstractVecOrMat{<:Number}, transA::AbstractChar, transB::AbstractChar, A::AbstractVecOrMat{<:Number}, B::AbstractVecOrMat{<:Number}, add) =
    BLAS.product!(transA, transB, add.alpha, A, B, add.beta, C)

for (name, transposed) in ((:syrk_wrapper!, 'T'), (:herk_wrapper!, 'C'))
    @eval $name(C::AbstractMatrix{T}, trans::AbstractChar, A::AbstractVecOrMat{T}, alpha::Number, beta::Number) where {T<:Float} =
        gemm_wrapper!(C, trans, trans == 'N' ? $transposed : 'N', A, A, alpha, beta)
    @eval $name(C::AbstractMatrix{T}, trans::AbstractChar, A::AbstractVecOrMat{T}, add) where {T<:Float} =
        $name(C, trans, A, add.alpha, add.beta)
end

# The functions that have keywords, with these before the function itself.
function lu!(check::Bool, _, A::Matrix{T}, ::Val{true}) where {T<:Float}
    factors, pivots, info = LAPACK.getrf!(A)
    check && info > 0 && throw(SingularException(info))
    return LU{T,Matrix{T}}(factors, pivots, info)
end
# The factors of `lu` one by one: where the code names one, only that is made (`part_of_factors`).
part_of(::Val{:L}, F::LU{T,Matrix{T}}) where {T<:Float} =
    [i == j ? one(T) : i > j ? F.factors[i, j] : zero(T) for i in 1:size(F.factors, 1), j in 1:minimum(size(F.factors))]
part_of(::Val{:U}, F::LU{T,Matrix{T}}) where {T<:Float} =
    [i <= j ? F.factors[i, j] : zero(T) for i in 1:minimum(size(F.factors)), j in 1:size(F.factors, 2)]
function part_of(::Val{:p}, F::LU{T,Matrix{T}}) where {T<:Float}
    p = collect(1:size(F.factors, 1))
    for (i, j) in enumerate(F.ipiv)
        p[i], p[j] = p[j], p[i]
    end
    return p
end
function part_of(::Val{:P}, F::LU{T,Matrix{T}}) where {T<:Float}
    p = part_of(Val(:p), F)
    return [p[i] == j ? one(T) : zero(T) for i in 1:length(p), j in 1:length(p)]
end

function cholesky!(check::Bool, _, A::Symmetric, ::Val{false})
    factors, info = LAPACK.potrf!(A.uplo, A.data)
    check && info > 0 && throw(PosDefException(info))
    return Cholesky{eltype(factors),typeof(factors)}(factors, A.uplo, info)
end

qr!(blocksize::Int, _, A::Matrix{T}, ::Val{false}) where {T<:RealFloat} =
    QRCompactWY{T,Matrix{T}}(LAPACK.geqrt!(A, min(size(A, 1), size(A, 2), blocksize))...)

"The factors of a square matrix, and where its rows went."
function factorized(A::Matrix{T}) where {T<:Float}
    agree(size(A, 1) == size(A, 2))
    return LAPACK.getrf!(copy(A))
end

function checked_factors(A::Matrix)
    factors, pivots, info = factorized(A)
    info == 0 || throw(SingularException(info))
    return factors, pivots
end

"The solution of a linear system: where the matrix is not square, that of least squares, or the shortest one. Its rank must be full then."
function (\)(A::Matrix{T}, b::VecOrMat{T}) where {T<:Float}
    if size(A, 1) == size(A, 2)
        factors, pivots = checked_factors(A)
        return LAPACK.getrs!('N', factors, pivots, copy(b))
    end
    return least_squares(A, b)
end

const Whole = Union{Bool,Int32,Int64}
(\)(A::Matrix{<:Whole}, b::VecOrMat{<:Union{Whole,RealFloat}}) = as_floats(A, b) \ as_floats(b, A)
(\)(A::Matrix{<:RealFloat}, b::VecOrMat{<:Whole}) = A \ as_floats(b, A)
as_floats(A, B) = convert(Array{float(promote_type(eltype(A), eltype(B))),ndims(A)}, A)

"The elements in an array of their own."
dense(A::Array) = A
function dense(A::AbstractVecOrMat{T}) where {T}
    elements = Array{T}(undef, size(A)...)
    for i in CartesianIndices(A)
        elements[i] = A[i]
    end
    return elements
end

const NotDense{T} = Union{Flipped{T},SubArray{T,2}}
(\)(A::NotDense{T}, b::Union{VecOrMat{T},NotDense{T},SubArray{T}}) where {T<:Float} = dense(A) \ dense(b)
(\)(A::Matrix{T}, b::Union{NotDense{T},SubArray{T}}) where {T<:Float} = A \ dense(b)
(/)(A::Union{Matrix{T},NotDense{T}}, B::Union{Matrix{T},NotDense{T}}) where {T<:Float} =
    permutedims(permutedims(dense(B)) \ permutedims(dense(A)))

# Julia does this with the singular values, and looks for diagonal matrices.
function pinv(atol::Real, rtol::Real, _, A::Union{Matrix{T},NotDense{T}}) where {T<:RealFloat}
    whole = dense(A)
    m, n = size(whole)
    if iszero(atol) && is_of_full_rank(whole)
        return m == n ? inv(whole) : least_squares(whole, LAPACK.identity_matrix(T, m))
    end
    left, values, right = LAPACK.gesdd!('S', whole)
    least = max(rtol * (isempty(values) ? zero(T) : values[1]), atol)
    for i in 1:length(values)
        left[:, i] .*= values[i] > least ? Base.inv(values[i]) : zero(T)
    end
    return permutedims(right) * permutedims(left)
end

"Whether no singular value is next to nothing, as far as a triangle of a factorization tells."
function is_of_full_rank(A::Matrix{T}) where {T<:RealFloat}
    m, n = size(A)
    factors, _ = LAPACK.householder!(m >= n ? copy(A) : permutedims(A), min(m, n), true)
    least, largest = extremes_of_diagonal(factors)
    return least > Base.sqrt(eps(T)) * largest
end
function extremes_of_diagonal(A::Matrix{T}) where {T}
    least, largest = T(Inf), zero(T)
    for i in 1:min(size(A, 1), size(A, 2))
        least, largest = min(least, abs(A[i, i])), max(largest, abs(A[i, i]))
    end
    return least, largest
end

least_squares(A::Matrix{<:Complex}, b) = throw(ArgumentError("only least squares of real numbers are written as loops"))
function least_squares(A::Matrix{T}, b::VecOrMat{T}) where {T<:Real}
    m, n = size(A)
    agree(m == size(b, 1))
    tall = m > n
    factors, triangles = LAPACK.householder!(tall ? copy(A) : permutedims(A), min(m, n), true)
    least, largest = extremes_of_diagonal(factors)
    least > min(m, n) * eps(T) * largest || throw(ArgumentError("only systems of full rank are written as loops"))
    columns = zeros(T, max(m, n), size(b, 2))
    for column in 1:size(b, 2), i in 1:m
        columns[i, column] = b[i, column]
    end
    tall && LAPACK.gemqrt!('L', 'T', factors, triangles, columns)
    triangle = factors[1:min(m, n), 1:min(m, n)]
    for column in 1:size(b, 2)
        BLAS.solve_triangular!('U', tall ? 'N' : 'T', 'N', triangle, columns, column)
    end
    tall || LAPACK.gemqrt!('L', 'N', factors, triangles, columns)
    return b isa Vector ? columns[1:n, 1] : columns[1:n, :]
end

function inv(A::Matrix{T}) where {T<:Float}
    factors, pivots = checked_factors(A)
    n = size(A, 1)
    columns = zeros(T, n, n)
    for i in 1:n
        columns[i, i] = one(T)
    end
    return LAPACK.getrs!('N', factors, pivots, columns)
end

function det(A::Matrix{T}) where {T<:Float}
    factors, pivots, info = factorized(A)
    # Of a singular matrix, too: its determinant has a derivative.
    0 < info < length(pivots) && return LAPACK.singular_det!(copy(A))
    product = one(T)
    for i in 1:length(pivots)
        product *= pivots[i] == i ? factors[i, i] : -factors[i, i]
    end
    # Zero has no sign there.
    return product + zero(T)
end

det(A::NotDense{<:Float}) = det(dense(A))
inv(A::SubArray{<:Float,2}) = inv(dense(A))

givensAlgorithm(f::T, g::T) where {T<:RealFloat} = BLAS.rotation(f, g)

# Without leaving out what zeros in `y` are multiplied by.
function dot(x::Vector{T}, A::Matrix{T}, y::Vector{T}) where {T<:Float}
    agree(size(A) == (length(x), length(y)))
    sum = zero(T)
    for j in 1:length(y)
        column = zero(T)
        for i in 1:length(x)
            column += conj(A[i, j]) * x[i]
        end
        sum += conj(column) * y[j]
    end
    return sum
end

exp!(A::Matrix{T}) where {T<:RealFloat} = MatrixExponential.exp!(A)

# What is called with a matrix of which all elements are given looks whether it is symmetric.
const AnySymmetric = Union{RealSymmetric,Matrix{<:RealFloat}}

exp(A::RealSymmetric) = SymmetricFunctions.exponential(A)
for (name, own) in (
    (:sin, :sine), (:cos, :cosine), (:tan, :tangent), (:sinh, :hyperbolic_sine), (:cosh, :hyperbolic_cosine), (:tanh, :hyperbolic_tangent),
    (:asin, :inverse_sine), (:acos, :inverse_cosine), (:atan, :inverse_tangent),
    (:asinh, :inverse_hyperbolic_sine), (:acosh, :inverse_hyperbolic_cosine), (:atanh, :inverse_hyperbolic_tangent),
)
    @eval $name(A::AnySymmetric) = SymmetricFunctions.$own(A)
end
sincos(A::AnySymmetric) = SymmetricFunctions.sine(A), SymmetricFunctions.cosine(A)
log(A::AnySymmetric) = SymmetricFunctions.logarithm(A)
sqrt(A::Matrix{<:RealFloat}) = SymmetricFunctions.root(A, eps(eltype(A)) * size(A, 1))
sqrt(rtol::Real, _, A::RealSymmetric) = SymmetricFunctions.root(A, rtol)
(^)(A::Matrix{<:RealFloat}, p::AbstractFloat) = isinteger(p) ? integer_power(A, Int(p)) : SymmetricFunctions.power(A, p)
(^)(A::RealSymmetric, p::AbstractFloat) = isinteger(p) ? symmetric(integer_power(dense(A), Int(p))) : SymmetricFunctions.power(A, p)
integer_power(A::Matrix, n) = n < 0 ? Base.power_by_squaring(inv(A), -n) : Base.power_by_squaring(A, n)

eigvals!(permute::Bool, scale::Bool, sortby::Ascending, _, A::Matrix{<:RealFloat}) = SymmetricFunctions.eigenvalues(A)
eigmax(permute::Bool, scale::Bool, _, A::Matrix{<:RealFloat}) = SymmetricFunctions.eigenvalues(A)[end]
eigmin(permute::Bool, scale::Bool, _, A::Matrix{<:RealFloat}) = SymmetricFunctions.eigenvalues(A)[1]
eigen(permute::Bool, scale::Bool, sortby::Ascending, _, A::Matrix{<:RealFloat}) = Eigen(SymmetricFunctions.eigen(A)...)

det(A::RealSymmetric) = det(dense(A))
(\)(A::RealSymmetric, b::VecOrMat) = dense(A) \ b

end
