# Fields of structs that may hold anything, as those without a type do: of what is put in them in all of a dump follows what is taken out, and a dump declares them so.

"Of how many types the numbers in a field are at most."
const MOST_NUMBERS = 3

"""
Of which types what is in fields is whose declared type says less, by the struct and the number of the field: the types that are `expected`, taken for granted where code reads
fields, and the fields of which nothing can be known, as they have `failed`. What is taken for granted must hold in the end: [`settle_fields!`](@ref).
"""
struct Fields
    expected::Dict{Place,Any}
    failed::Set{Place}
end

"Nothing is taken for granted yet; and never of what the arguments of these instances may hold, which come from elsewhere."
function Fields(roots)
    fields = Fields(Dict{Place,Any}(), Set{Place}())
    seen = IdDict{Any,Nothing}()
    foreach(mi -> foreach(ty -> note_outside!(fields, ty, seen), Base.unwrap_unionall(mi.specTypes).parameters[2:end]), roots)
    return fields
end

Fields() = Fields(Dict{Place,Any}(), Set{Place}())

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

function note_outside!(fields::Fields, @nospecialize(ty), seen::IdDict{Any,Nothing})
    ty isa Union && (note_outside!(fields, ty.a, seen); note_outside!(fields, ty.b, seen); return)
    ty isa DataType && !haskey(seen, ty) || return
    seen[ty] = nothing
    foreach(i -> push!(fields.failed, (ty, i)), open_fields(ty))
    ty <: Array && note_outside!(fields, eltype(ty), seen)
    isconcretetype(ty) && isstructtype(ty) && foreach(inner -> note_outside!(fields, inner, seen), fieldtypes(ty))
    return
end

"The types of what is put in fields: of all, and of what has a type that is known."
struct Stored
    types::Dict{Place,Any}
    known::Dict{Place,Any}
end
Stored() = Stored(Dict{Place,Any}(), Dict{Place,Any}())

function note!(stored::Stored, place::Place, @nospecialize(ty))
    stored.types[place] = Union{get(stored.types, place, Union{}),ty}
    is_one_type(ty) && (stored.known[place] = Union{get(stored.known, place, Union{}),ty})
    return nothing
end

"Finds out of which types what is in fields turned out to be. Whether that is something else than was taken for granted."
function settle_fields!(fields::Fields, codes)
    stored, seen = Stored(), IdDict{Any,Nothing}()
    for (_, (_, _, ir)) in codes
        rows = columns(ir)
        foreach(stmt -> note_stores!(stored, ir, rows, stmt, seen), rows.stmts)
    end
    changed = false
    for (place, ty) in stored.types
        place in fields.failed && continue
        known = get(fields.expected, place, nothing)
        known === ty && continue
        # What is not known may follow from what is read there.
        known === nothing && !is_known_type(ty) && (ty = get(stored.known, place, Any))
        is_known = is_one_type(ty) || is_one_of_few_functions(ty) || is_one_of_few_numbers(ty)
        changed |= known !== nothing || is_known
        # What was taken for granted and did not hold is not tried again, as it may have been what led to it: unless numbers of another type
        # come to it, as in sums that start with the integer 0.
        if known === nothing && is_known || known !== nothing && known <: ty && is_one_of_few_numbers(ty)
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
    end
    return nothing
end

"Notes what is in the fields of an object that stands in code, or of one in it, also in arrays."
note_stored!(stored::Stored, @nospecialize(x), seen::IdDict{Any,Nothing}) = each_field(x, seen) do ty, i, part
    i in open_fields(ty) && note!(stored, (ty, i), Core.Typeof(part))
end
