//! Barriers of commands: what the race check knows of them, and that they outlive resets that never run.
#![cfg(software_metal)]

use metal_bridge::sanitizer;
use metal_bridge_test_support::in_child_with;

use super::*;

const RACES_ARE_KEPT: [(&str, &str); 2] = [
    ("SOFTWARE_METAL_SANITIZE", "race"),
    ("SOFTWARE_METAL_SANITIZE_QUIET", "1"),
];

/// How many races are reported of two commands that change one buffer, with barriers or without.
fn races(dispatch_type: DispatchType, barrier: bool) -> usize {
    let values = shared(&[0.0; LENGTH]);
    let commands = new_commands(2);
    for index in 0..2 {
        record(&commands, index, &incrementing(&values), barrier);
    }
    let mut command_buffer = queue().command_buffer().unwrap();
    let mut encoder = command_buffer
        .compute_command_encoder(dispatch_type)
        .unwrap();
    // The second execution comes after the first.
    for _ in 0..2 {
        encoder.execute_commands_in_buffer(&commands, 0..2).unwrap();
        encoder.memory_barrier().unwrap();
    }
    encoder.end_encoding().unwrap();
    command_buffer.commit().unwrap().wait().unwrap();
    let races = sanitizer::report_count();
    sanitizer::clear_reports();
    races
}

#[test]
fn barriers_of_commands_are_all_that_orders_them() {
    let name = "indirect::order::barriers_of_commands_are_all_that_orders_them";
    in_child_with(name, &RACES_ARE_KEPT, || {
        for dispatch_type in [DispatchType::Serial, DispatchType::Concurrent] {
            assert_eq!(races(dispatch_type, true), 0, "{dispatch_type:?}");
            assert!(races(dispatch_type, false) > 0, "{dispatch_type:?}");
        }
    });
}

/// Records a reset by the GPU and drops it, or lets it run.
fn reset_by_gpu(commands: &IndirectCommandBuffer, runs: bool) {
    let mut command_buffer = queue().command_buffer().unwrap();
    let mut blit = command_buffer.blit_command_encoder().unwrap();
    blit.reset_commands_in_buffer(commands, 0..1).unwrap();
    blit.end_encoding().unwrap();
    if runs {
        command_buffer.commit().unwrap().wait().unwrap();
    }
}

#[test]
fn barriers_leave_a_command_as_it_is() {
    let values = shared(&[0.0; LENGTH]);
    let commands = new_commands(1);
    record_increment(&commands, 0, &values);
    reset_by_gpu(&commands, false);
    for set in [true, false] {
        let mut command = commands.indirect_compute_command(0).unwrap();
        match set {
            true => command.set_barrier().unwrap(),
            false => command.clear_barrier().unwrap(),
        }
        drop(command);
        execute(&commands, 0..1);
    }
    assert_eq!(contents(std::slice::from_ref(&values))[0], [2.0; LENGTH]);
    reset_by_gpu(&commands, true);
    commands
        .indirect_compute_command(0)
        .unwrap()
        .set_barrier()
        .unwrap();
    execute(&commands, 0..1);
    assert_eq!(contents(std::slice::from_ref(&values))[0], [2.0; LENGTH]);
}

#[test]
fn barriers_may_come_before_the_rest_after_a_reset() {
    let name = "indirect::order::barriers_may_come_before_the_rest_after_a_reset";
    in_child_with(name, &RACES_ARE_KEPT, || {
        let values = shared(&[0.0; LENGTH]);
        let commands = new_commands(2);
        let launch = incrementing(&values);
        record(&commands, 0, &launch, false);
        record(&commands, 1, &launch, false);
        let mut command_buffer = queue().command_buffer().unwrap();
        let mut blit = command_buffer.blit_command_encoder().unwrap();
        blit.reset_commands_in_buffer(&commands, 1..2).unwrap();
        blit.end_encoding().unwrap();
        command_buffer.commit().unwrap().wait().unwrap();
        commands
            .indirect_compute_command(1)
            .unwrap()
            .set_barrier()
            .unwrap();
        record(&commands, 1, &launch, false);
        execute(&commands, 0..2);
        assert_eq!(sanitizer::report_count(), 0);
    });
}
