//! The arguments of `hotloop train`.

use std::path::PathBuf;

use clap::Args;

use super::{MAX_THREADS, Shown, StoreOptions, whole_number};

/// What to train, and how.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Train a model from a config and a text: checkpoints, a model file, a log, the curve of its loss; profiled with --profile",
    after_help = "Examples:\n  \
        hotloop train tiny.json                                   as the config says; LoopOS's configs are read as they are\n  \
        hotloop train tiny.json --set data.input_file=story.txt   one key otherwise; may be given several times\n  \
        hotloop train -c tiny.json --profile                      where the time of every step goes\n  \
        hotloop train tiny.json --check                           what would be trained, and whether it fits\n  \
        hotloop train tiny.json --resume                          go on behind the last checkpoint, bit for bit\n  \
        hotloop train tiny.json --resume=out/checkpoints/step-00000200.safetensors\n  \
        hotloop generate --model outputs/model.gguf --prompt \"Once upon a time\"\n\n\
        CONFIG is JSON or TOML; `--keys` lists every key. Relative paths in it are relative to it, those of --set to this folder.\n\
        In `data.output_dir` there are model.gguf, checkpoints/, train.jsonl (a line for everything that happens) and loss.svg.\n\n\
        Progress goes to standard error, the summary and the report to standard output. With --profile the run is kept, as\n\
        `hotloop profile` does: `hotloop report`, `history`, `compare` and `export` know it.\n\n\
        Ctrl-C saves a checkpoint and says how to go on; a second one ends the program at once.\n\n\
        Exit codes: 0 done, 1 something cannot be written, 2 bad input, 130 interrupted.\n\n\
        Environment:\n  HOTLOOP_ISA=NAME     compute with these instructions: scalar, avx2, avx512, neon\n  \
        HOTLOOP_STORE=DIR    where runs are kept"
)]
pub struct Train {
    /// The config.
    #[arg(value_name = "CONFIG", help = "what to train: JSON or TOML")]
    pub positional: Option<PathBuf>,
    /// The same, as LoopOS's users type it.
    #[arg(long, short = 'c', value_name = "CONFIG", conflicts_with = "positional", help = "the same")]
    pub config: Option<PathBuf>,
    /// Keys that are otherwise.
    #[arg(
        long = "set",
        value_name = "KEY=VALUE",
        value_parser = assignment,
        help = "a key of the config, otherwise; may be given several times"
    )]
    pub sets: Vec<String>,
    /// Where everything goes.
    #[arg(long, value_name = "DIR", help = "the folder for everything that is written, instead of data.output_dir")]
    pub out: Option<PathBuf>,
    /// What to go on from; no path: the last checkpoint.
    #[arg(
        long,
        value_name = "CHECKPOINT",
        num_args = 0..=1,
        help = "go on behind a checkpoint: the last one, or this one"
    )]
    pub resume: Option<Option<PathBuf>>,
    /// Threads.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--threads", 1, MAX_THREADS),
        help = "threads (default: one for each CPU that this process may use)")]
    pub threads: Option<usize>,
    /// Whether to end before the first step.
    #[arg(
        long,
        visible_alias = "validate",
        conflicts_with_all = ["resume", "profile"],
        help = "read the config and the text, say what would be trained, and end"
    )]
    pub check: bool,
    /// Whether to list the keys.
    #[arg(long, help = "list every key of a config, with what it takes and means, and end")]
    pub keys: bool,
    #[command(flatten)]
    pub profiling: Profiling,
    #[command(flatten)]
    pub output: Output,
}

