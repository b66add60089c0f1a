//! Which elements of two sequences stand for each other.

use hashbrown::HashMap;

/// The number of edits up to which the shortest edit script is looked for. Beyond it, elements are paired by how often
/// they occur: the work stays within this number of steps an element.
const MOST_EDITS: usize = 128;

/// Pairs of equal elements of two sequences, increasing in both.
///
/// What is equal at both ends is paired first. In between, it is a longest common subsequence, by the algorithm of
/// Myers ("An O(ND) Difference Algorithm and Its Variations", 1986), as long as no more than [`MOST_EDITS`] edits
/// separate the two. Otherwise elements that occur as often in one as in the other are paired in order, the longest
/// increasing run of these pairs is kept — patience diff, of which Bram Cohen's takes elements that occur once — and
/// each gap is taken by itself. A library's diff would be bounded by the clock only, and its result would depend on the
/// machine.
pub(super) fn align(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (a, b, start, tail) = trim(a, b, 0, 0, &mut pairs);
    match shortest_edit(a, b) {
        Some(found) => pairs.extend(shifted(&found, start)),
        None => {
            let (mut i, mut j) = (0, 0);
            for (x, y) in anchors(a, b).into_iter().chain([(a.len(), b.len())]) {
                let (gap_a, gap_b) = (&a[i..x], &b[j..y]);
                let (inner_a, inner_b, inner, inner_tail) = trim(gap_a, gap_b, start.0 + i, start.1 + j, &mut pairs);
                pairs.extend(shifted(&shortest_edit(inner_a, inner_b).unwrap_or_default(), inner));
                pairs.extend(inner_tail);
                if x < a.len() && y < b.len() {
                    pairs.push((start.0 + x, start.1 + y));
                }
                (i, j) = (x + 1, y + 1);
            }
        }
    }
    pairs.extend(tail);
    pairs
}

/// Aligns by the first keys; what these leave unpaired between two pairs, by the second; and so on. Each level holds
/// one key an element of either sequence.
pub(super) fn align_levels<'a>(levels: impl IntoIterator<Item = (&'a [u64], &'a [u64])>) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (a, b) in levels {
        let mut refined = Vec::with_capacity(pairs.len());
        let (mut i, mut j) = (0, 0);
        for (x, y) in pairs.into_iter().chain([(a.len(), b.len())]) {
            if i < x && j < y {
                refined.extend(shifted(&align(&a[i..x], &b[j..y]), (i, j)));
            }
            if x < a.len() && y < b.len() {
                refined.push((x, y));
            }
            (i, j) = (x + 1, y + 1);
        }
        pairs = refined;
    }
    pairs
}

fn shifted(pairs: &[(usize, usize)], by: (usize, usize)) -> impl Iterator<Item = (usize, usize)> + '_ {
    pairs.iter().map(move |&(x, y)| (x + by.0, y + by.1))
}

/// What is between the two.
type Between<'a> = (&'a [u64], &'a [u64], (usize, usize), Vec<(usize, usize)>);

/// Pairs what is equal at the start, and gives what remains, where that begins, and the pairs of what is equal at the
/// end.
fn trim<'a>(a: &'a [u64], b: &'a [u64], i: usize, j: usize, pairs: &mut Vec<(usize, usize)>) -> Between<'a> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    pairs.extend((0..head).map(|k| (i + k, j + k)));
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    let (i, j) = (i + head, j + head);
    (a, b, (i, j), (0..tail).map(|k| (i + a.len() + k, j + b.len() + k)).collect())
}

/// A longest common subsequence; `None` if more than [`MOST_EDITS`] edits lead from one to the other.
fn shortest_edit(a: &[u64], b: &[u64]) -> Option<Vec<(usize, usize)>> {
    if a.is_empty() || b.is_empty() {
        return Some(Vec::new());
    }
    let most = MOST_EDITS.min(a.len() + b.len());
    // How far the best path on diagonal k = x - y has come in `a`, at index k + most + 1; and what it was before each
    // turn.
    let mut reach = vec![0usize; 2 * most + 3];
    let mut history: Vec<Vec<usize>> = Vec::new();
    let middle = most + 1;
    for edits in 0..=most {
        history.push(reach[middle - edits..=middle + edits].to_vec());
        let mut at = middle - edits;
        while at <= middle + edits {
            let down = at == middle - edits || (at != middle + edits && reach[at - 1] < reach[at + 1]);
            let mut x = if edits == 0 {
                0
            } else if down {
                reach[at + 1]
            } else {
                reach[at - 1] + 1
            };
            // x - y = at - middle; a path may lie outside, above or below.
            let Some(mut y) = (x + middle).checked_sub(at) else {
                at += 2;
                continue;
            };
            while x < a.len() && y < b.len() && a[x] == b[y] {
                (x, y) = (x + 1, y + 1);
            }
            reach[at] = x;
            if x >= a.len() && y >= b.len() {
                return Some(walk_back(&history, edits, at, middle, x));
            }
            at += 2;
        }
    }
    None
}

