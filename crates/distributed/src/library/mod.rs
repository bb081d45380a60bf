//! [`Library`]: the calls of MPI that this crate needs, all made by one thread.

#[cfg(not(feature = "mpi"))]
mod absent;
#[cfg(feature = "mpi")]
mod with_mpi;

#[cfg(not(feature = "mpi"))]
pub(crate) use absent::{Library, Request};
#[cfg(feature = "mpi")]
pub(crate) use with_mpi::{Library, Request};

/// The largest tag that every MPI allows.
pub(crate) const LARGEST_TAG: i32 = 32767;

/// The most bytes of one message: MPI counts them in an `int`.
pub(crate) const LARGEST_MESSAGE: usize = 1 << 30;
