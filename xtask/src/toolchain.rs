//! What rustup has to bring: found, installed where that is possible, else named.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::packages::find_in_path;

/// Makes sure that `command` succeeds, if need be after `install`, which rustup does. The error says what is missing.
pub fn ensure(root: &Path, command: &str, install: &str) -> Result<(), String> {
    if find_in_path("rustup").is_none() {
        return Err(format!("rustup, which would bring it by `{install}`, was not found"));
    }
    if succeeds(root, command, Stdio::null()) {
        return Ok(());
    }
    println!("$ {install}");
    if !succeeds(root, install, Stdio::inherit()) {
        return Err(format!("`{install}` failed"));
    }
    if succeeds(root, command, Stdio::inherit()) { Ok(()) } else { Err(format!("`{command}` still fails")) }
}

/// Whether a command succeeds; what it says goes nowhere or to the terminal.
fn succeeds(root: &Path, command: &str, said: Stdio) -> bool {
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).current_dir(root).stdout(Stdio::null()).stderr(said);
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_installed_and_what_fails_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        if find_in_path("rustup").is_none() {
            return;
        }
        assert_eq!(ensure(root, "true", "false"), Ok(()));
        assert_eq!(ensure(root, "false", "false"), Err("`false` failed".to_owned()));
        assert_eq!(ensure(root, "false", "true"), Err("`false` still fails".to_owned()));
    }
}
