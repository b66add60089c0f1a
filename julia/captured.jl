# Types that closures capture, as `T = eltype(x)` in `sum(T(i) for i in 1:n)`: Julia's closure says only that it holds a type, so that nothing is known of what is made with it.

"""
Gives closures that hold a type in a field for any type one for the type that it is, and calls the instances for these. A closure stays what it is if others may see of which type it is.
Whether there was one.
"""
function specialize_captured_types!(ir, instances::Instances)
    rows, found = columns(ir), false
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        Meta.isexpr(stmt, :new) || continue
        holds = known_object(stmt.args[1])
        ty = holds isa DataType && DataType in holds.parameters ? retyped_struct(holds, argument_types(ir, rows, stmt.args[2:end])) : nothing
        (ty === nothing || ty === holds) && continue
        note_same_boxes!(instances.boxes, holds, ty)
        found |= or_as_before(rows) do
            rows.stmts[i], rows.types[i] = Expr(:new, ty, stmt.args[2:end]...), ty
            retype_uses!(ir, rows, i, false, instances)
        end
    end
    return found
end
