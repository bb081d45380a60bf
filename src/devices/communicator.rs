//! [`Communicator`]: devices that take part in collectives, and the queues whose order these keep.

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Failure, Result};
use crate::memory::{Memory, TransferQueue};
use crate::metal::buffer::Buffer;
use crate::metal::device::Device;
use crate::metal::event::SharedEvent;
use crate::ops::Ops;

/// Devices that exchange the contents of their buffers, each by a queue of its own: [`send`](Communicator::send),
/// [`broadcast`](Communicator::broadcast), [`scatter`](Communicator::scatter), [`gather`](Communicator::gather),
/// [`all_gather`](Communicator::all_gather) and [`all_reduce`](Communicator::all_reduce). A device is named by its index here, its rank.
///
/// ```
/// use metal_bridge::devices::{Combine, Communicator, Topology};
/// use metal_bridge::ops::DataType;
/// use metal_bridge::StorageMode;
///
/// # if !metal_bridge::is_available() { return Ok(()); }
/// let topology = Topology::discover()?;
/// let communicator = Communicator::new(topology.devices())?;
/// let mut partial_sums = Vec::new();
/// for (rank, device) in topology.devices().iter().enumerate() {
///     partial_sums.push(device.new_buffer_with_data(&[rank as f32, 1.0], StorageMode::Shared)?);
/// }
/// let buffers: Vec<_> = partial_sums.iter().collect();
/// communicator.all_reduce(&buffers, DataType::F32, Combine::Sum)?.wait()?;
/// let count = buffers.len() as f32;
/// for buffer in buffers {
///     assert_eq!(*buffer.wait_read::<f32>()?, [count * (count - 1.0) / 2.0, count]);
/// }
/// # Ok::<(), metal_bridge::Error>(())
/// ```
///
/// # Order
///
/// A collective returns when its work is committed. On each device it starts after everything that was committed to that device's
/// queue before it, and what is committed to the queue later starts after the device's part, when no other device reads the
/// buffers any more. Shared events order the queues among each other.
///
/// Calls of several threads are committed one after the other. A collective takes command buffers of the queues, at most two for each
/// step and two for its end, and waits if a queue has no free slot for one. None becomes free while a completion handler or a host
/// function of that queue runs, so a collective that one of these calls is [`Error::Deadlock`].
///
/// # Errors
///
/// Each collective checks numbers, devices and lengths of the buffers before anything happens:
///
/// - [`Error::OutOfRange`] for a rank that does not exist.
/// - [`Error::Deadlock`] in a completion handler or a host function of one of the queues.
/// - [`Error::InvalidArgument`] for a wrong number of buffers, for lengths that do not match, and for a buffer that is there twice,
///   since one of the two is written.
/// - [`Error::WrongDevice`] for a buffer of another device than that of its rank.
///
/// Other errors say at which device they happened. They come from the call if work could not be recorded or committed, as with
/// [`Batch::copy`](crate::memory::Batch::copy) and [`Batch::commit`](crate::memory::Batch::commit), and from the
/// [`Collective`](super::Collective) if the GPU failed. What the collective was to write is unspecified then. Everything that was
/// committed ends, and the communicator and its queues can go on.
pub struct Communicator {
    pub(super) members: Vec<Member>,
    /// The last value that the members' events have, or will have.
    last_value: Mutex<u64>,
}

/// A device that takes part.
pub(super) struct Member {
    pub(super) transfers: TransferQueue,
    pub(super) ops: Ops,
    /// Says how far the device has come. All members use the same values, which only rise.
    pub(super) event: SharedEvent,
}

impl Member {
    pub(super) fn device(&self) -> &Device {
        self.transfers.memory().device()
    }
}

impl Communicator {
    /// The devices, in this order, each with a [`Memory`] and a queue of its own.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] without a device, [`Error::OutOfMemory`].
    pub fn new(devices: &[Device]) -> Result<Communicator> {
        let queue = |device| Memory::new(device)?.new_transfer_queue();
        let queues: Vec<TransferQueue> = devices.iter().map(queue).collect::<Result<_>>()?;
        Communicator::with_queues(&queues)
    }

