//! What the comparison comes to, what it is of, and what would settle it.

use record::{Comparison, Difference, Judgement, RowChange, Verdict};

use crate::document::{Block, Section, Table, printable};
use crate::gate::word;
use crate::run::command_line;

/// One line for programs: the word, and what it is about.
#[must_use]
pub fn verdict_line(comparison: &Comparison) -> String {
    let verdict = comparison.verdict;
    let about = match verdict {
        Verdict::Incomparable => {
            let fields: Vec<&str> = comparison.differences.iter().map(|difference| difference.field.as_str()).collect();
            fields.join(", ")
        }
        Verdict::WrongOutput => "tokens".to_owned(),
        _ => worst(comparison).map_or_else(String::new, |(row, judgement)| change_for_programs(row, judgement)),
    };
    format!("VERDICT {} {}", word(verdict), printable(&about)).trim_end().to_owned()
}

/// The row whose time moved most, of those that the verdict comes from.
fn worst(comparison: &Comparison) -> Option<(&RowChange, &Judgement)> {
    let all = comparison.rows.iter().flat_map(|row| row.judgements.iter().map(move |judgement| (row, judgement)));
    let moved = |judgement: &Judgement| judgement.change.map_or(0.0, |change| change.estimate.abs());
    let is_it = |judgement: &Judgement| match comparison.verdict {
        Verdict::Mixed => matches!(judgement.verdict, Verdict::LeaningWorse | Verdict::LeaningBetter),
        verdict => judgement.verdict == verdict,
    };
    all.filter(|(_, judgement)| judgement.gate && judgement.change.is_some() && is_it(judgement))
        .max_by(|a, b| moved(a.1).total_cmp(&moved(b.1)))
}

/// Plain signs, because programs read it.
fn change_for_programs(row: &RowChange, judgement: &Judgement) -> String {
    let Some(change) = judgement.change else { return String::new() };
    let percent = |share: f64| share * 100.0;
    format!(
        "{} {} {:+.1}% [{:.1},{:.1}]",
        row.name,
        judgement.metric,
        percent(change.estimate),
        percent(change.low),
        percent(change.high)
    )
}

pub(super) fn verdict(comparison: &Comparison) -> Section {
    let mut sentence = comparison.sentence.clone();
    if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
        sentence.replace_range(..1, &first);
    }
    let explanation = "stored runs are not interleaved, so they show a tendency at most";
    Section::new("VERDICT", explanation)
        .with(Block::Facts(vec![(word(comparison.verdict).to_owned(), format!("{sentence}."))]))
}

/// Characters of a cell; more than two such columns have no room.
const CELL: usize = 44;

fn cell(value: &Option<String>) -> String {
    let Some(value) = value else { return "unknown".to_owned() };
    match value.chars().count() {
        // Nobody compares 64 digits by eye.
        64 if value.chars().all(|digit| digit.is_ascii_hexdigit()) => value.chars().take(12).collect(),
        ..=CELL => value.clone(),
        _ => value.chars().take(CELL - 2).collect::<String>() + "..",
    }
}

fn side_by_side<'a>(heading: &str, pairs: impl Iterator<Item = &'a Difference>) -> Table {
    let mut table = Table::new(&[heading, "before", "after"]);
    table.columns.iter_mut().for_each(|column| column.is_text = true);
    for pair in pairs {
        table.row([pair.field.clone(), cell(&pair.base), cell(&pair.candidate)]);
    }
    table
}

pub(super) fn differences(comparison: &Comparison) -> Option<Section> {
    let table = side_by_side("field", comparison.differences.iter());
    let explanation = "why the runs are not comparable; unknown counts as different";
    (!table.is_empty()).then(|| Section::new("DIFFERENCES", explanation).with(Block::Table(table)))
}

pub(super) fn facts(comparison: &Comparison) -> Option<Section> {
    let is_named_once =
        |fact: &&Difference| comparison.differences.iter().all(|difference| difference.field != fact.field);
    let differ = comparison.facts.iter().filter(|fact| fact.base != fact.candidate).filter(is_named_once);
    let table = side_by_side("fact", differ);
    let same = comparison.facts.iter().filter(|fact| fact.base == fact.candidate);
    let whole = |value: &Option<String>| value.clone().filter(|value| value.len() != 64).unwrap_or_else(|| cell(value));
    let same: Vec<(String, String)> = same.map(|fact| (fact.field.clone(), whole(&fact.base))).collect();
    let mut section = Section::new("RUNS", "differences first");
    if !table.is_empty() {
        section = section.with(Block::Table(table));
    }
    if !same.is_empty() {
        section = section.with(Block::Facts(same));
    }
    (!section.blocks.is_empty()).then_some(section)
}

pub(super) fn settle(comparison: &Comparison) -> Section {
    let section = Section::new("NEXT STEP", "");
    let how = "measures both sides interleaved, in fresh processes, with a placebo";
    let sentence = match comparison.settle.as_slice() {
        [] => format!("A duel {how}: see `hotloop duel --help`."),
        words => format!("`{}` {how}.", command_line::joined(words)),
    };
    section.with(Block::Text(sentence))
}
