//! The sides of a cell, ready to be measured.

use std::ffi::OsString;
use std::path::PathBuf;

use lab::duel::{BuildError, Contestant, Program, ProgramSettings, Project, Revision};
use lab::gate::{BIN, BuildConfig, CellConfig, CellSides};

use super::super::build_cache;
use super::super::duel::duel_bar::DuelBar;
use super::super::duel::engine_sides::{self, DuelTerms, OutputRule};
use super::revisions::Revisions;
use crate::args::ModelOptions;

/// Makes the sides of cells. Revisions are built once for all of them.
pub struct CellContestants {
    build: BuildConfig,
    revisions: Option<Revisions>,
    /// The base and the head, or why they could not be built: another cell would not build them either.
    built: Option<Result<[Revision; 2], String>>,
}

impl CellContestants {
    pub fn new(build: &BuildConfig, revisions: Option<Revisions>) -> Self {
        Self { build: build.clone(), revisions, built: None }
    }

    /// The base first.
    pub fn contestants(&mut self, cell: &CellConfig, progress: &DuelBar) -> Result<Vec<Box<dyn Contestant>>, String> {
        match &cell.sides {
            CellSides::Commands { a, b } => {
                let program = |words: &Vec<String>| self::program(cell, words.join(" "), words, None);
                Ok(vec![program(a)?, program(b)?])
            }
            CellSides::Revisions { command } => {
                let sides = self.built(progress)?;
                sides.iter().map(|revision| of_revision(cell, command, revision)).collect()
            }
            CellSides::Settings { model, synthetic, a, b } => {
                let model_options =
                    ModelOptions { model: model.as_ref().map(PathBuf::from), synthetic: synthetic.clone() };
                let output = match cell.same_output {
                    None => OutputRule::BySettings,
                    Some(true) => OutputRule::Same,
                    Some(false) => OutputRule::Any,
                };
                let terms = DuelTerms { output, text: None };
                let sides = engine_sides::of_settings(&model_options, &[a, b], &terms);
                let sides = sides.map_err(|error| error.line())?;
                Ok(sides.into_iter().map(|side| Box::new(side) as _).collect())
            }
        }
    }

    fn built(&mut self, progress: &DuelBar) -> Result<&[Revision; 2], String> {
        let Self { build, revisions, built } = self;
        built.get_or_insert_with(|| make(build, revisions.as_ref(), progress)).as_ref().map_err(Clone::clone)
    }
}

fn make(build: &BuildConfig, revisions: Option<&Revisions>, progress: &DuelBar) -> Result<[Revision; 2], String> {
    let Revisions { base, head, .. } = revisions.ok_or("no revisions were named")?;
    let project = Project {
        folder: ".".into(),
        package: build.package.clone(),
        bin: build.bin.clone(),
        features: build.features.clone(),
        profile: build.profile.clone(),
        cache: build_cache::folder().map_err(|error| error.line())?,
    };
    let made = |commit: &str| {
        project.build(commit, &mut |what| progress.say(what)).map_err(|error: BuildError| error.to_string())
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
