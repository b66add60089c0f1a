# Functions that call BLAS or LAPACK, as loops. Sums are taken from the first element to the last.

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

"For `LinearAlgebra.LAPACK`."
module LAPACK

using ..BLAS: Float, RealFloat, agree, solve_triangular!
using ..Portable: SingularException

"An LU factorization with row exchanges, in the place of the matrix: the row that each column's pivot comes from, and the first column without one."
function getrf!(A::AbstractMatrix{T}) where {T<:Float}
    m, n = size(A)
    pivots, info = Vector{Int}(undef, min(m, n)), 0
    for k in 1:min(m, n)
        pivot = k
        for i in k+1:m
            if abs(A[i, k]) > abs(A[pivot, k])
                pivot = i
            end
        end
        pivots[k] = pivot
        if iszero(A[pivot, k])
            info == 0 && (info = k)
            continue
        end
        pivot == k || exchange_rows!(A, k, pivot)
        for i in k+1:m
            A[i, k] = A[i, k] / A[k, k]
        end
        for j in k+1:n, i in k+1:m
            A[i, j] -= A[i, k] * A[k, j]
        end
    end
    return A, pivots, info
end

function exchange_rows!(A, i, j)
    for column in 1:size(A, 2)
        upper, lower = A[i, column], A[j, column]
        A[i, column] = lower
        A[j, column] = upper
    end
    return nothing
end

"""
The determinant of a singular matrix, which is overwritten. The largest element that is left is the pivot, so that those that are zero come last: of
one, the determinant has the derivative of a product with it.
"""
function singular_det!(A::Matrix{T}) where {T}
    n = size(A, 1)
    product = one(T)
    for k in 1:n
        row, column = k, k
        for j in k:n, i in k:n
            if abs(A[i, j]) > abs(A[row, column])
                row, column = i, j
            end
        end
        row == k || exchange_rows!(A, k, row)
        column == k || exchange_columns!(k, column, A)
        pivot = A[k, k]
        product *= (row == k) == (column == k) ? pivot : -pivot
        iszero(pivot) && continue
        for j in k+1:n, i in k+1:n
            A[i, j] -= A[i, k] / pivot * A[k, j]
        end
    end
    return product + zero(T)
end

"Solves a system of which the matrix is factorized by `getrf!`."
function getrs!(trans::AbstractChar, A::AbstractMatrix{T}, pivots::AbstractVector{<:Integer}, B::AbstractVecOrMat{T}) where {T<:Float}
    n = size(A, 1)
    agree(size(A, 2) == n == size(B, 1) == length(pivots))
    if trans == 'N'
        for i in 1:n
            pivots[i] == i || exchange_rows!(B, i, pivots[i])
        end
    end
    for column in 1:size(B, 2)
        solve_triangular!(trans == 'N' ? 'L' : 'U', trans, trans == 'N' ? 'U' : 'N', A, B, column)
        solve_triangular!(trans == 'N' ? 'U' : 'L', trans, trans == 'N' ? 'N' : 'U', A, B, column)
    end
    if trans != 'N'
        for i in n:-1:1
            pivots[i] == i || exchange_rows!(B, i, pivots[i])
        end
    end
    return B
end

"Solves a system with a triangular matrix."
function trtrs!(uplo::AbstractChar, trans::AbstractChar, diag::AbstractChar, A::AbstractMatrix{T}, B::AbstractVecOrMat{T}) where {T<:Float}
    n = size(A, 1)
    agree(size(A, 2) == n == size(B, 1))
    if diag != 'U'
        for i in 1:n
            iszero(A[i, i]) && throw(SingularException(i))
        end
    end
    for column in 1:size(B, 2)
        solve_triangular!(uplo, trans, diag, A, B, column)
    end
    return B
end

"The inverse of a matrix that is factorized by `getrf!`, in its place."
function getri!(A::AbstractMatrix{T}, pivots::AbstractVector{<:Integer}) where {T<:Float}
    n = size(A, 1)
    columns = zeros(T, n, n)
    for i in 1:n
        columns[i, i] = one(T)
    end
    return copyto!(A, getrs!('N', copy(A), pivots, columns))
end

