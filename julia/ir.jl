# What the versions of Julia call the parts of an IRCode.

"The columns of an IRCode: statements, types, call infos, lines as triples, flags."
struct Columns
    stmts::Vector{Any}
    types::Vector{Any}
    infos::Vector{Any}
    lines::Vector{NTuple{3,Int32}}
    flags::Vector{UInt32}
end

# Up to Julia 1.5 the columns are fields of the IRCode, later of an InstructionStream.
const OLD_COLUMNS = fieldtype(CC.IRCode, :stmts) === Vector{Any}

columns(ir) = OLD_COLUMNS ? columns(ir.stmts, ir.types, nothing, ir.lines, ir.flags) : stream_columns(ir.stmts)

function stream_columns(stream)
    stmts = isdefined(stream, :stmt) ? stream.stmt : stream.inst
    infos = isdefined(stream, :info) ? stream.info : nothing
    types = isdefined(stream, :type) ? stream.type : stream.typ
    return columns(stmts, types, infos, stream.line, stream.flag)
end

function columns(stmts, types, infos, lines, flags)
    n = length(stmts)
    lengths = [n, length(types), infos === nothing ? n : length(infos), length(flags)]
    (all(==(n), lengths) && length(lines) in (n, 3n)) ||
        fault("IR02", "the columns of statements, types, infos and flags have the lengths $lengths, that of lines $(length(lines))")
    no_info = isdefined(CC, :NoCallInfo) ? CC.NoCallInfo() : nothing
    infos = infos === nothing ? Any[nothing for _ in 1:n] : Any[info === no_info ? nothing : info for info in infos]
    triples = length(lines) == 3n && n > 0
    lines = triples ? [(lines[3i-2], lines[3i-1], lines[3i]) for i in 1:n] :
            NTuple{3,Int32}[(lines[i], 0, 0) for i in 1:n]
    return Columns(stmts, types, infos, lines, UInt32[flag for flag in flags])
end

"A pending node: where it goes, and its row."
struct Pending
    pos::Int
    attach_after::Bool
    stmt::Any
    type::Any
    info::Any
    line::NTuple{3,Int32}
    flag::UInt32
end

function pending(ir)
    OLD_COLUMNS && return [Pending(node.pos, node.attach_after, node.node, node.typ, nothing, (node.line, 0, 0), 0)
                           for node in ir.new_nodes]
    rows = stream_columns(ir.new_nodes.stmts)
    return [Pending(info.pos, info.attach_after, rows.stmts[i], rows.types[i], rows.infos[i], rows.lines[i], rows.flags[i])
            for (i, info) in enumerate(ir.new_nodes.info)]
end

"The types of the static parameters."
static_parameter_types(ir) = Any[isdefined(CC, :VarState) && ty isa CC.VarState ? ty.typ : ty for ty in ir.sptypes]

"A row of a line table: method, file, line, the row in which it was inlined."
struct LineRow
    method::String
    file::String
    line::Int
    inlined_at::Int
end

method_text(@nospecialize(method)) =
    method isa Core.MethodInstance ? (method.def isa Method ? string(method.def.name) : "thunk") :
    method isa Method ? string(method.name) : string(method)

linetable(ir) = isdefined(ir, :linetable) ?
    [LineRow(method_text(row.method), string(row.file), row.line, row.inlined_at) for row in ir.linetable] : LineRow[]

"""
    ircode(ci, mi) -> IRCode

The IRCode of optimised code, which Julia keeps with statement numbers in place of block numbers.
"""
ircode(ci::Core.CodeInfo, mi) = mi isa Core.MethodInstance ? CC.inflate_ir(ci, mi) : CC.inflate_ir(ci)

"Calls `f` with every method instance that has compiled code, and its code instance."
function each_instance(f, filter)
    for table in method_tables(), method in Base.MethodList(table).ms
        filter(method) || continue
        for mi in instances(method)
            cache = compiled(mi)
            cache === nothing || f(mi, cache)
        end
    end
end

"The code of a method instance that Julia's own compiler made, not another one built on it; `nothing` if there is none."
function compiled(mi::Core.MethodInstance)
    cache = isdefined(mi, :cache) ? mi.cache : nothing
    while cache !== nothing && isdefined(cache, :owner) && cache.owner !== nothing
        cache = isdefined(cache, :next) ? cache.next : nothing
    end
    return cache
