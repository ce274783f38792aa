//! Compares two stored runs, which were measured at different times.
//!
//! The first question is whether they are comparable. Runs that were not measured in turns show at most a direction,
//! and a single
//! sample shows nothing: only duels give verdicts.

mod facts;
mod judge;
mod kernels;
mod models;
mod rows;
mod scopes;
mod settle;
mod totals;

use std::collections::BTreeSet;

use record::{
    COMPARISON_SCHEMA, COMPARISON_VERSION, ComparedRun, Comparison, Difference, Imported, Judgement, RowChange, Run,
    Tool, Verdict,
};

use crate::comparable::same_binary;
use crate::{ComparisonSide, comparable, same_subject};
use judge::{CONFIDENCE, RunQuestion};
use rows::RunView;

pub use scopes::without_indices;

/// A stored run with its name.
#[derive(Debug, Clone, Copy)]
pub struct NamedRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its name, as the user gave it.
    pub name: &'a str,
    /// Its id in the store.
    pub id: Option<&'a str>,
}

/// Settings of a comparison.
#[derive(Debug, Clone, Default)]
pub struct RunsSettings {
    /// The program that compares.
    pub tool: Tool,
    /// The threshold, as a share; `None`: the default of each metric.
    pub threshold: Option<f64>,
}

/// Compares two runs.
#[must_use]
pub fn runs(base: NamedRun<'_>, candidate: NamedRun<'_>, settings: &RunsSettings) -> Comparison {
    let sides = [ComparisonSide::from(base.run), ComparisonSide::from(candidate.run)];
    let mut differences = comparable(&sides[0], &sides[1]);
    differences.extend(arms(base.run, candidate.run));
    let same_subject = differences.is_empty() && same_subject(&sides[0], &sides[1]);
    let same_output = same_output(base.run, candidate.run);
    let withheld = withheld(&differences, same_output);
    let question = RunQuestion {
        threshold: settings.threshold,
        withheld,
        no_samples: no_samples(&[base.run, candidate.run]),
        same_subject,
    };
    let views = [RunView::new(base.run), RunView::new(candidate.run)];
    let rows = rows::rows(&views[0], &views[1], &question);
    let (scopes, mut notes) = scopes::scopes(base.run, candidate.run);
    notes.extend(doubts(base.run, candidate.run, same_output));
    let (verdict, sentence) = verdict(&rows, &differences, &question);
    let compared = |side: NamedRun<'_>| ComparedRun {
        name: side.name.to_owned(),
        id: side.id.map(str::to_owned),
        created: side.run.created.clone(),
    };
    Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        version: COMPARISON_VERSION,
        tool: settings.tool.clone(),
        base: compared(base),
        candidate: compared(candidate),
        confidence: CONFIDENCE,
        verdict,
        sentence,
        same_subject,
        same_output,
        facts: facts::facts(base.run, candidate.run),
        totals: totals::totals(&views[0], &views[1], &scopes),
        why: scopes::why(&without_indices(&scopes)),
        models: models::models(&views[0], &views[1]),
        kernels: kernels::kernels(&rows, &scopes, [base.run, candidate.run].map(kernels::scope_unit)),
        settle: settle::settle(base.run, candidate.run),
        metrics: rows::metrics(base.run, candidate.run),
        differences,
        rows,
        scopes,
        notes,
    }
}

/// The samples of several sides of a comparison have no one value.
fn arms(base: &Run, candidate: &Run) -> Option<Difference> {
    let arms = |run: &Run| {
        let arms: BTreeSet<&str> = run.samples.iter().filter_map(|sample| sample.arm.as_deref()).collect();
        (arms.len() > 1).then(|| arms.into_iter().collect::<Vec<_>>().join(", "))
    };
    let (base, candidate) = (arms(base), arms(candidate));
    (base.is_some() || candidate.is_some()).then(|| Difference { field: "sides of a duel".to_owned(), base, candidate })
}

