//! A temporary folder.

use std::io;
use std::path::Path;

use tempfile::TempDir;

/// An empty folder that others cannot look into. It is removed with its contents when it is dropped.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// A new one where the system keeps temporary files.
    ///
    /// # Errors
    /// Why it cannot be created.
    pub fn new() -> io::Result<Self> {
        Self::within(&std::env::temp_dir())
    }

    /// A new one in this folder.
    ///
    /// # Errors
    /// Why it cannot be created.
    pub(crate) fn within(parent: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("hotloop-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        builder.tempdir_in(parent).map(Folder)
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
