//! What becomes of a run: kept, and shown.

use std::io::IsTerminal;

use record::Run;
use report::{Document, Page, RunOptions};
use store::Id;
use terminal_size::{Width, terminal_size};

use crate::args::{Color, Format, Layout, Shown, StoreOptions};

/// Columns where there is no terminal.
const PAGE: usize = 120;

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
    let options = options(shown, id);
    match (shown.layout, shown.format) {
        (Layout::Hotloop, format) => written(&report::run(run, &options), format, options.page()),
        (Layout::Smallmind, _) => report::run_smallmind(run),
        (Layout::Loopos, _) => report::run_loopos(run, shown.top.unwrap_or(LOOPOS_ROWS)),
    }
}

/// The first screen of a run; the whole report in formats and layouts that have none.
pub fn summary(run: &Run, shown: &Shown, id: Option<&Id>) -> String {
    match (shown.layout, shown.format) {
        (Layout::Hotloop, Format::Terminal) => report::run_first_screen(run, &options(shown, id)),
        _ => text(run, shown, id),
    }
}

/// How text is written to standard output.
pub fn options(shown: &Shown, id: Option<&Id>) -> RunOptions {
    let auto = on(&std::io::stdout(), shown.rows(), id);
    match shown.color {
        Color::Auto => auto,
        Color::Always => RunOptions { color: true, ..auto },
        Color::Never => RunOptions { color: false, ..auto },
    }
}

/// A document in the format that was asked for.
pub fn written(document: &Document, format: Format, page: Page) -> String {
    match format {
        Format::Terminal => document.terminal(page),
        Format::Markdown => document.markdown(),
    }
}

/// A document as it is printed on standard output.
pub fn printed(document: &Document) -> String {
    document.terminal(page(&std::io::stdout()))
}

/// The width and colour of a stream.
pub fn page(stream: &impl IsTerminal) -> Page {
    on(stream, 1, None).page()
}

/// How text is written where it goes.
pub fn on(stream: &impl IsTerminal, top: usize, id: Option<&Id>) -> RunOptions {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let color = stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb;
    RunOptions { top, color, width: width(stream.is_terminal()), id: id.map(|id| id.short().to_owned()) }
}

/// The width of the terminal; `COLUMNS` outweighs it, as in other programs.
fn width(is_terminal: bool) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let there = || terminal_size().filter(|_| is_terminal).map(|(Width(columns), _)| usize::from(columns));
    asked.or_else(there).unwrap_or(PAGE)
}
