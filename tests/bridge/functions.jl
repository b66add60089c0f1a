# Functions that go from Julia to bbkit and back, each with calls of it. `calls` lists a name, the function, the types of
# its arguments, and the arguments of each call; `:run` marks those that bbkit's interpreter runs too, `:grad` those that
# it differentiates.

module Functions

mutable struct Counter
    n::Int64
end

struct Point
    x::Float64
    y::Float64
end

abstract type Shape end
struct Circle <: Shape
    r::Float64
end
struct Square <: Shape
    a::Float64
end

# Branches and loops.
absolute(x::Float64) = x < 0 ? -x : x
collatz(n::Int64) = (steps = 0; while n != 1; n = iseven(n) ? n ÷ 2 : 3n + 1; steps += 1; end; steps)
gcd_loop(a::Int64, b::Int64) = (while b != 0; a, b = b, a % b; end; a)
power(x::Float64, n::Int64) = (y = 1.0; for _ in 1:n; y *= x; end; y)
nested(n::Int64) = (s = 0; for i in 1:n, j in i:n; j % 3 == 0 && continue; s += i * j; s > 1000 && break; end; s)
horner(x::Float64) = evalpoly(x, (1.0, 2.0, 3.0, 4.0))
sine(x::Float64) = sin(x) * exp(-x)
bits(n::UInt32) = count_ones(n) + leading_zeros(n) + Int((n << 3) ⊻ (n >> 2) & 0xff)
mixed(x::Float32, n::Int8) = Float64(x) + n
factorial_recursive(n::Int64) = n <= 1 ? 1 : n * factorial_recursive(n - 1)
is_even(n::Int64) = n == 0 ? true : is_odd(n - 1)
is_odd(n::Int64) = n == 0 ? false : is_even(n - 1)
newton(a::Float64) = (x = a; for _ in 1:8; x = (x + a / x) / 2; end; x)
tuple_sum(t::Tuple{Float64,Int64,Float64}) = t[1] + t[2] * t[3]
swap_loop(a::Float64, b::Float64, n::Int64) = (for _ in 1:n; a, b = b, a + 1.0; end; a - 2b)

@noinline helper(x::Float64) = x * sin(x)
calls_helper(x::Float64) = helper(x) + helper(2x)
@noinline halving(x::Float64, n::Int64) = n == 0 ? x : halving(x * 0.5, n - 1) + sin(x)

# Arrays.
total(a::Vector{Float64}) = (s = 0.0; for x in a; s += x; end; s)
dot_product(a::Vector{Float64}, b::Vector{Float64}) = (s = 0.0; for i in eachindex(a); s += a[i] * b[i]; end; s)
squares(n::Int64) = [i * i for i in 1:n]
fill_up(n::Int64) = (a = Int64[]; for i in 1:n; push!(a, i^2); end; pop!(a); a)
reversed(a::Vector{Int64}) = (b = copy(a); n = length(b); for i in 1:n÷2; b[i], b[n+1-i] = b[n+1-i], b[i]; end; b)
trace(a::Matrix{Float64}) = (s = 0.0; for i in 1:size(a, 1); s += a[i, i]; end; s)
outer(n::Int64) = (a = zeros(n, n); for i in 1:n, j in 1:n; a[i, j] = i + 10j; end; a)
insertion_sort(v::Vector{Int64}) = (a = copy(v); for i in 2:length(a); j = i; while j > 1 && a[j-1] > a[j]; a[j-1], a[j] = a[j], a[j-1]; j -= 1; end; end; a)
double!(a::Vector{Float64}) = (for i in 1:length(a); a[i] *= 2; end; a[end])
sieve(n::Int64) = (p = trues_vector(n); p[1] = false; for i in 2:n; p[i] || continue; for j in 2i:i:n; p[j] = false; end; end; count_true(p))
trues_vector(n::Int64) = (a = Vector{Bool}(undef, n); for i in 1:n; a[i] = true; end; a)
count_true(a::Vector{Bool}) = (c = 0; for x in a; c += x; end; c)

