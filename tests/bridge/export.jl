# Writes the dumps of all functions of functions.jl into the folder given, as NAME.json without callees, NAME.callees.json
# with them, and what Julia computes into calls.json.

include(joinpath(@__DIR__, "..", "..", "julia", "BBKit.jl"))
include("functions.jl")

"A value as bbkit's command line writes it."
json(x::Union{Nothing,Bool,Int8,Int16,Int32,Int64,UInt8,UInt16,UInt32,UInt64}) = x === nothing ? "null" : string(x)
json(x::Union{Float32,Float64}) = isfinite(x) ? string(Float64(x)) : repr(string(x))
json(x::AbstractString) = BBKit.encode_string(x)
json(x::Symbol) = json(string(x))
json(x::Union{Tuple,Vector}) = string('[', join(map(json, x), ','), ']')
json(x::Matrix) = string('[', join([json(x[:, i]) for i in axes(x, 2)], ','), ']')
json(x) = string('{', join([string(json(f), ':', json(getfield(x, f))) for f in fieldnames(typeof(x))], ','), '}')

function outcome(f, args)
    args = deepcopy(args)
    result = try
        string("\"value\":", json(f(args...)))
    catch e
        string("\"error\":", json(string(nameof(typeof(e)))))
    end
    return string("{", result, ",\"args\":", json(args), "}")
end

# What a dump cannot hold is refused, with the code of the check in Julia's verifier.
function refused(change)
    ir = BBKit.ircode(code_typed(Functions.absolute, (Float64,))[1][1], nothing)
    change(ir)
    try
        BBKit.export_ircode(IOBuffer(), ir)
    catch e
        e isa BBKit.InvalidCode && return e.code
    end
    return "nothing"
end

if VERSION < v"1.6-"
    @assert refused(ir -> nothing) == "nothing"
    @assert refused(ir -> push!(ir.types, Any)) == "IR02"
    @assert refused(ir -> ir.stmts[1] = Core.PhiNode(Any[1], Any[])) == "IR16"
    @assert refused(ir -> ir.stmts[1] = BBKit.CC.OldSSAValue(1)) == "IR31"
end

folder = ARGS[1]
open(joinpath(folder, "calls.json"), "w") do io
    println(io, "[")
    for (i, entry) in enumerate(Functions.calls())
        (name, f, types, calls), marks = entry[1:4], entry[5:end]
        BBKit.export_function(joinpath(folder, "$name.json"), f, types)
        BBKit.export_function(joinpath(folder, "$name.callees.json"), f, types; callees = true)
        print(io, i > 1 ? ",\n" : "", "{\"name\":", json(name), ",\"marks\":", json(map(string, marks)), ",\"calls\":[")
        print(io, join([string("{\"args\":", json(args), ",\"outcome\":", outcome(f, args), "}") for args in calls], ","))
        print(io, "]}")
    end
    println(io, "\n]")
end
