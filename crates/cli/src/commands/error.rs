//! Why a command could not do what was asked.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

/// Exit code where something cannot be written or measured.
pub const FAILED: u8 = 1;
/// Exit code where the input is at fault.
pub const BAD_INPUT: u8 = 2;

/// What failed, what to do about it, and the exit code.
#[derive(Debug)]
pub struct CommandError {
    pub message: String,
    hint: Option<Cow<'static, str>>,
    pub code: u8,
}

impl CommandError {
    /// An error of the input. The hint is for this error alone.
    pub fn new(message: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()), code: BAD_INPUT }
    }

    /// An error that says it all.
    pub fn without_hint(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code: BAD_INPUT }
    }

    /// The same with another exit code.
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// The same with another hint.
    pub fn with_hint(self, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same with more at the end of its message.
    pub fn with_addition(mut self, text: &str) -> Self {
        self.message.push_str(text);
        self
    }

    /// An error of an unusable `HOTLOOP_ISA`.
    pub fn instruction_set(message: String) -> Self {
        Self::new(message, "unset HOTLOOP_ISA to use the best instructions of this CPU")
    }

    /// An error while the store was changed: a full disk is not the fault of the input.
    pub fn of_saving(error: store::Error) -> Self {
        use store::ErrorKind::{Io, NoSpace, ReadOnly};
        let code = if matches!(error.kind(), ReadOnly | NoSpace | Io) { FAILED } else { BAD_INPUT };
        Self::from(error).with_code(code)
    }

    /// Prints it to standard error.
    pub fn print(&self) {
        // Nothing is left to try if standard error cannot be written.
        let _ = write!(std::io::stderr().lock(), "{self}");
    }

    /// One line, for documents and for messages that contain it.
    pub fn line(&self) -> String {
        self.hint.as_ref().map_or_else(|| self.message.clone(), |hint| format!("{}; {hint}", self.message))
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        self.hint.iter().try_for_each(|hint| writeln!(f, "\nhint: {hint}"))
    }
}

impl From<engine::Error> for CommandError {
    fn from(error: engine::Error) -> Self {
        let hint = match error.kind() {
            engine::ErrorKind::Io => Some("check the path, its permissions, and the free space"),
            engine::ErrorKind::Malformed => Some("get or convert the file again; nothing was changed"),
            engine::ErrorKind::Unsupported => Some("convert the model, or use another one"),
            _ => None,
        };
        let message = error.to_string();
        hint.map_or_else(|| Self::without_hint(message.clone()), |hint| Self::new(message.clone(), hint))
    }
}

impl From<training::Error> for CommandError {
    fn from(error: training::Error) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}

impl From<store::Error> for CommandError {
    fn from(error: store::Error) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}
