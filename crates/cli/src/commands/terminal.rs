//! What the terminal can show, and what the command line says about it.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use report::{Page, RunOptions};
use store::Id;
use terminal_size::{Height, Width, terminal_size};

use crate::args::{ColorChoice, TerminalOptions};

/// Columns where there is no terminal.
const DEFAULT_WIDTH: usize = 120;

static OPTIONS: OnceLock<TerminalOptions> = OnceLock::new();

/// Sets the options of this process, once.
pub fn configure(options: TerminalOptions) {
    let _ = OPTIONS.set(options);
}

fn options() -> TerminalOptions {
    OPTIONS.get().copied().unwrap_or_default()
}

/// Whether long text goes through a pager.
pub fn has_pager() -> bool {
    !options().no_pager && !is_dumb()
}

/// Whether a moving line on standard error is seen and wanted.
pub fn shows_progress() -> bool {
    shows_notes() && !is_dumb() && std::io::stderr().is_terminal()
}

/// Whether notes are wanted.
pub fn shows_notes() -> bool {
    !options().quiet
}

/// Whether text to this stream is coloured.
pub fn has_color(stream: &impl IsTerminal) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match options().color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb(),
    }
}

/// How a report to this stream looks.
pub fn report_options(stream: &impl IsTerminal, top: usize, id: Option<&Id>) -> RunOptions {
    let id = id.map(|id| id.short().to_owned());
    RunOptions { top, color: has_color(stream), width: width(stream), id }
}

/// The width and colour of a stream.
pub fn page(stream: &impl IsTerminal) -> Page {
    report_options(stream, 1, None).page()
}

/// Lines of the terminal, if there is one.
pub fn height() -> Option<usize> {
    terminal_size().map(|(_, Height(lines))| usize::from(lines))
}

/// Says something on standard error, unless `--quiet` was given.
pub fn note(text: &str) {
    if shows_notes() {
        // Nobody can be told that this cannot be written.
        let _ = writeln!(std::io::stderr().lock(), "note: {text}");
    }
}

/// Warns on standard error.
pub fn warn(text: &str) {
    // Nobody can be told that this cannot be written.
    let _ = writeln!(std::io::stderr().lock(), "warning: {text}");
}

/// Warns if there are more threads than CPUs.
pub fn warn_about_threads(threads: impl IntoIterator<Item = usize>) {
    let Ok(cpus) = std::thread::available_parallelism() else { return };
    if let Some(most) = threads.into_iter().max().filter(|most| *most > cpus.get()) {
        warn(&format!("{most} threads are more than the {cpus} available CPUs: slower, and timings vary more"));
    }
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// The width of the terminal. `COLUMNS` overrides it, as in other programs.
fn width(stream: &impl IsTerminal) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let actual = || terminal_size().filter(|_| stream.is_terminal()).map(|(Width(columns), _)| usize::from(columns));
    asked.or_else(actual).unwrap_or(DEFAULT_WIDTH)
}
