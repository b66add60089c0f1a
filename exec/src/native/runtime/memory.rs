//! The memory of a call: objects are put one behind the other, and all of them go when the call is over.
//!
//! There are no counts, and no object is freed alone. Code of which it is known that nothing it makes outlives it
//! remembers the position before, as a mark, and [goes back to it](Memory::release) after (see
//! [`scopes`](crate::native::function::scopes)): as with regions (Tofte and Talpin, "Region-based memory management",
//! 1997), whose order is that of a stack here. Chunks are kept for the next calls, which ask the system for nothing
//! once all are one that is large enough: from the third on.
#![allow(unsafe_code, reason = "hands out addresses inside of chunks, to be used by machine code")]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// The alignment of every object.
const ALIGN: usize = 16;

/// The smallest chunk.
const CHUNK: usize = 1 << 16;

/// In a position, the bits that say how much of the chunk was given; those above are the number of the chunk.
const USED_BITS: u32 = 48;

/// What released memory is overwritten with where that is checked, so that whatever still uses it goes wrong.
const RELEASED: u8 = 0xA5;

/// A piece of memory from the system.
#[derive(Debug)]
struct Chunk {
    start: NonNull<u8>,
    bytes: usize,
    /// The bytes that were in use in the chunks before it when it became the one from which is given.
    before: usize,
}

