//! What tells two files apart.

use std::fs::File;
use std::path::Path;

/// BLAKE3 of a file; `None` where it cannot be read, or is none.
#[must_use]
pub fn blake3_of(file: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    // Opening a pipe would wait for somebody to write to it.
    let file = file.is_file().then(|| File::open(file).ok())??;
    hasher.update_reader(file).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}
