# Which method instances a dump calls that is to run away from this Julia.
#
# Julia compiles fewer instances of a method than there are types of arguments: what a vararg collects, and functions that are only passed on, may be of any
# type in them. And where functions call themselves, as sums in sums do, it gives up on types. What is called there is known only when it runs. Where a call says of which
# types its arguments are, a dump has the instance for these; and what that returns may say so of the next call.

"So many instances of a method are made, at most: one that calls itself with ever longer tuples has no end of them."
const MOST_INSTANCES = 64

"Where values of several types may be passed, there are at most so many combinations for which a dump has the instances."
const MOST_COMBINATIONS = 16

"Types of arguments have parameters in parameters, at most so deep: functions that pass ever new closures of closures to themselves have no end of them."
const MOST_NESTED = 24

"So often the types of a function are gone through, at most."
const MOST_ROUNDS = 8

"""
What is known of the instances of a dump: how many there are of each method, and their codes. Of an instance whose code is being made there is
what Julia has made of it. Of places that may hold values of any type — variables that closures capture and change, which Julia keeps in boxes, elements of arrays, and fields — there are
the types of functions and structs that are `kept` there, and the types in calls where one of them, that of what is called or of an argument, is left open. `chosen` are instances that were found since somebody asked and of which the run chooses one, by the types of what it
passes. Of boxes there is what is in them, or nothing is taken for granted; of fields of structs, too.
"""
struct Instances
    made::IdDict{Any,Int}
    codes::IdDict{Any,Any}
    chosen::Vector{Any}
    kept::Vector{Any}
    calls_of_unknown::Vector{Vector{Any}}
    boxes::Union{Nothing,Boxes}
    fields::Fields
end

Instances(boxes::Union{Nothing,Boxes} = Boxes(), fields::Fields = Fields()) =
    Instances(IdDict{Any,Int}(), IdDict{Any,Any}(), [], [], [], boxes, fields)

"""
Lets calls invoke the instances for the types of their arguments, and finds the types that follow. What a loop carries may be of the types that it starts with: that is
assumed, and holds if what follows from it says so of every turn. A few other types that come to it are assumed, too, as in sums that start with the integer 0, or where a tuple of
several layers is gone through. Where it does not hold, `refuted` sees what would follow from it before it is taken back.
"""
function sharpen_calls!(ir, instances::Instances, refuted = () -> nothing)
    rows = columns(ir)
    sharpen_once!(ir, rows, instances)
    refused, wider = Set{Int}(), Dict{Int,Any}()
    while true
        assumed = assumed_types(ir, rows, refused, wider)
        isempty(assumed) && return nothing
        before = copy(rows.stmts), copy(rows.types)
        for (i, ty) in assumed
            rows.types[i] = ty
        end
        sharpen_once!(ir, rows, instances)
        impossible, live = impossible_values(ir, rows, instances), live_blocks(ir, rows)
        incoming = [Union{incoming_type(ir, rows, rows.stmts[i], impossible, live),ty} for (i, ty) in assumed]
        all(is <: ty for ((_, ty), is) in zip(assumed, incoming)) && continue
        refuted()
        for ((i, ty), is) in zip(assumed, incoming)
            is <: ty && continue
            is_one_of_few_types(is) ? (wider[i] = is) : push!(refused, i)
        end
        copyto!(rows.stmts, before[1])
        copyto!(rows.types, before[2])
    end
end

"""
Where code calls itself, the type of what that gives: what is known of all that is returned elsewhere is assumed, and holds if what follows from it is returned, too.
"""
function type_recursion!(ir, mi::Core.MethodInstance, instances::Instances)
    rows = columns(ir)
    calls_itself(x) = x isa Core.SSAValue && Meta.isexpr(rows.stmts[x.id], :invoke) && instance_of(rows.stmts[x.id].args[1]) === mi
    own = filter(i -> calls_itself(Core.SSAValue(i)) && is_open(rows.types[i]), 1:length(rows.stmts))
    isempty(own) && return nothing
    returned = [stmt.val for stmt in rows.stmts if stmt isa ReturnNode && isdefined(stmt, :val)]
    assumed = Union{filter(is_known_type, argument_types(ir, rows, filter(!calls_itself, returned)))...}
    is_known_type(assumed) || return nothing
    before = copy(rows.stmts), copy(rows.types)
    foreach(i -> rows.types[i] = assumed, own)
    sharpen_once!(ir, rows, instances)
    returned_type(ir) <: assumed && return nothing
    copyto!(rows.stmts, before[1])
    copyto!(rows.types, before[2])
    return nothing
