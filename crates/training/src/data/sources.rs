//! The files of a corpus: found, in an order that is always the same, and streams kept as files.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{DataSettings, Inputs};
use crate::written::Written;
use crate::{Error, Result};

/// More files than this are a pattern that was not meant so.
const MOST_FILES: usize = 1 << 22;
/// So much of a stream is copied at once.
const PIECE: usize = 1 << 20;

/// The files of a corpus, in the order in which they are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    pub(super) files: Vec<Source>,
    /// Files without a byte.
    pub(super) empty: Vec<PathBuf>,
    /// Files beyond `max_files`.
    pub(super) left_out: usize,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// What it had in it, as far as can be told without reading: when it was changed; of a stream its hash.
    pub(super) state: String,
}

/// CorpusRole texts are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorpusRole {
    /// `data.input_file`
    Training,
    /// `data.validation_file`
    Validation,
}

impl CorpusRole {
    fn key(self) -> &'static str {
        match self {
            Self::Training => "data.input_file",
            Self::Validation => "data.validation_file",
        }
    }
}

impl Sources {
    /// Finds the files. Relative paths are below `base`; streams are read to their end and kept in
    /// `folder`, because a corpus is read more than once.
    ///
    /// # Errors
    /// Where nothing is found, a file cannot be read, or all are empty.
    pub fn find(settings: &DataSettings, which: CorpusRole, base: &Path, folder: &Path) -> Result<Self> {
        Self::look(settings, which, &Places { base, folder, kept: false })
    }

    /// Finds the files again, to go on with a training: of streams, which are over, what was kept of them.
    ///
    /// # Errors
    /// As for [`Sources::find`], and where nothing was kept of a stream.
    pub fn find_again(settings: &DataSettings, which: CorpusRole, base: &Path, folder: &Path) -> Result<Self> {
        Self::look(settings, which, &Places { base, folder, kept: true })
    }

    fn look(settings: &DataSettings, which: CorpusRole, places: &Places<'_>) -> Result<Self> {
        let inputs: &Inputs = match which {
            CorpusRole::Training => &settings.input_file,
            CorpusRole::Validation => &settings.validation_file,
        };
        if inputs.is_empty() {
            return Err(Error::new(
                format!("{}: no corpus given", which.key()),
                "give a text file, a pattern such as corpus/**/*.txt, a folder, or - for standard input",
            ));
        }
        let mut sources = Self::default();
        for input in inputs.iter() {
            sources.add(input, settings, places).map_err(|error| error.about(which.key()))?;
        }
        if settings.max_files > 0 && sources.files.len() > settings.max_files {
            sources.left_out = sources.files.len() - settings.max_files;
            sources.files.truncate(settings.max_files);
        }
        if sources.files.is_empty() {
            let names: Vec<String> = sources.empty.iter().take(3).map(|path| path.display().to_string()).collect();
            let message = format!("{}: empty corpus: no bytes in {}", which.key(), names.join(", "));
            return Err(Error::new(message, "a corpus needs at least two tokens of text"));
        }
        Ok(sources)
    }

