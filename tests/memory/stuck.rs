//! Behind a command buffer that is enqueued and never committed nothing runs: who waits there is told.

use std::thread;

use metal_bridge::CommandBuffer;
use metal_bridge::memory::Rectangle;
use metal_bridge_test_support::{in_time, leak};

use crate::*;

const WHY: &str = "enqueued and never committed";

fn deadlock(error: &Error) -> bool {
    matches!(error, Error::Deadlock(_))
}

fn enqueued(queue: &CommandQueue) -> CommandBuffer {
    let mut open = queue.command_buffer().unwrap();
    open.enqueue().unwrap();
    open
}

/// Every form that waits without a timeout. None of them does anything to the buffer.
fn is_refused(transfers: &TransferQueue, target: &Buffer) {
    let rows = Rectangle {
        offset: 0,
        pitch: 4,
        width: 4,
        height: 1,
    };
    let other = buffer(8, StorageMode::Shared);
    let mut output = [9u8; 8];
    for refused in [
        transfers.upload_and_wait(&[2u8; 8], target, 0),
        transfers.upload_2d_and_wait(&[2u8; 4], 4, target, rows),
        transfers.download_and_wait(target, 0, &mut output),
        transfers.download_2d_and_wait(target, rows, &mut output, 4),
        transfers.copy_and_wait(&other, 0, target, 0, 4),
        transfers.copy_2d_and_wait(&other, 0, 4, target, rows),
        transfers.fill_and_wait(target, 0..4, 2u8),
        transfers.fill_2d_and_wait(target, rows, 2u8),
        transfers.batch().unwrap().commit_and_wait(),
    ] {
        assert_error(refused, deadlock, WHY);
    }
    assert_eq!(output, [9; 8]);
    let download = transfers.download_async::<u8>(target, 0, 8).unwrap();
    assert_error(download.wait(), deadlock, WHY);
    let queue = transfers.command_queue();
    let called = queue.call_host_function(|| {}).unwrap();
    assert_error(called.wait(), deadlock, WHY);
}

#[test]
fn a_transfer_behind_an_enqueued_buffer_is_refused() {
    for mode in MODES {
        in_time(move || {
            let (transfers, target) = (transfers(), buffer(8, mode));
            transfers.fill_and_wait(&target, 0..8, 1u8).unwrap();
            let before = transfers.download_async::<u8>(&target, 0, 8).unwrap();
            let open = enqueued(transfers.command_queue());
            is_refused(&transfers, &target);
            assert_eq!(before.wait().unwrap(), [1; 8]);
            // Another thread waits for what this one may still commit or drop.
            let after = transfers.upload_staged(&[3u8; 1], &target, 0).unwrap();
            let download = transfers.download_async::<u8>(&target, 0, 8).unwrap();
            thread::scope(|scope| {
                let waiting = scope.spawn(|| download.wait());
                // Longer than a wait needs to see that it could not end.
                thread::sleep(20 * SHORT);
                drop(open);
                assert_eq!(waiting.join().unwrap().unwrap(), [3, 1, 1, 1, 1, 1, 1, 1]);
            });
            after.wait().unwrap();
        });
    }
}

#[test]
fn a_transfer_behind_a_leaked_buffer_is_refused() {
    in_time(|| {
        let (transfers, target) = (transfers(), buffer(8, StorageMode::Shared));
        let leaking = transfers.command_queue().clone();
        thread::spawn(move || leak(enqueued(&leaking)))
            .join()
            .unwrap();
        is_refused(&transfers, &target);
    });
}
