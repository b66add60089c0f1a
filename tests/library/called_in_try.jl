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

    function dictionary_changed(x)
        d = Dict(1 => x)
        try
            d[2] = x^2
            d[3] = d[7]
        catch
            d[4] = x^3
        end
        return sum(k * get(d, k, zero(x)) for k in 1:4)
    end
    function arithmetic_on_nothing(x)
        total = x
        for e in Union{typeof(x),Nothing}[x, nothing]
            try
                total += 2e
            catch exception
                exception isa MethodError && (total += x^3)
            end
        end
        return total::typeof(x)
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

    # What `finally` does, one in another or in a handler: which exception is being handled afterwards is known by the way.
    function thrown_again_behind_a_finally(x)
        try
            try
                x > 1 && throw(DomainError(x))
                return x
            catch
                y = 0.0
                try; y = x^2; finally; y += 1; end
                rethrow()
            end
        catch e
            return e isa DomainError ? 3x : x
        end
    end
    function caught_around_finally_around_finally(x)
        s = x
        try
            try
                s *= x
                x > 1 && error("a")
            catch
                try; s += x; finally; s *= 2; end
                s > 100 && return s
                rethrow()
            finally
                s += 1
            end
        catch e
            s *= e isa ErrorException ? 3 : 5
        finally
            s *= x
        end
        return s
    end
    function finally_in_catches_of_a_loop(x, n)
        s = x
        for i in 1:3
            try
                try
                    i == n && throw(ArgumentError("n"))
                    s *= x
                finally
                    s += i
                end
            catch e
                s *= e isa ArgumentError ? 2 : 7
            finally
                s += x
            end
        end
        return s
    end
    returned_through_two_finally(x) = try return try x^2 finally x end finally x end
    function set_in_one_finally_of_two(x) try y = try x^2 finally x end; return y finally x end end
    function returned_through_two_finally_or_not(x) try try x > 1 && return x^2 finally x end finally x end; x end
    function catch_and_finally_twice(x, n) try; try; x *= 2; n > 5 && error(); catch; x = 1.0; finally; x += 1; end; catch; x = 2x; finally; x *= 1.1; end; x end
    function thrown_through_two_finally(x)
        s = x
        try
            try
                try; s *= x; x > 1 && throw(DomainError(x)); finally; s += 1; end
            finally
                s *= 2
            end
        catch e
            s += e isa DomainError ? x^2 : 0.0
        end
        s
    end
    function thrown_again_behind_another_handler(x)
        s = x
        try
            throw(DomainError(x))
        catch
            try
                try; s *= x; finally; s += 1; end
                x > 1 && throw(ArgumentError("b"))
            catch e
                s *= e isa ArgumentError ? 5 : 7
            end
            try
                rethrow()
            catch e
                s *= e isa DomainError ? 11 : 13
            end
        end
        s
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
@case("dictionary_changed_in_try", x -> CalledInTry.dictionary_changed(x), 1.2)
@case("arithmetic_on_nothing_in_try", x -> CalledInTry.arithmetic_on_nothing(x), 1.2)
@case("assigned_before_it_throws", x -> CalledInTry.assigned_before_it_throws(x), 1.5)
@case("assigned_where_nothing_throws", x -> CalledInTry.assigned_before_it_throws(x), 0.5)
@case("counted_before_it_throws", x -> CalledInTry.counted_before_it_throws(x), 1.5)
@case("changed_by_a_closure_of_the_block", x -> CalledInTry.changed_by_a_closure_of_the_block(x), 1.5)
@case("changed_again_by_the_handler", x -> CalledInTry.changed_again_by_the_handler(x), 1.1)
@case("thrown_again_behind_a_finally", x -> CalledInTry.thrown_again_behind_a_finally(x), 1.3)
@case("thrown_again_behind_a_finally_else", x -> CalledInTry.thrown_again_behind_a_finally(x), 0.7)
@case("caught_around_finally_around_finally", x -> CalledInTry.caught_around_finally_around_finally(x), 1.3)
@case("caught_around_finally_around_finally_else", x -> CalledInTry.caught_around_finally_around_finally(x), 0.7)
@case("finally_in_catches_of_a_loop", (x, n) -> CalledInTry.finally_in_catches_of_a_loop(x, n), 1.3, 2)
@case("finally_in_catches_of_a_loop_else", (x, n) -> CalledInTry.finally_in_catches_of_a_loop(x, n), 1.3, 4)
@case("returned_through_two_finally", x -> CalledInTry.returned_through_two_finally(x), 1.3)
@case("set_in_one_finally_of_two", x -> CalledInTry.set_in_one_finally_of_two(x), 1.3)
@case("returned_through_two_finally_or_not", x -> CalledInTry.returned_through_two_finally_or_not(x), 1.3)
@case("returned_through_two_finally_or_not_else", x -> CalledInTry.returned_through_two_finally_or_not(x), 0.3)
@case("catch_and_finally_twice", (x, n) -> CalledInTry.catch_and_finally_twice(x, n), 1.3, 3)
@case("catch_and_finally_twice_else", (x, n) -> CalledInTry.catch_and_finally_twice(x, n), 1.3, 6)
@case("thrown_through_two_finally", x -> CalledInTry.thrown_through_two_finally(x), 1.3)
@case("thrown_through_two_finally_else", x -> CalledInTry.thrown_through_two_finally(x), 0.3)
@case("thrown_again_behind_another_handler", x -> CalledInTry.thrown_again_behind_another_handler(x), 1.3)
@case("thrown_again_behind_another_handler_else", x -> CalledInTry.thrown_again_behind_another_handler(x), 0.3)

# A variable that is assigned on one way only, and a loop behind it whose end Julia knows.
function assigned_on_one_way(x)
    s = x
    if x > 1
        y = x
        for k in 1:3
            s += k * y
        end
    end
    s + (x > 1 ? y : x)
end
@case("assigned_on_one_way", x -> assigned_on_one_way(x), 1.3)
@case("not_assigned_on_the_other_way", x -> assigned_on_one_way(x), 0.3)
