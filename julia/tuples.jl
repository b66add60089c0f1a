# Tuples of which only the run knows how many elements they have, and functions that collect their arguments in such: `(x...,)`, `ntuple(f, n)`, `f(x...)`. In a dump they
# are open tuples (open_tuple.jl) as far as nobody sees the difference, so that it is known what is done with the elements.

is_open_tuple(@nospecialize(ty)) = ty isa DataType && ty <: Portable.OpenTuple && isconcretetype(ty)

"The type of the elements of tuples of a type that leaves open how many there are, but not of which type; `nothing` for other types."
function open_element(@nospecialize(ty))
    ty isa Type && ty <: Tuple && ty !== Union{} || return nothing
    open = filter(!isconcretetype, Base.uniontypes(ty))
    isempty(open) && return nothing
    element = eltype(first(open))
    return isconcretetype(element) && ty <: Tuple{Vararg{element}} ? element : nothing
end

"The code with open tuples in the place of tuples of unknown length; `nothing` if there are none, or others may see that."
function with_open_tuples(ir, instances::Instances)
    rows = columns(ir)
    elements = unique(filter(x -> x !== nothing, Any[open_element(argument_type(ir, rows, Core.SSAValue(i))) for i in 1:length(rows.types)]))
    found = nothing
    for element in elements
        opened = opened_code(something(found, ir), element, instances)
        opened === nothing || (found = opened)
    end
    return found
end

"""
The code with open tuples in the place of all tuples of unknown length with elements of a type, also of an argument, if one is given, and of the result, if that may be;
`nothing` if others may see that.
"""
function opened_code(ir, @nospecialize(element), instances::Instances, argument = nothing; gives::Bool = false)
    ir, open, failing = CC.copy(ir), Portable.OpenTuple{element}, count_failing(ir)
    argument === nothing || (ir.argtypes[argument] = open)
    open_what_comes_in!(ir, element, gives) || return nothing
    ir = CC.compact!(ir)
    rows = columns(ir)
    tuples = BitSet(i for i in 1:length(rows.stmts) if open_element(argument_type(ir, rows, Core.SSAValue(i))) === element)
    argument === nothing || push!(tuples, -argument)
    # Behind the question whether one is empty, too, it is an open tuple.
    union!(tuples, (i for i in 1:length(rows.stmts) if rows.stmts[i] isa Core.PiNode && rows.stmts[i].typ === Tuple{} && is_among(tuples, rows.stmts[i].val)))
    foreach(i -> i > 0 && (rows.types[i] = open), tuples)
    for i in filter(>(0), tuples)
        stmt = opening_statement(ir, rows, rows.stmts[i], element, instances)
        stmt === nothing && return nothing
        rows.stmts[i] = stmt
    end
    retype_uses!(ir, rows, tuples, gives, instances) || return nothing
    sharpen_calls!(ir, instances)
    return uses_are_known(ir, rows, instances) && count_failing(ir) == failing ? ir : nothing
end

"How many statements never give a value."
count_failing(ir) = count(==(Union{}), columns(ir).types)

"Makes open tuples of the tuples of known length that come into φs of tuples of unknown length, and of those that are returned, if the code gives such. Whether that was possible."
function open_what_comes_in!(ir, @nospecialize(element), gives::Bool)
    rows, known = columns(ir), Tuple{Vararg{element}}
    open(@nospecialize(x)) = Expr(:call, GlobalRef(Portable, :open_tuple), element, x)
    for i in 1:length(rows.stmts)
        stmt = rows.stmts[i]
        if stmt isa Core.PhiNode && open_element(argument_type(ir, rows, Core.SSAValue(i))) === element
            for (k, from) in enumerate(stmt.edges)
                isassigned(stmt.values, k) || return false
                x = stmt.values[k]
                ty = argument_type(ir, rows, x)
                (is_open_tuple(ty) || open_element(ty) === element && x isa Core.SSAValue) && continue
                ty <: known && open_element(ty) === nothing || return false
                stmt.values[k] = insert_at_end!(ir, rows, Int(from), open(x), Portable.OpenTuple{element})
            end
        elseif gives && stmt isa ReturnNode && isdefined(stmt, :val)
            ty = argument_type(ir, rows, stmt.val)
            (is_open_tuple(ty) || open_element(ty) === element) && continue
            ty <: known || return false
            rows.stmts[i] = ReturnNode(insert_before!(ir, i, open(stmt.val), Portable.OpenTuple{element}))
        end
    end
    return true
end

