//! The lab from outside.
#![allow(clippy::print_stdout, reason = "tests may print: it is shown only when they fail")]

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
mod independent;
#[cfg(all(unix, not(miri)))]
mod programs;
#[cfg(all(unix, not(miri)))]
mod revisions;
mod rivals;
#[cfg(all(unix, not(miri)))]
mod selftest;
mod side_by_side;
#[cfg(all(unix, not(miri)))]
mod workers;
