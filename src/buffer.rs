//! [`Buffer`]: memory that the GPU works on, and the guards through which the CPU sees it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use crate::access::{Access, Conflict, Tracker};
use crate::device::Device;
use crate::error::{Error, Failure, Result};
use crate::handle::{Handle, c_string, check, create, take_string};
use crate::sys;

/// Where a buffer's bytes live and who sees them (`MTLStorageMode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StorageMode {
    /// One allocation that CPU and GPU both see.
    Shared,
    /// Two copies. What the CPU writes reaches the GPU's copy when the [`WriteGuard`] is dropped; what the GPU writes
    /// reaches the CPU's through [`BlitEncoder::synchronize`](crate::BlitEncoder::synchronize).
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
/// The bytes are seen through guards ([`read`](Buffer::read), [`write`](Buffer::write)) and copies
/// ([`copy_to_slice`](Buffer::copy_to_slice), [`copy_from_slice`](Buffer::copy_from_slice)), as any plain type
/// (`bytemuck::Pod`). Each waits for the committed command buffers that it conflicts with, and is refused with
/// [`Error::InUse`] while a command buffer on record, or a guard elsewhere, conflicts with it: reading goes with
/// reading, writing with nothing. An encoder in turn refuses a buffer whose guard it conflicts with.
///
/// ```
/// # fn main() -> metal_bridge::Result<()> {
/// # if !metal_bridge::is_available() { return Ok(()); }
/// use metal_bridge::{Device, StorageMode};
///
/// let device = Device::system_default()?;
/// let buffer = device.new_buffer_with_data(&[1.0f32, 2.0, 3.0], StorageMode::Shared)?;
/// buffer.write::<f32>()?[1] = 20.0;
/// assert_eq!(*buffer.read::<f32>()?, [1.0, 20.0, 3.0]);
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

    /// Whether the memory may not be written, by the CPU or by the GPU, as that of a mapped file.
    pub fn is_read_only(&self) -> bool {
        self.inner.read_only
    }

    /// Whether `other` is a handle of the same buffer.
    pub fn is_same(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The address that kernels see (`gpuAddress`); `None` where the system does not tell.
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

    /// Reads the whole buffer as values of `T`, once no committed command buffer writes it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer on record or a guard may write it, [`Error::NotVisible`] for a private
    /// buffer, [`Error::Misaligned`] where the length is no multiple of the size of `T`.
    pub fn read<T: Pod>(&self) -> Result<ReadGuard<'_, T>> {
        self.read_guard("Buffer::read", self.whole::<T>("Buffer::read")?, None)
    }

    /// Reads the values of `T` at `range`, counted in values from the start of the buffer.
    ///
    /// # Errors
    ///
    /// As [`read`](Buffer::read), and [`Error::OutOfRange`].
    pub fn read_range<T: Pod>(&self, range: Range<usize>) -> Result<ReadGuard<'_, T>> {
        self.read_guard("Buffer::read_range", range, None)
    }

    /// [`read`](Buffer::read) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`read`](Buffer::read), and [`Error::Timeout`].
    pub fn read_timeout<T: Pod>(&self, timeout: Duration) -> Result<ReadGuard<'_, T>> {
        const FUNCTION: &str = "Buffer::read_timeout";
        self.read_guard(FUNCTION, self.whole::<T>(FUNCTION)?, Some(timeout))
    }

    /// Calls `read` with the whole buffer as values of `T`.
    ///
    /// # Errors
    ///
    /// As [`read`](Buffer::read).
    pub fn read_with<T: Pod, R>(&self, read: impl FnOnce(&[T]) -> R) -> Result<R> {
        let guard = self.read_guard(
            "Buffer::read_with",
            self.whole::<T>("Buffer::read_with")?,
            None,
        )?;
        Ok(read(&guard))
    }

    /// Reads and writes the whole buffer as values of `T`, once no committed command buffer uses it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer on record or a guard uses it, [`Error::ReadOnly`],
    /// [`Error::NotVisible`] for a private buffer, [`Error::Misaligned`] where the length is no multiple of the size
    /// of `T`.
    pub fn write<T: Pod>(&self) -> Result<WriteGuard<'_, T>> {
        self.write_guard("Buffer::write", self.whole::<T>("Buffer::write")?, None)
    }

    /// Reads and writes the values of `T` at `range`, counted in values from the start of the buffer.
    ///
    /// # Errors
    ///
    /// As [`write`](Buffer::write), and [`Error::OutOfRange`].
    pub fn write_range<T: Pod>(&self, range: Range<usize>) -> Result<WriteGuard<'_, T>> {
        self.write_guard("Buffer::write_range", range, None)
    }

    /// [`write`](Buffer::write) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`write`](Buffer::write), and [`Error::Timeout`].
    pub fn write_timeout<T: Pod>(&self, timeout: Duration) -> Result<WriteGuard<'_, T>> {
        const FUNCTION: &str = "Buffer::write_timeout";
        self.write_guard(FUNCTION, self.whole::<T>(FUNCTION)?, Some(timeout))
    }

    /// Calls `write` with the whole buffer as values of `T`.
    ///
    /// # Errors
    ///
    /// As [`write`](Buffer::write).
    pub fn write_with<T: Pod, R>(&self, write: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        let mut guard = self.write_guard(
            "Buffer::write_with",
            self.whole::<T>("Buffer::write_with")?,
            None,
        )?;
        Ok(write(&mut guard))
    }

    /// Copies values out of the buffer, from the byte at `offset` on.
    ///
    /// # Errors
    ///
    /// As [`read_range`](Buffer::read_range); any offset will do.
    pub fn copy_to_slice<T: Pod>(&self, offset: usize, values: &mut [T]) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let guard =
            self.read_guard::<u8>("Buffer::copy_to_slice", bytes_at(offset, bytes.len()), None)?;
        bytes.copy_from_slice(&guard);
        Ok(())
    }

    /// Copies values into the buffer, from the byte at `offset` on.
    ///
    /// # Errors
    ///
    /// As [`write_range`](Buffer::write_range); any offset will do.
    pub fn copy_from_slice<T: Pod>(&self, offset: usize, values: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let mut guard = self.write_guard::<u8>(
            "Buffer::copy_from_slice",
            bytes_at(offset, bytes.len()),
            None,
        )?;
        guard.copy_from_slice(bytes);
        Ok(())
    }

    /// Waits until no committed command buffer uses the buffer, for as long as `timeout` where there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`].
    pub fn wait_until_idle(&self, timeout: Option<Duration>) -> Result<()> {
        let idle = self.inner.tracker.wait_idle(timeout.and_then(deadline));
        idle.map_err(|conflict| self.conflict("Buffer::wait_until_idle", conflict))
    }

    fn whole<T: Pod>(&self, function: &'static str) -> Result<Range<usize>> {
        let size = size_of::<T>();
        if size == 0 || self.len() % size != 0 {
            let message = format!(
                "{} bytes are no whole number of values of {size} bytes",
                self.len()
            );
            return Err(Error::Misaligned(Failure::new(function, message)));
        }
        Ok(0..self.len() / size)
    }

    fn read_guard<T: Pod>(
        &self,
        function: &'static str,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<ReadGuard<'_, T>> {
        let (values, count) = self.locate::<T>(function, range)?;
        let begun = self
            .inner
            .tracker
            .begin_cpu(Access::Read, timeout.and_then(deadline));
        begun.map_err(|conflict| self.conflict(function, conflict))?;
        Ok(ReadGuard {
            buffer: self,
            values,
            count,
            values_are: PhantomData,
        })
    }

    fn write_guard<T: Pod>(
        &self,
        function: &'static str,
        range: Range<usize>,
        timeout: Option<Duration>,
    ) -> Result<WriteGuard<'_, T>> {
        let (values, count) = self.locate::<T>(function, range)?;
        self.check_writable(function)?;
        let begun = self
            .inner
            .tracker
            .begin_cpu(Access::Write, timeout.and_then(deadline));
        begun.map_err(|conflict| self.conflict(function, conflict))?;
        Ok(WriteGuard {
            buffer: self,
            values,
            count,
            values_are: PhantomData,
        })
    }

    /// The address and count of the values at `range`: inside the buffer, aligned and visible.
    fn locate<T: Pod>(
        &self,
        function: &'static str,
        range: Range<usize>,
    ) -> Result<(NonNull<T>, usize)> {
        let Some(contents) = self.inner.contents else {
            let why = match self.storage_mode() {
                StorageMode::Private => "is private: copy it to a shared buffer with a blit",
                _ => "lies over a mapped file, which only the GPU reads",
            };
            let message = format!("{} {why}", self.describe());
            return Err(Error::NotVisible(Failure::new(function, message)));
        };
        let size = size_of::<T>();
        let inside = range.start <= range.end
            && range
                .end
                .checked_mul(size)
                .is_some_and(|end| end <= self.len());
        if !inside {
            let message = format!(
                "{range:?} in values of {size} bytes reaches out of {}",
                self.describe()
            );
            return Err(Error::OutOfRange(Failure::new(function, message)));
        }
        // SAFETY: `range.start * size` is at most the buffer's length.
        let values = unsafe { contents.add(range.start * size) }.cast::<T>();
        if !values.is_aligned() {
            let message = format!(
                "{} is not aligned to {} bytes",
                self.describe(),
                align_of::<T>()
            );
            return Err(Error::Misaligned(Failure::new(function, message)));
        }
        Ok((values, range.end - range.start))
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
        let buffer = self.describe();
        let in_use = |by: &str| Error::InUse(Failure::new(function, format!("{buffer} is {by}")));
        match conflict {
            Conflict::Reader => in_use("being read by the CPU: drop the guard first"),
            Conflict::Writer => in_use("being written by the CPU: drop the guard first"),
            Conflict::Recorded => {
                in_use("used by a command buffer that is not committed: commit or drop it first")
            }
            Conflict::Timeout => Error::Timeout(Failure::new(
                function,
                format!("{buffer} is still used by a committed command buffer"),
            )),
        }
    }

    /// The buffer for a message.
    fn describe(&self) -> String {
        match self.label() {
            Some(label) => format!("the buffer \"{label}\" of {} bytes", self.len()),
            None => format!("the buffer of {} bytes", self.len()),
        }
    }
}

