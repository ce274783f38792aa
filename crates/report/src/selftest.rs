//! How often verdicts were right about simulated work, whose true difference is known.

use record::{SelfTest, Trial};

use crate::document::{Block, Document, Section, Table};
use crate::gate::word;
use crate::units::{count, percent, plural, seconds};

/// What the columns mean.
const LEGEND: [(&str, &str); 3] = [
    ("detected", "duels that reported a change; without added work these are false alarms"),
    ("95 % CI", "confidence interval of the share of detected changes"),
    ("detectable", "median of the smallest detectable change"),
];

/// What was tried, metric by metric, and what follows.
#[must_use]
pub fn document(tried: &SelfTest) -> Document {
    let design = &tried.design;
    let metrics = metrics(tried);
    let duels: u64 = metrics.first().map_or(0, |metric| trials(tried, metric).map(|trial| trial.duels).sum());
    let title = format!(
        "{} of simulated work in {}, {}: {} × {} of {} each",
        plural(duels, "duel"),
        seconds(tried.duration_s),
        design.mode,
        launches(design.launches),
        plural(design.rounds, "round"),
        seconds(design.round_s),
    );
    let mut sections: Vec<Section> =
        metrics.into_iter().map(|metric| section(metric, &trials(tried, metric).collect::<Vec<_>>())).collect();
    let legend = LEGEND.map(|(column, meaning)| (column, Some(meaning.to_owned())));
    sections.push(Section::new("COLUMNS", "").with_facts(legend));
    let interrupted = tried.interrupted.then(|| "Interrupted: not all duels were run.".to_owned());
    let warnings = interrupted.into_iter().collect();
    Document { kind: "HOTLOOP SELFTEST", title, warnings, sections, ..Document::default() }
}

fn launches(number: u64) -> String {
    format!("{} launch{}", count(number), if number == 1 { "" } else { "es" })
}

/// In the order in which they were judged.
fn metrics(tried: &SelfTest) -> Vec<&str> {
    let mut metrics: Vec<&str> = tried.trials.iter().map(|trial| trial.metric.as_str()).collect();
    metrics.dedup();
    metrics
}

fn trials<'a>(tried: &'a SelfTest, metric: &'a str) -> impl Iterator<Item = &'a Trial> {
    tried.trials.iter().filter(move |trial| trial.metric == metric)
}

fn section(metric: &str, trials: &[&Trial]) -> Section {
    let headings = ["added work", "duels", "detected", "95 % CI", "measured", "detectable", "verdicts"];
    let mut table = Table::new(&headings).with_words_last();
    trials.iter().for_each(|trial| table.row(row(trial)));
    let threshold = trials.first().map_or(0.0, |trial| trial.threshold);
    let section = Section::new(metric, &format!("threshold {}", percent(threshold))).with(Block::Table(table));
    let without = trials.iter().filter(|trial| trial.more == 0.0);
    without.fold(section, |section, trial| section.with(Block::Text(false_alarms(trial))))
}

fn row(trial: &Trial) -> [String; 7] {
    let share = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), percent);
    let signed = |value: f64| format!("{}{}", if value < 0.0 { "−" } else { "+" }, percent(value.abs()));
    let words = trial.words.iter().map(|counted| format!("{} {}", word(counted.verdict), counted.count));
    [
        if trial.more == 0.0 { "none".to_owned() } else { signed(trial.more) },
        trial.duels.to_string(),
        trial.called.to_string(),
        format!("{} to {}", percent(trial.low), percent(trial.high)),
        trial.estimate.map_or_else(|| "unknown".to_owned(), signed),
        share(trial.visible),
        words.collect::<Vec<_>>().join(", "),
    ]
}

fn false_alarms(trial: &Trial) -> String {
    format!("False alarms: {} of {} (at most {} with 95 % confidence)", trial.called, trial.duels, percent(trial.high))
}
