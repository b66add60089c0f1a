# Complex functions that dumps have in the place of Julia's give what Julia's do: also where a part is infinite, no number, or a zero of either sign. With an
# argument, one that does not is among them, which must be found.

include(joinpath(@__DIR__, "..", "..", "julia", "BBKit.jl"))
using .BBKit.Portable: Math, OfBase

close(a, b) = isequal(a, b) || isapprox(a, b, rtol = 1e-9, atol = 1e-13) && (!iszero(a) || !iszero(b) || signbit(a) == signbit(b))
close(a::Complex, b::Complex) = close(real(a), real(b)) && close(imag(a), imag(b))

const NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 1e-300, 1e300, -1e300, 710.0, -750.0, Inf, -Inf, NaN, 1e-9]
functions = Any[(own, getfield(Base, nameof(own))) for own in (OfBase.exp, OfBase.expm1, OfBase.sqrt, OfBase.asin, OfBase.acos, OfBase.atanh, OfBase.sin, OfBase.cos, Math.sinpi, Math.cospi)]
isempty(ARGS) || push!(functions, (z -> complex(exp(real(z)), 0.0), exp))
for (own, julias) in functions, x in NUMBERS, y in NUMBERS
    z = complex(x, y)
    close(own(z), julias(z)) || println("$julias($z): ", own(z), ", but Julia has ", julias(z))
end

exponents = [0.0, 1.0, 2.0, -1.0, -2.0, 0.5, -0.5, 1.3, 3.0]
for x in [0.0, 1.0, -1.0, 2.5, -2.5, 1e-300], y in [0.0, -0.0, 0.7, -0.7], p in [exponents; complex.(exponents, 0.0); complex.(exponents, 0.6)]
    z = complex(x, y)
    close(OfBase._cpow(z, p), Base._cpow(z, p)) || println("($z)^($p): ", OfBase._cpow(z, p), ", but Julia has ", Base._cpow(z, p))
end
