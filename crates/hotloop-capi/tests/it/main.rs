//! C and C++ programs with known truths, compiled against the headers and both libraries, and run.
#![cfg(all(unix, not(miri)))]

mod environment;
mod install;
#[cfg(target_os = "linux")]
mod privileged;
mod programs;
mod toolchain;
