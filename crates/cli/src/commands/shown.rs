//! What becomes of a run: kept, and shown.

use std::io::IsTerminal;

use record::Run;
use report::RunOptions;
use store::Id;

use crate::args::{Format, Layout, Shown, StoreOptions};

/// As many as LoopOS's trainer prints.
const LOOPOS_ROWS: usize = 15;

/// Keeps a run, under a name if one is given.
pub fn save(run: &Run, options: &StoreOptions, tag: Option<&str>) -> store::Result<Id> {
    let store = options.open()?;
    let id = store.save(run)?;
    if let Some(tag) = tag {
        store.tag(tag, &id)?;
    }
    Ok(id)
}

/// A run in the format and layout that was asked for.
pub fn text(run: &Run, shown: &Shown, id: Option<&Id>) -> String {
    let options = on(&std::io::stdout(), shown.rows(), id);
    match (shown.layout, shown.format) {
        (Layout::Hotloop, Format::Terminal) => report::run_text(run, &options),
        (Layout::Hotloop, Format::Markdown) => report::run_markdown(run, &options),
        (Layout::Smallmind, _) => report::run_smallmind(run),
        (Layout::Loopos, _) => report::run_loopos(run, shown.top.unwrap_or(LOOPOS_ROWS)),
    }
}

/// How a run is written where it goes.
pub fn on(stream: &impl IsTerminal, top: usize, id: Option<&Id>) -> RunOptions {
    let color = stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    RunOptions { top, color, id: id.map(|id| id.short().to_owned()) }
}
