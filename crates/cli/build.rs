//! How the program is built, and from what. Runs of differently built programs are not comparable.

use std::process::Command;

/// The sources of the program.
const SOURCES: [&str; 3] = ["../../crates", "../../Cargo.toml", "../../Cargo.lock"];

fn main() {
    // The state of the sources, and of Git.
    let of_git = ["logs/HEAD", "index"].map(|name| output("git", &["rev-parse", "--git-path", name]));
    for path in SOURCES.map(str::to_owned).into_iter().chain(of_git.into_iter().flatten()) {
        // A missing path would run this script with every build.
        if std::path::Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rerun-if-env-changed=RUSTFLAGS");
    git();
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let flags = variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    let cpu = flags.split_once("target-cpu=").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or_default();
    set("PROFILE", &profile());
    set("OPT_LEVEL", &variable("OPT_LEVEL"));
    set("TARGET", &variable("TARGET"));
    set("TARGET_CPU", cpu);
    set("TARGET_FEATURES", &variable("CARGO_CFG_TARGET_FEATURE"));
    set("FLAGS", &flags);
    set("COMPILER", &output(&variable("RUSTC"), &["--version"]).unwrap_or_default());
}

/// The name of the profile. Cargo says only `debug` or `release`, but the output folder has the name.
fn profile() -> String {
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let mut folders = out.split(['/', '\\']).rev().skip_while(|folder| *folder != "build").skip(1);
    folders.next().map_or_else(|| std::env::var("PROFILE").unwrap_or_default(), str::to_owned)
}

fn git() {
    let git = |words: &[&str]| output("git", words);
    // Sources that lie in another project's repository do not belong to its commit.
    let is_ours = git(&["rev-parse", "--show-prefix"]).as_deref() == Some("crates/cli/");
    let commit = git(&["rev-parse", "HEAD"]).filter(|_| is_ours).unwrap_or_default();
    // Without locks, because a written index would run this script again.
    let status = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    let changes = git(&[&status[..], &SOURCES].concat()).unwrap_or_default();
    set("GIT_COMMIT", &commit);
    set("GIT_DIRTY", if changes.is_empty() { "no" } else { "yes" });
    set("GIT_BRANCH", &git(&["branch", "--show-current"]).filter(|_| is_ours).unwrap_or_default());
    set("GIT_TIME", &git(&["show", "-s", "--format=%cI", "HEAD"]).filter(|_| is_ours).unwrap_or_default());
}

fn set(name: &str, value: &str) {
    println!("cargo:rustc-env=HOTLOOP_{name}={}", value.replace('\n', " "));
}

/// The output of a program, if it succeeds.
fn output(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
