//! The run that a word names: a saved one, or a file of any known format.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use import::{CriterionFile, Imported, Source};
use record::Run;
use store::{ErrorKind, Id, Store};

use super::{CommandError, tool};
use crate::suggest::did_you_mean;

/// The longest text that is read, the same as for runs.
const MOST_BYTES: u64 = 1 << 30;
/// Files of a folder of Criterion that are read, and how deep they may lie.
const MOST_FILES: usize = 100_000;
const DEEPEST: usize = 24;
/// The first bytes of zstd's files: runs are saved that way.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A run, and where it was found.
#[derive(Debug)]
pub struct Found {
    pub run: Run,
    /// Its JSON.
    pub text: String,
    /// Its id in the store; nothing if it was just read from a file of another program.
    pub id: Option<Id>,
    /// Its file.
    pub path: PathBuf,
}

/// Words that name a run by its place.
const PLACES: [&str; 2] = ["@latest", "@previous"];

/// Adds the nearest tag to the error about a name that was not found.
pub fn with_suggestion(error: CommandError, store: &Store, words: &[&str]) -> CommandError {
    let Some(word) = words.iter().find(|word| error.message.contains(&format!("`{word}`"))) else { return error };
    let listing = store.list(&store::Filter::default());
    let tags: Vec<String> = listing.into_iter().flat_map(|listing| listing.runs).flat_map(|run| run.tags).collect();
    let meant = did_you_mean(word, tags.iter().map(String::as_str).chain(PLACES));
    error.with_addition(&meant)
}

/// The run that a word names: an id, `@latest`, `@previous`, a tag, or a file of any known format. `FILE#PART` names one run
/// of a file with several.
pub fn run(store: &Store, word: &str) -> Result<Found, CommandError> {
    let (path, part) = file_and_part(word);
    let looks_like_path = path.components().count() > 1 || path.extension().is_some();
    if !(looks_like_path && path.exists()) {
        match store.load(word) {
            Err(error) if error.kind() == ErrorKind::NotFound && path.exists() => {}
            loaded => return loaded.map(stored).map_err(|error| with_suggestion(error.into(), store, &[word])),
        }
    }
    if part.is_none() && is_run(path) {
        return Ok(stored(store.load(&path.to_string_lossy())?));
    }
    let imported = file(path, None)?;
    let run = select(imported.runs, path, part)?;
    Ok(Found { text: run.to_json(), run, id: None, path: path.to_owned() })
}

fn stored(loaded: store::Loaded) -> Found {
    Found { run: loaded.run, text: loaded.text, id: Some(loaded.id), path: loaded.path }
}

/// `FILE#PART`, unless that is a file.
fn file_and_part(word: &str) -> (&Path, Option<&str>) {
    match word.rsplit_once('#') {
        Some((file, part)) if !Path::new(word).exists() && Path::new(file).exists() => (Path::new(file), Some(part)),
        _ => (Path::new(word), None),
    }
}

/// The run of this name, or the only one.
fn select(mut runs: Vec<Run>, path: &Path, part: Option<&str>) -> Result<Run, CommandError> {
    let named = |run: &Run| run.imported.as_ref().and_then(|imported| imported.part.clone());
    let place = match part {
        None if runs.len() == 1 => Some(0),
        None => None,
        Some(part) => runs.iter().position(|run| named(run).as_deref() == Some(part)),
    };
    match place {
        Some(place) => Ok(runs.swap_remove(place)),
        None => {
            let names: Vec<String> =
                runs.iter().filter_map(named).map(|part| format!("{}#{part}", path.display())).collect();
            let hint = "name one of them, in quotes if it has spaces";
            Err(CommandError::new(format!("{} has {} runs: {}", path.display(), runs.len(), names.join(", ")), hint))
        }
    }
}

/// Whether a file is a run of ours.
fn is_run(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(512).read_to_end(&mut beginning));
    read.is_ok() && (beginning.starts_with(&ZSTD) || String::from_utf8_lossy(&beginning).contains("\"hotloop-run\""))
}

/// Reads a file of another program, or a folder of Criterion.
pub fn file(path: &Path, format: Option<import::Format>) -> Result<Imported, CommandError> {
    let wrong =
        |error: String, hint: &'static str| CommandError::new(format!("cannot read {}: {error}", path.display()), hint);
    let about = fs::metadata(path).map_err(|error| wrong(error.to_string(), "check the path and its permissions"))?;
    let modified = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let source = Source {
        name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        modified_s: modified.map(|since| since.as_secs()),
        tool: tool(),
    };
    let read = if about.is_dir() {
        let files = criterion_files(path).map_err(|error| wrong(error, "name a folder such as target/criterion"))?;
        import::criterion_folder(&files, &source).map(|imported| (imported, None))
    } else {
        let text = text(path, about.len())
            .map_err(|error| wrong(error, "a file is UTF-8 text, gzipped or not; unpack larger files with `gunzip`"))?;
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        import::import(&text, &source, format).map(|imported| (imported, Some(hash)))
    };
    let (mut imported, hash) = read.map_err(|error| {
        let usual = match error.is_unknown_format() {
            true => "`hotloop import --help` lists the formats; `hotloop import --format NAME FILE` forces one",
            false => "get the file again, or force its format with `hotloop import --format NAME FILE`",
        };
        wrong(error.to_string(), error.hint().unwrap_or(usual))
    })?;
    for run in &mut imported.runs {
        if let Some(origin) = &mut run.imported {
            origin.source_blake3.clone_from(&hash);
        }
    }
    Ok(imported)
}

/// The text of a file, unpacked.
fn text(path: &Path, length: u64) -> Result<String, String> {
    let too_long = || format!("longer than {} MiB", MOST_BYTES >> 20);
    if !path.is_file() {
        return Err("not a regular file".to_owned());
    }
    if length > MOST_BYTES {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(too_long());
    }
    if let Some(unpacked) = import::unpacked(&bytes, MOST_BYTES as usize) {
        bytes = unpacked?;
    }
    String::from_utf8(bytes).map_err(|error| format!("not UTF-8 text: {}", error.utf8_error()))
}

/// The files of a folder that Criterion wrote, by their paths from there.
fn criterion_files(folder: &Path) -> Result<Vec<CriterionFile>, String> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((current, depth)) = folders.pop() {
        let entries = fs::read_dir(&current).map_err(|error| format!("{}: {error}", current.display()))?;
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            let is_link = path.is_symlink();
            if path.is_dir() && !is_link && depth < DEEPEST {
                folders.push((path, depth + 1));
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(place) = path.strip_prefix(folder).ok().filter(|_| CriterionFile::is_one(&name)) else { continue };
            if files.len() == MOST_FILES {
                return Err(format!("more than {MOST_FILES} files"));
            }
            let length = fs::metadata(&path).map_or(0, |about| about.len());
            let text = text(&path, length).map_err(|error| format!("{}: {error}", path.display()))?;
            files.push(CriterionFile { path: place.to_string_lossy().replace('\\', "/"), text });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
