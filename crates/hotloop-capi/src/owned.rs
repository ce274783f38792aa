//! What was handed to C and is to be given back: kept in a table, so that freeing twice, or freeing what is not ours,
//! does nothing.

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::quiet::quietly;
use crate::results::Results;

enum Owned {
    Text(#[expect(dead_code, reason = "held for C")] CString),
    Results(#[expect(dead_code, reason = "held for C")] Results),
}

fn table() -> MutexGuard<'static, HashMap<usize, Owned>> {
    static TABLE: LazyLock<Mutex<HashMap<usize, Owned>>> = LazyLock::new(Mutex::default);
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a text until it is freed.
pub(crate) fn keep_text(text: CString) -> *mut c_char {
    let address = text.as_ptr().cast_mut();
    table().insert(address.addr(), Owned::Text(text));
    address
}

/// Keeps results until they are freed.
pub(crate) fn keep_results(results: Results) {
    table().insert(results.address(), Owned::Results(results));
}

/// Frees what `hotloop_report` gave.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_free_string(text: *mut c_char) {
    quietly(|| drop(table().remove(&text.addr())));
}

/// Frees what `hotloop_results` gave.
#[unsafe(no_mangle)]
pub extern "C" fn hotloop_free_results(entries: *mut crate::results::Entry) {
    quietly(|| drop(table().remove(&entries.addr())));
}
