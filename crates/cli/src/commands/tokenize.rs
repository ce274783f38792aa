//! `hotloop tokenize`: the tokens of a text, or the text of tokens.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;

use engine::{Encode, Tokenizer};
use record::{TOKENS_SCHEMA, TOKENS_VERSION, Token, Tokens};

use super::{CommandError, CommandOutput, tool};
use crate::args::{ModelOptions, Tokenize};

/// The longest text that is read.
const MOST_BYTES: u64 = 1 << 30;

/// What is printed.
pub fn run(options: &Tokenize) -> Result<CommandOutput, CommandError> {
    output(options).map(CommandOutput::text)
}

fn output(options: &Tokenize) -> Result<String, CommandError> {
    let tokenizer = ModelOptions::file(options.model.clone()).tokenizer()?;
    if let Some(ids) = &options.decode {
        return decoded(options, &tokenizer, &ids_of(ids)?);
    }
    let text = text(options)?;
    let special = !options.no_special;
    let ids = tokenizer.encode(&text, Encode { add_special: special, parse_special: special });
    if options.count {
        return Ok(format!("{}\n", ids.len()));
    }
    if options.ids {
        return Ok(ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ") + "\n");
    }
    let tokens = Tokens { special: Some(special), ..document(options, &tokenizer, (text, &ids)) };
    Ok(if options.json { tokens.to_json() } else { report::tokens_text(&tokens) })
}

/// The text of tokens. A program that reads it gets it as it is; a terminal gets no control characters.
fn decoded(options: &Tokenize, tokenizer: &Tokenizer, ids: &[u32]) -> Result<String, CommandError> {
    let vocab = tokenizer.vocab_len();
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocab) {
        let message = format!("token {id} is not in the vocabulary, which has {vocab} tokens");
        return Err(CommandError::new(message, "`hotloop tokenize MODEL TEXT --ids` prints the ids of a text"));
    }
    let text = tokenizer.decode(ids);
    if options.json {
        return Ok(document(options, tokenizer, (text, ids)).to_json());
    }
    if !std::io::stdout().is_terminal() {
        return Ok(text);
    }
    let text = report::decoded_text(&text);
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

/// Ids as they are typed or copied: with commas, spaces or brackets.
fn ids_of(text: &str) -> Result<Vec<u32>, CommandError> {
    let text = if text == "-" { standard_input()? } else { text.to_owned() };
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']')).filter(|word| !word.is_empty());
    let id = |word: &str| {
        word.parse().map_err(|_| {
            let message = format!("--decode takes token ids, not `{}`", word.escape_debug());
            CommandError::new(message, "separate ids with commas or spaces: --decode 1,9038")
        })
    };
    words.map(id).collect()
}

/// The text that was given, or that of a file.
fn text(options: &Tokenize) -> Result<String, CommandError> {
    match (options.text.as_deref(), options.file.as_deref()) {
        (Some("-"), _) => standard_input(),
        (Some(text), _) => Ok(text.to_owned()),
        (None, Some(file)) if file == Path::new("-") => standard_input(),
        (None, Some(file)) => {
            let name = file.display().to_string();
            let opened = File::open(file).map_err(|error| unreadable(&name, &error.to_string()))?;
            read(opened, &name)
        }
        (None, None) if std::io::stdin().is_terminal() => {
            let hint = "give a text, name a file with --file, or pipe a text; - reads what you type";
            Err(CommandError::new("no text to tokenize", hint))
        }
        (None, None) => standard_input(),
    }
}

fn standard_input() -> Result<String, CommandError> {
    read(std::io::stdin().lock(), "standard input")
}

fn read(from: impl Read, name: &str) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(unreadable(name, &format!("it is longer than {} MiB", MOST_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let message = format!("cannot read {name}: not UTF-8: {}", error.utf8_error());
        CommandError::new(message, "convert the text, for example with `iconv -f latin1 -t utf-8`")
    })
}

fn unreadable(name: &str, why: &str) -> CommandError {
    CommandError::without_hint(format!("cannot read {name}: {why}"))
}

fn document(options: &Tokenize, tokenizer: &Tokenizer, (text, ids): (String, &[u32])) -> Tokens {
    Tokens {
        schema: TOKENS_SCHEMA.to_owned(),
        version: TOKENS_VERSION,
        tool: tool(),
        model: options.model.display().to_string(),
        vocab: tokenizer.vocab_len() as u64,
        special: None,
        text,
        count: ids.len() as u64,
        tokens: ids.iter().map(|id| token(tokenizer, *id)).collect(),
    }
}

fn token(tokenizer: &Tokenizer, id: u32) -> Token {
    let bytes = tokenizer.token_bytes(id).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes).into_owned();
    // Only a control token has a name and shows nothing, not even half a character.
    let mut stream = tokenizer.stream();
    let control = !bytes.is_empty() && stream.push(id).is_empty() && stream.finish().is_empty();
    Token { id, control, bytes: (text.as_bytes() != bytes).then(|| bytes.to_vec()), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_copied() {
        for text in ["1,9038,2501", "1 9038 2501\n", "[1, 9038, 2501]"] {
            assert_eq!(ids_of(text).unwrap(), [1, 9038, 2501], "{text}");
        }
        assert_eq!(ids_of("").unwrap(), [0; 0]);
        for text in ["x", "1,-2", "1.5", "4294967296"] {
            assert!(ids_of(text).is_err_and(|error| error.message.contains("takes token ids")), "{text}");
        }
    }

    #[test]
    fn tokens_say_what_they_are() {
        let tokenizer = Tokenizer::bytes(300);
        assert_eq!(token(&tokenizer, 65), Token { id: 65, text: "A".to_owned(), bytes: None, control: false });
        let half = token(&tokenizer, 0xe2);
        assert_eq!((half.bytes, half.text.as_str(), half.control), (Some(vec![0xe2]), "\u{fffd}", false));
    }
}