/// The pairs on the path that ends at `x` on the diagonal `at` after so many edits.
fn walk_back(history: &[Vec<usize>], edits: usize, mut at: usize, middle: usize, mut x: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for edits in (0..=edits).rev() {
        let before = |at: usize| history[edits].get(at + edits - middle).copied().unwrap_or_default();
        let (from, start) = if edits == 0 {
            (at, 0)
        } else {
            let down = at == middle - edits || (at != middle + edits && before(at - 1) < before(at + 1));
            if down { (at + 1, before(at + 1)) } else { (at - 1, before(at - 1) + 1) }
        };
        while x > start {
            x -= 1;
            pairs.push((x, x + middle - at));
        }
        // The edit itself: a step to the right consumes an element of `a`.
        if edits > 0 && from < at {
            x -= 1;
        }
        at = from;
    }
    pairs.reverse();
    pairs
}

/// Pairs of elements that occur equally often, increasing in both sequences.
fn anchors(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut places: HashMap<u64, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (place, &key) in a.iter().enumerate() {
        places.entry(key).or_default().0.push(place);
    }
    for (place, &key) in b.iter().enumerate() {
        places.entry(key).or_default().1.push(place);
    }
    let mut pairs: Vec<(usize, usize)> = places
        .into_values()
        .filter(|(in_a, in_b)| in_a.len() == in_b.len())
        .flat_map(|(in_a, in_b)| in_a.into_iter().zip(in_b))
        .collect();
    // The order of the table is that of hashing.
    pairs.sort_unstable();
    increasing(&pairs)
}

/// A longest sequence of pairs in which both numbers increase; the first numbers do so already.
pub(crate) fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length the pair with which a sequence of it ends lowest, and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, &(_, right)) in pairs.iter().enumerate() {
        let at = ends.partition_point(|&end| pairs.get(end).is_some_and(|end| end.1 < right));
        before.push(at.checked_sub(1).and_then(|at| ends.get(at)).copied());
        match ends.get_mut(at) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut sequence: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |&index| before.get(index).copied().flatten())
            .filter_map(|index| pairs.get(index).copied())
            .collect();
    sequence.reverse();
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longest_sequence_is_found() {
        let pairs = [(0, 3), (1, 0), (2, 1), (3, 7), (4, 2), (5, 9), (6, 8)];
        let found = increasing(&pairs);
        assert_eq!(found.len(), 4);
        assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
        assert!(increasing(&[]).is_empty());
    }

    fn check(a: &[u64], b: &[u64]) -> usize {
        let pairs = align(a, b);
        assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1), "{pairs:?}");
        assert!(pairs.iter().all(|&(x, y)| a[x] == b[y]), "{pairs:?} of {a:?} and {b:?}");
        pairs.len()
    }

    /// The length of a longest common subsequence, by the definition.
    fn longest(a: &[u64], b: &[u64]) -> usize {
        let mut lengths = vec![vec![0; b.len() + 1]; a.len() + 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                let skip: usize = lengths[i][j + 1].max(lengths[i + 1][j]);
                lengths[i + 1][j + 1] = if x == y { lengths[i][j] + 1 } else { skip };
            }
        }
        lengths[a.len()][b.len()]
    }

    #[test]
    fn as_many_are_paired_as_can_be() {
        for seed in 0..400u64 {
            let next = |n: u64| (seed.wrapping_mul(0x9e37_79b9).wrapping_add(n * n * 7919) >> 3) % 5;
            let a: Vec<u64> = (0..seed % 23).map(next).collect();
            let b: Vec<u64> = (0..seed % 17).map(|n| next(n + 3)).collect();
            assert_eq!(check(&a, &b), longest(&a, &b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_is_far_apart_is_paired_in_little_time() {
        let a: Vec<u64> = (0..400_000).collect();
        let b: Vec<u64> = (0..400_000).map(|n| if n % 3 == 0 { n + 1_000_000 } else { n }).collect();
        assert_eq!(check(&a, &b), 266_666);
        let reversed: Vec<u64> = a.iter().rev().copied().collect();
        assert!(check(&a, &reversed) >= 1);
        let few: Vec<u64> = a.iter().map(|n| n * n % 7).collect();
        check(&few, &reversed.iter().map(|n| n % 5).collect::<Vec<_>>());
    }

    #[test]
    fn weaker_keys_fill_the_gaps_of_stronger_ones() {
        let strong = ([1, 2, 3, 4].as_slice(), [1, 9, 3, 4].as_slice());
        let weak = ([1, 1, 1, 1].as_slice(), [1, 1, 1, 1].as_slice());
        assert_eq!(align_levels([strong]), [(0, 0), (2, 2), (3, 3)]);
        assert_eq!(align_levels([strong, weak]), [(0, 0), (1, 1), (2, 2), (3, 3)]);
    }
}
