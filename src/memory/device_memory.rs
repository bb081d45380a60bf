//! [`Memory`]: what the transfers of a device have in common.

use std::sync::Arc;
use std::time::Duration;

use super::options::MemoryOptions;
use crate::error::Result;
use crate::metal::buffer::{Buffer, CpuAccess, StorageMode};
use crate::metal::device::Device;
use crate::metal::handle::{Handle, create, nanoseconds};
use crate::metal::queue::CommandQueue;
use crate::sys;

/// What the transfers of a device have in common: staging memory, a cache of buffers, queues to use again, a budget,
/// statistics. Clones share it.
/// Buffers and queues from a memory may outlive it.
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
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(device: &Device) -> Result<Memory> {
        Memory::with_options(device, &MemoryOptions::new())
    }

    /// A memory with options.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
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

    /// A buffer of `length` bytes, whose contents are whatever was there before. It comes from the cache if a buffer of up to
    /// twice the length is kept there.
    ///
    /// Once its last handle is gone, and every command buffer that it was bound in has completed, it returns to the cache.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`](crate::Error::OverBudget) if it does not fit beside what is in use, even with nothing kept; the others as for
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

    /// Gives back to Metal what is kept and was not used for `idle`; zero gives back all. Returns the bytes.
    pub fn trim(&self, idle: Duration) -> u64 {
        // SAFETY: the memory is live.
        unsafe { sys::mtb_memory_trim(self.as_ptr(), nanoseconds(idle)) }
    }

    /// A queue for the caller alone, from the memory's pool; the drop of its last handle gives it back once its work
    /// has completed.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn acquire_queue(&self) -> Result<CommandQueue> {
        // SAFETY: returns an owned queue, or NULL and an owned error.
        let handle =
            unsafe { create(|error| sys::mtb_memory_acquire_queue(self.as_ptr(), error)) }?;
        Ok(CommandQueue::new(handle, self.device()))
    }
}
