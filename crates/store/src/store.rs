//! The store: files and their index.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use record::{DocumentError, Run, RunHead, StoreFault, StoredRun};

use crate::files::{self, Files};
use crate::index::{Index, IndexError, IndexSource};
use crate::{Error, ErrorKind, Id, Result, read, sync, tags, write};

/// Higher levels take much longer and save little on JSON.
const ZSTD_LEVEL: i32 = 3;

/// A folder with runs. Nothing is created or changed before the first write.
#[derive(Debug)]
pub struct Store {
    files: Files,
    /// Opened on first use.
    index: Mutex<Option<Index>>,
}

/// Which runs to list. Unset fields match all runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// The full name of the workload.
    pub workload: Option<String>,
    /// A part of a model's name, case-insensitive.
    pub model: Option<String>,
    /// The start of the commit.
    pub commit: Option<String>,
    /// Runs with this tag.
    pub tag: Option<String>,
    /// Runs that began at this time or later, see [`moment`](crate::moment).
    pub since: Option<i64>,
    /// The maximum number of runs to list.
    pub limit: Option<usize>,
}

/// Runs, newest first, and files that could not be listed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// The runs.
    pub runs: Vec<StoredRun>,
    /// How many runs match the filter, without its limit.
    pub matching: u64,
    /// Files that are not valid runs or tags.
    pub faults: Vec<StoreFault>,
}

/// A loaded run.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// BLAKE3 of its text.
    pub id: Id,
    /// Its file, in a store or not.
    pub path: PathBuf,
    /// Its text, byte for byte.
    pub text: String,
    /// The run.
    pub run: Run,
}

/// The meaning of a selector.
enum Selected {
    Stored(Id),
    File(PathBuf),
}

fn unreadable(error: &DocumentError) -> Error {
    Error::new(ErrorKind::Unsound, format!("the run cannot be saved, because it could not be read again: {error}"))
}

