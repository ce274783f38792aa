//! `hotloop history`: the saved runs.

use record::{HISTORY_SCHEMA, HISTORY_VERSION, History};
use store::{ErrorKind, Filter, Id, Result, Store};

use super::{CommandError, CommandOutput, documents, load, tool};
use crate::args;
use crate::args::HistoryAction as Action;

/// Lists runs, or does what was asked with some.
pub fn run(options: &args::History) -> std::result::Result<CommandOutput, CommandError> {
    let store = options.store.open().map_err(CommandError::of_saving)?;
    act(&store, options).map_err(|error| load::with_suggestion(CommandError::of_saving(error), &store, &words(options)))
}

/// The words that name runs or tags.
fn words(options: &args::History) -> Vec<&str> {
    match &options.action {
        None => options.list.tag.iter().map(String::as_str).collect(),
        Some(Action::Show { run, .. } | Action::Tag { run, .. }) => vec![run],
        Some(Action::Untag { name }) => vec![name],
        Some(Action::Remove { runs, .. }) => runs.iter().map(String::as_str).collect(),
        Some(Action::Reindex | Action::Path) => Vec::new(),
    }
}

fn act(store: &Store, options: &args::History) -> Result<CommandOutput> {
    let text = match &options.action {
        None => return list(store, &options.list),
        Some(Action::Show { run, json }) => show(store, run, *json)?,
        Some(Action::Tag { run, name }) => tag(store, run, name)?,
        Some(Action::Untag { name }) => {
            store.untag(name)?;
            format!("removed the tag `{name}`\n")
        }
        Some(Action::Remove { runs, force }) => remove(store, runs, *force)?,
        Some(Action::Reindex) => return reindex(store),
        Some(Action::Path) => format!("{}\n", store.path().display()),
    };
    Ok(CommandOutput::text(text))
}

fn list(store: &Store, options: &args::HistoryList) -> Result<CommandOutput> {
    let filter = Filter {
        workload: options.workload.clone(),
        model: options.model.clone(),
        commit: options.commit.clone(),
        tag: options.tag.clone(),
        since: options.since,
        limit: Some(options.limit),
    };
    let history = document(store, store.list(&filter)?);
    if options.json {
        return Ok(CommandOutput::text(history.to_json()));
    }
    let notes = report::history_faults_text(&history);
    Ok(CommandOutput { notes, ..CommandOutput::paged(documents::on_stdout(&report::history(&history))) })
}

fn document(store: &Store, listing: store::Listing) -> History {
    History {
        schema: HISTORY_SCHEMA.to_owned(),
        version: HISTORY_VERSION,
        tool: tool(),
        store: store.path().display().to_string(),
        matching: listing.matching,
        runs: listing.runs,
        faults: listing.faults,
    }
}

fn show(store: &Store, word: &str, json: bool) -> Result<String> {
    let loaded = store.load(word)?;
    if json {
        return Ok(loaded.text);
    }
    let stored = store.describe(&loaded)?;
    Ok(documents::on_stdout(&report::stored_run(&stored)))
}

fn tag(store: &Store, word: &str, name: &str) -> Result<String> {
    let id = store.resolve(word)?;
    let before = store.tag(name, &id)?.filter(|before| *before != id);
    let moved = before.map(|before| format!(", no longer {}", before.short())).unwrap_or_default();
    Ok(format!("`{name}` is {}{moved}\n", id.short()))
}

/// Finds all runs before it removes the first.
fn remove(store: &Store, words: &[String], force: bool) -> Result<String> {
    let ids: Vec<Id> = words.iter().map(|word| store.resolve(word)).collect::<Result<_>>()?;
    let mut text = String::new();
    for id in &ids {
        let tags = if force { store.tags_of(id)? } else { Vec::new() };
        for tag in &tags {
            store.untag(tag)?;
        }
        match store.remove(id) {
            // Two words may mean the same run.
            Err(error) if error.kind() == ErrorKind::NotFound && text.contains(id.as_str()) => continue,
            removed => removed?,
        }
        let tags = if tags.is_empty() { String::new() } else { format!(" and its tags {}", tags.join(", ")) };
        text.push_str(&format!("removed {id}{tags}\n"));
    }
    Ok(text)
}

fn reindex(store: &Store) -> Result<CommandOutput> {
    let history = document(store, store.reindex()?);
    let text = format!("indexed {} runs; {} damaged files\n", history.matching, history.faults.len());
    Ok(CommandOutput { notes: report::history_faults_text(&history), ..CommandOutput::text(text) })
}
