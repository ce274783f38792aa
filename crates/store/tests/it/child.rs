//! This test program as another process: what the child does is told by a variable, so that it can be killed, limited or
//! run by another user.

use std::path::Path;
use std::process::{Command, Stdio};

use store::{Filter, Store};

use crate::samples::run;

const TASK: &str = "HOTLOOP_STORE_TEST_TASK";

/// The arguments with which this program does what a child does.
const CHILD: [&str; 4] = ["child::task", "--exact", "--nocapture", "--test-threads=1"];

/// A child with a task such as `save 5 9`: runs from number 5 to 8.
pub fn command(store: &Path, task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(CHILD).env(TASK, task).env("HOTLOOP_STORE", store).stdin(Stdio::null());
    command
}

/// The same below a shell, which first does what `script` says; the last line of it is `exec "$@"`.
pub fn below_shell(shell: &[&str], script: &str, store: &Path, task: &str) -> Command {
    let child = command(store, task);
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["sh", "-c", script, "sh"]).arg(child.get_program()).args(CHILD);
    command.env(TASK, task).env("HOTLOOP_STORE", store).stdin(Stdio::null());
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

/// Does nothing unless this process is a child.
#[test]
fn task() {
    let Ok(task) = std::env::var(TASK) else { return };
    let store = Store::open(store::default_path().expect("the variable is set"));
    let words: Vec<&str> = task.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().expect("it is a number");
    match words[0] {
        "save" => (number(1)..number(2)).for_each(|number| match store.save(&run(number)) {
            Ok(id) => answer(&format!("saved {id}")),
            Err(error) => answer(&format!("{:?}: {error}", error.kind())),
        }),
        "save-large" => {
            let mut large = run(number(1));
            // Nothing that could be packed.
            let mut state = 1u64;
            large.notes = (0..number(2)).map(|_| scramble(&mut state)).collect();
            match store.save(&large) {
                Ok(id) => answer(&format!("saved {id}")),
                Err(error) => answer(&format!("{:?}: {error}", error.kind())),
            }
        }
        "tag" => match store.resolve(words[1]).and_then(|id| store.tag(words[2], &id)) {
            Ok(_) => answer("tagged"),
            Err(error) => answer(&format!("{:?}: {error}", error.kind())),
        },
        "list" => match store.list(&Filter::default()) {
            Ok(listing) => {
                listing.runs.iter().for_each(|run| answer(&run.id));
                listing.faults.iter().for_each(|fault| answer(&format!("fault {}: {}", fault.path, fault.message)));
            }
            Err(error) => answer(&format!("{:?}: {error}", error.kind())),
        },
        other => panic!("no task is called {other}"),
    }
}

fn scramble(state: &mut u64) -> String {
    let mut digits = String::new();
    while digits.len() < 1000 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        digits.push_str(&format!("{state:016x}"));
    }
    digits
}
