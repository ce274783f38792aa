//! No launcher: only Linux counts the memory of who starts a program, and elsewhere than on x86_64 and aarch64 there is no code for it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process;
use std::time::Duration;

use wait4::ResUse;

use super::usage::SchedulerTimes;

/// There is none.
pub(in crate::command) enum Launch {}

/// Never made.
#[allow(dead_code, reason = "what starts programs knows both ends of a launch")]
pub(in crate::command) enum Launched {
    Running(Running),
    Killed(process::ExitStatus),
}

/// Never made.
pub(in crate::command) enum Running {}

impl Launch {
    pub(in crate::command) fn new(_: &Path, _: &OsStr, _: &[OsString]) -> Result<Self, String> {
        Err("there is no launcher for this system".to_owned())
    }

    pub(in crate::command) fn command(&mut self) -> &mut process::Command {
        match *self {}
    }

    pub(in crate::command) fn start(self) -> io::Result<Launched> {
        match self {}
    }
}

impl Running {
    pub(in crate::command) fn process(&self) -> u32 {
        match *self {}
    }

    pub(in crate::command) fn wait(self) -> io::Result<(ResUse, Duration, Option<SchedulerTimes>)> {
        match self {}
    }
}
