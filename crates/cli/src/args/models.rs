//! The arguments of `hotloop models`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::{cache_type, count, seconds, threads};
use super::{ModelOptions, StoreOptions, TextFormat};

/// Compare models: speed, memory, quality, scaling
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
MODEL is a model file to measure. RUN is an id or its first four or more digits,
@latest, @previous, a tag, or a file.

Each launch starts a fresh process of every model, and of the first one a second
time as a placebo. In each round of a launch every model generates once, in a
balanced random order: the same number of prompt tokens and of generated tokens.
A model is called faster only above a threshold: 2 % by CPU time with one thread,
3 % by wall time otherwise. Files with equal contents are the same model and are
not ranked. Each model is saved as a run. Quality is the perplexity on a text;
compare models with different tokenizers by bits per byte.

Ctrl-C ends the measurement: what was measured is reported and saved. A second
Ctrl-C ends the program.

Examples:
  hotloop models *.gguf                            measure all of them in turns
  hotloop models --models a.gguf,b.gguf --text book.txt --threads 1,2
  hotloop models --synthetic d=64/128/256,layers=2,vocab=512     three sizes
  hotloop models @latest baseline --format markdown              saved runs")]
pub struct Models {
    /// Model files to measure, or saved runs to compare without measuring
    #[arg(value_name = "MODEL|RUN", conflicts_with = "models")]
    pub runs: Vec<String>,
    /// Model files to measure: GGUF, safetensors or llama2.c
    #[arg(long, value_name = "FILE,...", value_delimiter = ',')]
    pub models: Vec<PathBuf>,
    /// Random weights to measure: small, medium, or sizes such as
    /// d=128,layers=2,type=q8_0; values with slashes make a family
    /// (d=64/128/256); repeat for several
    #[arg(long, value_name = "SIZES")]
    pub synthetic: Vec<String>,
    /// Be the process of one model, which answers requests.
    #[arg(long, hide = true)]
    pub serve: bool,
    #[command(flatten)]
    pub work: ModelsWork,
    #[command(flatten)]
    pub repeats: ModelsRepeats,
    #[command(flatten)]
    pub machine: ModelsMachine,
    #[command(flatten)]
    pub output: ModelsOutput,
}

/// What the models do.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ModelsWork {
    /// Random tokens of the prompt
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = count(1..=1 << 24))]
    pub prompt_tokens: usize,
    /// Tokens to generate after it
    #[arg(long, short = 'n', value_name = "N", default_value_t = 32, value_parser = count(2..=1 << 24))]
    pub tokens: usize,
    /// More prompt lengths, to see how speed depends on the context
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = count(1..=1 << 24))]
    pub contexts: Vec<usize>,
    /// Text to measure quality with [default: a bundled one]
    #[arg(long, value_name = "FILE", conflicts_with = "no_text")]
    pub text: Option<PathBuf>,
    /// Do not measure quality
    #[arg(long)]
    pub no_text: bool,
}

/// How often, and for how long.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Repeats")]
pub struct ModelsRepeats {
    /// Rounds of all models [default: until the time is up, or all medians are
    /// known to 1 %]
    #[arg(long, value_name = "N", value_parser = count(1..=1_000_000))]
    pub repeat: Option<usize>,
    /// Untimed rounds at the beginning of each launch
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count(0..=1_000_000))]
    pub warmup: usize,
    /// Seconds for all launches, without --repeat; at least 3 launches are made
    /// [default: 10]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_budget: Option<Duration>,
    /// RNG seed of prompts and of the order of rounds
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}

/// What computes, and with what memory.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Machine and memory")]
pub struct ModelsMachine {
    /// Numbers of threads; figures are for the largest [default: one per
    /// available CPU]
    #[arg(long, short, value_name = "N,...", value_delimiter = ',', value_parser = threads())]
    pub threads: Vec<usize>,
    /// Format of the KV cache
    #[arg(long, value_name = "TYPE", default_value = "f16", value_parser = cache_type())]
    pub cache: engine::CacheType,
    /// Use the weights as they are in the files: starts at once, computes slower
    #[arg(long)]
    pub in_place: bool,
    /// Convert quantised weights to f32
    #[arg(long, conflicts_with = "in_place")]
    pub exact: bool,
    /// Do not measure the machine's limits; speeds are not shown as shares of
    /// them
    #[arg(long)]
    pub no_limits: bool,
    /// Measure even though this program is a debug build; the runs are marked
    #[arg(long)]
    pub allow_debug: bool,
}

/// What is printed and saved.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct ModelsOutput {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Format of the report
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = TextFormat::Terminal)]
    pub format: TextFormat,
    /// Layout of the report: our own, or that of SmallMind, a C# engine
    #[arg(long, value_name = "LAYOUT", value_enum, default_value_t = ModelsLayout::Hotloop)]
    pub layout: ModelsLayout,
    /// Do not save the runs
    #[arg(long)]
    pub no_save: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}

/// Whose layout the comparison has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModelsLayout {
    Hotloop,
    Smallmind,
}

impl Models {
    /// There is a model, and none twice.
    pub fn check(&self) -> Result<(), String> {
        let named = self.named()?;
        if named.is_empty() && self.runs.is_empty() {
            return Err("no models: name model files or saved runs, or use --synthetic".to_owned());
        }
        let twice = |(at, one): (usize, &ModelOptions)| named[..at].contains(one).then(|| one.name());
        if let Some(name) = named.iter().enumerate().find_map(twice) {
            return Err(format!("{name} is named twice"));
        }
        Ok(())
    }

    /// All models to measure: the files first.
    pub fn named(&self) -> Result<Vec<ModelOptions>, String> {
        let files = self.models.iter().map(|file| ModelOptions { model: Some(file.clone()), synthetic: None });
        let mut named: Vec<ModelOptions> = files.collect();
        for sizes in &self.synthetic {
            named.extend(family(sizes)?.iter().map(|sizes| ModelOptions::synthetic(sizes)));
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
    use super::super::Command;
    use super::super::tests::{assert_refused, command};
    use super::*;

    fn of(line: &str) -> Result<Models, String> {
        command(line).map(|command| match command {
            Command::Models(models) => *models,
            other => panic!("{line}: {other:?}"),
        })
    }

    #[test]
    fn lists_are_read() {
        let models =
            of("models --models a.gguf,b.gguf --threads 1,2 --contexts 16,64 --synthetic d=64/128,layers=2").unwrap();
        let names: Vec<String> = models.named().unwrap().iter().map(ModelOptions::name).collect();
        assert_eq!(names, ["a.gguf", "b.gguf", "synthetic d=64,layers=2", "synthetic d=128,layers=2"]);
        assert_eq!((models.machine.threads, models.work.contexts), (vec![1, 2], vec![16, 64]));
        assert_eq!(of("models @latest x").unwrap().runs, ["@latest", "x"]);
        assert_eq!(of("models --synthetic small --synthetic medium").unwrap().named().unwrap().len(), 2);
    }

    #[test]
    fn bad_ones_are_named() {
        assert_refused(&[
            ("models", &["no models: name model files or saved runs"]),
            ("models --models a,a", &["a is named twice"]),
            ("models x --models a", &["cannot be used with"]),
            ("models --models a --tokens 1", &["1 is not in 2..=16777216"]),
            ("models --models a --threads 1,x", &["invalid value 'x' for '--threads"]),
            ("models --synthetic d=1/2/3,layers=1/2", &["layers has 2 values where another has 3"]),
            ("models --models a --text b --no-text", &["cannot be used with"]),
            ("models --models a --layout loopos", &["[possible values: hotloop, smallmind]"]),
        ]);
    }
}
