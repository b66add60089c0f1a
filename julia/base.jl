# Functions of `Base` without what nothing here runs or differentiates: types that only the run tells, texts by their address, the bits of floats and of arrays.

"""
Elements that turn out to be integers where others are floats: an array of these has floats in a dump, where Julia makes one of any real numbers. In it they are the same
numbers.
"""
module Mixed

const OfOneType = Union{Float32,Float64,Int64,Bool}

"An array that holds what was in this one up to the place of an element that is of another type, and the element there."
floats(array, x, at) = refilled(similar(array, typeof(x)), array, x, at)
widened(array, x, at) = refilled(similar(array, Base.promote_typejoin(eltype(array), typeof(x))), array, x, at)
function refilled(wider, array, x, at)
    for i in 1:at-1
        wider[i] = array[i]
    end
    wider[at] = x
    return wider
end

end

"For `Base.Broadcast`."
module Broadcast

using ..Portable: Mixed

# Elements are counted in the order in which they lie.
function copyto_nonleaf!(dest::Array{T}, bc::Base.Broadcast.Broadcasted, iter, state, count) where {T<:Mixed.OfOneType}
    while true
        y = iterate(iter, state)
        y === nothing && return dest
        I, state = y
        @inbounds x = bc[I]
        count += 1
        if x isa T
            @inbounds dest[I] = x
        elseif T <: AbstractFloat && x isa Union{Int64,Bool}
            @inbounds dest[I] = x
        elseif T <: Integer && x isa Union{Float32,Float64}
            return copyto_nonleaf!(Mixed.floats(dest, x, count), bc, iter, state, count)
        else
            return Base.Broadcast.copyto_nonleaf!(Mixed.widened(dest, x, count), bc, iter, state, count)
        end
    end
end

end

"For `Base`: what its own functions do with types that only the run tells, or with the bits of arrays."
module OfBase

using ..Portable: Mixed, fill_from!, joined

unique(x::Number) = [x]

# Powers with negative numbers that are written in code: of what is no float they are those of the inverse.
negative_power(x::AbstractFloat, n) = n == -1 ? inv(x) : x^n
function negative_power(x, n)
    y = inv(x)
    n == -1 && return y
    n == -2 && return y * y
    return n == -3 ? y * y * y : y^-n
end

include("complex.jl")

"""
Keys that are found in dictionaries by comparing them with all: where they would be found otherwise depends on the bytes of texts, or on numbers that each build of Julia gives to symbols and types, and
that its compiler computes for keys that are written in code.
"""
const Compared = Union{String,Symbol,Char,Enum}

"Dictionaries in which keys are found so: of such keys, and of any, among which they may be."
const ComparedDict = Union{Dict{<:Compared},Dict{Any}}

"Whether a key is the one asked for, as `isequal` has it: keys of one type, or numbers of which one may be of another."
is_key(known, key::K) where {K} =
    known isa K ? (K <: Compared ? known === key : isequal(known, key)) :
    K <: Number && known isa Union{Int64,Float64} && isequal(known, key)

# The names are those up to Julia 1.9.
if VERSION < v"1.10"
    function ht_keyindex(h::ComparedDict, key)
        for i in 1:length(h.slots)
            Base.isslotfilled(h, i) && is_key(h.keys[i], key) && return i
        end
        return -1
    end
    function ht_keyindex2!(h::ComparedDict, key)
        free = 0
        for i in 1:length(h.slots)
            if !Base.isslotfilled(h, i)
                free = i
            elseif is_key(h.keys[i], key)
                return i
            end
        end
        if free == 0
            free = length(h.slots) + 1
            rehash!(h, 2 * length(h.slots))
        end
        return -free
    end
    # What is there stays where it is.
    function rehash!(h::ComparedDict, newsz::Int)
        count = length(h.slots)
        newsz > count || return h
        resize!(h.slots, newsz)
        for i in count+1:newsz
            h.slots[i] = 0x0
        end
        resize!(h.keys, newsz)
        resize!(h.vals, newsz)
        h.age += 1
        return h
    end
    # The key and the value stay in their places.
    function _delete!(h::Dict, index::Int)
        h.slots[index] = 0x2
        h.ndel += 1
        h.count -= 1
        h.age += 1
        return h
    end
end

