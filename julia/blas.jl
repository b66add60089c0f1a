# BLAS, as loops. Sums are taken from the first element to the last.

"For `LinearAlgebra.BLAS`."
module BLAS

const RealFloat = Union{Float32,Float64}
const Float = Union{RealFloat,ComplexF32,ComplexF64}

"The first index, where a vector is gone through in such steps: backwards from its end, if they are negative."
first_index(n, step) = step < 0 ? 1 - (n - 1) * step : 1

"How far elements lie from each other in memory."
distance(x::AbstractArray) = 1
distance(x::SubArray{<:Any,1}) = stride(x, 1)

"By how many elements such a step in memory goes on."
elements(x::AbstractArray, step) = div(step, distance(x))

agree(condition) = condition || throw(DimensionMismatch("the dimensions of the operands do not agree"))

for (name, element, conjugate) in ((:dot, :RealFloat, :identity), (:dotu, :Float, :identity), (:dotc, :Float, :conj))
    @eval function $name(n::Integer, x::AbstractArray{T}, incx::Integer, y::AbstractArray{T}, incy::Integer) where {T<:$element}
        incx, incy = elements(x, incx), elements(y, incy)
        sum, i, j = zero(T), first_index(n, incx), first_index(n, incy)
        for _ in 1:n
            sum += $conjugate(x[i]) * y[j]
            i += incx
            j += incy
        end
        return sum
    end
    @eval function $name(x::AbstractArray{T}, y::AbstractArray{T}) where {T<:$element}
        agree(length(x) == length(y))
        return $name(length(x), x, distance(x), y, distance(y))
    end
end

function asum(n::Integer, x::AbstractArray{T}, incx::Integer) where {T<:Float}
    incx = elements(x, incx)
    sum, i = zero(real(T)), first_index(n, incx)
    for _ in 1:n
        sum += abs(real(x[i])) + abs(imag(x[i]))
        i += incx
    end
    return sum
end
asum(x::AbstractArray{<:Float}) = asum(length(x), x, distance(x))

"Scaled by the largest element where the squares are too large or too small."
function nrm2(n::Integer, x::AbstractArray{T}, incx::Integer) where {T<:Float}
    incx = elements(x, incx)
    squares, i = zero(real(T)), first_index(n, incx)
    for _ in 1:n
        squares += abs2(x[i])
        i += incx
    end
    isfinite(squares) && squares > n * floatmin(real(T)) && return sqrt(squares)
    largest, i = zero(real(T)), first_index(n, incx)
    for _ in 1:n
        largest = max(largest, abs(x[i]))
        i += incx
    end
    (iszero(largest) || !isfinite(largest)) && return largest
    squares, i = zero(real(T)), first_index(n, incx)
    for _ in 1:n
        squares += abs2(x[i] / largest)
        i += incx
    end
    return largest * sqrt(squares)
end
nrm2(x::AbstractArray{<:Float}) = nrm2(length(x), x, distance(x))

function scal!(n::Integer, a::Number, x::AbstractArray{<:Float}, incx::Integer)
    incx = elements(x, incx)
    i = first_index(n, incx)
    for _ in 1:n
        x[i] = a * x[i]
        i += incx
    end
    return x
end
scal!(a::Number, x::AbstractArray{<:Float}) = scal!(length(x), a, x, distance(x))

function axpy!(n::Integer, a::Number, x::AbstractArray{T}, incx::Integer, y::AbstractArray{T}, incy::Integer) where {T<:Float}
    incx, incy = elements(x, incx), elements(y, incy)
    i, j = first_index(n, incx), first_index(n, incy)
    for _ in 1:n
        y[j] += a * x[i]
        i += incx
        j += incy
    end
    return y
end
function axpy!(a::Number, x::AbstractArray{T}, y::AbstractArray{T}) where {T<:Float}
    agree(length(x) == length(y))
    return axpy!(length(x), a, x, distance(x), y, distance(y))
end

