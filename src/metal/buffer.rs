//! [`Buffer`]: memory that the GPU works on, and the guards through which the CPU sees it.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;

use super::access::{Conflict, Tracker};
use super::device::Device;
use super::handle::{Handle, c_string, check, create, take_string};
use crate::error::{Error, Failure, Result};
use crate::sys;

/// Where a buffer's bytes live and who sees them (`MTLStorageMode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StorageMode {
    /// One allocation that CPU and GPU both see.
    Shared,
    /// Two copies. What the CPU writes reaches the GPU's copy when the [`WriteGuard`](crate::WriteGuard) is dropped; what
    /// the GPU writes reaches the CPU's through [`BlitEncoder::synchronize`](crate::BlitEncoder::synchronize).
    Managed,
    /// The GPU's alone: the CPU fills and reads it by blits through another buffer.
    Private,
}

impl StorageMode {
    pub(crate) fn to_sys(self) -> sys::mtb_storage_mode {
        match self {
            StorageMode::Shared => sys::MTB_STORAGE_SHARED,
            StorageMode::Managed => sys::MTB_STORAGE_MANAGED,
            StorageMode::Private => sys::MTB_STORAGE_PRIVATE,
        }
    }
}

/// Memory that the GPU works on (`MTLBuffer`). Clones share it.
///
/// # CPU access
///
/// The bytes are seen through guards ([`wait_read`](Buffer::wait_read), [`wait_write`](Buffer::wait_write)) and copies
/// ([`wait_copy_to_slice`](Buffer::wait_copy_to_slice), [`wait_copy_from_slice`](Buffer::wait_copy_from_slice)), as any
/// plain type (`bytemuck::Pod`). Each waits for the committed command buffers that it conflicts with, and is refused with
/// [`Error::InUse`] while a command buffer that is not committed, or another guard, conflicts with it: reading goes with
/// reading, writing with nothing. An encoder for its part refuses a buffer whose guard it conflicts with. Each access has a
/// form that waits no longer than a timeout, and [`try_read`](Buffer::try_read) and [`try_write`](Buffer::try_write) do not
/// wait at all.
///
/// ```
/// # fn main() -> metal_bridge::Result<()> {
/// # if !metal_bridge::is_available() { return Ok(()); }
/// use metal_bridge::{Device, StorageMode};
///
/// let device = Device::system_default()?;
/// let buffer = device.new_buffer_with_data(&[1.0f32, 2.0, 3.0], StorageMode::Shared)?;
/// buffer.wait_write::<f32>()?[1] = 20.0;
/// assert_eq!(*buffer.wait_read::<f32>()?, [1.0, 20.0, 3.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Buffer {
    inner: Arc<BufferInner>,
}

/// What the CPU may do with the bytes of a buffer that it could see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuAccess {
    ReadWrite,
    /// The memory may not be written, by the GPU either.
    ReadOnly,
    /// As above, and somebody outside of the program may change it: no reference to it may be made.
    Hidden,
}

pub(crate) struct BufferInner {
    handle: Handle<sys::mtb_buffer>,
    device: Device,
    /// Bytes that the caller asked for: those of a mapped file may end before the buffer's last page does.
    length: usize,
    /// `None` for a private buffer and for one over a mapped file.
    contents: Option<NonNull<u8>>,
    storage_mode: StorageMode,
    read_only: bool,
    tracker: Tracker,
}

// SAFETY: the handle may be used from any thread, and the tracker orders every access to the contents.
unsafe impl Send for BufferInner {}
// SAFETY: as above.
unsafe impl Sync for BufferInner {}

impl BufferInner {
    pub(crate) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Where the CPU sees the bytes, if it does.
    pub(crate) fn contents(&self) -> Option<NonNull<u8>> {
        self.contents
    }
}

impl Device {
    /// Makes a buffer of `length` bytes (`newBufferWithLength:options:`), whose contents are whatever Metal gives:
    /// zeroes on Apple's drivers.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a length of zero, [`Error::OutOfRange`] for one beyond
    /// [`max_buffer_length`](crate::DeviceLimits::max_buffer_length), [`Error::OutOfMemory`].
    pub fn new_buffer(&self, length: usize, storage_mode: StorageMode) -> Result<Buffer> {
        // SAFETY: returns an owned buffer, or NULL and an owned error.
        let handle = unsafe {
            create(|error| {
                sys::mtb_buffer_create(self.as_ptr(), length, storage_mode.to_sys(), error)
            })
        }?;
        Ok(Buffer::new(
            self,
            handle,
            length,
            storage_mode,
            CpuAccess::ReadWrite,
        ))
    }