"`Dict(kv)` without the care for what is no collection of pairs, which is an exception in any case."
dictionary(kv::Union{Base.Generator,Base.Iterators.Zip,AbstractVector}) = Base.dict_with_eltype((K, V) -> Dict{K,V}, kv, eltype(kv))

# The field is known where it is set: that its type is asked for is of no use to code that only has its name.
@generated function setproperty!(object, field::Symbol, value)
    body = :(throw(ErrorException("there is no such field, or it takes no such value")))
    for i in fieldcount(object):-1:1
        name, ty = QuoteNode(fieldname(object, i)), fieldtype(object, i)
        value <: ty || hasmethod(convert, Tuple{Type{ty},value}) || continue
        stored = value <: ty ? :value : :(convert($ty, value))
        body = :(field === $name ? setfield!(object, $name, $stored) : $body)
    end
    return body
end

# Pairs with values of several types: Julia finds out only in the run for what values the dictionary is.
dictionary(first::Pair{K}, second::Pair{K}, rest::Pair{K}...) where {K} = dictionary((first, second, rest...))
@generated function dictionary(kv::Tuple{Pair{K},Pair{K},Vararg{Pair{K}}}) where {K}
    V = mapreduce(pair -> fieldtype(pair, 2), Base.promote_typejoin, fieldtypes(kv))
    stores = [:(made[kv[$i].first] = kv[$i].second) for i in 1:fieldcount(kv)]
    return Expr(:block, :(made = Dict{$K,$V}()), stores..., :made)
end

function collect_to!(dest::Array{T}, itr, offs, st) where {T<:Mixed.OfOneType}
    i = offs
    while true
        y = iterate(itr, st)
        y === nothing && return dest
        x, st = y
        if x isa T
            @inbounds dest[i] = x
        elseif T <: AbstractFloat && x isa Union{Int64,Bool}
            @inbounds dest[i] = x
        elseif T <: Integer && x isa Union{Float32,Float64}
            return collect_to!(Mixed.floats(dest, x, i), itr, i + 1, st)
        else
            return Base.collect_to!(Mixed.widened(dest, x, i), itr, i + 1, st)
        end
        i += 1
    end
end

# What is of another type than what came before is asked for once, and not by the type of the array that was made for it.
function collect_to!(dest::Array{T}, itr, offs, st) where {T}
    i = offs
    while true
        y = iterate(itr, st)
        y === nothing && return dest
        x, st = y
        x isa T || return collect_to!(Mixed.widened(dest, x, i), itr, i + 1, st)
        @inbounds dest[i] = x
        i += 1
    end
end

deepcopy(x::Array{<:Union{Bool,Base.BitInteger,Base.IEEEFloat,Complex{<:Base.IEEEFloat}}}) = copy(x)

# Without a loop: addresses are compared where they are asked for.
mightalias(A::AbstractArray, B::AbstractArray) = !(isbits(A) || isbits(B)) && meet(Base.dataids(A), Base.dataids(B))
meet(::Tuple{}, ids::Tuple) = false
meet(some::Tuple, ids::Tuple) = is_among(first(some), ids) | meet(Base.tail(some), ids)
is_among(id::UInt, ::Tuple{}) = false
is_among(id::UInt, ids::Tuple) = (id === first(ids)) | is_among(id, Base.tail(ids))

# Elements that are no numbers, of an array of another type, or of the same array, where the last are copied first if they move on.
function _unsafe_copyto!(dest::Array, doffs, src::Array, soffs, n)
    if doffs > soffs && Base.mightalias(dest, src)
        foreach(i -> copy_element!(dest, doffs + i, src, soffs + i), n-1:-1:0)
    else
        foreach(i -> copy_element!(dest, doffs + i, src, soffs + i), 0:n-1)
    end
    return dest
end
# What is not assigned stays so; nothing takes an element away that is.
function copy_element!(dest::Array, i, src::Array, j)
    if isassigned(src, j)
        dest[i] = src[j]
    elseif isassigned(dest, i)
        throw(UndefRefError())
    end
    return nothing
end
# Arrays of numbers of different types share no memory, so that it does not matter in which order their elements are converted.
function _unsafe_copyto!(dest::Array{<:Number}, doffs, src::Array{<:Number}, soffs, n)
    for i in 0:n-1
        @inbounds dest[doffs+i] = src[soffs+i]
    end
    return dest
end

