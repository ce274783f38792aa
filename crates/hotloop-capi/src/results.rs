//! What was recorded, as data and as text.

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use profiler::__private::may_lock;
use profiler::{ScopeStats, Snapshot};

use crate::owned::{keep_results, keep_text};
use crate::quiet::quietly;
use crate::text;

/// `HOTLOOP_OTHER_INDEX` of hotloop.h.
const OTHER_INDEX: u64 = u64::MAX - 1;

/// `hotloop_entry` of hotloop.h.
#[repr(C)]
pub struct Entry {
    name: *const c_char,
    file: *const c_char,
    line: u32,
    depth: u32,
    index: u64,
    parent: usize,
    calls: u64,
    timed_calls: u64,
    total_ns: u64,
    self_ns: u64,
    min_ns: u64,
    max_ns: u64,
    mean_ns: f64,
    p50_ns: i64,
    p90_ns: i64,
    p99_ns: i64,
    allocs: u64,
    alloc_bytes: u64,
    frees: u64,
    free_bytes: u64,
    reallocs: u64,
    peak_live_bytes: u64,
    flops: u64,
    bytes: u64,
    tokens: u64,
    total_se_ns: i64,
    self_se_ns: i64,
    waiting_ns: u64,
}

/// Entries for C and the texts they point to.
pub(crate) struct Results {
    entries: Vec<Entry>,
    _texts: Vec<CString>,
}

// SAFETY: the pointers in the entries lead to the texts beside them, which go where they go.
unsafe impl Send for Results {}

impl Results {
    fn new(scopes: &[ScopeStats]) -> Self {
        let mut texts = Vec::with_capacity(2 * scopes.len());
        let mut text = |text: &str| {
            let text = text::for_c(text);
            let address = text.as_ptr();
            texts.push(text);
            address
        };
        let entries = scopes.iter().map(|scope| Entry::new(scope, text(&scope.name), text(scope.file))).collect();
        Results { entries, _texts: texts }
    }

    pub(crate) fn address(&self) -> usize {
        self.entries.as_ptr().addr()
    }
}

impl Entry {
    fn new(scope: &ScopeStats, name: *const c_char, file: *const c_char) -> Self {
        Entry {
            name,
            file,
            line: scope.line,
            depth: u32::try_from(scope.depth).unwrap_or(u32::MAX),
            index: scope.index.unwrap_or(if scope.is_other_index { OTHER_INDEX } else { u64::MAX }),
            parent: scope.parent.unwrap_or(usize::MAX),
            calls: scope.calls,
            timed_calls: scope.timed_calls,
            total_ns: scope.total_ns,
            self_ns: scope.self_ns,
            min_ns: scope.min_ns,
            max_ns: scope.max_ns,
            mean_ns: scope.mean_ns(),
            p50_ns: or_unmeasured(scope.p50_ns),
            p90_ns: or_unmeasured(scope.p90_ns),
            p99_ns: or_unmeasured(scope.p99_ns),
            allocs: scope.allocs.allocs,
            alloc_bytes: scope.allocs.alloc_bytes,
            frees: scope.allocs.frees,
            free_bytes: scope.allocs.free_bytes,
            reallocs: scope.allocs.reallocs,
            peak_live_bytes: scope.peak_live_bytes,
            flops: scope.flops,
            bytes: scope.bytes,
            tokens: scope.tokens,
            total_se_ns: or_unmeasured(scope.total_se_ns),
            self_se_ns: or_unmeasured(scope.self_se_ns),
            waiting_ns: scope.waiting_ns,
        }
    }
}

/// C has no `None`: -1 stands for it.
fn or_unmeasured(time: Option<u64>) -> i64 {
    time.map_or(-1, |ns| i64::try_from(ns).unwrap_or(i64::MAX))
}

/// Hands entries to C.
///
/// # Safety
/// The pointers are null or may be written to.
unsafe fn give(entries: *mut *mut Entry, len: *mut usize, read: impl FnOnce(&Snapshot) -> Vec<ScopeStats>) -> usize {
    // Without a place for the entries there are none, so that nothing is left to free.
    let results = if entries.is_null() { Results::new(&[]) } else { Results::new(&read(&profiler::snapshot())) };
    let (address, count) = (results.entries.as_ptr().cast_mut(), results.entries.len());
    if !entries.is_null() {
        // SAFETY: not null, and the caller promises the rest.
        unsafe { entries.write(if count == 0 { ptr::null_mut() } else { address }) };
    }
    if !len.is_null() {
        // SAFETY: not null, and the caller promises the rest.
        unsafe { len.write(count) };
    }
    if count > 0 {
        keep_results(results);
    }
    count
}

/// The call tree.
///
/// # Safety
/// The pointers are null or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_results(entries: *mut *mut Entry, len: *mut usize) -> usize {
    // SAFETY: the caller's promise.
    quietly(|| unsafe { give(entries, len, |snapshot| snapshot.scopes.clone()) })
}

/// One entry per name, the hottest first.
///
/// # Safety
/// The pointers are null or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hotloop_results_by_name(entries: *mut *mut Entry, len: *mut usize) -> usize {
    let hottest_first = |snapshot: &Snapshot| {
        let mut scopes = snapshot.by_name();
        scopes.sort_by_key(|scope| std::cmp::Reverse(scope.total_ns));
        scopes.iter_mut().for_each(|scope| (scope.parent, scope.depth) = (None, 0));
        scopes
    };
    // SAFETY: the caller's promise.
    quietly(|| unsafe { give(entries, len, hottest_first) })
}

/// How long has been recorded.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_wall_ns() -> u64 {
    quietly(|| profiler::snapshot().wall_ns)
}

fn report(n: usize) -> CString {
    text::for_c(&profiler::snapshot().report(n))
}

/// The report as text.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_report(n: usize) -> *mut c_char {
    quietly(|| keep_text(report(n)))
}

/// All that was recorded, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_snapshot_json() -> *mut c_char {
    quietly(|| keep_text(text::for_c(&profiler::snapshot().to_json())))
}

/// Prints the report, through C's own stdout: in the order of the program's other output, and a closed pipe is no error.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_print_report(n: usize) {
    unsafe extern "C" {
        fn printf(format: *const c_char, ...) -> c_int;
    }
    if !may_lock() {
        return;
    }
    let text = quietly(|| report(n));
    // SAFETY: one string for one `%s`.
    unsafe { printf(c"%s".as_ptr(), text.as_ptr()) };
    quietly(|| drop(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_waiting_stand_at_the_end() {
        let mut scope = ScopeStats::default();
        (scope.total_se_ns, scope.waiting_ns) = (Some(7), 9);
        (scope.calls, scope.total_ns, scope.attached_ns) = (2, 10, 6);
        let entry = Entry::new(&scope, ptr::null(), ptr::null());
        assert_eq!((entry.total_se_ns, entry.self_se_ns, entry.waiting_ns), (7, -1, 9));
        assert!((entry.mean_ns - 2.0).abs() < 1e-9, "without what other threads did: {}", entry.mean_ns);
        // Programs that were built with an earlier header read what lies before.
        assert!(std::mem::offset_of!(Entry, total_se_ns) > std::mem::offset_of!(Entry, tokens));
        assert_eq!(std::mem::offset_of!(Entry, waiting_ns) + size_of::<u64>(), size_of::<Entry>());
    }
}
