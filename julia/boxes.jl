# What is in variables that closures capture and change. Julia keeps them in boxes, of whose contents its compiler knows nothing; here all that puts something in is seen.

"A field of structs of a type, or a statement in the code of a method instance."
const Place = Tuple{Any,Int}

"""
Of which types what is in boxes is, by the places where boxes are: fields of structs, and statements that make them, which are `origins` of what is in the former. Nothing is known of what is in
those at `unknown` places. A box at one place goes `into` others, and those that were taken to be `settled` must not come where closures are `changing` what is in them. Once something
is not so that was taken for granted in code, all of it is to be made anew, with what was found out: the types that are `expected` of what is put in boxes, those among them that are `floats`
where integers are put in, too, the places of which nothing can be known, as they have `failed`, those where what is in boxes changes, and the `holders`: fields of closures in which a
box was seen to be put that were known only once it was taken for granted what is in the box. Once such are `found`, only what had `failed_before` counts.
"""
struct Boxes
    types::Dict{Place,Any}
    origins::Dict{Place,Place}
    into::Dict{Place,Set{Place}}
    settled::Set{Place}
    unknown::Set{Place}
    expected::Dict{Place,Any}
    floats::Set{Place}
    failed::Set{Place}
    changing::Set{Place}
    holders::Dict{Place,Set{Place}}
    failed_before::Set{Place}
    found::Base.RefValue{Bool}
    wrong::Base.RefValue{Bool}
end

Boxes(expected = Dict{Place,Any}(), floats = Set{Place}(), failed = Set{Place}(), changing = Set{Place}(), holders = Dict{Place,Set{Place}}()) =
    Boxes(Dict{Place,Any}(), Dict{Place,Place}(), Dict{Place,Set{Place}}(), Set{Place}(), Set{Place}(), expected, floats, failed, changing, holders, copy(failed), Ref(false), Ref(false))

"To begin again with what was found out. As long as there are closures of which it was not known that they hold boxes, what failed may have failed because of that."
again(boxes::Boxes) = Boxes(boxes.expected, boxes.floats, boxes.found[] ? boxes.failed_before : boxes.failed, boxes.changing, boxes.holders)

"Lets nothing be known of what there still are only expectations of."
function give_up!(boxes::Boxes)
    union!(boxes.failed, keys(boxes.expected), keys(boxes.holders))
    empty!(boxes.expected)
    empty!(boxes.holders)
end

"""
Gives what is read from boxes the type of all that is put in, where that is one. Boxes are told apart by the fields that hold them; see [`Boxes`](@ref). What is taken for
granted must hold in the end: [`check_boxes!`](@ref).
"""
function type_boxes!(ir, mi::Core.MethodInstance, boxes::Boxes)
    rows = columns(ir)
    for stmt in rows.stmts, x in operands_of(stmt)
        is_named = x isa Union{Core.SSAValue,Argument} || x isa GlobalRef && !is_of_program(x)
        is_named || note_object!(boxes, known_object(x))
    end
    for i in 1:length(rows.stmts)
        rows.types[i] === Core.Box || continue
        note_change!(ir, rows, i, mi, boxes)
        ty = contents_type(ir, rows, i, mi, boxes)
        ty === nothing && continue
        # Before what asks for types has its answer.
        check_floats!(ir, rows, i, place_of_box(ir, rows, i, mi), mi, boxes)
        for (j, stmt) in enumerate(rows.stmts)
            access = accesses(stmt, i)
            if access === :setfield! && converted(stmt.args[4], ty) !== stmt.args[4]
                rows.stmts[j], rows.types[j] = Expr(:call, stmt.args[1:3]..., converted(stmt.args[4], ty)), ty
            end
            access === :getfield && is_open(rows.types[j]) && (rows.types[j] = ty)
        end
    end
end

