//! CPU access to the bytes of a [`Buffer`]: guards and copies.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{self, NonNull};
use std::slice;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use crate::access::{Access, Conflict};
use crate::buffer::{Buffer, StorageMode};
use crate::error::{Error, Failure, Result};
use crate::sys;

/// How long an access waits for committed command buffers.
#[derive(Debug, Clone, Copy)]
enum Patience {
    None,
    AtMost(Duration),
    Unlimited,
}

impl Patience {
    /// `None`, for ever, also where the clock does not reach that far.
    fn deadline(self) -> Option<Instant> {
        let now = Instant::now();
        match self {
            Patience::None => Some(now),
            Patience::AtMost(timeout) => now.checked_add(timeout),
            Patience::Unlimited => None,
        }
    }

    /// Without a wait there is nothing that could have timed out.
    fn conflict(self, conflict: Conflict) -> Conflict {
        match (self, conflict) {
            (Patience::None, Conflict::Timeout) => Conflict::Running,
            (_, conflict) => conflict,
        }
    }
}

/// Accesses that begin with `wait` wait as long as it takes, those that end with `timeout` no longer than that, and those that
/// begin with `try` not at all.
impl Buffer {
    /// Reads the whole buffer as values of `T`, unless something may write it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer, on record or committed, or a guard may write it, [`Error::NotVisible`] for a
    /// private buffer, [`Error::Misaligned`] where the length is no multiple of the size of `T`.
    pub fn try_read<T: Pod>(&self) -> Result<ReadGuard<'_, T>> {
        const FUNCTION: &str = "Buffer::try_read";
        self.read_guard(FUNCTION, self.whole::<T>(FUNCTION)?, Patience::None)
    }

    /// Reads the whole buffer as values of `T`, once no committed command buffer writes it.
    ///
    /// # Errors
    ///
    /// As [`try_read`](Buffer::try_read), of committed command buffers excepted: [`Error::Deadlock`] in a completion handler
    /// or a host function of a queue whose later work writes the buffer.
    pub fn wait_read<T: Pod>(&self) -> Result<ReadGuard<'_, T>> {
        const FUNCTION: &str = "Buffer::wait_read";
        self.read_guard(FUNCTION, self.whole::<T>(FUNCTION)?, Patience::Unlimited)
    }

    /// [`wait_read`](Buffer::wait_read) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait_read`](Buffer::wait_read), and [`Error::Timeout`].
    pub fn read_timeout<T: Pod>(&self, timeout: Duration) -> Result<ReadGuard<'_, T>> {
        const FUNCTION: &str = "Buffer::read_timeout";
        let patience = Patience::AtMost(timeout);
        self.read_guard(FUNCTION, self.whole::<T>(FUNCTION)?, patience)
    }

    /// Reads the values of `T` at `range`, counted in values from the start of the buffer, once no committed command buffer
    /// writes it.
    ///
    /// # Errors
    ///
    /// As [`wait_read`](Buffer::wait_read), and [`Error::OutOfRange`].
    pub fn wait_read_range<T: Pod>(&self, range: Range<usize>) -> Result<ReadGuard<'_, T>> {
        self.read_guard("Buffer::wait_read_range", range, Patience::Unlimited)
    }

    /// [`wait_read_range`](Buffer::wait_read_range) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait_read_range`](Buffer::wait_read_range), and [`Error::Timeout`].
    pub fn read_range_timeout<T: Pod>(
        &self,
        range: Range<usize>,
        timeout: Duration,
    ) -> Result<ReadGuard<'_, T>> {
        let patience = Patience::AtMost(timeout);
        self.read_guard("Buffer::read_range_timeout", range, patience)
    }

    /// Reads and writes the whole buffer as values of `T`, unless something uses it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer, on record or committed, or a guard uses it, [`Error::ReadOnly`],
    /// [`Error::NotVisible`] for a private buffer, [`Error::Misaligned`] where the length is no multiple of the size
    /// of `T`.
    pub fn try_write<T: Pod>(&self) -> Result<WriteGuard<'_, T>> {
        const FUNCTION: &str = "Buffer::try_write";
        self.write_guard(FUNCTION, self.whole::<T>(FUNCTION)?, Patience::None)
    }

    /// Reads and writes the whole buffer as values of `T`, once no committed command buffer uses it.
    ///
    /// # Errors
    ///
    /// As [`try_write`](Buffer::try_write), of committed command buffers excepted: [`Error::Deadlock`] in a completion handler
    /// or a host function of a queue whose later work uses the buffer.
    pub fn wait_write<T: Pod>(&self) -> Result<WriteGuard<'_, T>> {
        const FUNCTION: &str = "Buffer::wait_write";
        self.write_guard(FUNCTION, self.whole::<T>(FUNCTION)?, Patience::Unlimited)
    }

    /// [`wait_write`](Buffer::wait_write) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait_write`](Buffer::wait_write), and [`Error::Timeout`].
    pub fn write_timeout<T: Pod>(&self, timeout: Duration) -> Result<WriteGuard<'_, T>> {
        const FUNCTION: &str = "Buffer::write_timeout";
        let patience = Patience::AtMost(timeout);
        self.write_guard(FUNCTION, self.whole::<T>(FUNCTION)?, patience)
    }

    /// Reads and writes the values of `T` at `range`, counted in values from the start of the buffer, once no committed command
    /// buffer uses it.
    ///
    /// # Errors
    ///
    /// As [`wait_write`](Buffer::wait_write), and [`Error::OutOfRange`].
    pub fn wait_write_range<T: Pod>(&self, range: Range<usize>) -> Result<WriteGuard<'_, T>> {
        self.write_guard("Buffer::wait_write_range", range, Patience::Unlimited)
    }

    /// [`wait_write_range`](Buffer::wait_write_range) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait_write_range`](Buffer::wait_write_range), and [`Error::Timeout`].
    pub fn write_range_timeout<T: Pod>(
        &self,
        range: Range<usize>,
        timeout: Duration,
    ) -> Result<WriteGuard<'_, T>> {
        let patience = Patience::AtMost(timeout);
        self.write_guard("Buffer::write_range_timeout", range, patience)
    }

    /// Copies values out of the buffer, from the byte at `offset` on, once no committed command buffer writes it.
    ///
    /// # Errors
    ///
    /// As [`wait_read_range`](Buffer::wait_read_range); any offset will do.
    pub fn wait_copy_to_slice<T: Pod>(&self, offset: usize, values: &mut [T]) -> Result<()> {
        self.copy_out(
            "Buffer::wait_copy_to_slice",
            offset,
            values,
            Patience::Unlimited,
        )
    }

    /// [`wait_copy_to_slice`](Buffer::wait_copy_to_slice) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait_copy_to_slice`](Buffer::wait_copy_to_slice), and [`Error::Timeout`].
    pub fn copy_to_slice_timeout<T: Pod>(
        &self,
        offset: usize,
        values: &mut [T],
        timeout: Duration,
    ) -> Result<()> {
        let patience = Patience::AtMost(timeout);
        self.copy_out("Buffer::copy_to_slice_timeout", offset, values, patience)
    }

    fn copy_out<T: Pod>(
        &self,
        function: &'static str,
        offset: usize,
        values: &mut [T],
        patience: Patience,
    ) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let range = bytes_at(offset, bytes.len());
        bytes.copy_from_slice(&self.read_guard::<u8>(function, range, patience)?);
        Ok(())
    }

    /// Copies values into the buffer, from the byte at `offset` on, once no committed command buffer uses it.
    ///
    /// # Errors
    ///
    /// As [`wait_write_range`](Buffer::wait_write_range); any offset will do.
    pub fn wait_copy_from_slice<T: Pod>(&self, offset: usize, values: &[T]) -> Result<()> {
        self.copy_in(
            "Buffer::wait_copy_from_slice",
            offset,
            values,
            Patience::Unlimited,
        )
    }

    /// [`wait_copy_from_slice`](Buffer::wait_copy_from_slice) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait_copy_from_slice`](Buffer::wait_copy_from_slice), and [`Error::Timeout`].
    pub fn copy_from_slice_timeout<T: Pod>(
        &self,
        offset: usize,
        values: &[T],
        timeout: Duration,
    ) -> Result<()> {
        let patience = Patience::AtMost(timeout);
        self.copy_in("Buffer::copy_from_slice_timeout", offset, values, patience)
    }

    fn copy_in<T: Pod>(
        &self,
        function: &'static str,
        offset: usize,
        values: &[T],
        patience: Patience,
    ) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let range = bytes_at(offset, bytes.len());
        self.write_guard::<u8>(function, range, patience)?
            .copy_from_slice(bytes);
        Ok(())
    }

    /// Waits until no committed command buffer uses the buffer, for as long as `timeout` where there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], and [`Error::Deadlock`] in a completion handler or a host function of a queue whose later
    /// work uses it.
    pub fn wait_until_idle(&self, timeout: Option<Duration>) -> Result<()> {
        let patience = timeout.map_or(Patience::Unlimited, Patience::AtMost);
        let idle = self.inner().tracker().wait_idle(patience.deadline());
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
        patience: Patience,
    ) -> Result<ReadGuard<'_, T>> {
        let (values, count) = self.locate::<T>(function, range)?;
        let begun = self
            .inner()
            .tracker()
            .begin_cpu(Access::Read, patience.deadline());
        begun.map_err(|conflict| self.conflict(function, patience.conflict(conflict)))?;
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
        patience: Patience,
    ) -> Result<WriteGuard<'_, T>> {
        let (values, count) = self.locate::<T>(function, range)?;
        self.check_writable(function)?;
        let begun = self
            .inner()
            .tracker()
            .begin_cpu(Access::Write, patience.deadline());
        begun.map_err(|conflict| self.conflict(function, patience.conflict(conflict)))?;
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