"Puts a statement at the end of a block, once the code is compacted; gives what names it."
function insert_at_end!(ir, rows::Columns, block::Int, @nospecialize(stmt), @nospecialize(ty))
    at = last(ir.cfg.blocks[block].stmts)
    ends = rows.stmts[at] isa Union{Core.GotoNode,GotoIfNot,ReturnNode,EnterNode} || Meta.isexpr(rows.stmts[at], (:enter, :leave))
    return insert_before!(ir, at, stmt, ty; after = !ends)
end

"The statement that gives an open tuple where one gives a tuple of unknown length; `nothing` if there is none."
function opening_statement(ir, rows::Columns, @nospecialize(stmt), @nospecialize(element), instances::Instances)
    open = Portable.OpenTuple{element}
    stmt isa Core.PhiNode && return all(x -> argument_type(ir, rows, x) === open, assigned_values(stmt)) ? stmt : nothing
    stmt isa Core.PiNode && return argument_type(ir, rows, stmt.val) === open ? Core.PiNode(stmt.val, open) : nothing
    Meta.isexpr(stmt, (:call, :invoke)) || return nothing
    call = Meta.isexpr(stmt, :invoke) ? stmt.args[2:end] : stmt.args
    f, types = known_object(call[1]), argument_types(ir, rows, call)
    if is_splat(f)
        of, parts = splatted(stmt)
        made_by = known_object(of) === tuple ? :open_tuple : reverses(known_object(of)) ? :reversed_tuple : nothing
        made_by === nothing && return open_call(ir, rows, stmt, instances; gives = open)
        has_elements(@nospecialize(ty)) = ty <: Tuple{Vararg{element}} || ty <: Portable.Elements && eltype(ty) === element
        all(has_elements, argument_types(ir, rows, parts)) || return nothing
        return Expr(:call, GlobalRef(Portable, made_by), element, parts...)
    elseif f isa Function && parentmodule(f) === Base && nameof(f) in (:ntuple, :_ntuple) && types[3:end] == Any[Int]
        return Expr(:call, GlobalRef(Portable, :open_tuple_of), element, call[2:3]...)
    end
    if any(is_open_tuple, types)
        settled = use_of_open_tuple(ir, rows, Expr(:call, call...), types[2:end], Any, instances)
        return settled !== nothing && settled[2] === open ? settled[1] : nothing
    end
    all(is_one_type, types) && length(types) <= Portable.MOST_BESIDE + 1 || return nothing
    mi = made_instance(Tuple{typeof(Portable.opened),types...}, instances)
    code = mi === nothing ? nothing : exported_code(mi, instances)
    return code !== nothing && code[2] === open ? Expr(:call, GlobalRef(Portable, :opened), call...) : nothing
end

"Whether a function gives its arguments from the last to the first."
reverses(@nospecialize(f)) = f isa Function && nameof(f) === :revargs && parentmodule(f) === Base

"An open tuple as the tuple of so many elements that code says that it is, with its type; `nothing` if it says something else."
function counted_tuple(@nospecialize(x), @nospecialize(open), @nospecialize(said))
    said isa DataType && said <: NTuple{N,eltype(open)} where {N} && isconcretetype(said) || return nothing
    return Expr(:call, GlobalRef(Portable, :counted), x, Val(fieldcount(said))), said
end

"`ntuple` of a count that is known, as the function that has it in its type."
function counted_ntuple(ir, rows::Columns, call)
    length(call) == 3 && known_object(call[1]) === ntuple && call[3] isa Int && 0 <= call[3] <= Portable.MOST_ARGUMENTS || return nothing
    is_one_type(argument_type(ir, rows, call[2])) || return nothing
    return Expr(:call, call[1:2]..., Val(call[3]))
end

"Whether of all calls with open tuples it is known what they call, and that this does with them what it does with tuples."
uses_are_known(ir, rows::Columns, instances::Instances) = all(1:length(rows.stmts)) do i
    stmt = rows.stmts[i]
    Meta.isexpr(stmt, (:call, :invoke)) || return true
    args = Meta.isexpr(stmt, :invoke) ? stmt.args[2:end] : stmt.args
    types = argument_types(ir, rows, args)
    any(has_open_tuple, types) || return true
    Meta.isexpr(stmt, :call) && return builtin_name(stmt.args[1]) in (:tuple, :typeof, :getfield) || inside_portable(stmt.args[1])
    rows.types[i] === Union{} || found_type(ir, rows, stmt, instances) !== Union{} || return false
    return is_called_alike(Tuple{types...}, IdDict{Any,Nothing}())
end
inside_portable(@nospecialize(f)) = f isa GlobalRef && f.mod === Portable

