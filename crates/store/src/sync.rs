//! Updates the index from the files.
//!
//! Only folders whose time stamp has changed since the last update are read, and in them only
//! new files. So an update checks 256 folders instead of every run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use record::{RunHead, StoredRun};

use crate::files::{self, Files};
use crate::index::{Index, IndexError};
use crate::{Error, ErrorKind, Id, read};

/// A stamp is trusted when it was this old as the folder was read: file systems count time in steps of up to 2 s, and a file
/// that came within the same step would go unseen.
const SETTLED: Duration = Duration::from_secs(3);

type IndexResult<T> = Result<T, IndexError>;

/// Updates the whole index.
pub fn all(index: &mut Index, files: &Files) -> IndexResult<()> {
    let known: BTreeMap<String, String> = index.pairs("SELECT name, stamp FROM folder", &[])?.into_iter().collect();
    let mut changed = changed_faults(index, files)?;
    let there = names(&files.runs())?;
    for name in &there {
        let stamp = fs::metadata(files.folder(name)).map(|about| FolderStamp::of(&about).text);
        if stamp.ok().as_ref() != known.get(name) {
            changed.insert(name.clone());
        }
    }
    changed.extend(known.into_keys().filter(|name| !there.contains(name)));
    changed.iter().try_for_each(|name| folder(index, files, name))
}

/// Folders with faulty files that were removed or changed, or that this version may be able to read.
fn changed_faults(index: &Index, files: &Files) -> IndexResult<BTreeSet<String>> {
    let faults = index.pairs("SELECT name, stamp FROM fault", &[])?;
    let changed = faults.into_iter().filter(|(name, stamp)| fault_stamp(&files.root().join(name)) != *stamp);
    Ok(changed.filter_map(|(name, _)| name.split('/').nth(1).map(str::to_owned)).collect())
}

/// Updates the runs whose ids start with these two digits.
pub fn folder(index: &mut Index, files: &Files, name: &str) -> IndexResult<()> {
    let begin = SystemTime::now();
    // The stamp is read first, so that later changes show in the next one.
    let stamp = fs::metadata(files.folder(name)).ok().map(|about| FolderStamp::of(&about));
    let known = IndexedFolder::of(index, name)?;
    let mut news =
        FolderChanges { stamp: stamp.as_ref().map(|stamp| stamp.trusted(begin)), ..FolderChanges::default() };
    let there = if stamp.is_none() { BTreeSet::new() } else { contents(files, name) };
    for file in &there {
        examine(files, file, &known, &mut news);
    }
    let is_gone = |file: &str| !there.contains(file);
    news.gone_faults.extend(known.faults.keys().filter(|file| is_gone(file)).cloned());
    // Another process may have added one since the names were read.
    let has_run = |file: &str| files.root().join(file).exists();
    let gone = known.runs.iter().filter(|(_, file)| is_gone(file) && !has_run(file));
    news.gone_runs = gone.map(|(id, _)| id.clone()).collect();
    if news.are_none(&known) { Ok(()) } else { news.write(index, name) }
}

/// Adds a run that was just written, by its head. The stamp of its folder stays as it was, so that the
/// next list looks at the folder once more, and finds what other processes wrote.
pub fn add(index: &mut Index, files: &Files, id: &Id, head: RunHead) -> IndexResult<()> {
    let file = format!("runs/{}/{id}{}", id.folder(), files::ENDING);
    let change = index.change()?;
    change.add_run(&stored_run(id, head), stored_ns(&files.run(id)))?;
    change.execute("DELETE FROM fault WHERE name = ?1", &[&file])?;
    change.keep()
}

/// The index's data about a folder.
struct IndexedFolder {
    /// Ids and files.
    runs: BTreeMap<String, String>,
    /// Files and stamps.
    faults: BTreeMap<String, String>,
    /// The stamp of the folder.
    stamp: Option<String>,
}

impl IndexedFolder {
    fn of(index: &Index, name: &str) -> IndexResult<Self> {
        // `g` and `0` are the next letters behind the last digit and behind `/`.
        let runs = index.pairs("SELECT id, '' FROM run WHERE id >= ?1 AND id < ?1 || 'g'", &[name])?;
        let faults = index.pairs(
            "SELECT name, stamp FROM fault WHERE name = 'runs/' || ?1
             OR (name >= 'runs/' || ?1 || '/' AND name < 'runs/' || ?1 || '0')",
            &[name],
        )?;
        let stamp = index.pairs("SELECT name, stamp FROM folder WHERE name = ?1", &[name])?.pop();
        let file_of = |id: String| (id.clone(), format!("runs/{name}/{id}{}", files::ENDING));
        Ok(Self {
            runs: runs.into_iter().map(|(id, _)| file_of(id)).collect(),
            faults: faults.into_iter().collect(),
            stamp: stamp.map(|(_, stamp)| stamp),
        })
    }
}

