# More functions: arrays of three dimensions. Evaluated in the module of functions.jl.

@case("slices_of_three_dimensions", v -> (a = reshape(v, 2, 2, 3); sum(sum(abs2, s) * i for (i, s) in enumerate(eachslice(a, dims = 3))) + weighted([sum(m .^ 2) for m in eachslice(a, dims = 2)])), [0.4, 0.3, -0.2, 0.9, 0.1, 0.7, 1.1, -0.6, 0.5, 0.2, 0.8, -0.3])
@case("products_of_slices", v -> (a = reshape(v, 2, 2, 3); s = zero(eltype(v)); for m in eachslice(a, dims = 1); s += sum(m * m'); end; s + weighted(map(sum, eachslice(a; dims = 3)))), [0.4, 0.3, -0.2, 0.9, 0.1, 0.7, 1.1, -0.6, 0.5, 0.2, 0.8, -0.3])
@case("slices_changed_in_place", v -> (b = copy(reshape(v, 2, 2, 3)); for s in eachslice(b, dims = 3); s .*= 2; s[1] = v[1] * v[2]; end; weighted(b)), [0.4, 0.3, -0.2, 0.9, 0.1, 0.7, 1.1, -0.6, 0.5, 0.2, 0.8, -0.3])
@case("matrices_of_a_list_behind_one_another", v -> (ms = [reshape(v[4i-3:4i], 2, 2) for i in 1:3]; weighted(cat(ms...; dims = 3) .^ 2) + weighted(cat(ms...; dims = 1)) + weighted(cat(ms...; dims = 2))), [0.4, 0.3, -0.2, 0.9, 0.1, 0.7, 1.1, -0.6, 0.5, 0.2, 0.8, -0.3])
@case("batched_product", v -> (a = reshape(v, 2, 2, 3); c = similar(a); for k in 1:3; c[:, :, k] = a[:, :, k] * a[:, :, 4-k]; end; weighted(c)), [0.4, 0.3, -0.2, 0.9, 0.1, 0.7, 1.1, -0.6, 0.5, 0.2, 0.8, -0.3])
function diffused(v, dt, n)
    a = reshape(v, 2, 3, 2)
    for _ in 1:n
        b = copy(a)
        for k in axes(a, 3), j in axes(a, 2), i in axes(a, 1)
            s = a[max(i - 1, 1), j, k] + a[min(i + 1, 2), j, k] + a[i, max(j - 1, 1), k] + a[i, min(j + 1, 3), k]
            b[i, j, k] += dt * (s + a[i, j, 3-k] - 5 * a[i, j, k])
        end
        a = b
    end
    return a
end
@case("diffusion_in_three_dimensions", v -> weighted(diffused(v, 0.0625, 3) .^ 2), [0.4, 0.3, -0.2, 0.9, 0.1, 0.7, 1.1, -0.6, 0.5, 0.2, 0.8, -0.3])
function recurrent(W, U, x)
    h = zeros(eltype(x), size(W, 1), size(x, 3))
    for t in axes(x, 2)
        h = tanh.(W * x[:, t, :] .+ U * h)
    end
    return h
end
@case("recurrent_net_on_a_batch", v -> weighted(recurrent(reshape(v[1:4], 2, 2), reshape(v[3:6], 2, 2), reshape(v, 2, 3, 2))), [0.4, 0.3, -0.2, 0.9, 0.1, 0.7, 1.1, -0.6, 0.5, 0.2, 0.8, -0.3])
