//! Perfetto's format, read by the rules of the wire and nothing else.

use super::{CALLS, PATHS, bytes, named, sample};

/// A field: its number, and what it holds.
enum Held {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(bytes: &[u8]) -> Vec<(u64, Held)> {
    let (mut at, mut list) = (0, Vec::new());
    while at < bytes.len() {
        let tag = varint(bytes, &mut at);
        let held = match tag & 7 {
            0 => Held::Number(varint(bytes, &mut at)),
            2 => {
                let length = varint(bytes, &mut at) as usize;
                at += length;
                Held::Bytes(bytes[at - length..at].to_vec())
            }
            kind => panic!("kind {kind} at {at}"),
        };
        list.push((tag >> 3, held));
    }
    list
}

fn number(list: &[(u64, Held)], field: u64) -> Option<u64> {
    list.iter().find_map(|(at, held)| match held {
        Held::Number(value) if *at == field => Some(*value),
        _ => None,
    })
}

fn inner(list: &[(u64, Held)], field: u64) -> Vec<Vec<u8>> {
    let found = list.iter().filter_map(|(at, held)| match held {
        Held::Bytes(value) if *at == field => Some(value.clone()),
        _ => None,
    });
    found.collect()
}

/// Beginnings and ends of all tracks: (track, time, type).
fn events(file: &[u8]) -> Vec<(u64, u64, u64)> {
    let packets = inner(&fields(file), 1);
    let event = |packet: Vec<u8>| {
        let packet = fields(&packet);
        let event = fields(inner(&packet, 11).first()?);
        Some((number(&event, 11)?, number(&packet, 8)?, number(&event, 9)?))
    };
    packets.into_iter().filter_map(event).collect()
}

#[test]
fn every_beginning_has_its_end() {
    for (run, tracks) in [(sample::with_timeline(), &CALLS[..]), (sample::without_timeline(), &[PATHS])] {
        let events = events(&bytes(&run, named("perfetto")));
        for (track, calls) in (2..).zip(tracks) {
            let (mut open, mut last, mut begun) = (0_i64, 0, 0);
            for (_, time, kind) in events.iter().filter(|event| event.0 == track) {
                assert!(*time >= last, "time goes on");
                last = *time;
                open += if *kind == 1 { 1 } else { -1 };
                begun += usize::from(*kind == 1);
                assert!(open >= 0, "nothing ends that has not begun");
            }
            assert_eq!((open, begun), (0, *calls));
        }
    }
}

#[test]
fn names_are_interned_before_they_are_used() {
    let packets = inner(&fields(&bytes(&sample::with_timeline(), named("perfetto"))), 1);
    let first = fields(&packets[0]);
    assert_eq!(number(&first, 13), Some(3), "the first packet clears the state");
    let data = fields(&inner(&first, 12)[0]);
    let names: Vec<String> = inner(&data, 2)
        .iter()
        .map(|name| String::from_utf8(inner(&fields(name), 2)[0].clone()).expect("it is UTF-8"))
        .collect();
    assert_eq!(names.len(), PATHS);
    assert!(names.contains(&"layer 1".to_owned()) && names.contains(&"a;b\nc\td 7".to_owned()), "{names:?}");
}

#[test]
fn an_empty_profile_has_no_events() {
    assert_eq!(events(&bytes(&sample::empty(), named("perfetto"))), []);
}
