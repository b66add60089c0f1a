# Functions of Julia's library that a dump has others in the place of, so that it can be run, differentiated and compiled away from this Julia. Results may
# differ in the last places.
#
# Each has the name, the arguments and the result of the function that it stands for, and stands in a module of the same name. What is not here stays as it is.
module Portable

# In the image of most versions; a package must not be loaded for this.
const LOADED = filter(m -> nameof(m) === :LinearAlgebra, Base.loaded_modules_array())
loaded(name, otherwise) = isempty(LOADED) ? otherwise : getfield(first(LOADED), name)
const SingularException = loaded(:SingularException, DomainError)
const PosDefException = loaded(:PosDefException, DomainError)
const LU = loaded(:LU, Union{})
const Cholesky = loaded(:Cholesky, Union{})
const QRCompactWY = loaded(:QRCompactWY, Union{})

const Flipped = isempty(LOADED) ? Union{} :
    Union{loaded(:Adjoint, Any){T,Matrix{T}} where T,loaded(:Transpose, Any){T,Matrix{T}} where T}

# What `cholesky!` factorizes.
const Symmetric = isempty(LOADED) ? Union{} :
    Union{loaded(:Symmetric, Any){T,Matrix{T}} where {T<:Union{Float32,Float64}},
          loaded(:Hermitian, Any){T,Matrix{T}} where {T<:Union{Float32,Float64,ComplexF32,ComplexF64}}}

"Functions that with many arguments do what they do with two, again and again."
const Folded = Union{typeof(+),typeof(*),typeof(max),typeof(min),typeof(hcat),typeof(vcat)}

"What a call of the function with all these arguments gives."
fold(f, elements) = foldl(f, elements)
fold(f::Union{typeof(hcat),typeof(vcat)}, elements) = fold(f, collect(elements))
fold(f::Union{typeof(hcat),typeof(vcat)}, elements::Vector{<:AbstractVecOrMat}) = reduce(f, elements)
fold(::typeof(vcat), elements::Vector{<:Number}) = copy(elements)
fold(::typeof(hcat), elements::Vector{<:Number}) = reshape(copy(elements), 1, length(elements))

"Whether such a call with the elements of values of this type can be written as a fold."
can_fold(f, @nospecialize(ty)) = f isa Folded && isconcretetype(ty) && !(ty <: Tuple)
function can_fold(f::Union{typeof(hcat),typeof(vcat)}, @nospecialize(ty))
    isconcretetype(ty) && !(ty <: Tuple) || return false
    return Base.promote_op(collect, ty) <: Union{Vector{<:AbstractVecOrMat},Vector{<:Number}}
end

include("linear_algebra.jl")
include("base.jl")

"""
The method instance whose code a dump has in the place of this one's: of the function of the same name here, if there is one for such
arguments.
"""
function instance(mi::Core.MethodInstance)
    mi.def isa Method || return mi
    path = fullname(mi.def.module)
    path in ((:Base,), (:LinearAlgebra,), (:LinearAlgebra, :BLAS), (:LinearAlgebra, :LAPACK)) || return mi
    of_base = Base.isoperator(mi.def.name) ? OperatorsOfBase : OfBase
    here = path === (:Base,) ? of_base : getfield(@__MODULE__, last(path))
    # What has keywords calls a function of its own, which Julia gives a number.
    with_keywords = match(r"^(#.+)#\d+$", String(mi.def.name))
    name = with_keywords === nothing ? mi.def.name : Symbol(with_keywords[1])
    isdefined(here, name) || return mi
    f = getfield(here, name)
    # A function of its own: what it only uses stays what it is.
    f isa Function && parentmodule(f) === here || return mi
    types = Base.unwrap_unionall(mi.specTypes)
    types isa DataType || return mi
    arguments = types.parameters[2:end]
    all(isconcretetype, arguments) && hasmethod(f, Tuple{arguments...}) || return mi
    return parentmodule(@__MODULE__).instance(Tuple{typeof(f),arguments...})
end

end
