# Calls with the elements of arrays and of what else is iterated: how many arguments there are is known only when they run, and Julia looks for the method then.

"Functions that with many arguments do what they do with two, again and again."
const Folded = Union{typeof(+),typeof(*),typeof(max),typeof(min),typeof(hcat),typeof(vcat)}
const Concatenated = Union{typeof(hcat),typeof(vcat)}

"What has elements of one type, but how many is known only when it runs."
const Elements = Union{AbstractArray,OpenTuple}

"So many arguments are tried where a function may take one number of them only."
const MOST_ARGUMENTS = 32

"""
The function of this module that gives what a call of a function of type `F` with the elements of values of these types gives, and what it takes before
them; `nothing` if there is none. `dispatched` says of a signature which method a call dispatches to.
"""
function splat_call(dispatched, @nospecialize(F), types::Vector{Any})
    all(isconcretetype, types) || return nothing
    if any(ty -> ty <: Base.Generator, types) && length(types) <= 3
        collected = Any[ty <: Base.Generator ? Base.promote_op(collect, ty) : ty for ty in types]
        return splat_call(dispatched, F, collected) === nothing ? nothing : (call_collected, ())
    end
    if all(ty -> ty <: Tuple, types)
        F === typeof(Base.afoldl) && length(types) == 2 && fieldcount(types[1]) > 1 && return fold_terms, ()
        return F <: Core.Builtin && F !== typeof(tuple) ? nothing : (call_with, ())
    end
    can_fold(F, types) && return fold, ()
    F === typeof(Base.vect) && element_type(types) !== nothing && return joined, ()
    F === typeof(pushfirst!) && types[1] <: Tuple{AbstractVector} && element_type(types[2:end]) !== nothing && return pushfirst_all!, ()
    F === typeof(push!) && types[1] <: Tuple{AbstractVector} && element_type(types[2:end]) !== nothing && return push_all!, ()
    F === typeof(hypot) && is_real_vector(types) && return hypotenuse, ()
    counts = counts_of_elements(dispatched, F, types)
    return isempty(counts) ? nothing : (call_with, (Val(counts),))
end

can_fold(@nospecialize(F), types::Vector{Any}) =
    F <: Concatenated ? can_concatenate(types) : F <: Folded && (length(types) == 1 || element_type(types) !== nothing)
function can_concatenate(types::Vector{Any})
    length(types) == 1 || return element_type(types) !== nothing
    return Base.promote_op(collect, types[1]) <: Union{Vector{<:AbstractVecOrMat},Vector{<:Number}}
end

is_real_vector(types::Vector{Any}) = length(types) == 1 && types[1] <: AbstractVector{<:Real} && isconcretetype(eltype(types[1]))

"The type of all elements of tuples and arrays of these types; `nothing` if it is not one."
function element_type(types::Vector{Any})
    all(ty -> ty <: Union{Tuple,Elements}, types) || return nothing
    elements = unique(Iterators.flatten(ty <: Tuple ? fieldtypes(ty) : (eltype(ty),) for ty in types))
    return length(elements) == 1 && isconcretetype(elements[1]) ? elements[1] : nothing
end

"A function may take some few numbers of arguments, at most so many."
const MOST_COUNTS = 4

"""
How many elements the one array among tuples may have, if methods of `F` take only some few numbers of arguments, or values of the type `F` have so many elements. Nothing if that is
not known.
"""
function counts_of_elements(dispatched, @nospecialize(F), types::Vector{Any})
    length_of_type = length_of(F)
    length_of_type === nothing || length(types) > 1 || return (length_of_type,)
    arrays = findall(ty -> ty <: Elements, types)
    length(arrays) == 1 && all(ty -> ty <: Union{Tuple,Elements}, types) || return ()
    array = first(arrays)
    before, after = [collect(Any, Iterators.flatten(map(fieldtypes, tuples))) for tuples in (types[1:array-1], types[array+1:end])]
    element = eltype(types[array])
    isconcretetype(element) || return ()
    takes(n) = dispatched(Tuple{F,before...,fill(element, n)...,after...}) isa Method
    counts = filter(takes, 0:MOST_ARGUMENTS)
    return length(counts) <= MOST_COUNTS ? Tuple(counts) : ()
end

"Sums and products of more terms than Julia writes out: the function and what comes first, and the others."
@generated function fold_terms(::typeof(Base.afoldl), start::Tuple, rest::Tuple)
    terms = Any[(:(start[$i]) for i in 2:fieldcount(start))..., (:(rest[$i]) for i in 1:fieldcount(rest))...]
    return foldl((x, y) -> :(start[1]($x, $y)), terms)
