//! Every output, byte for byte. `HOTLOOP_UPDATE=1` writes the files anew.

use std::path::PathBuf;

use report::{RunOptions, duel_verdict_line, run_first_screen, run_loopos, run_smallmind};

use super::text::{duel_markdown, duel_text, run_markdown, run_text};
use super::{duels, runs};

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
        check(&format!("{name}.loopos.txt"), &run_loopos(&run, 15));
    }
}

#[test]
fn duels_on_the_terminal_and_as_markdown() {
    let options = RunOptions { top: 2, ..RunOptions::default() };
    for (name, duel) in duels::all() {
        let text = duel_text(&duel, &options);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        check(&format!("{name}.txt"), &text);
        check(&format!("{name}.md"), &duel_markdown(&duel, &options));
    }
}

#[test]
fn the_last_line_of_a_duel_is_for_programs() {
    let line = "VERDICT regressed wall_s +7.1% [5.2,9.0] floor 1.1%";
    assert_eq!(duel_verdict_line(&duels::regressed()), line);
    assert_eq!(duel_text(&duels::regressed(), &RunOptions::default()).lines().last(), Some(line));
    let ended = |duel: &record::Duel| duel_verdict_line(&record::Duel { interrupted: false, ..duel.clone() });
    let lines: Vec<String> = duels::all().iter().skip(1).map(|(_, duel)| ended(duel)).collect();
    let expected = [
        "VERDICT unresolved wall_s +7.1% [5.2,9.0] floor 1.1% (did not reproduce)",
        "VERDICT same wall_s +0.2% [-0.4,0.9] floor 1.1% arm B",
        "VERDICT incomparable build profile",
        "VERDICT wrong-output output",
        "VERDICT unresolved",
    ];
    assert_eq!(lines, expected);
    assert_eq!(duel_verdict_line(&record::Duel { interrupted: true, ..duels::regressed() }), "VERDICT interrupted");
}

/// The first screen at the widths of common terminals, and where there is none.
#[test]
fn first_screens() {
    for (name, run) in runs::all() {
        for width in [80, 120, 200] {
            let options = RunOptions { id: Some("7f3a12".into()), width, ..RunOptions::default() };
            let text = run_first_screen(&run, &options);
            assert!(text.lines().count() <= 35, "{name}: {} lines\n{text}", text.lines().count());
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest <= width, "{name}: {longest} of {width} columns\n{text}");
            if ["standard", "enhanced", "sampled", "command"].contains(&name) {
                check(&format!("{name}.screen-{width}.txt"), &text);
            }
        }
    }
    let colored = run_first_screen(&runs::all()[0].1, &RunOptions { color: true, ..RunOptions::default() });
    assert!(colored.contains("\x1b[1mHOTLOOP"), "{colored}");
}