    /// Makes a shared or managed buffer with a copy of `data` (`newBufferWithBytes:length:options:`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for no data and for a private buffer; the others as for
    /// [`new_buffer`](Device::new_buffer).
    pub fn new_buffer_with_data<T: Pod>(
        &self,
        data: &[T],
        storage_mode: StorageMode,
    ) -> Result<Buffer> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let (pointer, mode) = (bytes.as_ptr().cast(), storage_mode.to_sys());
        // SAFETY: the bytes live during the call, which copies them.
        let handle = unsafe {
            create(|error| {
                sys::mtb_buffer_create_with_bytes(self.as_ptr(), pointer, bytes.len(), mode, error)
            })
        }?;
        Ok(Buffer::new(
            self,
            handle,
            bytes.len(),
            storage_mode,
            CpuAccess::ReadWrite,
        ))
    }
}

impl Buffer {
    pub(crate) fn new(
        device: &Device,
        handle: Handle<sys::mtb_buffer>,
        length: usize,
        storage_mode: StorageMode,
        cpu_access: CpuAccess,
    ) -> Buffer {
        let contents = match cpu_access {
            CpuAccess::Hidden => None,
            // SAFETY: the buffer is live.
            _ => NonNull::new(unsafe { sys::mtb_buffer_contents(handle.as_ptr()) }.cast()),
        };
        let read_only = cpu_access != CpuAccess::ReadWrite;
        let tracker = Tracker::default();
        let device = device.clone();
        Buffer {
            inner: Arc::new(BufferInner {
                handle,
                device,
                length,
                contents,
                storage_mode,
                read_only,
                tracker,
            }),
        }
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_buffer {
        self.inner.handle.as_ptr()
    }

    pub(crate) fn inner(&self) -> &Arc<BufferInner> {
        &self.inner
    }

    /// The device that the buffer belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Length in bytes (`length`): never zero.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.inner.length
    }

    /// Where the bytes live.
    pub fn storage_mode(&self) -> StorageMode {
        self.inner.storage_mode
    }

    /// Whether neither the CPU nor the GPU may write the memory, such as that of a mapped file.
    pub fn is_read_only(&self) -> bool {
        self.inner.read_only
    }

    /// Where the host sees the bytes, if it does. What reads or writes there is not ordered with the GPU.
    pub(crate) fn address(&self) -> Option<NonNull<u8>> {
        self.inner.contents()
    }

    /// Whether `other` is a handle of the same buffer.
    pub fn is_same(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The address that kernels see (`gpuAddress`); `None` if the system does not tell.
    pub fn gpu_address(&self) -> Option<u64> {
        // SAFETY: the buffer is live.
        match unsafe { sys::mtb_buffer_gpu_address(self.as_ptr()) } {
            0 => None,
            address => Some(address),
        }
    }

    /// Names the buffer in Metal's tools and in errors (`label`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a label with a NUL.
    pub fn set_label(&self, label: &str) -> Result<()> {
        let label = c_string("Buffer::set_label", "the label", label)?;
        // SAFETY: both are live; the label is copied.
        unsafe { check(|error| sys::mtb_buffer_set_label(self.as_ptr(), label.as_ptr(), error)) }
    }

    /// The label, if there is one.
    pub fn label(&self) -> Option<String> {
        // SAFETY: the buffer is live, and the string is ours.
        unsafe { take_string(sys::mtb_buffer_copy_label(self.as_ptr())) }
    }

    /// Refuses memory that may not be written.
    pub(crate) fn check_writable(&self, function: &'static str) -> Result<()> {
        if self.inner.read_only {
            let message = format!("{} may only be read", self.describe());
            return Err(Error::ReadOnly(Failure::new(function, message)));
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn conflict(&self, function: &'static str, conflict: Conflict) -> Error {
        conflict_error(function, &self.describe(), conflict)
    }

    /// The buffer for a message.
    pub(crate) fn describe(&self) -> String {
        match self.label() {
            Some(label) => format!("the buffer \"{label}\" of {} bytes", self.len()),
            None => format!("the buffer of {} bytes", self.len()),
        }
    }
}

/// The error for an access to what `what` describes.
pub(crate) fn conflict_error(function: &'static str, what: &str, conflict: Conflict) -> Error {
    let in_use = |by: &str| Error::InUse(Failure::new(function, format!("{what} is {by}")));
    match conflict {
        Conflict::Reader => in_use("being read by the CPU: drop the guard first"),
        Conflict::Writer => in_use("being written by the CPU: drop the guard first"),
        Conflict::TooMany => in_use("in use by more guards or command buffers than can be counted"),
        Conflict::Recorded => {
            in_use("used by a command buffer that is not committed: commit or drop it first")
        }
        Conflict::Running => in_use("used by a committed command buffer that has not completed"),
        Conflict::Overdue => {
            in_use("lent to code outside of Metal that has not ended when it should have")
        }
        Conflict::Waited(end) => end.of(function, &format!("committed work that uses {what}")),
        Conflict::Forked => Error::InvalidState(Failure::new(
            function,
            format!("this process is a child of fork(), and {what} belongs to its parent"),
        )),
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("length", &self.len())
            .field("storage_mode", &self.storage_mode())
            .field("label", &self.label())
            .finish()
    }
}
