//! Opening and closing scopes: the functions that have to be fast.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicU32;

use profiler::{__private, Scope};

use crate::control::hotloop_active;
use crate::site::CSite;

/// `hotloop_scope` of hotloop.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CScope {
    raw: u64,
}

const NONE: CScope = CScope { raw: 0 };
const NO_INDEX: u64 = u64::MAX;

/// Brings in what begins before `main`, also for programs that open scopes without the macros.
#[used]
static ACTIVE: &AtomicU32 = &hotloop_active;

/// Opens a scope.
///
/// # Safety
/// `site` is null or points to a site that is never freed, made as hotloop.h describes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_enter(site: *const CSite) -> CScope {
    // SAFETY: the caller's promise.
    unsafe { hotloop_enter_index(site, NO_INDEX) }
}

/// Opens a scope with a number.
///
/// # Safety
/// As for [`hotloop_enter`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_enter_index(site: *const CSite, index: u64) -> CScope {
    if !profiler::is_started() {
        return NONE;
    }
    // SAFETY: the caller's promise.
    let Some(site) = (unsafe { site.as_ref() }) else { return NONE };
    // SAFETY: the caller's promise.
    let site = unsafe { site.resolve() };
    CScope { raw: __private::enter(site, index).into_raw() }
}

/// Opens a scope that ends with the function whose frame this is and which returns to `caller`: what the macros call.
///
/// # Safety
/// As for [`hotloop_enter`]. The addresses are only compared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_enter_frame(
    site: *const CSite,
    index: u64,
    frame: *const c_void,
    caller: *const c_void,
) -> CScope {
    if !profiler::is_started() {
        return NONE;
    }
    // SAFETY: the caller's promise.
    let Some(site) = (unsafe { site.as_ref() }) else { return NONE };
    // SAFETY: the caller's promise.
    let site = unsafe { site.resolve() };
    CScope { raw: __private::enter_from(site, index, frame.addr(), caller.addr()).into_raw() }
}

/// Closes a scope.
///
/// # Safety
/// `scope` came from [`hotloop_enter`], [`hotloop_enter_index`] or [`hotloop_enter_frame`], or its `raw` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_exit(scope: CScope) {
    if scope.raw != 0 {
        // SAFETY: the caller's promise. One that is closed twice is found, because nodes are never freed, and nothing
        // happens.
        drop(unsafe { Scope::from_raw(scope.raw) });
    }
}

/// Declares work done in a scope.
///
/// # Safety
/// As for [`hotloop_exit`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_add_work(scope: CScope, flops: u64, bytes: u64, tokens: u64) {
    if scope.raw == 0 {
        return;
    }
    // SAFETY: the caller's promise. Not dropped: that would close it.
    let mut scope = ManuallyDrop::new(unsafe { Scope::from_raw(scope.raw) });
    scope.add_flops(flops);
    scope.add_bytes(bytes);
    scope.add_tokens(tokens);
}
