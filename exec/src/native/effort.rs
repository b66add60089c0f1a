//! How much work goes into machine code.

use std::sync::OnceLock;

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

/// How much work goes into machine code. What it gives is the same to the last bit; but how deep recursion goes before
/// the stack is exhausted depends on the frames of its functions, which are larger with little effort.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Effort {
    /// Fast code: loops in versions, of which one checks before it starts and works on vectors; what is common computed
    /// once; registers given to values by trying and splitting.
    #[default]
    Full,
    /// Code that is there soon, in a fifth of the time: as the statements stand, with the registers given out in one
    /// pass. It runs four to six times as long in the mean, and loops over arrays up to fifteen times.
    Quick,
}

/// Programs with a function of more statements than this are compiled as with little effort. The better register
/// allocator compares live ranges again and again, so that its time and memory grow with the square of a long block: of
/// 10⁴ statements it takes two seconds and half a gigabyte, of 10⁵ minutes. And what Cranelift optimises keeps in
/// registers again what such functions keep in their frames.
pub(crate) const MOST_ALLOCATED_WELL: usize = 5_000;

/// What Cranelift is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Setting {
    Best,
    /// Registers in one pass, with more values on the stack, and nothing is optimised: linear time.
    Soon,
}

impl Effort {
    fn setting(self, largest: usize) -> Setting {
        match self {
            Effort::Full if largest <= MOST_ALLOCATED_WELL => Setting::Best,
            Effort::Full | Effort::Quick => Setting::Soon,
        }
    }

    /// The processor that this program runs on, to compile functions for of which the largest has so many statements.
    pub(crate) fn isa(self, largest: usize) -> Result<OwnedTargetIsa, String> {
        // Finding out what it can do takes longer than compiling a small function.
        static BEST: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
        static SOON: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
        let (known, opt_level, algorithm) = match self.setting(largest) {
            Setting::Best => (&BEST, "speed", "backtracking"),
            Setting::Soon => (&SOON, "none", "single_pass"),
        };
        let found = known.get_or_init(|| {
            let mut flags = settings::builder();
            let options = [
                ("opt_level", opt_level),
                ("regalloc_algorithm", algorithm),
                ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
                // Integers of 128 bits as arguments and results.
                ("enable_llvm_abi_extensions", "true"),
            ];
            for (name, value) in options {
                flags.set(name, value).map_err(|error| error.to_string())?;
            }
            let isa = cranelift_native::builder().map_err(str::to_string)?;
            isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())
        });
        found.clone()
    }
}
