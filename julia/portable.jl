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
const Eigen = loaded(:Eigen, Union{})
const Cholesky = loaded(:Cholesky, Union{})
const QRCompactWY = loaded(:QRCompactWY, Union{})

const OfElements{T} = Union{Matrix{T},SubArray{T,2}}
const Flipped = isempty(LOADED) ? Array{T,0} where T :
    Union{loaded(:Adjoint, Any){T,<:OfElements{T}},loaded(:Transpose, Any){T,<:OfElements{T}}} where T

const RealSymmetric = isempty(LOADED) ? Union{} :
    Union{loaded(:Symmetric, Any){T,Matrix{T}} where {T<:Union{Float32,Float64}},loaded(:Hermitian, Any){T,Matrix{T}} where {T<:Union{Float32,Float64}}}
# What `cholesky!` factorizes.
const Symmetric = isempty(LOADED) ? Union{} : Union{RealSymmetric,loaded(:Hermitian, Any){T,Matrix{T}} where {T<:Union{ComplexF32,ComplexF64}}}
const symmetric = loaded(:Symmetric, identity)
# The order of eigenvalues, if none is asked for.
const Ascending = isempty(LOADED) ? Nothing : typeof(first(LOADED).eigsortby)

"Elements of the tuple with which an object starts, in the place of what is read and written by its address."
element_of(object, i) = getfield(object, 1)[i]
set_element_of!(object, value, i) = (setfield!(object, 1, Base.setindex(getfield(object, 1), value, i)); nothing)

include("open_tuple.jl")
include("splats.jl")
include("linear_algebra.jl")
include("base.jl")
include("sort.jl")

"""
The method instance whose code a dump has in the place of this one's: of the function of the same name here, if there is one for such
arguments.
"""
function instance(mi::Core.MethodInstance)
    mi.def isa Method || return mi
    path = fullname(mi.def.module)
    path in ((:Base,), (:Base, :Broadcast), (:Base, :Math), (:Base, :Sort), (:LinearAlgebra,), (:LinearAlgebra, :BLAS), (:LinearAlgebra, :LAPACK)) || return mi
    of_base = Base.isoperator(mi.def.name) ? OperatorsOfBase : OfBase
    types = Base.unwrap_unionall(mi.specTypes)
    types isa DataType || return mi
    arguments = types.parameters[2:end]
    exact = all(parentmodule(@__MODULE__).is_one_type, arguments)
    if types.parameters[1] === Type{Dict} && exact && hasmethod(OfBase.dictionary, Tuple{arguments...})
        return parentmodule(@__MODULE__).instance(Tuple{typeof(OfBase.dictionary),arguments...})
    end
    here = path === (:Base,) ? of_base : getfield(@__MODULE__, last(path))
    # What has keywords calls a function of its own, which Julia gives a number. The keywords are its first arguments, then comes the function itself.
    with_keywords = match(r"^#(.+)#\d+$", String(mi.def.name))
    name = with_keywords === nothing ? mi.def.name : Symbol(with_keywords[1])
    isdefined(here, name) || return mi
    f = getfield(here, name)
    # A function of its own: what it only uses stays what it is.
    f isa Function && parentmodule(f) === here || return mi
    exact && hasmethod(f, Tuple{arguments...}) || return mi
    return parentmodule(@__MODULE__).instance(Tuple{typeof(f),arguments...})
end

end
