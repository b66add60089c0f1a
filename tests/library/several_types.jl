# More functions: numbers, elements, objects and functions of several types in one place. Evaluated in the module of functions.jl.

# Matrices of integers, of Bools and of complex numbers, times such of floats.
@case("integer_matrix_products", P -> (H = [1 0; 2 1; 3 4]; sum(H * P * H') + weighted(vec(P * [1 2 3; 4 5 6]))), [1.0 0.3; -0.4 0.8])
@case("masks_as_matrices", A -> (D = A .> 0.35; sum(abs2, A' * D) + sum(D * A')), [0.4 0.3; 0.1 0.5; 0.7 0.8])
@case("permuted_rows", A -> weighted(vec(Matrix(1I, 3, 3)[[3, 1, 2], :] * A)), [0.4 0.3; 0.1 0.5; 0.7 0.8])
@case("complex_times_real_matrix", A -> (F = [cis(-2 * j * k / 3) for j in 0:2, k in 0:2]; sum(abs2, F * A) + real(sum(F * A[:, 1])) + sum(abs2, A' * F)), [0.4 0.3; 0.1 0.5; 0.7 0.8])
@case("integer_row_times_vector", u -> [1, 2, 3]' * u + dot([3, 2, 1], sin.(u)), [0.4, 0.3, 0.2])
@case("least_squares_of_integers", b -> weighted([1 2; 3 4; 5 6; 7 9] \ b), [0.4, 0.3, 0.2, 0.9])
@case("matrix_of_several_types", x -> (Y = [0 -im; 1im x]; real(x * Y[1, 2] * Y[2, 1]) * real(Y[2, 2])), 0.4)

# Objects of more than four types, and functions that change what they are given, one after the other.
abstract type Step end
struct Doubled <: Step end
struct Increased <: Step end
struct Squared <: Step end
struct Halved <: Step end
struct Shifted <: Step; by::Float64; end
taken(::Doubled, r) = 2r
taken(::Increased, r) = r + 1
taken(::Squared, r) = r^2
taken(::Halved, r) = r / 2
taken(s::Shifted, r) = r - s.by * r
@case("objects_of_five_types", x -> (r = x; for s in Step[Doubled(), Increased(), Squared(), Halved(), Shifted(0.3)]; r = taken(s, r); end; r), 0.4)
changed!(::Doubled, r) = (r[] *= 2)
changed!(::Increased, r) = (r[] += 1)
@case("objects_for_each", u -> (r = Ref(u[1]); foreach(s -> changed!(s, r), Step[Doubled(), Increased(), Doubled()]); r[] * u[2]), [0.4, 0.3])
@case("functions_for_each", u -> (r = Ref(u[1]); foreach(h -> h(r), Function[s -> (s[] *= 2), s -> (s[] += u[2])]); r[]^2), [0.4, 0.3])
@case("functions_that_change_until_one_says_so", u -> (r = copy(u); n = count(h -> h(r), Function[s -> (s[1] *= s[2]; true), s -> (s[2] += s[1]; false)]); n * r[1] * r[2]), [0.4, 0.3])

const STEPS_OF = Real[0.5, 2, 3]
@case("global_numbers_of_several_types", x -> x * STEPS_OF[1]::Float64 + x^2 * STEPS_OF[2]::Int, 0.4)

# Sums that start as integers and become floats.
combined(a, b, c) = muladd(a, b, c) + clamp(c, -1.0, 1.0)
function three_sums(u)
    a = 0
    b = 0
    c = 0
    for x in u
        a += x
        b += x^2
        c -= x
    end
    return combined(a, b, c) + a * b * c + (a + b + c + length(u)) * sum([a, b, c])
end
@case("three_sums_from_integers", u -> three_sums(u), [0.4, 0.3, 0.2])
@case("objects_without_fields_for_each", u -> (r = Ref(u[1]); foreach(s -> (r[] = taken(s, r[]) * u[2]), Step[Doubled(), Increased(), Squared(), Halved(), Increased()]); r[]), [0.4, 0.3])

# Fields without types, of which one follows from the other.
mutable struct Moving; x; v; end
moved!(p::Moving, dt) = (p.v += p.x * dt; p.x += p.v * dt; p)
@case("fields_that_follow_from_each_other", u -> (p = Moving(u[1], 0.0); moved!(p, u[2]); moved!(p, u[2]); p.x * p.v), [0.4, 1.1])

# Fields without types that hold integers or nothing first, and floats then.
mutable struct Running; sum; count; best; end
function seen!(r::Running, x)
    r.sum += x
    r.count += 1
    r.best = r.best === nothing ? x : max(r.best, x)
    return r
end
@case("running_sum_and_maximum", u -> (r = Running(0, 0, nothing); foreach(x -> seen!(r, x), u); r.sum / r.count + r.best), [0.4, 0.3, 0.5])
@case("fields_that_become_floats", u -> (r = Running(0, 0, 0); for x in u; r.sum += x; r.count += 1; r.best += r.sum * x; end; r.best / r.count), [0.4, 0.3, 0.2])
mutable struct Heavy; rate; velocity; steps; end
step!(m::Heavy, g) = (m.steps += 1; m.velocity = 0.9 * m.velocity + 0.1 * g; m.rate * m.velocity / (1 - 0.9^m.steps))
@case("velocity_that_starts_at_zero", x -> (m = Heavy(0.1, 0, 0); for _ in 1:4; x -= step!(m, 2x + sin(x)); end; x), 1.5)
function largest_and_least(u)
    largest = 0
    for x in u
        if x > largest
            largest = x
        end
    end
    least = nothing
    for x in u
        least = least === nothing ? x : min(least, x)
    end
    return (largest - least) * largest
end
@case("largest_from_zero_and_least_from_nothing", u -> largest_and_least(u), [0.4, 0.3, 0.2])

# Arrays whose first element is an integer, made over ranges that are known when they are compiled, and integers that are asked for.
@case("comprehension_from_an_integer", x -> sum([i > 1 ? x * i : 0 for i in 1:3]), 0.4)
@case("map_from_an_integer", x -> sum(map(i -> i > 1 ? x^i : 1, 1:3)), 0.4)
@case("matrix_of_integers_and_floats", x -> (v = [i == j ? 1 : x for i in 1:2, j in 1:2]; sum(v) * v[1, 2]), 0.4)
@case("comprehension_in_try", x -> (try; v = [k == 0 ? 1 : x^k / k for k in 0:3]; v[2] + v[3]; catch; -1.0; end), 0.4)
@case("integer_that_is_asked_for", x -> (v = []; push!(v, 2); push!(v, x); v[1] isa Int ? x^2 : 2x), 0.4)
@case("integers_that_closures_ask_for", x -> (v = Any[1, x]; sum(i -> v[i] isa Int ? x^2 : 2x, 1:2)), 0.4)
mutable struct ScoreOfAny
    score
    kept
end
@case("named_tuple_of_a_field_without_type", x -> (u = ScoreOfAny(max(x[1], sum(x)), x .* x); t = (a = u.score, k = 2); t.a * t.k), [0.4, 0.3])

# Tuples of functions gone through in comprehensions, of which each pair has a method of its own; and tuples splatted together.
function over_pairs_of_functions(x)
    square(v) = v^2
    triple(v) = 3v
    inverse(v) = 1 / v
    values = [g(x[1]) / h(x[2]) for (g, h) in ((square, triple), (sin, inverse), (exp, sqrt))]
    return values[1] + 10values[2] + 100values[3]
end
@case("pairs_of_functions", x -> over_pairs_of_functions(x), [0.7, 1.3])
@case("functions_with_numbers", x -> weighted([g(x[1]) * h for (g, h) in ((sin, 1.0), (exp, 2.0), (tan, 3.0))]), [0.7])
@case("functions_zipped", x -> weighted([g(x[1]) / h(x[1]) for (g, h) in zip((sin, exp, tan), (cos, sqrt, abs))]), [0.7])
@case("tuples_splatted_together", x -> (u = ntuple(i -> x[mod1(i, 3)]^i, 5); v = ntuple(i -> i * u[i], Val(3)); maximum((u..., v...)) + u[4]), [0.7, 1.3, -0.4])

# A list of the program's own, whose state is a link or nothing, behind an iterator of the library's.
struct ListLink{T}; value::T; next::Union{Nothing,ListLink{T}}; end
struct LinkedList{T}; first::Union{Nothing,ListLink{T}}; end
Base.iterate(list::LinkedList, link = list.first) = link === nothing ? nothing : (link.value, link.next)
Base.IteratorSize(::Type{<:LinkedList}) = Base.SizeUnknown()
linked(x::Vector{T}) where {T} = LinkedList{T}(ListLink{T}(x[1], ListLink{T}(x[2], ListLink{T}(x[3], nothing))))
@case("enumerated_list", x -> (s = zero(x[1]); for (i, v) in enumerate(linked(x)); s += i * v^2; end; s), [0.7, 1.3, -0.4])

# What is returned waits until `finally` is done, on the way on which something was thrown, too.
root_or_opposite(v, r) = try; v > 1 && return v * r[]; return sqrt(v); catch; return -v; finally; r[] += v; end
@case("returned_or_caught_through_finally", x -> (r = Ref(x[2]); sum(root_or_opposite(v, r) for v in x) + r[]), [0.7, 1.3, -0.4])

# A tree that is fitted: leaves and splits, made in turn, of elements that were chosen.
struct FittedLeaf{T}; v::T; end
struct FittedSplit{T}; at::T; below::Union{FittedLeaf{T},FittedSplit{T}}; above::Union{FittedLeaf{T},FittedSplit{T}}; end
soft_value(leaf::FittedLeaf, z) = leaf.v
soft_value(split::FittedSplit, z) = (p = 1 / (1 + exp(2 * (split.at - z[1]))); p * soft_value(split.above, z) + (1 - p) * soft_value(split.below, z))
function fitted(zs, ys, depth)
    (depth == 0 || length(ys) < 2) && return FittedLeaf(sum(ys) / length(ys))
    at = sort(first.(zs))[length(zs) ÷ 2]
    is_below = [z[1] <= at for z in zs]
    (all(is_below) || !any(is_below)) && return FittedLeaf(sum(ys) / length(ys))
    return FittedSplit(at, fitted(zs[is_below], ys[is_below], depth - 1), fitted(zs[.!is_below], ys[.!is_below], depth - 1))
end
function soft_tree(x)
    zs = [(x[i], x[i+1]) for i in 1:5]
    tree = fitted(zs, [x[i]^2 for i in 1:5], 2)
    return sum(soft_value(tree, z) for z in zs)
end
@case("tree_fitted", x -> soft_tree(x), [0.3, 0.8, -0.4, 1.1, 0.9, 1.5])

# A field that only one of the types has which the value may be of.
@noinline made_of_two(x, leaf) = leaf ? FittedLeaf(x) : FittedSplit(x^2, FittedLeaf(x), FittedLeaf(2x))
@case("field_of_one_of_two_types", x -> made_of_two(x, x > 1).at * x, 0.7)

# Negative powers that are written in code, of what may be an integer: Julia inverts that first.
@case("negative_powers_of_reals", x -> (t = Real[2, x]; t[1]^-1 * t[2] + t[2]^-2 * t[1]^-3), 0.4)

# Integers among floats that are written so, in a matrix that is looked at the other way.
@case("ones_among_floats_turned", x -> (m = [i == j ? 1 : x for i in 1:2, j in 1:2]; sum(m') * x), 0.4)
