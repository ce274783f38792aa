//! What went wrong with a store.

use std::fmt;
use std::io;
use std::path::Path;

/// Of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, and with which file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// What can be done about it depends on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No run or tag is called that.
    NotFound,
    /// Several runs could be meant.
    Ambiguous,
    /// A name that cannot be one.
    BadName,
    /// Tags still name the run.
    Tagged,
    /// A run that could not be read again is not kept.
    Unsound,
    /// The file is not what was written.
    Corrupt,
    /// A later version wrote it.
    Newer,
    /// The store cannot be written to.
    ReadOnly,
    /// The disk is full.
    NoSpace,
    /// It is not known where the store is.
    NoPlace,
    /// Reading or writing failed otherwise.
    Io,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A failure of the system, with what was being done (`cannot read`) to which file.
    pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => ErrorKind::ReadOnly,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                ErrorKind::NoSpace
            }
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("{doing} {}: {error}", path.display()))
    }

    pub(crate) fn corrupt(path: &Path, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Corrupt, format!("{}: {what}", path.display()))
    }

    /// What kind it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What could be done about it.
    pub fn hint(&self) -> &'static str {
        match self.kind {
            ErrorKind::NotFound => "`hotloop history` lists the runs that are there",
            ErrorKind::Ambiguous => "give more of the id",
            ErrorKind::BadName => {
                "a run is an id, four or more of its first digits, @latest, @previous, a tag, or a file"
            }
            ErrorKind::Tagged => "remove the tags first (`hotloop history untag NAME`), or give --force",
            ErrorKind::Unsound => "this is a fault of the program that made the run; nothing was saved",
            ErrorKind::Corrupt => {
                "copy the file again from where it is whole, or remove the run; the other runs are not touched"
            }
            ErrorKind::Newer => "take the version of hotloop that wrote it, or a later one",
            ErrorKind::ReadOnly => "check the rights to the folder, or give another one with --store",
            ErrorKind::NoSpace => "make room and try again; what was there before is still there",
            ErrorKind::NoPlace => "name a folder with --store or in HOTLOOP_STORE",
            ErrorKind::Io => "check the path and the disk",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
