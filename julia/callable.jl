# Making rebuilt code callable: an opaque closure of an IRCode where Julia has them (from 1.9 on), before that a method
# whose compiled code is put into Julia's cache.

const HAS_OPAQUE_CLOSURES = isdefined(Core, :OpaqueClosure) && hasmethod(Core.OpaqueClosure, Tuple{CC.IRCode})

"A function of a dump, made callable."
struct Callable
    name::String
    code::Any
    # What the code was made for: the first of its arguments.
    self::Any
    # How many arguments it has, and whether the last collects the rest.
    arguments::Int
    varargs::Bool
end

function (callable::Callable)(args...)
    n = callable.arguments
    if callable.varargs
        length(args) >= n - 1 || error("`$(callable.name)` takes at least $(n - 1) arguments, not $(length(args))")
        args = (args[1:n-1]..., args[n:end])
    end
    length(args) == n || error("`$(callable.name)` takes $n arguments, not $(length(args))")
    return callable.code(callable.self, args...)
end

Base.show(io::IO, callable::Callable) = print(io, "bbkit function ", callable.name)

"""
    import_function(path, name; scope = Main)
    import_function(dump, name)

The function of this name in a dump, rebuilt and callable with the types of arguments that it was made for; also the
functions of the dump that it calls by name, such as the parts of a derivative. What it invokes of Julia's own methods
are Julia's. The code is checked with Julia's own verifier.
"""
import_function(path::AbstractString, name::AbstractString; scope::Module = Main) =
    import_function(read_dump(path; scope = scope), name)

import_function(dump::Dump, name::AbstractString) = callable(dump, resolve(dump, name))

"The name of the function of a dump that is called so, its argument types left out."
function resolve(dump::Dump, name::AbstractString)
    haskey(dump.functions, name) && return String(name)
    found = [other for other in dump.order if startswith(other, string(name, '('))]
    length(found) == 1 && return found[1]
    isempty(found) && error("$(dump.path) holds no function `$name`")
    error("`$name` is one of ", join(found, ", "), ": say which")
end

# Code calls code without the callable between.
call(callable::Callable, args) =
    callable.varargs ? Expr(:call, callable, args...) : Expr(:call, callable.code, callable.self, args...)

"The callable of a function of the dump, made when it is first asked for."
function callable(dump::Dump, name::String)
    haskey(dump.callables, name) && return dump.callables[name]
    form = dump.functions[name]
    argtypes = form["body"]["argtypes"]
    n = length(argtypes) - 1
    own = isempty(argtypes) ? Any : known_type(dump, argtypes[1])
    self = own isa DataType && isdefined(own, :instance) ? own.instance : nothing
    varargs = get(form, "varargs", false)
    # The name first, then the code, so that functions can call one another.
    types = Any[known_type(dump, text) for text in argtypes]
    # The type of what is not a function of this session is that of what is passed in its place.
    isempty(types) || self !== nothing || (types[1] = Nothing)
    code = HAS_OPAQUE_CLOSURES ? Ref{Any}() : stub(dump, name, types)
    made = dump.callables[name] = Callable(name, code, self, n, varargs)
    ir = ircode(dump, name)
    append!(empty!(ir.argtypes), Any[Any; types])
    verify(ir)
    result = known_type(dump, get(form, "result", ""))
    HAS_OPAQUE_CLOSURES ? (code[] = opaque_closure(ir)) : install(code, ir, result)
    return made
end

(code::Base.RefValue{Any})(args...) = code[](args...)

verify(ir) = CC.verify_ir(ir)

function opaque_closure(ir)
    ir.argtypes[1] = Tuple{}
    return Core.OpaqueClosure(ir)
end

"""
A function for arguments of these types that has no code of its own yet. Types are exact, as Julia would else compile it for
wider ones; and the compiler can conclude nothing from its body.
"""
function stub(dump::Dump, name::String, types)
    f = gensym(name)
    names = [Symbol(:x, i) for i in eachindex(types)]
    args = [Expr(:(::), arg, ty) for (arg, ty) in zip(names, types)]
    unknown = Expr(:call, GlobalRef(@__MODULE__, :no_code), name, names...)
    # The code is for these types, and not for each of those that are below an abstract one.
    abstract_names = [name for (name, ty) in zip(names, types) if !isconcretetype(ty)]
    body = Expr(:block, Expr(:meta, :nospecialize, abstract_names...), unknown)
    return Core.eval(dump.scope, Expr(:function, Expr(:call, f, args...), body))