"The code in which φs and φᶜs that take the same box on all ways are that box. One is replaced at a time: others may take nothing else then, either."
function with_boxes_named_once(ir)
    rows = columns(ir)
    for (i, stmt) in enumerate(rows.stmts)
        rows.types[i] === Core.Box || continue
        values = stmt isa Core.PhiNode ? assigned_values(stmt) : stmt isa Core.PhiCNode ? stored_for_catch(rows, stmt) : continue
        named = unique(filter(x -> x !== Core.SSAValue(i), values))
        length(named) == 1 && first(named) isa Core.SSAValue && comes_before(ir, first(named).id, i) || continue
        rows.stmts[i] = first(named)
        return with_boxes_named_once(CC.compact!(ir))
    end
    return ir
end

"What ϒ statements store for a φᶜ."
function stored_for_catch(rows::Columns, phi::Core.PhiCNode)
    stores = [x isa Core.SSAValue ? rows.stmts[x.id] : nothing for x in phi.values]
    return all(store -> store isa Core.UpsilonNode && isdefined(store, :val), stores) ? Any[store.val for store in stores] : Any[]
end

"The type of what is in the box that a statement makes or takes from a field; `nothing` if that may be of several."
function contents_type(ir, rows::Columns, i::Int, mi, boxes::Boxes)
    from, holders = place_of_box(ir, rows, i, mi), holders_of(ir, rows, i, true)
    is_own = from === (mi, i)
    can_be_known = holders !== nothing && !(from in boxes.failed) && (!is_own || makes_box(rows.stmts[i]))
    is_own && holders !== nothing && append!(holders, get(boxes.holders, from, ()))
    ty = !can_be_known ? nothing : is_own ? get(() -> stored_type(ir, rows, i, from, boxes), boxes.expected, from) : get(boxes.types, from, nothing)
    places = (from, something(holders, ())...)
    for holder in something(holders, ())
        get!(boxes.origins, holder, get(boxes.origins, from, from))
        push!(get!(() -> Set{Place}(), boxes.into, from), holder)
    end
    ty !== nothing && all(place -> note_contents!(boxes, place, ty), places) && return ty
    foreach(place -> forget!(boxes, place), places)
    return nothing
end

"The statements that give boxes."
statements_of_boxes(ir) = findall(==(Core.Box), columns(ir).types)

"""
Notes the fields of closures that hold the boxes which a function makes, where it was not known which closures these are: what else they hold depends on what is in the box, or on what
another one of them gives. It may be carried by a loop, so that it follows only from types that are assumed, and these hold only if it is known what is in the box.
"""
function note_holders!(ir, mi::Core.MethodInstance, boxes::Boxes)
    rows = columns(ir)
    for i in statements_of_boxes(ir)
        makes_box(rows.stmts[i]) && haskey(boxes.types, (mi, i)) || continue
        add_holders!(boxes, (mi, i), something(holders_of(ir, rows, i, true), ()))
    end
end

"Adds fields to those that hold a box; whether some of them are new."
function add_holders!(boxes::Boxes, from, holders)
    new = filter(place -> !haskey(boxes.types, place) && !(place in get(boxes.holders, from, ())), collect(holders))
    isempty(new) && return false
    union!(get!(() -> Set{Place}(), boxes.holders, from), new)
    boxes.found[] = boxes.wrong[] = true
    return true
end

