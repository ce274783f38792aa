//! A Perfetto trace: a stream of `TracePacket`s, all of one sequence. Names and what is the same for all calls of a scope are
//! interned, so that a call costs a few bytes.

use record::{Profile, Scope};

use super::format::{Format, Writer};
use super::picture::{Edge, Picture, Track};
use super::protobuf::Message;
use super::{figures, names};

/// Numbers of fields, by the messages of Perfetto's `trace_packet.proto` and the files it names.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;

    pub(super) mod packet {
        pub(in super::super) const TIMESTAMP: u32 = 8;
        pub(in super::super) const SEQUENCE_ID: u32 = 10;
        pub(in super::super) const TRACK_EVENT: u32 = 11;
        pub(in super::super) const INTERNED_DATA: u32 = 12;
        pub(in super::super) const SEQUENCE_FLAGS: u32 = 13;
        pub(in super::super) const TRACK_DESCRIPTOR: u32 = 60;
    }

    pub(super) mod track {
        pub(in super::super) const UUID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const PROCESS: u32 = 3;
        pub(in super::super) const THREAD: u32 = 4;
        pub(in super::super) const PARENT_UUID: u32 = 5;
        pub(in super::super) const DESCRIPTION: u32 = 14;
    }

    pub(super) mod process {
        pub(in super::super) const PID: u32 = 1;
        pub(in super::super) const NAME: u32 = 6;
    }

    pub(super) mod thread {
        pub(in super::super) const PID: u32 = 1;
        pub(in super::super) const TID: u32 = 2;
        pub(in super::super) const NAME: u32 = 5;
    }

    pub(super) mod event {
        pub(in super::super) const CATEGORIES: u32 = 22;
        pub(in super::super) const DEBUG_ANNOTATIONS: u32 = 4;
        pub(in super::super) const TYPE: u32 = 9;
        pub(in super::super) const NAME_IID: u32 = 10;
        pub(in super::super) const TRACK_UUID: u32 = 11;
        pub(in super::super) const SOURCE_LOCATION_IID: u32 = 34;
    }

    pub(super) mod annotation {
        pub(in super::super) const NAME_IID: u32 = 1;
        pub(in super::super) const UINT: u32 = 3;
        pub(in super::super) const DICT_ENTRIES: u32 = 11;
        pub(in super::super) const STRING_IID: u32 = 17;
    }

    pub(super) mod interned {
        pub(in super::super) const EVENT_NAMES: u32 = 2;
        pub(in super::super) const ANNOTATION_NAMES: u32 = 3;
        pub(in super::super) const SOURCE_LOCATIONS: u32 = 4;
        pub(in super::super) const ANNOTATION_STRINGS: u32 = 29;
        pub(in super::super) const IID: u32 = 1;
        pub(in super::super) const TEXT: u32 = 2;
        pub(in super::super) const FILE: u32 = 2;
        pub(in super::super) const FUNCTION: u32 = 3;
        pub(in super::super) const LINE: u32 = 4;
    }
}

/// The first packet of a sequence says that nothing was interned before; the others say that they need what was.
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const SEQUENCE: u64 = 1;
/// The process has this track and this number; threads come behind it.
const PROCESS: u64 = 1;

pub(super) const FORMAT: Format = Format {
    name: "perfetto",
    extension: "pftrace",
    is_binary: true,
    about: "native Perfetto trace: smaller, binary",
    opened_by: "open it at ui.perfetto.dev (Open trace file), or query it with trace_processor_shell",
    write: Writer::Picture(|picture, profile, _| write(picture, profile)),
};

/// The whole file.
fn write(picture: &Picture, profile: &Profile) -> Vec<u8> {
    let mut trace = Trace(Vec::new());
    let state = packet(STATE_CLEARED | NEEDS_STATE).message(field::packet::INTERNED_DATA, interned(profile));
    trace.push(state);
    let process = Message::default().number(field::process::PID, PROCESS).bytes(field::process::NAME, &picture.title);
    let track = Message::default().number(field::track::UUID, PROCESS).message(field::track::PROCESS, process);
    trace.describe(track.bytes(field::track::DESCRIPTION, &picture.note));
    for (track, uuid) in picture.tracks.iter().zip(PROCESS + 1..) {
        trace.describe(descriptor(track, uuid).bytes(field::track::DESCRIPTION, &picture.note));
    }
    let annotations: Vec<Vec<Message>> =
        profile.scopes.iter().enumerate().map(|(at, scope)| annotations(at, scope, picture.has_calls)).collect();
    let heads: Vec<Vec<u8>> =
        annotations.into_iter().enumerate().map(|(at, list)| head(at, &profile.scopes[at], list)).collect();
    for (track, uuid) in picture.tracks.iter().zip(PROCESS + 1..) {
        for edge in track.edges() {
            let event = Message::default().number(field::event::TRACK_UUID, uuid);
            match edge {
                Edge::Open(slice) => trace.event(slice.start_ns, event.raw(&heads[slice.scope])),
                Edge::Close(slice) => trace.event(slice.end_ns, event.number(field::event::TYPE, SLICE_END)),
            }
        }
    }
    trace.0
}

