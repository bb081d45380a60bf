//! [`Exchange`]: an operation of several ranks on its way.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use metal_bridge::{CommandBuffer, Submission};

use crate::error::{Error, Result};
use crate::progress::Progress;

/// An operation of several ranks on its way. It is a [`Future`] of its result, for any executor. Dropping it leaves the operation
/// running.
///
/// If the operation fails, what it was to write is unspecified, and the GPU goes on: only this says so.
#[must_use = "only this says whether the ranks have failed"]
pub struct Exchange {
    progress: Arc<Progress>,
    /// Of a command buffer of its own.
    submission: Option<Submission>,
}

impl Exchange {
    pub(crate) fn new(progress: Arc<Progress>) -> Exchange {
        Exchange {
            progress,
            submission: None,
        }
    }

    pub(crate) fn with_submission(self, submission: Submission) -> Exchange {
        let submission = Some(submission);
        Exchange { submission, ..self }
    }

    /// How many parts there are, each of which ends by itself.
    pub fn parts(&self) -> usize {
        self.progress.parts()
    }

    /// Has the GPU wait for a part, and for those before it, before the work that is recorded from now on: in the command buffer of
    /// the operation, or in one that comes after it. The wait also ends if the part fails.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no such part, [`Error::Metal`] as for
    /// [`CommandBuffer::encode_wait_for_event`].
    pub fn encode_wait(&self, commands: &mut CommandBuffer, part: usize) -> Result<()> {
        let parts = self.parts();
        let Some(event) = self.progress.event().filter(|_| part < parts) else {
            return Err(Error::InvalidArgument {
                operation: "Exchange::encode_wait",
                message: format!("there is no part {part}: the operation has {parts}"),
            });
        };
        Ok(commands.encode_wait_for_event(event, part as u64 + 1)?)
    }

    /// Waits until all parts have ended.
    ///
    /// # Errors
    ///
    /// The operation's own, of the first part that failed. [`Error::Metal`] if the GPU failed, and as for
    /// [`Submission::wait`] if the wait could not end; [`Error::Deadlock`] if this thread has recorded the operation in a
    /// command buffer and not committed it.
    pub fn wait(&self) -> Result<()> {
        self.wait_until("Exchange::wait", None)
    }

    /// [`wait`](Exchange::wait) no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait`](Exchange::wait), and [`Error::Timeout`], which names no rank: the operation goes on then.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<()> {
        let start = Instant::now();
        match self.wait_until("Exchange::wait_timeout", start.checked_add(timeout)) {
            Err(Error::Metal(metal_bridge::Error::Timeout(_))) => Err(self.timeout(timeout)),
            ended => ended,
        }
    }

    fn wait_until(&self, function: &'static str, deadline: Option<Instant>) -> Result<()> {
        let start = Instant::now();
        let Some(result) = self.progress.wait(function, deadline)? else {
            return Err(self.timeout(start.elapsed()));
        };
        let submitted = match (&self.submission, deadline) {
            (None, _) => Ok(()),
            (Some(work), None) => work.wait(),
            (Some(work), Some(end)) => {
                work.wait_timeout(end.saturating_duration_since(Instant::now()))
            }
        };
        result.and(submitted.map_err(Error::Metal))
    }

    fn timeout(&self, after: Duration) -> Error {
        Error::Timeout {
            operation: self.progress.operation().to_owned(),
            missing: Vec::new(),
            after,
        }
    }

    /// How a part ended; `None` if it has not, or if there is no such part.
    pub fn part_result(&self, part: usize) -> Option<Result<()>> {
        self.progress.part(part)
    }

    /// Whether all parts have ended, well or not.
    pub fn is_completed(&self) -> bool {
        self.progress.result().is_some()
            && self
                .submission
                .as_ref()
                .is_none_or(Submission::is_completed)
    }
}

impl Future for Exchange {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(result) = self.progress.poll(context.waker()) else {
            return Poll::Pending;
        };
        match &mut self.submission {
            None => Poll::Ready(result),
            Some(work) => Pin::new(work)
                .poll(context)
                .map(|submitted| result.and(submitted.map_err(Error::Metal))),
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("operation", &self.progress.operation())
            .field("is_completed", &self.is_completed())
            .finish()
    }
}
