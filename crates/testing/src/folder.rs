//! A folder for the files of one test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A new, empty folder; removed with everything in it at the end of the test.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one under the system's folder for temporary files.
    #[expect(clippy::new_without_default, reason = "it makes a folder, which a default should not")]
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hotloop-test-{}-{number}", std::process::id()));
        // A process of the same number may have been killed before it removed its own.
        std::fs::remove_dir_all(&path).ok();
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        Self(path)
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it, which need not exist.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, and makes the folders above it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a temporary folder can be made");
        std::fs::write(&path, bytes).expect("a temporary file can be written");
        path
    }

    /// The sorted names of everything in a subfolder, hidden files too; `""` is the folder itself.
    pub fn names(&self, subfolder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(subfolder)).expect("the folder exists");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_files_and_is_gone_afterwards() {
        let (one, two) = (Folder::new(), Folder::new());
        assert_ne!(one.root(), two.root());
        let path = one.write("a/b.txt", "text");
        assert_eq!((one.names(""), one.names("a")), (vec!["a".to_owned()], vec!["b.txt".to_owned()]));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
        drop(one);
        assert!(!path.exists() && two.root().is_dir());
    }
}
