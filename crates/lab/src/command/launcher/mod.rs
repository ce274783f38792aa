//! Starts a program from a process of a few pages, so that the peak memory of the program is its own.
//!
//! Linux counts into a program's `ru_maxrss` the peak of the process that called `exec`, and a child that this process starts directly
//! is a copy of this process until then: every program would seem at least as large as Hotloop. The launcher is a static program
//! of one page. It makes a process with `CLONE_PARENT`, which becomes the program and is a child of this process, not of the
//! launcher; then it exits. Input, output, environment, signals and process group are inherited through it unchanged.
//!
//! Its arguments are a pipe, as a path, the program's file, and the program's arguments from `argv[0]` on. Before the program starts
//! it writes to the pipe: the monotonic time, from which the program is timed, and the program's process id. The error number of an
//! `exec` that failed follows.
//!
//! The launcher is machine code in a file in memory: a Rust program with its libraries would have 2 MiB, and a second installed
//! program could be missing. It is tried once; where the system does not run it, programs are started directly.

mod code;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process;
use std::sync::OnceLock;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use wait4::{ResUse, try_wait4_pid};

use super::usage::SchedulerTimes;

/// `MFD_EXEC`, which kernels before 6.3 do not know and some later ones insist on.
const MFD_EXEC: MFdFlags = MFdFlags::from_bits_retain(0x10);
/// Seconds, nanoseconds and process id, then the error number: 8 bytes each.
const WORD: usize = 8;
const STARTED: usize = 3 * WORD;
const REFUSED: usize = 4 * WORD;

/// The thread that waits.
const THIS_THREAD: &str = "thread-self";

/// A program that is about to be started.
pub(in crate::command) struct Launch {
    command: process::Command,
    reader: PipeReader,
    /// Open here until the launcher has opened it by its path.
    writer: PipeWriter,
}

/// What became of a launch.
pub(in crate::command) enum Launched {
    /// The program runs.
    Running(Running),
    /// A signal ended the launcher before the program was started: Ctrl-C reaches all processes of a terminal.
    Killed(process::ExitStatus),
}

/// A program that was started. It is a child of this process, and has to be waited for.
#[derive(Debug)]
pub(in crate::command) struct Running {
    process: u32,
    /// The monotonic clock right before the process was made.
    since: Duration,
}

impl Launch {
    /// A launch of this file with these arguments, the name it is called by first.
    ///
    /// # Errors
    /// The launcher cannot be used, and why.
    pub(in crate::command) fn new(file: &Path, name: &OsStr, arguments: &[OsString]) -> Result<Self, String> {
        static LAUNCHER: OnceLock<Result<File, String>> = OnceLock::new();
        let launcher = LAUNCHER.get_or_init(|| prepare().map_err(|error| error.to_string()));
        let launcher = launcher.as_ref().map_err(Clone::clone)?;
        Launch::with(launcher, file, name, arguments).map_err(|error| error.to_string())
    }

    fn with(launcher: &File, file: &Path, name: &OsStr, arguments: &[OsString]) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let mut command = process::Command::new(format!("/proc/self/fd/{}", launcher.as_raw_fd()));
        // By its path, because a descriptor that is inherited would reach the program too.
        command.arg(format!("/proc/{}/fd/{}", process::id(), writer.as_raw_fd()));
        command.arg(file).arg(name).args(arguments);
        Ok(Launch { command, reader, writer })
    }

    /// For streams and environment, which the program gets from the launcher. Arguments are complete.
    pub(in crate::command) fn command(&mut self) -> &mut process::Command {
        &mut self.command
    }

    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be executed, or no process can be made.
    pub(in crate::command) fn start(mut self) -> io::Result<Launched> {
        let status = self.command.status()?;
        drop(self.writer);
        // Ends when the program has begun, which closes the pipe.
        let mut told = Vec::new();
        self.reader.read_to_end(&mut told)?;
        let word = |at: usize| told[at * WORD..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        match told.len() {
            0 if status.signal().is_some() => return Ok(Launched::Killed(status)),
            STARTED | REFUSED => {}
            _ => return Err(io::Error::other("the launcher could not open its pipe or make a process")),
        }
        let since = Duration::new(word(0), u32::try_from(word(1)).unwrap_or(0));
        let running = Running { process: u32::try_from(word(2)).unwrap_or(0), since };
        if told.len() == REFUSED {
            running.wait()?;
            return Err(io::Error::from_raw_os_error(i32::try_from(word(3)).unwrap_or(0)));
        }
        Ok(Launched::Running(running))
    }
}

impl Running {
    pub(in crate::command) fn process(&self) -> u32 {
        self.process
    }

