//! [`Progress`]: how far the parts of an operation have come, as the MPI thread tells and others ask.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use metal_bridge::{Loan, SharedEvent};

use crate::error::{Error, Result};

/// The events of an operation in a command buffer. They are two, since the GPU sets its own to a value even if that is less.
pub(crate) struct Events {
    /// What the GPU signals when the data is there.
    pub(crate) ready: SharedEvent,
    /// Its value is the number of parts that have ended.
    pub(crate) ended: SharedEvent,
}

/// The value of an operation's event when its data is there.
pub(crate) const READY: u64 = 1;

/// How long a wait lasts before it looks whether it could end.
const LOOK_AFTER: Duration = Duration::from_millis(200);

thread_local! {
    static IS_MPI_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Says that this is the thread on which all operations end: a wait on it would last for ever.
pub(crate) fn become_mpi_thread() {
    IS_MPI_THREAD.set(true);
}

pub(crate) struct Progress {
    operation: String,
    /// `None` for operations of the host.
    events: Option<Events>,
    /// Empty for operations of the host.
    loans: Vec<Weak<Loan>>,
    recorder: ThreadId,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parts: Vec<Option<Result<()>>>,
    wakers: Vec<Waker>,
}

impl Progress {
    pub(crate) fn new(
        operation: String,
        parts: usize,
        events: Option<Events>,
        loans: &[Arc<Loan>],
    ) -> Progress {
        Progress {
            operation,
            events,
            loans: loans.iter().map(Arc::downgrade).collect(),
            recorder: thread::current().id(),
            state: Mutex::new(State {
                parts: vec![None; parts],
                wakers: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn operation(&self) -> &str {
        &self.operation
    }

    /// The event that the GPU waits for.
    pub(crate) fn event(&self) -> Option<&SharedEvent> {
        self.events.as_ref().map(|events| &events.ended)
    }

    pub(crate) fn parts(&self) -> usize {
        self.lock().parts.len()
    }

    /// A part has ended. Its loans are over, unless MPI does not give the memory back.
    pub(crate) fn finish(&self, part: usize, result: Result<()>) {
        let mut state = self.lock();
        if state.parts[part].is_some() {
            return;
        }
        state.parts[part] = Some(result);
        let ended = state.parts.iter().take_while(|part| part.is_some()).count() as u64;
        let is_last = state.parts.iter().all(Option::is_some);
        let wakers = match is_last {
            true => std::mem::take(&mut state.wakers),
            false => Vec::new(),
        };
        drop(state);
        self.changed.notify_all();
        if let Some(event) = self.event() {
            // Refused if another thread has raised it further.
            event.set_signaled_value(ended).ok();
        }
        for waker in wakers {
            // A panic of a waker is its executor's matter. MPI may be at work in memory that an unwinding thread would free.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }

    /// How a part ended, if it has.
    pub(crate) fn part(&self, part: usize) -> Option<Result<()>> {
        self.lock().parts.get(part).cloned().flatten()
    }

    /// How all ended, if they have: the first error in the order of the parts.
    pub(crate) fn result(&self) -> Option<Result<()>> {
        self.lock().result()
    }

    /// Waits until all parts have ended, no longer than until `deadline` if there is one: `None` then.
    pub(crate) fn wait(
        &self,
        function: &'static str,
        deadline: Option<Instant>,
    ) -> Result<Option<Result<()>>> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.result() {
                return Ok(Some(result));
            }
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            drop(state);
            self.check_wait(function)?;
            state = self.lock();
            if state.result().is_none() {
                let step = left.unwrap_or(LOOK_AFTER).min(LOOK_AFTER);
                let waited = self.changed.wait_timeout(state, step);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Whether the GPU has come to the operation; one of the host has come when it is called.
    pub(crate) fn has_come(&self) -> bool {
        let events = self.events.as_ref();
        events.is_none_or(|events| events.ready.signaled_value() >= READY)
    }

    /// Refuses a wait that could never end.
    fn check_wait(&self, function: &'static str) -> Result<()> {
        if IS_MPI_THREAD.get() {
            let operation = self.operation.clone();
            return Err(Error::Deadlock { operation });
        }
        for loan in self.loans.iter().filter_map(Weak::upgrade) {
            if loan.is_recorded() && self.recorder == thread::current().id() {
                let operation = self.operation.clone();
                return Err(Error::Deadlock { operation });
            }
            loan.check_wait(function)?;
        }
        Ok(())
    }

    /// Wakes `waker` when all parts have ended; gives the result if they have.
    pub(crate) fn poll(&self, waker: &Waker) -> Option<Result<()>> {
        let waker = waker.clone();
        let mut state = self.lock();
        let result = state.result();
        let is_known = state.wakers.iter().any(|known| known.will_wake(&waker));
        if result.is_none() && !is_known {
            state.wakers.push(waker);
        }
        result
    }
}

impl State {
    fn result(&self) -> Option<Result<()>> {
        let parts = self.parts.iter();
        let all: Option<Vec<&Result<()>>> = parts.map(Option::as_ref).collect();
        let failed = all?.into_iter().find(|result| result.is_err());
        Some(failed.cloned().unwrap_or(Ok(())))
    }
}
