//! The arguments of `hotloop train`.

use std::path::PathBuf;

use clap::Args;

use super::values::threads;
use super::{ReportOptions, StoreOptions};

/// Train a model from a config and a text
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
CONFIG is JSON or TOML; configs of LoopOS, a C++ training engine, work unchanged.
--keys lists every key. Relative paths in it start at its folder, those in --set
at the current one. `data.output_dir` receives model.gguf, checkpoints/,
train.jsonl (one line per event) and loss.svg (the curve of the loss).

Progress goes to standard error, summary and report to standard output. With
--profile the run is saved, and `report`, `history`, `compare` and `export` can
use it, as after `hotloop profile`.

Ctrl-C saves a checkpoint and prints the command to continue; a second Ctrl-C
ends the program at once.

Exit codes: 0 done, 1 something cannot be written, 2 bad input, 130 interrupted.

Environment:
  HOTLOOP_ISA=NAME    compute with these instructions: scalar, avx2, avx512, neon
  HOTLOOP_STORE=DIR   folder of the runs

Examples:
  hotloop train tiny.json
  hotloop train tiny.json --set data.input_file=story.txt
  hotloop train tiny.json --profile         where the time of each step goes
  hotloop train tiny.json --check           what would be trained; does it fit?
  hotloop train tiny.json --resume          continue from the last checkpoint
  hotloop train tiny.json --resume=out/checkpoints/step-00000200.safetensors
  hotloop generate outputs/model.gguf \"Once upon a time\"")]
pub struct Train {
    /// What to train: JSON or TOML
    #[arg(value_name = "CONFIG")]
    pub positional: Option<PathBuf>,
    /// The same
    #[arg(long, short = 'c', value_name = "CONFIG", conflicts_with = "positional")]
    pub config: Option<PathBuf>,
    /// Override a key of the config; repeat for several
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub sets: Vec<String>,
    /// Folder for all output, instead of data.output_dir
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue from the last checkpoint, or from this one
    #[arg(long, value_name = "CHECKPOINT", num_args = 0..=1)]
    pub resume: Option<Option<PathBuf>>,
    /// Threads [default: as in the config, else one per available CPU]
    #[arg(long, short, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Read config and text, show what would be trained, and stop
    #[arg(long, visible_alias = "validate", conflicts_with_all = ["resume", "profile"])]
    pub check: bool,
    /// List every key of a config, with its meaning and default, and stop
    #[arg(long)]
    pub keys: bool,
    /// Print JSON: all events; with --profile the run instead
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub profiling: TrainProfile,
}

/// Whether and how it is profiled.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Profile")]
pub struct TrainProfile {
    /// Profile the training, report it and save the run
    #[arg(long, short = 'p')]
    pub profile: bool,
    /// Record a timeline, too: the last calls of each thread, for `export`
    #[arg(long, requires = "profile")]
    pub trace: bool,
    /// Do not measure the machine's limits: saves 2 seconds, and rates are not
    /// shown as shares of a limit
    #[arg(long)]
    pub no_limits: bool,
    #[command(flatten)]
    pub shown: ReportOptions,
    /// Do not save the run
    #[arg(long, visible_alias = "no-store")]
    pub no_save: bool,
    /// Tag for the run, to find it again
    #[arg(long, value_name = "NAME", conflicts_with = "no_save")]
    pub tag: Option<String>,
    #[command(flatten)]
    pub store: StoreOptions,
}

impl Train {
    /// Finds the config.
    ///
    /// # Errors
    /// If there is none.
    pub fn check(&mut self) -> Result<(), String> {
        // `--resume CONFIG` is what people type; checkpoints have another ending.
        let is_config = |path: &PathBuf| {
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            ["json", "toml"].contains(&ending.to_lowercase().as_str()) && !path.is_dir()
        };
        if self.config.is_none() && self.positional.is_none() {
            self.positional = self.resume.as_mut().and_then(|path| path.take_if(|path| is_config(path)));
        }
        if self.config.is_none() && self.positional.is_none() && !self.keys {
            return Err("no CONFIG: name a JSON or TOML file".to_owned());
        }
        Ok(())
    }

    /// The config.
    #[must_use]
    pub fn path(&self) -> Option<&PathBuf> {
        self.positional.as_ref().or(self.config.as_ref())
    }
}

/// `data.input_file=story.txt`; the reader of configs knows which keys exist.
fn assignment(text: &str) -> Result<String, String> {
    let wrong = || "not KEY=VALUE, such as training.batch_size=8".to_owned();
    let key = text.split_once('=').map(|(key, _)| key.trim()).unwrap_or_default();
    if key.is_empty() { Err(wrong()) } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::super::tests::{assert_refused, command};
    use super::*;

    fn of(line: &str) -> Result<Train, String> {
        command(line).map(|command| match command {
            Command::Train(train) => *train,
            other => panic!("{line}: {other:?}"),
        })
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
        assert_refused(&[
            ("train", &["no CONFIG: name a JSON or TOML file"]),
            ("train --resume", &["no CONFIG"]),
            ("train a.json --set batch", &["not KEY=VALUE, such as training.batch_size=8"]),
            ("train a.json --set =8", &["not KEY=VALUE"]),
            ("train a.json -c b.json", &["cannot be used with"]),
            ("train a.json --check --profile", &["cannot be used with"]),
            ("train a.json --threads 0", &["0 is not in 1..=4096"]),
        ]);
    }
}
