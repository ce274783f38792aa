//! A run for other programs: viewers of traces, flame graphs, spreadsheets.
//!
//! With a timeline, viewers show the calls at their times. Without one they show the merged call tree, parts inside their
//! whole, and the name of the track says that lengths are totals and positions have no meaning.

mod chrome;
mod csv;
mod figures;
mod firefox;
mod folded;
mod format;
mod names;
mod nesting;
mod perfetto;
mod picture;
mod protobuf;
mod speedscope;
mod stored;
mod svg;
mod tree;

use record::{Profile, Run};

pub(crate) use csv::line as csv_line;
pub use format::Format;
use format::Writer;
use picture::Picture;

/// Deeper trees than the profiler makes (256) would make paths that fill the memory.
const MAX_DEPTH: usize = 1024;

/// A run in another format. `stored` is its text as it is kept.
///
/// # Errors
/// What is missing in the run, or too deep.
pub fn export(run: &Run, stored: &str, format: Format) -> Result<Vec<u8>, String> {
    Ok(match format.write {
        Writer::Run(write) => write(run, stored),
        Writer::Profile(write) => write(run, profile(run)?),
        Writer::Picture(write) => {
            let profile = profile(run)?;
            let tool = format!("{} {}", run.tool.name, run.tool.version);
            write(&Picture::new(run, profile), profile, &tool)
        }
    })
}

/// The profile of a run, if it can be shown.
fn profile(run: &Run) -> Result<&Profile, String> {
    let Some(profile) = &run.profile else {
        let why = "no scopes were recorded, so there is no call tree to export";
        return Err(format!("this run has no profile: {why}"));
    };
    let mut depths: Vec<usize> = Vec::with_capacity(profile.scopes.len());
    for (at, scope) in profile.scopes.iter().enumerate() {
        let depth = scope.parent.map_or(1, |parent| depths[parent] + 1);
        if depth > MAX_DEPTH {
            return Err(format!("profile.scopes[{at}]: `{}` is nested more than {MAX_DEPTH} scopes deep", scope.name));
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
