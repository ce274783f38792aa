//! The arguments of `hotloop gate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What is to pass, and what is written about it.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Measure what hotloop.toml names, and fail where a change made it worse",
    after_help = "Examples:\n  \
        hotloop gate --init                      write an example of hotloop.toml\n  \
        hotloop gate --dry-run                   what would be measured, and how long that takes at least\n  \
        hotloop gate                             HEAD against where it left the default branch\n  \
        hotloop gate main my-branch --out report verdict.json, comment.md, junit.xml, badge.svg and all samples in report/\n  \
        hotloop gate --cell decode --json\n\n\
        Revisions are built in work trees of their own; what is not committed is not measured.\n\n\
        Exit code: 0 passed, 1 a cell could not be measured or a file not written, 2 bad input, 10 regressed or over budget,\n\
        11 unresolved (with --on-unresolved fail alone), 12 incomparable, 13 unstable, 14 wrong output, 130 interrupted.\n\
        The last line that is printed says the same: VERDICT and a word.\n\n\
        Environment:\n  GITHUB_STEP_SUMMARY=FILE  the comment is added to this file\n  \
        GITHUB_ACTIONS=true       reasons are also printed as annotations\n  \
        GITHUB_BASE_REF=BRANCH    the default branch\n  \
        HOTLOOP_CACHE=DIR         the folder of built revisions"
)]
pub struct Gate {
    /// What was there before.
    #[arg(value_name = "BASE", help = "the revision to compare with (default: where HEAD left the default branch)")]
    pub base: Option<String>,
    /// What is to pass.
    #[arg(value_name = "HEAD", help = "the revision that is to pass (default: HEAD)")]
    pub head: Option<String>,
    /// The file.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "hotloop.toml",
        hide_default_value = true,
        help = "what is measured and what has to hold (default hotloop.toml)"
    )]
    pub config: PathBuf,
    /// The cells.
    #[arg(long = "cell", value_name = "NAME", help = "measure this cell alone; may be given again")]
    pub cells: Vec<String>,
    /// Where the outputs go.
    #[arg(long, value_name = "DIR", help = "write verdict.json, comment.md, junit.xml, badge.svg and the duels there")]
    pub out: Option<PathBuf>,
    /// Whether to print for programs.
    #[arg(long, help = "print verdict.json instead of the report; the last line goes to standard error")]
    pub json: bool,
    /// What becomes of what cannot be told.
    #[arg(long, value_name = "WHAT", value_enum, help = "pass or fail: instead of what the file says")]
    pub on_unresolved: Option<OnUnresolved>,
    /// Whether to say only what would be done.
    #[arg(long, help = "say what would be measured, and measure nothing")]
    pub dry_run: bool,
    /// Whether to write an example.
    #[arg(long, conflicts_with_all = ["base", "head", "cells", "out", "json", "on_unresolved", "dry_run"],
        help = "write a commented example of the file, unless it is there")]
    pub init: bool,
}

/// What becomes of what cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnUnresolved {
    /// It is warned of.
    Pass,
    /// It fails.
    Fail,
}
