//! The duel's end.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{Answer, Request, VERSION};
use crate::duel::{Launched, Reading};

/// Who says nothing for so long will not answer. Loading a large model from a slow disk takes minutes.
const PATIENCE: Duration = Duration::from_secs(900);
/// How long a worker may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(2);
/// More than the longest profile takes.
const LONGEST_ANSWER: u64 = 1 << 28;
/// What is kept of the standard error.
const LAST_WORDS: usize = 2_000;
/// What is shown of an answer that is none.
const SHOWN: usize = 200;

/// A worker process. Dropping it ends it.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    /// Closed first when it is to end.
    input: Option<ChildStdin>,
    answers: Receiver<Result<String, String>>,
    last_words: Arc<Mutex<Vec<u8>>>,
    listener: Option<JoinHandle<()>>,
    patience: Duration,
}

impl Worker {
    /// Starts a worker and waits until it is ready.
    ///
    /// # Errors
    /// It cannot be started, ends or says something else; its last words are in the error.
    pub fn spawn(command: &mut Command) -> Result<Self, String> {
        Self::spawn_within(command, PATIENCE)
    }

    /// The same, of a worker that is given up when it says nothing for so long.
    ///
    /// # Errors
    /// As above, and where it says nothing.
    pub fn spawn_within(command: &mut Command, patience: Duration) -> Result<Self, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            return Err(format!("`{program}` has no streams"));
        };
        let last_words = Arc::new(Mutex::new(Vec::new()));
        let listener = Some(listen(errors, Arc::clone(&last_words)));
        let mut worker = Worker { child, input: Some(input), answers: lines(output), last_words, listener, patience };
        match worker.answer()? {
            Answer::Ready(VERSION) => Ok(worker),
            Answer::Ready(version) => Err(format!("the worker speaks version {version}, not {VERSION}")),
            Answer::Error(error) => Err(error),
            Answer::Reading(_) => Err("the worker answered before it was asked".to_owned()),
        }
    }

    /// The id of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn ask(&mut self, request: Request) -> Result<(), String> {
        let asked = serde_json::to_string(&request).map_err(|error| error.to_string())? + "\n";
        let Some(input) = &mut self.input else { return Err("the worker was stopped".to_owned()) };
        match input.write_all(asked.as_bytes()).and_then(|()| input.flush()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    fn answer(&mut self) -> Result<Answer, String> {
        match self.answers.recv_timeout(self.patience) {
            Ok(Ok(line)) => serde_json::from_str(&line).map_err(|_| {
                let shown: String = line.trim_end().chars().take(SHOWN).collect();
                self.with_last_words(format!("invalid answer from the worker: `{shown}`"))
            }),
            Ok(Err(error)) => Err(self.with_last_words(format!("invalid answer from the worker: {error}"))),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
            Err(RecvTimeoutError::Timeout) => {
                let waited = self.patience.as_secs_f64();
                Err(self.with_last_words(format!("no answer from the worker for {waited:.0} s; stopped")))
            }
        }
    }

    /// Why it is gone, in its last words. One that has only closed its output is ended.
    fn gone(&mut self) -> String {
        self.input = None;
        let ended = self.end();
        if let Some(listener) = self.listener.take() {
            // Who inherited its standard error may hold it open for ever; what is there by now is enough.
            let until = Instant::now() + FAREWELL;
            while !listener.is_finished() && Instant::now() < until {
                thread::sleep(Duration::from_millis(5));
            }
        }
        let how = ended.map_or_else(|| "closed its output".to_owned(), |status| format!("ended with {status}"));
        self.with_last_words(format!("the worker {how} before it answered"))
    }

    fn with_last_words(&self, error: String) -> String {
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&words);
        match words.trim() {
            "" => error,
            words => format!("{error}; last output: {words}"),
        }
    }

    /// Waits for its end for a while, then ends it; how it ended by itself.
    fn end(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                Err(_) => break,
            }
        }
        // It may have ended meanwhile.
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }
}

impl Launched for Worker {
    fn round(&mut self, calls: u64, profiled: bool) -> Result<Reading, String> {
        self.ask(Request { calls, profiled })?;
        match self.answer()? {
            Answer::Reading(reading) => Ok(*reading),
            Answer::Error(error) => Err(error),
            Answer::Ready(_) => Err("the worker started itself again".to_owned()),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.input = None;
        self.end();
    }
}

/// The lines of a worker, read beside, so that nobody waits for ever.
fn lines(output: ChildStdout) -> Receiver<Result<String, String>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            let read = (&mut output).take(LONGEST_ANSWER).read_until(b'\n', &mut line);
            let answer = match read {
                Ok(0) => return,
                Ok(_) if line.len() as u64 == LONGEST_ANSWER => Err(format!("a line of over {LONGEST_ANSWER} bytes")),
                Ok(_) => Ok(String::from_utf8_lossy(&line).into_owned()),
                Err(error) => Err(error.to_string()),
            };
            let is_last = answer.is_err();
            if sender.send(answer).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

/// Keeps the last of what a worker complains of.
fn listen(mut errors: ChildStderr, last_words: Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut part = [0; 4_096];
        while let Ok(length @ 1..) = errors.read(&mut part) {
            let mut words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
            words.extend_from_slice(&part[..length]);
            let surplus = words.len().saturating_sub(LAST_WORDS);
            words.drain(..surplus);
        }
    })
}
