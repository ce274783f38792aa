//! A run for other programs: viewers of traces, flame graphs, spreadsheets.
//!
//! With a timeline, viewers show the calls at their times. Without one they show the merged call tree, parts inside their
//! whole, and the name of the track says that lengths are totals and positions mean nothing.

mod chrome;
mod csv;
mod figures;
mod firefox;
mod folded;
mod names;
mod nesting;
mod perfetto;
mod picture;
mod protobuf;
mod speedscope;
mod svg;
mod tree;

use record::{Profile, Run};

pub(crate) use csv::line as csv_line;
use picture::Picture;

/// Deeper trees than the profiler makes (256) would make paths that fill the memory.
const MAX_DEPTH: usize = 1024;

/// What a run is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Chrome's Trace Event format, JSON.
    Chrome,
    /// Perfetto's own format, binary.
    Perfetto,
    /// The format of speedscope, JSON.
    Speedscope,
    /// Collapsed stacks: `a;b;c nanoseconds`.
    Folded,
    /// A processed profile of the Firefox Profiler, JSON.
    Firefox,
    /// A table of the scope paths.
    Csv,
    /// A table of the samples.
    CsvSamples,
    /// The record itself, as it is stored.
    Json,
    /// A flame graph, drawn.
    Svg,
}

impl Format {
    /// Whether it is no text, so that a terminal should not be shown it.
    #[must_use]
    pub fn is_binary(self) -> bool {
        self == Self::Perfetto
    }

    /// What opens it, and how.
    #[must_use]
    pub fn opened_by(self) -> &'static str {
        match self {
            Self::Chrome => "open it at ui.perfetto.dev (Open trace file) or in chrome://tracing (Load)",
            Self::Perfetto => "open it at ui.perfetto.dev (Open trace file), or query it with trace_processor_shell",
            Self::Speedscope => "open it at speedscope.app (Browse), or run `npx speedscope FILE`",
            Self::Folded => {
                "give it to flamegraph.pl or inferno-flamegraph, or open it at speedscope.app; weights are ns"
            }
            Self::Firefox => "open it at profiler.firefox.com (Load a profile from file)",
            Self::Csv | Self::CsvSamples => "open it in a spreadsheet; empty cells were not measured",
            Self::Json => "it is the record as it is stored",
            Self::Svg => "open it in a web browser; a click on a scope shows it alone, a click on the bottom all",
        }
    }
}

/// A run in another format. `stored` is its text as it is kept.
///
/// # Errors
/// What is missing in the run, or too deep.
pub fn export(run: &Run, stored: &str, format: Format) -> Result<Vec<u8>, String> {
    match format {
        Format::Json => return Ok(stored.as_bytes().to_vec()),
        Format::CsvSamples => return Ok(csv::samples(run).into_bytes()),
        _ => {}
    }
    let profile = profile(run)?;
    let picture = || Picture::new(run, profile);
    let tool = format!("{} {}", run.tool.name, run.tool.version);
    Ok(match format {
        Format::Chrome => chrome::write(&picture(), profile).into_bytes(),
        Format::Perfetto => perfetto::write(&picture(), profile),
        Format::Speedscope => speedscope::write(&picture(), profile, &tool).into_bytes(),
        Format::Folded => folded::write(profile).into_bytes(),
        Format::Firefox => firefox::write(&picture(), profile, &tool).into_bytes(),
        Format::Svg => svg::write(run, profile).into_bytes(),
        Format::Csv | Format::CsvSamples | Format::Json => csv::scopes(profile).into_bytes(),
    })
}

/// The profile of a run, if it can be shown.
fn profile(run: &Run) -> Result<&Profile, String> {
    let Some(profile) = &run.profile else {
        let why = "nothing recorded its scopes, so there is no call tree to export";
        return Err(format!("this run has no profile: {why}"));
    };
    let mut depths: Vec<usize> = Vec::with_capacity(profile.scopes.len());
    for (at, scope) in profile.scopes.iter().enumerate() {
        let depth = scope.parent.map_or(1, |parent| depths[parent] + 1);
        if depth > MAX_DEPTH {
            return Err(format!("profile.scopes[{at}]: `{}` lies more than {MAX_DEPTH} scopes deep", scope.name));
        }
        depths.push(depth);
    }
    Ok(profile)
}

/// An object of JSON with one more field, a list whose elements are written already: as values, a long timeline would take
/// gigabytes.
fn with_list(head: &serde_json::Value, field: &str, elements: &[impl AsRef<str>]) -> String {
    let mut text = head.to_string();
    // What closes the object comes behind the list.
    text.truncate(text.len() - 1);
    text.push_str(&format!(",\"{field}\":["));
    for (at, element) in elements.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        text.push_str(element.as_ref());
    }
    text.push_str("]}");
    text
}