# Ranges of floats whose multiples of the step are exact: it is in two parts, of which the first has so many zeros at its end, by Veltkamp's splitting.
function float_range(ref::Base.TwicePrecision{Float64}, step::Base.TwicePrecision{Float64}, len::Int, offset::Int = 1)
    large = Float64(nextpow(2, max(len, 1))) + 1
    scaled = step.hi * large
    upper = scaled - (scaled - step.hi)
    return StepRangeLen(ref, Base.TwicePrecision(upper, (step.hi - upper) + step.lo), len, offset)
end

# Julia looks for fractions that ends and steps may stand for, `0.1` for 1//10, and makes the elements of these.
"A denominator of the fractions that two floats stand for; 0 if they stand for none."
function common_denominator(a::Float64, b::Float64)
    a_n, a_d = Base.rat(a)
    b_n, b_d = Base.rat(b)
    a_d != 0 && b_d != 0 && a_n / a_d == a && b_n / b_d == b || return 0
    den = Base.lcm_unchecked(a_d, b_d)
    most = maxintfloat(Float64, Int)
    return den != 0 && abs(a * den) <= most && abs(b * den) <= most && rem(den, a_d) == 0 && rem(den, b_d) == 0 ? den : 0
end

"A range of fractions of a denominator, which grow with the floats that its start and its step are. The element next to zero is in it as it is."
function fraction_range(start::Float64, step::Float64, start_n::Int, step_n::Int, den::Int, len::Int)
    least = step_n == 0 ? 1 : clamp(round(Int, 1 - start_n / step_n), 1, max(len, 1))
    ref = growing_with(start + (least - 1) * step, start_n + (least - 1) * step_n, den)
    return float_range(ref, growing_with(step, step_n, den), len, least)
end

"A fraction that grows with a float."
function growing_with(x::Float64, n::Int, den::Int)
    nearest = n / den
    return Base.TwicePrecision(nearest + (x - constant(x)), fma(-nearest, Float64(den), Float64(n)) / den)
end

"The same float, as one that grows with nothing: rounding does not."
constant(x::Float64) = round(x * 2.0^500) * 2.0^-500

function _range(start::Float64, ::Nothing, stop::Float64, len::Int)
    len == 1 && start != stop && throw(ArgumentError("range($start, stop=$stop, length=$len): endpoints differ"))
    steps = max(len - 1, 1)
    den = common_denominator(start, stop)
    most = maxintfloat(Float64, Int)
    if den != 0 && max(abs(start), abs(stop), 1.0) * den * steps <= most
        start_n, stop_n = round(Int, start * den), round(Int, stop * den)
        return fraction_range(start, (stop - start) / steps, start_n * steps, stop_n - start_n, den * steps, len)
    end
    from = Base.TwicePrecision(start, 0.0)
    return float_range(from, (Base.TwicePrecision(stop, 0.0) - start) / Float64(steps), len)
end
_range(start::Float64, step::Float64, ::Nothing, len::Int) = range_from(start, step, common_denominator(start, step), len)

# What stands for no fractions is taken as it is, and the multiples of the step are rounded.
range_from(start::Float64, step::Float64, den::Int, len::Int) =
    den == 0 ? StepRangeLen(Base.TwicePrecision(start, 0.0), Base.TwicePrecision(step, 0.0), len) :
    fraction_range(start, step, round(Int, start * den), round(Int, step * den), den, len)

reduced_indices(inds::NTuple{N,Base.OneTo{Int}}, d::Int) where {N} = indices_but(Base.reduced_index, inds, d)
reduced_indices(inds::NTuple{N,Base.OneTo{Int}}, region::Union{Tuple{Vararg{Int}},Vector{Int}}) where {N} =
    all(d -> d >= 1, region) ? ntuple(i -> i in region ? Base.reduced_index(inds[i]) : inds[i], Val(N)) :
    throw(ArgumentError("dimensions must be ≥ 1"))
reduced_indices0(inds::NTuple{N,Base.OneTo{Int}}, d::Int) where {N} =
    indices_but(ind -> isempty(ind) ? ind : Base.reduced_index(ind), inds, d)
indices_but(reduced, inds::NTuple{N,Base.OneTo{Int}}, d::Int) where {N} =
    d < 1 ? throw(ArgumentError("dimension must be ≥ 1, got $d")) : ntuple(i -> i == d ? reduced(inds[i]) : inds[i], Val(N))

