//! Indirect command buffers: dispatches that the CPU encodes once and many command buffers execute, and dispatches whose
//! size the GPU reads from a buffer.
//!
//! An [`IndirectCommandBuffer`] has a fixed number of commands. A command is a dispatch with a pipeline, buffers and
//! threadgroup memory of its own; a new one does nothing. Commands that one call executes may overlap and run in any
//! order, except that a command with a [barrier](IndirectComputeCommand::set_barrier) waits for those before it.
//!
//! To execute commands counts for their buffers as the same dispatches would: CPU access to the buffers waits or is
//! refused, and they live until the work has completed. As long as a command buffer executes the commands, from the call
//! that encodes that until the command buffer has completed or was dropped, nobody can change them
//! ([`Error::InUse`](crate::Error::InUse)).
//!
//! ```
//! # fn main() -> metal_bridge::Result<()> {
//! # if !metal_bridge::is_available() { return Ok(()); }
//! use metal_bridge::indirect::IndirectCommandBufferDescriptor;
//! use metal_bridge::{CompileOptions, Device, DispatchType, StorageMode};
//!
//! let device = Device::system_default()?;
//! # if !device.supports_indirect_command_buffers() { return Ok(()); }
//! let source = "kernel void triple(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 3; }";
//! let library = device.new_library_with_source(source, &CompileOptions::default())?;
//! let function = library.new_function("triple")?;
//! let triple = device.new_compute_pipeline_state_for_indirect_commands(&function)?;
//! let x = device.new_buffer_with_data(&[1.0f32, 2.0, 3.0, 4.0], StorageMode::Shared)?;
//!
//! // Once: two commands, the second of which waits for the first.
//! let descriptor = IndirectCommandBufferDescriptor {
//!     max_kernel_buffer_bind_count: 1,
//!     ..Default::default()
//! };
//! let commands = device.new_indirect_command_buffer(&descriptor, 2)?;
//! for index in 0..2 {
//!     let mut command = commands.indirect_compute_command(index)?;
//!     command.set_compute_pipeline_state(&triple)?;
//!     command.set_kernel_buffer(&x, 0, 0)?;
//!     command.set_barrier()?;
//!     // SAFETY: four threads, and four floats.
//!     unsafe { command.concurrent_dispatch_threads(4, 4)? };
//! }
//!
//! // Any number of times: execute them.
//! let queue = device.new_command_queue()?;
//! for _ in 0..2 {
//!     let mut command_buffer = queue.command_buffer()?;
//!     let mut encoder = command_buffer.compute_command_encoder(DispatchType::Serial)?;
//!     encoder.execute_commands_in_buffer(&commands, 0..2)?;
//!     encoder.end_encoding()?;
//!     command_buffer.commit()?;
//! }
//! assert_eq!(*x.wait_read::<f32>()?, [81.0, 162.0, 243.0, 324.0]);
//! # Ok(())
//! # }
//! ```

mod command;
mod command_buffer;
mod descriptor;
mod encoders;
mod inner;
mod kernel_commands;
pub mod nested;
mod uses;

pub use command::IndirectComputeCommand;
pub use command_buffer::IndirectCommandBuffer;
pub use descriptor::{IndirectCommandBufferDescriptor, MAX_INDIRECT_COMMANDS};
