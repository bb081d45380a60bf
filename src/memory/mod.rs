//! Memory: ordered transfers between the host and buffers of every storage mode, buffers from pools and heaps under a
//! budget, residency.
//!
//! A [`Memory`] is what a device's transfers have in common: staging memory, a cache of buffers, queues to use again, a
//! budget, and [`Statistics`]. A [`TransferQueue`] moves bytes with it, in the order of a [`CommandQueue`].
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
//! ([`Buffer::wait_read`], [`Buffer::wait_write`]) that conflicts with it waits or is
//! refused, and a transfer is refused ([`Error::InUse`]) while a guard conflicts with it.
//!
//! # Weights and activations
//!
//! An engine that wants its weights in private buffers maps the file ([`Device::new_buffer_with_mmap`]) and copies from
//! there with a [`Batch`] ([`Batch::copy`]): the GPU reads the pages itself, nothing is staged. A [`ResidencySet`]
//! keeps them at hand through pauses. Activations come from an [`Arena`], or from [`Memory::allocate`], which both give
//! back what was used a token ago.

mod arena;
mod batch;
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

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::{Buffer, CpuAccess, StorageMode};
use crate::metal::device::Device;
use crate::metal::handle::{Handle, create, nanoseconds};
use crate::metal::queue::CommandQueue;
use crate::sys;

pub use arena::{Arena, ArenaOptions};
pub use batch::Batch;
pub use download::Download;
pub use options::MemoryOptions;
pub use place::Rectangle;
pub use queue::TransferQueue;
pub use residency::ResidencySet;
pub use statistics::{PoolStatistics, Statistics, TransferKind, TransferStatistics};

/// What the transfers of a device have in common: staging memory, a cache of buffers, queues to use again, a budget,
/// statistics. Clones share it.
///
/// What came from it, buffers and queues, may outlive it.
#[derive(Clone)]
pub struct Memory {
    inner: Arc<MemoryInner>,
}

struct MemoryInner {
    handle: Handle<sys::mtb_memory>,
    device: Device,
}

impl Memory {
    /// A memory with the default options.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn new(device: &Device) -> Result<Memory> {
        Memory::with_options(device, &MemoryOptions::new())
    }

    /// A memory with options.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn with_options(device: &Device, options: &MemoryOptions) -> Result<Memory> {
        let options = options.to_sys();
        // SAFETY: the options live during the call, which returns an owned memory, or NULL and an owned error.
        let handle =
            unsafe { create(|error| sys::mtb_memory_create(device.as_ptr(), &options, error)) }?;
        Ok(Memory {
            inner: Arc::new(MemoryInner {
                handle,
                device: device.clone(),
            }),
        })
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_memory {
        self.inner.handle.as_ptr()
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Bytes that Metal may have allocated for the memory, in use and kept.
    pub fn budget(&self) -> u64 {
        self.statistics().budget
    }

    /// A buffer of `length` bytes, whose contents are whatever was there before: from the cache where one of up to
    /// twice the length is kept.
    ///
    /// Once its last handle is gone, and every command buffer that it was bound in has completed, the cache has it
    /// back.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] where it does not fit beside what is in use, even with nothing kept; the others as for
    /// [`Device::new_buffer`].
    pub fn allocate(&self, length: usize, storage_mode: StorageMode) -> Result<Buffer> {
        // SAFETY: returns an owned buffer, or NULL and an owned error.
        let handle = unsafe {
            create(|error| {
                sys::mtb_memory_allocate(self.as_ptr(), length, storage_mode.to_sys(), error)
            })
        }?;
        Ok(Buffer::new(
            self.device(),
            handle,
            length,
            storage_mode,
            CpuAccess::ReadWrite,
        ))
    }

    /// Gives back to Metal what is kept and was not used for `idle`: zero is all of it.
    /// Returns the bytes.
    pub fn trim(&self, idle: Duration) -> u64 {
        // SAFETY: the memory is live.
        unsafe { sys::mtb_memory_trim(self.as_ptr(), nanoseconds(idle)) }
    }

    /// A queue for the caller alone, from the memory's pool; the drop of its last handle gives it back once its work
    /// has completed.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn acquire_queue(&self) -> Result<CommandQueue> {
        // SAFETY: returns an owned queue, or NULL and an owned error.
        let handle =
            unsafe { create(|error| sys::mtb_memory_acquire_queue(self.as_ptr(), error)) }?;
        Ok(CommandQueue::new(handle, self.device()))
    }

    /// Transfers in the order of `queue`.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] for a queue of another device.
    pub fn transfer_queue(&self, queue: &CommandQueue) -> Result<TransferQueue> {
        if queue.device() != self.device() {
            let message = format!(
                "the queue belongs to {}, the memory to {}",
                queue.device().name(),
                self.device().name()
            );
            let function = "Memory::transfer_queue";
            return Err(Error::WrongDevice(Failure::new(function, message)));
        }
        Ok(TransferQueue::new(self.clone(), queue.clone()))
    }

    /// Transfers on a queue of their own, from the pool.
    ///
    /// # Errors
    ///
    /// As [`acquire_queue`](Memory::acquire_queue).
    pub fn new_transfer_queue(&self) -> Result<TransferQueue> {
        let queue = self.acquire_queue()?;
        Ok(TransferQueue::new(self.clone(), queue))
    }

    /// What was transferred and what the pools hold.
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self)
    }

    /// Lets counts and times begin again at zero. What is in use and kept is not changed.
    pub fn reset_statistics(&self) {
        // SAFETY: the memory is live.
        unsafe { sys::mtb_memory_reset_statistics(self.as_ptr()) }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.statistics();
        f.debug_struct("Memory")
            .field("device", self.device())
            .field("staging", &statistics.staging)
            .finish()
    }
}
