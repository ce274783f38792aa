//! Files that are not what they should be: the others are listed all the same, and nothing is removed.

use std::fs;
use std::path::{Path, PathBuf};

use store::{ErrorKind, Filter, Id, Listing, Store};

use crate::child;
use crate::samples::{Folder, run};

/// A store with ten runs.
fn ten(folder: &Folder) -> Vec<Id> {
    let store = Store::open(folder.path());
    (0..10).map(|number| store.save(&run(number)).expect("it is saved")).collect()
}

#[track_caller]
fn list(folder: &Folder) -> Listing {
    Store::open(folder.path()).list(&Filter::default()).expect("they are listed")
}

fn index(folder: &Folder) -> PathBuf {
    folder.path().join("index-2.sqlite")
}

/// A broken index is made again, on the disk and while the store is open.
#[track_caller]
fn check_index(name: &str, damage: impl Fn(&Path)) {
    let folder = Folder::new();
    let ids = ten(&folder);
    let open = Store::open(folder.path());
    open.tag("base", &ids[2]).expect("it is tagged");
    damage(&index(&folder));
    for turn in ["made again", "read"] {
        let listing = list(&folder);
        assert_eq!((listing.runs.len(), listing.faults.len()), (10, 0), "{name}, {turn}");
        assert_eq!(listing.runs[7].tags, ["base"], "{name}, {turn}");
    }
    assert_eq!(open.list(&Filter::default()).expect("they are listed").runs.len(), 10, "{name}");
    let sound = rusqlite::Connection::open(index(&folder)).expect("it is opened");
    let runs: i64 = sound.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).expect("it can be asked");
    assert_eq!(runs, 10, "{name}: the one on the disk was made again");
}

#[test]
fn a_broken_index_is_made_again() {
    let write = |bytes: &'static [u8]| move |path: &Path| fs::write(path, bytes).expect("it is written");
    check_index("sound", |_| {});
    check_index("missing", |path| fs::remove_file(path).expect("it is removed"));
    check_index("garbage", write(b"this is no database, and long enough that it cannot be taken for an empty one"));
    check_index("zero bytes", write(b""));
    check_index("one byte", write(b"S"));
    check_index("the beginning of one", write(b"SQLite format 3\0"));
    for kept in [100, 4096, 5000, 8192, 12288] {
        check_index("cut off", |path| {
            let bytes = fs::read(path).expect("it is read");
            fs::write(path, &bytes[..bytes.len().min(kept)]).expect("it is written");
        });
    }
    check_index("of a later version", |path| change(path, "PRAGMA user_version = 99"));
    check_index("without a table", |path| change(path, "DROP TABLE run"));
    check_index("with other tables", |path| {
        change(path, "DROP TABLE run; CREATE TABLE run(id TEXT, other TEXT); INSERT INTO run VALUES('ab', 'x')");
    });
}

fn change(path: &Path, statements: &str) {
    rusqlite::Connection::open(path).and_then(|index| index.execute_batch(statements)).expect("it is changed");
}

#[test]
fn flipped_bits_in_an_index_do_not_stop_a_list() {
    let folder = Folder::new();
    let ids = ten(&folder);
    let whole = fs::read(index(&folder)).expect("it is read");
    for at in (0..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(index(&folder), bytes).expect("it is written");
        // What SQLite cannot see in a row is wrong until the index is made again; it never stops a list.
        list(&folder);
    }
    let store = Store::open(folder.path());
    assert_eq!(store.reindex().expect("it is made again").matching, 10);
    let listed: Vec<String> = list(&folder).runs.into_iter().rev().map(|run| run.id).collect();
    assert_eq!(listed, ids.iter().map(ToString::to_string).collect::<Vec<_>>());
}

