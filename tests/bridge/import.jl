# Imports the dumps that bbkit wrote, calls them as export.jl called the originals, and compares. Prints a line a function
# and exits with an error if one differs.

include(joinpath(@__DIR__, "..", "..", "julia", "BBKit.jl"))
include("functions.jl")

same(a, b) = a === b || isequal(a, b) || typeof(a) === typeof(b) && fieldcount(typeof(a)) > 0 && !(a isa Union{String,Symbol,Array}) &&
             all(same(getfield(a, i), getfield(b, i)) for i in 1:fieldcount(typeof(a)))

function outcome(f, args)
    args = deepcopy(args)
    try
        (f(args...), args)
    catch e
        (typeof(e), args)
    end
end

folder, failed = ARGS[1], 0
for entry in Functions.calls(), suffix in ("json", "passes.json")
    name, f, types, calls = entry[1:4]
    problem = try
        path = joinpath(folder, "$name.$suffix")
        imported = BBKit.import_function(path, BBKit.read_dump(path).order[1])
        differing = [args for args in calls if !same(outcome(f, args), outcome(imported, args))]
        isempty(differing) ? "" : string("differs on ", differing, ": ", outcome(imported, differing[1]), ", not ", outcome(f, differing[1]))
    catch e
        string("fails: ", sprint(showerror, e))
    end
    global failed += !isempty(problem)
    println(isempty(problem) ? "same" : "not the same", " ", name, isempty(problem) ? "" : ": ", problem)
end

# Gradients that bbkit made, called here, against differences.
for file in readdir(folder)
    endswith(file, ".gradient.json") || continue
    name = replace(file, ".gradient.json" => "")
    (_, f, types, calls) = Functions.calls()[findfirst(entry -> entry[1] == name, Functions.calls())]
    problem = try
        dump = BBKit.read_dump(joinpath(folder, file))
        gradient = BBKit.import_function(dump, dump.order[1])
        found = ""
        for args in calls
            value, cotangents = Base.first(gradient(args...)), Base.tail(gradient(args...))
            value === f(args...) || (found = "the value is $value, not $(f(args...))")
            for (i, (arg, cotangent)) in enumerate(zip(args, cotangents))
                arg isa AbstractFloat || continue
                h = cbrt(eps(typeof(arg)))
                moved(d) = f((j == i ? oftype(a, a + d) : a for (j, a) in enumerate(args))...)
                difference = (moved(h) - moved(-h)) / 2h
                isapprox(cotangent, difference, rtol = 1e-3, atol = 1e-3) ||
                    (found = "d/d_$(i + 1) at $args is $cotangent, not $difference")
            end
        end
        found
    catch e
        string("fails: ", sprint(showerror, e))
    end
    global failed += !isempty(problem)
    println(isempty(problem) ? "same" : "not the same", " gradient of ", name, isempty(problem) ? "" : ": ", problem)
end
exit(failed == 0 ? 0 : 1)