/// Whether and how it is profiled.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Profile")]
pub struct Profiling {
    /// Whether it is.
    #[arg(long, short = 'p', help = "profile the training, report it and keep the run")]
    pub profile: bool,
    /// A timeline.
    #[arg(
        long,
        requires = "profile",
        help = "keep the last calls of each thread too, for `hotloop export` to show them on a line of time"
    )]
    pub trace: bool,
    /// Whether to leave the limits out.
    #[arg(
        long,
        help = "do not measure what the machine can do: saves 2 seconds, rates have no share of the limit then"
    )]
    pub no_limits: bool,
    #[command(flatten)]
    pub shown: Shown,
    /// Whether to forget it.
    #[arg(long, visible_alias = "no-store", help = "do not keep the run")]
    pub no_save: bool,
    /// A name for it.
    #[arg(long, value_name = "NAME", conflicts_with = "no_save", help = "a name for the run, to find it again")]
    pub tag: Option<String>,
    #[command(flatten)]
    pub store: StoreOptions,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Whether to print for programs.
    #[arg(long, help = "print JSON: all that happened; with --profile the run instead")]
    pub json: bool,
    /// Whether to say little.
    #[arg(long, short = 'q', help = "no progress: the summary alone")]
    pub quiet: bool,
}

impl Train {
    /// Sorts out what was meant.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(mut self: Box<Self>) -> Result<Box<Self>, String> {
        // `--resume CONFIG` is what people type; checkpoints have another ending.
        let is_config = |path: &PathBuf| {
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            ["json", "toml"].contains(&ending.to_lowercase().as_str()) && !path.is_dir()
        };
        if self.config.is_none() && self.positional.is_none() {
            self.positional = self.resume.as_mut().and_then(|path| path.take_if(|path| is_config(path)));
        }
        if self.config.is_none() && self.positional.is_none() && !self.keys {
            return Err("CONFIG is missing".to_owned());
        }
        Ok(self)
    }

    /// The config.
    #[must_use]
    pub fn path(&self) -> Option<&PathBuf> {
        self.positional.as_ref().or(self.config.as_ref())
    }
}

/// `data.input_file=story.txt`; which keys there are the config's reader knows.
fn assignment(text: &str) -> Result<String, String> {
    let wrong = || format!("--set takes KEY=VALUE, such as training.batch_size=8, not `{text}`");
    let key = text.split_once('=').map(|(key, _)| key.trim()).unwrap_or_default();
    if key.is_empty() { Err(wrong()) } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn of(line: &str) -> Result<Train, String> {
        match parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())? {
            Command::Train(train) => Ok(*train),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn both_ways_to_name_a_config() {
        for line in ["train a.json --profile", "train -c a.json -p", "train --profile --config a.json"] {
            let train = of(line).unwrap();
            assert_eq!((train.path(), train.profiling.profile), (Some(&"a.json".into()), true), "{line}");
        }
    }

    #[test]
    fn a_config_behind_resume_is_the_config() {
        for (line, resume) in [
            ("train a.json --resume", None),
            ("train --resume a.json", None),
            ("train -c a.json --resume out/checkpoints/step-1", Some("out/checkpoints/step-1")),
            ("train --resume=out/x a.toml", Some("out/x")),
        ] {
            let train = of(line).unwrap();
            assert!(train.path().is_some(), "{line}");
            assert_eq!(train.resume, Some(resume.map(PathBuf::from)), "{line}");
        }
        assert_eq!(of("train a.json").unwrap().resume, None);
    }

    #[test]
    fn keys_are_set() {
        let train = of("train a.json --set data.input_file=a=b.txt --set training.batch_size=8").unwrap();
        assert_eq!(train.sets, ["data.input_file=a=b.txt", "training.batch_size=8"]);
    }

    #[test]
    fn bad_ones_are_named() {
        for (line, part) in [
            ("train", "CONFIG is missing"),
            ("train --resume", "CONFIG is missing"),
            ("train a.json --set batch", "--set takes KEY=VALUE, such as training.batch_size=8, not `batch`"),
            ("train a.json --set =8", "not `=8`"),
            ("train a.json -c b.json", "do not go together"),
            ("train a.json --check --profile", "do not go together"),
            ("train a.json --threads 0", "--threads takes a whole number from 1 to 4096, not `0`"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
