//! This test program as another process: what the child does is told by a variable, so that it can
//! be killed or limited.

use std::path::Path;
use std::process::{Command, Stdio};

use record::TrainingEvent;
use training::TrainingObserver;

use crate::run::settings_in;

const TASK: &str = "HOTLOOP_TRAINING_TEST_TASK";
const FOLDER: &str = "HOTLOOP_TRAINING_TEST_FOLDER";

/// The arguments with which this program does what a child does.
const CHILD: [&str; 4] = ["checkpoint::child::task", "--exact", "--nocapture", "--test-threads=1"];

/// A child that trains in this folder; `begin` or `resume`.
pub fn command(folder: &Path, task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(CHILD).env(TASK, task).env(FOLDER, folder).stdin(Stdio::null());
    command
}

/// The same below a shell, which first does what `script` says; the last line of it is `exec "$@"`.
pub fn below_shell(script: &str, folder: &Path, task: &str) -> Command {
    let child = command(folder, task);
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(child.get_program()).args(CHILD);
    command.env(TASK, task).env(FOLDER, folder).stdin(Stdio::null());
    command
}

/// What the child wrote behind its mark.
pub fn answers(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().filter_map(|line| line.split_once("> ").map(|(_, answer)| answer.to_owned())).collect()
}

#[expect(clippy::print_stdout, reason = "a child tells its parent what it did")]
fn answer(text: &str) {
    println!("> {text}");
}

/// Tells the parent of every checkpoint and every loss.
struct Teller;

impl TrainingObserver for Teller {
    fn event(&mut self, event: &TrainingEvent) {
        match event {
            TrainingEvent::Step(step) => answer(&format!("step {} {:x}", step.step, step.loss.to_bits())),
            TrainingEvent::Saved(saved) => answer(&format!("saved {}", saved.step)),
            TrainingEvent::Ended(end) => answer(&format!("ended {}", end.why)),
            _ => {}
        }
    }
}

/// Does nothing unless this process is a child.
#[test]
fn task() {
    let (Ok(task), Ok(folder)) = (std::env::var(TASK), std::env::var(FOLDER)) else { return };
    if let Some(epochs) = task.strip_prefix("profile ") {
        return profile(Path::new(&folder), epochs);
    }
    let sets = ["checkpointing.save_every_n_batches=1", "training.num_epochs=10", "training.dropout=0.1"];
    let settings = settings_in(Path::new(&folder), &sets);
    let compute = engine::Compute::new(Some(1)).expect("one thread is there");
    let resume = (task == "resume").then_some(Path::new("latest"));
    if let Err(error) = training::train(&settings, resume, &compute, &mut Teller) {
        answer(&format!("error {error}"));
    }
}

/// Trains with the profiler and two threads, and tells what it counted: path, calls, allocations,
/// nanoseconds, of which others spent some.
fn profile(folder: &Path, epochs: &str) {
    let epochs = format!("training.num_epochs={epochs}");
    let sets = [&epochs, "training.gradient_accumulation=2", "training.dropout=0.1", "data.validation_split=0.25"];
    let settings = settings_in(folder, &sets);
    let compute = engine::Compute::new(Some(2)).expect("two threads are there");
    hotloop::Config::new().budget(None).start();
    training::train(&settings, None, &compute, &mut Teller).expect("it can be trained");
    hotloop::stop();
    let snapshot = hotloop::snapshot();
    let last = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
    for scope in &snapshot.scopes {
        let mut path = last(&scope.name);
        let mut parent = scope.parent;
        while let Some(above) = parent {
            path = format!("{}/{path}", last(&snapshot.scopes[above].name));
            parent = snapshot.scopes[above].parent;
        }
        let (calls, allocs) = (scope.calls, scope.allocs_total.allocs + scope.allocs_total.reallocs);
        answer(&format!("scope {path} {calls} {allocs} {}", scope.total_ns - scope.attached_ns));
    }
}
