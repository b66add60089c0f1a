# Functions of `Base` without what nothing here runs or differentiates: types that only the run tells, texts by their address, the bits of floats and of arrays.

"Operators of `Base`, alone, as they are nothing else here."
module OperatorsOfBase

==(a::String, b::String) = a === b

"Exact by a fused operation, and not by the upper bits of a factor."
function *(x::Base.TwicePrecision{T}, v::Integer) where {T<:Union{Float32,Float64}}
    number = convert(T, v)
    high, low = Base.mul12(x.hi, number)
    return Base.TwicePrecision{T}(Base.canonicalize2(high, muladd(x.lo, number, low))...)
end

end

"For `Base`: what its own functions do with types that only the run tells, or with the bits of arrays."
module OfBase

unique(x::Number) = [x]

# Without a loop: addresses are compared where they are asked for.
mightalias(A::AbstractArray, B::AbstractArray) = !(isbits(A) || isbits(B)) && meet(Base.dataids(A), Base.dataids(B))
meet(::Tuple{}, ids::Tuple) = false
meet(some::Tuple, ids::Tuple) = is_among(first(some), ids) | meet(Base.tail(some), ids)
is_among(id::UInt, ::Tuple{}) = false
is_among(id::UInt, ids::Tuple) = (id === first(ids)) | is_among(id, Base.tail(ids))

# Julia looks for fractions that ends and steps of ranges may stand for, and goes on with their integers. These go from the floats themselves, in two parts,
# of which the step has so many zeros at its end that its multiples are exact, by Veltkamp's splitting.
function float_range(start::Base.TwicePrecision{Float64}, step::Base.TwicePrecision{Float64}, len::Int)
    large = Float64(nextpow(2, max(len, 1))) + 1
    scaled = step.hi * large
    upper = scaled - (scaled - step.hi)
    return StepRangeLen(start, Base.TwicePrecision(upper, (step.hi - upper) + step.lo), len)
end
function _range(start::Float64, ::Nothing, stop::Float64, len::Int)
    len == 1 && start != stop && throw(ArgumentError("range($start, stop=$stop, length=$len): endpoints differ"))
    from = Base.TwicePrecision(start, 0.0)
    return float_range(from, (Base.TwicePrecision(stop, 0.0) - start) / Float64(max(len - 1, 1)), len)
end
_range(start::Float64, step::Float64, ::Nothing, len::Int) =
    float_range(Base.TwicePrecision(start, 0.0), Base.TwicePrecision(step, 0.0), len)

reduced_indices(inds::NTuple{N,Base.OneTo{Int}}, d::Int) where {N} =
    d < 1 ? throw(ArgumentError("dimension must be ≥ 1, got $d")) :
    ntuple(i -> i == d ? Base.reduced_index(inds[i]) : inds[i], Val(N))

function _accumulate!(op, B::Array, A::Array, dims::Integer, init::Union{Nothing,Some})
    dims > 0 || throw(ArgumentError("dims must be a positive integer"))
    axes(A) == axes(B) || throw(DimensionMismatch("shape of B must match A"))
    dims > ndims(A) && return copyto!(B, A)
    # How far it is to the next element along the dimension, and how many elements the dimensions up to it have.
    step = 1
    for d in 1:dims-1
        step *= size(A, d)
    end
    block = step * size(A, dims)
    for start in 0:block:length(A)-1, i in start+1:start+block
        if i > start + step
            B[i] = op(B[i-step], A[i])
        elseif init === nothing
            B[i] = Base.reduce_first(op, A[i])
        else
            B[i] = op(something(init), A[i])
        end
    end
    return B
end

"Each element `inner` times, and all that `outer` times, along each dimension."
function _repeat(A::Array{T,N}, inner::NTuple{M,Int}, outer::NTuple{K,Int}) where {T,N,M,K}
    all(n -> n >= 0, inner) && all(n -> n >= 0, outer) || throw(ArgumentError("no number of repetitions may be negative"))
    (M < N || K < N) && throw(ArgumentError("repetitions must be given for each of the $N dimensions"))
    dims = Val(max(N, M, K))
    times(n, d) = d <= length(n) ? n[d] : 1
    repeated = Array{T}(undef, ntuple(d -> size(A, d) * times(inner, d) * times(outer, d), dims))
    for at in CartesianIndices(repeated)
        from = ntuple(d -> mod(div(at[d] - 1, times(inner, d)), size(A, d)) + 1, dims)
        repeated[at] = A[from...]
    end
    return repeated
end

"Puts `Bool`s from one place on in bits from another one on."
function copy_to_bitarray_chunks!(Bc::Vector{UInt64}, pos_d::Int, C::Vector{Bool}, pos_s::Int, numbits::Int)
    for k in 0:numbits-1
        chunk, bit = ((pos_d + k - 1) >>> 6) + 1, (pos_d + k - 1) & 63
        mask = UInt64(1) << bit
        Bc[chunk] = C[pos_s+k] ? Bc[chunk] | mask : Bc[chunk] & ~mask
    end
    return nothing
end

"Packs 64 `Bool`s a word."
function dumpbitcache(Bc::Vector{UInt64}, bind::Int, C::Vector{Bool})
    for chunk in 0:min(div(length(C), 64), length(Bc) - bind + 1)-1
        word = UInt64(0)
        for bit in 1:64
            word |= UInt64(C[64chunk+bit]) << (bit - 1)
        end
        Bc[bind+chunk] = word
    end
    return nothing
end

end