end

"What is known of some values of φs of open types, also by what is assumed of other φs, by the numbers of the φs."
function assumed_types(ir, rows::Columns, refused::Set{Int}, wider::Dict{Int,Any})
    assumed, live = Dict{Int,Any}(), live_blocks(ir, rows)
    type_of(@nospecialize(x)) = x isa Core.SSAValue && haskey(assumed, x.id) ? assumed[x.id] : argument_type(ir, rows, x)
    changed = true
    while changed
        changed = false
        for i in 1:length(rows.stmts)
            stmt = rows.stmts[i]
            stmt isa Core.PhiNode && is_open(rows.types[i]) && !(i in refused) || continue
            known = Union{get(wider, i, Union{}),filter(is_known_type, Any[type_of(x) for x in incoming_values(stmt, live)])...}
            known !== Union{} && known <: rows.types[i] && !(rows.types[i] <: known) || continue
            length(Base.uniontypes(known)) <= MOST_COMBINATIONS && get(assumed, i, nothing) !== known || continue
            assumed[i] = known
            changed = true
        end
    end
    return sort!(collect(assumed); by = first)
end

"Whether values of a type are of one of some types that have no more exact one."
is_known_type(@nospecialize(ty)) = ty !== Union{} && all(is_one_type, Base.uniontypes(ty))

assigned_values(phi::Core.PhiNode) = [phi.values[i] for i in 1:length(phi.values) if isassigned(phi.values, i)]
incoming_type(ir, rows::Columns, phi::Core.PhiNode, impossible::BitSet, live::BitSet) =
    Union{argument_types(ir, rows, filter(x -> !is_among(impossible, x), incoming_values(phi, live)))...}

"What comes to a φ from blocks that control gets to."
incoming_values(phi::Core.PhiNode, live::BitSet) =
    [phi.values[i] for i in 1:length(phi.values) if isassigned(phi.values, i) && phi.edges[i] in live]

"""
The values that are never made: those of which it is known, where they are asked for, that they are of another type, what functions give that fail on
`nothing`, and what is made of these.
"""
function impossible_values(ir, rows::Columns, instances::Instances)
    found = BitSet()
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        never = if stmt isa Core.PiNode
            is_among(found, stmt.val) ||
                stmt.typ isa Type && typeintersect(argument_type(ir, rows, stmt.val), stmt.typ) === Union{}
        elseif stmt isa Core.PhiNode
            values = assigned_values(stmt)
            !isempty(values) && all(x -> is_among(found, x), values)
        else
            stmt isa Expr && stmt.head in (:call, :invoke, :new) && (any(x -> is_among(found, x), stmt.args) || fails_on_nothing(ir, rows, stmt, instances))
        end
        never && push!(found, i)
    end
    return found
end

"Whether functions give nothing back, as they fail on `nothing`."
fails_on_nothing(ir, rows::Columns, stmt::Expr, instances::Instances) =
    Nothing in argument_types(ir, rows, stmt.args) && found_type(ir, rows, stmt, instances) === Union{}

# Arguments have negative numbers there.
is_among(found::BitSet, @nospecialize(x)) = x isa Core.SSAValue && x.id in found || x isa Argument && -x.n in found

