//! Machine code in memory, from its first function on.
#![allow(unsafe_code, reason = "gives memory back in which there is code")]

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use cranelift_jit::JITModule;

/// Code, which is given back when nobody holds it: by itself a `JITModule` keeps its memory for ever, also where
/// compiling ends in an error.
pub(crate) struct Code(ManuallyDrop<JITModule>);

impl Code {
    pub(crate) fn new(jit: JITModule) -> Code {
        Code(ManuallyDrop::new(jit))
    }
}

// SAFETY: code is not changed any more once it is finished, and the module is used only to give its memory back.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Deref for Code {
    type Target = JITModule;

    fn deref(&self) -> &JITModule {
        &self.0
    }
}

impl DerefMut for Code {
    fn deref_mut(&mut self) -> &mut JITModule {
        &mut self.0
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: nobody uses the module afterwards. Whoever runs the code holds this object, so nobody does.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() };
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").finish_non_exhaustive()
    }
}
