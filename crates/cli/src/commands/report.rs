//! `hotloop report`: shows a run that was kept.

use super::{Refusal, load, shown};
use crate::args::Report;

/// The run, as text or as it was kept.
pub fn run(options: &Report) -> Result<String, Refusal> {
    let found = load::run(&options.store.open()?, &options.run)?;
    if options.json {
        return Ok(found.text);
    }
    Ok(shown::text(&found.run, &options.shown, found.id.as_ref()))
}
