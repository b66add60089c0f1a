# Writing code as bbkit JSON, one function at a time.

const FORMAT_VERSION = 1

"Tuples of more elements are written as text, as other objects are. The tables of Julia's logarithms have 129."
const LONGEST = 256

"Where a dump is written: functions one after another, each as soon as it is known."
mutable struct Writer
    io::IO
    buffer::IOBuffer
    # Texts of types, which are shown slowly and again and again.
    texts::IdDict{Any,String}
    # Struct types that were named, where they are wanted.
    structs::Union{Nothing,IdDict{Any,Nothing}}
    # Whether constants are written by their values where those are numbers or made of such, and not by their names.
    values::Bool
    # Those that were named.
    constants::Constants
    names::Set{String}
    # The types of what is in fields whose declared types say less.
    fields::Dict{Place,Any}
    functions::Int
    statements::Int
end

Writer(io::IO; types::Bool = false, values::Bool = false) =
    Writer(io, IOBuffer(), IdDict{Any,String}(), types ? IdDict{Any,Nothing}() : nothing, values, Constants(), Set{String}(), Dict{Place,Any}(), 0, 0)

"Opens a dump, calls `f` with a [`Writer`](@ref), and closes the dump."
function write_dump(f, io::IO; types::Bool = false, values::Bool = false)
    writer = Writer(io; types = types, values = values)
    print(io, "{\"bbkit\":", FORMAT_VERSION, ",\"representation\":\"ircode\",\"functions\":[")
    f(writer)
    print(io, "\n]")
    types && write_types(writer)
    println(io, "}")
    return writer
end

write_dump(f, path::AbstractString; options...) = open(io -> write_dump(f, io; options...), path, "w")

"""
    export_function(out, f, types; callees = false, name = nothing)
    export_function(out, f; callees = false)

Writes the code of `f` for arguments of these types, or of all its methods for the types of their signatures, to the
file or stream `out`. With `callees`, also the code of every method that the code invokes, directly or not, as far as
it can be inferred, the fields of the structs that occur, the values of global constants, and loops in the place of functions that call BLAS or LAPACK.
"""
function export_function(out, f, types; callees::Bool = false)
    mi = instance(Tuple{Core.Typeof(f),Base.to_tuple_type(types).parameters...})
    return export_instances(out, [mi]; callees = callees)
end

function export_function(out, f; callees::Bool = false)
    found = [instance_of_method(method, method.sig) for method in methods(f)]
    return export_instances(out, found; callees = callees)
end

"""
Writes the code of these method instances; see [`export_function`](@ref). `portable` says whether constants are written by their values, primitive types of
the program's own as structs of the number that they hold, and functions that call BLAS or LAPACK as loops, which a program that runs away from this Julia needs,
or as Julia has them.
"""
function export_instances(out, roots; callees::Bool = false, portable::Bool = callees)
    called = callees ? called_instances : (ir, instances) -> []
    portable && return export_codes(out, portable_codes(roots, called))
    write_dump(out; types = true) do writer
        each_reached((mi, code) -> write_function(writer, mi, code...), plain_code, ir -> called(ir, Instances()), roots)
    end
end

"Codes of method instances for a dump that is to run away from this Julia, and what is in fields of structs whose declared types say less."
struct Codes
    list::Vector{Pair{Any,Any}}
    fields::Fields
end

Base.iterate(codes::Codes, state...) = iterate(codes.list, state...)

"Writes method instances with their codes for a dump that is to run away from this Julia."
function export_codes(out, codes::Codes)
    write_dump(out; types = true, values = true) do writer
        merge!(writer.fields, codes.fields.expected)
        foreach(((mi, code),) -> write_function(writer, mi, code...), codes)
    end
    empty!(TYPES_BELOW)
end

"So often codes are made anew, as something about boxes was not what it seemed to be; then less and less is taken for granted."
const MOST_TRIALS = 12

