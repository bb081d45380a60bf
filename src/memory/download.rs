//! [`Download`]: values on their way from a buffer.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::host_memory::{HostMemory, Received};
use crate::error::{Error, Failure, Result};
use crate::metal::process::check_process;
use crate::metal::slots::QueuePosition;
use crate::metal::wait::Wait;
use crate::sys::contain_panic;

/// Values on their way from a buffer, which come when the transfer has completed: a [`Future`] of them, for any
/// executor.
/// If a download is dropped or leaked, the transfer, which owns the memory that it writes, goes on.
pub struct Download<V> {
    slot: Arc<Slot<V>>,
}

struct Slot<V> {
    state: Mutex<State<V>>,
    changed: Condvar,
}

struct State<V> {
    stage: Stage<V>,
    waker: Option<Waker>,
    handler: Option<Handler<V>>,
}

type Handler<V> = Box<dyn FnOnce(Result<V>) + Send>;

enum Stage<V> {
    /// In a batch that is not committed.
    Recorded,
    /// On its way.
    Running(QueuePosition),
    Ended(Result<V>),
    Taken,
}

impl<V> Slot<V> {
    fn lock(&self) -> MutexGuard<'_, State<V>> {
        // No code of the caller's runs under the lock, so nothing panics there.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, result: Result<V>) {
        let mut state = self.lock();
        if let Some(handler) = state.handler.take() {
            state.stage = Stage::Taken;
            drop(state);
            return handler(result);
        }
        state.stage = Stage::Ended(result);
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<V> State<V> {
    /// The values or the error, once, when they are there; later an error, so that nobody waits for what does not come again.
    fn take(&mut self, function: &'static str) -> Option<Result<V>> {
        match mem::replace(&mut self.stage, Stage::Taken) {
            Stage::Ended(result) => Some(result),
            Stage::Taken => {
                let why = "the values of the download have been taken";
                Some(Err(Error::InvalidState(Failure::new(function, why))))
            }
            other => {
                self.stage = other;
                None
            }
        }
    }
}

impl<V> Download<V> {
    /// Waits until the values are there.
    ///
    /// # Errors
    ///
    /// [`Error::CommandBuffer`] if the GPU failed, [`Error::InvalidState`] if the batch that the download belongs to
    /// is not committed, or was dropped. [`Error::Deadlock`] if the values are not there yet, in a completion handler or a host
    /// function of the same queue, or if they come after a command buffer that this thread, or one that has ended, has
    /// [enqueued](crate::CommandBuffer::enqueue) and never committed: the values are dropped when they come.
    pub fn wait(self) -> Result<V> {
        self.wait_until(None)
    }

    /// [`wait`](Download::wait) no longer than `timeout`. The values come once: whoever asks for them later, by a wait, as a
    /// future or with a handler, gets [`Error::InvalidState`].
    ///
    /// # Errors
    ///
    /// As [`wait`](Download::wait), and [`Error::Timeout`]: the download goes on then.
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<V> {
        self.wait_until(Instant::now().checked_add(timeout))
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Result<V> {
        const FUNCTION: &str = "Download::wait";
        check_process(FUNCTION)?;
        let mut wait = Wait::until(deadline);
        let mut state = self.slot.lock();
        loop {
            if let Some(result) = state.take(FUNCTION) {
                return result;
            }
            let position = match &state.stage {
                Stage::Running(position) => position,
                _ => {
                    let why = "the batch is not committed";
                    return Err(Error::InvalidState(Failure::new(FUNCTION, why)));
                }
            };
            let step = wait.step(|| position.is_after_callback(), || position.is_stuck());
            let step = step.map_err(|end| end.of(FUNCTION, "the download"))?;
            let waited = self.slot.changed.wait_timeout(state, step);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the download has ended, well or not.
    pub fn is_completed(&self) -> bool {
        matches!(self.slot.lock().stage, Stage::Ended(_) | Stage::Taken)
    }

    /// Calls `handler` with the values once they are there: on a thread of Metal's, or at once on this one if they are
    /// already. [`Submission::on_completed`](crate::Submission::on_completed) says what a handler must not wait for.
    pub fn on_completed(self, handler: impl FnOnce(Result<V>) + Send + 'static) {
        let mut state = self.slot.lock();
        match state.take("Download::on_completed") {
            Some(result) => {
                drop(state);
                handler(result);
            }
            None => state.handler = Some(Box::new(handler)),
        }
    }
}

impl<V> Future for Download<V> {
    type Output = Result<V>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<V>> {
        // The old waker is dropped, and the new one cloned, outside of the lock: both may run the caller's code.
        let waker = context.waker().clone();
        let mut state = self.slot.lock();
        if let Some(result) = state.take("Download::poll") {
            return Poll::Ready(result);
        }
        let old = state.waker.replace(waker);
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl<V> fmt::Debug for Download<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download")
            .field("is_completed", &self.is_completed())
            .finish()
    }
}

/// The transfer's side of a download: the memory that is written, and where the values go.
pub(super) struct Receiver<M: Received> {
    /// `None` once it has ended.
    parts: Option<(M, Arc<Slot<M::Values>>)>,
}

impl<M: Received> Receiver<M> {
    pub(super) fn new(memory: M) -> (Receiver<M>, Download<M::Values>) {
        let slot = Arc::new(Slot {
            state: Mutex::new(State {
                stage: Stage::Recorded,
                waker: None,
                handler: None,
            }),
            changed: Condvar::new(),
        });
        let receiver = Receiver {
            parts: Some((memory, slot.clone())),
        };
        (receiver, Download { slot })
    }

    /// Drops the memory, and tells `error` to those who wait for it: also if the caller's owner panics.
    fn end_without_values(&mut self, error: Error) {
        if let Some((memory, slot)) = self.parts.take() {
            contain_panic(|| drop(memory));
            slot.end(Err(error));
        }
    }
}

impl<M: Received> HostMemory for Receiver<M> {
    fn start(&self, position: &QueuePosition) {
        if let Some((_, slot)) = &self.parts {
            slot.lock().stage = Stage::Running(position.clone());
        }
    }

    fn finish(mut self: Box<Self>, result: &Result<()>) {
        match result {
            Err(error) => self.end_without_values(error.clone()),
            Ok(()) => {
                if let Some((memory, slot)) = self.parts.take() {
                    // SAFETY: a transfer that ended without an error has written all that it was to write.
                    slot.end(Ok(unsafe { memory.into_values() }));
                }
            }
        }
    }

    fn leak(mut self: Box<Self>, error: &Error) {
        if let Some((memory, slot)) = self.parts.take() {
            mem::forget(memory);
            slot.end(Err(error.clone()));
        }
    }
}

impl<M: Received> Drop for Receiver<M> {
    /// A batch that will never run: nobody waits for it for ever.
    fn drop(&mut self) {
        let why = "the batch was not committed";
        self.end_without_values(Error::InvalidState(Failure::new("Batch::drop", why)));
    }
}
