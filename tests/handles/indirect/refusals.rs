//! What is refused.

use metal_bridge::indirect::MAX_INDIRECT_COMMANDS;
use metal_bridge_test_support::{in_child, in_child_with, in_fork};

use super::*;

#[test]
fn wrong_commands_are_refused() {
    let values = shared(&[0.0; LENGTH]);
    let commands = new_commands(2);
    assert_eq!((commands.size(), commands.device()), (2, device()));
    assert!(indirect("add").support_indirect_command_buffers());
    assert!(!pipeline("add").support_indirect_command_buffers());
    let mut command = commands.indirect_compute_command(0).unwrap();
    let direct = command.set_compute_pipeline_state(&pipeline("increment"));
    let invalid_argument = |e: &Error| matches!(e, Error::InvalidArgument(_));
    assert_error(direct, invalid_argument, "not for command 0");
    // SAFETY: every dispatch of this test is refused.
    let launched = unsafe { command.concurrent_dispatch_threads(1, 1) };
    assert_error(launched, invalid_state, "no pipeline");
    command
        .set_compute_pipeline_state(&indirect("increment"))
        .unwrap();
    // SAFETY: as above.
    let launched = unsafe { command.concurrent_dispatch_threads(1, 1) };
    assert_error(launched, |e| matches!(e, Error::MissingArgument(_)), "0");
    let bound = command.set_kernel_buffer(&values, 0, 3);
    assert_error(bound, out_of_range, "3 buffers");
    let bound = command.set_kernel_buffer(&values, LENGTH * 4, 0);
    assert_error(bound, out_of_range, "offset");
    command.set_kernel_buffer(&values, 0, 0).unwrap();
    // SAFETY: as above.
    let launched = unsafe { command.concurrent_dispatch_threadgroups(0, 1) };
    assert_error(launched, invalid_argument, "no threads");
    drop(command);
    assert_error(commands.indirect_compute_command(2), out_of_range, "2");
    #[allow(clippy::reversed_empty_ranges)]
    for range in [1..3, 3..3, 2..1, usize::MAX..usize::MAX] {
        assert_error(commands.reset(range.clone()), out_of_range, "not all in");
        let encoded = encode_execution(&commands, range, None);
        assert_error(encoded, out_of_range, "not all in");
    }
    let descriptor = IndirectCommandBufferDescriptor::default();
    let none = device().new_indirect_command_buffer(&descriptor, 0);
    assert_error(none, invalid_argument, "zero");
    let many = device().new_indirect_command_buffer(&descriptor, MAX_INDIRECT_COMMANDS + 1);
    assert_error(many, out_of_range, "16384");
    if let Some(far) = other_device() {
        let far = far.new_indirect_command_buffer(&descriptor, 1).unwrap();
        let wrong = |e: &Error| matches!(e, Error::WrongDevice(_));
        assert_error(encode_execution(&far, 0..1, None), wrong, "device");
        let mut command = far.indirect_compute_command(0).unwrap();
        assert_error(command.set_kernel_buffer(&values, 0, 0), wrong, "buffer");
    }
}

#[cfg(software_metal)]
#[test]
fn a_device_without_indirect_commands_refuses_them() {
    let test = "indirect::refusals::a_device_without_indirect_commands_refuses_them";
    in_child_with(
        test,
        &[
            ("SOFTWARE_METAL_FAMILY", "2"),
            ("SOFTWARE_METAL_UNIFIED", "1"),
        ],
        || {
            assert!(!device().supports_indirect_command_buffers());
            let unsupported = |e: &Error| matches!(e, Error::Unsupported(_));
            let descriptor = IndirectCommandBufferDescriptor::default();
            let made = device().new_indirect_command_buffer(&descriptor, 1);
            assert_error(made, unsupported, "no indirect command buffers");
            let function = LIBRARY.new_function("increment").unwrap();
            let made = device().new_compute_pipeline_state_for_indirect_commands(&function);
            assert_error(made, unsupported, "no indirect command buffers");
        },
    );
}

#[test]
fn a_child_of_fork_is_refused() {
    in_child("indirect::refusals::a_child_of_fork_is_refused", || {
        let values = shared(&[0.0; LENGTH]);
        let commands = new_commands(1);
        record_increment(&commands, 0, &values);
        let mut command_buffer = queue().command_buffer().unwrap();
        let mut encoder = command_buffer
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        in_fork(|| {
            let refused = encoder.execute_commands_in_buffer(&commands, 0..1);
            assert_error(refused, invalid_state, "child of fork()");
            let refused = commands.indirect_compute_command(0);
            assert_error(refused, invalid_state, "child of fork()");
            assert_error(commands.reset(0..1), invalid_state, "child of fork()");
        });
        encoder.execute_commands_in_buffer(&commands, 0..1).unwrap();
        encoder.end_encoding().unwrap();
        command_buffer.commit().unwrap().wait().unwrap();
        assert_eq!(contents(&[values])[0], [1.0; LENGTH]);
    });
}
