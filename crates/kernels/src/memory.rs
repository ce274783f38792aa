//! Memory for numbers that are read in long streams: aligned to cache lines, and in large pages where there is much of it.

use std::alloc::{self, Layout};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// A cache line, and the widest vector.
const LINE: usize = 64;

/// A large page. Reading weights from DRAM through 2 MiB pages was 30 % faster than through 4 KiB pages.
const LARGE_PAGE: usize = 2 << 20;

/// Numbers for which every pattern of bits is a value, so that memory full of zeros is full of them.
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

/// A fixed number of values, zero at first, that begin at a cache line; two mebibytes or more begin at a large page and ask
/// for such pages, unless they are a part of a [`Shelf`].
pub struct AlignedBuffer<T: Plain> {
    start: NonNull<T>,
    len: usize,
    /// What it is a part of; nothing where the memory is its own.
    shelf: Option<Arc<Board>>,
    owned: PhantomData<T>,
}

/// Memory for many buffers one behind the other, all of it in large pages: those of a model's weights are read in that order, and small
/// ones would have no large page to themselves. It lives as long as one of them.
#[derive(Debug)]
pub struct Shelf {
    board: Option<Arc<Board>>,
    used: usize,
}

/// The memory of a shelf.
#[derive(Debug)]
struct Board {
    start: NonNull<u8>,
    layout: Layout,
}

impl Shelf {
    /// Room for so many bytes. Pages that no buffer touches take no memory.
    pub fn new(bytes: usize) -> Self {
        let rounded = bytes.checked_next_multiple_of(LARGE_PAGE);
        let layout = rounded.and_then(|bytes| Layout::from_size_align(bytes, LARGE_PAGE).ok());
        let board = layout.filter(|layout| layout.size() > 0).and_then(|layout| {
            // SAFETY: the layout is not empty.
            let start = NonNull::new(unsafe { alloc::alloc(layout) })?;
            ask_for_large_pages(start.as_ptr(), layout);
            Some(Arc::new(Board { start, layout }))
        });
        Self { board, used: 0 }
    }

    /// `len` zeros behind those that were taken before; in memory of their own where the shelf is full.
    ///
    /// # Panics
    /// As [`AlignedBuffer::zeroed`].
    pub fn zeroed<T: Plain>(&mut self, len: usize) -> AlignedBuffer<T> {
        let bytes = Layout::array::<T>(len).expect("a buffer no larger than memory can be").size();
        let board = self.board.as_ref().filter(|board| bytes > 0 && bytes <= board.layout.size() - self.used);
        let Some(board) = board else { return AlignedBuffer::zeroed(len) };
        // SAFETY: so many bytes are left behind those in use, and nobody else has them.
        let start = unsafe {
            let start = board.start.add(self.used);
            start.write_bytes(0, bytes);
            start.cast()
        };
        let buffer = AlignedBuffer { start, len, shelf: Some(Arc::clone(board)), owned: PhantomData };
        self.used = (self.used + bytes).next_multiple_of(LINE);
        buffer
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

// SAFETY: it is only memory; who may read and write which part of it, the buffers say.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl<T: Plain> AlignedBuffer<T> {
    /// `len` zeros.
    ///
    /// # Panics
    /// Where so many values cannot be addressed; where memory is short it aborts, as a `Vec` does.
    pub fn zeroed(len: usize) -> Self {
        let layout = Self::layout(len);
        if layout.size() == 0 {
            return Self { start: NonNull::dangling(), len, shelf: None, owned: PhantomData };
        }
        // SAFETY: the layout is not empty.
        let bytes = unsafe { alloc::alloc(layout) };
        let Some(start) = NonNull::new(bytes.cast::<T>()) else { alloc::handle_alloc_error(layout) };
        // The advice must come before the first write: pages are made when they are touched.
        ask_for_large_pages(bytes, layout);
        // SAFETY: the allocation has this many bytes.
        unsafe { bytes.write_bytes(0, layout.size()) };
        Self { start, len, shelf: None, owned: PhantomData }
    }

    fn layout(len: usize) -> Layout {
        let array = Layout::array::<T>(len).expect("a buffer no larger than memory can be");
        let align = if array.size() >= LARGE_PAGE { LARGE_PAGE } else { LINE };
        array.align_to(align).expect("a buffer no larger than memory can be")
    }
}

/// A failure changes nothing but the speed.
fn ask_for_large_pages(start: *mut u8, layout: Layout) {
    // Miri knows no such advice.
    #[cfg(all(target_os = "linux", not(miri)))]
    if layout.size() >= LARGE_PAGE {
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
        if self.shelf.is_none() && layout.size() > 0 {
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
        let large = [LARGE_PAGE / 4 - 1, LARGE_PAGE / 4, LARGE_PAGE + 3];
        let large = if cfg!(miri) { &[][..] } else { &large };
        for &len in [0, 1, 63, 64, 1000].iter().chain(large) {
            let mut buffer = AlignedBuffer::<f32>::zeroed(len);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|value| value.to_bits() == 0));
            let align = if len * 4 >= LARGE_PAGE { LARGE_PAGE } else { LINE };
            assert!(len == 0 || buffer.as_ptr().addr().is_multiple_of(align));
            buffer.fill(1.5);
            assert!(buffer.clone().iter().all(|value| *value == 1.5));
        }
    }

    #[test]
    fn a_shelf_gives_what_it_has_and_lives_as_long_as_that() {
        let mut shelf = Shelf::new(1000);
        let mut first = shelf.zeroed::<u8>(100);
        let second = shelf.zeroed::<f32>(7);
        assert!(first.as_ptr().addr().is_multiple_of(LARGE_PAGE));
        assert_eq!(second.as_ptr().addr() - first.as_ptr().addr(), 128);
        assert!(shelf.zeroed::<u8>(0).is_empty());
        let beyond = shelf.zeroed::<u8>(LARGE_PAGE - 128);
        let fits = shelf.zeroed::<u8>(LARGE_PAGE - 192);
        assert_eq!(fits.as_ptr().addr() - first.as_ptr().addr(), 192);
        assert!([&beyond, &fits].iter().all(|bytes| bytes[0] == 0 && bytes[bytes.len() - 1] == 0));
        drop(shelf);
        first.fill(3);
        assert!(first.clone().iter().all(|byte| *byte == 3) && second.iter().all(|value| *value == 0.0));
        assert_eq!(Shelf::new(0).zeroed::<i32>(3)[..], [0; 3]);
        assert_eq!(Shelf::new(usize::MAX).zeroed::<i32>(3)[..], [0; 3]);
    }
}
