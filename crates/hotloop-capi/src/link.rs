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

thread_local! {
    /// What this thread is attached to, the innermost last. What is left when a thread ends is not detached: its tree
    /// has been handed over by then.
    static ATTACHED: RefCell<Vec<ManuallyDrop<Attached>>> = const { RefCell::new(Vec::new()) };
}

/// The scope this thread is in.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_current() -> CLink {
    CLink { tag: TAG, raw: quietly(profiler::current).into_raw() }
}

/// Attaches this thread to a scope.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_attach(link: CLink) {
    // A link that is all zero attaches to nothing, but is still undone by the next detach.
    let link = Link::from_raw(if link.tag == TAG { link.raw } else { 0 });
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
