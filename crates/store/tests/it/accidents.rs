//! Processes that die, disks that are full, folders that cannot be written to, and several processes at once.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use store::{Filter, Id, Store};

use crate::child;
use crate::samples::{Folder, run};

/// The ids that are listed; nothing may be wrong with any file.
#[track_caller]
fn listed(store: &Store) -> BTreeSet<String> {
    let listing = store.list(&Filter::default()).expect("they are listed");
    assert_eq!(listing.faults, []);
    listing.runs.into_iter().map(|run| run.id).collect()
}

#[track_caller]
fn all_read(store: &Store, ids: &BTreeSet<String>) {
    for id in ids {
        assert_eq!(store.load(id).expect("it is whole").id.as_str(), id);
    }
}

fn ids_of(numbers: std::ops::Range<u64>) -> BTreeSet<String> {
    numbers.map(|number| Id::of(run(number).to_json().as_bytes()).to_string()).collect()
}

#[test]
fn killed_at_any_time_a_writer_leaves_whole_runs() {
    let folder = Folder::new();
    let mut kept: BTreeSet<String> = BTreeSet::new();
    // How long a child takes from its start to the end of a few runs decides when it is killed.
    let begin = Instant::now();
    let output = child::command(folder.path(), "save 0 3").output().expect("it starts");
    let whole = begin.elapsed();
    kept.extend(
        child::answers(&output.stdout).iter().filter_map(|line| line.strip_prefix("saved ").map(str::to_owned)),
    );
    assert_eq!(kept, ids_of(0..3));
    let (mut killed_early, mut killed_late) = (0, 0);
    for turn in 0..40u64 {
        let first = 10 + turn * 10;
        let mut command = child::command(folder.path(), &format!("save {first} {}", first + 10));
        let mut writer = command.stdout(Stdio::piped()).spawn().expect("it starts");
        std::thread::sleep(whole.mul_f64(turn as f64 / 20.0).min(Duration::from_millis(400)));
        writer.kill().expect("it can be killed");
        let output = writer.wait_with_output().expect("it ended");
        let saved = child::answers(&output.stdout);
        let saved: BTreeSet<String> =
            saved.iter().filter_map(|line| line.strip_prefix("saved ").map(str::to_owned)).collect();
        killed_early += u64::from(saved.is_empty());
        killed_late += u64::from(!saved.is_empty());
        kept.extend(saved);
        let there = listed(&Store::open(folder.path()));
        assert!(kept.is_subset(&there), "a run that was saved is gone after turn {turn}");
        let possible: BTreeSet<String> = kept.union(&ids_of(first..first + 10)).cloned().collect();
        assert!(there.is_subset(&possible), "a run is listed that nobody saved");
        // One that was in its place before anybody was told is a whole run too.
        kept = there;
    }
    all_read(&Store::open(folder.path()), &kept);
    assert!(killed_early > 0 && killed_late > 0, "killed {killed_early} times before and {killed_late} after a run");
}

#[test]
fn several_writers_and_readers_at_once() {
    let folder = Folder::new();
    // All write the first ten runs, and each of them some of its own.
    let writer = |task: String| child::command(folder.path(), &task).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut children: Vec<_> = (0..4).map(|at| writer(format!("save 0 {}", 10 + at))).collect();
    children.extend((1..4).map(|at| writer(format!("save {} {}", 100 * at, 100 * at + 25))));
    let store = Store::open(folder.path());
    let mut before = BTreeSet::new();
    for _ in 0..20 {
        let now = listed(&store);
        assert!(before.is_subset(&now), "a run that was listed is not any more");
        before = now;
        std::thread::sleep(Duration::from_millis(5));
    }
    for child in children {
        let output = child.wait_with_output().expect("it ended");
        let answers = child::answers(&output.stdout);
        assert!(!answers.is_empty() && answers.iter().all(|answer| answer.starts_with("saved ")), "{answers:?}");
    }
    let expected: BTreeSet<String> = [0..13, 100..125, 200..225, 300..325].into_iter().flat_map(ids_of).collect();
    assert_eq!(listed(&store), expected);
    assert_eq!(listed(&Store::open(folder.path())), expected);
    all_read(&store, &expected);
    assert_eq!(fs::read_dir(folder.path().join("tmp")).expect("it is a folder").count(), 0);
}

#[test]
fn several_processes_find_a_broken_index() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    (0..30).for_each(|number| drop(store.save(&run(number)).expect("it is saved")));
    drop(store);
    for turn in 0..10 {
        fs::write(folder.path().join("index-2.sqlite"), "no database at all, and more than a few bytes of it")
            .expect("it is written");
        let list = || child::command(folder.path(), "list").stdout(Stdio::piped()).spawn().expect("it starts");
        let children: Vec<_> = (0..6).map(|_| list()).collect();
        for child in children {
            let answers = child::answers(&child.wait_with_output().expect("it ended").stdout);
            assert_eq!(answers.iter().cloned().collect::<BTreeSet<_>>(), ids_of(0..30), "turn {turn}");
        }
    }
}

