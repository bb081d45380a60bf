//! The terminal's settings. The editor of lines changes them while a line is edited, and a signal can end the program then.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, tcgetpgrp};

/// As they were when the program began.
pub struct Settings(Mutex<Termios>);

impl Settings {
    /// None if standard input is not a terminal.
    pub fn read() -> Option<Self> {
        let settings = tcgetattr(io::stdin()).ok()?;
        Some(Self(Mutex::new(settings)))
    }

    /// Gives the terminal its settings back, unless another program has the terminal.
    pub fn restore(&self) {
        let terminal = io::stdin();
        if tcgetpgrp(&terminal).is_ok_and(|group| group != getpgrp()) {
            return;
        }
        let settings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The terminal may have gone.
        let _ = tcsetattr(&terminal, SetArg::TCSANOW, &settings);
    }

    /// Restores the settings before SIGTERM or SIGQUIT ends the program. The threads that begin later leave these signals to
    /// a thread that waits for them.
    pub fn restore_at_end(self: Arc<Self>) -> io::Result<()> {
        let ends = [Signal::SIGTERM, Signal::SIGQUIT].into_iter();
        let ends = SigSet::from_iter(ends.filter(|&signal| !is_ignored(signal)));
        if ends == SigSet::empty() {
            return Ok(());
        }
        ends.thread_block()?;
        let wait = move || -> Result<(), Errno> {
            let signal = ends.wait()?;
            self.restore();
            ends.thread_unblock()?;
            raise(signal)
        };
        let thread = thread::Builder::new().name("end of chat".to_owned());
        thread.spawn(wait).map(drop)
    }
}

/// Whether who began the program wants it to go on after the signal, as shells do for programs in the background.
fn is_ignored(signal: Signal) -> bool {
    // SAFETY: the fields are numbers and functions that may be missing.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action the call only writes the present one to where there is room for it.
    let status = unsafe { libc::sigaction(signal as i32, std::ptr::null(), &mut action) };
    status == 0 && action.sa_sigaction == libc::SIG_IGN
}
