//! The arguments of `hotloop gate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Fail if a change made something in hotloop.toml worse
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Revisions are built in work trees of their own. Uncommitted changes are not
measured.

Exit codes: 0 passed, 1 a cell could not be measured or a file not be written,
2 bad input, 10 regressed or over budget, 11 undecided (only with
--on-unresolved fail), 12 not comparable, 13 unstable machine, 14 wrong output,
130 interrupted. The last line of the output is VERDICT and a word.

Environment:
  GITHUB_STEP_SUMMARY=FILE  append the comment to this file
  GITHUB_ACTIONS=true       print the reasons as annotations, too
  GITHUB_BASE_REF=BRANCH    the default branch
  HOTLOOP_CACHE=DIR         folder for built revisions

Examples:
  hotloop gate --init                 write an example of hotloop.toml
  hotloop gate --dry-run              show what would be measured, and how long
  hotloop gate                        HEAD against its fork from the main branch
  hotloop gate main my-branch -o out  and write all results to out/
  hotloop gate --cell decode --json")]
pub struct Gate {
    /// Revision to compare with [default: where HEAD left the default branch]
    #[arg(value_name = "BASE")]
    pub base: Option<String>,
    /// Revision to judge [default: HEAD]
    #[arg(value_name = "HEAD")]
    pub head: Option<String>,
    /// File that says what to measure and what must hold
    #[arg(long, value_name = "FILE", default_value = "hotloop.toml")]
    pub config: PathBuf,
    /// Measure only this cell; repeat for several
    #[arg(long = "cell", value_name = "NAME")]
    pub cells: Vec<String>,
    /// Folder for verdict.json, comment.md, junit.xml, badge.svg and the duels
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print verdict.json instead of the report; VERDICT goes to standard error
    #[arg(long)]
    pub json: bool,
    /// What an undecided cell does [default: as in the file]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub on_unresolved: Option<OnUndecided>,
    /// Show what would be measured, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Write a commented example of the file, unless it exists
    #[arg(long, conflicts_with_all = ["base", "head", "cells", "out", "json", "on_unresolved", "dry_run"])]
    pub init: bool,
}

/// What an undecided comparison does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnUndecided {
    Pass,
    Fail,
}
