//! [`IndirectComputeCommand`]: encodes one command.

use std::fmt;
use std::mem;

use super::inner::Inner;
use super::uses::Command;
use crate::error::Result;
use crate::metal::access::Access;
use crate::metal::buffer::Buffer;
use crate::metal::device::Size;
use crate::metal::handle::check;
use crate::metal::pipeline::ComputePipeline;
use crate::sys;

/// Encodes one command of an [`IndirectCommandBuffer`](super::IndirectCommandBuffer) (`MTLIndirectComputeCommand`), until
/// it is dropped.
///
/// The dispatch comes last: a command that has one takes no other pipeline, buffer, threadgroup memory or dispatch
/// ([`Error::InvalidState`](crate::Error::InvalidState)) until it is [`reset`](IndirectComputeCommand::reset).
pub struct IndirectComputeCommand<'a> {
    commands: &'a Inner,
    index: usize,
}

type Raw = *mut sys::mtb_indirect_command_buffer;

impl<'a> IndirectComputeCommand<'a> {
    /// A change of the command has begun. The drop ends it.
    pub(super) fn begun(commands: &'a Inner, index: usize) -> IndirectComputeCommand<'a> {
        IndirectComputeCommand { commands, index }
    }

    /// Calls the bridge, and then remembers what has changed. `remember` returns what is not needed any more.
    fn encode<T>(
        &mut self,
        call: impl FnOnce(Raw, usize) -> Result<()>,
        remember: impl FnOnce(&mut Command) -> T,
    ) -> Result<()> {
        let mut state = self.commands.lock("IndirectComputeCommand")?;
        call(state.handle.as_ptr(), self.index)?;
        let (command, forgotten) = state.change(self.index);
        let replaced = remember(command);
        drop(state);
        drop((replaced, forgotten));
        Ok(())
    }

    /// Chooses the kernel (`setComputePipelineState:`), which was made by
    /// [`new_compute_pipeline_state_for_indirect_commands`](crate::Device::new_compute_pipeline_state_for_indirect_commands).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for another pipeline,
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::InvalidState`](crate::Error::InvalidState) if the
    /// pipeline is inherited and after the dispatch.
    pub fn set_compute_pipeline_state(&mut self, pipeline: &ComputePipeline) -> Result<()> {
        let kernel = pipeline.as_ptr();
        self.encode(
            // SAFETY: both are live, and the commands are this thread's while the lock is held.
            |raw, index| unsafe {
                check(|error| sys::mtb_indirect_command_set_pipeline(raw, index, kernel, error))
            },
            |command| command.pipeline.replace(pipeline.clone()),
        )
    }

    /// Binds `buffer` from the byte at `offset` on (`setKernelBuffer:offset:atIndex:`). Whether the kernel may write it is
    /// what its arguments say; if the pipeline is inherited, the kernel may.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for the offset or the index,
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::InvalidState`](crate::Error::InvalidState) if buffers
    /// are inherited and after the dispatch.
    pub fn set_kernel_buffer(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        index: usize,
    ) -> Result<()> {
        let (bound, binding) = (buffer.as_ptr(), index);
        self.encode(
            // SAFETY: both are live, and the commands are this thread's while the lock is held.
            |raw, index| unsafe {
                check(|error| {
                    sys::mtb_indirect_command_set_buffer(raw, index, bound, offset, binding, error)
                })
            },
            |command| {
                let bound = command.buffers.iter_mut();
                let place = bound.into_iter().find(|(other, _)| *other == binding);
                match place {
                    Some((_, place)) => Some(mem::replace(place, buffer.clone())),
                    None => {
                        command.buffers.push((binding, buffer.clone()));
                        None
                    }
                }
            },
        )
    }