/// A child below a shell in a folder of its own that is a small disk. `None`, with a line that says so, where this user
/// may not mount.
fn on_small_disk(folder: &Folder, script: &str, task: &str) -> Option<Vec<String>> {
    let mount = "mount -t tmpfs -o size=256k none \"$HOTLOOP_STORE\" || exit 77\n";
    let is_root = fs::metadata("/proc/self").is_ok_and(|about| is_owned_by_root(&about));
    let shell: &[&str] = if is_root { &["unshare", "-m"] } else { &["unshare", "-rm"] };
    let script = format!("{mount}{script}");
    let output = child::below_shell(shell, &script, folder.path(), task).output();
    match output {
        Ok(output) if output.status.success() => Some(child::answers(&output.stdout)),
        Ok(output) if output.status.code() == Some(77) || output.stdout.is_empty() => {
            skipped(&String::from_utf8_lossy(&output.stderr));
            None
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => {
            skipped(&error.to_string());
            None
        }
    }
}

#[cfg(unix)]
fn is_owned_by_root(about: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(about) == 0
}

#[cfg(not(unix))]
fn is_owned_by_root(_: &fs::Metadata) -> bool {
    false
}

#[expect(clippy::print_stdout, reason = "a test that cannot run here has to say so")]
fn skipped(why: &str) {
    println!("skipped: no file system can be mounted here: {}", why.trim());
}

#[test]
fn a_full_disk_takes_no_earlier_run() {
    let folder = Folder::new();
    // First runs that fit, then one that does not, then a list, all within one mount.
    let script = "\
        HOTLOOP_STORE_TEST_TASK='save 0 5' \"$@\"\n\
        \"$@\"\n\
        HOTLOOP_STORE_TEST_TASK='save 5 6' \"$@\"\n\
        ls \"$HOTLOOP_STORE/tmp\" | sed 's/^/> left /'\n\
        rm -f \"$HOTLOOP_STORE\"/index*\n\
        dd if=/dev/zero of=\"$HOTLOOP_STORE/filler\" bs=1k count=1000 2>/dev/null\n\
        HOTLOOP_STORE_TEST_TASK='save 6 7' \"$@\"\n\
        HOTLOOP_STORE_TEST_TASK='list' exec \"$@\"\n";
    let Some(answers) = on_small_disk(&folder, script, "save-large 99 1000") else { return };
    let saved: BTreeSet<String> =
        answers.iter().filter_map(|line| line.strip_prefix("saved ").map(str::to_owned)).collect();
    assert_eq!(saved, ids_of(0..6), "{answers:#?}");
    assert_eq!(answers.iter().filter(|line| line.starts_with("NoSpace: cannot write")).count(), 2, "{answers:#?}");
    assert!(!answers.iter().any(|line| line.starts_with("left") || line.starts_with("fault")), "{answers:#?}");
    let listed: BTreeSet<String> = answers.iter().filter(|line| Id::parse(line).is_some()).cloned().collect();
    assert_eq!(listed, saved, "without room for an index they are listed all the same: {answers:#?}");
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_grow_is_no_run() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    let first = store.save(&run(1)).expect("it is saved");
    // In blocks of 512 bytes or 1 KiB, by the shell; a signal that nobody ignores would end the child.
    let script = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
    let output = child::below_shell(&["env"], script, folder.path(), "save-large 99 2000").output().expect("it starts");
    let answers = child::answers(&output.stdout);
    assert!(answers.len() == 1 && answers[0].starts_with("NoSpace: cannot write"), "{answers:?}");
    assert!(answers[0].contains("tmp"), "the file is named: {answers:?}");
    assert_eq!(listed(&store), BTreeSet::from([first.to_string()]));
    assert_eq!(fs::read_dir(folder.path().join("tmp")).expect("it is a folder").count(), 0);
}

#[test]
fn a_store_that_cannot_be_written_to_is_read() {
    let folder = Folder::new();
    for index in ["", "rm -f \"$HOTLOOP_STORE\"/index*\n", "touch \"$HOTLOOP_STORE\"/index-2.sqlite-wal\n"] {
        let script = format!(
            "HOTLOOP_STORE_TEST_TASK='save 0 5' \"$@\"\n{index}\
             mount -o remount,ro \"$HOTLOOP_STORE\" || exit 77\n\
             HOTLOOP_STORE_TEST_TASK='save 5 6' \"$@\"\n\
             HOTLOOP_STORE_TEST_TASK='tag @latest here' \"$@\"\n\
             HOTLOOP_STORE_TEST_TASK='save 0 1' \"$@\"\n\
             exec \"$@\"\n"
        );
        let Some(answers) = on_small_disk(&folder, &script, "list") else { return };
        let refused: Vec<&String> = answers.iter().filter(|line| line.starts_with("ReadOnly: cannot")).collect();
        assert_eq!(refused.len(), 2, "one save and one tag: {answers:#?}");
        assert_eq!(
            answers.iter().filter(|line| line.starts_with("saved ")).count(),
            6,
            "what is there is saved: {answers:#?}"
        );
        let listed: BTreeSet<String> = answers.iter().filter(|line| Id::parse(line).is_some()).cloned().collect();
        assert_eq!(listed, ids_of(0..5), "{answers:#?}");
    }
}

#[test]
fn what_dead_writers_left_is_removed_when_it_is_old() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    store.save(&run(1)).expect("it is saved");
    let (old, young) = (folder.path().join("tmp/1-1-0"), folder.path().join("tmp/2-2-0"));
    for path in [&old, &young] {
        fs::write(path, "half a run").expect("it is written");
    }
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    fs::File::options().write(true).open(&old).and_then(|file| file.set_modified(long_ago)).expect("its time is set");
    assert_eq!(listed(&store).len(), 1, "what is half there is not listed");
    store.save(&run(2)).expect("it is saved");
    assert_eq!((old.exists(), young.exists()), (false, true));
}

#[test]
fn a_store_in_the_place_of_a_file_is_refused() {
    let folder = Folder::new();
    let path = folder.path().join("file");
    fs::write(&path, "").expect("it is written");
    let error = Store::open(&path).save(&run(1)).expect_err("it is no folder");
    assert!(error.to_string().contains("cannot create the folder"), "{error}");
}