fn bytes_at(offset: usize, length: usize) -> Range<usize> {
    offset..offset.saturating_add(length)
}

/// `None`, for ever, where the clock does not reach that far.
fn deadline(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
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

/// CPU access to read a [`Buffer`], as a slice. While it lives, no command buffer that writes the buffer can be encoded.
pub struct ReadGuard<'a, T: Pod> {
    buffer: &'a Buffer,
    // A pointer and no reference: the access ends inside `drop`, while a reference would last through it.
    values: NonNull<T>,
    count: usize,
    values_are: PhantomData<&'a [T]>,
}

// SAFETY: as a `&[T]` with a `&Buffer`; the tracker is locked by any thread and released by any other.
unsafe impl<T: Pod + Sync> Send for ReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Sync> Sync for ReadGuard<'_, T> {}

impl<T: Pod> Deref for ReadGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: located inside the buffer and aligned; any bytes are a `T: Pod`; the tracker keeps writers out.
        unsafe { slice::from_raw_parts(self.values.as_ptr(), self.count) }
    }
}

impl<T: Pod> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        self.buffer.inner.tracker.end_cpu(Access::Read);
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

/// CPU access to write a [`Buffer`], as a slice. While it lives, nothing else can use the buffer. Dropping it tells Metal
/// what changed in a managed buffer (`didModifyRange:`).
pub struct WriteGuard<'a, T: Pod> {
    buffer: &'a Buffer,
    // A pointer and no reference, as in `ReadGuard`.
    values: NonNull<T>,
    count: usize,
    values_are: PhantomData<&'a mut [T]>,
}

