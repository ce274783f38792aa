//! Suggests a duel that would give a verdict.

use record::Run;

/// The words of a duel that asks the same question, where it is known what to run: two commands, or two revisions of this
/// program.
pub(super) fn settle(base: &Run, candidate: &Run) -> Vec<String> {
    let commands = [base, candidate].map(command);
    if let [Some(old), Some(new)] = commands {
        // One name for two files: which was meant before is gone.
        return if old == new { Vec::new() } else { duel([old, new]) };
    }
    let revision = |run: &Run| {
        let git = run.subject.git.as_ref().filter(|git| !git.dirty && run.subject.name == "hotloop")?;
        Some(format!("rev:{}", git.commit.get(..12).unwrap_or(&git.commit)))
    };
    match [base, candidate].map(revision) {
        [Some(old), Some(new)] if old != new => {
            let mut words = duel([old, new]);
            words.extend(["--bin", "hotloop", "--", "{}", "profile"].map(str::to_owned));
            words.extend(profile(candidate));
            words
        }
        _ => Vec::new(),
    }
}

fn duel(sides: [String; 2]) -> Vec<String> {
    ["hotloop", "duel"].map(str::to_owned).into_iter().chain(sides).collect()
}

/// The command of a run as one word.
fn command(run: &Run) -> Option<String> {
    let words: Vec<String> = run.subject.command.iter().map(|word| quoted(word)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains([' ', '\t', '\n', '\'', '"', '\\', '$', '*', ';', '&', '|']);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The same workload once more, of which nothing is kept.
fn profile(run: &Run) -> Vec<String> {
    let mut words = vec![run.workload.name.clone()];
    for name in ["tokens", "threads", "seed"] {
        if let Some(value) = run.workload.parameters.get(name) {
            words.extend([format!("--{name}"), value.clone()]);
        }
    }
    let named = run.models.iter().find(|model| !model.name.starts_with("synthetic "));
    words.extend(named.iter().flat_map(|model| ["--model".to_owned(), model.name.clone()]));
    words.extend(["--repeat", "1", "--no-limits", "--no-save"].map(str::to_owned));
    words
}
