//! [`Error`]: what can go wrong between ranks.

use std::fmt;
use std::time::Duration;

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, at which rank and in which operation. Ranks are those of the world, also if the operation is of a
/// [part](crate::Communicator::split) of it.
///
/// After [`Mismatch`](Error::Mismatch), [`Cancelled`](Error::Cancelled), errors of arguments and a GPU's failure, the communicator can
/// go on. After the others, nobody knows what is under way between the ranks: every later operation of the process fails at once.
/// Buffers and queues can go on in any case.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The crate was compiled without MPI, or the MPI library cannot do what is needed.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// MPI runs in this process already, or has run: MPI allows one life for each process.
    #[error("MPI is initialized already: {0}")]
    AlreadyInitialized(&'static str),
    /// A range, a type, a rank or a number of parts that the operation does not take.
    #[error("invalid argument of {operation}: {message}")]
    InvalidArgument {
        /// The call.
        operation: &'static str,
        /// What is wrong.
        message: String,
    },
    /// Metal refused, or the GPU failed.
    #[error(transparent)]
    Metal(#[from] metal_bridge::Error),
    /// Ranks did not come to the operation, or did not finish it, in the time that [`set_timeout`](crate::Communicator::set_timeout)
    /// allows.
    #[error("{operation} timed out after {after:?}: {}", Missing(missing))]
    Timeout {
        /// The operation.
        operation: String,
        /// The ranks that were waited for; none if that is not known.
        missing: Vec<usize>,
        /// How long it was waited.
        after: Duration,
    },
    /// A rank called another operation, or this one with other arguments.
    #[error("the ranks do not agree: this rank is in {operation}, and rank {rank} in {theirs}")]
    Mismatch {
        /// The rank that differs.
        rank: usize,
        /// The operation of this rank.
        operation: String,
        /// The operation of that rank.
        theirs: String,
    },
    /// A rank has dropped its communicators, or has ended: it will not come.
    #[error("rank {rank} has left before {operation}")]
    Left {
        /// The rank.
        rank: usize,
        /// The operation of this rank.
        operation: String,
    },
    /// A rank has failed: its GPU, or the rank aborted, or did not come to an operation of others.
    #[error("{operation} failed because of rank {rank}: {reason}")]
    Failed {
        /// The rank.
        rank: usize,
        /// The operation of this rank.
        operation: String,
        /// What is known of it.
        reason: String,
    },
    /// The command buffer that the operation is in was dropped, or could not be committed.
    #[error("{operation} will not happen: its command buffer was not committed")]
    Cancelled {
        /// The operation.
        operation: String,
    },
    /// A wait that could never end: for an operation of a command buffer that this thread has not committed.
    #[error("deadlock: {operation} waits for the commit of its command buffer by this very thread")]
    Deadlock {
        /// The operation.
        operation: String,
    },
    /// A call of MPI failed.
    #[error("{function} failed with code {code}: {message}")]
    Mpi {
        /// MPI's function.
        function: &'static str,
        /// MPI's error code.
        code: i32,
        /// MPI's text of it.
        message: String,
    },
}

/// Ranks that did not come.
struct Missing<'a>(&'a [usize]);

impl fmt::Display for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("nobody knows what it waited for"),
            [rank] => write!(f, "rank {rank} has not come"),
            ranks => write!(f, "ranks {ranks:?} have not come"),
        }
    }
}
