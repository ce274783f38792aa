//! `hotloop train`: trains a model, shows how it goes, and profiles it where that is asked for.

mod follower;
mod kept;
mod keys;
mod log;
mod screen;

use std::path::PathBuf;

use engine::Compute;
use lab::EnvironmentRecorder;
use lab::machine::KernelChoice;
use record::{Run, Training, TrainingEvent};
use report::TrainingFiles;
use training::config::{Read, Settings};

use super::profile::Bar;
use super::{PERCENT, Refusal, TIMELINE, interrupt, progress, shown};
use crate::args::{Shown, Train};
use crate::subject::this_program;
use follower::{Allocated, Follower, Planner};
use log::Log;
use screen::Screen;

/// What is printed, and with which code to end.
#[derive(Debug, Default)]
pub struct Trained {
    /// For standard output.
    pub text: String,
    pub interrupted: bool,
    /// What could not be written, and the training went on.
    pub not_written: Option<String>,
    /// Why the run could not be kept.
    pub not_kept: Option<store::Error>,
}

/// What could not be done, and whether it is the fault of what was given.
pub struct Failure {
    pub refusal: Refusal,
    pub is_input: bool,
}

impl<R: Into<Refusal>> From<R> for Failure {
    fn from(refusal: R) -> Self {
        Failure { refusal: refusal.into(), is_input: true }
    }
}

/// Trains, keeps and shows.
pub fn run(options: &Train) -> Result<Trained, Failure> {
    if options.keys {
        return Ok(Trained { text: keys::text(), ..Trained::default() });
    }
    let read = read(options)?;
    let work = Work::new(options, &read)?;
    if options.check {
        return work.check();
    }
    work.train()
}

/// The config, with what the command line says instead of it.
fn read(options: &Train) -> Result<Read, Failure> {
    let missing = || Refusal { error: "CONFIG is missing".to_owned(), hint: "`hotloop train --help` has examples" };
    let path = options.path().ok_or_else(missing)?;
    let mut sets = options.sets.clone();
    sets.extend(options.out.as_ref().map(|folder| format!("data.output_dir={}", folder.display())));
    Ok(training::config::read(path, &sets)?)
}

/// All that a training needs.
struct Work<'a> {
    options: &'a Train,
    settings: &'a Settings,
    folder: PathBuf,
    compute: Compute,
    chosen: KernelChoice,
    profiled: bool,
    /// What has to be known of the config.
    notes: Vec<String>,
}

impl<'a> Work<'a> {
    fn new(options: &'a Train, read: &'a Read) -> Result<Self, Failure> {
        let hint = "leave the variable out to use the best that this CPU has";
        let chosen = KernelChoice::from_environment().map_err(|error| Refusal { error, hint })?;
        let settings = &read.settings;
        let asked = Some(settings.training.threads).filter(|threads| *threads > 0);
        let compute = Compute::new(options.threads.or(asked))?;
        let folder = settings.output();
        let profiled = options.profiling.profile || settings.profiling.enabled;
        let notes = read.notes.iter().cloned().chain(read.unknown.iter().map(ToString::to_string)).collect();
        Ok(Self { options, settings, folder, compute, chosen, profiled, notes })
    }

    fn train(&self) -> Result<Trained, Failure> {
        let profiling = &self.options.profiling;
        if self.profiled && !profiling.no_save {
            profiling.store.open()?.check()?;
            profiling.tag.as_deref().map_or(Ok(()), store::check_tag)?;
        }
        interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
        let sitting = self.sitting()?;
        let machine = sitting.machine().clone();
        let subject = this_program();
        let (log, screen) = (Log::new(&self.folder), Screen::new(self.options.output.quiet));
        let mut follower = Follower::new(log, screen, &machine);
        follower.build = subject.build.as_ref();
        follower.notes = self.notes.clone();
        if self.profiled {
            let config = lab::profiler(profiling.trace.then_some(TIMELINE));
            follower.profiled = Some((config, Allocated::default()));
        }
        let resume = self.resume();
        let training = training::train(self.settings, resume.as_deref(), &self.compute, &mut follower);
        follower.end();
        let mut training = training.map_err(refused)?;
        follower.amend(&mut training);
        self.shown(training, &follower, sitting)
    }

    /// What to go on from, in the words of the library.
    fn resume(&self) -> Option<PathBuf> {
        let asked = self.options.resume.as_ref()?;
        Some(asked.clone().unwrap_or_else(|| PathBuf::from("latest")))
    }

    /// Limits are measured where rates are set beside them.
    fn sitting(&self) -> Result<EnvironmentRecorder, Failure> {
        let limits = self.profiled && !self.options.profiling.no_limits;
        let mut watch = Bar(progress(PERCENT, ""));
        let sitting = EnvironmentRecorder::begin(self.chosen, limits.then(|| self.compute.pool.threads()), &mut watch);
        watch.0.finish_and_clear();
        let hint = "`--no-limits` trains without measuring what the machine can do";
        Ok(sitting.map_err(|error| Refusal { error, hint })?)
    }
}

