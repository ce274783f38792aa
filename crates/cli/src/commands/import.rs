//! `hotloop import`: reads what other programs measured.

use record::{IMPORTING_SCHEMA, IMPORTING_VERSION, ImportedFile, ImportedRun, Importing};

use super::{CommandError, CommandOutput, documents, load, save, tool};
use crate::args;

/// Reads the files one by one; one that cannot be read does not keep the others from being read.
pub fn run(options: &args::Import) -> Result<CommandOutput, CommandError> {
    if !options.no_save {
        save::check(&options.store, options.tag.as_deref())?;
    }
    let mut files: Vec<ImportedFile> = Vec::new();
    let mut errors: Vec<CommandError> = Vec::new();
    for path in &options.files {
        match load::file(path, options.format) {
            Err(error) => errors.push(error),
            Ok(imported) if options.strict && !imported.unread.is_empty() => {
                errors.push(strict(&path.display().to_string(), &imported.unread));
            }
            Ok(imported) => files.push(ImportedFile {
                path: path.display().to_string(),
                format: imported.format.name().to_owned(),
                runs: imported.runs.into_iter().map(|run| ImportedRun { run, ..ImportedRun::default() }).collect(),
                unread: imported.unread,
            }),
        }
    }
    let count: usize = files.iter().map(|file| file.runs.len()).sum();
    if options.tag.is_some() && count != 1 {
        let error = format!("--tag names one run, and there are {count}");
        return Err(CommandError::new(error, "import one file at a time, or tag runs with `hotloop history tag`"));
    }
    let unsaved = if options.no_save { None } else { save_all(&mut files, options).err() };
    let failures = errors.iter().map(|error| error.message.clone()).collect();
    let importing =
        Importing { schema: IMPORTING_SCHEMA.to_owned(), version: IMPORTING_VERSION, tool: tool(), files, failures };
    let text = if options.json { importing.to_json() } else { documents::on_stdout(&report::importing(&importing)) };
    errors.extend(unsaved.map(CommandError::of_saving));
    Ok(CommandOutput { errors, ..CommandOutput::text(text) })
}

fn save_all(files: &mut [ImportedFile], options: &args::Import) -> store::Result<()> {
    for found in files.iter_mut().flat_map(|file| &mut file.runs) {
        let store = options.store.open()?;
        let id = match earlier(&store, &found.run)? {
            None => save::save(&found.run, &options.store, options.tag.as_deref())?,
            Some((id, name)) => {
                if let Some(tag) = &options.tag {
                    store.tag(tag, &id)?;
                }
                found.copy_of = Some(name);
                id
            }
        };
        found.id = Some(id.as_str().to_owned());
    }
    Ok(())
}

/// The run that was kept of the same text under another file name, and that name: a copy of a file is no further measurement.
fn earlier(store: &store::Store, run: &record::Run) -> store::Result<Option<(store::Id, String)>> {
    let Some(origin) = run.imported.as_ref().filter(|origin| origin.source_blake3.is_some()) else { return Ok(None) };
    let filter = store::Filter { workload: Some(run.workload.name.clone()), ..store::Filter::default() };
    let candidates = store.list(&filter)?.runs.into_iter().filter(|stored| stored.subject == run.subject.name);
    for id in candidates.filter_map(|stored| store::Id::parse(&stored.id)) {
        // A damaged run is no reason not to keep this one.
        let Ok(loaded) = store.load(id.as_str()) else { continue };
        let is_copy = |other: &record::Imported| {
            other.source_blake3 == origin.source_blake3
                && (&other.format, &other.part) == (&origin.format, &origin.part)
                && other.source != origin.source
        };
        // A later version may read more of the same text: that is worth keeping.
        if let Some(other) = loaded.run.imported.filter(is_copy)
            && (&loaded.run.samples, &loaded.run.rows) == (&run.samples, &run.rows)
        {
            return Ok(Some((id, other.source)));
        }
    }
    Ok(None)
}

fn strict(path: &str, unread: &[record::Unread]) -> CommandError {
    let first = unread.first().map_or(String::new(), |part| {
        let line = part.line.map_or(String::new(), |line| format!("line {line}, "));
        format!("; the first: {line}{}: {}", part.text, part.why)
    });
    let error = format!("{path}: {} of it could not be read, and --strict asks for all{first}", count(unread.len()));
    CommandError::new(error, "leave --strict out to keep what can be read")
}

fn count(parts: usize) -> String {
    format!("{parts} part{}", if parts == 1 { "" } else { "s" })
}
