//! Programs that run with more rights than their caller, who must not choose where they write.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::toolchain::{Linkage, Program, succeed};

/// A user and group without rights: "nobody" nearly everywhere.
const NOBODY: u32 = 65534;

/// A folder that every user may write to. In the system's folder for such things, because other users need not be able
/// to reach the target folder.
struct SharedFolder(PathBuf);

impl SharedFolder {
    fn new(name: &str) -> SharedFolder {
        let folder = std::env::temp_dir().join(format!("hotloop-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        set_mode(&folder, 0o777);
        SharedFolder(folder)
    }

    fn files(&self) -> usize {
        fs::read_dir(&self.0).expect("the folder").count()
    }
}

impl Drop for SharedFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions can be set");
}

/// Runs the program as another user, and asks for its profile; what it says of itself, and how many files it wrote.
fn run_as_nobody(binary: &Path) -> (String, usize) {
    let folder = SharedFolder::new("written");
    let mut command = Command::new(binary);
    let said = succeed(command.uid(NOBODY).gid(NOBODY).env("HOTLOOP_SNAPSHOT_DIR", &folder.0));
    (said.trim().to_owned(), folder.files())
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn programs_with_more_rights_than_their_caller_write_no_snapshot() {
    let folder = SharedFolder::new("programs");
    let binary = folder.0.join("privileged");
    fs::copy(Program::new("privileged.c").build(Linkage::Static), &binary).expect("a copy of the program");
    set_mode(&binary, 0o755);
    if Command::new(&binary).uid(NOBODY).gid(NOBODY).output().is_err() {
        return eprintln!("not tested: set-user-ID programs, because only root may run one as another user");
    }
    assert_eq!(run_as_nobody(&binary), ("plain".to_owned(), 1), "without more rights it writes");
    for (mode, what) in [(0o4755, "set-user-ID"), (0o2755, "set-group-ID")] {
        set_mode(&binary, mode);
        let (said, written) = run_as_nobody(&binary);
        if said == "plain" {
            eprintln!("not tested: {what} programs, because the temporary folder's file system ignores these bits");
            continue;
        }
        assert_eq!((said.as_str(), written), ("secure", 0), "{what}");
    }
}
