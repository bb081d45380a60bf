//! Commands that kernels encode: what kernels find commands and pipelines by, and the execution of what they encode.

use std::ops::Range;

use super::command_buffer::IndirectCommandBuffer;
use super::encoders::EncodedBy;
use super::inner::Used;
use crate::error::Result;
use crate::metal::access::Access;
use crate::metal::compute::ComputeEncoder;
use crate::metal::handle::check;
use crate::metal::pipeline::ComputePipeline;
use crate::sys;

fn known(resource_id: u64) -> Option<u64> {
    (resource_id != 0).then_some(resource_id)
}

impl IndirectCommandBuffer {
    /// What a kernel finds in a buffer as a `command_buffer` (`gpuResourceID`); `None` if the system does not tell.
    pub fn gpu_resource_id(&self) -> Option<u64> {
        let state = self.inner.lock("IndirectCommandBuffer::gpu_resource_id");
        // SAFETY: the commands are live, and this thread's while the lock is held.
        let id = |raw| unsafe { sys::mtb_indirect_command_buffer_gpu_resource_id(raw) };
        known(id(state.ok()?.handle.as_ptr()))
    }
}

impl ComputePipeline {
    /// What a kernel finds in a buffer as a `compute_pipeline_state` (`gpuResourceID`); `None` if the system does not
    /// tell. Commands take only pipelines that were made for [them](crate::Device::new_compute_pipeline_state_for_indirect_commands).
    pub fn gpu_resource_id(&self) -> Option<u64> {
        // SAFETY: the pipeline is live.
        known(unsafe { sys::mtb_pipeline_gpu_resource_id(self.as_ptr()) })
    }
}

/// Commands that kernels encode.
impl ComputeEncoder<'_> {
    /// Lets kernels of this encoder encode the commands (`useResource:usage:`). Encoders after it execute them, by
    /// [`execute_commands_of_kernels`](ComputeEncoder::execute_commands_of_kernels) alone, until the CPU has
    /// [reset](IndirectCommandBuffer::reset) them all in one call.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`](crate::Error::InUse) while the CPU encodes a command, and while a command buffer, committed or
    /// not, executes commands that kernels did not encode; [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn use_indirect_command_buffer(&mut self, commands: &IndirectCommandBuffer) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::use_indirect_command_buffer";
        let mut state = commands.inner.lock(FUNCTION)?;
        if !state.are_of_kernels {
            // Nobody may execute what the CPU has encoded after a kernel has changed it.
            commands.inner.begin_change(FUNCTION)?;
            commands.inner.tracker.end_cpu(Access::Write);
        }
        let raw = state.handle.as_ptr();
        let uses = [(Used::Commands(&commands.inner), Access::Write)];
        self.encode_launches(FUNCTION, uses, |encoder| {
            // SAFETY: both are live, and the commands are this thread's while their lock is held.
            unsafe { check(|error| sys::mtb_compute_encoder_use_commands(encoder, raw, error)) }
        })?;
        state.are_of_kernels = true;
        Ok(())
    }

    /// [`execute_commands_in_buffer`](ComputeEncoder::execute_commands_in_buffer) for commands that kernels of earlier
    /// encoders encode, which may inherit.
    ///
    /// # Errors
    ///
    /// As [`execute_inheriting_commands`](ComputeEncoder::execute_inheriting_commands).
    ///
    /// # Safety
    ///
    /// Nobody checks what a kernel encodes, and nothing keeps it alive. The caller promises for each command what
    /// [`dispatch_threads`](ComputeEncoder::dispatch_threads) asks, with the command's pipeline and buffers; that the
    /// pipelines live until the command buffer has completed; and that the encoder
    /// [uses](ComputeEncoder::use_buffer) the buffers.
    pub unsafe fn execute_commands_of_kernels(
        &mut self,
        commands: &IndirectCommandBuffer,
        range: Range<usize>,
    ) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::execute_commands_of_kernels";
        // SAFETY: the caller's promise.
        unsafe { self.execute_range(FUNCTION, commands, range, EncodedBy::Anyone) }
    }
}
