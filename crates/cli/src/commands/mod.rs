//! What each command does, from its options to the text that it prints.

pub mod bench;
pub mod cache;
pub mod compare;
pub mod doctor;
pub mod duel;
pub mod export;
pub mod gate;
pub mod generate;
pub mod history;
pub mod import;
pub mod interrupt;
pub mod load;
pub mod models;
pub mod profile;
pub mod quantize;
pub mod report;
pub mod run;
pub mod selftest;
pub mod shown;
pub mod tokenize;
pub mod told;
pub mod train;
pub mod worker;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What a command that judges prints, and with which code it ends.
#[derive(Debug, Default)]
pub struct Outcome {
    /// For standard output.
    pub text: String,
    /// For standard error.
    pub said: String,
    pub code: u8,
    /// What could not be written.
    pub not_written: Option<String>,
}

/// What cannot be done, and what could be instead.
#[derive(Debug)]
pub struct Refusal {
    pub error: String,
    pub hint: &'static str,
}

impl From<engine::Error> for Refusal {
    fn from(error: engine::Error) -> Self {
        let hint = match error.kind() {
            engine::ErrorKind::Io => "check the path, the rights to it, and the space that is left",
            engine::ErrorKind::Malformed => "get or convert the file again; nothing was changed",
            engine::ErrorKind::Unsupported => "convert the model, or take another one",
            _ => "`--help` behind the command shows what can be asked for",
        };
        Self { error: error.to_string(), hint }
    }
}

impl From<training::Error> for Refusal {
    fn from(error: training::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

/// On standard error, where that is a terminal. It is drawn when it is told to only: no thread of its own, no colour.
/// `figure` stands behind the bar, in the words of `indicatif`.
pub fn progress(figure: &str, message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:24}} {figure}  {{msg}}"));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    let target = ProgressDrawTarget::stderr();
    ProgressBar::with_draw_target(Some(0), target).with_style(style).with_message(message)
}

/// Who writes documents.
pub fn tool() -> record::Tool {
    record::Tool { name: "hotloop".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// The figure of work that is counted in bytes.
pub const PERCENT: &str = "{percent:>3} %";

/// Calls of each thread that a timeline keeps.
pub const TIMELINE: usize = 1 << 16;
