//! [`CommandQueue`]: the order in which command buffers run.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::command::CommandBuffer;
use super::device::Device;
use super::handle::{Handle, c_string, check, create, nanoseconds, take_string};
use super::room::Room;
use crate::error::{Error, Failure, Result};
use crate::sys;

/// A queue of command buffers (`MTLCommandQueue`), which run in the order in which they were enqueued. Clones share it.
#[derive(Clone)]
pub struct CommandQueue {
    inner: Arc<QueueInner>,
}

struct QueueInner {
    handle: Handle<sys::mtb_queue>,
    device: Device,
    /// The most buffer uses that a command buffer of this queue has had: room that the next one starts with.
    usual_uses: AtomicUsize,
    room: Arc<Room>,
}

/// The command buffers that a queue has room for where no other number is asked for: Metal's.
const USUAL_ROOM: usize = 64;

/// Tells queues apart. That of a queue which is gone may come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct QueueId(usize);

/// Whether this process is a child of `fork` whose parent has used Metal: there is nothing here that a wait could end by.
pub(crate) fn is_forked() -> bool {
    // SAFETY: takes nothing and may be called from any thread.
    cfg!(metal_backend) && unsafe { sys::mtb_process_is_forked() }
}

/// Refuses a call in such a child, before it takes a lock that a thread of the parent's may have held.
pub(crate) fn check_process(function: &'static str) -> Result<()> {
    if !is_forked() {
        return Ok(());
    }
    let why = "this process is a child of fork, and what it would use is its parent's, which has used Metal before";
    Err(Error::InvalidState(Failure::new(function, why)))
}

impl QueueId {
    /// Whether this thread is inside a completion handler or a host function of the queue.
    pub(crate) fn is_in_callback(self) -> bool {
        // Of no queue at all there is no callback; without a Metal nothing else is to be had, nor that call.
        // SAFETY: the address is compared, and nothing is read there.
        self != Self::default()
            && unsafe { sys::mtb_queue_is_in_callback(ptr::without_provenance(self.0)) }
    }
}

impl Device {
    /// Makes a queue with room for Metal's default of 64 command buffers that have not completed (`newCommandQueue`).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn new_command_queue(&self) -> Result<CommandQueue> {
        self.command_queue(USUAL_ROOM)
    }

    /// Makes a queue with room for `count` command buffers that have not completed
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
                "a queue needs room for a command buffer",
            )));
        }
        self.command_queue(count)
    }

    fn command_queue(&self, count: usize) -> Result<CommandQueue> {
        // SAFETY: returns an owned queue, or NULL and an owned error.
        let handle = unsafe { create(|error| sys::mtb_queue_create(self.as_ptr(), count, error)) }?;
        Ok(CommandQueue::with_room(handle, self, count))
    }
}

impl CommandQueue {
    /// A queue with Metal's usual room.
    pub(crate) fn new(handle: Handle<sys::mtb_queue>, device: &Device) -> CommandQueue {
        CommandQueue::with_room(handle, device, USUAL_ROOM)
    }

    fn with_room(handle: Handle<sys::mtb_queue>, device: &Device, count: usize) -> CommandQueue {
        let id = QueueId(handle.as_ptr().addr());
        CommandQueue {
            inner: Arc::new(QueueInner {
                handle,
                device: device.clone(),
                usual_uses: AtomicUsize::new(0),
                room: Room::new(id, count),
            }),
        }
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_queue {
        self.inner.handle.as_ptr()
    }

    /// The device that the queue belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Makes a command buffer (`commandBuffer`).
    ///
    /// A queue has room for a fixed number of command buffers that have not completed, committed or not: beyond it
    /// this waits for one to complete or to be dropped.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and [`Error::Deadlock`] in place of a wait that could never end: in a completion handler of the
    /// queue, and where none of the command buffers can give its room back, since this thread, or one that has ended, has made
    /// it and neither commits nor drops it.
    pub fn command_buffer(&self) -> Result<CommandBuffer> {
        if self.room().queue().is_in_callback() {
            return self.make_command_buffer(sys::MTB_FOREVER);
        }
        self.room()
            .wait_for_room(|timeout| self.make_command_buffer(timeout))
    }

    /// [`command_buffer`](CommandQueue::command_buffer) that waits for room no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], [`Error::OutOfMemory`].
    pub fn command_buffer_timeout(&self, timeout: Duration) -> Result<CommandBuffer> {
        self.make_command_buffer(nanoseconds(timeout))
    }

    fn make_command_buffer(&self, timeout: u64) -> Result<CommandBuffer> {
        let (queue, references) = (self.as_ptr(), sys::MTB_REFERENCES_RETAINED);
        // SAFETY: returns an owned command buffer, or NULL and an owned error.
        let handle = unsafe {
            create(|error| sys::mtb_command_buffer_create(queue, references, timeout, error))
        }?;
        Ok(CommandBuffer::new(handle, self))
    }

    /// Names the queue in Metal's tools (`label`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a label with a NUL.
    pub fn set_label(&self, label: &str) -> Result<()> {
        let label = c_string("CommandQueue::set_label", "the label", label)?;
        // SAFETY: both are live; the label is copied.
        unsafe { check(|error| sys::mtb_queue_set_label(self.as_ptr(), label.as_ptr(), error)) }
    }

    /// The label, if there is one.
    pub fn label(&self) -> Option<String> {
        // SAFETY: the queue is live, and the string is ours.
        unsafe { take_string(sys::mtb_queue_copy_label(self.as_ptr())) }
    }

    pub(crate) fn room(&self) -> &Arc<Room> {
        &self.inner.room
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
