//! [`TransferQueue`]: transfers in the order of a queue.

use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use super::Memory;
use super::batch::Batch;
use super::download::Download;
use super::place::Rectangle;
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::metal::queue::CommandQueue;
use crate::metal::submission::Submission;

/// Transfers in the order of a [`CommandQueue`], by way of a [`Memory`]. Clones share both.
///
/// Each call is a [`Batch`] of one. Those that end with `and_wait` wait as long as it takes, for the queue's earlier work and
/// then for their own, since they borrow host memory until the end. Those that end with `timeout` return after that time at the
/// latest with [`Error::Timeout`](crate::Error::Timeout), whatever they wait for: the transfer owns its host memory and goes
/// on, or the queue had no free slot and nothing was committed, which the message says. The others do not wait for the
/// transfer. Where the queue has a thousand transfers that have not completed, a call first waits for a slot: without a timeout
/// of its own ten minutes at most, and then it fails with [`Error::Timeout`](crate::Error::Timeout). In a completion handler or a
/// host function of the same queue, which the queue's later work waits for, all that wait are
/// [`Error::Deadlock`](crate::Error::Deadlock).
#[derive(Clone)]
pub struct TransferQueue {
    memory: Memory,
    queue: CommandQueue,
}

impl Memory {
    /// Transfers in the order of `queue`.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] for a queue of another device.
    pub fn transfer_queue(&self, queue: &CommandQueue) -> Result<TransferQueue> {
        if queue.device() != self.device() {
            let message = format!(
                "the queue belongs to {}, the memory to {}",
                queue.device().name(),
                self.device().name()
            );
            let function = "Memory::transfer_queue";
            return Err(Error::WrongDevice(Failure::new(function, message)));
        }
        Ok(TransferQueue {
            memory: self.clone(),
            queue: queue.clone(),
        })
    }

    /// Transfers on a queue of their own, from the pool.
    ///
    /// # Errors
    ///
    /// As [`acquire_queue`](Memory::acquire_queue).
    pub fn new_transfer_queue(&self) -> Result<TransferQueue> {
        let queue = self.acquire_queue()?;
        Ok(TransferQueue {
            memory: self.clone(),
            queue,
        })
    }
}

impl TransferQueue {
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
        Batch::new(&self.memory, &self.queue)
    }

    /// Commits what `add` adds, and waits.
    pub(super) fn run<'h>(&self, add: impl FnOnce(&mut Batch<'h>) -> Result<()>) -> Result<()> {
        let mut batch = self.batch()?;
        add(&mut batch)?;
        batch.commit_and_wait()
    }

    /// Commits what `add` adds, without a wait for it.
    pub(super) fn submit(
        &self,
        add: impl FnOnce(&mut Batch<'static>) -> Result<()>,
    ) -> Result<Submission> {
        let mut batch = self.batch()?;
        add(&mut batch)?;
        batch.commit()
    }

    /// The same for values that come.
    pub(super) fn begin<V>(
        &self,
        add: impl FnOnce(&mut Batch<'static>) -> Result<Download<V>>,
    ) -> Result<Download<V>> {
        let mut batch = self.batch()?;
        let download = add(&mut batch)?;
        batch.commit()?;
        Ok(download)
    }

    /// Commits what `add` adds, and waits: for a slot and for the end together no longer than `timeout`.
    pub(super) fn run_within<V>(
        &self,
        timeout: Duration,
        add: impl FnOnce(&mut Batch<'static>) -> Result<V>,
    ) -> Result<V> {
        let start = Instant::now();
        let mut batch = self.batch()?;
        let added = add(&mut batch)?;
        let submission = batch.commit_timeout(timeout)?;
        submission.wait_timeout(timeout.saturating_sub(start.elapsed()))?;
        Ok(added)
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
        self.run(|batch| batch.copy(source, source_offset, destination, destination_offset, size))
    }

    /// [`copy_and_wait`](TransferQueue::copy_and_wait) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`Batch::copy`], [`Batch::commit_timeout`] and [`Submission::wait_timeout`].
    pub fn copy_timeout(
        &self,
        source: &Buffer,
        source_offset: usize,
        destination: &Buffer,
        destination_offset: usize,
        size: usize,
        timeout: Duration,
    ) -> Result<()> {
        self.run_within(timeout, |batch| {
            batch.copy(source, source_offset, destination, destination_offset, size)
        })
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
        self.submit(|batch| {
            batch.copy(source, source_offset, destination, destination_offset, size)
        })
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
        self.run(|batch| batch.copy_2d(source, offset, pitch, destination, rectangle))
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
        self.submit(|batch| batch.copy_2d(source, offset, pitch, destination, rectangle))
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
        self.run(|batch| batch.fill(buffer, range, value))
    }

    /// [`fill_and_wait`](TransferQueue::fill_and_wait) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`Batch::fill`], [`Batch::commit_timeout`] and [`Submission::wait_timeout`].
    pub fn fill_timeout<T: Pod>(
        &self,
        buffer: &Buffer,
        range: Range<usize>,
        value: T,
        timeout: Duration,
    ) -> Result<()> {
        self.run_within(timeout, |batch| batch.fill(buffer, range, value))
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
        self.submit(|batch| batch.fill(buffer, range, value))
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
        self.run(|batch| batch.fill_2d(buffer, rectangle, value))
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
        self.submit(|batch| batch.fill_2d(buffer, rectangle, value))
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
