# `Base.invokelatest`: methods do not change while a dump is run, so that the latest is the one that is called.

"Writes calls of the latest method as calls."
function call_at_once!(ir)
    rows = columns(ir)
    for (i, stmt) in enumerate(rows.stmts)
        Meta.isexpr(stmt, :call) || continue
        f, args = known_operand(rows, stmt.args[1]), stmt.args[2:end]
        name = f !== nothing && f.value isa Core.Builtin ? nameof(f.value) : nothing
        if name === :_call_latest || name === :_apply_latest && length(args) == 1
            rows.stmts[i] = Expr(:call, args...)
        elseif name === :_apply_latest
            rows.stmts[i] = Expr(:call, GlobalRef(Core, :_apply_iterate), GlobalRef(Base, :iterate), args...)
        end
    end
end
