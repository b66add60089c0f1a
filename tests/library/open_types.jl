# More functions, which leave the compiler in doubt about types: written as one writes Julia before one knows that it matters. Evaluated in the module of functions.jl.

# Floats, or integers.
relu(x) = x > 0 ? x : 0
layer(W, x) = relu.(W * x)
@case("broadcast_of_both", x -> sum(relu.(x)) + sum(relu.(x)[1:2]), v)
@case("map_of_both", x -> (y = map(relu, x); y[1] * y[2] + sum(abs2, y)), v)
@case("comprehension_of_both", x -> sum([relu(t) for t in x]) + sum([i == j ? x[i] : 0 for i in 1:3, j in 1:3]), v)
@case("layers_of_both", (A, x) -> sum(layer(A, layer(A, x))), A, v)
@case("matrix_of_both", A -> sum(relu.(A * A) .* relu.(A)), A)
@case("ifelse_of_both", x -> sum(ifelse.(x .> 0, x, 0)), v)
@case("only_integers_of_both", x -> sum(relu.(-abs.(x))) + x[1], v)

# Arrays that may hold anything.
@case("pushed_numbers", x -> (xs = []; for t in x; push!(xs, t^2); end; s = 0.0; for t in xs; s += t; end; s + sum(xs) * xs[1]), v)
@case("pushed_numbers_mapped", x -> (xs = []; for t in x; push!(xs, t^2); end; sum(map(sin, xs)) + sum([cos(t) for t in xs])), v)
@case("pushed_arrays", (A, x) -> (hs = []; for t in 1:3; x = tanh.(A * x); push!(hs, x); end; sum(hs[end]) + sum(hs[1] .* hs[2]) + sum(sum(h) for h in hs)), A, v)
@case("numbers_in_any", x -> (xs = Any[x[1], 2, x[2]^2]; xs[1] * xs[2] + xs[3] + length(xs)), v)
@case("numbers_in_reals", x -> (xs = Real[x[1], 2, x[2]^2]; s = 0.0; for t in xs; s += t * t; end; s * sum(xs)), v)
@case("functions_in_an_array", x -> (y = x[1]; for f in [sin, cos, tanh]; y = f(y); end; y), v)
@case("functions_in_any", x -> (y = x[1]; for f in Any[sin, t -> t^2]; y = f(y); end; y), v)

# Large matrices of numbers of two types, and complex ones.
@case("matrix_of_sixteen", x -> (A = [x[1] 0 0 2; 0 1 0 x[2]; 0 0 x[3] 0; 0 0 0 1]; sum(A * A)), v)
@case("complex_matrix_products", x -> (A = complex.(reshape([x; x[1]], 2, 2), 1.0); sum(abs2, A * A) + sum(abs2, A * A[:, 1])), v)

# Code that logs.
@case("warning_not_given", x -> (x[1] < -5 && @warn("small"); x[1]^2 * x[2]), v)

# Dictionaries made of what gives pairs.
@case("dictionary_of_generator", x -> (d = Dict(i => x[i]^2 for i in 1:3); d[1] * d[2] + d[3]), [0.4, 0.3, 0.7])
@case("dictionary_of_zip", x -> (d = Dict(zip((:a, :b, :c), x)); d[:a] * d[:b] + d[:c]^2), [0.4, 0.3, 0.7])
@case("dictionary_of_dictionary", x -> (d = Dict("a" => x[1]); e = Dict(k => 2t for (k, t) in d); e["a"] * x[2]), [0.4, 0.3])

# Fields without a type, or of an abstract one.
struct Pendulum
    mass
    length
end
energy(p::Pendulum, angle) = p.mass * p.length^2 * (1 - cos(angle))
@case("fields_without_types", x -> energy(Pendulum(x[1], 2.0), x[2]) + energy(Pendulum(1.0, x[3]), 0.3), v)
struct Affine
    W::AbstractMatrix
    b::AbstractVector
    act::Function
end
(a::Affine)(x) = a.act.(a.W * x .+ a.b)
@case("fields_of_abstract_types", (A, x) -> (for a in [Affine(A, x, tanh), Affine(2A, x[end:-1:1], tanh)]; x = a(x); end; sum(x)), A, v)
struct Gate
    act::Function
end
through(g::Gate, x) = g.act(x)
@case("fields_of_some_functions", x -> through(Gate(tanh), x[1]) + through(Gate(sin), x[2]) * x[1], v)
mutable struct Oscillator
    x
    v
end
function oscillate(k)
    s = Oscillator(1.0, 0.0)
    for _ in 1:5
        s.v = s.v - 0.1 * k * s.x
        s.x = s.x + 0.1 * s.v
    end
    return s.x^2
end
@case("changed_fields_without_types", k -> oscillate(k), 0.7)
struct Whatever
    it
end
@case("fields_of_two_types", x -> Whatever(x[1]).it * Whatever(2).it + x[2], v)

# Values that may be nothing, where branches say that they are not.
slab_hit(a, d) = d[1] < a ? nothing : a * d[2]
function nearest_hit(d)
    nearest, n = Inf, zeros(3)
    for a in (0.1, 0.2)
        t = slab_hit(a, d)
        if t !== nothing && t < nearest
            nearest, n = t, t * d
        end
    end
    return sum(n) + nearest
end
@case("nothing_asked_with_and", d -> nearest_hit(d), [0.3, 0.5, 1.0])
last_above(x) = (b = nothing; for v in x; if v > 0.4; b = (v, 2v); end; end; b[1] * b[2])
@case("nothing_replaced_in_a_loop", x -> last_above(x), [0.3, 0.5, 0.7])

# Calls with the elements of arrays that may hold anything.
function columns_put_side_by_side(x)
    columns = []
    for t in x
        push!(columns, [t, t^2])
    end
    M = hcat(columns...)
    return sum(M * M')
end
@case("splat_of_columns_of_any", x -> columns_put_side_by_side(x), v)
product_and_first(a, b, c) = a[1] * b[2] + c[1]
function called_with_what_was_collected(x)
    parts = Any[]
    for t in x
        push!(parts, [t, t^2])
    end
    return product_and_first(parts...)
end
@case("splat_of_any_to_a_method", x -> called_with_what_was_collected(x), v)
function largest_and_sum_of_any(x)
    numbers = []
    for t in x
        push!(numbers, t)
    end
    return max(numbers...) * +(numbers...)
end
@case("splat_of_numbers_of_any", x -> largest_and_sum_of_any(x), v)
