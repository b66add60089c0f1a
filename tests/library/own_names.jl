# More functions: those of the program's own that are named as others of Julia's. Evaluated in the module of functions.jl, which has Julia's.

module OwnNames
    binomial(x, y, z) = x * y + z^2
    count(x, y) = x - 2 * y
    binomial_of(v) = binomial(v...) + count(v[1:2]...) * foldl(count, v)
end
@case("own_functions_with_names_of_others", v -> OwnNames.binomial_of(v) + OwnNames.count(v[2:3]...), [0.4, 0.3, -0.2])
