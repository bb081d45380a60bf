//! [`Batch`]: transfers that are recorded for one command buffer.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;

use super::device_memory::Memory;
use super::host_memory::HostMemories;
use super::place::{Place, Rectangle};
use crate::error::{Error, Failure, Result};
use crate::metal::access::Access;
use crate::metal::buffer::Buffer;
use crate::metal::completion::Completion;
use crate::metal::handle::{Handle, check, create, nanoseconds};
use crate::metal::process::check_process;
use crate::metal::queue::CommandQueue;
use crate::metal::recording::Recording;
use crate::metal::submission::Submission;
use crate::sys;

/// Transfers that are recorded for one command buffer, in the order in which they are added; copies whose ranges touch become
/// one.
///
/// [`commit_and_wait`](Batch::commit_and_wait) commits and waits; [`commit`](Batch::commit) does not wait, so it is for batches that borrow no
/// host memory: what they read and write there, they own. Dropping a batch discards it.
///
/// ```
/// use metal_bridge::memory::Memory;
/// use metal_bridge::{Device, StorageMode};
///
/// # if !metal_bridge::is_available() { return Ok(()); }
/// let device = Device::system_default()?;
/// let memory = Memory::new(&device)?;
/// let transfers = memory.transfer_queue(&device.new_command_queue()?)?;
/// let a = device.new_buffer(64, StorageMode::Private)?;
/// let b = device.new_buffer(64, StorageMode::Managed)?;
///
/// let mut batch = transfers.batch()?;
/// batch.upload_owned(vec![1u32, 2, 3, 4], &a, 0)?;
/// batch.fill(&a, 16..64, 7u32)?;
/// batch.copy(&a, 8, &b, 0, 16)?;
/// let values = batch.download_owned::<u32>(&b, 0, 4)?;
/// batch.commit()?;
/// assert_eq!(values.wait()?, [3, 4, 7, 7]);
/// # Ok::<(), metal_bridge::Error>(())
/// ```
pub struct Batch<'h> {
    // Released first: it knows addresses of the host memory, which goes after it.
    handle: Handle<sys::mtb_transfer>,
    recording: Recording,
    pub(super) host_memories: HostMemories,
    queue: CommandQueue,
    host_memory_is: PhantomData<&'h mut [u8]>,
}

/// Uses that a batch begins with memory for: source and destination.
const USUAL_USES: usize = 2;

