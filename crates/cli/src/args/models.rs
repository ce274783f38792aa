//! The arguments of `hotloop models`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::profile::{Format, seconds, seed};
use super::{MAX_THREADS, Named, StoreOptions, generate, whole_number};

/// Which models, and how they are measured and shown.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Compare models: speed, memory and quality, share of the machine's limits, scaling",
    after_help = "Examples:\n  \
        hotloop models stories15M-q8_0.gguf stories15M-q4_0.gguf             measure two files in turns\n  \
        hotloop models --models a.gguf,b.gguf --text book.txt --contexts 16,64,128 --threads 1,2\n  \
        hotloop models --synthetic d=64/128/256,layers=2,vocab=512           a family of three sizes\n  \
        hotloop models @latest baseline --format markdown                    runs that were kept\n\n\
        Each launch starts a fresh process of every model, and of the first one a second time as a placebo. In each round of a launch\n\
        every model generates once, in a balanced random order: the same number of prompt tokens and of tokens behind them. A model is\n\
        called faster only beyond a threshold: 2 % by CPU time with one thread, 3 % by wall time otherwise. Files with equal contents\n\
        are the same model and are not ranked. Each model is kept as a run. Quality is the perplexity on a text, a bundled one unless\n\
        --text names another; compare models with other tokenizers by bits per byte.\n\n\
        MODEL is a model file to measure. RUN is an id or a unique beginning of it, @latest, @previous, a tag, or a file.\n\n\
        Ctrl-C ends the measurement: what was measured is reported and saved. A second one ends the program."
)]
pub struct Models {
    /// Models, or runs that were kept.
    #[arg(
        value_name = "MODEL|RUN",
        conflicts_with = "models",
        help = "model files to measure; or runs that were kept, instead of measuring"
    )]
    pub runs: Vec<String>,
    /// Files.
    #[arg(
        long,
        value_name = "F,F,...",
        value_delimiter = ',',
        help = "model files to measure: GGUF, safetensors or llama2.c"
    )]
    pub models: Vec<PathBuf>,
    /// Recipes.
    #[arg(
        long,
        value_name = "SIZES",
        help = "random weights to measure: small, medium, or sizes such as \
        d=128,layers=2,type=q8_0; values with slashes make a family (d=64/128/256); may be given several times"
    )]
    pub synthetic: Vec<String>,
    /// Whether this is the process of one model, which answers requests.
    #[arg(long, hide = true)]
    pub serve: bool,
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub effort: Turns,
    #[command(flatten)]
    pub machine: Machine,
    #[command(flatten)]
    pub output: Output,
}

/// What they are asked to do.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct Work {
    /// Tokens of the prompt.
    #[arg(long, value_name = "N", default_value_t = 32, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--prompt-tokens", 1, 1 << 24), help = "random tokens of the prompt (default 32)")]
    pub prompt_tokens: usize,
    /// Tokens behind it.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 32, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--tokens", 2, 1 << 24), help = "tokens to generate behind it (default 32)")]
    pub tokens: usize,
    /// Prompts of other lengths.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = whole_number("--contexts", 1, 1 << 24), help = "prompts of other lengths too, to see what longer texts cost")]
    pub contexts: Vec<usize>,
    /// A text.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "no_text",
        help = "the text that quality is measured by (default: a bundled one)"
    )]
    pub text: Option<PathBuf>,
    /// None.
    #[arg(long, help = "do not measure quality")]
    pub no_text: bool,
}

/// How often, and for how long.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Repeating")]
pub struct Turns {
    /// Turns.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--repeat", 1, 1_000_000),
        help = "rounds of all models (default: until the time is up or all medians are known to 1 %)")]
    pub repeat: Option<usize>,
    /// Turns before.
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--warmup", 0, 1_000_000), help = "rounds before those that count, in each launch (default 1)")]
    pub warmup: usize,
    /// Seconds.
    #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = seconds,
        help = "seconds for all launches, without --repeat (default 10); at least 3 launches are made")]
    pub time_budget: Option<Duration>,
    /// Chance.
    #[arg(long, value_name = "N", default_value_t = 42, hide_default_value = true, allow_hyphen_values = true, value_parser = seed,
        help = "RNG seed of prompts and of the order of rounds (default 42)")]
    pub seed: u64,
}

