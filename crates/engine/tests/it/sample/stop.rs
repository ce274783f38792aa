//! Stop texts beside a plain search in the whole text.

use engine::StopSequences;

use crate::random::Random;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// What is shown of a stream, and whether it ended.
fn shown(stops: &mut StopSequences, parts: &[&str]) -> (String, bool) {
    let mut all = String::new();
    for part in parts {
        let shown = stops.push(part);
        all.push_str(shown.text);
        if shown.ended {
            assert_eq!(stops.push("more").text, "");
            assert_eq!(stops.finish(), "");
            return (all, true);
        }
    }
    all.push_str(stops.finish());
    (all, false)
}

#[test]
fn beginnings_are_held_back() {
    let mut stops = StopSequences::new(&texts(&["</end>", "STOP"]));
    for (text, expected) in [("a<", "a"), ("/e", ""), ("x", "</ex"), ("S", ""), ("T", ""), ("ST", "ST"), ("é", "STé")]
    {
        let shown = stops.push(text);
        assert_eq!((shown.text, shown.ended), (expected, false), "{text}");
    }
    let shown = stops.push("b</end>c");
    assert_eq!((shown.text, shown.ended), ("b", true));
}

#[test]
fn what_was_held_back_comes_at_the_end() {
    let mut stops = StopSequences::new(&texts(&["\n\n"]));
    assert_eq!(stops.push("a\n").text, "a");
    assert_eq!(stops.finish(), "\n");
    // Another stream does not begin where the last one ended.
    assert_eq!(stops.push("\n").text, "");
    assert_eq!(stops.push("b").text, "\nb");
}

#[test]
fn nothing_stops_without_texts() {
    for none in [texts(&[]), texts(&["", ""])] {
        assert_eq!(shown(&mut StopSequences::new(&none), &["a", "", "b"]), ("ab".to_owned(), false));
    }
}

#[test]
fn the_first_that_is_complete_stops() {
    let both = texts(&["abcd", "bc", "c"]);
    assert_eq!(shown(&mut StopSequences::new(&both), &["xabcd"]), ("xa".to_owned(), true));
}

#[test]
fn streams_stop_where_a_search_finds_it() {
    let mut random = Random(13);
    for _ in 0..20_000 {
        let letters = ["a", "b", "é", "ab"];
        let word = |random: &mut Random, length: usize| -> String {
            (0..=random.below(length)).map(|_| letters[random.below(4)]).collect()
        };
        let stops: Vec<String> = (0..random.below(4)).map(|_| word(&mut random, 5)).collect();
        let parts: Vec<String> = (0..random.below(8)).map(|_| word(&mut random, 4)).collect();
        let whole = parts.concat();
        // The end that comes first; of those that end there, the beginning that comes first.
        let ends = stops.iter().filter_map(|stop| whole.find(stop.as_str()).map(|at| (at + stop.len(), at)));
        let expected = match ends.min() {
            Some((_, start)) => (whole[..start].to_owned(), true),
            None => (whole.clone(), false),
        };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_eq!(shown(&mut StopSequences::new(&stops), &parts), expected, "{stops:?} in {parts:?}");
    }
}
