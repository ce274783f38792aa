//! The sides of a cell, ready to be measured.

use std::ffi::OsString;
use std::path::PathBuf;

use lab::duel::{BuildError, Contestant, Program, ProgramSettings, Project, Revision};
use lab::gate::{BIN, BuildConfig, CellConfig, CellSides};

use super::super::cache;
use super::super::duel::engine::{self, Output, Terms};
use super::super::duel::follower::Follower;
use super::revisions::Revisions;
use crate::args::Named;

/// Makes sides; revisions are built once for all cells.
pub struct Workshop {
    build: BuildConfig,
    revisions: Option<Revisions>,
    /// The base and the head, or why they could not be built: another cell would not build them either.
    built: Option<Result<[Revision; 2], String>>,
}

impl Workshop {
    pub fn new(build: &BuildConfig, revisions: Option<Revisions>) -> Self {
        Self { build: build.clone(), revisions, built: None }
    }

    /// The base first.
    pub fn contestants(&mut self, cell: &CellConfig, follower: &Follower) -> Result<Vec<Box<dyn Contestant>>, String> {
        match &cell.sides {
            CellSides::Commands { a, b } => {
                let program = |words: &Vec<String>| self::program(cell, words.join(" "), words, None);
                Ok(vec![program(a)?, program(b)?])
            }
            CellSides::Revisions { command } => {
                let sides = self.built(follower)?;
                sides.iter().map(|revision| of_revision(cell, command, revision)).collect()
            }
            CellSides::Settings { model, synthetic, a, b } => {
                let named = Named { model: model.as_ref().map(PathBuf::from), synthetic: synthetic.clone() };
                let output = match cell.same_output {
                    None => Output::BySettings,
                    Some(true) => Output::Same,
                    Some(false) => Output::Any,
                };
                let terms = Terms { output, text: None };
                let sides = engine::of_settings(&named, &[a, b], &terms);
                let sides = sides.map_err(|refusal| format!("{}; {}", refusal.error, refusal.hint))?;
                Ok(sides.into_iter().map(|side| Box::new(side) as _).collect())
            }
        }
    }

    fn built(&mut self, follower: &Follower) -> Result<&[Revision; 2], String> {
        let Self { build, revisions, built } = self;
        built.get_or_insert_with(|| make(build, revisions.as_ref(), follower)).as_ref().map_err(Clone::clone)
    }
}

fn make(build: &BuildConfig, revisions: Option<&Revisions>, follower: &Follower) -> Result<[Revision; 2], String> {
    let Revisions { base, head, .. } = revisions.ok_or("no revisions were named")?;
    let project = Project {
        folder: ".".into(),
        package: build.package.clone(),
        bin: build.bin.clone(),
        features: build.features.clone(),
        profile: build.profile.clone(),
        cache: cache::folder().map_err(|refusal| format!("{}: {}", refusal.error, refusal.hint))?,
    };
    let made = |commit: &str| {
        project.build(commit, &mut |what| follower.say(what)).map_err(|error: BuildError| error.to_string())
    };
    Ok([made(&base.commit)?, made(&head.commit)?])
}

fn of_revision(cell: &CellConfig, command: &[String], revision: &Revision) -> Result<Box<dyn Contestant>, String> {
    let file = revision.program.to_string_lossy();
    let words: Vec<String> = command.iter().map(|word| word.replace(BIN, &file)).collect();
    let commit: String = revision.git.commit.chars().take(10).collect();
    let label = command.join(" ").replace(BIN, &commit);
    program(cell, label, &words, Some(revision))
}

fn program(
    cell: &CellConfig,
    label: String,
    words: &[String],
    revision: Option<&Revision>,
) -> Result<Box<dyn Contestant>, String> {
    let settings = ProgramSettings {
        label,
        words: words.iter().map(OsString::from).collect(),
        check_output: cell.same_output.unwrap_or(true),
        exact: cell.exact,
        git: revision.map(|revision| revision.git.clone()),
        build: revision.map(|revision| revision.build.clone()),
    };
    // Limits hold for single calls, of which a round may have many.
    let limited = cell.budgets.iter().map(|budget| budget.metric.clone());
    Ok(Box::new(Program::new(settings)?.with_each_call(limited)))
}
