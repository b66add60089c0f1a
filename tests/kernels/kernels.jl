# Fourteen functions of different shapes, whose gradients cost different things: `k_NAME(x, c, n)`, to be differentiated in x
# at least. Written by their definitions, with loops and arrays as one writes them in Julia. The inputs are made by
# `inputs` in `tests/kit/src/kernels/inputs.rs`.

module Kernels

erf(x::Float64) = ccall((:erf, Base.Math.libm), Float64, (Float64,), x)

"Black–Scholes: the sum of n call options; x has stock, strike, rate, volatility and time of each."
function k_bs(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    total = 0.0
    for i in 1:n
        o = 5(i - 1)
        stock, strike, rate, sigma, time = x[o+1], x[o+2], x[o+3], x[o+4], x[o+5]
        spread = sigma * sqrt(time)
        d1 = (log(stock / strike) + (rate + 0.5 * sigma * sigma) * time) / spread
        d2 = d1 - spread
        n1 = 0.5 * (1.0 + erf(d1 * 0.7071067811865476))
        n2 = 0.5 * (1.0 + erf(d2 * 0.7071067811865476))
        total += stock * n1 - strike * exp(-rate * time) * n2
    end
    return total
end

"One value through branches that the data choose."
function k_branch(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    y = x[1]
    for i in 1:n
        if y < c[i]
            y = x[2] * y + 0.3
        elseif c[i] < 0.25
            y = x[3] * y * y + 0.1
        else
            d = y - 0.5
            y = 0.6 * y + 0.05 * d * d - x[2] * 0.01
        end
    end
    return y
end

"A recurrence of sines and cosines."
function k_sincos(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    y = x[1]
    for _ in 1:n
        y = sin(y) * cos(y)
    end
    return y
end

"The logistic map."
function k_logistic(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    y = x[2]
    for _ in 1:n
        y = x[1] * y * (1.0 - y)
    end
    return y
end

"The sum of square roots by Newton's method: the data say how often the inner loop runs."
function k_newton(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    total = 0.0
    for i in 1:n
        y = x[i]
        while true
            z = 0.5 * (y + x[i] / y)
            e = z - y
            y = z
            (e < -1e-9 || e > 1e-9) || break
        end
        total += y
    end
    return total
end

"A triangle of products: Σᵢ (Σ_{j ≤ i} xⱼ c_{i-j})²."
function k_tri(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    total = 0.0
    for i in 1:n
        a = 0.0
        for j in 1:i
            a += x[j] * c[i-j+1]
        end
        total += a * a
    end
    return total
end

"The sum of squares."
function k_sumsq(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    total = 0.0
    for i in 1:n
        total += x[i] * x[i]
    end
    return total
end

"""
Forward substitution in place: the squared length of the solution of L w = b, where x has L by rows, of which the lower half is
used, and then b.
"""
function k_fsub(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    w = Vector{Float64}(undef, n)
    for i in 1:n
        w[i] = x[n*n+i]
    end
    for i in 1:n
        row = (i - 1) * n
        for j in 1:i-1
            w[i] -= x[row+j] * w[j]
        end
        w[i] /= x[row+i]
    end
    total = 0.0
    for i in 1:n
        total += w[i] * w[i]
    end
    return total
end

"The logarithm of a sum of exponentials, by way of the maximum."
function k_lse(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    m = x[1]
    for i in 2:n
        if x[i] > m
            m = x[i]
        end
    end
    total = 0.0
    for i in 1:n
        total += exp(x[i] - m)
    end
    return m + log(total)
end

"Rosenbrock's function in n dimensions."
function k_rosen(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    total = 0.0
    for i in 1:n-1
        a = 1.0 - x[i]
        b = x[i+1] - x[i] * x[i]
        total += a * a + 100.0 * (b * b)
    end
    return total
end

"""
The squared loss of a network 32–64–64–1 with tanh on n samples: x has the weights and biases of each layer, weights by rows; c the
inputs and then the targets.
"""
function k_mlp(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    inputs, hidden = 32, 64
    b1 = hidden * inputs
    w2 = b1 + hidden
    b2 = w2 + hidden * hidden
    w3 = b2 + hidden
    b3 = w3 + hidden
    loss = 0.0
    h1 = zeros(hidden)
    h2 = zeros(hidden)
    for s in 1:n
        sample = (s - 1) * inputs
        for i in 1:hidden
            a = x[b1+i]
            for j in 1:inputs
                a += x[(i-1)*inputs+j] * c[sample+j]
            end
            h1[i] = tanh(a)
        end
        for i in 1:hidden
            a = x[b2+i]
            for j in 1:hidden
                a += x[w2+(i-1)*hidden+j] * h1[j]
            end
            h2[i] = tanh(a)
        end
        o = x[b3+1]
        for j in 1:hidden
            o += x[w3+j] * h2[j]
        end
        e = o - c[n*inputs+s]
        loss += e * e
    end
    return loss
end

"""
The Gaussian mixtures of ADBench in 10 dimensions, of 25 Gaussians: x has their weights, their means and their inverse covariance
factors (logarithms of the diagonal, then the lower half by columns), c the n points.
"""
function k_gmm(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    d, k = 10, 25
    factors = d * (d + 1) ÷ 2
    means = k
    q = means + k * d
    diagonal = zeros(d, k)
    sums = zeros(k)
    for g in 1:k
        s = 0.0
        for i in 1:d
            s += x[q+(g-1)*factors+i]
            diagonal[i, g] = exp(x[q+(g-1)*factors+i])
        end
        sums[g] = s
    end
    slse = 0.0
    main = zeros(k)
    centred = zeros(d)
    product = zeros(d)
    for p in 1:n
        for g in 1:k
            for i in 1:d
                centred[i] = c[(p-1)*d+i] - x[means+(g-1)*d+i]
            end
            for i in 1:d
                product[i] = diagonal[i, g] * centred[i]
            end
            l = q + (g - 1) * factors + d
            for i in 1:d, j in i+1:d
                l += 1
                product[j] += x[l] * centred[i]
            end
            ss = 0.0
            for i in 1:d
                ss += product[i] * product[i]
            end
            main[g] = x[g] + sums[g] - 0.5 * ss
        end
        slse += logsumexp(main, k)
    end
    weights = logsumexp(x, k)
    wishart = 0.0
    for g in 1:k
        frobenius = 0.0
        for i in 1:d
            frobenius += diagonal[i, g] * diagonal[i, g]
        end
        for i in d+1:factors
            frobenius += x[q+(g-1)*factors+i] * x[q+(g-1)*factors+i]
        end
        wishart += 0.5 * frobenius
    end
    return slse - n * weights + wishart
end

function logsumexp(v::Vector{Float64}, n::Int64)
    m = v[1]
    for i in 2:n
        if v[i] > m
            m = v[i]
        end
    end
    s = 0.0
    for i in 1:n
        s += exp(v[i] - m)
    end
    return m + log(s)
end

"""
The bundle adjustment of ADBench: the squared errors of n observations. x has for each a camera (rotation, centre, focal length,
principal point, distortion), a point and a weight; c has what was seen.
"""
function k_ba(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    total = 0.0
    for o in 1:n
        k = 15(o - 1)
        r1, r2, r3 = x[k+1], x[k+2], x[k+3]
        p1, p2, p3 = x[k+12] - x[k+4], x[k+13] - x[k+5], x[k+14] - x[k+6]
        q1, q2, q3 = rotate(r1, r2, r3, p1, p2, p3)
        u, v = q1 / q3, q2 / q3
        square = u * u + v * v
        distortion = 1.0 + x[k+10] * square + x[k+11] * square * square
        px = x[k+7] * (u * distortion) + x[k+8]
        py = x[k+7] * (v * distortion) + x[k+9]
        w = x[k+15]
        e1 = w * (px - c[2o-1])
        e2 = w * (py - c[2o])
        e3 = 1.0 - w * w
        total += e1 * e1 + e2 * e2 + e3 * e3
    end
    return total
end

"Rodrigues' rotation of p by the vector r."
function rotate(r1, r2, r3, p1, p2, p3)
    square = r1 * r1 + r2 * r2 + r3 * r3
    if square > 1e-30
        theta = sqrt(square)
        sine, cosine = sin(theta), cos(theta)
        inverse = 1.0 / theta
        a, b, g = r1 * inverse, r2 * inverse, r3 * inverse
        t = (a * p1 + b * p2 + g * p3) * (1.0 - cosine)
        return (
            p1 * cosine + (b * p3 - g * p2) * sine + a * t,
            p2 * cosine + (g * p1 - a * p3) * sine + b * t,
            p3 * cosine + (a * p2 - b * p1) * sine + g * t,
        )
    end
    return p1 + r2 * p3 - r3 * p2, p2 + r3 * p1 - r1 * p3, p3 + r1 * p2 - r2 * p1
end

"n steps of Runge and Kutta's method on the equations of Lotka and Volterra."
function k_ode(x::Vector{Float64}, c::Vector{Float64}, n::Int64)
    h = 0.01
    u, v = x[1], x[2]
    slope(u, v) = (x[3] * u - x[4] * u * v, x[6] * u * v - x[5] * v)
    for _ in 1:n
        k1u, k1v = slope(u, v)
        k2u, k2v = slope(u + 0.5h * k1u, v + 0.5h * k1v)
        k3u, k3v = slope(u + 0.5h * k2u, v + 0.5h * k2v)
        k4u, k4v = slope(u + h * k3u, v + h * k3v)
        u += (h / 6.0) * (k1u + 2.0 * k2u + 2.0 * k3u + k4u)
        v += (h / 6.0) * (k1v + 2.0 * k2v + 2.0 * k3v + k4v)
    end
    return u + v
end

const KERNELS = [k_bs, k_branch, k_sincos, k_logistic, k_newton, k_tri, k_sumsq, k_fsub, k_lse, k_rosen, k_mlp, k_gmm, k_ba, k_ode]

end
