//! What commands compute.

use std::thread;

use super::*;

fn random_launch<'a>(state: &mut u64, buffers: &'a [Buffer]) -> Launch<'a> {
    let kernel = ["increment", "reverse", "add"][random(state, 3)];
    let count = if kernel == "add" { 3 } else { 1 };
    let mut pick = || (&buffers[random(state, buffers.len())], 0);
    Launch {
        kernel,
        buffers: (0..count).map(|_| pick()).collect(),
    }
}

fn sets_of_buffers() -> [Vec<Buffer>; 2] {
    let values = |seed: usize| -> Vec<f32> { (0..LENGTH).map(|i| (i * seed) as f32).collect() };
    [0, 1].map(|_| (1..6).map(|seed| shared(&values(seed))).collect())
}

#[test]
fn commands_with_barriers_compute_what_dispatches_do() {
    for seed in 0..12 {
        let [recorded, dispatched] = sets_of_buffers();
        let commands = new_commands(24);
        let mut states = [seed, seed];
        let mut command_buffer = queue().command_buffer().unwrap();
        let mut encoder = command_buffer
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        for index in 0..24 {
            let launch = random_launch(&mut states[0], &recorded);
            record(&commands, index, &launch, true);
            dispatch(&mut encoder, &random_launch(&mut states[1], &dispatched));
        }
        encoder.end_encoding().unwrap();
        command_buffer.commit().unwrap();
        execute(&commands, 0..10);
        execute(&commands, 10..10);
        execute(&commands, 10..24);
        assert_eq!(contents(&recorded), contents(&dispatched), "seed {seed}");
    }
}

#[test]
fn commands_without_barriers_all_run_in_every_execution() {
    let buffers: Vec<Buffer> = (0..30).map(|i| shared(&[i as f32; LENGTH])).collect();
    let commands = new_commands(buffers.len());
    for (index, buffer) in buffers.iter().enumerate() {
        record(&commands, index, &incrementing(buffer), false);
    }
    let queue = queue();
    for _ in 0..20 {
        let encoded = encode_on(&queue, &commands, 0..buffers.len(), None).unwrap();
        encoded.commit().unwrap();
    }
    commands.wait_until_idle().unwrap();
    for (index, values) in contents(&buffers).into_iter().enumerate() {
        assert_eq!(values, [index as f32 + 20.0; LENGTH]);
    }
}

#[test]
fn a_barrier_may_be_cleared_and_a_command_reset() {
    let values = shared(&[0.0; LENGTH]);
    let commands = new_commands(3);
    (0..3).for_each(|index| record_increment(&commands, index, &values));
    let mut command = commands.indirect_compute_command(1).unwrap();
    command.clear_barrier().unwrap();
    assert_error(
        command.set_kernel_buffer(&values, 0, 0),
        invalid_state,
        "reset",
    );
    command.reset().unwrap();
    command.set_barrier().unwrap();
    drop(command);
    execute(&commands, 0..3);
    assert_eq!(contents(std::slice::from_ref(&values))[0], [2.0; LENGTH]);
    commands.reset(0..2).unwrap();
    execute(&commands, 0..3);
    assert_eq!(contents(&[values])[0], [3.0; LENGTH]);
}

#[test]
fn the_gpu_chooses_ranges_and_sizes() {
    let buffers = [shared(&[0.0; LENGTH]), shared(&[0.0; LENGTH])];
    let commands = new_commands(2);
    record_increment(&commands, 0, &buffers[0]);
    record_increment(&commands, 1, &buffers[1]);
    // The first command and their number; threadgroups in each dimension.
    let arguments = device()
        .new_buffer_with_data(&[1u32, 1, 3, 1, 1], StorageMode::Shared)
        .unwrap();
    let gate = device().new_shared_event().unwrap();
    let mut command_buffer = queue().command_buffer().unwrap();
    command_buffer.encode_wait_for_event(&gate, 1).unwrap();
    let mut encoder = command_buffer
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    // SAFETY: the range is of one command of two, and the three threadgroups have 48 of 64 floats.
    unsafe {
        encoder
            .execute_commands_in_buffer_indirect(&commands, &arguments, 0)
            .unwrap();
        encoder
            .set_compute_pipeline_state(&pipeline("increment"))
            .unwrap();
        encoder.set_buffer(&buffers[1], 0, 0).unwrap();
        encoder
            .dispatch_threadgroups_indirect(&arguments, 8, 16)
            .unwrap();
        let wrong = encoder.dispatch_threadgroups_indirect(&arguments, 12, 16);
        assert_error(wrong, out_of_range, "12 bytes");
        let wrong = encoder.execute_commands_in_buffer_indirect(&commands, &arguments, 2);
        assert_error(wrong, |e| matches!(e, Error::Misaligned(_)), "offset");
    }
    encoder.end_encoding().unwrap();
    let submission = command_buffer.commit().unwrap();
    // The GPU may execute any command, so both buffers are in use; and it reads the arguments.
    assert_error(buffers[0].try_read::<f32>(), in_use, "committed");
    assert_error(arguments.try_write::<u32>(), in_use, "committed");
    drop(arguments.try_read::<u32>().unwrap());
    gate.set_signaled_value(1).unwrap();
    submission.wait().unwrap();
    let [untouched, written] = &contents(&buffers)[..] else {
        unreachable!()
    };
    assert_eq!(untouched[..], [0.0; LENGTH]);
    assert_eq!(written[..48], [2.0; 48]);
    assert_eq!(written[48..], [1.0; 16]);
}

