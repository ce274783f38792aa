//! The log of a training, one line per event, and the curve of its loss.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use record::TrainingEvent;

use crate::commands::export;

/// The time between two drawings, but for the last: of small models there are hundreds of validations in a second.
const BETWEEN_DRAWINGS: Duration = Duration::from_secs(1);
/// Its name in the folder of the training.
const LOG: &str = "train.jsonl";
const CURVE: &str = "loss.svg";

/// The log file. An error ends the writing, but not the training.
pub struct Log {
    folder: PathBuf,
    file: Option<File>,
    /// The events of the curve, including those before a pause.
    drawn: Vec<TrainingEvent>,
    /// Events after the step that the training resumes from. They may happen again, but are not logged twice.
    logged: Vec<TrainingEvent>,
    last_drawing: Option<Instant>,
    fault: Option<String>,
}

impl Log {
    /// The log in this folder, which is created with the first event.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            file: None,
            drawn: Vec::new(),
            logged: Vec::new(),
            last_drawing: None,
            fault: None,
        }
    }

    /// Why the log could not be written.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|_| self.folder.join(LOG))
    }

    /// The curve, where there is one.
    pub fn curve(&self) -> Option<PathBuf> {
        let path = self.folder.join(CURVE);
        (self.file.is_some() && path.exists()).then_some(path)
    }

    /// Writes a line, and the curve when it has changed enough.
    pub fn take(&mut self, event: &TrainingEvent) {
        if self.fault.is_some() {
            return;
        }
        if let Err((name, error)) = self.try_take(event) {
            self.fault = Some(format!("cannot write {}: {error}", self.folder.join(name).display()));
        }
    }

    fn try_take(&mut self, event: &TrainingEvent) -> Result<(), (&'static str, io::Error)> {
        let of_log = |error: io::Error| (LOG, error);
        if let TrainingEvent::Started(start) = event
            && self.file.is_none()
        {
            self.open(start.resumed_at).map_err(of_log)?;
        }
        if self.logged.iter().any(|told| is_again(told, event)) {
            return Ok(());
        }
        if let Some(file) = &mut self.file {
            let line = event.to_line() + "\n";
            file.write_all(line.as_bytes()).map_err(of_log)?;
        }
        self.remember(event);
        let is_due = || self.last_drawing.is_none_or(|last| last.elapsed() >= BETWEEN_DRAWINGS);
        match event {
            TrainingEvent::Validated(_) | TrainingEvent::Epoch(_) if is_due() => self.draw(),
            TrainingEvent::Ended(_) => self.draw(),
            _ => Ok(()),
        }
    }

    fn remember(&mut self, event: &TrainingEvent) {
        if matches!(event, TrainingEvent::Step(_) | TrainingEvent::Validated(_)) {
            self.drawn.push(event.clone());
        }
    }

    /// Lines after the step that the training resumes from are dropped.
    fn open(&mut self, resumed_at: Option<u64>) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(LOG);
        if resumed_at.is_none() {
            set_aside(&path)?;
        }
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if let Some(step) = resumed_at {
            let kept = self.read_until(&file, step)?;
            file.set_len(kept)?;
            file.seek(SeekFrom::Start(kept))?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// Reads the lines up to a step, and returns their length in bytes. A broken line is where the program was killed.
    fn read_until(&mut self, file: &File, step: u64) -> io::Result<u64> {
        let mut lines = BufReader::new(file);
        let (mut kept, mut line) = (0, Vec::new());
        loop {
            line.clear();
            let length = lines.read_until(b'\n', &mut line)?;
            let event = std::str::from_utf8(&line).ok().and_then(|text| TrainingEvent::from_line(text).ok());
            let Some(event) = event.filter(|_| line.ends_with(b"\n")) else { return Ok(kept) };
            if event.step().is_some_and(|at| at > step) {
                return Ok(kept);
            }
            self.remember(&event);
            if event.step() == Some(step) && !self.logged.iter().any(|told| is_again(told, &event)) {
                self.logged.push(event);
            }
            kept += length as u64;
        }
    }

    /// Draws the curve again, completely or not at all.
    fn draw(&mut self) -> Result<(), (&'static str, io::Error)> {
        self.last_drawing = Some(Instant::now());
        let picture = report::training_curve(&self.drawn);
        export::replace(&self.folder.join(CURVE), picture.as_bytes()).map_err(|error| (CURVE, error))
    }
}

/// Whether two events are about the same: the same kind after the same step, and the same file.
fn is_again(before: &TrainingEvent, now: &TrainingEvent) -> bool {
    let is_same = std::mem::discriminant(before) == std::mem::discriminant(now) && before.step() == now.step();
    match (before, now) {
        (TrainingEvent::Saved(before), TrainingEvent::Saved(now)) => is_same && before.path == now.path,
        _ => is_same && now.step().is_some(),
    }
}

