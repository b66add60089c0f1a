# Abstract types of the program: which types are below one is known when the dump is made.

"So many types below one are told apart."
const MOST_BELOW = 8

"The types below the abstract ones that were looked at for a dump."
const TYPES_BELOW = IdDict{Any,Any}()

"""
The union of the types below an abstract type of the program, of which all values are, if there are few, and none has parameters; of a tuple with such elements, that of the
tuples of these. Any other type as it is.
"""
function type_told_apart(@nospecialize(ty))
    ty isa DataType && ty <: Tuple && !isconcretetype(ty) && return tuple_told_apart(ty)
    ty isa DataType && isabstracttype(ty) && isempty(ty.parameters) && is_of_program(ty.name.module) || return ty
    below = get!(() -> types_below(ty), TYPES_BELOW, ty)
    return is_told_apart(below) ? Union{below...} : ty
end

is_told_apart(below) = below !== nothing && 1 <= length(below) <= MOST_BELOW

"An error if a type that occurs in a dump is below one that was told apart, and was not found there: it is in a module that no name leads to."
function check_told_apart(@nospecialize(ty))
    for (above, below) in TYPES_BELOW
        !is_told_apart(below) || !(ty <: above) || ty in below || isabstracttype(ty) ||
            error("$ty is below $above, but in a module that is not known by a name: what is of the type $above was taken to be one of $(join(below, ", "))")
    end
end

function tuple_told_apart(ty::DataType)
    any(p -> p isa TypeVar || Base.isvarargtype(p), ty.parameters) && return ty
    members = [Base.uniontypes(type_told_apart(p)) for p in ty.parameters]
    mapreduce(length, *, members; init = 1) <= MOST_COMBINATIONS && all(types -> all(is_one_type, types), members) || return ty
    return Union{(Tuple{types...} for types in Iterators.product(members...))...}
end

"The types below an abstract one whose values have no other, more exact type; `nothing` if some have parameters."
function types_below(@nospecialize(ty))
    found = Any[]
    for m in modules_of_program(), name in names(m; all = true)
        isdefined(m, name) && isconst(m, name) || continue
        below = getfield(m, name)
        below isa Type && below <: ty && below !== Union{} && !(below isa Union) || continue
        below isa DataType || return nothing
        isconcretetype(below) && !(below in found) && push!(found, below)
    end
    return sort!(found; by = string)
end

"The modules that are none of Julia's own."
function modules_of_program()
    open, found = Module[Main, filter(is_of_program, Base.loaded_modules_array())...], Module[]
    while !isempty(open)
        m = pop!(open)
        m in found && continue
        push!(found, m)
        for name in names(m; all = true)
            isdefined(m, name) && isconst(m, name) || continue
            inner = getfield(m, name)
            inner isa Module && parentmodule(inner) === m && inner !== m && inner !== @__MODULE__() && push!(open, inner)
        end
    end
    return found
end
