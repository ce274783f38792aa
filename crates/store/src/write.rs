//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::files::Files;
use crate::{Error, Result};

/// Older than this, a temporary is of a process that died: writing a run takes seconds.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Writes a file: first beside, to the disk, then by one rename to its place, and that to the disk too.
pub fn put(files: &Files, target: &Path, bytes: &[u8]) -> Result<()> {
    make_folder(&files.temporaries())?;
    let folder = target.parent().expect("it is in a folder of the store");
    make_folder(folder)?;
    let temporary = Temporary::create(files)?;
    temporary.fill(bytes).map_err(|error| Error::io("cannot write", &temporary.path, &error))?;
    fs::rename(&temporary.path, target).map_err(|error| Error::io("cannot write", target, &error))?;
    settle(folder)
}

/// Writes a file and removes it again.
pub fn try_out(files: &Files) -> Result<()> {
    make_folder(&files.temporaries())?;
    Temporary::create(files).map(drop)
}

/// Removes a file for good.
pub fn remove(target: &Path) -> Result<()> {
    fs::remove_file(target).map_err(|error| Error::io("cannot remove", target, &error))?;
    target.parent().map_or(Ok(()), settle)
}

/// Removes what processes left that died while they wrote. Nothing depends on it.
pub fn sweep(files: &Files) {
    let Ok(names) = fs::read_dir(files.temporaries()) else { return };
    for file in names.flatten() {
        let modified = file.metadata().and_then(|about| about.modified());
        let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
        if age.is_some_and(|age| age > ABANDONED) {
            // Another process may have been faster.
            fs::remove_file(file.path()).ok();
        }
    }
}

/// A file that is removed unless it got its name.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A file that others cannot read: a run has a command line and a prompt in it.
    fn create(files: &Files) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = files.temporaries().join(format!("{}-{since}-{count}", std::process::id()));
        private(OpenOptions::new().write(true).create_new(true))
            .open(&path)
            .map_err(|error| Error::io("cannot write", &path, &error))?;
        Ok(Self { path })
    }

    fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename it is not there any more.
        fs::remove_file(&self.path).ok();
    }
}

/// Lets nobody else read the file that is made.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// A folder that nobody else can look into. What was there before keeps its rights.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a folder and those above it, so that they outlive a loss of power.
fn make_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(above)?;
    match create_private(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !path.is_dir() => {
            Err(Error::io("cannot make the folder", path, &error))
        }
        _ => settle(above),
    }
}

/// Brings the names in a folder to the disk.
fn settle(folder: &Path) -> Result<()> {
    // Elsewhere folders cannot be opened, and renames are kept in order by the file system.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some network file systems know no such thing.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        done => done.map_err(|error| Error::io("cannot bring to the disk", folder, &error)),
    }
}