/// Renames the log of an earlier training, so that none is lost.
fn set_aside(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let mut number = 1_u64;
    let aside = |number: u64| path.with_file_name(format!("train-earlier-{number}.jsonl"));
    while aside(number).exists() {
        number += 1;
    }
    fs::rename(path, aside(number))
}

#[cfg(test)]
mod tests {
    use record::{TrainingCheckpoint, TrainingEnd, TrainingEpoch, TrainingStart, TrainingStep, TrainingValidation};

    use super::*;

    fn started(resumed_at: Option<u64>) -> TrainingEvent {
        TrainingEvent::Started(TrainingStart { resumed_at, ..TrainingStart::default() })
    }

    fn step(step: u64) -> TrainingEvent {
        TrainingEvent::Step(TrainingStep { step, loss: 1.0, ..TrainingStep::default() })
    }

    fn steps_of(folder: &Path) -> Vec<Option<u64>> {
        let text = fs::read_to_string(folder.join(LOG)).expect("there is a log");
        text.lines().map(|line| TrainingEvent::from_line(line).expect("every line is an event").step()).collect()
    }

    fn written(folder: &Path, events: &[TrainingEvent]) -> Log {
        let mut log = Log::new(folder);
        events.iter().for_each(|event| log.take(event));
        assert_eq!(log.fault(), None);
        log
    }

    #[test]
    fn no_step_is_there_twice() {
        let folder = lab::Folder::new().expect("a folder can be made");
        written(folder.path(), &[started(None), step(1), step(2), step(3)]);
        // Killed while it wrote.
        let mut file = OpenOptions::new().append(true).open(folder.path().join(LOG)).expect("it is there");
        file.write_all(b"{\"event\":\"step\",\"st").expect("it can be written");
        written(folder.path(), &[started(Some(2)), step(3), step(4)]);
        assert_eq!(steps_of(folder.path()), [None, Some(1), Some(2), None, Some(3), Some(4)]);
        let log = written(folder.path(), &[started(Some(4))]);
        assert_eq!((steps_of(folder.path()).len(), log.drawn.len()), (7, 4), "nothing is lost, and all of it is drawn");
        written(folder.path(), &[started(None)]);
        assert_eq!(steps_of(folder.path()), [None], "a new training starts a new log");
        let earlier = fs::read_to_string(folder.path().join("train-earlier-1.jsonl")).expect("the old one is kept");
        assert_eq!(earlier.lines().count(), 7);
    }

    /// A training that is gone on from behind its last step validates and saves again.
    #[test]
    fn what_follows_a_step_is_not_there_twice() {
        let folder = lab::Folder::new().expect("a folder can be made");
        let validated = |step| TrainingEvent::Validated(TrainingValidation { step, ..TrainingValidation::default() });
        let saved = |step, path: &str| {
            TrainingEvent::Saved(TrainingCheckpoint { step, path: path.to_owned(), ..TrainingCheckpoint::default() })
        };
        let end = [validated(2), saved(2, "best"), saved(2, "step-2"), TrainingEvent::Ended(TrainingEnd::default())];
        written(folder.path(), &[&[started(None), step(1), step(2)], &end[..]].concat());
        for _ in 0..2 {
            let log = written(folder.path(), &[&[started(Some(2))], &end[..]].concat());
            assert_eq!(log.drawn.len(), 3);
        }
        let two = Some(2);
        let expected = [None, Some(1), two, two, two, two, None, None, None, None, None];
        assert_eq!(steps_of(folder.path()), expected);
        // Behind the next step it is something else.
        written(folder.path(), &[started(Some(2)), step(3), validated(3), saved(3, "best")]);
        assert_eq!(steps_of(folder.path())[11..], [None, Some(3), Some(3), Some(3)]);
    }

    #[test]
    fn the_curve_is_there_from_the_first_validation_on() {
        let folder = lab::Folder::new().expect("a folder can be made");
        let validated = TrainingEvent::Validated(TrainingValidation { step: 1, ..TrainingValidation::default() });
        assert_eq!(written(folder.path(), &[started(None), step(1)]).curve(), None);
        let log = written(folder.path(), &[started(None), step(1), validated]);
        assert_eq!(log.curve(), Some(folder.path().join(CURVE)));
        let events = [TrainingEvent::Epoch(TrainingEpoch::default()), TrainingEvent::Ended(TrainingEnd::default())];
        let other = lab::Folder::new().expect("a folder can be made");
        written(other.path(), &[&[started(None)], &events[..]].concat());
        let names: Vec<_> =
            fs::read_dir(other.path()).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names.len(), 2, "nothing is left over: {names:?}");
    }

    #[test]
    fn what_cannot_be_written_is_said_once() {
        let folder = lab::Folder::new().expect("a folder can be made");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("it can be written");
        let mut log = Log::new(&file);
        log.take(&started(None));
        log.take(&step(1));
        let fault = log.fault().expect("it cannot be written");
        assert!(fault.starts_with("cannot write ") && fault.contains("train.jsonl: "), "{fault}");
        assert_eq!(log.path(), None);
    }
}
