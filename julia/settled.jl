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
    rows = columns(ir)
    for i in 1:length(rows.stmts)
        rows.types[i] === Core.Box && makes_box(rows.stmts[i]) || continue
        uses = [j for (j, stmt) in enumerate(rows.stmts) if any(x -> x === Core.SSAValue(i), operands_of(stmt))]
        reads = filter(j -> accesses(rows.stmts[j], i) in (:getfield, :isdefined), uses)
        changes = filter(j -> !(j in reads), length(rows.stmts[i].args) > 1 ? [i; uses] : uses)
        for j in reads
            before = filter(change -> may_come_before(ir, change, j), changes)
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
    made, final = block_of(ir, i), block_of(ir, last(stores))
    # Nothing is put in again in a box that is there already.
    made == final || !is_reached_again(ir, final, made) || return false
    for (j, stmt) in enumerate(rows.stmts)
        any(x -> x isa Core.SSAValue && x.id != i && x.id in stores, operands_of(stmt)) && return false
        any(x -> x === Core.SSAValue(i), operands_of(stmt)) && !(j in stores) || continue
        accesses(stmt, i) === nothing && (comes_before(ir, last(stores), j) ? continue : return false)
        k = findlast(store -> comes_before(ir, store, j), stores)
        k !== nothing && (k == length(stores) || !may_come_before(ir, stores[k+1], j)) || return false
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

"Whether a statement is on some way to another one."
function may_come_before(ir, before::Int, after::Int)
    from, to = block_of(ir, before), block_of(ir, after)
    return from == to && before < after || any(next -> to in reached(ir.cfg.blocks, next), ir.cfg.blocks[from].succs)
end

"Whether control comes back to a block without going through another one."
function is_reached_again(ir, block::Int, without::Int)
    nexts = filter(next -> next != without, ir.cfg.blocks[block].succs)
    return any(next -> block in reached(ir.cfg.blocks, next, edge -> last(edge) == without), nexts)
end
