//! Subnormal numbers taken for zero while native code runs.
//!
//! Adjoints of long recurrences decay to numbers below 2⁻¹⁰²² and stay there, and processors take up to a hundred times
//! as long for those. With this on, results differ from the interpreter's in such numbers, and in nothing else.
//!
//! Helpers, and the interpreter where native code asks for it, run in this mode, too. They are code of Rust, whose
//! rules want the mode that it starts with: so far the compilers make nothing of that but the instructions that are
//! written, which take such numbers for zero as native code does.
#![allow(unsafe_code, reason = "sets the processor's mode for floats")]

/// Runs something with subnormal numbers taken for zero, where the processor can do that: the bits FTZ and DAZ of
/// MXCSR, or FZ of FPCR. The mode is as it was afterwards.
pub(crate) fn flushed<T>(work: impl FnOnce() -> T) -> T {
    let before = mode();
    set_mode(before | FLUSH);
    let done = work();
    set_mode(before);
    done
}

#[cfg(target_arch = "x86_64")]
const FLUSH: u64 = 0x8040;

#[cfg(target_arch = "x86_64")]
fn mode() -> u64 {
    let mut mode: u32 = 0;
    // SAFETY: stores the register at the address of a variable of its size.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
    u64::from(mode)
}

#[cfg(target_arch = "x86_64")]
fn set_mode(mode: u64) {
    let mode = mode as u32;
    // SAFETY: what is loaded is what the register held before, with the bits for subnormal numbers changed. That code
    // of Rust runs under them is said above; nothing of memory depends on what it computes with floats.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack, readonly, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
const FLUSH: u64 = 1 << 24;

#[cfg(target_arch = "aarch64")]
fn mode() -> u64 {
    let mode: u64;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) mode, options(nomem, nostack, preserves_flags)) };
    mode
}

#[cfg(target_arch = "aarch64")]
fn set_mode(mode: u64) {
    // SAFETY: as on the other processor: what is written is what the register held before, with the bit for subnormal
    // numbers changed.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) mode, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLUSH: u64 = 0;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn mode() -> u64 {
    0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set_mode(_: u64) {}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn products_that_are_subnormal_are_zero_only_inside() {
        let half = || black_box(f64::MIN_POSITIVE) * black_box(0.5);
        assert_eq!(flushed(half), 0.0);
        assert!(half() > 0.0);
    }
}
