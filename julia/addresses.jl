# Objects that are read and written by their addresses, as the mutable vectors of StaticArrays, whose elements lie in a tuple: nothing but Julia knows addresses.

"Reads and writes elements of the tuple in an object where code does so by the object's address."
function use_plain_elements!(ir)
    rows, found = columns(ir), false
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        f = Meta.isexpr(stmt, :call) ? known_object(stmt.args[1]) : nothing
        if f === Core.Intrinsics.pointerref && length(stmt.args) == 4
            object = object_at(ir, rows, stmt.args[2])
            object === nothing && continue
            rows.stmts[i] = Expr(:call, GlobalRef(Portable, :element_of), object, stmt.args[3])
            found = true
        elseif f === Core.Intrinsics.pointerset && length(stmt.args) == 5
            object = object_at(ir, rows, stmt.args[2])
            # What writing gives is the address.
            (object === nothing || is_used(rows, i)) && continue
            rows.stmts[i], rows.types[i] = Expr(:call, GlobalRef(Portable, :set_element_of!), object, stmt.args[3:4]...), Nothing
            found = true
        end
    end
    found || return
    # From the last to the first, so that what an address was used for is gone before it.
    for i in reverse(1:length(rows.stmts))
        is_address(rows.stmts[i]) && !is_used(rows, i) && (rows.stmts[i] = nothing; rows.types[i] = Nothing)
    end
end

is_used(rows::Columns, i::Int) =
    any(stmt -> stmt isa GotoIfNot ? stmt.cond === Core.SSAValue(i) : any(x -> x === Core.SSAValue(i), operands_of(stmt)), rows.stmts)
is_object_address(@nospecialize(stmt)) = Meta.isexpr(stmt, :foreigncall) && stmt.args[1] == QuoteNode(:jl_value_ptr)
is_cast(@nospecialize(stmt)) = Meta.isexpr(stmt, :call) && known_object(stmt.args[1]) === Core.Intrinsics.bitcast
is_address(@nospecialize(stmt)) = is_object_address(stmt) || is_cast(stmt)

"The object at an address of elements, if it starts with a tuple of such; `nothing` otherwise."
function object_at(ir, rows::Columns, @nospecialize(address))
    element = address isa Core.SSAValue ? CC.widenconst(rows.types[address.id]) : nothing
    element isa DataType && element <: Ptr || return nothing
    while address isa Core.SSAValue && is_cast(rows.stmts[address.id])
        address = rows.stmts[address.id].args[3]
    end
    address isa Core.SSAValue && is_object_address(rows.stmts[address.id]) || return nothing
    object = rows.stmts[address.id].args[6]
    ty = argument_type(ir, rows, object)
    isconcretetype(ty) && fieldcount(ty) > 0 || return nothing
    elements = fieldtype(ty, 1)
    return elements <: NTuple{N,eltype(element)} where N && isbitstype(elements) ? object : nothing
end
