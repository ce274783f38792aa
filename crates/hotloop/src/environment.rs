//! What the environment asks of a program that has the library in it: to record from before `main` on, and to write the
//! snapshot to a file when it ends. So a program can be measured from outside, without a call in it.
//!
//! | variable | |
//! |---|---|
//! | `HOTLOOP_SNAPSHOT_DIR` | the folder; `<process id>.json` is written there. Not set: nothing happens. |
//! | `HOTLOOP_TIMELINE` | keep the last calls of each thread, so many |
//! | `HOTLOOP_BUDGET` | the share of the run that the profiler may take, in percent; 0: every call is timed |
//!
//! All of them are ignored in programs that run with more rights than their caller, such as set-user-ID programs.
//!
//! The hot path does not know of it: a function that the system calls before `main` reads the variable, once.
#![allow(unsafe_code, reason = "is called by the system before `main`, and asks it to be called at the end")]

use std::ffi::c_int;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
use std::ffi::c_uint;
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::ffi::c_ulong;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, process};

use crate::control::{self, Config};
#[cfg(unix)]
use crate::tree;

/// Called by the system before `main`. The compiler keeps it in every program that has a part of this crate in it; C
/// programs with the static library get it through the one in `hotloop-capi`.
#[used]
#[cfg_attr(all(unix, not(target_vendor = "apple")), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

unsafe extern "C" {
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// What was asked for.
struct Request {
    folder: PathBuf,
    config: Config,
    /// A child of `fork` has the parent's data in it, and must not write it.
    process: u32,
}

static REQUEST: OnceLock<Option<Request>> = OnceLock::new();

extern "C" fn before_main() {
    start_if_asked();
}

/// Starts recording if the environment asks for it; later calls do nothing. Whether it does.
pub fn start_if_asked() -> bool {
    let begin = || {
        let request = REQUEST.get_or_init(Request::begin);
        request.is_some()
    };
    catch_unwind(begin).unwrap_or(false)
}

/// Something counts allocations that did not yet when recording began.
pub(crate) fn count_allocations_too() {
    if let Some(Some(request)) = REQUEST.get() {
        request.config.start();
    }
}

impl Request {
    fn begin() -> Option<Request> {
        #[cfg(unix)]
        tree::handle_forks();
        if has_more_rights_than_its_caller() {
            return None;
        }
        let folder = env::var_os("HOTLOOP_SNAPSHOT_DIR").filter(|folder| !folder.is_empty())?;
        // The program may change its folder before it ends.
        let folder = std::path::absolute(folder).ok()?;
        let config = config(&read("HOTLOOP_TIMELINE"), &read("HOTLOOP_BUDGET"));
        // Asked first of all, so that what the program asks to be called at its end is still recorded.
        if atexit(at_exit) != 0 {
            return None;
        }
        config.start();
        if is_main_thread() {
            // The standard library does not know its name yet.
            control::name_thread("main");
        }
        Some(Request { folder, config, process: process::id() })
    }

    fn answer(&self) -> io::Result<()> {
        if self.process == process::id() {
            write(&self.folder, self.process, &control::snapshot().to_json())?;
        }
        Ok(())
    }
}

fn read(variable: &str) -> String {
    env::var(variable).unwrap_or_default()
}

/// What makes no sense is as if it were not there.
fn config(timeline: &str, percent: &str) -> Config {
    let events = timeline.trim().parse().ok().filter(|events| *events > 0);
    let config = Config::new().timeline(events);
    match percent.trim().parse::<f64>() {
        Ok(percent) if percent >= 0.0 => config.budget((percent > 0.0).then_some((percent / 100.0).min(1.0))),
        _ => config,
    }
}

/// Called by the system when the program has ended by itself. Its threads may still run; the thread that calls this has
/// handed its tree over already.
extern "C" fn at_exit() {
    // Nobody is there to be told that a folder cannot be written to: a measured program behaves as an unmeasured one.
    let _ = catch_unwind(|| REQUEST.get().and_then(Option::as_ref).map(Request::answer));
}

/// Under another name at first, so that nobody reads half of it.
fn write(folder: &Path, process: u32, json: &str) -> io::Result<()> {
    let part = folder.join(format!("{process}.json.part"));
    let _ = fs::remove_file(&part);
    let written = OpenOptions::new().write(true).create_new(true).open(&part).and_then(|mut file| {
        file.write_all(json.as_bytes())?;
        fs::rename(&part, folder.join(format!("{process}.json")))
    });
    written.inspect_err(|_| drop(fs::remove_file(&part)))
}

/// Whether this is a set-user-ID or set-group-ID program, or one with capabilities: whoever starts it must not choose where
/// it writes files.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_more_rights_than_its_caller() -> bool {
    unsafe extern "C" {
        safe fn getauxval(kind: c_ulong) -> c_ulong;
    }
    const AT_SECURE: c_ulong = 23;
    getauxval(AT_SECURE) != 0
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn has_more_rights_than_its_caller() -> bool {
    unsafe extern "C" {
        safe fn getuid() -> c_uint;
        safe fn geteuid() -> c_uint;
        safe fn getgid() -> c_uint;
        safe fn getegid() -> c_uint;
    }
    getuid() != geteuid() || getgid() != getegid()
}

/// There are no such programs.
#[cfg(windows)]
fn has_more_rights_than_its_caller() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_main_thread() -> bool {
    unsafe extern "C" {
        safe fn gettid() -> c_int;
    }
    u32::try_from(gettid()) == Ok(process::id())
}

/// Elsewhere it is taken for granted: only a library that is loaded late begins on another thread.
#[cfg(not(target_os = "linux"))]
fn is_main_thread() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read() {
        assert_eq!(config("", ""), Config::new());
        assert_eq!(config("1000", "0"), Config::new().timeline(Some(1000)).budget(None));
        assert_eq!(config(" 8 ", "2.5"), Config::new().timeline(Some(8)).budget(Some(0.025)));
        assert_eq!(config("1", "200").budget(None), config("1", "0"));
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        for (timeline, percent) in [("0", "-1"), ("-5", "NaN"), ("many", "1%"), ("1e9", "inf inf")] {
            assert_eq!(config(timeline, percent), Config::new(), "{timeline} {percent}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_and_no_panic() {
        let folder = env::temp_dir().join(format!("hotloop-{}-not-there", process::id()));
        assert!(write(&folder, 1, "{}").is_err());
        assert!(!folder.exists());
    }
}
