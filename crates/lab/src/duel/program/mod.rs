//! Any program as a side of a duel: every call is a fresh process of it, and the system counts what it takes.

mod callgrind;
mod copy;
mod layout;
mod merged;
mod output;
mod padding;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kernels::limits::counters::{Event, count_with_children};
use record::{Arm, Better, Build, Difference, Git, Metric, Per, Subject, Workload, WorkloadKind};

use super::differences::{differences, unknown_builds};
use super::{CPU, Conditions, Contestant, INVOLUNTARY_SWITCHES, Launched, MAIN_CPU, RUN_DELAY, Reading, WALL};
use crate::blake3_of;
use crate::command::{Command, CompletedCommand, IsolatedRun, NO_PEAK, Scratch};
use copy::Copy;
use output::ProgramOutput;
use padding::StackPadding;

const PEAK: &str = "peak_rss_bytes";
const INSTRUCTIONS: &str = "instructions";

/// What is measured of every program: name, unit, definition, what a value covers.
const METRICS: &[(&str, &str, &str, Per)] = &[
    (
        WALL,
        "s",
        "from before each process is made until it has ended and was waited for, all calls of a round",
        Per::Sample,
    ),
    (
        "cpu_s",
        "s",
        "CPU time in the program and in the system, of the processes and of those that they waited for",
        Per::Sample,
    ),
    ("user_s", "s", "the part of it in the program", Per::Sample),
    ("system_s", "s", "the part of it in the system", Per::Sample),
    (
        PEAK,
        "bytes",
        "the most resident memory of a process, or of one that it waited for if that is more",
        Per::MaximumOfCalls,
    ),
    (
        "minor_faults",
        "count",
        "pages given to the processes, and to those that they waited for, without reading a disk",
        Per::Sample,
    ),
    ("major_faults", "count", "pages that a disk was read for", Per::Sample),
    (
        "voluntary_switches",
        "count",
        "times that the processes, and those that they waited for, gave a CPU up to wait",
        Per::Sample,
    ),
];

/// Whether a metric has the name of something that is measured here.
fn is_own(name: &str) -> bool {
    name == INSTRUCTIONS || METRICS.iter().any(|(own, ..)| *own == name)
}

/// A program and how it is measured.
#[derive(Debug, Clone, Default)]
pub struct ProgramSettings {
    /// In the words of who asked.
    pub label: String,
    /// The program, and its arguments behind it.
    pub words: Vec<OsString>,
    /// Whether what it prints has to be the same on all sides.
    pub check_output: bool,
    /// Whether to count its instructions by Valgrind.
    pub exact: bool,
    /// The state of its source, where that is known.
    pub git: Option<Git>,
    /// How it was built; what the file itself tells is filled in.
    pub build: Option<Build>,
}

/// A program as a side of a duel.
#[derive(Debug)]
pub struct Program {
    settings: ProgramSettings,
    arm: Arm,
    command: Command,
    /// Its file as it was found.
    file: PathBuf,
    /// A copy of that, once it was asked for; `None` within where it cannot be had.
    copy: Option<Option<Rc<Copy>>>,
    /// Why instructions are counted: by Valgrind, or because the CPU does it anyway.
    counting: Counting,
    /// Metrics of which the value of each call is kept.
    each_call: BTreeSet<String>,
    /// Whether a compiler made the file: a script was built by nobody.
    is_machine_code: bool,
    reports: Rc<RefCell<ProgramReports>>,
}

/// What programs tell while they are measured.
#[derive(Debug, Default)]
struct ProgramReports {
    metrics: BTreeMap<String, Metric>,
    notes: BTreeSet<String>,
}

/// How instructions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    Callgrind,
    Cpu,
    Not,
}

