//! The prompt, as text and as tokens.

use std::io::Read;
use std::path::Path;

use engine::{ChatTemplate, Encode, Message, Prompt, Tokenizer};

use crate::args::Generate;
use crate::commands::{CommandError, terminal};
use crate::subject::{ModelKind, bundled};

/// A longer file is not meant to be a prompt.
const LARGEST: u64 = 64 << 20;

/// The tokens of the prompt.
pub fn tokens(options: &Generate, tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>, CommandError> {
    // A template writes the special tokens at the beginning itself.
    let tokens = if options.chat {
        let text = chat(options, tokenizer, text)?;
        tokenizer.encode(&text, Encode { add_special: false, parse_special: true })
    } else {
        tokenizer.encode(text, Encode { add_special: true, parse_special: false })
    };
    if tokens.is_empty() {
        let hint = "give a prompt after the model, with --prompt or --prompt-file, or on standard input";
        return Err(CommandError::new("the prompt is empty: there is nothing to continue", hint));
    }
    Ok(tokens)
}

/// The text to continue.
pub struct StartText {
    pub text: String,
    /// What of it the user did not write, and is shown for that reason.
    pub opening: &'static str,
}

impl StartText {
    /// Reads the prompt before the model is loaded, because it may be refused. The bundled model has its own.
    pub fn of(options: &Generate) -> Result<Self, CommandError> {
        let given = match read(options.prompt.as_deref(), options.prompt_file.as_deref())? {
            None => piped()?,
            given => given,
        };
        let is_default = given.is_none() && options.model.kind() == ModelKind::Bundled;
        let opening = if is_default { bundled::PROMPT } else { "" };
        Ok(Self { text: given.unwrap_or_else(|| opening.to_owned()), opening })
    }
}

/// A text, or that of a file; `-` is standard input. Nothing if neither is given.
pub fn read(prompt: Option<&str>, file: Option<&Path>) -> Result<Option<String>, CommandError> {
    match (prompt, file) {
        (Some("-"), _) => from_stdin().map(Some),
        (_, Some(file)) if file == Path::new("-") => from_stdin().map(Some),
        (_, Some(file)) => {
            let name = file.display().to_string();
            let opened = std::fs::File::open(file).map_err(|error| unreadable(&name, &error.to_string()))?;
            text_of(opened, &name).map(Some)
        }
        (prompt, None) => Ok(prompt.map(str::to_owned)),
    }
}

/// Standard input, if somebody pipes a text into it or redirects it from a file.
fn piped() -> Result<Option<String>, CommandError> {
    if !is_pipe_or_file() {
        return Ok(None);
    }
    Ok(Some(from_stdin()?).filter(|text| !text.is_empty()))
}

/// Terminals, `/dev/null` and sockets, which a server may leave open, are not waited for.
#[cfg(unix)]
fn is_pipe_or_file() -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileTypeExt as _;
    let handle = std::io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let kind = handle.and_then(|file| file.metadata()).map(|about| about.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file())
}

#[cfg(not(unix))]
fn is_pipe_or_file() -> bool {
    use std::io::IsTerminal as _;
    !std::io::stdin().is_terminal()
}

/// The text without the line end that `echo` appends.
fn from_stdin() -> Result<String, CommandError> {
    let mut text = text_of(std::io::stdin().lock(), "standard input")?;
    if text.ends_with('\n') {
        text.truncate(text.len() - 1 - usize::from(text.ends_with("\r\n")));
    }
    Ok(text)
}

fn text_of(reader: impl Read, name: &str) -> Result<String, CommandError> {
    // Devices and pipes have no length beforehand.
    let mut bytes = Vec::new();
    reader.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable(name, &format!("longer than {} MiB", LARGEST >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| unreadable(name, &format!("not UTF-8: {}", error.utf8_error())))
}

fn unreadable(name: &str, why: &str) -> CommandError {
    let hint = format!("a prompt is UTF-8 text of at most {} MiB", LARGEST >> 20);
    CommandError::new(format!("cannot read the prompt from {name}: {why}"), hint)
}

/// The prompt as the model's chat template writes it.
fn chat(options: &Generate, tokenizer: &Tokenizer, text: &str) -> Result<String, CommandError> {
    let template = ChatTemplate::of(tokenizer)?;
    if template.is_fallback() {
        terminal::note("this model has no chat template; using ChatML");
    }
    let mut messages = Vec::new();
    if let Some(system) = &options.system {
        messages.push(Message { role: "system".to_owned(), content: system.clone() });
    }
    messages.push(Message { role: "user".to_owned(), content: text.to_owned() });
    let token = |id: Option<u32>| id.and_then(|id| std::str::from_utf8(tokenizer.token_bytes(id)?).ok()).unwrap_or("");
    let (bos, eos) = (token(tokenizer.bos()), token(tokenizer.eos()));
    Ok(template.render(&messages, Prompt { add_generation_prompt: true, bos, eos })?)
}
