# Tuples of which only the run knows how many elements they have, as `(x...,)` and `ntuple(f, n)` make them, where all elements are of one type: an array in a
# struct, that does what tuples do.
#
# It is no tuple and no array: methods for these are not for it, so that what is not here is not found, and not done in another way.

struct OpenTuple{T}
    elements::Vector{T}
end

"The elements of tuples, arrays and open tuples, one after another."
open_tuple(::Type{T}, parts...) where {T} = OpenTuple(fill_from!(Vector{T}(undef, +(0, map(length, parts)...)), 0, parts...))
reversed_tuple(::Type{T}, parts...) where {T} = reverse(open_tuple(T, parts...))
open_tuple_of(::Type{T}, f, n) where {T} = OpenTuple(T[f(i) for i in 1:n])

Base.length(t::OpenTuple) = length(t.elements)
Base.eltype(::Type{OpenTuple{T}}) where {T} = T
Base.isempty(t::OpenTuple) = isempty(t.elements)
Base.firstindex(t::OpenTuple) = 1
Base.lastindex(t::OpenTuple) = length(t.elements)
Base.keys(t::OpenTuple) = Base.OneTo(length(t.elements))
Base.eachindex(t::OpenTuple) = Base.OneTo(length(t.elements))
Base.getindex(t::OpenTuple, i::Int) = t.elements[i]
Base.getindex(t::OpenTuple, indices::AbstractVector{<:Integer}) = OpenTuple(t.elements[indices])
Base.iterate(t::OpenTuple, i::Int = 1) = i <= length(t.elements) ? (t.elements[i], i + 1) : nothing
Base.tail(t::OpenTuple) = OpenTuple(t.elements[2:end])
Base.front(t::OpenTuple) = OpenTuple(t.elements[1:end-1])
Base.map(f, t::OpenTuple, others::OpenTuple...) = OpenTuple(map(f, t.elements, map(other -> other.elements, others)...))
Base.broadcastable(t::OpenTuple) = t.elements
Base.collect(t::OpenTuple) = copy(t.elements)
Base.prod(t::OpenTuple) = prod(t.elements)
Base.reverse(t::OpenTuple) = OpenTuple(reverse(t.elements))
Iterators.reverse(t::OpenTuple) = Iterators.reverse(t.elements)
Base.convert(::Type{NTuple{N,T}}, t::OpenTuple{T}) where {N,T} = counted(t, Val(N))
Base.:(==)(t::OpenTuple, other::OpenTuple) = t.elements == other.elements
Base.:(==)(t::OpenTuple, other::Tuple) = length(t) == length(other) && t.elements == collect(other)
Base.:(==)(t::Tuple, other::OpenTuple) = other == t

"The tuple of so many elements that code says that it is. The error holds a tuple of another length, not this one: what is thrown is no array in compiled code."
counted(t::OpenTuple{T}, count::Val{N}) where {T,N} =
    length(t.elements) == N ? ntuple(i -> t.elements[i], count) : throw(TypeError(:typeassert, "", NTuple{N,T}, ()))

"""
Calls a function that collects its arguments from one on, with the elements of the parts: `count` of them come before what it collects, which are
of the type `T`.
"""
function call_open(f, count::Val, ::Type{T}, parts...) where {T}
    before, rest = parted(count, T, parts...)
    return with_rest(f, before..., rest)
end

"So many elements, and an open tuple of the others."
function parted(count::Val{N}, ::Type{T}, parts...) where {N,T}
    if N > 0 && parts[1] isa Tuple{}
        return parted(count, T, Base.tail(parts)...)
    elseif N > 0 && parts[1] isa Tuple
        before, others = parted(Val(N - 1), T, Base.tail(parts[1]), Base.tail(parts)...)
        return (first(parts[1]), before...), others
    end
    all = open_tuple(T, parts...)
    N == 0 && return (), all
    length(all) < N && throw(ArgumentError("a function is called with fewer arguments than it takes"))
    return ntuple(i -> all[i], count), all[N+1:length(all)]
end

"So many arguments a function may have beside an open tuple."
const MOST_BESIDE = 8

# Calls a function whose last argument is what it collects, and one that gives a tuple of unknown length. A dump has code of that function in the place of these, which
# takes, or gives, an open tuple. Nothing is known of what it gives here.
for count in 0:MOST_BESIDE
    args = [Symbol(:x, i) for i in 1:count]
    @eval @noinline with_rest(f, $(args...), rest::OpenTuple) = Base.RefValue{Any}(f)[]($(args...), rest.elements...)
    @eval @noinline opened(f, $(args...)) = Base.RefValue{Any}(f)[]($(args...))
end