impl Program {
    /// Looks for the program's file, and reads what that tells.
    ///
    /// # Errors
    /// There is no command, or no such program.
    pub fn new(settings: ProgramSettings) -> Result<Self, String> {
        let command = Command::new(settings.words.iter().cloned()).ok_or("empty command")?;
        let name = command.words()[0].clone();
        let file = command.file().ok_or_else(|| format!("no program `{name}`"))?;
        let mut build = settings.build.clone().unwrap_or_default();
        build.binary_blake3 = blake3_of(&file);
        build.profile = build.profile.or_else(|| layout::profile(&file));
        let subject = Subject {
            name: command.name(),
            version: None,
            command: command.words(),
            git: settings.git.clone(),
            build: Some(build),
        };
        let workload =
            Workload { name: "command".to_owned(), kind: Some(WorkloadKind::Command), ..Workload::default() };
        let arm = Arm { label: settings.label.clone(), subject, workload, ..Arm::default() };
        let counting = match settings.exact {
            true => Counting::Callgrind,
            false if cpu_counts() => Counting::Cpu,
            false => Counting::Not,
        };
        let is_machine_code = is_machine_code(&file);
        let each_call = BTreeSet::new();
        Ok(Self {
            settings,
            arm,
            command,
            file,
            copy: None,
            counting,
            each_call,
            is_machine_code,
            reports: Rc::default(),
        })
    }

    /// Keeps the value of each call of these metrics, as a series beside the value of the round: quantiles of calls cannot be
    /// computed from sums.
    #[must_use]
    pub fn with_each_call(mut self, metrics: impl IntoIterator<Item = String>) -> Self {
        self.each_call.extend(metrics);
        self
    }
}

impl Contestant for Program {
    fn arm(&self) -> Arm {
        self.arm.clone()
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let metric = |(name, unit, definition, per): &(&str, &str, &str, Per)| {
            let (definition, unit) = ((*definition).to_owned(), (*unit).to_owned());
            ((*name).to_owned(), Metric { definition, unit, better: Better::Lower, per: Some(*per), exact: false })
        };
        let instructions = match self.counting {
            Counting::Callgrind => {
                Some(("instructions of one call, counted by Valgrind once for each launch", Per::Call))
            }
            Counting::Cpu => {
                Some(("instructions outside the kernel, counted by the CPU, of all calls of a round", Per::Sample))
            }
            Counting::Not => None,
        };
        let instructions = instructions.map(|(definition, per)| metric(&(INSTRUCTIONS, "count", definition, per)));
        let custom = self.reports.borrow().metrics.clone();
        METRICS.iter().map(metric).chain(instructions).chain(custom).collect()
    }

    fn launch(&mut self) -> Result<Box<dyn Launched>, String> {
        self.launch_under(&Conditions::default())
    }

    fn launch_under(&mut self, conditions: &Conditions) -> Result<Box<dyn Launched>, String> {
        let copy = if conditions.copied { self.copy() } else { None };
        Ok(Box::new(Processes {
            command: self.command.clone(),
            padded: conditions.seed.map(|seed| self.padded(seed, copy.as_deref())),
            copy,
            words: self.settings.words.clone(),
            check_output: self.settings.check_output,
            counting: self.counting,
            each_call: self.each_call.clone(),
            counted: None,
            rounds: 0,
            scratch: Scratch::new()?,
            reports: Rc::clone(&self.reports),
        }))
    }

    fn differences(&self, base: &Arm) -> Vec<Difference> {
        let unknown = self.is_machine_code.then(|| unknown_builds(base, &self.arm)).flatten();
        self.reports.borrow_mut().notes.extend(unknown);
        differences(base, &self.arm)
    }

    fn file(&self) -> Option<PathBuf> {
        self.file.canonicalize().ok()
    }

    fn notes(&self) -> Vec<String> {
        self.reports.borrow().notes.iter().cloned().collect()
    }
}

/// Whether a file begins as those of linkers do: ELF, Mach-O or PE.
fn is_machine_code(file: &Path) -> bool {
    let mut start = [0; 4];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start == *b"\x7fELF" || start == [0xcf, 0xfa, 0xed, 0xfe] || start.starts_with(b"MZ"))
}

impl Program {
    /// A copy of its file for an arm that must not share it. Where there is none, the arm runs the file itself, and a note says so.
    fn copy(&mut self) -> Option<Rc<Copy>> {
        let Self { copy, file, reports, .. } = self;
        let made = copy.get_or_insert_with(|| match Copy::of(file) {
            Ok(copy) => Some(Rc::new(copy)),
            Err(why) => {
                let note = format!("two sides run the same file because a copy could not be used: {why}");
                reports.borrow_mut().notes.insert(note);
                None
            }
        });
        made.clone()
    }

