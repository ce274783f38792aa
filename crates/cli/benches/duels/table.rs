//! The tables: a row for each kind of duel as soon as it is measured, and the criteria at the end.

use compare::median;
use compare::stats::binomial_interval;
use serde_json::{Value, json};

use crate::outcome::{self, Outcome};

/// Verdicts with a column of their own; leaning verdicts share one.
const VERDICTS: [&str; 5] = ["regressed", "improved", "same", "unresolved", "unstable"];
const LEANING: [&str; 2] = ["leaning-worse", "leaning-better"];

/// The columns of [`Row::line`].
pub const HEAD: &str = "\
| trial                      | duels | regressed | improved | leaning worse/better | same | unresolved | unstable | change, median  | wait, median / longest |
|----------------------------|------:|----------:|---------:|---------------------:|-----:|-----------:|---------:|-----------------|-----------------------:|";

/// Duels of one kind.
#[derive(Debug, Clone)]
pub struct Row {
    pub name: String,
    pub outcomes: Vec<Outcome>,
}

impl Row {
    /// A line of the table.
    pub fn line(&self) -> String {
        let counts = outcome::counts(&self.outcomes);
        let count = |word: &str| counts.get(word).copied().unwrap_or(0);
        let [regressed, improved, same, unresolved, unstable] = VERDICTS.map(count);
        let leaning = format!("{} / {}", count(LEANING[0]), count(LEANING[1]));
        let is_other = |word: &str| !VERDICTS.contains(&word) && !LEANING.contains(&word);
        let others: Vec<String> =
            counts.iter().filter(|(word, _)| is_other(word)).map(|(word, count)| format!("{word} {count}")).collect();
        let seconds = self.seconds();
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        let wait = format!("{:.1} s / {longest:.1} s", median(&seconds).unwrap_or(0.0));
        let line = format!(
            "| {:26} | {:>5} | {regressed:>9} | {improved:>8} | {leaning:>20} | {same:>4} | {unresolved:>10} | {unstable:>8} \
             | {:15} | {wait:>22} |",
            self.name,
            self.outcomes.len(),
            self.change(),
        );
        if others.is_empty() { line } else { format!("{line} {}", others.join(", ")) }
    }

    /// What each of them took.
    pub fn seconds(&self) -> Vec<f64> {
        self.outcomes.iter().map(|outcome| outcome.seconds).collect()
    }

    /// The median of the estimates, by the metric that decided most often.
    fn change(&self) -> String {
        let estimates: Vec<f64> =
            self.outcomes.iter().filter_map(|outcome| Some(outcome.change?.estimate * 100.0)).collect();
        let mut metrics: Vec<&str> = self.outcomes.iter().filter_map(|outcome| outcome.metric.as_deref()).collect();
        metrics.sort_unstable();
        let usual = metrics.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map_or("", |same| same[0]);
        median(&estimates).map_or_else(String::new, |estimate| format!("{estimate:+.1} % {usual}"))
    }

    fn to_json(&self) -> Value {
        let outcomes: Vec<Value> = self.outcomes.iter().map(Outcome::to_json).collect();
        json!({ "name": self.name, "outcomes": outcomes })
    }
}

/// What a count or a time has to be.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// Nothing: it is only told.
    Anything,
    /// None at all.
    None,
    /// At least this share.
    AtLeast(f64),
    /// A median of at most that many seconds.
    Seconds(f64),
}

/// What a trial has to show.
pub struct Criterion {
    name: String,
    wanted: Wanted,
    measured: Measured,
}

/// What it showed.
enum Measured {
    Share { count: u64, of: u64 },
    Seconds(f64),
}

impl Criterion {
    /// How many of the outcomes are so.
    pub fn share<'a>(
        name: impl Into<String>,
        outcomes: impl IntoIterator<Item = &'a Outcome>,
        is_so: impl Fn(&Outcome) -> bool,
        wanted: Wanted,
    ) -> Self {
        let (mut count, mut of) = (0, 0);
        for outcome in outcomes {
            count += u64::from(is_so(outcome));
            of += 1;
        }
        Self { name: name.into(), wanted, measured: Measured::Share { count, of } }
    }

    /// The median wait for these rows.
    pub fn wait(name: impl Into<String>, rows: &[Row], limit: f64) -> Self {
        let seconds: Vec<f64> = rows.iter().flat_map(Row::seconds).collect();
        let middle = median(&seconds).unwrap_or(f64::NAN);
        Self { name: name.into(), wanted: Wanted::Seconds(limit), measured: Measured::Seconds(middle) }
    }

    /// Whether it is met; `None` where nothing is wanted.
    pub fn is_met(&self) -> Option<bool> {
        match (&self.measured, self.wanted) {
            (_, Wanted::Anything) => None,
            (Measured::Share { count, of }, Wanted::None) => Some(*count == 0 && *of > 0),
            (Measured::Share { count, of }, Wanted::AtLeast(share)) => {
                Some(*of > 0 && *count as f64 >= share * *of as f64 - 1e-9)
            }
            (Measured::Seconds(seconds), Wanted::Seconds(limit)) => Some(*seconds <= limit),
            // A share is no time, nor the other way round.
            _ => Some(false),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    fn line(&self, is_judged: bool) -> String {
        let (measured, interval) = match self.measured {
            Measured::Share { count, of } => {
                let bounds = binomial_interval(count, of, 0.05);
                (format!("{count} of {of}"), format!("{:.1} to {:.1} %", bounds.low * 100.0, bounds.high * 100.0))
            }
            Measured::Seconds(seconds) => (format!("{seconds:.1} s"), String::new()),
        };
        let wanted = match self.wanted {
            Wanted::Anything => String::new(),
            Wanted::None => "none".to_owned(),
            Wanted::AtLeast(1.0) => "all".to_owned(),
            Wanted::AtLeast(share) => format!("at least {:.0} %", share * 100.0),
            Wanted::Seconds(limit) => format!("at most {limit:.0} s"),
        };
        let met = self.is_met().filter(|_| is_judged);
        let met = met.map_or("", |is_met| if is_met { "yes" } else { "**no**" });
        format!("| {:48} | {measured:>10} | {interval:>15} | {wanted:13} | {met:6} |", self.name)
    }

    fn to_json(&self) -> Value {
        let (count, of, seconds) = match self.measured {
            Measured::Share { count, of } => (Some(count), Some(of), None),
            Measured::Seconds(seconds) => (None, None, Some(seconds)),
        };
        json!({ "name": self.name, "count": count, "of": of, "seconds": seconds, "met": self.is_met() })
    }
}

/// The second table. Too short a measurement is not judged.
pub fn criteria_table(criteria: &[Criterion], is_judged: bool) -> String {
    let head = format!(
        "| {:48} | {:>10} | {:>15} | {:13} | {:6} |",
        "criterion", "measured", "95 % interval", "wanted", "met"
    );
    let rule =
        format!("|{}|{}:|{}:|{}|{}|", "-".repeat(50), "-".repeat(11), "-".repeat(16), "-".repeat(15), "-".repeat(8));
    let lines = criteria.iter().map(|criterion| criterion.line(is_judged));
    [head, rule].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// Everything, for other programs.
pub fn to_json(rows: &[Row], criteria: &[Criterion]) -> Value {
    let rows: Vec<Value> = rows.iter().map(Row::to_json).collect();
    let criteria: Vec<Value> = criteria.iter().map(Criterion::to_json).collect();
    json!({ "rows": rows, "criteria": criteria })
}
