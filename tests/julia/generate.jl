# Prints functions as a real Julia prints them, with values and gradients that the same Julia computes, into the folder
# of this script: `julia generate.jl`. Written for Julia 1.5, whose compiler internals it uses to print IRCode.
#
# Gradients are central differences in 300-digit arithmetic, so they are right to the last bit of a Float64.

const CC = Core.Compiler
setprecision(BigFloat, 1000)

# --- Functions: branches.
cond1(x) = x > 0 ? x * x : x + x
function cond2(x)
    if x > 0
        return x * x
    elseif x == -1337
        return zero(x)
    end
    return x + x
end
function cond2_var(x)
    y = x
    if x > 0
        y = y * x
    elseif x == -1337
        y = x
        y = zero(x)
    else
        y = x + y
    end
    return y
end
function cond_tuple(x)
    y = (x, x)
    return x > 0 ? y[1] + y[2] : y[1] + y[1] - y[2] + y[1]
end
function guard1(x, y)
    if !(x > 0)
        return x * x
    end
    return y * y
end
function short_circuit(x, a::Bool, b::Bool)
    return (a && b) || x > 2 ? x * x : x + x
end
function myfoo03(x)
    if x > 0
        return (x * x)^2
    elseif x > -10
        y = x + x^2
        return x + y * y
    end
    return (x + x^2) * x
end
function myfoo04(x)
    if x > 0
        return x^4
    end
    y = x + x^2
    z = 37 + zero(x)
    if x > -7
        z += y + x^2
    else
        z -= x * y
    end
    return z * y^2
end
function myfoo06(x)
    if x > 0
        if x + 1 < 5 && 2x > 4
            y = x * x
            return y >= x ? x - 2x * y : x + y * y * y
        end
    else
        return x * 2x
    end
    return 3x
end
function myfoo07(x, b::Bool)
    r = x * x
    if b
        r += r
        r -= x
    else
        r /= x
    end
    return r
end
function myfoo08(x0, x1)
    t1 = x1 + x0
    t2 = x0 - x1
    t4 = x0 > x1 ? t1 : x0
    t6 = 1 / x0
    t5 = x0 > t4 ? t2 : t4
    return t5 * t6
end

# --- Loops.
function power_loop(x, n::Int)
    r = one(x)
    for i in 1:n
        r *= x
    end
    return r
end
function repeat_nested(x)
    result = x
    i = 0
    while true
        temp = x
        j = 0
        while j < 2
            temp *= x
            j += 1
        end
        result *= temp
        i += 1
        i < 2 || break
    end
    return result
end
function nested_loop1(x)
    outer = x
    for _ in 1:2
        outer *= x
        inner = outer
        i = 0
        while i < 2
            inner += x
            i += 1
        end
        outer = inner
    end
    return outer
end
function triple(x, y)
    s = zero(x)
    for i in 1:3, j in i:3
        k = 0
        while k < j
            s += sin(x * i) * y
            k += 1
        end
    end
    return s
end
function newton(a)
    x = a
    for _ in 1:6
        x = (x + a / x) / 2
    end
    return x
end
function until(x)
    y = x
    while y < 100
        y = y * y + x
    end
    return y
end
function swap_loop(a, b)
    for i in 1:3
        a, b = b, a * b
    end
    return a + 2b
end
function rotate_loop(a, b, c)
    i = 0
    while i < 4
        a, b, c = b, c, a * sin(b)
        i += 1
    end
    return a * b - c
end
function skip_and_stop(x)
    s = zero(x)
    for i in 1:10
        i == 3 && continue
        s > 50 && break
        s += x^i
    end
    return s
end
function two_exits(x)
    i = 0
    y = x
    while i < 10
        if y > 20
            return y * 3
        end
        y = y * x
        i += 1
    end
    return y
end
function sum_series(x)
    term = one(x)
    total = term
    n = 1
    while abs(term) > 1e-3
        term = term * x / n
        total += term
        n += 1
    end
    return total
end
function collatz_like(x, n::Int)
    while n > 1
        if iseven(n)
            x = x * 1.25
            n = n >> 1
        else
            x = x + sin(x)
            n = 3n + 1
        end
    end
    return x
