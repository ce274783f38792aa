//! Memory for numbers that are read in long streams: aligned to cache lines, and in huge pages
//! where there is much of it.

use std::alloc::{self, Layout};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// A cache line, and the widest vector.
const LINE: usize = 64;

/// A huge page. Reading weights from DRAM through 2 MiB pages was 30 % faster than through 4 KiB pages.
const HUGE_PAGE: usize = 2 << 20;

/// Numbers for which every bit pattern is valid, so that zeroed memory is initialised.
pub trait Plain: Copy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($type:ty)+) => {$(
        impl sealed::Sealed for $type {}
        impl Plain for $type {}
    )+};
}
plain! { u8 i8 u16 i16 i32 f32 }

/// A fixed number of values, zero at first, aligned to a cache line. Buffers of 2 MiB or more are
/// aligned to a huge page and ask for such pages, unless they lie in a [`HugePageArena`].
pub struct AlignedBuffer<T: Plain> {
    start: NonNull<T>,
    len: usize,
    /// The arena that it lies in; nothing if the memory is its own.
    arena: Option<Arc<ArenaMemory>>,
    owned: PhantomData<T>,
}

/// Memory in huge pages for many buffers, one behind the other: the weights of a model are read in
/// that order, and small buffers would not fill a huge page of their own. It lives as long as one
/// of its buffers.
#[derive(Debug)]
pub struct HugePageArena {
    memory: Option<Arc<ArenaMemory>>,
    used: usize,
}

/// The memory of an arena.
#[derive(Debug)]
struct ArenaMemory {
    start: NonNull<u8>,
    layout: Layout,
}

impl HugePageArena {
    /// An arena of this many bytes. Pages that no buffer touches take no memory.
    pub fn new(bytes: usize) -> Self {
        let rounded = bytes.checked_next_multiple_of(HUGE_PAGE);
        let layout = rounded.and_then(|bytes| Layout::from_size_align(bytes, HUGE_PAGE).ok());
        let memory = layout.filter(|layout| layout.size() > 0).and_then(|layout| {
            // SAFETY: the layout is not empty.
            let start = NonNull::new(unsafe { alloc::alloc(layout) })?;
            ask_for_huge_pages(start.as_ptr(), layout);
            Some(Arc::new(ArenaMemory { start, layout }))
        });
        Self { memory, used: 0 }
    }

    /// The next `len` values of the arena, all zero; in memory of their own if the arena is full.
    ///
    /// # Panics
    /// As [`AlignedBuffer::zeroed`].
    pub fn zeroed<T: Plain>(&mut self, len: usize) -> AlignedBuffer<T> {
        let bytes = Layout::array::<T>(len).expect("a buffer no larger than memory can be").size();
        let memory = self.memory.as_ref().filter(|memory| bytes > 0 && bytes <= memory.layout.size() - self.used);
        let Some(memory) = memory else { return AlignedBuffer::zeroed(len) };
        // SAFETY: so many bytes are left behind those in use, and nobody else has them.
        let start = unsafe {
            let start = memory.start.add(self.used);
            start.write_bytes(0, bytes);
            start.cast()
        };
        let buffer = AlignedBuffer { start, len, arena: Some(Arc::clone(memory)), owned: PhantomData };
        self.used = (self.used + bytes).next_multiple_of(LINE);
        buffer
    }
}

impl Drop for ArenaMemory {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

// SAFETY: it is only memory; who may read and write which part of it, the buffers say.
unsafe impl Send for ArenaMemory {}
// SAFETY: as above.
unsafe impl Sync for ArenaMemory {}

impl<T: Plain> AlignedBuffer<T> {
    /// `len` zeros.
    ///
    /// # Panics
    /// Where so many values cannot be addressed; where memory is short it aborts, as a `Vec` does.
    pub fn zeroed(len: usize) -> Self {
        let layout = Self::layout(len);
        if layout.size() == 0 {
            return Self { start: NonNull::dangling(), len, arena: None, owned: PhantomData };
        }
        // SAFETY: the layout is not empty.
        let bytes = unsafe { alloc::alloc(layout) };
        let Some(start) = NonNull::new(bytes.cast::<T>()) else { alloc::handle_alloc_error(layout) };
        // The advice must come before the first write: pages are made when they are touched.
        ask_for_huge_pages(bytes, layout);
        // SAFETY: the allocation has this many bytes.
        unsafe { bytes.write_bytes(0, layout.size()) };
        Self { start, len, arena: None, owned: PhantomData }
    }

