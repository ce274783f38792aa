//! Enough of Rust's lexical rules to look at code without its comments and literals.

/// The text with comments and the content of string and character literals blanked; lines stay where they are.
pub fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut previous = ' ';
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = match hidden_length(rest, previous) {
            Some(length) => {
                code.extend(rest[..length].chars().map(blank));
                length
            }
            None => {
                code.push(next);
                next.len_utf8()
            }
        };
        previous = next;
        rest = &rest[length..];
    }
    code
}

/// The reverse of its `code`: comments and the content of literals, with everything else blanked; lines stay where they are.
pub fn prose_only(text: &str, code: &str) -> String {
    let keep = |(of_text, of_code): (char, char)| if of_text == of_code { blank(of_text) } else { of_text };
    // What stands behind a line's end in a literal is a word of its own.
    text.chars().zip(code.chars()).map(keep).collect::<String>().replace("\\n", "  ")
}

/// Whether the line contains this word, not as a part of a longer one.
pub fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word_char) && !after.is_some_and(is_word_char)
    })
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn blank(c: char) -> char {
    if c == '\n' { '\n' } else { ' ' }
}

/// How many bytes at the start of `rest` are a comment or a literal.
fn hidden_length(rest: &str, previous: char) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment_length(rest));
    }
    match rest.as_bytes()[0] {
        b'"' => Some(string_length(rest)),
        b'\'' => character_length(rest),
        b'r' | b'b' | b'c' if !is_word_char(previous) => raw_string_length(rest),
        _ => None,
    }
}

/// Block comments nest in Rust.
fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `None` for a lifetime, which begins the same way.
fn character_length(rest: &str) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1);
    let (_, first) = characters.next()?;
    let (at, second) = characters.next()?;
    if first == '\\' {
        let from = at + second.len_utf8();
        return rest[from..].find('\'').map(|end| from + end + 1);
    }
    (second == '\'').then_some(at + 1)
}

fn raw_string_length(rest: &str) -> Option<usize> {
    let after_prefix =
        rest.strip_prefix("br").or_else(|| rest.strip_prefix("cr")).or_else(|| rest.strip_prefix('r'))?;
    let body = after_prefix.trim_start_matches('#');
    let hashes = &after_prefix[..after_prefix.len() - body.len()];
    let content = body.strip_prefix('"')?;
    let end = format!("\"{hashes}");
    let before = rest.len() - content.len();
    Some(content.find(&end).map_or(rest.len(), |at| before + at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let code = code_only(text);
        let words: Vec<&str> = code.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "from {text:?}");
        assert_eq!(code.lines().count(), text.lines().count());
    }

    #[test]
    fn comments_and_literals_disappear() {
        check("a // b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check("a /* never closed", "a");
        check(r#"f("a \" b", c)"#, "f( , c)");
        check("f(r#\"a \" b\"#, c)", "f( , c)");
        check("f(br\"a\", b\"c\", r\"\")", "f( , b , )");
        check("r#type + bar\"x\"", "r#type + bar");
        check("\"never closed", "");
        check("\"zwölf\" ä", "ä");
    }

    #[test]
    fn prose_is_what_code_is_not() {
        let prose_only = |text| prose_only(text, &code_only(text));
        assert_eq!(
            prose_only("a(\"b\\nc\"); // d\ne").split_whitespace().collect::<Vec<_>>(),
            ["\"b", "c\"", "//", "d"]
        );
        assert_eq!(prose_only("a\n/* b\nc */\n").lines().count(), 3);
    }

    #[test]
    fn characters_are_not_lifetimes() {
        check("('\"', a)", "( , a)");
        check(r"('\'', '\\', '\u{1F600}', a)", "( , , , a)");
        check("&'a str + &'static str", "&'a str + &'static str");
        check("'ä' b", "b");
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("let x = word(y);", "word"));
        assert!(!has_word("let sword = words;", "word"));
        assert!(has_word("swords word", "word"));
    }
}
