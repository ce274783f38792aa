//! The arguments of `hotloop tokenize`.

use std::path::PathBuf;

use clap::Args;

/// Print the tokens of a text, or the text of tokens
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
A line for each token: its position, its id and its text. Text is in quotes, the
name of a control token such as <s> is not. Characters that cannot be seen are
escaped.

Special tokens are added where the model asks for them, and their names in the
text are recognised. `hotloop generate` adds them too, but without --chat it
reads names in a prompt as plain text.

Examples:
  hotloop tokenize model.gguf \"Once upon a time\"
  hotloop tokenize model.gguf --count --file book.txt
  echo Hello | hotloop tokenize model.gguf --ids
  hotloop tokenize model.gguf --decode 1,9038,2501")]
pub struct Tokenize {
    /// Model file: GGUF, safetensors or llama2.c; weights are not loaded
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Text to tokenize; `-` is standard input [default: standard input]
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// File with the text; `-` is standard input
    #[arg(long, short, value_name = "FILE", conflicts_with = "text")]
    pub file: Option<PathBuf>,
    /// Print only the ids, on one line
    #[arg(long, conflicts_with_all = ["count", "decode", "json"])]
    pub ids: bool,
    /// Print only the number of tokens
    #[arg(long, conflicts_with_all = ["decode", "json"])]
    pub count: bool,
    /// Print the text of these token ids; `-` reads ids from standard input
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
    use super::super::tests::assert_refused;
    use super::super::{Command, parse};
    use super::*;

    fn tokenize(words: &[&str]) -> Tokenize {
        match parse(words).map(|read| read.command) {
            Ok(Command::Tokenize(tokenize)) => tokenize,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn texts_are_read() {
        assert_eq!(tokenize(&["tokenize", "m", "a b"]).text.as_deref(), Some("a b"));
        assert_eq!(tokenize(&["tokenize", "m", "-"]).text.as_deref(), Some("-"));
        assert_eq!(tokenize(&["tokenize", "m", "--", "--ids"]).text.as_deref(), Some("--ids"));
        assert!(tokenize(&["tokenize", "m", "--ids"]).ids);
    }

    #[test]
    fn bad_ones_are_named() {
        assert_refused(&[
            ("tokenize", &["<MODEL>"]),
            ("tokenize m a --file b", &["cannot be used with"]),
            ("tokenize m a --decode 1", &["cannot be used with"]),
            ("tokenize m --no-special --decode 1", &["cannot be used with"]),
            ("tokenize m --ids --decode 1", &["cannot be used with"]),
            ("tokenize m a --ids --json", &["cannot be used with"]),
            ("tokenize m a --ids --count", &["cannot be used with"]),
            ("tokenize m a --cuont", &["'--count'"]),
        ]);
    }
}
