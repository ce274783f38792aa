//! From the call sites of C programs to those of the profiler.

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::sync::{LazyLock, Mutex, PoisonError};

use profiler::__private::{Site, may_lock};

use crate::function_name::function_name;
use crate::quiet::quietly;
use crate::text;

/// `hotloop_site` of hotloop.h: a static of the program.
#[repr(C)]
pub struct CSite {
    name: *const c_char,
    function: *const c_char,
    file: *const c_char,
    line: u32,
    /// The profiler's site; null until the first use.
    handle: AtomicPtr<Site>,
}

// SAFETY: `handle` is atomic, and the rest is never written once the program has made the site.
unsafe impl Sync for CSite {}
// SAFETY: as above; the strings are not tied to a thread.
unsafe impl Send for CSite {}

impl CSite {
    /// The profiler's site for this one.
    ///
    /// # Safety
    /// The pointers in it are null or C strings.
    #[inline(always)]
    pub(crate) unsafe fn resolve(&self) -> &'static Site {
        let known = self.handle.load(Acquire);
        // SAFETY: null, or the leaked site that `register` stored.
        match unsafe { known.as_ref() } {
            Some(site) => site,
            // SAFETY: the caller's promise.
            None => unsafe { self.register() },
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn register(&self) -> &'static Site {
        // SAFETY: the caller's promise.
        let site = quietly(|| intern(unsafe { self.key() }));
        self.handle.store(ptr::from_ref(site).cast_mut(), Release);
        site
    }

    unsafe fn key(&self) -> Key {
        // SAFETY: the caller's promise.
        let (name, function, file) =
            unsafe { (text::copy(self.name), text::copy(self.function), text::copy(self.file)) };
        let name = name.or_else(|| function.as_deref().map(function_name));
        Key { name: name.unwrap_or_else(|| "(unnamed)".to_owned()), file: file.unwrap_or_default(), line: self.line }
    }
}

/// What makes two sites one: a function in a header is compiled into several files, a template for several types.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    file: String,
    line: u32,
}

/// Sites are never freed; there are as many as the source has places.
fn intern(key: Key) -> &'static Site {
    static SITES: LazyLock<Mutex<HashMap<Key, &'static Site>>> = LazyLock::new(Mutex::default);
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    sites.entry(key).or_insert_with_key(|key| {
        let (name, file) = (text::leak(key.name.clone()), text::leak(key.file.clone()));
        Box::leak(Box::new(Site::new("", name, file, key.line)))
    })
}

/// A site for a name that only the running program knows.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_named_site(name: *const c_char) -> *const CSite {
    static NAMED: LazyLock<Mutex<HashMap<String, &'static CSite>>> = LazyLock::new(Mutex::default);
    quietly(|| {
        // SAFETY: the caller's promise.
        let Some(name) = (unsafe { text::copy(name) }) else { return ptr::null() };
        if !may_lock() {
            // Nothing is recorded in a forked child: any name will do.
            return ptr::null();
        }
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        *named.entry(name).or_insert_with_key(|name| leak_named(text::for_c(name)))
    })
}

fn leak_named(name: CString) -> &'static CSite {
    Box::leak(Box::new(CSite {
        name: name.into_raw(),
        function: ptr::null(),
        file: ptr::null(),
        line: 0,
        handle: AtomicPtr::default(),
    }))
}