function Colon(start::Float64, step::Float64, stop::Float64)
    iszero(step) && throw(ArgumentError("range step cannot be zero"))
    den = common_denominator(start, step)
    len = den == 0 ? -1 : length_of_fractions(start, step, stop, den)
    return len < 0 ? range_from(start, step, 0, length_of_floats(start, step, stop)) : range_from(start, step, den, len)
end

"How many elements there are, if all three stand for fractions; -1 if they do not."
function length_of_fractions(start::Float64, step::Float64, stop::Float64, den::Int)
    stop_n, stop_d = Base.rat(stop)
    stop_d != 0 && stop_n / stop_d == stop || return -1
    start_n, step_n = round(Int, start * den), round(Int, step * den)
    len = max(0, div(den * stop_n - stop_d * start_n + step_n * stop_d, step_n * stop_d))
    fits = Base.isbetween(start, start + (len - 1) * step, stop + step / 2) && !Base.isbetween(start, start + len * step, stop)
    return fits ? len : -1
end

function length_of_floats(start::Float64, step::Float64, stop::Float64)
    steps = (stop - start) / step
    steps < 0 && return 0
    steps == 0 && return 1
    len = round(Int, steps) + 1
    last = start + (len - 1) * step
    # What overshoots the end.
    return start < stop < last || start > stop > last ? len - 1 : len
end

"How far it is to the next element along a dimension, and how many elements the dimensions up to it have."
function strides_of(A::AbstractArray, dims::Int)
    1 <= dims <= ndims(A) || throw(ArgumentError("dims must be one of the dimensions of the array"))
    step = 1
    for d in 1:dims-1
        step *= size(A, d)
    end
    return step, step * size(A, dims)
end

"The size of an array but for one dimension."
size_but(A::Array{T,N}, dims::Int, length::Int) where {T,N} = ntuple(d -> d == dims ? length : size(A, d), Val(N))

# With the keywords before the function itself.
function reverse(dims::Int, _, A::Array)
    step, block = strides_of(A, dims)
    reversed = similar(A)
    for start in 0:block:length(A)-1, row in 0:step:block-1, i in 1:step
        reversed[start+row+i] = A[start+block-step-row+i]
    end
    return reversed
end

"What `f` makes of each column along a dimension: a column, or one value."
function mapslices(dims::Int, _, f, A::Array)
    step, block = strides_of(A, dims)
    column(start, i) = [A[start+row+i] for row in 0:step:block-1]
    isempty(A) && throw(ArgumentError("slices of empty arrays are not taken"))
    # Each is asked for once.
    first = f(column(0, 1))
    made = columns_of(first, A, dims)
    rows = size(made, dims)
    put_column!(made, first, 1, step, rows)
    for start in 0:block:length(A)-1, i in 1:step
        start + i == 1 || put_column!(made, f(column(start, i)), div(start, block) * step * rows + i, step, rows)
    end
    return made
end
columns_of(first::AbstractArray, A, dims) = throw(ArgumentError("only slices that become vectors or values are written as loops"))
columns_of(first::AbstractVector{T}, A, dims) where {T} = Array{T}(undef, size_but(A, dims, length(first)))
columns_of(first::T, A, dims) where {T} = Array{T}(undef, size_but(A, dims, 1))
function put_column!(made, column::AbstractVector, at, step, rows)
    length(column) == rows || throw(DimensionMismatch("slices of several lengths"))
    for row in 1:rows
        made[at+(row-1)*step] = column[row]
    end
end
put_column!(made, value, at, step, rows) = made[at] = value

function _extrema_dims(f, A::Array, dims::Int)
    step, block = strides_of(A, dims)
    isempty(A) && throw(ArgumentError("an empty array has no extrema"))
    first = f(A[1])
    found = Array{Tuple{typeof(first),typeof(first)}}(undef, size_but(A, dims, 1))
    for start in 0:block:length(A)-1, i in 1:step
        least = most = start + i == 1 ? first : f(A[start+i])
        for row in step:step:block-1
            value = f(A[start+row+i])
            least, most = min(least, value), max(most, value)
        end
        found[div(start, block)*step+i] = (least, most)
    end
    return found
end

# Vectors and numbers one below the other.
__cat(A::Vector, shape::Tuple{Int}, catdims::Tuple{Bool}, parts::Union{Number,AbstractVector}...) = fill_from!(A, 0, parts...)

