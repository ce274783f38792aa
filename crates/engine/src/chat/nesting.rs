//! How deeply values of a template may be nested.
//!
//! The engine bounds calls in calls, but not lists in lists, nor values that hold themselves: what
//! walks through such a value, and what drops it, overflows the stack. Values grow from one step to
//! the next only where they are assigned, so `guard` writes a filter into every assignment.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};

use super::budget::{VALUE, charge};

/// The filter of what a variable is set to.
pub(super) const SET: &str = "__set";
/// The filter of what an attribute of a namespace is set to.
pub(super) const SET_ATTRIBUTE: &str = "__set_attribute";

/// Values in values. Schemas of tools have about ten.
pub(super) const MOST_NESTED: usize = 64;

/// Objects that change later, so that no check of today bounds what they hold tomorrow.
const CHANGING: [&str; 3] = ["Namespace", "Loop", "Macro"];

/// Teaches an environment to look at what is assigned.
pub(super) fn install(environment: &mut Environment<'_>) {
    environment.add_filter(SET, |state: &mut State, value: Value| {
        flat(state, &value, false, 0).map(|flat| flat.unwrap_or(value))
    });
    environment.add_filter(SET_ATTRIBUTE, |state: &mut State, value: Value| {
        flat(state, &value, true, 0).map(|flat| flat.unwrap_or(value))
    });
}

pub(super) fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("its values are nested deeper than {MOST_NESTED}"))
}

/// The value with lists in the place of slices and other iterators, which hold what they were made
/// from, level by level. `None` where there are none.
fn flat(state: &State, value: &Value, in_namespace: bool, depth: usize) -> Result<Option<Value>, Error> {
    let kind = value.kind();
    if is_changing(value) || (in_namespace && kind == ValueKind::Plain) {
        // What a namespace holds never holds a namespace, so it is never deeper than when it was set.
        let message = || format!("an attribute of a namespace cannot be set to {}", name_of(value));
        return if in_namespace { Err(Error::new(ErrorKind::InvalidOperation, message())) } else { Ok(None) };
    }
    if !matches!(kind, ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
        return Ok(None);
    }
    if depth == MOST_NESTED {
        return Err(too_deep());
    }
    let mut has_changed = kind == ValueKind::Iterable;
    let mut inner = |held: Value| {
        charge(state, VALUE)?;
        let flat = flat(state, &held, in_namespace, depth + 1)?;
        has_changed |= flat.is_some();
        Ok::<_, Error>(flat.unwrap_or(held))
    };
    if kind == ValueKind::Map {
        let pairs = value.try_iter()?.map(|key| Ok((key.clone(), inner(value.get_item(&key)?)?)));
        let pairs: Vec<(Value, Value)> = pairs.collect::<Result<_, Error>>()?;
        return Ok(has_changed.then(|| pairs.into_iter().collect()));
    }
    let items: Vec<Value> = value.try_iter()?.map(inner).collect::<Result<_, Error>>()?;
    Ok(has_changed.then(|| Value::from(items)))
}

fn is_changing(value: &Value) -> bool {
    value.as_object().is_some_and(|object| CHANGING.contains(&short(object.type_name())))
}

/// The last part of a path of Rust.
fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

fn name_of(value: &Value) -> String {
    value
        .as_object()
        .map_or_else(|| "this".to_owned(), |object| format!("a {}", short(object.type_name()).to_lowercase()))
}
