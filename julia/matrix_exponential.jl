# The exponential of a matrix.

"In a module of its own, in which `/` is that of numbers."
module MatrixExponential

using ..BLAS: RealFloat, agree
using ..LAPACK: LAPACK

"The Padé approximant of this order, by the even and the odd powers."
function exponential_approximant(A::Matrix{T}, order::Int) where {T}
    n = size(A, 1)
    square = A * A
    power = zeros(T, n, n)
    for i in 1:n
        power[i, i] = one(T)
    end
    even, odd = zeros(T, n, n), zeros(T, n, n)
    coefficient = one(T)
    for k in 0:2:order-1
        even .+= coefficient .* power
        coefficient *= T(order - k) / ((k + 1) * (2order - k))
        odd .+= coefficient .* power
        coefficient *= T(order - k - 1) / ((k + 2) * (2order - k - 1))
        power = power * square
    end
    odd = A * odd
    factors, pivots = LAPACK.getrf!(even .- odd)
    return LAPACK.getrs!('N', factors, pivots, even .+ odd)
end

"By scaling and squaring, without balancing: N. J. Higham, The scaling and squaring method for the matrix exponential revisited, 2005."
function exp!(A::Matrix{T}) where {T<:RealFloat}
    agree(size(A, 1) == size(A, 2))
    norm = zero(T)
    for j in 1:size(A, 2)
        column = zero(T)
        for i in 1:size(A, 1)
            column += abs(A[i, j])
        end
        norm = max(norm, column)
    end
    for (largest, order) in ((0.015, 3), (0.25, 5), (0.95, 7), (2.1, 9))
        norm <= largest && return copyto!(A, exponential_approximant(A, order))
    end
    squarings, scaled = 0, norm
    while scaled > 5.4 && isfinite(scaled)
        scaled /= 2
        squarings += 1
    end
    result = exponential_approximant(A ./ T(2)^squarings, 13)
    for _ in 1:squarings
        result = result * result
    end
    return copyto!(A, result)
end

end
