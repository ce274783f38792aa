//! Finds a program's file and explains why it cannot be started.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A program that cannot be started.
#[derive(Debug, Clone, PartialEq)]
pub struct StartError {
    /// The program, as it was named.
    pub program: String,
    /// Why.
    pub why: StartErrorKind,
}

/// Why a program cannot be started.
#[derive(Debug, Clone, PartialEq)]
pub enum StartErrorKind {
    /// There is no such file.
    NotFound,
    /// The file cannot be executed; the system's message.
    NotExecutable(String),
}

impl StartError {
    pub(super) fn new(program: &OsStr, error: io::Error) -> Self {
        let is_there = file(program).is_some() || named_by_path(program).is_some_and(Path::exists);
        let why = match error.kind() {
            // The system reports the same if a script's interpreter is missing.
            io::ErrorKind::NotFound if is_there => {
                StartErrorKind::NotExecutable("its interpreter or loader does not exist".to_owned())
            }
            io::ErrorKind::NotFound => StartErrorKind::NotFound,
            _ => StartErrorKind::NotExecutable(error.to_string()),
        };
        StartError { program: program.to_string_lossy().into_owned(), why }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            StartErrorKind::NotFound => write!(f, "no program `{}`", self.program),
            StartErrorKind::NotExecutable(why) => write!(f, "cannot execute `{}`: {why}", self.program),
        }
    }
}

impl std::error::Error for StartError {}

/// A name with a separator is a path and is not searched in `PATH`.
fn named_by_path(program: &OsStr) -> Option<&Path> {
    let path = Path::new(program);
    (path.components().count() > 1 || path.is_absolute()).then_some(path)
}

/// The file of a program, searched in the same way as the system does.
pub(super) fn file(program: &OsStr) -> Option<PathBuf> {
    if let Some(path) = named_by_path(program) {
        return path.is_file().then(|| path.to_owned());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| is_executable(path))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
