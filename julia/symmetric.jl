# Functions of real symmetric matrices, and of some others.

"In a module of its own, in which the operators are those of numbers."
module SymmetricFunctions

using ..LAPACK: LAPACK
using ..MatrixExponential: MatrixExponential
using ..Portable: RealSymmetric, symmetric

"The symmetric half of a matrix, and the other one, which is zero: what it is of another matrix near this one has a derivative."
function halves(A::RealSymmetric)
    n = size(A, 1)
    whole = eltype(A)[A[i, j] for i in 1:n, j in 1:n]
    return whole, zero(whole)
end
is_symmetric(A::RealSymmetric) = true
is_symmetric(A::Matrix) = size(A, 1) == size(A, 2) && all(A[i, j] == A[j, i] for j in 1:size(A, 2) for i in 1:j)
function halves(A::Matrix)
    n = size(A, 1)
    n == size(A, 2) || throw(DimensionMismatch("the matrix is not square"))
    is_symmetric(A) || throw(ArgumentError("only functions of symmetric matrices are written as loops"))
    flipped = permutedims(A)
    return (A .+ flipped) ./ 2, (A .- flipped) ./ 2
end
turned_back(A::RealSymmetric, made, rest) = symmetric(made)
function turned_back(A::Matrix, made, rest)
    n = size(A, 1)
    # As symmetric as the matrix, to the last bit.
    return [made[min(i, j), max(i, j)] + rest[i, j] for i in 1:n, j in 1:n]
end

"""
A function of a symmetric matrix, by its eigenvalues and eigenvectors; the derivative is that for any matrix near it.

The rotations that these are made by leave out what is beside the diagonal where two eigenvalues are equal, as there is nothing to turn. What is there is zero, and has a
derivative all the same. So has the half of the matrix that is not symmetric. A difference quotient of the function is a factor of both: Daleckii and Krein, 1965.
"""
function of_eigenvalues(f, derivative, A)
    whole, other = halves(A)
    n = size(whole, 1)
    values, vectors = LAPACK.symmetric_eigen!(copy(whole))
    back = permutedims(vectors)
    turned, rest = back * (whole * vectors), back * (other * vectors)
    made = [f(value) for value in values]
    scale = n == 0 ? 0.0 : cbrt(eps(eltype(made))) * max(abs(values[1]), abs(values[n]))
    factors = zero(rest)
    for j in 1:n, i in 1:n
        if i == j
            turned[i, i] = made[i]
        else
            far = abs(values[i] - values[j]) > scale
            factor = far ? (made[i] - made[j]) / (values[i] - values[j]) : derivative((values[i] + values[j]) / 2)
            turned[i, j] = values[i] == values[j] ? factor * turned[i, j] : 0
            factors[i, j] = factor
        end
    end
    rest = to_second_order(A, derivative, values, factors, rest, scale)
    return turned_back(A, vectors * (turned * back), vectors * (rest * back))
end

"What the half that is not symmetric adds to a function of the matrix, as the eigenvectors see it: up to its square, as second derivatives see that."
to_second_order(A::RealSymmetric, derivative, values, factors, rest, scale) = factors .* rest
function to_second_order(A::Matrix, derivative, values, factors, rest, scale)
    n = length(values)
    made = factors .* rest
    for j in 1:n, i in 1:n, k in 1:n
        # The half that is not symmetric has nothing on its diagonal. Where eigenvalues are equal, second derivatives are wrong: README.md says so.
        (k == i || k == j || abs(values[i] - values[k]) <= scale) && continue
        if abs(values[i] - values[j]) > scale
            factor = (factors[i, k] - factors[k, j]) / (values[i] - values[j])
        else
            factor = (derivative(values[i]) - factors[i, k]) / (values[i] - values[k])
        end
        isfinite(factor) && (made[i, j] += factor * rest[i, k] * rest[k, j])
    end
    return made
end

"The eigenvalues of a symmetric matrix with what its other half adds to them, which is turned as the eigenvectors see it: nothing to first order, but its square."
function moved(values, turned)
    found = copy(values)
    for i in 1:length(values), j in 1:length(values)
        values[i] == values[j] || (found[i] += turned[i, j] * turned[j, i] / (values[i] - values[j]))
    end
    return found
end

"The eigenvalues of a symmetric matrix, in ascending order: those of any matrix near it, as far as first and second derivatives tell."
function eigenvalues(A::Matrix)
    whole, other = halves(A)
    values, vectors = LAPACK.symmetric_eigen!(whole)
    return moved(values, permutedims(vectors) * (other * vectors))
end

"The same with eigenvectors, of length one."
function eigen(A::Matrix)
    whole, other = halves(A)
    values, vectors = LAPACK.symmetric_eigen!(whole)
    n = length(values)
    turned = permutedims(vectors) * (other * vectors)
    along = zero(turned)
    for j in 1:n, i in 1:n
        values[i] == values[j] || (along[i, j] = turned[i, j] / (values[j] - values[i]))
    end
    # The same once more, and what keeps the length.
    twice = turned * along
    for j in 1:n, i in 1:n
        values[i] == values[j] || (along[i, j] += twice[i, j] / (values[j] - values[i]))
    end
    for j in 1:n, i in 1:n
        i == j || (along[j, j] -= along[i, j] * along[i, j] / 2)
    end
    return moved(values, turned), vectors .+ vectors * along
end

