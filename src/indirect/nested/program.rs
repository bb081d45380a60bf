//! [`NestedKernels`]: functions, the queue of their launches, and how a run is encoded.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::HEADER;
use super::launch::{HEADER_BYTES, LAUNCH_BYTES, NestedLaunch, QueueHeader, saturated};
use crate::error::{Error, Failure, Result};
use crate::headers::inline_headers;
use crate::indirect::{
    IndirectCommandBuffer, IndirectCommandBufferDescriptor, MAX_INDIRECT_COMMANDS,
};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::command::CommandBuffer;
use crate::metal::completion::Outcome;
use crate::metal::compute::{ComputeEncoder, DispatchType};
use crate::metal::device::Device;
use crate::metal::library::CompileOptions;
use crate::metal::pipeline::ComputePipeline;

/// The most functions that launches choose from.
pub const MAX_NESTED_FUNCTIONS: usize = 16;
/// The most buffers that all launches share.
pub const MAX_NESTED_BUFFERS: usize = 8;

/// Where these buffers begin among a kernel's arguments: the queue and the launch stand before them.
pub(super) const FIRST_BUFFER: usize = 2;

const SHADER: &str = include_str!("../../../shaders/nested_kernels.metal");
/// Threads that encode a level.
const ENCODING_THREADS: usize = 256;
/// The first command of a level and their number.
pub(super) const RANGE_BYTES: usize = 8;

/// How large a run of nested kernels may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedLimits {
    /// The launches of all levels together, at most [`MAX_INDIRECT_COMMANDS`].
    pub launches: usize,
    /// The levels. Each costs two encoders, also if no launch is left for it.
    pub levels: usize,
}

/// Functions that launch each other, and the memory of one run at a time. [The module](super) has an example.
pub struct NestedKernels {
    pub(super) functions: Vec<ComputePipeline>,
    pub(super) limits: NestedLimits,
    pub(super) queue: Buffer,
    pub(super) ranges: Buffer,
    program: Buffer,
    commands: IndirectCommandBuffer,
    encode_level: ComputePipeline,
    /// Held while a run is encoded, and by `run` and `run_by_cpu` until they have read its outcome. Guards of the buffers
    /// alone would leave gaps: between the roots and the first encoder, and between two levels by the CPU.
    turn: Mutex<()>,
    /// How the run ended whose numbers the queue and the ranges hold: written under a guard of the queue that writes. None
    /// before the first run.
    last: Mutex<Option<Outcome>>,
}

pub(super) fn out_of_range(function: &'static str, message: String) -> Error {
    Error::OutOfRange(Failure::new(function, message))
}

fn unsupported() -> Error {
    let message = "the system does not tell GPU addresses and resource ids: macOS 13 does";
    Error::Unsupported(Failure::new("NestedKernels", message))
}

fn check_limits(functions: usize, limits: NestedLimits) -> Result<()> {
    let checks = [
        (functions, MAX_NESTED_FUNCTIONS, "functions"),
        (limits.launches, MAX_INDIRECT_COMMANDS, "launches"),
        (limits.levels, MAX_INDIRECT_COMMANDS, "levels"),
    ];
    for (count, most, what) in checks {
        if count == 0 || count > most {
            let message = format!("{count} {what} are not from 1 to {most}");
            return Err(out_of_range("NestedKernels::new", message));
        }
    }
    Ok(())
}

impl NestedKernels {
    /// Makes the memory of a run. The functions were made by
    /// [`new_compute_pipeline_state_for_indirect_commands`](Device::new_compute_pipeline_state_for_indirect_commands).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for limits of zero or above Metal's, [`Error::InvalidArgument`] for functions that were not
    /// made for indirect commands, [`Error::WrongDevice`], [`Error::OutOfMemory`]; [`Error::Unsupported`] if the device
    /// executes no indirect commands or the system does not tell GPU addresses.
    pub fn new(
        device: &Device,
        functions: &[ComputePipeline],
        limits: NestedLimits,
    ) -> Result<NestedKernels> {
        check_limits(functions.len(), limits)?;
        for function in functions {
            check_function(device, function)?;
        }
        let descriptor = IndirectCommandBufferDescriptor {
            max_kernel_buffer_bind_count: FIRST_BUFFER + MAX_NESTED_BUFFERS,
            ..Default::default()
        };
        let commands = device.new_indirect_command_buffer(&descriptor, limits.launches)?;
        let source = inline_headers(
            "nested_kernels.metal",
            SHADER,
            &[("nested_kernels.h", HEADER)],
        );
        let library = device.new_library_with_source(&source, &CompileOptions::new())?;
        let encode_level =
            device.new_compute_pipeline_state(&library.new_function("encode_level")?)?;
        let shared = |bytes| device.new_buffer(bytes, StorageMode::Shared);
        let program = shared(Program::BYTES)?;
        Ok(NestedKernels {
            functions: functions.to_vec(),
            limits,
            queue: shared(HEADER_BYTES + LAUNCH_BYTES * limits.launches)?,
            ranges: shared(RANGE_BYTES * limits.levels)?,
            program,
            commands,
            encode_level,
            turn: Mutex::new(()),
            last: Mutex::default(),
        })
    }