"The inverse of a triangular matrix, in its place."
function trtri!(uplo::AbstractChar, diag::AbstractChar, A::AbstractMatrix{T}) where {T<:Float}
    n = size(A, 1)
    agree(size(A, 2) == n)
    for step in 1:n
        j = uplo == 'U' ? step : n + 1 - step
        diag == 'U' || !iszero(A[j, j]) || throw(SingularException(j))
        inverse = diag == 'U' ? one(T) : inv(A[j, j])
        diag == 'U' || (A[j, j] = inverse)
        for i in (uplo == 'U' ? (1:j-1) : (n:-1:j+1))
            sum = diag == 'U' ? A[i, j] : A[i, i] * A[i, j]
            for k in (uplo == 'U' ? (i+1:j-1) : (j+1:i-1))
                sum += A[i, k] * A[k, j]
            end
            A[i, j] = -sum * inverse
        end
    end
    return A
end

"A Cholesky factorization, in the place of one triangle: the first column of which the pivot is not positive, or 0."
function potrf!(uplo::AbstractChar, A::AbstractMatrix{T}) where {T<:Float}
    n = size(A, 1)
    agree(size(A, 2) == n)
    for j in 1:n
        pivot = real(A[j, j])
        for k in 1:j-1
            pivot -= abs2(uplo == 'U' ? A[k, j] : A[j, k])
        end
        pivot > 0 || return A, j
        root = sqrt(pivot)
        A[j, j] = root
        for i in j+1:n
            sum = uplo == 'U' ? A[j, i] : A[i, j]
            for k in 1:j-1
                sum -= uplo == 'U' ? conj(A[k, j]) * A[k, i] : A[i, k] * conj(A[j, k])
            end
            if uplo == 'U'
                A[j, i] = sum / root
            else
                A[i, j] = sum / root
            end
        end
    end
    return A, 0
end

"Solves a system of which the matrix is factorized by `potrf!`."
function potrs!(uplo::AbstractChar, A::AbstractMatrix{T}, B::AbstractVecOrMat{T}) where {T<:Float}
    agree(size(A, 1) == size(A, 2) == size(B, 1))
    for column in 1:size(B, 2)
        solve_triangular!(uplo, uplo == 'U' ? 'C' : 'N', 'N', A, B, column)
        solve_triangular!(uplo, uplo == 'U' ? 'N' : 'C', 'N', A, B, column)
    end
    return B
end

"One triangle of the inverse of a matrix that is factorized by `potrf!`."
function potri!(uplo::AbstractChar, A::AbstractMatrix{T}) where {T<:Float}
    n = size(A, 1)
    trtri!(uplo, 'N', A)
    for j in 1:n, i in j:n
        sum = zero(T)
        for k in i:n
            sum += uplo == 'U' ? A[j, k] * conj(A[i, k]) : conj(A[k, i]) * A[k, j]
        end
        if uplo == 'U'
            A[j, i] = sum
        else
            A[i, j] = sum
        end
    end
    return A
end

"""
A QR factorization by Householder reflections `I - τ v vᵀ`, whose vectors stand below the diagonal: for each block of `rows` columns, the triangle that makes one
reflection of those of the block, with each `τ` on its diagonal.
"""
geqrt!(A::AbstractMatrix{<:RealFloat}, rows::Integer) = householder!(A, rows, false)

"As `geqrt!`; `always` reflects what is zero below the diagonal already, too: it has a derivative."
function householder!(A::AbstractMatrix{T}, rows::Integer, always::Bool) where {T<:RealFloat}
    m, n = size(A)
    triangles = zeros(T, rows, min(m, n))
    for j in 1:min(m, n)
        squares = zero(T)
        for i in j+1:m
            squares += A[i, j]^2
        end
        tau, head = zero(T), A[j, j]
        if !iszero(squares) || always && !iszero(head)
            reflected = -copysign(sqrt(head^2 + squares), head)
            tau = (reflected - head) / reflected
            for i in j+1:m
                A[i, j] = A[i, j] / (head - reflected)
            end
            A[j, j] = reflected
        end
        for column in j+1:n
            reflect!(A, j, tau, A, column)
        end
        start = rows * div(j - 1, rows)
        triangles[j-start, j] = tau
        for i in 1:j-start-1
            projection = A[j, start+i]
            for k in j+1:m
                projection += A[k, start+i] * A[k, j]
            end
            triangles[i, j] = -tau * projection
        end
        for i in 1:j-start-1
            sum = zero(T)
            for k in i:j-start-1
                sum += triangles[i, start+k] * triangles[k, j]
            end
            triangles[i, j] = sum
        end
    end
    return A, triangles
end

"Reflects a column by the vector that stands below the diagonal in another one."
function reflect!(V, j, tau, C, column)
    m = size(V, 1)
    projection = C[j, column]
    for i in j+1:m
        projection += V[i, j] * C[i, column]
    end
    C[j, column] -= tau * projection
    for i in j+1:m
        C[i, column] -= V[i, j] * (tau * projection)
    end
    return nothing
end

