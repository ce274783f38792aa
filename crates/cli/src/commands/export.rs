//! `hotloop export`: writes a run for other programs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use report::ExportFormat;

use super::{Refusal, load};
use crate::args;
use crate::args::ExportWhat;

/// What became of it.
#[derive(Debug)]
pub enum Exported {
    /// It is to go to standard output.
    Output(Vec<u8>),
    /// It is in a file; this is to be said.
    File(String),
}

/// Why nothing was exported.
#[derive(Debug)]
pub enum Failure {
    /// The run could not be read.
    Store(store::Error),
    /// The run cannot be written this way, or not there.
    Refused(Refusal),
    /// The file could not be written.
    NotWritten(String),
}

impl From<load::Failure> for Failure {
    fn from(failure: load::Failure) -> Self {
        match failure {
            load::Failure::Store(error) => Failure::Store(error),
            load::Failure::Refused(refusal) => Failure::Refused(refusal),
        }
    }
}

/// Exports a run. What is no text is not shown to a terminal.
pub fn run(options: &args::Export, to_terminal: bool) -> Result<Exported, Failure> {
    let format = format(options)?;
    let target = options.out.as_deref().filter(|out| *out != Path::new("-"));
    if target.is_none() && options.out.is_none() && to_terminal && format.is_binary() {
        let error = "this format is no text, and standard output is a terminal".to_owned();
        return Err(refused(error, "name a file with --out FILE, or give --out - to write it all the same"));
    }
    let store = options.store.open().map_err(Failure::Store)?;
    let found = load::run(&store, &options.run)?;
    let bytes = report::export(&found.run, &found.text, format).map_err(|error| {
        let hint = "`--to json` and `--to csv --what samples` need no profile; `hotloop history` lists other runs";
        refused(format!("{}: {error}", found.path.display()), hint)
    })?;
    let Some(target) = target else { return Ok(Exported::Output(bytes)) };
    write(target, &bytes)?;
    Ok(Exported::File(format!("wrote {} ({} bytes): {}\n", target.display(), bytes.len(), format.opened_by())))
}

fn format(options: &args::Export) -> Result<ExportFormat, Failure> {
    match (options.to, options.what) {
        (ExportFormat::Csv, Some(ExportWhat::Samples)) => Ok(ExportFormat::CsvSamples),
        (format, None) | (format @ ExportFormat::Csv, _) => Ok(format),
        _ => Err(refused("--what goes with --to csv alone".to_owned(), "leave --what out, or give --to csv")),
    }
}

fn refused(error: String, hint: &'static str) -> Failure {
    Failure::Refused(Refusal { error, hint })
}

/// Writes a file so that it is there whole or as it was before. What is no file, such as a pipe, is written to as it is.
pub(super) fn write(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::NotWritten(format!("cannot write {}: {error}", target.display()));
    match fs::metadata(target) {
        Ok(about) if about.is_dir() => {
            let error = format!("{} is a folder", target.display());
            return Err(refused(error, "name a file in it with --out FILE"));
        }
        Ok(about) if !about.is_file() => return fs::write(target, bytes).map_err(failed),
        _ => {}
    }
    replace(target, bytes).map_err(failed)
}

/// Whether a file could be put in this place; nothing is changed.
pub(super) fn try_place(target: &Path) -> io::Result<()> {
    if target.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    Temporary::make(target).map(drop)
}

/// Writes a file so that it is there whole or as it was before.
pub(super) fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let (temporary, mut file) = Temporary::make(&target)?;
    file.write_all(bytes)?;
    fs::rename(&temporary.0, &target)
}

/// A name in the same folder that nobody else has.
fn beside(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    target.with_file_name(name)
}

/// Removed unless it got its name.
struct Temporary(PathBuf);

impl Temporary {
    /// A file beside its target, empty.
    fn make(target: &Path) -> io::Result<(Self, fs::File)> {
        let temporary = Temporary(beside(target));
        let file = fs::File::create_new(&temporary.0)?;
        Ok((temporary, file))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename it is not there any more.
        fs::remove_file(&self.0).ok();
    }
}