"The codes for a dump that is to run away from this Julia, of instances and of those of which `called(ir, instances)` says that their codes call them."
function portable_codes(roots, called)
    empty!(TYPES_BELOW)
    boxes, fields = Boxes(), Fields(roots)
    for trial in 1:2MOST_TRIALS
        codes = portable_codes(roots, called, Instances(boxes, fields))
        check_settled!(boxes)
        check_floats!(codes, boxes)
        changed = settle_fields!(fields, codes)
        boxes.wrong[] || changed || return Codes(codes, fields)
        boxes = again(boxes)
        # What is not found out by now is not known.
        trial < MOST_TRIALS && continue
        give_up!(boxes)
        give_up!(fields)
    end
    return Codes(portable_codes(roots, called, Instances(nothing)), Fields())
end
function portable_codes(roots, called, instances::Instances)
    codes = Pair{Any,Any}[]
    each_reached((mi, code) -> push!(codes, mi => code), mi -> exported_code(mi, instances), ir -> called(ir, instances), roots)
    return codes
end

"Calls `f` with each of these method instances and its code, and with those that they call, directly or not, as soon as they are known."
function each_reached(f, code_of, called, roots)
    queue, seen = copy(roots), IdDict{Any,Nothing}(mi => nothing for mi in roots)
    while !isempty(queue)
        mi = popfirst!(queue)
        code = code_of(mi)
        # Only what was asked for must have code: what is called may be a builtin of the runtime.
        code === nothing && (mi in roots ? error("no code can be inferred for $(call_text(mi))") : continue)
        f(mi, code)
        for callee in called(code[3])
            haskey(seen, callee) || (seen[callee] = nothing; push!(queue, callee))
        end
    end
end

"The code of a method instance, its result and its IRCode, as Julia has them; `nothing` if there is none."
function plain_code(mi::Core.MethodInstance)
    code = inferred_code(mi)
    code === nothing && return nothing
    ci, result = code
    return ci, result, ircode(ci, mi)
end

"""
As [`plain_code`](@ref), for a dump that is to run away from this Julia: what calls a library in another language is written as Julia code, where there is such, and
methods are called by their instances for the types of the arguments.
"""
function exported_code(mi::Core.MethodInstance, instances::Instances)
    haskey(instances.codes, mi) && return instances.codes[mi]
    code = is_opened(mi) ? code_with_open_tuples(mi, instances) : plain_code(Portable.instance(mi))
    # What calls itself asks for it.
    instances.codes[mi] = code
    code === nothing && return nothing
    ci, result, ir = code
    ir.argtypes[1] = mi.specTypes.parameters[1]
    leave_logging_out!(ir)
    leave_threads_out!(ir)
    name_assertions!(ir)
    call_at_once!(ir)
    use_plain_numbers!(ir)
    use_plain_elements!(ir)
    use_plain_powers!(ir)
    use_whole_exponentials!(ir)
    ir = with_terms_one_by_one(with_sinc_at_zero(ir))
    boxes = instances.boxes
    if boxes !== nothing
        ir = with_boxes_named_once(ir)
        read_first_contents!(ir)
        leave_dead_ways_out!(ir)
        settle_boxes!(ir, mi, boxes)
        leave_dead_ways_out!(ir)
        type_boxes!(ir, mi, boxes)
    end
    note() = boxes === nothing || note_holders!(ir, mi, boxes)
    sharpen_calls!(ir, instances, note)
    note()
    # What follows may give statements other numbers.
    numbers = statements_of_boxes(ir)
    ir = narrowed(ir, instances)
    collects(mi) && type_empty_arrays!(ir)
    # Both change the code.
    specialize_captured_types!(ir, instances) | specialize_arrays!(ir, instances) && sharpen_calls!(ir, instances)
    ir = narrowed(something(with_open_tuples(ir, instances), ir), instances)
    boxes === nothing || check_boxes!(ir, mi, boxes, Dict(zip(statements_of_boxes(ir), numbers)))
    is_open(result) && type_recursion!(ir, mi, instances)
    is_open(result) && (result = typeintersect(result, returned_type(ir)))
    return instances.codes[mi] = (ci, result, ir)
