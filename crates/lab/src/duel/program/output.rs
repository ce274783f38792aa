//! What a program says about itself in lines that begin with `HOTLOOP`, and a hash of what else it prints.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::ops::RangeInclusive;

use record::{Better, ENVIRONMENT_METRICS, Metric, Per};

/// What a line that is meant for us begins with.
const MARK: &str = "HOTLOOP ";
/// Lines are read in pieces of this size at most: what a program prints need not have lines.
const PIECE: u64 = 1 << 16;
/// The change from any of these to any other, in percent, is a number too.
const MAGNITUDES: RangeInclusive<f64> = 1e-100..=1e100;

/// What a program said in one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ProgramOutput {
    pub(super) values: BTreeMap<String, f64>,
    pub(super) metrics: BTreeMap<String, Metric>,
    /// What it computed, in its own words or as a hash of all that it printed.
    pub(super) output: Option<String>,
}

/// Reads what a program printed; its hash is its output where `hashed` and it says nothing else.
pub(super) fn read(mut text: impl BufRead, hashed: bool) -> Result<ProgramOutput, String> {
    let mut printed = ProgramOutput::default();
    let mut hasher = blake3::Hasher::new();
    let (mut piece, mut is_start) = (Vec::new(), true);
    let failed = |error: io::Error| format!("cannot read its output: {error}");
    while {
        piece.clear();
        (&mut text).take(PIECE).read_until(b'\n', &mut piece).map_err(failed)? > 0
    } {
        let is_ours = is_start && piece.starts_with(MARK.as_bytes());
        is_start = piece.ends_with(b"\n");
        if is_ours {
            printed.add(&String::from_utf8_lossy(&piece))?;
        } else if hashed {
            hasher.update(&piece);
        }
    }
    if hashed && printed.output.is_none() {
        printed.output = Some(hasher.finalize().to_hex().to_string());
    }
    Ok(printed)
}

impl ProgramOutput {
    /// `HOTLOOP name=value unit=U better=higher exact=yes`, or `HOTLOOP output=TEXT`.
    fn add(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim_end();
        let said = line.strip_prefix(MARK).unwrap_or(line).trim();
        if let Some(output) = said.strip_prefix("output=") {
            self.output = Some(output.to_owned());
            return Ok(());
        }
        let wrong = |why: &str| format!("printed `{line}`, {why}");
        let mut words = said.split_whitespace();
        let first = words.next().and_then(|word| word.split_once('='));
        let (name, value) = first.ok_or_else(|| wrong("which is not `HOTLOOP name=value`"))?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_.-/".contains(letter);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(wrong("whose name has characters other than letters, digits, `_`, `.`, `-` and `/`"));
        }
        if super::is_own(name) || name.starts_with(ENVIRONMENT_METRICS) {
            return Err(wrong("whose name is reserved for a metric that hotloop measures; choose another one"));
        }
        let value: f64 = value.parse().map_err(|_| wrong("whose value is not a number"))?;
        if !value.is_finite() {
            return Err(wrong("whose value is not finite"));
        }
        if value != 0.0 && !MAGNITUDES.contains(&value.abs()) {
            return Err(wrong("whose value is too large or too small; choose a unit with values from 1e-100 to 1e100"));
        }
        let mut metric = Metric { definition: DEFINITION.to_owned(), per: Some(Per::MeanOfCalls), ..Metric::default() };
        for word in words {
            describe(&mut metric, word).ok_or_else(|| {
                wrong(
                    "where only `unit=U`, `better=lower`, `better=higher`, `exact=yes` and `exact=no` may \
                       follow the value",
                )
            })?;
        }
        self.values.insert(name.to_owned(), value);
        self.metrics.insert(name.to_owned(), metric);
        Ok(())
    }
}

const DEFINITION: &str = "as the program printed it; the mean of the calls of a round";

fn describe(metric: &mut Metric, word: &str) -> Option<()> {
    match word.split_once('=')? {
        ("unit", unit) => metric.unit = unit.to_owned(),
        ("better", "lower") => metric.better = Better::Lower,
        ("better", "higher") => metric.better = Better::Higher,
        ("exact", "yes") => metric.exact = true,
        ("exact", "no") => metric.exact = false,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, hashed: bool) -> Result<ProgramOutput, String> {
        read(text.as_bytes(), hashed)
    }

    #[test]
    fn figures_are_read_with_what_they_mean() {
        let printed =
            of("hello\nHOTLOOP tokens_per_s=123.5 unit=1/s better=higher\nHOTLOOP steps=7 exact=yes", false).unwrap();
        assert_eq!(printed.values, BTreeMap::from([("steps".to_owned(), 7.0), ("tokens_per_s".to_owned(), 123.5)]));
        let speed = &printed.metrics["tokens_per_s"];
        assert_eq!((speed.unit.as_str(), speed.better, speed.exact), ("1/s", Better::Higher, false));
        let steps = &printed.metrics["steps"];
        assert_eq!((steps.unit.as_str(), steps.better, steps.exact), ("", Better::Lower, true));
        assert_eq!(printed.output, None);
    }

    #[test]
    fn output_is_what_is_said_or_the_hash_of_the_rest() {
        assert_eq!(of("x\nHOTLOOP output=a b c \n", true).unwrap().output.as_deref(), Some("a b c"));
        let hash = |text| of(text, true).unwrap().output.unwrap();
        assert_eq!(hash("x\ny\n"), hash("x\nHOTLOOP t=1\ny\n"));
        assert_ne!(hash("x\ny\n"), hash("x\nz\n"));
        assert_eq!(hash(""), blake3::hash(b"").to_hex().to_string());
    }

    #[test]
    fn a_long_line_is_one_line() {
        let long = "x".repeat(PIECE as usize) + "HOTLOOP no=line\n";
        assert_eq!(of(&long, true).unwrap().output, Some(blake3::hash(long.as_bytes()).to_hex().to_string()));
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(of("HOTLOOP x=-1e100\nHOTLOOP y=0\n", false).map(|printed| printed.values.len()), Ok(2));
        for (line, part) in [
            ("HOTLOOP", "nothing"),
            ("HOTLOOP speed", "is not `HOTLOOP name=value`"),
            ("HOTLOOP =3", "whose name"),
            ("HOTLOOP a b=3", "is not `HOTLOOP name=value`"),
            ("HOTLOOP x=fast", "not a number"),
            ("HOTLOOP x=NaN", "not finite"),
            ("HOTLOOP x=1e308", "too large"),
            ("HOTLOOP x=-1e-300", "too small"),
            ("HOTLOOP x=1 better=faster", "better=lower"),
            ("HOTLOOP wall_s=1", "reserved"),
            ("HOTLOOP env_load_1m=1", "reserved"),
        ] {
            match of(line, false) {
                Ok(printed) => assert_eq!((part, printed), ("nothing", ProgramOutput::default()), "{line}"),
                Err(error) => assert!(error.contains(part) && error.contains(line), "{line}: {error}"),
            }
        }
    }
}
