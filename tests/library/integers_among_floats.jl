# More functions: integers where floats are, too, in variables that closures change and in arrays, of which the program can tell one from the other. Evaluated in the module of functions.jl.

module IntegersAmongFloats
    kind(v::Int) = 10v
    kind(v) = v
    is_int(v) = v isa Int

    # What is computed of integers is one, and may wrap around.
    wrapped(x) = (s = 1; foreach(i -> (s *= 10), 1:21); s *= x; s)
    told_by_method(x) = (n = 3; f(d) = (n += d); r = f(1); n = n * x; kind(r) * x)
    told_by_its_zero(x) = (s = 0; f() = (s = s * -1; s); z = f(); s = s + x; 1 / z > 0 ? s : 2s)
    an_index(x) = (k = 1; next() = (k += 1); y = [x, 2x, 3x]; a = y[next()]; k = k * x; a + k)
    # It makes no difference here.
    summed(x) = (s = 0; foreach(v -> (s += v), [x, 2x]); s)
    greatest(x) = (m = 0; foreach(v -> (m = max(m, v)), [x, 2x]); m * x)

    # So is what is said to be one.
    asserted(x) = (l = Any[x, 3]; push!(l, x); n = l[2]::Int; n * l[1])

    told_in_sum(x) = sum(kind, Real[1, x])
    told_by_filter(x) = sum(filter(v -> !is_int(v), Real[1, x]))
    counted_by_filter(x) = length(filter(is_int, Any[1, x, 2])) * x
    told_in_generator(x) = sum(kind(v) for v in Any[1, x, 2])
    told_in_reduce(x) = reduce((u, v) -> is_int(u) ? u * 10 + v : u + v, Any[7, x])
    squares_wrap(x) = sum(v -> v * v, Real[3037000500, x])
    squares(x) = sum(v -> v * v, Real[3, x])
end
@case("integers_wrapped", x -> IntegersAmongFloats.wrapped(x), 1.5)
@case("integers_told_by_method", x -> IntegersAmongFloats.told_by_method(x), 1.5)
@case("integers_told_by_its_zero", x -> IntegersAmongFloats.told_by_its_zero(x), 1.5)
@case("integers_an_index", x -> IntegersAmongFloats.an_index(x), 1.5)
@case("integers_summed", x -> IntegersAmongFloats.summed(x), 1.5)
@case("integers_greatest", x -> IntegersAmongFloats.greatest(x), 1.5)
@case("integers_asserted", x -> IntegersAmongFloats.asserted(x), 1.5)
@case("integers_told_in_sum", x -> IntegersAmongFloats.told_in_sum(x), 1.5)
@case("integers_told_by_filter", x -> IntegersAmongFloats.told_by_filter(x), 1.5)
@case("integers_counted_by_filter", x -> IntegersAmongFloats.counted_by_filter(x), 1.5)
@case("integers_told_in_generator", x -> IntegersAmongFloats.told_in_generator(x), 1.5)
@case("integers_told_in_reduce", x -> IntegersAmongFloats.told_in_reduce(x), 1.5)
@case("integers_squares_wrap", x -> IntegersAmongFloats.squares_wrap(x), 1.5)
@case("integers_squares", x -> IntegersAmongFloats.squares(x), 1.5)