end
function conditional_def(x, n::Int)
    local y
    for i in 1:n
        if i == 1
            y = x
        else
            y = y * x + i
        end
    end
    return n > 0 ? y * 2 : x
end
function horner(x)
    p = zero(x)
    for k in 7:-1:0
        p = p * x + k
    end
    return p
end
function trapezoid(a, b)
    n = 8
    h = (b - a) / n
    s = (exp(-a * a) + exp(-b * b)) / 2
    for i in 1:n-1
        t = a + i * h
        s += exp(-t * t)
    end
    return s * h
end
function labels(x, n::Int)
    i = 0
    n > 2 && @goto inner
    @label outer
    x = x * x
    i += 1
    i > 3 && return x
    @label inner
    x = sin(x) + 1
    i += 2
    i < 5 && @goto outer
    i < 9 && @goto inner
    return x * i
end
function while_true(x)
    i = 0
    while true
        x = cos(x)
        i += 1
        i == 5 && return x
    end
end
function last_branch(x, n::Int)
    y = x
    for i in 1:n
        y = i % 2 == 0 ? y + x * i : y * x
    end
    return y
end

# --- Library functions.
trig(x, y) = sin(x) * cos(y) - tan(x * y)
inverse_trig(x) = asin(x) + 2acos(x) * atan(x)
hyperbolic(x) = sinh(x) + cosh(x) * tanh(x)
inverse_hyperbolic(x) = asinh(x) + acosh(x + 2) * atanh(x)
exponentials(x) = exp(x) + exp2(x) * expm1(x) - exp10(x)
logarithms(x) = log(x) + log2(x) * log10(x) + log1p(x)
roots(x) = sqrt(x) * cbrt(x)
float_power(x, y) = x^y
integer_power(x, n::Int) = x^n
literal_powers(x) = x^2 + x^3 + x^5 + x^-1
two_arguments(x, y) = atan(x, y) + hypot(x, y)
extrema_of(x, y) = max(x, y) * 2 + min(x, y) * 3
absolute(x) = abs(x - 1) + abs2(x)
signs(x, y) = copysign(x, y) + sign(x) * x
roundings(x) = floor(x) * x + ceil(x) + trunc(x) + round(x) * x^2
remainders(x) = x % 3 + rem(x, 0.7)
fused(x, y) = fma(x, y, x) + muladd(y, x, 2)
clamped(x) = clamp(x, -1, 1) * x
fractions(x) = inv(x) + 1 / (x + 2)
degrees(x) = deg2rad(x) * 2 + rad2deg(x)
polynomial(x) = evalpoly(x, (1.0, 2.0, 3.0, 4.0))
sigmoid(x) = 1 / (1 + exp(-x))
softplus(x) = x > 30 ? x : log1p(exp(x))
gauss(x, m, s) = exp(-((x - m) / s)^2 / 2) / (s * sqrt(2pi))
sums(x) = sum(sin, (x, 2x, 3x))
nested_calls(x) = tanh(exp(-x * x) + log(x * x + 1))
pick(x, y, b::Bool) = ifelse(b, x, y) * x
huber(x) = abs(x) <= 1 ? x^2 / 2 : abs(x) - 1//2
mixed(x, n::Int, b::Bool) = b ? x * n : x / n
bools(x) = (x > 0) * x + (x > 1) * x * x

# --- Errors.
guarded(x) = x < 0 ? throw(DomainError(x, "negative")) : sqrt(x) * x
asserted(x) = (@assert x > 0; log(x))
function checked(x, n::Int)
    n < 1 && error("n must be positive")
    return x / n
end

# --- Recursion and calls.
factorial_of(x) = x < 1.5 ? one(x) : x * factorial_of(x - 1)
tree(x, n::Int) = n <= 0 ? x : sin(tree(x, n - 1)) + x * tree(x, n - 2)
@noinline square_of(x) = x * x
@noinline cube_plus(x, y) = square_of(x) * x + y
calls(x, y) = cube_plus(x, y) * square_of(y) + cube_plus(y, x)
@noinline even_step(x, n::Int) = n == 0 ? x : odd_step(x * 2, n - 1)
@noinline odd_step(x, n::Int) = n == 0 ? -x : even_step(sin(x), n - 1)
function loop_calls(x, n::Int)
    y = x
    for i in 1:n
        y = cube_plus(y / 10, x)
    end
    return y
