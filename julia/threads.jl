# Threads: a dump has one, and all rounds of `Threads.@threads` are run in it, one after the other, as Julia does where such a loop stands in another.

"What code asks the runtime about threads, and what it is told."
const ASKED_OF_THREADS = (jl_threadid = 0, jl_in_threaded_region = 1)

"Answers what code asks about threads, and takes away what is for more of them."
function leave_threads_out!(ir)
    rows, found = columns(ir), false
    leave_number_out!(rows)
    for (i, stmt) in enumerate(rows.stmts)
        name = Meta.isexpr(stmt, :foreigncall) ? known_object(stmt.args[1]) : nothing
        answer = name isa Symbol ? get(ASKED_OF_THREADS, name, nothing) : nothing
        answer === nothing && continue
        rows.stmts[i], found = convert(CC.widenconst(rows.types[i]), answer), true
    end
    found || return
    for (i, stmt) in enumerate(rows.stmts)
        Meta.isexpr(stmt, :call) || continue
        f, args = known_object(stmt.args[1]), [known_operand(rows, x) for x in stmt.args[2:end]]
        computes = f === (===) || f in (Core.Intrinsics.sext_int, Core.Intrinsics.add_int, Core.Intrinsics.not_int)
        computes && !any(isnothing, args) && (rows.stmts[i] = f((arg.value for arg in args)...))
    end
    leave_dead_ways_out!(ir)
end

"Reads that there is one thread where the number of them is read, which stands in a variable of the runtime."
function leave_number_out!(rows::Columns)
    calls(@nospecialize(stmt), intrinsic) = Meta.isexpr(stmt, :call) && known_object(stmt.args[1]) === intrinsic
    names_it(@nospecialize(x)) =
        x isa Core.SSAValue && calls(rows.stmts[x.id], Core.Intrinsics.cglobal) && known_object(rows.stmts[x.id].args[2]) === :jl_n_threads
    reads = findall(stmt -> calls(stmt, Core.Intrinsics.pointerref) && names_it(stmt.args[2]), rows.stmts)
    addresses = [rows.stmts[i].args[2].id for i in reads]
    rows.stmts[reads] .= Int32(1)
    for i in addresses
        rows.stmts[i], rows.types[i] = nothing, Nothing
    end
end
