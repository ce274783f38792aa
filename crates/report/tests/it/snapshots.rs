//! Every output, byte for byte. `HOTLOOP_UPDATE=1` writes the files anew.

use std::path::PathBuf;

use report::{RunOptions, run_loopos, run_markdown, run_smallmind, run_text};

use super::runs;

/// Pictures are written as escapes, so that the files hold none.
fn without_pictures(text: &str) -> String {
    let written = |c: char| if c >= '\u{1f000}' { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(written).collect()
}

#[track_caller]
pub fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    let text = without_pictures(text);
    if std::env::var_os("HOTLOOP_UPDATE").is_some() {
        return std::fs::write(&path, text).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} has changed; HOTLOOP_UPDATE=1 writes it anew:\n{text}");
}

#[test]
fn terminal_and_markdown() {
    let options = RunOptions { id: Some("20261115-080000-7f3a".into()), ..RunOptions::default() };
    for (name, run) in runs::all() {
        check(&format!("{name}.txt"), &run_text(&run, &options));
        check(&format!("{name}.md"), &run_markdown(&run, &options));
    }
}

#[test]
fn colour() {
    let options = RunOptions { color: true, top: 3, ..RunOptions::default() };
    check("colour.txt", &run_text(&runs::interrupted(), &options).replace('\x1b', "\\x1b"));
}

#[test]
fn layouts_of_the_originals() {
    for (name, run) in runs::all() {
        check(&format!("{name}.smallmind.md"), &run_smallmind(&run));
        check(&format!("{name}.loopos.txt"), &run_loopos(&run));
    }
}