// SAFETY: as a `&mut [T]` with a `&Buffer`; the tracker is locked by any thread and released by any other.
unsafe impl<T: Pod + Send> Send for WriteGuard<'_, T> {}
// SAFETY: as a `&&mut [T]`.
unsafe impl<T: Pod + Sync> Sync for WriteGuard<'_, T> {}

impl<T: Pod> Deref for WriteGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: located inside the buffer and aligned; any bytes are a `T: Pod`; the tracker keeps all others out.
        unsafe { slice::from_raw_parts(self.values.as_ptr(), self.count) }
    }
}

impl<T: Pod> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the guard is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.values.as_ptr(), self.count) }
    }
}

impl<T: Pod> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        let inner = &self.buffer.inner;
        let length = self.count * size_of::<T>();
        if let (StorageMode::Managed, Some(contents), 1..) =
            (inner.storage_mode, inner.contents, length)
        {
            let offset = self.values.addr().get() - contents.addr().get();
            let buffer = self.buffer.as_ptr();
            // SAFETY: the buffer is live and the range inside it. The call fails for ranges and modes only, which are
            // right here, so there is no error to look at.
            unsafe { sys::mtb_buffer_did_modify_range(buffer, offset, length, ptr::null_mut()) };
        }
        inner.tracker.end_cpu(Access::Write);
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}