struct Trace(Vec<u8>);

impl Trace {
    fn push(&mut self, packet: Message) {
        self.0.extend(Message::default().message(field::TRACE_PACKET, packet).into_bytes());
    }

    fn describe(&mut self, descriptor: Message) {
        self.push(packet(NEEDS_STATE).message(field::packet::TRACK_DESCRIPTOR, descriptor));
    }

    fn event(&mut self, at_ns: u64, event: Message) {
        let packet = packet(NEEDS_STATE).number(field::packet::TIMESTAMP, at_ns);
        self.push(packet.message(field::packet::TRACK_EVENT, event));
    }
}

fn packet(flags: u64) -> Message {
    Message::default().number(field::packet::SEQUENCE_ID, SEQUENCE).number(field::packet::SEQUENCE_FLAGS, flags)
}

/// A thread has its own kind of track; the merged tree, and calls that overlap others, get plain ones in the process.
fn descriptor(track: &Track, uuid: u64) -> Message {
    let message = Message::default().number(field::track::UUID, uuid);
    match track.thread {
        Some(_) => {
            let thread = Message::default()
                .number(field::thread::PID, PROCESS)
                .number(field::thread::TID, uuid)
                .bytes(field::thread::NAME, &track.name);
            message.number(field::track::PARENT_UUID, PROCESS).message(field::track::THREAD, thread)
        }
        None => message.number(field::track::PARENT_UUID, PROCESS).bytes(field::track::NAME, &track.name),
    }
}

/// The names of annotations; their numbers are their places here, from 1.
fn annotation_names() -> Vec<&'static str> {
    let figures = figures::figures(&Scope::default());
    ["scope", "source", "all_calls"].into_iter().chain(figures.into_iter().map(|(name, _)| name)).collect()
}

const SCOPE_IID: u64 = 1;
const SOURCE_IID: u64 = 2;
const ALL_CALLS_IID: u64 = 3;
const FIRST_FIGURE_IID: u64 = 4;

/// A scope's number for all that is interned of it: never 0.
fn iid(scope: usize) -> u64 {
    scope as u64 + 1
}

/// The place of a scope follows its whole name among the strings.
fn string_iids(scope: usize) -> (u64, u64) {
    (scope as u64 * 2 + 1, scope as u64 * 2 + 2)
}

fn interned(profile: &Profile) -> Message {
    let text =
        |iid: u64, text: &str| Message::default().number(field::interned::IID, iid).bytes(field::interned::TEXT, text);
    let mut data = Message::default();
    for (name, at) in annotation_names().into_iter().zip(1_u64..) {
        data = data.message(field::interned::ANNOTATION_NAMES, text(at, name));
    }
    for (at, scope) in profile.scopes.iter().enumerate() {
        let (whole, place) = string_iids(at);
        data = data
            .message(field::interned::EVENT_NAMES, text(iid(at), &names::shown(scope)))
            .message(field::interned::ANNOTATION_STRINGS, text(whole, &names::whole(scope)));
        if let Some(source) = names::place(scope) {
            let location = Message::default()
                .number(field::interned::IID, iid(at))
                .bytes(field::interned::FILE, &scope.file)
                .bytes(field::interned::FUNCTION, &scope.name)
                .number(field::interned::LINE, u64::from(scope.line));
            data = data
                .message(field::interned::ANNOTATION_STRINGS, text(place, &source))
                .message(field::interned::SOURCE_LOCATIONS, location);
        }
    }
    data
}

fn annotations(at: usize, scope: &Scope, is_call: bool) -> Vec<Message> {
    let named = |iid: u64| Message::default().number(field::annotation::NAME_IID, iid);
    let (whole, place) = string_iids(at);
    let mut list = vec![named(SCOPE_IID).number(field::annotation::STRING_IID, whole)];
    if names::place(scope).is_some() {
        list.push(named(SOURCE_IID).number(field::annotation::STRING_IID, place));
    }
    let figures = figures::figures(scope).into_iter().zip(FIRST_FIGURE_IID..).filter_map(|((_, value), iid)| {
        let value = value?;
        Some(named(iid).number(field::annotation::UINT, value))
    });
    if is_call {
        let group =
            figures.fold(named(ALL_CALLS_IID), |group, figure| group.message(field::annotation::DICT_ENTRIES, figure));
        list.push(group);
    } else {
        list.extend(figures);
    }
    list
}

/// What every beginning of a scope's slices has.
fn head(at: usize, scope: &Scope, annotations: Vec<Message>) -> Vec<u8> {
    let mut event = Message::default()
        .number(field::event::TYPE, SLICE_BEGIN)
        .number(field::event::NAME_IID, iid(at))
        .bytes(field::event::CATEGORIES, "scope");
    if names::place(scope).is_some() {
        event = event.number(field::event::SOURCE_LOCATION_IID, iid(at));
    }
    let list = annotations.into_iter();
    list.fold(event, |event, one| event.message(field::event::DEBUG_ANNOTATIONS, one)).into_bytes()
}
