# Functions of complex numbers, on the axes as elsewhere: Julia takes short cuts there, and what they leave out has a derivative.

const ComplexFloat = Complex{<:Union{Float32,Float64}}

"The product, where zero makes zero of what is too large, too."
times(x, large) = iszero(x) && isinf(large) ? flipsign(x, large) : x * large

"The sum, where zero keeps the sign of the first."
plus(x, y) = signbit(x) ? -(-x - y) : x + y

function sin(z::Complex{Float64})
    x, y = reim(z)
    isfinite(x) || return Complex(NaN, iszero(y) || isinf(y) ? y : NaN)
    iszero(x) && !isfinite(y) && return Complex(x, sinh(y))
    s, c = sincos(x)
    return Complex(times(s, cosh(y)), c * sinh(y))
end
function cos(z::Complex{Float64})
    x, y = reim(z)
    if !isfinite(x)
        iszero(y) && return Complex(NaN, isnan(x) ? 0.0 : -flipsign(y, x))
        return isinf(y) ? Complex(Inf, NaN) : Complex(NaN, NaN)
    end
    iszero(x) && !isfinite(y) && return Complex(cosh(y), isnan(y) ? x : -flipsign(x, y))
    s, c = sincos(x)
    return Complex(c * cosh(y), -times(s, sinh(y)))
end

"`exp` of what is not finite, less `minus`."
function exp_of_infinite(x::T, y::T, minus::T) where {T}
    isnan(x) && return Complex(x, iszero(y) ? y : x)
    x == Inf && return Complex(-x, T(NaN))
    return x == -Inf ? Complex(-minus, copysign(zero(T), y)) : Complex(T(NaN), T(NaN))
end
function exp(z::ComplexFloat)
    x, y = reim(z)
    isnan(x) || !isfinite(y) ? exp_of_infinite(x, y, zero(x)) : from_polar(Base.exp(x), y)
end
# Where Julia has the exponential inlined.
is_real_and_infinite(angle, r) = iszero(angle) && !isfinite(r)
function expm1(z::ComplexFloat)
    x, y = reim(z)
    (isnan(x) || !isfinite(y)) && return exp_of_infinite(x, y, one(x))
    less = Base.expm1(x)
    r = less + 1
    isfinite(r) || return from_polar(r, y)
    return Complex(less - 2r * Base.sin(y / 2)^2, r * Base.sin(y))
end
function from_polar(r, angle)
    is_real_and_infinite(angle, r) && return Complex(r, angle)
    s, c = sincos(angle)
    return Complex(r * c, r * s)
end

# As Julia's, but for the smaller part, which is squared as it is: its absolute value has no second derivative at zero.
function log(z::ComplexFloat)
    x, y = reim(z)
    square, exponent = Base.ssqs(x, y)
    larger, smaller = abs(x) < abs(y) ? (abs(y), x) : (abs(x), y)
    is_near_one = exponent == 0 && 0.5 < larger * larger && (larger <= 1.25 || square < 3)
    size = is_near_one ? Base.log1p((larger - 1) * (larger + 1) + smaller * smaller) / 2 : Base.log(square) / 2 + exponent * Base.log(oftype(x, 2))
    return Complex(size, angle(z))
end

# Kahan's, as Julia's.
function sqrt(z::ComplexFloat)
    x, y = reim(z)
    x == y == 0 && return Complex(zero(x), y)
    square, exponent = Base.ssqs(x, y)
    if isfinite(x)
        square = ldexp(x < 0 ? -x : x, -exponent) + Base.sqrt(square)
    end
    if isodd(exponent)
        exponent = div(exponent - 1, 2)
    else
        exponent = div(exponent, 2) - 1
        square += square
    end
    larger = ldexp(Base.sqrt(square), exponent)
    smaller = iszero(larger) || !isfinite(y) ? y : (y / larger) / 2
    x < 0 && !iszero(larger) || return Complex(larger, smaller)
    return Complex(signbit(smaller) ? -smaller : smaller, copysign(larger, y))
end

function asin(z::ComplexFloat)
    x, y = reim(z)
    isinf(x) && isinf(y) && return Complex(copysign(oftype(x, pi) / 4, x), y)
    isinf(x) && isnan(y) && return Complex(y, oftype(x, Inf))
    iszero(x) && !isfinite(y) && return Complex(x, y)
    real_part = isfinite(x) ? Base.atan(x, real(sqrt(1 - z) * sqrt(1 + z))) : oftype(x, pi) / 2 * sign(x)
    return Complex(real_part, Base.asinh(copysign(imag(sqrt(conj(1 - z)) * sqrt(1 + z)), y)))