    fn layout(len: usize) -> Layout {
        let array = Layout::array::<T>(len).expect("a buffer no larger than memory can be");
        let align = if array.size() >= HUGE_PAGE { HUGE_PAGE } else { LINE };
        array.align_to(align).expect("a buffer no larger than memory can be")
    }
}

/// A failure changes nothing but the speed.
fn ask_for_huge_pages(start: *mut u8, layout: Layout) {
    // Miri knows no such advice.
    #[cfg(all(target_os = "linux", not(miri)))]
    if layout.size() >= HUGE_PAGE {
        // SAFETY: the range was just allocated and begins at a page; the advice does not change what it holds.
        unsafe { libc::madvise(start.cast(), layout.size(), libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (start, layout);
}

impl<T: Plain> Deref for AlignedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` values were allocated and set; `NonNull::dangling` will do for none.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for AlignedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Plain> Clone for AlignedBuffer<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T: Plain> Drop for AlignedBuffer<T> {
    fn drop(&mut self) {
        let layout = Self::layout(self.len);
        if self.arena.is_none() && layout.size() > 0 {
            // SAFETY: allocated by `zeroed` with this very layout.
            unsafe { alloc::dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<T: Plain + std::fmt::Debug> std::fmt::Debug for AlignedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlignedBuffer").field("len", &self.len).finish_non_exhaustive()
    }
}

// SAFETY: the buffer owns its values, which are plain numbers.
unsafe impl<T: Plain> Send for AlignedBuffer<T> {}
// SAFETY: a shared buffer is only read.
unsafe impl<T: Plain> Sync for AlignedBuffer<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_aligned_and_writable_at_every_size() {
        let large = [HUGE_PAGE / 4 - 1, HUGE_PAGE / 4, HUGE_PAGE + 3];
        let large = if cfg!(miri) { &[][..] } else { &large };
        for &len in [0, 1, 63, 64, 1000].iter().chain(large) {
            let mut buffer = AlignedBuffer::<f32>::zeroed(len);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|value| value.to_bits() == 0));
            let align = if len * 4 >= HUGE_PAGE { HUGE_PAGE } else { LINE };
            assert!(len == 0 || buffer.as_ptr().addr().is_multiple_of(align));
            buffer.fill(1.5);
            assert!(buffer.clone().iter().all(|value| *value == 1.5));
        }
    }

    #[test]
    fn an_arena_gives_what_it_has_and_lives_as_long_as_its_buffers() {
        let mut arena = HugePageArena::new(1000);
        let mut first = arena.zeroed::<u8>(100);
        let second = arena.zeroed::<f32>(7);
        assert!(first.as_ptr().addr().is_multiple_of(HUGE_PAGE));
        assert_eq!(second.as_ptr().addr() - first.as_ptr().addr(), 128);
        assert!(arena.zeroed::<u8>(0).is_empty());
        let beyond = arena.zeroed::<u8>(HUGE_PAGE - 128);
        let fits = arena.zeroed::<u8>(HUGE_PAGE - 192);
        assert_eq!(fits.as_ptr().addr() - first.as_ptr().addr(), 192);
        assert!([&beyond, &fits].iter().all(|bytes| bytes[0] == 0 && bytes[bytes.len() - 1] == 0));
        drop(arena);
        first.fill(3);
        assert!(first.clone().iter().all(|byte| *byte == 3) && second.iter().all(|value| *value == 0.0));
        assert_eq!(HugePageArena::new(0).zeroed::<i32>(3)[..], [0; 3]);
        assert_eq!(HugePageArena::new(usize::MAX).zeroed::<i32>(3)[..], [0; 3]);
    }
}
