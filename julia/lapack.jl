# LAPACK, as loops.

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
