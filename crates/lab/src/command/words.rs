//! Splits a command line into words without a shell, whose start would be measured too.

/// Operators that only a shell interprets.
const OF_A_SHELL: &[char] = &['|', '&', ';', '<', '>', '`', '(', ')'];

/// Splits at spaces; quotes and backslashes keep them, as in a shell.
///
/// # Errors
/// It is empty, something in it is not closed, or only a shell would understand it.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    // `None` between words: an empty pair of quotes is a word.
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter.is_whitespace() => words.extend(word.take()),
            '\'' => quoted(&mut letters, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut letters, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(letters.next().ok_or("it ends with a backslash")?),
            letter if OF_A_SHELL.contains(&letter) => {
                return Err(format!("`{letter}` needs a shell, and commands run without one"));
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    if words.is_empty() { Err("empty command".to_owned()) } else { Ok(words) }
}

/// What stands in quotes, without them. In double ones a backslash takes their meaning from `"` and `\`.
fn quoted(letters: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<(), String> {
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter == quote => return Ok(()),
            '\\' if quote == '"' => match letters.next() {
                Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                next => {
                    word.push('\\');
                    word.extend(next);
                }
            },
            letter => word.push(letter),
        }
    }
    Err(format!("unclosed {quote}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would() {
        for (line, expected) in [
            ("sleep 0.1", vec!["sleep", "0.1"]),
            ("  a   b ", vec!["a", "b"]),
            ("sh -c 'echo a | wc'", vec!["sh", "-c", "echo a | wc"]),
            (r#"a "b \"c\" \n" '' d\ e"#, vec!["a", r#"b "c" \n"#, "", "d e"]),
            ("x'y'\"z\"", vec!["xyz"]),
        ] {
            assert_eq!(split(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_only_a_shell_can_do_is_refused() {
        for (line, part) in [
            ("a | b", "`|` needs a shell"),
            ("a > b", "`>`"),
            ("a && b", "`&`"),
            ("echo 'a", "unclosed '"),
            ("a \\", "ends with a backslash"),
            ("", "empty command"),
            ("  ", "empty command"),
        ] {
            let error = split(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
