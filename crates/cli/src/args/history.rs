//! The arguments of `hotloop history`.

use clap::{Args, Subcommand};

use super::{StoreOptions, whole_number};

/// Runs that are listed unless another number is asked for.
const LIMIT: usize = 20;
/// More than anybody keeps.
const MOST_RUNS: usize = 1_000_000_000;

/// Which runs to list, or what to do with some.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "The runs that are kept: list, show, tag, remove",
    after_help = "RUN is an id, four or more of its first digits, @latest, @previous, a tag; `show` takes a file too.\n\n\
        Examples:\n  \
          hotloop history --workload deep --since 2026-03-01\n  \
          hotloop history tag @latest baseline\n  \
          hotloop history show baseline --json > baseline.json\n  \
          hotloop history remove 3f2a 91c04d\n\n\
        Environment:\n  HOTLOOP_STORE=DIR   the folder of the runs"
)]
pub struct History {
    #[command(flatten)]
    pub store: StoreOptions,
    #[command(flatten)]
    pub list: List,
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct List {
    /// The workload.
    #[arg(long, value_name = "NAME", help = "runs of this workload")]
    pub workload: Option<String>,
    /// A part of the model's name.
    #[arg(long, value_name = "TEXT", help = "runs with a model whose name has this in it, in letters of any size")]
    pub model: Option<String>,
    /// The beginning of the commit.
    #[arg(long, value_name = "COMMIT", help = "runs of a commit that begins with this")]
    pub commit: Option<String>,
    /// The tag.
    #[arg(long, value_name = "NAME", help = "the run with this tag")]
    pub tag: Option<String>,
    /// The first moment.
    #[arg(long, value_name = "DATE", value_parser = since,
        help = "runs that began then or later: 2026-03-01, or 2026-03-01T12:00:00Z")]
    pub since: Option<i64>,
    /// How many.
    #[arg(long, value_name = "N", help = format!("the most runs to list (default {LIMIT})"), default_value_t = LIMIT,
        hide_default_value = true, allow_hyphen_values = true, value_parser = whole_number("--limit", 1, MOST_RUNS))]
    pub limit: usize,
    /// Whether to print for programs.
    #[arg(long, help = "print JSON")]
    pub json: bool,
}

/// What to do with runs.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Action {
    #[command(about = "What is known of a run; with --json the run itself")]
    Show {
        #[arg(value_name = "RUN", help = "the run")]
        run: String,
        #[arg(long, help = "print the run as it was saved, byte for byte")]
        json: bool,
    },
    #[command(about = "Give a run a name; who had it before loses it")]
    Tag {
        #[arg(value_name = "RUN", help = "the run")]
        run: String,
        #[arg(value_name = "NAME", help = "letters, digits, `.`, `_` and `-`")]
        name: String,
    },
    #[command(about = "Take a name away; the run stays")]
    Untag {
        #[arg(value_name = "NAME", help = "the tag")]
        name: String,
    },
    #[command(about = "Remove runs for good, without asking")]
    Remove {
        #[arg(value_name = "RUN", help = "the runs", required = true)]
        runs: Vec<String>,
        #[arg(long, help = "also those that have tags; the tags go with them")]
        force: bool,
    },
    #[command(about = "Read all runs and make the index again")]
    Reindex,
    #[command(about = "Where the runs are")]
    Path,
}

impl History {
    /// What does not go together.
    pub fn check(&self) -> Result<(), String> {
        let List { workload, model, commit, tag, since, limit, json } = &self.list;
        let options = [
            ("--workload", workload.is_some()),
            ("--model", model.is_some()),
            ("--commit", commit.is_some()),
            ("--tag", tag.is_some()),
            ("--since", since.is_some()),
            ("--limit", *limit != LIMIT),
            ("--json", *json),
        ];
        match options.iter().find(|(_, is_given)| self.action.is_some() && *is_given) {
            Some((option, _)) => Err(format!("`{option}` is for the list and does not go before another command")),
            None => Ok(()),
        }
    }
}

fn since(value: &str) -> Result<i64, String> {
    let wrong =
        || format!("--since takes a day such as 2026-03-01 or a moment such as 2026-03-01T12:00:00Z, not `{value}`");
    store::moment(value).ok_or_else(wrong)
}
