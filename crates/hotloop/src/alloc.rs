//! The counting allocator: charges each allocation to the scope and thread that make it.
#![allow(unsafe_code, reason = "implements GlobalAlloc")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::ENABLED;
use crate::tree::{Local, flags_now, mode, set_watch};

/// Counts allocations and passes them on to another allocator.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();
/// ```
///
/// Allocations are charged to the scope that is open on the allocating thread, frees to the one open on the freeing
/// thread; a reallocation that succeeds is charged for the difference and counted apart. While the profiler is not
/// started, a load and a branch; without the feature `enabled`, nothing.
#[derive(Debug, Default)]
pub struct Allocator<A = System> {
    inner: A,
}

impl Allocator<System> {
    /// Counts what the system's allocator does.
    #[must_use]
    pub const fn system() -> Self {
        Allocator { inner: System }
    }
}

impl<A> Allocator<A> {
    /// Counts what `inner` does.
    pub const fn new(inner: A) -> Self {
        Allocator { inner }
    }
}

// SAFETY: every call is passed on unchanged to an allocator that keeps the contract; counting neither allocates nor
// unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        let memory = unsafe { self.inner.alloc(layout) };
        if !memory.is_null() {
            count_alloc(layout.size());
        }
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        let memory = unsafe { self.inner.alloc_zeroed(layout) };
        if !memory.is_null() {
            count_alloc(layout.size());
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.inner.dealloc(memory, layout) };
        count_free(layout.size());
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        let moved = unsafe { self.inner.realloc(memory, layout, new_size) };
        if !moved.is_null() {
            count_realloc(layout.size(), new_size);
        }
        moved
    }
}

/// Charges an allocation to the scope this thread is in.
#[inline(always)]
pub fn count_alloc(bytes: usize) {
    charge(|local, flags| local.charge_alloc(flags, bytes as u64));
}

/// Charges a free to the scope this thread is in.
#[inline(always)]
pub fn count_free(bytes: usize) {
    charge(|local, flags| local.charge_free(flags, bytes as u64));
}

/// Charges a reallocation to the scope this thread is in.
#[inline(always)]
pub fn count_realloc(old: usize, new: usize) {
    charge(|local, flags| local.charge_realloc(flags, old as u64, new as u64));
}

#[inline(always)]
fn charge(to: impl FnOnce(&Local, u64)) {
    let flags = if ENABLED { flags_now() } else { 0 };
    if flags & (mode::ALLOCATIONS | mode::WATCH) != 0 {
        Local::with(|local| to(local, flags));
    }
}

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Tells the profiler that something other than [`Allocator`] as global allocator counts allocations.
pub fn allocator_installed() {
    INSTALLED.store(true, Relaxed);
    #[cfg(all(feature = "enabled", any(unix, windows), not(miri)))]
    crate::environment::count_allocations_too();
}

/// Whether allocations are counted: found out by making one and looking whether it was.
pub(crate) fn is_installed() -> bool {
    if !INSTALLED.load(Relaxed) {
        let watch = AllocationCount::begin();
        drop(std::hint::black_box(Box::new(0_u64)));
        INSTALLED.store(watch.allocations() > 0, Relaxed);
    }
    INSTALLED.load(Relaxed)
}

/// Counts the allocations and reallocations that this thread makes while it lives.
#[derive(Debug)]
pub(crate) struct AllocationCount {
    before: u64,
    _one_thread: PhantomData<*const ()>,
}

impl AllocationCount {
    pub(crate) fn begin() -> AllocationCount {
        set_watch(true);
        AllocationCount { before: Local::with(Local::watched), _one_thread: PhantomData }
    }

    /// So many up to now.
    pub(crate) fn allocations(&self) -> u64 {
        Local::with(Local::watched) - self.before
    }
}

impl Drop for AllocationCount {
    fn drop(&mut self) {
        set_watch(false);
    }
}
