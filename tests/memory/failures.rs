//! What no healthy Metal shows: allocations and command buffers that fail, a device that is lost; each in a process of
//! its own, since a failure strikes whoever comes next.
#![cfg(software_metal)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use metal_bridge::ObjectKind;
use metal_bridge::command_buffer_error::OUT_OF_MEMORY;
use metal_bridge_test_support::failures::Raise;
use metal_bridge_test_support::{failures, in_child};

use crate::*;

const LENGTH: usize = 100_000;

fn failed(error: &Error) -> bool {
    matches!(error, Error::CommandBuffer(_))
}

#[test]
fn pressure_frees_the_cache_and_retries_the_allocation() {
    in_child(
        "failures::pressure_frees_the_cache_and_retries_the_allocation",
        || {
            let memory = memory();
            drop(memory.allocate(LENGTH, StorageMode::Private).unwrap());
            failures::fail_allocation(1);
            let larger = memory.allocate(4 * LENGTH, StorageMode::Private).unwrap();
            let buffers = memory.statistics().buffers;
            assert_eq!(
                (buffers.objects_kept, buffers.trimmed),
                (0, 1),
                "{buffers:?}"
            );
            drop(larger);
        },
    );
}

#[test]
fn a_failed_staging_allocation_fails_one_transfer() {
    in_child(
        "failures::a_failed_staging_allocation_fails_one_transfer",
        || {
            let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Private));
            let values = pattern(LENGTH, 1);
            transfers.fill(target.range(0..LENGTH), 0u8).run().unwrap();
            // Each allocation in turn fails, for as long as there is one more.
            for nth in 1..6 {
                transfers.memory().trim(Duration::ZERO);
                failures::fail_allocation(nth);
                match transfers.copy(Staged(&values[..3]), target.at(1)).commit() {
                    Ok(submission) => submission.wait().unwrap(),
                    Err(error) => assert!(matches!(error, Error::OutOfMemory(_)), "{error:?}"),
                }
                match transfers.copy(target.at(5), Values::<u8>::new(7)).commit() {
                    Ok(download) => assert_eq!(download.wait().unwrap().len(), 7),
                    Err(error) => assert!(matches!(error, Error::OutOfMemory(_)), "{error:?}"),
                }
                failures::reset();
            }
            transfers
                .copy(Owned::new(values.clone()), target.at(0))
                .commit()
                .unwrap();
            assert!(contents(&transfers, &target) == values);
        },
    );
}

#[test]
fn a_failed_transfer_is_an_error_wherever_one_asks() {
    in_child(
        "failures::a_failed_transfer_is_an_error_wherever_one_asks",
        || {
            let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Private));
            let values = pattern(LENGTH, 1);
            transfers.copy(&values, target.at(0)).run().unwrap();
            let fail = || failures::fail_command_buffer(1, OUT_OF_MEMORY);
            let mut output = vec![0u8; LENGTH];

            fail();
            assert_error(
                transfers.copy(&vec![0u8; LENGTH], target.at(0)).run(),
                failed,
                "the GPU failed",
            );
            fail();
            assert_error(
                transfers.copy(target.at(0), &mut output).run(),
                failed,
                "the GPU failed",
            );
            fail();
            let upload = transfers
                .copy(Owned::new(vec![0u8; LENGTH]), target.at(0))
                .commit()
                .unwrap();
            assert_error(upload.wait(), failed, "the GPU failed");
            assert_error(
                metal_bridge_test_support::block_on(upload),
                failed,
                "the GPU failed",
            );
            fail();
            let download = transfers
                .copy(target.at(0), Values::<u8>::new(LENGTH))
                .commit()
                .unwrap();
            assert_error(download.wait(), failed, "the GPU failed");
            fail();
            let (sender, receiver) = mpsc::channel();
            let download = transfers
                .copy(target.at(0), Owned::new(output))
                .commit()
                .unwrap();
            download.on_completed(move |values| sender.send(values).unwrap());
            assert_error(
                receiver.recv_timeout(LONG).unwrap(),
                failed,
                "the GPU failed",
            );
            // Buffers and memory are free, and the next ones run.
            target.wait_until_idle(Some(LONG)).unwrap();
            assert!(contents(&transfers, &target) == values);
        },
    );
}

/// An owner with a bug of the caller's.
struct PanicsInDrop(Vec<u8>);

impl AsMut<[u8]> for PanicsInDrop {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("expected: the test's owner panics");
    }
}

#[test]
fn a_panic_of_an_owner_keeps_no_error_back() {
    in_child("failures::a_panic_of_an_owner_keeps_no_error_back", || {
        let (transfers, source) = (transfers(), buffer(LENGTH, StorageMode::Private));
        let owner = || Owned::new(PanicsInDrop(vec![0; LENGTH]));
        let forget =
            |values: std::result::Result<PanicsInDrop, Error>| values.map(std::mem::forget);

        failures::fail_command_buffer(1, OUT_OF_MEMORY);
        let mut download = transfers.copy(source.at(0), owner()).commit().unwrap();
        let values = forget(download.wait_timeout(LONG));
        assert_error(values, failed, "the GPU failed");

        let mut batch = transfers.batch().unwrap();
        let mut downloads = [(); 2].map(|()| batch.copy(source.at(0), owner()).unwrap());
        drop(batch);
        for download in &mut downloads {
            let values = forget(download.wait_timeout(LONG));
            let is_dropped = |e: &Error| matches!(e, Error::InvalidState(_));
            assert_error(values, is_dropped, "was not committed");
        }
    });
}

