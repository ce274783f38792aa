//! Writes runs that are known in every format, for `cargo xtask test viewers`: `exports FOLDER`.

#[path = "../tests/it/export/sample.rs"]
mod sample;

use report::{ExportFormat, export};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: exports FOLDER")?;
    let runs =
        [("timeline", sample::with_timeline()), ("totals", sample::without_timeline()), ("empty", sample::empty())];
    for (name, run) in runs {
        let folder = std::path::Path::new(&folder).join(name);
        std::fs::create_dir_all(&folder)?;
        for format in ExportFormat::ALL {
            let file = folder.join(format!("{}.{}", format.name, format.extension));
            std::fs::write(file, export(&run, &run.to_json(), *format)?)?;
        }
    }
    Ok(())
}
