//! Errors of a store.

use std::fmt;
use std::io;
use std::path::Path;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error, with the file that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// The kind of an error, which decides its hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No such run or tag.
    NotFound,
    /// The start of an id matches several runs.
    Ambiguous,
    /// Not a valid name.
    BadName,
    /// The run still has tags.
    Tagged,
    /// The run could not be read again, so it is not saved.
    Unsound,
    /// The file is damaged.
    Corrupt,
    /// A later version wrote it.
    Newer,
    /// The store cannot be written to.
    ReadOnly,
    /// The disk is full.
    NoSpace,
    /// The folder of the store is unknown.
    NoPlace,
    /// Reading or writing failed otherwise.
    Io,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// An I/O error, with the failed action (`cannot read`) and the file.
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

    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self.kind {
            ErrorKind::NotFound => "`hotloop history` lists the stored runs",
            ErrorKind::Ambiguous => "give more digits of the id",
            ErrorKind::BadName => {
                "name a run by its id, at least the first four digits of it, @latest, @previous, a tag or a file"
            }
            ErrorKind::Tagged => "remove the tags first (`hotloop history untag NAME`), or use --force",
            ErrorKind::Unsound => "this is a bug in the program that made the run; nothing was saved",
            ErrorKind::Corrupt => "restore the file from a copy, or remove the run; other runs are not affected",
            ErrorKind::Newer => "use the version of hotloop that wrote it, or a later one",
            ErrorKind::ReadOnly => "check the folder's permissions, or choose another one with --store",
            ErrorKind::NoSpace => "free some disk space and try again; earlier runs are not affected",
            ErrorKind::NoPlace => "choose a folder with --store or HOTLOOP_STORE",
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
