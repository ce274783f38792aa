//! The folder where processes write their profiles, and the choice of one of them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use record::{ProcessUse, Profile};

use crate::Folder;

/// More than the longest timelines of dozens of threads take; a longer file is none of the library's.
const MAX_BYTES: u64 = 1 << 30;

/// The files of one run.
pub(super) struct Snapshots {
    folder: Folder,
}

impl Snapshots {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Snapshots { folder: Folder::new()? })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The profile of this process, or, where it wrote none, that of the process that recorded for longest: of a script,
    /// the program that it is there for.
    pub(super) fn collect(&self, process: u32, usage: &ProcessUse, notes: &mut Vec<String>) -> Option<Profile> {
        let mut others = self.processes();
        let own = others.iter().position(|other| *other == process).map(|at| others.swap_remove(at));
        let own = own.and_then(|own| self.read(own, notes));
        if own.is_some() {
            if !others.is_empty() {
                notes.push(format!("{} left out, from processes that it started", profiles(others.len())));
            }
            return own;
        }
        let read = others.iter().filter_map(|other| Some((*other, self.read(*other, notes)?)));
        let Some((chosen, profile)) = read.max_by_key(|(_, profile)| profile.wall_ns) else {
            if others.is_empty() {
                notes.push(absence(usage));
            }
            return None;
        };
        let rest = match others.len() - 1 {
            0 => String::new(),
            rest => format!("; {} of shorter processes left out", profiles(rest)),
        };
        notes.push(format!("the profile is from process {chosen}, which the command started{rest}"));
        Some(profile)
    }

    /// The processes that left a file, in order.
    fn processes(&self) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(self.path()) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut processes: Vec<u32> = names.filter_map(|name| name.strip_suffix(".json")?.parse().ok()).collect();
        processes.sort_unstable();
        processes
    }

    fn read(&self, process: u32, notes: &mut Vec<String>) -> Option<Profile> {
        let read = || {
            let path = self.path().join(format!("{process}.json"));
            // Asked before it is opened: opening a pipe would wait for somebody to write into it.
            if !fs::symlink_metadata(&path).is_ok_and(|about| about.is_file()) {
                return Err("it is not a regular file".to_owned());
            }
            let file = File::open(path).map_err(|error| error.to_string())?;
            let mut text = String::new();
            let length = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
            if length as u64 > MAX_BYTES {
                return Err(format!("larger than {MAX_BYTES} bytes"));
            }
            Profile::from_json(&text)
        };
        match read() {
            Ok(profile) => Some(profile),
            Err(error) => {
                notes.push(format!("cannot read the profile of process {process}: {error}"));
                None
            }
        }
    }
}

fn profiles(count: usize) -> String {
    if count == 1 { "1 profile is".to_owned() } else { format!("{count} profiles are") }
}

/// Why nothing was written, as far as that can be told from outside.
fn absence(usage: &ProcessUse) -> String {
    match usage.signal {
        Some(signal) => {
            format!("no profile: it is written when a program exits, and this one was terminated by signal {signal}")
        }
        None => "no profile: the program does not use hotloop, was built without its feature `enabled`, or ended \
             without `exit`"
            .to_owned(),
    }
}
