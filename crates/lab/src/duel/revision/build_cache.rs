//! What was built, kept by what it was built from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of one build.
#[derive(Debug)]
pub(super) struct CachedBuild(PathBuf);

impl CachedBuild {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The one file in it.
    pub(super) fn program(&self) -> Option<PathBuf> {
        let mut files = fs::read_dir(&self.0).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        files.find(|path| path.is_file())
    }

    /// Copies a program there, so that it is there whole or not at all.
    pub(super) fn keep(&self, program: &Path) -> io::Result<PathBuf> {
        let name = program.file_name().unwrap_or_default();
        let part = self.0.with_extension(format!("{}.part", std::process::id()));
        fs::create_dir_all(&part)?;
        fs::copy(program, part.join(name))?;
        if self.0.exists() {
            fs::remove_dir_all(&self.0)?;
        }
        fs::rename(&part, &self.0)?;
        Ok(self.0.join(name))
    }
}