    /// Gives the threadgroup argument at `index` this many bytes, a multiple of 16
    /// (`setThreadgroupMemoryLength:atIndex:`).
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`](crate::Error::Misaligned), [`Error::OutOfRange`](crate::Error::OutOfRange) for more than the
    /// device has and for the index, [`Error::InvalidState`](crate::Error::InvalidState) after the dispatch.
    pub fn set_threadgroup_memory_length(&mut self, length: usize, index: usize) -> Result<()> {
        let binding = index;
        self.encode(
            // SAFETY: the commands are live, and this thread's while the lock is held.
            |raw, index| unsafe {
                check(|error| {
                    sys::mtb_indirect_command_set_threadgroup_memory(
                        raw, index, length, binding, error,
                    )
                })
            },
            |_| {},
        )
    }

    /// Lets the command wait for all commands before it that the same call executes (`setBarrier`).
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    pub fn set_barrier(&mut self) -> Result<()> {
        // Nothing else changes, so nothing is forgotten.
        let state = self.commands.lock("IndirectComputeCommand")?;
        let raw = state.handle.as_ptr();
        // SAFETY: the commands are live, and this thread's while the lock is held.
        unsafe { check(|error| sys::mtb_indirect_command_set_barrier(raw, self.index, error)) }
    }

    /// Undoes [`set_barrier`](IndirectComputeCommand::set_barrier) (`clearBarrier`).
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    pub fn clear_barrier(&mut self) -> Result<()> {
        // Nothing else changes, so nothing is forgotten.
        let state = self.commands.lock("IndirectComputeCommand")?;
        let raw = state.handle.as_ptr();
        // SAFETY: the commands are live, and this thread's while the lock is held.
        unsafe { check(|error| sys::mtb_indirect_command_clear_barrier(raw, self.index, error)) }
    }

    /// Launches the kernel on a grid of `threads` (`concurrentDispatchThreads:threadsPerThreadgroup:`), whenever the
    /// command is executed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if a size has a zero,
    /// [`Error::InvalidState`](crate::Error::InvalidState) without a pipeline, if the descriptor does not name this type of
    /// command, and if the command has a dispatch; [`Error::ReadOnly`](crate::Error::ReadOnly) if the kernel may write to
    /// memory that may only be read; and those of
    /// [`ComputeEncoder::dispatch_threads`](crate::ComputeEncoder::dispatch_threads).
    ///
    /// # Safety
    ///
    /// The caller promises for each execution of the command what
    /// [`ComputeEncoder::dispatch_threads`](crate::ComputeEncoder::dispatch_threads) asks. A buffer is bound for reading
    /// only if the kernel's arguments say so.
    pub unsafe fn concurrent_dispatch_threads(
        &mut self,
        threads: impl Into<Size>,
        threads_per_threadgroup: impl Into<Size>,
    ) -> Result<()> {
        const FUNCTION: &str = "IndirectComputeCommand::concurrent_dispatch_threads";
        let (grid, group) = (threads.into(), threads_per_threadgroup.into());
        self.launch(FUNCTION, |raw, index| {
            let (grid, group) = (grid.to_sys(), group.to_sys());
            // SAFETY: the commands are live, and this thread's while the lock is held; what the kernel does is the
            // caller's promise.
            unsafe {
                check(|error| {
                    sys::mtb_indirect_command_dispatch_threads(raw, index, grid, group, error)
                })
            }
        })
    }

    /// Launches the kernel on a grid of whole `threadgroups` (`concurrentDispatchThreadgroups:threadsPerThreadgroup:`).
    ///
    /// # Errors
    ///
    /// As [`concurrent_dispatch_threads`](IndirectComputeCommand::concurrent_dispatch_threads).
    ///
    /// # Safety
    ///
    /// As [`concurrent_dispatch_threads`](IndirectComputeCommand::concurrent_dispatch_threads).
    pub unsafe fn concurrent_dispatch_threadgroups(
        &mut self,
        threadgroups: impl Into<Size>,
        threads_per_threadgroup: impl Into<Size>,
    ) -> Result<()> {
        const FUNCTION: &str = "IndirectComputeCommand::concurrent_dispatch_threadgroups";
        let (grid, group) = (threadgroups.into(), threads_per_threadgroup.into());
        self.launch(FUNCTION, |raw, index| {
            let (grid, group) = (grid.to_sys(), group.to_sys());
            // SAFETY: the commands are live, and this thread's while the lock is held; what the kernel does is the
            // caller's promise.
            unsafe {
                check(|error| {
                    sys::mtb_indirect_command_dispatch_threadgroups(raw, index, grid, group, error)
                })
            }
        })
    }

    fn launch(
        &mut self,
        function: &'static str,
        call: impl FnOnce(Raw, usize) -> Result<()>,
    ) -> Result<()> {
        let mut state = self.commands.lock(function)?;
        let command = &state.commands[self.index];
        // Of an inherited kernel it is known only at the execution whether it writes.
        if command.pipeline.is_some() && !command.is_reset_by_gpu {
            let written = command.uses();
            for (buffer, _) in written.filter(|(_, access)| *access == Access::Write) {
                buffer.check_writable(function)?;
            }
        }
        call(state.handle.as_ptr(), self.index)?;
        let (command, forgotten) = state.change(self.index);
        command.has_dispatch = true;
        drop(state);
        drop(forgotten);
        Ok(())
    }

    /// Makes it a command that does nothing and has nothing set (`reset`).
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    pub fn reset(&mut self) -> Result<()> {
        let forgotten = self.commands.reset(self.index..self.index + 1)?;
        drop(forgotten);
        Ok(())
    }
}

impl Drop for IndirectComputeCommand<'_> {
    fn drop(&mut self) {
        self.commands.tracker.end_cpu(Access::Write);
    }
}

impl fmt::Debug for IndirectComputeCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndirectComputeCommand")
            .field("index", &self.index)
            .finish()
    }
}
