//! speedscope's JSON: evented profiles, which tell when frames open and close, and sampled ones, which list stacks. Each profile
//! of a file is a thread.

use std::borrow::Cow;

use record::Unread;
use serde::Deserialize;

use crate::calls::{Builder, Call};
use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::json::refuse;
use crate::stacks::Stacks;
use crate::tree::unknown_clock;
use crate::{Result, Source};

/// What the field `$schema` of such files says.
pub(crate) const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";
/// Ten years: what lasts longer is no profile.
const LONGEST_NS: f64 = 3.2e17;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    shared: Shared<'a>,
    #[serde(borrow)]
    profiles: Vec<Profile<'a>>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    exporter: Option<String>,
}

#[derive(Deserialize)]
struct Shared<'a> {
    #[serde(borrow)]
    frames: Vec<Frame<'a>>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Profile<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    unit: Cow<'a, str>,
    #[serde(default, rename = "startValue")]
    start: f64,
    #[serde(borrow, default)]
    events: Vec<Event<'a>>,
    #[serde(default)]
    samples: Vec<Vec<u32>>,
    #[serde(default)]
    weights: Vec<f64>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    at: f64,
    frame: u32,
}

/// One profile of a file, with what is needed to read it.
struct ProfileReader<'a, 'd> {
    profile: &'d Profile<'a>,
    /// Its place in the document.
    place: String,
    /// Nanoseconds of its unit.
    scale: f64,
    frames: &'d [&'d str],
}

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let document: Document<'_> = serde_json::from_str(text)?;
    let mut unread = Vec::new();
    let frames: Vec<&str> = document.shared.frames.iter().map(|frame| &*frame.name).collect();
    let has_times = document.profiles.iter().any(|profile| scale(&profile.unit).is_some());
    let mut builder = Builder::default();
    let mut evented = record::Profile { clock: unknown_clock(), ..record::Profile::default() };
    let mut stacks = Stacks::default();
    let mut samples = 0;
    for (at, profile) in document.profiles.iter().enumerate() {
        let place = format!("profiles[{at}]");
        let is_bare = matches!(&*profile.unit, "none" | "") && !has_times;
        let Some(scale) = scale(&profile.unit).or(is_bare.then_some(1.0)) else {
            refuse(&mut unread, format!("{place}: {} {}", profile.kind, profile.unit), "its weights are not times");
            continue;
        };
        let name = profile.name.clone().filter(|name| !name.is_empty());
        let part = ProfileReader { profile, place, scale, frames: &frames };
        match &*profile.kind {
            "evented" => builder.thread(&mut evented, at as u64, name, part.calls(&mut unread)),
            "sampled" => {
                stacks.thread(name);
                samples += part.sample(&mut stacks, &mut unread);
            }
            kind => refuse(&mut unread, format!("{}: {kind}", part.place), "unknown kind of profile"),
        }
    }
    builder.finish(&mut evented);
    let has_calls = !evented.scopes.is_empty();
    let mut drafts = Vec::new();
    if has_calls {
        drafts.push(draft(&document, evented, (samples > 0).then_some("evented")));
    }
    if samples > 0 {
        let mut draft = draft(&document, stacks.finish(), has_calls.then_some("sampled"));
        draft.note("Sampled profile: call counts are numbers of samples.");
        drafts.push(draft);
    }
    if !has_times {
        let note = "The values have no unit; 1 is shown as 1 ns. Shares are right, times are not.";
        drafts.iter_mut().for_each(|draft| draft.note(note));
    }
    Ok(ReadRuns { drafts, unread })
}

/// Nanoseconds of a unit of time.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "nanoseconds" => 1.0,
        "microseconds" => 1e3,
        "milliseconds" => 1e6,
        "seconds" => 1e9,
        _ => return None,
    })
}

fn draft(document: &Document<'_>, profile: record::Profile, part: Option<&str>) -> Draft {
    let subject = document.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("a profiled program");
    let mut draft = Draft::new(subject, "speedscope");
    draft.part = part.map(str::to_owned);
    draft.single_shot = true;
    if let Some(exporter) = &document.exporter {
        draft.note(format!("The file was written by {exporter}."));
    }
    draft.profile(profile);
    draft
}

fn nanoseconds(ns: f64) -> Option<u64> {
    (0.0..LONGEST_NS).contains(&ns).then(|| ns.round() as u64)
}

impl<'d> ProfileReader<'_, 'd> {
    /// The calls of an evented profile, in the order in which they began.
    fn calls(&self, unread: &mut Vec<Unread>) -> Vec<Call<'d>> {
        let mut calls: Vec<Call<'d>> = Vec::new();
        // Places in the list of calls, and their frames.
        let mut open: Vec<(usize, u32)> = Vec::new();
        let mut last_ns = 0;
        for (at, event) in self.profile.events.iter().enumerate() {
            let mut wrong = |why: &str| refuse(unread, format!("{}.events[{at}]", self.place), why);
            let now = nanoseconds((event.at - self.profile.start) * self.scale);
            let Some(now) = now.filter(|now| *now >= last_ns) else {
                wrong("its time is impossible or before the previous event");
                continue;
            };
            last_ns = now;
            match (&*event.kind, self.frames.get(event.frame as usize)) {
                (_, None) => wrong("no frame with this number"),
                ("O", Some(name)) => {
                    let depth = Some(open.len());
                    open.push((calls.len(), event.frame));
                    calls.push(Call { name, start_ns: now, end_ns: now, depth });
                }
                ("C", Some(_)) => match open.pop_if(|(_, frame)| *frame == event.frame) {
                    Some((call, _)) => calls[call].end_ns = now,
                    None => wrong("closes a frame that is not the innermost open one"),
                },
                (_, Some(_)) => wrong("unknown kind of event"),
            }
        }
        for (call, _) in open {
            calls[call].end_ns = last_ns;
            let text = format!("{}: the end of {}", self.place, calls[call].name);
            refuse(unread, text, "the frame is not closed; it ends with the profile");
        }
        calls
    }

    /// Adds the samples of a profile; how many those are.
    fn sample(&self, stacks: &mut Stacks<'d>, unread: &mut Vec<Unread>) -> usize {
        let Profile { samples, weights, .. } = self.profile;
        let mut count = 0;
        for (at, sample) in samples.iter().enumerate() {
            let mut wrong = |why: &str| refuse(unread, format!("{}.samples[{at}]", self.place), why);
            let Some(ns) = weights.get(at).and_then(|weight| nanoseconds(weight * self.scale)) else {
                wrong("missing or impossible weight");
                continue;
            };
            let names: Option<Vec<&str>> =
                sample.iter().map(|frame| self.frames.get(*frame as usize).copied()).collect();
            match names {
                Some(names) => {
                    stacks.add(names, 1, ns);
                    count += 1;
                }
                None => wrong("no frame with one of its numbers"),
            }
        }
        if let Some(more) = weights.len().checked_sub(samples.len()).filter(|more| *more > 0) {
            refuse(unread, format!("{}: {more} weights", self.place), "they have no sample");
        }
        count
    }
}
