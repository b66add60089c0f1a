# Which method instances a dump calls that is to run away from this Julia.
#
# Julia compiles fewer instances of a method than there are types of arguments: what a vararg collects, and functions that are only passed on, may be of any
# type in them. What is invoked there is known only when it runs. Where a call says of which types its arguments are, a dump has the instance for these.

"So many instances of a method are made, at most: one that calls itself with ever longer tuples has no end of them."
const MOST_INSTANCES = 64

"Lets invokes call the instances for the types of their arguments."
function sharpen_invokes!(ir, made::IdDict{Any,Int})
    rows = columns(ir)
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        Meta.isexpr(stmt, :invoke) && rows.types[i] !== Union{} || continue
        mi = instance_of(stmt.args[1])
        mi === nothing && continue
        sharper = sharpened(mi, Any[argument_type(ir, rows, arg) for arg in stmt.args[3:end]], made)
        sharper === mi || (rows.stmts[i] = Expr(:invoke, sharper, stmt.args[2:end]...))
    end
    return nothing
end

"The instance of the same method for arguments of these types, if they say more than its own."
function sharpened(mi::Core.MethodInstance, types::Vector{Any}, made::IdDict{Any,Int})
    method, sig = mi.def, Base.unwrap_unionall(mi.specTypes)
    method isa Method && sig isa DataType && all(is_one_type, types) || return mi
    sharp = Tuple{sig.parameters[1],types...}
    sharp <: mi.specTypes && !(mi.specTypes <: sharp) || return mi
    is_wide(sig, length(types)) || return mi
    get(made, method, 0) < MOST_INSTANCES || return mi
    # Inlining has chosen the method, which need not be the one that a call of these types dispatches to.
    dispatched_method(sharp) === method || return mi
    sharper = instance_of_method(method, sharp)
    inferred_code(sharper) === nothing && return mi
    made[method] = get(made, method, 0) + 1
    return sharper
end

"Whether a signature leaves open of which types so many arguments are."
function is_wide(sig::DataType, count::Int)
    parameters = sig.parameters[2:end]
    length(parameters) == count || return true
    return any(p -> p isa Core.TypeofBottom || Base.isvarargtype(p) || !is_one_type(p), parameters)
end

"Whether a value of the type has no other, more exact type."
is_one_type(@nospecialize(ty)) = isconcretetype(ty) || (ty isa DataType && ty.name === Type.body.name && !(ty.parameters[1] isa TypeVar))

function argument_type(ir, rows::Columns, @nospecialize(x))
    ty = operand_type(ir, rows, x)
    ty isa CC.Const && return Core.Typeof(ty.val)
    x isa Union{Core.SSAValue,Argument} || return Core.Typeof(known_object(x))
    return CC.widenconst(ty)
end
