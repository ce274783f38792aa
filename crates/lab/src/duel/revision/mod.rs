//! Revisions of a Cargo project, built to be measured.
//!
//! All revisions of a project are built in one work tree of their own, one after the other: paths are in programs, and two revisions with
//! the same code give the same program only in the same place. What was built is kept by what it was built from.

mod build;
mod build_cache;
mod git;
mod surroundings;

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use record::{Build, Git};

use build_cache::CachedBuild;

/// A project, and what of it is built.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// A folder in it.
    pub folder: PathBuf,
    /// The package, where there are several.
    pub package: Option<String>,
    /// The program, where a package has several.
    pub bin: Option<String>,
    /// Features that are chosen.
    pub features: Vec<String>,
    /// The profile; `None`: `release`.
    pub profile: Option<String>,
    /// Where work trees and what was built are kept.
    pub cache: PathBuf,
}

/// A revision that was built.
#[derive(Debug, Clone)]
pub struct Revision {
    /// Its program.
    pub program: PathBuf,
    /// The commit.
    pub git: Git,
    /// How it was built.
    pub build: Build,
    /// Whether it had been built before.
    pub was_kept: bool,
}

/// Why there is no program of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// What was asked for is not there, or could be several things.
    Refused(String),
    /// It is there and did not work: it does not compile, or the cache cannot be used.
    Failed(String),
}

impl BuildError {
    fn map(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            BuildError::Refused(error) => BuildError::Refused(words(error)),
            BuildError::Failed(error) => BuildError::Failed(words(error)),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (BuildError::Refused(error) | BuildError::Failed(error)) = self;
        formatter.write_str(error)
    }
}

impl std::error::Error for BuildError {}

impl Project {
    fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or("release")
    }

    /// Builds a revision, or finds what was built of it before. `tell` hears what is being done.
    ///
    /// # Errors
    /// There is no such project or revision, it cannot be built, or it has no program, or several.
    pub fn build(&self, reference: &str, tell: &mut dyn FnMut(&str)) -> Result<Revision, BuildError> {
        let repository = git::Repository::of(&self.folder).map_err(BuildError::Refused)?;
        let git = repository.commit(reference).map_err(BuildError::Refused)?;
        let place = self.cache.join(repository.key());
        let failed =
            |error: std::io::Error| BuildError::Failed(format!("cannot use the cache {}: {error}", place.display()));
        fs::create_dir_all(&place).map_err(failed)?;
        // Somebody else may build here at the same time; it is given back when the file is closed.
        let lock = File::create(place.join("lock")).map_err(failed)?;
        if lock.try_lock().is_err() {
            tell("waiting for another build in the same cache");
            lock.lock().map_err(failed)?;
        }
        let tree = place.join("source");
        repository.check_out(&git.commit, &tree).map_err(BuildError::Failed)?;
        let folder = repository.inside(&tree);
        if !folder.join("Cargo.toml").is_file() {
            return Err(BuildError::Refused(format!("{reference} has no Cargo.toml in {}", repository.shown())));
        }
        let compiler = build::compiler(&folder)?;
        let lockfile = self.lock_dependencies(&repository, &tree).map_err(BuildError::Failed)?;
        let key = self.key(&git.commit, &compiler, (&lockfile, &place));
        let build_cache = CachedBuild::new(&place.join("built").join(key));
        let build = self.describe(&compiler);
        if let Some(program) = build_cache.program() {
            return Ok(Revision { program, git, build, was_kept: true });
        }
        tell(&format!("building {reference}"));
        let built =
            build::build(self, &folder, &place.join("target"), &mut |line| tell(&format!("{reference}: {line}")))
                .map_err(|error| {
                    error.map(|error| format!("cannot build {reference} ({}): {error}", short(&git.commit)))
                })?;
        let program = build_cache.keep(&built).map_err(failed)?;
        Ok(Revision { program, git, build, was_kept: false })
    }

    /// All revisions get the same dependencies where the project does not keep its lock file under version control.
    fn lock_dependencies(&self, repository: &git::Repository, tree: &Path) -> Result<String, String> {
        let (own, its) = (repository.lockfile(), repository.lockfile_in(tree));
        if let (Some(own), false) = (own, its.is_file()) {
            fs::copy(&own, &its).map_err(|error| format!("cannot copy {}: {error}", own.display()))?;
        }
        Ok(crate::blake3_of(&its).unwrap_or_default())
    }

    /// A name for everything that decides what is built.
    fn key(&self, commit: &str, compiler: &str, (lockfile, place): (&str, &Path)) -> String {
        let surroundings = (surroundings::variables(), surroundings::files(place));
        let chosen = (self.profile(), &self.features, &self.package, &self.bin);
        let facts = (commit, chosen, compiler, lockfile, surroundings);
        blake3::hash(format!("{facts:?}").as_bytes()).to_hex()[..24].to_owned()
    }

    fn describe(&self, compiler: &str) -> Build {
        let fact =
            |name: &str| compiler.lines().find_map(|line| line.strip_prefix(name)).map(|text| text.trim().to_owned());
        Build {
            profile: Some(self.profile().to_owned()),
            compiler: compiler.lines().next().map(str::to_owned),
            target: fact("host:"),
            features: self.features.clone(),
            flags: std::env::var("RUSTFLAGS").ok().into_iter().filter(|flags| !flags.is_empty()).collect(),
            ..Build::default()
        }
    }
}

/// As people write commits.
fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
