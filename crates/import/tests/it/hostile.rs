//! Texts that nobody should have written: an error or a run, never a panic, and no more memory than they have bytes.

use import::{Format, import, unpacked};

use super::{fixture, source, try_read};

const FIXTURES: &[&str] = &[
    "smallmind-enhanced.md",
    "smallmind-standard.md",
    "smallmind-comparison.md",
    "smallmind-allocation.txt",
    "smallmind-benchmarks.json",
    "smallmind-models.md",
    "smallmind-consolidated.md",
    "loopos.txt",
    "llama-bench.json",
    "llama-bench.jsonl",
    "llama-bench.md",
    "llama-bench-old.md",
    "llama-bench-of-hotloop.md",
    "llama-bench.csv",
    "llama-bench.sql",
    "hyperfine-1.json",
    "hyperfine-2.json",
    "google-benchmark.json",
    "criterion/gemm/512/new/sample.json",
    "torch-trace.json",
    "chrome-cut.json",
    "pytest-benchmark.json",
    "go-bench.txt",
    "folded.txt",
    "speedscope-evented.json",
    "speedscope-sampled.json",
];

/// Reads it as every format, and by itself.
fn throw(text: &str) {
    for format in Format::all() {
        if let Ok(found) = import(text, &source("x"), Some(*format)) {
            assert!(!found.runs.is_empty());
            for run in &found.runs {
                record::Run::from_json(&run.to_json()).expect("a run can be read again");
            }
        }
    }
    let _ = import(text, &source("x"), None);
}

#[test]
fn every_format_is_recognised_by_what_it_says() {
    for name in FIXTURES {
        let text = fixture(name);
        let format = Format::of(&text).unwrap_or_else(|| panic!("{name} is not recognised"));
        let wanted = name.split(['.', '/']).next().unwrap_or_default();
        let wanted = if wanted == "torch-trace" { "chrome" } else { wanted };
        assert!(wanted.starts_with(format.name()), "{name} is taken for {format:?}");
    }
    for nothing in ["", " \n", "{}", "[]", "# A title\n", "{\"schema\": \"hotloop-run\"}", "\u{0}\u{1}"] {
        assert_eq!(Format::of(nothing), None, "{nothing}");
        assert!(import(nothing, &source("x"), None).is_err_and(|error| error.is_unknown_format()));
    }
}

#[test]
fn cut_off_anywhere() {
    for name in FIXTURES {
        let text = fixture(name);
        for end in (0..text.len()).step_by(37) {
            throw(&text[..text.floor_char_boundary(end)]);
        }
    }
}

#[test]
fn numbers_that_cannot_be() {
    for name in FIXTURES {
        let text = fixture(name);
        for number in ["NaN", "-1", "1e308", "1e999", "99999999999999999999999999", "null", "\"\"", "∞", "0"] {
            // Every number in turn, those of one line together.
            let lines: Vec<&str> = text.lines().collect();
            for at in 0..lines.len() {
                let digits = |c: char| c.is_ascii_digit() || c == '.';
                let changed: String = lines[at]
                    .split_inclusive(|c: char| !digits(c))
                    .map(|piece| match piece.starts_with(digits) {
                        true => format!("{number}{}", piece.trim_start_matches(digits)),
                        false => piece.to_owned(),
                    })
                    .collect();
                let mut lines = lines.clone();
                lines[at] = &changed;
                if let Some(format) = Format::of(&text) {
                    let _ = import(&lines.join("\n"), &source("x"), Some(format));
                }
            }
        }
    }
}

#[test]
fn depth_and_length() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(200_000), close.repeat(200_000));
    throw(&deep("[", "]"));
    throw(&deep("{\"a\":", "}"));
    throw(&format!("{{\"traceEvents\":[{{\"ph\":\"X\",\"args\":{}}}]}}", deep("[", "]")));
    // A call in a call in a call: a tree as deep as it is allowed to be, and the rest is counted.
    let calls: Vec<String> = (0..20_000)
        .map(|at| {
            format!("{{\"ph\":\"X\",\"name\":\"n{at}\",\"ts\":{at},\"dur\":{},\"pid\":1,\"tid\":1}}", 40_000 - 2 * at)
        })
        .collect();
    let found = try_read("deep.json", &format!("{{\"traceEvents\":[{}]}}", calls.join(","))).expect("it can be read");
    let profile = found.runs[0].profile.as_ref().expect("it has a profile");
    assert_eq!(profile.scopes.len() as u64 + profile.lost.calls_without_room, 20_000);
    let rows = "| 1 | `a` | 1.00 | 1 | 1.000 | 0.00 |\n".repeat(20_000);
    let text = format!(
        "# Enhanced Performance Profile Report\n| Rank | Method | Time (ms) | Calls | Avg (ms) | Alloc (MB) |\n{rows}"
    );
    let found = try_read("long.md", &text).expect("it can be read");
    assert_eq!(found.runs[0].rows.len(), 1);
    assert_eq!(found.unread.len(), 19_999);
    // Names that all differ: as many as are read, and the rest is named.
    let rows: String = (0..20_000).map(|at| format!("| 1 | `a_{at}` | 1.00 | 1 | 1.000 | 0.00 |\n")).collect();
    let text = format!(
        "# Enhanced Performance Profile Report\n| Rank | Method | Time (ms) | Calls | Avg (ms) | Alloc (MB) |\n{rows}"
    );
    let found = try_read("long.md", &text).expect("it can be read");
    assert_eq!(found.runs[0].rows.len() + found.unread.len(), 20_000);
}

