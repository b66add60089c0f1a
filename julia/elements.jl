# Arrays that may hold anything, as `[]` and `Any[x, 2]` make them: of what is put in follows what is taken out, so that what is done with it is known.

"Functions in C that need not know of what type an array's elements are."
const OF_ANY_ARRAY = (:jl_array_grow_end, :jl_array_grow_beg, :jl_array_del_end, :jl_array_del_beg, :jl_array_grow_at, :jl_array_del_at, :jl_array_sizehint)

"""
Gives arrays that may hold anything and that the code makes, but that hold one type, the type for it, and calls the instances for these arrays. Integers that are written
among floats become floats there, if nothing asks for them (`asks_for_integers`). An array stays what it is if others may see of which type it is: where it is returned, or put into something else. Where it holds several
types, reading an element says of which types it may be, as long as no others may write. Whether there was such an array.
"""
function specialize_arrays!(ir, instances::Instances)
    rows, found = columns(ir), false
    for i in 1:length(rows.stmts)
        elements = made_elements(ir, rows, i)
        elements === nothing && continue
        # What is an integer where it is read stays one, and so does what is asked whether it is one.
        is_mixed = any(x -> last(x) isa Int, elements)
        is_mixed && asks_for_integers(ir, rows) && (found |= narrow_reads!(ir, rows, i, elements); continue)
        found |= is_mixed && narrow_reads!(ir, rows, i, elements) ||
            retype_array!(ir, rows, i, elements, instances) || narrow_reads!(ir, rows, i, elements)
    end
    return found
end

"Whether code asks whether something is an integer, itself or in a function of the program that it calls, makes or passes on, or has methods for integers and others for floats."
function asks_for_integers(ir, rows::Columns)
    seen = Set{Any}()
    for (i, stmt) in enumerate(rows.stmts)
        Meta.isexpr(stmt, :call) && tells_integers(builtin_name(stmt.args[1]), map(known_object, stmt.args[2:end])) &&
            any(x -> is_open(argument_type(ir, rows, x)), stmt.args[2:end]) && return true
        made = Meta.isexpr(stmt, :new) ? (CC.widenconst(rows.types[i]),) : ()
        objects = Any[x isa Union{Core.SSAValue,Argument} ? nothing : known_object(x) for x in passed_on(stmt)]
        called = Meta.isexpr(stmt, :invoke) ? instance_of(stmt.args[1]) : nothing
        called === nothing || push!(objects, Base.unwrap_unionall(called.specTypes))
        any(x -> any(f -> function_asks_for_integers(f, seen), functions_in(x)), (objects..., made...)) && return true
        library_asks_for_integers(ir, rows, stmt, called) && return true
    end
    return false
end

