//! How much text a template may make.
//!
//! The engine bounds steps, and in forty steps a text that is joined with itself fills any memory.
//! So everything that is joined, compared, shown, or given to a filter or a method is weighed
//! before, and when all together weigh too much, the template has failed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Kwargs, Object, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use super::nesting::{self, MOST_NESTED};

/// The filter that weighs all of a value.
pub(super) const WEIGH: &str = "__weigh";
/// The filter that weighs the value itself, and not what a list holds.
pub(super) const PASS: &str = "__pass";
const NAME: &str = "__budget";

pub(super) const TOO_LONG: &str = "it produces too much text";

/// What every template may make, and how much more for what it was given.
const BYTES: usize = 8 << 20;
const TIMES: usize = 64;
const PER_MESSAGE: usize = 1 << 16;
/// What a value weighs besides its text.
pub(super) const VALUE: usize = 16;
/// The widest indentation of JSON: templates of tools use 2 or 4.
const WIDEST_INDENT: usize = 16;

/// What is left.
#[derive(Debug)]
pub(super) struct Left(AtomicUsize);

impl Object for Left {}

/// The budget of one prompt.
pub(super) struct Budget {
    left: Arc<Left>,
    /// The longest prompt.
    longest: usize,
}

impl Budget {
    /// For a conversation of that many bytes and messages.
    pub(super) fn new(content: usize, messages: usize) -> Self {
        let bytes =
            BYTES.saturating_add(content.saturating_mul(TIMES)).saturating_add(messages.saturating_mul(PER_MESSAGE));
        Self { left: Arc::new(Left(AtomicUsize::new(bytes))), longest: bytes / 4 }
    }

    /// Makes it known to the filters. Macros see what is global, and no other variables of the template.
    pub(super) fn enter(&self, environment: &mut Environment<'_>) {
        environment.add_global(NAME, Value::from_dyn_object(self.left.clone()));
    }
}

