//! Time and memory of one model in a process of its own. With several models in a process, memory cannot be attributed.

use std::process::{Command, Stdio};

use record::{ProcessUse, Run};

use crate::args;
use crate::args::ModelOptions;
use crate::subject::ModelKind;

/// Tokens of the prompt of `hotloop profile`, which is what the process does.
const PROMPT: usize = 10;

/// Nothing if the process cannot be started or fails.
pub(super) fn measure(model: &ModelOptions, options: &args::Models, threads: usize) -> Option<ProcessUse> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(["profile", "standard", "--json", "--no-save", "--no-limits", "--repeat", "1", "--warmup", "0"]);
    match model.kind() {
        ModelKind::File(file) => command.arg("--model").arg(file),
        ModelKind::Synthetic(sizes) => command.arg("--synthetic").arg(sizes),
        ModelKind::Bundled => return None,
    };
    // As many positions as in the turns.
    let tokens = (options.work.prompt_tokens + options.work.tokens).saturating_sub(PROMPT).max(1);
    command.args(["--threads", &threads.to_string(), "--tokens", &tokens.to_string()]);
    command.args(["--cache", options.machine.cache.name()]);
    let switches = [("--in-place", options.machine.in_place), ("--exact", options.machine.exact)];
    command.args(switches.iter().filter(|(_, on)| *on).map(|(name, _)| name));
    if cfg!(debug_assertions) {
        command.arg("--allow-debug");
    }
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    Run::from_json(&String::from_utf8(output.stdout).ok()?).ok()?.process
}