function axpby!(n::Integer, a::Number, x::AbstractArray{T}, incx::Integer, b::Number, y::AbstractArray{T}, incy::Integer) where {T<:Float}
    incx, incy = elements(x, incx), elements(y, incy)
    i, j = first_index(n, incx), first_index(n, incy)
    for _ in 1:n
        y[j] = a * x[i] + b * y[j]
        i += incx
        j += incy
    end
    return y
end
function axpby!(a::Number, x::AbstractArray{T}, b::Number, y::AbstractArray{T}) where {T<:Float}
    agree(length(x) == length(y))
    return axpby!(length(x), a, x, distance(x), b, y, distance(y))
end

"Whether a matrix is taken as it is, transposed or adjoint: other ways to read it are not here."
known_form(trans) = trans in ('N', 'T', 'C') || throw(ArgumentError("this product is not written as loops"))

"Multiplies by `beta` what the product is added to: also by 0 and 1, as there may be a derivative with respect to `beta`."
function scale_result!(beta, y)
    for i in 1:length(y)
        y[i] = multiplied(beta, y[i])
    end
    return nothing
end

# New arrays of complex numbers hold nothing yet that could be multiplied.
function scale_result!(beta, y::AbstractArray{<:Complex})
    for i in 1:length(y)
        y[i] = iszero(beta) ? zero(eltype(y)) : beta * y[i]
    end
    return nothing
end

"A product, in which zero makes zero of infinities and NaN, too: of what is not looked at."
multiplied(beta, y) = iszero(beta) && !isfinite(y) ? zero(y) : beta * y

function gemv!(trans::AbstractChar, alpha::Number, A::AbstractVecOrMat{T}, x::AbstractVector{T}, beta::Number, y::AbstractVector{T}) where {T<:Float}
    known_form(trans)
    m, n = size(A, 1), size(A, 2)
    agree(trans == 'N' ? length(x) == n && length(y) == m : length(x) == m && length(y) == n)
    scale_result!(beta, y)
    if trans == 'N'
        for j in 1:n
            scaled = alpha * x[j]
            for i in 1:m
                y[i] += A[i, j] * scaled
            end
        end
    else
        for j in 1:n
            sum = zero(T)
            if trans == 'T' || T <: Real
                for i in 1:m
                    sum += A[i, j] * x[i]
                end
            else
                for i in 1:m
                    sum += conj(A[i, j]) * x[i]
                end
            end
            y[j] += alpha * sum
        end
    end
    return y
end

"The product with a symmetric matrix, of which one triangle is read."
function symv!(uplo::AbstractChar, alpha::Number, A::AbstractMatrix{T}, x::AbstractVector{T}, beta::Number, y::AbstractVector{T}) where {T<:Float}
    n = length(x)
    agree(size(A) == (n, n) && length(y) == n)
    scale_result!(beta, y)
    for j in 1:n
        scaled, sum = alpha * x[j], zero(T)
        for i in (uplo == 'U' ? (1:j-1) : (j+1:n))
            y[i] += A[i, j] * scaled
            sum += A[i, j] * x[i]
        end
        y[j] += A[j, j] * scaled + alpha * sum
    end
    return y
end

"The product with a symmetric or a Hermitian matrix from the left or from the right, of which one triangle is read."
function symm!(side::AbstractChar, uplo::AbstractChar, alpha::Number, A::AbstractMatrix{T}, B::AbstractMatrix{T}, beta::Number, C::AbstractMatrix{T}) where {T<:Float}
    mirrored!(identity, identity, side, uplo, alpha, A, B, beta, C)
end
function hemm!(side::AbstractChar, uplo::AbstractChar, alpha::Number, A::AbstractMatrix{T}, B::AbstractMatrix{T}, beta::Number, C::AbstractMatrix{T}) where {T<:Float}
    mirrored!(conj, real, side, uplo, alpha, A, B, beta, C)
end
function mirrored!(beyond, diagonal, side, uplo, alpha, A, B, beta, C)
    m, n = size(C)
    agree(size(A) == (side == 'L' ? (m, m) : (n, n)) && size(B) == (m, n))
    at(i, j) = i == j ? diagonal(A[i, j]) : (i < j) == (uplo == 'U') ? A[i, j] : beyond(A[j, i])
    scale_result!(beta, C)
    for j in 1:n, i in 1:m
        sum = zero(eltype(C))
        for k in 1:size(A, 1)
            sum += side == 'L' ? at(i, k) * B[k, j] : B[i, k] * at(k, j)
        end
        C[i, j] += alpha * sum
    end
    return C