end
function acos(z::ComplexFloat)
    x, y = reim(z)
    isnan(x) && return isinf(y) ? Complex(x, -y) : Complex(x, x)
    isnan(y) && return isinf(x) ? Complex(y, abs(x)) : iszero(x) ? Complex(oftype(x, pi) / 2, y) : Complex(y, y)
    isinf(x) && iszero(y) && signbit(x) == signbit(y) && return Complex(signbit(x) ? oftype(x, pi) : y, -x)
    real_part = 2 * Base.atan(real(sqrt(1 - z)), real(sqrt(1 + z)))
    if isinf(x) && isinf(y)
        real_part -= oftype(x, pi) / 4 * sign(x)
    end
    return Complex(real_part, Base.asinh(imag(sqrt(conj(1 + z)) * sqrt(1 - z))))
end
function atanh(z::Complex{T}) where {T<:Union{Float32,Float64}}
    x, y = reim(z)
    iszero(x) && isnan(y) && return Complex(x, y)
    large = Base.sqrt(floatmax(T)) / 4
    if abs(x) > large || abs(y) > large
        isnan(y) && return Complex(isinf(x) ? copysign(zero(x), x) : real(1 / z), y)
        return Complex(isinf(y) ? copysign(zero(x), x) : real(1 / z), copysign(T(pi) / 2, y))
    end
    sign = copysign(one(T), x)
    x, y = sign * x, sign * y
    # Next to a pole the square is none.
    shifted = y + copysign(1 / large, y)
    around = abs(shifted)
    if x == 1 && around < Base.sqrt(Base.sqrt(floatmin(T)))
        iszero(y) && return sign * Complex(T(Inf), y)
        real_part = Base.log(Base.sqrt(Base.sqrt(4 + y * y)) / Base.sqrt(around))
        return sign * Complex(real_part, copysign(T(pi) / 2 + Base.atan(around / 2), y) / 2)
    end
    # Of the absolute value, it had no second derivative at zero.
    square = shifted^2
    real_part = Base.log1p(4x / ((1 - x)^2 + square)) / 4
    return sign * Complex(real_part, angle(Complex((1 - x) * (1 + x) - square, 2y)) / 2)
end

# By squaring, where the exponent is an integer, and times what other exponents near it make: one, with a derivative.
function _cpow(z::Union{T,Complex{T}}, p::Union{T,Complex{T}}) where {T<:Union{Float32,Float64}}
    exponent = real(p)
    if isreal(p) && isinteger(exponent) && abs(exponent) < typemax(Int32)
        count = Int(exponent)
        count < 0 && iszero(z) && return Complex(T(NaN), T(NaN))
        power = Complex(one(T), flipsign(copysign(zero(T), exponent), imag(z)))
        if count < 0
            power = Base.power_by_squaring(inv(complex(z)), -count)
        elseif count > 0
            power = Base.power_by_squaring(complex(z), count)
        end
        (iszero(z) || !isfinite(power)) && return power
        rest = power * (exp((p - count) * log(complex(z))) - 1)
        return Complex(plus(real(power), real(rest)), plus(imag(power), imag(rest)))
    end
    iszero(z) && return power_of_zero(complex(z), exponent)
    r, θ = abs(z), angle(z)
    size = r^exponent * Base.exp(-imag(p) * θ)
    is_back = isreal(z) && real(z) < 0 && isfinite(exponent)
    turned, more = exponent * (is_back ? angle(-z) : θ), imag(p) * Base.log(r)
    turned = isreal(p) ? plus(turned, more) : turned + more
    if !isfinite(turned)
        # In no direction.
        return iszero(size) ? zero(Complex{T}) : Complex(T(NaN), T(NaN))
    end
    is_back || return size * cis(turned)
    # Half a turn is known better than by its angle.
    return size * Complex(cospi(exponent), flipsign(sinpi(exponent), imag(z))) * cis(turned)
end
power_of_zero(z, exponent) = exponent > 1 ? z * z : exponent > 0 ? z : Complex(oftype(exponent, NaN), oftype(exponent, NaN))
