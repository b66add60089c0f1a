# Values in dumps that are to run away from this Julia: what is made of numbers is written as it is made, whatever it is called and however it is shown.

const MachineNumber = Union{Bool,Base.BitInteger,Base.IEEEFloat}

"Elements of an array that is written by its value, at most."
const LARGEST_ARRAY = 1 << 16

"Whether a global is there and stays what it is: a constant. Those of programs that are none a dump has as they are when it is written."
is_fixed(x::GlobalRef) = isdefined(x.mod, x.name) && (isconst(x.mod, x.name) || is_of_program(x))

"The packages that come with Julia."
const STANDARD_LIBRARY = Set{Symbol}(isdir(Sys.STDLIB) ? Symbol.(readdir(Sys.STDLIB)) : Symbol[])

"Whether a global, or a module, is none of Julia's own, which are buffers, or know of the machine and of what is loaded."
is_of_program(x::GlobalRef) = is_of_program(global_module(x))
function is_of_program(m::Module)
    root = first(fullname(m))
    return !(root in (:Base, :Core) || root in STANDARD_LIBRARY)
end

"Whether a global is one that is written by its value, and not by its name: a number, a type, a text, or what is made of numbers; a function that has another name."
function is_value(x::GlobalRef)
    is_fixed(x) || return false
    value = getfield(x.mod, x.name)
    value isa Function && is_global_function(value) && return !isconst(x.mod, x.name)
    return is_value(value) || is_of_program(x) && is_simple(value)
end

"Whether something is an array of numbers, which a dump has by its elements. Larger ones it names only."
function is_number_array(@nospecialize(x))
    x isa Array && ndims(x) > 0 && length(x) <= LARGEST_ARRAY || return false
    element = eltype(x)
    return isconcretetype(element) && (element <: MachineNumber || element === Char && all(isvalid, x))
end

function is_value(@nospecialize(x))
    x isa Union{MachineNumber,Type} && return true
    x isa Union{Tuple,NamedTuple} && return 0 < length(x) <= LONGEST && all(is_value, x)
    return is_made_of_fields(x)
end

"""
Whether an object is one of an immutable struct that holds its fields itself, or of a primitive type of the program's own. Functions are known by their
names, if those are of their types.
"""
function is_made_of_fields(@nospecialize(x))
    ty = typeof(x)
    x isa Union{Type,Tuple,NamedTuple,Char,Nothing,Core.IntrinsicFunction,Core.Builtin} && return false
    x isa Function && is_global_function(x) && return false
    return is_plain_number(ty) || isbitstype(ty) && isstructtype(ty)
end

"The text of a call of the type with the fields, of which bbkit makes such an object."
function value_text(@nospecialize(x))
    x isa Tuple && return string("(", join(map(value_text, x), ", "), length(x) == 1 ? ",)" : ")")
    is_made_of_fields(x) || return object_text(x)
    ty = typeof(x)
    fields = is_plain_number(ty) ? Any[reinterpret(number_type(ty), x)] : Any[getfield(x, i) for i in 1:fieldcount(ty)]
    return string(type_text(ty), "(", join(map(value_text, fields), ", "), ")")
end

"Whether a type is a primitive type of which bbkit knows nothing, as those of enums: a dump has a struct of one number in its place."
is_plain_number(@nospecialize(ty)) =
    ty isa DataType && isconcretetype(ty) && isprimitivetype(ty) && sizeof(ty) in (1, 2, 4, 8) &&
    !(ty <: Union{MachineNumber,Char,Ptr,Core.IntrinsicFunction})

"The type of the number that stands for values of such a type."
number_type(@nospecialize(ty)) =
    ty <: Base.Enums.Enum ? Base.Enums.basetype(ty) : (UInt8, UInt16, UInt32, UInt64)[trailing_zeros(sizeof(ty))+1]

"The fields of the struct that a dump declares for a type, with their types."
declared_fields(@nospecialize(ty)) =
    is_plain_number(ty) ? [(:bits, number_type(ty))] : [(fieldname(ty, i), fieldtype(ty, i)) for i in 1:fieldcount(ty)]

