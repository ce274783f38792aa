//! A folder for a while.

use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::{env, io, process};

/// An empty folder for files that nobody needs later; goes away with this.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new one, that others cannot look into.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn new() -> io::Result<Self> {
        Self::within(&env::temp_dir())
    }

    /// A new one in this folder.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub(crate) fn within(parent: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // A folder that is there already is another's.
        loop {
            let name = format!("hotloop-{}-{}", process::id(), NEXT.fetch_add(1, Relaxed));
            let path = parent.join(name);
            match builder.create(&path) {
                Ok(()) => return Ok(Folder { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is in a place that the system empties.
        let _ = fs::remove_dir_all(&self.path);
    }
}
