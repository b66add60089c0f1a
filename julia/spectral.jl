# Eigenvalues and singular values by Jacobi's rotations, included in the module of LAPACK's functions. Vectors may have the other sign than LAPACK's.

"Sweeps over all pairs of columns, at most: each about squares how far the matrix is from what it becomes."
const MOST_SWEEPS = 60

"The cosine and the sine of the rotation that makes what is beside a symmetric matrix' diagonal zero, of which the elements on it differ by so much."
function rotation(beside::T, difference::T) where {T}
    beside == 0 && difference == 0 && return one(T), zero(T)
    root = sqrt(difference * difference + 4 * beside * beside)
    tangent = 2 * beside / (difference + (difference < 0 ? -root : root))
    cosine = 1 / sqrt(1 + tangent * tangent)
    return cosine, tangent * cosine
end

function rotate_columns!(A, i, j, cosine, sine)
    for k in 1:size(A, 1)
        x, y = A[k, i], A[k, j]
        A[k, i], A[k, j] = cosine * x - sine * y, sine * x + cosine * y
    end
    return nothing
end

function rotate_rows!(A, i, j, cosine, sine)
    for k in 1:size(A, 2)
        x, y = A[i, k], A[j, k]
        A[i, k], A[j, k] = cosine * x - sine * y, sine * x + cosine * y
    end
    return nothing
end

function identity_matrix(::Type{T}, n) where {T}
    I = zeros(T, n, n)
    for i in 1:n
        I[i, i] = one(T)
    end
    return I
end

"""
Eigenvalues in ascending order and eigenvectors, of a symmetric matrix that is overwritten. After what is beside the diagonal is nothing to the rest there is one sweep
more: the derivative of what it does is that of the eigenvalues and eigenvectors.
"""
function symmetric_eigen!(A::Matrix{T}) where {T<:RealFloat}
    n = size(A, 1)
    vectors = identity_matrix(T, n)
    for _ in 1:MOST_SWEEPS
        beside, all = zero(T), zero(T)
        for j in 1:n, i in 1:n
            square = A[i, j] * A[i, j]
            all += square
            i == j || (beside += square)
        end
        for i in 1:n-1, j in i+1:n
            cosine, sine = rotation(A[i, j], A[j, j] - A[i, i])
            rotate_columns!(A, i, j, cosine, sine)
            rotate_rows!(A, i, j, cosine, sine)
            rotate_columns!(vectors, i, j, cosine, sine)
        end
        beside <= eps(T) * eps(T) * all && break
    end
    values = [A[i, i] for i in 1:n]
    sort_columns!(<, values, vectors)
    return values, vectors
end

"Sorts values, and the columns of matrices with them."
function sort_columns!(before, values, matrices...)
    for i in 1:length(values)
        first = i
        for j in i+1:length(values)
            before(values[j], values[first]) && (first = j)
        end
        first == i && continue
        values[i], values[first] = values[first], values[i]
        exchange_columns!(i, first, matrices...)
    end
    return nothing
end

exchange_columns!(i, j) = nothing
function exchange_columns!(i, j, A, rest...)
    for k in 1:size(A, 1)
        A[k, i], A[k, j] = A[k, j], A[k, i]
    end
    return exchange_columns!(i, j, rest...)
end

function syevr!(jobz::AbstractChar, range::AbstractChar, uplo::AbstractChar, A::AbstractMatrix{T}, vl::AbstractFloat, vu::AbstractFloat, il::Integer, iu::Integer, abstol::AbstractFloat) where {T<:RealFloat}
    n = size(A, 1)
    agree(n == size(A, 2))
    whole = Matrix{T}(undef, n, n)
    for j in 1:n, i in 1:j
        whole[i, j] = whole[j, i] = uplo == 'U' ? A[i, j] : A[j, i]
    end
    values, vectors = symmetric_eigen!(whole)
    first, last = 1, n
    if range == 'I'
        1 <= il <= iu <= n || throw(ArgumentError("no such eigenvalues"))
        first, last = Int(il), Int(iu)
    elseif range == 'V'
        first = count(x -> x <= vl, values) + 1
        last = count(x -> x <= vu, values)
    end
    return values[first:last], vectors[:, first:(jobz == 'V' ? last : first - 1)]
