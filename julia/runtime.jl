# What functions that bbkit made need when they run: the stacks of a derivative.

"What a derivative saves on its way forward."
struct Stack{T}
    values::Vector{T}
end

new_stack(::Type{T}) where {T} = Stack{T}(T[])
stack_push!(stack::Stack, value) = (push!(stack.values, value); nothing)
stack_length(stack::Stack) = length(stack.values)
stack_get(stack::Stack, i::Int64) = stack.values[i]

"What a call of a function in the module `libm`, which bbkit's rules use, means here."
libm(name::Symbol) = isdefined(Base, name) ? getfield(Base, name) : getfield(Base.Math, name)