end

"The cosine and the sine of the rotation that takes `g` out of the vector of `f` and `g`, and what that leaves: on the axes as elsewhere."
function rotation(f::T, g::T) where {T<:RealFloat}
    length = hypot(f, g)
    iszero(length) && return one(T), zero(T), f
    flipped = abs(f) > abs(g) ? f < 0 : iszero(f) && g < 0
    r = flipped ? -length : length
    return f / r, g / r, r
end

# An element of a matrix, or of its transpose or adjoint.
element(trans, A::AbstractVecOrMat{<:Real}, i, j) = trans == 'N' ? A[i, j] : A[j, i]
element(trans, A, i, j) = trans == 'N' ? A[i, j] : trans == 'T' ? A[j, i] : conj(A[j, i])

function gemm!(transA::AbstractChar, transB::AbstractChar, alpha::Number, A::AbstractVecOrMat{T}, B::AbstractVecOrMat{T}, beta::Number, C::AbstractVecOrMat{T}) where {T<:Float}
    known_form(transA)
    known_form(transB)
    m, inner = transA == 'N' ? (size(A, 1), size(A, 2)) : (size(A, 2), size(A, 1))
    other, n = transB == 'N' ? (size(B, 1), size(B, 2)) : (size(B, 2), size(B, 1))
    agree(inner == other && m == size(C, 1) && n == size(C, 2))
    scale_result!(beta, C)
    if transA == 'N'
        for j in 1:n, k in 1:inner
            scaled = alpha * element(transB, B, k, j)
            for i in 1:m
                C[i, j] += A[i, k] * scaled
            end
        end
    else
        for j in 1:n, i in 1:m
            sum = zero(T)
            for k in 1:inner
                sum += element(transA, A, i, k) * element(transB, B, k, j)
            end
            C[i, j] += alpha * sum
        end
    end
    return C
end

"The product of matrices whose elements need not be of one type. What it is added to is not looked at where `beta` is zero: there may be nothing yet."
function product!(transA, transB, alpha, A, B, beta, C)
    known_form(transA)
    known_form(transB)
    m, inner = transA == 'N' ? (size(A, 1), size(A, 2)) : (size(A, 2), size(A, 1))
    other, n = transB == 'N' ? (size(B, 1), size(B, 2)) : (size(B, 2), size(B, 1))
    agree(inner == other && m == size(C, 1) && n == size(C, 2))
    for j in 1:n, i in 1:m
        sum = zero(eltype(A)) * zero(eltype(B))
        sum += sum
        for k in 1:inner
            sum += element(transA, A, i, k) * element(transB, B, k, j)
        end
        C[i, j] = iszero(beta) ? alpha * sum : alpha * sum + beta * C[i, j]
    end
    return C
end

function ger!(alpha::Number, x::AbstractVector{T}, y::AbstractVector{T}, A::AbstractMatrix{T}) where {T<:Float}
    agree(size(A) == (length(x), length(y)))
    for j in 1:length(y)
        scaled = alpha * conj(y[j])
        for i in 1:length(x)
            A[i, j] += x[i] * scaled
        end
    end
    return A
end

"One triangle of `alpha * A * transpose(A) + beta * C`, or of the product the other way round."
function syrk!(uplo::AbstractChar, trans::AbstractChar, alpha::Number, A::AbstractVecOrMat{T}, beta::Number, C::AbstractMatrix{T}) where {T<:Float}
    n, inner = trans == 'N' ? (size(A, 1), size(A, 2)) : (size(A, 2), size(A, 1))
    agree(size(C) == (n, n))
    for j in 1:n, i in (uplo == 'U' ? (1:j) : (j:n))
        sum = zero(T)
        for k in 1:inner
            sum += trans == 'N' ? A[i, k] * A[j, k] : A[k, i] * A[k, j]
        end
        C[i, j] = alpha * sum + multiplied(beta, C[i, j])
    end
    return C