function sharpen_once!(ir, rows::Columns, instances::Instances)
    for round in 1:MOST_ROUNDS
        changed = false
        impossible, live = impossible_values(ir, rows, instances), live_blocks(ir, rows)
        for i in 1:length(rows.stmts)
            if rows.types[i] === Union{}
                never = Meta.isexpr(rows.stmts[i], :invoke) ? sharper_call(ir, rows, rows.stmts[i], instances) : nothing
                never === nothing || (rows.stmts[i] = never)
                continue
            end
            # What of a part is known says less than what may be found out of the others.
            rows.types[i] isa CC.PartialStruct && !is_one_type(CC.widenconst(rows.types[i])) && (rows.types[i] = CC.widenconst(rows.types[i]))
            stmt = rows.stmts[i]
            called = sharper_call(ir, rows, stmt, instances)
            called === nothing || (rows.stmts[i] = stmt = called)
            changed |= called !== nothing
            # Of calls for which there are several instances, these are noted, too.
            is_open(rows.types[i]) || Meta.isexpr(stmt, :call) || continue
            found = stmt isa Core.PhiNode ? incoming_type(ir, rows, stmt, impossible, live) : found_type(ir, rows, stmt, instances)
            is_open(rows.types[i]) || continue
            found = type_told_apart(found === Any ? rows.types[i] : found)
            found !== Union{} && (found <: rows.types[i] || is_known_call(stmt, found)) && !(rows.types[i] <: found) || continue
            said = rows.types[i]
            rows.types[i] = found
            found <: said || ask_for_others!(ir, rows, i, said, instances)
            changed = true
        end
        changed || break
    end
    return nothing
end

"""
Whether a statement calls what is known to give values of some types. That may be others than Julia says, as a dump has other code in the place of some functions, and what
follows from it.
"""
is_known_call(@nospecialize(stmt), @nospecialize(found)) = stmt isa Expr && stmt.head in (:invoke, :call) && is_known_type(found)

"The array type of floats, of one whose elements may be integers, too: no such array is made (`array_of_numbers`)."
function of_one_number(@nospecialize(ty))
    joined = ty <: Array ? joined_number(eltype(ty)) : nothing
    return joined === nothing ? ty : Array{joined,ndims(ty)}
end

"""
Where a function gives an array of floats, or something that holds one, but Julia said that it may be one of any numbers, and the code asks for that, lets it ask for the other, and
gives what is made of it the types that follow.
"""
function ask_for_others!(ir, rows::Columns, i::Int, @nospecialize(said), instances::Instances)
    kept, new = Any[], Any[]
    for ty in Base.uniontypes(rows.types[i])
        push!(ty <: said ? kept : new, of_one_number(ty))
    end
    length(unique(new)) == 1 && new[1] isa DataType || return
    is_other(@nospecialize(ty)) = ty isa DataType && ty.name === new[1].name && !(ty <: rows.types[i])
    gone = filter(is_other, Base.uniontypes(said))
    if new[1] <: Array
        eltype(new[1]) <: AbstractFloat || return
        filter!(ty -> eltype(new[1]) <: eltype(ty), gone)
    end
    length(gone) == 1 || return
    or_as_before(rows) do
        narrowed = Int[]
        rows.types[i] = Union{kept...,new[1]}
        for (j, stmt) in enumerate(rows.stmts)
            if Meta.isexpr(stmt, :call) && builtin_name(stmt.args[1]) === :isa && stmt.args[2] === Core.SSAValue(i) && known_object(stmt.args[3]) === gone[1]
                rows.stmts[j] = Expr(:call, stmt.args[1:2]..., new[1])
            elseif stmt isa Core.PiNode && stmt.val === Core.SSAValue(i) && stmt.typ === gone[1]
                rows.stmts[j], rows.types[j] = Core.PiNode(stmt.val, new[1]), new[1]
                push!(narrowed, j)
            end
        end
        retype_uses!(ir, rows, narrowed, true, instances)
    end
end

"Whether values of the type may have a more exact one; what is more than a type to the compiler says enough."
is_open(@nospecialize(ty)) = ty isa Type && (!is_one_type(ty) || ty === DataType)

