//! Runs `shaders/grid_probe.metal`: how many threadgroups are resident together.

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::StorageMode;
use crate::metal::compute::DispatchType;
use crate::metal::device::Device;
use crate::metal::library::{CompileOptions, LanguageVersion};
use crate::metal::pipeline::{ComputePipeline, SIMD_WIDTH};
use crate::metal::queue::CommandQueue;

/// How often a threadgroup looks for others before it leaves: milliseconds on a GPU.
const PATIENCE: u32 = 1 << 14;
/// Threadgroup memory comes in units of as many bytes, and the probe uses the first.
const MEMORY_UNIT: usize = 16;

/// What a threadgroup occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Room {
    threads: usize,
    memory: usize,
}

#[derive(Debug)]
pub(super) struct Probe(ComputePipeline);

/// Whether the compiler lacks the version of the language. The error of a compilation does not tell: Metal has no code for
/// it. But then even an empty source fails, and does not without the version.
fn lacks(device: &Device, version: &CompileOptions) -> bool {
    let compiles = |options| device.new_library_with_source("\n", options).is_ok();
    !compiles(version) && compiles(&CompileOptions::new())
}

impl Probe {
    /// None if the compiler lacks `version`.
    pub(super) fn compile(device: &Device, version: LanguageVersion) -> Result<Option<Probe>> {
        let source = include_str!("../../shaders/grid_probe.metal");
        let options = CompileOptions::new().language_version(version);
        let library = match device.new_library_with_source(source, &options) {
            Ok(library) => library,
            Err(_) if lacks(device, &options) => return Ok(None),
            Err(error) => return Err(error),
        };
        let function = library.new_function("grid_probe")?;
        let pipeline = device.new_compute_pipeline_state(&function)?;
        Ok(Some(Probe(pipeline)))
    }

    /// Of a kernel's threadgroup, in the probe's threads: a kernel that needs many registers may have fewer threads, so each
    /// of them counts for more. The probe's threads come in whole SIMD-groups.
    pub(super) fn room(
        &self,
        function: &'static str,
        pipeline: &ComputePipeline,
        threads: usize,
        memory: usize,
    ) -> Result<Room> {
        let most = pipeline.max_total_threads_per_threadgroup();
        if threads == 0 || threads > most {
            let message =
                format!("threadgroups of {threads} threads: the kernel may have 1 to {most}");
            return Err(Error::OutOfRange(Failure::new(function, message)));
        }
        let own_most = self.0.max_total_threads_per_threadgroup();
        let threads = (threads * own_most.max(most))
            .div_ceil(most)
            .next_multiple_of(SIMD_WIDTH);
        let memory = pipeline
            .static_threadgroup_memory_length()
            .saturating_add(memory)
            .max(1)
            .checked_next_multiple_of(MEMORY_UNIT)
            .unwrap_or(usize::MAX);
        Ok(Room {
            threads: threads.min(own_most),
            memory,
        })
    }

    /// How many of `wanted` threadgroups were there at the same time, at least.
    pub(super) fn run(&self, queue: &CommandQueue, room: Room, wanted: usize) -> Result<usize> {
        // No GPU has as many, and the count has 31 bits.
        let wanted = wanted.min(1 << 16);
        let counts = queue
            .device()
            .new_buffer_with_data(&[0u32; 2], StorageMode::Shared)?;
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
        encoder.set_compute_pipeline_state(&self.0)?;
        encoder.set_value(&[wanted as u32, PATIENCE], 0)?;
        encoder.set_buffer(&counts, 0, 1)?;
        encoder.set_buffer(&counts, size_of::<u32>(), 2)?;
        encoder.set_threadgroup_memory_length(room.memory, 0)?;
        // SAFETY: the kernel reads two numbers at index 0, has a number at each of the indices 1 and 2, and at least 16 bytes
        // of threadgroup memory, of which it uses 16.
        unsafe { encoder.dispatch_threadgroups(wanted, room.threads)? };
        encoder.end_encoding()?;
        commands.commit()?.wait()?;
        Ok(counts.wait_read::<u32>()?[1] as usize)
    }
}

#[cfg(all(test, metal_backend))]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_without_the_version_has_no_probe() {
        let Ok(device) = Device::system_default() else {
            return;
        };
        let probe = |major, minor| Probe::compile(&device, LanguageVersion::new(major, minor));
        assert!(probe(3, 9).unwrap().is_none());
    }
}
