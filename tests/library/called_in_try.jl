# More functions: functions and objects of which only the run knows which is called, in the care of a handler, and variables that closures change there. Evaluated in the module of functions.jl.

module CalledInTry
    below_one(x) = x > 1 ? throw(DomainError(x, "too much")) : x^2
    caught(x) = try; below_one(x) * x; catch; 3x; end
    cubed(x) = x^3
    struct Scaled{T}; by::T; end
    (scaled::Scaled)(x) = x > scaled.by ? throw(ArgumentError("too much")) : scaled.by * x^2
    @noinline twice(x::AbstractFloat) = 2x
    @noinline twice(n::Int) = n + 1

    function one_of_functions(x, n)
        functions = [caught, below_one, cubed]
        total = zero(x)
        for i in 1:3
            total += try
                functions[mod1(n + i, 3)](x)
            catch
                5x^4
            end
        end
        return total
    end
    function one_of_objects(x, by, n)
        callables = Any[Scaled(by), cubed, y -> y > by ? error("too much") : y * by]
        total = zero(x)
        for i in 1:3
            total += try
                callables[mod1(n + i, 3)](x) * x
            catch exception
                exception isa ArgumentError ? 2x^3 : 5x
            end
        end
        return total::typeof(x)
    end
    function one_of_several_methods(x, n)
        functions = [twice, cubed]
        total = x * twice(n)
        for i in 1:3
            try
                total += functions[mod1(n + i, 2)](x)
            catch
                total += 5x^4
            end
        end
        return total
    end

    mutable struct Sum{T}; so_far::T; end
    function add!(sum, x)
        sum.so_far += x
        x > 1 && throw(DomainError(x))
        return sum.so_far
    end
    function reset!(sum, x)
        before = sum.so_far
        sum.so_far = 2x
        x > 1.5 && error("too much")
        return before
    end
    function one_of_changes(x, n)
        sum = Sum(x)
        functions = [add!, reset!]
        total = zero(x)
        for i in 1:4
            try
                total += functions[mod1(i + n, 2)](sum, x * i / 2)
            catch
                total += sum.so_far^2
            end
        end
        return total + sum.so_far
    end
    @noinline function noted!(sum, x)
        sum.so_far += x^2
        return DomainError(x)
    end
    function thrown_by_another(x)
        sum = Sum(x)
        try
            x > 1 && throw(noted!(sum, x))
            sum.so_far *= 3
        catch
            sum.so_far *= x
        end
        return sum.so_far
    end

    # What closures and the code around them put into a variable before an exception is there for the handler.
    function assigned_before_it_throws(x)
        s = x
        t = x
        try
            s = 3x
            x > 1 && error()
        catch
            t = s
        end
        changes() = (s += 1)
        changes()
        return t
    end
    function counted_before_it_throws(x)
        n = 0
        try
            foreach(i -> (n += 1; n == 2 && error()), 1:3)
        catch
            return x * n
        end
        return x
    end
    function changed_by_a_closure_of_the_block(x)
        s = x
        try
            f = () -> (s = x^2; sqrt(s - 10))
            f()
        catch exception
            exception isa DomainError ? s : -s
        end
    end
    function changed_again_by_the_handler(x)
        s = x
        try
            foreach(i -> (s += x^i; i == 2 && error()), 1:3)
        catch
            s *= 2
        end
        return s
    end
end
@case("functions_called_in_try", (x, n) -> CalledInTry.one_of_functions(x, n), 0.5, 1)
@case("functions_that_throw_in_try", (x, n) -> CalledInTry.one_of_functions(x, n), 1.5, 2)
@case("objects_called_in_try", (x, by, n) -> CalledInTry.one_of_objects(x, by, n), 1.2, 1.1, 1)
@case("objects_that_do_not_throw_in_try", (x, by, n) -> CalledInTry.one_of_objects(x, by, n), 0.7, 1.1, 2)
@case("function_of_several_methods_called_in_try", (x, n) -> CalledInTry.one_of_several_methods(x, n), 0.5, 1)
@case("changes_made_by_what_is_called_in_try", (x, n) -> CalledInTry.one_of_changes(x, n), 0.8, 1)
@case("changes_made_before_what_is_called_throws", (x, n) -> CalledInTry.one_of_changes(x, n), 0.8, 0)
@case("exception_made_by_what_changes", x -> CalledInTry.thrown_by_another(x), 1.5)
@case("assigned_before_it_throws", x -> CalledInTry.assigned_before_it_throws(x), 1.5)
@case("assigned_where_nothing_throws", x -> CalledInTry.assigned_before_it_throws(x), 0.5)
@case("counted_before_it_throws", x -> CalledInTry.counted_before_it_throws(x), 1.5)
@case("changed_by_a_closure_of_the_block", x -> CalledInTry.changed_by_a_closure_of_the_block(x), 1.5)
@case("changed_again_by_the_handler", x -> CalledInTry.changed_again_by_the_handler(x), 1.1)
