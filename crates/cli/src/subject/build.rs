//! What this program was built from, as its build script found it.

use record::{Build, Git, Subject};

/// This program, for the record.
pub fn this_program() -> Subject {
    Subject {
        name: "hotloop".to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        command: Vec::new(),
        git: git(),
        build: Some(build()),
    }
}

/// What the build script left, unless it is nothing.
fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The commit this program was built from.
pub fn git() -> Option<Git> {
    Some(Git {
        commit: known(env!("HOTLOOP_GIT_COMMIT"))?,
        dirty: env!("HOTLOOP_GIT_DIRTY") == "yes",
        branch: known(env!("HOTLOOP_GIT_BRANCH")),
        commit_time: known(env!("HOTLOOP_GIT_TIME")),
    })
}

fn build() -> Build {
    let list = |text: &str, at: char| text.split(at).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    Build {
        profile: known(env!("HOTLOOP_PROFILE")),
        opt_level: known(env!("HOTLOOP_OPT_LEVEL")),
        debug_assertions: Some(cfg!(debug_assertions)),
        compiler: known(env!("HOTLOOP_COMPILER")),
        target: known(env!("HOTLOOP_TARGET")),
        target_cpu: known(env!("HOTLOOP_TARGET_CPU")),
        target_features: list(env!("HOTLOOP_TARGET_FEATURES"), ','),
        features: Vec::new(),
        flags: list(env!("HOTLOOP_FLAGS"), ' '),
        // That of the file that runs.
        binary_blake3: std::env::current_exe().ok().and_then(|file| lab::blake3_of(&file)),
    }
}
