//! CPU access to the bytes of a [`Buffer`]: what begins it, and copies.

use std::marker::PhantomData;
use std::ops::Range;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use super::access::{Access, Conflict};
use super::buffer::{Buffer, StorageMode};
use super::guards::{ReadGuard, Values, WriteGuard};
use super::wait::WaitError;
use crate::error::{Error, Failure, Result};

/// How long an access waits for committed command buffers.
#[derive(Debug, Clone, Copy)]
enum Patience {
    None,
    AtMost(Duration),
    Unlimited,
}

impl Patience {
    /// The end of the wait; `None` for ever, also if the clock does not reach that far.
    fn deadline(self) -> Option<Instant> {
        let now = Instant::now();
        match self {
            Patience::None => Some(now),
            Patience::AtMost(timeout) => now.checked_add(timeout),
            Patience::Unlimited => None,
        }
    }

    /// An access that does not wait cannot time out: the buffer is in use.
    fn conflict(self, conflict: Conflict) -> Conflict {
        match (self, conflict) {
            (Patience::None, Conflict::Waited(WaitError::Timeout)) => Conflict::Running,
            (_, conflict) => conflict,
        }
    }
}

/// An access whose name begins with `wait` waits as long as it takes, one whose name ends with `timeout` no longer
/// than that, and one whose name begins with `try` not at all.
impl Buffer {
    /// Reads the whole buffer as values of `T`, unless something may write it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer, committed or not, or a guard may write it, [`Error::NotVisible`] for a
    /// private buffer, [`Error::Misaligned`] if the length is not a multiple of the size of `T`.
    pub fn try_read<T: Pod>(&self) -> Result<ReadGuard<'_, T>> {
        self.read_guard("Buffer::try_read", None, Patience::None)
    }

    /// Reads the whole buffer as values of `T`, once no committed command buffer writes it.
    ///
    /// # Errors
    ///
    /// As [`try_read`](Buffer::try_read), but waits for committed command buffers. [`Error::Deadlock`] if that wait
    /// could not end: in a completion handler or a host function of a queue whose later work writes the buffer,
    /// or if such work comes after a command buffer that this thread, or one that has ended, has
    /// [enqueued](crate::CommandBuffer::enqueue) and never committed.
    pub fn wait_read<T: Pod>(&self) -> Result<ReadGuard<'_, T>> {
        self.read_guard("Buffer::wait_read", None, Patience::Unlimited)
    }

    /// [`wait_read`](Buffer::wait_read) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait_read`](Buffer::wait_read), and [`Error::Timeout`].
    pub fn read_timeout<T: Pod>(&self, timeout: Duration) -> Result<ReadGuard<'_, T>> {
        self.read_guard("Buffer::read_timeout", None, Patience::AtMost(timeout))
    }

    /// Reads the values of `T` at `range`, counted in values from the start of the buffer, once no committed command buffer
    /// writes it.
    ///
    /// # Errors
    ///
    /// As [`wait_read`](Buffer::wait_read), and [`Error::OutOfRange`].
    pub fn wait_read_range<T: Pod>(&self, range: Range<usize>) -> Result<ReadGuard<'_, T>> {
        self.read_guard("Buffer::wait_read_range", Some(range), Patience::Unlimited)
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
        self.read_guard(
            "Buffer::read_range_timeout",
            Some(range),
            Patience::AtMost(timeout),
        )
    }

    /// Reads and writes the whole buffer as values of `T`, unless something uses it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer, committed or not, or a guard uses it, [`Error::ReadOnly`],
    /// [`Error::NotVisible`] for a private buffer, [`Error::Misaligned`] if the length is not a multiple of the size
    /// of `T`.
    pub fn try_write<T: Pod>(&self) -> Result<WriteGuard<'_, T>> {
        self.write_guard("Buffer::try_write", None, Patience::None)
    }

    /// Reads and writes the whole buffer as values of `T`, once no committed command buffer uses it.
    ///
    /// # Errors
    ///
    /// As [`try_write`](Buffer::try_write), but waits for committed command buffers. [`Error::Deadlock`] as for
    /// [`wait_read`](Buffer::wait_read), for work that uses the buffer.
    pub fn wait_write<T: Pod>(&self) -> Result<WriteGuard<'_, T>> {
        self.write_guard("Buffer::wait_write", None, Patience::Unlimited)
    }

    /// [`wait_write`](Buffer::wait_write) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`wait_write`](Buffer::wait_write), and [`Error::Timeout`].
    pub fn write_timeout<T: Pod>(&self, timeout: Duration) -> Result<WriteGuard<'_, T>> {
        self.write_guard("Buffer::write_timeout", None, Patience::AtMost(timeout))
    }

    /// Reads and writes the values of `T` at `range`, counted in values from the start of the buffer, once no committed command
    /// buffer uses it.
    ///
    /// # Errors
    ///
    /// As [`wait_write`](Buffer::wait_write), and [`Error::OutOfRange`].
    pub fn wait_write_range<T: Pod>(&self, range: Range<usize>) -> Result<WriteGuard<'_, T>> {
        self.write_guard("Buffer::wait_write_range", Some(range), Patience::Unlimited)
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
        self.write_guard(
            "Buffer::write_range_timeout",
            Some(range),
            Patience::AtMost(timeout),
        )
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
        self.copy_out(
            "Buffer::copy_to_slice_timeout",
            offset,
            values,
            Patience::AtMost(timeout),
        )
    }

    fn copy_out<T: Pod>(
        &self,
        function: &'static str,
        offset: usize,
        values: &mut [T],
        patience: Patience,
    ) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let range = Some(bytes_at(offset, bytes.len()));
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
        self.copy_in(
            "Buffer::copy_from_slice_timeout",
            offset,
            values,
            Patience::AtMost(timeout),
        )
    }

    fn copy_in<T: Pod>(
        &self,
        function: &'static str,
        offset: usize,
        values: &[T],
        patience: Patience,
    ) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let range = Some(bytes_at(offset, bytes.len()));
        self.write_guard::<u8>(function, range, patience)?
            .copy_from_slice(bytes);
        Ok(())
    }

    /// Waits until no committed command buffer uses the buffer, but no longer than `timeout` if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`]; [`Error::Deadlock`] as for [`wait_read`](Buffer::wait_read), for work that uses the buffer.
    pub fn wait_until_idle(&self, timeout: Option<Duration>) -> Result<()> {
        let patience = timeout.map_or(Patience::Unlimited, Patience::AtMost);
        let idle = self.inner().tracker().wait_idle(patience.deadline());
        idle.map_err(|conflict| self.conflict("Buffer::wait_until_idle", conflict))
    }

    fn whole<T: Pod>(&self, function: &'static str) -> Result<Range<usize>> {
        let size = size_of::<T>();
        if size == 0 || self.len() % size != 0 {
            let message = format!(
                "{} bytes are not a whole number of values of {size} bytes",
                self.len()
            );
            return Err(Error::Misaligned(Failure::new(function, message)));
        }
        Ok(0..self.len() / size)
    }

    fn read_guard<T: Pod>(
        &self,
        function: &'static str,
        range: Option<Range<usize>>,
        patience: Patience,
    ) -> Result<ReadGuard<'_, T>> {
        let values = self.begin(function, range, Access::Read, patience)?;
        Ok(ReadGuard {
            values,
            values_are: PhantomData,
        })
    }

    fn write_guard<T: Pod>(
        &self,
        function: &'static str,
        range: Option<Range<usize>>,
        patience: Patience,
    ) -> Result<WriteGuard<'_, T>> {
        let values = self.begin(function, range, Access::Write, patience)?;
        Ok(WriteGuard {
            values,
            values_are: PhantomData,
        })
    }

    /// Begins an access to the values at `range`, or to all, which lasts until [`Values::end`].
    fn begin<T: Pod>(
        &self,
        function: &'static str,
        range: Option<Range<usize>>,
        access: Access,
        patience: Patience,
    ) -> Result<Values<'_, T>> {
        let range = range.map_or_else(|| self.whole::<T>(function), Ok)?;
        let values = self.locate(function, range)?;
        if access == Access::Write {
            self.check_writable(function)?;
        }
        let begun = self
            .inner()
            .tracker()
            .begin_cpu(access, patience.deadline());
        begun.map_err(|conflict| self.conflict(function, patience.conflict(conflict)))?;
        Ok(values)
    }

    /// The values at `range`: inside the buffer, aligned and visible.
    fn locate<T: Pod>(&self, function: &'static str, range: Range<usize>) -> Result<Values<'_, T>> {
        let Some(contents) = self.inner().contents() else {
            let why = match self.storage_mode() {
                StorageMode::Private => "is private: copy it to a shared buffer with a blit",
                _ => "is a mapped file, which only the GPU may read",
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
                "the range {range:?} of values of {size} bytes is not inside {}",
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
        Ok(Values {
            buffer: self,
            values,
            count: range.end - range.start,
        })
    }
}

fn bytes_at(offset: usize, length: usize) -> Range<usize> {
    offset..offset.saturating_add(length)
}
