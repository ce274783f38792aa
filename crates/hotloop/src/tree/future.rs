//! Futures: entered for each poll, on whichever thread polls them.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::hot::flags_now;
use super::link::Link;
use crate::scope::{self, Scope};
use crate::site::Site;

/// A future that is a scope: one call, entered for each poll, with the time from its first poll to its last.
///
/// Each poll enters below the scope that is open on the polling thread, which for an awaited future is the future that
/// awaits it; so the tree is the same whichever threads the polls happen on.
#[derive(Debug)]
pub struct Profiled<F> {
    future: F,
    polls: Polls,
}

/// What a future knows of its earlier polls.
#[derive(Debug)]
struct Polls {
    site: &'static Site,
    index: u64,
    /// When the last poll ended, and what was recorded then; 0 before the first.
    last: u64,
    flags: u64,
}

impl<F> Profiled<F> {
    /// Makes `future` a scope at `site`; [`u64::MAX`] for no index.
    #[inline]
    pub fn new(site: &'static Site, index: u64, future: F) -> Self {
        Profiled { future, polls: Polls { site, index, last: 0, flags: 0 } }
    }
}

impl<F: Future> Future for Profiled<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` stays pinned: it is never moved out, and nothing else here is pinned.
        let (future, polls) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &mut this.polls)
        };
        if !crate::ENABLED {
            return future.poll(context);
        }
        let mut scope = polls.enter();
        let result = future.poll(context);
        polls.leave(&mut scope);
        result
    }
}

impl Polls {
    #[inline]
    fn enter(&mut self) -> Scope {
        let flags = flags_now();
        let same_run = self.flags >> 32 == flags >> 32;
        if self.flags != flags {
            // The first poll, or recording was stopped or reset since the last: the time between does not count.
            self.last = scope::now_ticks();
        }
        if same_run { scope::reenter(self.site, self.index) } else { scope::enter(self.site, self.index) }
    }

    /// Adds the time since the last poll ended, so that the sums of all polls span the first to the last.
    #[inline]
    fn leave(&mut self, scope: &mut Scope) {
        if scope.is_active() {
            let now = scope::now_ticks();
            scope.add_elapsed_ticks(now.saturating_sub(self.last));
            (self.last, self.flags) = (now, flags_now());
        }
    }
}

/// A future that is attached to a scope whenever it is polled; made by [`Link::wrap`].
#[derive(Debug)]
pub struct Linked<F> {
    future: F,
    link: Link,
}

impl Link {
    /// Attaches a future to the scope: for a task that is spawned, and so polled from nowhere.
    pub fn wrap<F: Future>(self, future: F) -> Linked<F> {
        Linked { future, link: self }
    }
}

impl<F: Future> Future for Linked<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let link = self.link;
        // SAFETY: `future` stays pinned: it is never moved out.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        let _attached = link.attach();
        future.poll(context)
    }
}
