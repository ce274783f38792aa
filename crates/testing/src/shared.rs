//! Files of other programs: models, vocabularies, texts and reports that are too large for the repository.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Set to `1` where the files must be there: a test that needs one and does not find it fails then.
const REQUIRE: &str = "HOTLOOP_REQUIRE_DATA";
/// Another folder than the usual one.
const FOLDER: &str = "HOTLOOP_TEST_DATA";
/// The usual folder, beside the repository.
const USUAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");

/// A file or folder of the shared data. Without that data the calling test has to return early: `None`, and a line on the real
/// standard error, which the test harness does not capture.
///
/// # Panics
///
/// Without the data if `HOTLOOP_REQUIRE_DATA=1` is set, and where the data is there but lacks the file.
pub fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER).map_or_else(|| PathBuf::from(USUAL), PathBuf::from);
    let is_required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
    match find(&folder, name, is_required) {
        Ok(path) => Some(path),
        Err(Missing::Skip) => {
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            let line = format!("SKIPPED {test}: no {name} in ../shared/data; {REQUIRE}=1 makes this a failure\n");
            // The macros for printing are captured, this is not.
            std::io::stderr().lock().write_all(line.as_bytes()).ok();
            None
        }
        Err(Missing::Fail(message)) => panic!("{message}"),
    }
}

/// Why a file is not there, and what follows.
#[derive(Debug, PartialEq)]
enum Missing {
    Skip,
    Fail(String),
}

fn find(folder: &Path, name: &str, is_required: bool) -> Result<PathBuf, Missing> {
    let path = folder.join(name);
    if path.exists() {
        Ok(path)
    } else if folder.is_dir() {
        Err(Missing::Fail(format!("the shared data is there, but has no {name}")))
    } else if is_required {
        Err(Missing::Fail(format!("{REQUIRE}=1, but there is no {name}: the folder ../shared/data is missing")))
    } else {
        Err(Missing::Skip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folder;

    #[test]
    fn a_file_is_found_skipped_or_required() {
        let folder = Folder::new();
        let file = folder.write("data/text/a.txt", "a");
        let data = folder.path("data");
        assert_eq!(find(&data, "text/a.txt", false), Ok(file));
        assert_eq!(find(&folder.path("none"), "text/a.txt", false), Err(Missing::Skip));
        for (place, is_required) in [("none", true), ("data", false), ("data", true)] {
            let missing = find(&folder.path(place), "text/b.txt", is_required);
            assert!(matches!(missing, Err(Missing::Fail(message)) if message.contains("text/b.txt")), "{place}");
        }
    }

    /// Run again as a child with other variables, in which it asks for a file that does not exist.
    #[test]
    fn a_skipped_test_says_so_through_the_capture_of_the_harness() {
        const CHILD: &str = "HOTLOOP_TESTING_CHILD";
        if std::env::var_os(CHILD).is_some() {
            shared("no/such.file");
            return;
        }
        let folder = Folder::new();
        let mut command = std::process::Command::new(std::env::current_exe().expect("this program has a path"));
        command.args(["--exact", "shared::tests::a_skipped_test_says_so_through_the_capture_of_the_harness"]);
        command.env(CHILD, "1").env(FOLDER, folder.path("none")).env_remove(REQUIRE);
        let output = command.output().expect("the tests start");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && error.starts_with("SKIPPED shared::tests::a_skipped"), "{error}");
        let required = command.env(REQUIRE, "1").output().expect("the tests start");
        assert!(!required.status.success());
        assert!(String::from_utf8_lossy(&required.stdout).contains("there is no no/such.file"), "{required:?}");
    }
}