end

"The code with what its branches say of types, and what follows from that."
function narrowed(ir, instances::Instances)
    found = with_narrowed_values(ir)
    found === nothing && return ir
    sharpen_calls!(found, instances)
    return found
end

"The type of what code returns, as its statements show."
function returned_type(ir)
    rows = columns(ir)
    returned = [stmt.val for stmt in rows.stmts if stmt isa ReturnNode && isdefined(stmt, :val)]
    return Union{argument_types(ir, rows, returned)...}
end

"""
    export_ircode(out, ir; name = "f")

Writes an IRCode as it is, valid or not, pending nodes included: a step of a transformation that is to be looked at.
"""
export_ircode(out, ir; name::String = "f") =
    write_dump(writer -> write_function(writer, name, Symbol[], false, Any, ir), out)

"""
    export_module(out, m = nothing; submodules = true)

Writes the code that Julia keeps of every compiled method instance of the methods defined in the module `m` (of all
modules if it is `nothing`) to the file or stream `out`. Returns how many functions and statements were written.
"""
function export_module(out, m::Union{Module,Nothing} = nothing; submodules::Bool = true)
    writer = write_dump(out) do writer
        each_instance(method -> m === nothing || inside(method.module, m, submodules)) do mi, cache
            code = inferred_code(mi, cache)
            code === nothing && return
            ci, result = code
            write_function(writer, mi, ci, result, ircode(ci, mi))
        end
    end
    return (functions = writer.functions, statements = writer.statements)
end

function inside(m::Module, outer::Module, submodules::Bool)
    m === outer && return true
    submodules || return false
    while parentmodule(m) !== m
        m = parentmodule(m)
        m === outer && return true
    end
    return false
end

"""
What Julia's own verifier would find too, of code that a dump cannot hold: `IR02` (columns of different lengths), `IR16`, `IR31`. See
bbkit's table of checks.
"""
struct InvalidCode <: Exception
    code::String
    message::String
end

Base.showerror(io::IO, e::InvalidCode) = print(io, e.code, ": ", e.message)

fault(code, message) = throw(InvalidCode(code, message))

"The method instance that a statement invokes."
function invoked(@nospecialize(stmt))
    stmt isa Expr && stmt.head === :invoke || return nothing
    return instance_of(stmt.args[1])
end

"""
The method instances that code calls, as far as that is known; also those that were found by the way since the last time: of which the run chooses one, and which may
come out of boxes or arrays.
"""
function called_instances(ir, instances::Instances)
    called = filter(mi -> mi !== nothing, Any[invoked(stmt) for stmt in columns(ir).stmts])
    append!(called, instances.chosen)
    empty!(instances.chosen)
    note_kept!(ir, instances) && append!(called, kept_instances(instances))
    return called
end

"The names of the arguments, the function itself left out."
function parameter_names(ci::Core.CodeInfo, mi::Core.MethodInstance)
    mi.def isa Method || return Symbol[]
    n = min(Int(mi.def.nargs), length(ci.slotnames))
    return ci.slotnames[2:n]
end

write_function(writer::Writer, mi::Core.MethodInstance, ci::Core.CodeInfo, @nospecialize(result), ir) =
    write_function(writer, call_text(mi), parameter_names(ci, mi), mi.def isa Method && mi.def.isva, result, ir)

