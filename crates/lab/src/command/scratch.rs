//! Files for a program's output. Reading pipes would take CPU time from the program.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::OutputFiles;

/// What is shown of a program's complaints.
const LAST_WORDS: u64 = 2_000;
/// What is shown of each stream of a program that failed.
const LAST_OUTPUT: u64 = 64 << 10;

/// Two unnamed files, which are deleted when they are dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    output: File,
    stderr: File,
}

impl Scratch {
    pub(crate) fn new() -> Result<Self, String> {
        let file = || nameless().map_err(|error| format!("cannot create a file for its output: {error}"));
        Ok(Self { output: file()?, stderr: file()? })
    }

    /// Both of them, empty, for a program to write to.
    pub(crate) fn streams(&mut self) -> Result<OutputFiles, String> {
        let empty = |file: &File| {
            file.set_len(0)?;
            file.try_clone()
        };
        let failed = |error: io::Error| format!("cannot write its output to a file: {error}");
        Ok(OutputFiles { output: empty(&self.output).map_err(failed)?, stderr: empty(&self.stderr).map_err(failed)? })
    }

    /// What was printed, from its beginning.
    pub(crate) fn output(&self) -> Result<File, String> {
        rewound(&self.output, SeekFrom::Start(0))
    }

    /// The same of what it complained of.
    pub(crate) fn stderr(&self) -> Result<File, String> {
        rewound(&self.stderr, SeekFrom::Start(0))
    }

    /// The last of what it complained of, else of what it printed.
    pub(crate) fn last_words(&self) -> String {
        let last = |file: &File| {
            let words = String::from_utf8_lossy(&last(file, LAST_WORDS)).trim().to_owned();
            (!words.is_empty()).then_some(words)
        };
        last(&self.stderr).or_else(|| last(&self.output)).unwrap_or_else(|| "it printed nothing".to_owned())
    }

    /// The end of what it printed and of what it complained of, for people.
    pub(crate) fn last_output(&self) -> [Vec<u8>; 2] {
        [&self.output, &self.stderr].map(|file| last(file, LAST_OUTPUT))
    }
}

/// The last bytes of a file, as far as they can be read.
fn last(file: &File, bytes: u64) -> Vec<u8> {
    let length = file.metadata().map_or(0, |about| about.len());
    let mut read = Vec::new();
    if let Ok(file) = rewound(file, SeekFrom::Start(length.saturating_sub(bytes))) {
        // What cannot be read is not shown.
        let _ = file.take(bytes).read_to_end(&mut read);
    }
    read
}

fn rewound(file: &File, to: SeekFrom) -> Result<File, String> {
    let rewind = || {
        let mut file = file.try_clone()?;
        file.seek(to)?;
        Ok(file)
    };
    rewind().map_err(|error: io::Error| format!("cannot read its output: {error}"))
}

/// A file without a name. It is appended to, so that a program writes at its end wherever somebody reads.
fn nameless() -> io::Result<File> {
    Ok(tempfile::Builder::new().prefix("hotloop-").append(true).tempfile()?.into_file())
}
