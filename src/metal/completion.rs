//! [`Completion`]: how committed work ends, and the handlers that are told.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::recording::RunningUses;
use super::slots::Slot;
use crate::error::{Error, Result};
use crate::sys::{self, CompletionHandler, contain_panic};

/// When a command buffer ran, in seconds of the system's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Times {
    /// The GPU began to execute (`GPUStartTime`).
    pub gpu_start: f64,
    /// The GPU was done (`GPUEndTime`).
    pub gpu_end: f64,
    /// The CPU began to schedule (`kernelStartTime`).
    pub kernel_start: f64,
    /// The CPU was done with scheduling (`kernelEndTime`).
    pub kernel_end: f64,
}

impl Times {
    /// The time that the GPU took.
    pub fn gpu_duration(&self) -> Duration {
        Duration::try_from_secs_f64(self.gpu_end - self.gpu_start).unwrap_or_default()
    }
}

/// How a command buffer ended.
#[derive(Debug, Clone)]
pub struct Completed {
    error: Option<Error>,
    times: Times,
}

impl Completed {
    /// The GPU's error, [`Error::CommandBuffer`], if it failed.
    pub fn result(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// When it ran.
    pub fn times(&self) -> Times {
        self.times
    }
}

/// Where the result of a command buffer stands as soon as its buffers are free. One that is never committed leaves it empty.
pub(crate) type Outcome = Arc<OnceLock<Result<()>>>;

pub(crate) type Handler = Box<dyn FnOnce(&Completed) + Send>;

/// What the completion callback and the [`Submission`] share.
pub(crate) struct Completion {
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    uses: RunningUses,
    /// The command buffer's slot in its queue; `None` if the bridge itself has made the command buffer.
    slot: Option<Slot>,
    outcomes: Vec<Outcome>,
    handlers: Vec<Handler>,
    waker: Option<Waker>,
}

#[derive(Clone)]
enum Stage {
    Running,
    /// Completed; the handlers are being called on this thread.
    Handling(ThreadId, Completed),
    Done(Completed),
}

impl Completion {
    pub(crate) fn new(uses: RunningUses, handlers: Vec<Handler>, slot: Option<Slot>) -> Completion {
        Completion {
            state: Mutex::new(State {
                stage: Stage::Running,
                uses,
                slot,
                outcomes: Vec::new(),
                handlers,
                waker: None,
            }),
        }
    }

    /// Also tells `outcomes` of the end.
    pub(crate) fn with_outcomes(self, outcomes: Vec<Outcome>) -> Completion {
        self.lock().outcomes = outcomes;
        self
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of the caller's runs under the lock, so nothing panics there.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the buffers and the slot of a command buffer that has ended or will not run.
    pub(crate) fn release(&self) {
        let (uses, slot) = {
            let mut state = self.lock();
            (mem::take(&mut state.uses), state.slot.take())
        };
        drop(slot);
        uses.finish();
    }

    fn end(&self, completed: Completed) {
        // Whoever finds the buffers free finds the outcome.
        for outcome in mem::take(&mut self.lock().outcomes) {
            // A command buffer ends once.
            let _ = outcome.set(completed.result());
        }
        // Then the buffers, so that the handlers can access them.
        self.release();
        let mut handlers = {
            let mut state = self.lock();
            state.stage = Stage::Handling(thread::current().id(), completed.clone());
            mem::take(&mut state.handlers)
        };
        let waker = loop {
            for handler in handlers {
                contain_panic(|| handler(&completed));
            }
            let mut state = self.lock();
            // Handlers that came while these ran.
            handlers = mem::take(&mut state.handlers);
            if handlers.is_empty() {
                state.stage = Stage::Done(completed);
                break state.waker.take();
            }
        };
        if let Some(waker) = waker {
            contain_panic(|| waker.wake());
        }
    }

    /// How it ended, once that is known and the handlers have been called, or are being called by this very thread.
    pub(crate) fn ended(&self) -> Option<Completed> {
        match &self.lock().stage {
            Stage::Done(completed) => Some(completed.clone()),
            Stage::Handling(thread, completed) if *thread == thread::current().id() => {
                Some(completed.clone())
            }
            Stage::Running | Stage::Handling(..) => None,
        }
    }

    /// Calls `handler` once the work has ended: at once, on this thread, if it has already.
    pub(crate) fn on_ended(&self, handler: Handler) {
        let completed = {
            let mut state = self.lock();
            match &state.stage {
                Stage::Running | Stage::Handling(..) => {
                    state.handlers.push(handler);
                    return;
                }
                Stage::Done(completed) => completed.clone(),
            }
        };
        handler(&completed);
    }

    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Result<()>> {
        // The old waker is dropped, and the new one cloned, outside of the lock: both may be code of the caller's.
        let waker = context.waker().clone();
        let mut state = self.lock();
        let old = match &state.stage {
            Stage::Done(completed) => return Poll::Ready(completed.result()),
            Stage::Running | Stage::Handling(..) => state.waker.replace(waker),
        };
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl CompletionHandler for Completion {
    unsafe fn complete(&self, completion: &sys::mtb_completion) {
        let failed = completion.status == sys::MTB_COMMAND_BUFFER_ERROR;
        // SAFETY: the error is NULL or live, as promised by the caller.
        let error = failed.then(|| unsafe { sys::OwnedError::copy(completion.error) }.into());
        self.end(Completed {
            error,
            times: Times::from(completion.times),
        });
    }
}

impl Drop for Completion {
    /// What is left here belongs to a command buffer that will never run.
    fn drop(&mut self) {
        self.release();
    }
}

impl From<sys::mtb_times> for Times {
    fn from(times: sys::mtb_times) -> Times {
        let sys::mtb_times {
            gpu_start,
            gpu_end,
            kernel_start,
            kernel_end,
        } = times;
        Times {
            gpu_start,
            gpu_end,
            kernel_start,
            kernel_end,
        }
    }
}
