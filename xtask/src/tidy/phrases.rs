//! Words and phrases that native readers stumble over, and what to write instead.

use std::collections::HashMap;

use crate::files::File;
use crate::source::prose_only;

/// A phrase in lower case, and what to write instead.
type Phrase = (&'static str, &'static str);

/// Not to be found in documents, comments and texts for users. Each is matched by whole words, also across lines.
const PHRASES: &[Phrase] = &[
    ("hands it on", "passes it on, exports it"),
    ("handed on", "passed on"),
    ("is come by", "is derived, is computed"),
    ("are come by", "are derived, are computed"),
    ("reckoned", "computed, estimated"),
    ("limit that binds", "the limit, % of limit"),
    ("limits that bind", "the limits"),
    ("shelf", "the type's name, e.g. arena"),
    ("roof", "limit, peak"),
    ("roofs", "limits, peaks"),
    ("what can be asked for", "the options, the values"),
    ("how bold", "sampling temperature"),
    ("to be had", "available"),
    ("at the door", "on entry"),
    ("nobody here", "Pareto-optimal, none of these"),
    ("would have been seen", "smallest detectable change"),
    ("is meant by", "is referred to by"),
    ("is no token", "is not a token"),
    ("is no text", "is not text"),
    ("is no model", "is not a model"),
    ("are not told", "are not reported"),
    ("rooms of the house", "modules"),
];

/// Files whose words are not the project's own, or that have to name the phrases.
const LEFT_OUT: &[&str] = &["xtask/src/tidy/", "xtask/src/default_model/stories/", "/fixtures/", "/data/"];

/// Every phrase of the list in a file, with its line.
pub fn check(file: &File, text: &str, code: &str) -> Vec<(usize, String)> {
    if LEFT_OUT.iter().any(|part| file.path.contains(part)) {
        return Vec::new();
    }
    if file.path.ends_with(".md") {
        find(text)
    } else if file.path.ends_with(".rs") {
        find(&prose_only(text, code))
    } else {
        Vec::new()
    }
}

fn find(text: &str) -> Vec<(usize, String)> {
    let mut by_first: HashMap<&str, Vec<&Phrase>> = HashMap::new();
    for phrase in PHRASES {
        by_first.entry(phrase.0.split(' ').next().unwrap_or_default()).or_default().push(phrase);
    }
    let words: Vec<Word> = words(text).collect();
    let mut found = Vec::new();
    for (at, first) in words.iter().enumerate() {
        let begins = |(phrase, _): &&&Phrase| {
            let length = phrase.split(' ').count();
            let here = words.get(at..at + length).unwrap_or_default();
            let is_one_sentence = here.iter().rev().skip(1).all(|word| !word.ends_sentence);
            // "There is no file" is said as everybody says it.
            let after_there = phrase.starts_with("is no ") && at > 0 && words[at - 1].text == "there";
            is_one_sentence && !after_there && phrase.split(' ').eq(here.iter().map(|word| word.text.as_str()))
        };
        let message = |(phrase, better): &&Phrase| (first.line, format!("`{phrase}`: write {better}"));
        let candidates = by_first.get(first.text.as_str()).map(Vec::as_slice).unwrap_or_default();
        found.extend(candidates.iter().filter(begins).map(message));
    }
    found
}

/// A word in lower case, without the punctuation around it.
struct Word {
    line: usize,
    text: String,
    /// Whether a sentence or a part of one ends behind it.
    ends_sentence: bool,
}

fn words(text: &str) -> impl Iterator<Item = Word> {
    let of_line = |(line, words): (usize, &str)| {
        let word = |word: &str| {
            let text = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            Word { line, text, ends_sentence: word.ends_with(['.', ':', ';']) }
        };
        words.split_whitespace().map(word).filter(|word| !word.text.is_empty()).collect::<Vec<_>>()
    };
    (1..).zip(text.lines()).flat_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn lines(path: &str, text: &str, expected: &[usize]) {
        let file = File { path: path.to_owned(), size: 0, text: None };
        let lines: Vec<usize> =
            check(&file, text, &crate::source::code_only(text)).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn every_phrase_is_found_in_documents_comments_and_strings() {
        for (phrase, _) in PHRASES {
            lines("docs/a.md", &format!("fine\nSo **{phrase}**, then."), &[2]);
            lines("crates/a/src/a.rs", &format!("/// So {phrase}.\nfn f() {{}}"), &[1]);
            lines("crates/a/src/a.rs", &format!("fn f() {{\n    g(\"{phrase}\")\n}}"), &[2]);
            lines("crates/a/tests/fixtures/a.md", phrase, &[]);
        }
    }

    #[test]
    fn phrases_run_over_lines() {
        lines("a.md", "Not to\nbe had", &[1]);
        lines("a.rs", "// what is to\n    // be had\n", &[1]);
        lines("a.rs", "f(\"x\\nto be \\\n    had\")", &[1]);
    }

    #[test]
    fn parts_of_words_and_code_are_not_meant() {
        lines("a.md", "what to be. Had; there is no model", &[]);
        lines("a.md", "a roofline, the bookshelf, to behave", &[]);
        lines("a.rs", "let roof = reckoned(shelf);", &[]);
    }

    #[test]
    fn the_message_says_what_to_write() {
        assert_eq!(find("the limit that binds"), [(1, "`limit that binds`: write the limit, % of limit".to_owned())]);
    }
}
