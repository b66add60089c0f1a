# Fields of structs that may hold anything, as those without a type do, and elements of arrays that may be of several types: of what is put in them in all of a dump follows what is
# taken out, and a dump declares the fields so.

"Of how many types the numbers in a field are at most."
const MOST_NUMBERS = 3

"Of how many types the elements of all arrays of one type are, or what a loop carries, at most, that it is said which."
const MOST_TYPES = 8

"So often more types come to the elements of arrays, at most, as what follows from the others shows."
const MOST_GROWTH = 3

"""
Of which types what is in fields is whose declared type says less, by the struct and the number of the field, and of which the elements of arrays are, by the type of a
vector of them and 0: the types that are `expected`, taken for granted where code reads fields or elements, and the places of which nothing can be known, as they have `failed`.
What is taken for granted must hold in the end: [`settle_fields!`](@ref).
"""
struct Fields
    expected::Dict{Place,Any}
    failed::Set{Place}
    # How often more types have come to the elements of arrays.
    grown::Dict{Place,Int}
    # Whether arguments may hold anything, and so any structs and arrays: then nothing is taken for granted.
    may_hold_anything::Base.RefValue{Bool}
end

"Nothing is taken for granted yet; and never of what these instances, and their arguments, may hold, which come from elsewhere."
function Fields(roots)
    fields, seen = Fields(), IdDict{Any,Nothing}()
    foreach(mi -> foreach(ty -> note_outside!(fields, ty, seen), Base.unwrap_unionall(mi.specTypes).parameters), roots)
    return fields
end

Fields() = Fields(Dict{Place,Any}(), Set{Place}(), Dict{Place,Int}(), Ref(false))

"The fields of a struct of the program whose declared types say less than values may."
function open_fields(@nospecialize(ty))
    ty isa DataType && isconcretetype(ty) && isstructtype(ty) && !(ty <: Union{Tuple,NamedTuple}) || return ()
    is_of_program(ty.name.module) || return ()
    return filter(i -> !is_one_type(fieldtype(ty, i)), 1:fieldcount(ty))
end

"The type of a field, as far as it is known."
function type_of_field(fields::Fields, @nospecialize(ty), field)
    declared = fieldtype(ty, field)
    is_one_type(declared) && return declared
    return get(fields.expected, (ty, field isa Int ? field : Base.fieldindex(ty, field)), declared)
end

"Where it is known of which types the elements of an array are; `nothing` if its own type says so."
function place_of_elements(@nospecialize(array))
    array isa DataType && array <: Array && isconcretetype(array) && !is_known_type(eltype(array)) || return nothing
    return (Vector{eltype(array)}, 0)
end

"The type of an element of an array, or of one of several, as far as it is known."
function type_of_elements(fields::Fields, @nospecialize(arrays))
    members = Base.uniontypes(arrays)
    all(array -> array isa DataType && array <: Array && isconcretetype(array), members) || return Any
    return Union{(get(fields.expected, place_of_elements(array), eltype(array)) for array in members)...}
end

function note_outside!(fields::Fields, @nospecialize(ty), seen::IdDict{Any,Nothing})
    ty isa Union && (note_outside!(fields, ty.a, seen); note_outside!(fields, ty.b, seen); return)
    # A parameter of the method, or any number of arguments.
    ty isa Type && !Base.isvarargtype(ty) || (fields.may_hold_anything[] = true; return)
    haskey(seen, ty) && return
    seen[ty] = nothing
    ty isa DataType && ty <: Tuple && foreach(part -> note_outside!(fields, part, seen), ty.parameters)
    if !is_one_type(ty) && !(ty isa DataType && ty <: Union{Tuple,Number,AbstractString})
        told_apart = type_told_apart(ty)
        told_apart === ty && (fields.may_hold_anything[] = true; return)
        return note_outside!(fields, told_apart, seen)
    end
    ty isa DataType || return
    foreach(i -> push!(fields.failed, (ty, i)), open_fields(ty))
    place = place_of_elements(ty)
    place === nothing || push!(fields.failed, place)
    ty <: Array && note_outside!(fields, eltype(ty), seen)
    isconcretetype(ty) && isstructtype(ty) && foreach(inner -> note_outside!(fields, inner, seen), fieldtypes(ty))
    return
end

"The types of what is put in fields and arrays: of all, and of what has a type that is known; and of what is put in arrays of which it is not known what they may hold."
mutable struct Stored
    types::Dict{Place,Any}
    known::Dict{Place,Any}
    anywhere::Any
end
Stored() = Stored(Dict{Place,Any}(), Dict{Place,Any}(), Union{})

function note!(stored::Stored, place::Place, @nospecialize(ty))
    stored.types[place] = Union{get(stored.types, place, Union{}),ty}
    is_known_type(ty) && (stored.known[place] = Union{get(stored.known, place, Union{}),ty})
    return nothing