end

const F, I, B, F32 = Float64, Int, Bool, Float32
# name, types of the arguments, arguments; and the functions that it calls, with their types.
const CASES = [
    (cond1, (F,), [(4.0,), (-10.0,)]),
    (cond2, (F,), [(4.0,), (-10.0,)]),
    (cond2_var, (F,), [(4.0,), (-10.0,)]),
    (cond_tuple, (F,), [(4.0,), (-10.0,)]),
    (guard1, (F, F), [(4.0, 5.0), (-3.0, -2.0)]),
    (short_circuit, (F, B, B), [(3.0, true, false), (1.5, true, true), (1.5, false, true)]),
    (myfoo03, (F,), [(-12.0,), (-3.0,), (2.0,)]),
    (myfoo04, (F,), [(-9.0,), (-3.0,), (2.0,)]),
    (myfoo06, (F,), [(-2.0,), (1.0,), (2.5,), (3.0,), (7.0,)]),
    (myfoo07, (F, B), [(-3.0, true), (2.0, true), (2.0, false)]),
    (myfoo08, (F, F), [(2.0, -3.0), (5.0, 2.0), (2.0, 3.0)]),
    (power_loop, (F, I), [(1.5, 7), (-2.0, 0)]),
    (repeat_nested, (F,), [(2.0,), (3.0,)]),
    (nested_loop1, (F,), [(2.0,), (4.0,)]),
    (triple, (F, F), [(0.7, 1.3)]),
    (newton, (F,), [(2.0,), (10.0,)]),
    (until, (F,), [(1.5,), (0.9,), (200.0,)]),
    (swap_loop, (F, F), [(1.25, -0.75)]),
    (rotate_loop, (F, F, F), [(1.25, -0.75, 2.5)]),
    (skip_and_stop, (F,), [(1.1,), (2.5,)]),
    (two_exits, (F,), [(1.1,), (2.5,), (30.0,)]),
    (sum_series, (F,), [(0.5,), (2.0,)]),
    (collatz_like, (F, I), [(0.3, 6), (0.3, 1)]),
    (conditional_def, (F, I), [(1.1, 4), (1.1, 0)]),
    (horner, (F,), [(1.2,), (-0.4,)]),
    (trapezoid, (F, F), [(-0.5, 1.5)]),
    (labels, (F, I), [(0.4, 1), (0.4, 3)]),
    (while_true, (F,), [(0.8,)]),
    (last_branch, (F, I), [(1.1, 5)]),
    (trig, (F, F), [(0.7, 0.4)]),
    (inverse_trig, (F,), [(0.3,)]),
    (hyperbolic, (F,), [(0.8,), (-1.2,)]),
    (inverse_hyperbolic, (F,), [(0.3,)]),
    (exponentials, (F,), [(0.6,), (-1.1,)]),
    (logarithms, (F,), [(0.6,), (3.5,)]),
    (roots, (F,), [(2.5,)]),
    (float_power, (F, F), [(2.5, 1.7), (0.5, -2.0)]),
    (integer_power, (F, I), [(2.5, 3), (-1.5, 6), (1.5, -2), (1.5, 0)]),
    (literal_powers, (F,), [(1.3,), (-0.7,)]),
    (two_arguments, (F, F), [(1.3, -0.4)]),
    (extrema_of, (F, F), [(1.0, 2.0), (-1.0, -5.0)]),
    (absolute, (F,), [(0.5,), (3.0,)]),
    (signs, (F, F), [(1.5, -2.0), (-1.5, -2.0)]),
    (roundings, (F,), [(2.3,), (-1.7,)]),
    (remainders, (F,), [(7.5,), (-7.5,)]),
    (fused, (F, F), [(1.5, 2.25)]),
    (clamped, (F,), [(0.5,), (2.0,), (-3.0,)]),
    (fractions, (F,), [(0.75,)]),
    (degrees, (F,), [(33.0,)]),
    (polynomial, (F,), [(0.3,)]),
    (sigmoid, (F,), [(0.3,), (-4.0,)]),
    (softplus, (F,), [(0.3,), (40.0,)]),
    (gauss, (F, F, F), [(0.3, 0.1, 1.7)]),
    (sums, (F,), [(0.4,)]),
    (nested_calls, (F,), [(0.9,)]),
    (pick, (F, F, B), [(1.5, 2.5, true), (1.5, 2.5, false)]),
    (huber, (F,), [(0.5,), (-2.0,)]),
    (mixed, (F, I, B), [(1.5, 3, true), (1.5, 3, false)]),
    (bools, (F,), [(0.5,), (1.5,), (-1.0,)]),
    (guarded, (F,), [(2.0,)]),
    (asserted, (F,), [(2.0,)]),
    (checked, (F, I), [(2.0, 4)]),
    (factorial_of, (F,), [(1.0,), (5.0,)]),
    (tree, (F, I), [(0.6, 5)]),
    (sigmoid, (F32,), [(0.3f0,)]),
    (newton, (F32,), [(2.0f0,)]),
    (trig, (F32, F32), [(0.7f0, 0.4f0)]),
]
const MODULES = [
    (calls, (F, F), [(1.2, 0.7)], [(cube_plus, (F, F)), (square_of, (F,))]),
    (even_step, (F, I), [(0.3, 4), (0.3, 5)], [(odd_step, (F, I))]),
    (loop_calls, (F, I), [(1.2, 5)], [(cube_plus, (F, F)), (square_of, (F,))]),
]

