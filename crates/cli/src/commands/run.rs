//! `hotloop run`: runs any program, measures it, saves the run and shows it.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::time::Instant;

use indicatif::ProgressBar;
use lab::ExamineStep;
use lab::command::{
    Command, CommandObserver, CommandSettings, ProfilerOptions, RepeatCounts, StartError, StartErrorKind, measure,
    terminate,
};
use lab::machine::KernelChoice;

use super::error::FAILED;
use super::{CommandError, CommandOutput, TIMELINE, interrupt, progress, save, terminal, tool};
use crate::args;

/// Exit codes of shells for a program that cannot be executed, and for one that is not found.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// Shells add this to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        let (hint, code) = match error.why {
            StartErrorKind::NotFound => ("check the name; a program in this folder is called `./NAME`", NOT_FOUND),
            StartErrorKind::NotExecutable(_) => {
                ("make it executable with `chmod +x`, or run `sh SCRIPT`", NOT_EXECUTABLE)
            }
        };
        CommandError::new(error.to_string(), hint).with_code(code)
    }
}

/// Runs the program. The report goes to standard error, because standard output is the program's.
pub fn run(options: &args::Run) -> Result<CommandOutput, CommandError> {
    let chosen = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
    let no_command = || CommandError::new("no command", "name it after `--`: `hotloop run -- COMMAND`");
    let settings = CommandSettings {
        command: Command::new(options.command.iter().cloned()).ok_or_else(no_command)?,
        asked: ProfilerOptions { timeline: options.timeline.then_some(TIMELINE), budget_percent: options.budget },
        repeats: repeats(options),
        limits: options.limits,
        chosen,
        tool: tool(),
    };
    if !options.no_save {
        save::check(&options.store, options.tag.as_deref())?;
    }
    interrupt::listen_to_each(pass_on);
    let mut progress = RunProgress::new(settings.repeats.hide_output);
    let run = measure(&settings, &mut progress)?;
    progress.bar.finish_and_clear();
    let saved = (!options.no_save).then(|| save::save(&run, &options.store, options.tag.as_deref())).transpose();
    let id = saved.as_ref().ok().and_then(Option::as_ref);
    let output = if options.json {
        CommandOutput::text(run.to_json())
    } else {
        let look = terminal::report_options(&std::io::stderr(), options.top, id);
        let text = report::run(&run, &look).terminal(look.page());
        CommandOutput::notes(format!("\n{text}"))
    };
    let code = run.process.as_ref().map_or(FAILED, code);
    let errors = saved.err().map(CommandError::of_saving).into_iter().collect();
    Ok(CommandOutput { code, errors, ..output })
}

/// Repeated output is hidden: it says nothing new.
fn repeats(options: &args::Run) -> RepeatCounts {
    let (timed, warmup) = (options.repeat as u64, options.warmup as u64);
    RepeatCounts { timed, warmup, hide_output: timed + warmup > 1 && !options.show_output }
}

/// The exit code of the program.
fn code(process: &record::ProcessUse) -> u8 {
    let code = process.exit_code.or_else(|| Some(SIGNALLED + process.signal?));
    // Some systems have larger codes, which this program cannot return.
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
}

/// The running process; 0 if there is none.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// Ctrl-C in a terminal reaches the program directly. Without a terminal only this process was asked to stop.
fn pass_on() {
    // Either this sees the process, or the thread that started it sees the request.
    fence(SeqCst);
    let running = RUNNING.load(Relaxed);
    if running != 0 && File::open("/dev/tty").is_err() {
        terminate(running);
    }
}

/// Remembers the running process, and shows the number of the run or the limit that is measured.
struct RunProgress {
    bar: ProgressBar,
    began: Instant,
    /// The bar is shown only if the program's output is hidden.
    shows_runs: bool,
}

impl RunProgress {
    fn new(hides_output: bool) -> Self {
        let bar = progress("{pos:>2} of {len}", "");
        RunProgress { shows_runs: hides_output && !bar.is_hidden(), bar, began: Instant::now() }
    }
}

impl CommandObserver for RunProgress {
    fn started(&mut self, process: u32) {
        RUNNING.store(process, Relaxed);
        fence(SeqCst);
        if interrupt::is_requested() {
            pass_on();
        }
    }

    fn ended(&mut self) {
        RUNNING.store(0, Relaxed);
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_requested()
    }

    fn tell(&mut self, step: ExamineStep<'_>) {
        if !self.bar.is_hidden() {
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
                // The report also says that it failed.
                let _ = writeln!(stderr, "{name} of the run that failed:");
                let _ = stderr.write_all(text);
                let _ = if text.ends_with(b"\n") { Ok(()) } else { writeln!(stderr) };
            }
        }
    }
}

/// The remaining time, if the other runs take as long.
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
