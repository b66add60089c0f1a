# Writes the dump of each kernel into the folder given: `scripts/julia tests/kernels/export.jl tests/kernels`.
#
# Only with the code of what is defined beside it: sine, exponential and so on stay calls, which mean bbkit's primitives.

include(joinpath(@__DIR__, "..", "..", "julia", "BBKit.jl"))
# By its name alone, which the dumps repeat.
include_string(Main, read(joinpath(@__DIR__, "kernels.jl"), String), "kernels.jl")

"The method instances that the code of these invokes, directly or not, as far as they are of the module of the kernels."
function with_own_callees(roots)
    for mi in roots
        code = BBKit.inferred_code(mi)
        for stmt in BBKit.columns(BBKit.ircode(code[1], mi)).stmts
            callee = BBKit.invoked(stmt)
            callee === nothing || callee in roots || callee.def.module === Kernels && push!(roots, callee)
        end
    end
    return roots
end

for kernel in Kernels.KERNELS
    name = replace(string(nameof(kernel)), "k_" => "")
    root = BBKit.instance(Tuple{typeof(kernel),Vector{Float64},Vector{Float64},Int64})
    BBKit.export_instances(joinpath(ARGS[1], "$name.json"), with_own_callees(Any[root]))
end