/// One file is damaged before anybody has seen it; the others are listed, it is named, and it stays.
#[track_caller]
fn check_run(name: &str, expected: &str, kind: ErrorKind, damage: impl Fn(&Path)) {
    let folder = Folder::new();
    let ids = ten(&folder);
    fs::remove_file(index(&folder)).expect("there is an index");
    let store = Store::open(folder.path());
    let path = store.run_path(&ids[4]);
    damage(&path);
    for turn in 0..2 {
        let listing = list(&folder);
        assert_eq!((listing.runs.len(), listing.faults.len()), (9, 1), "{name}, {turn}: {:?}", listing.faults);
        assert_eq!(listing.faults[0].path, path.display().to_string(), "{name}");
        assert!(listing.faults[0].message.contains(expected), "{name}: {}", listing.faults[0].message);
    }
    let error = store.load(ids[4].short()).expect_err(name);
    assert_eq!(error.kind(), kind, "{name}: {error}");
    assert!(error.to_string().contains(expected) && error.to_string().contains(ids[4].as_str()), "{name}: {error}");
    assert!(path.exists(), "{name}: nothing is removed by itself");
    // Saved again, it is whole again.
    if kind == ErrorKind::Corrupt {
        assert_eq!(store.save(&run(4)).as_ref(), Ok(&ids[4]), "{name}");
        let listing = list(&folder);
        assert_eq!((listing.runs.len(), listing.faults.len()), (10, 0), "{name}: {:?}", listing.faults);
    }
    store.remove(&ids[4]).expect("it can be removed");
}

fn cut(path: &Path, kept: impl Fn(usize) -> usize) {
    let bytes = fs::read(path).expect("it is read");
    fs::write(path, &bytes[..kept(bytes.len())]).expect("it is written");
}

#[test]
fn broken_runs_are_named() {
    let corrupt = ErrorKind::Corrupt;
    check_run("empty", "do not match the file name", corrupt, |path| cut(path, |_| 0));
    check_run("cut off early", "", corrupt, |path| cut(path, |_| 3));
    check_run("cut off in the middle", "cannot decompress", corrupt, |path| cut(path, |length| length / 2));
    check_run("cut off at the end", "cannot decompress", corrupt, |path| cut(path, |length| length - 1));
    check_run("another run", "do not match the file name", corrupt, |path| {
        fs::write(path, zstd::bulk::compress(run(5).to_json().as_bytes(), 3).expect("it is packed"))
            .expect("it is written");
    });
    check_run("something behind it", "", corrupt, |path| {
        let mut bytes = fs::read(path).expect("it is read");
        bytes.extend(b"more");
        fs::write(path, bytes).expect("it is written");
    });
    check_run("a bomb", "larger than 1024 MiB", corrupt, |path| fs::write(path, bomb(8193)).expect("it is written"));
    check_run("a large bomb of another text", "do not match the file name", corrupt, |path| {
        fs::write(path, bomb(4000)).expect("it is written");
    });
    check_run("a window of 2 GiB", "cannot decompress", corrupt, |path| {
        let mut bytes = bomb(1);
        bytes[5] = 21 << 3;
        fs::write(path, bytes).expect("it is written");
    });
}

/// A frame of zstd with blocks of 128 KiB that say: this byte, over and over.
fn bomb(blocks: u32) -> Vec<u8> {
    // The magic, no further fields, a window of 1 MiB.
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3];
    for block in 1..=blocks {
        let header = u32::from(block == blocks) | 1 << 1 | (128 << 10) << 3;
        bytes.extend(&header.to_le_bytes()[..3]);
        bytes.push(b' ');
    }
    bytes
}

#[test]
fn flipped_bits_in_a_run_are_seen() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    let id = store.save(&run(1)).expect("it is saved");
    let path = store.run_path(&id);
    let whole = fs::read(&path).expect("it is read");
    let text = store.load(id.as_str()).expect("it is whole").text;
    for at in (0..whole.len() * 8).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        fs::write(&path, bytes).expect("it is written");
        match store.load(id.as_str()) {
            // Some bits say how large a window is, and change no text.
            Ok(loaded) => assert_eq!(loaded.text, text, "bit {at}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "bit {at}: {error}"),
        }
    }
}

#[test]
#[cfg(unix)]
fn a_bomb_takes_little_memory() {
    let folder = Folder::new();
    let ids = ten(&folder);
    fs::remove_file(index(&folder)).expect("there is an index");
    fs::write(Store::open(folder.path()).run_path(&ids[0]), bomb(8193)).expect("it is written");
    // In KiB of addresses: the program itself takes a part of it.
    let script = "ulimit -v 400000; exec \"$@\"";
    let output = child::below_shell(&["env"], script, folder.path(), "list").output().expect("it starts");
    let answers = child::answers(&output.stdout);
    assert_eq!(answers.iter().filter(|line| line.starts_with("fault ")).count(), 1, "{answers:#?}");
    assert_eq!(answers.len(), 10, "{answers:#?}");
}

