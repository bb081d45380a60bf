//! Scratch buffers out of heaps, residency sets, and transfers between devices.

use metal_bridge::ObjectKind;
use metal_bridge::memory::{ArenaOptions, Memory, MemoryOptions, TransferKind};
use metal_bridge_test_support::{in_child, in_child_with};

use crate::*;

const KIB: usize = 1 << 10;

#[test]
fn an_arena_reuses_memory_once_the_gpu_is_done() {
    let memory = memory();
    let options = ArenaOptions::new()
        .storage_mode(StorageMode::Shared)
        .block_bytes(256 * KIB);
    let arena = memory.new_arena(&options).unwrap();
    let allocate = || arena.allocate(200 * KIB).unwrap();
    let misses = || arena.statistics().misses;
    let (transfers, second) = no_reuse_before_the_gpu_is_done(&memory, allocate, misses);
    // Token after token in the same memory, once the one before is done.
    for _ in 0..20 {
        wait_for("the scratch before", || {
            arena.statistics().objects_in_use == 1
        });
        let scratch = allocate();
        transfers.fill(scratch.range(..), 3u8).run().unwrap();
    }
    assert_eq!(misses(), 2);
    drop(second);
}

#[test]
fn an_arena_ends_at_its_limit_and_at_the_budget() {
    let over = |e: &Error| matches!(e, Error::OverBudget(_));
    let budget = MemoryOptions::new().budget(1 << 20);
    let memory = Memory::with_options(device(), &budget).unwrap();
    let options = ArenaOptions::new().block_bytes(128 * KIB).limit(256 * KIB);
    let arena = memory.new_arena(&options).unwrap();
    assert_eq!(arena.storage_mode(), StorageMode::Private);
    assert_error(arena.allocate(300 * KIB), over, "");
    let kept = arena.allocate(100 * KIB).unwrap();
    let other = memory.allocate(700 * KIB, StorageMode::Private).unwrap();
    assert_error(
        memory.allocate(400 * KIB, StorageMode::Private),
        over,
        "budget",
    );
    drop((kept, other));
    wait_for("the arena's buffers", || {
        arena.statistics().bytes_in_use == 0
    });
    arena.trim();
    assert_eq!(arena.statistics().objects_kept, 0);
    assert_error(
        memory.new_arena(&ArenaOptions::new().storage_mode(StorageMode::Managed)),
        |e| matches!(e, Error::InvalidArgument(_) | Error::Unsupported(_)),
        "",
    );
    // A buffer outlives its arena and its memory.
    let outliving = arena.allocate(KIB).unwrap();
    drop((arena, memory));
    let transfers = transfers();
    transfers.fill(outliving.range(0..KIB), 4u8).run().unwrap();
    assert_eq!(contents(&transfers, &outliving), [4; KIB]);
}

#[test]
fn a_residency_set_has_its_buffers() {
    if !device().supports_residency_sets() {
        assert!(device().new_residency_set().is_err());
        return;
    }
    let (set, queue) = (device().new_residency_set().unwrap(), queue());
    let weights = buffer(64 * KIB, StorageMode::Private);
    assert_error(
        set.remove(&weights),
        |e| matches!(e, Error::NotFound(_)),
        "",
    );
    set.add(&weights).unwrap();
    set.commit().unwrap();
    assert!(set.allocated_size() >= 64 * KIB as u64);
    set.request(Duration::from_secs(1)).unwrap();
    queue.add_residency_set(&set).unwrap();
    let transfers = memory().transfer_queue(&queue).unwrap();
    transfers.fill(weights.range(0..4), 1u8).run().unwrap();
    // Metal would end the process at the 33rd.
    let more: Vec<_> = (1..32)
        .map(|_| device().new_residency_set().unwrap())
        .collect();
    for another in &more {
        queue.add_residency_set(another).unwrap();
    }
    let excess = device().new_residency_set().unwrap();
    let refused = queue.add_residency_set(&excess).unwrap_err();
    assert!(matches!(refused, Error::OutOfRange(_)), "{refused}");
    queue.add_residency_set(&set).unwrap();
    queue.remove_residency_set(&more[0]).unwrap();
    queue.add_residency_set(&excess).unwrap();
    queue.remove_residency_set(&set).unwrap();
    set.end().unwrap();
    set.remove(&weights).unwrap();
    set.commit().unwrap();
    assert_eq!(set.allocated_size(), 0);
    if let Some(other) = other_device() {
        let foreign = other.new_buffer(KIB, StorageMode::Private).unwrap();
        assert_error(
            set.add(&foreign),
            |e| matches!(e, Error::WrongDevice(_)),
            "",
        );
    }
}

