//! What a command prints, and how the program ends.

use std::io::{ErrorKind, Write};

use super::error::FAILED;
use super::{CommandError, interrupt, pager};

/// What a command leaves to be printed, and the exit code.
#[derive(Debug, Default)]
pub struct CommandOutput {
    /// For standard output.
    pub text: Vec<u8>,
    /// Whether this text goes through the pager on a terminal.
    pub paged: bool,
    /// For standard error, after the text.
    pub notes: String,
    /// What failed although there is output. The last one decides the exit code.
    pub errors: Vec<CommandError>,
    /// The exit code of a verdict, or of a program that was run. It comes before all others.
    pub code: u8,
    /// Whether Ctrl-C ended the work.
    pub interrupted: bool,
}

impl CommandOutput {
    /// Text for standard output.
    pub fn text(text: impl Into<Vec<u8>>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Text that people read from its beginning.
    pub fn paged(text: impl Into<Vec<u8>>) -> Self {
        Self { paged: true, ..Self::text(text) }
    }

    /// A line for standard error.
    pub fn notes(notes: String) -> Self {
        Self { notes, ..Self::default() }
    }

    /// Prints everything; gives the exit code.
    pub fn print(self) -> u8 {
        let written = if self.paged && pager::show(&self.text) { 0 } else { write(&self.text) };
        // The notes are also in the text or in the exit code.
        let _ = std::io::stderr().lock().write_all(self.notes.as_bytes());
        self.errors.iter().for_each(CommandError::print);
        match self.errors.last() {
            _ if self.code != 0 => self.code,
            Some(error) => error.code,
            None if self.interrupted => interrupt::EXIT_CODE,
            None => written,
        }
    }
}

/// Writes to standard output. A reader that has gone away is no error.
fn write(text: &[u8]) -> u8 {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            CommandError::without_hint(format!("cannot write to standard output: {error}")).print();
            FAILED
        }
        _ => 0,
    }
}
