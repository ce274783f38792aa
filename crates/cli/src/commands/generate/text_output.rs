//! Where generated text goes.

use std::io::{Error, ErrorKind, Write};

/// A writer that may be closed by its reader.
pub struct TextOutput<'a> {
    writer: Option<&'a mut dyn Write>,
    error: Option<Error>,
}

impl<'a> TextOutput<'a> {
    /// Without a writer, nothing is written.
    pub fn new(writer: Option<&'a mut dyn Write>) -> Self {
        Self { writer, error: None }
    }

    /// Writes at once, because somebody may be reading along.
    pub fn write(&mut self, text: &str) {
        let Some(writer) = self.writer.as_mut().filter(|_| !text.is_empty()) else { return };
        if let Err(error) = writer.write_all(text.as_bytes()).and_then(|()| writer.flush()) {
            self.error = Some(error);
            self.writer = None;
        }
    }

    /// Whether nothing can be written any more.
    pub fn is_closed(&self) -> bool {
        self.error.is_some()
    }

    /// Why text was lost. A reader that had enough is no error.
    pub fn error(self) -> Option<Error> {
        self.error.filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }
}
