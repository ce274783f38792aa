//! `hotloop export`: writes a run for other programs.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use report::ExportFormat;

use super::error::FAILED;
use super::{CommandError, CommandOutput, load};
use crate::args;
use crate::args::CsvTable;

/// Exports a run. Binary formats are not written to a terminal.
pub fn run(options: &args::Export) -> Result<CommandOutput, CommandError> {
    let format = format(options)?;
    let target = options.out.as_deref().filter(|out| *out != Path::new("-"));
    if options.out.is_none() && io::stdout().is_terminal() && format.is_binary {
        let hint = "name a file with --out FILE, or use --out - to write it anyway";
        return Err(CommandError::new("this format is binary, and standard output is a terminal", hint));
    }
    let store = options.store.open()?;
    let found = load::run(&store, &options.run)?;
    let bytes = report::export(&found.run, &found.text, format).map_err(|error| {
        let hint = "`--to json` and `--to csv --what samples` need no profile; `hotloop history` lists other runs";
        CommandError::new(format!("{}: {error}", found.path.display()), hint)
    })?;
    let Some(target) = target else { return Ok(CommandOutput::text(bytes)) };
    write(target, &bytes)?;
    let wrote = format!("wrote {} ({} bytes): {}\n", target.display(), bytes.len(), format.opened_by);
    Ok(CommandOutput::notes(wrote))
}

fn format(options: &args::Export) -> Result<ExportFormat, CommandError> {
    let table = |name: &str| ExportFormat::named(name).filter(|_| options.to.name == "csv");
    match options.what {
        None => Ok(options.to),
        Some(what) => table(if what == CsvTable::Samples { "csv-samples" } else { "csv" })
            .ok_or_else(|| CommandError::new("--what needs --to csv", "leave --what out, or use --to csv")),
    }
}

/// Replaces a file as a whole, or leaves it as it was. Anything else, such as a pipe, is written to.
pub(super) fn write(target: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let failed = |error: io::Error| {
        CommandError::without_hint(format!("cannot write {}: {error}", target.display())).with_code(FAILED)
    };
    match fs::metadata(target) {
        Ok(about) if about.is_dir() => {
            Err(CommandError::new(format!("{} is a folder", target.display()), "name a file in it with --out FILE"))
        }
        Ok(about) if !about.is_file() => fs::write(target, bytes).map_err(failed),
        _ => replace(target, bytes).map_err(failed),
    }
}

/// Whether a file can be written in this place. Nothing is changed.
pub(super) fn try_place(target: &Path) -> io::Result<()> {
    if target.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    Temporary::make(target).map(drop)
}

/// Replaces a file as a whole, or leaves it as it was.
pub(super) fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: its target is replaced.
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let (temporary, mut file) = Temporary::make(&target)?;
    file.write_all(bytes)?;
    fs::rename(&temporary.0, &target)
}

/// A unique name in the same folder.
fn beside(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    target.with_file_name(name)
}

/// Removed unless it was renamed.
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
        // After the rename there is nothing to remove.
        fs::remove_file(&self.0).ok();
    }
}