    /// What a run may need.
    pub fn limits(&self) -> NestedLimits {
        self.limits
    }

    /// Encodes a run that begins with the launches `roots`. All launches have `buffers` from index 2 on.
    /// [`outcome`](NestedKernels::outcome) tells how it ended.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] as long as another run has not ended, [`Error::OutOfRange`] for more roots or buffers than there may
    /// be, [`Error::WrongDevice`], [`Error::InvalidState`] while another encoder is open.
    ///
    /// # Safety
    ///
    /// For each launch, also by kernels, the caller promises what
    /// [`dispatch_threads`](ComputeEncoder::dispatch_threads) asks: a function gets the queue, its launch, and then
    /// `buffers`, as many and as large as it expects. Kernels change the queue by `append` alone. Launches of one level run
    /// side by side. `self` lives until the command buffer has completed.
    pub unsafe fn encode(
        &self,
        command_buffer: &mut CommandBuffer,
        roots: &[NestedLaunch],
        buffers: &[&Buffer],
    ) -> Result<()> {
        let _turn = self.take_turn("NestedKernels::encode")?;
        // SAFETY: the caller's promise, and it is this thread's turn.
        unsafe { self.encode_run(command_buffer, roots, buffers) }
    }

    /// [`Error::InUse`] if another thread encodes a run, or waits for one.
    pub(super) fn take_turn(&self, function: &'static str) -> Result<MutexGuard<'_, ()>> {
        match self.turn.try_lock() {
            Ok(turn) => Ok(turn),
            // The mutex has no value that a panic could spoil.
            Err(TryLockError::Poisoned(poisoned)) => Ok(PoisonError::into_inner(poisoned)),
            Err(TryLockError::WouldBlock) => {
                let message = "another thread runs these nested kernels";
                Err(Error::InUse(Failure::new(function, message)))
            }
        }
    }

    /// # Safety
    ///
    /// As [`encode`](NestedKernels::encode), by the thread whose turn it is.
    pub(super) unsafe fn encode_run(
        &self,
        command_buffer: &mut CommandBuffer,
        roots: &[NestedLaunch],
        buffers: &[&Buffer],
    ) -> Result<()> {
        let outcome = self.begin(roots, buffers)?;
        for level in 0..self.limits.levels {
            let mut encoder = command_buffer.compute_command_encoder(DispatchType::Serial)?;
            self.encode_commands(&mut encoder, level)?;
            encoder.end_encoding()?;
            let mut encoder = command_buffer.compute_command_encoder(DispatchType::Serial)?;
            encoder.use_buffer(&self.queue)?;
            for buffer in buffers {
                encoder.use_buffer(buffer)?;
            }
            // SAFETY: the kernel before it has written a range of the commands that it has encoded; they use what this
            // encoder uses, the functions live as long as `self`, whose run it is, and the kernels are the caller's promise.
            unsafe {
                let offset = level * RANGE_BYTES;
                encoder.execute_commands_in_buffer_indirect(
                    &self.commands,
                    &self.ranges,
                    offset,
                )?;
            }
            encoder.end_encoding()?;
        }
        // Not before: a run that is encoded in part has no outcome, whatever becomes of the command buffer.
        command_buffer.add_outcome(outcome);
        Ok(())
    }

    /// Puts the roots into the queue, and what the kernel that encodes needs into its buffer. Gives the place for how the run
    /// ends.
    pub(super) fn begin(&self, roots: &[NestedLaunch], buffers: &[&Buffer]) -> Result<Outcome> {
        const FUNCTION: &str = "NestedKernels::encode";
        let checks = [
            (roots.len(), self.limits.launches, "launches"),
            (buffers.len(), MAX_NESTED_BUFFERS, "buffers"),
        ];
        for (count, most, what) in checks {
            if count > most {
                let message = format!("{count} {what} are too many: the most are {most}");
                return Err(out_of_range(FUNCTION, message));
            }
        }
        let program = Program::new(&self.commands, &self.functions, buffers)?;
        self.program.try_write::<u64>()?.copy_from_slice(&program.0);
        let mut ranges = self.ranges.try_write::<u32>()?;
        ranges.fill(0);
        drop(ranges);
        let header = QueueHeader {
            appended: roots.len() as u32,
            capacity: self.limits.launches as u32,
            ..Default::default()
        };
        let mut queue = self.queue.try_write::<u8>()?;
        queue[..HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&header));
        let launches: &[u8] = bytemuck::cast_slice(roots);
        queue[HEADER_BYTES..][..launches.len()].copy_from_slice(launches);
        let outcome = Outcome::default();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.clone());
        drop(queue);
        Ok(outcome)
    }

    /// How the last run ended. The caller has a guard of the queue, so that no other run begins meanwhile.
    pub(super) fn last(&self) -> Option<Outcome> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    fn encode_commands(&self, encoder: &mut ComputeEncoder<'_>, level: usize) -> Result<()> {
        encoder.set_compute_pipeline_state(&self.encode_level)?;
        encoder.set_buffer_read_only(&self.program, 0, 0)?;
        encoder.set_buffer(&self.queue, 0, 1)?;
        encoder.set_buffer(&self.ranges, 0, 2)?;
        encoder.set_value(&(level as u32), 3)?;
        encoder.use_indirect_command_buffer(&self.commands)?;
        let threads = ENCODING_THREADS.min(self.encode_level.max_total_threads_per_threadgroup());
        // SAFETY: one threadgroup, and buffers that have places for all launches and levels.
        unsafe { encoder.dispatch_threadgroups(1, threads) }
    }
}

