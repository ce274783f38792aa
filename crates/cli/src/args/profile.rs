//! The arguments of `hotloop profile`, and of `hotloop` alone.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lab::Workload;

use super::values::{cache_type, count, seconds, threads};
use super::{ModelOptions, StoreOptions, is_model_path};

/// Profile a model or kernels: time, memory, share of the limits
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Workloads:
  standard   repeated text generation: time to first token, tok/s, and the call
             tree by step and layer; of MODEL, --synthetic or the bundled model
  deep       the same with a medium model of random weights, and three sizes of
             matrix products
  enhanced   29 rows of kernels, tensors and models, as in SmallMind's profiler,
             each repeated until its median is known to 1 %
  memory     techniques that save memory, measured with and without

The first screen is a summary; --full prints the whole report, and so does
`hotloop report` later. Ctrl-C ends the measurement: what was measured is
reported and saved. A second Ctrl-C ends the program.

Environment:
  HOTLOOP_ISA=NAME    compute with these instructions: scalar, avx2, avx512, neon
  HOTLOOP_CLOCK=os    time scopes by the operating system's clock, not the CPU's
  HOTLOOP_STORE=DIR   folder of the runs
  NO_COLOR=1          no colours

Examples:
  hotloop profile                                  the bundled model
  hotloop profile model.gguf --prompt \"Once upon a time\" --tokens 100
  hotloop profile deep --threads 1 --trace         layer by layer, with a timeline
  hotloop profile enhanced --time-budget 20        kernels, tensors, two models
  hotloop profile memory --json --no-save          for programs")]
pub struct Profile {
    /// Model file to profile, or a workload: standard, deep, enhanced, memory
    /// [default: standard]
    #[arg(value_name = "MODEL|WORKLOAD", num_args = 0..=2, value_parser = target)]
    pub targets: Vec<ProfileTarget>,
    #[command(flatten)]
    pub options: ProfileOptions,
}

/// A word that says what to profile.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileTarget {
    Workload(Workload),
    Model(PathBuf),
}

/// All options but what is profiled.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ProfileOptions {
    #[command(flatten)]
    pub model: ModelOptions,
    /// Prompt; `-` reads standard input [default: 10 random tokens, 32 for deep;
    /// a few words for the bundled model]
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// File with the prompt; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// Tokens of each inference [default: 50; bundled model 160; enhanced and
    /// memory 25]
    #[arg(long, short = 'n', value_name = "N", value_parser = count(1..=1 << 24))]
    pub tokens: Option<usize>,
    #[command(flatten)]
    pub repeats: ProfileRepeats,
    #[command(flatten)]
    pub machine: ProfileMachine,
    #[command(flatten)]
    pub output: ProfileOutput,
}

/// How often, and for how long.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Repeats")]
pub struct ProfileRepeats {
    /// Repeats of each row [default: until its median is known to 1 %, 6 or more]
    #[arg(long, value_name = "N", value_parser = count(1..=1_000_000))]
    pub repeat: Option<usize>,
    /// Untimed repeats before them
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = count(0..=1_000_000))]
    pub warmup: usize,
    /// Seconds for all rows, without --repeat [default: 5; enhanced and memory 10]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_budget: Option<Duration>,
    /// RNG seed of random prompts and of sampling
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}

/// What computes, and with what memory.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Machine and memory")]
pub struct ProfileMachine {
    /// Threads [default: one per available CPU]
    #[arg(long, short, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Format of the KV cache
    #[arg(long, value_name = "TYPE", default_value = "f16", value_parser = cache_type())]
    pub cache: engine::CacheType,
    /// Use the weights as they are in the file: starts at once, computes slower
    #[arg(long)]
    pub in_place: bool,
    /// Convert quantised weights to f32
    #[arg(long, conflicts_with = "in_place")]
    pub exact: bool,
    /// No KV cache: every token computes all tokens before it again
    #[arg(long)]
    pub no_kv_cache: bool,
    /// Keep no scratch memory between tokens
    #[arg(long)]
    pub no_pooling: bool,
    /// Plain loops instead of vector instructions
    #[arg(long)]
    pub naive: bool,
    /// Do not measure the machine's limits: saves 2 seconds, and rates are not
    /// shown as shares of a limit
    #[arg(long)]
    pub no_limits: bool,
    /// Measure even though this program is a debug build; the run is marked
    #[arg(long)]
    pub allow_debug: bool,
}

/// What is printed and saved.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct ProfileOutput {
    /// Record a timeline, too: the last calls of each thread, for `export`
    #[arg(long)]
    pub trace: bool,
    /// Print the run as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the whole report instead of the summary
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub shown: ReportOptions,
    /// Do not save the run
    #[arg(long)]
    pub no_save: bool,
    /// Tag for the run, to find it again
    #[arg(long, value_name = "NAME", conflicts_with = "no_save")]
    pub tag: Option<String>,
    #[command(flatten)]
    pub store: StoreOptions,
}

/// How a report of a run looks.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ReportOptions {
    /// Format of the report
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = TextFormat::Terminal)]
    pub format: TextFormat,
    /// Layout of the report: our own, or that of SmallMind's (a C# engine) or
    /// LoopOS's (a C++ training engine) profiler
    #[arg(long, value_name = "LAYOUT", value_enum, default_value_t = ReportLayout::Hotloop)]
    pub layout: ReportLayout,
    /// Rows of each ranking [default: 12; 15 with --layout loopos]
    #[arg(long, value_name = "N", value_parser = count(1..=10_000))]
    pub top: Option<usize>,
}

impl ReportOptions {
    /// Rows of each ranking of our own layout.
    pub fn rows(&self) -> usize {
        self.top.unwrap_or(12)
    }
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    Terminal,
    Markdown,
}

/// Whose layout a report has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportLayout {
    Hotloop,
    Smallmind,
    Loopos,
}

impl Profile {
    /// The usual workload.
    pub fn without_words(options: ProfileOptions) -> Self {
        Self { targets: Vec::new(), options }
    }

    /// At most one workload and one model.
    pub fn check(&mut self) -> Result<(), String> {
        let (models, workloads): (Vec<_>, Vec<_>) =
            self.targets.drain(..).partition(|target| matches!(target, ProfileTarget::Model(_)));
        if workloads.len() > 1 {
            return Err("two workloads are given; name one".to_owned());
        }
        self.targets = workloads;
        models.into_iter().try_for_each(|target| match target {
            ProfileTarget::Model(file) => self.options.model.set_positional(file),
            ProfileTarget::Workload(_) => Ok(()),
        })
    }

    /// What is measured.
    pub fn workload(&self) -> Workload {
        match self.targets.first() {
            Some(ProfileTarget::Workload(workload)) => *workload,
            _ => Workload::Standard,
        }
    }
}

/// A workload by its name, else a model file.
fn target(word: &str) -> Result<ProfileTarget, String> {
    if let Some(workload) = Workload::ALL.into_iter().find(|workload| workload.name() == word) {
        return Ok(ProfileTarget::Workload(workload));
    }
    if is_model_path(word) {
        return Ok(ProfileTarget::Model(PathBuf::from(word)));
    }
    let names = Workload::ALL.map(Workload::name);
    let meant = crate::suggest::did_you_mean(word, names);
    Err(format!("neither a model file nor a workload ({}){meant}", names.join(", ")))
}