# Each function with its derivative.
exponential(A) = of_eigenvalues(exp, exp, A)
sine(A) = of_eigenvalues(sin, cos, A)
cosine(A) = of_eigenvalues(cos, x -> -sin(x), A)
tangent(A) = of_eigenvalues(tan, x -> 1 + tan(x)^2, A)
inverse_sine(A) = of_eigenvalues(asin, x -> 1 / sqrt(1 - x^2), A)
inverse_cosine(A) = of_eigenvalues(acos, x -> -1 / sqrt(1 - x^2), A)
inverse_tangent(A) = of_eigenvalues(atan, x -> 1 / (1 + x^2), A)
inverse_hyperbolic_sine(A) = of_eigenvalues(asinh, x -> 1 / sqrt(x^2 + 1), A)
inverse_hyperbolic_cosine(A) = of_eigenvalues(acosh, x -> 1 / sqrt(x^2 - 1), A)
inverse_hyperbolic_tangent(A) = of_eigenvalues(atanh, x -> 1 / (1 - x^2), A)
# These are made of exponentials, of which any matrix has one.
exponentials(A::Matrix) = MatrixExponential.exp!(copy(A)), MatrixExponential.exp!(-A)
function hyperbolic_sine(A)
    is_symmetric(A) && return of_eigenvalues(sinh, cosh, A)
    grows, falls = exponentials(A)
    return (grows .- falls) ./ 2
end
function hyperbolic_cosine(A)
    is_symmetric(A) && return of_eigenvalues(cosh, sinh, A)
    grows, falls = exponentials(A)
    return (grows .+ falls) ./ 2
end
function hyperbolic_tangent(A)
    is_symmetric(A) && return of_eigenvalues(tanh, x -> 1 - tanh(x)^2, A)
    grows, falls = exponentials(A)
    factors, pivots = LAPACK.getrf!(grows .+ falls)
    return LAPACK.getrs!('N', factors, pivots, grows .- falls)
end
function logarithm(A)
    is_triangular(A) && !is_symmetric(A) && return logarithm_of_triangular(A)
    return of_eigenvalues(x -> log(not_negative(x, zero(x))), inv, A)
end
power(A, p) = of_eigenvalues(x -> not_negative(x, zero(x))^p, x -> p * x^(p - 1), A)

"An eigenvalue of a matrix of which none is negative, but for what rounding leaves: zero then."
function not_negative(x, rounding)
    x >= -rounding || throw(ArgumentError("only functions of symmetric matrices that are real are written as loops"))
    return max(x, zero(x))
end

largest(A) = foldl((most, x) -> max(most, abs(x)), A; init = zero(eltype(A)))

"Whether a matrix is upper triangular."
is_triangular(A::RealSymmetric) = false
is_triangular(A::Matrix) = size(A, 1) == size(A, 2) && all(iszero(A[i, j]) for j in 1:size(A, 2) for i in j+1:size(A, 1))

"""
The square root of an upper triangular matrix, column by column: Björck and Hammarling, 1983. What is below the diagonal is zero, and has a derivative: that of the Sylvester equation
that small changes fulfil.
"""
function root_of_triangular(A::Matrix{T}) where {T}
    n = size(A, 1)
    R, below = zeros(T, n, n), zeros(T, n, n)
    quotient(x, y) = iszero(x) && iszero(y) ? zero(T) : x / y
    for j in 1:n
        R[j, j] = sqrt(A[j, j])
        for i in j-1:-1:1
            left = A[i, j]
            for k in i+1:j-1
                left -= R[i, k] * R[k, j]
            end
            R[i, j] = quotient(left, R[i, i] + R[j, j])
        end
    end
    for j in 1:n, i in n:-1:1
        left = i > j ? A[i, j] : zero(T)
        for k in i+1:n
            left -= R[i, k] * below[k, j]
        end
        for k in 1:j-1
            left -= below[i, k] * R[k, j]
        end
        below[i, j] = quotient(left, R[i, i] + R[j, j])
    end
    return R .+ below
end

"""
The logarithm of an upper triangular matrix, by inverse scaling and squaring: that of a root that is close to one, as a series in `(X - I) / (X + I)`. It is real, also where Julia's is of
complex type.
"""
function logarithm_of_triangular(A::Matrix{T}) where {T}
    all(A[i, i] > 0 for i in 1:size(A, 1)) || throw(ArgumentError("only logarithms of triangular matrices that are positive on the diagonal are written as loops"))
    one_matrix = LAPACK.identity_matrix(T, size(A, 1))
    X, times = A, T(2)
    while size(A, 1) * largest(X .- one_matrix) > 0.1
        X, times = root_of_triangular(X), 2 * times
    end
    factors, pivots = LAPACK.getrf!(X .+ one_matrix)
    power = LAPACK.getrs!('N', factors, pivots, X .- one_matrix)
    square, total = power * power, copy(power)
    # The next is less than rounding errors.
    for k in 3:2:11
        power = power * square
        total .+= power ./ k
    end
    return times .* total
end

"Eigenvalues that are negative by no more than `rtol` of the largest are taken for zero."
function root(A, rtol)
    is_triangular(A) && !is_symmetric(A) && return root_of_triangular(A)
    row = zero(eltype(A))
    # No eigenvalue is larger than the sum of a row's absolute values.
    for i in 1:size(A, 1)
        row = max(row, sum(abs(A[i, j]) for j in 1:size(A, 2)))
    end
    rounding = rtol * row
    return of_eigenvalues(x -> sqrt(not_negative(x, rounding)), x -> 1 / (2 * sqrt(x)), A)
end

end