    fn padded(&self, seed: u64, copy: Option<&Copy>) -> StackPadding {
        let file = copy.map_or(&self.file, |copy| &copy.file).clone();
        StackPadding::new(file, self.settings.check_output, seed)
    }
}

/// Whether the CPU counts instructions for us.
fn cpu_counts() -> bool {
    let work = || (0..10_000).for_each(|step| _ = std::hint::black_box(step));
    count_with_children(Event::Instructions, work).is_ok_and(|counted| counted > 0)
}

/// One launch: there is no process between the calls.
struct Processes {
    command: Command,
    padded: Option<StackPadding>,
    /// The file that is executed instead of the command's.
    copy: Option<Rc<Copy>>,
    words: Vec<OsString>,
    check_output: bool,
    counting: Counting,
    each_call: BTreeSet<String>,
    /// What Valgrind counted in this launch.
    counted: Option<f64>,
    rounds: u64,
    scratch: Scratch,
    reports: Rc<RefCell<ProgramReports>>,
}

impl Launched for Processes {
    fn round(&mut self, calls: u64, profiled: bool) -> Result<Reading, String> {
        self.rounds += 1;
        if self.counting == Counting::Callgrind && self.counted.is_none() {
            self.counted = Some(callgrind::count(&self.words, &mut self.scratch)?);
        }
        let mut sum = RoundSum::of_calls(&self.each_call);
        let mut profile = None;
        for _ in 0..calls {
            let (ended, instructions) = self.call(profiled)?;
            sum.add(&ended, instructions);
            let unknown = ended.notes.iter().filter(|note| note.starts_with(NO_PEAK));
            self.reports.borrow_mut().notes.extend(unknown.cloned());
            let printed = output::read(BufReader::new(self.scratch.output()?), self.check_output)?;
            self.reports.borrow_mut().metrics.extend(printed.metrics.clone());
            sum.print(printed, self.rounds);
            profile = ended.profile.map(|more| merged::merge(profile.take(), more)).or(profile);
        }
        let mut reading = sum.reading(calls);
        reading.values.extend(self.counted.map(|counted| (INSTRUCTIONS.to_owned(), counted)));
        Ok(Reading { profile, ..reading })
    }
}

impl Processes {
    /// One process, from its start to its end.
    fn call(&mut self, profiled: bool) -> Result<(CompletedCommand, Option<u64>), String> {
        let mut ended = None;
        let mut instructions = None;
        let file = self.copy.as_ref().map(|copy| copy.file.clone());
        let mut apart = IsolatedRun { profiled, file, ..IsolatedRun::default() };
        if let Some(padded) = &mut self.padded {
            padded.apply(&mut apart);
        }
        if self.counting == Counting::Cpu && !profiled {
            let streams = self.scratch.streams()?;
            let run = || ended = Some(self.command.run_apart(streams, &apart));
            instructions = count_with_children(Event::Instructions, run).ok();
        }
        let ended = match ended {
            Some(ended) => ended,
            None => self.command.run_apart(self.scratch.streams()?, &apart),
        };
        let ended = ended.map_err(|error| error.to_string())?;
        match (ended.usage.exit_code, ended.usage.signal) {
            (Some(0), _) => Ok((ended, instructions)),
            (Some(code), _) => Err(format!("exit code {code}: {}", self.scratch.last_words())),
            (None, Some(signal)) => Err(format!("terminated by signal {signal}: {}", self.scratch.last_words())),
            (None, None) => Err(format!("unknown exit status: {}", self.scratch.last_words())),
        }
    }
}

/// What the calls of a round took.
#[derive(Default)]
struct RoundSum {
    values: BTreeMap<&'static str, Option<f64>>,
    /// Sums of what the program printed, and in how many calls it did.
    custom: BTreeMap<String, (f64, u64)>,
    /// The value of each call, of metrics that were asked for.
    series: BTreeMap<String, Vec<f64>>,
    output: Option<String>,
}

impl RoundSum {
    fn of_calls(each_call: &BTreeSet<String>) -> Self {
        Self { series: each_call.iter().map(|name| (name.clone(), Vec::new())).collect(), ..Self::default() }
    }

