//! A file that is there whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Written under another name in its folder; it gets its own when it is whole and on the disk.
/// Dropped before, it is removed.
#[derive(Debug)]
pub(crate) struct Written {
    folder: PathBuf,
    temporary: PathBuf,
    /// Nothing once it has its name.
    file: Option<BufWriter<File>>,
}

impl Written {
    /// Begins a file in a folder, which is made if it is not there.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".{}-{number}.part", std::process::id()));
        let created = fs::create_dir_all(folder).and_then(|()| File::create(&temporary));
        let file = created.map_err(|error| cannot_write(folder, &error))?;
        Ok(Self { folder: folder.to_owned(), temporary, file: Some(BufWriter::with_capacity(1 << 18, file)) })
    }

    /// Gives it its name, in place of what had it before.
    pub(crate) fn finish(mut self, name: &str) -> Result<PathBuf> {
        let target = self.folder.join(name);
        let renamed = self.synced().and_then(|()| fs::rename(&self.temporary, &target));
        renamed.map_err(|error| cannot_write(&target, &error))?;
        self.file = None;
        // So that the name is on the disk too. Not every system opens folders; then it follows in its own time.
        if let Ok(folder) = File::open(&self.folder) {
            folder.sync_all().ok();
        }
        Ok(target)
    }

    /// Where it is until it has its name.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// What to say where it could not be written.
    pub(crate) fn cannot_write(&self, error: &io::Error) -> Error {
        cannot_write(&self.temporary, error)
    }

    fn synced(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.flush()?;
        file.get_ref().sync_all()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(bytes.len()), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What is still buffered is not wanted any more.
            drop(file.into_parts());
            fs::remove_file(&self.temporary).ok();
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full; free space or choose another output folder",
        _ => "choose a writable output folder",
    };
    Error::of_output(format!("cannot write {}: {error}", path.display()), hint)
}
