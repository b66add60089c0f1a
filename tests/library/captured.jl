# More functions, in which closures capture what their types do not tell: types, and variables that are assigned more than once. Evaluated in the module of functions.jl.

# Types.
@case("captured_type", x -> (T = eltype(x); sum(T(i) * x[i] for i in 1:length(x))), v)
@case("captured_type_in_sums", x -> (T = eltype(x); 1 // 2 * sum((T(p[i]) - sum(x[j] * T(p[i])^(j - 1) for j in 1:3))^2 for i in 1:4)), v)
@case("captured_types", x -> (T = eltype(x); S = Int; sum(map(i -> T(S(i)) * x[i]^2, 1:3))), v)
@case("captured_type_of_array", x -> (T = typeof(x); y = map(i -> sum(T([i * x[1], x[2]])), 1:2); y[1] * y[2]), v)

# Variables that are assigned more than once.
capped(x, most) = (n = length(x); if n > most; n = most; end; power(k) = sum(x[i]^k for i in 1:n); power(2) + power(3))
@case("captured_powers", x -> capped(x, 2) * capped(x, 9), v)
@case("captured_ratio", x -> (n = 4; n = length(x); g() = (h = 1 // (n + 1); sum((x[i] + i * h)^2 + h^2 // 2 for i in 1:n)); g()), v)
@case("captured_sum_of_squares", x -> (s = 0.0; foreach(t -> (s += t^2), x); s * x[1]), v)
@case("captured_sum_of_integer", x -> (s = 0; foreach(t -> (s += t^2), x); s * x[1]), v)
@case("captured_array", x -> (y = x; for _ in 1:2; y = y .* y; end; g(i) = sum(y[1:i]); y = 2 * y; g(2) * g(3)), v)
@case("captured_by_two", x -> (s = zero(eltype(x)); add(t) = (s += t; s); scale(t) = (s *= t; s); foreach(add, x); scale(x[1]); add(x[2]); s), v)
@case("captured_in_closure", x -> (n = 2; n += 1; f(k) = (g(i) = x[i] * n^k; g(1) + g(n)); f(1) * f(2)), v)
@case("captured_until", x -> (t = x[1]; n = 0; step!() = (t = cos(t); n += 1; abs(t) > 0.8); while step!() && n < 9; end; t * n), v)
@case("captured_type_and_count", x -> (n = 2; n = length(x); T = eltype(x); g() = sum(T(i) * x[i]^2 for i in 1:n); h() = (k = n; sum(T(k) * t for t in x)); g() + h()), v)

# Variables that are `nothing` until there is a value.
function best_of(x)
    best = nothing
    for t in x
        if best === nothing || t^2 > best
            best = t^2
        end
    end
    scaled() = best * x[1]
    scaled()
end
@case("captured_best", x -> best_of(x), v)
function best_and_place(x)
    best, at = nothing, 0
    foreach(enumerate(x)) do (i, t)
        if best === nothing || sin(t) * i > best
            best, at = sin(t) * i, i
        end
    end
    best * x[at]
end
@case("captured_best_and_place", x -> best_and_place(x), v)
@case("captured_last", x -> (last = nothing; s = zero(eltype(x)); foreach(t -> (last !== nothing && (s += (t - last)^2); last = t), x); s), v)
@case("captured_greatest", x -> (best = nothing; foreach(t -> (best = isnothing(best) ? t^2 : max(best, t^2)), x); best), v)
function squares_once(x)
    squares = nothing
    kept() = (squares === nothing && (squares = x .^ 2); squares)
    sum(kept()) * kept()[1]
end
@case("captured_when_asked_for", x -> squares_once(x), v)

# Closures that are global constants.
made_closure(n, w) = (z, x) -> (s = zero(eltype(x)); for i in 1:n; z[i] = x[i] * w[i]; s += sin(z[i]) * z[mod1(i + 1, i)]; end; s)
const CLOSURE = made_closure(3, (0.5, 2.0, -1.0))
@case("constant_closure", x -> CLOSURE(zeros(eltype(x), 3), x) * x[1], v)
made_boxed(n) = (m = n; m = max(m, 2); y -> 1 // 2 * sum((exp(-y[1] * j / 10) - y[2] * exp(-one(eltype(y)) * j))^2 for j in 1:m))
const BOXED = made_boxed(4)
@case("constant_closure_with_variable", x -> BOXED(x), v)
made_scratch(n) = (m = n; m = n + 1; y -> (m = length(y); sum(abs2, y) * m))
const SCRATCH = made_scratch(4)
@case("constant_closure_that_assigns", x -> SCRATCH(x), v)
made_options(n) = (k = n; k = n + 1; f(y; n = length(y), k = k) = sum(y[i]^k for i in 1:n); f)
const OPTIONS = made_options(2)
@case("constant_closure_with_keywords", x -> OPTIONS(x) + OPTIONS(x, n = 2), v)

# Variables that are not assigned any more once they are captured.
trace_of_square(x) = (x = reshape(x, 2, 2); sum(x[i, i] * x[i, 1] for i in 1:2))
@case("captured_reshaped", x -> trace_of_square(x), p)
@case("captured_in_loop", x -> (r = 0.0; for k in 1:2; y = k; y = x[1:k]; r += sum(y[i]^2 for i in 1:k); end; r), v)
@case("captured_and_changed", x -> (y = 0; y = x[1]; f() = (y = y * x[2]; y); f() + f() * y), v)

# What closures change is not settled.
added(x; init = 0.0) = (s = init; s = s + x[1]; foreach(t -> (s += t), x); s)
@case("captured_in_two_instances", x -> added(x) + 2 * added(x; init = x[2]), v)
function changed_and_read(k)
    m = 0
    m = k
    return y -> (m = m * y; m), () -> m
end
@case("captured_in_two_boxes", x -> ((f, g) = changed_and_read(x[1]); (h, k) = changed_and_read(x[2]); (x[3] > 0 ? f : h)(5.0); g() + 10 * k()), v)

# Variables that are assigned what closures make of them.
@case("captured_and_assigned_from", x -> (v = x; v = [v[j] * 2 for j in 1:2]; sum(v) * v[1]), v)
@case("captured_and_counted_down", x -> (r = 0.1; for _ in 1:3; r -= sum(c * r for c in x); end; r), v)
@case("captured_and_iterated", x -> (v = zeros(3); for _ in 1:4; v = [maximum(x[i] + 0.9 * v[j] for j in 1:3) for i in 1:3]; end; sum(v)), v)
@case("captured_and_mapped_from", x -> (n = 0; s = 0; foreach(t -> (n += 1; s += t * n), x); s / n), v)

# Defaults that are replaced before a closure has them.
scaled_by_default(x; n = nothing) = (n = n === nothing ? 2.0 : n; sum(x[i] * n for i in 1:2))
@case("captured_default_number", x -> scaled_by_default(x) + scaled_by_default(x; n = x[1]), v)
function weighted_by_default(x; w = nothing)
    isnothing(w) && (w = fill(0.5, length(x)))
    return sum(w .* x) + sum(i -> w[i] * x[i]^2, 1:2)
end
@case("captured_default_vector", x -> weighted_by_default(x) * weighted_by_default(x; w = x), v)
@case("captured_reassigned_mapped", x -> (x = x .- 0.1; sum(map(v -> v * x[1], x)) * x[2]), v)

# Variables that a closure is made of and changes, beside a value that is made of them.
@case("captured_and_divided_by_sum", q -> (for n in 1:2; s = sum(abs2, q); q = [q[i] / s for i in 1:2]; end; q[1] - q[2]^2), v)
@case("captured_and_scaled_by_maximum", q -> (for n in 1:3; m = maximum(q); r = q .* 2; q = [q[i] / m + r[i] * q[i] for i in 1:2]; end; q[1] * q[2]), v)
@case("captured_filtered", u -> (u = u .+ 0.5; sum(u[i]^2 for i in 1:3 if isodd(i))), v)
@case("captured_type_of_empty", w -> (T = eltype(w); rows = [T[] for _ in 1:2]; push!(rows[1], w[1]); push!(rows[2], w[2], w[3]); sum(rows[1]) * sum(rows[2])), v)
memo_sum(x) = (memo = Dict{Int,eltype(x)}(); f(i) = (i == 0 && return zero(eltype(x)); haskey(memo, i) && return memo[i]; r = f(i - 1) * x[2] + x[1]; memo[i] = r; r); f(4))
@case("captured_memo", x -> memo_sum(x), v)

# One of several functions.
squared_index(k) = k * k
doubled_index(k) = 2k
next_index(k) = k + 1
previous_index(k) = k - 1
@noinline called_index(f, k) = f(k) - 1
@case("index_by_one_of_four", x -> (g = x[1] > 2 ? squared_index : x[1] > 0 ? next_index : x[1] > -1 ? doubled_index : previous_index; x[called_index(g, 2)]^2), v)
cubed(x) = x^3
@noinline called_twice(f, x) = f(f(x))
@case("one_of_four_functions", x -> (g = x[1] > 2 ? sin : x[1] > 1 ? exp : x[2] < 0 ? cubed : cos; called_twice(g, x[1]) * x[2]), v)

# Keys that are written in code.
letter_count(c) = (d = Dict('m' => 2.0, 'k' => 3.0); d['q'] = d['m'] + 1; delete!(d, 'k'); d[c] * length(d))
@case("keys_of_letters", x -> x[1] * letter_count('m') + x[2] * letter_count('q'), v)
@case("keys_of_symbols", x -> (d = Dict(:w => x[1], :b => x[2]); d[:w] = d[:w] * d[:b]; d[:c] = d[:w] + 1; sum(abs2, values(d)) + d[:c] * d[:b]), v)
@case("letters_compared", x -> sum(c == 'a' ? x[1] : c < 'x' ? x[2] : x[3]^2 for c in ('a', 'b', 'z')), v)

# Values of one of several types, and variables whose types follow from what is made with them.
@case("captured_number_or_integer", x -> (s = x[1] > 0 ? x[1]^2 : 0; sum(s * t for t in x)), v)
@case("captured_fold_from_zero", x -> (s = foldl(+, x; init = 0); sum(s .* x) + sum(t -> s * t, x)), v)
@case("captured_in_own_map", x -> (s = x[1]; s = sum(map(t -> s * t, x)); s), v)
@case("captured_in_own_sine", x -> (s = x[1]; s += sin(sum(collect(s * i for i in 1:3))); s), v)
@case("captured_in_a_tuple", x -> (s = x[1]; s = x[2] * s; p = sum(map(t -> s, x)); sum((x[3], s)) * p), v)
@case("captured_in_array_of_tuples", x -> (w = copy(x); pairs = [(w[i], i) for i in 1:3]; r = pairs[1][1] * pairs[2][2]; w = w .* r; r * sum(w)), v)
@case("captured_and_set_by_slices", x -> (w = copy(x); w = w .* 2; g(t) = t * w[1]; u = copy(x); u[1:2] = w[1:2]; w = w .* x; sum(u) + g(x[2])), v)
@case("captured_and_sorted", x -> (w = x .* 2; m = [w[i] + j * x[1] for i in 1:3, j in 1:3]; w = sort(w); w[1] *= tanh(exp(-abs2(w[2]))); sum(m) + sum(sin, w)), v)
function summed_by_key(x)
    s = zero(eltype(x))
    for i in 1:2
        d = Dict(:p => sqrt(1 + abs2(s)))
        foreach(t -> (s += t), x)
        s += d[:p]
    end
    return s
end
@case("captured_by_key", x -> summed_by_key(x), v)
function summed_and_squared(x)
    s = zero(eltype(x))
    for i in 1:2
        d = abs2(s)
        for j in 1:3
            foreach(t -> (s += t), x)
        end
        s += sin(d)
    end
    return s
end
@case("captured_and_squared_before", x -> summed_and_squared(x), v)
state_of(w) = (c = w; update(t) = (c = tanh(c * t); c); doubled() = c * 2; (update, doubled))
function updated_state(x)
    update, doubled = state_of(x[1])
    foreach(update, x)
    s = doubled() * update(x[2])
    for (a, b) in zip(x, [s for i in 1:3])
        a > x[1] / 2 && return b * a
    end
    return s
end
@case("captured_state_of_two_closures", x -> updated_state(x), v)

# In try.
function summed_in_try(x)
    s = zero(eltype(x))
    add = t -> (s += t; s)
    for t in x
        try
            s += add(t) * t
        catch
            s *= 2
        end
    end
    return s
end
@case("captured_in_try", x -> summed_in_try(x), v)
function summed_where_thrown(x)
    s = one(eltype(x))
    add = t -> (s = s * t + 1; nothing)
    for t in x
        try
            t > x[1] && error("greater")
            add(t)
        catch
            s += 2t
        end
    end
    return s
end
@case("captured_where_thrown", x -> summed_where_thrown(x), v)
@case("product_of_a_view", x -> sum(cumprod(view(x, 1:3))) + sum(cumsum(view(x, 2:3)) .* x[1:2]), v)

# A variable of a closure that is one of the function around it, too, which has what the closure gives.
function mean_and_variance(x)
    stats(v) = (m = sum(v) / length(v); (m, sum(abs2, v .- m)))
    m, s = stats(x)
    return m * s
end
@case("captured_what_its_closure_gives", x -> mean_and_variance(x), v)
function products_so_far(x)
    a = one(eltype(x))
    times(y) = (a = a * y; a)
    a = times(x[1])
    a = times(x[2])
    return a + x[1]
end
@case("captured_what_was_accumulated", x -> products_so_far(x), v)
function shifted_log_sum(x)
    largest(v) = (m = v[1]; for t in v; t > m && (m = t); end; m)
    m = largest(x)
    return log(sum(exp.(x .- m))) + m
end
@case("captured_largest", x -> shifted_log_sum(x), v)

# Of a captured variable only the type of its elements is asked for.
struct OfPoint{T}
    x::T
    y::T
end
function points_of_the_type_of_others(x)
    points = [OfPoint(t, 2t) for t in x]
    points = reverse(points)
    build(others) = (made = eltype(points)[]; foreach(p -> push!(made, p), others); made)
    made = build(points)
    return made[1].x * made[2].y
end
@case("captured_for_its_type", x -> points_of_the_type_of_others(x), v)

# Variables that a loop carries beside them: which closure it is depends on these, and what they are on what it gives.
two_states(y) = (m = 0.3; P = 0.5; for v in y; L = 2P; X = map(i -> m + L * i, 1:2); m = m + X[1] * v; P = P + X[2]; end; m * P)
@case("captured_beside_what_a_loop_carries", x -> two_states(x), v)
step_by_function(y) = (m = 0.3; P = 0.5; for v in y; L = exp(P); g(i) = m + L * i; m = m + 0.1 * g(1) * v; P = P - 0.1 * g(2); end; m)
@case("captured_by_a_function_in_a_loop", x -> step_by_function(x), v)
@case("captured_matrix_beside_a_vector", y -> (m = [0.5, 0.3]; P = [1.0 0.2; 0.2 1.0]; for v in y; L = P * P; X = [m + L[:, i] * v for i in 1:2]; m = m + X[1] / 9; P = P + X[1] * X[2]' / 9; end; sum(m)), v)
function stepped(u)
    for _ in 1:2
        n = length(u)
        s = [u[i] * u[n] for i in 1:n]
        F = [u[i] + s[i] for i in 1:n]
        u = u + F
    end
    sum(u)
end
@case("captured_in_one_comprehension_after_another", u -> stepped(u), v)
