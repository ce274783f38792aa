//! The arguments of `hotloop compare`.

use clap::Args;

use super::values::number;
use super::{ReportOptions, StoreOptions};

/// Compare two saved runs: are they comparable, and what differs?
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
BASE and CANDIDATE are each an id or its first four or more digits, @latest,
@previous, a tag, or a file: a run, or anything that `hotloop import` reads.

Runs measured at different times only hint at a direction, and single samples
prove nothing. `hotloop duel` measures both sides in turns and gives a verdict.

Exit codes: 0 compared, 1 output cannot be written, 2 a run cannot be read,
12 not comparable, 14 the runs generated different tokens. The last line of the
output begins with VERDICT.

Examples:
  hotloop compare                                  the latest run and the previous
  hotloop compare baseline 3f9a12 --threshold 5% --format markdown > compare.md
  hotloop compare before.md after.md --layout smallmind")]
pub struct Compare {
    /// The run before: an id, @latest, @previous, a tag or a file
    #[arg(value_name = "BASE", default_value = "@previous")]
    pub base: String,
    /// The run after
    #[arg(value_name = "CANDIDATE", default_value = "@latest")]
    pub candidate: String,
    /// Smallest change that matters [default: 3 %; 2 % for CPU time and memory;
    /// 0 for exact counts]
    #[arg(long, value_name = "P%", value_parser = threshold)]
    pub threshold: Option<f64>,
    #[command(flatten)]
    pub shown: ReportOptions,
    /// Print the comparison as JSON, with every scope
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}

/// A share, from percent.
fn threshold(value: &str) -> Result<f64, String> {
    let percent = value.trim().strip_suffix('%').unwrap_or(value).trim();
    number(0.0..=1000.0)(percent).map(|percent| percent / 100.0).map_err(|error| error + " (percent)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_percentages() {
        assert_eq!([threshold("5%"), threshold("2.5 %"), threshold("0")], [Ok(0.05), Ok(0.025), Ok(0.0)]);
        for wrong in ["", "-1%", "x", "%", "nan", "1001"] {
            assert!(threshold(wrong).is_err_and(|error| error.contains("from 0 to 1000")), "{wrong}");
        }
    }
}
