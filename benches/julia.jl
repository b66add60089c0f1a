# Functions as people write them, each with arguments: loops, broadcasts, the library's own. Written to the folder given: NAME.json, the code of
# each and of all that it calls, and NAME.args: its name, its arguments, Julia's value, and the nanoseconds that Julia takes.

module Functions

using LinearAlgebra, Statistics

const FUNCTIONS = []

"A function, which gets a name, with its arguments."
macro case(name, f, args...)
    parameters = f.args[1] isa Symbol ? [f.args[1]] : f.args[1].args
    definition = Expr(:function, Expr(:call, Symbol("case_", name), parameters...), f.args[2])
    return esc(:(push!(FUNCTIONS, ($name, $definition, ($(args...),)))))
end

r(n) = [sin(1.3i) + 0.1 for i in 1:n]
r(n, m) = [sin(1.3i + 0.7j) for i in 1:n, j in 1:m]

function horner(c, x)
    s = 0.0
    for i in length(c):-1:1
        s = s * x + c[i]
    end
    s
end
@case("horner", (c, x) -> horner(c, x), r(1000), 0.9)

function quad(A, x)
    s = 0.0
    for j in 1:size(A, 2), i in 1:size(A, 1)
        s += x[i] * A[i, j] * x[j]
    end
    s
end
@case("quad", (A, x) -> quad(A, x), r(100, 100), r(100))

function heat(u0, steps)
    u = copy(u0)
    v = similar(u)
    n, m = size(u)
    for t in 1:steps
        fill!(v, 0.0)
        for j in 2:m-1, i in 2:n-1
            v[i, j] = u[i, j] + 0.1 * (u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - 4u[i, j])
        end
        u, v = v, u
    end
    sum(abs2, u)
end
@case("heat", (u, k) -> heat(u, k), r(64, 64), 10)

function conv(x, k)
    s = 0.0
    for i in 1:length(x)-length(k)+1
        t = 0.0
        for j in 1:length(k)
            t += x[i+j-1] * k[j]
        end
        s += t * t
    end
    s
end
@case("conv", (x, k) -> conv(x, k), r(1000), r(9))

function nbody(p)
    e = 0.0
    n = size(p, 2)
    for i in 1:n, j in i+1:n
        dx = p[1, i] - p[1, j]
        dy = p[2, i] - p[2, j]
        dz = p[3, i] - p[3, j]
        e -= 1 / sqrt(dx * dx + dy * dy + dz * dz + 0.01)
    end
    e
end
@case("nbody", p -> nbody(p), r(3, 64))

function chol(A, b)
    n = size(A, 1)
    L = zeros(n, n)
    for j in 1:n
        s = A[j, j] + n
        for k in 1:j-1
            s -= L[j, k]^2
        end
        L[j, j] = sqrt(s)
        for i in j+1:n
            t = A[i, j]
            for k in 1:j-1
                t -= L[i, k] * L[j, k]
            end
            L[i, j] = t / L[j, j]
        end
    end
    y = copy(b)
    for i in 1:n
        for k in 1:i-1
            y[i] -= L[i, k] * y[k]
        end
        y[i] /= L[i, i]
    end
    s = 0.0
    for i in 1:n
        s += y[i]^2 + 2log(L[i, i])
    end
    s
end
@case("chol", (A, b) -> chol(A, b), r(30, 30), r(30))
@case("softmax", (z, y) -> (m = maximum(z); e = exp.(z .- m); p = e ./ sum(e); -sum(y .* log.(p))), r(1000), abs.(r(1000)))

lorenz(u, s, rho, b) = (s * (u[2] - u[1]), u[1] * (rho - u[3]) - u[2], u[1] * u[2] - b * u[3])
function rk4(s, rho, b, n)
    u = (1.0, 0.5, 0.2)
    h = 0.001
    for _ in 1:n
        k1 = lorenz(u, s, rho, b)
        k2 = lorenz(u .+ (h / 2) .* k1, s, rho, b)
        k3 = lorenz(u .+ (h / 2) .* k2, s, rho, b)
        k4 = lorenz(u .+ h .* k3, s, rho, b)
        u = u .+ (h / 6) .* (k1 .+ 2 .* k2 .+ 2 .* k3 .+ k4)
    end
    u[1] + u[2] * u[3]
end
@case("lorenz", (s, q, b, n) -> rk4(s, q, b, n), 10.0, 28.0, 8 / 3, 1000)

