//! What decides how Cargo builds and is in no revision: variables, and files outside of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How variables begin that change what is built.
const CHANGING: &[&str] = &[
    "CARGO_BUILD_",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CARGO_UNSTABLE_",
    "RUSTC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];
/// Variables among them that only say where, or how fast. A Cargo around us may have set them.
const HARMLESS: &[&str] =
    &["CARGO_BUILD_BUILD_DIR", "CARGO_BUILD_JOBS", "CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR", "CARGO_TARGET_TMPDIR"];

/// The variables that change what is built, by name.
pub(super) fn variables() -> Vec<(OsString, OsString)> {
    let mut set: Vec<_> = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(changes)).collect();
    set.sort();
    set
}

fn changes(name: &str) -> bool {
    CHANGING.iter().any(|start| name.starts_with(start)) && !HARMLESS.contains(&name)
}

/// Hashes of the settings of Cargo that hold for a folder and are not in it.
pub(super) fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let above = folder.ancestors().map(|above| above.join(".cargo"));
    let files = above.chain(home).flat_map(|folder| ["config.toml", "config"].map(|name| folder.join(name)));
    files.filter_map(|file| crate::blake3_of(&file).map(|hash| (file, hash))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_a_build_is_told_from_what_does_not() {
        for name in [
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
        ] {
            assert!(changes(name), "{name}");
        }
        for name in
            ["CARGO_TARGET_DIR", "CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "RUST_LOG"]
        {
            assert!(!changes(name), "{name}");
        }
    }

    #[test]
    fn settings_above_a_folder_count() {
        let folder = std::env::temp_dir().join(format!("hotloop-settings-{}", std::process::id()));
        let file = folder.join(".cargo/config.toml");
        std::fs::create_dir_all(folder.join(".cargo")).expect("a folder");
        let written = |text: &str| {
            std::fs::write(&file, text).expect("it can be written");
            files(&folder.join("below"))
        };
        assert_ne!(written("[build]\n"), written("[net]\n"));
        assert!(written("").iter().any(|(found, _)| *found == file));
        let _ = std::fs::remove_dir_all(&folder);
    }
}
