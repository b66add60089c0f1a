# Rebuilding Julia's code from a dump.

"A dump that was read: its functions by name, and the types it declares."
struct Dump
    path::String
    functions::Dict{String,Any}
    order::Vector{String}
    structs::Dict{String,Any}
    # Where the names of types and objects are looked up.
    scope::Module
    types::Dict{String,Any}
    # The functions that were made callable.
    callables::Dict{String,Any}
end

"""
    read_dump(path; scope = Main) -> Dump

Reads a dump of IRCode. Names in it mean what they mean in the module `scope`.
"""
function read_dump(path::AbstractString; scope::Module = Main)
    json = parse_json(read(path, String))
    json isa Dict && get(json, "bbkit", nothing) == FORMAT_VERSION || error("$path is no bbkit dump of version $FORMAT_VERSION")
    json["representation"] == "ircode" || error("$path is a dump of $(json["representation"]), expected ircode")
    order = String[form["name"] for form in json["functions"]]
    functions = Dict{String,Any}(form["name"] => form for form in json["functions"])
    dump = Dump(path, functions, order, Dict{String,Any}(), scope, Dict{String,Any}(), Dict{String,Any}())
    declare_all(dump, Any[form["struct"] for form in get(json, "types", Any[]) if haskey(form, "struct")])
    return dump
end

"Makes the types that only the dump knows, in an order in which each knows those of its fields."
function declare_all(dump::Dump, forms)
    filter!(form -> !means_type(dump, form["name"]), forms)
    while !isempty(forms)
        left = filter(form -> !declare(dump, form, false), forms)
        # Types that hold each other know only that there is something.
        length(left) == length(forms) && declare(dump, popfirst!(left), true)
        forms = left
    end
end

function means_type(dump::Dump, name::AbstractString)
    try
        return type_of(dump, name) isa Type
    catch
        return false
    end
end

"Makes a struct type; `false` if a type of its fields is not known, and is not to be taken for `Any`."
function declare(dump::Dump, form, any::Bool)
    name, tag = form["name"], gensym(form["name"])
    # It may hold itself.
    dump.structs[name] = tag
    fields = Any[]
    for (field, text) in form["fields"]
        code = with_structs(dump, Meta.parse(text))
        known = mentions(code, tag) || means(dump, code)
        known || any || (delete!(dump.structs, name); return false)
        push!(fields, Expr(:(::), Symbol(field), known ? code : :Any))
    end
    above = [Meta.parse(text) for text in get(form, "supertypes", [])]
    nearest = findfirst(code -> means(dump, code), above)
    head = nearest === nothing ? tag : Expr(:(<:), tag, above[nearest])
    Core.eval(dump.scope, Expr(:struct, get(form, "mutable", false), head, Expr(:block, fields...)))
    dump.structs[name] = Core.eval(dump.scope, tag)
    empty!(dump.types)
    return true
end

mentions(@nospecialize(code), tag::Symbol) = code === tag || code isa Expr && any(arg -> mentions(arg, tag), code.args)

function means(dump::Dump, @nospecialize(code))
    try
        Core.eval(dump.scope, code)
        return true
    catch
        return false
    end
end

"The object that a text of Julia code means in the scope of the dump."
function evaluate(dump::Dump, text::AbstractString)
    code = try
        Meta.parse(text)
    catch
        error("`$text` cannot be read as Julia code")
    end
    code = with_structs(dump, code)
    if Meta.isexpr(code, :call)
        # How an object is shown is not always how it is made: closures have no constructors.
        ty = Core.eval(dump.scope, code.args[1])
        if ty isa DataType && isconcretetype(ty) && !(ty <: Union{Array,Number,AbstractDict})
            length(code.args) == 1 && isdefined(ty, :instance) && return ty.instance
            args = [Core.eval(dump.scope, arg) for arg in code.args[2:end]]
            length(args) == fieldcount(ty) && all(i -> args[i] isa fieldtype(ty, i), 1:length(args)) &&
                return Core.eval(dump.scope, Expr(:new, ty, map(QuoteNode, args)...))
        end
    end
    return Core.eval(dump.scope, code)
end

with_structs(dump::Dump, @nospecialize(code)) = code
function with_structs(dump::Dump, code::Symbol)
    return get(dump.structs, string(code), code)
end
function with_structs(dump::Dump, code::Expr)
    code.head === :. && code.args[1] === :BBKit && return Expr(:., BBKit, code.args[2:end]...)
    # Of what is in a box only derivatives know the type.
    code.head === :curly && code.args[1] == :(Core.Box) && return :(Core.Box)
    return Expr(code.head, Any[with_structs(dump, arg) for arg in code.args]...)
end

"The type, or element of the compiler's lattice, of a text; `Any` for the empty one."
function type_of(dump::Dump, text::AbstractString)
    isempty(text) && return Any
    return get!(() -> evaluate(dump, text), dump.types, text)
end

"As `type_of`; `Any` where the text means nothing here, which is true of every value."
function known_type(dump::Dump, text::AbstractString)
    ty = try
        type_of(dump, text)
    catch
        Any
    end
    return ty isa Type ? ty : CC.widenconst(ty)
