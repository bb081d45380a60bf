//! [`Submission`]: work that was handed to the GPU.

use std::ffi::c_void;
use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::callback::contain_panic;
use super::handle::{Handle, check, nanoseconds};
use super::queue::{CommandQueue, check_process};
use super::recording::RunningUses;
use super::room::{Ticket, Turn};
use crate::error::{Error, Result};
use crate::sys;

/// Work that was handed to the GPU: a committed `MTLCommandBuffer`.
///
/// Dropping it leaves the work running. It is a [`Future`] of its result, for any executor.
pub struct Submission {
    handle: Handle<sys::mtb_command_buffer>,
    completion: Arc<Completion>,
    queue: CommandQueue,
    turn: Turn,
}

// SAFETY: metal_bridge.h, "Threads": after the commit a command buffer may be waited for and asked from any thread.
unsafe impl Send for Submission {}
// SAFETY: as above.
unsafe impl Sync for Submission {}

/// How far a command buffer has got (`MTLCommandBufferStatus`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandBufferStatus {
    /// Handed over, and waiting for its turn.
    Committed,
    /// Its turn has come.
    Scheduled,
    /// Done.
    Completed,
    /// Ended by an error.
    Error,
}

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

pub(crate) type Handler = Box<dyn FnOnce(&Completed) + Send>;

/// What the completion callback and the [`Submission`] share.
pub(crate) struct Completion {
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    uses: RunningUses,
    /// What it takes of the queue's room, unless that is the bridge's own.
    ticket: Option<Ticket>,
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
    pub(crate) fn new(
        uses: RunningUses,
        handlers: Vec<Handler>,
        ticket: Option<Ticket>,
    ) -> Completion {
        Completion {
            state: Mutex::new(State {
                stage: Stage::Running,
                uses,
                ticket,
                handlers,
                waker: None,
            }),
        }
    }

