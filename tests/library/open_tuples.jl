# More functions, in which only the run knows how many elements a tuple has, or with how many arguments a function is called. Evaluated in the module of functions.jl.

# Tuples of the elements of arrays.
@case("tuple_of_vector", x -> (t = Tuple(x); t[1] * t[2] + sum(t)), v)
@case("tuple_splatted", x -> (t = (x...,); s = 0.0; for a in t; s += a^2 * length(t); end; s), v)
@case("tuple_of_generator", x -> (t = Tuple(x[i]^i for i in 1:3); t[1] * t[3]), v)
@case("tuple_collected", x -> (t = (x...,); y = collect(t); sum(abs2, y) * minimum(t) * maximum(abs, t)), v)
@case("tuple_mapped", x -> sum(map(t -> t^2, (x...,)) ) * reduce(*, Tuple(x)), v)
@case("tuple_without_first", x -> (t = (x...,); u = Base.tail(t); sum(u) * first(t) * last(t) * u[end]), v)
@case("tuple_of_range", x -> (t = Tuple(x); u = t[2:end]; sum(u) * length(u) + t[end]^2), v)
@case("tuple_compared", x -> (t = Tuple(x); t == (1.0, 2.0) ? x[1] : x[2] * sum(t)), v)
@case("tuple_zipped", x -> sum(a * b * i for (i, (a, b)) in enumerate(zip((x...,), x))), v)
@case("tuple_destructured", x -> (let (a, b, c) = ntuple(i -> x[i] * 2, length(x)); a * b * c end), v)
@case("tuple_of_one_or_other", x -> (t = x[1] > 0 ? Tuple(x) : (x[1], x[2]); sum(t) * t[2]), v)
@case("tuple_in_struct", x -> (h = (a = (x...,), b = 2.0); h.a[1] * h.b * sum(h.a)), v)
@case("tuple_for_polynomial", x -> evalpoly(x[1], Tuple(x)) * evalpoly(x[2], x), v)

# Tuples that functions make, and that grow.
@case("tuple_of_three", x -> (t = ntuple(i -> x[i]^i, 3); t[1] + t[2] * t[3]), v)
@case("tuple_of_length", x -> (t = ntuple(i -> x[i]^i, length(x)); sum(t[i] * i for i in eachindex(t))), v)
@noinline ends_with_first(y) = (y..., y[1])
@case("tuple_returned", x -> (t = ends_with_first(x); t[1] * t[2] + t[end]), v)
@case("tuple_that_grows", x -> (t = (); for a in x; t = (a * length(t), t...); end; t[1] + t[2] * t[end-1]), v)
@case("tuple_of_states", x -> (t = (1.0,); while length(t) < 5; t = (t..., t[end] * x[1] + x[2]); end; t[5] * t[3]), v)

# Functions that collect their arguments.
sum_of_squares(xs...) = sum(abs2, xs) * length(xs)
@case("arguments_collected", x -> sum_of_squares(x...) * sum_of_squares(x[1], x...), v)
product_of(a, rest...) = isempty(rest) ? a : a * product_of(rest...)
@case("arguments_one_by_one", x -> product_of(x...), v)
horner(x, c...) = (s = zero(x); for i in length(c):-1:1; s = s * x + c[i]; end; s)
@case("arguments_as_coefficients", x -> horner(x[1], x...) * horner(x[1], x[2], 3.0, x...), v)
with_weight(a, xs...; weight = 2) = a + sum(abs2, xs) * weight
@case("arguments_and_keyword", x -> with_weight(x[1], x...; weight = 3) * with_weight(x...), v)
times(k, xs::T...) where {T<:Real} = k * sum(xs) * T(2)
@case("arguments_of_one_type", x -> times(3.0, x...), v)
@case("arguments_of_closure", x -> (k = x[1]; f(a...) = k * sum(a); f(x...) + f(x[1:2]...)), v)
sum_of_sums(ms...) = reduce(+, map(sum, ms))
@case("arguments_that_are_arrays", x -> sum_of_sums([x, 2x]...) * sum_of_sums(x, [x, x .^ 2]...), v)
root_of(f, df, z, args...) = (for _ in 1:4; z -= f(z, args...) / df(z, args...); end; z)
@case("arguments_passed_on", x -> root_of((z, p...) -> z^3 - p[1] * z - p[2], (z, p...) -> 3z^2 - p[1], 2.0, x...), v)
@case("arguments_of_some_number", x -> root_of((z, a, b) -> z^3 - a * z - b, (z, a, b) -> 3z^2 - a, 2.0, x[1:2]...), v)
@case("arguments_one_or_two", x -> (z = Complex(x[1:2]...); t = minmax(x[2:3]...); abs2(z^2) * t[1]), v)
@case("pushed_into_itself", x -> (y = copy(x); push!(y, y..., y...); sum(y .* (1:length(y)))), v)
@case("pushed_in_front", (x, z) -> (y = copy(x); pushfirst!(y, z..., y[2]); pushfirst!(y, y...); sum(y .* (1:length(y)))), v, a)
@case("arguments_pushed", x -> (y = copy(x); push!(y, x...); sum(y .* (1:length(y)))), v)

# Methods for tuples are for them.
total_of(x) = sum(x)
total_of(x::Tuple) = prod(x)
@case("tuple_for_method", x -> total_of((x[1], x[2], x[3])) * total_of(x), v)

# What a generator gives as arguments.
struct FourNumbers{T}; w::T; x::T; y::T; z::T; end
@case("generator_splatted", x -> (q = FourNumbers((x[1] / i for i in 1:4)...); q.w * q.x + q.y * q.z * x[2]), [0.9, 0.4])
weighted_sum_of(a, b, c) = a + 2b + 3c
@case("generator_splatted_behind", x -> weighted_sum_of(x[2], (x[1]^i for i in 1:2)...), [0.9, 0.4])
# Of how many elements a tuple of unknown length is, the code says.
struct Jet{N,T}; c::NTuple{N,T}; end
@case("tuple_of_a_vector_in_a_struct", x -> (e = [x, x^2, x^3]; Jet{3,typeof(x)}(Tuple(e)).c[2] * x), 0.4)
@case("tuple_of_a_vector_of_known_length", x -> (e = [x, x^2, x^3]; t = Tuple(e)::NTuple{3,typeof(x)}; t[1] * t[2] + t[3]), 0.4)
# Arguments from the last to the first.
folded_right(x, c...) = foldr((a, sum) -> a + x * sum, c)
@case("arguments_folded_from_the_right", x -> folded_right(x, [1.0, x, x^2]...), 0.4)
horner_backwards(x, c...) = (s = zero(x); for a in reverse(c); s = s * x + a; end; s)
@case("arguments_backwards", x -> horner_backwards(x, [1.0, x, x^2]...), 0.4)