end

"What a function means whose name is a path: that of the dump first, then Julia's."
function global_object(dump::Dump, path::AbstractString, name::AbstractString)
    path in ("", "Main") && haskey(dump.functions, name) && return callable(dump, String(name))
    path == "libm" && return libm(Symbol(name))
    path == "BBKit" && return getfield(BBKit, Symbol(name))
    return nothing
end

function module_of(dump::Dump, path::AbstractString)
    isempty(path) && return dump.scope
    parts = Symbol.(split(path, '.'))
    root = parts[1] === :Main ? Main : parts[1] === :Core ? Core : parts[1] === :Base ? Base :
           get(() -> nothing, Dict(nameof(m) => m for m in Base.loaded_modules_array()), parts[1])
    root === nothing && (root = getfield(dump.scope, parts[1]))
    return foldl(getfield, parts[2:end], init = root)
end

# The arguments of the rebuilt code are those of the dump, moved by one: `_1` is the callable itself, which is not
# the function that the code was made for.
const SHIFT = 1

function operand(dump::Dump, form, sptypes)
    kind, value = only_member(form)
    kind == "ssa" && return Core.SSAValue(value)
    kind == "arg" && return Argument(value + SHIFT)
    if kind == "global"
        object = global_object(dump, value["module"], value["name"])
        object === nothing || return object
        m, name = module_of(dump, value["module"]), value["name"]
        # A part of a global, by how it is reached.
        is_part = !isdefined(m, Symbol(name)) && occursin(r"[.\[]", name) && Meta.parse(name) isa Expr
        return is_part ? QuoteNode(Core.eval(m, Meta.parse(name))) : GlobalRef(m, Symbol(name))
    elseif kind == "quote"
        return QuoteNode(constant(dump, value))
    elseif kind == "nested"
        return statement(dump, value, sptypes)
    end
    object = constant(dump, value)
    # What would mean something else must be quoted.
    return object isa Union{Symbol,Expr,Core.SSAValue,GlobalRef} ? QuoteNode(object) : object
end

function only_member(form)
    form isa Dict && length(form) == 1 || error("expected an object with one member, found $form")
    return first(form)
end

const SCALARS = Dict(string(ty) => ty for ty in (Int8, Int16, Int32, Int64, Int128, UInt8, UInt16, UInt32, UInt64, UInt128,
                                                 Float16, Float32, Float64))

function constant(dump::Dump, form)
    form isa Union{Nothing,Bool} && return form
    kind, value = only_member(form)
    haskey(SCALARS, kind) && return scalar(SCALARS[kind], value)
    kind == "Char" && return reinterpret(Char, UInt32(value isa AbstractString ? parse(UInt32, value) : value))
    kind == "String" && return value
    kind == "Symbol" && return Symbol(value)
    kind == "Type" && return type_of(dump, value)
    kind == "Tuple" && return Tuple(constant(dump, item) for item in value)
    kind == "NamedTuple" && return NamedTuple{Tuple(Symbol(item[1]) for item in value)}(Tuple(constant(dump, item[2]) for item in value))
    kind == "SimpleVector" && return Core.svec((constant(dump, item) for item in value)...)
    kind == "SSAValue" && return Core.SSAValue(value)
    if kind == "Function"
        haskey(dump.functions, value) && return callable(dump, String(value))
        return evaluate(dump, value)
    end
    kind == "Text" && return evaluate(dump, value)
    error("unknown constant $kind")
end

function scalar(ty, value)
    value isa AbstractString || return ty(value)
    ty <: Integer && return parse(ty, value)
    value == "NaN" && return ty(NaN)
    value == "Infinity" && return ty(Inf)
    value == "-Infinity" && return ty(-Inf)
    value == "-0.0" && return ty(-0.0)
    bits = ty === Float64 ? UInt64 : ty === Float32 ? UInt32 : UInt16
    return reinterpret(ty, parse(bits, value[3:end], base = 16))
end

