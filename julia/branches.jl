# What branches say of the types of values. Julia's compiler gives the value behind a branch a name and a type of its own, if it knows of which types it may be; where that
# shows only here, it has not done so.

"The code with names for values where a branch has told their types; `nothing` if there is none that may show more."
function with_narrowed_values(ir)
    rows, found = columns(ir), false
    for (number, block) in enumerate(ir.cfg.blocks)
        at = last(block.stmts)
        1 <= at <= length(rows.stmts) && rows.stmts[at] isa GotoIfNot || continue
        asked = asked_type(rows, rows.stmts[at].cond)
        asked === nothing && continue
        value, of = asked
        members = Base.uniontypes(argument_type(ir, rows, value))
        length(members) > 1 && all(is_one_type, members) || continue
        for (holds, to) in ((true, number + 1), (false, rows.stmts[at].dest))
            narrow = Union{filter(member -> (member <: of) === holds, members)...}
            narrow === Union{} && continue
            found |= name_behind!(ir, rows, value, narrow, number, to)
        end
    end
    return found ? CC.compact!(ir) : nothing
end

"What is left of a type behind the branch that gave a value a name, if that is right before it; `Union{}` otherwise."
function type_behind_branch(ir, rows::Columns, pi::Core.PiNode, @nospecialize(ty))
    number = findfirst(block -> any(i -> rows.stmts[i] === pi, first(block.stmts):min(last(block.stmts), length(rows.stmts))), ir.cfg.blocks)
    number === nothing && return Union{}
    preds = ir.cfg.blocks[number].preds
    length(preds) == 1 && 1 <= first(preds) || return Union{}
    branch = rows.stmts[last(ir.cfg.blocks[first(preds)].stmts)]
    asked = branch isa GotoIfNot ? asked_type(rows, branch.cond) : nothing
    asked !== nothing && asked[1] === pi.val || return Union{}
    holds = number == first(preds) + 1
    return Union{filter(member -> (member <: asked[2]) === holds, Base.uniontypes(ty))...}
end

"The value that a condition asks for its type, with that type."
function asked_type(rows::Columns, @nospecialize(condition))
    condition isa Core.SSAValue || return nothing
    asks = rows.stmts[condition.id]
    Meta.isexpr(asks, :call) && length(asks.args) == 3 && asks.args[2] isa Core.SSAValue || return nothing
    asks.args[3] isa GlobalRef && !is_fixed(asks.args[3]) && return nothing
    name, of = builtin_name(asks.args[1]), known_object(asks.args[3])
    name === :isa && of isa Type && return asks.args[2], of
    return name === :(===) && Base.issingletontype(typeof(of)) ? (asks.args[2], typeof(of)) : nothing
end

"Gives a value a name and a type behind an edge, for the uses there that may say more then. Whether there are any."
function name_behind!(ir, rows::Columns, value::Core.SSAValue, @nospecialize(narrow), from::Int, to::Int)
    behind = blocks_behind(ir, from, to)
    to in behind || return false
    stmts_of(number) = ir.cfg.blocks[number].stmts
    uses = [i for number in behind for i in first(stmts_of(number)):last(stmts_of(number)) if is_narrowed_use(rows, i, value)]
    phis = [i for i in 1:length(rows.stmts) if is_narrowed_phi(rows, i, value, behind)]
    isempty(uses) && isempty(phis) && return false
    at = findfirst(i -> !(rows.stmts[i] isa Core.PhiNode), first(stmts_of(to)):last(stmts_of(to)))
    named = insert_before!(ir, first(stmts_of(to)) + something(at, 1) - 1, Core.PiNode(value, narrow), narrow)
    renamed(@nospecialize(x)) = x === value ? named : x
    for i in uses
        stmt = rows.stmts[i]
        rows.stmts[i] = stmt isa ReturnNode ? ReturnNode(named) : Expr(stmt.head, map(renamed, stmt.args)...)
    end
    for i in phis
        phi = Core.PhiNode(copy(rows.stmts[i].edges), copy(rows.stmts[i].values))
        foreach(entry -> phi.values[entry] = named, narrowed_entries(phi, value, behind))
        rows.stmts[i] = phi
    end
    return true
end

"The entries of a φ that take a value from blocks behind a branch."
narrowed_entries(phi::Core.PhiNode, value::Core.SSAValue, behind::BitSet) =
    [i for i in 1:length(phi.values) if isassigned(phi.values, i) && phi.values[i] === value && phi.edges[i] in behind]

is_narrowed_phi(rows::Columns, i::Int, value::Core.SSAValue, behind::BitSet) =
    rows.stmts[i] isa Core.PhiNode && is_open(rows.types[i]) && !isempty(narrowed_entries(rows.stmts[i], value, behind))

is_narrowed_use(rows::Columns, i::Int, value::Core.SSAValue) = (stmt = rows.stmts[i];
    stmt isa ReturnNode ? isdefined(stmt, :val) && stmt.val === value :
    stmt isa Expr && stmt.head in (:call, :invoke, :new) && is_open(rows.types[i]) && any(x -> x === value, stmt.args))

"The blocks that control gets to only along an edge, which is one of two from its block."
function blocks_behind(ir, from::Int, to::Int)
    blocks = ir.cfg.blocks
    # Both ways may lead to the same block.
    count(==(to), blocks[from].succs) == 1 || return BitSet()
    return setdiff(reached(blocks, to), reached(blocks, 1, ==(from => to)))
end

