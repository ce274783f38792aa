//! A run as text.

use record::Run;
use store::Id;

use super::{documents, terminal};
use crate::args::{ReportLayout, ReportOptions, TextFormat};

/// Rows of LoopOS's trainer.
const LOOPOS_ROWS: usize = 15;

/// The whole report.
pub fn full(run: &Run, shown: &ReportOptions, id: Option<&Id>) -> String {
    let options = terminal::report_options(&std::io::stdout(), shown.rows(), id);
    match (shown.layout, shown.format) {
        (ReportLayout::Hotloop, format) => documents::text(&report::run(run, &options), format, options.page()),
        (ReportLayout::Smallmind, _) => report::run_smallmind(run),
        (ReportLayout::Loopos, _) => report::run_loopos(run, shown.top.unwrap_or(LOOPOS_ROWS)),
    }
}

/// The first screen, or the whole report in formats and layouts that have none.
pub fn summary(run: &Run, shown: &ReportOptions, id: Option<&Id>) -> String {
    match (shown.layout, shown.format) {
        (ReportLayout::Hotloop, TextFormat::Terminal) => {
            report::run_first_screen(run, &terminal::report_options(&std::io::stdout(), shown.rows(), id))
        }
        _ => full(run, shown, id),
    }
}