"""
An invoke of the instance for the types of the arguments, or the answer that these give to the question for a type; `nothing` if the statement is that already, or they are not
known.
"""
function sharper_call(ir, rows::Columns, @nospecialize(stmt), instances::Instances)
    if Meta.isexpr(stmt, :invoke)
        mi = instance_of(stmt.args[1])
        mi === nothing && return nothing
        # Julia infers each instance anew: without end where a function gives itself a closure of the function that it was given.
        nesting(mi.specTypes) <= MOST_NESTED || return Expr(:call, stmt.args[2:end]...)
        along = call_along_dimension(ir, rows, mi, stmt.args)
        along === nothing || return along
        part = part_of_factors(ir, rows, mi, stmt.args)
        part === nothing || return part
        taken_out = taken_out_call(ir, rows, mi, stmt.args)
        taken_out === nothing || return taken_out
        other = something(counted_ntuple(ir, rows, stmt.args[2:end]), matrix_of_floats(ir, rows, stmt.args[2:end]), Some(nothing))
        other === nothing || return other
        sharper = sharpened(mi, argument_types(ir, rows, stmt.args[3:end]), instances)
        return sharper === mi ? nothing : Expr(:invoke, sharper, stmt.args[2:end]...)
    elseif Meta.isexpr(stmt, :call)
        is_splat(known_object(stmt.args[1])) && return something(splat_call(ir, rows, stmt), open_call(ir, rows, stmt, instances), Some(nothing))
        f = argument_type(ir, rows, stmt.args[1])
        f === typeof(isa) && return known_answer(ir, rows, stmt.args)
        f === typeof(Core.apply_type) && return known_type(ir, rows, stmt.args)
        # As Julia asks for several types at once.
        known_object(stmt.args[1]) === Core.Intrinsics.and_int && return any(x -> is_false(rows, x), stmt.args) ? false : nothing
        is_one_type(f) && !(f <: Union{Core.Builtin,Core.IntrinsicFunction}) || return nothing
        counted = counted_ntuple(ir, rows, stmt.args)
        counted === nothing || return counted
        types = argument_types(ir, rows, stmt.args[2:end])
        of_numbers = array_of_numbers(stmt, types)
        of_numbers === nothing || return of_numbers
        all(is_one_type, types) || return nothing
        access = known_access(stmt.args, Tuple{f,types...})
        access === nothing || return access
        mi = made_instance(Tuple{f,types...}, instances)
        return mi === nothing ? nothing : Expr(:invoke, mi, stmt.args...)
    elseif Meta.isexpr(stmt, :new) && stmt.args[1] isa Core.SSAValue
        of = type_itself(ir, rows, stmt.args[1])
        return isconcretetype(of) ? Expr(:new, of, stmt.args[2:end]...) : nothing
    end
    return nothing
end

is_false(rows::Columns, @nospecialize(x)) = x === false || x isa Core.SSAValue && rows.stmts[x.id] === false

"The call that makes a matrix of floats in which the integers that are written among them are floats, too, as they are in the matrix: of many arguments of several types Julia forgets the types."
function matrix_of_floats(ir, rows::Columns, call)
    before = known_object(call[1]) === Base.hvcat ? 2 : known_object(call[1]) === Base.typed_hvcat ? 3 : return nothing
    elements = call[before+1:end]
    floats = unique(filter(ty -> ty !== Int, argument_types(ir, rows, elements)))
    length(floats) == 1 && first(floats) <: Union{Float32,Float64} && any(x -> x isa Int, elements) || return nothing
    return Expr(:call, call[1:before]..., map(x -> converted(x, first(floats)), elements)...)
end

"Functions that make arrays for elements of a type."
const MAKE_ARRAYS = (:similar, :_similar_for, :_array_for)

"The call that makes an array of floats, of one that may make one of integers, too: they fit in it (`Mixed`)."
function array_of_numbers(stmt::Expr, types)
    f = known_object(stmt.args[1])
    f isa Function && nameof(f) in MAKE_ARRAYS && parentmodule(f) in (Base, Base.Broadcast) || return nothing
    at = findfirst(ty -> ty isa Union, types)
    at === nothing && return nothing
    joined = joined_number(Union{(ty isa DataType && ty.name === Type.body.name ? ty.parameters[1] : Any for ty in Base.uniontypes(types[at]))...})
    return joined === nothing ? nothing : Expr(:call, stmt.args[1:at]..., joined, stmt.args[at+2:end]...)
end

"The type of floats that integers fit in, too, of a type that is one of both."
function joined_number(@nospecialize(ty))
    ty isa Union && ty <: Union{Float32,Float64,Int64,Bool} || return nothing
    floats = filter(member -> member <: AbstractFloat, Base.uniontypes(ty))
    return length(floats) == 1 ? first(floats) : nothing
end

"Whether a value is of a type, if its own type says so."
function known_answer(ir, rows::Columns, args)
    length(args) == 3 || return nothing
    ty, asked = argument_type(ir, rows, args[2]), known_object(args[3])
    is_known_type(ty) && asked isa Type || return nothing
    ty <: asked && return true
    return typeintersect(ty, asked) === Union{} ? false : nothing
