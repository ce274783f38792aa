//! A comment below a change: at most ten lines that are seen at once, and all of it where somebody opens it.

use record::{AcceptanceState, Gate, GateCell, Judgement, Reason, ReasonSubject, Verdict};

use super::figures::{self, change, change_with_interval, interval, percent, value};
use super::terminal::acceptance_state;
use super::{found, headline, is_compared, sides, word};
use crate::document::markdown::escaped;
use crate::document::{not_measured, printable};
use crate::units::plural;

/// Who posts the comment finds it by this again, and writes over it.
const MARK: &str = "<!-- hotloop-gate -->";
/// Lines about what moved. With the heading, the summary, what is left out of them, the three lines behind them and the one that
/// opens the rest that is ten.
const MOST_HIGHLIGHTS: usize = 3;
/// Longer sentences would be several lines.
const LONGEST: usize = 200;
/// Rows of the whole table: a comment takes 65,536 characters.
const MOST_ROWS: usize = 150;
/// Characters of these rows together: sentences in them may be long.
const MOST_CHARACTERS: usize = 40_000;
/// Sentences behind the table.
const MOST_SENTENCES: usize = 20;

/// The whole comment.
pub fn write(gate: &Gate) -> String {
    let passed = if gate.passed { "passed" } else { "failed" };
    let mut text = format!("{MARK}\n### Performance gate {passed}: {}\n\n{}\n\n", headline(gate), summary(gate));
    let highlights = highlights(gate);
    for line in highlights.iter().take(MOST_HIGHLIGHTS) {
        text.push_str(&format!("- {line}\n"));
    }
    if highlights.len() > MOST_HIGHLIGHTS {
        text.push_str(&format!("- and {} more, below\n", highlights.len() - MOST_HIGHLIGHTS));
    }
    if !highlights.is_empty() {
        text.push('\n');
    }
    for line in [accepted(gate), Some(detectable(gate)), left_out(gate)].into_iter().flatten() {
        text.push_str(&format!("{line}\n\n"));
    }
    text + "<details>\n<summary>All cells</summary>\n\n" + &whole(gate) + "\n</details>\n"
}

/// What was compared, and how the cells stand.
fn summary(gate: &Gate) -> String {
    let mut words: Vec<(String, usize)> = Vec::new();
    for cell in &gate.cells {
        let word = match (cell.verdict, cell.failure.is_some()) {
            (_, true) => "not measured",
            (Some(verdict), _) => word(verdict),
            (None, _) if cell.advisory => "advisory",
            (None, _) => "without verdict",
        };
        match words.iter_mut().find(|(known, _)| known == word) {
            Some((_, count)) => *count += 1,
            None => words.push((word.to_owned(), 1)),
        }
    }
    let counted: Vec<String> = words.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let cells = plural(gate.cells.len() as u64, "cell");
    one_line(&format!("{}; {cells}: {}.", sides(gate), counted.join(", ")))
}

/// What should be looked at, the gravest first: why it fails, what would fail if it counted, what got better.
fn highlights(gate: &Gate) -> Vec<String> {
    let mut lines: Vec<String> = gate.reasons.iter().map(|reason| reason_line(gate, reason)).collect();
    let is_moved = |reason: &&Reason| reason.code != 11 || found(gate, reason).is_some_and(|(_, found)| leans(found));
    lines.extend(
        gate.warnings.iter().filter(is_moved).map(|reason| reason_line(gate, reason) + " (does not fail the gate)"),
    );
    for cell in &gate.cells {
        let findings = cell.findings.iter().filter(|finding| is_compared(finding));
        let better = findings.flat_map(|finding| &finding.judgements).filter(|judgement| judgement.gate);
        let better = better.filter(|judgement| matches!(judgement.verdict, Verdict::Improved | Verdict::LeaningBetter));
        lines.extend(better.map(|judgement| figures_of(cell, judgement)));
    }
    lines
}

fn leans(judgement: &Judgement) -> bool {
    judgement.verdict == Verdict::LeaningWorse
}

fn reason_line(gate: &Gate, reason: &Reason) -> String {
    let name = |name: &Option<String>| name.as_deref().map_or_else(String::new, |name| format!("{} ", code(name)));
    match found(gate, reason) {
        Some((cell, judgement)) if reason.sentence == judgement.sentence => figures_of(cell, judgement),
        _ => {
            let kind = match reason.about {
                ReasonSubject::Budget => "budget: ",
                ReasonSubject::Acceptance => "acceptance: ",
                _ => "",
            };
            format!("{}{}{kind}{}", name(&reason.cell), name(&reason.metric), one_line(&reason.sentence))
        }
    }
}

fn figures_of(cell: &GateCell, judgement: &Judgement) -> String {
    let of = |side| value(cell, &judgement.metric, side);
    let floor = judgement.floor.map_or_else(String::new, |floor| format!(" (noise floor {})", percent(floor)));
    format!(
        "{} {} **{}** {}: {} to {}{floor}",
        code(&cell.name),
        code(&judgement.metric),
        word(judgement.verdict),
        change_with_interval(judgement),
        of(judgement.base),
        of(judgement.candidate),
    )
}

