//! A command line as its words.

/// Words apart at spaces; quotes and backslashes keep what is in them together, as shells have it. Nothing else is read as
/// anything but itself: no variable, no wildcard.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => {
                let next = letters.next().ok_or("a backslash stands at its end")?;
                word.get_or_insert_default().push(next);
            }
            (letter, Some(end)) if letter == end => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    match quote {
        Some(quote) => Err(format!("the quote {quote} is not closed")),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_apart_as_in_shells() {
        for (line, expected) in [
            ("a  b\tc", vec!["a", "b", "c"]),
            ("a 'b c' \"d 'e\" f\\ g", vec!["a", "b c", "d 'e", "f g"]),
            ("a '' b''c", vec!["a", "", "bc"]),
            ("'a\\' \"\\\"\"", vec!["a\\", "\""]),
            ("$HOME *.rs", vec!["$HOME", "*.rs"]),
            ("  ", vec![]),
        ] {
            assert_eq!(
                words(line).as_deref(),
                Ok(expected.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>().as_slice())
            );
        }
        assert!(words("a 'b").is_err());
        assert!(words("a \\").is_err());
    }
}
