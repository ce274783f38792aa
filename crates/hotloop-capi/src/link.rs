//! Work handed to other threads.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

use profiler::{Attached, Link};

use crate::quiet::quietly;

/// `hotloop_link` of hotloop.h: a tag that is not 0 in a link of ours, and the link's own number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CLink {
    tag: u64,
    raw: u64,
}

const TAG: u64 = 0x686f_746c_6f6f_7001;

const _: () = assert!(size_of::<Link>() == size_of::<u32>(), "a link is one number");

fn to_raw(link: Link) -> u32 {
    // SAFETY: a link is a `u32`, by the assertion above and by its definition.
    unsafe { std::mem::transmute(link) }
}

fn from_raw(raw: u32) -> Link {
    // SAFETY: as above; any number is valid, and 0 is the root.
    unsafe { std::mem::transmute(raw) }
}

thread_local! {
    /// What this thread is attached to, the innermost last. What is left when a thread ends is not detached: its tree
    /// has been handed over by then.
    static ATTACHED: RefCell<Vec<ManuallyDrop<Attached>>> = const { RefCell::new(Vec::new()) };
}

/// The scope this thread is in.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_current() -> CLink {
    CLink { tag: TAG, raw: to_raw(quietly(profiler::current)).into() }
}

/// Attaches this thread to a scope.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_attach(link: CLink) {
    // A link that is all zero attaches to nothing, but is still undone by the next detach.
    let link = from_raw(if link.tag == TAG { link.raw as u32 } else { 0 });
    quietly(|| {
        let attached = ManuallyDrop::new(link.attach());
        // The thread is ending: nothing can be attached any more.
        let _ = ATTACHED.try_with(|stack| stack.borrow_mut().push(attached));
    });
}

/// Undoes the last attachment of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_detach() {
    let innermost = ATTACHED.try_with(|stack| stack.borrow_mut().pop());
    if let Ok(Some(attached)) = innermost {
        quietly(|| drop(ManuallyDrop::into_inner(attached)));
    }
}
