//! Tracy: its client in this process, and a server that takes what the client sends and forgets it.
//!
//! Without a server the client keeps every zone in memory. A server is what it is made for, so it is measured with one,
//! too; a client takes one connection in its life, hence the two halves of the run.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::ops::{Range, RangeInclusive};
use std::thread;
use std::time::Duration;

/// Version of the network protocol of Tracy 0.14, which tracy-client 0.19 has inside.
const PROTOCOL: u32 = 82;

/// The client listens at the first of these that is free.
const PORTS: RangeInclusive<u16> = 8086..=8105;

/// Answer to the handshake of a client that has no server yet.
const WELCOME: u8 = 1;

/// The message after it, and where the process says who it is.
const WELCOME_BYTES: usize = 8 * 8 + 2 + 12 + 4 + 64 + 1024;
const WELCOME_PID: Range<usize> = 48..56;

/// The client's thread sleeps 10 ms whenever it finds nothing to send.
const PAUSE: Duration = Duration::from_millis(25);

pub fn scopes(scopes: u32) {
    for i in 0..scopes {
        let _span = tracy_client::span!("scope");
        black_box(i);
    }
}

/// Lets the client send what it has.
pub fn pause() {
    thread::sleep(PAUSE);
}

/// Connects the server and waits until it has everything recorded so far.
#[allow(clippy::print_stderr, reason = "the figures of one row do not mean what it says")]
pub fn connect() {
    let Some(stream) = PORTS.into_iter().find_map(|port| handshake(port).ok()) else {
        eprintln!("warning: the Tracy client could not be reached: its `connected` row is without a server");
        return;
    };
    thread::spawn(move || drain(stream));
    thread::sleep(Duration::from_secs(1));
}

/// Takes part of the protocol's beginning, with the client of this process and no other.
fn handshake(port: u16) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(b"TracyPrf")?;
    stream.write_all(&PROTOCOL.to_le_bytes())?;
    let mut answer = [0; 1 + WELCOME_BYTES];
    stream.read_exact(&mut answer[..1])?;
    if answer[0] != WELCOME {
        return Err(io::Error::other("the handshake was refused"));
    }
    stream.read_exact(&mut answer[1..])?;
    let pid: [u8; 8] = answer[1..][WELCOME_PID].try_into().expect("a range of eight");
    if u64::from_le_bytes(pid) != u64::from(std::process::id()) {
        return Err(io::Error::other("the client of another process"));
    }
    stream.set_read_timeout(None)?;
    Ok(stream)
}

fn drain(mut stream: TcpStream) {
    let mut buffer = vec![0; 256 * 1024];
    while matches!(stream.read(&mut buffer), Ok(bytes) if bytes > 0) {}
}
