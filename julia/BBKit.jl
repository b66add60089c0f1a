# The bridge between Julia and bbkit: `include` this file in Julia 1.5 or later.
#
#     include("julia/BBKit.jl")
#     BBKit.export_function("f.json", f, (Float64, Int64); callees = true)
#     g = BBKit.import_function("f.json", "f")
#
# What is exported is the IRCode that the compiler works on, all columns of it, as the JSON that `bbkit` reads.
# See README.md in this folder.
module BBKit

const CC = Core.Compiler

# Nodes that moved from the compiler to Core between versions.
from_core_or_compiler(name) = isdefined(Core, name) ? getfield(Core, name) : getfield(CC, name)
const GotoIfNot = from_core_or_compiler(:GotoIfNot)
const ReturnNode = from_core_or_compiler(:ReturnNode)
const Argument = from_core_or_compiler(:Argument)
const EnterNode = isdefined(Core, :EnterNode) ? getfield(Core, :EnterNode) : Union{}

include("names.jl")
include("ir.jl")
include("portable.jl")
include("values.jl")
include("constants.jl")
include("boxes.jl")
include("fields.jl")
include("types_below.jl")
include("instances.jl")
include("elements.jl")
include("captured.jl")
include("tuples.jl")
include("branches.jl")
include("settled.jl")
include("addresses.jl")
include("logging.jl")
include("threads.jl")
include("assertions.jl")
include("latest.jl")
include("export.jl")
include("json.jl")
include("import.jl")
include("callable.jl")
include("runtime.jl")

end
