//! [`DispatchSequence`]: launches of operations that are recorded once and executed many times.

use std::fmt;
use std::mem;
use std::sync::Arc;

use crate::error::{Error, Failure, Result};
use crate::indirect::{IndirectCommandBuffer, IndirectCommandBufferDescriptor};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Device;
use crate::metal::guards::WriteGuard;
use crate::ops::target::launches::Take;
use crate::ops::target::{Dispatch, Grid, LaunchTarget};

/// Launches of operations that are recorded once, and that one call then executes any number of times.
///
/// They are the commands of an [`IndirectCommandBuffer`], and a buffer holds their arguments. Recording again replaces what differs:
/// arguments are written, and a command is encoded again if it has another kernel, grid, buffer or barrier.
///
/// ```
/// # fn main() -> metal_bridge::Result<()> {
/// # if !metal_bridge::is_available() { return Ok(()); }
/// use metal_bridge::ops::{DispatchSequence, LaunchTarget, Ops, RopePairing, RopeShape, rope_frequencies};
/// use metal_bridge::{Device, DispatchType, StorageMode};
///
/// let device = Device::system_default()?;
/// # if !device.supports_indirect_command_buffers() { return Ok(()); }
/// let ops = Ops::recordable(&device)?;
/// let frequencies = rope_frequencies(1e4, 4, 1.0, None)?;
/// let frequencies = device.new_buffer_with_data(&frequencies, StorageMode::Shared)?;
/// let (x, y) = (device.new_buffer(16, StorageMode::Shared)?, device.new_buffer(16, StorageMode::Shared)?);
/// let queue = device.new_command_queue()?;
/// let mut sequence = DispatchSequence::new(&device, 2)?;
///
/// for first_position in 5..8 {
///     x.wait_copy_from_slice(0, &[1.0f32; 4])?;
///     // The positions differ, so that the arguments of the first launch are written; the second one stays.
///     let (pairing, rows, heads) = (RopePairing::Interleaved, 1, 1);
///     let shape = RopeShape { rows, heads, head_size: 4, pairs: 2, magnitude: 1.0, first_position, pairing };
///     let mut recorder = sequence.record()?;
///     ops.rope(&mut recorder, &x, &frequencies, &shape)?;
///     recorder.memory_barrier()?;
///     if !recorder.keep() {
///         ops.silu_multiply(&mut recorder, &x, &x, &y, 4)?;
///     }
///     recorder.finish()?;
///
///     let mut command_buffer = queue.command_buffer()?;
///     let mut encoder = command_buffer.compute_command_encoder(DispatchType::Concurrent)?;
///     sequence.execute(&mut encoder)?;
///     encoder.end_encoding()?;
///     command_buffer.commit()?;
///     let silu = |x: f32| x / (1.0 + (-x).exp());
///     let rotated = (first_position as f32).cos() - (first_position as f32).sin();
///     assert!((y.wait_read::<f32>()?[0] - silu(rotated) * rotated).abs() < 1e-5);
/// }
/// # Ok(())
/// # }
/// ```
pub struct DispatchSequence {
    commands: IndirectCommandBuffer,
    /// [`STEP`] bytes for each command.
    arguments: Buffer,
    /// The commands that are encoded, from the first on. Each one fits to its arguments at any time, also after an error:
    /// whatever is executed, kernels stay within their operands.
    recorded: Vec<Recorded>,
    /// Whether all of them are of one recording.
    is_whole: bool,
}

/// From the arguments of a command to those of the next: a multiple of what offsets into `constant` memory need on any device.
const STEP: usize = 256;

/// What a command has. The commands keep the pipeline and the buffers alive, so that no others get the same addresses.
struct Recorded {
    pipeline: usize,
    grid: Grid,
    threadgroup_memory: usize,
    has_barrier: bool,
    places: Vec<(usize, usize)>,
}

/// The buffers of a dispatch, each with its offset.
fn places<'a>(dispatch: &Dispatch<'a>) -> impl Iterator<Item = (usize, usize)> + use<'a> {
    dispatch.bound().map(|(_, operand)| {
        let view = operand.view();
        (Arc::as_ptr(view.buffer().inner()) as usize, view.offset())
    })
}

