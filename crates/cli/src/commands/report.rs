//! `hotloop report`: shows a run that was kept.

use super::{Refusal, shown};
use crate::args::Report;

/// The run, as text or as it was kept.
pub fn run(options: &Report) -> Result<String, Refusal> {
    let loaded = options.store.open()?.load(&options.run)?;
    if options.json {
        return Ok(loaded.text);
    }
    Ok(shown::text(&loaded.run, &options.shown, Some(&loaded.id)))
}