end

"How many elements the values of a type of vectors have, where the type says so."
function length_of(@nospecialize(F))
    F isa DataType && F.name === Type.body.name && F.parameters[1] isa DataType && F.parameters[1] <: AbstractVector || return nothing
    hasmethod(length, Tuple{F}) || return nothing
    found = length(F.parameters[1])
    return found isa Int && found <= MOST_ARGUMENTS ? found : nothing
end

fold(f, elements) = foldl(f, elements)
fold(f::Concatenated, elements) = fold(f, collect(elements))
fold(f::Concatenated, elements::Vector{<:AbstractVecOrMat}) = reduce(f, elements)
fold(::typeof(vcat), elements::Vector{<:Number}) = copy(elements)
fold(::typeof(hcat), elements::Vector{<:Number}) = reshape(copy(elements), 1, length(elements))
fold(f::Concatenated, some, more, rest...) = fold(f, joined(Base.vect, some, more, rest...))
fold(f, ::Tuple{}, more, rest...) = fold(f, more, rest...)
fold(f, some, more, rest...) = isempty(some) ? fold(f, more, rest...) : fold_on(f, fold(f, some), more, rest...)
fold_on(f, value) = value
fold_on(f, value, some, rest...) = fold_on(f, foldl(f, some; init = value), rest...)

function joined(::typeof(Base.vect), parts...)
    elements = Vector{promote_type(map(eltype, parts)...)}(undef, +(map(length, parts)...))
    return fill_from!(elements, 0, parts...)
end
hypotenuse(::typeof(hypot), x) = length(x) == 2 ? hypot(x[1], x[2]) : sqrt(sum(abs2, x))

# What is put in may be what is in the array.
function push_all!(::typeof(push!), (array,), parts...)
    foreach(part -> foreach(x -> push!(array, x), part), map(part -> part === array ? copy(part) : part, parts))
    return array
end
function pushfirst_all!(::typeof(pushfirst!), (array,), parts...)
    foreach(part -> foreach(x -> pushfirst!(array, x), reverse(part)), reverse(map(collect, parts)))
    return array
end

"Puts elements behind the first so many."
fill_from!(elements, count) = elements
fill_from!(elements, count, ::Tuple{}, rest...) = fill_from!(elements, count, rest...)
function fill_from!(elements, count, part::Tuple, rest...)
    elements[count+1] = first(part)
    return fill_from!(elements, count + 1, Base.tail(part), rest...)
end
function fill_from!(elements, count, part, rest...)
    for x in part
        elements[count+=1] = x
    end
    return fill_from!(elements, count, rest...)
end

"Calls `f` with what generators give, or the elements of others."
call_collected(f, a) = f(elements_of(a)...)
call_collected(f, a, b) = f(elements_of(a)..., elements_of(b)...)
call_collected(f, a, b, c) = f(elements_of(a)..., elements_of(b)..., elements_of(c)...)
elements_of(part) = part
elements_of(part::Base.Generator) = collect(part)

"Calls `f` with the elements of tuples, or of tuples and of an array that has one of some numbers of elements."
function call_with(f, ::Val{counts}, parts...) where {counts}
    if length_of_array(parts...) == counts[1]
        return f(arguments(Val(counts[1]), parts...)...)
    elseif length(counts) == 1
        throw(ArgumentError("a function is called with another number of arguments than it takes"))
    end
    return call_with(f, Val(Base.tail(counts)), parts...)
end
length_of_array(part) = length(part)
length_of_array(part::Tuple, rest...) = length_of_array(rest...)
length_of_array(part, rest...) = length(part)
call_with(f, parts::Tuple...) = f(joined_tuples(parts...)...)
joined_tuples() = ()
joined_tuples(part::Tuple, rest::Tuple...) = (part..., joined_tuples(rest...)...)
arguments(count::Val) = ()
arguments(count::Val, part::Tuple, rest...) = (part..., arguments(count, rest...)...)
function arguments(count::Val{N}, part, rest...) where {N}
    first = firstindex(part) - 1
    return (ntuple(i -> part[first+i], count)..., arguments(count, rest...)...)
end

"Of so many elements of a tuple it is known what iterating gives."
const MOST_ELEMENTS = 16

for i in 1:MOST_ELEMENTS
    @eval element_and_next(elements::Tuple, ::Val{$i}) = (elements[$i], $(i + 1))
end
