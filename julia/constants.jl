# Global constants in dumps that are to run away from this Julia: arrays, and objects that hold some, with what they are made of.

"So many objects the objects in one global may be, at most: larger ones a dump names only."
const LARGEST_CONSTANT = LARGEST_ARRAY

"A constant of a dump: its name, its type, its dimensions if it is an array, and its elements or fields, which are numbers or [`parts`](@ref)."
struct GlobalConstant
    name::String
    type::Any
    size::Union{Nothing,Dims}
    parts::Any
end

"The constants of a dump, each behind those of which it is made."
struct Constants
    list::Vector{GlobalConstant}
    # Arrays and mutable objects have one path and name, however often they are met.
    names::IdDict{Any,Tuple{String,String}}
    # Of globals that were met, path and name of the constants that they are; `nothing` of others.
    met::Dict{String,Union{Nothing,Tuple{String,String}}}
end

Constants() = Constants(GlobalConstant[], IdDict{Any,Tuple{String,String}}(), Dict{String,Union{Nothing,Tuple{String,String}}}())

"""
Path and name of the constant that a global is, which this adds unless it is there; `nothing` if a dump cannot hold it. What is a part of another constant has the name that it has
there.
"""
function note_constant!(constants::Constants, x::GlobalRef)
    path = global_path(x)
    return get!(() -> is_fixed(x) ? declared(constants, x, getfield(x.mod, x.name)) : nothing, constants.met, path)
end

"As [`note_constant!`](@ref), of a global that was not met yet; nothing is added where a part of it cannot be held."
function declared(constants::Constants, x::GlobalRef, @nospecialize(value))
    is_number_array(value) || is_constant_object(x, value) || return nothing
    found = Constants(GlobalConstant[], copy(constants.names), constants.met)
    known = declare!(found, module_path(global_module(x)), string(x.name), value, Any[])
    known === nothing && return nothing
    append!(constants.list, found.list)
    merge!(constants.names, found.names)
    return known
end

"Whether a global of a program is declared, and not written where it stands."
is_constant_object(x::GlobalRef, @nospecialize(value)) = is_of_program(x) && !is_simple(value) && !(value isa Module)

"Whether an object is written where it stands."
is_simple(@nospecialize(x)) =
    x === nothing || (x isa String && isvalid(x)) || x isa Symbol || (x isa Char && isvalid(x)) || x isa Core.IntrinsicFunction ||
    (x isa Function && is_global_function(x)) || is_value(x)

"""
Adds the constant `path.name` and what it is made of; path and name of the one that is the object, or `nothing` if a dump cannot hold it. `open` are the
objects of which it is a part.
"""
function declare!(constants::Constants, path::String, name::String, @nospecialize(x), open::Vector{Any})
    has_identity = x isa Array || !isimmutable(x)
    has_identity && haskey(constants.names, x) && return constants.names[x]
    any(outer -> outer === x, open) && return nothing
    push!(open, x)
    constant = array_or_object(constants, path, name, x, open)
    pop!(open)
    constant === nothing && return nothing
    push!(constants.list, constant)
    has_identity && (constants.names[x] = (path, name))
    return path, name
end

"The constant that is this object, behind those that it names; `nothing` if a dump cannot hold it."
function array_or_object(constants::Constants, path::String, name::String, @nospecialize(x), open)
    whole = string(path, ".", name)
    if x isa Array
        ndims(x) > 0 && length(x) <= LARGEST_ARRAY || return nothing
        is_number_array(x) && return GlobalConstant(whole, typeof(x), size(x), x)
        parts = parts_of(constants, path, i -> string(name, "[", i, "]"), i -> isassigned(x, i), i -> x[i], length(x), open)
        return parts === nothing ? nothing : GlobalConstant(whole, typeof(x), size(x), parts)
    end
    # Later ones tell by their places which keys they hold.
    x isa Dict && VERSION >= v"1.10" && return nothing
    x isa Dict && (x = tidied(x))
    ty = typeof(x)
    isstructtype(ty) && !(x isa Union{Type,Module,Task,Method,Core.MethodInstance,Core.SimpleVector,IO,String,Symbol,IdDict}) || return nothing
    field(i) = x isa Tuple ? string(name, "[", i, "]") : string(name, ".", fieldname(ty, i))
    parts = parts_of(constants, path, field, i -> isdefined(x, i), i -> getfield(x, i), nfields(x), open)
    return parts === nothing ? nothing : GlobalConstant(whole, ty, nothing, parts)
end

"The parts of a constant: `nothing` for what was not assigned, the object in a `Ref` if it is written where it stands, or path and name of the global that it is."
function parts_of(constants::Constants, path::String, name, is_defined, value, count::Int, open)
    parts = Any[]
    for i in 1:count
        is_defined(i) || (push!(parts, nothing); continue)
        part = value(i)
        is_simple(part) && (push!(parts, Ref{Any}(part)); continue)
        length(constants.list) < LARGEST_CONSTANT || return nothing
        named = declare!(constants, path, name(i), part, open)
        named === nothing && return nothing
        push!(parts, named)
    end
    return parts
end

"""
The same dictionary without what happens to be in its empty places. Where others would be found by the address of a key, so that the place depends on who asks, every place
counts as used, and a search looks at all of them.
"""
function tidied(x::Dict{K,V}) where {K,V}
    is_found_anywhere = !(K <: MachineNumber)
    n = length(x.slots)
    y = Dict{K,V}()
    y.slots, y.keys, y.vals = copy(x.slots), cleared(K, n), cleared(V, n)
    for i in 1:n
        if Base.isslotfilled(x, i)
            y.keys[i], y.vals[i] = x.keys[i], x.vals[i]
        elseif is_found_anywhere
            y.slots[i] = 0x2
        end
    end
    y.ndel, y.count = count(==(0x2), y.slots), x.count
    y.maxprobe = is_found_anywhere ? n : x.maxprobe
    return y
end

"So many places, which are zeros or not assigned."
function cleared(::Type{T}, n::Int) where {T}
    places = Vector{T}(undef, n)
    isbitstype(T) && GC.@preserve places ccall(:memset, Ptr{Cvoid}, (Ptr{Cvoid}, Cint, Csize_t), places, 0, sizeof(places))
    return places
end