end

"Notes what is put in an array of a type."
function note_element!(stored::Stored, @nospecialize(arrays), @nospecialize(ty))
    for array in Base.uniontypes(arrays)
        place = place_of_elements(array)
        place === nothing || note!(stored, place, ty)
        array isa DataType && isconcretetype(array) || (stored.anywhere = Union{stored.anywhere,ty})
    end
end

"Finds out of which types what is in fields and arrays turned out to be. Whether that is something else than was taken for granted."
function settle_fields!(fields::Fields, codes)
    stored, seen = Stored(), IdDict{Any,Nothing}()
    for (_, (_, _, ir)) in codes
        rows = columns(ir)
        foreach(stmt -> note_stores!(stored, ir, rows, stmt, seen), rows.stmts)
    end
    changed = false
    for (place, ty) in stored.types
        (place in fields.failed || fields.may_hold_anything[]) && continue
        of_elements = last(place) == 0
        if of_elements
            ty = Union{ty,typeintersect(stored.anywhere, eltype(first(place)))}
        end
        known = get(fields.expected, place, nothing)
        known === ty && continue
        # What is not known may follow from what is read there.
        known === nothing && !is_known_type(ty) && (ty = get(stored.known, place, Any))
        is_known = is_one_type(ty) || is_one_of_few_functions(ty) || is_one_of_few_numbers(ty) || of_elements && is_one_of_few_types(ty)
        changed |= known !== nothing || is_known
        # What was taken for granted and did not hold is not tried again, as it may have been what led to it: unless numbers of another type
        # come to it, as in sums that start with the integer 0, or elements of another type to arrays.
        grows = is_known && known !== nothing && known <: ty
        of_elements && grows && (fields.grown[place] = get(fields.grown, place, 0) + 1)
        if known === nothing && is_known || grows && (is_one_of_few_numbers(ty) || of_elements && fields.grown[place] <= MOST_GROWTH)
            fields.expected[place] = ty
        else
            delete!(fields.expected, place)
            push!(fields.failed, place)
        end
    end
    return changed
end

is_one_of_few_functions(@nospecialize(ty)) =
    ty <: Function && is_known_type(ty) && length(Base.uniontypes(ty)) <= MOST_COMBINATIONS

is_one_of_few_numbers(@nospecialize(ty)) = ty <: Union{Nothing,Number} && is_known_type(ty) && length(Base.uniontypes(ty)) <= MOST_NUMBERS

is_one_of_few_types(@nospecialize(ty)) = is_known_type(ty) && length(Base.uniontypes(ty)) <= MOST_TYPES

"Takes nothing for granted any more."
function give_up!(fields::Fields)
    union!(fields.failed, keys(fields.expected))
    empty!(fields.expected)
    return nothing
end

function note_stores!(stored::Stored, ir, rows::Columns, @nospecialize(stmt), seen::IdDict{Any,Nothing})
    foreach(x -> x isa Union{Core.SSAValue,Argument} || note_stored!(stored, known_object(x), seen), operands_of(stmt))
    stmt isa Expr && length(stmt.args) >= 1 || return nothing
    if stmt.head === :new || stmt.head === :call && argument_type(ir, rows, stmt.args[1]) <: Type
        made = known_object(stmt.args[1])
        for i in open_fields(made)
            # Fields that are not assigned are read by nobody.
            i < length(stmt.args) && note!(stored, (made, i), argument_type(ir, rows, stmt.args[i+1]))
        end
    elseif stmt.head === :splatnew
        made = known_object(stmt.args[1])
        foreach(i -> note!(stored, (made, i), Any), open_fields(made))
    elseif stmt.head === :call && builtin_name(stmt.args[1]) === :setfield! && length(stmt.args) >= 4
        object, field = argument_type(ir, rows, stmt.args[2]), known_object(stmt.args[3])
        for i in open_fields(object)
            is_meant = field isa Int ? field === i : field isa Symbol ? fieldname(object, i) === field : true
            is_meant && note!(stored, (object, i), argument_type(ir, rows, stmt.args[4]))
        end
    elseif is_store(stmt)
        note_element!(stored, argument_type(ir, rows, stmt.args[3]), argument_type(ir, rows, stmt.args[4]))
    end
    return nothing
end

"Notes what is in the fields of an object that stands in code, or of one in it, also in arrays, and what these hold."
note_stored!(stored::Stored, @nospecialize(x), seen::IdDict{Any,Nothing}) = each_field(x, seen) do ty, i, part
    i == 0 && return note_element!(stored, ty, Core.Typeof(part))
    i in open_fields(ty) && note!(stored, (ty, i), Core.Typeof(part))
end
