//! What becomes of a run: kept, and shown.

use std::io::IsTerminal;

use record::Run;
use report::RunOptions;
use store::Id;

use super::Refusal;
use crate::args::{Format, Layout, Shown, StoreOptions};

/// Keeps a run, under a name if one is given.
pub fn save(run: &Run, options: &StoreOptions, tag: Option<&str>) -> Result<Id, Refusal> {
    let store = options.open()?;
    let id = store.save(run)?;
    if let Some(tag) = tag {
        store.tag(tag, &id)?;
    }
    Ok(id)
}

/// A run in the format and layout that was asked for.
pub fn text(run: &Run, shown: &Shown, id: Option<&Id>) -> String {
    let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let options = RunOptions { top: shown.top, color, id: id.map(|id| id.short().to_owned()) };
    match (shown.layout, shown.format) {
        (Layout::Hotloop, Format::Terminal) => report::run_text(run, &options),
        (Layout::Hotloop, Format::Markdown) => report::run_markdown(run, &options),
        (Layout::Smallmind, _) => report::run_smallmind(run),
        (Layout::Loopos, _) => report::run_loopos(run),
    }
}