#[test]
fn a_failure_before_a_host_function_hangs_nobody() {
    in_child(
        "failures::a_failure_before_a_host_function_hangs_nobody",
        || {
            let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Shared));
            transfers.fill(target.range(0..LENGTH), 1u8).run().unwrap();
            failures::fail_command_buffer(1, OUT_OF_MEMORY);
            let (sender, receiver) = mpsc::channel();
            let called = transfers
                .command_queue()
                .call_host_function(move || sender.send(()).unwrap())
                .unwrap();
            let after = transfers
                .copy(target.at(0), Values::<u8>::new(LENGTH))
                .commit()
                .unwrap();
            let ended = called.wait_timeout(LONG);
            assert!(!matches!(ended, Err(Error::Timeout(_))), "{ended:?}");
            // Called, or given up: not both, and not neither.
            assert_eq!(receiver.recv_timeout(LONG).is_ok(), ended.is_ok());
            assert!(after.wait().unwrap() == vec![1; LENGTH]);
        },
    );
}

#[test]
fn a_lost_device_ends_transfers_with_errors() {
    in_child("failures::a_lost_device_ends_transfers_with_errors", || {
        let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Private));
        let values = pattern(LENGTH, 1);
        transfers.copy(&values, target.at(0)).run().unwrap();
        failures::lose_device(1);
        assert!(transfers.copy(&values, target.at(0)).run().is_err());
        for _ in 0..3 {
            let ended = transfers
                .fill(target.range(0..4), 1u8)
                .commit()
                .and_then(|fill| fill.wait());
            assert!(ended.is_err());
            let ended = transfers
                .copy(target.at(0), Values::<u8>::new(4))
                .commit()
                .and_then(|download| download.wait());
            assert!(ended.is_err());
        }
        assert!(
            transfers
                .memory()
                .allocate(1 << 20, StorageMode::Private)
                .is_err()
        );
        failures::reset();
        assert!(contents(&transfers, &target) == values);
        drop((transfers, target));
        wait_for("the command buffers", || {
            Device::live_objects().live(ObjectKind::CommandBuffer) == 0
        });
    });
}

/// What an error of a commit says in which Metal raised an exception.
const RAISED: &str = "the test's exception in a commit";

fn internal(error: &Error) -> bool {
    matches!(error, Error::Internal(_))
}

/// Values that note their drop.
struct Noted {
    values: Vec<u8>,
    dropped: Arc<AtomicBool>,
}

impl AsRef<[u8]> for Noted {
    fn as_ref(&self) -> &[u8] {
        &self.values
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_commit_that_raises_keeps_host_memory_for_ever() {
    in_child(
        "failures::a_commit_that_raises_keeps_host_memory_for_ever",
        || {
            for raise in [Raise::BeforeCommit, Raise::AfterCommit] {
                let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Shared));
                transfers.fill(target.range(..), 1u8).run().unwrap();
                let (values, dropped) = (vec![2u8; LENGTH], Arc::default());
                let noted = Noted {
                    values,
                    dropped: Arc::clone(&dropped),
                };
                let mut batch = transfers.batch().unwrap();
                batch.copy(Owned::new(noted), target.at(0)).unwrap();
                let mut download = batch.copy(target.at(0), Values::<u8>::new(LENGTH)).unwrap();
                let gate = hold(transfers.command_queue());
                let committed = failures::raise_in_commits(raise, || batch.commit());
                assert_error(committed.map(drop), internal, RAISED);
                assert_error(download.wait_timeout(LONG), internal, RAISED);
                // If Metal has the work, the buffer stays in use until the work has ended.
                let runs = raise == Raise::AfterCommit;
                let tried = target.try_write::<u8>().map(drop);
                assert_eq!(tried.is_err(), runs, "{raise:?}: {tried:?}");
                gate.set_signaled_value(1).unwrap();
                let written = if runs { 2 } else { 1 };
                let bytes = target.write_timeout::<u8>(LONG).unwrap();
                assert!(bytes.iter().all(|byte| *byte == written), "{raise:?}");
                drop(bytes);
                // The queue goes on.
                assert!(contents(&transfers, &target) == [written; LENGTH]);
                assert!(!dropped.load(Ordering::Relaxed), "{raise:?}");
            }
        },
    );
}

#[test]
fn a_run_that_raises_returns_when_nothing_runs() {
    in_child(
        "failures::a_run_that_raises_returns_when_nothing_runs",
        || {
            // So much that the GPU writes to the borrowed memory itself.
            const LENGTH: usize = 1 << 20;
            for raise in [Raise::BeforeCommit, Raise::AfterCommit] {
                let (transfers, source) = (transfers(), buffer(LENGTH, StorageMode::Private));
                transfers.fill(source.range(..), 7u8).run().unwrap();
                let mut output = vec![0u8; LENGTH];
                let gate = hold(transfers.command_queue());
                let ran = thread::scope(|scope| {
                    scope.spawn(|| {
                        thread::sleep(SHORT);
                        gate.set_signaled_value(1).unwrap();
                    });
                    let copy = transfers.copy(source.at(0), &mut output);
                    failures::raise_in_commits(raise, || copy.run())
                });
                assert_error(ran, internal, RAISED);
                let written = if raise == Raise::AfterCommit { 7 } else { 0 };
                assert!(output == [written; LENGTH], "{raise:?}");
                source.wait_until_idle(Some(Duration::ZERO)).unwrap();
                assert!(contents(&transfers, &source) == [7; LENGTH]);
            }
        },
    );
}