end

"""
The type that parameters make of a type, as closures are made that capture values whose types the compiler does not know; `nothing` if it is not known. Of a closure nobody asks of which
of several types what it captures is: it holds something of any of them.
"""
function known_type(ir, rows::Columns, args)
    known = Any[x isa Union{Core.SSAValue,Argument} ? type_itself(ir, rows, x) : known_object(x) for x in args[2:end]]
    is_closure(first(known)) && (known = Any[ty === nothing ? type_among(argument_type(ir, rows, x)) : ty for (ty, x) in zip(known, args[2:end])])
    all(ty -> ty isa Union{DataType,UnionAll,Int,Union}, known) && first(known) isa UnionAll || return nothing
    made = applied(known[1], known[2:end])
    return made isa Type && made !== Union{} ? made : nothing
end

"The type that a value is, if its own type says that it is a type, and which."
function type_itself(ir, rows::Columns, @nospecialize(x))
    ty = argument_type(ir, rows, x)
    return ty isa DataType && ty.name === Type.body.name && !(ty.parameters[1] isa TypeVar) ? ty.parameters[1] : nothing
end

"Whether this is the type of closures, of any of what they capture."
is_closure(@nospecialize(ty)) = ty isa UnionAll && Base.unwrap_unionall(ty) <: Function && startswith(string(nameof(Base.unwrap_unionall(ty))), "#")

"The types, one of which a value is; `nothing` if it may be others."
function type_among(@nospecialize(ty))
    members = Base.uniontypes(ty)
    is_type(member) = member isa DataType && member.name === Type.body.name && !(member.parameters[1] isa TypeVar)
    return length(members) > 1 && all(is_type, members) ? Union{(member.parameters[1] for member in members)...} : nothing
end

"""
The access to a field that a call of these types, function first, is, where the field is known: the method would be asked for any of them, and the type of what it gives then be that
of any.
"""
function known_access(args, @nospecialize(sig))
    length(args) in (3, 4) || return nothing
    object, field = sig.parameters[2], known_object(args[3])
    f = known_object(args[1])
    if f === Base.getproperty && length(args) == 3
        field isa Symbol && hasfield_of(object, field) || return nothing
        method = dispatched_method(sig)
        # The one that takes anything.
        return method isa Method && method.sig.parameters[2] === Any ? Expr(:call, GlobalRef(Core, :getfield), args[2:3]...) : nothing
    end
    object <: Union{Tuple,NamedTuple} && field isa Union{Int,Symbol} && hasfield_of(object, field) || return nothing
    f === Base.getindex && length(args) == 3 && return Expr(:call, GlobalRef(Core, :getfield), args[2:3]...)
    f === Base.indexed_iterate && field isa Int && field <= Portable.MOST_ELEMENTS && return Expr(:call, GlobalRef(Portable, :element_and_next), args[2], Val(field))
    return nothing
end

"Functions with the keyword `dims`, where the type of the result depends on the number, and those that take that as a type."
const ALONG_DIMENSION = (cat_t = :concatenated, eachslice = :slices)

"The call of a function that knows the dimension along which something is done, if it is known."
function call_along_dimension(ir, rows::Columns, mi::Core.MethodInstance, args)
    mi.def isa Method && length(args) >= 5 || return nothing
    name = match(r"^#?(.+)##kw$", String(mi.def.name))
    name !== nothing && haskey(ALONG_DIMENSION, Symbol(name[1])) || return nothing
    options = known_object(args[3])
    options isa NamedTuple{(:dims,),Tuple{Int}} || return nothing
    f = getfield(Portable, ALONG_DIMENSION[Symbol(name[1])])
    # Before the arrays, `cat_t` takes the type of the elements.
    before = name[1] == "cat_t" ? 5 : 4
    parts = args[before+1:end]
    types = argument_types(ir, rows, parts)
    all(is_one_type, types) && hasmethod(f, Tuple{Val{options.dims},types...}) || return nothing
    return Expr(:call, GlobalRef(Portable, nameof(f)), Val(options.dims), parts...)
end

