//! What the place of a program's file shows of how it was built.

use std::path::Path;

/// Folders that Cargo makes inside that of a profile.
const INNER: [&str; 2] = ["examples", "deps"];

/// The profile that Cargo built a program by: `target/debug/name`, `target/release/examples/name`, also below the name of a target or in
/// another target folder. `None` where Cargo did not put it there.
pub(super) fn profile(file: &Path) -> Option<String> {
    // The name may be that of a link into the target folder.
    let file = file.canonicalize().ok()?;
    let mut folder = file.parent()?;
    if folder.file_name().is_some_and(|name| INNER.iter().any(|inner| name == *inner)) {
        folder = folder.parent()?;
    }
    // Cargo's own notes lie beside what it built; a folder `target` has its tag where notes are elsewhere.
    let is_cargo = folder.join(".fingerprint").is_dir() || folder.join(".cargo-lock").is_file() || is_in_target(folder);
    is_cargo.then(|| folder.file_name())?.map(|name| name.to_string_lossy().into_owned())
}

/// The folder of a profile lies in the target folder, or in that of a target in it.
fn is_in_target(folder: &Path) -> bool {
    folder.ancestors().skip(1).take(2).any(|above| above.join(".rustc_info.json").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_know_their_own_profile() {
        let test = std::env::current_exe().expect("a test has a file");
        let expected = if cfg!(debug_assertions) { "debug" } else { "release" };
        // Somebody may build by a profile of his own.
        let found = profile(&test).expect("Cargo built it");
        assert!(found == expected || !["debug", "release"].contains(&found.as_str()), "{found}");
        assert_eq!(profile(Path::new("/bin/sh")), None);
        assert_eq!(profile(Path::new("/no/such/file")), None);
    }
}
