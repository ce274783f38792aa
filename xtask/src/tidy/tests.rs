//! Every rule with a file that breaks it and one that does not.

use super::*;

#[track_caller]
fn check_text(path: &str, text: &str, expected: &[&str]) {
    let file = File { path: path.to_owned(), size: text.len() as u64, text: Some(text.to_owned()) };
    let places: Vec<String> =
        check_file(&file).into_iter().filter(|finding| finding.fatal).map(|finding| finding.place).collect();
    assert_eq!(places, expected);
}

#[test]
fn long_sources_are_warned_of_then_refused() {
    let fatal = |path: &str, lines: usize| {
        let text = "x\n".repeat(lines);
        let file = File { path: path.to_owned(), size: 0, text: None };
        length(&file, &text).map(|finding| finding.fatal)
    };
    assert_eq!(fatal("a.rs", LINES_WARNED), None);
    assert_eq!(fatal("a.rs", LINES_WARNED + 1), Some(false));
    assert_eq!(fatal("a.rs", LINES_ALLOWED), Some(false));
    assert_eq!(fatal("a.rs", LINES_ALLOWED + 1), Some(true));
    assert_eq!(fatal("Cargo.lock", LINES_ALLOWED + 1), None);
}

#[test]
fn large_files_are_refused_even_when_not_text() {
    let fatal = |size| {
        let file = File { path: "a.bin".to_owned(), size, text: None };
        check_file(&file).len()
    };
    assert_eq!(fatal(BYTES_ALLOWED), 0);
    assert_eq!(fatal(BYTES_ALLOWED + 1), 1);
}

#[test]
fn paths_of_a_machine_are_refused() {
    for root in MACHINE_ROOTS {
        check_text("a.md", &format!("fine\nsee {root}me"), &["a.md:2"]);
        check_text("a.md", &format!("{root}me"), &["a.md:1"]);
        check_text("a.md", &format!("\"file://{root}me\""), &["a.md:1"]);
        check_text("a.md", &format!("src{root}me ~{root}me ${{x}}{root}"), &[]);
    }
}

#[test]
fn names_say_something() {
    check_text("crates/a/src/utils.rs", "", &["crates/a/src/utils.rs"]);
    check_text("crates/common/a.rs", "", &["crates/common/a.rs"]);
    check_text("a/Manager.test.rs", "", &["a/Manager.test.rs"]);
    check_text("a/package_manager.rs", "", &[]);
    check_text("a.rs", "pub mod helpers {\n}", &["a.rs:1"]);
    check_text("a.rs", "mod common_prefix;\nlet common = 1;", &[]);
}

#[test]
fn leftovers_are_refused() {
    for word in LEFTOVER_WORDS {
        check_text("a.md", &format!("a {word}: b"), &["a.md:1"]);
        check_text("a.md", &format!("a{word}"), &[]);
    }
    check_text("a.rs", "\ntodo!()", &["a.rs:2"]);
    check_text("a.rs", "unimplemented!(\"x\")", &["a.rs:1"]);
    check_text("a.rs", "#[ignore]\n#[ignore = \"slow\"]", &["a.rs:1", "a.rs:2"]);
    check_text("a.rs", "// todo!() is refused\n\"#[ignore]\"", &[]);
}

#[test]
fn unsafe_code_has_its_places() {
    let code = "unsafe { f() }";
    check_text("crates/cli/src/main.rs", code, &["crates/cli/src/main.rs:1"]);
    check_text("crates/hotloop/src/lib.rs", code, &["crates/hotloop/src/lib.rs:1"]);
    let almost = "crates/hotloop/src/clockwork.rs";
    check_text(almost, code, &["crates/hotloop/src/clockwork.rs:1"]);
    check_text("crates/hotloop/src/clock.rs", code, &[]);
    check_text("crates/hotloop/src/tree/node.rs", code, &[]);
    check_text("crates/hotloop-capi/src/lib.rs", code, &[]);
    check_text("a.rs", "#![forbid(unsafe_code)] // unsafe\n\"unsafe\"", &[]);
}
