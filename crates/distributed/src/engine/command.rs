//! What the MPI thread is told, and why it tells operations that nothing goes on any more.

use std::ops::Range;
use std::time::Duration;

use crate::error::Error;
use crate::operation::Operation;

/// What the MPI thread is told.
pub(crate) enum Command {
    Start(Box<Operation>),
    /// The GPU has come to the operations with these numbers.
    Ready(Range<u64>),
    /// The command buffer of these operations will never run.
    Dropped(Range<u64>),
    Abort(String),
    /// The last communicator is gone. What the thread has left to do takes this long at most.
    Leave(Duration),
}

/// Why nothing goes on any more.
#[derive(Clone)]
pub(super) struct Failure {
    pub(super) rank: usize,
    pub(super) reason: String,
}

impl Failure {
    /// The error of an operation that does not go on.
    pub(super) fn of(&self, operation: &Operation) -> Error {
        Error::Failed {
            rank: self.rank,
            operation: operation.header.to_string(),
            reason: self.reason.clone(),
        }
    }
}
