//! The safe handles: every kind of object, every storage mode, what each bad argument gives, and who may access what when.
#![cfg(metal_backend)]

mod access;
mod blit;
mod buffer;
mod command;
mod compute;
mod device;
mod drops;
mod event;
mod failures;
mod fork;
mod functions;
mod indirect;
mod leaks;
mod library;
mod loans;
mod no_copy;

use std::sync::LazyLock;
use std::time::Duration;

use metal_bridge::{
    Buffer, CommandBuffer, CommandQueue, CompileOptions, ComputePipeline, Device, DispatchType,
    Error, Library, SharedEvent, StorageMode, Submission,
};
use metal_bridge_test_support::{
    LONG, MODES, SHORT, assert_error, complete_nothing, device, other_device, queue, wait_for,
};

const KERNELS: &str = r#"
#include <metal_stdlib>
using namespace metal;

constant float factor [[function_constant(0)]];

kernel void increment(device float *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    values[i] += 1.0f;
}

kernel void increment_second(device float *values[2] [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    values[1][i] += 1.0f;
}

kernel void add(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                device float *sum [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    sum[i] = a[i] + b[i];
}

kernel void scale(device float *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    values[i] *= factor;
}

struct Line { float slope; float intercept; };

kernel void line(constant Line &line [[buffer(0)]], device float *values [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    values[i] = line.slope * values[i] + line.intercept;
}

kernel void reverse(device float *values [[buffer(0)]], threadgroup float *copy [[threadgroup(0)]],
                    uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    copy[i] = values[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    values[i] = copy[n - 1 - i];
}
"#;

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    device()
        .new_library_with_source(KERNELS, &CompileOptions::new())
        .expect("the test's kernels compile")
});

fn pipeline(name: &str) -> ComputePipeline {
    let function = LIBRARY.new_function(name).unwrap();
    device().new_compute_pipeline_state(&function).unwrap()
}

fn shared(values: &[f32]) -> Buffer {
    device()
        .new_buffer_with_data(values, StorageMode::Shared)
        .unwrap()
}

/// Encodes `values[i] += 1` for the whole buffer.
fn encode_increment(commands: &mut CommandBuffer, values: &Buffer) {
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder
        .set_compute_pipeline_state(&pipeline("increment"))
        .unwrap();
    encoder.set_buffer(values, 0, 0).unwrap();
    // SAFETY: the kernel touches one float a thread, as many as the buffer has.
    unsafe { encoder.dispatch_threads(values.len() / 4, 32).unwrap() };
    encoder.end_encoding().unwrap();
}

/// Encodes and commits `values[i] += 1` for the whole buffer, behind `gate` if there is one.
fn increment(queue: &CommandQueue, values: &Buffer, gate: Option<&SharedEvent>) -> Submission {
    let mut commands = queue.command_buffer().unwrap();
    if let Some(gate) = gate {
        commands.encode_wait_for_event(gate, 1).unwrap();
    }
    encode_increment(&mut commands, values);
    commands.commit().unwrap()
}
