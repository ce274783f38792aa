//! The bytes of a file, mapped and not copied: the only unsafe code of the engine.
//!
//! What a mapping shows is the file itself. If another program writes to it meanwhile, bytes change
//! under our eyes; a model file must not be changed in place while it is in use. If one truncates
//! it, reads behind the new end give zeros, and [`FileInUse::check`] reports that. Replacing the
//! file, as our own writer does by renaming, is harmless, for the mapping keeps the old one.
//! Nothing read from the bytes is trusted twice: sizes and offsets are copied when a file is
//! opened, and every pattern of weights is a value.
#![allow(unsafe_code, reason = "mapping a file, and handing its pages back")]

mod truncation;

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Error, Result};
use truncation::Guard;

/// A multiple of every usual size of a page; of a large one too, since a touch may bring all of one into the process.
const GRAIN: usize = 2 << 20;

/// Bytes that are read only: a file's, or some in memory.
#[derive(Debug)]
pub(crate) enum Mapping {
    /// Pages of a file, read when they are touched.
    File(MappedFile),
    /// Bytes that came another way.
    Memory(Vec<u8>),
    /// Bytes of the program itself.
    Program(&'static [u8]),
}

/// A whole file, mapped.
#[derive(Debug)]
pub(crate) struct MappedFile {
    // Dropped before the bytes, as it must be.
    guard: Guard,
    bytes: memmap2::Mmap,
    path: PathBuf,
}

/// A file that a model reads while it computes, or read while it was loaded.
#[derive(Debug, Clone)]
pub struct FileInUse(Arc<Mapping>);

impl FileInUse {
    pub(crate) fn new(mapping: &Arc<Mapping>) -> Self {
        Self(Arc::clone(mapping))
    }

    /// Refuses what was computed from the file if it was truncated meanwhile.
    ///
    /// # Errors
    /// Something was read that is not in the file any more.
    pub fn check(&self) -> Result<()> {
        match &*self.0 {
            Mapping::File(file) if file.guard.is_truncated() => {
                let what = "the file was truncated while it was in use; copy it again, and replace a model file by \
                            renaming instead of overwriting it";
                Err(Error::malformed(what).in_file(&file.path))
            }
            _ => Ok(()),
        }
    }
}

impl Mapping {
    /// Maps a whole file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // Asked before it is opened: opening a pipe would wait for somebody to write into it.
        let about = std::fs::metadata(path).map_err(|error| Error::io(path, &error))?;
        if !about.is_file() {
            let what = if about.is_dir() { "a folder" } else { "not a regular file" };
            return Err(Error::refused(format!("this is {what}, not a model file")).in_file(path));
        }
        let file = File::open(path).map_err(|error| Error::io(path, &error))?;
        // SAFETY: the bytes are only ever read, and as bytes; what happens if the file changes meanwhile is told above.
        let mapped = unsafe { memmap2::Mmap::map(&file) };
        let bytes = mapped.map_err(|error| Error::io(path, &error))?;
        Ok(Self::File(MappedFile { guard: Guard::new(&bytes), bytes, path: path.to_owned() }))
    }

    /// Says that these bytes will not be read again soon: the pages that they touch leave the
    /// process, and come back from the file if somebody reads there.
    pub(crate) fn release(&self, range: Range<usize>) {
        let end = range.end.min(self.len());
        let (start, end) = (range.start / GRAIN * GRAIN, end.next_multiple_of(GRAIN).min(self.len()));
        #[cfg(unix)]
        if let Self::File(MappedFile { bytes: mapped, .. }) = self
            && start < end
        {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: a shared mapping that nobody writes to: pages that go come back with the bytes of the file.
            let advised = unsafe { mapped.unchecked_advise_range(advice, start, end - start) };
            // It is advice: where the system does not take it, the pages stay a little longer.
            drop(advised);
        }
        #[cfg(not(unix))]
        let _ = (start, end);
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::File(mapped) => &mapped.bytes,
            Self::Memory(bytes) => bytes,
            Self::Program(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_bytes_come_back() {
        let path = std::env::temp_dir().join(format!("hotloop-mapping-{}", std::process::id()));
        let bytes: Vec<u8> = (0..5 * GRAIN + 17).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let mapping = Mapping::open(&path).unwrap();
        for range in [0..bytes.len(), 1..GRAIN, GRAIN..2 * GRAIN, 7..usize::MAX, bytes.len()..bytes.len()] {
            assert!(*mapping == *bytes);
            mapping.release(range);
        }
        // The mapping outlives the name of its file.
        std::fs::remove_file(&path).unwrap();
        mapping.release(0..bytes.len());
        assert!(*mapping == *bytes);
    }

    #[test]
    fn what_cannot_be_mapped_is_named() {
        let folder = std::env::temp_dir();
        assert!(Mapping::open(&folder).unwrap_err().to_string().contains("this is a folder"));
        let missing = Mapping::open(&folder.join("no such file here")).unwrap_err();
        assert!(missing.to_string().contains("no such file here: No such file"), "{missing}");
    }
}
