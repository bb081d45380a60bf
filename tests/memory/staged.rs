//! Copies between devices by way of system memory, in pieces: both devices copy at the same time.
#![cfg(software_metal)]

use metal_bridge_test_support::in_child_with;

use crate::*;

/// What a link adds to every blit that crosses it, far more than the blit itself takes.
const LATENCY: Duration = Duration::from_millis(20);
const PIECES: u32 = 8;
/// Most of a piece: a region has a word for what the piece begins within a word.
const PIECE: usize = (4 << 20) - 4;

/// Two discrete devices, no peers. Shuffled devices would take turns.
const DISCRETE: [(&str, &str); 4] = [
    ("SOFTWARE_METAL_DEVICES", "2"),
    ("SOFTWARE_METAL_UNIFIED", "0"),
    ("SOFTWARE_METAL_LINK", "1000000,20000"),
    ("SOFTWARE_METAL_SHUFFLE", ""),
];

/// A queue of the first device, and a buffer there and one on the other, in both orders.
fn both_ways(
    mode: StorageMode,
    other_mode: StorageMode,
    test: impl Fn(&TransferQueue, &Buffer, &Buffer),
) {
    let (transfers, length) = (transfers(), PIECES as usize * PIECE);
    let other = other_device().unwrap();
    for (from, to) in [(device(), other), (other, device())] {
        let source = from.new_buffer(length, mode).unwrap();
        let destination = to.new_buffer(length, other_mode).unwrap();
        test(&transfers, &source, &destination);
    }
}

#[test]
fn both_devices_copy_at_the_same_time() {
    let test = "staged::both_devices_copy_at_the_same_time";
    in_child_with(test, &DISCRETE, || {
        let private = StorageMode::Private;
        both_ways(private, private, |transfers, source, destination| {
            let copy = || {
                let start = Instant::now();
                let copy = transfers.copy(source.at(0), destination.range(..));
                copy.run().unwrap();
                start.elapsed()
            };
            let time = (0..6).map(|_| copy()).min().unwrap();
            // The last piece is copied on when all have been copied there.
            assert!(time >= (PIECES + 1) * LATENCY, "{time:?}");
            // Each piece on both links, one after the other, would take at least this.
            assert!(time < 2 * PIECES * LATENCY, "{time:?}");
        });
    });
}

/// No blit of the source crosses a link, so that each device would get ahead of the other if it did not wait.
#[test]
fn a_fast_source_waits_for_a_slow_destination() {
    let test = "staged::a_fast_source_waits_for_a_slow_destination";
    in_child_with(test, &DISCRETE, || {
        let there = Memory::new(other_device().unwrap()).unwrap();
        let there = there.new_transfer_queue().unwrap();
        let (shared, private) = (StorageMode::Shared, StorageMode::Private);
        both_ways(shared, private, |transfers, source, destination| {
            let values = pattern(source.len(), 7);
            source.wait_write::<u8>().unwrap().copy_from_slice(&values);
            let copy = transfers.copy(source.at(0), destination.range(..));
            copy.commit().unwrap().wait().unwrap();
            let is_near = destination.device() == device();
            let queue = if is_near { transfers } else { &there };
            assert!(contents(queue, destination) == values);
        });
    });
}