impl Store {
    /// The store in a folder, which need not exist yet.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self { files: Files::new(path.into()), index: Mutex::new(None) }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.files.root()
    }

    /// The path of a run's file, whether it exists or not.
    pub fn run_path(&self, id: &Id) -> PathBuf {
        self.files.run(id)
    }

    /// Checks whether runs can be saved here: writes a file and removes it again.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<()> {
        write::try_out(&self.files)
    }

    /// Stores a run. The same run is stored once, however often it is saved.
    ///
    /// # Errors
    /// If it could not be written; earlier runs are not touched then.
    pub fn save(&self, run: &Run) -> Result<Id> {
        let text = run.to_readable_json().map_err(|error| unreadable(&error))?;
        self.write(&text, RunHead::from(run))
    }

    /// Stores the text of a run, byte for byte.
    ///
    /// # Errors
    /// If it is not a run that can be read again, or could not be written.
    pub fn save_text(&self, text: &str) -> Result<Id> {
        let run = Run::from_json(text).map_err(|error| unreadable(&error))?;
        self.write(text, RunHead::from(&run))
    }

    /// Writes a file and adds the run to the index. Nothing is read that was just written.
    fn write(&self, text: &str, head: RunHead) -> Result<Id> {
        if text.len() as u64 > read::MOST_BYTES {
            let most = read::MOST_BYTES >> 20;
            let message =
                format!("the run is larger than {most} MiB, the limit for reading: use fewer repeats or no timeline");
            return Err(Error::new(ErrorKind::Unsound, message));
        }
        let id = Id::of(text.as_bytes());
        let path = self.files.run(&id);
        // An existing file of that name may be damaged.
        if read::text(&path, Some(&id)).is_err() {
            let packed = zstd::bulk::compress(text.as_bytes(), ZSTD_LEVEL)
                .map_err(|error| Error::io("cannot compress", &path, &error))?;
            write::put(&self.files, &path, &packed)?;
            write::sweep(&self.files);
        }
        self.update_index(|index| sync::add(index, &self.files, &id, head));
        Ok(id)
    }

    /// Updates the index. Where that fails, the next list does it.
    fn update_index(&self, update: impl FnOnce(&mut Index) -> std::result::Result<(), IndexError>) {
        let mut slot = self.slot();
        let index = match slot.take() {
            Some(index) => Ok(index),
            None => Index::open(&self.files, IndexSource::Disk),
        };
        if let Ok(mut index) = index
            && update(&mut index).is_ok()
        {
            *slot = Some(index);
        }
    }

    /// The runs that match a filter, newest first.
    ///
    /// # Errors
    /// If the folders cannot be read. Runs that cannot be read are among the faults.
    pub fn list(&self, filter: &Filter) -> Result<Listing> {
        let (tags, mut faults) = tags::all(&self.files)?;
        let only = match &filter.tag {
            None => None,
            Some(name) => match tags.get(name) {
                Some(id) => Some(id.clone()),
                None => return Err(Error::new(ErrorKind::NotFound, format!("no tag `{name}`"))),
            },
        };
        let mut listing = self.with_index(|index| {
            sync::all(index, &self.files)?;
            Ok(index.list(filter, only.as_ref())?)
        })?;
        for run in &mut listing.runs {
            run.tags = tags.iter().filter(|(_, id)| id.as_str() == run.id).map(|(name, _)| name.clone()).collect();
            run.path = Id::parse(&run.id).map(|id| self.files.run(&id).display().to_string()).unwrap_or_default();
        }
        for fault in &mut listing.faults {
            fault.path = self.path().join(&fault.path).display().to_string();
        }
        listing.faults.append(&mut faults);
        let gone = tags.iter().filter(|(_, id)| !self.files.run(id).exists());
        listing.faults.extend(gone.map(|(name, id)| StoreFault {
            path: self.files.tags().join(name).display().to_string(),
            message: format!("the tag refers to run {}, which is not in the store", id.short()),
        }));
        Ok(listing)
    }

    /// The listed fields of a loaded run, in this store or elsewhere.
    ///
    /// # Errors
    /// If the tags cannot be read.
    pub fn describe(&self, loaded: &Loaded) -> Result<StoredRun> {
        let head = read::parse(&loaded.path, &loaded.text, RunHead::from_json)?;
        let tags = self.tags_of(&loaded.id)?;
        Ok(StoredRun { tags, path: loaded.path.display().to_string(), ..sync::stored_run(&loaded.id, head) })
    }

    /// Resolves a name: an id, four or more of its first digits, `@latest`, `@previous`, or a tag.
    ///
    /// # Errors
    /// If it matches no run, or several.
    pub fn resolve(&self, word: &str) -> Result<Id> {
        let not_found = |what: &str| Error::new(ErrorKind::NotFound, format!("{what} in {}", self.path().display()));
        if let Some(place) = word.strip_prefix('@') {
            let back = match place {
                "latest" => 0,
                "previous" => 1,
                _ => return Err(Error::new(ErrorKind::BadName, format!("`{word}` does not name a run"))),
            };
            let listing = self.list(&Filter { limit: Some(back + 1), ..Filter::default() })?;
            let run = listing.runs.get(back).and_then(|run| Id::parse(&run.id));
            return run.ok_or_else(|| not_found(&format!("no run for `{word}`")));
        }
        if let Some(id) = tags::get(&self.files, word)? {
            let gone = || not_found(&format!("the tag `{word}` refers to run {}, which is not", id.short()));
            return if self.files.run(&id).is_file() { Ok(id) } else { Err(gone()) };
        }
        let beginning = word.to_ascii_lowercase();
        if !tags::is_beginning(&beginning) {
            return Err(not_found(&format!("no run or tag `{word}`; the start of an id needs at least four digits")));
        }
        let mut ids = self.beginning_with(&beginning)?;
        match ids.len() {
            0 => Err(not_found(&format!("no run with an id that starts with `{word}`"))),
            1 => Ok(ids.remove(0)),
            count => {
                let names: Vec<&str> = ids.iter().take(8).map(|id| &id.as_str()[..16]).collect();
                let more = if count > names.len() { ", …" } else { "" };
                let message = format!("`{word}` matches the ids of {count} runs: {}{more}", names.join(", "));
                Err(Error::new(ErrorKind::Ambiguous, message))
            }
        }
    }

    /// The ids that start with these digits, in order. This needs no index.
    fn beginning_with(&self, digits: &str) -> Result<Vec<Id>> {
        let folder = self.files.folder(&digits[..2]);
        let names = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names.map_err(|error| Error::io("cannot read", &folder, &error))?,
        };
        let ids = names.flatten().filter_map(|file| files::id_of(file.file_name().to_str()?));
        let mut ids: Vec<Id> = ids.filter(|id| id.as_str().starts_with(digits)).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Loads a run by its name, see [`resolve`](Self::resolve), or from a file, compressed or not.
    ///
    /// # Errors
    /// If there is no such run, or it is damaged.
    pub fn load(&self, word: &str) -> Result<Loaded> {
        let (path, expected) = match self.select(word)? {
            Selected::Stored(id) => (self.files.run(&id), Some(id)),
            Selected::File(path) => (path, None),
        };
        let (id, text) = read::text(&path, expected.as_ref())?;
        let run = read::parse(&path, &text, Run::from_json)?;
        Ok(Loaded { id, path, text, run })
    }

    /// A word that looks like a path is one; other words are files only if the store has no such run.
    fn select(&self, word: &str) -> Result<Selected> {
        let path = Path::new(word);
        let is_path = path.components().count() > 1 || word.ends_with(".json") || word.ends_with(".zst");
        if is_path {
            return Ok(Selected::File(path.to_owned()));
        }
        match self.resolve(word) {
            Err(error) if error.kind() == ErrorKind::NotFound && path.is_file() => Ok(Selected::File(path.to_owned())),
            resolved => resolved.map(Selected::Stored),
        }
    }

    /// Tags a run; returns the run that had the tag before.
    ///
    /// # Errors
    /// If the tag is invalid, the run does not exist, or the tag could not be written.
    pub fn tag(&self, name: &str, id: &Id) -> Result<Option<Id>> {
        tags::check(name)?;
        if !self.files.run(id).is_file() {
            let message = format!("run {} is not in {}", id.short(), self.path().display());
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        // A damaged tag is replaced like any other.
        let before = tags::get(&self.files, name).unwrap_or_default();
        tags::set(&self.files, name, id)?;
        Ok(before)
    }

    /// Removes a tag; the run stays.
    ///
    /// # Errors
    /// If there is no such tag, or it could not be removed.
    pub fn untag(&self, name: &str) -> Result<()> {
        tags::unset(&self.files, name)
    }

    /// The tags of a run.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn tags_of(&self, id: &Id) -> Result<Vec<String>> {
        let (tags, _) = tags::all(&self.files)?;
        Ok(tags.into_iter().filter(|(_, named)| named == id).map(|(name, _)| name).collect())
    }

    /// Deletes a run, damaged or not.
    ///
    /// # Errors
    /// If it does not exist, has tags, or could not be removed.
    pub fn remove(&self, id: &Id) -> Result<()> {
        let tags = self.tags_of(id)?;
        if !tags.is_empty() {
            let message = format!("run {} is tagged: {}", id.short(), tags.join(", "));
            return Err(Error::new(ErrorKind::Tagged, message));
        }
        write::remove(&self.files.run(id))?;
        self.update_index(|index| sync::folder(index, &self.files, id.folder()));
        Ok(())
    }

    /// Rebuilds the index from all files; returns the listing without runs.
    ///
    /// # Errors
    /// If the folders cannot be read.
    pub fn reindex(&self) -> Result<Listing> {
        self.with_index(Index::clear)?;
        self.list(&Filter { limit: Some(0), ..Filter::default() })
    }

    fn slot(&self) -> MutexGuard<'_, Option<Index>> {
        // After a panic the connection is still valid: SQLite rolls back the unfinished transaction.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works with the index: the one on the disk, made again where it is broken, or one in memory where that cannot be
    /// written to.
    fn with_index<T>(&self, work: impl Fn(&mut Index) -> std::result::Result<T, IndexError>) -> Result<T> {
        let mut slot = self.slot();
        let seen = Index::identity(&self.files);
        let mut last: Option<IndexError> = None;
        for means in [IndexSource::Open, IndexSource::Disk, IndexSource::Anew, IndexSource::Memory, IndexSource::Bare] {
            let is_broken = last.as_ref().is_some_and(IndexError::is_broken_index);
            let index = match means {
                IndexSource::Open => match slot.take() {
                    Some(index) => Ok(index),
                    None => continue,
                },
                IndexSource::Anew if !is_broken => continue,
                // Another process has rebuilt it.
                IndexSource::Anew if Index::identity(&self.files) != seen => {
                    Index::open(&self.files, IndexSource::Disk)
                }
                IndexSource::Memory if is_broken => continue,
                _ => Index::open(&self.files, means),
            };
            let done = index.and_then(|mut index| work(&mut index).map(|done| (index, done)));
            match done {
                Ok((index, done)) => {
                    *slot = Some(index);
                    return Ok(done);
                }
                Err(IndexError::Store(error)) => return Err(error),
                Err(trouble) => last = Some(trouble),
            }
        }
        let why = last.map(|trouble| trouble.to_string()).unwrap_or_default();
        Err(Error::new(ErrorKind::Io, format!("cannot build the index of {}: {why}", self.path().display())))
    }
}
