//! Code that is there soon, and gets fast while it is used.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use exec::native::Effort;

use super::CompileError;
use super::builder::{Builder, Compilable};

/// What was compiled with little effort, and is replaced by what a thread of its own meanwhile makes with full effort:
/// tiered compilation, as virtual machines have it. It is called as what it holds. Both versions give the same, to the
/// last bit, but where derivatives may be [rounded in another order](Builder::reassociate).
///
/// ```
/// use bbkit::Differentiate;
/// use bbkit::ircode::parse_module;
///
/// let module = parse_module("
/// function f(x::Float64)::Float64
/// 1 ─ %1 = Base.mul_float(x, x)::Float64
/// └──      return %1
/// end
/// ")?.module;
/// let gradient = module.gradient("f").compile_tiered()?;
/// let mut dx = 0.0;
/// assert_eq!((gradient.call((3.0,), &mut dx)?, dx), (9.0, 6.0));
/// gradient.wait();
/// assert!(gradient.is_full());
/// assert_eq!((gradient.call((3.0,), &mut dx)?, dx), (9.0, 6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A call runs to its end in the version with which it began, and a [`Pullback`](super::Pullback) in that of its
/// forward pass. The thread is not waited for where this is dropped; what it makes is dropped, too.
pub struct Tiered<T> {
    quick: T,
    full: Arc<OnceLock<T>>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl<T: Compilable + Send + Sync + 'static> Builder<'_, T> {
    /// Derives and compiles with [`Effort::Quick`], whatever [`effort`](Self::effort) says, and lets a thread do so
    /// with [`Effort::Full`].
    ///
    /// If the system has no thread to give, or there is an error that has to do with effort only, what is there stays.
    ///
    /// # Errors
    ///
    /// [`CompileError`].
    pub fn compile_tiered(self) -> Result<Tiered<T>, CompileError> {
        let (module, settings) = (self.module, self.settings.clone());
        let quick = self.effort(Effort::Quick).compile()?;
        let full = Arc::new(OnceLock::new());
        let module = module.reached_from(module.function_index(&settings.function)).into_owned();
        let made = full.clone();
        let compile = move || {
            if let Ok(compiled) = Builder::with_settings(&module, settings).effort(Effort::Full).compile() {
                // Nothing else sets it.
                made.set(compiled).ok();
            }
        };
        let worker = thread::Builder::new().name("compiler".into()).spawn(compile).ok();
        Ok(Tiered { quick, full, worker: Mutex::new(worker) })
    }
}

impl<T> Tiered<T> {
    /// Whether calls run the code made with full effort from now on.
    pub fn is_full(&self) -> bool {
        self.full.get().is_some()
    }

    /// Waits until the thread has done its work.
    pub fn wait(&self) {
        // Held while it waits, so that whoever comes second waits as well.
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = worker.take() {
            // If it panicked, what is there stays.
            worker.join().ok();
        }
    }
}

impl<T> Deref for Tiered<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.full.get().unwrap_or(&self.quick)
    }
}

impl<T: fmt::Debug> fmt::Debug for Tiered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tiered").field("quick", &self.quick).field("full", &self.full.get()).finish_non_exhaustive()
    }
}
