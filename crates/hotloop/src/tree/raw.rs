//! Scopes and links as numbers, for callers that are not written in Rust.

use super::hot::{Entered, Token};
use super::link::Link;
use crate::scope::Scope;

// SAFETY: an address that is followed only through the thread's own tree. `Scope`, the only one to hold it, stays on its
// thread by itself, so that errors name that and not what is in here.
unsafe impl Send for Entered {}
// SAFETY: as above.
unsafe impl Sync for Entered {}

impl Scope {
    /// The scope as a number that [`from_raw`](Self::from_raw) takes back; 0 when it is not recorded.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn into_raw(self) -> u64 {
        let Token(raw) = self.token();
        std::mem::forget(self);
        raw
    }

    /// The scope that [`into_raw`](Self::into_raw) gave away.
    ///
    /// # Safety
    /// The number comes from there, and is taken back once, on the same thread.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn from_raw(raw: u64) -> Scope {
        Scope::new(Entered::from_token(Token(raw)))
    }
}

impl Link {
    /// The link as a number that [`from_raw`](Self::from_raw) takes back; 0 leads nowhere.
    #[doc(hidden)]
    #[must_use]
    pub fn into_raw(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.path)
    }

    /// The link that [`into_raw`](Self::into_raw) gave away; another number leads to another scope, or nowhere.
    #[doc(hidden)]
    #[must_use]
    pub fn from_raw(raw: u64) -> Link {
        Link { path: raw as u32, generation: (raw >> 32) as u32 }
    }
}
