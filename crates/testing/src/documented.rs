//! Commands in documents, so that tests can parse and run what readers will type.

/// A command as a document shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentedCommand {
    /// The document and the line.
    pub place: String,
    /// The words behind `hotloop`, as a shell would split them.
    pub words: Vec<String>,
}

/// Languages of fenced blocks that a shell could run; a block without one may be a shell's, too.
const SHELLS: [&str; 5] = ["", "sh", "bash", "shell", "console"];

/// The commands `hotloop …` and `cargo run --release -- …` in the fenced blocks of a Markdown document. Comments, pipes and
/// redirections are left out; of `a && b` both commands are taken.
///
/// # Panics
///
/// Where a shell could not split such a line, because a quote is never closed.
pub fn documented_commands(path: &str, markdown: &str) -> Vec<DocumentedCommand> {
    let mut language: Option<&str> = None;
    let mut found = Vec::new();
    let mut lines = (1..).zip(markdown.lines());
    while let Some((number, line)) = lines.next() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            language = if language.is_some() { None } else { Some(fence.trim()) };
        } else if language.is_some_and(|language| SHELLS.contains(&language)) {
            let mut line = line.to_owned();
            while line.ends_with('\\') {
                line.pop();
                line.push_str(lines.next().map_or("", |(_, next)| next));
            }
            found.extend(commands_of_line(&format!("{path}:{number}"), &line));
        }
    }
    found
}

/// The commands `hotloop …` of one line of a shell; none where it is another program's line, or output.
pub fn commands_of_line(place: &str, line: &str) -> Vec<DocumentedCommand> {
    let line = line.trim_start().trim_start_matches("$ ");
    if !["hotloop", "cargo run --release"].iter().any(|start| begins_with_words(line, start)) {
        return Vec::new();
    }
    let words = shlex::split(line).unwrap_or_else(|| panic!("{place}: no shell can split `{line}`"));
    let parts = words.split(|word| word == "&&" || word == ";");
    let commands = parts.filter_map(|part| {
        let end = part.iter().position(|word| is_operator(word)).unwrap_or(part.len());
        arguments(&part[..end]).map(<[String]>::to_vec)
    });
    commands.map(|words| DocumentedCommand { place: place.to_owned(), words }).collect()
}

fn begins_with_words(line: &str, start: &str) -> bool {
    line.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// A pipe, a redirection or a job in the background.
fn is_operator(word: &str) -> bool {
    matches!(word, "|" | "&" | "||") || word.trim_start_matches(['1', '2', '&']).starts_with(['>', '<'])
}

/// What a command gives to `hotloop`; nothing where it starts another program.
fn arguments(words: &[String]) -> Option<&[String]> {
    let words_of = |text: &[String]| text.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    match words {
        [program, rest @ ..] if program == "hotloop" => Some(rest),
        [cargo @ .., separator] if separator == "--" && words_of(cargo) == "cargo run --release" => Some(&[]),
        [_, _, _, separator, rest @ ..] if separator == "--" && words_of(&words[..3]) == "cargo run --release" => {
            Some(rest)
        }
        _ if words_of(words) == "cargo run --release" => Some(&[]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markdown: &str, expected: &[(usize, &str)]) {
        let found: Vec<(String, String)> = documented_commands("a.md", markdown)
            .into_iter()
            .map(|command| (command.place, command.words.join("|")))
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(line, words)| (format!("a.md:{line}"), (*words).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn commands_of_shells_are_found() {
        check("```\nhotloop\n```\n", &[(2, "")]);
        check("text\n\n```sh\n$ hotloop report @latest   # again\n```\n", &[(4, "report|@latest")]);
        check("```\ncargo run --release\ncargo run --release -- -n 3\n```", &[(2, ""), (3, "-n|3")]);
        check("```\nhotloop a \"b c\" > d.json\nhotloop e | less\n```", &[(2, "a|b c"), (3, "e")]);
        check("```\nhotloop gate --init && hotloop gate\n```", &[(2, "gate|--init"), (2, "gate")]);
        check("```\nhotloop a \\\n    b\nhotloop c\n```", &[(2, "a|b"), (4, "c")]);
    }

    #[test]
    fn everything_else_is_left() {
        check("hotloop report\n```rust\nhotloop report\n```\nhotloop x", &[]);
        check("```\nhotloop::start();\nHOTLOOP RUN\ncargo run --release --features profile\ncargo test\n```", &[]);
    }
}
