//! Text from C and text for C.

use std::ffi::{CStr, CString, c_char};

/// A copy of a C string; what is not UTF-8 in it becomes replacement characters. `None` for null.
///
/// # Safety
/// `text` is null or points to a string that ends with a zero byte.
pub(crate) unsafe fn copy(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the end.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// The same text for C, which cannot hold a zero byte inside.
pub(crate) fn for_c(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}

/// The same text for ever. Only for what the program's source bounds in number: names and files of sites.
pub(crate) fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_what_c_may_send() {
        let not_utf8 = CString::new(b"a\xffb".to_vec()).unwrap();
        // SAFETY: null is allowed, and a CString ends with a zero byte.
        let (none, some) = unsafe { (copy(std::ptr::null()), copy(not_utf8.as_ptr())) };
        assert_eq!(none, None);
        assert_eq!(some.as_deref(), Some("a\u{fffd}b"));
        assert_eq!(for_c("a\0b").to_bytes(), b"ab");
    }
}