"""
Forgets what was taken for granted of boxes in which the code puts something else, and expects what it has turned out to put there. Statements had other `numbers` when it was
taken for granted.
"""
function check_boxes!(ir, mi::Core.MethodInstance, boxes::Boxes, numbers::Dict{Int,Int})
    rows = columns(ir)
    for i in statements_of_boxes(ir)
        from, holders = place_of_box(ir, rows, i, mi), holders_of(ir, rows, i)
        is_own = from === (mi, i)
        is_own && (from = (mi, get(numbers, i, i)))
        places = (from, something(holders, ())...)
        ty = get(boxes.types, from, nothing)
        if ty !== nothing && holders === nothing
            foreach(place -> forget!(boxes, place), places)
            continue
        elseif ty !== nothing && is_own && add_holders!(boxes, from, holders)
            continue
        end
        if ty === nothing
            # What the function itself puts in may follow from what a closure does: `m, s = stats(x)`, where `stats` has an `m`, too.
            origin = is_own && makes_box(rows.stmts[i]) ? from : get(boxes.origins, from, nothing)
            is_new = holders !== nothing && origin !== nothing && !(origin in boxes.failed)
            found = is_new && !haskey(boxes.expected, origin) ? stored_type(ir, rows, i, origin, boxes) : nothing
            found === nothing ? foreach(place -> forget!(boxes, place), places) : expect!(boxes, origin, found)
            continue
        end
        stored = Union{ty,argument_types(ir, rows, stored_values(rows, i))...}
        stored === ty && all(place -> get(boxes.types, place, nothing) === ty, places) && continue
        origin, float = get(boxes.origins, from, from), joined_number(stored)
        is_first(only) = ty === only && get(boxes.expected, origin, only) === only
        if float !== nothing && is_first(Int)
            expect_float!(boxes, origin, float)
        elseif is_first(Nothing) && is_one_type_or_nothing(stored)
            expect!(boxes, origin, stored)
        else
            foreach(place -> forget!(boxes, place), places)
        end
    end
end

function expect!(boxes::Boxes, origin, @nospecialize(ty))
    boxes.expected[origin] = ty
    boxes.wrong[] = true
end

function expect_float!(boxes::Boxes, origin, @nospecialize(ty))
    push!(boxes.floats, origin)
    expect!(boxes, origin, ty)
end

"Takes back that integers are floats in boxes where code may see the difference."
function check_floats!(codes, boxes::Boxes)
    isempty(boxes.floats) && return
    for (mi, (_, _, ir)) in codes
        rows = columns(ir)
        for i in 1:length(rows.stmts)
            rows.types[i] === Core.Box && check_floats!(ir, rows, i, place_of_box(ir, rows, i, mi), mi, boxes)
        end
    end
end

function check_floats!(ir, rows::Columns, i::Int, from, mi, boxes::Boxes)
    # Statements that make boxes may have other numbers by now.
    holds(origin) = first(from) === mi ? first(origin) === mi : reaches(boxes, origin, ==(from))
    of = filter(origin -> !(origin in boxes.failed) && holds(origin), boxes.floats)
    (isempty(of) || is_only_counted(ir, rows, i)) && return
    union!(boxes.failed, of)
    boxes.wrong[] = true
    return nothing
end

"Functions for which it makes no difference whether a number is a small integer or the same float, if another one is a float."
const OF_FLOATS = Any[+, -, *, min, max]

"Functions for which it never does."
const OF_NUMBERS = Any[/, <, <=, >, >=]

"""
Whether code cannot tell if there are integers or floats in a box: integers that are put there are small and written there, and what is read is only computed with, so that floats come out,
or returned by the function that has made the box. An integer that is computed of others may be too large for a float, and there is no negative zero among them.
"""
function is_only_counted(ir, rows::Columns, i::Int)
    is_small(x) = x isa Int ? abs(x) < 2^53 : !may_be_integer(ir, rows, i, x)
    all(is_small, stored_values(rows, i)) || return false
    for (j, read) in enumerate(rows.stmts)
        accesses(read, i) === :getfield || continue
        for (k, stmt) in enumerate(rows.stmts)
            any(x -> x === Core.SSAValue(j), operands_of(stmt)) || continue
            stmt isa ReturnNode && makes_box(rows.stmts[i]) && continue
            f = Meta.isexpr(stmt, :call) ? stmt.args[1] : Meta.isexpr(stmt, :invoke) ? stmt.args[2] : nothing
            is_one_of(functions) = any(known -> known === known_object(f), functions)
            is_one_of(OF_NUMBERS) || is_one_of(OF_FLOATS) && !may_be_integer(ir, rows, i, Core.SSAValue(k)) || return false
        end
    end
    return true
end