const Block = Union{Number,AbstractVecOrMat}
height(x::Number) = 1
height(x) = size(x, 1)
width(x::Number) = 1
width(x) = size(x, 2)

"A matrix of numbers of several types, given in rows, which all become those of the matrix."
function hvcat_fill(matrix::Matrix{T}, numbers::Tuple{Vararg{Number}}) where {T<:Number}
    length(numbers) == length(matrix) || throw(ArgumentError("mismatched number of elements"))
    rows = numbers isa Tuple{Vararg{T}} ? numbers : map(number -> convert(T, number), numbers)
    k = 0
    for i in 1:size(matrix, 1), j in 1:size(matrix, 2)
        matrix[i, j] = rows[k += 1]
    end
    return matrix
end

_typed_hcat(::Type{T}, blocks::Tuple{Block,Vararg{Block}}) where {T} = typed_hvcat(T, (length(blocks),), blocks...)

_typed_vcat(::Type{T}, parts::Tuple{AbstractVector,Vararg{AbstractVector}}) where {T} =
    fill_from!(Vector{T}(undef, +(map(length, parts)...)), 0, parts...)
_typed_vcat(::Type{T}, blocks::Tuple{AbstractVecOrMat,Vararg{AbstractVecOrMat}}) where {T} = typed_hvcat(T, map(block -> 1, blocks), blocks...)

"Blocks side by side in rows, of so many each."
function typed_hvcat(::Type{T}, rows::Tuple{Vararg{Int}}, blocks::Block...) where {T}
    heights, widths, counts = sizes(height, blocks), sizes(width, blocks), joined(Base.vect, rows)
    sum(counts) == length(blocks) || throw(ArgumentError("there are more or fewer blocks than the rows have"))
    tops, lefts = similar(heights), similar(heights)
    block, top, across = 0, 0, -1
    for count in counts
        left, high = 0, heights[block+1]
        for _ in 1:count
            block += 1
            heights[block] == high || throw(DimensionMismatch("blocks of one row differ in height"))
            tops[block], lefts[block] = top, left
            left += widths[block]
        end
        across in (-1, left) || throw(DimensionMismatch("rows of blocks differ in width"))
        top, across = top + high, left
    end
    return place_all!(Matrix{T}(undef, top, across), tops, lefts, blocks)
end

# There may be more blocks than Julia's compiler takes apart one by one.
"A number of each block."
@generated function sizes(f, blocks::Tuple)
    n = fieldcount(blocks)
    filled = [:(found[$i] = f(blocks[$i])) for i in 1:n]
    return Expr(:block, :(found = Vector{Int}(undef, $n)), filled..., :found)
end
"Each block in its place."
@generated function place_all!(whole, tops, lefts, blocks::Tuple)
    placed = [:(place!(whole, tops[$i], lefts[$i], blocks[$i])) for i in 1:fieldcount(blocks)]
    return Expr(:block, placed..., :whole)
end
place!(whole, top, left, x::Number) = (whole[top+1, left+1] = x; nothing)
function place!(whole, top, left, x)
    for j in 1:size(x, 2), i in 1:size(x, 1)
        whole[top+i, left+j] = x[i, j]
    end
end

function _accumulate!(op, B::Array, A::AbstractArray, dims::Integer, init::Union{Nothing,Some})
    dims > 0 || throw(ArgumentError("dims must be a positive integer"))
    axes(A) == axes(B) || throw(DimensionMismatch("shape of B must match A"))
    dims > ndims(A) && return copyto!(B, A)
    step, block = strides_of(A, dims)
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

"For `Base.Math`."
module Math

using ..OfBase: times

# Where the argument is zero, the functions of it that have the derivatives of these there.
const FloatOrComplex = Union{T,Complex{T}} where {T<:Union{Float32,Float64}}
function sinc(x::FloatOrComplex)
    iszero(x) && return 1 - (pi * x)^2 / 6
    return x isa Real && isinf(x) ? zero(x) : Base.sinpi(x) / (pi * x)
end
function cosc(x::FloatOrComplex)
    iszero(x) && return -(oftype(real(x), pi)^2 / 3) * x + zero(x)
    return x isa Real && isinf(x) ? zero(x) : (Base.cospi(x) - Base.sinpi(x) / (pi * x)) / x
end

