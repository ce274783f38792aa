//! Long text on a terminal: shown by `$PAGER`, so that its beginning is seen first.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use super::{interrupt, terminal};

/// Used where `$PAGER` is not set: it ends at once if the text fits, shows colours, and leaves the text on the screen.
const DEFAULT: &str = "less -FRX";

/// Shows text by the pager. Returns `false` where it has to be printed instead: without a terminal, where the text fits on it,
/// where no pager is wanted, and where none can be started.
pub fn show(text: &[u8]) -> bool {
    if !std::io::stdout().is_terminal() || !terminal::has_pager() || fits(text) {
        return false;
    }
    let pager = std::env::var("PAGER").unwrap_or_else(|_| DEFAULT.to_owned());
    let Ok(words) = lab::command::split(&pager) else { return false };
    let Some((program, arguments)) = words.split_first().filter(|(program, _)| *program != "cat") else { return false };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", OsString::from("FRX"));
    }
    // Ctrl-C is for the pager, which has to be waited for.
    interrupt::listen_to_each(|| ());
    let Ok(mut pager) = command.spawn() else { return false };
    if let Some(mut input) = pager.stdin.take() {
        // Who quits the pager early has read enough.
        let _ = input.write_all(text);
    }
    pager.wait().is_ok()
}

/// Whether all lines fit on the terminal at once, with one for the next prompt.
fn fits(text: &[u8]) -> bool {
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    terminal::height().is_some_and(|height| lines < height)
}