    /// How many bytes there are.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|source| source.bytes).sum()
    }

    /// How many files there are.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// All that tells this corpus from another.
    pub(crate) fn add_to(&self, hash: &mut blake3::Hasher) {
        for source in &self.files {
            let path = source.path.as_os_str().as_encoded_bytes();
            hash.update(&(path.len() as u64).to_le_bytes());
            hash.update(path);
            hash.update(&source.bytes.to_le_bytes());
            hash.update(&(source.state.len() as u64).to_le_bytes());
            hash.update(source.state.as_bytes());
        }
    }

    fn add(&mut self, input: &str, settings: &DataSettings, places: &Places<'_>) -> Result<()> {
        if input == "-" {
            return self.add_stream(Path::new("-"), places, || Ok(Box::new(io::stdin().lock())));
        }
        let path = places.base.join(input);
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => {
                let pattern = settings.file_pattern.as_deref().unwrap_or("**/*");
                self.add_pattern(&path, pattern)
            }
            Ok(there) if there.is_file() => self.add_file(path, &there),
            // A pipe or a device: it can be read once.
            Ok(_) => self.add_stream(&path, places, || Ok(Box::new(File::open(&path)?))),
            // A name under which a pipe was open once.
            Err(_) if places.kept && places.stream(&path).exists() => {
                self.add_stream(&path, places, || Err(io::ErrorKind::NotFound.into()))
            }
            Err(_) if input.contains(['*', '?', '[']) => self.add_pattern(places.base, input),
            Err(error) => Err(cannot_read(&path, &error)),
        }
    }

    /// Adds the files that a pattern names, in the order of their names.
    fn add_pattern(&mut self, base: &Path, pattern: &str) -> Result<()> {
        let shown = base.join(pattern);
        let wrong =
            |what: String| Error::new(what, "patterns support *, ? and [abc] within a name, and ** for folders");
        let escaped = glob::Pattern::escape(&base.to_string_lossy());
        let whole = if Path::new(pattern).is_absolute() || escaped.is_empty() {
            pattern.to_owned()
        } else {
            format!("{}/{pattern}", escaped.trim_end_matches('/'))
        };
        let found = glob::glob(&whole)
            .map_err(|error| wrong(format!("{}: invalid pattern: {}", shown.display(), error.msg)))?;
        let mut paths = Vec::new();
        for path in found {
            let path = path.map_err(|error| cannot_read(error.path(), error.error()))?;
            let there = fs::metadata(&path).map_err(|error| cannot_read(&path, &error))?;
            if there.is_file() {
                paths.push((path, there));
            }
            if paths.len() > MOST_FILES {
                return Err(wrong(format!("{}: more than {MOST_FILES} files", shown.display())));
            }
        }
        if paths.is_empty() {
            return Err(wrong(format!("{}: no matching file", shown.display())));
        }
        paths.sort_by(|(a, _), (b, _)| a.cmp(b));
        paths.into_iter().try_for_each(|(path, there)| self.add_file(path, &there))
    }

    fn add_file(&mut self, path: PathBuf, there: &Metadata) -> Result<()> {
        if there.len() == 0 {
            self.empty.push(path);
            return Ok(());
        }
        let changed = there.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let state =
            changed.map_or_else(String::new, |since| format!("{}.{:09}", since.as_secs(), since.subsec_nanos()));
        self.files.push(Source { path, bytes: there.len(), state });
        Ok(())
    }

    /// Adds what is kept of a stream; else reads it to its end into a file that is named by what is in it.
    fn add_stream<'s>(
        &mut self,
        name: &Path,
        places: &Places<'_>,
        open: impl FnOnce() -> io::Result<Box<dyn Read + 's>>,
    ) -> Result<()> {
        if places.kept {
            self.files.push(places.kept(name)?);
            return Ok(());
        }
        let mut stream = open().map_err(|error| cannot_read(name, &error))?;
        let mut file = Written::create(places.folder)?;
        let mut hash = blake3::Hasher::new();
        let mut piece = vec![0; PIECE];
        let mut bytes = 0;
        loop {
            let read = match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(cannot_read(name, &error)),
            };
            hash.update(&piece[..read]);
            file.write_all(&piece[..read]).map_err(|error| file.cannot_write(&error))?;
            bytes += read as u64;
        }
        if bytes == 0 {
            self.empty.push(name.to_owned());
            return Ok(());
        }
        let state = hash.finalize().to_hex()[..32].to_owned();
        let path = file.finish(&stream_file(&state))?;
        places.keep(name, &state)?;
        self.files.push(Source { path, bytes, state });
        Ok(())
    }
}

/// Where files are looked for.
struct Places<'a> {
    base: &'a Path,
    folder: &'a Path,
    /// Streams are over: what was kept of them counts.
    kept: bool,
}

impl Places<'_> {
    /// The file that tells what was kept of a stream.
    fn stream(&self, name: &Path) -> PathBuf {
        let hash = blake3::hash(name.as_os_str().as_encoded_bytes()).to_hex();
        self.folder.join(format!("stream-of-{}", &hash[..16]))
    }

    fn keep(&self, name: &Path, state: &str) -> Result<()> {
        let mut file = Written::create(self.folder)?;
        file.write_all(state.as_bytes()).map_err(|error| file.cannot_write(&error))?;
        let target = self.stream(name);
        file.finish(&target.file_name().unwrap_or_default().to_string_lossy())?;
        Ok(())
    }

    fn kept(&self, name: &Path) -> Result<Source> {
        let gone = |error: io::Error| {
            let message = format!("{}: no saved copy of this stream: {error}", name.display());
            Error::new(message, "resume in the folder where the training was started")
        };
        let state = fs::read_to_string(self.stream(name)).map_err(gone)?;
        let path = self.folder.join(stream_file(&state));
        let bytes = fs::metadata(&path).map_err(gone)?.len();
        Ok(Source { path, bytes, state })
    }
}

fn stream_file(state: &str) -> String {
    format!("stream-{state}.txt")
}

/// A file of the corpus that is not there or may not be read.
pub(super) fn cannot_read(path: &Path, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path; relative paths start at the config's folder",
        io::ErrorKind::PermissionDenied => "check the file's permissions",
        _ => "the operating system could not read it",
    };
    Error::new(format!("{}: {error}", path.display()), hint)
}
