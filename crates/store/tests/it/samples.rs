//! Runs and folders to test with.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use record::{Git, Model, RUN_SCHEMA, RUN_VERSION, Run};

/// A folder of one test, removed behind it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("hotloop-store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("there is room for temporary files");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A small run; each number is another one, and later ones began later.
pub fn run(number: u64) -> Run {
    let mut run = Run { schema: RUN_SCHEMA.to_owned(), version: RUN_VERSION, ..Run::default() };
    run.created = format!("2026-01-{:02}T{:02}:{:02}:00Z", 1 + number / 1440 % 28, number / 60 % 24, number % 60);
    run.subject.name = "hotloop".to_owned();
    run.subject.git = Some(Git { commit: format!("{number:040x}"), dirty: number % 2 == 1, ..Git::default() });
    run.workload.name = if number.is_multiple_of(3) { "deep" } else { "standard" }.to_owned();
    run.workload.parameters.insert("threads".to_owned(), "2".to_owned());
    run.models = vec![Model { name: format!("Tiny-{}.gguf", number % 5), ..Model::default() }];
    run.notes = vec![format!("number {number}")];
    run
}