impl Chunk {
    /// `None` if the system has no more.
    fn new(bytes: usize) -> Option<Chunk> {
        let layout = Layout::from_size_align(bytes, ALIGN).ok().filter(|_| (bytes as u64) < 1 << USED_BITS)?;
        // SAFETY: `bytes` is not 0: no caller asks for less than `CHUNK`.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Chunk { start, bytes, before: 0 })
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
pub(crate) struct Memory {
    /// Where the next object comes to lie: the number of the chunk from which is being given, and how much of it was.
    pub(crate) position: u64,
    chunks: Vec<Chunk>,
    limit: usize,
    /// The most bytes that were in use in this call when some were given back.
    most: usize,
    /// The most bytes that were in use in a call before.
    peak: usize,
}

// SAFETY: the chunks belong to this object alone.
unsafe impl Send for Memory {}

impl Memory {
    pub(crate) fn new(limit: usize) -> Self {
        Memory { position: 0, chunks: Vec::new(), limit, most: 0, peak: 0 }
    }

    /// The bytes that may be used.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The chunk from which is being given, and how much of it was.
    fn place(&self) -> (usize, usize) {
        parts(self.position)
    }

    /// The bytes that are in use.
    pub(crate) fn in_use(&self) -> usize {
        let (current, used) = self.place();
        self.chunks.get(current).map_or(0, |chunk| chunk.before) + used
    }

    /// The most bytes that were in use at one time.
    pub(crate) fn peak(&self) -> usize {
        self.peak.max(self.most).max(self.in_use())
    }

    /// Memory for an object, whose contents are not defined; `None` if that is more than may be used.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let bytes = bytes.checked_next_multiple_of(ALIGN)?;
        if self.in_use().checked_add(bytes)? > self.limit {
            return None;
        }
        let (mut current, mut used) = self.place();
        if self.chunks.get(current).is_none_or(|chunk| chunk.bytes - used < bytes) {
            (current, used) = (self.next_chunk(bytes)?, 0);
            self.position = (current as u64) << USED_BITS;
        }
        let chunk = self.chunks.get(current)?;
        // SAFETY: so much is left in the chunk.
        let at = unsafe { chunk.start.add(used) };
        self.position += bytes as u64;
        Some(at)
    }

    /// Sees to it that behind the chunk from which is being given there is one with room for so many bytes; gives its
    /// number.
    ///
    /// A chunk that was there already is taken if one is large enough. Else they are replaced by one twice as large as
    /// any, so that this happens a few times only, however often memory is given back.
    fn next_chunk(&mut self, bytes: usize) -> Option<usize> {
        let before = self.in_use();
        let next = if self.chunks.is_empty() { 0 } else { self.place().0 + 1 };
        match self.chunks.iter().skip(next).position(|chunk| chunk.bytes >= bytes) {
            Some(found) => self.chunks.swap(next, next + found),
            None => {
                let largest = self.chunks.iter().map(|chunk| chunk.bytes).max();
                let double = largest.map_or(CHUNK, |bytes| bytes.saturating_mul(2)).min(self.limit);
                self.chunks.truncate(next);
                self.chunks.push(Chunk::new(bytes.max(double).max(CHUNK))?);
            }
        }
        self.chunks.get_mut(next)?.before = before;
        Some(next)
    }

    /// Takes back what was given since the position was this.
    pub(crate) fn release(&mut self, mark: u64) {
        self.most = self.most.max(self.in_use());
        if cfg!(debug_assertions) {
            self.overwrite_from(mark);
        }
        self.position = mark;
    }

    /// Overwrites what was given since the position was this.
    fn overwrite_from(&mut self, mark: u64) {
        let ((first, kept), (current, used)) = (parts(mark), self.place());
        for (number, chunk) in self.chunks.iter().enumerate().take(current + 1).skip(first) {
            let from = if number == first { kept } else { 0 };
            let to = if number == current { used } else { chunk.bytes };
            // SAFETY: the bytes lie in the chunk: nothing uses what is given back.
            unsafe { chunk.start.add(from).write_bytes(RELEASED, to.saturating_sub(from)) };
        }
    }

    /// Memory full of zeros.
    pub(crate) fn take_zeros(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let at = self.take(bytes)?;
        // SAFETY: `take` gave that many bytes.
        unsafe { at.write_bytes(0, bytes) };
        Some(at)
    }

    /// Takes all objects back. If they did not fit in one chunk, there is one for all of them from now on.
    pub(crate) fn clear(&mut self) {
        let most = self.most.max(self.in_use());
        self.peak = self.peak.max(most);
        if self.chunks.len() > 1 {
            self.chunks.clear();
            self.chunks.extend(Chunk::new(most.max(CHUNK).next_multiple_of(ALIGN)));
        }
        (self.position, self.most) = (0, 0);
    }
}

/// The number of the chunk and the bytes used of it, in a position.
fn parts(position: u64) -> (usize, usize) {
    ((position >> USED_BITS) as usize, (position & ((1 << USED_BITS) - 1)) as usize)
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

    #[test]
    fn what_is_released_is_given_again() {
        let mut memory = Memory::new(1 << 24);
        let kept = memory.take_zeros(1000).unwrap();
        let mark = memory.position;
        let mut chunks = 0;
        for round in 0..1000 {
            // In the first chunk, in the next one, and in one that is larger than the next.
            for size in [100, 70_000, 500_000] {
                memory.take_zeros(size).unwrap();
            }
            assert_eq!(memory.in_use(), 1008 + 112 + 70_000 + 500_000);
            memory.release(mark);
            assert_eq!(memory.in_use(), 1008);
            assert!(round < 2 || memory.chunks.len() == chunks);
            chunks = memory.chunks.len();
        }
        assert_eq!(memory.peak(), 571_120);
        // SAFETY: so many bytes were taken there before the mark.
        assert!(unsafe { std::slice::from_raw_parts(kept.as_ptr(), 1000) }.iter().all(|byte| *byte == 0));
        memory.clear();
        assert_eq!((memory.peak(), memory.in_use(), memory.chunks.len()), (571_120, 0, 1));
        // All of it fits in the chunk for the next call.
        memory.take(571_120).unwrap();
        assert_eq!(memory.chunks.len(), 1);
    }

    #[test]
    fn the_limit_counts_what_is_in_use() {
        let mut memory = Memory::new(1 << 20);
        let mark = memory.position;
        for _ in 0..100 {
            memory.take(900_000).unwrap();
            assert!(memory.take(200_000).is_none());
            memory.release(mark);
        }
        assert_eq!(memory.peak(), 900_000);
    }

    /// Against a stack of objects, each with its own bytes: what is in use keeps them, and objects do not overlap.
    #[test]
    fn marks_nest() {
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..100 {
            let mut memory = Memory::new(1 << 22);
            let mut objects: Vec<(NonNull<u8>, usize, u8)> = Vec::new();
            let mut marks: Vec<(u64, usize)> = Vec::new();
            let mut most = 0;
            for _ in 0..200 {
                match next(8) {
                    0 | 1 => marks.push((memory.position, objects.len())),
                    2 | 3 if !marks.is_empty() => {
                        let (mark, count) = marks.swap_remove(next(marks.len() as u64) as usize);
                        marks.retain(|(_, other)| *other <= count);
                        marks.retain(|(other, _)| *other <= mark);
                        memory.release(mark);
                        objects.truncate(count);
                    }
                    size => {
                        let bytes = 1 + next(1 << (4 * (size - 2))) as usize;
                        let pattern = next(128) as u8;
                        if let Some(at) = memory.take(bytes) {
                            // SAFETY: so many bytes were given.
                            unsafe { at.write_bytes(pattern, bytes) };
                            objects.push((at, bytes, pattern));
                        }
                    }
                }
                let in_use: usize = objects.iter().map(|(_, bytes, _)| bytes.next_multiple_of(ALIGN)).sum();
                assert_eq!(memory.in_use(), in_use);
                most = most.max(in_use);
                for (at, bytes, pattern) in &objects {
                    // SAFETY: so many bytes were given, and not taken back.
                    let contents = unsafe { std::slice::from_raw_parts(at.as_ptr(), *bytes) };
                    assert!(contents.first() == Some(pattern) && contents.last() == Some(pattern));
                }
            }
            assert_eq!(memory.peak(), most);
        }
    }
}
