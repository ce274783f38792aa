//! The worker's end.

use std::io::{self, BufRead, Write};

use super::{Answer, Request, VERSION};
use crate::command::SchedulerTimes;
use crate::duel::{INVOLUNTARY_SWITCHES, MAIN_CPU, RUN_DELAY, Reading};

/// The process as it sees itself; of its threads that is the first one, which does the rounds.
const MAIN_THREAD: &str = "self";

/// A request is short: whatever is longer is none.
const LONGEST: u64 = 4_096;

/// Answers requests until there are no more. `round` does the work so often, and records where the time goes where it is asked to.
///
/// # Errors
/// The streams fail, or a line is no request.
pub fn serve(
    mut input: impl BufRead,
    mut output: impl Write,
    mut round: impl FnMut(u64, bool) -> Result<Reading, String>,
) -> io::Result<()> {
    say(&mut output, &Answer::Ready(VERSION))?;
    let mut line = String::new();
    loop {
        line.clear();
        if io::Read::take(&mut input, LONGEST).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let request: Request = serde_json::from_str(&line)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("invalid request: {error}")))?;
        let switched = involuntary_switches();
        let scheduled = SchedulerTimes::of(MAIN_THREAD);
        let answer = match round(request.calls, request.profiled) {
            Ok(mut reading) => {
                if let Some((before, after)) = scheduled.zip(SchedulerTimes::of(MAIN_THREAD)) {
                    let SchedulerTimes { ran_s, waited_s } = after.since(before);
                    reading.values.extend([(MAIN_CPU.to_owned(), ran_s), (RUN_DELAY.to_owned(), waited_s)]);
                }
                let switches = switched.zip(involuntary_switches()).map(|(before, after)| after - before);
                reading.values.extend(switches.map(|switches| (INVOLUNTARY_SWITCHES.to_owned(), switches)));
                checked(reading)
            }
            Err(error) => Answer::Error(error),
        };
        say(&mut output, &answer)?;
    }
}

fn say(output: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_string(answer)?;
    line.push('\n');
    output.write_all(line.as_bytes())?;
    output.flush()
}

/// JSON has no infinity, and a value that is no number says nothing.
fn checked(reading: Reading) -> Answer {
    let values = reading.values.iter().map(|(name, value)| (name, *value));
    let series = reading.series.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, *value)));
    let wrong = values.chain(series).find(|(_, value)| !value.is_finite());
    match wrong {
        Some((name, value)) => Answer::Error(format!("`{name}` is {value}, which is not finite")),
        None => Answer::Reading(Box::new(reading)),
    }
}

/// Times that a CPU was taken from this process.
#[cfg(unix)]
fn involuntary_switches() -> Option<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    Some(getrusage(UsageWho::RUSAGE_SELF).ok()?.involuntary_context_switches() as f64)
}

/// Not known here.
#[cfg(not(unix))]
fn involuntary_switches() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn said(input: &str, round: impl FnMut(u64, bool) -> Result<Reading, String>) -> (io::Result<()>, Vec<String>) {
        let mut output = Vec::new();
        let ended = serve(input.as_bytes(), &mut output, round);
        let text = String::from_utf8(output).expect("text");
        (ended, text.lines().map(str::to_owned).collect())
    }

    fn reading(value: f64) -> Reading {
        Reading { values: BTreeMap::from([("wall_s".to_owned(), value)]), ..Reading::default() }
    }

    #[test]
    fn every_request_has_its_answer() {
        let mut asked = Vec::new();
        let (ended, lines) = said("{\"calls\":3}\n{\"calls\":4,\"profiled\":true}\n", |calls, profiled| {
            asked.push((calls, profiled));
            if profiled { Err("no".to_owned()) } else { Ok(reading(0.5)) }
        });
        assert!(ended.is_ok());
        assert_eq!(asked, [(3, false), (4, true)]);
        assert_eq!((lines[0].as_str(), lines[2].as_str()), ("{\"ready\":1}", "{\"error\":\"no\"}"));
        assert!(matches!(serde_json::from_str(&lines[1]), Ok(Answer::Reading(read)) if read.values["wall_s"] == 0.5));
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        let (_, lines) = said("{\"calls\":1}\n", |_, _| Ok(reading(f64::NAN)));
        assert!(lines[1].contains("`wall_s` is NaN"), "{lines:?}");
    }

    #[test]
    fn what_is_no_request_ends_it() {
        for input in ["hello\n", "{}\n", "12", &"x".repeat(1 << 20)] {
            let (ended, lines) = said(input, |_, _| panic!("no round was asked for"));
            assert_eq!((ended.unwrap_err().kind(), lines.len()), (io::ErrorKind::InvalidData, 1));
        }
    }
}
