# Logging: a dump has none of it. What is logged is told to whoever runs the program in Julia, and is no part of what a function gives.

"Lets code find, where it asks, that nobody is to be told: what it would log is not made then."
function leave_logging_out!(ir)
    rows = columns(ir)
    for i in 1:length(rows.stmts)
        # What is asked first is from which level on anything is logged at all.
        stmt = rows.stmts[i]
        of = Meta.isexpr(stmt, :call) && builtin_name(stmt.args[1]) === :getfield ? stmt.args[2] : nothing
        if of isa Core.SSAValue && rows.stmts[of.id] == GlobalRef(Base.CoreLogging, :_min_enabled_level)
            rows.stmts[i] = QuoteNode(Base.CoreLogging.AboveMaxLevel)
        end
        mi = Meta.isexpr(rows.stmts[i], :invoke) ? instance_of(rows.stmts[i].args[1]) : nothing
        mi !== nothing && mi.def isa Method && mi.def.name === :current_logger_for_env || continue
        rows.stmts[i], rows.types[i] = nothing, Nothing
        asked = findfirst(stmt -> Meta.isexpr(stmt, :call) && builtin_name(stmt.args[1]) === :(===) && stmt.args[2] === Core.SSAValue(i), rows.stmts)
        asked === nothing && continue
        rows.stmts[asked] = true
        for (j, stmt) in enumerate(rows.stmts)
            negates = Meta.isexpr(stmt, :call) && known_object(stmt.args[1]) === Core.Intrinsics.not_int && stmt.args[2] === Core.SSAValue(asked)
            negates && (rows.stmts[j] = false)
        end
    end
end
