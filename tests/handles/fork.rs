//! A child of `fork` has the handles and none of Metal's threads: what would wait for one is refused.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::task::{Context, Waker};
use std::{env, fs};

use metal_bridge::memory::{Memory, Values};
use metal_bridge_test_support::{in_child, in_fork, live_objects};

use crate::*;

fn invalid_state(error: &Error) -> bool {
    matches!(error, Error::InvalidState(_))
}

#[test]
fn a_child_of_fork_is_refused_waits() {
    let (queue, buffer) = (queue(), shared(&[1.0; 32]));
    let idle = shared(&[1.0; 32]);
    let memory = Memory::new(device()).unwrap();
    let transfers = memory.transfer_queue(&queue).unwrap();
    let gate = device().new_shared_event().unwrap();
    let running = increment(&queue, &buffer, Some(&gate));
    let mut download = transfers
        .copy(buffer.at(0), Values::<f32>::new(1))
        .commit()
        .unwrap();
    let mut recording = queue.command_buffer().unwrap();
    let mut used = queue.command_buffer().unwrap();
    let mut blit = used.blit_command_encoder().unwrap();
    blit.fill(&idle, 0..4, 0).unwrap();
    drop(blit);
    in_fork(move || {
        assert_error(recording.enqueue(), invalid_state, "child of fork");
        assert_error(recording.commit(), invalid_state, "child of fork");
        drop(used);
    });
    in_fork(|| {
        let child = "child of fork";
        assert_error(running.wait(), invalid_state, child);
        assert_error(running.wait_timeout(LONG), invalid_state, child);
        assert_error(download.wait_timeout(LONG), invalid_state, child);
        assert_error(queue.command_buffer(), invalid_state, child);
        assert_error(
            transfers.fill(buffer.range(0..4), 0u8).run(),
            invalid_state,
            child,
        );
        assert_error(
            gate.wait_until_signaled_value(1, LONG),
            invalid_state,
            child,
        );
        assert_error(gate.set_signaled_value(1), invalid_state, child);
        assert_error(Device::system_default(), invalid_state, child);
        let parent = "child of fork";
        assert_error(buffer.wait_read::<f32>(), invalid_state, parent);
        assert_error(buffer.wait_write::<f32>(), invalid_state, parent);
        assert_error(buffer.wait_until_idle(None), invalid_state, parent);
        // Another thread of the parent's may hold its lock, whether or not anything uses it.
        assert_error(idle.try_read::<f32>(), invalid_state, parent);
        assert_error(idle.try_write::<f32>(), invalid_state, parent);
        assert_error(idle.wait_until_idle(None), invalid_state, parent);
        // Only what the child has to itself is dropped, and nothing waits.
        drop(queue.clone());
    });
    gate.set_signaled_value(1).unwrap();
    running.wait().unwrap();
    assert_eq!(download.wait_timeout(LONG).unwrap(), [2.0]);
}

#[test]
fn a_child_of_fork_may_ask_what_takes_no_wait() {
    let (queue, buffer) = (queue(), shared(&[1.0; 32]));
    let transfers = Memory::new(device())
        .unwrap()
        .transfer_queue(&queue)
        .unwrap();
    let gate = device().new_shared_event().unwrap();
    let done = increment(&queue, &buffer, None);
    done.wait().unwrap();
    let mut running = increment(&queue, &buffer, Some(&gate));
    let mut download = transfers
        .copy(buffer.at(0), Values::<f32>::new(1))
        .commit()
        .unwrap();
    let pipeline = pipeline("increment");
    let asked = || {
        (
            (device().name(), buffer.len(), buffer.storage_mode()),
            (done.status(), done.times(), gate.signaled_value()),
            (queue.label(), pipeline.max_total_threads_per_threadgroup()),
        )
    };
    let before = asked();
    in_fork(|| {
        assert_eq!(asked(), before);
        assert!(done.is_completed() && !running.is_completed() && !download.is_completed());
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut running).poll(&mut context).is_pending());
        assert!(Pin::new(&mut download).poll(&mut context).is_pending());
    });
    gate.set_signaled_value(1).unwrap();
    running.wait().unwrap();
    assert_eq!(download.wait_timeout(LONG).unwrap(), [3.0]);
}

#[test]
fn drops_in_a_child_of_fork_free_nothing() {
    let (queue, buffer) = (queue(), shared(&[1.0; 32]));
    let memory = Memory::new(device()).unwrap();
    let pooled = memory.allocate(100_000, StorageMode::Private).unwrap();
    let transfers = memory.transfer_queue(&queue).unwrap();
    let library = device().new_library_with_source(KERNELS, &CompileOptions::new());
    let library = library.unwrap();
    let function = library.new_function("add").unwrap();
    let pipeline = device().new_compute_pipeline_state(&function).unwrap();
    let gate = device().new_shared_event().unwrap();
    let running = increment(&queue, &buffer, Some(&gate));
    let download = transfers
        .copy(buffer.at(0), Values::<f32>::new(1))
        .commit()
        .unwrap();
    let recording = queue.command_buffer().unwrap();
    let batch = transfers.batch().unwrap();
    let opened = gate.clone();
    in_fork(move || {
        let before = (live_objects(), Device::live_objects());
        drop((recording, batch, running, download, gate, opened));
        drop((pipeline, function, library, pooled, transfers));
        memory.trim(Duration::ZERO);
        drop((memory, buffer, queue));
        assert_eq!((live_objects(), Device::live_objects()), before);
    });
}

fn compute() {
    let (queue, buffer) = (queue(), shared(&[1.0; 32]));
    increment(&queue, &buffer, None).wait().unwrap();
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0; 32]);
}

#[test]
fn a_child_made_before_the_first_device_may_compute() {
    in_child(
        "fork::a_child_made_before_the_first_device_may_compute",
        || {
            in_fork(compute);
            // And so may its parent afterwards.
            compute();
        },
    );
}

#[test]
fn a_child_of_fork_that_calls_exec_may_compute() {
    const NAME: &str = "fork::a_child_of_fork_that_calls_exec_may_compute";
    const NOTE_VARIABLE: &str = "METAL_BRIDGE_TEST_NOTE";
    if let Some(note) = env::var_os(NOTE_VARIABLE) {
        compute();
        return fs::write(note, "computed").unwrap();
    }
    compute();
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let exec = |note: &Path| {
        let mut command = Command::new(env::current_exe().unwrap());
        let error = command
            .args([NAME, "--exact"])
            .stdout(Stdio::null())
            .env(NOTE_VARIABLE, note)
            .exec();
        panic!("{error}");
    };
    in_fork(|| exec(&note));
    assert_eq!(fs::read_to_string(&note).unwrap(), "computed");
}
