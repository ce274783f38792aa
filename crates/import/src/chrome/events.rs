//! The events of a trace, as far as they matter here.

use std::borrow::Cow;
use std::fmt;

use record::Unread;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::{Error, Result};

/// As much of what was not read as is shown.
const SHOWN: usize = 160;

/// A trace.
pub(super) struct Trace<'a> {
    pub(super) events: Vec<Event<'a>>,
    /// Whether the list has no closing bracket, which the format permits.
    pub(super) is_open: bool,
    /// What stands in the file and is no whole event.
    pub(super) unread: Vec<Unread>,
    /// What computed beside the CPU.
    pub(super) device: Option<String>,
    /// The moment that times are counted from, in nanoseconds since 1970, where that is told.
    pub(super) base_ns: Option<u64>,
}

/// An event. What a tool writes beside this is of no use here.
#[derive(Deserialize, Default)]
pub(super) struct Event<'a> {
    #[serde(borrow, default)]
    pub(super) ph: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) cat: Cow<'a, str>,
    /// Microseconds.
    #[serde(default)]
    pub(super) ts: Option<f64>,
    #[serde(default)]
    pub(super) dur: Option<f64>,
    #[serde(borrow, default)]
    pub(super) pid: TrackId<'a>,
    #[serde(borrow, default)]
    pub(super) tid: TrackId<'a>,
    #[serde(borrow, default)]
    pub(super) args: Arguments<'a>,
}

/// A process or a thread: a number or a text.
#[derive(Default, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum TrackId<'a> {
    Number(i64),
    Text(Cow<'a, str>),
    #[default]
    Missing,
}

/// Of the arguments, the name that an event about a thread gives it.
#[derive(Default)]
pub(super) struct Arguments<'a>(pub(super) Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for TrackId<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor).map(|word| match word {
            FieldValue::Number(number) => TrackId::Number(number),
            FieldValue::Text(text) => TrackId::Text(text),
            FieldValue::Other(_) => TrackId::Missing,
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor).map(|word| match word {
            FieldValue::Other(name) => Arguments(name),
            _ => Arguments(None),
        })
    }
}

/// Whatever stands there, without keeping what is of no use.
enum FieldValue<'a> {
    Number(i64),
    Text(Cow<'a, str>),
    /// With its field `name`, where it is an object that has one.
    Other(Option<Cow<'a, str>>),
}

struct FieldVisitor;

impl<'de> Visitor<'de> for FieldVisitor {
    type Value = FieldValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<FieldValue<'de>, E> {
        Ok(FieldValue::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<FieldValue<'de>, E> {
        // A number beyond these is still another one than the next.
        Ok(i64::try_from(number).map_or_else(|_| FieldValue::Text(number.to_string().into()), FieldValue::Number))
    }

    fn visit_f64<E>(self, number: f64) -> std::result::Result<FieldValue<'de>, E> {
        Ok(FieldValue::Text(number.to_string().into()))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<FieldValue<'de>, E> {
        Ok(FieldValue::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<FieldValue<'de>, E> {
        Ok(FieldValue::Text(text.to_owned().into()))
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<FieldValue<'de>, E> {
        Ok(FieldValue::Other(None))
    }

    fn visit_unit<E>(self) -> std::result::Result<FieldValue<'de>, E> {
        Ok(FieldValue::Other(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<FieldValue<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FieldValue::Other(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<FieldValue<'de>, A::Error> {
        let mut name = None;
        while let Some(key) = fields.next_key::<Cow<'de, str>>()? {
            if key != "name" {
                fields.next_value::<IgnoredAny>()?;
            } else if let TrackId::Text(text) = fields.next_value()? {
                name = Some(text);
            }
        }
        Ok(FieldValue::Other(name))
    }
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<Event<'a>>,
    #[serde(default, rename = "deviceProperties")]
    devices: Vec<Device>,
    #[serde(default, rename = "baseTimeNanoseconds")]
    base_ns: Option<u64>,
}

#[derive(Deserialize)]
struct Device {
    #[serde(default)]
    name: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Trace<'_>> {
    if text.trim_start().starts_with('{') {
        let Document { events, devices, base_ns } = serde_json::from_str(text)?;
        let device = devices.into_iter().find_map(|device| device.name);
        return Ok(Trace { events, is_open: false, unread: Vec::new(), device, base_ns });
    }
    let mut trace = Trace { events: Vec::new(), is_open: true, unread: Vec::new(), device: None, base_ns: None };
    // Event by event: a program that is killed leaves a list without an end.
    let inner = text.trim_start().strip_prefix('[').ok_or_else(|| Error::new("not a list of events"))?;
    let mut rest = inner.trim_start();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix(']') {
            trace.is_open = false;
            if !behind.trim().is_empty() {
                trace.unread.push(unread(text, behind.trim_start(), "after the end of the event list"));
            }
            break;
        }
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Event<'_>>();
        match stream.next() {
            Some(Ok(event)) => trace.events.push(event),
            Some(Err(error)) if error.is_eof() && !trace.events.is_empty() => {
                trace.unread.push(unread(text, rest, "the file is truncated within this event"));
                break;
            }
            Some(Err(error)) => {
                let line = line_of(text, rest) + error.line() as u64 - 1;
                return Err(Error::at(line, format!("invalid event: {error}")));
            }
            None => break,
        }
        rest = rest[stream.byte_offset()..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Ok(trace)
}

/// The line where the rest of a text begins, counted from 1.
fn line_of(text: &str, rest: &str) -> u64 {
    let before = text.len() - rest.len();
    text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

fn unread(text: &str, rest: &str, why: &str) -> Unread {
    let end = rest.floor_char_boundary(SHOWN);
    let shown = rest[..end].split_whitespace().collect::<Vec<_>>().join(" ");
    Unread { line: Some(line_of(text, rest)), text: shown, why: why.to_owned() }
}