/// Puts a text into the store that the store would not take.
fn smuggle(store: &Store, text: &str) -> PathBuf {
    let path = store.run_path(&Id::of(text.as_bytes()));
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is made");
    fs::write(&path, zstd::bulk::compress(text.as_bytes(), 3).expect("it is packed")).expect("it is written");
    path
}

#[test]
fn texts_that_are_no_runs_are_named() {
    let folder = Folder::new();
    let ids = ten(&folder);
    let store = Store::open(folder.path());
    let future = run(20).to_json().replacen("\"version\": 1", "\"version\": 2", 1);
    for (text, expected, kind) in [
        (future.as_str(), "version 2 of `hotloop-run` is newer than 1", ErrorKind::Newer),
        ("{}", "no `schema`", ErrorKind::Corrupt),
        ("not JSON", "expected", ErrorKind::Corrupt),
        ("{\"schema\": \"hotloop-doctor\", \"version\": 1}", "`hotloop-doctor`", ErrorKind::Corrupt),
        ("{\"schema\": \"hotloop-run\", \"version\": 1}", "missing field", ErrorKind::Corrupt),
    ] {
        let error = store.save_text(text).expect_err("it is refused");
        assert!(error.kind() == ErrorKind::Unsound && error.to_string().contains(expected), "{error}");
        let path = smuggle(&store, text);
        let listing = list(&folder);
        assert_eq!((listing.runs.len(), listing.faults.len()), (10, 1), "{:?}", listing.faults);
        assert!(listing.faults[0].message.contains(expected), "{:?}", listing.faults[0]);
        let error = store.load(path.to_str().expect("it is text")).expect_err("it is refused");
        assert_eq!(error.kind(), kind, "{error}");
        fs::remove_file(path).expect("it is removed");
        assert_eq!(list(&folder).faults, []);
    }
    assert_eq!(store.resolve("@latest").as_ref(), Ok(&ids[9]));
}

#[test]
fn a_run_that_nobody_could_read_is_not_kept() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    let mut broken = run(1);
    broken.samples = vec![record::Sample { values: [("wall".to_owned(), f64::NAN)].into(), ..Default::default() }];
    assert_eq!(store.save(&broken).expect_err("it is refused").kind(), ErrorKind::Unsound);
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn files_of_other_names_are_named_and_hidden_ones_passed_over() {
    let folder = Folder::new();
    let ids = ten(&folder);
    let store = Store::open(folder.path());
    let own = store.run_path(&ids[0]);
    let runs = folder.path().join("runs");
    let elsewhere = if ids[0].as_str().starts_with("00") { "01" } else { "00" };
    fs::create_dir_all(runs.join(elsewhere)).expect("it is made");
    let misplaced = runs.join(elsewhere).join(own.file_name().expect("it has a name"));
    fs::copy(&own, &misplaced).expect("it is copied");
    fs::write(own.with_file_name("notes.txt"), "notes").expect("it is written");
    fs::write(own.with_file_name(".hidden"), "hidden").expect("it is written");
    fs::write(runs.join("loose.json"), run(1).to_json()).expect("it is written");
    fs::create_dir(runs.join("folder")).expect("it is made");
    let listing = list(&folder);
    let mut found: Vec<String> = listing.faults.iter().map(|fault| fault.path.clone()).collect();
    found.sort_unstable();
    let mut expected = [misplaced, own.with_file_name("notes.txt"), runs.join("loose.json"), runs.join("folder")]
        .map(|path| path.display().to_string());
    expected.sort_unstable();
    assert_eq!((listing.runs.len(), found.as_slice()), (10, expected.as_slice()));
    assert_eq!(list(&folder), listing, "a second look finds the same");
}

