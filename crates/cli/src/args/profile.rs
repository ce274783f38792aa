//! The arguments of `hotloop profile`, and of `hotloop` alone.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{MAX_THREADS, Named, generate, whole_number};

/// What to profile, and how.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Measure a model or kernels: where the time and the memory go, and how far that is from what the machine can do",
    after_help = "Examples:\n  \
        hotloop profile                                        the bundled model, which tells a story: as `hotloop` alone\n  \
        hotloop profile --model stories15M-q8_0.gguf --prompt \"Once upon a time\" --tokens 100\n  \
        hotloop profile deep --threads 1 --trace               the medium model, layer by layer, with a timeline\n  \
        hotloop profile enhanced --time-budget 20              29 rows: kernels, tensors, two models\n  \
        hotloop profile memory --json --no-save                what pooling, working in place and fusing save\n\n\
        Workloads:\n  \
        standard   a model generates: time to first token, time per token, tokens/s, the call tree by step and layer;\n  \
                   the bundled one, or --model FILE, or --synthetic small for SmallMind's\n  \
        deep       the same with SmallMind's medium model, and products of matrices of three sizes\n  \
        enhanced   the 29 rows of SmallMind's profiler, each warmed up and repeated until its median is known to 1 %\n  \
        memory     ideas that save memory, measured with and without\n\n\
        Ctrl-C ends the measuring: what was measured is reported and saved. A second one ends the program.\n\n\
        Environment:\n  HOTLOOP_ISA=NAME     compute with these instructions: scalar, avx2, avx512, neon\n  \
        HOTLOOP_CLOCK=os     time scopes by the operating system's clock, not the CPU's counter\n  \
        HOTLOOP_STORE=DIR    where runs are kept\n  \
        NO_COLOR=1           no colours"
)]
pub struct Profile {
    /// The work.
    #[arg(value_name = "WORKLOAD", value_parser = workload, default_value = "standard", hide_default_value = true,
        help = "standard, deep, enhanced or memory (default standard)")]
    pub workload: lab::Workload,
    #[command(flatten)]
    pub what: What,
}

/// All but the workload.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct What {
    #[command(flatten)]
    pub named: Named,
    /// The text to go on from.
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "prompt_file",
        allow_hyphen_values = true,
        help = "the text to go on from (default: 10 random tokens, 32 for deep; a few words for the bundled model)"
    )]
    pub prompt: Option<String>,
    /// Where it is.
    #[arg(long, value_name = "FILE", help = "a file with that text")]
    pub prompt_file: Option<PathBuf>,
    /// How many tokens.
    #[arg(long, short = 'n', value_name = "N", allow_hyphen_values = true,
        value_parser = whole_number("--tokens", 1, 1 << 24), help = "tokens of each inference (default 50; 160 of the bundled model; enhanced and memory 25)")]
    pub tokens: Option<usize>,
    #[command(flatten)]
    pub effort: Effort,
    #[command(flatten)]
    pub machine: Machine,
    #[command(flatten)]
    pub output: Output,
}

/// How often, and for how long.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Repeating")]
pub struct Effort {
    /// Repeats.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--repeat", 1, 1_000_000),
        help = "repeat each row so often (default: until its median is known to 1 %, at least 6 times)")]
    pub repeat: Option<usize>,
    /// Repeats before.
    #[arg(long, value_name = "N", default_value_t = 2, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--warmup", 0, 1_000_000), help = "repeats before those that count (default 2)")]
    pub warmup: usize,
    /// Seconds.
    #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = seconds,
        help = "seconds for all rows together, without --repeat (default 5; enhanced and memory 10)")]
    pub time_budget: Option<Duration>,
    /// Chance.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 42,
        hide_default_value = true,
        allow_hyphen_values = true,
        value_parser = seed,
        help = "what random prompts and choices follow from (default 42)"
    )]
    pub seed: u64,
}

