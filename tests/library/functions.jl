# Functions that go through Julia's own library, each with arguments; all give one number. They are written for any number type, so
# that the gradient can be computed in long arithmetic. Where the library calls BLAS or LAPACK, the dump has loops.

module Library

using LinearAlgebra, Statistics

weighted(y) = (s = zero(eltype(y)); for (i, v) in enumerate(y); s += i * v; end; s)

const a = [1.5, -0.25, 3.0, 0.75, 2.0]
const p = [0.5, 1.25, 2.0, 0.3]
const A = [2.0 0.5 -1.0; 0.25 3.0 0.5; 1.0 -0.5 2.5]
const B = [1.0 2.0; -0.5 0.25; 3.0 1.5]
const S = [4.0 1.0 0.5; 1.0 3.0 -0.25; 0.5 -0.25 2.0]
const v = [0.3, -1.2, 0.8]
# Larger than what the library multiplies itself.
const K = [2.0 0.5 -1.0 0.25; 0.25 3.0 0.5 1.0; 1.0 -0.5 0.75 0.75; 4.0 0.2 -0.3 2.0]
const L = [1.0 2.0 0.5; -0.5 0.25 1.0; 3.0 1.5 0.1; 1.1 1.2 1.3]
const long = [sin(i) for i in 1.0:40.0]

generic_lu(A) = LinearAlgebra.generic_lufact!(copy(A))

const FUNCTIONS = []

"A function, which gets a name, with its arguments."
macro case(name, f, args...)
    parameters = f.args[1] isa Symbol ? [f.args[1]] : f.args[1].args
    definition = Expr(:function, Expr(:call, Symbol("case_", name), parameters...), f.args[2])
    return esc(:(push!(FUNCTIONS, ($name, $definition, ($(args...),)))))
end


# Reductions.
@case("sum", x -> sum(x), a)
@case("sum_of_squares", x -> sum(abs2, x), a)
@case("sum_pairwise", x -> sum([x * i for i in 1:1500]), 0.5)
@case("sum_generator", x -> sum(sin(y) * y for y in x), a)
@case("sum_if", x -> sum(y for y in x if y > 0), a)
@case("sum_columns", A -> weighted(sum(A, dims = 1)), A)
@case("prod", x -> prod(x), a)
@case("maximum", x -> maximum(x), a)
@case("minimum", x -> minimum(x), a)
@case("extrema", x -> (e = extrema(x); e[1] * e[2]), a)
@case("findmax", x -> (m = findmax(x); m[1] * m[2]), a)
@case("argmin", x -> x[argmin(x)]^2, a)
@case("mapreduce", x -> mapreduce(sin, +, x), a)
@case("reduce_max", x -> reduce(max, x), a)
@case("foldl", x -> foldl((s, y) -> s / 2 + y * y, x), a)
@case("foldr", x -> foldr((y, s) -> y - s / 2, x), a)
@case("accumulate", x -> weighted(accumulate(*, x)), a)
@case("cumsum", x -> weighted(cumsum(x)), a)
@case("cumprod", x -> weighted(cumprod(x)), a)
@case("mean", x -> mean(x), a)
@case("var", x -> var(x), a)
@case("std", x -> std(x), a)
@case("median", x -> median(x), a)
@case("mean_of", x -> mean(exp, x), a)
@case("count_weighted", x -> count(>(1), x) * x[1], a)

