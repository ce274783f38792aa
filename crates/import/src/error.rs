//! Why a text could not be read.

use std::fmt;

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    line: Option<u64>,
    message: String,
    is_unknown_format: bool,
    hint: Option<&'static str>,
}

/// What this crate gives back.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Error { line: None, message: message.into(), is_unknown_format: false, hint: None }
    }

    pub(crate) fn at(line: u64, message: impl Into<String>) -> Self {
        Error { line: Some(line), ..Self::new(message) }
    }

    pub(crate) fn unknown_format() -> Self {
        let message = "unknown format";
        Error { is_unknown_format: true, ..Self::new(message) }
    }

    /// The same, with what to do about it.
    pub(crate) fn with_hint(self, hint: &'static str) -> Self {
        Error { hint: Some(hint), ..self }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }

    /// The line where it is wrong, counted from 1, where that is known.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// Whether nobody knows what the text is, so that naming the format would help.
    pub fn is_unknown_format(&self) -> bool {
        self.is_unknown_format
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        let line = error.line() as u64;
        let message = format!("invalid JSON: {error}");
        if line > 0 { Error::at(line, message) } else { Error::new(message) }
    }
}
