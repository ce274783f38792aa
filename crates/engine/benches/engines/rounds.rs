//! Rounds: everyone is launched in turn, again and again.

use crate::arms::{Arm, Speeds};
use crate::launch::{Launch, Watch, launch};
use crate::limits::Limits;
use crate::models::{Row, Work};
use crate::options::Options;
use crate::store::Files;

/// So many rounds begin with a launch that ends after one token.
const STARTS: usize = 2;

/// What one contender did in one row.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// Its column.
    pub name: &'static str,
    /// Whether it is not one of ours.
    pub is_peer: bool,
    /// Of all launches.
    pub speeds: Speeds,
    /// From the start of the process to its end after one token, each.
    pub starts: Vec<f64>,
    /// The most that a launch held.
    pub peak_bytes: Option<u64>,
    /// Why it was left out from some round on.
    pub failure: Option<String>,
}

/// One row with everyone's results.
pub struct Contest {
    /// What was measured.
    pub row: Row,
    /// In the order of the columns; those that do not know the weights are not there.
    pub entries: Vec<Entry>,
    /// What the machine allows.
    pub limits: Limits,
}

/// Launches everyone as often as the options say, in an order that changes from round to round.
pub fn run(row: &Row, files: &Files, arms: &[Arm], options: &Options) -> Contest {
    let able: Vec<&Arm> = arms.iter().filter(|arm| arm.command(row, files, row.start()).is_some()).collect();
    let mut entries: Vec<Entry> =
        able.iter().map(|arm| Entry { name: arm.name, is_peer: arm.is_peer(), ..Entry::default() }).collect();
    let before = Limits::measure(row, options.limit());
    let work = row.work(options.launch_seconds());
    for round in 0..options.rounds(row) {
        for turn in order(able.len(), round) {
            let (arm, entry) = (able[turn], &mut entries[turn]);
            if entry.failure.is_some() {
                continue;
            }
            let course = Course { row, files, work, starts: round < STARTS };
            entry.failure = entry.take_turn(arm, &course).err();
        }
    }
    Contest { row: *row, entries, limits: before.max(Limits::measure(row, options.limit())) }
}

/// Each round begins with the next one, and every other round goes backwards: nobody always follows the same neighbour.
fn order(count: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).map(|turn| (turn + round) % count).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// What a turn consists of.
struct Course<'a> {
    row: &'a Row,
    files: &'a Files,
    work: Work,
    /// Whether it begins with a launch that ends after one token.
    starts: bool,
}

impl Course<'_> {
    fn launch(&self, arm: &Arm, work: Work, watch: Watch) -> Result<Launch, String> {
        launch(arm.command(self.row, self.files, work).ok_or("it has no program for this")?, watch)
    }
}

impl Entry {
    fn take_turn(&mut self, arm: &Arm, course: &Course) -> Result<(), String> {
        if course.starts {
            self.starts.push(course.launch(arm, course.row.start(), Watch::End)?.seconds);
        }
        let launch = course.launch(arm, course.work, Watch::Memory)?;
        let speeds = arm.read(&launch.printed)?;
        if speeds.decode.is_empty() {
            return Err("it gave no figures".to_owned());
        }
        self.speeds.prefill.extend(speeds.prefill);
        self.speeds.decode.extend(speeds.decode);
        self.peak_bytes = self.peak_bytes.max(launch.peak_bytes);
        Ok(())
    }
}

impl Contest {
    /// Whether something is wrong with our own engine.
    pub fn ours_failed(&self) -> bool {
        self.entries.iter().any(|entry| !entry.is_peer && entry.failure.is_some())
    }

    /// The row's name with its threads.
    pub fn name(&self) -> String {
        let threads =
            if self.row.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.row.threads) };
        format!("{}, {threads}", self.row.name())
    }

    /// A line for those who wait.
    pub fn progress(&self) -> String {
        let rates = |rates: &[f64]| {
            let both = best(rates).zip(median(rates));
            both.map_or("–".to_owned(), |(best, median)| format!("{best:.0} / {median:.0}"))
        };
        let line = |entry: &Entry| match &entry.failure {
            Some(why) => format!("{}: {why}", entry.name),
            None => format!("{} {}, {}", entry.name, rates(&entry.speeds.prefill), rates(&entry.speeds.decode)),
        };
        let all: Vec<String> = self.entries.iter().map(line).collect();
        format!("{}: prefill, decode: {}", self.name(), all.join("; "))
    }
}

/// Half of them are lower.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The highest.
pub fn best(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}
