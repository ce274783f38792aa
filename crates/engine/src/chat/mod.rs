//! Conversations become prompts by the template that comes with a model: a small program in Jinja,
//! which comes from outside.
//!
//! So it is bounded: its steps by the engine's fuel, calls in calls by the engine's limit, the text
//! that it makes by `budget`, which sees every text that grows because `guard` writes that into the
//! template, and values in values by `nesting` in the same way. `guard` also refuses expressions so
//! long that the engine's own recursion would overflow the stack.

mod budget;
mod guard;
mod nesting;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, Value, context};

use crate::{Error, Result, Tokenizer};
use budget::Budget;

/// Longer templates are not believed: known ones have some thousand bytes.
const MAX_SOURCE: usize = 1 << 16;
/// Steps that every template may take, and more for each message. Templates with tools take some
/// hundreds, and hundreds per message.
const FUEL: u64 = 20_000;
const FUEL_PER_MESSAGE: u64 = 2_000;
/// Calls in calls; each takes some kilobytes of the stack.
const MAX_DEPTH: usize = 100;
const NAME: &str = "chat";

/// What models without a template of their own mostly understand: `<|im_start|>role`, the text, `<|im_end|>`.
const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}\
     {% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks: `system`, `user` or `assistant` in most models.
    pub role: String,
    /// What is said.
    pub content: String,
}

/// What a template is told beside the messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prompt<'a> {
    /// Ends with the beginning of an answer, so that the model writes one.
    pub add_generation_prompt: bool,
    /// The text of the token that begins texts, or nothing.
    pub bos: &'a str,
    /// The text of the token that ends texts, or nothing.
    pub eos: &'a str,
}

/// A template, compiled. The prompts that it makes name special tokens: encode them with
/// [`Encode::parse_special`](crate::Encode::parse_special), and without `add_special` where they
/// begin with BOS already.
#[derive(Debug, Clone)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    fallback: bool,
}

impl ChatTemplate {
    /// Compiles a template.
    pub fn new(source: &str) -> Result<Self> {
        if source.len() > MAX_SOURCE {
            let length = source.len();
            return Err(Error::malformed(format!("chat template: {length} bytes; the limit is {MAX_SOURCE}")));
        }
        let mut environment = Environment::new();
        // As the models' authors run them.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| explain(&error))?);
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.add_function(
            "raise_exception",
            |message: String| -> std::result::Result<Value, minijinja::Error> {
                Err(minijinja::Error::new(ErrorKind::InvalidOperation, format!("rejected by the template: {message}")))
            },
        );
        budget::install(&mut environment);
        let guarded = guard::guarded(source)?;
        environment.add_template_owned(NAME, guarded).map_err(|error| explain(&error))?;
        Ok(Self { environment, fallback: false })
    }

    /// The template of a model's file; where it has none, ChatML, and [`ChatTemplate::is_fallback`] says so.
    pub fn of(tokenizer: &Tokenizer) -> Result<Self> {
        match tokenizer.chat_template() {
            Some(source) => Self::new(source),
            None => Self::new(CHATML).map(|template| Self { fallback: true, ..template }),
        }
    }

    /// Whether the model's file had no template, and ChatML is a guess.
    pub fn is_fallback(&self) -> bool {
        self.fallback
    }

    /// The prompt of a conversation. An error says what the template refused, or where it is wrong.
    pub fn render(&self, messages: &[Message], prompt: Prompt<'_>) -> Result<String> {
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(FUEL + FUEL_PER_MESSAGE * messages.len() as u64));
        let content: usize = messages.iter().map(|message| message.content.len() + message.role.len()).sum();
        let budget = Budget::new(content, messages.len());
        budget.enter(&mut environment);
        let template = environment.get_template(NAME).map_err(|error| explain(&error))?;
        let messages: Vec<Value> = messages
            .iter()
            .map(|message| context! { role => message.role.as_str(), content => message.content.as_str() })
            .collect();
        let values = context! {
            messages,
            add_generation_prompt => prompt.add_generation_prompt,
            bos_token => prompt.bos,
            eos_token => prompt.eos,
            tools => (),
            documents => (),
        };
        let mut text = budget::Output::new(&budget);
        let rendered = template.render_captured_to(values, &mut text).map(|_| ());
        rendered.map_err(|error| explain(&error))?;
        text.into_text()
    }
}

/// A template's error as one of ours: the line and what is wrong, at the innermost place.
fn explain(error: &minijinja::Error) -> Error {
    use std::error::Error as _;
    if let Some(inner) = error.source().and_then(|source| source.downcast_ref()) {
        return explain(inner);
    }
    let place = error.line().map_or_else(String::new, |line| format!(", line {line}"));
    let what = match (error.kind(), error.detail()) {
        (ErrorKind::WriteFailure, _) => budget::TOO_LONG.to_owned(),
        (ErrorKind::OutOfFuel, _) => "it takes too many steps".to_owned(),
        (ErrorKind::UnknownFunction, Some(detail)) if detail.contains("strftime_now") => {
            "it asks for the date, which is not available: the same conversation always gives the same prompt"
                .to_owned()
        }
        (ErrorKind::InvalidOperation, Some(detail)) => detail.to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    };
    Error::refused(format!("chat template{place}: {what}"))
}