# On the imaginary axis as elsewhere: what is left out there has a derivative.
function sinpi(z::Complex{T}) where {T<:Union{Float32,Float64}}
    x, y = reim(z)
    isfinite(x) || return Complex(T(NaN), iszero(y) || isinf(y) ? y : T(NaN))
    y = T(pi) * y
    s, c = Base.sinpi(x), Base.cospi(x)
    isfinite(y) || return Complex(iszero(s) ? s : s * cosh(y), iszero(c) ? (isnan(y) ? c : copysign(c, y)) : c * sinh(y))
    return Complex(times(s, cosh(y)), times(c, sinh(y)))
end
function cospi(z::Complex{T}) where {T<:Union{Float32,Float64}}
    x, y = reim(z)
    if !isfinite(x)
        iszero(y) && return Complex(T(NaN), isnan(x) ? zero(T) : -flipsign(y, x))
        return isinf(y) ? Complex(T(Inf), T(NaN)) : Complex(T(NaN), T(NaN))
    end
    y = T(pi) * y
    s, c = Base.sinpi(x), Base.cospi(x)
    isfinite(y) || return Complex(iszero(c) ? c : c * cosh(y), iszero(s) ? (isnan(y) ? s : -flipsign(s, y)) : -s * sinh(y))
    return Complex(times(c, cosh(y)), -times(s, sinh(y)))
end

end

"The parts behind one another, along a dimension that is known."
concatenated(::Val{1}, parts::AbstractVecOrMat...) = vcat(parts...)
concatenated(::Val{2}, parts::AbstractVecOrMat...) = hcat(parts...)
function concatenated(::Val{3}, first::AbstractMatrix, rest::AbstractMatrix...)
    all(part -> size(part) == size(first), rest) || throw(DimensionMismatch("matrices of different sizes are put behind one another"))
    return reshape(hcat(first, rest...), size(first, 1), size(first, 2), 1 + length(rest))
end

"The arrays of a vector behind one another, as `cat(parts...; dims = d)` has them."
concatenated_all(::Val{1}, parts::Vector{<:AbstractVecOrMat}) = reduce(vcat, parts)
concatenated_all(::Val{2}, parts::Vector{<:AbstractVecOrMat}) = reduce(hcat, parts)
function concatenated_all(::Val{3}, parts::Vector{<:AbstractMatrix})
    rows, columns = size(first(parts))
    all(part -> size(part) == (rows, columns), parts) || throw(DimensionMismatch("matrices of different sizes are put behind one another"))
    return reshape(reduce(hcat, parts), rows, columns, length(parts))
end

"The slices of an array."
slices(::Val{1}, A::AbstractMatrix) = eachrow(A)
slices(::Val{2}, A::AbstractMatrix) = eachcol(A)
slices(::Val{1}, A::AbstractArray{<:Any,3}) = (view(A, i, :, :) for i in axes(A, 1))
slices(::Val{2}, A::AbstractArray{<:Any,3}) = (view(A, :, i, :) for i in axes(A, 2))
slices(::Val{3}, A::AbstractArray{<:Any,3}) = (view(A, :, :, i) for i in axes(A, 3))

"What was at a place of a vector, or at several, which is taken out of it."
function taken_out!(v::Vector, at::Union{Int,UnitRange{Int}})
    taken = v[at]
    deleteat!(v, at)
    return taken
end

"Operators of `Base`, alone, as they are nothing else here."
module OperatorsOfBase

using ..OfBase: float_range

==(a::String, b::String) = a === b

"Exact by a fused operation, and not by the upper bits of a factor."
function *(x::Base.TwicePrecision{T}, v::Integer) where {T<:Union{Float32,Float64}}
    number = convert(T, v)
    high, low = Base.mul12(x.hi, number)
    return Base.TwicePrecision{T}(Base.canonicalize2(high, muladd(x.lo, number, low))...)
end

const FloatRange = StepRangeLen{Float64,Base.TwicePrecision{Float64},Base.TwicePrecision{Float64}}

"Without the bits of steps. A difference is a sum, too."
function +(a::FloatRange, b::FloatRange)
    length(a) === length(b) || throw(DimensionMismatch("argument dimensions must match"))
    start = Base.:+(Base._getindex_hiprec(a, 1), Base._getindex_hiprec(b, 1))
    return float_range(start, Base.:+(a.step, b.step), length(a))
end

end
