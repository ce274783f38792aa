//! No line of a document is wider than an editor beside another.

use crate::files::File;

/// Columns, counted in characters. Code has the same limit (`max_width` in `rustfmt.toml`).
const COLUMNS: usize = 120;

/// Outputs that tests compare to the character, and files of other programs.
const LEFT_OUT: &[&str] = &["/fixtures/", "/data/", "/snapshots/", "docs/recommendations.md"];

/// Every line of a document that is too wide, with its number. Fenced blocks are commands and output, which stay as they are.
pub fn check(file: &File, text: &str) -> Vec<(usize, String)> {
    if !file.path.ends_with(".md") || LEFT_OUT.iter().any(|part| file.path.contains(part)) {
        return Vec::new();
    }
    let mut is_fenced = false;
    let mut is_prose = |line: &str| {
        is_fenced ^= line.trim_start().starts_with("```");
        !is_fenced && !cannot_be_broken(line)
    };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_prose(line));
    let wide = lines.map(|(number, line)| (number, line.chars().count())).filter(|(_, width)| *width > COLUMNS);
    wide.map(|(number, width)| (number, format!("{width} columns, {COLUMNS} are allowed"))).collect()
}

/// A row of a table, or a line with one long link and nothing else.
fn cannot_be_broken(line: &str) -> bool {
    line.trim_start().starts_with('|') || !line.trim().contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wide(path: &str, line: &str) -> bool {
        let file = File { path: path.to_owned(), size: 0, text: None };
        !check(&file, &format!("short\n{line}\n")).is_empty()
    }

    #[test]
    fn wide_lines_are_refused() {
        for path in ["README.md", "docs/a.md"] {
            assert!(wide(path, &"ab ".repeat(41)), "{path}");
            assert!(!wide(path, &"ab ".repeat(40)), "{path}");
            assert!(!wide(path, &"é".repeat(120)), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_broken_or_is_not_ours_is_left() {
        let long = "x".repeat(130);
        assert!(!wide("a.md", &long) && !wide("a.md", &format!("| {long} |")) && wide("a.md", &format!("a {long}")));
        assert!(!wide("a.md", &format!("```\na {long}\n```")) && wide("a.md", &format!("```\nx\n```\na {long}")));
        assert!(!wide("crates/a/tests/fixtures/a.md", &format!("a {long}")) && !wide("Cargo.lock", &long));
    }
}