/// Pending changes to the index.
#[derive(Default)]
struct FolderChanges {
    runs: Vec<(StoredRun, i64)>,
    /// File, message and stamp.
    faults: Vec<[String; 3]>,
    /// Ids.
    gone_runs: Vec<String>,
    /// Files.
    gone_faults: Vec<String>,
    /// The stamp of the folder, empty if it cannot be trusted yet; `None`: the folder is gone.
    stamp: Option<String>,
}

impl FolderChanges {
    fn are_none(&self, known: &IndexedFolder) -> bool {
        let is_same = self.runs.is_empty() && self.faults.is_empty();
        is_same && self.gone_runs.is_empty() && self.gone_faults.is_empty() && self.stamp == known.stamp
    }

    fn write(&self, index: &mut Index, folder: &str) -> IndexResult<()> {
        let change = index.change()?;
        for (run, stored_ns) in &self.runs {
            change.add_run(run, *stored_ns)?;
        }
        for id in &self.gone_runs {
            change.execute("DELETE FROM run WHERE id = ?1", &[id])?;
        }
        for file in &self.gone_faults {
            change.execute("DELETE FROM fault WHERE name = ?1", &[file])?;
        }
        for [file, message, stamp] in &self.faults {
            let statement = "INSERT OR REPLACE INTO fault(name, message, stamp) VALUES(?1, ?2, ?3)";
            change.execute(statement, &[file, message, stamp])?;
        }
        match &self.stamp {
            None => change.execute("DELETE FROM folder WHERE name = ?1", &[folder])?,
            Some(stamp) => {
                change.execute("INSERT OR REPLACE INTO folder(name, stamp) VALUES(?1, ?2)", &[folder, stamp])?;
            }
        }
        change.keep()
    }
}

/// Checks a file that may be missing in the index.
fn examine(files: &Files, file: &str, known: &IndexedFolder, news: &mut FolderChanges) {
    let path = files.root().join(file);
    let mut parts = file.split('/').skip(1);
    let (folder, name) = (parts.next().unwrap_or_default(), parts.next());
    let id = name.and_then(files::id_of).filter(|id| id.folder() == folder);
    if id.as_ref().is_some_and(|id| known.runs.contains_key(id.as_str())) {
        return;
    }
    let stamp = fault_stamp(&path);
    if known.faults.get(file) == Some(&stamp) {
        return;
    }
    let read = match &id {
        Some(id) => read_head(&path, id),
        None => Err(misplaced(&path)),
    };
    match read {
        Ok(run) => {
            if known.faults.contains_key(file) {
                news.gone_faults.push(file.to_owned());
            }
            news.runs.push(run);
        }
        // It was removed in the meantime.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            let message = error.to_string();
            let prefix = format!("{}: ", path.display());
            let message = message.strip_prefix(&prefix).unwrap_or(&message).to_owned();
            news.faults.push([file.to_owned(), message, stamp]);
        }
    }
}

/// The error for a misplaced file.
fn misplaced(path: &Path) -> Error {
    match fs::read_dir(path) {
        Err(error) if path.is_dir() => Error::io("cannot read", path, &error),
        _ => Error::corrupt(path, "misplaced: runs are files `runs/ab/ab….json.zst`, named by their ids"),
    }
}

/// The listed fields of a run, and when it was stored.
fn read_head(path: &Path, id: &Id) -> crate::Result<(StoredRun, i64)> {
    let (_, text) = read::text(path, Some(id))?;
    let head = read::parse(path, &text, RunHead::from_json)?;
    Ok((stored_run(id, head), stored_ns(path)))
}

/// When a run was stored, in nanoseconds since 1970.
fn stored_ns(path: &Path) -> i64 {
    let modified = fs::metadata(path).and_then(|about| about.modified());
    let stored = modified.ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    i64::try_from(stored.as_nanos()).unwrap_or(i64::MAX)
}

