# What Julia's generic functions give for numbers of all types, bit by bit: `scripts/julia tests/julia/numbers.jl > tests/julia/numbers.txt`.
#
# A line is a function, its operands, and what it gives: `rem Int64:-7 UInt64:2 = Int64:-1`. Floats are their bits. Where Julia throws, the
# exception stands there; where it has no method, there is no line, nor for exponents whose negative is negative, as `typemin(Int128)`.

const UNARY = [+, -, abs, abs2, inv, sign, signbit, floor, ceil, trunc, round, zero, one, float, isnan, isinf, isfinite,
    iszero, isone, iseven, isodd, sqrt, cbrt, exp, exp2, exp10, expm1, log1p, sin, cos, tan, atan, sinh, tanh, sinpi, cospi, sind, cosd]
const BINARY = [+, -, *, /, ^, rem, mod, div, min, max, copysign, flipsign, gcd, <, <=, ==, !=, isless, hypot, atan]
const TERNARY = [muladd, fma, clamp, +, *]

const VALUES = Dict(
    Bool => [true, false],
    Int8 => Int8[-128, 3, 0],
    UInt8 => UInt8[200, 3, 0],
    Int64 => Int64[-7, 2, typemax(Int64), 0],
    UInt64 => UInt64[5, typemax(UInt64), 0],
    Int128 => Int128[-1, typemin(Int128), 4],
    UInt128 => UInt128[typemax(UInt128), 9],
    Float16 => Float16[2.5, -0.0, NaN, -3.0],
    Float32 => Float32[2.5, -0.0, NaN, Inf, -3.0, 0.1],
    Float64 => Float64[2.5, -0.0, NaN, -Inf, -3.0, 1e300],
)
const TYPES = [Bool, Int8, UInt8, Int64, UInt64, Int128, UInt128, Float16, Float32, Float64]

unsigned_of(x::Float16) = reinterpret(UInt16, x)
unsigned_of(x::Float32) = reinterpret(UInt32, x)
unsigned_of(x::Float64) = reinterpret(UInt64, x)
unsigned_of(x::Bool) = UInt8(x)
unsigned_of(x) = x
written(x) = "$(typeof(x)):$(string(unsigned_of(x), base = 10))"

function line(f, arguments...)
    f === (^) && arguments[2] === typemin(Int128) && return
    result = try
        value = f(arguments...)
        value isa Union{Integer, AbstractFloat} || return
        written(value)
    catch error
        error isa Union{MethodError, ErrorException} && return
        string(typeof(error))
    end
    println(join([string(f); map(written, collect(arguments))], " "), " = ", result)
end

for f in UNARY, T in TYPES, x in VALUES[T]
    line(f, x)
end
# Each pair of types twice, with other numbers for each function.
for (number, f) in enumerate(BINARY), (i, A) in enumerate(TYPES), (j, B) in enumerate(TYPES), k in 1:2
    a, b = VALUES[A], VALUES[B]
    line(f, a[mod1(k + number, length(a))], b[mod1(k * (1 + j % 2) + i + number, length(b))])
end
for (number, f) in enumerate(TERNARY), (i, A) in enumerate(TYPES), (j, B) in enumerate(TYPES), k in 1:2
    a, b = VALUES[A], VALUES[B]
    C = TYPES[mod1(i + 3j + k, length(TYPES))]
    line(f, a[mod1(k + number, length(a))], b[mod1(k + i, length(b))], VALUES[C][mod1(k + j, length(VALUES[C]))])
end
