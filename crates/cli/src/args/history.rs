//! The arguments of `hotloop history`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};

use super::StoreOptions;
use super::values::count;

/// Runs that are listed unless another number is asked for.
const LIMIT: usize = 20;

/// List, show, tag and remove saved runs
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    mut_arg("store", |store| store.global(true)),
    after_help = "\
RUN is an id or its first four or more digits, @latest, @previous, or a tag;
`show` takes a file, too.

Environment:
  HOTLOOP_STORE=DIR   folder of the runs

Examples:
  hotloop history --since 2h
  hotloop history --workload deep --since 2026-03-01
  hotloop history tag @latest baseline
  hotloop history show baseline --json > baseline.json
  hotloop history remove 3f2a 91c04d"
)]
pub struct History {
    #[command(flatten)]
    pub list: HistoryList,
    #[command(flatten)]
    pub store: StoreOptions,
    #[command(subcommand)]
    pub action: Option<HistoryAction>,
}

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct HistoryList {
    /// Only runs of this workload
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Only runs with a model whose name contains this (case-insensitive)
    #[arg(long, value_name = "TEXT")]
    pub model: Option<String>,
    /// Only runs of a commit that begins with this
    #[arg(long, value_name = "COMMIT")]
    pub commit: Option<String>,
    /// Only the run with this tag
    #[arg(long, value_name = "NAME")]
    pub tag: Option<String>,
    /// Only runs since then: 30m, 2h, 3d, 1w, 2026-03-01, 2026-03-01T12:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<i64>,
    /// Maximum number of runs
    #[arg(long, short = 'n', value_name = "N", default_value_t = LIMIT, value_parser = count(1..=1_000_000_000))]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What to do with runs.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum HistoryAction {
    /// Show what is known of a run
    Show {
        /// The run
        #[arg(value_name = "RUN")]
        run: String,
        /// Print the run as it was saved, byte for byte
        #[arg(long)]
        json: bool,
    },
    /// Name a run; the name moves if another run has it
    Tag {
        /// The run
        #[arg(value_name = "RUN")]
        run: String,
        /// Letters, digits, `.`, `_` and `-`
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove a name; the run stays
    Untag {
        /// The tag
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Delete runs for good, without asking
    Remove {
        /// The runs
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        /// Delete tagged runs, too, and their tags
        #[arg(long)]
        force: bool,
    },
    /// Rebuild the index from the runs
    Reindex,
    /// Print the folder of the runs
    Path,
}

impl History {
    /// Options of the list do not go with another action.
    pub fn check(&self) -> Result<(), String> {
        let HistoryList { workload, model, commit, tag, since, limit, json } = &self.list;
        let options = [
            ("--workload", workload.is_some()),
            ("--model", model.is_some()),
            ("--commit", commit.is_some()),
            ("--tag", tag.is_some()),
            ("--since", since.is_some()),
            ("--limit", *limit != LIMIT),
            ("--json", *json),
        ];
        match options.iter().find(|(_, is_given)| self.action.is_some() && *is_given) {
            Some((option, _)) => Err(format!("'{option}' before a subcommand has no effect: it is for the list")),
            None => Ok(()),
        }
    }
}

/// Nanoseconds since 1970 of a moment, or of a time before now.
fn since(value: &str) -> Result<i64, String> {
    let ago = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(now.saturating_sub(age(value)?).as_nanos()).ok()
    };
    let wrong = || "not a time such as 30m, 2h, 3d, 1w, 2026-03-01 or 2026-03-01T12:00:00Z".to_owned();
    store::moment(value).or_else(ago).ok_or_else(wrong)
}

/// A length of time such as `2h`.
fn age(value: &str) -> Option<Duration> {
    let unit = value.chars().last()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return None,
    };
    let count: u64 = value.strip_suffix(unit)?.parse().ok()?;
    Some(Duration::from_secs(count.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit() {
        let seconds = ["90s", "30m", "2h", "3d", "1w"].map(|text| age(text).map(|age| age.as_secs()));
        assert_eq!(seconds, [Some(90), Some(1_800), Some(7_200), Some(259_200), Some(604_800)]);
        for wrong in ["", "h", "2", "2 h", "-2h", "2y", "99999999999999999999w", "9999999999999999w"] {
            assert_eq!(age(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_time_ago_lies_before_now() {
        let hour = 3_600_000_000_000;
        let (now, before) = (since("0s").unwrap(), since("1h").unwrap());
        assert!((now - before - hour).abs() < hour / 60, "{now} {before}");
        assert_eq!(since("1970-01-02"), Ok(24 * hour));
        assert!(since("yesterday").unwrap_err().contains("2h"));
    }
}