"The call that makes one part of a factorization, where the code says which: of a field that is named by a value the run would look for any."
function part_of_factors(ir, rows::Columns, mi::Core.MethodInstance, args)
    mi.def isa Method && mi.def.name === :getproperty && length(args) == 4 || return nothing
    name = known_object(args[4])
    name isa Symbol && hasmethod(Portable.LinearAlgebra.part_of, Tuple{Val{name},argument_type(ir, rows, args[3])}) || return nothing
    return Expr(:call, GlobalRef(Portable.LinearAlgebra, :part_of), Val(name), args[3])
end

"The call that takes elements out of a vector, of a `splice!` that puts nothing in their place."
function taken_out_call(ir, rows::Columns, mi::Core.MethodInstance, args)
    mi.def isa Method && mi.def.name === :splice! && length(args) == 5 || return nothing
    isdefined(Base, :_default_splice) && known_object(args[5]) === Base._default_splice || return nothing
    hasmethod(Portable.taken_out!, Tuple{argument_types(ir, rows, args[3:4])...}) || return nothing
    return Expr(:call, GlobalRef(Portable, :taken_out!), args[3:4]...)
end

"The instance of the same method for arguments of these types, if they say more than its own."
function sharpened(mi::Core.MethodInstance, types::Vector{Any}, instances::Instances)
    method, sig = mi.def, Base.unwrap_unionall(mi.specTypes)
    method isa Method && sig isa DataType && all(is_one_type, types) || return mi
    sharp = Tuple{sig.parameters[1],types...}
    sharp <: mi.specTypes && !(mi.specTypes <: sharp) || return mi
    is_wide(sig, length(types)) || return mi
    # Inlining has chosen the method, which need not be the one that a call of these types dispatches to.
    sharper = made_instance(sharp, instances, method)
    return sharper === nothing ? mi : sharper
end

"The instance that a call of these types dispatches to, if it has code, and is one of the method, if that is given."
function made_instance(@nospecialize(sig), instances::Instances, of = nothing)
    method = dispatched_method(sig)
    method isa Method && (of === nothing || method === of) || return nothing
    mi = instance_of_method(method, sig)
    haskey(instances.codes, mi) && return mi
    get(instances.made, method, 0) < MOST_INSTANCES && nesting(sig) <= MOST_NESTED || return nothing
    inferred_code(mi) === nothing && return nothing
    instances.made[method] = get(instances.made, method, 0) + 1
    return mi
end

"How deep parameters of types are in parameters of others."
nesting(@nospecialize(ty)) = ty isa DataType && !isempty(ty.parameters) ? 1 + maximum(map(nesting, Any[ty.parameters...])) : 0

"The type of what a statement gives, as the types of its operands say; `Any` if they do not."
function found_type(ir, rows::Columns, @nospecialize(stmt), instances::Instances)
    if Meta.isexpr(stmt, :invoke)
        mi = instance_of(stmt.args[1])
        code = mi === nothing ? nothing : exported_code(mi, instances)
        return code === nothing ? Any : CC.widenconst(code[2])
    elseif stmt isa Core.PiNode
        return typeintersect(argument_type(ir, rows, stmt.val), stmt.typ isa Type ? stmt.typ : Any)
    elseif stmt isa Union{GlobalRef,Type,Core.SSAValue,Argument}
        return argument_type(ir, rows, stmt)
    elseif stmt isa Core.UpsilonNode
        return isdefined(stmt, :val) ? argument_type(ir, rows, stmt.val) : Union{}
    elseif stmt isa Core.PhiCNode
        return Union{argument_types(ir, rows, stmt.values)...}
    elseif Meta.isexpr(stmt, :new)
        made = known_object(stmt.args[1])
        return isconcretetype(made) ? made : Any
    elseif Meta.isexpr(stmt, :call)
        f = known_object(stmt.args[1])
        f === typeof && length(stmt.args) == 2 && return type_of_types(argument_type(ir, rows, stmt.args[2]))
        f === Core.tuple && return Tuple{argument_types(ir, rows, stmt.args[2:end])...}
        f === Core.arrayref && length(stmt.args) >= 4 && return type_of_elements(instances.fields, argument_type(ir, rows, stmt.args[3]))
        f === Core.getfield && length(stmt.args) >= 3 || return chosen_type(ir, rows, stmt, instances)
        object, field = argument_type(ir, rows, stmt.args[2]), known_object(stmt.args[3])
        field isa Union{Int,Symbol} || return type_of_some_element(object, argument_type(ir, rows, stmt.args[3]))
        # Of what does not have the field it is an error.
        members = filter(ty -> !(isconcretetype(ty) && !hasfield_of(ty, field)), Base.uniontypes(object))
        return all(isconcretetype, members) ? Union{map(ty -> type_of_field(instances.fields, ty, field), members)...} : Any
    end
    return Any