/// Whether both generated the same tokens.
fn same_output(base: &Run, candidate: &Run) -> Option<bool> {
    let tokens = |run: &Run| run.correctness.as_ref()?.tokens_blake3.clone();
    Some(tokens(base)? == tokens(candidate)?)
}

/// What forbids a word about any metric. Runs that do not answer the same question may put out something else.
fn withheld(differences: &[Difference], same_output: Option<bool>) -> Option<Verdict> {
    match same_output {
        _ if !differences.is_empty() => Some(Verdict::Incomparable),
        Some(false) => Some(Verdict::WrongOutput),
        _ => None,
    }
}

/// Why the samples of some run are not what was measured.
fn no_samples(runs: &[&Run]) -> Option<&'static str> {
    let of = |is_it: fn(&Imported) -> bool| runs.iter().any(|run| run.imported.as_ref().is_some_and(is_it));
    match () {
        () if of(|imported| imported.single_shot) => Some("1 sample; nothing can be concluded"),
        () if of(|imported| imported.summarised) => {
            Some("one side has only summary values, no samples; nothing can be concluded")
        }
        () => None,
    }
}

/// Doubts about the figures.
fn doubts(base: &Run, candidate: &Run, same_output: Option<bool>) -> Vec<String> {
    let mut doubts = Vec::new();
    for (run, which) in [(base, "before"), (candidate, "after")] {
        if run.interrupted {
            doubts.push(format!("the run {which} was interrupted and is incomplete"));
        }
        doubts.extend(unread(run, which));
        doubts.extend(run.failures.iter().take(8).map(|failure| format!("failure {which}: {failure}")));
        if run.correctness.as_ref().and_then(|found| found.repeats_agree) == Some(false) {
            doubts.push(format!("{which}, repeats generated different tokens"));
        }
    }
    match same_output {
        None => doubts.push("it is unknown whether both produced the same output".to_owned()),
        Some(false) => doubts.push("the two generated different tokens".to_owned()),
        Some(true) => {}
    }
    // What has to be known of one run has to be known here too; what is said of both, once.
    for note in base.notes.iter().chain(&candidate.notes) {
        let which = match (base.notes.contains(note), candidate.notes.contains(note)) {
            (true, true) => "of both",
            (true, false) => "before",
            _ => "after",
        };
        let said = format!("{which}: {note}");
        if !doubts.contains(&said) {
            doubts.push(said);
        }
    }
    let called = |run: &Run| (run.subject.name.clone(), run.subject.command.clone());
    if same_binary(&base.subject, &candidate.subject) && called(base) != called(candidate) {
        doubts.push("both programs are the same file under different names".to_owned());
    }
    let alone = |run: &Run| run.profile.is_some();
    if alone(base) != alone(candidate) {
        doubts.push("only one of the runs has a call tree".to_owned());
    }
    doubts
}

/// What stands in a file of another program and could not be read.
fn unread(run: &Run, which: &str) -> Option<String> {
    let imported = run.imported.as_ref()?;
    let first = imported.unread.first()?;
    let more = match imported.unread.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!("{which}, not read from `{}`: {}{more}", imported.source, first.text))
}

