//! What went wrong, in words for people.

use std::fmt;

/// What cannot be done, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    hint: &'static str,
}

/// What came of it, or why nothing did.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What is wrong, with the file and the place in it, and what could be done.
    pub fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self { message: message.into(), hint }
    }

    /// Somebody wanted to end.
    pub(crate) fn interrupted() -> Self {
        Self::new("interrupted before the first step", "begin again; nothing is lost")
    }

    /// The same, about this part.
    #[must_use]
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// What could be done.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.hint
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Self {
        Self::new(error.to_string(), "look at the file or the sizes that the error names")
    }
}
