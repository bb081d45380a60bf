//! [`TransferQueue`]: transfers in the order of a queue.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use bytemuck::Pod;

use super::Memory;
use super::batch::Batch;
use super::download::Download;
use super::place::Rectangle;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::queue::CommandQueue;
use crate::submission::Submission;

/// Transfers in the order of a [`CommandQueue`], by way of a [`Memory`]. Clones share both.
///
/// Each call is a [`Batch`] of one. Those that end with `and_wait` wait as long as it takes, for the queue's earlier work and
/// then for their own, since they borrow host memory until the end; those that end with `timeout` wait no longer than that, for
/// a transfer that owns its host memory and goes on; the others do not wait for the transfer. All may first wait for room, where
/// the queue has a thousand transfers that have not completed: ten minutes at most, and then
/// [`Error::Timeout`](crate::Error::Timeout) says that nothing was handed over. In a completion handler or a
/// host function of the same queue, which the queue's later work waits for, all that wait are
/// [`Error::Deadlock`](crate::Error::Deadlock).
#[derive(Clone)]
pub struct TransferQueue {
    memory: Memory,
    queue: CommandQueue,
}

impl TransferQueue {
    /// Both belong to one device.
    pub(super) fn new(memory: Memory, queue: CommandQueue) -> TransferQueue {
        TransferQueue { memory, queue }
    }

    /// What the transfers go by way of.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The queue whose order the transfers keep.
    pub fn command_queue(&self) -> &CommandQueue {
        &self.queue
    }