#[test]
fn packed_by_gzip() {
    // `printf hello | gzip -n`.
    let packed = [
        0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0,
        0,
    ];
    let twice = [packed, packed].concat();
    assert_eq!(unpacked(&twice, 100), Some(Ok(b"hellohello".to_vec())), "members one behind the other");
    assert!(unpacked(&[&packed[..], b"x"].concat(), 100).is_some_and(|found| found.is_err()));
    let mut damaged = packed;
    damaged[19] ^= 1;
    assert!(unpacked(&damaged, 100).is_some_and(|found| found.is_err_and(|error| error.contains("damaged"))));
    assert_eq!(unpacked(&packed, 100), Some(Ok(b"hello".to_vec())));
    assert_eq!(unpacked(b"hello", 100), None);
    for most in 0..5 {
        assert!(unpacked(&packed, most).is_some_and(|found| found.is_err()), "no more than {most}");
    }
    for end in 3..packed.len() {
        assert!(unpacked(&packed[..end], 100).is_some_and(|found| found.is_err()), "cut at {end}");
    }
    for flags in 0..=255 {
        let mut other = packed;
        other[3] = flags;
        let _ = unpacked(&other, 100);
    }
}

/// Zeros, packed as tightly as deflate can: one literal, then copies of 258 bytes of two bits each.
fn bomb(copies: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let mut bits: Vec<bool> = Vec::new();
    // The last block, dynamic codes: 286 lengths, 1 distance, 18 lengths of code lengths.
    let number = |bits: &mut Vec<bool>, value: u32, width: u32| bits.extend((0..width).map(|at| value >> at & 1 == 1));
    for (value, width) in [(1, 1), (2, 2), (29, 5), (0, 5), (14, 4)] {
        number(&mut bits, value, width);
    }
    // Lengths of the code of code lengths, in the order 16, 17, 18, 0, 8, 7, ..., 1: 18 has 1 bit, 1 and 2 have 2.
    for at in 0..18 {
        number(&mut bits, [(2, 1), (15, 2), (17, 2)].iter().find(|(place, _)| *place == at).map_or(0, |it| it.1), 3);
    }
    // Canonical: 18 is `0`, 1 is `10`, 2 is `11`. The literal 0 and the end get 2 bits, the copy of 258 gets 1.
    let repeat = |bits: &mut Vec<bool>, zeros: u32| {
        bits.push(false);
        number(bits, zeros - 11, 7);
    };
    bits.extend([true, true]);
    repeat(&mut bits, 138);
    repeat(&mut bits, 117);
    bits.extend([true, true]);
    repeat(&mut bits, 28);
    bits.extend([true, false, true, false]);
    // Codes: the copy is `0`, the literal `10`, the end `11`; the one distance is `0`.
    bits.extend([true, false]);
    bits.extend(std::iter::repeat_n(false, 2 * copies));
    bits.extend([true, true]);
    bytes.extend(bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | u8::from(*bit))));
    bytes.extend([0; 8]);
    bytes
}

#[test]
fn a_gzip_bomb_is_stopped_at_a_limit() {
    // 0.6 MB that would be 620 MB.
    let packed = bomb(2_400_000);
    assert_eq!(packed.len() / 100_000, 6);
    let error = unpacked(&packed, 1 << 30).expect("it is packed").expect_err("it is too long");
    assert!(error.contains("128 times the packed size"), "{error}");
    // Within the limit it is unpacked, and found to be without a checksum.
    let error = unpacked(&bomb(1_000), 1 << 30).expect("it is packed").expect_err("it has no checksum");
    assert!(error.contains("damaged"), "{error}");
}
