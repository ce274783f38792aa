//! What a program is built from and how: runs of differently built programs do not answer the same question.

use std::process::Command;

/// What the program is built from.
const SOURCES: [&str; 3] = ["../../crates", "../../Cargo.toml", "../../Cargo.lock"];

fn main() {
    // The state of the source is that of all files that the program is built from.
    let of_git = ["logs/HEAD", "index"].map(|name| output("git", &["rev-parse", "--git-path", name]));
    for path in SOURCES.map(str::to_owned).into_iter().chain(of_git.into_iter().flatten()) {
        // A path that is not there would have this run with every build.
        if std::path::Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rerun-if-env-changed=RUSTFLAGS");
    git();
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let flags = variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    let cpu = flags.split_once("target-cpu=").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or_default();
    tell("PROFILE", &profile());
    tell("OPT_LEVEL", &variable("OPT_LEVEL"));
    tell("TARGET", &variable("TARGET"));
    tell("TARGET_CPU", cpu);
    tell("TARGET_FEATURES", &variable("CARGO_CFG_TARGET_FEATURE"));
    tell("FLAGS", &flags);
    tell("COMPILER", &output(&variable("RUSTC"), &["--version"]).unwrap_or_default());
}

/// The name of the profile: cargo tells only `debug` or `release`, but the folder has its name.
fn profile() -> String {
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let mut folders = out.split(['/', '\\']).rev().skip_while(|folder| *folder != "build").skip(1);
    folders.next().map_or_else(|| std::env::var("PROFILE").unwrap_or_default(), str::to_owned)
}

fn git() {
    let git = |words: &[&str]| output("git", words);
    // Sources that were unpacked into somebody else's repository are not of its commit.
    let is_ours = git(&["rev-parse", "--show-prefix"]).as_deref() == Some("crates/cli/");
    let commit = git(&["rev-parse", "HEAD"]).filter(|_| is_ours).unwrap_or_default();
    // Without locks: it would write the index, which this looks at to run again.
    let status = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    let changes = git(&[&status[..], &SOURCES].concat()).unwrap_or_default();
    tell("GIT_COMMIT", &commit);
    tell("GIT_DIRTY", if changes.is_empty() { "no" } else { "yes" });
    tell("GIT_BRANCH", &git(&["branch", "--show-current"]).filter(|_| is_ours).unwrap_or_default());
    tell("GIT_TIME", &git(&["show", "-s", "--format=%cI", "HEAD"]).filter(|_| is_ours).unwrap_or_default());
}

fn tell(name: &str, value: &str) {
    println!("cargo:rustc-env=HOTLOOP_{name}={}", value.replace('\n', " "));
}

/// What a program prints, if it can be run and succeeds.
fn output(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
