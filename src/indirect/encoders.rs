//! Encoders that execute, reset and optimise commands, and dispatches whose size the GPU reads.

use std::ops::Range;

use super::command_buffer::IndirectCommandBuffer;
use super::inner::Used;
use super::uses::Command;
use crate::error::{Error, Failure, Result};
use crate::metal::access::Access;
use crate::metal::blit::BlitEncoder;
use crate::metal::buffer::Buffer;
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::metal::handle::check;
use crate::sys;

/// Whose commands a call executes: what kernels have encoded, only the caller can know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EncodedBy {
    Cpu,
    Anyone,
}

/// Executions of indirect commands.
impl ComputeEncoder<'_> {
    /// Executes the commands of the range (`executeCommandsInBuffer:withRange:`). They use their buffers from now until
    /// the command buffer has completed.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for commands that do not exist, [`Error::InUse`] while a command is being encoded or a guard
    /// for CPU access to one of the buffers conflicts, [`Error::InvalidState`] if the commands inherit something and if
    /// kernels [encode](ComputeEncoder::use_indirect_command_buffer) commands, [`Error::WrongDevice`].
    pub fn execute_commands_in_buffer(
        &mut self,
        commands: &IndirectCommandBuffer,
        range: Range<usize>,
    ) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::execute_commands_in_buffer";
        if commands.descriptor().inherits() {
            let message = "the commands inherit from the encoder: use execute_inheriting_commands";
            return Err(Error::InvalidState(Failure::new(FUNCTION, message)));
        }
        // SAFETY: who encoded the commands has promised that their kernels may run with what they have.
        unsafe { self.execute_range(FUNCTION, commands, range, EncodedBy::Cpu) }
    }

    /// [`execute_commands_in_buffer`](ComputeEncoder::execute_commands_in_buffer) for commands that have the encoder's
    /// pipeline, buffers or both.
    ///
    /// # Errors
    ///
    /// As [`execute_commands_in_buffer`](ComputeEncoder::execute_commands_in_buffer), except that the commands may
    /// inherit; [`Error::InvalidState`] if they inherit a pipeline and none is set, [`Error::InvalidArgument`] if it was
    /// not made for indirect commands, [`Error::MissingArgument`] and [`Error::OutOfRange`] if a command does not fit to
    /// what it inherits, [`Error::ReadOnly`] if a command that inherits its pipeline has a buffer that may only be read.
    ///
    /// # Safety
    ///
    /// As [`dispatch_threads`](ComputeEncoder::dispatch_threads), for each command with what it inherits.
    pub unsafe fn execute_inheriting_commands(
        &mut self,
        commands: &IndirectCommandBuffer,
        range: Range<usize>,
    ) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::execute_inheriting_commands";
        // SAFETY: the caller's promise.
        unsafe { self.execute_range(FUNCTION, commands, range, EncodedBy::Cpu) }
    }

    /// # Safety
    ///
    /// The kernels may run with what the commands have and inherit.
    pub(super) unsafe fn execute_range(
        &mut self,
        function: &'static str,
        commands: &IndirectCommandBuffer,
        range: Range<usize>,
        by: EncodedBy,
    ) -> Result<()> {
        commands.inner.check_range(function, &range)?;
        if range.is_empty() {
            return Ok(());
        }
        let (first, count) = (range.start, range.len());
        self.execute(function, commands, &range, None, by, |encoder, raw| {
            // SAFETY: both are live, and the commands are this thread's while their lock is held; what the kernels do is
            // the caller's promise.
            unsafe {
                check(|error| {
                    sys::mtb_compute_encoder_execute_commands(encoder, raw, first, count, error)
                })
            }
        })
    }

    /// Executes a range that the GPU reads from `buffer` when it comes to this
    /// (`executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:`): the first command and the number of commands, a
    /// `u32` each, at `offset`, which is a multiple of 4. All commands count as executed.
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`] and [`Error::OutOfRange`] for the offset, [`Error::InUse`], [`Error::WrongDevice`], and what
    /// [`execute_inheriting_commands`](ComputeEncoder::execute_inheriting_commands) says.
    ///
    /// # Safety
    ///
    /// Nobody checks what the GPU reads. The caller promises that the range is within the commands, for each command
    /// that inherits what [`dispatch_threads`](ComputeEncoder::dispatch_threads) asks, and for each that a kernel has
    /// encoded what [`execute_commands_of_kernels`](ComputeEncoder::execute_commands_of_kernels) asks.
    pub unsafe fn execute_commands_in_buffer_indirect(
        &mut self,
        commands: &IndirectCommandBuffer,
        buffer: &Buffer,
        offset: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::execute_commands_in_buffer_indirect";
        let (range, from) = (0..commands.size(), buffer.as_ptr());
        let by = EncodedBy::Anyone;
        self.execute(
            FUNCTION,
            commands,
            &range,
            Some(buffer),
            by,
            |encoder, raw| {
                // SAFETY: all are live, and the commands are this thread's while their lock is held; the range and what the
                // kernels do are the caller's promise.
                unsafe {
                    check(|error| {
                        sys::mtb_compute_encoder_execute_commands_indirect(
                            encoder, raw, from, offset, error,
                        )
                    })
                }
            },
        )
    }

    fn execute(
        &mut self,
        function: &'static str,
        commands: &IndirectCommandBuffer,
        range: &Range<usize>,
        arguments: Option<&Buffer>,
        by: EncodedBy,
        encode: impl FnOnce(
            *mut sys::mtb_compute_encoder,
            *mut sys::mtb_indirect_command_buffer,
        ) -> Result<()>,
    ) -> Result<()> {
        let mut state = commands.inner.lock(function)?;
        if by == EncodedBy::Cpu && state.are_of_kernels {
            let message = "kernels encode the commands: use execute_commands_of_kernels";
            return Err(Error::InvalidState(Failure::new(function, message)));
        }
        let raw = state.handle.as_ptr();
        let buffers = state.uses(range).iter();
        let uses = std::iter::once((Used::Commands(&commands.inner), Access::Read))
            .chain(arguments.map(|buffer| (Used::Buffer(buffer), Access::Read)))
            .chain(buffers.map(|(buffer, access)| (Used::Buffer(buffer), *access)));
        self.encode_launches(function, uses, |encoder| encode(encoder, raw))
    }

    /// Launches the kernel on whole threadgroups whose number the GPU reads from `buffer` when it comes to this
    /// (`dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:threadsPerThreadgroup:`): three `u32`, one for each
    /// dimension, at `offset`, which is a multiple of 4.
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`] and [`Error::OutOfRange`] for the offset, [`Error::InvalidArgument`] for a threadgroup of no
    /// threads, [`Error::InUse`], and those of [`dispatch_threadgroups`](ComputeEncoder::dispatch_threadgroups).
    ///
    /// # Safety
    ///
    /// As [`dispatch_threadgroups`](ComputeEncoder::dispatch_threadgroups), for whatever the GPU reads.
    pub unsafe fn dispatch_threadgroups_indirect(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        threads_per_threadgroup: impl Into<Size>,
    ) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::dispatch_threadgroups_indirect";
        let (raw, group) = (buffer.as_ptr(), threads_per_threadgroup.into().to_sys());
        self.encode_launches(FUNCTION, [(buffer, Access::Read)], |encoder| {
            // SAFETY: both are live; what the kernel does is the caller's promise.
            unsafe {
                check(|error| {
                    sys::mtb_compute_encoder_dispatch_threadgroups_indirect(
                        encoder, raw, offset, group, error,
                    )
                })
            }
        })
    }
}

