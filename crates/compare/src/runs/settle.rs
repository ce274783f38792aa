//! What would settle it.

use record::Run;

/// The words of a duel that asks the same question, where it is known what to run: commands, or commits.
pub(super) fn settle(base: &Run, candidate: &Run) -> Vec<String> {
    let duel = |[old, new]: [String; 2]| vec!["hotloop".to_owned(), "duel".to_owned(), old, new];
    let commands = [base, candidate].map(|run| run.subject.command.join(" "));
    if commands.iter().all(|command| !command.is_empty()) {
        return duel(commands);
    }
    let commit = |run: &Run| run.subject.git.as_ref().filter(|git| !git.dirty).map(|git| git.commit.clone());
    match [commit(base), commit(candidate)] {
        [Some(old), Some(new)] if old != new => duel([old, new]),
        _ => Vec::new(),
    }
}
