# How Julia's objects are called in a dump: types, modules, functions and method instances as text that Julia reads back.

"The path of a module, its parts joined by points."
module_path(m::Module) = join(string.(fullname(m)), '.')

"A type, or an element of the compiler's lattice, as Julia prints it."
function type_text(@nospecialize(ty))
    shows_environment(ty) && return "Core.Compiler.Const(Base.ENV, false)"
    text = repr(ty)
    for f in functions_in(ty)
        isdefined(f, :instance) && hides_library(f.instance) || continue
        text = replace(text, string("typeof(", repr(f.instance), ")") => string("typeof(", function_text(f.instance), ")"))
    end
    return text
end

# The environment prints with all that is in it, which is nobody's business.
shows_environment(@nospecialize(ty)) =
    ty isa CC.Const && (ty.val isa Base.EnvDict || ty.val isa Tuple && any(x -> x isa Base.EnvDict, ty.val))

"Whether `f` is what the name of its type's method table means in the module of that table."
function is_global_function(@nospecialize(f))
    ty = typeof(f)
    (isdefined(ty, :instance) && ty.instance === f) || return false
    name, mod = function_name(f), parentmodule(ty)
    return isdefined(mod, name) && getfield(mod, name) === f
end

function_name(@nospecialize(f)) = f isa Core.IntrinsicFunction ? Symbol(string(f)) : nameof(f)

"""
    call_text(mi) -> String

What a method instance is called in a dump: `sin(::Float64)`, a call of the argument types, in Julia's syntax. An
instance that dispatch would not choose for its types says in addition where its method stands.
"""
function call_text(mi::Core.MethodInstance)
    method = mi.def
    method isa Module && return string("thunk of ", module_path(method))
    sig = Base.unwrap_unionall(mi.specTypes)
    text = call_text(sig, mi.specTypes)
    return dispatched_method(mi.specTypes) === method ? text :
           string(text, " @ ", module_path(method.module), " ", method.file, ":", method.line)
end

function call_text(@nospecialize(sig), @nospecialize(whole))
    sig isa DataType || return repr(whole)
    io = IOBuffer()
    params = sig.parameters
    isempty(params) && return repr(whole)
    print(io, callee_text(params[1]), "(")
    for i in 2:length(params)
        i > 2 && print(io, ", ")
        print(io, "::", type_text(params[i]))
    end
    print(io, ")")
    # A signature with type variables says which.
    ty = whole
    while ty isa UnionAll
        print(io, " where ", sprint(show, ty.var))
        ty = ty.body
    end
    return String(take!(io))
end

function callee_text(@nospecialize(ty))
    if ty isa DataType && isdefined(ty, :instance) && ty.instance isa Function && is_global_function(ty.instance)
        return function_text(ty.instance)
    elseif ty isa DataType && ty.name === Type.body.name && !(ty.parameters[1] isa TypeVar)
        return type_text(ty.parameters[1])
    end
    return string("(::", type_text(ty), ")")
end

"The name of a function object, by which Julia reads it back."
function_text(@nospecialize(f)) = hides_library(f) ? string(OWN_PATH, ".", nameof(f)) : repr(f)

"The path by which the program's own functions are named where `Main` alone would not tell them from those of Julia's library, which have names there, too."
const OWN_PATH = "Main.Main"

"Names of functions that bbkit knows and that packages have, not Julia's Base."
const OF_PACKAGES = (:dot, :erf, :erfc)

"Whether a function of `Main` has the name of another one in Julia's library."
hides_library(@nospecialize(f)) =
    f isa Function && parentmodule(typeof(f)) === Main && is_global_function(f) && (isdefined(Base, nameof(f)) || nameof(f) in OF_PACKAGES)

"The method that a call of these types dispatches to; `nothing` if there is none, or more than one."
function dispatched_method(@nospecialize(sig))
    VERSION < v"1.6-" || return try
        which(sig)
    catch
        nothing
    end
    # Faster than `which`, which is asked for every method instance of a dump.
    entry = ccall(:jl_gf_invoke_lookup, Any, (Any, UInt), sig, typemax(UInt))
    return entry isa Method ? entry : entry === nothing ? nothing : entry.func
end
