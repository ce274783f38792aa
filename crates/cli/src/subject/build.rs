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

fn git() -> Option<Git> {
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
        profile: env!("HOTLOOP_PROFILE").to_owned(),
        opt_level: env!("HOTLOOP_OPT_LEVEL").to_owned(),
        debug_assertions: cfg!(debug_assertions),
        compiler: env!("HOTLOOP_COMPILER").to_owned(),
        target: env!("HOTLOOP_TARGET").to_owned(),
        target_cpu: known(env!("HOTLOOP_TARGET_CPU")),
        target_features: list(env!("HOTLOOP_TARGET_FEATURES"), ','),
        features: Vec::new(),
        flags: list(env!("HOTLOOP_FLAGS"), ' '),
        binary_blake3: binary(),
    }
}

/// BLAKE3 of the file that runs.
fn binary() -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(std::env::current_exe().ok()?).ok()?).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}
