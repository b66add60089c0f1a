# Functions of real symmetric matrices.

"In a module of its own, in which the operators are those of numbers."
module SymmetricFunctions

using ..LAPACK: LAPACK
using ..Portable: RealSymmetric, symmetric

"The symmetric half of a matrix, and the other one, which is zero: what it is of another matrix near this one has a derivative."
function halves(A::RealSymmetric)
    n = size(A, 1)
    whole = eltype(A)[A[i, j] for i in 1:n, j in 1:n]
    return whole, zero(whole)
end
function halves(A::Matrix)
    n = size(A, 1)
    n == size(A, 2) || throw(DimensionMismatch("the matrix is not square"))
    for j in 1:n, i in 1:j
        A[i, j] == A[j, i] || throw(ArgumentError("only functions of symmetric matrices are written as loops"))
    end
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
    for j in 1:n, i in 1:n
        if i == j
            turned[i, i] = made[i]
        else
            far = abs(values[i] - values[j]) > scale
            factor = far ? (made[i] - made[j]) / (values[i] - values[j]) : derivative((values[i] + values[j]) / 2)
            turned[i, j] = values[i] == values[j] ? factor * turned[i, j] : 0
            rest[i, j] *= factor
        end
    end
    return turned_back(A, vectors * (turned * back), vectors * (rest * back))
end

"The eigenvalues of a symmetric matrix, in ascending order."
function eigenvalues(A::Matrix)
    whole, _ = halves(A)
    return first(LAPACK.symmetric_eigen!(whole))
end

"The same with eigenvectors: those of any matrix near it, as far as derivatives tell."
function eigen(A::Matrix)
    whole, other = halves(A)
    values, vectors = LAPACK.symmetric_eigen!(whole)
    turned = permutedims(vectors) * (other * vectors)
    for j in 1:length(values), i in 1:length(values)
        turned[i, j] = values[i] == values[j] ? 0 : turned[i, j] / (values[j] - values[i])
    end
    return values, vectors .+ vectors * turned
end

# Each function with its derivative.
exponential(A) = of_eigenvalues(exp, exp, A)
sine(A) = of_eigenvalues(sin, cos, A)
cosine(A) = of_eigenvalues(cos, x -> -sin(x), A)
tangent(A) = of_eigenvalues(tan, x -> 1 + tan(x)^2, A)
hyperbolic_sine(A) = of_eigenvalues(sinh, cosh, A)
hyperbolic_cosine(A) = of_eigenvalues(cosh, sinh, A)
hyperbolic_tangent(A) = of_eigenvalues(tanh, x -> 1 - tanh(x)^2, A)
logarithm(A) = of_eigenvalues(x -> log(not_negative(x, zero(x))), inv, A)
power(A, p) = of_eigenvalues(x -> not_negative(x, zero(x))^p, x -> p * x^(p - 1), A)

"An eigenvalue of a matrix of which none is negative, but for what rounding leaves: zero then."
function not_negative(x, rounding)
    x >= -rounding || throw(ArgumentError("only functions of symmetric matrices that are real are written as loops"))
    return max(x, zero(x))
end

"Eigenvalues that are negative by no more than `rtol` of the largest are taken for zero."
function root(A, rtol)
    largest = zero(eltype(A))
    # No eigenvalue is larger than the sum of a row's absolute values.
    for i in 1:size(A, 1)
        largest = max(largest, sum(abs(A[i, j]) for j in 1:size(A, 2)))
    end
    rounding = rtol * largest
    return of_eigenvalues(x -> sqrt(not_negative(x, rounding)), x -> 1 / (2 * sqrt(x)), A)
end

end
