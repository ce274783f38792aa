//! What was handed to C and is to be given back: kept in a table, so that freeing twice, or freeing what is not ours,
//! does nothing.

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use profiler::__private::may_lock;

use crate::quiet::quietly;
use crate::results::Results;

enum Owned {
    Text(#[expect(dead_code, reason = "held for C")] CString),
    Results(#[expect(dead_code, reason = "held for C")] Results),
}

/// `None` in a forked child, where the lock may never be released. What is given out there, which is next to nothing, is
/// not freed.
fn table() -> Option<MutexGuard<'static, HashMap<usize, Owned>>> {
    static TABLE: LazyLock<Mutex<HashMap<usize, Owned>>> = LazyLock::new(Mutex::default);
    may_lock().then(|| TABLE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn keep(address: usize, owned: Owned) {
    match table() {
        Some(mut table) => drop(table.insert(address, owned)),
        None => std::mem::forget(owned),
    }
}

fn free(address: usize) {
    quietly(|| drop(table().and_then(|mut table| table.remove(&address))));
}

/// Keeps a text until it is freed.
pub(crate) fn keep_text(text: CString) -> *mut c_char {
    let address = text.as_ptr().cast_mut();
    keep(address.addr(), Owned::Text(text));
    address
}

/// Keeps results until they are freed.
pub(crate) fn keep_results(results: Results) {
    keep(results.address(), Owned::Results(results));
}

/// Frees what `hotloop_report` gave.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_free_string(text: *mut c_char) {
    free(text.addr());
}

/// Frees what `hotloop_results` gave.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_free_results(entries: *mut crate::results::Entry) {
    free(entries.addr());
}