"Whether a value may be an integer as long as what is in a box may be one, of which floats were taken for granted."
function may_be_integer(ir, rows::Columns, i::Int, @nospecialize(x), seen = BitSet())
    x isa Core.SSAValue || return x isa Int || x isa Argument && !is_float(ir.argtypes[x.n])
    x.id in seen && return false
    push!(seen, x.id)
    stmt = rows.stmts[x.id]
    accesses(stmt, i) === :getfield && return true
    parts = stmt isa Core.PhiNode ? assigned_values(stmt) : stmt isa Core.PiNode ? (stmt.val,) : operands_of_arithmetic(stmt)
    parts === nothing && return !is_float(rows.types[x.id])
    test = stmt isa Union{Core.PhiNode,Core.PiNode} ? any : all
    return test(part -> may_be_integer(ir, rows, i, part, seen), parts)
end

is_float(@nospecialize(ty)) = CC.widenconst(ty) <: AbstractFloat

function operands_of_arithmetic(@nospecialize(stmt))
    from = Meta.isexpr(stmt, :call) ? 1 : Meta.isexpr(stmt, :invoke) ? 2 : return nothing
    any(known -> known === known_object(stmt.args[from]), OF_FLOATS) ? stmt.args[from+1:end] : nothing
end

"Takes back that boxes are settled that come where what is in them changes."
function check_settled!(boxes::Boxes)
    for place in boxes.settled
        reaches(boxes, place, in(boxes.changing)) || continue
        push!(boxes.changing, place)
        boxes.wrong[] = true
    end
end

"Whether boxes at a place come to one of which something holds."
function reaches(boxes::Boxes, from, holds, seen = Set{Place}())
    from in seen && return false
    push!(seen, from)
    return holds(from) || any(next -> reaches(boxes, next, holds, seen), get(boxes.into, from, ()))
end

"Notes that a closure changes what is in a box, which another function may have taken for settled."
function note_change!(ir, rows::Columns, i::Int, mi, boxes::Boxes)
    from = place_of_box(ir, rows, i, mi)
    (from === (mi, i) || isempty(stored_values(rows, i))) || push!(boxes.changing, from)
    return nothing
end

"Where a box is: the field from which a statement takes it, or, if the statement makes it, itself."
function place_of_box(ir, rows::Columns, i::Int, mi)
    stmt = rows.stmts[i]
    Meta.isexpr(stmt, :call) && builtin_name(stmt.args[1]) === :getfield && length(stmt.args) >= 3 || return (mi, i)
    object, field = argument_type(ir, rows, stmt.args[2]), known_object(stmt.args[3])
    (field isa Symbol || field isa Int) && hasfield_of(object, field) || return (mi, i)
    return (object, field isa Int ? field : Base.fieldindex(object, field))
end

"""
The fields in which a box is put; `nothing` if it goes anywhere else. Those of closures of which it is not known yet what they are, as what they hold beside the box depends on what is in that,
may be left out.
"""
function holders_of(ir, rows::Columns, i::Int, open = false)
    holders, box = Any[], Core.SSAValue(i)
    for (j, stmt) in enumerate(rows.stmts)
        any(x -> x === box, operands_of(stmt)) || continue
        accesses(stmt, i) === nothing || continue
        Meta.isexpr(stmt, :new) || return nothing
        ty = CC.widenconst(rows.types[j])
        open && ty isa UnionAll && continue
        isconcretetype(ty) || return nothing
        append!(holders, [(ty, at - 1) for at in 2:length(stmt.args) if stmt.args[at] === box])
    end
    return holders
end

"How a statement looks at what is in a box, or changes it, if it does nothing else with the box."
function accesses(@nospecialize(stmt), i::Int)
    Meta.isexpr(stmt, :call) && length(stmt.args) >= 3 && stmt.args[2] === Core.SSAValue(i) || return nothing
    name = builtin_name(stmt.args[1])
    known_object(stmt.args[3]) in (:contents, 1) && name in (:getfield, :setfield!, :isdefined) || return nothing
    return name === :setfield! && stmt.args[4] === Core.SSAValue(i) ? nothing : name
end

makes_box(@nospecialize(stmt)) = Meta.isexpr(stmt, :new) || Meta.isexpr(stmt, :call) && known_object(stmt.args[1]) === Core.Box

