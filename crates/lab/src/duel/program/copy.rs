//! A copy of a program's file, so that two arms of one program do not share a file.
//!
//! Programs look for their libraries and data beside their own file (`$ORIGIN`, `/proc/self/exe`). So the copy keeps its name, and its
//! folder and the one above have links to everything that lies beside the original. The name that the program is called by does not
//! change.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::Folder;

/// Larger files are not copied.
const LARGEST: u64 = 1 << 30;
/// A folder with more entries gets no links.
const MOST_ENTRIES: usize = 10_000;

/// A copy; goes away with this.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) file: PathBuf,
    _folder: Folder,
}

impl Copy {
    /// Copies a program's file, to the same file system where that is possible.
    ///
    /// # Errors
    /// Why it would not do the same, or cannot be copied.
    #[cfg(unix)]
    pub(super) fn of(file: &Path) -> Result<Self, String> {
        use std::os::unix::fs::MetadataExt;
        let said = |error: std::io::Error| format!("cannot copy it: {error}");
        // The system names a process by its file, so a copy keeps the name of a link.
        let name = file.file_name().unwrap_or_default();
        let file = file.canonicalize().map_err(said)?;
        let about = file.metadata().map_err(said)?;
        match () {
            () if about.mode() & 0o6000 != 0 => return Err("it runs as another user".to_owned()),
            () if about.len() > LARGEST => return Err("it is larger than 1 GiB".to_owned()),
            () if is_script(&file) => return Err("it is a script, which may depend on its location".to_owned()),
            () => {}
        }
        let mut tried = "no folder for it".to_owned();
        for parent in places(about.dev()) {
            match Self::below(&parent, &file, name) {
                Ok(copy) => return Ok(copy),
                Err(error) => tried = said(error),
            }
        }
        Err(tried)
    }

    #[cfg(not(unix))]
    pub(super) fn of(_: &Path) -> Result<Self, String> {
        Err("this system has no symbolic links".to_owned())
    }

    #[cfg(unix)]
    fn below(parent: &Path, file: &Path, name: &OsStr) -> std::io::Result<Self> {
        use nix::unistd::{AccessFlags, access};
        let folder = Folder::within(parent)?;
        let own = file.parent().unwrap_or(Path::new("/"));
        let inner = folder.path().join(own.file_name().unwrap_or(name));
        std::fs::create_dir(&inner)?;
        if let Some(above) = own.parent() {
            link_all(above, folder.path())?;
        }
        link_all(own, &inner)?;
        let copy = inner.join(name);
        if copy.is_symlink() {
            // A link to the original, or to what has its name.
            std::fs::remove_file(&copy)?;
        }
        std::fs::copy(file, &copy)?;
        // Not so on file systems that forbid it.
        access(&copy, AccessFlags::X_OK)?;
        Ok(Self { file: copy, _folder: folder })
    }
}

/// Whether an interpreter runs it.
pub(super) fn is_script(file: &Path) -> bool {
    use std::io::Read;
    let mut begin = [0; 2];
    std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin)).is_ok_and(|()| &begin == b"#!")
}

/// Folders for temporary files: those on the file system of the program first.
#[cfg(unix)]
fn places(device: u64) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let cache = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let all = [Some(std::env::temp_dir()), Some(PathBuf::from("/var/tmp")), cache];
    let is_same = |place: &PathBuf| place.metadata().is_ok_and(|about| about.dev() == device);
    let (mut same, others): (Vec<_>, Vec<_>) = all.into_iter().flatten().partition(is_same);
    same.extend(others);
    same
}

/// Links to all entries of a folder, but for names that are there already.
#[cfg(unix)]
fn link_all(from: &Path, to: &Path) -> std::io::Result<()> {
    let entries: Vec<_> = std::fs::read_dir(from)?.take(MOST_ENTRIES + 1).collect::<Result<_, _>>()?;
    if entries.len() > MOST_ENTRIES {
        return Err(std::io::Error::other(format!("{} has more than {MOST_ENTRIES} entries", from.display())));
    }
    for entry in entries {
        match std::os::unix::fs::symlink(entry.path(), to.join(entry.file_name())) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_lies_beside_a_program_lies_beside_its_copy() {
        let folder = Folder::new().expect("a folder");
        let (bin, lib) = (folder.path().join("bin"), folder.path().join("lib"));
        fs::create_dir(&bin).expect("a folder");
        fs::create_dir(&lib).expect("a folder");
        fs::write(lib.join("data"), "above").expect("a file");
        fs::write(bin.join("data"), "beside").expect("a file");
        let program = bin.join("program");
        fs::copy("/bin/true", &program).expect("a program");
        let copy = Copy::of(&program).expect("a copy");
        let beside = |path: &str| fs::read_to_string(copy.file.parent().expect("a folder").join(path)).expect("a link");
        assert_eq!((beside("data").as_str(), beside("../lib/data").as_str()), ("beside", "above"));
        assert!(copy.file != program && !copy.file.is_symlink() && copy.file.ends_with("bin/program"));
        assert!(std::process::Command::new(&copy.file).status().expect("it runs").success());
        let file = copy.file.clone();
        drop(copy);
        assert!(!file.exists() && program.exists() && lib.join("data").exists());
    }

    #[test]
    fn what_may_do_something_else_is_not_copied() {
        let folder = Folder::new().expect("a folder");
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\n").expect("a file");
        assert!(Copy::of(&script).expect_err("a script").contains("it is a script"));
        let other_user = folder.path().join("other");
        fs::write(&other_user, "").expect("a file");
        fs::set_permissions(&other_user, fs::Permissions::from_mode(0o4755)).expect("its owner may");
        assert!(Copy::of(&other_user).expect_err("another user").contains("another user"));
        assert!(Copy::of(&folder.path().join("none")).is_err());
    }
}
