//! `hotloop history` as it is used, over a store that the test fills.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use record::{Git, History, Model, RUN_SCHEMA, RUN_VERSION, Run};
use store::{Id, Store};

/// A store of one test, removed behind it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("hotloop-history-{name}-{}", std::process::id())))
    }

    fn save(&self, number: u64) -> Id {
        let mut run = Run { schema: RUN_SCHEMA.to_owned(), version: RUN_VERSION, ..Run::default() };
        run.created = format!("2026-03-{number:02}T12:00:00Z");
        run.subject.git = Some(Git { commit: format!("{number:040x}"), ..Git::default() });
        run.workload.name = if number == 1 { "deep" } else { "standard" }.to_owned();
        run.models = vec![Model { name: format!("model-{number}"), ..Model::default() }];
        Store::open(&self.0).save(&run).expect("it is saved")
    }

    /// Runs `hotloop history` with words and this store.
    fn history(&self, words: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
        command.arg("history").args(words.split_whitespace()).env("HOTLOOP_STORE", &self.0).stdin(Stdio::null());
        command.output().expect("the program starts")
    }

    /// What it prints where nothing is wrong.
    #[track_caller]
    fn text(&self, words: &str) -> String {
        let output = self.history(words);
        assert_eq!((String::from_utf8_lossy(&output.stderr).as_ref(), output.status.code()), ("", Some(0)), "{words}");
        String::from_utf8(output.stdout).expect("it is text")
    }

    /// What it complains of, and with which code it ends.
    #[track_caller]
    fn refused(&self, words: &str, code: i32, part: &str) {
        let output = self.history(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {error}");
        let helps = error.contains("\n\nhint: ") || error.ends_with("try '--help'.\n");
        assert!(error.starts_with("error: ") && helps && error.contains(part), "{words}: {error}");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn runs_are_listed_shown_tagged_and_removed() {
    let folder = Folder::new("all");
    assert_eq!(folder.text(""), format!("no runs in {}\n", folder.0.display()));
    let ids: Vec<Id> = (1..=4).map(|number| folder.save(number)).collect();
    let list = folder.text("--limit 3");
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("run           began (UTC)") && lines.len() == 6, "{list}");
    assert!(lines[1].starts_with(&format!("{}  2026-03-04 12:00:00  standard  model-4", ids[3].short())), "{list}");
    assert_eq!(lines[5], "newest 3 of 4 runs; --limit N shows more");
    assert_eq!(folder.text("tag @previous base"), format!("`base` is {}\n", ids[2].short()));
    assert_eq!(
        folder.text(&format!("tag {} base", &ids[0].as_str()[..8])),
        format!("`base` is {}, no longer {}\n", ids[0].short(), ids[2].short())
    );
    for filter in ["--tag base", "--workload deep", "--model MODEL-1", &format!("--commit {:040x}", 1)] {
        let history = History::from_json(&folder.text(&format!("{filter} --json"))).expect("it is the document");
        let found: Vec<&str> = history.runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(
            (found.as_slice(), history.runs[0].tags.as_slice()),
            ([ids[0].as_str()].as_slice(), ["base".to_owned()].as_slice())
        );
    }
    assert_eq!(folder.text("--since 2026-03-03").lines().count(), 3);
    assert_eq!(folder.text("--since 9999w").lines().count(), 5);
    assert!(folder.text("--since 0s").starts_with("no runs"), "all are older");
    let stored = Store::open(&folder.0).load("base").expect("it is there");
    assert_eq!(folder.text("show base --json"), stored.text);
    assert_eq!(folder.text(&format!("show {} --json", stored.path.display())), stored.text);
    assert!(folder.text("show base").contains(ids[0].as_str()));
    folder.refused("remove base", 2, "is tagged: base");
    let removed = folder.text(&format!("remove base {} --force", ids[0]));
    assert_eq!(removed, format!("removed {} and its tags base\n", ids[0]));
    assert_eq!(folder.text("reindex"), "indexed 3 runs; 0 damaged files\n");
    assert_eq!(folder.text("path"), format!("{}\n", folder.0.display()));
    let elsewhere = folder.0.join("elsewhere");
    assert!(folder.text(&format!("--store {}", elsewhere.display())).starts_with("no runs"));
    assert!(folder.text(&format!("path --store {}", elsewhere.display())).contains("elsewhere"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = Folder::new("refused");
    let id = folder.save(1);
    folder.refused("show nothing", 2, "no run or tag `nothing`");
    folder.refused("show @first", 2, "`@first`");
    folder.refused("untag nothing", 2, "no tag `nothing`");
    folder.text("tag @latest baseline");
    folder.refused("show basline", 2, "did you mean `baseline`?");
    folder.refused("untag baselnie", 2, "did you mean `baseline`?");
    folder.text("untag baseline");
    folder.refused("tag @latest cafe", 2, "start of an id");
    folder.refused("--tag nothing", 2, "no tag `nothing`");
    folder.refused("--since yesterday", 2, "not a time such as 30m, 2h");
    folder.refused("--json show @latest", 2, "'--json'");
    folder.refused("remove", 2, "<RUN>...");
    folder.refused("show", 2, "<RUN>");
    folder.refused("lsit", 2, "unrecognized subcommand 'lsit'");
    let path = Store::open(&folder.0).run_path(&id);
    std::fs::write(&path, "broken").expect("it is written");
    folder.refused(&format!("show {id}"), 2, &path.display().to_string());
    std::fs::remove_file(folder.0.join("index-2.sqlite")).expect("there is an index");
    let output = folder.history("");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("warning: "), "a broken run is named");
    assert!(Path::new(&path).exists());
}