/// What is to be said before the first step.
impl Work<'_> {
    /// Everything is made ready as for a training, which ends before its first step. Its checkpoints would be elsewhere: those that are
    /// there are not touched.
    fn check(&self) -> Result<Trained, Failure> {
        let hint = "make room where this system keeps temporary files";
        let folder = lab::Folder::new().map_err(|error| Refusal { error: error.to_string(), hint })?;
        let mut settings = self.settings.clone();
        settings.checkpointing.save_path = Some(folder.path().to_owned());
        let mut planner = Planner::default();
        training::train(&settings, None, &self.compute, &mut planner).map_err(refused)?;
        let mut plan = planner.0.unwrap_or_default();
        plan.notes.splice(..0, self.notes.iter().cloned());
        let machine = lab::machine::machine(&lab::machine::System, self.chosen);
        let text = match self.options.output.json {
            true => TrainingEvent::Started(plan).to_line() + "\n",
            false => report::training_head_text(&plan, Some(&machine), this_program().build.as_ref()),
        };
        Ok(Trained { text, ..Trained::default() })
    }
}

fn refused(error: training::Error) -> Failure {
    Failure { is_input: !error.is_output(), refusal: error.into() }
}

/// What is seen of it afterwards.
impl Work<'_> {
    fn shown(
        &self,
        training: Training,
        follower: &Follower<'_>,
        sitting: EnvironmentRecorder,
    ) -> Result<Trained, Failure> {
        let interrupted = was_interrupted(&training);
        let files = TrainingFiles {
            log: follower.log.path().map(|path| path.display().to_string()),
            curve: follower.log.curve().map(|path| path.display().to_string()),
            resume: if interrupted && was_saved(&training) { self.resume_words() } else { Vec::new() },
        };
        let run = if self.profiled { Some(self.run(&training, follower, sitting)?) } else { None };
        let profiling = &self.options.profiling;
        let kept = run.as_ref().filter(|_| !profiling.no_save);
        let kept = kept.map(|run| shown::save(run, &profiling.store, profiling.tag.as_deref()));
        let id = kept.as_ref().and_then(|kept| kept.as_ref().ok());
        let text = match (&run, self.options.output.json) {
            (Some(run), true) => run.to_json(),
            (None, true) => training.to_json(),
            (Some(run), false) => {
                format!("{}\n{}", report::training_summary_text(&training, &files), shown::text(run, &self.rows(), id))
            }
            (None, false) => report::training_summary_text(&training, &files),
        };
        let not_written = follower.log.fault().map(str::to_owned);
        Ok(Trained { text, interrupted, not_written, not_kept: kept.and_then(Result::err) })
    }

    /// How the report is shown: as many rows as are typed, else as the config says.
    fn rows(&self) -> Shown {
        let shown = &self.options.profiling.shown;
        Shown { top: shown.top.or(self.settings.profiling.report_top_n), ..shown.clone() }
    }

    fn run(&self, training: &Training, follower: &Follower<'_>, sitting: EnvironmentRecorder) -> Result<Run, Failure> {
        let hint = "train without --profile; the model is there already";
        let profile = lab::take_profile().map_err(|error| Refusal { error, hint })?;
        let allocated = follower.profiled.as_ref().and_then(|(_, allocated)| allocated.of_a_step(&profile));
        let name = self.options.path().and_then(|path| path.file_name()).unwrap_or_default();
        let parts = kept::Parts {
            settings: self.settings,
            name: name.to_string_lossy().into_owned(),
            compute: &self.compute,
            training,
            profile,
            allocated,
        };
        Ok(parts.into_run(sitting))
    }

    /// The command that goes on.
    fn resume_words(&self) -> Vec<String> {
        let options = self.options;
        let mut words = vec!["hotloop".to_owned(), "train".to_owned()];
        words.extend(options.path().map(|path| path.display().to_string()));
        words.extend(options.sets.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
        words.extend(options.out.iter().flat_map(|folder| ["--out".to_owned(), folder.display().to_string()]));
        words.extend(options.threads.iter().flat_map(|threads| ["--threads".to_owned(), threads.to_string()]));
        words.extend(options.profiling.profile.then(|| "--profile".to_owned()));
        words.push("--resume".to_owned());
        words
    }
}

/// Whether there is something to go on from.
fn was_saved(training: &Training) -> bool {
    training.events.iter().any(|event| matches!(event, TrainingEvent::Saved(_)))
}

fn was_interrupted(training: &Training) -> bool {
    training.events.iter().any(|event| matches!(event, TrainingEvent::Ended(end) if end.why == "interrupted"))
}
