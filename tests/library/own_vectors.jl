# Vectors of a program's own, as StaticArrays has them: written and read by their addresses, and made of the elements of others. Evaluated in the module of functions.jl.

mutable struct Held{T,N}
    elements::NTuple{N,T}
end

take_from(h::Held{T}, i) where {T} =
    isbitstype(T) ? GC.@preserve(h, unsafe_load(Base.unsafe_convert(Ptr{T}, pointer_from_objref(h)), i)) : h.elements[i]
function put_in!(h::Held{T}, x, i) where {T}
    if isbitstype(T)
        GC.@preserve h unsafe_store!(Base.unsafe_convert(Ptr{T}, pointer_from_objref(h)), convert(T, x), i)
    else
        h.elements = Base.setindex(h.elements, convert(T, x), i)
    end
    return x
end

function exchanged(x)
    h = Held((x[1], x[2], x[3]))
    put_in!(h, take_from(h, 1) * take_from(h, 3), 2)
    return take_from(h, 1) + take_from(h, 2) * h.elements[3]
end
@case("elements_by_address", x -> exchanged(x), v)

function squares(x)
    h = Held((zero(x[1]), zero(x[1]), zero(x[1])))
    for i in 1:3
        put_in!(h, x[i]^2, i)
        i > 1 && put_in!(h, take_from(h, i) * take_from(h, i - 1), i)
    end
    return sum(h.elements)
end
@case("elements_by_address_in_a_loop", x -> squares(x), v)

struct Two{T} <: AbstractVector{T}
    elements::NTuple{2,T}
    Two{T}(elements::T...) where {T} = new{T}(elements)
end
Base.size(::Two) = (2,)
Base.length(::Type{<:Two}) = 2
Base.getindex(two::Two, i::Int) = two.elements[i]
@case("vector_of_a_length_of_splat", x -> (two = Two{eltype(x)}(x[2:3]...); two[1]^2 * two[2]), v)
