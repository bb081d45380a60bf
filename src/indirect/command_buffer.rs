//! [`IndirectCommandBuffer`]: commands that are encoded once.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::command::IndirectComputeCommand;
use super::descriptor::IndirectCommandBufferDescriptor;
use super::inner::Inner;
use super::uses::State;
use crate::error::{Error, Failure, Result};
use crate::metal::access::{Access, Tracker};
use crate::metal::buffer::conflict_error;
use crate::metal::device::Device;
use crate::metal::handle::create;
use crate::sys;

/// Commands for compute that the CPU or kernels encode and encoders execute (`MTLIndirectCommandBuffer`). Clones share them.
///
/// It keeps the pipelines and buffers of what the CPU has encoded alive. [The module](crate::indirect) has an example.
#[derive(Clone)]
pub struct IndirectCommandBuffer {
    pub(super) inner: Arc<Inner>,
}

impl Device {
    /// Whether the device executes indirect command buffers for compute; Intel's GPUs do not.
    pub fn supports_indirect_command_buffers(&self) -> bool {
        // SAFETY: the device is live.
        unsafe { sys::mtb_device_supports_indirect_commands(self.as_ptr()) }
    }

    /// Makes `max_command_count` commands that do nothing yet
    /// (`newIndirectCommandBufferWithDescriptor:maxCommandCount:options:`).
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the device does not [execute](Device::supports_indirect_command_buffers) them,
    /// [`Error::InvalidArgument`] for no commands and for no type of command, [`Error::OutOfRange`] for more than
    /// [`MAX_INDIRECT_COMMANDS`](super::MAX_INDIRECT_COMMANDS) or [`MAX_BINDINGS`](crate::MAX_BINDINGS), [`Error::OutOfMemory`].
    pub fn new_indirect_command_buffer(
        &self,
        descriptor: &IndirectCommandBufferDescriptor,
        max_command_count: usize,
    ) -> Result<IndirectCommandBuffer> {
        let raw = descriptor.to_sys();
        // SAFETY: both are live, and the descriptor is copied; returns an owned object, or NULL and an owned error.
        let handle = unsafe {
            create(|error| {
                sys::mtb_indirect_command_buffer_create(
                    self.as_ptr(),
                    &raw,
                    max_command_count,
                    error,
                )
            })
        }?;
        Ok(IndirectCommandBuffer {
            inner: Arc::new(Inner {
                device: self.clone(),
                descriptor: *descriptor,
                count: max_command_count,
                tracker: Tracker::default(),
                state: Mutex::new(State::new(handle, max_command_count)),
            }),
        })
    }
}

impl IndirectCommandBuffer {
    /// The device that executes the commands.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The number of commands.
    pub fn size(&self) -> usize {
        self.inner.count
    }

    /// What the commands may have.
    pub fn descriptor(&self) -> &IndirectCommandBufferDescriptor {
        &self.inner.descriptor
    }

    /// Begins to encode a command (`indirectComputeCommandAtIndex:`), until the result is dropped. Until then nobody
    /// executes or changes any command.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`]; [`Error::InUse`] while a command buffer, committed or not, executes commands, and while
    /// another command is being encoded.
    pub fn indirect_compute_command(&self, index: usize) -> Result<IndirectComputeCommand<'_>> {
        const FUNCTION: &str = "IndirectCommandBuffer::indirect_compute_command";
        if index >= self.inner.count {
            let message = format!("{} has no command {index}", self.inner.describe());
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        }
        self.inner.begin_change(FUNCTION)?;
        Ok(IndirectComputeCommand::begun(&self.inner, index))
    }

    /// Makes commands that do nothing of those in the range (`resetWithRange:`).
    ///
    /// # Errors
    ///
    /// As [`indirect_compute_command`](IndirectCommandBuffer::indirect_compute_command).
    pub fn reset(&self, range: Range<usize>) -> Result<()> {
        const FUNCTION: &str = "IndirectCommandBuffer::reset";
        self.inner.check_range(FUNCTION, &range)?;
        self.inner.begin_change(FUNCTION)?;
        let forgotten = self.inner.reset(range);
        self.inner.tracker.end_cpu(Access::Write);
        forgotten.map(drop)
    }

    /// Waits until no committed command buffer executes the commands.
    ///
    /// # Errors
    ///
    /// [`Error::Deadlock`] if that wait could not end, as
    /// [`Buffer::wait_until_idle`](crate::Buffer::wait_until_idle) says.
    pub fn wait_until_idle(&self) -> Result<()> {
        const FUNCTION: &str = "IndirectCommandBuffer::wait_until_idle";
        let waited = self.inner.tracker.wait_idle(None);
        waited.map_err(|conflict| conflict_error(FUNCTION, &self.inner.describe(), conflict))
    }
}

impl fmt::Debug for IndirectCommandBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndirectCommandBuffer")
            .field("size", &self.size())
            .field("descriptor", self.descriptor())
            .finish()
    }
}
