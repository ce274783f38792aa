//! `hotloop run`: runs any program, measures it, keeps the run and shows it.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::time::Instant;

use indicatif::ProgressBar;
use lab::ExamineStep;
use lab::command::{
    Command, CommandObserver, CommandSettings, ProfilerOptions, RepeatCounts, StartError, StartErrorKind, measure,
    terminate,
};
use lab::machine::KernelChoice;

use super::{Refusal, TIMELINE, interrupt, progress, shown, tool};
use crate::args;

/// What shells have for a program that is there and cannot be executed, and for one that is not there.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// What shells add to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// What was measured, and with which code to end.
pub struct Outcome {
    /// For standard output.
    pub json: Option<String>,
    pub code: ExitCode,
    /// Why the run could not be kept.
    pub not_kept: Option<store::Error>,
}

/// What could not be done, and with which code to end, if not that of bad input.
pub struct Failure {
    pub refusal: Refusal,
    pub code: Option<u8>,
}

impl<R: Into<Refusal>> From<R> for Failure {
    fn from(refusal: R) -> Self {
        Failure { refusal: refusal.into(), code: None }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let (hint, code) = match error.why {
            StartErrorKind::NotFound => ("check the name; a program in this folder is called `./NAME`", NOT_FOUND),
            StartErrorKind::NotExecutable(_) => {
                ("`chmod +x` makes a script a program; `sh SCRIPT` runs it as it is", NOT_EXECUTABLE)
            }
        };
        Failure { refusal: Refusal { error: error.to_string(), hint }, code: Some(code) }
    }
}

/// Runs the program, and reports to standard error, so that standard output stays the program's.
pub fn run(options: &args::Run) -> Result<Outcome, Failure> {
    let hint = "leave the variable out to use the best that this CPU has";
    let chosen = KernelChoice::from_environment().map_err(|error| Refusal { error, hint })?;
    let nothing = || Refusal { error: "COMMAND is missing".to_owned(), hint: "put it behind `--`" };
    let settings = CommandSettings {
        command: Command::new(raw(options.command.len())).ok_or_else(nothing)?,
        asked: ProfilerOptions { timeline: options.timeline.then_some(TIMELINE), budget_percent: options.budget },
        repeats: repeats(options),
        limits: options.limits,
        chosen,
        tool: tool(),
    };
    if !options.no_save {
        options.store.open()?.check()?;
        options.tag.as_deref().map_or(Ok(()), store::check_tag)?;
    }
    interrupt::listen_to_each(pass_on);
    let mut follower = Follower::new(settings.repeats.hide_output);
    let run = measure(&settings, &mut follower)?;
    follower.bar.finish_and_clear();
    let kept = (!options.no_save).then(|| shown::save(&run, &options.store, options.tag.as_deref()));
    let id = kept.as_ref().and_then(|kept| kept.as_ref().ok());
    let code = run.process.as_ref().map_or(ExitCode::FAILURE, code);
    let json = options.json.then(|| run.to_json());
    if json.is_none() {
        // Figures that nobody can be shown are no failure of the program.
        let text = report::run_text(&run, &shown::on(&std::io::stderr(), options.top, id));
        let _ = write!(std::io::stderr().lock(), "\n{text}");
    }
    let not_kept = kept.and_then(Result::err);
    Ok(Outcome { json, code, not_kept })
}

/// What is printed once is the program's; the same several times says nothing.
fn repeats(options: &args::Run) -> RepeatCounts {
    let (timed, warmup) = (options.repeat as u64, options.warmup as u64);
    RepeatCounts { timed, warmup, hide_output: timed + warmup > 1 && !options.show_output }
}

/// The last words of our line as they were given: arguments of a program need not be Unicode.
fn raw(count: usize) -> impl Iterator<Item = std::ffi::OsString> {
    let words = std::env::args_os();
    let before = words.len().saturating_sub(count);
    words.skip(before)
}

/// Ends as the program did.
fn code(process: &record::ProcessUse) -> ExitCode {
    let code = process.exit_code.or_else(|| Some(SIGNALLED + process.signal?));
    // What a system has beyond a byte cannot be handed on.
    code.map_or(ExitCode::FAILURE, |code| u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The process that runs; 0: none.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// Ctrl-C in a terminal reaches the program without our help. Without a terminal somebody asked us alone.
fn pass_on() {
    // Either this sees the process, or who made it sees that somebody asked.
    fence(SeqCst);
    let running = RUNNING.load(Relaxed);
    if running != 0 && File::open("/dev/tty").is_err() {
        terminate(running);
    }
}

/// Knows which process runs, and shows which run it is, or what of the machine is measured.
struct Follower {
    bar: ProgressBar,
    began: Instant,
    /// Runs are shown where nothing else is printed meanwhile, and only to people.
    shows_runs: bool,
}

impl Follower {
    fn new(hides_output: bool) -> Self {
        let bar = progress("{pos:>2} of {len}", "");
        Follower { bar, began: Instant::now(), shows_runs: hides_output && std::io::stderr().is_terminal() }
    }
}

impl CommandObserver for Follower {
    fn started(&mut self, process: u32) {
        RUNNING.store(process, Relaxed);
        fence(SeqCst);
        if interrupt::asked() {
            pass_on();
        }
    }

    fn ended(&mut self) {
        RUNNING.store(0, Relaxed);
    }

    fn is_stopped(&self) -> bool {
        interrupt::asked()
    }

    fn tell(&mut self, step: ExamineStep<'_>) {
        if std::io::stderr().is_terminal() {
            self.bar.set_length(u64::from(step.of));
            self.bar.set_position(u64::from(step.done));
            self.bar.set_message(step.what.to_owned());
        }
    }

    fn run(&mut self, done: u64, of: u64) {
        if self.shows_runs {
            self.bar.set_length(of);
            self.bar.set_position(done);
            self.bar.set_message(left(self.began.elapsed().as_secs_f64(), done, of));
        }
    }

    fn printed(&mut self, output: &[u8], complaints: &[u8]) {
        self.bar.finish_and_clear();
        let mut stderr = std::io::stderr().lock();
        for (name, text) in [("standard output", output), ("standard error", complaints)] {
            if !text.is_empty() {
                // The report says that it failed, whether or not this can be shown.
                let _ = writeln!(stderr, "{name} of the run that failed:");
                let _ = stderr.write_all(text);
                let _ = if text.ends_with(b"\n") { Ok(()) } else { writeln!(stderr) };
            }
        }
    }
}

/// What the runs that are done say of the others.
fn left(seconds: f64, done: u64, of: u64) -> String {
    if done == 0 {
        return "runs".to_owned();
    }
    let left = seconds / done as f64 * of.saturating_sub(done) as f64;
    format!("runs, about {} s left", left.ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_is_left_follows_from_what_is_done() {
        assert_eq!(left(0.0, 0, 10), "runs");
        assert_eq!(left(6.1, 2, 10), "runs, about 25 s left");
        assert_eq!(left(6.0, 10, 10), "runs, about 0 s left");
    }
}
