//! Memory: ordered transfers between the host and buffers of every storage mode, buffers from pools and heaps under a
//! budget, residency.
//!
//! A [`Memory`] is what a device's transfers have in common: staging memory, a cache of buffers, queues to use again, a
//! budget, and [`Statistics`]. A [`TransferQueue`] moves bytes with it, in the order of a
//! [`CommandQueue`](crate::CommandQueue).
//!
//! ```
//! use metal_bridge::memory::{Memory, Values};
//! use metal_bridge::{Device, StorageMode};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let device = Device::system_default()?;
//! let memory = Memory::new(&device)?;
//! let transfers = memory.transfer_queue(&device.new_command_queue()?)?;
//!
//! // Weights that only the GPU sees.
//! let weights = memory.allocate(4 * size_of::<f32>(), StorageMode::Private)?;
//! transfers.copy(&[1.0f32, 2.0, 3.0, 4.0], weights.at(0)).run()?;
//!
//! // And back, without a wait: the values come when the GPU is done.
//! let values = transfers.copy(weights.at(4), Values::<f32>::new(2)).commit()?;
//! assert_eq!(values.wait()?, [2.0, 3.0]);
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! # Sources and destinations
//!
//! [`copy`](TransferQueue::copy) takes a [`Source`] and a [`Destination`]:
//!
//! | | source | destination |
//! |---|---|---|
//! | [`buffer.at(offset)`](crate::Buffer::at), [`buffer.range(8..24)`](crate::Buffer::range), [`buffer.rows(rectangle)`](crate::Buffer::rows) | yes | yes |
//! | `&values`, `&mut values`: a slice, a vector, an array | borrowed | borrowed |
//! | [`Staged(&values)`](Staged) | copied at the call | |
//! | [`Owned::new(values)`](Owned) | owned, and dropped at the end | owned, and comes back with the [`Download`] |
//! | [`Values::new(count)`](Values) | | new values |
//! | [`Rows::new(memory, pitch)`](Rows) of all host memory but [`Values`] | yes | yes |
//!
//! # Order
//!
//! A transfer starts after all that was committed to its queue before it, and all that is committed to the queue later
//! starts after it, whether the GPU or the CPU moves the bytes. [`run`](Transfer::run) returns when the bytes are where they
//! belong, [`run_timeout`](Transfer::run_timeout) then or earlier; [`commit`](Transfer::commit) returns at once, with a
//! [`Submission`](crate::Submission) or a [`Download`]. Work of several queues is ordered by a
//! [`SharedEvent`](crate::SharedEvent), as always. `docs/memory.md` in the repository says how each transfer goes.
//!
//! # Host memory
//!
//! What a committed transfer reads or writes has to be there until it has completed, and a future can be leaked. So such
//! memory is [`Owned`] by the transfer (a `Vec`, a `Box<[T]>`, an `Arc<[T]>`, anything that gives a slice), and the end drops it
//! or gives it back; or the call copies it ([`Staged`]). A [`Transfer`] or a [`Batch`] that borrows can only be run: it has no
//! `commit`.
//!
//! # Who uses a buffer
//!
//! A transfer uses its buffers as a command buffer does: from the recording until its end, a guard for CPU access
//! ([`Buffer::wait_read`](crate::Buffer::wait_read), [`Buffer::wait_write`](crate::Buffer::wait_write)) that conflicts
//! with it waits or is refused, and a transfer is refused ([`Error::InUse`](crate::Error::InUse)) while a guard
//! conflicts with it.
//!
//! # Weights and activations
//! An inference engine that wants its weights in private buffers maps the file
//! ([`Device::new_buffer_with_mmap`](crate::Device::new_buffer_with_mmap)) and copies from there with a [`Batch`]
//! ([`Batch::copy`]): the GPU reads the pages itself, nothing is staged. A [`ResidencySet`] keeps the weights resident through
//! pauses. Activations come from an [`Arena`] or from [`Memory::allocate`]: both use again what the token before has used.

mod arena;
mod batch;
mod buffer_place;
mod destination;
mod device_memory;
mod download;
mod host_end;
mod host_function;
mod host_memory;
mod options;
mod pair_statistics;
mod peer_access;
mod place;
mod residency;
mod source;
mod statistics;
mod transfer;
mod transfer_queue;

pub use arena::{Arena, ArenaOptions};
pub use batch::Batch;
pub use buffer_place::BufferPlace;
pub use destination::Destination;
pub use device_memory::Memory;
pub use download::Download;
pub use host_end::{Owned, Rows, Staged, Values};
pub use options::MemoryOptions;
pub use pair_statistics::PairStatistics;
pub use place::Rectangle;
pub use residency::ResidencySet;
pub use source::Source;
pub use statistics::{PoolStatistics, Statistics, TransferKind, TransferStatistics};
pub use transfer::Transfer;
pub use transfer_queue::TransferQueue;
