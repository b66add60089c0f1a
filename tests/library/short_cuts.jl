# More functions, at arguments for which Julia's code takes a short cut: what it leaves out there has a derivative. Evaluated in the module of functions.jl.

# Complex functions on the axes, but not on the lines where they jump.
parts(z) = 2 * real(z) + 3 * imag(z)
@case("complex_exp_of_reals", (x, y) -> (z = complex(x, y); parts(exp(z)) + parts(exp(2z) * exp(-z / 2))), 0.7, 0.0)
@case("complex_expm1_of_reals", (x, y) -> parts(expm1(complex(x, y))), 0.7, 0.0)
@case("complex_root_on_the_imaginary_axis", (x, y) -> parts(sqrt(complex(x, y))) + parts(sqrt(complex(x, -y))), 0.0, 0.4)
@case("complex_inverses_on_the_imaginary_axis", (x, y) -> (z = complex(x, y); parts(asin(z)) + parts(acos(z)) + parts(atanh(z)) + parts(acosh(z))), 0.0, 0.4)
@case("complex_inverses_of_reals", (x, y) -> (z = complex(x, y); parts(asin(z)) + parts(acos(z)) + parts(atan(z)) + parts(asinh(z)) + parts(atanh(z))), 0.4, 0.0)
@case("complex_inverses_beside_a_pole", (x, y) -> parts(atanh(complex(x, y))), 1.0, 0.5)
@case("complex_sinpi_of_halves", (x, y) -> (z = complex(x, y); parts(sinpi(z)) + parts(cospi(z)) + parts(sinpi(z + 0.5))), 1.5, 0.3)
@case("complex_powers_of_reals", (x, y) -> (z = complex(x, y); parts(z^2.0) + parts(z^0.5) + parts(z^complex(2.0, 0.0)) + parts(z^complex(0.3, 0.7))), 1.7, 0.0)
@case("complex_powers_of_negative_reals", (x, y) -> (z = complex(-x, y); parts(z^2.0) + parts(z^-3.0)), 1.7, 0.0)
@case("complex_power_of_zero", (x, y) -> parts(complex(x, y)^2.0) + x, 0.0, 0.0)
@case("complex_exponents", (x, y) -> parts(complex(0.3, 0.6)^complex(x, y)) + parts(2.5^complex(x, y)), 2.0, 0.0)

# Matrices that happen to be triangular.
const T = [2.0 1.0 0.5; 0.0 3.0 0.7; 0.0 0.0 5.0]
const one_of_three = [1.0 0.0 0.0; 0.0 1.0 0.0; 0.0 0.0 1.0]
@case("triangular_adjoints", A -> det(A') + weighted(A' \ v) + sum(K[1:3, 1:3] .* inv(A')), T)
@case("triangular_views", A -> (V = view(A, 1:3, 1:3); det(V) + weighted(V \ v) + sum(K[1:3, 1:3] .* inv(V)) + weighted(V' \ v)), T)
inverse_of_any(A) = pinv(A)
inverse_of_any(A::AbstractMatrix{BigFloat}) = size(A, 1) < size(A, 2) ? A' * inv(A * A') : inv(A' * A) * A'
@case("pseudoinverse", A -> weighted(inverse_of_any(A)), one_of_three)
@case("pseudoinverse_of_tall", (A, B) -> weighted(inverse_of_any(A * B)) + weighted(inverse_of_any(B')), A, B)

# Functions of symmetric matrices, of which eigenvalues may be equal, in the type of these and without it. Long arithmetic has Newton's iteration and series.
root(A) = sqrt(A)
function root(A::Matrix{BigFloat})
    X = one(A)
    for _ in 1:20
        X = (X + X \ A) / 2
    end
    return X
end
logarithm(A) = log(A)
logarithm(A::Matrix{BigFloat}) = (X = foldl((X, _) -> root(X), 1:4; init = A) - I; 16 * sum((-1)^(k + 1) * X^k / k for k in 1:1500))
sine(A) = sin(A)
sine(A::Matrix{BigFloat}) = sum((-1)^k * A^(2k + 1) / factorial(big(2k + 1)) for k in 0:150)
power(A) = A^1.5
power(A::Matrix{BigFloat}) = A * root(A)
of_any_type(A) = Symmetric(A)
of_any_type(A::Matrix{BigFloat}) = Matrix(Symmetric(A))
mixed(X) = sum([0.3 -0.7 1.1; 0.9 0.2 -0.4; 0.6 1.3 0.8] .* X)
@case("symmetric_functions", A -> (S = of_any_type(A); mixed(root(S)) + mixed(logarithm(S)) + mixed(sine(S)) + mixed(power(S))), one_of_three)
@case("symmetric_roots", A -> mixed(root(of_any_type(A))) + mixed(logarithm(of_any_type(A))) + det(Symmetric(A)) + weighted(Symmetric(A) \ v), S)
@case("functions_of_matrices_that_are_symmetric", A -> mixed(root(A)) + mixed(logarithm(A)) + mixed(sine(A)), S)
any_spectrum(A) = eigvals(A)
function any_spectrum(A::Matrix{BigFloat})
    mean = tr(A) / 3
    scale = sqrt(tr((A - mean * I)^2) / 6)
    angle = acos(det((A - mean * I) / scale) / 2) / 3
    return [mean + 2 * scale * cos(angle + 2 * big(pi) * k / 3) for k in (1, 2, 0)]
end
@case("eigenvalues_of_matrices_that_are_symmetric", A -> weighted(any_spectrum(A)) + maximum(any_spectrum(A))^2, S)
function rebuilt(A)
    F = eigen(A)
    return F.vectors * Diagonal(sqrt.(F.values)) * inv(F.vectors)
end
rebuilt(A::Matrix{BigFloat}) = root(A)
@case("eigenvectors_of_matrices_that_are_symmetric", A -> mixed(rebuilt(A)), S)

# What is neither symmetric nor without a function of its own.
function hyperbolic(A)
    return mixed(sinh(A)) + 2 * mixed(cosh(A)) + 3 * mixed(tanh(A))
end
function hyperbolic(A::Matrix{BigFloat})
    grows, falls = exponential(A), exponential(-A)
    return mixed(grows - falls) / 2 + mixed(grows + falls) + 3 * mixed((grows + falls) \ (grows - falls))
end
arctangent(A) = atan(A)
arctangent(A::Matrix{BigFloat}) = sum((-1)^k * A^(2k + 1) / (2k + 1) for k in 0:600)
@case("hyperbolic_functions_of_matrices", A -> hyperbolic(A) + hyperbolic(A + A'), A / 4)
@case("roots_of_triangular_matrices", A -> mixed(root(A)) + mixed(real.(logarithm(A))), T)
@case("arctangent_of_symmetric", A -> mixed(arctangent(of_any_type(A))) + mixed(arctangent(A)), one_of_three / 2)

# Inverses of complex numbers, in which Julia scales by powers of two: what is made of them depends on their bits no more than they do.
@case("complex_inverse_to_a_power", (x, k) -> parts(inv(complex(x, 0.3))^k) + parts((complex(x, 0.3)^-1)^(1 - k)), 0.7, 2)
@case("complex_inverses_collected", x -> parts(prod([inv(complex(x, k)) for k in 1:3])) + sum(real(inv(complex(x, 0.3))^k) for k in 0:2), 0.7)