impl<'h> Batch<'h> {
    pub(super) fn new(memory: &Memory, queue: &CommandQueue) -> Result<Batch<'h>> {
        let (memory, commands) = (memory.as_ptr(), queue.as_ptr());
        // SAFETY: returns an owned transfer, or NULL and an owned error.
        let handle = unsafe { create(|error| sys::mtb_transfer_create(memory, commands, error)) }?;
        Ok(Batch {
            handle,
            recording: Recording::new(USUAL_USES),
            host_memories: HostMemories::default(),
            queue: queue.clone(),
            host_memory_is: PhantomData,
        })
    }

    /// Adds a copy of `size` bytes between buffers, each of any storage mode.
    ///
    /// One of them may belong to another device: where the devices are peers, whole words of a private source are read
    /// through a remote view, all else goes by way of system memory. That device's own queues are ordered by events, as
    /// always.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard conflicts, [`Error::ReadOnly`] for the destination, [`Error::OutOfRange`],
    /// [`Error::InvalidArgument`] for an overlap, [`Error::OutOfMemory`]. The batch stays as it was.
    pub fn copy(
        &mut self,
        source: &Buffer,
        source_offset: usize,
        destination: &Buffer,
        destination_offset: usize,
        size: usize,
    ) -> Result<()> {
        let source = Place::Buffer(source, Rectangle::row(source_offset, size));
        let destination = Place::Buffer(destination, Rectangle::row(destination_offset, size));
        // SAFETY: no host memory is involved.
        unsafe { self.add_copy("Batch::copy", source, destination, sys::MTB_HOST_COPIED) }
    }

    /// Adds a copy of rows of `source`, which begin at `offset` and are `pitch` bytes apart, to those of `destination`
    /// at `rectangle`.
    ///
    /// # Errors
    ///
    /// As [`copy`](Batch::copy), and [`Error::InvalidArgument`] for a pitch smaller than the width.
    pub fn copy_2d(
        &mut self,
        source: &Buffer,
        offset: usize,
        pitch: usize,
        destination: &Buffer,
        rectangle: Rectangle,
    ) -> Result<()> {
        let rows = Rectangle {
            offset,
            pitch,
            ..rectangle
        };
        let (source, destination) = (
            Place::Buffer(source, rows),
            Place::Buffer(destination, rectangle),
        );
        // SAFETY: no host memory is involved.
        unsafe { self.add_copy("Batch::copy_2d", source, destination, sys::MTB_HOST_COPIED) }
    }

    /// Adds a fill of the bytes of `range` with `value`, again and again: a type of 1, 2 or 4 bytes, and a range of a
    /// whole number of them.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard for CPU access lives, [`Error::ReadOnly`], [`Error::OutOfRange`],
    /// [`Error::Misaligned`] for a part of a value, [`Error::OutOfMemory`]. The batch stays as it was.
    pub fn fill<T: Pod>(&mut self, buffer: &Buffer, range: Range<usize>, value: T) -> Result<()> {
        const FUNCTION: &str = "Batch::fill";
        let Some(length) = range.end.checked_sub(range.start) else {
            let message = format!("{range:?} ends before it begins");
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        };
        self.fill_rows(FUNCTION, buffer, Rectangle::row(range.start, length), value)
    }

    /// [`fill`](Batch::fill) of rows.
    ///
    /// # Errors
    ///
    /// As [`fill`](Batch::fill).
    pub fn fill_2d<T: Pod>(
        &mut self,
        buffer: &Buffer,
        rectangle: Rectangle,
        value: T,
    ) -> Result<()> {
        self.fill_rows("Batch::fill_2d", buffer, rectangle, value)
    }

    fn fill_rows<T: Pod>(
        &mut self,
        function: &'static str,
        buffer: &Buffer,
        rectangle: Rectangle,
        value: T,
    ) -> Result<()> {
        const {
            assert!(
                matches!(size_of::<T>(), 1 | 2 | 4),
                "a fill takes a value of 1, 2 or 4 bytes"
            )
        };
        let place = Place::Buffer(buffer, rectangle);
        place.check(function)?;
        if rectangle.is_empty() {
            return Ok(());
        }
        let (transfer, pattern) = (self.handle.as_ptr(), &raw const value);
        // SAFETY: the transfer and the buffer are live, and the pattern is copied.
        let fill = || unsafe {
            check(|error| {
                sys::mtb_transfer_fill(
                    transfer,
                    place.to_sys(),
                    rectangle.width,
                    rectangle.height,
                    pattern.cast(),
                    size_of::<T>(),
                    error,
                )
            })
        };
        self.recording
            .encode(function, [(buffer, Access::Write)], fill)
    }

    /// # Safety
    ///
    /// Host memory of `source` and `destination` is valid until the batch has completed or is dropped: to read, and to
    /// write for nobody else. That of a copied source has to be valid for the call only.
    pub(super) unsafe fn add_copy(
        &mut self,
        function: &'static str,
        source: Place<'_>,
        destination: Place<'_>,
        host: sys::mtb_host_memory,
    ) -> Result<()> {
        source.check(function)?;
        destination.check(function)?;
        let Rectangle { width, height, .. } = destination.rectangle();
        if destination.rectangle().is_empty() {
            return Ok(());
        }
        let uses = [(source, Access::Read), (destination, Access::Write)];
        let uses = uses
            .into_iter()
            .filter_map(|(place, access)| place.buffer().map(|buffer| (buffer, access)));
        let transfer = self.handle.as_ptr();
        // SAFETY: the transfer and the buffers are live, and the host memory is as the caller promises.
        let copy = || unsafe {
            check(|error| {
                sys::mtb_transfer_copy(
                    transfer,
                    source.to_sys(),
                    destination.to_sys(),
                    width,
                    height,
                    host,
                    error,
                )
            })
        };
        self.recording.encode(function, uses, copy)
    }

    /// Hands the transfers over and waits for them. Where the CPU sees source and destination, this thread copies, once
    /// what was committed to the queue before has completed.
    ///
    /// # Errors
    ///
    /// [`Error::CommandBuffer`] if the GPU failed, [`Error::OutOfMemory`], [`Error::Deadlock`] in a completion handler or
    /// a host function of the queue, and where this thread, or one that has ended, has
    /// [enqueued](crate::CommandBuffer::enqueue) a command buffer there and never committed it: nothing is committed then.
    pub fn commit_and_wait(self) -> Result<()> {
        const FUNCTION: &str = "Batch::commit_and_wait";
        check_process(FUNCTION)?;
        self.queue.slots().check_runs(FUNCTION)?;
        let Batch {
            handle,
            recording,
            host_memories,
            queue,
            ..
        } = self;
        let turn = queue.slots().draw_turn();
        let uses = recording.start(&turn);
        host_memories.start(&turn);
        // SAFETY: the transfer is live. When the call returns, well or not, nothing touches the buffers and the host
        // memory for it any more.
        let result = unsafe { check(|error| sys::mtb_transfer_run(handle.as_ptr(), error)) };
        drop(handle);
        uses.finish();
        host_memories.finish(&result);
        result
    }
}

impl Batch<'static> {
    /// Hands the transfers over, and returns at once. Nothing has to be kept.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::Internal`], and where the queue has no free slot [`Error::Timeout`] after ten minutes, or
    /// [`Error::Deadlock`] in a completion handler or a host function of the queue. The transfers are discarded then.
    pub fn commit(self) -> Result<Submission> {
        self.commit_at_most("Batch::commit", sys::MTB_ROOM_TIMEOUT)
    }

    /// [`commit`](Batch::commit) that waits for a slot in the queue no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`commit`](Batch::commit), with [`Error::Timeout`] after `timeout`.
    pub fn commit_timeout(self, timeout: Duration) -> Result<Submission> {
        self.commit_at_most("Batch::commit_timeout", nanoseconds(timeout))
    }

    fn commit_at_most(self, function: &'static str, timeout: u64) -> Result<Submission> {
        check_process(function)?;
        let Batch {
            handle,
            recording,
            host_memories,
            queue,
            ..
        } = self;
        let turn = queue.slots().draw_turn();
        let uses = recording.start(&turn);
        let completion = Arc::new(Completion::new(uses, Vec::new(), None));
        // SAFETY: the transfer is live and this thread's. The completion keeps buffers and host memory until the callback,
        // which comes when nothing touches them for the transfer any more.
        let committed = unsafe {
            create(|error| {
                sys::transfer_commit_with_handler(handle.as_ptr(), timeout, &completion, error)
            })
        };
        drop(handle);
        match committed {
            Ok(handle) => {
                host_memories.start(&turn);
                let submission = Submission::new(handle, completion, queue, turn);
                host_memories.finish_with(&submission);
                Ok(submission)
            }
            // After an exception nobody knows whether the work runs: buffers and host memory stay with it for ever
            // then.
            Err(error @ Error::Internal(_)) => {
                host_memories.leak(&error);
                Err(error)
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("uses", &self.recording.len())
            .finish()
    }
}