    /// A reference to it as the context of [`completion_callback`], which [`release_completion`] gives back.
    pub(crate) fn into_context(self: Arc<Self>) -> *mut c_void {
        Arc::into_raw(self).cast_mut().cast()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of the caller's runs under the lock, so nothing panics there.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the buffers free of a command buffer that has ended or will not run.
    pub(crate) fn give_back(&self) {
        let (uses, ticket) = {
            let mut state = self.lock();
            (mem::take(&mut state.uses), state.ticket.take())
        };
        drop(ticket);
        uses.finish();
    }

    fn complete(&self, completed: Completed) {
        // First the buffers, so that whoever learns of the completion can access them.
        self.give_back();
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
    fn ended(&self) -> Option<Completed> {
        match &self.lock().stage {
            Stage::Done(completed) => Some(completed.clone()),
            Stage::Handling(thread, completed) if *thread == thread::current().id() => {
                Some(completed.clone())
            }
            Stage::Running | Stage::Handling(..) => None,
        }
    }
}

impl Drop for Completion {
    /// What is left here belongs to a command buffer that will never run.
    fn drop(&mut self) {
        self.give_back();
    }
}

/// The bridge's completion callback. The context is a [`Completion`].
pub(crate) unsafe extern "C" fn completion_callback(
    completion: *const sys::mtb_completion,
    context: *mut c_void,
) {
    // SAFETY: the bridge lends a completion, with an error that is NULL or live, and holds a reference to the context.
    let (completed, shared) = unsafe {
        let completion = &*completion;
        let failed = completion.status == sys::MTB_COMMAND_BUFFER_ERROR;
        let error = failed.then(|| Error::from_borrowed(completion.error));
        (
            Completed {
                error,
                times: Times::from(completion.times),
            },
            &*context.cast::<Completion>(),
        )
    };
    contain_panic(|| shared.complete(completed));
}

/// Gives back the callback's reference to its [`Completion`].
pub(crate) unsafe extern "C" fn release_completion(context: *mut c_void) {
    // SAFETY: the context came from `Arc::into_raw`, and the bridge gives it back once.
    let completion = unsafe { Arc::from_raw(context.cast_const().cast::<Completion>()) };
    contain_panic(|| drop(completion));
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

impl Submission {
    pub(crate) fn new(
        handle: Handle<sys::mtb_command_buffer>,
        completion: Arc<Completion>,
        queue: CommandQueue,
        turn: Turn,
    ) -> Submission {
        Submission {
            handle,
            completion,
            queue,
            turn,
        }
    }

    /// The queue that the work runs on.
    pub fn queue(&self) -> &CommandQueue {
        &self.queue
    }

    /// Waits until the work is done and the completion handlers have been called (`waitUntilCompleted`). In a handler of
    /// this submission it returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::CommandBuffer`] if the GPU failed, [`Error::Deadlock`] in a handler or a host function of the same queue
    /// that the work comes after, and where it comes after a command buffer that this thread, or one that has ended, has
    /// [enqueued](crate::CommandBuffer::enqueue) and never committed.
    pub fn wait(&self) -> Result<()> {
        self.turn
            .wait("Submission::wait", |timeout| self.wait_at_most(timeout))
    }

    /// [`wait`](Submission::wait) no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait`](Submission::wait), and [`Error::Timeout`]: the work goes on then.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<()> {
        self.wait_at_most(nanoseconds(timeout))
    }

    fn wait_at_most(&self, timeout: u64) -> Result<()> {
        check_process("Submission::wait")?;
        if let Some(completed) = self.completion.ended() {
            return completed.result();
        }
        // SAFETY: the command buffer is live and committed.
        unsafe {
            check(|error| {
                sys::mtb_command_buffer_wait_timeout(self.handle.as_ptr(), timeout, error)
            })
        }
    }

    /// How far the work has got (`status`).
    pub fn status(&self) -> CommandBufferStatus {
        // SAFETY: the command buffer is live.
        match unsafe { sys::mtb_command_buffer_get_status(self.handle.as_ptr()) } {
            sys::MTB_COMMAND_BUFFER_COMPLETED => CommandBufferStatus::Completed,
            sys::MTB_COMMAND_BUFFER_ERROR => CommandBufferStatus::Error,
            sys::MTB_COMMAND_BUFFER_SCHEDULED => CommandBufferStatus::Scheduled,
            _ => CommandBufferStatus::Committed,
        }
    }

    /// Whether the work has ended, well or not.
    pub fn is_completed(&self) -> bool {
        matches!(
            self.status(),
            CommandBufferStatus::Completed | CommandBufferStatus::Error
        )
    }

    /// When the work ran; `None` before it has ended.
    pub fn times(&self) -> Option<Times> {
        // SAFETY: the command buffer is live.
        self.is_completed()
            .then(|| unsafe { sys::mtb_command_buffer_get_times(self.handle.as_ptr()) }.into())
    }

    /// Calls `handler` once the work has ended: on a thread of Metal's, or at once on this one if it has already.
    ///
    /// Metal calls the handlers of a queue one after another. So one that waits for later work of the queue, be it for a
    /// submission, for a buffer that the work uses or for [room](CommandQueue::command_buffer) in the queue, could wait
    /// for ever: such waits are [`Error::Deadlock`]. (Those of a thread that the handler starts are not, and a handler that joins
    /// such a thread waits for ever.) Other queues may be waited for where their work does not wait for
    /// this queue's in its turn: of that nothing is known here.
    ///
    /// A panic of a handler on Metal's thread ends there.
    pub fn on_completed(&self, handler: impl FnOnce(&Completed) + Send + 'static) {
        let completed = {
            let mut state = self.completion.lock();
            match &state.stage {
                Stage::Running | Stage::Handling(..) => {
                    state.handlers.push(Box::new(handler));
                    return;
                }
                Stage::Done(completed) => completed.clone(),
            }
        };
        handler(&completed);
    }
}

impl Future for Submission {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        // The old waker is dropped, and the new one cloned, outside of the lock: both may be code of the caller's.
        let waker = context.waker().clone();
        let mut state = self.completion.lock();
        let old = match &state.stage {
            Stage::Done(completed) => return Poll::Ready(completed.result()),
            Stage::Running | Stage::Handling(..) => state.waker.replace(waker),
        };
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission")
            .field("status", &self.status())
            .finish()
    }
}
