# Assertions of Julia's library: what they say when they fail is known in a dump.

"""
Lets an assertion that was written before Julia could print code say the text of its condition: it asks, when it fails, whether `Base` is there by now, and lets that
print the condition.
"""
function name_assertions!(ir)
    rows = columns(ir)
    calls(stmt) = Meta.isexpr(stmt, :call)
    stmt_of(x) = x isa Core.SSAValue ? rows.stmts[x.id] : x
    is_property(x, name) = (stmt = stmt_of(x); calls(stmt) && length(stmt.args) == 3 && known_object(stmt.args[1]) === getproperty && stmt.args[3] === QuoteNode(name))
    is_main(x) = x == GlobalRef(Base, :Main)
    for (i, stmt) in enumerate(rows.stmts)
        calls(stmt) && length(stmt.args) == 2 && is_property(stmt.args[1], :string) || continue
        from, condition = stmt_of(stmt.args[1]).args[2], stmt_of(stmt.args[2])
        is_property(from, :Base) && is_main(stmt_of(from).args[2]) && Meta.isexpr(condition, :copyast) || continue
        rows.stmts[i], rows.types[i] = string(condition.args[1].value), String
        for (j, asked) in enumerate(rows.stmts)
            asks = calls(asked) && length(asked.args) == 3 && builtin_name(asked.args[1]) === :isdefined && is_main(asked.args[2]) && asked.args[3] === QuoteNode(:Base)
            asks && (rows.stmts[j] = true)
        end
    end
end
