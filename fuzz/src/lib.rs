//! What the targets have in common.

pub mod sound;

use std::path::{Path, PathBuf};

use engine::{TensorSource, check_finite};

/// Reads all that there is, as a loader does.
pub fn read_all(source: &dyn TensorSource) {
    for name in source.names() {
        let info = source.info(name).expect("it was read before").expect("it is named");
        let tensor = source.tensor(name).expect("it was read before").expect("it is named");
        assert_eq!(Ok(tensor.data.len()), info.bytes());
        // Either is fine.
        check_finite(&tensor).ok();
        source.release(name);
    }
}

/// Puts a sound file into the folder that the fuzzer was given, where that is still empty.
pub fn plant(write: fn(&Path) -> engine::Result<()>) {
    let folder = std::env::args_os().next_back().map(PathBuf::from);
    let is_empty = |folder: &Path| std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none());
    if let Some(folder) = folder.filter(|folder| is_empty(folder)) {
        write(&folder.join("sound")).expect("the folder of the fuzzer can be written to");
    }
}

/// A file with these bytes, for readers that take a path; in memory, where the system has such a folder.
pub fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let path = folder.join(format!("hotloop-fuzz-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).expect("a temporary file can be written");
    path
}