# Exceptions.
checked_get(a::Vector{Float64}, i::Int64) = try a[i] catch; -1.0 end
safe_sqrt(x::Float64) = try sqrt(x) catch e; e isa DomainError ? 0.0 : rethrow() end
with_finally(c::Counter, x::Int64) = try; c.n += 1; x > 2 && error("too large"); c.n += 10; catch; c.n += 100; finally; c.n += 1000; end
divide(a::Int64, b::Int64) = try div(a, b) catch e; e isa DivideError ? typemax(Int64) : 0 end
nested_try(x::Int64) = try; try; x == 1 ? error("a") : x == 2 ? throw(ArgumentError("b")) : x; catch e; e isa ArgumentError ? throw(e) : -1; end; catch; -2; end
throws(x::Int64) = x > 0 ? x : throw(DomainError(x, "must be positive"))

# Structs, closures, unions, varargs.
count_to!(c::Counter, n::Int64) = (for _ in 1:n; c.n += 1; end; c.n)
norm2(p::Point) = p.x * p.x + p.y * p.y
move(p::Point, dx::Float64) = Point(p.x + dx, p.y)
area(s::Shape) = s isa Circle ? 3.0 * s.r * s.r : s isa Square ? s.a * s.a : 0.0
apply_twice(f, x::Float64) = f(f(x))
closure(a::Float64, x::Float64) = apply_twice(y -> a * y + 1.0, x)
boxed(n::Int64) = (c = 0; f = () -> (c += 1); for _ in 1:n; f(); end; c)
union_split(x::Union{Int64,Float64,Nothing}) = x === nothing ? 0.0 : x isa Int64 ? 2.0 * x : x + 0.5
maybe(n::Int64) = (x = n > 3 ? n : nothing; x === nothing ? -1 : x)
sum_all(xs::Float64...) = (s = 0.0; for x in xs; s += x; end; s)
spread(a::Float64, b::Float64) = sum_all(a, b, a * b)
keyword(x::Float64; scale::Float64 = 2.0) = x * scale
keywords(x::Float64) = keyword(x; scale = 3.0) + keyword(x)

# Strings and the runtime.
greet(name::String) = string("Hello, ", name, "!")
count_vowels(s::String) = (n = 0; for c in s; c in ('a', 'e', 'i', 'o', 'u') && (n += 1); end; n)
shout(s::String) = uppercase(s) * "!"
join_numbers(n::Int64) = join(1:n, ",")
lookup(k::Int64) = (d = Dict(1 => "one", 2 => "two"); get(d, k, "many"))
string_length(s::String) = ccall(:strlen, Csize_t, (Cstring,), s)
symbol(s::Symbol) = s === :a ? 1 : s === :b ? 2 : 3

const RUN, GRAD = :run, :grad