end

"The type of an element of a tuple of which the run tells the number: Julia forgets which types there are, if these are instances of one type or many."
type_of_some_element(@nospecialize(tuple), @nospecialize(number)) =
    isconcretetype(tuple) && tuple <: Tuple && number === Int && 0 < fieldcount(tuple) <= MOST_COMBINATIONS ? Union{fieldtypes(tuple)...} : Any

"The type of the types of values of a type."
type_of_types(@nospecialize(ty)) = Union{(is_one_type(member) ? Type{member} : Any for member in Base.uniontypes(ty))...}

"The type of what a call gives whose arguments, or what it calls, may be of some few types, each of which has an instance."
function chosen_type(ir, rows::Columns, stmt::Expr, instances::Instances)
    members = [Base.uniontypes(type_told_apart(ty)) for ty in argument_types(ir, rows, stmt.args)]
    prod(length, members) <= MOST_COMBINATIONS && all(types -> all(is_one_type, types), members) || return Any
    any(f -> f <: Union{Core.Builtin,Core.IntrinsicFunction}, first(members)) && return Any
    signatures = [Tuple{types...} for types in Iterators.product(members...)]
    # Where there is no method, the call fails. That there is no value yet is found out elsewhere: what is known of it then says more (`branches.jl`).
    possible = filter(sig -> dispatched_method(sig) !== nothing || Base._InitialValue in sig.parameters, vec(signatures))
    found = [made_instance(sig, instances) for sig in possible]
    any(mi -> mi === nothing, found) && return Any
    append!(instances.chosen, found)
    stmt.args[1] = own_global(stmt.args[1])
    codes = [exported_code(mi, instances) for mi in found]
    return any(code -> code === nothing, codes) ? Any : Union{map(code -> CC.widenconst(code[2]), codes)...}
end

"The name of a function in the module where it is defined, by which a dump knows its methods: others import it."
function own_global(@nospecialize(x))
    f = x isa GlobalRef && is_fixed(x) ? getfield(x.mod, x.name) : nothing
    return f isa Function && is_global_function(f) && !is_of_base(f) ? GlobalRef(parentmodule(f), nameof(f)) : x
end

# A type is an object, too, but not one of the fields that its values have.
hasfield_of(@nospecialize(ty), field::Int) = isconcretetype(ty) && 1 <= field <= fieldcount(ty)
hasfield_of(@nospecialize(ty), field::Symbol) = isconcretetype(ty) && field in fieldnames(ty)

"""
Notes what is put in boxes and in arrays and fields of abstract types, and of which types calls are where that may be called or passed. Whether there was something new.
"""
function note_kept!(ir, instances::Instances)
    rows, known = columns(ir), (length(instances.kept), length(instances.calls_of_unknown))
    note(@nospecialize(ty)) = is_one_type(ty) && may_be_called(ty) && !(ty in instances.kept) && push!(instances.kept, ty)
    for stmt in rows.stmts
        stmt isa GlobalRef && note_elements!(instances, stmt)
        is_made_by_call(stmt) && !is_one_type(known_object(stmt.args[3])) && foreach(note, argument_types(ir, rows, stmt.args[4:end]))
        Meta.isexpr(stmt, :new) && foreach(note, argument_types(ir, rows, kept_in_fields(stmt)))
        Meta.isexpr(stmt, :call) || continue
        foreach(x -> x isa GlobalRef && note_elements!(instances, x), stmt.args)
        value = kept_value(ir, rows, stmt)
        if value !== nothing
            note(argument_type(ir, rows, value))
        else
            types = Any[likely_type(ir, rows, x) for x in stmt.args]
            is_call_of_kept(types) && !(types in instances.calls_of_unknown) && push!(instances.calls_of_unknown, types)
        end
    end
    return known != (length(instances.kept), length(instances.calls_of_unknown))
