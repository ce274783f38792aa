//! The bytes of a file, mapped and not copied: the only unsafe code of the engine.
//!
//! What a mapping shows is the file itself. If another program writes to it meanwhile, bytes change
//! under our eyes; if one cuts it off, reading beyond the new end kills the process with SIGBUS.
//! Neither can be prevented here: a model file must not be changed in place while it is in use.
//! Replacing it, as our own writer does by renaming, is harmless, for the mapping keeps the old
//! one. Nothing read from the bytes is trusted twice: sizes and offsets are copied when a file is
//! opened, and every pattern of weights is a value.
#![allow(unsafe_code, reason = "mapping a file, and handing its pages back")]

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;

use crate::{Error, Result};

/// A multiple of every usual size of a page; of a large one too, since a touch may bring all of one into the process.
const GRAIN: usize = 2 << 20;

/// Bytes that are read only: a file's, or some in memory.
#[derive(Debug)]
pub(crate) enum Mapping {
    /// Pages of a file, read when they are touched.
    File(memmap2::Mmap),
    /// Bytes that came another way.
    Memory(Vec<u8>),
    /// Bytes of the program itself.
    Program(&'static [u8]),
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
        mapped.map(Self::File).map_err(|error| Error::io(path, &error))
    }

    /// Says that these bytes will not be read again soon: the pages that they touch leave the
    /// process, and come back from the file if somebody reads there.
    pub(crate) fn release(&self, range: Range<usize>) {
        let end = range.end.min(self.len());
        let (start, end) = (range.start / GRAIN * GRAIN, end.next_multiple_of(GRAIN).min(self.len()));
        #[cfg(unix)]
        if let Self::File(mapped) = self
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
            Self::File(mapped) => mapped,
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
