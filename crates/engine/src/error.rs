//! What can be wrong with a file, a model or a request.

use std::fmt;
use std::path::{Path, PathBuf};

/// What the engine's functions return.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, where, and, if that helps, what to do.
///
/// It reads as one sentence after another: `model.gguf: tensor blk.0.attn_q.weight: 12 bytes are
/// missing; the file was cut off`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    file: Option<PathBuf>,
    message: String,
}

/// What kind of thing was wrong, for those who react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system could not read or write.
    Io,
    /// The file is damaged, cut off or contradicts itself.
    Malformed,
    /// The file is right, and asks for something that is not there.
    Unsupported,
    /// What was asked for cannot be: a prompt too long, a model too large, a setting out of range.
    Refused,
}

impl Error {
    /// The system could not read or write.
    pub fn io(file: &Path, error: &std::io::Error) -> Self {
        Self { kind: ErrorKind::Io, file: Some(file.to_owned()), message: error.to_string() }
    }

    /// The file is damaged.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Malformed, file: None, message: message.into() }
    }

    /// The file asks for something that is not there.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Unsupported, file: None, message: message.into() }
    }

    /// What was asked for cannot be.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Refused, file: None, message: message.into() }
    }

    /// The same error, about this file, unless it already names one.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// The same error, about this part: a key, a tensor.
    #[must_use]
    pub fn about(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// What kind of thing was wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The file it is about.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A name from a file, as it may be shown: not too long, and without anything that a terminal would obey.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 80;
        let end = self.0.char_indices().nth(LONGEST).map(|(at, _)| at);
        write!(f, "{}", self.0[..end.unwrap_or(self.0.len())].escape_debug())?;
        if end.is_some() { f.write_str("…") } else { Ok(()) }
    }
}
