//! Memory: ordered transfers between the host and buffers of every storage mode, buffers from pools and heaps under a
//! budget, residency.
//!
//! A [`Memory`] is what a device's transfers have in common: staging memory, a cache of buffers, queues to use again, a
//! budget, and [`Statistics`]. A [`TransferQueue`] moves bytes with it, in the order of a
//! [`CommandQueue`](crate::CommandQueue).
//!
//! ```
//! use metal_bridge::memory::Memory;
//! use metal_bridge::{Device, StorageMode};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let device = Device::system_default()?;
//! let memory = Memory::new(&device)?;
//! let transfers = memory.transfer_queue(&device.new_command_queue()?)?;
//!
//! // Weights that only the GPU sees.
//! let weights = memory.allocate(4 * size_of::<f32>(), StorageMode::Private)?;
//! transfers.upload_and_wait(&[1.0f32, 2.0, 3.0, 4.0], &weights, 0)?;
//!
//! // And back, without a wait: the values come when the GPU is done.
//! let values = transfers.download_async::<f32>(&weights, 4, 2)?;
//! assert_eq!(values.wait()?, [2.0, 3.0]);
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! # Order
//!
//! A transfer starts after all that was committed to its queue before it, and all that is committed to the queue later
//! starts after it, whether the GPU or the CPU moves the bytes. Forms that end with `and_wait`
//! return when the bytes are where they belong, those that end with `timeout` then or earlier; asynchronous ones return at
//! once, with a
//! [`Submission`](crate::Submission) or a [`Download`]. Work of several queues is ordered by a
//! [`SharedEvent`](crate::SharedEvent), as always. `docs/memory.md` in the repository says how each transfer goes.
//!
//! # Host memory
//!
//! What an asynchronous transfer reads or writes has to be there until it has completed, and a future can be leaked. So
//! such memory is owned by the transfer (a `Vec`, a `Box<[T]>`, an `Arc<[T]>`, anything that gives a slice) and is
//! dropped, or comes back, at the end; or it is copied at the call ([`upload_staged`](TransferQueue::upload_staged)).
//! Borrows go with the forms that wait, and with a [`Batch`] that is waited for.
//!
//! # Who uses a buffer
//!
//! A transfer uses its buffers as a command buffer does: from the recording until its end, a guard for CPU access
//! ([`Buffer::wait_read`](crate::Buffer::wait_read), [`Buffer::wait_write`](crate::Buffer::wait_write)) that conflicts
//! with it waits or is refused, and a transfer is refused ([`Error::InUse`](crate::Error::InUse)) while a guard
//! conflicts with it.
//!
//! # Weights and activations
//!
//! An engine that wants its weights in private buffers maps the file
//! ([`Device::new_buffer_with_mmap`](crate::Device::new_buffer_with_mmap)) and copies from there with a [`Batch`]
//! ([`Batch::copy`]): the GPU reads the pages itself, nothing is staged. A [`ResidencySet`] keeps them at hand through
//! pauses. Activations come from an [`Arena`], or from [`Memory::allocate`], which both give back what was used a token
//! ago.

mod arena;
mod batch;
mod device_memory;
mod download;
mod host_function;
mod host_memory;
mod host_transfers;
mod options;
mod place;
mod queue;
mod queue_host_transfers;
mod residency;
mod statistics;

pub use arena::{Arena, ArenaOptions};
pub use batch::Batch;
pub use device_memory::Memory;
pub use download::Download;
pub use options::MemoryOptions;
pub use place::Rectangle;
pub use queue::TransferQueue;
pub use residency::ResidencySet;
pub use statistics::{PoolStatistics, Statistics, TransferKind, TransferStatistics};
