//! `hotloop compare`: compares two saved runs.

use compare::{NamedRun, RunsSettings};
use record::{Comparison, Verdict};

use super::{CommandError, CommandOutput, documents, load, terminal, tool};
use crate::args::{Compare, ReportLayout};

/// Exit code of runs that are not comparable.
const INCOMPARABLE: u8 = 12;
/// Exit code of runs with different output.
const WRONG_OUTPUT: u8 = 14;

/// Compares two runs of any origin.
pub fn run(options: &Compare) -> Result<CommandOutput, CommandError> {
    if options.shown.layout == ReportLayout::Loopos {
        let message = "LoopOS had no report of comparisons";
        return Err(CommandError::new(message, "use --layout smallmind, or leave --layout out"));
    }
    let store = options.store.open()?;
    let base = load::run(&store, &options.base)?;
    let candidate = load::run(&store, &options.candidate)?;
    let stored = |found: &load::Found| found.id.as_ref().map(|id| id.short().to_owned());
    let ids = [stored(&base), stored(&candidate)];
    let comparison = compare::runs(
        NamedRun { run: &base.run, name: &options.base, id: ids[0].as_deref() },
        NamedRun { run: &candidate.run, name: &options.candidate, id: ids[1].as_deref() },
        &RunsSettings { tool: tool(), threshold: options.threshold },
    );
    let output = if options.json {
        let notes = report::comparison_verdict_line(&comparison) + "\n";
        CommandOutput { notes, ..CommandOutput::text(comparison.to_json()) }
    } else {
        CommandOutput::paged(text(&comparison, options))
    };
    Ok(CommandOutput { code: code(comparison.verdict), ..output })
}

fn text(comparison: &Comparison, options: &Compare) -> String {
    let how = terminal::report_options(&std::io::stdout(), options.shown.rows(), None);
    match (options.shown.layout, options.shown.format) {
        (ReportLayout::Smallmind | ReportLayout::Loopos, _) => report::comparison_smallmind(comparison),
        (ReportLayout::Hotloop, format) => documents::text(&report::comparison(comparison, &how), format, how.page()),
    }
}

/// Stored runs prove no regression, and an open question is no failure.
fn code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Incomparable => INCOMPARABLE,
        Verdict::WrongOutput => WRONG_OUTPUT,
        _ => 0,
    }
}
