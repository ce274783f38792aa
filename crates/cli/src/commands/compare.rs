//! `hotloop compare`: lays one run beside another.

use compare::{NamedRun, RunsSettings};
use record::{Comparison, Verdict};

use super::{Refusal, load, shown, tool};
use crate::args::{Compare, Format, Layout};

/// What is printed, and what the program ends with.
#[derive(Debug)]
pub struct Compared {
    pub text: String,
    /// The verdict for people, where the text is for programs.
    pub said: String,
    pub code: u8,
}

/// The runs do not answer the same question.
const INCOMPARABLE: u8 = 12;
/// They did not compute the same.
const WRONG_OUTPUT: u8 = 14;

/// Compares two runs, whoever measured them.
pub fn run(options: &Compare) -> Result<Compared, Refusal> {
    if options.shown.layout == Layout::Loopos {
        let error = "LoopOS had no report of comparisons".to_owned();
        return Err(Refusal { error, hint: "give --layout smallmind, or leave it out" });
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
    let (text, said) = if options.json {
        (comparison.to_json(), report::comparison_verdict_line(&comparison) + "\n")
    } else {
        (text(&comparison, options), String::new())
    };
    Ok(Compared { text, said, code: code(comparison.verdict) })
}

fn text(comparison: &Comparison, options: &Compare) -> String {
    let how = shown::options(&options.shown, None);
    match (options.shown.layout, options.shown.format) {
        (Layout::Smallmind | Layout::Loopos, _) => report::comparison_smallmind(comparison),
        (Layout::Hotloop, Format::Terminal) => report::comparison_text(comparison, &how),
        (Layout::Hotloop, Format::Markdown) => report::comparison_markdown(comparison, &how),
    }
}

/// Stored runs convict nobody: what cannot be told is no failure.
fn code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Incomparable => INCOMPARABLE,
        Verdict::WrongOutput => WRONG_OUTPUT,
        _ => 0,
    }
}
