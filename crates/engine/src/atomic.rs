//! A file that is there whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Tells the files of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Written under another name beside the target, which it takes when it is whole and on the disk.
/// Dropped before, it is removed; of a process that dies, a file `.NAME.PROCESS-NUMBER.part` is
/// left.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    temporary: PathBuf,
    /// Nothing once it has its name.
    file: Option<File>,
    overwrite: bool,
}

impl AtomicFile {
    /// Begins a file. Where there is one already, it is refused unless `overwrite` says otherwise.
    ///
    /// # Errors
    /// Where nothing can be written beside it.
    pub fn create(target: &Path, overwrite: bool) -> Result<Self> {
        // A link stays a link: what it leads to is replaced.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        may_be_written(&target, overwrite)?;
        let Some(name) = target.file_name() else {
            return Err(Error::refused("not a file name").in_file(&target));
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{number}.part", std::process::id()));
        let temporary = target.with_file_name(temporary);
        let file = File::options().write(true).create_new(true).open(&temporary);
        let file =
            file.map_err(|error| Error::io(&target, &error).about("no temporary file can be created next to it"));
        Ok(Self { target, temporary, file: Some(file?), overwrite })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Where the system cannot write them.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        written.map_err(|error| Error::io(&self.target, &error))
    }

    /// Sees to it that the bytes are on the disk, and gives the file its name.
    ///
    /// # Errors
    /// Where either fails; what was there before is there still.
    pub fn finish(mut self) -> Result<()> {
        let io = |error: std::io::Error| Error::io(&self.target, &error);
        if let Some(file) = &self.file {
            file.sync_all().map_err(io)?;
        }
        may_be_written(&self.target, self.overwrite)?;
        fs::rename(&self.temporary, &self.target).map_err(io)?;
        self.file = None;
        // So that the name is on the disk too. Not every system opens folders; then it follows in its own time.
        if let Some(folder) = self.target.parent().and_then(|folder| File::open(folder).ok()) {
            folder.sync_all().ok();
        }
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            fs::remove_file(&self.temporary).ok();
        }
    }
}

/// Whether a file may take the place of what is there.
fn may_be_written(target: &Path, overwrite: bool) -> Result<()> {
    match fs::metadata(target) {
        Err(_) => Ok(()),
        Ok(there) if !there.is_file() => Err(Error::refused("not a regular file; not overwritten").in_file(target)),
        Ok(_) if overwrite => Ok(()),
        Ok(_) => Err(Error::refused("the file exists; not overwritten without being asked").in_file(target)),
    }
}
