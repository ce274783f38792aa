//! Where the text goes while it comes.

use std::io::{Error, ErrorKind, Write};

/// A writer that may go away.
pub struct Output<'a> {
    writer: Option<&'a mut dyn Write>,
    error: Option<Error>,
}

impl<'a> Output<'a> {
    /// Nothing is written where there is no writer.
    pub fn new(writer: Option<&'a mut dyn Write>) -> Self {
        Self { writer, error: None }
    }

    /// Writes at once: somebody is reading along.
    pub fn write(&mut self, text: &str) {
        let Some(writer) = self.writer.as_mut().filter(|_| !text.is_empty()) else { return };
        if let Err(error) = writer.write_all(text.as_bytes()).and_then(|()| writer.flush()) {
            self.error = Some(error);
            self.writer = None;
        }
    }

    /// Whether nobody can be written to any more.
    pub fn is_gone(&self) -> bool {
        self.error.is_some()
    }

    /// Why text was lost; a reader that had enough is no loss.
    pub fn lost(self) -> Option<Error> {
        self.error.filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }
}
