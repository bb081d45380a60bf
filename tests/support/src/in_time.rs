//! Waits that have to end.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Longer than any wait that ends takes, on a machine that is busy.
const LONG: Duration = Duration::from_secs(60);

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