/// Teaches an environment to weigh.
pub(super) fn install(environment: &mut Environment<'_>) {
    environment.add_filter(WEIGH, |state: &mut State, value: Value| weigh(state, &value).map(|()| value));
    nesting::install(environment);
    environment.add_filter("tojson", |state: &mut State, value: Value, indent: Option<Value>, more: Kwargs| {
        let indent = indent.map_or_else(|| more.get::<Option<Value>>("indent"), |indent| Ok(Some(indent)))?;
        let width = match &indent {
            Some(indent) if indent.kind() != ValueKind::Bool => usize::try_from(indent.clone())?,
            _ => 2,
        };
        if width > WIDEST_INDENT {
            let message = format!("tojson indents by at most {WIDEST_INDENT}, not {width}");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        // A line for each value, which begins with as many spaces.
        charge_indents(state, &value, width, width)?;
        minijinja::filters::tojson(&value, indent, more)
    });
    environment.add_filter(PASS, |state: &mut State, value: Value| pass(state, &value).map(|()| value));
    environment.set_formatter(|output, state, value| {
        weigh(state, value)?;
        minijinja::escape_formatter(output, state, value)
    });
    environment.set_unknown_method_callback(|state, value, method, arguments| {
        grow(state, value, method, arguments)?;
        let result = minijinja_contrib::pycompat::unknown_method_callback(state, value, method, arguments)?;
        weigh(state, &result).map(|()| result)
    });
    environment.add_filter("replace", |state: &mut State, value: Value, from: Value, to: Value| {
        grow(state, &value, "replace", &[from.clone(), to.clone()])?;
        Ok::<_, Error>(value.to_string().replace(&from.to_string(), &to.to_string()))
    });
    environment.add_filter("join", |state: &mut State, value: Value, between: Option<Value>| {
        let between = between.map(|between| between.to_string()).unwrap_or_default();
        grow(state, &Value::from(between.as_str()), "join", std::slice::from_ref(&value))?;
        let parts: Vec<String> = value.try_iter()?.map(|part| part.to_string()).collect();
        Ok::<_, Error>(parts.join(&between))
    });
    // Nobody needs them for prompts, and small arguments make long texts of them.
    for name in ["format", "indent", "batch", "slice", "pprint", "chain", "zip", "sum"] {
        environment.remove_filter(name);
    }
    environment.remove_global("debug");
}

/// Weighs what a method makes before it makes it, where that can be more than it was given.
fn grow(state: &State, value: &Value, method: &str, arguments: &[Value]) -> Result<(), Error> {
    pass(state, value)?;
    arguments.iter().try_for_each(|argument| weigh(state, argument))?;
    match (method, arguments) {
        ("replace", [from, to, ..]) => {
            let (text, from) = (value.to_string(), from.to_string());
            charge(state, text.matches(from.as_str()).count().saturating_mul(to.to_string().len()))
        }
        ("join", [parts, ..]) => charge(state, parts.len().unwrap_or(0).saturating_mul(value.to_string().len())),
        ("format", _) => Err(Error::new(ErrorKind::UnknownMethod, "`format` is not supported")),
        _ => Ok(()),
    }
}

/// Weighs a text, or a list without what it holds.
fn pass(state: &State, value: &Value) -> Result<(), Error> {
    charge(state, VALUE + value.as_str().map_or_else(|| value.len().unwrap_or(0).saturating_mul(VALUE), str::len))
}

/// Weighs all of a value. It stops when the budget is spent, so that lists of lists of lists cannot keep it busy.
fn weigh(state: &State, value: &Value) -> Result<(), Error> {
    weigh_at(state, value, 0)
}

fn weigh_at(state: &State, value: &Value, depth: usize) -> Result<(), Error> {
    pass(state, value)?;
    let inner = |inner: &Value| weigh_at(state, inner, depth + 1);
    match value.kind() {
        // Everything that shows, compares or drops it needs the stack too.
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map if depth == MOST_NESTED => Err(nesting::too_deep()),
        ValueKind::Seq | ValueKind::Iterable => value.try_iter()?.try_for_each(|item| inner(&item)),
        ValueKind::Map => value.try_iter()?.try_for_each(|key| {
            inner(&key)?;
            inner(&value.get_item(&key)?)
        }),
        _ => Ok(()),
    }
}

/// Weighs the spaces before the lines of JSON. The value was weighed before, so it is not nested too deeply.
fn charge_indents(state: &State, value: &Value, indent: usize, width: usize) -> Result<(), Error> {
    charge(state, indent)?;
    let inner = |inner: &Value| charge_indents(state, inner, indent + width, width);
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => value.try_iter()?.try_for_each(|item| inner(&item)),
        ValueKind::Map => value.try_iter()?.try_for_each(|key| inner(&value.get_item(&key)?)),
        _ => Ok(()),
    }
}

pub(super) fn charge(state: &State, bytes: usize) -> Result<(), Error> {
    let budget = state.lookup(NAME).and_then(|value| value.downcast_object::<Left>());
    let spent = |left: &Left| {
        left.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_err()
    };
    // A template that hides the budget from the filters means harm as well.
    if budget.is_none_or(|left| spent(&left)) {
        return Err(too_long());
    }
    Ok(())
}

fn too_long() -> Error {
    Error::new(ErrorKind::InvalidOperation, TOO_LONG)
}

/// Where the prompt is written, up to a length.
pub(super) struct Output {
    text: Vec<u8>,
    longest: usize,
}

impl Output {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { text: Vec::new(), longest: budget.longest }
    }

    pub(super) fn into_text(self) -> crate::Result<String> {
        String::from_utf8(self.text).map_err(|_| crate::Error::refused("chat template: its output is not text"))
    }
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.longest - self.text.len() < bytes.len() {
            return Err(io::Error::other(TOO_LONG));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
