//! Receivers of the events of a training: the log, the screen, and the allocations of a step.

use record::{Allocations, Build, Machine, Profile, Training, TrainingEvent, TrainingStart};
use training::TrainingObserver;
use training::data::Progress;

use super::log::Log;
use super::progress_screen::ProgressScreen;
use crate::commands::{interrupt, terminal};

/// Passes every event to the log, the screen and the profiler.
pub struct TrainingFollower<'a> {
    pub log: Log,
    pub screen: ProgressScreen,
    pub machine: &'a Machine,
    pub build: Option<&'a Build>,
    /// Notes on the config.
    pub notes: Vec<String>,
    /// Where the profiler runs: how, and what steps have allocated.
    pub profiled: Option<(hotloop::Config, StepAllocations)>,
    /// Whether the error of the log was shown.
    complained: bool,
}

impl<'a> TrainingFollower<'a> {
    /// Nothing has happened yet.
    pub fn new(log: Log, screen: ProgressScreen, machine: &'a Machine) -> Self {
        Self { log, screen, machine, build: None, notes: Vec::new(), profiled: None, complained: false }
    }

    /// After the last event: clears the moving line.
    pub fn end(&self) {
        self.screen.end();
    }

    /// Adds to what the trainer told at the beginning.
    pub fn amend(&self, training: &mut Training) {
        for event in &mut training.events {
            if let Some(more) = self.with_more(event) {
                *event = more;
            }
        }
    }

    /// The event with what only this program knows: keys that have no effect.
    fn with_more(&self, event: &TrainingEvent) -> Option<TrainingEvent> {
        let TrainingEvent::Started(start) = event else { return None };
        let notes = self.notes.iter().chain(&start.notes).cloned().collect();
        Some(TrainingEvent::Started(TrainingStart { notes, ..start.clone() }))
    }

    /// The profile is that of the steps and what lies between them: it begins before the first and ends behind the last.
    fn profile(&mut self, event: &TrainingEvent) {
        let Some((config, allocated)) = &mut self.profiled else { return };
        match event {
            TrainingEvent::Started(_) => {
                config.start();
                hotloop::reset();
            }
            TrainingEvent::Ended(_) => hotloop::stop(),
            event => allocated.take(event),
        }
    }
}

impl TrainingObserver for TrainingFollower<'_> {
    fn event(&mut self, event: &TrainingEvent) {
        let more = self.with_more(event);
        let event = more.as_ref().unwrap_or(event);
        if let TrainingEvent::Started(start) = event {
            let head = report::training_plan(start, Some(self.machine), self.build);
            self.screen.say(&(head.terminal(terminal::page(&std::io::stderr())) + "\n"));
            self.screen.warn(&start.notes);
        }
        self.screen.take(event);
        self.log.take(event);
        if let Some(fault) = self.log.fault().filter(|_| !self.complained) {
            self.screen.say(&format!("error: {fault}; the training continues\n"));
            self.complained = true;
        }
        self.profile(event);
    }

    fn wants_to_stop(&mut self) -> bool {
        interrupt::is_requested()
    }

    fn warning(&mut self, message: &str) {
        self.screen.say(&format!("warning: {message}\n"));
    }

    fn preparing(&mut self, progress: Progress) {
        self.screen.preparing(progress);
    }
}

/// Stops before the first step, when it is known what would be trained.
#[derive(Debug, Default)]
pub struct PlanOnly(pub Option<TrainingStart>);

impl TrainingObserver for PlanOnly {
    fn event(&mut self, event: &TrainingEvent) {
        if let TrainingEvent::Started(start) = event {
            self.0 = Some(start.clone());
        }
    }

    fn wants_to_stop(&mut self) -> bool {
        self.0.is_some() || interrupt::is_requested()
    }
}

/// What was allocated when the first steps were done, and how many steps came behind them.
#[derive(Debug, Default)]
pub struct StepAllocations {
    steps: u64,
    warm: Option<Allocations>,
}

impl StepAllocations {
    fn take(&mut self, event: &TrainingEvent) {
        if !matches!(event, TrainingEvent::Step(_)) {
            return;
        }
        self.steps += 1;
        if self.steps == lab::training::WARM_UP_STEPS {
            let profile = Profile::from_json(&hotloop::snapshot().to_json());
            self.warm = profile.ok().and_then(|profile| in_batches(&profile));
        }
    }

    /// Allocations of a step once it is warm, and their bytes, by what was recorded until the end.
    pub fn of_a_step(&self, profile: &Profile) -> Option<(f64, f64)> {
        let (before, after) = (self.warm?, in_batches(profile)?);
        let steps = self.steps.checked_sub(lab::training::WARM_UP_STEPS).filter(|steps| *steps > 0)? as f64;
        let each = |after: u64, before: u64| after.saturating_sub(before) as f64 / steps;
        Some((each(after.allocs, before.allocs), each(after.alloc_bytes, before.alloc_bytes)))
    }
}

/// What batches have allocated, without what is told of them. Nothing where allocations are not counted.
fn in_batches(profile: &Profile) -> Option<Allocations> {
    let mut inside = Vec::with_capacity(profile.scopes.len());
    let mut sum: Option<Allocations> = None;
    for scope in &profile.scopes {
        let name = scope.name.rsplit("::").next().unwrap_or_default();
        let above = scope.parent.and_then(|parent| inside.get(parent).copied()).unwrap_or(false);
        let counts = (above || name == "batch") && name != "log";
        inside.push(counts);
        if let Some(own) = scope.allocs.filter(|_| counts) {
            let sum = sum.get_or_insert_default();
            sum.allocs += own.allocs;
            sum.alloc_bytes += own.alloc_bytes;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use record::Scope;

    use super::*;

    fn scope(name: &str, parent: Option<usize>, allocs: u64) -> Scope {
        let own = Allocations { allocs, alloc_bytes: 10 * allocs, ..Allocations::default() };
        Scope { name: name.to_owned(), parent, allocs: Some(own), ..Scope::default() }
    }

    #[test]
    fn what_is_below_batches_counts_and_telling_of_them_does_not() {
        let scopes = vec![
            scope("training::train_epoch", None, 1),
            scope("training::batch", Some(0), 2),
            scope("engine::forward", Some(1), 4),
            scope("training::log", Some(1), 8),
            scope("cli::line", Some(3), 16),
        ];
        let profile = Profile { scopes, ..Profile::default() };
        let found = in_batches(&profile).expect("allocations are counted");
        assert_eq!((found.allocs, found.alloc_bytes), (6, 60));
        let allocated = StepAllocations { steps: 6, warm: Some(Allocations { allocs: 2, ..Allocations::default() }) };
        assert_eq!(allocated.of_a_step(&profile), Some((1.0, 15.0)));
        assert_eq!(StepAllocations { steps: 2, ..allocated }.of_a_step(&profile), None);
        assert_eq!(in_batches(&Profile::default()), None);
    }
}
