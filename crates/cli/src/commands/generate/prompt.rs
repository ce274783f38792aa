//! The text to go on from, as tokens.

use std::io::{Read, Write};
use std::path::Path;

use engine::{ChatTemplate, Encode, Message, Prompt, Tokenizer};

use crate::args::Generate;
use crate::commands::Refusal;
use crate::subject::{Kind, bundled};

/// A prompt larger than this is no prompt.
const LARGEST: u64 = 64 << 20;

/// The tokens of what was asked for.
pub fn tokens(options: &Generate, tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>, Refusal> {
    // A template writes the tokens that begin a text itself.
    let tokens = if options.chat {
        let text = chat(options, tokenizer, text)?;
        tokenizer.encode(&text, Encode { add_special: false, parse_special: true })
    } else {
        tokenizer.encode(text, Encode { add_special: true, parse_special: false })
    };
    if tokens.is_empty() {
        let hint = "give some with --prompt or --prompt-file";
        return Err(Refusal { error: "the prompt has no tokens: there is nothing to go on from".to_owned(), hint });
    }
    Ok(tokens)
}

/// A text to go on from.
pub struct Text {
    pub text: String,
    /// What of it nobody wrote who reads it: that is shown too.
    pub opening: &'static str,
}

/// What was asked for, as text: read before a model is, since it may be refused. The bundled model knows how stories begin.
pub fn text(options: &Generate) -> Result<Text, Refusal> {
    let given = read(options.prompt.as_deref(), options.prompt_file.as_deref())?;
    let tells = given.is_none() && options.named.kind() == Kind::Bundled;
    let opening = if tells { bundled::PROMPT } else { "" };
    Ok(Text { text: given.unwrap_or_else(|| opening.to_owned()), opening })
}

/// A text, or that of a file; nothing where neither was named.
pub fn read(prompt: Option<&str>, file: Option<&Path>) -> Result<Option<String>, Refusal> {
    let Some(file) = file else { return Ok(prompt.map(str::to_owned)) };
    let refused = |error: String| Refusal {
        error: format!("{}: {error}", file.display()),
        hint: "--prompt-file takes a text file in UTF-8",
    };
    // Devices and pipes tell no length beforehand.
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| refused(error.to_string()))?;
    opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(refused(format!("more than {} MiB are too much for a prompt", LARGEST >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|error| refused(format!("it is not UTF-8: {}", error.utf8_error())))?;
    Ok(Some(text))
}

/// What the model was trained to see in a chat.
fn chat(options: &Generate, tokenizer: &Tokenizer, text: &str) -> Result<String, Refusal> {
    let template = ChatTemplate::of(tokenizer)?;
    if template.is_fallback() {
        // A note that nobody can be shown is no failure.
        let note = "note: this model brings no chat template; ChatML, which many understand, is used";
        let _ = writeln!(std::io::stderr().lock(), "{note}");
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