    /// The devices of these queues, in this order. The collectives come in the order of the queues, and take what memory they need
    /// from the queues' memories.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] without a queue, [`Error::OutOfMemory`].
    pub fn with_queues(queues: &[TransferQueue]) -> Result<Communicator> {
        if queues.is_empty() {
            let function = "Communicator::with_queues";
            let message = "a communicator needs at least one device";
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        let member = |transfers: &TransferQueue| {
            let device = transfers.memory().device();
            Ok(Member {
                ops: Ops::new(device)?,
                event: device.new_shared_event()?,
                transfers: transfers.clone(),
            })
        };
        Ok(Communicator {
            members: queues.iter().map(member).collect::<Result<_>>()?,
            last_value: Mutex::new(0),
        })
    }

    /// How many devices take part.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The queue of a device: what is committed there before a collective comes before it, and what is committed later after it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if there is no such device.
    pub fn queue(&self, rank: usize) -> Result<&TransferQueue> {
        self.check_rank("Communicator::queue", rank)?;
        Ok(&self.members[rank].transfers)
    }

    /// Other collectives are committed after the guard's end.
    pub(super) fn lock(&self) -> MutexGuard<'_, u64> {
        // Values that are drawn and not signalled do no harm.
        self.last_value
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A collective waits for slots, and for collectives of other threads, which wait for slots too.
    pub(super) fn check_thread(&self, function: &'static str) -> Result<()> {
        let mut queues = self.members.iter().map(|m| m.transfers.command_queue());
        let Some(rank) = queues.position(|queue| queue.slots().queue().is_in_callback()) else {
            return Ok(());
        };
        let message = format!(
            "this thread is in a completion handler or a host function of the queue of device {rank}, which may have no free \
             slot before that returns"
        );
        Err(Error::Deadlock(Failure::new(function, message)))
    }

    pub(super) fn check_rank(&self, function: &'static str, rank: usize) -> Result<()> {
        let count = self.size();
        if rank < count {
            return Ok(());
        }
        let message = format!("there is no device {rank}: the communicator has {count}");
        Err(Error::OutOfRange(Failure::new(function, message)))
    }

    /// Refuses another number of buffers than there are devices, and buffers of other devices.
    pub(super) fn check_buffers(
        &self,
        function: &'static str,
        what: &str,
        buffers: &[&Buffer],
    ) -> Result<()> {
        let (count, given) = (self.size(), buffers.len());
        if count != given {
            let message = format!("there are {given} {what} for {count} devices");
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        let mut ranks = buffers.iter().enumerate();
        ranks.try_for_each(|(rank, buffer)| {
            self.check_buffer(function, &format!("{what}[{rank}]"), rank, buffer)
        })
    }

    /// Refuses a buffer of another device than that of this rank.
    pub(super) fn check_buffer(
        &self,
        function: &'static str,
        what: &str,
        rank: usize,
        buffer: &Buffer,
    ) -> Result<()> {
        let (device, own) = (self.members[rank].device(), buffer.device());
        if device == own {
            return Ok(());
        }
        let message = format!(
            "{what} belongs to {}, and device {rank} is {}",
            own.name(),
            device.name()
        );
        Err(Error::WrongDevice(Failure::new(function, message)))
    }
}

/// Refuses buffers that are not as long as the first.
pub(super) fn check_lengths(function: &'static str, buffers: &[&Buffer]) -> Result<()> {
    let length = buffers[0].len();
    let other = buffers.iter().position(|buffer| buffer.len() != length);
    let Some(rank) = other else { return Ok(()) };
    let message = format!(
        "buffers[{rank}] has {} bytes, and buffers[0] has {length}",
        buffers[rank].len()
    );
    Err(Error::InvalidArgument(Failure::new(function, message)))
}

/// Refuses parts that are together not as long as the whole.
pub(super) fn check_sum(function: &'static str, parts: &[&Buffer], whole: &Buffer) -> Result<()> {
    let lengths = parts.iter().map(|part| part.len() as u128);
    let (sum, length) = (lengths.sum::<u128>(), whole.len());
    if sum == length as u128 {
        return Ok(());
    }
    let message = format!("the parts have {sum} bytes together, and the whole has {length}");
    Err(Error::InvalidArgument(Failure::new(function, message)))
}

/// Refuses bytes that are not in the buffer.
pub(super) fn check_range(
    function: &'static str,
    what: &str,
    buffer: &Buffer,
    range: &Range<usize>,
) -> Result<()> {
    let length = buffer.len();
    if range.start <= range.end && range.end <= length {
        return Ok(());
    }
    let (start, end) = (range.start, range.end);
    let message = format!("the bytes {start}..{end} are not in {what}, which has {length}");
    Err(Error::OutOfRange(Failure::new(function, message)))
}

/// Refuses a buffer that is there twice.
pub(super) fn check_distinct(function: &'static str, buffers: &[&Buffer]) -> Result<()> {
    for (index, buffer) in buffers.iter().enumerate() {
        if buffers[..index].iter().any(|other| other.is_same(buffer)) {
            let message = "a buffer is there twice, and one of the two is written";
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
    }
    Ok(())
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices = self.members.iter().map(|member| member.device().name());
        f.debug_tuple("Communicator")
            .field(&devices.collect::<Vec<_>>())
            .finish()
    }
}
