use std::time::Duration;

use metal_bridge::{Error, MAX_BINDINGS};

use crate::*;

fn in_use(error: &Error) -> bool {
    matches!(error, Error::InUse(_))
}

fn timeout(error: &Error) -> bool {
    matches!(error, Error::Timeout(_))
}

#[test]
fn a_recorded_buffer_is_refused_to_the_cpu() {
    let (queue, buffer) = (queue(), shared(&[1.0; 32]));
    let mut commands = queue.command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_buffer(&buffer, 0, 0).unwrap();
    assert_error(buffer.wait_read::<f32>(), in_use, "not committed");
    encoder.end_encoding().unwrap();
    assert_error(buffer.wait_write::<f32>(), in_use, "Buffer::wait_write");
    assert_error(
        buffer.wait_copy_to_slice(0, &mut [0.0f32]),
        in_use,
        "not committed",
    );
    // Dropped without a commit: free again.
    drop(commands);
    buffer.wait_write::<f32>().unwrap()[0] = 2.0;
}

#[test]
fn accesses_wait_as_their_names_say() {
    let (queue, buffer) = (queue(), shared(&[1.0; 8]));
    let gate = device().new_shared_event().unwrap();
    let running = increment(&queue, &buffer, Some(&gate));
    let why = "a committed command buffer";
    assert_error(buffer.try_read::<f32>(), in_use, why);
    assert_error(buffer.try_write::<f32>(), in_use, why);
    let (one, mut output) = ([5.0f32], [0.0f32]);
    let why = "committed work that uses the buffer";
    assert_error(buffer.read_range_timeout::<f32>(0..1, SHORT), timeout, why);
    assert_error(buffer.write_range_timeout::<f32>(0..1, SHORT), timeout, why);
    assert_error(
        buffer.copy_to_slice_timeout(0, &mut output, SHORT),
        timeout,
        why,
    );
    assert_error(buffer.copy_from_slice_timeout(0, &one, SHORT), timeout, why);
    assert_eq!(output, [0.0]);
    gate.set_signaled_value(1).unwrap();
    running.wait().unwrap();
    assert_eq!(*buffer.try_read::<f32>().unwrap(), [2.0; 8]);
    buffer.copy_from_slice_timeout(4, &one, LONG).unwrap();
    buffer.copy_to_slice_timeout(4, &mut output, LONG).unwrap();
    buffer.write_range_timeout::<f32>(2..3, LONG).unwrap()[0] = 6.0;
    let some = buffer.read_range_timeout::<f32>(1..4, LONG).unwrap();
    assert_eq!((output, &some[..]), (one, &[5.0, 6.0, 2.0][..]));
    assert_error(buffer.try_write::<f32>(), in_use, "being read");
    drop(some);
    buffer.try_write::<f32>().unwrap();
}

#[test]
fn a_buffer_recorded_for_reading_is_read_by_both() {
    let (queue, buffer) = (queue(), shared(&[1.0; 32]));
    let mut commands = queue.command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_buffer_read_only(&buffer, 0, 0).unwrap();
    assert_eq!(buffer.wait_read::<f32>().unwrap().len(), 32);
    assert_error(buffer.wait_write::<f32>(), in_use, "not committed");
    // Bound for writing as well: now the reader is refused, too.
    encoder.set_buffer(&buffer, 0, 1).unwrap();
    assert_error(buffer.wait_read::<f32>(), in_use, "not committed");
}

#[test]
fn cpu_access_waits_for_committed_work() {
    let (queue, buffer) = (queue(), shared(&[1.0; 32]));
    let gate = device().new_shared_event().unwrap();
    let submission = increment(&queue, &buffer, Some(&gate));
    assert_error(
        buffer.read_timeout::<f32>(SHORT),
        timeout,
        "committed work that uses the buffer",
    );
    assert_error(
        buffer.write_timeout::<f32>(SHORT),
        timeout,
        "Buffer::write_timeout",
    );
    assert_error(
        buffer.wait_until_idle(Some(SHORT)),
        timeout,
        "Buffer::wait_until_idle",
    );
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(SHORT);
            gate.set_signaled_value(1).unwrap();
        });
        // No wait for the submission: the access itself waits.
        assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0; 32]);
    });
    submission.wait().unwrap();
    buffer.wait_until_idle(None).unwrap();
}

#[test]
fn access_waits_for_all_work_that_conflicts() {
    let (queue, buffer) = (queue(), shared(&[0.0; 8]));
    for _ in 0..20 {
        drop(increment(&queue, &buffer, None));
    }
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [20.0; 8]);
}

#[test]
fn guards_keep_encoders_out() {
    let (queue, buffer) = (queue(), shared(&[1.0; 8]));
    let mut commands = queue.command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    {
        let _reader = buffer.wait_read::<f32>().unwrap();
        assert_error(encoder.set_buffer(&buffer, 0, 0), in_use, "being read");
        assert_error(encoder.use_buffer(&buffer), in_use, "use_buffer");
        encoder.set_buffer_read_only(&buffer, 0, 0).unwrap();
    }
    drop(encoder);
    drop(commands);
    let mut commands = queue.command_buffer().unwrap();
    let _writer = buffer.wait_write::<f32>().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    assert_error(encoder.set_buffer(&buffer, 0, 0), in_use, "being written");
    assert_error(
        encoder.set_buffer_read_only(&buffer, 0, 0),
        in_use,
        "being written",
    );
    drop(encoder);
    let mut blit = commands.blit_command_encoder().unwrap();
    assert_error(blit.fill(&buffer, 0..8, 0), in_use, "BlitEncoder::fill");
    assert_error(
        blit.synchronize(&buffer),
        in_use,
        "BlitEncoder::synchronize",
    );
    assert_error(
        blit.copy(&shared(&[0.0; 8]), 0, &buffer, 0, 8),
        in_use,
        "BlitEncoder::copy",
    );
}

