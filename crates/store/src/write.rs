//! Writes files atomically and durably.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

use crate::files::Files;
use crate::{Error, Result};

/// An older temporary file belongs to a process that died: writing a run takes seconds.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Writes a file: first a temporary one that is synced to the disk, then by one rename to its place.
pub fn put(files: &Files, target: &Path, bytes: &[u8]) -> Result<()> {
    let mut temporary = temporary_file(files)?;
    let folder = target.parent().expect("it is in a folder of the store");
    make_folder(folder)?;
    let file = temporary.as_file_mut();
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| Error::io("cannot write", temporary.path(), &error))?;
    temporary.persist(target).map_err(|error| Error::io("cannot write", target, &error.error))?;
    settle(folder)
}

/// Writes a file and removes it again.
pub fn try_out(files: &Files) -> Result<()> {
    temporary_file(files).map(drop)
}

/// A file that is removed unless it gets its name. Others cannot read it: a run has a command line and
/// a prompt in it.
fn temporary_file(files: &Files) -> Result<NamedTempFile> {
    let folder = files.temporaries();
    make_folder(&folder)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
    builder.tempfile_in(&folder).map_err(|error| Error::io("cannot write", &folder, &error))
}

/// Deletes a file durably.
pub fn remove(target: &Path) -> Result<()> {
    fs::remove_file(target).map_err(|error| Error::io("cannot remove", target, &error))?;
    target.parent().map_or(Ok(()), settle)
}

/// Removes temporary files of processes that died while writing. Nothing depends on it.
pub fn sweep(files: &Files) {
    let Ok(names) = fs::read_dir(files.temporaries()) else { return };
    for file in names.flatten() {
        let modified = file.metadata().and_then(|about| about.modified());
        let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
        if age.is_some_and(|age| age > ABANDONED) {
            // Another process may have removed it.
            fs::remove_file(file.path()).ok();
        }
    }
}

/// Makes the new file readable by its owner only.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Creates a folder for its owner only. An existing folder keeps its permissions.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a folder and its parents durably.
fn make_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(above)?;
    match create_private(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !path.is_dir() => {
            Err(Error::io("cannot create the folder", path, &error))
        }
        _ => settle(above),
    }
}

/// Syncs the entries of a folder to disk.
fn settle(folder: &Path) -> Result<()> {
    // Other systems cannot open folders; their file systems keep renames in order.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some network file systems do not support this.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        done => done.map_err(|error| Error::io("cannot sync", folder, &error)),
    }
}