/// Between devices, from and to every storage mode.
fn across(expected: TransferKind) {
    let Some(other) = other_device() else { return };
    let transfers = transfers();
    let theirs = Memory::new(other)
        .unwrap()
        .transfer_queue(&other.new_command_queue().unwrap())
        .unwrap();
    let length = 50_003;
    for mode in MODES {
        for other_mode in MODES {
            let bytes = pattern(length, mode as u32 * 3 + other_mode as u32);
            let here = buffer(length, mode);
            let there = other.new_buffer(length, other_mode).unwrap();
            theirs.copy(&bytes, there.at(0)).run().unwrap();
            transfers
                .copy(there.range(1..length - 1), here.at(2))
                .run()
                .unwrap();
            assert!(
                contents(&transfers, &here)[2..] == bytes[1..length - 1],
                "{mode:?} {other_mode:?}"
            );
            transfers.fill(here.range(0..5), 0u8).run().unwrap();
            transfers
                .copy(here.range(0..100), there.at(4))
                .commit()
                .unwrap()
                .wait()
                .unwrap();
            let back = contents(&theirs, &there);
            assert!(
                back[4..9] == [0; 5] && back[104..] == bytes[104..],
                "{mode:?} {other_mode:?}"
            );
        }
    }
    let statistics = transfers.memory().statistics();
    assert!(statistics.transfers(expected).count > 0, "{statistics}");
    // The tracker of a buffer elsewhere knows of the copy, too.
    let (here, there) = (
        buffer(64, StorageMode::Private),
        other.new_buffer(64, StorageMode::Shared).unwrap(),
    );
    let gate = hold(transfers.command_queue());
    transfers
        .copy(here.range(0..64), there.at(0))
        .commit()
        .unwrap();
    assert_error(
        there.read_timeout::<u8>(SHORT),
        |e| matches!(e, Error::Timeout(_)),
        "committed work that uses the buffer",
    );
    gate.set_signaled_value(1).unwrap();
    there.wait_read::<u8>().unwrap();
}

#[test]
fn devices_without_peers_copy_through_system_memory() {
    across(TransferKind::PeerStaged);
}

#[cfg(software_metal)]
#[test]
fn peers_copy_through_remote_views() {
    in_child("arenas::peers_copy_through_remote_views", || {
        // SAFETY: nothing else runs in this process yet.
        unsafe { std::env::set_var("SOFTWARE_METAL_PEERS", "1") };
        across(TransferKind::Peer);
        assert_eq!(Device::live_objects().live(ObjectKind::Error), 0);
    });
}

#[cfg(software_metal)]
#[test]
fn a_buffer_has_a_view_for_each_peer() {
    let variables = [
        ("SOFTWARE_METAL_DEVICES", "4"),
        ("SOFTWARE_METAL_PEERS", "1"),
    ];
    in_child_with(
        "arenas::a_buffer_has_a_view_for_each_peer",
        &variables,
        || {
            let devices = Device::all().unwrap();
            let memories: Vec<Memory> = devices.iter().map(|d| Memory::new(d).unwrap()).collect();
            let queues: Vec<TransferQueue> = memories
                .iter()
                .map(|m| m.new_transfer_queue().unwrap())
                .collect();
            let source = devices[0].new_buffer(KIB, StorageMode::Private).unwrap();
            let bytes = pattern(KIB, 5);
            queues[0].copy(&bytes, source.at(0)).run().unwrap();
            // Threads, since two may make their views at the same time; and again, by the views that are there.
            for round in 1..=2 {
                std::thread::scope(|scope| {
                    for queue in &queues[1..] {
                        scope.spawn(|| {
                            let memory = queue.memory();
                            let copy = memory.allocate(KIB, StorageMode::Private).unwrap();
                            queue.copy(source.range(..), copy.at(0)).run().unwrap();
                            assert!(contents(queue, &copy) == bytes);
                            let peers = memory.statistics().transfers(TransferKind::Peer);
                            assert_eq!(peers.count, round);
                        });
                    }
                });
            }
        },
    );
}
