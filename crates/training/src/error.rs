//! What went wrong, in words for people.

use std::fmt;

/// What cannot be done, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    hint: &'static str,
    is_output: bool,
}

/// What came of it, or why nothing did.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What is wrong, with the file and the place in it, and what could be done.
    pub fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self { message: message.into(), hint, is_output: false }
    }

    /// What cannot be written: nothing is wrong with what was given.
    pub(crate) fn of_output(message: impl Into<String>, hint: &'static str) -> Self {
        Self { is_output: true, ..Self::new(message, hint) }
    }

    /// The same, of something that was being written.
    #[must_use]
    pub(crate) fn while_writing(mut self) -> Self {
        self.is_output = true;
        self
    }

    /// Whether something could not be written, and nothing is wrong with what was given.
    #[must_use]
    pub fn is_output(&self) -> bool {
        self.is_output
    }

    /// Somebody wanted to end.
    pub(crate) fn interrupted() -> Self {
        Self::new("interrupted before the first step", "start again; nothing is lost")
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
        Self::new(error.to_string(), "check the file or the sizes named in the error")
    }
}