"Lets code take the number out of such a struct, or make one, where it reads the bits of a primitive type of the program's own."
function use_plain_numbers!(ir)
    rows = columns(ir)
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        Meta.isexpr(stmt, :call, 3) && known_object(stmt.args[1]) === Core.Intrinsics.bitcast || continue
        to, from = known_object(stmt.args[2]), CC.widenconst(operand_type(ir, rows, stmt.args[3]))
        if is_plain_number(to) && from === number_type(to)
            rows.stmts[i] = Expr(:new, to, stmt.args[3])
        elseif is_plain_number(from) && to === number_type(from)
            rows.stmts[i] = Expr(:call, GlobalRef(Core, :getfield), stmt.args[3], 1)
        end
    end
    return nothing
end

"What an operand names or is, if that is known; `nothing` otherwise."
known_object(@nospecialize(x)) =
    x isa GlobalRef ? (is_fixed(x) ? getfield(x.mod, x.name) : nothing) :
    x isa QuoteNode ? x.value : x

function operand_type(ir, rows::Columns, @nospecialize(x))
    x isa Core.SSAValue && return rows.types[x.id]
    x isa Argument && return ir.argtypes[x.n]
    return typeof(known_object(x))
end

"""
Writes powers of values whose type Julia does not know as products or by `^`, negative ones by `negative_power`: `x^2` calls a method with the exponent as a parameter of a
type, which is chosen when it runs.
"""
function use_plain_powers!(ir)
    rows = columns(ir)
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        Meta.isexpr(stmt, :call) && length(stmt.args) == 4 || continue
        x, (f, power, exponent) = stmt.args[3], map(known_object, stmt.args[[1, 2, 4]])
        f === Base.literal_pow && power === (^) && exponent isa Val || continue
        n = typeof(exponent).parameters[1]
        n isa Int || continue
        rows.stmts[i] = n in (2, 3) ? Expr(:call, GlobalRef(Base, :*), fill(x, n)...) :
            Expr(:call, n < 0 ? GlobalRef(Portable.OfBase, :negative_power) : GlobalRef(Base, :^), x, n)
    end
    return nothing
end

"The code in which a sum of many terms, or a product, of which Julia does not know all types, is made of two at a time."
function with_terms_one_by_one(ir)
    rows, found = columns(ir), false
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        Meta.isexpr(stmt, :call) && known_object(stmt.args[1]) === Base.afoldl && length(stmt.args) > 3 || continue
        op, value = stmt.args[2], stmt.args[3]
        for term in stmt.args[4:end-1]
            value = insert_before!(ir, i, Expr(:call, op, value, term), Any)
        end
        rows.stmts[i] = Expr(:call, op, value, stmt.args[end])
        found = true
    end
    return found ? CC.compact!(ir) : ir
end

"""
Where the exponential of a complex number is inlined, lets only numbers of which it is infinite take Julia's short cut for reals: the other way gives the same, and has a
derivative for the imaginary part.
"""
function use_whole_exponentials!(ir)
    rows, table = columns(ir), linetable(ir)
    exponential = nothing
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        is_inlined(table, rows.lines[i][1], "exp", "complex.jl") || continue
        mi = Meta.isexpr(stmt, :invoke) ? instance_of(stmt.args[1]) : nothing
        if mi !== nothing && mi.def isa Method && mi.def.name === :exp && rows.types[i] === Float64
            exponential = Core.SSAValue(i)
        elseif exponential !== nothing && Meta.isexpr(stmt, :call) && known_object(stmt.args[1]) === Core.Intrinsics.eq_float && stmt.args[3] === 0.0
            rows.stmts[i] = Expr(:call, GlobalRef(Portable.OfBase, :is_real_and_infinite), stmt.args[2], exponential)
            exponential = nothing
        end
    end
    return nothing
end

"The method and the file of `sinc`."
const SINC = ("sinc", "special/trig.jl")

