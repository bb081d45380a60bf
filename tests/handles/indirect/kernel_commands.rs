//! Commands that kernels encode.

use super::*;

const ENCODING: &str = r#"
#include <metal_stdlib>
#include <metal_command_buffer>
using namespace metal;

struct Plan {
    command_buffer commands;
    compute_pipeline_state increment;
    device float *values;
};

// Command i increments i values.
kernel void encode(device const Plan &plan [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    compute_command command(plan.commands, i);
    command.reset();
    command.set_compute_pipeline_state(plan.increment);
    command.set_kernel_buffer(plan.values, 0);
    command.set_barrier();
    command.concurrent_dispatch_threads(uint3(i, 1, 1), uint3(16, 1, 1));
}
"#;

fn encode_pipeline() -> ComputePipeline {
    let library = device().new_library_with_source(ENCODING, &CompileOptions::new());
    let function = library.unwrap().new_function("encode").unwrap();
    device().new_compute_pipeline_state(&function).unwrap()
}

/// Encodes `count` commands by a kernel on an encoder of its own.
fn encode_by_kernel(
    command_buffer: &mut CommandBuffer,
    commands: &IndirectCommandBuffer,
    plan: &Buffer,
    count: usize,
) -> metal_bridge::Result<()> {
    let mut encoder = command_buffer.compute_command_encoder(DispatchType::Serial)?;
    encoder.set_compute_pipeline_state(&encode_pipeline())?;
    encoder.set_buffer(plan, 0, 0)?;
    encoder.use_indirect_command_buffer(commands)?;
    // SAFETY: as many commands as there are, and what they name lives as long as the test.
    unsafe { encoder.dispatch_threads(count, 8) }
}

#[test]
fn a_command_buffer_executes_what_its_kernels_encode() {
    let (values, count) = (shared(&[0.0; LENGTH]), 40);
    let (commands, increment) = (new_commands(count), indirect("increment"));
    let plan = [
        commands.gpu_resource_id().unwrap(),
        increment.gpu_resource_id().unwrap(),
        values.gpu_address().unwrap(),
    ];
    let plan = device()
        .new_buffer_with_data(&plan, StorageMode::Shared)
        .unwrap();
    for _ in 0..2 {
        let mut command_buffer = queue().command_buffer().unwrap();
        encode_by_kernel(&mut command_buffer, &commands, &plan, count).unwrap();
        let mut encoder = command_buffer
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        encoder.use_buffer(&values).unwrap();
        // SAFETY: the commands increment fewer values than there are; all that they name lives on.
        unsafe {
            encoder
                .execute_commands_of_kernels(&commands, 0..count)
                .unwrap();
        }
        encoder.end_encoding().unwrap();
        command_buffer.commit().unwrap().wait().unwrap();
    }
    // Value k is part of the commands k + 1 to 39.
    let expected: Vec<f32> = (0..LENGTH)
        .map(|k| 2.0 * (39.0 - k as f32).max(0.0))
        .collect();
    assert_eq!(*values.wait_read::<f32>().unwrap(), *expected);
}

#[test]
fn only_the_unsafe_call_executes_what_kernels_encode() {
    let values = shared(&[0.0; LENGTH]);
    let commands = new_commands(2);
    record_increment(&commands, 0, &values);
    let waiting = encode_execution(&commands, 0..1, None).unwrap();
    let mut command_buffer = queue().command_buffer().unwrap();
    let mut encoder = command_buffer
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    assert_error(
        encoder.use_indirect_command_buffer(&commands),
        in_use,
        "2 commands",
    );
    drop(waiting);
    encoder.use_indirect_command_buffer(&commands).unwrap();
    encoder.use_indirect_command_buffer(&commands).unwrap();
    assert_error(commands.indirect_compute_command(0), in_use, "2 commands");
    drop(encoder);
    drop(command_buffer);
    let refused = encode_execution(&commands, 0..1, None);
    assert_error(refused, invalid_state, "execute_commands_of_kernels");
    commands.reset(0..1).unwrap();
    let refused = encode_execution(&commands, 0..1, None);
    assert_error(refused, invalid_state, "kernels encode the commands");
    commands.reset(0..2).unwrap();
    record_increment(&commands, 0, &values);
    execute(&commands, 0..2);
    assert_eq!(values.wait_read::<f32>().unwrap()[0], 1.0);
    if let Some(far) = other_device() {
        let far = far
            .new_indirect_command_buffer(&IndirectCommandBufferDescriptor::default(), 1)
            .unwrap();
        let mut command_buffer = queue().command_buffer().unwrap();
        let mut encoder = command_buffer
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        let wrong = |e: &Error| matches!(e, Error::WrongDevice(_));
        assert_error(encoder.use_indirect_command_buffer(&far), wrong, "device");
    }
}

#[cfg(software_metal)]
#[test]
fn a_kernel_that_encodes_a_wrong_command_fails() {
    let values = shared(&[0.0; LENGTH]);
    let (commands, direct) = (new_commands(2), pipeline("increment"));
    let plan = [
        commands.gpu_resource_id().unwrap(),
        direct.gpu_resource_id().unwrap(),
        values.gpu_address().unwrap(),
    ];
    let plan = device()
        .new_buffer_with_data(&plan, StorageMode::Shared)
        .unwrap();
    let mut command_buffer = queue().command_buffer().unwrap();
    encode_by_kernel(&mut command_buffer, &commands, &plan, 1).unwrap();
    let failed = command_buffer.commit().unwrap().wait();
    let faulted = |e: &Error| matches!(e, Error::CommandBuffer(_));
    assert_error(failed, faulted, "command 0: set_compute_pipeline_state");
}
