//! Indirect command buffers.

mod kernel_commands;
mod lifetimes;
mod nested;
mod order;
mod refusals;
mod results;
mod uses;

use std::ops::Range;

use metal_bridge::indirect::{IndirectCommandBuffer, IndirectCommandBufferDescriptor};

use crate::*;

const LENGTH: usize = 64;

fn in_use(error: &Error) -> bool {
    matches!(error, Error::InUse(_))
}

fn invalid_state(error: &Error) -> bool {
    matches!(error, Error::InvalidState(_))
}

fn out_of_range(error: &Error) -> bool {
    matches!(error, Error::OutOfRange(_))
}

fn indirect(name: &str) -> ComputePipeline {
    let function = LIBRARY.new_function(name).unwrap();
    device()
        .new_compute_pipeline_state_for_indirect_commands(&function)
        .unwrap()
}

fn new_commands(count: usize) -> IndirectCommandBuffer {
    let descriptor = IndirectCommandBufferDescriptor {
        max_kernel_buffer_bind_count: 3,
        max_kernel_threadgroup_memory_bind_count: 1,
        ..Default::default()
    };
    device()
        .new_indirect_command_buffer(&descriptor, count)
        .unwrap()
}

/// One dispatch of one of the kernels over whole buffers of `LENGTH` floats.
struct Launch<'a> {
    kernel: &'static str,
    buffers: Vec<(&'a Buffer, usize)>,
}

fn record(commands: &IndirectCommandBuffer, index: usize, launch: &Launch<'_>, barrier: bool) {
    let mut command = commands.indirect_compute_command(index).unwrap();
    command
        .set_compute_pipeline_state(&indirect(launch.kernel))
        .unwrap();
    for (binding, (buffer, offset)) in launch.buffers.iter().enumerate() {
        command.set_kernel_buffer(buffer, *offset, binding).unwrap();
    }
    if launch.kernel == "reverse" {
        command
            .set_threadgroup_memory_length(LENGTH * 4, 0)
            .unwrap();
    }
    if barrier {
        command.set_barrier().unwrap();
    }
    // SAFETY: each kernel touches one float of its buffers a thread.
    unsafe {
        match index % 2 {
            0 => command.concurrent_dispatch_threads(LENGTH, LENGTH),
            _ => command.concurrent_dispatch_threadgroups(1, LENGTH),
        }
        .unwrap();
    }
}

fn incrementing(values: &Buffer) -> Launch<'_> {
    Launch {
        kernel: "increment",
        buffers: vec![(values, 0)],
    }
}

fn record_increment(commands: &IndirectCommandBuffer, index: usize, values: &Buffer) {
    record(commands, index, &incrementing(values), true);
}

/// Encodes an execution, behind `gate` if there is one.
fn encode_execution(
    commands: &IndirectCommandBuffer,
    range: Range<usize>,
    gate: Option<&SharedEvent>,
) -> metal_bridge::Result<CommandBuffer> {
    encode_on(&queue(), commands, range, gate)
}

fn encode_on(
    queue: &CommandQueue,
    commands: &IndirectCommandBuffer,
    range: Range<usize>,
    gate: Option<&SharedEvent>,
) -> metal_bridge::Result<CommandBuffer> {
    let mut command_buffer = queue.command_buffer()?;
    if let Some(gate) = gate {
        command_buffer.encode_wait_for_event(gate, 1)?;
    }
    let mut encoder = command_buffer.compute_command_encoder(DispatchType::Serial)?;
    encoder.execute_commands_in_buffer(commands, range)?;
    encoder.end_encoding()?;
    Ok(command_buffer)
}

fn execute(commands: &IndirectCommandBuffer, range: Range<usize>) {
    let encoded = encode_execution(commands, range, None).unwrap();
    encoded.commit().unwrap().wait().unwrap();
}

fn random(state: &mut u64, below: usize) -> usize {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*state >> 33) as usize % below
}

/// The same by the encoder itself.
fn dispatch(encoder: &mut metal_bridge::ComputeEncoder<'_>, launch: &Launch<'_>) {
    encoder
        .set_compute_pipeline_state(&pipeline(launch.kernel))
        .unwrap();
    for (binding, (buffer, offset)) in launch.buffers.iter().enumerate() {
        encoder.set_buffer(buffer, *offset, binding).unwrap();
    }
    encoder
        .set_threadgroup_memory_length(LENGTH * 4, 0)
        .unwrap();
    // SAFETY: each kernel touches one float of its buffers a thread.
    unsafe { encoder.dispatch_threads(LENGTH, LENGTH).unwrap() };
}

fn contents(buffers: &[Buffer]) -> Vec<Vec<f32>> {
    let read = |buffer: &Buffer| buffer.wait_read::<f32>().unwrap().to_vec();
    buffers.iter().map(read).collect()
}
