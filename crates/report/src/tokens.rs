//! Tokens as `hotloop tokenize` prints them. Vocabularies hold anything: no control character leaves here as it is.

use record::{Token, Tokens};

/// A line for each token: position, id and piece. Text is quoted; the name of a control token is not.
pub fn text(tokens: &Tokens) -> String {
    let last = tokens.tokens.len().saturating_sub(1);
    let positions = last.to_string().len();
    let ids = tokens.tokens.iter().map(|token| token.id.to_string().len()).max().unwrap_or(1);
    let line =
        |(position, token): (usize, &Token)| format!("{position:>positions$}  {:>ids$}  {}\n", token.id, piece(token));
    tokens.tokens.iter().enumerate().map(line).collect()
}

/// A text that is shown on a terminal: line ends and tabs stay, other control characters are written as escapes.
pub fn for_terminal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' | '\\' | '"' | '\'' => shown.push(character),
            _ => shown.extend(escaped(character)),
        }
    }
    shown
}

/// What a token stands for.
fn piece(token: &Token) -> String {
    if token.control {
        return token.text.chars().flat_map(escaped).collect();
    }
    let mut piece = String::from("\"");
    for chunk in token.bytes.as_deref().unwrap_or(token.text.as_bytes()).utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => piece.extend(['\\', character]),
                _ => piece.extend(escaped(character)),
            }
        }
        piece.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    piece + "\""
}

/// A character, or the escape of one that cannot be seen or changes what stands around it.
fn escaped(character: char) -> impl Iterator<Item = char> {
    let plain = matches!(character, '"' | '\'' | '\\');
    let escape = (!plain).then(|| character.escape_debug());
    plain.then_some(character).into_iter().chain(escape.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use record::{TOKENS_SCHEMA, TOKENS_VERSION, Tool};

    use super::*;

    fn token(id: u32, text: &str) -> Token {
        Token { id, text: text.to_owned(), bytes: None, control: false }
    }

    #[test]
    fn one_line_for_each_token() {
        let control = Token { control: true, ..token(1, "<s>\u{1b}") };
        let half = Token { bytes: Some(vec![b'a', 0xe2, 0x82]), ..token(30_000, "a\u{fffd}") };
        let tokens = Tokens {
            schema: TOKENS_SCHEMA.to_owned(),
            version: TOKENS_VERSION,
            tool: Tool { name: "hotloop".to_owned(), version: "1".to_owned() },
            model: "m.gguf".to_owned(),
            vocab: 32_000,
            special: Some(true),
            text: String::new(),
            count: 5,
            tokens: vec![control, token(9038, " it's"), token(2, "\n\"\\\u{1b}[31m\u{202e}"), half, token(3, "é")],
        };
        let expected = "0      1  <s>\\u{1b}\n\
                        1   9038  \" it's\"\n\
                        2      2  \"\\n\\\"\\\\\\u{1b}[31m\\u{202e}\"\n\
                        3  30000  \"a\\xe2\\x82\"\n\
                        4      3  \"é\"\n";
        assert_eq!(text(&tokens), expected);
    }

    #[test]
    fn text_on_a_terminal_keeps_its_lines_and_loses_control_characters() {
        assert_eq!(for_terminal("a \"b\"\\\n\tc\u{1b}[2J\r\u{9b}"), "a \"b\"\\\n\tc\\u{1b}[2J\\r\\u{9b}");
    }
}
