//! Which revisions are compared.

use std::process::{Command, Stdio};

use record::Revision;

use super::super::CommandError;

/// Usual names of the default branch.
const USUAL: [&str; 4] = ["origin/main", "origin/master", "main", "master"];
/// Commits between the two that are kept.
const MOST_COMMITS: &str = "1000";

/// The two revisions, and what lies between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Revisions {
    pub base: Revision,
    pub head: Revision,
    /// The commits of the head that the base has not.
    pub commits: Vec<String>,
    /// Whether files differ from what is committed.
    pub is_dirty: bool,
}

/// Finds the revisions that were asked for; without a base, where the head left the default branch.
pub fn find(base: Option<&str>, head: Option<&str>) -> Result<Revisions, CommandError> {
    let head = commit(head.unwrap_or("HEAD"))?;
    let base = match base {
        Some(base) => commit(base)?,
        None => fork_point(&head)?,
    };
    let range = format!("{}..{}", base.commit, head.commit);
    let commits = git(&["rev-list", "--max-count", MOST_COMMITS, &range]).unwrap_or_default();
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
    let commits = commits.lines().map(str::to_owned).collect();
    Ok(Revisions { base, head, commits, is_dirty: !changed.is_empty() })
}

fn commit(name: &str) -> Result<Revision, CommandError> {
    let commit = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]);
    let commit = commit.ok_or_else(|| match git(&["rev-parse", "--git-dir"]) {
        Some(_) => CommandError::new(
            format!("unknown revision `{name}`"),
            "fetch it first; in a GitHub workflow, `fetch-depth: 0` fetches everything",
        ),
        None => CommandError::new(
            "cannot compare revisions: this is not a git repository",
            "run hotloop gate in the project's folder; cells with `a` and `b` need no repository",
        ),
    })?;
    Ok(Revision { name: name.to_owned(), commit })
}

/// Where the head left the default branch; the commit before it, where it is on that branch.
fn fork_point(head: &Revision) -> Result<Revision, CommandError> {
    let branch = default_branch()?;
    let hint = "name the base: `hotloop gate BASE HEAD`; in a GitHub workflow, `fetch-depth: 0` fetches the history";
    let fork = git(&["merge-base", &branch, &head.commit]).ok_or_else(|| {
        CommandError::new(format!("`{branch}` and `{}` have no commit in common here", head.name), hint)
    })?;
    if fork != head.commit {
        return Ok(Revision { name: format!("where it left {branch}"), commit: fork });
    }
    let parent = git(&["rev-parse", "--verify", "--quiet", &format!("{}^1", head.commit)]).ok_or_else(|| {
        CommandError::new(format!("`{}` is part of `{branch}` and has no parent commit here", head.name), hint)
    })?;
    Ok(Revision { name: format!("the commit before it on {branch}"), commit: parent })
}

/// The branch that a change goes to: what the workflow says, what the remote says, or a usual name.
fn default_branch() -> Result<String, CommandError> {
    let is_there = |name: &String| git(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]).is_some();
    let told = std::env::var("GITHUB_BASE_REF").ok().filter(|name| !name.is_empty());
    let told = told.map(|name| format!("origin/{name}"));
    let remote = git(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]);
    let usual = USUAL.iter().map(|name| (*name).to_owned());
    told.into_iter()
        .chain(remote)
        .chain(usual)
        .find(is_there)
        .ok_or_else(|| CommandError::new("cannot find the default branch", "name the base: `hotloop gate BASE HEAD`"))
}

/// What git answers; nothing where it refuses or is not there.
fn git(words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.args(words).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
