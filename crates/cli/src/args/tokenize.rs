//! The arguments of `hotloop tokenize`.

use std::path::PathBuf;

use clap::Args;

/// Print the tokens of a text, or the text of tokens
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  \
    hotloop tokenize model.gguf \"Once upon a time\"\n  \
    hotloop tokenize model.gguf --count --file book.txt\n  \
    echo Hello | hotloop tokenize model.gguf --ids\n  \
    hotloop tokenize model.gguf --decode 1,9038,2501\n\n\
    A line for each token: its position, its id and what it stands for. Text is\n\
    quoted, the name of a control token such as <s> is not; what cannot be seen is\n\
    escaped.\n\n\
    Special tokens are added where the model asks for them, and their names in the\n\
    text are recognised. `hotloop generate` adds them too, but takes names in a\n\
    prompt for plain text unless --chat is given.")]
pub struct Tokenize {
    /// Whose vocabulary: GGUF, safetensors or llama2.c; weights are not loaded
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The text; - is standard input [default: standard input]
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Read the text from FILE; - is standard input
    #[arg(long, short, value_name = "FILE", conflicts_with = "text")]
    pub file: Option<PathBuf>,
    /// Print the ids alone, on one line
    #[arg(long, conflicts_with_all = ["count", "decode", "json"])]
    pub ids: bool,
    /// Print the number of tokens alone
    #[arg(long, conflicts_with_all = ["decode", "json"])]
    pub count: bool,
    /// Print the text of these tokens, such as 1,9038; - reads them from
    /// standard input. Control tokens have no text
    #[arg(long, value_name = "IDS", conflicts_with_all = ["text", "file", "no_special"], allow_hyphen_values = true)]
    pub decode: Option<String>,
    /// Print JSON: the text and its tokens
    #[arg(long)]
    pub json: bool,
    /// Add no special tokens, and recognise none in the text
    #[arg(long)]
    pub no_special: bool,
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn of(words: &[&str]) -> Result<Tokenize, String> {
        match parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()) {
            Ok(Command::Tokenize(tokenize)) => Ok(tokenize),
            Ok(other) => panic!("{words:?}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn texts_are_read() {
        assert_eq!(of(&["tokenize", "m", "a b"]).unwrap().text.as_deref(), Some("a b"));
        assert_eq!(of(&["tokenize", "m", "-"]).unwrap().text.as_deref(), Some("-"));
        assert_eq!(of(&["tokenize", "m", "--", "--ids"]).unwrap().text.as_deref(), Some("--ids"));
        assert!(of(&["tokenize", "m", "--ids"]).unwrap().ids);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for words in [
            ["m", "a", "--file", "b"],
            ["m", "a", "--decode", "1"],
            ["m", "--ids", "--decode", "1"],
            ["m", "--ids", "--json", "a"],
            ["m", "--count", "--ids", "a"],
        ] {
            let words: Vec<&str> = std::iter::once("tokenize").chain(words).collect();
            assert!(of(&words).is_err(), "{words:?}");
        }
        assert!(of(&["tokenize"]).is_err_and(|error| error.contains("MODEL")));
    }
}