end

"Whether a triangular matrix, taken as it is or transposed, is an upper one."
is_upper(uplo, trans) = (uplo == 'U') == (trans == 'N')

"Multiplies a column by a triangular matrix, in its place."
function multiply_triangular!(uplo, trans, diag, A::AbstractMatrix{T}, B, column) where {T}
    n = size(A, 1)
    upper = is_upper(uplo, trans)
    for step in 1:n
        i = upper ? step : n + 1 - step
        sum = diag == 'U' ? B[i, column] : element(trans, A, i, i) * B[i, column]
        for j in (upper ? (i+1:n) : (1:i-1))
            sum += element(trans, A, i, j) * B[j, column]
        end
        B[i, column] = sum
    end
    return nothing
end

function trmv!(uplo::AbstractChar, trans::AbstractChar, diag::AbstractChar, A::AbstractMatrix{T}, x::AbstractVector{T}) where {T<:Float}
    agree(size(A, 1) == size(A, 2) == length(x))
    multiply_triangular!(uplo, trans, diag, A, x, 1)
    return x
end

"The product with a triangular matrix from the left or from the right, in the place of the other matrix."
function trmm!(side::AbstractChar, uplo::AbstractChar, trans::AbstractChar, diag::AbstractChar, alpha::Number, A::AbstractMatrix{T}, B::AbstractMatrix{T}) where {T<:Float}
    m, n = size(B)
    agree(size(A, 1) == size(A, 2) == (side == 'L' ? m : n))
    if side == 'L'
        for column in 1:n
            multiply_triangular!(uplo, trans, diag, A, B, column)
        end
    else
        upper = is_upper(uplo, trans)
        for step in 1:n, i in 1:m
            j = upper ? n + 1 - step : step
            sum = diag == 'U' ? B[i, j] : B[i, j] * element(trans, A, j, j)
            for k in (upper ? (1:j-1) : (j+1:n))
                sum += B[i, k] * element(trans, A, k, j)
            end
            B[i, j] = sum
        end
    end
    scale_result!(alpha, B)
    return B
end

"Solves systems with a triangular matrix on the left or on the right, in the place of the other matrix."
function trsm!(side::AbstractChar, uplo::AbstractChar, trans::AbstractChar, diag::AbstractChar, alpha::Number, A::AbstractMatrix{T}, B::AbstractMatrix{T}) where {T<:Float}
    m, n = size(B)
    agree(size(A, 1) == size(A, 2) == (side == 'L' ? m : n))
    scale_result!(alpha, B)
    if side == 'L'
        for column in 1:n
            solve_triangular!(uplo, trans, diag, A, B, column)
        end
    else
        upper = is_upper(uplo, trans)
        for step in 1:n, i in 1:m
            j = upper ? step : n + 1 - step
            sum = B[i, j]
            for k in (upper ? (1:j-1) : (j+1:n))
                sum -= B[i, k] * element(trans, A, k, j)
            end
            B[i, j] = diag == 'U' ? sum : sum / element(trans, A, j, j)
        end
    end
    return B
end

"Solves `A x = b` for a triangular matrix, in the place of `b`."
function trsv!(uplo::AbstractChar, trans::AbstractChar, diag::AbstractChar, A::AbstractMatrix{T}, x::AbstractVector{T}) where {T<:Float}
    agree(size(A, 1) == size(A, 2) == length(x))
    solve_triangular!(uplo, trans, diag, A, x, 1)
    return x
end

"Solves a triangular system for one column."
function solve_triangular!(uplo, trans, diag, A::AbstractMatrix{T}, B, column) where {T}
    n = size(A, 1)
    upper = is_upper(uplo, trans)
    for step in 1:n
        i = upper ? n + 1 - step : step
        sum = B[i, column]
        for j in (upper ? (i+1:n) : (1:i-1))
            sum -= element(trans, A, i, j) * B[j, column]
        end
        B[i, column] = diag == 'U' ? sum : sum / element(trans, A, i, i)
    end
    return nothing
end

end
