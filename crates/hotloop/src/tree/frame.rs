//! Which stack frame a scope was entered from: how scopes are found that were never ended.
//!
//! `longjmp`, a forgotten exit and `mem::forget` leave a scope open for ever. What is opened later would hang below it, one
//! level deeper each time, until the tree has no room.

use std::ptr;
use std::sync::atomic::Ordering::*;

use super::local::{Local, ancestors};
use super::node::Node;
use crate::clock;
use crate::site::Site;

/// The frame that a scope was entered from; 0 where it is not known.
///
/// The upper 24 bits are an address on the stack, the lower 8 tell calls of the same depth apart where the frame is that
/// of a function whose own end ends the scope, as the C macros have it. They are 0 where only the stack pointer is known,
/// which says less: a function may open a scope for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame(pub(super) u32);

/// A site that is open this often from the same frame was left open, most likely: it is ended where the tree would else have
/// no room for others. A program that opens and closes scopes in callbacks may nest some of one site in one frame.
const LEAKS: usize = 16;
/// So deep the tree has little room left.
const DEEP: u16 = 192;
/// Addresses are compared within this many units of 16 bytes: 64 KiB. Those farther apart may be on two stacks.
const SPAN: u32 = 1 << 12;

impl Frame {
    pub(super) const UNKNOWN: Frame = Frame(0);

    /// Where the caller stands.
    #[inline(always)]
    pub(super) fn here() -> Frame {
        let address: usize;
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: reads a register.
        unsafe {
            core::arch::asm!("mov {}, rsp", out(reg) address, options(nomem, nostack, preserves_flags));
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: reads a register.
        unsafe {
            core::arch::asm!("mov {}, sp", out(reg) address, options(nomem, nostack, preserves_flags));
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        {
            address = 0;
        }
        Frame((address as u32) << 4 & !0xff)
    }

    /// The frame at this address, of a function that returns to `caller`.
    pub(crate) fn of_function(address: usize, caller: usize) -> Frame {
        let hash = (caller ^ caller >> 8 ^ caller >> 16) as u32 & 0xff;
        Frame((address as u32) << 4 & !0xff | hash.max(1))
    }

    fn is_of_function(self) -> bool {
        self.0 & 0xff != 0
    }

    /// Whether a scope of the frame `inner` must have ended, because its function has: it lies deeper than this frame, or
    /// as deep but was called from elsewhere.
    fn is_outside(self, inner: Frame) -> bool {
        if !self.is_of_function() || !inner.is_of_function() {
            return false;
        }
        let deeper = (self.0 >> 8).wrapping_sub(inner.0 >> 8) & 0xff_ffff;
        deeper != 0 && deeper < SPAN || deeper == 0 && self != inner
    }
}

impl Local {
    /// Ends the scopes that were left open, before one is entered at `site` from `frame`.
    pub(super) fn end_leaked(&self, site: &'static Site, frame: Frame) {
        if self.attachments.get() > 0 {
            // What lies above an attachment was not entered by this thread.
            return;
        }
        let is_open = |node: &&Node| !node.parent.is_null();
        let gone = |node: &&Node| frame.is_outside(Frame(node.frame.load(Relaxed)));
        let open = || ancestors(self.current.get()).take_while(is_open);
        let outermost = open().take_while(gone).last().or_else(|| {
            let same = |node: &&Node| ptr::eq(node.site, site) && node.frame.load(Relaxed) == frame.0;
            let outermost = open().filter(same).last()?;
            let is_deep = self.current_node().is_some_and(|node| node.depth >= DEEP);
            (is_deep && frame.0 != 0 && open().filter(same).count() >= LEAKS).then_some(outermost)
        });
        let (Some(outermost), Some(thread)) = (outermost, self.thread()) else { return };
        let leaked = open().take_while(|node| !ptr::eq(*node, outermost)).count() + 1;
        thread.lost.leaked.add(leaked as u64);
        self.end_all_from(outermost, clock::now());
    }
}