"""
The code in which `sinc`, where it is inlined, gives at zero what the function that stands for it gives there, which has the second derivative, too: the library's is a
constant.
"""
function with_sinc_at_zero(ir)
    rows, table, found = columns(ir), linetable(ir), false
    for i in 1:length(rows.stmts)
        phi = rows.stmts[i]
        phi isa Core.PhiNode && rows.types[i] in (Float32, Float64, ComplexF32, ComplexF64) || continue
        for value in assigned_values(phi)
            x = value isa Core.SSAValue ? argument_of_sinc(rows, table, value.id) : nothing
            x === nothing && continue
            for k in 1:length(phi.values)
                isassigned(phi.values, k) && known_object(phi.values[k]) === one(rows.types[i]) || continue
                at = last(ir.cfg.blocks[phi.edges[k]].stmts)
                is_inlined(table, rows.lines[at][1], SINC...) || continue
                phi.values[k] = insert_before!(ir, at, Expr(:call, GlobalRef(Portable.Math, :sinc), x), rows.types[i])
                found = true
            end
        end
    end
    return found ? CC.compact!(ir) : ir
end

"What `sinc` is of, if this statement is the quotient that an inlined one gives; else `nothing`."
function argument_of_sinc(rows::Columns, table, i)
    quotient = rows.stmts[i]
    (Meta.isexpr(quotient, :call) || Meta.isexpr(quotient, :invoke)) && is_inlined(table, rows.lines[i][1], SINC...) || return nothing
    sine = quotient.args[end-1]
    sine isa Core.SSAValue && Meta.isexpr(rows.stmts[sine.id], :invoke) || return nothing
    mi = instance_of(rows.stmts[sine.id].args[1])
    return mi !== nothing && mi.def isa Method && mi.def.name === :sinpi ? rows.stmts[sine.id].args[end] : nothing
end

"Whether a line is one of a method of this name and file, or of what is inlined there."
function is_inlined(table, row, method, file)
    while 1 <= row <= length(table)
        table[row].method == method && table[row].file == file && return true
        row = table[row].inlined_at
    end
    return false
end

"""
A call with the elements of arrays or tuples, or of what is iterated, as a call of a function that is there for that, where the type of what is called says what such a call does: the
number of its arguments is known only when it runs. `nothing` if there is no such function.
"""
function splat_call(ir, rows::Columns, stmt::Expr)
    f, parts = splatted(stmt)
    F, types = argument_type(ir, rows, f), argument_types(ir, rows, parts)
    concatenation = concatenation_of_all(rows, F, parts, types)
    concatenation === nothing || return concatenation
    # Tuples whose elements may be of several types are tuples of several types, of which the run chooses.
    is_of_tuples(@nospecialize(ty)) = all(member -> member <: Tuple && isconcretetype(member), Base.uniontypes(type_told_apart(ty)))
    is_of_several = !all(isconcretetype, types) && all(is_of_tuples, types) && !(F <: Core.Builtin)
    found = is_of_several ? (Portable.call_with, ()) : Portable.splat_call(dispatched_method, F, types)
    found === nothing && return nothing
    called, before = found
    return Expr(:call, GlobalRef(Portable, nameof(called)), named_as_type(f), before..., parts...)
end

"The call that puts the arrays of a vector behind one another, `cat(parts...; dims = d)`, along a dimension that is known."
function concatenation_of_all(rows::Columns, @nospecialize(F), parts, types)
    F isa DataType && nameof(F) === Symbol("#cat##kw") && length(parts) == 2 || return nothing
    known = known_operand(rows, parts[1])
    known !== nothing && known.value isa Tuple{NamedTuple{(:dims,),Tuple{Int}},typeof(cat)} || return nothing
    along = Val(known.value[1].dims)
    hasmethod(Portable.concatenated_all, Tuple{typeof(along),types[2]}) || return nothing
    return Expr(:call, GlobalRef(Portable, :concatenated_all), along, parts[2])
end

"Whether a function is one that Base exports, by the name that its type has."
is_of_base(f::Function) = is_global_function(f) && Base.isexported(Base, nameof(f)) && getfield(Base, nameof(f)) === f

"A function by the name that its type has, whatever the module where it stands calls it."
function named_as_type(@nospecialize(x))
    f = x isa GlobalRef ? known_object(x) : nothing
    return f isa Function && is_of_base(f) ? GlobalRef(Base, nameof(f)) : x
end

"What a call with elements calls, and the values whose elements these are."
function splatted(stmt::Expr)
    first = nameof(known_object(stmt.args[1])) === :_apply ? 2 : 3
    return stmt.args[first], stmt.args[first+1:end]
end

is_splat(@nospecialize(f)) = f isa Core.Builtin && nameof(f) in (:_apply, :_apply_iterate)
