//! The folder of checkpoints: names, which are kept, which is the latest, and who writes there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::Checkpoint;
use crate::{Error, Result};

/// What is before the number of the step.
const PREFIX: &str = "step-";
const SUFFIX: &str = ".safetensors";
/// The one with the best validation.
const BEST: &str = "best.safetensors";
const LOCK: &str = ".lock";

/// The name of the folder that earlier checkpoints are moved to, before its number.
const EARLIER: &str = "earlier-";

/// A folder that one training writes to.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: Lock,
}

/// A folder that no other process can lock. The system holds it until it is dropped, however the process ends.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "dropping it closes it")] File);

impl Lock {
    /// Makes the folder where there is none. `what` is written there.
    fn take(path: &Path, what: &str) -> Result<Self> {
        let io = |error: std::io::Error| {
            let message = format!("{}: cannot write the {what}: {error}", path.display());
            Error::of_output(message, "choose another data.output_dir or checkpointing.save_path")
        };
        fs::create_dir_all(path).map_err(io)?;
        let lock = File::options().write(true).create(true).truncate(false).open(path.join(LOCK)).map_err(io)?;
        match lock.try_lock() {
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(Self(lock)),
            Err(fs::TryLockError::WouldBlock) => {
                let message = format!("{}: in use by another training for its {what}", path.display());
                Err(Error::new(message, "wait until it ends, or choose another data.output_dir"))
            }
        }
    }
}

impl Folder {
    /// Makes the folder where there is none, and keeps others from writing there.
    ///
    /// # Errors
    /// Where it cannot be made or written to, or another training writes there.
    pub fn open(path: &Path) -> Result<Self> {
        let lock = Lock::take(path, "checkpoints")?;
        let folder = Self { path: path.to_owned(), _lock: lock };
        folder.remove_leftovers();
        Ok(folder)
    }

    /// Locks the folder of everything else that a training writes: the log, the model, the corpus.
    /// `None` where it is this one.
    pub(crate) fn lock_beside(&self, output: &Path) -> Result<Option<Lock>> {
        let is_same = || Some(fs::canonicalize(output).ok()? == fs::canonicalize(&self.path).ok()?);
        if is_same() == Some(true) { Ok(None) } else { Lock::take(output, "log and model").map(Some) }
    }

    /// Where the checkpoint of a step goes.
    #[must_use]
    pub fn file(&self, step: u64) -> PathBuf {
        self.path.join(format!("{PREFIX}{step:08}{SUFFIX}"))
    }

    /// Where the one with the best validation goes.
    #[must_use]
    pub fn best(&self) -> PathBuf {
        self.path.join(BEST)
    }

    /// Removes all but the last `keep`, those with the highest steps; 0 removes none. What cannot be removed stays.
    pub fn keep(&self, keep: usize) {
        let all = list(&self.path);
        let most = if keep == 0 { all.len() } else { keep };
        for (_, path) in &all[..all.len().saturating_sub(most)] {
            fs::remove_file(path).ok();
        }
    }

    /// Moves the checkpoints of an earlier training aside, so that none is lost or taken for one of
    /// this. Where to, if there are any.
    ///
    /// # Errors
    /// Where they cannot be moved.
    pub fn set_aside(&self) -> Result<Option<PathBuf>> {
        let Some(aside) = self.earlier() else { return Ok(None) };
        let io = |error: std::io::Error| {
            let message = format!("{}: cannot move the earlier checkpoints here: {error}", aside.display());
            Error::of_output(message, "choose another data.output_dir, or continue from them with --resume latest")
        };
        fs::create_dir(&aside).map_err(io)?;
        for path in self.all() {
            let name = path.file_name().unwrap_or_default();
            fs::rename(&path, aside.join(name)).map_err(io)?;
        }
        Ok(Some(aside))
    }

    /// Where [`Folder::set_aside`] would move what is there; `None` where nothing is.
    #[must_use]
    pub fn earlier(&self) -> Option<PathBuf> {
        if self.all().is_empty() {
            return None;
        }
        let aside = (1..).map(|number| self.path.join(format!("{EARLIER}{number}"))).find(|path| !path.exists());
        aside.or_else(|| Some(self.path.join("earlier")))
    }

    /// All checkpoints, the best one among them.
    fn all(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = list(&self.path).into_iter().map(|(_, path)| path).collect();
        all.extend(Some(self.best()).filter(|path| path.exists()));
        all
    }

    /// What processes left that died while they wrote. Nobody else writes here.
    fn remove_leftovers(&self) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') && name.contains(SUFFIX) && name.ends_with(".part") {
                fs::remove_file(entry.path()).ok();
            }
        }
    }
}

/// The checkpoints of a folder by their steps, the earliest first.
#[must_use]
pub fn list(folder: &Path) -> Vec<(u64, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let step = |name: &str| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse::<u64>().ok();
    let mut all: Vec<(u64, PathBuf)> =
        entries.flatten().filter_map(|entry| Some((step(entry.file_name().to_str()?)?, entry.path()))).collect();
    all.sort();
    all
}

/// The checkpoint that `--resume` means: a file, the latest of a folder, or, by the word `latest`, of `folder`.
///
/// # Errors
/// Where there is none, or it is not whole; then the newest that is whole is named.
pub fn find(resume: &Path, folder: &Path) -> Result<Checkpoint> {
    let folder = if resume == Path::new("latest") { folder } else { resume };
    if folder.is_file() {
        return open(folder);
    }
    let below = folder.join("checkpoints");
    let latest = list(folder).pop().or_else(|| list(&below).pop());
    match latest {
        Some((_, path)) => open(&path),
        None => {
            let mut message = format!("{}: no checkpoint found", folder.display());
            if let Some(earlier) = newest_earlier(folder).or_else(|| newest_earlier(&below)) {
                message += &format!("; those of an earlier training are in {}", earlier.display());
            }
            Err(Error::new(message, "start without --resume, or give the file or folder of a checkpoint"))
        }
    }
}

/// The folder with the checkpoints that were moved aside last.
fn newest_earlier(folder: &Path) -> Option<PathBuf> {
    let number = |name: &str| name.strip_prefix(EARLIER)?.parse::<u64>().ok();
    let entries = fs::read_dir(folder).ok()?.flatten();
    let newest = entries.filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path()))).max()?;
    (!list(&newest.1).is_empty()).then_some(newest.1)
}

/// Opens it; where it is not whole, the error names the newest before it that is.
fn open(path: &Path) -> Result<Checkpoint> {
    Checkpoint::open(path).map_err(|error| {
        let others = list(path.parent().unwrap_or(Path::new("")));
        let before = others.iter().rev().filter(|(_, other)| other != path && other.as_path() < path);
        let whole = before.map(|(_, path)| path).find(|path| Checkpoint::open(path).is_ok());
        match whole {
            Some(whole) => Error::new(
                format!("{error}; the earlier {} is intact", whole.display()),
                "continue from the intact one: --resume=PATH",
            ),
            None => Error::new(format!("{error}; no earlier checkpoint is intact"), "start without --resume"),
        }
    })
}