/// What computes, and with what memory.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Machine and memory")]
pub struct Machine {
    /// Threads.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--threads", 1, MAX_THREADS),
        help = "threads (default: one for each CPU that this process may use)")]
    pub threads: Option<usize>,
    /// Cells.
    #[arg(long, value_name = "TYPE", default_value = "f16", hide_default_value = true, value_parser = generate::cache_type,
        help = "how keys and values are kept: f32, f16 or q8_0 (default f16)")]
    pub cache: engine::CacheType,
    /// Whether to leave weights where they are.
    #[arg(long, help = "use the weights as they lie in the file: starts at once, computes more slowly")]
    pub in_place: bool,
    /// What bytes are worth.
    #[arg(long, conflicts_with = "in_place", help = "make f32 of quantised weights")]
    pub exact: bool,
    /// What keeping keys and values is worth.
    #[arg(long, help = "keep no keys and values: every token computes all before it again")]
    pub no_kv_cache: bool,
    /// What keeping memory is worth.
    #[arg(long, help = "keep no scratch memory between tokens")]
    pub no_pooling: bool,
    /// What vectors are worth.
    #[arg(long, help = "plain loops instead of vector instructions")]
    pub naive: bool,
    /// Whether to leave the limits out.
    #[arg(
        long,
        help = "do not measure what the machine can do: saves 2 seconds, rates have no share of the limit then"
    )]
    pub no_limits: bool,
    /// Whether a debug build may.
    #[arg(long, help = "measure although this program was built without optimisation; the run is marked")]
    pub allow_debug: bool,
}

/// What becomes of the run.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// A timeline.
    #[arg(long, help = "keep the last calls of each thread too, for `hotloop export` to show them on a line of time")]
    pub trace: bool,
    /// Whether to print for programs.
    #[arg(long, help = "print the run as JSON")]
    pub json: bool,
    /// Whether to print everything.
    #[arg(long, help = "print the whole report with all tables, not the summary of one screen")]
    pub full: bool,
    #[command(flatten)]
    pub shown: Shown,
    /// Whether to forget it.
    #[arg(long, help = "do not keep the run")]
    pub no_save: bool,
    /// A name for it.
    #[arg(long, value_name = "NAME", conflicts_with = "no_save", help = "a name for the run, to find it again")]
    pub tag: Option<String>,
    #[command(flatten)]
    pub store: super::StoreOptions,
}

/// How a run is shown.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct Shown {
    /// How it is written.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Terminal, hide_default_value = true,
        hide_possible_values = true, help = "terminal or markdown (default terminal)")]
    pub format: Format,
    /// Whose layout.
    #[arg(long, value_name = "LAYOUT", value_enum, default_value_t = Layout::Hotloop, hide_default_value = true,
        hide_possible_values = true, help = "hotloop, or that of SmallMind's or LoopOS's profiler: smallmind, loopos (default hotloop)")]
    pub layout: Layout,
    /// Rows of each ranking.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--top", 1, 10_000),
        help = "rows of each ranking (default 12; 15 in LoopOS's layout)")]
    pub top: Option<usize>,
    /// Whether to use colour.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, hide_default_value = true,
        hide_possible_values = true, help = "use colour: auto, always or never (default auto: on a terminal, unless NO_COLOR is set)")]
    pub color: Color,
}

impl Shown {
    /// Rows of each ranking of our own layout.
    pub fn rows(&self) -> usize {
        self.top.unwrap_or(12)
    }
}

/// When text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal that can show it.
    Auto,
    /// Also in a file.
    Always,
    /// Nowhere.
    Never,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    Terminal,
    /// As Markdown.
    Markdown,
}

/// Whose layout a report has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// Ours.
    Hotloop,
    /// SmallMind's profiler's.
    Smallmind,
    /// LoopOS's profiler's.
    Loopos,
}

fn workload(value: &str) -> Result<lab::Workload, String> {
    let names = || lab::Workload::ALL.map(lab::Workload::name).join(", ");
    let found = lab::Workload::ALL.into_iter().find(|workload| workload.name() == value);
    found.ok_or_else(|| format!("there is no workload `{value}`; there are {}", names()))
}

pub(super) fn seed(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("--seed takes a whole number from 0 to {}, not `{value}`", u64::MAX))
}

pub(super) fn seconds(value: &str) -> Result<Duration, String> {
    let wrong = || format!("--time-budget takes a number of seconds from 0.1 to 86400, not `{value}`");
    let number: f64 = value.parse().ok().filter(|number| (0.1..=86_400.0).contains(number)).ok_or_else(wrong)?;
    Ok(Duration::from_secs_f64(number))
}
