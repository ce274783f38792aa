//! What the targets have in common.

pub mod sound;

use std::path::Path;

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
    let folder = std::env::args_os().next_back().map(std::path::PathBuf::from);
    let is_empty = |folder: &Path| std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none());
    if let Some(folder) = folder.filter(|folder| is_empty(folder)) {
        write(&folder.join("sound")).expect("the folder of the fuzzer can be written to");
    }
}
