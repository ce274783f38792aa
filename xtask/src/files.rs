//! Which files belong to the project.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One file, as the rules of `tidy` see it.
pub struct File {
    /// Relative to the root, with `/` between the parts.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its content; `None` for what is not text.
    pub text: Option<String>,
}

/// What is committed or could be: `git` knows; without it (an unpacked archive) every file but build output.
pub fn list(root: &Path) -> std::io::Result<Vec<File>> {
    let paths = match list_with_git(root) {
        Some(paths) => paths,
        None => walk(root)?,
    };
    let mut files = Vec::new();
    for path in paths {
        let full = root.join(&path);
        // A file deleted but still in the index, or a link, has no content of its own.
        if !full.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        let bytes = std::fs::read(&full)?;
        files.push(File { path, size: bytes.len() as u64, text: String::from_utf8(bytes).ok() });
    }
    Ok(files)
}

fn list_with_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let listing = String::from_utf8(output.stdout).ok()?;
    Some(listing.split_terminator('\0').map(str::to_owned).collect())
}

fn walk(root: &Path) -> std::io::Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                paths.push(path.to_string_lossy().replace('\\', "/"));
            } else if entry.file_name() != "target" && entry.file_name() != ".git" {
                folders.push(path);
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_this_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(walk(root).unwrap().contains(&"src/files.rs".to_owned()));
        let listed = list(root).unwrap();
        let file = listed.iter().find(|file| file.path == "src/files.rs");
        assert!(file.is_some_and(|file| file.text.is_some() && file.size > 0));
    }
}
