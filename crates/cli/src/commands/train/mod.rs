//! `hotloop train`: trains a model, shows how it goes, and profiles it where that is asked for.

mod follower;
mod keys;
mod log;
mod progress_screen;
mod training_run;

use std::path::PathBuf;

use engine::Compute;
use lab::EnvironmentRecorder;
use lab::machine::KernelChoice;
use record::{Run, Training, TrainingEvent};
use report::TrainingFiles;
use training::config::{Read, Settings};

use super::error::{BAD_INPUT, FAILED};
use super::profile::WorkloadProgress;
use super::{
    CommandError, CommandOutput, PERCENT, TIMELINE, documents, interrupt, progress, run_report, save, terminal,
};
use crate::args::{ReportOptions, Train};
use crate::subject::this_program;
use follower::{PlanOnly, StepAllocations, TrainingFollower};
use log::Log;
use progress_screen::ProgressScreen;

/// Trains, saves and shows.
pub fn run(options: &Train) -> Result<CommandOutput, CommandError> {
    if options.keys {
        return Ok(CommandOutput::paged(keys::text()));
    }
    let read = read(options)?;
    let job = TrainingJob::new(options, &read)?;
    if options.check { job.check() } else { job.train() }
}

/// The config, with what the command line says instead of it.
fn read(options: &Train) -> Result<Read, CommandError> {
    let missing = || CommandError::without_hint("no CONFIG: name a JSON or TOML file");
    let path = options.path().ok_or_else(missing)?;
    let mut sets = options.sets.clone();
    sets.extend(options.out.as_ref().map(|folder| format!("data.output_dir={}", folder.display())));
    Ok(training::config::read(path, &sets)?)
}

/// A training with everything that it needs.
struct TrainingJob<'a> {
    options: &'a Train,
    settings: &'a Settings,
    folder: PathBuf,
    compute: Compute,
    chosen: KernelChoice,
    profiled: bool,
    /// What has to be known of the config.
    notes: Vec<String>,
}

impl<'a> TrainingJob<'a> {
    fn new(options: &'a Train, read: &'a Read) -> Result<Self, CommandError> {
        let chosen = KernelChoice::from_environment().map_err(CommandError::instruction_set)?;
        let settings = &read.settings;
        let asked = Some(settings.training.threads).filter(|threads| *threads > 0);
        let threads = options.threads.or(asked);
        terminal::warn_about_threads(threads);
        let compute = Compute::new(threads)?;
        let folder = settings.output();
        let profiled = options.profiling.profile || settings.profiling.enabled;
        let notes = read.notes.iter().cloned().chain(read.unknown.iter().map(ToString::to_string)).collect();
        Ok(Self { options, settings, folder, compute, chosen, profiled, notes })
    }

    fn train(&self) -> Result<CommandOutput, CommandError> {
        let profiling = &self.options.profiling;
        if self.profiled && !profiling.no_save {
            save::check(&profiling.store, profiling.tag.as_deref())?;
        }
        interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
        let environment = self.environment()?;
        let machine = environment.machine().clone();
        let subject = this_program();
        let (log, screen) = (Log::new(&self.folder), ProgressScreen::new());
        let mut follower = TrainingFollower::new(log, screen, &machine);
        follower.build = subject.build.as_ref();
        follower.notes = self.notes.clone();
        if self.profiled {
            let config = lab::profiler(profiling.trace.then_some(TIMELINE));
            follower.profiled = Some((config, StepAllocations::default()));
        }
        let resume = self.resume();
        let training = training::train(self.settings, resume.as_deref(), &self.compute, &mut follower);
        follower.end();
        let mut training = training.map_err(failure)?;
        follower.amend(&mut training);
        self.output(training, &follower, environment)
    }

    /// What to go on from, in the words of the library.
    fn resume(&self) -> Option<PathBuf> {
        let asked = self.options.resume.as_ref()?;
        Some(asked.clone().unwrap_or_else(|| PathBuf::from("latest")))
    }

    /// Limits are measured where rates are set beside them.
    fn environment(&self) -> Result<EnvironmentRecorder, CommandError> {
        let limits = self.profiled && !self.options.profiling.no_limits;
        let mut bar = WorkloadProgress(progress(PERCENT, ""));
        let environment =
            EnvironmentRecorder::begin(self.chosen, limits.then(|| self.compute.pool.threads()), &mut bar);
        bar.0.finish_and_clear();
        let hint = "use --no-limits to train without measuring the machine's limits";
        environment.map_err(|error| CommandError::new(error, hint))
    }
}