    /// Begins to record transfers for one command buffer.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn batch<'h>(&self) -> Result<Batch<'h>> {
        Batch::new(self)
    }

    /// A batch of what `add` adds to it, and a wait for it.
    fn commit_and_wait<'h>(&self, add: impl FnOnce(&mut Batch<'h>) -> Result<()>) -> Result<()> {
        let mut batch = self.batch()?;
        add(&mut batch)?;
        batch.commit_and_wait()
    }

    /// A batch of what `add` adds to it, without a wait; and what came of adding it.
    fn commit<V>(
        &self,
        add: impl FnOnce(&mut Batch<'static>) -> Result<V>,
    ) -> Result<(Submission, V)> {
        let mut batch = self.batch()?;
        let added = add(&mut batch)?;
        Ok((batch.commit()?, added))
    }

    /// Copies `values` to the byte at `offset` of `buffer`, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload`] and [`Batch::commit_and_wait`].
    pub fn upload_and_wait<T: Pod>(
        &self,
        values: &[T],
        buffer: &Buffer,
        offset: usize,
    ) -> Result<()> {
        self.commit_and_wait(|batch| batch.upload(values, buffer, offset))
    }

    /// [`upload_and_wait`](TransferQueue::upload_and_wait) that waits no longer than `timeout`. The values are copied at
    /// the call.
    ///
    /// # Errors
    ///
    /// As [`upload_staged`](TransferQueue::upload_staged) and [`Submission::wait_timeout`]: after
    /// [`Error::Timeout`](crate::Error::Timeout) the transfer goes on.
    pub fn upload_timeout<T: Pod>(
        &self,
        values: &[T],
        buffer: &Buffer,
        offset: usize,
        timeout: Duration,
    ) -> Result<()> {
        self.upload_staged(values, buffer, offset)?
            .wait_timeout(timeout)
    }

    /// Copies rows of `values`, `pitch` bytes apart, to the rows of `buffer` at `rectangle`, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_2d`] and [`Batch::commit_and_wait`].
    pub fn upload_2d_and_wait<T: Pod>(
        &self,
        values: &[T],
        pitch: usize,
        buffer: &Buffer,
        rectangle: Rectangle,
    ) -> Result<()> {
        self.commit_and_wait(|batch| batch.upload_2d(values, pitch, buffer, rectangle))
    }

    /// Copies `values` to the byte at `offset` of `buffer`, without a wait. The transfer owns them until it has
    /// completed.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_owned`] and [`Batch::commit`].
    pub fn upload_async<T: Pod, O>(
        &self,
        values: O,
        buffer: &Buffer,
        offset: usize,
    ) -> Result<Submission>
    where
        O: AsRef<[T]> + Send + 'static,
    {
        Ok(self
            .commit(|batch| batch.upload_owned(values, buffer, offset))?
            .0)
    }

    /// [`upload_2d_and_wait`](TransferQueue::upload_2d_and_wait) without a wait, of values that the transfer owns until it has completed.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_2d_owned`] and [`Batch::commit`].
    pub fn upload_2d_async<T: Pod, O>(
        &self,
        values: O,
        pitch: usize,
        buffer: &Buffer,
        rectangle: Rectangle,
    ) -> Result<Submission>
    where
        O: AsRef<[T]> + Send + 'static,
    {
        Ok(self
            .commit(|batch| batch.upload_2d_owned(values, pitch, buffer, rectangle))?
            .0)
    }

    /// Copies `values` to the byte at `offset` of `buffer`, without a wait. The values are copied at the call.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_staged`] and [`Batch::commit`].
    pub fn upload_staged<T: Pod>(
        &self,
        values: &[T],
        buffer: &Buffer,
        offset: usize,
    ) -> Result<Submission> {
        Ok(self
            .commit(|batch| batch.upload_staged(values, buffer, offset))?
            .0)
    }

    /// Copies from the byte at `offset` of `buffer` to `values`, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::download`] and [`Batch::commit_and_wait`].
    pub fn download_and_wait<T: Pod>(
        &self,
        buffer: &Buffer,
        offset: usize,
        values: &mut [T],
    ) -> Result<()> {
        self.commit_and_wait(|batch| batch.download(buffer, offset, values))
    }

    /// [`download_and_wait`](TransferQueue::download_and_wait) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`download_async`](TransferQueue::download_async) and [`Download::wait_timeout`]: after
    /// [`Error::Timeout`](crate::Error::Timeout) the transfer goes on, to memory of its own, and `values` stay as they
    /// were.
    pub fn download_timeout<T: Pod + Send>(
        &self,
        buffer: &Buffer,
        offset: usize,
        values: &mut [T],
        timeout: Duration,
    ) -> Result<()> {
        let mut download = self.download_async(buffer, offset, values.len())?;
        values.copy_from_slice(&download.wait_timeout(timeout)?);
        Ok(())
    }

    /// Copies the rows of `buffer` at `rectangle` to rows of `values`, `pitch` bytes apart, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::download_2d`] and [`Batch::commit_and_wait`].
    pub fn download_2d_and_wait<T: Pod>(
        &self,
        buffer: &Buffer,
        rectangle: Rectangle,
        values: &mut [T],
        pitch: usize,
    ) -> Result<()> {
        self.commit_and_wait(|batch| batch.download_2d(buffer, rectangle, values, pitch))
    }

    /// Copies `count` values from the byte at `offset` of `buffer`, without a wait.
    ///
    /// # Errors
    ///
    /// As [`Batch::download_owned`] and [`Batch::commit`].
    pub fn download_async<T: Pod + Send>(
        &self,
        buffer: &Buffer,
        offset: usize,
        count: usize,
    ) -> Result<Download<Vec<T>>> {
        Ok(self
            .commit(|batch| batch.download_owned(buffer, offset, count))?
            .1)
    }

    /// Copies from the byte at `offset` of `buffer` to all of `values`, without a wait. They come back with the
    /// [`Download`].
    ///
    /// # Errors
    ///
    /// As [`Batch::download_into`] and [`Batch::commit`].
    pub fn download_into<T: Pod, O>(
        &self,
        buffer: &Buffer,
        offset: usize,
        values: O,
    ) -> Result<Download<O>>
    where
        O: AsMut<[T]> + Send + 'static,
    {
        Ok(self
            .commit(|batch| batch.download_into(buffer, offset, values))?
            .1)
    }

    /// [`download_2d_and_wait`](TransferQueue::download_2d_and_wait) without a wait, to `values` that come back with the [`Download`].
    ///
    /// # Errors
    ///
    /// As [`Batch::download_2d_into`] and [`Batch::commit`].
    pub fn download_2d_into<T: Pod, O>(
        &self,
        buffer: &Buffer,
        rectangle: Rectangle,
        values: O,
        pitch: usize,
    ) -> Result<Download<O>>
    where
        O: AsMut<[T]> + Send + 'static,
    {
        Ok(self
            .commit(|batch| batch.download_2d_into(buffer, rectangle, values, pitch))?
            .1)
    }

    /// Copies `size` bytes between buffers, each of any storage mode, and waits. Between shared buffers this thread
    /// copies them, once the GPU is done with the queue's earlier work.
    ///
    /// # Errors
    ///
    /// As [`Batch::copy`] and [`Batch::commit_and_wait`].
    pub fn copy_and_wait(
        &self,
        source: &Buffer,
        source_offset: usize,
        destination: &Buffer,
        destination_offset: usize,
        size: usize,
    ) -> Result<()> {
        self.commit_and_wait(|batch| {
            batch.copy(source, source_offset, destination, destination_offset, size)
        })
    }

    /// [`copy_and_wait`](TransferQueue::copy_and_wait) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`copy_async`](TransferQueue::copy_async) and [`Submission::wait_timeout`]: after
    /// [`Error::Timeout`](crate::Error::Timeout) the transfer goes on.
    pub fn copy_timeout(
        &self,
        source: &Buffer,
        source_offset: usize,
        destination: &Buffer,
        destination_offset: usize,
        size: usize,
        timeout: Duration,
    ) -> Result<()> {
        self.copy_async(source, source_offset, destination, destination_offset, size)?
            .wait_timeout(timeout)
    }

    /// [`copy_and_wait`](TransferQueue::copy_and_wait) without a wait.
    ///
    /// # Errors
    ///
    /// As [`Batch::copy`] and [`Batch::commit`].
    pub fn copy_async(
        &self,
        source: &Buffer,
        source_offset: usize,
        destination: &Buffer,
        destination_offset: usize,
        size: usize,
    ) -> Result<Submission> {
        Ok(self
            .commit(|batch| {
                batch.copy(source, source_offset, destination, destination_offset, size)
            })?
            .0)
    }

    /// Copies rows of `source`, which begin at `offset` and are `pitch` bytes apart, to those of `destination` at
    /// `rectangle`, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::copy_2d`] and [`Batch::commit_and_wait`].
    pub fn copy_2d_and_wait(
        &self,
        source: &Buffer,
        offset: usize,
        pitch: usize,
        destination: &Buffer,
        rectangle: Rectangle,
    ) -> Result<()> {
        self.commit_and_wait(|batch| batch.copy_2d(source, offset, pitch, destination, rectangle))
    }

    /// [`copy_2d_and_wait`](TransferQueue::copy_2d_and_wait) without a wait.
    ///
    /// # Errors
    ///
    /// As [`Batch::copy_2d`] and [`Batch::commit`].
    pub fn copy_2d_async(
        &self,
        source: &Buffer,
        offset: usize,
        pitch: usize,
        destination: &Buffer,
        rectangle: Rectangle,
    ) -> Result<Submission> {
        Ok(self
            .commit(|batch| batch.copy_2d(source, offset, pitch, destination, rectangle))?
            .0)
    }

    /// Fills the bytes of `range` with `value`, again and again, and waits: a type of 1, 2 or 4 bytes, and a range of a
    /// whole number of them.
    ///
    /// # Errors
    ///
    /// As [`Batch::fill`] and [`Batch::commit_and_wait`].
    pub fn fill_and_wait<T: Pod>(
        &self,
        buffer: &Buffer,
        range: Range<usize>,
        value: T,
    ) -> Result<()> {
        self.commit_and_wait(|batch| batch.fill(buffer, range, value))
    }

    /// [`fill_and_wait`](TransferQueue::fill_and_wait) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`fill_async`](TransferQueue::fill_async) and [`Submission::wait_timeout`]: after
    /// [`Error::Timeout`](crate::Error::Timeout) the transfer goes on.
    pub fn fill_timeout<T: Pod>(
        &self,
        buffer: &Buffer,
        range: Range<usize>,
        value: T,
        timeout: Duration,
    ) -> Result<()> {
        self.fill_async(buffer, range, value)?.wait_timeout(timeout)
    }

    /// [`fill_and_wait`](TransferQueue::fill_and_wait) without a wait.
    ///
    /// # Errors
    ///
    /// As [`Batch::fill`] and [`Batch::commit`].
    pub fn fill_async<T: Pod>(
        &self,
        buffer: &Buffer,
        range: Range<usize>,
        value: T,
    ) -> Result<Submission> {
        Ok(self.commit(|batch| batch.fill(buffer, range, value))?.0)
    }

    /// Fills the rows of `buffer` at `rectangle` with `value`, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::fill_2d`] and [`Batch::commit_and_wait`].
    pub fn fill_2d_and_wait<T: Pod>(
        &self,
        buffer: &Buffer,
        rectangle: Rectangle,
        value: T,
    ) -> Result<()> {
        self.commit_and_wait(|batch| batch.fill_2d(buffer, rectangle, value))
    }

    /// [`fill_2d_and_wait`](TransferQueue::fill_2d_and_wait) without a wait.
    ///
    /// # Errors
    ///
    /// As [`Batch::fill_2d`] and [`Batch::commit`].
    pub fn fill_2d_async<T: Pod>(
        &self,
        buffer: &Buffer,
        rectangle: Rectangle,
        value: T,
    ) -> Result<Submission> {
        Ok(self
            .commit(|batch| batch.fill_2d(buffer, rectangle, value))?
            .0)
    }
}

impl fmt::Debug for TransferQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransferQueue")
            .field("memory", &self.memory)
            .field("queue", &self.queue)
            .finish()
    }
}
