# More functions: objects of which the code says only that they are of an abstract type of the program, or elements of a tuple. Evaluated in the module of functions.jl.

# Layers in a tuple of any length.
struct Mapped{F,T}; W::Matrix{T}; act::F; end
(l::Mapped)(x) = l.act.(l.W * x)
struct Rescaled; by::Int; end
(l::Rescaled)(x) = l.by .* x
struct Normalized; end
(::Normalized)(x) = x ./ sqrt(sum(abs2, x))
struct Stacked{T}; layers::T; end
(c::Stacked)(x) = (for l in c.layers; x = l(x); end; x)
@case("chain_of_five_layers", (W, x) -> sum(abs2, Stacked((Mapped(W, tanh), Mapped(W, sin), Rescaled(2), Normalized(), Mapped(W, identity)))(x)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("chain_in_a_chain", (W, x) -> sum(Stacked((Mapped(W, tanh), Stacked((Mapped(W, sin), Mapped(W, cos), Rescaled(3))), Mapped(W, exp)))(x)), [0.4 0.3; -0.1 0.5], [0.7, 0.8])
@case("functions_one_after_the_other", x -> (s = x; for f in (sin, cos, tanh, exp); s = f(s); end; s), 0.4)
@case("weighted_functions", x -> (s = zero(x); for (f, w) in ((sin, 2), (cos, 3), (tanh, 5)); s += w * f(x); end; s), 0.4)
@case("objects_by_number", x -> (fs = (Doubled(), Squared(), Increased(), Halved()); t = one(x); for i in 1:length(fs); t *= taken(fs[i], x + i); end; t), 0.4)

abstract type Solid end
struct Ball <: Solid; r; end
struct Brick <: Solid; r; h; end
struct Cone <: Solid; r; h; tip::Symbol; end
volume(s::Ball) = 4 * s.r^3
volume(s::Brick) = s.r^2 * s.h
volume(s::Cone) = s.r * s.h / 3
solids(u) = Solid[Ball(u[1]), Brick(u[2], u[3]), Cone(u[3], u[1], :up)]
@case("sum_of_fields", u -> sum(s.r for s in solids(u)) * prod(volume(s) for s in solids(u)), [0.4, 0.7, 0.9])
@case("numbered_objects", u -> sum(i * volume(s) for (i, s) in enumerate(solids(u))) + sum(w * volume(s) for (w, s) in zip(u, solids(u))), [0.4, 0.7, 0.9])
@case("field_of_one_of_several", u -> solids(u)[2].h * [Ball(u[1]), Brick(u[2], u[3])][1].r, [0.4, 0.7, 0.9])
@case("sorted_objects", u -> (v = sort(solids(u), by = volume); volume(v[1]) - 2 * volume(v[3])), [0.4, 0.7, 0.9])
@case("filtered_objects", u -> sum(volume, filter(s -> volume(s) > 1//3, solids(u))) * sum(volume, filter(s -> s isa Ball, solids(u))), [0.4, 0.7, 0.9])
@case("appended_objects", u -> (v = Solid[Ball(u[1])]; append!(v, [Brick(u[2], u[3])]); append!(v, solids(u)); sum(volume, v)), [0.4, 0.7, 0.9])
@case("objects_by_key", u -> (d = Dict{String,Solid}("a" => Ball(u[1]), "b" => Brick(u[2], u[3])); volume(d["a"]) * volume(d["b"])), [0.4, 0.7, 0.9])

# Elements that hold more than numbers are copied one by one.
@case("slices_of_named_numbers", u -> (p = [(:a, u[1]), (:b, u[2]), (:c, u[3])]; sum(last.(p[2:3])) * last(vcat(p[1:1], p[3:3])[2])), [0.4, 0.7, 0.9])
@case("sorted_vectors_with_numbers", u -> (p = sort([(u, u[2]), (2u, u[1])], by = last); p[1][1][3] * p[2][1][3] + p[1][2]^2), [0.4, 0.7, 0.9])

@case("sorted_named_numbers", u -> (p = sort([(n = 1, v = u[1]), (n = 2, v = u[2]), (n = 3, v = u[3])], by = q -> q.v); p[1].v * p[1].n + p[3].v^2), [0.4, 0.2, 0.9])

@case("taken_out", u -> (v = copy(u); x = splice!(v, 2); y = splice!(v, 2:3); x * sum(abs2, v) + y[1] * y[2]^2), [0.4, 0.7, 0.9, 0.2])
@case("logged", x -> (x > 0 && @debug("positive", x); x^2), 0.4)
@case("steps_of_a_range", (a, b) -> (x = range(a, b, length = 5); sum((x[2:end] .- x[1:end-1]) .* sin.((x[2:end] .+ x[1:end-1]) ./ 2))), 0.2, 1.9)