function write_function(writer::Writer, name::String, parameters, varargs::Bool, @nospecialize(result), ir)
    while name in writer.names
        name = string(name, '\'')
    end
    push!(writer.names, name)
    io, rows = writer.buffer, columns(ir)
    print(io, writer.functions == 0 ? "\n" : ",\n", "{\"name\":")
    write_string(io, name)
    print(io, ",\"parameters\":[")
    each(io, parameters) do parameter
        text = string(parameter)
        startswith(text, '#') || isempty(text) ? print(io, "null") : write_string(io, text)
    end
    print(io, varargs ? "],\"varargs\":true,\"result\":" : "],\"result\":")
    write_type(writer, result)
    print(io, ",\"body\":{\"argtypes\":[")
    each(ty -> write_type(writer, ty), io, ir.argtypes)
    print(io, "],\"sptypes\":[")
    each(ty -> write_type(writer, ty), io, static_parameter_types(ir))
    print(io, "],\"julia\":\"", VERSION.major, ".", VERSION.minor, "\",\"debuginfo\":{\"linetable\":[")
    each(io, linetable(ir)) do row
        print(io, "{\"method\":")
        write_string(io, row.method)
        print(io, ",\"file\":")
        write_string(io, row.file)
        print(io, ",\"line\":", row.line, ",\"inlined_at\":", row.inlined_at, "}")
    end
    print(io, "]},\"meta\":[")
    each(stmt -> write_stmt(writer, stmt), io, ir.meta)
    print(io, "],\"blocks\":[")
    each(io, ir.cfg.blocks) do block
        print(io, "{\"statements\":[", first(block.stmts), ",", last(block.stmts), "],\"preds\":")
        write_numbers(io, block.preds)
        print(io, ",\"succs\":")
        write_numbers(io, block.succs)
        print(io, "}")
    end
    print(io, "],\"index\":")
    write_numbers(io, ir.cfg.index)
    print(io, ",\"statements\":[")
    each(io, 1:length(rows.stmts)) do i
        write_row(writer, rows.stmts[i], rows.types[i], rows.infos[i], rows.lines[i], rows.flags[i])
    end
    nodes = pending(ir)
    if !isempty(nodes)
        print(io, "],\"new_nodes\":[")
        each(io, nodes) do node
            print(io, "{\"anchor\":", node.pos, ",\"attach_after\":", node.attach_after, ",\"instruction\":")
            write_row(writer, node.stmt, node.type, node.info, node.line, node.flag)
            print(io, "}")
        end
    end
    print(io, "]}}")
    write(writer.io, take!(io))
    writer.functions += 1
    writer.statements += length(rows.stmts)
    # Constant memory however much is written.
    length(writer.texts) > 10_000 && empty!(writer.texts)
    return nothing
end

function write_row(writer::Writer, @nospecialize(stmt), @nospecialize(ty), @nospecialize(info), line, flag)
    io = writer.buffer
    print(io, "{\"stmt\":")
    write_stmt(writer, stmt)
    print(io, ",\"type\":")
    write_type(writer, ty)
    if info !== nothing
        print(io, ",\"info\":")
        write_string(io, string(nameof(typeof(info))))
    end
    if line[2] == 0 && line[3] == 0
        line[1] == 0 || print(io, ",\"line\":", line[1])
    else
        print(io, ",\"line\":[", line[1], ",", line[2], ",", line[3], "]")
    end
    flag == 0 || print(io, ",\"flag\":", flag)
    print(io, "}")
end

"Writes the items that `f` writes one by one, with commas between them."
function each(f, io::IO, items)
    for (i, item) in enumerate(items)
        i > 1 && print(io, ",")
        f(item)
    end
end

function write_numbers(io::IO, numbers)
    print(io, "[")
    each(n -> print(io, n), io, numbers)
    print(io, "]")
end

function write_type(writer::Writer, @nospecialize(ty))
    # What is made of arrays or objects is known by its name: these can be changed when the program runs.
    writer.values && ty isa CC.Const && !is_simple(ty.val) && !(ty.val isa Module) && (ty = typeof(ty.val))
    # Of what is known of some fields nothing is more than their types say.
    writer.values && ty isa CC.PartialStruct && (ty = CC.widenconst(ty))
    text = get!(() -> encode_string(type_text(ty)), writer.texts, ty)
    print(writer.buffer, text)
    writer.structs === nothing || note_structs(writer.structs, ty)
    return nothing
