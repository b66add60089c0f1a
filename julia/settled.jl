# Variables that are assigned more than once, but not any more once a closure has captured them, as `x` in `x = reshape(x, 3, 3); sum(x[i, i] for i in 1:3)`.

"""
Reads the boxes that a function makes as what was put in last, where no closure that has one is there before all is put in, and none changes it: what is in the box is then
what was put in last, of whatever types it was before.
"""
function settle_boxes!(ir, mi::Core.MethodInstance, boxes::Boxes)
    rows = columns(ir)
    for i in 1:length(rows.stmts)
        rows.types[i] === Core.Box && makes_box(rows.stmts[i]) || continue
        stores = [j for (j, stmt) in enumerate(rows.stmts) if accesses(stmt, i) === :setfield!]
        length(rows.stmts[i].args) > 1 && pushfirst!(stores, i)
        length(stores) > 1 && !((mi, last(stores)) in boxes.changing) && holders_of(ir, rows, i) !== nothing || continue
        is_settled(ir, rows, i, stores) || continue
        push!(boxes.settled, (mi, last(stores)))
        settle!(ir, rows, i, stores)
    end
end

"Reads boxes that no closure has yet, and in which one thing was put before, as that: a default that is asked for before it is replaced."
function read_first_contents!(ir)
    rows, ways = columns(ir), with_exceptions(ir)
    for i in 1:length(rows.stmts)
        rows.types[i] === Core.Box && makes_box(rows.stmts[i]) || continue
        uses = [j for (j, stmt) in enumerate(rows.stmts) if any(x -> x === Core.SSAValue(i), operands_of(stmt))]
        reads = filter(j -> accesses(rows.stmts[j], i) in (:getfield, :isdefined), uses)
        changes = filter(j -> !(j in reads), length(rows.stmts[i].args) > 1 ? [i; uses] : uses)
        for j in reads
            before = filter(change -> may_come_before(ir, ways, change, j), changes)
            length(before) == 1 && comes_before(ir, before[1], j) || continue
            is_made = before[1] == i
            is_made || accesses(rows.stmts[before[1]], i) === :setfield! || continue
            stored = is_made ? rows.stmts[i].args[2] : rows.stmts[before[1]].args[4]
            rows.stmts[j] = accesses(rows.stmts[j], i) === :isdefined ? true : stored
            rows.types[j] = argument_type(ir, rows, rows.stmts[j])
        end
    end
end

"Makes a box where all is put in, and reads it as that."
function settle!(ir, rows::Columns, i::Int, stores::Vector{Int})
    stored = [j == i ? rows.stmts[i].args[2] : rows.stmts[j].args[4] for j in stores]
    for (j, stmt) in enumerate(rows.stmts)
        access = accesses(stmt, i)
        access in (:getfield, :isdefined) || continue
        rows.stmts[j] = access === :isdefined ? true : stored[findlast(store -> comes_before(ir, store, j), stores)]
        rows.types[j] = argument_type(ir, rows, rows.stmts[j])
    end
    for j in (i, stores...)
        rows.stmts[j], rows.types[j] = nothing, Nothing
    end
    final = last(stores)
    rows.stmts[final], rows.types[final] = Expr(:new, Core.Box, last(stored)), Core.Box
    for (j, stmt) in enumerate(rows.stmts)
        stmt isa Expr && any(x -> x === Core.SSAValue(i), stmt.args) || continue
        rows.stmts[j] = Expr(stmt.head, map(x -> x === Core.SSAValue(i) ? Core.SSAValue(final) : x, stmt.args)...)
    end
end

"Whether all that is put in a box is so one after the other, each on every way to the next, before any closure has the box, and what is read was put in on every way."
function is_settled(ir, rows::Columns, i::Int, stores::Vector{Int})
    all(k -> comes_before(ir, stores[k], stores[k+1]), 1:length(stores)-1) || return false
    made, final, ways = block_of(ir, i), block_of(ir, last(stores)), with_exceptions(ir)
    # Nothing is put in again in a box that is there already.
    made == final || !is_reached_again(ways, final, made) || return false
    for (j, stmt) in enumerate(rows.stmts)
        any(x -> x isa Core.SSAValue && x.id != i && x.id in stores, operands_of(stmt)) && return false
        any(x -> x === Core.SSAValue(i), operands_of(stmt)) && !(j in stores) || continue
        accesses(stmt, i) === nothing && (comes_before(ir, last(stores), j) ? continue : return false)
        k = findlast(store -> comes_before(ir, store, j), stores)
        k !== nothing && (k == length(stores) || !may_come_before(ir, ways, stores[k+1], j)) || return false
    end
    return true
end

block_of(ir, at::Int) = findfirst(block -> first(block.stmts) <= at <= last(block.stmts), ir.cfg.blocks)

"Whether a statement is on every way to another one."
function comes_before(ir, before::Int, after::Int)
    from, to = block_of(ir, before), block_of(ir, after)
    from == to && return before < after
    return from == 1 || !(to in reached(ir.cfg.blocks, 1, edge -> last(edge) == from))
end

"Whether a statement is on some way to another one, by these blocks."
function may_come_before(ir, ways, before::Int, after::Int)
    from, to = block_of(ir, before), block_of(ir, after)
    return from == to && before < after || any(next -> to in reached(ways, next), ways[from].succs)
end

"Whether control comes back to a block without going through another one, by these blocks."
function is_reached_again(ways, block::Int, without::Int)
    nexts = filter(next -> next != without, ways[block].succs)
    return any(next -> block in reached(ways, next, edge -> last(edge) == without), nexts)
end

"The blocks with their successors, to which the handlers belong in whose care they are: an exception may come from anywhere in there, but Julia's graph has an edge to the handler only where it is entered."
function with_exceptions(ir)
    ways = [(succs = copy(block.succs),) for block in ir.cfg.blocks]
    for (number, block) in enumerate(ir.cfg.blocks)
        handler = entered_handler(columns(ir).stmts[last(block.stmts)])
        handler in (nothing, 0) && continue
        for inside in blocks_in_care(ir, number, handler)
            handler in ways[inside].succs || push!(ways[inside].succs, handler)
        end
    end
    return ways
end

"The block of the handler that a statement enters, if it does."
entered_handler(@nospecialize(stmt)) = stmt isa EnterNode ? stmt.catch_dest : Meta.isexpr(stmt, :enter) ? stmt.args[1] : nothing

"The blocks in the care of a handler that a block enters, up to where it is left."
function blocks_in_care(ir, entering::Int, handler::Int)
    stmts, seen = columns(ir).stmts, Set{Pair{Int,Int}}()
    work = [next => 1 for next in ir.cfg.blocks[entering].succs if next != handler]
    while !isempty(work)
        state = pop!(work)
        state in seen && continue
        push!(seen, state)
        number, depth = state
        for stmt in stmts[first(ir.cfg.blocks[number].stmts):last(ir.cfg.blocks[number].stmts)]
            entered_handler(stmt) === nothing || (depth += 1)
            Meta.isexpr(stmt, :leave) && (depth -= stmt.args[1] isa Int ? stmt.args[1] : length(stmt.args))
            depth < 1 && break
        end
        depth < 1 || append!(work, [next => depth for next in ir.cfg.blocks[number].succs])
    end
    return unique(first(state) for state in seen)
end
