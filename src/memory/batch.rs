//! [`Batch`]: transfers that are recorded for one command buffer.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;

use super::buffer_place::BufferPlace;
use super::destination::Destination;
use super::device_memory::Memory;
use super::host_memory::HostMemories;
use super::place::End;
use super::source::Source;
use crate::error::{Error, Failure, Result};
use crate::metal::access::Access;
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
/// [`run`](Batch::run) waits for their end; [`commit`](Batch::commit) does not, so it is for batches that own the host memory
/// that they read and write. Dropping a batch discards it.
///
/// ```
/// use metal_bridge::memory::{Memory, Owned, Values};
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
/// batch.copy(Owned::new(vec![1u32, 2, 3, 4]), a.at(0))?;
/// batch.fill(a.range(16..), 7u32)?;
/// batch.copy(a.range(8..24), b.at(0))?;
/// let values = batch.copy(b.at(0), Values::<u32>::new(4))?;
/// batch.commit()?;
/// assert_eq!(values.wait()?, [3, 4, 7, 7]);
/// # Ok::<(), metal_bridge::Error>(())
/// ```
pub struct Batch<'h> {
    // Dropped before the host memory, whose addresses it knows.
    handle: Handle<sys::mtb_transfer>,
    recording: Recording,
    host_memories: HostMemories,
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

    /// Adds a copy of all bytes of `source` to `destination`. It returns the [`Download`](super::Download) if the batch owns
    /// the destination, and nothing otherwise.
    ///
    /// The size comes from the end that has one: host memory, [`Buffer::range`](crate::Buffer::range) or
    /// [`Buffer::rows`](crate::Buffer::rows). [`Buffer::at`](crate::Buffer::at) and [`Rows`](super::Rows) take the other end's.
    /// If both ends have a size, the sizes must be the same. The other end of rows may be as many bytes in one piece, which then
    /// hold the rows without gaps. The buffers may have any storage mode.
    /// One of two buffers may belong to another device. If the devices are peers, whole words of a private source are read
    /// through a remote view; all else goes by way of system memory. Events order the other device's own queues, as always.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard conflicts, [`Error::ReadOnly`] for the destination, [`Error::OutOfRange`],
    /// [`Error::InvalidArgument`] for two sizes that differ, for no size, for a pitch smaller than the width and for an
    /// overlap, [`Error::WrongDevice`], [`Error::OutOfMemory`]. The batch stays as it was.
    pub fn copy<D: Destination<'h>>(
        &mut self,
        source: impl Source<'h>,
        destination: D,
    ) -> Result<D::Output> {
        self.add_copy("Batch::copy", source, destination)
    }

    pub(super) fn add_copy<D: Destination<'h>>(
        &mut self,
        function: &'static str,
        source: impl Source<'h>,
        destination: D,
    ) -> Result<D::Output> {
        let source = source.into_end(function)?;
        let (destination, output) = destination.into_end(function, &source)?;
        // SAFETY: the ends' types promise it. A batch that is run does not outlive 'h, which is 'static for one that is
        // committed.
        unsafe { self.add_ends(function, source, destination) }?;
        Ok(output)
    }

    /// # Safety
    ///
    /// Host memory of the ends is valid until the batch has completed or is dropped, or for as long as what the end owns: to
    /// read, and to write for nobody else. Host memory of a staged source has to be valid for the call only.
    unsafe fn add_ends(
        &mut self,
        function: &'static str,
        source: End,
        destination: End,
    ) -> Result<()> {
        let extent = source.common_extent(function, destination.extent)?;
        let from = source.place(function, extent)?;
        let to = destination.place(function, extent)?;
        if !extent.is_empty() {
            let ends = [(&source, Access::Read), (&destination, Access::Write)];
            let uses = ends
                .into_iter()
                .filter_map(|(end, access)| Some((end.as_buffer()?, access)));
            let (transfer, host) = (self.handle.as_ptr(), source.host_memory);
            // SAFETY: the transfer and the buffers are live, and the host memory is as the caller promises.
            let copy = || unsafe {
                check(|error| {
                    sys::mtb_transfer_copy(
                        transfer,
                        from,
                        to,
                        extent.width,
                        extent.height,
                        host,
                        error,
                    )
                })
            };
            self.recording.encode(function, uses, copy)?;
        }
        self.host_memories.keep(source.owner);
        self.host_memories.keep(destination.owner);
        Ok(())
    }

    /// Adds a fill of a range or of rows with `value`, again and again: a type of 1, 2 or 4 bytes, and a range or a width of
    /// a whole number of them.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard for CPU access lives, [`Error::ReadOnly`], [`Error::OutOfRange`],
    /// [`Error::InvalidArgument`] for a place without a size, [`Error::Misaligned`] for a part of a value,
    /// [`Error::OutOfMemory`]. The batch stays as it was.
    pub fn fill<T: Pod>(&mut self, destination: BufferPlace<'_>, value: T) -> Result<()> {
        self.add_fill("Batch::fill", destination, value)
    }

    pub(super) fn add_fill<T: Pod>(
        &mut self,
        function: &'static str,
        destination: BufferPlace<'_>,
        value: T,
    ) -> Result<()> {
        const {
            assert!(
                matches!(size_of::<T>(), 1 | 2 | 4),
                "a fill takes a value of 1, 2 or 4 bytes"
            )
        };
        let destination = destination.end(function)?;
        let Some(extent) = destination.extent else {
            let why = "Buffer::at gives no length to fill: use Buffer::range or Buffer::rows";
            return Err(Error::InvalidArgument(Failure::new(function, why)));
        };
        let place = destination.place(function, extent)?;
        if extent.is_empty() {
            return Ok(());
        }
        let (transfer, pattern) = (self.handle.as_ptr(), &raw const value);
        // SAFETY: the transfer and the buffer are live, and the pattern is copied.
        let fill = || unsafe {
            check(|error| {
                sys::mtb_transfer_fill(
                    transfer,
                    place,
                    extent.width,
                    extent.height,
                    pattern.cast(),
                    size_of::<T>(),
                    error,
                )
            })
        };
        let uses = destination
            .as_buffer()
            .map(|buffer| (buffer, Access::Write));
        self.recording.encode(function, uses, fill)
    }

    /// Hands the transfers over and waits for them. If the CPU sees source and destination, this thread copies, once what was
    /// committed to the queue before has completed.
    ///
    /// # Errors
    ///
    /// [`Error::CommandBuffer`] if the GPU failed, [`Error::OutOfMemory`], [`Error::Deadlock`] in a completion handler or
    /// a host function of the queue, and if this thread, or one that has ended, has [enqueued](crate::CommandBuffer::enqueue) a
    /// command buffer there and never committed it: nothing is committed then.
    pub fn run(self) -> Result<()> {
        self.run_for("Batch::run")
    }

    pub(super) fn run_for(self, function: &'static str) -> Result<()> {
        check_process(function)?;
        self.queue.slots().check_runs(function)?;
        let Batch {
            handle,
            recording,
            host_memories,
            queue,
            ..
        } = self;
        let position = queue.slots().draw_position();
        let (uses, _) = recording.start(&position);
        host_memories.start(&position);
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
    /// [`Error::OutOfMemory`], [`Error::Internal`]. If the queue has no free slot: [`Error::Timeout`] after ten minutes, or
    /// [`Error::Deadlock`] in a completion handler or a host function of the queue. The transfers are discarded then.
    pub fn commit(self) -> Result<Submission> {
        self.commit_for("Batch::commit", None)
    }

    /// [`commit`](Batch::commit) that waits for a slot in the queue no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`commit`](Batch::commit), with [`Error::Timeout`] after `timeout`.
    pub fn commit_timeout(self, timeout: Duration) -> Result<Submission> {
        self.commit_for("Batch::commit_timeout", Some(timeout))
    }

    pub(super) fn commit_for(
        self,
        function: &'static str,
        timeout: Option<Duration>,
    ) -> Result<Submission> {
        check_process(function)?;
        let timeout = timeout.map_or(sys::MTB_SLOT_TIMEOUT, nanoseconds);
        let Batch {
            handle,
            recording,
            host_memories,
            queue,
            ..
        } = self;
        let position = queue.slots().draw_position();
        let (uses, _) = recording.start(&position);
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
                host_memories.start(&position);
                let submission = Submission::new(handle, completion, queue, position);
                host_memories.finish_with(&submission);
                Ok(submission)
            }
            // After an exception nobody here knows whether the work runs: the host memory stays with it for ever. The
            // completion releases the buffers when the work has ended, or at once if Metal does not have it.
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