end

function write_stmt(writer::Writer, @nospecialize(stmt))
    io = writer.buffer
    operand(x) = write_operand(writer, x)
    if stmt isa Core.PhiNode
        length(stmt.edges) == length(stmt.values) ||
            fault("IR16", "a φ has $(length(stmt.edges)) edges, but $(length(stmt.values)) values")
        print(io, "{\"phi\":{\"entries\":[")
        each(io, 1:length(stmt.edges)) do i
            print(io, "{\"edge\":", stmt.edges[i])
            isassigned(stmt.values, i) && (print(io, ",\"value\":"); operand(stmt.values[i]))
            print(io, "}")
        end
        print(io, "]}}")
    elseif stmt isa Core.PiNode
        print(io, "{\"pi\":{\"value\":")
        operand(stmt.val)
        print(io, ",\"ty\":")
        write_type(writer, stmt.typ)
        print(io, "}}")
    elseif stmt isa Core.PhiCNode
        print(io, "{\"phic\":{\"values\":[")
        each(operand, io, stmt.values)
        print(io, "]}}")
    elseif stmt isa Core.UpsilonNode
        print(io, "{\"upsilon\":{")
        isdefined(stmt, :val) && (print(io, "\"value\":"); operand(stmt.val))
        print(io, "}}")
    elseif stmt isa Core.GotoNode
        print(io, "{\"goto\":{\"label\":", stmt.label, "}}")
    elseif stmt isa GotoIfNot
        print(io, "{\"goto_if_not\":{\"cond\":")
        operand(stmt.cond)
        print(io, ",\"dest\":", stmt.dest, "}}")
    elseif stmt isa ReturnNode
        print(io, "{\"return\":{")
        isdefined(stmt, :val) && (print(io, "\"value\":"); operand(stmt.val))
        print(io, "}}")
    elseif stmt isa EnterNode
        scope = isdefined(stmt, :scope)
        print(io, "{\"enter\":{")
        stmt.catch_dest == 0 || print(io, "\"catch_dest\":", stmt.catch_dest, scope ? "," : "")
        scope && (print(io, "\"scope\":"); operand(stmt.scope))
        print(io, "}}")
    elseif stmt isa Expr
        write_expr(writer, stmt)
    else
        print(io, "{\"value\":")
        operand(stmt)
        print(io, "}")
    end
    return nothing
end

function write_expr(writer::Writer, stmt::Expr)
    io, args = writer.buffer, stmt.args
    if stmt.head === :enter
        print(io, "{\"enter\":{\"catch_dest\":", args[1], "}}")
    elseif stmt.head === :call && !isempty(args)
        print(io, "{\"call\":{\"callee\":")
        write_callee(writer, args[1])
        write_args(writer, view(args, 2:length(args)))
    elseif stmt.head === :invoke && length(args) >= 2 && instance_of(args[1]) !== nothing
        write_invoke(writer, args)
    elseif stmt.head === :(=) && length(args) == 2 && args[1] isa GlobalRef
        print(io, "{\"expr\":{\"head\":\"=\",\"args\":[")
        write_global(io, args[1])
        print(io, ",")
        write_operand(writer, args[2])
        print(io, "]}}")
    else
        print(io, "{\"expr\":{\"head\":")
        write_string(io, string(stmt.head))
        write_args(writer, args)
    end
    return nothing
end

function write_args(writer::Writer, args)
    print(writer.buffer, ",\"args\":[")
    each(x -> write_operand(writer, x), writer.buffer, args)
    print(writer.buffer, "]}}")
end

instance_of(@nospecialize(target)) =
    target isa Core.MethodInstance ? target : target isa Core.CodeInstance ? instance_of(target.def) : nothing

