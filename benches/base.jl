# Exports Base's compiled functions to the file given, and prints how many nanoseconds Julia's own compaction takes a statement on
# the same functions.

include(joinpath(@__DIR__, "..", "julia", "BBKit.jl"))

codes = Any[]
open(ARGS[1], "w") do io
    BBKit.write_dump(io) do writer
        BBKit.each_instance(method -> BBKit.inside(method.module, Base, true)) do mi, cache
            ci = BBKit.cached_code(mi, cache)
            ci === nothing && return
            ir = BBKit.ircode(ci, mi)
            BBKit.write_function(writer, mi, ci, cache.rettype, ir)
            push!(codes, ir)
        end
    end
end

function compact_all(codes)
    for ir in codes
        BBKit.CC.compact!(BBKit.CC.copy(ir))
    end
end

statements = sum(ir -> length(BBKit.columns(ir).stmts), codes)
compact_all(codes)
times = [@elapsed(compact_all(codes)) for _ in 1:3]
println(round(minimum(times) * 1e9 / statements, digits = 1))
