//! Behind a command buffer that is enqueued and never committed nothing runs: who waits there is told.

use std::thread;

use metal_bridge::CommandBuffer;
use metal_bridge_test_support::{in_time, leak};

use crate::*;

const WHY: &str = "enqueued it and never committed it";

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
        transfers.copy(&[2u8; 8], target.at(0)).run(),
        transfers
            .copy(Rows::new(&[2u8; 4], 4), target.rows(rows))
            .run(),
        transfers.copy(target.at(0), &mut output).run(),
        transfers
            .copy(target.rows(rows), Rows::new(&mut output, 4))
            .run(),
        transfers.copy(other.range(0..4), target.at(0)).run(),
        transfers.copy(other.rows(rows), target.rows(rows)).run(),
        transfers.fill(target.range(0..4), 2u8).run(),
        transfers.fill(target.rows(rows), 2u8).run(),
        transfers.batch().unwrap().run(),
    ] {
        assert_error(refused, deadlock, WHY);
    }
    assert_eq!(output, [9; 8]);
    let download = transfers
        .copy(target.at(0), Values::<u8>::new(8))
        .commit()
        .unwrap();
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
            transfers.fill(target.range(0..8), 1u8).run().unwrap();
            let before = transfers
                .copy(target.at(0), Values::<u8>::new(8))
                .commit()
                .unwrap();
            let open = enqueued(transfers.command_queue());
            is_refused(&transfers, &target);
            assert_eq!(before.wait().unwrap(), [1; 8]);
            // Another thread waits for what this one may still commit or drop.
            let after = transfers
                .copy(Staged(&[3u8; 1]), target.at(0))
                .commit()
                .unwrap();
            let download = transfers
                .copy(target.at(0), Values::<u8>::new(8))
                .commit()
                .unwrap();
            thread::scope(|scope| {
                let waiting = scope.spawn(|| download.wait());
                let running = scope.spawn(|| transfers.fill(target.range(4..), 4u8).run());
                // Longer than a wait needs to see that it could not end.
                thread::sleep(20 * SHORT);
                assert!(!waiting.is_finished() && !running.is_finished());
                drop(open);
                assert_eq!(waiting.join().unwrap().unwrap(), [3, 1, 1, 1, 1, 1, 1, 1]);
                running.join().unwrap().unwrap();
            });
            after.wait().unwrap();
            assert_eq!(contents(&transfers, &target), [3, 1, 1, 1, 4, 4, 4, 4]);
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
