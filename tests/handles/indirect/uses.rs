//! Who may change or execute commands, and use their buffers, when.

use std::sync::Arc;

use memmap2::MmapMut;
use metal_bridge_test_support::leak;

use super::*;

#[test]
fn an_execution_uses_the_buffers_as_dispatches_would() {
    let [a, b, sum] = [1.0, 2.0, 0.0].map(|value| shared(&[value; LENGTH]));
    let apart = shared(&[0.0; LENGTH]);
    let commands = new_commands(2);
    let launch = Launch {
        kernel: "add",
        buffers: vec![(&a, 0), (&b, 0), (&sum, 0)],
    };
    record(&commands, 0, &launch, true);
    record_increment(&commands, 1, &apart);
    // Nothing is used before a command buffer executes it.
    drop(sum.try_write::<f32>().unwrap());

    let gate = device().new_shared_event().unwrap();
    let recorded = encode_execution(&commands, 0..1, Some(&gate)).unwrap();
    assert_error(sum.wait_read::<f32>(), in_use, "not committed");
    let change = commands.indirect_compute_command(1);
    assert_error(change, in_use, "2 commands is used by a command buffer");
    assert_error(commands.reset(1..2), in_use, "not committed");
    drop(recorded);
    drop(commands.indirect_compute_command(1).unwrap());

    let recorded = encode_execution(&commands, 0..1, Some(&gate)).unwrap();
    let submission = recorded.commit().unwrap();
    assert_error(sum.try_read::<f32>(), in_use, "committed");
    assert_error(a.try_write::<f32>(), in_use, "committed");
    drop((
        a.try_read::<f32>().unwrap(),
        apart.try_write::<f32>().unwrap(),
    ));
    let change = commands.indirect_compute_command(1);
    assert_error(change, in_use, "has not completed");
    assert_error(commands.reset(0..2), in_use, "has not completed");
    gate.set_signaled_value(1).unwrap();
    submission.wait().unwrap();
    commands.reset(0..2).unwrap();
    assert_eq!(contents(&[sum])[0], [3.0; LENGTH]);
}

#[test]
fn guards_and_changes_refuse_executions() {
    let [values, other] = [shared(&[0.0; LENGTH]), shared(&[0.0; LENGTH])];
    let commands = new_commands(2);
    record_increment(&commands, 0, &other);
    record_increment(&commands, 1, &values);
    let guard = values.wait_read::<f32>().unwrap();
    let refused = encode_execution(&commands, 0..2, None);
    assert_error(refused, in_use, "being read by the CPU");
    // A refused execution uses nothing.
    drop(other.try_write::<f32>().unwrap());
    execute(&commands, 0..1);
    drop(guard);
    let change = commands.indirect_compute_command(0).unwrap();
    let refused = encode_execution(&commands, 1..2, None);
    assert_error(refused, in_use, "2 commands is being written");
    let second = commands.indirect_compute_command(1);
    assert_error(second, in_use, "being written");
    drop(change);
    execute(&commands, 0..2);
    assert_eq!(contents(&[values, other]), [[1.0; LENGTH], [2.0; LENGTH]]);

    let leaked = new_commands(1);
    leak(leaked.indirect_compute_command(0).unwrap());
    let refused = encode_execution(&leaked, 0..1, None);
    assert_error(refused, in_use, "being written");
    assert_error(leaked.reset(0..1), in_use, "being written");
}

#[test]
fn memory_that_may_only_be_read_is_not_written() {
    let map = MmapMut::map_anon(metal_bridge::page_size()).unwrap();
    let constant = device()
        .new_buffer_no_copy_read_only(Arc::new(map))
        .unwrap();
    let commands = new_commands(1);
    let mut command = commands.indirect_compute_command(0).unwrap();
    command
        .set_compute_pipeline_state(&indirect("increment"))
        .unwrap();
    command.set_kernel_buffer(&constant, 0, 0).unwrap();
    // SAFETY: the dispatch is refused.
    let launched = unsafe { command.concurrent_dispatch_threads(1, 1) };
    assert_error(launched, |e| matches!(e, Error::ReadOnly(_)), "read");
    drop(command);
    let sum = shared(&[7.0; LENGTH]);
    // An array's other buffers too.
    commands.reset(0..1).unwrap();
    let mut command = commands.indirect_compute_command(0).unwrap();
    command
        .set_compute_pipeline_state(&indirect("increment_second"))
        .unwrap();
    command.set_kernel_buffer(&sum, 0, 0).unwrap();
    command.set_kernel_buffer(&constant, 0, 1).unwrap();
    // SAFETY: the dispatch is refused.
    let launched = unsafe { command.concurrent_dispatch_threads(1, 1) };
    assert_error(launched, |e| matches!(e, Error::ReadOnly(_)), "read");
    drop(command);
    commands.reset(0..1).unwrap();
    let launch = Launch {
        kernel: "add",
        buffers: vec![(&constant, 0), (&constant, 0), (&sum, 0)],
    };
    record(&commands, 0, &launch, true);
    execute(&commands, 0..1);
    assert_eq!(contents(&[sum])[0], [0.0; LENGTH]);
}
