//! What no healthy Metal shows: failed allocations, failed command buffers, a lost device; each in a process of its own,
//! since a failure strikes whoever comes next.
#![cfg(software_metal)]

use metal_bridge::command_buffer_error::OUT_OF_MEMORY;
use metal_bridge::{CommandBufferStatus, Error};
use metal_bridge_test_support::failures::Raise;
use metal_bridge_test_support::{failures, in_child};

use crate::*;

#[test]
fn a_failed_allocation_is_an_error() {
    in_child("failures::a_failed_allocation_is_an_error", || {
        let device = device();
        failures::fail_allocation(1);
        let made = device.new_buffer(4096, StorageMode::Shared);
        assert_error(made, |e| matches!(e, Error::OutOfMemory(_)), "4096");
        device.new_buffer(4096, StorageMode::Shared).unwrap();
        failures::fail_allocation(1);
        let made = device.new_buffer_with_data(&[1.0f32; 4], StorageMode::Managed);
        assert_error(
            made,
            |e| matches!(e, Error::OutOfMemory(_)),
            "mtb_buffer_create_with_bytes",
        );
    });
}

#[test]
fn a_failure_is_told_to_everyone_who_asks() {
    in_child("failures::a_failure_is_told_to_everyone_who_asks", || {
        let failed = |e: &Error| matches!(e, Error::CommandBuffer(f) if f.code() == OUT_OF_MEMORY);
        let (queue, buffer) = (queue(), shared(&[1.0; 4]));
        let (gate, done) = (
            device().new_shared_event().unwrap(),
            device().new_shared_event().unwrap(),
        );
        drop(pipeline("increment"));
        failures::fail_command_buffer(1, OUT_OF_MEMORY);
        let mut commands = queue.command_buffer().unwrap();
        commands.encode_wait_for_event(&gate, 1).unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        encoder.set_buffer(&buffer, 0, 0).unwrap();
        drop(encoder);
        commands.encode_signal_event(&done, 1).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        commands.add_completed_handler(move |completed| sender.send(completed.result()).unwrap());
        let submission = commands.commit().unwrap();
        assert_error(submission.wait(), failed, "the GPU failed");
        assert_error(submission.wait_timeout(LONG), failed, "the GPU failed");
        assert_error(receiver.recv().unwrap(), failed, "the GPU failed");
        assert_eq!(submission.status(), CommandBufferStatus::Error);
        // Nobody waits for ever: the event is signalled once it could have been, the buffer free.
        assert_eq!(done.signaled_value(), 0);
        gate.set_signaled_value(1).unwrap();
        done.wait_until_signaled_value(1, LONG).unwrap();
        assert_eq!(*buffer.wait_read::<f32>().unwrap(), [1.0; 4]);
        assert_error(
            metal_bridge_test_support::block_on(submission),
            failed,
            "the GPU failed",
        );
        // And the next one runs.
        increment(&queue, &buffer, None).wait().unwrap();
        assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0; 4]);
    });
}

#[test]
fn a_failed_compilation_is_an_error() {
    in_child("failures::a_failed_compilation_is_an_error", || {
        failures::fail_compile(1);
        let made = device().new_library_with_source(KERNELS, &CompileOptions::new());
        assert_error(
            made,
            |e| matches!(e, Error::Compile(_)),
            "mtb_library_create_from_source",
        );
        let library = device()
            .new_library_with_source(KERNELS, &CompileOptions::new())
            .unwrap();
        let function = library.new_function("add").unwrap();
        failures::fail_compile(1);
        let made = device().new_compute_pipeline_state(&function);
        assert_error(
            made,
            |e| matches!(e, Error::Compile(_)),
            "mtb_pipeline_create",
        );
        device().new_compute_pipeline_state(&function).unwrap();
    });
}

#[test]
fn a_lost_device_ends_everything_with_errors() {
    in_child(
        "failures::a_lost_device_ends_everything_with_errors",
        || {
            let (queue, buffer) = (queue(), shared(&[1.0; 4]));
            drop(pipeline("increment"));
            failures::lose_device(1);
            for _ in 0..3 {
                let submission = increment(&queue, &buffer, None);
                assert_error(
                    submission.wait(),
                    |e| matches!(e, Error::CommandBuffer(_)),
                    "the GPU failed",
                );
            }
            assert!(device().new_buffer(64, StorageMode::Shared).is_err());
            assert_eq!(*buffer.wait_read::<f32>().unwrap(), [1.0; 4]);
            failures::reset();
            increment(&queue, &buffer, None).wait().unwrap();
        },
    );
}

#[test]
fn a_commit_that_raises_uses_buffers_until_its_end() {
    in_child(
        "failures::a_commit_that_raises_uses_buffers_until_its_end",
        || {
            for raise in [Raise::BeforeCommit, Raise::AfterCommit] {
                let queue = device()
                    .new_command_queue_with_max_command_buffer_count(1)
                    .unwrap();
                let (buffer, gate) = (shared(&[1.0; 4]), device().new_shared_event().unwrap());
                let mut commands = queue.command_buffer().unwrap();
                commands.encode_wait_for_event(&gate, 1).unwrap();
                encode_increment(&mut commands, &buffer);
                let (sender, receiver) = std::sync::mpsc::channel();
                commands.add_completed_handler(move |completed| {
                    sender.send(completed.result()).unwrap();
                });
                let committed = failures::raise_in_commits(raise, || commands.commit());
                let internal = |e: &Error| matches!(e, Error::Internal(_));
                assert_error(committed, internal, "the test's exception in a commit");
                // If Metal has the work, the buffer stays in use until the work has ended.
                let runs = raise == Raise::AfterCommit;
                let tried = buffer.try_read::<f32>().map(drop);
                assert_eq!(tried.is_err(), runs, "{raise:?}: {tried:?}");
                gate.set_signaled_value(1).unwrap();
                let value = if runs { 2.0 } else { 1.0 };
                assert_eq!(*buffer.read_timeout::<f32>(LONG).unwrap(), [value; 4]);
                // The handler is called once, or dropped uncalled.
                let called = receiver.recv_timeout(LONG);
                assert_eq!(called.is_ok(), runs, "{raise:?}: {called:?}");
                assert!(receiver.recv_timeout(LONG).is_err());
                // The slot is free, and the queue goes on.
                complete_nothing(&queue);
            }
        },
    );
}
