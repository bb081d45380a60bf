//! Waits that have to end.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any wait that ends takes, on a machine that is busy.
pub const LONG: Duration = Duration::from_secs(60);
/// Long enough to see that something does not happen.
pub const SHORT: Duration = Duration::from_millis(30);

/// Calls `f` on a thread of its own, so that a wait that does not end is a failure.
///
/// # Panics
///
/// Where `f` panics, or has not returned after a minute.
pub fn in_time(f: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let called = thread::spawn(move || {
        f();
        sender.send(()).unwrap();
    });
    let ended = receiver.recv_timeout(LONG);
    assert_ne!(
        ended,
        Err(RecvTimeoutError::Timeout),
        "a wait has not ended"
    );
    called.join().unwrap();
}

/// Waits for what another thread is to do.
///
/// # Panics
///
/// If it is not done after a minute.
#[track_caller]
pub fn wait_for(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LONG, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(1));
    }
}