"What a call that uses an open tuple as a tuple is, with its type; `nothing` if that is not known."
function use_of_open_tuple(ir, rows::Columns, stmt::Expr, types, @nospecialize(old), instances::Instances)
    name = builtin_name(stmt.args[1])
    name === :tuple && return stmt, Tuple{types...}
    # The type of a closure is made of the types of what it captures.
    name === :typeof && return stmt, type_of_types(types[1])
    if name === :getfield && is_open_tuple(types[1]) && types[2] === Int
        stmt = Expr(:call, GlobalRef(Base, :getindex), stmt.args[2:3]...)
    elseif name === :typeassert
        return counted_tuple(stmt.args[2], types[1], known_object(stmt.args[3]))
    elseif name === :nfields
        stmt = Expr(:call, GlobalRef(Base, :length), stmt.args[2])
    elseif name === :isa && known_object(stmt.args[3]) === Tuple{}
        # As code asks before it looks at elements.
        stmt = Expr(:call, GlobalRef(Base, :isempty), stmt.args[2])
    elseif !(name === nothing || is_splat(known_object(stmt.args[1])))
        return nothing
    end
    for _ in 1:MOST_ROUNDS
        called = sharper_call(ir, rows, stmt, instances)
        called isa Expr || break
        stmt = called
    end
    Meta.isexpr(stmt, :invoke) || return nothing
    return stmt, old === Union{} ? old : found_type(ir, rows, stmt, instances)
end

"""
The call of a function that collects its arguments, with the elements of arrays and tuples: which method it is, is known if it is that for any number of arguments. `nothing` if that
is not so, or if the function gives an open tuple and that is not of the type `gives`.
"""
function open_call(ir, rows::Columns, stmt::Expr, instances::Instances; gives = nothing)
    f, parts = splatted(stmt)
    F, types = argument_type(ir, rows, f), argument_types(ir, rows, parts)
    is_one_type(F) && !(F <: Core.Builtin) && all(isconcretetype, types) && !isempty(types) || return nothing
    before = first(types) <: Tuple ? Any[fieldtypes(first(types))...] : Any[]
    element = Portable.element_type(first(types) <: Tuple ? types[2:end] : types)
    element === nothing && return nothing
    method = collecting_method(F, before, element)
    method === nothing && return nothing
    count = Int(method.nargs) - 2
    count <= Portable.MOST_BESIDE && all(ty -> ty === element, before[count+1:end]) || return nothing
    taken = Any[before[1:min(count, end)]; fill(element, max(count - length(before), 0))]
    mi = made_instance(Tuple{typeof(Portable.with_rest),F,taken...,Portable.OpenTuple{element}}, instances)
    code = mi === nothing ? nothing : exported_code(mi, instances)
    code === nothing && return nothing
    is_as_wanted = gives === nothing ? !is_open_tuple(code[2]) : code[2] === gives
    return is_as_wanted ? Expr(:call, GlobalRef(Portable, :call_open), f, Val(count), element, parts...) : nothing
end

"The method that a call dispatches to with these arguments and any number of others of a type, if that collects what is behind the first; `nothing` if there are others."
function collecting_method(@nospecialize(F), before, @nospecialize(element))
    methods = [dispatched_method(Tuple{F,before...,fill(element, n)...}) for n in 0:Portable.MOST_ARGUMENTS]
    method = last(methods)
    method isa Method && method.isva || return nothing
    least = max(Int(method.nargs) - 2 - length(before), 0)
    return all(==(method), methods[least+1:end]) && all(==(nothing), methods[1:least]) ? method : nothing
end

"Whether an instance takes, or gives, an open tuple in the place of a function that takes or gives another one."
is_opened(mi::Core.MethodInstance) = mi.def isa Method && mi.def.module === Portable && mi.def.name in (:with_rest, :opened)

"The code of such an instance, which is that of the function that it calls; `nothing` if that function sees the difference."
function code_with_open_tuples(mi::Core.MethodInstance, instances::Instances)
    self, F, taken = mi.specTypes.parameters[1], mi.specTypes.parameters[2], Any[mi.specTypes.parameters[3:end]...]
    takes = mi.def.name === :with_rest
    element = takes ? eltype(pop!(taken)) : nothing
    sig = takes ? Tuple{F,taken...,Vararg{element}} : Tuple{F,taken...}
    method = takes ? collecting_method(F, taken, element) : dispatched_method(sig)
    code = method === nothing ? nothing : plain_code(Portable.instance(instance_of_method(method, sig)))
    code === nothing && return nothing
    ci, result, ir = code
    given = open_element(CC.widenconst(result))
    takes || (element = given)
    (element === nothing || any(stmt -> Meta.isexpr(stmt, :static_parameter), columns(ir).stmts)) && return nothing
    ir.argtypes[1] = F
    result = given === element ? Portable.OpenTuple{element} : result
    # What calls itself asks for it.
    instances.codes[mi] = ci, result, ir
    ir = opened_code(ir, element, instances, takes ? length(ir.argtypes) : nothing; gives = given === element)
    ir === nothing && return nothing
    # The function itself is an argument here.
    pushfirst!(ir.argtypes, self)
    rows = columns(ir)
    for i in 1:length(rows.stmts)
        rows.stmts[i] = with_arguments_behind(rows.stmts[i])
    end
    ci = copy(ci)
    ci.slotnames = pushfirst!(copy(ci.slotnames), Symbol("#self#"))
    return ci, result, ir
