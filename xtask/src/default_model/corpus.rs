//! The corpus: a story to a line.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::stories::Story;

/// Stories to learn from: those of the seeds from 0 on.
const STORIES: u64 = 32_000;
/// Where the seeds of the stories begin that nobody learns from.
const UNSEEN: u64 = 1 << 32;
/// As many as tell a loss to the third digit.
const VALIDATION: u64 = 400;

/// Writes the stories to learn from, and those to validate on.
pub fn write(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, first, count) in [("stories.txt", 0, STORIES), ("validation.txt", UNSEEN, VALIDATION)] {
        let path = folder.join(name);
        let written = write_stories(&path, first, count).map_err(|error| format!("{}: {error}", path.display()))?;
        let (bytes, plots) = (written.bytes, written.plots.len());
        println!("wrote {}: {count} stories of {plots} plots, {bytes} bytes", path.display());
    }
    Ok(())
}

/// What was written.
#[derive(Default)]
struct Written {
    bytes: usize,
    plots: BTreeSet<&'static str>,
}

fn write_stories(path: &Path, first: u64, count: u64) -> std::io::Result<Written> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut written = Written::default();
    for seed in first..first + count {
        let Story { plot, text } = Story::new(seed);
        writeln!(file, "{text}")?;
        written.bytes += text.len() + 1;
        written.plots.insert(plot);
    }
    file.flush()?;
    Ok(written)
}