"A statement of an IRCode."
function statement(dump::Dump, form, sptypes)
    kind, node = only_member(form)
    value(x) = operand(dump, x, sptypes)
    values(list) = Any[value(x) for x in list]
    if kind == "value"
        return value(node)
    elseif kind == "phi"
        entries = node["entries"]
        list = Vector{Any}(undef, length(entries))
        for (i, entry) in enumerate(entries)
            haskey(entry, "value") && (list[i] = value(entry["value"]))
        end
        edges = fieldtype(Core.PhiNode, :edges)(Any[entry["edge"] for entry in entries])
        return Core.PhiNode(edges, list)
    elseif kind == "pi"
        return Core.PiNode(value(node["value"]), type_of(dump, node["ty"]))
    elseif kind == "phic"
        return Core.PhiCNode(values(node["values"]))
    elseif kind == "upsilon"
        return haskey(node, "value") ? Core.UpsilonNode(value(node["value"])) : CC.UpsilonNode()
    elseif kind == "goto"
        return Core.GotoNode(node["label"])
    elseif kind == "goto_if_not"
        return GotoIfNot(value(node["cond"]), node["dest"])
    elseif kind == "return"
        return haskey(node, "value") ? ReturnNode(value(node["value"])) : ReturnNode()
    elseif kind == "enter"
        EnterNode === Union{} && return Expr(:enter, node["catch_dest"])
        dest = get(node, "catch_dest", 0)
        return haskey(node, "scope") ? EnterNode(dest, value(node["scope"])) : EnterNode(dest)
    elseif kind == "call"
        return call(value(node["callee"]), values(node["args"]))
    elseif kind == "invoke"
        return invoke_statement(dump, node, value)
    end
    kind == "expr" || error("unknown statement $kind")
    head, args = Symbol(node["head"]), node["args"]
    if head === :static_parameter
        ty = sptypes[only(args)["constant"]["Int64"]]
        parameter = ty isa CC.Const ? ty.val : error("the value of a static parameter is not known: its type is $ty")
        return parameter isa Union{Symbol,Expr} ? QuoteNode(parameter) : parameter
    end
    # What stands unquoted among the operands of these heads is data, not a value.
    data(x) = haskey(x, "constant") ? constant(dump, x["constant"]) : value(x)
    return Expr(head, map(data, args)...)
end

only(list) = length(list) == 1 ? list[1] : error("expected one operand")

"A call of the method instance that the dump names; of a function of the dump, where Julia has no such method."
function invoke_statement(dump::Dump, node, value)
    args = Any[value(x) for x in node["args"]]
    name = get(node["instance"], "name", nothing)
    callee = value(node["callee"])
    if name !== nothing
        mi = find_instance(dump, name)
        mi === nothing || return Expr(:invoke, mi, callee, args...)
    end
    return call(callee, args)
end

call(@nospecialize(callee), args) = Expr(:call, callee, args...)

"The method instance that `call_text` gives this name."
function find_instance(dump::Dump, name::AbstractString)
    place = findfirst(" @ ", name)
    call = place === nothing ? name : name[1:first(place)-1]
    sig = try
        signature(dump, Meta.parse(call))
    catch
        return nothing
    end
    place === nothing && return instance(sig)
    mod, at = split(name[last(place)+1:end], ' ', limit = 2)
    found = [method for method in Base.MethodList(method_table(sig)).ms
             if module_path(method.module) == mod && string(method.file, ":", method.line) == at]
    return isempty(found) ? nothing : instance_of_method(first(found), sig)
end

method_table(@nospecialize(sig)) =
    isdefined(Core, :methodtable) ? getfield(Core, :methodtable) : Base.unwrap_unionall(Base.unwrap_unionall(sig).parameters[1]).name.mt

"The signature that a call such as `sin(::Float64)` spells."
function signature(dump::Dump, code::Expr)
    if code.head === :where
        vars = code.args[2:end]
        return Core.eval(dump.scope, Expr(:where, signature_code(dump, code.args[1]), vars...))
    end
    return Core.eval(dump.scope, signature_code(dump, code))
end

function signature_code(dump::Dump, code::Expr)
    code.head === :call || error("no call")
    callee = code.args[1]
    first = Meta.isexpr(callee, :(::)) ? with_structs(dump, callee.args[1]) :
            let f = Core.eval(dump.scope, with_structs(dump, callee))
        f isa Type ? Type{f} : typeof(f)
    end
    return Expr(:curly, Tuple, first, (with_structs(dump, arg.args[end]) for arg in code.args[2:end])...)
end

"The IRCode of a function of a dump, its arguments moved by one; see `SHIFT`."
function ircode(dump::Dump, name::AbstractString)
    haskey(dump.functions, name) || error("$(dump.path) holds no function `$name`")
    form = dump.functions[name]["body"]
    isempty(get(form, "new_nodes", [])) || error("`$name` has pending nodes: compact it first")
    sptypes = Any[type_of(dump, text) for text in get(form, "sptypes", [])]
    rows = form["statements"]
    stmts = Any[statement(dump, row["stmt"], sptypes) for row in rows]
    types = Any[known_type(dump, get(row, "type", "")) for row in rows]
    same_version = get(form, "julia", "") == string(VERSION.major, ".", VERSION.minor)
    flags = [same_version ? get(row, "flag", 0) : 0 for row in rows]
    table = get(get(form, "debuginfo", Dict()), "linetable", [])
    lines = [line_index(get(row, "line", 0), length(table)) for row in rows]
    blocks = [CC.BasicBlock(CC.StmtRange(block["statements"]...), Vector{Int}(block["preds"]), Vector{Int}(block["succs"]))
              for block in form["blocks"]]
    index = Int[first(block.stmts) for block in blocks[2:end]]
    argtypes = Any[Any; Any[known_type(dump, text) for text in form["argtypes"]]]
    return build_ircode(stmts, types, lines, flags, CC.CFG(blocks, index), table, argtypes)
end

line_index(line, rows) = (line isa Vector ? line[1] : line) in 1:rows ? (line isa Vector ? line[1] : line) : 0
