//! The side under test: naga's Metal output, through this repository's crate, as wgpu uses it on a Mac.

use metal_bridge::{
    Buffer, CommandQueue, CompileOptions, ComputePipeline, Device, DispatchType, MathMode,
    StorageMode,
};
use naga::proc::BoundsCheckPolicy;

use crate::module::{Checked, EntryPoint};
use crate::program::Program;
use crate::translation::{SIZES, Translation};

pub struct Metal {
    pub device: Device,
    queue: CommandQueue,
}

/// How a module is translated and compiled.
#[derive(Clone, Copy)]
pub struct Variant {
    pub name: &'static str,
    pub bounds: BoundsCheckPolicy,
    pub math: MathMode,
}

/// As wgpu does it on a Mac, and as strictly as can be.
pub const VARIANTS: [Variant; 2] = [
    Variant {
        name: "fast, indices restricted",
        bounds: BoundsCheckPolicy::Restrict,
        math: MathMode::Fast,
    },
    Variant {
        name: "safe, reads of zero",
        bounds: BoundsCheckPolicy::ReadZeroSkipWrite,
        math: MathMode::Safe,
    },
];

/// An entry point, translated and compiled.
pub struct Kernel {
    translation: Translation,
    pipeline: ComputePipeline,
}

/// Threadgroup memory comes in steps of so many bytes.
const MEMORY_STEP: usize = 16;

fn text(error: metal_bridge::Error) -> String {
    error.to_string()
}

impl Metal {
    pub fn new() -> Result<Metal, String> {
        let device = Device::system_default().map_err(text)?;
        let queue = device.new_command_queue().map_err(text)?;
        Ok(Metal { device, queue })
    }

    /// Makes a pipeline of an entry point.
    pub fn compile(
        &self,
        checked: &Checked,
        entry: &EntryPoint,
        variant: Variant,
    ) -> Result<Kernel, String> {
        let translation = Translation::new(checked, entry, variant.bounds)?;
        let options = CompileOptions::new().math_mode(variant.math);
        let pipeline = self
            .device
            .new_library_with_source(&translation.source, &options)
            .and_then(|library| library.new_function(&translation.function))
            .and_then(|function| self.device.new_compute_pipeline_state(&function))
            .map_err(text)?;
        Ok(Kernel {
            translation,
            pipeline,
        })
    }

    /// Launches a kernel on buffers that hold `contents`: what they hold afterwards.
    pub fn launch(
        &self,
        kernel: &Kernel,
        entry: &EntryPoint,
        program: &Program,
        contents: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, String> {
        self.try_launch(kernel, entry, program, contents)
            .map_err(text)
    }

    fn try_launch(
        &self,
        kernel: &Kernel,
        entry: &EntryPoint,
        program: &Program,
        contents: &[Vec<u8>],
    ) -> metal_bridge::Result<Vec<Vec<u8>>> {
        let buffers = contents
            .iter()
            .map(|bytes| self.device.new_buffer_with_data(bytes, StorageMode::Shared))
            .collect::<Result<Vec<Buffer>, _>>()?;
        let mut commands = self.queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
        encoder.set_compute_pipeline_state(&kernel.pipeline)?;
        for (index, (buffer, bound)) in buffers.iter().zip(&entry.bindings).enumerate() {
            match bound.written {
                true => encoder.set_buffer(buffer, 0, index)?,
                false => encoder.set_buffer_read_only(buffer, 0, index)?,
            }
        }
        let lengths: &[u8] = bytemuck::cast_slice(&kernel.translation.lengths);
        if !lengths.is_empty() {
            encoder.set_bytes(lengths, SIZES.into())?;
        }
        for (index, size) in kernel.translation.memory.iter().enumerate() {
            let size = size.next_multiple_of(MEMORY_STEP);
            encoder.set_threadgroup_memory_length(size, index)?;
        }
        let size = |[x, y, z]: [u32; 3]| (x as usize, y as usize, z as usize);
        // SAFETY: every argument of the kernel is bound, at the index and with the size and access that its module declares, and
        // naga's translation checks every index against the lengths that are bound with them.
        unsafe { encoder.dispatch_threadgroups(size(program.groups), size(entry.threads)) }?;
        encoder.end_encoding()?;
        commands.commit()?.wait()?;
        buffers
            .iter()
            .map(|buffer| Ok(buffer.wait_read::<u8>()?.to_vec()))
            .collect()
    }
}
