# More functions: objects whose fields hold others of which their type only says that they are of an abstract one, some of whose types have parameters. Evaluated in the module of functions.jl.

module ObjectsOfObjects
    # Expressions.
    abstract type Term end
    struct Sum <: Term; l::Term; r::Term; end
    struct Product <: Term; l::Term; r::Term; end
    struct Variable <: Term; end
    struct Number{T} <: Term; c::T; end
    struct Applied{F} <: Term; f::F; of::Term; end
    value(::Variable, x) = x
    value(c::Number, x) = c.c
    value(a::Sum, x) = value(a.l, x) + value(a.r, x)
    value(a::Product, x) = value(a.l, x) * value(a.r, x)
    value(a::Applied, x) = a.f(value(a.of, x))

    # Functions in a chain.
    struct Layered; f::Function; next::Union{Nothing,Layered}; end
    through(l::Layered, x) = l.next === nothing ? l.f(x) : through(l.next, l.f(x))

    # Shapes with a parameter.
    abstract type Shape{T} end
    struct Circle{T} <: Shape{T}; r::T; end
    struct Rectangle{T} <: Shape{T}; a::T; b::T; end
    struct Both{T} <: Shape{T}; s::Shape{T}; t::Shape{T}; end
    area(c::Circle) = 3.0 * c.r^2
    area(r::Rectangle) = r.a * r.b
    area(b::Both) = area(b.s) + area(b.t)

    # A list whose type says nothing of what follows.
    mutable struct Node{T}; v::T; next::Any; end
    total(n::Node) = n.v^2 + (n.next === nothing ? 0.0 : total(n.next))
end
import .ObjectsOfObjects
const Objects = ObjectsOfObjects
@case("sum_in_a_sum", x -> Objects.value(Objects.Sum(Objects.Number(x), Objects.Sum(Objects.Variable(), Objects.Variable())), x), 1.3)
@case("products_and_sums", x -> Objects.value(Objects.Product(Objects.Number(2.0), Objects.Sum(Objects.Variable(), Objects.Product(Objects.Variable(), Objects.Number(x)))), x), 1.3)
@case("functions_in_terms", x -> Objects.value(Objects.Applied(sin, Objects.Product(Objects.Number(3), Objects.Sum(Objects.Variable(), Objects.Applied(exp, Objects.Variable())))), x), 1.3)
@case("functions_in_a_chain", x -> Objects.through(Objects.Layered(sin, Objects.Layered(y -> y^2 * x, Objects.Layered(exp, nothing))), x), 1.3)
@case("shapes_of_shapes", x -> Objects.area(Objects.Both(Objects.Both(Objects.Circle(x), Objects.Rectangle(x, 2x)), Objects.Circle(3x))), 1.3)
@case("list_of_anything", x -> Objects.total(Objects.Node(x, Objects.Node(2x, Objects.Node(3.0, nothing)))), 1.3)
