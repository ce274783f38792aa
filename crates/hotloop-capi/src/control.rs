//! Starting and stopping.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use profiler::__private::may_lock;

use crate::quiet::quietly;
use crate::text;

/// Not 0 while scopes are recorded: the macros of the headers read it before they call.
#[allow(non_upper_case_globals, reason = "a C name")]
#[unsafe(no_mangle)]
pub static hotloop_active: AtomicU32 = AtomicU32::new(0);

/// Called by the system before `main`: begins where the environment asks for it. In the same module as
/// [`hotloop_active`], hence in the same object of the static library: whoever reads that has this.
#[used]
#[cfg_attr(all(unix, not(target_vendor = "apple")), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    if quietly(profiler::__private::start_if_asked) {
        hotloop_active.store(1, Relaxed);
    }
}

/// `hotloop_config` of hotloop.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    size: usize,
    percentiles: c_int,
    allocations: c_int,
    budget: f64,
}

const DEFAULT: Config = Config { size: size_of::<Config>(), percentiles: 1, allocations: 1, budget: 0.02 };

impl Config {
    /// What the caller has set. Only what lies within its `size` is read: a program that was built with an older header
    /// has a shorter struct. The fields that it does not have keep their defaults.
    ///
    /// # Safety
    /// `config` is null or points to a `hotloop_config` of any version, of which `size` bytes may be read.
    unsafe fn read(config: *const Config) -> Config {
        if config.is_null() {
            return DEFAULT;
        }
        // SAFETY: every version begins with its size.
        let size = unsafe { config.cast::<usize>().read() };
        // SAFETY: the caller's promise; fields have kept their places since the first version.
        unsafe {
            Config {
                size: DEFAULT.size,
                percentiles: field(config, size, offset_of!(Config, percentiles)).unwrap_or(DEFAULT.percentiles),
                allocations: field(config, size, offset_of!(Config, allocations)).unwrap_or(DEFAULT.allocations),
                budget: field(config, size, offset_of!(Config, budget)).unwrap_or(DEFAULT.budget),
            }
        }
    }

    fn start(self) {
        let budget = if self.budget >= 0.0 { self.budget.min(1.0) } else { DEFAULT.budget };
        profiler::Config::new()
            .percentiles(self.percentiles != 0)
            .allocations(self.allocations != 0)
            .budget((budget > 0.0).then_some(budget))
            .start();
    }
}

/// The field at this offset, if all of it lies within the first `size` bytes.
///
/// # Safety
/// So many bytes may be read, and a `T` is at that offset.
unsafe fn field<T: Copy>(config: *const Config, size: usize, offset: usize) -> Option<T> {
    // SAFETY: the caller's promise.
    (offset + size_of::<T>() <= size).then(|| unsafe { config.byte_add(offset).cast::<T>().read() })
}

/// The configuration last used. Held while starting and stopping, so that [`hotloop_active`] says what is so.
static LAST: Mutex<Config> = Mutex::new(DEFAULT);

/// `None` in a forked child, where the lock may never be released.
fn last() -> Option<MutexGuard<'static, Config>> {
    may_lock().then(|| LAST.lock().unwrap_or_else(PoisonError::into_inner))
}

fn start_with(config: Config) {
    quietly(|| {
        config.start();
        name_main_thread();
    });
    hotloop_active.store(1, Relaxed);
}

thread_local! {
    /// Whether this thread was given a name.
    static NAMED: Cell<bool> = const { Cell::new(false) };
}

/// Names the calling thread if it is the one that `main` runs on: C, unlike Rust, gives that thread no name.
fn name_main_thread() {
    if is_main_thread() && !NAMED.get() {
        name_thread("main");
    }
}

#[cfg(target_os = "linux")]
fn is_main_thread() -> bool {
    unsafe extern "C" {
        safe fn gettid() -> c_int;
    }
    u32::try_from(gettid()) == Ok(std::process::id())
}

/// Elsewhere there is no way that all systems share; the thread goes by its number.
#[cfg(not(target_os = "linux"))]
fn is_main_thread() -> bool {
    false
}

fn name_thread(name: &str) {
    NAMED.set(true);
    profiler::name_thread(name);
}

/// Starts to record.
///
/// # Safety
/// `config` is null or points to a `hotloop_config` of this or an earlier version, with its size in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_start(config: *const Config) {
    // SAFETY: the caller's promise.
    let config = unsafe { Config::read(config) };
    if let Some(mut last) = last() {
        *last = config;
        start_with(config);
    }
}

/// Stops recording.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_stop() {
    let Some(_held) = last() else { return };
    hotloop_active.store(0, Relaxed);
    quietly(profiler::stop);
}

/// Forgets what was recorded.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_reset() {
    quietly(profiler::reset);
}

/// Starts with the configuration last used, or stops.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_set_enabled(enabled: c_int) {
    if enabled == 0 {
        return hotloop_stop();
    }
    let Some(last) = last() else { return };
    if !profiler::is_started() {
        start_with(*last);
    }
}

/// Whether scopes are being recorded.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_is_enabled() -> c_int {
    c_int::from(profiler::is_started())
}

/// Names this thread in reports.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_name_thread(name: *const std::ffi::c_char) {
    quietly(|| {
        // SAFETY: the caller's promise.
        if let Some(name) = unsafe { text::copy(name) } {
            name_thread(&name);
        }
    });
}
