//! Runs: the bytes are the JSON. What was read once comes back as it was, with all that is unknown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::{Run, RunHead};

fuzz_target!(init: fuzz::plant(fuzz::sound::record), |bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(run) = Run::from_json(text) {
        let written = run.to_json();
        assert_eq!(Run::from_json(&written).as_ref(), Ok(&run), "{written}");
        assert!(RunHead::from_json(&written).is_ok(), "{written}");
    }
});
