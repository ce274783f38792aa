//! The system packages that the C and C++ steps need: found, installed where we may, else named.

use std::path::PathBuf;
use std::process::Command;

/// Programs looked for in `PATH`; on Debian and Ubuntu each comes from the package of the same name.
const PROGRAMS: &[&str] = &["g++", "cmake", "pkg-config"];

/// Makes sure the programs are there. The error says what to install.
pub fn ensure() -> Result<(), String> {
    let missing = missing(PROGRAMS, |program| find_in_path(program).is_some());
    if missing.is_empty() {
        return Ok(());
    }
    let command = format!("apt-get install -y --no-install-recommends {}", missing.join(" "));
    if !is_root() || find_in_path("apt-get").is_none() {
        return Err(format!(
            "{} not found; install with your package manager, e.g. `sudo {command}`",
            missing.join(", ")
        ));
    }
    println!("installing system packages: {}", missing.join(", "));
    install(&command).map_err(|error| format!("{} not found, and {error}", missing.join(", ")))
}

fn missing<'a>(programs: &[&'a str], exists: impl Fn(&str) -> bool) -> Vec<&'a str> {
    programs.iter().copied().filter(|program| !exists(program)).collect()
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Fresh images carry no package lists, so the first try may fail for want of them alone.
fn install(command: &str) -> Result<(), String> {
    apt_get(command).or_else(|_| apt_get("apt-get update").and_then(|()| apt_get(command)))
}

fn apt_get(command: &str) -> Result<(), String> {
    println!("$ {command}");
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or("apt-get");
    let status = Command::new(program)
        .args(words)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .map_err(|error| format!("`{command}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{command}` ended with {status}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absent_programs_are_missing() {
        let found = missing(&["g++", "cmake"], |program| program == "g++");
        assert_eq!(found, ["cmake"]);
    }

    #[test]
    fn a_shell_is_found_and_nonsense_is_not() {
        assert!(find_in_path("sh").is_some());
        assert!(find_in_path("no-such-program-here").is_none());
    }
}