impl Recorded {
    fn new(dispatch: &Dispatch<'_>, has_barrier: bool) -> Recorded {
        Recorded {
            pipeline: dispatch.pipeline.as_ptr() as usize,
            grid: dispatch.grid,
            threadgroup_memory: dispatch.threadgroup_memory,
            has_barrier,
            places: places(dispatch).collect(),
        }
    }

    fn is(&self, dispatch: &Dispatch<'_>, has_barrier: bool) -> bool {
        self.pipeline == dispatch.pipeline.as_ptr() as usize
            && self.grid == dispatch.grid
            && self.threadgroup_memory == dispatch.threadgroup_memory
            && self.has_barrier == has_barrier
            && self.places.iter().copied().eq(places(dispatch))
    }
}

impl DispatchSequence {
    /// A sequence of no launches yet, with room for `capacity` of them.
    ///
    /// # Errors
    ///
    /// Those of [`Device::new_indirect_command_buffer`] and [`Device::new_buffer`].
    pub fn new(device: &Device, capacity: usize) -> Result<DispatchSequence> {
        let descriptor = IndirectCommandBufferDescriptor {
            max_kernel_threadgroup_memory_bind_count: 1,
            ..IndirectCommandBufferDescriptor::default()
        };
        let commands = device.new_indirect_command_buffer(&descriptor, capacity)?;
        Ok(DispatchSequence {
            commands,
            arguments: device.new_buffer(capacity * STEP, StorageMode::Shared)?,
            recorded: Vec::with_capacity(capacity),
            is_whole: true,
        })
    }

    /// The launches that it has room for.
    pub fn capacity(&self) -> usize {
        self.commands.size()
    }

    /// The launches that are recorded.
    pub fn len(&self) -> usize {
        self.recorded.len()
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.recorded.is_empty()
    }

    /// Begins to record from the first launch on, once no committed command buffer executes the sequence.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer that is not committed executes the sequence, [`Error::Deadlock`] as
    /// [`Buffer::wait_write`] says.
    pub fn record(&mut self) -> Result<SequenceRecorder<'_>> {
        self.commands.wait_until_idle()?;
        let bytes = self.arguments.wait_write::<u8>()?;
        self.is_whole = false;
        Ok(SequenceRecorder {
            commands: &self.commands,
            arguments: &self.arguments,
            bytes,
            recorded: &mut self.recorded,
            is_whole: &mut self.is_whole,
            next: 0,
            has_barrier: false,
        })
    }

    /// Encodes all launches, with the barriers between them; they use their buffers from now until the command buffer has
    /// completed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidState`] if the last recording was not [finished](SequenceRecorder::finish), and those of
    /// [`ComputeEncoder::execute_commands_in_buffer`].
    pub fn execute(&self, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        const FUNCTION: &str = "DispatchSequence::execute";
        if !self.is_whole {
            let message =
                "the last recording was not finished: some launches may be of the one before it";
            return Err(Error::InvalidState(Failure::new(FUNCTION, message)));
        }
        encoder.execute_commands_in_buffer(&self.commands, 0..self.recorded.len())
    }
}

impl fmt::Debug for DispatchSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchSequence")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("is_whole", &self.is_whole)
            .finish()
    }
}

/// Records launches into a [`DispatchSequence`], whose operations are [`recordable`](crate::ops::Ops::recordable).
///
/// Launches run concurrently, except where [`memory_barrier`](LaunchTarget::memory_barrier) orders them.
/// [`keep`](LaunchTarget::keep) says whether the sequence has the next launch already, and keeps it with its operands,
/// arguments and barrier: it saves the call of an operation that launches one kernel, in each recording the same. A drop without
/// [`finish`](SequenceRecorder::finish) leaves a sequence that can only be recorded again.
pub struct SequenceRecorder<'a> {
    commands: &'a IndirectCommandBuffer,
    arguments: &'a Buffer,
    /// The arguments. As long as they are written here, nobody executes the commands.
    bytes: WriteGuard<'a, u8>,
    recorded: &'a mut Vec<Recorded>,
    is_whole: &'a mut bool,
    /// The command of the next launch.
    next: usize,
    /// Whether a barrier comes before the next launch.
    has_barrier: bool,
}