function write_invoke(writer::Writer, args)
    io, mi = writer.buffer, instance_of(args[1])
    print(io, "{\"invoke\":{\"instance\":{\"argtypes\":[")
    sig = Base.unwrap_unionall(mi.specTypes)
    types = sig isa DataType ? sig.parameters : Core.svec()
    # What a vararg collects has no type of its own.
    known = min(length(types), length(args) - 1)
    each(i -> write_type(writer, types[i]), io, 2:known)
    print(io, "],\"name\":")
    text = get!(() -> encode_string(call_text(mi)), writer.texts, mi)
    print(io, text)
    args[1] isa Core.CodeInstance && print(io, ",\"code_instance\":true")
    print(io, "},\"callee\":")
    write_callee(writer, args[2])
    write_args(writer, view(args, 3:length(args)))
end

function write_operand(writer::Writer, @nospecialize(x))
    io = writer.buffer
    if x isa Core.SSAValue
        print(io, "{\"ssa\":", x.id, "}")
    elseif x isa Argument
        print(io, "{\"arg\":", x.n, "}")
    elseif x isa Union{Core.SlotNumber,CC.OldSSAValue,CC.NewSSAValue}
        fault("IR31", "$x is left over from an earlier stage of the compiler")
    elseif x isa GlobalRef && writer.values && is_value(x)
        print(io, "{\"constant\":")
        write_constant(writer, getfield(x.mod, x.name))
        print(io, "}")
    elseif x isa GlobalRef
        write_named(writer, x)
    elseif x isa QuoteNode
        print(io, "{\"quote\":")
        write_constant(writer, x.value)
        print(io, "}")
    elseif x isa Expr || x isa Core.PhiNode || x isa Core.PiNode
        print(io, "{\"nested\":")
        write_stmt(writer, x)
        print(io, "}")
    else
        print(io, "{\"constant\":")
        write_constant(writer, x)
        print(io, "}")
    end
    return nothing
end

"What is called is called by its name."
function write_callee(writer::Writer, @nospecialize(x))
    x isa GlobalRef || return write_operand(writer, x)
    writer.values && is_value(x) && getfield(x.mod, x.name) isa Function && return write_operand(writer, x)
    write_named(writer, x)
end

"Names a global, or the constant that it is."
function write_named(writer::Writer, x::GlobalRef)
    known = writer.values ? note_constant!(writer.constants, x) : nothing
    known === nothing ? write_global(writer.buffer, x) : write_path(writer.buffer, known...)
end

global_path(x::GlobalRef) = string(path_of_global(x), ".", x.name)

write_global(io::IO, x::GlobalRef) = write_path(io, path_of_global(x), string(x.name))

"The path of the module by which a global is named."
function path_of_global(x::GlobalRef)
    f = isdefined(x.mod, x.name) ? getfield(x.mod, x.name) : nothing
    hides_library(f) && nameof(f) === x.name && return OWN_PATH
    return module_path(global_module(x))
end

function write_path(io::IO, path::String, name::String)
    print(io, "{\"global\":{\"module\":")
    write_string(io, path)
    print(io, ",\"name\":")
    write_string(io, name)
    print(io, "}}")
    return nothing
end

"""
The module by which a global is named: that of the reference where it is Julia's or has the name itself, else the one from which
the name was imported.
"""
function global_module(x::GlobalRef)
    first(fullname(x.mod)) in (:Base, :Core) && return x.mod
    isdefined(x.mod, x.name) || return x.mod
    for m in (Base, Core)
        (Base.isexported(m, x.name) || m === Core) && isdefined(m, x.name) && getfield(m, x.name) === getfield(x.mod, x.name) && return m
    end
    return x.mod
end

