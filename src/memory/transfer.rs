//! [`Transfer`]: one transfer, before it runs.

use std::fmt;
use std::time::{Duration, Instant};

use super::batch::Batch;
use super::download::Download;
use crate::error::Result;
use crate::metal::submission::Submission;

/// A transfer of a [`TransferQueue`](super::TransferQueue) that is recorded and has not begun: a [`Batch`] of one.
///
/// [`run`](Transfer::run) waits for it. `commit`, which does not wait, and `run_timeout` are for transfers that borrow no host memory.
/// Dropping a transfer discards it.
///
/// The call that makes the transfer records it: it copies [`Staged`](super::Staged) memory, and the buffers are in use from then on.
/// If the recording fails, `run` and `commit` return its error.
#[must_use = "a transfer does nothing unless it is run or committed"]
pub struct Transfer<'h, V> {
    recorded: Result<(Batch<'h>, V)>,
}

const RUN: &str = "Transfer::run";
const RUN_TIMEOUT: &str = "Transfer::run_timeout";
const COMMIT: &str = "Transfer::commit";

impl<'h, V> Transfer<'h, V> {
    pub(super) fn new(recorded: Result<(Batch<'h>, V)>) -> Transfer<'h, V> {
        Transfer { recorded }
    }
}

impl Transfer<'_, ()> {
    /// Starts the transfer and waits for its end, as [`Batch::run`] does.
    ///
    /// # Errors
    ///
    /// Those of the recording ([`Batch::copy`], [`Batch::fill`]), and as [`Batch::run`].
    pub fn run(self) -> Result<()> {
        self.recorded?.0.run_for(RUN)
    }
}

impl<V> Transfer<'_, Download<V>> {
    /// Starts the transfer, waits for its end, as [`Batch::run`] does, and returns the values.
    ///
    /// # Errors
    ///
    /// Those of the recording ([`Batch::copy`]), and as [`Batch::run`].
    pub fn run(self) -> Result<V> {
        let (batch, download) = self.recorded?;
        batch.run_for(RUN)?;
        download.wait()
    }
}

impl Transfer<'static, ()> {
    /// Starts the transfer and returns at once. Nothing has to be kept.
    ///
    /// # Errors
    ///
    /// Those of the recording ([`Batch::copy`], [`Batch::fill`]), and as [`Batch::commit`].
    pub fn commit(self) -> Result<Submission> {
        self.recorded?.0.commit_for(COMMIT, None)
    }

    /// [`run`](Transfer::run) that waits no longer than `timeout`, for a slot in the queue and for the end together. It gives
    /// up the wait, not the transfer.
    ///
    /// # Errors
    ///
    /// Those of the recording ([`Batch::copy`], [`Batch::fill`]), and as [`Batch::commit_timeout`] and
    /// [`Submission::wait_timeout`].
    pub fn run_timeout(self, timeout: Duration) -> Result<()> {
        within(self.recorded?.0, timeout)
    }
}

impl<V> Transfer<'static, Download<V>> {
    /// Starts the transfer and returns at once. The values come later.
    ///
    /// # Errors
    ///
    /// Those of the recording ([`Batch::copy`]), and as [`Batch::commit`].
    pub fn commit(self) -> Result<Download<V>> {
        let (batch, download) = self.recorded?;
        batch.commit_for(COMMIT, None)?;
        Ok(download)
    }

    /// [`run`](Transfer::run) that waits no longer than `timeout`, for a slot in the queue and for the values together. It
    /// gives up the wait, not the transfer; the values are dropped when they come.
    ///
    /// # Errors
    ///
    /// Those of the recording ([`Batch::copy`]), and as [`Batch::commit_timeout`] and [`Submission::wait_timeout`].
    pub fn run_timeout(self, timeout: Duration) -> Result<V> {
        let (batch, download) = self.recorded?;
        within(batch, timeout)?;
        download.wait()
    }
}

fn within(batch: Batch<'static>, timeout: Duration) -> Result<()> {
    let start = Instant::now();
    let submission = batch.commit_for(RUN_TIMEOUT, Some(timeout))?;
    submission.wait_timeout(timeout.saturating_sub(start.elapsed()))
}

impl<V> fmt::Debug for Transfer<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let batch = self.recorded.as_ref().map(|(batch, _)| batch);
        f.debug_tuple("Transfer").field(&batch).finish()
    }
}
