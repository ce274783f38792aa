//! Saving runs.

use record::Run;
use store::Id;

use super::CommandError;
use crate::args::StoreOptions;

/// Saves a run, with a tag if one is given.
pub fn save(run: &Run, options: &StoreOptions, tag: Option<&str>) -> store::Result<Id> {
    let store = options.open()?;
    let id = store.save(run)?;
    if let Some(tag) = tag {
        store.tag(tag, &id)?;
    }
    Ok(id)
}

/// Checks before a long measurement that its run can be saved.
pub fn check(options: &StoreOptions, tag: Option<&str>) -> Result<(), CommandError> {
    options.open()?.check()?;
    Ok(tag.map_or(Ok(()), store::check_tag)?)
}