function write_constant(writer::Writer, @nospecialize(x))
    io = writer.buffer
    member(kind) = (print(io, "{\"", kind, "\":"); true)
    if x === nothing
        print(io, "null")
    elseif x isa Bool
        print(io, x)
    elseif x isa MachineNumber
        print(io, "{\"", typeof(x), "\":", number_text(x), "}")
    elseif x isa Char
        print(io, "{\"Char\":", number_text(x), "}")
    elseif x isa String && isvalid(x)
        member("String")
        write_string(io, x)
        print(io, "}")
    elseif x isa Symbol
        member("Symbol")
        write_string(io, string(x))
        print(io, "}")
    elseif x isa Type
        member("Type")
        write_type(writer, x)
        print(io, "}")
    elseif (x isa Function && is_global_function(x)) || x isa Core.IntrinsicFunction
        member("Function")
        write_string(io, function_text(x))
        print(io, "}")
    elseif x isa Core.SSAValue && 0 <= x.id <= typemax(UInt32)
        print(io, "{\"SSAValue\":", x.id, "}")
    elseif x isa Tuple && length(x) <= LONGEST
        member("Tuple")
        write_constants(writer, x)
        print(io, "}")
    elseif x isa NamedTuple && length(x) <= LONGEST
        member("NamedTuple")
        print(io, "[")
        each(io, 1:length(x)) do i
            print(io, "[")
            write_string(io, string(keys(x)[i]))
            print(io, ",")
            write_constant(writer, x[i])
            print(io, "]")
        end
        print(io, "]}")
    elseif x isa Core.SimpleVector
        member("SimpleVector")
        write_constants(writer, x)
        print(io, "}")
    else
        member("Text")
        made = writer.values && is_made_of_fields(x)
        made && writer.structs !== nothing && note_structs(writer.structs, typeof(x))
        write_string(io, made ? value_text(x) : object_text(x))
        print(io, "}")
    end
    return nothing
end

function write_constants(writer::Writer, items)
    print(writer.buffer, "[")
    each(x -> write_constant(writer, x), writer.buffer, items)
    print(writer.buffer, "]")
end

"A number in JSON: as text where JSON has none such."
function number_text(x::Integer)
    small = -(Int128(2)^53) < x < Int128(2)^53
    return small ? string(Int128(x)) : string("\"", x, "\"")
end
# As Julia holds it: the bytes of UTF-8, the first in the highest bits.
number_text(x::Char) = string(reinterpret(UInt32, x))
function number_text(x::Base.IEEEFloat)
    isinf(x) && return x > 0 ? "\"Infinity\"" : "\"-Infinity\""
    x === -zero(x) && return "\"-0.0\""
    # Every Float16 and Float32 is a Float64.
    isnan(x) || return string(Float64(x))
    bits = reinterpret(x isa Float64 ? UInt64 : x isa Float32 ? UInt32 : UInt16, x)
    usual = reinterpret(typeof(bits), typeof(x)(NaN))
    return bits === usual ? "\"NaN\"" : string("\"0x", string(bits, base = 16, pad = 2sizeof(x)), "\"")
end

"The text of an object that JSON has no form for, as Julia shows it."
function object_text(@nospecialize(x))
    x isa Module && return module_path(x)
    x isa Base.EnvDict && return "Base.ENV"
    x isa Core.MethodInstance && return string("MethodInstance for ", call_text(x))
    x isa Union{Method,Core.CodeInfo,Core.CodeInstance} && return string(nameof(typeof(x)))
    text = try
        sprint(show, x, context = :limit => true)
    catch
        string("a ", type_text(typeof(x)))
    end
    return isvalid(text) ? text : string("a ", type_text(typeof(x)))
end

write_string(io::IO, text::AbstractString) = print(io, encode_string(text))

"A JSON string; what is no UTF-8 is replaced."
function encode_string(text::AbstractString)
    io = IOBuffer()
    print(io, '"')
    for c in text
        if c == '"'
            print(io, "\\\"")
        elseif c == '\\'
            print(io, "\\\\")
        elseif !isvalid(c)
            print(io, '\ufffd')
        elseif c < ' '
            print(io, "\\u", string(UInt16(c), base = 16, pad = 4))
        else
            print(io, c)
        end
    end
    print(io, '"')
    return String(take!(io))