/// What computes.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Machine and memory")]
pub struct Machine {
    /// Numbers of threads.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = whole_number("--threads", 1, MAX_THREADS),
        help = "numbers of threads; the figures are those of the most (default: one for each CPU that this process may use)")]
    pub threads: Vec<usize>,
    /// Cells.
    #[arg(long, value_name = "TYPE", default_value = "f16", hide_default_value = true, value_parser = generate::cache_type,
        help = "how keys and values are kept: f32, f16 or q8_0 (default f16)")]
    pub cache: engine::CacheType,
    /// Whether to leave weights where they are.
    #[arg(long, help = "use the weights as they lie in the files: starts at once, computes more slowly")]
    pub in_place: bool,
    /// What bytes are worth.
    #[arg(long, conflicts_with = "in_place", help = "make f32 of quantised weights")]
    pub exact: bool,
    /// Whether to leave the limits out.
    #[arg(long, help = "do not measure what the machine can do: speeds have no share of the limits then")]
    pub no_limits: bool,
    /// Whether a debug build may.
    #[arg(long, help = "measure although this program was built without optimisation; the runs are marked")]
    pub allow_debug: bool,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Whether to print for programs.
    #[arg(long, help = "print JSON")]
    pub json: bool,
    /// How it is written.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Terminal, hide_default_value = true,
        hide_possible_values = true, help = "terminal or markdown (default terminal)")]
    pub format: Format,
    /// Whose layout.
    #[arg(long, value_name = "LAYOUT", value_enum, default_value_t = Layout::Hotloop, hide_default_value = true,
        hide_possible_values = true, help = "hotloop, or that of SmallMind's comparison of models: smallmind (default hotloop)")]
    pub layout: Layout,
    /// Whether to forget it.
    #[arg(long, help = "do not keep the runs")]
    pub no_save: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}

/// Whose layout the comparison has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// Ours.
    Hotloop,
    /// That of SmallMind's profiler.
    Smallmind,
}

impl Models {
    /// What does not go together, or is missing.
    pub fn check(&self) -> Result<(), String> {
        let named = self.named()?;
        if named.is_empty() && self.runs.is_empty() {
            return Err("no models: name model files or runs that were kept, or use --synthetic".to_owned());
        }
        let twice = |(at, one): (usize, &Named)| named[..at].contains(one).then(|| one.name());
        if let Some(name) = named.iter().enumerate().find_map(twice) {
            return Err(format!("{name} is named twice"));
        }
        Ok(())
    }

    /// All models to measure: the files first.
    pub fn named(&self) -> Result<Vec<Named>, String> {
        let files = self.models.iter().map(|file| Named { model: Some(file.clone()), synthetic: None });
        let mut named: Vec<Named> = files.collect();
        for sizes in &self.synthetic {
            named.extend(family(sizes)?.iter().map(|sizes| Named::synthetic(sizes)));
        }
        Ok(named)
    }
}

/// A recipe whose values have slashes is several: the first values, the second ones, and so on.
fn family(sizes: &str) -> Result<Vec<String>, String> {
    let parts: Vec<(&str, Vec<&str>)> = sizes
        .split(',')
        .map(|part| part.split_once('=').map_or((part, vec![""]), |(key, values)| (key, values.split('/').collect())))
        .collect();
    let count = parts.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    if let Some((key, values)) = parts.iter().find(|(_, values)| values.len() > 1 && values.len() != count) {
        return Err(format!("--synthetic {sizes}: {key} has {} values where another has {count}", values.len()));
    }
    let one = |at: usize| {
        let part = |(key, values): &(&str, Vec<&str>)| match values[at.min(values.len() - 1)] {
            "" => (*key).to_owned(),
            value => format!("{key}={value}"),
        };
        parts.iter().map(part).collect::<Vec<_>>().join(",")
    };
    Ok((0..count).map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn of(line: &str) -> Result<Models, String> {
        match parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())? {
            Command::Models(models) => Ok(*models),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn lists_are_read() {
        let models =
            of("models --models a.gguf,b.gguf --threads 1,2 --contexts 16,64 --synthetic d=64/128,layers=2").unwrap();
        let names: Vec<String> = models.named().unwrap().iter().map(Named::name).collect();
        assert_eq!(names, ["a.gguf", "b.gguf", "synthetic d=64,layers=2", "synthetic d=128,layers=2"]);
        assert_eq!((models.machine.threads, models.work.contexts), (vec![1, 2], vec![16, 64]));
        assert_eq!(of("models @latest x").unwrap().runs, ["@latest", "x"]);
        assert_eq!(of("models --synthetic small --synthetic medium").unwrap().named().unwrap().len(), 2);
    }

    #[test]
    fn bad_ones_are_named() {
        for (line, part) in [
            ("models", "no models: name model files or runs"),
            ("models --models a,a", "a is named twice"),
            ("models x --models a", "do not go together"),
            ("models --models a --tokens 1", "--tokens takes a whole number from 2 to 16777216, not `1`"),
            ("models --models a --threads 1,x", "from 1 to 4096, not `x`"),
            ("models --synthetic d=1/2/3,layers=1/2", "layers has 2 values where another has 3"),
            ("models --models a --text b --no-text", "do not go together"),
            ("models --models a --layout loopos", "--layout takes one of hotloop, smallmind, not `loopos`"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
