//! Bytes for generators where no fuzzer gives them: the same on every run and every machine.

use arbitrary::Unstructured;

/// As many pseudo-random bytes as a generator may use up, from a seed (splitmix64, Steele, Lea and Flood 2014).
pub fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..256).flat_map(|_| next().to_le_bytes()).collect()
}

/// Runs a check on what a generator makes of the seeds up to `count`, and says at which one it failed first.
///
/// # Errors
///
/// The error of the check, after the seed; that the generator made something of fewer than half of the seeds, as little
/// is checked then.
pub fn for_each<T, E: std::fmt::Display>(
    count: u64,
    generate: impl Fn(&mut Unstructured<'_>) -> arbitrary::Result<T>,
    check: impl Fn(&T) -> Result<(), E>,
) -> Result<(), String> {
    let mut checked = 0;
    for seed in 0..count {
        let bytes = bytes(seed);
        let Ok(made) = generate(&mut Unstructured::new(&bytes)) else { continue };
        check(&made).map_err(|error| format!("seed {seed}: {error}"))?;
        checked += 1;
    }
    if checked * 2 < count {
        Err(format!("of {count} seeds, the generator made something of {checked} only"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::for_each;

    #[test]
    fn a_generator_that_makes_too_little_is_an_error() {
        let all_are_fine = |_: &u8| -> Result<(), String> { Ok(()) };
        for_each(10, |u| u.arbitrary(), all_are_fine).unwrap();
        for_each(10, |_| Err(arbitrary::Error::NotEnoughData), all_are_fine).unwrap_err();
    }
}