end
syevr!(jobz::AbstractChar, A::AbstractMatrix{T}) where {T<:RealFloat} = syevr!(jobz, 'A', 'U', A, 0.0, 0.0, 0, 0, -1.0)
function syev!(jobz::AbstractChar, uplo::AbstractChar, A::AbstractMatrix{T}) where {T<:RealFloat}
    found = syevr!(jobz, 'A', uplo, A, 0.0, 0.0, 0, 0, -1.0)
    return jobz == 'V' ? found : found[1]
end

"""
The singular values of a matrix that has no more columns than rows, in descending order, with what its columns become when they are made orthogonal by
rotations, and these: Hestenes' method.
"""
function orthogonalized!(W::Matrix{T}) where {T<:RealFloat}
    n = size(W, 2)
    V = identity_matrix(T, n)
    for _ in 1:MOST_SWEEPS
        done = true
        for i in 1:n-1, j in i+1:n
            left, right, both = zero(T), zero(T), zero(T)
            for k in 1:size(W, 1)
                left += W[k, i] * W[k, i]
                right += W[k, j] * W[k, j]
                both += W[k, i] * W[k, j]
            end
            done &= abs(both) <= eps(T) * sqrt(left) * sqrt(right)
            cosine, sine = rotation(both, right - left)
            rotate_columns!(W, i, j, cosine, sine)
            rotate_columns!(V, i, j, cosine, sine)
        end
        done && break
    end
    values = Vector{T}(undef, n)
    for j in 1:n
        square = zero(T)
        for k in 1:size(W, 1)
            square += W[k, j] * W[k, j]
        end
        values[j] = square == 0 ? square : sqrt(square)
    end
    sort_columns!(>, values, W, V)
    return values, W, V
end

"An orthogonal matrix of so many columns, of which the first are these, divided by their lengths where that is not zero."
function orthogonal_columns(W::Matrix{T}, lengths::Vector{T}, count::Int) where {T}
    m = size(W, 1)
    U = zeros(T, m, count)
    for j in 1:count
        if j <= length(lengths) && lengths[j] > 0
            for k in 1:m
                U[k, j] = W[k, j] / lengths[j]
            end
        else
            complete!(U, j)
        end
    end
    return U
end

"Makes a column that is orthogonal to those before it: what they leave of some unit vector."
function complete!(U::Matrix{T}, j) where {T}
    m = size(U, 1)
    for unit in 1:m
        for k in 1:m
            U[k, j] = k == unit ? one(T) : zero(T)
        end
        # Twice is enough.
        for _ in 1:2, other in 1:j-1
            along = zero(T)
            for k in 1:m
                along += U[k, other] * U[k, j]
            end
            for k in 1:m
                U[k, j] -= along * U[k, other]
            end
        end
        square = zero(T)
        for k in 1:m
            square += U[k, j] * U[k, j]
        end
        2 * m * square >= 1 || continue
        for k in 1:m
            U[k, j] /= sqrt(square)
        end
        return nothing
    end
    return nothing
end

"The singular values of a matrix, with as many left and right singular vectors as LAPACK gives for this letter."
function gesdd!(job::AbstractChar, A::AbstractMatrix{T}) where {T<:RealFloat}
    job in ('A', 'S', 'N') || throw(ArgumentError("singular vectors in the place of the matrix are not written as loops"))
    m, n = size(A)
    tall = m >= n
    W = Matrix{T}(undef, max(m, n), min(m, n))
    for j in 1:n, i in 1:m
        tall ? (W[i, j] = A[i, j]) : (W[j, i] = A[i, j])
    end
    values, W, V = orthogonalized!(W)
    job == 'N' && return Matrix{T}(undef, m, 0), values, Matrix{T}(undef, n, 0)
    long = orthogonal_columns(W, values, job == 'A' ? max(m, n) : min(m, n))
    return tall ? (long, values, permutedims(V)) : (V, values, permutedims(long))
end
