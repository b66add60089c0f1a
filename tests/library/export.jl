# Writes into the folder given library.json, the code of all functions of functions.jl and of the other files here, and of what they call, and the code of
# those of the files that have their own, as mixed_containers.json, and cases.json, the arguments of all with Julia's value and the gradient: `scripts/julia tests/library/export.jl tests/library`.
#
# Gradients are central differences in 1000-bit arithmetic, so they are right to the last bit of a Float64.

include(joinpath(@__DIR__, "..", "..", "julia", "BBKit.jl"))
# By its name alone, which the dumps repeat.
include_string(Main, read(joinpath(@__DIR__, "functions.jl"), String), "functions.jl")
foreach(name -> include_string(Library, read(joinpath(@__DIR__, name), String), name), ["short_cuts.jl", "open_types.jl", "captured.jl", "own_vectors.jl", "open_tuples.jl", "several_types.jl", "types_below.jl", "three_dimensions.jl", "one_thread.jl", "own_names.jl", "ranges.jl"])
using .Library: FUNCTIONS
const DUMPS = ["library.json" => FUNCTIONS[:]]
# Those that put much in arrays of the same types, of which a dump knows what it puts in them.
for name in ["mixed_containers", "called_in_try", "integers_among_floats", "objects_of_objects"]
    before = length(FUNCTIONS)
    include_string(Library, read(joinpath(@__DIR__, "$name.jl"), String), "$name.jl")
    push!(DUMPS, "$name.json" => FUNCTIONS[before+1:end])
end
allunique(first.(FUNCTIONS)) || error("two functions have the same name")

setprecision(BigFloat, 1000)
const STEP = big(10.0)^-100

"A value as bbkit's command line writes it."
json(x::Nothing) = "null"
json(x::Union{Float64,Int64}) = string(x)
json(x::Union{Vector,Tuple}) = string('[', join(map(json, x), ','), ']')
json(x::Matrix) = string('[', join([json(x[:, i]) for i in axes(x, 2)], ','), ']')

long(x::Int64) = x
long(x) = map(big, x)

"The gradient for argument k: one number, or one for each element."
function partial(f, args, k)
    x = args[k]
    x isa Int64 && return nothing
    shifted(by) = Float64((f(Base.setindex(args, by(STEP), k)...) - f(Base.setindex(args, by(-STEP), k)...)) / (2STEP))
    x isa BigFloat && return shifted(h -> x + h)
    return [shifted(h -> (y = copy(x); y[i] += h; y)) for i in CartesianIndices(x)]
end

"The method instances that code invokes. Left out is what never returns: it only builds exceptions and their texts."
function called_that_return(ir, instances)
    rows = BBKit.columns(ir)
    never = [BBKit.invoked(stmt) for (stmt, type) in zip(rows.stmts, rows.types) if type === Union{}]
    return filter(callee -> !(callee in never), BBKit.called_instances(ir, instances))
end

# One dump for all that may share one, as they call much the same. Where each statement was written takes half of the space.
for (file, functions) in DUMPS
    roots = Any[BBKit.instance(Tuple{typeof(f),map(typeof, args)...}) for (_, f, args) in functions]
    dump = sprint(io -> BBKit.export_codes(io, BBKit.portable_codes(roots, called_that_return)))
    dump = replace(dump, r"\"linetable\":\[[^\[\]]*\]" => "\"linetable\":[]")
    dump = replace(dump, r",\"line\":(\[[0-9,]*\]|[0-9]+)(?=[,}])" => "")
    write(joinpath(ARGS[1], file), dump)
end

open(joinpath(ARGS[1], "cases.json"), "w") do io
    print(io, "[")
    for (i, (name, f, args)) in enumerate(FUNCTIONS)
        wide = map(long, args)
        gradient = ntuple(k -> partial(f, wide, k), length(args))
        print(io, i > 1 ? "," : "", "\n{\"name\":\"", name, "\",\"args\":", json(args))
        print(io, ",\"value\":", json(f(deepcopy(args)...)), ",\"gradient\":", json(gradient), "}")
    end
    println(io, "\n]")
end
