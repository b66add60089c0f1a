# More functions: loops on several threads, and calls of the latest method. Evaluated in the module of functions.jl.

function squares_on_threads(v)
    out = similar(v)
    Threads.@threads for i in eachindex(v)
        out[i] = v[i]^2
    end
    return out
end
@case("loop_on_threads", v -> weighted(squares_on_threads(v)), [0.4, 0.3, -0.2])
function products_on_threads(v)
    c = zeros(eltype(v), 2, 2)
    Threads.@threads for i in 1:2
        Threads.@threads for j in 1:2
            c[i, j] = v[i] * v[i+j]
        end
    end
    return c
end
@case("loops_on_threads_in_loops_on_threads", v -> weighted(products_on_threads(v)), [0.4, 0.3, -0.2, 0.9])
function sums_of_threads(v)
    sums = zeros(eltype(v), Threads.nthreads())
    Threads.@threads for x in v
        sums[Threads.threadid()] += x^3
    end
    return sum(sums)
end
@case("sums_of_threads", v -> sums_of_threads(v), [0.4, 0.3, -0.2, 0.9])
scaled_by_latest(x; by = 2) = x * by
@case("latest_method", v -> (f = x -> x * v[2]; Base.invokelatest(f, v[1])::eltype(v) * Base.invokelatest(scaled_by_latest, v[3]; by = v[1])::eltype(v)), [0.4, 0.3, -0.2])
