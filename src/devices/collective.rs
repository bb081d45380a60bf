//! [`Collective`]: the exchange of several devices on its way.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::metal::device::Device;
use crate::metal::submission::Submission;

/// An exchange of several devices on its way. It is a [`Future`] of its result, for any executor. Dropping it leaves the work
/// running.
///
/// If several devices fail, the error is that of the work that was committed first. The message names the device, and for a copy
/// also the device that the bytes came from.
#[must_use = "only this says whether the devices have failed"]
pub struct Collective {
    /// In the order of their commits.
    parts: Vec<Part>,
    error: Option<Error>,
    /// So many of the parts have ended, as far as polls have seen.
    ended: usize,
}

/// One command buffer of one device.
pub(super) struct Part {
    submission: Submission,
    rank: usize,
    device: Device,
    /// What the device copies from.
    source: Option<(usize, Device)>,
}

impl Part {
    pub(super) fn new(
        submission: Submission,
        rank: usize,
        device: &Device,
        source: Option<(usize, &Device)>,
    ) -> Part {
        Part {
            submission,
            rank,
            device: device.clone(),
            source: source.map(|(rank, device)| (rank, device.clone())),
        }
    }

    /// The error, with what this part was.
    fn name(&self, error: Error) -> Error {
        let (rank, device) = (self.rank, self.device.name());
        let place = match &self.source {
            Some((from, source)) => {
                let source = source.name();
                format!("on device {rank} ({device}), copying from device {from} ({source})")
            }
            None => format!("on device {rank} ({device})"),
        };
        error.at(&place)
    }
}

impl Collective {
    pub(super) fn new(parts: Vec<Part>) -> Collective {
        Collective {
            parts,
            error: None,
            ended: 0,
        }
    }

    /// Waits until the work of all devices has ended.
    ///
    /// # Errors
    ///
    /// [`Error::CommandBuffer`] if a GPU failed, and [`Error::Deadlock`] as for [`Submission::wait`].
    pub fn wait(&self) -> Result<()> {
        self.wait_for_all(Submission::wait)
    }

    /// [`wait`](Collective::wait) no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait`](Collective::wait), and [`Error::Timeout`]: the work goes on then.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<()> {
        let start = Instant::now();
        self.wait_for_all(|part| part.wait_timeout(timeout.saturating_sub(start.elapsed())))
    }

    /// Waits for all also if one has failed: the others still use their buffers.
    fn wait_for_all(&self, wait: impl Fn(&Submission) -> Result<()>) -> Result<()> {
        let wait = |part: &Part| wait(&part.submission).map_err(|error| part.name(error));
        let waited = self.parts.iter().map(wait);
        waited.fold(Ok(()), Result::and)
    }

    /// Whether the work of all devices has ended, well or not.
    pub fn is_completed(&self) -> bool {
        self.parts.iter().all(|part| part.submission.is_completed())
    }
}

impl Future for Collective {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Collective {
            parts,
            error,
            ended,
        } = &mut *self;
        while let Some(part) = parts.get_mut(*ended) {
            match Pin::new(&mut part.submission).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(failed)) => {
                    error.get_or_insert_with(|| part.name(failed));
                }
            }
            *ended += 1;
        }
        Poll::Ready(error.clone().map_or(Ok(()), Err))
    }
}

impl fmt::Debug for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collective")
            .field("is_completed", &self.is_completed())
            .finish()
    }
}
