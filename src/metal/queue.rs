//! [`CommandQueue`]: the order in which command buffers run.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::device::Device;
use super::handle::{Handle, c_string, check, create, take_string};
use super::queue_id::QueueId;
use super::slots::Slots;
use crate::error::{Error, Failure, Result};
use crate::sys;

/// A queue of command buffers (`MTLCommandQueue`), which run in the order in which they were enqueued. Clones share it.
#[derive(Clone)]
pub struct CommandQueue {
    inner: Arc<QueueInner>,
}

struct QueueInner {
    handle: Handle<sys::mtb_command_queue>,
    device: Device,
    /// The most buffer uses that a command buffer of this queue has had: the capacity that the next one starts with.
    usual_uses: AtomicUsize,
    slots: Arc<Slots>,
}

/// The slots of a queue by default, as in Metal.
const USUAL_SLOTS: usize = 64;

impl Device {
    /// Makes a queue with Metal's default of 64 slots for command buffers that have not completed (`newCommandQueue`).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn new_command_queue(&self) -> Result<CommandQueue> {
        self.command_queue(USUAL_SLOTS)
    }

    /// Makes a queue with `count` slots for command buffers that have not completed
    /// (`newCommandQueueWithMaxCommandBufferCount:`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a count of zero, [`Error::OutOfMemory`].
    pub fn new_command_queue_with_max_command_buffer_count(
        &self,
        count: usize,
    ) -> Result<CommandQueue> {
        if count == 0 {
            let function = "Device::new_command_queue_with_max_command_buffer_count";
            return Err(Error::InvalidArgument(Failure::new(
                function,
                "a queue needs at least one slot for a command buffer",
            )));
        }
        self.command_queue(count)
    }

    fn command_queue(&self, count: usize) -> Result<CommandQueue> {
        // SAFETY: returns an owned queue, or NULL and an owned error.
        let handle =
            unsafe { create(|error| sys::mtb_command_queue_create(self.as_ptr(), count, error)) }?;
        Ok(CommandQueue::with_slots(handle, self, count))
    }
}

impl CommandQueue {
    /// A queue with Metal's usual number of slots.
    pub(crate) fn new(handle: Handle<sys::mtb_command_queue>, device: &Device) -> CommandQueue {
        CommandQueue::with_slots(handle, device, USUAL_SLOTS)
    }

    fn with_slots(
        handle: Handle<sys::mtb_command_queue>,
        device: &Device,
        count: usize,
    ) -> CommandQueue {
        let id = QueueId::new(handle.as_ptr());
        CommandQueue {
            inner: Arc::new(QueueInner {
                handle,
                device: device.clone(),
                usual_uses: AtomicUsize::new(0),
                slots: Slots::new(id, count),
            }),
        }
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_command_queue {
        self.inner.handle.as_ptr()
    }

    /// The device that the queue belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Names the queue in Metal's tools (`label`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a label with a NUL.
    pub fn set_label(&self, label: &str) -> Result<()> {
        let label = c_string("CommandQueue::set_label", "the label", label)?;
        // SAFETY: both are live; the label is copied.
        unsafe {
            check(|error| sys::mtb_command_queue_set_label(self.as_ptr(), label.as_ptr(), error))
        }
    }

    /// The label, if there is one.
    pub fn label(&self) -> Option<String> {
        // SAFETY: the queue is live, and the string is ours.
        unsafe { take_string(sys::mtb_command_queue_copy_label(self.as_ptr())) }
    }

    pub(crate) fn slots(&self) -> &Arc<Slots> {
        &self.inner.slots
    }

    pub(crate) fn usual_uses(&self) -> usize {
        self.inner.usual_uses.load(Ordering::Relaxed)
    }

    pub(crate) fn remember_uses(&self, uses: usize) {
        self.inner.usual_uses.fetch_max(uses, Ordering::Relaxed);
    }
}

impl fmt::Debug for CommandQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandQueue")
            .field("label", &self.label())
            .finish()
    }
}
