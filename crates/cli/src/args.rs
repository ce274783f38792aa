//! The arguments of the command line.

/// What was asked for.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// How to use it.
    Help,
    /// Which version it is.
    Version,
    /// Profile the demonstration.
    Demo(Demo),
}

/// How to profile the demonstration.
#[derive(Debug, PartialEq)]
pub struct Demo {
    /// Rows of each ranking.
    pub top: usize,
    /// Tokens to generate.
    pub tokens: usize,
    /// The share of the run that the profiler may take.
    pub budget: Option<f64>,
    /// Whether to keep a timeline.
    pub timeline: bool,
}

impl Default for Demo {
    fn default() -> Self {
        Demo { top: 12, tokens: 600, budget: Some(0.01), timeline: false }
    }
}

const MAX_TOKENS: usize = 5_000;

/// The help text.
pub fn help() -> String {
    let Demo { top, tokens, .. } = Demo::default();
    format!(
        "hotloop: where each token's time and memory go\n\n\
         Usage: hotloop [OPTIONS]\n\n\
         Profiles a built-in demonstration, a toy decoder, and prints the report.\n\n\
         Options:\n  \
           --top N         rows of each ranking (default {top})\n  \
           --tokens N      tokens to generate, at most {MAX_TOKENS} (default {tokens})\n  \
           --budget SHARE  the part of the run the profiler may take, in percent; 0 times every call (default 1)\n  \
           --timeline      also keep the last calls of each thread\n  \
           -h, --help      print this\n  \
           -V, --version   print the version\n\n\
         Environment:\n  \
           HOTLOOP_CLOCK=os   time by the operating system's clock, not the CPU's counter\n"
    )
}

/// Reads the arguments after the program's name.
pub fn parse(arguments: &[String]) -> Result<Command, String> {
    let mut demo = Demo::default();
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        let (option, attached) = split(argument);
        let mut value =
            || attached.or_else(|| left.next().map(String::as_str)).ok_or(format!("{option} needs a value"));
        match option {
            "--top" => demo.top = number(option, value()?, 1, 10_000)?,
            "--tokens" => demo.tokens = number(option, value()?, 1, MAX_TOKENS)?,
            "--budget" => demo.budget = budget(value()?)?,
            "-h" | "--help" | "-V" | "--version" | "--timeline" if attached.is_some() => {
                return Err(format!("{option} takes no value: `{argument}`"));
            }
            "-h" | "--help" => return Ok(Command::Help),
            "-V" | "--version" => return Ok(Command::Version),
            "--timeline" => demo.timeline = true,
            _ => return Err(format!("unknown argument `{argument}`")),
        }
    }
    Ok(Command::Demo(demo))
}

/// `--option=value` in its two parts.
fn split(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once('=') {
        Some((option, value)) if option.starts_with('-') => (option, Some(value)),
        _ => (argument, None),
    }
}

fn number(argument: &str, value: &str, least: usize, most: usize) -> Result<usize, String> {
    let wrong = || format!("{argument} takes a whole number from {least} to {most}, not `{value}`");
    value.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(wrong)
}

fn budget(value: &str) -> Result<Option<f64>, String> {
    let wrong = || format!("--budget takes a number of percent from 0 to 100, not `{value}`");
    let percent: f64 = value.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(wrong)?;
    Ok((percent > 0.0).then_some(percent / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        assert_eq!(of(""), Ok(Command::Demo(Demo::default())));
        let expected = Demo { top: 3, tokens: 9, budget: None, timeline: true };
        assert_eq!(of("--top 3 --tokens 9 --budget 0 --timeline"), Ok(Command::Demo(expected)));
        let expected = Demo { top: 3, tokens: 9, budget: Some(0.02), timeline: false };
        assert_eq!(of("--top=3 --tokens=9 --budget=2"), Ok(Command::Demo(expected)));
        assert_eq!(of("--tokens 5 --help"), Ok(Command::Help));
        assert_eq!(of("-V"), Ok(Command::Version));
    }

    #[test]
    fn bad_ones_are_named() {
        for (line, part) in [
            ("--top", "--top needs a value"),
            ("--top x", "from 1 to 10000, not `x`"),
            ("--top=", "not ``"),
            ("--tokens 0", "not `0`"),
            ("--tokens=5001", "from 1 to 5000, not `5001`"),
            ("--budget 101", "not `101`"),
            ("--budget nan", "not `nan`"),
            ("--timeline=yes", "--timeline takes no value: `--timeline=yes`"),
            ("profile", "unknown argument `profile`"),
            ("--top-n=3", "unknown argument `--top-n=3`"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
