//! How long to measure, and what.

use std::time::Duration;

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How thoroughly to measure.
    pub effort: Effort,
    /// Only rows whose name contains one of these; all rows when empty.
    pub filters: Vec<String>,
}

/// How thoroughly to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Each row once, shortly: does it run at all.
    Smoke,
    /// Seconds; the figures are rough.
    Quick,
    /// The figures that are published.
    Full,
}

impl Options {
    /// Reads the arguments and `HOTLOOP_BENCH_QUICK`.
    pub fn from_environment() -> Self {
        let quick = std::env::var_os("HOTLOOP_BENCH_QUICK").is_some_and(|value| value != "0");
        Self::parse(std::env::args().skip(1), quick)
    }

    fn parse(arguments: impl Iterator<Item = String>, quick: bool) -> Self {
        let (flags, filters): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument.starts_with("--"));
        let has = |flag: &str| flags.iter().any(|given| given == flag);
        // `cargo bench` passes `--bench`; `cargo test --benches` passes nothing.
        let effort = if has("--test") || !has("--bench") {
            Effort::Smoke
        } else if quick || has("--quick") {
            Effort::Quick
        } else {
            Effort::Full
        };
        Self { effort, filters }
    }

    /// Whether the row of that name is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter.as_str()))
    }
}

impl Effort {
    /// How often each row has its turn.
    pub fn rounds(self) -> u32 {
        match self {
            Effort::Smoke => 1,
            Effort::Quick => 24,
            Effort::Full => 160,
        }
    }

    /// When to stop although rounds are left: a busy machine must not make the run endless.
    pub fn limit(self) -> Duration {
        match self {
            Effort::Smoke | Effort::Quick => Duration::from_secs(8),
            Effort::Full => Duration::from_secs(70),
        }
    }

    /// Scopes of a batch, from what the row wants.
    pub fn scopes(self, wanted: u32) -> u32 {
        if self == Effort::Smoke { wanted.div_ceil(20) } else { wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, quick: bool, effort: Effort) {
        let options = Options::parse(arguments.split_whitespace().map(String::from), quick);
        assert_eq!(options.effort, effort, "{arguments}");
    }

    #[test]
    fn effort_follows_how_cargo_calls() {
        check("--bench", false, Effort::Full);
        check("--bench --quick", false, Effort::Quick);
        check("--bench", true, Effort::Quick);
        check("--bench --test", true, Effort::Smoke);
        check("--test", false, Effort::Smoke);
        check("", false, Effort::Smoke);
    }

    #[test]
    fn words_are_filters() {
        let options = Options::parse(["--bench", "hotloop"].map(String::from).into_iter(), false);
        assert!(options.wants("hotloop: tree") && !options.wants("puffin"));
    }
}
