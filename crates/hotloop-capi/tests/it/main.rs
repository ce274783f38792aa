//! C and C++ programs with known truths, compiled against the headers and both libraries, and run.
#![cfg(all(unix, not(miri)))]

mod environment;
mod install;
mod programs;
mod toolchain;
