//! The formats that runs are exported to. [`Format::ALL`] is the only list of them.

use std::fmt;

use record::{Profile, Run};

use super::picture::Picture;
use super::{chrome, csv, firefox, folded, perfetto, speedscope, stored, svg};

/// A format that runs are exported to.
#[derive(Clone, Copy)]
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// The usual extension of its files, without the dot.
    pub extension: &'static str,
    /// Whether it is not text, so that it is not printed on a terminal.
    pub is_binary: bool,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What opens it, and how.
    pub opened_by: &'static str,
    pub(super) write: Writer,
}

/// How a format is written, by what it needs.
#[derive(Clone, Copy)]
pub(super) enum Writer {
    /// The run, and its text as it is stored.
    Run(fn(&Run, &str) -> Vec<u8>),
    /// The run's call tree.
    Profile(fn(&Run, &Profile) -> Vec<u8>),
    /// Tracks of slices, made from the call tree or the timeline.
    Picture(fn(&Picture, &Profile, &str) -> Vec<u8>),
}

impl Format {
    /// Every format, in the order of the help.
    pub const ALL: &[Format] = &[
        chrome::FORMAT,
        perfetto::FORMAT,
        speedscope::FORMAT,
        folded::FORMAT,
        firefox::FORMAT,
        svg::FORMAT,
        csv::SCOPES,
        csv::SAMPLES,
        stored::FORMAT,
    ];

    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Format> {
        Self::ALL.iter().find(|format| format.name == name).copied()
    }

    /// Whether only runs with a profile can be written in it.
    #[must_use]
    pub fn needs_profile(self) -> bool {
        !matches!(self.write, Writer::Run(_))
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}
