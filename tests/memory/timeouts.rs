//! Transfers with a timeout: what goes on after it, and what it covers.

use std::thread;

use crate::*;

#[test]
fn transfers_with_a_timeout_go_on_after_it() {
    let transfers = transfers();
    let (source, target) = (
        buffer(8, StorageMode::Private),
        buffer(8, StorageMode::Private),
    );
    let timeout = |error: &Error| matches!(error, Error::Timeout(_));
    let gate = hold(transfers.command_queue());
    let late = "has not completed";
    assert_error(
        transfers
            .copy(Staged(&[1u8; 8]), source.at(0))
            .run_timeout(SHORT),
        timeout,
        late,
    );
    assert_error(
        transfers.fill(source.range(0..4), 2u8).run_timeout(SHORT),
        timeout,
        late,
    );
    let copied = transfers
        .copy(source.range(2..6), target.at(0))
        .run_timeout(SHORT);
    assert_error(copied, timeout, late);
    let values = transfers.copy(target.at(0), Values::<u8>::new(8));
    assert_error(values.run_timeout(SHORT), timeout, late);
    let owned = transfers.copy(target.at(0), Owned::new([9u8; 8]));
    assert_error(owned.run_timeout(SHORT), timeout, late);
    gate.set_signaled_value(1).unwrap();
    // All of it has happened, in its order.
    let values = transfers.copy(target.at(0), Values::<u8>::new(4));
    assert_eq!(values.run_timeout(LONG).unwrap(), [2, 2, 1, 1]);
    let owned = transfers.copy(target.at(0), Owned::new([9u8; 4]));
    assert_eq!(owned.run_timeout(LONG).unwrap(), [2, 2, 1, 1]);
    let filled = transfers.fill(target.range(..), 3u8).run_timeout(LONG);
    filled.unwrap();
    assert_eq!(contents(&transfers, &target), [3; 8]);
}

/// A timeout counts from the call on, also while the queue has no free slot for the transfer: here, there never is one.
#[test]
fn a_timeout_covers_the_wait_for_a_slot() {
    const PLENTY: Duration = Duration::from_millis(300);
    let transfers = transfers();
    let (source, target) = (
        buffer(8, StorageMode::Private),
        buffer(8, StorageMode::Private),
    );
    let no_slot = |result| {
        let timeout = |error: &Error| matches!(error, Error::Timeout(_));
        assert_error(result, timeout, "command buffers were in use");
    };
    let gate = hold(transfers.command_queue());
    let mut pending = Vec::new();
    loop {
        let mut batch = transfers.batch().unwrap();
        batch.fill(source.range(0..8), 1u8).unwrap();
        match batch.commit_timeout(SHORT) {
            Ok(submission) => pending.push(submission),
            full => break no_slot(full.map(drop)),
        }
    }
    assert!(pending.len() >= 1024);
    // None of these waits for the ten minutes that a call without a timeout waits for a slot.
    let start = Instant::now();
    no_slot(
        transfers
            .copy(Staged(&[2u8; 8]), source.at(0))
            .run_timeout(SHORT),
    );
    no_slot(
        transfers
            .fill(source.range(0..4), 2u8)
            .run_timeout(Duration::ZERO),
    );
    no_slot(
        transfers
            .copy(source.range(0..4), target.at(0))
            .run_timeout(SHORT),
    );
    let values = transfers.copy(source.at(0), Values::<u8>::new(8));
    no_slot(values.run_timeout(SHORT).map(drop));
    assert!(start.elapsed() < LONG);
    // A slot that comes free late leaves the rest of the time for the transfer.
    thread::scope(|scope| {
        let late = scope.spawn(|| {
            transfers
                .copy(Staged(&[3u8; 1]), source.at(0))
                .run_timeout(LONG)
        });
        thread::sleep(PLENTY);
        assert!(!late.is_finished());
        gate.set_signaled_value(1).unwrap();
        late.join().unwrap().unwrap();
    });
    // Nothing that was refused has happened.
    let values = transfers.copy(source.at(0), Values::<u8>::new(8));
    let values = values.run_timeout(LONG).unwrap();
    assert_eq!(values, [3, 1, 1, 1, 1, 1, 1, 1]);
}