big_of(x::AbstractFloat) = BigFloat(x)
big_of(x) = x

# Where a Float32 is computed with, what is expected is rounded to it.
function gradient(f, args)
    values = map(1:length(args)) do i
        args[i] isa AbstractFloat || return "null"
        h = big"1e-100"
        at(d) = f(ntuple(j -> j == i ? big_of(args[j]) + d : big_of(args[j]), length(args))...)
        repr(Float64((at(h) - at(-h)) / 2h))
    end
    return "[" * join(values, ", ") * "]"
end

json(x::AbstractFloat) = repr(Float64(x))
json(x) = repr(x)

function expectations(io, f, points)
    for args in points
        value = Float64(f(map(big_of, args)...))
        println(io, "# grad ", f, " [", join(map(json, args), ", "), "] = ", repr(value), " ", gradient(f, args))
    end
end

function ircode(f, types)
    mi = CC.specialize_method(which(f, types), Tuple{typeof(f), types...}, Core.svec())
    return CC.inflate_ir(code_typed(f, types, debuginfo=:source)[1][1], mi)
end

suffix(types) = any(t -> t === Float32, types) ? "_float32" : ""
const HERE = @__DIR__
for (f, types, points) in CASES
    mkpath(joinpath(HERE, "ircode"))
    mkpath(joinpath(HERE, "codeinfo"))
    name = string(f, suffix(types), ".ir")
    open(joinpath(HERE, "ircode", name), "w") do io
        expectations(io, f, points)
        show(io, ircode(f, types))
    end
    open(joinpath(HERE, "codeinfo", name), "w") do io
        expectations(io, f, points)
        ci, rt = code_typed(f, types)[1]
        show(io, ci)
        println(io, " => ", rt)
    end
end
for (f, types, points, callees) in MODULES
    mkpath(joinpath(HERE, "modules"))
    open(joinpath(HERE, "modules", string(f, ".ir")), "w") do io
        expectations(io, f, points)
        for (g, gtypes) in [(f, types); callees]
            rt = code_typed(g, gtypes)[1][2]
            args = join(["_$(i + 1)::$t" for (i, t) in enumerate(gtypes)], ", ")
            println(io, "\nfunction ", g, "(", args, ")::", rt)
            show(io, ircode(g, gtypes))
            println(io, "end")
        end
    end
end
