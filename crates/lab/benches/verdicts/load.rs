//! A process that keeps one core busy.

use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process that burns a core until it is dropped.
pub struct Load(Child);

impl Load {
    pub fn start() -> Self {
        let program = std::env::current_exe().expect("it runs");
        Self(Command::new(program).arg("--load").stdin(Stdio::piped()).spawn().expect("a program that runs can be run"))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Works until whoever started it is gone: in bursts, as programs do that share a machine.
pub fn burn() {
    let is_left_alone = std::thread::spawn(|| std::io::read_to_string(std::io::stdin()));
    let memory: Vec<u64> = (0..1 << 20).collect();
    let mut burst = 0u64;
    while !is_left_alone.is_finished() {
        for pass in 0..200 {
            black_box(memory.iter().fold(pass, |sum: u64, number| sum.wrapping_mul(31).wrapping_add(*number)));
            if is_left_alone.is_finished() {
                return;
            }
        }
        burst += 1;
        std::thread::sleep(Duration::from_millis(burst % 7 * 5));
    }
}
