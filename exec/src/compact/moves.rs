//! Moves that happen together, put in sequence.

use std::collections::BTreeMap;

use super::code::{Move, Register};

/// Moves, one after the other, that do what these — each from a register to another — do together. What goes in circles
/// goes by way of the spare register, which takes what is in `undefined` in the end.
pub(super) fn in_sequence(moves: &[(Register, Register)], spare: Register, undefined: Register) -> Vec<Move> {
    let mut pending: BTreeMap<Register, Register> = BTreeMap::new();
    let mut readers: BTreeMap<Register, usize> = BTreeMap::new();
    for &(from, to) in moves {
        if from != to {
            pending.insert(to, from);
            *readers.entry(from).or_default() += 1;
        }
    }
    let mut sequence = Vec::with_capacity(pending.len());
    let mut ready: Vec<Register> = pending.keys().copied().filter(|to| !readers.contains_key(to)).collect();
    ready.reverse();
    while let Some(to) = ready.pop() {
        let Some(from) = pending.remove(&to) else { continue };
        sequence.push(Move { from, to });
        if let Some(count) = readers.get_mut(&from) {
            *count -= 1;
            if *count == 0 && pending.contains_key(&from) {
                ready.push(from);
            }
        }
    }
    // Each register that is left is read by one move and written by one: circles.
    let mut used_spare = false;
    while let Some((start, first)) = pending.pop_first() {
        sequence.push(Move { from: start, to: spare });
        used_spare = true;
        let (mut to, mut from) = (start, first);
        while from != start {
            sequence.push(Move { from, to });
            to = from;
            let Some(next) = pending.remove(&from) else { break };
            from = next;
        }
        sequence.push(Move { from: spare, to });
    }
    if used_spare {
        sequence.push(Move { from: undefined, to: spare });
    }
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What registers 0 to 5 hold after the moves, of which 4 is the spare and 5 is undefined.
    fn after(moves: &[(Register, Register)]) -> [u32; 6] {
        let mut registers = [10, 11, 12, 13, 99, 99];
        for Move { from, to } in in_sequence(moves, 4, 5) {
            registers[to as usize] = registers[from as usize];
        }
        registers
    }

    #[test]
    fn moves_happen_together() {
        assert_eq!(after(&[(0, 1), (1, 2)]), [10, 10, 11, 13, 99, 99]);
        assert_eq!(after(&[(1, 2), (0, 1)]), [10, 10, 11, 13, 99, 99]);
        assert_eq!(after(&[(0, 1), (1, 0)]), [11, 10, 12, 13, 99, 99]);
        assert_eq!(after(&[(0, 1), (1, 2), (2, 0), (2, 3)]), [12, 10, 11, 12, 99, 99]);
        assert_eq!(after(&[(0, 1), (1, 0), (2, 3), (3, 2)]), [11, 10, 13, 12, 99, 99]);
        assert_eq!(after(&[(0, 0), (5, 1)]), [10, 99, 12, 13, 99, 99]);
    }
}