end

"The method instances of a method."
function instances(method::Method)
    specializations = method.specializations
    specializations isa Core.MethodInstance && return [specializations]
    specializations isa Core.SimpleVector || return Core.MethodInstance[]
    found = Core.MethodInstance[]
    for i in 1:length(specializations)
        isassigned(specializations, i) || continue
        mi = specializations[i]
        mi isa Core.MethodInstance && push!(found, mi)
    end
    return found
end

"All modules that are reachable by name, in the order in which they are met."
function all_modules()
    found = Module[]
    function walk(m)
        m in found && return
        push!(found, m)
        for name in names(m, all = true, imported = true)
            (Base.isdeprecated(m, name) || !isdefined(m, name)) && continue
            value = getfield(m, name)
            value isa Module && walk(value)
        end
    end
    foreach(walk, [Core, Base, Main])
    foreach(walk, Base.loaded_modules_array())
    return found
end

"All method tables that are reachable by name, each once."
function method_tables()
    isdefined(Core, :methodtable) && return [getfield(Core, :methodtable)]
    found, seen = Any[], IdDict{Any,Nothing}()
    function add(ty)
        ty = Base.unwrap_unionall(ty)
        ty isa DataType && isdefined(ty.name, :mt) || return
        table = ty.name.mt
        (table === nothing || haskey(seen, table)) && return
        seen[table] = nothing
        push!(found, table)
    end
    add(Type.body)
    for m in all_modules(), name in names(m, all = true, imported = true)
        (Base.isdeprecated(m, name) || !isdefined(m, name)) && continue
        value = getfield(m, name)
        add(value isa Type ? value : typeof(value))
    end
    return found
end

"The optimised code that Julia keeps for an instance; `nothing` if it kept none."
function cached_code(mi::Core.MethodInstance, cache)
    inferred = isdefined(cache, :inferred) ? cache.inferred : nothing
    inferred isa Core.CodeInfo && return inferred
    if inferred isa Vector{UInt8} || inferred isa String
        return isdefined(Base, :_uncompressed_ir) ? Base._uncompressed_ir(cache, inferred) :
               CC._uncompressed_ir(cache, inferred)
    end
    return nothing
end

"The optimised code of an instance with the type of its result: what Julia kept, or else inferred anew."
function inferred_code(mi::Core.MethodInstance, cache = compiled(mi))
    mi.def isa Method || return nothing
    if cache !== nothing
        ci = cached_code(mi, cache)
        ci === nothing || return ci, cache.rettype
    end
    return infer(mi)
end

"The code of an instance with the type of its result, inferred anew, and optimised or as it was written."
function infer(mi::Core.MethodInstance, optimised::Bool = true)
    world = isdefined(Base, :get_world_counter) ? Base.get_world_counter() : typemax(UInt)
    found = if isdefined(CC, :Params)
        CC.typeinf_code(mi.def, mi.specTypes, mi.sparam_vals, optimised, CC.Params(world))
    elseif hasmethod(CC.typeinf_code, Tuple{CC.NativeInterpreter,Method,Any,Core.SimpleVector,Bool})
        CC.typeinf_code(CC.NativeInterpreter(world), mi.def, mi.specTypes, mi.sparam_vals, optimised)
    else
        CC.typeinf_code(CC.NativeInterpreter(world), mi, optimised)
    end
    # From Julia 1.12 on the code itself says what it returns.
    ci, result = found isa Tuple ? found : (found, found isa Core.CodeInfo ? found.rettype : Any)
    return ci isa Core.CodeInfo ? (ci, result) : nothing
end

"The method instance that a call of these types, the function's own first, dispatches to."
function instance(@nospecialize(sig))
    method = dispatched_method(sig)
    method === nothing && error("no method matches ", sig)
    return instance_of_method(method, sig)
end

function instance_of_method(method::Method, @nospecialize(sig))
    ty, env = ccall(:jl_type_intersection_with_env, Any, (Any, Any), sig, method.sig)::Core.SimpleVector
    return CC.specialize_method(method, ty, env)::Core.MethodInstance
end
