//! The hash of a file.

use std::fs::File;
use std::path::Path;

/// BLAKE3 of a file; `None` if it cannot be read or is not a regular file.
#[must_use]
pub fn blake3_of(file: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    // Opening a pipe would block until somebody writes to it.
    let file = file.is_file().then(|| File::open(file).ok())??;
    hasher.update_reader(file).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}