/// The listed fields of a run.
pub fn stored_run(id: &Id, head: RunHead) -> StoredRun {
    let (threads, decode_tokens_per_s) = (threads(&head), decode_tokens_per_s(&head));
    let (commit, dirty) = head.subject.git.map(|git| (git.commit, git.dirty)).unzip();
    StoredRun {
        id: id.as_str().to_owned(),
        created: head.created,
        subject: head.subject.name,
        subject_version: head.subject.version,
        commit,
        dirty,
        profile: head.subject.build.and_then(|build| build.profile),
        machine_key: head.environment.machine.machine_key,
        workload: head.workload.name,
        models: head.models.into_iter().map(|model| model.name).collect(),
        threads,
        decode_tokens_per_s,
        interrupted: head.interrupted,
        failures: head.failures.len() as u64,
        schema_version: head.version,
        tags: Vec::new(),
        path: String::new(),
    }
}

/// The requested number of threads, or the one that all rows agree on.
fn threads(head: &RunHead) -> Option<u64> {
    if let Some(asked) = head.workload.parameters.get("threads") {
        return asked.parse().ok();
    }
    let mut of_rows = head.rows.iter().filter_map(|row| row.threads);
    let first = of_rows.next()?;
    of_rows.all(|threads| threads == first).then_some(first)
}

/// The median over its samples.
fn decode_tokens_per_s(head: &RunHead) -> Option<f64> {
    let tokens = head.decode_tokens().filter(|_| !head.decoded.is_of_several_arms)?;
    let rates: Vec<f64> = head.decoded.wall_s.iter().filter(|wall| **wall > 0.0).map(|wall| tokens / wall).collect();
    compare::median(&rates).filter(|rate| rate.is_finite())
}

/// Files below a folder of `runs`, as paths from the root of the store; or the thing itself, where it is no such folder or
/// cannot be read.
fn contents(files: &Files, name: &str) -> BTreeSet<String> {
    let is_folder = name.len() == 2 && name.bytes().all(crate::id::is_digit);
    match names(&files.folder(name)) {
        Ok(names) if is_folder => names.into_iter().map(|file| format!("runs/{name}/{file}")).collect(),
        _ => BTreeSet::from([format!("runs/{name}")]),
    }
}

/// Names in a folder, without hidden ones; none where there is no folder.
fn names(folder: &Path) -> crate::Result<BTreeSet<String>> {
    let failed = |error: io::Error| Error::io("cannot read", folder, &error);
    let mut names = BTreeSet::new();
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        files => {
            for file in files.map_err(failed)? {
                let name = file.map_err(failed)?.file_name().to_string_lossy().into_owned();
                if !name.starts_with('.') {
                    names.insert(name);
                }
            }
        }
    }
    Ok(names)
}

/// A stamp that changes with the contents of a folder.
struct FolderStamp {
    text: String,
    /// The time of the last change.
    changed: SystemTime,
}

impl FolderStamp {
    fn of(about: &Metadata) -> Self {
        let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let since = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut text = format!("{}", since(modified).as_nanos());
        let mut changed = modified;
        // Copying programs restore modification times, but cannot set the change time.
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            text.push_str(&format!(" {}.{:09} {}", about.ctime(), about.ctime_nsec(), about.ino()));
            let second = Duration::from_secs(u64::try_from(about.ctime()).unwrap_or_default() + 1);
            changed = changed.max(SystemTime::UNIX_EPOCH + second);
        }
        text.push_str(if about.is_dir() { "" } else { " file" });
        changed = changed.max(modified);
        Self { text, changed }
    }

    /// The stamp of a folder that was read from `begin` on; empty if a further change might not alter it.
    fn trusted(&self, begin: SystemTime) -> String {
        let is_settled = begin.duration_since(self.changed).is_ok_and(|age| age > SETTLED);
        if is_settled { self.text.clone() } else { String::new() }
    }
}

/// What changes when a file may be sound after all, by its contents or because this program knows more versions.
fn fault_stamp(path: &Path) -> String {
    let about = fs::metadata(path).map(|about| format!("{} {}", about.len(), FolderStamp::of(&about).text));
    format!("{} {}", record::RUN_VERSION, about.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_trusted_when_it_is_old() {
        let stamp = FolderStamp::of(&fs::metadata(std::env::temp_dir()).expect("there is one"));
        assert_eq!(stamp.trusted(stamp.changed), "");
        assert_eq!(stamp.trusted(stamp.changed - Duration::from_secs(60)), "", "clocks may differ");
        assert_eq!(stamp.trusted(stamp.changed + Duration::from_secs(2)), "");
        assert_eq!(stamp.trusted(stamp.changed + Duration::from_secs(4)), stamp.text);
    }
}