/// The overall verdict and its sentence.
fn verdict(rows: &[RowChange], differences: &[Difference], question: &RunQuestion) -> (Verdict, String) {
    let withheld = question.withheld;
    if withheld == Some(Verdict::Incomparable) {
        let named: Vec<String> = differences.iter().map(named).collect();
        let mut sentence = format!("these runs are not comparable: {}", named.join("; "));
        sentence
            .extend(question.no_samples.map(|why| format!("; even comparable runs would not be conclusive: {why}")));
        return (Verdict::Incomparable, sentence);
    }
    if withheld == Some(Verdict::WrongOutput) {
        let sentence = "not the same computation: the two generated different tokens, so their speed is not compared";
        return (Verdict::WrongOutput, sentence.to_owned());
    }
    let gates: Vec<(&RowChange, &Judgement)> = rows
        .iter()
        .flat_map(|row| row.judgements.iter().map(move |judgement| (row, judgement)))
        .filter(|(_, judgement)| judgement.gate)
        .collect();
    let count = |verdict: Verdict| gates.iter().filter(|(_, judgement)| judgement.verdict == verdict).count();
    if let (Some((row, first)), true) = (gates.first(), count(Verdict::Incomparable) == gates.len()) {
        let sentence = format!("no row can be compared; {}: {}", row.name, first.sentence);
        return (Verdict::Incomparable, sentence);
    }
    let (worse, better) = (count(Verdict::LeaningWorse), count(Verdict::LeaningBetter));
    let verdict = match (worse, better) {
        (0, 0) => Verdict::Unresolved,
        (_, 0) => Verdict::LeaningWorse,
        (0, _) => Verdict::LeaningBetter,
        _ => Verdict::Mixed,
    };
    let refused = match count(Verdict::Incomparable) {
        0 => String::new(),
        count => format!("; {count} changed their work or metric"),
    };
    (verdict, sentence(&gates, [worse, better], question) + &refused + &exact_changes(rows))
}

fn named(difference: &Difference) -> String {
    let side = |value: &Option<String>| value.as_ref().map_or_else(|| "unknown".to_owned(), |value| shortened(value));
    match (&difference.base, &difference.candidate) {
        (None, None) => format!("{} (unknown on both sides)", difference.field),
        (base, candidate) => format!("{} ({} before, {} after)", difference.field, side(base), side(candidate)),
    }
}

/// Enough of a value to tell it from the other.
fn shortened(value: &str) -> String {
    const MOST: usize = 40;
    if value.chars().count() <= MOST { value.to_owned() } else { value.chars().take(MOST).collect::<String>() + ".." }
}

fn sentence(gates: &[(&RowChange, &Judgement)], [worse, better]: [usize; 2], question: &RunQuestion) -> String {
    let rows = |count: usize| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
    let seem = |count: usize| format!("{} seem{}", rows(count), if count == 1 { "s" } else { "" });
    let all = gates.len();
    let most = gates.iter().map(|(_, judgement)| judgement.rounds).max().unwrap_or(0);
    match (worse, better) {
        _ if all == 0 => "no row was timed on both sides".to_owned(),
        (0, 0) if most <= 1 => "1 sample; nothing can be concluded".to_owned(),
        _ if question.no_samples.is_some() => question.no_samples.unwrap_or_default().to_owned(),
        _ if question.same_subject => {
            "same program, same settings: any difference comes from the machine or chance".to_owned()
        }
        (0, 0) if gates.iter().all(|(_, judgement)| judgement.change.is_none()) => {
            format!("at most {most} samples per row; nothing can be concluded")
        }
        (0, 0) => format!("no certain change above the threshold in the times of {}", rows(all)),
        (worse, 0) => format!("{} slower, of {all}; they were not measured in turns", seem(worse)),
        (0, better) => format!("{} faster, of {all}; they were not measured in turns", seem(better)),
        (worse, better) => {
            format!("{} slower and {} faster, of {all}; they were not measured in turns", seem(worse), seem(better))
        }
    }
}

/// What is exact can be said of stored runs too.
fn exact_changes(rows: &[RowChange]) -> String {
    // What leans by chance has bounds.
    let all = || rows.iter().flat_map(|row| &row.judgements).filter(|judgement| judgement.change.is_none());
    let count = |verdict: Verdict| all().filter(|judgement| judgement.verdict == verdict).count();
    match (count(Verdict::LeaningWorse), count(Verdict::LeaningBetter)) {
        (0, 0) => String::new(),
        (more, 0) => format!("; exact metrics: {more} worse"),
        (0, less) => format!("; exact metrics: {less} better"),
        (more, less) => format!("; exact metrics: {more} worse, {less} better"),
    }
}