end

const NO_CODE = Ref{Any}(nothing)
@noinline no_code(name, args...) =
    (NO_CODE[] === nothing && error("`$name` has no code for arguments of the types ", map(typeof, args)); NO_CODE[])

"Puts the code into Julia's cache, as the code of `f` for the types of its arguments."
function install(f, ir, @nospecialize(result))
    ir.argtypes[1] = typeof(f)
    types = Any[CC.widenconst(ty) for ty in ir.argtypes]
    sig = Tuple{types...}
    method = first(methods(f))
    mi = instance_of_method(method, sig)
    ci = ccall(:jl_new_code_info_uninit, Ref{Core.CodeInfo}, ())
    n = length(types)
    ci.slotnames = Symbol[Symbol(:x, i) for i in 1:n]
    ci.slotflags = zeros(UInt8, n)
    hasfield(Core.CodeInfo, :slottypes) && (ci.slottypes = copy(types))
    CC.replace_code_newstyle!(ci, ir, VERSION < v"1.8" ? n - 1 : n)
    for i in eachindex(ci.ssavaluetypes)
        ci.ssavaluetypes[i] = CC.widenconst(ci.ssavaluetypes[i])
    end
    ci.rettype = result
    ci.parent = mi
    ci.inferred = true
    ci.min_world, ci.max_world = 1, typemax(UInt)
    cache_code(mi, ci, result)
    return f
end

function cache_code(mi, ci, @nospecialize(result))
    world, forever = Base.get_world_counter(), typemax(UInt)
    if VERSION < v"1.6-"
        ccall(:jl_set_method_inferred, Any, (Any, Any, Any, Any, Int32, UInt, UInt), mi, result, nothing, ci, 0, world, forever)
        return
    end
    code = VERSION < v"1.8-" ? Core.CodeInstance(mi, result, nothing, ci, Int32(0), world, forever) :
           Core.CodeInstance(mi, result, nothing, ci, Int32(0), world, forever, UInt32(0), UInt32(0), nothing, UInt8(0))
    ccall(:jl_mi_cache_insert, Cvoid, (Any, Any), mi, code)
end

function line_rows(table)
    isempty(table) && return [LineRow("bbkit", "none", 0, 0)]
    return [LineRow(row["method"], row["file"], row["line"], row["inlined_at"]) for row in table]
end

"The IRCode of these parts, in whatever form this Julia has it."
function build_ircode(stmts, types, lines, flags, cfg, table, argtypes)
    rows, n = line_rows(table), length(stmts)
    # Rows of a line table are counted from 1; statements without one get the first.
    lines = Int32[line == 0 ? 1 : line for line in lines]
    if OLD_COLUMNS
        nodes = [Core.LineInfoNode(Symbol(row.method), Symbol(row.file), row.line, row.inlined_at) for row in rows]
        return CC.IRCode(stmts, types, lines, UInt8.(flags), cfg, nodes, argtypes, Any[], Any[])
    end
    info = fieldtype(CC.InstructionStream, :info) === Vector{Any} ? Any[nothing for _ in 1:n] :
           CC.CallInfo[CC.NoCallInfo() for _ in 1:n]
    flags = eltype(fieldtype(CC.InstructionStream, :flag)).(flags)
    sptypes = isdefined(CC, :VarState) && fieldtype(CC.IRCode, :sptypes) === Vector{CC.VarState} ? CC.VarState[] : Any[]
    meta = fieldtype(CC.IRCode, :meta)()
    if isdefined(CC, :DebugInfoStream)
        codelocs = zeros(Int32, 3n)
        debuginfo = CC.DebugInfoStream(codelocs)
        debuginfo.def = :bbkit
        stream = CC.InstructionStream(stmts, types, info, codelocs, flags)
        return CC.IRCode(stream, cfg, debuginfo, argtypes, meta, sptypes)
    end
    integer = fieldtype(Core.LineInfoNode, :line)
    nodes = [Core.LineInfoNode(@__MODULE__, Symbol(row.method), Symbol(row.file), integer(row.line), integer(row.inlined_at))
             for row in rows]
    stream = CC.InstructionStream(stmts, types, info, lines, flags)
    return CC.IRCode(stream, cfg, nodes, argtypes, meta, sptypes)
end