function rnn(W, U, x)
    n = size(W, 1)
    h = zeros(n)
    g = zeros(n)
    for t in 1:length(x)
        for i in 1:n
            s = U[i] * x[t]
            for j in 1:n
                s += W[i, j] * h[j]
            end
            g[i] = tanh(s)
        end
        h, g = g, h
    end
    sum(h)
end
@case("rnn", (W, U, x) -> rnn(W, U, x), r(16, 16), r(16), r(50))
@case("rnn_broadcast", (W, U, x) -> (h = zeros(16); for t in 1:50; h = tanh.(W * h .+ U .* x[t]); end; sum(h)), r(16, 16), r(16), r(50))

function dtw(a, b)
    n, m = length(a), length(b)
    D = fill(1e9, n + 1, m + 1)
    D[1, 1] = 0.0
    for j in 1:m, i in 1:n
        c = (a[i] - b[j])^2
        D[i+1, j+1] = c + min(D[i, j+1], D[i+1, j], D[i, j])
    end
    D[n+1, m+1]
end
@case("dtw", (a, b) -> dtw(a, b), r(60), cos.(r(60)))
@case("dot_broadcast", (x, y) -> sum(x .* y), r(10000), r(10000))
@case("sum_abs2", x -> sum(abs2, x), r(10000))
@case("dot", (x, y) -> dot(x, y), r(10000), r(10000))

function kernel_sum(X)
    s = 0.0
    for i in axes(X, 2), j in axes(X, 2)
        d = 0.0
        for k in axes(X, 1)
            d += (X[k, i] - X[k, j])^2
        end
        s += exp(-d)
    end
    s
end
@case("kernel_sum", X -> kernel_sum(X), r(5, 40))

function matmul(A, B)
    C = zeros(size(A, 1), size(B, 2))
    for j in axes(B, 2), k in axes(A, 2), i in axes(A, 1)
        C[i, j] += A[i, k] * B[k, j]
    end
    sum(C .^ 2)
end
@case("matmul", (A, B) -> matmul(A, B), r(40, 40), r(40, 40))
@case("matmul_library", (A, B) -> sum(abs2, A * B), r(40, 40), r(40, 40))

function montecarlo(s, sigma, k, n)
    state = 12345
    total = 0.0
    for i in 1:n
        w = 0.0
        for j in 1:12
            state = (1103515245 * state + 12345) % 2147483648
            w += state / 2147483648
        end
        p = s * exp(sigma * (w - 6) - sigma^2 / 2)
        total += max(p - k, 0.0)
    end
    total / n
end
@case("montecarlo", (s, v, k, n) -> montecarlo(s, v, k, n), 100.0, 0.2, 95.0, 1000)

function logreg(X, y, w)
    l = 0.0
    for i in 1:size(X, 2)
        z = 0.0
        for k in 1:length(w)
            z += X[k, i] * w[k]
        end
        l += log1p(exp(-y[i] * z))
    end
    l + 0.5 * sum(abs2, w)
