//! Instructions, counted one by one by Valgrind.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};

use crate::command::{Command, IsolatedRun, Scratch, StartErrorKind};

/// Counts the instructions of one call, in all processes of the program.
pub(super) fn count(command: &[OsString], scratch: &mut Scratch) -> Result<f64, String> {
    // The tree that it would write is not needed.
    let tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes", "--"];
    let words = tool.iter().map(OsString::from).chain(command.iter().cloned());
    let command = Command::new(words).ok_or("no command to count")?;
    let ended = command.run_apart(scratch.streams()?, &IsolatedRun::default()).map_err(|error| match error.why {
        StartErrorKind::NotFound => {
            "counting instructions needs Valgrind, which is not installed: install the package `valgrind`, or \
             leave out `--exact`"
                .to_owned()
        }
        StartErrorKind::NotExecutable(_) => error.to_string(),
    })?;
    if ended.usage.exit_code != Some(0) {
        return Err(format!("failed under Valgrind: {}", scratch.last_words()));
    }
    let stderr = BufReader::new(scratch.stderr()?);
    collected(stderr).ok_or_else(|| format!("Valgrind reported no count: {}", scratch.last_words()))
}

/// The sum of lines such as `==12== Collected : 116016559`, one for each process.
fn collected(stderr: impl BufRead) -> Option<f64> {
    let lines = stderr.split(b'\n').map_while(Result::ok);
    let counts = lines.filter_map(|line| {
        let line = String::from_utf8_lossy(&line).into_owned();
        let (_, count) = line.strip_prefix("==")?.split_once("== Collected : ")?;
        count.trim().parse::<f64>().ok()
    });
    let counts: Vec<f64> = counts.collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_processes_are_summed() {
        let text = "==1== Callgrind\nhello\n==2== Collected : 100\n==1== \n==1== Collected : 23\n== Collected : x\n";
        assert_eq!(collected(text.as_bytes()), Some(123.0));
        assert_eq!(collected("nothing".as_bytes()), None);
    }
}
