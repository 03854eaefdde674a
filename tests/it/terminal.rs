//! Commands on a pseudo-terminal, as a person sees them.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::harness::{PATIENCE, Ran, Start, wait};
use crate::shell::ended;

/// What a person saw of a finished command, with line ends as the program wrote them.
#[derive(Debug)]
pub struct Screen {
    pub code: Option<i32>,
    pub text: String,
}

/// Runs a command with all three streams on a terminal of so many columns, where `typed` was typed.
pub fn at_terminal(start: &Start, columns: u16, typed: &str) -> Screen {
    let (mut screen, keys) = open(columns);
    screen.write_all(typed.as_bytes()).expect("the terminal takes keys");
    let stream = || Stdio::from(keys.try_clone().expect("the terminal once more"));
    let mut command = start.clone().env("TERM", "xterm-256color").command();
    command.stdin(stream()).stdout(stream()).stderr(stream());
    let mut child = command.spawn().expect("the executable starts");
    // Once the process has ended nobody holds the terminal any more, and reading comes to its end.
    drop((command, keys));
    let seen = seen(screen);
    let status = wait(&mut child, PATIENCE).unwrap_or_else(|| {
        let _ = child.kill();
        panic!("a command did not end within {PATIENCE:?}")
    });
    Screen {
        code: status.code(),
        text: seen.join().expect("the screen was read"),
    }
}

/// Runs a command whose standard input alone is a terminal, where `typed` was typed.
pub fn with_keys(start: &Start, typed: &str) -> Ran {
    let (mut screen, keys) = open(80);
    screen.write_all(typed.as_bytes()).expect("the terminal takes keys");
    let mut command = start.clone().env("TERM", "xterm-256color").command();
    command
        .stdin(Stdio::from(keys))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("the executable starts");
    drop(command);
    ended(child)
}

/// A terminal: what its user has, and what a process gets.
fn open(columns: u16) -> (File, OwnedFd) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a pseudo-terminal");
    grantpt(&user)
        .and_then(|()| unlockpt(&user))
        .expect("a pseudo-terminal");
    let name = ptsname(&user, Vec::new()).expect("its name");
    let process =
        rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).expect("its other end");
    let size = Winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&user, size).expect("its size");
    (File::from(user), process)
}

fn seen(mut screen: File) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        // Linux ends the reading with an error, other systems with nothing.
        while let Ok(n @ 1..) = screen.read(&mut chunk) {
            bytes.extend_from_slice(&chunk[..n]);
        }
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
    })
}
