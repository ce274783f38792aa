//! Memory to read, with the pages that are asked for.

use std::alloc::{Layout, alloc, dealloc};
use std::time::Instant;

use super::BLOCK;

/// Which pages the memory is asked to have. Whether it gets them is the system's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Those of 2 MiB, where the system has them.
    Huge,
    /// The usual ones.
    Small,
}

/// A beginning that huge pages can have.
const HUGE: usize = 2 << 20;
/// Four streams of whole blocks.
const GRANULE: usize = 4 * BLOCK;
/// Written between two looks at the clock.
const STEP: usize = HUGE;

/// Written once, so that each page is really there, and on the node of the thread that writes.
pub(super) struct Buffer {
    words: *mut u64,
    layout: Layout,
    /// What is read of it.
    bytes: usize,
}

impl Buffer {
    /// So many bytes, rounded up to what the walks need; fewer, where writing them takes longer
    /// than `until`: a hypervisor may have to find memory first, and needs seconds for what else
    /// takes a tenth of one. `None`: they cannot be had.
    pub(super) fn new(bytes: usize, pages: Pages, until: Instant) -> Option<Self> {
        let layout = Layout::from_size_align(Self::touched(bytes, pages)?, HUGE).ok()?;
        // SAFETY: the size is not zero.
        let words = unsafe { alloc(layout) }.cast::<u64>();
        if words.is_null() {
            return None;
        }
        advise(words.cast(), layout.size(), pages);
        let mut written = 0;
        while written < layout.size() && (written == 0 || Instant::now() < until) {
            let end = layout.size().min(written + STEP);
            for at in written / 8..end / 8 {
                // SAFETY: the word lies inside of the buffer. Its value is odd and like no other: memory of zeros might
                // be one page that all addresses share.
                unsafe { words.add(at).write((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1) };
            }
            written = end;
        }
        Some(Self { words, layout, bytes: bytes.max(1).next_multiple_of(GRANULE).min(written) })
    }

    /// How much memory a buffer of so many bytes takes: whole huge pages, where it is to have them.
    pub(super) fn touched(bytes: usize, pages: Pages) -> Option<usize> {
        bytes.max(1).checked_next_multiple_of(if pages == Pages::Huge { HUGE } else { GRANULE })
    }

    /// How much of it is read.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn start(&self) -> *const u8 {
        self.words.cast()
    }
}

// SAFETY: nobody writes to it once it is made.
unsafe impl Send for Buffer {}
// SAFETY: the same.
unsafe impl Sync for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and nobody else frees it.
        unsafe { dealloc(self.words.cast(), self.layout) }
    }
}

#[cfg(target_os = "linux")]
fn advise(start: *mut u8, bytes: usize, pages: Pages) {
    let advice = match pages {
        Pages::Huge => libc::MADV_HUGEPAGE,
        Pages::Small => libc::MADV_NOHUGEPAGE,
    };
    // The end of the last page stays out: it may hold somebody else's data.
    let whole = bytes / 4096 * 4096;
    // SAFETY: the range belongs to the buffer; the advice changes no content. A refusal leaves the pages as they are.
    unsafe { libc::madvise(start.cast(), whole, advice) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize, _: Pages) {}

/// Bytes of this process in huge pages, where the system tells.
pub(super) fn huge_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