#[test]
fn commands_that_inherit_are_executed_by_promise() {
    let descriptor = IndirectCommandBufferDescriptor {
        inherit_pipeline_state: true,
        max_kernel_buffer_bind_count: 1,
        ..Default::default()
    };
    let commands = device()
        .new_indirect_command_buffer(&descriptor, 1)
        .unwrap();
    let values = shared(&[0.0; LENGTH]);
    let mut command = commands.indirect_compute_command(0).unwrap();
    command.set_kernel_buffer(&values, 0, 0).unwrap();
    // SAFETY: the test executes it with `increment`, which touches a float a thread.
    unsafe { command.concurrent_dispatch_threads(LENGTH, 32).unwrap() };
    drop(command);
    let refused = encode_execution(&commands, 0..1, None);
    assert_error(refused, invalid_state, "execute_inheriting_commands");
    let mut command_buffer = queue().command_buffer().unwrap();
    let mut encoder = command_buffer
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    // SAFETY: `increment` touches a float a thread.
    unsafe {
        let refused = encoder.execute_inheriting_commands(&commands, 0..1);
        assert_error(refused, invalid_state, "no pipeline is set");
        encoder
            .set_compute_pipeline_state(&indirect("increment"))
            .unwrap();
        encoder
            .execute_inheriting_commands(&commands, 0..1)
            .unwrap();
    }
    encoder.end_encoding().unwrap();
    command_buffer.commit().unwrap().wait().unwrap();
    assert_eq!(contents(&[values])[0], [1.0; LENGTH]);
}

#[test]
fn the_gpu_resets_commands_and_the_cpu_begins_anew() {
    let [values, other] = [shared(&[0.0; LENGTH]), shared(&[0.0; LENGTH])];
    let commands = new_commands(2);
    record_increment(&commands, 0, &values);
    record_increment(&commands, 1, &values);
    let reset = || {
        let mut command_buffer = queue().command_buffer().unwrap();
        let mut blit = command_buffer.blit_command_encoder().unwrap();
        blit.optimize_indirect_command_buffer(&commands, 0..2)
            .unwrap();
        blit.reset_commands_in_buffer(&commands, 1..2).unwrap();
        let wrong = blit.reset_commands_in_buffer(&commands, 1..3);
        assert_error(wrong, out_of_range, "not all in");
        blit.end_encoding().unwrap();
        command_buffer
    };
    let recorded = reset();
    let change = commands.indirect_compute_command(0);
    assert_error(change, in_use, "not committed");
    // The reset that is dropped never happens.
    drop(recorded);
    execute(&commands, 0..2);
    assert_eq!(contents(std::slice::from_ref(&values))[0], [2.0; LENGTH]);
    reset().commit().unwrap().wait().unwrap();
    execute(&commands, 0..2);
    assert_eq!(contents(std::slice::from_ref(&values))[0], [3.0; LENGTH]);
    record_increment(&commands, 1, &other);
    let encoded = encode_execution(&commands, 1..2, None).unwrap();
    // The command has forgotten its first buffer.
    drop(values.try_write::<f32>().unwrap());
    encoded.commit().unwrap();
    assert_eq!(contents(&[other])[0], [1.0; LENGTH]);
}

#[test]
fn many_threads_execute_the_same_commands() {
    let [a, b, sum] = [1.0, 2.0, 0.0].map(|value| shared(&[value; LENGTH]));
    let commands = new_commands(1);
    let launch = Launch {
        kernel: "add",
        buffers: vec![(&a, 0), (&b, 0), (&sum, 0)],
    };
    record(&commands, 0, &launch, true);
    let queue = queue();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let encoded = encode_on(&queue, &commands, 0..1, None);
                    // The other threads change the command for moments.
                    match encoded {
                        Ok(encoded) => encoded.commit().unwrap().wait().unwrap(),
                        Err(error) => assert!(in_use(&error), "{error}"),
                    }
                    // Another thread's execution may be under way: either is an answer.
                    if let Ok(mut command) = commands.indirect_compute_command(0) {
                        command.set_barrier().unwrap();
                    }
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..50 {
                commands.wait_until_idle().unwrap();
            }
        });
    });
    assert_eq!(contents(&[sum])[0], [3.0; LENGTH]);
}