end

"Notes a struct type and those of its fields."
function note_structs(structs, @nospecialize(ty))
    ty = CC.widenconst(ty)
    ty isa Union && (note_structs(structs, ty.a); note_structs(structs, ty.b); return)
    (ty isa DataType && isconcretetype(ty) && !haskey(structs, ty)) || return
    # Tuples, arrays, references and what has no fields are known by their names.
    if ty <: Tuple || ty <: NamedTuple || ty <: Base.RefValue
        foreach(field -> note_structs(structs, field), fieldtypes(ty))
        return
    end
    is_plain_number(ty) && (structs[ty] = nothing; return)
    (fieldcount(ty) > 0 || (isdefined(ty, :instance) && !(ty <: Function && is_global_function(ty.instance)) && ty !== Nothing)) || return
    ty <: Union{Type,Symbol,String,Module,Core.SimpleVector,Core.MethodInstance,Method,Core.TypeName} && return
    structs[ty] = nothing
    foreach(field -> note_structs(structs, field), fieldtypes(ty))
end

"The abstract types above a type, the nearest first, without Any."
function types_above(ty)
    above = []
    while (ty = supertype(ty)) !== Any
        push!(above, ty)
    end
    return above
end

function write_global_constant(writer::Writer, constant::GlobalConstant)
    io = writer.buffer
    print(io, "\n{\"const\":{\"name\":", encode_string(constant.name), ",\"type\":", encode_string(type_text(constant.type)))
    constant.size === nothing || (print(io, ",\"size\":"); write_numbers(io, constant.size))
    if is_number_array(constant.parts)
        print(io, ",\"elements\":[")
        each(x -> print(io, number_text(x)), io, constant.parts)
    else
        print(io, ",\"parts\":[")
        each(part -> write_part(writer, part), io, constant.parts)
    end
    print(io, "]}}")
end

function write_part(writer::Writer, part)
    io = writer.buffer
    if part === nothing
        print(io, "\"undefined\"")
    elseif part isa Ref
        print(io, "{\"constant\":")
        write_constant(writer, part[])
        print(io, "}")
    else
        write_path(io, part...)
    end
end

"Notes the structs of the constants, for their declarations."
function note_structs_of_constants(writer::Writer)
    for constant in writer.constants.list
        note_structs(writer.structs, constant.type)
        constant.type <: Array && note_structs(writer.structs, eltype(constant.type))
        is_number_array(constant.parts) && continue
        for part in constant.parts
            part isa Ref && note_structs(writer.structs, typeof(part[]))
        end
    end
end

"Ends a dump with what it declares: structs that were named, and global constants."
function write_types(writer::Writer)
    io = writer.buffer
    note_structs_of_constants(writer)
    defs = sort!([(type_text(ty), ty) for ty in keys(writer.structs)], by = first)
    foreach(check_told_apart, keys(writer.structs))
    print(io, ",\"types\":[")
    each(io, defs) do (text, ty)
        print(io, "\n{\"struct\":{\"name\":")
        write_string(io, text)
        print(io, ",\"supertypes\":[")
        each(above -> write_string(io, type_text(above)), io, types_above(ty))
        print(io, "]")
        mutable = isdefined(Base, :ismutabletype) ? Base.ismutabletype(ty) : ty.mutable
        mutable && print(io, ",\"mutable\":true")
        print(io, ",\"fields\":[")
        each(io, enumerate(declared_fields(ty))) do (i, (name, type))
            type = get(writer.fields, (ty, i), type)
            print(io, "[")
            write_string(io, string(name))
            print(io, ",")
            print(io, encode_string(type_text(type)))
            print(io, "]")
        end
        print(io, "]}}")
    end
    constants = writer.constants.list
    isempty(defs) || isempty(constants) || print(io, ",")
    each(constant -> write_global_constant(writer, constant), io, constants)
    print(io, "]")
    write(writer.io, take!(io))
    return nothing
end