end

"Notes of what types the elements of a global array are, where they may be of several."
function note_elements!(instances::Instances, x::GlobalRef)
    array = is_fixed(x) && is_of_program(x) ? getfield(x.mod, x.name) : nothing
    array isa Array && !is_one_type(eltype(array)) || return
    for i in eachindex(array)
        isassigned(array, i) || continue
        ty = typeof(array[i])
        may_be_called(ty) && !(ty in instances.kept) && push!(instances.kept, ty)
    end
end

"What a call puts in a box, or in an array whose elements may be of several types; `nothing` if it does neither."
function kept_value(ir, rows::Columns, stmt::Expr)
    builtin_name(stmt.args[1]) === :setfield! && length(stmt.args) == 4 && argument_type(ir, rows, stmt.args[2]) === Core.Box && return stmt.args[4]
    is_store(stmt) || return nothing
    array = argument_type(ir, rows, stmt.args[3])
    return array isa DataType && array <: Array && !is_one_type(eltype(array)) ? stmt.args[4] : nothing
end

"What is put in fields that may hold values of several types, where an object is made."
function kept_in_fields(stmt::Expr)
    made, operands = known_object(stmt.args[1]), stmt.args[2:end]
    made isa DataType && isconcretetype(made) || return Any[]
    return Any[operands[k] for k in 1:min(length(operands), fieldcount(made)) if !is_one_type(fieldtype(made, k))]
end

may_be_called(@nospecialize(ty)) = ty <: Function || ty isa DataType && isstructtype(ty)

"""
Whether a call, of what is called and arguments of these types, leaves one of them open: what is called, or an argument of which it is known that it is one of some abstract type.
"""
function is_call_of_kept(types::Vector{Any})
    open = findall(!is_one_type, types)
    length(open) == 1 || return false
    of = types[first(open)]
    first(open) == 1 && return true
    return !(first(types) <: Union{Core.Builtin,Core.IntrinsicFunction}) && of isa DataType && of !== Any && isabstracttype(of)
end

"The type of an operand; where a loop carries it, and Julia does not know what it becomes there, that of what it starts with."
function likely_type(ir, rows::Columns, @nospecialize(x))
    ty = argument_type(ir, rows, x)
    stmt = x isa Core.SSAValue ? rows.stmts[x.id] : nothing
    (is_one_type(ty) || !(stmt isa Core.PhiNode)) && return ty
    known = unique(filter(is_one_type, argument_types(ir, rows, assigned_values(stmt))))
    return length(known) == 1 ? first(known) : ty
end

"The instances that calls may call with what is kept: a function that is defined in another one and calls itself is there."
function kept_instances(instances::Instances)
    found = Any[]
    for types in instances.calls_of_unknown, ty in instances.kept
        open = findfirst(!is_one_type, types)
        ty <: types[open] || continue
        mi = made_instance(Tuple{setindex!(copy(types), ty, open)...}, instances)
        mi === nothing || push!(found, mi)
    end
    return found
end

"Whether a signature leaves open of which types so many arguments are."
function is_wide(sig::DataType, count::Int)
    parameters = sig.parameters[2:end]
    length(parameters) == count || return true
    return any(p -> p isa Core.TypeofBottom || Base.isvarargtype(p) || !is_one_type(p), parameters)
end

"Whether a value of the type has no other, more exact type."
is_one_type(@nospecialize(ty)) = isconcretetype(ty) || (ty isa DataType && ty.name === Type.body.name && !(ty.parameters[1] isa TypeVar))

argument_types(ir, rows::Columns, operands) = Any[argument_type(ir, rows, operand) for operand in operands]

function argument_type(ir, rows::Columns, @nospecialize(x))
    ty = operand_type(ir, rows, x)
    ty isa CC.Const && return Core.Typeof(ty.val)
    # What a global variable holds may be another value when the code runs.
    x isa GlobalRef && !is_fixed(x) && return Any
    if !(x isa Union{Core.SSAValue,Argument})
        known = known_object(x)
        # There is no `Type{Vararg}`.
        return known isa Type && Base.isvarargtype(known) ? Any : Core.Typeof(known)
    end
    return CC.widenconst(ty)
end