"What the code puts in the box that a statement makes or takes from a field."
stored_values(rows::Columns, i::Int) = Any[
    (makes_box(rows.stmts[i]) ? rows.stmts[i].args[2:end] : [])...,
    (stmt.args[4] for stmt in rows.stmts if accesses(stmt, i) === :setfield!)...,
]

"The type of all that the code puts in a box, as far as it is known; floats are put where integers are, too, and `nothing` where there is no value yet."
function stored_type(ir, rows::Columns, i::Int, from, boxes::Boxes)
    known = unique(filter(is_one_type, argument_types(ir, rows, stored_values(rows, i))))
    length(known) < 2 && return isempty(known) ? nothing : first(known)
    is_one_type_or_nothing(Union{known...}) && return Union{known...}
    float = joined_number(Union{known...})
    float === nothing || push!(boxes.floats, from)
    return float
end

"Whether a type is of one other than `Nothing`, and that."
is_one_type_or_nothing(@nospecialize(ty)) = Nothing <: ty && count(!=(Nothing), Base.uniontypes(ty)) == 1 && all(is_one_type, Base.uniontypes(ty))

"""
Calls `visit` with the fields of an object and of those in it, also in arrays: with the type of the object, the number of the field, and what is in it. Of arrays whose elements may be
of several types an element has the number 0. What is not assigned is left out.
"""
function each_field(visit, @nospecialize(x), seen::IdDict{Any,Nothing})
    ty = typeof(x)
    haskey(seen, x) && return
    if x isa Array
        seen[x] = nothing
        isbitstype(eltype(x)) && return
        for i in eachindex(x)
            isassigned(x, i) || continue
            is_one_type(eltype(x)) || visit(ty, 0, x[i])
            each_field(visit, x[i], seen)
        end
        return
    end
    isstructtype(ty) && !isbitstype(ty) && !(x isa Union{Type,Module,Method,Core.MethodInstance,Core.TypeName,Symbol,String,Core.SimpleVector}) || return
    seen[x] = nothing
    for i in 1:nfields(x)
        isdefined(x, i) || continue
        visit(ty, i, getfield(x, i))
        each_field(visit, getfield(x, i), seen)
    end
end

"Notes what is in the boxes that a closure holds, or one in it, also in arrays and objects."
note_object!(boxes::Boxes, @nospecialize(x)) = each_field(x, IdDict{Any,Nothing}()) do ty, i, part
    part isa Core.Box && i > 0 || return
    is_set = isdefined(part, :contents) && is_one_type(typeof(part.contents))
    is_set ? note_contents!(boxes, (ty, i), typeof(part.contents)) : forget!(boxes, (ty, i))
end

"Takes for granted what is in the boxes at a place. False if that is not so."
function note_contents!(boxes::Boxes, place, @nospecialize(ty))
    (place in boxes.unknown || place in boxes.failed) && return false
    get!(boxes.types, place, ty) === ty && return true
    forget!(boxes, place)
    return false
end

"Takes for granted that in the boxes of a struct is what is in those of another one with the same fields."
function note_same_boxes!(boxes::Boxes, @nospecialize(old), @nospecialize(new))
    for i in 1:fieldcount(old)
        fieldtype(old, i) === Core.Box && push!(get!(() -> Set{Place}(), boxes.into, (old, i)), (new, i))
        haskey(boxes.types, (old, i)) || continue
        note_contents!(boxes, (new, i), boxes.types[(old, i)])
        boxes.origins[(new, i)] = get(boxes.origins, (old, i), (old, i))
    end
end

# Nothing is taken for granted of boxes.
note_same_boxes!(::Nothing, @nospecialize(old), @nospecialize(new)) = nothing

"Lets nothing be known of what is in the boxes at a place."
function forget!(boxes::Boxes, place)
    if haskey(boxes.types, place)
        push!(boxes.failed, place, get(boxes.origins, place, place))
        boxes.wrong[] = true
        delete!(boxes.types, place)
    end
    push!(boxes.unknown, place)
    return nothing
end
