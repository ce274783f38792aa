//! Sides that are revisions of the Cargo project in this folder.

use lab::duel::{BuildError, Contestant, Project};

use super::super::{Refusal, cache};
use super::commands::{placed, program};
use super::follower::Follower;
use super::{Failure, NOT_MEASURED};
use crate::args;

/// A revision, built or found, with what all sides are asked.
pub fn contestant(
    label: &str,
    reference: &str,
    options: &args::Duel,
    follower: &Follower,
) -> Result<Box<dyn Contestant>, Failure> {
    let built = &options.built;
    let project = Project {
        folder: ".".into(),
        package: built.package.clone(),
        bin: built.bin.clone(),
        features: built.features.clone(),
        profile: built.profile.clone(),
        cache: cache::folder()?,
    };
    let hint =
        "a revision is built as `cargo build --release` builds it; `--package`, `--bin` and `--features` choose what";
    let revision = project.build(reference, &mut |what| follower.say(what)).map_err(|error| Failure {
        code: matches!(error, BuildError::Failed(_)).then_some(NOT_MEASURED),
        refusal: Refusal { error: error.to_string(), hint },
    })?;
    let own = [revision.program.to_string_lossy().into_owned()];
    Ok(program(label, placed(&own, &options.command)?, Some(revision), options)?)
}
