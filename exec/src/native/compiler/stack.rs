//! How much of the stack calls may need.

use hashbrown::{HashMap, HashSet};

/// What a call takes beside its frame: the return address, and what is aligned away.
pub(crate) const CALL: u64 = 64;

/// What the helper takes that calls a value.
pub(crate) const VALUE_CALL: u64 = 16 << 10;

/// The longest chain of calls from any function on, down to the next recursive one: in bytes of frames, and in calls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Need {
    pub(crate) bytes: u64,
    pub(crate) calls: usize,
}

/// What the functions need at most until they return, or until a recursive function is entered, which sees for itself
/// how much is left. Without the calls of recursive functions there are no cycles, so each function is looked at once.
pub(crate) fn need(
    called: &HashMap<usize, Vec<usize>>,
    recursive: &HashSet<usize>,
    frames: &HashMap<usize, u64>,
) -> Need {
    let frame = |function: usize| frames.get(&function).copied().unwrap_or(0) + CALL;
    let callees = |function: usize| called.get(&function).map(Vec::as_slice).unwrap_or_default();
    let mut known: HashMap<usize, Need> = HashMap::new();
    let mut most = Need::default();
    for &root in called.keys() {
        let mut work = vec![(root, 0)];
        while let Some((function, next)) = work.pop() {
            if known.contains_key(&function) {
                continue;
            }
            if let Some(&callee) = callees(function).get(next) {
                work.push((function, next + 1));
                if !recursive.contains(&callee) {
                    work.push((callee, 0));
                }
                continue;
            }
            let mut below = Need::default();
            for callee in callees(function) {
                let its = match recursive.contains(callee) {
                    true => Need { bytes: frame(*callee), calls: 1 },
                    false => known.get(callee).copied().unwrap_or_default(),
                };
                below = Need { bytes: below.bytes.max(its.bytes), calls: below.calls.max(its.calls) };
            }
            let its = Need { bytes: below.bytes + frame(function), calls: below.calls + 1 };
            most = Need { bytes: most.bytes.max(its.bytes), calls: most.calls.max(its.calls) };
            known.insert(function, its);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_chain_counts() {
        // 0 calls 1 and 2, both call 3; 3 calls 4, which calls itself and 5.
        let called: HashMap<usize, Vec<usize>> =
            [(0, vec![1, 2]), (1, vec![3]), (2, vec![3]), (3, vec![4]), (4, vec![4, 5]), (5, vec![])].into();
        let frames: HashMap<usize, u64> = [(0, 10), (1, 1000), (2, 20), (3, 30), (4, 400), (5, 5000)].into();
        let found = need(&called, &[4].into(), &frames);
        // Down from 4 come its frame and that of 5, which is more than 0, 1, 3 and 4.
        assert_eq!(found, Need { bytes: 5400 + 2 * CALL, calls: 4 });
        let chain: HashMap<usize, Vec<usize>> = [(0, vec![1]), (1, vec![2]), (2, vec![])].into();
        assert_eq!(need(&chain, &HashSet::new(), &HashMap::new()).calls, 3);
    }
}
