//! A contender's process: started, watched, read.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a process printed and took.
#[derive(Debug, Clone)]
pub struct Launch {
    /// To standard output.
    pub printed: String,
    /// From its start to its end, by the clock on the wall.
    pub seconds: f64,
    /// The most memory it held at a time, mapped files included, where the system tells.
    pub peak_bytes: Option<u64>,
}

/// How closely a process is watched.
#[derive(Debug, Clone, Copy)]
pub enum Watch {
    /// Its end alone, to the millisecond.
    End,
    /// Its memory too, seldom enough to disturb nobody. The system keeps the peak, so that only
    /// what was taken after the last look is missed.
    Memory,
}

/// What takes longer hangs, or the machine is too busy to measure anything.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs the command to its end.
pub fn launch(mut command: Command, watch: Watch) -> Result<Launch, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let (printed, complaints) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let mut peak_bytes = None;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if start.elapsed() > PATIENCE {
            end(&mut child);
            return Err(format!("it took more than {} s", PATIENCE.as_secs()));
        }
        if let Watch::Memory = watch {
            peak_bytes = peak(child.id()).or(peak_bytes);
        }
        std::thread::sleep(Duration::from_millis(if let Watch::End = watch { 1 } else { 20 }));
    };
    let seconds = start.elapsed().as_secs_f64();
    let (printed, complaints) = (text(printed), text(complaints));
    if !status.success() {
        let last = complaints.trim().lines().last().unwrap_or("it says nothing").to_owned();
        return Err(format!("{status}: {last}"));
    }
    Ok(Launch { printed, seconds, peak_bytes })
}

/// A pipe that nobody reads would stop the child once it is full.
fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What could be read until then says more than the error.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn text(reader: JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

/// Neither can fail in a way that matters: the child has ended by itself then.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Linux keeps the high-water mark; other systems are not asked.
fn peak(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