    fn add(&mut self, ended: &CompletedCommand, instructions: Option<u64>) {
        let CompletedCommand { usage, scheduled, .. } = ended;
        let count = |number: Option<u64>| number.map(|number| number as f64);
        let cpu_s = usage.user_s.zip(usage.system_s).map(|(user, system)| user + system);
        let all = [
            (WALL, Some(usage.wall_s)),
            (CPU, cpu_s),
            (MAIN_CPU, scheduled.map(|scheduled| scheduled.ran_s)),
            (RUN_DELAY, scheduled.map(|scheduled| scheduled.waited_s)),
            ("user_s", usage.user_s),
            ("system_s", usage.system_s),
            (PEAK, count(usage.peak_rss_bytes)),
            ("minor_faults", count(usage.minor_faults)),
            ("major_faults", count(usage.major_faults)),
            ("voluntary_switches", count(usage.voluntary_switches)),
            (INVOLUNTARY_SWITCHES, count(usage.involuntary_switches)),
            (INSTRUCTIONS, count(instructions)),
        ];
        for (name, value) in all {
            if let Some(series) = self.series.get_mut(name) {
                series.extend(value);
            }
            let before = self.values.entry(name).or_insert(Some(0.0));
            // What is not known of one call is not known of the round.
            *before =
                before.zip(value).map(|(before, value)| if name == PEAK { before.max(value) } else { before + value });
        }
    }

    fn print(&mut self, printed: ProgramOutput, round: u64) {
        for (name, value) in printed.values {
            if let Some(series) = self.series.get_mut(&name) {
                series.push(value);
            }
            let (sum, calls) = self.custom.entry(name).or_default();
            (*sum, *calls) = (*sum + value, *calls + 1);
        }
        match (&self.output, printed.output) {
            (None, output) => self.output = output,
            // Told apart from every other round, so that it is seen to vary.
            (Some(first), Some(other)) if *first != other => {
                self.output = Some(format!("{first}, then {other} ({round})"))
            }
            _ => {}
        }
    }

    fn reading(self, calls: u64) -> Reading {
        let values = self.values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        // What some calls kept for themselves is not known of the round: a mean of the others would be of other work.
        let custom = self.custom.into_iter().filter(|(_, (_, printed))| *printed == calls);
        let custom = custom.map(|(name, (sum, printed))| (name, sum / printed as f64));
        let whole = |series: &Vec<f64>| series.len() as u64 == calls && calls > 0;
        let series = self.series.into_iter().filter(|(_, series)| whole(series)).collect();
        Reading { values: values.chain(custom).collect(), series, output: self.output, ..Reading::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_some_calls_printed_is_not_known_of_the_round() {
        let printed = |text: &str| output::read(text.as_bytes(), false).expect("it is right");
        let mut sum = RoundSum::default();
        sum.print(printed("HOTLOOP steps=4\nHOTLOOP hits=10\n"), 1);
        sum.print(printed("HOTLOOP steps=6\n"), 1);
        assert_eq!(sum.reading(2).values, BTreeMap::from([("steps".to_owned(), 5.0)]));
    }

    #[test]
    fn each_call_is_kept_of_what_was_asked_for() {
        let asked = [WALL, "steps", "hits", PEAK].map(str::to_owned).into();
        let mut sum = RoundSum::of_calls(&asked);
        for (wall_s, peak, text) in
            [(0.5, Some(7), "HOTLOOP steps=4\nHOTLOOP hits=10\n"), (0.25, None, "HOTLOOP steps=6\n")]
        {
            let usage =
                record::ProcessUse { wall_s, user_s: Some(0.1), peak_rss_bytes: peak, ..record::ProcessUse::default() };
            sum.add(&CompletedCommand { usage, ..CompletedCommand::default() }, None);
            sum.print(output::read(text.as_bytes(), false).expect("it is right"), 1);
        }
        let reading = sum.reading(2);
        // Neither peak nor hits are known of both calls.
        let expected = [(WALL, vec![0.5, 0.25]), ("steps", vec![4.0, 6.0])];
        assert_eq!(reading.series, expected.map(|(name, values)| (name.to_owned(), values)).into());
        assert_eq!((reading.values[WALL], reading.values["steps"]), (0.75, 5.0));
    }
}