"The same for a row."
function reflect_row!(V, j, tau, C, row)
    n = size(V, 1)
    projection = C[row, j]
    for i in j+1:n
        projection += V[i, j] * C[row, i]
    end
    C[row, j] -= tau * projection
    for i in j+1:n
        C[row, i] -= V[i, j] * (tau * projection)
    end
    return nothing
end

"The product with the orthogonal factor that `geqrt!` gives, or its transpose, from the left or from the right."
function gemqrt!(side::AbstractChar, trans::AbstractChar, V::AbstractMatrix{T}, triangles::AbstractMatrix{T}, C::AbstractVecOrMat{T}) where {T<:RealFloat}
    rows, k = size(triangles)
    agree(size(V, 1) == size(C, side == 'L' ? 1 : 2))
    for step in 1:k
        j = (side == 'L') == (trans == 'N') ? k + 1 - step : step
        tau = triangles[j-rows*div(j - 1, rows), j]
        for other in 1:size(C, side == 'L' ? 2 : 1)
            side == 'L' ? reflect!(V, j, tau, C, other) : reflect_row!(V, j, tau, C, other)
        end
    end
    return C
end

include("spectral.jl")

end

include("matrix_exponential.jl")

"For `LinearAlgebra` itself: what leads to BLAS and LAPACK, where Julia has that inlined, and chooses between methods when it runs."
module LinearAlgebra

using ..BLAS: BLAS, Float, RealFloat, agree
using ..LAPACK: LAPACK
using ..MatrixExponential: MatrixExponential
using ..Portable: Cholesky, Flipped, LU, PosDefException, QRCompactWY, SingularException, Symmetric

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

for (name, transposed) in ((:syrk_wrapper!, 'T'), (:herk_wrapper!, 'C'))
    @eval $name(C::AbstractMatrix{T}, trans::AbstractChar, A::AbstractVecOrMat{T}, alpha::Number, beta::Number) where {T<:Float} =
        gemm_wrapper!(C, trans, trans == 'N' ? $transposed : 'N', A, A, alpha, beta)
    @eval $name(C::AbstractMatrix{T}, trans::AbstractChar, A::AbstractVecOrMat{T}, add) where {T<:Float} =
        $name(C, trans, A, add.alpha, add.beta)
end

# The functions that have keywords, with these before the function itself.
function var"#lu!"(check::Bool, _, A::Matrix{T}, ::Val{true}) where {T<:Float}
    factors, pivots, info = LAPACK.getrf!(A)
    check && info > 0 && throw(SingularException(info))
    return LU{T,Matrix{T}}(factors, pivots, info)
end

function var"#cholesky!"(check::Bool, _, A::Symmetric, ::Val{false})
    factors, info = LAPACK.potrf!(A.uplo, A.data)
    check && info > 0 && throw(PosDefException(info))
    return Cholesky{eltype(factors),typeof(factors)}(factors, A.uplo, info)
end

var"#qr!"(blocksize::Int, _, A::Matrix{T}, ::Val{false}) where {T<:RealFloat} =
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

"The elements in an array of their own."
dense(A::Array) = A
function dense(A::AbstractVecOrMat{T}) where {T}
    elements = Array{T}(undef, size(A)...)
    for i in CartesianIndices(A)
        elements[i] = A[i]
    end
    return elements
end

(\)(A::Union{Flipped,SubArray{T,2}}, b::Union{VecOrMat{T},Flipped,SubArray{T}}) where {T<:Float} = dense(A) \ dense(b)
(\)(A::Matrix{T}, b::Union{Flipped,SubArray{T}}) where {T<:Float} = A \ dense(b)
(/)(A::Union{Matrix{T},Flipped,SubArray{T,2}}, B::Union{Matrix{T},Flipped,SubArray{T,2}}) where {T<:Float} =
    permutedims(permutedims(dense(B)) \ permutedims(dense(A)))

least_squares(A::Matrix{<:Complex}, b) = throw(ArgumentError("only least squares of real numbers are written as loops"))
function least_squares(A::Matrix{T}, b::VecOrMat{T}) where {T<:Real}
    m, n = size(A)
    agree(m == size(b, 1))
    tall = m > n
    factors, triangles = LAPACK.householder!(tall ? copy(A) : permutedims(A), min(m, n), true)
    largest = zero(T)
    for i in 1:min(m, n)
        largest = max(largest, abs(factors[i, i]))
    end
    for i in 1:min(m, n)
        abs(factors[i, i]) > min(m, n) * eps(T) * largest || throw(ArgumentError("only systems of full rank are written as loops"))
    end
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

end
