//! [`Submission`]: work that was handed to the GPU.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::completion::{Completed, Completion, Times};
use super::handle::{Handle, check, nanoseconds};
use super::process::check_process;
use super::queue::CommandQueue;
use super::slots::QueuePosition;
use crate::error::Result;
use crate::sys;

/// Work that was handed to the GPU: a committed `MTLCommandBuffer`.
///
/// Dropping it leaves the work running. It is a [`Future`] of its result, for any executor.
pub struct Submission {
    handle: Handle<sys::mtb_command_buffer>,
    completion: Arc<Completion>,
    queue: CommandQueue,
    position: QueuePosition,
}

// SAFETY: metal_bridge.h, "Threads": after the commit a command buffer may be waited for and asked from any thread.
unsafe impl Send for Submission {}
// SAFETY: as above.
unsafe impl Sync for Submission {}

/// How far a command buffer has got (`MTLCommandBufferStatus`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandBufferStatus {
    /// Handed over, and not begun.
    Committed,
    /// Begun.
    Scheduled,
    /// Done.
    Completed,
    /// Ended by an error.
    Error,
}

impl Submission {
    pub(crate) fn new(
        handle: Handle<sys::mtb_command_buffer>,
        completion: Arc<Completion>,
        queue: CommandQueue,
        position: QueuePosition,
    ) -> Submission {
        Submission {
            handle,
            completion,
            queue,
            position,
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
    /// [`Error::CommandBuffer`](crate::Error::CommandBuffer) if the GPU failed.
    /// [`Error::Deadlock`](crate::Error::Deadlock) if the wait could not end: in a handler or a host function of the
    /// same queue that the work comes after, or if the work comes after a command buffer that this thread, or one that
    /// has ended, has [enqueued](crate::CommandBuffer::enqueue) and never committed.
    pub fn wait(&self) -> Result<()> {
        self.position
            .wait("Submission::wait", |timeout| self.wait_at_most(timeout))
    }

    /// [`wait`](Submission::wait) no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait`](Submission::wait), and [`Error::Timeout`](crate::Error::Timeout): the work goes on then.
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
    /// Metal calls the handlers of a queue one after another. So a handler that waits for later work of the queue
    /// could wait for ever, be it for a submission, for a buffer that the work uses or for a
    /// [slot](CommandQueue::command_buffer) in the queue: such a wait fails with
    /// [`Error::Deadlock`](crate::Error::Deadlock). (The wait of a thread that the handler starts does not fail, so a
    /// handler that joins such a thread waits for ever.) A handler may wait for another queue, unless that queue's
    /// work waits for this queue's; nothing here checks that.
    ///
    /// A panic of a handler on Metal's thread ends there.
    pub fn on_completed(&self, handler: impl FnOnce(&Completed) + Send + 'static) {
        self.completion.on_ended(Box::new(handler));
    }
}

impl Future for Submission {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.completion.poll(context)
    }
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission")
            .field("status", &self.status())
            .finish()
    }
}
