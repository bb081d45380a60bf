//! Work on many threads at once.

use std::thread;

use super::error::{Error, Result};

/// Calls `work` on `count` threads, with the number of each, and returns the threads' results. If the system cannot
/// start a thread, that error is the last result.
pub(super) fn on_threads<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let work = &work;
    thread::scope(|scope| {
        let mut started = Vec::new();
        let mut refused = None;
        for number in 0..count {
            match thread::Builder::new().spawn_scoped(scope, move || work(number)) {
                Ok(thread) => started.push(thread),
                Err(error) => {
                    let message = format!("thread {number} does not start: {error}");
                    refused = Some(Err(Error::new(message)));
                    break;
                }
            }
        }
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err(Error::new("a thread panicked")))
        };
        started.into_iter().map(join).chain(refused).collect()
    })
}
