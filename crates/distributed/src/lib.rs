//! Collectives over MPI on Metal buffers, in the order of command buffers.
//!
//! The processes of an `mpirun` each have a Metal device. [`Communicator::world`] joins them. Its operations work on
//! [elements](Elements) of shared buffers where these are, and stand in the order of a command queue: either as a command buffer of
//! their own, or within one that holds other work, too. The CPU's part is that of one thread, which shared events tell when the GPU
//! has come so far.
//!
//! | MPI | here | |
//! |---|---|---|
//! | `MPI_Init_thread`, `MPI_COMM_WORLD` | [`Communicator::world`] | |
//! | `MPI_Finalize` | the drop of the last [`Communicator`] | |
//! | `MPI_Comm_split` | [`Communicator::split`] | |
//! | `MPI_Iallreduce` | [`Communicator::all_reduce`], [`encode_all_reduce`](Communicator::encode_all_reduce) | in F32, F16, BF16; the same bits at all ranks, and each time |
//! | `MPI_Iallgatherv` | [`Communicator::all_gather`] | |
//! | `MPI_Ireduce_scatter` | [`Communicator::reduce_scatter`] | |
//! | `MPI_Ibcast` | [`Communicator::broadcast`] | |
//! | `MPI_Issend`, `MPI_Irecv` | [`Communicator::send`], [`Communicator::receive`] | |
//! | `MPI_Barrier` | [`Communicator::barrier`] | |
//! | `MPI_Abort` | [`Communicator::abort`] | ends operations, not processes |
//! | `MPI_Request`, `MPI_Wait` | [`Exchange`] | every wait ends, a [`Future`] too |
//! | error handlers | [`Error`] | names the rank and the operation |
//!
//! What moves between ranks are messages (`MPI_Isend`, `MPI_Irecv`), not MPI's own collectives: these cannot be given up when a rank does
//! not come, do not say which rank that is, know no F16, and promise no bits. `docs/distributed.md` in the repository has the
//! install, the host file, and what goes wrong.
//!
//! # Features
//!
//! `mpi` links the MPI library. Without it everything compiles, and [`Communicator::world`] is [`Error::Unsupported`]. `software`
//! (default) is that of `metal-bridge`.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod collectives;
mod communicator;
mod elements;
mod engine;
mod error;
mod exchange;
mod header;
mod library;
mod operation;
mod plan;
mod progress;
mod sums;

pub use communicator::Communicator;
pub use elements::Elements;
pub use error::{Error, Result};
pub use exchange::Exchange;
