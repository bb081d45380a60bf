//! Nothing is left behind: objects of the bridge, Objective-C objects, and new ones for each transfer.

use metal_bridge::ObjectKind;
use metal_bridge_test_support::{
    SLACK, count_objects, in_child, print_live_objects, resting_objects, settled_handles,
    settled_objects,
};

use crate::*;

/// Every form of transfer, with an odd length.
fn transfer_everything(transfers: &TransferQueue, buffers: &[Buffer], values: &[u8]) {
    let length = values.len();
    for target in buffers {
        transfers.copy(values, target.at(1)).run().unwrap();
        transfers
            .copy(Owned::new(values.to_vec()), target.at(2))
            .commit()
            .unwrap();
        transfers
            .copy(Staged(values), target.at(3))
            .commit()
            .unwrap();
        transfers.fill(target.range(0..4), 7u8).commit().unwrap();
        for source in buffers.iter().filter(|source| !source.is_same(target)) {
            transfers
                .copy(source.range(1..1 + length), target.at(2))
                .commit()
                .unwrap();
        }
        let download = transfers
            .copy(target.at(3), Values::<u8>::new(length))
            .commit()
            .unwrap();
        drop(
            transfers
                .copy(target.at(3), Values::<u8>::new(length))
                .commit()
                .unwrap(),
        );
        let mut batch = transfers.batch().unwrap();
        batch
            .copy(Owned::new(values.to_vec()), target.at(0))
            .unwrap();
        let never = batch.copy(target.at(0), Values::<u8>::new(length)).unwrap();
        drop(batch);
        assert!(never.wait().is_err());
        download.wait().unwrap();
        transfers.command_queue().call_host_function(|| {}).unwrap();
    }
    transfers.batch().unwrap().run().unwrap();
}

fn buffers(length: usize) -> Vec<Buffer> {
    MODES.map(|mode| buffer(length, mode)).to_vec()
}

#[test]
fn transfers_leave_nothing_behind() {
    in_child("leaks::transfers_leave_nothing_behind", || {
        count_objects();
        let round = || {
            let transfers = transfers();
            for length in [100, 100_000] {
                transfer_everything(&transfers, &buffers(length + 8), &pattern(length, 1));
            }
        };
        device();
        let handles = Device::live_objects();
        round();
        let objects = resting_objects();
        for _ in 0..5 {
            round();
        }
        let after = settled_objects(objects + SLACK);
        if after > objects + SLACK {
            print_live_objects();
        }
        assert!(after <= objects + SLACK, "{objects} objects became {after}");
        assert!(settled_handles(&handles).same_live(&handles), "{handles:?}");
    });
}

/// Forms of transfer that need staging, each waited for, so that a round needs no more of it than the one before.
fn transfer_one_by_one(transfers: &TransferQueue, buffers: &[Buffer], values: &[u8]) {
    let length = values.len();
    for target in buffers {
        transfers.copy(values, target.at(1)).run().unwrap();
        let staged = transfers
            .copy(Staged(values), target.at(3))
            .commit()
            .unwrap();
        staged.wait().unwrap();
        let owned = transfers
            .copy(Owned::new(values.to_vec()), target.at(2))
            .commit()
            .unwrap();
        owned.wait().unwrap();
        let download = transfers
            .copy(target.at(2), Values::<u8>::new(length))
            .commit()
            .unwrap();
        assert!(download.wait().unwrap() == values);
        let called = transfers.command_queue().call_host_function(|| {});
        called.unwrap().wait().unwrap();
        // The staging of a download comes back after its values.
        transfers.batch().unwrap().run().unwrap();
    }
}

/// Once the pools are warm, transfers make command buffers and nothing else of the bridge's.
#[test]
fn a_steady_stream_makes_nothing_new() {
    in_child("leaks::a_steady_stream_makes_nothing_new", || {
        let (transfers, buffers, values) = (transfers(), buffers(100_008), pattern(100_000, 1));
        for _ in 0..5 {
            transfer_one_by_one(&transfers, &buffers, &values);
        }
        let before = Device::live_objects();
        let (allocated, statistics) = (
            device().current_allocated_size(),
            transfers.memory().statistics(),
        );
        for _ in 0..20 {
            transfer_one_by_one(&transfers, &buffers, &values);
        }
        let after = Device::live_objects();
        for kind in [
            ObjectKind::Buffer,
            ObjectKind::CommandQueue,
            ObjectKind::SharedEvent,
        ] {
            assert_eq!(after.made(kind), before.made(kind), "{kind:?}");
        }
        assert_eq!(device().current_allocated_size(), allocated);
        let staging = transfers.memory().statistics().staging;
        assert_eq!(staging.misses, statistics.staging.misses);
        assert!(staging.hits > statistics.staging.hits);
    });
}
