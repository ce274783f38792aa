//! The arguments of `hotloop compare`.

use clap::Args;

use super::{Shown, StoreOptions};

/// Which runs to lay beside each other, and how.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Lay one run beside another: whether they can be compared, and what differs",
    after_help = "Examples:\n  \
        hotloop compare                                         the latest run with the one before\n  \
        hotloop compare baseline 3f9a12 --threshold 5% --format markdown > comparison.md\n  \
        hotloop compare before.md after.md --layout smallmind   reports of SmallMind's profiler\n\n\
        A run is an id or a unique beginning of it, @latest, @previous, a tag, or a file: one of ours, or of another\n\
        program that `hotloop import` reads.\n\n\
        Runs of different sittings show a direction at most, single samples nothing: `hotloop duel` measures both\n\
        sides in turns, and says more.\n\n\
        Exit codes: 0 compared, 1 the output cannot be written, 2 a run cannot be read, 12 the runs do not answer the\n\
        same question, 14 they generated different tokens. The last line begins with VERDICT."
)]
pub struct Compare {
    /// The run before.
    #[arg(
        value_name = "BASE",
        default_value = "@previous",
        hide_default_value = true,
        help = "the run before: an id, @latest, @previous (the default), a tag or a file"
    )]
    pub base: String,
    /// The run after.
    #[arg(
        value_name = "CANDIDATE",
        default_value = "@latest",
        hide_default_value = true,
        help = "the run after (default @latest)"
    )]
    pub candidate: String,
    /// The change that matters.
    #[arg(long, value_name = "P%", allow_hyphen_values = true, value_parser = threshold,
        help = "the change that matters (default: 3 %, of CPU time and memory 2 %, of what is exact any)")]
    pub threshold: Option<f64>,
    #[command(flatten)]
    pub shown: Shown,
    /// Whether to print for programs.
    #[arg(long, help = "print the comparison as JSON, with every scope")]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}

/// A share, from percent.
fn threshold(value: &str) -> Result<f64, String> {
    let number = value.trim().strip_suffix('%').unwrap_or(value).trim().parse::<f64>().ok();
    let wrong = || format!("--threshold takes a percentage from 0 to 1000, not `{value}`");
    Ok(number.filter(|percent| (0.0..=1000.0).contains(percent)).ok_or_else(wrong)? / 100.0)
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