end

"A statement with the arguments of a function that has one more, in front of them."
with_arguments_behind(x::Argument) = Argument(x.n + 1)
with_arguments_behind(x::Expr) = Expr(x.head, map(with_arguments_behind, x.args)...)
with_arguments_behind(x::Core.PiNode) = Core.PiNode(with_arguments_behind(x.val), x.typ)
with_arguments_behind(x::ReturnNode) = isdefined(x, :val) ? ReturnNode(with_arguments_behind(x.val)) : x
with_arguments_behind(x::GotoIfNot) = GotoIfNot(with_arguments_behind(x.cond), x.dest)
with_arguments_behind(x::Core.UpsilonNode) = isdefined(x, :val) ? Core.UpsilonNode(with_arguments_behind(x.val)) : x
with_arguments_behind(x::Core.PhiNode) = Core.PhiNode(x.edges, with_arguments_behind(x.values))
with_arguments_behind(x::Core.PhiCNode) = Core.PhiCNode(with_arguments_behind(x.values))
with_arguments_behind(@nospecialize(x)) = x
function with_arguments_behind(values::Vector{Any})
    moved = similar(values)
    foreach(i -> isassigned(values, i) && (moved[i] = with_arguments_behind(values[i])), 1:length(values))
    return moved
end

"""
Whether a call of these types does with open tuples what it does with tuples: whether it, and what it calls with them, calls no method of the program that is for the one and not for the other. What
Julia's own functions do with tuples is taken for the same.
"""
function is_called_alike(@nospecialize(sig), seen::IdDict{Any,Nothing})
    haskey(seen, sig) && return true
    seen[sig] = nothing
    method = dispatched_method(sig)
    (method === nothing || inside(method.module, Portable, true)) && return true
    others = methods_for(with_tuples(sig))
    any(other -> other !== method && (is_of_program(method.module) || is_of_program(other.module)), others) && return false
    code = infer(instance_of_method(method, sig), false)
    code === nothing && return true
    return all(types -> is_called_alike(Tuple{types...}, seen), calls_with_open_tuples(first(code)))
end

"The types, with the function's own first, of the calls in code as it was written to which open tuples are passed, where they are known."
function calls_with_open_tuples(ci::Core.CodeInfo)
    found = Vector{Any}[]
    for stmt in ci.code
        Meta.isexpr(stmt, :(=)) && (stmt = stmt.args[2])
        Meta.isexpr(stmt, :call) || continue
        types = Any[type_as_written(ci, x) for x in stmt.args]
        any(has_open_tuple, types) && all(is_one_type, types) && !(first(types) <: Union{Core.Builtin,Core.IntrinsicFunction}) && push!(found, types)
    end
    return found
end
type_as_written(ci::Core.CodeInfo, @nospecialize(x)) =
    x isa Core.SSAValue ? CC.widenconst(ci.ssavaluetypes[x.id]) :
    x isa Core.SlotNumber ? CC.widenconst(ci.slottypes[x.id]) :
    isdefined(Core, :TypedSlot) && x isa Core.TypedSlot ? CC.widenconst(x.typ) :
    x isa GlobalRef ? (is_fixed(x) ? Core.Typeof(getfield(x.mod, x.name)) : Any) :
    x isa Expr ? Any : Core.Typeof(known_object(x))

"Whether values of a type are, or hold, open tuples, as far as its parameters say."
has_open_tuple(@nospecialize(ty)) = is_open_tuple(ty) || ty isa DataType && any(has_open_tuple, ty.parameters)

"The type with tuples in the place of open ones."
with_tuples(@nospecialize(ty)) =
    is_open_tuple(ty) ? Tuple{Vararg{eltype(ty)}} :
    !(ty isa DataType && has_open_tuple(ty)) ? ty :
    ty <: Tuple ? Tuple{map(with_tuples, ty.parameters)...} : applied(ty.name.wrapper, map(with_tuples, Any[ty.parameters...]))

"All methods that calls of these types may dispatch to."
function methods_for(@nospecialize(sig))
    F = sig.parameters[1]
    of_function = isdefined(F, :instance)
    of_function || F.name === Type.body.name || return Method[]
    return collect(methods(of_function ? F.instance : F.parameters[1], Tuple{sig.parameters[2:end]...}))
end
