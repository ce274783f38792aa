//! What other programs measured: the first byte names the format, or none; the rest is the text. What was read can be kept.
#![no_main]

use import::{Format, Source, import};
use libfuzzer_sys::fuzz_target;
use record::Run;

fuzz_target!(init: fuzz::plant(fuzz::sound::import), |bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    // Traces may be packed.
    let unpacked = import::unpacked(bytes, 1 << 20).and_then(Result::ok);
    let Ok(text) = std::str::from_utf8(unpacked.as_deref().unwrap_or(bytes)) else { return };
    let format = Format::all().get(usize::from(*which)).copied();
    if let Ok(found) = import(text, &Source::default(), format) {
        assert!(!found.runs.is_empty());
        for run in &found.runs {
            let written = run.to_json();
            assert_eq!(Run::from_json(&written).as_ref(), Ok(run), "{written}");
        }
    }
});