# Arrays.
@case("diff", x -> weighted(diff(x)), a)
@case("reverse", x -> weighted(reverse(x)), a)
@case("map", x -> weighted(map(y -> y * y + 1, x)), a)
@case("map_two", (x, y) -> weighted(map(*, x, y)), p, [1.0, 2.0, 0.5, -1.0])
@case("broadcast", (x, y) -> weighted(x .* y .+ 1), p, [1.0, 2.0, 0.5, -1.0])
@case("broadcast_math", x -> sum(exp.(-x .^ 2) .* sin.(x)), a)
@case("broadcast_in_place", x -> (y = copy(x); y .*= 2; y .+= x .^ 2; weighted(y)), a)
@case("broadcast_outer", (x, y) -> weighted(x .* y'), v, p)
@case("comprehension", x -> weighted([x[i] * x[end+1-i] for i in eachindex(x)]), a)
@case("comprehension_2d", x -> weighted([x[i] * i + x[j] for i in 1:3, j in 1:2]), v)
@case("view", x -> sum(abs2, view(x, 2:4)), a)
@case("slice", x -> weighted(x[2:4]), a)
@case("strided_slice", x -> weighted(x[1:2:end]), a)
@case("column", A -> weighted(A[:, 2]) + sum(view(A, 1, :)), A)
@case("reshape", A -> weighted(reshape(A, 1, 9)) + A[5], A)
@case("vec", A -> weighted(vec(A)), A)
@case("permutedims", B -> weighted(permutedims(B)), B)
@case("vcat", (x, y) -> weighted(vcat(x, y)), v, p)
@case("hcat", (x, y) -> weighted(hcat(x, y)), v, [1.0, 2.0, 0.5])
@case("literal_matrix", (x, y) -> weighted([x y; x*y 1.0]), 1.5, 0.5)
@case("push_and_pop", x -> (y = copy(x); push!(y, x[1] * x[2]); z = pop!(y); push!(y, z * z); weighted(y)), a)
@case("append", x -> (y = x[1:2]; append!(y, 2x); weighted(y)), a)
@case("filter", x -> weighted(filter(>(0.5), x)), a)
@case("fill_and_set", x -> (y = fill(x[1], 3); y[2] = x[2]; weighted(y)), a)
@case("circshift", x -> weighted(circshift(x, 2)), a)
@case("repeat", x -> weighted(repeat(x, 2)), v)
@case("sort", x -> weighted(sort(x)), a)
@case("sortperm", x -> weighted(x[sortperm(x)]), a)
@case("swap", x -> begin y = copy(x); y[1], y[2] = y[2], y[1]; weighted(y) end, a)
@case("zip", (x, y) -> (s = zero(x[1]); for (i, j) in zip(x, y); s += i / j; end; s), v, [1.0, 2.0, 0.5])
@case("interpolation", (x, t) -> (i = searchsortedlast(x, t); (t - x[i]) / (x[i+1] - x[i])), [0.0, 1.0, 2.5, 4.0], 1.75)
@case("line", (x, y) -> weighted(collect(LinRange(x, y, 5))), 0.5, 3.0)
@case("ntuple", x -> (t = ntuple(i -> x^i, Val(4)); t[1] + t[2] * t[3] - t[4]), 0.9)
@case("tuples", (x, y) -> (t = (x, (y, x * y)); t[2][2] * t[1] + sum((x, y, 1.0))), 1.5, 0.5)
@case("named_tuple", (x, y) -> begin t = (a = x, b = y); t.a * t.b + merge(t, (c = x,)).c end, 1.5, 0.5)

# Linear algebra.
@case("dot_generic", (x, y) -> invoke(dot, Tuple{AbstractArray,AbstractArray}, x, y), v, [1.0, 2.0, 0.5])
@case("dot_three", (x, A, y) -> dot(x, A, y), v, A, [1.0, 2.0, 0.5])
@case("norm", x -> norm(x), a)
@case("norm_generic", x -> LinearAlgebra.generic_norm2(x), a)
@case("norm_1", x -> LinearAlgebra.generic_norm1(x), a)
@case("norm_inf", x -> LinearAlgebra.generic_normInf(x), a)
@case("norm_p", x -> LinearAlgebra.generic_normp(x, 3), a)
@case("normalize", x -> weighted(x ./ norm(x)), a)
@case("cross", (x, y) -> weighted(cross(x, y)), v, [1.0, 2.0, 0.5])
@case("matvec_generic", (A, x) -> weighted(LinearAlgebra.generic_matvecmul!(similar(x), 'N', A, x)), A, v)
@case("matvec_transposed", (A, x) -> weighted(LinearAlgebra.generic_matvecmul!(similar(x), 'T', A, x)), A, v)
@case("matmat_generic", (A, B) -> weighted(LinearAlgebra.generic_matmatmul!(similar(B), 'N', 'N', A, B)), A, B)
@case("matmul_3x3", (A, B) -> weighted(LinearAlgebra.matmul3x3('N', 'T', A, B)), A, S)
@case("transpose_wrapper", A -> weighted(transpose(A)) + A'[2, 3], A)
@case("adjoint_sum", B -> sum(B' .* transpose(B)), B)
@case("kron", (A, B) -> weighted(kron(A, B)), A, B)
@case("trace", A -> tr(A), A)
@case("det", A -> det(generic_lu(A)), A)
@case("logdet", (A, S) -> logdet(generic_lu(S)) + logabsdet(generic_lu(A))[1], A, S)
@case("dot", (x, y) -> dot(x, y), p, [1.0, 2.0, 0.5, -1.0])
@case("norm_long", x -> norm(x), long)
@case("norm_small", x -> norm(x * 1e-200), long)
@case("norm_1_long", x -> norm(x, 1), long)
@case("matvec", (A, x) -> weighted(A * x), K, p)
@case("matvec_rectangular", (A, x) -> weighted(A * x), L, v)
@case("transpose_vec", (A, x) -> weighted(A' * x), L, p)
@case("mul_and_add", (A, x, y) -> weighted(mul!(copy(y), A, x, 2.0, -0.5)), K, p, [1.0, 2.0, 0.5, -1.0])
@case("matmat", (A, B) -> weighted(A * B), K, L)
@case("matmat_transposed", (A, B) -> weighted(A' * B), K, L)
@case("mat_transposed_mat", (A, B) -> weighted(A * B'), L, L)
@case("both_transposed", (A, B) -> weighted(A' * B'), L, K)
@case("gram", A -> weighted(A' * A), L)
@case("outer_gram", A -> weighted(A * A'), L)
@case("quadratic_form", (A, x) -> x' * A * x, K, p)
@case("axpy", (x, y) -> weighted(axpy!(2.5, x, copy(y))), p, [1.0, 2.0, 0.5, -1.0])
@case("mul_by_variables", (A, x, a, b) -> weighted(mul!(copy(x), A, x, a, b)), [1.0 2.0; 3.0 4.0], [1.0, 0.5], 0.0, 1.0)
@case("matmul_by_variables", (A, b) -> weighted(mul!(copy(A), A, A, 1.0, b)), [1.0 2.0; 3.0 4.0], 0.0)
@case("form_of_zeros", (A, x) -> dot(x, A, x), [1.0 2.0; 3.0 4.0], [0.0, 1.0])
@case("determinant_of_singular", A -> det(A), [1.0 2.0 0.5; 2.0 4.0 1.0; 0.3 -1.0 0.7])
@case("scale_in_place", x -> weighted(rmul!(copy(x), 3.0)), long)
@case("solve", (A, b) -> weighted(A \ b), K, p)
@case("solve_many", (A, B) -> weighted(A \ B), K, L)
@case("inverse", A -> weighted(inv(A)), K)
@case("determinant", A -> det(A), K)
@case("logistic", (A, x, y) -> -sum(y .* log.(1 ./ (1 .+ exp.(-(A * x)))) .+ (1 .- y) .* log.(1 .- 1 ./ (1 .+ exp.(-(A * x))))), K, p, [1.0, 0.0, 1.0, 0.0])
@case("triangular_solve", (A, b) -> weighted(LinearAlgebra.naivesub!(LowerTriangular(A), copy(b))), A, v)
@case("upper_solve", (A, b) -> weighted(LinearAlgebra.naivesub!(UpperTriangular(A), copy(b))), A, v)
@case("cholesky", S -> (c = invoke(LinearAlgebra._chol!, Tuple{AbstractMatrix,Type{UpperTriangular}}, copy(S), UpperTriangular)[1]; c[1, 1] + 2c[1, 2] + 3c[2, 3] + 4c[3, 3]), S)
@case("qr", A -> (q = LinearAlgebra.qrfactUnblocked!(copy(A)); weighted(q.factors)), A)
@case("triu", A -> weighted(triu(A)) + weighted(tril(A, -1)), A)
@case("diagonal", (d, x) -> weighted(Diagonal(d) * x), v, [1.0, 2.0, 0.5])
@case("diagonal_solve", (d, x) -> weighted(Diagonal(d) \ x), v, [1.0, 2.0, 0.5])
@case("symtridiagonal", (d, e) -> det(SymTridiagonal(d, e)), v, [0.5, 0.25])
@case("givens", (x, y) -> (g = LinearAlgebra.givensAlgorithm(x, y); g[1] + 2g[2] + 3g[3]), 1.5, 0.5)
@case("identity_matrix", A -> weighted(A + 2I), A)
@case("axpby", (x, y) -> weighted(invoke(axpby!, Tuple{Number,AbstractArray,Number,AbstractArray}, 2, x, 3, copy(y))), v, [1.0, 2.0, 0.5])
@case("quadratic_form_by_loops", (A, x) -> (s = zero(x[1]); for i in axes(A, 1), j in axes(A, 2); s += x[i] * A[i, j] * x[j]; end; s), A, v)

# Numbers.
@case("exp", x -> exp(x), 1.25)
@case("exp_negative", x -> exp(x), -3.5)
@case("sin", x -> sin(x), 1.25)
@case("sin_large", x -> sin(x), 1234.5)
@case("cos", x -> cos(x), 2.5)
@case("tan", x -> tan(x), 0.7)
@case("sincos", x -> (t = sincos(x); t[1] * t[2]), 0.7)
@case("sinpi", x -> sinpi(x) + cospi(x), 0.3)
@case("asin", x -> asin(x), 0.6)
@case("acos", x -> acos(x), -0.3)
@case("atan", x -> atan(x), 1.7)
@case("atan_two", (y, x) -> atan(y, x), 1.5, -0.5)
@case("log", x -> log(x), 2.75)
@case("log1p", x -> log1p(x), 0.4)
@case("log2", x -> log2(x), 2.75)
@case("log10", x -> log10(x), 2.75)
@case("log_base", (b, x) -> log(b, x), 3.0, 7.5)
@case("expm1", x -> expm1(x), 0.3)
@case("exp2", x -> exp2(x), 1.3)
@case("exp10", x -> exp10(x), 0.3)
@case("sinh", x -> sinh(x), 0.9)
@case("cosh", x -> cosh(x), 0.9)
@case("tanh", x -> tanh(x), 0.4)
@case("tanh_large", x -> tanh(x), 2.4)
@case("asinh", x -> asinh(x), 0.9)
@case("acosh", x -> acosh(x), 1.9)
@case("atanh", x -> atanh(x), 0.4)
@case("sqrt", x -> sqrt(x), 2.0)
@case("cbrt", x -> cbrt(x), 5.0)
@case("hypot", (x, y) -> hypot(x, y), 3.0, -1.5)
@case("hypot_three", (x, y, z) -> hypot(x, y, z), 3.0, -1.5, 0.5)
@case("evalpoly", (x, c) -> evalpoly(x, c), 0.8, a)
@case("evalpoly_tuple", x -> evalpoly(x, (1.0, 2.0, -3.0, 0.5)), 0.8)
@case("evalpoly_macro", (x, y) -> @evalpoly(x, y, 2y, y * y, 0.5), 0.8, 1.5)
@case("evalpoly_complex", (x, y) -> real(evalpoly(complex(x, y), (1.0, 2.0, -3.0, 0.5))), 0.8, 1.5)
@case("power_literal", x -> x^3 + x^-2 + x^2, 1.7)
@case("power_integer", (x, n) -> x^n, 1.7, 11)
@case("power_negative", (x, n) -> x^n, 1.7, -3)
@case("power_float", (x, y) -> x^y, 1.7, 2.3)
@case("clamp", (x, low, high) -> clamp(x, low, high) * x, 1.7, 0.0, 1.0)
@case("muladd", (x, y, z) -> muladd(x, y, z), 1.7, 2.3, 0.5)
@case("sign_and_abs", (x, y) -> copysign(x, y) + abs(y) * sign(y) + flipsign(x, y), 1.7, -2.3)
@case("min_max", (x, y) -> (m = minmax(x, y); m[1] + 2m[2] + max(x, y) * min(x, y)), 1.7, -2.3)
@case("rem_and_mod", (x, y) -> rem(x, y) + 2mod(x, y), 7.7, 2.3)
@case("rounding", x -> x - floor(x) + round(x) * x, 2.3)
@case("ldexp", x -> ldexp(x, 3) + significand(x), 2.3)
@case("mod2pi", x -> mod2pi(x), 8.5)
@case("deg2rad", x -> sin(deg2rad(x)) + sind(x), 33.0)
@case("sinc", x -> sinc(x), 0.4)
@case("complex_product", (x, y) -> (z = complex(x, y); real(z * z * conj(z) + 2z)), 0.8, 1.5)
@case("complex_abs2", (x, y) -> abs2(complex(x, y)), 0.8, 1.5)
@case("complex_abs", (x, y) -> abs(complex(x, y)), 0.8, 1.5)
@case("complex_quotient", (x, y) -> imag(complex(x, y) / complex(y, 1.0)), 0.8, 1.5)
@case("complex_exp", (x, y) -> real(exp(complex(x, y))), 0.8, 1.5)
@case("complex_on_the_axes", (x, y) -> (z = complex(x, y); w = complex(y, x); imag(sinh(z)) + 3imag(cosh(z)) + real(sin(w)) + 2imag(cos(w))), 0.7, 0.0)
@case("complex_sqrt", (x, y) -> imag(sqrt(complex(x, y))), 0.8, 1.5)
@case("complex_log", (x, y) -> (l = log(complex(x, y)); real(l) + imag(l)), 0.8, 1.5)
@case("complex_sum", (x, y) -> abs2(sum([complex(x, y), complex(y, x) * im])), 0.8, 1.5)
@case("rational", x -> x * (1 // 3) + 2 // 5, 0.75)
@case("float32", x -> Float64(Float32(2) * 0.5f0) * x, 0.75)

# Programs that people write.
struct Point{T}
    x::T
    y::T
end
Base.:+(a::Point, b::Point) = Point(a.x + b.x, a.y + b.y)
Base.:*(s::Number, a::Point) = Point(s * a.x, s * a.y)
dist(a::Point, b::Point) = sqrt((a.x - b.x)^2 + (a.y - b.y)^2)
abstract type Shape end
struct Circle{T} <: Shape
    r::T
end
struct Box{T} <: Shape
    w::T
    h::T
end
area(c::Circle) = 3.5 * c.r^2
area(b::Box) = b.w * b.h
kw(x; scale = 2.0, shift = 1.0) = x * scale + shift
defaults(x, y = 2x, z = y + 1) = x * y * z
va(xs...) = sum(xs) * xs[1]
function newton(f, df, x; n = 8)
    for _ in 1:n
        x = x - f(x) / df(x)
    end
    return x
end
function rk4(f, y, h, n)
    for _ in 1:n
        k1 = f(y); k2 = f(y + h / 2 * k1); k3 = f(y + h / 2 * k2); k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2k2 + 2k3 + k4)
    end
    return y
end
function trapz(f, lo, hi, n)
    h = (hi - lo) / n
    s = (f(lo) + f(hi)) / 2
    for i in 1:n-1
        s += f(lo + i * h)
    end
    return s * h
end
function conv(x, k)
    y = zeros(promote_type(eltype(x), eltype(k)), length(x) + length(k) - 1)
    for i in eachindex(x), j in eachindex(k)
        y[i+j-1] += x[i] * k[j]
    end
    return y
end
function chol(A)
    n = size(A, 1)
    L = zero(A)
    for j in 1:n
        s = A[j, j]
        for k in 1:j-1
            s -= L[j, k]^2
        end
        L[j, j] = sqrt(s)
        for i in j+1:n
            t = A[i, j]
            for k in 1:j-1
                t -= L[i, k] * L[j, k]
            end
            L[i, j] = t / L[j, j]
        end
    end
    return L
end
function collatz(x, n)
    while n != 1
        if iseven(n)
            n = n ÷ 2
            x = x * 0.9
        else
            n = 3n + 1
            x = x + 0.1
        end
    end
    return x
end
function gs!(Q)
    for j in axes(Q, 2)
        for i in 1:j-1
            r = zero(eltype(Q))
            for k in axes(Q, 1); r += Q[k, i] * Q[k, j]; end
            for k in axes(Q, 1); Q[k, j] -= r * Q[k, i]; end
        end
        s = zero(eltype(Q))
        for k in axes(Q, 1); s += Q[k, j]^2; end
        s = sqrt(s)
        for k in axes(Q, 1); Q[k, j] /= s; end
    end
    return Q
end
softmax(x) = (e = exp.(x .- maximum(x)); e ./ sum(e))
logsumexp(x) = (m = maximum(x); m + log(sum(exp.(x .- m))))
fib(n, a, b) = n == 0 ? a : fib(n - 1, b, a + b)
ack(x, n) = n <= 0 ? x : ack(sin(x), n - 1) + 0.5ack(cos(x), n - 2)
compose(fs...) = x -> foldl((v, f) -> f(v), fs; init = x)

@case("struct_sum", (x, y) -> (q = 2.0 * Point(x, y) + Point(y, 1.0 * x); q.x * q.y), 1.5, 0.5)
@case("struct_dist", (x, y) -> dist(Point(x, y), Point(2y, x * y)), 1.5, 0.5)
@case("struct_vector", x -> (ps = [Point(v, v^2) for v in x]; sum(dist(ps[i], ps[i+1]) for i in 1:length(ps)-1)), a)
@case("shapes", (x, y) -> area(Circle(x)) + area(Box(x, y)), 1.5, 0.5)
@case("shapes_union", (x, y) -> (s = 0.0 * x; for k in 1:4; sh = isodd(k) ? Circle(x * k) : Box(x, y * k); s += area(sh); end; s), 1.5, 0.5)
@case("mutable", x -> (acc = Ref(0.0 * x[1]); for v in x; acc[] += v * acc[] + v; end; acc[]), a)
@case("keywords", x -> kw(x; scale = x, shift = 3.0) + kw(x), 0.7)
@case("defaults", x -> defaults(x) + defaults(x, 2.0), 0.7)
@case("varargs", (x, y, z) -> va(x, y, z) + va(y), 1.0, 2.5, -0.5)
@case("newton_solve", x -> newton(t -> t^3 - x, t -> 3t^2, 1.0 + 0.0 * x), 2.0)
@case("rk4", x -> rk4(y -> -x * y + sin(y), x, 0.1, 10), 0.8)
@case("trapz_bounds", (x, y) -> trapz(t -> t * x + 1 / t, x, y, 20), 0.8, 2.5)
@case("conv", (x, k) -> weighted(conv(x, k)), a, p)
@case("cholesky_logdet", A -> (L = chol(A); s = 0.0 * A[1]; for i in 1:3; s += log(L[i, i]); end; 2s), S)
@case("collatz", (x, n) -> collatz(x, n), 1.25, 27)
@case("gram_schmidt", A -> (Q = gs!(copy(A)); Q[1, 1] + 2Q[2, 2] + 3Q[3, 3]), A)
@case("softmax", x -> weighted(softmax(x)), a)
@case("logsumexp", x -> logsumexp(x), a)
@case("fib_tail", (x, y) -> fib(12, x, y), 0.5, 0.25)
@case("tree_recursion", x -> ack(x, 7), 0.5)
@case("compose", x -> compose(sin, t -> t * x, exp)(x), 0.5)
@case("try_catch", x -> (try; sqrt(x) ; catch; x^2; end) * x, 2.0)
@case("while_break", x -> (s = 0.0 * x; i = 0; while true; i += 1; s += x / i; if i > 10 || s > 3; break; end; end; s), 0.9)
@case("continue", x -> (s = 0.0 * x[1]; for v in x; v < 0 && continue; s += v * s + v; end; s), a)
@case("stepped_range", x -> (s = 0.0 * x[1]; for i in 1:2:length(x); s += x[i]^2; end; s), a)
@case("float_range", x -> (s = 0.0 * x; for t in 0.0:0.25:1.0; s += sin(x * t); end; s), 0.9)
@case("linspace", x -> sum(sin(x * t) for t in range(0.0, 1.0, length = 7)), 0.9)
@case("reverse_view", x -> (s = 0.0 * x[1]; for (u, w) in zip(x, Iterators.reverse(x)); s += u * w * w; end; s), a)
@case("do_block", x -> (map(x) do v; v > 1 ? v^2 : v / 2; end)[3] + sum(map(v -> 2v, x)), a)
@case("broadcast_assign", x -> (y = zero(x); y .= 2 .* x .+ 1; y .+= x .^ 2; weighted(y)), a)
@case("push_pop", x -> (q = [x[1]]; for v in x; push!(q, v * q[end]); end; pop!(q); weighted(q)), a)
@case("view_write", x -> (y = copy(x); w = view(y, 2:3); w .*= 2; weighted(y)), a)
@case("views_macro", x -> (y = @views x[2:end] .- x[1:end-1]; weighted(y)), a)
@case("column_view", A -> (s = 0.0 * A[1]; for j in 1:3; c = view(A, :, j); s += c[1] * c[2]; end; s), A)
@case("vcat_reduce", x -> weighted(reduce(vcat, [[v, v^2] for v in x])), p)
@case("comprehension_matrix", x -> (M = [u * w + i for (i, u) in enumerate(x), w in x]; M[1, 2] + 2M[3, 1]), p)
@case("eachcol", A -> (s = 0.0 * A[1]; for c in eachcol(A); s += c[1] * c[3]; end; s), A)
@case("vector_of_vectors", x -> (r = [x[1:i] for i in 1:3]; sum(sum, r)), a)
@case("heat", x -> (u = copy(x); for _ in 1:5; w = copy(u); for i in 2:length(u)-1; u[i] = w[i] + 0.1 * (w[i-1] - 2w[i] + w[i+1]); end; end; weighted(u)), a)
@case("bisect", x -> (lo = 0.0 * x; hi = x + 1; for _ in 1:40; m = (lo + hi) / 2; if m^2 < x; lo = m; else; hi = m; end; end; lo + hi), 2.0)
@case("welford", x -> (m = 0.0 * x[1]; s = m; for (k, v) in enumerate(x); d = v - m; m += d / k; s += d * (v - m); end; s / 4), a)
@case("quantile", x -> quantile(x, 0.3), a)
@case("rosenbrock", x -> sum(100 * (x[i+1] - x[i]^2)^2 + (1 - x[i])^2 for i in 1:length(x)-1), p)
@case("kalman", x -> (m = 0.0 * x[1]; q = m + 1; for z in x; q += 0.1; k = q / (q + 0.5); m += k * (z - m); q *= 1 - k; end; m), a)
@case("bit_ops", (x, n) -> (s = 0.0 * x; for i in 0:7; if (n >> i) & 1 == 1; s += x^i; end; end; s), 0.7, 173)
@case("symmetric_product", (A, x) -> dot(x, Symmetric(A) * x), S, v)
@case("symmetric_lower", (A, x) -> weighted(Symmetric(A, :L) * x), A, v)
@case("nothing_union", (x, n) -> (r = n > 0 ? x : nothing; r === nothing ? 0.0 * x : r * r), 0.7, 1)

# What constructors do, also where they are not inlined.
struct Unit{T}
    x::T
    y::T
    function Unit(x::T, y::T) where {T}
        n = sqrt(x^2 + y^2)
        n > 0 || throw(ArgumentError("no direction"))
        new{T}(x / n, y / n)
    end
end
struct Grid{T}
    x::Vector{T}
    step::T
    function Grid(length::T, n::Int) where {T}
        x = zeros(T, n)
        for i in 1:n; x[i] = (i - 1) * length / (n - 1); end
        new{T}(x, x[2] - x[1])
    end
end
mutable struct Momentum{T}
    m::Vector{T}
    rate::T
end
@noinline Momentum(n::Int, rate::T) where {T} = Momentum{T}(zeros(T, n), rate)
function step!(o::Momentum, x, g)
    for i in eachindex(x)
        o.m[i] = 0.9 * o.m[i] + g[i]
        x[i] -= o.rate * o.m[i]
    end
    return x
end
Base.@kwdef struct Settings{T}
    gain::T = 1.0
    bias::T = 0.5
    rounds::Int = 2
end
@noinline Base.Float64(q::Unit{Float64}) = q.x + 2 * q.y
@noinline Base.BigFloat(q::Unit{BigFloat}) = q.x + 2 * q.y
# Fields that are assigned later.
mutable struct Link{T}
    value::T
    next::Link{T}
    Link(value::T) where {T} = new{T}(value)
    Link(value::T, next) where {T} = new{T}(value, next)
end
mutable struct Later{T}
    a::T
    b::T
    Later{T}() where {T} = new{T}()
end

# Functions of which only modules, operators or marks tell the names apart.
module Square
@noinline loss(x) = x^2
end
module Cube
@noinline loss(x) = x^3
end
@noinline slope(x) = 2x
@noinline slope′(x) = x^3
@noinline twist!(x) = (x[1] *= 2; nothing)
@noinline twist(x) = sum(x)^2
@noinline by_value(x, ::Val{1}) = x^2
@noinline by_value(x, ::Val{-1}) = x^3

@enum Boundary fixed free
const BOUNDARIES = (fixed, free)
const POINTS = (Point(1.0, 2.0), Point(3.0, -1.0))
struct Scale{T}
    a::T
end
@noinline (s::Scale)(x) = s.a * x
@noinline (s::Scale)(x, n) = n == 0 ? x : s(s.a * x, n - 1)

@case("constructor_checks", (x, y) -> (u = Unit(x, y); u.x * u.y + u.y), 0.8, 0.4)
@case("constructor_fills", x -> (g = Grid(x, 5); sum(abs2, g.x) * g.step), 2.0)
@case("constructor_outer", (x, r) -> (o = Momentum(length(x), r); y = copy(x); for _ in 1:3; step!(o, y, 2 .* y); end; sum(abs2, y)), a, 0.1)
@case("constructor_keywords", x -> (k = Settings(gain = x, bias = 0.25 * x, rounds = 3); k.gain * k.bias * k.rounds), 0.7)
@case("conversion_of_own_type", (x, y) -> typeof(x)(Unit(x, y)), 0.8, 0.4)
@case("field_assigned_later", x -> (o = Later{typeof(x)}(); o.a = 2x; o.b = o.a * x; o.a * o.b), 0.7)
@case("ref_assigned_later", x -> (r = Ref{typeof(x)}(); r[] = x; r[] * 2), 0.7)
@case("linked", x -> (l = Link(x); m = Link(2x, l); m.next.value * m.value), 0.7)
@case("linked_to_itself", x -> (l = Link(x); l.next = l; l.next.next.value * 2), 0.7)
@case("same_name_other_module", x -> Square.loss(x) + Cube.loss(x), 0.3)
@case("same_name_but_for_a_mark", x -> slope(x) + slope′(x), 0.3)
@case("same_name_but_for_a_bang", x -> (y = copy(x); twist!(y); twist(y)), a)
@case("same_name_but_for_a_sign", x -> by_value(x, Val(1)) + by_value(x, Val(-1)), 0.3)
@case("operators_on_vectors", (x, y) -> sum(x + y) * sum(x - y), p, p .* 2)
@case("operators_on_matrices", (A, B) -> sum(A + B) * sum(A - B), A, S)
@case("filters", x -> sum(filter(<(0.9), x)) * sum(filter(>(0.9), x)), a)
@case("sorted_both_ways", x -> 10 * sort(x; lt = <)[1] + sort(x; lt = >)[1], a)
@case("field_by_run_time_name", (x, k) -> getfield((p = x, q = 3x), (:p, :q)[k]), 0.7, 2)
@case("pairs_of_named_tuple", (x, y) -> (s = 0.0 * x; for (k, w) in pairs((a = x, b = y)); s += k === :a ? w^2 : 3w; end; s), 0.3, 0.4)
@case("field_set_by_number", (x, k) -> (o = Later{typeof(x)}(); o.a = x; o.b = x; setfield!(o, k, 5x); o.a + 2 * o.b), 0.7, 2)
@case("vector_of_any", x -> (l = Any[x, 2]; l[1]::typeof(x) * l[2]::Int), 0.3)
@case("enum", (x, k) -> BOUNDARIES[k] == fixed ? x : x^2, 0.7, 2)
@case("enum_instances", x -> (s = 0.0 * x; for b in instances(Boundary); s += b == free ? x : 10x; end; s), 0.7)
@case("enum_of_number", (x, k) -> Boundary(k) == free ? x : x^2, 0.7, 1)
@case("constant_structs", (x, k) -> POINTS[k].y * x, 0.7, 2)
@case("constant_pi", x -> sum(x .* π), a)
@case("missing_value", (x, k) -> (missing, 1)[k] isa Missing ? x : x^2, 0.7, 2)
@case("complex_constant", x -> real(complex(1.0, 2.0) * complex(x, 2.0)), 0.7)
@case("identity_scaling", A -> weighted((A + I)[:, 1]), A)
@case("identity_matrix_made", A -> sum(Matrix{eltype(A)}(I, 3, 3) * A), A)
@case("stepped_view", x -> sum(view(x, 1:2:5)), a)
@case("row_dot", (A, x) -> dot(view(A, 1, :), x), A, v)
@case("row_axpy", (A, x) -> (C = copy(A); axpy!(2.0, x, view(C, 2, :)); weighted(C[2, :])), A, v)
@case("pipe", x -> x |> y -> sum(sin.(y)), a)
@case("local_function", x -> (f(y) = sum(abs2, y .- 1.0); f(x) + f(2 .* x)), a)
@case("callable_struct", (x, y) -> Scale(x)(y) + Scale(y)(x, 3), 0.7, 1.5)
@case("closure_on_tuple", x -> sum(t -> norm(x .* t), (0.5, 1.0)), a)

# Factorizations, which the library leaves to LAPACK.
positive(A) = A * A' + 2I
@case("lu_solve", (A, x) -> weighted(lu(A) \ x), A, v)
@case("lu_factors", A -> (F = lu(A); (L, U, p) = F; weighted(F.L) + weighted(U) * p[1] + sum(F.P * A .* (L * U))), A)
@case("lu_inverse", A -> weighted(inv(lu(A))), A)
@case("logdet_of_matrix", A -> logdet(A * A' + I) + logabsdet(A)[1], A)
@case("cholesky_factors", A -> weighted(cholesky(positive(A)).L), A)
@case("cholesky_of_symmetric", (A, B) -> sum(abs2, cholesky(Symmetric(positive(A))).U \ B), A, B)
@case("cholesky_solve", (A, x) -> dot(x, cholesky(Hermitian(positive(A))) \ x), A, v)
@case("cholesky_inverse", A -> (c = cholesky(positive(A)); weighted(inv(c)) + logdet(c)), A)
@case("gaussian_process", (x, y, l) -> (c = cholesky(Symmetric([exp(-(s - t)^2 / (2l^2)) for s in x, t in x] + I / 10)); dot(y, c \ y) / 2 + sum(log, diag(c.U))), p, [0.1, 0.5, -0.3, 0.8], 0.7)
@case("qr_triangle", L -> weighted(qr(L).R), L)
@case("qr_product", L -> weighted(Matrix(qr(L).Q) .* L), L)
@case("least_squares", (L, x) -> weighted(L \ x), L, p)
@case("shortest_solution", (L, x) -> weighted(permutedims(L) \ x), L, v)
@case("adjoint_system", (A, x) -> weighted(A' \ x), A, v)
@case("right_division", (A, S) -> weighted(A / S), A, S)
@case("triangular_systems", (A, x, B) -> weighted(UpperTriangular(A) \ x) + weighted(LowerTriangular(A)' \ B) + weighted(B' / UpperTriangular(A)), A, v, B)
@case("triangular_products", (A, x, B) -> weighted(UpperTriangular(A) * x) + weighted(LowerTriangular(A)' * B) + weighted(B' * UnitLowerTriangular(A)), A, v, B)
@case("triangular_inverses", A -> weighted(inv(UpperTriangular(A))) + weighted(inv(UnitLowerTriangular(A))), A)
@case("kalman_step", (A, S, x) -> (P = A * S * A' + S; K = P / (P + I); y = A * x; weighted(y + K * (x - y)) + tr((I - K) * P)), A, S, v)
@case("axpby_of_vectors", (x, y) -> weighted(axpby!(2.0, x, 0.5, copy(y))), v, [1.0, 2.0, -0.4])
@case("product_with_views", (K, x) -> weighted(K[1:3, 1:3] * view(x, 2:4)) + weighted(view(K, 1:2, :) * x) + weighted(view(K, 1:3, :) * view(K, :, 2:3)), K, p)
@case("diagonal_added", (A, x) -> weighted(A + Diagonal(x)) + weighted(A .+ Diagonal(x)), A, v)

# Bits, and texts.
@case("masked", x -> weighted(x[x .> 1]) + count(x .> 1) * x[1], a)
@case("mask_sum", x -> sum(x .> 0) * sum(x .* (x .< 2.2)), a)
@case("mask_assigned", x -> (y = copy(x); y[y .< 0] .= y[1]; weighted(y)), a)
@case("mask_logic", x -> sum(x[(x .> 0) .& .!(x .> 2.2)]), a)
@noinline activated(x, name) = name == "tanh" ? tanh(x) : name == "relu" ? max(x, zero(x)) : x
@case("chosen_by_text", (x, n) -> activated(x, ("tanh", "relu", "id")[n]) + activated(x, "id"), 0.7, 2)

# Dictionaries, and ranges whose ends are floats.
@case("dictionary", x -> (d = Dict(1 => x, 2 => 2x); for i in 3:20; d[i * i] = x * i; end; d[1] * d[2] + d[100]), 0.7)
@case("dictionary_of_vectors", x -> (d = Dict{Int,Vector{eltype(x)}}(); for (i, y) in enumerate(x); push!(get!(d, i % 2, similar(x, 0)), y); end; sum(prod(y) for y in values(d))), a)
@case("dictionary_without_key", x -> (d = Dict(1 => x, 2 => x^2); delete!(d, 1); haskey(d, 1) ? x : length(d) * d[2]), 0.7)
@case("set_of_integers", x -> (s = Set([1, 2, 3]); sum(i in s ? x * i : x for i in 1:5)), 0.7)
@case("unique", x -> weighted(unique([x, 2x, x])), 0.7)
@case("range_between", (x, y) -> weighted(range(x, stop = y, length = 7)), 0.3, 1.9)
@case("range_of_steps", (x, h) -> (t = range(x, step = h, length = 5); sum(t[i]^2 * i for i in 1:5)), 0.3, 0.25)
@case("grid_to", T -> (y = one(T); t = range(zero(T), stop = T, length = 21); for i in 2:21; y += (t[i] - t[i-1]) * (t[i-1] - y); end; y), 2.3)
@case("function_in_field", A -> sum(map(norm, [A[:, i] for i in 1:3])), A)
@case("repeat_each", x -> weighted(repeat(x, inner = 2, outer = 3)), p)
@case("repeat_matrix", B -> weighted(repeat(B, inner = (2, 1), outer = (1, 2))), B)

# Variables that closures change, which Julia keeps in objects of unknown contents.
@case("captured_sum", x -> (s = zero(eltype(x)); foreach(y -> (s += y^2), x); s), a)
@case("captured_two", x -> (s = zero(eltype(x)); q = one(eltype(x)); foreach(y -> (s += sin(y); q *= y), x); s * q), p)
@case("captured_count", x -> (c = 0; foreach(y -> (y > 0 && (c += 1)), x); c * x[1]), a)
@case("captured_state", k -> (u = one(k); step() = (u += (k * u - u^2) / 10); for _ in 1:10; step(); end; u), 0.7)

# Functions in functions that call themselves, which Julia keeps in such objects, too; and sums of sums, where it gives up on types.
@case("recursive_product", x -> (go(i) = i == 0 ? one(eltype(x)) : go(i - 1) * x[i]; go(length(x))), p)
@case("recursive_halves", x -> (walk(lo, hi) = lo == hi ? x[lo] : walk(lo, (lo + hi) ÷ 2) * walk((lo + hi) ÷ 2 + 1, hi) + 1; walk(1, length(x))), p)
@case("mutually_recursive", x -> (even(i) = i == 0 ? one(x) : odd(i - 1) * x; odd(i) = i == 0 ? x : even(i - 1) + x; even(5)), 0.7)
function subsequence(S)
    n, m = size(S)
    memo = fill(zero(eltype(S)), n, m)
    known = fill(false, n, m)
    function best(i, j)
        (i == 0 || j == 0) && return zero(eltype(S))
        known[i, j] && return memo[i, j]
        memo[i, j] = max(best(i - 1, j), best(i, j - 1), best(i - 1, j - 1) + S[i, j])
        known[i, j] = true
        return memo[i, j]
    end
    return best(n, m)
end
@case("recursive_with_memory", A -> subsequence(A), A)
@case("sum_of_sums", A -> sum(sum(A[i, j] * j for j in axes(A, 2))^2 for i in axes(A, 1)), A)
@case("sum_of_minima", (A, B) -> sum(minimum(sum(abs2, A[:, i] .- B[:, k]) for k in axes(B, 2)) for i in axes(A, 2)), A, B)
# Objects and functions of several types in arrays: the run decides what is called.
abstract type Layer end
struct Scaling{T} <: Layer
    s::T
end
struct Squaring <: Layer end
act(l::Scaling, x) = l.s * x
act(::Squaring, x) = x^2
@case("objects_in_a_vector", x -> (y = x; for l in Layer[Scaling(x), Squaring(), Scaling(2x)]; y = act(l, y); end; y), 0.7)
@case("closures_in_a_vector", x -> (fs = Function[]; for k in 1:3; push!(fs, y -> y * x + k); end; y = x; for f in fs; y = f(y); end; y), 0.7)
@case("functions_in_a_vector", x -> (y = x; for f in Function[sin, exp, z -> z * x]; y = f(y); end; y), 0.7)

# Tables: arrays that are global constants.
const NODES = [-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526]
const WEIGHTS = [0.34785484513745385, 0.6521451548625462, 0.6521451548625462, 0.34785484513745385]
const MIXING = [0.5 -1.0 2.0; 0.25 3.0 -0.75; 1.0 1.0 0.125]
const OFFSETS = Int32[2, 0, 1]
@case("quadrature", x -> sum(WEIGHTS[i] * exp(x * NODES[i]) for i in 1:4), 0.7)
@case("quadrature_of_pairs", (x, y) -> (s = zero(x); for (w, t) in zip(WEIGHTS, NODES); s += w * exp(x * t) * y; end; s), 0.7, -1.3)
@case("quadrature_by_maps", x -> sum(WEIGHTS .* cos.(x .* NODES)), 0.7)
@case("taylor", x -> sum(x^k / factorial(k) for k in 0:10), 0.7)
@case("constant_matrix", x -> sum(abs2, MIXING * x), v)
@case("constant_matrix_by_rows", x -> sum(sum(MIXING[i, j] * x[j] for j in 1:3)^3 for i in 1:3), v)
@case("table_of_places", x -> sum(x[1+OFFSETS[i]] * i for i in 1:3) * x[OFFSETS[1]], v)

@case("functions_in_turn", x -> (y = x; for f in (sin, tanh, exp); y = f(y); end; y), 0.7)
# Exceptions: what is caught goes on elsewhere, and what was done before it came stays done.
positive_or_error(x) = x < 0 ? error("negative: ", x) : sqrt(x)
@case("caught", x -> (try; sqrt(x) * x; catch; x^2; end), -0.7)
@case("caught_by_type", x -> (try; log(x) * x; catch e; e isa DomainError ? x^3 : 0.0; end), -0.7)
@case("caught_in_a_loop", x -> (s = 1.0; for t in x; s += try; positive_or_error(t) * s; catch; t * s^2; end; end; s), [0.3, -0.7, 1.1, -0.2])
@case("changed_before_it_failed", x -> (w = copy(x); try; for k in 1:length(w)+1; w[k] = w[k] * w[1]; end; catch; end; sum(w)), [0.3, -0.7, 1.1])
@case("thrown_again", x -> (try; try; sqrt(x); catch e; e isa BoundsError || rethrow(); 0.0; end; catch; sin(x); end), -0.7)
@case("finally", x -> (s = 0.0; try; for k in 1:5; s += x[k]^2; end; catch; s *= 3; finally; s += x[1]; end; s), [0.3, -0.7, 1.1])

@case("rows_in_turn", (A, x) -> sum(dot(r, x) for r in eachrow(A)), A, v)

# Copies of what is no number: slices, appended and sorted vectors of tuples, complex numbers and vectors.
@case("slice_of_pairs", x -> (p = [(t, t^2) for t in x]; q = p[2:3]; sum(a * b for (a, b) in q)), v)
@case("pairs_appended", x -> (p = [(t, t^2) for t in x]; append!(p, p[1:1]); q = vcat(p, [(x[3], x[1])]); sum(a * b for (a, b) in q)), v)
@case("pairs_sorted", x -> (q = sort([(t, t^2) for t in x], by = t -> t[2], rev = true); q[1][1] + 2q[2][2] + 3q[3][1]), v)
@case("complex_slices", x -> (z = complex.(x, 2 .* x)[1:2]; push!(z, z[1]^2); abs2(sum(z)) + real(prod(z))), v)
@case("vectors_appended", x -> (p = [x .* i for i in 1:3]; q = p[2:3]; append!(q, [x .^ 2]); push!(q, copy(x)); sum(i * sum(y) for (i, y) in enumerate(q))), v)
@case("sum_over_pairs_of_a_constant", x -> 0.5 * x * sum(w * exp(x * t) for (w, t) in ((0.5, 0.1), (0.25, 0.3))), 0.7)

# A stack of work that is still to be done.
function work_done(x)
    stack, s = [(x[1], 1)], zero(x[1])
    while !isempty(stack)
        (t, depth) = pop!(stack)
        if depth < 4
            push!(stack, (t * x[2], depth + 1))
            push!(stack, (t + x[3], depth + 2))
        else
            s += t^2
        end
    end
    return s
end
@case("depth_first", x -> work_done(x), v)
@case("vectors_popped", x -> (p = [x .* i for i in 1:3]; y = pop!(p); push!(p, y .* pop!(p)); sum(sum, p)), v)
@case("half_of_a_square", x -> 0.5 * x' * x, v)
@case("scaled_row", x -> (x' / 2 + 3 * x') * x, v)

# Types that are asked for when the program runs.
abstract type Figure end
abstract type Round{T} <: Figure end
struct Disc{T} <: Round{T}; r::T; end
struct Panel{T} <: Figure; s::T; end
struct TooLarge{T} <: Exception; by::T; end
below(x) = x < 1 ? sqrt(x) : throw(TooLarge(x - 1))
@case("exception_of_its_own", x -> (try; below(x); catch e; e isa TooLarge ? 2x : 3x; end), 1.5)
@case("any_exception", x -> (try; below(x); catch e; e isa Exception ? 2x : 3x; end), 1.5)
@case("figures_of_any_kind", x -> (s = zero(x); for f in Any[Disc(x), Panel(x), [x], x => 1]; s += f isa Round ? 2x : f isa Figure ? 3x : f isa AbstractVector ? 5x : 7x; end; s), 0.7)
@case("finally_in_a_loop", x -> (s = zero(x[1]); for t in x; try; s += positive_or_error(t); catch; s += t^2; finally; s *= 2; end; end; s), [0.3, -0.7, 1.1])

# Calls with the elements of arrays, of which Julia does not know how many there are.
struct Quaternion{T}; w::T; x::T; y::T; z::T; end
of_three(a, b, c) = a * b + c^2
many(a, b, c) = a + b + c + a*b + a + b + c + a*b + a + b + c + a*b + a + b + c + a*b + a + b + c + a*b + a + b + c + a*b + a + b + c + a*b + a + b + c + a*b + a + b + c + a*b + a + b + c + a*b
many_factors(a, b, c) = a * b * c * 2a * b * a * b * c * 3a*b * a * b * c * a*b * a * b * c * 5a*b * a * b * c * a*b * a * b * c * a*b * a * b * c * a*b * a * b * c * a*b
@case("sum_of_forty_terms", x -> many(x[1], x[2], x[3]), v)
@case("product_of_forty_factors", x -> many_factors(x[1], x[2], x[3]), v)
@case("vector_of_splats", (x, t) -> (w = [t, x..., x[2:3]...]; sum(abs2, w) * w[1]), v, 0.4)
@case("arguments_of_a_vector", x -> of_three(x...) + of_three(2.0, x[2:3]...) + of_three(x[1:2]..., 0.5), v)
@case("fields_of_a_vector", (t, x) -> (q = Quaternion(t, x...); q.w * q.x + q.y * q.z), 0.7, v)
@case("operators_of_vectors", (x, t) -> max(t, x...) + min(x..., t) + +(x..., t) * *(t, x...), v, 0.2)
@case("vcat_of_a_list", x -> (xs = [x, 2x]; weighted(vcat(x, xs...)) + weighted(hcat(x, xs...)[2, :])), v)
@case("hypot_of_a_vector", x -> hypot(x...) + hypot(x[1:2]...), v)

# Blocks of matrices, vectors and numbers.
@case("blocks", (x, A, t) -> weighted([A x; x' t]) + weighted([t x'; x A]), v, A, 0.4)
@case("vector_of_blocks", (x, t) -> weighted([t; x; x[1]; 2x]) + weighted(vcat(x, t, 1.0)), v, 0.4)
@case("columns", (x, A) -> weighted([A x 2x]) + weighted(hcat(x, A)), v, A)
@case("rows", (x, A) -> weighted([A; x']) + weighted(vcat(A, 2A)), v, A)

# Slices and dimensions.
@case("mapslices", A -> weighted(mapslices(c -> c ./ sum(c), A, dims = 1)) + weighted(mapslices(prod, A, dims = 2)), A)
@case("reverse_dimensions", A -> weighted(reverse(A, dims = 1)) + 2 * weighted(reverse(A, dims = 2)), B)
@case("extrema_of_rows", A -> sum(e[2]^2 - e[1] for e in extrema(A, dims = 2)), A)
@case("findmax_of_rows", A -> weighted(findmax(A, dims = 2)[1]), A)
@case("float_steps", x -> weighted(collect(0:0.13x:x)) + length(0.1:0.1:0.3) * x + weighted(collect(x:-0.25:-1)), 0.31)
@case("sortperm_either_way", (x, n) -> weighted(x[sortperm(x, rev = n > 1)]) + weighted(x[sortperm(x, by = abs, rev = n < 3)]), v, 2)
@case("flipsign_of_constants", (x, y) -> flipsign(x, -1) + flipsign(x, y) + copysign(y, x) + flipsign(-2.0, x) * y, 1.3, -0.4)

# What of arrays and numbers is not above.
@case("circshift_of_both", A -> weighted(circshift(A, (1, 2))), A)
@case("inserted_and_deleted", x -> (y = copy(x); insert!(y, 2, x[1]^2); deleteat!(y, 4:5); pushfirst!(y, x[3]); prepend!(y, 2 .* x); weighted(y) * popfirst!(y)), a)
@case("replaced_stretch", x -> (y = copy(x); t = splice!(y, 2:3, [x[1], x[2], x[1]]); weighted(y) * t[1]), a)
@case("found", x -> x[findfirst(t -> t > 1.6, x)]^2 + x[findlast(t -> t < 1, x)] + weighted(x[findall(t -> t > 0.5, x)]), a)
@case("inverse_reciprocals", x -> acot(x) + asec(x + 2) + acsc(x + 2) + acoth(x + 2) + asech(x / 2) + acsch(x), 0.7)
@case("degrees", x -> sind(x) + cosd(2x) + tand(x) + asind(x / 100) + acosd(x / 100) + atand(x) + deg2rad(x) + rad2deg(x), 30.5)
@case("reciprocals", x -> sec(x) + csc(x) + cot(x) + sech(x) + csch(x) + coth(x), 0.7)
@case("partialsort", x -> partialsort(x, 2) + 3 * weighted(partialsort(x, 1:3)), a)
@case("sets", x -> weighted(sort(union(x, [x[1]]))) + weighted(intersect(x, x)) + weighted(setdiff(x, [x[2]])), a)
@case("tally", x -> (d = Dict{Int,eltype(x)}(); for i in 1:5; k = i % 3; d[k] = get(d, k, zero(eltype(x))) + x[i]; end; sum(k * t^2 for (k, t) in d)), a)
@case("banded", x -> weighted(SymTridiagonal(x, x[1:2]) * x) + weighted(Bidiagonal(x, x[1:2], :U) * x), v)
@case("iterators", x -> sum(prod(s) for s in Iterators.partition(x, 2)) + sum(Iterators.take(Iterators.cycle(x), 7)) + sum(t^2 for t in Iterators.flatten((x, x[1:2]))), a)

# Decompositions by iterations. Long arithmetic has the roots of characteristic polynomials in their place.
spectrum(S) = eigvals(Symmetric(S))
function spectrum(S::Matrix{BigFloat})
    T = Symmetric(S)
    mean = tr(T) / 3
    scale = sqrt(tr((T - mean * I) * (T - mean * I)) / 6)
    angle = acos(det((T - mean * I) / scale) / 2) / 3
    return [mean + 2 * scale * cos(angle + 2 * big(pi) * k / 3) for k in (1, 2, 0)]
end
axes_of(S) = abs.(eigen(Symmetric(S)).vectors)
function axes_of(S::Matrix{BigFloat})
    T = Matrix(Symmetric(S))
    return reduce(hcat, [abs.(normalize(cross(T[:, 1] - [t, 0, 0], T[:, 2] - [0, t, 0]))) for t in spectrum(S)])
end
singular(B) = svdvals(B)
function singular(B::Matrix{BigFloat})
    G = B' * B
    half, root = tr(G) / 2, sqrt(tr(G)^2 / 4 - det(G))
    return sqrt.([half + root, half - root])
end
best_of_rank_one(B) = (F = svd(B); F.S[1] * F.U[:, 1] * F.V[:, 1]')
function best_of_rank_one(B::Matrix{BigFloat})
    G = B' * B
    along = normalize([G[1, 2], singular(B)[1]^2 - G[1, 1]])
    return B * along * along'
end
exponential(A) = exp(A)
function exponential(A::Matrix{BigFloat})
    power = sum = one(A)
    for k in 1:60
        power = power * (A / 2^10) / k
        sum = sum + power
    end
    return sum^(2^10)
end
@case("eigenvalues", S -> weighted(spectrum(S)) + spectrum(2S)[1]^2, S)
@case("eigenvalues_of_a_diagonal", x -> weighted(spectrum([x[1] 0 0; 0 x[2] 0; 0 0 x[3]])), v)
@case("eigenvectors", S -> weighted(axes_of(S)), S)
@case("singular_values", B -> weighted(singular(B)), B)
@case("best_of_rank_one", B -> weighted(best_of_rank_one(B)), B)
@case("nuclear_norm", B -> sum(singular(B)), B)
@case("matrix_exponential", A -> weighted(exponential(A)), A)
@case("matrix_exponential_in_time", (A, t) -> weighted(exponential(t * A)), A, 0.01)

# Arrays of other numbers.
@case("floats_of_integers", x -> weighted(Vector{typeof(x)}([1, 2, 3]) .* x) + sum(float([2, 3])) * x^2, 0.7)
@case("integers_among_floats", x -> (w = [x, x^2, x^3]; w[1:2] = [2, 3]; y = zeros(typeof(x), 2); copyto!(y, [4, 5]); sum(w) + y[2] * x), 0.7)
@case("complex_of_floats", A -> (B = Matrix{Complex{eltype(A)}}(A); abs2(sum(B .* B) + im * B[1])), A)
@case("tuple_of_several_types", (a, b) -> (s = zero(a); for y in (a, (b, a), [a]); s += y isa Tuple ? y[1] * y[2] : y isa Vector ? y[1] : y^2; end; s), 0.3, 0.8)

# Where a function takes a short cut for its value alone.
@case("least_squares_of_a_zero_column", (A, b) -> weighted(A \ b), [1.0 1; 0 2; 0 1], [0.5, 2.0, -1.0])
@case("shortest_of_a_zero_column", (A, b) -> weighted(A \ b), [1.0 0 0; 1 2 1], [0.5, 2.0])
@case("determinant_of_singular_at_first", A -> det(A) + tr(A), [1.0 2 3; 2 4 3; 3 6 9])
@case("determinant_of_a_zero_column", A -> det(A) * A[2, 2] + tr(A), [0.0 1 2; 0 2 1; 0 3 5])
@case("determinant_of_rank_one", A -> det(A) + tr(A), [1.0 2 3; 2 4 6; 3 6 9])
@case("sinc_and_cosc_of_zero", x -> cosc(x) * sinc(x) + sinc(x + 0.5), 0.0)
@case("sinc_beside_zero", x -> (sinc(x[1]) + x[1]^3) * sinc(2x[2]) + sum(abs2, sinc.(x)), [0.0, 0.4])
@case("givens_on_an_axis", (x, y) -> (g = LinearAlgebra.givensAlgorithm(x, y); g[1] + 2g[2] * x + g[3]), 3.0, 0.0)

# Products with scalars that need not be zeros or ones, and with symmetric matrices.
@case("product_added_with_factors", (A, B, a, b) -> (C = A + B; mul!(C, A, B, a, b); weighted(C)), A, S, 0.5, 0.25)
@case("product_with_adjoint_added_with_factors", (A, B, a, b) -> (C = A + B; mul!(C, A', B, a, b); weighted(C)), A, S, 0.5, 0.25)
@case("symmetric_times_matrix", (A, B) -> weighted(Symmetric(A) * B) + weighted(B * Symmetric(A, :L)), A, S)

# Several dimensions, all elements, and elements of another type.
@case("sums_over_several_dimensions", x -> (B = reshape(x, 2, 3, 2); weighted(sum(abs2, B, dims = (1, 3))) + sum(maximum(B, dims = [2, 3]))), [0.1, 0.5, 0.3, 0.7, 0.2, 0.9, 0.4, 0.8, 0.6, 1.1, 1.3, 0.15])
@case("all_elements", (x, A) -> dot(x[:], 1:3) + weighted(A[:]) + sum(sin.(x[:])), v, A)
@case("returned_through_finally", x -> (f(y) = try; return y[1] * y[2]; finally; y[2] = 5; end; w = 2x; r = f(w); r + w[2] * r * x[1]), v)
@case("stored_with_conversion", x -> (w = [x, 2x]; w[1] = [1, 2, 3]; push!(w, [4, 5, 6]); w[1][2] * w[2][1] + sum(w[3]) * x[2]), v)

# Globals: constants that hold arrays, and what is no constant, as it is when the dump is written.
struct Dense{F}
    W::Matrix{Float64}
    b::Vector{Float64}
    f::F
end
(layer::Dense)(x) = layer.f.(layer.W * x .+ layer.b)
const HIDDEN = Dense([0.3 0.2; -0.4 0.7], [0.1, 0.2], tanh)
const NETWORK = (HIDDEN, Dense([0.5 -0.2], [0.05], identity))
const SCHEDULE = (rates = [0.1, 0.2, 0.4], steps = 3, name = "adam")
const ROWS = [[0.1, 0.3], [0.4, 0.2]]
const PAIRS_OF_BOTH = [(0.1, 2), (0.4, 3)]
const FLIPPED = [1.0 2.0; 3.0 4.0]'
const SPANNED = view([1.0, 2.0, 3.0], 2:3)
const SYMMETRIC = Symmetric([2.0 0.5; 0.5 1.0])
const OF_SYMBOLS = Dict(:a => 0.5, :b => 1.5)
const OF_INTEGERS = Dict(3 => 0.5, 8 => 1.5)
const OUTSIDE = HIDDEN.W
const POLYNOMIAL = let c = [1.0, 2.0, 3.0]; x -> c[1] + c[2] * x + c[3] * x^2; end
rate = 0.25
turns = 3
observed = ([0.1 0.4 0.7; 0.3 0.2 0.9], [1.0, 0.5, 0.2])
samples = [([0.1, 0.3], 1.0), ([0.4, 0.2], 0.5)]
options = (step = 0.1, turns = 4, act = sin, inner = (scale = [2.0, 0.5],))
layers = [HIDDEN, HIDDEN]
nothing_yet = nothing
activation = sin
limits = (0.0, 1.0)
@case("global_layer", x -> sum(HIDDEN(x)), [0.4, 0.3])
@case("global_array_of_two_names", x -> sum(HIDDEN(x)) + sum(OUTSIDE * x), [0.4, 0.3])
@case("global_network", x -> (for layer in NETWORK; x = layer(x); end; sum(x)), [0.4, 0.3])
@case("global_named_tuple", x -> (for i in 1:SCHEDULE.steps; x -= SCHEDULE.rates[i] * sin(x); end; x), 0.4)
@case("global_arrays_of_arrays_and_tuples", x -> sum(x * r[1] + x^2 * r[2] for r in ROWS) + sum(p[1] * x^p[2] for p in PAIRS_OF_BOTH), 0.4)
@case("global_wrapped_arrays", x -> sum(FLIPPED * [x, 2x]) + sum(x .* SPANNED) + dot([x, x^2], SYMMETRIC * [x, x^2]), 0.4)
@case("global_dictionaries", x -> x * OF_SYMBOLS[:a] + x^2 * OF_SYMBOLS[:b] + x^3 * OF_INTEGERS[8] + sum(c * x^k for (k, c) in OF_INTEGERS), 0.4)
@case("global_closure", x -> POLYNOMIAL(x) * x, 0.4)
@case("variable_numbers", x -> (s = 0.0; for i in 1:turns; s += rate * x^i; end; s), 0.4)
@case("variable_data", w -> sum(abs2, observed[1]' * w .- observed[2]) + rate * sum(abs2, w), [0.4, 0.3])
@case("variable_samples", w -> (s = 0.0; for (x, y) in samples; s += (dot(w, x) - y)^2; end; s), [0.4, 0.3])
@case("variable_options", x -> (for i in 1:options.turns; x -= options.step * options.act(x); end; x * options.inner.scale[2]), 0.4)
@case("variable_layers", x -> (for layer in layers; x = layer(x); end; sum(x)), [0.4, 0.3])
@case("variable_without_a_number", x -> nothing_yet === nothing ? activation(x) * clamp(x, limits...) : x, 0.4)

# Dictionaries with texts, and what depends on a dimension.
@case("dictionary_of_texts", x -> (d = Dict("a" => x[1], "b" => x[2]); d["a"] *= d["b"]; d["c"] = x[1]; d["a"] * get(d, "c", 0.0) + get(d, "d", 2.0) * x[2] + length(d) * x[1]), [0.4, 0.3])
@case("dictionary_that_shrinks", x -> (d = Dict(:a => x[1], :b => x[2]); delete!(d, :a); haskey(d, :a) ? x[1] : pop!(d, :b)^2), [0.4, 0.3])
@case("cat_along_a_dimension", A -> weighted(cat(A, A', dims = 1)) + weighted(sin.(cat(A, 2A, dims = 2))) + weighted(cat(A, A'; dims = 3)), [0.4 0.3; 0.2 0.1])
@case("slices", A -> sum(sum(r)^2 for r in eachslice(A, dims = 1)) + sum(prod(c) for c in eachslice(A, dims = 2)), [0.4 0.3; 0.2 0.1])
@case("deep_copy", x -> (y = deepcopy(x); y[1] = x[2]^2; sum(y)), [0.4, 0.3])
@case("sort_of_rows_and_columns", A -> weighted(sort(A, dims = 2)) + weighted(sort(A, dims = 1, rev = true)), [1.0 3; 2 0.5])
@case("sum_over_a_tuple_by_number", a -> (w = (0.5, 0.8, 0.5); a * sum(w[i] * sin(a * i) for i in 1:3)), 0.8)
@case("literal_with_missing", x -> sum(skipmissing([x[1], missing, x[2]^2])) + sum(coalesce.([x[1]^2, missing], 0.5)), [0.4, 0.3])

end
