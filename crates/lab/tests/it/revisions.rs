//! Revisions of a small Cargo project that is made here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::duel::{BuildError, Project, Revision};

/// A repository with one program, and a cache beside it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("revisions-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("project/src")).expect("a folder");
        let place = Place(place);
        place.git(&["init", "--quiet", "-b", "trunk"]);
        place.write(
            "Cargo.toml",
            "[package]\nname = \"said\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[features]\nloud = []\n",
        );
        place.commit("one", "fn main() { println!(\"one\") }");
        place.commit("two", "fn main() { println!(\"{}\", if cfg!(feature = \"loud\") { \"TWO\" } else { \"two\" }) }");
        place
    }

    fn folder(&self) -> PathBuf {
        self.0.join("project")
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder().join(file), text).expect("it can be written");
    }

    fn git(&self, words: &[&str]) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let ended = Command::new("git").arg("-C").arg(self.folder()).args(who).args(words).output().expect("git");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }

    fn commit(&self, tag: &str, main: &str) {
        self.write("src/main.rs", main);
        self.git(&["add", "Cargo.toml", "src"]);
        self.git(&["commit", "--quiet", "-m", tag]);
        self.git(&["tag", tag]);
    }

    fn project(&self) -> Project {
        Project { folder: self.folder(), cache: self.0.join("cache"), ..Project::default() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn build(project: &Project, reference: &str) -> Revision {
    project.build(reference, &mut |_| {}).unwrap_or_else(|error| panic!("{reference}: {error}"))
}

fn said(revision: &Revision) -> String {
    let ended = Command::new(&revision.program).output().expect("it runs");
    String::from_utf8_lossy(&ended.stdout).trim().to_owned()
}

#[test]
fn revisions_are_built_once_and_kept_apart() {
    let place = Place::new("kept");
    let project = place.project();
    let mut told = Vec::new();
    let one = project.build("one", &mut |line| told.push(line.to_owned())).expect("it builds");
    assert!(told.iter().any(|line| line.contains("Compiling said")), "{told:?}");
    let two = build(&project, "trunk");
    assert_eq!((said(&one), said(&two)), ("one".to_owned(), "two".to_owned()));
    assert_eq!((one.was_kept, two.git.branch.as_deref()), (false, Some("trunk")));
    assert_eq!((one.build.profile.as_deref(), one.git.commit.len()), (Some("release"), 40));
    let again = build(&project, "HEAD~1");
    assert!(again.was_kept && again.program == one.program && said(&again) == "one");
    let loud = build(&Project { features: vec!["loud".to_owned()], ..project.clone() }, "two");
    assert_eq!((loud.was_kept, said(&loud)), (false, "TWO".to_owned()));
    // What nobody committed is in no revision, and is left alone.
    place.write("src/main.rs", "not committed");
    place.commit("same", "fn main() { println!(\"one\") }");
    let same = build(&project, "same");
    assert!(!same.was_kept);
    assert_eq!(
        fs::read(&same.program).expect("a file"),
        fs::read(&one.program).expect("a file"),
        "the same code, the same program"
    );
}

#[test]
fn what_cannot_be_built_says_why() {
    let place = Place::new("broken");
    place.commit("broken", "fn main() { let x: u32 = \"text\"; }");
    let project = place.project();
    let fails = |project: &Project, reference: &str| project.build(reference, &mut |_| {}).expect_err("it fails");
    assert!(matches!(fails(&project, "broken"), BuildError::Failed(_)));
    assert!(matches!(fails(&project, "nowhere"), BuildError::Refused(_)));
    let fails = |project: &Project, reference: &str| fails(project, reference).to_string();
    let error = fails(&project, "broken");
    assert!(error.starts_with("cannot build broken (") && error.contains("mismatched types"), "{error}");
    let error = fails(&project, "nowhere");
    assert!(error.contains("no revision `nowhere`"), "{error}");
    assert!(fails(&project, "--help").contains("no revision `--help`"));
    let error = fails(&Project { bin: Some("other".to_owned()), ..project.clone() }, "one");
    assert!(error.contains("other"), "{error}");
    let error = fails(&Project { folder: "/".into(), ..project }, "one");
    assert!(error.contains("not in a Git repository"), "{error}");
}

#[test]
fn a_cache_outlives_the_repository_that_it_was_made_by() {
    let place = Place::new("cloned");
    let project = place.project();
    assert_eq!(said(&build(&project, "one")), "one");
    // As a server does that keeps the cache and clones the project afresh.
    let before = place.0.join("before");
    fs::rename(place.folder(), &before).expect("it can be moved");
    let cloned = Command::new("git").arg("clone").arg("--quiet").args([&before, &place.folder()]).output();
    assert!(cloned.is_ok_and(|ended| ended.status.success()));
    fs::remove_dir_all(before.join(".git/worktrees")).expect("the work tree was in the list");
    assert_eq!(said(&build(&project, "two")), "two");
    assert!(build(&project, "one").was_kept);
}
