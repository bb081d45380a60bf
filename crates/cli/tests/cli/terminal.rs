//! `metal-bridge chat` on a terminal: a pseudo-terminal whose other end the test holds.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command};
use std::ptr::null_mut;

use tempfile::NamedTempFile;

use crate::commands::{MODEL, command};

/// Both ends: the test's and the program's.
fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: the numbers are there to be written, and the call takes null for what the test does not choose.
    let status =
        unsafe { libc::openpty(&mut ours, &mut theirs, null_mut(), null_mut(), null_mut()) };
    assert_eq!(status, 0, "{}", io::Error::last_os_error());
    // SAFETY: the call has just opened both, and nothing else owns them.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

/// Whether lines are edited by the terminal, and what is typed is shown, among others.
fn settings(terminal: &OwnedFd) -> libc::tcflag_t {
    // SAFETY: all fields are numbers, of which any is a value.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the structure is there to be written.
    let status = unsafe { libc::tcgetattr(terminal.as_raw_fd(), &mut settings) };
    assert_eq!(status, 0, "{}", io::Error::last_os_error());
    settings.c_lflag
}

/// Reads until `text` has come, and returns all up to then.
fn read_until(terminal: &mut File, text: &str) -> String {
    let (mut read, mut byte) = (Vec::new(), [0]);
    while !read.ends_with(text.as_bytes()) {
        if let Err(error) = terminal.read_exact(&mut byte) {
            panic!("{error} after {:?}", String::from_utf8_lossy(&read));
        }
        read.push(byte[0]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// A chat template that is the last message.
fn template() -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(b"{{ messages[-1].content }}").unwrap();
    file
}

/// A chat on a terminal. Each command buffer takes a while.
fn chat(template: &Path, theirs: OwnedFd) -> Command {
    let mut chat = command(&["chat", "-m", MODEL, "--template"]);
    chat.arg(template)
        .env("SOFTWARE_METAL_DELAY", "200000")
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs);
    chat
}

/// Each token takes some tenths of a second, so an answer that is not interrupted would have dozens of words.
#[test]
fn control_c_interrupts_a_coloured_answer() {
    let template = template();
    let (mut ours, theirs) = terminal();
    let mut chat = chat(template.path(), theirs);
    let lead_session = || {
        // SAFETY: the call has no arguments.
        if unsafe { libc::setsid() } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: standard input is the terminal, and the request takes a number.
        match unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes two system calls, which are safe after a fork, and allocates nothing.
    let mut child = unsafe { chat.pre_exec(lead_session) }.spawn().unwrap();
    // The command holds the program's end, which has to be closed for the end of what is read.
    drop(chat);

    read_until(&mut ours, "> ");
    ours.write_all(b"Once upon a time\r").unwrap();
    read_until(&mut ours, "\x1b[36m");
    // A signal may end the program before the answer has ended.
    let piece = read_until(&mut ours, "\x1b[0m");
    assert!(piece.split_whitespace().count() < 3, "{piece}");
    ours.write_all(b"\x03").unwrap();
    let answer = read_until(&mut ours, "> ");
    assert!(answer.split_whitespace().count() < 30, "{answer}");
    ours.write_all(b"/nonsense\r").unwrap();
    read_until(&mut ours, "there is no command /nonsense");
    read_until(&mut ours, "> ");
    ours.write_all(b"half a line\x03").unwrap();
    read_until(&mut ours, "ends the chat");
    read_until(&mut ours, "> ");
    ours.write_all(b"\x04").unwrap();
    assert!(child.wait().unwrap().success());
}

/// Begins a program with this action for SIGTERM and SIGQUIT: those of the test may be its shell's choice.
fn begin(mut program: Command, action: libc::sighandler_t) -> Child {
    let act = move || {
        for signal in [libc::SIGTERM, libc::SIGQUIT] {
            // SAFETY: the action is a constant of the system's.
            unsafe { libc::signal(signal, action) };
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls, which are safe after a fork, and allocates nothing.
    unsafe { program.pre_exec(act) }.spawn().unwrap()
}

#[test]
fn a_chat_goes_on_after_signals_that_are_ignored() {
    let template = template();
    let (mut ours, theirs) = terminal();
    let kept = theirs.try_clone().unwrap();
    let mut child = begin(chat(template.path(), theirs), libc::SIG_IGN);
    read_until(&mut ours, "> ");
    let edited = settings(&kept);
    for signal in [libc::SIGTERM, libc::SIGQUIT] {
        let pid = i32::try_from(child.id()).unwrap();
        // SAFETY: the call takes numbers alone, and the child is not waited for yet, so its number is not another's.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }
    ours.write_all(b"/nonsense\r").unwrap();
    read_until(&mut ours, "there is no command /nonsense");
    read_until(&mut ours, "> ");
    assert_eq!(settings(&kept), edited);
    ours.write_all(b"\x04").unwrap();
    assert!(child.wait().unwrap().success());
}

/// The terminal is not the one that controls the program: the system would reset that one when the program ends.
#[test]
fn signals_leave_the_terminal_as_it_was() {
    let template = template();
    for (signal, code) in [
        (libc::SIGTERM, None),
        (libc::SIGQUIT, None),
        (libc::SIGINT, Some(130)),
    ] {
        let (mut ours, theirs) = terminal();
        let kept = theirs.try_clone().unwrap();
        let before = settings(&kept);
        let mut child = begin(chat(template.path(), theirs), libc::SIG_DFL);
        read_until(&mut ours, "> ");
        assert_ne!(settings(&kept), before);
        let pid = i32::try_from(child.id()).unwrap();
        // SAFETY: the call takes numbers alone, and the child is not waited for yet, so its number is not another's.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
        let status = child.wait().unwrap();
        assert_eq!(status.code(), code);
        assert_eq!(status.signal(), code.is_none().then_some(signal));
        assert_eq!(settings(&kept), before);
    }
}
