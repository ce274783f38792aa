//! The arguments of `hotloop duel` whose sides are settings or models of the engine.

use std::path::PathBuf;

use clap::Args;

use super::ModelOptions;

/// Sides that are the engine.
#[derive(Debug, Clone, PartialEq, Default, Args)]
#[command(next_help_heading = "Engine")]
pub struct DuelEngine {
    #[command(flatten)]
    pub model: ModelOptions,
    /// Engine settings of the base, such as kv=off,threads=2
    #[arg(long, value_name = "SETTINGS")]
    pub a: Option<String>,
    /// Engine settings of a candidate; more candidates are --c to --f
    #[arg(long, value_name = "SETTINGS")]
    pub b: Option<String>,
    /// Another candidate.
    #[arg(long, value_name = "SETTINGS", hide = true)]
    pub c: Option<String>,
    /// Another candidate.
    #[arg(long, value_name = "SETTINGS", hide = true)]
    pub d: Option<String>,
    /// Another candidate.
    #[arg(long, value_name = "SETTINGS", hide = true)]
    pub e: Option<String>,
    /// Another candidate.
    #[arg(long, value_name = "SETTINGS", hide = true)]
    pub f: Option<String>,
    /// Engine settings of all sides, which those of a side override
    #[arg(long, value_name = "SETTINGS")]
    pub with: Option<String>,
    /// Require the same tokens of all sides, even with different models or types
    #[arg(long)]
    pub same_output: bool,
    /// Allow different tokens; the report shows how far they agree
    #[arg(long, conflicts_with = "same_output")]
    pub any_output: bool,
    /// Text to compare the quality of the models with, by perplexity
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
}

impl DuelEngine {
    /// The settings of each side, in the order of their letters.
    pub fn sides(&self) -> Vec<&str> {
        [&self.a, &self.b, &self.c, &self.d, &self.e, &self.f].into_iter().flatten().map(String::as_str).collect()
    }

    /// Whether any of these options was given.
    fn is_asked(&self) -> bool {
        *self != Self::default()
    }

    /// Settings of two sides or more, or none; `words` are the other sides.
    pub fn check(&self, words: &[String]) -> Result<(), String> {
        let letters = [&self.a, &self.b, &self.c, &self.d, &self.e, &self.f];
        let (sides, first_gap) = (self.sides().len(), letters.iter().take_while(|side| side.is_some()).count());
        match () {
            () if sides != first_gap => Err("'--a', '--b' and so on must follow each other without a gap".to_owned()),
            () if sides == 1 => Err("a duel needs two sides or more: '--a' and '--b'".to_owned()),
            () if sides > 0 && !words.is_empty() => Err(format!(
                "'{}' cannot be used with '--a' and '--b', which are settings of one model: name it with '--model'",
                words[0]
            )),
            () if sides == 0 && self.model.is_some() => {
                Err("'--model' and '--synthetic' need '--a' and '--b'; to compare two models, name each as a SIDE"
                    .to_owned())
            }
            () => Ok(()),
        }
    }

    /// Options of the engine do not go with commands.
    pub fn only_for_engines(&self) -> Result<(), String> {
        if !self.is_asked() {
            return Ok(());
        }
        Err("'--with', '--same-output', '--any-output' and '--text' need sides that are models: files, small, medium or sizes"
            .to_owned())
    }
}