fn accepted(gate: &Gate) -> Option<String> {
    let used = gate.accepted.iter().filter(|one| one.state == AcceptanceState::Used);
    let told = |one: &record::Acceptance| {
        format!("{} {} until {} ({})", code(&one.cell), code(&one.metric), one.until, one.reason)
    };
    let used: Vec<String> = used.map(told).collect();
    (!used.is_empty()).then(|| one_line(&format!("Accepted regressions: {}.", used.join("; "))))
}

fn detectable(gate: &Gate) -> String {
    let floor = figures::range(gate, |judgement| judgement.floor);
    let smallest = figures::range(gate, |judgement| judgement.visible);
    let known = |range: Option<String>| range.unwrap_or_else(not_measured);
    format!("Smallest detectable change: {}; noise floor: {}.", known(smallest), known(floor))
}

fn left_out(gate: &Gate) -> Option<String> {
    let left_out = gate.not_measured.join("; ");
    (!left_out.is_empty()).then(|| one_line(&format!("Not measured: {left_out}.")))
}

/// Every metric that is judged, those that are not and moved, budgets, and acceptances.
fn whole(gate: &Gate) -> String {
    let mut rows: Vec<String> = Vec::new();
    for cell in &gate.cells {
        rows.extend(cell.failure.iter().map(|failure| row(cell, ["", "not measured", "", "", failure, "", "", ""])));
        for finding in &cell.findings {
            if !is_compared(finding) {
                rows.push(row(cell, ["", word(finding.verdict), "", "", &finding.sentence, "", "", ""]));
                continue;
            }
            let is_shown = |judgement: &&Judgement| {
                judgement.gate || !matches!(judgement.verdict, Verdict::Same | Verdict::Unresolved)
            };
            rows.extend(finding.judgements.iter().filter(is_shown).map(|judgement| judged(cell, judgement)));
        }
        rows.extend(cell.budgets.iter().map(|budget| {
            let asked = format!("budget: {}", figures::bound(cell, budget));
            row(cell, [&budget.metric, &asked, "", "", &figures::budget(cell, budget), "", "", ""])
        }));
    }
    let mut characters = 0;
    let fits = |row: &&String| {
        characters += row.chars().count();
        characters <= MOST_CHARACTERS
    };
    let shown = rows.iter().take(MOST_ROWS).take_while(fits).count();
    let left = rows.len() - shown;
    rows.truncate(shown);
    let more = if left == 0 { String::new() } else { format!("\n{left} more rows are in `verdict.json`.\n") };
    "| cell | metric | verdict | before | after | change | 95 % CI | noise floor | detectable |\n|---|---|---|---:|---:|---:|---:|---:|---:|\n"
        .to_owned()
        + &rows.concat()
        + &more
        + &sentences(gate)
}

fn judged(cell: &GateCell, judgement: &Judgement) -> String {
    let of = |side| value(cell, &judgement.metric, side);
    let share = |share: Option<f64>| share.map_or_else(not_measured, percent);
    let is_advisory = cell.advisory || cell.advisory_metrics.contains(&judgement.metric);
    let aside = match (judgement.gate, is_advisory) {
        (false, _) => " (not gated)",
        (true, true) => " (advisory)",
        (true, false) => "",
    };
    let verdict = format!("{}{aside}", word(judgement.verdict));
    row(
        cell,
        [
            &judgement.metric,
            &verdict,
            &of(judgement.base),
            &of(judgement.candidate),
            &change(judgement),
            &interval(judgement).unwrap_or_default(),
            &share(judgement.floor),
            &share(judgement.visible),
        ],
    )
}

fn row(cell: &GateCell, cells: [&str; 8]) -> String {
    let written = |text: &str| one_line(text).replace('|', "\\|");
    format!("| {} | {} |\n", written(&cell.name), cells.map(written).join(" | "))
}

/// What cannot stand in a table.
fn sentences(gate: &Gate) -> String {
    let mut text = String::new();
    for one in gate.accepted.iter().take(MOST_SENTENCES) {
        let state = acceptance_state(one.state);
        let commit = one.commit.as_ref().map_or_else(String::new, |commit| format!(" of {}", one_line(commit)));
        let (cell, metric, until) = (code(&one.cell), code(&one.metric), &one.until);
        text.push_str(&format!(
            "- accepted{commit}: {cell} {metric} until {until}: {} ({state})\n",
            one_line(&one.reason)
        ));
    }
    if gate.accepted.len() > MOST_SENTENCES {
        text.push_str(&format!("- {} more are in `verdict.json`\n", gate.accepted.len() - MOST_SENTENCES));
    }
    for drift in gate.drift.iter().chain(&gate.other_drifts) {
        let alike = format!("{} of {} cells changed in the same way", drift.moved, drift.cells);
        text.push_str(&format!("- {}: {alike}; look for a common cause\n", code(&drift.metric)));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// A name as code; nothing in it ends it.
fn code(name: &str) -> String {
    let (short, more) = cut(name);
    format!("`{}{more}`", printable(short).replace('`', "'"))
}

/// Cut where it would be several lines. What is cut behind it was escaped could end within code or behind a backslash.
fn one_line(text: &str) -> String {
    let (short, more) = cut(text);
    escaped(short) + more
}

/// The first line of a text, at most so much of it as is one line here, and the mark that there is more.
fn cut(text: &str) -> (&str, &'static str) {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(end, _)| end);
    let short = line[..end].trim_end();
    (short, if short.len() < text.len() { "…" } else { "" })
}