calls() = [
    ("absolute", absolute, (Float64,), [(-1.5,), (2.0,)], RUN, GRAD),
    ("collatz", collatz, (Int64,), [(27,), (1,)], RUN),
    ("gcd_loop", gcd_loop, (Int64, Int64), [(84, 36)], RUN),
    ("power", power, (Float64, Int64), [(1.5, 5), (2.0, 0)], RUN, GRAD),
    ("nested", nested, (Int64,), [(5,), (40,)], RUN),
    ("horner", horner, (Float64,), [(0.5,)], RUN, GRAD),
    ("sine", sine, (Float64,), [(0.5,), (-2.0,)], RUN, GRAD),
    ("bits", bits, (UInt32,), [(0x0000abcd,)], RUN),
    ("mixed", mixed, (Float32, Int8), [(1.5f0, Int8(3))], RUN, GRAD),
    ("factorial_recursive", factorial_recursive, (Int64,), [(10,)], RUN),
    ("is_even", is_even, (Int64,), [(10,), (7,)], RUN),
    ("newton", newton, (Float64,), [(2.0,)], RUN, GRAD),
    ("tuple_sum", tuple_sum, (Tuple{Float64,Int64,Float64},), [((1.5, 2, 3.0),)], RUN),
    ("swap_loop", swap_loop, (Float64, Float64, Int64), [(1.0, 2.0, 5)], RUN, GRAD),
    ("calls_helper", calls_helper, (Float64,), [(1.0,), (-0.5,)], RUN, GRAD),
    ("halving", halving, (Float64, Int64), [(1.0, 3)], RUN, GRAD),
    ("total", total, (Vector{Float64},), [([1.0, 2.0, 3.5],), (Float64[],)], RUN),
    ("dot_product", dot_product, (Vector{Float64}, Vector{Float64}), [([1.0, 2.0], [3.0, 4.0])], RUN),
    ("squares", squares, (Int64,), [(4,), (0,)], RUN),
    ("fill_up", fill_up, (Int64,), [(5,)], RUN),
    ("reversed", reversed, (Vector{Int64},), [([1, 2, 3, 4],)], RUN),
    ("trace", trace, (Matrix{Float64},), [([1.0 2.0; 3.0 4.0],)], RUN),
    ("outer", outer, (Int64,), [(2,)], RUN),
    ("insertion_sort", insertion_sort, (Vector{Int64},), [([3, 1, 2],)], RUN),
    ("double!", double!, (Vector{Float64},), [([1.0, 2.5],)], RUN),
    ("sieve", sieve, (Int64,), [(50,)], RUN),
    ("checked_get", checked_get, (Vector{Float64}, Int64), [([1.0], 1), ([1.0], 2)], RUN),
    ("safe_sqrt", safe_sqrt, (Float64,), [(4.0,), (-4.0,)], RUN),
    ("with_finally", with_finally, (Counter, Int64), [(Counter(0), 1), (Counter(0), 5)], RUN),
    ("divide", divide, (Int64, Int64), [(7, 2), (7, 0)], RUN),
    ("nested_try", nested_try, (Int64,), [(0,), (1,), (2,)], RUN),
    ("throws", throws, (Int64,), [(3,), (-3,)], RUN),
    ("count_to!", count_to!, (Counter, Int64), [(Counter(5), 3)], RUN),
    ("norm2", norm2, (Point,), [(Point(3.0, 4.0),)], RUN),
    ("move", move, (Point, Float64), [(Point(1.0, 2.0), 0.5)], RUN),
    ("area", area, (Circle,), [(Circle(2.0),)], RUN),
    ("area_any", area, (Shape,), [(Circle(2.0),), (Square(3.0),)]),
    ("closure", closure, (Float64, Float64), [(2.0, 3.0)], RUN, GRAD),
    ("boxed", boxed, (Int64,), [(4,)], RUN),
    ("union_split", union_split, (Union{Int64,Float64,Nothing},), [(nothing,), (3,), (1.5,)], RUN),
    ("maybe", maybe, (Int64,), [(5,), (2,)], RUN),
    ("spread", spread, (Float64, Float64), [(2.0, 3.0)], RUN),
    ("sum_all", sum_all, (Float64, Float64, Float64), [(1.0, 2.0, 3.0)], RUN),
    ("keywords", keywords, (Float64,), [(1.5,)], RUN, GRAD),
    ("greet", greet, (String,), [("world",)]),
    ("count_vowels", count_vowels, (String,), [("hello",)]),
    ("shout", shout, (String,), [("hey",)]),
    ("join_numbers", join_numbers, (Int64,), [(4,)]),
    ("lookup", lookup, (Int64,), [(1,), (7,)]),
    ("string_length", string_length, (String,), [("four",)]),
    ("symbol", symbol, (Symbol,), [(:a,), (:c,)], RUN),
]

end
