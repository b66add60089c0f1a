# Functions of `Base.Sort` that choose between orders when they run.

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

end