    /// Waits until it has ended: how it did and what the system counted for it, how long it took, and what the scheduler knows of it.
    pub(in crate::command) fn wait(self) -> io::Result<(ResUse, Duration, Option<SchedulerTimes>)> {
        let process = Pid::from_raw(i32::try_from(self.process).map_err(io::Error::other)?);
        let before = SchedulerTimes::of(THIS_THREAD);
        // `wait4` for a process id is offered without blocking only.
        while let Err(error) = waitid(Id::Pid(process), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            if error != Errno::EINTR {
                return Err(error.into());
            }
        }
        let wall = monotonic()?.saturating_sub(self.since);
        // Gone with the process, so it is read before that is waited for.
        let scheduled = SchedulerTimes::of(&self.process.to_string()).map(|own| {
            // Between its end and that of the wait for it, this thread may wait for a CPU.
            let noticed =
                before.zip(SchedulerTimes::of(THIS_THREAD)).map_or(0.0, |(before, after)| after.since(before).waited_s);
            SchedulerTimes { waited_s: own.waited_s + noticed, ..own }
        });
        let ended = try_wait4_pid(self.process)?;
        let ended = ended.ok_or_else(|| io::Error::other("a process that has ended is still running"))?;
        Ok((ended, wall, scheduled))
    }
}

/// The launcher as a file that was tried.
fn prepare() -> io::Result<File> {
    let make = |flags| memfd_create("hotloop-launcher", flags);
    let made = make(MFdFlags::MFD_CLOEXEC | MFD_EXEC).or_else(|_| make(MFdFlags::MFD_CLOEXEC))?;
    let mut launcher = File::from(made);
    launcher.write_all(&code::file())?;
    try_out(&launcher)?;
    Ok(launcher)
}

/// A file that is not there has to be refused as such: then all that a launch needs works.
fn try_out(launcher: &File) -> io::Result<()> {
    let mut launch = Launch::with(launcher, Path::new("/proc/self/no-such-file"), OsStr::new(""), &[])?;
    let null = process::Stdio::null;
    launch.command().stdin(null()).stdout(null()).stderr(null());
    match launch.start() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(Launched::Killed(status)) => Err(io::Error::other(format!("the launcher ended with {status}"))),
        Ok(Launched::Running(_)) => Err(io::Error::other("the launcher does not work as expected")),
    }
}

fn monotonic() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(words: &[&str]) -> Launch {
        let arguments: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
        Launch::new(Path::new(words[0]), OsStr::new(words[0]), &arguments).expect("launchers work here")
    }

    /// What is written to a pipe by what `run` starts.
    fn printed(run: impl FnOnce(io::PipeWriter)) -> String {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        run(writer);
        let mut printed = String::new();
        reader.read_to_string(&mut printed).expect("it prints");
        printed
    }

    #[test]
    fn a_program_is_as_if_it_was_started_directly() {
        // The parent is asked for when the launcher is gone for sure. Signals: what is blocked, ignored and caught.
        // The shell blocks signals while it starts another program, so it reads its own state itself.
        let script = "sleep 0.05; ls /proc/$$/fd; while read -r line; do case $line in \
            PPid*|SigBlk*|SigIgn*|SigCgt*|Seccomp*|NoNewPrivs*) echo \"$line\";; esac; done < /proc/$$/status; cut -d ' ' -f 4-8 /proc/$$/stat; cat /proc/$$/personality; env | cksum; echo \"$0\" \"$@\"";
        let words = ["/bin/sh", "-c", script, "name", "", "a b", "*"];
        let mut ended = None;
        let launched = printed(|writer| {
            let mut launch = launch(&words);
            launch.command().stdout(writer);
            let Ok(Launched::Running(running)) = launch.start() else { panic!("it runs") };
            ended = Some(running.wait().expect("it ends"));
        });
        let (ended, wall, scheduled) = ended.expect("it ran");
        assert!(ended.status.success() && wall >= Duration::from_millis(50), "{wall:?}");
        // Kernels that do not count it have no such file.
        assert!(scheduled.is_none_or(|found| found.ran_s > 0.0 && found.ran_s < wall.as_secs_f64()), "{scheduled:?}");
        let direct = printed(|writer| {
            let mut command = process::Command::new(words[0]);
            assert!(command.args(&words[1..]).stdout(writer).status().expect("it runs").success());
        });
        assert!(launched.contains(&format!("PPid:\t{}\n", process::id())), "{launched}");
        assert_eq!(launched, direct);
    }

    #[test]
    fn what_cannot_be_executed_is_refused_and_leaves_no_process() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = launch(&[folder.to_str().expect("UTF-8")]).start().err().expect("a folder is no program");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let children = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        assert_eq!(children.trim(), "");
    }
}