"The blocks that control gets to from one, which is among them, without going along some edges."
function reached(blocks, start::Int, is_left_out = edge -> false)
    seen, work = BitSet(), [start]
    while !isempty(work)
        number = pop!(work)
        number in seen && continue
        push!(seen, number)
        append!(work, filter(next -> !is_left_out(number => next), blocks[number].succs))
    end
    return seen
end

"The blocks that control gets to, as far as branches ask what is known."
live_blocks(ir, rows::Columns) = reached(ir.cfg.blocks, 1, edge -> is_never_gone(ir, rows, edge))

function is_never_gone(ir, rows::Columns, (from, to))
    at = last(ir.cfg.blocks[from].stmts)
    1 <= at <= length(rows.stmts) && rows.stmts[at] isa GotoIfNot || return false
    decided, dest = decided_condition(ir, rows, rows.stmts[at].cond), rows.stmts[at].dest
    return decided !== nothing && dest != from + 1 && to == (decided ? dest : from + 1)
end

"Puts a statement before the one at a position, or behind it, once the code is compacted; gives what names it."
insert_before!(ir, at::Int, @nospecialize(stmt), @nospecialize(ty); after::Bool = false) =
    OLD_COLUMNS ? CC.insert_node!(ir, at, ty, stmt, after) : CC.insert_node!(ir, at, CC.NewInstruction(stmt, ty), after)

"Takes away the ways that control never goes, as a branch asks what is known: their edges, what stands in blocks that nothing reaches any more, and what φs take from these."
function leave_dead_ways_out!(ir)
    rows, blocks, found = columns(ir), ir.cfg.blocks, false
    for (number, block) in enumerate(blocks)
        at = last(block.stmts)
        1 <= at <= length(rows.stmts) && rows.stmts[at] isa GotoIfNot || continue
        decided, dest = decided_condition(ir, rows, rows.stmts[at].cond), rows.stmts[at].dest
        (decided === nothing || dest == number + 1) && continue
        rows.stmts[at] = decided ? nothing : Core.GotoNode(dest)
        leave_edge_out!(blocks, number, decided ? dest : number + 1)
        found = true
    end
    found || return
    live = reached(blocks, 1)
    for number in setdiff(1:length(blocks), live)
        foreach(next -> leave_edge_out!(blocks, number, next), copy(blocks[number].succs))
        for i in first(blocks[number].stmts):last(blocks[number].stmts)
            rows.stmts[i], rows.types[i] = i == last(blocks[number].stmts) ? ReturnNode() : nothing, Any
        end
    end
    for number in live, i in first(blocks[number].stmts):last(blocks[number].stmts)
        phi = rows.stmts[i]
        phi isa Core.PhiNode || continue
        kept = [k for (k, edge) in enumerate(phi.edges) if edge in blocks[number].preds]
        length(kept) < length(phi.edges) || continue
        # A value that was not assigned stays so.
        values = Vector{Any}(undef, length(kept))
        foreach(j -> isassigned(phi.values, kept[j]) && (values[j] = phi.values[kept[j]]), 1:length(kept))
        phi = rows.stmts[i] = Core.PhiNode(phi.edges[kept], values)
        parts = argument_types(ir, rows, assigned_values(phi))
        isempty(parts) || (rows.types[i] = typeintersect(CC.widenconst(rows.types[i]), Union{parts...}))
    end
    # What φs take now may decide others.
    leave_dead_ways_out!(ir)
end

function leave_edge_out!(blocks, from::Int, to::Int)
    filter!(!=(to), blocks[from].succs)
    filter!(!=(from), blocks[to].preds)
end

"Whether a condition holds, where that is known; `nothing` if it is not."
function decided_condition(ir, rows::Columns, @nospecialize(condition))
    known = known_operand(rows, condition)
    known === nothing || return known.value isa Bool ? known.value : nothing
    asks = condition isa Core.SSAValue ? rows.stmts[condition.id] : nothing
    Meta.isexpr(asks, :call) || return nothing
    name, args = builtin_name(asks.args[1]), [known_operand(rows, x) for x in asks.args[2:end]]
    asks_for_nothing = name === nothing && known_object(asks.args[1]) === isnothing && length(args) == 1
    asks_for_nothing && push!(args, Some(nothing))
    length(args) == 2 || return nothing
    if name === :(===) || asks_for_nothing
        any(isnothing, args) || return args[1].value === args[2].value
        # Values of other types are others.
        types = argument_types(ir, rows, asks_for_nothing ? [asks.args[2], nothing] : asks.args[2:end])
        return typeintersect(types...) === Union{} ? false : nothing
    end
    any(isnothing, args) && return nothing
    return name === :isa && args[2].value isa Type ? args[1].value isa args[2].value : nothing
end

"What an operand always is, in a `Some`; `nothing` if that is not known."
function known_operand(rows::Columns, @nospecialize(x))
    # In code that is never reached φs may take each other.
    for _ in 1:length(rows.stmts)
        x isa Core.SSAValue || x isa Core.PhiNode && length(x.values) == 1 && isassigned(x.values, 1) || break
        x = x isa Core.SSAValue ? rows.stmts[x.id] : x.values[1]
    end
    x isa Core.SSAValue && return nothing
    x isa Union{Expr,Core.PhiNode,Core.PiNode,Core.PhiCNode,Core.UpsilonNode,GotoIfNot,ReturnNode,Argument} && return nothing
    x isa GlobalRef && !is_fixed(x) && return nothing
    return Some(known_object(x))
end
