//! Processes that die or have no room while they write a checkpoint.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use training::checkpoint::{Checkpoint, list};

use super::child;
use crate::folder::Folder;
use crate::run::settings_in;

/// All losses by their steps, and the step of the last checkpoint that was told of.
fn told(output: &[u8]) -> (BTreeMap<u64, String>, u64) {
    let (mut losses, mut saved) = (BTreeMap::new(), 0);
    for answer in child::answers(output) {
        let words: Vec<&str> = answer.split(' ').collect();
        match words[..] {
            ["step", step, loss] => drop(losses.insert(step.parse().expect("a number"), loss.to_owned())),
            ["saved", step] => saved = step.parse().expect("a number"),
            _ => {}
        }
    }
    (losses, saved)
}

/// Whatever bears the name of a checkpoint is whole; the step of the last.
fn all_are_whole(folder: &Path) -> u64 {
    let all = list(&settings_in(folder, &[]).checkpoints());
    for (step, path) in &all {
        let checkpoint = Checkpoint::open(path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(checkpoint.state().step, *step);
        checkpoint.parameters().expect("the weights are there");
    }
    all.last().map_or(0, |(step, _)| *step)
}

/// What a training that nobody disturbs computes, and how long it takes.
fn undisturbed() -> (BTreeMap<u64, String>, Duration) {
    let folder = Folder::new();
    let begin = Instant::now();
    let output = child::command(folder.root(), "begin").output().expect("it starts");
    let (losses, saved) = told(&output.stdout);
    assert_eq!((losses.len(), saved), (30, 30), "{}", String::from_utf8_lossy(&output.stdout));
    (losses, begin.elapsed())
}

#[test]
fn killed_at_any_time_it_goes_on_from_a_whole_checkpoint() {
    let (expected, whole) = undisturbed();
    let (mut early, mut late) = (0, 0);
    for turn in 0..12u32 {
        let folder = Folder::new();
        let mut task = "begin";
        let mut losses = BTreeMap::new();
        // Killed up to three times, each time at another place, and then left in peace.
        for life in 0..4u32 {
            let mut child = child::command(folder.root(), task).stdout(Stdio::piped()).spawn().expect("it starts");
            if life < 3 {
                std::thread::sleep(whole.mul_f64(f64::from(turn * 7 % 12 + life) / 24.0).min(Duration::from_secs(2)));
                child.kill().ok();
            }
            let output = child.wait_with_output().expect("it ended");
            let (new, saved) = told(&output.stdout);
            losses.extend(new);
            let last = all_are_whole(folder.root());
            assert!(last >= saved, "turn {turn}: step {saved} was saved, {last} is there");
            task = if last > 0 { "resume" } else { "begin" };
            if life < 3 {
                early += u32::from(last == 0);
                late += u32::from(last > 0);
            }
        }
        assert!(losses == expected, "turn {turn}: other losses than without being killed");
        let left = fs::read_dir(settings_in(folder.root(), &[]).checkpoints()).expect("it is there");
        let part = left.flatten().find(|entry| entry.file_name().to_string_lossy().ends_with(".part"));
        assert!(part.is_none(), "what dead processes left is removed: {part:?}");
    }
    assert!(early > 0 && late > 0, "killed {early} times before and {late} after a checkpoint");
}

/// In units of 512 or 1024 bytes, by the shell. A checkpoint has some hundred of them, the header alone more than ten.
#[cfg(unix)]
const LIMITS: [u32; 12] = [12, 14, 17, 20, 25, 32, 45, 64, 90, 128, 180, 256];

/// The system itself ends the process at a certain byte of the file.
#[test]
#[cfg(unix)]
fn ended_at_many_bytes_of_the_file_it_leaves_the_one_before() {
    let folder = Folder::new();
    let begun = child::below_shell("exec \"$@\"", folder.root(), "begin").output().expect("it starts");
    assert_eq!(told(&begun.stdout).1, 30);
    let mut died = 0;
    for limit in LIMITS {
        let folder = begin_again(folder.root());
        let before = all_are_whole(folder.root());
        // Who started this program may have told the system to ignore that signal.
        let script = format!("ulimit -c 0; ulimit -f {limit}; exec env --default-signal=XFSZ \"$@\"");
        let output = child::below_shell(&script, folder.root(), "resume").output().expect("it starts");
        if output.status.code() == Some(125) {
            println!("skipped: this system's env gives no signal its default back");
            return;
        }
        died += u32::from(!output.status.success());
        let (_, saved) = told(&output.stdout);
        let last = all_are_whole(folder.root());
        assert!(last >= before.max(saved), "limit {limit}: {last} after {before} and {saved}");
    }
    assert!(died > 8, "only {died} died");
}

/// A disk without room, as far as a process can see.
#[test]
#[cfg(unix)]
fn without_room_it_says_so_and_keeps_what_is_there() {
    let folder = Folder::new();
    child::command(folder.root(), "begin").output().expect("it starts");
    for limit in LIMITS {
        let folder = begin_again(folder.root());
        let before = all_are_whole(folder.root());
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$@\"");
        let output = child::below_shell(&script, folder.root(), "resume").output().expect("it starts");
        let answers = child::answers(&output.stdout);
        assert!(all_are_whole(folder.root()) >= before, "limit {limit}");
        let Some(error) = answers.iter().find(|answer| answer.starts_with("error ")) else {
            assert!(limit >= 128, "limit {limit}: {answers:?}");
            continue;
        };
        assert!(error.contains("safetensors"), "the file is named: {error}");
        let left = fs::read_dir(settings_in(folder.root(), &[]).checkpoints()).expect("it is there");
        let part = left.flatten().find(|entry| entry.file_name().to_string_lossy().ends_with(".part"));
        assert!(part.is_none(), "limit {limit}: {part:?} is left");
    }
}

/// A copy of a training that is over, with its first checkpoints alone.
#[cfg(unix)]
fn begin_again(from: &Path) -> Folder {
    let folder = Folder::new();
    let (source, target) = (settings_in(from, &[]), settings_in(folder.root(), &[]));
    fs::create_dir_all(target.checkpoints()).expect("it can be made");
    fs::create_dir_all(target.output().join("corpus")).expect("it can be made");
    for entry in fs::read_dir(source.output().join("corpus")).expect("it is there").flatten() {
        fs::copy(entry.path(), target.output().join("corpus").join(entry.file_name())).expect("it can be copied");
    }
    let (_, earliest) = list(&source.checkpoints()).into_iter().next().expect("there is one");
    fs::copy(&earliest, target.checkpoints().join(earliest.file_name().expect("it has a name")))
        .expect("it can be copied");
    folder
}