"""
Functions of Julia's library that take integers and no floats, or show what they are given as it is, with the number of their first argument of which this is so.
"""
const FOR_INTEGERS = Dict{Any,Int}(string => 1, Base.print_to_string => 1, print => 1, println => 1, repr => 1, show => 2, fill => 2, zeros => 1, ones => 1, factorial => 1,
    repeat => 2, ntuple => 2, (<<) => 1, (>>) => 1, (>>>) => 1, (//) => 1, iseven => 1, isodd => 1, (:) => 1, getindex => 2, setindex! => 3)

"Whether a statement gives one of those what may be an integer or a float."
function library_asks_for_integers(ir, rows::Columns, @nospecialize(stmt), called)
    f, operands = if called !== nothing
        ty = Base.unwrap_unionall(called.specTypes).parameters[1]
        (ty isa DataType && isdefined(ty, :instance) ? ty.instance : nothing, stmt.args[3:end])
    elseif Meta.isexpr(stmt, :call)
        (known_object(stmt.args[1]), stmt.args[2:end])
    else
        return false
    end
    first_asked = get(FOR_INTEGERS, f, nothing)
    first_asked === nothing && return false
    return any(x -> is_open(argument_type(ir, rows, x)), operands[first_asked:end])
end

"The operands of a statement but the function of Julia's compiler that it calls."
passed_on(@nospecialize(stmt)) = Meta.isexpr(stmt, :call) && builtin_name(stmt.args[1]) !== nothing ? stmt.args[2:end] : operands_of(stmt)

"The types of functions that an object is or holds, or that are parameters of a type."
function functions_in(@nospecialize(x), found = Any[])
    ty = x isa Type ? x : x === nothing || x isa Union{Number,Symbol,String,Module} ? Nothing : typeof(x)
    ty <: Function && push!(found, ty)
    ty isa DataType && foreach(parameter -> parameter isa DataType && functions_in(parameter, found), ty.parameters)
    return found
end

"Whether a function of the program has methods that take integers or floats, but not both, or asks in one of its methods, or in what that calls."
function function_asks_for_integers(@nospecialize(ty), seen)
    ty in seen && return false
    push!(seen, ty)
    ty <: Union{typeof(isa),typeof(typeof)} && return true
    ty isa DataType && is_of_program(ty.name.module) || return false
    methods = methods_of_type(ty)
    return any(takes_one_of_both, methods) || any(method -> source_asks_for_integers(method, seen), methods)
end

"Whether a method says of a parameter that it is an integer, or that it is none."
takes_one_of_both(method::Method) =
    any(ty -> !(ty isa TypeVar) && (Int <: ty) != (Float64 <: ty), Base.unwrap_unionall(method.sig).parameters[2:end])

"Whether a call of this function with these operands, as far as they are known, may give one answer for an integer, and another one for the float."
function tells_integers(name, operands)
    name === :typeof && return true
    name === :(===) && return !any(x -> x === nothing || x isa Symbol, operands)
    name in (:isa, :typeassert) && length(operands) == 2 && operands[2] isa Type || return false
    return (Int <: operands[2]) != (Float64 <: operands[2])
end

"Whether the source of a method has such a call, or one of a function of the program that asks."
function source_asks_for_integers(method::Method, seen)
    code = isdefined(method, :source) ? Base.uncompressed_ast(method).code : Any[]
    for stmt in code
        while Meta.isexpr(stmt, :(=))
            stmt = stmt.args[2]
        end
        operands = Meta.isexpr(stmt, :call) || Meta.isexpr(stmt, :new) ? map(global_value, stmt.args) : Any[]
        isempty(operands) && continue
        f = first(operands)
        f isa Union{Core.Builtin,Core.IntrinsicFunction} &&
            tells_integers(nameof(f), map(x -> x === :nothing ? nothing : x, operands[2:end])) && return true
        passed = f isa Core.Builtin ? operands[2:end] : operands
        any(x -> any(f -> function_asks_for_integers(f, seen), functions_in(x)), passed) && return true
    end
    return false
end

global_value(@nospecialize(x)) = x isa GlobalRef ? (isdefined(x.mod, x.name) ? getfield(x.mod, x.name) : missing) : x isa QuoteNode ? x.value : x

"The methods that values of a type have."
function methods_of_type(@nospecialize(ty))
    found = Base._methods_by_ftype(Tuple{ty,Vararg{Any}}, -1, Base.get_world_counter())
    return found isa Vector ? Method[match isa Core.SimpleVector ? match[3] : match.method for match in found] : Method[]
end

"What is put into the array that a statement makes, if that may hold several types: pairs of where, if that is known, and what."
function made_elements(ir, rows::Columns, i)
    ty, stmt = rows.types[i], rows.stmts[i]
    ty isa Type && ty <: Vector && ty isa DataType && !isconcretetype(eltype(ty)) || return nothing
    array, elements = Core.SSAValue(i), Pair{Any,Any}[]
    if is_made_by_call(stmt)
        append!(elements, [at => x for (at, x) in enumerate(stmt.args[4:end])])
    elseif is_copied_tuple(rows, stmt)
        append!(elements, [at => x for (at, x) in enumerate(rows.stmts[stmt.args[4].id].args[2:end])])
    elseif !(Meta.isexpr(stmt, :foreigncall) && stmt.args[1] == QuoteNode(:jl_alloc_array_1d))
        return nothing
    end
    for other in rows.stmts
        is_store(other) && other.args[3] === array || continue
        at = other.args[5]
        push!(elements, (length(other.args) == 5 && at isa Int ? at : nothing) => other.args[4])
    end
    return elements
end

"`T[a, b]`, where `T` may be any type."
function is_made_by_call(@nospecialize(stmt))
    mi = Meta.isexpr(stmt, :invoke) ? instance_of(stmt.args[1]) : nothing
    return mi !== nothing && mi.def isa Method && mi.def.name === :getindex && length(stmt.args) > 3 && known_object(stmt.args[3]) isa Type
end

"An array that is made for the elements of a tuple, which are what is copied into it."
function is_copied_tuple(rows::Columns, @nospecialize(stmt))
    mi = Meta.isexpr(stmt, :invoke) ? instance_of(stmt.args[1]) : nothing
    mi !== nothing && mi.def isa Method && mi.def.name === :copyto! && length(stmt.args) == 4 && stmt.args[4] isa Core.SSAValue || return false
    made = rows.stmts[stmt.args[4].id]
    others = count(other -> any(x -> x === stmt.args[3], operands_of(other)), rows.stmts)
    return stmt.args[3] isa Core.SSAValue && others == 1 && Meta.isexpr(made, :call) && builtin_name(made.args[1]) === :tuple
end

function retype_array!(ir, rows::Columns, i, elements, instances::Instances)
    is_copied_tuple(rows, rows.stmts[i]) && return false
    element = sole_type(ir, rows, elements, eltype(rows.types[i]))
    element === nothing && return false
    made = remade(ir, rows, rows.stmts[i], element, instances)
    made === nothing && return false
    return or_as_before(rows) do
        rows.stmts[i], rows.types[i] = made, Vector{element}
        for (j, stmt) in enumerate(rows.stmts)
            is_store(stmt) && stmt.args[3] === Core.SSAValue(i) || continue
            rows.stmts[j] = Expr(:call, stmt.args[1:3]..., converted(stmt.args[4], element), stmt.args[5:end]...)
        end
        retype_uses!(ir, rows, i, isempty(elements), instances) &&
            all(x -> argument_type(ir, rows, converted(x, element)) === element, map(last, elements)) && all_stores_fit(ir, rows, Vector{element})
    end
end

"Changes statements and types, and takes that back if it does not come out well. Whether it did."
function or_as_before(change, rows::Columns)
    before = copy(rows.stmts), copy(rows.types)
    change() && return true
    copyto!(rows.stmts, before[1])
    copyto!(rows.types, before[2])
    return false
end

"Whether what is put into arrays of a type, by whatever name, is of the type of their elements."
function all_stores_fit(ir, rows::Columns, @nospecialize(of))
    stores = filter(stmt -> is_store(stmt) && of <: argument_type(ir, rows, stmt.args[3]), rows.stmts)
    return all(stmt -> argument_type(ir, rows, stmt.args[4]) <: eltype(of), stores)
end

"The one type of what is put into an array that may be of several, as far as it is known."
function sole_type(ir, rows::Columns, elements, @nospecialize(of))
    # Nothing is put in here, but elsewhere, where what is both are floats, or it is empty.
    isempty(elements) && return joined_number(of)
    # What is no float stays an integer, and so does that of which a product of a few may be none.
    all(x -> !(last(x) isa Int) || abs(last(x)) <= SMALL, elements) || return nothing
    known = unique(Any[argument_type(ir, rows, x) for (_, x) in elements if !(x isa Int)])
    filter!(isconcretetype, known)
    isempty(known) && any(x -> last(x) isa Int, elements) && return Int
    return length(known) == 1 ? first(known) : nothing
end

"Products of four integers of this size are floats still."
const SMALL = 2^13

converted(@nospecialize(x), element) = x isa Int && element <: AbstractFloat ? element(x) : x

"A statement that makes an array, for elements of this type."
function remade(ir, rows::Columns, stmt::Expr, element, instances::Instances)
    stmt.head === :foreigncall &&
        return Expr(:foreigncall, stmt.args[1], Vector{element}, stmt.args[3:5]..., Vector{element}, stmt.args[7:end]...)
    elements = map(x -> converted(x, element), stmt.args[4:end])
    mi = made_instance(Tuple{typeof(getindex),Type{element},argument_types(ir, rows, elements)...}, instances)
    return mi === nothing ? nothing : Expr(:invoke, mi, stmt.args[2], element, elements...)
end

function narrow_reads!(ir, rows::Columns, i, elements)
    array, found = Core.SSAValue(i), false
    for stmt in rows.stmts
        any(x -> x === array, operands_of(stmt)) || continue
        Meta.isexpr(stmt, :call) && builtin_name(stmt.args[1]) in (:arraysize, :arraylen, :arrayref, :arrayset) && !(length(stmt.args) > 3 && stmt.args[4] === array) ||
            return false
    end
    for (j, stmt) in enumerate(rows.stmts)
        Meta.isexpr(stmt, :call) && builtin_name(stmt.args[1]) === :arrayref && stmt.args[3] === array && is_open(rows.types[j]) || continue
        at = length(stmt.args) == 4 && stmt.args[4] isa Int ? stmt.args[4] : nothing
        types = Any[argument_type(ir, rows, x) for (place, x) in elements if at === nothing || place === nothing || place == at]
        known = Union{types...}
        is_known_type(known) && known <: rows.types[j] && !(rows.types[j] <: known) || continue
        rows.types[j] = known
        found = true
    end
    return found
end

"Whether an instance makes an array of what an iterator gives."
collects(mi::Core.MethodInstance) = mi.def isa Method && mi.def.module === Base && mi.def.name in (:collect, :collect_similar, :_collect, :map)

"""
Where an array of what is iterated would have elements of one type, or of any if there are none, as Julia's compiler does not know what is made with what closures capture, gives the empty
one the type of the other.
"""
function type_empty_arrays!(ir)
    members = Base.uniontypes(returned_type(ir))
    length(members) == 2 && all(ty -> ty <: Array && isconcretetype(ty), members) || return
    # Also of tuples of which only some elements are of one type.
    is_left_open(ty) = eltype(ty) === Any || eltype(ty) <: Tuple && !is_one_type(eltype(ty))
    empty, other = is_left_open(members[1]) ? members : reverse(members)
    is_left_open(empty) && ndims(empty) == ndims(other) && !is_left_open(other) && eltype(other) <: eltype(empty) || return
    rows = columns(ir)
    for (i, stmt) in enumerate(rows.stmts)
        Meta.isexpr(stmt, :foreigncall) && rows.types[i] === empty && stmt.args[2] === empty || continue
        rows.stmts[i], rows.types[i] = Expr(:foreigncall, stmt.args[1], other, stmt.args[3:5]..., other, stmt.args[7:end]...), other
    end
end

is_store(@nospecialize(stmt)) = Meta.isexpr(stmt, :call) && builtin_name(stmt.args[1]) === :arrayset && length(stmt.args) >= 5

"The name of a function of Julia's compiler; not all versions have all."
function builtin_name(@nospecialize(callee))
    f = known_object(callee)
    return f isa Union{Core.Builtin,Core.IntrinsicFunction} ? nameof(f) : nothing
end

"""
Gives what is made of a value whose type has changed the types that follow. False if something must not be of another type than it was, as what is returned, if it may not.
"""
function retype_uses!(ir, rows::Columns, from, may_return::Bool, instances::Instances)
    from, changed = BitSet(from), BitSet(from)
    for _ in 1:MOST_ROUNDS
        before = length(changed)
        for i in 1:length(rows.stmts)
            stmt = rows.stmts[i]
            may_return && stmt isa ReturnNode && continue
            !(i in from) && any(x -> is_among(changed, x), operands_of(stmt)) || continue
            old = rows.types[i]
            retyped = retyped_use(ir, rows, stmt, old, changed, instances)
            retyped === nothing && return false
            rows.stmts[i], ty = retyped
            # What the compiler knows of a value beside its type is still so.
            (ty === old || ty === CC.widenconst(old)) && continue
            rows.types[i] = ty
            ty isa Type && ty <: CC.widenconst(old) || push!(changed, i)
        end
        sharpen_once!(ir, rows, instances)
        length(changed) == before && return true
    end
    return false
end

operands_of(@nospecialize(stmt)) =
    stmt isa Expr ? stmt.args :
    stmt isa Core.PhiNode ? assigned_values(stmt) :
    stmt isa Union{Core.PiNode,Core.UpsilonNode,ReturnNode} ? (isdefined(stmt, :val) ? (stmt.val,) : ()) : stmt isa GotoIfNot ? () : (stmt,)

"The statement with its type, where types of operands have changed to others; `nothing` if these must not."
function retyped_use(ir, rows::Columns, @nospecialize(stmt), @nospecialize(old), changed::BitSet, instances::Instances)
    if Meta.isexpr(stmt, :call)
        name, types = builtin_name(stmt.args[1]), argument_types(ir, rows, stmt.args[2:end])
        any(is_open_tuple, types) && return use_of_open_tuple(ir, rows, stmt, types, old, instances)
        any(has_open_tuple, types) && name in (:isa, :(===)) && return nothing
        name === :isa && return asked_for_floats(ir, rows, stmt), old
        name in (:arraysize, :arraylen, :(===)) && return stmt, old
        name === :arrayref && return stmt, types[2] <: Array ? eltype(types[2]) : Any
        name === :arrayset && return is_among(changed, stmt.args[4]) ? nothing : (stmt, types[2])
        name === :tuple && return stmt, Tuple{types...}
        name === :getfield && return stmt, isconcretetype(types[1]) ? found_type(ir, rows, stmt, instances) : Any
        if name === :apply_type
            made = known_type(ir, rows, stmt.args)
            return made === nothing ? nothing : (made, Type{made})
        end
        # What is called with the elements is found once their types are known.
        name === :_apply_iterate && length(stmt.args) >= 3 && !(known_object(stmt.args[3]) isa Core.Builtin) && return stmt, Any
        # A method that the run chooses.
        return name === nothing ? (stmt, Any) : nothing
    elseif Meta.isexpr(stmt, :invoke)
        mi = instance_of(stmt.args[1])
        mi === nothing && return nothing
        types = argument_types(ir, rows, stmt.args[3:end])
        may_put_others(mi, types) && return nothing
        f = is_among(changed, stmt.args[2]) ? argument_type(ir, rows, stmt.args[2]) : Base.unwrap_unionall(mi.specTypes).parameters[1]
        sharp = Tuple{f,types...}
        all(is_one_type, sharp.parameters) || return nothing
        other = made_instance(sharp, instances)
        other === nothing && return nothing
        invoke = Expr(:invoke, other, stmt.args[2:end]...)
        return invoke, old === Union{} ? old : found_type(ir, rows, invoke, instances)
    elseif Meta.isexpr(stmt, :new)
        holds = stmt.args[1] isa Core.SSAValue ? type_itself(ir, rows, stmt.args[1]) : known_object(stmt.args[1])
        ty = retyped_struct(holds, argument_types(ir, rows, stmt.args[2:end]))
        ty === nothing || ty === holds || note_same_boxes!(instances.boxes, holds, ty)
        return ty === nothing ? nothing : (Expr(:new, ty, stmt.args[2:end]...), ty)
    elseif Meta.isexpr(stmt, :foreigncall)
        name = stmt.args[1]
        return name isa QuoteNode && name.value in OF_ANY_ARRAY ? (stmt, old) : nothing
    elseif stmt isa Core.PhiNode
        return stmt, incoming_type(ir, rows, stmt, BitSet(), live_blocks(ir, rows))
    elseif stmt isa Core.PiNode
        ty = argument_type(ir, rows, stmt.val)
        is_open_tuple(ty) && return counted_tuple(stmt.val, ty, stmt.typ)
        narrow = typeintersect(ty, stmt.typ isa Type ? stmt.typ : Any)
        # What was left behind the branch of the types that the value had need not be what is left of others.
        narrow === Union{} || return stmt, narrow
        narrow = type_behind_branch(ir, rows, stmt, ty)
        return narrow === Union{} ? (stmt, narrow) : (Core.PiNode(stmt.val, narrow), narrow)
    end
    return nothing
end

"The question whether a value is of a type, where it was of any numbers and has become one of floats: it asks for these."
function asked_for_floats(ir, rows::Columns, stmt)
    length(stmt.args) == 3 || return stmt
    asked, members = known_object(stmt.args[3]), Base.uniontypes(CC.widenconst(argument_type(ir, rows, stmt.args[2])))
    asked isa DataType && asked <: AbstractArray && !any(ty -> ty <: asked, members) || return stmt
    of_floats = filter(ty -> ty isa DataType && ty.name === asked.name && eltype(ty) <: AbstractFloat && eltype(ty) <: eltype(asked), members)
    return length(of_floats) == 1 ? Expr(:call, stmt.args[1:2]..., of_floats[1]) : stmt
end

"Whether a function that changes what it is passed, as its name says, may put something else into one of the arrays."
function may_put_others(mi::Core.MethodInstance, types)
    mi.def isa Method && endswith(String(mi.def.name), "!") || return false
    # What does not fit it puts in another array.
    mi.def.module === Base && mi.def.name in (:collect_to!, :collect_to_with_first!) && return false
    elements = Any[eltype(ty) for ty in types if ty <: Array]
    return !all(ty -> ty <: Union{Array,Function,Int,Bool} || ty in elements, types) || length(unique(elements)) > 1
end

"A type with these parameters; no type where they are out of its bounds."
function applied(@nospecialize(wrapper), parameters)
    try
        return isempty(parameters) ? wrapper : wrapper{parameters...}
    catch
        return Union{}
    end
end

"Puts another type in the place of that of the elements of an array, where a wrapper of the array names it, too: `Adjoint{Real,Vector{Real}}`."
function rename_elements!(parameters, declared, old, new)
    for (k, parameter) in enumerate(declared.parameters)
        parameters[k] === old && !any(ty -> ty === parameter, fieldtypes(declared)) && (parameters[k] = new)
    end
end

"""
The struct type with other parameters in the places of those that are the types of fields, for fields of these types. The field of a closure that may hold any type is one for the type
that it holds.
"""
function retyped_struct(@nospecialize(ty), types)
    ty isa DataType && isconcretetype(ty) && fieldcount(ty) == length(types) || return nothing
    parameters, declared = Any[ty.parameters...], Base.unwrap_unionall(ty.name.wrapper)
    for (i, own) in enumerate(types)
        is = fieldtype(ty, i)
        at = findfirst(p -> p === fieldtype(declared, i), collect(declared.parameters))
        own <: is && !(at !== nothing && is === DataType && ty <: Function && is_one_type(own)) && continue
        at !== nothing && is_one_type(own) || return nothing
        parameters[at] = own
        is <: AbstractArray && own <: AbstractArray && rename_elements!(parameters, declared, eltype(is), eltype(own))
    end
    other = applied(ty.name.wrapper, parameters)
    return isconcretetype(other) && all(i -> types[i] <: fieldtype(other, i), 1:length(types)) ? other : nothing
end
