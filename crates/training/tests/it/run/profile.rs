//! What the profiler counts of a training: every call, on every thread, and no allocation once it is warm.

use std::collections::BTreeMap;

use crate::checkpoint::child;
use crate::folder::Folder;

/// Calls, allocations and nanoseconds, by path.
type Scopes = BTreeMap<String, [u64; 3]>;

/// In a process of its own: the profiler sees all of a process.
fn profiled(epochs: u64) -> Scopes {
    let folder = Folder::new();
    let output = child::command(folder.root(), &format!("profile {epochs}")).output().expect("it starts");
    let mut scopes = Scopes::new();
    for answer in child::answers(&output.stdout) {
        let words: Vec<&str> = answer.split(' ').collect();
        if let ["scope", path, numbers @ ..] = &words[..] {
            let sums = scopes.entry((*path).to_owned()).or_default();
            let numbers = numbers.iter().map(|number| number.parse::<u64>().expect("it is a number"));
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
    }
    assert!(!scopes.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    scopes
}

#[test]
fn no_call_is_lost_and_parts_are_no_more_than_the_whole() {
    let scopes = profiled(3);
    let calls = |path: &str| scopes.get(path).map_or(0, |[calls, ..]| *calls);
    // Nine lines are three batches of four: two steps in an epoch, of two batches and of one.
    let step = "train_epoch/batch";
    assert_eq!([calls("train_epoch"), calls(step)], [3, 6]);
    for (name, expected) in [("data_wait", 9), ("forward", 9), ("backward", 9)] {
        assert_eq!(calls(&format!("{step}/{name}")), expected, "{name}");
    }
    for (name, expected) in [("clip", 6), ("optimizer", 6), ("forward/layer", 18), ("backward/layer", 18)] {
        assert_eq!(calls(&format!("{step}/{name}")), expected, "{name}");
    }
    for name in ["forward/layer/qkv", "forward/layer/attention", "backward/layer/qkv", "backward/layer/ffn_down"] {
        assert_eq!(calls(&format!("{step}/{name}")), 18, "{name}: {scopes:#?}");
    }
    assert_eq!([calls("train_epoch/validation"), calls("train_epoch/validation/forward")], [3, 3]);
    assert!(calls("train_epoch/checkpoint") >= 2 && calls("train_epoch/log") >= 9, "{scopes:#?}");
    for (path, [_, _, whole]) in &scopes {
        let parts = scopes.iter().filter(|(below, _)| below.rsplit_once('/').is_some_and(|(above, _)| above == path));
        let parts: u64 = parts.map(|(_, [_, _, nanoseconds])| nanoseconds).sum();
        assert!(parts <= whole + whole / 100 + 1000, "{path}: {parts} of {whole}");
    }
}

#[test]
fn steps_allocate_nothing_once_it_is_warm() {
    let (few, many) = (profiled(2), profiled(12));
    let step = "train_epoch/batch";
    let (few, many) = (few[step], many[step]);
    assert_eq!([few[0], many[0]], [4, 24]);
    assert_eq!(many[1], few[1], "allocations of 4 and of 24 steps");
}
