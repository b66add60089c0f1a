# Functions of `Base.Sort` that choose between orders, or permute dimensions, when they run.

"For `Base.Sort`."
module Sort

using Base.Order: Ordering, ReverseOrdering, ord
using Base.Sort: Perm

"With the keywords before the function itself."
function sortperm(alg, lt, by, rev::Bool, order::Ordering, _, v::Vector)
    forward = ord(lt, by, nothing, order)
    places = [i for i in 1:length(v)]
    return rev ? sort!(places, alg, Perm(ReverseOrdering(forward), v)) : sort!(places, alg, Perm(forward, v))
end

"The rows or columns of a matrix, with the keywords before the function itself: the library's permutes dimensions by a tuple whose length only the run knows."
function sort(dims::Int, alg, lt, by, rev, order::Ordering, _, A::Matrix)
    dims == 1 || dims == 2 || throw(ArgumentError("dimension out of range"))
    forward, sorted = ord(lt, by, nothing, order), copy(A)
    for k in 1:size(A, 3 - dims)
        slice = dims == 1 ? A[:, k] : A[k, :]
        rev === true ? sort!(slice, alg, ReverseOrdering(forward)) : sort!(slice, alg, forward)
        for i in 1:length(slice)
            sorted[dims == 1 ? i : k, dims == 1 ? k : i] = slice[i]
        end
    end
    return sorted
end

end
