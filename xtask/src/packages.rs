//! System packages that steps need: found, installed where we may, else named.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Something that a package brings.
pub struct Package {
    /// What Debian and Ubuntu call it.
    pub name: &'static str,
    /// A program of it that is looked for in `PATH`, or a whole path.
    pub brings: &'static str,
}

/// What compiles and links C and C++.
pub const CPP: &[Package] = &[
    Package { name: "g++", brings: "g++" },
    Package { name: "cmake", brings: "cmake" },
    Package { name: "pkg-config", brings: "pkg-config" },
];

/// Makes sure the packages are there. The error says what to install.
pub fn ensure(packages: &[Package]) -> Result<(), String> {
    let missing = missing(packages, is_there);
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

fn missing(packages: &[Package], exists: impl Fn(&str) -> bool) -> Vec<&'static str> {
    packages.iter().filter(|package| !exists(package.brings)).map(|package| package.name).collect()
}

fn is_there(brings: &str) -> bool {
    Path::new(brings).is_absolute() && Path::new(brings).exists() || find_in_path(brings).is_some()
}

/// Where a program is.
pub fn find_in_path(program: &str) -> Option<PathBuf> {
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
    fn only_absent_packages_are_missing() {
        assert_eq!(missing(CPP, |program| program != "cmake"), ["cmake"]);
    }

    #[test]
    fn a_whole_path_is_looked_for_where_it_is() {
        assert!(is_there("/") && !is_there("/no-such-file-here"));
    }

    #[test]
    fn a_shell_is_found_and_nonsense_is_not() {
        assert!(find_in_path("sh").is_some());
        assert!(find_in_path("no-such-program-here").is_none());
    }
}
