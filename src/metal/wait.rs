//! [`Wait`]: when a wait for the GPU ends without what it waits for.

use std::mem;
use std::time::{Duration, Instant};

use crate::error::{Error, Failure};

/// How long a wait without a deadline lasts before it checks whether it could end.
pub(crate) const LOOK_AFTER: Duration = Duration::from_millis(200);

/// Why work does not run.
pub(crate) const STUCK: &str = "an earlier command buffer blocks the queue, because its thread (this one, or one that has ended) enqueued it and never committed it";

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitError {
    /// The deadline passed.
    Timeout,
    /// The work runs after the callback that this thread is in.
    InCallback,
    /// The work does not run while this thread waits.
    Stuck,
}

impl WaitError {
    /// The error of a wait for `work`.
    #[cold]
    pub(crate) fn of(self, function: &'static str, work: &str) -> Error {
        match self {
            WaitError::Timeout => {
                let message = format!("{work} has not completed");
                Error::Timeout(Failure::new(function, message))
            }
            WaitError::InCallback => {
                let message = format!(
                    "{work} runs after the completion handler or host function that this thread is in"
                );
                Error::Deadlock(Failure::new(function, message))
            }
            WaitError::Stuck => {
                let message = format!("{work} does not run: {STUCK}");
                Error::Deadlock(Failure::new(function, message))
            }
        }
    }
}

/// A wait in steps, each of which ends early if something has changed.
///
/// A wait with a deadline ends at the deadline. A wait without one checks now and then whether it could ever end. It
/// checks twice, since a thread that ends may still be about to drop what it has recorded.
pub(crate) struct Wait {
    deadline: Option<Instant>,
    looked: Instant,
    was_stuck: bool,
}

impl Wait {
    /// A wait that lasts until `deadline`; without one for ever, if need be.
    pub(crate) fn until(deadline: Option<Instant>) -> Wait {
        Wait {
            deadline,
            looked: Instant::now(),
            was_stuck: false,
        }
    }

    /// How long the next step may last, or why there is none.
    pub(crate) fn step(
        &mut self,
        is_in_callback: impl FnOnce() -> bool,
        is_stuck: impl FnOnce() -> bool,
    ) -> Result<Duration, WaitError> {
        let now = Instant::now();
        let left = self.deadline.map(|end| end.saturating_duration_since(now));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(WaitError::Timeout);
        }
        if is_in_callback() {
            return Err(WaitError::InCallback);
        }
        if left.is_none() && now - self.looked >= LOOK_AFTER {
            self.looked = now;
            let is_stuck = is_stuck();
            if mem::replace(&mut self.was_stuck, is_stuck) && is_stuck {
                return Err(WaitError::Stuck);
            }
        }
        Ok(left.unwrap_or(LOOK_AFTER))
    }
}
