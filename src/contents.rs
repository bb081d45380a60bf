//! CPU access to the bytes of a [`Buffer`]: guards and copies.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{self, NonNull};
use std::slice;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use crate::access::Access;
use crate::buffer::{Buffer, StorageMode};
use crate::error::{Error, Failure, Result};
use crate::sys;

impl Buffer {
    /// Reads the whole buffer as values of `T`, once no committed command buffer writes it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer on record or a guard may write it, [`Error::NotVisible`] for a private
    /// buffer, [`Error::Misaligned`] where the length is no multiple of the size of `T`. [`Error::Deadlock`] in a
    /// completion handler or a host function of a queue whose later work writes it.
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
    /// [`Error::Timeout`], and [`Error::Deadlock`] in a completion handler or a host function of a queue whose later
    /// work uses it.
    pub fn wait_until_idle(&self, timeout: Option<Duration>) -> Result<()> {
        let idle = self.inner().tracker().wait_idle(timeout.and_then(deadline));
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
            .inner()
            .tracker()
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
            .inner()
            .tracker()
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
        let Some(contents) = self.inner().contents() else {
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
}

fn bytes_at(offset: usize, length: usize) -> Range<usize> {
    offset..offset.saturating_add(length)
}

/// `None`, for ever, where the clock does not reach that far.
fn deadline(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
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
        self.buffer.inner().tracker().end_cpu(Access::Read);
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
        let inner = self.buffer.inner();
        let length = self.count * size_of::<T>();
        if let (StorageMode::Managed, Some(contents), 1..) =
            (self.buffer.storage_mode(), inner.contents(), length)
        {
            let offset = self.values.addr().get() - contents.addr().get();
            let buffer = self.buffer.as_ptr();
            // SAFETY: the buffer is live and the range inside it. The call fails for ranges and modes only, which are
            // right here, so there is no error to look at.
            unsafe { sys::mtb_buffer_did_modify_range(buffer, offset, length, ptr::null_mut()) };
        }
        inner.tracker().end_cpu(Access::Write);
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}
