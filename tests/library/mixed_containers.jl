# More functions: arrays and dictionaries whose elements are of several types, of which a dump knows what it puts in them. Evaluated in the module of functions.jl.

# TermOfOne type of layers, with functions of several types.
struct AffineLayer{T,F}; W::Matrix{T}; b::Vector{T}; act::F; end
(l::AffineLayer)(x) = l.act.(l.W * x .+ l.b)
struct Untyped; layers; end
(c::Untyped)(x) = (for l in c.layers; x = l(x); end; x)
struct UntypedTuple; layers; end
(c::UntypedTuple)(x) = (for l in c.layers; x = l(x); end; x)
struct Folded{T}; layers::T; end
(c::Folded)(x) = foldl((x, l) -> l(x), c.layers; init = x)
affine_layers(W, x) = [AffineLayer(W, [x[1], one(x[1]) / 4], tanh), AffineLayer(2 .* W, [zero(x[1]), x[2]], identity)]
@case("vector_of_layers", (W, x) -> (y = x; for l in affine_layers(W, x); y = l(y); end; sum(abs2, y)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("layers_in_a_field_without_type", (W, x) -> sum(abs2, Untyped(affine_layers(W, x))(x)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("layers_in_a_tuple_without_type", (W, x) -> sum(UntypedTuple((AffineLayer(W, x, sin), AffineLayer(W, x, cos), AffineLayer(W, x, tanh)))(x)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("layers_folded", (W, x) -> sum(abs2, Folded(affine_layers(W, x))(x)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("layers_reduced", (W, x) -> reduce((y, l) -> l(y), affine_layers(W, x); init = x)[1], [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("fields_of_layers", (W, x) -> sum(l.W[1, 2] * sum(l.b) for l in affine_layers(W, x)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])

abstract type Part end
struct Times{T} <: Part; W::Matrix{T}; end
struct Each{F} <: Part; f::F; end
(p::Times)(x) = p.W * x
(p::Each)(x) = p.f.(x)
struct Parts; list::Vector{Part}; end
(c::Parts)(x) = (for p in c.list; x = p(x); end; x)
@case("parts_with_parameters", (W, x) -> sum(Parts([Times(W), Each(tanh), Times(W), Each(exp)])(x)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("parts_pushed", (W, x) -> (v = Part[]; push!(v, Times(W)); push!(v, Each(tanh)); y = x; for p in v; y = p(y); end; sum(y)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("parts_from_a_comprehension", (W, x) -> (v = [i == 1 ? Times(W) : Each(sin) for i in 1:2]; y = x; for p in v; y = p(y); end; sum(y)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("parts_mapped", (W, x) -> sum(map(p -> sum(p(x)), Part[Times(W), Each(tanh)]) .^ 2), [0.4 0.3; -0.1 0.5], [0.7, 0.8])

mutable struct Wheel <: Part; r; end
mutable struct Crank <: Part; r; h; end
turned!(p::Part, k) = (p.r = p.r * k; p)
@case("objects_of_several_types_changed", u -> (v = Part[Wheel(u[1]), Crank(u[2], u[3])]; for p in v; p.r *= 3; end; sum(p.r^2 for p in v)), [0.4, 0.7, 0.9])
@case("objects_of_several_types_changed_by_a_function", u -> (v = [Wheel(u[1]), Crank(u[2], u[3])]; foreach(p -> turned!(p, u[3]), v); v[1].r * v[2].r), [0.4, 0.7, 0.9])

# Functions.
@case("sum_over_functions", u -> sum(f(u[1]) * u[2] for f in [sin, cos, exp]), [0.4, 0.7])
@case("functions_mapped", u -> prod(map(f -> f(u[1]), [sin, cos, exp])), [0.4, 0.7])
@case("functions_folded", u -> foldl((y, f) -> f(y), [sin, cos, exp]; init = u[1]), [0.4, 0.7])
@case("closures_in_nested_loops", u -> (y = one(u[1]); for f in Function[v -> v * u[1], v -> v + u[2]], _ in 1:3; y = f(y); end; y), [0.4, 0.7])
@case("functions_by_key", u -> (d = Dict(:a => sin, :b => cos); d[:a](u[1]) * d[:b](u[2])), [0.4, 0.7])
mutable struct Steps; list::Vector{Any}; values; end
@case("steps_recorded", u -> (s = Steps(Any[], [u[1]]); push!(s.list, v -> v * u[2]); push!(s.list, sin); for f in s.list; push!(s.values, f(s.values[end])); end; sum(s.values)), [0.4, 0.7])

# Dictionaries of values of several types.
@case("matrix_and_vector_by_key", (W, x) -> (p = Dict("w" => W, "b" => x); sum(tanh.(p["w"] * x .+ p["b"]))), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("number_and_count_by_key", u -> (d = Dict("w" => u[1], "n" => 2); d["w"]^2 * d["n"]), [0.4, 0.7])

# Trees, whose nodes are of types with parameters.
abstract type Term end
struct VariableTerm <: Term; i::Int; end
struct KnownTerm{T} <: Term; v::T; end
struct TermOfTwo{F} <: Term; f::F; a::Term; b::Term; end
struct TermOfOne{F} <: Term; f::F; a::Term; end
value_of(t::VariableTerm, u) = u[t.i]
value_of(t::KnownTerm, u) = t.v
value_of(t::TermOfTwo, u) = t.f(value_of(t.a, u), value_of(t.b, u))
value_of(t::TermOfOne, u) = t.f(value_of(t.a, u))
@case("terms_with_parameters", u -> sum(value_of(t, u) for t in Term[TermOfOne(sin, VariableTerm(1)), TermOfTwo(*, VariableTerm(2), KnownTerm(3)), VariableTerm(1)]), [0.4, 0.7])

# What is written among integers.
@case("mapped_to_number_or_integer", u -> sum(map(i -> i > 1 ? u[i] : i, 1:3)), [0.4, 0.7, 0.9])
@case("greatest_of_number_or_integer", u -> maximum(map(t -> 2t > 1 ? t : 0, u)), [0.4, 0.7, 0.9])
@case("history_of_pairs", u -> (h = []; y = u[1]; for i in 1:3; y = sin(y) + u[2]; push!(h, (y, i)); end; sum(p[1] * p[2] for p in h)), [0.4, 0.7])

# Arithmetic on what only the run knows: fields and elements that may be numbers or arrays, layers that give either, and closures that call themselves.
struct HoldsAnything
    a
    b
end
@case("fields_of_numbers_and_arrays", u -> (v = [HoldsAnything(u[1], 2), HoldsAnything(u, u[2])]; v[1].a * v[1].b + sum(v[2].a) * v[2].b), [0.7, 1.3, -0.4])
@case("product_of_three_of_anything", u -> (v = Any[u[1], u, 3, "a"]; v[1] * sum(v[2]) * v[3]), [0.7, 1.3, -0.4])
@case("layers_that_end_in_a_sum", u -> (h = u; for layer in Any[x -> tanh.(x), x -> x .* 2, sum]; h = layer(h); end; h), [0.7, 1.3, -0.4])
function remembered_fibonacci(u)
    memory = Dict{Int,eltype(u)}()
    number(n) = n <= 1 ? u[n+1] : get!(() -> number(n - 1) * 0.5 + number(n - 2), memory, n)
    return number(6)
end
@case("memory_of_a_closure_that_calls_itself", u -> remembered_fibonacci(u), [0.7, 1.3])
function warped_distance(u)
    memory = Dict{Tuple{Int,Int},eltype(u)}()
    function distance(i, j)
        i == 0 && j == 0 && return zero(eltype(u))
        (i == 0 || j == 0) && return oftype(u[1], 1000)
        get!(memory, (i, j)) do
            abs2(u[i] - 0.5 * u[j]) + min(distance(i - 1, j), distance(i, j - 1), distance(i - 1, j - 1))
        end
    end
    return distance(3, 3)
end
@case("memory_of_pairs", u -> warped_distance(u), [0.7, 1.3, -0.4])
@case("elements_of_views_and_vectors", u -> (v = AbstractVector{eltype(u)}[u, u[2:3], view(u, 1:2)]; s = zero(eltype(u)); for y in v; s += sum(abs2, y) * length(y); end; s), [0.7, 1.3, -0.4])

# Dictionaries with keys of any type.
@case("dictionary_of_anything", u -> (d = Dict(); d["a"] = u[1]; d[:b] = u; d["a"] * sum(d[:b])), [0.7, 1.3, -0.4])
@case("dictionary_by_keys_of_several_types", u -> (d = Dict{Any,Any}(); for k in Any["a", :b, 3]; d[k] = u[1] * length(d); end; d["a"] + d[:b] * d[3] + u[2]), [0.7, 1.3])
@case("dictionary_without_a_key", u -> (d = Dict{Any,Any}(1 => u[1], "two" => u[2]); delete!(d, 1); haskey(d, 1) ? u[3] : get(d, "two", 0.0)^2 + get(d, 5, u[3])), [0.7, 1.3, -0.4])
@case("dictionary_of_many_keys", u -> (d = Dict(); for i in 1:20; d[i] = u[1] * i; end; d[7.0] * d[20]), [0.7])

# Keyword arguments, and named tuples, in which a value may be nothing, or a number of another type.
scaled_if(x; k = nothing) = k === nothing ? x : x * k
@case("keyword_that_may_be_nothing", v -> (k = v[1] > 0.5 ? v[2] : nothing; scaled_if(v[3]; k = k)), [0.7, 1.3, -0.4])
@case("keyword_that_is_nothing_here", v -> (k = v[1] > 2 ? v[2] : nothing; scaled_if(v[3]; k = k) * v[1]), [0.7, 1.3, -0.4])
@case("keyword_in_a_loop", v -> (best = nothing; s = 0.0; for x in v; s += scaled_if(x; k = best); best = x; end; s), [0.7, 1.3, -0.4])
@case("named_tuple_with_what_may_be_nothing", v -> (k = v[1] > 0 ? v[2] : nothing; t = (a = k, b = v[1]); t.a === nothing ? t.b : t.a * t.b), [0.7, 1.3, -0.4])
