# More functions: those of the program's own that are named as others of Julia's. Evaluated in the module of functions.jl, which has Julia's.

module OwnNames
    binomial(x, y, z) = x * y + z^2
    count(x, y) = x - 2 * y
    binomial_of(v) = binomial(v...) + count(v[1:2]...) * foldl(count, v)
end
@case("own_functions_with_names_of_others", v -> OwnNames.binomial_of(v) + OwnNames.count(v[2:3]...), [0.4, 0.3, -0.2])

# And those of `Main`, which Julia prints as it prints the library's.
Core.eval(Main, quote
    @noinline cbrt(x) = x * x
    @noinline hypot(x, y) = x + 2 * y
    @noinline erf(x) = 5 * x^2
    @noinline log1p(x) = x^3
    @noinline rethrow(x) = 2 * x
    functions_of_main(v) = hypot(v[1], v[2]) * Base.hypot(v[1], v[2]) + erf(v[3]) * Base.cbrt(v[1]) - log1p(v[2]) * Base.log1p(v[3])
    functions_of_main_as_values(v) = sum(map(cbrt, v)) * sum(log1p.(v)) + foldl(hypot, v) + sum(map(Base.log1p, v))
    functions_of_main_by_dispatch(v) = (a = Any[v[1], 2.0, v[2]]; hypot(a[1], a[2]) * cbrt(a[3]))
    rethrow_in_try(x) = try sqrt(x) * rethrow(x) catch; zero(x) end
end)
import Main: functions_of_main, functions_of_main_as_values, functions_of_main_by_dispatch, rethrow_in_try
@case("own_functions_of_main", v -> functions_of_main(v), [0.4, 0.3, -0.2])
@case("own_functions_of_main_as_values", v -> functions_of_main_as_values(v), [0.4, 0.3, -0.2])
@case("own_functions_of_main_by_dispatch", v -> functions_of_main_by_dispatch(v), [0.4, 0.3])
@case("own_rethrow_in_try", x -> rethrow_in_try(x), 0.7)