end
@case("logreg", (X, y, w) -> logreg(X, y, w), r(10, 200), sign.(r(200)), r(10))
@case("logreg_broadcast", (X, y, w) -> sum(log1p.(exp.(-y .* (X' * w)))) + 0.5 * sum(abs2, w), r(10, 200), sign.(r(200)), r(10))

function kalman(z, q, s)
    x, p, l = 0.0, 1.0, 0.0
    for i in eachindex(z)
        p += q
        k = p / (p + s)
        e = z[i] - x
        l += log(p + s) + e^2 / (p + s)
        x += k * e
        p *= 1 - k
    end
    l
end
@case("kalman", (z, q, s) -> kalman(z, q, s), r(1000), 0.1, 0.5)

function mandel(c)
    z = complex(0.0, 0.0)
    for i in 1:500
        z = z * z + c
    end
    abs2(z)
end
@case("mandel", (a, b) -> mandel(complex(a, b)), -0.1, 0.2)

function simpson(f, a, b, n)
    h = (b - a) / n
    s = f(a) + f(b)
    for i in 1:2:n-1
        s += 4f(a + i * h)
    end
    for i in 2:2:n-2
        s += 2f(a + i * h)
    end
    s * h / 3
end
@case("simpson", (a, k) -> simpson(x -> exp(-a * x^2) * sin(k * x), 0.0, 1.0, 1000), 1.5, 3.0)

function roots(a)
    s = 0.0
    for v in a
        x = v * v + 1
        while abs(x * x - v * v - 1) > 1e-10
            x -= (x * x - v * v - 1) / (2x)
        end
        s += x
    end
    s
end
@case("newton_while", a -> roots(a), r(500))
@case("generator", x -> sum(sin(y) * y for y in x), r(1000))
@case("comprehension", x -> sum([sin(x[i]) * x[i+1] for i in 1:length(x)-1]), r(1000))
@case("foldl", x -> foldl((s, y) -> s / 2 + y * y, x), r(1000))
@case("mapreduce", x -> mapreduce(y -> y^3, +, x), r(1000))
@case("sorted", x -> (y = sort(x); s = 0.0; for i in 1:length(y); s += i * y[i]; end; s), r(1000))
@case("zip", (x, y) -> (s = 0.0; for (a, b) in zip(x, y); s += a * b^2; end; s), r(1000), r(1000))
@case("variance", x -> var(x), r(1000))
@case("push", x -> (y = Float64[]; for v in x; v > 0 && push!(y, v^2); end; sum(y)), r(1000))
@case("views", A -> (s = 0.0; for j in axes(A, 2); c = view(A, :, j); s += sqrt(sum(abs2, c)); end; s), r(20, 50))
@case("columns", A -> (s = 0.0; for j in axes(A, 2); s += sqrt(sum(abs2, A[:, j])); end; s), r(20, 50))
@case("cumsum", x -> sum(abs2, cumsum(x)), r(1000))

struct Particle
    x::Float64
    v::Float64
end
function springs(k, n, steps)
    ps = [Particle(sin(i), 0.0) for i in 1:n]
    for t in 1:steps
        for i in 2:n-1
            f = k * (ps[i-1].x - 2ps[i].x + ps[i+1].x)
            v = ps[i].v + 0.01f
            ps[i] = Particle(ps[i].x + 0.01v, v)
        end
    end
    s = 0.0
    for p in ps
        s += p.x^2 + p.v^2
    end
    s
end
@case("springs", (k, n, t) -> springs(k, n, t), 2.0, 50, 50)

function lu_solve(A0, b0)
    A = copy(A0); b = copy(b0); n = length(b)
    for i in 1:n
        A[i, i] += 10
    end
    for k in 1:n, i in k+1:n
        m = A[i, k] / A[k, k]
        for j in k+1:n
            A[i, j] -= m * A[k, j]
        end
        b[i] -= m * b[k]
    end
    for i in n:-1:1
        for j in i+1:n
            b[i] -= A[i, j] * b[j]
        end
        b[i] /= A[i, i]
    end
    sum(b)
end
@case("lu_solve", (A, b) -> lu_solve(A, b), r(30, 30), r(30))
@case("power_int", (x, n) -> (s = 0.0; for i in 1:n; s += x^i; end; s), 0.99, 100)

function meanfield(h, J)
    m = zeros(length(h))
    for it in 1:20, i in 1:length(h)
        a = h[i]
        i > 1 && (a += J * m[i-1])
        i < length(h) && (a += J * m[i+1])
        m[i] = tanh(a)
    end
    sum(m)
end
@case("meanfield", (h, J) -> meanfield(h, J), r(100), 0.3)

function interp(xs, ys, qs)
    s = 0.0
    for q in qs
        i = searchsortedlast(xs, q)
        i = clamp(i, 1, length(xs) - 1)
        t = (q - xs[i]) / (xs[i+1] - xs[i])
        s += (1 - t) * ys[i] + t * ys[i+1]
    end
    s
end
@case("interp", (xs, ys, qs) -> interp(xs, ys, qs), collect(0.0:0.1:10.0), r(101), 10 .* abs.(r(300)) ./ 1.1)
end # module

include(joinpath(@__DIR__, "..", "julia", "BBKit.jl"))
using .Functions: FUNCTIONS

json(x::Union{Float64,Int64}) = string(x)
json(x::Union{Vector,Tuple}) = string('[', join(map(json, x), ','), ']')
json(x::Matrix) = string('[', join([json(x[:, i]) for i in axes(x, 2)], ','), ']')

"The least of 30 times, each of as many calls as take two milliseconds."
function nanoseconds(f, args)
    f(args...)
    least = Inf
    for _ in 1:30
        once = @elapsed f(args...)
        calls = clamp(round(Int, 2e-3 / max(once, 1e-9)), 1, 100_000)
        start = time_ns()
        for _ in 1:calls
            f(args...)
        end
        least = min(least, (time_ns() - start) / calls)
    end
    return least
end

for (name, f, args) in FUNCTIONS
    BBKit.export_function(joinpath(ARGS[1], "$name.json"), f, Tuple{map(typeof, args)...}; callees = true)
    time = Base.invokelatest(nanoseconds, f, args)
    write(joinpath(ARGS[1], "$name.args"), join((nameof(f), json(args), f(args...), time), '\n'))
end
