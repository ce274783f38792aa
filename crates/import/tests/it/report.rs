//! An imported run, as it is shown. `HOTLOOP_UPDATE=1` writes the files anew.

use std::path::PathBuf;

use super::read;

#[track_caller]
fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("HOTLOOP_UPDATE").is_some() {
        return std::fs::write(&path, text).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} has changed; HOTLOOP_UPDATE=1 writes it anew:\n{text}");
}

#[test]
fn in_the_terminal() {
    for name in ["smallmind-enhanced.md", "llama-bench.json", "torch-trace.json"] {
        let found = read(name);
        let text = report::run(&found.runs[0], &report::RunOptions::default()).terminal(report::Page::default());
        check(&format!("{name}.txt"), &text);
    }
}
