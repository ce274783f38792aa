//! What Git is asked.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use record::Git;

/// A repository, and the folder in it that is meant.
#[derive(Debug)]
pub(super) struct Repository {
    root: PathBuf,
    /// Below the root.
    folder: PathBuf,
}

impl Repository {
    pub(super) fn of(folder: &Path) -> Result<Self, String> {
        let root = git(folder, ["rev-parse", "--show-toplevel"])
            .map_err(|error| format!("{} is not in a Git repository: {error}", folder.display()))?;
        let prefix = git(folder, ["rev-parse", "--show-prefix"])?;
        Ok(Self { root: root.into(), folder: prefix.into() })
    }

    /// The commit that a reference names.
    pub(super) fn commit(&self, reference: &str) -> Result<Git, String> {
        // Behind this nothing can be taken for an option.
        let wanted = format!("{reference}^{{commit}}");
        let commit = git(&self.root, ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
            .map_err(|_| format!("no revision `{reference}` in {}", self.root.display()))?;
        let time = git(&self.root, ["show", "--no-patch", "--format=%cI", &commit]).ok();
        // No reference begins as options do, and there is one of that name.
        let name = git(&self.root, ["rev-parse", "--symbolic-full-name", reference]).unwrap_or_default();
        let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
        Ok(Git { commit, dirty: false, branch, commit_time: time })
    }

    /// Brings a work tree to a commit; files that Git does not know stay, so that builds are fast.
    pub(super) fn check_out(&self, commit: &str, tree: &Path) -> Result<(), String> {
        let failed = |error| format!("cannot check out {commit} in {}: {error}", tree.display());
        if !self.has_tree(tree) {
            // It may be of a repository that was here before.
            if tree.exists() {
                fs::remove_dir_all(tree).map_err(|error| failed(error.to_string()))?;
            }
            // One that somebody removed by hand is still in the list.
            let _ = git(&self.root, ["worktree", "prune"]);
            let words = [OsStr::new("worktree"), "add".as_ref(), "--detach".as_ref(), "--force".as_ref()];
            let words = words.into_iter().chain([tree.as_os_str(), commit.as_ref()]);
            return git(&self.root, words).map(drop).map_err(failed);
        }
        git(tree, ["checkout", "--quiet", "--force", "--detach", commit]).map_err(failed)?;
        // A lock file that was copied there for another revision.
        git(tree, ["clean", "--quiet", "--force", "-d", "-x", "--", "*Cargo.lock"]).map(drop).map_err(failed)
    }

    /// Whether a folder is a work tree of this repository.
    fn has_tree(&self, tree: &Path) -> bool {
        let own = |folder: &Path| {
            let answer = git(folder, ["rev-parse", "--git-common-dir"]).ok()?;
            // It may be told from the folder on.
            fs::canonicalize(folder.join(answer)).ok()
        };
        tree.join(".git").exists() && own(tree).is_some_and(|its| own(&self.root) == Some(its))
    }

    /// The folder that is meant, in a work tree.
    pub(super) fn inside(&self, tree: &Path) -> PathBuf {
        tree.join(&self.folder)
    }

    /// The nearest lock file above the folder that is meant.
    pub(super) fn lockfile(&self) -> Option<PathBuf> {
        let folder = self.root.join(&self.folder);
        let above = folder.ancestors().take_while(|above| above.starts_with(&self.root));
        above.map(|above| above.join("Cargo.lock")).find(|file| file.is_file())
    }

    /// The same place in a work tree.
    pub(super) fn lockfile_in(&self, tree: &Path) -> PathBuf {
        let place = self.lockfile().and_then(|file| Some(file.strip_prefix(&self.root).ok()?.to_owned()));
        tree.join(place.unwrap_or_else(|| self.folder.join("Cargo.lock")))
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        if self.folder.as_os_str().is_empty() { "its root".to_owned() } else { self.folder.display().to_string() }
    }

    /// A name for the repository: that of its folder, and a hash of where that is.
    pub(super) fn key(&self) -> String {
        let place = self.root.join(&self.folder);
        let hash = blake3::hash(place.as_os_str().as_encoded_bytes()).to_hex();
        let name = self.root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name: String =
            name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter)).collect();
        format!("{name}-{}", &hash[..12])
    }
}

/// What Git answers, or what it complains of.
fn git(folder: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words).stdin(Stdio::null());
    // Set by Git itself where this runs in one of its hooks: they would name another repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    let ended = command.output().map_err(|error| format!("cannot start `git`: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if ended.status.success() { Ok(text(&ended.stdout)) } else { Err(text(&ended.stderr)) }
}
