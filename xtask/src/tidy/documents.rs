//! The first documents stay short enough to be read.

use crate::files::File;

/// The most lines that a document at the root may have.
const LINES: &[(&str, usize)] = &[("README.md", 150), ("ARCHITECTURE.md", 200)];

/// The most words that the glossary may explain.
const GLOSSARY: (&str, usize) = ("GLOSSARY.md", 40);

/// What is too long in a document.
pub fn check(file: &File, text: &str) -> Option<String> {
    let lines = text.lines().count();
    if let Some((_, most)) = LINES.iter().find(|(path, most)| *path == file.path && lines > *most) {
        return Some(format!("{lines} lines, {most} are allowed: move what is special to docs/"));
    }
    let rows = rows(text);
    (file.path == GLOSSARY.0 && rows > GLOSSARY.1)
        .then(|| format!("{rows} words, {} are allowed: a usual word needs no entry", GLOSSARY.1))
}

/// Rows of tables, without the two lines of each head.
fn rows(text: &str) -> usize {
    let is_rule = |line: &str| line.starts_with('|') && line.chars().all(|c| "|-: ".contains(c));
    let (rules, others): (Vec<&str>, Vec<&str>) =
        text.lines().filter(|line| line.starts_with('|')).partition(|line| is_rule(line));
    others.len().saturating_sub(rules.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(path: &str, text: &str) -> bool {
        check(&File { path: path.to_owned(), size: 0, text: None }, text).is_some()
    }

    #[test]
    fn long_documents_are_refused() {
        for (path, most) in LINES {
            assert!(!is_refused(path, &"x\n".repeat(*most)) && is_refused(path, &"x\n".repeat(most + 1)), "{path}");
        }
        assert!(!is_refused("docs/README.md", &"x\n".repeat(1000)));
    }

    #[test]
    fn a_glossary_of_everything_is_refused() {
        let glossary = |rows: usize| {
            let table = |rows: usize| format!("| word | meaning |\n|---|---|\n{}\ntext\n", "| a | b |\n".repeat(rows));
            table(rows - 7) + &table(7)
        };
        assert!(
            !is_refused("GLOSSARY.md", &glossary(GLOSSARY.1)) && is_refused("GLOSSARY.md", &glossary(GLOSSARY.1 + 1))
        );
    }
}