#[test]
fn what_is_copied_in_or_taken_away_is_noticed() {
    let (from, to) = (Folder::new(), Folder::new());
    let ids = ten(&from);
    let (source, open) = (Store::open(from.path()), Store::open(to.path()));
    open.save(&run(100)).expect("it is saved");
    for id in &ids {
        let target = open.run_path(id);
        fs::create_dir_all(target.parent().expect("it is in a folder")).expect("it is made");
        fs::copy(source.run_path(id), target).expect("it is copied");
        assert!(open.list(&Filter::default()).expect("they are listed").runs.iter().any(|run| run.id == id.as_str()));
    }
    assert_eq!(list(&to).runs.len(), 11);
    fs::remove_file(open.run_path(&ids[0])).expect("it is removed");
    fs::remove_dir_all(open.run_path(&ids[1]).parent().expect("it is in a folder")).expect("it is removed");
    let left = ids[2..].iter().filter(|id| id.as_str()[..2] != ids[1].as_str()[..2]).count();
    assert_eq!(open.list(&Filter::default()).expect("they are listed").runs.len(), left + 1);
    assert_eq!(list(&to).runs.len(), left + 1);
}

#[test]
fn tags_that_name_nothing_are_named() {
    let folder = Folder::new();
    let ids = ten(&folder);
    let store = Store::open(folder.path());
    store.tag("good", &ids[0]).expect("it is tagged");
    let tags = folder.path().join("tags");
    fs::write(tags.join("broken"), "nonsense").expect("it is written");
    fs::write(tags.join("gone"), format!("{}\n", Id::of(b"gone"))).expect("it is written");
    let listing = list(&folder);
    assert_eq!((listing.runs.len(), listing.faults.len()), (10, 2), "{:?}", listing.faults);
    assert_eq!(store.resolve("broken").expect_err("it holds no id").kind(), ErrorKind::Corrupt);
    let error = store.resolve("gone").expect_err("the run is gone");
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("`gone`"), "{error}");
    assert_eq!(store.resolve("good").as_ref(), Ok(&ids[0]));
    store.tag("broken", &ids[1]).expect("it is replaced");
    store.untag("gone").expect("it is taken away");
    assert_eq!(list(&folder).faults, []);
}

/// In a thread of its own, so that waiting for a pipe is a failure.
#[cfg(unix)]
#[test]
fn tags_that_are_no_files_are_named() {
    let folder = Folder::new();
    let ids = ten(&folder);
    let store = Store::open(folder.path());
    store.tag("good", &ids[0]).expect("it is tagged");
    let tags = folder.path().join("tags");
    let made = std::process::Command::new("mkfifo").arg(tags.join("pipe")).status().expect("it is started");
    assert!(made.success());
    fs::create_dir(tags.join("folder")).expect("it is made");
    std::os::unix::fs::symlink("/dev/zero", tags.join("device")).expect("it is made");
    let long = fs::File::create(tags.join("long")).expect("it is made");
    long.set_len(1 << 32).expect("a file without blocks");
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let listing = store.list(&Filter::default());
        let errors = ["pipe", "folder", "device", "long"].map(|name| store.resolve(name));
        done.send((listing, errors)).expect("it is waited for");
    });
    let (listing, errors) = wait.recv_timeout(std::time::Duration::from_secs(20)).expect("nothing waits");
    let listing = listing.expect("they are listed");
    assert_eq!((listing.runs.len(), listing.faults.len()), (10, 4), "{:?}", listing.faults);
    for error in errors {
        assert_eq!(error.expect_err("it is no tag").kind(), ErrorKind::Corrupt);
    }
    fs::remove_dir(tags.join("folder")).expect("it is removed");
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let store = Store::open(folder.path().join("new").join("store"));
    let id = store.save(&run(1)).expect("it is saved");
    store.tag("good", &id).expect("it is tagged");
    store.list(&Filter::default()).expect("they are listed");
    let mut pending = vec![folder.path().join("new")];
    let mut files = 0;
    while let Some(path) = pending.pop() {
        let about = fs::metadata(&path).expect("it is there");
        let rights = about.permissions().mode() & 0o777;
        if about.is_dir() {
            assert_eq!(rights, 0o700, "{}", path.display());
            pending.extend(fs::read_dir(&path).expect("it is read").map(|entry| entry.expect("it is read").path()));
        } else {
            files += 1;
            assert_eq!(rights, 0o600, "{}", path.display());
        }
    }
    assert!(files >= 4, "a run, a tag, the index and its lock");
}
