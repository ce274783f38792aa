//! Writes runs that are known in every format, for `cargo xtask test viewers`: `exports FOLDER`.

#[path = "../tests/it/export/sample.rs"]
mod sample;

use report::{ExportFormat, export};

const FORMATS: [(ExportFormat, &str); 9] = [
    (ExportFormat::Chrome, "chrome.json"),
    (ExportFormat::Perfetto, "perfetto.pftrace"),
    (ExportFormat::Speedscope, "speedscope.json"),
    (ExportFormat::Folded, "folded.txt"),
    (ExportFormat::Firefox, "firefox.json"),
    (ExportFormat::Csv, "scopes.csv"),
    (ExportFormat::CsvSamples, "samples.csv"),
    (ExportFormat::Json, "run.json"),
    (ExportFormat::Svg, "flame.svg"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: exports FOLDER")?;
    let runs =
        [("timeline", sample::with_timeline()), ("totals", sample::without_timeline()), ("empty", sample::empty())];
    for (name, run) in runs {
        let folder = std::path::Path::new(&folder).join(name);
        std::fs::create_dir_all(&folder)?;
        for (format, file) in FORMATS {
            std::fs::write(folder.join(file), export(&run, &run.to_json(), format)?)?;
        }
    }
    Ok(())
}
