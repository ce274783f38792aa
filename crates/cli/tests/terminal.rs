//! What is shown on a terminal: widths, colours, progress and the pager.
#![cfg(unix)]

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

/// A run that has every part.
const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/fixtures/run-1.json");
/// A measurement that takes a moment.
const SHORT: &str = "profile --tokens 4 --repeat 2 --warmup 0 --no-limits --no-save --threads 1 --allow-debug";
/// More lines than the first screen of a run may have.
const TALL: u16 = 36;

/// Variables that decide what is shown, and are not those of the tests.
const VARIABLES: [&str; 6] = ["NO_COLOR", "TERM", "COLUMNS", "PAGER", "LESS", "HOTLOOP_STORE"];

fn hotloop(arguments: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    for name in VARIABLES {
        command.env_remove(name);
    }
    command.args(arguments.split_whitespace()).env("TERM", "xterm").envs(variables.iter().copied());
    command.env("HOTLOOP_STORE", store()).stdin(Stdio::null());
    command
}

fn store() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("terminal-store")
}

/// What a command prints on a terminal of this size.
fn on_terminal(arguments: &str, (columns, rows): (u16, u16), variables: &[(&str, &str)]) -> String {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None).expect("the system has terminals");
    let again = || terminal.slave.try_clone().expect("a handle can be copied");
    let mut command = hotloop(arguments, variables);
    command.stdout(Stdio::from(again())).stderr(Stdio::from(again()));
    let mut child = command.spawn().expect("the program starts");
    // All handles but the program's have to go, or the terminal never ends.
    drop((command, terminal.slave));
    let (mut bytes, mut master) = (Vec::new(), File::from(terminal.master));
    let mut buffer = [0; 4096];
    // Linux reports the end of a terminal as an error.
    while let Ok(count) = master.read(&mut buffer) {
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&buffer[..count]);
    }
    assert!(child.wait().expect("it ends").success(), "{arguments}: {}", String::from_utf8_lossy(&bytes));
    String::from_utf8(bytes).expect("it writes UTF-8").replace("\r\n", "\n")
}

fn piped(arguments: &str, variables: &[(&str, &str)]) -> String {
    let output = hotloop(arguments, variables).output().expect("the program starts");
    assert!(output.status.success(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}

#[track_caller]
fn assert_fits(text: &str, columns: usize) {
    let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(longest.chars().count() <= columns, "{} of {columns} columns: {longest}", longest.chars().count());
}

#[test]
fn the_first_screen_fits_on_terminals() {
    for columns in [80, 120, 200] {
        let screen = on_terminal(&format!("{SHORT} -q --color never"), (columns, TALL), &[]);
        assert_fits(&screen, columns.into());
        assert!(screen.lines().count() < TALL.into(), "{} lines:\n{screen}", screen.lines().count());
        assert!(screen.contains("bundled stories") && screen.contains("--full"), "{screen}");
    }
}

#[test]
fn reports_fit_where_they_go() {
    for columns in [80, 120, 200] {
        let report = piped(&format!("report {RUN}"), &[("COLUMNS", &columns.to_string())]);
        assert_fits(&report, columns);
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let report = format!("report {RUN} --no-pager");
    let size = (100, 24);
    let is_coloured = |text: &str| text.contains("\x1b[");
    assert!(is_coloured(&on_terminal(&report, size, &[])));
    assert!(!is_coloured(&on_terminal(&report, size, &[("NO_COLOR", "1")])));
    assert!(!is_coloured(&on_terminal(&report, size, &[("TERM", "dumb")])));
    assert!(!is_coloured(&on_terminal(&format!("{report} --color never"), size, &[])));
    assert!(!is_coloured(&piped(&report, &[])));
    assert!(is_coloured(&piped(&format!("{report} --color always"), &[("NO_COLOR", "1")])));
}

#[test]
fn progress_is_for_terminals_that_want_it() {
    let size = (80, TALL);
    let clears = |text: &str| text.contains("\x1b[2K") || text.contains("\x1b[K");
    assert!(clears(&on_terminal(SHORT, size, &[])));
    assert!(!clears(&on_terminal(&format!("{SHORT} --quiet"), size, &[])));
    assert!(!clears(&on_terminal(SHORT, size, &[("TERM", "dumb")])));
}

#[test]
fn long_text_goes_through_the_pager() {
    let pager = [("PAGER", "sed s/^/P:/")];
    let (small, tall) = ((80, 24), (80, 2_000));
    let report = format!("report {RUN}");
    let is_paged = |text: &str| text.lines().all(|line| line.starts_with("P:"));
    assert!(is_paged(&on_terminal(&report, small, &pager)));
    assert!(is_paged(&on_terminal("--help", small, &pager)));
    assert!(is_paged(&on_terminal("train --keys", small, &pager)));
    assert!(is_paged(&on_terminal(&format!("{SHORT} -q --full"), small, &pager)));
    let plain = on_terminal(&report, tall, &pager);
    assert!(!plain.contains("P:"), "what fits is printed");
    assert_eq!(on_terminal(&format!("{report} --no-pager"), small, &pager), plain);
    assert_eq!(on_terminal(&report, small, &[("PAGER", "cat")]), plain);
    assert_eq!(on_terminal(&report, small, &[("PAGER", "no-such-pager")]), plain);
    assert!(!on_terminal(&report, small, &[pager[0], ("TERM", "dumb")]).contains("P:"));
    assert!(!on_terminal(&format!("{report} --json"), small, &pager).contains("P:"));
    assert!(!piped(&report, &pager).contains("P:"));
    // Who quits the pager early has read enough.
    assert_eq!(on_terminal(&report, small, &[("PAGER", "head -n 1")]).lines().count(), 1);
}
