//! Random shifts of the stack, so that the luck of its alignment is in the interval.

use std::path::{Path, PathBuf};

use super::super::{PADDING, PADDING_BYTES};
use super::copy::is_script;
use crate::command::IsolatedRun;
use crate::order::Random;

/// Linux takes 4,096 bytes with the zero at the end.
const LONGEST_PATH: usize = 4_000;

/// Shifts the stack of each process by a random number of bytes: alignment of the stack alone changes the speed of some programs by
/// several percent.
pub(super) struct StackPadding {
    file: PathBuf,
    by: Padding,
    random: Random,
}

/// Where the bytes are.
enum Padding {
    /// The system keeps the path of the file above the environment. Slashes may be repeated, and programs do not see them.
    Path,
    Variable,
    None,
}

impl StackPadding {
    pub(super) fn new(file: PathBuf, check_output: bool, seed: u64) -> Self {
        // What a script is told of its own path, and what a program prints of its environment, is part of its output.
        let by = match (is_script(&file), check_output) {
            (false, _) => Padding::Path,
            (true, false) => Padding::Variable,
            (true, true) => Padding::None,
        };
        Self { file, by, random: Random::new(seed) }
    }

    pub(super) fn apply(&mut self, apart: &mut IsolatedRun) {
        let bytes = usize::try_from(self.random.below(PADDING_BYTES)).unwrap_or(0);
        match self.by {
            Padding::Path => apart.file = Some(lengthened(&self.file, bytes)),
            Padding::Variable => apart.variable = Some((PADDING, "x".repeat(bytes))),
            Padding::None => {}
        }
    }
}

/// A path to the same file, longer by so many slashes, or by as many as a path may have.
fn lengthened(file: &Path, bytes: usize) -> PathBuf {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return file.to_owned() };
    let bytes = bytes.min(LONGEST_PATH.saturating_sub(file.as_os_str().len()));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut path = folder.as_os_str().to_owned();
    path.push("/".repeat(bytes.max(1)));
    path.push(name);
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_paths_name_the_same_file() {
        let longer = |file: &str, bytes| lengthened(Path::new(file), bytes).to_string_lossy().into_owned();
        assert_eq!(
            (longer("/bin/true", 3), longer("a/b", 0), longer("b", 2)),
            ("/bin///true".into(), "a/b".into(), ".//b".into())
        );
        assert_eq!(longer("/bin/true", 10_000).len(), LONGEST_PATH - 1);
        let file = lengthened(Path::new("/bin/true"), 4_095);
        assert!(file.is_file() && std::process::Command::new(file).status().expect("it runs").success());
    }
}
