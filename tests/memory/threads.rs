//! Many threads on one device, with one memory: every form of transfer, each result compared.

use std::thread;

use metal_bridge::StorageMode;
use metal_bridge_test_support::in_child;

use crate::*;

const THREADS: usize = 64;
const LENGTH: usize = 1 << 20;
/// Kinds of rounds, each of which every thread has run.
const FORMS: u64 = 4;
/// `make stress` runs it for a minute.
const TIME: Duration = Duration::from_secs(2);

#[test]
fn sixty_four_threads_share_a_memory() {
    // In a process of its own, whose objects nobody else makes.
    in_child("threads::sixty_four_threads_share_a_memory", || {
        let report = metal_bridge_workloads::stress::transfers(device(), THREADS, TIME).unwrap();
        assert_eq!(report.failures, [""; 0], "{}", report.statistics);
        assert!(report.rounds >= FORMS * THREADS as u64);
    });
}

/// What a thread copies itself has a position in the queue's order, and is nothing that others see a half of.
#[test]
fn a_host_copy_is_seen_whole_by_other_threads() {
    let transfers = memory().transfer_queue(&queue()).unwrap();
    let shared = buffer(LENGTH, StorageMode::Shared);
    transfers.fill(shared.range(0..LENGTH), 0u8).run().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for value in 0..200u8 {
                transfers
                    .copy(&vec![value; LENGTH], shared.at(0))
                    .run()
                    .unwrap();
            }
        });
        for _ in 0..200 {
            let download = transfers
                .copy(shared.at(0), Values::<u8>::new(LENGTH))
                .commit();
            let values = download.unwrap().wait().unwrap();
            assert!(values.iter().all(|value| *value == values[0]));
        }
    });
}

#[test]
fn a_waiting_host_copy_precedes_later_commits() {
    let queue = queue();
    let transfers = memory().transfer_queue(&queue).unwrap();
    let shared = buffer(LENGTH, StorageMode::Shared);
    for value in 1..=5u8 {
        // One that was made before the copy, and is committed after it.
        let earlier = queue.command_buffer().unwrap();
        let (open, gate) = std::sync::mpsc::channel::<()>();
        queue
            .call_host_function(move || gate.recv().unwrap_or_default())
            .unwrap();
        let download = thread::scope(|scope| {
            let copies = scope.spawn(|| {
                let from = vec![value; LENGTH];
                // A guard of the wait below may be in the way.
                let copy = || transfers.copy(&from, shared.at(0)).run();
                while let Err(error) = copy() {
                    assert!(matches!(error, Error::InUse(_)), "{error}");
                }
            });
            // The copy's position in the queue follows at once.
            wait_for("the copy", || shared.try_read::<u8>().is_err());
            thread::sleep(Duration::from_millis(100));
            assert!(!copies.is_finished());
            earlier.commit().unwrap();
            let download = transfers
                .copy(shared.at(0), Values::<u8>::new(LENGTH))
                .commit();
            drop(open);
            download.unwrap()
        });
        assert!(download.wait().unwrap() == vec![value; LENGTH]);
    }
}