#[test]
fn guards_exclude_each_other() {
    let buffer = shared(&[1.0, 2.0]);
    let (first, second) = (
        buffer.wait_read::<f32>().unwrap(),
        buffer.wait_read_range::<f32>(1..2).unwrap(),
    );
    assert_eq!((first[0], second[0]), (1.0, 2.0));
    assert_error(buffer.wait_write::<f32>(), in_use, "being read");
    drop((first, second));
    let writer = buffer.wait_write_range::<f32>(0..1).unwrap();
    // The whole buffer, whatever the range.
    assert_error(
        buffer.wait_write_range::<f32>(1..2),
        in_use,
        "being written",
    );
    assert_error(buffer.wait_read::<f32>(), in_use, "being written");
    drop(writer);
    buffer.wait_read::<f32>().unwrap();
}

#[test]
fn guards_may_end_on_other_threads() {
    let buffer = shared(&[1.0; 4]);
    std::thread::scope(|scope| {
        let mut writer = buffer.wait_write::<f32>().unwrap();
        scope.spawn(move || writer[1] = 9.0).join().unwrap();
        let reader = buffer.wait_read::<f32>().unwrap();
        scope
            .spawn(move || assert_eq!(reader[1], 9.0))
            .join()
            .unwrap();
    });
    buffer.wait_write::<f32>().unwrap();
}

#[test]
fn what_is_refused_uses_no_buffer() {
    let is_free = |buffer: &Buffer| drop(buffer.wait_write::<f32>().unwrap());
    let queue = queue();
    let (a, b, c) = (shared(&[1.0; 8]), shared(&[1.0; 8]), shared(&[1.0; 8]));
    let out_of_range = |e: &Error| matches!(e, Error::OutOfRange(_));
    let mut commands = queue.command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    assert_error(encoder.set_buffer(&a, 32, 0), out_of_range, "offset 32");
    is_free(&a);
    let bound = encoder.set_buffer_read_only(&a, 0, MAX_BINDINGS);
    assert_error(bound, out_of_range, "index");
    is_free(&a);
    if let Some(other) = other_device() {
        let foreign = other.new_buffer(32, StorageMode::Shared).unwrap();
        for used in [
            encoder.use_buffer(&foreign),
            encoder.use_buffer_read_only(&foreign),
        ] {
            assert_error(used, |e| matches!(e, Error::WrongDevice(_)), "device");
            is_free(&foreign);
        }
    }
    // What was bound before stays in use, and what is refused once may be bound later.
    encoder.set_buffer_read_only(&a, 0, 0).unwrap();
    assert_error(encoder.set_buffer(&a, 32, 1), out_of_range, "offset 32");
    assert_eq!(a.wait_read::<f32>().unwrap()[0], 1.0);
    assert_error(a.wait_write::<f32>(), in_use, "not committed");
    encoder.set_buffer(&a, 0, 1).unwrap();
    assert_error(a.wait_read::<f32>(), in_use, "not committed");
    drop(encoder);

    let mut blit = commands.blit_command_encoder().unwrap();
    let misaligned = |e: &Error| matches!(e, Error::Misaligned(_));
    assert_error(blit.fill(&b, 1..5, 0), misaligned, "offset");
    is_free(&b);
    assert_error(blit.copy(&b, 2, &c, 0, 8), misaligned, "source offset");
    is_free(&b);
    is_free(&c);
    let reader = c.wait_read::<f32>().unwrap();
    assert_error(blit.copy(&b, 0, &c, 0, 8), in_use, "being read");
    is_free(&b);
    drop(reader);
    blit.copy(&b, 0, &c, 0, 8).unwrap();
    assert_error(b.wait_write::<f32>(), in_use, "not committed");
}

#[test]
fn many_threads_take_turns() {
    let (queue, buffer) = (queue(), shared(&[0.0; 32]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    // Whoever holds the buffer drops it soon.
                    wait_for("the next round", || {
                        match buffer.write_timeout::<f32>(Duration::from_secs(30)) {
                            Ok(mut values) => {
                                values[31] += 1.0;
                                true
                            }
                            Err(error) => {
                                assert!(in_use(&error), "{error}");
                                false
                            }
                        }
                    });
                    let Ok(mut commands) = queue.command_buffer() else {
                        continue;
                    };
                    let Ok(mut encoder) = commands.compute_command_encoder(DispatchType::Serial)
                    else {
                        continue;
                    };
                    // Recorded and dropped: never in the way for long.
                    let _ = encoder.set_buffer(&buffer, 0, 0);
                }
            });
        }
    });
    assert_eq!(buffer.wait_read::<f32>().unwrap()[31], 100.0);
}
