//! Configs of trainings: the first byte chooses JSON or TOML, the rest is the file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::plant(fuzz::sound::config), |bytes: &[u8]| {
    let Some((kind, text)) = bytes.split_first() else { return };
    let file = fuzz::written(if kind % 2 == 0 { "config.json" } else { "config.toml" }, text);
    let Ok(read) = training::config::read_from(&file, &[], &std::env::temp_dir()) else { return };
    // What is valid is valid again as the JSON that a checkpoint keeps of it.
    let settings = serde_json::to_string(&read.settings).expect("settings can be written");
    let again: training::config::Settings = serde_json::from_str(&settings).expect("settings can be read back");
    assert_eq!(again, read.settings, "{settings}");
});
