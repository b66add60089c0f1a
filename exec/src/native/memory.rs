//! The memory of a call: objects are put one behind the other, and all of them go when the call is over.
//!
//! Nothing is freed before: that needs neither counts nor marks, and the chunks are kept for the next call, which then
//! asks the system for nothing.
#![allow(unsafe_code, reason = "hands out addresses inside of chunks, to be used by machine code")]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// The alignment of every object.
const ALIGN: usize = 16;

/// The smallest chunk.
const CHUNK: usize = 1 << 16;

/// A piece of memory from the system.
#[derive(Debug)]
struct Chunk {
    start: NonNull<u8>,
    bytes: usize,
}

impl Chunk {
    /// `None` if the system has no more.
    fn new(bytes: usize) -> Option<Chunk> {
        let layout = Layout::from_size_align(bytes, ALIGN).ok()?;
        // SAFETY: `bytes` is not 0: no caller asks for less than `CHUNK`.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Chunk { start, bytes })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.bytes, ALIGN) {
            // SAFETY: it was allocated with this layout, in `new`.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

/// The memory of one call.
#[derive(Debug)]
pub(super) struct Memory {
    chunks: Vec<Chunk>,
    /// The chunk from which is being given; those before it are full.
    current: usize,
    /// How much of it was given.
    used: usize,
    /// The bytes in the chunks before it.
    full: usize,
    limit: usize,
    /// The most bytes that were in use in a call since the last [`Memory::new`].
    peak: usize,
}

// SAFETY: the chunks belong to this object alone.
unsafe impl Send for Memory {}

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        Memory { chunks: Vec::new(), current: 0, used: 0, full: 0, limit, peak: 0 }
    }

    /// The bytes that may be used.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes that are in use.
    pub(super) fn in_use(&self) -> usize {
        self.full + self.used
    }

    /// The most bytes that were in use at one time.
    pub(super) fn peak(&self) -> usize {
        self.peak.max(self.in_use())
    }

    /// Memory for an object, whose contents are not defined; `None` if that is more than may be used.
    pub(super) fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let bytes = bytes.checked_next_multiple_of(ALIGN)?;
        if self.in_use().checked_add(bytes)? > self.limit {
            return None;
        }
        loop {
            match self.chunks.get(self.current) {
                Some(chunk) if chunk.bytes - self.used >= bytes => {
                    // SAFETY: so much is left in the chunk.
                    let at = unsafe { chunk.start.add(self.used) };
                    self.used += bytes;
                    return Some(at);
                }
                Some(_) => {
                    self.full += self.used;
                    self.used = 0;
                    self.current += 1;
                }
                None => {
                    let double = self.chunks.last().map_or(CHUNK, |chunk| chunk.bytes.saturating_mul(2));
                    let chunk = Chunk::new(bytes.max(double.min(self.limit)).max(CHUNK))?;
                    self.chunks.push(chunk);
                }
            }
        }
    }

    /// Memory full of zeros.
    pub(super) fn take_zeros(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let at = self.take(bytes)?;
        // SAFETY: `take` gave that many bytes.
        unsafe { at.write_bytes(0, bytes) };
        Some(at)
    }

    /// Takes all objects back. If they did not fit in one chunk, there is one for all of them from now on.
    pub(super) fn clear(&mut self) {
        self.peak = self.peak();
        if self.current > 0 {
            let total = self.in_use().max(CHUNK);
            self.chunks.clear();
            self.chunks.extend(Chunk::new(total.next_multiple_of(ALIGN)));
        }
        (self.current, self.used, self.full) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_do_not_overlap_and_chunks_are_kept() {
        let mut memory = Memory::new(1 << 24);
        let mut last = 0;
        for call in 0..3 {
            let mut places: Vec<(usize, usize)> = Vec::new();
            for size in [1, 16, 100_000, 7, 300_000, 24] {
                let at = memory.take_zeros(size).unwrap().as_ptr() as usize;
                assert_eq!(at % ALIGN, 0);
                assert!(places.iter().all(|&(start, length)| at + size <= start || start + length <= at));
                places.push((at, size));
            }
            memory.clear();
            if call > 0 {
                assert_eq!(memory.chunks.len(), 1);
                assert!(call == 1 || memory.chunks[0].start.as_ptr() as usize == last);
                last = memory.chunks[0].start.as_ptr() as usize;
            }
        }
        assert!(memory.take(1 << 25).is_none());
        assert!(memory.take(usize::MAX).is_none());
    }
}
