//! A program with scopes and without a call that starts the profiler: whoever runs it decides whether it is measured.
//!
//! ```text
//! hotloop run -- target/release/examples/spin
//! ```
//!
//! It works for 50 ms three times, each time in the scope `spin` and with one allocation. Then it ends as its argument says.

use std::hint::{black_box, spin_loop};
use std::process::{abort, exit};
use std::thread;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

fn spin(milliseconds: u64) {
    hotloop::scope!("spin");
    let bytes = black_box(vec![1_u8; 1000]);
    let (start, time) = (Instant::now(), Duration::from_millis(milliseconds));
    while start.elapsed() < time {
        spin_loop();
    }
    drop(bytes);
}

/// Does not end with the program.
fn go_on() {
    loop {
        hotloop::scope!("for ever");
        thread::sleep(Duration::from_millis(1));
    }
}

fn main() {
    (0..3).for_each(|_| spin(50));
    hotloop::scope!("end");
    match std::env::args().nth(1).as_deref() {
        Some("exit") => exit(3),
        Some("panic") => panic!("as asked"),
        Some("abort") => abort(),
        Some("elsewhere") => std::env::set_current_dir(std::env::temp_dir()).expect("there is one"),
        Some("stop") => {
            hotloop::stop();
            spin(1);
        }
        Some("reset") => {
            hotloop::reset();
            spin(1);
        }
        Some("restart") => {
            hotloop::Config::new().timeline(Some(8)).start();
            spin(1);
        }
        Some("threads") => {
            thread::Builder::new().name("detached".to_owned()).spawn(go_on).expect("a thread");
            thread::spawn(|| spin(10)).join().expect("it ends");
        }
        Some("exit from a thread") => drop(thread::spawn(|| exit(4)).join()),
        _ => {}
    }
}