impl SequenceRecorder<'_> {
    /// Ends the recording: launches of an earlier one that come after the last launch of this one are forgotten.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`].
    pub fn finish(self) -> Result<()> {
        if self.next < self.recorded.len() {
            let forgotten = self.next..self.recorded.len();
            self.recorded.truncate(self.next);
            self.commands.reset(forgotten)?;
        }
        *self.is_whole = true;
        Ok(())
    }

    /// Encodes the command of the next launch anew.
    ///
    /// # Safety
    ///
    /// As [`Take::take`].
    unsafe fn encode(&self, dispatch: &Dispatch<'_>, has_barrier: bool) -> Result<()> {
        let mut command = self.commands.indirect_compute_command(self.next)?;
        command.reset()?;
        command.set_compute_pipeline_state(dispatch.pipeline)?;
        command.set_kernel_buffer(self.arguments, self.next * STEP, 0)?;
        for (index, operand) in dispatch.bound() {
            let view = operand.view();
            command.set_kernel_buffer(view.buffer(), view.offset(), index)?;
        }
        if dispatch.threadgroup_memory > 0 {
            command.set_threadgroup_memory_length(dispatch.threadgroup_memory, 0)?;
        }
        if has_barrier {
            command.set_barrier()?;
        }
        // SAFETY: every operand was checked to lie within its buffer, and the caller promises that the kernel stays within
        // them with these arguments. As long as the command is executed its arguments stay the same: only a recording writes
        // them, and encodes the command again, or forgets it, if these arguments need another grid.
        unsafe {
            match dispatch.grid {
                Grid::Threads { grid, threadgroup } => {
                    command.concurrent_dispatch_threads(grid, threadgroup)
                }
                Grid::Threadgroups {
                    groups,
                    threadgroup,
                } => command.concurrent_dispatch_threadgroups(groups, threadgroup),
            }
        }
    }
}

impl Take for SequenceRecorder<'_> {
    unsafe fn take(&mut self, dispatch: &Dispatch<'_>) -> Result<()> {
        let (index, length) = (self.next, dispatch.arguments.len());
        let refused = |message| Err(Error::OutOfRange(Failure::new(dispatch.function, message)));
        if index == self.commands.size() {
            return refused(format!("the sequence has room for {index} launches only"));
        }
        if length > STEP {
            return refused(format!(
                "the launch has {length} bytes of arguments, and a sequence takes {STEP}"
            ));
        }
        let has_barrier = mem::take(&mut self.has_barrier);
        let is_same = (self.recorded.get(index)).is_some_and(|old| old.is(dispatch, has_barrier));
        if !is_same {
            // From here on the command may be any part of the new one: without success it is not one of the sequence.
            let later = self.recorded.split_off(index);
            // SAFETY: the caller's promise.
            unsafe { self.encode(dispatch, has_barrier)? };
            self.recorded.push(Recorded::new(dispatch, has_barrier));
            self.recorded.extend(later.into_iter().skip(1));
        }
        let place = &mut self.bytes[index * STEP..][..length];
        if *place != *dispatch.arguments {
            place.copy_from_slice(dispatch.arguments);
        }
        self.next += 1;
        Ok(())
    }
}

impl LaunchTarget for SequenceRecorder<'_> {
    fn memory_barrier(&mut self) -> Result<()> {
        self.has_barrier = true;
        Ok(())
    }

    fn keep(&mut self) -> bool {
        let is_recorded = self.next < self.recorded.len();
        if is_recorded {
            self.next += 1;
            self.has_barrier = false;
        }
        is_recorded
    }
}

impl fmt::Debug for SequenceRecorder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequenceRecorder")
            .field("next", &self.next)
            .field("recorded", &self.recorded.len())
            .finish()
    }
}
