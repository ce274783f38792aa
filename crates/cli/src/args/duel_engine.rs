//! The arguments of `hotloop duel` for sides that are the engine: its settings, or its models.

use std::path::PathBuf;

use clap::Args;

use super::Named;

/// Sides that are the engine.
#[derive(Debug, Clone, PartialEq, Default, Args)]
#[command(next_help_heading = "The engine")]
pub struct DuelEngine {
    #[command(flatten)]
    pub named: Named,
    /// The base.
    #[arg(long, value_name = "SETTINGS", help = "the base: settings of the engine, such as kv=off,threads=2")]
    pub a: Option<String>,
    /// A candidate.
    #[arg(long, value_name = "SETTINGS", help = "the settings of a candidate, and so on up to --f")]
    pub b: Option<String>,
    /// Another one.
    #[arg(long, value_name = "SETTINGS", hide = true)]
    pub c: Option<String>,
    /// Another one.
    #[arg(long, value_name = "SETTINGS", hide = true)]
    pub d: Option<String>,
    /// Another one.
    #[arg(long, value_name = "SETTINGS", hide = true)]
    pub e: Option<String>,
    /// Another one.
    #[arg(long, value_name = "SETTINGS", hide = true)]
    pub f: Option<String>,
    /// What all have.
    #[arg(long, value_name = "SETTINGS", help = "settings of all sides, which their own may change")]
    pub with: Option<String>,
    /// Whether other tokens are wrong.
    #[arg(long, help = "all sides must put out the same tokens, even where models, types or caches differ")]
    pub same_output: bool,
    /// Whether they never are.
    #[arg(
        long,
        conflicts_with = "same_output",
        help = "sides may put out other tokens: it is only told how far they agree"
    )]
    pub any_output: bool,
    /// What models are to read.
    #[arg(long, value_name = "FILE", help = "a text: tell how well the sides' models know it, by their perplexity")]
    pub text: Option<PathBuf>,
}

impl DuelEngine {
    /// The settings of each side, in the order of their letters.
    pub fn sides(&self) -> Vec<&str> {
        [&self.a, &self.b, &self.c, &self.d, &self.e, &self.f].into_iter().flatten().map(String::as_str).collect()
    }

    /// Whether anything of this was asked for.
    fn is_asked(&self) -> bool {
        *self != Self::default()
    }

    /// What the parser cannot see: `words` are the sides that are no settings.
    pub fn check(&self, words: &[String]) -> Result<(), String> {
        let letters = [&self.a, &self.b, &self.c, &self.d, &self.e, &self.f];
        let (sides, first_gap) = (self.sides().len(), letters.iter().take_while(|side| side.is_some()).count());
        match () {
            () if sides != first_gap => Err("--a, --b and so on are given without a gap".to_owned()),
            () if sides == 1 => Err("a duel needs two sides or more: --a and --b".to_owned()),
            () if sides > 0 && !words.is_empty() => Err(format!(
                "`{}` does not go with --a and --b: settings are of one model; name it by --model",
                words[0]
            )),
            () if sides == 0 && self.named.is_some() => {
                Err("--model and --synthetic go with --a and --b; two models are two SIDEs".to_owned())
            }
            () => Ok(()),
        }
    }

    /// What makes no sense where the sides are commands.
    pub fn only_for_engines(&self) -> Result<(), String> {
        if !self.is_asked() {
            return Ok(());
        }
        Err("--with, --same-output, --any-output and --text are for sides that are models: a file of one, or small, medium or sizes"
            .to_owned())
    }
}
