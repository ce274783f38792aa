//! Sides that are revisions of the Cargo project in this folder.

use lab::duel::{BuildError, Contestant, Project};

use super::super::error::{BAD_INPUT, FAILED};
use super::super::{CommandError, build_cache};
use super::command_sides::{placed, program};
use super::duel_bar::DuelBar;
use crate::args;

/// A revision that was built now or before, in the shared command.
pub fn contestant(
    label: &str,
    reference: &str,
    options: &args::Duel,
    progress: &DuelBar,
) -> Result<Box<dyn Contestant>, CommandError> {
    let built = &options.built;
    let project = Project {
        folder: ".".into(),
        package: built.package.clone(),
        bin: built.bin.clone(),
        features: built.features.clone(),
        profile: built.profile.clone(),
        cache: build_cache::folder()?,
    };
    let revision = project.build(reference, &mut |what| progress.say(what)).map_err(|error| {
        let code = if matches!(error, BuildError::Failed(_)) { FAILED } else { BAD_INPUT };
        let hint = "revisions are built with `cargo build --release`; see --package, --bin, --features and --profile";
        CommandError::new(error.to_string(), hint).with_code(code)
    })?;
    let own = [revision.program.to_string_lossy().into_owned()];
    program(label, placed(&own, &options.command)?, Some(revision), options)
}