/// What is to be said before the first step.
impl TrainingJob<'_> {
    /// Everything is made ready as for a training, which ends before its first step. Its checkpoints would be elsewhere: those that are
    /// there are not touched.
    fn check(&self) -> Result<CommandOutput, CommandError> {
        let hint = "free space in the folder for temporary files, or set TMPDIR";
        let folder = lab::Folder::new().map_err(|error| CommandError::new(error.to_string(), hint))?;
        let mut settings = self.settings.clone();
        settings.checkpointing.save_path = Some(folder.path().to_owned());
        let mut planner = PlanOnly::default();
        training::train(&settings, None, &self.compute, &mut planner).map_err(failure)?;
        let mut plan = planner.0.unwrap_or_default();
        plan.notes.splice(..0, self.notes.iter().cloned());
        let machine = lab::machine::machine(&lab::machine::System, self.chosen);
        let text = match self.options.json {
            true => TrainingEvent::Started(plan).to_line() + "\n",
            false => documents::on_stdout(&report::training_plan(&plan, Some(&machine), this_program().build.as_ref())),
        };
        Ok(CommandOutput::text(text))
    }
}

/// An output that cannot be written is not the fault of the input.
fn failure(error: training::Error) -> CommandError {
    let code = if error.is_output() { FAILED } else { BAD_INPUT };
    CommandError::from(error).with_code(code)
}

/// What is seen of it afterwards.
impl TrainingJob<'_> {
    fn output(
        &self,
        training: Training,
        follower: &TrainingFollower<'_>,
        environment: EnvironmentRecorder,
    ) -> Result<CommandOutput, CommandError> {
        let interrupted = was_interrupted(&training);
        let files = TrainingFiles {
            log: follower.log.path().map(|path| path.display().to_string()),
            curve: follower.log.curve().map(|path| path.display().to_string()),
            resume: if interrupted && was_saved(&training) { self.resume_words() } else { Vec::new() },
        };
        let run = if self.profiled { Some(self.run(&training, follower, environment)?) } else { None };
        let profiling = &self.options.profiling;
        let to_save = run.as_ref().filter(|_| !profiling.no_save);
        let saved = to_save.map(|run| save::save(run, &profiling.store, profiling.tag.as_deref())).transpose();
        let id = saved.as_ref().ok().and_then(Option::as_ref);
        let summary = || documents::on_stdout(&report::training_summary(&training, &files));
        let text = match (&run, self.options.json) {
            (Some(run), true) => run.to_json(),
            (None, true) => training.to_json(),
            (Some(run), false) => {
                format!("{}\n{}", summary(), run_report::full(run, &self.report_options(), id))
            }
            (None, false) => summary(),
        };
        let unwritten = follower.log.fault().map(|fault| CommandError::without_hint(fault).with_code(FAILED));
        let unsaved = saved.err().map(CommandError::of_saving);
        let errors = unwritten.into_iter().chain(unsaved).collect();
        Ok(CommandOutput { errors, interrupted, ..CommandOutput::text(text) })
    }

    /// Rows of rankings: as on the command line, else as in the config.
    fn report_options(&self) -> ReportOptions {
        let shown = &self.options.profiling.shown;
        ReportOptions { top: shown.top.or(self.settings.profiling.report_top_n), ..shown.clone() }
    }

    fn run(
        &self,
        training: &Training,
        follower: &TrainingFollower<'_>,
        environment: EnvironmentRecorder,
    ) -> Result<Run, CommandError> {
        let hint = "the model is saved; train without --profile to avoid this error";
        let profile = lab::take_profile().map_err(|error| CommandError::new(error, hint))?;
        let allocated = follower.profiled.as_ref().and_then(|(_, allocated)| allocated.of_a_step(&profile));
        let name = self.options.path().and_then(|path| path.file_name()).unwrap_or_default();
        let trained = training_run::ProfiledTraining {
            settings: self.settings,
            name: name.to_string_lossy().into_owned(),
            compute: &self.compute,
            training,
            profile,
            allocated,
        };
        Ok(trained.into_run(environment))
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
