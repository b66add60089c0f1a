# More functions: ranges of floats have the length and the elements that Julia gives them, of the fractions that their ends and steps stand for. Evaluated in the
# module of functions.jl.

@case("range_of_tenths", x -> (s = 0 * x; for t in 0.0:0.1:1.0; s += t == 0.3 ? x^2 : t * x; end; s), 0.7)
@case("range_to_a_rounded_end", x -> (s = x; for t in 0.0:0.1:0.1+0.1+0.1; s += x * t; end; for t in 0.0:0.01:0.03-0.01; s += x + t; end; s), 0.7)
@case("range_that_meets_zero", x -> (s = x; for t in -0.3:0.1:0.3; s += t == 0 ? 10x : x * t; end; s), 0.7)
@case("range_searched", x -> x * searchsortedfirst(0.0:0.1:1.0, 0.3) + (0.7 in 0.0:0.1:1.0 ? x^2 : x), 0.7)
@case("range_backwards", (x, h) -> weighted(x:-h:x-3.5h), 1.9, 0.25)
@case("range_over_zero", (x, y) -> weighted(range(x, stop = y, length = 7)), -0.3, 0.3)
@case("range_of_equal_ends", (x, y) -> weighted(range(x, stop = y, length = 5)), 0.5, 0.5)
@case("range_of_thirds", x -> (s = x; for t in 0.0:1/3:2.0; s += x * t; end; for t in range(0.1, stop = 0.7, length = 7); s += t == 0.3 ? x : t; end; s), 0.7)