/// What blit encoders do with indirect commands.
impl BlitEncoder<'_> {
    /// Makes commands that do nothing of those in the range when the GPU comes to this
    /// (`resetCommandsInBuffer:withRange:`). They keep their pipelines and buffers, and executing them counts as using
    /// these, until they are encoded again or [reset](IndirectCommandBuffer::reset). They may be encoded again once the command
    /// buffer has completed or is dropped: that resets them first, even if the GPU never came to this. Barriers do not count as
    /// encoding.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], [`Error::InUse`] while a command is being encoded, [`Error::WrongDevice`].
    pub fn reset_commands_in_buffer(
        &mut self,
        commands: &IndirectCommandBuffer,
        range: Range<usize>,
    ) -> Result<()> {
        const FUNCTION: &str = "BlitEncoder::reset_commands_in_buffer";
        let reset = |encoder, raw, first, count| {
            // SAFETY: both are live, and the commands are this thread's while their lock is held.
            unsafe {
                check(|error| {
                    sys::mtb_blit_encoder_reset_commands(encoder, raw, first, count, error)
                })
            }
        };
        self.touch(FUNCTION, commands, range, reset, |command| {
            command.is_reset_by_gpu = true
        })
    }

    /// Lets the GPU make the commands of the range faster to execute
    /// (`optimizeIndirectCommandBuffer:withRange:`).
    ///
    /// # Errors
    ///
    /// As [`reset_commands_in_buffer`](BlitEncoder::reset_commands_in_buffer).
    pub fn optimize_indirect_command_buffer(
        &mut self,
        commands: &IndirectCommandBuffer,
        range: Range<usize>,
    ) -> Result<()> {
        const FUNCTION: &str = "BlitEncoder::optimize_indirect_command_buffer";
        let optimize = |encoder, raw, first, count| {
            // SAFETY: both are live, and the commands are this thread's while their lock is held.
            unsafe {
                check(|error| {
                    sys::mtb_blit_encoder_optimize_commands(encoder, raw, first, count, error)
                })
            }
        };
        self.touch(FUNCTION, commands, range, optimize, |_| {})
    }

    fn touch(
        &mut self,
        function: &'static str,
        commands: &IndirectCommandBuffer,
        range: Range<usize>,
        call: impl FnOnce(
            *mut sys::mtb_blit_encoder,
            *mut sys::mtb_indirect_command_buffer,
            usize,
            usize,
        ) -> Result<()>,
        remember: impl FnMut(&mut Command),
    ) -> Result<()> {
        commands.inner.check_range(function, &range)?;
        if range.is_empty() {
            return Ok(());
        }
        let mut state = commands.inner.lock(function)?;
        let raw = state.handle.as_ptr();
        let uses = [(Used::Commands(&commands.inner), Access::Write)];
        self.encode(function, uses, |encoder| {
            call(encoder, raw, range.start, range.len())
        })?;
        state.commands[range].iter_mut().for_each(remember);
        Ok(())
    }
}