impl std::fmt::Debug for NestedKernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NestedKernels")
            .field("functions", &self.functions.len())
            .field("limits", &self.limits)
            .finish()
    }
}

fn check_function(device: &Device, function: &ComputePipeline) -> Result<()> {
    const FUNCTION: &str = "NestedKernels::new";
    if function.device() != device {
        let message = "a function's pipeline belongs to another device";
        return Err(Error::WrongDevice(Failure::new(FUNCTION, message)));
    }
    if !function.support_indirect_command_buffers() {
        let message = "a function's pipeline was not made for indirect commands";
        return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
    }
    Ok(())
}

/// `Program` of `nested_kernels.metal`, in words of 64 bits: the commands, functions and buffers, and then numbers of 32
/// bits.
struct Program([u64; Program::WORDS]);

impl Program {
    const BUFFERS: usize = 1 + MAX_NESTED_FUNCTIONS;
    const NUMBERS: usize = Program::BUFFERS + MAX_NESTED_BUFFERS;
    const WORDS: usize = Program::NUMBERS + (MAX_NESTED_FUNCTIONS + 2) / 2;
    const BYTES: usize = 8 * Program::WORDS;

    fn new(
        commands: &IndirectCommandBuffer,
        functions: &[ComputePipeline],
        buffers: &[&Buffer],
    ) -> Result<Program> {
        let mut words = [0; Program::WORDS];
        words[0] = commands.gpu_resource_id().ok_or_else(unsupported)?;
        for (word, function) in words[1..].iter_mut().zip(functions) {
            *word = function.gpu_resource_id().ok_or_else(unsupported)?;
        }
        for (word, buffer) in words[Program::BUFFERS..].iter_mut().zip(buffers) {
            *word = buffer.gpu_address().ok_or_else(unsupported)?;
        }
        let numbers: &mut [u32] = bytemuck::cast_slice_mut(&mut words[Program::NUMBERS..]);
        for (number, function) in numbers.iter_mut().zip(functions) {
            *number = saturated(function.max_total_threads_per_threadgroup());
        }
        numbers[MAX_NESTED_FUNCTIONS] = saturated(functions.len());
        numbers[MAX_NESTED_FUNCTIONS + 1] = saturated(buffers.len());
        Ok(Program(words))
    }
}
