//! What `hotloop_malloc.c`, or an allocator of the program's own, reports.

use profiler::__private;

use crate::quiet::is_quiet;

/// Announces that allocations are going to be reported.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_malloc_installed() {
    __private::allocator_installed();
}

/// This thread allocated.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_count_alloc(bytes: usize) {
    if !is_quiet() {
        __private::count_alloc(bytes);
    }
}

/// This thread freed.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_count_free(bytes: usize) {
    if !is_quiet() {
        __private::count_free(bytes);
    }
}

/// This thread reallocated.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_count_realloc(old_bytes: usize, new_bytes: usize) {
    if !is_quiet() {
        __private::count_realloc(old_bytes, new_bytes);
    }
}
