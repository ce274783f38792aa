//! The contests as tables.

use std::fmt::Write;

use crate::arms::{Arm, OURS};
use crate::rounds::{Contest, Entry, best, median};

const ABSENT: &str = "–";

/// What a table of speeds is about.
struct Subject {
    title: &'static str,
    rates: fn(&Entry) -> &[f64],
    limit: fn(&Contest) -> Option<f64>,
}

const SUBJECTS: &[Subject] = &[
    Subject {
        title: "prefill of 128 tokens, tokens/s",
        rates: |entry| &entry.speeds.prefill,
        limit: |contest| contest.limits.prefill,
    },
    Subject { title: "decode, tokens/s", rates: |entry| &entry.speeds.decode, limit: |contest| contest.limits.decode },
];

/// All tables, and what went wrong.
pub fn show(contests: &[Contest], arms: &[Arm]) -> String {
    if contests.is_empty() {
        return "Nothing was measured.\n".to_owned();
    }
    let names: Vec<&'static str> = arms.iter().map(|arm| arm.name).collect();
    let mut text: String = SUBJECTS.iter().map(|subject| subject.table(contests, &names) + "\n").collect();
    text.push_str(&costs(contests, &names));
    for contest in contests {
        for (name, why) in contest.entries.iter().filter_map(|entry| Some((entry.name, entry.failure.as_ref()?))) {
            let _ = writeln!(text, "\n{name} failed in {}: {why}", contest.name());
        }
    }
    text
}

impl Subject {
    fn table(&self, contests: &[Contest], names: &[&'static str]) -> String {
        let has = |name: &&&'static str| contests.iter().any(|contest| best(self.rates_of(contest, name)).is_some());
        let columns: Vec<&'static str> = names.iter().filter(has).copied().collect();
        let mut head = vec![self.title.to_owned()];
        head.extend(columns.iter().map(|&column| column.to_owned()));
        head.extend(["ours ÷ best peer", "limit", "our share"].map(str::to_owned));
        let mut lines = vec![head];
        for contest in contests {
            lines.push(self.line(contest, &columns));
        }
        markdown(&lines)
    }

    fn line(&self, contest: &Contest, columns: &[&'static str]) -> Vec<String> {
        let bests = columns.iter().filter_map(|&name| Some((name, best(self.rates_of(contest, name))?)));
        let leader = bests.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(name, _)| name);
        let mut line = vec![contest.name()];
        for &name in columns {
            let mark = if leader == Some(name) { "*" } else { "" };
            let cell = pair(best(self.rates_of(contest, name)), median(self.rates_of(contest, name)), rate);
            line.push(if cell == ABSENT { cell } else { format!("{mark}{cell}") });
        }
        let ratio = |statistic: fn(&[f64]) -> Option<f64>| {
            let peers = contest.entries.iter().filter(|entry| entry.is_peer);
            let peer = peers.filter_map(|entry| statistic((self.rates)(entry))).max_by(f64::total_cmp);
            Some(statistic(self.rates_of(contest, OURS))? / peer?)
        };
        line.push(pair(ratio(best), ratio(median), |ratio| format!("{ratio:.2}")));
        let limit = (self.limit)(contest);
        line.push(limit.map_or(ABSENT.to_owned(), rate));
        let share = best(self.rates_of(contest, OURS)).zip(limit).map(|(ours, limit)| 100.0 * ours / limit);
        line.push(share.map_or(ABSENT.to_owned(), |share| format!("{share:.0} %")));
        line
    }

    fn rates_of<'c>(&self, contest: &'c Contest, name: &str) -> &'c [f64] {
        contest.entries.iter().find(|entry| entry.name == name).map_or(&[], |entry| (self.rates)(entry))
    }
}

/// How long everyone takes from the start of its process to the end of one token, and the most memory it held.
fn costs(contests: &[Contest], names: &[&'static str]) -> String {
    let mut head = vec!["start to one token, s / peak memory, MiB".to_owned()];
    head.extend(names.iter().map(|&name| name.to_owned()));
    let mut lines = vec![head];
    for contest in contests {
        let mut line = vec![contest.name()];
        for &name in names {
            let entry = contest.entries.iter().find(|entry| entry.name == name);
            let start = entry.and_then(|entry| entry.starts.iter().copied().min_by(f64::total_cmp));
            let start = start.map_or(ABSENT.to_owned(), |start| format!("{start:.3}"));
            let peak = entry.and_then(|entry| entry.peak_bytes).map(|bytes| bytes as f64 / f64::from(1 << 20));
            line.push(format!("{start} / {}", peak.map_or(ABSENT.to_owned(), |peak| format!("{peak:.0}"))));
        }
        lines.push(line);
    }
    markdown(&lines)
}

fn pair(first: Option<f64>, second: Option<f64>, show: fn(f64) -> String) -> String {
    first.zip(second).map_or(ABSENT.to_owned(), |(first, second)| format!("{} / {}", show(first), show(second)))
}

/// Three digits are more than the noise leaves.
fn rate(value: f64) -> String {
    match value {
        100.0.. => thousands(value.round() as u64),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn thousands(value: u64) -> String {
    if value < 1000 { value.to_string() } else { format!("{},{:03}", thousands(value / 1000), value % 1000) }
}

/// Aligned so that it reads well unrendered; the first column is text.
fn markdown(lines: &[Vec<String>]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0).max(3);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            let _ = if column == 0 { write!(text, "| {cell}{padding} ") } else { write!(text, "| {padding}{cell} ") };
        }
        text.push_str("|\n");
        if number == 0 {
            for (column, &width) in widths.iter().enumerate() {
                let end = if column == 0 { '-' } else { ':' };
                let _ = write!(text, "|{}{end}", "-".repeat(width + 1));
            }
            text.push_str("|\n");
        }
    }
    text
}
